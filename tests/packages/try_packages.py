#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Packages of urnic (tools/package) in clean roots of several distributions: installed, used as a user would,
and removed.

    try_packages.py [--packages FOLDER] [SUITE...]        bookworm, trixie and forky by default

Needs root, and apt's mirror. Ends with 'N passed, N failed, N skipped'.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build/packages"
KINDS = ("*.deb", "*-linux-*.tar.gz", "*.whl")
SUITES = ("bookworm", "trixie", "forky")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", default=SUITES)
    parser.add_argument(
        "--packages", type=pathlib.Path, default=PACKAGES, metavar="FOLDER", help="where they are"
    )
    options = parser.parse_args()
    suites, packages = options.suites, options.packages.resolve()
    if any(len(list(packages.glob(pattern))) != 1 for pattern in KINDS):
        sys.exit(
            f"one package of each kind is wanted in {packages}: delete what is there and run tools/package"
        )
    failed = 0
    for suite in suites:
        command = [
            ROOT / "tools/development/platforms/on",
            "--clean",
            "--show",
            packages,
            suite,
            "sh",
            "tests/packages/use.sh",
        ]
        code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
        print(f"{suite}: {'FAILED' if code else 'ok'}", flush=True)
        failed += code != 0
    print(f"{len(suites) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
