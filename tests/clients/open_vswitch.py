# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with its DPDK datapath as the switch of a host. Daemons, database and folder are the test's
own: what the system has of Open vSwitch neither takes part nor is changed."""
import os
import pathlib
import re
import shutil
import subprocess

from harness import wait_until

# Debian's package has the daemon there beside the one without DPDK, and leaves the other one as ovs-vswitchd.
_DAEMONS = ("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk", "ovs-vswitchd")
_TOOLS = ("ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl", "ovs-ofctl")
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"

# Memory of its own without huge pages, in MB; what it does not use is not taken. And no devices of the
# machine's.
_EAL = "--no-huge --legacy-mem --no-shconf --no-telemetry --no-pci -m 640"
# A thread that polls and finds nothing sleeps for so many microseconds at most. Without it, it takes a
# processor whole.
_LONGEST_SLEEP_US = 100
_PATIENCE_S = 30

_RING_FRAMES, _RING_FRAME_BYTES = 4096, 2048

# What a tunnel puts before a packet: IPv4, UDP and VXLAN headers, and the Ethernet header of the packet.
TUNNEL_BYTES = 20 + 8 + 8 + 14


def find_daemon():
    """The path of an ovs-vswitchd with DPDK, or None when that, or a tool that it needs, is not installed."""
    if not all(map(shutil.which, _TOOLS)) or not pathlib.Path(_SCHEMA).exists():
        return None
    for path in filter(None, map(shutil.which, _DAEMONS)):
        said = subprocess.run([path, "--version"], capture_output=True, text=True)
        if "DPDK" in said.stdout:
            return path
    return None


def _cable_port(cable, mtu):
    """DPDK's driver for packet sockets has a ring that it shares with the kernel, and a thread that polls
    it. It knows no more than 1500 bytes, and would send past recorders. Open vSwitch's own port has a
    socket's buffer, for a few dozen long packets, which the main thread looks into now and then: it loses
    most of what comes in a row."""
    if mtu > 1500:
        return ("type=system",)
    device = f"net_af_packet0,iface={cable},framesz={_RING_FRAME_BYTES},blocksz={1 << 16},framecnt={_RING_FRAMES},qdisc_bypass=0"
    return ("type=dpdk", f'options:dpdk-devargs="{device}"', f"mtu_request={mtu}")


class OpenVswitch:
    """Two bridges, as Open vSwitch's own instructions for tunnels have them: `br-int` has the NICs and the
    tunnel, `br-phy` the cable and the address that tunnels come to."""

    def __init__(self, start, host, folder, number):
        """`start` starts a program as root, given its name, its words and its environment; `host` are the
        words that run one on the host; `number` tells this switch from others of the machine."""
        self._start, self._host = start, host
        self._folder = pathlib.Path(folder)
        self._environment = {"PATH": os.environ["PATH"], "RUNTIME_DIRECTORY": str(self._folder)}
        self._environment |= {f"OVS_{kind}DIR": str(self._folder) for kind in ("RUN", "LOG", "DB", "SYSCONF")}
        processors = sorted(os.sched_getaffinity(0))
        self._processor = processors[number % len(processors)]
        self._log = self._folder / "vswitchd.log"
        self._address = self._process = None
        self._create_database()

    def _create_database(self):
        database = self._folder / "conf.db"
        subprocess.run(["ovsdb-tool", "create", database, _SCHEMA], check=True)
        self._socket = self._folder / "db.sock"
        words = [
            "ovsdb-server",
            f"--remote=punix:{self._socket}",
            f"--unixctl={self._folder}/ovsdb.ctl",
            str(database),
        ]
        server = self._start("ovsdb-server", [*self._host, *words], self._environment)
        if (
            not wait_until(lambda: self._socket.exists() or not server.is_running(), _PATIENCE_S)
            or not server.is_running()
        ):
            raise AssertionError(server.describe())
        self.control("--no-wait", "init")
        options = {
            "dpdk-init": "true",
            "dpdk-extra": f'"{_EAL}"',
            "dpdk-lcore-mask": hex(1 << self._processor),
            "pmd-cpu-mask": hex(1 << self._processor),
            "pmd-maxsleep": _LONGEST_SLEEP_US,
            # Of a size that is known; else it takes all memory that it can have, and the time to fill it.
            "per-port-memory": "true",
        }
        self.control(
            "--no-wait",
            "set",
            "Open_vSwitch",
            ".",
            *(f"other_config:{name}={value}" for name, value in options.items()),
        )

    def control(self, *words):
        """What ovs-vsctl says. Unless told not to, it waits until the switch is as the database says."""
        command = ["ovs-vsctl", f"--db=unix:{self._socket}", f"--timeout={_PATIENCE_S}", *map(str, words)]
        result = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        if result.returncode != 0:
            said = self._process.describe() if self._process else ""
            raise AssertionError(f"{' '.join(command)}: {result.stderr}{said}")
        return result.stdout.strip()

    def ask(self, *words):
        """What ovs-appctl says."""
        command = ["ovs-appctl", f"--target={self._folder}/vswitchd.ctl", *map(str, words)]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True).stdout

    def boot(self):
        """Starts the daemon, also after it was killed, and waits until it has the bridges that the database
        names."""
        words = [find_daemon(), f"unix:{self._socket}", f"--unixctl={self._folder}/vswitchd.ctl"]
        words += [f"--log-file={self._log}", "--verbose=console:warn"]
        self._process = self._start("ovs-vswitchd", [*self._host, *words], self._environment)
        self.control("set", "Open_vSwitch", ".", "external_ids:started=yes")
        if self._address is not None:
            self._wait_for_route()

    def kill(self):
        self._process.kill()

    def is_running(self):
        return self._process.is_running()

    def may_sleep(self):
        """Whether its threads that poll may: Open vSwitch has that since 3.1."""
        return "PMD load based sleeps are enabled" in self._log.read_text()

    def connect(self, cable, mtu, address, peer, key):
        """Bridges, and a VXLAN tunnel over the network interface `cable`, which the switch has for itself."""
        self._address = address
        netdev = lambda bridge: (
            "--",
            "add-br",
            bridge,
            "--",
            "set",
            "bridge",
            bridge,
            "datapath_type=netdev",
        )
        tunnel = ("type=vxlan", f"options:remote_ip={peer}", f"options:key={key}")
        # One that stays after a restart: the other switch need not learn another.
        mac = "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))
        own_mac = ("--", "set", "bridge", "br-phy", f'other_config:hwaddr="{mac}"')
        self.control(
            *netdev("br-phy"),
            *own_mac,
            "--",
            "add-port",
            "br-phy",
            cable,
            "--",
            "set",
            "interface",
            cable,
            *_cable_port(cable, mtu),
        )
        self.control(
            *netdev("br-int"),
            "--",
            "add-port",
            "br-int",
            "tunnel",
            "--",
            "set",
            "interface",
            "tunnel",
            *tunnel,
        )
        for words in (f"addr add {address}/24 dev br-phy", "link set br-phy up"):
            subprocess.run([*self._host, "ip", *words.split()], check=True)
        self._wait_for_route()

    def _wait_for_route(self):
        """br-phy is a network interface of the host's, which stays there without the daemon, and so does its
        address."""
        if not wait_until(lambda: f" SRC {self._address}" in self.ask("ovs/route/show"), _PATIENCE_S):
            raise AssertionError(f"no route to the cable: {self.ask('ovs/route/show')}")

    def add_nic(self, name, path, link_mtu):
        """A port for the NIC that will be at the socket `path`. Only as a client Open vSwitch comes back to a
        NIC, and lets it come back."""
        options = ("type=dpdkvhostuserclient", f"options:vhost-server-path={path}", f"mtu_request={link_mtu}")
        self.control("add-port", "br-int", name, "--", "set", "interface", name, *options)

    def has_connected(self, path):
        """Whether frames move between the switch and the NIC at the socket, or did. The first one after
        the start of the daemon waits until that has made its packet buffers."""
        return (
            re.search(rf"of vhost device '{re.escape(path)}' changed to 'enabled'", self._log.read_text())
            is not None
        )

    def packets_sent(self):
        """Through the tunnel, since the daemon started; it counts twice a second."""
        command = ["ovs-ofctl", "dump-ports", f"unix:{self._folder}/br-int.mgmt", "tunnel"]
        said = subprocess.run(command, env=self._environment, capture_output=True, text=True).stdout
        found = re.search(r"tx pkts=(\d+)", said)
        return int(found[1]) if found else 0
