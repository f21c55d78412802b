#!/usr/bin/env python3
"""A verifier for responders: python3 verify.py FILE. Ends with 1 when the responder breaks a rule, with 0
when it does not.

Assumed: the capture has one reliable connection from its beginning; one side sends requests, the other one
answers; the capture has all packets that came to its place; no packet overtakes another. Requests and
answers may be lost before they come to that place, or after it."""
import sys

from roce import distance, read


class Sent:
    """What the requester has sent so far, as the capture has it."""

    def __init__(self):
        self.first = None  # PSN
        self.psns = set()
        self.ends = set()  # the last PSN of each message

    def note(self, request):
        self.first = request.psn if self.first is None else self.first
        self.psns.update(request.psns())
        if request.ends_message:
            self.ends.add(request.psns()[-1])

    def messages_up_to(self, psn):
        """How many messages end with this PSN or before it."""
        return len([end for end in self.ends if distance(end, psn) <= 0])

    def has_all_up_to(self, psn):
        """Whether each PSN from the first one up to this one was sent."""
        return all((self.first + i) & 0xFFFFFF in self.psns for i in range(distance(psn, self.first) + 1))


def acknowledged_by(answer):
    """The newest PSN that this answer acknowledges. A NAK acknowledges what comes before the PSN that it
    names."""
    return answer.psn if answer.syndrome is None or answer.syndrome >> 5 == 0 else (answer.psn - 1) & 0xFFFFFF


def acknowledges_too_much(sent, answer):
    """Rule 1: an answer acknowledges only packets that the responder has. It can only have packets that were
    sent."""
    return not sent.has_all_up_to(acknowledged_by(answer))


def counts_wrong(sent, answer):
    """Rule 2: the MSN of an ACK counts the messages that are complete. The messages up to its PSN
    certainly are. Later messages may be complete, too, but only if they were sent as a whole."""
    return not sent.messages_up_to(answer.psn) <= answer.msn <= len(sent.ends)


def takes_back(newest, nak):
    """Rule 3: a packet that was acknowledged stays so. `newest` is the newest PSN that was acknowledged
    before this NAK, or None."""
    return newest is not None and distance(nak.psn, newest) <= 0


def verify(packets):
    """(packet, what is wrong with it), or None."""
    sent, newest = Sent(), None
    for packet in packets:
        if packet.is_request:
            sent.note(packet)
            continue
        if acknowledges_too_much(sent, packet):
            return packet, "acknowledges what the responder cannot have"
        if packet.is_ack and counts_wrong(sent, packet):
            return packet, f"MSN {packet.msn} is not the number of complete messages"
        if packet.is_sequence_nak and takes_back(newest, packet):
            return packet, "refuses what was acknowledged"
        psn = acknowledged_by(packet)
        newest = psn if newest is None or distance(psn, newest) > 0 else newest
    return None


def main():
    found = verify(read(sys.argv[1]))
    if found is None:
        print("no rule is broken")
        return 0
    packet, what = found
    print(f"frame {packet.number} {what} (PSN {packet.psn:06x})")
    return 1


if __name__ == "__main__":
    sys.exit(main())
