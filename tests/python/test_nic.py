# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""NICs as options of `urnic run`, fabrics, and judgements of captures, without pytest's fixtures."""
import dataclasses
import os
import pathlib
import re
import subprocess

import pytest

import urnic

LABS = urnic.binary().parents[1] / "share/urnic/labs/10_be_the_verifier"


def test_every_option_of_urnic_run_has_a_name_here_and_no_other():
    said = subprocess.run(
        [urnic.binary(), "run", "--help"], capture_output=True, text=True, check=True
    ).stdout
    there = set(re.findall(r"^ +(?:-\w, *)?--([\w-]+)", said, re.MULTILINE)) - {"help"}
    assert there and there == {field.name for field in dataclasses.fields(urnic.Nic)}


def test_a_command_is_for_subprocess():
    words = urnic.command(
        ["ibv_devices"], port="fabric", mtu=1500, sanitize="stacks=0", explain=True, verbose=False
    )
    binary, *rest = words
    assert pathlib.Path(binary) == urnic.binary()
    assert rest == [
        "run",
        "--port",
        "fabric",
        "--mtu",
        "1500",
        "--sanitize",
        "stacks=0",
        "--explain",
        "--",
        "ibv_devices",
    ]
    assert "urnic0" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_an_option_that_is_none_is_one_clear_line():
    with pytest.raises(urnic.UrnicError, match="a NIC has no option 'colour'; there are port, devices, "):
        urnic.run(["ibv_devices"], colour="red")


def test_a_program_that_is_not_there_is_said():
    with pytest.raises(urnic.ProgramFailed, match="cannot run no-such-program: there is no such program"):
        urnic.run(["no-such-program"])


def test_a_device_that_is_not_there_is_said():
    with pytest.raises(urnic.ProgramFailed, match="IB device mlx5_0 not found"):
        urnic.run(["ibv_rc_pingpong", "-d", "mlx5_0"])


def test_without_check_the_code_is_the_callers():
    assert urnic.run(["sh", "-c", "exit 7"], check=False).returncode == 7


def server_on(nic):
    """A program that has a queue pair, and waits for its peer."""
    port = urnic.free_port()
    server = nic.popen(["ibv_rc_pingpong", "-d", nic.device, "-g", nic.gid_index, "-p", port])
    server.wait_for_listener(port)
    return server


def test_a_fabric_leaves_nothing():
    with urnic.Fabric() as fabric:
        first, second = fabric.nics(2)
        assert [first.address, second.address] == ["10.99.0.1", "10.99.0.2"]
        assert "::ffff:10.99.0.2" in second.run(["ibv_devinfo", "-v"]).stdout
        server = server_on(first)
        assert fabric.is_running() and "241 ports" in fabric.status()
        server.end()
        folder = fabric.runtime
    assert not os.path.exists(folder)
    with pytest.raises(urnic.UrnicError, match="does not run"):
        fabric.nic(0)


def test_fabrics_do_not_see_each_other():
    with urnic.Fabric() as one, urnic.Fabric() as other:
        server = server_on(one.nic(0))
        assert one.is_running() and not other.is_running()
        server.end()


def test_a_topology_is_between_the_nics_of_a_fabric():
    topology = urnic.binary().parents[1] / "share/urnic/topologies/dumbbell.json"
    with urnic.Fabric(topology=topology) as fabric:
        assert fabric.is_running()
        fabric.nic(1).run(["ibv_devices"])


@pytest.mark.parametrize(
    "options, why",
    [
        ({"topology": "/no/such/file"}, "cannot read /no/such/file: No such file or directory"),
        ({"uplink": "pigeon:1"}, "there is no kind of port called 'pigeon'"),
        ({"mtu": 3}, "--mtu"),
    ],
)
def test_a_fabric_that_cannot_start_says_why(options, why):
    with pytest.raises(urnic.UrnicError, match="the fabric did not start: .*" + re.escape(why)):
        urnic.Fabric(**options).start()


def test_a_port_beyond_the_last_is_refused():
    with urnic.Fabric() as fabric, pytest.raises(urnic.UrnicError, match="NICs 0 to 240, and not 241"):
        fabric.nic(241)


def test_captures_are_judged():
    good = urnic.check([LABS / "right.pcap"])
    assert good.is_clean and good.roce_frames > 0 and "verdict: clean" in good.text
    bad = urnic.check([LABS / "odd-1.pcap"])
    violations = [finding for finding in bad.findings if finding.severity == "violation"]
    assert not bad.is_clean and bad.violations == len(violations) == 3
    assert str(violations[0]).startswith(
        "violation msn: frame 17, 10.77.0.2 qp 0x00002d > 10.77.0.3 qp 0x00002c: expected 8"
    )


def test_what_is_no_capture_is_damage(tmp_path):
    text = tmp_path / "text"
    text.write_text("some text")
    report = urnic.check([text])
    assert not report.is_clean and "not a pcap or pcapng file" in report.damage[str(text)]


def test_a_wrong_option_of_check_is_said():
    with pytest.raises(urnic.UrnicError, match="--colour"):
        urnic.check([LABS / "right.pcap"], ["--colour"])
