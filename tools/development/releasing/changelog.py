# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What a release takes from CHANGELOG.md."""
import datetime
import re
import sys

from releasing.version import ROOT

sys.path.insert(0, str(ROOT / "tools/deployment/packages"))

from changelog_sections import sections  # noqa: E402

UNRELEASED = "Unreleased"
# Links into the tree, which lead nowhere outside of it; the first kind stands in parentheses alone.
ALONE = re.compile(r"\(\[([^]]*)\]\((?!\w+:)([^)]*)\)\)")
LINK = re.compile(r"\[([^]]*)\]\((?!\w+:)([^)]*)\)")


class NotReady(Exception):
    """Why a version cannot be released with this changelog."""


def check_nothing_is_unreleased(text):
    for heading, body in sections(text):
        if heading.strip("[]") == UNRELEASED and body:
            raise NotReady(f"the section '{heading}' is not empty: what it says belongs to a version")


def notes_of(text, version):
    """What the section of this version says, and its date."""
    for heading, body in sections(text):
        name, _, date = heading.partition(" - ")
        if name.strip("[]") != version:
            continue
        try:
            day = datetime.date.fromisoformat(date)
        except ValueError:
            raise NotReady(f"'## {heading}' has no date: '## {version} - YYYY-MM-DD' is wanted") from None
        if not re.sub(r"^#.*$", "", body, flags=re.MULTILINE).strip():
            raise NotReady(f"the section of {version} is empty")
        return body, day
    raise NotReady(f"there is no section '## {version} - YYYY-MM-DD'")


def without_links(text):
    """The same with the path of a page in place of each link to it."""

    def with_path(match):
        words, path = match.groups()
        return path if path.endswith(words) else f"{words} ({path})"

    return LINK.sub(with_path, ALONE.sub(r"(\1: \2)", text))
