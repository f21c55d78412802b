# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What README.md and the pages for users show, run as an ordinary user in a network of its own, whose address
the pages have: each command must write what the page says. pages.py has the rules."""
import re
import unittest

import harness
import pages
from python_package import PackageTest

# The page, and the programs that it needs beside those that the Python package needs.
PAGES = {
    "README.md": ("gcc", "make"),
    "verbs_api/PROGRAMS.md": ("cc", "rping"),
    "verbs_api/FROM_URNIC_TO_HARDWARE.md": ("cc",),
    "tools/conformance/WIRES.md": (),
    "tools/teaching/TEACHING.md": ("gcc", "make", "bwrap"),
}
NETWORK = (
    "link add net0 type veth peer name net1",
    "addr add 10.99.0.1/24 dev net0",
    "link set net0 up",
    "link set net1 up",
)
TIMEOUT = 120


def read(name):
    return pages.read((harness.PROJECT / name).read_text(), name)


class Pages(PackageTest):
    def require_containers(self):
        probe = self.start_plain("probe", ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"])
        if probe.wait(20) != 0:
            self.skipTest(f"no container can be made here: {probe.output().strip()}")

    def follow(self, name):
        self.require("bash", "ss", *PAGES[name])
        if "bwrap" in PAGES[name]:
            self.require_containers()
        page = read(name)
        inside = self.namespace(*NETWORK)
        folder = self.runtime / "here"
        folder.mkdir()
        for file, text in page.files.items():
            (folder / file).write_text(text)
        script = self.runtime / "script"
        script.write_text(pages.script_of(page))
        harness.STAGE.hand_over(self.runtime)
        path = f"{harness.STAGE.urnic.parent}:{self.made.venv}/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        words = harness.STAGE.drop_privilege(
            ["bash", "-c", 'cd "$1" && exec bash "$2"', "bash", folder, script]
        )
        process = self.start_plain(name, [*inside, *words], {"PATH": path}, privileged=True)
        self.expect_end(process, timeout=TIMEOUT)
        wrong = list(pages.complaints(page, pages.outputs_of(process.output())))
        if wrong:
            self.fail("\n".join(wrong))


class WhatIsNotRun(unittest.TestCase):
    def test_it_is_listed_with_its_reason(self):
        for name in PAGES:
            for line, commands, reason in read(name).not_run:
                self.assertGreater(len(reason.split()), 3, f"{name}:{line}: say why it is not run")
                print(f"not run: {name}:{line}: {'; '.join(commands)}: {reason}")

    def test_every_page_runs_something(self):
        for name in PAGES:
            self.assertGreater(len(read(name).steps), 5, name)


class InstalledPages(harness.ClientTest):
    def test_no_link_between_them_is_dead(self):
        folder = harness.STAGE.root / "share/doc/urnic"
        names = {page.name for page in folder.glob("*.md")}
        self.assertLessEqual({name.rpartition("/")[2] for name in PAGES}, names)
        readme = (folder / "README.md").read_text()
        for name in ("PROGRAMS.md", "SUPPORT.md#does-not-work-yet", "loss.png"):
            self.assertIn(f"]({name})", readme)
        for page in folder.glob("*.md"):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((folder / target).is_file(), f"{page.name} leads to {target}")


def _add(name):
    word = re.sub(r"\W", "_", name.removesuffix(".md").rpartition("/")[2].lower())
    setattr(Pages, f"test_{word}", lambda self: self.follow(name))


for _name in PAGES:
    _add(_name)
