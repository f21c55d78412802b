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


def length(slot, value):
    return step(LENGTH, slot) + struct.pack("<I", value)


SENT = step(SEND, 23) + step(SEND, 4) + step(SHOW)
TOLD = bytes.fromhex("02000000000b" "02000000000a" "88b5") + b"urnc" + bytes(range(8))
CONVERSATIONS = {
    "conversation": 3 * (SENT + step(RECEIVE, 7)) + step(RECEIVE, 7),
    "full": 6 * step(SEND, 1)
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
    "head_too_far": SENT + overwrite(HEAD, 5) + step(RECEIVE, 7) + overwrite(HEAD, 2) + step(RECEIVE, 7),
    "head_far_away": SENT + overwrite(HEAD, -1) + step(RECEIVE, 7),
    "head_back": SENT + step(RECEIVE, 7) + overwrite(HEAD, 0) + step(RECEIVE, 7),
    "tail_too_far": 4 * step(SEND, 1) + step(SHOW) + overwrite(TAIL, 5) + 2 * step(SEND, 1),
    "tail_back": 2 * (SENT + step(RECEIVE, 7)) + step(RECEIVE, 7) + overwrite(TAIL, 1) + 5 * step(SEND, 1),
    "armed": SENT + overwrite(ARMED, 0xFFFFFFFF) + step(SHOW) + step(RECEIVE, 7),
    "lengths": 4 * step(SEND, 1)
    + step(SHOW)
    + length(0, 13)
    + length(1, 101)
    + length(3, 0xFFFFFFFF)
    + step(RECEIVE, 7),
    "mark": step(MARK) + TOLD.ljust(32, b"\0") + step(MARK) + TOLD[:25],
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, steps in CONVERSATIONS.items():
        (folder / f"{name}.bin").write_bytes(steps)


if __name__ == "__main__":
    main()
