# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Builds a folder's programs, and runs the programs of an experiment."""
import os
import pathlib
import shlex
import socket
import subprocess
import time

from runner.endings import how_it_ended
from runner.trace import Trace

SECONDS = 40  # for one experiment; programs of labs give up by themselves before that


class Failure(Exception):
    """Words that say what is wrong, and that the student can mend it."""


class Seen:
    """The results of an experiment."""

    def __init__(self, trace, captures, outputs, codes, folder):
        self.trace, self.captures, self.outputs, self.codes, self.folder = (
            trace,
            captures,
            outputs,
            codes,
            folder,
        )

    def output(self, name):
        return self.outputs[name]

    def what_there_is(self):
        """What programs did, for a student who must find out what they did not."""
        return " ".join(
            f"The {name} {self._packets_of(name)}and printed {_count(len(output.splitlines()), 'line')}."
            for name, output in self.outputs.items()
        )

    def _packets_of(self, name):
        return f"sent {_count(len(self.trace.sent(name)), 'packet')} " if name in self.trace.names else ""

    def violations(self):
        """What `urnic check` holds against the packets of all recordings and captures."""
        return [finding for trace in (self.trace, *self.captures.values()) for finding in trace.violations()]


def _count(number, thing):
    return f"{number or 'no'} {thing}{'' if number == 1 else 's'}"


def build(folder):
    result = subprocess.run(
        ["make", "--no-print-directory"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise Failure(f"'make' does not build the programs:\n{result.stdout.strip()}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _has_listener(port):
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = pathlib.Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        if any(
            int(fields[1].split(":")[1], 16) == port and fields[3] == "0A" for fields in map(str.split, lines)
        ):
            return True
    return False


class Runner:
    def __init__(self, urnic):
        self.urnic = urnic

    def command_of(self, experiment, program, port):
        words = [word.format(port=port) for word in shlex.split(program.command)]
        if program.is_plain:
            return [self.urnic, *words[1:]] if words[0] == "urnic" else words
        return [
            self.urnic,
            "run",
            "--record",
            recording_of(experiment, program),
            *shlex.split(program.nic),
            "--",
            *words,
        ]

    def run(self, experiment, folder):
        """What was seen; raises Failure when a program does not end as it should."""
        port = free_port()
        for program in experiment.programs:
            (folder / recording_of(experiment, program)).unlink(missing_ok=True)
        running = {}
        try:
            for program in experiment.programs:
                if program.waits_for_listener:
                    self._await_listener(port, running)
                running[program.name] = self._start(self.command_of(experiment, program, port), folder, port)
            deadline = time.monotonic() + SECONDS
            outputs, codes, stopped = {}, {}, set()
            for name, process in running.items():
                try:
                    outputs[name], _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    process.kill()
                    outputs[name], _ = process.communicate()
                    stopped.add(name)
                codes[name] = process.returncode
        finally:
            for process in running.values():
                if process.poll() is None:
                    process.kill()
                    process.wait()
        failed = [
            program.name
            for program in experiment.programs
            if codes[program.name] != 0 and not program.may_fail
        ]
        if failed:
            sentences = [
                how_it_ended(name, codes[name], outputs[name], SECONDS if name in stopped else None)
                for name in failed
            ]
            raise Failure("\n".join([*sentences, *filter(None, [experiment.hint])]))
        return Seen(
            self._trace_of(experiment, folder), self._captures_of(experiment, folder), outputs, codes, folder
        )

    def _start(self, words, folder, port):
        environment = {**os.environ, "LAB_PORT": str(port), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            return subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise Failure(f"{words[0]}: {error.strerror}") from None

    def _await_listener(self, port, running):
        deadline = time.monotonic() + 10
        while (
            not _has_listener(port)
            and time.monotonic() < deadline
            and all(process.poll() is None for process in running.values())
        ):
            time.sleep(0.02)

    def _trace_of(self, experiment, folder):
        recordings = recordings_of(experiment, folder)
        if not recordings and experiment.recordings_of:
            raise Failure(
                f"there is no recording of '{experiment.recordings_of}': that experiment comes first"
            )
        for name, path in recordings.items():
            if not path.exists() or path.stat().st_size == 0:
                raise Failure(f"{path.name} is empty: the program '{name}' has not opened the device urnic0")
        return Trace(self.urnic, recordings)

    def _captures_of(self, experiment, folder):
        for name in experiment.captures:
            if not (folder / name).exists():
                raise Failure(f"there is no {name}, which the programs should have made")
        return {name: Trace(self.urnic, {name: folder / name}) for name in experiment.captures}


def recording_of(experiment, program):
    return f"{experiment.name}-{program.name}.pcapng"


def recordings_of(experiment, folder):
    """Paths by the name of the program."""
    if experiment.recordings_of:
        paths = sorted(folder.glob(f"{experiment.recordings_of}-*.pcapng"))
        return {path.stem.removeprefix(f"{experiment.recordings_of}-"): path for path in paths}
    return {
        program.name: folder / recording_of(experiment, program)
        for program in experiment.programs
        if not program.is_plain
    }
