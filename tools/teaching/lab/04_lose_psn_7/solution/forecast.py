#!/usr/bin/env python3
"""Foretells which packets are on the wire: python3 forecast.py EXPERIMENT

PSNs count from 0, the first packet of the connection. A requester remembers only one thing: the oldest PSN
that is not acknowledged."""
import sys

LOST = 7  # the PSN


def first_transmission(packets):
    """A message of so many packets, as it is sent when all is well."""
    return list(range(packets))


def after_a_nak(packets):
    """PSNs that the client sends when its packet LOST is lost, and more packets of the message follow it.

    The responder sees a PSN that it does not expect. It sends a NAK with the PSN that it expects."""
    sent = first_transmission(packets)
    # From the PSN of the NAK on: the responder has dropped all packets after the gap.
    sent += range(LOST, packets)
    return sent


def after_a_timeout(packets, expected):
    """PSNs that the client sends when the LAST packet of a message is lost, or the only ACK for it.

    No packet follows it, so the responder sees no gap and sends no NAK. No ACK has come at all. After the
    timeout the client sends one packet, and requests an ACK in it. The responder expects the PSN
    `expected`, and its ACK says so. `expected` is `packets` when it has all."""
    sent = first_transmission(packets)
    # The oldest packet that is not acknowledged is the first one; its ACK says which packets are missing, if
    # any.
    sent += [0, *range(expected, packets)]
    return sent


def read_requests(packets):
    """(PSN, number of packets in the response) of each READ request that the client sends, when the
    response with PSN LOST is lost.

    The responses have the PSNs of the READ: the READ takes one PSN for each packet that will come."""
    requests = [(0, packets)]
    requests.append((LOST, packets - LOST))  # the rest: a later PSN, a later address, a shorter length
    return requests


FORECASTS = {
    "nak": lambda: after_a_nak(12),
    "last": lambda: after_a_timeout(8, LOST),
    "ack": lambda: after_a_timeout(8, 8),
    "read": lambda: read_requests(12),
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in FORECASTS:
        sys.exit(f"usage: forecast.py {'|'.join(FORECASTS)}")
    print("foretold:", FORECASTS[sys.argv[1]]())
