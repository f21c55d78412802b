# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""How a program of an experiment ended, in a sentence for the student whose file it is made of."""
import re
import signal

# What a student can do with a signal. Others have their name only.
CRASHES = {
    signal.SIGSEGV: "it used memory that it does not have, such as a pointer that is NULL",
    signal.SIGBUS: "it used memory that it does not have",
    signal.SIGABRT: "it gave up by abort()",
    signal.SIGFPE: "it divided by 0",
    signal.SIGILL: "it came to what is no instruction",
}
PLACE = re.compile(r'^ *File "(?:.*/)?([^"/]+)", line (\d+)(?:, in (\S+))?$', re.M)
RAISED = re.compile(r"^(\w[\w.]*)(?:: (.*))?$")
WRONG_TEXT = ("SyntaxError", "IndentationError", "TabError")
LAST_LINES = 12


def how_it_ended(name, code, output, seconds=None):
    """About the program `name`. `code` is as subprocess has it; `seconds` is set where it was stopped after
    that time."""
    if seconds is not None:
        why = "it waits for what never comes"
        return f"the {name} did not end within {seconds} s and was stopped: {why}{_last(output)}"
    if code < 0:
        return f"the {name} crashed: {_crash(-code)}{_last(output)}"
    broken = python_error(output) if code == 1 else None
    if broken is not None:
        return f"the {name} does not get through: {broken}"
    return f"the {name} ended with {code}{_last(output)}"


def python_error(output):
    """What a Python program that ended with a traceback stumbled over, as one sentence; None without one."""
    lines = output.rstrip().splitlines()
    places = PLACE.findall(output)
    raised = RAISED.match(lines[-1]) if lines else None
    if not places or raised is None:
        return None
    file, line, function = places[-1]
    kind, words = raised[1].rpartition(".")[2], raised[2] or ""
    if kind in WRONG_TEXT:
        return f"{file}, line {line}, is not Python: {words}."
    where = f", in {function}()" if function not in ("", "<module>") else ""
    return f"{file} stops at line {line}{where}: {kind}{f', {words}' if words else ''}."


def _crash(number):
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{CRASHES[number]} ({name})" if number in CRASHES else f"it was ended by {name}"


def _last(output):
    """The end of what it printed, as the end of a sentence."""
    lines = output.strip().splitlines()
    if not lines:
        return ". It printed nothing."
    begin = (
        "It printed"
        if len(lines) <= LAST_LINES
        else f"The last {LAST_LINES} of {len(lines)} lines that it printed"
    )
    return f". {begin}:\n" + "\n".join(lines[-LAST_LINES:])
