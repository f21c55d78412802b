# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 6: an RNR storm, and credits written by the student."""
from runner.lab import Exercise, Expect, Experiment, Lab, Question, Say, pair

MESSAGES = 64


def first_sends(seen):
    return seen.trace.requests("client", again=False)


def refusals(seen):
    return seen.trace.sent("server", "rnr")


def cost(seen):
    """The letter: how many packets with data there were."""
    packets = len(seen.trace.requests("client"))
    return "a" if packets == MESSAGES else "b" if packets < 4 * MESSAGES else "c"


def fate_of_the_following(seen):
    """The letter: what the server's NIC did with the packets that came after the first refused one."""
    behind = [
        packet for packet in first_sends(seen) if "out_of_sequence" in packet.comments.get("server", "")
    ]
    answered = [packet for packet in behind if packet.answers]
    return "b" if behind and not answered else "c" if answered else "a"


def received(seen):
    return len([note for note in seen.trace.completions("server", "receive", "SUCCESS")])


def credits_told(seen):
    """WRITEs of the receiver into the sender's memory."""
    return [packet for packet in seen.trace.requests("server", again=False) if packet.label == "WRITE Only"]


def storm_complaint(seen):
    told = len(credits_told(seen))
    if told == 0:
        return f"{len(refusals(seen))} RNR NAKs, and the receiver told no credit. credits.c: GAP 1 tells the credit, GAP 2 makes the sender obey it."
    return f"{len(refusals(seen))} RNR NAKs, though the receiver told its credit {told} times. credits.c: does the sender heed it (GAP 2), and is the receive posted before the credit is told, for no more messages than there are receives (GAP 1)?"


def receives_precede(seen):
    """When message n came, n receives had been posted."""
    posted = sorted(note.time for note in seen.trace.told("post_receive", "server"))
    came = sorted(packet.times["server"] for packet in first_sends(seen) if "server" in packet.times)
    return len(posted) >= len(came) and all(before < after for before, after in zip(posted, came))


LAB = Lab(
    title="Flow control",
    minutes=50,
    understand=(
        "what happens when a sender is faster than the receiver's program: an RNR storm, and what it costs",
        "that verbs leave this flow control to the program",
        "how credits work: you write them, with an RDMA WRITE into the sender's memory",
    ),
    picture="credits",
    steps=(
        Say(
            "Receives are the program's",
            """
            A SEND needs a receive: memory that the receiver's program has posted for it. If there is none, the receiver's NIC refuses the packet
            with an RNR NAK, and the sender's NIC sends it again after a while. This repairs a short delay. It is no flow control: the sender does
            not know how many receives are posted. (The AETH has a field for such credits, and a ConnectX may fill it in; rdma_rxe and urnic
            always say "no credit information": fact 19 of transport/FACTS.md.)
            """,
        ),
        Experiment(
            name="storm",
            title="The storm",
            text="""
            The client posts 64 SENDs of 1024 bytes at once. The server has one receive posted; it works a millisecond on each message, then
            posts the next one. rnr_retry is 7, so nothing fails.
            """,
            programs=pair("storm"),
            questions=(
                Question(
                    "How many packets with data does the client send for its 64 messages?",
                    choices=("64", "more, but less than four times as many", "more than four times as many"),
                    truth=cost,
                    expected="c",
                    why="Far more: the picture and 'urnic check' have the number. After each RNR NAK the client sends all remaining messages again, and the server's NIC drops all except the first one or two.",
                ),
                Question(
                    "What does the server's NIC do with the packets after the first one that it refuses?",
                    choices=(
                        "it keeps them",
                        "it drops them without an answer",
                        "it refuses each with an RNR NAK",
                    ),
                    truth=fate_of_the_following,
                    expected="b",
                    why="It drops them: they are out of sequence as long as the refused packet is missing (fact 22). RC delivers in order. urnic, like rdma_rxe, keeps nothing that comes too early; some vendors' NICs have their own ways (fact 53).",
                ),
            ),
            expects=(
                Expect(
                    "all 64 messages arrive, each once.",
                    lambda seen: received(seen) == MESSAGES,
                    lambda seen: f"{received(seen)} messages arrived.",
                ),
                Expect(
                    "there were RNR NAKs, and repetitions because of them.",
                    lambda seen: refusals(seen)
                    and any(
                        "rcvd_rnr_err" in packet.comments.get("client", "")
                        for packet in seen.trace.requests("client", again=True)
                    ),
                    "There should be RNR NAKs.",
                ),
            ),
            after="""
            No program saw an error, and all the data arrived; but the network carried many times more packets than needed. "It works, but it is
            slow" often looks like this. Counters show it: rcvd_rnr_err at the sender and out_of_buffer at the receiver, in 'urnic stat' or, under
            the names of the other NIC, in its hw_counters.
            """,
        ),
        Exercise(
            "Credits",
            "credits.c",
            """
            credits.c has the same sender and the same slow receiver, which now has eight receives. Both programs know this at the beginning: the
            first credit is 8. From then on the receiver writes its credit into the sender's memory: how many messages the sender may have sent
            in all.

            GAP 1, in receive_all(): after the receive of message 'next' (counted from 0) is posted, tell the credit.
            GAP 2, may_send(): may the sender post message 'sent' (counted from 0)?
            """,
        ),
        Experiment(
            name="credits",
            title="The same with credits",
            text="64 SENDs of 1024 bytes again, for a receiver that works a millisecond on each.",
            programs=pair("credits"),
            hint="Edit credits.c.",
            questions=(
                Question(
                    "How many RNR NAKs are there now?",
                    truth=lambda seen: len(refusals(seen)),
                    expected=0,
                    why="None: no message comes for which there is no receive.",
                    unit="RNR NAKs",
                ),
                Question(
                    "The credit costs packets, too. How many WRITEs does the receiver send?",
                    truth=lambda seen: len(credits_told(seen)),
                    expected=MESSAGES,
                    why="One small WRITE for each message. The receiver could tell the credit only after every fourth message, and save three WRITEs of four; README.md asks what that costs.",
                    unit="WRITEs",
                ),
            ),
            expects=(
                Expect("no message was refused.", lambda seen: not refusals(seen), storm_complaint),
                Expect(
                    "all 64 messages arrive, each once.",
                    lambda seen: received(seen) == MESSAGES,
                    lambda seen: f"{received(seen)} messages arrived.",
                ),
                Expect(
                    "when message n came, n receives had been posted.",
                    receives_precede,
                    "The sender was ahead of the receives: credits.c, GAP 1 tells too much.",
                ),
                Expect(
                    "the sender had several messages on their way at a time: credits do not make it wait for each.",
                    lambda seen: max(
                        note.packets_in_flight or 0 for note in seen.trace.told("state", "client")
                    )
                    > 1,
                    "The sender waited for each message: it should post as long as it has credit.",
                ),
            ),
            after="""
            MPI, NCCL, UCX and storage protocols do the same in one form or another: the receiver says how much it can take. The data go by SEND
            or by WRITE; the credit goes by SEND, by WRITE as here, or inside of messages that go back anyway.
            """,
        ),
    ),
)
