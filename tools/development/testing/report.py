# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is said of stages, and the sum of it."""
import re

from testing.log import ROOT
from testing.outcome import Outcome

SHOWN_LINES = 300  # a report of ThreadSanitizer's takes half of that


def failed_tests(log):
    """Those that the runners of clients, ladder and interop, and ctest, say have failed. (ctest lists those
    that it skipped, too.)"""
    return re.findall(r"^ *[\d.]+ s  (.*?)  (?:FAILED|failed)$", log, re.M) + re.findall(
        r"^\s+\d+ - (\S+) \((?!Skipped).+\)$", log, re.M
    )


class Report:
    """What is said of stages, and the sum of it."""

    def __init__(self):
        self.total = Outcome()
        self.failed_tests = []

    def add(self, name, log, outcome, seconds):
        words = (
            [f"{outcome.passed} passed", f"{outcome.failed} failed"]
            if outcome.failed
            else [f"{outcome.passed} passed"]
        )
        words += [f"{outcome.skipped} skipped"] if outcome.skipped else []
        words += [outcome.note] if outcome.note else []
        words += ["beside the others"] if log.prefix else []
        print(f"{name:<12}{seconds:7.1f} s  {', '.join(words)}", flush=True)
        if outcome.failed:
            lines = log.text().splitlines()
            print("\n".join(f"    {line}" for line in lines[-SHOWN_LINES:]))
            print(f"    the whole log: {log.path.relative_to(ROOT)}", flush=True)
            self.failed_tests += [f"failed in {name}: {test}" for test in failed_tests(log.text())] or [
                f"failed: {name}"
            ]
        # Indented where tools/test of another root says it.
        for found in re.finditer(
            r"skipped: .*|^( *)at the second try: .*\n(?:\1    .*\n)*", log.text(), re.M
        ):
            print(f"    {found.group().strip()}", flush=True)
        self.total.passed += outcome.passed
        self.total.failed += outcome.failed
        self.total.skipped += outcome.skipped
