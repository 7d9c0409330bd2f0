"""The states on which the statements are measured, and the tolerances with their reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from attitude.core.jit import Array
from attitude.truth import so_n
from attitude.truth.so_n import BodyN, forms

ROUNDOFF = 1e-13  # algebraic identities: a few products of matrices of size one, times the condition of J_D⁻¹
TRAJECTORY = 1e-11  # two DOP853 solutions over 10 s at rtol 1e-13
SYMPLECTIC = 1e-8  # fourth-order differences of step 1e-3 through the maps

H = 0.1  # s, the step of the reference numbers and of the long runs
LAMBDA = (1.0, 1.5, 2.2, 3.0, 3.7, 4.3, 4.8, 5.2, 5.5, 5.7, 5.8, 5.85)
ATTITUDE = {
    3: (0.1, -0.2, 0.3),
    4: (0.1, -0.2, 0.3, 0.4, -0.5, 0.6),
    5: (0.1, -0.2, 0.3, 0.05, 0.4, -0.5, 0.15, 0.6, -0.25, 0.35),
}
MOMENTUM = {
    3: (0.5, -0.3, 0.4),
    4: (0.5, -0.3, 0.2, 0.4, 0.1, -0.6),
    5: (0.5, -0.3, 0.2, 0.7, 0.4, 0.1, -0.35, -0.6, 0.25, 0.45),
}


@dataclass(frozen=True)
class Case:
    """A body and a state on SO(n): `P` and `Q1`, the attitude one step later, belong to `hM`."""

    body: BodyN
    Q: Array
    M: Array
    P: Array
    Q1: Array
    h: float

    @property
    def n(self) -> int:
        """Dimension."""
        return self.body.n

    @property
    def m(self) -> Array:
        """`hM`."""
        return self.h * self.M

    @property
    def U(self) -> Array:
        """Increment of one step."""
        return self.Q.T @ self.Q1


@cache
def case(n: int, h: float = 0.3) -> Case:
    """The reference state for n = 3, 4, 5, a seeded one of the same size for other n."""
    rng = np.random.default_rng(n)
    count = n * (n - 1) // 2
    Q = so_n.cayley(so_n.skew(ATTITUDE.get(n, 0.3 * rng.normal(size=count)), n))
    M = so_n.skew(MOMENTUM.get(n, rng.normal(size=count)), n)
    M = M if n in MOMENTUM else M / so_n.norm(M)
    body = BodyN(LAMBDA[:n])
    return Case(body, Q, M, so_n.Psi_inverse(Q, M, h)[1], so_n.Phi(body, Q, M, h)[0], h)


def cases() -> list[Case]:
    """The reference states, n = 3, 4, 5."""
    return [case(n) for n in ATTITUDE]


def worst(residual: Callable[[Case], float]) -> float:
    """Largest residual over the reference states."""
    return max(abs(residual(c)) for c in cases())


def tangent(n: int, seed: int) -> forms.Pair:
    """Seeded pair of skew matrices."""
    rng = np.random.default_rng(seed)
    a, b = (so_n.skew(rng.normal(size=n * (n - 1) // 2), n) for _ in range(2))
    return a, b


def gap(a: tuple[NDArray, NDArray], b: tuple[NDArray, NDArray]) -> float:
    """Largest entry of the difference of two pairs."""
    return max(sup(x - y) for x, y in zip(a, b, strict=True))


def sup(A: NDArray) -> float:
    """Largest entry."""
    return float(np.abs(A).max())
