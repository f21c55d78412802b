# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Programs of others from package registries: PyPI and crates.io, by pip and cargo.

Each is brought once, in the version that stands here, into build/registry, which any user may read. A package
that is not available raises NotAvailable with the reason, and tests skip (RegistryTest). A crate that is
available and does not build is a failure."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import harness

PLACE = harness.PROJECT / "build/registry"

# The newest ones of November 2026.
IBVERBS_PYPI = "ibverbs==2026.10.22"
# The last one that works with the Verilator of Debian 12, and what it needs.
COCOTB = ("cocotb==1.8.1", "find_libpython==0.4.0")
MOONCAKE = "mooncake-transfer-engine-non-cuda==0.3.13.post1"
NIXL = "nixl-cu12==1.5.1"
UCX = "libucx-cu12==1.22.0"  # for its headers; its libraries have no verbs
NUMPY = "numpy==2.4.6"
IBVERBS_CRATE = ("ibverbs", "0.9.2")
SIDEWAY = ("sideway", "0.4.3")
ASYNC_RDMA = ("async-rdma", "0.5.0")

# Any user may run it, unlike one in another user's home.
PYTHON = "/usr/bin/python3"
OLDEST_CARGO = (1, 85)  # the crates' manifests, and `cargo info`

FETCH_PATIENCE = 300  # seconds, for all that a command fetches
BUILD_PATIENCE = 1800


class NotAvailable(Exception):
    """A package that a registry, or this machine, does not give."""


_refused = {}  # names of what was tried in this run, and why it was not available


def python_packages(name, *requirements):
    """The folder to name in PYTHONPATH: these packages, for /usr/bin/python3, without what they ask for."""
    if shutil.which(PYTHON) is None or _run([PYTHON, "-m", "pip", "--version"]).returncode != 0:
        raise NotAvailable("Debian's pip is not installed (tools/install-packages clients)")
    version = _run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).stdout.strip()
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--timeout", "15", "--retries", "1"]

    def bring(folder):
        _fetch([*pip, "--target", folder, *requirements], BUILD_PATIENCE)

    return _kept(f"python{version}-{name}-{requirements[0].split('==')[1]}", bring)


def crate(name, version):
    """The folder of a crate's sources, as published, and all crates that it needs in cargo's store."""
    cargo()

    def bring(folder):
        environment = cargo_environment()
        _fetch(["cargo", "info", "--quiet", f"{name}@{version}"], environment=environment, place=folder)
        sources = list((PLACE / "cargo/registry/src").glob(f"*/{name}-{version}"))
        if not sources:
            raise NotAvailable(f"cargo did not bring {name} {version}")
        shutil.copytree(sources[0], folder, dirs_exist_ok=True)
        _fetch(["cargo", "fetch", "--locked"], environment=environment, place=folder)

    return _kept(f"crate-{name}-{version}", bring)


def cargo():
    """cargo's path, if there is one that is new enough."""
    path = shutil.which("cargo")
    if path is None:
        raise NotAvailable("cargo is not installed (Debian 12: cargo-web)")
    said = _run([path, "--version"]).stdout
    found = re.match(r"cargo (\d+)\.(\d+)", said)
    if not found or tuple(map(int, found.groups())) < OLDEST_CARGO:
        oldest = ".".join(map(str, OLDEST_CARGO))
        raise NotAvailable(f"{path} is older than {oldest}: {said.strip()} (Debian 12 has cargo-web)")
    return path


def cargo_environment():
    """What cargo needs to know, with a home of its own for what it brings."""
    user = pathlib.Path.home()
    return {
        "CARGO_HOME": str(PLACE / "cargo"),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(user / ".rustup")),
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "CARGO_TERM_COLOR": "never",
        "CARGO_BUILD_JOBS": "2",
        "RUSTFLAGS": "--cap-lints warn",
    }


def cargo_build(folder, *words):
    """Runs a command of cargo that builds; what it said. subprocess.CalledProcessError if it fails."""
    command = [cargo(), *words, "--locked", "--offline"]
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | cargo_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_PATIENCE,
        check=True,
    ).stdout


class RegistryTest(harness.ClientTest):
    """A test of a program from a registry. `bring` is one of the functions above."""

    def bring(self, bring, *words):
        try:
            return bring(*words)
        except NotAvailable as reason:
            self.skipTest(str(reason))


def _run(words):
    return subprocess.run(words, capture_output=True, text=True)


def _fetch(words, patience=FETCH_PATIENCE, environment=None, place=None):
    try:
        asked = subprocess.run(
            list(map(str, words)),
            cwd=place,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"no answer to {words[0]} within {patience} s") from None
    if asked.returncode != 0:
        said = [line for line in asked.stdout.splitlines() if line.strip()]
        errors = (
            [line for line in said if line.lower().startswith("error")] or said[-1:] or ["no reason given"]
        )
        raise NotAvailable(f"{' '.join(map(str, words[-1:]))}: {errors[0].strip()}")


def _kept(name, bring):
    """The folder of this name, which `bring` fills the first time."""
    folder = PLACE / name
    if folder.is_dir():
        return folder
    if name in _refused:
        raise NotAvailable(_refused[name])
    PLACE.mkdir(parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(prefix=".", dir=PLACE))
    try:
        bring(fresh)
        fresh.chmod(0o755)
        fresh.rename(folder)
    except NotAvailable as reason:
        _refused[name] = str(reason)
        raise
    except OSError:
        if not folder.is_dir():  # another run was faster
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder
