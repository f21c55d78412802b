#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Runs the commands of a workflow of GitHub Actions, or of a job of GitLab CI, in the current folder.

As on a runner, each has a shell of its own that stops at the first failure.

    run_workflow.py FILE [--without-packages]

Steps that use an action of the service (checkout, upload) are named, and not run. --without-packages leaves
out the commands that install packages of the distribution. Needs python3-yaml.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import yaml


class NoWorkflow(Exception):
    """What is wrong with the file."""


def steps_of(text):
    """Pairs: what kind of step ("run" or "uses"), and its command or action."""
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise NoWorkflow(f"this is no YAML: {error}") from None
    if not isinstance(read, dict):
        raise NoWorkflow("there are no jobs")
    # YAML 1.1 reads the word `on` as true.
    is_github = "jobs" in read and ("on" in read or True in read)
    jobs = read["jobs"] if is_github else read
    steps = []
    for name, job in jobs.items():
        if is_github and "runs-on" not in job:
            raise NoWorkflow(f"job {name} names no runner: runs-on")
        for step in job["steps" if is_github else "script"]:
            if isinstance(step, str):
                steps.append(("run", step))
            elif "run" in step:
                steps.append(("run", step["run"]))
            else:
                steps.append(("uses", step["uses"]))
    if not any(kind == "run" for kind, _ in steps):
        raise NoWorkflow("no step runs anything")
    return steps


def installs_packages(command):
    return re.match(r"(sudo )?apt-get ", command) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--without-packages", action="store_true", help="leave out what apt-get would do")
    options = parser.parse_args()
    try:
        steps = steps_of(options.file.read_text())
    except NoWorkflow as error:
        sys.exit(f"{options.file}: {error}")
    for kind, what in steps:
        if kind == "uses" or (options.without_packages and installs_packages(what)):
            print(f"not run: {what}", flush=True)
            continue
        print(f"$ {what}", flush=True)
        code = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", what], stdin=subprocess.DEVNULL
        ).returncode
        if code:
            sys.exit(f"{options.file}: ended with {code}: {what}")


if __name__ == "__main__":
    main()
