#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Makes a wheel of a build: urnic-VERSION-py3-none-manylinux_X_Y_MACHINE.whl.

    make_wheel.py [--build DIR] [--output DIR]

The wheel has what `cmake --install` installs. It also has copies of the libraries that no wheel may expect on
a machine, with a hash in their names, so that no program takes them for its own. The tag follows from what is
in it: X.Y is the newest glibc that any of its files needs. Nothing is fetched.
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

import elf  # noqa: E402

# Debian's, which has Debian's setuptools.
PYTHON = "/usr/bin/python3"
# What manylinux lets a wheel expect (PEP 599, PEP 600), as far as anything of ours has ever needed it.
EXPECTED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1"}
# What people look for beside the command, not inside the package.
OUTSIDE = ("share/man", "share/bash-completion", "share/zsh", "share/fish")
BUNDLE = "bundled"  # below lib/urnic
# Setuptools takes files of these names for licences, and puts them beside the wheel's metadata.
LICENCES = {"LICENSE": ROOT / "LICENSE", "LICENSE.notices": ROOT / "tools/deployment/packages/copyright"}
# Licences that a copy of a library has to come with, where its package only names them.
COMMON_LICENCES = pathlib.Path("/usr/share/common-licenses")
NAMED_LICENCES = {"libnuma1": "LGPL-2.1"}
CHANGES = """The libraries in lib/urnic/bundled are copies of those in the packages below. patchelf changed
the names under which they, and what they need, are found, and nothing else. "apt-get source" fetches
their source.

"""


class Refusal(Exception):
    """What stands in the way, and what to do."""


def run(*words, **how):
    return subprocess.run([str(word) for word in words], check=True, **how)


def version_of(build):
    found = re.search(
        r"^CMAKE_PROJECT_VERSION:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE
    )
    return found[1]


def elf_files(tree):
    return [path for path in sorted(tree.rglob("*")) if path.is_file() and elf.is_elf(path)]


def machine_of(files):
    machines = {elf.machine(file) for file in files}
    if len(machines) != 1 or not machines <= set(elf.MACHINES.values()):
        raise Refusal(f"no wheel is known for files for {', '.join(sorted(machines)) or 'no processor'}")
    return machines.pop()


def drop_links(tree):
    """pip unpacks no symbolic links. libibverbs.so is one; `urnic run` gives programs that ask for that name
    the library itself (tools/runtime/audit)."""
    for path in tree.rglob("*"):
        if path.is_symlink():
            path.unlink()


def find_library(name, machine):
    for folder in (f"/usr/lib/{machine}-linux-gnu", f"/lib/{machine}-linux-gnu"):
        path = pathlib.Path(folder, name)
        if path.exists():
            return path.resolve()
    raise Refusal(f"{name} for {machine} is not installed, and the wheel has to bring it")


def package_of(library):
    """The package of a library, which says who may copy it."""
    # dpkg knows a path as it was before /lib became /usr/lib.
    for path in (library, pathlib.Path(str(library).removeprefix("/usr"))):
        owner = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if owner.returncode == 0:
            return owner.stdout.split(": ", 1)[0]
    raise Refusal(f"{library} is in no package, so its licence is not known")


def source_of(package):
    form = "package ${Package} ${Version}, source ${source:Package} ${source:Version}"
    return run("dpkg-query", "--show", f"--showformat={form}", package, capture_output=True, text=True).stdout


class Bundle:
    """Libraries that the wheel brings, in lib/urnic/bundled."""

    def __init__(self, tree, machine):
        self._folder = tree / "lib/urnic" / BUNDLE
        self._licences = tree / "share/doc/urnic/bundled"
        self._machine = machine
        self._names = {}  # as they are known, to as they are called here

    def bring_for(self, file):
        """Has a file take what it needs from here, and brings that."""
        for name in elf.needed(file):
            if name in EXPECTED:
                continue
            run("patchelf", "--replace-needed", name, self._bring(name), file)
            place = os.path.relpath(self._folder, file.parent)
            run("patchelf", "--set-rpath", "$ORIGIN" if place == "." else f"$ORIGIN/{place}", file)

    def _bring(self, name):
        if name in self._names:
            return self._names[name]
        source = find_library(name, self._machine)
        stem, rest = name.split(".so", 1)
        own = f"{stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:8]}.so{rest}"
        self._names[name] = own
        self._folder.mkdir(exist_ok=True)
        copy = self._folder / own
        shutil.copyfile(source, copy)
        copy.chmod(0o755)
        run("patchelf", "--set-soname", own, copy)
        self.bring_for(copy)
        self._bring_licence(own, package_of(source))
        return own

    def _bring_licence(self, own, package):
        self._licences.mkdir(exist_ok=True)
        origins = self._licences / "README"
        said = origins.read_text() if origins.exists() else CHANGES
        origins.write_text(f"{said}{own}: {source_of(package)}\n")
        name = package.split(":")[0]  # without the machine
        shutil.copyfile(f"/usr/share/doc/{name}/copyright", self._licences / f"{name}.copyright")
        if text := NAMED_LICENCES.get(name):
            shutil.copyfile(COMMON_LICENCES / text, self._licences / text)


def platform_tag(files, machine):
    newest = max(map(elf.needed_glibc, files))
    return f"manylinux_{newest[0]}_{newest[1]}_{machine}"


def lay_out(build, source):
    """Writes what setup.py wants, and returns the platform's tag."""
    tree, data = source / "urnic/tree", source / "data"
    shutil.copytree(HERE / "urnic", source / "urnic", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "PYTHON.md"):
        shutil.copyfile(HERE / name, source / name)
    for name, file in LICENCES.items():
        shutil.copyfile(file, source / name)
    run("cmake", "--install", build, "--prefix", tree, "--strip", stdout=subprocess.DEVNULL)
    drop_links(tree)
    machine = machine_of(elf_files(tree))
    bundle = Bundle(tree, machine)
    for file in elf_files(tree):
        bundle.bring_for(file)
    for folder in OUTSIDE:
        (data / folder).parent.mkdir(parents=True, exist_ok=True)
        (tree / folder).rename(data / folder)
    tag = platform_tag(elf_files(tree), machine)
    (source / "PLATFORM").write_text(tag + "\n")
    (source / "VERSION").write_text(version_of(build) + "\n")
    return tag


def build_wheel(source, output):
    """With Debian's setuptools: pip asks no index, and makes no environment."""
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    command = [PYTHON, "-m", "pip", "wheel", *offline, "--wheel-dir", output, source]
    result = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        raise Refusal(f"pip could not build the wheel: {result.stdout.strip()}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build", type=pathlib.Path, default=ROOT / "build/release", help="a build of product"
    )
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/packages", help="where it goes")
    options = parser.parse_args()
    if not shutil.which("patchelf"):
        raise Refusal("patchelf is not installed: tools/install-packages packages")
    if not (options.build / "lib/urnic/libibverbs.so.1").exists():
        raise Refusal(f"{options.build} has no build of urnic: cmake --build --preset product")
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="urnic-wheel-") as folder:
        source = pathlib.Path(folder, "source")
        tag = lay_out(options.build.resolve(), source)
        build_wheel(source, options.output)
    print(options.output / f"urnic-{version_of(options.build)}-py3-none-{tag}.whl")


if __name__ == "__main__":
    try:
        main()
    except (Refusal, elf.NoSuchName) as refusal:
        sys.exit(f"make_wheel: {refusal}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"make_wheel: {error.cmd[0]} failed with {error.returncode}; it says why above")
