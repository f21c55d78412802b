# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A test bench in cocotb: roce_responder.sv at the end of `--port bench:PATH`, and as perftest's server.

The folder BENCH_FOLDER has the socket, bench.sock; the TCP port at which perftest's client finds its server
is in the file `port` there. It serves one urnic, and writes to the file `end` how many frames the device
dropped and how many requests it refused.
"""
import os
import pathlib
import queue
import sys
import threading

import cocotb
from cocotb.triggers import Timer

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [
    str(PROJECT / folder) for folder in ("tests/clients", "tests/rtl", "tools/deployment/python/urnic")
]

import lock_step  # noqa: E402
from device_agent import ADDRESS, MEMORY_BYTES, OWN_QP, RKEY  # noqa: E402
from perftest_end import PerftestEnd  # noqa: E402

FOLDER = pathlib.Path(os.environ["BENCH_FOLDER"])
PERIOD_PS = 2_000
PATH_MTU = 1024
LATENCY_PS = 1_000_000
PATIENCE = 0.002  # seconds, until it looks for a new connection


class Connections:
    """What perftest's client says of its queue pair, until the device has been told."""

    def __init__(self):
        self._wanted = queue.Queue()

    def ask(self, peer_qp, psn):
        """In the thread that speaks to perftest's client."""
        is_made = threading.Event()
        self._wanted.put((peer_qp, psn, is_made))
        is_made.wait()

    async def make(self, device):
        while not self._wanted.empty():
            peer_qp, psn, is_made = self._wanted.get()
            await device.connect(peer_qp, psn)
            is_made.set()


class Device:
    def __init__(self, dut):
        self.dut = dut
        self._input = []  # bytes, and whether each is the last one of its frame
        self._output = bytearray()
        for name in ("connect", "in_valid", "in_last", "in_data"):
            getattr(dut, name).value = 0

    async def begin(self):
        self.dut.reset.value = 1
        await self._cycle()
        self.dut.reset.value = 0
        await self._cycle()

    @property
    def is_idle(self):
        return not self._input and bool(self.dut.is_idle.value)

    async def connect(self, peer_qp, psn):
        dut = self.dut
        dut.own_qp.value, dut.rkey.value, dut.address.value = OWN_QP, RKEY, ADDRESS
        dut.bytes.value, dut.path_mtu.value = MEMORY_BYTES, PATH_MTU
        dut.peer_qp.value, dut.first_psn.value = peer_qp, psn
        dut.connect.value = 1
        await self._cycle()
        dut.connect.value = 0

    def give(self, frame):
        self._input += [(byte, False) for byte in frame[:-1]] + [(frame[-1], True)]

    async def step(self):
        """A cycle, in which a byte may go in, and one may come out. Returns the frame that is whole then."""
        dut = self.dut
        may_feed = bool(self._input) and bool(dut.in_ready.value)
        dut.in_valid.value = may_feed
        if may_feed:
            byte, is_last = self._input.pop(0)
            dut.in_data.value, dut.in_last.value = byte, is_last
        if dut.out_valid.value:
            self._output.append(int(dut.out_data.value))
        is_whole = bool(dut.out_last.value)
        await self._cycle()
        if not is_whole:
            return None
        frame, self._output = bytes(self._output), bytearray()
        return frame

    async def _cycle(self):
        for level in (0, 1):
            self.dut.clock.value = level
            await Timer(PERIOD_PS // 2, "ps")


def take_frames(peer, device):
    for frame in peer.frames():
        answer = lock_step.answer_arp(frame)
        if answer is None:
            device.give(frame)
        else:
            peer.send(answer)


async def serve(peer, device, connections):
    while True:
        if device.is_idle:
            await connections.make(device)
            peer.idle(PATIENCE)
            take_frames(peer, device)
            if device.is_idle:
                continue
        peer.advance(peer.now_ps + PERIOD_PS)
        take_frames(peer, device)
        frame = await device.step()
        if frame is not None:
            peer.send(frame)


@cocotb.test()
async def serves_perftest(dut):
    device, connections = Device(dut), Connections()
    await device.begin()
    server = PerftestEnd(OWN_QP, RKEY, ADDRESS, "10.77.0.2", connections.ask)
    with lock_step.listen(str(FOLDER / "bench.sock")) as listener:
        os.chmod(FOLDER / "bench.sock", 0o777)  # the program may be another user's
        (FOLDER / "port").write_text(str(server.port))
        peer = lock_step.accept(listener, LATENCY_PS)
    try:
        await serve(peer, device, connections)
    except lock_step.LinkLost:
        pass
    server.close()
    (FOLDER / "end").write_text(f"{int(dut.dropped.value)} {int(dut.refused.value)}")
