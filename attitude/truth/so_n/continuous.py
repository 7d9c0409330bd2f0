"""Continuous rigid body on SO(n): right-hand sides, and their integration by SciPy's DOP853.

| `Flow`             | pair     | equations                                                   | BCMR 2002 |
|--------------------|----------|-------------------------------------------------------------|-----------|
| `RB`               | `Q`, `M` | `Q̇ = QΩ`, `Ṁ = [M, Ω]`, `Ω = J⁻¹M`                          | (RBn)     |
| `RIGHT_RB`         | `Q`, `M` | `Q̇ = ΩQ`, `Ṁ = [Ω, M]`                                      |           |
| `SRB`              | `Q`, `P` | `Q̇ = QΩ`, `Ṗ = PΩ`, `Ω = J⁻¹(QᵀP − PᵀQ)`                    | (SRBn)    |
| `RIGHT_SRB`        | `Q`, `P` | `Q̇ = ΩQ`, `Ṗ = ΩP`, `Ω = J⁻¹(PQᵀ − QPᵀ)`                    |           |
| `MCLACHLAN_SCOVEL` | `Q`, `B` | `Q̇ = QΩ`, `Ḃ = BΩ`, `Ω = J⁻¹(QᵀB)`                          | (5.5)     |
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from attitude.core.jit import Array
from attitude.truth.so_n.body import BodyN, check_rotation, check_skew
from attitude.truth.so_n.discrete import Trajectory

Field = Callable[[NDArray, NDArray], tuple[NDArray, NDArray]]
RTOL, ATOL = 1e-13, 1e-14  # near the least that DOP853 accepts


class Flow(Enum):
    """The continuous systems."""

    RB = "RBn"
    RIGHT_RB = "RightRBn"
    SRB = "SRBn"
    RIGHT_SRB = "RightSRBn"
    MCLACHLAN_SCOVEL = "McLachlan–Scovel"


def vector_field(flow: Flow, body: BodyN) -> Field:
    """`(A, B) -> (Ȧ, Ḃ)` of a system, per second."""
    J_inverse = body.J_inverse

    def rb(Q: Array, M: Array) -> tuple[Array, Array]:
        Omega = J_inverse(M)
        return Q @ Omega, M @ Omega - Omega @ M

    def right_rb(Q: Array, M: Array) -> tuple[Array, Array]:
        Omega = J_inverse(M)
        return Omega @ Q, Omega @ M - M @ Omega

    def srb(Q: Array, P: Array) -> tuple[Array, Array]:
        Omega = J_inverse(Q.T @ P - P.T @ Q)
        return Q @ Omega, P @ Omega

    def right_srb(Q: Array, P: Array) -> tuple[Array, Array]:
        Omega = J_inverse(P @ Q.T - Q @ P.T)
        return Omega @ Q, Omega @ P

    def mclachlan_scovel(Q: Array, B: Array) -> tuple[Array, Array]:
        Omega = J_inverse(Q.T @ B)
        return Q @ Omega, B @ Omega

    fields = {
        Flow.RB: rb, Flow.RIGHT_RB: right_rb, Flow.SRB: srb, Flow.RIGHT_SRB: right_srb,
        Flow.MCLACHLAN_SCOVEL: mclachlan_scovel,
    }  # fmt: skip
    return fields[flow]


def coupled_field(lam_U: ArrayLike | None, lam_V: ArrayLike | None) -> Field:
    """`(Q, P) -> (Q̇, Ṗ)` of the merged left and right problem, Q and P real or complex p×q. BCMR 2002, (5.9).

    `Q̇ = UQ − QV`, `U = J_U⁻¹(PQ† − QP†)`, `V = J_V⁻¹(P†Q − Q†P)`; `None` is an infinite J, whose control is zero.
    """
    left, right = _inverse_or_zero(lam_U, "lam_U"), _inverse_or_zero(lam_V, "lam_V")

    def field(Q: NDArray, P: NDArray) -> tuple[NDArray, NDArray]:
        Qh, Ph = Q.conj().T, P.conj().T
        U, V = left(P @ Qh - Q @ Ph), right(Ph @ Q - Qh @ P)
        return U @ Q - Q @ V, U @ P - P @ V

    return field


def double_bracket_field(lam_U: ArrayLike | None, lam_V: ArrayLike | None, p: int) -> Field:
    """`(Q̂, P̂) -> ([Q̂, Ĵ⁻¹[P̂, Q̂]], [P̂, Ĵ⁻¹[P̂, Q̂]])` on u(p + q), with `Ĵ = diag(J_U, J_V)`. BCMR 2002, (5.10)."""
    left, right = _inverse_or_zero(lam_U, "lam_U"), _inverse_or_zero(lam_V, "lam_V")

    def field(Q: NDArray, P: NDArray) -> tuple[NDArray, NDArray]:
        bracket = P @ Q - Q @ P
        X = np.zeros_like(bracket)
        X[:p, :p], X[p:, p:] = left(bracket[:p, :p]), right(bracket[p:, p:])
        return Q @ X - X @ Q, P @ X - X @ P

    return field


def hat(Q: NDArray) -> NDArray:
    """`Q̂ = [[0, Q], [−Q†, 0]]` in u(p + q) of a p×q matrix. BCMR 2002, (5.11)."""
    p, q = Q.shape
    return np.block([[np.zeros((p, p)), Q], [-Q.conj().T, np.zeros((q, q))]])


def integrate(
    flow: Flow, body: BodyN, A: ArrayLike, B: ArrayLike, times: ArrayLike, *, rtol: float = RTOL, atol: float = ATOL
) -> Trajectory:
    """The pair `(A, B)` of a system at `times`, s (the first is the start), by DOP853."""
    A = check_rotation(A, body.n, "Q")
    if flow in (Flow.SRB, Flow.RIGHT_SRB):
        B = check_rotation(B, body.n, "P")
    elif flow is Flow.MCLACHLAN_SCOVEL:
        B = A @ check_skew(A.T @ np.asarray(B), body.n, "QᵀB")
    else:
        B = check_skew(B, body.n, "M")
    return integrate_field(vector_field(flow, body), A, B, times, rtol=rtol, atol=atol)


def integrate_field(
    field: Field, A: NDArray, B: NDArray, times: ArrayLike, *, rtol: float = RTOL, atol: float = ATOL
) -> Trajectory:
    """Solution of `(Ȧ, Ḃ) = field(A, B)` for two matrices of one shape at `times`, s, by DOP853."""
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or times.size < 2 or not (np.isfinite(times).all() and np.all(np.diff(times) > 0.0)):
        raise ValueError(f"times must be at least two finite, increasing numbers, got {times!r}")

    def rhs(_: float, y: NDArray) -> NDArray:
        return np.concatenate([part.ravel() for part in field(*y.reshape(2, *A.shape))])

    start = np.concatenate([A.ravel(), B.ravel()])
    solution = solve_ivp(rhs, times[[0, -1]], start, method="DOP853", t_eval=times, rtol=rtol, atol=atol)
    if not solution.success:
        raise ValueError(f"DOP853 did not reach the last of times, {times[-1]:g} s: {solution.message}")
    states = solution.y.T.reshape(-1, 2, *A.shape)
    return Trajectory(times, states[:, 0], states[:, 1])


def _inverse_or_zero(lam: ArrayLike | None, name: str) -> Callable[[NDArray], NDArray]:
    if lam is None:
        return np.zeros_like
    body = BodyN(lam)
    if body.lam.min() <= 0.0:  # a skew-Hermitian matrix has a diagonal
        raise ValueError(f"{name} must be positive, got {body.lam.min():g}")
    return body.J_inverse
