"""Time per filter cycle (predict, two vector updates, the attitude read), ours and the peers', on one recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attitude import MEKF, GyroMEKF, Propagator, RigidBody, Samples, State, __version__
from attitude.core import quaternion
from attitude.core.jit import Array
from sims.bench.case import interleaved, seconds
from sims.bench.peer_filters import DYNAMICS, GYRO, Contender, Cycles, Recording, installed_filters, one_by_one
from sims.papers.table import Progress

STEP = 0.125  # s: exact in binary, so that steps between times are the same as steps that are given
INERTIA = np.diag([1.0, 2.0, 3.0])  # kg m²
Q0 = quaternion.normalise([0.5, -0.1, 0.7, -0.5])
OMEGA0 = np.radians([4.0, -5.0, 6.0])  # rad/s
REFERENCES = np.array([[0.0, 0.0, 1.0], [0.8, 0.0, 0.6]])  # the first is the one that ahrs insists on
SIGMA = 1e-3  # rad, of a vector
ARW, RRW = 1e-4, 1e-6  # rad/√s, rad/s/√s
TORQUE_NOISE = 1e-4  # N m √s
ANGLE_SIGMA, RATE_SIGMA, BIAS_SIGMA = 0.02, 0.01, 2e-3  # rad, rad/s, rad/s: of the start
TRIAL = 10  # cycles of a first run that tells how long the others may be
COMPILED, CALLED = "compiled run", "one call each"


@dataclass(frozen=True)
class Plan:
    """Cycles of the recording, how long each filter is timed in one turn, and how many turns it gets."""

    cycles: int
    turn_seconds: float
    rounds: int


FULL = Plan(1000, 4e-3, 300)
QUICK = Plan(1000, 4e-3, 40)


@dataclass(frozen=True)
class FilterRow:
    """One filter: ratios to the slower of our two, run compiled and called; RMS error over the second half, rad."""

    name: str
    model: str
    seconds_per_cycle: float
    over_compiled: float
    over_called: float
    rms_error: float


# ------------------------------------------------------------------ the recording
def recording(cycles: int, seed: int = 1) -> Recording:
    """The body and the rate of MP 2016, figure 7, under torque noise, seen by a gyro and two vectors."""
    rng = np.random.default_rng(seed)
    q = _truth(cycles, rng)
    return Recording(
        dt=STEP, times=STEP * np.arange(1.0, cycles + 1.0), q=q[1:], gyro=_gyro(q, rng), vectors=_vectors(q[1:], rng),
        references=REFERENCES, sigma=SIGMA, arw=ARW, rrw=RRW, torque_noise=TORQUE_NOISE, inertia=INERTIA,
        q0=quaternion.product(q[0], quaternion.exp(ANGLE_SIGMA * rng.standard_normal(3))),
        omega0=OMEGA0 + RATE_SIGMA * rng.standard_normal(3),
        angle_sigma=ANGLE_SIGMA, rate_sigma=RATE_SIGMA, bias_sigma=BIAS_SIGMA,
    )  # fmt: skip


def _truth(cycles: int, rng: np.random.Generator) -> Array:
    """Attitudes `(cycles + 1, 4)`; the torque is constant over each step."""
    torque = TORQUE_NOISE / np.sqrt(STEP) * rng.standard_normal((cycles, 3))
    return Propagator(RigidBody(INERTIA), order=12).run(State(Q0, OMEGA0), STEP, cycles, torque=torque).q


def _gyro(q: Array, rng: np.random.Generator) -> Array:
    """An integrating gyro: the turn of each step over its length, with a walking bias and white noise."""
    turn = quaternion.log(quaternion.product(quaternion.conjugate(q[:-1]), q[1:]))
    walk = np.cumsum(RRW * np.sqrt(STEP) * rng.standard_normal(turn.shape), axis=0)
    noise = ARW / np.sqrt(STEP) * rng.standard_normal(turn.shape)
    return np.asarray(turn / STEP + BIAS_SIGMA * rng.standard_normal(3) + walk + noise)


def _vectors(q: Array, rng: np.random.Generator) -> Array:
    """Unit vectors `(N, 2, 3)` with noise on each axis before they are normalised."""
    exact = quaternion.rotate_back(q[:, None], REFERENCES)
    noisy = exact + SIGMA * rng.standard_normal(exact.shape)
    return np.asarray(noisy / np.linalg.norm(noisy, axis=2, keepdims=True))


# ------------------------------------------------------------------ ours
def ours() -> list[Contender]:
    """Both of our filters, each in one compiled run and called cycle by cycle."""
    return [
        Contender(f"MEKF, {COMPILED}", __version__, DYNAMICS, lambda data: _compiled(_mekf(data), data)),
        Contender(f"MEKF, {CALLED}", __version__, DYNAMICS, lambda data: _called(_mekf(data), data)),
        Contender(f"GyroMEKF, {COMPILED}", __version__, GYRO, lambda data: _compiled(_gyro_mekf(data), data)),
        Contender(f"GyroMEKF, {CALLED}", __version__, GYRO, lambda data: _called(_gyro_mekf(data), data)),
    ]


def _mekf(data: Recording) -> MEKF:
    propagator = Propagator(RigidBody(data.inertia), order=12, max_increment=0.25)
    return MEKF(propagator, data.q0, data.omega0, data.dynamics_covariance, data.torque_noise)


def _gyro_mekf(data: Recording) -> GyroMEKF:
    return GyroMEKF(data.q0, np.zeros(3), data.gyro_covariance, data.arw, data.rrw)


def _compiled(est: MEKF | GyroMEKF, data: Recording) -> Cycles:
    samples = Samples(vectors=data.vectors, references=data.references, vector_sigma=data.sigma)
    if isinstance(est, MEKF):
        return lambda: est.run(data.times, samples).q
    return lambda: est.run(data.times, samples, data.gyro).q


def _called(est: MEKF | GyroMEKF, data: Recording) -> Cycles:
    gyro = isinstance(est, GyroMEKF)
    inputs = [(omega, data.dt) if gyro else (data.dt,) for omega in data.gyro]
    return one_by_one(est, inputs, est.update_vector, data.sigma, data)


# ------------------------------------------------------------------ the table
def filter_table(plan: Plan, progress: Progress, peers: Sequence[Contender] | None = None) -> list[FilterRow]:
    """Ours, then the peers (those installed, unless given)."""
    data = recording(plan.cycles)
    contenders = [*ours(), *(installed_filters() if peers is None else peers)]
    errors = []
    for index, one in enumerate(contenders):
        progress(f"error of {one.name}", 0.2 * index / len(contenders))
        errors.append(rms_error(one.prepare(data)(), data))  # also whatever happens only once
    jobs = [_timing(one, data, plan.turn_seconds) for one in contenders]
    times = interleaved(jobs, plan.rounds, lambda done: progress("time per filter cycle", 0.2 + 0.8 * done))
    return with_ratios(contenders, times, errors)


def with_ratios(contenders: Sequence[Contender], times: Sequence[float], errors: Sequence[float]) -> list[FilterRow]:
    """Rows with the ratio of each time to the slower of our compiled runs and of our called filters."""
    named = list(zip((one.name for one in contenders), times, strict=True))
    compiled = max(time for name, time in named if name.endswith(COMPILED))
    called = max(time for name, time in named if name.endswith(CALLED))
    return [
        FilterRow(one.name, one.model, time, time / compiled, time / called, error)
        for one, time, error in zip(contenders, times, errors, strict=True)
    ]


def rms_error(q: Array, data: Recording) -> float:
    """Root mean square of the angle from the truth over the second half of the recording, rad."""
    half = len(q) // 2
    return float(np.sqrt(np.mean(quaternion.angle_between(q[half:], data.q[half:]) ** 2)))


def _timing(one: Contender, data: Recording, turn_seconds: float) -> Callable[[], float]:
    """A job as long as the others', so that quiet moments of a shared machine are no likelier for a fast filter."""
    cost = seconds(one.prepare(data.first(TRIAL))) / TRIAL
    part = data.first(max(TRIAL, int(turn_seconds / cost)))
    return lambda: seconds(one.prepare(part)) / len(part.times)
