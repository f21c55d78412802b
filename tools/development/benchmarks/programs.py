# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs that measure: started as an ordinary user, with a NIC or without one, and waited for."""
import os
import pathlib
import re
import time

import harness
from stage import Process, Stage

TIMEOUT = 180
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
RDMA_CM_PORT = 7000
ROCE_PORT = 4791


def cmtime_serves_for_ever():
    """Newer ones serve one client, and say other words."""
    return not harness.cmtime_meets_over_tcp()


class Failed(Exception):
    """A program did not do what was asked of it; the text says what it printed."""


class Programs:
    """Starts programs of one measurement after the other; between measurements, end_all(). With a Cable,
    servers and clients are on hosts of their own."""

    def __init__(self, build, cable=None):
        self.stage = Stage(build)
        self.processes = []
        self.cable = cable
        self.server_address = cable.SERVER if cable else "127.0.0.1"
        self.server_side, self.client_side = (cable.server_side, cable.client_side) if cable else ((), ())

    def close(self):
        self.end_all()
        self.stage.close()

    def end_all(self):
        for process in self.processes:
            process.kill()
        self.processes = []

    def start(self, name, command, runtime, environment=None, side=()):
        """`side` are the words that run a program on its host."""
        words = [str(word) for word in command]
        if side:
            words = [*side, *self.stage.drop_privilege(words)]
        variables = {**self.stage.environment(runtime), **(environment or {})}
        process = Process(name, words, variables, runtime, privileged=bool(side), stage=self.stage)
        self.processes.append(process)
        return process

    def with_nic(self, port, command, address=None, more=()):
        """The command with a NIC; `port` is what --port says, or None, and `address` what --ip says.
        `more` are other options of 'urnic run'."""
        options = [*(["--port", port] if port else []), *(["--ip", f"{address}/24"] if address else [])]
        return [self.stage.urnic, "run", *options, *more, "--", *command]

    def finish(self, process):
        if process.wait(TIMEOUT) != 0:
            raise Failed(process.describe())
        return process.output()

    def wait_for(self, condition, process):
        if (
            not harness.wait_until(lambda: condition() or not process.is_running(), harness.START_TIMEOUT)
            or not condition()
        ):
            raise Failed(process.describe())

    def pair(
        self, server_command, client_command, tcp_port, environment=None, runtime=None, by_rdma_cm=False
    ):
        """A server that listens on `tcp_port`, or there by rdma_cm, then its client; what the client says.
        Both must end with 0. `runtime` is a folder that several pairs share."""
        runtime = runtime or self.stage.folder()
        server = self.start("server", server_command, runtime, environment, self.server_side)
        listens = (
            (lambda: self.has_listener(runtime))
            if by_rdma_cm
            else (lambda: harness.is_listening(tcp_port, server.pid))
        )
        self.wait_for(listens, server)
        output = self.finish(self.start("client", client_command, runtime, environment, self.client_side))
        self.finish(server)
        return output

    def has_listener(self, runtime):
        """Whether a program there listens by rdma_cm."""
        asked = self.start("stat", [self.stage.urnic, "stat", "--json"], runtime)
        asked.wait(TIMEOUT)
        return '"LISTEN"' in asked.output()

    def await_roce_port(self):
        """The switch that programs of an earlier measurement shared (--port host) stays for some seconds,
        and programs of another runtime folder cannot have its UDP port."""
        hosts = self.cable.processes if self.cable else ["self"]
        tables = [pathlib.Path(f"/proc/{host}/net/{table}") for host in hosts for table in ("udp", "udp6")]
        is_free = lambda: not any(f":{ROCE_PORT:04X} " in table.read_text() for table in tables)
        if not harness.wait_until(is_free, harness.START_TIMEOUT, 0.05):
            raise Failed(f"UDP port {ROCE_PORT} stays taken: 'urnic doctor' says by whom")

    def all_to_all(self, command_of, size, seconds):
        """Rounds a second of `size` programs that are told the same words, and their ranks; all must end with
        0."""
        port, runtime, rounds = harness.free_port(), self.stage.folder(), 1000 * seconds
        words = ["--size", size, "--port", port, "--rounds", rounds]
        ranks = [
            self.start(f"rank {rank}", command_of(["--rank", rank, *words]), runtime) for rank in range(size)
        ]
        slowest = max(
            float(re.search(r"verified, ([\d.]+) s$", self.finish(rank), re.MULTILINE).group(1))
            for rank in ranks
        )
        return rounds / slowest


SERVER, CLIENT = "10.99.0.1", "10.99.0.2"  # the NICs' addresses where programs connect by them
# Over UDP sockets a NIC has an address of the host, which is its own: on the loopback every 127.x.y.z is one.
ON_LOOPBACK = ("udp:127.99.0.1", "udp:127.99.0.2")


class Ours:
    """Measurements of urnic over one port; every method runs programs once. `options` are further ones of
    'urnic run', for both ends."""

    def __init__(self, programs, port, seconds, options=()):
        self.programs, self.port, self.seconds, self.options = programs, port, seconds, options

    def with_nic(self, port, command, address=None):
        return self.programs.with_nic(port, command, address, self.options)

    def measure(self, find):
        """What `find`, which calls one of the methods, finds."""
        if harness.has_host_addresses(self.port):
            self.programs.await_roce_port()
        return find(self)

    def perftest(self, program, *options, on_one_core=False):
        """The columns of the one line of results."""
        tcp_port = harness.free_port()
        words = [program, "-d", "urnic0", "-x", "1", "-F", "-p", tcp_port, *options]
        where = first_core() if on_one_core else []
        server, client = ([*where, *self.with_nic(port, words)] for port in self.ports_of_pair())
        output = self.programs.pair(server, [*client, self.programs.server_address], tcp_port)
        # What --explain or --sanitize says when the program ends may begin on the same line.
        rows = re.findall(r"^ *\d+ +\d+(?:[ \t]+[\d.]+)+", output, re.MULTILINE)
        if len(rows) != 1:
            raise Failed(output)
        return [float(column) for column in rows[0].split()]

    def pair_with(self, environment):
        """A program of a framework as server and as client, each with a NIC; see frameworks.py."""

        def run(server, client, tcp_port):
            with_nics = [
                self.with_nic(port, words) for port, words in zip(self.ports_of_pair(), (server, client))
            ]
            return self.programs.pair(*with_nics, tcp_port, environment)

        return run

    def ports_of_pair(self):
        """What --port says for a server and for its client."""
        is_one_host = self.programs.cable is None
        return ON_LOOPBACK if self.port == "udp" and is_one_host else (self.port, self.port)

    def bandwidth(self, program, mtu=None):
        """Gb/s of 64 KiB messages, with the link's path MTU where none is given; the fourth column is the
        average."""
        options = ["-m", mtu] if mtu else []
        return self.perftest(program, "-s", 65536, *options, "-D", self.seconds, "--report_gbits")[3]

    def latency(self, program, size, *options):
        """Typical time in us, the fifth column: half a round trip, of READ a whole one. Less often with
        events, which take longer."""
        count = (4000 if "-e" in options else 20000) * self.seconds
        return self.perftest(program, "-s", size, "-n", count, *options)[4]

    def average_on_one_core(self, program, size):
        """Mean half round trip in us of two programs that share a core."""
        return self.perftest(program, "-s", size, "-n", 10000 * self.seconds, on_one_core=True)[5]

    def bandwidth_on_one_core(self, program):
        """Gb/s of 64 KiB messages between two programs that share a core."""
        return self.perftest(program, "-s", 65536, "-D", self.seconds, "--report_gbits", on_one_core=True)[3]

    def write_rate(self, queue_pairs):
        """Millions of 64-byte messages per second."""
        return self.perftest("ib_write_bw", "-s", 64, "-q", queue_pairs, "-D", self.seconds)[4]

    def all_to_all(self, size):
        """Rounds a second of `size` programs that sleep until something comes; in a round each sends each
        other one a WRITE and a SEND of random length, which are verified."""
        program = self.programs.stage.program("all_to_all")
        return self.programs.all_to_all(
            lambda words: self.with_nic(self.port, [program, *words]), size, self.seconds
        )

    def connection_rate(self):
        """Connections a second that are made by rdma_cm, used for one message each way, and ended, one after
        the other."""
        program = self.programs.stage.program("connection_row")
        words = lambda role, *more: [program, "rdma", role, SERVER, RDMA_CM_PORT, *more]
        output = self._connect_by_address(words("server"), words("client", 500 * self.seconds))
        return float(re.search(r"^(\d+) connections a second$", output, re.MULTILINE).group(1))

    def time_of_step(self, step):
        """Microseconds that a step of 200 connections at once takes, each."""
        server = ["cmtime", "-b", SERVER, "-c", 200]
        output = self._connect_by_address(server, ["cmtime", "-s", SERVER, "-b", CLIENT, "-c", 200])
        return float(re.search(rf"^{step} *:.* ([\d.]+)$", output, re.MULTILINE).group(1))

    def _connect_by_address(self, server_command, client_command):
        """Runs a server that does not end by itself, and its client; returns what the client says."""
        runtime = self.programs.stage.folder()
        server = self.programs.start("server", self.with_nic(self.port, server_command, SERVER), runtime)
        self.programs.wait_for(lambda: self.programs.has_listener(runtime), server)
        output = self.programs.finish(
            self.programs.start("client", self.with_nic(self.port, client_command, CLIENT), runtime)
        )
        server.kill()
        return output

    def idle(self):
        """(percent of a core, MB resident) of a program that holds a device and a queue pair and waits."""
        runtime, port = self.programs.stage.folder(), harness.free_port()
        words = self.with_nic(
            self.ports_of_pair()[0], ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", port]
        )
        program = self.programs.start("idle", words, runtime)
        self.programs.wait_for(lambda: harness.is_listening(port), program)
        time.sleep(1)
        before, began = cpu_seconds(program.pid), time.monotonic()
        time.sleep(self.seconds)
        percent = 100 * (cpu_seconds(program.pid) - before) / (time.monotonic() - began)
        status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
        program.kill()
        return percent, int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024


def first_core():
    """Words that let a program run there alone."""
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS
