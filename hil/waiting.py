"""Ways to wait for a deadline: sleep, sleep then spin, spin. Each returns the time on the clock at which it woke.

Sleeping costs nothing and wakes some 20 to 100 us late. Spinning wakes within a microsecond and holds a processor and
the interpreter lock. Sleeping first and spinning through the last stretch costs only that stretch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from hil.clock import Clock
from hil.stop import StopFlag

Waiting: TypeAlias = Literal["sleep", "sleep-spin", "spin"]
Wait: TypeAlias = Callable[[int], int]


def make_wait(waiting: Waiting, clock: Clock, stop: StopFlag, spin_margin_ns: int) -> Wait:
    """The function that waits for a deadline, or until `stop` is set, whichever is first."""
    if waiting not in get_args(Waiting):
        raise ValueError(f"waiting must be one of {', '.join(get_args(Waiting))}, got {waiting!r}")
    if waiting == "sleep" or not clock.advances_itself:
        return _sleeper(clock, stop)
    if waiting == "spin":
        return _spinner(clock, stop)
    return _sleeper_spinner(clock, stop, spin_margin_ns)


def _sleeper(clock: Clock, stop: StopFlag) -> Wait:
    now_ns, sleep_until_ns = clock.now_ns, clock.sleep_until_ns

    def wait(deadline_ns: int) -> int:
        while (now := now_ns()) < deadline_ns and stop.reason is None:
            sleep_until_ns(deadline_ns)
        return now

    return wait


def _spinner(clock: Clock, stop: StopFlag) -> Wait:
    now_ns = clock.now_ns

    def wait(deadline_ns: int) -> int:
        while (now := now_ns()) < deadline_ns and stop.reason is None:
            pass
        return now

    return wait


def _sleeper_spinner(clock: Clock, stop: StopFlag, margin_ns: int) -> Wait:
    sleep, spin = _sleeper(clock, stop), _spinner(clock, stop)

    def wait(deadline_ns: int) -> int:
        sleep(deadline_ns - margin_ns)
        return spin(deadline_ns)

    return wait
