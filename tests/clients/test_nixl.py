# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""NIXL with memory of the host, over the UCX of its own wheel, which has a renamed libibverbs."""
import os
import re
import signal

import harness
import registry
from harness import wait_until

PEER = harness.PROJECT / "tools/deployment/recipes/nixl_peer.py"
# UCX waits UCX_RC_VERBS_TIMEOUT for an acknowledgement, and asks again UCX_RC_VERBS_RETRY_COUNT times.
TIMEOUT, RETRIES = 0.5, 7
START = 60  # seconds: its libraries are large


class Nixl(registry.RegistryTest):
    def setUp(self):
        super().setUp()
        packages = self.bring(registry.python_packages, "nixl", registry.NIXL, registry.NUMPY)
        self.variables = {
            "PYTHONPATH": str(packages),
            "PYTHONDONTWRITEBYTECODE": "1",
            "UCX_TLS": "rc_v,ud_v,self",
            "UCX_NET_DEVICES": "urnic0:1",
            "UCX_RC_VERBS_TIMEOUT": f"{TIMEOUT}s",
            "UCX_RC_VERBS_RETRY_COUNT": str(RETRIES),
            # A NIC with an address of its own is on no interface of the host, where UCX looks for a route.
            "UCX_IB_ROCE_REACHABILITY_MODE": "all",
        }

    def start_target(self, name):
        """The process, and a file that has what it said."""
        script = f'exec {registry.PYTHON} "$0" target {name} >{name}'
        target = self.start(name, ["sh", "-c", script, PEER], environment=self.variables)
        file = self.runtime / name
        is_there = lambda: file.exists() and "target " in file.read_text() and file.read_text()[-1] == "\n"
        if not wait_until(lambda: is_there() or not target.is_running(), START, 0.05) or not is_there():
            self.fail_with(f"{name} does not introduce itself")
        return target, file

    def start_initiator(self, *words):
        command = [registry.PYTHON, PEER, "initiator", *words]
        return self.start("initiator", command, environment=self.variables)

    def test_a_target_is_killed(self):
        """The initiator notices it within UCX's own time, and goes on with another one."""
        (first, here), (_, there) = self.start_target("first"), self.start_target("second")
        initiator = self.start_initiator("--until-it-fails", here, there)
        took = lambda: "first took" in initiator.output() or not initiator.is_running()
        self.assertTrue(wait_until(took, START, 0.05), initiator.describe())
        os.kill(first.pid, signal.SIGKILL)
        self.expect_end(initiator, START)
        waited = float(re.search(r"first failed after ([\d.]+) s", initiator.output())[1])
        # Twice as long as the queue pair tries, for what UCX itself does afterwards.
        self.assertLess(waited, 2 * TIMEOUT * (RETRIES + 1))
        self.assertIn("second took", initiator.output())

    def test_two_peers(self):
        _, there = self.start_target("there")
        initiator = self.start_initiator(there)
        self.expect_end(initiator, START)
        self.assertRegex(initiator.output(), r"there took \d+ x \d+ bytes and gave them back")
