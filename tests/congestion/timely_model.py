# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""TIMELY in double precision, in the form of UpdateRateTimely() of HPCC's rdma-hw.cc, with what README.md
lists as changed.

One sample of the RTT is one update: the caller decides what a sample is (HPCC takes one per window of data).
"""

NS_PER_US = 1_000
BPS_PER_MBPS = 1_000_000

PARAMETERS = (
    "line_rate",  # bits per second
    "add_rate",  # Mb/s
    "beta",
    "ewma",  # the weight of the new difference
    "t_low",  # us
    "t_high",  # us
    "min_rtt",  # us
    "hai_threshold",
    "min_rate",  # Mb/s
)
FRACTIONS = ("beta", "ewma")


class Timely:
    """One flow. A sample is in ns; the rate is a double in bits per second."""

    def __init__(self, parameters):
        self.line_rate = float(int(parameters["line_rate"]))
        self.min_rate = float(int(parameters["min_rate"]) * BPS_PER_MBPS)
        self.add_rate = float(int(parameters["add_rate"]) * BPS_PER_MBPS)
        self.beta = float(parameters["beta"])
        self.ewma = float(parameters["ewma"])
        self.t_low = int(parameters["t_low"]) * NS_PER_US
        self.t_high = int(parameters["t_high"]) * NS_PER_US
        self.min_rtt = int(parameters["min_rtt"]) * NS_PER_US
        self.hai_threshold = int(parameters["hai_threshold"])

        self.rate = self.line_rate
        self.previous = None  # no sample yet
        self.difference = 0.0  # smoothed, in ns
        self.increases = 0  # in a row, because of the gradient

    def on_rtt(self, rtt):
        if self.previous is not None:
            self.update(rtt)
        self.previous = rtt

    def state(self):
        return f"{self.rate:.17g}"

    def update(self, rtt):
        self.difference = (1 - self.ewma) * self.difference + self.ewma * (rtt - self.previous)
        gradient = self.difference / self.min_rtt
        if rtt < self.t_low:
            self.on_short_rtt()
        elif rtt > self.t_high:
            self.on_long_rtt(rtt)
        elif gradient <= 0:
            self.on_falling_rtt()
        else:
            self.on_rising_rtt(gradient)
        self.rate = self.bounded(self.rate)

    def on_short_rtt(self):
        self.increases = 0
        self.rate += self.add_rate

    def on_long_rtt(self, rtt):
        self.increases = 0
        self.rate *= 1 - self.beta * (1 - self.t_high / rtt)

    def on_falling_rtt(self):
        self.increases += 1
        self.rate += self.add_rate * (self.hai_threshold if self.increases >= self.hai_threshold else 1)

    def on_rising_rtt(self, gradient):
        self.increases = 0
        self.rate *= max(0.5, 1 - self.beta * gradient)

    def bounded(self, rate):
        # A slow line can be slower than min_rate; then the line wins.
        return min(max(rate, self.min_rate), self.line_rate)
