"""What happened when, from a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attitude.spacecraft.frames import SENSOR_NAMES
from sims.flown import Flown, Mask, intervals, references
from sims.summary import DETUMBLED_DEG_S, detumbled, faults, mode_changes


@dataclass(frozen=True)
class Event:
    """Something that happened `t_s` seconds after the epoch."""

    t_s: float
    what: str
    text: str


def events(flown: Flown) -> list[Event]:
    """All events in order."""
    return sorted([*_rate(flown), *_modes(flown), *_estimate(flown), *_pointing(flown), *_faults(flown), *_sun(flown)],
                  key=lambda event: event.t_s)  # fmt: skip


def sensor_name(name: str) -> str:
    """As a person says it."""
    return name.replace("_", " ")


def _both(flown: Flown, mask: Mask, what: str, begins: str, ends: str) -> Iterator[Event]:
    """Begin and end of each interval, without a begin that is only that of the log."""
    for interval in intervals(mask, flown.t):
        if interval.begin_s > flown.t[0]:
            yield Event(interval.begin_s, what, begins)
        if interval.end_s is not None:
            yield Event(interval.end_s, what, ends)


def _rate(flown: Flown) -> Iterator[Event]:
    yield Event(float(flown.t[0]), "rate", f"the log begins at {np.degrees(flown.rate[0]):.3g} deg/s")
    time = detumbled(flown)
    if time:
        yield Event(float(flown.t[0]) + time, "rate", f"true rate below {DETUMBLED_DEG_S:g} deg/s")


def _modes(flown: Flown) -> Iterator[Event]:
    for change in mode_changes(flown):
        yield Event(change.t_s, "mode", f"{change.before} → {change.after} ({change.reason})")


def _estimate(flown: Flown) -> Iterator[Event]:
    return _both(flown, flown.running, "estimate", "attitude found", "attitude given up")


def _pointing(flown: Flown) -> Iterator[Event]:
    for reference in references(flown.log):
        mask = np.asarray(flown.pointing == reference.number)
        yield from _both(flown, mask, "pointing", f"turns to {reference.name}", f"leaves {reference.name}")
    yield from _both(flown, np.asarray(flown["control_dumping"] == 1), "wheels", "dumping begins", "dumping ends")


def _faults(flown: Flown) -> Iterator[Event]:
    for sensor in SENSOR_NAMES:
        name = sensor_name(sensor)
        for fault in faults(flown, sensor):
            yield Event(fault.begin_s, "fault", f"{name} held faulty")
            if fault.end_s is not None:
                yield Event(fault.end_s, "fault", f"{name} trusted again")


def _sun(flown: Flown) -> Iterator[Event]:
    return _both(flown, flown.eclipse, "eclipse", "enters eclipse", "leaves eclipse")
