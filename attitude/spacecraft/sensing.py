"""All sensors of a spacecraft in one kernel call: truth in, the wire's samples out.

A sensor that is not fitted has a first sample that never comes due. Each has its own generator, named after its bit's
name, so that one sensor more or less does not change the noise of the others.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from attitude.core.jit import Array, inner_kernel
from attitude.environment.grid import SUNLIGHT
from attitude.sensors.base import Normals, SensorConfig, noise_generator
from attitude.sensors.coarse_sun_sensor import CoarseSunSensorsConfig, coarse_sun_sensors_kernel
from attitude.sensors.errors import DELIVERED, SAMPLED, normals_per_sample
from attitude.sensors.gps import GpsConfig, gps_kernel
from attitude.sensors.gyro import GyroConfig, gyro_kernel
from attitude.sensors.magnetometer import MagnetometerConfig, magnetometer_kernel
from attitude.sensors.star_tracker import StarTrackerConfig, star_tracker_kernel
from attitude.sensors.sun_sensor import FineSunSensorConfig, fine_sun_sensor_kernel
from attitude.spacecraft import frames
from attitude.spacecraft.config import SensorSuite
from attitude.spacecraft.frames import SAMPLES

_T, _VALID, _SPEED = (SAMPLES[name].offset for name in ("t", "valid", "wheel_speed"))
_GYRO, _MAGNETOMETER, _SUN, _COARSE, _STAR, _GPS = (
    SAMPLES[f"{name}_t"].offset
    for name in ("gyro", "magnetometer", "sun_sensor_0", "coarse_sun", "star_tracker_0", "gps")
)
_SUN_STRIDE, _STAR_STRIDE = 4, 5  # numbers of one sensor on the wire

IDENTITY = (0.0, 0.0, 0.0, 1.0)
_NOT_FITTED: dict[int, SensorConfig] = {
    frames.GYRO_BIT: GyroConfig(sample_rate_hz=1.0, arw_deg_per_sqrt_hr=0.0),
    frames.MAGNETOMETER_BIT: MagnetometerConfig(sample_rate_hz=1.0, noise_nT=0.0),
    frames.SUN_SENSOR_BIT: FineSunSensorConfig(sample_rate_hz=1.0, q_BS=IDENTITY, half_fov_deg=60.0, noise_deg=0.0),
    frames.COARSE_SUN_BIT: CoarseSunSensorsConfig(
        sample_rate_hz=1.0, normals_B=((0.0, 0.0, 1.0),), noise_fraction=0.0
    ),
    frames.STAR_TRACKER_BIT: StarTrackerConfig(
        sample_rate_hz=1.0, q_BS=IDENTITY, noise_cross_arcsec=0.0, noise_roll_arcsec=0.0, sun_exclusion_deg=30.0,
        max_rate_deg_per_s=1.0,
    ),
    frames.GPS_BIT: GpsConfig(sample_rate_hz=1.0, position_noise_m=0.0, velocity_noise_m_per_s=0.0),
}  # fmt: skip


class Channel(NamedTuple):
    """One sensor in a run: parameters, state, its random numbers and the next row of them, its output."""

    parameters: Any
    state: Array
    normals: Array
    row: Any  # (1,) int64
    out: Array


class Sensing(NamedTuple):
    """All sensors, for `sense_all`."""

    gyro: Channel
    magnetometer: Channel
    sun: tuple[Channel, ...]
    coarse: Channel
    star: tuple[Channel, ...]
    gps: Channel


# ------------------------------------------------------------------ kernels
@inner_kernel
def _put(status: int, c: Channel, at: int, bit: int, samples: Array) -> None:
    """Copy what came out to the wire, and count the row of random numbers that was used."""
    c.row[0] += status & SAMPLED
    if status & DELIVERED and c.out[1] > 0.0:
        samples[at] = c.out[0]
        for i in range(c.out.size - 2):
            samples[at + 1 + i] = c.out[2 + i]
        samples[_VALID] += float(1 << bit)


@inner_kernel
def _sun_sensor(c: Channel, t: float, q: Array, e: Array) -> int:
    return fine_sun_sensor_kernel(c.parameters, c.state, t, q, e[9:12], e[SUNLIGHT], c.normals, c.row[0], c.out)


@inner_kernel
def _star_tracker(c: Channel, t: float, q: Array, w: Array, e: Array) -> int:
    return star_tracker_kernel(c.parameters, c.state, t, q, w, e[9:12], e[SUNLIGHT], c.normals, c.row[0], c.out)


@inner_kernel
def sense_all(
    s: Sensing, t: float, q: Array, omega_B: Array, dipole_B: Array, e: Array, speeds: Array, samples: Array
) -> None:
    """Samples `(64,)` at `t` for the true attitude, rate, dipole of the torquers, environment and wheel speeds."""
    samples[_T], samples[_VALID] = t, float(1 << frames.WHEELS_BIT) if speeds.size else 0.0
    for i in range(speeds.size):
        samples[_SPEED + i] = speeds[i]
    c = s.gyro
    _put(gyro_kernel(c.parameters, c.state, t, omega_B, c.normals, c.row[0], c.out), c, _GYRO, frames.GYRO_BIT, samples)
    m = s.magnetometer
    status = magnetometer_kernel(m.parameters, m.state, t, q, e[6:9], dipole_B, m.normals, m.row[0], m.out)
    _put(status, m, _MAGNETOMETER, frames.MAGNETOMETER_BIT, samples)
    for i in range(frames.SUN_SENSORS):
        sun = s.sun[i]
        _put(_sun_sensor(sun, t, q, e), sun, _SUN + i * _SUN_STRIDE, frames.SUN_SENSOR_BIT + i, samples)
    d = s.coarse
    status = coarse_sun_sensors_kernel(
        d.parameters, d.state, t, q, e[9:12], e[SUNLIGHT], e[16:19], d.normals, d.row[0], d.out
    )
    _put(status, d, _COARSE, frames.COARSE_SUN_BIT, samples)
    for i in range(frames.STAR_TRACKERS):
        star, at = s.star[i], _STAR + i * _STAR_STRIDE
        _put(_star_tracker(star, t, q, omega_B, e), star, at, frames.STAR_TRACKER_BIT + i, samples)
    g = s.gps
    status = gps_kernel(g.parameters, g.state, t, e[0:3], e[3:6], g.normals, g.row[0], g.out)
    _put(status, g, _GPS, frames.GPS_BIT, samples)


# ------------------------------------------------------------------ from Python
class _Fitted:
    """A sensor of a run on the Python side: it keeps the random numbers coming."""

    def __init__(self, config: SensorConfig, seed: int, bit: int) -> None:
        generator = noise_generator(seed, frames.SENSOR_NAMES[bit])
        self.parameters: Any = config.parameters()
        self.state = config.initial_state(generator)
        self.out = np.zeros(2 + self.parameters.errors.values)
        self.row = np.zeros(1, dtype=np.int64)
        self._normals = Normals(generator, normals_per_sample(self.parameters.errors))

    def channel(self, ticks: int) -> Channel:
        """With random numbers for at least `ticks` ticks."""
        self._normals.row = int(self.row[0])
        self._normals.fill(ticks)
        self.row[0] = self._normals.row
        return Channel(self.parameters, self.state, self._normals.rows, self.row, self.out)


class _Missing:
    """A sensor that is not fitted."""

    def __init__(self, config: SensorConfig) -> None:
        parameters: Any = config.parameters()
        state = config.initial_state(np.random.default_rng(0))
        never = parameters._replace(errors=parameters.errors._replace(phase=math.inf))
        width = normals_per_sample(parameters.errors)
        out, row = np.zeros(2 + parameters.errors.values), np.zeros(1, dtype=np.int64)
        self._channel = Channel(never, state, np.zeros((1, width)), row, out)

    def channel(self, ticks: int) -> Channel:
        """Always the same: it uses no random numbers."""
        return self._channel


class Suite:
    """The sensors of a run; `sensing(ticks)` is what the kernel takes, with random numbers for that many ticks."""

    def __init__(self, sensors: SensorSuite, seed: int) -> None:
        fitted = dict(sensors.fitted())
        self._slots: list[_Fitted | _Missing] = []
        for bit in range(frames.WHEELS_BIT):
            config = fitted.get(bit)
            self._slots.append(_Missing(_stand_in(bit)) if config is None else _Fitted(config, seed, bit))
        self._ahead, self._sensing = 0, self._collect(1)

    def sensing(self, ticks: int) -> Sensing:
        """For the next `ticks` ticks; kept until its random numbers are used up."""
        if self._ahead < ticks:
            self._sensing = self._collect(max(ticks, 256))
        self._ahead -= ticks
        return self._sensing

    def _collect(self, ticks: int) -> Sensing:
        self._ahead = ticks
        c = [slot.channel(ticks) for slot in self._slots]
        sun, star = frames.SUN_SENSOR_BIT, frames.STAR_TRACKER_BIT
        return Sensing(
            c[frames.GYRO_BIT], c[frames.MAGNETOMETER_BIT], tuple(c[sun : sun + frames.SUN_SENSORS]),
            c[frames.COARSE_SUN_BIT], tuple(c[star : star + frames.STAR_TRACKERS]), c[frames.GPS_BIT],
        )  # fmt: skip


def _stand_in(bit: int) -> SensorConfig:
    """What takes the place of a sensor that is not fitted: same types, never due."""
    kinds = [known for known in _NOT_FITTED if known <= bit]
    return _NOT_FITTED[max(kinds)]
