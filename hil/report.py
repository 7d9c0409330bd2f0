"""What a run of the loop leaves behind: plain data, ready for JSON by `dataclasses.asdict`. Times are wall time.

`print(report)` tells it in a few lines; `hil.report_text` is the long form of the command line, with histograms.
"""

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
    went missing. `str(report)` leaves out the notes, the histograms and all but the last line of each group's first
    error.
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

    def __str__(self) -> str:
        """The run in a few lines: what happened, how late, how long each group took, the first errors."""
        return "\n".join([summary(self), *_times(self), *_errors(self)])


def summary(run: Report) -> str:
    """Two lines: how far the run came and why it ended, and its counters."""
    return (
        f"{run.ticks_run} ticks at {run.rate_hz:g} Hz by {run.clock}, {run.duration_s:.3f} s: {run.stop_reason}\n"
        f"slips {run.slips}, skipped {run.skipped}, overruns {run.overruns}, errors {run.errors}, "
        f"watchdog trips {run.watchdog_trips}, drift {run.drift_s * 1e6:.0f} us"
    )


def last_line(trace: str) -> str:
    """The line of a traceback that names the exception: the last, or the first of a message of many lines."""
    lines = trace.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    told = [line.strip(" |") for line in lines if any(map(str.isalnum, line))]
    unindented = (line for line in lines if line and not line[0].isspace())
    return next(unindented, told[-1] if told else trace)


def _times(run: Report) -> list[str]:
    rows = [("lateness", run.lateness, ""), ("execution of the tick", run.execution, "")]
    rows += [(f"  {group.name}", group.execution, f"{group.slips:8d}") for group in run.groups]
    return [f"{'us':24}{'p50':>10}{'p99':>10}{'max':>10}{'count':>8}{'slips':>8}", *(_row(*row) for row in rows)]


def _row(name: str, d: Durations, slips: str) -> str:
    return f"{name:24}{d.p50_us:10.1f}{d.p99_us:10.1f}{d.max_us:10.1f}{d.count:8d}{slips}"


def _errors(run: Report) -> list[str]:
    return [
        f"errors in group {group.name!r}: {group.errors}, the first {last_line(group.first_error)} "
        f"(traceback in groups[{place}].first_error)"
        for place, group in enumerate(run.groups)
        if group.first_error is not None
    ]
