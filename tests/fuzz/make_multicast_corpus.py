#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of multicast_fuzz out of pcap_fixtures/igmp_mld_linux.pcap; multicast_fuzz.cc describes
the format.

    make_multicast_corpus.py FIXTURES FOLDER
"""
import pathlib
import struct
import sys

from make_check_corpus import frames

JOIN, LEAVE, PASS, FRAME = range(4)
REPAIRED = 1
GROUPS = 24
GENERAL = {"igmp3": 6, "igmp2": 28, "mld2": 5, "mld1": 27}
SPECIFIC = {"igmp3": 17, "igmp2": 41, "mld2": 19, "mld1": 43}


def step(kind, group=0):
    return bytes([group << 2 | kind])


def wait(ms):
    return step(PASS) + struct.pack(">H", ms // 10)


def arrive(frame):
    return step(FRAME, REPAIRED) + struct.pack(">H", len(frame)) + frame


def joined(count):
    return b"".join(step(JOIN, group) for group in range(count))


def left(count):
    return b"".join(step(LEAVE, group) for group in range(count))


def main():
    fixtures, folder = map(pathlib.Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    captured = [frame for _, frame in frames(fixtures / "igmp_mld_linux.pcap")]
    scripts = {
        "joins_and_leaves": joined(GROUPS) + wait(300) + left(GROUPS) + joined(3) + wait(50) + left(3),
        "whole_capture": joined(2) + b"".join(arrive(frame) + wait(100) for frame in captured),
    }
    for name in GENERAL:
        general, specific = (arrive(captured[which[name] - 1]) for which in (GENERAL, SPECIFIC))
        scripts[name] = (
            joined(GROUPS) + wait(1500) + general + wait(500) + specific + wait(1500) + left(GROUPS)
        )
        scripts[f"{name}_again"] = (
            joined(2) + (general + wait(20) + specific) * 20 + wait(262000) + specific + wait(1000)
        )
    for name, script in scripts.items():
        (folder / f"{name}.bin").write_bytes(script)


if __name__ == "__main__":
    main()
