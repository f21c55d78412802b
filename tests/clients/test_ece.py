# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""How the two ends of a connection by rdma_cm agree on selective repeat, by the distribution's own librdmacm.
"""
import json

import harness
import pcapng
from cm_pair import NICS, SERVER, CmPairTest

URNIC = 0x027572
SELECTIVE_REPEAT = 1
PORT = 7300

# Of a management datagram: how one of the connection manager begins, and where the kernel's ibta_vol1_c12.h
# has ECE.
MAD_BYTES, HEADER_BYTES = 256, 24
BEGINNING = b"\x01\x07\x02\x03"
REQ, REP = 0x10, 0x13
OPTIONS_AT = 20
VENDOR_AT = {REQ: (5, 6, 7), REP: (15, 19, 23)}


def number(data):
    return int.from_bytes(bytes(data), "big")


def offers_in(file):
    """Vendor and options of each REQ and REP, by attribute."""
    offers = {}
    for entry in pcapng.read(file):
        frame = entry.bytes if isinstance(entry, pcapng.Frame) else b""
        at = frame.find(BEGINNING)
        mad = frame[at : at + MAD_BYTES]
        attribute = number(mad[16:18]) if at >= 0 and len(mad) == MAD_BYTES else 0
        if attribute in VENDOR_AT:
            vendor = number(mad[HEADER_BYTES + place] for place in VENDOR_AT[attribute])
            offers.setdefault(attribute, set()).add((vendor, number(mad[OPTIONS_AT : OPTIONS_AT + 4])))
    return offers


class Ece(CmPairTest):
    def connect(self, *have_it):
        """What server and client say of their queue pairs, line by line, and what REQ and REP offer."""
        files = [self.runtime / "server.pcapng", self.runtime / "client.pcapng"]
        recovery = [["--recovery", "selective-repeat"] if has_it else [] for has_it in have_it]
        nics = [[*nic, *option, "--record", file] for nic, option, file in zip(NICS, recovery, files)]
        words = [harness.STAGE.program("ece_pair")]
        said = self.run_cm_pair([*words, "server", SERVER, PORT], [*words, "client", SERVER, PORT], nics)
        offers = offers_in(files[1])
        self.assertEqual(offers, offers_in(files[0]))
        self.assertEqual(set(offers), {REQ, REP})
        return [output.splitlines() for output in said], offers

    def test_is_agreed_where_both_have_it(self):
        said, offers = self.connect(True, True)
        self.assertEqual(said, [["new: 27572 1", "connected: 27572 1"]] * 2)
        self.assertEqual(offers, {REQ: {(URNIC, SELECTIVE_REPEAT)}, REP: {(URNIC, SELECTIVE_REPEAT)}})

    def test_is_not_agreed_where_the_server_does_not_have_it(self):
        said, offers = self.connect(False, True)
        self.assertEqual(
            said, [["new: nothing", "connected: nothing"], ["new: 27572 1", "connected: 27572 0"]]
        )
        self.assertEqual(offers, {REQ: {(URNIC, SELECTIVE_REPEAT)}, REP: {(URNIC, 0)}})

    def test_is_not_agreed_where_the_client_does_not_have_it(self):
        said, offers = self.connect(True, False)
        self.assertEqual(
            said, [["new: 27572 1", "connected: 27572 0"], ["new: nothing", "connected: nothing"]]
        )
        self.assertEqual(offers, {REQ: {(0, 0)}, REP: {(0, 0)}})

    def test_is_not_mentioned_where_neither_has_it(self):
        said, offers = self.connect(False, False)
        self.assertEqual(said, [["new: nothing", "connected: nothing"]] * 2)
        self.assertEqual(offers, {REQ: {(0, 0)}, REP: {(0, 0)}})

    def test_a_mistake_is_explained(self):
        refused = self.start("refused", ["true"], ["--recovery", "selective"])
        self.expect_end(refused, code=2)
        self.assertIn("there are go-back-n and selective-repeat, not", refused.output())


class Lost(CmPairTest):
    def test_selective_naks_are_read_by_check_and_view(self):
        file = self.runtime / "server.pcapng"
        words = ["ib_write_bw", "-R", "-n", "200", "-s", "65536"]
        options = ["--recovery", "selective-repeat"]
        nics = [
            [*NICS[0], *options, "--pcap", file],
            [*NICS[1], *options, "--fault", "loss=0.01,seed=3"],
        ]
        self.run_cm_pair(words, [*words, SERVER], nics)
        checked = self.start_plain("check", [harness.STAGE.urnic, "check", "--json", file])
        self.expect_end(checked)
        (report,) = json.loads(checked.output())
        self.assertEqual((report["verdict"], report["violations"]), ("clean", 0))
        naks = sum(
            flow["requests"]["selective_naks"]
            for connection in report["connections"]
            for flow in connection["flows"]
            if "requests" in flow
        )
        self.assertGreater(naks, 0)
        self.assertEqual(report["count_by_rule"]["selective-nak"], naks)
        shown = self.start_plain("view", [harness.STAGE.urnic, "view", "--json", file])
        self.expect_end(shown)
        page = json.loads(shown.output())
        packets = [packet for packet in page["packets"] if packet["label"] == "Selective NAK"]
        self.assertEqual(len(packets), naks)
        headers = page["layouts"][packets[0]["layout"]]
        self.assertEqual([header["name"] for header in headers][-2:], ["AETH", "Held packets"])
