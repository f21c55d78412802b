#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Does check_language.py bite, and only where it should?"""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import check_language  # noqa: E402

# A line for each pattern that it must find, and one beside it that it must not.
SENTENCES = {
    "behind": ("// The header behind the BTH.", "// The header after the BTH."),
    "that-of": ("// Its number is that of the peer.", "// Its number is the peer's."),
    "anew": ("// The timer starts anew.", "// The timer starts again."),
    "asked-for": ("// More was sent than was asked for.", "// The program asked for more."),
    "nobody": ("// Nobody reads it.", "// The program does not read it."),
    "who-sentence": ("// Who polls sees it.", "// Who polls? The program."),
    "in-vain": ("// It polled in vain.", "// It polled and found nothing."),
    "be-had": ("// The package cannot be had.", "// The package is not available."),
    "business": ("// That is the port's business.", "// The port does that."),
    "old-words": ("// Bytes that hence are lost.", "// Bytes that are lost then."),
    "hear-of": ("// The peer hears of it.", "// The peer is told about it."),
    "for-ever": ("// It waits for ever.", "// It waits forever."),
    "but-for": ("// All but for the last one.", "// All except the last one."),
    "comes-of": ("// What becomes of it.", "// What happens to it."),
}


class CheckLanguage(unittest.TestCase):
    def test_has_a_sentence_for_each_pattern(self):
        self.assertEqual(set(SENTENCES), {pattern.name for pattern in check_language.PATTERNS})

    def test_finds_each_pattern_and_leaves_the_better_sentence_alone(self):
        for name, (wrong, right) in SENTENCES.items():
            with self.subTest(name):
                self.assertEqual([found[0] for found in check_language.findings_in(wrong, "code")], [name])
                self.assertEqual(list(check_language.findings_in(right, "code")), [])

    def test_measures_code_by_the_line_and_tables_by_the_cell(self):
        long, short = "x" * 161, "x" * 100
        for text, kind, count in (
            (short, "code", 0),
            ("x" * 111, "code", 1),
            ("# https://" + long, "code", 0),
            (f"# {long}\n# {short}", "script", 0),
            (f"# {short}\n# {long}", "script", 1),
            (long, "page", 1),
            (f"| {short} | {short} |", "page", 0),
            (f"| {short} | {long} |", "page", 1),
            (f"| {short} | [a word]({long}) |", "page", 0),
        ):
            with self.subTest(text[:20], kind=kind):
                self.assertEqual(len(list(check_language.findings_in(text, kind))), count)

    def test_an_allowance_may_only_shrink(self):
        key = ("anew", "nic/clock.h")
        found = {key: ["nic/clock.h:1: anew", "nic/clock.h:2: anew"]}
        self.assertEqual(list(check_language.complaints(found, {key: 2})), [])
        self.assertEqual(len(list(check_language.complaints(found, {key: 1}))), 2)
        self.assertIn("there are 2", *check_language.complaints(found, {key: 3}))
        self.assertIn("there are 0", *check_language.complaints({}, {key: 1}))

    def test_reads_programs_without_a_suffix_and_leaves_data_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools").mkdir()
            (root / "tools/demo").write_text("#!/bin/sh\n# anew\n")
            (root / "tools/corpus").write_text("anew\n")
            (root / "CHANGELOG.md").write_text("anew\n")
            (root / "README.md").write_text("anew\n")
            self.assertEqual(
                sorted(check_language.files_of(root)), [("README.md", "page"), ("tools/demo", "code")]
            )


if __name__ == "__main__":
    unittest.main()
