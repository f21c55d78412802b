# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Reads recordings and checks every RoCE frame's lengths and invariant CRC, with nothing of the product's
code.

The rule, as Linux rdma_rxe and ConnectX apply it: CRC-32 over eight bytes of ones, the IP and UDP headers
and the transport packet up to its pad, with everything that routers may change set to ones: IPv4 TOS, TTL and
header checksum; IPv6 traffic class, flow label and hop limit; the UDP checksum; the fifth byte of the BTH.
Stored with its least significant byte first. In RoCE v1 a GRH, which looks like an IPv6 header, stands in
place of both headers.
"""
import struct
import zlib

ROCE_PORT = 4791
ROCE_V1, BTH_FOLLOWS = 0x8915, 27
BTH_BYTES, ICRC_BYTES = 12, 4
VLAN = b"\x81\x00"


class BadFrame(Exception):
    pass


def read_pcap(path):
    """The frames of a capture file in the classic format."""
    with open(path, "rb") as file:
        data = file.read()
    order = {
        b"\xd4\xc3\xb2\xa1": "<",
        b"\x4d\x3c\xb2\xa1": "<",
        b"\xa1\xb2\xc3\xd4": ">",
        b"\xa1\xb2\x3c\x4d": ">",
    }.get(data[:4])
    if order is None:
        raise BadFrame(f"{path} is not a pcap file")
    link_type = struct.unpack_from(order + "I", data, 20)[0]
    if link_type != 1:
        raise BadFrame(f"{path} has link type {link_type}, not Ethernet")
    at = 24
    while at < len(data):
        captured, original = struct.unpack_from(order + "II", data, at + 8)
        if captured != original or at + 16 + captured > len(data):
            raise BadFrame(f"{path}: a frame is cut off")
        yield data[at + 16 : at + 16 + captured]
        at += 16 + captured


def mask_ipv6(header):
    header[0] |= 0x0F
    header[1] = header[2] = header[3] = header[7] = 0xFF


def split_roce_v1(frame):
    grh = bytearray(frame[14:54])
    if len(grh) != 40 or grh[0] >> 4 != 6 or grh[6] != BTH_FOLLOWS:
        raise BadFrame("no GRH before a BTH")
    length = struct.unpack_from("!H", grh, 4)[0]
    packet = frame[54 : 54 + length]
    if len(packet) != length or length < BTH_BYTES + ICRC_BYTES:
        raise BadFrame(f"a transport packet of {len(packet)} bytes, and the GRH says {length}")
    mask_ipv6(grh)
    return grh, bytearray(), packet


def split_frame(frame):
    """(masked IP header or GRH, UDP header, transport packet with ICRC), or None when the frame is not RoCE.
    In RoCE v1 the UDP header is empty. One VLAN tag is looked through."""
    if frame[12:14] == VLAN:
        frame = frame[:12] + frame[16:]
    ether_type = struct.unpack_from("!H", frame, 12)[0]
    if ether_type == ROCE_V1:
        return split_roce_v1(frame)
    if ether_type == 0x0800:
        header_bytes = (frame[14] & 15) * 4
        ip = bytearray(frame[14 : 14 + header_bytes])
        if ip[9] != 17:
            return None
        ip_bytes = struct.unpack_from("!H", ip, 2)[0]
        check_ipv4_checksum(ip)
        ip[1] = ip[8] = ip[10] = ip[11] = 0xFF
    elif ether_type == 0x86DD:
        header_bytes = 40
        ip = bytearray(frame[14:54])
        if ip[6] != 17:
            return None
        ip_bytes = header_bytes + struct.unpack_from("!H", ip, 4)[0]
        mask_ipv6(ip)
    else:
        return None
    udp_at = 14 + header_bytes
    udp = bytearray(frame[udp_at : udp_at + 8])
    destination, udp_bytes = struct.unpack_from("!HH", udp, 2)
    if destination != ROCE_PORT:
        return None
    if header_bytes + udp_bytes != ip_bytes:
        raise BadFrame(f"UDP length {udp_bytes} in an IP packet of {ip_bytes}")
    packet = frame[udp_at + 8 : udp_at + udp_bytes]
    if len(packet) != udp_bytes - 8 or len(packet) < BTH_BYTES + ICRC_BYTES:
        raise BadFrame(f"a transport packet of {len(packet)} bytes")
    return ip, udp, packet


def internet_checksum(data):
    """RFC 1071's, of an even number of bytes; 0 of what has its own right checksum in it."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", bytes(data)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def check_ipv4_checksum(header):
    if internet_checksum(header) != 0:
        raise BadFrame("IPv4 header checksum")


def check_frame(frame):
    """Whether the frame is RoCE; raises BadFrame when it is, and wrong."""
    parts = split_frame(frame)
    if parts is None:
        return False
    ip, udp, packet = parts
    udp[6:8] = b"\xff\xff"[: len(udp)]
    covered = bytearray(packet[:-ICRC_BYTES])
    covered[4] = 0xFF
    if len(covered) % 4 != 0:
        raise BadFrame(f"the ICRC stands at {len(covered)}, not at a multiple of 4: the pad is wrong")
    expected = struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(ip) + bytes(udp) + bytes(covered)))
    if packet[-ICRC_BYTES:] != expected:
        raise BadFrame(f"ICRC {packet[-ICRC_BYTES:].hex()} instead of {expected.hex()}")
    return True


def check_recording(path):
    """The number of RoCE frames; raises BadFrame at the first that is wrong."""
    count = 0
    for number, frame in enumerate(read_pcap(path), start=1):
        try:
            count += check_frame(frame)
        except BadFrame as error:
            raise BadFrame(f"{path}, frame {number}: {error}") from None
    return count
