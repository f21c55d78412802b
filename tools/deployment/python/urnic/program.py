# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A program that runs beside a test: its output goes to files, so that it never waits for a reader."""
from __future__ import annotations

import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
import time
from typing import Callable, Mapping, Optional, Sequence, Union

Words = Sequence[Union[str, "os.PathLike[str]", int, float]]

DEFAULT_TIMEOUT = 60.0  # seconds
_GRACE = 2.0  # seconds that a program has to end by itself
_PAUSE = 0.01  # seconds between two looks
_SHOWN = 20_000  # characters of output in messages; the rest is said to be left out


class UrnicError(Exception):
    """What went wrong, in words for a person."""


class ProgramFailed(UrnicError):
    """A program ended otherwise than it should, or too early."""


class ProgramTimeout(ProgramFailed):
    """A program did not do in time what the test waited for."""


class Program:
    """A started program, with a session of its own, so that end() reaches all that it started.

    Not for several threads at once.
    """

    def __init__(
        self,
        words: Words,
        *,
        shown: Optional[Words] = None,
        env: Optional[Mapping[str, str]] = None,
        cwd: Union[str, "os.PathLike[str]", None] = None,
        input: Optional[str] = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Starts it. `shown` are the words by which messages name it. `env` is added to the environment of
        this process. `input` is what it reads, nothing by default. `timeout`, in seconds, is for every wait
        that has none. OSError: it could not be started."""
        self.words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
        self.name = pathlib.Path(str((shown or words)[0])).name
        self.timeout = timeout
        self.added_env = dict(env or {})
        self.was_ended = False  # by end(), while it still ran
        self._out = tempfile.TemporaryFile()
        self._err = tempfile.TemporaryFile()
        with tempfile.TemporaryFile() as given:
            given.write((input or "").encode())
            given.seek(0)
            self._popen = subprocess.Popen(
                self.words,
                stdin=given,
                stdout=self._out,
                stderr=self._err,
                cwd=cwd,
                env={**os.environ, **self.added_env},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def returncode(self) -> Optional[int]:
        """None while it runs; a negative number is the signal that ended it."""
        return self._popen.poll()

    @property
    def stdout(self) -> str:
        """What it has written so far."""
        return _read(self._out.fileno())

    @property
    def stderr(self) -> str:
        return _read(self._err.fileno())

    def wait(self, timeout: Optional[float] = None) -> int:
        """How it ended. ProgramTimeout: it still runs, and goes on."""
        __tracebackhide__ = True  # pytest shows the line of the test
        seconds = self.timeout if timeout is None else timeout
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ProgramTimeout(f"{self.name} did not end within {seconds:g} s\n{self.describe()}") from None

    def expect_end(self, timeout: Optional[float] = None, code: int = 0) -> "Program":
        """Waits for its end, and returns itself. ProgramFailed: it ended with another code."""
        __tracebackhide__ = True  # pytest shows the line of the test
        ended = self.wait(timeout)
        if ended != code:
            raise ProgramFailed(f"{self.name} {_ending(ended)} instead of {code}\n{self.describe()}")
        return self

    def wait_for_output(self, text: str, timeout: Optional[float] = None) -> None:
        """Waits until it has written `text`, to stdout or stderr. ProgramFailed: it ended without."""
        self._wait_until(lambda: text in self.stdout or text in self.stderr, f"wrote no {text!r}", timeout)

    def wait_for_listener(self, port: int, timeout: Optional[float] = None) -> None:
        """Waits until a program of this host listens at a TCP port: servers exchange addresses by one.
        ProgramFailed: this program ended before."""
        self._wait_until(lambda: _is_listening(port), f"does not listen on TCP port {port}", timeout)

    def end(self) -> None:
        """Ends it and all that it started: by SIGTERM, after two seconds by SIGKILL. May be called again."""
        self.was_ended = self.was_ended or self.returncode is None
        _signal_all(self._session(), signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        while self._session() and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        _signal_all(self._session(), signal.SIGKILL)
        self._popen.wait()

    def describe(self) -> str:
        """How it was started, how it ended, and what it wrote."""
        code = self.returncode
        state = f"runs as process {self.pid}" if code is None else _ending(code)
        if self.was_ended:
            state += " (it still ran, and was ended)"
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in self.added_env.items())
        lines = [f"$ {variables}{shlex.join(self.words)}", f"  {state}"]
        for name, text in (("stdout", self.stdout), ("stderr", self.stderr)):
            if text:
                lines += [f"  {name}:", *(f"    {line}" for line in _shorten(text).splitlines())]
        return "\n".join(lines)

    def _session(self) -> list[int]:
        """Its processes that still run, also in process groups of their own, as MPI's launchers make them."""
        self._popen.poll()  # or its zombie would count
        found = []
        for folder in pathlib.Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            except (OSError, ValueError):
                continue  # it has ended meanwhile
            if int(session) == self.pid and state != "Z":
                found.append(int(folder.name))
        return found

    def _wait_until(self, condition: Callable[[], bool], what: str, timeout: Optional[float]) -> None:
        __tracebackhide__ = True  # pytest shows the line of the test
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        while not condition():
            if self.returncode is not None:
                if condition():
                    return
                raise ProgramFailed(f"{self.name} {what} and {_ending(self.returncode)}\n{self.describe()}")
            if time.monotonic() > deadline:
                raise ProgramTimeout(f"{self.name} {what} within {seconds:g} s\n{self.describe()}")
            time.sleep(_PAUSE)


def texts(words: Words) -> list[str]:
    """Words as a process gets them: a command may have paths and numbers, too."""
    return [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]


def _read(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return f"({len(text) - _SHOWN} characters before are left out)\n{text[-_SHOWN:]}"


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _is_listening(port: int) -> bool:
    """As /proc/net/tcp(5) has it: state 0A is LISTEN."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = pathlib.Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                return True
    return False
