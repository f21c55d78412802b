# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A second guest that urnic runs in, where it drives an emulated network card by DPDK; a cable of QEMU's
leads to the guest with rdma_rxe. No privilege is needed here: what root does, root does in the guest."""
import pathlib
import shlex

import image
import wires
from guest import Guest
from harness import START_TIMEOUT, wait_until

# The card's place on the bus.
SLOT = 0x10
ADDRESS = f"0000:00:{SLOT:02x}.0"
MEMORY_MB = 768
HUGE_PAGES = 40
# What drivers/pci/card.h demands, in KiB.
LOCKED_MEMORY = 64 << 10
USER = 1000
# On the second cable, by which programs find each other.
OURS, GUESTS = "10.80.0.1", "10.80.0.2"
RECORDINGS = "/tmp/recordings"


class PciWire:
    """`card` are QEMU's words for it, `driver` is who leaves it to urnic."""

    has_recorder = True
    needs_privilege = False
    runs_privileged = False
    hosts_address_for_guest = OURS
    guests_address_for_host = GUESTS
    machine, first_devices, parameters = "pc", (), ""
    driver = "uio_pci_generic"

    def __init__(self, stage, folder):
        self._stage = stage
        self._folder = folder
        self.nic_guest = None

    def guest_options(self):
        return {
            "prefix": self._stage.drop_privilege([]),
            "network": [
                *self._cable("wire", "server=on"), "-device", wires.network_card("wire", wires.GUESTS["mac"]),
                *self._cable("side", "server=on"), "-device", "virtio-net-pci,netdev=side,romfile=",
            ],
        }  # fmt: skip

    def _cable(self, name, side):
        return ["-netdev", f"stream,id={name},{side},addr.type=unix,addr.path={self._folder}/{name}.sock"]

    def boot(self, kernel):
        """The other guest is there already: soon its ends of the cables are."""
        folder = self._stage.folder()
        programs = [self._stage.program("interop_peer")]
        initramfs = image.build_initramfs(
            folder / "initramfs", kernel, programs, image.CARD_MODULES, self._stage.root
        )
        network = [
            *self._cable("wire", "server=off"), "-device", f"{self.card},netdev=wire,mac={wires.OURS['mac']},addr={SLOT:#x},romfile=",
            *self._cable("side", "server=off"), "-device", "virtio-net-pci,netdev=side,romfile=",
        ]  # fmt: skip
        self.nic_guest = Guest(
            kernel, initramfs, folder, network, self._stage.drop_privilege([]), machine=self.machine, memory_mb=MEMORY_MB,
            parameters=self.parameters, first_devices=self.first_devices,
        )  # fmt: skip
        wait_until(
            lambda: all((self._folder / f"{name}.sock").exists() for name in ("wire", "side")), START_TIMEOUT
        )
        self.nic_guest.start()
        self.nic_guest.wait_until_up()

    def companion(self):
        return None

    def set_up_guest(self, guest):
        guest.must(wires.addresses("eth0"))
        guest.must(f"ip link set eth1 up && ip address add {GUESTS}/24 dev eth1")
        self.nic_guest.must(
            "\n".join(
                [
                    "set -e",
                    "ip link set lo up",
                    # Without any address the C library takes IPv6 for missing.
                    "ip address add fd80::1/128 dev lo",
                    f"mkdir -m 700 /tmp/user /tmp/root && chown {USER}:{USER} /tmp/user",
                    f"mkdir -m 777 {RECORDINGS}",
                ]
            )
        )
        self.check_refusals()
        self.nic_guest.must(self._bind())
        # What is left is the card of the second cable.
        self.nic_guest.must(
            f"cd /sys/class/net; device=$(ls | grep -v lo); ip link set $device up; ip address add {OURS}/24 dev $device"
        )
        self.prepare()

    def _bind(self):
        device = f"/sys/bus/pci/devices/{ADDRESS}"
        return "\n".join(
            [
                "set -e",
                f"[ ! -e {device}/driver ] || echo {ADDRESS} >{device}/driver/unbind",
                f"echo {self.driver} >{device}/driver_override",
                f"echo {ADDRESS} >/sys/bus/pci/drivers_probe",
                f"readlink {device}/driver | grep -q /{self.driver}$",
            ]
        )

    def check_refusals(self):
        """What `urnic run` says of a card that is not bound yet, and of one that is not there."""
        self.expect_refusal(ADDRESS, "vfio-pci")
        self.expect_refusal("0000:00:1e.7", "there is none")

    def expect_refusal(self, address, words, **limits):
        nic = f"--ip {wires.OURS['ipv4']}/24 --port pci:{address}"
        code, said = self.nic_guest.run(f"{self._start(**limits)} /opt/urnic/bin/urnic run {nic} -- true")
        if code != 1 or words not in said or len(said.splitlines()) != 1:
            raise wires.WireError(f"a refusal with {words!r} was expected, and the code is {code}: {said}")

    def prepare(self):
        """What the driver of the card wants."""
        self.expect_refusal(ADDRESS, "huge pages")
        self.nic_guest.must(f"echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages")

    def _start(self):
        """The words in front of `urnic run`."""
        return "env HOME=/tmp XDG_RUNTIME_DIR=/tmp/root"

    def nic_options(self):
        return ["--port", f"pci:{ADDRESS}", "--mac", wires.OURS["mac"]]

    def begin(self, nic, program, seconds):
        """Starts a program of ours there."""
        addresses = ["--ip", f"{wires.OURS['ipv4']}/24", "--ip6", f"{wires.OURS['ipv6']}/64"]
        words = [
            "/opt/urnic/bin/urnic",
            "run",
            *addresses,
            *self.nic_options(),
            *map(str, nic),
            "--",
            *program,
        ]
        return self.nic_guest.begin(f"{self._start()} {shlex.join(words)}", seconds)

    def recording_place(self, _folder):
        return pathlib.PurePosixPath(RECORDINGS)

    def recordings(self, folder):
        names = self.nic_guest.must(f"ls {RECORDINGS}").split()
        for name in names:
            (folder / name).write_bytes(self.nic_guest.read_file(f"{RECORDINGS}/{name}"))
        self.nic_guest.must(f"rm -f {RECORDINGS}/*")
        return [folder / name for name in sorted(names)]

    def introduce_us(self, guest, is_lasting):
        guest.must(wires.neighbors("eth0", is_lasting))

    def open_port(self, guest, port):
        """The guests see each other."""

    def await_link(self, guest):
        """The cable is always there."""

    def close(self):
        if self.nic_guest is not None:
            self.nic_guest.close()


class E1000eWire(PciWire):
    name = "pci-e1000e"
    card = "e1000e"


class VirtioWire(PciWire):
    name = "pci-virtio"
    card = f"virtio-net-pci,host_mtu={wires.LARGEST_MTU}"


class VfioWire(PciWire):
    """With QEMU's emulated IOMMU, as a user without any privilege."""

    name = "pci-vfio"
    card = "e1000e"
    driver = "vfio-pci"
    machine, first_devices, parameters = "q35", ("-device", "intel-iommu,intremap=on"), "intel_iommu=on"

    def prepare(self):
        self.expect_refusal(ADDRESS, "may not open /dev/vfio/")
        self.nic_guest.must(f"chown {USER} $(ls /dev/vfio/[0-9]*)")
        self.expect_refusal(ADDRESS, "may lock 8192 KiB", locked=8192)
        # QEMU's e1000e drops a frame to send if it cannot map the frame's buffer in one piece
        # (net_tx_pkt_add_raw_fragment), for instance if the IOMMU maps the buffer's pages to separate pages.
        # A real card reads piece by piece.
        self.nic_guest.must("echo always >/sys/kernel/mm/transparent_hugepage/shmem_enabled")

    def _start(self, locked=LOCKED_MEMORY):
        # With its path, or busybox would take its own.
        return f"ulimit -l {locked}; env HOME=/tmp/user XDG_RUNTIME_DIR=/tmp/user /usr/bin/setpriv --reuid {USER} --regid {USER} --clear-groups"


PCI_WIRES = (E1000eWire, VirtioWire, VfioWire)
