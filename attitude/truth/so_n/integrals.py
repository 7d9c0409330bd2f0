"""Conserved quantities on SO(n): Manakov's integrals, spatial momentum, the discrete Hamiltonian, the Lax forms."""

from __future__ import annotations

import numpy as np

from attitude.core.jit import Array
from attitude.truth.so_n.body import BodyN
from attitude.truth.so_n.inverse import J_D_inverse
from attitude.truth.so_n.maps import exp_asinh


def manakov_powers(n: int) -> list[tuple[int, int]]:
    """Pairs `(k, j)` of the integrals: power k = 2 … n of `M + λΛ²` and of λ, j < k, k − j even (odd ones vanish)."""
    return [(k, j) for k in range(2, n + 1) for j in range(k % 2, k - 1, 2)]


def power_coefficients(M: Array, N: Array, highest: int) -> list[Array]:
    """Coefficients of λ in `(M + λN)^k`, k = 0 … highest; element k has shape `(k + 1, n, n)`."""
    powers = [np.eye(M.shape[0])[None]]
    for k in range(highest):
        longer = np.zeros((k + 2, *M.shape))
        longer[:-1] += powers[-1] @ M
        longer[1:] += powers[-1] @ N
        powers.append(longer)
    return powers


def _trace_coefficients(M: Array, N: Array) -> Array:
    n = M.shape[0]
    powers = power_coefficients(M, N, n)
    return np.array([np.trace(powers[k][j]) for k, j in manakov_powers(n)])


def manakov_integrals(body: BodyN, M: Array) -> Array:
    """Coefficients of λ in `tr (M + λΛ²)^k`, in the order of `manakov_powers`. BCMR 2002, after (2.4).

    The continuous and the discrete flow conserve the same ones, the discrete one for `hM` and so for M.
    """
    return _trace_coefficients(M, np.diag(body.lam**2))


def manakov_gradients(body: BodyN, M: Array) -> Array:
    """Gradients of `manakov_integrals` in the pairing (2.1), skew, shape `(count, n, n)`."""
    powers = power_coefficients(M, np.diag(body.lam**2), body.n - 1)
    halves = np.array([k * powers[k - 1][j] for k, j in manakov_powers(body.n)])
    return np.asarray(np.swapaxes(halves, 1, 2) - halves)


def manakov_symmetric(body: BodyN, Q: Array, P: Array) -> Array:
    """The same integrals from `A = PQᵀ`: `tr (A − Aᵀ + λQΛ²Qᵀ)^k`. BCMR 2002, (8.3)."""
    A = P @ Q.T
    return _trace_coefficients(A - A.T, (Q * body.lam**2) @ Q.T)


def symmetric_momentum(Q: Array, P: Array) -> Array:
    """`A = PQᵀ`, which (SRBn) and (SDRBn) conserve. BCMR 2002, after proposition 3.2."""
    return np.asarray(P @ np.swapaxes(Q, -1, -2))


def spatial_momentum(Q: Array, M: Array) -> Array:
    """`m = QMQᵀ`, inertial axes. BCMR 2002, proposition 3.2."""
    return np.asarray(Q @ M @ np.swapaxes(Q, -1, -2))


def discrete_hamiltonian(body: BodyN, m: Array) -> float:
    """`−tr exp(asinh(m/2)) − tr(ΛU)`, `m = hM`, `U = J_D⁻¹(m)`. BCMR 2002, (6.17), corrected sign: the maximum
    principle's costate is −P. Each of the two traces is conserved on its own."""
    return -float(np.trace(exp_asinh(m))) - discrete_action(body, m)


def discrete_action(body: BodyN, m: Array) -> float:
    """`tr(ΛU)`, one term of the Moser–Veselov functional (4.6); close to `tr Λ − h²E`, and conserved."""
    return float(body.lam @ np.diag(J_D_inverse(body, m)))


def lax_residual(body: BodyN, M: Array, parameter: float) -> float:
    """Largest entry of `[M, Ω] − [M + λΛ², Ω + λΛ]`: zero makes (RBn) Manakov's Lax equation. BCMR 2002, (2.4)."""
    Omega, L, L2 = body.J_inverse(M), np.diag(body.lam), np.diag(body.lam**2)
    A, B = M + parameter * L2, Omega + parameter * L
    return float(np.abs((M @ Omega - Omega @ M) - (A @ B - B @ A)).max())


def discrete_lax_residual(body: BodyN, m: Array, m_next: Array, U: Array, parameter: float) -> float:
    """Largest entry of `(U + λΛ)(m' + λΛ²) − (m + λΛ²)(U + λΛ)`, `m = hM`. BCMR 2002, (8.11)."""
    L, L2 = parameter * np.diag(body.lam), parameter * np.diag(body.lam**2)
    return float(np.abs((U + L) @ (m_next + L2) - (m + L2) @ (U + L)).max())
