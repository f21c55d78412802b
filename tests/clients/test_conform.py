# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic conform`: its agents, which nothing ends that a client says; and urnic as the NIC under test."""
import contextlib
import json
import pathlib
import random
import re
import socket
import subprocess
import threading
import time
import xml.etree.ElementTree

import harness
from harness import ClientTest, wait_until
from python_package import PYTHON
from test_udp import loopback_nics

C_SOURCE = harness.PROJECT / "tools/conformance/conform/agent/agent.c"
PYTHON_SOURCE = C_SOURCE.with_suffix(".py")
TOKEN = "a-token"
VERSION = 2
GREETING = f"urnic-conform {VERSION} {TOKEN}"
PATIENCE = 20

# Lines as a tester says them. Mutations of them are said, too.
VALID = [
    "open - 1 -",
    "pd",
    "mr 0 4096 15",
    "mr 0 131072 31",
    "dereg 0",
    "mem 0 0 64",
    "store 0 5 00ff",
    "fill 0 0 4096 1048576",
    "qp rc 0 64",
    "qp uc 0 16",
    "connect 0 0x4001 00000000000000000000ffff7f000004",
    "modify 0 INIT access=14",
    "modify 0 RTR mtu=3 receive-psn=100 resources=4 rnr-timer=12",
    "modify 0 RTS send-psn=200 timeout=19 retry=7 rnr-retry=7 reads=4",
    "modify 0 RESET",
    "modify 0 ERR",
    "modify 0 INIT qkey=4369",
    "query 0",
    "rights 0 5",
    "mw 0 1",
    "mw 0 2",
    "bind 0 0 1 2 0 0 64 2",
    "srq 0 16",
    "xrc-srq 0 16",
    "arm 0 2",
    "srq-recv 0 7 sge=0:0:100",
    "srq-poll 1 0",
    "qp ud 0 16",
    "qp rc 0 16 srq=0",
    "qp xrc-send 0 16",
    "qp xrc-recv 0 16",
    "ah 0 00000000000000000000ffff7f000004",
    "post 0 send 1 2 sge=0:0:10 ah=0 dst=81921 qkey=4369",
    "post 0 send 1 2 sge=0:0:10 srqn=7",
    "post 0 send 1 2 sge=0:0:10",
    "post 0 write 2 10 sge=0:0:10 va=4096 rkey=7",
    "post 0 cas 3 2 sge=0:0:8 va=8 rkey=1 compare-add=1 swap=2",
    "post 0 read 3 2 sge=0:0:8 sge=1:5:100 va=8 rkey=1",
    "post 0 local-inv 1 2 inv=5",
    "recv 0 7 sge=0:0:100",
    "poll 0 send 0",
    "poll 0 recv 1",
    "events",
    "counters",
]
ODD_WORDS = [
    *(
        "-1",
        "0",
        "1",
        "31",
        "32",
        "4294967296",
        "18446744073709551615",
        "18446744073709551616",
        "0x",
        "x",
        "",
    ),
    *("sge=0:0:4294967295", "sge=99:0:1", "sge=0:4095:2", "sge=0:1", "sge=::", "9" * 300),
]


def mutated(line, dice):
    words = line.split(" ")
    for _ in range(dice.choice((0, 0, 1, 1, 2, 4))):
        at = dice.randrange(len(words)) if words else 0
        kind = dice.randrange(6)
        if not words:
            words = [""]
        elif kind == 0:
            words[at] = dice.choice(ODD_WORDS)
        elif kind == 1:
            del words[at]
        elif kind == 2:
            words.insert(at, dice.choice(words))
        elif kind == 3 and words[at]:
            place = dice.randrange(len(words[at]))
            odd = chr(dice.choice((1, 37, 45, 48, 57, 58, 61, 115, 255)))
            words[at] = words[at][:place] + odd + words[at][place + 1 :]
        elif kind == 4:
            words += words[1:] * dice.choice((1, 5, 20))
        else:
            words[at] += dice.choice(("0", "=", "%s%n", ":"))
    text = " ".join(words)[:16000]  # longer lines end a conversation
    # The test has no time for long waits.
    return "poll 0 send 0" if text.startswith(("poll", "srq-poll")) and words[-1] not in ("0", "1") else text


def random_line(dice):
    if dice.random() < 0.2:
        return "".join(chr(dice.choice([*range(1, 10), *range(11, 256)])) for _ in range(dice.randrange(200)))
    return mutated(dice.choice(VALID), dice)


def comparable(line, reply):
    """What two agents say alike."""
    if reply.startswith("error ") or line.startswith(("poll", "srq-poll", "events", "counters")):
        return reply.split(" ")[0]
    return re.sub(r" (device|gid|address|lkey|rkey|qpn|srqn)=\w+", "", reply).rstrip()


# A fault of the NIC under test, the case that finds it, and what the case says.
FAULTS = [
    ("set:kind=ack:aeth.msn=9:times=all", "rc/ack/coalesced", "msn is 9"),
    (
        "set:kind=nak:aeth.syndrome=0x63:times=all",
        "rc/sequence/gap_inside_message",
        "came: NAK_REMOTE_OPERATION",
    ),
    ("drop:kind=ack:times=all", "rc/length/1_execute_write", "no packet came"),
    ("dup:kind=ack:times=all", "rc/length/1_execute_write", "nothing expected it: > ACK"),
    ("corrupt:kind=ack:byte=15:times=all", "rc/length/1_execute_write", "wrong ICRC"),
    ("set:kind=read_response:bth.psn=7:times=all", "rc/length/1_answer_read", "psn is 7"),
    ("verb:ibv_poll_cq:status=LOC_LEN_ERR:times=all", "rc/length/1_receive_send", "status is LOC_LEN_ERR"),
]
# What agents and wires cannot do; CONFORM.md has the list, too.
KNOWN_REASONS = [
    "the agent's verbs have no FLUSH and no ATOMIC WRITE",
    "the script sets what only urnic's own transport has",
    "this script takes",
    "on a wire no two things happen at the same moment",
    "on a wire nothing happens within a nanosecond of something else",
    "the agent cannot post: ibv_post_send: Invalid argument",  # a READ on UC, a WRITE on UD
    "the agent cannot bind: the region is deregistered",
    "the agent cannot dereg: ibv_dereg_mr: Device or resource busy",  # a window is bound to it
    "the peer's port takes datagrams of",
]
LEAST_PASSED = 530
# Of these every operation, counters, events and data inside of a work request are a part.
FOR_PYTHON = [
    *("rc/send/*", "rc/atomic/*", "rc/sqd/*", "rc/access/local_invalidate*", "rc/sequence/past_far"),
    *("rc/srq/*", "rc/window/type_*", "rc/window/new_key", "rc/access/rights_taken*", "ud/*", "xrc/*"),
]
LEAST_PASSED_FOR_PYTHON = 100
# Whether a READ is one too many, or a request one that comes again, depends on how soon the ones before it
# are answered.
FAST_ANSWERS = [
    "rc/read/resources_overflow_reads",
    "rc/replay/atomic_msn_in_order",
    "rc/sqd/fewer_resources",
    "rc/state/event_too_many_reads",
]


class Client:
    """A connection to an agent, without its greeting."""

    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), timeout=PATIENCE)
        self.file = self.socket.makefile("rwb")

    def say(self, line):
        self.file.write(line.encode("latin-1") + b"\n")
        self.file.flush()

    def hear(self):
        """A line; empty: the agent has closed the connection."""
        try:
            return self.file.readline().decode("latin-1").rstrip("\n")
        except ConnectionError:
            return ""

    def ask(self, line):
        self.say(line)
        return self.hear()

    def close(self):
        self.file.close()
        self.socket.close()


class AgentTest(ClientTest):
    def agent(self, *options):
        """The words that start it, after the compiler has had these options."""
        self.require("cc")
        program = pathlib.Path(self.runtime) / "agent"
        made = self.start_plain("cc", ["cc", *options, "-o", program, C_SOURCE, "-libverbs"])
        self.expect_end(made, 60)
        return [program]

    def start_agent(self, *options, nic=(), environment=None, place=0, command=None):
        """An agent on a NIC of its own; then self.client() is one of its clients."""
        own = loopback_nics()[place]
        self.address, self.port = own[1].split(":")[1], harness.free_port()
        agent = self.start(
            "agent",
            [*(command or self.agent(*options)), self.address, str(self.port)],
            [*own, *nic],
            environment={"CONFORM_TOKEN": TOKEN, **(environment or {})},
        )
        if not wait_until(lambda: "listens" in agent.output() or not agent.is_running(), PATIENCE):
            self.fail_with("the agent does not listen", agent)
        return agent

    def client(self, greeting=GREETING):
        client = Client(self.address, self.port)
        self.addCleanup(client.close)
        if greeting is not None:
            self.assertEqual(client.ask(greeting), f"ok urnic-conform {VERSION}")
        return client

    def conform(self, *options, token=TOKEN, code=0, name="conform"):
        """Runs it against the agent that was started, and returns its report."""
        words = ["conform", "--json", "--agent-port", self.port, "--port", loopback_nics()[1][1], *options]
        process = self.start_plain(
            name, [harness.STAGE.urnic, *map(str, words), self.address], environment={"CONFORM_TOKEN": token}
        )
        self.expect_end(process, 600, code)
        return json.loads(process.output())

    def expect_passed(self, report, least):
        """More cases than that have passed, and of the others it is known why they cannot."""
        reasons = {}
        for case in report["cases"]:
            if case["verdict"] == "UNKNOWN":
                reasons.setdefault(case["reason"], []).append(case["name"])
            elif case["verdict"] == "HABIT":
                self.assertIn(case["name"], FAST_ANSWERS)
            elif case["verdict"] != "PASS":
                self.fail_with(json.dumps(case, indent=2))
        self.assertGreater(report["passed"], least, reasons)
        for reason, names in reasons.items():
            self.assertTrue(any(known in reason for known in KNOWN_REASONS), (reason, names))
        self.assertEqual(report["failed"], 0)


class Agent(AgentTest):
    def test_a_conversation(self):
        self.start_agent()
        client = self.client()
        self.assertRegex(
            client.ask("open - 1 -"), r"^ok device=urnic0 gid-index=\d+ mtu=5 reads=\d+ gid=0{20}ffff7f"
        )
        self.assertEqual(client.ask("pd"), "ok 0")
        self.assertRegex(client.ask("mr 0 4096 15"), r"^ok 0 address=\d+ lkey=\d+ rkey=\d+$")
        self.assertEqual(client.ask("store 0 4090 0a0b0c"), "ok")
        self.assertEqual(client.ask("mem 0 4089 5"), "ok 000a0b0c00")
        self.assertEqual(client.ask("fill 0 0 4096 2097152"), "ok")
        at = 2097152 + 300
        expected = [(a * 7 + (a >> 8) * 29 + (a >> 16) * 101) & 255 for a in range(at, at + 3)]
        self.assertEqual(client.ask("mem 0 300 3"), "ok " + bytes(expected).hex())
        self.assertRegex(client.ask("qp rc 0 64"), r"^ok 0 qpn=\d+$")
        for line in VALID[10:14]:
            self.assertEqual(client.ask(line), "ok", line)
        self.assertEqual(client.ask("query 0"), "ok state=RTS send-psn=200 receive-psn=100")
        self.assertEqual(client.ask("recv 0 9 sge=0:0:64"), "ok")
        self.assertEqual(client.ask("poll 0 recv 1"), "ok")
        self.assertEqual(client.ask("modify 0 ERR"), "ok")
        self.assertRegex(client.ask("poll 0 recv 100"), r"^ok id=9 status=5 vendor=\d+$")
        self.assertIn("out_of_sequence=0", client.ask("counters"))
        self.assertEqual(client.ask("events"), "ok")

    def ready(self, client):
        """`open`, a protection domain, and a region that peers may use, all with the number 0."""
        self.assertTrue(client.ask("open - 1 -").startswith("ok "))
        self.assertEqual(client.ask("pd"), "ok 0")
        self.assertTrue(client.ask("mr 0 4096 31").startswith("ok 0 "))

    def test_datagrams(self):
        """One that a queue pair sends to itself."""
        self.start_agent()
        client = self.client()
        self.ready(client)
        made = client.ask("qp ud 0 16")
        self.assertRegex(made, r"^ok 0 qpn=\d+$")
        qpn = made.partition("qpn=")[2]
        gid = "0" * 20 + "ffff" + socket.inet_aton(self.address).hex()
        self.assertEqual(client.ask(f"ah 0 {gid}"), "ok 0")
        for line in (
            *("modify 0 INIT qkey=4369", "modify 0 RTR", "modify 0 RTS send-psn=5"),
            "recv 0 9 sge=0:0:100",
            f"post 0 send 3 2 sge=0:200:8 ah=0 dst={qpn} qkey=4369",
        ):
            self.assertEqual(client.ask(line), "ok", line)
        self.assertRegex(client.ask("poll 0 send 1000"), r"^ok id=3 status=0 vendor=\d+ opcode=0 ")
        received = rf"^ok id=9 status=0 vendor=\d+ opcode=128 length=48 src={qpn} grh=1$"
        self.assertRegex(client.ask("poll 0 recv 1000"), received)
        address = socket.inet_aton(self.address).hex()
        self.assertEqual(client.ask("mem 0 32 8"), f"ok {address}{address}")
        self.assertIn("address handle", client.ask("post 0 send 3 2 sge=0:0:8 dst=1 qkey=1"))
        self.assertIn("address handle", client.ask("post 0 send 3 2 sge=0:0:8 ah=1 dst=1 qkey=1"))

    def test_shared_queues(self):
        self.start_agent()
        client = self.client()
        self.ready(client)
        self.assertEqual(client.ask("srq 0 16"), "ok 0")
        self.assertRegex(client.ask("xrc-srq 0 16"), r"^ok 1 srqn=\d+$")
        self.assertRegex(client.ask("qp rc 0 16 srq=0"), r"^ok 0 qpn=\d+$")
        self.assertRegex(client.ask("qp xrc-recv 0 16"), r"^ok 1 qpn=\d+$")
        self.assertRegex(client.ask("qp xrc-send 0 16"), r"^ok 2 qpn=\d+$")
        for line in ("srq-recv 0 1 sge=0:0:8", "srq-recv 1 1 sge=0:0:8", "arm 0 1", "srq-poll 1 1"):
            self.assertEqual(client.ask(line), "ok", line)
        for line in (
            *("recv 0 1 sge=0:0:8", "recv 1 1 sge=0:0:8", "post 1 send 1 2 sge=0:0:8", "poll 2 recv 0"),
            *("srq-poll 0 0", "qp rc 0 16 srq=1", "arm 2 1", "arm 0 1025"),
        ):
            self.assertTrue(client.ask(line).startswith("error "), line)

    def test_windows_and_rights(self):
        self.start_agent()
        client = self.client()
        self.ready(client)
        self.assertTrue(client.ask("qp rc 0 16").startswith("ok 0 "))
        for line in VALID[10:14]:
            self.assertEqual(client.ask(line), "ok", line)
        keys = {}
        for number, kind in enumerate((1, 2)):
            made = client.ask(f"mw 0 {kind}")
            self.assertRegex(made, rf"^ok {number} rkey=\d+$")
            bound = client.ask(f"bind 0 {number} 7 2 0 0 64 2")
            self.assertRegex(bound, r"^ok rkey=\d+$")
            self.assertNotEqual(bound.partition("rkey=")[2], made.partition("rkey=")[2])
            self.assertRegex(client.ask("poll 0 send 1000"), r"^ok id=7 status=0 vendor=\d+ opcode=5 ")
            keys[kind] = bound.partition("rkey=")[2]
        self.assertEqual(client.ask(f"post 0 local-inv 8 2 inv={keys[2]}"), "ok")
        self.assertTrue(client.ask("poll 0 send 1000").startswith("ok id=8 status=0 "))
        self.assertRegex(client.ask("bind 0 0 9 2 0 0 0 0"), r"^ok rkey=\d+$")
        self.assertTrue(client.ask("poll 0 send 1000").startswith("ok id=9 status=0 "))
        self.assertRegex(client.ask("rights 0 1"), r"^ok lkey=\d+ rkey=\d+$")
        self.assertEqual(client.ask("dereg 0"), "ok")
        for line in ("rights 0 1", "bind 0 0 1 2 0 0 64 2", "bind 0 2 1 2 0 0 64 2", "mw 0 0"):
            self.assertTrue(client.ask(line).startswith("error "), line)

    def test_what_it_refuses(self):
        self.start_agent()
        client = self.client()
        self.assertEqual(client.ask("pd"), "error open comes first")
        self.assertTrue(client.ask("open - 1 -").startswith("ok "))
        self.assertEqual(client.ask("pd"), "ok 0")
        self.assertTrue(client.ask("mr 0 4096 15").startswith("ok 0 "))
        self.assertTrue(client.ask("qp rc 0 64").startswith("ok 0 "))
        for line in (
            *(
                "",
                "pds",
                "mem 0 4095 2",
                "mem 0 0 4097",
                "mem 1 0 1",
                "store 0 4095 0a0b",
                "store 0 0 0",
                "store 0 0 0g",
            ),
            *(
                "fill 0 0 4097 0",
                "mr 0 1048577 15",
                "mr 0 0 15",
                "mr 1 4096 15",
                "qp xrc 0 64",
                "qp xrc-send 0 64 srq=0",
                "qp rc 0 64 srq=0",
                "mw 0 3",
                "mw 1 1",
                "bind 0 0 1 2 0 0 64 2",
                "srq 0 1025",
                "xrc-srq 1 16",
                "arm 0 1",
                "srq-recv 0 1",
                "srq-poll 0 0",
                "ah 0 00",
                "rights 1 1",
                "qp rc 0 1025",
            ),
            *(
                "modify 0 AWAKE",
                "modify 0 INIT access=x",
                "connect 0 0x1000000 00000000000000000000ffff7f000004",
            ),
            *(
                "post 0 send 1 10 sge=0:4095:2",
                "post 0 send 1 2 sge=1:0:1",
                "post 0 dance 1 2",
                "poll 0 send 1001",
            ),
            *("open nothing0 1 -", "open - 77 -", "open - 1 200", "open - 1 256", "open - 1 0x"),
        ):
            self.assertTrue(client.ask(line).startswith("error "), line)

    def test_lines_without_sense(self):
        """In C under AddressSanitizer, whose report would end it."""
        seed = harness.SEED
        agent = self.start_agent(
            *("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
            environment={"ASAN_OPTIONS": "verify_asan_link_order=0"},
        )
        client = self.client()
        dice = random.Random(seed)
        good = 0
        for number in range(10000):
            line = random_line(dice)
            reply = client.ask(line)
            # What it says of pyverbs it has not foreseen.
            if not reply.startswith(("ok", "error ")) or reply.startswith("error pyverbs"):
                self.fail_with(f"line {number} of seed {seed}, {line[:300]!r}: {reply!r}", agent)
            good += reply.startswith("ok")
        self.assertGreater(good, 300, "most lines never came so far as to be tried")
        client.close()
        self.assertTrue(self.client().ask("open - 1 -").startswith("ok "))

    def test_clients_that_it_sends_away(self):
        self.start_agent()
        for greeting, answer in (
            (f"urnic-conform {VERSION} another", "error token: it is another"),
            (f"urnic-conform {VERSION} a-toke", "error token: it is another"),
            (f"{GREETING}x", "error token: it is another"),
            (f"urnic-conform 1 {TOKEN}", f"error version: this agent speaks {VERSION}"),
            ("GET / HTTP/1.1", "error say: urnic-conform VERSION TOKEN"),
            ("open - 1 -", "error say: urnic-conform VERSION TOKEN"),
        ):
            client = self.client(greeting=None)
            self.assertEqual(client.ask(greeting), answer)
            self.assertEqual(client.hear(), "", greeting)
        silent = self.client(greeting=None)
        self.assertEqual(silent.hear(), "", "after five seconds")
        slow = self.client(greeting=None)
        for _ in range(12):
            with contextlib.suppress(ConnectionError):
                slow.socket.sendall(b"x")
            time.sleep(0.5)
        slow.socket.settimeout(1)
        self.assertEqual(slow.hear(), "", "after five seconds, however many pieces it has sent")
        self.client()

    def test_a_second_client(self):
        self.start_agent()
        first = self.client()
        second = self.client(greeting=None)
        self.assertEqual(second.hear(), "error busy: this agent has a client already")
        self.assertEqual(second.hear(), "")
        self.assertTrue(first.ask("open - 1 -").startswith("ok "))
        first.close()
        self.client()

    def test_clients_that_vanish(self):
        self.start_agent()
        for _ in range(50):
            client = self.client()
            for line in VALID[:3]:
                client.ask(line)
            client.ask("qp rc 0 64")
            client.socket.sendall(b"modify 0 IN")  # in the middle of a line
            client.close()
        client = self.client()
        self.assertTrue(client.ask("open - 1 -").startswith("ok "))
        self.assertEqual(client.ask("pd"), "ok 0", "what others have made is gone")

    def test_a_line_without_end(self):
        self.start_agent()
        client = self.client()
        client.socket.sendall(b"x" * 20000)
        self.assertEqual(client.hear(), "error that line is too long")
        self.assertEqual(client.hear(), "")
        self.client()


class PythonAgent(Agent):
    """The agent in Python passes the tests of the one in C."""

    def agent(self, *options):
        found = subprocess.run([PYTHON, "-c", "import pyverbs.device"], stderr=subprocess.DEVNULL)
        if found.returncode != 0:
            self.skipTest(f"Debian's Python has no pyverbs (tools/install-packages {self.PACKAGES})")
        return [PYTHON, "-X", "dev", PYTHON_SOURCE]

    def test_both_agents_answer_the_same(self):
        """The lines are the same ones each time: others might begin a race with a timer of the NIC."""
        self.start_agent()
        clients = [self.client()]
        self.start_agent(place=1, command=super().agent())
        clients.append(self.client())
        dice = random.Random(1)
        for number in range(10000):
            line = random_line(dice)
            replies = {comparable(line, client.ask(line)) for client in clients}
            self.assertEqual(len(replies), 1, (number, line[:300], replies))

    def test_urnic_does_what_scripts_say(self):
        self.start_agent()
        report = self.conform(*(word for name in FOR_PYTHON for word in ("--filter", name)))
        self.expect_passed(report, LEAST_PASSED_FOR_PYTHON)


class Conform(AgentTest):
    def fail_of(self, report):
        """The one case that failed."""
        failed = [case for case in report["cases"] if case["verdict"] == "FAIL"]
        self.assertEqual(len(failed), 1, [case["name"] for case in failed])
        return failed[0]

    def test_urnic_does_what_its_scripts_say(self):
        """Every script that can be played passes, and of the others it is known why they cannot be."""
        self.start_agent()
        self.expect_passed(self.conform(), LEAST_PASSED)

    def test_faults_are_found(self):
        """A NIC whose answers are otherwise: the fault injector changes them on their way."""
        for fault, name, part in FAULTS:
            with self.subTest(fault=fault):
                agent = self.start_agent(nic=["--fault", fault])
                packets = pathlib.Path(self.runtime) / "packets"
                packets.mkdir(mode=0o777, exist_ok=True)
                packets.chmod(0o777)
                case = self.fail_of(self.conform("--filter", name, "--pcap", packets, code=1))
                self.assertIn(part, case["reason"])
                self.assertTrue(case["rule"] and case["source"] and case["ladder"])
                self.assertGreater(pathlib.Path(case["capture"]).stat().st_size, 200)
                agent.kill()

    def test_the_same_cases_pass_without_faults(self):
        self.start_agent()
        for _, name, _ in FAULTS:
            self.assertEqual(self.conform("--filter", name)["passed"], 1, name)

    def test_results_for_tools_that_show_tests(self):
        self.start_agent()
        file = pathlib.Path(self.runtime) / "result.xml"
        self.conform("--filter", "rc/send/too_long*", "--filter", "xrc/flush_carries_srq", "--junit", file)
        suite = xml.etree.ElementTree.parse(file).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("4", "0", "1"))
        self.assertEqual({case.get("classname") for case in suite}, {"rc/send", "xrc"})

    def test_an_interrupted_run_goes_on(self):
        self.start_agent()
        file = pathlib.Path(self.runtime) / "results"
        options = ["--resume", file, "--filter", "rc/send/*"]
        whole = self.conform(*options)
        lines = file.read_text().splitlines(keepends=True)
        self.assertEqual(len(lines), 1 + len(whole["cases"]))
        # As if it was killed while it wrote the third result: the first two are told as they stand there.
        file.write_text("".join(lines[:3]).replace('"reason":""', '"reason":"earlier"') + lines[3][:40])
        again = self.conform(*options)
        self.assertEqual([case["name"] for case in again["cases"]], [case["name"] for case in whole["cases"]])
        passed = [case for case in again["cases"][:2] if case["verdict"] == "PASS"]
        self.assertTrue(passed)
        for case in passed:
            self.assertEqual(case["reason"], "earlier")
        for case in again["cases"][2:]:
            self.assertNotEqual(case["reason"], "earlier")
        self.assertEqual(again["passed"], whole["passed"])

    def test_a_page_with_the_packets_of_what_failed(self):
        """tests/view/test_conform_page.py opens such a page in a browser."""
        self.start_agent(nic=["--fault", "set:kind=ack:aeth.msn=9:times=all"])
        file = pathlib.Path(self.runtime) / "report.html"
        filters = ["--filter", "rc/ack/coalesced", "--filter", "rc/length/1_answer_read"]
        case = self.fail_of(self.conform(*filters, "--html", file, code=1))
        self.assertEqual(case["capture"], "", "it was for the page alone")
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read_text())[1]
        report = json.loads(data)
        self.assertEqual([each["verdict"] for each in report["cases"]], ["FAIL", "PASS"])
        self.assertGreater(len(report["cases"][0]["trace"]["packets"]), 3)
        self.assertIsNone(report["cases"][1]["trace"])

    def unknown(self, reason, *options, **how):
        report = self.conform("--filter", "rc/nak/*", *options, code=3, **how)
        self.assertEqual(report["unknown"], len(report["cases"]))
        for case in report["cases"]:
            self.assertIn(reason, case["reason"])

    def test_agents_that_do_not_play(self):
        self.start_agent()
        self.unknown("token: it is another", token="wrong")
        client = self.client()
        self.unknown("busy: this agent has a client already")
        client.close()
        self.unknown("there is no such device", "--device", "nothing0")
        self.unknown("no such GID", "--gid", "77")
        self.port = harness.free_port()
        self.unknown("Connection refused")

    def serve(self, *answers):
        """Something else that listens, and says these lines, one to each line of a client."""
        listener = socket.create_server((self.address, 0))
        self.addCleanup(listener.close)
        self.port = listener.getsockname()[1]

        def answer():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rwb") as file:
                    for line in answers:
                        if not file.readline():
                            break
                        file.write(line + b"\n")
                        file.flush()

        threading.Thread(target=answer, daemon=True).start()

    def test_what_is_no_agent_or_another_one(self):
        self.address = loopback_nics()[0][1].split(":")[1]
        self.serve(b"error version: this agent speaks 1")
        self.unknown("the agent refuses: version: this agent speaks 1")
        self.serve(b"ok urnic-conform 1")
        self.unknown("another version")
        self.serve(b"SSH-2.0-OpenSSH_9.2")
        self.unknown("is no agent")
        self.serve(f"ok urnic-conform {VERSION}".encode())
        self.unknown("the agent has ")

    def test_an_agent_that_vanishes(self):
        """In the middle of the run: what was played has a verdict, what was not is unknown."""
        agent = self.start_agent()
        options = ["conform", "--agent-port", self.port, "--port", loopback_nics()[1][1], "--filter", "rc/*"]
        process = self.start_plain(
            "conform",
            [harness.STAGE.urnic, *map(str, options), self.address],
            environment={"CONFORM_TOKEN": TOKEN},
        )
        self.assertTrue(wait_until(lambda: process.output().count("PASS") > 20, PATIENCE))
        agent.kill()
        self.expect_end(process, 120)
        self.assertRegex(process.output(), r"UNKNOWN  rc/\S+\n +(the agent has|no agent)")
        self.assertNotIn("FAIL", process.output())

    def test_the_sources_that_it_prints(self):
        for word, source in (("", C_SOURCE), ("=c", C_SOURCE), ("=python", PYTHON_SOURCE)):
            process = self.start_plain("source", [harness.STAGE.urnic, "conform", f"--agent-source{word}"])
            self.expect_end(process)
            self.assertEqual(process.output(), source.read_text())
        refused = self.start_plain("refused", [harness.STAGE.urnic, "conform", "--agent-source=perl"])
        self.expect_end(refused, code=2)
