# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 1: the objects of verbs and their order, from an unmodified ping-pong to a program of one's own."""
from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say, pair

PINGPONG = "ibv_rc_pingpong -d urnic0 -g 1 -n 3 -s 2500 -m 1024 -p {port}"
MESSAGE = len("first light!!!")


def receives_come_first(seen):
    """The server's receive was posted before the SEND came."""
    (posted,) = [note.time for note in seen.trace.told("post_receive", "server")]
    (send,) = seen.trace.requests("client")
    return posted < send.times["server"]


def states(seen, side):
    return [note.state for note in seen.trace.told("modify", side)]


def header_of_the_queue_pair(seen):
    """The letter of the header that has a number which is the receiver's queue pair in every request of the
    client."""
    (receiver,) = {note.qp for note in seen.trace.told("modify", "server")}
    headers = {"a": "IPv4", "b": "UDP", "c": "BTH"}
    packets = seen.trace.requests("client")
    (letter,) = [
        letter
        for letter, header in headers.items()
        if all(packet.field(f"{header}.Destination QP") == receiver for packet in packets)
    ]
    return letter


LAB = Lab(
    title="First light",
    minutes=40,
    understand=(
        "which objects a program makes before the first packet, in which order, and what each is for",
        "what RoCEv2 looks like on the wire: IP, UDP port 4791, BTH, payload, ICRC",
        "that posting only asks for work, and that a completion says how it ended",
    ),
    needs={"ibv_rc_pingpong": "ibverbs-utils"},
    picture="first-light",
    steps=(
        Say(
            "Where the NIC is",
            """
            'urnic run -- PROGRAM' starts any program that uses libibverbs, and gives it an RDMA device, urnic0. The device is
            software; its packets are real. In another terminal, look at it:

              urnic run -- ibv_devinfo -v -d urnic0

            Find: state (PORT_ACTIVE), active_mtu (the largest path MTU of this network), max_qp (how many queue pairs there may be), and the
            GIDs, which are its addresses. With RoCEv2 a GID is an IP address: GID[0] is link-local, GID[1] is the IPv4 address, written
            as an IPv6 one (::ffff:a.b.c.d), GID[2] the IPv6 address if the host has one (fact 11 of transport/FACTS.md); a number
            may be missing. The GIDs after these are further addresses of the host; 127.0.0.1 is reached only from this host.
            You tell each program which GID to use. To take the wrong GID is the most frequent mistake of all.
            """,
        ),
        Experiment(
            name="pingpong",
            title="An unmodified ping-pong",
            text="""
            ibv_rc_pingpong comes with rdma-core, and knows nothing about urnic. The client sends a message, the server sends one back, and so
            on: here three times, 2500 bytes each. -g 1 is the GID index, -m 1024 the path MTU: how much payload one packet carries at most.
            First the two programs tell each other their addresses over TCP; these packets are not in the recording.
            """,
            programs=(
                Program("server", PINGPONG),
                Program("client", PINGPONG + " localhost", waits_for_listener=True),
            ),
            questions=(
                Question(
                    "How many packets with data does the client send in all?",
                    truth=lambda seen: len(seen.trace.requests("client", again=False)),
                    expected=9,
                    why="A message of 2500 bytes needs three packets at a path MTU of 1024: 1024 + 1024 + 452, SEND First, Middle and Last. Three messages make nine.",
                    unit="packets",
                ),
                Question(
                    "To which UDP port do they go?",
                    truth=lambda seen: (
                        *{packet.field("UDP.Destination port") for packet in seen.trace.packets},
                    )[0],
                    expected=4791,
                    why="RoCEv2 is the InfiniBand transport inside of UDP, and 4791 is its port (fact 6). The source port differs from connection to connection, so that routers can send connections over different paths.",
                ),
                Question(
                    "IP address and UDP port lead to the NIC. In which header is the number of the receiving queue pair?",
                    choices=("IPv4", "UDP", "BTH, the base transport header"),
                    truth=header_of_the_queue_pair,
                    expected="c",
                    why="All queue pairs of a NIC share UDP port 4791: the BTH has 24 bits for the number of the queue pair. It also has the opcode and the PSN, the packet sequence number.",
                ),
            ),
            expects=(
                Expect(
                    "each program was told of three receives and three sends, each with one completion.",
                    lambda seen: all(
                        len(seen.trace.completions(side, queue, "SUCCESS")) == 3
                        for side in ("server", "client")
                        for queue in ("send", "receive")
                    ),
                    "There are not three completions of each kind: was something else running on this connection?",
                ),
            ),
            after="""
            Posts and completions are not packets: one post of 2500 bytes became three packets, and one completion. The NIC cuts the message,
            and the receiving NIC puts it together; neither program sees a packet.
            """,
        ),
        Exercise(
            "Your own program",
            "first_light.c",
            """
            first_light.c sends one message from the client to the server. It has six gaps, in the order in which objects depend on each other:

              device -> context -> protection domain (PD) -> memory region (MR)
                                                          -> queue pair (QP), which needs completion queues (CQ)

            Gaps 1 to 4 make PD, CQ, MR and QP. Gap 5 posts a receive at the server: a place for a message that will come. Gap 6 posts the
            send at the client. Each gap names the function; 'man ibv_create_cq' (package libibverbs-dev) shows its arguments. When you
            run the program, it says which gap is still open.

            The address vector (AV), the last of the objects, is filled in already: see .ah_attr in connect_qp(). It says where the peer is.
            """,
        ),
        Experiment(
            name="first-light",
            title="First light",
            text="""The client sends "first light!!!", 14 bytes.""",
            programs=pair("first_light"),
            hint="Edit first_light.c: fill in this gap and build it again with 'make'.",
            questions=(
                Question(
                    "How many packets are on the wire in all, in both directions?",
                    truth=lambda seen: len(
                        [packet for packet in seen.trace.packets if not packet.is_repeated]
                    ),
                    expected=2,
                    why="One SEND Only with the data, and one acknowledgement (ACK) from the server's NIC. The server's program took no part in the ACK.",
                    unit="packets",
                ),
                Question(
                    "The payload on the wire is a multiple of 4 bytes. How many bytes of padding follow these 14?",
                    truth=lambda seen: seen.trace.requests("client")[0].field("BTH.Pad count"),
                    expected=-MESSAGE % 4,
                    why="16 is the next multiple of 4. The count is in the BTH, so that the receiver knows how long the message really was (fact 3).",
                    unit="bytes",
                ),
                Question(
                    "How many completions do both programs get together?",
                    truth=lambda seen: len(seen.trace.completions("server"))
                    + len(seen.trace.completions("client")),
                    expected=2,
                    why="The server's receive completes when the message is in memory, and the client's send when the ACK has come.",
                    unit="completions",
                ),
            ),
            expects=(
                Expect(
                    "a SEND Only of 14 bytes with PSN 100, which is the number that the client chose.",
                    lambda seen: [
                        (packet.label, packet.payload, packet.psn)
                        for packet in seen.trace.requests("client", again=False)
                    ]
                    == [("SEND Only", MESSAGE, 100)],
                    lambda seen: f"GAP 6 should send 'part' once; the client sent: {', '.join(map(str, seen.trace.requests('client'))) or 'nothing'}.",
                ),
                Expect(
                    "both queue pairs went through INIT and RTR to RTS.",
                    lambda seen: states(seen, "server") == states(seen, "client") == ["INIT", "RTR", "RTS"],
                    "connect_qp() should lead through INIT, RTR and RTS.",
                ),
                Expect(
                    "the receive was posted before the message came.",
                    receives_come_first,
                    "GAP 5: the server must post its receive before wait_for_each_other(), or the message finds no place.",
                ),
                Expect(
                    "the ACK counts one message as complete: its MSN, the message sequence number, is 1.",
                    lambda seen: [packet.msn for packet in seen.trace.sent("server", "ack")][-1] == 1,
                    "The server's NIC should acknowledge one message.",
                ),
            ),
            after="""
            In the picture you will see the whole life of the message: post_send at the client, the packet, its way to the server, the completion of
            the receive there, the ACK, and only then the completion of the send.
            """,
        ),
    ),
)
