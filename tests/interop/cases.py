# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Which cases there are, and which of them are run. A case is one program with one choice along each axis."""
import dataclasses
import itertools
import random

from cm_programs import CM_PROGRAMS
from program import (
    ANY_LOSS,
    ANY_SIZE,
    FAULTS,
    FIXED,
    GIDS,
    MENDED_FAULTS,
    MTUS,
    ONE_PACKET,
    QUIET_FAULTS,
    SIZES,
    WEATHER,
    Program,
)


def _pingpong(service, sizes, faults):
    words = (f"ibv_{service}_pingpong", "-c", *(("-q", "4") if service == "srq" else ()))
    return Program(f"{service}_pingpong", words, "pingpong", sizes=sizes, faults=faults, leaves=True)


def _perftest(name, *options, sizes=ANY_SIZE, faults=QUIET_FAULTS):
    suffix = "".join(f"_{word.lower()}" for word in options if not word.startswith("-"))
    # Where nothing says that a receive is missing, all of them are there from the start.
    unreliable = ("-r", "128") if name.startswith("ib_send") and "-c" in options else ()
    return Program(
        name + suffix,
        (name, "-F", "-n", "100", *options, *unreliable),
        "perftest",
        sizes=sizes,
        faults=faults,
    )


def _peer(scenario, faults=QUIET_FAULTS, **more):
    return Program(scenario, ("interop_peer",), "peer", sizes=FIXED, faults=faults, **more)


PROGRAMS = (
    _pingpong("rc", ANY_SIZE, ANY_LOSS),
    _pingpong("srq", ANY_SIZE, MENDED_FAULTS),
    _pingpong("uc", ANY_SIZE, QUIET_FAULTS),
    _pingpong("ud", ONE_PACKET, QUIET_FAULTS),
    _perftest("ib_send_bw", faults=MENDED_FAULTS),
    _perftest("ib_write_bw", faults=(*MENDED_FAULTS, "marked")),
    _perftest("ib_read_bw", faults=MENDED_FAULTS),
    _perftest("ib_atomic_bw", "-A", "FETCH_AND_ADD", sizes=FIXED, faults=MENDED_FAULTS),
    _perftest("ib_atomic_bw", "-A", "CMP_AND_SWAP", sizes=FIXED, faults=MENDED_FAULTS),
    # Only we can be the ones who give up: seven retries are endless for rdma_rxe (fact 37), and perftest
    # knows no other number.
    Program(
        "killed_server",
        ("ib_write_bw", "-F", "-D", "30"),
        "perftest",
        roles=("asks",),
        drops=("asks",),
        kills_server=True,
    ),
    _perftest("ib_send_lat"),
    _perftest("ib_write_lat"),
    _perftest("ib_read_lat"),
    _perftest("ib_atomic_lat", "-A", "FETCH_AND_ADD", sizes=FIXED),
    _perftest("ib_atomic_lat", "-A", "CMP_AND_SWAP", sizes=FIXED),
    _perftest("ib_send_bw", "-c", "UC"),
    _perftest("ib_write_bw", "-c", "UC"),
    _perftest("ib_send_lat", "-c", "UC"),
    _perftest("ib_write_lat", "-c", "UC"),
    _perftest("ib_send_bw", "-c", "UD", sizes=ONE_PACKET),
    _perftest("ib_send_lat", "-c", "UD", sizes=ONE_PACKET),
    _peer("stream", ANY_LOSS),
    _peer("operations"),
    _peer("wrap"),
    _peer("unreliable", ("clean", "loss5", "jumble")),
    _peer("datagrams", ("clean", "loss5", "jumble"), drops=("asks",)),
    _peer("windows", drops=("asks",)),
    _peer("refusals", drops=("asks",)),
    # rdma_rxe of Linux 6.12 repeats an ATOMIC WRITE with address 0.
    _peer("atomic_writes", MENDED_FAULTS, drops=("asks",), least_kernel=(6, 2), quiet_roles=("serves",)),
    _peer("too_long", drops=("asks",)),
    _peer("rnr"),
    _peer("dead", drops=("asks",)),
)


# By how the two sides find each other: over TCP, or by rdma_cm.
GROUPS = {"verbs": PROGRAMS, "rdma_cm": CM_PROGRAMS}
ALL_PROGRAMS = (*PROGRAMS, *CM_PROGRAMS)


@dataclasses.dataclass(frozen=True)
class WholeWire:
    """A case that is no program with its axes: what a wire plays with the guest."""

    name: str

    def __str__(self):
        return self.name


@dataclasses.dataclass(frozen=True)
class Case:
    program: Program
    role: str
    gid: str
    mtu: int
    size: str
    faults: str

    @property
    def name(self):
        size = () if self.size == "fixed" else (self.size,)
        return "/".join((self.program.name, self.role, self.gid, str(self.mtu), *size, self.faults))

    @property
    def group(self):
        return "rdma_cm" if self.program.family == "rdma_cm" else "verbs"

    @property
    def bytes(self):
        return SIZES[self.size](self.mtu)

    def faults_of(self, side):
        """What happens to the packets of "ours" or "guests", in the words of who does it."""
        is_client = (side == "ours") == (self.role == "asks")
        return "" if self.faults == "mute" and is_client else FAULTS[self.faults][side == "ours"]

    @property
    def holds_back(self):
        """Whether messages from our connection manager are held back on their way to the guest's."""
        return self.program.listens_anew and self.role == "asks"

    @property
    def drops_expected(self):
        return self.role in self.program.drops

    def choices(self):
        """What the cover is about: each pair of them once. The program comes with a role at least."""
        return (
            ("role", self.role),
            ("gid", self.gid),
            ("mtu", self.mtu),
            ("size", self.size),
            ("faults", self.faults),
        )

    def words(self, device, gid_index, port, peer=None):
        """The command line of one side; of the client, when `peer` says where the server is."""
        common = [*self.program.words]
        if self.program.family == "peer":
            common += [
                "--device",
                device,
                "--gid",
                gid_index,
                "--mtu",
                self.mtu,
                "--weather",
                WEATHER[self.faults],
            ]
            common += [self.program.name, port]
        elif self.program.family == "pingpong":
            # So few round trips that those with the guest under loss take seconds.
            rounds = 20 if WEATHER[self.faults] == "dreadful" else 100
            common += ["-n", rounds, "-d", device, "-g", gid_index, "-p", port, "-s", self.bytes]
            common += [] if "ud" in self.program.name else ["-m", self.mtu]
        else:
            common += ["-d", device, "-x", gid_index, "-p", port, "-m", self.mtu]
            common += [] if self.size == "fixed" else ["-s", self.bytes]
        return [str(word) for word in [*common, *([peer] if peer else [])]]

    def cm_words(self, asks, **places):
        """The command line of the client or of the server of a program that finds its peer by rdma_cm.
        `places` are what stands in braces there."""
        words = self.program.client_words if asks else self.program.server_words
        return [filled for filled in (word.format(**places) for word in words) if filled]


def _cases(program):
    cases = (
        Case(program, *choice)
        for choice in itertools.product(program.roles, program.gids, MTUS, program.sizes, program.faults)
    )
    return [case for case in cases if case.faults == "clean" or case.role not in program.quiet_roles]


def _pairs(case):
    yield (("program", case.program.name), ("role", case.role))
    yield from itertools.combinations(case.choices(), 2)


def _cover(cases, pairs_of):
    """Few of the cases, with every pair that occurs in all of them: always the one with the most pairs
    that are missing. Of equals any, but in every run the same."""
    cases = random.Random(1).sample(cases, len(cases))
    pairs = {case: frozenset(pairs_of(case)) for case in cases}
    missing = frozenset().union(*pairs.values())
    chosen = []
    while missing:
        best = max(cases, key=lambda case: len(pairs[case] & missing))
        chosen.append(best)
        missing -= pairs[best]
    return chosen


def everything():
    return _sorted(case for program in ALL_PROGRAMS for case in _cases(program))


def cover():
    """Every program in both roles, and every pair of role, kind of GID, MTU, length and faults. Of the
    programs that connect by rdma_cm, whose lost messages take seconds, each once."""
    return _sorted(
        _cover([case for program in PROGRAMS for case in _cases(program)], _pairs) + _some_with_cm()
    )


def _some_with_cm():
    """Each program once without faults, two with loss as well, the other choices in turn."""
    chosen = []
    for number, program in enumerate(program for program in CM_PROGRAMS if "clean" in program.faults):
        turns = (itertools.cycle(axis) for axis in (program.roles, program.gids, MTUS))
        role, gid, mtu = (
            next(itertools.islice(turn, number // step, None)) for turn, step in zip(turns, (1, 2, 4))
        )
        wanted = [
            faults
            for faults in program.faults
            if faults == "clean" or program.name in ("rping_own_queue_pairs", "rstream")
        ]
        chosen += [Case(program, role, gid, mtu, "fixed", faults) for faults in wanted]
    return chosen


def over_shared_memory():
    """A few cases for another wire. Without a peer the guest's port is down there, and perftest wants it
    up before it meets one."""
    names = ("rc_pingpong", "srq_pingpong", "uc_pingpong", "ud_pingpong", "stream", "operations", "rnr")
    chosen = []
    for program in PROGRAMS:
        for role in program.roles if program.name in names else ():
            chosen.append(
                Case(program, role, GIDS[len(chosen) % 3], MTUS[len(chosen) % 2], program.sizes[-1], "clean")
            )
    return chosen


def over_sockets(groups=GROUPS, is_full=False):
    """Cases for the host's own addresses, among which there is no link-local one, and for the kernel's UDP
    sockets. In full every program with each pair of the other choices, without the faults that sockets do
    not mind, and without what asks us for neighbors: the host has them."""
    names = (
        "rc_pingpong",
        "uc_pingpong",
        "ud_pingpong",
        "ib_write_bw",
        "ib_read_bw",
        "stream",
        "operations",
        "rping",
        "rdma_server",
    )
    chosen = []
    for program in (program for group in groups for program in GROUPS[group]):
        if not is_full and program.name not in names:
            continue
        some = [
            case for case in _cases(program) if case.gid in _GIDS_OF_HOSTS and case.faults in _FAULTS_OF_HOSTS
        ]
        some = [case for case in some if program.meets or case.role == "serves"]
        if some:
            chosen += _cover(
                some,
                lambda case: itertools.combinations(case.choices(), 2) if is_full else [("role", case.role)],
            )
    return _sorted(dict.fromkeys(chosen))


def over_pci():
    """Cases for urnic in a guest of its own, which drives a network card: both roles and MTUs, and some loss."""
    names = ("rc_pingpong", "uc_pingpong", "ud_pingpong", "ib_write_bw", "ib_read_bw", "stream", "operations")
    chosen = []
    for program in PROGRAMS:
        if program.name not in names:
            continue
        for number, role in enumerate(program.roles):
            chosen.append(
                Case(
                    program,
                    role,
                    GIDS[len(chosen) % 3],
                    MTUS[(len(chosen) // 2 + number) % 2],
                    program.sizes[-1],
                    "clean",
                )
            )
        if program.name in ("rc_pingpong", "ib_write_bw", "stream"):
            role = program.roles[len(chosen) % 2]
            chosen.append(
                Case(program, role, GIDS[len(chosen) % 3], MTUS[len(chosen) % 2], program.sizes[-1], "loss1")
            )
    return _sorted(chosen)


_GIDS_OF_HOSTS = ("ipv4", "ipv6")
_FAULTS_OF_HOSTS = ("clean", "loss1", "loss5")


def full(groups=GROUPS):
    """Of these groups, every program with every role, kind of GID and MTU while nothing is lost, the
    lengths in turn; and with every kind of faults every pair of what else there is."""
    chosen = []
    for program in (program for group in groups for program in GROUPS[group]):
        turns = itertools.cycle(program.sizes)
        choices = itertools.product(program.roles, program.gids, MTUS) if "clean" in program.faults else ()
        clean = [Case(program, *choice, next(turns), "clean") for choice in choices]
        faulty = [case for case in _cases(program) if case.faults != "clean"]
        chosen += clean + _cover(faulty, lambda case: itertools.combinations(case.choices(), 2))
    return _sorted(dict.fromkeys(chosen))


def _sorted(cases):
    """Cases with the same MTU and faults in a row: changing them takes time in the guest."""
    return sorted(cases, key=lambda case: (case.mtu, list(FAULTS).index(case.faults), case.name))
