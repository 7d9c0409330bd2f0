"""Rigid body on a hinge: the planar pendulum on `{R : R a = a}` and its reduction to S¹ (LLM book, 6.6.4).

The hinge axis `a` is fixed in the body and in space, so `R = exp(α S(a))`. With `a1 = ρ0/‖ρ0‖`, `a2 = a × a1` the
direction from the mass centre to the hinge is `ζ = R a1 = q1 a1 + q2 a2`, `q = (cos α, sin α)` on S¹, and

    I = aᵀJa,   c_i = m g ‖ρ0‖ e3ᵀa_i,   U = −c1 q1 − c2 q2,   π̇ = c2 q1 − c1 q2,   q̇ = (π/I) (−q2, q1)

The step is the one of SO(3) on this subgroup, where its implicit equation is solved in closed form: the body turns by
`δ` with `I sin δ = h (π + (h/2) π̇)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, so3
from attitude.core.jit import Array, kernel

PERPENDICULAR = 1e-9  # largest |a·ρ0|/‖ρ0‖ that counts as zero


@kernel
def _run(I: float, c1: float, c2: float, h: float, steps: int, every: int, rows: Array) -> int:
    """Rows `[q1, q2, π]`, the first given; returns the steps done, less than `steps` if one was too long."""
    q1, q2, p = rows[0, 0], rows[0, 1], rows[0, 2]
    for k in range(steps):
        p += 0.5 * h * (c2 * q1 - c1 * q2)
        s = h * p / I
        if not s * s < 1.0:
            return k
        c = math.sqrt(1.0 - s * s)
        q1, q2 = c * q1 - s * q2, s * q1 + c * q2
        n = 1.0 / math.sqrt(q1 * q1 + q2 * q2)
        q1, q2 = n * q1, n * q2
        p += 0.5 * h * (c2 * q1 - c1 * q2)
        if (k + 1) % every == 0:
            row = (k + 1) // every
            rows[row, 0], rows[row, 1], rows[row, 2] = q1, q2, p
    return steps


@dataclass(frozen=True, eq=False)
class PlanarMotion:
    """Rows of a run: `t` `(N,)` s, `q` `(N, 2)` on S¹, `momentum` π about the hinge `(N,)`, N·m·s."""

    t: Array
    q: Array
    momentum: Array

    @property
    def angle(self) -> Array:
        """`α` `(N,)`, rad, continuous as long as rows are less than half a turn apart."""
        return np.unwrap(np.arctan2(self.q[:, 1], self.q[:, 0]))


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanarPendulum:
    """Inertia about the hinge `(3, 3)` kg·m², weight m g in N, `rho0` `(3,)` m from mass centre to hinge, hinge axis.

    `rho0` ends at the point of the hinge that is closest to the mass centre, so it is perpendicular to `axis`.
    """

    inertia: Array
    weight: float
    rho0: Array
    axis: Array
    a1: Array = field(init=False, repr=False)
    a2: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the body and build the basis `a1, a2, a`."""
        a, rho0 = checks.unit_axis(self.axis, "axis"), checks.array(self.rho0, "rho0", (3,))
        a1 = checks.unit_axis(rho0, "rho0")
        if abs(a @ a1) > PERPENDICULAR:
            raise ValueError(f"rho0 must be perpendicular to axis, got a·rho0 = {a @ rho0:.6g} m")
        values = (checks.inertia(self.inertia), checks.positive(self.weight, "weight"), rho0, a, a1, np.cross(a, a1))
        for name, value in zip(("inertia", "weight", "rho0", "axis", "a1", "a2"), values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def hinge_inertia(self) -> float:
        """`I = aᵀJa`, kg·m²."""
        return float(self.axis @ self.inertia @ self.axis)

    @property
    def pull(self) -> tuple[float, float]:
        """`(c1, c2)`, N·m."""
        arm = self.weight * float(np.linalg.norm(self.rho0))
        return arm * float(self.a1[2]), arm * float(self.a2[2])

    # -------------------------------------------------------------- reduction to S¹ and back
    def reduce(self, R: ArrayLike) -> Array:
        """`q` `(…, 2)` of attitudes `R` `(…, 3, 3)` with `R a = a`."""
        zeta = np.asarray(R, float) @ self.a1
        return np.stack([zeta @ self.a1, zeta @ self.a2], axis=-1)

    def lift(self, q: ArrayLike) -> Array:
        """Attitudes `R = exp(α S(a))` `(…, 3, 3)` of `q` `(…, 2)`."""
        q = np.asarray(q, float)
        S = so3.hat(self.axis)
        sine, cosine = q[..., 1, None, None], q[..., 0, None, None]
        return np.asarray(np.eye(3) + sine * S + (1.0 - cosine) * (S @ S))

    # -------------------------------------------------------------- continuous equations, for SciPy
    def _moment(self, R: Array) -> float:
        """`m g aᵀ(ρ0 × Rᵀe3)`, N·m."""
        return float(self.weight * self.axis @ np.cross(self.rho0, R[2]))

    def euler_lagrange(self, t: float, y: Array) -> Array:
        """Right-hand side on `y = [R, ω]` `(10,)` (6.27)–(6.28)."""
        R = y[:9].reshape(3, 3)
        return np.append((R @ so3.hat(y[9] * self.axis)).ravel(), self._moment(R) / self.hinge_inertia)

    def hamilton(self, t: float, y: Array) -> Array:
        """Right-hand side on `y = [R, π]` `(10,)` (6.29)–(6.30)."""
        R = y[:9].reshape(3, 3)
        return np.append((R @ so3.hat(y[9] / self.hinge_inertia * self.axis)).ravel(), self._moment(R))

    def reduced(self, t: float, y: Array) -> Array:
        """Right-hand side on `y = [q1, q2, ω]` (6.31)–(6.32)."""
        c1, c2 = self.pull
        return np.array([-y[2] * y[1], y[2] * y[0], (c2 * y[0] - c1 * y[1]) / self.hinge_inertia])

    # -------------------------------------------------------------- conserved, equilibria
    def energy(self, q: ArrayLike, momentum: ArrayLike) -> Array:
        """`H = ½ π²/I − m g e3ᵀRρ0`, J; `q` `(…, 2)`, `momentum` `(…)`."""
        kinetic = 0.5 * np.square(momentum) / self.hinge_inertia
        return np.asarray(kinetic - np.asarray(q, float) @ np.array(self.pull))

    def equilibria(self) -> tuple[Array, Array]:
        """`q` `(2,)` of the hanging and of the inverted equilibrium (6.6.4.6, corrected: `Rᵀe3` in span(a, ρ0))."""
        c = np.array(self.pull)
        size = float(np.linalg.norm(c))
        if size <= PERPENDICULAR * self.weight * float(np.linalg.norm(self.rho0)):
            raise ValueError(f"axis must not be vertical (every attitude then rests), got {self.axis.tolist()}")
        return c / size, -c / size

    def eigenvalue(self, q: ArrayLike) -> complex:
        """`λ` with `λ² = −(c1 q1 + c2 q2)/I`, 1/s, of the linear equation at an equilibrium: imaginary when hanging."""
        return complex(np.emath.sqrt(-np.asarray(q, float) @ np.array(self.pull) / self.hinge_inertia))

    def run(self, q: ArrayLike, momentum: float, *, h: float, steps: int, every: int = 1) -> PlanarMotion:
        """`steps` variational steps of `h` seconds from `q` on S¹; keep the start and every `every`-th state."""
        h, steps, every = checks.positive(h, "h"), checks.count(steps, "steps"), checks.count(every, "every")
        start = checks.array(q, "q", (2,))
        if abs(np.linalg.norm(start) - 1.0) > checks.UNIT_TOLERANCE:
            raise ValueError(f"q must be on the unit circle, got norm {np.linalg.norm(start):.9g}")
        rows = np.empty((steps // every + 1, 3))
        rows[0] = [*(start / np.linalg.norm(start)), checks.number(momentum, "momentum")]
        done = _run(self.hinge_inertia, *self.pull, h, steps, every, rows)
        if done < steps:
            raise ValueError(f"h must be shorter: {h} s leaves step {done} (t = {done * h:.6g} s) without a solution")
        return PlanarMotion(h * every * np.arange(len(rows), dtype=np.float64), rows[:, :2], rows[:, 2])
