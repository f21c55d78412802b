# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Copies of the model of TIMELY with one mistake each. The self-test of check_controllers.py fails when it
does not notice one of them.

Some are mistakes of an implementation, others are what a source does and our definitions do not.
"""
import struct

from timely_model import Timely


class ShortRttCounts(Timely):
    """HPCC does this."""

    def on_short_rtt(self):
        n = self.increases
        super().on_short_rtt()
        self.increases = n + 1


class ShortRttKeepsCount(Timely):
    def on_short_rtt(self):
        n = self.increases
        super().on_short_rtt()
        self.increases = n


class LongRttKeepsCount(Timely):
    def on_long_rtt(self, rtt):
        n = self.increases
        super().on_long_rtt(rtt)
        self.increases = n


class RisingRttKeepsCount(Timely):
    def on_rising_rtt(self, gradient):
        n = self.increases
        super().on_rising_rtt(gradient)
        self.increases = n


class HyperOneLater(Timely):
    """HPCC does this."""

    def on_falling_rtt(self):
        self.rate += self.add_rate * (self.hai_threshold if self.increases >= self.hai_threshold else 1)
        self.increases += 1


class HyperIsFive(Timely):
    """eRPC does this."""

    def on_falling_rtt(self):
        self.increases += 1
        self.rate += self.add_rate * (5 if self.increases >= self.hai_threshold else 1)


class WeightsSwapped(Timely):
    def __init__(self, parameters):
        super().__init__(parameters)
        self.ewma = 1 - self.ewma


class FloorIsZero(Timely):
    """HPCC does this."""

    def on_rising_rtt(self, gradient):
        super().on_rising_rtt(0)
        self.rate *= max(0.0, 1 - self.beta * gradient)


class LongRttHalvesAtMost(Timely):
    """eRPC does this."""

    def on_long_rtt(self, rtt):
        least = self.rate * 0.5
        super().on_long_rtt(rtt)
        self.rate = max(self.rate, least)


class FirstSampleCounts(Timely):
    def __init__(self, parameters):
        super().__init__(parameters)
        self.previous = 0


class ZeroIsNoSample(Timely):
    """eRPC did this: a previous RTT of 0 was none."""

    def on_rtt(self, rtt):
        if self.previous == 0:
            self.previous = None
        super().on_rtt(rtt)


class FlatGradientDecreases(Timely):
    def update(self, rtt):
        steady = self.t_low <= rtt <= self.t_high and self.difference == 0 and rtt == self.previous
        rate, n = self.rate, self.increases
        super().update(rtt)
        if steady:
            self.rate, self.increases = rate, 0


class ShortRttLeavesDifference(Timely):
    def update(self, rtt):
        difference = self.difference
        super().update(rtt)
        if rtt < self.t_low:
            self.difference = difference


class LongRttLeavesPrevious(Timely):
    def on_rtt(self, rtt):
        previous = self.previous
        super().on_rtt(rtt)
        if rtt > self.t_high and previous is not None:
            self.previous = previous


class LowEdgeIsShort(Timely):
    def update(self, rtt):
        self.t_low += 1
        super().update(rtt)
        self.t_low -= 1


class HighEdgeIsLong(Timely):
    def update(self, rtt):
        self.t_high -= 1
        super().update(rtt)
        self.t_high += 1


class NoLineRate(Timely):
    def bounded(self, rate):
        return max(rate, self.min_rate)


class NoMinRate(Timely):
    def bounded(self, rate):
        return min(rate, self.line_rate)


class MinRateWins(Timely):
    def bounded(self, rate):
        return max(min(rate, self.line_rate), self.min_rate)


class SinglePrecision(Timely):
    def bounded(self, rate):
        return struct.unpack("f", struct.pack("f", super().bounded(rate)))[0]


class SlowlyDrifting(Timely):
    """Just more than is allowed."""

    def bounded(self, rate):
        return super().bounded(rate * (1 + 3e-9))


MODELS = {spoilt.__name__: spoilt for spoilt in Timely.__subclasses__()}
