# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether urnic works here."""
from __future__ import annotations

import json
import subprocess
from typing import Optional

from urnic.launcher import binary, why_not

_PATIENCE = 60.0  # seconds


def obstacle() -> Optional[str]:
    """What prevents urnic from working on this host, and what to do, a line for each problem that `urnic
    doctor` finds; None if there is none."""
    try:
        result = subprocess.run(
            [binary(), "doctor", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except OSError as error:
        return why_not(error)
    except subprocess.TimeoutExpired:
        return f"urnic doctor did not end within {_PATIENCE:g} s"
    if result.returncode == 0:
        return None
    try:
        findings = json.loads(result.stdout)["findings"]
    except (ValueError, KeyError):
        findings = []
    problems = [
        f"{finding['check']}: {finding['found']}: {finding['remedy']}"
        for finding in findings
        if finding["verdict"] == "problem"
    ]
    return "\n".join(problems) or result.stderr.strip() or f"urnic doctor ended with {result.returncode}"
