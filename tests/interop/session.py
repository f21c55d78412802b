# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Carries cases out: a program on urnic, the same program in the guest, one the other's server."""
import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import time

import cases
import harness
import wires
from guest import GuestError
from program import LINK_MTU
from stage import Process

DEVICES = {"ours": "urnic0", "guests": "rxe0"}
GID_INDEX = {"linklocal": 0, "ipv4": 1, "ipv6": 2}
# Seconds. A client of perftest asks for its second connection within a millisecond; the emulated server takes
# a third of a second until it listens.
HOLD_BACK = 1
# How long a program whose peer has failed gets to notice.
GRACE = 5

COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
RECEIVED = f"$(cat {COUNTERS}/rcvd_pkts)"
UNTIL_TRAFFIC = f"was={RECEIVED}; for i in $(seq 200); do [ {RECEIVED} -gt $((was + 50)) ] && exit 0; sleep 0.05; done; exit 1"

# Values for the braces in the words of programs that connect by rdma_cm; they are the same in all cases.
NOBODY = {"ipv4": "10.79.0.77", "ipv6": "fd79::77"}
GROUP = "239.79.0.1"
ENDLESS, SOME = 1000000, 50  # rounds of an rping
# What a program in the guest has done when others may come.
LISTENS_IN_GUEST = "rdma resource show cm_id | grep LISTEN | grep -q ':{port} '"
JOINED_IN_GUEST = f"ip maddress show dev eth0 | grep -q {GROUP}"

WHY_ALIVE = "top -b -n 1 | head -20; dmesg"


@dataclasses.dataclass
class Run:
    """The results of a case."""

    case: cases.Case
    codes: dict  # by side; None: did not end and was killed
    outputs: dict
    seconds: float
    counters: dict  # of the guest: by how much they grew
    kernel_log: str
    ours: list  # recordings: files, one for each of our NICs
    wire: object  # a file, or None
    kernel: tuple  # the guest's version of Linux

    def describe(self):
        return "\n".join(
            f"--- {side}: {'was killed' if self.codes[side] is None else f'ended with {self.codes[side]}'}\n{self.outputs[side]}"
            for side in self.codes
        )


class Session:
    """A guest and a wire, and what they are set to."""

    def __init__(self, stage, wire, guest, kernel, seed):
        self.stage, self.wire, self.guest, self.kernel, self.seed = stage, wire, guest, kernel, seed
        self._mtu = self._faults = self._knows_us = self._holds_back = None
        self._nics = 0

    def run(self, case):
        self._set_up(case)
        folder = self.stage.folder()
        started = time.monotonic()
        before, _ = self._look()
        wire = folder / "wire.pcap" if self.wire.has_recorder else None
        with self._recording(wire):
            codes, outputs = self._converse(case, folder)
            if case.holds_back:  # the guest has yet to count what is on its way
                time.sleep(2 * HOLD_BACK)
        after, log = self._look()
        grown = {name: after[name] - before[name] for name in after}
        ours = self.wire.recordings(folder)
        return Run(case, codes, outputs, time.monotonic() - started, grown, log, ours, wire, self.kernel)

    @staticmethod
    def forget(run):
        """Removes the recordings."""
        for file in run.ours:
            shutil.rmtree(file.parent, ignore_errors=True)

    @contextlib.contextmanager
    def _recording(self, file):
        if file is not None:
            self.guest.record("wire", file)
        try:
            yield
        finally:
            if file is not None:
                self.guest.stop_recording()

    def _set_up(self, case):
        if self._mtu != case.mtu:
            self.guest.must(f"ip link set eth0 mtu {LINK_MTU[case.mtu]}")
            self._mtu = case.mtu
        faults = case.faults_of("guests")
        if self._faults != faults:
            self.guest.must(_netem(faults))
            self._faults = faults
        # Its kernel asks for a MAC once and waits for a second: with our answers lost, programs fail before
        # they have sent anything.
        knows_us = case.faults != "clean"
        if self._knows_us != knows_us:
            self.wire.introduce_us(self.guest, knows_us)
            self._knows_us = knows_us
        if self._holds_back != case.holds_back:
            self.guest.must(_hold_back(HOLD_BACK if case.holds_back else 0))
            self._holds_back = case.holds_back

    def _look(self):
        """The guest's counters, and what its kernel said since last time."""
        text = self.guest.must(f"cd {COUNTERS}; grep . *; echo; dmesg -c")
        counters, _, log = text.partition("\n\n")
        return {line.split(":")[0]: int(line.split(":")[1]) for line in counters.splitlines()}, log.strip()

    def _converse(self, case, folder):
        port = case.program.port or harness.free_port()
        we_serve = case.role == "serves"

        def start(side, rounds=SOME):
            asks = (side == "ours") != we_serve
            words = self._words(case, side, asks, port, rounds)
            if side == "guests":
                return self.guest.begin(shlex.join(words), case.program.seconds)
            return self._start_ours(case, words, folder)

        order = ("ours", "guests") if we_serve else ("guests", "ours")
        if not we_serve:
            self.wire.open_port(self.guest, port)
        processes = {}
        try:
            if case.program.restarts:
                self._play_restart(case, order, start, port, folder, processes)
            else:
                self._play(case, order, start, port, folder, processes)
        finally:
            self._end(case, processes)
        return self._results(processes)

    def _words(self, case, side, asks, port, rounds):
        if case.program.family != "rdma_cm":
            peer = None
            if asks:
                peer = (
                    self.wire.guests_address_for_host if side == "ours" else self.wire.hosts_address_for_guest
                )
            return case.words(DEVICES[side], GID_INDEX[case.gid], port, peer)
        own, other = (wires.OURS, wires.GUESTS) if side == "ours" else (wires.GUESTS, wires.OURS)
        server, client = (other, own) if asks else (own, other)
        return case.cm_words(
            asks, server=server[case.gid], client=client[case.gid], nobody=NOBODY[case.gid], group=GROUP,
            port=port, other_port=port + 1, device=DEVICES[side], rounds=rounds,
        )  # fmt: skip

    def _play(self, case, order, start, port, folder, processes):
        processes[order[0]] = start(order[0])
        if not self._is_ready(case, order[0], processes[order[0]], port, folder):
            return
        if (
            case.role == "serves" and case.program.family == "pingpong"
        ):  # the others meet before they have a NIC
            self.wire.await_link(self.guest)
        processes[order[1]] = start(order[1])
        if case.program.kills_server:
            self.guest.must(UNTIL_TRAFFIC)
            self._kill(case, order[0], processes[order[0]])
        self._await_ends(case, order, processes)

    def _play_restart(self, case, order, start, port, folder, processes):
        """One of them is killed in the middle of a conversation, and started again at once; a client that
        comes then is served."""
        server, client = order
        killed = client if case.program.restarts == "client" else server
        processes[server] = start(server)
        if not self._is_ready(case, server, processes[server], port, folder):
            return
        first = processes["the first client"] = start(client, ENDLESS)
        if self.guest.run(UNTIL_TRAFFIC)[0] != 0:
            return
        if killed == server:
            processes["the first server"] = processes.pop(server)
            self._kill(case, server, processes["the first server"])
            processes[server] = start(server)
            self._is_ready(case, server, processes[server], port, folder)
            if server == "guests":  # its kernel says goodbye
                first.wait(GRACE)
        self._kill(case, client, first)
        processes[client] = start(client)
        self._await_ends(case, order, processes)

    def _await_ends(self, case, order, processes):
        """Also when they do not end, or one of them long before the other."""
        running = {side: processes[side] for side in (order[1:] if case.program.server_stays else order)}
        deadline = time.monotonic() + case.program.seconds
        while any(process.is_running() for process in running.values()) and time.monotonic() < deadline:
            failed = not case.program.kills_server and any(
                not process.is_running() and _code(process) != 0 for process in running.values()
            )
            if failed:
                deadline = min(deadline, time.monotonic() + GRACE)
            for process in running.values():
                process.wait(0.05)

    def _start_ours(self, case, words, folder):
        # A NIC that comes again with the seed of one before it uses the same communication IDs: its REQ is an
        # old one for the peer.
        self._nics += 10
        recording = self.wire.recording_place(folder) / f"ours{self._nics}.pcap"
        seed = self.seed + self._nics
        fault = case.faults_of("ours")
        nic = ["--mtu", LINK_MTU[case.mtu], "--seed", seed, "--pcap", recording]
        nic += ["--fault", f"{fault},direction=tx,seed={seed}"] if fault else []
        if self.wire.nic_guest is not None:
            return self.wire.begin(nic, words, case.program.seconds)
        program = [self.stage.program(words[0]), *words[1:]] if case.program.family == "peer" else words
        if case.program.name == "mckey":  # it is to be seen when it has joined
            program = ["stdbuf", "-oL", *words]
        return start_program(self.stage, self.wire, nic, program, folder)

    def _is_ready(self, case, side, process, port, folder):
        """Waits until the server awaits clients. False when it never does."""
        if case.program.family != "rdma_cm":
            return self._listens(side, process, port)
        joins = case.program.name == "mckey"
        if side == "guests":
            return self._guest_comes_to(JOINED_IN_GUEST if joins else LISTENS_IN_GUEST.format(port=port))

        def is_ready():
            return "joined" in process.output() if joins else self._has_cm_listener(folder)

        harness.wait_until(lambda: not process.is_running() or is_ready(), harness.START_TIMEOUT, 0.05)
        return process.is_running()

    def _has_cm_listener(self, folder):
        # As the program: another user's are not shown.
        command = self.wire.start_of_program(self.stage, [self.stage.urnic, "stat", "--json"])
        said = subprocess.run(
            command, env=self.stage.environment(folder), capture_output=True, text=True, timeout=20
        ).stdout
        try:
            processes = json.loads(said)["processes"]
        except ValueError:
            return False
        return any(id["state"] == "LISTEN" for process in processes for id in process["rdma_cm_ids"])

    def _listens(self, side, process, port):
        guest = self.guest if side == "guests" else self.wire.nic_guest
        if guest is not None:
            return self._guest_comes_to(
                f"grep -q ':{port:04X} [0:]*:0000 0A' /proc/net/tcp /proc/net/tcp6", guest
            )
        namespace = self.wire.namespace_pid
        return (
            harness.wait_until(
                lambda: not process.is_running() or harness.is_listening(port, namespace),
                harness.START_TIMEOUT,
            )
            and process.is_running()
        )

    def _guest_comes_to(self, condition, guest=None):
        code, _ = (guest or self.guest).run(
            f"for i in $(seq 300); do {condition} && exit 0; sleep 0.05; done; exit 1", 30
        )
        return code == 0

    def _end(self, case, processes):
        """Ends what still runs."""
        self.killed = {side for side, process in processes.items() if process.is_running()}
        for side in sorted(
            self.killed, reverse=True
        ):  # ours first: the guest may be the one that does not answer
            self._kill(case, side, processes[side])

    def _kill(self, case, side, process):
        if isinstance(process, Process):
            process.kill()
            return
        words = process.text.split()
        name = "rping" if words[0] == "sh" else words[words.index("--") + 1] if "--" in words else words[0]
        process.guest.run(f"killall -9 {name}")
        if process.wait(10) is None:
            _, state = process.guest.run(WHY_ALIVE)
            raise GuestError(f"{name} in the guest cannot be killed\n{state}")

    def _results(self, processes):
        codes = {side: None if side in self.killed else _code(process) for side, process in processes.items()}
        return codes, {side: process.output() for side, process in processes.items()}


def start_program(stage, wire, nic, program, folder):
    """`urnic run` with our address on the wire, and these words for its NIC besides."""
    if wire.runs_privileged:
        # It believes in a runtime folder only if it is its user's own.
        os.chown(folder, os.geteuid(), os.getegid())
    addresses = ["--ip", f"{wires.OURS['ipv4']}/24", "--ip6", f"{wires.OURS['ipv6']}/64"]
    command = [stage.urnic, "run", *addresses, *wire.nic_options(), *nic, "--", *program]
    words = wire.start_of_program(stage, command)
    return Process(
        "ours", words, stage.environment(folder), folder, privileged=wire.needs_privilege, stage=stage
    )


def _code(process):
    return process.code if hasattr(process, "code") else process.popen.returncode


def _netem(how):
    """Faults for what leaves the guest to UDP port 4791, over IPv4 and IPv6, and for nothing else."""
    commands = ["tc qdisc del dev eth0 root 2>/dev/null"]
    if how:
        commands += [
            "tc qdisc add dev eth0 root handle 1: prio bands 4 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            f"tc qdisc add dev eth0 parent 1:4 handle 40: netem limit 20000 {how}",
        ]
        for protocol, words, priority in (("ip", "ip", 1), ("ipv6", "ip6", 2)):
            match = f"match {words} protocol 17 0xff match {words} dport 4791 0xffff"
            commands.append(
                f"tc filter add dev eth0 parent 1: prio {priority} protocol {protocol} u32 {match} flowid 1:4"
            )
    return "; ".join([commands[0], " && ".join(commands[1:]) or "true"])


def _hold_back(seconds):
    """Holds back the requests for a connection (REQ, attribute 0x0010 of a MAD to queue pair 1) that come
    over IPv4 for the guest, and nothing else: the acknowledgement that its server waits for is as fast as
    ever, and so is the RTU, without which its server cannot disconnect."""
    commands = ["tc qdisc del dev eth0 ingress 2>/dev/null; ip link del late 2>/dev/null"]
    if seconds:
        match = "match ip protocol 17 0xff match ip dport 4791 0xffff match u32 1 0xffffff at 32 match u16 0x0010 0xffff at 64"
        commands += [
            "ip link add late type ifb && ip link set late up",
            f"tc qdisc add dev late root netem delay {seconds}s",
            "tc qdisc add dev eth0 ingress",
            f"tc filter add dev eth0 parent ffff: protocol ip u32 {match} action mirred egress redirect dev late",
        ]
    return "; ".join([commands[0], " && ".join(commands[1:]) or "true"])
