# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A line of the ladder as a test."""
import re

from harness import ClientTest, wait_until


class LineTest(ClientTest):
    """Plays a line: it ends as a test does, with a failure that shows what both programs said."""

    def __init__(self, line):
        super().__init__("play")
        self.line = line

    def id(self):
        return f"ladder.{self.line.words()}"

    __str__ = id

    def expect_refusal(self, sides):
        """One of the two programs ends, not with 0, and in the known words."""
        said = lambda: "\n".join(side.output() for side in sides)
        wait_until(lambda: self.line.refused in said(), self.line.timeout)
        if self.line.refused not in said():
            self.fail_with(f"a refusal expected: {self.line.refused!r}")
        # The other side may wait forever for the side that has refused.
        if not wait_until(lambda: any(side.popen.poll() not in (None, 0) for side in sides), 10):
            self.fail_with("a refusal is an exit code other than 0")

    def expect_rows(self, side):
        """As many lines of results as a perftest program has to print. "inf" is a time on a processor
        whose clock perftest could not find out, as it says itself ("Correlation coefficient"): other
        programs had the processor then."""
        rows = re.findall(r"^ *\d+ +\d+ +(?:[\d.]+|inf) ", side.output(), re.MULTILINE)
        if len(rows) != self.line.rows:
            self.fail_with(f"{self.line.rows} lines of results expected, {len(rows)} found")
