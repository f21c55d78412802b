# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 5: how long a NIC waits: for an acknowledgement, and for a receiver that was not ready."""
import itertools
import json
import re

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

CASES = ((12, 7), (14, 2), (15, 1), (16, 0))  # (timeout, retry_cnt), as in timers.c
CODES = (14, 31, 0)  # as in rnr.c, before the student's own
# Milliseconds by code: fact 35 of transport/FACTS.md.
RNR_MS = (655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92,
          2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52)  # fmt: skip
FORETOLD = re.compile(r"timeout (\d+), retry_cnt (\d+): (\d+) transmissions and ([\d.]+) ms foretold")
HOURS = 4.096e-6 * 2**31 / 3600  # timeout 31
# A timer never fires early. How late it fires depends on the processor that is wanted for other things, too.
EARLIER, LATER, LATER_MS = 0.97, 1.5, 80


def fits(measured_ms, theory_ms):
    return theory_ms * EARLIER <= measured_ms <= theory_ms * LATER + LATER_MS


def failures(seen):
    """(transmissions, ms from the post to the completion) of each case, in their order: packets and notes of
    each queue pair."""
    result = []
    for post in seen.trace.told("post_send"):
        (end,) = [
            note for note in seen.trace.completions("program", "send", "RETRY_EXC_ERR") if note.qp == post.qp
        ]
        packets = [packet for packet in seen.trace.packets if post.time <= packet.time <= end.time]
        result.append((len(packets), (end.time - post.time) / 1e6))
    return result


def foretold(seen):
    """{(timeout, retry_cnt): (transmissions, ms)}, as the program said."""
    return {
        (int(t), int(n)): (int(times), float(ms))
        for t, n, times, ms in FORETOLD.findall(seen.output("program"))
    }


def failure_of(case):
    return lambda seen: failures(seen)[CASES.index(case)]


def wrong_forecast(seen):
    for case, (times, ms) in zip(CASES, failures(seen)):
        said_times, said_ms = foretold(seen)[case]
        if said_times != times:
            return f"timers.c, GAP 2: of timeout {case[0]} and retry_cnt {case[1]} it foretells {said_times} transmissions; the packets say {times}."
        if not fits(ms, said_ms):
            return f"timers.c, GAP 1 or 3: of timeout {case[0]} and retry_cnt {case[1]} it foretells {said_ms:.1f} ms; the completion came after {ms:.1f} ms."
    return ""


def intervals_of_timeouts(seen):
    """Ms between the timeouts of the first case."""
    first = seen.trace.told("post_send")[0].qp
    times = [note.time for note in seen.trace.told("ack_timeout") if note.qp == first]
    return [(after - before) / 1e6 for before, after in itertools.pairwise(times)]


def rnr_waits(seen):
    """(code, ms from the RNR NAK to the repetition, both at the client) of each queue pair."""
    result = []
    for index in range(len(seen.trace.connections)):
        packets = [packet for packet in seen.trace.packets if packet.connection == index]
        nak = next(packet for packet in packets if packet.kind == "rnr")
        again = next(packet for packet in packets if packet.kind == "request" and packet.is_repeated)
        result.append(
            (nak.field("AETH.Syndrome") & 0x1F, (again.times["client"] - nak.times["client"]) / 1e6)
        )
    return result


def wait_of(code):
    return lambda seen: dict(rnr_waits(seen))[code]


def your_code(seen):
    return rnr_waits(seen)[-1][0]


def sent_again(seen):
    """Hours between the transmissions that the capture of virtual time has."""
    times = [packet.time for packet in seen.captures["virtual.pcap"].packets if packet.kind == "request"]
    return [(after - before) / 3.6e12 for before, after in itertools.pairwise(times)]


def hours_to_failure(seen):
    return json.loads(seen.output("simulator"))["time_us"] / 3.6e9


LAB = Lab(
    title="Timers",
    minutes=45,
    understand=(
        "how the time until a dead peer is noticed follows from ACK timeout and retry count",
        "what an RNR NAK tells the requester to do, and how its codes are ordered",
        "which of these times you can rely on with other NICs",
    ),
    picture="rnr",
    steps=(
        Say(
            "Two clocks",
            """
            A reliable connection waits for two things. It waits for an acknowledgement: if none comes within the ACK timeout, the NIC sends again,
            up to retry_cnt times, and then the work request fails with status 12. The attribute 'timeout' is a code t, and means 4.096 us x 2^t
            (fact 36 of transport/FACTS.md); 0 means that the NIC waits forever.

            It also waits for a receiver that was not ready: the receiver's RNR NAK carries a code that says how long to wait. The receiver chooses
            the code (min_rnr_timer). The sender waits up to rnr_retry times; then the request fails with status 13. These codes are a table (fact 35).
            """,
        ),
        Exercise(
            "Foretell the failure",
            "timers.c",
            """
            timers.c sends to a queue pair that does not exist, with four pairs of timeout and retry_cnt, and measures how long it takes until
            status 12. Three functions predict this time: ack_timeout_ms(), transmissions() and time_to_failure_ms(). Write them.
            """,
        ),
        Experiment(
            name="dead",
            title="A peer that never answers",
            text="timeout and retry_cnt are (12, 7), (14, 2), (15, 1) and (16, 0), one after the other.",
            programs=(Program("program", "./timers"),),
            hint="Edit timers.c.",
            questions=(
                Question(
                    "With timeout 12 and retry_cnt 7: how often is the request on the wire?",
                    truth=lambda seen: failure_of((12, 7))(seen)[0],
                    expected=8,
                    why='Once, and seven times again. For urnic 7 is seven; rdma_rxe takes it for "without end", as only rnr_retry should be (fact 37).',
                    unit="times",
                ),
                Question(
                    "With timeout 15 and retry_cnt 1: how many milliseconds from the post to status 12?",
                    truth=lambda seen: failure_of((15, 1))(seen)[1],
                    expected=lambda truth: fits(truth, 2 * 4.096e-3 * 2**15),
                    tolerance=0.15,
                    why="4.096 us x 2^15 = 134 ms, and the NIC waits twice: after the first transmission, and after the second. So 268 ms, and a little more when the processor is busy.",
                    unit="ms",
                ),
                Question(
                    "With timeout 16 and retry_cnt 0?",
                    truth=lambda seen: failure_of((16, 0))(seen)[1],
                    expected=lambda truth: fits(truth, 4.096e-3 * 2**16),
                    tolerance=0.15,
                    why="268 ms again: twice the timeout, and one wait. Which of the two would you choose on a network that loses one packet in a thousand?",
                    unit="ms",
                ),
            ),
            expects=(
                Expect(
                    "transmissions and times are as your functions said, and no failure came early.",
                    lambda seen: not wrong_forecast(seen),
                    wrong_forecast,
                ),
                Expect(
                    "between two timeouts of the first request there are 16.8 ms each time: the wait does not grow.",
                    lambda seen: len(intervals_of_timeouts(seen)) == 7
                    and fits(sum(intervals_of_timeouts(seen)), 7 * 4.096e-3 * 2**12),
                    "There should be eight ACK timeouts, 16.8 ms apart.",
                ),
            ),
            after="""
            TCP doubles its timeout each time. RC waits for the same time again, and gives up soon: it was made for networks that hardly lose
            packets. Programs on long or lossy paths set timeout and retry_cnt high (18 and 7 are more than eight seconds). The price: they
            notice a dead peer only after this time.
            """,
        ),
        Experiment(
            name="hours",
            title="The longest patience, in virtual time",
            text="""
            'urnic sim' has NICs with the same transport, and a clock that jumps to the next event. hours.json writes 8 bytes with timeout 31 and
            retry_cnt 7 to a host that drops them; virtual.json is the cable between the two hosts. virtual.pcap has the packets on this cable.
            """,
            programs=(
                Program(
                    "simulator",
                    "urnic sim --topology virtual.json --workload hours.json --pcap near=virtual.pcap --json",
                    is_plain=True,
                    may_fail=True,
                ),
            ),
            captures=("virtual.pcap",),
            hint="Are virtual.json and hours.json as they were?",
            questions=(
                Question(
                    "How many hours until status 12?",
                    truth=hours_to_failure,
                    expected=lambda truth: abs(truth - 8 * HOURS) < 1e-6,
                    tolerance=0.02,
                    why="4.096 us x 2^31 = 8796 s, and the NIC waits eight times: 19.5 hours. In virtual time nothing is late: no other program wants the processor.",
                    unit="hours",
                ),
            ),
            expects=(
                Expect(
                    "eight transmissions, each 2.44 hours after the one before, to the microsecond.",
                    lambda seen: len(sent_again(seen)) == 7
                    and all(abs(hours - HOURS) < 1 / 3.6e9 for hours in sent_again(seen)),
                    lambda seen: f"{len(sent_again(seen)) + 1} transmissions, {', '.join(f'{hours:.4f}' for hours in sent_again(seen))} hours apart.",
                ),
                Expect(
                    "it ended with status 12.",
                    lambda seen: "RETRY_EXC_ERR" in json.loads(seen.output("simulator"))["failure"],
                    "The work request did not fail with RETRY_EXC_ERR.",
                ),
            ),
            after="""
            Change ack_timeout and retry_count in hours.json, and run 'urnic sim --topology virtual.json --workload hours.json' yourself: it takes no
            longer. Without the line 'faults' the WRITE takes a round trip.
            """,
        ),
        Exercise(
            "Choose an RNR code",
            "rnr.c",
            """
            The server of rnr.c never posts a receive. It tells its client to wait, by the codes 14, 31, 0, and by YOUR_CODE. Choose YOUR_CODE so
            that the client waits at least 5 ms and less than 10 ms. Fact 35 has the table; a part of it:

              code   14    15    16    17    18    19    20     21
              ms    1.28  1.92  2.56  3.84  5.12  7.68  10.24  15.36
            """,
        ),
        Experiment(
            name="rnr",
            title="A receiver that is not ready",
            text="The client's rnr_retry is 1 on all four queue pairs: it tries once more, then gives up with status 13.",
            programs=pair("rnr"),
            hint="Edit rnr.c.",
            questions=(
                Question(
                    "Which code makes the client wait longest?",
                    choices=("14", "31", "0"),
                    truth=lambda seen: "abc"[
                        CODES.index(max(rnr_waits(seen)[:3], key=lambda wait: wait[1])[0])
                    ],
                    expected="c",
                    why="0 is 655.36 ms, the longest of all; 31 is 491.52 ms, and 1 the shortest, 0.01 ms. A program that leaves min_rnr_timer at zero has the slowest receiver possible: a frequent mistake.",
                ),
                Question(
                    "How many milliseconds between an RNR NAK with code 31 and the repetition?",
                    truth=wait_of(31),
                    expected=lambda truth: fits(truth, RNR_MS[31]),
                    tolerance=0.15,
                    why="491.52 ms: nearly half a second for one missing receive.",
                    unit="ms",
                ),
            ),
            expects=(
                Expect(
                    "the RNR NAKs carry the codes 14, 31, 0, and yours, for which the table has at least 5 ms and less than 10 ms.",
                    lambda seen: [code for code, _ in rnr_waits(seen)[:3]] == list(CODES)
                    and 5 <= RNR_MS[your_code(seen)] < 10,
                    lambda seen: f"rnr.c, GAP 4: your RNR NAK carries code {your_code(seen)}, which means {RNR_MS[your_code(seen)]} ms.",
                ),
                Expect(
                    "the client waited as long as each code says, and not less.",
                    lambda seen: all(fits(ms, RNR_MS[code]) for code, ms in rnr_waits(seen)),
                    lambda seen: f"The client waited {', '.join(f'{ms:.2f} ms with code {code}' for code, ms in rnr_waits(seen))}.",
                ),
            ),
            after="""
            urnic's timers are exact when a processor is free. Other NICs change the times: rdma_rxe's RNR timer counts the ticks of the kernel's
            clock (code 14 took 5.7 to 7.4 ms, fact 35), and a ConnectX has a least ACK timeout of its own, or retransmits sooner than the program
            says (fact 52). Rely on "not earlier than", not on "at".
            """,
        ),
    ),
)
