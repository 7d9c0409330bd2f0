"""The ideal filter: mean, transition and process noise by SciPy's DOP853 to 1e-12, without the toolkit's integrator."""

from __future__ import annotations

import numpy as np
from scipy.integrate import DOP853

from attitude.core.jit import Array
from attitude.estimation import baselines_kernels as kernels
from attitude.estimation.baselines_base import CovarianceMEKF
from attitude.estimation.filter import Status

TOLERANCE = 1e-12  # relative and absolute
MAX_STEPS = 10_000  # of one prediction: a filter that spins this fast is lost, and should not hang as well
GROWTH = 1.2  # first step of a prediction over the longest of the last


class IdealMEKF(CovarianceMEKF):
    """Extended Kalman filter without integration error; what is left is linearisation alone."""

    def __init__(self, inertia: Array, q: Array, omega: Array, P: Array, torque_noise: Array, t: float) -> None:
        super().__init__(inertia, q, omega, P, torque_noise, t)
        # the solver's absolute tolerance wants a noise of order one
        self._scale = float(np.abs(self._C).max()) or 1.0
        self._unit_C = self._C / self._scale
        self._step: float | None = None
        self._start = np.zeros(79)
        self._start[7:43] = np.eye(6).ravel()

    def flow(self, h: float, torque: Array) -> tuple[Array, Array, Array] | None:
        """State `(7,)` after `h` seconds, transition `(6, 6)` and noise covariance `(6, 6)`; None if out of reach."""
        solver = self._solver(h, torque)
        longest = 0.0
        for _ in range(MAX_STEPS):
            solver.step()
            if solver.status != "running":
                break
            longest = max(longest, solver.step_size)
        if solver.status != "finished" or not np.isfinite(solver.y).all():
            return None
        self._step = max(longest, solver.step_size)
        y = solver.y
        return y[:7], y[7:43].reshape(6, 6), self._scale * y[43:].reshape(6, 6)

    def _solver(self, h: float, torque: Array) -> DOP853:
        J, J_inverse, C, F = self._J, self._J_inverse, self._unit_C, self._W[0]
        slope, empty = kernels.variational_slope, np.empty

        def right_hand_side(_: float, y: Array) -> Array:
            out = empty(79)
            slope(J, J_inverse, C, torque, y, F, out)
            return out

        start = self._start.copy()
        start[:7] = self._x
        first = None if self._step is None else min(h, GROWTH * self._step)
        return DOP853(right_hand_side, 0.0, start, h, rtol=TOLERANCE, atol=TOLERANCE, first_step=first)

    def _carry(self, h: float, torque: Array) -> int:
        reached = self.flow(h, torque)
        if reached is None:
            return Status.NOT_PREDICTED
        x, Phi, Q = reached
        P = Phi @ self._P @ Phi.T + Q
        self._x[:4], self._x[4:] = x[:4] / np.linalg.norm(x[:4]), x[4:]
        self._P[:] = 0.5 * (P + P.T)
        return Status.ACCEPTED
