# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Other wires than the default one, and what a doctor says of the way to another host."""
import json
import subprocess

import harness
from harness import ClientTest, wait_until
from hosts import HostsTest

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-c", "-s", "20000", "-n", "200"]


class Ports(ClientTest):
    def test_the_back_may_be_there_first(self):
        self.require("ibv_rc_pingpong")
        wire = f"vhost:{self.runtime}/wire.sock"
        self.run_pair(*PINGPONG, nics=(["--port", f"{wire},back"], ["--port", f"{wire},front"]))

    def test_two_pairs_side_by_side_do_not_disturb_each_other(self):
        self.require("ibv_rc_pingpong")
        port = harness.free_port()
        other = self.start("other server", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(port)])
        self.wait_for_listener(other, port)
        wire = ["--port", f"vhost:{self.runtime}/wire.sock"]
        self.run_pair(*PINGPONG, nics=(wire, wire))
        client = self.start(
            "other client", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(port), "127.0.0.1"]
        )
        self.expect_end(client)
        self.expect_end(other)

    def test_network_interfaces(self):
        """A pair of virtual interfaces in a network namespace of the test's own: needs root."""
        self.require("ibv_rc_pingpong")
        inside = self.network_namespace(mtu=4200)
        nics = (
            ["--ip", "10.78.0.1/24", "--port", "af_packet:left"],
            ["--ip", "10.78.0.2/24", "--port", "af_packet:right"],
        )
        self.run_pair(*PINGPONG, nics=nics, privileged=True, inside=inside)
        self.run_pair(*PINGPONG, "-e", nics=nics, privileged=True, inside=inside)


class AfXdp(ClientTest):
    """A pair of virtual interfaces in a network namespace of the test's own, each with an XDP program of a
    NIC: needs root."""

    LARGEST_MTU = 3442

    def nics(self, far="af_xdp:right"):
        return ["--ip", "10.78.3.1/24", "--port", "af_xdp:left"], ["--ip", "10.78.3.2/24", "--port", far]

    def run_pairs(self, *pairs, mtu=LARGEST_MTU, options=(), far="af_xdp:right"):
        inside = self.network_namespace(mtu=mtu)
        nics = [[*nic, *options] for nic in self.nics(far)]
        for words in pairs:
            self.require(words[0])
            self.run_pair(*words, nics=nics, privileged=True, inside=inside)
        return inside

    def shown(self, inside, interface):
        return subprocess.run(
            [*inside, "ip", "link", "show", interface], capture_output=True, text=True
        ).stdout

    def refusal(self, inside, *words, privileged=True):
        """The one line that `urnic run` says in place of running a program."""
        command = [harness.STAGE.urnic, "run", "--ip", "10.78.3.1/24", *words, "--", "true"]
        command = command if privileged else harness.STAGE.drop_privilege(command)
        process = self.start_plain("urnic", [*inside, *command], privileged=True)
        self.expect_end(process, timeout=20, code=1)
        self.assertEqual(len(process.output().splitlines()), 1, process.describe())
        return process.output()

    def test_pingpongs(self):
        others = (
            ["ibv_uc_pingpong", "-d", "urnic0", "-g", "1", "-n", "100"],
            ["ibv_ud_pingpong", "-d", "urnic0", "-g", "1", "-s", "1024"],
        )
        inside = self.run_pairs(PINGPONG, [*PINGPONG, "-e"], *others)
        self.assertNotIn("xdp", self.shown(inside, "left"))

    def test_perftest(self):
        options = ["-d", "urnic0", "-x", "1", "-F"]
        self.run_pairs(
            ["ib_write_bw", *options, "-s", "65536", "-n", "2000"],
            ["ib_read_bw", *options, "-s", "65536", "-n", "1000", "-q", "2"],
            ["ib_send_bw", *options, "-s", "20000", "-n", "1000", "-b"],
            ["ib_send_lat", *options, "-s", "64", "-n", "1000"],
            ["ib_atomic_bw", *options, "-n", "1000"],
        )

    def test_a_cable_that_loses_frames(self):
        self.run_pairs(
            PINGPONG,
            ["ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-s", "65536", "-n", "40"],
            mtu=1500,
            options=["--fault", "loss=0.01,seed=5"],
        )

    def test_the_other_end_has_af_packet(self):
        self.run_pairs(PINGPONG, [*PINGPONG, "-e"], mtu=1500, far="af_packet:right")

    def test_a_killed_program_leaves_no_xdp_program_behind(self):
        self.require("ibv_rc_pingpong")
        inside = self.network_namespace(mtu=1500)
        port = harness.free_port()
        server = self.start(
            "server",
            ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(port)],
            self.nics()[0],
            privileged=True,
            inside=inside,
        )
        self.assertTrue(
            wait_until(lambda: "xdp" in self.shown(inside, "left"), harness.START_TIMEOUT), server.describe()
        )
        # A second NIC has no place there.
        refused = self.start(
            "second",
            ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1"],
            ["--ip", "10.78.3.3/24", "--port", "af_xdp:left"],
            privileged=True,
            inside=inside,
        )
        self.assertNotEqual(refused.wait(20), 0)
        self.assertIn("network interface left: another", refused.output())
        server.kill()
        self.assertTrue(
            wait_until(lambda: "xdp" not in self.shown(inside, "left"), 10), self.shown(inside, "left")
        )

    def test_what_it_needs_is_said_before_the_program_runs(self):
        inside = self.network_namespace(mtu=1500)
        self.assertIn("nosuch0", self.refusal(inside, "--port", "af_xdp:nosuch0"))
        self.assertIn(
            "CAP_NET_ADMIN, CAP_BPF and CAP_NET_RAW",
            self.refusal(inside, "--port", "af_xdp:left", privileged=False),
        )
        subprocess.run([*inside, "ip", "link", "set", "right", "mtu", "3443"], check=True)
        subprocess.run([*inside, "ip", "link", "set", "left", "mtu", "3443"], check=True)
        self.assertIn("ip link set left mtu 3442", self.refusal(inside, "--port", "af_xdp:left"))
        subprocess.run([*inside, "ip", "link", "set", "left", "down"], check=True)
        subprocess.run([*inside, "ip", "link", "set", "left", "mtu", "1500"], check=True)
        self.assertIn("is down", self.refusal(inside, "--port", "af_xdp:left"))


class WayToAPeer(HostsTest):
    """What a doctor says of it."""

    def doctor(self, host, *words):
        return self.start_on(host, " ".join(words), [harness.STAGE.urnic, "doctor", *words])

    def answer(self, host):
        process = self.doctor(host, "--answer")
        self.assertTrue(
            wait_until(lambda: "answering" in process.output(), harness.START_TIMEOUT), process.describe()
        )
        return process

    def way(self, host, peer, code=0):
        process = self.doctor(host, "--json", "--peer", peer)
        self.expect_end(process, timeout=60, code=code)
        return json.loads(process.output())["findings"][-1]

    def test_what_a_cable_carries(self):
        here, there = self.hosts()
        self.answer(there)
        for peer in ("10.79.0.2", "fd79::2"):
            way = self.way(here, peer)
            self.assertEqual(
                (way["verdict"], way["address"], way["bytes_there"], way["bytes_back"]),
                ("ok", peer, 1500, 1500),
                way,
            )

    def test_a_cable_that_swallows_large_packets(self):
        here, there = self.hosts(mtu_here=4200, mtu_there=1400)
        self.answer(there)
        way = self.way(here, "10.79.0.2")
        # The kernel lets a frame with a VLAN's tag more than the MTU through.
        self.assertIn(way["bytes_there"], range(1400, 1405), way)
        self.assertEqual(way["bytes_back"], 1400, way)

    def test_a_host_where_no_doctor_answers(self):
        here, _ = self.hosts()
        self.assertIn("no socket has its UDP port 4791", self.way(here, "10.79.0.2", code=1)["found"])
        self.assertIn("does not answer", self.way(here, "10.79.0.77", code=1)["found"])

    def test_a_port_that_another_doctor_has(self):
        here, _ = self.hosts()
        self.answer(here)
        second = self.doctor(here, "--answer")
        self.expect_end(second, code=1)
        self.assertIn("Address already in use; 'urnic doctor' tells who has it", second.output())
        process = self.doctor(here, "--json")
        self.expect_end(process, timeout=30)
        held = [
            finding
            for finding in json.loads(process.output())["findings"]
            if finding["check"] == "UDP port 4791"
        ]
        self.assertEqual(held[0]["verdict"], "note")
