# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What pyproject.toml cannot say: for which machines the wheel is, and what goes beside the command.
make_wheel.py writes the file PLATFORM, and the folder data."""
import pathlib

from setuptools import Distribution, setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent


class PlatformWheel(bdist_wheel):
    """Any Python 3, and one kind of machine: the package has programs, and no extension modules."""

    def get_tag(self):
        return "py3", "none", (HERE / "PLATFORM").read_text().strip()


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        """Or files for one kind of machine would go where those for all machines are."""
        return True


def data_files():
    """Manual page and completions: below share/ of the environment, where man and shells look."""
    folders = {}
    for file in sorted((HERE / "data").rglob("*")):
        if file.is_file():
            folders.setdefault(str(file.parent.relative_to(HERE / "data")), []).append(
                str(file.relative_to(HERE))
            )
    return list(folders.items())


setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel}, data_files=data_files())
