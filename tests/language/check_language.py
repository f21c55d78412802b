#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Complains about English that a reader whose second language it is has to read twice, and about lines
that are too long.

    check_language.py [ROOT]            complain, and fail where there is more than `allowed.txt` has
    check_language.py --shrink [ROOT]   write `allowed.txt` again, without what is gone from the tree; nothing is ever added

`allowed.txt` has one line for each pattern and file, with how often it stands there. It may only shrink: a
number that is larger than what is found is a complaint, too.
"""
import argparse
import collections
import dataclasses
import pathlib
import re
import sys


@dataclasses.dataclass(frozen=True)
class Pattern:
    """Words that the project does not use, and what to write."""

    name: str
    words: str
    advice: str

    def places(self, line):
        return len(re.findall(self.words, line, re.IGNORECASE if self.name != "who-sentence" else 0))


PATTERNS = (
    Pattern("behind", r"\bbehind\b", 'write "after", "beyond", "below" or "with"'),
    Pattern("that-of", r"\b(?:that|those) of\b", "repeat the noun, or use the possessive"),
    Pattern("anew", r"\banew\b", 'write "again"'),
    Pattern(
        "asked-for",
        r"\b(?:is|are|was|were|be|been|being|what|nobody|never|not|as|than|where that is) asked for\b",
        'name who asks ("the program asks for"), or write "requested"',
    ),
    Pattern(
        "nobody",
        r"\b(?:some|no|any|every)(?:body|one)\b|\bno one\b",
        "name the actor: the program, the peer, the NIC's thread",
    ),
    Pattern(
        "who-sentence",
        r"(?:/{2,} |[.;:] )Who(?:ever)? (?![^?]*\?)",
        "name the actor: the program that ..., the peer that ...",
    ),
    Pattern("in-vain", r"\bin vain\b", 'say what did not happen: "found nothing", "did not succeed"'),
    Pattern("be-had", r"\bbe had\b|\bat hand\b", 'write "available"'),
    Pattern("business", r"\bbusiness\b", "say who does it"),
    Pattern(
        "old-words",
        r"\b(?:lest|upon|thereof|therein|thereby|whereof|whereby|wherein|whence|hence|thus|albeit|whilst)\b"
        r"|\ball the same\b|, mind\b|\bby and by\b|\bof old\b|\bthe like\b",
        "use the everyday word: so that, on, of it, where, so, although, while, still",
    ),
    Pattern(
        "hear-of",
        r"\b(?:hears?|heard|learns?|learned|learnt) of\b",
        'write "is told about", "notices" or "knows"',
    ),
    Pattern("for-ever", r"\bfor ever\b", 'write "forever" or "without end"'),
    Pattern(
        "but-for",
        r"\b(?:but|save|want) for\b|\bfor want of\b",
        'write "except", "without" or "because there is no"',
    ),
    Pattern("comes-of", r"\b(?:comes?|came|becomes?|became) of\b", 'write "happens to", "follows from"'),
)

# Columns of a line: in code, and in pages, where a table's row is measured cell by cell.
CODE_COLUMNS = 110
PAGE_COLUMNS = 160
LONG_LINES = "long-line"

SUFFIXES_OF_CODE = {".cc", ".h", ".c", ".py", ".sh", ".cmake", ".js", ".css", ".html", ".in"}
# Protocol scripts, whose first line is their title.
SUFFIXES_OF_SCRIPTS = {".cm", ".rdma"}
NAMES_OF_CODE = {"CMakeLists.txt", "Containerfile"}
FOLDERS = ("transport", "nic", "drivers", "verbs_api", "tools", "tests")
# History is as it was written; patches quote the code; this page and its test quote what it looks for.
LEFT_OUT = {"tests/language", "tests/mutants"}


def is_script(path):
    """A program without a suffix, as those that people type."""
    with open(path, "rb") as file:
        return path.suffix == "" and file.read(2) == b"#!"


def kind_of(path):
    """'code', 'page', 'script', or None for what is not read."""
    if path.suffix == ".md":
        return "page"
    if path.suffix in SUFFIXES_OF_SCRIPTS:
        return "script"
    if path.suffix in SUFFIXES_OF_CODE or path.name in NAMES_OF_CODE or is_script(path):
        return "code"
    return None


def files_of(root):
    """(path below the root, kind) of all that is read."""
    top = [path for path in root.iterdir() if path.is_file()]
    below = [
        path
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    for path in sorted(top + below):
        name = path.relative_to(root).as_posix()
        is_left_out = name == "CHANGELOG.md" or any(name.startswith(folder + "/") for folder in LEFT_OUT)
        kind = None if is_left_out or "__pycache__" in name else kind_of(path)
        if kind is not None:
            yield name, kind


def is_too_long(line, kind, number):
    if kind == "script" and number == 1:
        return False
    if kind != "page":
        return len(line) > CODE_COLUMNS and "http" not in line
    # What a link leads to is not read.
    shown = re.sub(r"\]\([^)]*\)", "]", line)
    cells = shown.strip().strip("|").split(" | ") if shown.startswith("|") else [shown]
    return any(len(cell.strip()) > PAGE_COLUMNS for cell in cells)


def findings_in(text, kind):
    """(pattern's name, number of the line, line) for each place."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern in PATTERNS:
            for _ in range(pattern.places(line)):
                yield pattern.name, number, line
        if is_too_long(line, kind, number):
            yield LONG_LINES, number, line


def read_allowed(path):
    allowed = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line and not line.startswith("#"):
            name, file, count = line.split()
            allowed[name, file] = int(count)
    return allowed


def complaints(found, allowed):
    """What is wrong, a line each. `found`: for a pattern and a file the places, as 'FILE:NUMBER: LINE'."""
    advice = {pattern.name: pattern.advice for pattern in PATTERNS}
    advice[LONG_LINES] = f"{CODE_COLUMNS} columns in code, {PAGE_COLUMNS} in a page or in a cell of a table"
    for key in sorted(found.keys() | allowed.keys()):
        places, limit = found.get(key, []), allowed.get(key, 0)
        if len(places) > limit:
            yield from (
                f"{place}\n    {key[0]}: {advice.get(key[0], 'an unknown pattern')}" for place in places
            )
        elif len(places) < limit:
            yield f"{key[1]}: allowed.txt has {limit} of {key[0]}, there are {len(places)}: check_language.py --shrink"


HEAD = """\
# What stands in the tree of the patterns of check_language.py: pattern, file, count. It may only shrink.
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shrink", action="store_true", help="write allowed.txt again, without what is gone")
    parser.add_argument(
        "root", nargs="?", default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path
    )
    options = parser.parse_args()
    list_of_allowed = options.root / "tests/language/allowed.txt"
    allowed = read_allowed(list_of_allowed)
    found = collections.defaultdict(list)
    count = 0
    for name, kind in files_of(options.root):
        count += 1
        for pattern, number, line in findings_in((options.root / name).read_text(errors="replace"), kind):
            found[pattern, name].append(f"{name}:{number}: {line.strip()[:120]}")
    if options.shrink:
        left = {key: min(limit, len(found.get(key, []))) for key, limit in allowed.items()}
        lines = [f"{name} {file} {limit}\n" for (name, file), limit in sorted(left.items()) if limit]
        list_of_allowed.write_text(HEAD + "".join(lines))
        return 0
    wrong = list(complaints(found, allowed))
    print("\n".join([*wrong, f"{count} files, {len(wrong)} complaints"]))
    # An empty tree is not a well written one.
    return 1 if wrong or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
