# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The table of all cases of a group of programs, for people to read."""
import collections
import datetime

import cases
from program import ROLES

ABOUT_FAULTS = {
    "clean": "nothing lost",
    "loss1": "1 % lost",
    "loss5": "5 % lost",
    "jumble": "duplicated, reordered",
    "loss20": "20 % lost",
    "mute": "all of the server's lost",
    "marked": "the guest's packets marked (ECN)",
}


class Results:
    def __init__(self, group):
        self._group = group
        self._rows = {}  # (program, faults) -> role -> [passed, all]
        self._habits = collections.Counter()
        self._notes = collections.Counter()
        self._failed = []
        self._wires = []

    def begin(self, wire, kernel):
        self._wires.append((wire, kernel))

    def add(self, case, verdict):
        wire = self._wires[-1][0]
        key = (wire, case.program.name, case.faults)
        passed_and_all = self._rows.setdefault(key, {role: [0, 0] for role in ROLES})[case.role]
        passed_and_all[0] += not verdict.complaints
        passed_and_all[1] += 1
        self._habits.update(verdict.habits)
        self._notes.update(verdict.notes)
        if verdict.complaints:
            self._failed.append(f"{wire}: {case.name}: {verdict.complaints[0].splitlines()[0]}")

    def write(self, path):
        total = [sum(row[role][i] for row in self._rows.values() for role in ROLES) for i in (0, 1)]
        lines = [
            "# Results",
            "",
            f"`tools/development/interop --full --group {self._group}` wrote this on {datetime.date.today()}: {total[0]} of {total[1]} cases passed against",
            f"rdma_rxe of Debian's {self._wires[0][1]}. A cell has the cases that passed and all of them, with urnic as server",
            "and with urnic as client. What the columns and programs are: [README.md](README.md).",
        ]
        for wire in dict.fromkeys(key[0] for key in self._rows):
            lines += ["", f"## Wire: {wire}", "", *self._table(wire)]
        lines += ["", "## What failed", "", *([f"* {line}" for line in self._failed] or ["Nothing."])]
        lines += ["", "## What was seen besides", "", "| | times |", "|---|---|"]
        lines += [f"| {note} | {count} |" for note, count in sorted(self._notes.items())]
        lines += [
            f"| `{rule}` of rdma_rxe's packets, as `urnic check` calls it | {count} |"
            for rule, count in sorted(self._habits.items())
        ]
        path.write_text("\n".join(lines) + "\n")

    def _table(self, wire):
        columns = [
            faults
            for faults in ABOUT_FAULTS
            if any(key[0] == wire and key[2] == faults for key in self._rows)
        ]
        yield "| program | " + " | ".join(ABOUT_FAULTS[faults] for faults in columns) + " |"
        yield "|---|" + "---|" * len(columns)
        for program in cases.ALL_PROGRAMS:
            rows = [self._rows.get((wire, program.name, faults)) for faults in columns]
            if any(rows):
                yield f"| `{program.name}` | " + " | ".join(_cell(row) if row else "" for row in rows) + " |"


def _cell(row):
    return ", ".join(f"{passed}/{count}" if count else "-" for passed, count in (row[role] for role in ROLES))
