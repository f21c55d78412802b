#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Runs every line of the ladder (the tables in lines/), as an ordinary user, and writes the results as a
table.

    ladder.py [--build DIR] [--port SPEC] [--write FILE] [PATTERN...]     e.g.  ladder.py 'ib_send_*-c UD*'

It ends with 'N passed, N failed, N skipped', and after a failure with an exit code other than 0. When the
program itself refuses in the known words, that is a pass.
"""
import argparse
import fnmatch
import pathlib
import re
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402
from lines import cm_table, registry_table, verbs_table  # noqa: E402

SECTIONS = (
    ("Programs that tell each other their queue pairs over TCP", verbs_table.LINES),
    ("Programs that connect by rdma_cm", cm_table.LINES),
    ("uDAPL, qperf, and programs of PyPI and crates.io", registry_table.LINES),
)
PACKAGES = (
    "ibverbs-utils",
    "perftest",
    "rdmacm-utils",
    "fio",
    "libucx0",
    "libfabric1",
    "tgt",
    "libiscsi7",
    "qemu-system-x86",
    "sockperf",
    "dapl2-utils",
    "qperf",
)


def play(line):
    """(verdict, what there is to say about it) of a line."""
    result = unittest.TestResult()
    line.test().run(result)
    problems = result.failures + result.errors
    if problems:
        return "failed", problems[0][1]
    if result.skipped:
        return "skipped", result.skipped[0][1]
    return ("not applicable", f'{line.reason}: "{line.refused.strip()}"') if line.refused else ("passed", "")


def brief(note):
    """One cell of a table: the last line that says something, without what differs from run to run."""
    lines = [line for line in note.splitlines() if line.strip()]
    failure = next((line for line in lines if line.startswith("AssertionError")), lines[0] if lines else "")
    return re.sub(r"/tmp/urnic-clients-\w+", "", failure).replace("|", "\\|")


def table(outcomes, port):
    """`outcomes` are lines, verdicts and notes."""
    lines = [
        "# The ladder",
        "",
        "What unmodified programs do over two NICs, line by line; `…` repeats the server's words. `not applicable` is what a program",
        "refuses by itself, in the words quoted. Written by `tests/clients/ladder.py --write`; [TESTING](../../TESTING.md#lines-of-the-ladder) says how.",
        "",
        f"Port: `--port {port}`. "
        + ", ".join(f"{package} {harness.version_of(package)}" for package in PACKAGES)
        + ".",
    ]
    for title, members in SECTIONS:
        lines += [
            "",
            f"## {title}",
            "",
            "| command of the server | of the client | result | remark |",
            "|---|---|---|---|",
        ]
        for line, verdict, note in outcomes:
            if line in members:
                server, client = line.cells()
                lines.append(f"| `{server}` | `{client}` | {verdict} | {brief(note)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    harness.add_options(parser)
    parser.add_argument(
        "--port", default="host", help="the --port of both NICs; %(default)s by default, as urnic takes it"
    )
    parser.add_argument("--write", metavar="FILE", type=pathlib.Path, help="write the table to this file")
    parser.add_argument("--list", action="store_true", help="list the lines and end")
    parser.add_argument("patterns", nargs="*", help="program and options, with * and ?; all lines by default")
    options = parser.parse_args()

    wanted = [
        line
        for _, members in SECTIONS
        for line in members
        if not options.patterns or any(fnmatch.fnmatch(line.words(), pattern) for pattern in options.patterns)
    ]
    if options.list:
        print("\n".join(line.words() for line in wanted))
        return 0
    if not wanted:
        print("no line is like that; see --list", file=sys.stderr)
        return 2

    harness.PORT, harness.NIC = options.port, options.nic
    written = options.write and options.write.open("a")  # before another /tmp hides it
    harness.set_stage(options.build)
    outcomes = []
    try:
        for line in wanted:
            started = time.monotonic()
            verdict, note = play(line)
            outcomes.append((line, verdict, note))
            print(f"{time.monotonic() - started:6.1f} s  {line.words()}  {verdict}", flush=True)
            if verdict not in ("passed", "not applicable"):
                print("    " + note.strip().replace("\n", "\n    "), flush=True)
    finally:
        harness.STAGE.close()
    if written:
        with written:
            written.truncate(0)
            written.write(table(outcomes, options.port))
    verdicts = [verdict for _, verdict, _ in outcomes]
    failed, skipped = verdicts.count("failed"), verdicts.count("skipped")
    print(f"{len(verdicts) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
