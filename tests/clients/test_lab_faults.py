# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The program of lab 15 with one fault at a time: it passes plainly, one tool finds the fault, and the others
do not. With all four faults it passes as well, and without any of them each tool is content."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import ClientTest

LABS = harness.PROJECT / "tools/teaching/lab"
LAB = LABS / "15_it_works_on_my_machine"
sys.path.append(str(LABS))

from runner.exercises import exercises  # noqa: E402

NETWORK = (
    "link add net0 type veth peer name net1",
    "addr add 10.99.0.1/24 dev net0",
    "link set net0 up",
    "link set net1 up",
)
# The tool that finds the fault, and the functions that make it.
FAULTS = {
    "sanitize": ("wait_before_next_block",),
    "like": ("make_message_qp",),
    "chaos": ("opcode_of_block", "wait_for_block"),
    "check": ("receives_for_messages",),
}
CHAOS = (
    *("--seeds", "1-20"),
    *("--chaos", "only=late-payload+late-placement+last-bytes-first+late-completion+queues-out-of-order"),
)
SECONDS = 120
ATTEMPTS = 3  # a race may turn out the other way where the machine is busy


def function(text, name):
    """Its source."""
    return re.search(rf"^[^\n/]*\b{name}\(.*?^}}\n", text, re.MULTILINE | re.DOTALL)[0]


def decisions(faults):
    """The mended decisions, with the functions of these faults as works.c has them."""
    text = exercises(LAB, is_filled=True)["mended.c"]
    works = (LAB / "works.c").read_text()
    for fault in faults:
        for name in FAULTS[fault]:
            text = text.replace(function(text, name), function(works, name))
    return text


class LabFaults(ClientTest):
    def setUp(self):
        super().setUp()
        self.require("make", "gcc")
        # Programs are built and run in it, which /dev/shm often forbids.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="urnic-faults-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for file in [*LAB.iterdir(), *(LABS / "common").iterdir()]:
            if file.is_file():
                shutil.copyfile(file, self.folder / file.name)
        harness.STAGE.hand_over(self.folder)
        self.inside = self.namespace(*NETWORK) if harness.STAGE.is_root else ()

    def build(self, faults):
        (self.folder / "mended.c").write_text(decisions(faults))
        subprocess.run(["make", "-B", "-s", "mended"], cwd=self.folder, check=True)

    def urnic(self, *words):
        """(exit code, what it says)"""
        command = [*self.inside, *harness.STAGE.drop_privilege([harness.STAGE.urnic, *words])]
        result = subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env={**self.environment, "URNIC_PORT": "", "TMPDIR": str(self.folder)},
            timeout=SECONDS,
            check=False,
        )
        return result.returncode, result.stdout

    def both(self, *options):
        return self.urnic("run", *options, "--", "sh", "both.sh", "./mended")

    def sanitize_finds(self):
        code, said = self.both("--sanitize")
        self.assertEqual(code, int("urnic: error: buffer-changed-before-completion: " in said), said)
        return code != 0

    def like_finds(self):
        code, said = self.both("--like", "e810")
        self.assertEqual(code, int("refuses a queue pair" in said), said)
        return code != 0

    def chaos_finds(self):
        code, said = self.urnic("chaos", "--json", *CHAOS, "--", "sh", "both.sh", "./mended")
        failure = json.loads(said)["failure"]
        self.assertEqual(code, int(failure is not None), said)
        if failure is not None:
            self.assertIn("blocks were not whole", "\n".join(failure["output"]))
        return failure is not None

    def check_finds(self):
        ends = [
            subprocess.Popen(
                [
                    *map(str, self.inside),
                    *harness.STAGE.drop_privilege(
                        [harness.STAGE.urnic, "run", "--record", f"{name}.pcapng", "--", "./mended", *words]
                    ),
                ],
                cwd=self.folder,
                env={**self.environment, "URNIC_PORT": "", "TMPDIR": str(self.folder)},
                stdout=subprocess.DEVNULL,
            )
            for name, words in (("replica", ()), ("primary", ("localhost",)))
        ]
        self.assertEqual([end.wait(SECONDS) for end in ends], [0, 0])
        code, said = self.urnic("check", "replica.pcapng")
        self.assertEqual(code, 0, said)
        return "rnr-nak" in said

    def found_by(self):
        """The tools that find something."""
        return [tool for tool in FAULTS if getattr(self, f"{tool}_finds")()]

    def passes_plainly(self):
        code, said = self.both()
        self.assertEqual(code, 0, said)
        self.assertIn("64 blocks are there, all whole, and 64 messages", said)

    def test_each_fault_passes_plainly_and_is_found_by_its_tool_alone(self):
        for tool in FAULTS:
            with self.subTest(fault=tool):
                self.build([tool])
                self.passes_plainly()
                for _ in range(ATTEMPTS):
                    found = self.found_by()
                    if found:
                        break
                self.assertEqual(found, [tool])

    def test_with_all_faults_it_passes_plainly(self):
        self.build(FAULTS)
        self.passes_plainly()

    def test_mended_all_tools_are_content(self):
        self.build([])
        self.passes_plainly()
        self.assertEqual(self.found_by(), [])
