# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic lab N --check`: carries out all experiments without asking."""
import json
import tempfile
import pathlib
import time

from runner import folder as folders
from runner.lab import Experiment
from runner.programs import Failure, Runner, build
from runner.verdict import Finding, carry_out, exercise_before

PASSED, FAILED = 0, 1


def check(lab, folder, urnic, with_solution, as_json, console):
    """The exit code."""
    if with_solution:
        with tempfile.TemporaryDirectory(prefix="urnic-lab-") as place:
            own = pathlib.Path(place)
            folders.prepare(lab, own)
            folders.fill_in(lab, own)
            return _check(lab, own, urnic, as_json, console)
    if folders.prepare(lab, folder) and not as_json:
        console.line(f"{folder} is new: the files that it lacked have gaps.")
    return _check(lab, folder, urnic, as_json, console)


def _check(lab, folder, urnic, as_json, console):
    started = time.monotonic()
    steps = list(_results(lab, folder, urnic))
    passed = all(finding.passed for _, findings, _ in steps for finding in findings)
    seconds = time.monotonic() - started
    if as_json:
        print(json.dumps(_report(lab, folder, steps, passed, seconds), indent=1))
        return PASSED if passed else FAILED
    for title, findings, exercise in steps:
        failed = [finding for finding in findings if not finding.passed]
        console.line(f"{'FAIL' if failed else 'ok  '}  {title}")
        for finding in failed:
            console.quote(f"Expected: {finding.text}\n{finding.complaint}")
        if failed and exercise:
            console.quote(f"The exercise before it: {exercise.file}, {exercise.title}.")
    console.line(f"Lab {lab.number}, {lab.title}: {'passed' if passed else 'not passed'}, {seconds:.1f} s")
    return PASSED if passed else FAILED


def _results(lab, folder, urnic):
    """(title, findings, the exercise that it is about) of each step that can fail; ends after the first one
    that fails."""
    try:
        build(folder)
    except Failure as failure:
        yield "Build", [Finding("'make' builds the programs.", str(failure))], None
        return
    yield "Build", [Finding("'make' builds the programs.")], None
    runner = Runner(urnic)
    for index, step in enumerate(lab.steps):
        if not isinstance(step, Experiment):
            continue
        findings = carry_out(step, runner, folder).findings
        yield step.title, findings, exercise_before(lab.steps, index)
        if not all(finding.passed for finding in findings):
            return


def _report(lab, folder, steps, passed, seconds):
    return {
        "lab": lab.number,
        "title": lab.title,
        "folder": str(folder),
        "passed": passed,
        "seconds": round(seconds, 1),
        "steps": [
            {
                "title": title,
                "passed": all(finding.passed for finding in findings),
                **({"exercise": exercise.file} if exercise else {}),
                "findings": [
                    {
                        "text": finding.text,
                        "passed": finding.passed,
                        **({"complaint": finding.complaint} if finding.complaint else {}),
                    }
                    for finding in findings
                ],
            }
            for title, findings, exercise in steps
        ],
    }
