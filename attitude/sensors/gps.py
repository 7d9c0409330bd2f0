"""GPS receiver: position and velocity, in whatever frame the truth is given in.

The error of a position is white noise plus a part that stays for minutes (orbits, clocks, ionosphere): a first-order
Gauss–Markov process, stationary from the start, and a constant one (antenna offset). There is no unbounded walk.

| field                                      | meaning                                                    | unit   |
| ------------------------------------------ | ---------------------------------------------------------- | ------ |
| `position_noise_m`                         | white noise of a position, 1σ of each axis                 | m      |
| `velocity_noise_m_per_s`                   | white noise of a velocity, 1σ of each axis                 | m/s    |
| `correlated_error_m`, `correlation_time_s` | 1σ of each axis, and correlation time, of the lasting part | m, s   |
| `turn_on_bias_m`                           | constant part, 1σ of each axis                             | m      |
| `position_lsb_m`, `velocity_lsb_m_per_s`   | one LSB                                                    | m, m/s |
| `range_m`                                  | largest component of a position that can be sent, ±        | m      |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.sensors.base import Sensor, SensorConfig, Stream
from attitude.sensors.errors import (
    DELIVERED,
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

POSITION = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
VELOCITY = 1.0 - POSITION


@dataclass(frozen=True, kw_only=True)
class GpsFault(Fault):
    """Fault of a GPS receiver; `size_m` of a spike or a jump of the position.

    Channels 0 to 2 are the position, 3 to 5 the velocity, which can be stuck or dead only.
    """

    size_m: float = 0.0

    size_field: ClassVar[str] = "size_m"
    size_unit: ClassVar[float] = 1.0


@dataclass(frozen=True, kw_only=True)
class GpsConfig(SensorConfig):
    """GPS receiver, see the module."""

    position_noise_m: float
    velocity_noise_m_per_s: float
    correlated_error_m: float = 0.0
    correlation_time_s: float = 600.0
    turn_on_bias_m: float = 0.0
    position_lsb_m: float = 0.0
    velocity_lsb_m_per_s: float = 0.0
    range_m: float = math.inf
    faults: tuple[GpsFault, ...] = ()

    fault_type: ClassVar[type[Fault]] = GpsFault
    noise_names: ClassVar[tuple[str, ...]] = (
        "position_noise_m", "velocity_noise_m_per_s", "correlated_error_m", "turn_on_bias_m", "position_lsb_m",
        "velocity_lsb_m_per_s",
    )  # fmt: skip
    limit_names: ClassVar[tuple[str, ...]] = ("range_m",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(correlation_time_s=checks.positive(self.correlation_time_s, "correlation_time_s"))

    def fault_channels(self) -> tuple[int, int]:
        """Sizes are of positions; each component can be stuck or dead."""
        return 3, 6

    def parameters(self) -> GpsParameters:
        """For `gps_kernel`, SI units."""
        limit = np.where(POSITION > 0.0, self.range_m, math.inf)
        errors = self._errors(
            weights=POSITION,
            white=self.position_noise_m * POSITION + self.velocity_noise_m_per_s * VELOCITY,
            walk_per_sqrt_s=np.zeros(6),
            markov=np.full(3, self.correlated_error_m),
            markov_time=self.correlation_time_s,
            step=self.position_lsb_m * POSITION + self.velocity_lsb_m_per_s * VELOCITY,
            low=-limit, high=limit, values=6, constants=0,
        )  # fmt: skip
        return GpsParameters(errors)

    def initial_state(self, generator: np.random.Generator) -> Array:
        """State before the first sample, with this run's constant and lasting errors."""
        z = generator.standard_normal((2, 3))
        bias = np.concatenate([self.turn_on_bias_m * z[0], np.zeros(3)])
        return start_state(self.parameters().errors, bias, self.correlated_error_m * z[1], np.zeros(0))


class GpsParameters(NamedTuple):
    """Parameters of `gps_kernel`."""

    errors: ErrorParameters


@kernel
def gps_kernel(
    p: GpsParameters, state: Array, t: float, r: Array, v: Array, normals: Array, row: int, out: Array
) -> int:
    """One call at `t`: `out = [time tag, valid, position (3) m, velocity (3) m/s]`, in the frame of `r` and `v`."""
    e = p.errors
    steps = due(e, state, t)
    if steps < 0.0:
        return deliver(e, state, t, out)
    z = normals[row]
    y = state[e.reading_at : e.held_at]
    for i in range(3):
        y[i], y[3 + i] = r[i], v[i]
    disturb(e, state, t, steps, z)
    valid = hold(e, state, t, 1.0)
    post(e, state, t, valid, z)
    return SAMPLED | deliver(e, state, t, out)


@kernel
def _run(
    p: GpsParameters, state: Array, times: Array, r: Array, v: Array, normals: Array, row: int, out: Array, rows: Array
) -> tuple[int, int]:
    """`gps_kernel` at all times; count of the rows that came out, and the next row of normals."""
    count = 0
    for k in range(times.size):
        status = gps_kernel(p, state, times[k], r[k], v[k], normals, row, out)
        row += status & SAMPLED
        if status & DELIVERED:
            record(times[k], out, rows[count])
            count += 1
    return count, row


class Gps(Sensor):
    """GPS receiver; values are position, m, and velocity, m/s, in the frame of the truth."""

    truth: ClassVar = {"r": (3,), "v": (3,)}
    _run: ClassVar[Any] = staticmethod(_run)

    def __init__(self, config: GpsConfig, name: str = "gps") -> None:
        super().__init__(config, name)

    def stream(self, times: ArrayLike, r: ArrayLike, v: ArrayLike, *, seed: int = 0) -> Stream:
        """Samples of a new run at `times` `(N,)`, s, for position `r` `(N, 3)`, m, and velocity `v` `(N, 3)`, m/s."""
        return self.start(seed).stream(times, r, v)


@on_warm_up
def _warm_up() -> None:
    config = GpsConfig(sample_rate_hz=1.0, position_noise_m=0.0, velocity_noise_m_per_s=0.0)
    Gps(config).stream([0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
