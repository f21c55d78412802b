#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Shards of a campaign, and tools/development/merge-results, which adds up what they report.

    shards_test.py URNIC
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "tools/development/campaigns"
URNIC = os.path.abspath(sys.argv.pop(1))
SEEDS = "60"


def report(number, of, campaign="mutants", failures=(), **more):
    return {
        "campaign": campaign,
        "shard": {"number": number, "of": of},
        "good": not failures,
        "failures": list(failures),
        **more,
    }


class Shards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, *reports):
        for number, content in enumerate(reports):
            text = content if isinstance(content, str) else json.dumps(content)
            (self.folder / f"{number}.json").write_text(text)
        return sorted(self.folder.glob("*.json"))

    def merge(self, *reports, options=()):
        """The exit code, and what was said."""
        result = subprocess.run(
            [ROOT / "tools/development/merge-results", *options, *self.write(*reports)],
            capture_output=True,
            text=True,
        )
        return result.returncode, result.stdout + result.stderr

    def simulate(self, *options):
        result = subprocess.run(
            [URNIC, "sim", "--seeds", SEEDS, "--json", *options], capture_output=True, text=True
        )
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def test_all_shards_of_a_simulation_are_the_whole(self):
        whole = self.simulate()
        code, said = self.merge(
            *(self.simulate("--shard", f"{number}/3") for number in (1, 2, 3)), options=["--json"]
        )
        (merged,) = json.loads(said)
        self.assertEqual(merged["seeds"], whole["seeds"])
        self.assertEqual(merged["coverage"], whole["coverage"])
        self.assertEqual((code, merged["shards"], merged["failures"]), (0, 3, whole["failures"]))

    def run_example(self, command, number, **variables):
        """A command of tools/development/campaigns, with fewer seeds and with this urnic, in a folder of the
        test's."""
        (self.folder / "results").mkdir(exist_ok=True)
        command = re.sub(r"\S*\burnic sim --seeds \d+", f"{URNIC} sim --seeds {SEEDS}", command).replace(
            "/100", "/3"
        )
        command = command.replace('"/results/', '"results/')
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        subprocess.run(["sh", "-c", command], cwd=self.folder, env=environment, check=True)
        self.assertTrue((self.folder / f"results/{number}.json").exists(), command)

    def merged(self):
        result = subprocess.run(
            [ROOT / "tools/development/merge-results", *(self.folder / "results").glob("*.json")],
            capture_output=True,
            text=True,
        )
        return result.returncode, result.stdout

    def test_the_slurm_script_runs_all_parts(self):
        script = (EXAMPLES / "slurm.sbatch").read_text()
        for number in (1, 2, 3):
            self.run_example(script, number, SLURM_ARRAY_TASK_ID=number, SLURM_ARRAY_TASK_COUNT=3)
        code, said = self.merged()
        self.assertEqual(code, 0, said)
        self.assertIn("3 shards", said)

    def test_the_kubernetes_job_runs_all_parts(self):
        (command,) = re.findall(r"- (urnic sim .*)", (EXAMPLES / "kubernetes.yaml").read_text())
        for index in (0, 1, 2):
            self.run_example(command, index, JOB_COMPLETION_INDEX=index)
        code, said = self.merged()
        self.assertEqual(code, 0, said)
        self.assertIn("3 shards", said)

    def test_gnu_parallel_runs_all_parts(self):
        if not shutil.which("parallel"):
            self.skipTest("GNU parallel is not installed (tools/install-packages shells)")
        (command,) = re.findall(r"^    (parallel .*)", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
        command = command.replace("/32", "/3").replace("seq 32", "seq 3").replace("--bar ", "")
        self.run_example(command, 3)
        code, said = self.merged()
        self.assertEqual(code, 0, said)
        self.assertIn("3 shards", said)

    def test_a_shard_that_is_none_is_refused(self):
        for shard in ("0/3", "4/3", "3", "a/b"):
            result = subprocess.run([URNIC, "sim", "--shard", shard], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, shard)
            self.assertIn("I/N", result.stderr)

    def test_numbers_are_added(self):
        code, said = self.merge(report(1, 2, mutants=5), report(2, 2, mutants=4))
        self.assertEqual((code, said.strip()), (0, "mutants: 2 shards, 9 mutants: all good"))

    def test_a_failure_of_one_shard_is_the_campaigns(self):
        code, said = self.merge(
            report(1, 2, failures=[{"mutant": "no_icrc", "what": "SURVIVED"}]), report(2, 2)
        )
        self.assertEqual(code, 1)
        self.assertIn("mutant: no_icrc, what: SURVIVED", said)

    def test_a_shard_that_says_no_more_than_that_it_failed_has_failed(self):
        code, said = self.merge({**report(1, 1), "good": False})
        self.assertEqual(code, 1)
        self.assertIn("FAILED", said)

    def test_a_shard_that_has_not_reported_is_missed(self):
        code, said = self.merge(report(1, 3), report(3, 3))
        self.assertEqual(code, 1)
        self.assertIn("shard 2 of 3 has not reported", said)

    def test_a_shard_counts_once(self):
        code, said = self.merge(report(1, 2), report(2, 2), report(2, 2))
        self.assertEqual(code, 1)
        self.assertIn("shard 2 of 2 has reported more than once", said)

    def test_what_happened_in_one_shard_has_happened(self):
        reports = [report(1, 2, seeds=300, coverage={"a": 1, "b": 0}, least_seeds_for_coverage=500)]
        reports.append(report(2, 2, seeds=300, coverage={"a": 0, "b": 1}, least_seeds_for_coverage=500))
        self.assertEqual(self.merge(*reports)[0], 0)
        reports[1]["coverage"]["b"] = 0
        code, said = self.merge(*reports)
        self.assertEqual(code, 1)
        self.assertIn("there was not one: b", said)
        reports[1]["seeds"] = 100
        self.assertEqual(self.merge(*reports)[0], 0, "too few to tell")

    def test_campaigns_are_told_apart(self):
        code, said = self.merge(report(1, 1, "mutants"), report(1, 1, "frame_fuzz, 10 inputs from seed 1"))
        self.assertEqual((code, len(said.splitlines())), (0, 2))

    def test_what_is_no_report_is_refused(self):
        for text in ("", "{}", "[]", '{"campaign": "x", "shard": 1, "failures": [], "good": true}'):
            code, said = self.merge(text)
            self.assertEqual(code, 2, text)
            self.assertIn("is no report of a shard", said)
        self.assertEqual(self.merge(report(1, 2), report(2, 3))[0], 2, "shards of two divisions")


if __name__ == "__main__":
    unittest.main()
