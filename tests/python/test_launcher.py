# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The command `urnic` of the package."""
import pathlib
import platform
import subprocess
import sys

import pytest

import urnic
from urnic import launcher

BINARY = urnic.binary()
COMMAND = pathlib.Path(sys.executable).with_name("urnic")


def said_by(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60)


def test_the_command_is_the_program():
    version = said_by(urnic.binary(), "--version").stdout
    assert version.startswith("urnic ")
    assert said_by(COMMAND, "--version").stdout == version
    assert said_by(sys.executable, "-m", "urnic", "--version").stdout == version


def test_its_words_and_code_go_through():
    result = said_by(COMMAND, "run", "--", "sh", "-c", 'echo "$1"; exit 7', "sh", "a  word")
    assert (result.returncode, result.stdout) == (7, "a  word\n")
    assert said_by(COMMAND, "no-such-command").returncode == 2


def test_labs_and_pages_are_there():
    assert "urnic lab 1" in said_by(COMMAND, "lab").stdout
    pages = urnic.binary().parents[1] / "share/doc/urnic"
    assert {"README.md", "PYTHON.md", "FAULTS.md"} <= {page.name for page in pages.iterdir()}


def test_manual_and_completions_are_where_shells_look():
    share = pathlib.Path(sys.prefix, "share")
    for page in (
        "man/man1/urnic.1",
        "man/man1/urnic-run.1",
        "bash-completion/completions/urnic",
        "zsh/vendor-completions/_urnic",
    ):
        assert (share / page).stat().st_size > 0


@pytest.fixture
def other_binary(tmp_path, monkeypatch):
    """A tree with another program than the package's."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(launcher, "TREE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["urnic", "doctor"])
    return tmp_path / "bin/urnic"


def refusal(capfd):
    with pytest.raises(SystemExit) as ended:
        launcher.main()
    said = capfd.readouterr().err
    assert said.startswith("urnic: ") and said.count("\n") == 1
    return ended.value.code, said


def test_a_program_for_another_processor_is_one_line(other_binary, capfd):
    header = bytearray(BINARY.read_bytes()[:64])
    header[18:20] = (243).to_bytes(2, "little")  # RISC-V
    other_binary.write_bytes(header)
    other_binary.chmod(0o755)
    code, said = refusal(capfd)
    assert code == 126
    assert f"is for another processor (ELF machine 243), and this machine is {platform.machine()}" in said


def test_a_damaged_program_is_one_line(other_binary, capfd):
    other_binary.write_bytes(b"\x7fELF")
    other_binary.chmod(0o755)
    code, said = refusal(capfd)
    assert code == 126 and "the file is damaged" in said


def test_a_program_that_is_gone_is_one_line(other_binary, capfd):
    code, said = refusal(capfd)
    assert code == 127 and f"{other_binary} is missing" in said


def test_a_program_that_may_not_be_run_is_one_line(other_binary, capfd):
    other_binary.write_bytes(BINARY.read_bytes())
    other_binary.chmod(0o644)
    code, said = refusal(capfd)
    assert code == 126 and "Permission denied" in said


def test_an_obstacle_is_none_or_told(other_binary):
    assert f"{other_binary} is missing" in urnic.obstacle()
