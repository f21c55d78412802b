#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of check_fuzz out of pcap_fixtures: the beginnings of captures in the format of
check_fuzz.cc.

    make_check_corpus.py FIXTURES FOLDER
"""
import pathlib
import struct
import sys

MOST_BYTES = 6000
MOST_OTHERS = 6
WITH_DIALOG = {"cm_reject", "rping_ipv6", "udaddy"}
UNIT_US = 100


def frames(path):
    content, at, before = path.read_bytes(), 24, None
    while at < len(content):
        seconds, micro, size, _ = struct.unpack_from("<IIII", content, at)
        now = seconds * 1_000_000 + micro
        yield min((now - (now if before is None else before)) // UNIT_US, 0x7FFF), content[
            at + 16 : at + 16 + size
        ]
        before, at = now, at + 16 + size


def is_management(frame):
    """Whether the frame's packet goes to queue pair 1."""
    bth = 14 + (40 if frame[12:14] == b"\x86\xdd" else 20) + 8
    return frame[bth + 5 : bth + 8] == b"\0\0\1"


def dialog(path):
    """The messages of the connection manager, each twice, and the first frames between them."""
    kept, others = [], 0
    for time, frame in frames(path):
        if is_management(frame):
            kept += [(time, frame), (0x7FFF, frame)]
        elif others < MOST_OTHERS:
            kept.append((time, frame))
            others += 1
    return kept


def script_of(pairs):
    script = b""
    for time, frame in pairs:
        if len(script) + len(frame) > MOST_BYTES:
            break
        script += struct.pack("<HH", len(frame), time) + frame
    return script


def pause(source, *times, of_all=None):
    """A pause frame of priorities, as (priority, quanta), or one of all."""
    control = (
        struct.pack(">HH", 0x0001, of_all)
        if of_all is not None
        else struct.pack(
            ">HH8H",
            0x0101,
            sum(1 << priority for priority, _ in times),
            *(dict(times).get(priority, 0) for priority in range(8)),
        )
    )
    return (b"\x01\x80\xc2\0\0\x01" + source + b"\x88\x08" + control).ljust(60, b"\0")


def congestion(path):
    """The first frames of a recording, marked by ECN, with a CNP after each ACK and pauses of both sides
    between them."""
    pairs = []
    for time, frame in list(frames(path))[:24]:
        marked = bytearray(frame)
        marked[15] |= 3
        pairs.append((time, bytes(marked)))
        source, number = frame[6:12], len(pairs)
        if (
            frame[42] == 17
        ):  # an ACK, whose AETH follows 42 + 12 bytes: another opcode, BECN and 16 zeros make it a CNP
            headers = bytearray(
                frame[:42] + b"\x81\x00\xff\xff\x40" + frame[47:50] + bytes(4) + bytes(16) + bytes(4)
            )
            headers[16:18], headers[38:40] = struct.pack(">H", 60), struct.pack(">H", 40)
            pairs.append((1, bytes(headers)))
        if number % 5 == 0:
            pairs.append((0, pause(source, (0, 0xFFFF), (3, 7)) if number % 2 else pause(source, of_all=9)))
        if number % 7 == 0:
            pairs.append((0, pause(source, (0, 0))))
    return pairs


def main():
    fixtures, folder = map(pathlib.Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(fixtures.glob("*.pcap")):
        if path.name.startswith(("arp", "ib_", "igmp", "srq")):
            continue
        (folder / f"{path.stem}.bin").write_bytes(script_of(frames(path)))
        if path.stem in WITH_DIALOG:
            (folder / f"cm_{path.stem.removeprefix('cm_')}_twice.bin").write_bytes(script_of(dialog(path)))
    (folder / "made_congestion.bin").write_bytes(script_of(congestion(fixtures / "vs_sizes.pcap")))


if __name__ == "__main__":
    main()
