# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Bad usage of `urnic run`: one clear line each, and an exit code that is not 0; and what `urnic doctor`
says."""
import json
import os
import subprocess

import harness
from harness import ClientTest, wait_until
from stage import NOBODY

USAGE, FAILURE, NOT_EXECUTABLE, NOT_FOUND = 2, 1, 126, 127
TRUE = ["--", "true"]
CASES = {
    "no_program": ([], USAGE, "--"),
    "nothing_behind_the_dashes": (["--"], USAGE, "--"),
    "program_without_dashes": (["true"], USAGE, "true"),
    "unknown_option": (["--colour", "red", *TRUE], USAGE, "--colour"),
    "missing_value": (["--ip"], USAGE, "--ip"),
    "bad_address": (["--ip", "10.0.0.300/24", *TRUE], USAGE, "--ip"),
    "bad_prefix": (["--ip", "10.0.0.1/40", *TRUE], USAGE, "--ip"),
    "broadcast_address": (["--ip", "10.0.0.255/24", *TRUE], USAGE, "--ip"),
    "bad_ipv6_address": (["--ip6", "fd00::zz/64", *TRUE], USAGE, "--ip6"),
    "bad_mac": (["--mac", "01:00:00:00:00:01", *TRUE], USAGE, "--mac"),
    "bad_mtu": (["--mtu", "12", *TRUE], USAGE, "--mtu"),
    "bad_port": (["--port", "pigeon:loft", *TRUE], USAGE, "--port"),
    "bad_side": (["--port", "vhost:/tmp/x.sock,middle", *TRUE], USAGE, "--port"),
    "bad_fabric": (["--port", "fabric:a/b", *TRUE], USAGE, "--port"),
    "bad_slot": (["--port", "fabric:lab,241", *TRUE], USAGE, "--port"),
    "path_too_long": (["--port", f"vhost:/tmp/{'x' * 120}", *TRUE], USAGE, "107"),
    "bad_fault": (["--fault", "gremlins=1", *TRUE], USAGE, "faults of calls begin with verb: or async:"),
    "fault_of_no_call": (["--fault", "verb:ibv_post_sent=EIO", *TRUE], USAGE, "near it: ibv_post_send"),
    "fault_of_no_event": (
        ["--fault", "async:FIRE:after=1s", *TRUE],
        USAGE,
        "there are DEVICE_FATAL, PORT_ERR",
    ),
    "fault_of_frames_beside_a_call": (
        ["--fault", "verb:ibv_reg_mr=EIO,loss=2", *TRUE],
        USAGE,
        "from 0 to 1, not '2'",
    ),
    "like_no_nic_that_is_known": (["--like", "conectx6", *TRUE], USAGE, "is it connectx6"),
    "like_with_an_unknown_word": (["--like", "connectx6,identiy", *TRUE], USAGE, "'identiy' means nothing"),
    "identity_of_no_nic": (["--like", "strict,identity", *TRUE], USAGE, "strict has no identity"),
    "bad_seed": (["--seed", "lucky", *TRUE], USAGE, "--seed"),
    "interface_without_address": (["--port", "af_packet:lo", *TRUE], USAGE, "--ip"),
    "missing_interface": (["--ip", "10.0.0.1", "--port", "af_packet:nosuch0", *TRUE], FAILURE, "nosuch0"),
    "interface_without_privilege": (
        ["--ip", "10.0.0.1", "--port", "af_packet:lo", *TRUE],
        FAILURE,
        "CAP_NET_RAW",
    ),
    "xdp_without_interface": (["--port", "af_xdp", *TRUE], USAGE, "an interface name is missing"),
    "xdp_without_address": (["--port", "af_xdp:lo", *TRUE], USAGE, "--ip"),
    "xdp_on_a_missing_interface": (
        ["--ip", "10.0.0.1", "--port", "af_xdp:nosuch0", *TRUE],
        FAILURE,
        "nosuch0",
    ),
    "xdp_on_large_frames": (
        ["--ip", "10.0.0.1", "--port", "af_xdp:lo", *TRUE],
        FAILURE,
        "frames of one page",
    ),
    "card_without_address": (["--port", "pci", *TRUE], USAGE, "the address of a PCI card is missing"),
    "card_with_a_bad_address": (["--port", "pci:eth0", *TRUE], USAGE, "is no address of a PCI card"),
    "card_without_ip": (["--port", "pci:0000:ff:1f.7", *TRUE], USAGE, "--ip"),
    "card_that_is_not_there": (
        ["--ip", "10.0.0.1", "--port", "pci:ff:1f.7", *TRUE],
        FAILURE,
        "PCI card 0000:ff:1f.7: there is none",
    ),
    "socket_in_no_folder": (["--port", "vhost:/nosuch/x.sock", *TRUE], FAILURE, "/nosuch/x.sock"),
    "recording_in_no_folder": (["--pcap", "/nosuch/x.pcap", *TRUE], FAILURE, "/nosuch/x.pcap"),
    "missing_program": (["--", "no-such-program"], NOT_FOUND, "no-such-program"),
    "program_that_is_a_folder": (["--", "/tmp"], NOT_EXECUTABLE, "/tmp"),
}


class Usage(ClientTest):
    def urnic(self, *words, code, says):
        process = self.start_plain("urnic", [harness.STAGE.urnic, *words])
        self.expect_end(process, timeout=20, code=code)
        lines = process.output().splitlines()
        if len(lines) != 1 or not lines[0].startswith("urnic: ") or says not in lines[0]:
            self.fail_with(f"one line with {says!r} expected")

    def occupant(self, name, *options):
        """A program that keeps its NIC until its test ends."""
        process = self.start(name, ["sh", "-c", "echo here; exec sleep 1000"], options)
        if not wait_until(lambda: "here" in process.output(), 10):
            self.fail_with(f"{name} did not start")
        return process

    def test_exit_code_is_the_programs(self):
        self.expect_end(self.start("sh", ["sh", "-c", "exit 42"]), code=42)

    def test_arguments_reach_the_program_untouched(self):
        process = self.start("printf", ["printf", "[%s]", "--ip", "-v", "--", "a b", ""])
        self.expect_end(process)
        self.assertEqual(process.output(), "[--ip][-v][--][a b][]")

    def test_help_tells_enough_to_use_it(self):
        for words in (["--help"], ["run", "--help"], ["fabric", "--help"], ["fabric", "status", "--help"]):
            process = self.start_plain("urnic", [harness.STAGE.urnic, *words])
            self.expect_end(process)
            self.assertIn("run", process.output())

    def test_version(self):
        process = self.start_plain("urnic", [harness.STAGE.urnic, "--version"])
        self.expect_end(process)
        self.assertRegex(process.output(), r"\Aurnic \d+\.\d+\.\d+\ncommit +\S+\nbuild .* DPDK \d")

    def test_version_for_programs(self):
        process = self.start_plain("urnic", [harness.STAGE.urnic, "--version", "--json"])
        self.expect_end(process)
        said = json.loads(process.output())
        plain = self.start_plain("urnic", [harness.STAGE.urnic, "--version"])
        self.expect_end(plain)
        self.assertEqual(f"urnic {said['version']}", plain.output().splitlines()[0])
        self.assertEqual(said["libibverbs"]["first"], "IBVERBS_1.0")
        self.urnic("--json", code=USAGE, says="--version")

    def test_taken_address(self):
        self.occupant("first", "--ip", "10.0.0.1/24")
        self.urnic("run", "--ip", "10.0.0.1/24", *TRUE, code=FAILURE, says="10.0.0.1")

    def test_too_long_a_runtime_folder(self):
        deep = self.runtime / ("x" * 80)
        deep.mkdir(mode=0o700)
        if harness.STAGE.is_root:
            os.chown(deep, NOBODY, NOBODY)
        self.environment["XDG_RUNTIME_DIR"] = str(deep)
        self.urnic("run", *TRUE, code=FAILURE, says="XDG_RUNTIME_DIR")

    def without(self, folder, *command):
        """The command where nothing is mounted at /proc or /sys."""
        if not harness.STAGE.is_root:
            self.skipTest("needs root: mount namespaces")
        inner = harness.STAGE.drop_privilege([harness.STAGE.urnic, "run", "--", *command])
        script = f'umount -l {folder} && exec "$@"'
        return self.start_plain(
            "urnic", ["unshare", "--mount", "sh", "-c", script, "sh", *inner], privileged=True
        )

    def doctor(self, code=0):
        process = self.start_plain("doctor", [harness.STAGE.urnic, "doctor", "--json"])
        self.expect_end(process, timeout=30, code=code)
        report = json.loads(process.output())
        self.assertEqual(report["version"], 1)
        for finding in report["findings"]:
            self.assertIn(finding["verdict"], ("ok", "note", "problem"))
            self.assertEqual(finding["remedy"] is None, finding["verdict"] == "ok", finding)
        return {finding["check"]: finding for finding in report["findings"]}

    def test_a_doctor_finds_no_problem_here(self):
        findings = self.doctor()
        self.assertTrue(findings["drop-in"]["found"].endswith("libibverbs.so.1 can be loaded"), findings)
        self.assertEqual(findings["runtime folder"]["found"], str(self.runtime / "urnic"))
        self.assertEqual(findings["CAP_NET_RAW"]["verdict"], "note")

    def test_a_doctor_sees_a_runtime_folder_that_cannot_be_used(self):
        (self.runtime / "urnic").mkdir()
        (self.runtime / "urnic").chmod(0o777)
        # Of root, if that runs the tests, or open to others.
        finding = self.doctor(code=FAILURE)["runtime folder"]
        self.assertEqual(finding["verdict"], "problem")
        self.assertIn(str(self.runtime / "urnic"), finding["found"])

    def test_a_doctor_speaks_to_people(self):
        process = self.start_plain("doctor", [harness.STAGE.urnic, "doctor"])
        self.expect_end(process, timeout=30)
        self.assertRegex(process.output(), r"(?m)^ok +drop-in +/")

    def test_without_proc(self):
        process = self.without("/proc", "true")
        self.expect_end(process, timeout=20, code=FAILURE)
        self.assertIn("needs /proc", process.output())

    def test_without_sys(self):
        self.require("ibv_rc_pingpong")
        process = self.without(
            "/sys", "ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(harness.free_port())
        )
        self.expect_end(process, timeout=20, code=FAILURE)
        self.assertIn("needs /sys", process.output())

    def test_a_static_program_is_told_that_it_sees_no_device(self):
        self.require("/sbin/ldconfig")
        process = self.start("ldconfig", ["/sbin/ldconfig", "--version"])
        self.expect_end(process)
        self.assertIn("urnic: /sbin/ldconfig is statically linked", process.output())
        process = self.start("true", ["true"])
        self.expect_end(process)
        self.assertEqual(process.output(), "")

    def moved(self, name):
        """A copy of the installation, in a folder of this name; its command."""
        folder = harness.STAGE.folder() / name
        for part in ("bin/urnic", "lib/urnic"):
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-r", harness.STAGE.root / part, folder / part], check=True)
        return folder / "bin/urnic"

    def test_it_runs_from_a_folder_with_a_space(self):
        """The loader takes a list of libraries apart at spaces."""
        look = "import os; print(os.path.exists('/dev/infiniband/rdma_cm'), open('/sys/class/infiniband/urnic0/node_type').read())"
        command = [self.moved("a folder"), "run", "--port", "loopback", "--", "python3", "-c", look]
        process = self.start_plain("python3", command)
        self.expect_end(process)
        self.assertEqual(process.output().strip(), "True 1: CA")
        process = self.start_plain("ibv_devices", [*command[:5], "ibv_devices"])
        self.expect_end(process)
        self.assertIn("urnic0", process.output())

    def test_a_folder_that_the_loader_cannot_name_is_refused(self):
        process = self.start_plain("urnic", [self.moved("a:folder"), "run", "--", "true"])
        self.expect_end(process, code=2)
        self.assertIn("LD_LIBRARY_PATH cannot lead into a folder whose name has ':'", process.output())

    def test_rdma_cm_has_a_node(self):
        """As librdmacm uses it: a character device that answers what is no command with EINVAL, and forgets
        closed descriptors."""
        script = """
import errno, os, stat
node = "/dev/infiniband/rdma_cm"
print("exists", os.access(node, os.R_OK | os.W_OK))
for flags in (os.O_RDWR, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK):
    fd = os.open(node, flags)
    print("device", stat.S_ISCHR(os.fstat(fd).st_mode))
    try:
        os.write(fd, b"123")
    except OSError as error:
        print(errno.errorcode[error.errno])
    os.close(fd)
    fd = os.open("/dev/null", os.O_WRONLY)
    print("others", os.write(fd, b"123"))
    os.close(fd)
"""
        process = self.start("python3", ["python3", "-c", script])
        self.expect_end(process)
        answers = ["device True", "EINVAL", "others 3"]
        self.assertEqual(process.output().splitlines(), ["exists True", *answers, *answers])

    def test_rdma_cm_needs_our_libibverbs(self):
        script = """
import errno, os
for name in ("LD_AUDIT", "LD_LIBRARY_PATH"):
    os.environ.pop(name)
os.execvp("python3", ["python3", "-c", '''
import errno
try:
    open("/dev/infiniband/rdma_cm", "r+b", buffering=0)
except OSError as error:
    print(errno.errorcode[error.errno])
'''])
"""
        process = self.start("python3", ["python3", "-c", script])
        self.expect_end(process)
        self.assertEqual(process.output().strip(), "ENODEV")

    def test_two_fabrics_that_do_not_know_each_other_have_different_addresses(self):
        show = ["sh", "-c", "echo $URNIC_IP"]
        addresses = set()
        for name in ("one", "two", "three"):  # two fabrics have the same address once in 16384 times
            process = self.start(name, show, ["--port", f"fabric:{name}"])
            self.expect_end(process)
            addresses.add(process.output())
        self.assertGreater(len(addresses), 1)

    def test_third_on_a_wire(self):
        wire = ["--port", f"vhost:{self.runtime}/wire.sock"]
        first = self.occupant("first", *wire)
        self.occupant("second", *wire)
        self.urnic("run", *wire, *TRUE, code=FAILURE, says="--port fabric")
        first.kill()
        self.expect_end(self.start("third", ["true"], wire))

    def test_taken_side(self):
        wire = f"vhost:{self.runtime}/wire.sock"
        self.occupant("first", "--port", f"{wire},front")
        self.urnic("run", "--port", f"{wire},front", *TRUE, code=FAILURE, says="front")
        self.expect_end(self.start("second", ["true"], ["--port", f"{wire},back"]))

    def test_two_wires_do_not_know_each_other(self):
        wire = f"vhost:{self.runtime}/wire.sock"
        self.occupant("first", "--ip", "10.0.0.1/24")
        self.expect_end(self.start("second", ["true"], ["--ip", "10.0.0.1/24", "--port", wire]))

    def test_a_run_inside_a_run_is_a_nic_of_its_own(self):
        inner = [
            harness.STAGE.urnic,
            "run",
            "--port",
            "fabric",
            "--",
            "sh",
            "-c",
            "echo $URNIC_IP $URNIC_PORT",
        ]
        process = self.start("outer", inner)
        self.expect_end(process)
        self.assertRegex(process.output(), r"10\.\d+\.\d+\.2/24")
        self.assertIn("fabric:default,1", process.output())

    def test_verbose_tells_what_the_nic_is(self):
        process = self.start("true", ["true"], ["-v", "--ip", "10.1.2.3/16"])
        self.expect_end(process)
        self.assertIn("urnic: urnic0: 10.1.2.3/16, 02:00:0a:01:02:03, fabric:default,0", process.output())


def _add(name, words, code, says):
    setattr(Usage, f"test_{name}", lambda self: self.urnic("run", *words, code=code, says=says))


for _name, (_words, _code, _says) in CASES.items():
    _add(_name, _words, _code, _says)
