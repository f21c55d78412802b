# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --fault`: faults of certain packets, seen from both ends of unmodified programs' connections."""
import collections
import struct

import harness
import icrc
import pcapng
from harness import ClientTest

# Four packets a message.
PINGPONG = (
    "ibv_rc_pingpong",
    "-d",
    "urnic0",
    "-g",
    "1",
    "-m",
    "1024",
    "-s",
    "4096",
)
PERFTEST = ("-d", "urnic0", "-x", "1", "-F", "-m", "1024")
REQUESTS = {*range(0x00, 0x0D), 0x13, 0x14}
READ_RESPONSES, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE = set(range(0x0D, 0x11)), 0x11, 0x12
PSNS = 1 << 24
PORTS = ("host", "fabric")  # IP packets, and Ethernet frames

Packet = collections.namedtuple("Packet", "is_received opcode psn ecn syndrome frame time_ns")


def packets_of(file):
    """RC's, in the order of the recording."""
    found = []
    for frame in pcapng.read(file):
        if not isinstance(frame, pcapng.Frame):
            continue
        parts = icrc.split_frame(frame.bytes)
        if parts is None:
            continue
        ip, _, packet = parts
        if packet[0] & 0xE0 == 0:
            psn = struct.unpack("!I", packet[8:12])[0] & 0xFFFFFF
            syndrome = packet[12] if packet[0] == ACKNOWLEDGE else None
            found.append(
                Packet(
                    frame.is_received,
                    packet[0],
                    psn,
                    ecn_of(frame.bytes),
                    syndrome,
                    frame.bytes,
                    frame.time_ns,
                )
            )
    return found


def ecn_of(frame):
    """Of an IPv4 packet, in an Ethernet frame or not."""
    ip = frame[14:] if frame[12:14] == b"\x08\x00" else frame
    return ip[1] & 3


class Faults(ClientTest):
    def record(self, fault, command, *options, port="host", faulty="client"):
        """Packets at the server and at the client, and what both said."""
        self.require(command)
        files = [self.runtime / f"{port}-server.pcapng", self.runtime / f"{port}-client.pcapng"]
        nics = [["--record", file] + (["--port", port] if port != "host" else []) for file in files]
        nics[("server", "client").index(faulty)] += ["--fault", fault]
        said = self.run_pair(command, *options, nics=nics)
        return packets_of(files[0]), packets_of(files[1]), said

    def relative(self, packets, sent, opcodes):
        """PSNs of packets that this end sent, or received, from the client's first request on."""
        first = next(packet.psn for packet in packets if packet.opcode in REQUESTS)
        return [
            (packet.psn - first) % PSNS
            for packet in packets
            if packet.is_received != sent and packet.opcode in opcodes
        ]

    def test_a_certain_request_is_lost_once(self):
        for port in PORTS:
            with self.subTest(port=port):
                server, client, (_, said) = self.record(
                    "drop:kind=request:psn=7", *PINGPONG, "-n", "8", port=port
                )
                sent, came = self.relative(client, True, REQUESTS), self.relative(server, False, REQUESTS)
                self.assertIn(7, came)
                self.assertEqual(sent.count(7), came.count(7) + 1)
                for psn in set(sent) - {7}:
                    self.assertEqual(sent.count(psn), came.count(psn), psn)
                self.assertIn("urnic: fault drop:kind=request:psn=7 hit 1 of ", said)

    def test_two_transmissions_are_lost_and_the_third_arrives(self):
        server, client, _ = self.record("drop:kind=request:psn=7:times=2", *PINGPONG, "-n", "8")
        sent, came = self.relative(client, True, REQUESTS), self.relative(server, False, REQUESTS)
        self.assertGreaterEqual(sent.count(7), 3)
        self.assertEqual(came.count(7), sent.count(7) - 2)

    def test_a_certain_acknowledgement_is_lost(self):
        """The last packet of a message has one in any case: PSN 3 of a ping-pong's first."""
        for port in PORTS:
            with self.subTest(port=port):
                server, client, (_, said) = self.record(
                    "drop:kind=ack:psn=3", *PINGPONG, "-n", "4", port=port
                )
                sent = self.relative(server, True, {ACKNOWLEDGE})
                came = self.relative(client, False, {ACKNOWLEDGE})
                self.assertEqual(sent.count(3), came.count(3) + 1)
                self.assertIn("fault drop:kind=ack:psn=3 hit 1 of ", said)

    def test_a_piece_of_an_answer_to_a_read_is_lost(self):
        server, client, _ = self.record(
            "drop:kind=read_response:psn=5", "ib_read_bw", *PERFTEST, "-s", "4096", "-n", "8"
        )
        sent, came = self.relative(server, True, READ_RESPONSES), self.relative(client, False, READ_RESPONSES)
        self.assertEqual(sent.count(5), came.count(5) + 1)
        self.assertGreaterEqual(came.count(5), 1)
        asked = self.relative(client, True, REQUESTS)
        self.assertTrue({4, 5} & set(asked), "the client sends the READ again whose answer has a hole")
        self.assertGreater(len(asked), 8)

    def test_the_answer_to_an_atomic_is_lost_and_comes_again(self):
        server, client, _ = self.record(
            "drop:kind=atomic_response:psn=2", "ib_atomic_bw", *PERFTEST, "-n", "8"
        )
        answers = [
            packet for packet in server if not packet.is_received and packet.opcode == ATOMIC_ACKNOWLEDGE
        ]
        by_psn = collections.defaultdict(set)
        for packet in answers:
            by_psn[packet.psn].add(packet.frame[-4 - 8 : -4])
        self.assertTrue(
            all(len(values) == 1 for values in by_psn.values()), "a repeated answer has another value"
        )
        self.assertGreater(len(answers), len(by_psn))
        self.assertEqual(
            self.relative(client, False, {ATOMIC_ACKNOWLEDGE}).count(2),
            self.relative(server, True, {ATOMIC_ACKNOWLEDGE}).count(2) - 1,
        )

    def test_a_request_comes_later_by_the_time_that_was_asked_for(self):
        """Not before, and in less than the ACK timeout, so that it is sent once."""
        for port in PORTS:
            with self.subTest(port=port):
                server, client, _ = self.record(
                    "delay:kind=request:psn=7:by=30ms", *PINGPONG, "-n", "4", port=port
                )
                (sent,) = [
                    packet
                    for packet in client
                    if not packet.is_received
                    and packet.psn == (client[0].psn + 7) % PSNS
                    and packet.opcode in REQUESTS
                ]
                (came,) = [
                    packet
                    for packet in server
                    if packet.is_received and packet.psn == sent.psn and packet.opcode in REQUESTS
                ]
                self.assertGreaterEqual(came.time_ns - sent.time_ns, 30_000_000)

    def test_damage_with_a_right_icrc_reaches_the_program(self):
        """Its own check of the data is the only one left: of the last message, and there of the first byte of
        each page."""
        for port in PORTS:
            with self.subTest(port=port):
                fault = "corrupt:opcode=rc_send_first:direction=tx:nth=4:byte=12:icrc=right"
                server, _, (said, _) = self.record(fault, *PINGPONG, "-n", "4", "-c", port=port)
                for packet in server:
                    icrc.check_frame(packet.frame)
                self.assertIn("invalid data", said)

    def test_damage_with_a_wrong_icrc_does_not(self):
        server, _, (said, _) = self.record(
            "corrupt:opcode=rc_send_first:direction=tx:nth=4:byte=12", *PINGPONG, "-n", "4", "-c"
        )
        damaged = 0
        for packet in server:
            try:
                icrc.check_frame(packet.frame)
            except icrc.BadFrame:
                damaged += 1
        self.assertEqual(damaged, 1)
        self.assertNotIn("invalid data", said)

    def test_a_mark_of_congestion_arrives(self):
        for port in PORTS:
            with self.subTest(port=port):
                server, client, _ = self.record("ce:kind=request:psn=2", *PINGPONG, "-n", "4", port=port)
                self.assertEqual(
                    [packet.psn for packet in server if packet.is_received and packet.ecn == 3],
                    [client[0].psn + 2],
                )

    def test_a_rewritten_acknowledgement_is_what_the_requester_gets(self):
        """An ACK turned into a NAK: the requester starts again from its PSN, and all ends well."""
        server, client, _ = self.record("set:kind=ack:psn=3:aeth.syndrome=0x60", *PINGPONG, "-n", "4")
        self.assertEqual(
            [packet for packet in server if not packet.is_received and packet.syndrome == 0x60], []
        )
        (nak,) = [packet for packet in client if packet.is_received and packet.syndrome == 0x60]
        icrc.check_frame(nak.frame)
        self.assertGreater(self.relative(client, True, REQUESTS).count(3), 1)

    def test_what_a_nic_sends_to_itself_is_hit_too(self):
        for port in ("loopback", *PORTS):
            with self.subTest(port=port):
                fault = "drop:kind=request:opcode=0x0a"
                nic = ["--port", port] if port != "host" else []
                process = self.start("look", [harness.STAGE.program("look")], [*nic, "--fault", fault])
                self.expect_end(process)
                self.assertIn(f"urnic: fault {fault} hit 1 of ", process.output())

    def test_what_hits_nothing_is_said(self):
        _, _, (_, said) = self.record("drop:kind=cnp", *PINGPONG, "-n", "2")
        self.assertRegex(
            said, r"fault drop:kind=cnp hit nothing: of \d+ packets sent and \d+ received, 0 fit"
        )
