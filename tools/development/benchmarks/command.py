# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Measures urnic beside what else the same machine offers, and prints a table.

Ours and theirs run in turns, several times; what counts is the median. Compare ratios between machines, not
figures. Peers: TCP and UDP over the kernel's loopback (iperf3, sockperf), UCX and libfabric over TCP
(ucx_perftest, fi_pingpong). The limit is what two processes of this machine reach with one copy and one CRC
on each side of shared memory. UCX and libfabric run over urnic, too, with their own programs. With --cable,
servers and clients are on hosts of their own, network namespaces with a virtual cable between them, and so
are TCP and UDP; that takes root.

With --crowd N, everything runs beside N programs that only want a processor, peers and limit too; goals do
not hold then, and nothing is added to the history.

With --beside OPTIONS, each of our rows is measured with those options of 'urnic run', too, in the same turns,
and stands beside the plain one in the place of peers: what --sanitize or --like cost.

With --sweep, every perftest program runs over all sizes, transports and many options, on the default port and
the fabric: a table, a picture (build/sweep.svg) and the cells that are slower than their neighbors, their
kind or TCP. That takes half an hour.

What was measured is added to build/bench-history.jsonl, a line each time; --compare shows two commits beside
each other:

  tools/bench --compare                 the last two commits that were measured
  tools/bench --compare 81793fb d4724   any two
"""
import argparse
import fnmatch
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/clients"))

from benchmarks.cable import Cable  # noqa: E402
from benchmarks.crowd import Crowd  # noqa: E402
from benchmarks.history import History, Unknown  # noqa: E402
from benchmarks.measures import (  # noqa: E402
    PEERS,
    cable_measures,
    chosen_measures,
    own_measures,
    rows_of,
    rows_with_options,
)
from benchmarks.packets import BENCHMARKS, measure_packets  # noqa: E402
from benchmarks.peers import Peers  # noqa: E402
from benchmarks.programs import Failed, Ours, Programs  # noqa: E402
from benchmarks.report import print_table  # noqa: E402
from benchmarks.sweep import Sweep  # noqa: E402
from benchmarks.sweep_report import as_json, draw, print_sweep  # noqa: E402
from building import build  # noqa: E402
from harness import USUAL_PORT  # noqa: E402


SWEPT_PORTS = ("host", "fabric")


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def in_turns(programs, functions, repeats):
    """{name: [what each turn found]}; every turn takes each once, so that a slow minute of the machine is
    shared."""
    found = {name: [] for name in functions}
    for turn in range(repeats):
        for name, function in functions.items():
            show_progress(f"{turn + 1}/{repeats} {' '.join(map(str, name))}")
            found[name].append(function())
            programs.end_all()
    show_progress("")
    return found


def sweep(programs, options):
    tcp_gbits = Peers(programs, options.seconds).tcp_bandwidth()
    is_chosen = lambda name: fnmatch.fnmatch(name, options.only or "*")
    runs = Sweep(programs, show_progress)
    table, faults = runs.run(options.port or SWEPT_PORTS, is_chosen, tcp_gbits)
    if not table:
        print("bench: no run is called so", file=sys.stderr)
        return 2
    picture = ROOT / "build/sweep.svg"
    draw(picture, table, faults, tcp_gbits)
    if options.json:
        print(json.dumps(as_json(table, faults, runs.failures, tcp_gbits), indent=2))
    else:
        print_sweep(table, faults, runs.failures, tcp_gbits)
        print(f"the picture: {picture.relative_to(ROOT)}")
    return 1 if runs.failures else 0


def functions_of(ours, key, measures):
    """{(*key, name): what measures it}"""
    return {(*key, entry.name): lambda find=entry.find: ours.measure(find) for entry in measures}


def measure_options(programs, options, carried):
    """Rows of `carried` {port: measures} without more options, and below each the same with some."""
    functions = {}
    for port, measures in carried.items():
        for words in ("", *options.beside):
            ours = Ours(programs, port, options.seconds, shlex.split(words))
            functions.update(functions_of(ours, (port, words), measures))
    found = in_turns(programs, functions, options.repeats)
    return [
        one
        for port, measures in carried.items()
        for entry in measures
        for one in rows_with_options(
            entry, port, {words: found[port, words, entry.name] for words in ("", *options.beside)}
        )
    ]


def measure(programs, options):
    """Rows of the report: our measures over every port, each port's beside the same peers."""
    ports = options.port or (["host", "udp"] if programs.cable else [USUAL_PORT])
    has_goals = lambda port: not options.crowd and (programs.cable is not None or port == USUAL_PORT)
    measures = (cable_measures if programs.cable else own_measures)(options.quick)
    chosen = chosen_measures(measures, lambda name: fnmatch.fnmatch(name, options.only or "*"))
    carried = {port: [entry for entry in chosen if entry.is_possible_over(port)] for port in ports}
    if options.beside:
        return measure_options(programs, options, carried)
    wanted = {peer for entry in chosen for peer in entry.peers}
    peers = Peers(programs, options.seconds)
    functions = {
        ("peer", name): lambda find=find: find(peers) for name, find in PEERS.items() if name in wanted
    }
    for port in ports:
        functions.update(functions_of(Ours(programs, port, options.seconds), (port,), carried[port]))
    found = in_turns(programs, functions, options.repeats)
    theirs = {name: found["peer", name] for name in PEERS if name in wanted}
    of_port = lambda port: {entry.name: found[port, entry.name] for entry in carried[port]}
    label = lambda port: f"{port}, link MTU {programs.cable.mtu}" if programs.cable else port
    return [
        one
        for port in ports
        for one in rows_of(carried[port], label(port), of_port(port), theirs, has_goals(port))
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="folder of the build to measure")
    parser.add_argument(
        "--port",
        action="append",
        metavar="SPEC",
        help="the --port of both NICs; may be repeated; by default the fabric, which the goals are for; udp: the loopback",
    )
    parser.add_argument(
        "--cable",
        type=int,
        metavar="MTU",
        nargs="?",
        const=1500,
        help="measure between two hosts, over a cable of that link MTU (%(const)s); the ports are then host and udp, unless --port says otherwise",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        help="turns of which the median is taken (default 5; with --quick 1); single packets take at least 5",
    )
    parser.add_argument("--seconds", type=int, help="length of each measurement (default 3; with --quick 1)")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        help="measure only what is called so, with * and ?, and no single packets",
    )
    parser.add_argument(
        "--crowd",
        type=int,
        metavar="N",
        default=0,
        help="measure beside N programs that only want a processor",
    )
    parser.add_argument(
        "--beside",
        metavar="OPTIONS",
        action="append",
        help="also measure our rows with these options of 'urnic run', such as --sanitize=exitcode=0; "
        "may be repeated",
    )
    parser.add_argument("--quick", action="store_true", help="only what has a goal, once: two minutes")
    parser.add_argument(
        "--sweep",
        action="store_true",
        help="run every perftest program over all sizes, transports and options; --only and --port choose",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--compare", nargs="*", metavar="COMMIT", help="measure nothing; compare two commits that were"
    )
    options = parser.parse_args()
    history = History(ROOT)
    if options.compare is not None:
        if len(options.compare) not in (0, 2):
            parser.error("--compare takes two commits, or none for the last two")
        try:
            print("\n".join(history.compare(*options.compare)))
        except Unknown as problem:
            print(f"bench: {problem}", file=sys.stderr)
            return 2
        return 0
    options.repeats = options.repeats or (1 if options.quick else 5)
    options.seconds = options.seconds or (1 if options.quick else 3)

    install = subprocess.run([ROOT / "tools/install-packages", "build", "bench"], stdout=sys.stderr)
    if install.returncode != 0:
        return 1
    if options.crowd < 0:
        parser.error("--crowd takes a number of programs")
    cable = programs = crowd = None
    try:
        cable = Cable(options.cable) if options.cable else None
        programs = Programs(options.build, cable)
        crowd = Crowd(options.crowd)
        if options.sweep:
            return sweep(programs, options)
        rows = []
        if not options.quick and not options.only and not cable and not options.crowd and not options.beside:
            build(options.build, *BENCHMARKS)
            rows += measure_packets(pathlib.Path(options.build), options.repeats)
        rows += measure(programs, options)
    except Failed as failure:
        print(f"bench: a program failed\n{failure}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failure:
        print(f"bench: {failure.cmd[0]} drew no picture\n{failure.stderr}", file=sys.stderr)
        return 1
    finally:
        for each in filter(None, (programs, crowd, cable)):
            each.close()
    if not rows:
        print("bench: nothing is called so", file=sys.stderr)
        return 2
    if not options.crowd and not options.beside:
        history.add(rows, options.repeats)
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "repeats": options.repeats, "measures": rows}, indent=2))
    else:
        print_table(rows)
    return 0
