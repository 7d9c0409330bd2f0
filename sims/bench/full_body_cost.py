"""Cost of the full body integrator against DOP853 at equal energy error, for the dumbbells of LLM 2007."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sims.papers.lee_leok_mcclamroch import END, deviation, dumbbells, runge_kutta, variational

STEPS = ((2, 1e-3), (2, 2e-4), (4, 4e-3), (4, 2e-3), (4, 5e-4))  # order, h
TOLERANCES = tuple(float(tolerance) for tolerance in np.logspace(-4, -12, 33))


@dataclass(frozen=True)
class Cost:
    """One line: both methods reach the end time; wall times in s, cost per step in µs."""

    order: int
    h: float
    energy_error: float
    seconds: float
    microseconds_per_step: float
    dop853_tolerance: float
    dop853_energy_error: float
    dop853_seconds: float

    @property
    def ratio(self) -> float:
        """DOP853 over ours, in the same process."""
        return self.dop853_seconds / self.seconds


def _fastest(job: Callable[[], object], repeats: int = 3) -> float:
    """Shortest wall time of a few, s."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
    return min(times)


def cost_table(end: float = END) -> list[Cost]:
    """Variational integrator, orders 2 and 4, against DOP853 at the tolerance whose energy error comes closest."""
    system, table = dumbbells(), []
    trials = [(tol, deviation(runge_kutta(system, end, "DOP853", tol).energy)) for tol in TOLERANCES]
    for order, h in STEPS:
        error = deviation(variational(system, h, end, order=order).energy)
        seconds = _fastest(partial(variational, system, h, end, every=round(end / h), order=order))
        _, tol, peer = min((abs(math.log(peer / error)), tol, peer) for tol, peer in trials)
        other = _fastest(partial(runge_kutta, system, end, "DOP853", tol))
        table.append(Cost(order, h, error, seconds, 1e6 * seconds * h / end, tol, peer, other))
    return table
