# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The wheel of the Python package, in a virtual environment without an index, for tests."""
import atexit
import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import ClientTest

PACKAGE = harness.PROJECT / "tools/deployment/python"
TESTS = harness.PROJECT / "tests/python"
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's pytest
MODULES = ("pip", "setuptools", "wheel", "venv", "pytest", "yaml")


def must(*words):
    result = subprocess.run(
        [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        raise AssertionError(f"{' '.join(map(str, words))}: {result.stdout}")
    return result.stdout


class Environment:
    """A wheel, and a virtual environment that it is installed in; tests write to neither."""

    def __init__(self, build):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="urnic-python-", dir="/tmp"))
        self.folder.chmod(0o755)
        must(sys.executable, PACKAGE / "make_wheel.py", "--build", build, "--output", self.folder)
        (self.wheel,) = self.folder.glob("*.whl")
        self.wheel.chmod(0o644)
        self.venv = self.make("venv", self.wheel)
        self.python = self.venv / "bin/python"

    def make(self, name, *wheels):
        """An environment with these wheels, and with Debian's packages."""
        venv = self.folder / name
        must(PYTHON, "-m", "venv", "--system-site-packages", venv)
        if wheels:
            must(venv / "bin/pip", "install", "--no-index", *wheels)
        return venv

    @property
    def tree(self):
        return next(self.venv.glob("lib/python*/site-packages/urnic/tree"))

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


@functools.cache
def environment():
    """Made by the first test that wants it, and removed when the tests have ended."""
    made = Environment(harness.STAGE.build)
    atexit.register(made.close)
    return made


class PackageTest(ClientTest):
    """A test with the environment `made`, of an ordinary user."""

    def setUp(self):
        super().setUp()
        self.require("patchelf", "readelf", "ibv_rc_pingpong", "ibv_devinfo", "rping")
        for module in MODULES:
            if subprocess.run([PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode:
                self.skipTest(f"Debian's Python has no {module} (tools/install-packages clients)")
        self.made = environment()
        # pip asks no index, and nothing is written beside the sources.
        self.environment |= {"PIP_NO_INDEX": "1", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
        del self.environment["URNIC_PORT"]  # users have the usual port
