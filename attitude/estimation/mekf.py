"""Multiplicative extended Kalman filters: `MEKF` predicts with the variational integrator, `GyroMEKF` with a gyro.

The mean and the covariance go through the same discrete map: the covariance's factor is carried by the exact
linearisation of every substep (MP 2016, section IX.C; Lefferts, Markley and Shuster 1982 for the gyro filter), so the
answer does not depend on the sample rate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, on_warm_up
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.rigid_body import RigidBody
from attitude.dynamics.state import State
from attitude.dynamics.step import STATE
from attitude.estimation.filter import NO_REFERENCE, Filter, Status, as_sample
from attitude.estimation.filter_kernels import RATE
from attitude.estimation.predict_kernels import predict, predict_gyro
from attitude.estimation.recorded import Estimates, Samples

__all__ = ["MEKF", "GyroMEKF", "Status"]


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
        return self._read()[4:7]

    @property
    def x(self) -> Array:
        """State as one vector: attitude (4), rate (3), and the bias (3) if estimated."""
        return self._read()[: 10 if self._F.shape[0] > 6 else 7]

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
        return self._update(RATE, as_sample(omega, 3), NO_REFERENCE, as_sample(sigma, 3), t)

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
        omega = as_sample(omega_meas, 3)
        if self._bad_step(dt) or not math.isfinite(sum(omega.tolist())):
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
