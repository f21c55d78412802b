# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Builds the project and runs everything that it is tested with, stage by stage.

Each stage is one line with its time, when it has ended; what it printed is in build/test-logs, and shown when
it fails. The last line is 'N passed, N failed, N skipped', and the exit code is not 0 after a failure.
"""
import argparse
import concurrent.futures
import os
import sys
import time

from testing.log import ROOT, Log
from testing.report import Report
from testing.stages import FULL_STAGES, STAGES

# Without these the rest has nothing to run.
NEEDED = {"packages", "build"}
# The results of these do not depend on speed. They run beside the later stages, on the processor time that
# those leave: half of the time the later stages' programs only wait for each other.
BESIDE = {"stress", "corpora", "simulator", "tidy", "canary"}
# Takes a processor only while no other process wants it.
YIELDING = ["chrt", "--idle", "0"]


def run(name, stage, full, prefix=()):
    """What Report.add() takes."""
    log = Log(name, prefix)
    began = time.monotonic()
    outcome = stage(log, full)
    return name, log, outcome, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--stage",
        action="append",
        choices=[*STAGES, *FULL_STAGES],
        help="run this stage only; may be repeated",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="more seeds, pairs, kills and mutants, threads for longer, the whole ladder, Open vSwitch, clang, other distributions, and arm64",
    )
    parser.add_argument(
        "--on",
        metavar="SUITE",
        help="do it on another Debian, in a root of its own: tools/development/platforms/on",
    )
    options = parser.parse_args()
    if options.on:
        stages = [f"--stage={stage}" for stage in options.stage or ()]
        os.execv(
            ROOT / "tools/development/platforms/on",
            ["on", options.on, "tools/test", *stages, *(["--full"] if options.full else [])],
        )

    everything = {**STAGES, **(FULL_STAGES if options.full or options.stage else {})}
    report = Report()
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as lane:
        beside = []
        for name, stage in everything.items():
            if options.stage and name not in options.stage:
                continue
            if name in BESIDE:
                beside.append(lane.submit(run, name, stage, options.full, YIELDING))
                continue
            if sys.stdout.isatty():
                print(f"{name} ...", end="\r", flush=True)
            outcome = run(name, stage, options.full)
            while beside and beside[0].done():
                report.add(*beside.pop(0).result())
            report.add(*outcome)
            if outcome[2].failed and name in NEEDED:
                print(f"{name} failed; nothing else can run")
                break
        for ended in beside:
            report.add(*ended.result())
    print("\n".join([*report.failed_tests, f"{time.monotonic() - started:.0f} s in all"]))
    print(f"{report.total.passed} passed, {report.total.failed} failed, {report.total.skipped} skipped")
    return 1 if report.total.failed else 0
