# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Does the device show itself, to installed programs and by hand?"""
import subprocess

import harness
from harness import ClientTest


class Devices(ClientTest):
    def run_alone(self, *command, **options):
        process = self.start(command[0], command, **options)
        self.expect_end(process)
        return process.output()

    def test_ibv_devices_lists_urnic0(self):
        self.require("ibv_devices")
        self.assertIn("urnic0", self.run_alone("ibv_devices"))

    def test_ibv_devinfo_shows_an_active_ethernet_port_and_its_gids(self):
        self.require("ibv_devinfo")
        output = self.run_alone("ibv_devinfo", "-v", nic=["--ip", "10.3.2.1/24", "--ip6", "fd00::7/64"])
        self.assertIn("PORT_ACTIVE", output)
        self.assertIn("Ethernet", output)
        self.assertRegex(output, r"active_mtu:\s+4096")
        self.assertRegex(output, r"GID\[ *0\]:\s+fe80:")
        self.assertRegex(output, r"GID\[ *1\]:\s+::ffff:10\.3\.2\.1, RoCE v2")
        self.assertRegex(output, r"GID\[ *2\]:\s+fd00::7, RoCE v2")

    def test_a_device_without_urnic_run_takes_its_own_lease(self):
        self.require("ibv_devinfo")
        by_hand = {"LD_LIBRARY_PATH": str(harness.STAGE.library)}
        process = self.start_plain("ibv_devinfo", ["ibv_devinfo", "-v"], by_hand)
        self.expect_end(process)
        self.assertRegex(process.output(), r"GID\[ *1\]:\s+::ffff:10\.\d+\.\d+\.1,")

    def test_a_hostile_environment_is_one_clear_line_and_no_device(self):
        self.require("ibv_devices")
        for name, value in (
            ("URNIC_IP", "ten"),
            ("URNIC_PORT", "pigeon:1"),
            ("URNIC_MTU", "-5"),
            ("URNIC_LEASE_FD", "x"),
        ):
            with self.subTest(variable=name):
                by_hand = {"LD_LIBRARY_PATH": str(harness.STAGE.library), name: value}
                process = self.start_plain("ibv_devices", ["ibv_devices"], by_hand)
                code = process.wait(10)
                lines = [line for line in process.output().splitlines() if "urnic:" in line]
                if (
                    code is None
                    or code < 0
                    or len(lines) != 1
                    or name not in lines[0]
                    or "urnic0" in process.output()
                ):
                    self.fail_with(f"{name}={value}: one line that names it, and no crash, expected", process)

    def test_every_installed_client_loads(self):
        check = harness.JUDGES / "abi/loadcheck.sh"
        if not check.exists():
            self.skipTest("the outside check of installed clients is not here")
        result = subprocess.run(
            ["bash", check, harness.STAGE.library], capture_output=True, text=True, timeout=300
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
