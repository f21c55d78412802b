# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Short runs recorded at both ends: every frame has the right ICRC and is well-formed for tshark."""
import struct
import subprocess
import sys
import tempfile

import dissection
import harness
import icrc
from harness import ClientTest

VERBS = ["-d", "urnic0"]
SEND_ONLY, ACKNOWLEDGE = 0x04, 0x11
PINGPONG = ["ibv_rc_pingpong", *VERBS, "-g", "1", "-n", "20"]
RUNS = {
    "pingpong": PINGPONG,
    "pingpong_1_byte": [*PINGPONG, "-s", "1"],
    "pingpong_4097_bytes_mtu_4096": [*PINGPONG, "-s", "4097", "-m", "4096"],
    "pingpong_link_local": ["ibv_rc_pingpong", *VERBS, "-g", "0", "-n", "20", "-s", "5001"],
    "pingpong_events_mtu_256": [*PINGPONG, "-e", "-m", "256", "-s", "1003"],
    "write_bw": ["ib_write_bw", *VERBS, "-x", "1", "-F", "-n", "20"],
    "read_bw_all_sizes_small": ["ib_read_bw", *VERBS, "-x", "1", "-F", "-n", "5", "-s", "30001"],
    "send_bw_8_qps": ["ib_send_bw", *VERBS, "-x", "1", "-F", "-n", "10", "-q", "8", "-s", "9001"],
    "write_lat": ["ib_write_lat", *VERBS, "-x", "1", "-F", "-n", "20", "-s", "7"],
}


class Recordings(ClientTest):
    def record(self, command, nics=((), ())):
        self.require(command[0])
        files = [self.runtime / "server.pcap", self.runtime / "client.pcap"]
        self.run_pair(*command, nics=[[*nic, "--pcap", file] for nic, file in zip(nics, files)])
        self.judge(files)

    def judge(self, files):
        for file in files:
            frames = icrc.check_recording(file)
            self.assertGreater(frames, 10, f"{file.name} holds too few RoCEv2 frames")
            self.outside_icrc(file, frames)
            self.dissect(file, frames)

    def outside_icrc(self, file, frames):
        checker = harness.JUDGES / "captures/icrc_check.py"
        if not checker.exists():
            return
        result = subprocess.run([sys.executable, checker, file], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"ICRC verify rate  {frames} of {frames} checkable", result.stdout)

    def dissect(self, file, frames):
        if not dissection.is_available():
            return
        self.assertEqual(dissection.complaints(file), [])
        self.assertEqual(dissection.count_roce(file), frames, "tshark and we disagree about what is RoCEv2")

    def test_pingpongs_on_a_vlan(self):
        for command in (["ibv_rc_pingpong", "-s", "9001"], ["ibv_ud_pingpong"]):
            with self.subTest(command=command):
                self.record([*command, *VERBS, "-g", "1", "-n", "20"], nics=[["--vlan", "7"]] * 2)
                for name in ("server.pcap", "client.pcap"):
                    tags = {bytes(frame[12:16]) for frame in icrc.read_pcap(self.runtime / name)}
                    self.assertEqual(tags, {icrc.VLAN + b"\x00\x07"})

    def test_mixed_traffic(self):
        port = harness.free_port()
        files = [self.runtime / "server.pcap", self.runtime / "client.pcap"]
        traffic = [harness.STAGE.program("traffic"), "--rounds", "40"]
        server = self.start("server", [*traffic, "--listen", port], ["--pcap", files[0]])
        self.wait_for_listener(server, port)
        client = self.start("client", [*traffic, "--connect", port], ["--pcap", files[1]])
        self.expect_end(client)
        self.expect_end(server)
        self.judge(files)


class Judges(harness.unittest.TestCase):
    """What judges us is judged by frames that others made."""

    def test_icrc_accepts_frames_of_rdma_rxe_and_sees_every_flipped_bit(self):
        files = sorted((harness.PROJECT / "pcap_fixtures").glob("vs_*.pcap"))
        self.assertGreater(len(files), 5)
        self.assertGreater(sum(icrc.check_recording(file) for file in files), 100)
        frame = next(frame for frame in icrc.read_pcap(files[0]) if icrc.split_frame(frame))
        udp_at = 14 + (20 if frame[12:14] == b"\x08\x00" else 40)
        for bit in range((udp_at + 8 + 5) * 8, len(frame) * 8):
            damaged = bytearray(frame)
            damaged[bit // 8] ^= 0x80 >> bit % 8
            with self.assertRaises(icrc.BadFrame, msg=f"bit {bit}"):
                icrc.check_frame(bytes(damaged))

    def test_icrc_accepts_roce_v1_and_sees_every_flipped_bit(self):
        """A frame made by hand, whose ICRC an independent program worked out."""
        frame = (harness.PROJECT / "tests/fuzz/corpus/frame/made_roce_v1_send.bin").read_bytes()
        self.assertTrue(icrc.check_frame(frame))
        for bit in range((54 + 5) * 8, len(frame) * 8):
            damaged = bytearray(frame)
            damaged[bit // 8] ^= 0x80 >> bit % 8
            with self.assertRaises(icrc.BadFrame, msg=f"bit {bit}"):
                icrc.check_frame(bytes(damaged))

    def test_tshark_sees_what_is_malformed_but_does_not_guess_at_payloads(self):
        if not dissection.is_available():
            self.skipTest("tshark is not installed")
        frames = icrc.read_pcap(harness.PROJECT / "pcap_fixtures/vs_sizes.pcap")
        frame = next(bytes(frame) for frame in frames if len(frame) > 100 and frame[42] == SEND_ONLY)
        self.assertEqual(self.complaints(frame), [])
        as_idp = frame[:54] + bytes.fromhex("06000000ffff0001") + frame[62:]  # Xerox', and too short
        # Of a wrong CRC.
        as_fcoib = (
            frame[:54] + b"\x40" + bytes(14) + b"\x2e" + frame[70:-8] + bytes.fromhex("41000000") + frame[-4:]
        )
        for guessed in (as_idp, as_fcoib):
            self.assertEqual(self.complaints(guessed), [])
        long = bytearray(frame)
        struct.pack_into(">H", long, 16, len(frame))  # the IP packet
        self.assertEqual(len(self.complaints(bytes(long))), 1, "the IP packet is longer than the frame")
        short = bytearray(frame[:56])
        short[42] = ACKNOWLEDGE
        struct.pack_into(">H", short, 16, 42)  # the IP packet
        struct.pack_into(">H", short, 38, 22)  # the UDP datagram
        self.assertEqual(len(self.complaints(bytes(short))), 1, "there is no room for the AETH")

    def complaints(self, frame):
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
            file.flush()
            return dissection.complaints(file.name)

    def test_tshark_is_here(self):
        if not dissection.is_available():
            self.skipTest("tshark is not installed: no recording was dissected")

    def test_outside_icrc_checker_is_here(self):
        if not (harness.JUDGES / "captures/icrc_check.py").exists():
            self.skipTest("the outside ICRC checker is not here: only our own was asked")


def _add(name, command):
    setattr(Recordings, f"test_{name}", lambda self: self.record(command))


for _name, _command in RUNS.items():
    _add(_name, _command)
