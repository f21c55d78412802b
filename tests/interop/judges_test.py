# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Who judges is judged here: by wires whose packets are written down, and by what programs say at their end.
"""
import pathlib
import struct
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

import judges  # noqa: E402
import wires  # noqa: E402

GUESTS_MAC = bytes.fromhex(wires.GUESTS["mac"].replace(":", ""))
OURS_MAC = bytes(6)
# The queue pairs of a ping-pong, as our program prints them. Each of ours speaks with the one of the guest's
# below it.
OURS, GUESTS = (0x111111, 0x222222), (0x33, 0x44)
MANAGERS = 1  # the queue pair of the guest's connection manager
UNNAMED = (0x333333, 0x55)  # a pair, ours and the guest's, that our program does not print
OUTPUT = "".join(
    [f"  local address:  LID 0x0000, QPN {qpn:#08x}, PSN 0xf68bf0, GID ::ffff:10.79.0.3\n" for qpn in OURS]
    + [
        f"  remote address: LID 0x0000, QPN {qpn:#08x}, PSN 0x3b17e3, GID ::ffff:10.79.0.2\n"
        for qpn in GUESTS
    ]
)


def packet(milliseconds, qpn, opcode=4):
    """One for this queue pair, with the time it was seen at."""
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 44, 0, 0, 64, 17, 0, bytes(4), bytes(4))
    udp = struct.pack("!HHHH", 49152, 4791, 24, 0)
    bth = struct.pack("!BBHLL", opcode, 0, 0xFFFF, qpn, 0)
    addresses = GUESTS_MAC + OURS_MAC if qpn in (*GUESTS, MANAGERS, UNNAMED[1]) else OURS_MAC + GUESTS_MAC
    return milliseconds, addresses + b"\x08\x00" + ip + udp + bth + bytes(4)


class Receiver(unittest.TestCase):
    def complaints(self, packets, received, leaves=True, drops_expected=False, output=OUTPUT, faults="clean"):
        """What the judge has to say when rdma_rxe has received so many of these packets."""
        with tempfile.TemporaryDirectory() as folder:
            wire = pathlib.Path(folder) / "wire.pcap"
            records = [
                struct.pack("<IIII", 7, round(ms * 1000), len(frame), len(frame)) + frame
                for ms, frame in packets
            ]
            wire.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))
            case = types.SimpleNamespace(
                program=types.SimpleNamespace(leaves=leaves), drops_expected=drops_expected, faults=faults
            )
            run = types.SimpleNamespace(
                case=case, wire=wire, counters={"rcvd_pkts": received}, outputs={"ours": output}
            )
            verdict = judges.Verdict()
            judges.judge_receiver(run, verdict)
            return verdict.complaints

    CONVERSATION = [packet(0, GUESTS[0]), packet(1, OURS[0]), packet(100, GUESTS[0]), packet(200, OURS[0])]

    def test_is_content_when_all_was_received(self):
        self.assertEqual(self.complaints(self.CONVERSATION, 2), [])

    def test_misses_what_a_talking_queue_pair_did_not_receive(self):
        self.assertEqual(self.complaints(self.CONVERSATION, 1), ["rdma_rxe dropped 1 of 2 packets"])

    def test_does_not_mind_that_rdma_rxe_counts_no_cnps(self):
        cnps = [packet(50, GUESTS[0], opcode=0x81), packet(60, GUESTS[0], opcode=0x81)]
        self.assertEqual(self.complaints(self.CONVERSATION + cnps, 2, faults="marked"), [])
        self.assertEqual(
            self.complaints(self.CONVERSATION + cnps, 1, faults="marked", output=""),
            ["rdma_rxe dropped 3 of 4 packets"],
        )
        self.assertEqual(
            self.complaints(self.CONVERSATION, 2, faults="marked"), ["no CNP of ours reached the guest"]
        )

    def test_does_not_mind_a_guest_that_does_not_hear_itself(self):
        frame = bytes.fromhex("01005e4f0001") + packet(0, OURS[0])[1][6:]
        self.assertEqual(self.complaints([(0, frame)], 0), [])
        self.assertEqual(
            len(self.complaints([(0, frame), packet(1, GUESTS[0])], 0)), 1, "ours is missing, too"
        )

    def test_counts_what_the_guest_sends_to_its_own_group(self):
        group = bytes.fromhex("01005e4f0001")
        frame = group + packet(0, OURS[0])[1][6:]
        self.assertEqual(self.complaints([(0, frame)], 1), [])

    def test_excuses_what_came_after_the_last_word(self):
        late = [packet(300, GUESTS[0]), packet(400, GUESTS[0])]
        self.assertEqual(self.complaints(self.CONVERSATION + late, 2), [])
        self.assertEqual(self.complaints(self.CONVERSATION + late, 1), ["rdma_rxe dropped 3 of 4 packets"])

    def test_excuses_what_met_the_last_word_on_its_way(self):
        conversation = self.CONVERSATION[:3] + [packet(198, GUESTS[0]), packet(200, OURS[0])]
        self.assertEqual(self.complaints(conversation, 2), [])
        self.assertEqual(self.complaints(conversation, 1), ["rdma_rxe dropped 2 of 3 packets"])

    def test_takes_the_last_word_of_each_queue_pair_for_its_own(self):
        other = [packet(250, GUESTS[0]), packet(300, OURS[1])]
        self.assertEqual(self.complaints(self.CONVERSATION + other, 2), [])
        other = [packet(250, GUESTS[1]), packet(300, OURS[1])]
        self.assertEqual(self.complaints(self.CONVERSATION + other, 2), ["rdma_rxe dropped 1 of 3 packets"])

    def test_knows_the_queue_pair_of_a_program_that_names_none_when_it_is_the_only_one(self):
        conversation = self.CONVERSATION[:3] + [
            packet(199, GUESTS[0]),
            packet(200, OURS[0]),
            packet(201, MANAGERS),
        ]
        self.assertEqual(self.complaints(conversation, 3, output=""), [])
        self.assertEqual(self.complaints(conversation, 2, output=""), ["rdma_rxe dropped 2 of 4 packets"])
        others = [packet(10, GUESTS[1]), packet(11, OURS[1])]
        self.assertEqual(
            self.complaints(conversation + others, 4, output=""), ["rdma_rxe dropped 1 of 5 packets"]
        )

    def test_knows_the_one_queue_pair_beside_those_that_are_named(self):
        own = [packet(10, UNNAMED[1]), packet(100, UNNAMED[0]), packet(250, UNNAMED[1])]
        self.assertEqual(self.complaints(self.CONVERSATION + own, 3), [])
        self.assertEqual(self.complaints(self.CONVERSATION + own, 2), ["rdma_rxe dropped 2 of 4 packets"])

    def test_excuses_nothing_that_came_to_another_queue_pair(self):
        manager = [packet(300, MANAGERS)]
        self.assertEqual(self.complaints(self.CONVERSATION + manager, 2), ["rdma_rxe dropped 1 of 3 packets"])

    def test_excuses_nothing_of_a_program_that_says_goodbye(self):
        late = self.CONVERSATION + [packet(300, GUESTS[0])]
        self.assertEqual(self.complaints(late, 2, leaves=False), ["rdma_rxe dropped 1 of 3 packets"])

    def test_accepts_what_has_to_be_dropped(self):
        self.assertEqual(self.complaints(self.CONVERSATION, 0, leaves=False, drops_expected=True), [])

    def test_complains_of_packets_that_nobody_sent(self):
        self.assertEqual(self.complaints(self.CONVERSATION, 3), ["rdma_rxe dropped -1 of 2 packets"])


class Programs(unittest.TestCase):
    NO_ANSWER = "Completion with error at client\nFailed status 12: wr_id 0"

    def verdict(
        self, ours, guests, *, faults="loss5", leaves=True, family="rdma_cm", output=NO_ANSWER, kernel=(6, 1)
    ):
        """The verdict about a case whose programs ended with these codes, with us as the client. A side
        that failed said `output`."""
        program = types.SimpleNamespace(
            family=family, leaves=leaves, kills_server=False, server_stays=False, client_says=""
        )
        case = types.SimpleNamespace(program=program, role="asks", faults=faults)
        codes = {"ours": ours, "guests": guests}
        outputs = {side: output if code else "" for side, code in codes.items()}
        verdict = judges.Verdict()
        judges.judge_programs(
            types.SimpleNamespace(case=case, codes=codes, outputs=outputs, kernel=kernel), verdict
        )
        return verdict

    def test_excuses_one_side_whose_peer_has_left(self):
        for family in ("pingpong", "rdma_cm"):
            verdict = self.verdict(1, 0, family=family)
            self.assertEqual((verdict.complaints, verdict.notes), ([], ["the peer of ours had left"]))

    def test_excuses_a_guest_that_stalls(self):
        waiting = {"family": "pingpong", "output": ""}
        self.assertEqual(
            self.verdict(None, None, faults="loss20", kernel=(6, 12), **waiting).notes,
            ["the guest's requester stalled"],
        )
        for faults, kernel in (("loss20", (6, 1)), ("loss5", (6, 12))):
            self.assertEqual(
                len(self.verdict(None, None, faults=faults, kernel=kernel, **waiting).complaints), 1
            )
        self.assertEqual(
            self.verdict(None, 0, faults="loss20", kernel=(6, 12), leaves=False, **waiting).complaints,
            ["ours failed"],
        )

    def test_excuses_nothing_else(self):
        for family in ("pingpong", "rdma_cm"):
            self.assertEqual(len(self.verdict(1, 1, family=family).complaints), 1)
            self.assertEqual(self.verdict(1, 0, family=family, faults="clean").complaints, ["ours failed"])
            self.assertEqual(self.verdict(1, 0, family=family, leaves=False).complaints, ["ours failed"])
            self.assertEqual(
                self.verdict(1, 0, family=family, output="Segmentation fault").complaints, ["ours failed"]
            )


class Fences(unittest.TestCase):
    def verdict(self, **outputs):
        program = types.SimpleNamespace(kills_server=False, family="verbs", leaves=False)
        case = types.SimpleNamespace(program=program, faults="clean", role="serves")
        verdict = judges.Verdict()
        judges.judge_programs(
            types.SimpleNamespace(case=case, outputs=outputs, codes=dict.fromkeys(outputs, 0)), verdict
        )
        return verdict

    def test_notes_that_the_guest_slept_at_one(self):
        verdict = self.verdict(ours="atomics\n", guests="slept at a fence\n")
        self.assertEqual((verdict.complaints, verdict.notes), ([], ["rdma_rxe slept at a fence"]))

    def test_complains_that_we_slept_at_one(self):
        self.assertEqual(
            self.verdict(ours="slept at a fence\n", guests="").complaints, ["ours slept at a fence"]
        )


if __name__ == "__main__":
    unittest.main()
