# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The reaction point of DCQCN in the form of the cards, in integers, one step after the other.

It is written to be read, not to be fast: each timer is a due time, and each tick is carried out. The C++ may
be cleverer; it must arrive at the same numbers. README.md has the same definitions as a list.

It follows the functions *Mlx of HPCC's rdma-hw.cc (facts A2 (2)): the first CNP starts two timers that run
freely, a later CNP only sets two flags, and a third timer increases the rate; each cut restarts the third
one. The parameters have the names and units of OFED's roce_rp files. What is not in HPCC's code is
implemented as follows.

  The byte counter is off when rpg_byte_reset is 0, and then the timer's stage alone chooses the phase, as in
  HPCC: below rpg_threshold fast recovery, at it the additive step, above it the hyper step. When it is on, it
  counts what is sent after the last cut, so nothing before the first cut. Each time it reaches rpg_byte_reset
  it loses rpg_byte_reset and causes the same increase that the timer causes. Each of these increases, whether
  the timer or the counter causes it, looks at both stages: both below rpg_threshold is fast recovery, one
  below it is the additive step, none below it is the hyper step. Then the stage of the one that caused it is
  incremented. This is not facts A2 (1), where a stage is incremented first, an event below the threshold
  recovers whatever the other stage is, and the hyper step is multiplied. Whether a cut moves the target
  depends on the timer's stage alone, also when the byte counter is on. Nothing ends the state after the first
  CNP: a flow that is back at its cap keeps its timers and its alpha.
"""

NS_PER_US = 1_000
BPS_PER_MBPS = 1_000_000
NEVER = 1 << 64  # later than any time of a stream

PARAMETERS = (
    "line_rate",  # bits per second
    "dce_tcp_g",  # the weight of the old alpha, of 1024
    "dce_tcp_rtt",  # us
    "initial_alpha_value",  # of 1024
    "rate_to_set_on_first_cnp",  # Mb/s, 0: leave the rate
    "rate_reduce_monitor_period",  # us
    "rpg_min_dec_fac",  # percent
    "rpg_gd",
    "rpg_min_rate",  # Mb/s
    "rpg_max_rate",  # Mb/s, 0: line rate
    "rpg_time_reset",  # us
    "rpg_threshold",
    "rpg_ai_rate",  # Mb/s
    "rpg_hai_rate",  # Mb/s
    "rpg_byte_reset",  # bytes, 0: no byte counter
    "clamp_tgt_rate",
    "clamp_tgt_rate_after_time_inc",
)


class Dcqcn:
    """One flow. `now` is in ns and never goes back."""

    def __init__(self, parameters):
        self.take(parameters)

        self.rate = self.cap
        self.target = self.cap
        self.alpha = 0  # in units of 2^-16; without a meaning before the first CNP
        self.stage = 0
        self.byte_stage = 0
        self.byte_count = 0

        self.has_seen_cnp = False
        self.has_cut = False
        self.cnp_since_alpha_tick = False
        self.cnp_since_decrease_check = False

        self.alpha_due = NEVER
        self.decrease_due = NEVER
        self.increase_due = NEVER

    def take(self, parameters):
        given = {name: int(parameters[name]) for name in PARAMETERS}
        self.g = given["dce_tcp_g"]
        self.initial_alpha = given["initial_alpha_value"] * 64
        self.gd = given["rpg_gd"]
        self.min_dec_fac = given["rpg_min_dec_fac"]
        self.threshold = given["rpg_threshold"]
        self.byte_reset = given["rpg_byte_reset"]
        self.clamp = given["clamp_tgt_rate"] != 0
        self.clamp_after_time_inc = given["clamp_tgt_rate_after_time_inc"] != 0

        self.alpha_period = given["dce_tcp_rtt"] * NS_PER_US
        self.decrease_period = given["rate_reduce_monitor_period"] * NS_PER_US
        self.increase_period = given["rpg_time_reset"] * NS_PER_US

        self.first_rate = given["rate_to_set_on_first_cnp"] * BPS_PER_MBPS
        self.min_rate = given["rpg_min_rate"] * BPS_PER_MBPS
        self.additive_step = given["rpg_ai_rate"] * BPS_PER_MBPS
        self.hyper_step = given["rpg_hai_rate"] * BPS_PER_MBPS
        self.cap = given["line_rate"]
        if given["rpg_max_rate"] != 0:
            self.cap = min(self.cap, given["rpg_max_rate"] * BPS_PER_MBPS)

    # What happens outside.

    def on_cnp(self, now):
        self.run_timers(now)
        if self.has_seen_cnp:
            self.on_later_cnp()
        else:
            self.on_first_cnp(now)

    def on_send(self, now, size):
        self.run_timers(now)
        if self.byte_reset != 0 and self.has_cut:
            self.count_bytes(size)

    def look(self, now):
        self.run_timers(now)

    def on_set(self, now, parameters):
        """Sets all parameters. The due times stay, and the ticks after them come in the new periods."""
        self.run_timers(now)
        self.take(parameters)
        floor = min(self.min_rate, self.cap) if self.has_seen_cnp else self.cap
        self.rate = max(floor, min(self.rate, self.cap))
        self.target = max(floor, min(self.target, self.cap))
        self.byte_count = self.byte_count % self.byte_reset if self.byte_reset != 0 else 0

    def state(self):
        """What congestion_trace prints after an event; "-" is a number that is not compared."""
        alpha = self.alpha if self.has_seen_cnp else "-"
        return f"{self.rate} {self.target} {alpha} {self.stage} {self.byte_stage}"

    # What follows from it. At one time alpha comes first, then the increase, then the decrease check, then
    # the outside event.

    def run_timers(self, now):
        while True:
            due = min(self.alpha_due, self.decrease_due, self.increase_due)
            if due > now:
                return
            if due == self.alpha_due:
                self.alpha_due += self.alpha_period
                self.on_alpha_tick()
            elif due == self.increase_due:
                self.increase_due += self.increase_period
                self.on_increase_tick()
            else:
                self.decrease_due += self.decrease_period
                self.on_decrease_check(due)

    def on_first_cnp(self, now):
        self.has_seen_cnp = True
        self.cnp_since_decrease_check = True
        # HPCC clears the other flag on the first CNP: its alpha is fresh, and the first tick lets it decay.
        self.alpha = self.initial_alpha
        if self.first_rate != 0:
            self.rate = min(self.cap, self.first_rate)
            self.target = self.rate
        self.alpha_due = now + self.alpha_period
        # The nanosecond puts the check after the alpha tick of the same microsecond, as in HPCC.
        self.decrease_due = now + self.decrease_period + 1

    def on_later_cnp(self):
        self.cnp_since_alpha_tick = True
        self.cnp_since_decrease_check = True

    def on_alpha_tick(self):
        self.alpha = self.alpha * self.g >> 10
        if self.cnp_since_alpha_tick:
            self.alpha += (1024 - self.g) * 64
        self.cnp_since_alpha_tick = False

    def on_decrease_check(self, now):
        if not self.cnp_since_decrease_check:
            return
        self.cnp_since_decrease_check = False
        if self.cut_moves_target():
            self.target = self.rate
        self.rate = self.reduced_rate()
        self.has_cut = True
        self.stage = 0
        self.byte_stage = 0
        self.byte_count = 0
        self.increase_due = now + self.increase_period

    def cut_moves_target(self):
        return self.clamp or (self.clamp_after_time_inc and self.stage != 0)

    def reduced_rate(self):
        # Here alpha is a fraction of 2^16, on the cards of 2^10: so the shift has six more places. A small
        # rpg_gd cuts more than the whole rate.
        cut = self.rate * self.alpha >> (self.gd + 6)
        least = self.rate * self.min_dec_fac // 100
        return min(max(self.rate - cut, least, self.min_rate), self.cap)

    def on_increase_tick(self):
        self.increase()
        self.stage += 1

    def count_bytes(self, size):
        self.byte_count += size
        while self.byte_count >= self.byte_reset:
            self.byte_count -= self.byte_reset
            self.increase()
            self.byte_stage += 1

    def increase(self):
        self.target = min(self.target + self.step(), self.cap)
        self.rate = (self.rate + self.target) // 2

    def step(self):
        if self.byte_reset == 0:
            if self.stage < self.threshold:
                return 0
            return self.additive_step if self.stage == self.threshold else self.hyper_step
        time_is_below = self.stage < self.threshold
        bytes_are_below = self.byte_stage < self.threshold
        if time_is_below and bytes_are_below:
            return 0
        if time_is_below or bytes_are_below:
            return self.additive_step
        return self.hyper_step
