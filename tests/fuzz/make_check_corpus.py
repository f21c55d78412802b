#!/usr/bin/env python3
"""Writes the corpus of check_fuzz out of pcap_fixtures: the beginnings of captures in the format of check_fuzz.cc.

    make_check_corpus.py FIXTURES FOLDER
"""
import pathlib
import struct
import sys

MOST_BYTES = 6000
UNIT_US = 100


def frames(path):
    content, at, before = path.read_bytes(), 24, None
    while at < len(content):
        seconds, micro, size, _ = struct.unpack_from("<IIII", content, at)
        now = seconds * 1_000_000 + micro
        yield min((now - (now if before is None else before)) // UNIT_US, 0x7FFF), content[at + 16 : at + 16 + size]
        before, at = now, at + 16 + size


def main():
    fixtures, folder = map(pathlib.Path, sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(fixtures.glob("*.pcap")):
        if path.name.startswith(("arp", "ib_", "srq")):
            continue
        script = b""
        for time, frame in frames(path):
            if len(script) + len(frame) > MOST_BYTES:
                break
            script += struct.pack("<HH", len(frame), time) + frame
        (folder / f"{path.stem}.bin").write_bytes(script)


if __name__ == "__main__":
    main()
