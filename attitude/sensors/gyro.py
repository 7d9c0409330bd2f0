"""Rate gyro with three axes, in datasheet units.

| field                         | datasheet                                  | SI, with                      |
| ----------------------------- | ------------------------------------------ | ----------------------------- |
| `arw_deg_per_sqrt_hr`         | angle random walk N, °/√h                  | rad/√s: × π/180 / 60          |
| `bias_instability_deg_per_hr` | bias instability, °/h                      | rad/s: × π/180 / 3600         |
| `rrw_deg_per_hr_per_sqrt_hr`  | rate random walk K, °/h/√h                 | rad/s/√s: × π/180 / 3600 / 60 |
| `turn_on_bias_deg_per_hr`     | turn-on to turn-on bias, 1σ, °/h           | rad/s: × π/180 / 3600         |
| `scale_factor_ppm`            | scale factor error, 1σ, ppm                | × 1e-6                        |
| `misalignment_arcsec`         | axis misalignment, 1σ of each tilt, arcsec | rad: × π/180 / 3600           |
| `lsb_deg_per_s`               | resolution, °/s                            | rad/s: × π/180                |
| `range_deg_per_s`             | measurement range ±, °/s                   | rad/s: × π/180                |

A sample carries white noise of 1σ `N √rate`. The bias instability is what is read at the flat bottom of the Allan
deviation; it is made by a first-order Gauss–Markov process of the given correlation time `T`, whose Allan deviation
has its maximum, 0.6174 of the process's 1σ, at 1.893 `T` (IEEE 952-1997, C.1.4, evaluated).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.sensors.base import Sensor, SensorConfig, Stream, as_tuple, sensor_axes
from attitude.sensors.errors import (
    ARCSEC,
    DEG_PER_HR,
    DEG_PER_HR_PER_SQRT_HR,
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

ALLAN_PEAK = 0.617364  # maximum of the Allan deviation of a Gauss–Markov process over its 1σ


@dataclass(frozen=True, kw_only=True)
class GyroFault(Fault):
    """Fault of a gyro; `size_deg_per_s` of a spike or a jump; channel 0 to 2 is a sensor axis."""

    size_deg_per_s: float = 0.0

    size_field: ClassVar[str] = "size_deg_per_s"
    size_unit: ClassVar[float] = DEGREE


@dataclass(frozen=True, kw_only=True)
class GyroConfig(SensorConfig):
    """Gyro in datasheet units, see the module; `q_BS` turns sensor axes into body axes.

    `bias_instability_time_s` is the correlation time of the bias instability. Zero is no error of that kind.
    """

    arw_deg_per_sqrt_hr: float
    bias_instability_deg_per_hr: float = 0.0
    bias_instability_time_s: float = 1000.0
    rrw_deg_per_hr_per_sqrt_hr: float = 0.0
    turn_on_bias_deg_per_hr: float = 0.0
    scale_factor_ppm: float = 0.0
    misalignment_arcsec: float = 0.0
    lsb_deg_per_s: float = 0.0
    range_deg_per_s: float = math.inf
    q_BS: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    faults: tuple[GyroFault, ...] = ()

    fault_type: ClassVar[type[Fault]] = GyroFault
    noise_names: ClassVar[tuple[str, ...]] = (
        "arw_deg_per_sqrt_hr", "bias_instability_deg_per_hr", "rrw_deg_per_hr_per_sqrt_hr", "turn_on_bias_deg_per_hr",
        "scale_factor_ppm", "misalignment_arcsec", "lsb_deg_per_s",
    )  # fmt: skip
    limit_names: ClassVar[tuple[str, ...]] = ("range_deg_per_s",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            bias_instability_time_s=checks.positive(self.bias_instability_time_s, "bias_instability_time_s"),
            q_BS=as_tuple(checks.unit_quaternion(self.q_BS, "q_BS")),
        )

    def fault_channels(self) -> tuple[int, int]:
        """Each axis can fail on its own."""
        return 3, 3

    def parameters(self) -> GyroParameters:
        """For `gyro_kernel`, SI units."""
        limit = np.full(3, self.range_deg_per_s * DEGREE)
        errors = self._errors(
            white=np.full(3, self.arw_deg_per_sqrt_hr * DEG_PER_SQRT_HR * math.sqrt(self.sample_rate_hz)),
            walk_per_sqrt_s=np.full(3, self.rrw_deg_per_hr_per_sqrt_hr * DEG_PER_HR_PER_SQRT_HR),
            markov=np.full(3, self._markov_sigma),
            markov_time=self.bias_instability_time_s,
            step=np.full(3, self.lsb_deg_per_s * DEGREE), low=-limit, high=limit, values=3, constants=9,
        )  # fmt: skip
        return GyroParameters(errors, np.array(self.q_BS))

    @property
    def _markov_sigma(self) -> float:
        return self.bias_instability_deg_per_hr * DEG_PER_HR / ALLAN_PEAK

    def initial_state(self, generator: np.random.Generator) -> Array:
        """State before the first sample, with this run's turn-on bias, instability, scale factors and tilts."""
        z = generator.standard_normal(15)
        R_SB = quaternion.to_matrix(self.q_BS).T
        axes = sensor_axes(self.scale_factor_ppm * PPM * z[6:9], self.misalignment_arcsec * ARCSEC * z[9:], R_SB)
        bias = self.turn_on_bias_deg_per_hr * DEG_PER_HR * z[:3]
        return start_state(self.parameters().errors, bias, self._markov_sigma * z[3:6], axes.ravel())


class GyroParameters(NamedTuple):
    """Parameters of `gyro_kernel`."""

    errors: ErrorParameters
    q_BS: Array


@kernel
def gyro_kernel(
    p: GyroParameters, state: Array, t: float, omega_B: Array, normals: Array, row: int, out: Array
) -> int:
    """One call at `t`: `out = [time tag, valid, omega_B (3) rad/s]`; returns `SAMPLED | DELIVERED`."""
    e = p.errors
    steps = due(e, state, t)
    if steps < 0.0:
        return deliver(e, state, t, out)
    z = normals[row]
    sense_vector(e, state, omega_B[0], omega_B[1], omega_B[2])
    disturb(e, state, t, steps, z)
    valid = hold(e, state, t, 1.0)
    reading_to_body(e, state, p.q_BS)
    post(e, state, t, valid, z)
    return SAMPLED | deliver(e, state, t, out)


@kernel
def _run(
    p: GyroParameters, state: Array, times: Array, omega_B: Array, normals: Array, row: int, out: Array, rows: Array
) -> tuple[int, int]:
    """`gyro_kernel` at all times; rows `[time, *out]` of what came out, their count and the next row of normals."""
    count = 0
    for k in range(times.size):
        status = gyro_kernel(p, state, times[k], omega_B[k], normals, row, out)
        row += status & SAMPLED
        if status & DELIVERED:
            record(times[k], out, rows[count])
            count += 1
    return count, row


class Gyro(Sensor):
    """Rate gyro; values are the rate in body axes, rad/s."""

    truth: ClassVar = {"omega_B": (3,)}
    _run: ClassVar[Any] = staticmethod(_run)

    def __init__(self, config: GyroConfig, name: str = "gyro") -> None:
        super().__init__(config, name)

    def stream(self, times: ArrayLike, omega_B: ArrayLike, *, seed: int = 0) -> Stream:
        """Samples of a new run at `times` `(N,)`, s, for the true rate `omega_B` `(N, 3)` or `(3,)`, rad/s."""
        return self.start(seed).stream(times, omega_B)


@on_warm_up
def _warm_up() -> None:
    Gyro(GyroConfig(sample_rate_hz=1.0, arw_deg_per_sqrt_hr=0.0)).stream([0.0], [0.0, 0.0, 0.0])
