# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is expected of a NIC: an observation of personality_probe, what it must be, and how sure that is.

Only what was measured, read in source code or documented judges. The rest is kept with its reason, and a
difference from it is told and fails nothing.
"""
import dataclasses
import re

MEASURED = "measured"  # on a card, by the source
READ = "read in source"  # of the driver or its library
DOCUMENTED = "documented"  # in a manual page, or a rule of the InfiniBand standard
REPORTED = "reported"  # by one or a few users
RECALLED = "recalled"  # known, and not looked up again
INFERRED = "inferred"  # from other facts
UNKNOWN = "not known"

NOT_OBSERVED = "not observed"  # how the probe begins where something kept it from observing

JUDGING = (MEASURED, READ, DOCUMENTED)


class Exactly:
    def __init__(self, value):
        self.value = value

    def holds(self, seen):
        return type(seen) is type(self.value) and seen == self.value

    def __str__(self):
        return _shown(self.value)


class OneOf:
    def __init__(self, *values):
        self.values = values

    def holds(self, seen):
        return any(Exactly(value).holds(seen) for value in self.values)

    def __str__(self):
        return " or ".join(_shown(value) for value in self.values)


class Between:
    """A number from `least` to `most`, both included."""

    def __init__(self, least, most):
        self.least, self.most = least, most

    def holds(self, seen):
        return type(seen) is int and self.least <= seen <= self.most

    def __str__(self):
        return f"{self.least} to {self.most}"


class AtLeast(Between):
    def __init__(self, least):
        super().__init__(least, float("inf"))

    def __str__(self):
        return f"at least {self.least}"


class Matches:
    def __init__(self, pattern):
        self.pattern = pattern

    def holds(self, seen):
        return isinstance(seen, str) and re.fullmatch(self.pattern, seen) is not None

    def __str__(self):
        return f"text like {self.pattern}"


class Written:
    """The NIC writes the field, whatever the value."""

    def holds(self, seen):
        return seen != "untouched" and not str(seen).startswith(NOT_OBSERVED)

    def __str__(self):
        return "written by the NIC"


UNTOUCHED = Exactly("untouched")


@dataclasses.dataclass(frozen=True)
class Expectation:
    name: str  # of the observation
    rule: object  # None where nothing is known
    confidence: str
    source: str
    may_be_absent: bool = False  # where another observation says why there is none

    @property
    def judges(self):
        return self.confidence in JUDGING


@dataclasses.dataclass(frozen=True)
class Difference:
    expectation: Expectation
    seen: object  # None: not observed at all

    def __str__(self):
        seen = "nothing" if self.seen is None else _shown(self.seen)
        return (
            f"{self.expectation.name}: expected {self.expectation.rule}, seen {seen}"
            f" ({self.expectation.confidence}: {self.expectation.source})"
        )


def differences(expectations, observations):
    """Where the observations are not as expected."""
    found = []
    for expectation in expectations:
        seen = observations.get(expectation.name)
        is_absent = seen is None or str(seen).startswith(NOT_OBSERVED)
        if expectation.rule is None or (is_absent and expectation.may_be_absent):
            continue
        if not expectation.rule.holds(seen):
            found.append(Difference(expectation, seen))
    return found


def from_source(confidence, source, rules, prefix="", **how):
    """Expectations that share a source: {name: rule}; a rule that is a plain value means exactly that."""
    return [
        Expectation(
            prefix + name, rule if hasattr(rule, "holds") else Exactly(rule), confidence, source, **how
        )
        for name, rule in rules.items()
    ]


def not_known(reason, *names):
    return [Expectation(name, None, UNKNOWN, reason) for name in names]


def _shown(value):
    return f"{value} (0x{value:x})" if type(value) is int and value > 9 else str(value)
