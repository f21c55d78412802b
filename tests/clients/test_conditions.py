# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs that start under unusual conditions: few descriptors, signals, processors of their own, a port
that is taken."""
import json
import os
import pathlib
import re
import signal
import time

import harness
from harness import wait_until
from test_host import HOST, Hosts

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1"]
# Of a mount namespace in which another user has the folder in /tmp that this one wants; the programs stay
# where they are.
IN_ANOTHERS_TMP = """
mount --make-rprivate / && mount --bind "$1" /mnt && mount -t tmpfs -o mode=1777 none /tmp && mkdir "$1" && mount --bind /mnt "$1" &&
mkdir -m 755 /tmp/urnic-65534 && shift && exec "$@"
"""
TAKE_PORT = "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 4791)); print('here', flush=True); time.sleep(100)"


def number_of_switches(namespace):
    """How many processes of that network namespace are switches."""
    count = 0
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_switch = (folder / "comm").read_text() == "urnic_switch\n"
            count += is_switch and os.readlink(folder / "ns/net") == namespace
        except OSError:
            continue
    return count


class Conditions(Hosts):
    def odd_start(self, host, how, *nic, environment=()):
        words = [
            "env",
            *environment,
            harness.STAGE.urnic,
            "run",
            *map(str, nic),
            "--",
            harness.STAGE.program("odd_starts"),
            how,
        ]
        return self.start_on(host, how, words)

    def take_port(self, host):
        holder = self.start_on(host, "holder", ["python3", "-c", TAKE_PORT])
        self.assertTrue(
            wait_until(lambda: "here" in holder.output(), harness.START_TIMEOUT), holder.describe()
        )
        return holder

    def test_a_process_that_has_the_port_is_named(self):
        host = self.namespace()
        holder = self.take_port(host)
        name = f"process {holder.pid} (python3)"
        self.assertIn(name, self.ask(host, "host", "status"))
        self.assertIn(f"{name} of yours has it alone", self.ask(host, "doctor"))
        self.assertIn(name, self.ask(host, "run", *HOST, "--", *PINGPONG))

    def test_signals_do_not_make_a_switch_that_cannot_start_come_again(self):
        host = self.namespace()
        holder = self.take_port(host)
        namespace = os.readlink(f"/proc/{holder.pid}/ns/net")
        program = self.odd_start(host, "alarmed", *HOST)
        most = 0
        started = time.monotonic()
        while program.is_running() and time.monotonic() - started < harness.START_TIMEOUT:
            most = max(most, number_of_switches(namespace))
            time.sleep(0.05)
        self.assertFalse(program.is_running())
        self.assertIn(f"process {holder.pid} (python3)", program.output())
        self.assertLessEqual(most, 2)

    def test_signals_while_the_switch_starts(self):
        host = self.namespace()
        program = self.odd_start(host, "alarmed", *HOST)
        self.assertTrue(
            wait_until(lambda: "opened" in program.output(), harness.START_TIMEOUT), program.describe()
        )

    def test_few_descriptors_are_said_at_once(self):
        host = self.namespace()
        self.require("prlimit", PINGPONG[0])
        holder = self.odd_start(host, "pinned", *HOST)
        self.assertTrue(
            wait_until(lambda: "opened" in holder.output(), harness.START_TIMEOUT), holder.describe()
        )
        seen = set()
        for limit in range(11, 20):
            words = [
                "prlimit",
                f"--nofile={limit}",
                harness.STAGE.urnic,
                "run",
                *HOST,
                "--",
                harness.STAGE.program("odd_starts"),
                "none",
            ]
            started = time.monotonic()
            program = self.start_on(host, f"limit {limit}", words)
            wait_until(lambda: not program.is_running() or "opened" in program.output(), 8, 0.02)
            self.assertLess(time.monotonic() - started, 8, program.describe())
            seen |= set(re.findall("ulimit -n|Too many open files", program.output()))
            program.kill()
        self.assertIn("ulimit -n", seen)
        self.assertLess(self.ask(host, "host", "status").count("odd_starts"), 2)

    @staticmethod
    def processors_of(program):
        """Where each thread may run, by its name."""
        tasks = pathlib.Path(f"/proc/{program.pid}/task")
        return {
            (task / "comm").read_text().strip(): os.sched_getaffinity(int(task.name))
            for task in tasks.iterdir()
        }

    def test_threads_of_the_nic_run_where_the_program_was_started(self):
        host = self.namespace()
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("there is one processor")
        every = sorted(os.sched_getaffinity(0))
        for environment, expected in (((), set(every)), ((f"URNIC_CPUS={every[-1]}",), {every[-1]})):
            for nic in (HOST, ["--port", "fabric"]):
                program = self.odd_start(host, "pinned", *nic, environment=environment)
                self.assertTrue(
                    wait_until(lambda: "opened" in program.output(), harness.START_TIMEOUT),
                    program.describe(),
                )
                # A thread goes there when it has its first turn.
                others = lambda: {
                    name: where for name, where in self.processors_of(program).items() if name != "odd_starts"
                }
                wait_until(
                    lambda: all(where == expected for where in others().values()), harness.START_TIMEOUT
                )
                self.assertEqual(self.processors_of(program)["odd_starts"], {every[0]})
                self.assertIn("urnic", others())
                self.assertEqual(others(), dict.fromkeys(others(), expected))
                program.kill()

    def test_a_switch_is_not_shackled_as_the_program_that_started_it(self):
        host = self.namespace()
        self.require("taskset", "prlimit")
        every = sorted(os.sched_getaffinity(0))
        words = [
            "taskset",
            "-c",
            every[-1],
            "prlimit",
            "--cpu=1000:2000",
            harness.STAGE.urnic,
            "run",
            "--port",
            "fabric",
            "--",
        ]
        program = self.start_on(host, "shackled", [*words, harness.STAGE.program("odd_starts"), "none"])
        self.assertTrue(
            wait_until(lambda: "opened" in program.output(), harness.START_TIMEOUT), program.describe()
        )
        switch = json.loads(self.ask(host, "fabric", "status", "--json"))["process"]
        self.assertEqual(sorted(os.sched_getaffinity(switch)), every)
        limits = pathlib.Path(f"/proc/{switch}/limits").read_text()
        self.assertRegex(limits, r"Max cpu time +2000 +2000")

    def test_a_switch_that_is_stopped_is_named(self):
        host = self.namespace()
        program = self.odd_start(host, "none", *HOST)
        self.assertTrue(
            wait_until(lambda: "opened" in program.output(), harness.START_TIMEOUT), program.describe()
        )
        switch = json.loads(self.ask(host, "host", "status", "--json"))["process"]
        os.kill(switch, signal.SIGSTOP)
        self.addCleanup(os.kill, switch, signal.SIGCONT)
        self.assertIn(f"kill -CONT {switch}", self.ask(host, "host", "status"))

    def test_a_sandbox_without_files_in_memory_is_named(self):
        program = self.odd_start(self.namespace(), "sandboxed", *HOST)
        self.expect_end(program, code=1)
        self.assertIn("memfd_create: Operation not permitted; a seccomp filter", program.output())

    def test_another_user_has_the_folder_in_tmp(self):
        host = self.namespace()
        pathlib.Path(self.runtime, ".cache").mkdir()
        os.chown(pathlib.Path(self.runtime, ".cache"), harness.NOBODY, harness.NOBODY)
        words = [
            "env",
            "-u",
            "XDG_RUNTIME_DIR",
            harness.STAGE.urnic,
            "run",
            *HOST,
            "--",
            harness.STAGE.program("odd_starts"),
            "none",
        ]
        inside = [*host, "unshare", "-m", "sh", "-c", IN_ANOTHERS_TMP, "sh", harness.STAGE.root]
        program = self.start_plain(
            "program", [*inside, *harness.STAGE.drop_privilege(words)], privileged=True
        )
        wait_until(lambda: "opened" in program.output() or not program.is_running(), harness.START_TIMEOUT)
        self.assertIn("opened", program.output())
        self.assertTrue((pathlib.Path(self.runtime) / ".cache/urnic").is_dir())
