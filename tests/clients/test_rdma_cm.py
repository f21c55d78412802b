"""Programs that connect by rdma_cm, over the distribution's own librdmacm: rdmacm-utils, perftest -R, rsockets, fio, UCX,
libfabric."""
import filecmp
import os
import re

import harness
from cm_pair import CLIENT, NICS, SERVER, CmPairTest
from harness import wait_until


class RdmaCm(CmPairTest):
    """Pairs whose words stand in the table below."""


# name: words of the server, words of the client. Both end by themselves.
PAIRS = {
    "rping": (["rping", "-s", "-a", SERVER], ["rping", "-c", "-a", SERVER, "-I", CLIENT], ["-V", "-C", 100, "-S", 4096]),
    "rping_one_byte_more_than_its_text": (["rping", "-s", "-a", SERVER], ["rping", "-c", "-a", SERVER], ["-V", "-C", 30, "-S", 100]),
    "rping_with_queue_pairs_of_its_own": (["rping", "-s", "-q", "-a", SERVER], ["rping", "-c", "-q", "-a", SERVER], ["-V", "-C", 100, "-S", 4096]),
    "rping_over_ipv6": (["rping", "-s", "-a", "fd99::1"], ["rping", "-c", "-a", "fd99::1"], ["-V", "-C", 30, "-S", 4096]),
    "ucmatose": (["ucmatose", "-b", SERVER], ["ucmatose", "-s", SERVER], ["-c", 16, "-C", 100]),
    "ucmatose_that_migrates_ids": (["ucmatose", "-b", SERVER, "-m"], ["ucmatose", "-s", SERVER, "-m"], ["-c", 16, "-C", 100]),
    "ucmatose_with_a_type_of_service": (["ucmatose", "-b", SERVER, "-t", 32], ["ucmatose", "-s", SERVER, "-t", 32], ["-c", 4, "-C", 100]),
    "udaddy": (["udaddy", "-b", SERVER], ["udaddy", "-s", SERVER], ["-c", 4, "-C", 100]),
    "rdma_server": (["rdma_server"], ["rdma_client", "-s", SERVER], ["-p", 7471]),
    "rdma_xserver": (["rdma_xserver", "-c", "r"], ["rdma_xclient", "-s", SERVER, "-c", "r"], ["-p", 7472]),
    "rdma_xserver_xrc": (["rdma_xserver", "-c", "x"], ["rdma_xclient", "-s", SERVER, "-c", "x"], ["-p", 7473]),
    "rstream": (["rstream", "-b", SERVER], ["rstream", "-s", SERVER], []),
    "rstream_without_blocking": (["rstream", "-b", SERVER], ["rstream", "-s", SERVER], ["-T", "n", "-S", 65536, "-I", 100]),
    "riostream": (["riostream", "-b", SERVER], ["riostream", "-s", SERVER], []),
}
FIO = ["fio", "--ioengine=rdma", "--port=18000", "--bs=64k", "--size=64m", "--thread"]
PERFTEST = (
    ["ib_write_bw", "-n", 1000],
    ["ib_write_lat", "-n", 500],
    ["ib_read_bw", "-n", 500],
    ["ib_read_lat", "-n", 500],
    ["ib_send_bw", "-n", 1000],
    ["ib_send_bw", "-c", "UD", "-n", 1000],
    ["ib_send_lat", "-n", 500, "-e"],
    ["ib_atomic_bw", "-n", 500],
    ["ib_write_bw", "-q", 4, "-n", 500],
    ["ib_send_bw", "-n", 500, "-s", 100000, "-b"],
)


def _add_pair(name, server, client, both):
    def test(self):
        self.run_cm_pair([*server, *both], [*client, *both], timeout=60)

    setattr(RdmaCm, f"test_{name}", test)


def _add_perftest(words):
    def test(self):
        command = [*words, "-d", "urnic0", "-R", "-F"]
        # A server whose memory is only read or written has nothing to say of it.
        _, client = self.run_cm_pair(command, [*command, SERVER], timeout=60)
        if not re.search(r"^ *\d+ +\d+ +[\d.]+ ", client, re.MULTILINE):
            self.fail_with("a measurement without a result")

    setattr(RdmaCm, "test_perftest_" + "".join(str(word) for word in words).replace("-", "_"), test)


for _name, _words in PAIRS.items():
    _add_pair(_name, *_words)
for _words in PERFTEST:
    _add_perftest(_words)


class Groups(CmPairTest):
    def test_mckey(self):
        """Both are members; the sender's messages may come before the receiver has joined."""
        self.require("mckey")
        words = ["mckey", "-m", "239.1.1.1", "-C", "100"]
        receiver = self.start("receiver", [*words, "-b", SERVER], ["--ip", f"{SERVER}/24"])
        if not wait_until(lambda: "RTS" in self.queue_pair_states(), harness.START_TIMEOUT, 0.05):
            self.fail_with("the receiver does not join")
        sender = self.start("sender", [*words, "-s", "-b", CLIENT], ["--ip", f"{CLIENT}/24"])
        self.expect_end(sender, 30)
        self.expect_end(receiver, 30)


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
        server = self.start("server", ["rping", "-s", "-P", "-a", SERVER, "-S", "100", *options], ["--ip", f"{SERVER}/24"])
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
        self.assertIn("Cannot assign requested address", self.client_says("rping", "-s", "-a", SERVER, "-C", 1))

    def test_a_server_serves_eight_clients_at_once_and_survives_the_death_of_some(self):
        server = self.start_rping_server()
        words = ["rping", "-c", "-a", SERVER, "-V", "-S", "100", "-C"]
        nic = lambda i: ["--ip", f"10.99.0.{10 + i}/24"]
        clients = []
        for i in range(8):
            # rping's server mixes up two that come at the same moment.
            clients.append(self.start(f"client{i}", [*words, "1000000" if i < 2 else "2000"], nic(i)))
            if not wait_until(lambda: len(self.connections_of(server)) > i, harness.START_TIMEOUT, 0.02):
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
        """Nor does a second client's two hundred. cmtime's server serves for ever."""
        self.require("cmtime")
        server = self.start("server", ["cmtime", "-b", SERVER, "-c", "200"], NICS[0])
        self.wait_for_cm_listener(server)
        for name in ("first", "second"):
            client = self.start(name, ["cmtime", "-s", SERVER, "-b", CLIENT, "-c", "200"], NICS[1])
            self.expect_end(client, 60)
            self.assertRegex(client.output(), r"(?m)^connect +:")
            if not wait_until(lambda: self.states_at(server) == ["LISTEN"], 30, 0.2):
                self.fail_with(f"{self.states_at(server)} are left")

    def states_at(self, server):
        """Of ids and queue pairs."""
        snapshot = next(process for process in self.snapshots() if process["pid"] == server.pid)
        return [thing["state"] for thing in snapshot["rdma_cm_ids"] + snapshot["queue_pairs"]]


class Storage(CmPairTest):
    def fio(self, verb, server_depth=16):
        """To fio's engine, "read" means to serve and "write" to ask, whatever the verb does."""
        server = [*FIO, "--name=s", "--rw=read", f"--iodepth={server_depth}"]
        client = [*FIO, "--name=c", "--rw=write", "--iodepth=16", f"--hostname={SERVER}", f"--verb={verb}"]
        self.assertIn("io=64.0MiB", self.run_cm_pair(server, client, timeout=60)[1])

    def test_fio_write(self):
        self.fio("write")

    def test_fio_read(self):
        self.fio("read")

    def test_fio_send(self):
        """The client allows no RNR retry, so that the server needs receives in reserve."""
        self.fio("send", server_depth=64)

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


class Middleware(CmPairTest):
    def test_ucx_connects_by_address(self):
        """io_demo's server serves for ever, and compares data by itself."""
        environment = {"UCX_TLS": "rc_verbs,ud_verbs", "UCX_SOCKADDR_TLS_PRIORITY": "rdmacm"}
        _, client = self.run_cm_pair(["io_demo"], ["io_demo", "-i", 100, SERVER], timeout=60, server_ends=False, environment=environment)
        self.assertIn("Client exit with status 'OK'", client)

    def libfabric(self, provider, endpoint, *options):
        """The programs meet over TCP, at the host's address, and tell each other those of their NICs."""
        self.require("fi_pingpong")
        port = harness.free_port()
        words = ["fi_pingpong", "-p", provider, "-e", endpoint, "-d", "urnic0", "-c", *options]
        server = self.start("server", [*words, "-B", port], NICS[0])
        self.wait_for_listener(server, port)
        client = self.start("client", [*words, "-P", port, "127.0.0.1"], NICS[1])
        for side in (client, server):
            self.expect_end(side, 60)
        self.assertRegex(client.output(), r"(?m)^1m ")

    def test_libfabric_connections(self):
        self.libfabric("verbs", "msg")

    def test_libfabric_reliable_datagrams_over_connections(self):
        self.libfabric("verbs;ofi_rxm", "rdm")
