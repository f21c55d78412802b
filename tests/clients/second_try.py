# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A second try for tests that failed: a machine that has more to do stops programs for longer than a test can
wait."""
import re

# A program that was ended by a signal which is its own fault, as its shell says it or as Python does; or what
# a sanitizer says.
CRASH = re.compile(r"ended with (-(4|6|7|8|11)|13[24569])\b|Sanitizer")


def try_again(failed, run, name):
    """What is left of `failed`, complaints by test. `run` takes tests and returns the same of those that
    fail, `name` says how people call one. A crash is no matter of time: there is no second try of it."""
    crashed = {test: complaints for test, complaints in failed.items() if CRASH.search(complaints)}
    again = [test for test in failed if test not in crashed]
    still_failed = run(again)
    for test in again:
        if test not in still_failed:
            print(f"at the second try: {name(test)}\n{failed[test]}", end="", flush=True)
    return crashed | still_failed
