# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic conform` plays scripts about connections against urnic: two hosts with a cable between them."""
import json
import pathlib
import re
import xml.etree.ElementTree

import harness
from conform_agents import LISTENER_GREETING, PATIENCE, TOKEN, AgentTest
from harness import wait_until
from hosts import HostsTest

# What no listener and no wire can do; CONFORM.md has the list, too.
KNOWN_REASONS = [
    "the listener's ids have no queue pair that data come to",
    "the listener has no ids for ",
    "librdmacm takes no Q_Key of a program",
    "the peer's port has an MTU of ",
    "the peer has an IPv",
    "the tester has no other host's address",
    "on a wire no two things happen at the same moment",
    "this script takes ",
    "it may hold the listener ",
    "nothing of it can be judged",
]
LEAST_PASSED = 110
# They wait for seconds. `urnic conform --filter 'cm/*'` plays them, too.
SLOW = re.compile(r"^\+([1-9]|\d\d+)(\.\d+)?s|^\+536\.", re.MULTILINE)
SCRIPTS = harness.PROJECT / "tests/scripts"


def quick_ones():
    """The names of all scripts without long waits."""
    names = []
    for path in sorted((SCRIPTS / "cm").rglob("*.cm")):
        if not SLOW.search(path.read_text()):
            names.append(path.relative_to(SCRIPTS).with_suffix("").as_posix())
    return names


class Connections(HostsTest, AgentTest):
    def start_listener(self, *nic, at=HostsTest.THERE):
        """On the host at the other end of the cable."""
        self.here, there = self.hosts(4300, 4300)
        self.port = harness.free_port()
        words = ["env", f"CONFORM_TOKEN={TOKEN}", *self.listener(), at, self.port]
        listener = self.start_nic_on(there, "listener", words, ["--port", "udp", *nic])
        if not wait_until(lambda: "listens" in listener.output() or not listener.is_running(), PATIENCE):
            self.fail_with("the listener does not listen", listener)
        return listener

    def start_conform(self, *options, to=HostsTest.THERE):
        words = ["conform", "--token", TOKEN, "--port", "udp", "--listener-port", self.port, *options, to]
        return self.start_on(self.here, "conform", [harness.STAGE.urnic, *map(str, words)])

    def conform(self, *options, code=0, **how):
        process = self.start_conform("--json", *options, **how)
        self.expect_end(process, 300, code)
        return json.loads(process.output())

    def test_urnic_does_what_scripts_without_long_waits_say(self):
        self.start_listener()
        names = quick_ones()
        report = self.conform(*(word for name in names for word in ("--filter", name)))
        self.expect_passed(report, LEAST_PASSED, KNOWN_REASONS)

    def test_over_ipv6(self):
        self.start_listener(at=self.THERE_IPV6)
        filters = ["--filter", "cm/services/ipv6_?*ive", "--filter", "cm/private_data/*"]
        report = self.conform(*filters, to=self.THERE_IPV6)
        self.expect_passed(report, 9, KNOWN_REASONS)
        self.assertEqual(
            {case["name"]: case["verdict"] for case in report["cases"] if "ipv6" in case["name"]},
            {"cm/services/ipv6_active": "PASS", "cm/services/ipv6_passive": "PASS"},
        )

    def test_faults_are_found(self):
        """A NIC whose messages are otherwise: the fault injector changes them on their way."""
        for fault, part in (
            ("set:kind=send:bth.qp=5:direction=tx:times=all", "no message came"),
            ("dup:kind=send:direction=tx:times=all", "nothing expected it: > REP"),
            ("corrupt:kind=send:byte=70:direction=tx:times=all", "wrong ICRC"),
        ):
            with self.subTest(fault=fault):
                listener = self.start_listener("--fault", fault)
                case = self.conform("--filter", "cm/establishing/ack_delay", code=1)["cases"][0]
                self.assertIn(part, case["reason"])
                self.assertTrue(case["rule"] and case["source"] and case["ladder"])
                listener.kill()

    def test_a_listener_that_vanishes(self):
        """What was played has a verdict, what was not is unknown, and what needs no listener is played."""
        listener = self.start_listener()
        process = self.start_conform("--filter", "cm/[d-u]*")
        self.assertTrue(wait_until(lambda: process.output().count("PASS") > 3, PATIENCE))
        listener.kill()
        self.assertIsNotNone(process.wait(120))
        self.assertNotIn("FAIL", process.output())
        self.assertRegex(process.output(), r"UNKNOWN  cm/\S+\n +(the listener has|no listener)")

    def test_results_for_browsers_and_for_tools_that_show_tests(self):
        self.start_listener("--fault", "dup:kind=send:direction=tx:times=all")
        folder = pathlib.Path(self.runtime) / "results"
        folder.mkdir()
        folder.chmod(0o777)
        files = [folder / name for name in ("result.xml", "report.html", "log")]
        options = ["--junit", files[0], "--html", files[1], "--resume", files[2], "--pcap", folder]
        report = self.conform(
            *options, "--filter", "cm/establishing/ack_*", "--filter", "cm/unknown/rtu", code=1
        )
        self.assertEqual([case["verdict"] for case in report["cases"]], ["FAIL", "FAIL"])
        suite = xml.etree.ElementTree.parse(files[0]).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "2"))
        shown = re.search(r'<script type="application/json" id="data">(.*?)</script>', files[1].read_text())[
            1
        ]
        packets = json.loads(shown)["cases"][0]["trace"]["packets"]
        self.assertGreaterEqual(len(packets), 3)
        again = self.conform(
            *options, "--filter", "cm/establishing/ack_*", "--filter", "cm/unknown/rtu", code=1
        )
        self.assertEqual(again["cases"], report["cases"], "nothing was played again")


class WithoutHosts(AgentTest):
    """On loopback addresses, where rdma_cm cannot connect to the tester: without a privilege."""

    def test_listeners_that_do_not_play(self):
        self.start_agent(command=self.listener())
        words = ["--filter", "cm/stale/after*", "--listener-port", self.port]
        refused = self.conform(*words, token="wrong", code=3)["cases"][0]["reason"]
        self.assertEqual(refused, "the listener refuses: token: it is another")
        self.assertEqual(self.conform(*words)["passed"], 1)
        to_tester = self.conform("--filter", "cm/services/flow_control", "--listener-port", self.port, code=3)
        self.assertIn("loopback address", to_tester["cases"][0]["reason"])
        for answers, reason in (
            ((b"error version: this listener speaks 2",), "the listener refuses: version: this listener "),
            ((b"SSH-2.0-OpenSSH_9.2",), "what is at that port is no listener"),
            ((b"ok urnic-listener 1",), "the listener has "),
            ((b"ok urnic-listener 1", b"error no RDMA device"), "the listener cannot begin: no RDMA device"),
            ((b"ok urnic-listener 1", b"ok mtu=x"), "the listener's reply makes no sense"),
        ):
            self.serve(*answers)
            report = self.conform("--filter", "cm/stale/after*", "--listener-port", self.port, code=3)
            self.assertIn(reason, report["cases"][0]["reason"])

    def test_cases_that_need_no_listener(self):
        self.start_agent(command=self.listener())
        # The NIC is there as soon as a program uses it.
        self.assertTrue(self.client(LISTENER_GREETING).ask("begin").startswith("ok "))
        report = self.conform(
            *("--filter", "cm/unknown/disconnect", "--filter", "cm/rejections/no_listener"),
            *("--filter", "cm/stale/after*", "--listener-port", harness.free_port()),
        )
        verdicts = [case["verdict"] for case in report["cases"]]
        self.assertEqual(verdicts, ["PASS", "UNKNOWN", "PASS"])
        self.assertIn("no listener at port", report["cases"][1]["reason"])
