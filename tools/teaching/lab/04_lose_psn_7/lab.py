# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 4: one packet is lost, always with PSN 7; which packets follow from that?"""
import ast
import re

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

FIRST_PSN, LOST = 100, 7  # as in lose.c and forecast.py
MTU = 1024
WRITE, LAST, READ, ADDS = 12, 8, 12, 10  # packets of the experiments
ACK_TIMEOUT_MS = 268  # code 16


def experiment(name, title, text, arguments, fault, forecasts=False, **more):
    """A client that suffers from one fault, a server, and what the student's forecast.py says of it."""
    ends = pair("lose", arguments, client_nic=f"--fault {fault}")
    forecast = (Program("forecast", f"python3 forecast.py {name}", is_plain=True),) if forecasts else ()
    return Experiment(
        name=name,
        title=title,
        text=text,
        programs=(*ends, *forecast),
        hint="Edit forecast.py." if forecasts else "Did you change lose.c?",
        **more,
    )


def said_by_forecast(seen):
    words = re.search(r"foretold: (.*)", seen.output("forecast"))
    return words[1] if words else seen.output("forecast").strip()


def foretold(seen):
    """What forecast.py says; nothing where that is no list of numbers, or of pairs of them."""
    try:
        items = ast.literal_eval(said_by_forecast(seen))
    except (SyntaxError, ValueError):
        return None
    if not isinstance(items, list):
        return None
    return [tuple(item) if isinstance(item, list) else item for item in items]


def psns(packets):
    return [packet.psn - FIRST_PSN for packet in packets]


def on_the_wire(seen):
    """PSNs of the client's requests, each time that one was sent."""
    return psns(seen.trace.requests("client"))


def read_requests(seen):
    """(PSN, packets asked for) of each READ request."""
    return [
        (packet.psn - FIRST_PSN, packet.field("RETH.DMA length") // MTU)
        for packet in seen.trace.requests("client")
    ]


def is_foretold(truth):
    return lambda seen: foretold(seen) == truth(seen)


def wrong_forecast(gap, truth, unit="packets"):
    """Says where the forecast leaves the truth, and leaves the rest to the student."""

    def complaint(seen):
        if foretold(seen) is None:
            return f"forecast.py, GAP {gap}: it prints {said_by_forecast(seen) or 'nothing'}, which is not a list of numbers. '+=' adds the numbers of a range to a list."
        right, own = truth(seen), foretold(seen)
        same = next(
            (at for at, (one, other) in enumerate(zip(right, own)) if one != other), min(len(right), len(own))
        )
        begin = f"forecast.py, GAP {gap}: it foretells {own}. The first {same} are right; "
        if same == len(right):
            return begin + f"the client sent no {unit} after those."
        if same == len(own):
            return begin + f"but the client sent more {unit}."
        return begin + "the next one differs from what the client sent."

    return complaint


def was_hit(seen):
    """The program's end says which packet the fault hit."""
    return re.search(r"urnic: fault \S+ hit 1 of ", seen.output("client")) is not None


HIT = Expect(
    "the fault hit one packet, and no other was lost.",
    was_hit,
    lambda seen: f"The fault should hit one packet. The client said: {seen.output('client').strip()}",
)


def timeouts(seen):
    return len(seen.trace.told("ack_timeout", "client"))


def naks(seen):
    return seen.trace.sent("server", "nak")


def recovery_ms(seen):
    """From the first transmission of the oldest packet that came again to the repetition."""
    again = next(packet for packet in seen.trace.requests("client") if packet.is_repeated)
    first = next(packet for packet in seen.trace.requests("client") if packet.psn == again.psn)
    return (again.times["client"] - first.times["client"]) / 1e6


def completions_apart_ms(seen):
    first, second = (note.time for note in seen.trace.completions("client", "send"))
    return (second - first) / 1e6


def originals(seen):
    """What the number was before each addition, as the client's program got it."""
    words = re.search(r"the number was ([\d ]+)", seen.output("client"))
    return [int(word) for word in words[1].split()] if words else []


def answers_of_atomics(seen):
    """{PSN: values} of the answers that the server's NIC sent."""
    found = {}
    for packet in seen.trace.sent("server"):
        if packet.label.startswith("ATOMIC"):
            found.setdefault(packet.psn - FIRST_PSN, []).append(packet.field("AtomicAckETH.Original data"))
    return found


def additions(seen):
    return int(re.search(r"the number is (\d+)", seen.output("server"))[1])


def answers_with_the_lost_psn(seen):
    return answers_of_atomics(seen).get(LOST, [])


def repeated(seen):
    """Packets with data, or requests, that the client sent again."""
    return len([packet for packet in seen.trace.requests("client") if packet.is_repeated])


LAB = Lab(
    title="Lose exactly PSN 7",
    minutes=50,
    understand=(
        "how a requester notices a loss: by a NAK at once, by a gap in the answers, or by its timer",
        "what go-back-N sends again after a NAK, and what after a timeout; why the last packet of a message is the worst one to lose",
        "why a lost ACK often costs nothing, and how an atomic is carried out exactly once",
    ),
    picture="nak",
    steps=(
        Say(
            "One packet",
            """
            'urnic run --fault' can lose one certain packet: drop:kind=request:psn=7 loses the request with PSN 7, counted from the first PSN of
            the connection, once. When the client sends it again, it arrives. When the program ends, it says which packet was lost.

            A reliable connection repairs the loss, and the programs do not notice. It costs time, and packets. A responder of this kind keeps
            nothing that comes after a gap: the requester goes back, and sends all of it again (go-back-N).

            For that the requester must know where the gap is. When no answer comes at all, it knows nothing: the packets may be lost, or the
            answer, or the peer may be stopped. So after an ACK timeout urnic asks first: it sends one packet, and the rest after the answer.
            Other NICs may send all again at once: rdma_rxe does (fact 36). It is not known in detail what cards do.
            """,
        ),
        Exercise(
            "Foretell the packets",
            "forecast.py",
            """
            forecast.py has three gaps. Each adds packets to those that the client sends when nothing is lost: after a NAK (gap 1), after the
            ACK timeout (gap 2), and when one packet of the answer to a READ is missing (gap 3). Draw the ladder on paper first.

            Gap 2 is used twice: when the last packet is lost, and when only the ACK is lost. The client cannot tell the two apart until the answer
            to its one packet comes. The ACK of a duplicate says how far the responder is, not which packet it answers (fact 25).
            """,
        ),
        experiment(
            "nak",
            "A request is lost in the middle",
            "The client writes 12 packets, PSN 0 to 11. PSN 7 is lost.",
            f"write {WRITE}",
            f"drop:kind=request:psn={LOST}",
            forecasts=True,
            questions=(
                Question(
                    "How many packets with data does the client send in all?",
                    truth=lambda seen: len(on_the_wire(seen)),
                    expected=WRITE + WRITE - LOST,
                    why="12, and then 7 to 11 again: 17. PSN 8 to 11 had arrived; the responder dropped them, as it expected 7.",
                    unit="packets",
                ),
                Question(
                    "Four packets came after the gap. How many NAKs does the server's NIC send?",
                    truth=lambda seen: len(naks(seen)),
                    expected=1,
                    why="One, with PSN 7, the one that it expects. A second NAK for the same gap would make the requester go back twice, so a responder sends none until the gap is closed (fact 22).",
                    unit="NAKs",
                ),
            ),
            expects=(
                HIT,
                Expect(
                    "the client's packets are those that your forecast says.",
                    is_foretold(on_the_wire),
                    wrong_forecast(1, on_the_wire),
                ),
                Expect(
                    "the NAK is a PSN sequence error, has PSN 7, and no timer ran out.",
                    lambda seen: psns(naks(seen)) == [LOST]
                    and naks(seen)[0].field("AETH.Syndrome") == 0x60
                    and timeouts(seen) == 0,
                    "There should be one NAK with PSN 7 and syndrome 0x60, and no ACK timeout.",
                ),
            ),
            after="The NAK says two things: 7 is missing, and all before it has arrived. So it acknowledges PSN 0 to 6, too.",
        ),
        experiment(
            "last",
            "The last one is lost",
            "The client writes 8 packets, PSN 0 to 7. PSN 7 is lost: the same packet, but none follows it. The ACK timeout has code 16.",
            f"write {LAST}",
            f"drop:kind=request:psn={LOST}",
            forecasts=True,
            questions=(
                Question(
                    "How many packets with data does the client send in all?",
                    truth=lambda seen: len(on_the_wire(seen)),
                    expected=LAST + 2,
                    why="10. Only the last packet requests an ACK, and it was lost. So no answer has come, and the oldest packet without an acknowledgement is PSN 0. The client sends it alone, with AckReq. The responder has it already; its ACK names PSN 6, the last one that has arrived (fact 25). So PSN 7 follows, and nothing else.",
                    unit="packets",
                ),
                Question(
                    "After about how many milliseconds does the client send again?",
                    truth=recovery_ms,
                    expected=lambda truth: truth >= 0.97 * ACK_TIMEOUT_MS,
                    tolerance=0.25,
                    why="The ACK timeout, for PSN 0: 4.096 us x 2^16 = 268 ms. In the experiment before, the NAK came after one round trip. (It may look a little shorter: the timer starts a moment before the packet is recorded.)",
                    unit="ms",
                ),
            ),
            expects=(
                HIT,
                Expect(
                    "the client's packets are those that your forecast says.",
                    is_foretold(on_the_wire),
                    wrong_forecast(2, on_the_wire),
                ),
                Expect(
                    "the ACK of the packet that goes first says that all before PSN 7 has arrived.",
                    lambda seen: psns(seen.trace.sent("server", "ack")) == [LOST - 1, LOST],
                    "There should be two ACKs, with PSN 6 and with PSN 7.",
                ),
                Expect(
                    "no NAK came, and one timer ran out.",
                    lambda seen: not naks(seen) and timeouts(seen) == 1,
                    "There should be no NAK and one ACK timeout.",
                ),
            ),
            after="""
            A lost tail is the worst loss: no packet follows that shows the gap. This is so for the last packet of a message on an idle connection,
            and for a message of one packet. It costs few packets, but a whole timeout.
            """,
        ),
        experiment(
            "ack",
            "The ACK is lost",
            "The client writes 8 packets again. All arrive; the ACK, which has PSN 7, is lost.",
            f"write {LAST}",
            f"drop:kind=ack:psn={LOST}",
            forecasts=True,
            questions=(
                Question(
                    "How many packets does the client send again?",
                    truth=repeated,
                    expected=1,
                    why="One: PSN 0, as before. This time its ACK names PSN 7, and nothing is left to send.",
                    unit="packets",
                ),
                Question(
                    "How often does the server's NIC carry the WRITE out?",
                    choices=(
                        "once: a packet that comes again is not written again",
                        "twice: the NIC writes the same bytes again",
                    ),
                    truth=lambda seen: "a"
                    if [packet.msn for packet in seen.trace.sent("server", "ack")] == [1, 1]
                    else "b",
                    expected="a",
                    why="Once. A packet with a PSN that was there before is a duplicate: the responder acknowledges it, and carries nothing out again. (urnic answers a burst of them with one or a few ACKs, rdma_rxe each with one: fact 25.) Each ACK says how many messages are done, its MSN: 1, also the second time.",
                ),
            ),
            expects=(
                HIT,
                Expect(
                    "the client's packets are those that your forecast says.",
                    is_foretold(on_the_wire),
                    wrong_forecast(2, on_the_wire),
                ),
                Expect(
                    "the server's NIC acknowledged PSN 7 twice.",
                    lambda seen: psns(seen.trace.sent("server", "ack")) == [LOST, LOST],
                    "There should be two ACKs with PSN 7.",
                ),
            ),
        ),
        experiment(
            "later-ack",
            "The ACK is lost, and another one follows",
            "The client writes 4 packets twice: PSN 0 to 3, and 20 ms later 4 to 7. The first ACK is lost.",
            "two 4",
            "drop:kind=ack:nth=1",
            questions=(
                Question(
                    "How many packets does the client send again?",
                    truth=repeated,
                    expected=0,
                    why="None. An ACK acknowledges its PSN and all before it (fact 21): the second one acknowledged both WRITEs. On a busy connection a lost ACK costs nothing.",
                    unit="packets",
                ),
                Question(
                    "In which order do the two WRITEs complete at the client?",
                    choices=(
                        "the first, 20 ms later the second",
                        "both at the same time, the first one first",
                        "the second one first",
                    ),
                    truth=lambda seen: "b"
                    if [note.id for note in seen.trace.completions("client", "send")] == [1, 2]
                    and completions_apart_ms(seen) < 10
                    else "a",
                    expected="b",
                    why="Both when the second ACK comes, in the order in which they were posted. The first one completed 20 ms late, though its data had arrived long before.",
                ),
            ),
            expects=(
                HIT,
                Expect(
                    "no timer ran out.", lambda seen: timeouts(seen) == 0, "There should be no ACK timeout."
                ),
            ),
        ),
        experiment(
            "read",
            "A piece of the answer is lost",
            "The client reads 12 packets. The READ takes the PSNs 0 to 11, one for each packet of its answer. The response with PSN 7 is lost.",
            f"read {READ}",
            f"drop:kind=read_response:psn={LOST}",
            forecasts=True,
            questions=(
                Question(
                    "How many READ requests does the client send?",
                    truth=lambda seen: len(read_requests(seen)),
                    expected=2,
                    why="Two: the second one requests only the rest, with PSN 7, an address that is 7 x 1024 bytes later, and 5 x 1024 bytes (fact 26).",
                    unit="requests",
                ),
                Question(
                    "How does the client notice the loss?",
                    choices=(
                        "the server's NIC sends a NAK",
                        "response 8 comes where 7 is expected",
                        "its timer runs out",
                    ),
                    truth=lambda seen: "a" if naks(seen) else "c" if timeouts(seen) else "b",
                    expected="b",
                    why='A gap in the answers is as good as a NAK: the requester notices by itself ("implied NAK").',
                ),
            ),
            expects=(
                HIT,
                Expect(
                    "the client's READ requests are those that your forecast says.",
                    is_foretold(read_requests),
                    wrong_forecast(3, read_requests, "requests"),
                ),
                Expect(
                    "the server's NIC sent 12 and 5 responses.",
                    lambda seen: psns(seen.trace.sent("server", "response"))
                    == [*range(READ), *range(LOST, READ)],
                    "There should be the responses 0 to 11, and 7 to 11 again.",
                ),
            ),
        ),
        experiment(
            "add",
            "The answer to an atomic is lost",
            "The client adds 1 to a number of the server, ten times: FETCH AND ADD with the PSNs 0 to 9. All requests arrive. At most four are under way at a time. The answer with PSN 7 is lost, so the request comes again.",
            f"add {ADDS}",
            f"drop:kind=atomic_response:psn={LOST}",
            questions=(
                Question(
                    "The number was 0. What is it at the end?",
                    truth=additions,
                    expected=ADDS,
                    why="10. An addition that is carried out twice would be wrong, so the responder keeps the answers of its last atomics, and gives the old answer to a request that it has carried out already (fact 27).",
                ),
                Question(
                    "Which requests does the client send again?",
                    choices=("PSN 7 only", "PSN 7, and the later ones that were under way", "all ten"),
                    truth=lambda seen: {1: "a", ADDS: "c"}.get(repeated(seen), "b"),
                    expected="b",
                    why="The client takes answers only in the order of their PSNs: it drops the answers after the gap, and sends their requests again.",
                ),
                Question(
                    "The server's NIC answers PSN 7 more than once. With the same value?",
                    choices=(
                        "yes, with 7 each time",
                        "no: first 7, and later the value that the number has by then",
                    ),
                    truth=lambda seen: "a" if set(answers_with_the_lost_psn(seen)) == {LOST} else "b",
                    expected="a",
                    why="The same: the number before this one addition. A responder keeps as many such answers as max_dest_rd_atomic says, four here. So the requester must not have more requests of this kind under way.",
                ),
            ),
            expects=(
                HIT,
                Expect(
                    "the answer with PSN 7 was sent at least twice.",
                    lambda seen: len(answers_with_the_lost_psn(seen)) >= 2,
                    "The answer with PSN 7 should be sent again.",
                ),
                Expect(
                    "the program got 0 to 9, each once.",
                    lambda seen: originals(seen) == list(range(ADDS)),
                    lambda seen: f"The program should get 0 to 9; it got {originals(seen)}.",
                ),
            ),
            after="Try it with drop:kind=request:psn=7, too: then the addition had not happened yet. The program cannot tell the two apart, and need not.",
        ),
    ),
)
