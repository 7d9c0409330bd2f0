"""Other attitude filters over the same recording, each used as its experts would for speed.

`installed_filters()` lists those that import here; `missing_filters()` says why the others do not. A filter is prepared
(not to be timed) and then run through the recording: in each cycle it predicts, takes two vectors and gives its
attitude, which comes back in our convention.

| filter         | predicts with | state               | quaternion                  | the two vectors           |
|----------------|---------------|---------------------|-----------------------------|---------------------------|
| OpenGNC MEKF   | gyro          | error `[θ, bias]`   | `[x, y, z, w]`, as ours     | one after the other       |
| ahrs EKF       | gyro          | quaternion, no bias | `[w, x, y, z]`, body to NED | one update; first is down |
| filterpy EKF   | gyro          | error `[θ, bias]`   | ours                        | one after the other       |
| filterpy USQUE | dynamics      | error `[δp, ω]`     | ours                        | one after the other       |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from attitude.core.jit import Array
from attitude.core.quaternion import exp_kernel, normalise_kernel, product_kernel, rotate_back_kernel
from attitude.core.so3 import hat_kernel

GYRO, DYNAMICS = "gyro", "dynamics"


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples at N times and what a filter is told of them; SI units, rad, our convention.

    `times` `(N,)`, `dt` apart, the first one `dt` after the start; `q` `(N, 4)`, the truth; `gyro` `(N, 3)`, each over
    the interval that ends at its time, with a bias, `arw` and `rrw`; `vectors` `(N, 2, 3)`, unit, of `references`
    `(2, 3)`, the first `[0, 0, 1]`, with `sigma`. The start: `q0` `(4,)`, `omega0` `(3,)` and no bias, with standard
    deviations `angle_sigma`, `rate_sigma`, `bias_sigma` per axis.
    """

    dt: float
    times: Array
    q: Array
    gyro: Array
    vectors: Array
    references: Array
    sigma: float
    arw: float
    rrw: float
    torque_noise: float
    inertia: Array
    q0: Array
    omega0: Array
    angle_sigma: float
    rate_sigma: float
    bias_sigma: float

    @property
    def dynamics_covariance(self) -> Array:
        """Initial `P` over `[θ, ω]`."""
        return np.diag(np.repeat([self.angle_sigma**2, self.rate_sigma**2], 3))

    @property
    def gyro_covariance(self) -> Array:
        """Initial `P` over `[θ, bias]`."""
        return np.diag(np.repeat([self.angle_sigma**2, self.bias_sigma**2], 3))

    @property
    def gyro_noise(self) -> Array:
        """Density of the process noise over `[θ, bias]`, `(6, 6)`, per second."""
        return np.diag(np.repeat([self.arw**2, self.rrw**2], 3))

    def first(self, cycles: int) -> Recording:
        """The recording cut short."""
        parts = {name: getattr(self, name)[:cycles] for name in ("times", "q", "gyro", "vectors")}
        return replace(self, **parts)


Cycles = Callable[[], Array]  # goes through the recording; the attitudes after each cycle, (N, 4)


@dataclass(frozen=True)
class Contender:
    """A filter: what it predicts with, and how to make it ready for a recording."""

    name: str
    version: str
    model: str
    prepare: Callable[[Recording], Cycles]


# ------------------------------------------------------------------ adapters
def one_by_one(
    est: Any, inputs: list[tuple[Any, ...]], update: Callable[..., Any], noise: Any, data: Recording
) -> Cycles:
    """Cycles of `est.predict(*inputs[k])`, twice `update(b, r, noise)`, and reading `est.q`."""
    r1, r2 = data.references
    samples = [(given, *pair) for given, pair in zip(inputs, data.vectors, strict=True)]

    def cycles() -> Array:
        out, predict = np.empty_like(data.q), est.predict
        for k, (given, b1, b2) in enumerate(samples):
            predict(*given)
            update(b1, r1, noise)
            update(b2, r2, noise)
            out[k] = est.q
        return out

    return cycles


def _opengnc() -> Contender:
    from opengnc.kalman_filters import MEKF

    def prepare(data: Recording) -> Cycles:
        est = MEKF(data.q0.copy(), np.zeros(3))  # it writes into the bias it is given
        est.P = data.gyro_covariance
        Q, R = data.gyro_noise, data.sigma**2 * np.eye(3)
        return one_by_one(est, [(omega, data.dt, Q) for omega in data.gyro], est.update, R, data)

    return Contender("OpenGNC MEKF", version("opengnc"), GYRO, prepare)


def _ahrs() -> Contender:
    from ahrs.filters import EKF

    def prepare(data: Recording) -> Cycles:
        gyro_variance = data.arw**2 / data.dt + data.bias_sigma**2  # no bias state: the bias counts as noise
        est = EKF(
            mag=data.vectors[:, 1],  # tells it that updates come with a second vector
            magnetic_ref=data.references[1], Dt=data.dt, P=0.25 * data.angle_sigma**2 * np.eye(4),
            noises=[gyro_variance, data.sigma**2, data.sigma**2],
        )  # fmt: skip

        def cycles() -> Array:
            out, q = np.empty_like(data.q), np.roll(data.q0, 1)
            for k, omega in enumerate(data.gyro):
                q = out[k] = est.update(q, omega, data.vectors[k, 0], data.vectors[k, 1])
            return np.roll(out, -1, axis=1)

        return cycles

    return Contender("ahrs EKF", version("ahrs"), GYRO, prepare)


class GyroEKF:
    """Error-state filter on filterpy's `ExtendedKalmanFilter(6, 3)`; its quaternion algebra is compiled."""

    def __init__(self, ekf: Any, data: Recording) -> None:
        ekf.x, ekf.P, ekf.Q = np.zeros(6), data.gyro_covariance, data.dt * data.gyro_noise
        ekf.F[:3, 3:] = -data.dt * np.eye(3)
        self.ekf, self.q, self.bias = ekf, data.q0.copy(), np.zeros(3)
        self._turn, self._hat, self._expected = np.empty(4), np.empty((3, 3)), np.empty(3)
        self._H, self._one = np.zeros((3, 6)), np.eye(3)

    def predict(self, omega: Array, dt: float) -> None:
        """Turn by the gyro's `omega` `(3,)` less the bias; `Φ = 1 + F dt`."""
        angle = (omega - self.bias) * dt
        self._turn_by(angle)
        hat_kernel(angle, self._hat)
        self.ekf.F[:3, :3] = self._one - self._hat
        self.ekf.predict()

    def update(self, b: Array, r: Array, R: Array) -> None:
        """Take the vector `b` of the reference `r`, then move the error into the attitude and the bias."""
        rotate_back_kernel(self.q, r, self._expected)
        hat_kernel(self._expected, self._hat)
        self._H[:, :3] = self._hat
        self.ekf.update(b, lambda _: self._H, lambda _: self._expected, R)
        self._turn_by(self.ekf.x[:3])
        self.bias += self.ekf.x[3:]
        self.ekf.x = np.zeros(6)

    def _turn_by(self, angle: Array) -> None:
        exp_kernel(angle, self._turn)
        product_kernel(self.q, self._turn, self.q)
        normalise_kernel(self.q, self.q)


def _filterpy_ekf() -> Contender:
    from filterpy.kalman import ExtendedKalmanFilter

    def prepare(data: Recording) -> Cycles:
        est = GyroEKF(ExtendedKalmanFilter(6, 3), data)
        R = data.sigma**2 * np.eye(3)
        return one_by_one(est, [(omega, data.dt) for omega in data.gyro], est.update, R, data)

    return Contender("filterpy EKF", version("filterpy"), GYRO, prepare)


def _filterpy_usque() -> Contender:
    from attitude.estimation.baselines import USQUE, make_filter

    def prepare(data: Recording) -> Cycles:
        start = data.q0, data.omega0, data.dynamics_covariance, data.torque_noise
        est = make_filter(USQUE, data.inertia, *start)
        return one_by_one(est, [(data.dt,)] * len(data.times), est.update_vector, data.sigma, data)

    return Contender("filterpy USQUE", version("filterpy"), DYNAMICS, prepare)


MAKERS = {"opengnc": (_opengnc,), "ahrs": (_ahrs,), "filterpy": (_filterpy_ekf, _filterpy_usque)}


# ------------------------------------------------------------------ which filters there are
@cache
def _survey() -> tuple[tuple[Contender, ...], dict[str, str]]:
    found: list[Contender] = []
    reasons: dict[str, str] = {}
    for package, makers in MAKERS.items():
        try:
            found.extend([make() for make in makers])
        except Exception as error:  # a broken package may raise anything on import
            reasons[package] = f"{type(error).__name__}: {error}"
    return tuple(found), reasons


def installed_filters() -> list[Contender]:
    """The filters that import here, in the order of the table above."""
    return list(_survey()[0])


def missing_filters() -> dict[str, str]:
    """Package -> why it was left out."""
    return dict(_survey()[1])


def filter_versions() -> dict[str, str]:
    """Filter's name -> version of its package."""
    return {one.name: one.version for one in installed_filters()}
