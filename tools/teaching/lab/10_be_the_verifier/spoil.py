# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Changes packets as a broken NIC would send them: with an ICRC that is right."""
import struct
import zlib

from roce import Packet

RAW_IP = 101


def changed(packet, *, psn=None, syndrome=None, msn=None, payload=None):
    """The packet with other fields; a payload must be as long as the old one."""
    data, bth = bytearray(packet.data), packet.bth
    if psn is not None:
        data[bth + 9 : bth + 12] = (psn & 0xFFFFFF).to_bytes(3, "big")
    if syndrome is not None:
        data[bth + 12] = syndrome
    if msn is not None:
        data[bth + 13 : bth + 16] = (msn & 0xFFFFFF).to_bytes(3, "big")
    if payload is not None:
        end = len(data) - 4 - packet.pad
        data[end - len(payload) : end] = payload
    return sealed(packet, data[bth:-4])


def sealed(packet, transport):
    """The packet with another BTH and all that follows, except the ICRC: that is computed, and lengths are
    set. IPv4 only."""
    length = packet.bth + len(transport) + 4
    head = bytearray(packet.data[: packet.bth])
    head[2:4] = length.to_bytes(2, "big")  # IPv4: total length, header checksum
    head[10:12] = b"\0\0"
    head[10:12] = (0xFFFF - sum(struct.unpack("!10H", head[:20])) % 0xFFFF).to_bytes(2, "big")
    head[24:26] = (length - 20).to_bytes(2, "big")  # UDP: length, no checksum
    head[26:28] = b"\0\0"
    masked = bytearray(head + transport)  # what routers may change counts as ones (lab 3)
    for at in (1, 8, 10, 11, 26, 27, packet.bth + 4):
        masked[at] = 0xFF
    icrc = zlib.crc32(b"\xff" * 8 + masked).to_bytes(4, "little")
    return Packet(packet.number, packet.time, bytes(head + transport) + icrc)


def write(path, packets):
    """A capture of them: pcap, without Ethernet headers, with times in nanoseconds."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, RAW_IP))
        for packet in packets:
            time_ns = 10**18 + round(packet.time * 1e9)
            file.write(
                struct.pack("<4I", time_ns // 10**9, time_ns % 10**9, len(packet.data), len(packet.data))
                + packet.data
            )
