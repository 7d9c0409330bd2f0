"""`J_D(U) = UΛ − ΛUᵀ`, the discrete momentum, and its inverse: domain, Newton on the group, ordered Schur form."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from attitude.core.jit import Array
from attitude.truth.so_n import kernels
from attitude.truth.so_n.body import BodyN, check_rotation, check_skew, norm

MARGIN = 1e-7  # smallest real part in the spectrum of H̄, relative to max Λ: nearer, half the digits of U are lost

POLISH = 1e-6  # farthest that Newton may move the Schur solution: farther is another branch


def J_D(body: BodyN, U: ArrayLike) -> Array:
    """`UΛ − ΛUᵀ`, the momentum `hM` of the increment U. BCMR 2002, (4.8)."""
    Z = check_rotation(U, body.n, "U") * body.lam
    return np.asarray(Z - Z.T)


def hamiltonian_matrix(body: BodyN, m: Array) -> Array:
    """`H̄ = [[m/2, 1], [m²/4 + Λ², m/2]]`; a step conserves its spectrum. BCMR 2002, before theorem 7.4."""
    return np.block([[m / 2, np.eye(body.n)], [m @ m / 4 + np.diag(body.lam**2), m / 2]])


def spectral_gap(body: BodyN, m: Array) -> float:
    """Smallest `|Re|` in the spectrum of H̄: positive exactly where `J_D⁻¹` is defined."""
    return float(np.abs(np.linalg.eigvals(hamiltonian_matrix(body, m)).real).min())


def definiteness(body: BodyN, m: Array) -> float:
    """Smallest eigenvalue of `m²/4 + Λ²`; positive is sufficient for the domain. BCMR 2002, theorem 7.5."""
    return float(np.linalg.eigvalsh(m @ m / 4 + np.diag(body.lam**2))[0])


def check_discrete(body: BodyN) -> None:
    """Refuse a body the discrete systems cannot carry: with det Λ ≤ 0 no rotation U puts UΛ in the right half plane."""
    if body.lam.min() <= 0.0:
        raise ValueError(f"lam must be positive for the discrete systems, got {body.lam.min():g}")


def check_domain(body: BodyN, m: ArrayLike) -> Array:
    """`m = hM` after checking that `J_D⁻¹` is defined there, and with it at every later step.

    `m²/4 + Λ² > 0` is sufficient but not conserved by the flow; what is checked where it fails is the exact condition,
    that H̄ has no imaginary eigenvalue.
    """
    check_discrete(body)
    m = check_skew(m, body.n, "h M")
    if norm(m) < 2.0 * body.lam.min():  # lemma 7.6
        return m
    gap = spectral_gap(body, m)
    if gap <= MARGIN * body.lam.max():
        raise ValueError(
            f"h M is outside the domain of the inverse of J_D: the smallest eigenvalue of (hM)²/4 + Λ² is "
            f"{definiteness(body, m):.3g} and H̄ has an eigenvalue of real part {gap:.1g}; h‖M‖ = {norm(m):.3g}, "
            f"and below 2 min Λ = {2 * body.lam.min():.3g} every M is inside"
        )
    return m


def J_D_inverse(body: BodyN, m: ArrayLike, *, method: str = "newton") -> Array:
    """Increment U with `UΛ − ΛUᵀ = m = hM`, the one whose UΛ has its spectrum in the right half plane.

    `method="newton"` is compiled and falls back to "schur", the ordered real Schur form of H̄.
    """
    m = check_domain(body, m)
    if method not in ("newton", "schur"):
        raise ValueError(f'method must be "newton" or "schur", got {method!r}')
    if method == "newton":
        U, status = newton_inverse(body, m)
        if status == kernels.OK:
            return U
    return schur_inverse(body, m)


def newton_inverse(body: BodyN, m: Array, start: Array | None = None) -> tuple[Array, int]:
    """U by the compiled Newton iteration, and its status: one step of (MDRBn) from the identity."""
    U = np.empty_like(m) if start is None else start.copy()
    unused = np.empty((1, body.n, body.n))
    done = kernels.run(
        kernels.MDRB, np.eye(body.n), m.copy(), body.lam, int(start is not None), U, 0, 1, 2, unused, unused
    )
    return U, done[1]


def schur_inverse(body: BodyN, m: Array) -> Array:
    """U from the right half plane invariant subspace `[X1; X2]` of H̄: `UΛ = X2 X1⁻¹ + m/2`. BCMR 2002, lemma 7.3."""
    n = body.n
    _, vectors, right = scipy.linalg.schur(hamiltonian_matrix(body, m), output="real", sort="rhp")
    if right != n:
        raise ValueError(f"h M is outside the domain of the inverse of J_D: {right} of {2 * n} eigenvalues have Re > 0")
    S = np.linalg.solve(vectors[:n, :n].T, vectors[n:, :n].T).T
    left, _, other = np.linalg.svd((S + m / 2) / body.lam)
    U = np.ascontiguousarray(left @ other)  # nearest orthogonal matrix
    polished, status = newton_inverse(body, m, U)
    return polished if status == kernels.OK and np.abs(polished - U).max() < POLISH else U


def safe_step(body: BodyN, M: ArrayLike, *, symmetric: bool = False) -> float:
    """Step h below which every later state is in the domain: `h‖M‖ < 2 min Λ`, s, and `< 2` too if `symmetric`."""
    check_discrete(body)
    size = norm(check_skew(M, body.n))
    limit = 2.0 * min(body.lam.min(), 1.0) if symmetric else 2.0 * body.lam.min()
    return float(limit / size) if size > 0.0 else np.inf
