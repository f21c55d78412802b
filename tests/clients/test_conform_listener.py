# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The listener of `urnic conform`, which nothing ends that a client says."""
import random
import socket

import harness
from conform_agents import LISTENER_GREETING, TOKEN, AgentTest, mutated

# Lines as a tester says them, after each other. Mutations of them are said, too.
VALID = [
    "begin",
    "listen rc 7174 0",
    "listen ud 7175 4 tos=96 ack-timeout=14",
    "resolve rc {address} 7174 40000",
    "connect 2 qpn=17 resources=1 depth=1 retries=7 rnr-retries=7 srq=0 flow-control=1 private=0a0b",
    "event 1",
    "accept 3 qpn=68 resources=1 depth=1 retries=7 rnr-retries=7 srq=1 flow-control=0 private=ff",
    "event 1",
    "establish 2",
    "attributes 2 RTS",
    "attributes 3 RTR",
    "notify 3",
    "reject 3 reason=35 private=00",
    "disconnect 2",
    "destroy 3",
]


class Listener(AgentTest):
    def start_one(self, *options, **how):
        self.start_agent(command=self.listener(*options), **how)

    def client(self, greeting=LISTENER_GREETING):
        return super().client(greeting)

    def test_a_conversation(self):
        """Two ids of one listener connect to each other: rdma_cm leads a loopback address to its own host."""
        self.start_one()
        client = self.client()
        self.assertRegex(client.ask("begin"), r"^ok mtu=\d node-guid=[0-9a-f]{16}$")
        self.assertEqual(client.ask("listen rc 7174 0"), "ok 0")
        self.assertEqual(client.ask(f"resolve rc {self.address} 7174 40000"), "ok 1")
        self.assertEqual(client.ask("connect 1 qpn=17 resources=3 depth=2 private=0102"), "ok")
        request = client.ask("event 1000")
        self.assertRegex(request, r"^ok CONNECT_REQUEST id=2 status=0 qpn=17 resources=2 depth=3 ")
        self.assertRegex(request, r" private-room=56 private=0102(00){54}$")
        self.assertEqual(client.ask("accept 2 qpn=68 resources=1 depth=1 private=07"), "ok")
        answer = client.ask("event 1000")
        self.assertRegex(answer, r"^ok CONNECT_RESPONSE id=1 status=0 qpn=68 .* private=07(00)+$")
        self.assertRegex(client.ask("attributes 1 RTS"), r"^ok qpn=68 .* flow-label=\d+ .* retries=\d")
        self.assertEqual(client.ask("establish 1"), "ok")
        self.assertRegex(client.ask("event 1000"), "^ok ESTABLISHED id=2 ")
        self.assertEqual(client.ask("disconnect 1"), "ok")
        self.assertRegex(client.ask("event 1000"), "^ok DISCONNECTED id=2 ")
        self.assertEqual(client.ask("event 0"), "ok")
        self.assertEqual(client.ask("destroy 2"), "ok")
        self.assertTrue(client.ask("accept 2").startswith("error "), "it is destroyed")

    def test_what_it_refuses(self):
        self.start_one()
        client = self.client()
        self.assertEqual(client.ask("listen rc 7174 0"), "error begin comes first")
        self.assertTrue(client.ask("begin").startswith("ok "))
        for line in (
            *("", "begins", "listen rc 7174", "listen xrc 7174 0", "listen rc 65536 0", "listen rc 7174 x"),
            *("listen rc 7174 0 tos=256", "accept 0", "event 1001", "resolve rc 10.0.0 7174 40000"),
        ):
            self.assertTrue(client.ask(line).startswith("error "), line)
        self.assertEqual(client.ask("listen rc 7174 0"), "ok 0")
        self.assertTrue(client.ask("listen rc 7174 0").startswith("error 98 rdma_"), "the port is taken")
        self.assertTrue(client.ask("accept 0 qpn=1").startswith("error 22 rdma_accept: "))
        self.assertTrue(client.ask("accept 0 private=0").startswith("error "))
        for line in ("attributes 0 INIT", "reject 0 reason=5", "reject 0 private=0g"):
            self.assertTrue(client.ask(line).startswith("error "), line)

    def test_lines_without_sense(self):
        """Under AddressSanitizer, whose report would end it."""
        self.start_one(
            *("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
            environment={"ASAN_OPTIONS": "verify_asan_link_order=0"},
        )
        client = self.client()
        dice = random.Random(harness.SEED)
        good = 0
        for number in range(3000):
            line = VALID[number // 2 % len(VALID)].format(address=self.address)
            if number % 2 == 1:
                line = mutated(line, dice)
            if line.startswith(("event", "resolve")) and number % 2 == 1:
                line = "event 0"  # the test has no time for long waits
            reply = client.ask(line)
            if not reply.startswith(("ok", "error ")):
                self.fail(f"line {number} of seed {harness.SEED}, {line[:300]!r}: {reply!r}")
            good += reply.startswith("ok")
        self.assertGreater(good, 500, "most lines never came so far as to be tried")
        client.close()
        self.assertTrue(self.client().ask("begin").startswith("ok "))

    def test_clients_that_it_sends_away(self):
        self.start_one()
        for greeting, answer in (
            ("urnic-listener 1 another", "error token: it is another"),
            (f"urnic-listener 2 {TOKEN}", "error version: this listener speaks 1"),
            (f"urnic-conform 1 {TOKEN}", "error say: urnic-listener VERSION TOKEN"),
        ):
            client = self.client(greeting=None)
            self.assertEqual(client.ask(greeting), answer)
            self.assertEqual(client.hear(), "", greeting)
        first = self.client()
        second = self.client(greeting=None)
        self.assertEqual(second.hear(), "error busy: this listener has a client already")
        first.close()
        self.client()

    def test_what_a_client_has_made_goes_with_it(self):
        self.start_one()
        for _ in range(5):
            client = self.client()
            self.assertTrue(client.ask("begin").startswith("ok "))
            self.assertEqual(client.ask("listen rc 7174 0"), "ok 0")
            client.socket.shutdown(socket.SHUT_RDWR)
            client.close()
