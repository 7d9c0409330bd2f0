"""Sections 2 and 3: left and right systems, their equivalence, what they conserve, the sets C and S."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import scipy.linalg

from attitude.core.jit import Array
from attitude.truth import so_n
from attitude.truth.so_n import Flow, Trajectory
from sims.papers.bcmr.cases import ROUNDOFF, TRAJECTORY, Case, case, gap, sup, worst
from sims.papers.table import Row, bound, close, statement

TIMES = np.linspace(0.0, 10.0, 11)


def small(c: Case) -> Array:
    """Momentum of the case brought to `‖M‖ ≤ 1`, so that it has a P."""
    return so_n.scale_into_domain(c.M, 1.0)[1]


@cache
def path(flow: Flow, n: int) -> Trajectory:
    """Solution of a system from the case's state: RBn from M itself, the others from `small(c)`."""
    c = case(n)
    if flow is Flow.RB:
        return so_n.integrate(flow, c.body, c.Q, c.M, TIMES)
    start = so_n.Psi_inverse(c.Q, small(c))
    if flow is Flow.RIGHT_SRB:
        start = so_n.left_to_right(*start)
    return so_n.integrate(flow, c.body, *start, TIMES)


def last(trajectory: Trajectory) -> tuple[Array, Array]:
    """Final pair."""
    return trajectory.A[-1], trajectory.B[-1]


def right(c: Case) -> float:
    """Proposition 2.1."""
    end = last(so_n.integrate(Flow.RIGHT_RB, c.body, *so_n.left_to_right(c.Q, c.M), TIMES))
    return gap(so_n.left_to_right(*end), last(path(Flow.RB, c.n)))


def right_symmetric(c: Case) -> float:
    """Proposition 3.4."""
    return gap(so_n.left_to_right(*last(path(Flow.RIGHT_SRB, c.n))), last(path(Flow.SRB, c.n)))


def right_momentum(c: Case) -> float:
    """`QᵀP − PᵀQ` along (RightSRBn)."""
    end = path(Flow.RIGHT_SRB, c.n)
    S = np.swapaxes(end.A, 1, 2) @ end.B
    m = S - np.swapaxes(S, 1, 2)
    return sup(m - m[0])


def symmetric_to_momentum(c: Case) -> float:
    """Ψ of (SRBn) against (RBn), at the end."""
    end = last(so_n.integrate(Flow.RB, c.body, c.Q, small(c), TIMES))
    return gap(so_n.Psi(*last(path(Flow.SRB, c.n))), end)


def momentum_to_symmetric(c: Case) -> float:
    """Ψ⁻¹ of (RBn) against (SRBn), at the end."""
    end = last(so_n.integrate(Flow.RB, c.body, c.Q, small(c), TIMES))
    return gap(so_n.Psi_inverse(*end), last(path(Flow.SRB, c.n)))


def spatial(c: Case) -> float:
    """`QMQᵀ` along (RBn)."""
    m = so_n.spatial_momentum(path(Flow.RB, c.n).A, path(Flow.RB, c.n).B)
    return sup(m - m[0])


def constant(c: Case) -> float:
    """`PQᵀ` along (SRBn)."""
    A = so_n.symmetric_momentum(path(Flow.SRB, c.n).A, path(Flow.SRB, c.n).B)
    return sup(A - A[0])


def norms(c: Case) -> float:
    """`‖M‖` along (RBn)."""
    return max(abs(so_n.norm(M) - so_n.norm(c.M)) for M in path(Flow.RB, c.n).B)


def manakov(c: Case) -> float:
    """Manakov's integrals along (RBn), relative."""
    values = np.array([so_n.manakov_integrals(c.body, M) for M in path(Flow.RB, c.n).B])
    return sup(values / values[0] - 1.0)


def scaling(c: Case) -> float:
    """`εM(εt), Q(εt)` against the solution itself."""
    epsilon, M = so_n.scale_into_domain(c.M, 0.4)
    slow = so_n.integrate(Flow.RB, c.body, c.Q, M, TIMES / epsilon)
    return gap((slow.A[-1], slow.B[-1] / epsilon), last(path(Flow.RB, c.n)))


def rows() -> Iterator[Row]:
    """Sections 2 and 3 without the symplectic structure."""
    yield bound("proposition 2.1", "(Qᵀ, −M) solves (RightRBn)", worst(right), TRAJECTORY)
    lax = worst(lambda c: so_n.lax_residual(c.body, c.M, 0.7))
    yield bound("(2.4), λ = 0.7", "(RBn) is a Lax equation with parameter", lax, ROUNDOFF)
    yield bound("Manakov integrals along (RBn), relative", "integrals", worst(manakov), 1e-10)
    yield bound("propositions 3.1, 3.12: Ψ", "(SRBn) maps to (RBn)", worst(symmetric_to_momentum), TRAJECTORY)
    yield bound("theorem 3.12 (printed SDRBn): Ψ⁻¹", "(RBn) maps to (SRBn)", worst(momentum_to_symmetric), TRAJECTORY)
    yield bound("proposition 3.2: m = QMQᵀ", "conserved", worst(spatial), TRAJECTORY)
    yield bound("after 3.2: A = PQᵀ", "conserved", worst(constant), TRAJECTORY)
    yield bound("proposition 3.4", "(Qᵀ, Pᵀ) solves (RightSRBn)", worst(right_symmetric), TRAJECTORY)
    yield bound("after 3.3: QᵀP − PᵀQ, right", "conserved", worst(right_momentum), TRAJECTORY)
    yield bound("proposition 3.7: ‖M‖", "invariant", worst(norms), TRAJECTORY)
    yield bound("proposition 3.13 (corrected: εM(εt), Q(εt))", "scaled solutions", worst(scaling), TRAJECTORY)
    yield from integrability_rows()
    yield from domain_rows()


def integrability_rows() -> Iterator[Row]:
    """Number of Manakov's integrals and their involution."""
    for n in (3, 4, 5, 6):
        c = case(n)
        gradients = so_n.manakov_gradients(c.body, c.M)
        unit = gradients / np.linalg.norm(gradients, axis=(1, 2))[:, None, None]
        needed = (n * (n - 1) // 2 + n // 2) // 2
        rank = int(np.linalg.matrix_rank(unit.reshape(len(unit), -1), tol=1e-10))
        brackets = np.array([so_n.pairing(c.M, a @ b - b @ a) for a in unit for b in unit])
        what = f"SO({n}): independent Manakov integrals"
        yield statement(what, f"the right number: {needed}", str(rank), rank == needed)
        yield bound(f"SO({n}): their Lie–Poisson brackets", "in involution", sup(brackets), ROUNDOFF)


def domain_rows() -> Iterator[Row]:
    """The sets C and S, and the solution P of (3.1)."""
    rng = np.random.default_rng(35)
    largest = max(so_n.norm(S - S.T) for S in (so_n.cayley(so_n.skew(rng.normal(size=6), 4)) for _ in range(200)))
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    c_hat = so_n.skew((-axis[2], axis[1], -axis[0]), 3)
    on_C = np.outer(axis, axis) + c_hat
    turn = scipy.linalg.expm(np.arcsin(0.6) * c_hat)
    solved = worst(lambda c: gap(so_n.Psi(c.Q, c.P, c.h), (c.Q, c.M)))
    yield statement("‖QᵀP − PᵀQ‖ over 200 random pairs", "at most 2", f"{largest:.4f}", largest <= 2.0)
    yield bound("SO(3), S = ccᵀ + ĉ (printed 1 + ĉ): |SᵀS − 1|", "in SO(3)", sup(on_C.T @ on_C - np.eye(3)), ROUNDOFF)
    yield close("SO(3), S = ccᵀ + ĉ: ‖S − Sᵀ‖", "2, on C", so_n.norm(on_C - on_C.T), 2.0, ROUNDOFF)
    yield bound("SO(3): exp(asinh(μĉ)), μ = 0.6", "exp(asin(μ)ĉ)", sup(so_n.exp_asinh(1.2 * c_hat) - turn), ROUNDOFF)
    yield bound("proposition 3.6: M − (QᵀP − PᵀQ)", "P = Q exp(asinh(M/2))", solved, ROUNDOFF)
