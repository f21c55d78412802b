# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Multicast groups on a switch that forwards only to ports where it has heard a member."""
import subprocess
import time

from harness import ClientTest, wait_until

# A GID as perftest takes it, and the group.
IPV4 = ("0:0:0:0:0:0:0:0:0:0:255:255:239:1:1:1", "239.1.1.1")
IPV6 = ("255:30:0:0:0:0:0:0:0:0:0:0:0:0:18:52", "ff1e::1234")
# The bridge floods all groups for as long as answers to its first question may take.
ANSWER_TIME = 0.1


class Multicast(ClientTest):
    """A bridge of the kernel's that snoops and asks: needs root."""

    def setUp(self):
        super().setUp()
        self.require("ib_send_lat", "bridge")
        self.inside = self.bridge_namespace(
            2, "mcast_snooping 1", f"mcast_query_response_interval {int(ANSWER_TIME * 100)}"
        )
        self.run_inside("ip", "link", "set", "bridge", "type", "bridge", "mcast_querier", "1")
        time.sleep(2 * ANSWER_TIME)

    def run_inside(self, *command):
        return subprocess.run([*self.inside, *command], capture_output=True, text=True, check=True).stdout

    def knows(self, group):
        return f" grp {group} " in self.run_inside("bridge", "mdb", "show")

    def members(self, gid_index, group):
        """Two programs that send to the group and receive what the other one sends; then they leave."""
        mgid, address = group
        nics = [
            [
                "--ip",
                f"10.78.2.{rank + 1}/24",
                "--ip6",
                f"fd78::{rank + 1}/64",
                "--port",
                f"af_packet:nic{rank}",
            ]
            for rank in range(2)
        ]
        words = ["-d", "urnic0", "-x", gid_index, "-F", "-c", "UD", "-g", "-M", mgid, "-n", 500]
        self.run_pair("ib_send_lat", *words, nics=nics, timeout=30, privileged=True, inside=self.inside)
        left = wait_until(lambda: not self.knows(address), 10)
        self.assertTrue(left, "the bridge still has members of the group")

    def test_members_of_an_ipv4_group_are_heard(self):
        self.members(1, IPV4)

    def test_members_of_an_ipv6_group_are_heard(self):
        self.members(2, IPV6)
