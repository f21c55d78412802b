#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""tools/development/release: its checks of the tree, in a repository of the tests' own. tools/test --stage
install runs it whole."""
import argparse
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/development"))

from releasing import changelog, command, steps, version  # noqa: E402
from testing import log  # noqa: E402

CHANGELOG = """# Changelog

## Unreleased

## 1.2.3 - 2026-11-29

### Added

- A NIC.

## 1.2.2 - 2026-10-01

- Another.
"""
AUTHOR = ["-c", "user.name=tester", "-c", "user.email=tester"]


class Changelog(unittest.TestCase):
    def refused(self, text, why):
        with self.assertRaisesRegex(changelog.NotReady, why):
            changelog.check_nothing_is_unreleased(text)
            changelog.notes_of(text, "1.2.3")

    def test_the_section_of_a_version_is_cut_out(self):
        changelog.check_nothing_is_unreleased(CHANGELOG)
        body, date = changelog.notes_of(CHANGELOG, "1.2.3")
        self.assertEqual((body, str(date)), ("### Added\n\n- A NIC.", "2026-11-29"))
        self.assertEqual(changelog.notes_of(CHANGELOG, "1.2.2")[0], "- Another.")

    def test_links_become_paths(self):
        text = "A NIC ([how](a/B.md#c)). [SUPPORT.md](v/SUPPORT.md) has [two\nlines](x/), and [that](https://a.b/)."
        self.assertEqual(
            changelog.without_links(text),
            "A NIC (how: a/B.md#c). v/SUPPORT.md has two\nlines (x/), and [that](https://a.b/).",
        )

    def test_what_is_not_ready_is_refused(self):
        self.refused(CHANGELOG.replace("## Unreleased", "## Unreleased\n\n- More."), "Unreleased")
        self.refused(CHANGELOG.replace("## 1.2.3", "## 1.2.4"), "no section")
        self.refused(CHANGELOG.replace(" - 2026-11-29", ""), "no date")
        self.refused(CHANGELOG.replace(" - 2026-11-29", " - soon"), "no date")
        self.refused(CHANGELOG.replace("- A NIC.", ""), "empty")
        self.refused("", "no section")


class Tree(unittest.TestCase):
    """A repository that is ready, and what spoils it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for module in (version, steps, command):
            patch = unittest.mock.patch.object(module, "ROOT", self.root)
            patch.start()
            self.addCleanup(patch.stop)
        logs = unittest.mock.patch.object(log, "LOGS", self.root / "build/test-logs")
        logs.start()
        self.addCleanup(logs.stop)
        self.write("CMakeLists.txt", "project(urnic VERSION 1.2.3 LANGUAGES C)\n")
        self.write("CHANGELOG.md", CHANGELOG)
        self.write(".gitignore", "/build/\n")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        (self.root / name).write_text(text)

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, *AUTHOR, *words], check=True, capture_output=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Change it")

    def run_checks(self, **options):
        """What each check ends with, and what is printed after them. Nothing is made."""
        options = {"between_releases": False, "without_tests": True, **options}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            results = {
                name: command.carry_out(name, step, argparse.Namespace(**options))
                for name, step in steps.CHECKS.items()
            }
        return results, printed.getvalue()

    def expect(self, failed, why):
        results, printed = self.run_checks()
        self.assertEqual([name for name, result in results.items() if result != command.RIGHT], [failed])
        self.assertRegex(printed, why)

    def test_a_tree_that_is_ready_passes(self):
        results, printed = self.run_checks()
        self.assertEqual(set(results.values()), {command.RIGHT}, printed)

    def test_a_change_that_is_not_committed_fails(self):
        self.write("new.txt", "")
        self.expect("tree", "new.txt")

    def test_a_second_place_of_the_version_fails(self):
        self.write("setup.py", 'setup(version="1.2.3")\n')
        self.commit()
        self.expect("version", "setup.py:1")

    def test_a_tag_that_is_there_fails(self):
        self.git("tag", "v1.2.3")
        self.expect("tag", "v1.2.3")

    def test_a_changelog_without_the_version_fails(self):
        self.write("CHANGELOG.md", CHANGELOG.replace("1.2.3", "1.3.0"))
        self.commit()
        self.expect("changelog", "no section")

    def test_between_releases_that_is_no_failure(self):
        self.git("tag", "v1.2.3")
        results, _ = self.run_checks(between_releases=True)
        self.assertEqual(results["tag"], command.EXPECTED)

    def test_the_sums_are_of_all_files_and_the_notes_of_the_version(self):
        version.folder().mkdir(parents=True)
        options = argparse.Namespace(between_releases=False)
        steps.notes(None, options)
        self.assertEqual(
            (version.folder() / steps.NOTES).read_text(),
            "# urnic 1.2.3\n\n### Added\n\n- A NIC.\n\nPaths are in the archive of the sources.\n",
        )
        self.assertEqual(steps.sums(None, options), "SHA256SUMS of 1 files")
        self.assertRegex((version.folder() / steps.SUMS).read_text(), r"\A[0-9a-f]{64}  release-notes.md\n\Z")

    def test_the_commands_name_the_tag_and_the_commit(self):
        said = command.commands()
        head = subprocess.run(
            ["git", "-C", self.root, "rev-parse", "HEAD"], capture_output=True, text=True
        ).stdout
        self.assertIn(f'git tag -s v1.2.3 -m "urnic 1.2.3" {head[:12]}', said)
        self.assertIn("git push origin v1.2.3", said)
        self.assertNotIn("://", said)


class CommandLine(unittest.TestCase):
    def test_it_only_runs_dry(self):
        result = subprocess.run([ROOT / "tools/development/release"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--dry-run", result.stderr)


if __name__ == "__main__":
    unittest.main()
