# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is measured: of ours over a port, of peers, which stand beside which, and the goals."""
import dataclasses
import typing

import harness
from benchmarks import frameworks
from benchmarks.programs import cmtime_serves_for_ever
from benchmarks.report import row

# {name: what finds it}. Latencies are half a round trip. The limit is of packets that carry 4096, 1024 or 64
# bytes.
PEERS = {
    "limit 4160 B": lambda peers: peers.limit(4160, "gbps"),
    "limit 1088 B": lambda peers: peers.limit(1088, "gbps"),
    "limit 64 B": lambda peers: peers.limit(64, "half_round_trip_us"),
    "limit 64 B, rate": lambda peers: peers.limit(64, "mpps"),
    "TCP": lambda peers: peers.tcp_bandwidth(),
    "TCP on one core": lambda peers: peers.tcp_bandwidth(on_one_core=True),
    "UDP": lambda peers: peers.udp_bandwidth(),
    "TCP connections": lambda peers: peers.tcp_connection_rate(),
    "TCP, eight programs": lambda peers: peers.tcp_all_to_all(8),
    "UCX/TCP 64 KiB": lambda peers: frameworks.ucx_bandwidth(
        peers.pair_with, "tcp", "tag_bw", 65536, peers.seconds
    ),
    "UDP on two cores": lambda peers: peers.udp_latency(64),
    "UDP on one core": lambda peers: peers.udp_latency(64, share_core=True),
    "UDP spinning": lambda peers: peers.udp_latency(64, spin=True),
    "UCX/TCP 2 B": lambda peers: frameworks.ucx_median(peers.pair_with, "tcp", 2, peers.seconds),
    "UCX/TCP 64 B": lambda peers: frameworks.ucx_median(peers.pair_with, "tcp", 64, peers.seconds),
    "UCX/TCP 64 B, asleep": lambda peers: frameworks.ucx_median(
        peers.pair_with, "tcp", 64, peers.seconds, asleep=True
    ),
    "libfabric/TCP 2 B": lambda peers: frameworks.libfabric_average(peers.pair_with, "tcp", 2, peers.seconds),
    "libfabric/TCP 64 B": lambda peers: frameworks.libfabric_average(
        peers.pair_with, "tcp", 64, peers.seconds
    ),
} | {
    row.over_tcp: lambda peers, row=row: row.find(peers.pair_with, "tcp", peers.seconds)
    for row in frameworks.ROWS
}
LATENCY_GOALS = {
    (
        "write",
        64,
        False,
    ): "<= 3.5 x limit 64 B and < 1 x UDP spinning and < 1 x UCX/TCP 64 B and < 1 x libfabric/TCP 64 B",
    ("send", 64, True): "<= 0.8 x UCX/TCP 64 B, asleep",
}
STREAMS = ("TCP", "UCX/TCP 64 KiB")
LIMITS = {4096: "limit 4160 B", 1024: "limit 1088 B"}


@dataclasses.dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    find: typing.Callable  # of an Ours
    peers: tuple = ()  # names of PEERS
    goal: str = ""  # as report.row() takes it
    own: str = ""  # another measure of ours that stands beside it, too
    programs: int = 2  # that have a NIC
    chooses_addresses: bool = False  # of the NICs

    def is_possible_over(self, port):
        has_two_ends = port == "udp" or harness.port_has_two_ends(port)
        return (self.programs == 2 or not has_two_ends) and not (
            self.chooses_addresses and harness.has_host_addresses(port)
        )


def _bandwidth_name(verb, mtu):
    return f"64 KiB {verb.upper()}, MTU {mtu}"


def _bandwidths():
    write = _bandwidth_name("write", 4096)
    for verb in ("write", "read", "send"):
        for mtu in (4096, 1024):
            name = _bandwidth_name(verb, mtu)
            own, share = (write, 0.9) if mtu == 4096 else (_bandwidth_name(verb, 4096), 0.8)
            if own == name:
                own, goal = "", ">= 0.6 x limit 4160 B and >= 3.5 x TCP"
            else:
                goal = f">= {share} x {own}"
            find = lambda ours, program=f"ib_{verb}_bw", mtu=mtu: ours.bandwidth(program, mtu)
            yield Measure(name, "Gb/s", find, (LIMITS[mtu], *STREAMS), goal, own)


def _latencies():
    for verb in ("write", "send", "read"):
        for size in (2, 64):
            peers = (
                "limit 64 B",
                "UDP on two cores",
                "UDP on one core",
                "UDP spinning",
                f"UCX/TCP {size} B",
                f"libfabric/TCP {size} B",
            )
            for events in (False, True):
                # A WRITE makes no event at the receiver: ib_write_lat has no events.
                if events and verb == "write":
                    continue
                options = ["-e"] if events else []
                goal = LATENCY_GOALS.get((verb, size, events), "")
                find = lambda ours, program=f"ib_{verb}_lat", size=size, options=options: ours.latency(
                    program, size, *options
                )
                # A READ's is a whole round trip.
                name = f"{size} B {verb.upper()}, {'round trip' if verb == 'read' else 'half round trip'}{', events' if events else ''}"
                yield Measure(name, "us", find, (*peers, *(["UCX/TCP 64 B, asleep"] if events else [])), goal)


def _on_one_core():
    """Both programs share it, as in a container that has one."""
    for verb in ("send", "write"):
        find = lambda ours, program=f"ib_{verb}_lat": ours.average_on_one_core(program, 8)
        yield Measure(
            f"8 B {verb.upper()}, average, both on one core", "us", find, ("UDP on one core",), "<= 30"
        )
    find = lambda ours: ours.bandwidth_on_one_core("ib_write_bw")
    yield Measure(
        "64 KiB WRITE, both on one core", "Gb/s", find, ("TCP on one core",), ">= 1 x TCP on one core"
    )


def _frameworks():
    for row_of in frameworks.ROWS:
        find = lambda ours, row_of=row_of: row_of.find(ours.pair_with, "verbs", ours.seconds)
        yield Measure(
            row_of.name,
            row_of.unit,
            find,
            (row_of.over_tcp,),
            row_of.goal,
            chooses_addresses=row_of.chooses_addresses,
        )


def _connections_at_once():
    for step in ("connect", "disconnect"):
        yield Measure(
            f"{step}, 200 at once",
            "us each",
            lambda ours, step=step: ours.time_of_step(step),
            chooses_addresses=True,
        )


def own_measures(goals_only):
    everything = [
        *_bandwidths(),
        *_latencies(),
        Measure(
            "64 B WRITE, rate, 1 QP", "M/s", lambda ours: ours.write_rate(1), ("limit 64 B, rate",), ">= 4"
        ),
        Measure("64 B WRITE, rate, 8 QPs", "M/s", lambda ours: ours.write_rate(8), ("limit 64 B, rate",)),
        Measure(
            "eight programs, all to all",
            "rounds/s",
            lambda ours: ours.all_to_all(8),
            ("TCP, eight programs",),
            ">= 1 x TCP, eight programs",
            programs=8,
        ),
        *_on_one_core(),
        *_frameworks(),
        Measure(
            "connections, one after the other",
            "1/s",
            lambda ours: ours.connection_rate(),
            ("TCP connections",),
            chooses_addresses=True,
        ),
        *(_connections_at_once() if cmtime_serves_for_ever() else ()),
        Measure("idle", "", lambda ours: ours.idle(), (), "< 1"),
    ]
    return [measure for measure in everything if measure.goal or not goals_only]


def cable_measures(goals_only):
    """Those between two hosts. A READ's latency is a whole round trip."""
    everything = [
        Measure(
            "64 KiB WRITE", "Gb/s", lambda ours: ours.bandwidth("ib_write_bw"), ("TCP", "UDP"), ">= 0.7 x TCP"
        ),
        Measure("64 KiB SEND", "Gb/s", lambda ours: ours.bandwidth("ib_send_bw"), ("TCP", "UDP")),
        Measure("64 KiB READ", "Gb/s", lambda ours: ours.bandwidth("ib_read_bw"), ("TCP", "UDP")),
        Measure(
            "64 B SEND, half round trip",
            "us",
            lambda ours: ours.latency("ib_send_lat", 64),
            ("UDP spinning",),
            "<= 1.3 x UDP spinning",
        ),
        Measure(
            "64 B WRITE, half round trip",
            "us",
            lambda ours: ours.latency("ib_write_lat", 64),
            ("UDP spinning",),
        ),
        Measure(
            "64 B READ, round trip", "us", lambda ours: ours.latency("ib_read_lat", 64), ("UDP spinning",)
        ),
        Measure(
            "64 B SEND, half round trip, events",
            "us",
            lambda ours: ours.latency("ib_send_lat", 64, "-e"),
            ("UDP on two cores",),
        ),
        Measure("64 B WRITE, rate, 1 QP", "M/s", lambda ours: ours.write_rate(1)),
    ]
    return [measure for measure in everything if measure.goal or not goals_only]


def chosen_measures(measures, is_chosen):
    """Those whose names `is_chosen`, and what stands beside them."""
    everything = {measure.name: measure for measure in measures}
    names = {name for name in everything if is_chosen(name)}
    while missing := {everything[name].own for name in names if everything[name].own} - names:
        names |= missing
    return [measure for name, measure in everything.items() if name in names]


def rows_of(measures, port, found, theirs, has_goals):
    """Rows of the report, of `found` {name: values} over a port and `theirs` {peer: values}."""
    rows = []
    for measure in measures:
        values = found[measure.name]
        if measure.name == "idle":
            rows.append(
                row(
                    "idle: CPU",
                    "% of a core",
                    [cpu for cpu, _ in values],
                    goal="< 1" if has_goals else None,
                    port=port,
                )
            )
            rows.append(
                row(
                    "idle: memory",
                    "MB",
                    [memory for _, memory in values],
                    goal="< 20" if has_goals else None,
                    port=port,
                )
            )
        else:
            beside = {peer: theirs[peer] for peer in measure.peers} | (
                {measure.own: found[measure.own]} if measure.own else {}
            )
            rows.append(
                row(
                    measure.name,
                    measure.unit,
                    values,
                    beside,
                    measure.goal if has_goals and measure.goal else None,
                    port,
                )
            )
    return rows


def rows_with_options(measure, port, found):
    """One row for each of `found` {options: values}; all but the first are compared with that one."""
    if measure.name == "idle":
        found = {words: [memory for _, memory in values] for words, values in found.items()}
    name, unit = ("idle: memory", "MB") if measure.name == "idle" else (measure.name, measure.unit)
    plain = next(iter(found.values()))
    return [
        row(
            f"{name}, {words}" if words else name, unit, values, {"plain": plain} if words else {}, None, port
        )
        for words, values in found.items()
    ]
