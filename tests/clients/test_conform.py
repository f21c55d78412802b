# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic conform` with urnic as the NIC under test."""
import json
import pathlib
import re
import xml.etree.ElementTree

import harness
from conform_agents import PATIENCE, TOKEN, VERSION, AgentTest
from harness import wait_until
from test_udp import loopback_nics


# A fault of the NIC under test, the case that finds it, what the case says, and which rules `urnic check`
# finds broken in the same packets: it does not know what a script expects.
FAULTS = [
    ("set:kind=ack:aeth.msn=9:times=all", "rc/length/1_execute_write", "msn is 9", ()),
    (
        "set:kind=nak:aeth.syndrome=0x63:times=all",
        "rc/sequence/gap_inside_message",
        "came: NAK_REMOTE_OPERATION",
        (),
    ),
    ("drop:kind=ack:times=all", "rc/length/1_execute_write", "no packet came", ()),
    ("dup:kind=ack:times=all", "rc/length/1_execute_write", "nothing expected it: > ACK", ()),
    ("corrupt:kind=ack:byte=15:times=all", "rc/length/1_execute_write", "wrong ICRC", ("icrc",)),
    ("set:kind=read_response:bth.psn=7:times=all", "rc/length/1_answer_read", "psn is 7", ()),
    ("verb:ibv_poll_cq:status=LOC_LEN_ERR:times=all", "rc/length/1_receive_send", "is LOC_LEN_ERR", ()),
    ("set:kind=ack:aeth.syndrome=0x70:times=all", "rc/length/1_execute_write", "came: ", ("aeth-syndrome",)),
    # The script says nothing of these.
    (
        "set:kind=ack:bth.ackreq=1:times=all",
        "rc/length/1_execute_write",
        "urnic check: ackreq-on-response in packet 2",
        ("ackreq-on-response",),
    ),
    (
        "set:kind=response:bth.migreq=0:nth=2:times=all",
        "rc/ack/msn_counts_requests",
        "urnic check: migreq-changed",
        ("migreq-changed",),
    ),
]
LEAST_PASSED = 530
# All scripts that are not about connections.
QUEUE_PAIRS = [word for service in ("rc", "uc", "ud", "xrc") for word in ("--filter", f"{service}/*")]


class Conform(AgentTest):
    def fail_of(self, report):
        """The one case that failed."""
        failed = [case for case in report["cases"] if case["verdict"] == "FAIL"]
        self.assertEqual(len(failed), 1, [case["name"] for case in failed])
        return failed[0]

    def broken_rules(self, capture):
        """What `urnic check` says of the packets of a case."""
        process = self.start_plain("check", [harness.STAGE.urnic, "check", "--json", capture])
        process.wait(PATIENCE)
        (report,) = json.loads(process.output())
        self.assertGreater(report["roce_v2"], 0)
        return {found["rule"] for found in report["findings"] if found["severity"] == "violation"}

    def test_urnic_does_what_its_scripts_say(self):
        """Every script that can be played passes, and of the others it is known why they cannot be."""
        self.start_agent()
        self.expect_passed(self.conform(*QUEUE_PAIRS), LEAST_PASSED)

    def test_faults_are_found(self):
        """A NIC whose answers are otherwise: the fault injector changes them on their way."""
        for fault, name, part, rules in FAULTS:
            with self.subTest(fault=fault):
                agent = self.start_agent(nic=["--fault", fault])
                packets = pathlib.Path(self.runtime) / "packets"
                packets.mkdir(mode=0o777, exist_ok=True)
                packets.chmod(0o777)
                case = self.fail_of(self.conform("--filter", name, "--pcap", packets, code=1))
                self.assertIn(part, case["reason"])
                self.assertTrue(case["rule"] and case["source"] and case["ladder"])
                self.assertEqual(self.broken_rules(case["capture"]), set(rules))
                agent.kill()

    def test_the_same_cases_pass_without_faults(self):
        self.start_agent()
        for _, name, _, _ in FAULTS:
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
        for language in ("c", "listener"):  # each is one file, with nothing else of the project
            self.assertNotIn('#include "', self.source("source.c", language).read_text())
        usual = self.start_plain("usual", [harness.STAGE.urnic, "conform", "--agent-source"])
        self.expect_end(usual)
        self.assertEqual(usual.output(), self.source("agent.c", "c").read_text())
        refused = self.start_plain("refused", [harness.STAGE.urnic, "conform", "--agent-source=perl"])
        self.expect_end(refused, code=2)
