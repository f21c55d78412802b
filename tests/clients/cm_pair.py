# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Pairs of programs that find each other by rdma_cm: by the addresses of their NICs."""
import json

import harness
from harness import ClientTest, wait_until

SERVER = "10.99.0.1"
CLIENT = "10.99.0.2"
NICS = (["--ip", f"{SERVER}/24", "--ip6", "fd99::1/64"], ["--ip", f"{CLIENT}/24", "--ip6", "fd99::2/64"])


class CmPairTest(ClientTest):
    def snapshots(self):
        """What `urnic stat` says of all programs of this test."""
        asked = self.start_plain("stat", [harness.STAGE.urnic, "stat", "--json"])
        asked.wait(20)
        self.processes.remove(asked)
        try:
            return json.loads(asked.output())["processes"]
        except ValueError:
            return []

    def has_listener(self):
        return any(id["state"] == "LISTEN" for process in self.snapshots() for id in process["rdma_cm_ids"])

    def queue_pair_states(self):
        return [qp["state"] for process in self.snapshots() for qp in process["queue_pairs"]]

    def connections(self, server):
        """How many established ones the server has. `urnic run` becomes the program, so that both have one
        number."""
        ids = [
            id
            for process in self.snapshots()
            if process["pid"] == server.pid
            for id in process["rdma_cm_ids"]
        ]
        return sum(id["connection_state"] == "ESTABLISHED" for id in ids)

    def wait_for_cm_listener(self, server):
        if not wait_until(
            lambda: self.has_listener() or not server.is_running(), harness.START_TIMEOUT, 0.05
        ):
            self.fail_with(f"{server.name} has no listener")

    def run_cm_pair(self, server, client, nics=NICS, timeout=harness.PAIR_TIMEOUT, server_ends=True, **how):
        """Runs a server and then its client, each given as its words; returns what both said. Both must
        end with 0; the test ends a server that would serve without end."""
        self.require(server[0], client[0])
        serving = self.start("server", [str(word) for word in server], nics[0], **how)
        self.wait_for_cm_listener(serving)
        asking = self.start("client", [str(word) for word in client], nics[1], **how)
        self.expect_end(asking, timeout)
        if server_ends:
            self.expect_end(serving, timeout)
        return serving.output(), asking.output()
