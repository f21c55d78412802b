# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs of two frameworks above verbs, UCX and libfabric. They run over TCP as well.

`pair_with(environment)` gives what starts a server and its client, which meet at a TCP port, and returns what
the client says; `over` is "verbs" or "tcp".
"""
import dataclasses
import re
import typing

import harness
import ucx
from benchmarks.programs import Failed

UCX = {
    "tcp": {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"},
    # RC is set up by datagrams.
    "verbs": {"UCX_TLS": "rc_verbs,ud_verbs", "UCX_NET_DEVICES": "urnic0:1"},
}
LIBFABRIC = {"tcp": ["-p", "tcp"], "verbs": ["-p", "verbs", "-d", "urnic0"]}
BANDWIDTH_BYTES = 655_360_000  # a second


def _ucx(pair_with, over, test, size, count, *options):
    """Iterations, time per message in us (median, last, mean), MB/s (last, mean), messages/s (last, mean)."""
    port = harness.free_port()
    server = [*ucx.perftest(), "-p", port]
    client = [*ucx.perftest(), "127.0.0.1", "-p", port, "-t", test, "-s", size, "-n", count, *options]
    output = pair_with(UCX[over] | {"UCX_WARN_UNUSED_ENV_VARS": "n"})(server, client, port)
    return [float(column) for column in _found(r"^Final: +(.*)$", output).split()]


def ucx_median(pair_with, over, size, seconds, asleep=False):
    """Median half round trip of a tagged message in us. Programs that are `asleep` wait for an event, and do
    not spin."""
    return _ucx(
        pair_with,
        over,
        "tag_lat",
        size,
        (2000 if asleep else 10000) * seconds,
        *(["-E", "sleep"] if asleep else []),
    )[1]


def ucx_average(pair_with, over, size, seconds):
    """Mean half round trip of a tagged message in us."""
    return _ucx(pair_with, over, "tag_lat", size, 10000 * seconds)[3]


def ucx_bandwidth(pair_with, over, test, size, seconds):
    """Gb/s; UCX counts MB of 2^20 bytes."""
    return (
        _ucx(pair_with, over, test, size, max(BANDWIDTH_BYTES * seconds // size, 50))[5] * 2**20 * 8 / 1e9
    )


def libfabric_average(pair_with, over, size, seconds):
    """Mean half round trip of a message over a connection in us."""
    port = harness.free_port()
    words = ["fi_pingpong", *LIBFABRIC[over], "-e", "msg", "-S", size, "-I", 10000 * seconds]
    output = pair_with(None)([*words, "-B", port], [*words, "-P", port, "127.0.0.1"], port)
    said = f"{size // 1024}k" if size >= 1024 else size
    # bytes, sent, acknowledged, total, time, MB/s, us per transfer, transfers per us
    return float(_found(rf"^{said} +(.*)$", output).split()[5])


def _found(pattern, output):
    match = re.search(pattern, output, re.MULTILINE)
    if match is None:
        raise Failed(output)
    return match.group(1)


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    unit: str
    find: typing.Callable  # (pair_with, over, seconds)
    chooses_addresses: bool = False  # of the NICs

    @property
    def goal(self):
        return f"{'<=' if self.unit == 'us' else '>='} 1 x {self.over_tcp}"

    @property
    def over_tcp(self):
        return f"{self.name} over TCP"


def _rows():
    for size, said in ((8, "8 B"), (4096, "4 KiB"), (65536, "64 KiB")):
        yield Row(
            f"UCX tag {said}, average",
            "us",
            lambda pair, over, seconds, size=size: ucx_average(pair, over, size, seconds),
        )
    for test, word, size, said in (
        ("tag_bw", "tag", 65536, "64 KiB"),
        ("ucp_put_bw", "put", 65536, "64 KiB"),
        ("ucp_put_bw", "put", 4 << 20, "4 MiB"),
    ):
        find = lambda pair, over, seconds, test=test, size=size: ucx_bandwidth(
            pair, over, test, size, seconds
        )
        yield Row(f"UCX {word} {said}", "Gb/s", find)
    for size, said in ((64, "64 B"), (4096, "4 KiB"), (65536, "64 KiB")):
        find = lambda pair, over, seconds, size=size: libfabric_average(pair, over, size, seconds)
        yield Row(f"libfabric {said}, average", "us", find, chooses_addresses=True)


ROWS = tuple(_rows())
