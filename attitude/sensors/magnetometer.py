"""Magnetometer with three axes, in datasheet units, with the iron and the torquers around it.

| field                      | meaning                                              | SI, with            |
| -------------------------- | ---------------------------------------------------- | ------------------- |
| `noise_nT`                 | white noise of one sample, 1σ, nT                    | T: × 1e-9           |
| `turn_on_bias_nT`          | turn-on bias, 1σ, nT                                 | T: × 1e-9           |
| `bias_walk_nT_per_sqrt_hr` | random walk of the bias, nT/√h                       | T/√s: × 1e-9 / 60   |
| `scale_factor_ppm`         | scale factor error, 1σ, ppm                          | × 1e-6              |
| `misalignment_arcsec`      | axis misalignment, 1σ of each tilt, arcsec           | rad: × π/180 / 3600 |
| `lsb_nT`, `range_nT`       | resolution, measurement range ±, nT                  | T: × 1e-9           |
| `hard_iron_nT`             | field of the spacecraft at the sensor, body axes, nT | T: × 1e-9           |
| `soft_iron`                | matrix on the outer field, body axes                 | 1                   |
| `torquer_field_nT_per_Am2` | field at the sensor per dipole moment, nT/(A·m²)     | T/(A·m²): × 1e-9    |

    b = soft_iron b_outer + torquer_field m + hard_iron        in body axes, then the errors along the sensor's axes
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
from attitude.sensors.base import Sensor, SensorConfig, Stream, as_tuple, sensor_axes
from attitude.sensors.errors import (
    ARCSEC,
    DELIVERED,
    NANOTESLA,
    PER_SQRT_HR,
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

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class MagnetometerFault(Fault):
    """Fault of a magnetometer; `size_nT` of a spike or a jump; channel 0 to 2 is a sensor axis."""

    size_nT: float = 0.0

    size_field: ClassVar[str] = "size_nT"
    size_unit: ClassVar[float] = NANOTESLA


@dataclass(frozen=True, kw_only=True)
class MagnetometerConfig(SensorConfig):
    """Magnetometer in datasheet units, see the module; `q_BS` turns sensor axes into body axes."""

    noise_nT: float
    turn_on_bias_nT: float = 0.0
    bias_walk_nT_per_sqrt_hr: float = 0.0
    scale_factor_ppm: float = 0.0
    misalignment_arcsec: float = 0.0
    lsb_nT: float = 0.0
    range_nT: float = math.inf
    hard_iron_nT: Vector = ZERO
    soft_iron: Matrix = IDENTITY
    torquer_field_nT_per_Am2: Matrix = (ZERO, ZERO, ZERO)
    q_BS: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    faults: tuple[MagnetometerFault, ...] = ()

    fault_type: ClassVar[type[Fault]] = MagnetometerFault
    noise_names: ClassVar[tuple[str, ...]] = (
        "noise_nT", "turn_on_bias_nT", "bias_walk_nT_per_sqrt_hr", "scale_factor_ppm", "misalignment_arcsec", "lsb_nT",
    )  # fmt: skip
    limit_names: ClassVar[tuple[str, ...]] = ("range_nT",)

    def __post_init__(self) -> None:
        super().__post_init__()
        matrices = {name: checks.array(getattr(self, name), name, (3, 3)) for name in MATRICES}
        self._set(**{name: as_tuple(matrix) for name, matrix in matrices.items()})
        self._set(hard_iron_nT=as_tuple(checks.array(self.hard_iron_nT, "hard_iron_nT", (3,))))
        self._set(q_BS=as_tuple(checks.unit_quaternion(self.q_BS, "q_BS")))

    def fault_channels(self) -> tuple[int, int]:
        """Each axis can fail on its own."""
        return 3, 3

    def parameters(self) -> MagnetometerParameters:
        """For `magnetometer_kernel`, SI units."""
        limit = np.full(3, self.range_nT * NANOTESLA)
        errors = self._errors(
            white=np.full(3, self.noise_nT * NANOTESLA),
            walk_per_sqrt_s=np.full(3, self.bias_walk_nT_per_sqrt_hr * NANOTESLA * PER_SQRT_HR),
            step=np.full(3, self.lsb_nT * NANOTESLA), low=-limit, high=limit, values=3, constants=9,
        )  # fmt: skip
        return MagnetometerParameters(
            errors, np.array(self.q_BS), np.array(self.soft_iron), np.array(self.torquer_field_nT_per_Am2) * NANOTESLA,
            np.array(self.hard_iron_nT) * NANOTESLA,
        )  # fmt: skip

    def initial_state(self, generator: np.random.Generator) -> Array:
        """State before the first sample, with this run's turn-on bias, scale factors and tilts."""
        z = generator.standard_normal(12)
        R_SB = quaternion.to_matrix(self.q_BS).T
        axes = sensor_axes(self.scale_factor_ppm * PPM * z[3:6], self.misalignment_arcsec * ARCSEC * z[6:], R_SB)
        bias = self.turn_on_bias_nT * NANOTESLA * z[:3]
        return start_state(self.parameters().errors, bias, np.zeros(0), axes.ravel())


MATRICES = ("soft_iron", "torquer_field_nT_per_Am2")


class MagnetometerParameters(NamedTuple):
    """Parameters of `magnetometer_kernel`."""

    errors: ErrorParameters
    q_BS: Array
    soft_iron: Array
    torquer_field: Array
    hard_iron: Array


@kernel
def field_at_sensor(
    p: MagnetometerParameters, i: int, x: float, y: float, z: float, dipole_B: Array
) -> float:
    """Component `i` of the field at the sensor, body axes, T; `x, y, z` is the outer field in body axes."""
    S, T = p.soft_iron[i], p.torquer_field[i]
    outer = S[0] * x + S[1] * y + S[2] * z
    return outer + T[0] * dipole_B[0] + T[1] * dipole_B[1] + T[2] * dipole_B[2] + p.hard_iron[i]


@kernel
def magnetometer_kernel(
    p: MagnetometerParameters, state: Array, t: float, q_IB: Array, b_I: Array, dipole_B: Array,
    normals: Array, row: int, out: Array,
) -> int:  # fmt: skip
    """One call at `t`: `out = [time tag, valid, b_B (3) T]`; field `b_I` T; dipole of the torquers `dipole_B` A·m²."""
    e = p.errors
    steps = due(e, state, t)
    if steps < 0.0:
        return deliver(e, state, t, out)
    z = normals[row]
    b1, b2, b3 = rotate_xyz(-q_IB[0], -q_IB[1], -q_IB[2], q_IB[3], b_I[0], b_I[1], b_I[2])
    y = state[e.reading_at : e.held_at]
    for i in range(3):
        y[i] = field_at_sensor(p, i, b1, b2, b3, dipole_B)
    sense_vector(e, state, y[0], y[1], y[2])
    disturb(e, state, t, steps, z)
    valid = hold(e, state, t, 1.0)
    reading_to_body(e, state, p.q_BS)
    post(e, state, t, valid, z)
    return SAMPLED | deliver(e, state, t, out)


@kernel
def _run(
    p: MagnetometerParameters, state: Array, times: Array, q_IB: Array, b_I: Array, dipole_B: Array,
    normals: Array, row: int, out: Array, rows: Array,
) -> tuple[int, int]:  # fmt: skip
    """`magnetometer_kernel` at all times; count of the rows that came out, and the next row of normals."""
    count = 0
    for k in range(times.size):
        status = magnetometer_kernel(p, state, times[k], q_IB[k], b_I[k], dipole_B[k], normals, row, out)
        row += status & SAMPLED
        if status & DELIVERED:
            record(times[k], out, rows[count])
            count += 1
    return count, row


class Magnetometer(Sensor):
    """Magnetometer; values are the field in body axes, T."""

    truth: ClassVar = {"q_IB": (4,), "b_I": (3,), "dipole_B": (3,)}
    _run: ClassVar[Any] = staticmethod(_run)

    def __init__(self, config: MagnetometerConfig, name: str = "magnetometer") -> None:
        super().__init__(config, name)

    def stream(
        self, times: ArrayLike, q_IB: ArrayLike, b_I: ArrayLike, dipole_B: ArrayLike = ZERO, *, seed: int = 0
    ) -> Stream:
        """Samples of a new run at `times` `(N,)`, s.

        Attitude `q_IB` `(N, 4)`, field `b_I` `(N, 3)`, T, and torquer dipole `dipole_B` `(N, 3)`, A·m²; what is
        constant may be given once.
        """
        return self.start(seed).stream(times, q_IB, b_I, dipole_B)


@on_warm_up
def _warm_up() -> None:
    Magnetometer(MagnetometerConfig(sample_rate_hz=1.0, noise_nT=0.0)).stream([0.0], [0.0, 0.0, 0.0, 1.0], ZERO)
