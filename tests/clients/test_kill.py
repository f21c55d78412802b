# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""kill -9 of either side under traffic: the survivor says so, lives on, and talks to the next peer."""
import random
import time

import harness
from harness import ClientTest, wait_until

# From the start of the new program to data verified both ways.
MEETING_TIMEOUT = 2.0
# The survivor tries 8 times, 34 ms apart, before it gives the dead peer up; the rest is for starved cores.
LOSS_TIMEOUT = 10.0
# So long do they talk before the next death: from in the middle of the first round to well under way.
LONGEST_TALK = 0.1


class Kill(ClientTest):
    """What is the same on every wire; `wire` is the --port."""

    KILLS = 100
    wire = None

    def side(self, role, port, generation):
        """Sides are '--listen' and '--connect'; the name tells generations apart."""
        name = f"{role.strip('-')}{generation}"
        return self.start(
            name, [harness.STAGE.program("traffic"), role, port, "--name", name], ["--port", self.wire]
        )

    def expect_line(self, process, line, timeout, started, *others):
        wait_until(lambda: line in process.output() or not process.is_running(), timeout, pause=0.01)
        took = time.monotonic() - started
        if line not in process.output() or took > timeout + 1:
            self.fail_with(f"{process.name} does not say {line!r} within {timeout} s", process, *others)
        return took

    def kill_either_side_under_traffic(self, kills):
        dice = random.Random(harness.SEED)
        port = harness.free_port()
        started = time.monotonic()
        sides = {"--listen": self.side("--listen", port, 0)}
        self.wait_for_listener(sides["--listen"], port)
        sides["--connect"] = self.side("--connect", port, 0)
        self.expect_line(
            sides["--listen"], "talking connect0\n", harness.START_TIMEOUT, started, sides["--connect"]
        )
        self.expect_line(
            sides["--connect"], "talking listen0\n", harness.START_TIMEOUT, started, sides["--listen"]
        )

        meetings, early_losses = [], 0
        for generation in range(1, kills + 1):
            victim_role, survivor_role = (
                ("--listen", "--connect") if generation % 2 else ("--connect", "--listen")
            )
            survivor = sides[survivor_role]
            losses = survivor.output().count("lost ")
            time.sleep(dice.uniform(0, LONGEST_TALK))
            sides[victim_role].kill()
            self.processes.remove(sides[victim_role])

            started = time.monotonic()
            newcomer = sides[victim_role] = self.side(victim_role, port, generation)
            took = self.expect_line(
                survivor, f"talking {newcomer.name}\n", MEETING_TIMEOUT, started, newcomer
            )
            self.expect_line(newcomer, f"talking {survivor.name}\n", MEETING_TIMEOUT, started, survivor)
            meetings.append(took)
            # Until the wire is there again, attempts to talk may fail as the last one did; nothing else may.
            lost = [line for line in survivor.output().splitlines() if line.startswith("lost ")]
            if len(lost) <= losses or any("retry counter exceeded" not in line for line in lost):
                self.fail_with("a loss, with retries exceeded, expected", survivor, newcomer)
            early_losses += len(lost) - losses - 1

        for process in sides.values():
            process.popen.terminate()
            self.expect_end(process, timeout=30)
        meetings.sort()
        print(
            f"  {kills} deaths; a new peer was talked to after {meetings[len(meetings) // 2]:.2f} s (median), "
            f"{meetings[-1]:.2f} s at most; "
            f"{early_losses} times the first attempt came too early"
        )


class KillOnAWire(Kill):
    @property
    def wire(self):
        return f"vhost:{self.runtime}/wire.sock"

    def test_either_side_is_killed_under_traffic(self):
        self.kill_either_side_under_traffic(self.KILLS // 2)


class KillOnTheFabric(Kill):
    wire = "fabric"

    def test_either_side_is_killed_under_traffic(self):
        self.kill_either_side_under_traffic(self.KILLS - self.KILLS // 2)
