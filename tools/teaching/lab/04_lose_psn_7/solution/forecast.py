#!/usr/bin/env python3
"""Foretells which packets are on the wire: python3 forecast.py EXPERIMENT

PSNs count from 0, the first packet of the connection. What a requester remembers is little: which PSN is the oldest one that is not acknowledged."""
import sys

LOST = 7  # the PSN


def first_transmission(packets):
    """A message of so many packets, as it is sent when all is well."""
    return list(range(packets))


def after_a_nak(packets):
    """PSNs that the client sends when its packet LOST is lost, of a message that has more packets behind it.

    The responder sees a PSN that it does not expect, and says so by a NAK with the PSN that it does expect."""
    sent = first_transmission(packets)
    sent += range(LOST, packets)  # from the PSN of the NAK on: the responder has dropped all behind the gap
    return sent


def after_a_timeout(packets, expected):
    """PSNs that the client sends when the LAST packet of a message is lost, or the only ACK for it.

    No packet comes behind it, so the responder has nothing to complain of. No ACK has come at all. After the timeout the client sends
    one packet, and asks for an ACK in it. The responder expects the PSN `expected`, and its ACK says so. `expected` is `packets` when it has all."""
    sent = first_transmission(packets)
    sent += [0, *range(expected, packets)]  # the oldest that is not acknowledged: the first one; its ACK says what is missing, if anything is
    return sent


def read_requests(packets):
    """(PSN, number of packets asked for) of each READ request that the client sends, when the response with PSN LOST is lost.

    The responses have the PSNs of the READ: it takes one for each packet that will come."""
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
