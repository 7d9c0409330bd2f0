"""The books of a run: counters of the loop and of each rate group, written in flight without allocation."""

from __future__ import annotations

import traceback
from fractions import Fraction

from hil.clock import Clock
from hil.lateness import Histogram, durations
from hil.rate_groups import RateGroup
from hil.report import GroupReport, Report
from hil.timeline import NS_PER_S, Timeline


class GroupAccount:
    """Counters of one rate group, and what the loop needs of the group at hand."""

    __slots__ = ("callback", "divisor", "errors", "execution", "first_error", "group", "offset", "slips")

    def __init__(self, group: RateGroup) -> None:
        self.group = group
        self.callback, self.divisor, self.offset = group.callback, group.divisor, group.offset
        self.execution = Histogram()
        self.slips = 0
        self.errors = 0
        self.first_error: str | None = None

    def note_error(self) -> None:
        """Count the exception in flight, and keep the text of the first."""
        self.errors += 1
        if self.first_error is None:
            self.first_error = traceback.format_exc()

    def report(self) -> GroupReport:
        """The counters as plain data."""
        return GroupReport(
            name=self.group.name,
            divisor=self.divisor,
            offset=self.offset,
            runs=self.execution.count,
            slips=self.slips,
            errors=self.errors,
            first_error=self.first_error,
            execution=durations(self.execution),
        )


class LoopAccount:
    """Counters of a whole run."""

    def __init__(self, timeline: Timeline, groups: tuple[RateGroup, ...]) -> None:
        self.timeline = timeline
        self.groups = [GroupAccount(group) for group in groups]
        self.lateness = Histogram()
        self.execution = Histogram()
        self.skipped = 0
        self.overruns = 0
        self.last_tick = 0
        self.last_woke_ns = timeline.start_ns
        self.ended_ns: int | None = None
        self.watchdog_trips = 0

    def skip(self, first: int, end: int) -> None:
        """Ticks `first`, ..., `end - 1` will not be run."""
        self.skipped += end - first
        for account in self.groups:
            account.slips += account.group.due_between(first, end)

    def report(self, clock: Clock, stop_reason: str, notes: list[str]) -> Report:
        """The counters as plain data; may be called while the loop runs, from another thread."""
        groups = [account.report() for account in self.groups]
        ended_ns = clock.now_ns() if self.ended_ns is None else self.ended_ns
        return Report(
            clock=clock.name,
            speed=clock.speed,
            rate_hz=float(self.timeline.rate),
            duration_s=(ended_ns - self.timeline.start_ns) * 1e-9,
            ticks_run=self.execution.count,
            skipped=self.skipped,
            overruns=self.overruns,
            slips=sum(group.slips for group in groups),
            errors=sum(group.errors for group in groups),
            watchdog_trips=self.watchdog_trips,
            stop_reason=stop_reason,
            periods_elapsed=self.timeline.tick_at(self.last_woke_ns) + 1,
            drift_s=float(
                Fraction(self.last_woke_ns - self.timeline.start_ns, NS_PER_S) - self.last_tick / self.timeline.rate
            ),
            lateness=durations(self.lateness, clock.speed),
            execution=durations(self.execution),
            groups=groups,
            notes=notes,
        )
