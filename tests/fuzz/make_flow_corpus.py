#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of flow_fuzz (see flow_fuzz.cc): make_flow_corpus.py tests/fuzz/corpus/flow

Flow attributes as <infiniband/verbs.h> lays them out on x86-64, and frames that some of the rules are about.
"""
import pathlib
import struct
import sys

NORMAL, ALL_DEFAULT, MC_DEFAULT, SNIFFER = range(4)
ETH, IPV4, IPV6, IPV4_EXT, TCP_SPEC, UDP_SPEC, ACTION_TAG = 0x20, 0x30, 0x31, 0x32, 0x40, 0x41, 0x1000
DONT_TRAP = 2
MAC_A, MAC_B = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
GROUP = bytes.fromhex("0150561920a7")


def attributes(kind=NORMAL, *specs, priority=0, flags=0):
    data = b"".join(specs)
    return struct.pack("=IIHHBBxxI", 0, kind, 20 + len(data), priority, len(specs), 1, flags) + data


def spec(number, value, mask):
    """Fields that are 32-bit numbers begin at a multiple of four, and every specification ends at one."""
    header_bytes = 6 if number in (ETH, TCP_SPEC, UDP_SPEC) else 8
    size = (header_bytes + len(value) + len(mask) + 3) // 4 * 4
    return (struct.pack("=IH", number, size).ljust(header_bytes, b"\0") + value + mask).ljust(size, b"\0")


def eth(destination=None, ether_type=None, vlan=None):
    def full(field, size):
        return bytes(size) if field is None else b"\xff" * size

    value = (destination or bytes(6)) + bytes(6) + struct.pack("!HH", ether_type or 0, vlan or 0)
    mask = full(destination, 6) + bytes(6) + full(ether_type, 2) + full(vlan, 2)
    return spec(ETH, value, mask)


def ipv4(source, destination):
    return spec(IPV4, source + destination, b"\xff" * 8)


def ipv4_ext(source, destination, protocol, flags=0):
    return spec(
        IPV4_EXT,
        source + destination + bytes([protocol, 0, 0, flags]),
        b"\xff" * 8 + bytes([255, 0, 0, flags]),
    )


def ipv6(source, destination, next_header):
    tail = struct.pack("!IBBBx", 0, next_header, 0, 0)
    return spec(IPV6, source + destination + tail, b"\xff" * 32 + struct.pack("!IBBBx", 0, 255, 0, 0))


def ports(number, destination):
    return spec(number, struct.pack("!HH", destination, 0), b"\xff\xff\0\0")


IP_A, IP_B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
IP6_A, IP6_B = bytes.fromhex("fd" + "00" * 14 + "01"), bytes.fromhex("fd" + "00" * 14 + "02")
UDP = struct.pack("!HHHH", 1000, 2000, 8, 0)
TCP = struct.pack("!HHIIHHHH", 1000, 2000, 0, 0, 0x5000, 0, 0, 0)


def ipv4_header(protocol, options=b"", fragment=0x4000):
    return (
        struct.pack(
            "!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, 60, 1, fragment, 64, protocol, 0, IP_A, IP_B
        )
        + options
    )


def ipv6_header(next_header):
    return struct.pack("!IHBB", 6 << 28, 20, next_header, 64) + IP6_A + IP6_B


FRAMES = {
    "udp": MAC_B + MAC_A + b"\x08\0" + ipv4_header(17) + UDP,
    "udp_options": MAC_B + MAC_A + b"\x08\0" + ipv4_header(17, bytes(12)) + UDP,
    "udp_fragment": MAC_B + MAC_A + b"\x08\0" + ipv4_header(17, fragment=0x2001) + UDP,
    "tcp6": GROUP + MAC_A + b"\x86\xdd" + ipv6_header(6) + TCP,
    "vlan": GROUP + MAC_A + b"\x81\0\xbc\x0c\x08\0" + ipv4_header(6) + TCP,
    "double_vlan": MAC_B + MAC_A + b"\x88\xa8\0\x05\x81\0\0\x07\x86\xdd" + ipv6_header(17) + UDP,
    "arp": b"\xff" * 6 + MAC_A + b"\x08\x06" + bytes(28),
    "short": MAC_B,
}

RULES = {
    "normal": [
        attributes(NORMAL, eth(MAC_B), ipv4(IP_A, IP_B), ports(UDP_SPEC, 2000)),
        attributes(NORMAL, ipv4_ext(IP_A, IP_B, 17, 2), priority=1),
    ],
    "ipv6": [
        attributes(NORMAL, eth(None, 0x86DD), ipv6(IP6_A, IP6_B, 6), ports(TCP_SPEC, 2000), priority=3),
        attributes(NORMAL, ipv6(IP6_A, IP6_B, 17), ports(UDP_SPEC, 2000), priority=3),
    ],
    "vlan": [attributes(NORMAL, eth(vlan=0xBC0C)), attributes(NORMAL, eth(vlan=5), flags=DONT_TRAP)],
    "others": [attributes(kind) for kind in (ALL_DEFAULT, MC_DEFAULT, SNIFFER)]
    + [attributes(NORMAL, flags=DONT_TRAP)],
    "refused": [
        attributes(NORMAL, eth(MAC_B), eth(MAC_B)),
        attributes(SNIFFER, eth(MAC_B)),
        attributes(7),
        attributes(NORMAL, spec(ACTION_TAG, bytes(4), b"")),
        attributes(NORMAL, eth(MAC_B))[:-8],
    ],
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for rules_name, rules in RULES.items():
        for frame_name, frame in FRAMES.items():
            data = bytes([len(rules)]) + b"".join(bytes([len(rule)]) + rule for rule in rules) + frame
            (folder / f"{rules_name}_{frame_name}.bin").write_bytes(data)


if __name__ == "__main__":
    main()
