"""Runs whose truth obeys the filters' own models, so that a right filter must be consistent on them.

Dynamics filter: white torque, as a random torque held over fine steps. Gyro filter: a free body and an integrating gyro
with angle and rate random walk. Initial errors are drawn from the covariance the filter starts with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

import attitude as att
from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.estimation.consistency import attitude_error
from attitude.estimation.mekf import MEKF, GyroMEKF
from attitude.estimation.recorded import Estimates, Samples
from attitude.truth.free_body import free_motion
from sims.studies import recordings

FILTERS = ("MEKF", "GyroMEKF")
INTERVAL, FINE_STEPS = 1.0, 10  # s between samples; steps of the truth in it
NOISE = np.radians(0.5)  # rad, per axis of each vector
TORQUE_NOISE = 1e-4  # N m √s
ARW, RRW = 1e-3, 3e-5  # rad/√s, rad/s/√s
START = np.diag(np.radians([2.0] * 3 + [0.2] * 3) ** 2)  # P of attitude, and of rate or bias, at the start

# without updates errors grow for the whole time, so they begin smaller: the linearisation should not be what is tested
QUIET_TORQUE_NOISE, QUIET_ARW, QUIET_RRW = 1e-5, 2e-4, 2e-5
QUIET_START = np.diag(np.radians([0.1] * 3 + [0.01] * 3) ** 2)


@dataclass(frozen=True)
class Truth:
    """Attitude `(N, 4)` and rate or bias `(N, 3)` at the times `t` `(N,)`, s; `gyro` `(N, 3)` before each of them."""

    t: Array
    q: Array
    other: Array
    gyro: Array | None


def times(steps: int) -> Array:
    """Times `(steps,)` of the samples, s; the first is an interval after the start."""
    return np.asarray(INTERVAL * np.arange(1, steps + 1), dtype=np.float64)


@cache
def propagator() -> att.Propagator:
    """The body's motion to round-off at any step."""
    return att.Propagator(att.RigidBody(np.diag(recordings.MOMENTS)), order=12, max_increment=0.25)


def disturbed_truth(rng: np.random.Generator, steps: int, torque_noise: float, error: Array) -> Truth:
    """A body under white torque, off the nominal start by `error` `(6,)`."""
    start = att.State(quaternion.product(recordings.ATTITUDE, quaternion.exp(error[:3])), recordings.RATE + error[3:])
    fine = INTERVAL / FINE_STEPS
    path = recordings.disturbed(rng, propagator(), start, torque_noise, fine, steps * FINE_STEPS, FINE_STEPS)
    return Truth(times(steps), path.q[1:], path.omega[1:], None)


def gyro_truth(rng: np.random.Generator, steps: int, arw: float, rrw: float, error: Array) -> Truth:
    """A free body and its gyro, off the nominal start (no bias) by `error` `(6,)`."""
    turned = quaternion.product(recordings.ATTITUDE, quaternion.exp(error[:3]))
    q = quaternion.product(turned, _turns(steps))
    rates, bias = recordings.gyro(rng, q, INTERVAL, error[3:], arw, rrw)
    return Truth(times(steps), q[1:], bias, rates)


@cache
def _turns(steps: int) -> Array:
    """Rotations `(steps + 1, 4)` from the start of the nominal free motion; the start's attitude does not matter."""
    t = np.append(0.0, times(steps))
    return free_motion(np.diag(recordings.MOMENTS), [0.0, 0.0, 0.0, 1.0], recordings.RATE, t)[0]


# ------------------------------------------------------------------ with updates
def truth(name: str, rng: np.random.Generator, steps: int) -> Truth:
    """A run of the filter `name` with samples."""
    error = recordings.draw(rng, START)
    if name == "MEKF":
        return disturbed_truth(rng, steps, TORQUE_NOISE, error)
    return gyro_truth(rng, steps, ARW, RRW, error)


def samples(rng: np.random.Generator, true: Truth) -> Samples:
    """Two vectors at each time."""
    return Samples(recordings.vectors(rng, true.q, recordings.REFERENCES, NOISE), recordings.REFERENCES, NOISE)


def estimator(name: str) -> MEKF | GyroMEKF:
    """The filter at its nominal start."""
    if name == "MEKF":
        return MEKF(propagator(), recordings.ATTITUDE, recordings.RATE, START, TORQUE_NOISE)
    return GyroMEKF(recordings.ATTITUDE, np.zeros(3), START, ARW, RRW)


# ------------------------------------------------------------------ without
def quiet_truth(name: str, rng: np.random.Generator, steps: int) -> Truth:
    """A run without samples."""
    error = recordings.draw(rng, QUIET_START)
    if name == "MEKF":
        return disturbed_truth(rng, steps, QUIET_TORQUE_NOISE, error)
    return gyro_truth(rng, steps, QUIET_ARW, QUIET_RRW, error)


def quiet_estimator(name: str) -> MEKF | GyroMEKF:
    """The filter of such a run at its nominal start."""
    if name == "MEKF":
        return MEKF(propagator(), recordings.ATTITUDE, recordings.RATE, QUIET_START, QUIET_TORQUE_NOISE)
    return GyroMEKF(recordings.ATTITUDE, np.zeros(3), QUIET_START, QUIET_ARW, QUIET_RRW)


# ------------------------------------------------------------------ for both
def follow(est: MEKF | GyroMEKF, true: Truth, measured: Samples) -> Estimates:
    """The filter's whole run."""
    if isinstance(est, MEKF):
        return est.run(true.t, measured)
    assert true.gyro is not None
    return est.run(true.t, measured, true.gyro)


def errors(estimates: Estimates, true: Truth) -> Array:
    """Error state `(N, 6)`: attitude in body axes, rad, then rate or bias, rad/s."""
    other = estimates.omega if true.gyro is None else estimates.bias
    return np.hstack([attitude_error(estimates.q, true.q), true.other - other])
