# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""One NIC for all processes of a host: they have the host's addresses, and share them."""
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness
from harness import ClientTest, free_port, wait_until
from hosts import HostsTest

HOST = ["--port", "host"]


class Hosts(HostsTest):
    def start_host_nic(self, host, name, words, *options):
        return self.start_nic_on(host, name, words, [*HOST, *options])

    def run_pair_on(self, server_host, client_host, *words, at="127.0.0.1", options=()):
        """The program as a server there, and as a client here, told to meet over TCP at that address."""
        self.require(words[0])
        port = free_port()
        words = [*words, "-p", str(port)]
        server = self.start_host_nic(server_host, "server", words, *options)
        self.wait_for_listener(server, port)
        client = self.start_host_nic(client_host, "client", [*words, at], *options)
        self.expect_end(client)
        self.expect_end(server)
        return server.output(), client.output()

    def ask(self, host, *words):
        """What a command of urnic says there, even when it fails: there may be no switch yet."""
        process = self.start_on(host, "urnic", [harness.STAGE.urnic, *words])
        process.wait(20)
        self.processes.remove(process)
        return process.output()

    def listens(self, host, server, count=1):
        is_there = (
            lambda: not server.is_running() or self.ask(host, "host", "status").count("listens") >= count
        )
        self.assertTrue(wait_until(is_there, harness.START_TIMEOUT, pause=0.05), server.describe())

    def run_rping(self, server_host, client_host, address):
        words = ["rping", "-a", address, "-C", "20", "-V"]
        self.require("rping")
        server = self.start_host_nic(server_host, "server", [*words, "-s"])
        self.listens(server_host, server)
        client = self.start_host_nic(client_host, "client", [*words, "-c"])
        self.expect_end(client)
        self.expect_end(server)


class OneHost(Hosts):
    """Programs of one host, which is a network namespace with nothing but a loopback and perhaps an address
    beside."""

    def host(self):
        return self.namespace()

    def host_with_network(self):
        return self.namespace(*self.interface("net0", "10.79.3.1"))

    def interface(self, name, address):
        """Commands that make one, with a cable to nothing."""
        return (
            f"link add {name} type veth peer name {name}-peer",
            f"addr add {address}/24 dev {name}",
            f"link set {name} up",
            f"link set {name}-peer up",
        )

    def test_ping_pongs_at_the_loopback(self):
        host = self.host()
        for service in ("rc", "uc", "ud", "srq", "xsrq"):
            self.run_pair_on(host, host, f"ibv_{service}_pingpong", "-d", "urnic0", "-g", "1")
            self.run_pair_on(host, host, f"ibv_{service}_pingpong", "-d", "urnic0", "-g", "1", "-e")

    def test_it_is_the_port_of_programs_that_name_none(self):
        host = self.host_with_network()
        self.require("ibv_rc_pingpong")
        del self.environment["URNIC_PORT"]
        number = free_port()
        words = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", number]
        server = self.start_nic_on(host, "server", words)
        self.wait_for_listener(server, number)
        client = self.start_nic_on(host, "client", [*words, "127.0.0.1"])
        for process in (client, server):
            self.expect_end(process)
            self.assertEqual(process.output().count("::ffff:10.79.3.1"), 2)
        for option in (
            ["--ip", "10.9.9.9/24"],
            ["--ip6", "fd00::9/64"],
            ["--mac", "02:aa:00:00:00:01"],
            ["--vlan", "7"],
        ):
            other = self.start_nic_on(host, "other", ["true"], ["-v", *option])
            self.expect_end(other)
            self.assertIn(", fabric:default,", other.output())

    def test_long_messages(self):
        host = self.host_with_network()
        for gid in (0, 1):
            self.run_pair_on(
                host, host, "ibv_rc_pingpong", "-d", "urnic0", "-g", gid, "-c", "-s", "1000000", "-n", "50"
            )

    def test_an_address_that_the_kernel_still_asks_about(self):
        host = self.host()
        subprocess.run([*host, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/default/accept_dad"], check=True)
        self.on(host, *self.interface("net0", "10.79.3.1"))
        shown = subprocess.run(
            [*host, "ip", "addr", "show", "dev", "net0"], check=True, capture_output=True, text=True
        ).stdout
        self.assertIn("tentative", shown)
        self.run_pair_on(host, host, "ibv_rc_pingpong", "-d", "urnic0", "-g", "0")

    def test_programs_have_the_same_address_and_other_queue_pairs(self):
        host = self.host_with_network()
        server, _ = self.run_pair_on(host, host, "ibv_rc_pingpong", "-d", "urnic0", "-g", "1")
        ends = re.findall(r"address:.*QPN 0x([0-9a-f]+),.*GID (\S+)", server)
        self.assertEqual([gid for _, gid in ends], ["::ffff:10.79.3.1"] * 2)
        self.assertNotEqual(int(ends[0][0], 16) >> 16, int(ends[1][0], 16) >> 16)

    def test_direct_links_carry_what_is_for_the_host_itself(self):
        host = self.host_with_network()
        recording = f"{self.runtime}/client.pcap"
        self.require("ib_write_bw")
        port = free_port()
        words = ["ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-D", "3", "-p", port]
        server = self.start_host_nic(host, "server", words)
        self.wait_for_listener(server, port)
        client = self.start_host_nic(host, "client", [*words, "127.0.0.1"], "--pcap", recording)
        has_link = lambda: '"port_direct_links":1' in self.ask(host, "stat", "--json")
        self.assertTrue(wait_until(has_link, 10, pause=0.05), client.describe())
        self.expect_end(client)
        self.expect_end(server)
        self.assertIn("verdict: clean", self.ask(host, "check", recording))

    def gid_index_of(self, host, address):
        found = next(
            each["found"]
            for each in json.loads(self.ask(host, "doctor", "--json"))["findings"]
            if each["check"] == "GIDs of --port host"
        )
        return re.search(rf"(\d+) \S*{re.escape(address)} ", found)[1]

    def start_writers(self, host, server_index="1", client_index="1", seconds=3):
        self.require("ib_write_bw")
        port = free_port()
        words = ["ib_write_bw", "-d", "urnic0", "-F", "-D", seconds, "-p", port]
        server = self.start_host_nic(host, "server", [*words, "-x", server_index])
        self.wait_for_listener(server, port)
        client = self.start_host_nic(host, "client", [*words, "-x", client_index, "127.0.0.1"])
        return server, client

    def wait_for_links(self, host, process):
        has_links = lambda: self.ask(host, "stat", "--json").count('"port_direct_links":1') == 2
        self.assertTrue(wait_until(has_links, 10, pause=0.05), process.describe())

    def test_direct_links_join_two_addresses_of_the_host(self):
        host = self.host_with_network()
        self.on(host, *self.interface("net1", "10.79.4.1"))
        indices = self.gid_index_of(host, "10.79.3.1"), self.gid_index_of(host, "10.79.4.1")
        self.assertNotEqual(*indices)
        server, client = self.start_writers(host, *indices)
        self.wait_for_links(host, client)
        self.expect_end(client)
        self.expect_end(server)

    def test_nobody_else_of_the_host_sends_into_a_connection_with_a_link(self):
        host = self.host_with_network()
        server, client = self.start_writers(host, seconds=4)
        self.wait_for_links(host, client)
        processes = json.loads(self.ask(host, "stat", "--json"))["processes"]
        numbers = [qp["number"] for process in processes for qp in process["queue_pairs"] if qp["peer_qp"]]
        self.assertEqual(len(numbers), 2, processes)
        script = f"""
import socket, struct
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind(("10.79.3.1", 0))
for qp in {numbers}:
    for psn in range(10):
        bth = struct.pack("!BBHII", 4, 0x40, 0xffff, qp, 1 << 31 | psn)  # RC SEND Only
        sender.sendto(bth + bytes(20), ("10.79.3.1", 4791))
"""
        intruder = self.start_on(host, "intruder", ["python3", "-c", script])
        self.expect_end(intruder)
        self.processes.remove(intruder)
        counted = lambda name: sum(
            each["counters"][name] for each in json.loads(self.ask(host, "stat", "--json"))["processes"]
        )
        self.assertTrue(
            wait_until(lambda: counted("port_foreign_frames") == 20, 3, pause=0.1), client.describe()
        )
        self.assertEqual(counted("rx_drop_bad_icrc"), 0)
        self.expect_end(client)
        self.expect_end(server)

    def test_all_addresses_are_there_and_named_by_their_interfaces(self):
        host = self.host_with_network()
        self.on(host, *self.interface("net1", "10.79.4.1"))
        self.require("ibv_devinfo")
        names = "/sys/class/infiniband/urnic0/ports/1/gid_attrs/ndevs/"
        script = f"ibv_devinfo -v | grep GID; for i in 0 1 2 3 4 5 6 7 8; do echo $i:$(cat {names}$i); done"
        process = self.start_host_nic(host, "devinfo", ["sh", "-c", script])
        self.expect_end(process)
        gids = dict(re.findall(r"GID\[ *(\d+)\]:\s+(\S+?),", process.output()))
        names = dict(re.findall(r"^(\d+):(\S+)$", process.output(), re.MULTILINE))
        at = {gid: names.get(index) for index, gid in gids.items()}
        self.assertEqual(at["::ffff:10.79.3.1"], "net0")
        self.assertEqual(at["::ffff:10.79.4.1"], "net1")
        self.assertEqual(at["::ffff:127.0.0.1"], "lo")
        # The loopback's GIDs come after all GIDs that another host can reach; link-local ones may follow.
        reachable = [int(index) for index, gid in gids.items() if gid.startswith("::ffff:10.79.")]
        self.assertGreater(
            int(next(index for index, gid in gids.items() if gid == "::ffff:127.0.0.1")), max(reachable), gids
        )

    def test_connections_by_rdma_cm(self):
        host = self.host_with_network()
        self.run_rping(host, host, "10.79.3.1")

    def test_a_port_belongs_to_one_program(self):
        host = self.host_with_network()
        self.require("rping")
        words = ["rping", "-s", "-a", "10.79.3.1", "-C", "1"]
        first = self.start_host_nic(host, "first", words)
        self.listens(host, first)
        second = self.start_host_nic(host, "second", words)
        self.assertNotEqual(second.wait(harness.START_TIMEOUT), 0)
        self.assertRegex(second.output(), "bind|listen")
        self.assertTrue(first.is_running())
        # When the first has gone, however it went, the port is free.
        first.kill()
        third = self.start_host_nic(host, "third", words)
        self.listens(host, third)

    def test_several_servers_and_their_clients_at_once(self):
        host = self.host_with_network()
        self.require("rping")
        servers = []
        for i in range(3):
            servers.append(
                self.start_host_nic(
                    host, f"server{i}", ["rping", "-s", "-P", "-a", "10.79.3.1", "-p", 7000 + i]
                )
            )
            self.listens(host, servers[-1], i + 1)
        # rping's server mixes up two clients that come at the same moment.
        for _ in range(3):
            clients = [
                self.start_host_nic(
                    host, f"client{i}", ["rping", "-c", "-a", "10.79.3.1", "-p", 7000 + i, "-C", "10", "-V"]
                )
                for i in range(3)
            ]
            for client in clients:
                self.expect_end(client)

    def test_nothing_of_a_program_waits_for_a_switch_that_is_stopped_but_a_bind_by_name(self):
        """When the switch runs again, it reads the request for that port and takes the port back."""
        host = self.host_with_network()
        program = self.start_host_nic(host, "program", [harness.STAGE.program("bind_row"), 7100, 7100, 7100])
        self.assertTrue(
            wait_until(lambda: "ready" in program.output(), harness.START_TIMEOUT), program.describe()
        )

        def bind(count):
            program.popen.send_signal(signal.SIGUSR1)
            lines = lambda: re.findall(
                r"any (\d+) ([\d.]+), port (\d+) ([\d.]+), others ([\d.]+)\n", program.output()
            )
            self.assertTrue(wait_until(lambda: len(lines()) == count, 20), program.describe())
            return [float(number) for number in lines()[-1]]

        any_port, _, named, _, _ = bind(1)
        self.assertEqual([any_port, named], [0, 0], program.describe())
        switch = int(re.search(r"process (\d+)", self.ask(host, "host", "status"))[1])
        os.kill(switch, signal.SIGSTOP)
        try:
            any_port, any_took, named, named_took, others_took = bind(2)
        finally:
            os.kill(switch, signal.SIGCONT)
        self.assertEqual([any_port, named], [0, errno.EIO], program.describe())
        self.assertGreater(named_took, 0.5)
        self.assertLess(any_took, 0.4, "any port is there in advance")
        self.assertLess(others_took, 0.4, "the NIC does not stand still meanwhile")
        time.sleep(0.2)
        any_port, _, named, _, _ = bind(3)
        self.assertEqual([any_port, named], [0, 0], program.describe())
        self.expect_end(program)

    def test_a_forked_child_has_a_share_of_its_own(self):
        """qperf's server forks for each client; with -cm1 they meet by rdma_cm."""
        host = self.host_with_network()
        self.require("qperf")
        server = self.start_host_nic(host, "server", ["qperf"])
        self.wait_for_listener(server, 19765)
        for test in ("rc_lat", "rc_bw", "rc_rdma_read_bw"):
            client = self.start_host_nic(host, "client", ["qperf", "10.79.3.1", "-cm1", "-t", "1", test])
            self.expect_end(client)
            self.assertIn(test, client.output())

    ANOTHER_USER = 65533

    def test_another_user_is_told_who_has_the_port(self):
        host = self.host()
        self.require("ibv_rc_pingpong", "setpriv")
        holder = self.start_host_nic(host, "holder", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1"])
        is_there = lambda: "ibv_rc_pingpong" in self.ask(host, "host", "status")
        self.assertTrue(wait_until(is_there, harness.START_TIMEOUT, pause=0.05), holder.describe())
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        os.chown(folder, self.ANOTHER_USER, self.ANOTHER_USER)
        become = [
            "setpriv",
            f"--reuid={self.ANOTHER_USER}",
            f"--regid={self.ANOTHER_USER}",
            "--clear-groups",
            "env",
            f"XDG_RUNTIME_DIR={folder}",
        ]
        words = [harness.STAGE.urnic, "run", *HOST, "--", "ibv_rc_pingpong", "-d", "urnic0", "-g", "1"]
        other = self.start_plain("other", [*host, *become, *words], privileged=True)
        self.assertNotEqual(other.wait(harness.START_TIMEOUT), 0)
        self.assertIn("another user", other.output())
        self.assertTrue(holder.is_running())

    def test_programs_of_one_run_record_in_files_of_their_own(self):
        host = self.host_with_network()
        port = free_port()
        pingpong = f"ibv_rc_pingpong -d urnic0 -g 1 -n 100 -p {port}"
        script = f"{pingpong} & while ! grep -q $(printf ':%04X' {port}) /proc/net/tcp /proc/net/tcp6; do sleep 0.01; done; {pingpong} 127.0.0.1; wait"
        process = self.start_host_nic(
            host, "both", ["bash", "-c", script], "--pcap", f"{self.runtime}/frames.pcap"
        )
        self.expect_end(process)
        recordings = [file.name for file in self.runtime.glob("frames.pcap*")]
        self.assertEqual(len(recordings), 2, recordings)


class TwoHosts(Hosts):
    PERFTEST = ["-d", "urnic0", "-x", "1", "-F"]

    def test_a_peer_that_is_not_there_is_told_in_time(self):
        """Not only when sixteen requests have gone unanswered, 77 s later."""
        self.require("rdma_client", "rping")
        here, _ = self.hosts()
        client = lambda address: ["rdma_client", "-s", address, "-p", "7174"]
        # It waits 2 s, the kernel 3.
        cases = (
            (
                client("10.79.0.77"),
                "Connection timed out",
                "no host answered for 10.79.0.77",
            ),
            (client(self.THERE), "Connection refused", "no RoCEv2 at that host"),
            (client(self.THERE_IPV6), "Connection refused", "no RoCEv2 at that host"),
            (client("240.0.0.1"), "Network is unreachable", "this host has no way to 240.0.0.1"),
            (["rping", "-c", "-a", "240.0.0.1", "-I", self.HERE], "RDMA_CM_EVENT_ADDR_ERROR, error -101", ""),
        )
        for words, says, why in cases:
            program = self.start_host_nic(here, words[0], words, "--explain")
            if program.wait(20) is None:
                self.fail_with("does not end", program)
            self.assertIn(says, program.output())
            self.assertIn(why, program.output())

    def test_programs(self):
        here, there = self.hosts()
        for words in (
            ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-c", "-s", "50000"],
            ["ibv_ud_pingpong", "-d", "urnic0", "-g", "1"],
            ["ib_write_bw", *self.PERFTEST, "-q", "4", "-n", "1000"],
            ["ib_send_lat", *self.PERFTEST, "-c", "UD"],
            ["ib_send_bw", *self.PERFTEST, "-c", "XRC"],
        ):
            self.run_pair_on(there, here, *words, at=self.THERE)

    def test_connections_by_rdma_cm(self):
        here, there = self.hosts()
        for address in (self.THERE, self.THERE_IPV6):
            self.run_rping(there, here, address)

    def test_all_members_of_a_group_on_one_host_hear_it(self):
        here, there = self.hosts()
        self.require("mckey")
        receivers = [
            self.start_host_nic(there, f"receiver{i}", ["mckey", "-m", "239.9.9.9", "-b", self.THERE])
            for i in range(2)
        ]
        joined = lambda: self.count_members(there, "239.9.9.9") == len(receivers)
        self.assertTrue(wait_until(joined, harness.START_TIMEOUT), receivers[0].describe())
        sender = self.start_host_nic(here, "sender", ["mckey", "-m", "239.9.9.9", "-s", "-b", self.HERE])
        self.expect_end(sender)
        for receiver in receivers:
            self.expect_end(receiver)

    def count_members(self, host, group):
        """Sockets there that are bound to the group."""
        shown = subprocess.run(
            [*host, "cat", "/proc/net/udp"], check=True, capture_output=True, text=True
        ).stdout
        octets = reversed(group.split("."))
        return shown.count("".join(f"{int(octet):02X}" for octet in octets) + f":{4791:04X}")

    def all_to_all(self, hosts, each, rounds, meanwhile=lambda is_over: None):
        """Programs on all hosts, connected to all others."""
        port, size = free_port(), each * len(hosts)
        ranks = []
        for rank in range(size):
            words = [
                harness.STAGE.program("all_to_all"),
                "--rank",
                rank,
                "--size",
                size,
                "--port",
                port,
                "--host",
                self.HERE,
                "--rounds",
                rounds,
            ]
            ranks.append(self.start_host_nic(hosts[rank % len(hosts)], f"rank {rank}", words))
        is_over = lambda: not any(process.is_running() for process in ranks)
        meanwhile(is_over)
        self.assertTrue(wait_until(is_over, 150))
        for process in ranks:
            self.expect_end(process, 1)
            self.assertIn(f"with {size - 1} others", process.output())

    def test_eight_programs_on_two_hosts(self):
        self.all_to_all(self.hosts(), 4, 300)

    KILLS = 10  # run.py --kills says otherwise

    def test_kills_that_the_others_do_not_notice(self):
        here, there = self.hosts()
        killed = 0

        def kill_and_start_again(is_over):
            nonlocal killed
            while killed < self.KILLS and not is_over():
                port = free_port()
                words = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "1000000", "-p", port]
                server = self.start_host_nic(there, "victim", words)
                self.wait_for_listener(server, port)
                client = self.start_host_nic(here, "its client", [*words, self.THERE])
                time.sleep(0.15)
                for victim in (server, client):
                    victim.kill()
                    self.processes.remove(victim)
                killed += 1

        self.all_to_all((here, there), 4, 1500 * self.KILLS, kill_and_start_again)
        self.assertEqual(killed, self.KILLS, "the programs ended before")

    def test_the_switch_is_killed(self):
        """Programs join the one that comes next, with the numbers that they have."""
        here, there = self.hosts()
        self.require("ibv_rc_pingpong")
        self.require("rping", "ib_send_bw")
        pairs = []
        for _ in range(3):
            port = free_port()
            # With an ACK timeout of a second: three pairs on few cores take their time to find the next
            # switch.
            words = ["ib_send_bw", *self.PERFTEST, "-D", "10", "-u", "18", "-p", port]
            server = self.start_host_nic(there, "server", words)
            self.wait_for_listener(server, port)
            pairs += [server, self.start_host_nic(here, "client", [*words, self.THERE])]
        listener = self.start_host_nic(there, "listener", ["rping", "-s", "-a", self.THERE, "-C", "1"])
        self.listens(there, listener)
        for host in (here, there):
            find = lambda: re.search(
                r"process (\d+), UDP port 4791, [34] of", self.ask(host, "host", "status")
            )
            self.assertTrue(wait_until(find, harness.START_TIMEOUT, pause=0.05))
            os.kill(int(find()[1]), 9)
        self.assertTrue(any(process.is_running() for process in pairs), "they were done before")
        self.run_pair_on(there, here, "ibv_rc_pingpong", "-d", "urnic0", "-g", "1", at=self.THERE)
        for process in pairs:
            self.expect_end(process, 60)
        client = self.start_host_nic(here, "client", ["rping", "-c", "-a", self.THERE, "-C", "1"])
        self.expect_end(client)
        self.expect_end(listener)
