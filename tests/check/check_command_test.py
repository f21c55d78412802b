#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Does `urnic check` behave as its help says, and is it fast and small?

    check_command_test.py URNIC MAKE_LONG_CAPTURE FIXTURES [--speed]

--speed asks for 300 MB of capture per second of processor time as well: only an optimised build does that.
"""
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

URNIC, MAKE_LONG_CAPTURE, FIXTURES = sys.argv[1:4]
SPEED = "--speed" in sys.argv[4:]
MEGABYTES = 300
LEAST_MB_PER_SECOND = 300
MOST_KIB = 64 << 10


# Opcodes of RC that answer: READ responses, ACK, atomic ACK.
ANSWERS = (0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12)


def frames_of_tshark(path):
    fields = ("frame.number", "frame.time_epoch", "infiniband.bth.opcode", "infiniband.bth.psn")
    command = ["tshark", "-r", path, "-T", "fields", *[word for field in fields for word in ("-e", field)]]
    lines = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True
    ).stdout.splitlines()
    return [
        {
            "number": int(number),
            "ns": int(time.replace(".", "").ljust(19, "0")),
            "opcode": int(opcode, 0),
            "psn": int(psn),
        }
        for number, time, opcode, psn in (line.split("\t") for line in lines)
    ]


def fixture(name):
    return str(pathlib.Path(FIXTURES, f"{name}.pcap"))


def check(*arguments, **options):
    return subprocess.run(
        [URNIC, "check", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
        **options,
    )


class CheckCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def spoilt(self, name="vs_tos"):
        """A capture whose last frame has a wrong ICRC."""
        content = bytearray(pathlib.Path(fixture(name)).read_bytes())
        content[-1] ^= 1
        return self.write(content)

    def cut(self, content, length):
        """A capture of which each frame has so many bytes at most, as with tcpdump -s."""
        frames, at = [content[:24]], 24
        while at < len(content):
            time, kept, whole = content[at : at + 8], content[at + 8 : at + 12], content[at + 12 : at + 16]
            bytes_kept = int.from_bytes(kept, "little")
            frame = content[at + 16 : at + 16 + bytes_kept][:length]
            frames.append(time + len(frame).to_bytes(4, "little") + whole + frame)
            at += 16 + bytes_kept
        return b"".join(frames)

    def write(self, content, name="capture.pcap"):
        path = pathlib.Path(self.folder.name, name)
        path.write_bytes(content)
        return str(path)

    def test_leaves_with_0_when_nothing_is_violated(self):
        result = check(fixture("vs_loss_requests"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("verdict: clean", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_leaves_with_1_and_names_the_rule_after_a_violation(self):
        result = check(self.spoilt())
        self.assertEqual(result.returncode, 1)
        self.assertRegex(
            result.stdout, r"icrc frame 4, 10\.\S+ qp 0x[0-9a-f]{6} > \S+ qp 0x[0-9a-f]{6}: expected "
        )

    def test_leaves_with_3_where_there_is_nothing_to_judge(self):
        header = pathlib.Path(fixture("vs_tos")).read_bytes()[:24]
        for path in (fixture("arp_nd_linux"), self.write(header)):
            result = check(path)
            self.assertEqual(result.returncode, 3, path)
            self.assertIn("verdict: nothing to judge", result.stdout)
            (report,) = json.loads(check("--json", path).stdout)
            self.assertEqual((report["verdict"], report["roce_v2"]), ("nothing to judge", 0))

    def test_frames_whose_headers_are_cut_break_no_rule(self):
        for name in ("vs_rnr", "vs_loss_both", "srq_pingpong"):
            result = check(self.write(self.cut(pathlib.Path(fixture(name)).read_bytes(), 64)))
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("frame-cut", result.stdout)

    def test_leaves_with_2_when_a_file_is_damaged_and_still_reports_what_it_read(self):
        content = pathlib.Path(fixture("vs_tos")).read_bytes()
        result = check(self.write(content[:-10]))
        self.assertEqual(result.returncode, 2)
        self.assertIn("3 RoCEv2", result.stdout)
        self.assertIn("damaged after frame 3", result.stderr)

    def test_leaves_with_2_without_a_capture(self):
        for arguments in (
            ["/nonexistent"],
            [self.write(b"no capture")],
            [],
            ["--nonsense"],
            [self.folder.name],
        ):
            result = check(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_the_worst_of_several_files_decides(self):
        spoilt = self.spoilt()
        self.assertEqual(check(fixture("vs_tos"), spoilt, fixture("vs_ud")).returncode, 1)
        self.assertEqual(check(spoilt, "/nonexistent").returncode, 2)

    def test_strict_counts_habits(self):
        result = check("--strict", fixture("vs_tos"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("migreq-zero", result.stdout.partition("violations")[2])

    def test_like_allows_the_habits_of_the_named_nics(self):
        for makers, exit_code in (
            ("rxe", 0),
            ("e810", 0),
            ("connectx", 1),
            ("connectx+rxe", 0),
            ("hns+fpga", 1),
        ):
            with self.subTest(makers=makers):
                result = check("--like", makers, fixture("vs_tos"))
                self.assertEqual(result.returncode, exit_code, result.stdout)
                violations = result.stdout.partition("violations")[2]
                self.assertEqual("migreq-zero" in violations, exit_code == 1)

    def test_like_wants_nics_that_it_knows(self):
        for arguments in (["--like", "connectx9"], ["--like", "rxe+"], ["--like", "rxe", "--strict"]):
            with self.subTest(arguments=arguments):
                result = check(*arguments, fixture("vs_tos"))
                self.assertEqual(result.returncode, 2)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_lossy_takes_absence_for_nothing(self):
        content = pathlib.Path(fixture("vs_atomics")).read_bytes()
        frames, at = [], 24
        while at < len(content):
            end = at + 16 + int.from_bytes(content[at + 8 : at + 12], "little")
            frames.append(content[at:end])
            at = end
        without_fourth = self.write(content[:24] + b"".join(frames[:3] + frames[4:]))
        self.assertEqual(check(without_fourth).returncode, 1)
        result = check("--lossy", without_fourth)
        self.assertEqual(result.returncode, 0)
        self.assertIn("atomic-unanswered", result.stdout.partition("unknown")[2])

    def test_json_says_what_the_text_says(self):
        spoilt = self.spoilt()
        result = check("--json", spoilt, fixture("vs_rnr"))
        self.assertEqual(result.returncode, 1)
        first, second = json.loads(result.stdout)
        self.assertEqual((first["file"], first["verdict"], first["violations"]), (spoilt, "violations", 1))
        finding = next(one for one in first["findings"] if one["severity"] == "violation")
        self.assertEqual((finding["rule"], finding["frames"]), ("icrc", [4]))
        self.assertEqual(second["verdict"], "clean")
        requests = second["connections"][0]["flows"][0]["requests"]
        self.assertEqual((requests["rnr_naks"], requests["sends"], requests["writes"]), (14, 2, 1))

    def test_json_says_what_req_and_rep_agreed_upon(self):
        flows = [
            flow
            for connection in json.loads(check("--json", fixture("rping_ipv6")).stdout)[0]["connections"]
            for flow in connection["flows"]
            if "agreed" in flow
        ]
        # tshark shows the same fields: ACK timeout 0x13, target ACK delay 0x0f, 7 retries of both kinds, 1
        # READ at a time.
        common = {"ack_timeout_ns": 4096 << 19, "retry_count": 7, "rnr_retry": 7, "max_reads": 1}
        self.assertEqual(
            [flow["agreed"] for flow in flows],
            [
                {"first_psn": 0x19824E, "target_ack_delay_ns": 4096 << 15, **common},
                {"first_psn": 0x45A74D, "target_ack_delay_ns": 0, **common},
            ],
        )

    def paused(self):
        """vs_sizes, where the server asks for a pause of priority 0 after the first frame and never ends
        it."""
        content = pathlib.Path(fixture("vs_sizes")).read_bytes()
        end = 24 + 16 + int.from_bytes(content[32:36], "little")
        server = content[end + 16 + 6 : end + 16 + 12]  # the source of frame 2
        control = struct.pack(">HH8H", 0x0101, 1, 0xFFFF, *[0] * 7)
        frame = (bytes.fromhex("0180c2000001") + server + b"\x88\x08" + control).ljust(60, b"\0")
        record = content[24:32] + struct.pack("<II", len(frame), len(frame)) + frame
        return self.write(content[:end] + record + content[end:], "paused.pcap"), server.hex(":")

    def test_pauses_are_reported_and_judged_with_a_link_rate(self):
        path, server = self.paused()
        result = check("--json", path)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(
            json.loads(result.stdout)[0]["pauses"],
            [{"from": server, "priority": 0, "xoff": 1, "xon": 0, "paused_ns": 0}],
        )
        result = check("--link-rate", "1Gb/s", path)  # 0xffff quanta are 33.55 ms
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(f"pause frames of {server}: priority 0 1 XOFF, 0 XON, paused for ", result.stdout)
        self.assertIn("pause-ignored frame 2, ", result.stdout.partition("violations")[2])
        self.assertEqual(
            check("--link-rate", "100Gb/s", path).returncode,
            0,
            "335 us, and the next frame of the client comes 6 ms later",
        )

    def connections(self, *arguments, name="srq_pingpong"):
        """The report about a capture, and for each connection what name it has in findings, by direction."""
        (report,) = json.loads(check("--json", *arguments, fixture(name)).stdout)
        return report, [
            {
                f"{flow['source']} qp {other['destination_qp']:#08x} > "
                f"{flow['destination']} qp {flow['destination_qp']:#08x}"
                for flow, other in zip(connection["flows"], reversed(connection["flows"]))
            }
            for connection in report["connections"]
        ]

    def test_shows_the_connection_of_one_queue_pair_and_counts_the_others(self):
        everything, names = self.connections("--silences", "0")
        self.assertGreater(len(names), 2)
        for connection, own in zip(everything["connections"], names):
            numbers = [flow["destination_qp"] for flow in connection["flows"]]
            for choice in (str(numbers[0]), hex(numbers[1]), f"{numbers[1]}:{numbers[0]:#x}"):
                report, _ = self.connections("--silences", "0", "--qp", choice)
                self.assertEqual(report["connections"], [connection], choice)
                self.assertEqual(
                    report["findings"],
                    [finding for finding in everything["findings"] if finding["connection"] in own],
                )
                others = [other for other in everything["connections"] if other != connection]
                self.assertEqual(report["left_out"]["connections"], len(others))
                self.assertEqual(
                    report["left_out"]["packets"],
                    sum(flow["packets"] for other in others for flow in other["flows"]),
                )
        self.assertIsNone(everything["left_out"])
        text = check("--qp", str(numbers[0]), fixture("srq_pingpong")).stdout
        self.assertIn(
            f"shown: 1 of {len(names)} connections; {len(names) - 1} connections of others not shown", text
        )

    def test_verdict_and_exit_code_are_of_what_is_shown(self):
        content = bytearray(pathlib.Path(fixture("srq_pingpong")).read_bytes())
        content[-1] ^= 1
        path = self.write(content)
        (report,) = json.loads(check("--json", path).stdout)
        (broken,) = [one for one in report["findings"] if one["severity"] == "violation"]
        codes = []
        for connection in report["connections"]:
            number = connection["flows"][0]["destination_qp"]
            result = check("--qp", str(number), path)
            codes.append(result.returncode)
            is_shown = f"qp {number:#08x}" in broken["connection"]
            self.assertEqual(result.returncode, 1 if is_shown else 0, result.stdout)
            self.assertEqual("findings not shown: 1 violation" in result.stdout, not is_shown)
        self.assertEqual(codes.count(1), 1)

    def test_a_limit_of_findings_is_one_of_what_is_shown(self):
        content = bytearray(pathlib.Path(fixture("srq_pingpong")).read_bytes())
        at, last, frames = 24, 0, []
        while at < len(content):
            length = int.from_bytes(content[at + 8 : at + 12], "little")
            frames.append((at, at + 16 + length))
            at += 16 + length
        for _, end in frames:
            content[end - 1] ^= 1
        first, last = frames[0], frames[-1]
        # 300 frames as the first one, all damaged, come after all others but the last. Each is a second
        # later, as a mirror's copies would be taken for one.
        head, model = bytes(content[:24]), bytes(content[first[0] : first[1]])
        seconds = int.from_bytes(content[last[0] : last[0] + 4], "little")
        copies = b"".join((seconds + i).to_bytes(4, "little") + model[4:] for i in range(1, 301))
        latest = (seconds + 301).to_bytes(4, "little") + bytes(content[last[0] + 4 : last[1]])
        good = bytearray(content)
        for _, end in frames[:-1]:
            good[end - 1] ^= 1
        path = self.write(head + bytes(good[24:]) + copies + latest)
        (report,) = json.loads(check("--json", path).stdout)
        self.assertEqual(report["count_by_rule"]["icrc"], 302)
        number = int.from_bytes(content[last[0] + 16 + 42 + 5 : last[0] + 16 + 42 + 8], "big")
        (report,) = json.loads(check("--json", "--qp", f"{number}", path).stdout)
        self.assertEqual(
            [len(one["frames"]) for one in report["findings"] if one["rule"] == "icrc"], [1, 1], report
        )

    def test_shows_the_connections_of_an_address(self):
        everything, _ = self.connections("--silences", "0", name="rping_ipv6")
        flow = everything["connections"][0]["flows"][0]
        both = f"{flow['source']},{flow['destination']}"
        for choice, count in (
            (flow["source"], len(everything["connections"])),
            (both, None),
            ("10.0.0.1", 0),
        ):
            report, _ = self.connections("--silences", "0", "--ip", choice, name="rping_ipv6")
            if count is not None:
                self.assertEqual(len(report["connections"]), count, choice)
            else:
                self.assertEqual(report["connections"], everything["connections"])

    def test_says_that_no_connection_has_what_was_chosen(self):
        result = check("--qp", "0x123456", fixture("vs_tos"))
        self.assertEqual(result.returncode, 3)
        self.assertIn("verdict: nothing to judge", result.stdout)
        self.assertIn("no connection has queue pair 0x123456", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)

    def test_a_choice_works_for_the_standard_input(self):
        with open(fixture("vs_tos"), "rb") as capture:
            chosen = check("--qp", "0x41", "-", stdin=capture)
        self.assertIn("shown: 1 of 1 connections", chosen.stdout, chosen.stderr)

    def test_the_longest_silences_are_those_that_tshark_sees(self):
        if shutil.which("tshark") is None:
            self.skipTest("tshark is not installed")
        for name in ("vs_sizes", "vs_loss_both", "vs_rnr"):
            frames = frames_of_tshark(fixture(name))
            (report,) = json.loads(check("--json", "--silences", "1000", fixture(name)).stdout)
            found = {
                (one["from"]["frame"], one["ended_by"]["frame"]): one["ns"]
                for one in report["longest_silences"]
                if one["ended_by"]
            }
            # vs_...: two queue pairs, and nothing else.
            for before, after in zip(frames, frames[1:]):
                gap = after["ns"] - before["ns"]
                if gap > 0:
                    self.assertEqual(found.get((before["number"], after["number"])), gap, name)
            lengths = [one["ns"] for one in report["longest_silences"]]
            self.assertEqual(lengths, sorted(lengths, reverse=True))
            (short,) = json.loads(check("--json", fixture(name)).stdout)
            self.assertEqual(short["longest_silences"], report["longest_silences"][:5])

    def test_the_wait_for_an_answer_is_that_of_the_oldest_request(self):
        if shutil.which("tshark") is None:
            self.skipTest("tshark is not installed")
        expected, waiting = {}, []
        for frame in frames_of_tshark(fixture("vs_sizes")):  # nothing is lost in it
            if frame["opcode"] in ANSWERS:
                answered = [request for request in waiting if request["psn"] <= frame["psn"]]
                if answered:
                    expected[answered[0]["number"], frame["number"]] = frame["ns"] - answered[0]["ns"]
                waiting = [request for request in waiting if request["psn"] > frame["psn"]]
            else:
                waiting.append(frame)
        (report,) = json.loads(check("--json", "--silences", "1000", fixture("vs_sizes")).stdout)
        found = {
            (one["from"]["frame"], one["ended_by"]["frame"]): one["ns"]
            for one in report["longest_silences"]
            if one["kind"] == "answer"
        }
        self.assertEqual(found, expected)
        self.assertGreater(len(found), 10)

    def test_a_silence_names_what_ended_it(self):
        text = check("--silences", "3", fixture("vs_rnr")).stdout
        self.assertIn("longest silences\n", text)
        self.assertRegex(
            text, r"nothing from RNR NAK, timer \d+ \([\d.]+ ms\) PSN \d+ to RC SEND Only PSN \d+ again"
        )
        dead = check("--json", "--silences", "1", fixture("vs_peer_dead")).stdout
        (wait,) = json.loads(dead)[0]["longest_silences"]
        self.assertEqual((wait["kind"], wait["ended_by"]), ("answer", None))
        self.assertGreater(wait["transmissions"], 1)
        self.assertNotIn("longest silences", check("--silences", "0", fixture("vs_rnr")).stdout)

    def test_refuses_policies_that_are_none(self):
        for option, text in (
            ("--qp", "0x1000000"),
            ("--qp", "1:2:3"),
            ("--qp", "-1"),
            ("--ip", "10.0.0"),
            ("--cnp-spacing", "50"),
            ("--cnp-spacing", "50us:host"),
            ("--link-rate", "fast"),
            ("--link-host", "10.0.0.1"),
        ):
            result = check(option, text, fixture("vs_tos"))
            self.assertEqual(result.returncode, 2, option)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(f"'{text}'", result.stderr)

    def test_json_of_unreadable_files_is_json(self):
        result = check("--json", self.write(b"", "gar\udcffbage"))
        self.assertEqual(result.returncode, 2)
        self.assertEqual(json.loads(result.stdout)[0]["verdict"], "unreadable")

    def test_ladder_shows_every_frame_that_is_not_a_middle(self):
        result = check("--ladder", fixture("vs_rnr"))
        rows = [line for line in result.stdout.splitlines() if line.lstrip()[:1].isdigit() and "|" in line]
        self.assertEqual(len(rows), 40)
        self.assertTrue(all(line.isascii() for line in rows))
        self.assertEqual(sum("RNR NAK" in line for line in rows), 14)
        self.assertEqual(sum(line.endswith("again") for line in rows), 15)

    def test_ladder_marks_violations(self):
        content = bytearray(pathlib.Path(fixture("vs_tos")).read_bytes())
        content[-1] ^= 1
        result = check("--ladder", self.write(content))
        self.assertIn("!icrc", result.stdout)

    def test_reads_the_standard_input(self):
        with open(fixture("vs_ud"), "rb") as capture:
            result = check("-", stdin=capture)
        self.assertEqual(result.returncode, 0)
        self.assertIn("9 datagrams", result.stdout)

    def test_lists_its_rules(self):
        result = check("--rules")
        self.assertEqual(result.returncode, 0)
        self.assertGreater(len([line for line in result.stdout.splitlines() if " violation " in line]), 40)

    def test_help_names_options_and_exit_codes(self):
        text = check("--help").stdout
        for word in (
            "--json",
            "--ladder",
            "--strict",
            "--like",
            "--lossy",
            "--cnp-spacing",
            "--link-rate",
            "--link-host",
            "--rules",
            "--qp",
            "--ip",
            "--silences",
            "Exit code",
            "habit",
            "unknown",
        ):
            self.assertIn(word, text)

    def test_is_small_and_fast_with_a_long_capture(self):
        path = str(pathlib.Path(self.folder.name, "long.pcap"))
        subprocess.run([MAKE_LONG_CAPTURE, path, str(MEGABYTES)], check=True)
        process = subprocess.Popen([URNIC, "check", path], stdout=subprocess.PIPE, text=True)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        seconds = usage.ru_utime + usage.ru_stime
        print(f"{MEGABYTES / seconds:.0f} MB/s of processor time, {usage.ru_maxrss} KiB", file=sys.stderr)
        self.assertEqual(process.returncode, 0, text)
        if SPEED:
            self.assertLess(usage.ru_maxrss, MOST_KIB)
            self.assertGreater(MEGABYTES / seconds, LEAST_MB_PER_SECOND)

    def test_shows_a_bar_on_a_terminal_only(self):
        path = str(pathlib.Path(self.folder.name, "long.pcap"))
        subprocess.run([MAKE_LONG_CAPTURE, path, "80"], check=True)
        self.assertEqual(check(path).stderr, "")
        master, slave = pty.openpty()
        process = subprocess.Popen([URNIC, "check", path], stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        shown = b""
        try:
            while chunk := os.read(master, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(process.wait(), 0)
        self.assertRegex(shown, rb"#[#.]*\] [0-9]+ %")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
