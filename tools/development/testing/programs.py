# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Builds the project, and runs its test programs by ctest."""
import collections
import os
import re

from testing.log import ROOT
from testing.outcome import Outcome

BUILDS = ROOT / "build"
RELEASE = BUILDS / "release"
ASAN = BUILDS / "asan"
JOBS = str(os.cpu_count() or 1)


def build(preset, log, *options, target="all"):
    return log.run("cmake", "--preset", preset, *options) and log.run(
        "cmake", "--build", "--preset", preset, "-j", JOBS, "--target", target
    )


# As ctest says that a test has crashed, and as sanitizers say what they found.
CRASH_IN_CTEST = re.compile(r"\*\*\*Exception|(ERROR|WARNING): \w+Sanitizer|runtime error:")


def ctest(folder, log, *options, has_second_try=False):
    """What ran inside of GoogleTest's programs counts, and not that ctest takes each of them for one test."""
    run = ["ctest", "--test-dir", folder, "--output-on-failure"]
    ok = log.run(*run, "-j", JOBS, *options)
    skipped = set(re.findall(r"Test +#\d+: (\S+) .*\*\*\*Skipped", log.text()))
    failed = set(re.findall(r"Test +#\d+: (\S+) .*\*\*\*", log.text())) - skipped
    outcome = Outcome()
    reasons = collections.Counter()
    report = folder / "Testing/Temporary/LastTest.log"
    for test in re.split(
        r"^\d+/\d+ Test: ", report.read_text(errors="replace") if report.exists() else "", flags=re.M
    )[1:]:
        name = test.partition("\n")[0]
        inside = {
            word: int(number)
            for word, number in re.findall(r"^\[ +(PASSED|SKIPPED|FAILED) +\] (\d+) test", test, re.M)
        }
        outcome.failed += inside.get("FAILED", name in failed)
        outcome.skipped += inside.get("SKIPPED", name in skipped)
        outcome.passed += inside.get("PASSED", name not in failed | skipped)
        reasons.update(re.findall(r": Skipped\n(.*)\n\[  SKIPPED \]", test))
    if not ok and outcome.failed == 0 or outcome.passed == 0:
        outcome.failed += 1
    if failed and has_second_try and not CRASH_IN_CTEST.search(log.text()) and _pass_again(log, run, failed):
        outcome.passed, outcome.failed = outcome.passed + outcome.failed, 0
        log.write("".join(f"at the second try: {name}\n" for name in sorted(failed)))
    log.write("".join(f"skipped: {reason} ({count} of GoogleTest's)\n" for reason, count in reasons.items()))
    return outcome


def _pass_again(log, run, names):
    """Whether each of these tests passes at another try. By name: ctest's --rerun-failed goes by numbers, and
    these may be other tests' by now."""
    pattern = "^(" + "|".join(re.escape(name) for name in sorted(names)) + ")$"
    ran_all = f"0 tests failed out of {len(names)}\n"
    return log.run(*run, "-R", pattern) and ran_all in log.text()
