# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Open MPI and MPICH over UCX, on two hosts whose NICs have the hosts' addresses; ordinary users run them."""
import pathlib
import re
import shutil
import subprocess

import harness
from hosts import HostsTest
from remote_shell import RemoteShell

HERE = pathlib.Path(__file__).resolve().parent


class Mpi(HostsTest):
    PACKAGES = "mpi"
    RANKS = 4
    # What UCX sends over UD gets lost when a rank of four has no core of two for a while, and UCX waits long
    # before it repeats it.
    LARGEST = {"rc_verbs,ud_verbs": 1 << 20, "ud_verbs": 8192}

    def compile(self, compiler):
        self.require(compiler)
        program = harness.STAGE.root / "bin" / f"mpi_exchange.{compiler}"
        if not program.exists():
            subprocess.run(
                [
                    compiler,
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-O2",
                    "-o",
                    program,
                    HERE / "programs/mpi_exchange.c",
                ],
                check=True,
            )
        return program

    def set_up(self):
        """Two hosts, and what starts programs on them: the words of a remote shell."""
        here, there = self.hosts()
        hosts = {self.HERE: here, self.THERE: there}
        socket = self.runtime / "shell"
        shell = RemoteShell(
            socket, lambda host, line: self.start_on(hosts[host], f"shell on {host}", ["sh", "-c", line])
        )
        self.addCleanup(shell.close)
        agent = harness.STAGE.root / "bin/remote_shell.py"
        shutil.copy2(HERE / "remote_shell.py", agent)
        script = self.runtime / "agent"
        script.write_text(f'#!/bin/sh\nexec python3 {agent} {socket} "$@"\n')
        script.chmod(0o755)
        return here, script

    def run_job(self, launcher, compiler, words, environment):
        """All ranks with all ways of UCX to a peer."""
        program = self.compile(compiler)
        self.require(launcher)
        here, agent = self.set_up()
        for transports, largest in self.LARGEST.items():
            variables = {
                "UCX_TLS": f"{transports},self",
                "UCX_NET_DEVICES": "urnic0:1",
                "UCX_WARN_UNUSED_ENV_VARS": "n",
                **environment,
            }
            ranks = [
                "env",
                *(f"{name}={value}" for name, value in variables.items()),
                harness.STAGE.urnic,
                "run",
                "--port",
                "host",
                "--",
                program,
                str(largest),
            ]
            job = self.start_on(here, launcher, [launcher, *words(agent), "-n", self.RANKS, *ranks])
            self.expect_end(job, 120)
            done = re.search(r"done: (\d+) ranks, (\d+) bytes right", job.output())
            if not done:
                self.fail_with("bytes compared expected")
            self.assertEqual(int(done[1]), self.RANKS)
            self.assertGreater(int(done[2]), 100 * largest)

    def hosts_of_job(self, separator):
        return ",".join(f"{host}{separator}{self.RANKS // 2}" for host in (self.HERE, self.THERE))

    def test_open_mpi(self):
        def words(agent):
            settings = {"plm_rsh_agent": agent, "pml": "ucx", "osc": "ucx", "btl": "self"}
            return [
                "--host",
                self.hosts_of_job(":"),
                *(word for name, value in settings.items() for word in ("--mca", name, value)),
            ]

        self.run_job("mpirun.openmpi", "mpicc.openmpi", words, {})

    def test_mpich(self):
        def words(agent):
            return [
                "-launcher",
                "ssh",
                "-launcher-exec",
                agent,
                "-hosts",
                self.hosts_of_job(":"),
                "-iface",
                "cable",
            ]

        # Otherwise ranks of one host exchange messages through memory that MPICH shares among them.
        self.run_job("mpiexec.mpich", "mpicc.mpich", words, {"MPIR_CVAR_NOLOCAL": "1"})
