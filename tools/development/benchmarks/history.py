# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What was measured here before, for a person who compares two commits."""
import datetime
import json
import os
import statistics
import subprocess


class Unknown(Exception):
    """There is nothing to compare; the text says what is missing."""


class History:
    """A file of one JSON object for each time. It is in the build folder, so that it has no figures of other
    machines."""

    def __init__(self, project):
        self._project = project
        self._file = project / "build/bench-history.jsonl"

    def add(self, rows, repeats):
        entry = {
            "commit": self._commit(),
            "time": datetime.datetime.now().isoformat(timespec="seconds"),
            "cores": os.cpu_count(),
            "repeats": repeats,
            "measures": [
                {name: row[name] for name in ("name", "port", "unit", "ours", "peers")} for row in rows
            ],
        }
        self._file.parent.mkdir(exist_ok=True)
        with open(self._file, "a") as file:
            file.write(json.dumps(entry) + "\n")

    def _commit(self):
        """A plus sign stands for changes that are not committed."""
        git = lambda *words: subprocess.run(
            ["git", *words], cwd=self._project, capture_output=True, text=True
        ).stdout.strip()
        commit = git("rev-parse", "--short", "HEAD") or "unknown"
        return commit + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")

    def compare(self, old=None, new=None):
        """Lines of a table of all that both have: medians of the times that each was measured. As machines
        have slow minutes, the share of the first peer stands beside, which was measured in the same
        minutes."""
        entries = self._read()
        known = list(dict.fromkeys(entry["commit"] for entry in entries))
        if old is None:
            if len(known) < 2:
                raise Unknown(
                    "there are not two commits in build/bench-history.jsonl: run tools/bench on each"
                )
            old, new = known[-2:]
        before, after = (self._measures(entries, commit) for commit in (old, new))
        rows = [("what", "port", "unit", old, new, "new/old", "share of", "old", "new")]
        for key in before:
            if key in after:
                rows.append(_row(key, before[key], after[key]))
        if len(rows) == 1:
            raise Unknown(f"{old} and {new} have nothing in common")
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]

    def _read(self):
        try:
            return [json.loads(line) for line in self._file.read_text().splitlines()]
        except FileNotFoundError:
            raise Unknown("nothing was measured here yet: run tools/bench") from None

    @staticmethod
    def _measures(entries, commit):
        """{(name, port, unit): [measured, ...]} of all times that the commit was measured."""
        found = {}
        for entry in entries:
            if entry["commit"].startswith(commit):
                for one in entry["measures"]:
                    found.setdefault((one["name"], one["port"], one["unit"]), []).append(one)
        if not found:
            raise Unknown(
                f"{commit} was not measured here; these were: {', '.join(dict.fromkeys(e['commit'] for e in entries))}"
            )
        return found


def _row(key, before, after):
    name, port, unit = key
    old, new = (statistics.median(one["ours"] for one in times) for times in (before, after))
    peer = next(iter(before[0]["peers"]), None)
    shares = ["", ""]
    if peer and all(peer in one["peers"] for one in (*before, *after)):
        shares = [
            f"{statistics.median(one['peers'][peer]['ratio'] for one in times):.3f}"
            for times in (before, after)
        ]
    ratio = f"{new / old:.2f}" if old else "-"
    return (name, port or "", unit, f"{old:.2f}", f"{new:.2f}", ratio, peer or "", *shares)
