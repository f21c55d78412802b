# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The ping-pongs of ibverbs-utils: ibv_rc_pingpong from one byte to a megabyte, polling and sleeping, and
three hundred times in a row; and the programs for the other services."""
import random
import re

import harness
from harness import ClientTest


class PingpongTest(ClientTest):
    def pingpong(self, *options, program="ibv_rc_pingpong", gid=1, **keywords):
        self.require(program)
        outputs = self.run_pair(program, "-d", "urnic0", "-g", gid, *options, **keywords)
        for output in outputs:
            if not re.search(r"iters in|^success$", output, re.MULTILINE) or "invalid data" in output:
                self.fail_with("a ping-pong without a result, or with wrong data")
        return outputs


class Pingpong(PingpongTest):
    """One pair each; filled below."""


SIZES = (1, 4096, 4097, 1000000)
MTUS = (256, 512, 1024, 2048, 4096)
OPTIONS = (
    [["-s", size] for size in SIZES]
    + [["-m", mtu] for mtu in MTUS]
    + [["-m", mtu, "-s", 100000, "-c"] for mtu in (256, 4096)]
    + [["-n", 10000], ["-c"], ["-e"], ["-e", "-c", "-s", 100000], ["-c", "-s", 1000000, "-n", 100]]
)


def _add(name, **keywords):
    def decorate(options):
        def test(self):
            self.pingpong(*options, **keywords)

        setattr(Pingpong, f"test_{name}{''.join(str(word) for word in options).replace('-', '_')}", test)

    return decorate


for _options in OPTIONS:
    _add("ipv4")(_options)
for _options in ([], ["-c", "-s", 100000], ["-e"]):
    _add("link_local_gid", gid=0)(_options)
for _options in ([], ["-e"]):
    _add("progress_by_thread", environment={"URNIC_PROGRESS": "thread"})(_options)
_add("ipv6", gid=2, nics=(["--ip6", "fd00::1/64"], ["--ip6", "fd00::2/64"]))([])
_add("addresses_of_ones_own", nics=(["--ip", "192.168.9.1/24"], ["--ip", "192.168.9.2/24"]))([])
_add("link_mtu_1500", nics=(["--mtu", "1500"], ["--mtu", "1500"]))(["-c", "-s", 100000])
_add("one_percent_of_frames_lost", nics=(["--fault", "loss=0.01,seed=3"], []))(
    ["-c", "-n", 300, "-s", 100000]
)
for _service, _options in (
    ("uc", []),
    ("uc", ["-e"]),
    ("uc", ["-c", "-s", 100000]),
    ("ud", []),
    ("ud", ["-e"]),
    ("ud", ["-c", "-s", 1024]),
    ("ud", ["-s", 4096]),
    ("srq", []),
    ("srq", ["-e"]),
    ("srq", ["-q", 16, "-c"]),
    ("xsrq", []),
    ("xsrq", ["-e"]),
):
    _add(_service, program=f"ibv_{_service}_pingpong")(_options)
for _service in ("uc", "ud", "srq", "xsrq"):
    _add(f"link_local_gid_{_service}", program=f"ibv_{_service}_pingpong", gid=0)([])


class PingpongRow(PingpongTest):
    """Separate, because it takes minutes."""

    PAIRS = 300

    def test_many_pairs_in_a_row(self):
        dice = random.Random(harness.SEED)
        for number in range(self.PAIRS):
            options = ["-n", dice.choice((1, 20, 200)), "-s", dice.choice((1, 64, 4096, 20000)), "-c"]
            if dice.random() < 0.3:
                options.append("-e")
            with self.subTest(pair=number, options=options):
                self.processes = []
                self.pingpong(*options)
