"""The environment of a scenario: computed once on a time grid, then interpolated in kernels.

Orbit, field, Sun, Earth rotation, air density and albedo are smooth over the step, and a cubic through four nodes
follows them: the error is below `3/128 h⁴` times the fourth derivative, at 10 s some millimetres, 0.01 nT and far
less than an arcsecond. What is not smooth, the edge of the Earth's shadow, is computed at every call from the
interpolated geometry. Time and memory grow linearly with the duration (160 bytes per step).

| row of the kernel's output | slice     | unit                                                                      |
| -------------------------- | --------- | ------------------------------------------------------------------------- |
| position                   | `R_I`     | m, inertial axes (GCRS), from the Earth's centre                          |
| velocity                   | `V_I`     | m/s, inertial axes                                                        |
| magnetic field             | `B_I`     | T, inertial axes                                                          |
| Sun direction              | `SUN_I`   | unit vector from the spacecraft, inertial axes                            |
| Earth rotation             | `Q_IE`    | quaternion, Earth-fixed (ITRS) to inertial axes                           |
| albedo                     | `ALBEDO_I`| solar constants, toward the light, inertial axes                          |
| sunlight                   | `SUNLIGHT`| visible fraction of the solar disc, 0 to 1                                |
| solar flux                 | `FLUX`    | `(1 AU / distance)²`, unshadowed                                          |
| air density                | `DENSITY` | kg/m³                                                                     |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.environment import frames
from attitude.environment.albedo import albedo_irradiance
from attitude.environment.atmosphere import Atmosphere, ExponentialAtmosphere
from attitude.environment.epoch import Epoch
from attitude.environment.magnetic_field import magnetic_field
from attitude.environment.orbit import Orbit
from attitude.environment.sun import AU, sun_position, sunlight_kernel

OK = 0
OUTSIDE = 1  # the time is not in the grid; the values are those at its nearer end

R_I, V_I, B_I, SUN_I = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12)
Q_IE, ALBEDO_I = slice(12, 16), slice(16, 19)
SUNLIGHT, FLUX, DENSITY = 19, 20, 21
SIZE = 22

COLUMNS = 20  # r, v, B, Sun (m, from the Earth's centre), q, albedo, logarithm of the density
MAX_STEP = 30.0  # s: there a low orbit is good to 0.25 m and 0.3 nT, a perigee at 200 km of a transfer orbit to 0.8 m
LEAST_DENSITY = 1e-40  # kg/m³: stands for none, so that a logarithm exists


class EnvironmentParameters(NamedTuple):
    """What the kernel needs: the table `(N, 20)`, the first node's time, 1/step, and the duration, s."""

    table: Array
    first: float
    inverse_step: float
    duration: float


class EnvironmentSample(NamedTuple):
    """The environment at N times, see the table above; scalars are `(N,)`."""

    r_I: Array
    v_I: Array
    b_I: Array
    sun_I: Array
    q_IE: Array
    albedo_I: Array
    sunlight: Array
    flux: Array
    density: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Environment:
    """Which orbit, when, and which models; `grid(duration)` computes it.

    `earth_albedo` is the Earth's reflectivity (0.3 on average), zero for none. UT1 − UTC is zero unless given.
    """

    orbit: Orbit
    epoch: datetime | str
    step_s: float = 10.0
    atmosphere: Atmosphere = field(default_factory=ExponentialAtmosphere)
    earth_albedo: float = 0.0
    ut1_minus_utc_s: float = 0.0

    def __post_init__(self) -> None:
        """Check everything but the duration."""
        Epoch(self.epoch, self.ut1_minus_utc_s)
        if not isinstance(self.orbit, Orbit):
            raise ValueError(f"orbit must be an Orbit, got {self.orbit!r}")
        if not hasattr(self.atmosphere, "density_at"):
            raise ValueError(f"atmosphere must have a method density_at(r_E, t), got {self.atmosphere!r}")
        if checks.positive(self.step_s, "step_s") > MAX_STEP:
            raise ValueError(f"step_s must be at most {MAX_STEP:g} s, got {self.step_s}")
        if not 0.0 <= checks.number(self.earth_albedo, "earth_albedo") <= 1.0:
            raise ValueError(f"earth_albedo must lie between 0 and 1, got {self.earth_albedo}")

    def grid(self, duration: float) -> EnvironmentGrid:
        """Everything from the epoch to `duration`, s, after it."""
        duration = checks.positive(duration, "duration")
        t = self.step_s * np.arange(-1.0, math.ceil(duration / self.step_s) + 2.0)  # one node more at each end
        epoch = Epoch(self.epoch, self.ut1_minus_utc_s)
        return EnvironmentGrid(epoch, duration, t, self._table(epoch, t))

    def _table(self, epoch: Epoch, t: Array) -> Array:
        """The nodes, `(N, 20)`."""
        R_EI = frames.earth_rotation(epoch, t)
        R_IE = frames.transpose(R_EI)
        R_IT = frames.teme_to_inertial(R_EI, frames.teme_to_earth(epoch, t))
        r_I, v_I = (frames.apply(R_IT, v_T) for v_T in self.orbit.teme(epoch, t))
        r_E = frames.apply(R_EI, r_I)
        b_I = frames.apply(R_IE, magnetic_field(r_E, epoch, t))
        sun_I = sun_position(epoch, t)
        albedo_I = albedo_irradiance(r_I, sun_I, self.earth_albedo)
        density = _log_density(self.atmosphere.density_at(r_E, t), t.size)
        return np.column_stack([r_I, v_I, b_I, sun_I, frames.continuous_quaternion(R_IE), albedo_I, density])


def _log_density(density: Array, count: int) -> Array:
    """Logarithm of a model's densities, checked: the model may be the user's."""
    density = checks.array(density, "atmosphere density", (count,))
    if (density < 0.0).any():
        raise ValueError(f"atmosphere density must not be negative, got {density.min()} kg/m^3")
    return np.log(np.maximum(density, LEAST_DENSITY))


@dataclass(frozen=True, eq=False)
class EnvironmentGrid:
    """A computed environment: `at(t)` from Python, `environment_kernel(parameters(), t, out)` from kernels."""

    epoch: Epoch
    duration: float
    t: Array
    table: Array = field(repr=False)

    def parameters(self) -> EnvironmentParameters:
        """For the kernel."""
        return EnvironmentParameters(self.table, float(self.t[0]), 1.0 / float(self.t[1] - self.t[0]), self.duration)

    def at(self, t: ArrayLike) -> EnvironmentSample:
        """The environment at `t` `(N,)`, or one number, seconds after the epoch; outside the grid is an error."""
        times = checks.array(np.atleast_1d(np.asarray(t)), "t", (None,))
        out = np.empty((times.size, SIZE))
        if _sample(self.parameters(), times, out) != OK:
            raise ValueError(
                f"t must lie between 0 and the duration {self.duration} s, got {times.min()} to {times.max()}"
            )
        parts = (out[:, part] for part in (R_I, V_I, B_I, SUN_I, Q_IE, ALBEDO_I, SUNLIGHT, FLUX, DENSITY))
        return EnvironmentSample(*(part if np.ndim(t) else part[0] for part in parts))


@kernel
def environment_kernel(parameters: EnvironmentParameters, t: float, out: Array) -> int:
    """`out` `(22,)`: the environment at `t`, see the table above."""
    table = parameters.table
    inside = 0.0 <= t <= parameters.duration
    clamped = min(max(t, 0.0), parameters.duration) if t == t else 0.0
    u = (clamped - parameters.first) * parameters.inverse_step
    i = min(int(u), table.shape[0] - 3)
    s = u - i
    a, b, c = s + 1.0, s - 1.0, s - 2.0
    w0, w1, w2, w3 = -s * b * c / 6.0, 0.5 * a * b * c, -0.5 * a * s * c, a * s * b / 6.0  # Lagrange, four nodes
    for k in range(COLUMNS):
        out[k] = w0 * table[i - 1, k] + w1 * table[i, k] + w2 * table[i + 1, k] + w3 * table[i + 2, k]
    density = math.exp(out[19])
    _look_at_sun(out)
    norm = 1.0 / math.sqrt(out[12] ** 2 + out[13] ** 2 + out[14] ** 2 + out[15] ** 2)
    for k in range(12, 16):
        out[k] *= norm
    out[DENSITY] = density
    return OK if inside else OUTSIDE


@kernel
def _look_at_sun(out: Array) -> None:
    """From the Sun's position relative to the Earth in `out[9:12]`: direction, sunlight and flux at the spacecraft."""
    x, y, z = out[9] - out[0], out[10] - out[1], out[11] - out[2]
    distance = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / distance, y / distance, z / distance
    out[9], out[10], out[11] = x, y, z
    out[SUNLIGHT] = sunlight_kernel(out[0], out[1], out[2], x, y, z, distance)
    out[FLUX] = (AU / distance) ** 2


@kernel
def _sample(parameters: EnvironmentParameters, times: Array, out: Array) -> int:
    """All of `times` into the rows of `out`; `OUTSIDE` if any is not in the grid."""
    worst = OK
    for k in range(times.size):
        worst = max(worst, environment_kernel(parameters, times[k], out[k]))
    return worst


@on_warm_up
def _warm_up() -> None:
    table = np.ones((4, COLUMNS))
    _sample(EnvironmentParameters(table, -1.0, 1.0, 1.0), np.zeros(1), np.empty((1, SIZE)))
