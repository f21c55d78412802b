# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""urnic, a software RDMA NIC, for tests: programs that were written for RDMA hardware run on a machine that
has none.

    import urnic
    urnic.run(["ibv_devices"]).stdout

`urnic.pytest_plugin` has fixtures. PYTHON.md, below tree/share/doc/urnic of this package, has examples.
"""
from __future__ import annotations

from urnic.capture import Finding, Report, check, view
from urnic.doctor import obstacle
from urnic.fabric import Fabric, FabricNic
from urnic.launcher import binary
from urnic.nic import Nic, command, free_port, popen, run
from urnic.program import Program, ProgramFailed, ProgramTimeout, UrnicError

__all__ = [
    "Fabric",
    "FabricNic",
    "Finding",
    "Nic",
    "Program",
    "ProgramFailed",
    "ProgramTimeout",
    "Report",
    "UrnicError",
    "binary",
    "check",
    "command",
    "free_port",
    "obstacle",
    "popen",
    "run",
    "view",
]
