# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs in containers without privilege: two with a common runtime folder, and the containers of a pod."""
import subprocess

import container
import harness
from harness import ClientTest, free_port, wait_until

LOOK = r"""
import ctypes, os, resource
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print("capabilities", int(status["CapEff"], 16))
print("seccomp", status["Seccomp"].strip())
print("locked", resource.getrlimit(resource.RLIMIT_MEMLOCK)[1])
print("shared", os.statvfs("/dev/shm").f_frsize * os.statvfs("/dev/shm").f_blocks)
for path in ("/etc", "/usr/bin", "/var/tmp"):
    print("writable", os.access(path, os.W_OK))
print("unshare", ctypes.CDLL(None, use_errno=True).unshare(0x20000), ctypes.get_errno())
"""

# What leads out of a pod is the end of a cable.
POD = (
    "link add net0 type veth peer name net1",
    "addr add 10.99.0.1/24 dev net0",
    "link set net0 up",
    "link set net1 up",
)
HOST = ("--port", "host")


class Containers(ClientTest):
    def setUp(self):
        super().setUp()
        self.require("bwrap", "prlimit")
        self.filter = harness.STAGE.folder() / "filter.bpf"
        if not container.make_filter(self.filter):
            self.skipTest("python3-seccomp is not installed (tools/install-packages clients)")
        probe = self.start_plain("probe", [*self.container(), "true"])
        if probe.wait(20) != 0:
            self.skipTest(f"no container can be made here: {probe.output().strip()}")

    def container(self, folders=None, **how):
        return container.words(self.filter, folders or [(self.runtime, self.runtime)], **how)

    def contained(self, name, command, nic=(), inside=(), environment=None, **how):
        """Starts `urnic run NIC-OPTIONS -- COMMAND` as an ordinary user in a container, in the network that
        `inside` leads to."""
        words = harness.STAGE.drop_privilege(
            [*self.container(**how), harness.STAGE.urnic, "run", *nic, "--", *command]
        )
        return self.start_plain(name, [*inside, *words], environment, privileged=True)

    def in_pod(self, name, command, inside):
        """Starts it in a container of a pod as tools/deployment/containers/pod.yaml has it: with the pod's
        network, and a /tmp that all have."""
        tmp = self.runtime / "tmp"
        tmp.mkdir(exist_ok=True)
        tmp.chmod(0o2777)  # as Kubernetes makes such a volume
        folders = [(tmp, "/tmp"), (harness.STAGE.root, harness.STAGE.root)]
        return self.contained(
            name, command, HOST, inside, {"XDG_RUNTIME_DIR": ""}, folders=folders, has_network=True
        )

    def test_a_container_is_what_it_is_meant_to_be(self):
        process = self.start_plain("python3", [*self.container(), "python3", "-c", LOOK])
        self.expect_end(process, timeout=30)
        wanted = [
            "capabilities 0",
            "seccomp 2",
            f"locked {container.LOCKED_BYTES}",
            f"shared {container.SHARED_MEMORY_BYTES}",
        ]
        self.assertEqual(process.output().splitlines(), [*wanted, *3 * ["writable False"], "unshare -1 1"])

    def test_a_doctor_finds_no_problem_in_one(self):
        process = self.start_plain("doctor", [*self.container(), harness.STAGE.urnic, "doctor"])
        self.expect_end(process, timeout=60)

    def test_two_that_share_no_more_than_the_runtime_folder(self):
        """Neither has a network: what goes between them goes through shared memory."""
        self.require("rping")
        count = ["-C", "50", "-S", "4096"]
        server = self.contained("server", ["rping", "-s", "-v", *count], ["--ip", "10.99.0.1/24"])
        wait_until(lambda: "10.99.0.1" in self.listeners() or not server.is_running(), harness.START_TIMEOUT)
        client = self.contained(
            "client", ["rping", "-c", "-a", "10.99.0.1", "-v", *count], ["--ip", "10.99.0.2/24"]
        )
        self.expect_end(client, timeout=60)
        self.expect_end(server, timeout=60)
        self.assertEqual(client.output().count("ping data: rdma-ping"), 50)

    def listeners(self):
        """What the NICs of the runtime folder have, seen from outside of the containers."""
        words = harness.STAGE.drop_privilege([harness.STAGE.urnic, "stat", "--json"])
        return subprocess.run(words, env=self.environment, capture_output=True, text=True).stdout

    def test_those_of_a_pod_share_the_hosts_nic(self):
        """One network for both, as Kubernetes gives it to a pod, and the host's addresses."""
        self.require("ibv_rc_pingpong", "ib_write_bw")
        inside = self.namespace(*POD)
        for words in (
            ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-c"],
            ["ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-n", "500"],
        ):
            port = str(free_port())
            server = self.in_pod("server", [*words, "-p", port], inside)
            client = None
            for _ in range(100):  # the server has to listen first, where only its namespace sees it
                client = self.in_pod("client", [*words, "-p", port, "10.99.0.1"], inside)
                if client.wait(60) == 0 or not server.is_running():
                    break
                self.processes.remove(client)
            self.expect_end(client)
            self.expect_end(server)

    def test_a_pod_connects_by_rdma_cm(self):
        self.require("rping")
        inside = self.namespace(*POD)
        server = self.contained("server", ["rping", "-s", "-v", "-C", "50"], HOST, inside, has_network=True)
        wait_until(lambda: "7174" in self.listeners() or not server.is_running(), harness.START_TIMEOUT)
        client = self.contained(
            "client", ["rping", "-c", "-a", "10.99.0.1", "-v", "-C", "50"], HOST, inside, has_network=True
        )
        self.expect_end(client, timeout=60)
        self.expect_end(server, timeout=60)
        self.assertEqual(client.output().count("ping data: rdma-ping"), 50)
