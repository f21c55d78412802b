"""Mooncake: its transfer engine between two processes, its store, and a target that is killed."""
import os
import re
import signal

import harness
import registry
from harness import wait_until

PEER = harness.PROJECT / "tools/deployment/recipes/mooncake_peer.py"
STORE = harness.PROJECT / "tests/clients/programs/mooncake_store.py"
# As many NICs in one process as each list names.
DEVICES = ("urnic0",)
# Of Mooncake's own: how long a transfer may take (MC_TRANSFER_TIMEOUT), in seconds.
TRANSFER_TIMEOUT = 30
START = 60  # seconds: its libraries are large


class Mooncake(registry.RegistryTest):
    def setUp(self):
        super().setUp()
        self.packages = self.bring(registry.python_packages, "mooncake", registry.MOONCAKE, registry.NUMPY)
        self.variables = {
            "PYTHONPATH": str(self.packages),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GLOG_logtostderr": "1",
            "MC_GID_INDEX": "1",
            # Each worker of a device spins.
            "MC_WORKERS_PER_CTX": "1",
            "MC_TRANSFER_TIMEOUT": str(TRANSFER_TIMEOUT),
        }

    def start_program(self, name, *words):
        return self.start(name, words, environment=self.variables)

    def wait_for(self, pattern, process, patience=START):
        """What the process said that the pattern asks for."""
        found = lambda: re.search(pattern, process.output(), re.MULTILINE)
        if not wait_until(lambda: found() or not process.is_running(), patience, 0.05) or not found():
            self.fail_with(f"{process.name} was to say {pattern!r}")
        return found()[1]

    def test_bench(self):
        """transfer_engine_bench, which moves blocks and does not look at them."""
        bench = self.packages / "mooncake/transfer_engine_bench"
        for devices in DEVICES:
            common = [bench, "--metadata_server=P2PHANDSHAKE", "--protocol=rdma", f"--device_name={devices}"]
            name = lambda: f"--local_server_name=127.0.0.1:{harness.free_port()}"
            target = self.start_program("target", *common, "--mode=target", name())
            segment = self.wait_for(r"listening on (127[\d.:]+)", target)
            for operation in ("read", "write"):
                with self.subTest(devices=devices, operation=operation):
                    initiator = self.start_program(
                        "initiator",
                        *common,
                        "--mode=initiator",
                        name(),
                        f"--segment_id={segment}",
                        f"--operation={operation}",
                        "--duration=2",
                        "--buffer_size=67108864",
                        "--batch_size=16",
                    )
                    self.expect_end(initiator, START)
                    self.assertIn("Test completed", initiator.output())
                    self.assertGreater(int(re.search(r"batch count (\d+)", initiator.output())[1]), 0)

    def start_targets(self, devices):
        started = [
            self.start_program(f"target{i}", registry.PYTHON, PEER, "target", "--devices", devices)
            for i in range(2)
        ]
        return started, [self.wait_for(r"^target (\S+)", target) for target in started]

    def test_a_target_is_killed(self):
        """The initiator notices it within Mooncake's own time, and goes on with another one."""
        for devices in DEVICES:
            with self.subTest(devices=devices):
                (first, _), names = self.start_targets(devices)
                initiator = self.start_program(
                    "initiator",
                    registry.PYTHON,
                    PEER,
                    *("initiator", "--devices", devices, "--until-it-fails"),
                    *names,
                )
                self.wait_for(r"(took \d+ x \d+ bytes)", initiator)
                os.kill(first.pid, signal.SIGKILL)
                self.expect_end(initiator, TRANSFER_TIMEOUT + START)
                took = float(re.search(r"failed after ([\d.]+) s", initiator.output())[1])
                self.assertLess(took, TRANSFER_TIMEOUT)
                self.assertEqual(initiator.output().count("and gave them back"), 2, initiator.describe())

    def test_store(self):
        """One process puts values and gets them back; another one holds them."""
        port = harness.free_port()
        master = self.start_program(
            "master",
            self.packages / "mooncake/mooncake_master",
            f"--rpc_port={port}",
            f"--metrics_port={harness.free_port()}",
        )
        self.wait_for_listener(master, port)
        words = [registry.PYTHON, STORE]
        holder = self.start_program("holder", *words, "hold", str(port))
        self.wait_for(r"^(holds)", holder)
        user = self.start_program("user", *words, "use", str(port))
        self.expect_end(user, START)
        self.assertIn("30 values came back as they were put", user.output())
