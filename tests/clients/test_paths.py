# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What programs see of the device without libibverbs: files below /sys and /dev, by every function that finds
them."""
import subprocess

import harness
import ucx
from harness import ClientTest, free_port, wait_until

DEVICE = "/sys/class/infiniband/urnic0"
NODE = "/dev/infiniband/urnic0"
CARD = "/sys/devices/pci7572:00/7572:00:00.0"

# Python's functions are thin. The comment on each line names the function of the C library that it calls.
PROBE = f"""
import os, stat
port = "{DEVICE}/ports/1"
assert open(port + "/state").read() == "4: ACTIVE\\n"                      # openat64
assert "gids" in os.listdir(port)                                         # opendir
assert [entry.name for entry in os.scandir("/sys/class/infiniband")] == ["urnic0"]
assert stat.S_ISREG(os.stat(port + "/link_layer").st_mode)                # stat64
assert stat.S_ISDIR(os.lstat(port).st_mode)                               # lstat64
assert stat.S_ISCHR(os.stat("{NODE}").st_mode)
assert os.access("{NODE}", os.R_OK | os.W_OK)                             # access
assert os.access("{NODE}", os.R_OK, effective_ids=True)                   # faccessat
assert os.readlink("{NODE}") == "/dev/null"                               # readlink
assert os.path.realpath("{DEVICE}/fw_ver") == "{CARD}/infiniband/urnic0/fw_ver"
os.close(os.open("{NODE}", os.O_RDWR))
folder = os.open("/", os.O_RDONLY)
assert os.stat("{DEVICE}", dir_fd=folder)                                 # fstatat64
assert os.listxattr("{DEVICE}") is not None                               # listxattr
# What only looks alike is not touched, nor what is elsewhere.
assert not os.path.exists("/sys/class/infiniband0")
assert not os.path.exists("/sys/class/infiniband/urnic1")
assert os.path.exists("/sys/class") and os.stat("/dev/null")
try:
    open("/sys/class/infiniband/" + "x" * 5000)
    raise AssertionError("a path that long")
except OSError:
    pass
print("all seen")
"""

# Rust's standard library calls statx() with null pointers once, when a file is not there.
RUST = 'fn main() { println!("{:?}", std::fs::metadata("/nonexistent").map(|_| ())) }'


class Paths(ClientTest):
    def test_python_sees_the_files_by_every_function(self):
        process = self.start("python3", ["python3", "-c", PROBE], ["--port", "loopback"])
        self.expect_end(process, timeout=30)
        self.assertIn("all seen", process.output())

    def test_the_shells_tools_see_them(self):
        script = f"cat {DEVICE}/ports/1/gid_attrs/types/1 && ls -lR {DEVICE} >/dev/null && test -c {NODE} && stat -L {NODE} && find {DEVICE}/ -name lid"
        process = self.start("sh", ["sh", "-c", script], ["--port", "loopback"])
        self.expect_end(process, timeout=30)
        self.assertIn("RoCE v2", process.output())
        self.assertIn("character special file", process.output())
        self.assertIn(f"{DEVICE}/ports/1/lid", process.output())

    def test_a_null_pointer_meets_what_it_meets_without_us(self):
        program = [harness.STAGE.program("null_pointers")]
        without = self.start_plain("without", program)
        self.expect_end(without, timeout=30)
        process = self.start("null_pointers", program, ["--port", "loopback"])
        self.expect_end(process, timeout=30)
        self.assertEqual(without.output(), process.output())

    def test_rust_learns_that_a_file_is_not_there(self):
        self.require("rustc", packages="languages")
        source, program = f"{self.runtime}/look.rs", f"{self.runtime}/look"
        with open(source, "w") as file:
            file.write(RUST)
        subprocess.run(["rustc", "-o", program, source], check=True)
        process = self.start("look", [program], ["--port", "loopback"])
        self.expect_end(process, timeout=30)
        self.assertIn("NotFound", process.output())

    def test_a_nested_run_shows_its_own_device(self):
        inner = [
            str(harness.STAGE.urnic),
            "run",
            "--port",
            "loopback",
            "--ip",
            "10.9.9.9/24",
            "--",
            "cat",
            f"{DEVICE}/ports/1/gids/1",
        ]
        process = self.start("outer", inner, ["--port", "loopback", "--ip", "10.1.1.1/24"])
        self.expect_end(process, timeout=30)
        self.assertIn("ffff:0a09:0909", process.output())

    def container(self, name, script):
        """A shell as the first process of a PID namespace of its own, with this test's runtime folder."""
        command = harness.STAGE.drop_privilege([harness.STAGE.urnic, "run", "--", "sh", "-c", script])
        return self.start_plain(
            name, ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *command], privileged=True
        )

    def test_containers_that_share_the_folder_see_a_device_each(self):
        self.require("unshare")
        if not harness.STAGE.is_root:
            self.skipTest("needs root: PID namespaces")
        show = f"echo $$; cat {DEVICE}/ports/1/gids/1"
        first = self.container("first", f"{show}; while [ ! -e go ]; do sleep 0.01; done; {show}")
        if not wait_until(lambda: first.output().count("\n") == 2 or not first.is_running(), 20):
            self.fail_with("does not start")
        second = self.container("second", f"{show}; touch go")
        self.expect_end(second, timeout=30)
        self.expect_end(first, timeout=30)
        before, after = first.output().splitlines()[:2], first.output().splitlines()[2:]
        self.assertEqual(before[0], second.output().splitlines()[0], "the same process number is the point")
        self.assertEqual(before, after)
        self.assertNotEqual(before[1], second.output().splitlines()[1])

    def test_ucx_takes_the_device(self):
        self.require("ucx_info")
        process = self.start("ucx_info", ["ucx_info", "-d"], ["--port", "loopback"])
        self.expect_end(process, timeout=60)
        for transport in ("rc_verbs", "ud_verbs"):
            if f"Transport: {transport}" not in process.output():
                self.fail_with(f"UCX does not offer {transport}")

    def ucx_perftest(self, transports, *options):
        """UCX over two NICs; TCP only starts it."""
        self.require("ucx_perftest")
        environment = {"UCX_TLS": transports, "UCX_NET_DEVICES": "urnic0:1", "UCX_IB_GID_INDEX": "1"}
        port = free_port()
        server = self.start("server", [*ucx.perftest(), "-p", str(port)], environment=environment)
        self.wait_for_listener(server, port)
        client = self.start(
            "client", [*ucx.perftest(), "127.0.0.1", "-p", str(port), *options], environment=environment
        )
        self.expect_end(client, timeout=60)
        if "Final:" not in client.output():
            self.fail_with("no result")

    def test_ucx_sends_tagged_messages_over_rc(self):
        self.ucx_perftest("rc_verbs,ud_verbs", "-t", "tag_lat", "-n", "2000")

    def test_ucx_sends_tagged_messages_over_ud(self):
        self.ucx_perftest("ud_verbs", "-t", "tag_lat", "-n", "2000")

    def test_ucx_puts_large_messages(self):
        self.ucx_perftest("rc_verbs,ud_verbs", "-t", "ucp_put_bw", "-s", "65536", "-n", "2000")

    def test_ucx_adds_atomically(self):
        self.ucx_perftest("rc_verbs,ud_verbs", "-t", "ucp_fadd", "-s", "8", "-n", "2000")
