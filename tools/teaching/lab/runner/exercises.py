# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Files with gaps, and the same files filled in: both come from one source.

A lab's folder exercises/ has a source NAME.in for each such file. What students get and what is right differ between
three marks, which stand on lines of their own, as comments:

    // <gap>
      return 0;  // GAP 1: which?
    // <filled>
      return a + b;
    // <end>
"""
import re

SUFFIX = ".in"
MARK = re.compile(r"\s*(?://|#) <(gap|filled|end)>\s*")
NEXT = {None: "gap", "gap": "filled", "filled": "end"}


class BadSource(Exception):
    """Marks that are out of order: a mistake of the lab's author."""


def render(source, is_filled, name="a source"):
    """The file with gaps, or filled in. Lines keep their ends."""
    wanted = "filled" if is_filled else "gap"
    part, lines = None, []
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        mark = MARK.fullmatch(line)
        if mark is None:
            if part in (None, wanted):
                lines.append(line)
            continue
        if mark[1] != NEXT[part]:
            raise BadSource(f"{name}, line {number}: <{mark[1]}> where <{NEXT[part]}> was to come")
        part = None if mark[1] == "end" else mark[1]
    if part is not None:
        raise BadSource(f"{name}: <{part}> has no end")
    return "".join(lines)


def exercises(lab_folder, is_filled):
    """{name of the file: its text}"""
    sources = sorted((lab_folder / "exercises").glob("*" + SUFFIX))
    return {path.name[: -len(SUFFIX)]: render(path.read_text(), is_filled, path.name) for path in sources}
