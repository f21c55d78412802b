# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What a stage of the tests ended with."""
import re


class Outcome:
    def __init__(self, passed=0, failed=0, skipped=0, note=""):
        self.passed, self.failed, self.skipped, self.note = passed, failed, skipped, note


def yes_or_no(ok):
    return Outcome(passed=1) if ok else Outcome(failed=1)


def counted(ok, pattern, log, may_skip_all=False):
    """Adds up what test programs said in their last lines; one that ran nothing has failed."""
    outcome = Outcome()
    for match in re.finditer(pattern, log.text(), re.MULTILINE):
        for name, number in match.groupdict().items():
            setattr(outcome, name, getattr(outcome, name) + int(number))
    has_run = outcome.passed + outcome.failed > 0 or may_skip_all and outcome.skipped > 0
    if not ok and outcome.failed == 0 or not has_run:
        outcome.failed += 1
    return outcome
