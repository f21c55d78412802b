# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The stages of the tests: each takes a Log and whether everything is wanted, and returns an Outcome."""
import os
import re
import shutil
import subprocess
import sys

from releasing import version as releasing
from testing.log import LOGS, ROOT
from testing.outcome import Outcome, counted, yes_or_no
from testing.programs import ASAN, BUILDS, JOBS, RELEASE, build, ctest


def second_try(full):
    """A machine that is busy with other things stops programs for longer than a test can wait, so what
    fails runs once more, and is named if it passes then. It does not with --full, nor where a program
    crashed."""
    return [] if full else ["--second-try"]


# Debian's, which has Debian's python3-selenium.
BROWSER_TESTS = ["/usr/bin/python3", ROOT / "tests/view/run.py"]
CLIENTS = [sys.executable, ROOT / "tests/clients/run.py", "--build", RELEASE]
CLIENTS_SAY = r"^(?P<passed>\d+) passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped$"


def clients(log, full, *options, may_skip_all=False):
    return counted(log.run(*CLIENTS, *second_try(full), *options), CLIENTS_SAY, log, may_skip_all)


def stage_packages(log, full):
    interop = ["interop"] if os.geteuid() == 0 else []
    return yes_or_no(
        log.run(
            "tools/install-packages",
            "build",
            "clients",
            "sanitizers",
            "format",
            "lint",
            "shells",
            "languages",
            "browser",
            *interop,
        )
    )


def stage_build(log, full):
    return yes_or_no(build("release", log, f"-DURNIC_FUZZ={'ON' if full else 'OFF'}"))


def stage_units(log, full):
    return ctest(RELEASE, log, "-E", "^sim$", has_second_try=not full)


def commit_seed():
    """Where tests begin to draw that could begin anywhere: each commit has a place of its own, and keeps it."""
    found = subprocess.run(
        ["git", "-c", "safe.directory=*", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return int(found.stdout[:8], 16) if found.returncode == 0 else 1


def stage_simulator(log, full):
    """In two halves at once, as a simulation has one thread: seeds as they draw, after those that once
    failed, and seeds whose frames go through switches and links."""
    half = 100_000 if full else 2_500
    simulate = ["build/release/bin/urnic", "sim", "--seeds", half, "--start"]
    commands = [*simulate, commit_seed()], [*simulate, commit_seed() + half, "--path", "switched"]
    outcome = yes_or_no(log.run_together(*commands))
    outcome.note = "; ".join(" ".join(map(str, command)) for command in commands)
    return outcome


def stage_asan_build(log, full):
    """The GoogleTest programs; what depends on no clock is built where it runs, beside the clients."""
    target = "all" if full else "test_programs"
    return yes_or_no(build("asan", log, f"-DURNIC_SANITIZE_ALL={'ON' if full else 'OFF'}", target=target))


def stage_asan(log, full):
    return ctest(ASAN, log, "--label-exclude", "deterministic", has_second_try=not full)


def stage_corpora(log, full):
    """Under AddressSanitizer, with what else there depends on no clock: the simulator."""
    if not build("asan", log):
        return Outcome(failed=1)
    seed = os.environ["URNIC_TEST_SEED"] = str(commit_seed())
    outcome = ctest(ASAN, log, "--label-regex", "deterministic")
    outcome.note = f"URNIC_TEST_SEED={seed} ctest --test-dir build/asan -L deterministic"
    return outcome


def stage_stress(log, full):
    """Under AddressSanitizer and under ThreadSanitizer at once. Nothing else is built with the latter, as
    nothing else is about threads."""
    presets = ("asan", "tsan")
    built = all(build(preset, log, target="api_stress") for preset in presets)
    seconds = 600 if full else 120  # about a minute of a processor each, as they get what others leave
    # It says itself which thread hangs, but not when that happens while it comes to its end.
    bound = ["timeout", "--signal=ABRT", str(seconds + 240)]
    return yes_or_no(
        built
        and log.run_together(
            *([*bound, BUILDS / preset / "bin/api_stress", "--seconds", str(seconds)] for preset in presets)
        )
    )


def stage_tidy(log, full):
    """clang-tidy's opinion of the product's sources, with the checks of .clang-tidy. Nothing is built for it."""
    if not shutil.which("clang-tidy-14") or not shutil.which("run-clang-tidy-14"):
        return Outcome(skipped=1, note="clang-tidy 14 is not installed: tools/install-packages lint")
    folder = BUILDS / "tidy"
    whole = ["-DURNIC_UNITY=ON", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
    check = ["run-clang-tidy-14", "-clang-tidy-binary", "clang-tidy-14", "-quiet", "-j", JOBS, "-p", folder]
    # Joined files; sources that the build would write are not there.
    sources = f"^{re.escape(str(folder))}/(transport|nic|drivers|verbs_api|tools)/.*/Unity/"
    return yes_or_no(log.run("cmake", "--preset", "clang", "-B", folder, *whole) and log.run(*check, sources))


def stage_canary(log, full):
    return yes_or_no(
        log.run("tools/development/mutate", "--applies")
        and log.run("tools/development/mutate", "--all" if full else "canary")
    )


# What other stages run: with programs that are large, or for a long time.
ELSEWHERE = (
    "test_kill.*",
    "test_mpi.*",
    "test_mooncake.*",
    "test_nixl.*",
    "test_ucx_failover.*",
    "test_rust.*",
    "test_ovs.*",
    "test_recipes.*",
    "test_labs.*_gaps_fail",
    "test_labs.*_spoilt_*",
    "test_lab_faults.*",
)


def stage_clients(log, full):
    left_out = [word for pattern in ELSEWHERE for word in ("--not", pattern)]
    return clients(log, full, *left_out, *(["--pairs", "1000", "--stop", "20"] if full else []))


def stage_labs(log, full):
    """The labs with their solutions, which every run has, with gaps, and with solutions that are wrong at one
    place; the faults of lab 15 one by one."""
    return clients(log, full, "test_labs.*", "test_lab_faults.*")


def stage_mpi(log, full):
    if not log.run("tools/install-packages", "mpi"):
        return Outcome(failed=1)
    return clients(log, full, "test_mpi.*")


def stage_ladder(log, full):
    """Large programs among it, that no other stage runs. The tables are written beside the logs."""
    if not log.run("tools/install-packages", "ladder"):
        return Outcome(failed=1)
    ladder = [sys.executable, ROOT / "tests/clients/ladder.py", "--build", RELEASE]
    ports = [
        log.run(*ladder, "--port", port, "--write", LOGS / f"LADDER.{port}.md") for port in ("host", "fabric")
    ]
    return counted(all(ports), CLIENTS_SAY, log)


def stage_page(log, full):
    """What `urnic view` makes, in a browser."""
    return counted(log.run(*BROWSER_TESTS, RELEASE / "bin/urnic"), CLIENTS_SAY, log)


def stage_demo(log, full):
    return Outcome(passed=1) if log.run("tools/demo") else Outcome(failed=1)


def stage_kill(log, full):
    """Over both wires at once: a survivor spends most of its time waiting for the dead."""
    kills = ["--kills", "1000"] if full else []
    ok = log.run_together(
        *(
            [*CLIENTS, *second_try(full), f"test_kill.{wire}.*", *kills]
            for wire in ("KillOnAWire", "KillOnTheFabric")
        )
    )
    return counted(ok, CLIENTS_SAY, log)


def stage_interop(log, full):
    if os.geteuid() != 0:
        return Outcome(
            skipped=1, note="only root can run against the kernel's rdma_rxe: tools/development/interop"
        )
    # Its --full takes half an hour, and writes a table that is part of the documentation.
    return counted(
        log.run("tools/development/interop", "--build", RELEASE, *second_try(full)), CLIENTS_SAY, log
    )


def stage_ovs(log, full):
    """Open vSwitch as the switch: daemons of the tests' own, in network namespaces."""
    if os.geteuid() != 0:
        return Outcome(
            skipped=1, note="only root can make hosts with a switch each: sudo tools/test --stage ovs"
        )
    return clients(log, full, "test_ovs.*") if log.run("tools/install-packages", "ovs") else Outcome(failed=1)


def stage_pci(log, full):
    """urnic in a guest of its own, where it drives emulated cards; needs no root."""
    if not log.run("tools/install-packages", "interop"):
        return Outcome(failed=1)
    return counted(
        log.run("tools/development/interop", "--build", RELEASE, "--wire", "pci", *second_try(full)),
        CLIENTS_SAY,
        log,
    )


def stage_recipes(log, full):
    return (
        clients(log, full, "test_recipes.*")
        if log.run("tools/install-packages", "recipes")
        else Outcome(failed=1)
    )


def stage_ecosystem(log, full):
    """Whether the installed programs still load, those included that no other stage runs; skipped without the
    outside check."""
    if not log.run("tools/install-packages", "ecosystem"):
        return Outcome(failed=1)
    return clients(log, full, "test_basic.Devices.test_every_installed_client_loads", may_skip_all=True)


def stage_clang(log, full):
    return yes_or_no(build("clang", log))


def elsewhere(log, *command):
    """What a command says that ends as this one does, in a root of another distribution, which only root can
    make."""
    if os.geteuid() != 0:
        return Outcome(
            skipped=1, note="only root can make roots of other distributions: tools/development/platforms/on"
        )
    return counted(log.run(*command), CLIENTS_SAY, log)


def stage_install(log, full):
    """A release as far as it can be made on any commit; then its packages in clean roots of several
    distributions, and its image in containers. Only root can make those."""
    release = ["tools/development/release", "--dry-run", "--between-releases", "--without-tests"]
    is_root = os.geteuid() == 0
    made = log.run(*release, *([] if is_root else ["--without-image"]))
    if not made or not is_root:
        log.write(
            "" if is_root else "skipped: only root can make clean roots: tests/packages/try_packages.py\n"
        )
        return counted(made, CLIENTS_SAY, log)
    images = list(releasing.folder().glob("*.oci.tar"))
    tried = [
        log.run(sys.executable, "tests/packages/try_packages.py", "--packages", releasing.folder()),
        log.run(sys.executable, "tests/packages/try_image.py", "--image", *images),
    ]
    return counted(all(tried), CLIENTS_SAY, log)


def stage_trixie(log, full):
    """Debian 13, with its compilers, DPDK, programs, and its kernel's rdma_rxe."""
    return elsewhere(log, "tools/development/platforms/on", "trixie", "tools/test")


def stage_forky(log, full):
    """The Debian after it, which still changes: what fails there is said, and is no failure yet."""
    outcome = elsewhere(
        log,
        "tools/development/platforms/on",
        "forky",
        "tools/test",
        *(f"--stage={name}" for name in ("packages", "build", "units", "clients")),
    )
    if outcome.failed:
        outcome.note = f"an early warning: {outcome.failed} failed, see {log.path.relative_to(ROOT)}"
        outcome.skipped, outcome.failed = outcome.skipped + outcome.failed, 0
    return outcome


def stage_arm64(log, full):
    return elsewhere(log, "tools/development/platforms/on", "bookworm", "tools/development/platforms/arm64")


STAGES = {
    "packages": stage_packages,
    "build": stage_build,
    "units": stage_units,
    "asan-build": stage_asan_build,
    "asan": stage_asan,
    "stress": stage_stress,
    "corpora": stage_corpora,
    "simulator": stage_simulator,
    "tidy": stage_tidy,
    "canary": stage_canary,
    "demo": stage_demo,
    "clients": stage_clients,
    "page": stage_page,
    "kill": stage_kill,
    "interop": stage_interop,
}
# These take their time: every mistake in every lab, every line of a long table, gigabytes of packages, Open
# vSwitch, two emulated machines at once, and more builds of everything: with clang, on other distributions,
# for another processor.
FULL_STAGES = {
    "labs": stage_labs,
    "ladder": stage_ladder,
    "mpi": stage_mpi,
    "ovs": stage_ovs,
    "pci": stage_pci,
    "ecosystem": stage_ecosystem,
    "recipes": stage_recipes,
    "clang": stage_clang,
    "install": stage_install,
    "trixie": stage_trixie,
    "forky": stage_forky,
    "arm64": stage_arm64,
}
