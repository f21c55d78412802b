# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What a test has on its bench: NICs, programs, fabrics and captures, all of which end with it."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import re
import shutil
import zlib
from typing import Any, Callable, Optional

from urnic.capture import File, Report, check, view
from urnic.fabric import Fabric, FabricNic
from urnic.program import Program, UrnicError, Words


@dataclasses.dataclass(frozen=True)
class BenchNic(FabricNic):
    """A NIC whose programs end with the test, and are recorded if the test has a capture."""

    bench: Optional["Bench"] = dataclasses.field(default=None, repr=False, compare=False)

    def popen(self, program: Words, **how: Any) -> Program:
        __tracebackhide__ = True
        assert self.bench is not None
        return self.bench.start(program, super().popen, how)


class Capture:
    """Every frame of the test's programs, a file for each; `urnic check` judges them when the test ends.

    `options` are of `urnic check`. A test that sends no RoCE frame fails, unless `may_be_empty` is True.
    """

    def __init__(self, bench: "Bench") -> None:
        self._bench = bench
        self._added: list[pathlib.Path] = []
        self.options: list[str] = []
        self.may_be_empty = False

    def add(self, file: File) -> None:
        """A capture from elsewhere, such as tcpdump, that is judged and kept with the others."""
        self._added.append(pathlib.Path(file))

    @property
    def files(self) -> list[pathlib.Path]:
        """The captures that there are now. A program that opened no device has none."""
        return [path for path, _ in self._bench.recordings()] + self._added

    def check(self) -> Report:
        """The judgement of what there is now. Programs that still run write their files with a delay."""
        return check(self.files, self.options)

    def complaint(self) -> Optional[str]:
        """Why the test may not pass, when its programs have ended; None if it may."""
        report = self.check()
        if report.violations:
            return f"urnic check found {_counted(report.violations, 'violation')}:\n{report.text}"
        # The end of such a file is where its program was stopped.
        stopped = {str(path) for path, program in self._bench.recordings() if program.was_ended}
        damage = [why for file, why in report.damage.items() if file not in stopped]
        if damage:
            return "urnic check could not read a capture to its end:\n" + "\n".join(damage)
        if not report.roce_frames and not self.may_be_empty:
            return (
                "urnic_capture: the test's programs sent and received no RoCE frame, so there was nothing "
                "to check; set urnic_capture.may_be_empty = True if that is right"
            )
        return None


class Bench:
    """Everything that one test started. `make_folder` makes the folder of its captures."""

    def __init__(self, name: str, seed: int, timeout: float, make_folder: Callable[[], pathlib.Path]) -> None:
        self.seed = zlib.crc32(name.encode()) ^ seed  # of this test; the same in every order of tests
        self.notes: list[str] = []
        self.programs: list[Program] = []
        self.capture: Optional[Capture] = None
        self.kept: list[pathlib.Path] = []
        self._random = random.Random(self.seed)
        self._timeout = timeout
        self._fabrics: list[Fabric] = []
        self._make_folder = make_folder
        self._folder: Optional[pathlib.Path] = None
        self._recorded: list[tuple[pathlib.Path, Program]] = []

    def nic(self, **options: Any) -> BenchNic:
        return BenchNic(bench=self, **options)

    def nics(self, count: int, fabric: dict[str, Any], options: dict[str, Any]) -> list[BenchNic]:
        """NICs on a new fabric."""
        __tracebackhide__ = True
        made = Fabric(**fabric)
        made.start()
        self._fabrics.append(made)
        return [BenchNic(bench=self, **_fields(nic)) for nic in made.nics(count, **options)]

    def draw(self) -> int:
        """A seed that the next run with the same --urnic-seed draws again."""
        return self._random.randrange(1, 2**31)

    def start(self, program: Words, popen: Callable[..., Program], how: dict[str, Any]) -> Program:
        __tracebackhide__ = True
        how.setdefault("timeout", self._timeout)
        file = None
        if self.capture is not None and how.get("record") is None:
            file = how["record"] = self._new_file(pathlib.Path(str(program[0])).name)
        started = popen(program, **how)
        self.programs.append(started)
        if file:
            self._recorded.append((file, started))
        return started

    def recordings(self) -> list[tuple[pathlib.Path, Program]]:
        """The files with anything in them, including the files of a program's further processes."""
        found = []
        for first, program in self._recorded:
            for path in [first, *sorted(first.parent.glob(f"{first.name}.*"))]:
                if path.exists() and path.stat().st_size:
                    found.append((path, program))
        return found

    def end(self) -> None:
        """Ends all programs, the last one first, and the fabrics. May be called again."""
        for program in reversed(self.programs):
            program.end()
        for fabric in self._fabrics:
            fabric.stop()

    def describe(self) -> str:
        """What a person wants to know after a failure."""
        lines = [*self.notes, *(program.describe() for program in self.programs)]
        if self.capture is not None:
            lines += [f"capture: {path}" for path in self.kept]
        return "\n".join(lines)

    def keep(self, folder: Optional[pathlib.Path]) -> None:
        """Keeps the captures of a test that failed: where they are, or as copies in `folder`, with a page."""
        files = [file for file in self.capture.files if file.exists()] if self.capture is not None else []
        self.kept = files
        if not files or folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self.kept = [pathlib.Path(shutil.copy(file, folder)) for file in files]
        try:
            view(self.kept, folder / "view.html")
            self.kept.append(folder / "view.html")
        except (UrnicError, OSError) as error:
            self.notes.append(f"there is no page of the captures: {error}")

    def remove_captures(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _new_file(self, program: str) -> pathlib.Path:
        if self._folder is None:
            self._folder = self._make_folder()
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", program)
        return self._folder / f"{len(self._recorded):02}-{name}.pcapng"


def _fields(nic: FabricNic) -> dict[str, Any]:
    return {field.name: getattr(nic, field.name) for field in dataclasses.fields(nic)}


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def folder_for(name: str, artifacts: File) -> pathlib.Path:
    """The folder for a test of this name, below the folder `artifacts`."""
    return pathlib.Path(os.path.abspath(artifacts)) / re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[-150:]
