# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Carries an experiment out and judges it: the same for a student who works and for --check."""
import dataclasses

from runner.lab import Exercise
from runner.programs import Failure


@dataclasses.dataclass
class Finding:
    text: str
    complaint: str = ""  # empty: as it should be

    @property
    def passed(self):
        return not self.complaint


@dataclasses.dataclass
class Outcome:
    findings: list
    truths: list  # of the experiment's questions, in their order; None where the packets do not tell
    seen: object = None

    @property
    def passed(self):
        return all(finding.passed for finding in self.findings)

    @property
    def complaints(self):
        return [finding.complaint for finding in self.findings if not finding.passed]


def carry_out(experiment, runner, folder):
    try:
        seen = runner.run(experiment, folder)
    except Failure as failure:
        return Outcome(
            [Finding("The programs run to their end.", str(failure))], [None] * len(experiment.questions)
        )
    findings = [Finding("The programs run to their end.")]
    findings += [
        Finding(expect.text, _attempt(lambda: expect.complaint(seen), seen)) for expect in experiment.expects
    ]
    violations = [finding for finding in seen.violations() if finding["rule"] not in experiment.broken_rules]
    complaint = (
        f"urnic check says: {violations[0]['title']}; seen: {violations[0].get('seen', '')}"
        if violations
        else ""
    )
    findings.append(
        Finding(
            "'urnic check' finds no violation in the packets, except for those that are made on purpose.",
            complaint,
        )
    )
    truths = []
    for question in experiment.questions:
        truth, complaint = _truth(question, seen)
        truths.append(truth)
        findings.append(Finding(question.text, complaint))
    return Outcome(findings, truths, seen)


def _truth(question, seen):
    """What the packets answer, and what is wrong with that."""
    found = []
    complaint = _attempt(lambda: found.append(question.truth(seen)) or "", seen)
    truth = found[0] if found else None
    if not complaint and not question.agrees(truth):
        theory = "" if callable(question.expected) else f", where {question.expected} is expected"
        complaint = f"The packets say {truth}{theory}."
    return truth, complaint


def _attempt(test, seen):
    """A complaint. Packets that are not there at all are one, too, and what a program of the student printed
    may be anything."""
    try:
        return test() or ""
    except Exception:  # pylint: disable=broad-except
        return f"This cannot be told: packets or words that it takes are not there. {seen.what_there_is()}"


def exercise_before(steps, index):
    """The exercise that an experiment is about: the last one before it."""
    return next((step for step in reversed(steps[:index]) if isinstance(step, Exercise)), None)
