"""Clocks a loop can run by: real time, scaled time, lockstep, and a scripted one for tests.

A clock tells its own time in integer nanoseconds and sleeps until a time of its own. Execution times are taken with
`stopwatch_ns`, which is wall time except for the scripted clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction

NAP_NS = 50_000_000  # the longest single sleep, so that a request to stop is noticed at any rate


class Clock:
    """What the runner asks of a clock; a user's own clock overrides `now_ns` and `sleep_until_ns`."""

    name = "clock"
    speed = 1.0  # seconds of this clock per second of wall time
    advances_itself = True  # False: time moves only by sleeping, so that spinning would never end

    def now_ns(self) -> int:
        """The clock's time, ns."""
        raise NotImplementedError

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Sleep until the clock shows `deadline_ns`, or for a while: the runner looks at the clock and sleeps again."""
        raise NotImplementedError

    def stopwatch_ns(self) -> int:
        """Time for measuring how long something takes, ns."""
        return time.monotonic_ns()


class RealTime(Clock):
    """The monotonic clock of the system."""

    name = "real time"
    now_ns = staticmethod(time.monotonic_ns)  # no Python frame between loop and clock
    stopwatch_ns = staticmethod(time.monotonic_ns)

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Sleep until `deadline_ns`, at most 50 ms. On Linux this is `clock_nanosleep` with an absolute time."""
        _nap(deadline_ns - time.monotonic_ns())


class Scaled(Clock):
    """Time that runs `factor` times as fast as the monotonic clock, from 0 at construction."""

    stopwatch_ns = staticmethod(time.monotonic_ns)

    def __init__(self, factor: float) -> None:
        if not (math.isfinite(factor) and 1e-3 <= factor <= 1e6):
            raise ValueError(f"factor must be a number from 0.001 to 1000000, got {factor!r}")
        self.speed = float(factor)
        self.name = f"scaled time, {self.speed:g}x"
        exact = Fraction(factor).limit_denominator(1_000_000)
        self._up, self._down = exact.numerator, exact.denominator
        self._origin_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        """Scaled time since construction, ns, rounded down."""
        return (time.monotonic_ns() - self._origin_ns) * self._up // self._down

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Sleep until the scaled time is `deadline_ns`, at most 50 ms of wall time."""
        wall_ns = -(-deadline_ns * self._down // self._up)  # rounded up: never early
        _nap(self._origin_ns + wall_ns - time.monotonic_ns())


class Lockstep(Clock):
    """Time that jumps to the next deadline at once: as fast as the callbacks go, the same on every run."""

    name = "lockstep"
    advances_itself = False
    stopwatch_ns = staticmethod(time.monotonic_ns)

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        """The last deadline slept for, ns."""
        return self._now_ns

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Jump to `deadline_ns`; never sleeps, never goes back."""
        self._now_ns = max(self._now_ns, deadline_ns)


class FakeClock(Clock):
    """A scripted clock: the n-th sleep wakes `late_ns[n]` late (then never late), and work takes what `work_ns` says.

    `read_ns` is what a look at the clock costs; with 0 time stands still while spinning, so that spinning sleeps.
    """

    name = "fake"

    def __init__(self, start_ns: int = 0, late_ns: Iterable[int] = (), read_ns: int = 0) -> None:
        self._now_ns = start_ns
        self._late_ns = iter(late_ns)
        self._read_ns = read_ns
        self.advances_itself = read_ns > 0
        self.sleeps = 0

    def now_ns(self) -> int:
        """The scripted time, ns."""
        self._now_ns += self._read_ns
        return self._now_ns

    def stopwatch_ns(self) -> int:
        """The scripted time, ns, at no cost."""
        return self._now_ns

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Wake at `deadline_ns` plus the lateness scripted for this sleep."""
        self.sleeps += 1
        self._now_ns = max(self._now_ns, deadline_ns) + next(self._late_ns, 0)

    def work_ns(self, duration_ns: int) -> None:
        """Let `duration_ns` pass, as a callback at work would."""
        self._now_ns += duration_ns


def _nap(remaining_ns: int) -> None:
    if remaining_ns > 0:
        time.sleep(min(remaining_ns, NAP_NS) * 1e-9)
