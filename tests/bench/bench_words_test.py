# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What tools/bench says of what was measured: goals, what stands beside what, and the comparison of two commits."""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(PROJECT / "tools/development"), str(PROJECT / "tests/clients")]

from benchmarks import frameworks  # noqa: E402
from benchmarks.history import History, Unknown  # noqa: E402
from benchmarks.measures import (
    PEERS,
    Measure,
    cable_measures,
    chosen_measures,
    own_measures,
    rows_of,
    rows_with_options,
)  # noqa: E402
from benchmarks.programs import Failed  # noqa: E402
from benchmarks.report import row  # noqa: E402
from benchmarks.sweep import Cell, Line, cells_in, faults_in, lines_of, median_of  # noqa: E402


# As perftest 4.5 prints it.
LATENCY_OUTPUT = """
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.02           442.24       1.30     \t       1.36        \t0.90   \t\t2.10    \t\t442.24
 4       1000          1.02           14.82        1.29     \t       1.29        \t0.35   \t\t1.86    \t\t14.82
"""
BANDWIDTH_OUTPUT = """
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 2          1000           0.078969            0.008023            0.500000
 65536      1000             78.96              70.00   \t\t   0.133500
"""


class WithOptions(unittest.TestCase):
    def rows(self, name, found):
        return rows_with_options(Measure(name, "us", None), "fabric", found)

    def test_compares_each_with_the_plain_one(self):
        plain, like, both = self.rows(
            "2 B", {"": [2, 1, 3], "--like strict": [3, 3, 3], "--like e810 --sanitize": [4, 4, 5]}
        )
        self.assertEqual((plain["name"], plain["ours"], plain["peers"]), ("2 B", 2, {}))
        self.assertEqual((like["name"], like["peers"]["plain"]["ratio"]), ("2 B, --like strict", 1.5))
        self.assertEqual((both["ours"], both["peers"]["plain"]["value"]), (4, 2))
        self.assertEqual({plain["goal"], like["goal"], both["met"]}, {None})

    def test_compares_the_memory_of_idle_programs(self):
        plain, explained = self.rows("idle", {"": [(0.5, 10), (0.1, 12)], "--explain": [(9, 22), (9, 22)]})
        self.assertEqual((plain["name"], plain["unit"], plain["ours"]), ("idle: memory", "MB", 11))
        self.assertEqual(
            (explained["name"], explained["peers"]["plain"]["ratio"]), ("idle: memory, --explain", 2)
        )


class Sweep(unittest.TestCase):
    LATENCY = Line("host", "ib_send_lat", "RC", "")
    BANDWIDTH = Line("host", "ib_send_bw", "RC", "")

    def faults(self, line, cells, tcp_gbits=0, others=()):
        table = {line: cells, **dict(others)}
        return {size: why for (of, size), why in faults_in(table, tcp_gbits).items() if of == line}

    def test_reads_what_perftest_prints(self):
        self.assertEqual(
            cells_in(LATENCY_OUTPUT, True), {2: Cell(1.30, average_us=1.36), 4: Cell(1.29, average_us=1.29)}
        )
        self.assertEqual(
            cells_in(BANDWIDTH_OUTPUT, False),
            {2: Cell(2.0, gbits=0.008023), 65536: Cell(1 / 0.1335, gbits=70.0)},
        )
        self.assertEqual(cells_in("no rows", True), {})

    def test_takes_the_median_of_turns(self):
        turns = [{2: Cell(time, average_us=2 * time)} for time in (5, 1, 2)]
        self.assertEqual(median_of(turns), {2: Cell(2, average_us=4)})
        self.assertEqual(median_of([]), {})

    def test_names_what_is_slower_than_a_larger_message(self):
        self.assertEqual(
            self.faults(self.LATENCY, {64: Cell(2.0), 128: Cell(1.0), 256: Cell(1.1)}),
            {64: "slower than 128 B"},
        )

    def test_does_not_judge_the_first_contact(self):
        self.assertEqual(
            self.faults(
                self.BANDWIDTH, {2: Cell(50.0, gbits=1), 4: Cell(10.0, gbits=1), 8: Cell(1.0, gbits=1)}
            ),
            {},
        )

    def test_names_what_is_slower_than_its_kind(self):
        others = [(Line("host", "ib_send_lat", f"RC {number}", ""), {64: Cell(1.0)}) for number in range(3)]
        self.assertEqual(self.faults(self.LATENCY, {64: Cell(4.0)}, others=others), {64: "4.0 x its kind"})
        elsewhere = [
            (Line("fabric", "ib_send_lat", f"RC {number}", ""), {64: Cell(1.0)}) for number in range(3)
        ]
        self.assertEqual(self.faults(self.LATENCY, {64: Cell(4.0)}, others=elsewhere), {})

    def test_names_a_long_tail(self):
        self.assertEqual(
            self.faults(self.LATENCY, {64: Cell(1.0, average_us=1.2), 128: Cell(1.0, average_us=2.0)}),
            {128: "average 2.0 x typical"},
        )

    def test_names_what_carries_less_than_tcp(self):
        cells = {4096: Cell(1.0, gbits=10), 65536: Cell(10.0, gbits=15), 131072: Cell(20.0, gbits=30)}
        self.assertEqual(self.faults(self.BANDWIDTH, cells, tcp_gbits=20), {65536: "0.75 x TCP"})

    def test_has_each_line_once(self):
        lines = list(lines_of("host"))
        self.assertEqual(len(lines), len(set(lines)))
        names = set(map(str, lines))
        for name in (
            "ib_write_lat -c UC, host",
            "ib_send_bw -c UD -b, host",
            "ib_atomic_lat -c RC, host",
            "ib_read_bw -c XRC -q 8, host",
        ):
            self.assertIn(name, names)
        for name in ("ib_read_bw -c UC, host", "ib_write_lat -c RC -e, host", "ib_write_bw -c UD, host"):
            self.assertNotIn(name, names)


# Iterations; us: median, last, mean; MB/s: last, mean; messages/s: last, mean.
UCX_OUTPUT = """
[thread 0]             10000      1.100      1.200      1.300        4.00       800.00      100000      200000
Final:                 10000      1.181      1.697      1.798        4.50       900.00      123456      234567
"""
LIBFABRIC_OUTPUT = """bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      5k      =5k      625k        0.07s      9.22       6.94       0.14
64k     5k      =5k      625m        0.31s   2084.79      31.44       0.03
"""


class Frameworks(unittest.TestCase):
    def setUp(self):
        self.calls = []

    def pair_that_says(self, output):
        def pair_with(environment):
            return lambda server, client, port: self.calls.append((environment, server, client)) or output

        return pair_with

    @unittest.skipUnless(shutil.which("ucx_perftest"), "ucx_perftest is not installed")
    def test_read_what_ucx_says(self):
        pair = self.pair_that_says(UCX_OUTPUT)
        self.assertEqual(frameworks.ucx_median(pair, "tcp", 8, 1), 1.181)
        self.assertEqual(frameworks.ucx_average(pair, "verbs", 8, 1), 1.798)
        self.assertAlmostEqual(
            frameworks.ucx_bandwidth(pair, "verbs", "tag_bw", 65536, 1), 900 * 2**20 * 8 / 1e9
        )
        self.assertEqual(
            [environment["UCX_TLS"] for environment, _, _ in self.calls],
            ["tcp", "rc_verbs,ud_verbs", "rc_verbs,ud_verbs"],
        )

    def test_read_what_libfabric_says(self):
        pair = self.pair_that_says(LIBFABRIC_OUTPUT)
        self.assertEqual(frameworks.libfabric_average(pair, "tcp", 64, 1), 6.94)
        self.assertEqual(frameworks.libfabric_average(pair, "verbs", 65536, 1), 31.44)
        self.assertIn("urnic0", self.calls[1][1])

    def test_fail_where_there_is_no_result(self):
        with self.assertRaises(Failed):
            frameworks.libfabric_average(self.pair_that_says("no data"), "tcp", 64, 1)

    def test_have_to_be_as_fast_as_over_tcp(self):
        goals = {row.name: row.goal for row in frameworks.ROWS}
        self.assertEqual(goals["UCX tag 8 B, average"], "<= 1 x UCX tag 8 B, average over TCP")
        self.assertEqual(goals["UCX put 4 MiB"], ">= 1 x UCX put 4 MiB over TCP")


class Goals(unittest.TestCase):
    def met(self, goal, values=(3, 1, 2), peers=None):
        return row("it", "us", values, peers, goal)["met"]

    def test_are_for_the_median(self):
        self.assertTrue(self.met("< 2.1"))
        self.assertFalse(self.met("< 2"))

    def test_may_be_shares_of_a_peer(self):
        peers = {"a limit of 64 B": [4, 4, 100]}
        self.assertTrue(self.met("<= 0.5 x a limit of 64 B", peers=peers))
        self.assertFalse(self.met("< 0.5 x a limit of 64 B", peers=peers))

    def test_are_met_together(self):
        peers = {"TCP": [1], "UCX": [10]}
        self.assertTrue(self.met(">= 2 x TCP and < 1 x UCX", peers=peers))
        self.assertFalse(self.met(">= 3 x TCP and < 1 x UCX", peers=peers))
        self.assertFalse(self.met(">= 2 x TCP and < 0.1 x UCX", peers=peers))

    def test_name_nothing_that_is_not_beside_them(self):
        for measure in own_measures(goals_only=True) + cable_measures(goals_only=True):
            for goal in measure.goal.split(" and "):
                reference = goal.split(maxsplit=3)[3:]
                self.assertIn(
                    reference[0] if reference else None, (None, measure.own, *measure.peers), measure.name
                )


class Measures(unittest.TestCase):
    def test_stand_beside_peers_that_exist(self):
        for measure in own_measures(goals_only=False) + cable_measures(goals_only=False):
            self.assertLessEqual(set(measure.peers), set(PEERS), measure.name)

    def test_bring_along_what_stands_beside_them(self):
        chosen = {
            measure.name
            for measure in chosen_measures(own_measures(False), lambda name: name == "64 KiB READ, MTU 1024")
        }
        self.assertEqual(
            chosen, {f"64 KiB {what}" for what in ("READ, MTU 1024", "READ, MTU 4096", "WRITE, MTU 4096")}
        )

    def test_have_goals_only_where_they_are_meant(self):
        measure = Measure("it", "us", None, goal="< 1")
        self.assertEqual(
            [rows_of([measure], "fabric", {"it": [2]}, {}, is_meant)[0]["met"] for is_meant in (True, False)],
            [False, None],
        )


class Histories(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "build/bench-history.jsonl"
        self.history = History(pathlib.Path(folder.name))

    def write(self, commit, **measured):
        rows = [
            row(name, "Gb/s", [ours], {"TCP": [theirs]}, port="fabric")
            for name, (ours, theirs) in measured.items()
        ]
        self.file.parent.mkdir(exist_ok=True)
        with open(self.file, "a") as file:
            file.write(json.dumps({"commit": commit, "measures": rows}) + "\n")

    def columns(self, *commits):
        return [line.split() for line in self.history.compare(*commits)]

    def test_compare_medians_and_shares_of_a_peer(self):
        for speed in (10, 30, 20):
            self.write("aaaa", WRITE=(speed, 10))
        self.write("bbbb", WRITE=(40, 10))
        self.assertEqual(
            self.columns()[1], ["WRITE", "fabric", "Gb/s", "20.00", "40.00", "2.00", "TCP", "2.000", "4.000"]
        )

    def test_compare_the_last_two_commits_or_any(self):
        for commit, speed in (("aaaa", 1), ("bbbb", 2), ("cccc", 4)):
            self.write(commit, WRITE=(speed, 1))
        self.assertEqual(self.columns()[1][3:5], ["2.00", "4.00"])
        self.assertEqual(self.columns("aa", "cc")[1][3:5], ["1.00", "4.00"])

    def test_leave_out_what_only_one_has(self):
        self.write("aaaa", WRITE=(1, 1), READ=(1, 1))
        self.write("bbbb", WRITE=(2, 1))
        self.assertEqual(len(self.columns()), 2)

    def test_say_what_is_missing(self):
        self.assertRaisesRegex(Unknown, "run tools/bench", self.history.compare)
        self.write("aaaa", WRITE=(1, 1))
        self.assertRaisesRegex(Unknown, "not two commits", self.history.compare)
        self.write("bbbb", READ=(1, 1))
        self.assertRaisesRegex(Unknown, "nothing in common", self.history.compare)
        self.assertRaisesRegex(Unknown, "cccc was not measured", self.history.compare, "aaaa", "cccc")

    def test_keep_what_is_added(self):
        self.history.add([row("WRITE", "Gb/s", [1, 2, 3], {"TCP": [1]}, port="vhost:w")], 3)
        self.history.add([row("WRITE", "Gb/s", [4], {"TCP": [1]}, port="vhost:w")], 1)
        commit = json.loads(self.file.read_text().splitlines()[0])["commit"]
        self.assertEqual(self.columns(commit, commit)[1][:5], ["WRITE", "vhost:w", "Gb/s", "3.00", "3.00"])


if __name__ == "__main__":
    unittest.main()
