# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --sanitize`: it finds each mistake that a program of ours makes, and nothing in programs that
make none."""
import json
import pathlib
import subprocess

import harness
from cm_pair import CmPairTest

WARNINGS = {
    "room-not-requested",
    "completion-queue-too-small",
    "receive-without-header-room",
    "destroyed-with-work-outstanding",
    "no-ack-timeout",
}
# What one mistake cannot be without.
TOGETHER = {
    "completion-queue-overrun": {"completion-queue-too-small", "room-not-requested"},
}
# It waits forever.
ENDLESS = "events-not-acknowledged"
PAIRS = (
    ("ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "500"),
    ("ibv_uc_pingpong", "-d", "urnic0", "-g", "1", "-n", "500"),
    ("ibv_ud_pingpong", "-d", "urnic0", "-g", "1", "-n", "500"),
    ("ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "-n", "2000"),
    ("ib_read_lat", "-d", "urnic0", "-x", "1", "-F", "-n", "500"),
    ("ib_send_bw", "-d", "urnic0", "-x", "1", "-F", "-n", "2000", "-c", "UD"),
    ("ib_atomic_bw", "-d", "urnic0", "-x", "1", "-F", "-n", "500"),
)


class Sanitizer(CmPairTest):
    def mistake(self, name, *options):
        program = harness.STAGE.program("mistakes")
        return self.start(name, [program, name], ["--port", "loopback", *options])

    def names(self):
        program = harness.STAGE.program("mistakes")
        said = subprocess.run([program], stdout=subprocess.PIPE, text=True)
        self.assertEqual(said.returncode, 2)
        return said.stdout.split()

    def findings(self, file):
        return {finding["name"]: finding for finding in json.loads(file.read_text())["findings"]}

    def test_each_mistake_passes_plainly(self):
        for name in self.names():
            if name == ENDLESS:
                continue
            with self.subTest(mistake=name):
                process = self.mistake(name)
                self.expect_end(process)
                self.assertEqual(process.output().splitlines()[-1], "done")

    def test_each_mistake_is_found_with_the_line_that_makes_it(self):
        for name in self.names():
            if name in (ENDLESS, "none"):
                continue
            with self.subTest(mistake=name):
                file = pathlib.Path(self.runtime, f"{name}.json")
                process = self.mistake(name, f"--sanitize=json={file}")
                is_warning = name in WARNINGS
                self.assertEqual(process.wait(harness.PAIR_TIMEOUT), 0 if is_warning else 1, process.output())
                said = process.output()
                self.assertIn(f"urnic: {'warning' if is_warning else 'error'}: {name}: ", said)
                self.assertRegex(
                    said, rf"(?s){name}.*called from:\n.*{name.replace('-', '_')} at .*mistakes\.c:\d+"
                )
                found = self.findings(file)
                self.assertIn(name, found)
                self.assertLessEqual(set(found), {name} | TOGETHER.get(name, set()))

    def test_a_destroy_that_waits_forever_says_for_what(self):
        process = self.mistake(ENDLESS, "--sanitize")
        words = f"error: {ENDLESS}: CQ "
        if not harness.wait_until(lambda: words in process.output(), harness.PAIR_TIMEOUT):
            self.fail_with(f"it does not say '{words}'")
        process.kill()

    def test_a_program_without_mistakes_ends_as_it_would(self):
        process = self.mistake("none", "--sanitize=level=hint")
        self.expect_end(process)
        self.assertIn("urnic: sanitizer: nothing was found", process.output())

    def test_the_user_chooses_what_is_told_and_how_it_ends(self):
        name = "read-without-fence"
        process = self.mistake(name, "--sanitize=exitcode=23,stacks=0")
        self.assertEqual(process.wait(harness.PAIR_TIMEOUT), 23)
        self.assertNotIn("called from", process.output())
        process = self.mistake(name, f"--sanitize=off={name}")
        self.expect_end(process)
        process = self.mistake("no-ack-timeout", "--sanitize=level=error")
        self.expect_end(process)
        self.assertIn("nothing was found", process.output())

    def test_known_good_programs_are_clean(self):
        for command in PAIRS:
            with self.subTest(command=" ".join(command)):
                self.require(command[0])
                server, client = self.run_pair(*command, nics=(["--sanitize"], ["--sanitize"]))
                for said in (server, client):
                    self.assertIn("urnic: sanitizer: nothing was found", said)
