# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""iSER: tgt's target, with a file for a disk, and initiators of libiscsi, alone and inside QEMU's programs.
"""
import filecmp
import os
import pathlib
import signal

import harness
from cm_pair import NICS, SERVER, CmPairTest
from harness import wait_until

TGTD = "/usr/sbin/tgtd"  # no ordinary user's PATH leads there
TGTADM = "/usr/sbin/tgtadm"
PORT = 3260  # of the NIC
NICS_OF_OTHERS = (["--ip", "10.99.0.10/24"], ["--ip", "10.99.0.11/24"])
TARGET = "iqn.2001-04.com.example:disk"
INITIATOR = "iqn.2001-04.com.example:initiator"
QEMU = "iqn.2008-11.org.linux-kvm"  # what QEMU's programs call themselves where their words say nothing else
URL = f"iser://{SERVER}:{PORT}/{TARGET}/1"
MEGABYTE = 2**20

# libiscsi before 1.20 has buffers of 256 KiB for iSER, and refuses what is larger (DATA_BUFFER_SIZE in its
# include/iser-private.h). qemu-img asks for 2 MiB where the target does not say how much it takes at most,
# and tgt does not. QEMU's driver for faulty disks, blkdebug, divides requests.
LIBISCSI_BUFFER = 256 * 1024


def disk(address=SERVER):
    """The target's disk, in the words of QEMU."""
    disk_options = {
        "driver": "iser",
        "transport": "iser",
        "portal": f"{address}:{PORT}",
        "target": TARGET,
        "lun": 1,
        "initiator-name": INITIATOR,
    }
    words = ["driver=raw", "file.driver=blkdebug", f"file.max-transfer={LIBISCSI_BUFFER}"]
    return ",".join([*words, *(f"file.image.{name}={value}" for name, value in disk_options.items())])


class Iser(CmPairTest):
    PACKAGES = "ladder"

    def require_qemu(self, program):
        self.require(program)
        if not any(pathlib.Path("/usr/lib").glob("*/qemu/block-iscsi.so")):
            self.skipTest("QEMU's driver for iSCSI is not installed (tools/install-packages ladder)")

    def administer(self, *words):
        command = self.start_plain("tgtadm", [TGTADM, "--lld", "iser", *words], self.tgt_environment)
        self.expect_end(command, 20)

    def start_target(self, megabytes):
        """A target whose only disk is a file of zeros. Before 1.0.95, tgt takes an initiator over RDMA
        only if its address and its name are both allowed, and ALL is a word for addresses only
        (iser_login_start in its usr/iscsi/iser_text.c)."""
        self.require(TGTD, TGTADM)
        self.store = self.runtime / "store"
        self.store.touch()
        self.store.chmod(0o666)
        os.truncate(self.store, megabytes * MEGABYTE)
        self.tgt_environment = {"TGT_IPC_SOCKET": str(self.runtime / "tgtd")}
        # Without a portal, tgtd would listen on all the host's addresses as well.
        words = [TGTD, "-f", "--iscsi", f"portal=127.0.0.1:{harness.free_port()}", "--iser", "pool_sz_mb=128"]
        self.target = self.start("target", words, NICS[0], self.tgt_environment)
        self.wait_for_cm_listener(self.target)
        self.administer("--mode", "target", "--op", "new", "--tid", "1", "--targetname", TARGET)
        self.administer(
            "--mode", "logicalunit", "--op", "new", "--tid", "1", "--lun", "1", "--backing-store", self.store
        )
        self.administer("--mode", "target", "--op", "bind", "--tid", "1", "--initiator-address", "ALL")
        for name in (INITIATOR, QEMU):
            self.administer("--mode", "target", "--op", "bind", "--tid", "1", "--initiator-name", name)

    def make_source(self, megabytes):
        """A file of random bytes."""
        self.source = self.runtime / "source"
        with self.source.open("wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(MEGABYTE))
        self.source.chmod(0o644)

    def start_initiator(self, name, *words, nic=NICS[1]):
        self.require(words[0])
        return self.start(name, [str(word) for word in words], nic)

    def ask(self, *words, nic=NICS[1], timeout=60):
        """What an initiator says that ends with 0."""
        initiator = self.start_initiator("initiator", *words, nic=nic)
        self.expect_end(initiator, timeout)
        return initiator.output()

    def start_reader(self, name, nic):
        """Thirty-two reads at once, without end. With -t, iscsi-perf 1.19 misses its end if it gets no
        processor during its last second."""
        return self.start_initiator(name, "iscsi-perf", "-i", INITIATOR, "-m", 32, "-b", 128, URL, nic=nic)

    def expect_equal(self, *files):
        for file in files:
            if not filecmp.cmp(self.source, file, shallow=False):
                self.fail_with(f"{file.name} is another image than {self.source.name}")

    def carry_image(self, megabytes, address=SERVER, nic=NICS[1]):
        """Writes an image to the disk and reads it again."""
        self.require_qemu("qemu-img")
        self.start_target(megabytes)
        self.make_source(megabytes)
        copy = self.runtime / "copy"
        self.ask(
            "qemu-img",
            "convert",
            "-n",
            "--target-image-opts",
            "-f",
            "raw",
            self.source,
            disk(address),
            nic=nic,
        )
        self.expect_equal(self.store)
        self.ask("qemu-img", "convert", "--image-opts", "-O", "raw", disk(address), copy, nic=nic)
        self.expect_equal(self.store, copy)

    def test_image_by_qemu_img(self):
        """100 MiB written and read again are the same, at the target and at the initiator."""
        self.carry_image(100)

    def test_image_by_qemu_img_dd(self):
        """An image written and read in pieces of the size that libiscsi takes, by nothing else than the
        disk's URL."""
        self.require_qemu("qemu-img")
        self.start_target(16)
        self.make_source(16)
        copy = self.runtime / "copy"
        words = ["qemu-img", "dd", "-f", "raw", "-O", "raw", f"bs={LIBISCSI_BUFFER}"]
        self.ask(*words, f"if={self.source}", f"of={URL}")
        self.expect_equal(self.store)
        self.ask(*words, f"if={URL}", f"of={copy}")
        self.expect_equal(self.store, copy)

    def test_image_over_ipv6(self):
        """An image written and read by the IPv6 address of the target's NIC."""
        self.carry_image(16, address="[fd99::1]")

    def test_image_over_a_wire_that_loses_frames(self):
        """An image written and read by an initiator of whose frames one in a hundred is lost."""
        self.carry_image(16, nic=[*NICS[1], "--fault", "loss=0.01"])

    def test_requests_of_many_sizes_by_qemu_io(self):
        """From a sector to what libiscsi takes at most, gathered and scattered, each read as it was written."""
        self.require_qemu("qemu-io")
        self.start_target(4)
        requests = [
            "write -P 1 0 512",
            "write -P 2 512 3584",
            "write -P 3 4096 61440",
            "writev -P 4 65536 512 1024 4096 512",
        ]
        requests += [f"write -P 5 1048576 {LIBISCSI_BUFFER}", "write -P 6 2097152 1048576", "flush"]
        checks = [
            "read -P 1 0 512",
            "readv -P 2 512 512 1024 2048",
            "read -P 3 4096 61440",
            "read -P 4 65536 6144",
        ]
        checks += [
            "read -P 0 71680 976896",
            f"read -P 5 1048576 {LIBISCSI_BUFFER}",
            "read -P 6 2097152 1048576",
        ]
        commands = [word for request in [*requests, *checks] for word in ("-c", request)]
        said = self.ask("qemu-io", "--image-opts", disk(), *commands)
        self.assertNotIn("Pattern verification failed", said)
        self.assertEqual(said.count("ops;"), len(requests) + len(checks) - 1)

    def test_inquiry_by_libiscsi(self):
        """libiscsi's own programs learn which disk this is, and how large."""
        self.start_target(100)
        self.assertIn("Vendor:IET", self.ask("iscsi-inq", "-i", INITIATOR, URL))
        self.assertIn(f"Total size:{100 * MEGABYTE}", self.ask("iscsi-readcapacity16", "-i", INITIATOR, URL))

    def test_many_reads_at_once_by_iscsi_perf(self):
        """Thirty-two reads are under way for some seconds, until it is interrupted."""
        self.start_target(16)
        reader = self.start_reader("reader", NICS[1])
        if not wait_until(lambda: reader.output().count("in_flight 32") >= 2, 60, 0.1):
            self.fail_with("no progress")
        reader.popen.send_signal(signal.SIGINT)
        self.expect_end(reader, 60)
        self.assertIn("finished.", reader.output())

    def test_two_initiators_at_once(self):
        """Both read what one of them wrote before."""
        self.carry_image(16)
        copies = [self.runtime / name for name in ("left", "right")]
        readers = [
            self.start_initiator(
                copy.name, "qemu-img", "convert", "--image-opts", "-O", "raw", disk(), copy, nic=nic
            )
            for copy, nic in zip(copies, NICS_OF_OTHERS)
        ]
        for reader in readers:
            self.expect_end(reader, 60)
        self.expect_equal(*copies)

    def test_an_initiator_that_is_killed_leaves_the_target_to_others(self):
        """It dies in the midst of its reads, and the next one writes and reads as if nothing had been."""
        self.require_qemu("qemu-img")
        self.start_target(16)
        victim = self.start_reader("victim", NICS_OF_OTHERS[0])
        if not wait_until(lambda: "in_flight 32" in victim.output(), harness.START_TIMEOUT, 0.05):
            self.fail_with("the first initiator does not read")
        victim.kill()
        self.make_source(16)
        self.ask("qemu-img", "convert", "-n", "--target-image-opts", "-f", "raw", self.source, disk())
        self.expect_equal(self.store)
        self.assertTrue(self.target.is_running())

    def test_a_target_forgets_its_initiators_and_ends(self):
        """tgtd keeps a queue pair until rdma_cm says that it waits no longer for late packets, and does not
        end well before."""
        self.start_target(16)
        for _ in range(3):
            self.ask("iscsi-inq", "-i", INITIATOR, URL)
        if not wait_until(lambda: not self.queue_pair_states(), 60, 0.2):
            self.fail_with(f"queue pairs are left: {self.queue_pair_states()}")
        self.administer("--mode", "target", "--op", "delete", "--force", "--tid", "1")
        # It may end before it has answered.
        self.start_plain("tgtadm", [TGTADM, "--mode", "system", "--op", "delete"], self.tgt_environment)
        self.expect_end(self.target, 20)
