# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Captures in tunnels, in fragments and in other formats, made of plain ones. tshark says whether they are
right: see tunnels_test.py."""
import dataclasses
import ipaddress
import struct

ETHERNET, RAW_IP, ERF, INFINIBAND = 1, 101, 197, 247
OUTER_MACS = bytes.fromhex("02000000aa0202000000aa01")
OUTER_V4 = (ipaddress.ip_address("192.0.2.1").packed, ipaddress.ip_address("192.0.2.2").packed)
OUTER_V6 = (ipaddress.ip_address("2001:db8::1").packed, ipaddress.ip_address("2001:db8::2").packed)
GRE, UDP = 47, 17
NANOSECONDS = 0xA1B23C4D  # what a pcap file begins with that has them


@dataclasses.dataclass
class Frame:
    ns: int
    data: bytes


def read_pcap(path):
    """The frames of a little-endian pcap file."""
    content, at = path.read_bytes(), 24
    unit = 1 if content[:4] == struct.pack("<I", NANOSECONDS) else 1000
    frames = []
    while at < len(content):
        seconds, part, kept, _ = struct.unpack_from("<IIII", content, at)
        frames.append(Frame(seconds * 1_000_000_000 + part * unit, content[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return frames


def write_pcap(path, frames, link_type=ETHERNET):
    records = [struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, 262144, link_type)]
    for frame in frames:
        seconds, ns = divmod(frame.ns, 1_000_000_000)
        records.append(struct.pack("<IIII", seconds, ns, len(frame.data), len(frame.data)) + frame.data)
    path.write_bytes(b"".join(records))
    return path


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(protocol, payload, identification=7, place=0):
    header = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), identification, place, 64, protocol, 0, *OUTER_V4
    )
    return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + payload


def ipv6(protocol, payload):
    return struct.pack(">IHBB16s16s", 6 << 28, len(payload), protocol, 64, *OUTER_V6) + payload


def ethernet(ether_type, payload):
    return OUTER_MACS + struct.pack(">H", ether_type) + payload


def udp(port, payload):
    return struct.pack(">HHHH", 50000, port, 8 + len(payload), 0) + payload


def gre(ether_type, payload, fields=()):
    """fields: of "checksum", "key" and "sequence"."""
    flags = sum({"checksum": 0x8000, "key": 0x2000, "sequence": 0x1000}[field] for field in fields)
    words = {"checksum": bytes(4), "key": b"\0\0\0\x2a", "sequence": b"\0\0\0\x01"}
    header = struct.pack(">HH", flags, ether_type) + b"".join(words[field] for field in fields)
    packet = header + payload
    if "checksum" in fields:
        padded = packet + b"\0" * (len(packet) % 2)
        packet = packet[:4] + struct.pack(">H", checksum(padded)) + packet[6:]
    return packet


def ether_type_of(frame):
    at = 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    return struct.unpack_from(">H", frame, at)[0], frame[at + 2 :]


def erspan2(frame):
    return gre(0x88BE, struct.pack(">HHI", 0x1000 | 5, 0x1800 | 33, 0x42) + frame, ["sequence"])


def erspan3(frame, subheader=b""):
    flags = 0x0000 | (1 if subheader else 0)
    header = struct.pack(">HHIHH", 0x2000 | 5, 33, 0x11223344, 0, flags)
    return gre(0x22EB, header + subheader + frame, ["sequence"])


def mpls(labels, payload):
    words = [(16 + i) << 12 | (0x100 if i == labels - 1 else 0) | 64 for i in range(labels)]
    return struct.pack(f">{labels}I", *words) + payload


def vxlan(frame):
    return struct.pack(">II", 0x08000000, 99 << 8) + frame


def geneve(ether_type, payload, options=b""):
    return struct.pack(">BBHI", len(options) // 4, 0, ether_type, 77 << 8) + options + payload


def with_tags(frame, *types):
    tags = b"".join(struct.pack(">HH", kind, 100 + i) for i, kind in enumerate(types))
    return frame[:12] + tags + frame[12:]


def network(frame):
    return ether_type_of(frame)[1]


def protocol_of(frame):
    return 4 if ether_type_of(frame)[0] == 0x0800 else 41


# What is written around a frame: name, function, what urnic calls it, headers that `urnic view` shows.
TUNNELS = {
    "erspan1": (lambda f: ethernet(0x0800, ipv4(GRE, gre(0x88BE, f))), ["ERSPAN I"]),
    "erspan2": (lambda f: ethernet(0x0800, ipv4(GRE, erspan2(f))), ["ERSPAN II"]),
    "erspan3": (lambda f: ethernet(0x0800, ipv4(GRE, erspan3(f))), ["ERSPAN III"]),
    "erspan3_subheader": (
        lambda f: ethernet(0x0800, ipv4(GRE, erspan3(f, b"\x0c" + bytes(7)))),
        ["ERSPAN III"],
    ),
    "vxlan": (lambda f: ethernet(0x0800, ipv4(UDP, udp(4789, vxlan(f)))), ["VXLAN"]),
    "vxlan_of_linux": (lambda f: ethernet(0x86DD, ipv6(UDP, udp(8472, vxlan(f)))), ["VXLAN"]),
    "geneve": (lambda f: ethernet(0x0800, ipv4(UDP, udp(6081, geneve(0x6558, f)))), ["GENEVE"]),
    "geneve_options": (
        lambda f: ethernet(
            0x86DD,
            ipv6(UDP, udp(6081, geneve(0x6558, f, b"\x01\x02\x03\x01" + bytes(4)))),
        ),
        ["GENEVE"],
    ),
    "geneve_ip": (
        lambda f: ethernet(0x0800, ipv4(UDP, udp(6081, geneve(*ether_type_of(f))))),
        ["GENEVE"],
    ),
    "gre_ip": (lambda f: ethernet(0x0800, ipv4(GRE, gre(*ether_type_of(f)))), ["GRE"]),
    "gre_ethernet": (lambda f: ethernet(0x0800, ipv4(GRE, gre(0x6558, f))), ["GRE"]),
    "gre_all_fields": (
        lambda f: ethernet(0x0800, ipv4(GRE, gre(0x6558, f, ["checksum", "key", "sequence"]))),
        ["GRE"],
    ),
    "gre_in_ipv6": (lambda f: ethernet(0x86DD, ipv6(GRE, gre(0x6558, f, ["key"]))), ["GRE"]),
    "mpls": (lambda f: ethernet(0x8847, mpls(2, network(f))), ["MPLS"]),
    "mpls_in_gre": (lambda f: ethernet(0x0800, ipv4(GRE, gre(0x8847, mpls(1, network(f))))), ["GRE", "MPLS"]),
    "ip_in_ip": (lambda f: ethernet(0x0800, ipv4(protocol_of(f), network(f))), ["IP in IP"]),
    "qinq": (lambda f: with_tags(f, 0x88A8, 0x8100), []),
    "qinq_in_vxlan": (
        lambda f: with_tags(
            ethernet(0x0800, ipv4(UDP, udp(4789, vxlan(with_tags(f, 0x8100, 0x8100))))), 0x88A8, 0x8100
        ),
        ["VXLAN"],
    ),
    "vxlan_in_erspan2": (
        lambda f: ethernet(0x0800, ipv4(GRE, erspan2(ethernet(0x0800, ipv4(UDP, udp(4789, vxlan(f))))))),
        ["ERSPAN II", "VXLAN"],
    ),
}


def wrapped(frames, name):
    return [Frame(frame.ns, TUNNELS[name][0](frame.data)) for frame in frames]


def fragments_of_ipv4(frame, most):
    """The frame's datagram in pieces of so many bytes of payload at most."""
    ip = frame.data[14:]
    length = struct.unpack_from(">H", ip, 2)[0]
    header, payload = ip[:20], ip[20:length]
    pieces = []
    for at in range(0, len(payload), most):
        part = payload[at : at + most]
        more = 0x2000 if at + most < len(payload) else 0
        flags = header[6] << 8 & 0xC000  # "don't fragment" stays: the ICRC covers it
        own = header[:2] + struct.pack(">H", 20 + len(part)) + header[4:6]
        own += struct.pack(">H", at // 8 | more | flags) + header[8:10] + b"\0\0" + header[12:]
        own = own[:10] + struct.pack(">H", checksum(own)) + own[12:]
        pieces.append(Frame(frame.ns, frame.data[:14] + own + part))
    return pieces


def fragments_of_ipv6(frame, most, identification):
    ip = frame.data[14:]
    length = struct.unpack_from(">H", ip, 4)[0]
    header, payload = ip[:40], ip[40 : 40 + length]
    pieces = []
    for at in range(0, len(payload), most):
        part = payload[at : at + most]
        more = 1 if at + most < len(payload) else 0
        extension = struct.pack(">BBHI", header[6], 0, at | more, identification)
        own = header[:4] + struct.pack(">HB", 8 + len(part), 44) + header[7:]
        pieces.append(Frame(frame.ns, frame.data[:14] + own + extension + part))
    return pieces


def with_extension_headers(frame):
    """An IPv6 frame with hop-by-hop and destination options. Its ICRC is wrong then: it covers the length."""
    ip = frame.data[14:]
    options = bytes([60, 0, 1, 4, 0, 0, 0, 0]) + bytes([ip[6], 1, 1, 12]) + bytes(12)
    length = struct.unpack_from(">H", ip, 4)[0] + len(options)
    return Frame(
        frame.ns, frame.data[:14] + ip[:4] + struct.pack(">HB", length, 0) + ip[7:40] + options + ip[40:]
    )


def erf(frame, kind=2, extensions=0):
    """A record of ERF, with the frame check sequence that such cards record."""
    data = (b"\0\0" if kind != 21 else b"") + frame.data + (bytes(4) if kind != 21 else b"")
    seconds, ns = divmod(frame.ns, 1_000_000_000)
    head = struct.pack("<Q", seconds << 32 | (ns << 32) // 1_000_000_000)
    more = b"".join(bytes([0x80 if i < extensions - 1 else 0]) + bytes(7) for i in range(extensions))
    size = 16 + len(more) + len(data)
    wire = len(data) - (2 if kind != 21 else 0)
    return Frame(
        frame.ns,
        head + struct.pack(">BBHHH", kind | (0x80 if extensions else 0), 4, size, 0, wire) + more + data,
    )


def pcapng(interfaces, packets):
    """interfaces: (link type, digits of a second's fraction); packets: (interface, frame)."""

    def block(kind, body):
        size = 12 + len(body)
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    content = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for link_type, digits in interfaces:
        option = struct.pack("<HHBxxx", 9, 1, digits) + struct.pack("<HH", 0, 0)
        content += block(1, struct.pack("<HHI", link_type, 0, 0) + option)
    for interface, frame in packets:
        ticks = frame.ns * 10 ** interfaces[interface][1] // 10**9
        size = len(frame.data)
        head = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, size, size)
        content += block(6, head + frame.data + bytes(-size % 4))
    return content
