# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs that fork while their NIC is open: the child keeps nothing of it, and may have one of its own."""
import os
import re
import signal

import harness
from harness import wait_until
from test_host import HOST, Hosts

# What a program knows of, and a child has too: the descriptors of contexts and their events. (All processes
# of a run keep the folder with the device's files alive, too.)
KNOWN = ("/memfd:urnic (deleted)", "anon_inode:[eventfd]")


def files_of(process):
    """What its descriptors name, from 3 on."""
    folder = f"/proc/{process}/fd"
    names = []
    for number in os.listdir(folder):
        try:
            if int(number) > 2:
                names.append(os.readlink(f"{folder}/{number}"))
        except FileNotFoundError:
            pass  # it closes them at this moment
    return names


class Forks(Hosts):
    def forks(self, host, *words, nic=HOST):
        return self.start_nic_on(host, "forks", [harness.STAGE.program("forks"), *words], nic)

    def number_after(self, word, process):
        find = lambda: re.search(rf"^{word} (\d+)$", process.output(), re.MULTILINE)
        if not wait_until(find, harness.START_TIMEOUT, 0.01):
            self.fail_with(f"it does not say '{word} NUMBER'", process)
        return int(find()[1])

    def kill_later(self, number):
        def kill():
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass

        self.addCleanup(kill)

    def orphan(self, host, how, nic=HOST):
        """The number of a child whose parent has ended."""
        parent = self.forks(host, "orphan", how, nic=nic)
        child = self.number_after("child", parent)
        self.kill_later(child)
        parent.wait(harness.START_TIMEOUT)
        return child

    def check_soon_empty(self, left):
        """The parent may be quicker than the child, which has things to forget first."""
        wait_until(lambda: not left(), 5)
        self.assertEqual(left(), [])

    def check_forgotten(self, child):
        is_known = lambda name: name in KNOWN or re.search("/urnic/paths/[^/]*/lock$", name)
        self.check_soon_empty(lambda: [name for name in files_of(child) if not is_known(name)])
        with open(f"/proc/{child}/maps", encoding="ascii") as maps:
            self.assertEqual([line for line in maps if "/memfd:urnic-" in line], [])

    def test_an_orphan_has_nothing_of_the_nic(self):
        host = self.namespace()
        for nic in (HOST, [*HOST, "--record", "frames.pcapng", "--explain"], ["--port", "udp"]):
            for how in ("exit", "kill"):
                self.check_forgotten(self.orphan(host, how, nic))
                self.ask(host, "host", "stop")

    def test_an_orphan_keeps_no_program_from_the_nic(self):
        host = self.namespace()
        for how in ("exit", "kill"):
            self.orphan(host, how)
            self.ask(host, "host", "stop")
            self.run_pair_on(host, host, "ibv_rc_pingpong", "-d", "urnic0", "-g", "1")

    def test_the_child_has_a_device_of_its_own(self):
        process = self.forks(self.namespace(), "both")
        self.expect_end(process)
        self.assertEqual(process.output().count("has sent\n"), 2, process.output())

    def over_dpdk(self):
        """--port of what DPDK carries for an ordinary user."""
        return ["--port", "fabric"], ["--port", f"vhost:{self.runtime}/wire"]

    def test_an_orphan_over_dpdk_has_no_socket_of_the_nic(self):
        host = self.namespace()
        for nic in self.over_dpdk():
            child = self.orphan(host, "exit", nic)
            self.check_soon_empty(lambda: [name for name in files_of(child) if name.startswith("socket:")])

    def test_a_child_over_dpdk_is_told_why_it_has_no_device(self):
        host = self.namespace()
        for nic in self.over_dpdk():
            process = self.forks(host, "both", nic=nic)
            self.expect_end(process, code=1)
            self.assertIn("DPDK cannot be started again in it", process.output())
            self.assertIn("broken ibv_get_device_list: Input/output error", process.output())

    def serve(self, *ways):
        host = self.namespace()
        server = self.forks(host, "server", 7400, *ways)
        number = self.number_after("server", server)
        self.kill_later(number)
        client = self.start_host_nic(
            host, "client", [harness.STAGE.program("ece_pair"), "client", "127.0.0.1", 7400]
        )
        self.expect_end(client)
        self.assertTrue(wait_until(lambda: "served" in server.output(), 10), server.describe())

    def test_a_listener_goes_on_in_the_daemon(self):
        self.serve("daemon")

    def test_a_listener_goes_on_in_the_daemon_where_the_nic_has_the_port_alone(self):
        udp = ["--port", "udp"]
        here, there = self.hosts()
        server = self.forks(there, "server", 7400, "daemon", nic=udp)
        self.kill_later(self.number_after("server", server))
        words = [harness.STAGE.program("ece_pair"), "client", self.THERE, 7400]
        self.expect_end(self.start_nic_on(here, "client", words, udp))
        self.assertTrue(wait_until(lambda: "served" in server.output(), 10), server.describe())

    def test_a_listener_goes_on_in_the_daemon_of_a_daemon(self):
        self.serve("twice")

    def test_a_daemon_that_polls_its_channel(self):
        self.serve("daemon", "poll")

    def test_a_daemon_that_never_blocks(self):
        self.serve("unblocked", "daemon")

    def test_a_listener_stays_with_the_parent_of_workers(self):
        self.serve("workers")
