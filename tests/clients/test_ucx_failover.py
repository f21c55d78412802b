# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""UCX's fail-over between two devices that lose their links, by a program of ours. Its UCX is the one in
NIXL's wheel: Debian's is too old, and the wheel of UCX alone has no verbs."""
import re
import subprocess

import harness
import registry
from harness import wait_until
from test_devices import TWO, DevicesTest

PROGRAMS = harness.PROJECT / "tests/clients/programs"
SOURCES = ("ucx_failover.c", "rendezvous.c", "test_client.c")
# A lane fails when a queue pair has repeated a request three times, after half a second; the lane by which
# UCX looks whether its peer is alive fails after a second. Each side recovers its lanes once in an interval.
# A queue pair must try for longer than that, or it gives up before the peer is ready.
SETTINGS = {
    "UCX_TLS": "rc_v,ud_v",
    "UCX_NET_DEVICES": "urnic0:1,urnic1:1",
    "UCX_MAX_RMA_RAILS": "2",
    "UCX_MAX_EAGER_RAILS": "2",
    "UCX_RC_VERBS_TIMEOUT": "0.1s",
    "UCX_RC_VERBS_RETRY_COUNT": "3",
    "UCX_UD_TIMEOUT": "1s",
    "UCX_KEEPALIVE_INTERVAL": "0.25s",
    "UCX_IB_ROCE_REACHABILITY_MODE": "all",
}
PATIENCE = 60  # seconds
# The counter that shows a side's work over a device, and what is much: the initiator's PUTs, and the target's
# messages.
WORK = {"initiator": ("sent_bytes", 64 << 20), "target": ("rdma_sends", 100)}


class UcxFailover(DevicesTest, registry.RegistryTest):
    def setUp(self):
        super().setUp()
        self.require("gcc")
        headers = self.bring(registry.python_packages, "ucx", registry.UCX) / "libucx/include"
        libraries = self.bring(registry.python_packages, "nixl", registry.NIXL, registry.NUMPY)
        self.program = self.compile(headers, libraries / "nixl_cu12.libs")

    def compile(self, headers, libraries):
        program = harness.STAGE.root / "bin/ucx_failover"
        if not program.exists():
            sources = [PROGRAMS / name for name in SOURCES]
            options = ["-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-isystem", headers]
            linked = [next(libraries.glob(f"{name}-*.so*")) for name in ("libucp", "libucs")]
            # The libraries that they need are in the same folder, under names that are not the usual ones.
            link = [*linked, f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
            subprocess.run(["gcc", *options, "-o", program, *sources, *link], check=True)
        return program

    def start_both(self, *options):
        """The target and the initiator, which work over both devices."""
        words = [self.program, "--port", str(harness.free_port()), *options, "--rank"]
        sides = [
            self.start(name, [*words, rank], TWO, environment=SETTINGS)
            for name, rank in (("target", "1"), ("initiator", "0"))
        ]
        for side in sides:
            self.wait_for_text(side, "ready", PATIENCE)
        self.wait_for_work(sides, "urnic0", "urnic1")
        return sides

    def count(self, side, counter):
        """By device."""
        return {
            each["device"]: each["counters"].get(counter, 0)
            for each in self.devices()
            if each["pid"] == side.pid and each["port_is_open"]
        }

    def wait_for_work(self, sides, *devices):
        """Until both sides have worked over each of these devices."""
        work = lambda side: self.count(side, WORK[side.name][0])
        before = {side.name: work(side) for side in sides}

        def has_worked(side):
            now, (_, much) = work(side), WORK[side.name]
            return all(now.get(device, 0) - before[side.name][device] >= much for device in devices)

        has_ended = lambda: not all(side.is_running() for side in sides)
        have_worked = lambda: all(has_worked(side) for side in sides)
        if not wait_until(lambda: has_ended() or have_worked(), PATIENCE, 0.1) or has_ended():
            self.fail_with(f"work over {devices} was expected, since {before}")

    def link(self, side, device, state):
        self.urnic("fabric", "link", self.address_of(side, device), state)

    def expect_work_without(self, lost, sides, left):
        self.wait_for_work(sides, left)  # the lanes of the lost device fail before
        received = lambda: [self.count(side, "rcvd_pkts")[lost] for side in sides]
        before = received()
        self.wait_for_work(sides, left)
        self.assertEqual(before, received())

    def test_it_goes_on_by_the_other_device_and_takes_the_lost_one_back(self):
        sides = target, initiator = self.start_both()
        self.link(target, "urnic1", "down")
        self.expect_work_without("urnic1", sides, left="urnic0")
        self.link(target, "urnic1", "up")
        self.wait_for_work(sides, "urnic0", "urnic1")
        # Now what has recovered must do without the other one, whose cable is pulled out at the other end.
        self.link(initiator, "urnic0", "down")
        self.expect_work_without("urnic0", sides, left="urnic1")
        self.link(initiator, "urnic0", "up")
        self.wait_for_work(sides, "urnic0", "urnic1")
        initiator.popen.terminate()
        for side in sides:
            self.expect_end(side)
        rounds = [re.search(r"^done (\d+) rounds", side.output(), re.M)[1] for side in sides]
        self.assertEqual(*rounds)

    def test_an_endpoint_fails_that_cannot_go_on(self):
        """Because both links are lost, or because the program does not want fail-over."""
        for options, lost in (((), ("urnic0", "urnic1")), (("--failover", "0"), ("urnic1",))):
            with self.subTest(options=options, lost=lost):
                target, initiator = self.start_both(*options)
                for device in lost:
                    self.link(target, device, "down")
                self.wait_for_text(initiator, "broken ", PATIENCE)
                self.assertIn("broken the endpoint failed", initiator.output())
                for side in (target, initiator):
                    side.kill()
