# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What an ELF file needs, as readelf says it: for any processor, as nothing is run."""
import re
import subprocess

# As platform.machine() and the tags of wheels name them.
MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}
# Names that are no versions, and the first glibc that has them.
FEATURES = {"GLIBC_ABI_DT_RELR": (2, 36)}


class NoSuchName(Exception):
    """A file asks glibc for something that no version promises."""


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _readelf(path, *options):
    return subprocess.run(
        ["readelf", "--wide", *options, path],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    ).stdout


def machine(path):
    name = re.search(r"Machine:\s+(.*)", _readelf(path, "--file-header"))[1].strip()
    return MACHINES.get(name, name)


def needed(path):
    """The names of the libraries that the dynamic linker loads for it, itself excepted."""
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", _readelf(path, "--dynamic"))
    return [name for name in names if not name.startswith("ld-linux")]


def needed_glibc(path):
    """The first version of glibc that has all that it needs, as (2, 35); (0, 0) if it needs none."""
    needs = _readelf(path, "--version-info").partition("Version needs section")[2]
    versions = [(0, 0)]
    for name in re.findall(r"Name: (GLIBC_\S+)", needs):
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", name)
        if number:
            versions.append((int(number[1]), int(number[2])))
        elif name in FEATURES:
            versions.append(FEATURES[name])
        else:
            raise NoSuchName(f"{path} needs {name}, which is no promise of any glibc")
    return max(versions)
