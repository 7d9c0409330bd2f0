"""The two-forms of BCMR 2002, and the pull-back of a form by a map, for the statements that the maps are symplectic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from attitude.core.jit import Array
from attitude.truth.so_n.body import BodyN, pairing

Pair = tuple[Array, Array]
Map = Callable[[Array, Array], Pair]
Form = Callable[[Pair, Pair, Pair], float]  # point, two tangents
DIFFERENCE = 1e-3  # step of the fourth-order difference: truncation 1e-13 and roundoff 1e-13 meet here


def canonical_form(point: Pair, first: Pair, second: Pair) -> float:
    """ω on T*SO(n), at `(Q, M)`, of tangents `(ξ, Z)` with `δQ = Qξ`, `δM = Z`. BCMR 2002, (3.13)."""
    (_, M), (xi1, Z1), (xi2, Z2) = point, first, second
    return pairing(Z2, xi1) - pairing(Z1, xi2) + pairing(M, xi1 @ xi2 - xi2 @ xi1)


def gl_form(point: Pair, first: Pair, second: Pair) -> float:
    """Ω_gl(n) on SO(n) × SO(n), at `(Q, P)`, of tangents `(ξ, η)` with `δQ = Qξ`, `δP = Pη`. BCMR 2002, (3.5)."""
    (Q, P), (xi1, eta1), (xi2, eta2) = point, first, second
    return 0.5 * float(np.trace(P.T @ Q @ (xi2 @ eta1 - xi1 @ eta2)))


def lagrangian_form(body: BodyN) -> Form:
    """Ω_L on SO(n) × SO(n), at `(Q_{k−1}, Q_k)`, of tangents `(ξ, η)` as in `gl_form`. BCMR 2002, (7.8)."""

    def form(point: Pair, first: Pair, second: Pair) -> float:
        (g1, g2), (xi1, eta1), (xi2, eta2) = point, first, second
        L = body.lam[:, None]
        return 0.5 * float(np.trace(g2.T @ g1 @ (xi2 @ (L * eta1) - xi1 @ (L * eta2))))

    return form


def dirac_bracket(point: Pair, F: Pair, K: Pair) -> float:
    """Poisson bracket at `(Q, P)` in S of functions with the gradients `F` and `K` on gl(n) × gl(n).

    Gradients and brackets are in the metric `½ tr(AᵀB)`; `R ⊗ Rᵀ` is `X -> RXR`. BCMR 2002, (3.15).
    """
    (Q, P), (F1, F2), (K1, K2) = point, F, K
    R = Q @ P.T
    operator = np.eye(Q.size) + np.kron(R, R.T)

    def both(A: Array, G: Array) -> Array:
        return np.asarray(A @ G.T + G @ A.T)

    def dot(A: Array, B: Array) -> float:
        return 0.5 * float(np.sum(A * B))

    def solve(X: Array) -> Array:
        return np.asarray(np.linalg.solve(operator, X.ravel()).reshape(Q.shape))

    free = dot(K2, F1) - dot(K1, F2)
    return free - 0.5 * dot(both(Q, K2), solve(R @ both(P, F1))) + 0.5 * dot(both(P, K1), solve(both(Q, F2) @ R))


def move(point: Pair, tangent: Pair, s: float, groups: tuple[bool, bool]) -> Pair:
    """Point at s along a tangent: `A exp(sξ)` where `groups` says group, `A + sξ` where it says vector space."""
    out = [
        A @ scipy.linalg.expm(s * xi) if group else A + s * xi
        for A, xi, group in zip(point, tangent, groups, strict=True)
    ]
    return out[0], out[1]


def push(function: Map, point: Pair, tangent: Pair, groups: tuple[bool, bool], out: tuple[bool, bool]) -> Pair:
    """Tangent of a map, left-trivialised on groups, by central differences of fourth order."""
    d = DIFFERENCE
    images = {k: function(*move(point, tangent, k * d, groups)) for k in (-2, -1, 1, 2)}
    here = function(*point)
    parts = []
    for i in range(2):
        slope = (8.0 * (images[1][i] - images[-1][i]) - (images[2][i] - images[-2][i])) / (12.0 * d)
        body_slope = here[i].T @ slope if out[i] else slope
        parts.append(0.5 * (body_slope - body_slope.T))
    return parts[0], parts[1]


def pulled_back(form: Form, function: Map, point: Pair, tangents: tuple[Pair, Pair], groups: tuple[bool, bool],
                out: tuple[bool, bool]) -> float:  # fmt: skip
    """`(f*ω)(v, w) = ω(Tf v, Tf w)` at the image of `point`."""
    v, w = (push(function, point, tangent, groups, out) for tangent in tangents)
    return form(function(*point), v, w)
