#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Do `urnic check` and `urnic view` see a capture in tunnels, fragments and other formats as they see the
plain one? tshark says whether what the test made is right.

    tunnels_test.py URNIC FIXTURES
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import wrapping
from wrapping import Frame

URNIC, FIXTURES = sys.argv[1:3]
HAS_TSHARK = shutil.which("tshark") is not None

# What belongs to the file and not to what is in it, or to how it was seen.
OF_THE_FILE = ("file", "bytes", "tunnels", "doubled_frames", "frames", "fragments", "reassembled_datagrams")


def fixture(name):
    return pathlib.Path(FIXTURES, f"{name}.pcap")


def urnic(*arguments, **options):
    return subprocess.run(
        [URNIC, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, **options
    )


def report(path, *options):
    result = urnic("check", "--json", *options, path)
    (only,) = json.loads(result.stdout)
    return only


def content(one, *more):
    return {key: value for key, value in one.items() if key not in OF_THE_FILE + more}


def without_frame_numbers(one):
    if isinstance(one, list):
        return [without_frame_numbers(each) for each in one]
    if not isinstance(one, dict):
        return one
    return {key: without_frame_numbers(value) for key, value in one.items() if key != "frame"}


def tshark_fields(path, *fields):
    linux = ("-d", "udp.port==8472,vxlan")  # the port that Linux chose before there was a standard
    command = ["tshark", "-n", "-r", str(path), *linux, "-Y", "infiniband", "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [line.split("\t") for line in result.stdout.splitlines()]


def without_habit(one, rule):
    """The report without a habit that the tunnel itself causes."""
    one = dict(one, findings=[finding for finding in one["findings"] if finding["rule"] != rule])
    one["count_by_rule"] = {name: count for name, count in one["count_by_rule"].items() if name != rule}
    return one


class Wrapped(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, frames, link_type=wrapping.ETHERNET, name="made.pcap"):
        return wrapping.write_pcap(self.folder / name, frames, link_type)

    def assert_same_for_tshark(self, made, plain):
        """What urnic is asked about is what was wanted: tshark finds the same packets in both."""
        if HAS_TSHARK:
            fields = ("infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp")
            expected = tshark_fields(plain, *fields)
            self.assertGreater(len(expected), 0)
            self.assertEqual(tshark_fields(made, *fields), expected)


class Tunnels(Wrapped):
    def test_a_capture_in_a_tunnel_is_judged_as_the_plain_one(self):
        for name in ("vs_loss_both", "vs_rnr", "rping_ipv6"):
            plain = wrapping.read_pcap(fixture(name))
            expected = content(report(fixture(name)))
            for tunnel, (_, words) in wrapping.TUNNELS.items():
                with self.subTest(fixture=name, tunnel=tunnel):
                    made = self.write(wrapping.wrapped(plain, tunnel))
                    self.assert_same_for_tshark(made, fixture(name))
                    seen = report(made)
                    self.assertEqual(content(seen), expected)
                    self.assertEqual(seen["tunnels"], {word: expected["roce_v2"] for word in words})
                    text = urnic("check", made).stdout
                    for word in words:
                        self.assertIn(f"{expected['roce_v2']} in {word}", text)

    def test_the_page_shows_the_headers_that_tshark_shows(self):
        names = {
            "eth": "Ethernet", "vlan": "VLAN", "ieee8021ad": "VLAN", "ip": "IPv4", "ipv6": "IPv6",
            "udp": "UDP", "gre": "GRE", "vxlan": "VXLAN", "geneve": "GENEVE", "infiniband": "BTH",
        }  # fmt: skip
        plain = wrapping.read_pcap(fixture("vs_sizes"))
        expected = json.loads(urnic("view", "--json", fixture("vs_sizes")).stdout)
        for tunnel in wrapping.TUNNELS:
            with self.subTest(tunnel=tunnel):
                made = self.write(wrapping.wrapped(plain, tunnel))
                page = json.loads(urnic("view", "--json", made).stdout)
                self.assertEqual(len(page["packets"]), len(expected["packets"]))
                for one, other in zip(page["packets"], expected["packets"]):
                    self.assertEqual((one["psn"], one["label"]), (other["psn"], other["label"]))
                if not HAS_TSHARK:
                    continue
                # tshark 4.4 leaves out the IP header after labels of MPLS.
                stack = tshark_fields(made, "frame.protocols")[0][0].replace("mpls:udp", "mpls:ip:udp")
                wanted = []
                for word in stack.split(":"):
                    if word == "erspan":
                        wanted += {"erspan2": ["ERSPAN II"], "erspan1": []}.get(
                            tunnel.split("_in_")[-1], ["ERSPAN III"]
                        )
                    elif word == "mpls":
                        wanted += ["MPLS"] * (2 if tunnel == "mpls" else 1)
                    elif word in names:
                        wanted.append(names[word])
                layout = page["layouts"][page["packets"][0]["layout"]]
                shown = [header["name"] for header in layout]
                self.assertEqual(shown[: len(wanted)], wanted, stack)

    def test_a_mirror_that_sends_a_part_of_a_frame_breaks_no_rule(self):
        plain = wrapping.read_pcap(fixture("vs_sizes"))
        cut = [Frame(frame.ns, frame.data[:96]) for frame in plain]
        seen = report(self.write(wrapping.wrapped(cut, "erspan2")))
        self.assertEqual((seen["verdict"], seen["violations"]), ("clean", 0))
        self.assertGreater(seen["count_by_rule"]["frame-cut"], 10)

    def test_what_cannot_be_looked_into_is_counted(self):
        (frame, *_) = wrapping.read_pcap(fixture("vs_tos"))
        deep = frame
        for _ in range(9):
            deep = wrapping.wrapped([deep], "gre_ethernet")[0]
        ipsec = wrapping.ethernet(0x0800, wrapping.ipv4(50, bytes(40)))
        odd = wrapping.ethernet(0x0800, wrapping.ipv4(47, wrapping.gre(0x880B, bytes(40))))
        cut = wrapping.wrapped([frame], "vxlan")[0].data[:46]
        made = self.write([deep, *(Frame(frame.ns, data) for data in (ipsec, odd, odd, cut))])
        result = urnic("check", made)
        self.assertEqual(result.returncode, 3)
        seen = report(made)["not_looked_into"]
        self.assertEqual(sorted(seen.values()), [1, 1, 1, 2], seen)
        for words in (
            "1 encrypted (IPsec)",
            "1 in too many tunnels",
            "2 in a tunnel of an unknown",
            "1 cut inside",
        ):
            self.assertIn(words, result.stdout)


class Fragments(Wrapped):
    def test_datagrams_are_put_together(self):
        for name, cut, size in (
            ("vs_sizes", wrapping.fragments_of_ipv4, 400),
            ("rping_ipv6", lambda f, most, number=[0]: self.cut_ipv6(f, most, number), 96),
        ):
            plain = wrapping.read_pcap(fixture(name))
            expected = report(fixture(name))
            orders = {
                "in order": lambda pieces: pieces,
                "backwards": lambda pieces: pieces[::-1],
                "each twice": lambda pieces: [piece for piece in pieces for _ in range(2)],
                "all twice": lambda pieces: pieces * 2,
            }
            for order, arrange in orders.items():
                with self.subTest(fixture=name, order=order):
                    # Where only some frames come twice it is the network, so whole ones come once.
                    pieces = [cut(frame, size) for frame in plain]
                    frames = [piece for own in pieces for piece in (arrange(own) if len(own) > 1 else own)]
                    made = self.write(frames)
                    if order == "in order":
                        self.assert_same_for_tshark(made, fixture(name))
                    seen = report(made)
                    self.assertEqual(seen["connections"], expected["connections"])
                    self.assertEqual(seen["icrc_right"], expected["icrc_right"])
                    self.assertEqual(seen["icrc_wrong"], 0)
                    # RoCEv2 must not be fragmented; nothing else is wrong.
                    rules = {
                        finding["rule"] for finding in seen["findings"] if finding["severity"] == "violation"
                    }
                    self.assertEqual(rules, {"ip-fragment"})
                    self.assertEqual(seen["incomplete_datagrams"], 0)

    @staticmethod
    def cut_ipv6(frame, most, number):
        number[0] += 1
        return wrapping.fragments_of_ipv6(frame, most, number[0])

    def test_fragments_of_a_tunnel_break_no_rule(self):
        plain = wrapping.read_pcap(fixture("vs_sizes"))
        frames = []
        for number, frame in enumerate(wrapping.wrapped(plain, "vxlan")):
            ip = frame.data[14:18] + (number + 1).to_bytes(2, "big") + frame.data[20:]
            frames += wrapping.fragments_of_ipv4(Frame(frame.ns, frame.data[:14] + ip), 512)
        made = self.write(frames)
        self.assert_same_for_tshark(made, fixture("vs_sizes"))
        seen = report(made)
        expected = report(fixture("vs_sizes"))
        self.assertEqual(*(without_frame_numbers(content(each)) for each in (seen, expected)))
        self.assertGreater(seen["reassembled_datagrams"], 5)
        (page,) = [json.loads(urnic("view", "--json", made).stdout)]
        self.assertEqual(len(page["packets"]), len(plain))

    def test_a_lost_fragment_is_said(self):
        plain = wrapping.read_pcap(fixture("vs_sizes"))
        frames = [piece for frame in plain for piece in wrapping.fragments_of_ipv4(frame, 400)]
        last = max(i for i, frame in enumerate(frames) if len(frame.data) > 400)
        made = self.write(frames[:last] + frames[last + 1 :])
        self.assertEqual(report(made)["incomplete_datagrams"], 1)
        self.assertIn("datagrams that lack fragments: 1", urnic("check", made).stdout)

    def test_extension_headers_are_passed(self):
        plain = wrapping.read_pcap(fixture("rping_ipv6"))
        made = self.write([wrapping.with_extension_headers(frame) for frame in plain])
        self.assert_same_for_tshark(made, fixture("rping_ipv6"))
        seen, expected = report(made), report(fixture("rping_ipv6"))
        self.assertEqual(seen["connections"], expected["connections"])
        self.assertEqual((seen["icrc_unknown"], seen["violations"]), (expected["icrc_right"], 0))
        page = json.loads(urnic("view", "--json", made).stdout)
        self.assertEqual(len(page["packets"]), len(plain))


class Doubled(Wrapped):
    def test_frames_that_a_mirror_delivers_twice_are_one(self):
        for name in ("vs_loss_both", "vs_sizes", "vs_rnr", "rping_ipv6", "srq_pingpong"):
            expected = report(fixture(name))
            plain = wrapping.read_pcap(fixture(name))
            for apart in (0, 2_000):
                with self.subTest(fixture=name, apart=apart):
                    twice = [Frame(frame.ns + late, frame.data) for frame in plain for late in (0, apart)]
                    seen = report(self.write(twice))
                    self.assertEqual(seen["connections"], expected["connections"])
                    self.assertEqual(seen["count_by_rule"], expected["count_by_rule"])
                    self.assertEqual(seen["doubled_frames"], expected["roce_v2"])
            text = urnic("check", self.write(twice)).stdout
            self.assertIn(f"{expected['roce_v2']} copies left out", text)
            page = json.loads(urnic("view", "--json", self.write(twice)).stdout)
            self.assertEqual(len(page["packets"]), expected["roce_v2"])

    def test_copies_with_other_link_headers_are_copies(self):
        expected = report(fixture("vs_loss_both"))
        frames = []
        for frame in wrapping.read_pcap(fixture("vs_loss_both")):
            routed = bytearray(wrapping.with_tags(frame.data, 0x8100))
            routed[0:12] = wrapping.OUTER_MACS
            routed[26] -= 1  # the time to live
            routed[28:30] = b"\0\0"
            frames += [frame, Frame(frame.ns + 1000, bytes(routed))]
        seen = report(self.write(frames))
        self.assertEqual(seen["connections"], expected["connections"])
        self.assertEqual(seen["doubled_frames"], expected["roce_v2"])

    def test_what_the_network_delivers_twice_stays_an_event(self):
        seen = report(fixture("vs_duplicate"))
        self.assertEqual((seen["count_by_rule"]["network-copy"], seen["doubled_frames"]), (8, 0))


class Files(Wrapped):
    def test_several_interfaces_of_several_link_types_are_one_capture(self):
        plain = wrapping.read_pcap(fixture("vs_loss_both"))
        packets = [
            (0, frame) if number % 2 == 0 else (1, Frame(frame.ns, frame.data[14:]))
            for number, frame in enumerate(plain)
        ]
        made = self.folder / "made.pcapng"
        made.write_bytes(
            wrapping.pcapng(
                [(wrapping.ETHERNET, 9), (wrapping.RAW_IP, 6), (105, 6)], packets + [(2, plain[0])]
            )
        )
        self.assert_same_for_tshark(made, fixture("vs_loss_both"))
        seen, expected = report(made), report(fixture("vs_loss_both"))
        self.assertEqual(seen["connections"], expected["connections"])
        self.assertEqual(seen["count_by_rule"], expected["count_by_rule"])
        self.assertEqual(list(seen["not_looked_into"].values()), [1])
        # One interface written after the other, as buffers of a recorder may be.
        made.write_bytes(
            wrapping.pcapng(
                [(wrapping.ETHERNET, 9), (wrapping.RAW_IP, 6)], sorted(packets, key=lambda one: one[0])
            )
        )
        seen = report(made)
        strip = ("longest_silences", "findings", "out_of_order")  # frames have other numbers
        self.assertEqual(content(seen, *strip), content(expected, *strip))
        self.assertEqual(seen["out_of_order"], 0)

    def test_files_out_of_order_are_put_in_order(self):
        plain = wrapping.read_pcap(fixture("vs_loss_both"))
        shuffled = list(plain)
        random.Random(7).shuffle(shuffled)
        expected = report(fixture("vs_loss_both"))
        seen = report(self.write(shuffled))
        self.assertEqual(seen["connections"], expected["connections"])
        with open(self.write(shuffled), "rb") as pipe:
            text = subprocess.run(
                f"cat | {URNIC} check -", shell=True, stdin=pipe, capture_output=True, text=True, check=False
            ).stdout
        self.assertIn("out of time order: ", text)

    def test_records_of_erf(self):
        plain = wrapping.read_pcap(fixture("vs_loss_both"))
        expected = report(fixture("vs_loss_both"))
        for extensions in (0, 2):
            frames = [wrapping.erf(frame, extensions=extensions) for frame in plain]
            made = self.write(frames, wrapping.ERF)
            self.assert_same_for_tshark(made, fixture("vs_loss_both"))
            seen = without_habit(report(made), "ethernet-padding")
            self.assertEqual(content(seen), content(expected))

    def test_packets_of_infiniband_are_refused(self):
        lrh = bytes.fromhex("00020001000a0002")
        plain = [Frame(frame.ns, lrh + frame.data[42:]) for frame in wrapping.read_pcap(fixture("vs_tos"))]
        result = urnic("check", self.write(plain, wrapping.INFINIBAND))
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, "^urnic: .*packets of InfiniBand itself")
        records = self.write([wrapping.erf(frame, kind=21) for frame in plain], wrapping.ERF)
        if HAS_TSHARK:
            self.assertEqual(len(tshark_fields(records, "infiniband.lrh.slid")), len(plain))
        result = urnic("check", records)
        self.assertEqual(result.returncode, 3)
        self.assertIn("4 packets of InfiniBand itself cannot be judged", result.stderr)
        self.assertIn("verdict: nothing to judge", result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 1)


class Ports(Wrapped):
    def moved(self):
        """vs_loss_both as a mirror sends it that writes port 9741."""
        frames = []
        for frame in wrapping.read_pcap(fixture("vs_loss_both")):
            data = bytearray(frame.data)
            data[36:38] = (9741).to_bytes(2, "big")
            frames.append(Frame(frame.ns, bytes(data)))
        return self.write(frames)

    def test_another_port_is_named_and_can_be_chosen(self):
        made, expected = self.moved(), report(fixture("vs_loss_both"))
        result = urnic("check", made)
        self.assertEqual(result.returncode, 3)
        frames = expected["roce_v2"]
        self.assertIn(
            f"UDP port 9741 carries {frames} frames that parse as BTH: --udp-port 9741", result.stdout
        )
        self.assertEqual(content(report(made, "--udp-port", "9741")), content(expected))
        page = json.loads(urnic("view", "--json", "--udp-port", "9741", made).stdout)
        self.assertEqual(len(page["packets"]), frames)

    def test_refuses_ports_that_are_none(self):
        for port in ("0", "65536", "roce"):
            result = urnic("check", "--udp-port", port, fixture("vs_tos"))
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), port)

    def test_no_hint_about_what_is_no_bth(self):
        frames = [
            Frame(number, wrapping.ethernet(0x0800, wrapping.ipv4(17, wrapping.udp(53, bytes(range(64))))))
            for number in range(20)
        ]
        self.assertNotIn("parse as BTH", urnic("check", self.write(frames)).stdout)


def can_have_a_network():
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


# Sends the frames of a capture on `lo`, when the capture has begun, and then says that all are out.
SENDER = """
import socket, sys
sys.path.insert(0, sys.argv[1])
import pathlib, time, wrapping
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("lo", 0))
for frame in wrapping.read_pcap(pathlib.Path(sys.argv[2])):
    port.send(frame.data)
    time.sleep(0.002)
"""


class Live(Wrapped):
    def spoilt(self):
        """vs_tos, whose second frame has a wrong ICRC."""
        frames = wrapping.read_pcap(fixture("vs_tos"))
        frames[1].data = frames[1].data[:-1] + bytes([frames[1].data[-1] ^ 1])
        return frames

    def test_findings_of_a_pipe_come_before_its_end(self):
        frames = self.spoilt()
        path = self.write(frames)
        whole = path.read_bytes()
        with subprocess.Popen(
            [URNIC, "check", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        ) as process:
            process.stdin.write(whole[: -len(frames[-1].data) - 16])
            os.set_blocking(process.stdout.fileno(), True)
            seen = b""
            while b"violation" not in seen:
                part = process.stdout.read(4096)
                self.assertTrue(part, "the findings come while the pipe is open")
                seen += part
            self.assertRegex(seen, rb"violation +icrc frame 2")
            process.send_signal(signal.SIGINT)  # as Ctrl-C does to both ends of a pipe
            process.stdin.write(whole[-len(frames[-1].data) - 16 :])
            process.stdin.close()
            rest = process.stdout.read()
            self.assertIn(b"4 RoCEv2", rest)
            self.assertEqual(process.wait(timeout=60), 1)

    def judge_loopback(self, before_the_interrupt):
        """What `check -i lo` says of spoilt() in a namespace; the shell runs `before_the_interrupt` when all
        frames are sent."""
        if not can_have_a_network():
            self.skipTest("no network namespaces here")
        self.write(self.spoilt(), name="sent.pcap")
        here = str(pathlib.Path(__file__).resolve().parent)
        script = (
            'ip link set lo up; "$1" check -i lo > "$2/report" 2> "$2/errors" & check=$!; '
            "for i in $(seq 100); do grep -q ' 0003 ' /proc/net/packet && break; sleep 0.1; done; "
            'python3 -c "$3" "$4" "$2/sent.pcap"; '
            f"{before_the_interrupt}; "
            'kill -INT $check; wait $check; echo $? > "$2/status"'
        )
        subprocess.run(
            ["unshare", "-rn", "sh", "-c", script, "sh", URNIC, self.folder, SENDER, here],
            check=True,
            timeout=100,
        )
        self.assertEqual((self.folder / "errors").read_text(), "")
        self.assertEqual((self.folder / "status").read_text().strip(), "1")
        return (self.folder / "report").read_text()

    def test_an_interface_is_judged_until_it_is_interrupted(self):
        text = self.judge_loopback(
            'for i in $(seq 100); do grep -q violation "$2/report" && break; sleep 0.1; done; '
            'cp "$2/report" "$2/early"'
        )
        self.assertRegex((self.folder / "early").read_text(), "(?m)^violation +icrc frame 2")
        self.assertIn("4 RoCEv2", text)
        self.assertIn("verdict: violations", text)

    def test_frames_just_before_the_interrupt_are_judged(self):
        self.assertIn("4 RoCEv2", self.judge_loopback("true"))

    def test_an_interface_that_is_not_there(self):
        result = urnic("check", "-i", "nonexistent0")
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), result.stderr)
        self.assertIn("nonexistent0", result.stderr)

    def test_an_interface_goes_with_no_file_and_no_choice(self):
        for arguments in (["-i", "lo", str(fixture("vs_tos"))], ["-i", "lo", "--qp", "17"]):
            result = urnic("check", *arguments)
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1), arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
