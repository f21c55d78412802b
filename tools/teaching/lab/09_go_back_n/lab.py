# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 9: how much more a NIC sends than its program, when packets get lost and it goes back N."""
import re

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

FIRST_PSN, MESSAGES, PACKETS = 100, 3, 16  # as in end.h and three.c
TIMEOUT_MS = 4.096e-3 * 2**16
# As in amplify.c: the first four connections have messages of so many packets, posted alone.
SIZES = (1, 4, 16, 32)
PIECES = 4  # the fifth one has 32 messages of one packet, posted at once
ALL = range(5)
# Each seed loses about as many packets in each case as the probability says; others scatter. README.md asks
# by how much.
SEED_OF_THREE = 4886069
SEEDS = {1: 1121, 5: 1737, 20: 94}
PAYLOAD = {1: 1024, 5: 1024, 20: 384}
# Where in its message a packet gets lost is up to the dice, too; a busy machine delays an ACK for longer than
# the timeout now and then.
NEAR = 0.2


def fault(percent, seed):
    return f"--fault loss={percent / 100:g},seed={seed},direction=tx"


def order(packets):
    """As the client's NIC sent them."""
    return sorted(packets, key=lambda packet: packet.frames["client"])


# --- Three messages ---


def message(seen, number):
    """All packets of message 1, 2 or 3 that were sent, in order."""
    begin = FIRST_PSN + (number - 1) * PACKETS
    return order(packet for packet in seen.trace.requests("client") if begin <= packet.psn < begin + PACKETS)


def sent_again(seen, number):
    return len(message(seen, number)) - PACKETS


def lost(seen, number):
    """Places in the message, from 1, of the packets that got lost."""
    begin = FIRST_PSN + (number - 1) * PACKETS
    return [packet.psn - begin + 1 for packet in message(seen, number) if packet.is_lost]


def naks(seen):
    """How many there were for each message."""
    places = [(packet.psn - FIRST_PSN) // PACKETS for packet in seen.trace.sent("server", "nak")]
    return [places.count(number) for number in range(MESSAGES)]


def waits(seen, number):
    """Ms from each lost packet of the message to its repetition."""
    packets = message(seen, number)
    result = []
    for index, packet in enumerate(packets):
        if packet.is_lost:
            again = next(other for other in packets[index + 1 :] if other.psn == packet.psn)
            result.append((again.time - packet.time) / 1e6)
    return result


def waited_for_timeout(seen):
    """The letter: the messages with packets that were repeated because of the ACK timeout."""
    numbers = [
        number
        for number in (1, 2, 3)
        if any(
            "local_ack_timeout_err" in packet.comments.get("client", "") for packet in message(seen, number)
        )
    ]
    return {(2,): "a", (2, 3): "b", (1, 2, 3): "c"}[tuple(numbers)]


def probe_is_answered_first(seen, number):
    """Whether an ACK came between the packet that the ACK timeout made the client send and the next one."""
    packets = message(seen, number)
    first = next(
        index
        for index, packet in enumerate(packets)
        if "local_ack_timeout_err" in packet.comments.get("client", "")
    )
    probe, following = (packet.frames["client"] for packet in packets[first : first + 2])
    return any(
        probe < ack.frames["client"] < following
        for ack in seen.trace.sent("server", "ack")
        if "client" in ack.frames
    )


def wait_fits(ms):
    """A timer never fires early; how late it fires depends on the processor."""
    return TIMEOUT_MS * 0.97 <= ms <= TIMEOUT_MS * 1.5 + 80


# --- The curve ---


def sent(seen, case):
    return order(packet for packet in seen.trace.requests("client") if packet.connection == case)


def amplification(seen, case):
    packets = sent(seen, case)
    return len(packets) / len({packet.psn for packet in packets})


def of_size(size):
    return lambda seen: round(amplification(seen, SIZES.index(size)), 3)


def in_order(seen, case):
    """(how many transmissions there were of packets that the server's NIC waited for, how many of them got
    lost). The NIC drops packets after a missing one anyway."""
    expected, transmissions, lost_ones = FIRST_PSN, 0, 0
    for packet in sent(seen, case):
        if packet.psn == expected:
            transmissions += 1
            lost_ones += packet.is_lost
            expected += not packet.is_lost
    return transmissions, lost_ones


def thrown(seen, cases):
    """The loss rate that the dice really threw."""
    transmissions, lost_ones = map(sum, zip(*(in_order(seen, case) for case in cases)))
    return lost_ones / transmissions


def losses(seen):
    """How often a packet got lost before it arrived, on average over all cases."""
    rate = thrown(seen, ALL)
    return rate / (1 - rate)


def seconds_for_a_packet(seen, case):
    packets = sent(seen, case)
    return (packets[-1].time - packets[0].time) / 1e9 / len({packet.psn for packet in packets})


def slowest(seen):
    """The letter: which size took the longest for each packet of payload."""
    times = [seconds_for_a_packet(seen, case) for case in range(len(SIZES))]
    return "abcd"[times.index(max(times))]


def rank(value):
    return "a" if value < 1.1 else "b" if value < 1.5 else "c" if value < 2.5 else "d"


def nearest(seen):
    """The letter: which size 32 messages of one packet, posted at once, behave like."""
    pieces = amplification(seen, PIECES)
    return (
        "a"
        if abs(pieces - amplification(seen, 0)) < abs(pieces - amplification(seen, SIZES.index(32)))
        else "b"
    )


# --- What formula.py says ---


def said(seen, rate):
    """(losses, amplification by size) for this loss rate: between two lines of the table that formula.py
    prints."""
    rows = [
        [float(word) for word in line.split()]
        for line in seen.output("formula").splitlines()
        if re.match(r"\d\.\d\d ", line)
    ]
    above = next(row for row in rows if row[0] > rate)
    below = rows[rows.index(above) - 1]
    part = (rate - below[0]) / (above[0] - below[0])
    of_losses, *curve = (low + part * (high - low) for low, high in zip(below[1:], above[1:], strict=True))
    return of_losses, dict(zip(SIZES, curve, strict=True))


def said_costs(seen):
    return [int(cost) for cost in re.findall(r"is lost, packets sent again: (-?\d+)", seen.output("formula"))]


def losses_fit(seen):
    return abs(said(seen, thrown(seen, ALL))[0] / losses(seen) - 1) <= 0.03


def wrong_losses(seen):
    rate = thrown(seen, ALL)
    return f"formula.py, GAP 1: the dice threw a loss of {100 * rate:.1f} %. For that it says that a packet is lost {said(seen, rate)[0]:.3f} times, on average, before it arrives; in the recording it was {losses(seen):.3f} times."


def wrong_costs(seen):
    for number, position, said_cost in zip((1, 2), (6, 16), said_costs(seen)):
        if said_cost != sent_again(seen, number):
            return f"formula.py, GAP 2: packet {position} of 16 was lost, and {sent_again(seen, number)} packets were sent again; your cost() says {said_cost}."
    return "formula.py, GAP 2: cost() should say what the packets show."


def forecast(seen, size):
    """With the loss rate that the dice threw for the messages of this size."""
    return said(seen, thrown(seen, [SIZES.index(size)]))[1][size]


def is_near(seen, size):
    return abs(forecast(seen, size) / of_size(size)(seen) - 1) <= NEAR


def wrong_curve(seen):
    size = next(size for size in SIZES if not is_near(seen, size))
    rate = thrown(seen, [SIZES.index(size)])
    return f"formula.py, GAP 3: of messages of {size} packets the dice lost {100 * rate:.1f} %. For that it says {forecast(seen, size):.2f} packets for each packet of payload; the client sent {of_size(size)(seen):.2f}."


def cost_of_single(seen):
    """Packets sent again for each lost message of one packet. An ACK that is late on a busy machine repeats
    one, too."""
    packets = sent(seen, 0)
    return round(
        (len(packets) - len({packet.psn for packet in packets})) / sum(packet.is_lost for packet in packets)
    )


def wrong_single(seen):
    return f"formula.py, GAP 2: the only packet of a message was lost, and {cost_of_single(seen)} packet was sent again; your cost() says {said_costs(seen)[2]}."


FORMULA_FITS = (
    Expect(
        "with the loss rate that the dice really threw, a packet gets lost as often before it arrives as your formula says.",
        losses_fit,
        wrong_losses,
    ),
    Expect(
        "with that rate, the packets for each packet of payload are as your formula says, within 20 %, for all four sizes.",
        lambda seen: all(is_near(seen, size) for size in SIZES),
        wrong_curve,
    ),
)


def table(seen):
    """What curve.py printed for 20 %: the measured values."""
    line = next(line for line in seen.output("curve").splitlines() if line.startswith("0.2 "))
    return [float(value) for value in re.findall(r"([\d.]+) \(", line)]


def run(percent, forecasts):
    return (
        *pair("amplify", str(PAYLOAD[percent]), client_nic=fault(percent, SEEDS[percent])),
        *([Program("formula", "python3 formula.py", is_plain=True)] if forecasts else []),
    )


LAB = Lab(
    title="Go-back-N",
    minutes=55,
    understand=(
        "what one lost packet costs: with a NAK, and without one",
        "how many packets a NIC sends for each packet of payload, for several loss rates and message sizes: by formula, and measured",
        "why a loss in a large message costs many packets, and a loss in a small one much time",
    ),
    picture="three",
    steps=(
        Say(
            "Back to the gap",
            """
            A responder takes packets only in the order of their PSNs. When one is missing, it answers the next one with a NAK that names the
            missing PSN. Until the missing packet comes, it drops all others, without another answer (fact 22 of transport/FACTS.md). The
            requester goes back to that PSN, and sends everything from there again: go-back-N.

            If no answer comes at all, the requester goes back after the ACK timeout (fact 36), to the oldest packet that was not acknowledged. It
            does not know what has arrived, so urnic sends that packet alone, and requests an ACK in it. The ACK says how far the responder is
            (fact 25), and urnic sends the rest from there. So a stopped peer, or a full queue in between, gets one packet after each timeout,
            not a whole window. (rdma_rxe sends everything again at once, fact 36. It is not known in detail what cards do.)

            So one lost packet makes a NIC send many. How many, you will predict, measure, and put into a formula.
            """,
        ),
        Experiment(
            name="three",
            title="Three messages",
            text="""
            The client writes three messages of 16 packets each, one after the other. Only the last packet of a message requests an ACK. The
            fault injector of the client's NIC loses four packets; its seed decides which:

              first message    its 6th packet
              second message   its 16th packet, the last one
              third message    its 6th packet, and the first repetition of that one

            All other packets arrive, and all answers. Each message has left as a whole when a NAK comes.
            """,
            programs=pair("three", client_nic=fault(4, SEED_OF_THREE)),
            questions=(
                Question(
                    "How many packets does the client's NIC send for the 16 of the first message, in all?",
                    truth=lambda seen: len(message(seen, 1)),
                    expected=27,
                    why="16, and then packets 6 to 16 again: 11. The NAK names the PSN of packet 6, and acknowledges by that the five before it (fact 22).",
                    unit="packets",
                ),
                Question(
                    "And for the second message, of which only the last packet got lost?",
                    truth=lambda seen: len(message(seen, 2)),
                    expected=18,
                    why="18: packet 1 again, and packet 16. No packet follows the last one and shows the gap, so there is no NAK. After the timeout the requester does not know what has arrived, because only the last packet requested an ACK. So it sends the first packet. This is a duplicate, and its ACK names packet 15, the last one that arrived. Only packet 16 is left to send.",
                    unit="packets",
                ),
                Question(
                    "Which messages wait for the ACK timeout?",
                    choices=("the second", "the second and the third", "all three"),
                    truth=waited_for_timeout,
                    expected="b",
                    why="The second, because no NAK came. And the third: the responder sends one NAK for a gap, and no second one when the repetition is lost, too. After the timeout the client sends packet 6 alone, and 7 to 16 after its ACK.",
                ),
                Question(
                    "The ACK timeout is 4.096 us x 2^16. How many milliseconds pass in the second message from the lost packet to its repetition?",
                    truth=lambda seen: round(waits(seen, 2)[0], 1),
                    expected=wait_fits,
                    tolerance=0.15,
                    why="At least 268 ms, and a round trip more, in which packet 1 asks how far the responder is. In the first message it was a millisecond or less, on an idle machine: the time for a NAK.",
                    unit="ms",
                ),
            ),
            expects=(
                Expect(
                    "four packets got lost: 6; 16; 6 and 6 again.",
                    lambda seen: [lost(seen, number) for number in (1, 2, 3)] == [[6], [16], [6, 6]],
                    lambda seen: f"Other packets got lost: {[lost(seen, number) for number in (1, 2, 3)]}. Is the machine very busy? Try again.",
                ),
                Expect(
                    "the server sent one NAK for the first message, none for the second, and one for the third.",
                    lambda seen: naks(seen) == [1, 0, 1],
                    lambda seen: f"The server sent {naks(seen)} NAKs.",
                ),
                Expect(
                    "after each timeout the client sent one packet, and others when its ACK had come.",
                    lambda seen: all(probe_is_answered_first(seen, number) for number in (2, 3)),
                    "After a timeout the packets of a message should come in two steps: one, its ACK, and then the rest.",
                ),
                Expect(
                    "the third message was sent from its 6th packet on three times: 16, 11, and 1 and 10 packets.",
                    lambda seen: len(message(seen, 3)) == 38,
                    lambda seen: f"{len(message(seen, 3))} packets of the third message were sent.",
                ),
                Expect(
                    "the loss with a NAK was repaired in less than half of the timeout.",
                    lambda seen: waits(seen, 1)[0] < TIMEOUT_MS / 2,
                    "The NAK took very long. Is the machine very busy? Try again.",
                ),
            ),
        ),
        Experiment(
            name="loss-5",
            title="Five packets in a hundred",
            text="""
            Now each packet of the client gets lost with a probability of 5 %. amplify writes messages of 1, 4, 16 and 32 packets, each when the one
            before is complete. Last it posts 32 messages of one packet at once, and waits for all of them.
            """,
            programs=run(5, forecasts=False),
            questions=(
                Question(
                    "Messages of one packet: how many packets does the client's NIC send for each packet of payload?",
                    truth=of_size(1),
                    expected=lambda truth: 1 <= truth < 1.15,
                    tolerance=0.03,
                    why="About 1.05: only what is lost is sent again, 1 / (1 - 0.05).",
                    unit="packets",
                ),
                Question(
                    "Messages of 32 packets: how many for each packet of payload?",
                    choices=("about 1.05", "about 1.3", "about 1.9", "more than 2.5"),
                    truth=lambda seen: rank(of_size(32)(seen)),
                    expected="c",
                    why="Nearly two. 5 % of the packets get lost, and half of what the NIC sends is repetition: each loss takes the rest of the message with it.",
                ),
                Question(
                    "32 messages of one packet, posted at once: do they behave like",
                    choices=("one message of one packet", "one message of 32 packets"),
                    truth=nearest,
                    expected="b",
                    why="Like a large message. The number of packets on their way after the lost packet counts. It does not matter to which message they belong: PSNs count on over all messages.",
                ),
            ),
            expects=(
                Expect(
                    "about one packet in twenty got lost.",
                    lambda seen: 0.03
                    < len([packet for packet in seen.trace.requests("client") if packet.is_lost])
                    / len(seen.trace.requests("client"))
                    < 0.07,
                    "Another share of packets got lost: is 'loss=0.05' in the command?",
                ),
                Expect(
                    "none of the server's answers was lost.",
                    lambda seen: not any(packet.is_lost for packet in seen.trace.sent("server")),
                    "Answers got lost: the faults should be direction=tx, at the client only.",
                ),
            ),
        ),
        Exercise(
            "The formula",
            "formula.py",
            """
            formula.py computes the amplification, packets on the wire for each packet of payload. Three functions are not finished.

              GAP 1, losses(): how often a packet gets lost, on average, before it arrives. Only losses of the packet that the responder waits
                     for count: it drops packets after a gap anyway.
              GAP 2, cost(): how many packets are sent again when packet k of a message is lost. 'Three messages' showed it for packets 6
                     and 16 of 16. And in a message of one packet?
              GAP 3, amplification(): put both together.

            The comment at the beginning says what is assumed. 'python3 formula.py' prints the results for some loss rates.
            """,
        ),
        Experiment(
            name="costs",
            title="What one loss costs",
            text="Your cost(), compared with what was recorded of the first and the second of the three messages.",
            programs=(Program("formula", "python3 formula.py", is_plain=True),),
            recordings_of="three",
            hint="Edit formula.py.",
            expects=(
                Expect(
                    "a lost packet 6 of 16, and a lost packet 16 of 16, cost as many packets as your cost() says.",
                    lambda seen: said_costs(seen)[:2] == [sent_again(seen, 1), sent_again(seen, 2)],
                    wrong_costs,
                ),
            ),
        ),
        Experiment(
            name="loss-20",
            title="Twenty packets in a hundred",
            text="The same as before with a loss of 20 %. formula.py predicts the result; look at the prediction first: python3 formula.py",
            programs=run(20, forecasts=True),
            hint="Edit formula.py.",
            questions=(
                Question(
                    "Messages of 32 packets: how many packets for each packet of payload?",
                    truth=of_size(32),
                    expected=lambda truth: 3.5 < truth < 7,
                    tolerance=0.15,
                    why="About five. The formula says 5.13; the dice decide how near the measurement comes.",
                    unit="packets",
                ),
                Question(
                    "Which messages take the longest, for each packet of payload?",
                    choices=("messages of 1 packet", "of 4 packets", "of 16 packets", "of 32 packets"),
                    truth=slowest,
                    expected="a",
                    why="Messages of one packet, though they send the fewest packets. Each packet is the last of its message, so there is never a NAK, and each loss waits for the ACK timeout, 34 ms.",
                ),
            ),
            expects=(
                Expect(
                    "a lost message of one packet costs as many packets as your cost() says.",
                    lambda seen: said_costs(seen)[2] == cost_of_single(seen),
                    wrong_single,
                ),
                *FORMULA_FITS,
            ),
            after="""
            So there are two costs. Large messages, or many at once, cost packets: after each loss the NIC sends all later packets again. Small
            messages, one at a time, cost time: if no packet follows the lost one, only the timeout shows the loss.
            """,
        ),
        Experiment(
            name="loss-1",
            title="One packet in a hundred",
            text="And with 1 %.",
            programs=run(1, forecasts=True),
            hint="Edit formula.py.",
            questions=(
                Question(
                    "Messages of 32 packets: which share of all packets that the client's NIC sends is repetition?",
                    truth=lambda seen: round(100 * (1 - 1 / of_size(32)(seen)), 1),
                    expected=lambda truth: 4 < truth < 30,
                    tolerance=0.35,
                    why="About 14 %: one lost packet in a hundred takes fourteen in a hundred of the wire.",
                    unit="%",
                ),
            ),
            expects=FORMULA_FITS[1:],
        ),
        Experiment(
            name="curve",
            title="The curve",
            text="curve.py counts the packets in your recordings, and prints them beside your formula. It draws curve.svg, which a browser shows.",
            programs=(Program("curve", "python3 curve.py", is_plain=True),),
            recordings_of="loss-20",
            hint="It needs the recordings loss-1, loss-5 and loss-20.",
            expects=(
                Expect(
                    "the table has for 20 % what the packets say.",
                    lambda seen: all(
                        abs(value - of_size(size)(seen)) < 0.006
                        for size, value in zip(SIZES, table(seen), strict=True)
                    ),
                    "curve.py was changed: its table says something else than the packets.",
                ),
                Expect(
                    "the picture is drawn.",
                    lambda seen: (seen.folder / "curve.svg").stat().st_size > 0,
                    "curve.py should write curve.svg.",
                ),
            ),
            after="""
            The dashed line is for a NIC that repeats only the lost packets: selective repeat. (Messages of one packet lie on it.) Some NICs do this
            among themselves (fact 53). It needs a receiver that keeps packets that come too early; RoCE networks have instead tried not to lose
            packets at all.
            """,
        ),
    ),
)
