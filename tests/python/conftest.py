# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What tests of the Python package share. They run in an environment where its wheel is installed, such as
tests/clients/run.py 'test_python.*' makes."""
import textwrap

import pytest

pytest_plugins = ["pytester"]

# What a test of a user has: two programs that meet.
PINGPONG = """
    import os, pathlib, time, pytest, urnic

    def pingpong(server, client, *, iters=20, **options):
        port = urnic.free_port()
        words = ["ibv_rc_pingpong", "-d", "urnic0", "-g", 1, "-p", port, "-n", iters]
        listening = server.popen(words)
        listening.wait_for_listener(port)
        client.run([*words, "127.0.0.1"], **options)
        listening.expect_end()
"""


@pytest.fixture
def outcome_of(pytester):
    """Runs a test file of a user in a pytest of its own, and returns its result."""

    def run(text, *options, prefix=()):
        pytester.makepyfile(textwrap.dedent(PINGPONG) + textwrap.dedent(text))
        command = [*prefix, *pytester._getpytestargs(), "-p", "no:cacheprovider", "-rs", *options]
        return pytester.run(*map(str, command), timeout=120)

    return run
