"""Rigid body described by three orthonormal directors: the standard body and the non-twisting frame.

The configuration is `d1, d2, d3` in inertial axes, stored as the rows of a 3×3 array: the transpose of `R_IB`. With
Euler's inertia `E = ½ tr(J) 1 − J` the kinetic energy is `½ Σ E_ij ḋi·ḋj` (Gebhardt and Romero 2020, eq. 61, 66), the
directors are kept orthonormal by six multipliers, and the non-twisting frame (`ω·d3 = 0`, nonholonomic) needs a
seventh. The multipliers act through one 3×3 matrix `L`: symmetric part orthonormality, skew part no twist.

| scheme                                | one step, rows `D = (d1, d2, d3)`, `D̄ = ½(D + D⁺)`           |
|---------------------------------------|---------------------------------------------------------------|
| energy–momentum, eq. (86), (92)       | `E(D⁺ − D) + L D̄ − (h²/2) F(D̄) = h E Ḋ`                       |
|                                       | `Ḋ⁺ = (2/h)(D⁺ − D) − Ḋ`                                      |
| Lagrange–d'Alembert, eq. (124), (125) | `E(D⁺ − D) + L D − (h²/2) F(D̄) = E(D − D⁻) + (h²/2) F(D̄⁻)`    |
|                                       | first step: right side `h E Ḋ`                                |

Both with `D⁺` orthonormal and, without twist, `d2·d1⁺ = d1·d2⁺`. Where we differ from the print: six orthonormality
constraints instead of the three of (62)–(63), and the arguments of (124a) as (125) defines them. The free parameter
`a` of (80) only moves a force between `λ` and `μ`; here it is ½.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.errors import StepError
from attitude.core.jit import Array
from attitude.truth.directors_kernels import run_energy_momentum, run_lagrange_dalembert, workspace

Moment: TypeAlias = ArrayLike | Callable[[Array], ArrayLike]

START_TOLERANCE = 1e-10  # relative miss of a constraint that a start may have: rounded input, far below h²
SPLIT_TOLERANCE = 1e-12  # relative size of J13, J23 and of asymmetry that counts as zero


# ------------------------------------------------------------------ checks at the door
def _check_inertia(J: Array) -> None:
    scale = float(np.max(np.abs(J)))
    if np.max(np.abs(J - J.T)) > SPLIT_TOLERANCE * scale:
        raise ValueError(f"inertia must be symmetric, got {J.tolist()}")
    if max(abs(J[0, 2]), abs(J[1, 2])) > SPLIT_TOLERANCE * scale:
        raise ValueError(f"inertia must split along d3 (J13 = J23 = 0), got J13 = {J[0, 2]}, J23 = {J[1, 2]}")
    moments = np.linalg.eigvalsh(J)
    if moments[0] <= 0.0 or moments[2] >= moments[0] + moments[1]:
        raise ValueError(
            "inertia must have positive principal moments, each below the sum of the other two, "
            f"got {moments.tolist()}"
        )


def _check_run(h: float, steps: int) -> None:
    if not (np.isfinite(h) and h > 0.0):
        raise ValueError(f"h must be a positive time in seconds, got {h}")
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
        raise ValueError(f"steps must be a positive integer, got {steps!r}")


def _check_start(start: DirectorState, non_twisting: bool) -> None:
    _, omega_B = start.as_attitude()
    if non_twisting and abs(omega_B[2]) > START_TOLERANCE * (1.0 + np.linalg.norm(omega_B)):
        raise ValueError(f"start must not twist (rate about d3 zero) on the non-twisting frame, got {omega_B[2]} rad/s")


def _sample(moment: Moment | None, h: float, steps: int, taken: int) -> Array:
    """Moments at the middle of the steps; a step beyond the last sample holds it."""
    if moment is None:
        return np.zeros((taken, 3))
    if callable(moment):
        return checks.array(moment(_times(h, taken - 1) + 0.5 * h), "moment(t)", (taken, 3))
    samples = checks.array(moment, "moment", (steps, 3))
    return np.concatenate([samples, samples[-1:]])[:taken]


# ------------------------------------------------------------------ what users see
def directors_from_attitude(q: ArrayLike) -> Array:
    """Directors `(…, 3, 3)`, row i is `d_i` in inertial axes, of quaternions `(…, 4)`, which are normalised."""
    return np.ascontiguousarray(np.swapaxes(quaternion.to_matrix(quaternion.normalise(q)), -1, -2))


def attitude_from_directors(directors: ArrayLike) -> Array:
    """Unit quaternions `(…, 4)`, `w ≥ 0`, of directors `(…, 3, 3)`."""
    return quaternion.from_matrix(np.swapaxes(np.asarray(directors, dtype=np.float64), -1, -2))


def velocities_from_rate(directors: ArrayLike, omega_B: ArrayLike) -> Array:
    """Director velocities `ḋ_i = ω × d_i`, 1/s, `(…, 3, 3)`, of body rates `(…, 3)`, rad/s (57)."""
    D = np.asarray(directors, dtype=np.float64)
    omega_I = np.einsum("...k,...ka->...a", np.asarray(omega_B, dtype=np.float64), D)
    return np.cross(omega_I[..., None, :], D)


def rate_from_velocities(directors: ArrayLike, velocities: ArrayLike) -> Array:
    """Body rates `(…, 3)`, rad/s, of director velocities: `ω = ½ Σ d_i × ḋ_i`, which ignores any strain rate."""
    D, V = np.asarray(directors, dtype=np.float64), np.asarray(velocities, dtype=np.float64)
    return np.einsum("...a,...ka->...k", 0.5 * np.cross(D, V).sum(axis=-2), D)


@dataclass(frozen=True, kw_only=True, eq=False)
class DirectorBody:
    """Rigid body whose inertia `(3, 3)` in body axes, kg m², has d3 as a principal axis (32)."""

    inertia: Array
    euler: Array = field(init=False, repr=False)  # Euler's inertia ½ tr(J) 1 − J, kg m² (66)

    def __post_init__(self) -> None:
        """Check the inertia and derive Euler's form of it."""
        J = checks.array(self.inertia, "inertia", (3, 3))
        _check_inertia(J)
        object.__setattr__(self, "inertia", J)
        object.__setattr__(self, "euler", 0.5 * np.trace(J) * np.eye(3) - 0.5 * (J + J.T))


@dataclass(frozen=True, eq=False)
class DirectorState:
    """Orthonormal right-handed directors `(3, 3)`, row i is `d_i`, and their velocities `(3, 3)`, 1/s."""

    directors: Array
    velocities: Array

    def __post_init__(self) -> None:
        """Check that the directors are a frame and that the velocities are those of a rigid rotation."""
        D = checks.array(self.directors, "directors", (3, 3))
        V = checks.array(self.velocities, "velocities", (3, 3))
        miss = float(np.max(np.abs(D @ D.T - np.eye(3))))
        if miss > START_TOLERANCE or np.linalg.det(D) < 0.0:
            raise ValueError(f"directors must be orthonormal and right-handed, got {D.tolist()} ({miss:.3g} off)")
        strain = float(np.max(np.abs(V @ D.T + D @ V.T)))
        if strain > START_TOLERANCE * (1.0 + np.max(np.abs(V))):
            raise ValueError(f"velocities must be of the form ω × d_i, got {V.tolist()} ({strain:.3g} 1/s off)")
        object.__setattr__(self, "directors", D)
        object.__setattr__(self, "velocities", V)

    @classmethod
    def from_attitude(cls, q: ArrayLike, omega_B: ArrayLike) -> DirectorState:
        """State of attitude `q` `[x, y, z, w]` (normalised) and body rate `omega_B`, rad/s."""
        directors = directors_from_attitude(checks.array(q, "q", (4,)))
        return cls(directors, velocities_from_rate(directors, checks.array(omega_B, "omega_B", (3,))))

    def as_attitude(self) -> tuple[Array, Array]:
        """Attitude quaternion and body rate, rad/s."""
        return attitude_from_directors(self.directors), rate_from_velocities(self.directors, self.velocities)


@dataclass(frozen=True)
class DirectorTrajectory:
    """Motion at `t` `(N+1,)`, s: directors and velocities `(N+1, 3, 3)`; `energy` K, J, as the scheme defines it.

    Energy–momentum: K at the nodes, the same as `hamiltonian`. Lagrange–d'Alembert: `energy[i]` is that of the step
    from `t[i]` (128), and the velocities are those of the nodal momenta.
    """

    body: DirectorBody
    t: Array
    directors: Array
    velocities: Array
    energy: Array

    @property
    def hamiltonian(self) -> Array:
        """`½ p·M⁻¹p` at the nodes, J, `(N+1,)` (129)."""
        return _kinetic_energy(self.body, self.velocities)

    @property
    def momentum_I(self) -> Array:
        """Spatial angular momentum `π = Σ d_i × π^i`, kg m²/s, `(N+1, 3)`."""
        return np.cross(self.directors, self.body.euler @ self.velocities).sum(axis=1)

    @property
    def momentum_B(self) -> Array:
        """Material angular momentum `Π_k = d_k·π`, kg m²/s, `(N+1, 3)` (109)."""
        return np.einsum("na,nka->nk", self.momentum_I, self.directors)

    @property
    def q(self) -> Array:
        """Attitude quaternions `(N+1, 4)`."""
        return attitude_from_directors(self.directors)

    @property
    def omega_B(self) -> Array:
        """Body rates `(N+1, 3)`, rad/s."""
        return rate_from_velocities(self.directors, self.velocities)

    @property
    def orthonormality(self) -> Array:
        """Largest entry of `|D Dᵀ − 1|` at each node, `(N+1,)`."""
        return np.abs(self.directors @ np.swapaxes(self.directors, 1, 2) - np.eye(3)).max(axis=(1, 2))


def _kinetic_energy(body: DirectorBody, velocities: Array) -> Array:
    return 0.5 * np.einsum("nia,ij,nja->n", velocities, body.euler, velocities)


def _integrate(run: Any, body: DirectorBody, D0: Array, V0: Array, h: float, c: Array, non_twisting: bool) -> Any:
    """Directors and velocities (or momenta) of a whole run; the kernels carry them times h."""
    D, V = np.zeros((len(c) + 1, 3, 3)), np.zeros((len(c) + 1, 3, 3))
    D[0], V[0] = D0, h * V0
    done = run(body.euler, c, float(h), 16 if non_twisting else 15, workspace(), D, V)
    if done < len(c):
        raise StepError(
            f"step {done} (t = {done * h:.6g} s) has no solution near its start: h = {h} s is too long",
            DirectorTrajectory(body, _times(h, done), D[: done + 1], V[: done + 1] / h, np.full(done + 1, np.nan)),
        )
    return D, V / h


def _times(h: float, steps: int) -> Array:
    return np.arange(steps + 1, dtype=np.float64) * h


def energy_momentum(
    body: DirectorBody,
    start: DirectorState,
    *,
    h: float,
    steps: int,
    moment: Moment | None = None,
    non_twisting: bool = False,
) -> DirectorTrajectory:
    """Energy–momentum scheme, second order (Gebhardt and Romero 2020, sections 5.1 and 5.2).

    `moment`: N m along the averaged directors `d̄1, d̄2, d̄3` at the middle of each step, an array `(steps, 3)` or a
    function of the mid-step times `(N,)`. Free standard body: energy and spatial momentum are conserved. Free
    non-twisting frame: energy always; Π1 and Π2 exactly while the nodal velocities obey the constraint, and to O(h²)
    otherwise (Theorem 9, corrected).
    """
    _check_run(h, steps)
    _check_start(start, non_twisting)
    c = _sample(moment, h, steps, steps)
    D, V = _integrate(run_energy_momentum, body, start.directors, start.velocities, h, c, non_twisting)
    return DirectorTrajectory(body, _times(h, steps), D, V, _kinetic_energy(body, V))


def lagrange_dalembert(
    body: DirectorBody,
    start: DirectorState,
    *,
    h: float,
    steps: int,
    moment: Moment | None = None,
    non_twisting: bool = False,
) -> DirectorTrajectory:
    """Discrete Lagrange–d'Alembert scheme, second order (Gebhardt and Romero 2020, appendix B).

    Arguments as for `energy_momentum`. The momentum at the last node needs one step more: it is taken with the moment
    function, or with the last sample of the moment held.
    """
    _check_run(h, steps)
    _check_start(start, non_twisting)
    c = _sample(moment, h, steps, steps + 1)
    momenta = body.euler @ start.velocities
    D, P = _integrate(run_lagrange_dalembert, body, start.directors, momenta, h, c, non_twisting)
    energy = _kinetic_energy(body, np.diff(D, axis=0) / h)
    return DirectorTrajectory(body, _times(h, steps), D[:-1], np.linalg.solve(body.euler, P[:-1]), energy)


def second_quotient(coarse: ArrayLike, medium: ArrayLike, fine: ArrayLike) -> Array:
    """Second quotient of precision `‖ξ(h) − ξ(h/2)‖ / ‖ξ(h/2) − ξ(h/4)‖`, `(N,)`, `2ⁿ + O(h)` for order n (120).

    Each `ξ` `(N, …)` at the same N times; leave out times at which the solutions agree, such as the start.
    """
    x1, x2, x4 = (np.asarray(x, dtype=np.float64) for x in (coarse, medium, fine))
    if not x1.shape == x2.shape == x4.shape or x1.ndim == 0:
        raise ValueError(f"coarse, medium and fine must have one shape (N, …), got {x1.shape}, {x2.shape}, {x4.shape}")
    if not all(np.all(np.isfinite(x)) for x in (x1, x2, x4)):
        raise ValueError("coarse, medium and fine must be finite, got NaN or infinity")
    above, below = (np.linalg.norm((a - b).reshape(len(a), -1), axis=1) for a, b in ((x1, x2), (x2, x4)))
    if not np.all(below > 0.0):
        raise ValueError("medium and fine must differ at every time (leave out the start), got two equal solutions")
    return np.asarray(above / below)
