#!/usr/bin/env python3
"""Complains about C++ and JavaScript that clang-format would write in another way.

    check_formatting.py [ROOT]

Versions of clang-format differ in what they think: only Debian 12's is asked. Exit code 77, which ctest calls
skipped, where it is not installed. """
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

VERSION = "14"
FOLDERS = ("transport", "nic", "drivers", "verbs_api", "tools", "tests")
SUFFIXES = (".cc", ".h", ".js")
FILES_AT_ONCE = 32


def clang_format():
    """The program, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        if re.search(rf"version {VERSION}\.", said):
            return path
    return None


def complaints(program, files):
    """What it says of these files, empty when it would change nothing."""
    result = subprocess.run(
        [program, "--dry-run", "-Werror", *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.stdout if result.returncode != 0 else ""


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    program = clang_format()
    if program is None:
        print(f"skipped: clang-format {VERSION} is not installed (tools/install-packages format)")
        return 77
    files = sorted(
        str(path) for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES
    )
    if not files:
        print(f"no source files below {root}")
        return 1
    batches = [files[i : i + FILES_AT_ONCE] for i in range(0, len(files), FILES_AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = "".join(pool.map(lambda batch: complaints(program, batch), batches))
    print(said, end="")
    if said:
        print("Mend it with: clang-format -i FILES")
        return 1
    print(f"{len(files)} files are formatted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
