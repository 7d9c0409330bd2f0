"""Cost of one (SDRBn) step against the dimension n."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from attitude.truth.so_n import BodyN, Psi_inverse, System, cayley, norm, run, skew

DIMENSIONS = (3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32)
STEP, MOMENTUM = 0.1, 1.0  # h in s and ‖M‖: about 0.05 rad per step
SECONDS = 0.05  # per repetition, long enough for the clock
REPEATS = 5  # the fastest counts: the others were disturbed


@dataclass(frozen=True)
class StepCost:
    """Dimension, µs per step, and the exponent of its growth from the row before (NaN in the first)."""

    n: int
    microseconds: float
    growth: float


def step_costs(ns: Iterable[int] = DIMENSIONS) -> list[StepCost]:
    """Table of the compiled step's cost; growth `p` means that the cost goes as `n^p` between two rows."""
    rows: list[StepCost] = []
    for n in ns:
        cost = _microseconds(n)
        exponent = float("nan")
        if rows:
            exponent = float(np.log(cost / rows[-1].microseconds) / np.log(n / rows[-1].n))
        rows.append(StepCost(n, cost, exponent))
    return rows


def growth(rows: list[StepCost]) -> float:
    """Exponent p of the power law `cost ~ n^p` fitted to all rows."""
    n, cost = np.array([row.n for row in rows], dtype=float), np.array([row.microseconds for row in rows])
    return float(np.polyfit(np.log(n), np.log(cost), 1)[0])


def _microseconds(n: int) -> float:
    body, Q, P = _start(n)
    steps = 100
    while (elapsed := _seconds(body, Q, P, steps)) < SECONDS:
        steps = int(steps * max(2.0, min(100.0, 1.2 * SECONDS / elapsed)))
    return 1e6 * min(_seconds(body, Q, P, steps) for _ in range(REPEATS)) / steps


def _seconds(body: BodyN, Q: np.ndarray, P: np.ndarray, steps: int) -> float:
    start = perf_counter()
    run(System.SDRB, body, Q, P, STEP, steps, steps)
    return perf_counter() - start


def _start(n: int) -> tuple[BodyN, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    M = skew(rng.normal(size=n * (n - 1) // 2), n)
    Q = cayley(skew(0.3 * rng.normal(size=n * (n - 1) // 2), n))
    Q, P = Psi_inverse(Q, M * MOMENTUM / norm(M), STEP)
    return BodyN(np.linspace(1.0, 3.0, n)), Q, P
