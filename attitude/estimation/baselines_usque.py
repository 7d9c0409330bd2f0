"""USQUE, the unscented quaternion estimator (Crassidis and Markley 2003), on filterpy's `UnscentedKalmanFilter`.

An attitude error is the generalized Rodrigues vector `δp = f δϱ/(a + δq₄)` of its quaternion `[δϱ, δq₄]`, with `a = 1`
and `f = 2(a + 1) = 4`: length `4 tan(angle/4)`, an angle when small, singular only at 360°.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from filterpy.kalman import JulierSigmaPoints, UnscentedKalmanFilter

from attitude.core.jit import Array, kernel
from attitude.core.quaternion import product_xyzw, rotate_xyz
from attitude.estimation import baselines_kernels as kernels
from attitude.estimation.baselines_base import Baseline
from attitude.estimation.filter import Status
from attitude.estimation.filter_kernels import ATTITUDE, VECTOR

SPREAD = 1.0  # λ of the sigma points, as in the paper: all weights are positive


@kernel
def from_rodrigues(p1: float, p2: float, p3: float) -> tuple[float, float, float, float]:
    """Unit quaternion of `δp`: `δq₄ = (16 − δp²)/(16 + δp²)`, `δϱ = (1 + δq₄) δp/4`."""
    square = p1 * p1 + p2 * p2 + p3 * p3
    k = 8.0 / (16.0 + square)
    return k * p1, k * p2, k * p3, (16.0 - square) / (16.0 + square)


@kernel
def to_rodrigues(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """`δp` of a unit quaternion, the shorter way round."""
    k = 4.0 / (1.0 + abs(w))
    if w < 0.0:
        k = -k
    return k * x, k * y, k * z


@kernel
def moved(reference: Array, p: Array, out: Array) -> None:
    """`out[:4]` = attitude at the error `p[:3]` from `reference`."""
    d1, d2, d3, d4 = from_rodrigues(p[0], p[1], p[2])
    out[0], out[1], out[2], out[3] = product_xyzw(
        reference[0], reference[1], reference[2], reference[3], d1, d2, d3, d4
    )


@kernel
def error_from(reference: Array, q: Array, out: Array) -> None:
    """`out[:3]` = error of the attitude `q[:4]` from `reference`."""
    a, b, c, d = product_xyzw(-reference[0], -reference[1], -reference[2], reference[3], q[0], q[1], q[2], q[3])
    out[0], out[1], out[2] = to_rodrigues(a, b, c, d)


@kernel
def carried(
    J: Array, J_inverse: Array, torque: Array, h: float, n: int, point: Array, start: Array, end: Array,
    x: Array, stages: Array, out: Array,
) -> None:  # fmt: skip
    """`out` `(6,)` = sigma point after `h` seconds: an error from `start` becomes one from `end`."""
    moved(start, point, x)
    for i in range(3):
        x[4 + i] = point[3 + i]
    kernels.rk4_substeps(J, J_inverse, torque, h, n, x, stages)
    error_from(end, x, out)
    for i in range(3):
        out[3 + i] = x[4 + i]


@kernel
def seen(reference: Array, point: Array, r: Array, x: Array, out: Array) -> None:
    """`out` `(3,)` = inertial direction `r` in the body axes of a sigma point."""
    moved(reference, point, x)
    out[0], out[1], out[2] = rotate_xyz(-x[0], -x[1], -x[2], x[3], r[0], r[1], r[2])


class Usque(Baseline):
    """Unscented filter over `[δp, ω]` about a reference quaternion; errors on the body side, as everywhere here.

    Sigma points go through as many Runge–Kutta substeps as they need, so that the comparison is about the unscented
    transform and not about its integrator. The paper splits the noise of a gyro before and after the step; a torque's
    is integrated along the mean instead and added at the end, where filterpy has a place for it. Vectors are taken
    one after the other, with sigma points drawn anew, not stacked.
    """

    def __init__(self, inertia: Array, q: Array, omega: Array, P: Array, torque_noise: Array, t: float) -> None:
        super().__init__(inertia, q, omega, P, torque_noise, t)
        self._points = JulierSigmaPoints(6, kappa=SPREAD)
        self._ukf = UnscentedKalmanFilter(6, 3, 0.0, None, None, self._points)
        self._ukf.x, self._ukf.P = np.concatenate([np.zeros(3), omega]), self._P
        self._W, self._stages, self._point = np.empty((7, 6, 6)), np.empty((4, 7)), np.empty(7)

    # `_x` holds the reference quaternion between calls, and the mean error is zero then
    def _carry(self, h: float, torque: Array) -> int:
        body, mean, Q = (self._J, self._J_inverse), self._x.copy(), np.zeros((6, 6))
        n = int(kernels.substeps(*body, torque, h, mean))
        code = kernels.rk4_expm_substeps(*body, self._C, torque, h, n, mean, Q, self._W, self._stages)
        if n == 0 or code != Status.ACCEPTED:
            return Status.NOT_PREDICTED

        def carry(point: Array, _: float) -> Array:
            out = np.empty(6)
            carried(*body, torque, h, n, point, self._x, mean, self._point, self._stages, out)
            return out

        self._ukf.Q = Q
        return self._settle(lambda: self._ukf.predict(h, fx=carry), mean, Status.NOT_PREDICTED)

    def _take(self, kind: int, value: Array, reference: Array, sigma: Array) -> int:
        self.nis = math.nan
        z = self._measured(kind, value)
        r = reference / np.linalg.norm(reference) if kind == VECTOR and reference.any() else np.full(3, np.nan)
        usable = np.isfinite(sigma).all() and (sigma > 0.0).all() and (kind != VECTOR or np.isfinite(r).all())
        if not (usable and np.isfinite(z).all()):
            return Status.NOT_FINITE

        def expect(point: Array) -> Array:
            if kind != VECTOR:
                return point[:3] if kind == ATTITUDE else point[3:]
            out = np.empty(3)
            seen(self._x, point, r, self._point, out)
            return out

        return self._settle(lambda: self._absorb(z, sigma, expect), self._x.copy(), Status.NOT_FINITE)

    def _measured(self, kind: int, value: Array) -> Array:
        """Sample as filterpy gets it: unit vector, error of the measured attitude, or rate; NaN if it is none."""
        size = np.linalg.norm(value)
        if kind == VECTOR:
            return value / size if size > 0.0 else np.full(3, np.nan)
        if kind == ATTITUDE:
            error = np.full(3, np.nan)
            if 0.5 < size < 2.0:
                error_from(self._x, value / size, error)
            return error
        return value

    def _absorb(self, z: Array, sigma: Array, expect: Callable[[Array], Array]) -> None:
        """Update by filterpy from sigma points drawn anew: the last update has moved the mean."""
        ukf = self._ukf
        ukf.sigmas_f = self._points.sigma_points(ukf.x, ukf.P)
        ukf.update(z, R=np.diag(sigma**2), hx=expect)
        self.nis = float(ukf.y @ ukf.SI @ ukf.y)

    def _settle(self, operation: Callable[[], None], reference: Array, failed: Status) -> int:
        """Do it, then move the mean error into the reference (`P` stays, as in the paper); undo it where it failed."""
        ukf, before = self._ukf, (self._ukf.x.copy(), self._ukf.P.copy())
        try:
            operation()
            good = bool(np.isfinite(ukf.x).all() and np.isfinite(ukf.P).all())
        except (np.linalg.LinAlgError, ValueError):  # no Cholesky factor
            good = False
        if not good:
            ukf.x, ukf.P = before
            return failed
        moved(reference, ukf.x, self._x)
        self._x[:4] /= np.linalg.norm(self._x[:4])
        self._x[4:], ukf.x[:3] = ukf.x[3:], 0.0
        self._P = ukf.P = 0.5 * (ukf.P + ukf.P.T)
        return Status.ACCEPTED
