# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What went through a VXLAN tunnel (RFC 7348), from a recording of the network below it, with nothing of the
product's code."""
import struct

import icrc

PORT = 4789
_ETHERNET_BYTES, _HEADERS_BYTES = 14, 20 + 8 + 8  # IPv4 without options, UDP, VXLAN
_KEY_IS_VALID = 0x08
_FILE_HEADER = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")


def unwrap(frame):
    """(length of the IPv4 packet on the network below, key, frame inside), or None when the frame carries
    none."""
    if frame[12:14] != b"\x08\x00" or frame[14] != 0x45 or frame[23] != 17:
        return None
    icrc.check_ipv4_checksum(frame[14:34])
    length, destination = struct.unpack_from("!H", frame, 16)[0], struct.unpack_from("!H", frame, 36)[0]
    if destination != PORT:
        return None
    at = _ETHERNET_BYTES + 20 + 8
    if frame[at] & _KEY_IS_VALID == 0:
        raise icrc.BadFrame("a VXLAN header without its key")
    return (
        length,
        int.from_bytes(frame[at + 4 : at + 7], "big"),
        frame[_ETHERNET_BYTES + _HEADERS_BYTES : _ETHERNET_BYTES + length],
    )


def write_unwrapped(recording, path, key):
    """Writes the frames that were in the tunnel of this key as a recording of their own, with the time
    left out. Returns how long, in bytes, each of the IPv4 packets on the network below was."""
    lengths = []
    with open(path, "wb") as file:
        file.write(_FILE_HEADER.pack(0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in icrc.read_pcap(recording):
            found = unwrap(frame)
            if found is None or found[1] != key:
                continue
            lengths.append(found[0])
            file.write(_RECORD.pack(0, len(lengths), len(found[2]), len(found[2])) + found[2])
    return lengths
