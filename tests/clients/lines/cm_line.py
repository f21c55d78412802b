# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lines of the ladder whose programs connect by rdma_cm, by the addresses of their NICs: played and judged.
"""
import dataclasses
import re
import shlex
import unittest

import harness
from cm_pair import NICS, SERVER, CmPairTest
from lines.line_test import LineTest


@dataclasses.dataclass(frozen=True)
class CmLine:
    """Both are commands as a person types them after `urnic run --ip ... --`."""

    server: str
    client: str = ""  # without it: the server's words and its address
    says: str = ""  # a regular expression: what the client must have said
    refused: str = ""  # what one of them says when it does not take the options
    reason: str = ""  # why it does not
    rows: int = 0  # lines of results of a perftest program
    server_ends: bool = True  # by itself
    environment: tuple = ()  # pairs
    cover: bool = False  # one of those that run with the ordinary tests
    timeout: int = 120

    def cells(self):
        variables = " ".join(f"{name}={value}" for name, value in self.environment)
        said = lambda words: f"{variables} {words}".strip()
        return said(self.server), said(self.client) if self.client else f"… {SERVER}"

    def words(self):
        return f"{self.server} | {self.client}" if self.client else self.server

    def test(self):
        return CmLineTest(self)


class CmLineTest(LineTest, CmPairTest):
    def play(self):
        line = self.line
        server_words = shlex.split(line.server)
        client_words = shlex.split(line.client) or [*server_words, SERVER]
        self.require(server_words[0], client_words[0])
        how = {"environment": dict(line.environment)}
        server = self.start("server", server_words, NICS[0], **how)
        harness.wait_until(
            lambda: self.has_listener() or not server.is_running(), harness.START_TIMEOUT, 0.05
        )
        sides = [server]
        if server.is_running():
            sides.append(self.start("client", client_words, NICS[1], **how))
        if line.refused:
            return self.expect_refusal(sides)
        self.expect_end(sides[-1], line.timeout)
        if line.server_ends:
            self.expect_end(server, line.timeout)
        if line.rows:
            self.expect_rows(sides[-1])
        if not re.search(line.says, sides[-1].output(), re.MULTILINE):
            self.fail_with(f"the client was to say {line.says!r}")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """More than a server and its client: a test with a name, of which the commands are written down only."""

    server: str
    client: str
    case: str  # module.class.method
    cover: bool = False  # tests that are named test_* run by themselves
    refused: str = ""

    def cells(self):
        return self.server, self.client

    def words(self):
        return f"{self.server} | {self.client}"

    def test(self):
        return next(iter(unittest.defaultTestLoader.loadTestsFromName(self.case)))
