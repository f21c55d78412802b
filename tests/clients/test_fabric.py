# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The switch between programs: who meets on it, who is told what, and what happens when a program dies."""
import json
import os
import pathlib
import signal
import socket
import time

import harness
from harness import ClientTest, wait_until

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-c", "-s", "20000", "-n", "200"]
# Instead of the 200: long enough to be looked at meanwhile.
LONG = ["-n", "5000"]
# Every frame goes through the switch.
SWITCHED = ["--port", "fabric:default,switched"]
# So many programs are on the first switch of a fabric.
FIRST_SWITCH = 24


class FabricTest(ClientTest):
    def setUp(self):
        super().setUp()
        self.require("ibv_rc_pingpong")

    def urnic(self, *words, code=0):
        """What `urnic WORDS` says; it must end with the code."""
        process = self.start_plain("urnic", [harness.STAGE.urnic, *words])
        self.expect_end(process, timeout=20, code=code)
        return process.output()

    def status(self, name="default"):
        return json.loads(self.urnic("fabric", "status", "--json", "--name", name))

    def server(self, name="server", nic=(), more=(), **how):
        """A pingpong that waits for its client, and has its NIC open; with its TCP port."""
        port = harness.free_port()
        process = self.start(name, [*PINGPONG, *more, "-p", str(port)], nic, **how)
        self.wait_for_listener(process, port)
        return process, port

    def client(self, port, nic=(), more=(), **how):
        return self.start("client", [*PINGPONG, *more, "-p", str(port), "127.0.0.1"], nic, **how)

    def switch(self, *options, name="lab"):
        """A switch in the foreground that takes requests."""
        process = self.start_plain("switch", [harness.STAGE.urnic, "fabric", "--name", name, *options])
        if not wait_until(
            lambda: "Ctrl-C" in process.output() or not process.is_running(), harness.START_TIMEOUT
        ):
            self.fail_with("the switch does not start")
        return process


class Fabric(FabricTest):
    def test_programs_do_not_wait_for_one_that_has_a_port_and_does_not_open_it(self):
        self.hold_ports(2)
        server, port = self.server(more=["-n", "100"])
        client = self.client(port, more=["-n", "100"])
        for process in (client, server):
            self.expect_end(process, timeout=20)

    def test_several_pairs_meet_on_it(self):
        servers = [self.server(f"server{i}") for i in range(3)]
        clients = [self.client(port) for _, port in servers]
        for process in [*clients, *(server for server, _ in servers)]:
            self.expect_end(process)

    def test_its_switch_is_started_once_however_many_come_together(self):
        ports = [harness.free_port() for _ in range(8)]
        servers = [self.start(f"server{i}", [*PINGPONG, "-p", str(port)]) for i, port in enumerate(ports)]
        for server, port in zip(servers, ports):
            self.wait_for_listener(server, port)
        ports = self.status()["ports"]
        self.assertEqual(sorted(port["slot"] for port in ports), list(range(8)))
        self.assertTrue(all("front" in port["port"] for port in ports), ports)
        self.assertEqual(len({port["ipv4"] for port in ports}), 8)

    def test_files_that_are_removed_under_it_come_back(self):
        server, port = self.server()
        folder = pathlib.Path(self.runtime) / "urnic/fabric-default"
        files = lambda: {path.name for path in folder.iterdir() if path.is_file()}
        for name in files():
            (folder / name).unlink()
        self.assertTrue(wait_until(lambda: {"slot.0", "network", "switch.lock"} <= files(), 5), files())
        other, _ = self.server("other")
        first, second = self.status()["ports"]
        self.assertEqual([port["process"] for port in (first, second)], [server.pid, other.pid])
        self.assertEqual([port["slot"] for port in (first, second)], [0, 1])
        network = first["ipv4"].rsplit(".", 1)[0]
        self.assertEqual([first["ipv4"], second["ipv4"]], [f"{network}.1", f"{network}.2"])
        self.expect_end(self.client(port))
        self.expect_end(server)
        self.assertTrue(wait_until(lambda: len(self.status()["ports"]) == 1, 5))

    def test_status_tells_who_is_there_and_a_death_is_noticed_at_once(self):
        server, _ = self.server(nic=["--ip", "10.5.0.7/24"])
        wait_until(lambda: self.status()["ports"][0]["macs"], 5)
        (port,) = self.status()["ports"]
        self.assertEqual(port["process"], server.pid)
        self.assertEqual(port["program"], "ibv_rc_pingpong"[:15])
        self.assertEqual(port["ipv4"], "10.5.0.7")
        self.assertEqual(port["macs"], ["02:00:0a:05:00:07"])
        self.assertGreater(port["received_frames"], 0)
        table = self.urnic("fabric", "status")
        for word in (
            "10.5.0.7",
            "02:00:0a:05:00:07",
            f"ibv_rc_pingpong ({server.pid})",
            "1 of 241 ports taken",
        ):
            self.assertIn(word, table)
        server.kill()
        self.assertEqual(self.status()["ports"], [])
        newcomer, _ = self.server("newcomer")
        self.assertEqual(self.status()["ports"][0]["process"], newcomer.pid)

    def test_the_switch_loses_nothing(self):
        server, port = self.server(nic=SWITCHED, more=LONG)
        client = self.client(port, SWITCHED, more=LONG)
        seen = []

        def look():
            ports = self.status()["ports"]
            if len(ports) == 2 and all(port["macs"] for port in ports):
                seen.append([port["dropped_frames"] for port in ports])
            return not client.is_running()

        wait_until(look, 60, pause=0.02)
        self.expect_end(client)
        self.expect_end(server)
        self.assertTrue(seen, "the status never showed both programs")
        # What was flooded to a port before its program was there does count.
        self.assertEqual(seen[0], seen[-1])

    def test_the_switch_ends_when_nobody_needs_it(self):
        server, _ = self.server()
        switch = self.status()["process"]
        server.kill()
        self.assertTrue(
            wait_until(lambda: not os.path.exists(f"/proc/{switch}"), 15), "the switch does not end"
        )
        self.assertIn("no program is on fabric", self.urnic("fabric", "status", code=1))

    def test_programs_outlive_a_switch_that_is_killed(self):
        port = harness.free_port()
        traffic = harness.STAGE.program("traffic")
        sides = [
            self.start(role, [traffic, f"--{role}", port, "--name", role], SWITCHED)
            for role in ("listen", "connect")
        ]
        for side, peer in zip(sides, ("connect", "listen")):
            if not wait_until(lambda: f"talking {peer}\n" in side.output(), harness.START_TIMEOUT):
                self.fail_with(f"{side.name} does not talk")
        os.kill(self.status()["process"], signal.SIGKILL)
        talks = [side.output().count("talking") for side in sides]
        if not wait_until(lambda: all("lost" in side.output() for side in sides), 30):
            self.fail_with("a program does not notice that the switch is gone")
        self.server("newcomer, which starts another switch")
        if not wait_until(lambda: all(s.output().count("talking") > n for s, n in zip(sides, talks)), 30):
            self.fail_with("they do not meet on the new switch")
        for side in sides:
            side.popen.terminate()
            self.expect_end(side, timeout=30)

    def test_stop_ends_it_and_a_stopped_one_can_be_started_anew(self):
        self.server()
        self.urnic("fabric", "stop")
        self.assertIn("no program is on fabric", self.urnic("fabric", "stop", code=1))
        server, port = self.server("server of a new switch")
        client = self.client(port)
        self.expect_end(client)
        self.expect_end(server)

    def test_fabrics_do_not_know_each_other(self):
        here, port_here = self.server("here", ["--port", "fabric:here", "--ip", "10.0.0.1/24"])
        there, port_there = self.server("there", ["--port", "fabric:there", "--ip", "10.0.0.1/24"])
        for server, port, name in ((here, port_here, "here"), (there, port_there, "there")):
            self.expect_end(self.client(port, ["--port", f"fabric:{name}"]))
            self.expect_end(server)

    def test_a_fabric_has_one_switch(self):
        first = self.switch()
        self.assertIn(f"served already by process {first.pid}", self.urnic("fabric", "--name", "lab", code=1))
        first.popen.send_signal(signal.SIGINT)
        self.expect_end(first, timeout=10)

    def test_its_switch_refuses_what_makes_no_sense(self):
        self.switch("--mtu", "1500")
        wrong = [
            "port",
            "port 0",
            "port 0 x",
            "port 0 1501",
            "port 24 1500",
            "port 241 1500",
            "port -1 1500",
            "port 0 1500 1",
        ]
        wrong += [
            "trunk",
            "trunk 0",
            "trunk 8",
            "trunk -1",
            "trunk 1x",
            "trunk 99999999999",
            "shout",
            " status",
        ]
        for request in wrong:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                connection.connect(f"{self.runtime}/urnic/fabric-lab/control.sock")
                connection.send(request.encode())
                self.assertRegex(connection.recv(1000).decode(), r"^error \S", request)
        self.assertEqual(self.status("lab")["ports"], [])

    def test_programs_take_the_mtu_of_the_fabric_and_more_is_refused(self):
        self.require("ibv_devinfo")
        self.switch("--mtu", "1500")
        self.assertIn(
            "carries no more than 1500",
            self.urnic("run", "--port", "fabric:lab", "--mtu", "1501", "--", "true", code=2),
        )
        process = self.start("ibv_devinfo", ["ibv_devinfo", "-v"], ["--port", "fabric:lab"])
        self.expect_end(process)
        self.assertRegex(process.output(), r"active_mtu:\s+1024")

    def test_two_fabrics_are_joined_by_a_wire(self):
        wire = f"vhost:{self.runtime}/trunk.sock"
        self.switch("--uplink", f"{wire},front", name="left")
        self.switch("--uplink", f"{wire},back", name="right")
        server, port = self.server(nic=["--port", "fabric:left", "--ip", "10.9.0.1/24"])
        self.expect_end(self.client(port, ["--port", "fabric:right", "--ip", "10.9.0.2/24"]))
        self.expect_end(server)
        self.assertGreater(self.status("left")["uplink"]["received_frames"], 100)

    def test_an_uplink_leads_to_a_network(self):
        """A fabric and a NIC at the two ends of a virtual cable, in a network namespace of the test's own:
        needs root."""
        inside = self.network_namespace(mtu=1500)
        how = {"privileged": True, "environment": self.environment_of_root()}
        switch = self.start_plain(
            "switch",
            [*inside, harness.STAGE.urnic, "fabric", "--name", "up", "--uplink", "af_packet:left"],
            **how,
        )
        if not wait_until(
            lambda: "Ctrl-C" in switch.output() or not switch.is_running(), harness.START_TIMEOUT
        ):
            self.fail_with("the switch does not start")
        self.assertIn("packets of up to 1500 bytes", switch.output())
        nics = (
            ["--port", "fabric:up", "--ip", "10.79.0.1/24"],
            ["--port", "af_packet:right", "--ip", "10.79.0.2/24"],
        )
        self.run_pair(*PINGPONG, nics=nics, inside=inside, **how)
        self.run_pair(*PINGPONG, nics=nics[::-1], inside=inside, **how)


class LargeFabric(FabricTest):
    """More programs than a switch has ports for."""

    def talk(self):
        """Two programs, on the next two ports, that send to each other through the switch for as long as they
        are let."""
        port = harness.free_port()
        traffic = harness.STAGE.program("traffic")
        sides = [self.start("listen", [traffic, "--listen", port, "--name", "listen"], SWITCHED)]
        self.wait_for_listener(sides[0], port)
        sides.append(self.start("connect", [traffic, "--connect", port, "--name", "connect"], SWITCHED))
        for side, peer in zip(sides, ("connect", "listen")):
            if not wait_until(lambda: f"talking {peer}\n" in side.output(), harness.START_TIMEOUT):
                self.fail_with(f"{side.name} does not talk")
        return sides

    def trunk(self):
        (further,) = self.status()["switches"]
        return further["trunk"]

    def is_gone(self, process):
        return wait_until(lambda: not os.path.exists(f"/proc/{process}"), 15)

    def test_programs_meet_on_a_further_switch(self):
        self.hold_ports(FIRST_SWITCH)
        server, port = self.server()
        self.expect_end(self.client(port))
        self.expect_end(server)

    def test_programs_meet_across_switches(self):
        self.hold_ports(FIRST_SWITCH - 1)
        sides = self.talk()
        status = self.status()
        self.assertEqual([port["slot"] for port in status["ports"]], list(range(FIRST_SWITCH + 1)))
        self.assertEqual(len({port["ipv4"] for port in status["ports"]}), FIRST_SWITCH + 1)
        self.assertEqual([port["process"] for port in status["ports"]][-2:], [side.pid for side in sides])
        (further,) = status["switches"]
        self.assertEqual(further["switch"], 1)
        self.assertGreater(further["trunk"]["received_frames"], 0)
        self.assertRegex(self.urnic("fabric", "status"), rf"switch 1 +urnic_switch \({further['process']}\)")
        # What came before the trunk was up does count as dropped, what comes now must not.
        self.assertTrue(
            wait_until(lambda: self.trunk()["received_frames"] > 2 * further["trunk"]["received_frames"], 20)
        )
        self.assertEqual(self.trunk()["dropped_frames"], further["trunk"]["dropped_frames"])
        sides[1].kill()
        self.assertTrue(self.is_gone(further["process"]), "a further switch does not end")
        self.assertEqual(self.status()["process"], status["process"], "the first one is needed still")

    def test_a_further_switch_starts_the_first_one_again(self):
        self.hold_ports(FIRST_SWITCH - 1)
        sides = self.talk()
        talks = [side.output().count("talking") for side in sides]
        os.kill(self.status()["process"], signal.SIGKILL)
        if not wait_until(lambda: all(s.output().count("talking") > n for s, n in zip(sides, talks)), 40):
            self.fail_with("they do not meet on the new switch", *sides)

    def test_stop_ends_all_switches(self):
        self.hold_ports(FIRST_SWITCH - 1)
        self.talk()
        status = self.status()
        self.urnic("fabric", "stop")
        for switch in (status, *status["switches"]):
            self.assertTrue(self.is_gone(switch["process"]))
        time.sleep(1)  # a further switch would have looked for the first one twice
        self.assertIn("no program is on fabric", self.urnic("fabric", "status", code=1))

    def test_further_switches_carry_what_the_first_one_does(self):
        nic = ["--port", "fabric:lab"]
        self.switch("--mtu", "1500")
        for i in range(FIRST_SWITCH):
            self.start(f"holder{i}", ["sleep", "1000"], nic)
        self.assertTrue(wait_until(lambda: len(self.status("lab")["ports"]) == FIRST_SWITCH, 30, pause=0.1))
        server, port = self.server(nic=nic)
        self.assertEqual(len(self.status("lab")["switches"]), 1)
        self.expect_end(self.client(port, nic))
        self.expect_end(server)
        self.assertEqual(
            self.urnic("run", "--port", "fabric:lab", "--mtu", "1501", "--", "true", code=2).count("1500"), 1
        )

    def test_every_port_can_be_taken_and_the_next_is_told_so(self):
        holders = self.hold_ports(241)
        process = self.start("one too many", ["true"])
        self.expect_end(process, timeout=20, code=1)
        self.assertIn("all 241 ports of fabric default are taken", process.output())
        holders[12].kill()
        started = time.monotonic()
        self.expect_end(self.start("the next", ["true"]), timeout=20)
        self.assertLess(time.monotonic() - started, 10)
