#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A requester of 60 lines: RDMA WRITEs from a plain UDP socket, without verbs, NIC or privilege. Start
./target first.

    urnic run -- ./target
    python3 forge.py
"""
import os
import socket
import struct

from icrc import icrc

ROCE_PORT, WRITE_ONLY, OUR_QP, FIRST_PSN = 4791, 0x0A, 0x000123, 500
ADDRESS = struct.Struct("@16sIIIQ")  # struct address of end.h: GID, queue pair, PSN, rkey, memory
OTHER_TOS = 0x28


def meet():
    """The TCP socket, our IPv4 address, and what the target says of itself."""
    tcp = socket.create_connection(("localhost", int(os.environ.get("LAB_PORT", "18620"))))
    theirs = ADDRESS.unpack(tcp.recv(ADDRESS.size, socket.MSG_WAITALL))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((socket.inet_ntoa(theirs[0][12:]), ROCE_PORT))
        ours = probe.getsockname()[0]
    # The target connects its queue pair to one of this number, which does not exist.
    gid = b"\0" * 10 + b"\xff\xff" + socket.inet_aton(ours)
    tcp.sendall(ADDRESS.pack(gid, OUR_QP, FIRST_PSN, 0, 0))
    tcp.sendall(b"\0")
    tcp.recv(1)  # the target is in RTS
    return tcp, ours, theirs


def write_only(source, source_port, target, psn, offset, text):
    """BTH, RETH, payload, padding, ICRC: what follows the UDP header."""
    gid, queue_pair, _, rkey, memory = target
    padding = -len(text) % 4
    acknowledge = 0x80
    bth = struct.pack("!BBHII", WRITE_ONLY, 0x40 | padding << 4, 0xFFFF, queue_pair, acknowledge << 24 | psn)
    reth = struct.pack("!QII", memory + offset, rkey, len(text))
    transport = bth + reth + text + b"\0" * padding
    # The headers that the kernel will write, as far as the ICRC covers them: lengths, addresses, "don't
    # fragment".
    udp = struct.pack("!HHHH", source_port, ROCE_PORT, 8 + len(transport) + 4, 0)
    ip = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        0,
        20 + len(udp) + len(transport) + 4,
        0,
        0x4000,
        64,
        17,
        0,
        socket.inet_aton(source),
        gid[12:],
    )
    return transport + icrc(ip + udp + transport)


def main():
    tcp, ours, target = meet()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO: "don't fragment" is set
    udp.bind((ours, 0))
    place = (socket.inet_ntoa(target[0][12:]), ROCE_PORT)
    words = [
        write_only(ours, udp.getsockname()[1], target, FIRST_PSN + i, 8 * i, text)
        for i, text in enumerate((b"written ", b"without ", b"verbs."))
    ]
    udp.sendto(words[0], place)  # as it should be
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, OTHER_TOS)
    udp.sendto(words[1], place)  # with another TOS in the IPv4 header
    damaged = bytearray(words[2])
    damaged[28] ^= 0x01  # the first byte of the payload, after BTH (12) and RETH (16)
    udp.sendto(damaged, place)
    udp.sendto(words[2], place)  # as it should be
    tcp.sendall(b"\0")
    tcp.recv(1)


if __name__ == "__main__":
    main()
