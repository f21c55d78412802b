#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of check_fuzz out of pcap_fixtures: the beginnings of captures in the format of
check_fuzz.cc.

    make_check_corpus.py FIXTURES FOLDER FILES

FILES gets the corpus of capture_file_fuzz: pcapng files of several interfaces."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "check"))

import wrapping  # noqa: E402

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


def in_tunnels(path):
    """The first frame of a recording in every tunnel, the second one in fragments, the third one twice."""
    (_, first), (_, second), (_, third), *_ = frames(path)
    pairs = [(1, wrap(first)) for wrap, _ in wrapping.TUNNELS.values()]
    pieces = wrapping.fragments_of_ipv4(wrapping.Frame(0, second), 24)
    return pairs + [(1, piece.data) for piece in pieces] + [(0, third), (0, third)]


def in_tunnels_ipv6(path):
    """Frames of IPv6 with extension headers, and in fragments."""
    pairs = []
    for number, (time, data) in enumerate(list(frames(path))[:4]):
        frame = wrapping.Frame(0, data)
        pairs.append((time, wrapping.with_extension_headers(frame).data))
        pairs += [(0, piece.data) for piece in wrapping.fragments_of_ipv6(frame, 32, number)]
    return pairs


def several_interfaces(path):
    """A pcapng file with a frame of each link type, and two that cannot be read."""
    kinds = [(1, 6), (101, 9), (197, 9), (247, 6), (105, 3)]
    packets = []
    for frame in wrapping.read_pcap(path)[:3]:
        packets += [
            (0, frame),
            (1, wrapping.Frame(frame.ns, frame.data[14:])),
            (2, wrapping.erf(frame, extensions=1)),
            (2, wrapping.erf(frame, kind=21)),
            (3, frame),
            (4, frame),
        ]
    return wrapping.pcapng(kinds, packets)


def main():
    fixtures, folder, files = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    files.mkdir(parents=True, exist_ok=True)
    (files / "several_interfaces.pcapng").write_bytes(several_interfaces(fixtures / "vs_tos.pcap"))
    for path in sorted(fixtures.glob("*.pcap")):
        if path.name.startswith(("arp", "ib_", "igmp", "srq")):
            continue
        (folder / f"{path.stem}.bin").write_bytes(script_of(frames(path)))
        if path.stem in WITH_DIALOG:
            (folder / f"cm_{path.stem.removeprefix('cm_')}_twice.bin").write_bytes(script_of(dialog(path)))
    (folder / "made_tunnels.bin").write_bytes(script_of(in_tunnels(fixtures / "vs_tos.pcap")))
    (folder / "made_tunnels_ipv6.bin").write_bytes(script_of(in_tunnels_ipv6(fixtures / "vs_ud_ipv6.pcap")))
    (folder / "made_congestion.bin").write_bytes(script_of(congestion(fixtures / "vs_sizes.pcap")))


if __name__ == "__main__":
    main()
