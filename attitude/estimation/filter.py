"""What the multiplicative filters share: the factored covariance, updates, time tags, the gate, recorded runs.

In flight nothing raises: a sample or a prediction that cannot be taken leaves the filter as it was and says why in
`status`. Attribute names are those of filterpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.increment import OK
from attitude.core.jit import Array
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.step import READ_OUT, STATE, TANGENT
from attitude.estimation.filter_kernels import ATTITUDE, VECTOR, update
from attitude.estimation.history import History, Prediction, Snapshot, Update
from attitude.estimation.recorded import NONE, Estimates, Samples, read_covariance, read_state, run_recorded

NO_REFERENCE = np.zeros(3)
SAME_TIME = 1e-9  # s: time tags closer than this to the filter's time mean now


class Status(IntEnum):
    """What became of the last prediction or update."""

    ACCEPTED = 0
    GATED = 1  # NIS above the gate
    NOT_FINITE = 2  # NaN, infinity, or a vector of no length: also a missing sample
    TOO_OLD = 3  # older than the buffer
    NOT_PREDICTED = 4  # the propagator could not take the step; the filter is as before, its clock is not


STATUSES = tuple(Status)


def chi_square_quantile(probability: float, dof: int) -> float:
    """Value that a chi-square variable of 2 or 3 degrees of freedom stays below with the given probability."""
    if dof == 2:
        return -2.0 * math.log1p(-probability)
    low, high = 0.0, 1e3
    while high - low > 1e-12 * high:
        x = 0.5 * (low + high)
        below = math.erf(math.sqrt(0.5 * x)) - math.sqrt(2.0 * x / math.pi) * math.exp(-0.5 * x)
        low, high = (x, high) if below < probability else (low, x)
    return high


class Filter:
    """What both filters share: the factored covariance, the updates, time tags and the gate."""

    dynamic: bool

    def __init__(
        self, propagator: Propagator, x: Array, bias: Array, F: Array, gate: float | None, buffer: float, t: float
    ) -> None:
        n = F.shape[0]
        self.propagator, self._x, self._bias, self._F = propagator, x, bias, F
        self.gate = _checked_gate(gate)
        self._gates = np.full(4, np.inf)
        if self.gate is not None:
            self._gates[2:] = [chi_square_quantile(self.gate, dof) for dof in (2, 3)]
        self.t = checks.number(t, "t")
        self._history = History(checks.not_negative(buffer, "buffer"))
        self._H, self._y, self._variance = np.zeros((3, n)), np.zeros(3), np.zeros(3)
        self._S, self._K, self._work = np.zeros((3, 3)), np.zeros((n, 3)), np.zeros((4, n))
        self._stats = np.full(3, np.nan)
        self._tangents, self._A = np.empty((n + 3, TANGENT)), np.empty((n + 9 if self.dynamic else 12, n))
        self._x0, self._F0 = np.empty(STATE), np.empty((n, n))
        self.status = Status.ACCEPTED

    # -------------------------------------------------------------- what the filter says
    def _read(self) -> Array:
        out = np.empty(READ_OUT)
        read_state(self.dynamic, self.propagator.kernel_body[0], self._x, self._bias, out)
        return out

    @property
    def q(self) -> Array:
        """Attitude `(4,)`, body to inertial."""
        return self._read()[:4]

    @property
    def bias(self) -> Array:
        """Gyro bias `(3,)`, rad/s, body axes; zero if it is not estimated."""
        return self._read()[7:10]

    @property
    def P(self) -> Array:
        """Covariance `(n, n)` of the error state, body axes."""
        P = np.empty_like(self._F)
        read_covariance(self.dynamic, self.propagator.kernel_body[0], self._F, self._F0, P)
        return P

    @property
    def y(self) -> Array:
        """Residual of the last update: `(2,)` for a vector, rad, across it; `(3,)` along body axes otherwise."""
        return self._y[: self._dof].copy()

    @property
    def S(self) -> Array:
        """Covariance of the last residual."""
        return self._S[: self._dof, : self._dof].copy()

    @property
    def K(self) -> Array:
        """Gain of the last update, `(n, m)`, to the error state in body axes."""
        return np.asarray(self._to_user() @ self._K[:, : self._dof])

    @property
    def nis(self) -> float:
        """Normalised innovation squared of the last update, NaN if the sample was not finite."""
        return float(self._stats[0])

    @property
    def log_likelihood(self) -> float:
        """Logarithm of the last residual's likelihood."""
        return float(self._stats[1])

    @property
    def gate_threshold(self) -> float:
        """NIS above which the last sample would have been refused."""
        return float(self._gates[self._dof])

    @property
    def _dof(self) -> int:
        return 2 if math.isnan(self._stats[2]) else int(self._stats[2])

    def _to_user(self) -> Array:
        """Matrix from the kernels' error state to the user's."""
        body, n = self.propagator.kernel_body[0], self._F.shape[0]
        G = np.empty((n, n))
        identity = np.eye(n)
        R = quaternion.to_matrix(body[3:7])
        for k in range(0, n, 3):
            scale = body[9:12] if self.dynamic and k == 3 else np.ones(3)
            G[:, k : k + 3] = (identity[:, k : k + 3] * scale) @ R.T
        return G.T

    # -------------------------------------------------------------- updates
    def update_vector(self, b: ArrayLike, r: ArrayLike, sigma: float, t: float | None = None) -> bool:
        """Take the direction `b` `(3,)` (body axes) of the reference `r` `(3,)` (inertial); `sigma`, rad, per axis."""
        return self._update(VECTOR, as_sample(b, 3), as_sample(r, 3), as_sample(sigma, 1), t)

    def update_attitude(self, q: ArrayLike, sigma: ArrayLike, t: float | None = None) -> bool:
        """Take a measured attitude `q` `(4,)`, as of a star tracker; `sigma`, rad, one or along each body axis."""
        return self._update(ATTITUDE, as_sample(q, 4), NO_REFERENCE, as_sample(sigma, 3), t)

    def _update(self, kind: int, value: Array, reference: Array, sigma: Array, t: float | None) -> bool:
        if t is None or abs(t - self.t) <= SAME_TIME:
            return self._take(kind, value, reference, sigma)
        if t > self.t:
            self._predict_to(t)
            return self._take(kind, value, reference, sigma)
        return self._take_late(float(t), kind, value, reference, sigma)

    def _take(self, kind: int, value: Array, reference: Array, sigma: Array) -> bool:
        code = update(
            kind, self.propagator.kernel_body[0], self._x, self._bias, self._F, value, reference, sigma,
            self._gates[2 if kind == VECTOR else 3], self._H, self._y, self._variance, self._S, self._K,
            self._stats, self._work,
        )  # fmt: skip
        self.status = STATUSES[code]
        if self._history.length > 0.0:
            self._history.add(Update(self.t, lambda: self._take(kind, value, reference, sigma)))
        return code == OK

    def _take_late(self, t: float, kind: int, value: Array, reference: Array, sigma: Array) -> bool:
        """Go back to `t`, take the sample there, and do again all that came after."""
        again = self._history.since(t)
        if again is None or not isinstance(again[0], Prediction):
            self.status = Status.TOO_OLD
            return False
        spanned = again[0]
        self._restore(spanned.start)
        self.t = spanned.t
        if t > spanned.t:
            spanned.carry(t - spanned.t)
        accepted = self._take(kind, value, reference, sigma)
        report = (self.status, self._dof, self._y.copy(), self._S.copy(), self._K.copy(), self._stats.copy())
        spanned.carry(spanned.end - t)
        for entry in again[1:]:
            if isinstance(entry, Prediction):
                entry.carry(entry.end - entry.t)
            else:
                entry.take()
        self.status, _, self._y[:], self._S[:], self._K[:], self._stats[:] = report
        return accepted

    # -------------------------------------------------------------- time
    def _predict_to(self, t: float) -> None:
        raise NotImplementedError

    def _advance(self, h: float, carry: Callable[[float], int]) -> bool:
        """Predict over `h` seconds by `carry`, remembering it; the clock moves whatever happens."""
        start, t = self._snapshot(), self.t
        code = carry(h)
        self.t = t + h
        self.status = Status.ACCEPTED if code == OK else Status.NOT_PREDICTED
        if self._history.length > 0.0:
            self._history.add(Prediction(t, self.t, start, lambda part: self._advance(part, carry)))
        return code == OK

    def _snapshot(self) -> Snapshot:
        if self._history.length <= 0.0:
            return ()
        return (self._x.copy(), self._bias.copy(), self._F.copy())

    def _restore(self, snapshot: Snapshot) -> None:
        for array, saved in zip((self._x, self._bias, self._F), snapshot, strict=True):
            array[:] = saved

    def _bad_step(self, dt: Any) -> bool:
        if isinstance(dt, int | float | np.number) and math.isfinite(dt) and dt >= 0.0:
            return False
        self.status = Status.NOT_FINITE
        return True

    def _run(self, times: ArrayLike, samples: Samples, inputs: Array, gyro: Array, noise: tuple[float, float],
             limit: float, torque_noise: Array) -> Estimates:  # fmt: skip
        times = checks.array(times, "times", (None,))
        if times.size and (times[0] < self.t - SAME_TIME or (np.diff(times) < 0.0).any()):
            raise ValueError("times must not decrease, nor begin before the filter's own time")
        tables, N, n = samples.tables(times.size), times.size, self._F.shape[0]
        columns = tables[0].shape[1] + (tables[3].shape[0] > 0) + (tables[5].shape[0] > 0)
        outs, P, nis = np.empty((N, READ_OUT)), np.empty((N, n, n)), np.full((N, columns), np.nan)
        status, prediction = np.full((N, columns), NONE), np.zeros(N, dtype=np.int64)
        self.t = run_recorded(
            self.dynamic, *self.propagator.kernel_body, inputs, gyro, limit, torque_noise, np.array(noise),
            self._gates, self.t, times, self._x, self._bias, self._F, *tables, self._tangents, self._A, self._x0,
            self._F0, self._H, self._y, self._variance, self._S, self._K, self._stats, self._work, outs, P, nis,
            status, prediction,
        )  # fmt: skip
        self._history = History(self._history.length)
        return Estimates(
            times, outs[:, :4].copy(), outs[:, 4:7].copy(), outs[:, 7:10].copy(), P, nis, status, prediction
        )


# ------------------------------------------------------------------ checks
def _checked_gate(gate: float | None) -> float | None:
    if gate is None:
        return None
    value = checks.number(gate, "gate")
    if not 0.0 < value < 1.0:
        raise ValueError(f"gate must be a probability between 0 and 1, such as 0.999, got {value}")
    return value


def as_sample(value: Any, size: int) -> Array:
    """Sample as the kernels take it; what is no such thing becomes NaN, which they refuse."""
    if type(value) is float:  # a sigma, mostly: four times as fast
        sample = np.empty(size)
        sample.fill(value)
        return sample
    try:
        sample = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        return np.full(size, np.nan)
    if sample.shape == (size,):
        return sample
    return np.full(size, sample if sample.ndim == 0 else np.nan)
