"""Magnetic momentum dumping: the cross-product law (Camillo and Markley 1980), with hysteresis.

The dipole `m = k/|B|² (Δh × B)` gives the torque `−k Δh⊥`, across the field, where `Δh` is the wheels' momentum less
its target. The attitude loop holds the body against it and so unloads the wheels. What lies along the field waits until
the field has turned. State `(1,)`: 1 while dumping, else 0.
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
NO_FIELD = 1  # field or momentum not finite, or no field


class DumpingParameters(NamedTuple):
    """What the kernel takes: gain 1/s; target `(3,)`, start and stop, N·m·s."""

    gain: float
    target: Array
    start: float
    stop: float


@kernel
def dumping_kernel(
    parameters: DumpingParameters, state: Array, rotor_momentum_B: Array, field_B: Array, dipole_B: Array
) -> int:
    """Dipole `(3,)`, A·m², that unloads the wheels' momentum `(3,)`, N·m·s, body axes; zero while there is no need."""
    p = parameters
    h1, h2, h3 = (
        rotor_momentum_B[0] - p.target[0], rotor_momentum_B[1] - p.target[1], rotor_momentum_B[2] - p.target[2],
    )  # fmt: skip
    b1, b2, b3 = field_B[0], field_B[1], field_B[2]
    square, excess = b1 * b1 + b2 * b2 + b3 * b3, math.sqrt(h1 * h1 + h2 * h2 + h3 * h3)
    dipole_B[0] = dipole_B[1] = dipole_B[2] = 0.0
    if not (0.0 < square < math.inf and math.isfinite(excess)):
        return NO_FIELD
    if excess >= p.start:
        state[0] = 1.0
    elif excess <= p.stop:
        state[0] = 0.0
    k = state[0] * p.gain / square
    dipole_B[0], dipole_B[1], dipole_B[2] = k * (h2 * b3 - h3 * b2), k * (h3 * b1 - h1 * b3), k * (h1 * b2 - h2 * b1)
    return OK


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentumDumping:
    """Dumping law: `time_constant_s` of the unloading across the field.

    Dumping starts when the momentum is `start_Nms` away from `target_Nms` `(3,)`, body axes, and stops at `stop_Nms`.
    """

    time_constant_s: float
    target_Nms: ArrayLike = (0.0, 0.0, 0.0)
    start_Nms: float = 0.0
    stop_Nms: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(self.time_constant_s, "time_constant_s")
        object.__setattr__(self, "target_Nms", checks.array(self.target_Nms, "target_Nms", (3,)))
        start, stop = checks.not_negative(self.start_Nms, "start_Nms"), checks.not_negative(self.stop_Nms, "stop_Nms")
        if stop > start:
            raise ValueError(f"stop_Nms must not be above start_Nms = {start}, got {stop}")

    def parameters(self) -> DumpingParameters:
        """Fresh arrays and numbers for the kernel."""
        return DumpingParameters(
            1.0 / float(self.time_constant_s), np.array(self.target_Nms), float(self.start_Nms), float(self.stop_Nms)
        )

    def initial_state(self) -> Array:
        """Not dumping, `(1,)`."""
        return np.zeros(1)

    def dipole(self, state: Array, rotor_momentum_B: ArrayLike, field_B: ArrayLike) -> Array:
        """Dipole `(3,)`, A·m², body axes, from the wheels' momentum in N·m·s and the field in T."""
        out, momentum = np.empty(3), checks.array(rotor_momentum_B, "rotor_momentum_B", (3,))
        field = checks.array(field_B, "field_B", (3,))
        if dumping_kernel(self.parameters(), state, momentum, field, out) == NO_FIELD:
            raise ValueError("field_B must not be zero")
        return out


@on_warm_up
def _warm_up() -> None:
    law = MomentumDumping(time_constant_s=1.0)
    law.dipole(law.initial_state(), np.zeros(3), np.ones(3))
