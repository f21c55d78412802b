#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Runs unmodified RDMA programs over a build of urnic, as an ordinary user, two at a time.

    run.py [--build DIR] [PATTERN...]     e.g.  run.py 'test_pingpong.*'  '*kill*'

Ends with 'N passed, N failed, N skipped' and an exit code other than 0 after a failure.
"""
import argparse
import fnmatch
import pathlib
import sys
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402
import second_try  # noqa: E402


class Printer(unittest.TestResult):
    """A line per test as it ends, and what went wrong below it."""

    def __init__(self):
        super().__init__()
        self.failed_tests = []  # names, and what went wrong
        self.ended_tests = set()

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        self._complaints = []
        self._verdict = "ok"

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._complain(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        if isinstance(test, unittest.TestCase):
            self._complain(test, err)
        else:  # what tests of a class or a module have in common: they do not run
            print(f"{test.id()}\n{self._exc_info_to_string(err, test)}", end="", flush=True)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._complaints.append(str(subtest))
            self._complain(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._verdict = f"skipped: {reason}"

    def _complain(self, test, err):
        self._verdict = "FAILED"
        self._complaints.append(self._exc_info_to_string(err, test))

    def stopTest(self, test):
        super().stopTest(test)
        self.ended_tests.add(test.id())
        print(f"{time.monotonic() - self._started:6.1f} s  {test.id()}  {self._verdict}", flush=True)
        complaints = "".join(
            "    " + complaint.strip().replace("\n", "\n    ") + "\n" for complaint in self._complaints
        )
        print(complaints, end="", flush=True)
        if self._verdict == "FAILED":
            self.failed_tests.append((test.id(), complaints))


def run(tests):
    """What went wrong, by test, of those that fail; and how many were skipped."""
    result = Printer()
    unittest.TestSuite(tests).run(result)
    never_ran = {test.id(): "    did not run\n" for test in tests if test.id() not in result.ended_tests}
    complaints = never_ran | dict(result.failed_tests)
    return {test: complaints[test.id()] for test in tests if test.id() in complaints}, len(result.skipped)


def all_tests(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from all_tests(item)
        else:
            yield item


def seeds(text):
    first, _, last = text.partition("-")
    chosen = range(int(first), int(last or first) + 1)
    if not chosen:
        raise argparse.ArgumentTypeError(f"{text} holds no seed: the first number is the smaller one")
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    harness.add_options(parser)
    parser.add_argument("--seed", type=int, default=None, help="of everything drawn; random by default")
    parser.add_argument(
        "--port",
        help=f"the --port of every NIC whose test does not choose it; {harness.USUAL_PORT} by default",
    )
    parser.add_argument("--kills", type=int, help="how many programs to kill in test_kill and test_host")
    parser.add_argument("--pairs", type=int, help="how many pairs in a row in test_pingpong")
    parser.add_argument(
        "--seeds",
        type=seeds,
        metavar="A-B",
        help="of the adversary in test_chaos, for programs that are known to be right",
    )
    parser.add_argument(
        "--endurance",
        type=float,
        metavar="SECONDS",
        help="how long test_endurance runs, and hostile datagrams beside traffic; 3600 is an hour",
    )
    parser.add_argument(
        "--stop", type=float, metavar="SECONDS", help="for how long test_bystander stops programs"
    )
    parser.add_argument(
        "--not", dest="excluded", action="append", default=[], metavar="PATTERN", help="leave tests out"
    )
    parser.add_argument(
        "--second-try",
        action="store_true",
        help="a test that fails runs again at the end; one that passes then counts as passed, and is named",
    )
    parser.add_argument("--list", action="store_true", help="list the tests and end")
    parser.add_argument("patterns", nargs="*", help="names of tests, with * and ?; all by default")
    options = parser.parse_args()

    harness.PORT, harness.NIC = options.port, options.nic
    harness.SEED = options.seed if options.seed is not None else time.time_ns() % 2**32
    tests = list(all_tests(unittest.defaultTestLoader.discover(str(HERE), top_level_dir=str(HERE))))
    wanted = [
        test
        for test in tests
        if (not options.patterns or any(fnmatch.fnmatch(test.id(), pattern) for pattern in options.patterns))
        and not any(fnmatch.fnmatch(test.id(), pattern) for pattern in options.excluded)
    ]
    if options.list:
        print("\n".join(test.id() for test in wanted))
        return 0
    if not wanted:
        print("no test has such a name; see --list", file=sys.stderr)
        return 2
    if options.kills is not None:
        sys.modules["test_kill"].Kill.KILLS = options.kills
        sys.modules["test_host"].TwoHosts.KILLS = options.kills
    if options.endurance is not None:
        sys.modules["test_endurance"].Endurance.SECONDS = options.endurance
        sys.modules["test_udp"].TwoHosts.HOSTILE_SECONDS = options.endurance
    if options.stop is not None:
        sys.modules["test_bystander"].Bystander.STOP = options.stop
    if options.seeds is not None:
        sys.modules["test_chaos"].SEEDS = options.seeds
    if options.pairs is not None:
        sys.modules["test_pingpong"].PingpongRow.PAIRS = options.pairs

    print(f"seed {harness.SEED}")
    harness.set_stage(options.build)
    try:
        failed, skipped = run(wanted)
        if options.second_try:
            failed = second_try.try_again(failed, lambda tests: run(tests)[0], unittest.TestCase.id)
    finally:
        harness.STAGE.close()
    # Once more, as readers of a long output see its end first, and often no more than that.
    for test, complaints in failed.items():
        print(f"failed: {test.id()}\n{complaints}", end="")
    print(f"{len(wanted) - len(failed) - skipped} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
