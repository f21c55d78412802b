# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Whether tools find what they run, in a project so small that it is configured and built in a moment."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from building import build  # noqa: E402
from stage import Stage  # noqa: E402

LISTS = """
cmake_minimum_required(VERSION 3.23)
project(small LANGUAGES NONE)
add_custom_target(product COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/source bin/urnic)
add_custom_target(traffic COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/source bin/traffic)
add_custom_target(impossible COMMAND ${CMAKE_COMMAND} -E echo it is; COMMAND ${CMAKE_COMMAND} -E false)
install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/urnic DESTINATION bin)
"""
PRESETS = """
{"version": 4, "configurePresets":
  [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"}]}
"""


class Building(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = pathlib.Path(folder.name).resolve()
        (self.project / "CMakeLists.txt").write_text(LISTS)
        (self.project / "CMakePresets.json").write_text(PRESETS)
        self.source = self.project / "source"  # of all programs
        self.source.write_text("first")
        self.folder = self.project / "build/release"

    def test_makes_a_preset_s_folder_and_what_is_asked_for_alone(self):
        build(self.folder, "product", project=self.project)
        self.assertTrue((self.folder / "bin/urnic").exists())
        self.assertFalse((self.folder / "bin/traffic").exists())

    def test_a_stage_has_the_product_and_each_program_of_today(self):
        build(self.folder, "product", project=self.project)  # as tools/demo leaves it
        self.source.write_text("second")
        stage = Stage(self.folder)
        self.addCleanup(stage.close)
        self.assertEqual(stage.urnic.read_text(), "second")
        self.assertEqual(stage.program("traffic").read_text(), "second")

    def refusal(self, *arguments):
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stdout(io.StringIO()):
            build(*arguments, project=self.project)
        return str(ended.exception)

    def test_says_what_failed(self):
        said = self.refusal(self.folder, "impossible")
        self.assertIn("it is", said)
        self.assertIn("--target impossible", said)

    def test_another_folder_must_be_a_build(self):
        self.assertIn("is no build folder", self.refusal(self.project / "elsewhere", "product"))


if __name__ == "__main__":
    unittest.main()
