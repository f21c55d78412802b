# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""UCX's programs, which are not the same everywhere."""
import functools
import shutil
import subprocess

PROGRAMS = {"ucx_info", "ucx_perftest", "io_demo"}


@functools.cache
def has_verbs():
    """Whether it was built with transports over libibverbs. Forky's of November 2026 was not."""
    built = subprocess.run(["ucx_info", "-b"], capture_output=True, text=True).stdout.split()
    return "HAVE_IB" in built


@functools.cache
def perftest():
    """The program and the options that each call has, to which a test adds its own.

    Debian's, since release 13, is built with MPI, and takes MPI for what has started it where its standard
    input is no terminal; one that is built without does not know the option that says no."""
    program = shutil.which("ucx_perftest")
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return ["ucx_perftest", *(["-P", "0"] if "libmpi" in libraries else [])]
