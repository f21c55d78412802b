# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What a network card makes of a buffer that it gets whole: frames of one size, each with the next
identification (Linux' inet_gso_segment counts so). Here for IPv4 and the packets of an RDMA WRITE at path
MTU 1024."""
import struct

import icrc

HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP
# The bytes of a datagram by the opcode in it: WRITE FIRST with its RETH, MIDDLE and LAST, and an ACK.
DATAGRAM = {0x06: 12 + 16 + 1024 + 4, 0x07: 12 + 1024 + 4, 0x08: 12 + 1024 + 4, 0x11: 12 + 4 + 4}


def cut(frame):
    """The frames on the cable, of one buffer. The UDP checksum, which the ICRC does not cover, is left away."""
    datagrams = frame[HEADERS:]
    size = DATAGRAM[datagrams[0]]
    identification = struct.unpack_from("!H", frame, 18)[0]
    for number, at in enumerate(range(0, len(datagrams), size)):
        datagram = datagrams[at : at + size]
        ip = bytearray(frame[14:34])
        struct.pack_into("!H", ip, 2, 20 + 8 + len(datagram))
        struct.pack_into("!H", ip, 4, identification + number & 0xFFFF)
        struct.pack_into("!H", ip, 10, 0)
        struct.pack_into("!H", ip, 10, icrc.internet_checksum(ip))
        udp = frame[34:38] + struct.pack("!HH", 8 + len(datagram), 0)
        yield frame[:14] + bytes(ip) + udp + datagram
