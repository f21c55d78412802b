# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A student works through a lab: reads, fills in gaps, predicts, sees what the packets say."""
import shutil
import subprocess

from runner import folder as folders
from runner.catalog import FACTS
from runner.lab import Exercise, Experiment, Say
from runner.programs import Failure, Runner, build, recordings_of
from runner.verdict import carry_out

FINISHED, NOT_FINISHED = 0, 1
STOP = ("q", "quit")


class Stopped(Exception):
    """The student wants to go on another time."""


class Session:
    def __init__(self, lab, folder, urnic, console, opens_picture):
        self.lab, self.folder, self.urnic, self.console, self.opens_picture = (
            lab,
            folder,
            urnic,
            console,
            opens_picture,
        )
        self.runner = Runner(urnic)

    def run(self, from_the_beginning=False):
        """The exit code."""
        is_new = folders.prepare(self.lab, self.folder)
        done = 0 if from_the_beginning else min(folders.progress(self.folder), len(self.lab.steps))
        self._welcome(is_new, done)
        try:
            for index, step in enumerate(self.lab.steps):
                if index < done:
                    continue
                self.console.heading(f"{index + 1}/{len(self.lab.steps)}  {step.title}")
                self._take(step)
                folders.keep_progress(self.folder, index + 1)
        except (Stopped, KeyboardInterrupt):
            self.console.line(f"\nStopped. 'urnic lab {self.lab.number}' goes on here.")
            return NOT_FINISHED
        self._finish()
        return FINISHED

    def _welcome(self, is_new, done):
        self.console.heading(f"Lab {self.lab.number}: {self.lab.title} ({self.lab.minutes} minutes)")
        self.console.line("What you will understand:")
        for line in self.lab.understand:
            self.console.item(line)
        self.console.line()
        place = self.folder.resolve()
        if is_new:
            self.console.say(
                f"The files are in {place}, and are yours: edit them, build them with 'make', run them again."
            )
        else:
            self.console.say(
                f"{place} is there already: it stays as it is{', and we go on where you stopped' if done else ''}. (--restart begins with the first step; files stay.)"
            )
        facts = next(
            (f' Facts, such as "fact 19", are numbered in {path}.' for path in FACTS if path.exists()), ""
        )
        self.console.say(f"README.md there has the whole lab to read.{facts} Enter goes on, q stops.")

    def _take(self, step):
        if isinstance(step, Say):
            self.console.say(step.text)
            self._pause("Enter goes on.")
        elif isinstance(step, Exercise):
            self.console.say(step.text)
            self.console.line(f"The file: {self.folder / step.file}")
            self._pause("Edit it in another window. Enter when you are ready.")
            self._build()
        elif isinstance(step, Experiment):
            self._experiment(step)

    def _experiment(self, step):
        self.console.say(step.text)
        self._show_commands(step)
        answers = [self._predict(question) for question in step.questions]
        while True:
            self._build()
            outcome = carry_out(step, self.runner, self.folder)
            if outcome.passed:
                break
            self.console.line("\nNot there yet:")
            for complaint in outcome.complaints:
                self.console.quote(complaint)
            self._pause("Mend it, then Enter tries again.")
        for program in step.programs:
            if outcome.seen.outputs[program.name].strip():
                self.console.line(f"\nThe {program.name} said:")
                self.console.quote(outcome.seen.outputs[program.name])
        for question, answer, truth in zip(step.questions, answers, outcome.truths):
            self._compare(question, answer, truth)
        self.console.line("The packets show:")
        for expect in step.expects:
            self.console.item(expect.text)
        self.console.line()
        if step.after:
            self.console.say(step.after)
        self._pause("Enter goes on.")

    def _show_commands(self, step):
        self.console.say(
            "What is about to run; you can do so too, in the folder of the lab, with a terminal for each:"
        )
        for program in step.programs:
            command = program.command.replace(" -p {port}", "")
            nic = f" {program.nic}" if program.nic else ""
            self.console.line(
                f"  {command}"
                if program.is_plain
                else f"  urnic run --record {step.name}-{program.name}.pcapng{nic} -- {command}"
            )
        self.console.line()

    def _predict(self, question):
        """An answer: a letter or a number."""
        self.console.line()
        self.console.say(f"Predict: {question.text}")
        for letter, choice in zip("abcdefgh", question.choices):
            self.console.line(f"  {letter}) {choice}")
        while True:
            answer = self.console.ask(f"Your answer{f' ({question.unit})' if question.unit else ''}:")
            if answer is None or answer in STOP:
                raise Stopped
            if question.choices:
                if answer.lower() in "abcdefgh"[: len(question.choices)] and answer:
                    return answer.lower()
                self.console.line("One of the letters, please; a guess is fine.")
                continue
            try:
                return int(answer, 0) if answer.lower().startswith("0x") else float(answer.replace(",", "."))
            except ValueError:
                self.console.line("A number, please; a guess is fine.")

    def _compare(self, question, answer, truth):
        self.console.line(f"\n{question.text}")
        if question.is_right(answer, truth):
            self.console.say(f"Right: {_words(question, truth)}. {question.why}")
        else:
            self.console.say(
                f"You said {_words(question, answer)}; the packets say {_words(question, truth)}. {question.why}"
            )

    def _build(self):
        while True:
            try:
                return build(self.folder)
            except Failure as failure:
                self.console.quote(str(failure))
                self._pause("Mend it, then Enter builds again.")

    def _pause(self, prompt):
        answer = self.console.ask(f"\n[{prompt}]")
        if answer is None or answer in STOP:
            raise Stopped

    def _finish(self):
        experiment = next(
            step for step in self.lab.steps if isinstance(step, Experiment) and step.name == self.lab.picture
        )
        page = self.folder.resolve() / "page.html"
        recordings = [path for path in recordings_of(experiment, self.folder).values() if path.exists()]
        subprocess.run([self.urnic, "view", "-o", page, *recordings], stdout=subprocess.DEVNULL, check=True)
        self.console.heading("Done")
        self.console.say(
            f"The picture of '{experiment.title}', from your own packets: {page}\n\nOpen it in a browser. README.md has questions about the lab; 'urnic view' draws the recordings of the other experiments, which are there, too. 'urnic lab {self.lab.number} --restart' begins again."
        )
        if self.opens_picture:
            opener = shutil.which("xdg-open")
            if opener is None:
                self.console.line("xdg-open is not installed.")
            else:
                subprocess.run([opener, page], check=False)


def _singular(unit):
    """Of "packets", "guesses" and "retries"; "ms" and "Gb/s" have none."""
    for ending, instead in (("sses", "ss"), ("ies", "y")):
        if unit.endswith(ending):
            return unit.removesuffix(ending) + instead
    is_symbol = len(unit) < 3 or "/" in unit
    return unit if is_symbol else unit.removesuffix("s")


def _words(question, answer):
    """An answer as people say it: a number with its unit, or a letter with its choice."""
    if question.choices:
        return f"{answer}) {question.choices['abcdefgh'.index(answer)]}"
    number = f"{answer:g}" if isinstance(answer, float) else str(answer)
    unit = _singular(question.unit) if number == "1" else question.unit
    return f"{number} {unit}".rstrip()
