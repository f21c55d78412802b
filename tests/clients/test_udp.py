# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""NICs that share the host's addresses and send through UDP sockets: no privilege, and real networks between
them."""
import ipaddress
import os
import subprocess
import time

import harness
import hostile_datagrams
import icrc
import segments
from harness import ClientTest, wait_until
from hosts import HostsTest


def loopback_nics():
    """Two NICs of one host, at addresses of the loopback network that no other test of this run has."""
    number = os.getpid()
    network = f"127.{64 + (number >> 14 & 63)}.{number >> 6 & 255}"
    return tuple(["--port", f"udp:{network}.{(number & 63) * 4 + end}"] for end in (1, 2))


class OneHost(ClientTest):
    def pair(self, program, *options):
        self.require(program)
        return self.run_pair(program, "-d", "urnic0", *options, nics=loopback_nics())

    def test_ping_pongs(self):
        for service in ("rc", "uc", "ud", "srq", "xsrq"):
            for options in ([], ["-e"]):
                self.pair(f"ibv_{service}_pingpong", "-g", "1", *options)

    def test_long_messages(self):
        self.pair("ibv_rc_pingpong", "-g", "1", "-c", "-s", "1000000", "-n", "50")

    def test_index_zero_of_a_host_without_link_local_address(self):
        self.pair("ibv_rc_pingpong", "-g", "0", "-c")

    def test_files_name_the_interface(self):
        device = "/sys/class/infiniband/urnic0"
        files = [f"{device}/ports/1/gid_attrs/ndevs/1", f"{device}/node_guid", f"{device}/ports/1/gids/1"]
        process = self.start("cat", ["cat", *files], loopback_nics()[0])
        self.expect_end(process)
        interface, guid, gid = process.output().split()
        self.assertEqual(interface, "lo")
        # 02:00 and the address, the bit inverted that says so.
        self.assertRegex(guid, r"^0000:7fff:fe..:....$")
        self.assertRegex(gid, r"^0000:0000:0000:0000:0000:ffff:7f..:....$")

    def test_a_fault_injector(self):
        self.require("ibv_rc_pingpong")
        first, second = loopback_nics()
        first = [*first, "--fault", "loss=0.02,corrupt=0.02,truncate=0.01,reorder=0.01,seed=7"]
        self.run_pair(
            "ibv_rc_pingpong",
            "-d",
            "urnic0",
            "-g",
            "1",
            "-c",
            "-s",
            "50000",
            "-n",
            "200",
            nics=(first, second),
        )

    def test_the_address_of_another_nic(self):
        nic = loopback_nics()[0]
        holder = self.start("holder", ["sh", "-c", "ibv_devinfo >/dev/null; echo here; exec sleep 1000"], nic)
        self.assertTrue(wait_until(lambda: "here" in holder.output(), harness.START_TIMEOUT))
        second = self.start("second", ["ibv_devinfo"], nic)
        self.assertNotEqual(second.wait(harness.START_TIMEOUT), 0)
        self.assertIn("is taken", second.output())

    def test_an_address_that_the_host_has_not(self):
        for port, words in (
            ("udp:192.0.2.77", "has the address 192.0.2.77"),
            ("udp:nonsense", "is no IPv4 or IPv6 address"),
        ):
            process = self.start("nic", ["ibv_devinfo"], ["--port", port])
            self.assertNotEqual(process.wait(harness.START_TIMEOUT), 0)
            self.assertIn(words, process.output())

    def test_an_address_of_ones_own(self):
        process = self.start("nic", ["ibv_devinfo"], [*loopback_nics()[0], "--ip", "10.0.0.1/24"])
        self.assertNotEqual(process.wait(harness.START_TIMEOUT), 0)
        self.assertIn("addresses of this host", process.output())


class TwoHosts(HostsTest):
    PERFTEST = ["-d", "urnic0", "-x", "1", "-F"]

    def run_on(self, hosts, *words, nic=(), client_nic=(), kind="udp"):
        """The program as a server there, and as its client here, over ports of that kind; both are told
        the port to meet at over TCP."""
        here, there = hosts
        self.require(words[0])
        port = harness.free_port()
        words = [*words, "-p", str(port)]
        nic = ["--port", kind, *nic]
        server = self.start_nic_on(there, "server", words, nic)
        self.wait_for_listener(server, port)
        client = self.start_nic_on(here, "client", [*words, self.THERE], [*nic, *client_nic])
        self.expect_end(client)
        self.expect_end(server)
        return client.output()

    def test_ping_pongs(self):
        hosts = self.hosts()
        for service in ("rc", "uc", "ud", "srq", "xsrq"):
            self.run_on(hosts, f"ibv_{service}_pingpong", "-d", "urnic0", "-g", "1")
        # Index 0 is the link-local address of the cable, 2 the other IPv6 address.
        for gid in (0, 2):
            self.run_on(
                hosts, "ibv_rc_pingpong", "-d", "urnic0", "-g", gid, "-c", "-s", "100000", "-n", "100"
            )

    def test_perftest(self):
        hosts = self.hosts(4200, 4200)
        for program, *options in (
            ["ib_send_bw", "-a", "-n", "100"],
            ["ib_write_bw", "-q", "8"],
            ["ib_read_bw"],
            ["ib_write_lat"],
            ["ib_atomic_lat"],
            ["ib_send_lat", "-c", "UC"],
            ["ib_send_lat", "-c", "UD"],
            ["ib_send_bw", "-c", "XRC"],
            ["ib_send_bw", "-e"],
        ):
            self.run_on(hosts, program, *self.PERFTEST, *options)

    def test_a_path_that_loses_packets(self):
        hosts = self.hosts()
        faults = ["--fault", "loss=0.01,reorder=0.01,seed=9"]
        self.run_on(
            hosts, "ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-c", "-s", "50000", "-n", "200", nic=faults
        )
        self.run_on(hosts, "ib_write_bw", *self.PERFTEST, "-n", "500", nic=faults)

    def test_connections_by_rdma_cm(self):
        here, there = self.hosts()
        self.require("rping")
        for own in (self.THERE, self.THERE_IPV6):
            words = ["rping", "-a", own, "-C", "20", "-V"]
            server = self.start_nic_on(there, "server", [*words, "-s"], ["--port", "udp"])
            self.wait_for_rdma_cm(server)
            client = self.start_nic_on(here, "client", [*words, "-c"], ["--port", "udp"])
            self.expect_end(client)
            self.expect_end(server)

    def test_the_kernel_is_asked_for_the_next_hop_before_a_queue_pair_may_send(self):
        hosts = self.hosts()
        ping_pong = lambda: self.run_on(hosts, "ibv_uc_pingpong", "-d", "urnic0", "-g", "2", "-s", "100000")
        frames = icrc.read_pcap(self.recorded(hosts[0], "cable", "udp dst port 9", ping_pong))
        # One from each end: with a hop limit of 1, and after the IPv6 header 8 bytes, no more than a UDP
        # header.
        ends = sorted(
            (ipaddress.ip_address(bytes(frame[22:38])).compressed, frame[21], bytes(frame[18:20]).hex())
            for frame in frames
        )
        self.assertEqual(ends, [(self.HERE_IPV6, 1, "0008"), (self.THERE_IPV6, 1, "0008")])

    def is_member(self, host, end, group):
        shown = subprocess.run(
            [*host, "ip", "maddr", "show", "dev", end], check=True, capture_output=True, text=True
        )
        return f" {group}\n" in shown.stdout or f" {group} " in shown.stdout

    def test_datagrams_to_a_group(self):
        here, there = self.hosts()
        self.require("mckey")
        ends = {"239.9.9.9": (self.HERE, self.THERE), "ff05::9": (self.HERE_IPV6, self.THERE_IPV6)}
        for group, (own, other) in ends.items():
            receiver = self.start_nic_on(
                there, "receiver", ["mckey", "-m", group, "-b", other], ["--port", "udp"]
            )
            has_joined = lambda: not receiver.is_running() or self.is_member(there, "other", group)
            self.assertTrue(wait_until(has_joined, harness.START_TIMEOUT), receiver.describe())
            sender = self.start_nic_on(
                here, "sender", ["mckey", "-m", group, "-s", "-b", own], ["--port", "udp"]
            )
            self.expect_end(sender)
            self.expect_end(receiver)
            self.assertTrue(wait_until(lambda: not self.is_member(there, "other", group), 10))

    STRANGER = "10.79.0.77"
    HOSTILE_SECONDS = 4  # run.py --endurance says otherwise

    def test_hostile_datagrams_beside_traffic(self):
        self.be_hostile("udp")

    def test_hostile_datagrams_to_a_shared_nic_beside_traffic(self):
        self.be_hostile("host")

    def be_hostile(self, kind):
        here, there = self.hosts()
        self.require("ibv_rc_pingpong", "ib_send_bw")
        self.on(here, f"addr add {self.STRANGER}/24 dev cable")
        recording = f"{self.runtime}/traffic.pcap"
        self.run_on(
            (here, there),
            "ibv_rc_pingpong",
            "-d",
            "urnic0",
            "-g",
            "1",
            "-s",
            "3000",
            client_nic=["--pcap", recording],
            kind=kind,
        )
        words = [
            "python3",
            hostile_datagrams.__file__,
            self.STRANGER,
            self.HERE,
            self.THERE,
            recording,
            harness.SEED,
        ]
        attacker = self.start_on(here, "attacker", words)
        self.assertTrue(
            wait_until(lambda: "sent" in attacker.output(), harness.START_TIMEOUT), attacker.describe()
        )
        end = time.monotonic() + self.HOSTILE_SECONDS
        while time.monotonic() < end:
            self.run_on(
                (here, there),
                "ibv_rc_pingpong",
                "-d",
                "urnic0",
                "-g",
                "1",
                "-c",
                "-s",
                "20000",
                "-n",
                "500",
                kind=kind,
            )
            self.run_on((here, there), "ib_send_bw", *self.PERFTEST, "-s", "8192", "-n", "1000", kind=kind)
        self.assertTrue(attacker.is_running(), attacker.describe())

    def on_the_cable(self, port, who_cuts):
        """The frames of WRITEs in both directions. The kernel cuts buffers before the cable, or a network
        card does: then the recording has them whole, and they are cut here."""
        here, there = self.hosts()
        if who_cuts == "kernel":
            self.on(here, "link set cable gso_max_segs 1")
            self.on(there, "link set other gso_max_segs 1")
        write = lambda: self.run_on(
            (here, there), "ib_write_bw", *self.PERFTEST, "-n", "100", "-b", kind=port
        )
        seen = [
            frame
            for frame in icrc.read_pcap(self.recorded(there, "other", "udp port 4791", write))
            if frame[12:14] == b"\x08\x00"
        ]
        whole = sum(len(frame) > 1500 + 14 for frame in seen)
        self.assertEqual(
            whole > 100, who_cuts == "card" and "unsegmented" not in port, f"{whole} of {len(seen)} are whole"
        )
        return seen if who_cuts == "kernel" else [frame for buffer in seen for frame in segments.cut(buffer)]

    def test_every_frame_on_the_cable_has_the_icrc_of_its_identification(self):
        for port in ("udp", "udp,unsegmented", "host"):
            for who_cuts in ("kernel", "card"):
                with self.subTest(port=port, who_cuts=who_cuts):
                    frames = self.on_the_cable(port, who_cuts)
                    self.assertGreater(sum(map(icrc.check_frame, frames)), 10_000)
                    identifications = {frame[18:20] for frame in frames}
                    self.assertEqual(len(identifications) > 4, "unsegmented" not in port)

    def test_an_interface_that_goes_down_and_comes_back(self):
        for port in ("udp", "host"):
            with self.subTest(port=port):
                here, there = self.hosts()
                self.require("ib_send_bw")
                number = harness.free_port()
                # With an ACK timeout of a quarter of a second, seven times.
                words = ["ib_send_bw", *self.PERFTEST, "-D", "4", "-u", "16", "-p", number]
                server = self.start_nic_on(there, "server", words, ["--port", port])
                self.wait_for_listener(server, number)
                client = self.start_nic_on(here, "client", [*words, self.THERE], ["--port", port])
                is_busy = lambda: self.counter("port_sent_frames") > 10_000
                self.assertTrue(wait_until(is_busy, harness.START_TIMEOUT, pause=0.05), client.describe())
                dropped = self.counter("port_dropped_frames")
                self.on(here, "link set cable down")
                time.sleep(0.5)
                self.on(here, "link set cable up")
                self.assertGreater(self.counter("port_dropped_frames"), dropped)
                for process in (client, server):
                    self.expect_end(process)

    def test_a_recording_is_right(self):
        here, there = self.hosts()
        self.require("ib_send_bw")
        port = harness.free_port()
        words = ["ib_send_bw", *self.PERFTEST, "-n", "100", "-p", port]
        recording = lambda side: ["--port", "udp", "--pcap", f"{self.runtime}/{side}.pcap"]
        server = self.start_nic_on(there, "server", words, recording("server"))
        self.wait_for_listener(server, port)
        client = self.start_nic_on(here, "client", [*words, self.THERE], recording("client"))
        for process in (client, server):
            self.expect_end(process)
            checked = self.start_plain(
                "check", [harness.STAGE.urnic, "check", "--json", f"{self.runtime}/{process.name}.pcap"]
            )
            self.expect_end(checked, 60)
