# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Mooncake: its transfer engine between two processes, its store, and a target that is killed."""
import json
import os
import re
import signal

import harness
import registry
from harness import wait_until

PEER = harness.PROJECT / "tools/deployment/recipes/mooncake_peer.py"
STORE = harness.PROJECT / "tests/clients/programs/mooncake_store.py"
# The devices that Mooncake is told, and the options of their NICs.
DEVICES = {"urnic0": (), "urnic0,urnic1": ("--port", "fabric", "--devices", "2")}
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

    def start_program(self, name, *words, nic=()):
        return self.start(name, words, nic, environment=self.variables)

    def wait_for(self, pattern, process, patience=START):
        """What the process said that the pattern asks for."""
        found = lambda: re.search(pattern, process.output(), re.MULTILINE)
        if not wait_until(lambda: found() or not process.is_running(), patience, 0.05) or not found():
            self.fail_with(f"{process.name} was to say {pattern!r}")
        return found()[1]

    def stat(self):
        """What `urnic stat` knows of all devices."""
        asked = self.start_plain("urnic", [harness.STAGE.urnic, "stat", "--json"])
        code = asked.wait(START)
        self.processes.remove(asked)  # there may be many of them
        return json.loads(asked.output())["processes"] if code == 0 else []

    def wait_for_memory(self, process, devices):
        """Until it has registered memory with each of the devices."""

        def registered():
            return {
                each["device"]
                for each in self.stat()
                if each.get("pid") == process.pid and each.get("memory_regions", 0) > 0
            }

        if not wait_until(lambda: registered() >= set(devices.split(",")), START, 0.2):
            self.fail_with(f"{process.name} registers no memory with {devices}")

    def test_bench(self):
        """transfer_engine_bench, which moves blocks and does not look at them."""
        bench = self.packages / "mooncake/transfer_engine_bench"
        for devices, nic in DEVICES.items():
            common = [bench, "--metadata_server=P2PHANDSHAKE", "--protocol=rdma", f"--device_name={devices}"]
            name = lambda: f"--local_server_name=127.0.0.1:{harness.free_port()}"
            target = self.start_program("target", *common, "--mode=target", name(), nic=nic)
            segment = self.wait_for(r"listening on (127[\d.:]+)", target)
            # An initiator that comes before the target has registered its buffers reads beyond a list's end.
            self.wait_for_memory(target, devices)
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
                        nic=nic,
                    )
                    self.expect_end(initiator, START)
                    self.assertIn("Test completed", initiator.output())
                    self.assertGreater(int(re.search(r"batch count (\d+)", initiator.output())[1]), 0)

    def start_targets(self, devices, nic):
        started = [
            self.start_program(f"target{i}", registry.PYTHON, PEER, "target", "--devices", devices, nic=nic)
            for i in range(2)
        ]
        return started, [self.wait_for(r"^target (\S+)", target) for target in started]

    def start_initiator(self, devices, nic, targets):
        """One that goes on with the first target until that fails; it has begun."""
        words = ["initiator", "--devices", devices, "--until-it-fails", *targets]
        initiator = self.start_program("initiator", registry.PYTHON, PEER, *words, nic=nic)
        self.wait_for(r"(took \d+ x \d+ bytes)", initiator)
        return initiator

    def test_a_target_is_killed(self):
        """The initiator notices it within Mooncake's own time, and goes on with another one."""
        for devices, nic in DEVICES.items():
            with self.subTest(devices=devices):
                (first, _), names = self.start_targets(devices, nic)
                initiator = self.start_initiator(devices, nic, names)
                os.kill(first.pid, signal.SIGKILL)
                self.expect_end(initiator, TRANSFER_TIMEOUT + START)
                took = float(re.search(r"failed after ([\d.]+) s", initiator.output())[1])
                self.assertLess(took, TRANSFER_TIMEOUT)
                self.assertEqual(initiator.output().count("and gave them back"), 2, initiator.describe())

    def test_it_goes_on_by_one_device_when_the_other_loses_its_link(self):
        devices = "urnic0,urnic1"
        nic = DEVICES[devices]
        (target, _), names = self.start_targets(devices, nic)
        initiator = self.start_initiator(devices, nic, names)

        def of_target(device):
            return next(
                each for each in self.stat() if each["pid"] == target.pid and each["device"] == device
            )

        address = next(text for text in of_target("urnic1")["addresses"] if "." in text)
        down = self.start_plain("urnic", [harness.STAGE.urnic, "fabric", "link", address, "down"])
        self.expect_end(down)
        self.wait_for(r"(Rail paused: peer=\S+@urnic1)", initiator)
        carried = of_target("urnic0")["counters"]["rcvd_bytes"]
        goes_on = lambda: of_target("urnic0")["counters"]["rcvd_bytes"] > carried + (8 << 20)
        if not wait_until(goes_on, START, 0.2) or not initiator.is_running():
            self.fail_with("the other device was to carry everything")
        self.assertNotIn("failed after", initiator.output())

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
