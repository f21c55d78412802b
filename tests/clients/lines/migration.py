# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""QEMU's live migration of virtual machines: RAM by RDMA WRITE, everything else by SEND, over a connection by
rdma_cm."""
import array
import json
import os
import socket
import struct

import harness
from cm_pair import NICS, SERVER, CmPairTest
from harness import wait_until

QEMU = "qemu-system-x86_64"
URI = f"rdma:{SERVER}:4444"
MIB = 1 << 20
PAGE = 4096
RAM = 128 * MIB
# What the guest has in its RAM: words that it writes once, and words a step apart that all count together.
# They are few, so that a migration comes to an end over a slow wire, too: what is left must go in 300 ms.
STILL, STILL_END = 16 * MIB, 48 * MIB
BUSY, BUSY_END = 64 * MIB, 64 * MIB + MIB // 4
STEP = 64
FACTOR = 0x9E3779B1
CODE = 0x100000

LONG_ENOUGH = 120


def guest():
    """A program that a PC starts as it does a multiboot kernel, in 32-bit mode and without interrupts. It
    tells its console each count, as four bytes, when all busy words have reached it.

    Each INVLPG is for QEMU before 9.0: its TCG forgets to watch pages again that it has told the migration
    of, and what is written to them later is lost, over TCP as well (QEMU's commit 03bfc2188f, "physmem:
    Fix migration dirty bitmap coherency with TCG memory access")."""
    word = lambda value: struct.pack("<I", value)
    code = b"".join([
        b"\xbf", word(STILL),             # mov $STILL, %edi
        b"\x69\xc7", word(FACTOR),        # fill: imul $FACTOR, %edi, %eax
        b"\x89\x07",                      # mov %eax, (%edi)
        b"\x83\xc7\x04",                  # add $4, %edi
        b"\x81\xff", word(STILL_END),     # cmp $STILL_END, %edi
        b"\x72\xed",                      # jb fill
        b"\x31\xdb",                      # xor %ebx, %ebx
        b"\x43",                          # count: inc %ebx
        b"\xbf", word(BUSY),              # mov $BUSY, %edi
        b"\xff\x07",                      # sweep: incl (%edi)
        b"\x0f\x01\x3f",                  # invlpg (%edi)
        b"\x83\xc7", bytes([STEP]),       # add $STEP, %edi
        b"\x81\xff", word(BUSY_END),      # cmp $BUSY_END, %edi
        b"\x72\xf0",                      # jb sweep
        b"\x89\xd8",                      # mov %ebx, %eax
        b"\xb9", word(4),                 # mov $4, %ecx
        b"\xe6\xe9",                      # tell: out %al, $0xe9
        b"\xc1\xc8\x08",                  # ror $8, %eax
        b"\xe2\xf9",                      # loop tell
        b"\xeb\xda",                      # jmp count
    ])  # fmt: skip
    # Multiboot specification 0.6.96, 3.1.2 and 3.1.3: magic, flags (bit 16: addresses follow), a checksum;
    # the addresses of the header and of the file; no end of the file (load all of it) and no zeroes after it;
    # the address to start at.
    magic, flags = 0x1BADB002, 1 << 16
    header = struct.pack("<8I", magic, flags, -(magic + flags) & 0xFFFFFFFF, CODE, CODE, 0, 0, CODE + 32)
    return header + code


def still_words():
    """What the guest writes once."""
    return array.array("I", (address * FACTOR & 0xFFFFFFFF for address in range(STILL, STILL_END, 4)))


class Machine:
    """A virtual machine that runs the guest, and QMP to speak to its QEMU."""

    def __init__(self, test, name, nic, *options):
        self.name, self._test, self._folder = name, test, test.runtime
        words = [
            QEMU,
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-accel",
            "tcg",
            "-m",
            f"{RAM // MIB}",
            "-kernel",
            "guest",
        ]
        words += [
            "-debugcon",
            f"file:{name}.console",
            "-qmp",
            f"unix:{name}.qmp,server=on,wait=off",
            *options,
        ]
        self.process = test.start(name, words, nic)
        self._qmp = socket.socket(socket.AF_UNIX)
        self._qmp.settimeout(LONG_ENOUGH)
        test.addCleanup(self._qmp.close)
        if not wait_until(self._is_reached, harness.START_TIMEOUT, 0.05):
            test.fail_with(f"{name} has no QMP")
        self._answers = self._qmp.makefile()
        test.addCleanup(self._answers.close)
        self._answers.readline()  # the greeting
        self.ask("qmp_capabilities")

    def _is_reached(self):
        return self._qmp.connect_ex(str(self._folder / f"{self.name}.qmp")) == 0

    def answer(self, command, arguments):
        """What QEMU says to it: under "return", or under "error"."""
        self._qmp.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        for line in self._answers:
            answer = json.loads(line)
            if "return" in answer or "error" in answer:
                return answer
        self._test.fail_with(f"{self.name} ends before it answers {command}")

    def ask(self, command, **arguments):
        """What QEMU returns."""
        answer = self.answer(command, arguments)
        if "error" in answer:
            self._test.fail_with(f"{self.name} refuses {command}: {answer['error']['desc']}")
        return answer["return"]

    def console(self):
        """What the guest told here, as bytes."""
        return (self._folder / f"{self.name}.console").read_bytes()

    def ram(self):
        """All of it, as bytes."""
        file = self._folder / f"{self.name}.ram"
        self.ask("pmemsave", val=0, size=RAM, filename=file.name)
        contents = file.read_bytes()
        file.unlink()
        return contents

    def counts(self):
        return len(self.console()) // 4

    def wait_for_counts(self, more):
        """Until the guest has told so many more."""
        enough = self.counts() + more
        if not wait_until(lambda: self.counts() >= enough, LONG_ENOUGH, 0.05):
            self._test.fail_with(f"the guest in {self.name} does not count on")

    def migration(self):
        return self.ask("query-migrate")

    def wait_for_migration(self):
        """How it ends."""
        ends = ("completed", "failed", "cancelled")
        if not wait_until(lambda: self.migration()["status"] in ends, LONG_ENOUGH, 0.1):
            self._test.fail_with(f"a migration without end: {self.migration()}")
        return self.migration()["status"]

    def end(self):
        self.ask("quit")
        self._test.expect_end(self.process, 30)


class Migration(CmPairTest):
    PACKAGES = "ladder"

    def start_source(self, nic=NICS[1]):
        self.require(QEMU)
        (self.runtime / "guest").write_bytes(guest())
        os.chmod(self.runtime / "guest", 0o644)
        source = Machine(self, "source", nic)
        source.wait_for_counts(20)
        return source

    def start_destination(self, nic=NICS[0]):
        """It does not start the guest that comes by itself, so that there is time to compare."""
        destination = Machine(self, "destination", nic, "-S", "-incoming", URI)
        self.wait_for_cm_listener(destination.process)
        return destination

    def move(self, source, destination):
        """The RAM arrives byte by byte, and the guest goes on where it was: no count is left out, none is
        told twice."""
        before = source.counts()
        source.ask("migrate", uri=URI)
        if source.wait_for_migration() != "completed":
            self.fail_with(f"the migration ends so: {source.migration()}")
        if not wait_until(lambda: destination.ask("query-status")["status"] == "paused", LONG_ENOUGH, 0.05):
            self.fail_with("the guest does not arrive")
        self.assertGreater(source.counts(), before, "the guest stood still meanwhile")
        for machine in (source, destination):
            self.assertIn("RDMA Device opened: kernel name urnic0", machine.process.output())
        here, there = source.ram(), destination.ram()
        different = [hex(at) for at in range(0, RAM, PAGE) if here[at : at + PAGE] != there[at : at + PAGE]]
        self.assertEqual(different, [], "these pages are not the source's")
        self.assertTrue(
            there[STILL:STILL_END] == still_words().tobytes(), "what the guest wrote once is lost"
        )

        destination.ask("cont")
        destination.wait_for_counts(20)
        destination.ask("stop")
        told = source.console() + destination.console()
        counts = array.array("I", told[: len(told) // 4 * 4])
        self.assertTrue(
            counts == array.array("I", range(1, len(counts) + 1)), "the guest does not count on where it was"
        )
        # It stopped somewhere on its way through the busy words.
        busy = list(array.array("I", destination.ram()[BUSY:BUSY_END])[:: STEP // 4])
        self.assertEqual(busy, sorted(busy, reverse=True))
        self.assertLessEqual(busy[0] - busy[-1], 1)
        self.assertIn(busy[0] - len(counts), (0, 1))
        source.end()
        destination.end()

    def start_slowly(self, source):
        """A migration that is under way for long."""
        source.ask("migrate-set-parameters", **{"max-bandwidth": 4 * MIB})
        source.ask("migrate", uri=URI)
        if not wait_until(lambda: source.migration().get("ram", {}).get("normal", 0) > 0, LONG_ENOUGH, 0.05):
            self.fail_with(f"a migration under way expected: {source.migration()}")

    def move_after_all(self, source):
        """The guest has gone on, and moves to another destination."""
        source.wait_for_counts(20)
        source.ask("migrate-set-parameters", **{"max-bandwidth": 128 * MIB})
        self.move(source, self.start_destination())

    def test_a_guest_that_writes(self):
        """The destination registers each MiB of RAM when the source asks for it."""
        self.move(self.start_source(), self.start_destination())

    def test_with_all_ram_registered_at_the_start(self):
        """Both sides register their RAM as a whole, as the source wishes."""
        source, destination = self.start_source(), self.start_destination()
        source.ask("migrate-set-capabilities", capabilities=[{"capability": "rdma-pin-all", "state": True}])
        self.move(source, destination)

    def test_over_a_wire_that_loses_and_reorders(self):
        """What is sent again may be newer than what was lost, as the guest goes on writing."""
        faults = ["--fault", "loss=0.001,reorder=0.002"]
        self.move(self.start_source([*NICS[1], *faults]), self.start_destination([*NICS[0], *faults]))

    def test_a_destination_that_comes_later(self):
        """The source is told that no host has the address, or that its host has no listener, and finds it as
        soon as it is there."""
        source = self.start_source()
        refusal = "connecting to destination" if harness.is_host_shared() else "RDMA_CM_EVENT_ADDR_ERROR"
        self.assertIn(refusal, source.answer("migrate", {"uri": URI})["error"]["desc"])
        self.move_after_all(source)

    def test_a_migration_that_is_cancelled(self):
        """The destination is told and ends. The guest stays where it is, until it moves to another
        destination."""
        source, destination = self.start_source(), self.start_destination()
        self.start_slowly(source)
        source.ask("migrate_cancel")
        self.assertEqual(source.wait_for_migration(), "cancelled")
        self.expect_end(destination.process, 30, code=1)
        self.move_after_all(source)

    def test_a_destination_that_is_killed(self):
        """The source hears that the connection has ended, and the guest stays where it is until it moves to
        another."""
        source, destination = self.start_source(), self.start_destination()
        self.start_slowly(source)
        destination.process.kill()
        self.assertEqual(source.wait_for_migration(), "failed")
        # RDMA_CM_EVENT_DISCONNECTED: as a kernel does, the switch sends the DREQ that the killed process
        # cannot.
        self.assertIn("cm event is 10", source.process.output())
        self.move_after_all(source)
