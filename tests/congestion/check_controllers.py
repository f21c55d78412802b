#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Compares the congestion controllers with their models, event by event.

    check_controllers.py PROGRAM [--seeds N] [--first-seed N] [--events N]
    check_controllers.py --self-test            spoils the models and must notice it
    check_controllers.py --print-input ...      what PROGRAM would be given, to run it under a debugger
    check_controllers.py --play [NAME]          is such a PROGRAM itself: a model, or the spoilt one called NAME

PROGRAM is congestion_trace. It reads lines: `new dcqcn NAME=VALUE ...` or `new timely NAME=VALUE ...` begins
a controller, and `TIME_NS cnp`, `TIME_NS send BYTES`, `TIME_NS look`, `TIME_NS set NAME=VALUE ...`, `TIME_NS
rtt RTT_NS` happen to it. After each of the latter it prints a line: `RATE TARGET ALPHA STAGE BYTE_STAGE` of
DCQCN, which must be equal, or `RATE` of TIMELY as %.17g, within 1e-9 of it. The alpha before the first CNP is
not compared. README.md says what is computed.
"""
import argparse
import itertools
import math
import subprocess
import sys

import spoilt_dcqcn
import spoilt_timely
import streams
from dcqcn_model import Dcqcn
from timely_model import Timely

MODELS = {"dcqcn": Dcqcn, "timely": Timely}
SPOILT_MODELS = {"dcqcn": spoilt_dcqcn.MODELS, "timely": spoilt_timely.MODELS}
TOLERANCE = 1e-9
SEEDS = 500
EVENTS = 100
TIMEOUT_S = 300
SHOWN_DIFFERENCES = 3
SHOWN_BEFORE = 6
SHOWN_AFTER = 2


# Being a PROGRAM


def play(lines, models):
    """The answers of these models to the input of a PROGRAM."""
    controller = None
    parameters = {}
    for line in lines:
        words = line.split()
        if words[0] == "new":
            parameters = dict(word.split("=") for word in words[2:])
            controller = models[words[1]](parameters)
            continue
        now, kind = int(words[0]), words[1]
        if kind == "cnp":
            controller.on_cnp(now)
        elif kind == "send":
            controller.on_send(now, int(words[2]))
        elif kind == "look":
            controller.look(now)
        elif kind == "set":
            parameters = parameters | dict(word.split("=") for word in words[2:])
            controller.on_set(now, parameters)
        elif kind == "rtt":
            controller.on_rtt(int(words[2]))
        else:
            raise ValueError(f"what is {line!r}?")
        yield controller.state()


def models_with(spoilt_name):
    for controller, spoilt in SPOILT_MODELS.items():
        if spoilt_name in spoilt:
            return MODELS | {controller: spoilt[spoilt_name]}
    if spoilt_name:
        sys.exit(f"there is no spoilt model called {spoilt_name}")
    return MODELS


# Comparing


def is_same(controller, wanted, got):
    wanted, got = wanted.split(), got.split()
    if len(wanted) != len(got):
        return False
    if controller == "dcqcn":
        return all(a in ("-", b) for a, b in zip(wanted, got))
    try:
        return math.isclose(float(wanted[0]), float(got[0]), rel_tol=TOLERANCE, abs_tol=0)
    except ValueError:
        return False


def first_difference(stream, answers):
    """The number of the first event after which the state is another one, or None. Missing answers are
    different."""
    for number, (wanted, got) in enumerate(itertools.zip_longest(stream.answers, answers, fillvalue="")):
        if not is_same(stream.controller, wanted, got):
            return number
    return None


def describe(stream, answers, number):
    names = "rate" if stream.controller == "timely" else "rate target alpha stage byte_stage"
    lines = [
        f"seed {stream.seed}, preset {stream.preset}: the states differ after event {number}",
        f"  {stream.beginning()}",
    ]
    lines.append(f"  ({names})")
    for i in range(max(0, number - SHOWN_BEFORE), min(len(stream.events), number + 1 + SHOWN_AFTER)):
        got = answers[i] if i < len(answers) else "nothing"
        if i == number:
            lines.append(f"> {i:4}  {stream.events[i]:40}  model    {stream.answers[i]}")
            lines.append(f"  {'':4}  {'':40}  program  {got}")
        else:
            lines.append(
                f"  {i:4}  {stream.events[i]:40}  {'both ' if i < number else 'model'}    {stream.answers[i]}"
            )
    if number >= len(stream.events):
        lines.append(f"  the program says more than it was asked: {answers[number]!r}")
    return "\n".join(lines)


# Running a PROGRAM


def run(program, all_streams):
    """What it answers, one list for each stream, and what was wrong with the run itself, if anything."""
    text = "".join(stream.text() for stream in all_streams)
    output, complaint = "", ""
    try:
        result = subprocess.run(
            program, input=text, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        output = result.stdout
        if result.returncode != 0:
            complaint = f"{program[0]} ended with {result.returncode}\n{result.stderr}"
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode()
        complaint = f"{program[0]} did not end within {TIMEOUT_S} s"
    except OSError as error:
        complaint = f"{program[0]}: {error.strerror}"
    lines = output.splitlines()
    asked = sum(len(stream.events) for stream in all_streams)
    if len(lines) != asked:
        complaint += f"\n{len(lines)} lines for {asked} events: only the first difference means something"
    answers = []
    for stream in all_streams:
        answers.append(lines[: len(stream.events)])
        del lines[: len(stream.events)]
    if lines:
        answers[-1] += lines[:1]
    return answers, complaint.strip()


def seeds(options):
    return range(options.first_seed, options.first_seed + options.seeds)


def check(program, options):
    all_streams = [streams.draw(seed, options.events) for seed in seeds(options)]
    all_answers, complaint = run([program], all_streams)
    different = []
    for stream, answers in zip(all_streams, all_answers):
        number = first_difference(stream, answers)
        if number is not None:
            different.append((stream, answers, number))
    for stream, answers, number in different[:SHOWN_DIFFERENCES]:
        print(describe(stream, answers, number))
        again = f"--first-seed {stream.seed} --seeds 1 --events {options.events}"
        print(f"Again:     {sys.argv[0]} {program} {again}")
        print(f"Its input: {sys.argv[0]} --print-input {again}\n")
    if complaint:
        print(complaint)
    if different:
        print(f"{len(different)} of {len(all_streams)} seeds differ")
    if different or complaint:
        return 1
    kinds = [stream.controller for stream in all_streams]
    counts = f"{kinds.count('dcqcn')} streams of DCQCN, {kinds.count('timely')} of TIMELY, {options.events} events each"
    print(f"{counts}: no difference")
    return 0


# Checking the checker


def self_test(options):
    all_streams = [streams.draw(seed, options.events) for seed in seeds(options)]
    failures = 0
    for controller, spoilt in SPOILT_MODELS.items():
        own_streams = [stream for stream in all_streams if stream.controller == controller]
        for name, model in spoilt.items():
            found = first_notice(own_streams, {controller: model})
            if found is None:
                failures += 1
                print(f"{controller:6}  {name:32}  NOT NOTICED")
            else:
                print(f"{controller:6}  {name:32}  seed {found[0].seed}, event {found[1]}")
    for complaint in check_plumbing(all_streams[:10]):
        failures += 1
        print(complaint)
    print(f"{failures} failures" if failures else "all spoilt models were noticed")
    return 1 if failures else 0


def first_notice(own_streams, models):
    for stream in own_streams:
        number = first_difference(stream, play(stream.text().splitlines(), models))
        if number is not None:
            return stream, number
    return None


def check_plumbing(some_streams):
    """As a process: the model is right, a spoilt one is not, and neither is a program that fails, ends early
    or says too much."""
    own = [sys.executable, __file__, "--play"]
    rows = (
        ("the model", own, False),
        ("a spoilt model", [*own, "GOffByOne"], True),
        ("a program that fails", ["false"], True),
        ("a program that is not there", ["/nowhere"], True),
        ("a program that says nothing", ["true"], True),
        ("a program that ends early", ["sh", "-c", '"$0" "$@" | head -n 15', *own], True),
        ("a program that says too much", ["sh", "-c", '"$0" "$@"; echo 1', *own], True),
        ("a program that fails at the end", ["sh", "-c", '"$0" "$@"; exit 3', *own], True),
    )
    for name, program, is_wrong in rows:
        all_answers, complaint = run(program, some_streams)
        pairs = zip(some_streams, all_answers)
        noticed = bool(complaint) or any(
            first_difference(stream, answers) is not None for stream, answers in pairs
        )
        if noticed != is_wrong:
            yield f"{name} was {'not ' if is_wrong else ''}noticed: {complaint}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", nargs="?", metavar="PROGRAM")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N")
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N", help="of each seed")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--print-input", action="store_true")
    parser.add_argument("--play", nargs="?", const="", metavar="NAME")
    options = parser.parse_args()
    if options.play is not None:
        for answer in play(sys.stdin, models_with(options.play)):
            print(answer)
        return 0
    if options.seeds < 1 or options.events < 1:
        parser.error("at least one seed and one event")
    if options.print_input:
        for seed in seeds(options):
            print(streams.draw(seed, options.events).text(), end="")
        return 0
    if options.self_test:
        return self_test(options)
    if not options.program:
        parser.error("which PROGRAM?")
    return check(options.program, options)


if __name__ == "__main__":
    sys.exit(main())
