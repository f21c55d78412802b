# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs of others that are not Debian's, from PyPI and crates.io, and Debian's that open sockets of their
own at the addresses of the NICs."""
from lines.cm_line import Scenario
from lines.dapl import Qperf
from registry import ASYNC_RDMA, IBVERBS_CRATE, IBVERBS_PYPI, MOONCAKE, NIXL, SIDEWAY

DAPL = [
    *(
        Scenario(
            f"{program} -P {provider}{role}{words}",
            f"{program} -P {provider} -h 10.99.0.1{words}",
            f"lines.dapl.Dapl.{program}_{provider}",
            cover=(program, provider) == ("dtestx", "cma"),
        )
        for provider in ("cma", "scm")
        for program, role, words in (
            ("dtest", "", " -b 65536"),
            ("dtestx", " -s", ""),
            ("dtestcm", " -s", " -c 100"),
            ("dtestsrq", " -s", " -c 4"),
        )
    ),
    *(
        Scenario(
            f"dapltest -T S -D {provider}",
            f"dapltest -s 10.99.0.1 -D {provider}: -T T -V and -V -P, -T P and -m p, -T Q",
            f"lines.dapl.Dapl.dapltest_{provider}",
        )
        for provider in ("cma", "scm")
    ),
    *(
        Scenario(
            f"dapltest -T L -D {provider} -m 50 -w 2", "none is needed", f"lines.dapl.Dapl.limits_{provider}"
        )
        for provider in ("cma", "scm")
    ),
]
QPERF = Scenario("qperf", f"qperf 10.99.0.1 -cm1 {Qperf.TESTS} {Qperf.VERIFYING}", "lines.dapl.Qperf.all")

MOONCAKE_LINES = (
    Scenario(
        f"transfer_engine_bench --mode=target --device_name=urnic0 ({MOONCAKE})",
        "transfer_engine_bench --mode=initiator --device_name=urnic0 --operation=read, and write",
        "test_mooncake.Mooncake.test_bench",
    ),
    Scenario(
        "mooncake_peer.py target --devices urnic0,urnic1 (--devices 2, a link of which goes down)",
        "mooncake_peer.py initiator --devices urnic0,urnic1 --until-it-fails",
        "test_mooncake.Mooncake.test_it_goes_on_by_one_device_when_the_other_loses_its_link",
    ),
    Scenario(
        "mooncake_master; mooncake_store.py hold",
        "mooncake_store.py use: put and get of 30 values of 1 MiB",
        "test_mooncake.Mooncake.test_store",
    ),
    Scenario(
        "mooncake_peer.py target, twice; the first one killed",
        "mooncake_peer.py initiator --until-it-fails",
        "test_mooncake.Mooncake.test_a_target_is_killed",
    ),
)
NIXL_LINES = (
    Scenario(
        f"nixl_peer.py target there ({NIXL})", "nixl_peer.py initiator there", "test_nixl.Nixl.test_two_peers"
    ),
    Scenario(
        "nixl_peer.py target, twice; the first one killed",
        "nixl_peer.py initiator --until-it-fails",
        "test_nixl.Nixl.test_a_target_is_killed",
    ),
)
UCX_LINES = (
    Scenario(
        f"ucx_failover --rank 1 (UCX 1.23 of {NIXL}; --devices 2, whose links go down in turn)",
        "ucx_failover --rank 0: PUTs and active messages",
        "test_ucx_failover.UcxFailover.test_it_goes_on_by_the_other_device_and_takes_the_lost_one_back",
    ),
    Scenario(
        "ucx_failover --rank 1, both links of which go down; --failover 0, and one of them",
        "ucx_failover --rank 0, and --failover 0: the endpoint fails",
        "test_ucx_failover.UcxFailover.test_an_endpoint_fails_that_cannot_go_on",
    ),
)
PYTHON_LINES = (
    Scenario(
        f"ibverbs_loopback.py ({IBVERBS_PYPI})",
        "none is needed",
        "test_ibverbs_python.IbverbsForPython.test_loopback",
    ),
)


def _rust(words, case, crate):
    return Scenario(f"{words} ({'@'.join(crate)})", "none is needed", f"test_rust.{case}")


RUST_LINES = (
    _rust("cargo run --example loopback", "Ibverbs.test_example", IBVERBS_CRATE),
    _rust("cargo test", "Sideway.test_its_own_tests", SIDEWAY),
    _rust("cargo run --example ibv_devinfo, show_gids", "Sideway.test_examples", SIDEWAY),
    Scenario(
        f"rc_pingpong -d urnic0 -g 1, and -t ({'@'.join(SIDEWAY)})",
        "rc_pingpong -d urnic0 -g 1 127.0.0.1, and -t",
        "test_rust.Sideway.test_pingpong",
    ),
    _rust("cargo test", "AsyncRdma.test_its_own_tests", ASYNC_RDMA),
)

LINES = (*DAPL, QPERF, *PYTHON_LINES, *MOONCAKE_LINES, *NIXL_LINES, *UCX_LINES, *RUST_LINES)
