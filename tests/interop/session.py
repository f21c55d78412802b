"""Carries cases out: a program on urnic, the same program in the guest, one the other's server."""
import contextlib
import dataclasses
import os
import shutil
import time

import cases
import harness
import wires
from guest import GuestError
from stage import Process

DEVICES = {"ours": "urnic0", "guests": "rxe0"}
GID_INDEX = {"linklocal": 0, "ipv4": 1, "ipv6": 2}
CASE_TIMEOUT = 60
# How long a program whose peer has failed gets to notice.
GRACE = 5

COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
RECEIVED = f"$(cat {COUNTERS}/rcvd_pkts)"
UNTIL_TRAFFIC = f"was={RECEIVED}; for i in $(seq 200); do [ {RECEIVED} -gt $((was + 50)) ] && exit 0; sleep 0.05; done; exit 1"
WHY_ALIVE = "top -b -n 1 | head -20; dmesg"


@dataclasses.dataclass
class Run:
    """What became of a case."""

    case: cases.Case
    codes: dict  # by side; None: did not end and was killed
    outputs: dict
    seconds: float
    counters: dict  # of the guest: by how much they grew
    kernel_log: str
    ours: object  # recordings: files, or None
    wire: object

    def describe(self):
        return "\n".join(
            f"--- {side}: {'was killed' if self.codes[side] is None else f'ended with {self.codes[side]}'}\n{self.outputs[side]}"
            for side in self.codes
        )


class Session:
    """A guest and a wire, and what they are set to."""

    def __init__(self, stage, wire, guest, seed):
        self.stage, self.wire, self.guest, self.seed = stage, wire, guest, seed
        self._mtu = self._faults = None
        self._number = 0

    def run(self, case):
        self._number += 1
        self._set_up(case)
        folder = self.stage.folder()
        started = time.monotonic()
        before, _ = self._look()
        ours = folder / "ours.pcap"
        wire = folder / "wire.pcap" if self.wire.has_recorder else None
        with self._recording(wire):
            codes, outputs = self._converse(case, folder, ours)
        after, log = self._look()
        grown = {name: after[name] - before[name] for name in after}
        return Run(case, codes, outputs, time.monotonic() - started, grown, log, ours if ours.exists() else None, wire)

    @staticmethod
    def forget(run):
        """Removes the recordings."""
        if run.ours is not None:
            shutil.rmtree(run.ours.parent, ignore_errors=True)

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
            self.guest.must(f"ip link set eth0 mtu {cases.LINK_MTU[case.mtu]}")
            self._mtu = case.mtu
        if self._faults != case.faults:
            self.guest.must(_netem(cases.FAULTS[case.faults][0]))
            self._faults = case.faults

    def _look(self):
        """The guest's counters, and what its kernel said since last time."""
        text = self.guest.must(f"cd {COUNTERS}; grep . *; echo; dmesg -c")
        counters, _, log = text.partition("\n\n")
        return {line.split(":")[0]: int(line.split(":")[1]) for line in counters.splitlines()}, log.strip()

    def _converse(self, case, folder, recording):
        port = harness.free_port()
        index = GID_INDEX[case.gid]
        we_serve = case.role == "serves"

        def start(side):
            asks = (side == "ours") != we_serve
            peer = None
            if asks:
                peer = self.wire.guests_address_for_host if side == "ours" else self.wire.hosts_address_for_guest
            words = case.words(DEVICES[side], index, port, peer)
            return self._start_ours(case, words, folder, recording) if side == "ours" else self._start_guests(words)

        order = ("ours", "guests") if we_serve else ("guests", "ours")
        if not we_serve:
            self.wire.open_port(self.guest, port)
        processes = {}
        try:
            self._play(case, order, start, port, processes)
        finally:
            self._end(processes)
        return self._results(processes)

    def _play(self, case, order, start, port, processes):
        processes[order[0]] = start(order[0])
        if not self._listens(order[0], processes[order[0]], port):
            return
        if case.role == "serves" and case.program.family == "pingpong":  # the others meet before they have a NIC
            self.wire.await_link(self.guest)
        processes[order[1]] = start(order[1])
        if case.program.kills_server:
            self.guest.must(UNTIL_TRAFFIC)
            self._kill(order[0], processes[order[0]])
        deadline = time.monotonic() + CASE_TIMEOUT
        while any(process.is_running() for process in processes.values()) and time.monotonic() < deadline:
            failed = not case.program.kills_server and any(
                not process.is_running() and _code(process) != 0 for process in processes.values()
            )
            if failed:
                deadline = min(deadline, time.monotonic() + GRACE)
            for process in processes.values():
                process.wait(0.05)

    def _start_ours(self, case, words, folder, recording):
        fault = cases.FAULTS[case.faults][1]
        nic = ["--mtu", cases.LINK_MTU[case.mtu], "--seed", self.seed + self._number, "--pcap", recording]
        nic += ["--fault", f"{fault},direction=tx,seed={self.seed + self._number}"] if fault else []
        program = [self.stage.program(words[0]), *words[1:]] if case.program.family == "peer" else words
        return start_program(self.stage, self.wire, nic, program, folder)

    def _start_guests(self, words):
        return self.guest.begin(" ".join(words), CASE_TIMEOUT)

    def _listens(self, side, process, port):
        if side == "guests":
            pattern = f":{port:04X} [0:]*:0000 0A"
            look = f"grep -q '{pattern}' /proc/net/tcp /proc/net/tcp6"
            code, _ = self.guest.run(f"for i in $(seq 300); do {look} && exit 0; sleep 0.05; done; exit 1", 30)
            return code == 0
        namespace = self.wire.namespace_pid
        return harness.wait_until(
            lambda: not process.is_running() or harness.is_listening(port, namespace), harness.START_TIMEOUT
        ) and process.is_running()

    def _end(self, processes):
        """Ends what still runs."""
        self.killed = {side for side, process in processes.items() if process.is_running()}
        for side in sorted(self.killed, reverse=True):  # ours first: the guest may be the one that does not answer
            self._kill(side, processes[side])

    def _kill(self, side, process):
        if side == "ours":
            process.kill()
            return
        name = process.text.split()[0]
        self.guest.run(f"killall -9 {name}")
        if process.wait(10) is None:
            _, state = self.guest.run(WHY_ALIVE)
            raise GuestError(f"{name} in the guest cannot be killed\n{state}")

    def _results(self, processes):
        codes = {side: None if side in self.killed else _code(process) for side, process in processes.items()}
        return codes, {side: process.output() for side, process in processes.items()}


def start_program(stage, wire, nic, program, folder):
    """`urnic run` with our address on the wire, and these words for its NIC besides."""
    if wire.needs_privilege:
        # It believes in a runtime folder only if it is its user's own.
        os.chown(folder, os.geteuid(), os.getegid())
    addresses = ["--ip", f"{wires.OURS['ipv4']}/24", "--ip6", f"{wires.OURS['ipv6']}/64"]
    command = [*wire.inside, stage.urnic, "run", *addresses, *wire.nic_options(), *nic, "--", *program]
    return Process("ours", command, stage.environment(folder), folder, privileged=wire.needs_privilege, stage=stage)


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
            commands.append(f"tc filter add dev eth0 parent 1: prio {priority} protocol {protocol} u32 {match} flowid 1:4")
    return "; ".join([commands[0], " && ".join(commands[1:]) or "true"])
