#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Reads every #include of the project and complains about arrows between layers that the design does not
have, and about what the product must not call.

    check_includes.py [ROOT]

    tools -> verbs_api -> nic -> transport        drivers -> nic, transport        tools -> drivers

tools/conformance/check, which judges captures, includes nothing but itself; tools/conformance/replay includes
it and the transport.
"""
import pathlib
import re
import sys

# What every room of nic/ may see: what a port is, this process's descriptors and threads, and the headers in
# nic/ itself.
NIC_HEADERS = {"nic/clock.h", "nic/config.h", "nic/errors.h", "nic/event_handlers.h"}
NIC_BASE = {*NIC_HEADERS, "nic/personality", "nic/port", "nic/process", "transport"}
SIM_KERNEL = "tools/simulation/kernel"
CONFORM = "tools/conformance/conform"
SCRIPTS = ("tools/conformance/player", "tools/conformance/script", "transport")
SIM_ROOMS = [
    f"tools/simulation/seeds/{room}"
    for room in ("core", "models", "scenario", "network", "checks", "traffic")
]

# Rooms of verbs_api, each with what it sees.
VERBS_ORDER = (
    "abi",
    "fault",
    "adversary",
    "sanitizer",
    "config",
    "device",
    "memory",
    "queues",
    "datapath",
    "injection",
)
VERBS_ROOMS = {
    room: {"nic", "transport", *(f"verbs_api/{seen}" for seen in VERBS_ORDER[: place + 1])}
    for place, room in enumerate(VERBS_ORDER)
}

# What the files below a folder may include of the project. The longest prefix of a path decides.
ALLOWED = {
    "transport": {"transport"},
    # The device and its makers see every room of nic/. A room sees the rooms below it, and what all of them
    # share.
    "nic": {"nic", "transport"},
    "nic/congestion": {"nic/congestion", *NIC_BASE},
    "nic/memory": {"nic/memory", *NIC_BASE},
    "nic/path": {"nic/path", *NIC_BASE},
    "nic/raw": {"nic/raw", *NIC_BASE},
    "nic/queues": {"nic/queues", "nic/adversary", "nic/memory", "nic/path", "nic/raw", *NIC_BASE},
    # Stands between queues and what they use.
    "nic/adversary": {"nic/adversary", "nic/memory", *NIC_BASE},
    "nic/diagnostics": {
        "nic/diagnostics",
        "nic/rdma_cm",
        "nic/cm",
        "nic/queues",
        "nic/memory",
        "nic/path",
        "nic/host",
        *NIC_BASE,
    },
    "nic/recording": {"nic/recording", "nic/diagnostics", "nic/queues", "nic/memory", "nic/path", *NIC_BASE},
    "nic/recording/journal.h": {"transport"},
    "nic/cm": {"nic/cm", *NIC_BASE},
    "nic/rdma_cm": {"nic/rdma_cm", "nic/cm", "nic/path", *NIC_BASE},
    "nic/engine": {
        "nic/engine",
        "nic/recording",
        "nic/rdma_cm",
        "nic/cm",
        "nic/diagnostics",
        "nic/queues",
        "nic/memory",
        "nic/path",
        "nic/raw",
        *NIC_BASE,
    },
    **{header: {*NIC_HEADERS, "nic/personality", "nic/port", "transport"} for header in NIC_HEADERS},
    # As urnic itself and other NICs behave, as values.
    "nic/personality": {"nic/personality", "transport"},
    "nic/port": {"nic/port", "transport"},
    "nic/process": {"nic/process", "transport"},
    # What a process needs of its host before it has a device.
    "nic/host": {"nic/host", *NIC_BASE},
    "drivers": {"drivers", "nic", "transport"},
    # A model without ports, which the simulator shares with the switch of a fabric.
    "drivers/network": {"drivers/network", "transport"},
    # What libibverbs looks like, and what URNIC_* variables mean, know nothing of the verbs. A room sees
    # those before it.
    "verbs_api/abi": VERBS_ROOMS["abi"],
    "verbs_api/fault": VERBS_ROOMS["fault"],
    "verbs_api/adversary": VERBS_ROOMS["adversary"],
    "verbs_api/sanitizer": VERBS_ROOMS["sanitizer"],
    "verbs_api/config": VERBS_ROOMS["config"],
    "verbs_api/device": VERBS_ROOMS["device"],
    "verbs_api/memory": VERBS_ROOMS["memory"],
    "verbs_api/queues": VERBS_ROOMS["queues"],
    "verbs_api/datapath": VERBS_ROOMS["datapath"],
    "verbs_api/injection": VERBS_ROOMS["injection"],
    # Beside queues that post: flows, and rdma_cm.
    "verbs_api/flow": {"verbs_api/flow", *VERBS_ROOMS["queues"]},
    "verbs_api/rdma_cm": {"verbs_api/rdma_cm", *VERBS_ROOMS["device"]},
    # Opens, imports and closes contexts with all that is in them.
    "verbs_api/opening": {"verbs_api", "nic", "transport"},
    # The command line puts the rooms of tools/ together; none of them knows it.
    "tools/command": {"tools", "verbs_api", "drivers", "nic", "transport"},
    # What runs in a program, or beside it.
    "tools/runtime": {"tools/runtime", "tools/inspection/files", "verbs_api", "drivers", "nic", "transport"},
    # What the dynamic linker does with a program.
    "tools/runtime/loader": {"tools/runtime/loader", "transport"},
    "tools/runtime/audit": {"tools/runtime/audit"},
    "tools/runtime/mounts": {"tools/runtime/mounts", "nic", "transport"},
    # Answers what the kernel would be asked about devices, out of what processes say.
    "tools/runtime/netlink": {"tools/runtime/netlink", "tools/inspection/stat", "nic", "transport"},
    # What measures, and programs such as users have, include nothing of the product.
    "tools/development": {"tools/development"},
    "tools/deployment": {"tools/deployment"},
    # A judge that shared a reading of the protocol with the product would share its misreadings.
    "tools/conformance/check": {"tools/conformance/check"},
    # Its rooms. The files beside them put those together, and the reports see all of it.
    "tools/conformance/check/packets": {"tools/conformance/check/packets"},
    "tools/conformance/check/reading": {
        "tools/conformance/check/reading",
        "tools/conformance/check/packets",
    },
    "tools/conformance/check/unwrapping": {
        "tools/conformance/check/unwrapping",
        "tools/conformance/check/packets",
    },
    "tools/conformance/check/congestion": {
        "tools/conformance/check/congestion",
        "tools/conformance/check/findings",
        "tools/conformance/check/packets",
    },
    "tools/conformance/check/findings": {"tools/conformance/check/findings"},
    "tools/conformance/check/models": {
        "tools/conformance/check/models",
        "tools/conformance/check/cm",
        "tools/conformance/check/findings",
        "tools/conformance/check/packets",
    },
    "tools/conformance/check/cm": {
        "tools/conformance/check/cm",
        "tools/conformance/check/findings",
        "tools/conformance/check/packets",
    },
    # Shows captures as the judge reads them.
    "tools/inspection/view": {"tools/inspection/view", "tools/inspection/page", "tools/conformance/check"},
    # What pages, and files that people write, have in common.
    "tools/inspection/page": {"tools/inspection/page"},
    "tools/inspection/files": {"tools/inspection/files", "transport"},
    # Shows the product's tables, with the fields of headers as `urnic view` has them; of the verbs it knows
    # the numbers of statuses.
    "tools/teaching/sheet": {
        "tools/teaching/sheet",
        "tools/inspection/view",
        "tools/conformance/check",
        "nic",
        "transport",
        "verbs_api/datapath/wc_status.h",
    },
    # Says what the names in the product's tables mean.
    "tools/teaching/explain": {
        "tools/teaching/explain",
        "tools/teaching/sheet",
        "tools/conformance/check",
        "nic",
        "transport",
        "verbs_api/datapath/wc_status.h",
        "verbs_api/sanitizer",
    },
    # Plays captures that the judge reads against the transport, and nothing else of the product.
    "tools/conformance/replay": {"tools/conformance/replay", "tools/conformance/check", "transport"},
    # The language of protocol scripts, with a reading of packets of its own; and what plays them. Of the
    # transport both know its words: rights, statuses, states.
    "tools/conformance/script": {"tools/conformance/script", "transport"},
    "tools/conformance/player": {"tools/conformance/player", "tools/conformance/script", "transport"},
    # Plays scripts with a peer. It makes and reads packets as the judge of captures does, and of drivers it
    # has the port and the writer of captures. Its rooms know nothing of each other, with two exceptions: the
    # stages say lines of the agent and send by the wire, and results are about cases. One file asks the judge
    # itself.
    CONFORM: {
        *(CONFORM, "tools/conformance/player", "tools/conformance/script", "tools/conformance/check/packets"),
        *("drivers", "nic", "transport"),
    },
    f"{CONFORM}/packet_judge.cc": {CONFORM, "tools/conformance/check"},
    f"{CONFORM}/agent": {f"{CONFORM}/agent", "drivers/descriptor.h", "transport"},
    f"{CONFORM}/wire": {
        *(f"{CONFORM}/wire", "tools/conformance/check/packets", "nic", "transport"),
        "drivers/pcap/lost_identification.h",
    },
    f"{CONFORM}/stage": {
        *(f"{CONFORM}/stage", f"{CONFORM}/agent", f"{CONFORM}/wire", "tools/conformance/player"),
        *("tools/conformance/script", "transport"),
    },
    f"{CONFORM}/connections": {
        *(f"{CONFORM}/connections", f"{CONFORM}/agent", f"{CONFORM}/wire", *SCRIPTS),
    },
    f"{CONFORM}/cases": {f"{CONFORM}/cases", *SCRIPTS},
    f"{CONFORM}/results": {f"{CONFORM}/results", f"{CONFORM}/cases", *SCRIPTS},
    f"{CONFORM}/html": {
        *(f"{CONFORM}/html", f"{CONFORM}/results", "tools/inspection/view", "tools/inspection/page"),
    },
    # Asks processes what they do; what it knows of a NIC is what they say.
    "tools/inspection/stat": {"tools/inspection/stat", "nic", "transport"},
    # Looks at the host; of drivers it knows who owns a descriptor.
    "tools/inspection/doctor": {
        "tools/inspection/doctor",
        "tools/runtime/loader",
        "tools/runtime/mounts",
        "drivers",
        "nic",
        "transport",
    },
    "tools/command/commands/check_command.h": {"tools/conformance/check", "tools/command"},
    "tools/command/commands/check_command.cc": {"tools/conformance/check", "tools/command"},
    # What all virtual worlds stand on; the rigs of tests are such worlds, too.
    SIM_KERNEL: {SIM_KERNEL, "nic", "transport"},
    # Devices on a simulated network; of drivers it knows the model of a network, and nothing of libibverbs.
    # The world and its runner see every room, a room those before it. Frames are read as the judge reads
    # them.
    "tools/simulation/seeds": {"tools/simulation/seeds", SIM_KERNEL, "nic", "transport"},
    # Devices on a modelled network.
    "tools/simulation/experiment": {
        *("tools/simulation/experiment", SIM_KERNEL, "tools/inspection/files", "tools/inspection/page"),
        *("drivers/network", "drivers/fault", "drivers/pcap", "nic", "transport"),
    },
    "tools/simulation/seeds/core": {*SIM_ROOMS[:1], SIM_KERNEL, "tools/conformance/check", *NIC_BASE},
    "tools/simulation/seeds/models": {*SIM_ROOMS[:2], SIM_KERNEL, *NIC_BASE},
    "tools/simulation/seeds/scenario": {
        *SIM_ROOMS[:3],
        SIM_KERNEL,
        "drivers/network/topology.h",
        "nic/adversary",
        "nic/queues",
        *NIC_BASE,
    },
    "tools/simulation/seeds/network": {*SIM_ROOMS[:4], SIM_KERNEL, "drivers/network", *NIC_BASE},
    "tools/simulation/seeds/checks": {*SIM_ROOMS[:5], SIM_KERNEL, *NIC_BASE},
    "tools/simulation/seeds/traffic": {*SIM_ROOMS, SIM_KERNEL, "nic", "transport"},
}
CHECKED_FOLDERS = ("transport", "nic", "drivers", "verbs_api", "tools")
# Programs of students, the agent and the listener: they are copied out, know nothing of the project, and use
# libibverbs and librdmacm as any program does.
NOT_OF_THE_PRODUCT = (
    "tools/teaching/lab",
    "tools/conformance/conform/agent/agent.c",
    "tools/conformance/conform/agent/line_server.h",
    "tools/conformance/conform/agent/listener.c",
)

# Headers of others, and where they may be seen.
EXCLUSIVE = (
    (re.compile(r"rte_"), ("drivers/dpdk",), "DPDK"),
    (re.compile(r"rdma/rdma_netlink\.h$"), ("tools/runtime/netlink",), "RDMA netlink"),
    (re.compile(r"(infiniband|rdma)/(?!rdma_netlink\.h$)"), ("verbs_api",), "libibverbs"),
    (re.compile(r"pcap"), ("tools/conformance/check",), "libpcap"),
)
# The transport knows no clock, no thread, no chance and does no I/O.
HIDDEN_WORLD = re.compile(
    r"(thread|mutex|shared_mutex|condition_variable|future|random|fstream|iostream|filesystem|"
    r"pthread\.h|time\.h|ctime|unistd\.h|fcntl\.h|poll\.h|sys/(epoll|eventfd|timerfd|random|time)\.h)$"
)
# A program that has more rights than the one that started it must not do what that one's variables say.
PLAIN_GETENV = re.compile(r"(?<!secure_)\bgetenv\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".c", ".cpp", ".hpp"}


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")


def complaints_about(path, text, exists):
    """What is wrong with the includes of the file `path`; `exists` says whether the project has a file."""
    folder = max((key for key in ALLOWED if is_below(path, key)), key=len, default=None)
    if folder is None:
        yield f"{path}: stands in a folder for which ALLOWED does not say what it may include"
        return
    if PLAIN_GETENV.search(text):
        yield f"{path}: the product reads its environment by secure_getenv()"
    for match in INCLUDE.finditer(text):
        own, foreign = match.groups()
        if own is not None:
            if not exists(own):
                yield f'{path}: "{own}" is not a file of the project seen from its root'
            elif not any(is_below(own, allowed) for allowed in ALLOWED[folder]):
                yield f'{path}: {folder} must not include "{own}"'
        elif is_below(path, "transport") and HIDDEN_WORLD.match(foreign):
            yield f"{path}: the transport must not know <{foreign}>"
        for pattern, homes, name in EXCLUSIVE:
            if pattern.match(own or foreign) and not any(is_below(path, home) for home in homes):
                yield f"{path}: {name} ({own or foreign}) has no place here"


def sources(root):
    """(path below the root, text) of all that is read."""
    root = pathlib.Path(root)
    for folder in CHECKED_FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            name = file.relative_to(root).as_posix()
            if file.suffix in SUFFIXES and not any(is_below(name, out) for out in NOT_OF_THE_PRODUCT):
                yield name, file.read_text(errors="replace")


def check(root):
    """(number of files read, complaints)"""
    files = list(sources(root))
    exists = lambda name: (pathlib.Path(root) / name).is_file()
    return len(files), [
        complaint for file, text in files for complaint in complaints_about(file, text, exists)
    ]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    count, complaints = check(root)
    print("\n".join(complaints + [f"{count} files, {len(complaints)} wrong includes"]))
    # An empty tree is not a clean one.
    return 1 if complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
