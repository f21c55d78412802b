#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Captures of RoCEv2, packet by packet: python3 roce.py FILE lists them. Reads pcap and pcapng, and passes
over what is not RC."""
import dataclasses
import signal
import struct
import sys
import zlib

PATH_MTU = 1024  # of all connections in this lab

# By opcode: the name, and which headers follow the BTH.
OPCODES = {
    0x00: ("SEND First", ""), 0x01: ("SEND Middle", ""), 0x02: ("SEND Last", ""), 0x03: ("SEND Last with Immediate", "i"),
    0x04: ("SEND Only", ""), 0x05: ("SEND Only with Immediate", "i"), 0x06: ("WRITE First", "r"), 0x07: ("WRITE Middle", ""),
    0x08: ("WRITE Last", ""), 0x09: ("WRITE Last with Immediate", "i"), 0x0A: ("WRITE Only", "r"), 0x0B: ("WRITE Only with Immediate", "ri"),
    0x0C: ("READ Request", "r"), 0x0D: ("READ response First", "a"), 0x0E: ("READ response Middle", ""), 0x0F: ("READ response Last", "a"),
    0x10: ("READ response Only", "a"), 0x11: ("ACK", "a"), 0x12: ("Atomic ACK", "a8"), 0x13: ("Compare and Swap", "t"), 0x14: ("Fetch and Add", "t"),
    0x16: ("SEND Last with Invalidate", "i"), 0x17: ("SEND Only with Invalidate", "i"),
}  # fmt: skip
# RETH, immediate data or key, AETH, result of an atomic, AtomicETH.
HEADER_BYTES = {"r": 16, "i": 4, "a": 4, "8": 8, "t": 28}


@dataclasses.dataclass
class Packet:
    """One packet of a reliable connection. `data` begins with the IP header."""

    number: int  # from 1, as Wireshark counts
    time: float  # in seconds
    data: bytes

    def __post_init__(self):
        bth = self.bth = 28 if self.data[0] >> 4 == 4 else 48  # after IPv4 or IPv6, and UDP
        self.opcode = self.data[bth]
        self.pad = self.data[bth + 1] >> 4 & 3
        self.qp = int.from_bytes(self.data[bth + 5 : bth + 8], "big")  # of the receiver
        self.asks_for_ack = self.data[bth + 8] >> 7 == 1
        self.psn = int.from_bytes(self.data[bth + 9 : bth + 12], "big")
        self.name, headers = OPCODES[self.opcode]
        self.syndrome = self.msn = self.length = None
        at = bth + 12
        if "r" in headers:
            self.length = int.from_bytes(self.data[at + 12 : at + 16], "big")  # of the whole READ or WRITE
        if "a" in headers:
            self.syndrome, self.msn = self.data[at], int.from_bytes(self.data[at + 1 : at + 4], "big")
        at += sum(HEADER_BYTES[header] for header in headers)
        self.payload = self.data[at : len(self.data) - 4 - self.pad]

    @property
    def is_request(self):
        """The requester sent it; otherwise the responder did."""
        return self.opcode <= 0x0C or self.opcode >= 0x13

    @property
    def is_ack(self):
        return self.opcode == 0x11 and self.syndrome >> 5 == 0

    @property
    def is_sequence_nak(self):
        """'I expect this PSN, and got a later one.'"""
        return self.opcode == 0x11 and self.syndrome == 0x60

    @property
    def ends_message(self):
        return self.is_request and not self.name.endswith(("First", "Middle"))

    def psns(self):
        """Those that this request takes: one, except for a READ, which takes one for each packet of its
        response."""
        count = max(1, -(-self.length // PATH_MTU)) if self.name == "READ Request" else 1
        return [(self.psn + i) & 0xFFFFFF for i in range(count)]

    def __str__(self):
        answer = {0: "", 1: " RNR NAK", 3: f" NAK {self.syndrome or 0:#x}"}[(self.syndrome or 0) >> 5]
        words = f"{self.number:4} {self.time * 1e3:9.3f} ms  {'-->' if self.is_request else '   <--'}  {self.name if not answer else answer.strip()}"
        words = f"{words:<52} PSN {self.psn:06x}"
        words += f"  MSN {self.msn}" if self.msn is not None else ""
        words += f"  of {self.length} bytes" if self.length is not None else ""
        words += (
            f"  {len(self.payload)} bytes (checksum {zlib.crc32(self.payload):08x}), pad {self.pad}"
            if self.payload
            else ""
        )
        return words + ("  asks for an ACK" if self.asks_for_ack else "")


def distance(psn, other):
    """How far `psn` comes after `other`; negative when it comes before. PSNs have 24 bits: 0 comes after
    0xffffff."""
    return (psn - other + 0x800000) % 0x1000000 - 0x800000


def read(path):
    """All RC packets of the file."""
    with open(path, "rb") as file:
        data = file.read()
    frames = list(_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else _pcap(data))
    return [
        Packet(number, time - frames[0][0], data)
        for number, (time, data) in enumerate(frames, 1)
        if _is_rc(data)
    ]


def _pcap(data):
    magic, *_, link = struct.unpack_from("<IHHiIII", data)
    units, at = 1e6 if magic == 0xA1B2C3D4 else 1e9, 24
    while at + 16 <= len(data):
        seconds, part, captured, _ = struct.unpack_from("<4I", data, at)
        yield seconds + part / units, _ip(data[at + 16 : at + 16 + captured], link)
        at += 16 + captured


def _pcapng(data):
    at, link = 0, 101
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 1:  # an interface
            (link,) = struct.unpack_from("<H", data, at + 8)
        if kind == 6:  # a frame
            high, low, captured = struct.unpack_from("<3I", data, at + 12)
            yield (high << 32 | low) / 1e9, _ip(data[at + 28 : at + 28 + captured], link)
        at += length


def _ip(frame, link):
    """The IP packet of a frame, without padding that Ethernet may have added at its end."""
    packet = frame[14:] if link == 1 else frame
    length = (
        int.from_bytes(packet[2:4], "big") if packet[0] >> 4 == 4 else 40 + int.from_bytes(packet[4:6], "big")
    )
    return packet[:length]


def _is_rc(packet):
    """To UDP port 4791, with an opcode of a reliable connection."""
    version, bth = packet[0] >> 4, 28 if packet[0] >> 4 == 4 else 48
    protocol = packet[9] if version == 4 else packet[6]
    return (
        version in (4, 6)
        and protocol == 17
        and packet[bth - 6 : bth - 4] == b"\x12\xb7"
        and packet[bth] in OPCODES
    )


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # quiet in front of 'head' and 'less'
    for packet in read(sys.argv[1]):
        print(packet)
