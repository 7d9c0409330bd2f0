"""Detumbling by magnetorquers: B-dot from differences of the measured field, and a law on the measured rate.

Both aim at the torque `−k (ω − b b·ω)`, `b` the direction of the field, which takes energy as long as the rate is not
along the field:

    rate     m = k/|B|² (ω × B)            B-dot     m = −k/|B|² Ḃ,   Ḃ ≈ −ω × B in body axes

with the gain `k = 2 n (1 + sin ξ) J_min`, N·m·s, of Avanzini and Giulietti 2012 (n mean motion, ξ inclination of the
orbit to the geomagnetic equator). State of B-dot `(8,)`: the last field `[0:3]`, T; its time `[3]`, s; whether there is
one `[4]`; the filtered derivative `[5:8]`, T/s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up

OK = 0
NO_FIELD = 1  # the sample is not finite, or zero
NO_DIFFERENCE = 2  # no earlier sample near enough in time
STATE = 8


class DetumbleParameters(NamedTuple):
    """What the kernels take: gain N·m·s, the filter's time constant and the longest gap between samples, s."""

    gain: float
    time_constant: float
    max_gap: float


@kernel
def _square(v: Array) -> float:
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


@kernel
def _off(dipole_B: Array) -> None:
    dipole_B[0] = dipole_B[1] = dipole_B[2] = 0.0


@kernel
def rate_detumble_kernel(parameters: DetumbleParameters, omega_B: Array, field_B: Array, dipole_B: Array) -> int:
    """Dipole `(3,)`, A·m², from the measured rate, rad/s, and field, T; zero with a status where there is none."""
    square = _square(field_B)
    if not (0.0 < square < math.inf and math.isfinite(_square(omega_B))):
        _off(dipole_B)
        return NO_FIELD
    k = parameters.gain / square
    w1, w2, w3, b1, b2, b3 = omega_B[0], omega_B[1], omega_B[2], field_B[0], field_B[1], field_B[2]
    dipole_B[0], dipole_B[1], dipole_B[2] = k * (w2 * b3 - w3 * b2), k * (w3 * b1 - w1 * b3), k * (w1 * b2 - w2 * b1)
    return OK


@kernel
def bdot_kernel(parameters: DetumbleParameters, state: Array, field_B: Array, t: float, dipole_B: Array) -> int:
    """Dipole `(3,)`, A·m², from a new sample of the field at the time `t`; feed it quiet samples only.

    A sample too late after the last one (a fast tumble would alias) or none at all gives no dipole, and a status.
    """
    square = _square(field_B)
    _off(dipole_B)
    if not 0.0 < square < math.inf:
        return NO_FIELD
    gap = t - state[3]
    near = state[4] != 0.0 and 0.0 < gap <= parameters.max_gap
    # a low-pass of the derivative, exact for samples at any spacing
    blend = 1.0 if parameters.time_constant == 0.0 else -math.expm1(-gap / parameters.time_constant)
    for i in range(3):
        slope = state[5 + i] + blend * ((field_B[i] - state[i]) / gap - state[5 + i]) if near else 0.0
        state[i], state[5 + i] = field_B[i], slope
        dipole_B[i] = -parameters.gain / square * slope
    state[3], state[4] = t, 1.0
    return OK if near else NO_DIFFERENCE


def detumble_gain(inertia_kg_m2: ArrayLike, period_s: float, inclination_deg: float) -> float:
    """`k = 2 n (1 + sin ξ) J_min`, N·m·s, for an orbit of the given period and geomagnetic inclination."""
    least = float(np.linalg.eigvalsh(checks.inertia(inertia_kg_m2, "inertia_kg_m2"))[0])
    tilt = checks.number(inclination_deg, "inclination_deg")
    if not 0.0 <= tilt <= 180.0:
        raise ValueError(f"inclination_deg must be from 0 to 180, got {tilt}")
    return 4.0 * math.pi / checks.positive(period_s, "period_s") * (1.0 + math.sin(math.radians(tilt))) * least


@dataclass(frozen=True, kw_only=True, eq=False)
class Detumble:
    """Detumbling law: `gain_Nms` (see `detumble_gain`); for B-dot a low-pass and the longest gap between samples."""

    gain_Nms: float
    filter_time_constant_s: float = 0.0
    max_gap_s: float = 10.0

    def __post_init__(self) -> None:
        checks.positive(self.gain_Nms, "gain_Nms")
        checks.not_negative(self.filter_time_constant_s, "filter_time_constant_s")
        checks.positive(self.max_gap_s, "max_gap_s")

    def parameters(self) -> DetumbleParameters:
        """Numbers for the kernels."""
        return DetumbleParameters(float(self.gain_Nms), float(self.filter_time_constant_s), float(self.max_gap_s))

    def initial_state(self) -> Array:
        """State of B-dot before the first sample, `(8,)`."""
        return np.zeros(STATE)

    def from_rate(self, omega_B: ArrayLike, field_B: ArrayLike) -> Array:
        """Dipole `(3,)`, A·m², from the rate in rad/s and the field in T, body axes."""
        out, omega = np.empty(3), checks.array(omega_B, "omega_B", (3,))
        if rate_detumble_kernel(self.parameters(), omega, checks.array(field_B, "field_B", (3,)), out) == NO_FIELD:
            raise ValueError("field_B must not be zero")
        return out

    def from_field(self, state: Array, field_B: ArrayLike, t: float) -> Array:
        """Dipole `(3,)`, A·m², by B-dot from the next sample of the field; `state` `(8,)` moves on in place."""
        out, field = np.empty(3), checks.array(field_B, "field_B", (3,))
        if bdot_kernel(self.parameters(), state, field, checks.number(t, "t"), out) == NO_FIELD:
            raise ValueError("field_B must not be zero")
        return out


@on_warm_up
def _warm_up() -> None:
    law = Detumble(gain_Nms=1.0)
    law.from_rate(np.zeros(3), np.ones(3))
    law.from_field(law.initial_state(), np.ones(3), 0.0)
