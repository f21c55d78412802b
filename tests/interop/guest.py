# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The guest: a small emulated machine with the kernel's rdma_rxe, and commands carried out in it.

Commands go over virtio-serial channels and not over the network that is tested. Several can run at once.
"""
import base64
import json
import os
import select
import socket
import subprocess
import time

CHANNELS = 4
MEMORY_MB = 512
BOOT_TIMEOUT = 120
# How much longer than the command itself its answer may take.
ANSWER_GRACE = 20


class GuestError(Exception):
    """The guest is not there any more, or does not answer."""


class Command:
    """A shell command in the guest."""

    def __init__(self, guest, channel, text, seconds):
        self.text = text
        self.code = None
        self._guest = guest
        self._channel = channel
        self._number = guest.next_number()
        self._output = b""
        self._received = b""
        encoded = base64.b64encode(text.encode()).decode()
        try:
            channel.sendall(f"{self._number} {seconds} {encoded}\n".encode())
        except OSError as error:
            raise GuestError(f"the guest ended: {error}\n{guest.console()}") from error

    def wait(self, timeout):
        """The exit code, or None when the time is over. Commands that ran too long for the guest end with 143
        or 137."""
        deadline = time.monotonic() + timeout
        while self.code is None:
            self._take()
            if self.code is not None:
                break
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if select.select([self._channel], [], [], min(left, 0.5))[0]:
                self._received += self._guest.receive(self._channel)
            elif not self._guest.is_running():
                raise GuestError(f"the guest ended\n{self._guest.console()}")
        return self.code

    def _take(self):
        header, newline, rest = self._received.partition(b"\n")
        if not newline:
            return
        number, code, size = map(int, header.split())
        if number != self._number:
            raise GuestError(f"the guest answered command {number} instead of {self._number}")
        if len(rest) >= size:
            self._output = rest[:size]
            self.code = code
            self._guest.release(self._channel)

    def is_running(self):
        return self.wait(0) is None

    def output(self):
        return self._output.decode(errors="replace")

    @property
    def guest(self):
        return self._guest

    @property
    def printed(self):
        """What the command printed, as bytes; valid when it has ended."""
        return self._output


class Guest:
    """Started by start(), gone after close(). `network` are QEMU's words for its network devices; `prefix`
    words stand before all of them, e.g. to enter a namespace or to become another user. `folder` takes
    sockets and the console's log. `parameters` are for the kernel; `first_devices` QEMU's words for what
    has to be there before all other devices."""

    def __init__(
        self,
        kernel,
        initramfs,
        folder,
        network,
        prefix=(),
        shared_memory=False,
        machine="pc",
        memory_mb=MEMORY_MB,
        parameters="",
        first_devices=(),
    ):
        self.folder = folder
        self._console = folder / "console.log"
        self._channels = []
        self._free = []
        self._number = 0
        self._control = None
        # One processor, and room for a second that never comes: else the emulator leaves out memory barriers,
        # the card's thread and the guest then see each other's rings late, and now and then the card does not
        # hear that there are packets to send.
        processors = ["-smp", "1,maxcpus=2"]
        memory = ["-m", str(memory_mb)]
        if shared_memory:
            memory += [
                "-object",
                f"memory-backend-memfd,id=ram,size={memory_mb}M,share=on",
                "-machine",
                "memory-backend=ram",
            ]
        # fmt: off
        self._command = [
            *prefix, "setpriv", "--pdeathsig=KILL",  # does not outlive us
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", machine, "-accel", "tcg", "-cpu", "max", *processors, *memory,
            "-kernel", str(kernel.vmlinux), "-initrd", str(initramfs),
            "-append", "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on " + parameters,
            "-serial", f"file:{self._console}", "-qmp", f"unix:{folder}/control,server=on,wait=off",
            *first_devices, "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
        ]
        # fmt: on
        for i in range(CHANNELS):
            self._command += ["-chardev", f"socket,id=channel{i},path={folder}/channel{i},server=on,wait=off"]
            self._command += ["-device", f"virtserialport,chardev=channel{i}"]
        self._command += network
        self._qemu = None

    def start(self):
        self._qemu = subprocess.Popen(
            [str(word) for word in self._command],
            stdin=subprocess.DEVNULL,
            stdout=open(self.folder / "qemu.log", "wb"),
            stderr=subprocess.STDOUT,
        )

    def wait_until_up(self):
        deadline = time.monotonic() + BOOT_TIMEOUT
        self._control = self._connect("control", deadline)
        self._lines = self._control.makefile("r")
        self._lines.readline()  # the greeting
        self.control("qmp_capabilities")
        self._channels = [self._connect(f"channel{i}", deadline) for i in range(CHANNELS)]
        self._free = list(self._channels)
        for command in [self.begin("true", 10) for _ in self._channels]:
            if command.wait(max(0, deadline - time.monotonic())) is None:
                raise GuestError(f"the guest does not answer\n{self.console()}")

    def _connect(self, name, deadline):
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self.folder / name))
                return connection
            except OSError:
                connection.close()
            if not self.is_running() or time.monotonic() > deadline:
                raise GuestError(f"the guest did not start\n{self.console()}")
            time.sleep(0.05)

    @property
    def pid(self):
        return self._qemu.pid

    def is_running(self):
        return self._qemu.poll() is None

    def console(self):
        logs = [self.folder / "qemu.log", self._console]
        state = "" if self._qemu.poll() is None else f"the emulator ended with {self._qemu.returncode}\n"
        return state + "".join(log.read_text(errors="replace")[-3000:] for log in logs if log.exists())

    def receive(self, channel):
        """What there is to read."""
        try:
            data = channel.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            time.sleep(0.2)
            raise GuestError(f"the guest went away\n{self.console()}")
        return data

    def next_number(self):
        self._number += 1
        return self._number

    def release(self, channel):
        self._free.append(channel)

    def begin(self, command, seconds):
        """Starts a shell command that is ended after so many seconds."""
        if not self._free:
            raise GuestError("all of the guest's channels are busy")
        return Command(self, self._free.pop(0), command, seconds)

    def run(self, command, seconds=20):
        """Carries a shell command out and returns its exit code and what it printed."""
        started = self.begin(command, seconds)
        if started.wait(seconds + ANSWER_GRACE) is None:
            raise GuestError(f"no answer to: {command}\n{self.console()}")
        return started.code, started.output()

    def read_file(self, path):
        """The bytes of a file there."""
        command = self.begin(f"cat {path}", 60)
        if command.wait(60 + ANSWER_GRACE) != 0:
            raise GuestError(f"{path} cannot be read in the guest: {command.output()}")
        return command.printed

    def must(self, command, seconds=20):
        code, output = self.run(command, seconds)
        if code != 0:
            raise GuestError(f"the guest ended with {code}: {command}\n{output}")
        return output

    def control(self, command, **arguments):
        """A command to the emulator itself, by its machine protocol (QMP)."""
        self._control.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            line = self._lines.readline()
            if not line:
                raise GuestError(f"the emulator went away\n{self.console()}")
            answer = json.loads(line)
            if "error" in answer:
                raise GuestError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def record(self, device, file):
        """Records every frame of a network device, as QEMU sees it, until stop_recording()."""
        self.control(
            "object-add",
            **{"qom-type": "filter-dump", "id": "recorder", "netdev": device, "file": os.fspath(file)},
        )

    def stop_recording(self):
        self.control("object-del", id="recorder")

    def close(self):
        for connection in [self._control, *self._channels]:
            if connection is not None:
                connection.close()
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
