"""The symplectic structure: S as a symplectic submanifold, the Hamiltonian, the Dirac bracket, the pull-backs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from attitude.core.jit import Array
from attitude.truth import so_n
from attitude.truth.so_n import Flow, forms
from sims.papers.bcmr.cases import ROUNDOFF, SYMPLECTIC, Case, cases, sup, tangent, worst
from sims.papers.table import Row, bound, statement

NONDEGENERATE = 0.1  # Ω_gl has singular values of size one on S, and zero at its border


def units(n: int) -> list[Array]:
    """Basis of so(n)."""
    return [so_n.skew(e, n) for e in np.eye(n * (n - 1) // 2)]


def symplectic_matrix(point: forms.Pair) -> Array:
    """Ω_gl(n) in a basis of the tangent space of SO(n) × SO(n)."""
    n = point[0].shape[0]
    zero = np.zeros((n, n))
    basis = [(u, zero) for u in units(n)] + [(zero, u) for u in units(n)]
    return np.array([[forms.gl_form(point, v, w) for w in basis] for v in basis])


def least_singular(point: forms.Pair) -> float:
    """Smallest singular value of Ω_gl(n): zero where the form is degenerate."""
    return float(np.linalg.svd(symplectic_matrix(point), compute_uv=False)[-1])


def hamiltonian(c: Case) -> float:
    """`Ω(X_H, ·) − dH` for (3.6) in a random direction of gl(n) × gl(n); the difference is exact, H being quartic."""
    dQ, dP = np.random.default_rng(38).normal(size=(2, c.n, c.n))

    def H(s: float) -> float:
        Q, P = c.Q + s * dQ, c.P + s * dP
        M = Q.T @ P - P.T @ Q
        return -0.125 * float(np.trace(c.body.J_inverse(M) @ M))

    X, Y = so_n.vector_field(Flow.SRB, c.body)(c.Q, c.P)
    d = 1e-2
    slope = (8 * (H(d) - H(-d)) - (H(2 * d) - H(-2 * d))) / (12 * d)
    return 0.5 * float(np.trace(dP.T @ X - Y.T @ dQ)) - slope


def dirac(c: Case) -> float:
    """(3.15) against the inverse of the restricted form, for two linear functions."""
    F, K = np.random.default_rng(315).normal(size=(2, 2, c.n, c.n))

    def differential(G: Array) -> Array:
        return np.array([0.5 * np.sum(G[i] * (X @ u)) for i, X in enumerate((c.Q, c.P)) for u in units(c.n)])

    exact = differential(F) @ np.linalg.solve(symplectic_matrix((c.Q, c.P)).T, differential(K))
    return float(forms.dirac_bracket((c.Q, c.P), (F[0], F[1]), (K[0], K[1])) - exact)


def derivative(c: Case) -> float:
    """`δP = PX`, `SX + XSᵀ = δM`, against a difference of Ψ⁻¹."""
    dM, _ = tangent(c.n, 312)
    S = c.Q.T @ c.P
    d = 1e-3
    P = {k: so_n.Psi_inverse(c.Q, c.m + k * d * dM)[1] for k in (-2, -1, 1, 2)}
    return sup((8 * (P[1] - P[-1]) - (P[2] - P[-2])) / (12 * d) - c.P @ scipy.linalg.solve_sylvester(S, S.T, dM))


def pull_backs(c: Case) -> dict[str, float]:
    """Residuals of (3.11) and (7.12): the pulled back form less what the paper says it is."""
    body, v = c.body, (tangent(c.n, 1), tangent(c.n, 2))
    L, gl, omega = forms.lagrangian_form(body), forms.gl_form, forms.canonical_form
    lagrange, hamilton, momentum = (c.Q, c.Q1), (c.Q, c.P), (c.Q, c.m)
    GG, GV = (True, True), (True, False)  # group × group, group × vector space

    def residual(form: forms.Form, f: forms.Map, at: forms.Pair, groups: tuple, out: tuple, expected: float) -> float:
        return forms.pulled_back(form, f, at, v, groups, out) - expected

    def bind(f: object) -> forms.Map:
        return lambda a, b: f(body, a, b)  # type: ignore[operator]

    def Phi(Q: Array, m: Array) -> forms.Pair:
        return so_n.Phi(body, Q, m, 1.0)

    return {
        "(Σ^H)*ω = 2Ω_gl": residual(omega, so_n.Psi, hamilton, GG, GV, 2.0 * gl(hamilton, *v)),
        "(Σ^L)*ω = 2Ω_L": residual(omega, bind(so_n.Sigma_L), lagrange, GG, GV, 2.0 * L(lagrange, *v)),
        "ψ*Ω_gl = Ω_L": residual(gl, bind(so_n.psi), lagrange, GG, GG, L(lagrange, *v)),
        "(φ^L)*Ω_L = Ω_L": residual(L, bind(so_n.phi_L), lagrange, GG, GG, L(lagrange, *v)),
        "(φ^H)*Ω_gl = Ω_gl": residual(gl, bind(so_n.phi_H), hamilton, GG, GG, gl(hamilton, *v)),
        "Φ*ω = ω": residual(omega, Phi, momentum, GV, GV, omega(momentum, *v)),
    }


def rows() -> Iterator[Row]:
    """Propositions 3.8 to 3.14 and (7.12)."""
    least = min(least_singular((c.Q, c.P)) for c in cases())
    outside = least_singular((np.diag([-1.0, -1.0, 1.0]), np.eye(3)))
    yield bound("proposition 3.8: Ω(X_H, ·) − dH", "Hamiltonian system", worst(hamiltonian), ROUNDOFF)
    what = "proposition 3.9: least singular value of Ω_gl"
    yield statement(what, "nondegenerate on S", f"{least:.3f}", least > NONDEGENERATE)
    yield bound("the same at P = 1, Q = diag(−1, −1, 1)", "degenerate outside S", outside, ROUNDOFF)
    yield bound("(3.12) (corrected: SX + XSᵀ = δM)", "derivative of P", worst(derivative), 1e-10)
    yield bound("proposition 3.14: Dirac bracket", "(3.15)", worst(dirac), 1e-12)
    table = [pull_backs(c) for c in cases()]
    for name in table[0]:
        yield bound(name, "(3.11), (7.12)", max(abs(line[name]) for line in table), SYMPLECTIC)
