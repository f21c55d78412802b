# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A switch of its own, with NICs that have addresses of their own."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Any, Optional, Union

from urnic.launcher import binary
from urnic.nic import Nic
from urnic.program import Program, UrnicError

_LARGEST = 241  # ports of a fabric, as `urnic fabric --help` has it
_START = 20.0  # seconds in which a switch starts


@dataclasses.dataclass(frozen=True)
class FabricNic(Nic):
    """A NIC on a fabric."""

    runtime: Optional[str] = None

    @property
    def environment(self) -> dict[str, str]:
        return {"XDG_RUNTIME_DIR": self.runtime} if self.runtime else {}


class Fabric:
    """A switch that no other program of this user sees; with a folder of its own, which goes with it.

        with urnic.Fabric() as fabric:
            server, client = fabric.nics(2)

    `topology` is a file of a network that is put between its NICs (TOPOLOGY.md), `uplink` a port to the
    world, and `mtu` the largest IP packet that it carries. Its NICs are 10.99.0.1/24, 10.99.0.2/24 and so on.
    """

    def __init__(
        self,
        *,
        topology: Union[str, "os.PathLike[str]", None] = None,
        uplink: Optional[str] = None,
        mtu: Optional[int] = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "topology": None if topology is None else pathlib.Path(topology).resolve(),
            "uplink": uplink,
            "mtu": mtu,
        }
        self._switch: Optional[Program] = None
        self._runtime: Optional[str] = None

    def __enter__(self) -> "Fabric":
        __tracebackhide__ = True
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def runtime(self) -> str:
        """The XDG_RUNTIME_DIR of its programs. `urnic stat` sees them with it."""
        if self._runtime is None:
            raise UrnicError("this fabric does not run: call start(), or use it by 'with'")
        return self._runtime

    def start(self) -> None:
        """Without topology, uplink or MTU, the first program starts the switch. UrnicError: why it cannot."""
        __tracebackhide__ = True
        # A socket's path has at most 107 bytes, and pytest's own folders are longer.
        self._runtime = tempfile.mkdtemp(prefix="urnic-", dir="/tmp" if os.access("/tmp", os.W_OK) else None)
        words = [
            word
            for name, value in self._options.items()
            if value is not None
            for word in (f"--{name}", str(value))
        ]
        if not words:
            return
        self._switch = Program([binary(), "fabric", *words], env={"XDG_RUNTIME_DIR": self._runtime})
        deadline = time.monotonic() + _START
        while not self.is_running():
            if self._switch.returncode is not None or time.monotonic() > deadline:
                said = self._switch.stderr.strip() or self._switch.describe()
                self.stop()
                raise UrnicError(f"the fabric did not start: {said}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Ends the switch, and removes its files. Its programs are not ended. May be called again."""
        if self._runtime is None:
            return
        self._call("stop")
        if self._switch is not None:
            self._switch.end()
        shutil.rmtree(self._runtime, ignore_errors=True)
        self._switch = self._runtime = None

    def is_running(self) -> bool:
        """Whether its switch runs: from the first program on, to five seconds after the last."""
        return self._call("status").returncode == 0

    def status(self) -> str:
        """What `urnic fabric status` says."""
        result = self._call("status")
        return result.stdout or result.stderr

    def nic(self, index: int, **options: Any) -> FabricNic:
        """The NIC on port `index`, from 0. One program at a time can have it, as its address is given. On a
        topology that is the host with this number."""
        __tracebackhide__ = True
        if not 0 <= index < _LARGEST:
            raise UrnicError(f"a fabric has NICs 0 to {_LARGEST - 1}, and not {index}")
        own = FabricNic(port=f"fabric:default,{index}", ip=f"10.99.0.{index + 1}/24", runtime=self.runtime)
        return own.replace(**options)

    def nics(self, count: int, **options: Any) -> list[FabricNic]:
        """NICs 0 to count - 1, all with these options."""
        __tracebackhide__ = True
        return list(map(lambda index: self.nic(index, **options), range(count)))

    def _call(self, word: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [binary(), "fabric", word],
            env={**os.environ, "XDG_RUNTIME_DIR": self.runtime},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
