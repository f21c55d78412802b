# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The words that a lab is written in: each NN_name/lab.py makes one Lab out of them."""
import dataclasses
import typing

SIDES = ("server", "client")


@dataclasses.dataclass
class Say:
    """Something to read."""

    title: str
    text: str


@dataclasses.dataclass
class Exercise:
    """A file of the student's folder that has gaps. `text` says what goes into them."""

    title: str
    file: str
    text: str


@dataclasses.dataclass
class Question:
    """Asked before an experiment. `truth(seen)` is the answer of the packets, `expected` the answer of
    theory; both must agree, whatever the student answers.

    `choices` make a question with letters for answers; `expected` and `truth` are then letters. Otherwise
    answers are numbers, and those are right that differ from the truth by no more than the share
    `tolerance` of it. `expected` may be a function, which gets the truth and says whether theory allows
    it: of times, which have a lower limit only."""

    text: str
    truth: typing.Callable
    expected: typing.Any
    why: str
    choices: tuple = ()
    unit: str = ""
    tolerance: float = 0.0

    def agrees(self, truth):
        return self.expected(truth) if callable(self.expected) else truth == self.expected

    def is_right(self, answer, truth):
        return answer == truth if self.choices else abs(answer - truth) <= self.tolerance * abs(truth)


@dataclasses.dataclass
class Expect:
    """What packets and notes must show: then `test(seen)` is true. Otherwise `otherwise` (words, or a
    function of `seen` that makes them) says what to do."""

    text: str
    test: typing.Callable
    otherwise: typing.Any

    def complaint(self, seen):
        """Empty when all is well."""
        if self.test(seen):
            return ""
        return self.otherwise(seen) if callable(self.otherwise) else self.otherwise


@dataclasses.dataclass
class Program:
    """A program of an experiment. `{port}` in its words is a TCP port that is free, which it also finds in
    LAB_PORT. A plain one may be `urnic` itself."""

    name: str
    command: str
    nic: str = ""  # options of `urnic run`
    is_plain: bool = False  # without a NIC of its own
    waits_for_listener: bool = False  # starts when the port has a listener
    may_fail: bool = False  # its exit code says nothing


@dataclasses.dataclass
class Experiment:
    """Programs that run at the same time, each recorded in NAME-PROGRAM.pcapng."""

    name: str
    title: str
    text: str
    programs: tuple
    questions: tuple = ()
    expects: tuple = ()
    after: str = ""  # to read when all is well
    hint: str = ""  # to read when a program fails
    recordings_of: str = ""  # the name of an earlier experiment whose packets this one is about
    captures: tuple = ()  # files of the folder that it is about besides, each for itself: seen.captures has a Trace by the name of each
    broken_rules: tuple = ()  # rules of `urnic check` that are broken on purpose


@dataclasses.dataclass
class Lab:
    title: str
    minutes: int
    understand: tuple
    steps: tuple
    picture: str  # the name of the experiment that page.html shows
    # Programs and files beside the usual ones, and Debian's packages of them.
    needs: dict = dataclasses.field(default_factory=dict)
    needs_udp_port: bool = False  # its packets go by UDP port 4791 of the host, which one user has at a time

    # Filled in by the catalog.
    number: int = 0
    folder: typing.Any = None


def pair(program, arguments="", client=None, server_nic="", client_nic="", may_fail=()):
    """A program of a lab as a server and as its client."""
    words = f" {arguments}" if arguments else ""
    return (
        Program("server", f"./{program}{words}", nic=server_nic, may_fail="server" in may_fail),
        Program(
            "client", f"./{client or program} localhost{words}", nic=client_nic, may_fail="client" in may_fail
        ),
    )


def ranks(program, count, arguments="", nic=""):
    """A program of a lab as rank0, rank1 and so on: it is told its rank and their number."""
    words = f" {arguments}" if arguments else ""
    return tuple(
        Program(f"rank{rank}", f"./{program} {rank} {count}{words}", nic=nic) for rank in range(count)
    )
