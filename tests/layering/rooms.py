#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Draws the rooms of the project as floors, and fails where rooms include each other in a circle.

    rooms.py [ROOT]

A room stands above all rooms that it includes. Each line: a room, its lines of code, and the rooms it
includes with how many #includes lead there. A folder of the transport, and the folders of tools/command,
count as one room. """
import collections
import graphlib
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import check_includes  # noqa: E402

# How many folders name a room.
DEPTHS = {"transport": 1, "nic": 2, "drivers": 2, "verbs_api": 2, "tools": 3}
WHOLE = ("tools/command",)


def room_of(path):
    for folder in WHOLE:
        if check_includes.is_below(path, folder):
            return folder
    folders = pathlib.PurePosixPath(path).parent.parts
    return "/".join(folders[: DEPTHS[folders[0]]])


def read(root):
    """(lines of each room, {room: {room that it includes: count}})"""
    lines, arrows = collections.Counter(), collections.defaultdict(collections.Counter)
    for file, text in check_includes.sources(root):
        room = room_of(file)
        lines[room] += text.count("\n")
        for match in check_includes.INCLUDE.finditer(text):
            own = match[1]
            if own is not None and room_of(own) != room:
                arrows[room][room_of(own)] += 1
    return lines, arrows


def floors_of(rooms, arrows):
    """Lists of rooms, the ground first. Raises graphlib.CycleError, which has the circle."""
    order = graphlib.TopologicalSorter({room: arrows.get(room, ()) for room in rooms})
    floors = {}
    for room in order.static_order():
        floors[room] = max((floors[below] + 1 for below in arrows.get(room, ())), default=0)
    drawn = [[] for _ in range(max(floors.values(), default=-1) + 1)]
    for room in sorted(floors):
        drawn[floors[room]].append(room)
    return drawn


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    lines, arrows = read(root)
    try:
        floors = floors_of(lines, arrows)
    except graphlib.CycleError as error:
        print("these rooms include each other in a circle: " + " <- ".join(error.args[1]))
        return 1
    for number, rooms in reversed(list(enumerate(floors))):
        for room in rooms:
            below = ", ".join(f"{name} {count}" for name, count in sorted(arrows[room].items()))
            print(f"{number:>2}  {room:<30} {lines[room]:>6}  {below}")
    print(f"{len(lines)} rooms, {sum(map(len, arrows.values()))} arrows, none of them upwards")
    # An empty tree has no floors.
    return 0 if lines else 1


if __name__ == "__main__":
    sys.exit(main())
