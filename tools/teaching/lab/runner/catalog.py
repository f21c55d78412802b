# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Which labs there are."""
import importlib.util
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is known about peers on the wire, in numbered facts: in the source, and where it is installed.
FACTS = (ROOT.parents[2] / "transport/FACTS.md", ROOT.parent.parent / "doc/urnic/FACTS.md")
COMMON = ROOT / "common"  # files that a student's folder gets besides the lab's own


def all_labs():
    """By number."""
    labs = {}
    for folder in sorted(ROOT.iterdir()):
        name = re.fullmatch(r"(\d\d)_\w+", folder.name)
        if name and (folder / "lab.py").exists():
            lab = _load(folder)
            lab.number, lab.folder = int(name[1]), folder
            labs[lab.number] = lab
    return labs


def _load(folder):
    spec = importlib.util.spec_from_file_location(f"lab_{folder.name}", folder / "lab.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LAB
