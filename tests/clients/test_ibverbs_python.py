# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The Python package ibverbs of PyPI, by a program like the one that its page shows."""
import registry

PROGRAM = registry.harness.PROJECT / "tests/clients/programs/ibverbs_loopback.py"


class IbverbsForPython(registry.RegistryTest):
    def test_loopback(self):
        packages = self.bring(registry.python_packages, "ibverbs", registry.IBVERBS_PYPI)
        variables = {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
        program = self.start("program", [registry.PYTHON, PROGRAM], environment=variables)
        self.expect_end(program, 60)
        self.assertIn("written, read, sent and added", program.output())
