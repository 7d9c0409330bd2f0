"""What the estimator's kernels take: parameters and state as tuples, and how they are made of a configuration."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from attitude.actuators.magnetorquers import MagnetorquerParameters
from attitude.core.jit import Array
from attitude.core.quaternion import to_matrix
from attitude.dynamics.gyrostat import PRESCRIBED, Gyrostat
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.rigid_body import RigidBody
from attitude.dynamics.step import READ_OUT, STATE, TANGENT
from attitude.estimation.filter import chi_square_quantile
from attitude.estimation.wahba_kernels import Scratch, scratch
from attitude.sensors.errors import ARCSEC, DEG_PER_HR, DEG_PER_HR_PER_SQRT_HR, DEG_PER_SQRT_HR, DEGREE
from attitude.spacecraft import frames
from attitude.spacecraft.config import DYNAMICS, MAX_INCREMENT, FlightConfig, torquer_parameters, wheel_parameters

TOP_SPEED = 2.0  # of a wheel's maximum: a tachometer that tells more is not believed


class EstimatorParameters(NamedTuple):
    """What the kernel needs; per-sensor arrays are by bit."""

    dynamic: bool
    body: Array
    terms: int
    sigma: Array
    delta: Array
    stages: Array
    axes_P: Array  # (3, W) rotor axes in principal axes
    rotor_inertia: Array  # (W,)
    top_speed: Array  # (W,) rad/s
    torque_noise: Array  # (3, 3)
    bias_walk: float
    arw: float
    gates: Array  # (4,)
    sensor_sigma: Array  # (BITS,) rad; rad/s of the gyro
    star_sigma: Array  # (3,) rad
    bias_sigma: float
    period: Array  # (BITS,) s of the sensor's samples; infinite if it is not fitted
    boresight: Array  # (4, 3) sun sensors, body axes
    cosine_fov: Array  # (4,)
    diodes: Array  # (D, 3) outward normals
    max_age: float
    stuck_samples: int
    restart: float
    torquers: MagnetorquerParameters


class EstimatorState(NamedTuple):
    """The filter with its work space, and the watch over the sensors."""

    x: Array
    bias: Array
    F: Array
    numbers: Array  # see below
    score: Array  # (BITS,)
    faulty: Array  # (BITS,) 1 or 0
    silent: Array  # (BITS,) s
    gyro: Array  # (2, 3): last sample and the one before
    rotors_P: Array  # (3,)
    dipoles: Array  # (M,)
    inputs: Array  # (1, 6)
    vectors: Array  # (6, 3)
    value: Array  # (4,) a sample, its reference and sigma, as the filter takes them
    reference: Array  # (3,)
    sigma: Array  # (3,)
    turn: Array  # (4,)
    start_b: Array  # (1, 2, 3) Sun and field, body axes
    start_r: Array  # (1, 2, 3)
    start_variance: Array  # (2,)
    start_q: Array  # (1, 4)
    start_cov: Array  # (1, 3, 3)
    scratch: Scratch
    tangents: Array
    A: Array
    x0: Array
    F0: Array
    H: Array
    y: Array
    variance: Array
    S: Array
    K: Array
    stats: Array
    work: Array
    out: Array


RUNNING, TIME, ODD_TIME, REFUSED_SINCE, REPEATS, SUN_TIME, FIELD_TIME, SUN_SIGMA, BITS_TAKEN, BITS_REFUSED = range(10)
NUMBERS = 10
OMEGA, MEAN_DIPOLE, FIELD, TORQUE, MEAN_RATE, ZERO = range(6)  # rows of `vectors`
NEVER = -1e30


# ------------------------------------------------------------------ from a configuration
def estimator_parameters(config: FlightConfig) -> EstimatorParameters:
    """What the estimator is told, SI units."""
    dynamic = config.estimator.kind == DYNAMICS
    e, sensors, wheels = config.estimator, config.sensors, wheel_parameters(config.wheels)
    rotors = [] if config.wheels is None else config.wheels.rotors()
    inertia = np.asarray(config.inertia_kg_m2, dtype=np.float64)
    body = Gyrostat(inertia, rotors, PRESCRIBED) if dynamic else RigidBody(np.eye(3))
    propagator = Propagator(body, max_increment=MAX_INCREMENT)
    boresight, cosine = np.zeros((frames.SUN_SENSORS, 3)), np.ones(frames.SUN_SENSORS)
    for i, sun in enumerate(sensors.sun_sensors):
        boresight[i], cosine[i] = to_matrix(sun.q_BS)[:, 2], math.cos(sun.half_fov_deg * DEGREE)
    diodes = np.zeros((0, 3)) if sensors.coarse_sun is None else np.array(sensors.coarse_sun.normals_B)
    period = np.full(frames.BITS, math.inf)
    for bit, sensor in sensors.fitted():
        period[bit] = 1.0 / sensor.sample_rate_hz
    return EstimatorParameters(
        dynamic=dynamic,
        body=propagator.kernel_body[0],
        terms=propagator.kernel_body[1],
        sigma=propagator.kernel_body[2],
        delta=propagator.kernel_body[3],
        stages=propagator.kernel_body[4],
        axes_P=propagator.rotor_axes_P if dynamic else np.zeros((3, 0)),
        rotor_inertia=wheels.inertia if dynamic else np.zeros(0),
        top_speed=TOP_SPEED * wheels.max_speed,
        torque_noise=float(e.torque_noise_Nm_sqrt_s) * np.ascontiguousarray(body.R_BP),
        bias_walk=float(e.gyro_bias_walk_deg_per_hr_per_sqrt_hr) * DEG_PER_HR_PER_SQRT_HR,
        arw=float(e.gyro_arw_deg_per_sqrt_hr) * DEG_PER_SQRT_HR,
        gates=np.array([math.inf, math.inf, *(chi_square_quantile(e.gate, dof) for dof in (2, 3))]),
        sensor_sigma=_sigmas(config),
        star_sigma=np.asarray(e.star_tracker_sigma_arcsec) * ARCSEC,
        bias_sigma=float(e.gyro_bias_sigma_deg_per_hr) * DEG_PER_HR,
        period=period,
        boresight=boresight,
        cosine_fov=cosine,
        diodes=diodes,
        max_age=float(e.max_age_s),
        stuck_samples=int(e.stuck_samples),
        restart=float(e.restart_s),
        torquers=torquer_parameters(config.torquers),
    )


def _sigmas(config: FlightConfig) -> Array:
    e, sigma = config.estimator, np.ones(frames.BITS)
    sigma[frames.GYRO_BIT] = e.gyro_sigma_deg_s * DEGREE
    sigma[frames.MAGNETOMETER_BIT] = e.magnetometer_sigma_deg * DEGREE
    sigma[frames.SUN_SENSOR_BIT : frames.SUN_SENSOR_BIT + frames.SUN_SENSORS] = e.sun_sensor_sigma_deg * DEGREE
    sigma[frames.COARSE_SUN_BIT] = e.coarse_sun_sigma_deg * DEGREE
    return sigma


def estimator_state(p: EstimatorParameters) -> EstimatorState:
    """Before the first tick: nothing known, all sensors sound."""
    n = 9 if p.dynamic else 6
    numbers = np.zeros(NUMBERS)
    numbers[TIME], numbers[SUN_TIME], numbers[FIELD_TIME] = NEVER, NEVER, NEVER
    numbers[REFUSED_SINCE], numbers[ODD_TIME] = math.inf, NEVER
    x = np.zeros(STATE)
    x[3] = 1.0
    return EstimatorState(
        x=x, bias=np.zeros(3), F=np.zeros((n, n)), numbers=numbers,
        score=np.zeros(frames.BITS), faulty=np.zeros(frames.BITS), silent=np.zeros(frames.BITS),
        gyro=np.full((2, 3), math.nan), rotors_P=np.zeros(3), dipoles=np.zeros(p.torquers.axes.shape[0]),
        inputs=np.zeros((1, 6)), vectors=np.zeros((6, 3)),
        value=np.zeros(4), reference=np.zeros(3), sigma=np.zeros(3), turn=np.zeros(4),
        start_b=np.zeros((1, 2, 3)), start_r=np.zeros((1, 2, 3)), start_variance=np.zeros(2),
        start_q=np.zeros((1, 4)), start_cov=np.zeros((1, 3, 3)), scratch=scratch(2),
        tangents=np.zeros((n + 3, TANGENT)), A=np.zeros((n + 9 if p.dynamic else 12, n)),
        x0=np.zeros(STATE), F0=np.zeros((n, n)), H=np.zeros((3, n)), y=np.zeros(3), variance=np.zeros(3),
        S=np.zeros((3, 3)), K=np.zeros((n, 3)), stats=np.zeros(3), work=np.zeros((4, n)), out=np.zeros(READ_OUT),
    )  # fmt: skip
