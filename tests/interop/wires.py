# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What lies between urnic and the guest: a tap interface in a network namespace, or shared memory.

Each wire says how QEMU and `urnic run` are started for it, and by which address the programs of each side
find the other side's programs, to exchange the numbers of their queue pairs. Only the NICs have the NICs' own
addresses.
"""
import subprocess

import harness


OURS = {
    "ipv4": "10.79.0.3",
    "ipv6": "fd79::3",
    "linklocal": "fe80::5054:ff:fe79:3",
    "mac": "52:54:00:79:00:03",
}
GUESTS = {"ipv4": "10.79.0.2", "ipv6": "fd79::2", "mac": "52:54:00:79:00:02"}
# The host's own stack in the namespace, for TCP.
HOSTS = "10.79.0.1"

LARGEST_MTU = 4200
# Frames on their way into a guest that is slower than we are: without acknowledgements (UC) thousands may be
# waiting.
TAP_QUEUE = 20000

# Every frame is a frame as it would be on a cable: nothing is left for a device to fill in or cut.
_NO_OFFLOADS = ",".join(
    f"{name}=off"
    for name in "csum gso guest_csum guest_tso4 guest_tso6 guest_ufo host_tso4 host_tso6 host_ufo".split()
)


class WireError(Exception):
    """The host does not allow what the wire needs."""


def network_card(netdev, mac):
    return f"virtio-net-pci,netdev={netdev},mac={mac},host_mtu={LARGEST_MTU},romfile=,{_NO_OFFLOADS}"


class TapWire:
    """A namespace with one tap interface: QEMU reads and writes the device, urnic (af_packet) and the
    host's TCP share the interface. Needs root. All of it is gone when the process that holds the namespace
    is."""

    name = "tap"
    has_recorder = True
    nic_guest = None  # where our programs run, if that is not here
    needs_privilege = True  # who starts programs there
    runs_privileged = True  # the programs themselves
    hosts_address_for_guest = HOSTS
    guests_address_for_host = GUESTS["ipv4"]
    # What `ip` gives the host's own stack.
    _addresses_of_host = (f"{HOSTS}/24",)

    def __init__(self, stage, folder):
        self._holder = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "unshare", "-n", "sh", "-c", "echo here; exec sleep infinity"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if self._holder.stdout.readline() != "here\n":
            reason = self._holder.stderr.read().strip()
            self.close()
            raise WireError(f"network namespaces are not allowed here: {reason}")
        self.inside = ["nsenter", "-n", "-t", str(self._holder.pid)]
        for command in (
            "ip link set lo up",
            # Without any address the C library takes IPv6 for missing, and does not even read one that is
            # given in figures.
            "ip address add fd79::1/128 dev lo",
            "ip tuntap add dev tap0 mode tap",
            # Without addresses of its own the host says nothing about IPv6, which would be in every
            # recording.
            f"ip link set tap0 addrgenmode none mtu {LARGEST_MTU} txqueuelen {TAP_QUEUE}",
            "ip link set tap0 up",
            *(f"ip address add {address} dev tap0" for address in self._addresses_of_host),
        ):
            result = subprocess.run([*self.inside, *command.split()], capture_output=True, text=True)
            if result.returncode != 0:
                self.close()
                raise WireError(f"{command}: {result.stderr.strip()}")

    @property
    def namespace_pid(self):
        return self._holder.pid

    def guest_options(self):
        return {
            "prefix": self.inside,
            "network": [
                "-netdev", "tap,id=wire,ifname=tap0,script=no,downscript=no,vnet_hdr=off,vhost=off",
                "-device", network_card("wire", GUESTS["mac"]),
            ],
        }  # fmt: skip

    def start_of_program(self, stage, command):
        """The words that start a program of ours, which has the privilege that the wire needs, and no other."""
        return [*self.inside, *command]

    def nic_options(self):
        return ["--port", "af_packet:tap0", "--mac", OURS["mac"]]

    def recording_place(self, folder):
        """Where our programs can write recordings."""
        return folder

    def recordings(self, folder):
        """All that they have written since last time, brought to `folder`."""
        return sorted(folder.glob("ours*.pcap*"))

    def boot(self, kernel):
        """Starts what else the wire needs."""

    def companion(self):
        """A program of ours that the guest needs in order to start."""
        return None

    def open_port(self, guest, port):
        """Called before a program in the guest listens there."""

    def await_link(self, guest):
        """Called when a program of ours waits for one in the guest."""

    def set_up_guest(self, guest):
        guest.must(addresses("eth0"))

    def introduce_us(self, guest, is_lasting):
        """Whether the guest has our MAC once and for all, or has to ask us for it."""
        guest.must(neighbors("eth0", is_lasting))

    def close(self):
        self._holder.kill()
        self._holder.wait()


class UdpWire(TapWire):
    """The same tap, but that urnic has the host's addresses, and the kernel carries its datagrams: our
    programs need no privilege."""

    name = "udp"
    runs_privileged = False
    hosts_address_for_guest = OURS["ipv4"]
    _addresses_of_host = (f"{OURS['ipv4']}/24", f"{OURS['ipv6']}/64 nodad")

    def start_of_program(self, stage, command):
        return [*self.inside, *stage.drop_privilege(command)]

    def nic_options(self):
        return ["--port", "udp"]

    def introduce_us(self, guest, is_lasting):
        """The host's own stack answers for its MAC, and our faults do not touch that."""


class HostWire(UdpWire):
    """The same, but that our programs share one NIC."""

    name = "host"

    def nic_options(self):
        return ["--port", "host"]


def addresses(device):
    """Addresses and rdma_rxe on the guest's network device. Nothing that IPv6 says on its own accord is
    wanted."""
    return "\n".join(
        [
            "set -e",
            "echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad",
            f"echo 0 >/proc/sys/net/ipv6/conf/{device}/accept_dad",
            f"echo 0 >/proc/sys/net/ipv6/conf/{device}/router_solicitations",
            "ip link set lo up",
            f"ip link set {device} up",
            f"ip address add {GUESTS['ipv4']}/24 dev {device}",
            f"ip address add {GUESTS['ipv6']}/64 dev {device} nodad",
            f"rdma link add rxe0 type rxe netdev {device}",
        ]
    )


def neighbors(device, is_lasting):
    """Gives the guest our MAC for all of our addresses, or takes it away."""
    own = [OURS[gid] for gid in ("ipv4", "ipv6", "linklocal")]
    if is_lasting:
        return " && ".join(
            f"ip neighbor replace {address} lladdr {OURS['mac']} dev {device} nud permanent"
            for address in own
        )
    return "; ".join(f"ip neighbor del {address} dev {device} 2>/dev/null" for address in own) + "; true"


class VhostWire:
    """Shared memory between QEMU (the front, which serves) and urnic (the back, which comes and goes with
    each program). No program needs a privilege. The programs find each other through QEMU's own user-mode
    network, on a second card."""

    name = "vhost-user"
    nic_guest = None
    has_recorder = False  # QEMU never sees the frames
    needs_privilege = False
    runs_privileged = False
    inside = []
    namespace_pid = "self"
    hosts_address_for_guest = "10.0.2.2"
    guests_address_for_host = "127.0.0.1"

    def __init__(self, stage, folder):
        self._socket = folder / "wire.sock"
        self._drop_privilege = stage.drop_privilege

    def guest_options(self):
        return {
            "prefix": self._drop_privilege([]),
            "shared_memory": True,
            "network": [
                "-chardev", f"socket,id=wire,path={self._socket},server=on",
                "-netdev", "vhost-user,id=wire,chardev=wire",
                # QEMU 7.2 without KVM crashes when it is to send message-signalled interrupts for another
                # process.
                "-device", network_card("wire", GUESTS["mac"]) + ",vectors=0",
                "-netdev", "user,id=side",
                "-device", "virtio-net-pci,netdev=side,romfile=",
            ],
        }  # fmt: skip

    def start_of_program(self, stage, command):
        return command

    def nic_options(self):
        return ["--port", f"vhost:{self._socket},back", "--mac", OURS["mac"]]

    def recording_place(self, folder):
        return folder

    def recordings(self, folder):
        return sorted(folder.glob("ours*.pcap*"))

    def boot(self, kernel):
        """Nothing else is needed."""

    def companion(self):
        """QEMU waits for the first back before it starts the guest. This one never meets a peer."""
        return ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(harness.free_port())]

    def set_up_guest(self, guest):
        guest.must(addresses("eth0"))
        guest.must("ip link set eth1 up && ip address add 10.0.2.15/24 dev eth1")

    def introduce_us(self, guest, is_lasting):
        guest.must(neighbors("eth0", is_lasting))

    def open_port(self, guest, port):
        forward = f"hostfwd_add side tcp:127.0.0.1:{port}-:{port}"
        guest.control("human-monitor-command", **{"command-line": forward})

    def await_link(self, guest):
        """The guest's card has a carrier while a back is there."""
        guest.must(
            "for i in $(seq 100); do grep -q 1 /sys/class/net/eth0/carrier && exit 0; sleep 0.05; done; exit 1"
        )

    def close(self):
        """Nothing outlives the programs."""
