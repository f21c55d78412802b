# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic conform` tests the guest's rdma_rxe: what is known of that driver is a habit, and nothing else
fails."""
import collections
import dataclasses
import json
import subprocess

import wires
from cases import WholeWire
from stage import Process

CASE = WholeWire("conform")
PORT = 7900
TOKEN = "interop"
AGENT = "conform_agent"
# What the agent can do; the cases about connections need a listener.
SCRIPTS = ("rc/*", "uc/*", "ud/*", "xrc/*")
# An emulated guest answers late. Seconds.
LIMIT = 1500
# Of some 600 cases; what an agent cannot do is not among them. A quarter of those that can be played
# expect an event that rdma_rxe does not raise.
LEAST_PASSED = 260


class ConformWire(wires.UdpWire):
    """The tester sends through the sockets of the host's own stack."""

    name = "conform"

    def __init__(self, stage, folder):
        super().__init__(stage, folder)
        self.stage, self.folder = stage, folder


@dataclasses.dataclass
class Seen:
    """The tester's report."""

    report: dict

    def _of(self, verdict):
        return [case for case in self.report["cases"] if case["verdict"] == verdict]

    def complaints(self):
        for case in self._of("FAIL"):
            yield f"{case['name']}, line {case['line']}: {case['statement']}"
            yield f"  {case['reason']} ({case['rule']})"
            yield from (f"    {line}" for line in case["ladder"])
        if self.report["passed"] < LEAST_PASSED:
            yield f"only {self.report['passed']} cases passed"
            reasons = collections.Counter(case["reason"] for case in self._of("UNKNOWN"))
            yield from (f"  {count} unknown: {reason}" for reason, count in reasons.most_common(20))

    def __str__(self):
        report = self.report
        whose = collections.Counter(case["habit_of"] for case in self._of("HABIT"))
        habits = ", ".join(f"{count} of {name}" for name, count in whose.most_common())
        counts = ", ".join(f"{report[word]} {word}" for word in ("passed", "failed", "unknown"))
        return f"{counts}; habits: {habits or 'none'}"


def guest_programs(stage, folder):
    """The agent, made as a user makes it."""
    source, program = folder / "agent.c", folder / AGENT
    told = subprocess.run([stage.urnic, "conform", "--agent-source"], capture_output=True, check=True)
    source.write_bytes(told.stdout)
    made = subprocess.run(
        ["cc", "-o", program, source, "-libverbs"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if made.returncode != 0:
        raise wires.WireError(f"the agent is not compiled: {made.stdout}")
    return [program]


def play(wire, guest):
    agent = guest.begin(f"CONFORM_TOKEN={TOKEN} {AGENT} {wires.GUESTS['ipv4']} {PORT}", LIMIT + 60)
    listening = f"grep -qi ':{PORT:04x} 00000000:0000 0A' /proc/net/tcp"
    guest.must(f"for i in $(seq 100); do {listening} && exit 0; sleep 0.1; done; exit 1")
    words = [wire.stage.urnic, "conform", "--json", "--port", f"udp:{wires.OURS['ipv4']}", "--token", TOKEN]
    words += [word for pattern in SCRIPTS for word in ("--filter", pattern)]
    tester = Process(
        "conform",
        wire.start_of_program(wire.stage, [*words, wires.GUESTS["ipv4"]]),
        wire.stage.environment(wire.folder),
        wire.folder,
        privileged=True,
        stage=wire.stage,
    )
    try:
        if tester.wait(LIMIT) is None:
            raise wires.WireError(f"the tester does not end in {LIMIT} s:\n{tester.output()[-3000:]}")
        if not agent.is_running():
            raise wires.WireError(f"the agent has ended:\n{agent.output()}")
        return Seen(json.loads(tester.output()))
    finally:
        tester.kill()
