# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The GID table of a ConnectX, with pairs of RoCE v1 and v2, and RoCE v1 on the wire. Recordings are judged
by readers that share nothing with the product, by tshark, and by `urnic check`."""
import collections
import ipaddress
import re
import subprocess
import sys

import dissection
import harness
import icrc
from cm_pair import CLIENT, NICS, SERVER, CmPairTest
from harness import ClientTest

LIKE = ["--like", "connectx6"]
ROCE_V1, ROCE_V2 = 0x8915, 0x0800
PERFTEST = ["-d", "urnic0", "-F"]
GID_LINE = re.compile(r"^\s*GID\[\s*(\d+)\]:\s+(\S+?), (.*)$", re.MULTILINE)


def ether_types(file):
    """How many RoCE frames of each EtherType it has; a VLAN tag is looked through."""
    types = collections.Counter()
    for frame in icrc.read_pcap(file):
        if icrc.split_frame(frame) is not None:
            types[int.from_bytes(frame[16:18] if frame[12:14] == icrc.VLAN else frame[12:14], "big")] += 1
    return types


def short(gid):
    address = ipaddress.IPv6Address(gid)
    if address.is_link_local:
        return "fe80::"
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)


class Wire(CmPairTest):
    def judge(self, file, expected):
        """All RoCE frames of the recording are of that EtherType, and right."""
        frames = icrc.check_recording(file)
        self.assertEqual(ether_types(file), {expected: frames})
        self.assertGreater(frames, 10)
        checker = harness.JUDGES / "captures/icrc_check.py"
        if checker.exists():
            said = subprocess.run(
                [sys.executable, checker, file], capture_output=True, text=True, timeout=120, check=True
            )
            self.assertIn(f"ICRC verify rate  {frames} of {frames} checkable", said.stdout)
        if dissection.is_available():
            self.assertEqual(dissection.complaints(file), [])
            self.assertEqual(dissection.count_roce(file), frames)
        checked = subprocess.run(
            [harness.STAGE.urnic, "check", file], capture_output=True, text=True, timeout=120, check=False
        )
        self.assertIn("verdict: clean", checked.stdout)
        self.assertIn(", 0 wrong;", checked.stdout)

    def recorded(self, nics=((), ())):
        self.files = [self.runtime / "server.pcap", self.runtime / "client.pcap"]
        return [[*LIKE, *nic, "--pcap", file] for nic, file in zip(nics, self.files)]

    def record(self, command, expected=ROCE_V1, nics=((), ())):
        self.require(command[0])
        said = self.run_pair(*command, nics=self.recorded(nics))
        for file in self.files:
            self.judge(file, expected)
        return said

    def test_write_bandwidth(self):
        self.record(["ib_write_bw", *PERFTEST, "-x", "2", "-n", "50"])

    def test_read_bandwidth(self):
        self.record(["ib_read_bw", *PERFTEST, "-x", "2", "-n", "20", "-s", "30001"])

    def test_send_latency_between_link_local_addresses(self):
        self.record(["ib_send_lat", *PERFTEST, "-x", "0", "-n", "100"])

    def test_atomics(self):
        self.record(["ib_atomic_lat", *PERFTEST, "-x", "2", "-n", "50"])

    def test_unreliable_connections(self):
        self.record(["ib_write_lat", *PERFTEST, "-x", "2", "-n", "50", "-c", "UC"])

    def test_datagrams(self):
        self.record(["ibv_ud_pingpong", "-d", "urnic0", "-g", "2", "-n", "50"])

    def test_xrc(self):
        self.record(["ibv_xsrq_pingpong", "-d", "urnic0", "-g", "2", "-n", "20", "-c", "1"])

    def test_on_a_vlan(self):
        self.record(["ib_write_bw", *PERFTEST, "-x", "2", "-n", "20"], nics=[["--vlan", "7"]] * 2)
        for file in self.files:
            tags = {bytes(frame[12:16]) for frame in icrc.read_pcap(file)}
            self.assertEqual(tags, {icrc.VLAN + b"\x00\x07"})

    def test_frames_get_lost_and_damaged(self):
        fault = ["--fault", "loss=0.01,corrupt=0.01,seed=5"]
        self.run_pair("ib_write_bw", *PERFTEST, "-x", "2", "-n", "200", nics=[[*LIKE, *fault], LIKE])

    def test_direct_links_carry_it(self):
        """Frames on them have no ICRC."""
        self.run_pair("ib_write_bw", *PERFTEST, "-x", "2", "-D", "2", nics=[LIKE, LIKE])

    def test_the_other_index_of_the_pair_is_roce_v2(self):
        self.record(["ib_write_bw", *PERFTEST, "-x", "3", "-n", "20"], ROCE_V2)

    def test_perftest_chooses_roce_v2_by_itself(self):
        self.record(["ib_write_bw", *PERFTEST, "-n", "20"], ROCE_V2)

    def test_ends_of_different_types_do_not_meet_and_are_told_why(self):
        self.require("ib_write_bw")
        port = harness.free_port()
        words = ["ib_write_bw", *PERFTEST, "-n", "5", "-p", port]
        server = self.start("server", [*words, "-x", "3"], [*LIKE, "--explain"])
        self.wait_for_listener(server, port)
        client = self.start("client", [*words, "-x", "2", "127.0.0.1"], [*LIKE, "--explain"])
        self.assertNotIn(client.wait(60), (None, 0), client.describe())
        said = lambda: "come as RoCE v1, and are dropped" in server.output()
        self.assertTrue(harness.wait_until(said, 5), server.describe())
        self.assertIn("transport retry counter exceeded", client.output())

    def test_connections_by_rdma_cm_are_roce_v2(self):
        nics = [
            [*LIKE, *nic, "--pcap", file] for nic, file in zip(NICS, (self.runtime / "s", self.runtime / "c"))
        ]
        self.run_cm_pair(
            ["rping", "-s", "-a", SERVER, "-C", 20, "-V"],
            ["rping", "-c", "-a", SERVER, "-C", 20, "-V"],
            nics=nics,
        )
        for name in "sc":
            self.judge(self.runtime / name, ROCE_V2)

    def test_datagram_services_of_rdma_cm_work(self):
        nics = [[*LIKE, *nic] for nic in NICS]
        self.run_cm_pair(
            ["udaddy", "-b", SERVER, "-C", 10], ["udaddy", "-b", CLIENT, "-s", SERVER, "-C", 10], nics=nics
        )

    def test_view_shows_the_grh(self):
        self.record(["ib_write_bw", *PERFTEST, "-x", "2", "-n", "20"])
        shown = subprocess.run(
            [harness.STAGE.urnic, "view", "--json", *self.files], capture_output=True, text=True, check=True
        )
        self.assertIn('"GRH"', shown.stdout)


class Table(ClientTest):
    def said_by(self, script, nic):
        self.require("ibv_devinfo")
        process = self.start(
            "shell", ["sh", "-c", script], ["--ip", "10.99.0.1/24", "--ip6", "fd99::1/64", *nic]
        )
        self.expect_end(process)
        return process.output()

    def gids(self, *nic):
        """{index: (address, type)} as ibv_devinfo prints them, without the link-local addresses' digits. It
        prints GIDs of RoCE v1 at full length."""
        found = GID_LINE.findall(self.said_by("ibv_devinfo -v", nic))
        return {int(index): (short(gid), kind) for index, gid, kind in found}

    def files(self, *nic):
        """{index: type} as the kernel's files have them."""
        script = "cd /sys/class/infiniband/urnic0/ports/1/gid_attrs/types; grep -H . *"
        return {
            int(index): kind
            for index, kind in re.findall(r"^(\d+):(.*)$", self.said_by(script, nic), re.MULTILINE)
        }

    def test_a_connectx_has_pairs(self):
        addresses = ["fe80::", "::ffff:10.99.0.1", "fd99::1"]
        for name in ("connectx5", "connectx6"):
            with self.subTest(like=name):
                expected = {}
                for place, address in enumerate(addresses):
                    expected[2 * place] = (address, "RoCE v1")
                    expected[2 * place + 1] = (address, "RoCE v2")
                self.assertEqual(self.gids("--like", name), expected)
                self.assertEqual(
                    self.files("--like", name),
                    {index: "RoCE v2" if index % 2 else "IB/RoCE v1" for index in range(6)},
                )

    def test_others_have_roce_v2_alone(self):
        for nic in ([], ["--like", "e810"], ["--like", "rxe"]):
            with self.subTest(nic=nic):
                self.assertEqual(
                    self.gids(*nic),
                    {
                        0: ("fe80::", "RoCE v2"),
                        1: ("::ffff:10.99.0.1", "RoCE v2"),
                        2: ("fd99::1", "RoCE v2"),
                    },
                )
                self.assertEqual(self.files(*nic), dict.fromkeys(range(3), "RoCE v2"))

    def test_strict_has_no_index_that_another_has(self):
        self.assertEqual(
            self.gids("--like", "strict"),
            {4: ("fe80::", "RoCE v2"), 6: ("::ffff:10.99.0.1", "RoCE v2"), 8: ("fd99::1", "RoCE v2")},
        )

    def test_programs_that_look_for_their_gid_run_with_strict(self):
        self.require("ib_write_bw")
        self.run_pair("ib_write_bw", *PERFTEST, "-n", "20", nics=[["--like", "strict"]] * 2)

    def test_there_is_no_roce_v1_without_ethernet(self):
        host = self.own_host()
        words = [harness.STAGE.urnic, "run", "--port", "host", *LIKE, "--explain", "--"]
        devinfo = self.start_plain(
            "devinfo", [*host, *harness.STAGE.drop_privilege([*words, "ibv_devinfo", "-v"])], privileged=True
        )
        self.expect_end(devinfo)
        found = GID_LINE.findall(devinfo.output())
        self.assertIn("::ffff:10.99.0.1", [gid for _, gid, _ in found])
        self.assertEqual({(int(index) % 2, kind) for index, _, kind in found}, {(1, "RoCE v2")})
