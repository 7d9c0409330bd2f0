"""SciPy's explicit Runge-Kutta pairs, with a compiled right-hand side and dense output between their own steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import integrate

from attitude.core.jit import Array, allocating_kernel
from sims.bench.peers import (
    AdaptiveRun,
    FreeBody,
    Motion,
    PeerError,
    euler_coefficients,
    free_body,
    motion,
    tolerance_of,
)

SMALLEST = 100.0 * float(np.finfo(np.float64).eps)  # SciPy raises smaller relative tolerances to this
GROWTH = 100.0  # of ω² beyond the largest that the initial energy allows: such a run has diverged


@allocating_kernel
def _rates(state: Array, k1: float, k2: float, k3: float) -> Array:
    """`[q̇, ω̇]` for `[q, ω]`; a new array each time, since the solver keeps a reference to it."""
    x, y, z, w = state[0], state[1], state[2], state[3]
    p, q, r = state[4], state[5], state[6]
    out = np.empty(7)
    out[0] = 0.5 * (w * p + y * r - z * q)
    out[1] = 0.5 * (w * q + z * p - x * r)
    out[2] = 0.5 * (w * r + x * q - y * p)
    out[3] = -0.5 * (x * p + y * q + z * r)
    out[4], out[5], out[6] = k1 * q * r, k2 * r * p, k3 * p * q
    return out


class _ScipyRun(AdaptiveRun):
    """Steps the solver class itself: `solve_ivp` does the same, but would follow a diverging motion for ever.

    At a loose tolerance the energy grows, and as ω̇ ~ ω² it reaches infinity in finite time, in ever smaller steps.
    """

    def __init__(self, method: str, body: FreeBody, tolerances: dict[str, float]) -> None:
        self._solver, self._tolerances = getattr(integrate, method), tolerances
        self._k1, self._k2, self._k3 = (float(k) for k in euler_coefficients(body.moments))
        self._limit = GROWTH * float(body.moments @ body.omega**2 / body.moments.min())
        self._state = np.concatenate([body.q, body.omega])
        self._derivative(0.0, self._state)  # compiles

    def _derivative(self, time: float, state: Array) -> Array:
        rates: Array = _rates(state, self._k1, self._k2, self._k3)
        return rates

    def _steps(self, end: float) -> Iterator[Any]:
        solver = self._solver(self._derivative, self._now, self._state, end, **self._tolerances)
        while solver.status == "running":
            solver.step()
            omega = solver.y[4:]
            if solver.status == "failed" or omega @ omega > self._limit:
                raise PeerError(f"the motion diverged at {solver.t} s: the setting is too coarse for this body")
            yield solver
        self._state = solver.y

    def _free(self, end: float) -> Array:
        for _ in self._steps(end):
            pass
        return self._state

    def _grid(self, times: Array) -> Array:
        rows = np.empty((times.size, 7))
        done = 0
        for solver in self._steps(float(times[-1])):
            reached = int(times.searchsorted(solver.t, side="right"))
            if reached > done:
                rows[done:reached] = solver.dense_output()(times[done:reached]).T
            done = reached
        return rows

    def _motion(self, variables: Array) -> Motion:
        return motion(variables[..., :4], variables[..., 4:].copy())


@dataclass(frozen=True)
class ScipyPeer:
    """One of the solvers of `scipy.integrate`; the setting is both tolerances, `None` SciPy's defaults."""

    method: str
    fixed_step: bool = False
    version: str = scipy.__version__

    @property
    def name(self) -> str:
        """Package and method."""
        return f"SciPy {self.method}"

    def prepare(self, moments: ArrayLike, q0: ArrayLike, omega0: ArrayLike, setting: float | None = None) -> _ScipyRun:
        """See `Peer`."""
        tolerances: dict[str, float] = {}
        if setting is not None:
            tolerance = tolerance_of(setting, SMALLEST)
            tolerances = {"rtol": tolerance, "atol": tolerance}
        return _ScipyRun(self.method, free_body(moments, q0, omega0), tolerances)


PEERS = (ScipyPeer("RK45"), ScipyPeer("DOP853"))
