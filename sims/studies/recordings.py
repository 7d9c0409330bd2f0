"""Motions and what sensors make of them: the recordings that the filters are given. All in SI units."""

from __future__ import annotations

import numpy as np

import attitude as att
from attitude.core import quaternion
from attitude.core.jit import Array

MOMENTS = np.array([1.0, 2.0, 3.0])  # kg m²
RATE = np.radians([4.0, -5.0, 6.0])  # rad/s: MP 2016, section IX.C
ATTITUDE = np.array([0.0, 0.0, 0.0, 1.0])
REFERENCES = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # inertial axes


def vectors(rng: np.random.Generator, q: Array, references: Array, sigma: float) -> Array:
    """Directions `(N, V, 3)` of `references` `(V, 3)` in body axes at attitudes `q` `(N, 4)`, `sigma` rad per axis.

    The noise is isotropic; of it only what lies across the vector counts.
    """
    true = quaternion.rotate_back(q[:, None, :], references)
    noisy = true + sigma * rng.standard_normal(true.shape)
    return np.asarray(noisy / np.linalg.norm(noisy, axis=-1, keepdims=True))


def disturbed(
    rng: np.random.Generator, propagator: att.Propagator, start: att.State, torque_noise: float, step: float,
    steps: int, every: int,
) -> att.Trajectory:  # fmt: skip
    """Motion under white torque of density `torque_noise`, N·m·√s: a random torque, held over each fine step."""
    torque = torque_noise / np.sqrt(step) * rng.standard_normal((steps, 3))
    return propagator.run(start, step, steps, every=every, torque=torque)


def gyro(rng: np.random.Generator, q: Array, h: float, bias: Array, arw: float, rrw: float) -> tuple[Array, Array]:
    """Mean rates `(N, 3)` that a gyro gives between attitudes `q` `(N + 1, 4)` `h` apart, and its bias at each end.

    An integrating gyro: the true rotation of the interval, the exact integral of a bias that walks from `bias` `(3,)`
    at `rrw`, rad/s/√s, and the angle random walk `arw`, rad/√s.
    """
    turn = quaternion.log(quaternion.product(quaternion.conjugate(q[:-1]), q[1:]))
    white, walk, bridge = rng.standard_normal((3, *turn.shape))
    ends = bias + rrw * np.sqrt(h) * np.cumsum(walk, axis=0)
    starts = np.vstack([bias, ends[:-1]])
    # given both ends, the mean of a random walk over the interval has the variance of a bridge's, rrw² h / 12
    mean = 0.5 * (starts + ends) + rrw * np.sqrt(h / 12.0) * bridge
    return np.asarray(turn / h + mean + arw / np.sqrt(h) * white), ends


def draw(rng: np.random.Generator, P: Array) -> Array:
    """Error `(n,)` of covariance `P`."""
    return np.asarray(np.linalg.cholesky(P) @ rng.standard_normal(P.shape[0]))
