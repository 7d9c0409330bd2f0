"""The bodies of the reproduction, their long runs, and the small measurements that the rows share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from attitude.core import quaternion, so3
from attitude.core.jit import Array
from attitude.truth.potentials import (
    FreeRotation,
    Motion,
    OrbitingBody,
    Pendulum,
    PlanarMotion,
    PlanarPendulum,
    System,
    concentric_shells,
)

MILLION = 1_000_000
J_FULL = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, 0.15], [0.2, 0.15, 1.4]])  # kg m²
RHO0, WEIGHT = np.array([0.1, -0.2, 0.5]), 9.81  # m, N
J_ORBIT = np.diag([2.0, 3.0, 1.2])  # along track, normal, radial
DOP853 = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13}

FREE = FreeRotation(inertia=J_FULL)
PENDULUM = Pendulum(inertia=J_FULL, weight=WEIGHT, rho0=RHO0)
ORBIT = OrbitingBody(inertia=J_ORBIT, orbital_rate=1.0)
SYMMETRIC_ORBIT = OrbitingBody(inertia=np.diag([2.0, 2.0, 1.2]), orbital_rate=1.0)
SHELLS = concentric_shells(2.0 * np.eye(3), 3.0 * np.eye(3), 1.5)
LUMPY_SHELLS = concentric_shells(J_FULL, np.diag([1.0, 1.4, 2.0]), 1.5)
HINGE, ARM = np.array([2.0, 0.8, 0.6]) / np.sqrt(5.0), np.array([0.0, 0.3, -0.4])  # axis; m, across it
PLANAR = PlanarPendulum(inertia=J_FULL, weight=WEIGHT, rho0=ARM, axis=HINGE)

_S = so3.hat([0.1, -0.2, 0.3])
Q0 = quaternion.from_matrix((np.eye(3) + _S) @ np.linalg.inv(np.eye(3) - _S))
PI0 = np.array([0.5, -0.3, 0.4])  # N m s
Q_TWO = np.array([Q0, quaternion.exp([0.9, -0.4, 0.7])])
PI_TWO = np.array([PI0, [0.3, 0.6, -0.2]])
Q_ORBIT, OMEGA_ORBIT = quaternion.exp([0.2, 0.3, -0.1]), np.array([0.05, 1.05, -0.1])


@dataclass(frozen=True)
class Runs:
    """A million steps of each: what the drift rows and the figures look at."""

    free: Motion
    pendulum: Motion
    orbit: Motion
    symmetric_orbit: Motion
    shells: Motion
    planar: PlanarMotion


def long_runs() -> Runs:
    """The runs, every hundredth state kept."""
    return Runs(
        free=FREE.run(Q0, PI0, h=0.05, steps=MILLION, every=100),
        pendulum=PENDULUM.run(Q0, PI0, h=0.01, steps=MILLION, every=100),
        orbit=ORBIT.run(Q_ORBIT, ORBIT.momentum(OMEGA_ORBIT), h=0.02, steps=MILLION, every=100),
        symmetric_orbit=SYMMETRIC_ORBIT.run(
            Q_ORBIT, SYMMETRIC_ORBIT.momentum(OMEGA_ORBIT), h=0.02, steps=MILLION, every=100
        ),
        shells=LUMPY_SHELLS.run(Q_TWO, PI_TWO, h=0.01, steps=MILLION, every=100),
        planar=PLANAR.run([0.6, 0.8], 1.0, h=0.01, steps=MILLION, every=100),
    )


# ------------------------------------------------------------------ measurements
def change(values: Array) -> Array:
    """Distance `(N,)` of each row from the first."""
    difference = np.asarray(values - values[0])
    return np.abs(difference) if difference.ndim == 1 else np.linalg.norm(difference.reshape(len(values), -1), axis=-1)


def drift(t: Array, values: Array) -> tuple[float, float]:
    """Rise of the fitted line over the whole run, and the scatter of the values about it."""
    slope, offset = np.polyfit(t, values, 1)
    return float(abs(slope) * (t[-1] - t[0])), float(np.std(values - slope * t - offset))


def flow(rhs: Callable[[float, Array], Array], y0: Array, T: float, **options: object) -> Array:
    """State at `T` by DOP853 at 1e-13."""
    return np.asarray(solve_ivp(rhs, (0.0, T), y0, **{**DOP853, **options}).y[:, -1])


def slope(system: System, q: ArrayLike, momentum: ArrayLike, T: float, steps: list[float]) -> tuple[float, Array]:
    """Order of the discrete flow (fitted) and its errors at `steps`, against DOP853 over `T`."""
    q_end, p_end = system.unpack(flow(system.hamilton, system.pack(q, momentum), T))
    errors = []
    for h in steps:
        n = round(T / h)
        motion = system.run(q, momentum, h=h, steps=n, every=n)
        angle = float(np.max(quaternion.angle_between(motion.q[-1], q_end)))
        errors.append(max(angle, float(np.abs(motion.momentum[-1] - p_end).max())))
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0]), np.array(errors)


def crossing_frequency(t: Array, x: Array) -> float:
    """Frequency, rad/s, from the upward zero crossings of `x`, interpolated linearly."""
    up = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    at = t[up] - x[up] * (t[up + 1] - t[up]) / (x[up + 1] - x[up])
    return float(2.0 * np.pi * (len(at) - 1) / (at[-1] - at[0]))


def gradient_error(system: System, q: Array) -> float:
    """Largest `|τ + ∂U/∂θ|`, N·m, the derivative of the potential by fourth-order differences."""
    base, d = q.reshape(-1, 4), 1e-3
    found = np.zeros((len(base), 3))
    for i, j in np.ndindex(*found.shape):
        for k, weight in ((1, 2.0 / 3.0), (2, -1.0 / 12.0), (-1, -2.0 / 3.0), (-2, 1.0 / 12.0)):
            theta = np.zeros((len(base), 3))
            theta[i, j] = k * d
            R = quaternion.to_matrix(quaternion.product(base, quaternion.exp(theta)))
            found[i, j] += weight / d * float(system.potential(R))
    return float(np.abs(system.moment(q) + found.reshape(np.shape(system.moment(q)))).max())
