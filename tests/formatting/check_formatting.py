#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Complains about C++ and JavaScript that clang-format would write in another way, and Python that black would.

    check_formatting.py [ROOT]

Versions of these programs differ in what they write, so only Debian 12's count. Exit code 77, which ctest calls
skipped, where one of them is not installed and the other has no complaint.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

FOLDERS = ("transport", "nic", "drivers", "verbs_api", "tools", "tests")
FILES_AT_ONCE = 32


@dataclasses.dataclass(frozen=True)
class Formatter:
    names: tuple[str, ...]
    version: str
    check: tuple[str, ...]  # the options with which it changes nothing and says what it would change
    mend: str

    def program(self):
        """Where it is, or None."""
        for path in filter(None, map(shutil.which, self.names)):
            said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
            if re.search(rf"\b{re.escape(self.version)}\.", said):
                return path
        return None

    def complaints(self, program, files):
        """What it says of these files, empty when it would change nothing."""
        command = [program, *self.check, *files]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return result.stdout if result.returncode != 0 else ""


CLANG_FORMAT = Formatter(
    ("clang-format-14", "clang-format"), "14", ("--dry-run", "-Werror"), "clang-format -i FILES"
)
BLACK = Formatter(("black",), "23", ("--check", "--quiet", "--diff"), "black FILES")
SUFFIXES = {".cc": CLANG_FORMAT, ".h": CLANG_FORMAT, ".js": CLANG_FORMAT, ".py": BLACK}


def formatter_of(path):
    """Which program a file is for, or None. Programs that people type have no suffix."""
    if path.suffix or not path.is_file():
        return SUFFIXES.get(path.suffix)
    with open(path, "rb") as file:
        return BLACK if file.readline() == b"#!/usr/bin/env python3\n" else None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    below = [
        path
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if "__pycache__" not in path.parts
    ]
    is_wrong = is_skipped = False
    for formatter in (CLANG_FORMAT, BLACK):
        files = [str(path) for path in below if formatter_of(path) is formatter]
        name = formatter.names[0]
        if not files:
            print(f"no files for {name} below {root}")
            return 1
        program = formatter.program()
        if program is None:
            print(f"skipped: {name} {formatter.version} is not installed (tools/install-packages format)")
            is_skipped = True
            continue
        batches = [files[i : i + FILES_AT_ONCE] for i in range(0, len(files), FILES_AT_ONCE)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            said = "".join(pool.map(lambda batch: formatter.complaints(program, batch), batches))
        print(said or f"{len(files)} files are as {name} writes them")
        if said:
            print(f"Mend it with: {formatter.mend}")
            is_wrong = True
    if is_wrong:
        return 1
    return 77 if is_skipped else 0


if __name__ == "__main__":
    sys.exit(main())
