"""Sections 4 and 7: Moser–Veselov, (SDRBn), their agreement and order, the diagram, the equation J_D(U) = M."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attitude.core.jit import Array
from attitude.truth import so_n
from attitude.truth.so_n import Flow, System
from attitude.truth.so_n.inverse import hamiltonian_matrix
from sims.papers.bcmr.cases import ROUNDOFF, Case, case, cases, gap, sup, worst
from sims.papers.table import Row, bound, close, statement

DURATION = 4.0  # s
ORDER_STEPS = DURATION / np.array([80, 160, 320, 640])
AGREEMENT = 1e-10  # after 200 steps: a momentum error of 1e-16/h‖M‖ per step, summed twice on the way to the attitude


def diagram_residuals(c: Case) -> dict[str, float]:
    """The four faces of the commutative diagram, as largest differences."""
    body, h, Q, Q1 = c.body, c.h, c.Q, c.Q1
    lagrange, hamilton, momentum = so_n.phi_L(body, Q, Q1), so_n.psi(body, Q, Q1), so_n.Sigma_L(body, Q, Q1, h)
    by_hamilton = so_n.Sigma_H(*so_n.phi_H(body, Q, c.P), h)
    return {
        "Σ^H ∘ ψ = Σ^L": gap(so_n.Sigma_H(*hamilton, h), momentum),
        "φ^H ∘ ψ = ψ ∘ φ^L": gap(so_n.phi_H(body, *hamilton), so_n.psi(body, *lagrange)),
        "Φ ∘ Σ^L = Σ^L ∘ φ^L": gap(so_n.Phi(body, *momentum, h), so_n.Sigma_L(body, *lagrange, h)),
        "Φ ∘ Σ^H = Σ^H ∘ φ^H": gap(so_n.Phi(body, *so_n.Sigma_H(Q, c.P, h), h), by_hamilton),
    }


def order_errors(n: int) -> tuple[Array, Array]:
    """Errors after 4 s against DOP853: simultaneous pairing, and algorithm 2 as printed from a simultaneous pair."""
    c = case(n)
    exact = so_n.integrate(Flow.RB, c.body, c.Q, c.M, [0.0, DURATION]).A[-1]

    def error(system: System, h: float) -> float:
        steps = round(DURATION / h)
        return sup(so_n.run(system, c.body, c.Q, c.M, h, steps, steps).A[-1] - exact)

    simultaneous, printed = (np.array([error(s, h) for h in ORDER_STEPS]) for s in (System.MDRB, System.MV2))
    return simultaneous, printed


def order(errors: Array) -> float:
    """Slope of log error against log h."""
    return float(np.polyfit(np.log(ORDER_STEPS), np.log(errors), 1)[0])


def action_gradient(c: Case) -> float:
    """Derivative of `tr(Q_0ΛQ_1ᵀ) + tr(Q_1ΛQ_2ᵀ)` with respect to `Q_1`, all directions."""
    Q2 = so_n.phi_L(c.body, c.Q, c.Q1)[1]
    W = c.Q1.T @ ((c.Q + Q2) * c.body.lam)
    return sup(W - W.T)


def agreement(c: Case) -> float:
    """The four systems over 200 steps, attitudes."""
    steps = 200
    Q, M = so_n.algorithm_2_start(c.body, c.Q, c.M, c.h)
    mdrb = so_n.run(System.MDRB, c.body, c.Q, c.M, c.h, steps).A
    others = (
        so_n.run(System.SDRB, c.body, c.Q, c.P, c.h, steps).A,
        so_n.run(System.MV1, c.body, c.Q, c.Q1, c.h, steps).A,
        np.concatenate([[c.Q], so_n.run(System.MV2, c.body, Q, M, c.h, steps - 1).A]),
    )
    return max(sup(mdrb - other) for other in others)


def limit(c: Case) -> float:
    """`(U − 1)/h − Ω` for a small h."""
    h = 1e-6
    return sup((so_n.J_D_inverse(c.body, h * c.M) - np.eye(c.n)) / h - c.body.J_inverse(c.M))


def legendre(c: Case) -> float:
    """Theorem 7.1: `D1 S = −M_{k−1}`, `D2 S = M_k` as functionals `X -> tr(M X)`, S = 2 tr(Q_{k−1}ΛQ_kᵀ)."""
    Omega, lam, after = c.U.T, c.body.lam, so_n.Sigma_L(c.body, c.Q, c.Q1)[1]
    D1 = lam[:, None] * Omega  # D1 S(X) = 2 tr(ΛΩX): twice its skew part pairs with X
    D2 = -Omega * lam  # D2 S(X) = −2 tr(ΩΛX)
    return max(sup(D1 - D1.T + c.m), sup(D2 - D2.T - after))


def riccati(c: Case) -> float:
    """Lemma 7.3: the symmetric part S of UΛ solves (7.14)."""
    Z, half = c.U * c.body.lam, c.m / 2
    S = 0.5 * (Z + Z.T)
    return sup(S @ S + S @ half - half @ S - half @ half - np.diag(c.body.lam**2))


def interpolation(c: Case) -> float:
    """(7.15), (7.17), (7.19), corrected: symmetric weights that interpolate P between attitudes."""
    Z, one, L2 = c.U * c.body.lam, np.eye(c.n), np.diag(c.body.lam**2)
    ahead = c.Q.T @ c.P - Z  # (7.20)
    Q, P = so_n.psi(c.body, c.Q, c.Q1)
    W = c.U.T * c.body.lam  # Ω_{k−1} Λ
    behind = Q.T @ P + W  # (7.15)
    quadratic_ahead = ahead @ ahead + Z.T @ ahead + ahead @ Z + L2 - one  # (7.19)
    quadratic_behind = behind @ behind - W.T @ behind - behind @ W + L2 - one  # (7.17)
    return max(sup(ahead - ahead.T), sup(behind - behind.T), sup(quadratic_ahead), sup(quadratic_behind))


def spectrum(c: Case) -> float:
    """Squared eigenvalues of H̄ before and after 100 steps."""
    momenta = so_n.run(System.MDRB, c.body, c.Q, c.M, c.h, 100, 100).B
    a, b = (np.sort_complex(np.linalg.eigvals(hamiltonian_matrix(c.body, c.h * M)) ** 2) for M in momenta)
    return sup(a - b)


def two_ways(c: Case) -> float:
    """`J_D⁻¹` by Newton and by the Schur form."""
    return sup(so_n.J_D_inverse(c.body, c.m) - so_n.J_D_inverse(c.body, c.m, method="schur"))


def rows() -> Iterator[Row]:
    """Sections 4 and 7 without the forms."""
    yield bound("(4.6): derivative of the functional", "stationary", worst(action_gradient), ROUNDOFF)
    yield bound("proposition 4.1: algorithms 1, 2, (SDRBn), (MDRBn)", "equivalent", worst(agreement), AGREEMENT)
    yield bound("theorem 4.2: (U − 1)/h − Ω, h = 1e-6", "limit", worst(limit), 1e-6)
    for n in (c.n for c in cases()):
        simultaneous, printed = order_errors(n)
        yield close(f"SO({n}): order of Moser–Veselov", "2", order(simultaneous), 2.0, 0.05)
        trap = f"SO({n}): order of algorithm 2 from simultaneous (Q0, M0)"
        yield close(trap, "1: its M is one step behind", order(printed), 1.0, 0.05)
    table = [diagram_residuals(c) for c in cases()]
    for face in table[0]:
        yield bound(face, "commutative diagram", max(line[face] for line in table), ROUNDOFF)
    least = min(float(np.linalg.eigvals(c.U * c.body.lam).real.min()) for c in cases())
    yield bound("theorem 7.1: D1 S + M_{k−1}, D2 S − M_k", "Legendre transform", worst(legendre), ROUNDOFF)
    yield bound("lemma 7.3: (7.14)", "Riccati equation", worst(riccati), ROUNDOFF)
    yield statement("theorem 7.5: least real part in the spectrum of UΛ", "positive", f"{least:.3f}", least > 0.0)
    yield bound("theorem 7.5: Newton on the group, Schur form of H̄", "one such solution", worst(two_ways), ROUNDOFF)
    yield bound("lemma 7.6: spectrum of H̄, squared, 100 steps", "domain kept at every step", worst(spectrum), 1e-10)
    yield bound("(7.15)–(7.21), corrected", "symmetric interpolation", worst(interpolation), ROUNDOFF)
