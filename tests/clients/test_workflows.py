# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The workflows of tools/deployment/ci, as far as this machine can run them, as an ordinary user. Packages of
the distribution are installed beforehand; tests/packages runs these commands, too."""
import shutil
import subprocess

import container
import harness
from python_package import PYTHON, TESTS, PackageTest

WORKFLOWS = harness.PROJECT / "tools/deployment/ci"


class Workflows(PackageTest):
    def project(self):
        """A project of a user's: a test, and the wheel."""
        folder = self.runtime / "project"
        folder.mkdir()
        shutil.copy(TESTS / "example/test_pingpong.py", folder)
        shutil.copy(self.made.wheel, folder)
        harness.STAGE.hand_over(folder)
        return folder

    def follow(self, name, path, before=()):
        """Runs all that the workflow runs, except what needs root: packages are installed here."""
        words = [
            "sh",
            "-c",
            'cd "$1"; shift; exec "$@"',
            "sh",
            self.project(),
            PYTHON,
            TESTS / "run_workflow.py",
        ]
        process = self.start_plain(
            name, [*before, *words, WORKFLOWS / name, "--without-packages"], {"PATH": path}
        )
        self.expect_end(process, timeout=300)
        said = process.output()
        self.assertRegex(said, r"\n(.* )?1 passed")
        self.assertRegex(said, r"\nok +drop-in")
        return said

    def test_a_workflow_of_a_hosted_runner(self):
        """The environment has pip and python, as setup-python's action makes one."""
        venv = self.made.make("setup-python")
        harness.STAGE.hand_over(venv)
        said = self.follow("github-hosted.yml", f"{venv}/bin:/usr/bin:/bin")
        self.assertIn("not run: actions/setup-python", said)

    def test_a_workflow_of_a_container(self):
        self.follow("github-container.yml", "/usr/bin:/bin")

    def test_a_job_of_gitlab(self):
        self.follow("gitlab.yml", "/usr/bin:/bin")

    def test_a_workflow_without_user_namespaces(self):
        """In a container that may make none, has no capability, and may write to one folder."""
        self.require("bwrap", "prlimit")
        bpf = harness.STAGE.folder() / "filter.bpf"
        if not container.make_filter(bpf):
            self.skipTest("python3-seccomp is not installed (tools/install-packages clients)")
        before = container.words(bpf, [(self.runtime, self.runtime)])
        probe = self.start_plain("probe", [*before, "true"])
        if probe.wait(20) != 0:
            self.skipTest(f"no container can be made here: {probe.output().strip()}")
        self.follow("github-container.yml", "/usr/bin:/bin", before)

    def test_every_workflow_is_followed_here(self):
        names = {path.name for path in WORKFLOWS.iterdir()}
        self.assertEqual(names, {"github-hosted.yml", "github-container.yml", "gitlab.yml"})

    def test_a_file_that_is_no_workflow_is_one_line(self):
        for text, why in (
            ("a: [", "this is no YAML"),
            ("just words", "there are no jobs"),
            ("on: push\njobs: {a: {steps: [{run: 'true'}]}}", "job a names no runner"),
            ("a: {script: []}", "no step runs anything"),
            ("a: {script: ['exit 3']}", "ended with 3: exit 3"),
        ):
            with self.subTest(text=text):
                file = self.runtime / "workflow.yml"
                file.write_text(text)
                result = subprocess.run(
                    [PYTHON, TESTS / "run_workflow.py", file], capture_output=True, text=True
                )
                self.assertEqual(result.returncode, 1)
                self.assertIn(why, result.stderr)
