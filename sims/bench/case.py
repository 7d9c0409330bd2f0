"""The motion that every table measures, what its constants are, and a clock for a shared machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from attitude.core.jit import Array
from attitude.core.quaternion import rotate
from sims.bench.peers import Motion, Peer, Run

MOMENTS = np.array([1.0, 2.0, 3.0])  # kg m²
Q0 = np.array([0.0, 0.0, 0.0, 1.0])
OMEGA0 = np.array([np.pi / 4, -np.pi / 5, np.pi / 6])  # rad/s
STEP = 0.2  # s


def start(peer: Peer, setting: float | None) -> Run:
    """A run of the case, ready to be timed."""
    return peer.prepare(MOMENTS, Q0, OMEGA0, setting)


def drift(final: Motion) -> tuple[float, float]:
    """Relative change of the energy and of the inertial momentum since the start."""
    energy, momentum = _constants(final.q, final.omega)
    energy0, momentum0 = _constants(Q0, OMEGA0)
    return abs(energy - energy0) / energy0, float(np.linalg.norm(momentum - momentum0) / np.linalg.norm(momentum0))


def _constants(q: Array, omega: Array) -> tuple[float, Array]:
    return 0.5 * float(MOMENTS @ omega**2), rotate(q, MOMENTS * omega)


# ------------------------------------------------------------------ the clock
def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begin = perf_counter()
    work()
    return perf_counter() - begin


def fastest(work: Callable[[], object], at_least: float) -> float:
    """Least wall time of one call, called until `at_least` seconds have passed in all; a long call is made once."""
    times = [seconds(work)]
    while sum(times) < at_least:
        times.append(seconds(work))
    return min(times)


def interleaved(jobs: Sequence[Callable[[], float]], rounds: int, report: Callable[[float], None]) -> list[float]:
    """Least result of each job over `rounds` in turn, so that a busy moment does not fall on one of them alone."""
    best = [float("inf")] * len(jobs)
    for count in range(rounds):
        for index, job in enumerate(jobs):
            report((count * len(jobs) + index) / (rounds * len(jobs)))
            best[index] = min(best[index], job())
    return best
