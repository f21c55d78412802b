#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpora of mad_fuzz and cm_fuzz: the management datagrams of pcap_fixtures and some put together
here; conversations in the format of cm_fuzz.cc.

    make_cm_corpus.py FIXTURES MAD_FOLDER CM_FOLDER
"""
import pathlib
import struct
import sys

CAPTURES = ("rping_ipv6", "cm_reject", "udaddy")
MAD_BYTES = 256
HEADERS = {0x0800: 14 + 20 + 8 + 12 + 8, 0x86DD: 14 + 40 + 8 + 12 + 8}

# The steps and messages of cm_fuzz.cc.
(
    MESSAGE,
    BYTES,
    PASS,
    PASS_TO_TIMEOUT,
    REQUEST,
    ACCEPT,
    READY,
    REJECT,
    DISCONNECT,
    ESTABLISH,
    RELEASE,
    SIDR_REQUEST,
    SIDR_REPLY,
    REFLECT,
    DECISION,
    HABIT,
) = range(16)
REQ, REP, RTU, REJ, MRA, DREQ, DREP, SIDR_REQ, SIDR_REP, TIMEOUT = range(10)
ANSWERED_AT = 24 + 8
OTHER = (ANSWERED_AT, 0x80)
REPLY = (ANSWERED_AT, 0x40)


def datagrams(path):
    content, at, number = path.read_bytes(), 24, 0
    while at < len(content):
        size = struct.unpack_from("<I", content, at + 8)[0]
        frame, at, number = content[at + 16 : at + 16 + size], at + 16 + size, number + 1
        begin = HEADERS.get(int.from_bytes(frame[12:14], "big"))
        to_management = (
            begin
            and frame[begin - 15 : begin - 12] == b"\x00\x00\x01"
            and len(frame) == begin + MAD_BYTES + 4
        )
        if to_management:
            yield number, frame[begin : begin + MAD_BYTES]


def header(attribute):
    return bytes([1, 7, 2, 3]) + bytes(13) + bytes([attribute]) + bytes(6)


def made_datagrams():
    for attribute in range(0x10, 0x1B):
        body = bytearray(MAD_BYTES - 24)
        body[50] = 0x10
        yield f"lowest_{attribute:02x}", header(attribute) + bytes(body)
        body = bytearray(b"\xff" * (MAD_BYTES - 24))
        body[43], body[50], body[51] = 0xFF, 0x57, 0xF9
        yield f"highest_{attribute:02x}", header(attribute) + bytes(body)
    for attribute, vendor_at in ((0x10, (5, 6, 7)), (0x13, (15, 19, 23))):  # ECE
        body = bytearray(MAD_BYTES - 24)
        body[50] = 0x10
        for at, byte in zip(vendor_at, (0x02, 0x75, 0x72)):
            body[at] = byte
        yield f"ece_{attribute:02x}", header(attribute)[:20] + bytes([0, 0, 0, 1]) + bytes(body)
    yield "short", header(0x10) + bytes(MAD_BYTES - 25)
    yield "long", header(0x13) + bytes(MAD_BYTES - 23)
    yield "empty", b""
    request = bytearray(header(0x10) + bytes(MAD_BYTES - 24))
    yield "bad_mtu", bytes(request)
    request[24 + 50], request[24 + 43] = 0x10, 2 << 1
    yield "bad_transport", bytes(request)
    request[2] = 1
    yield "bad_class_version", bytes(request)


def say(kind, *patches, peer=0, of=0):
    return bytes([MESSAGE, of, kind, peer, len(patches)]) + b"".join(bytes(patch) for patch in patches)


def do(step, argument=0):
    return bytes([step, argument])


ACTIVE = do(REQUEST) + say(REP) + do(READY)
PASSIVE = say(REQ) + do(ACCEPT) + say(RTU)
ANOTHER_ID = 1 << 2


def conversations():
    yield "active", ACTIVE + say(REP) + do(DISCONNECT) + say(DREP) + do(PASS, 10)
    yield "active_ended_by_peer", ACTIVE + say(DREQ) + do(DISCONNECT) + say(DREQ) + do(PASS_TO_TIMEOUT)
    yield "passive", say(REQ) + say(REQ) + do(ACCEPT) + say(REQ) + say(RTU) + say(DREQ) + say(DREQ) + do(
        DISCONNECT
    ) + do(PASS, 10)
    yield "passive_ends", PASSIVE + do(DISCONNECT) + say(MRA, OTHER) + say(DREP) + say(DREQ) + say(REQ)
    yield "both_end", PASSIVE + do(DISCONNECT) + say(DREQ) + say(DREP)
    yield "established_by_data", say(REQ) + do(ACCEPT) + do(ESTABLISH) + say(RTU) + say(REJ, OTHER)
    yield "nobody_answers", do(REQUEST) + do(PASS_TO_TIMEOUT) * 17
    yield "nobody_is_ready", say(REQ) + do(ACCEPT) + do(PASS_TO_TIMEOUT) * 5
    yield "nobody_ends", ACTIVE + do(DISCONNECT) + do(PASS_TO_TIMEOUT) * 18
    yield "slow_peer", do(REQUEST) + say(MRA) + do(PASS, 200) + say(REP) + say(REP) + do(READY)
    yield "slow_peer_of_reply", say(REQ) + do(ACCEPT) + say(MRA, REPLY) + do(PASS, 200) + say(RTU)
    yield "rejected", do(REQUEST) + say(REJ, (24, 0), (26, 0), (27, 0)) + say(REQ) + do(ACCEPT) + say(
        REJ, REPLY
    )
    yield "rejects", say(REQ) + do(REJECT) + say(REQ) + do(PASS, 255) + do(REQUEST) + say(REP) + do(
        REJECT
    ) + say(REP)
    yield "gave_up", say(REQ) + say(TIMEOUT, (24 + 12 + 7, 0xAA)) + say(REQ) + do(ACCEPT) + say(
        TIMEOUT, (24 + 12 + 7, 0xAA)
    )
    yield "stale", PASSIVE + say(REQ, peer=ANOTHER_ID) + say(DREP) + say(REQ, peer=ANOTHER_ID) + do(
        PASS, 10
    ) + say(REQ, peer=ANOTHER_ID)
    yield "released", PASSIVE + do(RELEASE) + say(DREQ) + say(REQ, peer=0x14) + do(RELEASE) + say(
        REQ, peer=0x14
    ) + do(REQUEST) + do(RELEASE)
    yield "decided_at_once", do(DECISION, 1) + say(REQ) + say(SIDR_REQ) + do(DECISION, 2) + say(REQ) + say(
        SIDR_REQ
    )
    yield "services", say(SIDR_REQ) + say(SIDR_REQ) + do(SIDR_REPLY) + say(SIDR_REQ) + do(SIDR_REQUEST) + say(
        SIDR_REP
    ) + do(SIDR_REQUEST)
    yield "strangers", PASSIVE + b"".join(say(kind, peer=1) for kind in range(10))
    yield "left_over", PASSIVE + b"".join(say(kind, peer=ANOTHER_ID) for kind in range(1, 10))
    yield "nothing", b"".join(say(kind, of=200) for kind in range(1, 10))
    for habit in (1, 2, 4, 8, 16, 32, 63):
        yield f"habit_{habit}", do(HABIT, habit) + ACTIVE + say(DREQ) + PASSIVE + say(DREQ) + say(
            SIDR_REQ
        ) + say(REQ, peer=0x14)
    yield "mirror", do(REQUEST) + do(REFLECT) + do(REFLECT) + ACTIVE + do(REFLECT) + do(DISCONNECT) + do(
        REFLECT
    )


def write(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.bin").write_bytes(content)


def main():
    fixtures, mads, scripts = map(pathlib.Path, sys.argv[1:4])
    for capture in CAPTURES:
        for number, datagram in datagrams(fixtures / f"{capture}.pcap"):
            write(mads, f"{capture}_{number:03}", datagram)
        whole = b"".join(do(BYTES) + datagram for _, datagram in datagrams(fixtures / f"{capture}.pcap"))
        write(scripts, f"{capture}", whole)
    for name, datagram in made_datagrams():
        write(mads, f"made_{name}", datagram)
    for name, script in conversations():
        write(scripts, f"made_{name}", script)


if __name__ == "__main__":
    main()
