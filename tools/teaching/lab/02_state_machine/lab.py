# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 2: the states of a queue pair, and five statuses of failure made on purpose."""
from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

STATES = {"RESET": "a", "INIT": "b", "RTR": "c", "RTS": "d"}
FAILED = "GAP {0}: the client's work request should end with status {0}."
REMOTE_ACCESS_ERROR = 0x62
RETRIES, RNR_RETRIES = 3, 2  # what before_connecting() sets


def state_of_the_first(seen, what):
    """The letter of the state in which the first post of this kind was taken."""
    (first, *_) = seen.trace.told(what)
    return STATES[[note.state for note in seen.trace.told("modify") if note.time < first.time][-1]]


def ended_with(status):
    """The client's completions, and that there is no other status among them."""
    return lambda seen: {note.status for note in seen.trace.completions("client")} == {status}


def requests(seen):
    return seen.trace.requests("client")


def ends_in_error(seen):
    """The letter: which queue pairs a NIC has told to be in ERR, or flushed."""
    sides = {note.side for note in seen.trace.told("state") if note.state == "ERR"}
    return {("client",): "a", ("server",): "b", ("client", "server"): "c"}[tuple(sorted(sides))]


def gap(status, text):
    return f"{FAILED.format(status)} {text}"


LAB = Lab(
    title="The state machine",
    minutes=50,
    understand=(
        "what each state of a queue pair allows, and which attributes each transition needs",
        "what the statuses 4, 5, 10, 12 and 13 mean: you make each of them on purpose",
        "which failures reach the wire, and which side notices them",
    ),
    picture="status-13",
    steps=(
        Say(
            "Five states",
            """
            A queue pair begins in RESET. The program leads it, with ibv_modify_qp(), to INIT (which port), to RTR, "ready to receive"
            (where the peer is, which PSN comes from there), and to RTS, "ready to send" (our PSN, and how often and how long to try). Each
            step has attributes that the mask must name: ibv_modify_qp() ignores an attribute whose bit is not set in the mask, and refuses
            a transition that lacks an attribute with EINVAL.

            Any failure of a work request leads to the last state, ERR. Work requests that are posted in ERR, or were posted before and are
            not done, are flushed: they complete with status 5. Only a transition to RESET leads out of ERR.
            """,
        ),
        Exercise(
            "The masks",
            "walk.c",
            """
            walk.c leads one queue pair from RESET to RTS, connected to itself, and tries in each state to post a receive and a send. Its three
            masks name IBV_QP_STATE alone. Add what each transition of a reliable connection (RC) needs: 'man ibv_modify_qp' has the table.
            The structs beside the masks are only a hint: an attribute that they leave out is 0, but the mask may still have to name it.
            """,
        ),
        Experiment(
            name="walk",
            title="What each state allows",
            text="walk tries both verbs in RESET, INIT, RTR and RTS.",
            programs=(Program("program", "./walk"),),
            hint="Edit walk.c: fill in this gap.",
            questions=(
                Question(
                    "What is the first state in which a receive can be posted?",
                    choices=tuple(STATES),
                    truth=lambda seen: state_of_the_first(seen, "post_receive"),
                    expected="b",
                    why="In INIT already. So a program can post its receives before RTR, when the first packet may come, and the NIC need not refuse any message.",
                ),
                Question(
                    "And a send?",
                    choices=tuple(STATES),
                    truth=lambda seen: state_of_the_first(seen, "post_send"),
                    expected="d",
                    why="In RTS only. Before that, urnic refuses it with EINVAL; the library of another NIC may not check the state, and the request is lost. Do not rely on the check.",
                ),
            ),
            expects=(
                Expect(
                    "the way through the states: RESET, INIT, RTR, RTS.",
                    lambda seen: [note.state for note in seen.trace.told("modify")][-4:]
                    == ["RESET", "INIT", "RTR", "RTS"],
                    "walk should lead through RESET, INIT, RTR and RTS.",
                ),
                Expect(
                    "one SEND with PSN 100, acknowledged: a queue pair can be its own peer.",
                    lambda seen: [packet.label for packet in seen.trace.packets if not packet.is_repeated][:1]
                    == ["SEND Only"]
                    and [packet.psn for packet in seen.trace.packets if packet.kind == "ack"] == [100],
                    "The send that was posted in RTS should be on the wire, with PSN 100.",
                ),
            ),
        ),
        Exercise(
            "Five faults",
            "faults.c",
            """
            faults.c is a client and a server that do everything right. It gets a status as its argument, and has a gap for each:

              4   local protection error: the NIC's own check of the client's memory fails, before the first packet
              5   flushed: the queue pair is in ERR
              10  remote access error: the peer's NIC refuses access to its memory
              12  retry exceeded: no answer, ever
              13  RNR retry exceeded: the peer has no receive posted, again and again

            One line is enough for each. With 'urnic run --explain' the NIC says in words why a work request failed: try it.
            """,
        ),
        Experiment(
            name="status-4",
            title="Status 4: local protection error",
            text="The client posts a WRITE of 100 bytes whose scatter/gather element is wrong.",
            programs=pair("faults", "4"),
            hint="Edit faults.c: before_posting(), GAP 4.",
            questions=(
                Question(
                    "How many packets of this request are on the wire?",
                    truth=lambda seen: len(requests(seen)),
                    expected=0,
                    why="None: the NIC checks key, bounds and rights of the memory that a packet needs before it sends this packet. The peer never knows about it.",
                    unit="packets",
                ),
            ),
            expects=(
                Expect(
                    "the client's WRITE ended with LOC_PROT_ERR.",
                    ended_with("LOC_PROT_ERR"),
                    gap(4, "lkey or addr of the element can be wrong."),
                ),
            ),
        ),
        Experiment(
            name="status-5",
            title="Status 5: flushed",
            text="The client posts three receives, for messages that never come, and takes its queue pair to ERR.",
            programs=pair("faults", "5"),
            hint="Edit faults.c: flush(), GAP 5.",
            questions=(
                Question(
                    "How many of the three receives complete?",
                    truth=lambda seen: len(seen.trace.completions("client", "receive", "WR_FLUSH_ERR")),
                    expected=3,
                    why="All. Each work request that was posted gets its completion, so that the program knows that the NIC is done with its memory. Status 5 is never the cause: look for a completion before it, or for the program that moved the queue pair to ERR.",
                    unit="receives",
                ),
            ),
            expects=(
                Expect(
                    "all completions of the client are WR_FLUSH_ERR.",
                    ended_with("WR_FLUSH_ERR"),
                    gap(5, "ibv_modify_qp() to IBV_QPS_ERR, mask IBV_QP_STATE."),
                ),
            ),
        ),
        Experiment(
            name="status-10",
            title="Status 10: remote access error",
            text="The client writes 100 bytes to the server, whose NIC refuses that.",
            programs=pair("faults", "10"),
            hint="Edit faults.c: before_posting(), GAP 10.",
            questions=(
                Question(
                    "The server's NIC answers with a NAK. Which queue pairs are in ERR afterwards?",
                    choices=("the client's", "the server's", "both"),
                    truth=ends_in_error,
                    expected="c",
                    why="Both. The responder does not trust a peer that wants memory which it must not touch, so it closes its side, too. Flushed receives (status 5) or an event tell the responder's program.",
                ),
                Question(
                    "What is the syndrome of the NAK, in the AETH? (fact 19 of transport/FACTS.md; hexadecimal with 0x)",
                    truth=lambda seen: seen.trace.sent("server", "nak")[0].field("AETH.Syndrome"),
                    expected=REMOTE_ACCESS_ERROR,
                    why="That is 0x62. 0x60 is a PSN sequence error, 0x61 an invalid request, 0x63 a remote operation error (fact 19).",
                ),
            ),
            expects=(
                Expect(
                    "the client's WRITE ended with REM_ACCESS_ERR.",
                    lambda seen: "REM_ACCESS_ERR"
                    in {note.status for note in seen.trace.completions("client", "send")},
                    gap(10, "rkey or remote_addr can be wrong."),
                ),
                Expect(
                    "the NAK carries the PSN of the WRITE.",
                    lambda seen: {packet.psn for packet in requests(seen)}
                    == {packet.psn for packet in seen.trace.sent("server", "nak")},
                    "There should be one WRITE and one NAK.",
                ),
            ),
        ),
        Experiment(
            name="status-12",
            title="Status 12: transport retry exceeded",
            text="The client's packets lead to no queue pair. Its ACK timeout is 4.096 us x 2^12 = 17 ms, its retry_cnt 3.",
            programs=pair("faults", "12"),
            hint="Edit faults.c: before_connecting(), GAP 12.",
            questions=(
                Question(
                    "How often is the request on the wire?",
                    truth=lambda seen: len(requests(seen)),
                    expected=RETRIES + 1,
                    why="Once, and three times again: retry_cnt is the number of repetitions (fact 36).",
                    unit="times",
                ),
                Question(
                    "How many answers come?",
                    truth=lambda seen: len(seen.trace.sent("server")),
                    expected=0,
                    why="None. The NIC drops a packet for a queue pair that does not exist, and sends no answer (fact 14). Status 12 only says that no answer came, and this has many causes: a wrong address, GID, PSN or port, a firewall, a peer that has ended.",
                    unit="answers",
                ),
            ),
            expects=(
                Expect(
                    "the client's WRITE ended with RETRY_EXC_ERR.",
                    ended_with("RETRY_EXC_ERR"),
                    gap(12, "the number of the peer's queue pair can be wrong."),
                ),
                Expect(
                    "each repetition came after an ACK timeout, and the last timeout ended the request.",
                    lambda seen: len(seen.trace.told("ack_timeout", "client")) == RETRIES + 1
                    and all(packet.is_repeated for packet in requests(seen)[1:]),
                    "There should be four ACK timeouts.",
                ),
            ),
        ),
        Experiment(
            name="status-13",
            title="Status 13: RNR retry exceeded",
            text="The client sends to a server that has posted no receive. Its rnr_retry is 2.",
            programs=pair("faults", "13"),
            hint="Edit faults.c: prepare_server(), GAP 13.",
            questions=(
                Question(
                    "How many RNR NAKs come?",
                    truth=lambda seen: len(seen.trace.sent("server", "rnr")),
                    expected=RNR_RETRIES + 1,
                    why="rnr_retry is 2: one transmission and two repetitions, each refused, then status 13 (fact 34). The peer is alive and says so; with status 12 it says nothing.",
                    unit="RNR NAKs",
                ),
                Question(
                    "What does the server's program see of it?",
                    choices=("a completion with status 13", "a completion with status 5", "nothing"),
                    truth=lambda seen: "c"
                    if not seen.trace.completions("server")
                    else "b"
                    if seen.trace.completions("server", status="WR_FLUSH_ERR")
                    else "a",
                    expected="c",
                    why="Nothing: the server's NIC answers alone, and the server's queue pair stays in RTS. Only a counter shows it (out_of_buffer, in 'urnic stat').",
                ),
            ),
            expects=(
                Expect(
                    "the client's SEND ended with RNR_RETRY_EXC_ERR.",
                    ended_with("RNR_RETRY_EXC_ERR"),
                    gap(13, "prepare_server() must not post a receive then."),
                ),
            ),
            after="The picture shows the three attempts, with the RNR timer of 0.64 ms (code 12, fact 35) between them.",
        ),
    ),
)
