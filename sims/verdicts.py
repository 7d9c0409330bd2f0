"""A summary line by line: value, unit and, where there is a goal, whether it was reached; as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sims.summary import Spread, Summary

if TYPE_CHECKING:
    from rich.table import Table

HEADS = ("what", "value", "unit", "goal", "verdict")
ALWAYS = {"momentum_audit": 1e-12}
POINTING = {"pointing_deg": 1.0, "within_3_sigma": 0.98, "wheel_load_last_orbit": 1.0, "ends_nominal": 1.0}
SHIPPED = {
    "default": {"detumbled_orbits": 2.0, **POINTING},
    "detumble": {"detumbled_orbits": 2.0},
    "star-tracker": {**POINTING, "pointing_deg": 0.05},
    "faults": {"fallbacks": 1.0, "ends_nominal": 1.0},
}
"""Goals of the shipped scenarios by name: the worst that is allowed, `wheel_load_last_orbit` excluded."""


@dataclass(frozen=True)
class Line:
    """One number of a summary; `passed` is `None` if nothing is asked of it."""

    what: str
    value: str
    unit: str = ""
    goal: str = ""
    passed: bool | None = None

    @property
    def verdict(self) -> str:
        """In words."""
        return "" if self.passed is None else "pass" if self.passed else "FAIL"


def goals_of(scenario: str) -> dict[str, float]:
    """What a mission of this name is to reach; of any mission, that the plant keeps its momentum."""
    return {**ALWAYS, **SHIPPED.get(scenario, {})}


def lines(summary: Summary, goals: Mapping[str, float]) -> list[Line]:
    """The whole summary."""
    parts = (_motion, _modes, _pointing, _knowledge, _actuators, _plant)
    return [line for part in parts for line in part(summary, goals)]


def passed(summary: Summary, goals: Mapping[str, float]) -> bool:
    """Whether every goal was reached, and the log holds nothing that is not a number."""
    return all(line.passed is not False for line in lines(summary, goals))


def number(value: float | None, digits: int = 3) -> str:
    """Some digits of a value, a dash if there is none."""
    return "–" if value is None else f"{value:.{digits}g}"


def minutes(seconds: float | None) -> str:
    """Whole tenths of minutes, a dash if there are none."""
    return "–" if seconds is None else f"{seconds / 60.0:.1f}"


def _at_most(what: str, value: float | None, unit: str, goal: float | None, text: str | None = None) -> Line:
    """A value that must not be above its goal; one that is missing does not reach it."""
    shown = number(value) if text is None else text
    if goal is None:
        return Line(what, shown, unit)
    return Line(what, shown, unit, f"≤ {goal:g}", value is not None and value <= goal)


def _at_least(what: str, value: float, unit: str, goal: float) -> Line:
    return Line(what, number(value), unit, f"≥ {goal:g}", value >= goal)


# ------------------------------------------------------------------ parts of the summary
def _motion(summary: Summary, goals: Mapping[str, float]) -> Iterator[Line]:
    yield Line("duration", minutes(summary.duration_s), "min")
    yield Line("orbits", f"{summary.duration_s / summary.orbit_period_s:.2f}")
    yield Line("rate at the start", number(summary.first_rate_deg_s), "deg/s")
    yield Line("rate at the end", number(summary.last_rate_deg_s), "deg/s")
    if summary.mode_s["detumble"] or "detumbled_orbits" in goals:
        time = summary.detumbled_s
        orbits = None if time is None else time / summary.orbit_period_s
        yield Line("time to detumble below 0.5 deg/s", minutes(time), "min")
        yield _at_most("the same, in orbits", orbits, "orbits", goals.get("detumbled_orbits"))
    if summary.wobble_first_deg is not None:
        yield Line("angle of rate to momentum, start", number(summary.wobble_first_deg), "deg")
        yield Line("angle of rate to momentum, end", number(summary.wobble_last_deg), "deg")


def _modes(summary: Summary, goals: Mapping[str, float]) -> Iterator[Line]:
    for mode, seconds in summary.mode_s.items():
        if seconds:
            yield Line(f"time in mode {mode}", minutes(seconds), "min")
    yield Line("time in eclipse", minutes(summary.eclipse_s), "min")
    if "fallbacks" in goals:
        yield _at_least("falls back to safe mode", summary.fallbacks, "times", goals["fallbacks"])
    if "ends_nominal" in goals:
        yield Line("mode at the end", summary.last_mode, "", "nominal", summary.last_mode == "nominal")


def _pointing(summary: Summary, goals: Mapping[str, float]) -> Iterator[Line]:
    goal = goals.get("pointing_deg")
    if not summary.pointing_by_reference and goal is None:
        return
    yield _at_most("pointing error, 3σ, sunlit and settled", summary.pointing_sunlit.three_sigma_deg, "deg", goal)
    yield from _spread("pointing error, 3σ, in eclipse", summary.pointing_eclipse)
    for name, found in summary.pointing_by_reference.items():
        yield from _spread(f"pointing error, 3σ, {name}", found)


def _spread(what: str, found: Spread) -> Iterator[Line]:
    if found.rows:
        yield Line(what, number(found.three_sigma_deg), "deg")


def _knowledge(summary: Summary, goals: Mapping[str, float]) -> Iterator[Line]:
    yield from _spread("knowledge error, 3σ, sunlit", summary.knowledge_sunlit)
    yield from _spread("knowledge error, 3σ, in eclipse", summary.knowledge_eclipse)
    share, goal = summary.within_3_sigma, goals.get("within_3_sigma")
    if share is None and goal is None:
        return
    text = "–" if share is None else f"{100.0 * share:.2f}"
    aim = "" if goal is None else f"≥ {100.0 * goal:g}"
    reached = None if goal is None else share is not None and share >= goal
    yield Line("knowledge error within the filter's 3σ, all axes", text, "%", aim, reached)


def _actuators(summary: Summary, goals: Mapping[str, float]) -> Iterator[Line]:
    if summary.wheel_load is None or summary.wheel_load_last_orbit is None:
        return
    yield Line("largest wheel speed over its maximum", number(summary.wheel_load))
    last, goal = summary.wheel_load_last_orbit, goals.get("wheel_load_last_orbit")
    aim, reached = ("", None) if goal is None else (f"< {goal:g}", last < goal)
    yield Line("the same, last orbit", number(last), "", aim, reached)
    if summary.dumping_s:
        yield Line("momentum dumped by the torquers", number(1e3 * summary.dumped_Nms), "mN m s")


def _plant(summary: Summary, goals: Mapping[str, float]) -> Iterator[Line]:
    for sensor, found in summary.faults.items():
        yield Line(f"{sensor.replace('_', ' ')} held faulty", str(len(found)), "times")
    yield _at_most("momentum not accounted for", summary.momentum_audit, "of largest", goals.get("momentum_audit"))
    name = "energy not accounted for" if summary.wobble_first_deg is None else "energy the damper took"
    yield Line(name, number(summary.energy_audit), "of largest")
    bad = sum(summary.not_finite.values()) + summary.failed_steps
    yield _at_most("values that are no numbers, steps that failed", bad, "", 0.0, str(bad))


def table(summary: Summary, goals: Mapping[str, float]) -> Table:
    """For a terminal."""
    from rich.table import Table

    found = Table(*HEADS, title=f"{summary.scenario}, seed {summary.seed}")
    found.columns[1].justify = "right"
    for line in lines(summary, goals):
        style = "bold red" if line.passed is False else None
        found.add_row(line.what, line.value, line.unit, line.goal, line.verdict, style=style)
    return found
