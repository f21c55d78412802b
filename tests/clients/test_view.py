# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What `urnic view` makes of recordings, against the recordings themselves, read apart from it."""
import collections
import concurrent.futures
import json
import os
import re
import subprocess

import dissection
import harness
import icrc
import pcapng
from harness import ClientTest
from test_notes import REQUESTS, repeats, transport_of

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "200", "-s", "4096", "-m", "1024"]
# By so much two processes of one host may disagree on what time it is.
CLOCKS_DIFFER_NS = 20_000
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


def packet_in(frame):
    """BTH to the end of the payload, and the addresses before it: what is the same at both ends."""
    layers = icrc.split_frame(frame)
    return None if layers is None else bytes(layers[2][:-4])


def field(packet, layout, name):
    """A number out of a packet of the page, by the page's own table of fields."""
    for header in layout:
        for title, first, bits, _ in header["fields"]:
            if f"{header['name']}.{title}" == name:
                number = int(packet["bytes"], 16)
                return number >> (4 * len(packet["bytes"]) - first - bits) & ((1 << bits) - 1)
    return None


class View(ClientTest):
    def data_of(self, *files):
        page = self.runtime / "page.html"
        result = subprocess.run(
            [harness.STAGE.urnic, "view", "-o", page, *files],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        found = DATA.findall(page.read_text())
        self.assertEqual(len(found), 1)
        data = json.loads(found[0])
        alone = subprocess.run(
            [harness.STAGE.urnic, "view", "--json", *files],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        self.assertEqual(json.loads(alone.stdout), data)
        return data

    def record(self, *options):
        self.require(PINGPONG[0])
        files = [self.runtime / "server.pcapng", self.runtime / "client.pcapng"]
        self.run_pair(*PINGPONG, nics=[["--record", file, *options] for file in files])
        return files, self.data_of(*files)

    def test_has_each_frame_once_and_an_arrow_for_what_both_ends_saw(self):
        files, data = self.record("--fault", "loss=0.05,seed=3")
        recordings = [
            [entry for entry in pcapng.read(file) if isinstance(entry, pcapng.Frame)] for file in files
        ]
        roce = {
            (file, frame.number): frame
            for file, frames in enumerate(recordings)
            for frame in frames
            if transport_of(frame.bytes)
        }
        shown = collections.Counter(
            (seen["file"], seen["frame"]) for packet in data["packets"] for seen in packet["seen"]
        )
        self.assertEqual(shown, collections.Counter(roce.keys()))
        times = [packet["seen"][0]["time"] for packet in data["packets"]]
        self.assertEqual(times, sorted(times))
        for packet in data["packets"]:
            frames = [roce[seen["file"], seen["frame"]] for seen in packet["seen"]]
            self.assertEqual(len({packet_in(frame.bytes) for frame in frames}), 1)
            for seen, frame in zip(packet["seen"], frames):
                self.assertEqual(seen["way"], "received" if frame.is_received else "sent")
                self.assertEqual(int(data["begin_ns"]) + seen["time"], frame.time_ns)
                self.assertEqual(seen.get("comment", ""), frame.comment)
            if len(frames) == 2:
                self.assertEqual([frame.is_received for frame in frames], [False, True])
                self.assertGreater(
                    frames[1].time_ns - frames[0].time_ns, -CLOCKS_DIFFER_NS, "it came before it was sent"
                )
        self.check_losses(data, recordings)
        self.check_repetitions(data, recordings)

    def check_losses(self, data, recordings):
        """What one end sent, and the other did not receive before its recording ended."""
        lost = 0
        for sender, receiver in ((0, 1), (1, 0)):
            end = recordings[receiver][-1].time_ns
            sent = collections.Counter(
                packet_in(frame.bytes)
                for frame in recordings[sender]
                if not frame.is_received and frame.time_ns < end and transport_of(frame.bytes)
            )
            sent.subtract(
                packet_in(frame.bytes)
                for frame in recordings[receiver]
                if frame.is_received and transport_of(frame.bytes)
            )
            lost += sum(count for count in sent.values() if count > 0)
        self.assertGreater(lost, 10)
        self.assertEqual(len([packet for packet in data["packets"] if packet.get("is_lost")]), lost)

    def check_repetitions(self, data, recordings):
        again = {(file, frame.number) for file, frames in enumerate(recordings) for frame in repeats(frames)}
        shown = {
            (packet["seen"][0]["file"], packet["seen"][0]["frame"])
            for packet in data["packets"]
            if packet["kind"] == "request" and packet.get("is_repeated")
        }
        self.assertEqual(shown, again)
        for index, packet in enumerate(data["packets"]):
            if "repeats" in packet:
                self.assertIn(index, data["packets"][packet["repeats"]]["repeated_by"])
                self.assertEqual(data["packets"][packet["repeats"]]["psn"], packet["psn"])

    def test_has_the_fields_links_and_ends_that_packets_have(self):
        _, data = self.record()
        (connection,) = [connection for connection in data["connections"] if connection["service"] == "RC"]
        self.assertEqual({end["file"] for end in connection["ends"]}, {0, 1})
        self.assertEqual(connection["packets"], len(data["packets"]))
        queue_pairs = [end["qp"] for end in connection["ends"]]
        for packet in data["packets"]:
            layout = data["layouts"][packet["layout"]]
            self.assertEqual(field(packet, layout, "BTH.PSN"), packet["psn"])
            self.assertEqual(field(packet, layout, "BTH.Destination QP"), queue_pairs[1 - packet["from"]])
            self.assertEqual(field(packet, layout, "UDP.Destination port"), 4791)
            opcode = field(packet, layout, "BTH.Opcode")
            self.assertEqual(packet["kind"], "request" if opcode in REQUESTS else "ack")
            self.assertIn(str(opcode), data["values"]["opcode"])
            if packet["kind"] == "ack":
                self.assertEqual(data["packets"][packet["request"]]["psn"], packet["psn"])
                self.assertEqual(field(packet, layout, "AETH.MSN"), packet["msn"])

    def test_has_what_the_nics_told(self):
        files, data = self.record("--fault", "loss=0.05,seed=3")
        for file, path in enumerate(files):
            told = [entry for entry in pcapng.read(path) if not isinstance(entry, pcapng.Frame)]
            shown = [note for note in data["notes"] if note["file"] == file]
            self.assertEqual(
                collections.Counter(note["what"] for note in shown),
                collections.Counter(note["urnic"] for note in told),
            )
            for note in shown:
                connected = data["connections"][note["connection"]]
                self.assertEqual(connected["ends"][note["end"]]["qp"], note["members"]["qp"])
                self.assertEqual(connected["ends"][note["end"]]["file"], file)
            led_to = collections.Counter(note["frame"] for note in told if "frame" in note)
            by_packet = collections.Counter()
            for note in shown:
                if "packet" in note:
                    by_packet[
                        next(
                            seen["frame"]
                            for seen in data["packets"][note["packet"]]["seen"]
                            if seen["file"] == file
                        )
                    ] += 1
            self.assertEqual(by_packet, led_to)

    def test_says_what_check_says(self):
        files, data = self.record("--fault", "loss=0.05,seed=3")
        checked = subprocess.run(
            [harness.STAGE.urnic, "check", "--json", *files],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        findings = [
            finding["rule"] for report in json.loads(checked.stdout) for finding in report["findings"]
        ]
        self.assertEqual(
            collections.Counter(finding["rule"] for finding in data["findings"]),
            collections.Counter(findings),
        )
        for index, finding in enumerate(data["findings"]):
            for packet in finding.get("packets", []):
                self.assertIn(index, data["packets"][packet]["findings"])

    def test_says_what_it_leaves_out(self):
        files, whole = self.record()
        page = self.runtime / "page.html"
        subprocess.run(
            [harness.STAGE.urnic, "view", "--packets", "10", "--skip", "5", "-o", page, files[0]],
            check=True,
            timeout=60,
            stdout=subprocess.DEVNULL,
        )
        data = json.loads(DATA.findall(page.read_text())[0])
        frames = [
            seen["frame"] for packet in whole["packets"] for seen in packet["seen"] if seen["file"] == 0
        ]
        self.assertEqual([packet["seen"][0]["frame"] for packet in data["packets"]], sorted(frames)[5:15])
        self.assertEqual(data["omitted"]["packets"], len(frames) - 10)

    def test_shows_the_connection_that_was_chosen_and_counts_the_others(self):
        path = harness.PROJECT / "pcap_fixtures/srq_pingpong.pcap"
        whole = self.data_of(path)
        self.assertGreater(len(whole["connections"]), 2)
        for connection in whole["connections"]:
            shown = self.data_of("--qp", hex(connection["ends"][0]["qp"]), path)
            self.assertEqual(shown["connections"], [connection])
            index = whole["connections"].index(connection)
            frames = [
                packet["seen"][0]["frame"] for packet in whole["packets"] if packet.get("connection") == index
            ]
            self.assertEqual([packet["seen"][0]["frame"] for packet in shown["packets"]], frames)
            others = shown["files"][0]["others"]
            self.assertEqual(others["connections"], len(whole["connections"]) - 1)
            self.assertEqual(others["packets"], len(whole["packets"]) - len(frames))
            # As 'urnic check' counts: a habit in each packet that shows it.
            self.assertGreaterEqual(
                others["findings"], len(whole["findings"]) - len(shown.get("findings", []))
            )
        self.assertNotIn("others", whole["files"][0])

    def test_shows_no_notes_of_queue_pairs_that_were_not_chosen(self):
        files, whole = self.record()
        number = whole["connections"][0]["ends"][0]["qp"]
        data = self.data_of("--qp", "0xffffff", *files)
        self.assertEqual((data.get("connections", []), data["packets"]), ([], []))
        self.assertEqual([note for note in data.get("notes", []) if "qp" in note["members"]], [])
        data = self.data_of("--qp", str(number), *files)
        self.assertEqual(data["packets"], whole["packets"])
        self.assertEqual(data["notes"], whole["notes"])

    def test_reads_the_standard_input(self):
        path = harness.PROJECT / "pcap_fixtures/vs_loss_both.pcap"
        with open(path, "rb") as capture:
            result = subprocess.run(
                [harness.STAGE.urnic, "view", "--json", "-"],
                stdin=capture,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
        data, expected = json.loads(result.stdout), self.data_of(path)
        self.assertEqual(data["files"][0].pop("name"), "standard input")
        expected["files"][0].pop("name")
        self.assertEqual(data, expected)

    def captures(self):
        folders = [
            harness.PROJECT / "pcap_fixtures",
            *(harness.JUDGES / "captures" / name for name in ("rxe", "public")),
        ]
        return [path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*.pcap"))]

    def test_takes_captures_of_other_nics(self):
        """The RoCEv2 packets that tshark finds in them."""
        captures = self.captures()
        self.assertGreater(len(captures), 10)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            dissected = list(pool.map(self.tshark, captures))
        for path, packets in zip(captures, dissected):
            with self.subTest(capture=path.name):
                data = self.data_of(path)
                shown = {packet["seen"][0]["frame"]: packet for packet in data["packets"]}
                for number, opcode, psn in packets:
                    packet = shown[number]
                    layout = data["layouts"][packet["layout"]]
                    self.assertEqual(
                        (field(packet, layout, "BTH.Opcode"), packet["psn"]), (opcode, psn), f"frame {number}"
                    )

    def test_finds_the_requests_that_have_data_for_answers(self):
        """READs and atomics, in recordings of the kernel's rdma_rxe in which nothing was lost."""
        answers = 0
        for path in self.captures():
            if path.parent.name != "rxe" or "loss" in path.name:
                continue
            packets = self.data_of(path)["packets"]
            for index, packet in enumerate(packets):
                if packet["kind"] == "response":
                    request = packets[packet["request"]]
                    self.assertIn(
                        request["label"], ("READ", "CMP_SWAP", "FETCH_ADD"), f"{path.name}: packet {index}"
                    )
                    self.assertIn(index, request["answers"])
                    answers += 1
        if answers == 0:
            self.skipTest("the captures of rdma_rxe are not here")

    def tshark(self, path):
        if not dissection.is_available():
            return []
        fields = [
            word
            for name in ("frame.number", "infiniband.bth.opcode", "infiniband.bth.psn")
            for word in ("-e", name)
        ]
        words = [
            "tshark",
            "-r",
            path,
            "-Y",
            "udp.dstport == 4791 && infiniband.bth && !icmp && !icmpv6",
            "-T",
            "fields",
            *fields,
        ]
        lines = subprocess.run(
            words, capture_output=True, text=True, timeout=120, check=True
        ).stdout.splitlines()
        return [
            (int(number), int(opcode, 0), int(psn, 0))
            for number, opcode, psn in (line.split("\t") for line in lines)
        ]

    def test_refuses_what_is_no_capture(self):
        (self.runtime / "text").write_text("no capture")
        for file in ("text", "missing"):
            result = subprocess.run(
                [harness.STAGE.urnic, "view", "-o", self.runtime / "page.html", self.runtime / file],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            self.assertEqual(result.returncode, 2)
            self.assertIn(file, result.stderr)
            self.assertFalse((self.runtime / "page.html").exists())
