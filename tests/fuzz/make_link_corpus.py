#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of link_fuzz; link_fuzz.cc describes the format.

    make_link_corpus.py FOLDER
"""
import pathlib
import struct
import sys

SEND, SHOW, RECEIVE, ARM, DISARM, CONTROL, LENGTH, MARK = range(8)
HEAD, TAIL, ARMED = 0, 8, 16  # words of the control block


def step(kind, number=0):
    return bytes([number << 3 | kind])


def overwrite(word, value):
    return step(CONTROL, word) + struct.pack("<Q", value & 2**64 - 1)


def length(slot, value, mtu=0, packets=1):
    return step(LENGTH, slot) + struct.pack("<IHBx", value, mtu, packets)


def run(length, mtu=256, packets=2):
    return {"value": 1 << 31 | length, "mtu": mtu, "packets": packets}


SENT = step(SEND, 23) + step(SEND, 4) + step(SHOW)
FOUR_SENT = 4 * step(SEND, 1) + step(SHOW)
TOLD = bytes.fromhex("02000000000b" "02000000000a" "88b5") + b"urnc" + bytes(range(8))
CONVERSATIONS = {
    "conversation": 3 * (SENT + step(RECEIVE, 7)) + step(RECEIVE, 7),
    "full": 10 * step(SEND, 1)
    + step(SHOW)
    + step(RECEIVE, 2)
    + 3 * step(SEND, 2)
    + step(RECEIVE, 1)
    + step(SEND, 3),
    "sleep": step(ARM)
    + SENT
    + step(DISARM)
    + step(RECEIVE, 7)
    + step(ARM)
    + step(DISARM)
    + step(ARM)
    + step(ARM)
    + SENT,
    "head_too_far": SENT + overwrite(HEAD, 9) + step(RECEIVE, 7) + overwrite(HEAD, 2) + step(RECEIVE, 7),
    "head_far_away": SENT + overwrite(HEAD, -1) + step(RECEIVE, 7),
    "head_back": SENT + step(RECEIVE, 7) + overwrite(HEAD, 0) + step(RECEIVE, 7),
    "tail_too_far": FOUR_SENT + overwrite(TAIL, 5) + 5 * step(SEND, 1),
    "tail_back": 2 * (SENT + step(RECEIVE, 7)) + step(RECEIVE, 7) + overwrite(TAIL, 1) + 5 * step(SEND, 1),
    "armed": SENT + overwrite(ARMED, 0xFFFFFFFF) + step(SHOW) + step(RECEIVE, 7),
    "lengths": FOUR_SENT + length(0, 13) + length(1, 101) + length(3, 0xFFFFFFFF) + step(RECEIVE, 7),
    "runs": 4 * (step(SEND, 31) + step(SEND, 2) + step(SHOW) + step(RECEIVE, 7)),
    "runs_full": 6 * step(SEND, 30) + step(SHOW) + step(RECEIVE, 3) + 4 * step(SEND, 28) + step(RECEIVE, 7),
    "run_beyond_what_was_shown": FOUR_SENT + length(3, **run(150)) + step(RECEIVE, 7),
    "run_beyond_the_ring": 7 * step(SEND, 1)
    + step(SHOW)
    + 2 * step(RECEIVE, 7)
    + FOUR_SENT
    + length(7, **run(150))
    + step(RECEIVE, 7),
    "run_lies": FOUR_SENT
    + length(0, **run(0))
    + length(1, **run(100, mtu=1))
    + length(2, **run(0x7FFFFFFF))
    + length(3, **run(60, packets=255))
    + step(RECEIVE, 7),
    "run_with_icrc": FOUR_SENT + length(0, 150, 256, 0) + step(RECEIVE, 7),
    "mark": step(MARK) + TOLD.ljust(32, b"\0") + step(MARK) + TOLD[:25],
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, steps in CONVERSATIONS.items():
        (folder / f"{name}.bin").write_bytes(steps)


if __name__ == "__main__":
    main()
