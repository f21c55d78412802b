#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of view_fuzz: small pcapng files in both byte orders, with comments, notes, and what is
wrong with such files.

    make_view_corpus.py FOLDER
"""
import json
import pathlib
import struct
import sys

SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET, NOTE = 0x0A0D0D0A, 1, 2, 3, 6, 0x80000BAD


class Writer:
    def __init__(self, order):
        self.order = order
        self.bytes = b""

    def block(self, kind, body):
        body += b"\0" * (-len(body) % 4)
        length = len(body) + 12
        self.bytes += (
            struct.pack(self.order + "II", kind, length) + body + struct.pack(self.order + "I", length)
        )

    def options(self, *options):
        found = b""
        for code, value in options:
            found += struct.pack(self.order + "HH", code, len(value)) + value + b"\0" * (-len(value) % 4)
        return found + struct.pack(self.order + "HH", 0, 0)

    def section(self):
        self.block(
            SECTION,
            struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + self.options((4, b"urnic 0.1.0")),
        )
        self.block(
            INTERFACE,
            struct.pack(self.order + "HHI", 1, 0, 262144) + self.options((2, b"urnic0"), (9, b"\x09")),
        )

    def packet(self, frame, *options):
        fixed = struct.pack(self.order + "IIIII", 0, 0, 1, len(frame), len(frame))
        self.block(PACKET, fixed + frame + b"\0" * (-len(frame) % 4) + self.options(*options))

    def note(self, **members):
        text = json.dumps(members).encode()
        self.block(NOTE, b"urni" + text + b" " * (-len(text) % 4))


def recording(order):
    writer = Writer(order)
    writer.section()
    flags = lambda value: (2, struct.pack(order + "I", value))
    writer.note(
        urnic="modify", time_ns=1, qp=17, state="RTS", peer_qp=18, peer_address="10.0.0.2", timer_ns=None
    )
    writer.note(urnic="post_send", time_ns=2, qp=17, wr_id="0x1")
    writer.packet(b"\xff" * 62, flags(2))
    writer.packet(b"\xff" * 61, (1, "sent again: packet_seq_err".encode()), flags(1))
    writer.note(urnic="completion", time_ns=3, qp=17, frame=2, status="SUCCESS", deep={"a": [1]})
    return writer


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "little_endian": recording("<").bytes,
        "big_endian": recording(">").bytes,
        "cut": recording("<").bytes[:-30],
    }
    other = Writer("<")
    other.section()
    other.block(SIMPLE_PACKET, struct.pack("<I", 4) + b"\0\1\2\3")
    other.block(OLD_PACKET, struct.pack("<HHIIII", 0, 0, 0, 0, 4, 4) + b"\0\1\2\3")
    other.block(NOTE, b"urni" + b"[" * 400)
    other.block(NOTE, b"else{}  ")
    other.block(PACKET, struct.pack("<IIIII", 0, 0, 1, 0xFFFFFFFF, 4))
    other.section()
    files["other_blocks"] = other.bytes
    files["classic"] = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for name, content in files.items():
        (folder / name).write_bytes(content)


main()
