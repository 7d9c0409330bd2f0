"""The fixed-rate loop: runs rate groups at absolute deadlines, keeps the books, and never raises in flight."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from fractions import Fraction
from numbers import Integral, Real
from typing import Literal, TypeAlias, get_args

from hil.accounts import LoopAccount
from hil.clock import Clock, RealTime
from hil.quiet import quiet_interpreter
from hil.rate_groups import RateGroup, check_groups
from hil.report import Report
from hil.scheduling import Scheduling
from hil.stop import StopFlag, stopped_by_signals
from hil.timeline import Timeline, exact_rate
from hil.waiting import Wait, Waiting, make_wait
from hil.watchdog import Hook, Watchdog

Overrun: TypeAlias = Literal["skip", "catch-up", "stop"]
OnError: TypeAlias = Literal["continue", "stop"]
NEVER = 1 << 62
RUNNING = "running"


class Runner:
    """A loop at `rate_hz` over rate groups, each called as `callback(tick, nominal_s)`; `run` returns a `Report`.

    `overrun` says what becomes of ticks whose time has passed:
    - "skip" leaves out, and counts, those whose successor is due already: the loop is on time again at once, and a
      controller never acts on what is out of date. The default here.
    - "catch-up" runs them all, back to back. The default of `attitude hil`, whose groups move a simulated spacecraft by
      one step each tick: a tick left out would lose that time, and its trajectory would depend on the machine's load.
    - "stop" ends the loop at the first tick that ends after the next was due.

    A callback that raises is counted, the traceback of its first error kept in the report, and the loop goes on, or
    ends if `on_error` is "stop". `watchdog_s` (wall time) has a thread call `on_watchdog(tick, seconds)` when a tick
    hangs. All of `scheduling` is optional and reported.

    `warm_up` are callables that `run` calls before its first tick, `()` for none. By default that is
    `attitude.warm_up`, if the program has imported `attitude`: the kernels of all that is imported are compiled or
    loaded, which takes seconds and is silent but for a line of the logger "hil" at level INFO.
    """

    def __init__(
        self,
        rate_hz: float | Fraction,
        groups: Iterable[RateGroup],
        *,
        clock: Clock | None = None,
        overrun: Overrun = "skip",
        waiting: Waiting = "sleep",
        spin_margin_s: float = 200e-6,
        watchdog_s: float | None = None,
        on_watchdog: Hook | None = None,
        on_error: OnError = "continue",
        warm_up: Iterable[Callable[[], object]] | None = None,
        scheduling: Scheduling | None = None,
        handle_signals: bool = True,
    ) -> None:
        self.rate = exact_rate(rate_hz)
        self.groups = check_groups(groups)
        self.clock = RealTime() if clock is None else _checked_clock(clock)
        self._overrun = _one_of("overrun", overrun, get_args(Overrun))
        self._on_error = _one_of("on_error", on_error, get_args(OnError))
        self._stop = StopFlag()
        self._wait: Wait = make_wait(waiting, self.clock, self._stop, _margin_ns(spin_margin_s, self.clock))
        self._watchdog_s, self._on_watchdog = watchdog_s, on_watchdog
        self._watchdog = self._new_watchdog()
        self._warm_up = (_compile_kernels,) if warm_up is None else _callables(warm_up)
        self._scheduling = scheduling or Scheduling()
        self._spins = waiting == "spin" and self.clock.advances_itself
        self._handle_signals = handle_signals
        self._notes: list[str] = []
        self._account = LoopAccount(Timeline(self.rate), self.groups)

    def run(self, ticks: int | None = None, duration_s: float | None = None) -> Report:
        """Run ticks 0, ..., `ticks - 1` (or those due within `duration_s` on the clock; or until stopped).

        Skipped ticks count among them: the run ends when it should, not when enough ticks were run.
        """
        end = self._end(ticks, duration_s)
        if self._account.ended_ns is not None:  # a run before this one; a stop asked for before the first still holds
            self._stop.reason = None
        for prepare in self._warm_up:
            prepare()
        with ExitStack() as stack:
            self._watchdog = self._new_watchdog()
            if self._watchdog is not None:
                stack.enter_context(self._watchdog)  # before the scheduling, which new threads would inherit
            self._notes = stack.enter_context(self._scheduling.applied(self._spins))
            stack.enter_context(quiet_interpreter())
            if self._handle_signals:
                stack.enter_context(stopped_by_signals(self._stop))
            self._fly(end)
        return self.report()

    def stop(self, reason: str = "asked to stop") -> None:
        """End the loop after its current tick; safe from callbacks, other threads and signal handlers."""
        self._stop.set(reason)

    @property
    def stopping(self) -> bool:
        """Whether somebody asked for the end: for a callback that waits."""
        return self._stop.reason is not None

    def report(self) -> Report:
        """The report so far; safe from another thread while the loop runs."""
        if self._watchdog is not None:
            self._account.watchdog_trips = self._watchdog.trips
        return self._account.report(self.clock, self._stop.reason or RUNNING, self._notes + self._complaints())

    def _fly(self, end: int) -> None:
        """The loop, from its start to its end; an interruption is an orderly stop like others."""
        self._account = LoopAccount(Timeline(self.rate, self.clock.now_ns()), self.groups)
        try:
            self._loop(end)
            self._stop.set("complete")
        except KeyboardInterrupt:
            self._stop.set("KeyboardInterrupt")
        self._account.ended_ns = self.clock.now_ns()

    def _loop(self, end: int) -> None:
        account, stop, wait, now_ns = self._account, self._stop, self._wait, self.clock.now_ns
        deadline_ns, late_by = account.timeline.deadline_ns, account.lateness.add
        tick, due = 0, deadline_ns(0)
        while tick < end:
            woke = wait(due)
            if stop.reason is not None:
                return
            late_by(woke - due)
            following = deadline_ns(tick + 1)
            late = woke >= following
            if late and self._overrun == "skip":
                tick = self._skip(tick, woke, end)
                following = deadline_ns(tick + 1)
                late = woke >= following
            self._tick(tick, woke, late)
            if now_ns() > following:
                self._note_overrun(tick)
            tick, due = tick + 1, following

    def _tick(self, tick: int, woke_ns: int, late: bool) -> None:
        """Call the groups whose turn it is, and keep their books."""
        account, watchdog, stopwatch_ns = self._account, self._watchdog, self.clock.stopwatch_ns
        nominal_s = account.timeline.nominal_s(tick)
        account.last_tick, account.last_woke_ns = tick, woke_ns
        began = before = stopwatch_ns()
        if watchdog is not None:
            watchdog.begin(tick, began)
        for group in account.groups:
            if tick % group.divisor == group.offset:
                if late:
                    group.slips += 1
                try:
                    group.callback(tick, nominal_s)
                except Exception:
                    group.note_error()
                    self._after_error(group.group.name, tick)
                except BaseException as error:  # KeyboardInterrupt, SystemExit: somebody wants out
                    self._stop.set(type(error).__name__)
                now = stopwatch_ns()
                group.execution.add(now - before)
                before = now
        account.execution.add(before - began)
        if watchdog is not None:
            watchdog.end(tick, before - began)

    def _skip(self, tick: int, now_ns: int, end: int) -> int:
        """Leave out the ticks whose successor is due already; returns the one whose turn it is now."""
        current = min(self._account.timeline.tick_at(now_ns), end - 1)
        self._account.skip(tick, current)
        return current

    def _note_overrun(self, tick: int) -> None:
        self._account.overruns += 1
        if self._overrun == "stop":
            self._stop.set(f"overrun: tick {tick} ended after the next was due")

    def _after_error(self, name: str, tick: int) -> None:
        if self._on_error == "stop":
            self._stop.set(f"error: group {name!r} raised at tick {tick}")

    def _complaints(self) -> list[str]:
        failed = self._watchdog.hook_errors if self._watchdog is not None else 0
        return [f"on_watchdog raised {failed} times"] if failed else []

    def _new_watchdog(self) -> Watchdog | None:
        if self._watchdog_s is None:
            return None
        return Watchdog(self._watchdog_s, self._on_watchdog, self.clock.stopwatch_ns)

    def _end(self, ticks: int | None, duration_s: float | None) -> int:
        if ticks is not None and duration_s is not None:
            raise ValueError(f"ticks and duration_s exclude each other, got {ticks!r} and {duration_s!r}")
        if duration_s is not None:
            return Timeline(self.rate).ticks_within(_seconds("duration_s", duration_s))
        if ticks is not None and (not isinstance(ticks, Integral) or ticks < 0):
            raise ValueError(f"ticks must be an integer from 0, got {ticks!r}")
        return NEVER if ticks is None else ticks


def _compile_kernels() -> None:
    """Compile, or load, the toolkit's kernels, if the program uses any."""
    if "attitude" in sys.modules:  # what nobody has imported no callback calls
        import attitude

        logging.getLogger("hil").info("compiling or loading the kernels of attitude before the first tick")
        attitude.warm_up()


def _margin_ns(spin_margin_s: float, clock: Clock) -> int:
    """The last stretch before a deadline, in the clock's own time."""
    return round(_seconds("spin_margin_s", spin_margin_s) * clock.speed * 1e9)


def _seconds(field: str, value: float) -> float:
    if not (isinstance(value, Real) and math.isfinite(value) and value >= 0):
        raise ValueError(f"{field} must be a number of seconds from 0, got {value!r}")
    return float(value)


def _checked_clock(clock: Clock) -> Clock:
    if not isinstance(clock, Clock):
        raise ValueError(f"clock must be a Clock object such as RealTime(), got {clock!r}")
    return clock


def _callables(warm_up: Iterable[Callable[[], object]]) -> tuple[Callable[[], object], ...]:
    given = tuple(warm_up) if isinstance(warm_up, Iterable) else (None,)
    if not all(map(callable, given)):
        raise ValueError(f"warm_up must be a sequence of callables, () for none, got {warm_up!r}")
    return given


def _one_of(field: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{field} must be one of {', '.join(allowed)}, got {value!r}")
    return value
