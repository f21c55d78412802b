"""What is tried: programs, and what they are tried with. A case is one program with one choice along each axis."""
import dataclasses
import itertools
import random

ROLES = ("serves", "asks")  # what urnic does; the guest does the other
GIDS = ("ipv4", "ipv6", "linklocal")
MTUS = (1024, 4096)  # of the path, in bytes: what interfaces of 1500 and 4200 bytes carry
LINK_MTU = {1024: 1500, 4096: 4200}

# What the network does to the packets, in both directions: `netem` those of the guest, a fault injector ours.
FAULTS = {
    "clean": ("", ""),
    "loss1": ("loss 1%", "loss=0.01"),
    "loss5": ("loss 5%", "loss=0.05"),
    "jumble": ("delay 1ms reorder 10% duplicate 5%", "dup=0.05,reorder=0.05"),
    "loss20": ("loss 20%", "loss=0.2"),
}
WEATHER = {"clean": "fair", "loss1": "foul", "loss5": "foul", "jumble": "foul", "loss20": "dreadful"}

# Lengths of messages, in words that do not depend on the MTU.
SIZES = {
    "tiny": lambda mtu: 1,
    "below": lambda mtu: mtu - 1,
    "equal": lambda mtu: mtu,
    "above": lambda mtu: mtu + 1,
    "many": lambda mtu: 9 * mtu + 5,
}
ONE_PACKET = ("tiny", "below", "equal")
ANY_SIZE = tuple(SIZES)
FIXED = ("fixed",)

QUIET_FAULTS = ("clean",)
# What a connection recovers from.
MENDED_FAULTS = ("clean", "loss1", "loss5", "jumble")


@dataclasses.dataclass(frozen=True)
class Program:
    """`words` with the options that all cases share. `family` says how the others are written."""

    name: str
    words: tuple
    family: str
    sizes: tuple = ANY_SIZE
    faults: tuple = QUIET_FAULTS
    roles: tuple = ROLES
    drops: tuple = ()  # for these roles of ours the guest has to drop packets of ours
    kills_server: bool = False  # in the middle; then the client has to give up


def _pingpong(service, sizes, faults):
    words = (f"ibv_{service}_pingpong", "-c", *(("-q", "4") if service == "srq" else ()))
    return Program(f"{service}_pingpong", words, "pingpong", sizes=sizes, faults=faults)


def _perftest(name, *options, sizes=ANY_SIZE, faults=QUIET_FAULTS):
    suffix = "".join(f"_{word.lower()}" for word in options if not word.startswith("-"))
    # Where nothing says that a receive is missing, all of them are there from the start.
    unreliable = ("-r", "128") if name.startswith("ib_send") and "-c" in options else ()
    return Program(name + suffix, (name, "-F", "-n", "100", *options, *unreliable), "perftest", sizes=sizes, faults=faults)


def _peer(scenario, faults=QUIET_FAULTS, drops=()):
    return Program(scenario, ("interop_peer",), "peer", sizes=FIXED, faults=faults, drops=drops)


PROGRAMS = (
    _pingpong("rc", ANY_SIZE, tuple(FAULTS)),
    _pingpong("srq", ANY_SIZE, MENDED_FAULTS),
    _pingpong("uc", ANY_SIZE, QUIET_FAULTS),
    _pingpong("ud", ONE_PACKET, QUIET_FAULTS),
    _perftest("ib_send_bw", faults=MENDED_FAULTS),
    _perftest("ib_write_bw", faults=MENDED_FAULTS),
    _perftest("ib_read_bw", faults=MENDED_FAULTS),
    _perftest("ib_atomic_bw", "-A", "FETCH_AND_ADD", sizes=FIXED, faults=MENDED_FAULTS),
    _perftest("ib_atomic_bw", "-A", "CMP_AND_SWAP", sizes=FIXED, faults=MENDED_FAULTS),
    # Only we can be the ones who give up: seven retries are endless for rdma_rxe (fact 37), and perftest knows no other number.
    Program("killed_server", ("ib_write_bw", "-F", "-D", "30"), "perftest", roles=("asks",), drops=("asks",), kills_server=True),
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
    _peer("stream", tuple(FAULTS)),
    _peer("operations"),
    _peer("wrap"),
    _peer("unreliable", ("clean", "loss5", "jumble")),
    _peer("datagrams", ("clean", "loss5", "jumble"), drops=("asks",)),
    _peer("windows", drops=("asks",)),
    _peer("refusals", drops=("asks",)),
    _peer("too_long", drops=("asks",)),
    _peer("rnr"),
    _peer("dead", drops=("asks",)),
)


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
    def bytes(self):
        return SIZES[self.size](self.mtu)

    @property
    def drops_expected(self):
        return self.role in self.program.drops

    def choices(self):
        """What the cover is about: each pair of them once. The program comes with a role at least."""
        return (("role", self.role), ("gid", self.gid), ("mtu", self.mtu), ("size", self.size), ("faults", self.faults))

    def words(self, device, gid_index, port, peer=None):
        """The command line of one side; of the client, when `peer` says where the server is."""
        common = [*self.program.words]
        if self.program.family == "peer":
            common += ["--device", device, "--gid", gid_index, "--mtu", self.mtu, "--weather", WEATHER[self.faults]]
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


def _cases(program):
    return [
        Case(program, *choice)
        for choice in itertools.product(program.roles, GIDS, MTUS, program.sizes, program.faults)
    ]


def _pairs(case):
    yield (("program", case.program.name), ("role", case.role))
    yield from itertools.combinations(case.choices(), 2)


def _cover(cases, pairs_of):
    """Few of the cases, with every pair that occurs in all of them: always the one with the most pairs that are missing. Of
    equals any, but in every run the same."""
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
    return _sorted(case for program in PROGRAMS for case in _cases(program))


def cover():
    """Every program in both roles, and every pair of role, kind of GID, MTU, length and faults."""
    return _sorted(_cover([case for program in PROGRAMS for case in _cases(program)], _pairs))


def over_shared_memory():
    """A few cases for another wire. Without a peer the guest's port is down there, and perftest wants it up before it meets
    one."""
    names = ("rc_pingpong", "srq_pingpong", "uc_pingpong", "ud_pingpong", "stream", "operations", "rnr")
    chosen = []
    for program in PROGRAMS:
        for role in program.roles if program.name in names else ():
            chosen.append(Case(program, role, GIDS[len(chosen) % 3], MTUS[len(chosen) % 2], program.sizes[-1], "clean"))
    return chosen


def full():
    """Every program with every role, kind of GID and MTU while nothing is lost, the lengths in turn; and with every kind of
    faults every pair of what else there is."""
    chosen = []
    for program in PROGRAMS:
        turns = itertools.cycle(program.sizes)
        clean = [Case(program, *choice, next(turns), "clean") for choice in itertools.product(program.roles, GIDS, MTUS)]
        faulty = [case for case in _cases(program) if case.faults != "clean"]
        chosen += clean + _cover(faulty, lambda case: itertools.combinations(case.choices(), 2))
    return _sorted(dict.fromkeys(chosen))


def _sorted(cases):
    """Cases with the same MTU and faults in a row: changing them takes time in the guest."""
    return sorted(cases, key=lambda case: (case.mtu, list(FAULTS).index(case.faults), case.name))
