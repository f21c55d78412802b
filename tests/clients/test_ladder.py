# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A cover of the ladder: the lines that are like no other test here. ladder.py runs them all."""
import unittest

from lines import cm_table, registry_table, verbs_table


def load_tests(loader, tests, pattern):
    return unittest.TestSuite(
        line.test() for line in (*verbs_table.LINES, *cm_table.LINES, *registry_table.LINES) if line.cover
    )
