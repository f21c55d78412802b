#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Does check_includes.py bite, and only where it should?"""
import graphlib
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import check_includes  # noqa: E402
import rooms  # noqa: E402

FORBIDDEN = (
    ("transport/rc/responder.cc", '#include "nic/device/device.h"'),
    ("transport/rc/responder.cc", "#include <thread>"),
    ("transport/rc/responder.cc", "#include <time.h>"),
    ("transport/rc/responder.cc", "#include <infiniband/verbs.h>"),
    ("nic/engine/engine.cc", '#include "verbs_api/config/environment.h"'),
    ("nic/engine/engine.cc", '#include "drivers/dpdk/port.h"'),
    ("nic/engine/engine.cc", "  #  include <rte_ethdev.h>"),
    ("nic/engine/engine.cc", "#include <infiniband/verbs.h>"),
    ("drivers/pcap/port.cc", '#include "verbs_api/config/environment.h"'),
    ("drivers/network/network.h", '#include "nic/port/packet_port.h"'),
    ("drivers/pcap/port.cc", "#include <rte_mbuf.h>"),
    ("drivers/pcap/port.cc", "#include <pcap/pcap.h>"),
    ("verbs_api/opening/open.cc", '#include "drivers/dpdk/port.h"'),
    ("verbs_api/opening/open.cc", '#include "tools/command/command.h"'),
    ("verbs_api/device/context.cc", '#include "verbs_api/queues/qp.h"'),
    ("verbs_api/rdma_cm/channel.cc", '#include "verbs_api/queues/qp.h"'),
    ("nic/memory/memory_table.h", '#include "nic/queues/queue_pair.h"'),
    ("nic/path/path.h", '#include "nic/queues/queue_pair.h"'),
    ("nic/raw/flow_table.h", '#include "nic/path/path.h"'),
    ("nic/queues/queue_pair.cc", '#include "nic/engine/engine.h"'),
    ("nic/queues/queue_pair.cc", '#include "nic/diagnostics/qp_watch.h"'),
    ("nic/diagnostics/qp_watch.cc", '#include "nic/engine/engine.h"'),
    ("nic/engine/engine.cc", '#include "nic/device/device.h"'),
    ("nic/engine/engine.cc", '#include "nic/host/lease.h"'),
    ("nic/config.h", '#include "nic/host/port_spec.h"'),
    ("verbs_api/abi/strings.cc", '#include "verbs_api/queues/qp.h"'),
    ("tools/simulation/seeds/runner.h", '#include "tests/support/bytes.h"'),
    ("tools/simulation/seeds/runner.h", '#include "verbs_api/queues/qp.h"'),
    ("tools/simulation/seeds/models/memory_model.h", '#include "tools/simulation/seeds/traffic/host.h"'),
    ("tools/simulation/seeds/models/memory_model.h", '#include "nic/device/device.h"'),
    ("tools/command/main.cc", "#include <infiniband/verbs.h>"),
    ("tools/conformance/check/packets/packet.cc", '#include "transport/types.h"'),
    ("tools/conformance/check/packets/packet.cc", '#include "nic/device/device.h"'),
    ("tools/conformance/check/packets/packet.cc", '#include "drivers/dpdk/port.h"'),
    ("tools/conformance/check/packets/packet.cc", '#include "tools/command/command.h"'),
    ("tools/command/commands/check_command.cc", '#include "transport/types.h"'),
    ("tools/command/main.cc", "#include <pcap/pcap.h>"),
    ("nic/engine/engine.cc", '#include "engine.h"'),
    ("nic/engine/engine.cc", '#include "../transport/types.h"'),
    ("verbs_api/config/environment.cc", "const char* const text = std::getenv(name);"),
    ("tools/runtime/paths/redirect.cc", 'getenv ("URNIC_PATHS")'),
    ("tools/runtime/paths/redirect.cc", '#include "tools/command/command.h"'),
    ("tools/novelties/first.cc", '#include "transport/types.h"'),
    ("nic/port/packet_port.h", '#include "nic/path/path.h"'),
    ("nic/process/descriptor.h", '#include "nic/port/packet_port.h"'),
)
ALLOWED = (
    ("transport/rc/responder.cc", '#include "transport/types.h"\n#include <chrono>'),
    ("nic/engine/engine.cc", '#include "transport/types.h"\n#include <thread>'),
    ("nic/engine/engine.cc", '#include "nic/queues/queue_pair.h"\n#include "nic/port/packet_port.h"'),
    ("nic/device/device.h", '#include "nic/engine/engine.h"'),
    ("drivers/dpdk/port.cc", '#include "nic/port/packet_port.h"\n#include <rte_mbuf.h>'),
    ("verbs_api/config/environment.cc", "const char* const text = secure_getenv(name);  // not getenv"),
    ("verbs_api/opening/open.cc", '#include "nic/device/device.h"\n#include <infiniband/verbs.h>'),
    (
        "tools/runtime/port/open_port.cc",
        '#include "drivers/dpdk/port.h"\n#include "verbs_api/config/environment.h"',
    ),
    ("tools/command/commands/sim_command.cc", '#include "tools/simulation/seeds/runner.h"'),
    (
        "tools/conformance/check/capture_reader.cc",
        '#include "tools/conformance/check/packets/packet.h"\n#include <pcap/pcap.h>',
    ),
    (
        "tools/command/commands/check_command.cc",
        '#include "tools/conformance/check/packets/packet.h"\n#include "tools/command/command.h"',
    ),
)
TREE = {
    "drivers/dpdk/port.h",
    "nic/device/device.h",
    "nic/port/packet_port.h",
    "nic/engine/engine.h",
    "nic/diagnostics/qp_watch.h",
    "nic/host/lease.h",
    "nic/host/port_spec.h",
    "nic/path/path.h",
    "nic/queues/queue_pair.h",
    "tests/support/bytes.h",
    "verbs_api/queues/qp.h",
    "tools/simulation/seeds/runner.h",
    "tools/simulation/seeds/traffic/host.h",
    "tools/conformance/check/packets/packet.h",
    "tools/command/command.h",
    "transport/types.h",
    "verbs_api/config/environment.h",
}


def complaints(path, text):
    return list(check_includes.complaints_about(path, text, TREE.__contains__))


class CheckIncludes(unittest.TestCase):
    def test_sees_every_forbidden_arrow(self):
        for path, line in FORBIDDEN:
            with self.subTest(path=path, line=line):
                self.assertEqual(len(complaints(path, f"// first line\n{line}\n")), 1)

    def test_accepts_the_arrows_of_the_design(self):
        for path, text in ALLOWED:
            with self.subTest(path=path):
                self.assertEqual(complaints(path, text), [])

    def test_leaves_out_programs_of_students_and_nothing_beside_them(self):
        with tempfile.TemporaryDirectory() as root:
            for folder in ("tools/teaching/lab/01_first_light", "tools/label"):
                (pathlib.Path(root) / folder).mkdir(parents=True)
                (pathlib.Path(root) / folder / "own.c").write_text("#include <infiniband/verbs.h>\n")
            count, found = check_includes.check(root)
        self.assertEqual((count, len(found)), (1, 1))

    def test_draws_a_room_above_what_it_includes_and_finds_circles(self):
        arrows = {"nic/engine": {"nic/queues": 1, "transport": 2}, "nic/queues": {"transport": 1}}
        names = ("nic/engine", "nic/queues", "transport")
        self.assertEqual(rooms.floors_of(names, arrows), [["transport"], ["nic/queues"], ["nic/engine"]])
        with self.assertRaises(graphlib.CycleError):
            rooms.floors_of(names, {**arrows, "transport": {"nic/engine": 1}})
        self.assertEqual(rooms.room_of("transport/rc/responder.h"), "transport")
        self.assertEqual(rooms.room_of("tools/conformance/check/cm/dialog.cc"), "tools/conformance/check")

    def test_does_not_call_an_empty_tree_clean(self):
        self.assertEqual(check_includes.check("/nonexistent"), (0, []))


if __name__ == "__main__":
    unittest.main()
