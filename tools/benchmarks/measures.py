"""What is measured: of ours over a port, of peers, which stand beside which, and the goals."""
import dataclasses
import typing

from benchmarks.report import row

# {name: what finds it}. Latencies are half a round trip. The limit is of packets that carry 4096, 1024 or 64 bytes.
PEERS = {
    "limit 4160 B": lambda peers: peers.limit(4160, "gbps"),
    "limit 1088 B": lambda peers: peers.limit(1088, "gbps"),
    "limit 64 B": lambda peers: peers.limit(64, "half_round_trip_us"),
    "limit 64 B, rate": lambda peers: peers.limit(64, "mpps"),
    "TCP": lambda peers: peers.tcp_bandwidth(),
    "TCP connections": lambda peers: peers.tcp_connection_rate(),
    "UCX/TCP 64 KiB": lambda peers: peers.ucx_bandwidth(65536),
    "UDP on two cores": lambda peers: peers.udp_latency(64),
    "UDP on one core": lambda peers: peers.udp_latency(64, share_core=True),
    "UDP spinning": lambda peers: peers.udp_latency(64, spin=True),
    "UCX/TCP 2 B": lambda peers: peers.ucx_latency(2),
    "UCX/TCP 64 B": lambda peers: peers.ucx_latency(64),
    "libfabric/TCP 2 B": lambda peers: peers.libfabric_latency(2),
    "libfabric/TCP 64 B": lambda peers: peers.libfabric_latency(64),
}
LATENCY_GOALS = {("write", 64, False): "<= 0.3 x UDP on two cores", ("send", 64, False): "<= 1 x UDP on two cores"}
STREAMS = ("TCP", "UCX/TCP 64 KiB")
LIMITS = {4096: "limit 4160 B", 1024: "limit 1088 B"}


@dataclasses.dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    find: typing.Callable  # of an Ours
    peers: tuple = ()
    goal: str = ""  # as report.row() takes it


def _bandwidths():
    for verb in ("write", "read", "send"):
        for mtu in (4096, 1024):
            goal = ">= 1.2 x TCP" if (verb, mtu) == ("write", 4096) else ""
            find = lambda ours, program=f"ib_{verb}_bw", mtu=mtu: ours.bandwidth(program, mtu)
            yield Measure(f"64 KiB {verb.upper()}, MTU {mtu}", "Gb/s", find, (LIMITS[mtu], *STREAMS), goal)


def _latencies():
    for verb in ("write", "send", "read"):
        for size in (2, 64):
            peers = ("limit 64 B", "UDP on two cores", "UDP on one core", "UDP spinning", f"UCX/TCP {size} B", f"libfabric/TCP {size} B")
            for events in (False, True):
                # A WRITE makes no event at the receiver: ib_write_lat has no events.
                if events and verb == "write":
                    continue
                options = ["-e"] if events else []
                goal = LATENCY_GOALS.get((verb, size, events), "")
                find = lambda ours, program=f"ib_{verb}_lat", size=size, options=options: ours.latency(program, size, *options)
                # A READ's is a whole round trip.
                name = f"{size} B {verb.upper()}, {'round trip' if verb == 'read' else 'half round trip'}{', events' if events else ''}"
                yield Measure(name, "us", find, peers, goal)


def own_measures(goals_only):
    everything = [
        *_bandwidths(),
        *_latencies(),
        Measure("64 B WRITE, rate, 1 QP", "M/s", lambda ours: ours.write_rate(1), ("limit 64 B, rate",), ">= 1"),
        Measure("64 B WRITE, rate, 8 QPs", "M/s", lambda ours: ours.write_rate(8), ("limit 64 B, rate",)),
        Measure("connections, one after the other", "1/s", lambda ours: ours.connection_rate(), ("TCP connections",)),
        Measure("connect, 200 at once", "us each", lambda ours: ours.time_of_step("connect")),
        Measure("disconnect, 200 at once", "us each", lambda ours: ours.time_of_step("disconnect")),
        Measure("idle", "", lambda ours: ours.idle(), (), "< 3"),
    ]
    return [measure for measure in everything if measure.goal or not goals_only]


def rows_of(measures, port, found, theirs):
    """Rows of the report, of `found` {name: values} over a port and `theirs` {peer: values}. The goals of traffic are for two
    programs on two cores: the switch of a fabric is a third."""
    has_goals = not port.startswith("fabric")
    rows = []
    for measure in measures:
        values = found[measure.name]
        if measure.name == "idle":
            rows.append(row("idle: CPU", "% of a core", [cpu for cpu, _ in values], goal="< 3", port=port))
            rows.append(row("idle: memory", "MB", [memory for _, memory in values], goal="< 120", port=port))
        else:
            beside = {peer: theirs[peer] for peer in measure.peers}
            rows.append(row(measure.name, measure.unit, values, beside, measure.goal if has_goals and measure.goal else None, port))
    return rows
