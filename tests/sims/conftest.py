"""A made-up mission of three orbits, written down rather than flown, so that every number of it is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.control.guidance import GroundTarget, Nadir, SunPointing
from attitude.control.modes import Mode, Reason
from attitude.spacecraft import frames
from attitude.spacecraft.controller import SAFE_REFERENCE
from attitude.spacecraft.frames import RECORDS
from sims import log as logs
from sims.about import About

RADIUS, PERIOD, ROW_S, TICK_S = 6878e3, 5677.0, 2.0, 0.1
GM, EARTH_RATE, EARTH_RADIUS = 3.986004418e14, 7.292115e-5, 6378137.0
SUN = np.array([0.9, 0.3, 0.1]) / np.linalg.norm([0.9, 0.3, 0.1])
WHEELS, TORQUERS, DIODES = 4, 3, 6
SLEW_S, FIRST_RATE = 100.0, np.radians(10.0)
GYRO = 1 << frames.GYRO_BIT
# from when on: mode, why, number of the reference
STORY = (
    (0.0, Mode.DETUMBLE, Reason.START, -1),
    (3600.0, Mode.ACQUIRE, Reason.READY, -1),
    (3700.0, Mode.NOMINAL, Reason.READY, 1),
    (7000.0, Mode.NOMINAL, Reason.READY, 0),
    (7500.0, Mode.NOMINAL, Reason.READY, 1),
    (9000.0, Mode.SAFE, Reason.LOST, SAFE_REFERENCE),
    (9600.0, Mode.ACQUIRE, Reason.READY, -1),
    (9700.0, Mode.NOMINAL, Reason.READY, 1),
)
TOML = 'name = "made up"  # <b>not & bold</b>\n[spacecraft]\ntick_s = 0.1\n'


def orbit(t):
    """Position, velocity, `R_IE` and the visible part of the Sun, of a circular orbit over the poles."""
    angle, speed = 2.0 * np.pi * t / PERIOD, 2.0 * np.pi / PERIOD * RADIUS
    zero = np.zeros_like(t)
    r = RADIUS * np.stack([np.cos(angle), zero, np.sin(angle)], axis=1)
    v = speed * np.stack([-np.sin(angle), zero, np.cos(angle)], axis=1)
    along = r @ SUN
    hidden = (along < 0.0) & (np.linalg.norm(r - along[:, None] * SUN, axis=1) < EARTH_RADIUS)
    return r, v, Rotation.from_rotvec(EARTH_RATE * t[:, None] * [0.0, 0.0, 1.0]), np.where(hidden, 0.0, 1.0)


def frame(first, second):
    """Attitudes with z along `first` and x as near to `second` as can be."""
    z = first / np.linalg.norm(first, axis=1, keepdims=True)
    y = np.cross(z, second)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return Rotation.from_matrix(np.stack([np.cross(y, z), y, z], axis=2))


def wanted(t, point_E):
    """Attitude of each reference by its number, from geometry alone."""
    r, v, earth, _ = orbit(t)
    sun = frame(np.tile(SUN, (t.size, 1)), np.tile([0.0, 0.0, 1.0], (t.size, 1)))
    return {0: frame(earth.apply(point_E) - r, v), 1: frame(-r, v), SAFE_REFERENCE: sun}


def make_story(rows_s=ROW_S, orbits=3.0, seed=7):
    """Rows of the mission, what the log is to say of it, and what was put into it."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, orbits * PERIOD, rows_s)
    n = t.size
    r, v, earth, sunlight = orbit(t)
    references = {0: GroundTarget(latitude_deg=60.0, longitude_deg=-30.0, min_elevation_deg=10.0), 1: Nadir(),
                  SAFE_REFERENCE: SunPointing(axis_B=[0, 0, 1], second_B=[1, 0, 0])}  # fmt: skip
    step = np.searchsorted([when for when, *_ in STORY], t, side="right") - 1
    begin, mode, reason, pointing = (np.array([chapter[i] for chapter in STORY], dtype=float)[step] for i in range(4))
    slewing = (pointing >= 0) & (t - begin < SLEW_S)

    rate = np.radians(0.06) + FIRST_RATE * np.exp(-t / 1000.0)
    axis = np.array([0.6, -0.48, 0.64])
    turned = np.radians(0.06) * t + FIRST_RATE * 1000.0 * (1.0 - np.exp(-t / 1000.0))
    truth_q = Rotation.from_rotvec(turned[:, None] * axis)
    off = np.radians(0.2 + 0.2 * (sunlight < 0.5)) * (1.0 + 0.5 * np.sin(t / 50.0))
    off = off + np.where(slewing, np.radians(40.0) * (1.0 - (t - begin) / SLEW_S), 0.0)
    error = Rotation.from_rotvec(off[:, None] * axis)
    aim = wanted(t, references[0].parameters().point_E)
    asked = truth_q
    for number, attitude in aim.items():
        here = pointing == number
        asked = choose(here, attitude, asked)
        truth_q = choose(here, attitude * error, truth_q)
    omega = rate[:, None] * axis

    running = t >= 3650.0
    sigma = np.radians(np.where(sunlight > 0.5, 0.1, 0.3))[:, None] * [1.0, 1.2, 0.8]
    theta = sigma * rng.standard_normal((n, 3))
    nothing = Rotation.from_quat(np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)))
    estimate_q = choose(running, truth_q * Rotation.from_rotvec(-theta), nothing)
    bits = GYRO + (1 << frames.MAGNETOMETER_BIT) + (1 << frames.SUN_SENSOR_BIT) * (sunlight > 0.5)
    faulty = np.where((t >= 8990.0) & (t < 9500.0), GYRO, 0) + 0.0

    rows = {name: np.zeros((n, record.size)) for name, record in RECORDS.items()}

    def put(record, **fields):
        for name, values in fields.items():
            RECORDS[record].read(rows[record], name)[:] = values

    def some(values, room):
        return np.pad(values, ((0, 0), (0, room - values.shape[1])))

    max_speed = np.full(WHEELS, 600.0)
    speed = 300.0 * np.sin(t[:, None] / 900.0 + np.arange(WHEELS)) * (t[:, None] > 3700.0)
    speed[np.argmin(np.abs(t - 8000.0)), 2] = -480.0
    torque = 1e-7 * np.stack([np.sin(t / 900.0), np.cos(t / 700.0), np.sin(t / 500.0)], axis=1)
    torque_I = truth_q.apply(torque)
    given = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * (torque_I[1:] + torque_I[:-1]) * rows_s, axis=0)])
    start = np.array([3e-3, -2e-3, 5e-3])
    dumping = (t >= 5000.0) & (t < 5400.0)
    dumped = -2e-6 * np.clip(t - 5000.0, 0.0, 400.0)[:, None] * start / np.linalg.norm(start)  # 0.8 mN m s in all
    given = given + dumped
    field = 3e-5 * (3.0 * (r / RADIUS) * (r[:, 2:] / RADIUS) - [0.0, 0.0, 1.0])
    energy = 1e-4 + 1e-5 * np.sin(t / 800.0)

    put("truth", t=t, q_IB=truth_q.as_quat(), omega_B=omega, wheel_speed=some(speed, frames.WHEELS),
        wheel_momentum=some(2e-6 * speed, frames.WHEELS), r_I=r, v_I=v, b_I=field, q_IE=earth.as_quat(),
        sun_I=SUN, sunlight=sunlight, torque_gravity_B=torque, impulse_I=given, momentum_I=start + given,
        dipole_B=0.1 * np.sin(t / 30.0)[:, None] * axis, energy=energy, work=energy - energy[0])  # fmt: skip
    put("samples", t=t, valid=bits, gyro_t=t, gyro_omega_B=omega, magnetometer_t=t,
        magnetometer_b_B=truth_q.inv().apply(field), wheel_speed=some(speed, frames.WHEELS))  # fmt: skip
    put("estimate", t=t, running=running, q_IB=estimate_q.as_quat(), omega_B=omega + 1e-5 * rng.standard_normal((n, 3)),
        sigma_B=np.where(running[:, None], sigma, 0.0), accepted=bits * running, faulty=faulty)  # fmt: skip
    put("control", mode=mode, reason=reason, pointing=pointing, slewing=slewing, dumping=dumping,
        reference_q_IB=asked.as_quat(), wheel_load=np.max(np.abs(speed) / max_speed, axis=1), rate=rate)  # fmt: skip
    put("command", t=t, dipole=some(0.2 * np.sin(t[:, None] / 30.0 + np.arange(TORQUERS)), frames.TORQUERS))

    about = About(
        scenario="made up", toml=TOML, sha256="0" * 64, seed=7, tick_s=TICK_S, duration_s=rows_s * n,
        log_every=round(rows_s / TICK_S),
        orbit_period_s=PERIOD, epoch_utc="2026-03-20T12:00:00Z", wheel_max_speed=max_speed.tolist(),
        wheel_max_momentum=(2e-6 * max_speed).tolist(), torquer_max_dipole=[0.2] * TORQUERS, diodes=DIODES,
        sensors=("gyro", "magnetometer", "sun_sensor_0"), references=references,
        goals={"pointing_deg": 1.0, "detumbled_orbits": 2.0, "within_3_sigma": 0.98, "wheel_load_last_orbit": 1.0},
    )  # fmt: skip
    return SimpleNamespace(rows=rows, about=about, t=t, off=off, theta=theta, sigma=sigma, aim=aim, sunlight=sunlight,
                           rate=rate, running=running, mode=mode, pointing=pointing, dumping=dumping, start=start,
                           given=given, put=put)  # fmt: skip


def choose(mask, yes, no):
    return Rotation.from_quat(np.where(mask[:, None], yes.as_quat(), no.as_quat()))


@pytest.fixture
def story():
    """A fresh one, to be changed at will."""
    return make_story()


@pytest.fixture
def log(story):
    return logs.dataset(story.rows, story.about)


@pytest.fixture
def mission():
    """The maker itself, for missions of another length."""
    return make_story
