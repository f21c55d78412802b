"""Other wires than the default one, and what a doctor says of the way to another host."""
import json

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
        client = self.start("other client", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(port), "127.0.0.1"])
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


class WayToAPeer(HostsTest):
    """What a doctor says of it."""

    def doctor(self, host, *words):
        return self.start_on(host, " ".join(words), [harness.STAGE.urnic, "doctor", *words])

    def answer(self, host):
        process = self.doctor(host, "--answer")
        self.assertTrue(wait_until(lambda: "answering" in process.output(), harness.START_TIMEOUT), process.describe())
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
            self.assertEqual((way["verdict"], way["address"], way["bytes_there"], way["bytes_back"]), ("ok", peer, 1500, 1500), way)

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
        held = [finding for finding in json.loads(process.output())["findings"] if finding["check"] == "UDP port 4791"]
        self.assertEqual(held[0]["verdict"], "note")
