#!/usr/bin/env python3
"""The ICRC of RoCEv2 packets over IPv4, by hand: python3 icrc.py RECORDING"""
import sys
import zlib

from frames import packets_of


def icrc(packet):
    """The ICRC that this IPv4 packet, without its last 4 bytes, should end with: 4 bytes.

    A router changes some fields on the way, and the ICRC must stay right: all bits of those count as ones."""
    masked = bytearray(packet)
    masked[1] = 0xFF  # IPv4: TOS
    masked[8] = 0xFF  # IPv4: TTL
    masked[10:12] = b"\xff\xff"  # IPv4: header checksum
    masked[26:28] = b"\xff\xff"  # UDP: checksum
    masked[32] = 0xFF  # BTH: the byte with FECN and BECN
    # InfiniBand's own header would stand before: 8 bytes of ones take its place.
    return zlib.crc32(b"\xff" * 8 + masked).to_bytes(4, "little")


def main():
    for number, packet in packets_of(sys.argv[1]):
        found, computed = packet[-4:], icrc(packet[:-4])
        print(
            f"frame {number}: found {found.hex()}, computed {computed.hex()}{'' if found == computed else '  differs'}"
        )


if __name__ == "__main__":
    main()
