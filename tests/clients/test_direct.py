# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Direct links: two programs that talk on the fabric do without its switch."""
import json
import os
import re
import signal
import time

import harness
import icrc
from harness import wait_until
from test_fabric import FabricTest

WRITES = ["ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-s", "65536", "-m", "4096"]
PACKETS_OF_A_WRITE = 16


class Direct(FabricTest):
    def setUp(self):
        super().setUp()
        self.require("ib_write_bw")

    def ports(self):
        """Of the switch; none while there is no switch."""
        asked = self.start_plain("urnic", [harness.STAGE.urnic, "fabric", "status", "--json"])
        asked.wait(20)
        return json.loads(asked.output())["ports"] if asked.popen.returncode == 0 else []

    def frames_in_the_switch(self):
        return sum(port["received_frames"] for port in self.ports())

    def writers(self, *options, nic=()):
        """A server and a client that are about to write."""
        port = harness.free_port()
        words = [*WRITES, *options, "-p", str(port)]
        server = self.start("server", words, nic)
        self.wait_for_listener(server, port)
        client = self.start("client", [*words, "127.0.0.1"])
        both_are_there = lambda: [bool(port["macs"]) for port in self.ports()] == [True, True]
        self.assertTrue(wait_until(both_are_there, harness.START_TIMEOUT), "they do not meet")
        return server, client

    def test_the_switch_moves_only_the_first_frames(self):
        server, client = self.writers("-D", "3")
        time.sleep(1)
        first = self.frames_in_the_switch()
        time.sleep(1)
        later = self.frames_in_the_switch()
        for process in (server, client):
            self.expect_end(process)
        writes = int(re.search(r"^ 65536 +(\d+) ", client.output(), re.MULTILINE).group(1))
        packets = writes * PACKETS_OF_A_WRITE
        self.assertGreater(packets, 100_000)
        self.assertGreater(first, 0)
        # They go on until two threads have made the link, which takes a millisecond or two.
        self.assertLess(first, packets / 50)
        self.assertLess(later - first, 20, "frames go through the switch although there is a link")

    def test_there_are_none_where_they_are_not_wanted(self):
        server, client = self.writers("-D", "3", nic=["--port", "fabric:default,switched"])
        time.sleep(1)
        self.assertGreater(self.frames_in_the_switch(), 2000)
        for process in (server, client):
            self.expect_end(process)

    def test_what_is_recorded_has_its_icrc(self):
        """Also what comes by a link from a NIC that records nothing, and what goes to one."""
        self.require("ib_send_bw")
        for recording_side in (0, 1):
            file = self.runtime / f"side{recording_side}.pcap"
            nics = [[], []]
            nics[recording_side] = ["--pcap", file]
            self.run_pair(
                "ib_send_bw", "-d", "urnic0", "-x", "1", "-F", "-b", "-n", "200", "-s", "65536", nics=nics
            )
            self.assertGreater(icrc.check_recording(file), 2 * 200 * PACKETS_OF_A_WRITE)

    def test_a_peer_that_is_stopped_for_a_while_goes_on(self):
        server, client = self.writers("-D", "5", "-u", "18")  # an ACK timeout of a second, seven times
        time.sleep(1)
        for process in (server, client):
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(2 if process is server else 0.3)
            os.kill(process.pid, signal.SIGCONT)
        for process in (server, client):
            self.expect_end(process)

    def test_traffic_goes_on_when_the_switch_is_killed(self):
        server, client = self.writers("-D", "3")
        time.sleep(1)
        os.kill(self.status()["process"], signal.SIGKILL)
        for process in (server, client):
            self.expect_end(process)

    def test_more_neighbours_than_links(self):
        """A NIC sends on 32 links at most: what is for the others goes through the switch."""
        size, most = 36, 32
        port = harness.free_port()
        # On few cores a program that has its turn late answers late: an ACK timeout of four seconds.
        words = [
            harness.STAGE.program("all_to_all"),
            "--size",
            size,
            "--port",
            port,
            "--rounds",
            40,
            "--ack-timeout",
            20,
            "--stays",
            1,
        ]
        ranks = [
            self.start(f"rank {rank}", [str(word) for word in [*words, "--rank", rank]])
            for rank in range(size)
        ]
        have_talked = wait_until(
            lambda: all("talked" in rank.output() for rank in ranks), harness.PAIR_TIMEOUT
        )
        self.assertTrue(have_talked, "they do not all talk with each other")
        self.assertEqual(max(self.links_of_all()), most)
        # Of its own, four rings of 2.2 MB and 28 of 0.6; and each other one may have a ring of 2.2 MB to this
        # one.
        self.assertLess(max(map(self.ring_bytes_of, ranks)), 4 * 2.3e6 + 28 * 0.7e6 + (size - 1) * 2.3e6)
        for process in ranks:
            os.kill(process.pid, signal.SIGUSR1)
        for process in ranks:
            self.expect_end(process)
            self.assertIn(f"with {size - 1} others", process.output())

    def links_of_all(self):
        asked = self.start_plain("urnic", [harness.STAGE.urnic, "stat", "--json"])
        asked.wait(20)
        self.processes.remove(asked)  # there are many of them
        return [
            process["counters"].get("port_direct_links", 0)
            for process in json.loads(asked.output())["processes"]
        ]

    def ring_bytes_of(self, process):
        try:
            with open(f"/proc/{process.pid}/maps") as file:
                lines = [line.split()[0].split("-") for line in file if "/memfd:urnic-link" in line]
        except OSError:
            return 0
        return sum(int(end, 16) - int(begin, 16) for begin, end in lines)
