# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic conform` tests the guest's rdma_rxe and connection manager: what is known of them is a habit, and
nothing else fails."""
import collections
import dataclasses
import json
import subprocess

import wires
from cases import WholeWire
from stage import Process

PORT = 7900
TOKEN = "interop"
# An emulated guest answers late. Seconds.
LIMIT = 1500


class ConformWire(wires.UdpWire):
    """The tester sends through the sockets of the host's own stack."""

    name = "conform"

    def __init__(self, stage, folder):
        super().__init__(stage, folder)
        self.stage, self.folder = stage, folder


class ConformCmWire(ConformWire):
    """The same, for connections."""

    name = "conform-cm"


@dataclasses.dataclass
class Seen:
    """The tester's report, and how many cases must have passed."""

    report: dict
    least_passed: int

    def _of(self, verdict):
        return [case for case in self.report["cases"] if case["verdict"] == verdict]

    def complaints(self):
        for case in self._of("FAIL"):
            yield f"{case['name']}, line {case['line']}: {case['statement']}"
            yield f"  {case['reason']} ({case['rule']})"
            yield from (f"    {line}" for line in case["ladder"])
        if self.report["passed"] < self.least_passed:
            yield f"only {self.report['passed']} cases passed"
            reasons = collections.Counter(case["reason"] for case in self._of("UNKNOWN"))
            yield from (f"  {count} unknown: {reason}" for reason, count in reasons.most_common(20))

    def __str__(self):
        report = self.report
        whose = collections.Counter(case["habit_of"] for case in self._of("HABIT"))
        habits = ", ".join(f"{count} of {name}" for name, count in whose.most_common())
        counts = ", ".join(f"{report[word]} {word}" for word in ("passed", "failed", "unknown"))
        return f"{counts}; habits: {habits or 'none'}"


@dataclasses.dataclass(frozen=True)
class Scene:
    """What a wire plays with the guest: these scripts, with a program of the tester's own in the guest."""

    CASE: WholeWire
    scripts: tuple
    program: str
    source: str  # what the tester calls the program's source
    libraries: tuple
    port_option: str
    least_passed: int

    def guest_programs(self, stage, folder):
        """The program, made as a user makes it."""
        source, program = folder / f"{self.program}.c", folder / self.program
        told = subprocess.run(
            [stage.urnic, "conform", f"--agent-source={self.source}"], capture_output=True, check=True
        )
        source.write_bytes(told.stdout)
        made = subprocess.run(
            ["cc", "-o", program, source, *self.libraries],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if made.returncode != 0:
            raise wires.WireError(f"{source.name} is not compiled: {made.stdout}")
        return [program]

    def play(self, wire, guest):
        command = f"CONFORM_TOKEN={TOKEN} {self.program} {wires.GUESTS['ipv4']} {PORT}"
        program = guest.begin(command, LIMIT + 60)
        listening = f"grep -qi ':{PORT:04x} 00000000:0000 0A' /proc/net/tcp"
        guest.must(f"for i in $(seq 100); do {listening} && exit 0; sleep 0.1; done; exit 1")
        words = [wire.stage.urnic, "conform", "--json", "--port", f"udp:{wires.OURS['ipv4']}"]
        words += ["--token", TOKEN, self.port_option, PORT]
        words += [word for pattern in self.scripts for word in ("--filter", pattern)]
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
            if not program.is_running():
                raise wires.WireError(f"{self.program} has ended:\n{program.output()}")
            return Seen(json.loads(tester.output()), self.least_passed)
        finally:
            tester.kill()


# Of some 600 cases; what an agent cannot do is not among them. A quarter of those that can be played
# expect an event that rdma_rxe does not raise.
QUEUE_PAIRS = Scene(
    CASE=WholeWire("conform"),
    scripts=("rc/*", "uc/*", "ud/*", "xrc/*"),
    program="conform_agent",
    source="c",
    libraries=("-libverbs",),
    port_option="--agent-port",
    least_passed=260,
)
# Of 160. A listener cannot play 29, and in 38 Linux has another way.
CONNECTIONS = Scene(
    CASE=WholeWire("conform-cm"),
    scripts=("cm/*",),
    program="conform_listener",
    source="listener",
    libraries=("-lrdmacm", "-libverbs"),
    port_option="--listener-port",
    least_passed=85,
)
SCENES = {ConformWire: QUEUE_PAIRS, ConformCmWire: CONNECTIONS}
