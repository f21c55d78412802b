# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What `urnic stat` and URNIC_EXPLAIN say of unmodified programs at work, and of those that lose their peer.
"""
import json
import os
import pathlib
import re
import signal

import harness
from harness import ClientTest, wait_until

COMMAND = ["ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-D", "30", "-q", "2"]
# Eight attempts 34 ms apart: soon over, and longer than a busy machine keeps a peer from answering.
SOON = ["-u", "13"]


class Observation(ClientTest):
    def stat(self, *words, code=0):
        process = self.start_plain("stat", [harness.STAGE.urnic, "stat", *words])
        self.expect_end(process, timeout=30, code=code)
        return process.output()

    def snapshots(self, *words, code=0):
        return json.loads(self.stat("--json", *words, code=code))

    def expect_end(self, process, timeout=harness.PAIR_TIMEOUT, code=0):
        if code is None:
            process.wait(timeout)
        else:
            super().expect_end(process, timeout, code)

    def start_pair(self, *options, environment=None):
        self.require("ib_write_bw")
        port = str(harness.free_port())
        command = [*COMMAND, *options, "-p", port]
        server = self.start("server", command, environment=environment)
        self.wait_for_listener(server, port=int(port))
        client = self.start("client", [*command, "127.0.0.1"], environment=environment)

        def have_heard_each_other():
            processes = self.snapshots(code=None)["processes"]
            states = [qp["state"] for process in processes for qp in process["queue_pairs"]]
            return (
                len(states) == 4
                and "RTS" in states
                and all(one["counters"]["rcvd_pkts"] > 0 for one in processes)
            )

        if not wait_until(have_heard_each_other, harness.START_TIMEOUT, pause=0.2):
            self.fail_with("the pair does not come to talk")
        return server, client

    def test_nobody_is_there(self):
        self.assertIn("no process of this user has an urnic device open", self.stat(code=1))
        self.assertEqual(self.snapshots(code=1), {"version": 1, "processes": [], "errors": []})

    def test_bad_words(self):
        self.assertIn("'zebra'", self.stat("zebra", code=2))

    def test_queue_pairs_of_a_running_program(self):
        self.start_pair()
        found = self.snapshots()
        self.assertEqual(found["errors"], [])
        self.assertEqual([process["program"] for process in found["processes"]], ["ib_write_bw"] * 2)
        first, second = found["processes"]
        self.assertEqual(
            {qp["peer_qp"] for qp in first["queue_pairs"]}, {qp["number"] for qp in second["queue_pairs"]}
        )
        for process, other in ((first, second), (second, first)):
            for qp in process["queue_pairs"]:
                self.assertEqual(qp["type"], "RC")
                self.assertIn(qp["state"], ("RTR", "RTS"))
                self.assertIn(qp["peer_address"], other["addresses"])
            self.assertEqual(len(self.snapshots(str(process["pid"]))["processes"]), 1)
            self.assertEqual(self.snapshots(process["addresses"][1])["processes"][0]["pid"], process["pid"])
        later = {process["pid"]: process for process in self.snapshots()["processes"]}
        self.assertTrue(
            any(
                later[p["pid"]]["counters"]["sent_pkts"] > p["counters"]["sent_pkts"] for p in (first, second)
            )
        )
        self.assertIn(f"0x{first['queue_pairs'][0]['number']:06x} RC", self.stat())
        self.stat("1", code=1)

    def test_a_killed_process_leaves_nothing(self):
        self.require("ibv_rc_pingpong")
        server = self.start(
            "server", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(harness.free_port())]
        )
        folder = pathlib.Path(self.runtime, "urnic")
        if not wait_until(lambda: list(folder.glob("status.*")), harness.START_TIMEOUT):
            self.fail_with("a socket expected")
        self.assertEqual(
            [process["program"] for process in self.snapshots()["processes"]], ["ibv_rc_pingpong"]
        )
        server.kill()
        self.assertEqual(len(list(folder.glob("status.*"))), 1)
        self.assertEqual(self.snapshots(code=1)["processes"], [])
        self.assertEqual(list(folder.glob("status.*")), [])

    def test_a_stopped_process_holds_nobody_up(self):
        self.start_pair()
        # The other one waits for it; the one that sends would give up.
        states = {
            process["pid"]: {qp["state"] for qp in process["queue_pairs"]}
            for process in self.snapshots()["processes"]
        }
        pid = next(pid for pid, its_states in states.items() if "RTS" in its_states)
        os.kill(pid, signal.SIGSTOP)
        try:
            found = self.snapshots()
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual([error["pid"] for error in found["errors"]], [pid])
        self.assertEqual(
            [process["pid"] for process in found["processes"]], [other for other in states if other != pid]
        )

    def test_the_survivor_of_a_kill_explains(self):
        server, client = self.start_pair(*SOON, environment={"URNIC_EXPLAIN": "1"})
        server.kill()
        if not wait_until(lambda: "look at:" in client.output(), 30):
            self.fail_with("an explanation expected", client)
        for words in (
            "RDMA WRITE",
            "failed: transport retry counter exceeded",
            "says nothing",
            "fact 36",
            "no acknowledgement in time",
        ):
            if words not in client.output():
                self.fail_with(f"{words!r} expected", client)

    def test_nothing_is_explained_unless_asked_for(self):
        server, client = self.start_pair(*SOON)
        server.kill()
        # Status 12 is IBV_WC_RETRY_EXC_ERR: something that could have been explained.
        if not wait_until(lambda: "Failed status 12" in client.output(), 60):
            self.fail_with("a failed work request expected", client)
        client.wait(60)
        self.assertNotIn("look at:", client.output())

    def test_nobody_answers(self):
        self.require("ibv_rc_pingpong")
        port = str(harness.free_port())
        server = self.start("server", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", port])
        self.wait_for_listener(server, int(port))
        # The client loses all that it sends, also the ARP request for the server's MAC.
        client = self.start(
            "client",
            ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", port, "127.0.0.1"],
            ["--explain", "--fault", "loss=1"],
        )
        client.wait(60)
        if not re.search(r"no host answers ARP for 10\.\d+\.\d+\.1\b", client.output()):
            self.fail_with("'no host answers ARP' expected", client)
