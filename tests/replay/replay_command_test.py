#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Does `urnic replay` behave as its help says?

    replay_command_test.py URNIC FIXTURES
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

URNIC, FIXTURES = sys.argv[1:3]


def fixture(name):
    return str(pathlib.Path(FIXTURES, f"{name}.pcap"))


def replay(*arguments, **options):
    return subprocess.run(
        [URNIC, "replay", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
        **options,
    )


def records(content):
    """Offsets and sizes of the records of a classic pcap file."""
    at = 24
    while at < len(content):
        size = struct.unpack_from("<I", content, at + 8)[0]
        yield at, 16 + size
        at += 16 + size


class ReplayCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, content, name="capture.pcap"):
        path = pathlib.Path(self.folder.name, name)
        path.write_bytes(content)
        return str(path)

    def without(self, name, frames):
        """The capture without these frames."""
        content = pathlib.Path(fixture(name)).read_bytes()
        kept = [
            content[at : at + size]
            for number, (at, size) in enumerate(records(content), 1)
            if number not in frames
        ]
        return self.write(content[:24] + b"".join(kept))

    def test_leaves_with_0_when_both_sides_are_equal(self):
        result = replay(fixture("vs_loss_both"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("our requester: equal", result.stdout)
        self.assertIn("our responder: equal", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_leaves_with_1_and_draws_both_ladders_after_a_mismatch(self):
        result = replay(self.without("vs_sizes", {51}))
        self.assertEqual(result.returncode, 1)
        self.assertIn("mismatch at frame", result.stdout)
        self.assertEqual(result.stdout.count("==>"), 2, "one arrow for each side")
        self.assertIn("captured", result.stdout)

    def test_leaves_with_2_when_a_file_is_missing_or_no_capture(self):
        result = replay("/nonexistent.pcap")
        self.assertEqual(result.returncode, 2)
        self.assertIn("No such file", result.stderr)
        result = replay(self.write(b"hello, this is no capture at all"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("not a pcap or pcapng file", result.stderr)

    def test_leaves_with_2_when_a_file_is_damaged_and_still_plays_what_it_read(self):
        content = pathlib.Path(fixture("vs_sizes")).read_bytes()
        result = replay(self.write(content[:-20]))
        self.assertEqual(result.returncode, 2)
        self.assertIn("our requester: equal", result.stdout)
        self.assertIn("damaged", result.stderr)

    def test_says_what_cannot_be_played(self):
        result = replay(fixture("arp_nd_linux"))
        self.assertEqual(result.returncode, 3)
        self.assertIn("played: 0 of 0 packets\nverdict: hardly played", result.stdout)
        self.assertIn("no requests of RoCEv2", result.stdout)
        # Half of a capture: the answers are missing, then the requests.
        content = pathlib.Path(fixture("vs_tos")).read_bytes()
        result = replay(self.without("vs_tos", {2, 4}))
        self.assertEqual(result.returncode, 0)
        self.assertIn("our responder: not played: the capture has no answer", result.stdout)
        self.assertIn("played: 2 of 2 packets\nverdict: equal", result.stdout)
        result = replay(self.without("vs_tos", {1, 3}))
        self.assertEqual(result.returncode, 3)
        self.assertIn("not played: 10.77.0.3 qp ? > 10.77.0.2 qp ", result.stdout)
        # A frame that was cut.
        frames = list(records(content))
        at, size = frames[0]
        cut = (
            content[:at]
            + content[at : at + 8]
            + struct.pack("<I", 80)
            + content[at + 12 : at + 16 + 80]
            + content[at + size :]
        )
        result = replay(self.write(cut))
        self.assertIn("frame 1 is left out: the capture has 80 of its", result.stdout)

    def test_plays_the_side_and_the_queue_pairs_asked_for(self):
        self.assertNotIn("our responder", replay("--side", "requester", fixture("vs_tos")).stdout)
        self.assertNotIn("our requester", replay("--side", "responder", fixture("vs_tos")).stdout)
        every = json.loads(replay("--json", fixture("srq_pingpong")).stdout)[0]["directions"]
        self.assertEqual(len(every), 8)
        name = every[0]["name"]
        numbers = [word for word in name.split() if word.startswith("0x")]
        directions = json.loads(replay("--json", "--qp", ":".join(numbers), fixture("srq_pingpong")).stdout)[
            0
        ]["directions"]
        self.assertEqual(len(directions), 2)
        self.assertIn(name, [direction["name"] for direction in directions])
        self.assertEqual(replay("--qp", "0xffffff", fixture("srq_pingpong")).returncode, 3)

    def test_does_not_call_equal_what_it_hardly_played(self):
        content = pathlib.Path(fixture("vs_sizes")).read_bytes()
        frames = list(records(content))
        for whole, code in ((len(frames) // 2 + 1, 0), (len(frames) // 2 - 1, 3)):
            kept = content[:24]
            for number, (at, size) in enumerate(frames):
                length = size - 16 if number < whole else 60  # what is cut cannot be played
                kept += content[at : at + 8] + struct.pack("<I", length)
                kept += content[at + 12 : at + 16 + length]
            path = self.write(kept)
            result = replay(path)
            (report,) = json.loads(replay("--json", path).stdout)
            self.assertEqual(result.returncode, code, result.stdout)
            self.assertEqual(report["verdict"], "hardly played" if code else "equal")
            self.assertEqual(report["packets_to_play"], len(frames))
            self.assertIn(f"played: {report['packets_played']} of {len(frames)} packets", result.stdout)
            self.assertNotEqual(report["packets_played"], 0)

    def test_reports_as_json(self):
        spoilt = self.without("vs_sizes", {51})
        result = replay("--json", fixture("vs_atomics"), spoilt)
        self.assertEqual(result.returncode, 1)
        equal, mismatch = json.loads(result.stdout)
        self.assertEqual(equal["verdict"], "equal")
        self.assertEqual(
            [side["side"] for side in equal["directions"][0]["sides"]], ["requester", "responder"]
        )
        self.assertEqual(equal["directions"][0]["sides"][0]["allowed_deviations"], {"migreq": 5})
        self.assertEqual(mismatch["verdict"], "mismatch")
        difference = mismatch["directions"][0]["sides"][1]["difference"]
        self.assertEqual(
            [row["frame"] for row in difference["ladder"] if row["differs"]], [difference["frame"]]
        )

    def test_draws_everything_when_asked_to(self):
        rows = replay("--ladder", "--side", "responder", fixture("vs_sizes")).stdout.splitlines()
        self.assertEqual(
            len([row for row in rows if "  > RC " in row and row.rstrip().endswith("given")]), 32
        )

    def test_explains_itself(self):
        result = replay("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("--side", "--qp", "--json", "--ladder", "--memory-changes", "Exit code"):
            self.assertIn(word, result.stdout)
        deviations = replay("--deviations").stdout.splitlines()
        readme = pathlib.Path(FIXTURES).parent.joinpath("tools/conformance/replay/README.md").read_text()
        self.assertGreater(len(deviations), 10)
        for line in deviations:
            self.assertIn(f"| `{line.split()[0]}` |", readme)

    def test_refuses_wrong_usage(self):
        for arguments in (
            [],
            ["--side", "both sides", fixture("vs_tos")],
            ["--qp", "0x1000000", fixture("vs_tos")],
            ["--qp", "1:2:3", fixture("vs_tos")],
            ["--qp", "x", fixture("vs_tos")],
            ["--nonsense"],
        ):
            result = replay(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn("--help'", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
