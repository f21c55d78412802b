#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The first mistake of a person with each command: one line that says what happened and what to write, and
the exit code of wrong usage.

    first_errors_test.py URNIC
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

URNIC = sys.argv.pop(1)
FAILURE, USAGE, NOT_FOUND = 1, 2, 127

# What a person types after `urnic`, the exit code, and what the line must say.
ROWS = (
    ("frobnicate", USAGE, ("there is no command 'frobnicate'", "urnic --help")),
    ("chek x.pcap", USAGE, ("there is no command 'chek'; near it: check",)),
    ("ls -l", USAGE, ("there is no command 'ls'", "urnic run -- ls -l")),
    ("-x", USAGE, ("there is no option '-x'", "urnic --help")),
    ("--json", USAGE, ("--json requires --version", "urnic --help")),
    ("-- true", USAGE, ("write a command before '--'", "urnic run -- PROGRAM")),
    ("run", USAGE, ("run: which program?", "for example: urnic run -- ")),
    ("run --", USAGE, ("run: which program?", "for example: urnic run -- ")),
    ("run true -v", USAGE, ("run: write '--' before the program: urnic run [OPTIONS] -- true",)),
    (
        "run --prot host -- true",
        USAGE,
        ("run: there is no option '--prot'; near it: --port", "urnic run --help"),
    ),
    ("run --prot=host -- true", USAGE, ("run: there is no option '--prot'; near it: --port",)),
    ("run --pcap -- true", USAGE, ("run: nothing follows --pcap; write --pcap FILE", "urnic run --help")),
    ("run --mtu 12 -- true", USAGE, ("run: --mtu: ", "urnic run --help")),
    ("run --port loopback -- ib_write_bww", NOT_FOUND, ("cannot run ib_write_bww", "near it: ib_write_bw")),
    ("run --port loopback -- no-such-program", NOT_FOUND, ("cannot run", "no folder of PATH has it")),
    (
        "run --port loopback -- ./no-such-file",
        NOT_FOUND,
        ("cannot run ./no-such-file: there is no such program",),
    ),
    ("stat", FAILURE, ("no process of this user has", "urnic run -- PROGRAM", "XDG_RUNTIME_DIR")),
    ("stat 999999999", FAILURE, ("no such process of this user has", "'urnic stat' alone")),
    ("stat abc", USAGE, ("stat: 'abc' is neither a process number nor the address of a NIC",)),
    ("stat --interval x", USAGE, ("stat: --interval: ", "urnic stat --help")),
    (
        "fabric statsu",
        USAGE,
        ("fabric: there is no command 'statsu'; near it: status", "urnic fabric --help"),
    ),
    ("fabric status", FAILURE, ("has no switch", "'urnic run --port fabric -- PROGRAM' starts it")),
    (
        "fabric --name lab stop",
        FAILURE,
        ("has no switch", "'urnic run --port fabric:lab -- PROGRAM' starts it"),
    ),
    (
        "fabric link",
        USAGE,
        (
            "fabric link: ADDRESS is missing; write: urnic fabric link ADDRESS down|up",
            "urnic fabric link --help",
        ),
    ),
    ("fabric link 10.0.0.1", USAGE, ("fabric link: down|up is missing",)),
    ("fabric link 10.0.0.1 sideways", USAGE, ("fabric link: ", "sideways not in {down,up}")),
    ("fabric link 10.0.0.1 down", FAILURE, ("no program on fabric default", "'urnic stat' lists")),
    ("fabric --topology no-such-file", FAILURE, ("cannot read no-such-file",)),
    ("host", USAGE, ("host: write one of: status, stop", "urnic host --help")),
    ("host start", USAGE, ("host: there is no command 'start'; there are status, stop", "urnic host --help")),
    ("doctor ls", USAGE, ("doctor: write '--' before the program: urnic doctor -- ls",)),
    ("check", USAGE, ("check: which file? Write: urnic check FILE", "urnic run --pcap FILE -- PROGRAM")),
    ("check no-such.pcap", USAGE, ("no-such.pcap: No such file", "'urnic run --pcap FILE -- PROGRAM'")),
    ("check letter", USAGE, ("letter: not a pcap or pcapng file",)),
    ("check .", USAGE, (".: is a folder; name the files in it",)),
    (
        "check --mtu 77 letter",
        USAGE,
        ("check: --mtu: 77 not in {256,512,1024,2048,4096}", "urnic check --help"),
    ),
    ("conform", USAGE, ("conform: name a peer, such as: urnic conform 192.0.2.2",)),
    ("conform nonsense", USAGE, ("conform: 'nonsense' is no IP address",)),
    ("conform --filter nothing 192.0.2.2", USAGE, ("no case has such a name", "'urnic conform --list'")),
    (
        "conform --port loopback --token secret 192.0.2.2",
        USAGE,
        ("conform: the port loopback leads to no peer",),
    ),
    ("conform --port nothing --token secret 192.0.2.2", USAGE, ("conform: --port nothing:", "bench:PATH")),
    (
        "conform --mtu 1500 --token secret 192.0.2.2",
        USAGE,
        ("the ports udp and host the tester has what the host has", "udp:ADDRESS names an address"),
    ),
    ("conform 192.0.2.2", USAGE, ("what does the agent want to hear? Set CONFORM_TOKEN, or --token",)),
    ("view", USAGE, ("view: which file? Write: urnic view FILE", "urnic run --pcap FILE -- PROGRAM")),
    ("view no-such.pcap", USAGE, ("no-such.pcap: No such file", "'urnic run --pcap FILE -- PROGRAM'")),
    ("view --packets many letter", USAGE, ("view: --packets: write a whole number from 1 on, not 'many'",)),
    ("replay", USAGE, ("replay: which file? Write: urnic replay FILE", "urnic run --pcap FILE -- PROGRAM")),
    ("replay no-such.pcap", USAGE, ("no-such.pcap: No such file", "'urnic run --pcap FILE -- PROGRAM'")),
    ("replay --side left letter", USAGE, ("replay: --side: left not in {requester,responder,both}",)),
    ("lab 99", USAGE, ("there is no lab 99; 'urnic lab' lists them, from 1 to 15",)),
    ("lab one", USAGE, ("lab: number: write a whole number from 1 on, not 'one'", "urnic lab --help")),
    ("lab --solution", USAGE, ("--solution of which lab? Write: urnic lab 1 --solution",)),
    ("sheet x", USAGE, ("sheet: 'x' is one word too many", "urnic sheet --help")),
    ("sheet -o /no-such-folder/x", USAGE, ("cannot write /no-such-folder/x", "-o FILE names another file")),
    ("sim --bad", USAGE, ("sim: there is no option '--bad'", "urnic sim --help")),
    ("sim --seeds 0", USAGE, ("sim: --seeds: write a whole number from 1 on, not '0'",)),
    ("sim --seed -1", USAGE, ("sim: ",)),
    ("sim --seed x", USAGE, ("sim: --seed: write a whole number from 0 on, not 'x'",)),
    ("sim --workload incast", USAGE, ("sim: --workload requires --topology", "urnic sim --help")),
    (
        "sim --topology incast --workload no-such-file",
        USAGE,
        ("cannot read no-such-file", "; urnic has the workloads deadlock, incast"),
    ),
    ("sheet --version", USAGE, ("sheet: there is no option '--version' (see",)),
    ("explain --jsn", USAGE, ("explain: there is no option '--jsn' (see",)),
    ("manual nothing", USAGE, ("manual: command: nothing not in {run,", "urnic manual --help")),
    ("completion", USAGE, ("completion: bash|zsh|fish is missing; write: urnic completion bash|zsh|fish",)),
    ("completion tcsh", USAGE, ("completion: shell: tcsh not in {bash,zsh,fish}",)),
)


class FirstErrors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "letter").write_text("Dear reader, this is a letter.\n")

    def urnic(self, *words, path="/usr/bin:/bin"):
        return subprocess.run(
            [URNIC, *words],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={"PATH": path, "XDG_RUNTIME_DIR": str(self.folder), "LANG": "C"},
        )

    def test_each_is_one_line_that_leads_on(self):
        for words, code, said in ROWS:
            with self.subTest(words=words):
                done = self.urnic(*words.split())
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertRegex(done.stderr, r"\Aurnic( lab)?: [^\n]+\n\Z")
                for part in said:
                    self.assertIn(part, done.stderr)

    def test_without_a_word_it_is_an_overview(self):
        done = self.urnic()
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
        lines = done.stderr.splitlines()
        self.assertLess(len(lines), 24, "one screen")
        self.assertLess(max(map(len, lines)), 100)
        for first in ("urnic doctor", "urnic run -- ", "urnic lab 1"):
            self.assertIn(f"  {first}", done.stderr)

    def test_the_overview_has_each_command_once(self):
        commands = re.findall(r"^  ([a-z]+)  ", self.urnic("--help").stdout, re.MULTILINE)
        self.assertIn("doctor", commands)
        below = self.urnic().stderr.split("Commands:\n")[1]
        listed = re.findall(r"^  [A-Za-z ]+   +([a-z, ]+)$", below, re.MULTILINE)
        self.assertCountEqual(", ".join(listed).split(", "), commands)

    def programs(self, *names):
        """A folder that has these alone."""
        folder = self.folder / "bin"
        folder.mkdir()
        for name in names:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
        return str(folder)

    def test_the_example_is_a_program_of_this_machine(self):
        path = self.programs("ls", "ibv_devices")
        self.assertIn("urnic run -- ibv_devices", self.urnic("run", path=path).stderr)
        self.assertIn("urnic run -- ibv_devices ", self.urnic(path=path).stderr)

    def test_without_any_such_program_the_example_still_runs(self):
        path = self.programs("ls")
        self.assertIn("urnic run -- ls /sys/class/infiniband", self.urnic("run", path=path).stderr)

    def test_a_program_that_is_not_installed_has_a_package(self):
        path = self.programs("ls")
        for program, package in (
            ("ib_write_bw", "perftest"),
            ("ibv_rc_pingpong", "ibverbs-utils"),
            ("rping", "rdmacm-utils"),
            ("fi_pingpong", "libfabric-bin"),
            ("ucx_perftest", "ucx-utils"),
        ):
            with self.subTest(program=program):
                done = self.urnic("run", "--port", "loopback", "--", program, path=path)
                self.assertEqual(done.returncode, NOT_FOUND)
                self.assertIn(f"there is no such program; on Debian: apt install {package}\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
