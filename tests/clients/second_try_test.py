#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Checks which failures count after a second try."""
import contextlib
import io
import sys
import unittest

sys.dont_write_bytecode = True

from second_try import try_again  # noqa: E402


class SecondTry(unittest.TestCase):
    def left_of(self, failed, still_failed):
        """Who is left, who ran again, and what was said."""
        ran = []

        def run(tests):
            ran.extend(tests)
            return {test: f"again {test}" for test in tests if test in still_failed}

        with contextlib.redirect_stdout(io.StringIO()) as said:
            return try_again(failed, run, str.upper), ran, said.getvalue()

    def test_of_one_that_passes_then(self):
        self.assertEqual(
            self.left_of({"a": "    too late\n", "b": "    wrong\n"}, ["b"]),
            ({"b": "again b"}, ["a", "b"], "at the second try: A\n    too late\n"),
        )

    def test_is_not_for_crashes(self):
        for words in (
            "ended with -11: ib_send_bw",
            "ended with -6",
            "ended with 139",
            "ERROR: AddressSanitizer: heap-use-after-free",
        ):
            self.assertEqual(self.left_of({"a": words}, []), ({"a": words}, [], ""))

    def test_is_for_those_that_were_killed_or_complained(self):
        for words in ("ended with -9: ib_send_bw", "ended with 1", "ended with 1390"):
            self.assertEqual(self.left_of({"a": words}, [])[0], {})


if __name__ == "__main__":
    unittest.main()
