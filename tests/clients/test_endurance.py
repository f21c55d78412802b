# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Queue pairs without an ACK timeout: if a wire in memory loses a frame, or the NIC misses a doorbell or a
notification, an operation never ends. Some queue pairs stay; others are destroyed and made again at the
same time."""
import os
import random
import time

import harness
from harness import ClientTest, free_port

# Of one run of the program; then others follow with other numbers of queue pairs.
LONGEST_RUN_S = 60


class Endurance(ClientTest):
    SECONDS = 12  # of all tests here together; run.py --endurance says otherwise

    def endure(self, port, hogs=0):
        """`hogs`: how many programs per processor take its time meanwhile."""
        for i in range(hogs * (os.cpu_count() or 1)):
            self.start_plain(f"hog{i}", ["sh", "-c", "while :; do :; done"])
        tests = sum(name.startswith("test_") for name in dir(type(self)))
        chance = random.Random(f"{harness.SEED} {self.id()}")
        end = time.monotonic() + self.SECONDS / tests
        spins = hogs > 0
        while (left := end - time.monotonic()) > 0:
            self.run_once(port, spins, min(left + 0.5, LONGEST_RUN_S), chance)
            spins = not spins

    def run_once(self, port, spins, seconds, chance):
        words = [
            "--port",
            free_port(),
            "--qps",
            chance.choice((2, 3, 8, 16, 31, 64)),
            "--seconds",
            f"{seconds:.1f}",
        ]
        words += ["--spin", int(spins), "--seed", chance.randrange(2**32)]
        size = 1 if port == "loopback" else 2
        program = harness.STAGE.program("endurance")
        ranks = [
            self.start(
                f"rank {rank}",
                [str(word) for word in [program, "--rank", rank, "--size", size, *words]],
                ["--port", port],
            )
            for rank in range(size)
        ]
        for process in ranks:
            if process.wait(seconds + 150) != 0:
                self.fail_with("an operation stands still, or worse", *ranks)
            self.assertIn("done", process.output())

    def wire(self):
        return f"vhost:{self.runtime}/wire.sock"

    def test_loopback(self):
        self.endure("loopback")

    def test_wire(self):
        self.endure(self.wire())

    def test_fabric(self):
        self.endure("fabric")

    def test_loopback_on_crowded_processors(self):
        self.endure("loopback", hogs=2)

    def test_wire_on_crowded_processors(self):
        self.endure(self.wire(), hogs=2)

    def test_fabric_on_crowded_processors(self):
        self.endure("fabric", hogs=2)
