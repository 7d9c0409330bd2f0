"""What the toolkit is meant to reach, and whether this run shows it; a busy machine may miss a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attitude.spacecraft.config import GYRO
from sims.bench.closed_loop import ClosedLoop
from sims.bench.cold_start import MISSION, FirstCall
from sims.bench.filters import FilterRow
from sims.bench.mission_length import MissionLength
from sims.bench.scaling import Scaling
from sims.bench.steps import StepRow
from sims.bench.truth_costs import TruthCosts
from sims.bench.work_precision import WorkPrecision

BASILISK = "Basilisk RK4"
OPENGNC = "OpenGNC MEKF"


@dataclass(frozen=True)
class Goal:
    """`met` is None when nothing was measured, as without the peer."""

    what: str
    measured: float | None
    limit: float
    at_least: bool

    @property
    def met(self) -> bool | None:
        """Whether the measurement is on the right side of the limit."""
        if self.measured is None:
            return None
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    @property
    def verdict(self) -> str:
        """One word."""
        return {None: "not measured", True: "met", False: "missed"}[self.met]


def goals(
    steps: Sequence[StepRow],
    precision: WorkPrecision,
    scaling: Scaling,
    first: Sequence[FirstCall],
    truth: TruthCosts,
    filters: Sequence[FilterRow],
    loop: ClosedLoop,
    orbits: MissionLength,
) -> list[Goal]:
    """All of them, in the order of the tables."""
    calls = [row for row in first if row.name != MISSION]  # whose limits are those of a propagator
    cold, warm = max(row.empty_cache_seconds for row in calls), max(row.warm_cache_seconds for row in calls)
    over_run, over_calls = _filter_ratios(filters)
    return [
        Goal("time per step, order 12 over order 2", _ratio(steps, "order 12"), 1.4, False),
        Goal("time per step, Basilisk RK4 over order 2", _ratio(steps, BASILISK), 40.0, True),
        Goal("time to 1e-10 rad, heyoka at its default over our best", precision.default_ratio, 3.0, True),
        Goal(f"energy, relative drift after {scaling.drift_steps:.0e} steps", scaling.energy_drift, 1e-12, False),
        Goal(f"momentum, relative drift after {scaling.drift_steps:.0e} steps", scaling.momentum_drift, 1e-12, False),
        Goal("distance from 1 of the exponent of cost against steps", abs(scaling.exponent - 1.0), 0.05, False),
        Goal("first call, empty kernel cache, s", cold, 20.0, False),
        Goal("first call, warm kernel cache, s", warm, 1.5, False),
        Goal("full body, µs per relative step of order 2", _relative_step(truth), 1.5, False),
        Goal("predict and two updates, OpenGNC over our compiled run", over_run, 25.0, True),
        Goal("predict and two updates, OpenGNC over our Python calls", over_calls, 8.0, True),
        Goal("time per tick, Basilisk without estimator over ours, gyro filter", loop.ratio(GYRO), 4.0, True),
        Goal("distance from 1 of the exponent of a mission's time", abs(orbits.exponent - 1.0), 0.05, False),
        Goal("memory of a kept row beyond its size, relative", orbits.row_bytes / orbits.row_size - 1.0, 0.05, False),
        Goal("growth of memory with ten times the ticks and equal rows", orbits.equal_rows_growth, 0.05, False),
    ]


def _relative_step(truth: TruthCosts) -> float:
    return min(row.microseconds_per_step for row in truth.full_body if row.order == 2)


def _filter_ratios(rows: Sequence[FilterRow]) -> tuple[float | None, float | None]:
    return next(((row.over_compiled, row.over_called) for row in rows if row.name == OPENGNC), (None, None))


def _ratio(rows: Sequence[StepRow], name: str) -> float | None:
    return next((row.ratio for row in rows if row.name == name), None)
