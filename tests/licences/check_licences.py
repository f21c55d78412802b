#!/usr/bin/env python3
"""Complains about a source file that does not say, in its first lines, whose it is and under which licence.

    check_licences.py [ROOT]          lists the files whose line is missing
    check_licences.py [ROOT] --add    adds the line

What a program does not compile or run (recordings, corpora, scripts of a test protocol, pages, pictures) is
covered by LICENSE alone.
"""
import pathlib
import re
import subprocess
import sys

WORDS = "Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause"
COMMENTS = {
    ("//", ""): {".cc", ".h", ".c", ".inc", ".js"},
    ("#", ""): {".py", ".sh", ".cmake", ".yml", ".yaml", ".toml"},
    ("/*", " */"): {".css", ".map"},
    ("<!--", " -->"): {".html"},
}
BY_SUFFIX = {suffix: around for around, suffixes in COMMENTS.items() for suffix in suffixes}
BY_NAME = {name: ("#", "") for name in ("CMakeLists.txt", "Makefile", "Containerfile")}
# Their first lines are input of a test.
NO_SOURCES = ("tests/fuzz/corpus/",)
# It has to be the first line of a page, or a browser goes back twenty years.
FIRST_OF_ALL = re.compile(r"#!|<!doctype", re.IGNORECASE)
LINES_READ = 3


def marks_of(path, first_line):
    """What stands before and after a comment in this file, or None where it is no source."""
    if path.name in BY_NAME:
        return BY_NAME[path.name]
    suffix = path.with_suffix("").suffix if path.suffix == ".in" else path.suffix
    if not suffix and first_line.startswith("#!"):
        return ("#", "")
    return BY_SUFFIX.get(suffix)


def missing_line(path):
    """The line that a file lacks, and where it would stand, or None."""
    try:
        lines = path.read_text().split("\n", LINES_READ)
    except UnicodeDecodeError:
        return None
    marks = marks_of(path, lines[0])
    if marks is None or lines == [""] or any(WORDS in line for line in lines):
        return None
    return f"{marks[0]} {WORDS}{marks[1]}", 1 if FIRST_OF_ALL.match(lines[0]) else 0


def add(path, line, place):
    """A blank line keeps what follows from being read as one comment with it; a script's own comment follows
    directly after a '#' alone."""
    lines = path.read_text().split("\n")
    follows = lines[place] if place < len(lines) else ""
    is_comment = follows.startswith(line.split()[0])
    lines[place:place] = [line, ""] if is_comment or not line.startswith("#") else [line]
    path.write_text("\n".join(lines))


def main():
    words = [word for word in sys.argv[1:] if word != "--add"]
    root = pathlib.Path(words[0] if words else ".").resolve()
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=root, stdout=subprocess.PIPE, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name and not name.startswith(NO_SOURCES)]
    if not names:
        print(f"skipped: {root} is no clone, so nothing says which files are the project's")
        return 77
    wrong = [(name, found) for name in names if (found := missing_line(root / name))]
    for name, (line, place) in wrong:
        if "--add" in sys.argv:
            add(root / name, line, place)
        else:
            print(f"{name}: line {place + 1} should be '{line}'")
    if wrong and "--add" not in sys.argv:
        print(f"Mend it with: {pathlib.Path(__file__).relative_to(root)} --add")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
