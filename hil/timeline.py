"""When each tick is due: absolute deadlines in integer nanoseconds, computed from the tick's number alone."""

from __future__ import annotations

import math
from fractions import Fraction

NS_PER_S = 1_000_000_000
MAX_RATE_HZ = 1_000_000
_LARGEST_DENOMINATOR = 1_000_000


def exact(value: float | Fraction) -> Fraction:
    """The value as a ratio of integers; a float stands for the simplest ratio that rounds to it, as 1000 / 7."""
    given = Fraction(value)
    simple = given.limit_denominator(_LARGEST_DENOMINATOR)
    return simple if isinstance(value, float) and float(simple) == value else given


def exact_rate(rate_hz: float | Fraction, field: str = "rate_hz") -> Fraction:
    """A checked rate in Hz as a ratio of integers."""
    number = isinstance(rate_hz, int | float | Fraction) and not isinstance(rate_hz, bool)
    if not (number and math.isfinite(rate_hz) and 0 < rate_hz <= MAX_RATE_HZ):
        raise ValueError(f"{field} must be a number above 0 and at most {MAX_RATE_HZ} Hz, got {rate_hz!r}")
    return exact(rate_hz)


class Timeline:
    """Tick k is due at start + k / rate, whatever happened before: nothing accumulates, so nothing drifts."""

    def __init__(self, rate: Fraction, start_ns: int = 0) -> None:
        period_ns = NS_PER_S / rate
        self.rate, self.start_ns = rate, start_ns
        self._up, self._down, self._half = period_ns.numerator, period_ns.denominator, period_ns.denominator // 2
        self._rate_up, self._rate_down = rate.numerator, rate.denominator

    def deadline_ns(self, tick: int) -> int:
        """When the tick is due: the nearest nanosecond, halves up."""
        return self.start_ns + (tick * self._up + self._half) // self._down

    def nominal_s(self, tick: int) -> float:
        """Seconds from the start at which the tick is due, correctly rounded."""
        return tick * self._rate_down / self._rate_up

    def tick_at(self, now_ns: int) -> int:
        """The last tick due at or before `now_ns`."""
        tick = (now_ns - self.start_ns) * self._down // self._up + 1  # one too many at most: deadlines are rounded
        while self.deadline_ns(tick) > now_ns:
            tick -= 1
        return tick

    def ticks_within(self, duration_s: float) -> int:
        """How many ticks are due before `duration_s` has passed."""
        return math.ceil(exact(duration_s) * self.rate)
