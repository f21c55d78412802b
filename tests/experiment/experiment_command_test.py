#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic sim --topology FILE --workload FILE` from outside: reports, series, plots, captures, and what it
says of wrong files.

    experiment_command_test.py URNIC
"""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

URNIC = ""
INCAST = ("--topology", "incast", "--workload", "incast")
PAIR = '{"hosts": ["a", "b"], "links": [{"ends": ["a", "b"], "rate": "10Gb/s", "delay": "5us"}]}'
FLOW = '{"jobs": [{"pattern": "flow", "from": "a", "to": "b", "bytes": "100kB"}]}'


class ExperimentCommand(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.topology, self.workload = self.file("topology.json", PAIR), self.file("workload.json", FLOW)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def sim(self, *arguments, code=0):
        done = subprocess.run(
            [URNIC, "sim", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def report(self, *arguments, code=0):
        return json.loads(self.sim("--json", *arguments, code=code).stdout)

    def pair(self, *arguments, **options):
        return self.report("--topology", self.topology, "--workload", self.workload, *arguments, **options)

    def test_a_report_for_people(self):
        text = self.sim(*INCAST).stdout
        self.assertIn("incast on incast, seed 1: over after ", text)
        self.assertRegex(text, r"incast +8 +80 MB ")
        self.assertRegex(text, r"switch->receiver, 3 ")

    def test_a_report_for_programs(self):
        report = self.report(*INCAST)
        (job,) = report["jobs"]
        self.assertEqual((job["steps"], job["finished"], job["bytes"]), (8, 8, 80_000_000))
        self.assertAlmostEqual(
            job["goodput_bps"], job["bytes"] * 8 / ((job["ended_us"] - job["began_us"]) / 1e6), delta=1
        )
        self.assertGreater(job["fairness"], 0.99)
        self.assertEqual(
            sum(port["sent_frames"] for port in report["ports"]), report["network"]["sent_frames"]
        )
        self.assertTrue(report["is_over"])
        self.assertIsNone(report["failure"])

    def test_the_same_seed_twice_is_the_same_and_another_one_is_not(self):
        arguments = ("--topology", "leaf_spine", "--workload", "permutation", "--cc", "dcqcn:hpcc")
        reports = [self.report(*arguments, "--seed", seed) for seed in ("3", "3", "4")]
        for report in reports:
            del report["seconds"]
        self.assertEqual(reports[0], reports[1])
        self.assertNotEqual(reports[0]["trace_hash"], reports[2]["trace_hash"])

    def test_series_as_lines_and_as_csv(self):
        self.report(*INCAST, "--cc", "dcqcn:hpcc", "--series", "series.jsonl")
        self.report(*INCAST, "--cc", "dcqcn:hpcc", "--series", "series.csv")
        lines = [json.loads(line) for line in (self.folder / "series.jsonl").read_text().splitlines()]
        with (self.folder / "series.csv").open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(
            [(line["t_us"], line["metric"], line["of"], line["value"]) for line in lines],
            [(float(row["t_us"]), row["metric"], row["of"], float(row["value"])) for row in rows],
        )
        metrics = {line["metric"] for line in lines}
        self.assertEqual(
            metrics,
            {
                "queue_bytes",
                "marks",
                "rate_bps",
                "round_trip_us",
                "goodput_bps",
                "packets_in_flight",
                "cnps_sent",
                "cnps_handled",
            },
        )
        self.assertEqual([line["t_us"] for line in lines], sorted(line["t_us"] for line in lines))
        report = self.report(*INCAST, "--cc", "dcqcn:hpcc")
        for metric, counted in (
            ("marks", report["network"]["marked_frames"]),
            ("cnps_sent", report["queue_pairs"]["np_cnp_sent"]),
        ):
            self.assertEqual(self.total(lines, metric), counted, metric)
        highest = max(line["value"] for line in lines if line["metric"] == "queue_bytes")
        self.assertEqual(highest, report["network"]["highest_queue_bytes"])

    @staticmethod
    def total(lines, metric, interval_us=10):
        """The sum over all intervals: a value holds until the next one."""
        last, total, end = {}, 0, max(line["t_us"] for line in lines)
        for line in (line for line in lines if line["metric"] == metric):
            since, value = last.get(line["of"], (0, 0))
            total += value * max(0, round((line["t_us"] - since) / interval_us + 0.4999) - 1)
            total += line["value"]
            last[line["of"]] = (line["t_us"], line["value"])
        return total + sum(
            value * round((end - since) / interval_us + 0.4999) for since, value in last.values()
        )

    def test_a_fault_is_exact_and_said(self):
        report = self.pair("--fault", "b=drop:kind=write:direction=rx:nth=3")
        self.assertEqual(report["queue_pairs"]["packet_seq_err"], 1)
        self.assertEqual(len(report["faults"]), 1)
        self.assertIn("drop:kind=write:direction=rx:nth=3 hit 1 ", report["faults"][0])
        self.assertEqual(self.pair()["queue_pairs"]["packet_seq_err"], 0)

    def test_a_work_request_that_fails_is_exit_code_1(self):
        report = self.pair("--fault", "b=drop:kind=write:direction=rx:times=all", code=1)
        self.assertEqual(report["failure"], "a: a work request to b fails: RETRY_EXC_ERR")
        self.assertFalse(report["is_over"])

    def test_more_than_a_nic_can_have_is_said(self):
        hosts = [f"h{i}" for i in range(600)]
        links = [{"ends": [host, "s"], "rate": "10Gb/s", "delay": "1us"} for host in hosts]
        profile = {"name": "p", "buffer": "64MiB"}
        topology = self.file(
            "large.json",
            json.dumps(
                {
                    "profiles": [profile],
                    "switches": [{"name": "s", "profile": "p"}],
                    "hosts": hosts,
                    "links": links,
                }
            ),
        )
        workload = self.file(
            "greedy.json", '{"jobs": [{"pattern": "incast", "to": "h0", "bytes": "1kB", "posted": 4096}]}'
        )
        done = self.sim("--topology", topology, "--workload", workload, code=2)
        self.assertIn("greedy.json: h0 may have 4907008 work requests", done.stderr)

    def test_a_deadlock_without_timeouts_is_said(self):
        workload = self.file("silent.json", FLOW.replace("{", '{"ack_timeout": 0, ', 1))
        report = self.report(
            "--topology",
            self.topology,
            "--workload",
            workload,
            "--fault",
            "b=drop:kind=write:direction=rx:times=all",
            code=1,
        )
        self.assertIn("nothing has arrived for a second", report["failure"])

    def test_what_lasts_too_long_ends_when_it_is_told_to(self):
        report = self.pair("--until", "20us")
        self.assertFalse(report["is_over"])
        self.assertEqual(report["time_us"], 20)

    def test_a_capture_is_one_that_judges_accept(self):
        self.report(
            *INCAST, "--cc", "dcqcn:hpcc", "--pcap", "receiver=receiver.pcap", "--pcap", "sender0=sender.pcap"
        )
        for name in ("receiver.pcap", "sender.pcap"):
            judged = subprocess.run(
                [URNIC, "check", "--json", name],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
            (report,) = json.loads(judged.stdout)
            self.assertEqual(
                [finding for finding in report["findings"] if finding["severity"] == "violation"], []
            )

    def test_a_capture_is_what_tshark_reads(self):
        if shutil.which("tshark") is None:
            self.skipTest("tshark is not installed")
        report = self.pair("--pcap", "a=a.pcap")
        fields = ["-T", "fields", "-e", "infiniband.bth.opcode"]
        seen = subprocess.run(
            ["tshark", "-r", "a.pcap", "-Y", "infiniband", *fields],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        opcodes = seen.stdout.split()
        # 100 kB in packets of 4096 bytes: a first one, 23 in the middle, and a last one with immediate data.
        self.assertEqual([opcodes.count(opcode) for opcode in ("6", "7", "9")], [1, 23, 1])
        self.assertTrue(report["is_over"])

    def test_a_plot_is_one_file(self):
        self.report(*INCAST, "--plot", "plot.html")
        page = (self.folder / "plot.html").read_text()
        self.assertIn("queue_bytes", page)
        self.assertNotIn("@DATA@", page)
        self.assertNotRegex(page, r"<(script|link)[^>]+(src|href)=")

    def test_names_cannot_end_the_script_element(self):
        workload = self.file("evil.json", FLOW.replace("{", '{"name": "</script><b>", ', 1))
        self.report("--topology", self.topology, "--workload", workload, "--plot", "plot.html")
        self.assertNotIn("</script><b>", (self.folder / "plot.html").read_text())

    def test_wrong_usage_is_one_line(self):
        broken = self.file("broken.json", '{"hosts": ["a"')
        for arguments, said in (
            (
                ("--topology", "nowhere.json", "--workload", self.workload),
                "cannot read nowhere.json: No such file or directory",
            ),
            (("--topology", "/", "--workload", self.workload), "cannot read /: Is a directory"),
            (
                ("--topology", "/dev/zero", "--workload", self.workload),
                "cannot read /dev/zero: File too large",
            ),
            (("--topology", broken, "--workload", self.workload), "topology: no JSON: "),
            (("--topology", self.topology, "--workload", "nowhere.json"), "cannot read nowhere.json: "),
            (
                ("--topology", self.topology, "--workload", "incast"),
                'jobs[0].to: the topology has no host "receiver"',
            ),
            (
                ("--topology", self.topology, "--workload", self.workload, "--fault", "c=loss=1"),
                "--fault c=loss=1: write the name of a host",
            ),
            (("--topology", self.topology, "--workload", self.workload, "--fault", "a=los=1"), "--fault: "),
            (
                ("--topology", self.topology, "--workload", self.workload, "--pcap", "a=/nowhere/file"),
                "/nowhere/file",
            ),
            (
                ("--topology", self.topology, "--workload", self.workload, "--plot", "/nowhere/file"),
                "cannot write /nowhere/file: ",
            ),
            (("--topology", self.topology, "--workload", self.workload, "--cc", "tcp"), "--cc: "),
        ):
            done = self.sim(*arguments, code=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertNotEqual(
            subprocess.run(
                [URNIC, "sim", "--topology", self.topology], capture_output=True, check=False
            ).returncode,
            0,
        )
        self.assertNotEqual(
            subprocess.run([URNIC, "sim", "--plot", "x.html"], capture_output=True, check=False).returncode, 0
        )


if __name__ == "__main__":
    URNIC = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
