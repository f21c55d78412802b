# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What urnic says about connections by rdma_cm that are not made, and what peers are told when a program ends
without closing them."""
import pathlib
import re

import harness
from cm_pair import CLIENT, NICS, SERVER, CmPairTest

# As text: the user of the tests may be unable to read this folder, or the Python that runs it.
RSOCKET_ENDS = ["/usr/bin/python3", "-c", pathlib.Path(__file__).with_name("rsocket_ends.py").read_text()]


class Explanations(CmPairTest):
    def explained(self, *words, nic=NICS[1]):
        """What is said about a program that must fail. Not rping: two of its threads call exit() at once,
        and the explanation may be cut off with the rest."""
        self.require(words[0])
        program = self.start("program", [str(word) for word in words], [*nic, "--explain"])
        if program.wait(60) in (None, 0):
            self.fail_with("an end with an error expected", program)
        return program.output()

    def test_no_listener(self):
        """Both sides are told."""
        self.require("rping")
        server = self.start("server", ["rping", "-s", "-P", "-a", SERVER], [*NICS[0], "--explain"])
        self.wait_for_cm_listener(server)
        said = self.explained("rdma_client", "-s", SERVER, "-p", 7175)
        self.assertRegex(
            said,
            rf"urnic: no connection from {CLIENT}:\d+ to {SERVER}:7175 \(RC\): REJ 8, invalid service ID",
        )
        self.assertIn(f"why: {SERVER} has no listener at port 7175\n", said)
        if not harness.wait_until(
            lambda: f"{CLIENT} asked for port 7175, where no RC program listens\n" in server.output(), 10
        ):
            self.fail_with("an explanation expected", server)

    def test_an_address_that_no_nic_has(self):
        said = self.explained("rdma_client", "-s", "10.99.0.77", "-p", 7174)
        self.assertIn("no host answers for 10.99.0.77: no urnic on this wire has that address\n", said)

    def test_an_address_of_another_nic(self):
        said = self.explained("rping", "-s", "-a", SERVER, "-C", 1)
        self.assertRegex(
            said,
            rf"urnic: rdma_cm: {SERVER}:7174 is no address of this NIC, which has .*\b{re.escape(CLIENT)}\b",
        )

    def test_a_smaller_link(self):
        self.require("rping")
        server = self.start(
            "server", ["rping", "-s", "-P", "-a", SERVER], [*NICS[0], "--mtu", "1500", "--explain"]
        )
        self.wait_for_cm_listener(server)
        said = self.explained("rdma_client", "-s", SERVER, "-p", 7174)
        self.assertIn(f"we asked for a path MTU of 4096, and the link of {SERVER} is smaller\n", said)
        self.assertIn("--mtu", said)


class Endings(CmPairTest):
    def test_a_program_that_ends_without_closing_disconnects_its_peer(self):
        """The server's librdmacm has the event. rsockets may look at it while they wait for data, and the
        server then ends."""
        server = self.start("server", [*RSOCKET_ENDS, "server", SERVER, "7176"], NICS[0])
        self.wait_for_cm_listener(server)
        client = self.start("client", [*RSOCKET_ENDS, "client", SERVER, "7176"], NICS[1])
        self.expect_end(client, 20)
        has_heard = lambda: any(
            id["state"] == "DISCONNECT" for process in self.snapshots() for id in process["rdma_cm_ids"]
        )
        if not harness.wait_until(lambda: not server.is_running() or has_heard(), 10):
            self.fail_with("a connection that the peer has ended expected", server)
        self.assertIn("received hello\n", server.output())

    def test_a_program_that_is_killed_disconnects_its_peer(self):
        """Kills each side in turn. The other rping must end when it is told; otherwise the two would talk
        without end."""
        for victim_name in ("client", "server"):
            sides = {"server": self.start("server", ["rping", "-s", "-a", SERVER, "-p", 7177], NICS[0])}
            self.wait_for_cm_listener(sides["server"])
            sides["client"] = self.start(
                "client", ["rping", "-c", "-a", SERVER, "-p", 7177, "-C", "100000000"], NICS[1]
            )
            is_talking = lambda: self.connections(sides["server"]) > 0
            if not harness.wait_until(is_talking, harness.START_TIMEOUT, 0.05):
                self.fail_with("a connection expected")
            victim = sides.pop(victim_name)
            survivor = next(iter(sides.values()))
            victim.kill()
            self.processes.remove(victim)
            # Without a word of the dead one's it would end when its retries are used up, or never.
            if not harness.wait_until(
                lambda: "DISCONNECT" in survivor.output() or not survivor.is_running(), 3
            ):
                self.fail_with(f"the end of the {victim_name} expected", survivor)
            survivor.wait(10)
            self.assertIn("DISCONNECT EVENT", survivor.output())
