#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of fault_fuzz; fault_fuzz.cc describes the format.

    make_fault_corpus.py PCAP_FIXTURES FOLDER
"""
import pathlib
import struct
import sys

RECEIVED, IP = 0x8000, 0x4000
ETHERNET = 14
FRAMES = 12  # of a capture
ROCE_V1 = "corrupt:icrc=right:times=all,ce:times=all,set:bth.psn=7:nth=2"  # for frames that no capture has
SPECS = {
    "dice": ("vs_sizes", "loss=0.1,dup=0.2,reorder=0.3,gap=9,corrupt=0.1,truncate=0.1,direction=rx,seed=7"),
    "lost_psn": ("vs_sizes", "drop:kind=request:psn=2:nth=2:times=3"),
    "lost_answers": (
        "ib_read_bw",
        "drop:kind=read_response:psn=1:direction=rx,drop:kind=ack:qp=1:again=no:times=all",
    ),
    "later": (
        "vs_sizes",
        "delay:kind=request:by=2ms:times=all,delay:kind=ack:nth=2:by=10s,loss=0.01,corrupt=0.9,truncate=0.5",
    ),
    "damage": ("vs_sizes", "corrupt:icrc=right:times=all,corrupt:byte=3:icrc=right:p=0.5"),
    "fields": ("vs_atomics", "set:bth.psn=0x10:atomiceth.compare=7:aeth.msn=1:aeth.syndrome=0x60:times=all"),
    "marks": ("vs_ud_ipv6", "ce:times=all,set:deth.qkey=1:deth.srcqp=2:times=all,reorder:by=64,dup:p=0.3"),
    "wrong": ("vs_rnr", "set:kind=rnr:aeth.syndrome=0x21:icrc=wrong:times=all,drop:opcode=send_only:nth=99"),
    "many": ("vs_imm_inv", ",".join(["corrupt:icrc=right:times=all"] * 64)),
}


def frames_of(path):
    data = path.read_bytes()
    at = 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        yield data[at + 16 : at + 16 + length]
        at += 16 + length


def main(fixtures, folder):
    folder.mkdir(parents=True, exist_ok=True)
    made = [path.read_bytes() for path in sorted((folder.parent / "frame").glob("made_roce_v1_*.bin"))]
    script = b"".join(struct.pack(">H", way | len(frame)) + frame for frame in made for way in (0, RECEIVED))
    (folder / "roce_v1.bin").write_bytes(ROCE_V1.encode() + b"\n" + script)
    for name, (capture, spec) in SPECS.items():
        script = spec.encode() + b"\n"
        frames = list(frames_of(fixtures / f"{capture}.pcap"))[:FRAMES]
        own = frames[0][6:12]
        for frame in frames:
            way = 0 if frame[6:12] == own else RECEIVED
            packet = frame[ETHERNET:]
            script += (
                struct.pack(">H", way | len(frame))
                + frame
                + struct.pack(">H", way | IP | len(packet))
                + packet
            )
        (folder / f"{name}.bin").write_bytes(script)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
