# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What NCCL does with libibverbs, by a program that opens it by name and knows no GPU."""
import re
import subprocess

import harness
from harness import ClientTest, free_port


class NcclLike(ClientTest):
    def nccl_like(self, *options, **how):
        port = free_port()
        program = harness.STAGE.program("nccl_like")
        receiver = self.start("receiver", [program, "--receive", str(port), *map(str, options)], **how)
        sender = self.start("sender", [program, "--send", str(port), *map(str, options)], **how)
        for process in (sender, receiver):
            self.expect_end(process, timeout=120)
            # libibverbs.so stands in the system's folder, too, where its development files are installed.
            if (
                f"library {harness.STAGE.library}/libibverbs.so" not in process.output()
                or "\ndone " not in process.output()
            ):
                self.fail_with("our library and an end expected")

    def test_the_program_is_not_linked_to_libibverbs(self):
        self.require("readelf")
        program = harness.STAGE.program("nccl_like")
        needed = subprocess.run(
            ["readelf", "--dynamic", "--wide", program], capture_output=True, text=True, check=True
        ).stdout
        self.assertIn("libc.so.6", needed)
        self.assertIsNone(re.search("ibverbs|rdmacm", needed))

    def test_four_queue_pairs(self):
        self.nccl_like()

    def test_one_queue_pair(self):
        self.nccl_like("--qps", 1)

    def test_many_queue_pairs_and_short_messages(self):
        self.nccl_like("--qps", 16, "--bytes", 3000, "--rounds", 2000)

    def test_progress_by_the_thread_alone(self):
        self.nccl_like("--rounds", 100, environment={"URNIC_PROGRESS": "thread"})
