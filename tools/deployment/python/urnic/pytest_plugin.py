# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Fixtures for pytest: NICs, fabrics, lossy links and captures. `pytest --fixtures` lists them."""
from __future__ import annotations

import random
from typing import Any, Callable, Iterator

import pytest

from urnic.bench import Bench, BenchNic, Capture, folder_for
from urnic.doctor import obstacle
from urnic.program import DEFAULT_TIMEOUT

NicsFactory = Callable[..., "list[BenchNic]"]

_BENCH = pytest.StashKey[Bench]()
_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("urnic", "software RDMA NICs")
    group.addoption(
        "--urnic-required", action="store_true", help="fail, and do not skip, where urnic does not work"
    )
    group.addoption(
        "--urnic-artifacts",
        metavar="DIR",
        help="copy the captures of tests that fail to DIR, with a page for a browser",
    )
    group.addoption(
        "--urnic-seed", type=int, metavar="N", help="what lossy links lose is drawn from N; random by default"
    )
    group.addoption(
        "--urnic-timeout",
        type=float,
        default=DEFAULT_TIMEOUT,
        metavar="SECONDS",
        help=f"how long a test waits for a program; {DEFAULT_TIMEOUT:g} by default",
    )


def pytest_configure(config: pytest.Config) -> None:
    # pytest-xdist hands the options on, so that all its workers have one seed.
    if config.option.urnic_seed is None:
        config.option.urnic_seed = random.SystemRandom().randrange(2**32)


@pytest.fixture(scope="session")
def _urnic_obstacle() -> "str | None":
    return obstacle()


@pytest.fixture
def _urnic_bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, _urnic_obstacle: "str | None"
) -> Iterator[Bench]:
    if _urnic_obstacle is not None:
        if request.config.option.urnic_required:
            pytest.fail(f"urnic does not work here: {_urnic_obstacle}", pytrace=False)
        pytest.skip(f"urnic does not work here: {_urnic_obstacle}")
    item = request.node
    option = request.config.option
    bench = Bench(
        item.nodeid, option.urnic_seed, option.urnic_timeout, lambda: tmp_path_factory.mktemp("urnic")
    )
    item.stash[_BENCH] = bench
    yield bench
    bench.end()
    if not item.stash.get(_FAILED, True):
        bench.remove_captures()


@pytest.fixture
def urnic_nic(_urnic_bench: Bench) -> BenchNic:
    """A NIC on urnic's default port, with the addresses of this host: `.run([...])`, `.popen([...])`.

    Its programs meet at 127.0.0.1, also with programs of other tests.
    """
    return _urnic_bench.nic()


@pytest.fixture
def urnic_fabric(_urnic_bench: Bench) -> NicsFactory:
    """A switch of the test's own: `a, b, c = urnic_fabric(3)` are NICs with addresses of their own.

    `topology=FILE` puts a network between them, `mtu=N` is its largest packet; other options are of all NICs.
    """

    def make(count: int = 2, *, topology: Any = None, mtu: Any = None, **options: Any) -> "list[BenchNic]":
        __tracebackhide__ = True
        if mtu is not None:
            options["mtu"] = mtu
        return _urnic_bench.nics(count, {"topology": topology, "mtu": mtu}, options)

    return make


@pytest.fixture
def urnic_lossy_link(request: pytest.FixtureRequest, _urnic_bench: Bench) -> NicsFactory:
    """Two NICs that lose packets between them: `server, client = urnic_lossy_link(loss=0.02)`.

    Also `dup`, `reorder`, `corrupt` and `truncate`, each a probability for each packet that is sent. If the
    test fails, its report says with which --urnic-seed it draws the same again.
    """

    def make(
        loss: float = 0.01,
        *,
        dup: float = 0.0,
        reorder: float = 0.0,
        corrupt: float = 0.0,
        truncate: float = 0.0,
        **options: Any,
    ) -> "list[BenchNic]":
        __tracebackhide__ = True
        chances = {"loss": loss, "dup": dup, "reorder": reorder, "corrupt": corrupt, "truncate": truncate}
        chosen = [f"{name}={chance}" for name, chance in chances.items() if chance]
        for name, chance in chances.items():
            if not 0 <= chance <= 1:
                raise ValueError(f"urnic_lossy_link: {name} is a probability from 0 to 1, and not {chance}")
        seed = request.config.option.urnic_seed
        note = f"losses were drawn with: pytest '{request.node.nodeid}' --urnic-seed={seed}"
        if note not in _urnic_bench.notes:
            _urnic_bench.notes.append(note)
        return [
            nic.replace(fault=",".join([*chosen, "direction=tx", f"seed={_urnic_bench.draw()}"]))
            for nic in _urnic_bench.nics(2, {}, options)
        ]

    return make


@pytest.fixture
def urnic_capture(_urnic_bench: Bench) -> Capture:
    """Records every program of the test's NICs. When the test ends, `urnic check` judges what they sent, and
    the test fails if that broke a rule. The files of a test that fails are kept, and named in its report.
    """
    _urnic_bench.capture = Capture(_urnic_bench)
    return _urnic_bench.capture


def _judge(bench: Bench, call: "pytest.CallInfo[None]") -> None:
    """Has a test fail that passed so far, if its capture says so."""
    complaint = bench.capture.complaint() if bench.capture is not None else None
    if complaint is None:
        return
    try:
        pytest.fail(complaint, pytrace=False)
    except pytest.fail.Exception:
        call.excinfo = pytest.ExceptionInfo.from_current()


def _keep(item: pytest.Item, bench: Bench) -> None:
    artifacts = item.config.option.urnic_artifacts
    bench.keep(folder_for(item.nodeid, artifacts) if artifacts else None)
    for path in bench.kept:
        item.user_properties.append(("urnic_capture", str(path)))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Iterator[None]:
    bench = item.stash.get(_BENCH, None)
    if bench is None or call.when != "call":
        yield
        return
    bench.end()  # before its capture is judged, which is whole only then
    if call.excinfo is None:
        _judge(bench, call)
    outcome: Any = yield
    report = outcome.get_result()
    item.stash[_FAILED] = report.failed
    if report.failed:
        _keep(item, bench)
        report.sections.append(("urnic", bench.describe()))
