#!/usr/bin/env python3
"""The ICRC of RoCEv2 packets over IPv4, by hand: python3 icrc.py RECORDING"""
import sys
import zlib

from frames import packets_of


def icrc(packet):
    """The ICRC that this IPv4 packet, without its last 4 bytes, should end with: 4 bytes.

    A router changes some fields on the way, and the ICRC must stay right: all bits of those count as ones."""
    masked = bytearray(packet)
    # GAP 3: five places of the packet. IPv4: TOS, TTL, header checksum. UDP: checksum. BTH: byte 4 (FECN,
    # BECN and reserved bits). The IPv4 header has 20 bytes, UDP follows with 8, then the BTH. Like this:
    # masked[1] = 0xFF and for two bytes:  masked[10:12] = b"\xff\xff" InfiniBand's own header would stand
    # before: 8 bytes of ones take its place.
    return zlib.crc32(b"\xff" * 8 + masked).to_bytes(4, "little")


def main():
    for number, packet in packets_of(sys.argv[1]):
        found, computed = packet[-4:], icrc(packet[:-4])
        print(
            f"frame {number}: found {found.hex()}, computed {computed.hex()}{'' if found == computed else '  differs'}"
        )


if __name__ == "__main__":
    main()
