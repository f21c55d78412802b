#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of host_fuzz out of captures of connection managers; host_fuzz.cc describes the format.

    make_host_corpus.py FIXTURES FOLDER
"""
import pathlib
import struct
import sys

from make_check_corpus import frames

PACKET, INTACT_PACKET, REQUEST, END, PASS = range(5)
BIND, LISTEN, RELEASE = 2, 3, 4
CAPTURES = ("rping_ipv6", "cm_reject", "udaddy")
TCP, UDP = 0x0106, 0x0111
REQ, SIDR_REQ = 0x10, 0x17
ANY_IPV4 = bytes(10) + b"\xff\xff" + bytes(4)
HEADERS = {4: 20 + 8 + 12 + 8, 6: 40 + 8 + 12 + 8}  # of IP, UDP, BTH and DETH


def step(kind, number=0):
    return bytes([kind, number])


def arrive(packet, kind=PACKET):
    packet += bytes(len(packet) % 2)
    return step(kind, len(packet) // 2) + packet


def ask(what, space, port, member=0, number=1, family=6, address=bytes(16), is_shared=0):
    return (
        step(REQUEST, member)
        + struct.pack("<BBBBHHII", what, family, is_shared, 0, space, port, number, 0)
        + address
    )


def service_of(packet):
    """(port space, port) that a request asks for."""
    mad = packet[HEADERS[packet[0] >> 4] :]
    return (
        struct.unpack_from(">HH", mad, 24 + 8 + 4)
        if len(mad) > 256 and mad[16 + 1] in (REQ, SIDR_REQ)
        else None
    )


def packets_of(path):
    """IP packets that a switch may see."""
    for _, frame in frames(path):
        if frame[12:14] in (b"\x08\x00", b"\x86\xdd") and len(frame) < 14 + 510:
            yield frame[14:]


def main():
    fixtures, folder = map(pathlib.Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    scripts = {}
    for name in CAPTURES:
        packets = list(packets_of(fixtures / f"{name}.pcap"))
        all_of_them = b"".join(map(arrive, packets))
        asked = [service_of(packet) for packet in packets]
        space, port = next(service for service in asked if service)
        listen = ask(BIND, space, port) + ask(LISTEN, space, port)
        scripts[name] = all_of_them
        scripts[f"{name}_heard"] = listen + all_of_them + all_of_them + step(END) + all_of_them
        scripts[f"{name}_early"] = all_of_them + step(PASS, 10) + listen + step(PASS, 30) + all_of_them
        cut = b"".join(
            arrive(packet[:-2], INTACT_PACKET) + arrive(packet[:40], INTACT_PACKET) for packet in packets
        )
        scripts[f"{name}_cut"] = listen + cut
        other = b"".join(
            arrive(packet[:1] + b"\xff" + packet[2:4] + b"\xab\xcd" + packet[6:], INTACT_PACKET)
            for packet in packets
        )
        scripts[f"{name}_changed"] = listen + other
    scripts["ports"] = (
        b"".join(
            ask(what, space, port, member, number, family, address)
            for what in (BIND, LISTEN, RELEASE, 1, 9)
            for member in (0, 1)
            for space, port, number in ((TCP, 80, 1), (UDP, 0, 2), (TCP, 80, 0xFFFFFFFF), (7, 7, 7))
            for family, address in ((4, ANY_IPV4), (6, bytes(16)), (4, bytes(16)), (5, ANY_IPV4))
        )
        + step(END, 0)
        + step(END, 1)
    )
    scripts["shared"] = (
        b"".join(ask(BIND, TCP, 80, 0, number, is_shared=1) for number in range(9))
        + ask(LISTEN, TCP, 80, 0, 3)
        + ask(RELEASE, TCP, 80, 0, 3)
    )
    for name, script in scripts.items():
        (folder / f"{name}.bin").write_bytes(script)


if __name__ == "__main__":
    main()
