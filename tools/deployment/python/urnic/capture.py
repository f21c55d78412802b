# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What `urnic check` says about captures."""
from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from typing import Any, Iterable, Sequence, Union

from urnic.launcher import binary
from urnic.program import UrnicError, texts

File = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that a capture shows. `severity` is violation, habit, unknown or event."""

    file: str
    severity: str
    rule: str
    connection: str
    frames: tuple[int, ...]
    expected: str
    seen: str

    def __str__(self) -> str:
        frames = ", ".join(map(str, self.frames))
        expected = f"expected {self.expected}, seen " if self.expected else ""
        return f"{self.severity} {self.rule}: frame {frames}, {self.connection}: {expected}{self.seen}"


@dataclasses.dataclass(frozen=True)
class Report:
    """The judgement of some captures. `damage` has, for each file that could not be read to its end, why.
    `text` is the report for people."""

    findings: tuple[Finding, ...]
    damage: dict[str, str]
    roce_frames: int
    violations: int
    text: str

    @property
    def is_clean(self) -> bool:
        return self.violations == 0 and not self.damage


def check(files: Iterable[File], options: Sequence[str] = ()) -> Report:
    """Judges captures of any RoCEv2. `options` are of `urnic check`, such as --strict or --lossy. UrnicError:
    it has no such option."""
    paths = [os.fspath(file) for file in files]
    if not paths:
        return Report((), {}, 0, 0, "")
    told = _call([*options, "--json"], paths)
    try:
        judged: list[dict[str, Any]] = json.loads(told.stdout)
    except ValueError:
        raise UrnicError(f"urnic check: {told.stderr.strip() or told.stdout.strip()}") from None
    findings = tuple(
        Finding(
            file=file["file"],
            severity=finding["severity"],
            rule=finding["rule"],
            connection=finding.get("connection") or "",
            frames=tuple(finding.get("frames") or ()),
            expected=str(finding.get("expected") or ""),
            seen=str(finding.get("seen") or ""),
        )
        for file in judged
        for finding in file["findings"]
    )
    return Report(
        findings=findings,
        damage={file["file"]: file["damage"] for file in judged if file["damage"]},
        roce_frames=sum(file["roce_v2"] for file in judged),
        violations=sum(file["violations"] for file in judged),
        text=_call(options, paths).stdout,
    )


def view(files: Iterable[File], page: File) -> None:
    """Writes a page for a browser that shows captures. UrnicError: why it cannot."""
    words = texts([binary(), "view", "--output", page, *files])
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        raise UrnicError(f"urnic view: {result.stderr.strip()}")


def _call(options: Sequence[str], paths: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    words = texts([binary(), "check", *options, *paths])
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
