#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""urnic lab: teaching labs. `urnic lab` starts this with its own path in URNIC; tools/teaching/lab/README.md
says how a lab is written."""
import signal
import sys

if sys.version_info < (3, 11):
    sys.exit(f"urnic lab: Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
sys.dont_write_bytecode = True
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has read enough is no failure: urnic lab | head

from runner.command_line import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
