#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes what programs write to /dev/infiniband/rdma_cm, in the form that rdma_cm_fuzz.cc describes, into
files in FOLDER.

    make_rdma_cm_corpus.py FOLDER
"""
import pathlib
import socket
import struct
import sys

SECOND, BAD_POINTER, CUT_SHORT, KNOWN_ID, OTHER_CHANNEL = 1, 2, 4, 8, 16
NUMBERS = {
    name: number
    for number, name in enumerate(
        "CREATE_ID DESTROY_ID BIND_IP RESOLVE_IP RESOLVE_ROUTE QUERY_ROUTE CONNECT LISTEN ACCEPT REJECT DISCONNECT INIT_QP_ATTR "
        "GET_EVENT GET_OPTION SET_OPTION NOTIFY JOIN_IP_MCAST LEAVE_MCAST MIGRATE_ID QUERY BIND RESOLVE_ADDR JOIN_MCAST".split()
    )
}
TCP, UDP = 0x106, 0x111
RC, UD, XRC_SEND = 2, 4, 9


def command(name, body, room=0, flags=KNOWN_ID):
    return struct.pack("<BBHH", flags, NUMBERS[name], len(body), room) + body


def ipv4(address, port, size):
    body = struct.pack("<H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(address)
    return body.ljust(size, b"\0")


def create(space, qp_type=0, flags=0):
    return command("CREATE_ID", struct.pack("<QQHB5x", 77, 0, space, qp_type), 4, flags)


def destroy(id, flags=KNOWN_ID):
    return command("DESTROY_ID", struct.pack("<QII", 0, id, 0), 4, flags)


def bind(id, port, address="10.77.9.1", flags=KNOWN_ID):
    return command(
        "BIND_IP", struct.pack("<Q", 0) + ipv4(address, port, 28) + struct.pack("<I", id), 0, flags
    )


def resolve(id, port, flags=KNOWN_ID):
    return command(
        "RESOLVE_IP", bytes(28) + ipv4("10.77.9.1", port, 28) + struct.pack("<II", id, 1000), 0, flags
    )


def resolve_route(id, flags=KNOWN_ID):
    return command("RESOLVE_ROUTE", struct.pack("<II", id, 1000), 0, flags)


def query_route(id, flags=KNOWN_ID):
    return command("QUERY_ROUTE", struct.pack("<QII", 0, id, 0), 216, flags)


def query(id, option, room, flags=KNOWN_ID):
    return command("QUERY", struct.pack("<QII", 0, id, option), room, flags)


def event(flags=0):
    return command("GET_EVENT", bytes(8), 336, flags)


def parameters(data=b"hello"):
    return struct.pack("<II", 5, 0) + data.ljust(256, b"\0") + bytes([len(data), 0, 4, 4, 0, 7, 7, 1])


def connect(id, flags=KNOWN_ID, ece=(0, 0)):
    return command("CONNECT", parameters() + struct.pack("<IIII", id, 0, *ece), 0, flags)


def accept(id, valid=True, flags=KNOWN_ID, ece=(0, 0)):
    return command(
        "ACCEPT",
        struct.pack("<Q", 88) + (parameters() if valid else bytes(272)) + struct.pack("<IIII", id, 0, *ece),
        0,
        flags,
    )


def by_id(name, id, second=None, flags=KNOWN_ID):
    return command(
        name, struct.pack("<I", id) + (b"" if second is None else struct.pack("<I", second)), 0, flags
    )


def init_qp(id, state, flags=KNOWN_ID):
    return command("INIT_QP_ATTR", struct.pack("<QII", 0, id, state), 144, flags)


def connection(space, qp_type, answer, ece=(0, 0)):
    """Id 0 listens on the second channel, id 1 connects on the first. Events come at their own time: there
    are more GET_EVENT than events."""
    second = KNOWN_ID | SECOND
    fetch = b"".join(event() + event(SECOND) for _ in range(4))
    return (
        create(space, qp_type, SECOND)
        + bind(0, 18500, flags=second)
        + by_id("LISTEN", 0, 0, second)
        + create(space, qp_type)
        + resolve(1, 18500)
        + event()
        + resolve_route(1)
        + event()
        + query_route(1)
        + connect(1, ece=ece)
        + fetch
        + answer
        + fetch
    )


CORPUS = {
    "ids": create(TCP)
    + create(UDP)
    + create(0x13F, XRC_SEND)
    + create(0x13F, 99)
    + create(5)
    + destroy(0)
    + destroy(0)
    + create(TCP, flags=BAD_POINTER)
    + destroy(1, 0)
    + destroy(2, KNOWN_ID | SECOND),
    "addresses": create(TCP)
    + bind(0, 0, "0.0.0.0")
    + query_route(0)
    + create(TCP)
    + bind(1, 18501, "10.9.9.9")
    + bind(1, 18501)
    + query(1, 0, 280)
    + query(1, 1, 440)
    + query(1, 2, 280)
    + query(1, 3, 999)
    + query(1, 0, 3)
    + query_route(1, KNOWN_ID | BAD_POINTER),
    "all_addresses": create(TCP)
    + command("BIND", struct.pack("<IHH", 0, 16, 0) + ipv4("10.77.9.1", 18502, 128))
    + command(
        "RESOLVE_ADDR", struct.pack("<IIHHI", 0, 100, 0, 16, 0) + bytes(128) + ipv4("10.77.9.1", 9, 128)
    )
    + event()
    + resolve_route(0)
    + event()
    + query(0, 1, 80),
    "infiniband": create(0x13F, RC) + command("BIND", struct.pack("<IHHH", 0, 48, 0, 27) + bytes(126)),
    "options": create(TCP)
    + b"".join(
        command("SET_OPTION", struct.pack("<QIIII", 0, 0, level, name, size))
        for level, name, size in (
            (0, 0, 1),
            (0, 1, 4),
            (0, 2, 4),
            (0, 3, 1),
            (1, 1, 72),
            (0, 9, 4),
            (0, 0, 5),
        )
    ),
    "connection": connection(
        TCP,
        RC,
        init_qp(2, 1, KNOWN_ID | SECOND)
        + init_qp(2, 2, KNOWN_ID | SECOND)
        + b"".join(accept(id, flags=KNOWN_ID | SECOND) for id in range(2, 8))
        + accept(1, False)
        + init_qp(1, 3)
        + by_id("NOTIFY", 2, 4, KNOWN_ID | SECOND)
        + by_id("DISCONNECT", 1),
    ),
    "ece": connection(
        TCP,
        RC,
        b"".join(accept(id, flags=KNOWN_ID | SECOND, ece=(0x027572, 1)) for id in range(2, 8)),
        (0xFF027572, 3),
    ),
    "rejection": connection(
        TCP,
        RC,
        b"".join(
            command(
                "REJECT", struct.pack("<IBB2x", id, 3, 0) + b"no!".ljust(256, b"\0"), 0, KNOWN_ID | SECOND
            )
            for id in range(2, 8)
        ),
    ),
    "datagrams": connection(
        UDP, UD, b"".join(accept(id, flags=KNOWN_ID | SECOND) for id in range(2, 8)) + init_qp(1, 1)
    ),
    "multicast": create(UDP)
    + bind(0, 0)
    + command("JOIN_IP_MCAST", struct.pack("<QQ", 0, 9) + ipv4("239.1.2.3", 0, 28) + struct.pack("<I", 0), 4)
    + event()
    + command("JOIN_MCAST", struct.pack("<QQIHH", 0, 9, 0, 16, 1) + ipv4("239.1.2.4", 0, 128), 4)
    + command("LEAVE_MCAST", struct.pack("<QII", 0, 1, 0), 4)
    + command("LEAVE_MCAST", struct.pack("<QII", 0, 3, 0), 4, KNOWN_ID | SECOND),
    "migration": create(TCP)
    + resolve(0, 1)
    + command("MIGRATE_ID", struct.pack("<QII", 0, 0, 0), 4, KNOWN_ID | SECOND | OTHER_CHANNEL)
    + event(SECOND)
    + event()
    + resolve_route(0, KNOWN_ID | SECOND)
    + event(SECOND)
    + destroy(0)
    + destroy(0, KNOWN_ID | SECOND),
    "cut_short": create(TCP, flags=CUT_SHORT)
    + by_id("LISTEN", 0, 0, CUT_SHORT)
    + event(CUT_SHORT)
    + struct.pack("<BBHH", 0, 13, 0, 0)
    + struct.pack("<BBHH", 0, 23, 4, 4)
    + b"abcd"
    + struct.pack("<BBHH", 0, 200, 0xFFFF, 0xFFFF),
}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, content in CORPUS.items():
    (folder / f"{name}.bin").write_bytes(content)
