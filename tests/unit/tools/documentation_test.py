#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The completions and manual pages that `urnic` prints, in the shells and readers that are installed here.

    documentation_test.py URNIC
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

URNIC = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMANDS = (
    "run",
    "chaos",
    "fabric",
    "host",
    "check",
    "conform",
    "view",
    "lab",
    "sheet",
    "replay",
    "sim",
    "stat",
    "doctor",
    "personalities",
    "explain",
    "completion",
    "manual",
)

# Only `urnic run` itself sets these.
SET_BY_RUN = {"URNIC_PATHS", "URNIC_LEASE_FD", "URNIC_RUN", "URNIC_CHOSEN"}

# What is typed, and some of what must be offered.
ROWS = (
    ("urnic ", ("run", "sim", "doctor")),
    ("urnic r", ("run", "replay")),
    ("urnic run --p", ("--port", "--pcap")),
    ("urnic host st", ("status", "stop")),
    ("urnic replay --side re", ("requester", "responder")),
    ("urnic completion z", ("zsh",)),
    ("urnic manual do", ("doctor",)),
    ("urnic sim --sha", ("--shard",)),
)


def say(*words, **options):
    result = subprocess.run(words, capture_output=True, text=True, **options)
    if result.returncode or result.stderr:
        raise AssertionError(f"{words}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def options_of(command):
    return set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", say(URNIC, command, "--help"), re.MULTILINE))


def plain(page):
    """A page's source with the dashes that people type."""
    return page.replace("\\-", "-")


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
        scripts = {shell: say(URNIC, "completion", shell) for shell in ("bash", "zsh", "fish")}
        for command in COMMANDS:
            page = plain(say(URNIC, "manual", command))
            for option in options_of(command):
                self.assertIn(f"\\fB{option}\\fR", page)
                self.assertIn(option, scripts["bash"])
                self.assertIn(option, scripts["zsh"])
                self.assertIn(f"-l {option[2:]}", scripts["fish"])

    def pages(self):
        """Name and text of each page that packages install."""
        folder = self.folder / "man1"
        say(URNIC, "manual", "--all", folder)
        return {path.name: path.read_text() for path in folder.iterdir()}

    def test_each_command_has_a_page_and_each_page_names_the_others(self):
        pages = self.pages()
        self.assertEqual({"urnic.1"} | {f"urnic-{command}.1" for command in COMMANDS}, set(pages))
        self.assertEqual(pages["urnic.1"], say(URNIC, "manual"))
        for command in COMMANDS:
            self.assertEqual(pages[f"urnic-{command}.1"], say(URNIC, "manual", command))
        for name, page in pages.items():
            see_also = plain(page).partition(".SH SEE ALSO\n")[2]
            others = {other.removesuffix(".1") for other in pages} - {name.removesuffix(".1")}
            self.assertEqual(others, set(re.findall(r"\\fB(urnic[\w-]*)\\fR\(1\)", see_also)), name)

    def test_each_page_has_the_sections_that_readers_expect(self):
        for name, page in self.pages().items():
            sections = re.findall(r"^\.SH (.+)$", page, re.MULTILINE)
            self.assertEqual(sections[:3], ["NAME", "SYNOPSIS", "DESCRIPTION"], name)
            self.assertIn("OPTIONS", sections, name)
            self.assertIn("EXAMPLES", sections, name)
            self.assertEqual(sections[-1], "SEE ALSO", name)
            self.assertEqual(len(sections), len(set(sections)), name)
            if name not in ("urnic.1", "urnic-sim.1", "urnic-completion.1"):
                self.assertIn("EXIT STATUS", sections, name)

    def test_synopses_are_what_people_type(self):
        for command, lines in (
            ("run", ["urnic run [OPTIONS] -- PROGRAM ARGUMENTS..."]),
            ("host", ["urnic host status [OPTIONS]", "urnic host stop [OPTIONS]"]),
            ("completion", ["urnic completion [OPTIONS] SHELL"]),
        ):
            page = plain(say(URNIC, "manual", command))
            synopsis = page.partition(".SH SYNOPSIS\n")[2].partition(".SH")[0]
            self.assertEqual(re.findall(r"^\.B (.+)$", synopsis, re.MULTILINE), lines)
        self.assertIn("urnic fabric link [OPTIONS] ADDRESS down|up\n", plain(say(URNIC, "manual", "fabric")))

    def test_the_manual_of_run_has_each_variable_that_the_sources_read(self):
        page = plain(say(URNIC, "manual", "run")).partition(".SH ENVIRONMENT\n")[2]
        documented = set(re.findall(r"\\fB(URNIC_\w+)\\fR=", page))
        read = set()
        for path in (ROOT / "verbs_api").rglob("*.[ch]*"):
            if path.name != "variable_table.cc":
                read |= set(re.findall(r'"(URNIC_[A-Z0-9_]+)"', path.read_text()))
        self.assertEqual(read - SET_BY_RUN, documented)
        self.assertLessEqual(SET_BY_RUN, read)

    def test_the_page_of_the_adversary_has_what_the_command_lists(self):
        listed = say(URNIC, "chaos", "--list")
        page = (ROOT / "nic/adversary/CHAOS.md").read_text()
        behaviors = re.findall(
            r"^([a-z-]+)( .*)?\n  (.+)\n  rule:     (.+)\n  exposes:  .+$", listed, re.MULTILINE
        )
        self.assertGreater(len(behaviors), 20)
        for name, note, what, rule in behaviors:
            self.assertIn(f"| `{name}`{' (named only)' if note else ''} | {what} |\n", page)
            self.assertIn(f"| `{name}` | {rule} |\n", page)
        sections = page.partition("## Behaviors")[2].partition("## What it never does")[0]
        self.assertEqual(len(re.findall(r"^\| `", sections, re.MULTILINE)), 2 * len(behaviors))

    def test_each_name_that_is_listed_is_explained(self):
        listed = re.findall(r"^  (\S+) +\S+ +\S", say(URNIC, "explain"), re.MULTILINE)
        self.assertGreater(len(listed), 200)
        for name in listed:
            self.assertTrue(say(URNIC, "explain", name).startswith(name), name)

    def test_the_page_about_hardware_has_names_that_are_explained(self):
        """And each finding that is an error, and each row of the personalities that is no number."""
        page = (ROOT / "verbs_api/FROM_URNIC_TO_HARDWARE.md").read_text()
        named = set()
        for row in re.findall(r"^\|.*\| (`.*) \|$", page.partition("## What differs")[2], re.MULTILINE):
            named |= set(re.findall(r"`([^`]+)`", row))
        self.assertGreater(len(named), 60)
        for name in named:
            say(URNIC, "explain", name)
        rows = json.loads(say(URNIC, "personalities", "--json"))["personalities"][0]["rows"]
        behaviours = {row["name"] for row in rows if "_" not in row["name"] and row["name"] != "lid"}
        self.assertEqual(behaviours - named, set())

    def test_an_unknown_page_is_refused(self):
        result = subprocess.run([URNIC, "manual", "nothing"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"\Aurnic: .*nothing.*\n\Z")
        blocked = self.folder / "file"
        blocked.write_text("")
        result = subprocess.run([URNIC, "manual", "--all", blocked], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(str(blocked), result.stderr)

    def test_the_pages_have_no_mistakes(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        for name, page in self.pages().items():
            for device in ("ascii", "utf8"):
                say("groff", "-man", f"-T{device}", "-ww", input=page)  # a warning is a failure
        page = say("groff", "-man", "-Tascii", "-ww", input=say(URNIC, "manual", "run"))
        shown = re.sub(r"\x1b\[[\d;]*m|.\x08", "", page)
        self.assertIn("urnic run -- ibv_rc_pingpong", shown)
        self.assertIn("'urnic doctor'", shown)  # a quote of groff's own is no apostrophe

    def test_whatis_can_read_each_name(self):
        if not shutil.which("lexgrog"):
            self.skipTest("man-db is not installed")
        for name, page in self.pages().items():
            path = self.folder / name
            path.write_text(page)
            said = say("lexgrog", path)
            self.assertRegex(said, rf': "{name.removesuffix(".1")} - [a-z]', name)


if __name__ == "__main__":
    unittest.main()
