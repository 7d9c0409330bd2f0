"""Coarse sun sensors: photodiodes on faces, read together.

A reading is the current over that in full sunlight at normal incidence (1 = full sun):

    reading_i = (1 + scale_i) (sunlight n_i·s + n_i·a)        each product only if the light is in the field of view

with the outward normal `n_i`, the Sun's direction `s`, and the Earth's reflected light `a`: a vector towards where it
comes from, its length the irradiance over that of full sunlight. Readings lie between 0 and the range.

| field                            | meaning                                       | SI, with            |
| -------------------------------- | --------------------------------------------- | ------------------- |
| `noise_fraction`                 | white noise of one sample, 1σ, of full sun    | 1                   |
| `turn_on_bias_fraction`          | turn-on bias (dark current), 1σ, of full sun  | 1                   |
| `bias_walk_fraction_per_sqrt_hr` | random walk of the bias, of full sun per √h   | 1/√s: / 60          |
| `scale_factor_ppm`               | scale factor error of a diode, 1σ, ppm        | × 1e-6              |
| `misalignment_arcsec`            | tilt of a normal, 1σ along each axis, arcsec  | rad: × π/180 / 3600 |
| `lsb_fraction`, `range_fraction` | one LSB, largest reading, of full sun         | 1                   |
| `half_fov_deg`                   | largest angle from the normal that is seen, ° | rad: × π/180        |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.core.quaternion import rotate_xyz
from attitude.sensors.base import Sensor, SensorConfig, Stream, as_tuple
from attitude.sensors.errors import (
    ARCSEC,
    DEGREE,
    DELIVERED,
    PER_SQRT_HR,
    PPM,
    SAMPLED,
    ErrorParameters,
    deliver,
    disturb,
    due,
    hold,
    post,
    record,
    start_state,
)  # fmt: skip
from attitude.sensors.faults import Fault

ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class CoarseSunSensorsFault(Fault):
    """Fault of coarse sun sensors; `size_fraction` of full sun of a spike or a jump; the channel is a diode."""

    size_fraction: float = 0.0

    size_field: ClassVar[str] = "size_fraction"
    size_unit: ClassVar[float] = 1.0


@dataclass(frozen=True, kw_only=True)
class CoarseSunSensorsConfig(SensorConfig):
    """Photodiodes, see the module; `normals_B` are their outward directions in body axes, one row for each."""

    normals_B: tuple[tuple[float, float, float], ...]
    noise_fraction: float
    turn_on_bias_fraction: float = 0.0
    bias_walk_fraction_per_sqrt_hr: float = 0.0
    scale_factor_ppm: float = 0.0
    misalignment_arcsec: float = 0.0
    lsb_fraction: float = 0.0
    range_fraction: float = math.inf
    half_fov_deg: float = 90.0
    faults: tuple[CoarseSunSensorsFault, ...] = ()

    fault_type: ClassVar[type[Fault]] = CoarseSunSensorsFault
    noise_names: ClassVar[tuple[str, ...]] = (
        "noise_fraction", "turn_on_bias_fraction", "bias_walk_fraction_per_sqrt_hr", "scale_factor_ppm",
        "misalignment_arcsec", "lsb_fraction",
    )  # fmt: skip
    limit_names: ClassVar[tuple[str, ...]] = ("range_fraction",)

    def __post_init__(self) -> None:
        normals = checks.array(self.normals_B, "normals_B", (None, 3))
        if not normals.size:
            raise ValueError("normals_B must have at least one row, got none")
        units = [checks.unit_axis(normal, f"normals_B[{i}]") for i, normal in enumerate(normals)]
        self._set(normals_B=as_tuple(np.array(units)), half_fov_deg=checks.positive(self.half_fov_deg, "half_fov_deg"))
        if self.half_fov_deg > 90.0:
            raise ValueError(f"half_fov_deg must be at most 90 degrees, got {self.half_fov_deg}")
        super().__post_init__()

    def fault_channels(self) -> tuple[int, int]:
        """Each diode can fail on its own."""
        return len(self.normals_B), len(self.normals_B)

    def parameters(self) -> CoarseSunSensorsParameters:
        """For `coarse_sun_sensors_kernel`, SI units."""
        n = len(self.normals_B)
        errors = self._errors(
            white=np.full(n, self.noise_fraction),
            walk_per_sqrt_s=np.full(n, self.bias_walk_fraction_per_sqrt_hr * PER_SQRT_HR),
            step=np.full(n, self.lsb_fraction), low=np.zeros(n), high=np.full(n, self.range_fraction),
            values=n, constants=4 * n,
        )  # fmt: skip
        cosine = math.cos(self.half_fov_deg * DEGREE) if self.half_fov_deg < 90.0 else 0.0
        return CoarseSunSensorsParameters(errors, cosine)

    def initial_state(self, generator: np.random.Generator) -> Array:
        """State before the first sample, with this run's dark currents, scale factors and tilts."""
        z = generator.standard_normal((5, len(self.normals_B)))
        normals = np.array(self.normals_B)
        tilts = self.misalignment_arcsec * ARCSEC * z[2:].T
        normals += tilts - np.sum(tilts * normals, axis=1, keepdims=True) * normals  # across the normal only
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        constants = np.concatenate([normals.ravel(), 1.0 + self.scale_factor_ppm * PPM * z[1]])
        return start_state(self.parameters().errors, self.turn_on_bias_fraction * z[0], np.zeros(0), constants)


class CoarseSunSensorsParameters(NamedTuple):
    """Parameters of `coarse_sun_sensors_kernel`."""

    errors: ErrorParameters
    cosine_fov: float


@kernel
def lit(cosine_fov: float, n: Array, x: float, y: float, z: float) -> float:
    """Light of the irradiance vector `[x, y, z]` on a diode of normal `n`."""
    across = n[0] * x + n[1] * y + n[2] * z
    return across if across > cosine_fov * math.sqrt(x * x + y * y + z * z) else 0.0


@kernel
def coarse_sun_sensors_kernel(
    p: CoarseSunSensorsParameters, state: Array, t: float, q_IB: Array, sun_I: Array, sunlight: float,
    albedo_I: Array, normals: Array, row: int, out: Array,
) -> int:  # fmt: skip
    """One call at `t`: `out = [time tag, valid, readings (n) of full sun]`; unit `sun_I`, `sunlight` 0 to 1.

    `albedo_I`: reflected light, towards its source, over the irradiance of full sunlight; zeros for none.
    """
    e = p.errors
    steps = due(e, state, t)
    if steps < 0.0:
        return deliver(e, state, t, out)
    z = normals[row]
    x, y, w, q = -q_IB[0], -q_IB[1], -q_IB[2], q_IB[3]
    s1, s2, s3 = rotate_xyz(x, y, w, q, sunlight * sun_I[0], sunlight * sun_I[1], sunlight * sun_I[2])
    a1, a2, a3 = rotate_xyz(x, y, w, q, albedo_I[0], albedo_I[1], albedo_I[2])
    n = e.white.size
    for i in range(n):
        at = e.constants_at + 3 * i
        normal = state[at : at + 3]
        light = lit(p.cosine_fov, normal, s1, s2, s3) + lit(p.cosine_fov, normal, a1, a2, a3)
        state[e.reading_at + i] = state[e.constants_at + 3 * n + i] * light
    disturb(e, state, t, steps, z)
    valid = hold(e, state, t, 1.0)
    post(e, state, t, valid, z)
    return SAMPLED | deliver(e, state, t, out)


@kernel
def _run(
    p: CoarseSunSensorsParameters, state: Array, times: Array, q_IB: Array, sun_I: Array, sunlight: Array,
    albedo_I: Array, normals: Array, row: int, out: Array, rows: Array,
) -> tuple[int, int]:  # fmt: skip
    """`coarse_sun_sensors_kernel` at all times; count of the rows that came out, and the next row of normals."""
    count = 0
    for k in range(times.size):
        status = coarse_sun_sensors_kernel(
            p, state, times[k], q_IB[k], sun_I[k], sunlight[k], albedo_I[k], normals, row, out
        )
        row += status & SAMPLED
        if status & DELIVERED:
            record(times[k], out, rows[count])
            count += 1
    return count, row


class CoarseSunSensors(Sensor):
    """Photodiodes; values are their readings, 1 for full sunlight at normal incidence."""

    truth: ClassVar = {"q_IB": (4,), "sun_I": (3,), "sunlight": (), "albedo_I": (3,)}
    _run: ClassVar[Any] = staticmethod(_run)

    def __init__(self, config: CoarseSunSensorsConfig, name: str = "coarse_sun_sensors") -> None:
        super().__init__(config, name)

    def stream(
        self, times: ArrayLike, q_IB: ArrayLike, sun_I: ArrayLike, sunlight: ArrayLike = 1.0,
        albedo_I: ArrayLike = ZERO, *, seed: int = 0,
    ) -> Stream:  # fmt: skip
        """Samples of a new run at `times` `(N,)`, s.

        Attitude `q_IB` `(N, 4)`, unit direction to the Sun `sun_I` `(N, 3)`, fraction of full sunlight `sunlight`
        `(N,)`, and reflected light `albedo_I` `(N, 3)` (see the module); what is constant may be given once.
        """
        return self.start(seed).stream(times, q_IB, sun_I, sunlight, albedo_I)


@on_warm_up
def _warm_up() -> None:
    config = CoarseSunSensorsConfig(sample_rate_hz=1.0, normals_B=((0.0, 0.0, 1.0),), noise_fraction=0.0)
    CoarseSunSensors(config).stream([0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0])
