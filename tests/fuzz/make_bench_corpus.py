#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of bench_fuzz; bench_fuzz.cc describes the format.

    make_bench_corpus.py FOLDER
"""
import pathlib
import struct
import sys

LATENCY_PS = 500_000


def hello(latency_ps=LATENCY_PS, mtu=1500, version=1, kind=1):
    station = bytes((2, 0, 10, 0, 0, 9)) + struct.pack("<H", mtu) + bytes((10, 0, 0, 9)) + bytes(4)
    return struct.pack("<IIQ", kind, version, latency_ps) + station


def grant(time_ps):
    return struct.pack("<IIQ", 2, 0, time_ps)


def frame(time_ps, size=60, length=None):
    return struct.pack("<IIQ", 3, size if length is None else length, time_ps) + bytes(range(256))[:size]


CONVERSATIONS = {
    "conversation": [hello()]
    + [message for at in range(1, 6) for message in (frame(at * 600_000), grant(at * 600_000 + 1))],
    "many_at_one_time": [hello()] + 40 * [frame(600_000)] + [grant(600_001)],
    "nothing_after_hello": [hello()],
    "other_version": [hello(version=2)],
    "no_latency": [hello(latency_ps=1_999)],
    "long_latency": [hello(latency_ps=10**12), frame(10**12), grant(10**13)],
    "small_mtu": [hello(mtu=299)],
    "short_hello": [hello()[:31]],
    "frame_too_early": [hello(), frame(LATENCY_PS - 1)],
    "grant_goes_back": [hello(), grant(700_000), grant(699_999)],
    "frame_before_grant": [hello(), grant(700_000), frame(699_999)],
    "lying_length": [hello(), frame(600_000, length=61)],
    "short_frame": [hello(), frame(600_000, size=13)],
    "grant_with_bytes": [hello(), grant(600_000) + b"x"],
    "unknown_kind": [hello(), struct.pack("<IIQ", 7, 0, 600_000)],
    "second_hello": [hello(), hello()],
    "far_away": [hello(), frame(100 * 24 * 3600 * 10**12), grant(2**64 - 1)],
    "empty_message": [hello(), b""],
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, messages in CONVERSATIONS.items():
        text = b"".join(struct.pack("<H", len(message)) + message for message in messages)
        (folder / f"{name}.bin").write_bytes(text)


if __name__ == "__main__":
    main()
