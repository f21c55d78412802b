#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Complains if lintian has something to say about the licences or the changelog of urnic's .deb.

    check_lintian.py [DEB]        the one in build/packages by default

Exit code 77 where lintian is not installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "build/packages"
SKIPPED = 77
TAG = re.compile(r"^(?P<severity>[EWIPX]): urnic: (?P<name>\S+)")
ABOUT = re.compile(r"copyright|changelog|licen[cs]e|dep5")
# What it says with reason, and why nothing is done about it.
KNOWN = {"bogus-mail-host-in-debian-changelog": "the project has no address yet"}


def package_of(words):
    if words:
        return pathlib.Path(words[0])
    found = list(PACKAGES.glob("urnic_*.deb"))
    if len(found) != 1:
        sys.exit(f"one .deb is wanted in {PACKAGES}, and there are {len(found)}: tools/package")
    return found[0]


def main():
    package = package_of(sys.argv[1:])
    if not shutil.which("lintian"):
        print("skipped: lintian is not installed (apt-get install lintian)")
        return SKIPPED
    command = ["lintian", "--allow-root", "--display-info", "--fail-on", "none", str(package)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"lintian could not read {package}; it says why above")
    tags = {found["name"]: found.string for found in map(TAG.match, result.stdout.splitlines()) if found}
    wrong = [line for name, line in sorted(tags.items()) if ABOUT.search(name) and name not in KNOWN]
    wrong += [f"lintian no longer says {name}: it can go from KNOWN" for name in sorted(KNOWN.keys() - tags)]
    print("\n".join([*wrong, f"{package.name}: {len(wrong)} complaints about licences and changelog"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
