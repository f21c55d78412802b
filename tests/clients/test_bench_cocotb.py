# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""An unmodified perftest against tests/rtl's responder in a cocotb test bench."""
import json
import os
import pathlib
import subprocess

import harness
import registry
from harness import wait_until

RUN = harness.PROJECT / "tests/rtl/run_cocotb.py"
BUILD_PATIENCE = 300
MESSAGES = 30


class Cocotb(registry.RegistryTest):
    def setUp(self):
        super().setUp()
        self.require("ib_write_bw", "ib_read_bw", "verilator")
        packages = self.bring(registry.python_packages, "cocotb", *registry.COCOTB)
        self.folder = pathlib.Path(self.runtime) / "bench"
        self.folder.mkdir(mode=0o755)
        environment = os.environ | {
            "BENCH_FOLDER": str(self.folder),
            "PATH": f"{packages}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(packages),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.bench = subprocess.Popen(
            [registry.PYTHON, RUN, harness.STAGE.build / "cocotb"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(self.end_bench)
        if not wait_until(lambda: self.is_written("port") or self.bench.poll() is not None, BUILD_PATIENCE):
            self.fail_with("cocotb does not begin")
        if self.bench.poll() is not None:
            raise AssertionError(f"cocotb has ended:\n{self.bench.stdout.read()}")

    def end_bench(self):
        self.bench.terminate()
        self.bench.communicate()

    def is_written(self, name):
        file = self.folder / name
        return file.exists() and bool(file.read_text())

    def check_clean(self, program, size, packets):
        """`packets` is the least that both sides send for a message of `size`."""
        capture = os.path.join(self.runtime, "capture.pcap")
        words = [program, "-d", "urnic0", "-x", 1, "-F", "-m", 1024, "-n", MESSAGES, "-s", size]
        words += ["-p", (self.folder / "port").read_text(), "127.0.0.1"]
        nic = ["--port", f"bench:{self.folder}/bench.sock", "--pcap", capture]
        self.expect_end(self.start("client", [*map(str, words)], nic), 120)
        self.assertTrue(wait_until(lambda: self.is_written("end"), harness.START_TIMEOUT))
        self.assertEqual((self.folder / "end").read_text().split()[1], "0", "requests were refused")
        self.assertIn("PASS=1", self.bench.communicate(timeout=60)[0])
        checked = subprocess.run(
            [harness.STAGE.urnic, "check", "--json", capture], capture_output=True, text=True, check=False
        )
        report = json.loads(checked.stdout)[0]
        self.assertEqual(report["verdict"], "clean", checked.stdout)
        self.assertGreaterEqual(report["roce_v2"], MESSAGES * packets)
        self.assertEqual(report["icrc_right"], report["roce_v2"])

    def test_writes(self):
        self.check_clean("ib_write_bw", 64, packets=1)

    def test_reads(self):
        self.check_clean("ib_read_bw", 1500, packets=3)
