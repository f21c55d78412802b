#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Peers of Mooncake's transfer engine: targets lend their memory, an initiator writes it and reads it back.

    urnic run -- mooncake_peer.py target
    urnic run -- mooncake_peer.py initiator TARGET...     with the words that each target prints
"""
import argparse
import signal
import sys
import time

import numpy
from mooncake.engine import TransferEngine

LENGTH = 1 << 20
PATTERN = (numpy.arange(LENGTH) % 251).astype(numpy.uint8)


class Peer:
    def __init__(self, host, devices):
        self.engine = TransferEngine()
        if self.engine.initialize(host, "P2PHANDSHAKE", "rdma", devices) != 0:
            sys.exit("Mooncake does not start: its own words stand above")
        self.memory = numpy.zeros(LENGTH, dtype=numpy.uint8)
        self.address = self.memory.ctypes.data
        if self.engine.register_memory(self.address, LENGTH) != 0:
            sys.exit("Mooncake does not register memory: its own words stand above")

    def exchange(self, session, address):
        """Whether the target took the pattern and gave it back; what came back must be right."""
        self.memory[:] = PATTERN
        if self.engine.transfer_sync_write(session, self.address, address, LENGTH) != 0:
            return False
        self.memory[:] = 0
        if self.engine.transfer_sync_read(session, self.address, address, LENGTH) != 0:
            return False
        if not (self.memory == PATTERN).all():
            sys.exit(f"{session} gave other data than it was given")
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("role", choices=("target", "initiator"))
    parser.add_argument("targets", nargs="*", help="HOST:PORT/ADDRESS, as targets print it")
    parser.add_argument("--host", default="127.0.0.1", help="this host's name or address for its peers")
    parser.add_argument("--devices", default="urnic0", help="with commas between them")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--until-it-fails", action="store_true", help="go on with each target, except the last"
    )
    options = parser.parse_intermixed_args()
    peer = Peer(options.host, options.devices)
    if options.role == "target":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        print(f"target {options.host}:{peer.engine.get_rpc_port()}/{peer.address}", flush=True)
        signal.pause()
    for target in options.targets:
        session, address = target.split("/")
        for _ in range(options.rounds):
            if not peer.exchange(session, int(address)):
                sys.exit(f"{session} failed")
        print(f"{session} took {options.rounds} x {LENGTH} bytes and gave them back", flush=True)
        if options.until_it_fails and target != options.targets[-1]:
            began = time.monotonic()
            while peer.exchange(session, int(address)):
                began = time.monotonic()
            print(f"{session} failed after {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
