# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The scripts of tools/deployment/recipes, each in a network of its own: other people's programs, and what
was recorded of them."""
import os
import re

import harness
import registry
from registry import RegistryTest

RECIPES = harness.PROJECT / "tools/deployment/recipes"
NETWORK = (
    "link add net0 type veth peer name net1",
    "addr add 10.99.0.1/24 dev net0",
    "link set net0 up",
    "link set net1 up",
)
# What each needs of what its packages install.
NEEDS = {
    "open-mpi": ["mpirun.openmpi", "mpicc.openmpi"],
    "mpich": ["mpiexec.mpich", "mpicc.mpich"],
    "ucx": ["ucx_perftest"],
    "libfabric": ["fi_pingpong"],
    "gloo": ["g++"],
    "ceph": ["ceph", "ceph-mon", "monmaptool"],
    "mooncake": [],
    "nixl": [],
}
# What they need of PyPI.
PYTHON_NEEDS = {
    "mooncake": (registry.MOONCAKE, registry.NUMPY),
    "nixl": (registry.NIXL, registry.NUMPY),
}


class Recipes(RegistryTest):
    PACKAGES = "recipes"

    def follow(self, name):
        self.require(*NEEDS[name])
        variables = {}
        if name in PYTHON_NEEDS:
            packages = self.bring(registry.python_packages, name, *PYTHON_NEEDS[name])
            variables = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
        inside = self.namespace(*NETWORK)
        tmp = self.runtime / "tmp"
        tmp.mkdir()
        tmp.chmod(0o777)
        path = f"{harness.STAGE.urnic.parent}:/usr/bin:{os.environ['PATH']}:/usr/sbin:/sbin"
        variables |= {"PATH": path, "TMPDIR": str(tmp), "URNIC_PORT": ""}
        words = harness.STAGE.drop_privilege(["sh", RECIPES / f"{name}.sh"])
        process = self.start_plain(name, [*inside, *words], variables, privileged=True)
        self.expect_end(process, timeout=120)
        if not re.search(r"urnic carried [1-9]\d* packets", process.output()):
            self.fail_with("packets expected")

    def test_there_are_no_others(self):
        self.assertEqual({script.stem for script in RECIPES.glob("*.sh")} - {"recording"}, set(NEEDS))


def _add(name):
    setattr(Recipes, f"test_{name.replace('-', '_')}", lambda self: self.follow(name))


for _name in NEEDS:
    _add(_name)
