#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Agents of NIXL with memory of the host: targets lend theirs, an initiator writes it and reads it back.

    urnic run -- nixl_peer.py target NAME >FILE
    urnic run -- nixl_peer.py initiator FILE...           what each target printed
"""
import argparse
import base64
import pathlib
import signal
import sys
import time

import numpy
from nixl_cu12._api import nixl_agent, nixl_agent_config
from nixl_cu12._bindings import nixlRemoteDisconnectError

LENGTH = 1 << 20
PATTERN = (numpy.arange(LENGTH) % 251).astype(numpy.uint8)
PATIENCE = 60  # seconds, for one transfer


class Agent:
    def __init__(self, name):
        self.agent = nixl_agent(name, nixl_agent_config(backends=["UCX"]))
        self.memory = numpy.zeros(LENGTH, dtype=numpy.uint8)
        address = self.memory.ctypes.data
        self.agent.register_memory(self.agent.get_reg_descs([(address, LENGTH, 0, "")], "DRAM"))
        self.mine = self.agent.get_xfer_descs([(address, LENGTH, 0)], "DRAM")

    def introduce(self):
        """What a peer must know, in two words."""
        words = self.agent.get_agent_metadata(), self.agent.get_serialized_descs(self.mine)
        return " ".join(base64.b64encode(word).decode() for word in words)

    def meet(self, introduction):
        """The peer's name and its memory."""
        metadata, memory = (base64.b64decode(word) for word in introduction.split())
        name = self.agent.add_remote_agent(metadata)
        return name.decode() if isinstance(name, bytes) else name, self.agent.deserialize_descs(memory)

    def transfer(self, operation, name, theirs):
        """Whether it was done; False if the peer is lost."""
        handle = self.agent.initialize_xfer(operation, self.mine, theirs, name)
        end = time.monotonic() + PATIENCE
        try:
            state = self.agent.transfer(handle)
            while state == "PROC":
                if time.monotonic() > end:
                    sys.exit(f"{operation} to {name} neither ended nor failed within {PATIENCE} s")
                state = self.agent.check_xfer_state(handle)
        except nixlRemoteDisconnectError:
            return False
        self.agent.release_xfer_handle(handle)
        return state == "DONE"

    def exchange(self, name, theirs):
        """Whether the target took the pattern and gave it back; what came back must be right."""
        self.memory[:] = PATTERN
        if not self.transfer("WRITE", name, theirs):
            return False
        self.memory[:] = 0
        if not self.transfer("READ", name, theirs):
            return False
        if not (self.memory == PATTERN).all():
            sys.exit(f"{name} gave other data than it was given")
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("role", choices=("target", "initiator"))
    parser.add_argument("words", nargs="+", help="the target's name; or files that have what targets print")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--until-it-fails", action="store_true", help="go on with each target, except the last"
    )
    options = parser.parse_intermixed_args()
    if options.role == "target":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        agent = Agent(options.words[0])
        print(f"target {agent.introduce()}", flush=True)
        signal.pause()
    agent = Agent("initiator")
    for file in options.words:
        said = pathlib.Path(file).read_text().splitlines()
        introduction = next(line for line in said if line.startswith("target "))
        name, theirs = agent.meet(introduction.removeprefix("target "))
        for _ in range(options.rounds):
            if not agent.exchange(name, theirs):
                sys.exit(f"{name} failed")
        print(f"{name} took {options.rounds} x {LENGTH} bytes and gave them back", flush=True)
        if options.until_it_fails and file != options.words[-1]:
            began = time.monotonic()
            while agent.exchange(name, theirs):
                began = time.monotonic()
            print(f"{name} failed after {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
