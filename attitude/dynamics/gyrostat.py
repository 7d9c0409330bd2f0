"""Gyrostat: a carrier with any number of rotors on any axes (MP 2016, section VI).

Two ways to say what the rotors do, one equation. With `p` the total momentum and `ρ = Σ aᵢ wᵢ`:

| `rotors`       | `wᵢ`                                      | carrier inertia   | input of a step           |
|----------------|-------------------------------------------|-------------------|---------------------------|
| `"driven"`     | absolute axial momentum `I_r(ω_r + a·ω)`  | `I − Σ I_r a aᵀ`  | motor torque `uᵢ = ẇᵢ`    |
| `"prescribed"` | momentum relative to the body, `I_r ω_r`  | `I`               | `wᵢ` at the step's end    |

Either way `p = I_carrier ω + ρ`, the rotors' momentum changes linearly over a step, and the step uses its mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array
from attitude.dynamics.rigid_body import RigidBody

DRIVEN, PRESCRIBED = "driven", "prescribed"


@dataclass(frozen=True, eq=False)
class Wheel:
    """Rotor on the axis `axis` `(3,)` (body axes, normalised here) with the axial inertia `inertia`, kg·m²."""

    axis: ArrayLike
    inertia: float

    def __post_init__(self) -> None:
        axis = checks.unit_axis(self.axis, "wheel axis")
        axis.setflags(write=False)
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "inertia", checks.positive(self.inertia, "wheel inertia"))


@dataclass(frozen=True, eq=False)
class Gyrostat(RigidBody):
    """Body with rotors; `inertia` is that of the whole, rotors included and locked (`I_G` of MP 2016, eq. (44))."""

    wheels: Sequence[Wheel] = ()
    rotors: str = DRIVEN

    def __post_init__(self) -> None:
        wheels = tuple(self.wheels) if isinstance(self.wheels, list | tuple) else (None,)
        if not all(isinstance(wheel, Wheel) for wheel in wheels):
            raise ValueError(f"wheels must be a list of Wheel(axis, inertia), got {self.wheels!r}")
        if not isinstance(self.rotors, str) or self.rotors not in (DRIVEN, PRESCRIBED):
            raise ValueError(f'rotors must be "{DRIVEN}" or "{PRESCRIBED}", got {self.rotors!r}')
        self._set(wheels=wheels)
        super().__post_init__()

    def carrier_inertia(self) -> Array:
        """`I − Σ I_r a aᵀ` for driven rotors, the whole inertia for prescribed ones, kg·m²."""
        if self.rotors == PRESCRIBED:
            return np.asarray(self.inertia)
        axes = self.rotor_axes
        carrier = np.asarray(self.inertia) - (axes * self.rotor_inertias) @ axes.T
        moments = np.linalg.eigvalsh(carrier)
        if moments[0] <= 0.0:
            raise ValueError(
                "inertia must include the wheels: inertia minus the wheels' axial inertias must stay positive "
                f"definite, got eigenvalues {moments.tolist()}"
            )
        return np.asarray(carrier)

    @property
    def rotor_axes(self) -> Array:
        """Spin axes in body axes, `(3, W)`."""
        return np.array([wheel.axis for wheel in self.wheels]).reshape(-1, 3).T.copy()

    @property
    def rotor_inertias(self) -> Array:
        """Axial inertias `(W,)`, kg·m²."""
        return np.array([wheel.inertia for wheel in self.wheels])

    def rotor_momentum_at_rest(self, omega: Array) -> Array:
        """Momentum `(W,)` of rotors that do not turn relative to the body, N·m·s."""
        if self.rotors == PRESCRIBED:
            return np.zeros(len(self.wheels))
        return np.asarray(self.rotor_inertias * (omega @ self.rotor_axes))

    def rotor_energy(self, omega: Array, rotor_momentum: Array) -> Array:
        """`½ Σ w²/I_r`, plus `ω·ρ` where `w` is relative, J."""
        spin = 0.5 * np.sum(rotor_momentum**2 / self.rotor_inertias, axis=-1)
        if self.rotors == DRIVEN:
            return np.asarray(spin)
        return np.asarray(spin + np.sum(omega * (rotor_momentum @ self.rotor_axes.T), axis=-1))
