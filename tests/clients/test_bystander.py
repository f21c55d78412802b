# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A program that takes nothing stops only what is sent to it."""
import json
import os
import pathlib
import re
import signal
import time

import harness
from harness import ClientTest, free_port, wait_until

# Before, a READ took as long as the other program was stopped. On a machine that is crowded it may take some
# tenths of a second.
LONGEST_US = 500_000


def descendants(pid):
    """The process and all below it, whatever PID namespace they are in."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            children.setdefault(int(stat.read_text().rsplit(")", 1)[1].split()[1]), []).append(
                int(stat.parent.name)
            )
        except OSError:
            continue
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


class Bystander(ClientTest):
    STOP = 3  # seconds; run.py --stop says otherwise
    ATTEMPTS = 3

    def setUp(self):
        super().setUp()
        if harness.port_has_two_ends():
            self.skipTest("a wire has two ends")

    def run_three(self, interfere, seconds=None, own_pids=(), **options):
        """Three programs; `interfere` does something to the second one while the first writes to it. What the
        first says."""
        port, size, seconds = free_port(), 3, seconds or self.STOP + 2
        words = [harness.STAGE.program("bystander"), "--size", size, "--port", port, "--seconds", seconds]
        for option, value in options.items():
            words += [f"--{option.replace('_', '-')}", value]
        ranks = []
        for rank in range(size):
            command = [str(word) for word in [*words, "--rank", rank]]
            if rank in own_pids:
                ranks.append(self.start_with_own_pids(f"rank {rank}", command))
            else:
                ranks.append(self.start(f"rank {rank}", command))
        hub = ranks[0]
        if not wait_until(lambda: "ready" in hub.output() or not hub.is_running(), harness.START_TIMEOUT):
            self.fail_with("they do not meet")
        interfere(ranks)
        self.expect_end(hub)
        numbers = dict(re.findall(r"(\w+)=([0-9.]+)", hub.output()))
        print(f"{self.id()}: {hub.output().splitlines()[-1]}")
        return {name: float(value) for name, value in numbers.items()}

    def start_with_own_pids(self, name, command):
        if not harness.STAGE.is_root:
            self.skipTest("needs root: a PID namespace")
        words = harness.STAGE.drop_privilege(
            [harness.STAGE.urnic, "run", *harness.nic_options(()), "--", *command]
        )
        inside = self.own_host() if harness.is_host_shared() else []
        return self.start_plain(
            name,
            [*inside, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *words],
            privileged=True,
        )

    @staticmethod
    def stop(process, seconds):
        stopped = descendants(process.pid)
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)

    def ack_timeouts(self):
        """How many expired, of each NIC."""
        asked = self.start_plain("stat", [harness.STAGE.urnic, "stat", "--json"])
        self.assertEqual(asked.wait(20), 0, asked.describe())
        return [
            process["counters"]["local_ack_timeout_err"]
            for process in json.loads(asked.output())["processes"]
        ]

    def test_nothing_happens(self):
        numbers = self.run_three(lambda ranks: None, seconds=3)
        self.assertGreater(numbers["writes"], 0)
        self.assertEqual(numbers["failed"], 0)

    def test_one_in_another_pid_namespace_is_stopped(self):
        """What cannot be seen from outside, as it cannot of a container that is paused."""
        numbers = self.run_three(
            lambda ranks: (time.sleep(1), self.stop(ranks[1], self.STOP)), own_pids=(0, 1)
        )
        self.assertLess(numbers["longest_us"], LONGEST_US)
        self.assertGreater(numbers["failed"], 0)
        # Eight times 67 ms; those that have sent nothing begin to count half a second later.
        self.assertLess(numbers["after_s"], 3)

    def test_one_is_stopped_for_a_moment(self):
        numbers = self.run_three(lambda ranks: (time.sleep(1), self.stop(ranks[1], 0.2)), seconds=3)
        self.assertLess(numbers["longest_us"], LONGEST_US)
        self.assertEqual(numbers["failed"], 0)

    def test_the_writer_is_stopped_for_a_while(self):
        """Its answers wait: nothing is sent again. In a crowd something may be, whoever is stopped; if
        that were the reason, it would be each time."""
        for _ in range(self.ATTEMPTS):
            counts = []

            def stop_it(ranks):
                time.sleep(1)
                # What was sent before they had links may have been lost.
                counts.append(self.ack_timeouts())
                self.stop(ranks[0], self.STOP)
                time.sleep(0.5)
                counts.append(self.ack_timeouts())

            numbers = self.run_three(stop_it, seconds=self.STOP + 4)
            self.assertEqual(numbers["failed"], 0)
            before, after = counts
            self.assertEqual((len(before), len(after)), (3, 3))
            if before == after:
                return
        self.fail(f"ACK timeouts before and after the stop: {before}, {after}")


class FanIn(ClientTest):
    """Thirty programs write to one. Four of them are stopped, and four starved: they run for a fiftieth of
    the time. The one has a processor to itself: it would have to share it with a writer or more otherwise,
    as luck has it."""

    WRITERS, STOPPED, STARVED = 30, 4, 4
    SECONDS, ATTEMPTS = 3, 3
    CROWD = 8

    def setUp(self):
        super().setUp()
        if harness.port_has_two_ends():
            self.skipTest("a wire has two ends")
        self.require("taskset")
        first, *others = sorted(os.sched_getaffinity(0))
        if not others:
            self.skipTest("needs two processors")
        self.processors = str(first), ",".join(map(str, others))

    def start_all(self, writers):
        port = free_port()
        words = [
            harness.STAGE.program("fan_in"),
            "--size",
            writers + 1,
            "--port",
            port,
            "--seconds",
            self.SECONDS,
        ]
        ranks = []
        for rank in range(writers + 1):
            processors = self.processors[0 if rank == 0 else 1]
            ranks.append(
                self.start(
                    f"rank {rank}",
                    [str(word) for word in ["taskset", "-c", processors, *words, "--rank", rank]],
                )
            )
        is_ready = lambda: "ready" in ranks[0].output() or not ranks[0].is_running()
        if not wait_until(is_ready, 2 * harness.START_TIMEOUT):
            self.fail_with("they do not meet")
        return ranks

    def bytes_of(self, ranks):
        """What they have written together; none of them has failed."""
        written = 0
        for rank in ranks:
            self.expect_end(rank)
            said = re.search(r"wrote bytes=(\d+) failed=0$", rank.output(), re.MULTILINE)
            self.assertTrue(said, rank.describe())
            written += int(said[1])
        return written

    @staticmethod
    def pids_of(ranks):
        return [pid for rank in ranks for pid in descendants(rank.pid)]

    @staticmethod
    def signal_all(pids, number):
        for pid in pids:
            os.kill(pid, number)

    def starve(self, pids, until):
        while time.monotonic() < until:
            self.signal_all(pids, signal.SIGSTOP)
            time.sleep(0.049)
            self.signal_all(pids, signal.SIGCONT)
            time.sleep(0.001)

    def run_alone(self):
        hub, *writers = self.start_all(self.WRITERS - self.STOPPED - self.STARVED)
        self.expect_end(hub)
        return self.bytes_of(writers)

    def run_with_them(self):
        hub, *writers = self.start_all(self.WRITERS)
        end = time.monotonic() + self.SECONDS
        left_alone = writers[self.STOPPED + self.STARVED :]
        stopped, starved = self.pids_of(writers[: self.STOPPED]), self.pids_of(
            writers[self.STOPPED : -len(left_alone)]
        )
        self.signal_all(stopped, signal.SIGSTOP)
        self.starve(starved, end)
        self.signal_all(stopped, signal.SIGCONT)
        self.expect_end(hub)
        written = self.bytes_of(left_alone)
        for rank in writers[: -len(left_alone)]:
            self.expect_end(rank)
        return written

    def test_nobody_fails_in_a_crowd(self):
        # Each waits for its turn on a processor for longer than an ACK timeout, and so do the threads that
        # make links.
        self.require("setsid")
        for number in range(self.CROWD):
            self.start_plain(f"spinner {number}", ["setsid", "sh", "-c", "while :; do :; done"])
        hub, *writers = self.start_all(self.WRITERS)
        self.expect_end(hub)
        self.bytes_of(writers)

    def test_the_others_write_as_much_as_without_them(self):
        # Within a tenth on a quiet machine, which may be half as fast from one moment to the next. Where back
        # pressure is the port's, next to nothing is left.
        for _ in range(self.ATTEMPTS):
            alone, beside = self.run_alone(), self.run_with_them()
            print(f"{self.id()}: {beside / alone:.2f} of {alone / self.SECONDS / 1e9:.2f} GB/s")
            if beside > 0.8 * alone:
                return
        self.fail("the writers that are left alone write less")
