"""A mission in a few plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sims.events import sensor_name
from sims.flown import Flown, Interval, intervals, references
from sims.summary import DETUMBLED_DEG_S, Summary

REASONS = {
    "tumbling": " because it was tumbling", "saturated": " because a wheel was near its limit",
    "lost": " because the attitude or an essential sensor was lost", "timeout": " because it had taken too long",
}  # fmt: skip
"""Why a mode was left, where it was not simply done."""
MANY = 6  # changes of mode told one by one


def narrative(flown: Flown, summary: Summary) -> list[str]:
    """Paragraphs, in the order of events."""
    parts = (_tumble, _modes, _estimate, _pointing, _targets, _faults, _wheels, _eclipse)
    return [text for part in parts if (text := " ".join(part(flown, summary)))]


def duration(seconds: float) -> str:
    """In the unit a person would take."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 36_000.0 else f"{seconds / 3600.0:.1f} h"


def _span(interval: Interval) -> str:
    end = "min to the end" if interval.end_s is None else f"to {interval.end_s / 60.0:.1f} min"
    return f"{interval.begin_s / 60.0:.1f} {end}"


def _spans(found: list[Interval]) -> str:
    """The first of them, and how many more there are."""
    words = [_span(interval) for interval in found[:MANY]]
    if len(found) > MANY:
        words.append(f"{len(found) - MANY} more")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _tumble(flown: Flown, summary: Summary) -> Iterator[str]:
    orbits = summary.duration_s / summary.orbit_period_s
    yield f"The log covers {duration(summary.duration_s)}, {orbits:.2g} orbits."
    yield f"The spacecraft began at {summary.first_rate_deg_s:.3g} deg/s."
    if not summary.mode_s["detumble"]:
        yield f"At the end it turned at {summary.last_rate_deg_s:.3g} deg/s."
    elif summary.detumbled_s is None:
        yield f"It never came below {DETUMBLED_DEG_S:g} deg/s: the last rate was {summary.last_rate_deg_s:.3g} deg/s."
    elif summary.detumbled_s > 0.0:
        share = summary.detumbled_s / summary.orbit_period_s
        yield f"Detumbled after {duration(summary.detumbled_s)} ({share:.2f} orbits): the rate stayed below"
        yield f"{DETUMBLED_DEG_S:g} deg/s."
    if summary.wobble_first_deg is not None and summary.wobble_last_deg is not None:
        yield f"The angle between rate and momentum went from {summary.wobble_first_deg:.3g} to"
        yield f"{summary.wobble_last_deg:.2g} deg as the damper did its work."


def _modes(flown: Flown, summary: Summary) -> Iterator[str]:
    changes = summary.mode_changes
    for change in changes[:MANY]:
        reason = REASONS.get(change.reason, "")
        yield f"At {duration(change.t_s)} it went from {change.before} to {change.after}{reason}."
    if len(changes) > MANY:
        yield f"{len(changes) - MANY} more changes of mode followed; the table of events has them."


def _estimate(flown: Flown, summary: Summary) -> Iterator[str]:
    known = intervals(flown.running, flown.t)
    if not known:
        yield "The estimator never had an attitude."
        return
    yield f"The first attitude was found at {duration(known[0].begin_s)}."
    if len(known) > 1:
        yield f"It was given up and found again {_times(len(known) - 1)}."
    share, day = summary.within_3_sigma, summary.knowledge_sunlit.three_sigma_deg
    if share is not None and day is not None:
        yield f"After settling the estimate was off by at most {day:.2g} deg (3σ) in sunlight,"
        yield f"and inside the filter's own 3σ about all axes {100.0 * share:.1f} % of the time."


def _pointing(flown: Flown, summary: Summary) -> Iterator[str]:
    day, night = summary.pointing_sunlit.three_sigma_deg, summary.pointing_eclipse.three_sigma_deg
    if day is not None:
        dark = "." if night is None else f" and {night:.2g} deg in eclipse."
        yield f"Settled in nominal mode, the true pointing error was {day:.2g} deg (3σ) in sunlight{dark}"


def _targets(flown: Flown, summary: Summary) -> Iterator[str]:
    for reference in references(flown.log):
        passes = intervals(np.asarray(flown.pointing == reference.number), flown.t) if reference.is_target else []
        if passes:
            yield f"It followed the {reference.name} {_times(len(passes))}: {_spans(passes)}."
            error = summary.pointing_by_reference.get(reference.name)
            if error is not None and error.three_sigma_deg is not None:
                yield f"After each slew the error there was {error.three_sigma_deg:.2g} deg (3σ)."


def _faults(flown: Flown, summary: Summary) -> Iterator[str]:
    for sensor, found in summary.faults.items():
        yield f"The {sensor_name(sensor)} was held faulty {_times(len(found))}: {_spans(found)}."


def _wheels(flown: Flown, summary: Summary) -> Iterator[str]:
    if summary.wheel_load is None or summary.wheel_load_last_orbit is None:
        return
    yield f"The wheels reached at most {100.0 * summary.wheel_load:.0f} % of their speed,"
    yield f"{100.0 * summary.wheel_load_last_orbit:.0f} % in the last orbit."
    if summary.dumping_s:
        time, size = duration(summary.dumping_s), 1e3 * summary.dumped_Nms
        yield f"In {time} of dumping the torquers took out {size:.2g} mN m s."


def _eclipse(flown: Flown, summary: Summary) -> Iterator[str]:
    shadows = intervals(flown.eclipse, flown.t)
    if shadows:
        yield f"It was in the Earth's shadow {_times(len(shadows))}, {duration(summary.eclipse_s)} in all."
