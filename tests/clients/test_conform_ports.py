# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic conform` by other ports than UDP sockets: those that programs share with each other, interfaces, and
test benches, where tester and NIC under test have one virtual time."""
import json
import os
import threading

import harness
from conform_agents import FAST_ANSWERS, PATIENCE, TOKEN, AgentTest
from harness import wait_until
from rtl_bench import ADDRESS_OF_BENCH, Bench
from test_bench import lock_step

from device_agent import DeviceAgent

LATENCY_PS = 100_000_000
# Timers, too, as they take no real time.
CASES_OF_URNIC = ["rc/nak/*", "rc/rnr/*", "rc/retry/*", "rc/psn/*", "ud/*"]
LEAST_PASSED_BY_URNIC = 120
CASES_ON_AN_INTERFACE = ["rc/nak/*", "rc/read/*", "rc/send/*"]
LEAST_PASSED_ON_AN_INTERFACE = 60
CASES_BESIDE_A_PROGRAM = [*CASES_ON_AN_INTERFACE, "ud/*"]
LEAST_PASSED_BESIDE_A_PROGRAM = 90
FROM_LEFT = ["--port", "af_xdp:left", "--ip", "10.78.3.1"]
CASES_OF_RTL = [
    "rc/access/*",
    "rc/ack/*",
    "rc/length/*",
    "rc/psn/*",
    "rc/read/*",
    "rc/replay/*",
    "rc/sequence/*",
]
LEAST_PASSED_BY_RTL = 30
# What tests/rtl's responder does not do as NICs do it: it does not keep what an earlier READ was, and names
# the newest packet when it acknowledges a repeated one.
FAULTS_OF_RTL = {
    "rc/ack/duplicate_behind_read": "nothing expected it: > ACK psn=103",
    "rc/replay/read_other_place": "this came: > READ_RESPONSE_ONLY psn=100",
    "rc/replay/read_outside": "this came: > READ_RESPONSE_FIRST psn=100",
}
# It answers a READ before the next one can be too many, and looks at bounds before it looks at lengths.
HABITS_OF_RTL = [*FAST_ANSWERS, "rc/length/bad_length_read_2g", "rc/length/bad_length_write_2g"]


class PortTest(AgentTest):
    """The agent is at 127.0.0.1, and the NIC under test at some address of the wire."""

    def start_agent_at(self, address, port, environment=None, **how):
        return self.start_agent_on(["--port", port, "--ip", f"{address}/24"], environment, **how)

    def start_agent_on(self, nic, environment=None, **how):
        self.port = harness.free_port()
        agent = self.start(
            "agent",
            [*self.agent(), "127.0.0.1", str(self.port)],
            nic,
            environment={"CONFORM_TOKEN": TOKEN, **(environment or {})},
            **how,
        )
        return self.listening(agent)

    def run_conform(self, peer, options, cases, code=0, inside=(), privileged=False, environment=None):
        words = [*inside, harness.STAGE.urnic, "conform", "--json", "--agent", "127.0.0.1"]
        words += ["--agent-port", self.port, *options]
        words += [word for pattern in cases for word in ("--filter", pattern)]
        environment = {"CONFORM_TOKEN": TOKEN, **(environment or {})}
        process = self.start_plain("conform", [*map(str, words), peer], environment, privileged)
        self.expect_end(process, 600, code)
        return json.loads(process.output())


class BesideAProgram(PortTest):
    """The tester has the port that a program's NIC would have beside the NIC under test."""

    def play(self, peer, port, **how):
        report = self.run_conform(peer, ["--port", port], CASES_BESIDE_A_PROGRAM, **how)
        self.expect_passed(report, LEAST_PASSED_BESIDE_A_PROGRAM)

    def test_on_one_host(self):
        how = {
            "inside": self.own_host(),
            "privileged": True,
            "environment": self.environment_of_root(),
        }
        self.start_agent_on(["--port", "host"], **how)
        self.play("10.99.0.1", "host", **how)
        report = self.run_conform("10.99.0.1", ["--port", "host"], ["cm/stale/*"], 3, **how)
        reasons = {case["reason"] for case in report["cases"]}
        self.assertEqual(len(reasons), 1)
        self.assertIn("this host's connection manager answers at the tester's address", reasons.pop())

    def test_on_one_fabric(self):
        self.start_agent_at("10.78.3.2", "fabric:tested")
        self.play("10.78.3.2", "fabric:tested")

    def test_over_one_wire(self):
        port = f"vhost:{self.runtime}/wire"
        self.start_agent_at("10.78.3.2", port)
        self.play("10.78.3.2", port)

    def test_a_port_that_leads_nowhere(self):
        words = [harness.STAGE.urnic, "conform", "--port", "loopback", "--token", "x", "10.78.3.2"]
        process = self.start_plain("conform", words)
        self.expect_end(process, code=2)
        self.assertIn("the port loopback leads to no peer", process.output())


class OnAnInterface(PortTest):
    """Ethernet frames through the two ends of a virtual cable: needs root."""

    def test_urnic_does_what_its_scripts_say(self):
        inside = self.network_namespace(mtu=3442)
        how = {"inside": inside, "privileged": True}
        self.start_agent_at("10.78.3.2", "af_xdp:right", **how)
        report = self.run_conform("10.78.3.2", FROM_LEFT, CASES_ON_AN_INTERFACE, **how)
        self.expect_passed(report, LEAST_PASSED_ON_AN_INTERFACE)
        # Where no NIC has the peer's address, no case can be judged.
        options = [*FROM_LEFT, "--gid", 1]
        report = self.run_conform("10.78.3.9", options, ["rc/sequence/gap_inside_message"], 3, **how)
        self.assertIn("no NIC has the peer's address", report["cases"][0]["reason"])

    def test_through_packet_sockets(self):
        inside = self.network_namespace(mtu=3442)
        how = {"inside": inside, "privileged": True}
        self.start_agent_at("10.78.3.2", "af_packet:right", **how)
        options = ["--port", "af_packet:left", "--ip", "10.78.3.1"]
        report = self.run_conform("10.78.3.2", options, CASES_ON_AN_INTERFACE, **how)
        self.expect_passed(report, LEAST_PASSED_ON_AN_INTERFACE)

    def test_a_nic_of_a_fabric(self):
        """The fabric's uplink leads to the tester."""
        inside = self.network_namespace(mtu=3442)
        environment = self.environment_of_root()
        words = [harness.STAGE.urnic, "fabric", "--name", "tested", "--uplink", "af_packet:right"]
        switch = self.start_plain("switch", [*inside, *words], environment, privileged=True)
        if not wait_until(lambda: "Ctrl-C" in switch.output() or not switch.is_running(), PATIENCE):
            self.fail_with("the switch does not start")
        how = {"inside": inside, "privileged": True}
        self.start_agent_at("10.78.3.2", "fabric:tested", environment, **how)
        report = self.run_conform("10.78.3.2", FROM_LEFT, CASES_ON_AN_INTERFACE, **how)
        self.expect_passed(report, LEAST_PASSED_ON_AN_INTERFACE)

    def test_the_nic_of_a_host(self):
        """The default port, with the sockets of the host's own stack."""
        inside = self.network_namespace(3442, "address add 10.78.3.2/24 dev right")
        how = {"inside": inside, "privileged": True}
        self.start_agent_on(["--port", "host"], self.environment_of_root(), **how)
        report = self.run_conform("10.78.3.2", FROM_LEFT, CASES_ON_AN_INTERFACE, **how)
        self.expect_passed(report, LEAST_PASSED_ON_AN_INTERFACE)

    def test_an_interface_needs_an_address(self):
        inside = self.network_namespace(mtu=3442)
        words = [
            *inside,
            harness.STAGE.urnic,
            "conform",
            "--port",
            "af_xdp:left",
            "--token",
            "x",
            "10.78.3.2",
        ]
        process = self.start_plain("conform", words, privileged=True)
        self.expect_end(process, code=2)
        self.assertIn(
            "others are on interface left, so the NIC needs an address that is free there: give --ip",
            process.output(),
        )


class BenchTest(PortTest):
    def run_on_bench(self, socket, cases, code=0):
        return self.run_conform(ADDRESS_OF_BENCH, ["--port", f"bench:{socket}"], cases, code)


class Relayed(BenchTest):
    """A relay joins the tester's wire and a NIC's."""

    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.runtime, "bench.sock")
        self.listener = lock_step.listen(self.socket)
        self.addCleanup(self.listener.close)
        os.chmod(self.socket, 0o777)  # the programs may be another user's
        self.relay = lock_step.Relay(LATENCY_PS)
        self.addCleanup(self.relay.close)
        threading.Thread(target=self.join, daemon=True).start()

    def join(self):
        try:
            self.relay.accept(self.listener)
            self.relay.accept(self.listener)
        except OSError:
            return  # the test has ended
        self.relay.run()

    def start_relayed_agent(self):
        return self.start_agent_at(ADDRESS_OF_BENCH, f"bench:{self.socket}")

    def test_urnic_does_what_its_scripts_say(self):
        self.start_relayed_agent()
        report = self.run_on_bench(self.socket, CASES_OF_URNIC)
        self.expect_passed(report, LEAST_PASSED_BY_URNIC)

    def test_no_connections(self):
        self.port = harness.free_port()
        report = self.run_on_bench(self.socket, ["cm/stale/*"], 3)
        self.assertEqual(
            {case["reason"] for case in report["cases"]},
            {"with a bench, no cases about connections are played"},
        )

    def test_a_nic_that_goes_away(self):
        """What is played then is unknown, and so is the rest."""
        agent = self.start_relayed_agent()
        threading.Timer(2, agent.kill).start()
        report = self.run_on_bench(self.socket, ["rc/*"])
        self.assertEqual(report["failed"], 0)
        self.assertGreater(report["passed"], 0)
        gone = r"the bench has gone, or has granted no time for a minute|no agent at port \d+ of the peer"
        self.assertRegex(report["cases"][-1]["reason"], gone)


class Rtl(BenchTest):
    """Simulated hardware: the agent speaks to the device's host."""

    def setUp(self):
        super().setUp()
        self.require("verilator")
        self.bench = Bench(self, LATENCY_PS)
        agent = DeviceAgent(self.bench, TOKEN)
        self.addCleanup(agent.close)
        self.port = agent.port

    def test_the_responder(self):
        report = self.run_on_bench(self.bench.socket, CASES_OF_RTL, 1)
        failed = {case["name"]: case["reason"] for case in report["cases"] if case["verdict"] == "FAIL"}
        self.assertEqual(sorted(failed), sorted(FAULTS_OF_RTL))
        for name, part in FAULTS_OF_RTL.items():
            self.assertIn(part, failed[name])
        self.assertGreaterEqual(report["passed"], LEAST_PASSED_BY_RTL)
        # It has no asynchronous events, and nothing else is a habit but what is known.
        for case in report["cases"]:
            if case["verdict"] == "HABIT" and case["name"] not in HABITS_OF_RTL:
                self.assertEqual(case["reason"], "no event came", case["name"])
