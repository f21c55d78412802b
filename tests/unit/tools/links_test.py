#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The links of all pages lead somewhere. tests/scripts/CASES.md names scripts and tests that there are."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = ("drivers", "nic", "pcap_fixtures", "tests", "tools", "transport", "verbs_api")
SCRIPTS = ROOT / "tests/scripts"
CASES = SCRIPTS / "CASES.md"
# Words and target of a link; what a page shows as code is none.
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
# Above the table of planted bugs in CASES.md.
PLANTED = "Planted bugs that cases find"


def pages():
    yield from ROOT.glob("*.md")
    for folder in FOLDERS:
        yield from (ROOT / folder).rglob("*.md")


def links_of(page):
    """(words, path, heading) of each link to something in the tree."""
    for words, target in LINK.findall(CODE.sub("", page.read_text())):
        if not re.match(r"\w+:", target):
            file, _, heading = target.partition("#")
            yield words, page.parent / file if file else page, heading


def headings_of(page):
    """As links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows_of(page):
    """(heading, cells) of each row of a table, without the rows at its top."""
    heading = ""
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if cells[0] not in ("case", "part", "words"):
                yield heading, cells


class Links(unittest.TestCase):
    def test_lead_somewhere(self):
        count = 0
        for page in pages():
            for words, path, heading in links_of(page):
                count += 1
                where = f"{page.relative_to(ROOT)}: {words}"
                self.assertTrue(path.exists(), where)
                if heading:
                    self.assertIn(heading, headings_of(path), where)
        self.assertGreater(count, 500)


class Cases(unittest.TestCase):
    def test_links_to_scripts_have_their_names(self):
        count = 0
        for words, path, _ in links_of(CASES):
            if path.suffix in (".rdma", ".cm") and "/" in words:
                count += 1
                self.assertEqual(words, str(path.relative_to(SCRIPTS).with_suffix("")))
        self.assertGreater(count, 200)

    def test_rows_name_tests_of_the_file_that_they_lead_to(self):
        count = 0
        for path, names in re.findall(r"\[\w+\.cc\]\((\S+\.cc)\): (`[^|]+`)", CASES.read_text()):
            for name in re.findall(r"`(\w+)`", names):
                count += 1
                self.assertRegex((SCRIPTS / path).read_text(), rf"\(\w+, {name}\)")
        self.assertGreater(count, 20)

    def test_a_planted_bug_is_caught_by_a_script_or_test_of_its_case(self):
        judges = {}
        for part, (case, by, *_) in rows_of(CASES):
            scripts = [f"tests/scripts/{path}" for path in re.findall(r"\((\S+\.(?:rdma|cm))\)", by)]
            judges[part, case] = scripts + re.findall(r"`(\w+)`", by)
        planted = [cells for part, cells in rows_of(CASES) if part == PLANTED]
        self.assertGreater(len(planted), 40)
        for part, case, bugs in planted:
            self.assertRegex(bugs, LINK)
            for name, path in LINK.findall(bugs):
                where = f"{part}: {case}: {name}"
                patch = SCRIPTS / path
                self.assertEqual(name, patch.stem, where)
                caught_by = re.search("^# Caught by: (.*)$", patch.read_text(), re.MULTILINE)[1]
                words = re.split(r"[;:\s]+", caught_by)
                by = {word if "/" in word else word.rpartition(".")[2] for word in words}
                self.assertTrue(by & set(judges[part, case]), where)

    def test_scripts_that_planted_bugs_name_are_there(self):
        count = 0
        for patch in (ROOT / "tests/mutants").glob("*.patch"):
            for names in re.findall(r"urnic_scripts: ([^;\n]+)", patch.read_text()):
                for name in names.split():
                    count += 1
                    self.assertTrue((ROOT / name).exists(), f"{patch.name}: {name}")
        self.assertGreater(count, 60)

    def test_each_folder_of_scripts_has_a_row(self):
        named = {path.parent for _, path, _ in links_of(CASES) if path.suffix in (".rdma", ".cm")}
        for folder in {path.parent for kind in ("rdma", "cm") for path in SCRIPTS.rglob(f"*.{kind}")}:
            self.assertIn(folder, named)


if __name__ == "__main__":
    unittest.main()
