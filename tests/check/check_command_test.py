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
        self.assertIn("icrc frame 4: expected ", result.stdout)

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
        """vs_sizes, where the server asks for a pause of priority 0 after the first frame and never ends it."""
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

    def test_refuses_policies_that_are_none(self):
        for option, text in (
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
            "--lossy",
            "--cnp-spacing",
            "--link-rate",
            "--link-host",
            "--rules",
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
