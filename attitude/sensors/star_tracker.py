"""Star tracker: the attitude, with different noise across and about its boresight, the z axis of the sensor.

    q = q_IB ⊗ q_BS ⊗ exp(e_S) ⊗ q_BS†        e_S: misalignment + drift + noise + faults, sensor axes

Not valid while the Sun is within the exclusion angle of the boresight and not eclipsed, or the body turns faster than
the limit. A constant rotation is a misalignment here; there is no separate turn-on bias, no scale factor and no range.

| field                          | meaning                                            | SI, with                    |
| ------------------------------ | -------------------------------------------------- | --------------------------- |
| `noise_cross_arcsec`           | white noise of one sample across the boresight, 1σ | rad: × π/180 / 3600         |
| `noise_roll_arcsec`            | white noise of one sample about the boresight, 1σ  | rad: × π/180 / 3600         |
| `misalignment_arcsec`          | rotation of the sensor, 1σ about each axis         | rad: × π/180 / 3600         |
| `bias_walk_arcsec_per_sqrt_hr` | random walk of that rotation                       | rad/√s: × π/180 / 3600 / 60 |
| `quaternion_lsb`               | one LSB of a component of the quaternion           | 1                           |
| `sun_exclusion_deg`            | least angle between boresight and Sun, °           | rad: × π/180                |
| `max_rate_deg_per_s`           | largest body rate, °/s                             | rad/s: × π/180              |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.core.quaternion import exp_kernel, product_xyzw, rotate_xyz
from attitude.sensors.base import Sensor, SensorConfig, Stream, angle, as_tuple
from attitude.sensors.errors import (
    ARCSEC,
    DEGREE,
    DELIVERED,
    PER_SQRT_HR,
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


@dataclass(frozen=True, kw_only=True)
class StarTrackerFault(Fault):
    """Fault of a star tracker; `size_arcsec` of a spike or a jump; channel 0 to 2 is a rotation about a sensor axis.

    Stuck or dead it is as a whole.
    """

    size_arcsec: float = 0.0

    size_field: ClassVar[str] = "size_arcsec"
    size_unit: ClassVar[float] = ARCSEC


@dataclass(frozen=True, kw_only=True)
class StarTrackerConfig(SensorConfig):
    """Star tracker, see the module; `q_BS` turns sensor axes into body axes, the boresight is the sensor's z."""

    q_BS: tuple[float, float, float, float]
    noise_cross_arcsec: float
    noise_roll_arcsec: float
    sun_exclusion_deg: float
    max_rate_deg_per_s: float
    misalignment_arcsec: float = 0.0
    bias_walk_arcsec_per_sqrt_hr: float = 0.0
    quaternion_lsb: float = 0.0
    faults: tuple[StarTrackerFault, ...] = ()

    fault_type: ClassVar[type[Fault]] = StarTrackerFault
    noise_names: ClassVar[tuple[str, ...]] = (
        "noise_cross_arcsec", "noise_roll_arcsec", "misalignment_arcsec", "bias_walk_arcsec_per_sqrt_hr",
        "quaternion_lsb",
    )  # fmt: skip
    limit_names: ClassVar[tuple[str, ...]] = ("max_rate_deg_per_s",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quaternion_lsb > 0.5:  # the largest component, at least 1/2, must not vanish
            raise ValueError(f"quaternion_lsb must be at most 0.5, got {self.quaternion_lsb}")
        self._set(
            q_BS=as_tuple(checks.unit_quaternion(self.q_BS, "q_BS")),
            sun_exclusion_deg=angle(self.sun_exclusion_deg, "sun_exclusion_deg", 180.0),
        )

    def fault_channels(self) -> tuple[int, int]:
        """Errors are about three axes; a quaternion is stuck or dead as a whole."""
        return 3, 0

    def parameters(self) -> StarTrackerParameters:
        """For `star_tracker_kernel`, SI units."""
        none = np.full(3, math.inf)
        errors = self._errors(
            white=np.array([self.noise_cross_arcsec, self.noise_cross_arcsec, self.noise_roll_arcsec]) * ARCSEC,
            walk_per_sqrt_s=np.full(3, self.bias_walk_arcsec_per_sqrt_hr * ARCSEC * PER_SQRT_HR),
            step=np.zeros(3), low=-none, high=none, values=4, constants=0,
        )  # fmt: skip
        cosine, limit = math.cos(self.sun_exclusion_deg * DEGREE), self.max_rate_deg_per_s * DEGREE
        return StarTrackerParameters(errors, np.array(self.q_BS), cosine, limit, self.quaternion_lsb)

    def initial_state(self, generator: np.random.Generator) -> Array:
        """State before the first sample, with this run's misalignment."""
        misalignment = self.misalignment_arcsec * ARCSEC * generator.standard_normal(3)
        return start_state(self.parameters().errors, misalignment, np.zeros(0), np.zeros(0))


class StarTrackerParameters(NamedTuple):
    """Parameters of `star_tracker_kernel`."""

    errors: ErrorParameters
    q_BS: Array
    cosine_exclusion: float
    max_rate: float
    lsb: float


@kernel
def tracks(p: StarTrackerParameters, q_IB: Array, omega_B: Array, sun_I: Array, sunlight: float) -> float:
    """1 if the stars can be seen, else 0: slow enough, and the Sun away from the boresight or eclipsed."""
    w1, w2, w3 = omega_B[0], omega_B[1], omega_B[2]
    if not math.sqrt(w1 * w1 + w2 * w2 + w3 * w3) <= p.max_rate:
        return 0.0
    s1, s2, s3 = sun_I[0], sun_I[1], sun_I[2]
    norm = math.sqrt(s1 * s1 + s2 * s2 + s3 * s3)
    b1, b2, b3 = rotate_xyz(p.q_BS[0], p.q_BS[1], p.q_BS[2], p.q_BS[3], 0.0, 0.0, 1.0)
    b1, b2, b3 = rotate_xyz(q_IB[0], q_IB[1], q_IB[2], q_IB[3], b1, b2, b3)
    return 1.0 if sunlight <= 0.0 or b1 * s1 + b2 * s2 + b3 * s3 < p.cosine_exclusion * norm else 0.0


@kernel
def disturbed_attitude(q_IB: Array, q_BS: Array, lsb: float, y: Array) -> None:
    """`q_IB ⊗ q_BS ⊗ exp(y) ⊗ q_BS†` into `y` `(4,)`, its components rounded to `lsb`, normalised."""
    exp_kernel(y, y)
    a, b, c, d = product_xyzw(q_BS[0], q_BS[1], q_BS[2], q_BS[3], y[0], y[1], y[2], y[3])
    a, b, c, d = product_xyzw(a, b, c, d, -q_BS[0], -q_BS[1], -q_BS[2], q_BS[3])
    y[0], y[1], y[2], y[3] = product_xyzw(q_IB[0], q_IB[1], q_IB[2], q_IB[3], a, b, c, d)
    square = 0.0
    for i in range(4):
        if lsb > 0.0:
            y[i] = lsb * math.floor(y[i] / lsb + 0.5)
        square += y[i] * y[i]
    for i in range(4):
        y[i] /= math.sqrt(square)


@kernel
def star_tracker_kernel(
    p: StarTrackerParameters, state: Array, t: float, q_IB: Array, omega_B: Array, sun_I: Array, sunlight: float,
    normals: Array, row: int, out: Array,
) -> int:  # fmt: skip
    """One call at `t`: `out = [time tag, valid, q_IB (4)]`; rate `omega_B` rad/s, `sun_I`, `sunlight` 0 to 1."""
    e = p.errors
    steps = due(e, state, t)
    if steps < 0.0:
        return deliver(e, state, t, out)
    z = normals[row]
    y = state[e.reading_at : e.held_at]
    y[0], y[1], y[2] = 0.0, 0.0, 0.0
    disturb(e, state, t, steps, z)
    disturbed_attitude(q_IB, p.q_BS, p.lsb, y)
    valid = hold(e, state, t, tracks(p, q_IB, omega_B, sun_I, sunlight))
    post(e, state, t, valid, z)
    return SAMPLED | deliver(e, state, t, out)


@kernel
def _run(
    p: StarTrackerParameters, state: Array, times: Array, q_IB: Array, omega_B: Array, sun_I: Array, sunlight: Array,
    normals: Array, row: int, out: Array, rows: Array,
) -> tuple[int, int]:  # fmt: skip
    """`star_tracker_kernel` at all times; count of the rows that came out, and the next row of normals."""
    count = 0
    for k in range(times.size):
        status = star_tracker_kernel(
            p, state, times[k], q_IB[k], omega_B[k], sun_I[k], sunlight[k], normals, row, out
        )
        row += status & SAMPLED
        if status & DELIVERED:
            record(times[k], out, rows[count])
            count += 1
    return count, row


class StarTracker(Sensor):
    """Star tracker; values are the attitude `q_IB`, body axes to inertial axes, with the sign of the true one."""

    truth: ClassVar = {"q_IB": (4,), "omega_B": (3,), "sun_I": (3,), "sunlight": ()}
    _run: ClassVar[Any] = staticmethod(_run)

    def __init__(self, config: StarTrackerConfig, name: str = "star_tracker") -> None:
        super().__init__(config, name)

    def stream(
        self, times: ArrayLike, q_IB: ArrayLike, omega_B: ArrayLike, sun_I: ArrayLike, sunlight: ArrayLike = 1.0, *,
        seed: int = 0,
    ) -> Stream:  # fmt: skip
        """Samples of a new run at `times` `(N,)`, s.

        Attitude `q_IB` `(N, 4)`, rate `omega_B` `(N, 3)`, rad/s, direction to the Sun `sun_I` `(N, 3)`, and fraction
        of full sunlight `sunlight` `(N,)`; what is constant may be given once.
        """
        return self.start(seed).stream(times, q_IB, omega_B, sun_I, sunlight)


@on_warm_up
def _warm_up() -> None:
    config = StarTrackerConfig(
        sample_rate_hz=1.0, q_BS=(0.0, 0.0, 0.0, 1.0), noise_cross_arcsec=0.0, noise_roll_arcsec=0.0,
        sun_exclusion_deg=30.0, max_rate_deg_per_s=1.0,
    )  # fmt: skip
    StarTracker(config).stream([0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
