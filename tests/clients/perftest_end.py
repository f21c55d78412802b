# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The server's end of perftest's conversation over TCP, for a device that is no program."""
import re
import socket
import threading

# LID, reads in flight, QPN, PSN, key, address, GID and SRQ number of a side, in hexadecimal, as perftest 4.4
# and 4.5 send them (seen on their connection).
_END = re.compile(
    rb"(?P<lid>[0-9a-f]{4}):(?P<reads>[0-9a-f]{4}):(?P<qp>[0-9a-f]{6}):(?P<psn>[0-9a-f]{6}):"
    rb"(?P<rkey>[0-9a-f]{8}):(?P<address>[0-9a-f]{16}):(?P<gid>(?:[0-9a-f]{2}:){16})(?P<srq>[0-9a-f]{8}):"
)


class PerftestEnd:
    """Says to the client what the client says, as both sides of perftest say the same things at one time;
    but where the client says what its queue pair is, this says what the device has.

    `on_peer(qp, psn)` is called before that is said. A client after the other, until close()."""

    def __init__(self, own_qp, rkey, address, ipv4, on_peer):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        gid = bytes(10) + b"\xff\xff" + socket.inet_aton(ipv4)
        self._own = (
            f"{own_qp:06x}:000000:{rkey:08x}:{address:016x}:" + "".join(f"{octet:02x}:" for octet in gid)
        ).encode()
        self._on_peer = on_peer
        threading.Thread(target=self._run, daemon=True).start()

    def close(self):
        self._listener.close()

    def _run(self):
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            with connection:
                self._talk(connection)

    def _talk(self, connection):
        try:
            while said := connection.recv(1 << 16):
                connection.sendall(_END.sub(self._answer, said))
        except ConnectionError:
            pass

    def _answer(self, end):
        self._on_peer(int(end["qp"], 16), int(end["psn"], 16))
        return end["lid"] + b":" + end["reads"] + b":" + self._own + end["srq"] + b":"
