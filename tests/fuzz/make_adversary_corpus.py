#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of adversary_fuzz; adversary_fuzz.cc describes the format.

    make_adversary_corpus.py FOLDER
"""
import pathlib
import sys

SPECS = {
    "seed": "seed=18446744073709551615",
    "all": "only=all+lost-datagrams,seed=9",
    "packets": "only=lost-packets+duplicated-packets+reordered-packets,scale=0.5",
    "completions": "seed=3,only=late-completion+completions-in-parts+queues-out-of-order,scale=100",
    "off": "only=all,off=slow-read+unexpected-events,log=acts.%p",
    "order": "only=queues-out-of-order,seed=1",
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    bursts = []
    for number in range(200):
        bursts += [number * 5 % 8, number * 3 % 8]
        if number % 7 == 0:
            bursts.append(0x80 | number % 128)
    for name, spec in SPECS.items():
        (folder / f"{name}.bin").write_bytes(spec.encode() + b"\n" + bytes(bursts))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
