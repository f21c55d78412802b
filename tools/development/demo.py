# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""From a fresh clone to two RDMA programs that talk to each other, in one step.

Installs what is missing, builds, and runs unmodified programs between two NICs as an ordinary user.
"""
import argparse
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "tests/clients"))

import harness  # noqa: E402
from stage import Process, Stage  # noqa: E402

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-c"]
WRITE_BW = ["ib_write_bw", "-d", "urnic0", "-x", "1", "-F", "--report_gbits"]
TIMEOUT = 60
MESSAGE = 65536  # bytes, ib_write_bw's own
TCP_SECONDS = 1


def step(title):
    print(f"\n== {title}", flush=True)


def must(*command):
    if subprocess.run([str(word) for word in command], cwd=ROOT).returncode != 0:
        sys.exit(f"demo: this failed: {' '.join(map(str, command))}")


def build():
    step("What is missing is installed")
    must("tools/install-packages", "build", "clients")
    step("It is built, without its tests (the first time that takes two minutes or three)")
    if not (BUILD / "build.ninja").exists():
        must("cmake", "--preset", "release")
    must("cmake", "--build", "--preset", "product", "-j", os.cpu_count() or 1)


def run_pair(stage, folder, command, recording=None):
    """Runs the program as a server and as its client, each with a NIC; prints, and returns, what the client
    says."""
    port = harness.free_port()
    nic = ["--pcap", folder / recording] if recording else []
    words = [*command, "-p", str(port)]
    print(f"  $ urnic run -- {' '.join(words)} &")
    print(f"  $ urnic run {'--pcap ' + recording + ' ' if recording else ''}-- {' '.join(words)} 127.0.0.1")
    environment = stage.environment(folder)
    del environment["URNIC_PORT"]  # as what is printed
    server = Process("server", [stage.urnic, "run", "--", *words], environment, folder, stage=stage)
    client = None
    try:
        harness.wait_until(
            lambda: harness.is_listening(port) or not server.is_running(), harness.START_TIMEOUT
        )
        client_words = [stage.urnic, "run", *nic, "--", *words, "127.0.0.1"]
        client = Process("client", client_words, environment, folder, stage=stage)
        codes = client.wait(TIMEOUT), server.wait(TIMEOUT)
        print("    " + client.output().strip().replace("\n", "\n    "))
        if codes != (0, 0):
            sys.exit(f"demo: the programs did not end well\n{server.describe()}\n{client.describe()}")
    finally:
        for process in filter(None, (server, client)):
            process.kill()
    return client.output()


def tcp_gbits():
    """What TCP carries between two processes over the loopback, in Gb/s: the figure to compare with."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = os.fork()
        if sender == 0:
            try:
                with socket.create_connection(listener.getsockname()) as connection:
                    message, end = bytes(MESSAGE), time.monotonic() + TCP_SECONDS
                    while time.monotonic() < end:
                        connection.sendall(message)
            finally:
                os._exit(0)  # whatever happens, it does not go on as a second demo
        connection, _ = listener.accept()
    received, buffer, started = 0, bytearray(1 << 20), time.monotonic()
    with connection:
        while count := connection.recv_into(buffer):
            received += count
    os.waitpid(sender, 0)
    return received * 8e-9 / (time.monotonic() - started)


def compare_with_tcp(said):
    """`said` is the output of ib_write_bw."""
    row = re.search(rf"^ *{MESSAGE} +\d+ +[\d.]+ +([\d.]+)", said, re.MULTILINE)
    if row:
        print(
            f"\n  RDMA writes {float(row[1]):.1f} Gb/s; TCP over the loopback, just now, in messages of that size, {tcp_gbits():.1f} Gb/s"
        )


def main():
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    started = time.monotonic()
    build()
    stage = Stage(BUILD)
    try:
        user = "as user nobody" if stage.is_root else "as an ordinary user"
        step(f"Two NICs, two programs, {user}: messages back and forth, each byte checked")
        # One folder for both pairs: a user has one NIC, and its switch ends a moment after the last program.
        folder = stage.folder()
        run_pair(stage, folder, [*PINGPONG, "-n", "1000"], recording="pingpong.pcap")
        kept = BUILD / "demo.pcap"
        shutil.copyfile(folder / "pingpong.pcap", kept)
        step("The same wire at full speed: RDMA writes of 64 KiB")
        compare_with_tcp(run_pair(stage, folder, WRITE_BW))
    finally:
        stage.close()

    recorded = kept.relative_to(ROOT)
    step(f"All went well ({time.monotonic() - started:.0f} s). Where to look next")
    print(f"  {recorded}  holds every frame of the first run: tshark -r {recorded} | head, or Wireshark")
    print(f"  {(BUILD / 'bin/urnic').relative_to(ROOT)} run --help  says how to give any program a NIC")
    print(
        "  README.md  says what there is and what there is not; tools/test runs all tests, tools/bench measures"
    )
