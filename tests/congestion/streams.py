# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Draws, from a seed, the parameters of one controller and what happens to it; the model's answers come
along.

The model runs while the events are drawn, so that they can be put where it matters: on a tick, a nanosecond
beside it, into the period before an increase. A stream may cost the model only so many ticks, which bounds
its silences: long ones come with long timers, and in the few streams that may cost more.
"""
import dataclasses
import math
import random

import dcqcn_model
import timely_model

NS_PER_US = 1_000
LONGEST_SILENCE = 20_000_000_000
TICKS = 9_000
TICKS_OF_LONG_STREAM = 150_000  # one silence may take half of them: more ticks of a timer than 16 bits count
LONG_STREAMS = 40  # one in so many
SET_STREAMS = 3  # in one of so many streams of DCQCN parameters change now and then

LINE_RATES = (
    1_000_000, 10_000_000, 100_000_000, 999_999_999, 1_000_000_000, 2_500_000_000, 10_312_500_000, 25_000_000_000, 40_000_000_000,
    100_000_000_000, 200_000_000_000, 400_000_000_000,
)  # fmt: skip

# Facts A1. What a column does not have is 0, or does nothing.
DCQCN_PRESETS = {
    # NVIDIA's column: mlxconfig of real cards.
    "cx": {
        "dce_tcp_g": 1019, "dce_tcp_rtt": 1, "initial_alpha_value": 1023, "rate_to_set_on_first_cnp": 0,
        "rate_reduce_monitor_period": 4, "rpg_min_dec_fac": 50, "rpg_gd": 11, "rpg_min_rate": 1, "rpg_max_rate": 0,
        "rpg_time_reset": 300, "rpg_threshold": 1, "rpg_ai_rate": 5, "rpg_hai_rate": 50, "rpg_byte_reset": 32767,
        "clamp_tgt_rate": 0, "clamp_tgt_rate_after_time_inc": 1,
    },
    # The authors' column. They cut at every CNP, and CNPs are 50 us apart: a check every us comes closest.
    "paper": {
        "dce_tcp_g": 1020, "dce_tcp_rtt": 55, "initial_alpha_value": 512, "rate_to_set_on_first_cnp": 0,
        "rate_reduce_monitor_period": 1, "rpg_min_dec_fac": 0, "rpg_gd": 11, "rpg_min_rate": 100, "rpg_max_rate": 0,
        "rpg_time_reset": 60, "rpg_threshold": 5, "rpg_ai_rate": 40, "rpg_hai_rate": 200, "rpg_byte_reset": 300_000_000,
        "clamp_tgt_rate": 1, "clamp_tgt_rate_after_time_inc": 0,
    },
    # The example config of HPCC. Its alpha begins at 1; a card takes 1023/1024 at most.
    "hpcc": {
        "dce_tcp_g": 1020, "dce_tcp_rtt": 1, "initial_alpha_value": 1023, "rate_to_set_on_first_cnp": 0,
        "rate_reduce_monitor_period": 4, "rpg_min_dec_fac": 0, "rpg_gd": 11, "rpg_min_rate": 100, "rpg_max_rate": 0,
        "rpg_time_reset": 900, "rpg_threshold": 1, "rpg_ai_rate": 50, "rpg_hai_rate": 100, "rpg_byte_reset": 0,
        "clamp_tgt_rate": 0, "clamp_tgt_rate_after_time_inc": 1,
    },
}  # fmt: skip

# Facts A4.
TIMELY_PRESETS = {
    "hpcc": {"add_rate": 50, "beta": 0.8, "ewma": 0.875, "t_low": 50, "t_high": 500, "min_rtt": 20, "hai_threshold": 5,
             "min_rate": 100},
    "erpc": {"add_rate": 40, "beta": 0.8, "ewma": 0.02, "t_low": 50, "t_high": 1000, "min_rtt": 2, "hai_threshold": 5,
             "min_rate": 120},
}  # fmt: skip


@dataclasses.dataclass
class Stream:
    seed: int
    controller: str
    preset: str
    parameters: dict
    events: list = dataclasses.field(default_factory=list)
    answers: list = dataclasses.field(default_factory=list)

    def beginning(self):
        return f"new {self.controller} " + " ".join(
            f"{name}={value}" for name, value in self.parameters.items()
        )

    def text(self):
        return "\n".join((self.beginning(), *self.events)) + "\n"

    def add(self, event, answer):
        self.events.append(event)
        self.answers.append(answer)


def draw(seed, events):
    rng = random.Random(seed)
    return draw_timely(rng, seed, events) if rng.random() < 0.25 else draw_dcqcn(rng, seed, events)


def logarithmic(rng, low, high):
    """An integer of [low, high], as likely small as large."""
    return min(high, int(low * math.exp(rng.uniform(0, math.log((high + 1) / low)))))


def draw_preset(rng, presets, draw_values):
    """A preset as it is, a preset with some values drawn, or drawn values."""
    choice = rng.random()
    name = rng.choice(list(presets))
    if choice < 0.4:
        return name, dict(presets[name])
    values = draw_values(rng)
    if choice < 0.7:
        changed = rng.sample(list(presets[name]), rng.randint(1, 4))
        return f"{name} with another " + ", ".join(changed), presets[name] | {
            key: values[key] for key in changed
        }
    return "random", values


def draw_line_rate(rng):
    return rng.choice(LINE_RATES) if rng.random() < 0.7 else logarithmic(rng, 1_000_000, 400_000_000_000)


# DCQCN


def draw_dcqcn_values(rng):
    """The ranges are from DOCA's "DCQCN CC Parameters" and, for rpg_gd, from the field of NVConfig."""
    scale = logarithmic(rng, 1, 131071)

    def period():
        low, high = (1, 131071) if rng.random() < 0.2 else (max(1, scale // 20), min(131071, scale * 20))
        return rng.choice((1, logarithmic(rng, low, high), logarithmic(rng, low, high)))

    def mbps():
        return rng.choice((1, 5, 100, 400_000, logarithmic(rng, 1, 400_000), logarithmic(rng, 1, 400_000)))

    monitor = period()
    if rng.random() < 0.03:
        monitor = rng.choice((5_000_000, (1 << 32) - 1))  # more ns than 32 bits hold
    # Increases fall on decrease checks only where one period is a multiple of the other.
    time_reset = monitor * rng.randint(1, 20) if rng.random() < 0.5 and monitor < 6_000 else period()
    return {
        "dce_tcp_g": rng.choice((0, 1, 512, 1019, 1020, 1023, rng.randint(0, 1023), rng.randint(0, 1023))),
        "dce_tcp_rtt": period(),
        "initial_alpha_value": rng.choice((1, 512, 1023, rng.randint(1, 1023))),
        "rate_to_set_on_first_cnp": rng.choice((0, 0, mbps())),
        "rate_reduce_monitor_period": monitor,
        "rpg_min_dec_fac": rng.choice((0, 1, 50, 99, 100, rng.randint(0, 100), rng.randint(0, 100))),
        "rpg_gd": rng.choice((0, 9, 10, 11, 12, 15, rng.randint(0, 15))),
        "rpg_min_rate": mbps(),
        "rpg_max_rate": rng.choice((0, 0, mbps())),
        "rpg_time_reset": time_reset,
        "rpg_threshold": rng.choice((0, 1, 2, 5, 31, rng.randint(0, 31))),
        "rpg_ai_rate": mbps(),
        "rpg_hai_rate": mbps(),
        "rpg_byte_reset": rng.choice(
            (0, 0, 1, 32767, logarithmic(rng, 1, 100_000), logarithmic(rng, 1, 1_000_000_000))
        ),
        "clamp_tgt_rate": rng.choice((0, 0, 1)),
        "clamp_tgt_rate_after_time_inc": rng.choice((0, 1)),
    }


def draw_dcqcn(rng, seed, events):
    preset, values = draw_preset(rng, DCQCN_PRESETS, draw_dcqcn_values)
    parameters = {"line_rate": draw_line_rate(rng)} | values
    if preset in DCQCN_PRESETS:
        parameters["line_rate"] = rng.choice(LINE_RATES)
    is_long = rng.randrange(LONG_STREAMS) == 0
    if is_long and rng.random() < 0.5:
        preset += " with many increases"
        parameters |= {"dce_tcp_rtt": 100, "rate_reduce_monitor_period": 100, "rpg_time_reset": 1}
    stream = Stream(seed, "dcqcn", preset, parameters)
    model = dcqcn_model.Dcqcn(parameters)
    clock = Clock(rng, model, events, TICKS_OF_LONG_STREAM if is_long else TICKS)
    congested = True
    is_set = rng.randrange(SET_STREAMS) == 0
    for _ in range(events):
        if rng.random() < 0.1:
            congested = not congested
        now = clock.next(congested)
        if is_set and rng.random() < 0.08:
            changed = draw_change(rng)
            parameters = parameters | changed
            model.on_set(now, parameters)
            stream.add(
                f"{now} set " + " ".join(f"{name}={value}" for name, value in changed.items()), model.state()
            )
            continue
        kind = rng.random()
        if kind < (0.5 if congested else 0.04):
            model.on_cnp(now)
            event = f"{now} cnp"
        elif kind < 0.75:
            size = draw_size(rng, model.byte_reset)
            model.on_send(now, size)
            event = f"{now} send {size}"
        else:
            model.look(now)
            event = f"{now} look"
        stream.add(event, model.state())
    return stream


def draw_change(rng):
    """Other values of one parameter, or of a few."""
    values = {"line_rate": draw_line_rate(rng)} | draw_dcqcn_values(rng)
    often = ("line_rate", "rpg_max_rate", "rpg_min_rate", "rpg_byte_reset")
    names = [rng.choice(often)] if rng.random() < 0.5 else rng.sample(list(values), rng.randint(1, 4))
    return {name: values[name] for name in names}


def draw_size(rng, byte_reset):
    largest = min(1_000_000, 100 * byte_reset) if byte_reset else 1_000_000
    beside_reset = (byte_reset - 1, byte_reset, 3 * byte_reset + 1)
    size = rng.choice((0, 1, 64, 1024, 4096, *beside_reset, logarithmic(rng, 1, largest), largest))
    return max(0, min(size, largest))


class Clock:
    """Chooses when the next event happens, within what the model may cost."""

    def __init__(self, rng, model, events, ticks):
        self.rng = rng
        self.model = model
        self.ticks_left = ticks
        self.ticks_of_step = 4 * ticks // events
        self.now = rng.choice((0, 0, 1, (1 << 32) - 1, rng.randrange(10**15)))

    def next(self, congested):
        if not self.model.has_seen_cnp:
            self.now += self.rng.choice((0, 1, self.rng.randrange(10_000), self.rng.randrange(3_000_000_000)))
            return self.now
        is_silence = self.rng.random() < 0.03
        wanted = self.rng.randrange(LONGEST_SILENCE) if is_silence else self.wanted_time(congested) - self.now
        ticks = min(self.ticks_left, self.ticks_left // 2 if is_silence else self.ticks_of_step)
        step = max(0, min(wanted, int(ticks / self.ticks_per_ns())))
        self.ticks_left -= int(step * self.ticks_per_ns())
        self.now += step
        return self.now

    def wanted_time(self, congested):
        rng, model, now = self.rng, self.model, self.now
        due = [
            time
            for time in (model.alpha_due, model.decrease_due, model.increase_due)
            if time < dcqcn_model.NEVER
        ]
        choice = rng.random()
        if choice < 0.1:
            return now
        if choice < 0.35:
            return rng.choice(due) + rng.choice((-1, 0, 0, 0, 1))
        if choice < 0.5 and model.increase_due in due:
            return model.increase_due - rng.randrange(model.decrease_period + 2)
        if congested:
            return now + rng.randrange(2 * min(model.decrease_period, LONGEST_SILENCE))
        return now + rng.randrange(6 * model.increase_period)

    def ticks_per_ns(self):
        return 1 / self.model.alpha_period + 1 / self.model.decrease_period + 1 / self.model.increase_period


# TIMELY


def draw_timely_values(rng):
    t_low = rng.choice((0, 50, logarithmic(rng, 1, 10_000)))
    return {
        "add_rate": rng.choice((1, 5, 40, logarithmic(rng, 1, 100_000))),
        "beta": rng.choice((0.8, 0.5, round(rng.uniform(0, 1), 2))),
        "ewma": rng.choice((0.875, 0.125, 0.5, 1.0, 1.0, 0.02, round(rng.uniform(0.001, 1), 3))),
        "t_low": t_low,
        "t_high": max(1, t_low + rng.choice((0, 1, -1, 450, logarithmic(rng, 1, 100_000)))),
        "min_rtt": rng.choice((1, 2, 20, logarithmic(rng, 1, 1_000))),
        "hai_threshold": rng.choice((1, 2, 5, rng.randint(1, 20))),
        "min_rate": rng.choice((1, 100, logarithmic(rng, 1, 400_000))),
    }


def draw_timely(rng, seed, events):
    preset, values = draw_preset(rng, TIMELY_PRESETS, draw_timely_values)
    stream = Stream(seed, "timely", preset, {"line_rate": draw_line_rate(rng)} | values)
    model = timely_model.Timely(stream.parameters)
    now = rng.choice((0, 1, rng.randrange(10**15)))
    rtts = Rtts(rng, model)
    for _ in range(events):
        now += rng.choice((0, rng.randrange(1_000), rng.randrange(1_000_000)))
        rtt = rtts.next()
        while gradient_is_a_matter_of_rounding(model, rtt):
            rtt += 1
        model.on_rtt(rtt)
        stream.add(f"{now} rtt {rtt}", model.state())
    return stream


class Rtts:
    """The RTT stays, falls, rises or jumps for a while each."""

    def __init__(self, rng, model):
        self.rng = rng
        self.model = model
        self.rtt = rng.choice((0, self.middle()))
        self.phase = rng.choice(("stays", "jumps"))

    def middle(self):
        return (self.model.t_low + self.model.t_high) // 2

    def next(self):
        if self.rng.random() < 0.12:
            self.phase = self.rng.choice(("stays", "falls", "falls", "rises", "jumps", "is long", "is short"))
            if self.phase == "falls":
                self.rtt = self.model.t_high
            elif self.phase == "stays":
                self.rtt = self.rng.choice((self.rtt, self.middle()))
        self.rtt = max(0, self.moved())
        return self.rtt

    def moved(self):
        rng, model = self.rng, self.model
        if self.phase == "stays":
            return self.rtt
        if self.phase == "falls":
            return self.rtt - rng.randrange(1 + model.min_rtt)
        if self.phase == "rises":
            return self.rtt + rng.randrange(1 + model.min_rtt)
        if self.phase == "is long":
            return model.t_high + rng.randrange(1, 1 + 20 * model.t_high)
        if self.phase == "is short":
            return rng.randrange(1 + model.t_low)
        edge = rng.choice((model.t_low, model.t_high)) + rng.choice((-1, 0, 1))
        return rng.choice((edge, self.middle(), rng.randrange(1 + 2 * model.t_high)))


def gradient_is_a_matter_of_rounding(model, rtt):
    """Where two terms cancel, a fused multiplication may have another sign, and both are right."""
    if model.previous is None:
        return False
    old = (1 - model.ewma) * model.difference
    new = model.ewma * (rtt - model.previous)
    return old * new < 0 and abs(old + new) <= 1e-6 * abs(new)
