# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The port for test benches: programs and benches in one virtual time."""
import hashlib
import importlib.util
import os
import pathlib
import threading

import harness
from harness import ClientTest


def bench_module():
    """The module of the Python package, which stands alone."""
    path = harness.PROJECT / "tools/deployment/python/urnic/lock_step.py"
    spec = importlib.util.spec_from_file_location("lock_step", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lock_step = bench_module()

LATENCY_PS = 2_000_000
SECOND_PS = 10**12


class BenchTest(ClientTest):
    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.runtime, "bench.sock")

    def listen(self):
        listener = lock_step.listen(self.socket)
        os.chmod(self.socket, 0o777)  # the programs may be another user's
        self.addCleanup(lambda: pathlib.Path(self.socket).unlink(missing_ok=True))
        self.addCleanup(listener.close)
        return listener

    def nic(self, number=1):
        return ["--port", f"bench:{self.socket}", "--ip", f"10.77.0.{number}/24"]


class Relayed(BenchTest):
    """Two NICs whose wires a relay joins."""

    def accept_into(self, relay, listener):
        try:
            relay.accept(listener)
        except TimeoutError:
            self.fail_with("a NIC does not connect")

    def run_pair(self, name, commands, meets_at=None):
        """Runs both, each on a NIC, until they have ended well. Returns the frames that either NIC sent, with
        the times at which they arrive, the recordings of both, and what the programs say. Programs that open
        their NIC only after they have met at a TCP port connect in any order."""
        listener = self.listen()
        captures = [os.path.join(self.runtime, f"{name}{end}.pcap") for end in (0, 1)]
        listener.settimeout(harness.START_TIMEOUT)
        relay, processes = lock_step.Relay(LATENCY_PS), []
        self.addCleanup(relay.close)
        for end in (0, 1):
            nic = [*self.nic(end + 1), "--pcap", captures[end]]
            processes.append(self.start(f"{name}{end}", commands[end], nic))
            if meets_at is None:
                self.accept_into(relay, listener)
            elif end == 0:
                self.wait_for_listener(processes[0], meets_at)
        if meets_at is not None:
            for _ in commands:
                self.accept_into(relay, listener)
        thread = threading.Thread(target=relay.run, daemon=True)
        thread.start()
        for process in processes:
            self.expect_end(process, 60)
        thread.join(10)
        relay.close()
        listener.close()
        os.unlink(self.socket)
        recordings = [pathlib.Path(capture).read_bytes() for capture in captures]
        return relay.frames, recordings, [process.output() for process in processes]

    def run_programs(self, name, *options):
        """Two of our programs; their frames and recordings."""
        files = [os.path.join(self.runtime, f"{name}{end}") for end in (0, 1)]
        program = harness.STAGE.program("lock_step")
        commands = [
            [program, "--own", files[end], "--peer", files[1 - end], "--starts", str(end), *options]
            for end in (0, 1)
        ]
        frames, recordings, outputs = self.run_pair(name, commands)
        for output in outputs:
            self.assertIn("done", output)
        return frames, recordings

    def check_two_runs(self, *options):
        frames, captures = self.run_programs("first", *options)
        again, captures_again = self.run_programs("second", *options)
        self.assertGreater(len(frames[1]), 20 * 4)
        for end in (0, 1):
            for number, (one, other) in enumerate(zip(frames[end], again[end])):
                self.assertEqual(one, other, f"frame {number} of NIC {end}")
            self.assertEqual(len(frames[end]), len(again[end]))
            hashes = [hashlib.sha256(capture).hexdigest() for capture in (captures[end], captures_again[end])]
            self.assertEqual(hashes[0], hashes[1], "the recordings")
        return frames

    def test_two_runs_that_poll_are_the_same(self):
        self.check_two_runs("--rounds", "20")

    def test_two_runs_that_sleep_until_an_event_comes_are_the_same(self):
        self.check_two_runs("--rounds", "20", "--events", "1")

    def test_no_time_is_lost_while_programs_wait_for_each_other(self):
        """20 rounds of three round trips, on a wire with a latency of 2 us."""
        frames = self.check_two_runs("--rounds", "20")
        last = max(time for end in frames for time, _ in end)
        self.assertGreater(last, 20 * 3 * 2 * LATENCY_PS)
        self.assertLess(last, 20 * 4 * 2 * LATENCY_PS)

    def test_programs_that_wait_in_other_ways(self):
        """For events of rdma_cm, for each other over TCP, and for bytes in their own memory."""
        self.require("rping", "ib_write_lat")
        port = str(harness.free_port())
        rping = ["rping", "-a", "10.77.0.1", "-C", "20", "-V", "-p", "7174"]
        frames, _, _ = self.run_pair("rping", [[*rping, "-s"], [*rping, "-c"]])
        self.assertGreater(min(len(sent) for sent in frames), 20)
        write = ["ib_write_lat", "-d", "urnic0", "-x", "1", "-F", "-m", "1024", "-n", "200", "-p", port]
        _, _, outputs = self.run_pair("write", [write, [*write, "localhost"]], meets_at=int(port))
        self.assertRegex(outputs[1], r"(?m)^ *2 +200 ")


class Peers(BenchTest):
    """Peers that are not there, or go away."""

    def refusal(self, *nic):
        process = self.start("refused", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1"], nic or self.nic())
        self.assertNotEqual(process.wait(harness.START_TIMEOUT), 0)
        return process.output()

    def test_no_bench(self):
        self.assertIn(
            f"bench {self.socket}: No such file or directory; start the bench first", self.refusal()
        )

    def test_a_file_that_is_no_socket(self):
        pathlib.Path(self.socket).write_text("")
        self.assertIn("that is no socket", self.refusal())

    def test_a_bench_that_has_ended(self):
        self.listen().close()
        self.assertIn("no process listens there any more", self.refusal())

    def test_progress_cannot_be_chosen(self):
        self.environment["URNIC_PROGRESS"] = "thread"
        self.listen()
        self.assertIn("time goes on in one way only", self.refusal())

    def test_two_devices_on_one_wire(self):
        self.listen()
        self.assertIn("is for one NIC alone", self.refusal(*self.nic(), "--devices", "2"))

    def test_a_bench_that_goes_away(self):
        """The program learns it as from a card whose cable is pulled out, and its requests fail."""
        listener = self.listen()
        watch = [
            harness.STAGE.program("lock_step"),
            "--own",
            f"{self.runtime}/a",
            "--peer",
            f"{self.runtime}/b",
        ]
        pathlib.Path(f"{self.runtime}/b.made").write_text("::ffff:10.77.0.2 77 5\n")
        for step in ("connected", "ready"):
            pathlib.Path(f"{self.runtime}/b.{step}").write_text("yes\n")
        process = self.start("program", [*watch, "--starts", "1"], self.nic())
        listener.settimeout(harness.START_TIMEOUT)
        peer = lock_step.accept(listener, LATENCY_PS)
        self.assertEqual(peer.nic.ipv4, bytes((10, 77, 0, 1)))
        peer.advance(0)
        peer.close()
        self.expect_end(process, code=1)
        self.assertIn("a work request failed: transport retry counter exceeded", process.output())
        self.assertIn("event: port error", process.output())
        line = f"urnic: bench {self.socket}: it has closed the connection; the link is down from now on"
        self.assertEqual(process.output().count(line), 1)
