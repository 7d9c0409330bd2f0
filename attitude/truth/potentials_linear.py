"""Equilibria on SO(3)ⁿ and the linear equations about them, in exponential coordinates (LLM book, section 6.5).

About a motion of constant rate in body axes, with `R = R_e exp(S(θ))`, `x = [θ, δω]` and `T = ∂τ/∂θ`:

    θ̇ = δω − ω × θ
    J δω̇ = T θ + (S(Jω + a) − S(ω) J) δω

The same holds in a rotating frame. The eigenvalues tell instability for certain; where none has a positive real part
the equilibrium is spectrally stable, which is all a linearisation can say of a conservative system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attitude.core import quaternion, so3
from attitude.core.jit import Array

if TYPE_CHECKING:
    from attitude.truth.potentials_system import System

DIFFERENCE = 5e-3  # rad: sixth-order differences there err by about 1e-13, as much from truncation as from rounding
WEIGHTS = ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))  # of the sixth-order central difference
ZERO = 1e-5  # of the natural rate: a double zero (a symmetry) splits by the square root of rounding, about 1e-6


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A (relative) equilibrium: `q`, `momentum`, `eigenvalues` of its linearisation, 1/s; |λ| ≤ `zero` counts as 0."""

    name: str
    q: Array
    momentum: Array
    eigenvalues: NDArray[np.complex128]
    zero: float

    @property
    def stable(self) -> bool:
        """Spectrally stable: no eigenvalue with a positive real part."""
        return bool(np.all(self.eigenvalues.real <= self.zero))

    @property
    def frequencies(self) -> Array:
        """Frequencies of the oscillating modes, rad/s, ascending; zero modes left out."""
        w = self.eigenvalues
        return np.sort(w.imag[(w.imag > self.zero) & (np.abs(w.real) <= self.zero)])


def moment_gradient(system: System, q: ArrayLike) -> Array:
    """`T = ∂τ/∂θ` `(3n, 3n)`, N·m/rad, by sixth-order central differences."""
    base = np.asarray(q, float).reshape(-1, 4)
    T = np.zeros((3 * len(base), 3 * len(base)))
    for column in range(len(T)):
        for k, weight in WEIGHTS:
            theta = np.zeros((len(base), 3))
            theta.flat[column] = k * DIFFERENCE
            ahead, behind = (system.moment(_turned(system, base, s * theta)) for s in (1.0, -1.0))
            T[:, column] += weight / DIFFERENCE * np.ravel(ahead - behind)
    return T


def _turned(system: System, base: Array, theta: Array) -> Array:
    q = quaternion.product(base, quaternion.exp(theta))
    return q[0] if system.single else q


def linearisation(system: System, q: ArrayLike, momentum: ArrayLike) -> Array:
    """Matrix `(6n, 6n)` of the linear equations in `x = [θ, δω]` about a (relative) equilibrium."""
    n3 = 3 * len(system.moments)
    Pi, omega = np.reshape(momentum, (-1, 3)), np.reshape(system.rate(momentum), (-1, 3))
    A = np.zeros((2 * n3, 2 * n3))
    A[:n3, n3:] = np.eye(n3)
    A[n3:, :n3] = moment_gradient(system, q)
    for i, J in enumerate(system.J):
        block = slice(3 * i, 3 * i + 3)
        below = slice(n3 + 3 * i, n3 + 3 * i + 3)
        A[block, block] = -so3.hat(omega[i])
        A[below, below] = so3.hat(Pi[i]) - so3.hat(omega[i]) @ J
        A[below] = np.linalg.solve(J, A[below])
    return A


def equilibrium(system: System, name: str, q: ArrayLike, momentum: ArrayLike) -> Equilibrium:
    """The (relative) equilibrium at `q`, `momentum`, with the eigenvalues of its linearisation."""
    q, momentum = np.asarray(q, float), np.asarray(momentum, float)
    A = linearisation(system, q, momentum)
    n3 = len(A) // 2
    natural = max(float(np.abs(system.rate(momentum)).max()), float(np.sqrt(np.abs(A[n3:, :n3]).max())))
    values = np.asarray(np.linalg.eigvals(A), dtype=np.complex128)
    return Equilibrium(name, q, momentum, values, ZERO * natural)


def residual(system: System, q: ArrayLike, momentum: ArrayLike) -> float:
    """Largest entry of `Π × ω + τ`, N·m: zero at every (relative) equilibrium."""
    return float(np.abs(np.cross(np.asarray(momentum, float), system.rate(momentum)) + system.moment(q)).max())
