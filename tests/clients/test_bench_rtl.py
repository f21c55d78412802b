# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Unmodified programs against a responder in SystemVerilog, at the other end of a port for test benches."""
import json
import os
import subprocess

import harness
from harness import ClientTest
from perftest_end import PerftestEnd
from rtl_bench import ADDRESS, ADDRESS_OF_BENCH, OWN_QP, RKEY, Bench

PATH_MTU = 1024
MESSAGES = 1000


class Perftest(ClientTest):
    def setUp(self):
        super().setUp()
        self.require("ib_write_bw", "ib_read_bw", "ib_read_lat", "verilator")
        self.bench = Bench(self)
        self.server = PerftestEnd(OWN_QP, RKEY, ADDRESS, ADDRESS_OF_BENCH, self.connect)
        self.addCleanup(self.server.close)

    def connect(self, peer_qp, psn):
        self.bench.connect(peer_qp, psn, PATH_MTU)

    def run_client(self, program, *options, nic=()):
        capture = os.path.join(self.runtime, "capture.pcap")
        words = [program, "-d", "urnic0", "-x", "1", "-F", "-m", PATH_MTU, "-p", self.server.port, *options]
        own = ["--port", f"bench:{self.bench.socket}", "--pcap", capture, *nic]
        client = self.start("client", [*map(str, words), "127.0.0.1"], own)
        self.expect_end(client)
        self.dropped, self.refused = self.bench.expect_end_of_link()
        return capture

    def judge(self, capture):
        words = [harness.STAGE.urnic, "check", "--json", capture]
        checked = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        return json.loads(checked.stdout)[0], checked.stdout

    def check_clean(self, program, size, packets):
        """`packets` is the least that both sides send for a message of `size`."""
        report, text = self.judge(self.run_client(program, "-n", MESSAGES, "-s", size))
        self.assertEqual(report["verdict"], "clean", text)
        self.assertGreaterEqual(report["roce_v2"], MESSAGES * packets)
        self.assertEqual(report["icrc_right"], report["roce_v2"])
        self.assertEqual(self.refused, 0, text)

    def test_writes_in_one_packet(self):
        self.check_clean("ib_write_bw", 512, packets=1)

    def test_writes_in_several_packets(self):
        self.check_clean("ib_write_bw", 3000, packets=3)

    def test_reads(self):
        self.check_clean("ib_read_bw", 3000, packets=4)

    def test_one_read_after_the_other(self):
        self.check_clean("ib_read_lat", 64, packets=2)

    def test_lost_and_damaged_packets(self):
        """The responder finds gaps and wrong ICRCs, and the NIC repeats until all is done."""
        faults = ["--fault", "loss=0.01,corrupt=0.01,seed=3,direction=tx"]
        report, text = self.judge(self.run_client("ib_write_bw", "-n", 300, "-s", 3000, nic=faults))
        self.assertGreater(self.dropped, 3)
        self.assertGreater(self.refused, 3)
        self.assertEqual(report["violations"], 0, text)
