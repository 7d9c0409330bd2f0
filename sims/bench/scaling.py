"""Cost of a run against its number of steps: a straight line beyond the fixed cost of one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sims.bench.case import STEP, drift, fastest, interleaved, start
from sims.bench.ours import Ours
from sims.papers.table import Progress

FULL = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
QUICK = (1_000, 10_000, 100_000, 1_000_000)
DRIFT_STEPS = 1_000_000
ORDER = 2
ROUNDS = 3
SHORTEST = 0.05  # s spent on each length in a round: a single short run is at the mercy of the machine


@dataclass(frozen=True)
class Length:
    """A run of `steps` steps took `seconds`."""

    steps: int
    seconds: float
    nanoseconds_per_step: float


@dataclass(frozen=True)
class Scaling:
    """`exponent` p of `seconds − call_seconds ~ steps^p`; drifts are relative, after `drift_steps` steps."""

    lengths: list[Length]
    call_seconds: float
    exponent: float
    drift_steps: int
    energy_drift: float
    momentum_drift: float


def scaling(lengths: Sequence[int], progress: Progress) -> Scaling:
    """Least time of each length, and of a run of a single step."""
    jobs = [partial(_run_time, steps) for steps in (1, *lengths)]
    call, *times = interleaved(jobs, ROUNDS, lambda done: progress("cost against steps", done))
    rows = [Length(n, time, 1e9 * time / n) for n, time in zip(lengths, times, strict=True)]
    energy, momentum = drift(start(Ours(ORDER), STEP).advance(DRIFT_STEPS * STEP))
    return Scaling(rows, call, exponent(rows, call), DRIFT_STEPS, energy, momentum)


def exponent(rows: Sequence[Length], call_seconds: float) -> float:
    """Slope of log(seconds − call_seconds) against log(steps)."""
    steps = np.log([row.steps for row in rows])
    return float(np.polyfit(steps, np.log([row.seconds - call_seconds for row in rows]), 1)[0])


def _run_time(steps: int) -> float:
    run = start(Ours(ORDER), STEP)
    return fastest(lambda: run.advance(steps * STEP), SHORTEST)
