# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What others see after a process is killed, and how soon: each kind of process at each moment of its life.
"""
import json
import os
import random
import re
import signal
import time

import harness
from harness import wait_until
from test_host import Hosts

NOTHING_LEFT = "another program joins"
TOLD = "event DISCONNECTED 0"
UNANSWERED = "completion transport retry counter exceeded"

# What is killed, when, and what others see then, one after the other, each within so many seconds of the
# kill. On an idle machine it takes a tenth of that: the tests print it. UNANSWERED takes as long as the
# client's retries, which it chose.
TABLE = (
    ("program", "before it joins", (NOTHING_LEFT, 3)),
    ("program", "while it joins", (NOTHING_LEFT, 3)),
    ("program", "after it joined", ("its share is free", 2)),
    ("program", "established, the peer idle", (TOLD, 2)),
    ("program", "established, the peer busy", (TOLD, 2), (UNANSWERED, 10)),
    ("program", "listening", ("another program listens there", 3)),
    ("program on a fabric", "while it joins", (NOTHING_LEFT, 5)),
    ("program on a fabric", "after it joined", ("its share is free", 2)),
    ("program on a fabric", "established, the peer idle", (TOLD, 2)),
    ("program on a fabric", "established, the peer busy", (TOLD, 2), (UNANSWERED, 10)),
    ("program on a fabric", "listening", ("another program listens there", 3)),
    ("switch of the host", "before a program joins", ("the program joins", 4)),
    ("switch of the host", "while a program joins", ("the program joins", 10)),
    ("switch of the host", "after a program joined", ("the program joins the next switch", 4)),
    ("switch of the host", "established, the peer busy", ("messages go on", 4)),
    ("switch of the host", "listening", ("a client connects", 6)),
    ("switch of a fabric", "before a program joins", ("the program joins", 4)),
    ("switch of a fabric", "while a program joins", ("the program joins", 10)),
    ("switch of a fabric", "after a program joined", ("another program reaches it", 6)),
    ("switch of a fabric", "established, the peer busy", ("messages go on", 4)),
    ("switch of a fabric", "listening", ("a client connects", 6)),
    ("parent of a fork", "before it joins", ("the child joins", 3)),
    ("parent of a fork", "while it joins", (NOTHING_LEFT, 3)),
    ("parent of a fork", "after it joined", (NOTHING_LEFT, 3)),
    ("parent of a fork", "established, the peer idle", (TOLD, 2)),
    ("parent of a fork", "established, the peer busy", (TOLD, 2), (UNANSWERED, 10)),
    ("parent of a fork", "listening", ("the child serves", 4)),
    ("parent of a fork on a fabric", "after it joined", ("its share is free", 2)),
    ("parent of a fork on a fabric", "established, the peer idle", (TOLD, 2)),
)
MOST_KILLS = 10
PORT = 7500


def says(process, pattern):
    return re.search(pattern, process.output(), re.MULTILINE)


class KillTable(Hosts):
    """A function for each row: it kills, and yields, then yields when it has seen each of the things in the
    row."""

    HOST_ADDRESS = "10.79.5.1"

    def setUp(self):
        super().setUp()
        self.host = self.namespace(
            "link add net0 type veth peer name net1",
            f"addr add {self.HOST_ADDRESS}/24 dev net0",
            "link set net0 up",
            "link set net1 up",
        )
        self.dice = random.Random(harness.SEED)
        self.nic = ["--port", "host"]

    def witness(self, *words):
        return self.start_nic_on(self.host, "witness", [harness.STAGE.program("witness"), *words], self.nic)

    def wait_for(self, process, pattern, timeout=harness.START_TIMEOUT):
        wait_until(lambda: says(process, pattern) or not process.is_running(), timeout)
        if not says(process, pattern):
            self.fail_with(f"it does not say {pattern}", *self.processes)

    def server(self, role="server", port=PORT):
        server = self.witness(role, port)
        self.wait_for(server, "^listening$")
        return server

    def parent(self, role="parent"):
        """A server with a child, which lives on."""
        parent = self.server(role)
        self.kill_child_later(parent)
        return parent

    def client(self, role="client"):
        client = self.witness(role, self.address(), PORT)
        self.wait_for(client, "^established$")
        return client

    def kill_child_later(self, parent):
        self.wait_for(parent, r"^child \d+$")
        self.addCleanup(os.kill, int(says(parent, r"^child (\d+)$")[1]), signal.SIGKILL)

    # --- What the switch says ---

    def is_fabric(self):
        return self.nic[1] == "fabric"

    def status(self):
        return json.loads(self.ask(self.host, "fabric" if self.is_fabric() else "host", "status", "--json"))

    def address(self):
        """Of the server: on a fabric what it has drawn."""
        return self.status()["ports"][0]["ipv4"] if self.is_fabric() else self.HOST_ADDRESS

    def shares(self):
        return len(self.status()["ports" if self.is_fabric() else "members"])

    def kill_switch(self):
        os.kill(self.status()["process"], signal.SIGKILL)

    def stop_switch(self):
        self.ask(self.host, "host", "stop")

    # --- What others see ---

    def other_joins(self):
        """A program that begins now."""
        self.server(port=PORT + 1)

    def reach(self, server, address):
        """A client connects in the end; one that comes too early is refused, or gets no answer."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            client = self.witness("client", address, PORT)
            wait_until(lambda: says(client, "^(established|event .*)$") or not client.is_running(), 10)
            if says(client, "^established$"):
                return
            client.kill()
        self.fail_with("no client gets through", server)

    def peer_is_told(self, server, role):
        client = self.client(role)
        server.kill()
        yield
        self.wait_for(client, f"^{TOLD}$", 90)
        yield
        if role == "busy":
            self.wait_for(client, f"^{UNANSWERED}$", 90)
            yield

    # --- The rows ---

    def program_before_it_joins(self):
        self.start_nic_on(self.host, "killed", ["sleep", "100"], self.nic).kill()
        yield
        self.other_joins()
        yield

    def program_while_it_joins(self):
        for _ in range(MOST_KILLS):
            killed = self.witness("server", PORT)
            time.sleep(self.dice.uniform(0, 0.15))
            killed.kill()
        yield
        self.other_joins()
        yield

    def program_after_it_joined(self):
        server = self.server()
        self.server(port=PORT + 1)
        self.assertEqual(self.shares(), 2)
        server.kill()
        yield
        self.assertTrue(wait_until(lambda: self.shares() == 1, 10))
        yield

    def program_established_the_peer_idle(self):
        yield from self.peer_is_told(self.server(), "client")

    def program_established_the_peer_busy(self):
        yield from self.peer_is_told(self.server(), "busy")

    def program_listening(self):
        self.server().kill()
        yield
        self.server()
        yield

    def switch_before_a_program_joins(self):
        self.server().kill()
        self.kill_switch()
        yield
        self.other_joins()
        yield

    def switch_while_a_program_joins(self):
        self.server()
        joining = self.witness("server", PORT + 1)
        for _ in range(3):
            time.sleep(self.dice.uniform(0, 0.05))
            try:
                self.kill_switch()
            except (KeyError, ValueError, ProcessLookupError):
                pass  # there is none at this moment
        yield
        self.wait_for(joining, "^listening$", 30)
        yield

    def switch_of_the_host_after_a_program_joined(self):
        self.server()
        self.kill_switch()
        yield
        self.assertTrue(
            wait_until(lambda: '"listening":true' in self.ask(self.host, "host", "status", "--json"), 30)
        )
        yield

    def switch_of_a_fabric_after_a_program_joined(self):
        yield from self.switch_listening()

    def switch_established_the_peer_busy(self):
        self.server()
        client = self.client("busy")
        self.kill_switch()
        count = client.output().count("sent ")
        yield
        self.assertTrue(wait_until(lambda: client.output().count("sent ") > count + 2, 30), client.describe())
        yield

    def switch_listening(self):
        server, address = self.server(), self.address()
        self.kill_switch()
        yield
        self.reach(server, address)
        yield

    def parent_of_a_fork_before_it_joins(self):
        parent = self.witness("orphan", PORT)
        self.kill_child_later(parent)
        parent.kill()
        yield
        self.reach(parent, self.HOST_ADDRESS)
        yield

    def parent_of_a_fork_while_it_joins(self):
        for _ in range(MOST_KILLS):
            parent = self.witness("torn", PORT, self.dice.randrange(100_000))
            self.assertEqual(parent.wait(harness.START_TIMEOUT), -signal.SIGKILL, parent.describe())
            self.kill_child_later(parent)
        self.stop_switch()
        yield
        self.other_joins()
        yield

    def parent_of_a_fork_after_it_joined(self):
        self.parent().kill()
        self.stop_switch()
        yield
        self.other_joins()
        yield

    def parent_of_a_fork_on_a_fabric_after_it_joined(self):
        parent = self.parent()
        self.server(port=PORT + 1)
        self.assertEqual(self.shares(), 2)
        parent.kill()
        yield
        self.assertTrue(wait_until(lambda: self.shares() == 1, 10))
        yield

    def parent_of_a_fork_established_the_peer_idle(self):
        yield from self.peer_is_told(self.parent(), "client")

    def parent_of_a_fork_established_the_peer_busy(self):
        yield from self.peer_is_told(self.parent(), "busy")

    def parent_of_a_fork_listening(self):
        heir = self.parent("heir")
        heir.kill()
        yield
        self.reach(heir, self.HOST_ADDRESS)
        yield

    def experiment(self, killed, moment):
        """The most special of what there is."""
        whole = f"{killed} {moment}".replace(",", "").replace(" ", "_")
        general = re.sub("_(of_the_host|of_a_fabric|on_a_fabric)_", "_", whole)
        return getattr(self, whole, None) or getattr(self, general)

    def run_row(self, killed, moment, seen):
        self.nic = ["--port", "fabric"] if "fabric" in killed else ["--port", "host"]
        steps = self.experiment(killed, moment)()
        next(steps)
        started = time.monotonic()
        for (what, seconds), _ in zip(seen, steps, strict=True):
            took = time.monotonic() - started
            print(f"  | {killed} | {moment} | {what} | {took:.2f} s |")
            self.assertLess(took, seconds, f"{killed}, {moment}: {what}")


def add_tests():
    for killed, moment, *seen in TABLE:

        def test(self, row=(killed, moment, seen)):
            self.run_row(*row)

        setattr(KillTable, f"test_{killed} {moment}".replace(",", "").replace(" ", "_"), test)


add_tests()
