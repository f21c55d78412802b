# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Many programs, each connected to all others: no completion may fail, and everything that arrives is
verified."""
import harness
from harness import ClientTest, free_port, wait_until


class AllToAll(ClientTest):
    def all_to_all(self, size, *options, nics=None, timeout=120, **how):
        """`nics` has the options of `urnic run` for each program; the port of the whole run without it."""
        if nics is None and size > 2 and harness.port_has_two_ends():
            self.skipTest(f"{size} programs cannot meet over the port: a wire has two ends")
        start = lambda rank, words: self.start(f"rank {rank}", words, nics[rank] if nics else (), **how)
        self.run_ranks(size, "all_to_all", start, options, timeout)

    def run_ranks(self, size, program, start, options, timeout=120):
        port, ranks = free_port(), []
        for rank in range(size):
            words = [harness.STAGE.program(program), "--rank", rank, "--size", size, "--port", port, *options]
            ranks.append(start(rank, [str(word) for word in words]))
        # The first that ends badly says why; the others then only miss it.
        failed = lambda: [process for process in ranks if process.popen.poll() not in (None, 0)]
        if not wait_until(
            lambda: failed() or not any(process.is_running() for process in ranks), timeout, pause=0.02
        ):
            self.fail_with(f"not all programs ended within {timeout} s")
        if failed():
            self.fail_with("a program failed", *failed())
        for process in ranks:
            self.assertIn(f"with {size - 1} others", process.output())

    def test_two(self):
        self.all_to_all(2, "--rounds", 2000)

    def test_two_that_spin(self):
        self.all_to_all(2, "--rounds", 2000, "--spin", 1)

    def test_four(self):
        self.all_to_all(4, "--rounds", 500)

    def test_sixteen(self):
        self.all_to_all(16, "--rounds", 100)

    def test_sixteen_that_spin(self):
        """Far more than there are cores, for most of us."""
        self.all_to_all(16, "--rounds", 30, "--spin", 1, timeout=170)

    def test_sixteen_on_two_switches(self):
        """Others have 16 of the 24 ports of the fabric's first switch already."""
        if harness.port_has_two_ends():
            self.skipTest("a wire has two ends")
        self.hold_ports(16)
        self.all_to_all(16, "--rounds", 100)

    def test_sixteen_on_a_bridge(self):
        """Network interfaces that meet in a bridge of the kernel's, in a namespace of the test's own: needs
        root."""
        inside = self.bridge_namespace(16)
        nics = [["--ip", f"10.78.1.{rank + 1}/24", "--port", f"af_packet:nic{rank}"] for rank in range(16)]
        self.all_to_all(16, "--rounds", 20, nics=nics, privileged=True, inside=inside)

    def test_the_same_over_tcp(self):
        """What tools/bench compares with."""
        self.run_ranks(
            4,
            "all_to_all_tcp",
            lambda rank, words: self.start_plain(f"rank {rank}", words),
            ("--rounds", 200),
        )
