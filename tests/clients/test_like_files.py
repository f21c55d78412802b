# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --like`: the counters and files that monitoring finds of the NIC, through each of three doors.

They are the preloaded library, a mount namespace, and RDMA netlink.
"""
import json

import harness
from harness import ClientTest
from personality.monitoring import COUNTERS, FILES, FURTHER_FILES, HAS_PORT_COUNTERS, UNCOUNTED

DEVICE = "/sys/class/infiniband/urnic0"
PORT = f"{DEVICE}/ports/1"
# The program first, and then what has been counted.
COUNT = f"""
"$@" >look.txt || exit 1
cd {PORT}/hw_counters
for file in *; do echo "$file $(cat "$file")"; done
"""


class LikeFiles(ClientTest):
    def output_of(self, command, like, *options):
        nic = ["--port", "loopback", "--like", like, *options]
        process = self.start(f"like {like}", command, nic)
        self.expect_end(process, timeout=60)
        return process.output()

    def words_of(self, command, like, *options):
        """Without what `urnic run` itself says."""
        lines = self.output_of(command, like, *options).splitlines()
        return [word for line in lines if not line.startswith("urnic: ") for word in line.split()]

    def ways(self):
        yield "preload"
        mounted = self.start("true", ["true"], ["--port", "loopback", "--files", "namespace"])
        if mounted.wait(60) == 0:
            yield "namespace"

    def counted(self, like, way, *words):
        """What `look` makes the NIC count, by names of files."""
        program = harness.STAGE.program("look")
        command = ["sh", "-c", f"cd {self.runtime}; {COUNT}", "sh", program, *words]
        found = self.words_of(command, like, "--files", way)
        return dict(zip(found[::2], map(int, found[1::2])))

    def test_the_counters_are_those_of_the_driver(self):
        for way in self.ways():
            for card, driver in COUNTERS.items():
                with self.subTest(like=card, files=way):
                    shown = set(self.words_of(["ls", f"{PORT}/hw_counters"], card, "--files", way))
                    self.assertEqual(shown - {"lifespan"}, driver - UNCOUNTED[card])
                    self.assertIn("lifespan", shown)

    def test_the_files_are_those_of_the_driver(self):
        for way in self.ways():
            for card, files in FILES.items():
                with self.subTest(like=card, files=way):
                    shown = set(self.words_of(["ls", f"{DEVICE}/"], card, "--files", way))
                    self.assertEqual(shown - FURTHER_FILES, files)
                    port = self.words_of(["ls", PORT], card, "--files", way)
                    self.assertEqual("counters" in port, HAS_PORT_COUNTERS[card])

    def test_files_name_the_card_with_its_identity_alone(self):
        types = lambda like: self.words_of(["cat", f"{DEVICE}/hca_type", f"{DEVICE}/board_id"], like)
        self.assertEqual(types("connectx6"), ["urnic", "URNIC0000001"])
        self.assertEqual(types("connectx6,identity"), ["MT4125", "MT_0000000359"])
        self.assertEqual(types("connectx5,identity"), ["MT4119", "MT_0000000008"])

    def test_a_peer_that_is_given_up_counts_as_on_a_connectx(self):
        """Measured: 4 to 8 early repetitions, 6 timeouts; each repetition counts as a CNP. A busy machine may
        take longer than the NIC."""
        for way in self.ways():
            with self.subTest(files=way):
                seen = self.counted("connectx6", way, "timeout", "14", "7", "50")
                self.assertIn(seen["roce_adp_retrans"], range(4, 9))
                self.assertEqual(seen["local_ack_timeout_err"], 6)
                self.assertEqual(seen["req_transport_retries_exceeded"], 1)
                self.assertEqual(seen["req_cqe_error"], 1)
                # The last timeout repeats nothing.
                repetitions = seen["roce_adp_retrans"] + seen["local_ack_timeout_err"] - 1
                self.assertEqual(seen["rp_cnp_handled"], repetitions)
                self.assertEqual(seen["np_cnp_sent"], 0)

    def test_failures_count_as_on_a_connectx(self):
        for card in ("connectx5", "connectx6"):
            with self.subTest(like=card):
                seen = self.counted(card, "preload")
                moved = (
                    "req_cqe_error",
                    "req_remote_access_errors",
                    "req_remote_invalid_request",
                    "resp_local_length_error",
                    "resp_cqe_flush_error",
                    "rx_write_requests",
                )
                self.assertEqual([name for name in moved if seen[name] == 0], [])
                still = ("req_cqe_flush_error", "resp_remote_access_errors", "roce_slow_restart")
                self.assertEqual([name for name in still if seen[name] != 0], [])

    def test_packets_and_messages_count_on_an_e810(self):
        for way in self.ways():
            with self.subTest(files=way):
                seen = self.counted("e810", way)
                self.assertGreater(seen["iwOutRdmaWrites"], 0)
                self.assertGreater(seen["iwInRdmaSends"], 0)
                self.assertGreater(seen["ip4OutPkts"], 0)
                self.assertEqual(seen["TxUDP"], seen["ip4OutPkts"] + seen["ip6OutPkts"])
                self.assertEqual(seen["RxUDP"], seen["ip4InPkts"] + seen["ip6InPkts"])

    def test_packets_count_on_rxe(self):
        seen = self.counted("rxe", "preload")
        self.assertGreater(seen["sent_pkts"], 0)
        self.assertGreater(seen["rdma_sends"], 0)
        self.assertEqual(seen["ack_deferred"], 0)

    def test_netlink_has_the_same_counters(self):
        self.require("rdma")
        script = '"$@" >look.txt || exit 1; rdma -j statistic show link urnic0/1'
        program = harness.STAGE.program("look")
        for card, driver in COUNTERS.items():
            with self.subTest(like=card):
                command = ["sh", "-c", f"cd {self.runtime}; {script}", "sh", program]
                said = self.output_of(command, card)
                entries = json.loads(said[said.index("[{") :])
                (shown,) = [entry for entry in entries if entry["ifname"] == "urnic0"]
                self.assertEqual(set(shown) - {"ifname", "port"}, driver - UNCOUNTED[card])
                if card == "e810":
                    self.assertGreater(shown["iwOutRdmaWrites"], 0)
                if card == "connectx6":
                    self.assertGreater(shown["req_remote_access_errors"], 0)
                    self.assertEqual(shown["resp_remote_access_errors"], 0)
