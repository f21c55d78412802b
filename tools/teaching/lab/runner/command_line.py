# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The options of `urnic lab`, and which way they lead."""
import argparse
import json
import os
import pathlib
import shutil
import sys

from runner import folder as folders
from runner import roce_port
from runner.catalog import all_labs
from runner.check import check
from runner.console import Console
from runner.session import Session

USAGE, SOMETHING_IS_MISSING, INTERRUPTED = 2, 3, 130
NEEDS = {"make": "make", "cc": "gcc"}
NETWORK_OF_OWN = "unshare --user --map-root-user --net sh -c 'ip link set lo up; exec bash'"
HEADERS = ("/usr/include/infiniband/verbs.h", "/usr/local/include/infiniband/verbs.h")


def main():
    options = _parser().parse_args()
    labs = all_labs()
    console = Console()
    if options.number is None:
        without_lab = _option_of_a_lab(options)
        if without_lab is not None:
            return _complain(f"{without_lab} of which lab? Write: urnic lab 1 {without_lab}", USAGE)
        return _list(labs, options.json, console)
    lab = labs.get(options.number)
    if lab is None:
        return _complain(
            f"there is no lab {options.number}; 'urnic lab' lists them, from {min(labs)} to {max(labs)}",
            USAGE,
        )
    if options.json and not options.check:
        return _complain(f"--json of a lab goes with --check: urnic lab {lab.number} --check --json", USAGE)
    missing = _missing(lab)
    if missing:
        return _complain(
            "not everything is here that this lab needs; on Debian: apt install " + " ".join(missing),
            SOMETHING_IS_MISSING,
        )
    urnic = os.environ.get("URNIC") or shutil.which("urnic")
    if urnic is None:
        return _complain("start this with 'urnic lab'", SOMETHING_IS_MISSING)
    port_is_taken = roce_port.why_not(urnic) if lab.needs_udp_port else None
    if port_is_taken:
        return _complain(
            f"this lab needs UDP port 4791 of this host, and {port_is_taken}. Wait until it has ended, "
            f"or work in a network of your own: {NETWORK_OF_OWN}",
            SOMETHING_IS_MISSING,
        )
    folder = pathlib.Path(options.folder) if options.folder else folders.usual(lab)
    fault = _fault_of(folder, lab, options)
    if fault:
        return _complain(fault, USAGE)
    try:
        if options.solution and not options.check:
            return _solve(lab, folder)
        if options.check:
            return check(lab, folder, urnic, options.solution, options.json, console)
        return Session(lab, folder, urnic, console, options.open).run(options.restart)
    except OSError as error:
        return _complain(str(error), USAGE)
    except KeyboardInterrupt:
        return _complain("stopped", INTERRUPTED)


def _parser():
    parser = argparse.ArgumentParser(
        prog="urnic lab", description="Teaching labs: without a number, the list of them."
    )
    parser.add_argument("number", nargs="?", type=int, help="the lab to work on")
    parser.add_argument("--folder", help="where its files are; ./urnic-lab-NUMBER by default")
    parser.add_argument(
        "--check", action="store_true", help="carry out all experiments without asking, and say what is right"
    )
    parser.add_argument(
        "--solution",
        action="store_true",
        help="check the solutions instead of the student's files; alone: write them into a new folder",
    )
    parser.add_argument("--json", action="store_true", help="the list, or what --check found, for programs")
    parser.add_argument("--restart", action="store_true", help="begin with the first step again; files stay")
    parser.add_argument("--open", action="store_true", help="open the picture in a browser at the end")
    return parser


def _fault_of(folder, lab, options):
    """Why a student's files cannot be in this folder, or None."""
    if options.check and options.folder and not options.solution and not folder.is_dir():
        return f"{folder} is not there, so there is nothing to check"
    other = folders.other_lab_in(folder, lab)
    return f"{folder} has another lab: {other}" if other else None


def _option_of_a_lab(options):
    """The first given option that says nothing without a lab, or None."""
    given = vars(options)
    return next(
        (f"--{name}" for name in ("check", "solution", "restart", "open", "folder") if given[name]), None
    )


def _solve(lab, folder):
    """For those who teach: the lab with its gaps filled in. It touches no folder that a student may work in."""
    if folder.exists():
        return _complain(f"{folder} is there already; name a new one: --folder FOLDER", USAGE)
    folders.prepare(lab, folder)
    folders.fill_in(lab, folder)
    print(f"{folder} has the lab with its gaps filled in.")
    return 0


def _list(labs, as_json, console):
    if as_json:
        print(
            json.dumps(
                [
                    {
                        "number": lab.number,
                        "title": lab.title,
                        "minutes": lab.minutes,
                        "understand": list(lab.understand),
                    }
                    for lab in labs.values()
                ],
                indent=1,
            )
        )
        return 0
    for lab in labs.values():
        print(f"{lab.number:3}  {lab.title} ({lab.minutes} minutes)")
        for line in lab.understand:
            print(f"       {line}")
    console.line("\n'urnic lab 1' begins the first one.")
    return 0


def _missing(lab):
    """Debian's packages."""
    missing = [
        package
        for thing, package in {**NEEDS, **lab.needs}.items()
        if not (os.path.exists(thing) if thing.startswith("/") else shutil.which(thing))
    ]
    if not any(os.path.exists(header) for header in HEADERS):
        missing.append("libibverbs-dev")
    return missing


def _complain(text, code):
    print(f"urnic lab: {text}", file=sys.stderr)
    return code
