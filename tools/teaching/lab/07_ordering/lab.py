# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 7: what comes before what, and when memory may be touched: four racy programs, and how to mend them."""
from runner.lab import Exercise, Expect, Experiment, Lab, Question, Say, pair

MESSAGES, WRITES, ROOM = 64, 320, 256  # as in ordering.c and end.h
FIRST_PSN = 100
LOSS = "--fault loss=0.1,seed=7,direction=tx"


def notice(seen):
    return next(packet for packet in seen.trace.requests("client") if packet.label == "SEND Only")


def last_of_the_data(seen):
    return [packet for packet in seen.trace.requests("client") if packet.label == "WRITE Last"][-1]


def notice_comes(seen):
    """The letter: before or after the last packet of the data, at the server."""
    return "a" if notice(seen).times["server"] < last_of_the_data(seen).times["server"] else "b"


def is_notice_on_the_data_queue(seen):
    return notice(seen).connection == last_of_the_data(seen).connection


def send_leaves(seen):
    """The letter: before or after the READ's response has come."""
    came = min(
        packet.times["client"] for packet in seen.trace.sent("server", "response") if "client" in packet.times
    )
    return "a" if notice(seen).time < came else "b"


def sent_back(seen):
    return notice(seen).payload_bytes().rstrip(b"\0").decode()


def wrong_messages(seen):
    """Packets that carry the text of another message: message n, counted from 1, has PSN FIRST_PSN + n - 1
    and begins with a byte n."""
    return [
        packet
        for packet in seen.trace.requests("client")
        if packet.payload_bytes()[0] != packet.psn - FIRST_PSN + 1
    ]


def received(seen):
    return len(seen.trace.completions("server", "receive", "SUCCESS"))


def posted(seen):
    return len(seen.trace.told("post_send", "client"))


LAB = Lab(
    title="Ordering and visibility",
    minutes=55,
    understand=(
        "what a queue pair keeps in order, and what it does not",
        "why a program must not touch memory before the completion, and what happens if it does",
        "what fences and signaled work requests are for; you find the races in four programs and mend them",
    ),
    picture="fenced",
    steps=(
        Say(
            "Four races",
            """
            racy.c makes four decisions about order, and all four are wrong; ordering.c has the programs that use them. The programs often work.
            For each program you predict what goes wrong, see it in the packets, and then mend the decision in mended.c.
            """,
        ),
        Experiment(
            name="two-queues",
            title="Racy: data and notice on two queue pairs",
            text="""
            The client writes 512 KiB over one queue pair, and at once sends a notice of 8 bytes over another one: "the data are there".
            Both lead to the same server, which looks at the data when the notice comes.
            """,
            programs=pair("racy", "two"),
            questions=(
                Question(
                    "When does the notice come at the server?",
                    choices=("before the last packet of the data", "after it"),
                    truth=notice_comes,
                    expected="a",
                    why="Before it. The NIC serves its queue pairs in turn, and each has PSNs of its own: between two queue pairs there is no order. On a network with several ways there is none either, as their UDP source ports differ.",
                ),
            ),
            expects=(
                Expect(
                    "data and notice went over two connections.",
                    lambda seen: not is_notice_on_the_data_queue(seen),
                    "racy.c was changed: the notice should go over the other queue pair.",
                ),
            ),
        ),
        Exercise(
            "The notice after the data",
            "mended.c",
            "GAP 1, qp_of_notice(): over which queue pair must the notice go, so that it comes after the data?",
        ),
        Experiment(
            name="one-queue",
            title="Mended: the notice after the data",
            text="The same with your decision.",
            programs=pair("mended", "two"),
            expects=(
                Expect(
                    "the notice came after the last packet of the data.",
                    lambda seen: is_notice_on_the_data_queue(seen) and notice_comes(seen) == "b",
                    "mended.c, GAP 1: the notice still goes over the other queue pair.",
                ),
            ),
            after="""
            On one queue pair, a request that is posted later arrives later. When the receive completes, the data of all WRITEs before it are in
            memory. Most programs rely on this rule: WRITE, then SEND (or a WRITE with immediate) on the same queue pair.
            """,
        ),
        Experiment(
            name="unfenced",
            title="Racy: a READ, and a SEND of what it fetches",
            text="""
            The client's buffer has "old text", the server's "new text". In one list the client posts a READ that fetches the server's text into its
            buffer, and a SEND that sends this buffer back. The READ is posted first.
            """,
            programs=pair("racy", "fence"),
            questions=(
                Question(
                    "When does the SEND leave?",
                    choices=("before the READ's response has come", "after it"),
                    truth=send_leaves,
                    expected="a",
                    why="Before it, and with the old text. The requests leave in order; but the READ is done only when its response has come, and the NIC does not wait for that.",
                ),
            ),
            expects=(
                Expect(
                    """the SEND carried "old text".""",
                    lambda seen: sent_back(seen) == "old text",
                    lambda seen: f"The SEND carried {sent_back(seen)!r}: it left late this time. Try again: this is a race.",
                ),
            ),
        ),
        Exercise(
            "The fence",
            "mended.c",
            "GAP 2, flags_behind_read(): which flag makes the SEND wait until the READs before it are done?",
        ),
        Experiment(
            name="fenced",
            title="Mended: the fence",
            text="The same with your decision.",
            programs=pair("mended", "fence"),
            expects=(
                Expect(
                    "the SEND left after the READ's response had come.",
                    lambda seen: send_leaves(seen) == "b",
                    "mended.c, GAP 2: the SEND leaves before the READ's response has come. 'man ibv_post_send' lists the flags.",
                ),
                Expect(
                    """the SEND carried "new text".""",
                    lambda seen: sent_back(seen) == "new text",
                    lambda seen: f"mended.c, GAP 2: the SEND carried {sent_back(seen)!r}.",
                ),
            ),
            after="""
            A fence holds back one work request until the READs and atomics before it are complete. The program can do the same without a fence:
            it waits for the completion of the READ before it posts the SEND. This costs a turn through the program.
            """,
        ),
        Experiment(
            name="reused",
            title="Racy: one buffer for all messages",
            text="""
            The client sends 64 messages, 1, 2, 3 and so on, from one buffer. It writes the next message into the buffer as soon as ibv_post_send()
            has returned for the message before. Each tenth packet is lost here, so that the NIC has to send again.
            """,
            programs=pair("racy", "reuse", server_nic=LOSS, client_nic=LOSS),
            broken_rules=("duplicate-differs",),
            questions=(
                Question(
                    "Does the client's NIC send packets with the text of another message?",
                    choices=("yes", "no: the NIC has copied each message when it was posted"),
                    truth=lambda seen: "a" if wrong_messages(seen) else "b",
                    expected="a",
                    why="Yes. Posting only hands over the address. The NIC reads the memory when it sends, which may be later, and again when it has to repeat the packet. The ICRC is right each time, so no NIC notices. (A program that compares packets notices: 'urnic check' has the rule duplicate-differs.)",
                ),
            ),
            expects=(
                Expect(
                    "all 64 messages were delivered, in order, with status 0.",
                    lambda seen: received(seen) == MESSAGES,
                    lambda seen: f"{received(seen)} messages arrived.",
                ),
            ),
        ),
        Exercise(
            "When the buffer is free",
            "mended.c",
            "GAP 3, may_reuse(): 'posted' messages were posted, 'completed' of them have a completion. May the program write the next one into the same buffer?",
        ),
        Experiment(
            name="kept",
            title="Mended: the buffer is free when the message is complete",
            text="The same with your decision, with the same loss.",
            programs=pair("mended", "reuse", server_nic=LOSS, client_nic=LOSS),
            hint="Edit mended.c: may_reuse() must say yes when all is complete that was posted.",
            expects=(
                Expect(
                    "each packet carried its own message, the repeated ones too.",
                    lambda seen: not wrong_messages(seen),
                    lambda seen: f"mended.c, GAP 3: {len(wrong_messages(seen))} packets carried the text of another message. The NIC needs the memory until the completion.",
                ),
                Expect(
                    "all 64 messages were delivered.",
                    lambda seen: received(seen) == MESSAGES,
                    lambda seen: f"{received(seen)} messages arrived.",
                ),
                Expect(
                    "packets were lost and repeated on the way.",
                    lambda seen: any(packet.is_lost or packet.is_repeated for packet in seen.trace.packets),
                    "No packet was lost this time: try again.",
                ),
            ),
            after="""
            With one buffer the client now waits for each message. Real programs have a ring of buffers, and ask may_reuse() for each buffer. With
            IBV_SEND_INLINE, for small messages, posting does copy the message.
            """,
        ),
        Experiment(
            name="unsignaled",
            title="Racy: no completions at all",
            text="""
            The client posts 320 WRITEs in one list, all unsignaled: there will be no completion. Its send queue has room for 256 work requests. All WRITEs
            succeed.
            """,
            programs=pair("racy", "signal", may_fail=("server", "client")),
            questions=(
                Question(
                    "How many WRITEs are posted before ibv_post_send() refuses one?",
                    truth=posted,
                    expected=ROOM,
                    why="256: the send queue is full, though all of them will succeed. (A program that posts them slowly, one by one, can post more here: urnic gives room back with the acknowledgement. Do not rely on that: verbs promise room only after a completion was polled.)",
                    unit="WRITEs",
                ),
            ),
            expects=(
                Expect(
                    "the client had no completion.",
                    lambda seen: not seen.trace.completions("client"),
                    "racy.c was changed: its WRITEs should be unsignaled.",
                ),
            ),
        ),
        Exercise(
            "Enough completions",
            "mended.c",
            "GAP 4, flags_of_write(): which of the WRITEs 0, 1, 2 and so on are signaled? Not all: a completion costs time. ordering.c waits for each that is.",
        ),
        Experiment(
            name="signaled",
            title="Mended: some completions",
            text="The same with your decision.",
            programs=pair("mended", "signal"),
            hint="Edit mended.c: flags_of_write() must return IBV_SEND_SIGNALED now and then.",
            expects=(
                Expect(
                    "all 320 WRITEs were posted, and sent.",
                    lambda seen: posted(seen) == WRITES,
                    lambda seen: f"mended.c, GAP 4: {posted(seen)} WRITEs were posted.",
                ),
                Expect(
                    "there were completions, for one WRITE in two at most, and never 256 WRITEs without one.",
                    lambda seen: WRITES // ROOM
                    < len(seen.trace.completions("client", "send", "SUCCESS"))
                    <= WRITES // 2,
                    lambda seen: f"mended.c, GAP 4: {len(seen.trace.completions('client', 'send'))} completions for {WRITES} WRITEs.",
                ),
            ),
            after="One signaled work request says that all before it on this queue pair are done, too.",
        ),
    ),
)
