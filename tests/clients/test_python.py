# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The Python package: its wheel, in a fresh virtual environment without an index, as an ordinary user, with
Debian's pytest."""
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

from python_package import PACKAGE, TESTS, PackageTest, must


def without_licence(file):
    """Its text, as a page shows it."""
    first, _, rest = file.read_text().partition("\n")
    assert "SPDX" in first
    return rest


class Package(PackageTest):
    def run_pytest(self, *words):
        options = ["-q", "-p", "no:cacheprovider", "--tb=short", "--urnic-required"]
        process = self.start_plain("pytest", [self.made.python, "-m", "pytest", *options, *words])
        self.expect_end(process, timeout=600)
        self.assertRegex(process.output(), r"\n[1-9]\d* passed")

    def test_programs_nics_and_the_command(self):
        self.run_pytest(TESTS / "test_program.py", TESTS / "test_nic.py", TESTS / "test_launcher.py")

    def test_how_tests_of_users_end(self):
        self.run_pytest(TESTS / "test_outcomes.py")

    def test_the_pages_example_is_one_that_runs(self):
        example = TESTS / "example/test_pingpong.py"
        page = (PACKAGE / "PYTHON.md").read_text()
        self.assertIn(f"```python\n{without_licence(example)}```", page)
        self.run_pytest(example)

    def test_the_page_has_every_fixture_option_and_name(self):
        page = (PACKAGE / "PYTHON.md").read_text()
        source = (PACKAGE / "urnic/pytest_plugin.py").read_text()
        names = re.findall(r"^def (urnic_\w+)\(", source, re.M) + re.findall(r'"(--urnic-\w+)"', source)
        self.assertGreaterEqual(len(names), 8)
        for name in names:
            self.assertIn(f"| `{name}", page)

    def test_the_wheel_brings_all_that_it_needs(self):
        """As the dynamic linker sees it: other libraries than glibc come from the package."""
        files = [path for path in self.made.tree.rglob("*") if path.is_file() and is_elf(path)]
        self.assertGreaterEqual(len(files), 9)
        brought = 0
        for path in files:
            for name, where in re.findall(r"^\t(\S+) => (.+?)(?: \(0x\w+\))?$", ldd(path), re.MULTILINE):
                if re.match(r"(libc|libm|libdl|librt|libpthread)\.so\.\d$", name):
                    continue
                brought += 1
                inside = pathlib.Path(where).resolve()
                self.assertEqual(inside.parent, self.made.tree / "lib/urnic/bundled", f"{path}: {name}")
                # No program of a user can take it for its own.
                self.assertRegex(name, r"^\w+-[0-9a-f]{8}\.so\.\d+$")
        self.assertGreaterEqual(brought, 8)

    def test_the_wheel_has_the_licences_of_what_it_brings(self):
        documents = self.made.tree / "share/doc/urnic"
        origins = (documents / "bundled/README").read_text()
        for library in (self.made.tree / "lib/urnic/bundled").iterdir():
            found = re.search(rf"^{re.escape(library.name)}: package (\S+) \d", origins, re.MULTILINE)
            self.assertTrue(found, f"{library.name} in {origins}")
            self.assertTrue((documents / f"bundled/{found[1]}.copyright").stat().st_size)
        self.assertIn("GNU LESSER GENERAL PUBLIC LICENSE", (documents / "bundled/LGPL-2.1").read_text())
        with zipfile.ZipFile(self.made.wheel) as wheel:
            beside = {pathlib.PurePath(name).name for name in wheel.namelist() if ".dist-info/" in name}
        self.assertLessEqual({"LICENSE", "LICENSE.notices"}, beside)
        self.assertIn("Files: dpdk/*", (documents / "copyright").read_text())

    def test_the_tag_is_the_newest_glibc_that_it_needs(self):
        """By another reader of ELF than make_wheel.py has."""
        newest = (0, 0)
        for path in self.made.tree.rglob("*"):
            if path.is_file() and is_elf(path):
                for version in re.findall(r"\(GLIBC_(\d+\.\d+)[.\d]*\)", must("objdump", "-T", path)):
                    newest = max(newest, tuple(map(int, version.split("."))))
        machine = os.uname().machine
        self.assertTrue(
            self.made.wheel.name.endswith(f"-py3-none-manylinux_{newest[0]}_{newest[1]}_{machine}.whl")
        )

    def test_auditwheel_has_no_complaint(self):
        venv = self.made.make("auditwheel")
        pip = [venv / "bin/pip", "install", "-q", "--timeout", "10", "--retries", "1", "auditwheel"]
        if subprocess.run(list(map(str, pip)), capture_output=True, timeout=300).returncode:
            self.skipTest("auditwheel is not available: pip cannot load it")
        said = " ".join(must(venv / "bin/python", "-m", "auditwheel", "show", self.made.wheel).split())
        tag = self.made.wheel.stem.split("-")[-1]
        self.assertIn(f'is consistent with the following platform tag: "{tag}"', said)

    def test_the_wheel_is_for_one_kind_of_machine_and_has_no_link(self):
        with zipfile.ZipFile(self.made.wheel) as wheel:
            (about,) = (name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL"))
            self.assertIn("Root-Is-Purelib: false", wheel.read(about).decode())
            modes = {entry.filename: entry.external_attr >> 16 for entry in wheel.infolist()}
        self.assertFalse([name for name, mode in modes.items() if mode & 0o170000 == 0o120000])
        for name in ("bin/urnic", "lib/urnic/urnic_switch"):
            self.assertTrue(modes[f"urnic/tree/{name}"] & 0o100, name)

    def test_pip_refuses_a_wheel_of_another_processor(self):
        other = self.runtime / self.made.wheel.name.replace(os.uname().machine, "riscv64")
        shutil.copy(self.made.wheel, other)
        result = subprocess.run(
            [self.made.venv / "bin/pip", "install", "--no-index", other], capture_output=True, text=True
        )
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"ERROR: {other.name} is not a supported wheel on this platform", result.stderr)

    def test_an_uninstalled_package_leaves_nothing(self):
        venv = self.made.make("left", self.made.wheel)
        self.assertTrue(list(venv.rglob("urnic")))
        must(venv / "bin/pip", "uninstall", "-y", "urnic")
        self.assertEqual([], [str(path) for path in venv.rglob("*urnic*")])


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def ldd(path):
    return subprocess.run(["ldd", path], capture_output=True, text=True).stdout
