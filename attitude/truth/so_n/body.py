"""The n-dimensional rigid body: its inertia Λ, the operator J, and the checks at the door of this folder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attitude.core.jit import Array

ORTHOGONAL = 1e-9  # largest |QᵀQ − 1| taken for a rotation: far above what 1e6 steps lose, far below a typing error
SKEW = 1e-12  # largest |M + Mᵀ| taken for skew, relative to |M|


@dataclass(frozen=True, eq=False)
class BodyN:
    """Rigid body on SO(n); `lam`, shape `(n,)`, kg·m²: the diagonal of Λ, every `Λi + Λj > 0` (i ≠ j).

    For n = 3 the moments of inertia are `I1 = Λ2 + Λ3` and so on. BCMR 2002, section 2.
    """

    lam: Array

    def __init__(self, lam: ArrayLike) -> None:
        values = np.ascontiguousarray(lam, dtype=np.float64).copy()
        if values.ndim != 1 or values.size < 2 or not np.all(np.isfinite(values)):
            raise ValueError(f"lam must be a finite vector of at least 2 numbers, got {lam!r}")
        lowest = np.sort(values)[:2]
        if lowest.sum() <= 0.0:
            raise ValueError(f"lam must have every Λi + Λj > 0 (i ≠ j), got the pair {lowest[0]:g} and {lowest[1]:g}")
        values.flags.writeable = False
        object.__setattr__(self, "lam", values)

    @property
    def n(self) -> int:
        """Dimension."""
        return int(self.lam.size)

    @property
    def sums(self) -> Array:
        """`Λi + Λj`, shape `(n, n)`: J multiplies entry by entry with it."""
        return np.add.outer(self.lam, self.lam)

    def J(self, Omega: Array) -> Array:
        """Momentum `M = ΛΩ + ΩΛ` of the rate Ω (body axes)."""
        return np.asarray(self.sums * Omega)

    def J_inverse(self, M: NDArray) -> NDArray:
        """Rate `Ω = J⁻¹(M)`; the diagonal of a skew M is zero and stays so, whatever Λi is."""
        sums = self.sums
        np.fill_diagonal(sums, np.where(np.diag(sums) > 0.0, np.diag(sums), 1.0))
        return np.asarray(M / sums)

    def energy(self, M: Array) -> float:
        """`½⟨M, J⁻¹M⟩`, J, with the pairing `⟨ξ, η⟩ = −½ tr(ξη)` of (2.1)."""
        return 0.5 * pairing(M, self.J_inverse(M))

    def scaled(self, factor: float) -> BodyN:
        """Body with Λ times `factor`: with M times the same factor, a change of unit, the motion is the same."""
        return BodyN(self.lam * factor)


def pairing(xi: Array, eta: Array) -> float:
    """`⟨ξ, η⟩ = −½ tr(ξη)` on so(n); for n = 3 the dot product of the vectors. BCMR 2002, (2.1)."""
    return -0.5 * float(np.sum(xi * eta.T))


def norm(M: ArrayLike) -> float:
    """Operator norm, the largest singular value."""
    return float(np.linalg.norm(np.asarray(M), 2))


def skew(entries: ArrayLike, n: int) -> Array:
    """Skew matrix of its upper entries in the order 12, 13, …, 1n, 23, …"""
    out = np.zeros((n, n))
    out[np.triu_indices(n, 1)] = entries
    return out - out.T


def upper(M: Array) -> Array:
    """Upper entries of a skew matrix in the order 12, 13, …, 1n, 23, …; the inverse of `skew`."""
    return np.asarray(M[np.triu_indices(M.shape[0], 1)])


def cayley(K: Array) -> Array:
    """Rotation `(1 − K)⁻¹(1 + K)` of a skew K."""
    one = np.eye(K.shape[0])
    return np.asarray(np.linalg.solve(one - K, one + K))


def check_rotation(Q: ArrayLike, n: int, name: str = "Q") -> Array:
    """`Q` as a C-contiguous float64 matrix, after checking that it is in SO(n)."""
    Q = _square(Q, n, name)
    error = float(np.abs(Q.T @ Q - np.eye(n)).max())
    if error > ORTHOGONAL:
        raise ValueError(f"{name} must be orthogonal: |QᵀQ − 1| is {error:.3g}, allowed is {ORTHOGONAL:g}")
    if np.linalg.det(Q) < 0.0:
        raise ValueError(f"{name} must be a rotation (determinant 1), got determinant −1")
    return Q


def check_skew(M: ArrayLike, n: int, name: str = "M") -> Array:
    """`M` as a C-contiguous float64 matrix, exactly skew, after checking that it was skew to roundoff."""
    M = _square(M, n, name)
    error, size = float(np.abs(M + M.T).max()), float(np.abs(M).max())
    if error > SKEW * size:
        raise ValueError(f"{name} must be skew: |M + Mᵀ| is {error:.3g}, allowed is {SKEW:g} of |M| = {size:.3g}")
    return np.ascontiguousarray(0.5 * (M - M.T))


def check_step(h: float) -> float:
    """`h` as a float, after checking that it is a positive number of seconds."""
    h = float(h)
    if not (np.isfinite(h) and h > 0.0):
        raise ValueError(f"h must be positive and finite, got {h:g} s")
    return h


def check_count(value: int, name: str, least: int = 1) -> int:
    """`value` as an int, after checking that it is a whole number of at least `least`."""
    if int(value) != value or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value}")
    return int(value)


def _square(matrix: ArrayLike, n: int, name: str) -> Array:
    array = np.ascontiguousarray(matrix, dtype=np.float64)
    if array.shape != (n, n):
        raise ValueError(f"{name} must have shape ({n}, {n}) like the body, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array.size - int(np.isfinite(array).sum())} bad entries")
    return array
