# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Reads pcapng files of little-endian machines, with nothing of the product's code: frames, comments, and
notes of urnic's.

Blocks and options as draft-ietf-opsawg-pcapng has them.
"""
import dataclasses
import json
import struct

SECTION, INTERFACE, PACKET, NOTE = 0x0A0D0D0A, 1, 6, 0x80000BAD
COMMENT, FLAGS, RESOLUTION = 1, 2, 9


class BadFile(Exception):
    pass


@dataclasses.dataclass
class Frame:
    number: int
    time_ns: int
    bytes: bytes
    is_received: bool
    comment: str


def options(data):
    found = {}
    while data:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            if length != 0 or len(data) != 4:
                raise BadFile("something follows the end of options")
            return found
        if code in found:
            raise BadFile(f"option {code} stands there twice")
        found[code] = data[4 : 4 + length]
        data = data[4 + (length + 3) // 4 * 4 :]
    raise BadFile("the options do not end")


def blocks(data):
    while data:
        kind, length = struct.unpack_from("<II", data)
        if (
            length % 4
            or length < 12
            or length > len(data)
            or struct.unpack_from("<I", data, length - 4)[0] != length
        ):
            raise BadFile(f"a block of type {kind:#x} has length {length}, and not at its end")
        yield kind, data[8 : length - 4]
        data = data[length:]


def states(notes, qp):
    """What is known of a queue pair at the end: a note of its state has what changed."""
    known = {}
    for note in notes:
        if note["urnic"] in ("modify", "state") and note["qp"] == qp:
            known.update(note)
    return known


def read(path):
    """Frames and notes, in the order of the file. Notes are dictionaries."""
    with open(path, "rb") as file:
        data = file.read()
    if struct.unpack_from("<I", data, 8)[0] != 0x1A2B3C4D:
        raise BadFile(f"{path} is not in this machine's byte order")
    entries = []
    number = 0
    for kind, body in blocks(data):
        if kind == INTERFACE and options(body[8:]).get(RESOLUTION) != b"\x09":
            raise BadFile("times are not in nanoseconds")
        if kind == PACKET:
            interface, high, low, captured, original = struct.unpack_from("<IIIII", body)
            if interface != 0 or captured != original:
                raise BadFile("a frame of another interface, or a part of one")
            said = options(body[20 + (captured + 3) // 4 * 4 :])
            number += 1
            direction = struct.unpack("<I", said[FLAGS])[0] & 3
            entries.append(
                Frame(
                    number,
                    high << 32 | low,
                    body[20 : 20 + captured],
                    direction == 1,
                    said.get(COMMENT, b"").decode(),
                )
            )
        if kind == NOTE:
            if body[:4] != b"urni":
                raise BadFile("a note of another program's")
            entries.append(json.loads(body[4:].decode()))
    return entries
