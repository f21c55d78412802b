# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The bench's end of a wire to urnic, `--port bench:PATH`, for cocotb and for simulators in Python.

    import urnic.lock_step as lock_step

    with lock_step.listen("/tmp/bench.sock") as listener:
        peer = lock_step.accept(listener, latency_ps=1_000_000)
    while True:
        peer.advance(time_ps)               # waits until urnic has granted that time
        for frame in peer.frames(): ...     # that have arrived by now
        peer.send(frame)                    # arrives one latency from now
        time_ps += period_ps

BENCH.md, below share/doc/urnic, has the protocol, and says when each side may go on. This module stands
alone: a bench may copy it. All times are in picoseconds from the beginning of the connection.
"""
from __future__ import annotations

import collections
import select
import socket
import struct
from typing import Deque, Iterator, List, NamedTuple, Optional, Tuple

VERSION = 1
_HELLO, _GRANT, _FRAME = 1, 2, 3
_HEADER = struct.Struct("<IIQ")  # kind, length, time; of a hello: kind, version, latency
_STATION = struct.Struct("<6sH4s4x")  # MAC, MTU, IPv4 address
_MOST_BYTES = _HEADER.size + 14 + 65535


class LinkLost(Exception):
    """urnic has closed the connection, or broke the rules of the protocol."""


class Station(NamedTuple):
    """What a side says of itself in its hello."""

    mac: bytes
    mtu: int
    ipv4: bytes


BENCH = Station(mac=bytes((2, 0, 10, 77, 0, 2)), mtu=4200, ipv4=bytes((10, 77, 0, 2)))


_ARP_REQUEST = bytes.fromhex("08060001080006040001")  # from the EtherType on: who has an IPv4 address?


def answer_arp(frame: bytes, own: Station = BENCH) -> Optional[bytes]:
    """For a device that knows no ARP: the answer to a request for the address of `own`, with its MAC. None:
    the frame is no such request."""
    if frame[12:22] != _ARP_REQUEST or frame[38:42] != own.ipv4:
        return None
    answer = frame[6:12] + own.mac + _ARP_REQUEST[:-1] + b"\x02" + own.mac + own.ipv4 + frame[22:32]
    return answer.ljust(60, b"\0")


def listen(path: str) -> socket.socket:
    """A socket at which urnic can connect. A bench has one NIC at a time."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(1)
    return listener


def accept(listener: socket.socket, latency_ps: int, own: Station = BENCH) -> Peer:
    """Waits for an urnic, and for its hello."""
    return Peer(listener.accept()[0], latency_ps, own)


class Peer:
    """An urnic that has connected to `connection`."""

    def __init__(self, connection: socket.socket, latency_ps: int, own: Station = BENCH) -> None:
        self.latency_ps = latency_ps
        self.now_ps = 0
        self.granted_ps = latency_ps  # what urnic has still to send arrives then or later
        self._told_ps = latency_ps
        self._arriving: Deque[Tuple[int, bytes]] = collections.deque()
        self._socket = connection
        connection.send(_HEADER.pack(_HELLO, VERSION, latency_ps) + _STATION.pack(*own))
        self.nic = self._read_hello()
        connection.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Time ---

    def advance(self, time_ps: int) -> None:
        """The bench is at that time now, which is not before its last one. Waits until urnic has granted
        it."""
        while self.granted_ps <= time_ps:
            if self._read():
                continue
            self._grant()
            self._wait(select.POLLIN)
        self.now_ps = time_ps
        # Not for each cycle, but early enough that urnic need not wait.
        if time_ps + self.latency_ps >= self._told_ps + self.latency_ps // 4:
            self._grant()

    def idle(self, patience: Optional[float] = None) -> bool:
        """For a bench in which nothing happens, until a frame arrives: goes where urnic is, or where a frame
        arrives that is on its way, and no further. So time stands still while neither side has anything to
        do. False: no frame has arrived, within so many seconds of real time."""
        has_waited = False
        while True:
            has_read = self._read()
            target_ps = self.granted_ps - self.latency_ps
            if self._arriving:
                target_ps = min(self._arriving[0][0], self.now_ps + self.latency_ps - 1000)
            may_go = self.now_ps < target_ps < self.granted_ps
            if may_go:
                self.now_ps = target_ps
            self._grant()
            if self._arriving and self._arriving[0][0] <= self.now_ps:
                return True
            if may_go or has_read:
                continue
            if has_waited:
                return False
            has_waited = patience is not None
            self._wait(select.POLLIN, patience)

    # --- Frames ---

    def frames(self) -> Iterator[bytes]:
        """What has arrived by now, and was not taken yet: from the destination MAC on, without a frame check
        sequence."""
        while self._arriving and self._arriving[0][0] <= self.now_ps:
            yield self._arriving.popleft()[1]

    def send(self, frame: bytes) -> None:
        """It arrives one latency from now."""
        self._send(_HEADER.pack(_FRAME, len(frame), self.now_ps + self.latency_ps) + frame)

    # --- Inside ---

    def _read_hello(self) -> Station:
        message = self._socket.recv(_MOST_BYTES)
        if len(message) < 8:
            raise LinkLost("urnic says no hello")
        kind, version = struct.unpack_from("<II", message)
        if kind != _HELLO or version != VERSION:
            raise LinkLost(f"the first message of urnic is of kind {kind}, version {version}")
        if len(message) != _HEADER.size + _STATION.size:
            raise LinkLost(f"the hello of urnic has {len(message)} bytes")
        return Station(*_STATION.unpack_from(message, _HEADER.size))

    def _read(self) -> bool:
        """Takes all that has come; whether anything has."""
        has_read = False
        while True:
            try:
                message = self._socket.recv(_MOST_BYTES)
            except BlockingIOError:
                return has_read
            except OSError as error:
                raise LinkLost(f"urnic has closed the connection: {error}") from error
            if not message:
                raise LinkLost("urnic has closed the connection")
            self._take(message)
            has_read = True

    def _take(self, message: bytes) -> None:
        if len(message) < _HEADER.size:
            raise LinkLost(f"a message has {len(message)} bytes")
        kind, length, time_ps = _HEADER.unpack_from(message)
        frame = message[_HEADER.size :]
        if kind not in (_GRANT, _FRAME) or length != len(frame) or (kind == _GRANT) != (not frame):
            raise LinkLost(f"a message of kind {kind} with {len(frame)} bytes is neither grant nor frame")
        if time_ps < self.granted_ps:
            raise LinkLost(f"a time of {time_ps} ps lies before the {self.granted_ps} ps that were granted")
        self.granted_ps = time_ps
        if kind == _FRAME:
            self._arriving.append((time_ps, frame))

    def _grant(self) -> None:
        grant_ps = self.now_ps + self.latency_ps
        if grant_ps > self._told_ps:
            self._send(_HEADER.pack(_GRANT, 0, grant_ps))
            self._told_ps = grant_ps

    def _send(self, message: bytes) -> None:
        while True:
            try:
                self._socket.send(message)
                return
            except BlockingIOError:
                # urnic may wait for room itself.
                self._wait(select.POLLIN | select.POLLOUT)
                self._read()
            except OSError as error:
                raise LinkLost(f"urnic has closed the connection: {error}") from error

    def _wait(self, events: int, patience: Optional[float] = None) -> None:
        poll = select.poll()
        poll.register(self._socket, events)
        poll.poll(None if patience is None else 1000 * patience)


class Relay:
    """Joins two NICs: what one sends, the other gets."""

    def __init__(self, latency_ps: int) -> None:
        self.frames: Tuple[list, list] = ([], [])  # (time at which it arrives, frame) from either NIC
        self._latency_ps = latency_ps
        self._ends: List[socket.socket] = []

    def accept(self, listener: socket.socket) -> None:
        """Waits for the next one, and for its hello."""
        end = listener.accept()[0]
        end.send(_HEADER.pack(_HELLO, VERSION, self._latency_ps) + _STATION.pack(*BENCH))
        end.recv(_MOST_BYTES)
        self._ends.append(end)

    def close(self) -> None:
        for end in self._ends:
            end.close()

    def run(self) -> None:
        """After two have come, until one of them has closed its connection."""
        poll = select.poll()
        for end in self._ends:
            poll.register(end, select.POLLIN)
        while True:
            for ready, _ in poll.poll():
                side = 0 if ready == self._ends[0].fileno() else 1
                try:
                    message = self._ends[side].recv(_MOST_BYTES)
                    if not message:
                        return
                    self._ends[1 - side].send(message)
                except OSError:
                    return
                kind, _, time_ps = _HEADER.unpack_from(message)
                if kind == _FRAME:
                    self.frames[side].append((time_ps, message[_HEADER.size :]))
