# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""RDMA netlink: programs that ask the kernel for its RDMA devices see urnic's, and what programs have of
them. The judge is iproute2's `rdma`, beside `urnic stat --json`."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import harness
from harness import ClientTest, wait_until

COMMAND = ["ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-D", "60", "-q", "2"]


class Netlink(ClientTest):
    def setUp(self):
        super().setUp()
        self.require("rdma")

    def run_program(self, *command, code=0, environment=None):
        process = self.start(command[0], list(command), environment=environment)
        self.expect_end(process, timeout=60, code=code)
        return process.output()

    def rdma(self, *words):
        return json.loads(self.run_program("rdma", "-j", "-d", *words))

    def snapshots(self):
        process = self.start_plain("stat", [harness.STAGE.urnic, "stat", "--json"])
        process.wait(30)
        return json.loads(process.output())["processes"]

    def start_pair(self):
        self.require("ib_write_bw")
        port = str(harness.free_port())
        command = [*COMMAND, "-p", port]
        server = self.start("server", command)
        self.wait_for_listener(server, port=int(port))
        self.start("client", [*command, "127.0.0.1"])

        def have_connected():
            states = [qp["state"] for process in self.snapshots() for qp in process["queue_pairs"]]
            return sorted(states) == ["RTR", "RTR", "RTS", "RTS"] or states == ["RTS"] * 4

        if not wait_until(have_connected, harness.START_TIMEOUT, pause=0.2):
            self.fail_with("the pair does not come to talk")

    def ours(self, entries):
        """The entries of our device: the kernel may have devices, too."""
        return [entry for entry in entries if entry.get("ifname") == "urnic0"]

    def test_link_and_dev(self):
        (link,) = self.ours(self.rdma("link"))
        self.assertEqual((link["port"], link["state"], link["physical_state"]), (1, "ACTIVE", "LINK_UP"))
        if harness.is_host_shared():
            self.assertIn(link["netdev"], os.listdir("/sys/class/net") + ["net0"])
        (device,) = self.ours(self.rdma("dev"))
        self.assertEqual(device["node_type"], "ca")
        guid = self.run_program("cat", "/sys/class/infiniband/urnic0/node_guid").strip()
        self.assertEqual(device["node_guid"], guid)
        self.assertIn("urnic0/1 state ACTIVE", self.run_program("rdma", "link"))

    def test_nothing_runs(self):
        (counts,) = self.ours(self.rdma("res"))
        self.assertEqual({counts[name] for name in ("pd", "cq", "qp", "cm_id", "mr", "ctx", "srq")}, {0})
        self.assertEqual(self.ours(self.rdma("res", "show", "qp")), [])

    def test_resources_of_running_programs(self):
        self.start_pair()
        snapshots = {process["pid"]: process for process in self.snapshots()}
        self.assertEqual(len(snapshots), 2)
        shown = {}
        for kind in ("qp", "cq", "mr", "pd", "ctx", "srq", "cm_id"):
            shown[kind] = self.ours(self.rdma("res", "show", kind))
        for entry in sum(shown.values(), []):
            self.assertIn(entry["pid"], snapshots)
            self.assertEqual(entry["comm"], "ib_write_bw")
        for pid, process in snapshots.items():
            own = {kind: [one for one in entries if one["pid"] == pid] for kind, entries in shown.items()}
            expected = {
                qp["number"]: (qp["peer_qp"], qp["type"], qp["state"], qp["protection_domain"])
                for qp in process["queue_pairs"]
            }
            found = {one["lqpn"]: (one["rqpn"], one["type"], one["state"], one["pdn"]) for one in own["qp"]}
            self.assertEqual(found, expected)
            objects = process["objects"]
            self.assertEqual(
                [(one["cqn"], one["cqe"], one["users"], one["ctxn"]) for one in own["cq"]],
                [
                    (one["number"], one["capacity"], one["users"], one["context"])
                    for one in objects["completion_queues"]
                ],
            )
            self.assertEqual(
                sorted((int(one["lkey"], 16), one["mrlen"], one["pdn"]) for one in own["mr"]),
                sorted(
                    (one["key"], one["length"], one["protection_domain"]) for one in objects["memory_regions"]
                ),
            )
            self.assertEqual(
                [(one["pdn"], one["users"], one["ctxn"]) for one in own["pd"]],
                [(one["number"], one["users"], one["context"]) for one in objects["protection_domains"]],
            )
            self.assertEqual([one["ctxn"] for one in own["ctx"]], objects["contexts"])
            self.assertEqual((own["srq"], own["cm_id"]), ([], []))
            self.assertTrue(own["mr"] and own["cq"] and own["pd"] and own["ctx"])
            number = str(process["queue_pairs"][0]["number"])
            (one,) = self.ours(self.rdma("res", "show", "qp", "link", "urnic0/1", "lqpn", number))
            self.assertEqual(one["pid"], pid)
        (counts,) = self.ours(self.rdma("res"))
        for kind, entries in shown.items():
            self.assertEqual(counts[kind], len(entries), kind)

    def counters(self):
        (counters,) = self.ours(self.rdma("statistic", "show", "link", "urnic0/1"))
        return counters

    def test_statistics_move(self):
        self.start_pair()
        before = self.counters()
        self.assertTrue(wait_until(lambda: self.counters()["sent_pkts"] > before["sent_pkts"], 20, pause=0.2))
        after = self.counters()
        self.assertGreaterEqual(
            sum(one["counters"]["sent_pkts"] for one in self.snapshots()), after["sent_pkts"]
        )
        for name in ("rcvd_pkts", "out_of_sequence", "local_ack_timeout_err", "rnr_nak_retry_err"):
            self.assertIn(name, after)

    def test_a_listener_is_a_cm_id(self):
        self.require("rping")
        port = harness.free_port()
        self.start("rping", ["rping", "-s", "-p", str(port)])
        ids = lambda: self.ours(self.rdma("res", "show", "cm_id"))
        self.assertTrue(wait_until(lambda: any(one["state"] == "LISTEN" for one in ids()), 20, pause=0.2))
        (one,) = ids()
        self.assertEqual((one["ps"], one["comm"]), ("TCP", "rping"))
        self.assertTrue(one["src-addr"].endswith(f":{port}"), one)

    def test_changes_are_refused(self):
        for change in (
            ["link", "add", "rxe9", "type", "rxe", "netdev", "lo"],
            ["link", "delete", "urnic0"],
            ["dev", "set", "urnic0", "name", "other"],
        ):
            process = self.start("rdma", ["rdma", *change])
            self.assertNotIn(process.wait(30), (0, None), change)
            # Tests run without privilege, unless their NIC is in a namespace.
            self.assertRegex(process.output(), r"Operation not (supported|permitted)", change)

    def test_an_administrator_is_told_why(self):
        if not harness.STAGE.is_root:
            self.skipTest("needs root")
        words = [
            "run",
            *harness.nic_options(()),
            "--",
            "rdma",
            "link",
            "add",
            "x",
            "type",
            "rxe",
            "netdev",
            "lo",
        ]
        process = self.start_plain("rdma", [harness.STAGE.urnic, *words], privileged=True)
        self.assertNotIn(process.wait(30), (0, None))
        self.assertIn("'urnic run' makes the devices of a program", process.output())

    def library_loads(self, *command):
        maps = self.run_program("env", "LD_DEBUG=files", *command)
        return re.search(r"file=\S*liburnic_netlink\.so", maps) is not None

    def test_only_programs_that_ask_load_the_library(self):
        self.assertTrue(self.library_loads("rdma", "link"))
        self.assertFalse(self.library_loads("true"))
        self.assertFalse(self.library_loads("ip", "link"))  # netlink of another family
        self.require("ibv_devinfo")
        self.assertFalse(self.library_loads("ibv_devinfo"))

    def test_an_ordinary_socket_is_as_before(self):
        script = """
            import socket
            a, b = socket.socketpair()
            a.sendall(b"x" * 1000)
            assert b.recv(2000) == b"x" * 1000
            route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            rdma = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)
            a.send(b"y")
            assert b.recv(1) == b"y"
            assert rdma.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == 20
            assert route.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == 0
            server = socket.create_server(("127.0.0.1", 0))
            client = socket.create_connection(server.getsockname())
            client.sendall(b"z")
            assert server.accept()[0].recv(1) == b"z"
            print("fine")
        """
        self.assertIn("fine", self.run_program("/usr/bin/python3", "-c", textwrap.dedent(script)))

    def install(self, *packages):
        """A folder with packages of PyPI; SKIP where they are not available."""
        folder = pathlib.Path(self.runtime) / "pip"
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *packages]
        if shutil.which("pip3") is None:
            self.skipTest("pip is not installed")
        try:
            done = subprocess.run(pip, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            self.skipTest("PyPI does not answer")
        if done.returncode != 0:
            self.skipTest(f"{' '.join(packages)} are not available: {done.stderr.strip().splitlines()[-1:]}")
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        return folder

    # Its own parser of netlink, which is none of iproute2's.
    def test_pyroute2_reads_devices(self):
        folder = self.install("pyroute2==0.9.7")
        script = """
            import struct
            from pyroute2.netlink import nlmsg, NLM_F_DUMP, NLM_F_REQUEST
            from pyroute2.netlink.nlsocket import NetlinkSocket

            class device(nlmsg):
                prefix = "A_"
                nla_map = ((1, "A_INDEX", "uint32"), (2, "A_NAME", "asciiz"), (3, "A_PORTS", "uint32"))

            socket = NetlinkSocket(family=20)
            socket.register_policy({(5 << 10) | 1: device})
            socket.bind()
            for found in socket.nlm_request(device(), (5 << 10) | 1, NLM_F_REQUEST | NLM_F_DUMP):
                print(found.get_attr("A_NAME"), found.get_attr("A_PORTS"))
        """
        said = self.run_program(
            "/usr/bin/python3", "-c", textwrap.dedent(script), environment={"PYTHONPATH": str(folder)}
        )
        self.assertIn("urnic0 1", said)

    def test_rdmatop(self):
        if shutil.which("rdmatop") is None:
            self.skipTest("rdmatop is not installed (cargo build of the source package of PyPI)")
        self.start_pair()
        table = pathlib.Path(self.runtime) / "rates.csv"
        command = [
            "rdmatop",
            "--format",
            "csv",
            "--output",
            str(table),
            "--device",
            "urnic0",
            "--duration",
            "1",
        ]
        self.run_program(*command)
        head, *rows = [line.split(",") for line in table.read_text().splitlines()]
        column = head.index("tx_bytes")
        self.assertGreater(int(rows[-1][column]), int(rows[0][column]))
