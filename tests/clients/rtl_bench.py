# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""tests/rtl's bench, a responder in SystemVerilog with a clock, as a process of its own."""
import os
import queue
import subprocess
import sys
import threading

import harness

RTL = harness.PROJECT / "tests/rtl"
sys.path.append(str(RTL))

from device_agent import ADDRESS, MEMORY_BYTES, OWN_QP, RKEY  # noqa: E402

ADDRESS_OF_BENCH = "10.77.0.2"


def build_bench():
    """The bench, made once for each build of urnic, and where its sources have changed."""
    folder = harness.STAGE.build / "rtl"
    words = ["verilator", "--cc", "--exe", "--build", "-O3", "-Wno-fatal", "-j", "2"]
    words += ["--Mdir", folder, "-o", "bench"]
    words += ["-CFLAGS", f"-std=c++20 -O2 -I{harness.PROJECT}", "--top-module", "roce_responder"]
    words += [RTL / "roce_responder.sv", RTL / "main.cc"]
    made = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise AssertionError(f"the bench cannot be made:\n{made.stdout}{made.stderr}")
    return folder / "bench"


class Bench:
    """Serves the NICs of a test, one after the other. main.cc has the lines that it knows."""

    def __init__(self, test, latency_ps=1_000_000):
        self.socket = os.path.join(test.runtime, "bench.sock")
        self._process = subprocess.Popen(
            [build_bench(), self.socket, str(latency_ps)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
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

    def next_line(self):
        return self._lines.get(timeout=harness.START_TIMEOUT)

    def expect(self, words):
        """The next line, which has these words."""
        line = self.next_line()
        if words not in line:
            raise AssertionError(f"the bench says '{line}' instead of '{words}'")
        return line

    def ask(self, line):
        """Its answer."""
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self.next_line()

    def connect(self, peer_qp, psn, path_mtu):
        """Of the queue pair that the device has: it may be written and read by that one."""
        words = ("connect", OWN_QP, peer_qp, psn, RKEY, ADDRESS, MEMORY_BYTES, path_mtu)
        answer = self.ask(" ".join(map(str, words)))
        assert answer == "connected", answer

    def expect_end_of_link(self):
        """How many frames the device has dropped, and how many requests it has refused."""
        self.expect("the link ends: urnic has closed the connection")
        return tuple(int(part.split()[0]) for part in self.expect("frames were dropped").split(", "))
