# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Builds what a tool is about to run."""
import fcntl
import os
import pathlib
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def build(folder, *targets, project=PROJECT):
    """Builds these targets in a build folder, as far as they are missing or older than their sources. The
    folder of a preset is made if it is not there; any other must have been configured. Ends the program
    when that fails."""
    folder = pathlib.Path(folder).resolve()
    if not (folder / "CMakeCache.txt").exists():
        if folder.parent != project / "build":
            sys.exit(f"{folder} is no build folder: cmake --preset release makes build/release")
        _must(["cmake", "--preset", folder.name], project)
    if not os.access(folder, os.W_OK):
        return  # another user's build is taken as it is
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two ninjas at once would write the same files
        _must(["cmake", "--build", folder, "-j", os.cpu_count() or 1, "--target", *targets], project)
    finally:
        os.close(lock)


def _must(command, project):
    words = [str(word) for word in command]
    result = subprocess.run(
        words, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if result.returncode != 0:
        lines = result.stdout.splitlines()[-100:]
        sys.exit("\n".join([*lines, f"this failed: {' '.join(words)}"]))
