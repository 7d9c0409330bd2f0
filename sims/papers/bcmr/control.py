"""Sections 5, 6 and 8: optimal control, the systems that come from it, and the Lax forms of the conclusion."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import scipy.linalg

from attitude.core.jit import Array
from attitude.truth import so_n
from attitude.truth.so_n import Extremal, Flow
from sims.papers.bcmr.cases import ATTITUDE, ROUNDOFF, TRAJECTORY, Case, case, cases, gap, sup, worst
from sims.papers.bcmr.continuous import TIMES
from sims.papers.table import Row, bound, statement

DURATION, STEPS = 2.0, 40  # s; steps of the discrete problem
LEVEL = 0.7  # λ of the Lax forms
POWERS = (2, 3, 4)


def target(c: Case) -> Array:
    """Final attitude, about a radian away."""
    return np.asarray(c.Q @ so_n.cayley(0.6 * so_n.skew(ATTITUDE[c.n][::-1], c.n)))


@cache
def motion(n: int) -> Extremal:
    """Solution of problem 5.1."""
    return so_n.optimal_motion(case(n).body, case(n).Q, target(case(n)), DURATION)


@cache
def steps(n: int) -> Extremal:
    """Solution of problem 6.4."""
    return so_n.optimal_steps(case(n).body, case(n).Q, target(case(n)), STEPS, DURATION / STEPS)


def gain(c: Case, sign: float) -> float:
    """Change of the discrete functional when the inner attitudes are moved along a seeded direction."""
    Q, rng = steps(c.n).Q.copy(), np.random.default_rng(64)
    for k in range(1, len(Q) - 1):
        Q[k] = Q[k] @ scipy.linalg.expm(sign * 1e-3 * so_n.skew(rng.normal(size=c.n * (c.n - 1) // 2), c.n))
    return float(np.einsum("kij,j,kij->", Q[:-1], c.body.lam, Q[1:])) - steps(c.n).cost


def cost_ratio(c: Case) -> float:
    """`(N tr Λ − Σ tr ΛU_k)/2h` over the continuous cost, less one: O(h²)."""
    discrete = (STEPS * c.body.lam.sum() - steps(c.n).cost) / (2.0 * DURATION / STEPS)
    return float(discrete / motion(c.n).cost - 1.0)


def mclachlan_scovel(c: Case) -> float:
    """(5.5) against (SRBn), at the end."""
    Q, P = so_n.Psi_inverse(c.Q, 0.5 * c.M)
    costate = so_n.integrate(Flow.MCLACHLAN_SCOVEL, c.body, *so_n.momentum_to_costate(Q, P), TIMES)
    symmetric = so_n.integrate(Flow.SRB, c.body, Q, P, TIMES)
    return gap((costate.A[-1], costate.B[-1]), so_n.momentum_to_costate(symmetric.A[-1], symmetric.B[-1]))


def brackets(c: Case) -> float:
    """(5.9) against (5.10)."""
    lam_U = c.body.lam[::-1] + 0.5
    plain = so_n.coupled_field(lam_U, c.body.lam)(c.Q, c.P)
    double = so_n.double_bracket_field(lam_U, c.body.lam, c.n)(so_n.hat(c.Q), so_n.hat(c.P))
    return gap((so_n.hat(plain[0]), so_n.hat(plain[1])), double)


def limits(c: Case) -> float:
    """(5.9) with one J infinite against (SRBn) and (RightSRBn)."""
    left = gap(so_n.coupled_field(None, c.body.lam)(c.Q, c.P), so_n.vector_field(Flow.SRB, c.body)(c.Q, c.P))
    right = gap(so_n.coupled_field(c.body.lam, None)(c.Q, c.P), so_n.vector_field(Flow.RIGHT_SRB, c.body)(c.Q, c.P))
    return max(left, right)


def traces(A: Array) -> Array:
    """`tr A^k` for a few k."""
    return np.array([np.trace(np.linalg.matrix_power(A, k)) for k in POWERS])


def block_integrals(c: Case) -> float:
    """(8.8): `tr([P̂, Q̂] + λ diag(0, Λ²))^k` is Manakov's integral plus that of the spatial momentum."""
    P, Q = so_n.hat(c.P), so_n.hat(c.Q)
    block = P @ Q - Q @ P
    whole = traces(block + LEVEL * np.diag(np.concatenate([np.zeros(c.n), c.body.lam**2])))
    return sup(whole - traces(c.m + LEVEL * np.diag(c.body.lam**2)) - traces(block[: c.n, : c.n]))


def reduced_integrals(c: Case) -> float:
    """(8.3), relative."""
    return sup(so_n.manakov_symmetric(c.body, c.Q, c.P) / so_n.manakov_integrals(c.body, c.m) - 1.0)


def reduced_field(c: Case) -> float:
    """(8.2): Q̇ from Q and `A = PQᵀ` alone."""
    A = c.P @ c.Q.T
    Omega = c.body.J_inverse(c.Q.T @ (A - A.T) @ c.Q)
    return sup(c.Q @ Omega - so_n.vector_field(Flow.SRB, c.body)(c.Q, c.P)[0])


def discrete_lax(c: Case) -> float:
    """(8.11)."""
    after = c.h * so_n.Phi(c.body, c.Q, c.M, c.h)[1]
    return so_n.discrete_lax_residual(c.body, c.m, after, c.U, LEVEL)


def rows() -> Iterator[Row]:
    """Sections 5, 6 and 8."""
    change = max(gain(c, sign) for c in cases() for sign in (-1.0, 1.0))
    misses = [worst(lambda c, solve=solve: solve(c.n).miss) for solve in (motion, steps)]  # type: ignore[misc]
    yield bound("proposition 5.2: miss of the final attitude, rad", "optimal motion", misses[0], 1e-11)
    yield bound("theorem 6.5: miss of the final attitude, rad", "optimal steps", misses[1], 1e-11)
    yield statement("definition 6.4 (corrected: a maximum)", "extremal", f"neighbours: {change:.2e}", change < 0.0)
    yield bound("problem 6.4 against 5.1: cost, relative, h = 0.05", "discrete version", worst(cost_ratio), 1e-3)
    yield bound("(5.5) McLachlan–Scovel, B = P − QPᵀQ", "equals (SRBn)", worst(mclachlan_scovel), TRAJECTORY)
    yield bound("corollary 5.5: (5.9) − (5.10)", "coupled double bracket", worst(brackets), ROUNDOFF)
    yield bound("(5.9), J_U or J_V infinite", "(SRBn) or (RightSRBn)", worst(limits), ROUNDOFF)
    yield bound("(8.2) (corrected: Qᵀ(A − Aᵀ)Q)", "reduced flow", worst(reduced_field), ROUNDOFF)
    yield bound("(8.3), relative", "Manakov integrals", worst(reduced_integrals), 1e-12)
    yield bound("(8.8) (corrected: diag(0, Λ²)), λ = 0.7", "Manakov integrals", worst(block_integrals), 1e-10)
    yield bound("(8.11), λ = 0.7", "discrete Lax equation", worst(discrete_lax), ROUNDOFF)
