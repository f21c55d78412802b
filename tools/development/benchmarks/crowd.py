# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs that do nothing but want a processor, beside what is measured."""
import subprocess


class Crowd:
    def __init__(self, size):
        self.processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(size)]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
