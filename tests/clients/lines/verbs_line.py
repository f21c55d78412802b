# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A line of the ladder whose programs tell each other their queue pairs over TCP: played by two programs and
judged."""
import dataclasses
import re

import harness
from harness import free_port, wait_until
from lines.line_test import LineTest
from listeners import is_listening

PERFTEST = ["-d", "urnic0", "-x", "1", "-F"]
PINGPONG = ["-d", "urnic0", "-g", "1"]


@dataclasses.dataclass(frozen=True)
class VerbsLine:
    """What the server runs; the client runs the same and the server's address."""

    program: str
    options: tuple  # besides those that say which device, GID and TCP port
    refused: str = ""  # what the program says when it does not take the options
    reason: str = ""  # why it does not
    rows: int = 1  # lines of results of a perftest program
    cover: bool = False  # one of those that run with the ordinary tests
    timeout: int = 120

    def is_pingpong(self):
        return self.program.startswith("ibv_")

    def words(self):
        """The command, as far as it tells lines apart."""
        return " ".join([self.program, *self.options])

    def command(self):
        """The words that stay the same from run to run."""
        return [self.program, *(PINGPONG if self.is_pingpong() else PERFTEST), *self.options]

    def cells(self):
        """What is written down of it: the commands of server and client."""
        return " ".join(self.command()), "… 127.0.0.1"

    def test(self):
        return VerbsLineTest(self)


class VerbsLineTest(LineTest):
    def play(self):
        self.require(self.line.program)
        words = [*self.line.command(), "-p", str(free_port())]
        server = self.start("server", words)
        wait_until(
            lambda: not server.is_running() or is_listening(int(words[-1]), server.pid), harness.START_TIMEOUT
        )
        sides = [server]
        if server.is_running():
            sides.append(self.start("client", [*words, "127.0.0.1"]))
        if self.line.refused:
            self.expect_refusal(sides)
        else:
            self.expect_result(sides)

    def expect_result(self, sides):
        for side in reversed(sides):
            self.expect_end(side, self.line.timeout)
        if not self.line.is_pingpong():
            return self.expect_rows(sides[-1])
        for side in sides:
            if (
                not re.search(r"iters in|^success$", side.output(), re.MULTILINE)
                or "invalid data" in side.output()
            ):
                self.fail_with("a ping-pong without a result, or with wrong data")
