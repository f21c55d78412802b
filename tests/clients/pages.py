# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Pages that show commands with their output: how they are read, run, and compared with what commands say.

A page has blocks

    ```console
    $ urnic run -- ibv_rc_pingpong -d urnic0 -g 1 >server.txt &
    $ urnic run -- ibv_rc_pingpong -d urnic0 -g 1 localhost
    8192000 bytes in 0.02 seconds = 3276.80 Mbit/sec
    ...
    ```

and a comment before a block says what is special about it:

    <!-- not run: it needs root -->         the block is not run; the test lists it with this reason
    <!-- varies: in ([\\d.]+) seconds -->    what its groups match, numbers alone, differs each time
    <!-- file: write.c -->                  the block is no command: it is the text of this file

A line `...` stands for lines that are left out. Spaces are compared as one. Everything else is compared as it
is. All commands of a page run in one shell, one after the other. After a command with `&` the next one waits
until that program listens, or has ended, or a second is over.
"""
import dataclasses
import difflib
import re

LEFT_OUT = "..."
_COMMENT = re.compile(r"<!-- (not run|varies|file): (.+) -->")
_FENCE = re.compile(r"```(\w*)$")
# Decimal or hexadecimal, and a time or speed with its unit.
_NUMBER = re.compile(r"(0x)?[0-9a-fA-F]+(\.\d+)?( ?([num]?s|[kMG]?b/s))?")
_BEGIN, _END = "\x1e", "\x1f"


class Wrong(Exception):
    """A page that cannot be read."""


@dataclasses.dataclass
class Step:
    """A command, and what the page says that it writes."""

    line: int
    command: str
    shown: list
    varies: list


@dataclasses.dataclass
class Page:
    name: str
    steps: list = dataclasses.field(default_factory=list)
    files: dict = dataclasses.field(default_factory=dict)
    not_run: list = dataclasses.field(default_factory=list)  # (line, commands, reason)


def read(text, name):
    page = Page(name)
    lines = text.splitlines()
    notes, number = [], 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if comment := _COMMENT.fullmatch(line.strip()):
            notes.append(comment.groups())
            continue
        fence = _FENCE.match(line)
        if fence is None:
            if line.strip():
                if notes:
                    raise Wrong(f"{name}:{number}: no block follows the comment '{notes[-1][0]}'")
            continue
        begin = number
        while number < len(lines) and lines[number] != "```":
            number += 1
        if number == len(lines):
            raise Wrong(f"{name}:{begin}: the block does not end")
        _add_block(page, fence[1], notes, lines[begin:number], begin + 1)
        notes, number = [], number + 1
    return page


def _add_block(page, language, notes, lines, number):
    values = {"not run": [], "varies": [], "file": []}
    for kind, value in notes:
        values[kind].append(value)
    if values["file"]:
        page.files[values["file"][0]] = "\n".join(lines) + "\n"
        return
    if language != "console":
        if notes:
            raise Wrong(f"{page.name}:{number}: '{notes[0][0]}' is for a block of console")
        return
    steps = _steps(lines, number, [re.compile(pattern) for pattern in values["varies"]], page.name)
    if values["not run"]:
        page.not_run.append((number, [step.command for step in steps], values["not run"][0]))
        return
    for pattern in values["varies"]:
        if not any(re.search(pattern, _joined(line)) for step in steps for line in step.shown):
            raise Wrong(f"{page.name}:{number}: nothing in the block varies as '{pattern}'")
    page.steps += steps


def _steps(lines, number, varies, name):
    steps = []
    continues = False
    for line in lines:
        if continues:
            steps[-1].command += "\n" + line
        elif line.startswith("$ "):
            steps.append(Step(number, line[2:], [], varies))
        elif not steps:
            raise Wrong(f"{name}:{number}: a block of console begins with '$ COMMAND'")
        else:
            steps[-1].shown.append(line)
        continues = not steps[-1].shown and line.endswith("\\")
        number += 1
    return steps


# A program that `urnic run` starts has the process number of `urnic run`.
_WAIT = """urnic_page_wait() {
  for _ in $(seq 100); do
    kill -0 "$1" 2>/dev/null || return 0
    ss -ltnpH 2>/dev/null | grep -q "pid=$1," && return 0
    sleep 0.01
  done
}
"""


def script_of(page):
    """A script for bash that runs all of it, with marks around what each command writes."""
    parts = [_WAIT, "exec 2>&1 </dev/null\n"]
    for step in page.steps:
        parts.append(f"printf '\\036'\n{step.command}\n")
        if step.command.rstrip().endswith("&"):
            parts.append("urnic_page_wait $!\n")
        parts.append("printf '\\037'\n")
    parts.append("wait\n")
    return "".join(parts)


def outputs_of(said):
    """What each command wrote, of what the script wrote; a list for each."""
    return [part.split(_END)[0].splitlines() for part in said.split(_BEGIN)[1:]]


def _joined(line):
    """The line with one space for several, as patterns see it."""
    return " ".join(line.split())


def _plain(line, varies):
    """The joined line without what varies. Raises Wrong where more than a number varies."""

    def masked(match):
        text = match[0]
        for group in range(match.re.groups, 0, -1):
            if match[group] is None:  # of another alternative
                continue
            begin, end = (at - match.start() for at in match.span(group))
            if not _NUMBER.fullmatch(match[group]):
                raise Wrong(f"'{match.re.pattern}' lets more than a number vary: '{match[group]}'")
            text = text[:begin] + "#" + text[end:]
        return text

    line = _joined(line)
    for pattern in varies:
        line = pattern.sub(masked, line)
    return line


def is_as_shown(shown, said):
    """Whether the lines are those that are shown, of which some may be left out."""
    parts = [[]]
    for line in shown:
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return said == shown
    first, *middle, last = parts
    if said[: len(first)] != first:
        return False
    at = len(first)
    for part in middle:
        while said[at : at + len(part)] != part:
            at += 1
            if at + len(part) > len(said):
                return False
        at += len(part)
    return len(said) - at >= len(last) and (not last or said[-len(last) :] == last)


def complaints(page, outputs):
    """What differs from the page, a text for each command."""
    for step, said in zip(page.steps, outputs + [None] * (len(page.steps) - len(outputs))):
        place = f"{page.name}:{step.line}: $ {step.command}"
        if said is None:
            yield f"{place}\n  did not run"
            continue
        wanted = [_plain(line, step.varies) for line in step.shown]
        got = [_plain(line, step.varies) for line in said]
        if not is_as_shown(wanted, got):
            yield "\n".join([place, *(f"  {line}" for line in difflib.ndiff(wanted, got) if line[0] != "?")])
