# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Runs commands and keeps what they print, a file for each stage."""
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
LOGS = ROOT / "build/test-logs"


class Log:
    """Runs commands, one after another, until one fails; keeps what they print. `prefix` are words before
    each of them."""

    def __init__(self, name, prefix=()):
        self.prefix = prefix
        LOGS.mkdir(parents=True, exist_ok=True)
        self.path = LOGS / f"{name}.log"
        self.path.write_bytes(b"")

    def run(self, *command):
        words = [str(word) for word in (*self.prefix, *command)]
        with open(self.path, "ab") as log:
            log.write(f"$ {' '.join(words)}\n".encode())
            log.flush()
            try:
                result = subprocess.run(
                    words, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
                )
            except OSError as error:
                log.write(f"{error}\n".encode())
                return False
        return result.returncode == 0

    def run_together(self, *commands):
        """Runs them at the same time, and keeps what each printed in a piece. Whether none failed."""
        running = []
        for command in commands:
            words = [str(word) for word in (*self.prefix, *command)]
            output = tempfile.TemporaryFile()
            try:
                process = subprocess.Popen(
                    words, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
                )
            except OSError as error:
                output.write(f"{error}\n".encode())
                process = None
            running.append((words, output, process))
        codes = [process.wait() if process else None for _, _, process in running]
        with open(self.path, "ab") as log:
            for (words, output, _), code in zip(running, codes):
                output.seek(0)
                log.write(
                    f"$ {' '.join(words)}\n".encode()
                    + output.read()
                    + (b"" if code == 0 else f"ended with {code}\n".encode())
                )
        return not any(codes) and None not in codes

    def write(self, text):
        with open(self.path, "ab") as log:
            log.write(text.encode())

    def text(self):
        return self.path.read_text(errors="replace")
