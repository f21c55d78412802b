# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""--port host on networks as they are: several users, addresses of all kinds, interfaces of all sizes."""
import json
import os
import re
import shutil
import subprocess
import time

import harness
from harness import free_port, wait_until
from hosts import HostsTest

SERVER_FIRST = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1"]
UIDS = range(61001, 61006)


class NetworksTest(HostsTest):
    def folder_of(self, uid):
        """A runtime folder of that user's."""
        folder = harness.STAGE.folder()
        os.chown(folder, uid, uid)
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def start_as(self, uid, host, name, command, folder, *options):
        """A program of that user's below `urnic run`, which has the folder."""
        words = [
            "setpriv",
            f"--reuid={uid}",
            f"--regid={uid}",
            "--clear-groups",
            harness.STAGE.urnic,
            "run",
            *options,
            "--",
            *command,
        ]
        environment = {name: str(folder) for name in ("HOME", "TMPDIR", "XDG_RUNTIME_DIR")}
        return self.start_plain(name, [*host, *words], {**environment, "URNIC_PORT": ""}, privileged=True)

    def start_server_as(self, uid, host, name, folder, *options):
        port = free_port()
        server = self.start_as(uid, host, name, [*SERVER_FIRST, "-p", str(port)], folder, *options)
        self.wait_for_listener(server, port)
        return server, port

    def run_client_as(self, uid, host, name, folder, server, port, *options):
        client = self.start_as(
            uid, host, name, [*SERVER_FIRST, "-p", str(port), "127.0.0.1"], folder, *options
        )
        self.expect_end(client)
        self.expect_end(server)
        return server.output() + client.output()

    def says_of_its_nic(self, host):
        """What `urnic run -v` says."""
        asked = self.start_nic_on(host, "urnic", ["true"], ["--port", "host", "-v"])
        self.expect_end(asked)
        return asked.output()

    def active_and_max_mtu(self, host):
        asked = self.start_nic_on(host, "ibv_devinfo", ["ibv_devinfo"], ["--port", "host"])
        self.expect_end(asked)
        return tuple(int(re.search(rf"{name}_mtu:\s+(\d+)", asked.output())[1]) for name in ("active", "max"))

    # --- Several users ---

    def test_programs_of_a_second_user_meet_and_are_told_whom_they_do_not_reach(self):
        self.require("ibv_rc_pingpong", "setpriv")
        host = self.namespace(
            "link add net0 type veth peer name peer0",
            "addr add 10.79.3.1/24 dev net0",
            "link set net0 up",
            "link set peer0 up",
        )
        first, *others = ((uid, self.folder_of(uid)) for uid in UIDS)
        kept, kept_port = self.start_server_as(first[0], host, "first user's server", first[1])
        self.assertNotIn("no other host", kept.output())
        servers = [
            (uid, folder, *self.start_server_as(uid, host, f"server {uid}", folder)) for uid, folder in others
        ]
        for uid, folder, server, port in servers:
            said = self.run_client_as(uid, host, f"client {uid}", folder, server, port)
            self.assertIn("reach each other, and no other host", said)
        self.assertTrue(kept.is_running(), "the first user's NIC is as it was")
        self.run_client_as(first[0], host, "first user's client", first[1], kept, kept_port)

    def test_a_second_user_who_asks_for_the_host_port_is_told_why_not(self):
        self.require("ibv_rc_pingpong", "setpriv")
        host = self.namespace()
        one, two = list(UIDS)[:2]
        self.start_server_as(one, host, "first user's server", self.folder_of(one))
        second = self.start_as(
            two,
            host,
            "second",
            [*SERVER_FIRST, "-p", str(free_port())],
            self.folder_of(two),
            "--port",
            "host",
        )
        self.assertNotEqual(second.wait(30), 0)
        self.assertIn("RoCEv2 has this one port", second.output())

    def test_one_user_has_one_nic_with_two_runtime_folders(self):
        self.require("ibv_rc_pingpong", "setpriv")
        host = self.namespace()
        uid = UIDS[0]
        port_host = ("--port", "host")
        server, port = self.start_server_as(uid, host, "server", self.folder_of(uid), *port_host)
        self.run_client_as(uid, host, "client", self.folder_of(uid), server, port, *port_host)

    # --- Addresses ---

    def test_a_start_waits_for_no_address_that_cannot_become_ready(self):
        host = self.namespace()
        script = (
            "echo 1 >/proc/sys/net/ipv6/conf/default/accept_dad; for i in 1 2 3; do ip link add dark$i type veth peer name end$i; "
            "ip link set dark$i up; ip addr add fd0$i::5/64 dev dark$i; done; ip addr show dark1"
        )
        shown = subprocess.run([*host, "sh", "-c", script], check=True, capture_output=True, text=True).stdout
        if "tentative" not in shown:
            self.skipTest("this kernel asks whether an address is free without a carrier, too")
        self.start_nic_on(host, "warm", ["true"], ["--port", "host"]).wait(30)
        began = time.monotonic()
        self.expect_end(self.start_nic_on(host, "true", ["true"], ["--port", "host"]))
        self.assertLess(time.monotonic() - began, 2, "2.5 s for each interface before")
        self.assertNotIn("fd0", self.says_of_its_nic(host))

    def test_a_host_with_ipv6_alone_has_the_address_that_its_route_leads_from(self):
        host = self.namespace(
            "link add docker0 type bridge",
            "addr add 172.17.0.1/16 dev docker0",
            "link set docker0 up",
            "link add net0 type veth peer name peer0",
            "addr add 2001:db8:5::2/64 dev net0 nodad",
            "link set net0 up",
            "link set peer0 up",
            "route add default via 2001:db8:5::1 dev net0",
        )
        self.assertIn("urnic0: 2001:db8:5::2/64", self.says_of_its_nic(host))

    # --- Sizes ---

    def jumbo_host(self, mtu):
        return self.namespace(
            f"link add net0 mtu {mtu} type veth peer name peer0 mtu {mtu}",
            "addr add 10.79.4.1/24 dev net0",
            "link set net0 up",
            "link set peer0 up",
            "route add default via 10.79.4.2 dev net0",
            "link add small mtu 1280 type veth peer name smaller mtu 1280",
            "addr add 10.79.5.1/24 dev small",
            "link set small up",
            "link set smaller up",
        )

    def test_an_idle_small_interface_lowers_no_path_mtu(self):
        self.require("ibv_devinfo")
        self.assertEqual(self.active_and_max_mtu(self.jumbo_host(9000)), (4096, 4096))

    def test_programs_of_one_host_may_have_the_largest_path_mtu_whatever_its_interfaces_carry(self):
        self.require("ibv_rc_pingpong")
        host = self.jumbo_host(1500)
        self.assertEqual(self.active_and_max_mtu(host), (1024, 4096))
        port = free_port()
        words = [*SERVER_FIRST, "-m", "4096", "-p", str(port)]
        server = self.start_nic_on(host, "server", words, ["--port", "host"])
        self.wait_for_listener(server, port)
        client = self.start_nic_on(host, "client", [*words, "127.0.0.1"], ["--port", "host"])
        self.expect_end(client)
        self.expect_end(server)

    def test_a_path_mtu_that_the_way_cannot_carry_is_refused_with_the_reason(self):
        self.require("ibv_rc_pingpong")
        here, there = self.hosts(mtu_here=1500, mtu_there=1500)
        port = free_port()
        words = [*SERVER_FIRST, "-m", "4096", "-p", str(port)]
        server = self.start_nic_on(there, "server", words, ["--port", "host"])
        self.wait_for_listener(server, port)
        client = self.start_nic_on(here, "client", [*words, self.THERE], ["--port", "host"])
        self.assertNotEqual(client.wait(30), 0)
        reason = f"the way to {self.THERE} carries IP packets of 1500 bytes at most, and path_mtu 1024 fits"
        said = lambda: reason in client.output() or f"the way to {self.HERE} carries" in server.output()
        self.assertTrue(wait_until(said, 10), client.output() + server.output())

    # --- What comes and goes ---

    def test_a_program_follows_addresses_and_the_link(self):
        self.require("ibv_asyncwatch")
        host, other = self.hosts()
        watch = self.start_nic_on(
            host, "ibv_asyncwatch", ["ibv_asyncwatch", "-d", "urnic0"], ["--port", "host"]
        )
        hears = lambda event, count=1: wait_until(lambda: watch.output().count(event) >= count, 10)
        self.assertTrue(hears("async_fd") or hears("async event"), watch.describe())
        self.on(host, "addr add 10.79.8.1/24 dev cable")
        self.assertTrue(hears("GID_CHANGE"), watch.describe())
        self.on(host, "addr del 10.79.8.1/24 dev cable")
        self.assertTrue(hears("GID_CHANGE", 2), watch.describe())
        self.on(host, "addr add 10.79.8.1/24 dev cable")
        self.assertTrue(hears("GID_CHANGE", 3), watch.describe())
        self.on(other, "link set other down")
        self.assertTrue(hears("PORT_ERR"), watch.describe())
        self.on(other, "link set other up")
        self.assertTrue(hears("PORT_ACTIVE"), watch.describe())

    def test_ids_of_rdma_cm_hear_that_their_interface_has_another_mac(self):
        self.require("rping")
        here, there = self.hosts()
        server = self.start_nic_on(
            there, "server", ["rping", "-s", "-a", self.THERE, "-C", "1"], ["--port", "host"]
        )
        self.wait_for_rdma_cm(server)
        self.on(there, "link set other address 02:00:00:00:47:11")
        self.assertTrue(
            wait_until(lambda: "RDMA_CM_EVENT_ADDR_CHANGE" in server.output(), 10), server.describe()
        )

    # --- Translated addresses ---

    def translate(self, host, address):
        """From now on, what `host` sends to the RoCE port comes from that address of its own, as behind a
        NAT."""
        self.require("nft")
        self.on(host, f"addr add {address}/24 dev cable")
        rules = f"""table ip urnic_test {{
          chain out {{ type nat hook postrouting priority srcnat; udp dport 4791 snat to {address}; }}
        }}"""
        made = subprocess.run([*host, "nft", "-f", "-"], input=rules, text=True, capture_output=True)
        if made.returncode != 0:
            self.skipTest(f"no NAT can be made here: {made.stderr.strip()}")

    def test_a_doctor_names_a_translator(self):
        here, there = self.hosts()
        self.translate(here, "10.79.0.99")
        answering = self.start_on(there, "answering", [harness.STAGE.urnic, "doctor", "--answer"])
        self.assertTrue(
            wait_until(lambda: "answering" in answering.output(), harness.START_TIMEOUT), answering.describe()
        )
        doctor = self.start_on(
            here, "doctor", [harness.STAGE.urnic, "doctor", "--json", "--peer", self.THERE]
        )
        self.expect_end(doctor, timeout=60, code=1)
        way = json.loads(doctor.output())["findings"][-1]
        self.assertEqual(way["verdict"], "problem")
        self.assertIn("translates addresses (NAT)", way["found"])
        self.assertTrue(way["sent_from"].startswith(f"{self.HERE} port "), way)
        self.assertTrue(way["seen_as"].startswith("10.79.0.99 port "), way)

    def test_a_server_is_told_that_its_client_is_behind_a_translator(self):
        self.require("rping")
        here, there = self.hosts()
        self.translate(here, "10.79.0.99")
        words = ["rping", "-a", self.THERE, "-C", "1"]
        server = self.start_nic_on(there, "server", [*words, "-s"], ["--port", "host", "--explain"])
        self.wait_for_rdma_cm(server)
        self.start_nic_on(here, "client", [*words, "-c"], ["--port", "host"])
        told = f"a connection request of {self.HERE} comes from 10.79.0.99, with a wrong ICRC, and is dropped"
        self.assertTrue(wait_until(lambda: told in server.output(), 20), server.describe())
        self.assertIn("NAT", server.output())
