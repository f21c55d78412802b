# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --chaos` and `urnic chaos`: good programs pass, racy ones are caught."""
import json
import pathlib
import subprocess

import harness
import ucx
from cm_pair import NICS, SERVER, CmPairTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = ROOT / "tools/teaching/lab"

PAIRS = (
    ("ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "200"),
    ("ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "200", "-e"),
    ("ibv_uc_pingpong", "-d", "urnic0", "-g", "1", "-n", "200"),
    ("ibv_ud_pingpong", "-d", "urnic0", "-g", "1", "-n", "200"),
    ("ibv_srq_pingpong", "-d", "urnic0", "-g", "1", "-n", "50"),
    ("ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-n", "500"),
    ("ib_send_lat", "-d", "urnic0", "-x", "1", "-F", "-n", "200"),
    ("ib_read_bw", "-d", "urnic0", "-x", "1", "-F", "-n", "200"),
    ("ib_atomic_lat", "-d", "urnic0", "-x", "1", "-F", "-n", "200"),
)
# Of lab 7: what the server says where the program is right.
RACY = {
    "two": "524288 of 524288 bytes",
    "fence": 'sent back: "new text"',
    "reuse": "and 0 of them",
}
MOST_SEEDS = 20
SEEDS = None  # run.py --seeds says which


def some_seeds():
    """Always the first ones, and others in each run."""
    return SEEDS or [1, 2, 3, 10 + harness.SEED % 1_000_000]


class Chaos(CmPairTest):
    def compile(self, program, *sources):
        self.require("gcc")
        built = pathlib.Path(self.runtime, program)
        subprocess.run(
            ["gcc", "-std=gnu11", "-O1", "-o", built, *sources, f"-I{LAB}/common", "-libverbs"], check=True
        )
        return built

    def chaos(self, *words):
        """The exit code, and what it says."""
        process = self.start_plain("chaos", [harness.STAGE.urnic, "chaos", *map(str, words)])
        return process.wait(600), process.output()

    def test_known_good_pairs_pass(self):
        for command in PAIRS:
            for seed in some_seeds():
                with self.subTest(command=" ".join(command), seed=seed):
                    self.require(command[0])
                    spec = [f"--chaos=seed={seed}"]
                    self.run_pair(*command, nics=(spec, spec))

    def test_rping_passes(self):
        for seed in some_seeds():
            with self.subTest(seed=seed):
                nics = tuple([*nic, f"--chaos=seed={seed}"] for nic in NICS)
                self.run_cm_pair(
                    ["rping", "-s", "-C", "20", "-a", SERVER, "-v"],
                    ["rping", "-c", "-C", "20", "-a", SERVER, "-v"],
                    nics=nics,
                )

    def test_ucx_passes(self):
        self.require("ucx_perftest")
        for seed in some_seeds():
            with self.subTest(seed=seed):
                spec = [f"--chaos=seed={seed}"]
                self.run_pair(
                    *ucx.perftest(),
                    "-t",
                    "tag_lat",
                    "-n",
                    "200",
                    "-w",
                    "10",
                    nics=(spec, spec),
                    environment={"UCX_TLS": "rc_verbs,ud_verbs", "UCX_NET_DEVICES": "urnic0:1"},
                )

    def racy(self, case, good):
        program = self.compile(
            "racy",
            LAB / "07_ordering/racy.c",
            LAB / "07_ordering/ordering.c",
            *(LAB / "common").glob("[em]*.c"),
        )
        script = pathlib.Path(self.runtime, f"{case}.sh")
        script.write_text(
            f"""set -e
{harness.STAGE.urnic} run -- {program} {case} > {self.runtime}/server.txt 2>&1 &
sleep 0.3
{harness.STAGE.urnic} run -- {program} localhost {case} 2>&1
wait $!
cat {self.runtime}/server.txt
grep -q '{good}' {self.runtime}/server.txt
"""
        )
        return ["sh", script]

    def test_racy_programs_of_the_lab_are_caught(self):
        for case, good in RACY.items():
            with self.subTest(case=case):
                script = self.racy(case, good)
                caught = [seed for seed in range(1, MOST_SEEDS + 1) if self.fails_with(seed, script)]
                print(f"racy {case}: caught with the seeds {caught}")
                self.assertTrue(caught)

    def fails_with(self, seed, command):
        process = self.start_plain("script", list(map(str, command)), {"URNIC_CHAOS": f"seed={seed}"})
        ended = process.wait(harness.PAIR_TIMEOUT)
        process.kill()
        self.processes.remove(process)
        return ended != 0

    def test_a_failure_is_found_and_narrowed_down(self):
        """The program ends with 1 where the payload is read after the buffer has changed."""
        program = harness.STAGE.program("mistakes")
        code, said = self.chaos("--seeds", "1-20", "--json", "--", program, "none")
        self.assertEqual((code, json.loads(said)["failure"]), (0, None))
        script = pathlib.Path(self.runtime, "log.sh")
        script.write_text(
            f"""{harness.STAGE.urnic} run --port loopback -- {program} none || exit 3
case "$URNIC_CHAOS" in *slow-queue-pair*|"") ;; *only*) exit 0 ;; esac
case "$URNIC_CHAOS" in *seed=7*) exit 1 ;; esac
"""
        )
        code, said = self.chaos("--seeds", "5-9", "--", "sh", script)
        self.assertEqual(code, 1, said)
        self.assertIn(
            "with seed 7 the program ends with exit code 1; without the adversary it ends with", said
        )
        self.assertIn("it fails again with this seed", said)
        self.assertRegex(said, r"this behavior is enough:\n  slow-queue-pair: ")
        self.assertIn("urnic run --chaos=seed=7,only=slow-queue-pair -- sh ", said)

    def test_wrong_usage_and_programs_that_fail_anyway(self):
        code, said = self.chaos("--", "false")
        self.assertEqual(code, 2)
        self.assertIn("ends with exit code 1 without the adversary", said)
        self.assertEqual(self.chaos()[0], 2)
        code, said = self.chaos("--chaos", "only=late-paylod", "--", "true")
        self.assertEqual(code, 2)
        self.assertIn("is it late-payload?", said)

    def test_a_program_that_fails_is_told_the_last_unusual_acts(self):
        program = harness.STAGE.program("mistakes")
        words = f"{program} none; exit 4"
        process = self.start("acts", ["sh", "-c", words], ["--port", "loopback", "--chaos=only=all"])
        self.expect_end(process, code=4)
        self.assertNotIn("unusual acts", process.output())  # the program itself ended well
