# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs with several devices: on a fabric, and one for each interface of the host."""
import pathlib
import re
import time

import harness
import ucx
from harness import free_port, wait_until
from hosts import HostsTest
from listeners import is_listening

TWO = ["--port", "fabric", "--devices", "2"]
EACH = ["--port", "host,each"]


class DevicesTest(HostsTest):
    def urnic(self, *words, code=0):
        """What `urnic WORDS` says; it must end with the code."""
        process = self.start_plain("urnic", [harness.STAGE.urnic, *map(str, words)])
        self.expect_end(process, timeout=20, code=code)
        return process.output()

    def devices(self):
        """What `urnic stat` knows of the devices of all programs."""
        return [each for each in self.stat() if "device" in each]

    def address_of(self, program, device):
        """The IPv4 address of that device of the program, which has its ports open."""

        def found():
            return [
                address
                for each in self.devices()
                if each["pid"] == program.pid and each["device"] == device and each["port_is_open"]
                for address in each["addresses"]
                if "." in address
            ]

        if not wait_until(found, harness.START_TIMEOUT, pause=0.1):
            self.fail_with(f"{program.name} has no {device}")
        return found()[0]

    def wait_for_text(self, process, text, timeout=60):
        if not wait_until(lambda: text in process.output() or not process.is_running(), timeout):
            self.fail_with(f"{process.name} does not say '{text}'")
        if text not in process.output():
            self.fail_with(f"{process.name} ended without saying '{text}'")

    def start_rails(self, nic, seconds, inside=()):
        words = [harness.STAGE.program("rails"), "--port", str(free_port()), "--seconds", str(seconds)]
        receiver = self.start("receiver", [*words, "--rank", "1"], nic, inside=inside)
        sender = self.start("sender", [*words, "--rank", "0"], nic, inside=inside)
        for process in (sender, receiver):
            self.wait_for_text(process, "ready")
        return sender, receiver

    def rounds_of(self, process):
        return [int(count) for count in re.search("^done (.*)$", process.output(), re.M)[1].split()]


class OnFabric(DevicesTest):
    def test_libibverbs_lists_all_with_guids_and_files_of_their_own(self):
        self.require("ibv_devices")
        script = "ibv_devices; ls /sys/class/infiniband /sys/class/infiniband_verbs"
        listed = self.start("list", ["sh", "-c", script], ["--port", "fabric", "--devices", "3"])
        self.expect_end(listed)
        guids = dict(re.findall(r"^\s+(urnic\d)\s+([0-9a-f]{16})$", listed.output(), re.M))
        self.assertEqual(list(guids), ["urnic0", "urnic1", "urnic2"])
        self.assertEqual(len(set(guids.values())), 3)
        for name in ("urnic2", "uverbs2"):
            self.assertIn(f"\n{name}\n", listed.output())

    def test_two_programs_use_a_device_each_at_once(self):
        self.require("ib_write_bw")
        pairs = []
        for device in ("urnic0", "urnic1"):
            port = free_port()
            words = ["ib_write_bw", "-d", device, "-x", "1", "-n", "300", "-p", str(port)]
            server = self.start(f"server of {device}", words, TWO)
            self.wait_for_listener(server, port)
            pairs += [server, self.start(f"client of {device}", [*words, "127.0.0.1"], TWO)]
        for process in pairs:
            self.expect_end(process)

    def test_rdma_cm_takes_the_device_that_has_the_address(self):
        self.require("ib_write_bw")
        for device in ("urnic0", "urnic1"):
            port = free_port()
            words = ["ib_write_bw", "-R", "-d", device, "-p", str(port), "-n", "100"]
            server = self.start("server", words, TWO)
            address = self.address_of(server, device)
            client = self.start("client", [*words, address], TWO)
            self.expect_end(client)
            self.expect_end(server)
            last_octet = int(address.rsplit(".", 1)[1])
            self.assertRegex(server.output(), rf"local address: .*\n GID: [\d:]*:{last_octet:02d}\n")

    def test_one_listener_serves_all_devices(self):
        self.require("rping")
        port = free_port()
        server = self.start("server", ["rping", "-s", "-P", "-p", str(port)], TWO)
        addresses = [self.address_of(server, device) for device in ("urnic0", "urnic1")]
        self.assertNotEqual(*addresses)
        for address in addresses:
            client = self.start(
                "client", ["rping", "-c", "-a", address, "-p", str(port), "-C", "5", "-v"], TWO
            )
            self.expect_end(client)
            self.assertIn("ping data: rdma-ping-4", client.output())

    def test_the_other_rail_goes_on_when_a_link_goes_down(self):
        sender, receiver = self.start_rails(TWO, seconds=6)
        address = self.address_of(receiver, "urnic1")
        time.sleep(0.5)
        self.urnic("fabric", "link", address, "down")
        self.wait_for_text(sender, "failed 1 transport retry counter exceeded")
        self.wait_for_text(receiver, "event 1 port error")
        self.assertIn("(link down)", self.urnic("stat"))
        self.urnic("fabric", "link", address, "up")
        self.wait_for_text(receiver, "event 1 port active")
        self.assertNotIn("(link down)", self.urnic("stat"))
        for process in (sender, receiver):
            self.expect_end(process)
            self.assertNotIn("failed 0", process.output())
        rounds = self.rounds_of(receiver)
        self.assertGreater(rounds[0], rounds[1])
        self.assertGreater(rounds[1], 0)

    def test_a_link_that_comes_back_in_time_is_not_noticed(self):
        self.require("ibv_rc_pingpong")
        port = free_port()
        words = [
            "ibv_rc_pingpong",
            "-d",
            "urnic1",
            "-g",
            "1",
            "-n",
            "20000",
            "-s",
            "20000",
            "-c",
            "-p",
            str(port),
        ]
        server = self.start("server", words, TWO)
        self.wait_for_listener(server, port)
        client = self.start("client", [*words, "127.0.0.1"], TWO)
        address = self.address_of(client, "urnic1")
        self.urnic("fabric", "link", address, "down")
        self.urnic("fabric", "link", address, "up")
        for process in (server, client):
            self.expect_end(process)

    def test_each_device_has_captures_and_faults_of_its_own(self):
        self.require("ibv_rc_pingpong", "tshark")
        port = free_port()
        capture = str(pathlib.Path(self.runtime) / "frames.pcap")
        words = ["ibv_rc_pingpong", "-d", "urnic1", "-g", "1", "-n", "100", "-p", str(port)]
        server = self.start("server", words, [*TWO, "--pcap", capture])
        self.wait_for_listener(server, port)
        client = self.start(
            "client", [*words, "127.0.0.1"], TWO, environment={"URNIC_FAULT_1": "drop:kind=request:psn=7"}
        )
        for process in (client, server):
            self.expect_end(process)
        self.assertIn("hit 1 of", client.output())
        used, unused = pathlib.Path(capture + ".urnic1"), pathlib.Path(capture)
        self.assertGreater(used.stat().st_size, 10000)
        self.assertLess(unused.stat().st_size, 2000)

    def test_ucx_sends_over_both_rails(self):
        self.require("ucx_perftest")
        port = free_port()
        counters = [f"/sys/class/infiniband/urnic{i}/ports/1/counters/port_xmit_data" for i in range(2)]
        measure = f"{' '.join(ucx.perftest())} -t tag_bw -s 1048576 -n 200 -w 20 -p {port}"
        settings = {
            "UCX_TLS": "rc_v,ud_v,self",
            "UCX_NET_DEVICES": "urnic0:1,urnic1:1",
            "UCX_MAX_RNDV_RAILS": "2",
        }

        def start(name, words):
            script = f"{words} && cat {' '.join(counters)}"
            return self.start(name, ["sh", "-c", script], TWO, environment=settings)

        server = start("server", measure)
        # It is a child of the shell.
        if not wait_until(lambda: is_listening(port), harness.START_TIMEOUT):
            self.fail_with("the server does not listen")
        client = start("client", f"{measure} 127.0.0.1")
        for process in (client, server):
            self.expect_end(process)
        # A WRITE or a READ carries the data: one of the two sends it, by both of its devices.
        sent = [[int(count) for count in each.output().split()[-2:]] for each in (client, server)]
        quarter = 200 * 1048576 // 4 // 4  # of all the bytes, in the counter's unit of 4 bytes
        self.assertTrue(any(min(of_devices) > quarter for of_devices in sent), sent)

    def test_what_cannot_be_is_said(self):
        def refusal(*options):
            process = self.start("refused", ["true"], options)
            self.expect_end(process, code=2)
            return process.output()

        self.assertIn("not a number from 1 to 32", refusal("--port", "fabric", "--devices", "33"))
        self.assertIn("not a number from 1 to 32", refusal("--port", "fabric", "--devices", "0"))
        self.assertIn("use --port host,each", refusal("--port", "udp", "--devices", "2"))
        self.assertIn("use --port host,each", refusal("--port", "host", "--devices", "2"))
        said = self.urnic("fabric", "link", "10.1.2.3", "down", code=1)
        self.assertIn("has a device open with the address 10.1.2.3", said)
        self.assertIn("is no IPv4 or IPv6 address", self.urnic("fabric", "link", "urnic1", "down", code=2))


class OnEachInterface(DevicesTest):
    """Two interfaces, left and right, of one host."""

    def host(self):
        commands = []
        for number, name in enumerate(("left", "right"), start=5):
            commands += [
                f"link add {name} mtu 1500 type veth peer name {name}-end mtu 1500",
                f"link set {name} up",
                f"link set {name}-end up",
                f"addr add 10.{number}.0.1/24 dev {name}",
            ]
        return self.namespace(*commands)

    def start_here(self, name, command, nic=EACH):
        return self.start_nic_on(self.inside, name, command, nic)

    def setUp(self):
        super().setUp()
        self.inside = self.host()

    def test_there_is_a_device_for_each(self):
        self.require("ibv_devinfo")
        listed = self.start_here(
            "list", ["sh", "-c", "ibv_devinfo -v; ls /sys/class/infiniband/*/device/net"]
        )
        self.expect_end(listed)
        for text in ("urnic0", "urnic1", "::ffff:10.5.0.1", "::ffff:10.6.0.1", "left", "right"):
            self.assertIn(text, listed.output())
        self.assertNotIn("urnic2", listed.output())

    def test_one_listener_serves_the_addresses_of_both(self):
        self.require("rping")
        port = str(free_port())
        server = self.start_here("server", ["rping", "-s", "-P", "-p", port])
        for device, address in (("urnic0", "10.5.0.1"), ("urnic1", "10.6.0.1")):
            self.assertEqual(self.address_of(server, device), address)
            client = self.start_here("client", ["rping", "-c", "-a", address, "-p", port, "-C", "5", "-v"])
            self.expect_end(client)
            self.assertIn("ping data: rdma-ping-4", client.output())

    def test_two_programs_listen_at_one_port_of_different_interfaces(self):
        self.require("rping")
        port = str(free_port())
        servers = [
            self.start_here(f"server at {address}", ["rping", "-s", "-a", address, "-p", port])
            for address in ("10.5.0.1", "10.6.0.1")
        ]
        for server, device in zip(servers, ("urnic0", "urnic1")):
            self.address_of(server, device)
        for address in ("10.6.0.1", "10.5.0.1"):
            client = self.start_here("client", ["rping", "-c", "-a", address, "-p", port, "-C", "5"])
            self.expect_end(client)
        for server in servers:
            if server.wait(20) is None:
                self.fail_with("a server had no client", server)

    def test_the_other_rail_goes_on_when_an_interface_goes_down(self):
        words = ["--port", str(free_port()), "--seconds", "6"]
        program = harness.STAGE.program("rails")
        receiver = self.start_here("receiver", [program, *words, "--rank", "1"])
        sender = self.start_here("sender", [program, *words, "--rank", "0"])
        for process in (sender, receiver):
            self.wait_for_text(process, "ready")
        time.sleep(0.5)
        self.on(self.inside, "link set right down")
        for process in (sender, receiver):
            self.wait_for_text(process, "event 1 port error")
        self.wait_for_text(sender, "failed 1 transport retry counter exceeded")
        self.on(self.inside, "link set right up")
        for process in (sender, receiver):
            self.wait_for_text(process, "event 1 port active")
            self.expect_end(process)
            self.assertNotIn("failed 0", process.output())
