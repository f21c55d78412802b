#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Complains if the product has something of a Debian package whose licence PACKAGES.md does not name, or the
other way round.

    check_parts.py ROOT BUILD

What the product has is what the build says: headers that its files were compiled with, archives and files
that went into its programs and libraries (ninja), and shared libraries that these load, with their own. The
source packages of all of it must be the rows of the table "Licences", and the rows that demand a notice must
be the paragraphs of tools/deployment/packages/copyright. Exit code 77, which ctest calls skipped, where the
build is not ninja's or has no product yet, or where dpkg is not there.
"""
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
PACKAGES = "PACKAGES.md"
COPYRIGHT = "tools/deployment/packages/copyright"
SKIPPED = 77


def say(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def inputs_of_the_product(build):
    """All files that it is made of, relative to the build where they are made there."""
    return set(say("ninja", "-C", build, "-t", "inputs", "product").split("\n")) - {""}


def headers(build, inputs):
    """What the compiler read for them, as ninja has noted it."""
    found, is_ours = set(), False
    for line in say("ninja", "-C", build, "-t", "deps").split("\n"):
        if line.startswith(" "):
            found |= {line.strip()} if is_ours else set()
        else:
            is_ours = line.split(":")[0] in inputs
    return found


def linked(build, inputs):
    """Archives and libraries that the linker's command names."""
    text = (build / "build.ninja").read_text()
    found = set()
    for edge in re.finditer(r"^build ([^:|]+).*\n(?:  .*\n)*?  LINK_LIBRARIES = (.*)\n", text, re.MULTILINE):
        if inputs & set(edge[1].split()):
            found |= set(re.findall(r"(?<![^\s,])/[^\s,]+\.(?:a|so)\b", edge[2]))
    return found


def loaded(files, wheel):
    """The shared libraries that programs and libraries load."""
    found, left = set(), list(files)
    while left:
        file = left.pop()
        for name in wheel.elf.needed(file):
            path = wheel.find_library(name, wheel.elf.machine(file))
            if path not in found:
                found.add(path)
                left.append(path)
    return found


def packages(files):
    """The packages of files, each with one of its files."""
    # dpkg knows a path as it was before /lib became /usr/lib.
    paths = {name: path for path in map(str, files) for name in (path, path.removeprefix("/usr"))}
    said = subprocess.run(["dpkg-query", "--search", *paths], capture_output=True, text=True).stdout
    owned = re.findall(r"^(\S+): (/.*)$", said, re.MULTILINE)
    strange = set(paths.values()) - {paths[path] for _, path in owned}
    return {
        **{package: path for package, path in owned},
        **{f"no package ({path})": path for path in strange},
    }


def sources(files):
    """The source packages of files, each with one of its files. Compilers and Boost have their version in the
    name of theirs."""
    found = {}
    for package, file in sorted(packages(files).items()):
        show = ["dpkg-query", "--show", "--showformat=${source:Package}", package]
        name = package if package.startswith("no ") else say(*show)
        found[re.sub(r"^(gcc|boost)[-\d.]+$", r"\1", name)] = file
    return found


def rows_of_the_table(root):
    """The names of the table, each with what it demands."""
    section = (root / PACKAGES).read_text().split("\n### Licences\n")[1].split("\n#")[0]
    return dict(re.findall(r"^\| `([\w.+-]+)` \|.*\| ([^|]+) \|$", section, re.MULTILINE))


def paragraphs(root):
    """The works that the copyright has notices of. Every licence that it names must have its text."""
    text = (root / COPYRIGHT).read_text()
    named = set()
    for line in re.findall(r"^License: (.+)$", text, re.MULTILINE):
        named |= set(line.split(" and "))
    texts = set(re.findall(r"^License: (\S+)\n ", text, re.MULTILINE))
    return set(re.findall(r"^Files: ([\w.+-]+)/\*$", text, re.MULTILINE)), named ^ texts


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    sys.path.insert(0, str(root / "tools/deployment/python"))
    import make_wheel as wheel

    if not (build / ".ninja_deps").exists() or not shutil.which("dpkg-query"):
        print("skipped: ninja and dpkg say what the product is made of, and one of them is not there")
        return SKIPPED
    inputs = inputs_of_the_product(build)
    made = [build / name for name in inputs if not name.endswith((".o", ".a")) and (build / name).is_file()]
    files = [path for path in made if build in path.parents and wheel.elf.is_elf(path)]
    if not files:
        print(f"skipped: {build} has no product: cmake --build --preset product")
        return SKIPPED
    named = headers(build, inputs) | linked(build, inputs) | {name for name in inputs if name.startswith("/")}
    others = {pathlib.Path(name).resolve() for name in named if name.startswith("/")} | loaded(files, wheel)
    found = sources([path for path in others if {root, build}.isdisjoint(path.parents)])
    rows = rows_of_the_table(root)
    notices, unmatched = paragraphs(root)
    wrong = [f"{PACKAGES}: no licence of {name}, of which is {found[name]}" for name in found.keys() - rows]
    wrong += [f"{PACKAGES}: the product has nothing of {name}" for name in rows.keys() - found]
    demanded = {name for name, demand in rows.items() if demand == "its notice"}
    wrong += [f"{COPYRIGHT}: no notice of {name}" for name in demanded - notices]
    wrong += [f"{COPYRIGHT}: {name} demands no notice, says {PACKAGES}" for name in notices - demanded]
    wrong += [f"{COPYRIGHT}: {name} is named without its text, or not named" for name in unmatched]
    print("\n".join([*sorted(wrong), f"{len(others)} files of {len(found)} source packages"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
