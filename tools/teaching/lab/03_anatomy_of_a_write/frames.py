# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The IPv4 packets to UDP port 4791 in a recording of `urnic run --record` (pcapng)."""
import struct

ETHERNET, RAW = 1, 101
SECTION, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6


def packets_of(path):
    """(number of the frame, bytes from the IPv4 header on) for each."""
    with open(path, "rb") as file:
        data = file.read()
    at, number, link = 0, 0, RAW
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == INTERFACE:
            (link,) = struct.unpack_from("<H", data, at + 8)
        if kind == ENHANCED_PACKET:
            number += 1
            (captured,) = struct.unpack_from("<I", data, at + 20)
            frame = data[at + 28 : at + 28 + captured]
            packet = frame[14:] if link == ETHERNET else frame
            is_ipv4 = packet[0] >> 4 == 4 and (link != ETHERNET or frame[12:14] == b"\x08\x00")
            if is_ipv4 and packet[9] == 17 and packet[22:24] == (4791).to_bytes(2, "big"):
                yield number, packet[: int.from_bytes(packet[2:4], "big")]
        at += length
