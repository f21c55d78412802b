# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The command `urnic` of the package: becomes the program that the package brings."""
from __future__ import annotations

import errno
import os
import pathlib
import platform
import sys

TREE = pathlib.Path(__file__).resolve().parent / "tree"
# As in a shell: there is no such program, and it cannot be executed.
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF


def binary() -> pathlib.Path:
    """The program itself. It finds its libraries beside its own folder."""
    return TREE / "bin" / "urnic"


def why_not(error: OSError) -> str:
    """What prevents the program from being run, and what to do, in one line."""
    if error.errno == errno.ENOEXEC:
        return (
            f"{binary()} is for {_machine_of_binary()}, and this machine is {platform.machine()}: "
            "install the wheel that was made for it"
        )
    if error.errno == errno.ENOENT:
        lacks = "the dynamic linker of glibc" if binary().exists() else f"{binary()}"
        return f"{lacks} is missing: install the wheel again with pip, on Linux with glibc"
    return f"{binary()} cannot be run: {error.strerror}; install the wheel again with pip"


def _machine_of_binary() -> str:
    try:
        header = binary().read_bytes()[:20]
    except OSError:
        header = b""
    if header[:4] != b"\x7fELF" or len(header) < 20:
        return "no processor (the file is damaged)"
    number = int.from_bytes(header[18:20], "little")
    return _MACHINES.get(number, f"another processor (ELF machine {number})")


def main() -> None:
    """Never returns: the process becomes the program, and ends as that does."""
    try:
        os.execv(binary(), ["urnic", *sys.argv[1:]])
    except OSError as error:
        print(f"urnic: {why_not(error)}", file=sys.stderr)
        sys.exit(_NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE)
