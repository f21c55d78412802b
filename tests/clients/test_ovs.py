# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""NICs of two hosts at switches that are not ours: each host, a network namespace, has Open vSwitch with
the DPDK datapath, and a VXLAN tunnel leads over the cable between them. Needs root; the programs with a
NIC have no privilege. Not part of the stage "clients"."""
import os
import tempfile

import dissection
import harness
import icrc
import open_vswitch
import vxlan
from harness import free_port, wait_until
from hosts import HostsTest
from open_vswitch import TUNNEL_BYTES, OpenVswitch

# A daemon that loses its parent shall not stay when a run is interrupted.
ENDS_WITH_US = ["setpriv", "--pdeathsig", "KILL"]

LINK_MTU = 1500 - TUNNEL_BYTES  # over an ordinary cable: RDMA's MTU is 1024 then
FULL_LINK_MTU = 4200  # what urnic has by itself: RDMA's MTU is 4096
KEY = 79
# Of 2 s, seven times: on a crowded machine a switch takes some seconds to come back. The code is
# InfiniBand's.
LONG_TIMEOUT = 19
PERFTEST = ["-d", "urnic0", "-x", "1", "-F"]
# As many packets without a repetition as the ring of a NIC holds, which may get no processor for long.
UNREPEATED = ["-s", "1024", "-n", "200", "-r", "256"]
PERFTEST_LINES = (
    ["ib_write_bw", "-n", "200"],
    ["ib_write_bw", "-n", "100", "-s", "8192", "-q", "8", "-b"],
    ["ib_read_bw", "-n", "200"],
    ["ib_send_bw", "-n", "200"],
    ["ib_send_bw", "-n", "100", "-s", "8192", "-e"],
    ["ib_send_bw", "-n", "100", "-s", "8192", "-c", "XRC"],
    ["ib_write_lat"],
    ["ib_read_lat"],
    ["ib_send_lat"],
    ["ib_atomic_lat"],
    ["ib_write_bw", "-c", "UC", "-n", "200"],
    ["ib_write_lat", "-c", "UC"],
    ["ib_send_lat", "-c", "UC"],
    ["ib_send_lat", "-c", "UD"],
    ["ib_send_bw", "-c", "UC", *UNREPEATED],
    ["ib_send_bw", "-c", "UD", *UNREPEATED],
)


class Side:
    """A host, its switch, and what `urnic run` is told for each of its NICs."""

    def __init__(self, host, address, switch):
        self.host, self.address, self.switch, self.nics = host, address, switch, []


class OvsTest(HostsTest):
    PACKAGES = "ovs"

    def setUp(self):
        super().setUp()
        if open_vswitch.find_daemon() is None:
            self.skipTest("Open vSwitch with DPDK is not installed (tools/install-packages ovs)")
        if not os.access("/dev/net/tun", os.W_OK):
            self.skipTest("Open vSwitch cannot make network interfaces here: no access to /dev/net/tun")
        self.require("setpriv")

    def start_plain(self, name, command, environment=None, privileged=False):
        return super().start_plain(name, [*ENDS_WITH_US, *command], environment, privileged)

    def start_on(self, host, name, command):
        # Once more, as a process that becomes another user forgets it.
        return super().start_on(host, name, [*ENDS_WITH_US, *command])

    def sides(self, nics=1, link_mtu=LINK_MTU):
        """Two hosts with so many NICs each. Programs meet over TCP on a cable beside the one that the
        switches have."""
        here, there = self.hosts()
        cable_mtu = link_mtu + TUNNEL_BYTES
        self.on(
            here,
            f"link add wire mtu {cable_mtu} type veth peer name wire mtu {cable_mtu} netns {there[-1]}",
            "link set wire up",
        )
        self.on(there, "link set wire up")
        sides = [
            Side(host, address, self.switch(number, host))
            for number, (host, address) in enumerate(((here, self.HERE), (there, self.THERE)))
        ]
        tunnel_ends = ("172.31.79.1", "172.31.79.2")
        for side, own, other in zip(sides, tunnel_ends, reversed(tunnel_ends)):
            side.switch.connect("wire", link_mtu + TUNNEL_BYTES, own, other, KEY)
        for number in range(nics * len(sides)):
            # The hosts take turns, so that neighbours by number are at different switches.
            self.add_nic(sides[number % len(sides)], number + 1, link_mtu)
        self.warm_up(sides)
        return sides

    def warm_up(self, sides):
        """Has both switches make their packet buffers, which takes them a second or more of a busy
        processor: with the first NIC that is there, which has no peer."""
        self.require("ibv_rc_pingpong")
        words = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1"]
        first = [
            (side, nic, self.start_nic_on(side.host, "first", [*words, "-p", free_port()], nic))
            for side in sides
            for nic in side.nics
        ]
        for side, nic, process in first:
            path = nic[1].removeprefix("vhost:").removesuffix(",front")
            if (
                not wait_until(lambda: side.switch.has_connected(path) or not process.is_running(), 30, 0.02)
                or not process.is_running()
            ):
                self.fail_with("the switch does not connect to a NIC", process)
            process.kill()
            self.processes.remove(process)

    def switch(self, number, host):
        start = lambda name, words, environment: self.start_plain(
            f"{name} {number}", words, environment, privileged=True
        )
        switch = OpenVswitch(start, host, tempfile.mkdtemp(dir=self.runtime), number)
        switch.boot()
        return switch

    def add_nic(self, side, number, link_mtu):
        path = f"{self.runtime}/nic{number}.sock"
        side.switch.add_nic(f"nic{number}", path, link_mtu)
        addresses = ["--ip", f"10.99.0.{number}/24", "--ip6", f"fd99::{number}/64"]
        side.nics.append(["--port", f"vhost:{path},front", *addresses, "--mtu", str(link_mtu)])

    def start_pair(self, sides, words, options=((), ())):
        """A server on the second host and a client on the first, which meet over TCP."""
        client_side, server_side = sides
        self.require(words[0])
        port = free_port()
        words = [*words, "-p", port]
        server = self.start_nic_on(server_side.host, "server", words, [*server_side.nics[0], *options[1]])
        self.wait_for_listener(server, port)
        client = self.start_nic_on(
            client_side.host, "client", [*words, server_side.address], [*client_side.nics[0], *options[0]]
        )
        return client, server

    def run_pair_on(self, sides, *words, options=((), ())):
        client, server = self.start_pair(sides, words, options)
        self.expect_end(client)
        self.expect_end(server)
        return client.output()

    def start_rping(self, sides, address, count):
        client_side, server_side = sides
        self.require("rping")
        words = ["rping", "-a", address, "-C", count, "-V", "-S", 1000]
        server = self.start_nic_on(server_side.host, "server", [*words, "-s"], server_side.nics[0])
        self.wait_for_rdma_cm(server)
        return self.start_nic_on(client_side.host, "client", [*words, "-c"], client_side.nics[0]), server

    def start_all_to_all(self, sides, rounds, options=()):
        """A program for each NIC, each with a connection to all others."""
        places = [
            (side, nic) for pair in zip(*(side.nics for side in sides)) for side, nic in zip(sides, pair)
        ]
        words = [
            harness.STAGE.program("all_to_all"),
            "--size",
            len(places),
            "--port",
            free_port(),
            "--rounds",
            rounds,
        ]
        words += ["--host", sides[0].address, *options]
        return [
            self.start_nic_on(side.host, f"rank {rank}", [*words, "--rank", rank], nic)
            for rank, (side, nic) in enumerate(places)
        ]

    def expect_all_to_all(self, ranks):
        failed = lambda: [process for process in ranks if process.popen.poll() not in (None, 0)]
        if not wait_until(
            lambda: failed() or not any(process.is_running() for process in ranks), 120, pause=0.02
        ):
            self.fail_with("not all programs ended in time")
        if failed():
            self.fail_with("a program failed", *failed())
        for process in ranks:
            self.assertIn(f"with {len(ranks) - 1} others", process.output())


class Programs(OvsTest):
    def test_ping_pongs(self):
        sides = self.sides()
        for service in ("rc", "uc", "ud", "srq", "xsrq"):
            for options in ([], ["-e"]):
                with self.subTest(service=service, options=options):
                    self.run_pair_on(sides, f"ibv_{service}_pingpong", "-d", "urnic0", "-g", "1", *options)

    def test_every_kind_of_address(self):
        sides = self.sides()
        for gid in (0, 1, 2):  # link-local, IPv4, IPv6
            with self.subTest(gid=gid):
                self.run_pair_on(
                    sides, "ibv_rc_pingpong", "-d", "urnic0", "-g", gid, "-c", "-s", "20000", "-n", "50"
                )

    def test_perftest(self):
        sides = self.sides()
        for program, *options in PERFTEST_LINES:
            with self.subTest(program=program, options=options):
                said = self.run_pair_on(sides, program, *PERFTEST, *options)
                self.assertRegex(said, r"(?m)^ *\d+ +\d+ +[\d.]+ ", "no line of results")

    def test_connections_by_rdma_cm(self):
        sides = self.sides()
        for address in ("10.99.0.2", "fd99::2"):
            with self.subTest(address=address):
                for process in self.start_rping(sides, address, count=100):
                    self.expect_end(process)

    def test_four_nics_with_connections_to_all_others(self):
        sides = self.sides(nics=2)
        self.expect_all_to_all(self.start_all_to_all(sides, rounds=300))
        for side in sides:
            self.assertGreater(side.switch.packets_sent(), 1000)

    def test_a_cable_for_long_packets(self):
        sides = self.sides(link_mtu=FULL_LINK_MTU)
        for options in (["-m", "4096", "-n", "200"], ["-m", "4096", "-c", "-s", "30000", "-n", "100"]):
            self.run_pair_on(sides, "ibv_rc_pingpong", "-d", "urnic0", "-g", "1", *options)
        self.run_pair_on(sides, "ibv_ud_pingpong", "-d", "urnic0", "-g", "1", "-s", "4096", "-n", "200")

    def test_threads_of_the_switch_sleep_while_there_is_nothing_to_do(self):
        for side in self.sides():
            self.assertTrue(side.switch.may_sleep())


class Frames(OvsTest):
    """Frames are as the NICs sent them, on the cable between the switches and beyond it."""

    RUN = ["ib_write_bw", *PERFTEST, "-n", "300", "-s", "8192"]

    def check(self, name, path):
        """By `urnic check`, and by two other readers: icrc.py and tshark."""
        frames = icrc.check_recording(path)
        self.assertGreater(frames, 300)
        checked = self.start_plain("check", [harness.STAGE.urnic, "check", "--json", path])
        self.expect_end(checked, 60)
        if dissection.is_available():
            self.assertEqual(dissection.complaints(path), [], name)
            self.assertEqual(dissection.count_roce(path), frames, name)
        return frames

    def test_recordings_of_the_nics(self):
        sides = self.sides()
        for program in (self.RUN, ["ibv_ud_pingpong", "-d", "urnic0", "-g", "1"]):
            with self.subTest(program=program[0]):
                files = {name: f"{self.runtime}/{program[0]}-{name}.pcap" for name in ("client", "server")}
                self.run_pair_on(sides, *program, options=[["--pcap", path] for path in files.values()])
                for name, path in files.items():
                    self.check(name, path)

    def record_cable(self, link_mtu, rdma_mtu):
        sides = self.sides(link_mtu=link_mtu)
        outside = self.recorded(
            sides[0].host, "wire", f"udp port {vxlan.PORT}", lambda: self.run_pair_on(sides, *self.RUN)
        )
        inside = f"{self.runtime}/inside.pcap"
        lengths = vxlan.write_unwrapped(outside, inside, KEY)
        os.chmod(inside, 0o644)
        self.check("cable", inside)
        # The first packet of a WRITE: IPv4, UDP, BTH and RETH headers, payload, ICRC.
        self.assertEqual(max(lengths), 20 + 8 + 12 + 16 + rdma_mtu + 4 + TUNNEL_BYTES)

    def test_a_recording_of_the_cable(self):
        self.record_cable(LINK_MTU, 1024)

    def test_a_recording_of_a_cable_for_long_packets(self):
        self.record_cable(FULL_LINK_MTU, 4096)


class Restarts(OvsTest):
    """A switch is killed, and comes back, while programs run: what was lost is sent again, and everything
    arrives once and as it was."""

    def restart(self, side):
        side.switch.kill()
        self.assertFalse(side.switch.is_running())
        side.switch.boot()

    def timeouts(self):
        """How often work requests of the test's programs were sent again because no answer came."""
        return self.counter("local_ack_timeout_err")

    def wait_for_traffic(self, side, more=1000):
        """Until so many packets have gone through the tunnel from that side."""
        before = side.switch.packets_sent()
        if not wait_until(lambda: side.switch.packets_sent() > before + more, 30, 0.05):
            self.fail_with("nothing goes through the tunnel")

    def restart_below(self, sides, processes):
        """Restarts the switches one after the other while programs run; there is traffic before and after
        each restart."""
        for side in sides:
            self.wait_for_traffic(sides[0])
            timeouts = self.timeouts()
            self.restart(side)
            self.wait_for_traffic(sides[0])
            # What was on its way when the switch ended may go through the tunnel before the ACK timers run
            # out.
            self.assertTrue(wait_until(lambda: self.timeouts() > timeouts, 30, 0.05), "no packet was lost")
        self.assertTrue(all(process.is_running() for process in processes), "the programs ended before")

    def test_four_nics_that_verify_what_arrives(self):
        sides = self.sides(nics=2)
        ranks = self.start_all_to_all(sides, 12000, ["--ack-timeout", LONG_TIMEOUT])
        self.restart_below(sides, ranks)
        self.expect_all_to_all(ranks)

    def test_perftest(self):
        sides = self.sides()
        processes = self.start_pair(sides, ["ib_write_bw", *PERFTEST, "-u", LONG_TIMEOUT, "-n", "20000"])
        self.restart_below(sides, processes)
        for process in processes:
            self.expect_end(process)

    def test_a_program_that_starts_while_the_switch_is_away(self):
        sides = self.sides()
        sides[0].switch.kill()
        processes = self.start_pair(sides, ["ib_write_bw", *PERFTEST, "-u", LONG_TIMEOUT, "-n", "100"])
        sides[0].switch.boot()
        for process in processes:
            self.expect_end(process)
