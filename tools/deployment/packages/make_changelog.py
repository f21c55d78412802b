#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes CHANGELOG.md in the form of Debian's changelogs, compressed, as each .deb has one.

    make_changelog.py VERSION CHANGELOG.md OUTPUT.gz

Each release is an entry. What is not released yet is an entry only if VERSION is not released either. The
entries have no address of a maintainer, because there is none.
"""
import datetime
import gzip
import pathlib
import re
import sys
import textwrap

sys.dont_write_bytecode = True

from changelog_sections import sections  # noqa: E402

COLUMNS = 79
NOTHING = "  * Nothing that users notice."
RELEASE = re.compile(r"\[?(?P<version>\d[\w.]*)\]?\D*(?P<date>\d{4}-\d\d-\d\d)")
UNRELEASED = re.compile(r"\[?Unreleased\b")
LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")


def paragraphs(lines):
    """What Debian's form has lines for: headings, items and other text, each in one string. An item below an
    item becomes its neighbor."""
    found = []
    for line in lines:
        text = line.strip()
        if not text:
            found.append("")
        elif text.startswith(("- ", "* ", "### ")) or not found or not found[-1]:
            found.append(text)
        else:
            found[-1] += f" {text}"
    return [LINK.sub(r"\1", text) for text in found if text]


def in_debian_form(text):
    if text.startswith("### "):
        return f"\n  [ {text[4:]} ]"
    return textwrap.fill(
        text.removeprefix("- ").removeprefix("* "),
        COLUMNS,
        initial_indent="  * ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def entry(version, distribution, date, lines):
    changes = "\n".join(map(in_debian_form, paragraphs(lines))).lstrip("\n")
    heading = f"urnic ({version}) {distribution}; urgency=medium"
    trailer = date.strftime(" -- The urnic authors <>  %a, %d %b %Y 00:00:00 +0000")
    return f"{heading}\n\n{changes or NOTHING}\n\n{trailer}\n"


def entries(version, text):
    found, unreleased = {}, None
    for heading, body in sections(text):
        lines = body.splitlines()
        if released := RELEASE.match(heading):
            date = datetime.date.fromisoformat(released["date"])
            found[released["version"]] = entry(released["version"], "unstable", date, lines)
        elif UNRELEASED.match(heading):
            unreleased = lines
    if version in found:
        return list(found.values())
    if unreleased is None:
        sys.exit(f"make_changelog: CHANGELOG.md has neither a release {version} nor what is unreleased")
    return [entry(version, "UNRELEASED", datetime.date.today(), unreleased), *found.values()]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    version, source, output = sys.argv[1:]
    text = "\n".join(entries(version, pathlib.Path(source).read_text()))
    # Without a time and a name in it the same text is the same file.
    pathlib.Path(output).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
