# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Unmodified programs against a responder in SystemVerilog, at the other end of a port for test benches."""
import json
import os
import queue
import subprocess
import threading

import harness
from harness import ClientTest
from perftest_end import PerftestEnd

RTL = harness.PROJECT / "tests/rtl"
OWN_QP, RKEY, ADDRESS = 0x11, 0x1234, 0x10000
ADDRESS_OF_BENCH = "10.77.0.2"
PATH_MTU = 1024
MESSAGES = 1000


def build_bench():
    """The bench, made once for each build of urnic, and where its sources have changed."""
    folder = harness.STAGE.build / "rtl"
    words = [
        "verilator",
        "--cc",
        "--exe",
        "--build",
        "-O3",
        "-Wno-fatal",
        "-j",
        "2",
        "--Mdir",
        folder,
        "-o",
        "bench",
    ]
    words += ["-CFLAGS", f"-std=c++20 -O2 -I{harness.PROJECT}", "--top-module", "roce_responder"]
    words += [RTL / "roce_responder.sv", RTL / "main.cc"]
    made = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise AssertionError(f"the bench cannot be made:\n{made.stdout}{made.stderr}")
    return folder / "bench"


class Bench:
    """The bench as a process, which is told of connections."""

    def __init__(self, test):
        self.socket = os.path.join(test.runtime, "bench.sock")
        self._process = subprocess.Popen(
            [build_bench(), self.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        test.addCleanup(self._end)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.expect("listens")
        os.chmod(self.socket, 0o777)  # the programs may be another user's

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line.strip())

    def _end(self):
        self._process.kill()
        self._process.wait()

    def expect(self, words):
        """The next line, which has these words."""
        line = self._lines.get(timeout=harness.START_TIMEOUT)
        if words not in line:
            raise AssertionError(f"the bench says '{line}' instead of '{words}'")
        return line

    def connect(self, peer_qp, psn):
        words = (OWN_QP, peer_qp, psn, RKEY, ADDRESS, PATH_MTU)
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        self.expect("connected")


class Perftest(ClientTest):
    def setUp(self):
        super().setUp()
        self.require("ib_write_bw", "ib_read_bw", "ib_read_lat", "verilator")
        self.bench = Bench(self)
        self.server = PerftestEnd(OWN_QP, RKEY, ADDRESS, ADDRESS_OF_BENCH, self.bench.connect)
        self.addCleanup(self.server.close)

    def run_client(self, program, *options, nic=()):
        capture = os.path.join(self.runtime, "capture.pcap")
        words = [program, "-d", "urnic0", "-x", "1", "-F", "-m", PATH_MTU, "-p", self.server.port, *options]
        own = ["--port", f"bench:{self.bench.socket}", "--pcap", capture, *nic]
        client = self.start("client", [*map(str, words), "127.0.0.1"], own)
        self.expect_end(client)
        self.bench.expect("the link ends: urnic has closed the connection")
        self.counts = self.bench.expect("frames were dropped")
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
        self.assertRegex(self.counts, r"\b0 requests refused", text)

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
        dropped, refused = (int(part.split()[0]) for part in self.counts.split(", "))
        self.assertGreater(dropped, 3)
        self.assertGreater(refused, 3)
        self.assertEqual(report["violations"], 0, text)
