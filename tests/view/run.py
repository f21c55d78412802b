#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Tests the page of `urnic view` in headless Chromium.

    run.py URNIC [PATTERN...]      python3-selenium is Debian's, for Debian's python3

Ends with 'N passed, N failed, N skipped'.
"""
import os
import pathlib
import sys
import unittest


def main():
    os.environ["URNIC"] = str(pathlib.Path(sys.argv[1]).resolve())
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*" for pattern in sys.argv[2:]] or None
    suite = loader.discover(str(pathlib.Path(__file__).resolve().parent), "test_*.py")
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    failed, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    for reason in sorted({reason for _, reason in result.skipped}):
        print(f"skipped: {reason}")
    print(f"{max(0, result.testsRun - failed - skipped)} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
