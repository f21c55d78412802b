#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Packages of urnic (tools/package) in clean roots of several distributions: installed, used as a user would,
and removed.

    try_packages.py [SUITE...]        bookworm, trixie and forky by default

Needs root, and apt's mirror. Ends with 'N passed, N failed, N skipped'.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build/packages"
SUITES = ("bookworm", "trixie", "forky")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", default=SUITES)
    suites = parser.parse_args().suites
    if any(len(list(PACKAGES.glob(pattern))) != 1 for pattern in ("*.deb", "*.tar.gz", "*.whl")):
        sys.exit(
            f"one package of each kind is wanted in {PACKAGES.relative_to(ROOT)}: delete what is there and run tools/package"
        )
    failed = 0
    for suite in suites:
        command = [
            ROOT / "tools/development/platforms/on",
            "--clean",
            "--show",
            PACKAGES,
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
