"""What the filters we compare with share: the calls of `MEKF`, and a covariance-form filter with a Joseph update."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array
from attitude.estimation.baselines_kernels import RK4_EXPM, TEXTBOOK, predict
from attitude.estimation.baselines_updates import run_recorded, update
from attitude.estimation.filter import SAME_TIME, Status, as_sample
from attitude.estimation.filter_kernels import ATTITUDE, RATE, VECTOR
from attitude.estimation.recorded import NONE, Estimates, Samples

Tables = tuple[Array, Array, Array, Array, Array, Array, Array]


class Baseline:
    """Filter of a rigid body with the error state `[θ, ω]`; `make_filter` checks what it is built from.

    As in `MEKF`, nothing raises in flight: what cannot be taken leaves the filter as it was, with a `status`.
    """

    def __init__(self, inertia: Array, q: Array, omega: Array, P: Array, torque_noise: Array, t: float) -> None:
        inverse: Array = np.asarray(np.linalg.inv(inertia), dtype=np.float64)
        self._J, self._J_inverse = inertia.copy(), inverse
        self._C: Array = np.ascontiguousarray((inverse * torque_noise**2) @ inverse.T)
        self._x, self._P = np.concatenate([q, omega]), P.copy()
        self.t, self.status, self.nis = t, Status.ACCEPTED, math.nan

    @property
    def q(self) -> Array:
        """Attitude `(4,)`, body to inertial."""
        return self._x[:4].copy()

    @property
    def omega(self) -> Array:
        """Body rate `(3,)`, rad/s."""
        return self._x[4:].copy()

    @property
    def P(self) -> Array:
        """Covariance `(6, 6)` of the error state, body axes."""
        return self._P.copy()

    # -------------------------------------------------------------- what each filter does its own way
    def _carry(self, h: float, torque: Array) -> int:
        raise NotImplementedError

    def _take(self, kind: int, value: Array, reference: Array, sigma: Array) -> int:
        raise NotImplementedError

    # -------------------------------------------------------------- calls one by one
    def predict(self, dt: float, torque: ArrayLike | None = None) -> bool:
        """Carry the filter over `dt` seconds under a known constant `torque` `(3,)`, N·m, body axes."""
        h, push = as_sample(dt, 1)[0], as_sample(0.0 if torque is None else torque, 3)
        if not (0.0 <= h < math.inf and np.isfinite(push).all()):
            self.status = Status.NOT_FINITE
            return False
        self.status = Status(self._carry(float(h), push) if h > 0.0 else Status.ACCEPTED)
        self.t += float(h)
        return self.status == Status.ACCEPTED

    def update_vector(self, b: ArrayLike, r: ArrayLike, sigma: float) -> bool:
        """Take the direction `b` `(3,)` (body axes) of the reference `r` `(3,)` (inertial); `sigma`, rad, per axis."""
        return self._update(VECTOR, as_sample(b, 3), as_sample(r, 3), as_sample(sigma, 3))

    def update_attitude(self, q: ArrayLike, sigma: ArrayLike) -> bool:
        """Take a measured attitude `q` `(4,)`; `sigma`, rad, one or along each body axis."""
        return self._update(ATTITUDE, as_sample(q, 4), np.zeros(3), as_sample(sigma, 3))

    def update_rate(self, omega: ArrayLike, sigma: ArrayLike) -> bool:
        """Take a measured body rate `(3,)`, rad/s; `sigma`, rad/s, one or along each body axis."""
        return self._update(RATE, as_sample(omega, 3), np.zeros(3), as_sample(sigma, 3))

    def _update(self, kind: int, value: Array, reference: Array, sigma: Array) -> bool:
        self.status = Status(self._take(kind, value, reference, sigma))
        return self.status == Status.ACCEPTED

    # -------------------------------------------------------------- recordings
    def run(self, times: ArrayLike, samples: Samples, torque: ArrayLike | None = None) -> Estimates:
        """Predict to each of `times` `(N,)` and take its samples, as the calls one by one do; see `MEKF.run`."""
        times = checks.array(times, "times", (None,))
        if times.size and (times[0] < self.t - SAME_TIME or (np.diff(times) < 0.0).any()):
            raise ValueError("times must not decrease, nor begin before the filter's own time")
        N, tables = times.size, samples.tables(times.size)
        columns = tables[0].shape[1] + (tables[3].shape[0] > 0) + (tables[5].shape[0] > 0)
        states, P, nis = np.empty((N, 7)), np.empty((N, 6, 6)), np.full((N, columns), np.nan)
        status, prediction = np.full((N, columns), NONE), np.zeros(N, dtype=np.int64)
        if N:
            self._record(times, tables, _torques(torque, N), states, P, nis, status, prediction)
            self.t = float(times[-1])
        q, omega = states[:, :4].copy(), states[:, 4:].copy()
        return Estimates(times, q, omega, np.zeros((N, 3)), P, nis, status, prediction)

    def _record(self, times: Array, tables: Tables, torques: Array, states: Array, P: Array, nis: Array,
                status: Any, prediction: Any) -> None:  # fmt: skip
        for k, t in enumerate(times):
            if t > self.t:
                self.predict(t - self.t, torques[k if len(torques) > 1 else 0])
                prediction[k], self.t = self.status, float(t)
            for column, sample in enumerate(_samples_at(tables, k)):
                self._update(*sample)
                status[k, column], nis[k, column] = self.status, self.nis
            states[k, :4], states[k, 4:], P[k] = self.q, self.omega, self.P


class CovarianceMEKF(Baseline):
    """Multiplicative EKF that carries `P` itself; three-component vector residual `b − R(q)ᵀ r`, Joseph update.

    Lefferts, Markley and Shuster 1982. `b` is normalised, so its NIS has two degrees of freedom in effect: the
    residual along `b̂` is of second order.
    """

    method: int

    def __init__(self, inertia: Array, q: Array, omega: Array, P: Array, torque_noise: Array, t: float) -> None:
        super().__init__(inertia, q, omega, P, torque_noise, t)
        self._W, self._stages = np.empty((7, 6, 6)), np.empty((4, 7))
        self._rows = (np.empty((3, 6)), np.empty(3), np.empty((3, 3)), np.empty((6, 3)), np.empty(1))  # H, y, S, K, NIS

    @property
    def _body(self) -> tuple[Array, Array, Array]:
        return self._J, self._J_inverse, self._C

    def _carry(self, h: float, torque: Array) -> int:
        return int(predict(self.method, *self._body, torque, h, self._x, self._P, self._W, self._stages))

    def _take(self, kind: int, value: Array, reference: Array, sigma: Array) -> int:
        code = update(kind, self._x, self._P, value, reference, sigma, *self._rows, self._W)
        self.nis = float(self._rows[-1][0])
        return int(code)


class CompiledMEKF(CovarianceMEKF):
    """Covariance filter whose recordings run in one compiled call, which releases the GIL."""

    def _record(self, times: Array, tables: Tables, torques: Array, states: Array, P: Array, nis: Array,
                status: Any, prediction: Any) -> None:  # fmt: skip
        vectors, references, vector_sigma, *others = tables
        sigmas = np.repeat(vector_sigma[:, None], 3, axis=1)
        run_recorded(
            self.method, *self._body, torques, self.t, times, self._x, self._P, vectors, references, sigmas, *others,
            *self._rows, self._W, self._stages, states, P, nis, status, prediction,
        )  # fmt: skip
        self.nis = float(self._rows[-1][0])


class TextbookMEKF(CompiledMEKF):
    """Midpoint mean, `Φ = 1 + F h`, `Q = G q² Gᵀ h`: what most texts print."""

    method = TEXTBOOK


class Rk4ExpmMEKF(CompiledMEKF):
    """Runge–Kutta mean, `Φ = exp(F h)` and the noise that belongs to it: what a careful engineer writes."""

    method = RK4_EXPM


# ------------------------------------------------------------------ at the door
def _torques(torque: ArrayLike | None, count: int) -> Array:
    """Known torque `(1, 3)` or `(count, 3)`, held over the interval that ends at each time."""
    if torque is None:
        return np.zeros((1, 3))
    return checks.array(torque, "torque", (count, 3) if np.ndim(torque) == 2 else (3,)).reshape(-1, 3)


def _samples_at(tables: Tables, k: int) -> list[tuple[int, Array, Array, Array]]:
    """Samples of time `k` in the order of `Samples`: kind, value, reference, sigma."""
    vectors, references, vector_sigma, attitudes, attitude_sigma, rates, rate_sigma = tables
    here = references[k if len(references) > 1 else 0]
    taken = [(VECTOR, vectors[k, i], here[i], np.full(3, s)) for i, s in enumerate(vector_sigma[: vectors.shape[1]])]
    if len(attitudes):
        taken.append((ATTITUDE, attitudes[k], np.zeros(3), attitude_sigma))
    if len(rates):
        taken.append((RATE, rates[k], np.zeros(3), rate_sigma))
    return taken
