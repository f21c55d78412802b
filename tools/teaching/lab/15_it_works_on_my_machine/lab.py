# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 15: a program with four faults that passes, and four tools of which each finds one."""
import re

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

BLOCKS, TOGETHER = 64, 8  # as in replica.c and decisions.h
# Behaviors that are about order and time, so that the search is short.
BEHAVIORS = "late-payload+late-placement+last-bytes-first+late-completion+queues-out-of-order"
CHAOS = f"--seeds 1-20 --chaos only={BEHAVIORS}"
FINDING = "buffer-changed-before-completion"


def chaos(program):
    command = f"urnic chaos {CHAOS} -- sh both.sh ./{program}"
    return (Program("chaos", command, is_plain=True, may_fail=True),)


def whole_blocks(seen):
    found = re.search(r"(\d+) blocks are there, all whole", seen.output("server"))
    return int(found[1]) if found else 0


def times_found(seen):
    found = re.search(rf"{FINDING} +error +(\d+)", seen.output("client"))
    return int(found[1]) if found else 0


def has_no_finding(seen):
    return all("sanitizer: nothing was found" in seen.output(name) for name in ("server", "client"))


def end_on_e810(seen):
    """The letter: where the program ends."""
    if "refuses a queue pair" in seen.output("client"):
        return "a"
    return "b" if "cannot post" in seen.output("client") else "c"


def is_torn(seen):
    return "blocks were not whole" in seen.output("chaos")


def refusals(seen):
    return len(seen.trace.sent("server", "rnr"))


def how_many_refusals(seen):
    return "a" if refusals(seen) == 0 else "b" if refusals(seen) < TOGETHER else "c"


def repetitions(seen):
    return len(seen.trace.requests("client", again=True))


EVERY_BLOCK = Expect(
    f"all {BLOCKS} blocks were there and whole, and all messages.",
    lambda seen: whole_blocks(seen) == BLOCKS,
    lambda seen: f"The replica said: {seen.output('server').strip()}",
)


LAB = Lab(
    title="It works on my machine",
    minutes=55,
    understand=(
        "that a program with faults passes its tests where the NIC and the network are kind",
        "which tool finds which kind of fault: --sanitize, --like, --chaos, and urnic check of a recording",
        "how four faults of real programs are mended, and what verbs promise instead",
    ),
    picture="mended",
    steps=(
        Say(
            "A program that passes",
            """
            A primary writes 64 blocks of 2048 bytes into the memory of its replica, one after the other.
            The replica looks at each word of a block, and answers by a message. After every eight blocks
            the primary sends eight messages at once, which commit them. works.c takes four decisions about
            this; replica.c has the program. It has passed all its tests, and is to run on a cluster next
            week. It has four faults.
            """,
        ),
        Experiment(
            name="plain",
            title="It works",
            text="The program as it is, without any tool.",
            programs=pair("works"),
            questions=(
                Question(
                    "How many of the 64 blocks are whole when the replica looks at them?",
                    truth=whole_blocks,
                    expected=BLOCKS,
                    why="All. Both programs end with 0, and nothing tells of a fault.",
                    unit="blocks",
                ),
            ),
            expects=(EVERY_BLOCK,),
        ),
        Experiment(
            name="sanitized",
            title="Fault 1: urnic run --sanitize",
            text="""
            The NIC sees each request, each buffer and each completion of the program. With --sanitize it
            says what the program does that it may not do, even where nothing has happened because of it.
            The primary waits for the replica's answer, and fills the same memory with the next block.
            Before it sends commits, it polls the completions of all its WRITEs.
            """,
            programs=pair("works", server_nic="--sanitize", client_nic="--sanitize", may_fail=("client",)),
            questions=(
                Question(
                    (
                        "How often does the sanitizer count that a buffer has changed before its "
                        "completion was polled?"
                    ),
                    truth=times_found,
                    expected=BLOCKS - BLOCKS // TOGETHER,
                    why=(
                        "56 times: seven of each eight blocks. The eighth is followed by commits, "
                        "before which all completions are polled."
                    ),
                    unit="times",
                ),
            ),
            expects=(
                Expect(
                    f"the sanitizer found {FINDING} at the primary, and nothing at the replica.",
                    lambda seen: times_found(seen) > 0 and "nothing was found" in seen.output("server"),
                    "works.c was changed: decision 1 should not wait for a completion.",
                ),
                EVERY_BLOCK,
            ),
            after=f"""
            The replica has the block, so what can be wrong? The answer comes from the replica's program.
            The own NIC may not have got the acknowledgement: then it sends again, and reads the memory
            again. Only the completion says that it is done with it. 'urnic explain {FINDING}' has the rule,
            and wrong and right code.
            """,
        ),
        Exercise(
            "When the memory is free",
            "mended.c",
            (
                "GAP 1, wait_before_next_block(): for which completion does the primary wait before "
                "it fills the memory again?"
            ),
        ),
        Experiment(
            name="sanitized-mended",
            title="Mended: urnic run --sanitize",
            text="The same with your decision.",
            programs=pair("mended", server_nic="--sanitize", client_nic="--sanitize", may_fail=("client",)),
            expects=(
                EVERY_BLOCK,
                Expect(
                    "the sanitizer found nothing.",
                    has_no_finding,
                    lambda seen: (
                        f"mended.c, GAP 1: the sanitizer counts {times_found(seen)} times {FINDING}."
                    ),
                ),
            ),
        ),
        Experiment(
            name="like",
            title="Fault 2: urnic run --like",
            text="""
            NICs differ in what they have: the length of queues, of lists, of inline data. urnic grants 1024
            bytes inline. With --like e810 it grants as much as an Intel E810, refuses what that refuses,
            and returns its errors; 'urnic personalities e810' says what of this is known, and from where.
            The program requests 200 bytes inline for its messages.
            """,
            programs=pair(
                "works", server_nic="--like e810", client_nic="--like e810", may_fail=("server", "client")
            ),
            questions=(
                Question(
                    "What happens?",
                    choices=(
                        "the queue pair for the messages cannot be made",
                        "the first message is refused when it is posted",
                        "all goes well: what is too long is not sent inline",
                    ),
                    truth=end_on_e810,
                    expected="a",
                    why=(
                        "The queue pair cannot be made: an E810 has 101 bytes at most, and no query "
                        "tells beforehand. perftest's default of 220 bytes was reported to fail there"
                        " in the same way."
                    ),
                ),
            ),
            expects=(
                Expect(
                    "the program ended because the NIC refuses the queue pair.",
                    lambda seen: end_on_e810(seen) == "a",
                    "works.c was changed: decision 2 should request 200 bytes inline, and nothing else.",
                ),
            ),
        ),
        Exercise(
            "As much inline as there is",
            "mended.c",
            (
                "GAP 2, make_message_qp(): what does the program do where the NIC refuses? "
                "init->cap.max_inline_data must say in the end what the queue pair has."
            ),
        ),
        Experiment(
            name="like-mended",
            title="Mended: urnic run --like",
            text="The same with your decision.",
            programs=pair("mended", server_nic="--like e810", client_nic="--like e810"),
            hint=(
                "mended.c, GAP 2: the function returns NULL when the NIC refuses 200 bytes inline. "
                "What else can it request?"
            ),
            expects=(EVERY_BLOCK,),
            after="""
            The program found out what it got, and sends its messages without IBV_SEND_INLINE here. --like
            strict grants what all of these NICs grant: question 3 of README.md.
            """,
        ),
        Experiment(
            name="chaos",
            title="Fault 3: urnic chaos",
            text="""
            Verbs promise less than this NIC does. With --chaos it does what the rules allow and no program
            may forbid, and draws from a seed what, and when. 'urnic chaos' tries seeds until the program
            fails, and then looks for the behavior that does it. Here it has five behaviors that are about
            order and time ('urnic chaos --list' has all of them). The replica waits for the last word of a
            block, and takes the others for there.
            """,
            programs=chaos("works"),
            recordings_of="plain",
            questions=(
                Question(
                    "Is a block always whole when its last word is there?",
                    choices=("yes: the NIC writes bytes in the order in which they came", "no"),
                    truth=lambda seen: "b" if is_torn(seen) else "a",
                    expected="b",
                    why=(
                        "No. The bytes of one message have no order until a completion: packets may "
                        "be written in any order, and the pieces of a packet, too. (Programs that "
                        "wait for the last byte rely on more; ibv_query_qp_data_in_order() asks a NIC"
                        " whether it promises that.)"
                    ),
                ),
            ),
            expects=(
                Expect(
                    "a seed was found with which blocks are torn.",
                    is_torn,
                    "No seed has torn a block this time: a race shows now and then. Try again.",
                ),
                Expect(
                    "it lists the behaviors that may have done it.",
                    lambda seen: re.search(r"(?s)(enough|has these behaviors):.*: ", seen.output("chaos")),
                    "No behavior was named. Try again.",
                ),
            ),
            after=(
                "'urnic explain last-bytes-first' has the rule that permits it. The last line of the "
                "output repeats the failure."
            ),
        ),
        Exercise(
            "When a block is there",
            "mended.c",
            (
                "GAP 3, opcode_of_block() and wait_for_block(): which operation gives the replica a "
                "completion, and for what does the replica wait?"
            ),
        ),
        Experiment(
            name="chaos-mended",
            title="Mended: urnic chaos",
            text="The same seeds with your decision.",
            programs=chaos("mended"),
            recordings_of="plain",
            expects=(
                Expect(
                    "the program ended well with each seed.",
                    lambda seen: "and the program ends with exit code 0 with each" in seen.output("chaos"),
                    lambda seen: f"mended.c, GAP 3: it fails.\n{seen.output('chaos').strip()}",
                ),
            ),
        ),
        Experiment(
            name="checked",
            title="Fault 4: the recording",
            text="""
            The last fault is in no result, but on the wire: in the packets of the first run, which were
            recorded. 'urnic check' judges them by the rules of RoCEv2, and says what else is worth saying.
            The replica has one receive for messages, and posts it again at once; the primary sends eight
            messages at a time.
            """,
            programs=(Program("check", "urnic check plain-server.pcapng", is_plain=True),),
            recordings_of="plain",
            questions=(
                Question(
                    (
                        "How often did the replica's NIC refuse a message because there was no "
                        "receive (RNR NAK)?"
                    ),
                    choices=("never: all messages have arrived", "fewer than 8 times", "8 times or more"),
                    truth=how_many_refusals,
                    expected=lambda letter: letter != "a",
                    why=(
                        "Often. Each refusal costs the time of min_rnr_timer, and the primary sends "
                        "all later messages again. It works only because rnr_retry is 7 (without "
                        "end); with less, the primary gives up."
                    ),
                ),
            ),
            expects=(
                Expect(
                    "the packets keep the rules, and there are events: rnr-nak.",
                    lambda seen: "rnr-nak" in seen.output("check")
                    and "verdict: clean" in seen.output("check"),
                    (
                        "works.c was changed: decision 4 should be one receive. 'urnic lab 15 "
                        "--restart' makes the recordings again."
                    ),
                ),
                Expect(
                    "messages were sent again.",
                    lambda seen: repetitions(seen) > 0,
                    "No message was sent again.",
                ),
            ),
        ),
        Exercise(
            "A receive for each message",
            "mended.c",
            (
                "GAP 4, receives_for_messages(): how many receives does it take so that no message "
                "finds none? (decisions.h says how many the primary sends at once.)"
            ),
        ),
        Experiment(
            name="mended",
            title="Mended: the recording",
            text="The mended program, without any tool.",
            programs=pair("mended"),
            expects=(
                EVERY_BLOCK,
                Expect(
                    "no message was refused.",
                    lambda seen: refusals(seen) == 0,
                    lambda seen: f"mended.c, GAP 4: {refusals(seen)} RNR NAKs.",
                ),
            ),
            after="""
            All four tools are content now. That is no proof: they see what this run of the program did.
            What none of them can tell is in FROM_URNIC_TO_HARDWARE.md, together with a check list for the
            day before.
            """,
        ),
    ),
)
