# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs that connect by rdma_cm, over the distribution's own librdmacm, where more is to be seen than
that server and client end well: lines/cm_table.py has the rest."""
import filecmp
import glob
import os
import pathlib
import re

import harness
from cm_pair import CLIENT, NICS, SERVER, CmPairTest
from harness import wait_until


class Groups(CmPairTest):
    def test_mckey(self):
        """Both are members. What is sent before the receiver has joined would be lost; it says so, line by
        line by stdbuf."""
        self.require("mckey", "stdbuf")
        words = ["mckey", "-m", "239.1.1.1", "-C", "100"]
        receiver = self.start("receiver", ["stdbuf", "-oL", *words, "-b", SERVER], ["--ip", f"{SERVER}/24"])
        if not wait_until(lambda: "joined dgid" in receiver.output(), harness.START_TIMEOUT, 0.05):
            self.fail_with("the receiver does not join")
        sender = self.start("sender", [*words, "-s", "-b", CLIENT], ["--ip", f"{CLIENT}/24"])
        self.expect_end(sender, 30)
        self.expect_end(receiver, 30)


class Addresses(CmPairTest):
    def test_an_ipv4_address_in_the_form_of_ipv6(self):
        """As getaddrinfo() gives it on a host without IPv4; the NICs have addresses of both kinds. Either end
        may write it so."""
        for server, client in (
            (SERVER, f"::ffff:{SERVER}"),
            (f"::ffff:{SERVER}", SERVER),
            ("::", f"::ffff:{SERVER}"),
        ):
            self.run_cm_pair(
                ["rping", "-s", "-a", server, "-C", 5, "-V"], ["rping", "-c", "-a", client, "-C", 5, "-V"]
            )


class Failures(CmPairTest):
    def client_says(self, *words, timeout=60):
        """What a client says that must fail."""
        self.require(words[0])
        client = self.start("client", [str(word) for word in words], ["--ip", f"{CLIENT}/24"])
        if client.wait(timeout) in (None, 0):
            self.fail_with("an end with an error expected")
        return client.output()

    def start_rping_server(self, *options):
        self.require("rping")
        server = self.start(
            "server", ["rping", "-s", "-P", "-a", SERVER, "-S", "100", *options], ["--ip", f"{SERVER}/24"]
        )
        self.wait_for_cm_listener(server)
        return server

    def test_a_port_without_listener_rejects(self):
        self.start_rping_server()
        said = self.client_says("rping", "-c", "-a", SERVER, "-p", 7175, "-C", 1)
        self.assertIn("RDMA_CM_EVENT_REJECTED", said)
        self.assertRegex(said, r"error 8\b")

    def test_an_address_that_nobody_has_is_no_peer(self):
        said = self.client_says("rping", "-c", "-a", "10.99.0.77", "-C", 1)
        self.assertIn("RDMA_CM_EVENT_ADDR_ERROR", said)

    def test_an_address_of_another_nic_cannot_be_bound(self):
        self.assertIn(
            "Cannot assign requested address", self.client_says("rping", "-s", "-a", "10.99.0.77", "-C", 1)
        )

    def test_a_server_serves_eight_clients_at_once_and_survives_the_death_of_some(self):
        server = self.start_rping_server()
        words = ["rping", "-c", "-a", SERVER, "-V", "-S", "100", "-C"]
        nic = lambda i: ["--ip", f"10.99.0.{10 + i}/24"]
        clients = []
        for i in range(8):
            # rping's server mixes up two that come at the same moment.
            client = self.start(f"client{i}", [*words, "1000000" if i < 2 else "2000"], nic(i))
            clients.append(client)
            is_served = lambda: self.connections(server) == i + 1 or not client.is_running()
            if not wait_until(is_served, harness.START_TIMEOUT, 0.02):
                self.fail_with("the server does not take another client")
        for client in clients[2:]:
            self.expect_end(client, 60)
        for client in clients[:2]:
            client.kill()
        again = self.start("again", [*words, "50"], nic(20))
        self.expect_end(again, 60)
        self.assertTrue(server.is_running())


class Many(CmPairTest):
    def test_two_hundred_connections_at_once_leave_nothing(self):
        """A second client's two hundred leave nothing either. cmtime's server serves without end."""
        self.require("cmtime")
        if harness.cmtime_meets_over_tcp():
            self.skipTest("this cmtime's server serves one client")
        server = self.start("server", ["cmtime", "-b", SERVER, "-c", "200"], NICS[0])
        self.wait_for_cm_listener(server)
        for name in ("first", "second"):
            client = self.start(name, ["cmtime", "-s", SERVER, "-b", CLIENT, "-c", "200"], NICS[1])
            self.expect_end(client, 60)
            self.assertRegex(client.output(), r"(?m)^connect +:")
            self.expect_listener_only(server)

    def test_two_hundred_connections_at_once_twice(self):
        self.require("cmtime")
        if not harness.cmtime_meets_over_tcp():
            self.skipTest("this cmtime's server serves without end")
        if "controller_address" in harness.usage_of_cmtime():  # rdma-core 65
            self.skipTest("this cmtime meets its peers by a controller, which has not been tried")
        host = self.own_host()  # has the addresses for TCP

        def start(name, nic, *options):
            words = [
                harness.STAGE.urnic,
                "run",
                *harness.nic_options(nic),
                "--",
                "cmtime",
                "-c",
                "200",
                *options,
            ]
            return self.start_plain(name, [*host, *harness.STAGE.drop_privilege(words)], privileged=True)

        server = start("server", NICS[0], "-b", SERVER)
        self.wait_for_cm_listener(server)
        client = start("client", NICS[1], "-s", SERVER, "-b", CLIENT)
        for process in (client, server):
            self.expect_end(process, 60)
            self.assertRegex(process.output(), r"(?m)^qp_conn +200$")
            self.assertRegex(process.output(), r"(?m)^cm_conn +200$")

    def test_thousands_of_connections_in_a_row_leave_nothing(self):
        words = [harness.STAGE.program("connection_row"), "rdma"]
        server = self.start("server", [*words, "server", SERVER, 7000], NICS[0])
        self.wait_for_cm_listener(server)
        for number in range(10):
            before = own_kilobytes(server)
            client = self.start(f"client {number}", [*words, "client", SERVER, 7000, 1000], NICS[1])
            self.expect_end(client, 120)
            self.expect_listener_only(server)
        # The first thousands have made what stays: what is remembered of connections for a while, and room
        # for it. A connection that left a hundred bytes would be seen.
        self.assertLess(own_kilobytes(server) - before, 100)
        self.assertTrue(wait_until(lambda: count_links(server) == 0, 10), "a direct link is left")

    def expect_listener_only(self, server):
        if not wait_until(lambda: self.states_at(server) == ["LISTEN"], 30, 0.2):
            self.fail_with(f"{self.states_at(server)} are left")

    def states_at(self, server):
        """Of ids and queue pairs."""
        snapshot = next(process for process in self.snapshots() if process["pid"] == server.pid)
        return [thing["state"] for thing in snapshot["rdma_cm_ids"] + snapshot["queue_pairs"]]


def own_kilobytes(process):
    """Its memory, without what it shares with the other end of a wire: that is as large as it is, and touched
    bit by bit."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status).group(1))


def count_links(process):
    return pathlib.Path(f"/proc/{process.pid}/maps").read_text().count("urnic-link")


class Sockets(CmPairTest):
    def test_iperf_over_rsockets(self):
        """An ordinary program of TCP, whose socket calls librspreload leads to rsockets. It would turn to TCP
        where those fail."""
        self.require("iperf")
        library = next(iter(sorted(glob.glob("/usr/lib/*/rsocket/librspreload.so"))), None)
        if library is None:
            self.skipTest("librspreload.so is not installed (tools/install-packages clients)")
        iperf = lambda *words: [
            "sh",
            "-c",
            f'LD_PRELOAD="$LD_PRELOAD:{library}" exec iperf {" ".join(words)}',
        ]
        server = self.start("server", iperf("-s", "-P", "1", "-B", SERVER), NICS[0])
        self.wait_for_cm_listener(server)
        client = self.start("client", iperf("-c", SERVER, "-t", "2"), NICS[1])
        if not wait_until(lambda: self.connections(server), harness.START_TIMEOUT, 0.05):
            self.fail_with("no connection by rdma_cm expected")
        self.expect_end(client, 30)
        self.expect_end(server, 30)
        self.assertRegex(client.output(), r"\d Gbits/sec|\d Mbits/sec")


class Storage(CmPairTest):
    def test_rcopy(self):
        self.require("rcopy")
        source, copy = self.runtime / "source", self.runtime / "copy"
        with source.open("wb") as file:
            for _ in range(20):
                file.write(os.urandom(10_000_000))
        source.chmod(0o644)
        server = self.start("server", ["rcopy"], ["--ip", f"{SERVER}/24"])
        self.wait_for_cm_listener(server)
        client = self.start("client", ["rcopy", source, f"{SERVER}:{copy}"], ["--ip", f"{CLIENT}/24"])
        self.expect_end(client, 60)
        if not wait_until(lambda: copy.exists() and filecmp.cmp(source, copy, shallow=False), 10):
            self.fail_with("the copy is another file")


class Libfabric(CmPairTest):
    def pingpong(self, provider, endpoint, *options):
        """The programs meet over TCP, at the host's address, and tell each other the addresses of their NICs."""
        self.require("fi_pingpong")
        port = harness.free_port()
        words = ["fi_pingpong", "-p", provider, "-e", endpoint, "-d", "urnic0", "-c", *options]
        server = self.start("server", [*words, "-B", port], NICS[0])
        self.wait_for_listener(server, port)
        client = self.start("client", [*words, "-P", port, "127.0.0.1"], NICS[1])
        for side in (client, server):
            self.expect_end(side, 60)
        self.assertRegex(client.output(), r"(?m)^1m ")

    def test_connections(self):
        self.pingpong("verbs", "msg")

    def test_reliable_datagrams_over_connections(self):
        self.pingpong("verbs;ofi_rxm", "rdm")
