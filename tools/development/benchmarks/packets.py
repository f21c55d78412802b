# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What a single packet costs, by the project's Google Benchmark programs, and in instructions as valgrind
counts them."""
import json
import re
import shutil
import subprocess

from benchmarks.programs import Failed
from benchmarks.report import row

# Google Benchmark's names, and what they are in the table.
PACKETS = {
    "take_requests/WRITE_4096": "4 KiB WRITE: parse, check, execute",
    "take_requests/SEND_64": "64 B SEND: parse, check, execute",
    "take_acks": "ACK: parse, check, complete",
    "build_requests/WRITE_4096": "4 KiB WRITE: build",
    "build_requests/SEND_64": "64 B SEND: build",
    "build_acks": "ACK: build",
    "icrc/4124_bytes": "ICRC of 4124 bytes",
}
# A busy queue pair alone, and among so many of what does nothing.
GROWTH = {
    "10,000 idle QPs": ("busy_among_idle/0", "busy_among_idle/10000"),
    "200 neighbors": ("busy_among_neighbors/0", "busy_among_neighbors/200"),
}

# A tenth of a second each: so short that the machine's speed may change between two that are compared.
FEWEST_REPEATS = 5

# The programs of the build that measure single packets.
BENCHMARKS = ("transport_bench", "device_bench")


def _benchmarks(build, program, repeats):
    """{name: [nanoseconds per packet]} of a Google Benchmark program; its own median is not of our counters."""
    command = [
        build / "bin" / program,
        "--benchmark_format=json",
        f"--benchmark_repetitions={repeats}",
        "--benchmark_min_time=0.1",
        "--benchmark_enable_random_interleaving=true",
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failed(result.stderr)
    found = {}
    for entry in json.loads(result.stdout)["benchmarks"]:
        if entry["run_type"] == "iteration":
            found.setdefault(entry["run_name"].removesuffix("/manual_time"), []).append(entry["ns"])
    return found


def _instructions(build, name):
    """Instructions per packet; nothing without valgrind."""
    if not shutil.which("valgrind"):
        return None
    command = [
        "valgrind",
        "--tool=callgrind",
        "--collect-atstart=no",
        "--callgrind-out-file=/dev/null",
        build / "bin/transport_bench",
        f"--benchmark_filter=^{name}/",
        "--benchmark_min_time=0.02",
        "--benchmark_format=json",
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or not collected:
        raise Failed(result.stderr)
    return int(collected.group(1)) / json.loads(result.stdout)["benchmarks"][0]["all_packets"]


def measure_packets(build, repeats):
    """Rows of the report; medians of `repeats` or more."""
    repeats = max(repeats, FEWEST_REPEATS)
    packets = _benchmarks(build, "transport_bench", repeats)
    rows = [
        {**row(title, "ns", packets[name]), "instructions": _instructions(build, name)}
        for name, title in PACKETS.items()
    ]
    busy = _benchmarks(build, "device_bench", repeats)
    for among, (alone, crowded) in GROWTH.items():
        rows.append(
            row(f"64 B WRITE, {among} (none)", "ns", busy[crowded], {"none": busy[alone]}, "<= 1.1 x none")
        )
    return rows
