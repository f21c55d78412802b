# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""One link for four writers, three of urnic's with DCQCN and the guest's rdma_rxe, over the network of `urnic
fabric --topology`.

rdma_rxe knows no congestion control: CNPs tell it to send less, as they tell the others, and it ignores them.
This can be seen from each writer's share of the link, from the marks and pauses of the link's queue, and from
the CNPs of both ends.
"""
import dataclasses
import json
import shlex
import subprocess
import time

import harness
import wires
from cases import WholeWire
from stage import Process


CASE = WholeWire("bottleneck")
LINK = 40  # Mb/s: what the emulated sender exceeds on a slow machine, too
OURS = 3
SECONDS = 9
BEGIN, WINDOW = 3, 4  # seconds: what is measured, in the middle of it
PORT = "left->right"
PRIORITY = "3"  # of DSCP 26
# For a slow link (nic/congestion/CONGESTION.md).
DCQCN = f"dcqcn:line_rate={LINK},rpg_min_rate=2,rpg_ai_rate=1,rpg_hai_rate=2,rpg_time_reset=4000,rpg_byte_reset=100000,dce_tcp_rtt=4000,dce_tcp_g=960"
# ECT(0): a switch marks nothing else.
WRITES = [
    "ib_write_bw",
    "-x",
    "1",
    "-F",
    "-m",
    "1024",
    "-s",
    "16384",
    "-D",
    str(SECONDS),
    "--report_gbits",
    "--tclass",
    "106",
]
FRAME = 1082 / 1106  # of a link; less preamble, FCS and gap


def topology():
    """Our senders and all receivers are hosts 0 to 6; the guest, beyond the uplink, is the last one."""
    senders, receivers = [f"sender{i}" for i in range(OURS)], [f"receiver{i}" for i in range(OURS + 1)]
    priority = {
        "lossless": {"xoff": "100kB", "headroom": "64KiB"},
        "ecn": {"kmin": "20kB", "kmax": "80kB", "pmax": 0.1},
    }

    def link(one, other, rate="1Gb/s"):
        return {"ends": [one, other], "rate": rate, "delay": "1us"}

    return {
        "name": "bottleneck",
        "profiles": [{"name": "marking", "priorities": {PRIORITY: priority}}],
        "switches": [{"name": side, "profile": "marking"} for side in ("left", "right")],
        "hosts": [{"name": name, "queue": "256KiB"} for name in (*senders, *receivers, "guest")],
        "links": [
            link("left", "right", f"{LINK}Mb/s"),
            *(link(sender, "left") for sender in (*senders, "guest")),
            *(link("right", receiver) for receiver in receivers),
        ],
    }  # fmt: skip


class NetworkWire(wires.TapWire):
    """The tap leads into a network of ours: its switch has the interface, and our programs are its hosts."""

    name = "network"

    def __init__(self, stage, folder):
        super().__init__(stage, folder)
        self._stage, self.folder = stage, folder
        self._switch = None

    def boot(self, kernel):
        file = self.folder / "topology.json"
        file.write_text(json.dumps(topology()))
        self._switch = self.start(
            "switch", [self._stage.urnic, "fabric", "--topology", file, "--uplink", "af_packet:tap0"]
        )
        if not harness.wait_until(
            lambda: "Ctrl-C" in self._switch.output() or not self._switch.is_running(), harness.START_TIMEOUT
        ):
            raise wires.WireError("the switch does not start")
        if not self._switch.is_running():
            raise wires.WireError(f"the switch does not start: {self._switch.output()}")

    def start(self, name, words):
        environment = self._stage.environment(self.folder)
        return Process(
            name,
            self.start_of_program(self._stage, words),
            environment,
            self.folder,
            privileged=True,
            stage=self._stage,
        )

    def start_host(self, number, *nic, program):
        """A program on a host of the network."""
        address = f"10.79.0.{10 + number}/24"
        return self.start(
            f"host {number}",
            [
                self._stage.urnic,
                "run",
                "--port",
                f"fabric:default,{number}",
                "--ip",
                address,
                *nic,
                "--",
                *program,
            ],
        )

    def ask(self, *words):
        """What the tool says as JSON."""
        command = self.start_of_program(self._stage, [self._stage.urnic, *words, "--json"])
        said = subprocess.run(
            command, env=self._stage.environment(self.folder), capture_output=True, text=True, timeout=20
        )
        return json.loads(said.stdout)

    def close(self):
        if self._switch is not None:
            self._switch.kill()
        super().close()


@dataclasses.dataclass
class Seen:
    """Results. Rates are Mb/s of frames, as the network counts them (perftest in the guest does not know
    how fast its emulated clock is); index OURS is rdma_rxe."""

    rates: list
    marks: int
    pauses: int  # of the guest's link
    drops: dict
    cnps_sent: list  # by receiver
    cnps_handled: list  # by our senders

    def complaints(self):
        total, share = sum(self.rates), LINK * FRAME / (OURS + 1)
        ours, guests = self.rates[:OURS], self.rates[OURS]
        for holds, complaint in (
            (total > 0.8 * LINK * FRAME, f"the link carried {total:.0f} Mb/s of {LINK * FRAME:.0f}"),
            (self.marks > 0, "nothing was marked"),
            (not self.drops, f"a lossless queue lost {self.drops}"),
            (min(self.cnps_sent) > 0, f"a receiver sent no CNP: {self.cnps_sent}"),
            (min(self.cnps_handled) > 0, f"a sender of ours had no CNP: {self.cnps_handled}"),
            (
                guests > 1.5 * share,
                f"rdma_rxe, which ignores CNPs, had {guests:.0f} Mb/s, no more than a share of {share:.0f}",
            ),
            (guests > 2 * max(ours), f"rdma_rxe had {guests:.0f} Mb/s, and one of ours {max(ours):.0f}"),
            (min(ours) > 0.02 * share, f"one of ours was starved: {min(ours):.1f} Mb/s"),
        ):
            if not holds:
                yield complaint

    def __str__(self):
        ours = ", ".join(f"{rate:.0f}" for rate in self.rates[:OURS])
        return (
            f"Mb/s of ours {ours}, of rdma_rxe {self.rates[OURS]:.0f}; {self.marks} marks, {self.pauses} pauses of the guest's link; "
            f"CNPs {sum(self.cnps_sent[:OURS])} for ours, {self.cnps_sent[OURS]} for rdma_rxe"
        )


def guest_programs(stage, folder):
    """None but Debian's."""
    return []


def play(wire, guest):
    """Has them write for some seconds, and looks shortly before they end."""
    ports = [harness.free_port() for _ in range(OURS + 1)]
    words = [[*WRITES, "-d", "urnic0", "-p", str(port)] for port in ports]
    servers = [wire.start_host(OURS + i, program=words[i]) for i in range(OURS + 1)]
    clients = []
    try:
        for server, port in zip(servers, ports):
            if not harness.wait_until(
                lambda: harness.is_listening(port, wire.namespace_pid) or not server.is_running(),
                harness.START_TIMEOUT,
            ):
                raise wires.WireError(f"a receiver does not listen: {server.output()}")
        theirs = guest.begin(
            shlex.join([*WRITES, "-d", "rxe0", "-p", str(ports[OURS]), wires.HOSTS]), SECONDS + 20
        )
        clients = [wire.start_host(i, "--cc", DCQCN, program=[*words[i], wires.HOSTS]) for i in range(OURS)]
        time.sleep(BEGIN)
        since, first = time.monotonic(), _sent_bytes(wire)
        time.sleep(WINDOW)
        took, last = time.monotonic() - since, _sent_bytes(wire)
        counters = {process["pid"]: process["counters"] for process in wire.ask("stat")["processes"]}
        for process in (*clients, *servers, theirs):
            if process.wait(SECONDS + 20) != 0:
                raise wires.WireError(f"a writer did not end well:\n{process.output()}")
        ports_of_network = _ports(wire)
        return Seen(
            rates=[(then - now) * 8 / took / 1e6 for now, then in zip(first, last)],
            marks=ports_of_network[PORT]["marked_frames"],
            pauses=ports_of_network["guest->left"]["pauses_received"],
            drops=ports_of_network[PORT]["dropped_frames"],
            cnps_sent=[counters[server.pid]["np_cnp_sent"] for server in servers],
            cnps_handled=[counters[client.pid]["rp_cnp_handled"] for client in clients],
        )
    finally:
        for process in (*clients, *servers):
            process.kill()


def _ports(wire):
    return {
        each["port"]: each["priorities"].get(PRIORITY, {})
        for each in wire.ask("fabric", "status")["network"]["ports"]
    }


def _sent_bytes(wire):
    """Of each sender, of ours first."""
    ports_of_network = _ports(wire)
    return [
        ports_of_network[f"{name}->left"].get("sent_bytes", 0)
        for name in (*(f"sender{i}" for i in range(OURS)), "guest")
    ]
