# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --sanitize`: it finds each mistake that a program of ours makes, and nothing in programs that
make none."""
import json
import pathlib
import re
import subprocess

import harness
from cm_pair import CmPairTest

WARNINGS = {
    "room-not-requested",
    "completion-queue-too-small",
    "receive-without-header-room",
    "destroyed-with-work-outstanding",
    "no-ack-timeout",
    "refused-request-waited-for",
    "overlapping-targets",
    "remote-right-missing",
    "byte-swapped-address",
    "failed-queue-pair-unnoticed",
    "address-without-grh",
    "gid-of-other-kind",
    "path-mtu-above-active-mtu",
    "retry-count-out-of-range",
    "destroyed-before-last-wqe-event",
    "fatal-event-unread",
    "memory-unmapped-under-region",
}
HINTS = {
    "work-request-id-outstanding-twice",
    "receive-posted-late",
    "short-ack-timeout",
    "no-retries",
    "message-too-long-elsewhere",
    "more-than-some-nics-have",
    "missing-on-some-nics",
    "more-than-memlock",
    "registration-per-message",
    "granted-room-used",
    "order-between-queue-pairs",
    "waits-for-destroyed-queue-pair",
    "vendor-error-read",
    "immediate-in-host-order",
    "event-unread",
    "datagram-dropped",
    "srq-limit-not-armed-again",
    "file-backed-memory",
    "fork-with-registered-memory",
    "atomic-changed-otherwise",
}
# What the peer brings about: no call of the program has led there.
WITHOUT_CALLS = {
    "responder-resources-exceeded",
    "stale-remote-key",
    "remote-right-missing",
    "byte-swapped-address",
    "memory-gone-while-registered",
    "failed-queue-pair-unnoticed",
    "receive-posted-late",
    "datagram-dropped",
    "fatal-event-unread",
    "event-unread",
    "srq-limit-not-armed-again",
    "memory-unmapped-under-region",
    "atomic-changed-otherwise",
}
# What one mistake cannot be without.
TOGETHER = {
    # As true, and told where the sanitizer looks twice before the region ends.
    "memory-gone-while-registered": {"memory-unmapped-under-region"},
    "completion-queue-overrun": {"completion-queue-too-small", "room-not-requested"},
    "failed-queue-pair-unnoticed": {"remote-right-missing"},
    "message-too-long-elsewhere": {"more-than-memlock"},
    "atomic-changed-otherwise": {"missing-on-some-nics"},
    "granted-room-used": {"missing-on-some-nics"},
    "waits-for-destroyed-queue-pair": {"destroyed-with-work-outstanding"},
    "fatal-event-unread": {"completion-queue-too-small", "destroyed-with-work-outstanding"},
    "event-unread": {"missing-on-some-nics", "srq-limit-not-armed-again"},
    "srq-limit-not-armed-again": {"missing-on-some-nics"},
}
# It waits forever.
ENDLESS = "events-not-acknowledged"
# Without the sanitizer it reads freed memory.
WILD = "used-after-destroy/post"
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
        title = name.replace("/", "-")
        return self.start(title, [program, name], ["--port", "loopback", "--mtu", "1500", *options])

    def names(self):
        program = harness.STAGE.program("mistakes")
        said = subprocess.run([program], stdout=subprocess.PIPE, text=True)
        self.assertEqual(said.returncode, 2)
        return said.stdout.split()

    def findings(self, file):
        return {finding["name"]: finding for finding in json.loads(file.read_text())["findings"]}

    def message(self, said, finding):
        """The first one of that finding, with its lines."""
        begin = re.search(rf"(?m)^urnic: \w+: {finding}: .*\n(?:urnic:  .*\n)*", said)
        self.assertIsNotNone(begin, said)
        return begin[0]

    def test_each_mistake_passes_plainly(self):
        for name in self.names():
            if name in (ENDLESS, WILD):
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
                self.expect_finding(name, name.split("/")[0])

    def expect_finding(self, name, finding):
        level = "hint" if finding in HINTS else "warning" if finding in WARNINGS else "error"
        file = pathlib.Path(self.runtime, f"{name.replace('/', '-')}.json")
        least = "hint" if level == "hint" else "warning"
        process = self.mistake(name, f"--sanitize=level={least},json={file}")
        self.assertEqual(process.wait(harness.PAIR_TIMEOUT), 1 if level == "error" else 0, process.output())
        said = process.output()
        self.assertIn(f"urnic: {level}: {finding}: ", said)
        function = finding.replace("-", "_")
        message = self.message(said, finding)
        if finding in WITHOUT_CALLS:
            self.assertNotIn("called from", message)
        else:
            self.assertRegex(message, rf"(?s)called from:\n.*{function}\w* at .*mistakes/\w+\.c:\d+")
        found = self.findings(file)
        self.assertIn(finding, found)
        self.assertLessEqual(set(found), {finding} | TOGETHER.get(finding, set()))

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

    def test_findings_are_suppressed_by_the_calls_that_lead_there(self):
        name = "read-without-fence"
        for lines, exit_code in (
            (f"# one of ours\n{name}:read_without_fence at *requests.c\n", 0),
            (f"{name}:*\n", 0),
            (f"{name}:another_function\n", 1),
            ("fence-on-the-wrong-request:*\n", 1),
        ):
            with self.subTest(lines=lines):
                file = pathlib.Path(self.runtime, "suppressions")
                file.write_text(lines)
                process = self.mistake(name, f"--sanitize=suppressions={file}")
                self.assertEqual(process.wait(harness.PAIR_TIMEOUT), exit_code, process.output())
                words = "nothing was found" if exit_code == 0 else f"error: {name}: "
                self.assertIn(words, process.output())

    def test_receives_of_shared_queues_are_counted(self):
        for name in ("ibv_srq_pingpong", "ibv_xsrq_pingpong"):
            with self.subTest(program=name):
                self.require(name)
                words = [name, "-d", "urnic0", "-g", "1", "-n", "2000"]
                # They do not poll their last sends.
                option = ["--sanitize=off=destroyed-with-work-outstanding"]
                for said in self.run_pair(*words, nics=(option, option)):
                    self.assertIn("urnic: sanitizer: nothing was found", said)

    def test_an_explanation_tells_of_room_that_hardware_has_not(self):
        for name, finding in (
            ("send-queue-never-drained", "error: send-queue-never-drained"),
            ("completion-queue-overrun", "error: completion-queue-overrun"),
            ("destroyed-with-work-outstanding", "warning: destroyed-with-work-outstanding"),
            ("none", None),
        ):
            with self.subTest(mistake=name):
                process = self.mistake(name, "--explain")
                self.expect_end(process)
                said = process.output()
                self.assertNotIn("sanitizer: ", said)
                if finding is None:
                    self.assertNotIn("urnic: ", said)
                else:
                    self.assertIn(f"urnic: {finding}: ", said)

    def test_known_good_programs_are_clean(self):
        for command in PAIRS:
            with self.subTest(command=" ".join(command)):
                self.require(command[0])
                server, client = self.run_pair(*command, nics=(["--sanitize"], ["--sanitize"]))
                for said in (server, client):
                    self.assertIn("urnic: sanitizer: nothing was found", said)
