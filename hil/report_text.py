"""The end-of-run report as text: lateness and execution times, slips, link counters, a histogram in bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hil.lateness import Durations
from hil.plant_side import Event
from hil.report import Report, summary
from hil.ring import LogReport

BAR = 50  # columns of the longest bar
BLOCK = "█"
LEGEND = (
    "(fresh: ticks flown with the command that answers their own samples; held: with an older one; late commands: "
    "for a tick that was over)"
)
FINEST_US = 1.0  # bins that begin below are drawn as one


def text(
    run: Report, log: LogReport, line: Mapping[str, Any], counters: Mapping[str, Any], bare: Durations | None
) -> str:
    """The whole report; `line` and `counters` are empty for a loop in one process."""
    parts = [summary(run), _times(run, bare), _log(log)]
    parts += [f"{_counters('plant', counters)}\n{LEGEND}"] if counters else []
    parts += [_line(line)] if line else []
    parts += [histogram("lateness", run.lateness)] if run.lateness.max_us else []
    parts += [histogram("lateness of the bare C loop", bare)] if bare else []
    parts += ["\n".join(f"note: {note}" for note in run.notes)] if run.notes else []
    parts += [f"first error in group {g.name}:\n{g.first_error}" for g in run.groups if g.first_error]
    return "\n\n".join(parts)


def event(one: Event) -> str:
    """One event, with its time in the mission."""
    return f"t {one.t_s:.1f} s: {one.what}"


def events(found: Sequence[Event]) -> str:
    """What happened, in order; empty if nothing did."""
    return "\n".join(["events", *map(event, found)]) if found else ""


def _times(run: Report, bare: Durations | None) -> str:
    late = [("lateness", run.lateness)] if run.lateness.max_us else []  # in lockstep nothing is late
    rows = late + ([("lateness of the bare C loop", bare)] if bare else [])
    rows += [("execution of the tick", run.execution), *((f"  {g.name}", g.execution) for g in run.groups)]
    head = f"{'us':28}{'p50':>10}{'p99':>10}{'max':>10}{'mean':>10}{'count':>10}"
    return "\n".join([head, *(_row(name, d) for name, d in rows)])


def _row(name: str, d: Durations) -> str:
    return f"{name:28}{d.p50_us:10.1f}{d.p99_us:10.1f}{d.max_us:10.1f}{d.mean_us:10.1f}{d.count:10d}"


def _log(log: LogReport) -> str:
    text = f"log: {log.written} rows written of {log.offered}"
    if log.complete:
        return text
    lost = f"{text}; {log.lost} lost in a full ring, {log.failed} failed, {log.unwritten} unwritten"
    return f"{lost} ({log.first_error})" if log.first_error else lost


def _counters(name: str, counters: Mapping[str, Any]) -> str:
    told = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in counters.items() if value)
    return f"{name}: {told or 'nothing'}"


def _line(line: Mapping[str, Any]) -> str:
    parts = [_counters(line["name"], line["link"]), _counters("packets", line["packets"])]
    parts.append(f"refused {line['refused']}, handshakes {line['synchronisations']}")
    for direction, counts in line.get("impairments", {}).items():
        parts.append(_counters(f"impaired, {direction}", counts))
    if "recording" in line:
        parts.append(_counters("recording", line["recording"]))
    return "\n".join(parts)


def histogram(title: str, d: Durations) -> str:
    """Bars by factors of two, the finest in one; no count is without a bar."""
    fine = [entry for entry in d.bins if entry[0] < FINEST_US]
    bins = [entry for entry in d.bins if entry[0] >= FINEST_US]
    if fine:
        bins.insert(0, (0.0, fine[-1][1], sum(count for _, _, count in fine)))
    most = max(count for _, _, count in bins)
    return "\n".join([f"{title}, us", *(_bar(low, high, count, most) for low, high, count in bins)])


def _bar(low: float, high: float, count: int, most: int) -> str:
    bar = BLOCK * max(int(count > 0), round(BAR * count / most))
    return f"{low:12.1f} to {high:12.1f} {count:9d} {bar}".rstrip()
