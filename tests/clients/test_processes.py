# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Several processes of one `urnic run`: each has a NIC of its own, whatever its parent did with the
descriptors."""
import os
import re
import signal
import time

import harness
from harness import ClientTest, wait_until
from listeners import is_listening

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "100"]

# Starts a server, waits until the test has seen it listen, and starts its client.
PAIR = """
import os, subprocess, sys, time
start = lambda *more: subprocess.Popen(sys.argv[2:] + list(more), close_fds=sys.argv[1] == "closed")
server = start()
while not os.path.exists("ready"):
    time.sleep(0.01)
client = start("127.0.0.1")
codes = client.wait(), server.wait()
print("codes", *codes, flush=True)
"""


class Processes(ClientTest):
    def pair(self, descriptors, *options):
        """What a pair of ping-pongs says that a single `urnic run` has started."""
        self.require("ibv_rc_pingpong")
        port = harness.free_port()
        process = self.start(
            "pair", ["python3", "-c", PAIR, descriptors, *PINGPONG, "-p", str(port)], options
        )
        self.wait_for_listener(process, port)
        (self.runtime / "ready").touch()
        self.expect_end(process, timeout=30)
        return process

    def check_pair(self, process):
        if "codes 0 0" not in process.output():
            self.fail_with("both must end with 0", process)
        addresses = set(re.findall(r"local address:.*GID (\S+)", process.output()))
        self.assertEqual(len(addresses), 2, process.output())

    def test_children_without_the_inherited_descriptors_meet(self):
        self.check_pair(self.pair("closed"))

    def test_children_with_the_inherited_descriptors_meet(self):
        self.check_pair(self.pair("inherited"))

    def test_they_meet_over_a_wire_of_two_ends(self):
        self.check_pair(self.pair("closed", "--port", f"vhost:{self.runtime}/wire.sock"))

    def test_each_has_a_recording_of_its_own(self):
        self.check_pair(self.pair("closed", "--pcap", "frames.pcap"))
        recordings = sorted(file.name for file in self.runtime.glob("frames.pcap*"))
        self.assertEqual(len(recordings), 2, recordings)
        self.assertEqual(recordings[0], "frames.pcap")

    def test_the_second_is_told_when_the_address_was_given(self):
        self.require("ibv_rc_pingpong")
        port = harness.free_port()
        script = f"{' '.join(PINGPONG)} -p {port} & while [ ! -e ready ]; do sleep 0.01; done; ibv_devices; kill $!"
        process = self.start("both", ["sh", "-c", script], ["--ip", "10.1.2.3/24"])
        self.wait_for_listener(process, port)
        (self.runtime / "ready").touch()
        process.wait(20)
        self.assertIn("another process of the same 'urnic run' has its NIC", process.output())
        self.assertIn("address 10.1.2.3 is taken", process.output())

    def test_one_after_the_other_they_are_the_same_nic(self):
        self.require("ibv_devinfo")
        process = self.start(
            "python3",
            ["python3", "-c", "import subprocess\nfor i in 'ab': subprocess.run(['ibv_devinfo', '-v'])"],
        )
        self.expect_end(process, timeout=30)
        addresses = re.findall(r"GID\[ *1\]:\s+(\S+)", process.output())
        self.assertEqual(len(addresses), 2)
        self.assertEqual(addresses[0], addresses[1])

    def test_the_address_stays_taken_when_the_launcher_is_gone(self):
        """The child holds its NIC alone; a run that comes later must not get the same address."""
        self.require("ibv_rc_pingpong")
        port = harness.free_port()
        child = f"echo $URNIC_IP $$; exec {' '.join(PINGPONG)} -p {port}"
        launcher = self.start(
            "launcher",
            ["python3", "-c", "import subprocess, sys; subprocess.Popen(sys.argv[1:])", "sh", "-c", child],
        )
        self.expect_end(launcher, timeout=30)
        self.assertTrue(wait_until(lambda: "\n" in launcher.output(), 20))
        address, orphan = launcher.output().split()
        self.addCleanup(os.kill, int(orphan), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: is_listening(port, int(orphan)), harness.START_TIMEOUT))
        later = self.start("later", ["ibv_devinfo", "-v"])
        self.expect_end(later, timeout=30)
        (other,) = re.findall(r"GID\[ *1\]:\s+::ffff:(\S+),", later.output())
        self.assertNotEqual(address, f"{other}/24")
