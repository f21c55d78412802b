# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The agents of `urnic conform`, which nothing ends that a client says."""
import contextlib
import random
import re
import socket
import subprocess
import time

import harness
from conform_agents import GREETING, TOKEN, VERSION, AgentTest, mutated
from python_package import PYTHON
from test_udp import loopback_nics


ADDRESS = loopback_nics()[0][1].split(":")[1]
OPEN = f"open - 1 {'0' * 20}ffff{socket.inet_aton(ADDRESS).hex()}"
# Lines as a tester says them. Mutations of them are said, too.
VALID = [
    "open - 1 0",
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


def random_line(dice):
    if dice.random() < 0.2:
        return "".join(chr(dice.choice([*range(1, 10), *range(11, 256)])) for _ in range(dice.randrange(200)))
    return mutated(dice.choice(VALID), dice)


def comparable(line, reply):
    """What two agents say alike."""
    if reply.startswith("error ") or line.startswith(("poll", "srq-poll", "events", "counters")):
        return reply.split(" ")[0]
    return re.sub(r" (device|gid|address|lkey|rkey|qpn|srqn)=\w+", "", reply).rstrip()


# Of these every operation, counters, events and data inside of a work request are a part.
FOR_PYTHON = [
    *("rc/send/*", "rc/atomic/*", "rc/sqd/*", "rc/access/local_invalidate*", "rc/sequence/past_far"),
    *("rc/srq/*", "rc/window/type_*", "rc/window/new_key", "rc/access/rights_taken*", "ud/*", "xrc/*"),
]
LEAST_PASSED_FOR_PYTHON = 100


class Agent(AgentTest):
    def test_a_conversation(self):
        self.start_agent()
        client = self.client()
        numbers = r"gid-index=\d+ mtu=5 reads=\d+ atomics=1 gid=0{20}ffff7f"
        self.assertRegex(client.ask(OPEN), "^ok device=urnic0 " + numbers)
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
        self.assertTrue(client.ask(OPEN).startswith("ok "))
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
        self.assertTrue(client.ask(OPEN).startswith("ok "))
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
            *(
                "open nothing0 1 0",
                "open - 77 0",
                "open - 1 200",
                "open - 1 256",
                "open - 1 0x",
                "open - 1 -",
            ),
            f"open - 1 {'0' * 32}",
            f"open - 1 {'0' * 31}x",
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
        self.assertTrue(self.client().ask(OPEN).startswith("ok "))

    def test_clients_that_it_sends_away(self):
        self.start_agent()
        for greeting, answer in (
            (f"urnic-conform {VERSION} another", "error token: it is another"),
            (f"urnic-conform {VERSION} a-toke", "error token: it is another"),
            (f"{GREETING}x", "error token: it is another"),
            (f"urnic-conform 1 {TOKEN}", f"error version: this agent speaks {VERSION}"),
            ("GET / HTTP/1.1", "error say: urnic-conform VERSION TOKEN"),
            (OPEN, "error say: urnic-conform VERSION TOKEN"),
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
        self.assertTrue(first.ask(OPEN).startswith("ok "))
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
        self.assertTrue(client.ask(OPEN).startswith("ok "))
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
        return [PYTHON, "-X", "dev", self.source("agent.py", "python")]

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
