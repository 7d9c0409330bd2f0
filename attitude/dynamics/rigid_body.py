"""The rigid body, and the base of every other body: an inertia and its principal axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.jit import Array


@dataclass(frozen=True, eq=False)
class RigidBody:
    """Rigid body with a 3×3 inertia in body axes about its centre of mass, kg·m² (MP 2016, section V).

    The integrator runs in principal axes: `q_BP` turns principal axes into body axes, and `moments` are the
    principal moments of the carrier (without rotors, they are those of the whole body).
    """

    damper_inertia: ClassVar[float] = 0.0
    damping: ClassVar[float] = 0.0

    inertia: ArrayLike
    moments: Array = field(init=False, repr=False)
    q_BP: Array = field(init=False, repr=False)
    R_BP: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._set(inertia=_frozen(checks.inertia(self.inertia)))
        moments, R_BP = checks.principal_axes(self.carrier_inertia())
        q_BP = np.array(quaternion.from_matrix(R_BP))
        self._set(moments=_frozen(moments), R_BP=_frozen(R_BP), q_BP=_frozen(q_BP))

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def carrier_inertia(self) -> Array:
        """Inertia that multiplies the body's rate in the momentum `p = I ω + ρ`, body axes, kg·m²."""
        return np.asarray(self.inertia)

    @property
    def rotor_axes(self) -> Array:
        """Spin axes of the rotors in body axes, `(3, W)`; a rigid body has none."""
        return np.zeros((3, 0))

    def rotor_momentum_at_rest(self, omega: Array) -> Array:
        """Momentum `(W,)` of rotors that do not turn relative to the body, N·m·s."""
        return np.zeros(self.rotor_axes.shape[1])

    def rotor_energy(self, omega: Array, rotor_momentum: Array) -> Array:
        """What the rotors add to `½ ω·I ω` of the carrier, J; `omega` `(N, 3)`, `rotor_momentum` `(N, W)`."""
        return np.zeros(omega.shape[0])


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
