# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What monitoring and topology programs see of the device: they read the kernel's files, by functions of the
C library, by a script, or by system calls of their own."""
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.request

import harness
from harness import ClientTest, free_port, wait_until

PORT = "/sys/class/infiniband/urnic0/ports/1"
WRITES = 200000
DATA = f"{PORT}/counters/port_xmit_data"
SENT = f"{PORT}/hw_counters/sent_pkts"

# As show_gids does: it is a script that comes with OFED.
SHOW_GIDS = """
for device in /sys/class/infiniband/*; do
  for port in $device/ports/*; do
    for gid in $port/gids/*; do
      type=$(cat $port/gid_attrs/types/${gid##*/} 2>/dev/null) || continue
      echo ${device##*/} ${port##*/} ${gid##*/} $(cat $gid) $type
    done
  done
done
"""

GO = """package main
%s
import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	ports, _ := filepath.Glob("/sys/class/infiniband/*/ports/*/rate")
	for _, port := range ports {
		rate, err := os.ReadFile(port)
		fmt.Println(port, strings.TrimSpace(string(rate)), err)
	}
	device, err := filepath.EvalSymlinks("/sys/class/infiniband/urnic0/device")
	fmt.Println(device, err)
	status, err := os.Stat("/dev/infiniband/uverbs0")
	fmt.Println(err == nil && status.Mode()&os.ModeCharDevice != 0)
	_, err = os.ReadFile("/sys/class/net/lo/mtu")
	fmt.Println(err, len(os.Args))
	fmt.Println(os.WriteFile(ports[0], []byte("1"), 0) != nil)
}
"""

SEEN_BY_GO = """/sys/class/infiniband/urnic0/ports/1/rate 40 Gb/sec (4X QDR) <nil>
/sys/devices/pci7572:00/7572:00:00.0 <nil>
true
<nil> 1
true
"""


def allows_user_namespaces():
    command = harness.STAGE.drop_privilege(["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/sys/class"])
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Files(ClientTest):
    def output_of(self, command, nic=("--port", "loopback"), code=0, **how):
        process = self.start("program", command, nic, **how)
        self.expect_end(process, timeout=60, code=code)
        return process.output()

    def require_namespace(self):
        if not harness.STAGE.is_root and not allows_user_namespaces():
            self.skipTest("this system allows no mount namespaces")
        if harness.STAGE.is_root and not allows_user_namespaces():
            self.skipTest("this system allows users no mount namespaces")

    def test_every_function_sees_what_the_kernel_would_show(self):
        """The kernel itself shows the files where they are mounted."""
        program = harness.STAGE.program("doors")
        preload = self.output_of([program, "urnic0"])
        self.assertIn("/sys/class/infiniband/urnic0/ports/1/rate", preload)
        self.assertIn("urnic0/device: /sys/devices/pci7572:00/7572:00:00.0\n", preload)
        self.require_namespace()
        mounts = ["--port", "loopback", "--files", "namespace"]
        kernel = self.output_of(["env", "-u", "LD_PRELOAD", program, "urnic0"], mounts)
        self.assertEqual(kernel, preload)

    def test_ibstat_and_ibstatus(self):
        self.require("ibstat", "ibstatus")
        said = self.output_of(["ibstat"])
        for line in ("CA 'urnic0'", "Rate: 40", "State: Active", "Link layer: Ethernet"):
            self.assertIn(line, said)
        mask = re.search(r"Capability mask: (\S+)", said)[1]
        self.assertEqual(mask, "0x04010000")
        said = self.output_of(["ibstatus"])
        self.assertIn("rate:\t\t 40 Gb/sec (4X QDR)", said)
        self.assertIn("state:\t\t 4: ACTIVE", said)

    def test_a_script_lists_the_gids(self):
        said = self.output_of(["sh", "-c", SHOW_GIDS], ["--port", "loopback", "--ip", "10.5.0.1/24"])
        self.assertIn("urnic0 1 1 0000:0000:0000:0000:0000:ffff:0a05:0001 RoCE v2", said)

    def test_hwloc_finds_the_device(self):
        self.require("lstopo-no-graphics")
        self.assertIn('OpenFabrics "urnic0"', self.output_of(["lstopo-no-graphics"]))

    def test_ucx_and_libfabric_know_where_the_device_is(self):
        self.require("fi_info", "ucx_info")
        said = self.output_of(["fi_info", "-p", "verbs"], environment={"FI_LOG_LEVEL": "warn"})
        self.assertIn("urnic0", said)
        self.assertNotIn("pci bus address", said)
        said = self.output_of(["ucx_info", "-d"], environment={"UCX_LOG_LEVEL": "warn"})
        self.assertIn("System device: urnic0", said)
        self.assertNotIn("WARN", said)

    # --- Counters ---

    def read(self, *files, nic=()):
        """Another program of the user, with its own `urnic run`."""
        return [int(line) for line in self.output_of(["cat", *files], nic).split()]

    def test_counters_of_all_programs_move_while_they_run_and_do_not_go_backwards(self):
        if not harness.STAGE.is_root:
            self.skipTest("needs root: a network namespace")
        self.require("ib_write_bw")
        host, nic = self.own_host(), ("--port", "host")

        def start(name, *options):
            words = [
                "ib_write_bw",
                "-d",
                "urnic0",
                "-x",
                "1",
                "-F",
                "-n",
                str(WRITES),
                "-p",
                str(port),
                *options,
            ]
            run = harness.STAGE.drop_privilege([harness.STAGE.urnic, "run", *nic, "--", *words])
            return self.start_plain(name, [*host, *run], privileged=True)

        def read():
            words = [harness.STAGE.urnic, "run", *nic, "--", "cat", DATA, SENT]
            process = self.start_plain("cat", [*host, *harness.STAGE.drop_privilege(words)], privileged=True)
            self.expect_end(process, timeout=30)
            return [int(line) for line in process.output().split()]

        before = read()
        port = free_port()
        server = start("server")
        self.wait_for_listener(server, port)
        client = start("client", "10.99.0.1")
        seen = [before]
        while client.is_running():
            seen.append(read())
            time.sleep(0.2)
        self.expect_end(client)
        self.expect_end(server)
        seen.append(read())
        self.assertEqual(seen, sorted(seen), "they never go backwards")
        # One value before, one after, and another one at least in between.
        self.assertGreater(len({data for data, _ in seen}), 2, "they move while the programs run")
        gained = (seen[-1][0] - before[0]) * 4
        self.assertGreater(gained, WRITES * 65536, "the data, in units of four bytes")
        self.assertLess(gained, WRITES * 65536 * 1.3)
        self.assertEqual(read(), seen[-1], "nothing runs any more")

        port = free_port()
        killed = start("server")
        self.wait_for_listener(killed, port)
        client = start("client", "10.99.0.1")
        time.sleep(1.5)
        during = read()
        for process in (killed, client):
            os.kill(process.pid, signal.SIGKILL)
            process.wait(10)
        self.assertGreaterEqual(read(), during, "what a killed program had counted when it was read, stays")

    def test_a_counter_is_fresh_when_it_is_read(self):
        """Faster than the period in which a program writes it down by itself."""
        script = f"""
import subprocess, time
pair = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "0", "-n", "100"]
before = int(open("{SENT}").read())
both = " ".join(pair) + " & sleep 0.3; " + " ".join(pair) + " localhost"
subprocess.run(["sh", "-c", both], check=True, capture_output=True)
print(int(open("{SENT}").read()) - before)
"""
        self.require("ibv_rc_pingpong")
        said = self.output_of(["python3", "-c", script], ["--port", "fabric:fresh"])
        self.assertGreaterEqual(int(said), 200, "both processes")

    def test_a_program_that_is_stopped_holds_no_reader_up(self):
        self.require("rping")
        nic = ("--port", "fabric:stopped")
        server = self.start("server", ["rping", "-s"], nic)
        status = pathlib.Path(self.runtime) / "urnic"
        if not wait_until(lambda: list(status.glob("status.*")), 20):
            self.fail_with("has no status")
        os.kill(server.pid, signal.SIGSTOP)
        begin = time.monotonic()
        script = f"for file in {PORT}/counters/* {PORT}/hw_counters/*; do read value <$file; done"
        self.output_of(["sh", "-c", script], ["--port", "fabric:other"])
        self.assertLess(time.monotonic() - begin, 15)
        os.kill(server.pid, signal.SIGCONT)

    def test_an_ordinary_user_sees_addresses_and_the_link_go(self):
        host = self.own_host()
        self.require("rping")
        port = f"{PORT}/gid_attrs/types"
        script = (
            f"rping -s & while [ ! -e end ]; do cat {PORT}/state; ls {port} | wc -l; sleep 0.1; done; kill $!"
        )
        words = [harness.STAGE.urnic, "run", "--port", "host", "--", "sh", "-c", script]
        show = self.start_plain("show", [*host, *harness.STAGE.drop_privilege(words)], privileged=True)
        states = lambda: re.findall(r"^\d: \w+$", show.output(), re.MULTILINE)
        counts = lambda: [int(count) for count in re.findall(r"^\d+$", show.output(), re.MULTILINE)]
        # A NIC whose host never had a carrier has no link to lose: so the server must have it by now.
        has_nic = lambda: list((pathlib.Path(self.runtime) / "urnic").glob("status.*"))
        if not wait_until(lambda: has_nic() and counts(), 20):
            self.fail_with("shows nothing")
        time.sleep(0.2)
        self.assertEqual(states()[0], "4: ACTIVE")
        for command in ("addr del 10.99.0.2/24 dev net0", "link set net1 down"):
            subprocess.run([*host, "ip", *command.split()], check=True)
        self.assertTrue(wait_until(lambda: states()[-1] == "1: DOWN", 20), show.output())
        fewer = wait_until(lambda: counts()[-1] < counts()[0], 10)
        self.assertTrue(fewer, "the types of GIDs: " + show.output())
        (pathlib.Path(self.runtime) / "end").touch()
        self.expect_end(show, timeout=30)

    # --- Programs that the preloaded library does not reach ---

    def go_program(self, cgo):
        self.require("go", packages="languages")
        source = pathlib.Path(self.runtime) / "look.go"
        source.write_text(GO % ('import "C"' if cgo else ""))
        program = pathlib.Path(self.runtime) / "look"
        environment = {**os.environ, "CGO_ENABLED": str(int(cgo)), "GOCACHE": "/tmp/urnic-go-cache"}
        subprocess.run(["go", "build", "-o", program, source], check=True, env=environment)
        return program

    def test_go_programs_see_the_files(self):
        self.require_namespace()
        for cgo in (False, True):
            with self.subTest(cgo=cgo):
                process = self.start("go", [self.go_program(cgo)], ["--port", "loopback"])
                self.expect_end(process, timeout=30)
                self.assertEqual(process.output(), SEEN_BY_GO)

    def test_static_programs_see_the_files_and_are_told_what_they_lack(self):
        self.require("gcc")
        self.require_namespace()
        program = f"{self.runtime}/static"
        source = f"{self.runtime}/static.c"
        with open(source, "w") as file:
            file.write(
                '#include <stdio.h>\nint main(void) { char text[80] = ""; '
                f'FILE* file = fopen("{PORT}/rate", "r"); '
                "if (file && fgets(text, sizeof text, file)) fputs(text, stdout); return 0; }"
            )
        subprocess.run(["gcc", "-static", "-o", program, source], check=True)
        said = self.output_of([program])
        self.assertIn("40 Gb/sec (4X QDR)", said)
        self.assertIn("is statically linked", said)

    def test_node_exporter(self):
        self.require("prometheus-node-exporter")
        self.require_namespace()
        port = free_port()
        words = [
            "prometheus-node-exporter",
            "--collector.disable-defaults",
            "--collector.infiniband",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        exporter = self.start("exporter", words, ["--port", "loopback"])
        self.wait_for_listener(exporter, port)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            metrics = answer.read().decode()
        for line in (
            'node_scrape_collector_success{collector="infiniband"} 1',
            'node_infiniband_rate_bytes_per_second{device="urnic0",port="1"} 5e+09',
            'node_infiniband_state_id{device="urnic0",port="1"} 4',
            'node_infiniband_port_data_transmitted_bytes_total{device="urnic0",port="1"} 0',
        ):
            self.assertIn(line, metrics)

    def test_programs_meet_across_namespaces_of_their_own(self):
        self.require("ibv_rc_pingpong")
        self.require_namespace()
        for server, client in (("namespace", "namespace"), ("namespace", "preload")):
            nics = [("--port", "fabric:apart", "--files", files) for files in (server, client)]
            self.run_pair("ibv_rc_pingpong", "-d", "urnic0", "-g", "1", nics=nics, timeout=60)

    def test_who_may_mount_gets_no_user_namespace(self):
        """It would lose rights for nothing."""
        if not harness.STAGE.is_root:
            self.skipTest("needs root: the right to mount")
        self.require_namespace()
        show = "readlink /proc/self/ns/user; cat /sys/class/infiniband/urnic0/ports/1/rate"
        words = [
            harness.STAGE.urnic,
            "run",
            "--port",
            "loopback",
            "--files",
            "namespace",
            "--",
            "sh",
            "-c",
            show,
        ]
        root = self.start_plain("root", words, privileged=True)
        self.expect_end(root, timeout=30)
        ours = os.readlink("/proc/self/ns/user")
        self.assertEqual(root.output(), f"{ours}\n40 Gb/sec (4X QDR)\n")
        user = self.output_of(["sh", "-c", show], ["--port", "loopback", "--files", "namespace"])
        self.assertNotIn(ours, user)

    def test_a_run_inside_a_run_has_its_own_files(self):
        self.require_namespace()
        inner = [
            harness.STAGE.urnic,
            "run",
            "--files",
            "namespace",
            "--port",
            "loopback",
            "--ip",
            "10.9.9.9/24",
        ]
        inner += ["--", "env", "-u", "LD_PRELOAD", "cat", f"{PORT}/gids/1"]
        outer = ["--port", "loopback", "--ip", "10.1.1.1/24", "--files", "namespace"]
        self.assertIn("ffff:0a09:0909", self.output_of(inner, outer))

    def test_what_sysfs_lets_be_written_can_be_written(self):
        self.require_namespace()
        cc = f"{PORT}/../../ecn/roce_rp/rpg_ai_rate"
        script = (
            f"echo 77 >{cc} && cat {cc}; echo 1 >{DATA} || echo refused; "
            "touch /sys/class/infiniband/x || echo none"
        )
        nic = ["--port", "loopback", "--cc", "dcqcn"]
        for files in ("preload", "namespace"):
            with self.subTest(files=files):
                said = self.output_of(["sh", "-c", script], [*nic, "--files", files])
                self.assertIn("77\n", said)
                self.assertIn("refused", said)
                self.assertIn("none", said)

    def test_a_namespace_that_cannot_be_is_an_error_only_where_it_is_wanted(self):
        self.require("unshare", "gcc")
        if not harness.STAGE.is_root:
            self.skipTest("needs root: to take the right away")
        if subprocess.run(["unshare", "-U", "true"], capture_output=True).returncode:
            self.skipTest("this system allows no user namespaces")
        # In a user namespace that may have no further ones, as an ordinary user has no right to mount.
        limit = ["unshare", "-U", "--map-root-user", "sh", "-c"]
        run = f"{harness.STAGE.urnic} run --port loopback --files %s -- true"
        go = (
            "echo 0 >/proc/sys/user/max_user_namespaces; "
            f"exec setpriv --bounding-set -all --inh-caps -all {run}"
        )
        refused = self.start_plain("refused", [*limit, go % "namespace"])
        self.expect_end(refused, timeout=30, code=1)
        self.assertIn("use --files preload", refused.output())
        quiet = self.start_plain("quiet", [*limit, go % "auto"])
        self.expect_end(quiet, timeout=30)
        self.assertEqual(quiet.output(), "")

    def test_files_that_are_removed_under_a_program(self):
        pingpong = "ibv_rc_pingpong -d urnic0 -g 0"
        script = f"rm -rf $URNIC_PATHS; cat {PORT}/rate; {pingpong} & sleep 1; {pingpong} localhost"
        self.require("ibv_rc_pingpong")
        said = self.output_of(["sh", "-c", script], ["--port", "fabric:removed"])
        self.assertIn("No such file or directory", said)
        self.assertIn("iters in", said)
