#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""check_glibc.py NEWEST FILE...: whether what is installed runs with glibc NEWEST, which is what the packages
promise.

The oldest distribution that urnic is built on is the one that packages are made on. On a newer one this says
nothing about them, and is skipped (code 77).
"""
import os
import re
import subprocess
import sys

MADE_ON = (2, 36)  # Debian 12
SKIPPED = 77


def version(text):
    return tuple(map(int, text.split(".")))


def main():
    newest, *files = sys.argv[1:]
    here = version(os.confstr("CS_GNU_LIBC_VERSION").split()[1])
    if here > MADE_ON:
        print(f"skipped: packages are made with glibc 2.36, and this is {'.'.join(map(str, here))}")
        return SKIPPED
    is_right = True
    for file in files:
        listing = subprocess.run(
            ["nm", "-D", "--undefined-only", "--with-symbol-versions", file],
            capture_output=True,
            text=True,
            check=True,
        )
        needs = re.findall(r"(\S+)@GLIBC_([0-9.]+)", listing.stdout)
        too_new = sorted(f"{name} ({node})" for name, node in needs if version(node) > version(newest))
        is_right = is_right and bool(needs) and not too_new
        print(
            f"{file}: {len(needs)} names of glibc",
            *(["newer than", newest, "are", *too_new] if too_new else []),
        )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
