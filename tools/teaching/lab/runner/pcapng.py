# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The frames of a recording, for their payloads: `urnic view --json` has headers only."""
import struct

SECTION, ENHANCED_PACKET = 0x0A0D0D0A, 6


def frames_of(path):
    """Bytes of each frame, in order; the first one has number 1. `urnic run --record` writes in the
    processor's byte order."""
    data = path.read_bytes()
    frames, at, order = [], 0, "<"
    while at + 12 <= len(data):
        if struct.unpack_from("<I", data, at)[0] == SECTION:
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, length = struct.unpack_from(f"{order}II", data, at)
        if length < 12:
            break  # cut in the middle of a block
        if kind == ENHANCED_PACKET:
            (captured,) = struct.unpack_from(f"{order}I", data, at + 20)
            frames.append(data[at + 28 : at + 28 + captured])
        at += length
    return frames
