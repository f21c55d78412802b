#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""STABILITY.md: its numbers are the ones in the sources. Links of it and of the changelog lead somewhere."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "STABILITY.md").read_text()
# The beginning of a row of its table, and the constant with its number.
PROTOCOLS = {
    "| a program and the switch of the host |": ("drivers/host/message.h", "kHostVersion"),
    "| two programs, a direct link |": ("drivers/direct/greeting.h", "kLinkVersion"),
    "| what a killed program leaves to the switch |": ("nic/host/last_words_table.cc", "kVersion"),
    "| a program and `urnic stat` |": ("nic/diagnostics/snapshot_names.h", "kSnapshotVersion"),
}


def headings_of(page):
    """As links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Stability(unittest.TestCase):
    def test_protocols_have_the_numbers_of_the_sources(self):
        for row, (file, constant) in PROTOCOLS.items():
            number = re.search(rf"\b{constant} = (\d+);", (ROOT / file).read_text())[1]
            self.assertIn(f"{row} version {number} |", PAGE)

    def test_symbol_versions_are_the_ones_that_are_exported(self):
        exports = (ROOT / "verbs_api/abi/exports.map").read_text()
        public = re.findall(r"^(IBVERBS_1\.\d+) {", exports, re.MULTILINE)
        self.assertIn(f"{public[0]} to {public[-1]}", PAGE)
        private = re.findall(r"^IBVERBS_PRIVATE_(\d+) {", exports, re.MULTILINE)
        self.assertIn(f"IBVERBS_PRIVATE_{', '.join(private[:-1])} and {private[-1]}", PAGE)

    def test_links_lead_somewhere(self):
        """Of this page, and of the release notes."""
        for page in ("STABILITY.md", "CHANGELOG.md"):
            for target in re.findall(r"\]\(([^):]+)\)", (ROOT / page).read_text()):
                file, _, heading = target.partition("#")
                path = ROOT / (file or page)
                self.assertTrue(path.exists(), f"{page}: {target}")
                if heading:
                    self.assertIn(heading, headings_of(path), f"{page}: {target}")


if __name__ == "__main__":
    unittest.main()
