# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Small programs with one mistake each: what finds it, the sanitizer, the adversary or the strictest NIC. The
tables of CHAOS.md say so, and must be what is found here."""
import pathlib
import re
import subprocess

import harness
from cm_pair import CmPairTest
from test_sanitizer import ENDLESS, HINTS, WILD

PAGE = pathlib.Path(__file__).resolve().parents[2] / "nic/adversary/CHAOS.md"
LIMIT = 30  # seconds; a program that still runs then hangs
SEEDS = range(1, 4)  # with all behaviors
MISTAKES_HEAD = "| mistake | plain | `--sanitize` | `--chaos` | `--like strict` |"

# The behavior that shows the mistake, and what else the adversary is told.
RACES = {
    "buffer-reused-on-another-completion": ("late-payload",),
    "flag-by-another-queue-pair": ("slow-queue-pair",),
    "polled-so-often": ("late-completion", "scale=10"),
    "all-in-one-poll": ("completions-in-parts",),
    "queue-pairs-in-turn": ("queues-out-of-order",),
    "opcode-before-status": ("garbage-in-undefined-fields",),
    "request-freed-with-queue-pair": ("completion-after-destroy",),
    "event-within-a-limit": ("late-completion-event", "scale=20"),
    "completion-for-each-event": ("spurious-completion-event",),
    "armed-after-the-poll": ("no-event-for-waiting",),
    "drained-in-a-moment": ("late-flush", "scale=10"),
    "one-key-for-both": ("different-keys",),
    "attribute-not-requested": ("garbage-in-query",),
    "registered-in-the-data-path": ("slow-control-verbs", "scale=20"),
    "every-event-is-fatal": ("unexpected-events",),
    "every-datagram-arrives": ("lost-datagrams",),
}
RACES_HEAD = "| mistake | plain | `--sanitize` | `--chaos=only=` | `--like strict` |"


class PlantedMistakes(CmPairTest):
    def run_alone(self, program, name, *options):
        """The exit code, or None if it hangs, and what it says."""
        words = [harness.STAGE.program(program), name]
        process = self.start(name.replace("/", "-"), words, ["--port", "loopback", "--mtu", "1500", *options])
        code = process.wait(LIMIT)
        process.kill()
        self.processes.remove(process)
        return code, process.output()

    def names(self, program):
        said = subprocess.run([harness.STAGE.program(program)], stdout=subprocess.PIPE, text=True)
        self.assertEqual(said.returncode, 2)
        return said.stdout.split()

    def result(self, program, name, *options):
        code, _ = self.run_alone(program, name, *options)
        return "hangs" if code is None else "no" if code == 0 else "fails"

    def result_with_luck(self, program, name, *options):
        """A mistake may show by itself on a busy machine. What counts is whether it need not."""
        results = []
        while "no" not in results and len(results) < 3:
            results.append(self.result(program, name, *options))
            if results[-1] == "hangs":
                break
        return results[-1]

    def plain_result(self, program, name):
        result = self.result_with_luck(program, name)
        return "passes" if result == "no" else result

    def found_by_sanitizer(self, program, name):
        _, said = self.run_alone(program, name, "--sanitize")
        found = re.findall(r"^urnic: (error|warning): ([\w-]+): ", said, re.MULTILINE)
        own = name.split("/")[0]
        for level, finding in found:
            if finding == own:
                return level
        return f"{found[0][0]} `{found[0][1]}`" if found else "no"

    def found_by_chaos(self, program, name, spec):
        for seed in SEEDS:
            result = self.result(program, name, f"--chaos=seed={seed},{spec}")
            if result != "no":
                return result
        return "no"

    def expect_table(self, head, rows):
        table = "\n".join([head, "|---|---|---|---|---|", *rows])
        if table not in PAGE.read_text():
            self.fail(f"{PAGE.name} should have this table:\n{table}")

    def test_the_table_of_mistakes_says_what_finds_them(self):
        rows = []
        for name in self.names("mistakes"):
            if name == "none" or name.split("/")[0] in HINTS or name == WILD:
                continue
            plain = "hangs" if name == ENDLESS else self.plain_result("mistakes", name)
            chaos = "hangs" if name == ENDLESS else self.found_by_chaos("mistakes", name, "only=all")
            strict = (
                "hangs" if name == ENDLESS else self.result_with_luck("mistakes", name, "--like", "strict")
            )
            sanitizer = self.found_by_sanitizer("mistakes", name)
            rows.append(f"| `{name}` | {plain} | {sanitizer} | {chaos} | {strict} |")
        self.expect_table(MISTAKES_HEAD, rows)

    def test_the_table_of_races_says_which_behavior_shows_them(self):
        names = self.names("races")
        self.assertEqual(names, list(RACES))
        rows = []
        for name, (behavior, *more) in RACES.items():
            plain = self.plain_result("races", name)
            sanitizer = self.found_by_sanitizer("races", name)
            spec = ",".join([f"only={behavior}", *more])
            chaos = self.found_by_chaos("races", name, spec)
            strict = self.result_with_luck("races", name, "--like", "strict")
            said = ",".join([behavior, *more])
            rows.append(f"| `{name}` | {plain} | {sanitizer} | `{said}`: {chaos} | {strict} |")
        self.expect_table(RACES_HEAD, rows)

    def test_a_program_without_mistakes_passes_everything(self):
        for spec in ("only=all", "only=all,scale=5", "only=all+lost-datagrams"):
            with self.subTest(spec=spec):
                self.assertEqual(self.found_by_chaos("mistakes", "none", spec), "no")
        self.assertEqual(self.result("mistakes", "none", "--like", "strict"), "no")
        self.assertEqual(self.found_by_sanitizer("mistakes", "none"), "no")
