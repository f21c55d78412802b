"""A cover of the ladder, of about a minute: the lines that are like no other test here. ladder.py runs them all."""
import unittest

from ladder_line import LineTest
from ladder_table import LINES


def load_tests(loader, tests, pattern):
    return unittest.TestSuite(LineTest(line) for line in LINES if line.cover)
