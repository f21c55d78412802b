# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""An agent of `urnic conform` for a device that has no libibverbs: it speaks to the device's host instead.

The device is roce_responder.sv: one reliable connection, whose peer may write and read one region of memory.
It has no queues of requests and receives, no completions and no asynchronous events. What it does not have
this agent refuses, so that the cases which want it are UNKNOWN. PROTOCOL.md has the lines.
"""
import re
import socket
import threading

VERSION = 3
OWN_QP, RKEY, ADDRESS = 0x11, 0x1234, 0x10000
MEMORY_BYTES = 262144  # of the device
PIECE = 16384  # that one line writes
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND = 1, 2, 4, 8, 16  # of ibv_access_flags
REMOTE = REMOTE_WRITE | REMOTE_READ
# The device has neither atomics nor windows; a right to them changes nothing.
KNOWN = REMOTE | LOCAL_WRITE | REMOTE_ATOMIC | MW_BIND
# What the peer names when it asks for memory that it may not reach.
UNREACHABLE = {"address": 0x7F0000000000, "rkey": 0x99}


class Refusal(Exception):
    """Its text is what the reply says after `error`."""


def pattern(address, offset, length):
    """What `fill` writes."""
    places = range(address + offset, address + offset + length)
    return bytes((7 * a + 29 * (a >> 8) + 101 * (a >> 16)) & 0xFF for a in places)


class Region:
    """Memory of the device that its peer may reach, or bytes of this process that it may not."""

    def __init__(self, length, bench=None):
        self.length = length
        self._bench = bench
        self._bytes = bytearray(length)

    @property
    def is_reachable(self):
        return self._bench is not None

    def write(self, offset, data):
        if offset + len(data) > self.length:
            raise Refusal("the region ends before")
        if not self.is_reachable:
            self._bytes[offset : offset + len(data)] = data
            return
        for at in range(0, len(data), PIECE):
            self._bench.ask(f"poke {offset + at} {data[at:at + PIECE].hex()}")

    def read(self, offset, length):
        if offset + length > self.length:
            raise Refusal("the region ends before")
        if not self.is_reachable:
            return self._bytes[offset : offset + length].hex()
        return self._bench.ask(f"peek {offset} {length}")


class Client:
    """What one tester has made: a connection of the device, and regions."""

    def __init__(self, bench):
        self._bench = bench
        self._begin()

    def _begin(self):
        self._domains = 0
        self._regions = []
        self._peer_qp = None
        self._state = "RESET"

    def obey(self, line):
        """The reply."""
        name, *words = line.split(" ")
        command = getattr(self, "do_" + name.replace("-", "_"), None)
        try:
            if command is None:
                raise Refusal(f"this device has no {name}")
            return " ".join(["ok", *(str(word) for word in command(*words))])
        except Refusal as refusal:
            return f"error {refusal}"
        except (TypeError, ValueError) as error:
            return f"error {name}: {error}"

    def do_open(self, _device, _port, _gid):
        self._begin()
        gid = "00" * 10 + "ffff0a4d0002"
        return "device=roce_responder", "gid-index=0", "mtu=5", "reads=16", "atomics=0", f"gid={gid}"

    def do_pd(self):
        if self._domains:
            raise Refusal("this device has one protection domain")
        self._domains = 1
        return (0,)

    def do_mr(self, _domain, length, access):
        length, access = int(length), int(access)
        if access & ~KNOWN or access & REMOTE not in (0, REMOTE):
            raise Refusal("a peer of this device may write and read, or neither")
        if access & REMOTE and any(region.is_reachable for region in self._regions):
            raise Refusal("a peer of this device may reach one region")
        if length > MEMORY_BYTES:
            raise Refusal(f"this device has {MEMORY_BYTES} bytes of memory")
        place = {"address": ADDRESS, "rkey": RKEY} if access & REMOTE else UNREACHABLE
        self._regions.append(Region(length, self._bench if access & REMOTE else None))
        number = len(self._regions) - 1
        return number, f"address={place['address']}", f"lkey={number}", f"rkey={place['rkey']}"

    def do_fill(self, region, offset, length, address):
        offset = int(offset)
        self._regions[int(region)].write(offset, pattern(int(address), offset, int(length)))
        return ()

    def do_store(self, region, offset, data):
        self._regions[int(region)].write(int(offset), bytes.fromhex(data))
        return ()

    def do_mem(self, region, offset, length):
        return (self._regions[int(region)].read(int(offset), int(length)),)

    def do_qp(self, service, _domain, _depth):
        if service != "rc":
            raise Refusal("this device has reliable connections alone")
        return 0, f"qpn={OWN_QP}"

    def do_connect(self, _qp, peer_qp, _gid):
        self._peer_qp = int(peer_qp)
        return ()

    def do_modify(self, _qp, state, *named):
        numbers = {name: int(text, 0) for name, _, text in (word.partition("=") for word in named)}
        if numbers.get("access", REMOTE) & REMOTE != REMOTE or numbers.get("resources") == 0:
            raise Refusal("a peer of this device may write and read")
        if state == "RTR":
            reachable = [region for region in self._regions if region.is_reachable]
            length = reachable[0].length if reachable else 0
            words = (
                OWN_QP,
                self._peer_qp,
                numbers["receive-psn"],
                RKEY,
                ADDRESS,
                length,
                128 << numbers["mtu"],
            )
            self._bench.ask(" ".join(map(str, ("connect", *words))))
        elif state not in ("INIT", "RTS"):
            raise Refusal(f"this device has no state {state}")
        self._state = state
        return ()

    def do_query(self, _qp):
        is_connected, psn = self._bench.ask("query").split()
        state = self._state
        if state in ("RTR", "RTS") and is_connected == "0":
            state = "ERR"
        return f"state={state}", "send-psn=0", f"receive-psn={psn}"

    def do_poll(self, _qp, _queue, _patience):
        return ()

    def do_events(self):
        return ()

    def do_counters(self):
        return ()


class DeviceAgent:
    """Serves one tester after the other at a port of 127.0.0.1. `bench.ask(line)` is the answer of the bench
    in main.cc."""

    def __init__(self, bench, token):
        self._bench, self._token = bench, token
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def close(self):
        self._listener.close()

    def _run(self):
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            with connection, connection.makefile("rw", encoding="ascii", newline="\n") as lines:
                try:
                    self._serve(lines)
                except ConnectionError:
                    pass

    def _serve(self, lines):
        client = Client(self._bench)
        first = re.fullmatch(r"urnic-conform (\d+) (\S+)", lines.readline().rstrip("\n"))
        if first is None or int(first[1]) != VERSION or first[2] != self._token:
            self._say(lines, "error this is another version, or another token")
            return
        self._say(lines, f"ok urnic-conform {VERSION}")
        for line in lines:
            self._say(lines, client.obey(line.rstrip("\n")))

    def _say(self, lines, text):
        lines.write(text + "\n")
        lines.flush()
