# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What all client tests share: pairs of programs with a NIC each, found ports, awaited listeners, readable
failures."""
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import time
import unittest

import own_tmp
import ucx
from listeners import is_listening
from stage import NOBODY, USUAL_PORT, Process, Stage

# Filled in by run.py and ladder.py.
STAGE = None  # by set_stage()
SEED = 0
PORT = None  # what --port says where a test does not; without it, USUAL_PORT
NIC = ()  # options that every NIC gets, by --nic
OWN_ADDRESSES = {"--ip", "--ip6"}  # options of NICs that have their own

# The outside judges (an ICRC checker, a check of what installed programs import) stand in a folder beside the
# project's, when they are there at all.
PROJECT = pathlib.Path(__file__).resolve().parents[2]
JUDGES = PROJECT.parent / "shared"

PAIR_TIMEOUT = 180
START_TIMEOUT = 20


def set_stage(build):
    """Makes STAGE of this build; first a /tmp of our own, where that is allowed."""
    global STAGE
    try:
        own_tmp.enter(PROJECT, JUDGES, build)
    except OSError:
        pass  # fail_with() says whose files are in the way
    STAGE = Stage(build)


_ports_used = set()
_port_random = random.Random(os.getpid())


def free_port():
    """A TCP port that no program listens on and that no test was given before; below the range of outgoing
    connections."""
    while True:
        port = _port_random.randrange(20000, 32000)
        if port in _ports_used:
            continue
        _ports_used.add(port)
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("::", port))
                return port
            except OSError:
                continue


def wait_until(condition, timeout, pause=0.005):
    """Whether the condition came true in time."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return condition()
        time.sleep(pause)
    return True


def port_has_two_ends(port=None):
    """Whether no more than two programs can meet over `port`; without it, over the port of this run."""
    kind = (port or PORT or USUAL_PORT).split(":")[0]
    return kind == "vhost"


def is_host_shared(port=None):
    """Whether NICs of `port`, or of this run, have the host's addresses, and none of their own."""
    return (port or PORT or USUAL_PORT).split(",")[0] == "host"


def has_host_addresses(port):
    """Whether NICs of `port` have addresses of the host, and none of their own."""
    return re.split("[:,]", port)[0] in ("host", "udp")


def usage_of_cmtime():
    return subprocess.run(["cmtime", "-h"], capture_output=True, text=True, check=False).stdout


def cmtime_meets_over_tcp():
    """Newer ones (rdma-core 56) do, at the same address; they serve one client, and connect twice, with queue
    pairs and without."""
    return "socket baseline" in usage_of_cmtime()


def version_of(package):
    """Of a package of Debian's, as text."""
    if shutil.which("dpkg-query") is None:
        return "of unknown version"
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return asked.stdout or "not installed"


def add_options(parser):
    """What every command that runs these tests takes."""
    parser.add_argument("--build", default=str(PROJECT / "build/release"), help="folder of the build to test")
    parser.add_argument(
        "--nic",
        action="append",
        default=[],
        metavar="OPTION",
        help="of urnic run, for every NIC, such as --nic=--sanitize or --nic=--chaos=seed=7; several times",
    )


def nic_options(options):
    """The options of `urnic run`, with what --nic says, and the port of this run where they say none."""
    words = [*NIC, *map(str, options)]
    if PORT is None or "--port" in words:
        return words
    if is_host_shared():
        before = ["", *words]
        words = [word for word, last in zip(words, before) if not {word, last} & OWN_ADDRESSES]
    return ["--port", PORT, *words]


class ClientTest(unittest.TestCase):
    """A test with a runtime folder of its own, so that its NICs meet no others. Processes still alive at
    its end are killed; `fail_with` shows what all of them said."""

    PACKAGES = "clients"  # the group of tools/install-packages that has the programs

    def setUp(self):
        self.processes = []
        self._own_host = None
        self.runtime = STAGE.folder()
        self.environment = STAGE.environment(self.runtime)
        self.addCleanup(self._clean_up)

    def _clean_up(self):
        for process in self.processes:
            process.kill()
        # A suite keeps its tests until the end, and their files would be more than a process may have open.
        self.processes.clear()
        shutil.rmtree(self.runtime, ignore_errors=True)

    def require(self, *programs, packages=None):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest(
                    f"{program} is not installed (tools/install-packages {packages or self.PACKAGES})"
                )
        if ucx.PROGRAMS.intersection(programs) and not ucx.has_verbs():
            self.skipTest("UCX was built without transports over libibverbs")

    def start(self, name, command, nic=(), environment=None, privileged=False, inside=()):
        """Starts `urnic run NIC-OPTIONS -- COMMAND`; the words of `inside` come before it."""
        words = [STAGE.urnic, "run", *nic_options(nic), "--", *command]
        if is_host_shared() and "--port" not in nic and not inside:
            inside, words, privileged = self.own_host(), STAGE.drop_privilege(words), True
        return self.start_plain(name, [*inside, *words], environment, privileged)

    def own_host(self):
        """A network namespace that has the addresses which tests give to NICs that have their own."""
        if self._own_host is None:
            self._own_host = self.namespace(
                "link add net0 mtu 4200 type veth peer name net1 mtu 4200",
                *(
                    f"addr add {address} dev net0"
                    for address in ("10.99.0.1/24", "10.99.0.2/24", "fd99::1/64 nodad", "fd99::2/64 nodad")
                ),
                "link set net0 up",
                "link set net1 up",
            )
        return self._own_host

    def hold_ports(self, count):
        """Programs that have a port each, and do nothing with it."""
        holders = [self.start(f"holder{i}", ["sh", "-c", "echo here; exec sleep 1000"]) for i in range(count)]
        for holder in holders:
            if not wait_until(lambda: "here" in holder.output(), 60):
                self.fail_with("does not start", holder)
        return holders

    def start_plain(self, name, command, environment=None, privileged=False):
        process = Process(
            name,
            command,
            {**self.environment, **(environment or {})},
            self.runtime,
            privileged=privileged,
            stage=STAGE,
        )
        self.processes.append(process)
        return process

    def namespace(self, *commands):
        """A network namespace of the test's own, made by commands of `ip`: the words that run a program
        inside. Skips the test without root."""
        self.require("unshare", "nsenter", "ip")
        if not STAGE.is_root:
            self.skipTest("needs root: raw packets and a network namespace")
        # Or the kernel would ask for a second or two whether another host has an IPv6 address, before a
        # program may use it.
        is_ours = "echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad"
        space = self.start_plain(
            "namespace",
            ["unshare", "-n", "sh", "-c", f"{is_ours}; echo here; exec sleep 1000"],
            privileged=True,
        )
        if (
            not wait_until(lambda: "here" in space.output() or not space.is_running(), 10)
            or not space.is_running()
        ):
            self.skipTest("network namespaces are not allowed here")
        inside = ["nsenter", "-n", "-t", str(space.pid)]
        script = "\n".join(["link set lo up", *commands])
        result = subprocess.run([*inside, "ip", "-batch", "-"], input=script, capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest(f"no such network can be made here: {result.stderr.strip()}")
        return inside

    def network_namespace(self, mtu, *commands):
        """A namespace with the two ends `left` and `right` of a virtual cable; `commands` are further ones of
        `ip`."""
        return self.namespace(
            f"link add left mtu {mtu} type veth peer name right mtu {mtu}",
            "link set left up",
            "link set right up",
            *commands,
        )

    def environment_of_root(self):
        """For fabrics of root's, which does not trust another user's folder."""
        folder = self.runtime / "root"
        folder.mkdir(mode=0o700, exist_ok=True)
        return {"XDG_RUNTIME_DIR": str(folder)}

    def bridge_namespace(self, size, *options):
        """A namespace with network interfaces, nic0 and so on, that meet in a bridge of the kernel's."""
        commands = ["link add bridge mtu 4200 type bridge " + " ".join(options), "link set bridge up"]
        for rank in range(size):
            commands += [
                f"link add nic{rank} mtu 4200 type veth peer name port{rank} mtu 4200",
                f"link set port{rank} master bridge up",
                f"link set nic{rank} up",
            ]
        return self.namespace(*commands)

    def fail_with(self, message, *processes):
        shown = processes or self.processes
        in_the_way = own_tmp.obstacles(NOBODY if STAGE.is_root else os.geteuid())
        self.fail("\n".join([message, *in_the_way, *(process.describe() for process in shown)]))

    def expect_end(self, process, timeout=PAIR_TIMEOUT, code=0):
        ended = process.wait(timeout)
        if ended is None:
            # A program that waits without end may be explained by what its NIC has counted.
            self.start_plain("stat", [STAGE.urnic, "stat"]).wait(10)
            self.fail_with(f"{process.name} did not end within {timeout} s")
        if ended != code:
            self.fail_with(f"{process.name} ended with {ended} instead of {code}")

    def wait_for_listener(self, process, port):
        listens = wait_until(
            lambda: not process.is_running() or is_listening(port, process.pid), START_TIMEOUT
        )
        if not listens or not process.is_running():
            self.fail_with(f"{process.name} does not listen on port {port}")

    def run_pair(self, command, *options, nics=((), ()), timeout=PAIR_TIMEOUT, **how):
        """Runs the program as a server, then as its client, and returns what both said. Both must end with
        0. `how` goes to start()."""
        port = free_port()
        words = [command, *map(str, options), "-p", str(port)]
        server = self.start("server", words, nics[0], **how)
        self.wait_for_listener(server, port)
        client = self.start("client", [*words, "127.0.0.1"], nics[1], **how)
        self.expect_end(client, timeout)
        self.expect_end(server, timeout)
        return server.output(), client.output()
