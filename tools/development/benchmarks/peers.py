# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What others make of the same machine: TCP and UDP over the kernel's loopback, or over a cable; and what
the machine itself is able to."""
import json
import os
import re

import harness
from benchmarks.programs import Failed, first_core


class Peers:
    """Every method runs a server and a client once."""

    def __init__(self, programs, seconds):
        self.programs, self.seconds = programs, seconds

    def limit(self, size, what):
        """What two processes reach with one copy and one CRC on each side of a ring: `gbps`, `mpps` or
        `half_round_trip_us` of packets of this size. See limit_bench.cc."""
        command = [self.programs.stage.program("limit_bench"), size]
        output = self.programs.finish(self.programs.start("limit", command, self.programs.stage.folder()))
        return json.loads(output)[str(size)][what]

    def tcp_bandwidth(self, on_one_core=False):
        """Gb/s of one stream."""
        return (
            self._iperf(where=first_core() if on_one_core else [])["end"]["sum_received"]["bits_per_second"]
            / 1e9
        )

    def udp_bandwidth(self):
        """Gb/s that arrive, as datagrams that fill the link MTU of the cable and are sent one by one."""
        sent = self._iperf("-u", "-b", 0, "-l", self.programs.cable.mtu - 28)["end"]["sum"]
        return sent["bits_per_second"] * (1 - sent["lost_percent"] / 100) / 1e9

    def _iperf(self, *options, where=()):
        port = harness.free_port()
        client = [
            *where,
            "iperf3",
            "-c",
            self.programs.server_address,
            "-p",
            port,
            "-t",
            self.seconds,
            "-J",
            *options,
        ]
        said = self.programs.pair([*where, "iperf3", "-s", "-1", "-p", port], client, port)
        return json.loads(said[said.index("{") :])  # after its warnings

    def tcp_connection_rate(self):
        """Connections a second that are made, used for one message each way, and ended, one after the other."""
        port, runtime = harness.free_port(), self.programs.stage.folder()
        words = lambda role, *more: [
            self.programs.stage.program("connection_row"),
            "tcp",
            role,
            "127.0.0.1",
            port,
            *more,
        ]
        server = self.programs.start("server", words("server"), runtime)
        self.programs.wait_for(lambda: harness.is_listening(port), server)
        output = self.programs.finish(
            self.programs.start("client", words("client", 2000 * self.seconds), runtime)
        )
        server.kill()
        return float(_found(r"^(\d+) connections a second$", output))

    def udp_latency(self, size, spin=False, share_core=False):
        """Median half round trip in us: sockperf halves, as perftest does. Its messages have at least 14
        bytes.

        Left alone the scheduler puts the two now on one core and now on two, and waking a core may take ten
        times what a change on one takes: so each has a core of its own, as our programs do, unless they share
        one. (Where there is but one core, they do in any case.)"""
        runtime, port = self.programs.stage.folder(), harness.free_port()
        cores = sorted(os.sched_getaffinity(0))
        common = ["-i", self.programs.server_address, "-p", port, *(["--nonblocked"] if spin else [])]
        on_first, on_other = ["taskset", "-c", cores[0]], ["taskset", "-c", cores[0 if share_core else -1]]
        words = [*on_first, "sockperf", "server", *common]
        server = self.programs.start("sockperf", words, runtime, side=self.programs.server_side)
        self.programs.wait_for(lambda: "Warmup" in server.output() or _udp_is_bound(port, server.pid), server)
        words = [*on_other, "sockperf", "ping-pong", *common, "-m", max(size, 14), "-t", self.seconds]
        output = self.programs.finish(
            self.programs.start("sockperf", words, runtime, side=self.programs.client_side)
        )
        server.kill()
        return float(_found(r"percentile 50\.000 = +([\d.]+)", output))

    def tcp_all_to_all(self, size):
        """Rounds a second of `size` programs that each send each other one two messages; see
        Ours.all_to_all()."""
        program = self.programs.stage.program("all_to_all_tcp")
        return self.programs.all_to_all(lambda words: [program, *words], size, self.seconds)

    def pair_with(self, environment):
        """A program of a framework as server and as client; see frameworks.py."""
        return lambda server, client, port: self.programs.pair(server, client, port, environment)


def _found(pattern, output):
    match = re.search(pattern, output, re.MULTILINE)
    if match is None:
        raise Failed(output)
    return match.group(1)


def _udp_is_bound(port, pid):
    with open(f"/proc/{pid}/net/udp") as lines:
        return any(line.split()[1].endswith(f":{port:04X}") for line in lines)
