# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Copies of the model of DCQCN with one mistake each. The self-test of check_controllers.py fails when it
does not notice one of them.

Some are mistakes of an implementation, others are what a source does and our definitions do not.
"""
from dcqcn_model import Dcqcn


class DecreaseCheckBeforeIncrease(Dcqcn):
    """A cut then takes the increase of its nanosecond away."""

    def run_timers(self, now):
        while True:
            due = min(self.alpha_due, self.decrease_due, self.increase_due)
            if due > now:
                return
            if due == self.alpha_due:
                self.alpha_due += self.alpha_period
                self.on_alpha_tick()
            elif due == self.decrease_due:
                self.decrease_due += self.decrease_period
                self.on_decrease_check(due)
            else:
                self.increase_due += self.increase_period
                self.on_increase_tick()


class CnpBeforeTicksOfItsTime(Dcqcn):
    def on_cnp(self, now):
        self.run_timers(now - 1)
        if self.has_seen_cnp:
            self.on_later_cnp()
        else:
            self.on_first_cnp(now)
        self.run_timers(now)


class SendBeforeTicksOfItsTime(Dcqcn):
    def on_send(self, now, size):
        self.run_timers(now - 1)
        if self.byte_reset != 0 and self.has_cut:
            self.count_bytes(size)
        self.run_timers(now)


class LookBeforeTicksOfItsTime(Dcqcn):
    def look(self, now):
        self.run_timers(now - 1)


class GOffByOne(Dcqcn):
    def __init__(self, parameters):
        super().__init__(parameters)
        self.g += 1


class GIsWeightOfNew(Dcqcn):
    """mstflint's help text reads like this."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.g = 1024 - self.g


class AlphaRoundedToNearest(Dcqcn):
    def on_alpha_tick(self):
        self.alpha = (self.alpha * self.g + 512) >> 10
        if self.cnp_since_alpha_tick:
            self.alpha += (1024 - self.g) * 64
        self.cnp_since_alpha_tick = False


class AlphaOfTenBits(Dcqcn):
    def on_alpha_tick(self):
        super().on_alpha_tick()
        self.alpha &= ~63


class AlphaFlagStays(Dcqcn):
    def on_alpha_tick(self):
        flag = self.cnp_since_alpha_tick
        super().on_alpha_tick()
        self.cnp_since_alpha_tick = flag


class FirstCnpSetsAlphaFlag(Dcqcn):
    def on_first_cnp(self, now):
        super().on_first_cnp(now)
        self.cnp_since_alpha_tick = True


class FirstCnpIsNoReasonToCut(Dcqcn):
    def on_first_cnp(self, now):
        super().on_first_cnp(now)
        self.cnp_since_decrease_check = False


class EveryCnpResetsAlpha(Dcqcn):
    def on_later_cnp(self):
        super().on_later_cnp()
        self.alpha = self.initial_alpha


class FirstRateIgnored(Dcqcn):
    def on_first_cnp(self, now):
        self.first_rate = 0
        super().on_first_cnp(now)


class FirstRateAboveCap(Dcqcn):
    def on_first_cnp(self, now):
        super().on_first_cnp(now)
        self.rate = self.target = self.first_rate or self.rate


class FirstRateLeavesTarget(Dcqcn):
    def on_first_cnp(self, now):
        super().on_first_cnp(now)
        self.target = self.cap


class IncreaseTimerRunsFromFirstCnp(Dcqcn):
    def on_first_cnp(self, now):
        super().on_first_cnp(now)
        self.increase_due = now + self.increase_period


class DecreaseCheckANanosecondEarly(Dcqcn):
    def on_first_cnp(self, now):
        super().on_first_cnp(now)
        self.decrease_due -= 1


class DecreaseFlagStays(Dcqcn):
    def on_decrease_check(self, now):
        flag = self.cnp_since_decrease_check
        super().on_decrease_check(now)
        self.cnp_since_decrease_check = flag


class CutAtOnce(Dcqcn):
    def on_later_cnp(self):
        super().on_later_cnp()
        self.on_decrease_check(self.decrease_due)


class TimerNotRestartedByCut(Dcqcn):
    def on_decrease_check(self, now):
        due = self.increase_due
        had_cut = self.has_cut
        super().on_decrease_check(now)
        if had_cut:
            self.increase_due = due


class StageNotResetByCut(Dcqcn):
    def on_decrease_check(self, now):
        stage = self.stage
        super().on_decrease_check(now)
        self.stage = stage


class ClampIgnored(Dcqcn):
    def cut_moves_target(self):
        return self.clamp_after_time_inc and self.stage != 0


class ClampAfterTimeIncIgnored(Dcqcn):
    def cut_moves_target(self):
        return self.clamp


class ClampAfterByteInc(Dcqcn):
    """The authors and mstflint's help text do this."""

    def cut_moves_target(self):
        return super().cut_moves_target() or self.byte_stage != 0


class ClampToReducedRate(Dcqcn):
    def on_decrease_check(self, now):
        clamps = self.cnp_since_decrease_check and self.cut_moves_target()
        super().on_decrease_check(now)
        if clamps:
            self.target = self.rate


class MinDecFacIgnored(Dcqcn):
    def reduced_rate(self):
        self.min_dec_fac = 0
        return super().reduced_rate()


class MinRateIgnored(Dcqcn):
    def reduced_rate(self):
        self.min_rate = 0
        return super().reduced_rate()


class MinRateAboveCap(Dcqcn):
    def reduced_rate(self):
        return max(super().reduced_rate(), self.min_rate)


class GdOffByOne(Dcqcn):
    def __init__(self, parameters):
        super().__init__(parameters)
        self.gd += 1


class CutWrapsAround(Dcqcn):
    """Unsigned arithmetic does this."""

    def reduced_rate(self):
        cut = self.rate * self.alpha >> (self.gd + 6)
        return self.cap if cut > self.rate else super().reduced_rate()


class MaxRateIgnored(Dcqcn):
    def __init__(self, parameters):
        super().__init__(dict(parameters) | {"rpg_max_rate": 0})


class TargetAboveCap(Dcqcn):
    def increase(self):
        self.target += self.step()
        self.rate = min((self.rate + self.target) // 2, self.cap)


class RateBeforeTarget(Dcqcn):
    def increase(self):
        rate = (self.rate + self.target) // 2
        super().increase()
        self.rate = rate


class HalvesRoundedApart(Dcqcn):
    """HPCC does this."""

    def increase(self):
        rate = self.rate
        super().increase()
        self.rate = rate // 2 + self.target // 2


class StageJudgedAfterIncrement(Dcqcn):
    """The authors do this."""

    def on_increase_tick(self):
        self.stage += 1
        self.increase()


class HyperAtThreshold(Dcqcn):
    def step(self):
        step = super().step()
        return self.hyper_step if self.byte_reset == 0 and self.stage == self.threshold else step


class HyperNever(Dcqcn):
    def step(self):
        return min(super().step(), self.additive_step)


class StageOfEightBits(Dcqcn):
    def on_increase_tick(self):
        super().on_increase_tick()
        self.stage &= 0xFF


class StageOfSixteenBits(Dcqcn):
    def on_increase_tick(self):
        super().on_increase_tick()
        self.stage &= 0xFFFF


class LongSilenceForgetsAlpha(Dcqcn):
    """A short cut that is one only for a small weight of the old alpha."""

    def run_timers(self, now):
        forgets = now - self.alpha_due > 1024 * self.alpha_period
        super().run_timers(now)
        if forgets:
            self.alpha = 0


class LongSilenceHasFewIncreases(Dcqcn):
    """The rate is at its cap, but the stage is not what it was."""

    def run_timers(self, now):
        late = (now - self.increase_due) // self.increase_period - 4096
        if late > 0:
            self.increase_due += late * self.increase_period
        super().run_timers(now)


class BytesNotCounted(Dcqcn):
    def count_bytes(self, size):
        pass


class BytesCountedFromFirstCnp(Dcqcn):
    def on_first_cnp(self, now):
        super().on_first_cnp(now)
        self.has_cut = True


class BytesCountedFromTheBeginning(Dcqcn):
    def __init__(self, parameters):
        super().__init__(parameters)
        self.has_cut = True


class OneByteEventPerSend(Dcqcn):
    def count_bytes(self, size):
        self.byte_count += size
        if self.byte_count >= self.byte_reset:
            self.byte_count %= self.byte_reset
            self.increase()
            self.byte_stage += 1


class ByteCounterStartsAgain(Dcqcn):
    """What is above rpg_byte_reset is lost."""

    def count_bytes(self, size):
        before = self.byte_stage
        super().count_bytes(size)
        if self.byte_stage > before:
            self.byte_count = 0


class ByteCounterNotResetByCut(Dcqcn):
    def on_decrease_check(self, now):
        count = self.byte_count
        super().on_decrease_check(now)
        self.byte_count = count


class ByteStageNotResetByCut(Dcqcn):
    def on_decrease_check(self, now):
        stage = self.byte_stage
        super().on_decrease_check(now)
        self.byte_stage = stage


class PhaseOfOwnStageOnly(Dcqcn):
    """Facts A2 (1): an event below the threshold recovers whatever the other stage is."""

    def on_increase_tick(self):
        self.judged = self.stage
        super().on_increase_tick()
        self.judged = None

    judged = None

    def step(self):
        own = self.byte_stage if self.judged is None else self.judged
        return 0 if own < self.threshold else super().step()


class HyperWhenOneIsAtThreshold(Dcqcn):
    def step(self):
        step = super().step()
        if self.byte_reset and max(self.stage, self.byte_stage) >= self.threshold:
            return self.hyper_step
        return step


class ByteCounterUsesTimerRule(Dcqcn):
    def step(self):
        byte_reset, self.byte_reset = self.byte_reset, 0
        step = super().step()
        self.byte_reset = byte_reset
        return step


class SetBeforeTicksOfItsTime(Dcqcn):
    def on_set(self, now, parameters):
        self.run_timers(now - 1)
        self.take(parameters)
        super().on_set(now, parameters)


class SetBeginsAnew(Dcqcn):
    def on_set(self, now, parameters):
        self.run_timers(now)
        self.__init__(parameters)


class SetChangesNothing(Dcqcn):
    def on_set(self, now, parameters):
        self.run_timers(now)


class SetLeavesTheRate(Dcqcn):
    def on_set(self, now, parameters):
        self.run_timers(now)
        rate = self.rate
        super().on_set(now, parameters)
        self.rate = rate


class SetLeavesTheTarget(Dcqcn):
    def on_set(self, now, parameters):
        self.run_timers(now)
        target = self.target
        super().on_set(now, parameters)
        self.target = target


class SetIgnoresTheMinimum(Dcqcn):
    def on_set(self, now, parameters):
        self.run_timers(now)
        rate, target = self.rate, self.target
        super().on_set(now, parameters)
        if self.has_seen_cnp:
            self.rate, self.target = min(rate, self.cap), min(target, self.cap)


class SetRestartsTimers(Dcqcn):
    def on_set(self, now, parameters):
        super().on_set(now, parameters)
        if self.has_cut:
            self.increase_due = now + self.increase_period


class SetForgetsTheFlag(Dcqcn):
    def on_set(self, now, parameters):
        super().on_set(now, parameters)
        self.cnp_since_decrease_check = False


class SetForgetsTheBytes(Dcqcn):
    def on_set(self, now, parameters):
        super().on_set(now, parameters)
        self.byte_count = 0


class SetKeepsTheBytes(Dcqcn):
    """It then makes up for all steps that the old counter did not have."""

    def on_set(self, now, parameters):
        self.run_timers(now)
        count = self.byte_count
        super().on_set(now, parameters)
        self.byte_count = count


MODELS = {spoilt.__name__: spoilt for spoilt in Dcqcn.__subclasses__()}
