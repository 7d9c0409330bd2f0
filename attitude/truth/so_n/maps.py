"""The maps between the discrete and continuous systems, and the commutative diagram of BCMR 2002, section 7.

         φ^L                          ψ : (Q_{k−1}, Q_k) -> (Q_k, P_k)         Σ^L = Σ^H ∘ ψ
    (Q, Q) ---> (Q, Q)                Σ^L : (Q_{k−1}, Q_k) -> (Q_k, M_k)       Φ ∘ Σ^L = Σ^L ∘ φ^L
      | ψ  φ^H    | ψ                 Σ^H : (Q_k, P_k) -> (Q_k, M_k)           φ^H ∘ ψ = ψ ∘ φ^L
    (Q, P) ---> (Q, P)                                                         Φ ∘ Σ^H = Σ^H ∘ φ^H
      | Σ^H  Φ    | Σ^H
    (Q, M) ---> (Q, M)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array
from attitude.truth.so_n.body import BodyN, check_rotation, check_skew, check_step, norm
from attitude.truth.so_n.discrete import System, check_symmetric, step


def exp_asinh(m: Array) -> Array:
    """Rotation `S = exp(asinh(m/2))` with `S − Sᵀ = m`, for skew m with `‖m‖ < 2`. BCMR 2002, (3.3)."""
    if norm(m) >= 2.0:
        raise ValueError(f"M has no P: the norm of M (of hM in a discrete system) is {norm(m):.6g}, allowed is below 2")
    mu, V = np.linalg.eigh(-1j * m)  # m = V diag(iμ) V†
    roots = 0.5j * mu + np.sqrt((1.0 - 0.5 * mu) * (1.0 + 0.5 * mu))
    return np.ascontiguousarray(((V * roots) @ V.conj().T).real)


def Psi(Q: ArrayLike, P: ArrayLike, h: float = 1.0) -> tuple[Array, Array]:
    """Ψ, in the diagram Σ^H: `(Q, P) -> (Q, M)` with `hM = QᵀP − PᵀQ`. BCMR 2002, proposition 3.11."""
    Q = np.asarray(Q, dtype=np.float64)
    Q, P, h = check_rotation(Q, Q.shape[0]), check_rotation(P, Q.shape[0], "P"), check_step(h)
    S = Q.T @ P
    return Q, (S - S.T) / h


Sigma_H = Psi


def Psi_inverse(Q: ArrayLike, M: ArrayLike, h: float = 1.0) -> tuple[Array, Array]:
    """Ψ⁻¹: `(Q, M) -> (Q, P)` with `P = Q exp(asinh(hM/2))`, for `h‖M‖ < 2`. BCMR 2002, (3.3)."""
    Q = np.asarray(Q, dtype=np.float64)
    Q = check_rotation(Q, Q.shape[0])
    return Q, Q @ exp_asinh(check_step(h) * check_skew(M, Q.shape[0]))


def Sigma_L(body: BodyN, Q_before: ArrayLike, Q: ArrayLike, h: float = 1.0) -> tuple[Array, Array]:
    """Σ^L, the discrete Legendre transform: `(Q_{k−1}, Q_k) -> (Q_k, M_k)`. BCMR 2002, (7.4)."""
    Q_before, Q = check_rotation(Q_before, body.n), check_rotation(Q, body.n)
    W = body.lam[:, None] * (Q_before.T @ Q)
    return Q, (W - W.T) / check_step(h)


def psi(body: BodyN, Q_before: ArrayLike, Q: ArrayLike) -> tuple[Array, Array]:
    """ψ: `(Q_{k−1}, Q_k) -> (Q_k, P_k)`. BCMR 2002, (7.5)."""
    return Psi_inverse(*Sigma_L(body, Q_before, Q))


def Phi(body: BodyN, Q: ArrayLike, M: ArrayLike, h: float) -> tuple[Array, Array]:
    """Φ: one step of (MDRBn)."""
    return step(System.MDRB, body, Q, M, h)


def phi_H(body: BodyN, Q: ArrayLike, P: ArrayLike) -> tuple[Array, Array]:
    """φ^H: one step of (SDRBn)."""
    return step(System.SDRB, body, Q, P)


def phi_L(body: BodyN, Q_before: ArrayLike, Q: ArrayLike) -> tuple[Array, Array]:
    """φ^L: one step of the discrete Euler–Lagrange equations, `(Q_{k−1}, Q_k) -> (Q_k, Q_{k+1})`."""
    return step(System.MV1, body, Q_before, Q)


def left_to_right(Q: ArrayLike, M_or_P: ArrayLike) -> tuple[Array, Array]:
    """Solution of the right invariant system from one of the left: `(Qᵀ, −M)` or `(Qᵀ, Pᵀ)`, which is one formula
    for both. BCMR 2002, propositions 2.1 and 3.4."""
    return np.asarray(Q).T, np.asarray(M_or_P).T


def momentum_to_costate(Q: ArrayLike, P: ArrayLike) -> tuple[Array, Array]:
    """`(Q, P) -> (Q, B)` with `B = P − QPᵀQ`, from (SRBn) to McLachlan–Scovel. BCMR 2002, after (5.5)."""
    Q, P = np.asarray(Q, dtype=np.float64), np.asarray(P, dtype=np.float64)
    check_symmetric(Q, P)
    return Q, P - Q @ P.T @ Q
