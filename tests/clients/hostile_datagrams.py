#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Sends what no peer would send to a NIC's UDP socket, until it is ended: changed packets out of a recording
of raw IP, with ICRCs that are right and that are wrong, from an address of which no NIC here is a peer; and
bytes of no meaning from the peer's own.

usage: hostile_datagrams.py STRANGER PEER TARGET RECORDING SEED
"""
import random
import socket
import struct
import sys
import time
import zlib

ROCE_PORT = 4791
HEADERS = 28  # of IPv4 and UDP
LONGEST = 4100
BURST = 200


def packets_of(path):
    """The UDP payloads of a recording's IPv4 packets."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + 16 : at + 16 + size]
        if len(packet) > HEADERS and packet[0] == 0x45:
            yield packet[HEADERS:]
        at += 16 + size


def changed(payload, dice):
    packet = bytearray(payload)
    for _ in range(dice.randint(1, 4)):
        how = dice.randrange(4)
        at = dice.randrange(len(packet))
        if how == 0:
            packet[at] ^= 1 << dice.randrange(8)
        elif how == 1:
            packet[at] = dice.randrange(256)
        elif how == 2 and len(packet) > 20:
            del packet[at : at + dice.randint(1, 40)]
        else:
            packet[at:at] = dice.randbytes(dice.randint(1, 40))
        packet = packet[:LONGEST] or bytearray(b"\0")
    return packet


def with_right_icrc(packet, source, source_port, target):
    """As the kernel sends it: don't fragment, identification 0."""
    if len(packet) < 16:
        return bytes(packet)
    size = HEADERS + len(packet)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0xFF, size, 0, 0x4000, 0xFF, 17, 0xFFFF, source, target)
    udp = struct.pack("!HHHH", source_port, ROCE_PORT, size - 20, 0xFFFF)
    covered = bytearray(packet[:-4])
    covered[4] = 0xFF
    return bytes(packet[:-4]) + struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + bytes(covered)))


def bound_to(address):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.IPPROTO_IP, 10, 3)  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE
    one.bind((address, 0))
    return one


def main():
    stranger_address, peer_address, target, recording, seed = sys.argv[1:]
    dice = random.Random(int(seed))
    packets = list(packets_of(recording))
    stranger, peer = bound_to(stranger_address), bound_to(peer_address)
    source, to = socket.inet_aton(stranger_address), socket.inet_aton(target)
    sent = 0
    print(f"sends changes of {len(packets)} packets", flush=True)
    while True:
        for _ in range(BURST):
            packet = changed(dice.choice(packets), dice)
            if dice.random() < 0.5:
                packet = with_right_icrc(packet, source, stranger.getsockname()[1], to)
            who, what = (
                (stranger, packet) if dice.random() < 0.9 else (peer, dice.randbytes(dice.randrange(LONGEST)))
            )
            try:
                who.sendto(what, (target, ROCE_PORT))
                sent += 1
            except OSError:
                pass  # too long for the cable
        print(f"{sent} sent", flush=True)
        time.sleep(0.005)


if __name__ == "__main__":
    main()
