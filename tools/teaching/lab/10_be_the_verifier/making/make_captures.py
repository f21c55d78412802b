#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Makes the captures of this lab out of those in pcap_fixtures, the same each time: python3
make_captures.py

Two Linux kernels (rdma_rxe) speak in them; pcap_fixtures/README.md says how they were recorded. In five
one rule is broken."""
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from roce import distance, read  # noqa: E402
from spoil import changed, sealed, write  # noqa: E402

FIXTURES = HERE.parents[4] / "pcap_fixtures"
SEQUENCE_NAK, READ_RESPONSE_MIDDLE = 0x60, 0x0E


def frames(packets, *numbers):
    return [packets[number - 1] for number in numbers]


def at(time, packet):
    packet.time = time
    return packet


def renumbered(packets):
    """As the beginning of a connection: MSNs count from 1."""
    first = next(packet.msn for packet in packets if packet.msn is not None)
    return [
        packet if packet.msn is None else changed(packet, msn=packet.msn - first + 1) for packet in packets
    ]


def counted_packets(sizes):
    """The responder's MSN counts packets instead of messages."""
    first = sizes[0].psn
    return [
        packet if packet.is_request else changed(packet, msn=distance(packet.psn, first) + 1)
        for packet in sizes[:26]
    ]


def acknowledged_over_a_gap(loss):
    """It acknowledges a WRITE of which it lacks a packet. (It really sent a NAK, and the requester repeated.)"""
    nak, ack = frames(loss, 56, 64)
    return renumbered(
        frames(loss, *range(46, 56)) + [at(nak.time, changed(ack))] + frames(loss, *range(65, 77))
    )


def repeated_something_else(loss):
    """The requester repeats a packet with another payload."""
    payload = loss[11].payload
    other = payload[:400] + b"the program has reused its buffer" + payload[433:]
    return loss[:11] + [changed(loss[11], payload=other)] + loss[12:35]


def read_without_an_end(loss):
    """The last packet of the responder's answer to a READ is a Middle, which has no AETH."""
    last = loss[44]
    bth = bytearray(last.data[last.bth : last.bth + 12])
    bth[0] = READ_RESPONSE_MIDDLE
    return renumbered(loss[35:44] + [sealed(last, bytes(bth) + last.payload)] + loss[45:47])


def refused_the_acknowledged(sizes):
    """It reports a gap in front of a PSN that it has acknowledged."""
    nak = changed(sizes[11], psn=sizes[8].psn, syndrome=SEQUENCE_NAK)
    return sizes[:13] + [at(sizes[12].time + 0.0001, nak)] + sizes[13:26]


def right(both):
    """Nothing is broken: READs that are resumed, and an ACK whose MSN counts a READ that comes after its PSN."""
    whole_write = frames(both, 172, 174, 175, 177, 178, 180, 182, 184, 185, 200)
    return renumbered(whole_write + both[201:])


def main():
    loss, sizes, both = (
        read(FIXTURES / f"{name}.pcap") for name in ("vs_loss_requests", "vs_sizes", "vs_loss_both")
    )
    made = (
        counted_packets(sizes),
        acknowledged_over_a_gap(loss),
        repeated_something_else(loss),
        read_without_an_end(loss),
        refused_the_acknowledged(sizes),
    )
    for number, packets in enumerate(made, 1):
        write(HERE.parent / f"odd-{number}.pcap", packets)
    write(HERE.parent / "right.pcap", right(both))


if __name__ == "__main__":
    main()
