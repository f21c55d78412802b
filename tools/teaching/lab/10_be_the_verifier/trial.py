#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Runs verify.py on captures with right responders and with broken ones, and says what it makes of each:
python3 trial.py

Eight of the captures are made here: most from your own packets, changed as a broken NIC or a lossy network
would have it."""
import contextlib
import io
import pathlib
import sys

import verify
from roce import distance, read
from spoil import changed, write

GIVEN = (
    "traffic-client.pcapng",
    "traffic-server.pcapng",
    "right.pcap",
    "odd-1.pcap",
    "odd-2.pcap",
    "odd-3.pcap",
    "odd-5.pcap",
)
SEQUENCE_NAK = 0x60


def places_of_acks(packets):
    return [place for place, packet in enumerate(packets) if packet.is_ack]


def acknowledges_what_was_not_sent(packets):
    place = places_of_acks(packets)[-1]
    sent = [psn for packet in packets[:place] if packet.is_request for psn in packet.psns()]
    beyond = max(distance(psn, packets[0].psn) for psn in sent) + 1
    return packets[:place] + [changed(packets[place], psn=packets[0].psn + beyond)]


def counts_packets(packets):
    first = packets[0].psn
    return [
        packet if packet.msn is None else changed(packet, msn=distance(packet.psn, first) + 1)
        for packet in packets
    ]


def forgets_a_message(packets):
    """The last SEND that was acknowledged by an ACK is not counted."""
    sends = {packet.psn for packet in packets if packet.name in ("SEND Last", "SEND Only")}
    last = [place for place in places_of_acks(packets) if packets[place].psn in sends][-1]
    return packets[:last] + [
        packet if packet.msn is None else changed(packet, msn=packet.msn - 1) for packet in packets[last:]
    ]


def acknowledges_over_a_gap(packets):
    """A packet of the last WRITE that has a Middle is missing, and no answer says so."""
    missing = [packet for packet in packets if packet.name == "WRITE Middle"][-1].psn
    return [
        packet
        for packet in packets
        if not (packet.is_request and packet.psn == missing)
        and not (packet.is_sequence_nak and packet.psn == missing)
    ]


def loses_acks(packets):
    """Right: every second ACK got lost on its way."""
    lost = places_of_acks(packets)[::2]
    return [packet for place, packet in enumerate(packets) if place not in lost]


def stops_early(packets):
    """Right: recorded up to the middle only."""
    return packets[: len(packets) // 2]


def passes_zero(packets):
    """Right: other PSNs, which go beyond 0xffffff."""
    return [changed(packet, psn=packet.psn - packets[0].psn - 12) for packet in packets]


def refuses_what_it_acknowledged(packets):
    """A NAK after the last ACK, for a packet that was acknowledged long ago: its PSN is a large number, and
    the PSNs after 0 are small."""
    packets = passes_zero(packets)
    place = places_of_acks(packets)[-1]
    return (
        packets[: place + 1]
        + [changed(packets[place], psn=packets[0].psn + 2, syndrome=SEQUENCE_NAK)]
        + packets[place + 1 :]
    )


TRIALS = (
    ("traffic-client.pcapng", counts_packets),
    ("traffic-client.pcapng", loses_acks),
    ("traffic-client.pcapng", acknowledges_what_was_not_sent),
    ("traffic-client.pcapng", stops_early),
    ("right.pcap", refuses_what_it_acknowledged),
    ("traffic-client.pcapng", forgets_a_message),
    ("right.pcap", passes_zero),
    ("traffic-client.pcapng", acknowledges_over_a_gap),
)


def judge(name):
    """What `python3 verify.py NAME` ends with, and says."""
    said = io.StringIO()
    sys.argv = ["verify.py", name]
    try:
        with contextlib.redirect_stdout(said):
            return verify.main(), said.getvalue().strip()
    except Exception as error:  # whatever the student's lines do
        return 1, f"{type(error).__name__}: {error}"


def main():
    made = []
    for number, (source, change) in enumerate(TRIALS, 1):
        made.append(f"trial-{number}.pcap")
        write(made[-1], change(read(source)))
    for name in (*GIVEN, *made):
        code, words = judge(name)
        print(f"{name}: exit code {code}, {words}")


if __name__ == "__main__":
    if not pathlib.Path("traffic-client.pcapng").exists():
        sys.exit("record traffic-client.pcapng first")
    main()
