"""A watchdog over the loop: notices a tick that does not finish in time, counts it and tells; never kills."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TypeAlias

IDLE = 0
Hook: TypeAlias = Callable[[int, float], object]  # tick number, seconds since it began


class Watchdog:
    """Trips once for each tick that is not over `limit_s` seconds after it began.

    A thread of its own notices while the tick still hangs, `1.5 * limit_s` after its beginning at the latest. A tick
    that kept the interpreter to itself all along is noticed by the loop, when it is over.
    """

    def __init__(self, limit_s: float, hook: Hook | None, stopwatch_ns: Callable[[], int]) -> None:
        if not (math.isfinite(limit_s) and limit_s > 0):
            raise ValueError(f"watchdog_s must be a number of seconds above 0, got {limit_s!r}")
        self.limit_ns = round(limit_s * 1e9)
        self.trips = 0
        self.hook_errors = 0
        self._hook, self._stopwatch_ns = hook, stopwatch_ns
        self._running = (IDLE, IDLE)  # tick + 1, began; one assignment, so that the thread never sees half of it
        self._tripped = -1
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hil-watchdog", daemon=True)

    def begin(self, tick: int, now_ns: int) -> None:
        """The loop enters a tick."""
        self._running = (tick + 1, now_ns)

    def end(self, tick: int, elapsed_ns: int) -> None:
        """The loop has left the tick."""
        self._running = (IDLE, IDLE)
        if elapsed_ns > self.limit_ns:
            self._trip(tick, elapsed_ns)

    def check(self) -> float:
        """Look at the tick in progress, trip if it is overdue; returns seconds until the next look."""
        number, began_ns = self._running
        if number == IDLE:
            return self.limit_ns * 0.5e-9
        elapsed_ns = self._stopwatch_ns() - began_ns
        if elapsed_ns > self.limit_ns:
            self._trip(number - 1, elapsed_ns)
            return self.limit_ns * 0.5e-9
        return (self.limit_ns - elapsed_ns + 1) * 1e-9

    def _trip(self, tick: int, elapsed_ns: int) -> None:
        with self._lock:
            if tick <= self._tripped:
                return
            self._tripped = tick
            self.trips += 1
        try:
            if self._hook is not None:
                self._hook(tick, elapsed_ns * 1e-9)
        except Exception:
            self.hook_errors += 1

    def _watch(self) -> None:
        while not self._over.wait(self.check()):
            pass

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
