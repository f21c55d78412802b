#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of conform_fuzz (see conform_fuzz.cc): make_conform_corpus.py CORPUS_OF_MADS FOLDER

Messages of corpus/mad as packets from queue pair 1 to queue pair 1, and lines of an agent and a listener.
"""
import pathlib
import struct
import sys

UD_SEND_ONLY, PKEY, QKEY = 0x64, 0xFFFF, 0x80010000
LINES = {
    "listener_began": "ok mtu=5 node-guid=00000000000000aa",
    "listener_asked": "ok CONNECT_REQUEST id=1 status=0 qpn=34 resources=1 depth=1 retries=7 rnr-retries=7 "
    "srq=0 flow-control=0 private-room=56 private=0102",
    "listener_rejected": "ok REJECTED id=0 status=28 qpn=0 private-room=148 private=",
    "listener_unreachable": "ok UNREACHABLE id=0 status=-110",
    "listener_refused": "error 22 rdma_accept: Invalid argument",
    "agent_completed": "ok id=7 status=0 vendor=0 opcode=128 length=10 imm=5",
    "agent_refused": "error there is no such command",
    "nothing": "",
    "another": "SSH-2.0-OpenSSH_9.2",
}


def packet(mad, psn=1, qkey=QKEY, source=1):
    bth = struct.pack(">BBHII", UD_SEND_ONLY, 0x40, PKEY, 1, psn)
    return b"p" + bth + struct.pack(">II", qkey, source) + mad


def main():
    mads, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(exist_ok=True)
    for name, line in LINES.items():
        (folder / f"line_{name}.bin").write_text(line)
    for path in sorted(mads.glob("*.bin")):
        mad = path.read_bytes()
        if len(mad) == 256:
            (folder / f"mad_{path.stem}.bin").write_bytes(packet(mad))
    mad = (mads / "cm_reject_001.bin").read_bytes()
    (folder / "made_other_qkey.bin").write_bytes(packet(mad, qkey=0x1234))
    (folder / "made_other_source.bin").write_bytes(packet(mad, source=5))
    (folder / "made_short.bin").write_bytes(packet(mad)[:200])


if __name__ == "__main__":
    main()
