# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""How tests of users end that use the fixtures: each runs in a pytest of its own."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest
import urnic

# Has the process and its children get "not permitted" for system calls, and then becomes a command.
FORBID = """
import errno, os, sys, seccomp
calls = seccomp.SyscallFilter(seccomp.ALLOW)
for name in sys.argv[1].split(","):
    calls.add_rule(seccomp.ERRNO(errno.EPERM), name)
calls.load()
os.execv(sys.argv[2], sys.argv[2:])
"""


def forbid(*calls):
    # Debian's python3-seccomp is for Debian's Python.
    if subprocess.run(["/usr/bin/python3", "-c", "import seccomp"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("python3-seccomp is not installed (tools/install-packages clients)")
    return ["/usr/bin/python3", "-c", FORBID, ",".join(calls)]


def test_a_nic_a_fabric_and_a_lossy_link_carry_programs(outcome_of):
    result = outcome_of(
        """
        def test_nic(urnic_nic):
            assert urnic_nic.address == "127.0.0.1"
            pingpong(urnic_nic, urnic_nic)

        def test_fabric(urnic_fabric):
            nics = urnic_fabric(4)
            assert len({nic.address for nic in nics}) == 4
            for server, client in zip(nics, nics[1:]):
                pingpong(server, client)

        def test_rdma_cm(urnic_fabric):
            server, client = urnic_fabric(2)
            listening = server.popen(["rping", "-s", "-C", 5])
            for _ in range(100):
                asked = client.run(["rping", "-c", "-a", server.address, "-v", "-C", 5], check=False)
                if asked.returncode == 0:
                    break
                time.sleep(0.05)
            assert asked.stdout.count("ping data") == 5
            listening.expect_end()

        def test_lossy(urnic_lossy_link):
            server, client = urnic_lossy_link(loss=0.05, dup=0.05)
            pingpong(server, client)
        """
    )
    result.assert_outcomes(passed=4)


def test_a_link_loses_what_it_should(outcome_of):
    """Otherwise a test over it would say nothing."""
    result = outcome_of(
        """
        def test_lossy(urnic_lossy_link, urnic_capture):
            server, client = urnic_lossy_link(loss=0.1)
            pingpong(server, client, iters=100)
            rules = {finding.rule for finding in urnic_capture.check().findings}
            assert "repetition" in rules, rules
        """
    )
    result.assert_outcomes(passed=1)


def test_a_clean_capture_passes_and_goes(outcome_of, pytester):
    base = pytester.path / "base"
    result = outcome_of(
        """
        def test_it(urnic_fabric, urnic_capture):
            pingpong(*urnic_fabric(2))
            assert len(urnic_capture.files) == 2
        """,
        f"--basetemp={base}",
    )
    result.assert_outcomes(passed=1)
    assert base.exists() and not list(base.rglob("*.pcapng"))


SPOILT = """
    def test_spoilt(urnic_fabric, urnic_capture):
        pingpong(*urnic_fabric(2), fault="set:kind=ack:aeth.msn=9:nth=3")
"""


def test_a_broken_rule_fails_the_test_and_the_capture_is_kept(outcome_of, pytester):
    result = outcome_of(SPOILT, f"--basetemp={pytester.path / 'base'}", "--junitxml=report.xml")
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines(
        [r"urnic check found 1 violation:", r"  msn frame \d+, .*", r"verdict: violations"]
    )
    result.stdout.fnmatch_lines(
        ["*- urnic -*", "$ *urnic* run *--fault *", "capture: *00-ibv_rc_pingpong.pcapng"]
    )
    report = xml.etree.ElementTree.parse(pytester.path / "report.xml")
    files = [one.get("value") for one in report.iter("property") if one.get("name") == "urnic_capture"]
    assert len(files) == 2
    assert urnic.check(files).violations == 1


def test_captures_of_failures_are_copied_with_a_page(outcome_of, pytester):
    outcome_of(
        SPOILT + "\n    def test_clean(urnic_fabric, urnic_capture):\n        pingpong(*urnic_fabric(2))\n",
        "--urnic-artifacts=kept/here",
    ).assert_outcomes(failed=1, passed=1)
    folders = list((pytester.path / "kept/here").iterdir())
    assert [folder.name.rpartition("_test_")[2] for folder in folders] == ["spoilt"]
    names = sorted(file.name for file in folders[0].iterdir())
    assert names == ["00-ibv_rc_pingpong.pcapng", "01-ibv_rc_pingpong.pcapng", "view.html"]
    assert "<html" in (folders[0] / "view.html").read_text()[:2000]


def test_a_failure_of_the_test_itself_keeps_the_capture_too(outcome_of):
    result = outcome_of(
        """
        def test_it(urnic_fabric, urnic_capture):
            pingpong(*urnic_fabric(2))
            assert "its own" == "complaint"
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *its own*", "capture: *00-ibv_rc_pingpong.pcapng"])


def test_a_capture_from_elsewhere_is_judged(outcome_of):
    result = outcome_of(
        """
        LABS = urnic.binary().parents[1] / "share/urnic/labs/10_be_the_verifier"

        def test_right(urnic_capture):
            urnic_capture.add(LABS / "right.pcap")

        def test_odd(urnic_capture):
            urnic_capture.add(LABS / "odd-1.pcap")

        def test_cut(urnic_capture, tmp_path):
            whole = (LABS / "right.pcap").read_bytes()
            (tmp_path / "cut.pcap").write_bytes(whole[:-10])
            urnic_capture.add(tmp_path / "cut.pcap")

        def test_missing(urnic_capture):
            urnic_capture.add("/no/such/file")
        """
    )
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*urnic check found 3 violations:",
            "*urnic check could not read a capture to its end:",
            "*cut.pcap*",
            "*/no/such/file: No such file or directory",
        ]
    )


def test_programs_end_before_their_captures_are_judged(outcome_of):
    result = outcome_of(
        """
        ODD = urnic.binary().parents[1] / "share/urnic/labs/10_be_the_verifier/odd-1.pcap"

        def test_late(urnic_nic, urnic_capture):
            text = "trap 'cp \\"$ODD\\" late.pcap; exit' TERM; echo ready; while :; do sleep 0.05; done"
            urnic_nic.popen(["sh", "-c", text], env={"ODD": str(ODD)}).wait_for_output("ready")
            urnic_capture.add("late.pcap")
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["urnic check found 3 violations:"])


def test_a_capture_of_nothing_fails_unless_that_is_right(outcome_of):
    result = outcome_of(
        """
        def test_empty(urnic_fabric, urnic_capture):
            urnic_fabric(1)[0].run(["true"])

        def test_right(urnic_fabric, urnic_capture):
            urnic_capture.may_be_empty = True
            urnic_fabric(1)[0].run(["true"])
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*sent and received no RoCE frame, so there was nothing to check*"])


def test_expected_failures_may_be_a_captures(outcome_of):
    outcome_of("    @pytest.mark.xfail" + SPOILT.rstrip()).assert_outcomes(xfailed=1)
    outcome_of("    @pytest.mark.xfail(strict=True)" + SPOILT.rstrip()).assert_outcomes(xfailed=1)


def test_a_program_that_hangs_fails_the_test_and_is_gone(outcome_of, pytester):
    result = outcome_of(
        """
        def test_hangs(urnic_nic):
            urnic_nic.run(["sh", "-c", "echo $$ >pid; echo waiting; exec sleep 1000"])

        def test_next(urnic_nic):
            pid = int(pathlib.Path("pid").read_text())
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        """,
        "--urnic-timeout=1",
    )
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["E *sh did not end within 1 s", "*was ended by SIGTERM*", "*waiting"])


def test_servers_that_a_test_leaves_are_gone_and_no_failure(outcome_of, pytester):
    result = outcome_of(
        """
        def test_leaves(urnic_fabric):
            program = urnic_fabric(1)[0].popen(["sleep", 1000])
            pathlib.Path("pid").write_text(str(program.pid))

        def test_next():
            with pytest.raises(ProcessLookupError):
                os.kill(int(pathlib.Path("pid").read_text()), 0)
        """
    )
    result.assert_outcomes(passed=2)


def test_ctrl_c_ends_all_programs(pytester):
    pytester.makepyfile(
        """
        import pathlib

        def test_hangs(urnic_fabric):
            nic = urnic_fabric(2)[0]
            pathlib.Path("folder").write_text(nic.environment["XDG_RUNTIME_DIR"])
            program = nic.popen(["sleep", 1000])
            pathlib.Path("new").write_text(str(program.pid))
            pathlib.Path("new").rename("pid")
            program.wait()
        """
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    running = subprocess.Popen(
        command,
        cwd=pytester.path,
        stdout=subprocess.PIPE,
        text=True,
        # A job in the background of a shell ignores it, and so do all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    file = pytester.path / "pid"
    for _ in range(2000):
        if file.exists():
            break
        time.sleep(0.01)
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 2 and "KeyboardInterrupt" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)
    assert not pathlib.Path((pytester.path / "folder").read_text()).exists()


def test_tests_at_once_do_not_meet(outcome_of):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed (tools/install-packages clients)")
    result = outcome_of(
        """
        @pytest.mark.parametrize("number", range(6))
        def test_fabric(urnic_fabric, urnic_capture, number):
            pingpong(*urnic_fabric(2))

        @pytest.mark.parametrize("number", range(4))
        def test_nic(urnic_nic, number):
            pingpong(urnic_nic, urnic_nic)

        def test_seed(pytestconfig):
            assert pytestconfig.option.urnic_seed == 17
        """,
        "-n2",
        "--urnic-seed=17",
    )
    result.assert_outcomes(passed=11)


def test_a_seed_draws_the_same_again(outcome_of, pytester):
    def drawn(seed, name="first"):
        result = outcome_of(
            f"""
            def test_{name}(urnic_lossy_link):
                print([nic.fault for nic in urnic_lossy_link(loss=0.5)])
                assert not urnic_lossy_link()
            """,
            f"--urnic-seed={seed}",
        )
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines([f"losses were drawn with: pytest '*::test_{name}' --urnic-seed={seed}"])
        return next(line for line in result.outlines if line.startswith("['loss="))

    assert drawn(5) == drawn(5)
    assert len({drawn(5), drawn(6), drawn(5, "second")}) == 3


def test_wrong_use_is_one_clear_line(outcome_of):
    result = outcome_of(
        """
        def test_chance(urnic_lossy_link):
            urnic_lossy_link(loss=7)

        def test_device(urnic_nic):
            urnic_nic.run(["ibv_rc_pingpong", "-d", "mlx5_0"])

        def test_option(urnic_fabric):
            urnic_fabric(2, colour="red")

        def test_many(urnic_fabric):
            urnic_fabric(242)
        """
    )
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "E *urnic_lossy_link: loss is a probability from 0 to 1, and not 7",
            "E *IB device mlx5_0 not found",
            "E *a NIC has no option 'colour'; there are *",
            "E *a fabric has NICs 0 to 240, and not 241",
        ]
    )


USER = """
    def test_it(urnic_nic):
        pingpong(urnic_nic, urnic_nic)
"""
REASON = "urnic does not work here: system calls: memfd_create with seals: Operation not permitted"


def test_where_urnic_cannot_work_tests_are_skipped_with_the_reason(outcome_of):
    result = outcome_of(USER, prefix=forbid("memfd_create"))
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED *{REASON}*"])


def test_where_urnic_is_required_they_fail(outcome_of):
    result = outcome_of(USER, "--urnic-required", prefix=forbid("memfd_create"))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"{REASON}*"])


def test_no_user_namespace_is_needed(outcome_of):
    outcome_of(USER, "--urnic-required", prefix=forbid("unshare", "setns")).assert_outcomes(passed=1)
