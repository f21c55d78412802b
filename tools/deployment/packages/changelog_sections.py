# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Reads CHANGELOG.md, which is as Keep a Changelog has it: a section for each version, with its date."""
import re

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def sections(text):
    """Heading and text of each section, the newest first."""
    places = [(match[1].strip(), match.end()) for match in HEADING.finditer(text)]
    ends = [match.start() for match in HEADING.finditer(text)][1:] + [len(text)]
    return [(heading, text[begin:end].strip()) for (heading, begin), end in zip(places, ends)]
