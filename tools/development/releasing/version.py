# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The version of the tree, which stands in CMakeLists.txt and nowhere else."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLACE = "CMakeLists.txt"


def version():
    found = re.search(r"^project\(urnic VERSION (\d+\.\d+\.\d+)", (ROOT / PLACE).read_text(), re.MULTILINE)
    return found[1]


def folder():
    """Where the files of the release are made."""
    return ROOT / f"build/release-{version()}"


def other_places(grep):
    """Lines of the sources that seem to say it, too. `grep` is what `git grep` says of the number."""
    said = re.compile(r"version\W{0,4}" + re.escape(version()) + r"\b", re.IGNORECASE)
    left_out = re.compile(r"^(tests/|[^:]*\.md:|" + re.escape(PLACE) + r":)")
    return [line for line in grep.splitlines() if said.search(line) and not left_out.match(line)]
