"""Fine sun sensor: the direction of the Sun from two angles on a detector. For photodiodes see `coarse_sun_sensor.py`.

The boresight is the z axis of the sensor. It measures `α = atan(s_x/s_z)` and `β = atan(s_y/s_z)` of the Sun's
direction `s` in sensor axes; noise, bias, scale factor and quantisation are on the angles, which end at the half field
of view. Not valid if the Sun is farther than that from the boresight, or in eclipse.

| field                       | meaning                                                  | SI, with             |
| --------------------------- | -------------------------------------------------------- | -------------------- |
| `noise_deg`                 | white noise of an angle in one sample, 1σ, °             | rad: × π/180         |
| `turn_on_bias_deg`          | turn-on bias of an angle, 1σ, °                          | rad: × π/180         |
| `bias_walk_deg_per_sqrt_hr` | random walk of the bias, °/√h                            | rad/√s: × π/180 / 60 |
| `scale_factor_ppm`          | scale factor error of an angle, 1σ, ppm                  | × 1e-6               |
| `misalignment_arcsec`       | rotation of the whole sensor, 1σ about each axis, arcsec | rad: × π/180 / 3600  |
| `lsb_deg`                   | resolution of an angle, °                                | rad: × π/180         |
| `half_fov_deg`              | half angle of the field of view, a cone, °               | rad: × π/180         |
| `minimum_sunlight`          | fraction of full sunlight below which it is not valid    | 1                    |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.core.quaternion import rotate_xyz
from attitude.sensors.base import Sensor, SensorConfig, Stream, angle, as_tuple, fraction
from attitude.sensors.errors import (
    ARCSEC,
    DEG_PER_SQRT_HR,
    DEGREE,
    DELIVERED,
    PPM,
    SAMPLED,
    ErrorParameters,
    deliver,
    disturb,
    due,
    hold,
    post,
    reading_to_body,
    record,
    sense_vector,
    start_state,
)  # fmt: skip
from attitude.sensors.faults import Fault


@dataclass(frozen=True, kw_only=True)
class FineSunSensorFault(Fault):
    """Fault of a fine sun sensor; `size_deg` of a spike or a jump; channel 0 or 1 is an angle."""

    size_deg: float = 0.0

    size_field: ClassVar[str] = "size_deg"
    size_unit: ClassVar[float] = DEGREE


@dataclass(frozen=True, kw_only=True)
class FineSunSensorConfig(SensorConfig):
    """Fine sun sensor, see the module; `q_BS` turns sensor axes into body axes, the boresight is the sensor's z."""

    q_BS: tuple[float, float, float, float]
    half_fov_deg: float
    noise_deg: float
    turn_on_bias_deg: float = 0.0
    bias_walk_deg_per_sqrt_hr: float = 0.0
    scale_factor_ppm: float = 0.0
    misalignment_arcsec: float = 0.0
    lsb_deg: float = 0.0
    minimum_sunlight: float = 0.5
    faults: tuple[FineSunSensorFault, ...] = ()

    fault_type: ClassVar[type[Fault]] = FineSunSensorFault
    noise_names: ClassVar[tuple[str, ...]] = (
        "noise_deg", "turn_on_bias_deg", "bias_walk_deg_per_sqrt_hr", "scale_factor_ppm", "misalignment_arcsec",
        "lsb_deg",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            q_BS=as_tuple(checks.unit_quaternion(self.q_BS, "q_BS")),
            half_fov_deg=angle(self.half_fov_deg, "half_fov_deg", 90.0),
            minimum_sunlight=fraction(self.minimum_sunlight, "minimum_sunlight"),
        )

    def fault_channels(self) -> tuple[int, int]:
        """Each angle can fail on its own."""
        return 2, 2

    def parameters(self) -> FineSunSensorParameters:
        """For `fine_sun_sensor_kernel`, SI units."""
        edge = np.full(2, self.half_fov_deg * DEGREE)
        errors = self._errors(
            white=np.full(2, self.noise_deg * DEGREE),
            walk_per_sqrt_s=np.full(2, self.bias_walk_deg_per_sqrt_hr * DEG_PER_SQRT_HR),
            step=np.full(2, self.lsb_deg * DEGREE), low=-edge, high=edge, values=3, constants=11,
        )  # fmt: skip
        return FineSunSensorParameters(errors, np.array(self.q_BS), math.cos(edge[0]), self.minimum_sunlight)

    def initial_state(self, generator: np.random.Generator) -> Array:
        """State before the first sample, with this run's turn-on bias, scale factors and rotation."""
        z = generator.standard_normal(7)
        turn = quaternion.to_matrix(quaternion.exp(self.misalignment_arcsec * ARCSEC * z[4:]))
        axes = turn @ quaternion.to_matrix(self.q_BS).T
        constants = np.concatenate([axes.ravel(), 1.0 + self.scale_factor_ppm * PPM * z[2:4]])
        bias = self.turn_on_bias_deg * DEGREE * z[:2]
        return start_state(self.parameters().errors, bias, np.zeros(0), constants)


class FineSunSensorParameters(NamedTuple):
    """Parameters of `fine_sun_sensor_kernel`."""

    errors: ErrorParameters
    q_BS: Array
    cosine_fov: float
    minimum_sunlight: float


@kernel
def sun_angles(p: FineSunSensorParameters, state: Array, s1: float, s2: float, s3: float, sunlight: float) -> float:
    """Reading = the two angles of the Sun at `s` (body axes); returns 1 if it is seen, else 0."""
    e = p.errors
    sense_vector(e, state, s1, s2, s3)
    y, scale = state[e.reading_at : e.held_at], state[e.constants_at + 9 : e.ring_at]
    norm = math.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
    seen = norm > 0.0 and y[2] >= p.cosine_fov * norm and sunlight >= p.minimum_sunlight and sunlight > 0.0
    y[0], y[1] = scale[0] * math.atan2(y[0], y[2]), scale[1] * math.atan2(y[1], y[2])
    return 1.0 if seen else 0.0


@kernel
def angles_to_direction(y: Array) -> None:
    """Unit vector, in sensor axes, from the angles in `y[:2]`; in place."""
    a, b = math.tan(y[0]), math.tan(y[1])
    k = 1.0 / math.sqrt(1.0 + a * a + b * b)
    y[0], y[1], y[2] = k * a, k * b, k


@kernel
def fine_sun_sensor_kernel(
    p: FineSunSensorParameters, state: Array, t: float, q_IB: Array, sun_I: Array, sunlight: float,
    normals: Array, row: int, out: Array,
) -> int:  # fmt: skip
    """One call at `t`: `out = [time tag, valid, sun_B (3) unit]`; direction `sun_I`, `sunlight` 0 (umbra) to 1."""
    e = p.errors
    steps = due(e, state, t)
    if steps < 0.0:
        return deliver(e, state, t, out)
    z = normals[row]
    s1, s2, s3 = rotate_xyz(-q_IB[0], -q_IB[1], -q_IB[2], q_IB[3], sun_I[0], sun_I[1], sun_I[2])
    seen = sun_angles(p, state, s1, s2, s3, sunlight)
    disturb(e, state, t, steps, z)
    valid = hold(e, state, t, seen)
    angles_to_direction(state[e.reading_at : e.held_at])
    reading_to_body(e, state, p.q_BS)
    post(e, state, t, valid, z)
    return SAMPLED | deliver(e, state, t, out)


@kernel
def _run(
    p: FineSunSensorParameters, state: Array, times: Array, q_IB: Array, sun_I: Array, sunlight: Array,
    normals: Array, row: int, out: Array, rows: Array,
) -> tuple[int, int]:  # fmt: skip
    """`fine_sun_sensor_kernel` at all times; count of the rows that came out, and the next row of normals."""
    count = 0
    for k in range(times.size):
        status = fine_sun_sensor_kernel(p, state, times[k], q_IB[k], sun_I[k], sunlight[k], normals, row, out)
        row += status & SAMPLED
        if status & DELIVERED:
            record(times[k], out, rows[count])
            count += 1
    return count, row


class FineSunSensor(Sensor):
    """Fine sun sensor; values are the unit vector to the Sun in body axes."""

    truth: ClassVar = {"q_IB": (4,), "sun_I": (3,), "sunlight": ()}
    _run: ClassVar[Any] = staticmethod(_run)

    def __init__(self, config: FineSunSensorConfig, name: str = "fine_sun_sensor") -> None:
        super().__init__(config, name)

    def stream(
        self, times: ArrayLike, q_IB: ArrayLike, sun_I: ArrayLike, sunlight: ArrayLike = 1.0, *, seed: int = 0
    ) -> Stream:
        """Samples of a new run at `times` `(N,)`, s.

        Attitude `q_IB` `(N, 4)`, direction to the Sun `sun_I` `(N, 3)`, and fraction of full sunlight `sunlight`
        `(N,)`, 0 in umbra; what is constant may be given once.
        """
        return self.start(seed).stream(times, q_IB, sun_I, sunlight)


@on_warm_up
def _warm_up() -> None:
    config = FineSunSensorConfig(sample_rate_hz=1.0, q_BS=(0.0, 0.0, 0.0, 1.0), half_fov_deg=60.0, noise_deg=0.0)
    FineSunSensor(config).stream([0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0])
