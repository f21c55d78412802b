# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --cc`: unmodified programs slow down by a controller, and marks are answered by CNPs."""
import contextlib
import os
import signal

import icrc
import pcapng
from cm_pair import CmPairTest
from harness import free_port, wait_until

WRITES = ("-d", "urnic0", "-x", "1", "-F", "-m", "1024", "-s", "65536", "--report_gbits")
ECN = "/sys/class/infiniband/urnic0/ecn"
CC_PARAMS = "/sys/kernel/debug/mlx5/urnic0/cc_params"
CNP, WRITE_OPCODES = 0x81, {*range(0x06, 0x0C)}
MARK_SOME = "ce:kind=write:direction=tx:times=all:p=0.02"
MARK_MANY = "ce:kind=write:direction=tx:times=all:p=0.5"
ECT_0, CE = 2, 3
ATTEMPTS = 3  # a machine that others use, too, may be slower than a rate


def packets_of(file):
    """(is_received, TOS, packet from the BTH on) of each RoCEv2 packet over IPv4; its ICRC is right."""
    for frame in pcapng.read(file):
        parts = icrc.split_frame(frame.bytes) if isinstance(frame, pcapng.Frame) else None
        if parts is not None:
            icrc.check_frame(frame.bytes)
            yield frame.is_received, frame.bytes[14 + 1], parts[2]


class Congestion(CmPairTest):
    def goodput(self, *nic, packets=400, files=(), command="ib_write_bw"):
        """Average Gb/s of a client on such a NIC; the server has none of its options."""
        self.require(command)
        record = [["--record", file] for file in files] or [[], []]
        _, client = self.run_pair(command, *WRITES, "-n", str(packets), nics=[record[0], [*record[1], *nic]])
        row = next(line for line in client.splitlines() if line.split()[:1] == ["65536"])
        return float(row.split()[3])

    def test_a_fixed_rate_is_not_exceeded(self):
        for rate in (200, 1000):
            with self.subTest(rate=rate):
                best = 0
                for _ in range(ATTEMPTS):
                    gigabits = self.goodput("--cc", f"fixed:rate={rate}", packets=rate)  # half a second
                    self.assertLess(gigabits, 1.02 * rate / 1000)
                    best = max(best, gigabits)
                    # Of what the rate counts, 1024 of 1106 bytes are payload.
                    if best > 0.8 * rate / 1000:
                        break
                self.assertGreater(best, 0.8 * rate / 1000)

    def test_marks_slow_a_queue_pair_down_that_obeys_cnps(self):
        dcqcn = "dcqcn:line_rate=1000,rpg_min_rate=100"
        without = max(self.goodput("--cc", dcqcn) for _ in range(ATTEMPTS))
        obeyed = [self.goodput("--cc", dcqcn, "--fault", MARK_MANY) for _ in range(ATTEMPTS)]
        ignored = max(self.goodput("--cc", "fixed:rate=1000", "--fault", MARK_MANY) for _ in range(ATTEMPTS))
        self.assertLess(min(obeyed), 0.5 * without)
        self.assertGreater(ignored, 2 * min(obeyed))
        self.assertGreater(max(obeyed), 0.05, "less than the least rate")

    def test_an_unreliable_connection_is_slowed_down_too(self):
        self.require("ib_write_bw")
        _, client = self.run_pair(
            "ib_write_bw", *WRITES, "-c", "UC", "-n", "400", nics=[[], ["--cc", "fixed:rate=500"]]
        )
        row = next(line for line in client.splitlines() if line.split()[:1] == ["65536"])
        self.assertLess(float(row.split()[3]), 0.55)

    def test_what_is_on_the_wire(self):
        files = [self.runtime / "server.pcapng", self.runtime / "client.pcapng"]
        self.goodput("--cc", "dcqcn:line_rate=2000", "--fault", MARK_SOME, packets=100, files=files)
        server, client = (list(packets_of(file)) for file in files)
        marked = [packet for received, tos, packet in server if received and tos & 3 == CE]
        cnps = [(tos, packet) for received, tos, packet in server if not received and packet[0] == CNP]
        self.assertGreater(len(marked), 10)
        self.assertGreater(len(cnps), 0)
        self.assertLessEqual(len(cnps), len(marked))
        for tos, packet in cnps:
            self.assertEqual(tos, 48 << 2 | ECT_0)
            self.assertEqual((packet[0], packet[1], packet[2:4], packet[4]), (CNP, 0, b"\xff\xff", 0x40))
            self.assertEqual(packet[8:-4], bytes(4 + 16))
        self.assertEqual(len(cnps), sum(received and packet[0] == CNP for received, _, packet in client))
        # A mark is no fault of the packet, and the transport is not told about it.
        sent = {tos & 3 for received, tos, packet in client if not received and packet[0] in WRITE_OPCODES}
        self.assertEqual(sent - {ECT_0, CE}, set())

    def shell(self, script, *nic):
        """What a shell prints, line by line."""
        process = self.start("sh", ["sh", "-c", script], ["--port", "loopback", *nic])
        self.expect_end(process, timeout=30)
        return process.output().splitlines()

    def test_parameters_are_files_to_read(self):
        names = "roce_rp/rpg_ai_rate roce_rp/rpg_time_reset roce_np/min_time_between_cnps roce_np/cnp_dscp"
        lines = self.shell(
            f"cd / && for name in {names}; do cat {ECN}/$name; done",
            "--cc",
            "dcqcn:paper,rpg_ai_rate=77,min_time_between_cnps=13",
        )
        self.assertEqual(lines, ["77", "60", "13", "48"])
        self.assertEqual(self.shell(f"ls {ECN}; cat {ECN}/roce_np/min_time_between_cnps"), ["roce_np", "4"])

    def test_parameters_have_the_names_of_mainline_linux_too(self):
        lines = self.shell(
            f"echo /sys/kernel/debug/mlx5/*/cc_params; cat {CC_PARAMS}/rp_ai_rate; echo 50 > {CC_PARAMS}/rp_ai_rate; "
            f"cat {ECN}/roce_rp/rpg_ai_rate; echo 9 > {ECN}/roce_np/min_time_between_cnps; cat {CC_PARAMS}/np_min_time_between_cnps",
            "--cc",
            "dcqcn:rpg_ai_rate=77",
        )
        self.assertEqual(lines, [CC_PARAMS, "77", "50", "9"])

    def test_what_is_no_parameter_cannot_be_written(self):
        folder = "/sys/class/infiniband/urnic0"
        for file in (f"{folder}/node_guid", f"{ECN}/roce_rp/new", f"{CC_PARAMS}/np_cnp_prio_mode"):
            for write in (
                f"echo 50 > {file}",
                f"echo 50 | tee {file} > /dev/null",
                f'python3 -c \'open("{file}", "w")\'',
            ):
                lines = self.shell(f"({write}) 2>&1 || echo refused", "--cc", "dcqcn")
                self.assertIn("Permission denied", "".join(lines), write)
                self.assertEqual(lines[-1], "refused", write)

    def test_programs_write_parameters_in_their_way(self):
        file = f"{ECN}/roce_rp/rpg_ai_rate"
        for write, is_taken in (
            (f"echo 50 > {file}", True),
            (f"echo 50 >> {file}", True),
            (f"echo 50 | tee {file}", True),
            (f"bash -c 'echo 50 > {file}'", True),
            (f"echo 50 | dd of={file} conv=notrunc", True),
            (f'python3 -c \'open("{file}", "w").write("50")\'', True),
            (f'python3 -c \'open("{file}", "r+").write("50")\'', False),
        ):
            with self.subTest(write=write):
                value = self.shell(
                    f"echo 1000 > {file}; ({write}) > /dev/null 2>&1; cat {file}", "--cc", "dcqcn"
                )[-1]
                self.assertEqual(value, "50" if is_taken else "1000")

    def rate_of(self, process):
        """What `urnic stat` says of the queue pair of a program that has one, in Mb/s; None as long as there
        is none."""
        rates = [
            qp["congestion"]["rate"] // 10**6 for said in self.snapshots() if said["pid"] == process for qp in said["queue_pairs"]
            if qp["congestion"]
        ]  # fmt: skip
        return rates[0] if rates else None

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    # One run with three processes: a server, its client (both write), and this shell, which writes when a
    # file tells it to.
    def test_parameters_change_while_programs_run(self):
        self.require("ib_write_bw")
        words = " ".join(["ib_write_bw", *WRITES, "-b", "-D", "60", "-p", str(free_port())])
        command, pids = self.runtime / "command", self.runtime / "pids"
        script = f"""
            {words} & server=$!; sleep 1; {words} localhost & client=$!
            echo $server $client > {pids}
            while sleep 0.05; do [ -e {command} ] && sh {command} && rm {command}; done
        """
        # Each process of the run has a NIC of its own on the fabric, and all have its files.
        run = self.start("run", ["sh", "-c", script], ["--cc", "dcqcn:line_rate=2000"])

        def say(value, file=f"{ECN}/roce_rp/rpg_max_rate"):
            (self.runtime / "new").write_text(f"printf %s '{value}' > {file}")
            (self.runtime / "new").rename(command)
            return wait_until(lambda: not command.exists(), 20, 0.05)

        def reads(value):
            (file,) = self.runtime.glob(f"**/paths/*{ECN}/roce_rp/rpg_max_rate")
            return file.read_text() == f"{value}\n"

        self.assertTrue(
            wait_until(lambda: pids.exists() and pids.read_text().strip(), 20, 0.05), run.describe()
        )
        both = [int(word) for word in pids.read_text().split()]
        for process in both:
            self.addCleanup(self.end, process)

        def are(rate):
            return wait_until(lambda: [self.rate_of(process) for process in both] == [rate, rate], 30, 0.05)

        self.assertTrue(are(2000), run.describe())
        self.assertTrue(say(300))
        self.assertTrue(are(300), run.describe())
        for bad in ("-1", "1000001", "fast", "1 2"):
            self.assertTrue(say(bad))
            self.assertTrue(wait_until(lambda: reads(300), 20, 0.05), bad)
        self.assertEqual([self.rate_of(process) for process in both], [300, 300])
        self.assertIn(
            "urnic: rpg_max_rate cannot be 'fast': it is a whole number from 0 to 1000000. It stays 300",
            run.output(),
        )
        self.assertTrue(say(0, f"{CC_PARAMS}/rp_max_rate"))
        self.assertTrue(are(2000), run.describe())

    def test_a_parameter_that_was_written_holds_for_programs_that_come(self):
        self.require("ib_write_bw")
        words = " ".join(["ib_write_bw", *WRITES, "-n", "50", "-p", str(free_port())])
        script = f"echo 100 > {ECN}/roce_rp/rpg_max_rate; {words} & sleep 1; {words} localhost; wait"
        run = self.start("run", ["sh", "-c", script], ["--cc", "dcqcn"])
        self.expect_end(run)
        rates = [
            float(line.split()[3]) for line in run.output().splitlines() if line.split()[:1] == ["65536"]
        ]
        self.assertTrue(rates, run.output())
        self.assertLess(max(rates), 0.11)
        self.assertGreater(max(rates), 0)

    def test_what_stat_says(self):
        self.require("ib_write_bw")
        words = ["ib_write_bw", *WRITES, "-n", "300", "-p", str(free_port())]
        server = self.start("server", words)
        self.wait_for_listener(server, int(words[-1]))
        client = self.start("client", [*words, "127.0.0.1"], ["--cc", "fixed:rate=50"])  # three seconds
        said = []

        def is_said():
            said[:] = [
                qp["congestion"]
                for process in self.snapshots()
                for qp in process["queue_pairs"]
                if qp["congestion"]
            ]
            return said or not client.is_running()

        wait_until(is_said, 20, 0.05)
        self.assertEqual(
            said,
            [
                {
                    "controller": "fixed",
                    "rate": 50_000_000,
                    "target_rate": 0,
                    "alpha_ppm": 0,
                    "window_bytes": None,
                }
            ],
        )
        for program in (client, server):
            self.expect_end(program)

    def test_a_mistake_is_explained(self):
        for text, words in (
            ("dcqnc", "no controller; there are none, dcqcn, timely, swift, fixed"),
            ("dcqcn:rpg_ai_rates=5", "'rpg_ai_rates' is no parameter of 'dcqcn'; there are clamp_tgt_rate,"),
            ("dcqcn:rpg_gd=16", "rpg_gd cannot be 16"),
            ("dcqcn:rpg_gd=x", "needs a whole number"),
            ("dcqcn:cx,cx", "'cx' is not understood"),
            ("fixed:rate=1,rate=2", "'rate' is given twice"),
            ("none:rate=1", "there are line_rate, enable,"),
        ):
            with self.subTest(text=text):
                refused = self.start("refused", ["true"], ["--cc", text])
                self.expect_end(refused, code=2)
                self.assertIn(words, refused.output())
