# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Rows of medians beside the peers' medians, judged by goals, as a table or as JSON."""
import operator
import statistics

COMPARISONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def row(name, unit, values, peers=None, goal=None, port=None):
    """Medians of what was measured. `peers` is {name: values}. A goal is '>= 1.2 x PEER', or '< 3' of the
    unit itself; several are joined by ' and '."""
    median = statistics.median(values)
    beside = {peer: statistics.median(theirs) for peer, theirs in (peers or {}).items()}
    return {
        "name": name,
        "port": port,
        "unit": unit,
        "ours": median,
        "spread": [min(values), max(values)],
        "peers": {peer: {"value": theirs, "ratio": median / theirs} for peer, theirs in beside.items()},
        "goal": goal,
        "met": None if goal is None else is_met(goal, median, beside),
    }


def is_met(goals, median, beside):
    return all(_is_one_met(goal, median, beside) for goal in goals.split(" and "))


def _is_one_met(goal, median, beside):
    comparison, limit, *reference = goal.split(maxsplit=3)
    factor = beside[reference[1]] if reference else 1
    return COMPARISONS[comparison](median, float(limit) * factor)


def _number(value):
    return f"{value:.2f}"


def print_table(rows):
    width = max(len(entry["name"]) for entry in rows)
    ports = max(len(entry["port"] or "") for entry in rows)
    goals = max(len(entry["goal"] or "goal") for entry in rows)
    print(
        f"{'what':<{width}}  {'port':<{ports}}  {'unit':<12}{'median':>9}  {'min..max':<19}{'goal':<{goals}}  {'':<8}beside (ratio)"
    )
    for entry in rows:
        spread = "..".join(map(_number, entry["spread"]))
        verdict = {True: "met", False: "MISSED", None: ""}[entry["met"]]
        beside = [
            f"{peer} {_number(found['value'])} ({_number(found['ratio'])} x)"
            for peer, found in entry["peers"].items()
        ]
        if entry.get("instructions"):
            beside.append(f"{entry['instructions']:.0f} instructions")
        print(
            f"{entry['name']:<{width}}  {entry['port'] or '':<{ports}}  {entry['unit']:<12}{_number(entry['ours']):>9}  {spread:<19}"
            f"{entry['goal'] or '':<{goals}}  {verdict:<8}{', '.join(beside)}".rstrip()
        )
    judged = [entry["met"] for entry in rows if entry["met"] is not None]
    print(f"{judged.count(True)} of {len(judged)} goals met")
