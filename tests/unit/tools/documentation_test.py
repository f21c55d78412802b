#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The completions and the manual page that `urnic` prints, in the shells that are installed here.

    documentation_test.py URNIC
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

URNIC = sys.argv.pop(1)
COMMANDS = (
    "run",
    "fabric",
    "host",
    "check",
    "view",
    "lab",
    "sheet",
    "replay",
    "sim",
    "stat",
    "doctor",
    "completion",
    "manual",
)

# What is typed, and some of what must be offered.
ROWS = (
    ("urnic ", ("run", "sim", "doctor")),
    ("urnic r", ("run", "replay")),
    ("urnic run --p", ("--port", "--pcap")),
    ("urnic host st", ("status", "stop")),
    ("urnic replay --side re", ("requester", "responder")),
    ("urnic completion z", ("zsh",)),
    ("urnic sim --sha", ("--shard",)),
)


def say(*words, **options):
    result = subprocess.run(words, capture_output=True, text=True, **options)
    if result.returncode or result.stderr:
        raise AssertionError(f"{words}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def options_of(command):
    return set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", say(URNIC, command, "--help"), re.MULTILINE))


class Documentation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        path = self.folder / shell
        path.write_text(say(URNIC, "completion", shell))
        return path

    def test_bash(self):
        script = self.script("bash")
        complete = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _urnic; printf "%s\\n" "${COMPREPLY[@]}"'
        for typed, wanted in ROWS:
            offered = say(
                "bash", "-c", f"compopt() {{ :; }}; {complete}", "bash", script, *typed.split(" ")
            ).split()
            self.assertLessEqual(set(wanted), set(offered), typed)
            self.assertTrue(all(word.startswith(typed.split(" ")[-1]) for word in offered), typed)
        behind = say(
            "bash", "-c", f"compopt() {{ :; }}; {complete}", "bash", script, "urnic", "run", "--", "bas"
        ).split()
        self.assertIn("bash", behind)

    def test_fish(self):
        script = self.script("fish")
        for typed, wanted in ROWS:
            offered = {
                line.split("\t")[0]
                for line in say("fish", "-c", f"source {script}; complete -C '{typed}'").splitlines()
            }
            self.assertLessEqual(set(wanted), offered, typed)

    def test_zsh_takes_it(self):
        say("zsh", "-n", self.script("zsh"))

    def test_each_option_is_completed_and_in_the_manual(self):
        page = say(URNIC, "manual").replace("\\-", "-")
        scripts = {shell: say(URNIC, "completion", shell) for shell in ("bash", "zsh", "fish")}
        for command in COMMANDS:
            self.assertIn(f".SS urnic {command}\n", page)
            for option in options_of(command):
                self.assertIn(option, page)
                self.assertIn(option, scripts["bash"])
                self.assertIn(option, scripts["zsh"])
                self.assertIn(f"-l {option[2:]}", scripts["fish"])

    def test_the_manual_is_a_page_without_mistakes(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        page = say("groff", "-man", "-Tascii", "-ww", input=say(URNIC, "manual"))
        self.assertIn("urnic run -- ibv_rc_pingpong", re.sub(r"\x1b\[[\d;]*m|.\x08", "", page))


if __name__ == "__main__":
    unittest.main()
