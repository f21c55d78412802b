# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Lab 14: one key-value server over sockets, rsockets, SEND and RECV, and RDMA READ; what each costs, and
what READ leaves to the program."""
import itertools
import re

from runner.lab import Exercise, Expect, Experiment, Lab, Program, Question, Say

# As in kv.h and kv.c; GETS as the experiments below say.
GETS, SMALL, LARGE, VERSION, MTU = (20, 64, 16384, 8, 1024)
REQUEST_BYTES = 8
HOT_BYTES = (1, 2)  # of the value that the server changes: key 0; the bytes of key 1 stay 2
MUCH_LESS = 1 / 4


def programs(name, server="", client="", gets=GETS):
    return Program("server", f"./kv_{name} {server}".strip()), Program(
        "client", f"./kv_{name} localhost {gets} {client}".strip()
    )


# --- Packets ---


def data_packets(seen):
    """In the order in which they were sent, without the connection manager's packets."""
    return sorted(
        (
            packet
            for packet in seen.trace.packets
            if packet.kind in ("request", "response", "ack", "nak", "rnr")
        ),
        key=lambda packet: packet.time,
    )


def per_get(seen, bytes, is_request, has_finish):
    """Packets between the first request for values of this size and the last one's end, for each get.
    `has_finish`: one more request says that there are no more."""
    times = [packet.time for packet in seen.trace.requests("client", again=False) if is_request(packet)]
    of_a_size = GETS + has_finish
    begin = times[0 if bytes == SMALL else of_a_size]
    behind = times[of_a_size * (1 if bytes == SMALL else 2) - has_finish :]
    return round(
        sum(begin <= packet.time and (not behind or packet.time < behind[0]) for packet in data_packets(seen))
        / GETS
    )


def messages_per_get(seen, bytes):
    return per_get(seen, bytes, lambda packet: packet.payload == REQUEST_BYTES, 1)


def reads_per_get(seen, bytes):
    return per_get(seen, bytes, lambda packet: packet.label == "READ", 0)


def refusals(seen):
    return [packet for packet in seen.trace.packets if packet.kind == "rnr"]


def times_of(seen, what, queue=None):
    """When the client's NIC told so, in order."""
    return sorted(note.time for note in seen.trace.told(what, "client") if queue in (None, note.queue))


# --- Sockets and rsockets ---


def segments(seen):
    """TCP segments of each get, as the kernel has counted them."""
    return [round(float(number)) for number in re.findall(r"segments=([\d.]+)", seen.output("client"))]


def data_operation(seen):
    """The letter: what carries the values."""
    labels = {packet.label for packet in seen.trace.requests("server")}
    return (
        "b"
        if any("WRITE" in label and "Immediate" in label for label in labels)
        else "a"
        if any("SEND" in label for label in labels)
        else "c"
    )


def places(seen):
    """Where the server's NIC writes at the client, in order."""
    return [
        packet.field("RETH.Virtual address")
        for packet in seen.trace.requests("server", again=False)
        if packet.field("RETH.Virtual address")
    ]


# --- SEND and RECV ---


def of_gets(times):
    """Without the last request of each size, which says that there are no more."""
    return [time for number, time in enumerate(times) if number % (GETS + 1) != GETS]


def early_requests(seen):
    """Gets whose request was posted before the receive for the value."""
    return sum(
        receive > request
        for receive, request in zip(times_of(seen, "post_receive"), of_gets(times_of(seen, "post_send")))
    )


def hasty_gets(seen):
    """Gets that the client requested before the get before had both of its completions."""
    done = zip(of_gets(times_of(seen, "completion", "send")), times_of(seen, "completion", "receive"))
    return sum(max(pair) > request for pair, request in zip(done, of_gets(times_of(seen, "post_send"))[1:]))


# --- READ ---


class Read:
    """A READ of the client, with what came back."""

    def __init__(self, request, value):
        self.place, self.value = request.field("RETH.Virtual address"), value

    @property
    def is_complete(self):
        """False when packets were lost or repeated: then it is hard to say what the program got."""
        return len(self.value) in (SMALL, LARGE)

    @property
    def is_mixed(self):
        return len(set(self.value[VERSION:-VERSION])) > 1

    @property
    def has_one_version(self):
        return self.value[:VERSION] == self.value[-VERSION:]


def reads(seen):
    """In order."""
    packets = seen.trace.packets
    requests = [packet for packet in seen.trace.requests("client", again=False) if packet.label == "READ"]
    return [
        Read(
            request,
            b"".join(
                packets[index].payload_bytes()
                for index in sorted(request.answers, key=lambda index: packets[index].psn)
            ),
        )
        for request in requests
    ]


def wrong_place(seen):
    """READs of small values lie 64 bytes apart, by key; READs of large values 16 KiB."""
    found = [read.place for read in reads(seen)]
    return next(
        (
            number
            for number, (one, other) in enumerate(itertools.pairwise(found))
            if number % GETS not in (15, GETS - 1) and other - one != (SMALL if number < GETS else LARGE)
        ),
        None,
    )


def took_part(seen):
    """What the server's program has posted, and the completions that it had."""
    return (
        len(seen.trace.told("post_send", "server"))
        + len(seen.trace.told("post_receive", "server"))
        + len(seen.trace.completions("server"))
    )


def mixed(seen):
    return [read for read in reads(seen) if read.is_complete and read.is_mixed]


def followed(seen):
    """(a READ, whether the client read the same value again), without the last one, and without incomplete
    ones."""
    return [
        (read, read.place == next_one.place)
        for read, next_one in itertools.pairwise(reads(seen))
        if read.is_complete
    ]


def taken_though_mixed(seen):
    return sum(read.is_mixed and not again for read, again in followed(seen))


def repeated_in_vain(seen):
    return sum(read.has_one_version and again for read, again in followed(seen))


# --- The table ---


def figures(seen, transport, bytes):
    """A row of the table: {"program": 0.1, ...}"""
    rows = seen.output("table").partition(f"Values of {bytes} bytes:")[2].splitlines()
    numbers = next(row for row in rows if row.startswith(transport)).removeprefix(transport).split()
    return dict(
        zip(
            ("gets", "median", "99 %", "client", "process", "program", "sleeps", "packets"),
            map(float, numbers),
        )
    )


def least_work(seen):
    """The letter: the READ server's program, compared with the TCP server's."""
    share = max(
        figures(seen, "READ", size)["program"] / figures(seen, "TCP", size)["program"]
        for size in (SMALL, LARGE)
    )
    return "c" if share < MUCH_LESS else "b" if share < 0.75 else "a"


def where_the_nic_is(seen):
    """The letter: the READ server's process beside its program's thread."""
    row = figures(seen, "READ", LARGE)
    return "b" if row["process"] * MUCH_LESS > row["program"] else "a"


LAB = Lab(
    title="From TCP to RDMA",
    minutes=55,
    understand=(
        "the same server over sockets, rsockets, SEND and RECV, and RDMA READ: who asks, who answers, who copies",
        "what each costs on your machine: time, processor time of both sides, packets; and what these figures say about hardware",
        "why a READ can bring a value that never existed, and how a client notices",
    ),
    needs={"/usr/include/rdma/rsocket.h": "librdmacm-dev"},
    needs_udp_port=True,
    picture="read",
    steps=(
        Say(
            "One server, four transports",
            """
            A key-value server has a table of 16 keys. A client asks for the value of a key, of 64 bytes or of 16 KiB, in a loop, and measures. All
            this is in kv.c, and is the same each time. Four short files have the transports:

              tcp.c       sockets: send() and recv()
              rsocket.c   the same calls with an r in front, from librdmacm: sockets on RDMA
              send.c      messages: a SEND asks, a SEND answers
              read.c      RDMA READ: the client reads the server's memory

            Each of them has the same four functions, which kv.h describes: connect, serve, get, and finish. First you see the packets of each
            transport. At the end you measure all four without a recording, because recording costs time.
            """,
        ),
        Experiment(
            name="tcp",
            title="Sockets",
            text="Read tcp.c first. The client gets 500 small values and 500 large ones. There is no RDMA in it, so no recording: the kernel counts the segments (TCP_INFO).",
            programs=tuple(
                Program(program.name, program.command, is_plain=True) for program in programs("tcp", gets=500)
            ),
            questions=(
                Question(
                    "How many TCP segments does a get of 64 bytes take, both ways together, acknowledgements included?",
                    truth=lambda seen: segments(seen)[0],
                    expected=2,
                    why="A request and an answer. The answer carries the acknowledgement of the request, and the next request carries the acknowledgement of the answer.",
                    unit="segments",
                ),
            ),
            expects=(
                Expect(
                    "the large values took about two segments, too: on one host a segment may have 64 KiB.",
                    lambda seen: segments(seen)[1] in (2, 3, 4),
                    lambda seen: f"The large values took {segments(seen)[1]} segments each.",
                ),
            ),
            after="""
            For each get the server's program makes two system calls: recv(), in which it sleeps, and send(). The kernel copies the value twice: from the
            server's table into memory of its own, and from there into the client's.
            """,
        ),
        Experiment(
            name="rsocket",
            title="The same calls on RDMA",
            text="Compare rsocket.c with tcp.c. Inside these calls librdmacm connects, registers memory and posts work requests; the packets show which.",
            programs=programs("rsocket"),
            questions=(
                Question(
                    "What carries the values?",
                    choices=("SENDs", "RDMA WRITEs with immediate", "responses of RDMA READs"),
                    truth=data_operation,
                    expected="b",
                    why="WRITEs with immediate. The library writes into a buffer that the peer's library has registered; the immediate tells how many bytes came, and a receive without memory takes it.",
                ),
            ),
            expects=(
                Expect(
                    "no value went over TCP.",
                    lambda seen: segments(seen) == [0, 0],
                    lambda seen: f"{segments(seen)} TCP segments for each get.",
                ),
                Expect(
                    "the server's NIC wrote to many places, though the client's program receives all values into one: the places are in a buffer of the library.",
                    lambda seen: len(set(places(seen))) > GETS,
                    "The WRITEs should go to many places.",
                ),
            ),
            after="""
            Sockets promise that the program may use its memory again when send() returns, and that recv() puts bytes wherever the program wants them at that
            moment. A NIC can promise neither. So rsockets copies, as the kernel does: rsend() into a buffer of the library, rrecv() out of one. To
            avoid the copies, a program must be written for RDMA.

            A get costs more than two messages now and then: WRITEs of 16 bytes tell the peer that there is room again (lab 6 has such credits). The
            library cuts a large value into several WRITEs.
            """,
        ),
        Exercise(
            "Request and answer as messages",
            "send.c",
            """
            Four gaps. The answer leaves from the table itself, which is registered: no program copies a value.

            - GAP 1, be_ready_for_a_request(): the server posts a receive for the next request.
            - GAP 2, answer(): the server sends a value from where it is. end_part() of end.h describes a part of the memory.
            - GAP 3, transport_get(): the client posts its request, and a receive for the value. Think of the order.
            - GAP 4, transport_get(): it returns when the value is there, and the request's memory is free for the next one (lab 7). How many completions does it wait for?
            """,
        ),
        Experiment(
            name="send",
            title="SEND and RECV",
            text="20 gets of 64 bytes and 20 of 16 KiB, with your send.c. The path MTU is 1024.",
            programs=programs("send"),
            hint="Edit send.c. Bytes of another key: GAP 2 sends the wrong part of the table, or GAP 4 returns before the value is there. A status, or no completion: does each receive have the right place and length (GAP 1, GAP 3)?",
            questions=(
                Question(
                    "How many packets does a get of 64 bytes take, both ways together, acknowledgements included?",
                    truth=lambda seen: messages_per_get(seen, SMALL),
                    expected=4,
                    why="SEND, ACK, SEND, ACK. An ACK of RC is a packet of its own; it cannot travel in a SEND, as the acknowledgement of TCP does.",
                    unit="packets",
                ),
                Question(
                    "And a get of 16 KiB?",
                    truth=lambda seen: messages_per_get(seen, LARGE),
                    expected=LARGE // MTU + 3,
                    why="The request and its ACK, 16 packets with the value, and one ACK for all of them.",
                    unit="packets",
                ),
            ),
            expects=(
                Expect(
                    "no message was refused: each found a receive.",
                    lambda seen: not refusals(seen),
                    lambda seen: f"{len(refusals(seen))} RNR NAKs: a receive was posted after its message had come. send.c: GAP 1 for the server, GAP 3 for the client.",
                ),
                Expect(
                    "the client posted each receive before the request that it is for.",
                    lambda seen: early_requests(seen) == 0,
                    lambda seen: f"send.c, GAP 3: {early_requests(seen)} requests were posted before the receive for the value.",
                ),
                Expect(
                    "each get was complete, request and value, before the next one began.",
                    lambda seen: hasty_gets(seen) == 0,
                    lambda seen: f"send.c, GAP 4: {hasty_gets(seen)} gets began before the one before them had both of its completions.",
                ),
            ),
            after="""
            The copies are gone: the server's NIC takes the value from the table, the client's NIC puts it where the program has asked for it. But the
            server's program still works for each get: it notices the request, posts a receive and a SEND.
            """,
        ),
        Exercise(
            "The client reads by itself",
            "read.c",
            """
            transport_serve() is empty here. Leave it so. Fill in two gaps now; leave GAP 3 as it is.

            - GAP 1, rights(): the rights that the peer gets in this end's memory. No more than it needs (lab 8).
            - GAP 2, find(): the address of the value in the server's memory, and the key that opens it. The table is at the beginning of that memory; struct address of end.h is what both ends have told each other.
            """,
        ),
        Experiment(
            name="read",
            title="RDMA READ",
            text="The same gets with your read.c.",
            programs=programs("read"),
            hint="Edit read.c. Status 9: the rights of GAP 1. Status 10: the address or the key of GAP 2. Bytes of another key: the address.",
            questions=(
                Question(
                    "How many packets does a get of 64 bytes take?",
                    truth=lambda seen: reads_per_get(seen, SMALL),
                    expected=2,
                    why="The request and its response. The response is the acknowledgement, too.",
                    unit="packets",
                ),
                Question(
                    "And a get of 16 KiB?",
                    truth=lambda seen: reads_per_get(seen, LARGE),
                    expected=LARGE // MTU + 1,
                    why="One request, and 16 packets of response. They are not acknowledged: if one is missing, the client's NIC asks again (fact 26).",
                    unit="packets",
                ),
                Question(
                    "How many work requests does the server's program post, SENDs and receives, and how many completions does it get, for all 40 gets together?",
                    truth=took_part,
                    expected=0,
                    why="None. The server's program sleeps, and does not know that it is being read, by whom, or how often.",
                    unit="posts and completions",
                ),
            ),
            expects=(
                Expect(
                    "each READ asked for the place of its key: 64 bytes or 16 KiB after the place of the key before.",
                    lambda seen: wrong_place(seen) is None,
                    lambda seen: f"read.c, GAP 2: READ number {wrong_place(seen) + 1} does not lie where the value of the next key is.",
                ),
                Expect(
                    "no value went over TCP.",
                    lambda seen: segments(seen) == [0, 0],
                    lambda seen: f"{segments(seen)} TCP segments for each get.",
                ),
            ),
            after="""
            The server has less work, but it has also lost something: it cannot refuse a single get, count gets, or move a value to another place. The
            client must know where each value is; here this is simple arithmetic. Real systems read an index first, and need two READs or more for
            a get.
            """,
        ),
        Experiment(
            name="trusting",
            title="A READ while the server writes",
            text="""
            Now the server's program has work of its own: again and again it changes the value of key 0. A change takes a millisecond or more, then the
            program rests as long. All bytes of a value are equal, except for the versions at both ends; each change makes all of them 1, or all 2.
            The client gets key 0 and key 1 in turn, 40 gets of 16 KiB, and takes each value as it comes.
            """,
            programs=programs("read", "change", "change trust", gets=40),
            hint="Edit read.c.",
            questions=(
                Question(
                    "Does the client get values that are old in one part and new in the other?",
                    choices=(
                        "yes",
                        "no: a READ is atomic",
                        "no: the server's NIC waits until the program has finished",
                    ),
                    truth=lambda seen: "a" if mixed(seen) else "b",
                    expected="a",
                    why="Yes. The server's NIC reads memory when it makes each packet, and knows nothing about the program. All packets are right, the status is 0, and the value never existed.",
                ),
            ),
            expects=(
                Expect(
                    "mixed values were of key 0 only, and the client read none of them again.",
                    lambda seen: len({read.place for read in mixed(seen)}) == 1
                    and taken_though_mixed(seen) >= len(mixed(seen)) - 1,
                    "The client should take what comes, with the word 'trust'.",
                ),
            ),
            after="With SEND and RECV this does not happen here: the server's program does not send a value while it changes it. With READ there is no order between the change and the READ.",
        ),
        Exercise(
            "Whole or not",
            "read.c",
            """
            A value begins with its version and ends with it. change_value() in table.c raises the last version, writes the
            bytes, then raises the first version.

            GAP 3, is_whole(): does all of this value have one version? transport_get() reads again until it says yes. The values of the other experiments are never
            changed: for them it must say yes, too.
            """,
        ),
        Experiment(
            name="checking",
            title="Read again",
            text="The same server, and a client that looks at the versions.",
            programs=programs("read", "change", "change", gets=40),
            hint="Edit read.c.",
            expects=(
                Expect(
                    "the server was caught at a change: READs brought mixed values.",
                    lambda seen: mixed(seen),
                    "No READ came during a change this time: run it again.",
                ),
                Expect(
                    "the client read each of them again.",
                    lambda seen: taken_though_mixed(seen) == 0,
                    lambda seen: f"read.c, GAP 3: {taken_though_mixed(seen)} mixed values were taken.",
                ),
                Expect(
                    "and read nothing again whose two versions are equal.",
                    lambda seen: repeated_in_vain(seen) == 0,
                    lambda seen: f"read.c, GAP 3: {repeated_in_vain(seen)} READs were repeated, though the value had one version.",
                ),
            ),
            after="""
            A repeated READ costs the client time, and the server's program nothing. It does the work of a lock without a lock, and is good when
            changes are rare. It works because the NIC reads the first version before the last one, and the server writes them in the other order.
            README.md asks whether anything promises this.
            """,
        ),
        Experiment(
            name="table",
            title="The table",
            text="""
            Now without recording: 2000 gets of each size, or as many as fit into half a second, over each transport. SEND is measured twice: with a server that
            polls for requests, and with one that sleeps until a completion makes an event. The table has for each get:

            - median, 99 %: how long it took; one get in a hundred took longer than "99 %"
            - client, server: processor time of the whole process, with all threads
            - of it, program: processor time of the server's thread that runs main(): the program without the NIC's own threads
            - server sleeps: how often this thread gave its processor away, to wait
            - packets: from your recordings; for TCP, segments that the kernel has counted
            """,
            programs=(Program("table", "python3 measure.py", is_plain=True),),
            recordings_of="read",
            questions=(
                Question(
                    "How much processor time does the server's program need for a get by READ, beside one by TCP?",
                    choices=("about as much", "about half", "less than a quarter"),
                    truth=least_work,
                    expected="c",
                    why="Hardly any: the table shows the time that it needs to fall asleep before the first get and to wake up after the last one.",
                ),
                Question(
                    "And the server's whole process, on this machine, by READ?",
                    choices=("hardly any, too", "far more than its program"),
                    truth=where_the_nic_is,
                    expected="b",
                    why="Far more. urnic is a NIC made of software, and a thread of it in the server's process answers the READs. With a NIC of hardware this part is not there: the NIC has its own processor.",
                ),
            ),
            expects=(
                Expect(
                    "the server's program did not sleep and wake for each READ, as it did for TCP.",
                    lambda seen: all(
                        figures(seen, "READ", size)["sleeps"]
                        < MUCH_LESS * figures(seen, "TCP", size)["sleeps"]
                        for size in (SMALL, LARGE)
                    ),
                    "The server's program should sleep from the first READ to the last.",
                ),
                Expect(
                    "the server that polls never slept in the kernel to wait for a request.",
                    lambda seen: all(
                        figures(seen, "SEND, polls", size)["sleeps"] < MUCH_LESS for size in (SMALL, LARGE)
                    ),
                    "kv_send without the word 'sleep' should poll.",
                ),
            ),
            after="""
            Read the table with care:

            - Both programs run on one host. TCP does not leave the kernel there: it makes two copies, and no packets of 1500 bytes. urnic makes real RoCEv2 packets of 1024 bytes of payload, with a checksum over each, on the processor. TCP may well be faster here.
            - A program that polls is quick as long as it has a processor, but it needs a whole processor, with or without work. A program that sleeps must be woken: this is most of its latency. The READ server's program does not poll, so here the NIC's own thread may have to be woken; a hardware NIC does not sleep.
            - The figures contain the work of the NIC. It is in the process; and in the time of a thread that posts and polls, because urnic also works inside of ibv_post_send() and ibv_poll_cq(). A hardware NIC takes this work away. It does not take away the program's work: copies, system calls, waking up, polling.
            - Between two hosts there is a cable, for all four transports, and the kernel or its network card cuts TCP's data into packets. This lab has not measured that.
            """,
        ),
    ),
)
