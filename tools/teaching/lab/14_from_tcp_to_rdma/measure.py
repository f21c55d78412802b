# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Measures all transports without recording, each with both sizes, and prints a table. Packets are counted in
the recordings that are there."""
import json
import os
import pathlib
import re
import subprocess
import sys

URNIC = os.environ.get("URNIC", "urnic")
TRANSPORTS = (  # what the table calls it, the program, the server's words
    ("TCP", "tcp", ()),
    ("rsockets", "rsocket", ()),
    ("SEND, polls", "send", ()),
    ("SEND, sleeps", "send", ("sleep",)),
    ("READ", "read", ()),
)
SIZES = (64, 16384)
HEADS = (("", "gets", "median", "99 %", "client", "server", "of it:", "server", "packets"),
         ("", "", "us", "us", "us", "us", "program", "sleeps", "per get"))  # fmt: skip
ROW = "{:12}{:>5}{:>7}{:>7}{:>7}{:>7}{:>8}{:>7}{:>8}"


def measure(program, words):
    """What the client says of each size: {"bytes": 64, "median_us": ...}"""
    nic = [] if program == "tcp" else [URNIC, "run", "--"]
    start = lambda *arguments: subprocess.Popen(
        [*nic, f"./kv_{program}", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    server, client = start(*words), start("localhost")
    said, servers_words = client.communicate()[0], server.communicate()[0]
    if client.returncode != 0 or server.returncode != 0:
        sys.exit(f"kv_{program}: the client said: {said}the server said: {servers_words}")
    return [
        dict((name, float(value)) for name, value in re.findall(r"(\w+)=([\d.]+)", line))
        for line in said.splitlines()
    ]


def packets_per_get(program):
    """Of the small values, and of the large ones; None where there is no recording."""
    recordings = [f"{program}-{side}.pcapng" for side in ("server", "client")]
    if not all(pathlib.Path(recording).exists() for recording in recordings):
        return None, None
    view = json.loads(
        subprocess.run([URNIC, "view", "--json", *recordings], stdout=subprocess.PIPE, check=True).stdout
    )
    packets = [packet for packet in view["packets"] if packet["kind"] not in ("cm", "other")]
    times = [packet["seen"][0]["time"] for packet in packets]
    # Requests of the client: READs, or messages of 8 bytes. The last message of each size says that there are
    # no more.
    asks = lambda packet: packet["label"] == "READ" or packet.get("payload") == 8
    asked = [time for packet, time in zip(packets, times) if asks(packet) and not packet.get("is_repeated")]
    half = len(asked) // 2
    gets = half if program == "read" else half - 1
    asked.append(times[-1] + 1)
    return [sum(asked[first] <= time < asked[first + gets] for time in times) / gets for first in (0, half)]


def row(name, program, figures, packets):
    if program == "tcp":
        packets = figures["segments"]
    shown = [
        f"{figures[key]:.{0 if figures[key] >= 1000 else 1}f}"
        for key in ("median_us", "p99_us", "client_us", "server_us", "server_thread_us")
    ]
    return ROW.format(
        name,
        f"{figures['gets']:.0f}",
        *shown,
        f"{figures['server_sleeps']:.2f}",
        f"{packets:.1f}" if packets else "?",
    )


def main():
    rows = {size: [] for size in SIZES}
    for name, program, words in TRANSPORTS:
        for size, figures, packets in zip(SIZES, measure(program, words), packets_per_get(program)):
            rows[size].append(row(name, program, figures, packets))
    for size in SIZES:
        print(f"\nValues of {size} bytes:", *(ROW.format(*head) for head in HEADS), *rows[size], sep="\n")


main()
