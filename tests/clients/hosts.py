# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Two hosts, which are network namespaces joined by a cable, and users without privileges on them."""
import json
import shutil
import subprocess
import tempfile
import time

import harness
from harness import ClientTest, wait_until


class HostsTest(ClientTest):
    HERE, THERE = "10.79.0.1", "10.79.0.2"
    HERE_IPV6, THERE_IPV6 = "fd79::1", "fd79::2"

    def hosts(self, mtu_here=1500, mtu_there=1500):
        """The words that run a program as root on either host, with the ends `cable` and `other` of the
        cable."""
        there = self.namespace()
        here = self.namespace(
            f"link add cable mtu {mtu_here} type veth peer name other mtu {mtu_there}",
            f"link set other netns {there[-1]}",
            "link set cable up",
            f"addr add {self.HERE}/24 dev cable",
            f"addr add {self.HERE_IPV6}/64 dev cable nodad",
        )
        self.on(
            there,
            "link set other up",
            f"addr add {self.THERE}/24 dev other",
            f"addr add {self.THERE_IPV6}/64 dev other nodad",
        )
        return here, there

    def on(self, host, *commands):
        """Commands of `ip`."""
        subprocess.run([*host, "ip", "-batch", "-"], input="\n".join([*commands, ""]), check=True, text=True)

    def start_on(self, host, name, command):
        """A program of an ordinary user of that host."""
        words = harness.STAGE.drop_privilege(command)
        return self.start_plain(name, [*host, *words], privileged=True)

    def start_nic_on(self, host, name, command, nic=()):
        """The same below `urnic run`."""
        words = [harness.STAGE.urnic, "run", *map(str, nic), "--", *map(str, command)]
        return self.start_on(host, name, words)

    def stat(self):
        """What `urnic stat --json` says of all processes of the test; it fails while there is none."""
        asked = self.start_plain("urnic", [harness.STAGE.urnic, "stat", "--json"])
        code = asked.wait(20)
        self.processes.remove(asked)  # there may be many of them
        return json.loads(asked.output())["processes"] if code == 0 else []

    def counter(self, name):
        """Of all NICs together."""
        return sum(process["counters"].get(name, 0) for process in self.stat())

    def wait_for_rdma_cm(self, server):
        """Until it listens by rdma_cm."""
        listens = lambda: not server.is_running() or '"LISTEN"' in json.dumps(self.stat())
        if not wait_until(listens, harness.START_TIMEOUT, 0.05) or not server.is_running():
            self.fail_with(f"{server.name} does not listen")

    def recorded(self, host, end, condition, traffic):
        """The recording of what fulfils the condition, in dumpcap's words, at that end of a cable meanwhile."""
        self.require("dumpcap")
        # dumpcap gives up its right to write where it may not.
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = f"{folder}/wire.pcap"
        words = ["dumpcap", "-P", "-q", "-B", "64", "-i", end, "-w", path, "-f", condition]
        dump = self.start_plain("dumpcap", [*host, *words], privileged=True)
        self.assertTrue(wait_until(lambda: "File: " in dump.output(), harness.START_TIMEOUT), dump.describe())
        traffic()
        time.sleep(0.5)  # dumpcap fetches frames four times a second, and not once more at its end
        dump.popen.terminate()
        dump.wait(20)
        return path
