# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 3: what an RDMA WRITE looks like on the wire, its ICRC by hand, and a WRITE from a plain UDP socket."""
import re

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

LENGTHS = (0, 1, 1024, 1025, 4096)
POSITIONS = {"First": "a", "Middle": "b", "Last": "c", "Only": "d"}
FORECAST = re.compile(r"(\d+) bytes: (\d+) packets, PSN (\d+) to (\d+), padding (\d+)")


def writes(seen):
    """The client's packets, one list for each WRITE."""
    messages = []
    for packet in seen.trace.requests("client", again=False):
        if packet.label.endswith(("First", "Only")):
            messages.append([])
        messages[-1].append(packet)
    return messages


def on_the_wire(seen):
    """(length, packets, first PSN, last PSN, padding) for each WRITE."""
    return [
        (
            message[0].field("RETH.DMA length"),
            len(message),
            message[0].psn,
            message[-1].psn,
            message[-1].field("BTH.Pad count"),
        )
        for message in writes(seen)
    ]


def forecast(seen):
    """The same, as the client's program said before."""
    return [tuple(map(int, words)) for words in FORECAST.findall(seen.output("client"))]


def first_difference(seen):
    for said, true in zip(forecast(seen), on_the_wire(seen)):
        if said != true:
            return (
                f"anatomy.c, GAP 1 or 2: of the WRITE of {true[0]} bytes it says {said[1]} packets, PSN {said[2]} to {said[3]}, padding {said[4]}; "
                f"on the wire: {true[1]} packets, PSN {true[2]} to {true[3]}, padding {true[4]}."
            )
    return "anatomy.c should say something of each WRITE."


def with_reth(seen):
    return [packet for message in writes(seen) for packet in message if "RETH" in packet.headers()]


def computed(seen):
    """What icrc.py says of each frame."""
    return {
        int(frame): value
        for frame, value in re.findall(r"frame (\d+): found \w+, computed (\w+)", seen.output("icrc"))
    }


def wrong_icrcs(seen):
    """Packets whose ICRC, as it was recorded, is not what icrc.py computes."""
    values = computed(seen)
    return [packet for packet in seen.trace.packets if values.get(packet.frames.get("client")) != packet.icrc]


def forged(seen):
    """The four packets that came from forge.py: no NIC of ours sent them."""
    return seen.trace.sent(None, "request")


def is_taken(packet):
    return not packet.is_dropped and not packet.bad_icrc


def answer_to_the_damaged(seen):
    """The letter: what the target's NIC sent for it."""
    (damaged,) = [packet for packet in forged(seen) if packet.bad_icrc]
    answers = [seen.trace.packets[index].kind for index in damaged.answers]
    return "a" if "nak" in answers else "b" if "ack" in answers else "c"


def forging_complaint(seen):
    dropped = [packet for packet in forged(seen) if not is_taken(packet)]
    if len(dropped) == len(forged(seen)):
        return "icrc.py, GAP 3: the target's NIC dropped all packets of forge.py, as their ICRC is wrong: what it computes is not yet what NICs compute."
    return f"The target's NIC dropped {len(dropped)} packets; one was expected."


LAB = Lab(
    title="Anatomy of a WRITE",
    minutes=55,
    understand=(
        "how a WRITE of any length becomes packets: opcodes, PSNs, padding, and which of them carry the RETH",
        "what the ICRC covers and what not, and how to compute it",
        "what protects RoCEv2 from forged packets, and what does not",
    ),
    needs_udp_port=True,
    picture="write",
    steps=(
        Say(
            "What is on the wire",
            """
            A WRITE puts bytes into the peer's memory; the peer's program takes no part. Its packets:

              IPv4 | UDP 4791 | BTH | RETH (first packet only) | payload | padding | ICRC

            BTH, 12 bytes: opcode (which operation, and First, Middle, Last or Only), padding, destination queue pair, PSN.
            RETH, 16 bytes: address, R_Key and length of the whole WRITE.
            ICRC, 4 bytes: a CRC-32 over all that must not change on the way.

            First and Middle packets are filled up to the path MTU (here 1024), Last has what remains (fact 29).
            """,
        ),
        Exercise(
            "Foretell the packets",
            "anatomy.c",
            """
            anatomy.c writes 0, 1, 1024, 1025 and 4096 bytes. Before each WRITE it says how many packets the WRITE takes, with which PSNs, and
            how much padding the last packet has. Two functions are not finished: packets_of() and padding_of().
            """,
        ),
        Experiment(
            name="write",
            title="Five WRITEs",
            text="The client's first PSN is 100. Each WRITE completes before the next one begins.",
            programs=pair("anatomy"),
            hint="Edit anatomy.c.",
            questions=(
                Question(
                    "How many packets do the five WRITEs take in all?",
                    truth=lambda seen: sum(map(len, writes(seen))),
                    expected=9,
                    why="1 + 1 + 1 + 2 + 4. A WRITE of 0 bytes is a packet, too: it carries BTH and RETH, and the peer acknowledges it.",
                    unit="packets",
                ),
                Question(
                    "Which position does the opcode of the third packet of the 4096 bytes have?",
                    choices=tuple(POSITIONS),
                    truth=lambda seen: POSITIONS[writes(seen)[-1][2].label.split()[-1]],
                    expected="b",
                    why="First, Middle, Middle, Last. Only the opcode says where a packet stands in its message; there is no offset.",
                ),
                Question(
                    "How many of these packets carry a RETH?",
                    truth=lambda seen: len(with_reth(seen)),
                    expected=len(LENGTHS),
                    why="One for each WRITE: First and Only have it. A Middle packet that comes alone means nothing, so the receiver must take them in order.",
                    unit="packets",
                ),
                Question(
                    "How many bytes of padding has the last packet of the 1025 bytes?",
                    truth=lambda seen: writes(seen)[3][-1].field("BTH.Pad count"),
                    expected=3,
                    why="It carries 1 byte, and 4 is the next multiple of 4 (fact 3). The padding is zero, and covered by the ICRC.",
                    unit="bytes",
                ),
            ),
            expects=(
                Expect(
                    "the WRITEs have the lengths 0, 1, 1024, 1025 and 4096, by their RETHs.",
                    lambda seen: [true[0] for true in on_the_wire(seen)] == list(LENGTHS),
                    "The client should write 0, 1, 1024, 1025 and 4096 bytes.",
                ),
                Expect(
                    "the number of packets, the PSNs and the padding of each WRITE are as your functions said.",
                    lambda seen: forecast(seen) == on_the_wire(seen),
                    first_difference,
                ),
                Expect(
                    "nothing completes at the server: its program is not told that its memory has changed.",
                    lambda seen: not seen.trace.completions("server"),
                    "A WRITE should not complete anything at the server.",
                ),
            ),
        ),
        Exercise(
            "The ICRC by hand",
            "icrc.py",
            """
            icrc.py computes the ICRC of each packet of a recording. A router may change some fields on the way, and the ICRC must stay right.
            So all bits of these fields count as ones. Fact 2 of transport/FACTS.md lists the fields:

              IPv4: TOS, TTL, header checksum      UDP: checksum      BTH: byte 4 (FECN, BECN, six reserved bits)

            Write the five lines of GAP 3. Counted from the beginning of the IPv4 header, from 0 on: TOS (the byte with DSCP and ECN) is byte 1, TTL
            byte 8, its checksum bytes 10 and 11. Where do UDP's checksum and byte 4 of the BTH stand?
            """,
        ),
        Experiment(
            name="icrc",
            title="The ICRC of every packet",
            text="icrc.py reads what the client's NIC recorded in the last experiment: packets that it sent, and the ACKs that came.",
            programs=(Program("icrc", "python3 icrc.py write-client.pcapng", is_plain=True),),
            recordings_of="write",
            hint="Edit icrc.py.",
            questions=(
                Question(
                    "Does an ACK, which carries no data, have an ICRC?",
                    choices=("yes", "no"),
                    truth=lambda seen: "a"
                    if all(packet.icrc and not packet.bad_icrc for packet in seen.trace.sent("server", "ack"))
                    else "b",
                    expected="a",
                    why="Every packet has one. A damaged ACK could end a request that never arrived.",
                ),
            ),
            expects=(
                Expect(
                    "the ICRC of every packet is the one that you compute.",
                    lambda seen: len(computed(seen)) == len(seen.trace.packets) and not wrong_icrcs(seen),
                    lambda seen: f"icrc.py, GAP 3: of {len(seen.trace.packets)} ICRCs {len(wrong_icrcs(seen))} are not what NICs compute. Are all five fields filled with ones, and nothing else?",
                ),
            ),
        ),
        Experiment(
            name="forge",
            title="A WRITE without verbs",
            text="""
            forge.py builds RDMA WRITEs byte by byte, uses your icrc(), and sends them from a plain UDP socket, as any user may. The target
            told it queue pair, PSN, address and R_Key over TCP. Four packets:

              PSN 500  "written "   as it should be
              PSN 501  "without "   the TOS in its IPv4 header was changed after the ICRC was computed
              PSN 502  "verbs."     one bit of the payload was flipped after the ICRC was computed
              PSN 502  "verbs."     as it should be
            """,
            programs=(
                Program("target", "./target", may_fail=True),
                Program("forge", "python3 forge.py", is_plain=True, waits_for_listener=True),
            ),
            broken_rules=("icrc",),
            hint="forge.py uses icrc() of your icrc.py: does the experiment before work?",
            questions=(
                Question(
                    "Does the target's NIC take the packet with the other TOS?",
                    choices=("yes", "no"),
                    truth=lambda seen: "a"
                    if is_taken(next(packet for packet in forged(seen) if packet.psn == 501))
                    else "b",
                    expected="a",
                    why="Yes. Routers use the TOS (DSCP and ECN) and may change it, so the ICRC does not cover it.",
                ),
                Question(
                    "What does the NIC answer to the damaged packet?",
                    choices=("a NAK", "an ACK", "nothing"),
                    truth=answer_to_the_damaged,
                    expected="c",
                    why="Nothing: if the ICRC is wrong, the NIC can trust nothing in the packet, not even the number of the queue pair. It drops and counts the packet (rx_drop_bad_icrc), and the sender repeats it because no ACK comes.",
                ),
            ),
            expects=(
                Expect(
                    "four packets came that no NIC of ours had sent.",
                    lambda seen: len(forged(seen)) == 4,
                    "The target's NIC should have received four packets of forge.py.",
                ),
                Expect(
                    "three were taken, and one was dropped because of its ICRC.",
                    lambda seen: [is_taken(packet) for packet in forged(seen)] == [True, True, False, True],
                    forging_complaint,
                ),
                Expect(
                    "the TOS of the second one really differed.",
                    lambda seen: len(
                        {packet.field("IPv4.DSCP") for packet in forged(seen) if packet.psn in (500, 501)}
                    )
                    == 2,
                    "The second packet should have another DSCP.",
                ),
                Expect(
                    "the last ACK says that three WRITEs are complete (MSN 3).",
                    lambda seen: seen.trace.sent("target", "ack")[-1].msn == 3,
                    "The target's NIC should acknowledge three WRITEs.",
                ),
            ),
            after="""
            The ICRC protects from accidents, not from people: it has no secret. A user who can send packets, and knows or guesses queue pair,
            PSN and R_Key, can write into that memory. Lab 8 shows what protects the memory.
            """,
        ),
    ),
)
