# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether programs under test have a /tmp of their own; or, where that is not possible, whether one hears
whose file is there."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import own_tmp  # noqa: E402

NOBODY = 65534
# Enters, and says what is in /tmp then; 77 where namespaces are not allowed.
LOOK = f"""
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(HERE)!r})
import own_tmp
try:
    own_tmp.enter(*sys.argv[1:])
except OSError as error:
    print(error)
    sys.exit(77)
open("/tmp/mine", "w").write("mine")
for folder, _, files in os.walk("/tmp"):
    print(*(f"{{folder}}/{{file}}" for file in files), sep="\\n")
print("in", os.getcwd(), "as", os.geteuid())
"""


class OwnTmp(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir="/tmp", prefix="own-tmp-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.path.chmod(0o777)
        (self.path / "kept/deep").mkdir(parents=True)
        (self.path / "kept/deep/file").write_text("")
        (self.path / "other").write_text("")

    def look(self, *kept, user=None):
        """What LOOK prints. The interpreter gets it as text, as another user may not read this folder."""
        own = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        # Other users cannot run an interpreter in a home folder.
        python = sys.executable if user is None else "/usr/bin/python3"
        command = [python, "-c", LOOK.replace(str(HERE), str(self.module())), *map(str, kept)]
        result = subprocess.run(command, cwd=self.path / "kept", capture_output=True, text=True, **own)
        if result.returncode == 77:
            self.skipTest(f"namespaces are not allowed here: {result.stdout.strip()}")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.split("\n")

    def module(self):
        """A folder with own_tmp.py that every user may read."""
        copy = self.path / "module"
        copy.mkdir(exist_ok=True)
        copy.chmod(0o755)
        (copy / "own_tmp.py").write_text((HERE / "own_tmp.py").read_text())
        return copy

    def check(self, user=None):
        before = set(os.listdir("/tmp"))
        seen = self.look(self.path / "kept/deep", self.path / "kept", user=user)
        self.assertIn("/tmp/mine", seen)
        self.assertIn(str(self.path / "kept/deep/file"), seen)
        self.assertNotIn(str(self.path / "other"), seen)
        self.assertIn(f"in {self.path / 'kept'} as {os.geteuid() if user is None else user}", seen)
        self.assertFalse(pathlib.Path("/tmp/mine").exists())
        left = {name for name in set(os.listdir("/tmp")) - before if name.startswith("urnic-tmp-")}
        self.assertEqual(left, set())

    def test_holds_what_is_kept_and_nothing_else(self):
        self.check()

    def test_an_ordinary_user_has_one_too(self):
        if os.geteuid() != 0:
            self.skipTest("the other test runs as an ordinary user already")
        if not pathlib.Path("/usr/bin/python3").exists():
            self.skipTest("there is no Python for other users")
        self.check(user=NOBODY)


class Obstacles(unittest.TestCase):
    def test_says_whose_file_is_in_the_way(self):
        with tempfile.TemporaryDirectory() as folder:
            here, own_tmp.TMP = own_tmp.TMP, pathlib.Path(folder)
            self.addCleanup(setattr, own_tmp, "TMP", here)
            self.assertEqual(own_tmp.obstacles(os.geteuid()), [])
            (own_tmp.TMP / "xrc_domain_server").write_text("")
            self.assertEqual(own_tmp.obstacles(os.geteuid()), [])
            (line,) = own_tmp.obstacles(os.geteuid() + 1)
            self.assertIn(f"{folder}/xrc_domain_server belongs to {own_tmp._name_of(os.geteuid())}", line)


if __name__ == "__main__":
    unittest.main()
