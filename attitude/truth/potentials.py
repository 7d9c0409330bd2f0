"""Lagrangian and Hamiltonian dynamics on SO(3)ⁿ for any potential U(R) (LLM book, chapter 6).

| system           | potential                                     | conserved                                   |
|------------------|-----------------------------------------------|---------------------------------------------|
| `FreeRotation`   | 0                                             | energy, momentum in inertial axes           |
| `Pendulum`       | `−m g e3ᵀRρ0`                                 | energy, vertical momentum, (spin of a top)  |
| `OrbitingBody`   | `(3/2) ω0² γᵀJγ`, `γ = R_blᵀe3`, orbit frame  | Jacobi integral, (spin of a symmetric body) |
| `CoupledBodies`  | `Σ_{i<j} K_ij tr(1 − R_iᵀR_j)`                | energy, total momentum                      |
| `UserPotential`  | anything that numba can compile               | energy (Jacobi integral), if given          |
| `PlanarPendulum` | `−m g e3ᵀRρ0` on a hinge, reduced to S¹       | energy                                      |

Every system has the discrete flow (`run`), the continuous right-hand sides (`hamilton`, `euler_lagrange`), its
conserved quantities and its equilibria with their linearisation. Axes of the orbit frame: 1 along the track, 2 normal
to the orbit, 3 radial, outward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any, ClassVar

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.jit import Array
from attitude.truth import potentials_kernels as kernels
from attitude.truth.potentials_linear import Equilibrium, equilibrium, linearisation, moment_gradient, residual
from attitude.truth.potentials_planar import PlanarMotion, PlanarPendulum
from attitude.truth.potentials_steady import steady_directions
from attitude.truth.potentials_system import External, Motion, System

__all__ = [
    "CoupledBodies", "Equilibrium", "External", "FreeRotation", "Motion", "OrbitingBody", "Pendulum", "PlanarMotion",
    "PlanarPendulum", "System", "UserPotential", "concentric_shells", "equilibrium", "linearisation",
    "moment_gradient", "residual",
]  # fmt: skip

SYMMETRIC = 1e-12  # relative: inertia about an axis that counts as axisymmetric


def attitude_with(b_B: Array, v: Array) -> Array:
    """A quaternion with `R b = v` for unit vectors, the shortest such rotation."""
    w = 1.0 + float(b_B @ v)
    if w < 1e-9:  # opposite: half a turn about any axis across b
        across = np.cross(b_B, np.eye(3)[np.argmin(np.abs(b_B))])
        return np.append(across / np.linalg.norm(across), 0.0)
    return quaternion.normalise(np.append(np.cross(b_B, v), w))


def _is_symmetry_axis(J: Array, axis: Array) -> bool:
    """Whether the inertia is the same about every direction across `axis` (unit)."""
    across = J - (axis @ J @ axis) * np.outer(axis, axis)
    rest = across - 0.5 * np.trace(across) * (np.eye(3) - np.outer(axis, axis))
    return bool(np.abs(rest).max() <= SYMMETRIC * np.abs(J).max())


# ------------------------------------------------------------------ free body, 6.6.1
@dataclass(frozen=True, kw_only=True, eq=False)
class FreeRotation(System):
    """Bodies without a potential, each by itself."""

    def symmetries(self, R: Array, Pi: Array) -> dict[str, Array]:
        """Momentum of each body in inertial axes `(…, n, 3)`."""
        return {"inertial momentum": np.einsum("...nij,...nj->...ni", R, Pi)}

    def relative_equilibria(self, rate: float) -> list[Equilibrium]:
        """Steady spins at ± `rate`, rad/s, about the principal axes (problem 6.8), one body without `a`."""
        if not self.single or self.a.any():
            raise ValueError("relative_equilibria needs one body without internal momentum")
        identity, speed = np.array([0.0, 0.0, 0.0, 1.0]), checks.positive(rate, "rate")
        return [
            equilibrium(self, f"axis {i + 1}, {sign:+d}", identity, self.momentum(sign * speed * self.axes[0, :, i]))
            for i, sign in product(range(3), (1, -1))
        ]


# ------------------------------------------------------------------ three-dimensional pendulum, 6.6.2
@dataclass(frozen=True, kw_only=True, eq=False)
class Pendulum(System):
    """Body on a pivot: inertia about the pivot, weight m g in N, `rho0` `(3,)` m from mass centre to pivot.

    Axis 3 of the inertial frame points up. Hanging is `Rᵀe3 = +ρ0/‖ρ0‖` (corrected: the book swaps the two).
    """

    weight: float
    rho0: Array
    kind: ClassVar[int] = kernels.PENDULUM

    def __post_init__(self) -> None:
        """Check the body, its weight and its pivot."""
        super().__post_init__()
        _require_single(self)
        self._set("weight", checks.positive(self.weight, "weight"))
        self._set("rho0", checks.array(self.rho0, "rho0", (3,)))
        checks.unit_axis(self.rho0, "rho0")

    @property
    def parameters(self) -> Array:
        """`m g ρ0`, N·m."""
        return self.weight * self.rho0

    def potential(self, R: Array) -> Array:
        """`−m g e3ᵀRρ0`, J (6.6.2.1)."""
        return np.asarray(-R[..., 0, 2, :] @ self.parameters)

    def symmetries(self, R: Array, Pi: Array) -> dict[str, Array]:
        """Vertical momentum, and for a symmetric top its momentum about the axis, N·m·s."""
        axis = checks.unit_axis(self.rho0, "rho0")
        vertical = np.einsum("...j,...j->...", R[..., 0, 2, :], Pi[..., 0, :])
        top = _is_symmetry_axis(self.inertia, axis) and not np.cross(self.a[0], axis).any()
        return {"vertical momentum": vertical} | ({"spin": Pi[..., 0, :] @ axis} if top else {})

    def equilibria(self) -> list[Equilibrium]:
        """Hanging and inverted, each one point of a circle of attitudes (any turn about the vertical)."""
        axis, rest = checks.unit_axis(self.rho0, "rho0"), self.momentum(np.zeros(3))
        up = np.array([0.0, 0.0, 1.0])
        return [
            equilibrium(self, "hanging", attitude_with(axis, up), rest),
            equilibrium(self, "inverted", attitude_with(-axis, up), rest),
        ]

    def relative_equilibria(self, rate: float) -> list[Equilibrium]:
        """Steady turns `ω = c γ` about the vertical: `(c²Jγ + m g ρ0) × γ = 0` (corrected 6.6.2.4); no `a`."""
        if self.a.any():
            raise ValueError("relative_equilibria needs a body without internal momentum")
        c, up = checks.number(rate, "rate"), np.array([0.0, 0.0, 1.0])
        gammas = steady_directions(c * c * self.moments[0], self.axes[0].T @ self.parameters) @ self.axes[0].T
        return [
            equilibrium(self, f"steady turn {i + 1}", attitude_with(gamma, up), self.momentum(c * gamma))
            for i, gamma in enumerate(gammas)
        ]


# ------------------------------------------------------------------ rigid body in a circular orbit, 6.6.3
@dataclass(frozen=True, kw_only=True, eq=False)
class OrbitingBody(System):
    """Body in a circular orbit of rate ω0, rad/s, under the gravity gradient; `q` is body to orbit frame (`R_bl`)."""

    orbital_rate: float
    kind: ClassVar[int] = kernels.ORBIT

    def __post_init__(self) -> None:
        """Check the body and the orbit."""
        super().__post_init__()
        _require_single(self)
        self._set("orbital_rate", checks.positive(self.orbital_rate, "orbital_rate"))

    @property
    def parameters(self) -> Array:
        """`3 ω0² J`, row by row, N·m."""
        return 3.0 * self.orbital_rate**2 * self.inertia.ravel()

    @property
    def frame_rate(self) -> Array:
        """`ω0 e2`, rad/s."""
        return np.array([0.0, self.orbital_rate, 0.0])

    def potential(self, R: Array) -> Array:
        """`(3/2) ω0² γᵀJγ`, J, up to a constant."""
        gamma = R[..., 0, 2, :]
        return np.asarray(1.5 * self.orbital_rate**2 * np.einsum("...i,ij,...j->...", gamma, self.inertia, gamma))

    def symmetries(self, R: Array, Pi: Array) -> dict[str, Array]:
        """For a symmetric body its momentum about the axis, N·m·s."""
        for axis in self.axes[0].T:
            if _is_symmetry_axis(self.inertia, axis) and not np.cross(self.a[0], axis).any():
                return {"spin": Pi[..., 0, :] @ axis}
        return {}

    def equilibria(self) -> list[Equilibrium]:
        """The 24 attitudes at rest in the orbit frame: principal axes along the frame's axes (corrected 6.6.3.4).

        A name gives the principal axes along the track, along the normal and along the radius, with signs.
        """
        if self.a.any():
            raise ValueError("equilibria needs a body without internal momentum")
        found = []
        for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
            rows = np.array([s * self.axes[0, :, i] for s, i in zip(signs, order, strict=True)])
            if np.linalg.det(rows) > 0.0:
                name = " ".join(f"{s * (i + 1):+d}" for s, i in zip(signs, order, strict=True))
                rate = self.orbital_rate * rows[1]  # ω = ω0 R_blᵀ e2
                found.append(equilibrium(self, name, quaternion.from_matrix(rows), self.momentum(rate)))
        return found

    def libration_frequencies(self) -> Array:
        """Pitch and the two roll–yaw frequencies `(3,)`, rad/s, body axes along the orbit frame, from closed forms.

        `J` must be diagonal; NaN is never returned: an attitude that is not stable is an error.
        """
        if np.count_nonzero(self.inertia - np.diag(np.diagonal(self.inertia))):
            raise ValueError(f"inertia must be diagonal for the closed forms, got {self.inertia.tolist()}")
        J1, J2, J3 = np.diagonal(self.inertia)
        k1, k3, pitch2 = (J2 - J3) / J1, (J2 - J1) / J3, 3.0 * (J1 - J3) / J2
        b, c = 1.0 + 3.0 * k1 + k1 * k3, 4.0 * k1 * k3  # s⁴ + b ω0² s² + c ω0⁴ = 0
        if pitch2 < 0.0 or c < 0.0 or b < 0.0 or b * b < 4.0 * c:
            raise ValueError(f"inertia must make a stable attitude, got the moments {[J1, J2, J3]}")
        root = np.sqrt(b * b - 4.0 * c)
        slow2 = 2.0 * c / (b + root) if c > 0.0 else 0.0  # without the cancellation in b − root
        return self.orbital_rate * np.sqrt([pitch2, slow2, 0.5 * (b + root)])


# ------------------------------------------------------------------ bodies coupled through a potential (6.15, 6.18)
@dataclass(frozen=True, kw_only=True, eq=False)
class CoupledBodies(System):
    """n bodies with `U = Σ_{i<j} K_ij tr(1 − R_iᵀR_j)`; `stiffness` `(n, n)` symmetric, N·m, diagonal unused.

    The sign is corrected: with that of problem 6.15 aligned shells would repel for K > 0.
    """

    stiffness: Array
    kind: ClassVar[int] = kernels.COUPLED

    def __post_init__(self) -> None:
        """Check the bodies and their couplings."""
        super().__post_init__()
        n = len(self.moments)
        K = checks.array(self.stiffness, "stiffness", (n, n))
        if self.single or n < 2:
            raise ValueError(f"inertia must have shape (n, 3, 3) with n of at least 2, got {np.shape(self.inertia)}")
        if not np.array_equal(K, K.T):
            raise ValueError(f"stiffness must be symmetric, got {K.tolist()}")
        self._set("stiffness", K - np.diag(np.diagonal(K)))

    @property
    def parameters(self) -> Array:
        """`K`, row by row, N·m."""
        return self.stiffness.ravel()

    def potential(self, R: Array) -> Array:
        """`Σ_{i<j} K_ij tr(1 − R_iᵀR_j)`, J."""
        traces = np.einsum("...iab,...jab->...ij", R, R)
        return np.asarray(0.5 * np.einsum("ij,...ij->...", self.stiffness, 3.0 - traces))

    def symmetries(self, R: Array, Pi: Array) -> dict[str, Array]:
        """Total momentum in inertial axes `(…, 3)`, N·m·s."""
        return {"total momentum": np.einsum("...nij,...nj->...i", R, Pi)}

    def equilibria(self) -> list[Equilibrium]:
        """All aligned, and for two bodies also half a turn apart (about any axis; here about e1, e2, e3)."""
        n = len(self.moments)
        aligned = np.tile([0.0, 0.0, 0.0, 1.0], (n, 1))
        rest = self.momentum(np.zeros((n, 3)))
        found = [equilibrium(self, "aligned", aligned, rest)]
        if n == 2:
            for i in range(3):
                apart = np.array([aligned[0], np.eye(4)[i]])
                found.append(equilibrium(self, f"half a turn about e{i + 1}", apart, rest))
        return found


def concentric_shells(inertia1: ArrayLike, inertia2: ArrayLike, stiffness: float) -> CoupledBodies:
    """Two shells on one centre with `U = K tr(1 − R1ᵀR2)` (problem 6.15, corrected)."""
    K = checks.positive(stiffness, "stiffness")
    bodies = np.array([checks.array(inertia1, "inertia1", (3, 3)), checks.array(inertia2, "inertia2", (3, 3))])
    return CoupledBodies(inertia=bodies, stiffness=K * np.array([[0.0, 1.0], [1.0, 0.0]]))


# ------------------------------------------------------------------ any potential
@dataclass(frozen=True, kw_only=True, eq=False)
class UserPotential(System):
    """Bodies in a potential of the user's own.

    `moment_function(R, parameters, out)` is compiled by numba: `R` `(n, 3, 3)`, `parameters` `(m,)`; it fills `out`
    `(n, 3)` with `τ = Σ r_i × ∂U/∂r_i` of each body, body axes, N·m (`r_i` the rows of `R`). `energy_function(R,
    parameters)` returns U in J; without it energies are an error. `rotation` is the rate of the reference frame.
    """

    moment_function: Callable[..., Any]
    energy_function: Callable[..., Any] | None = None
    numbers: Array = field(default_factory=lambda: np.zeros(0))
    rotation: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        """Check the bodies and compile the moment by calling it once."""
        super().__post_init__()
        self._set("numbers", checks.array(self.numbers, "numbers", (None,)))
        self._set("rotation", checks.array(self.rotation, "rotation", (3,)))
        self._set("moment_function", kernels.compiled(self.moment_function))
        R, out = np.tile(np.eye(3), (len(self.moments), 1, 1)), np.full((len(self.moments), 3), np.nan)
        try:
            self._moment(R, out)
        except (NumbaError, TypeError) as error:
            raise ValueError(f"moment_function must compile as (R, parameters, out): {error}") from error
        if not np.isfinite(out).all():
            raise ValueError(f"moment_function must fill out with finite numbers, got {out.tolist()} at the identity")

    @property
    def parameters(self) -> Array:
        """The user's numbers."""
        return self.numbers

    @property
    def frame_rate(self) -> Array:
        """Rate of the reference frame, rad/s."""
        return self.rotation

    def potential(self, R: Array) -> Array:
        """The user's U, J, row by row."""
        if self.energy_function is None:
            raise ValueError("energy_function must be given to compute energies, got None")
        rows = np.ascontiguousarray(R).reshape(-1, *R.shape[-3:])
        return np.array([self.energy_function(row, self.numbers) for row in rows]).reshape(R.shape[:-3])

    def _moment(self, R: Array, out: Array) -> None:
        self.moment_function(R, self.numbers, out)

    def _loop(self, external: Callable[..., Any] | None) -> Any:
        return kernels.loop_with(self.moment_function, external)


def _require_single(system: System) -> None:
    if not system.single:
        raise ValueError(f"inertia must have shape (3, 3), got {np.shape(system.inertia)}")
