# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""A sweep as a table, as JSON and as a picture, which gnuplot draws."""
import os
import subprocess

SHOWN_SIZES = (2, 8, 64, 1024, 4096, 65536, 1 << 20, 8 << 20)
PANEL = 520, 400  # pixels


def _size(value):
    for unit, bytes_ in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if value >= bytes_ and value % bytes_ == 0:
            return f"{value // bytes_} {unit}B"
    return f"{value} B"


def _figure(line, cell):
    if cell is None:
        return "-"
    return f"{cell.time_us:.4g}" if line.is_latency else f"{cell.gbits:.3g}"


def print_sweep(table, faults, failures, tcp_gbits):
    width = max(map(len, map(str, table)))
    print(
        f"typical time in us (of a READ or an atomic for a round trip, else for half of one), or Gb/s; TCP {tcp_gbits:.1f} Gb/s in messages of 64 KiB"
    )
    print(f"{'':<{width}}  " + "".join(f"{_size(size):>9}" for size in SHOWN_SIZES))
    for line, cells in table.items():
        if cells:
            print(
                f"{str(line):<{width}}  "
                + "".join(f"{_figure(line, cells.get(size)):>9}" for size in SHOWN_SIZES)
            )
    for line, why in failures.items():
        print(f"failed: {line}: {why}")
    for (line, size), why in faults.items():
        print(f"out of line: {line}, {_size(size)}: {why}")
    print(
        f"{len(faults)} of {sum(map(len, table.values()))} cells are out of line, {len(failures)} runs failed"
    )


def as_json(table, faults, failures, tcp_gbits):
    return {
        "cores": os.cpu_count(),
        "tcp_gbits": tcp_gbits,
        "lines": [
            {
                "port": line.port,
                "program": line.program,
                "transport": line.transport,
                "option": line.option,
                "failure": failures.get(line),
                "cells": [
                    {
                        "bytes": size,
                        "time_us": cell.time_us,
                        "average_us": cell.average_us,
                        "gbits": cell.gbits,
                        "out_of_line": faults.get((line, size)),
                    }
                    for size, cell in cells.items()
                ],
            }
            for line, cells in table.items()
        ],
    }


def _points(name, points):
    return [f"${name} << END", *(f"{x} {y}" for x, y in points), "END"]


def _panel(port, is_latency, table, faults, tcp_gbits, number):
    """Lines of gnuplot: the programs without options as curves, what is out of line as rings."""
    figure = lambda cell: cell.time_us if is_latency else cell.gbits
    chosen = {
        line: cells for line, cells in table.items() if line.port == port and line.is_latency == is_latency
    }
    script, curves = [], []
    plain = [(line, cells) for line, cells in chosen.items() if not line.option and len(cells) > 1]
    for index, (line, cells) in enumerate(plain):
        name = f"d{number}_{index}"
        script += _points(name, [(size, figure(cell)) for size, cell in cells.items()])
        title = f"{line.program} {line.transport}".replace("_", "\\\\_")
        curves.append(f'${name} using 1:2 with lines lw 2 title "{title}"')
    if not is_latency:
        curves.append(f'{tcp_gbits} with lines dashtype 2 lc rgb "black" title "TCP, 64 KiB"')
    rings = [(size, figure(chosen[line][size])) for line, size in faults if line in chosen]
    if rings:
        script += _points(f"r{number}", rings)
        curves.append(f'$r{number} using 1:2 with points pt 6 ps 1 lc rgb "red" title "out of line"')
    unit = "typical time, us" if is_latency else "Gb/s"
    script += [f'set title "{port}: {unit}"', "plot " + ", ".join(curves)] if curves else []
    return script


def draw(file, table, faults, tcp_gbits):
    """Writes an SVG. OSError, and CalledProcessError with what gnuplot says."""
    ports = list(dict.fromkeys(line.port for line in table))
    width, height = PANEL
    script = [
        f"set terminal svg size {2 * width},{len(ports) * height} dynamic font 'sans,11'",
        f"set output '{file}'",
        f"set multiplot layout {len(ports)},2",
        "set logscale xy",
        "set format x '%.0b%B'",
        "set xtics 2,16",
        "set grid",
        "set key left top font ',9' samplen 1",
        "set xlabel 'bytes of a message'",
    ]
    for number, (port, is_latency) in enumerate(
        (port, is_latency) for port in ports for is_latency in (True, False)
    ):
        script += _panel(port, is_latency, table, faults, tcp_gbits, number)
    subprocess.run(
        ["gnuplot", "-"],
        input="\n".join([*script, "unset multiplot", ""]),
        text=True,
        check=True,
        capture_output=True,
    )
