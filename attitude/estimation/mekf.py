"""Multiplicative extended Kalman filters: `MEKF` predicts with the variational integrator, `GyroMEKF` with a gyro.

The mean and the covariance go through the same discrete map: the covariance's factor is carried by the exact
linearisation of every substep (MP 2016, section IX.C; Lefferts, Markley and Shuster 1982 for the gyro filter), so the
answer does not depend on the sample rate. In flight nothing raises: a sample or a prediction that cannot be taken
leaves the filter as it was and says why in `status`. Attribute names are those of filterpy.
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
from attitude.core.jit import Array, on_warm_up
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.rigid_body import RigidBody
from attitude.dynamics.state import State
from attitude.dynamics.step import READ_OUT, STATE, TANGENT
from attitude.estimation.filter_kernels import ATTITUDE, RATE, VECTOR, update
from attitude.estimation.history import History, Prediction, Snapshot, Update
from attitude.estimation.predict_kernels import predict, predict_gyro
from attitude.estimation.recorded import NONE, Estimates, Samples, read_filter, run_recorded

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
    def _read(self) -> tuple[Array, Array]:
        out, P = np.empty(READ_OUT), np.empty_like(self._F)
        read_filter(self.dynamic, self.propagator.kernel_body[0], self._x, self._bias, self._F, self._F0, out, P)
        return out, P

    @property
    def q(self) -> Array:
        """Attitude `(4,)`, body to inertial."""
        return self._read()[0][:4].copy()

    @property
    def bias(self) -> Array:
        """Gyro bias `(3,)`, rad/s, body axes; zero if it is not estimated."""
        return self._read()[0][7:10].copy()

    @property
    def P(self) -> Array:
        """Covariance `(n, n)` of the error state, body axes."""
        return self._read()[1]

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
        return self._update(VECTOR, _sample(b, 3), _sample(r, 3), _sample(sigma, 1), t)

    def update_attitude(self, q: ArrayLike, sigma: ArrayLike, t: float | None = None) -> bool:
        """Take a measured attitude `q` `(4,)`, as of a star tracker; `sigma`, rad, one or along each body axis."""
        return self._update(ATTITUDE, _sample(q, 4), NO_REFERENCE, _sample(sigma, 3), t)

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


class MEKF(Filter):
    """Attitude filter whose model is the body's own dynamics, by any `Propagator`; error state `[θ, ω]` (`[…, bias]`).

    `q` `(4,)`, `omega` `(3,)` rad/s, `P` `(6, 6)` over the body-frame attitude error, rad, and the rate error, rad/s.
    `torque_noise`: density of the unknown torque, N·m·√s (N·m/√Hz), one or along each body axis. With `bias` `(3,)`,
    rad/s, and `P` `(9, 9)` a gyro's bias is estimated too, walking at `bias_walk` rad/s/√s, and `update_rate` is a
    gyro. `gate`: probability with which a good sample is let through (None: everything). `buffer`: how far back, s, a
    late sample may lie.
    """

    dynamic = True

    def __init__(
        self,
        propagator: Propagator,
        q: ArrayLike,
        omega: ArrayLike,
        P: ArrayLike,
        torque_noise: ArrayLike,
        *,
        bias: ArrayLike | None = None,
        bias_walk: float = 0.0,
        rotor_momentum: ArrayLike | None = None,
        gate: float | None = None,
        buffer: float = 0.0,
        t: float = 0.0,
    ) -> None:
        if not isinstance(propagator, Propagator):
            raise ValueError(f"propagator must be a Propagator, got {propagator!r}")
        if propagator.body.damper_inertia > 0.0:
            raise ValueError("propagator must be of a body without a damper: its rate is not part of the error state")
        x, self._wheels = propagator.kernel_state(State(q, omega, rotor_momentum))
        n = 6 if bias is None else 9
        body, R_BP = propagator.body, np.asarray(propagator.body.R_BP)
        scales = (np.ones(3), np.asarray(body.moments), np.ones(3))
        F = _factor(P, n, [R_BP * scale for scale in scales[: n // 3]])
        self._torque_noise = _densities(torque_noise, "torque_noise")[:, None] * R_BP
        self.bias_walk = checks.not_negative(bias_walk, "bias_walk")
        start = np.zeros(3) if bias is None else checks.array(bias, "bias", (3,)) @ R_BP
        self._limit = propagator.kernel_limit
        super().__init__(propagator, x.copy(), start, F, gate, buffer, t)

    @property
    def omega(self) -> Array:
        """Body rate `(3,)`, rad/s."""
        return self._read()[0][4:7].copy()

    @property
    def x(self) -> Array:
        """State as one vector: attitude (4), rate (3), and the bias (3) if estimated."""
        out = self._read()[0]
        return out[: 10 if self._F.shape[0] > 6 else 7].copy()

    @property
    def rotor_momentum(self) -> Array:
        """Momentum of each rotor `(W,)`, N·m·s, as known to the filter."""
        return self._wheels.copy()

    def set_rotor_momentum(self, rotor_momentum: ArrayLike) -> None:
        """Take the rotors' momentum `(W,)`, N·m·s, from telemetry; the rate stays as it is."""
        wheels = checks.array(rotor_momentum, "rotor_momentum", self._wheels.shape)
        change = self.propagator.rotor_axes_P @ (wheels - self._wheels)
        self._wheels = wheels
        self._x[7:10] += change
        self._x[4:7] += change

    def predict(
        self,
        dt: float,
        torque: ArrayLike | None = None,
        motor_torque: ArrayLike | None = None,
        rotor_momentum: ArrayLike | None = None,
    ) -> bool:
        """Carry the filter over `dt` seconds; inputs as in `Propagator.step`. Returns whether it could."""
        if self._bad_step(dt):
            return False
        try:
            inputs, self._wheels = self.propagator.kernel_inputs(dt, self._wheels, torque, motor_torque, rotor_momentum)
        except ValueError:
            self.status = Status.NOT_FINITE
            return False
        return dt == 0.0 or self._advance(float(dt), lambda h: self._carry(h, inputs))

    def _carry(self, h: float, inputs: Array) -> int:
        row = inputs.shape[0] - 1
        return int(predict(
            *self.propagator.kernel_body, inputs, row, h, self._limit, self._torque_noise, self.bias_walk,
            self._x, self._F, self._tangents, self._A, self._x0, self._F0,
        ))  # fmt: skip

    def _predict_to(self, t: float) -> None:
        self.predict(t - self.t)

    def update_rate(self, omega: ArrayLike, sigma: ArrayLike, t: float | None = None) -> bool:
        """Take a measured body rate `(3,)`, rad/s, as of a gyro; `sigma`, rad/s, one or along each body axis."""
        return self._update(RATE, _sample(omega, 3), NO_REFERENCE, _sample(sigma, 3), t)

    def run(self, times: ArrayLike, samples: Samples, torque: ArrayLike | None = None) -> Estimates:
        """Predict to each of `times` `(N,)` and take its samples, all in one compiled call.

        `torque` `(3,)` or `(N, 3)`, N·m, known, held over the interval that ends at each time. The filter moves on;
        the result is, bit for bit, that of the calls one by one.
        """
        count = np.size(times)
        inputs = self.propagator.kernel_table(torque, count)
        limit, noise = self._limit, (self.bias_walk, 0.0)
        return self._run(times, samples, inputs, np.zeros((1, 3)), noise, limit, self._torque_noise)


class GyroMEKF(Filter):
    """Attitude filter whose model is a gyro; error state `[θ, bias]`.

    `q` `(4,)`, `bias` `(3,)` rad/s, `P` `(6, 6)`; `arw`, rad/√s, angle random walk; `rrw`, rad/s/√s, rate random
    walk. The transition and the process noise are exact for a constant rate over the step. `gate`, `buffer` as in
    `MEKF`.
    """

    dynamic = False

    def __init__(
        self,
        q: ArrayLike,
        bias: ArrayLike,
        P: ArrayLike,
        arw: float,
        rrw: float,
        *,
        gate: float | None = None,
        buffer: float = 0.0,
        t: float = 0.0,
    ) -> None:
        self.arw, self.rrw = checks.not_negative(arw, "arw"), checks.not_negative(rrw, "rrw")
        x = np.zeros(STATE)
        x[:4], x[4:7] = checks.unit_quaternion(q, "q"), checks.array(bias, "bias", (3,))
        self._omega = np.zeros(3)
        unit = Propagator(RigidBody(np.eye(3)))  # its axes are the body's; the rate is the gyro's
        super().__init__(unit, x, np.zeros(3), _factor(P, 6, [np.eye(3), np.eye(3)]), gate, buffer, t)

    @property
    def omega(self) -> Array:
        """Body rate `(3,)`, rad/s: the last gyro sample less the bias."""
        return np.asarray(self._omega - self._x[4:7])

    @property
    def x(self) -> Array:
        """State as one vector: attitude (4), bias (3)."""
        return self._x[:7].copy()

    def predict(self, omega_meas: ArrayLike, dt: float) -> bool:
        """Carry the filter over `dt` seconds by the gyro's `omega_meas` `(3,)`, rad/s; returns whether it could."""
        omega = _sample(omega_meas, 3)
        if self._bad_step(dt) or not np.isfinite(omega).all():
            self.status = Status.NOT_FINITE
            return False
        self._omega = omega
        return dt == 0.0 or self._advance(float(dt), lambda h: self._carry(h, omega))

    def _carry(self, h: float, omega: Array) -> int:
        return int(predict_gyro(omega, h, self.arw, self.rrw, self._x, self._F, self._A))

    def _predict_to(self, t: float) -> None:
        self.predict(self._omega, t - self.t)

    def run(self, times: ArrayLike, samples: Samples, gyro: ArrayLike) -> Estimates:
        """As `MEKF.run`; `gyro` `(N, 3)`, rad/s, holds over the interval that ends at each time."""
        rates = checks.array(gyro, "gyro", (np.size(times), 3))
        inputs, no_torque = np.zeros((1, 6)), np.zeros((3, 3))
        estimates = self._run(times, samples, inputs, rates, (self.arw, self.rrw), np.inf, no_torque)
        estimates.omega[:] = rates - estimates.bias
        return estimates


# ------------------------------------------------------------------ checks at the door
def _checked_gate(gate: float | None) -> float | None:
    if gate is None:
        return None
    value = checks.number(gate, "gate")
    if not 0.0 < value < 1.0:
        raise ValueError(f"gate must be a probability between 0 and 1, such as 0.999, got {value}")
    return value


def _densities(value: ArrayLike, name: str) -> Array:
    given = checks.array(value, name, (3,) if np.ndim(value) else ())
    if (given < 0.0).any():
        raise ValueError(f"{name} must not be negative, got {given.tolist()}")
    return np.array(np.broadcast_to(given, (3,)))


def _factor(P: ArrayLike, n: int, blocks: list[Array]) -> Array:
    """Factor `F` with `P = Fᵀ F` of the user's covariance, its rows turned by `blocks`, one for each three columns."""
    matrix = checks.array(P, "P", (n, n))
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
        raise ValueError("P must be symmetric")
    try:
        rows = np.linalg.cholesky(matrix).T
    except np.linalg.LinAlgError:
        eigenvalues = np.linalg.eigvalsh(matrix)
        raise ValueError(f"P must be positive definite, got eigenvalues {eigenvalues.tolist()}") from None
    return np.ascontiguousarray(np.hstack([rows[:, 3 * k : 3 * k + 3] @ block for k, block in enumerate(blocks)]))


def _sample(value: Any, size: int) -> Array:
    """Sample as the kernels take it; what is no such thing becomes NaN, which they refuse."""
    try:
        sample = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        return np.full(size, np.nan)
    if sample.shape == (size,):
        return sample
    return np.full(size, sample if sample.ndim == 0 else np.nan)


@on_warm_up
def _warm_up() -> None:
    samples = Samples(vectors=np.ones((2, 1, 3)), references=[[1.0, 0.0, 0.0]], vector_sigma=0.1)
    dynamics = MEKF(Propagator(RigidBody(np.eye(3))), [0, 0, 0, 1], [0, 0, 0.1], np.eye(6), 1e-3)
    gyro = GyroMEKF([0, 0, 0, 1], [0, 0, 0], np.eye(6), 1e-3, 1e-4)
    dynamics.predict(0.1)
    gyro.predict([0.0, 0.0, 0.1], 0.1)
    for est in (dynamics, gyro):
        est.update_vector([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], 0.1)
    dynamics.run([1.0, 2.0], samples)
    gyro.run([1.0, 2.0], samples, np.zeros((2, 3)))
