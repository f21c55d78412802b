"""One line of the ladder, played by two programs and judged."""
import re

import harness
from harness import ClientTest, free_port, wait_until
from listeners import is_listening

PERFTEST = ["-d", "urnic0", "-x", "1", "-F"]
PINGPONG = ["-d", "urnic0", "-g", "1"]


def is_pingpong(program):
    return program.startswith("ibv_")


def command_of(line):
    """What is written down of a line: the words that stay the same from run to run."""
    return [line.program, *(PINGPONG if is_pingpong(line.program) else PERFTEST), *line.options]


class LineTest(ClientTest):
    """Plays a line: it ends as a test does, with a failure that shows what both programs said."""

    def __init__(self, line):
        super().__init__("play")
        self.line = line

    def id(self):
        return f"ladder.{self.line.words()}"

    __str__ = id

    def play(self):
        self.require(self.line.program)
        words = [*command_of(self.line), "-p", str(free_port())]
        server = self.start("server", words)
        wait_until(lambda: not server.is_running() or is_listening(int(words[-1]), server.pid), harness.START_TIMEOUT)
        sides = [server]
        if server.is_running():
            sides.append(self.start("client", [*words, "127.0.0.1"]))
        if self.line.refused:
            self.expect_refusal(sides)
        else:
            self.expect_result(sides)

    def expect_refusal(self, sides):
        """It ends, not with 0, and in the known words."""
        said = lambda: "\n".join(side.output() for side in sides)
        wait_until(lambda: self.line.refused in said(), self.line.timeout)
        if self.line.refused not in said():
            self.fail_with(f"a refusal expected: {self.line.refused!r}")
        # The other side may wait for ever for one that has refused.
        if not wait_until(lambda: any(side.popen.poll() not in (None, 0) for side in sides), 10):
            self.fail_with("a refusal is an exit code other than 0")

    def expect_result(self, sides):
        for side in reversed(sides):
            self.expect_end(side, self.line.timeout)
        if is_pingpong(self.line.program):
            for side in sides:
                if not re.search(r"iters in|^success$", side.output(), re.MULTILINE) or "invalid data" in side.output():
                    self.fail_with("a ping-pong without a result, or with wrong data")
        else:
            rows = re.findall(r"^ *\d+ +\d+ +[\d.]+ ", sides[-1].output(), re.MULTILINE)
            if len(rows) != self.line.rows:
                self.fail_with(f"{self.line.rows} lines of results expected, {len(rows)} found")
