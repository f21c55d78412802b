# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What `urnic run --record` writes, beside what is on the wire."""
import collections
import json
import struct
import subprocess

import dissection
import icrc
import pcapng
import harness
from harness import ClientTest

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "200", "-s", "4096", "-m", "1024"]
# RC: SEND First to RDMA WRITE Only with Immediate, READ request, atomics.
REQUESTS = {*range(0x00, 0x0D), 0x13, 0x14, 0x16, 0x17}
ACKNOWLEDGE = 0x11
SEQUENCE_NAK = 0x60
PSNS = 1 << 24


def transport_of(frame):
    """Opcode, destination QP, PSN and syndrome of a frame of RC, or None."""
    parts = icrc.split_frame(frame)
    if parts is None:
        return None
    packet = parts[2]
    opcode = packet[0]
    syndrome = packet[12] if opcode == ACKNOWLEDGE else None
    return (
        opcode,
        struct.unpack("!I", packet[4:8])[0] & 0xFFFFFF,
        struct.unpack("!I", packet[8:12])[0] & 0xFFFFFF,
        syndrome,
    )


def repeats(frames):
    """Of the requests sent on each queue pair, those with a PSN that was sent before."""
    furthest, found = {}, []
    for frame in frames:
        transport = None if frame.is_received else transport_of(frame.bytes)
        if transport is None or transport[0] not in REQUESTS:
            continue
        _, qp, psn, _ = transport
        before = furthest.get(qp)
        if before is not None and (before - psn) % PSNS < PSNS // 2:
            found.append(frame)
        else:
            furthest[qp] = psn
    return found


class Notes(ClientTest):
    def record(self, *options, command=PINGPONG):
        """Both ends' entries, frames and notes apart."""
        self.require(command[0])
        files = [self.runtime / "server.pcapng", self.runtime / "client.pcapng"]
        plain = [self.runtime / "server.pcap", self.runtime / "client.pcap"]
        self.run_pair(
            *command,
            nics=[["--record", file, "--pcap", other, *options] for file, other in zip(files, plain)],
        )
        ends = []
        for file, other in zip(files, plain):
            entries = pcapng.read(file)
            frames = [entry for entry in entries if isinstance(entry, pcapng.Frame)]
            notes = [entry for entry in entries if not isinstance(entry, pcapng.Frame)]
            self.assertEqual(
                collections.Counter(frame.bytes for frame in frames),
                collections.Counter(bytes(frame) for frame in icrc.read_pcap(other)),
            )
            ends.append((file, frames, notes))
        return ends

    def notes_of(self, notes, what):
        return [note for note in notes if note["urnic"] == what]

    def test_tell_of_posts_completions_and_states(self):
        for _, frames, notes in self.record():
            self.assertEqual([frame.comment for frame in frames if frame.comment], [])
            posts = collections.Counter(note["wr_id"] for note in self.notes_of(notes, "post_send"))
            sent = collections.Counter(
                note["wr_id"] for note in self.notes_of(notes, "completion") if note["queue"] == "send"
            )
            self.assertEqual(posts, sent)
            self.assertEqual(sum(posts.values()), 200)
            receives = [note for note in self.notes_of(notes, "completion") if note["queue"] == "receive"]
            self.assertEqual([note["bytes"] for note in receives], [4096] * 200)
            self.assertGreaterEqual(len(self.notes_of(notes, "post_receive")), 200)
            states = [note["state"] for note in self.notes_of(notes, "modify")]
            self.assertEqual(states, ["INIT", "RTR", "RTS"])
            self.check_state_against_frames(frames, notes)

    def check_state_against_frames(self, frames, notes):
        """What the last note says of the PSNs is what the wire says of them."""
        requests = {True: [], False: []}
        for frame in frames:
            transport = transport_of(frame.bytes)
            if transport and transport[0] in REQUESTS:
                requests[frame.is_received].append(transport[2])
        (qp,) = {note["qp"] for note in self.notes_of(notes, "modify")}
        last = pcapng.states(notes, qp)
        self.assertEqual(last["send_psn"], (requests[False][-1] + 1) % PSNS)
        self.assertEqual(last["receive_psn"], (requests[True][-1] + 1) % PSNS)
        self.assertEqual(last["msn"], 200)
        self.assertEqual((last["packets_in_flight"], last["sends_posted"]), (0, 0))

    def test_say_why_a_request_is_sent_again(self):
        total = 0
        for _, frames, notes in self.record("--fault", "loss=0.05,seed=3"):
            again = repeats(frames)
            total += len(again)
            self.assertEqual(
                [frame.number for frame in again],
                [frame.number for frame in frames if frame.comment.startswith("sent again: ")],
            )
            timeouts = [note["time_ns"] for note in self.notes_of(notes, "ack_timeout")]
            naks = [
                frame.time_ns
                for frame in frames
                if frame.is_received and (transport_of(frame.bytes) or (0, 0, 0, None))[3] == SEQUENCE_NAK
            ]
            for frame in again:
                reason = frame.comment.removeprefix("sent again: ")
                causes = {"local_ack_timeout_err": timeouts, "packet_seq_err": naks}[reason]
                self.assertTrue(
                    any(time <= frame.time_ns for time in causes),
                    f"frame {frame.number}: {frame.comment}, but before it there was none",
                )
        self.assertGreater(total, 10)

    def test_name_the_counter_of_what_is_dropped(self):
        damaged = 0
        for _, frames, notes in self.record("--fault", "corrupt=0.05,seed=5,direction=rx"):
            for frame in frames:
                if not frame.is_received:
                    continue
                try:
                    icrc.check_frame(frame.bytes)
                    self.assertNotIn("bad_icrc", frame.comment, f"frame {frame.number}")
                except icrc.BadFrame:
                    damaged += 1
                    self.assertIn("rx_drop", frame.comment, f"frame {frame.number}")
            for note in notes:
                self.assertLessEqual(note.get("frame", 0), len(frames))
        self.assertGreater(damaged, 10)

    def test_are_read_by_wireshark(self):
        if not dissection.is_available():
            self.skipTest("tshark is not installed")
        for file, frames, _ in self.record("--fault", "loss=0.05,seed=3"):
            fields = [
                "-T",
                "fields",
                "-E",
                "separator=|",
                "-e",
                "frame.number",
                "-e",
                "frame.comment",
                "-e",
                "frame.time_epoch",
            ]
            lines = subprocess.run(
                ["tshark", "-r", file, *fields], capture_output=True, text=True, timeout=120, check=True
            ).stdout.splitlines()
            seen = {}
            for line in lines:
                number, comment, time = line.split("|")
                seconds, fraction = time.split(".")
                seen[int(number)] = (comment, int(seconds) * 10**9 + int(fraction))
            self.assertEqual(seen, {frame.number: (frame.comment, frame.time_ns) for frame in frames})
            self.assertEqual(dissection.complaints(file), [])

    def test_of_shared_receive_queues_name_the_queue(self):
        for _, _, notes in self.record(command=["ibv_srq_pingpong", "-d", "urnic0", "-g", "1", "-n", "50"]):
            receives = self.notes_of(notes, "post_receive")
            self.assertTrue(receives)
            self.assertTrue(all("srq" in note for note in receives))

    def test_tell_of_a_queue_pair_in_error(self):
        """Also where no frame leads to it: the peer is silent."""
        self.require("ibv_rc_pingpong")
        file = self.runtime / "client.pcapng"
        port = harness.free_port()
        server = self.start("server", [*PINGPONG, "-p", str(port)], ["--fault", "loss=1"])
        self.wait_for_listener(server, port)
        client = self.start("client", [*PINGPONG, "-p", str(port), "127.0.0.1"], ["--record", file])
        self.expect_end(client, 60, code=1)
        notes = [entry for entry in pcapng.read(file) if not isinstance(entry, pcapng.Frame)]
        (status,) = {note["status"] for note in self.notes_of(notes, "completion")} - {"WR_FLUSH_ERR"}
        self.assertEqual(status, "RETRY_EXC_ERR")
        self.assertEqual(
            [note["state"] for note in self.notes_of(notes, "state") if "state" in note], ["ERR"]
        )

    def test_are_judged_like_any_recording(self):
        (file, _, _), _ = self.record()
        result = subprocess.run(
            [harness.STAGE.urnic, "check", "--json", file],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(json.loads(result.stdout)[0]["verdict"], "clean")
