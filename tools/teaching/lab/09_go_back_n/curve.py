#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Formula and packets side by side: python3 curve.py prints a table of what the experiments recorded, and
draws curve.svg."""
import math
import pathlib
import struct

from formula import amplification

RATES = (0.01, 0.05, 0.2)  # recorded in loss-1-client.pcapng, loss-5-client.pcapng, loss-20-client.pcapng
SIZES = (1, 4, 16, 32)  # packets of a message: the first four connections of each recording
WRITES = range(0x06, 0x0B)  # opcodes of RDMA WRITEs: First to Only
RAW, INTERFACE, ENHANCED_PACKET = 101, 1, 6


def writes_of(path):
    """(queue pair, PSN) of each packet of a WRITE in a recording of `urnic run --record`, in order."""
    data, at, link = path.read_bytes(), 0, RAW
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == INTERFACE:
            (link,) = struct.unpack_from("<H", data, at + 8)
        if kind == ENHANCED_PACKET:
            (captured,) = struct.unpack_from("<I", data, at + 20)
            packet = data[at + 28 : at + 28 + captured][0 if link == RAW else 14 :]
            transport = packet[28 if packet[0] >> 4 == 4 else 48 :]  # after IPv4 or IPv6, and UDP
            if transport[0] in WRITES:
                yield int.from_bytes(transport[5:8], "big"), int.from_bytes(transport[9:12], "big")
        at += length


def measured(path):
    """Packets on the wire for each packet of payload, by size of the messages."""
    sent = {}
    for queue_pair, psn in writes_of(path):
        sent.setdefault(queue_pair, []).append(psn)
    return [len(psns) / len(set(psns)) for psns in sent.values()][: len(SIZES)]


def picture(points):
    """The curves of the formula, and the measured points: {(rate, size): amplification}. Both axes are
    logarithmic."""

    def place(rate, value):
        return f"{60 + 230 * (math.log10(rate) + 3):.1f},{330 - 330 * math.log10(value):.1f}"

    rates = [10 ** (step / 20 - 3) for step in range(50)]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="380" font-family="sans-serif" font-size="13" fill="none">'
    ]
    parts.append('<rect width="760" height="380" fill="white"/><path d="M60,10 V330 H700" stroke="black"/>')
    for rate in (0.001, 0.01, 0.1):
        parts.append(f'<text x="{place(rate, 1).split(",")[0]}" y="350" fill="black">{rate:g}</text>')
    for value in (1, 2, 4, 8):
        parts.append(f'<text x="40" y="{place(0.001, value).split(",")[1]}" fill="black">{value}</text>')
    parts.append('<text x="300" y="370" fill="black">share of packets that get lost</text>')
    parts.append(
        f'<polyline points="{" ".join(place(rate, 1 / (1 - rate)) for rate in rates)}" stroke="gray" stroke-dasharray="4"/>'
    )
    for size, color in zip(SIZES, ("green", "teal", "blue", "purple")):
        line = [place(rate, amplification(rate, size)) for rate in rates]
        x, y = line[-1].split(",")
        parts.append(
            f'<polyline points="{" ".join(line)}" stroke="{color}"/><text x="{x}" y="{y}" fill="{color}"> {size} packets</text>'
        )
        for rate in RATES:
            x, y = place(rate, points[rate, size]).split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="4" fill="{color}"/>')
    return "\n".join([*parts, "</svg>\n"])


def main():
    points = {}
    print("packets on the wire for each packet of payload: measured (formula)")
    print("loss  messages of" + "".join(f"{size:>14}" for size in SIZES) + "   only the lost again")
    for rate in RATES:
        values = measured(pathlib.Path(f"loss-{rate * 100:g}-client.pcapng"))
        points.update({(rate, size): value for size, value in zip(SIZES, values)})
        cells = [f"{value:.2f} ({amplification(rate, size):.2f})" for size, value in zip(SIZES, values)]
        print(f"{rate:<17g}" + "".join(f"{cell:>14}" for cell in cells) + f"{1 / (1 - rate):>10.2f}")
    pathlib.Path("curve.svg").write_text(picture(points))
    print(
        "The picture is curve.svg: lines are the formula, points are measured, the dashed line is 1 / (1 - loss)."
    )


if __name__ == "__main__":
    main()
