"""What a run of the loop leaves behind: plain data, ready for JSON by `dataclasses.asdict`. Times are wall time."""

from __future__ import annotations

from dataclasses import dataclass

from hil.lateness import Durations


@dataclass(frozen=True)
class GroupReport:
    """One rate group. A slip is a call that was skipped, or that began a whole period of the loop too late."""

    name: str
    divisor: int
    offset: int
    runs: int
    slips: int
    errors: int
    first_error: str | None  # traceback of the first call that raised
    execution: Durations


@dataclass(frozen=True)
class Report:
    """A run of the loop.

    `lateness` is how long after a deadline the loop woke for it, skipped ticks waited through included. `overruns`
    counts ticks that ended after the next deadline. `drift_s` is the clock at the last tick run minus its nominal
    time; `periods_elapsed` counts the deadlines the clock has passed by then, and is `ticks_run + skipped` if no tick
    went missing.
    """

    clock: str
    speed: float  # seconds of the clock per second of wall time
    rate_hz: float
    duration_s: float  # on the clock
    ticks_run: int
    skipped: int
    overruns: int
    slips: int  # of all groups together
    errors: int
    watchdog_trips: int
    stop_reason: str
    periods_elapsed: int
    drift_s: float
    lateness: Durations
    execution: Durations  # of whole ticks
    groups: list[GroupReport]
    notes: list[str]  # what the system granted or refused, and what else the reader should know
