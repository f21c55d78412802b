# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A NIC, as options of `urnic run`, and programs that are started with it."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import socket
from typing import Any, Mapping, Optional, TypeVar, Union

from urnic.launcher import binary
from urnic.program import DEFAULT_TIMEOUT, Program, UrnicError, Words, texts

AnyNic = TypeVar("AnyNic", bound="Nic")

_RANDOM = random.SystemRandom()  # processes that pytest-xdist starts must not draw the same


@dataclasses.dataclass(frozen=True)
class Nic:
    """What `urnic run --help` says about each option, under the same name; None leaves it out.

    Each program that is started with it has a NIC of its own. With the port `host`, which is urnic's default,
    all of a user's programs share one.
    """

    port: Optional[str] = None
    devices: Optional[int] = None
    files: Optional[str] = None
    ip: Optional[str] = None
    ip6: Optional[str] = None
    mac: Optional[str] = None
    mtu: Optional[int] = None
    vlan: Optional[int] = None
    pcap: Union[str, "os.PathLike[str]", None] = None
    record: Union[str, "os.PathLike[str]", None] = None
    fault: Optional[str] = None
    cc: Optional[str] = None
    recovery: Optional[str] = None
    like: Optional[str] = None
    chaos: Optional[str] = None
    seed: Optional[int] = None
    sanitize: Union[bool, str] = False
    explain: bool = False
    verbose: bool = False

    @property
    def device(self) -> str:
        """The name of the RDMA device that programs see."""
        return "urnic0"

    @property
    def gid_index(self) -> int:
        """Of the IPv4 address, for `-g` of the ping-pongs and `-x` of perftest."""
        return 1

    @property
    def address(self) -> str:
        """The IPv4 address at which rdma_cm finds it, without the prefix; 127.0.0.1 if it has the host's."""
        return self.ip.partition("/")[0] if self.ip else "127.0.0.1"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that `urnic run` needs to find this NIC's fabric."""
        return {}

    def replace(self: AnyNic, **options: Any) -> AnyNic:
        """The same with other options. UrnicError: there is none of this name."""
        for name in options:
            if name not in _OPTIONS:
                raise UrnicError(f"a NIC has no option {name!r}; there are {', '.join(_OPTIONS)}")
        return dataclasses.replace(self, **options)

    def command(self, program: Words) -> list[str]:
        """The words that run a program with it, for subprocess; add `environment` to the process's own."""
        words = [str(binary()), "run"]
        for field in dataclasses.fields(Nic):
            value = getattr(self, field.name)
            if value is True:
                words.append(f"--{field.name}")
            elif value is not None and value is not False:
                words += [
                    f"--{field.name}",
                    os.fspath(value) if isinstance(value, os.PathLike) else str(value),
                ]
        return [*words, "--", *(os.fspath(w) if isinstance(w, os.PathLike) else str(w) for w in program)]

    def popen(
        self,
        program: Words,
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Union[str, "os.PathLike[str]", None] = None,
        input: Optional[str] = None,
        timeout: float = DEFAULT_TIMEOUT,
        **options: Any,
    ) -> Program:
        """Starts a program. `options` replace this NIC's, for this program alone."""
        __tracebackhide__ = True
        nic = self.replace(**options) if options else self
        return Program(
            nic.command(program),
            shown=program,
            env={**nic.environment, **(env or {})},
            cwd=cwd,
            input=input,
            timeout=timeout,
        )

    def run(
        self, program: Words, *, check: bool = True, timeout: Optional[float] = None, **how: Any
    ) -> Program:
        """Runs a program to its end; `how` as for popen(). ProgramFailed: it ended with another code than 0,
        unless `check` is False. ProgramTimeout: it did not end in time, and was ended.
        """
        __tracebackhide__ = True
        if timeout is not None:
            how["timeout"] = timeout
        started = self.popen(program, **how)
        try:
            started.wait()
        finally:
            started.end()
        return started.expect_end() if check else started


_OPTIONS = tuple(field.name for field in dataclasses.fields(Nic))


def command(program: Words, **options: Any) -> list[str]:
    """The words that run a program with a NIC: subprocess.run(urnic.command(["ibv_devices"]))."""
    return Nic().replace(**options).command(program)


def run(program: Words, *, check: bool = True, timeout: Optional[float] = None, **options: Any) -> Program:
    """Runs a program with a NIC, to its end: urnic.run(["ibv_devices"]).stdout. See Nic.run()."""
    return Nic().run(program, check=check, timeout=timeout, **options)


def popen(program: Words, **options: Any) -> Program:
    """Starts a program with a NIC. See Nic.popen()."""
    return Nic().popen(program, **options)


def free_port() -> int:
    """A TCP port that no program of this host has now, below those that the kernel gives to connections.
    Programs agree by it where to exchange addresses."""
    family = socket.AF_INET6 if pathlib.Path("/proc/net/tcp6").exists() else socket.AF_INET
    while True:
        port = _RANDOM.randrange(20000, 32000)
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue
