# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs as tests start them: how they are waited for, and how they end."""
import os
import pathlib
import signal
import socket
import time

import pytest

import urnic


def start(text, **how):
    return urnic.Program(["sh", "-c", text], **how)


def is_gone(pid):
    for _ in range(200):
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_output_of_any_length_does_not_stop_it():
    program = start("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2")
    program.expect_end()
    assert len(program.stdout) == 3_000_000 and program.stderr == "end\n"


def test_it_reads_what_it_is_given_and_then_the_end():
    assert urnic.Program(["cat"], input="two\nlines\n").expect_end().stdout == "two\nlines\n"
    assert urnic.Program(["cat"]).expect_end().stdout == ""


def test_another_code_fails_with_what_it_wrote():
    with pytest.raises(urnic.ProgramFailed, match="sh ended with 3 instead of 0") as caught:
        start("echo here; echo there >&2; exit 3").expect_end()
    assert "here" in str(caught.value) and "there" in str(caught.value)


def test_a_signal_is_named():
    with pytest.raises(urnic.ProgramFailed, match="was ended by SIGSEGV"):
        start("kill -SEGV $$").expect_end()


def test_what_hangs_is_said_and_can_be_ended():
    program = start("echo started; sleep 1000")
    with pytest.raises(urnic.ProgramTimeout, match=r"did not end within 0\.3 s\n(?s:.*)started"):
        program.wait(0.3)
    assert program.returncode is None
    program.end()
    program.end()
    assert program.returncode == -signal.SIGTERM and "was ended" in program.describe()


def test_what_ignores_a_polite_end_is_killed():
    program = start("trap '' TERM; echo ready; while :; do sleep 0.05; done")
    program.wait_for_output("ready")
    program.end()
    assert program.returncode == -signal.SIGKILL


def test_its_children_end_with_it_in_whatever_process_group_they_are():
    program = urnic.Program(["bash", "-c", "set -m; sleep 1000 & echo $!; wait"])
    program.wait_for_output("\n")
    child = int(program.stdout)
    assert os.getpgid(child) != program.pid
    program.end()
    assert is_gone(child)


def test_children_that_outlive_it_end_with_it():
    program = start("sleep 1000 & echo $!")
    program.expect_end()
    child = int(program.stdout)
    os.kill(child, 0)
    program.end()
    assert is_gone(child) and not program.was_ended


def test_it_waits_for_text_and_says_when_that_cannot_come():
    program = start("sleep 0.2; echo now; sleep 1000")
    program.wait_for_output("now")
    with pytest.raises(urnic.ProgramTimeout, match=r"wrote no 'never' within 0\.2 s"):
        program.wait_for_output("never", 0.2)
    program.end()
    with pytest.raises(urnic.ProgramFailed, match="wrote no 'never' and ended with 0"):
        start("echo at once").wait_for_output("never")


def test_it_waits_for_a_listener_over_ipv4_and_ipv6():
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        port = urnic.free_port()
        listen = f"s = socket.socket({int(family)}); s.bind(('{address}', {port})); s.listen()"
        text = f"import socket, time; time.sleep(0.3); {listen}; time.sleep(1000)"
        program = urnic.Program(["/usr/bin/python3", "-c", text])
        program.wait_for_listener(port)
        program.end()


def test_a_server_that_ends_does_not_listen():
    port = urnic.free_port()
    with pytest.raises(urnic.ProgramFailed, match=f"does not listen on TCP port {port} and ended with 1"):
        start("exit 1").wait_for_listener(port)
