"""Long runs of (SDRBn): what ten thousand steps lose of each conserved quantity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attitude.core.jit import Array
from attitude.truth import so_n
from attitude.truth.so_n import System, Trajectory
from sims.papers.bcmr.cases import Case, H, case
from sims.papers.table import Row, bound

STEPS = 10_000
DIMENSIONS = (3, 4, 6, 10)
LIMITS = {
    "momentum A = PQᵀ": 1e-11,
    "Manakov integrals": 1e-10,
    "orthogonality of Q": 1e-11,
    "energy": 1e-10,
    "discrete Hamiltonian": 1e-10,
}


@dataclass(frozen=True)
class Drift:
    """Deviations at times `t`, s, each relative to the quantity itself."""

    t: Array
    curves: dict[str, Array]


def drift(n: int) -> Drift:
    """Conserved quantities over 1e4 steps of 0.1 s."""
    c = case(n, H)
    path = so_n.run(System.SDRB, c.body, c.Q, c.P, H, STEPS, 50)
    pairs = list(zip(path.A, path.B, strict=True))
    momenta = [so_n.Psi(Q, P, H)[1] for Q, P in pairs]
    curves = (
        momentum_loss(path),
        _relative(np.array([so_n.manakov_symmetric(c.body, Q, P) for Q, P in pairs])).max(1),
        np.abs(np.swapaxes(path.A, 1, 2) @ path.A - np.eye(n)).max((1, 2)),
        _relative(np.array([c.body.energy(M) for M in momenta])),
        _relative(np.array([hamiltonian_above_rest(c, M) for M in momenta])),
    )
    return Drift(path.t, dict(zip(LIMITS, curves, strict=True)))


def momentum_loss(path: Trajectory) -> Array:
    """Change of `A − Aᵀ`, the spatial momentum times h, relative to its norm."""
    A = so_n.symmetric_momentum(path.A, path.B)
    m = A - np.swapaxes(A, 1, 2)
    return np.asarray(np.abs(m - m[0]).max((1, 2)) / so_n.norm(m[0]))


def hamiltonian_above_rest(c: Case, M: Array) -> float:
    """Discrete Hamiltonian less its value at rest, `−n − tr Λ`, beside which the motion's share, O(h²), is lost."""
    return below_trace(np.ones(c.n), so_n.exp_asinh(H * M)) + below_trace(c.body.lam, so_n.J_D_inverse(c.body, H * M))


def below_trace(weights: Array, R: Array) -> float:
    """`tr W − tr(WR)` for a rotation R and diagonal W, without cancellation: `1 − R_ii = Σ_{j≠i} R_ij²/(1 + R_ii)`."""
    inner = np.diag(R)
    return float(weights @ (((R - np.diag(inner)) ** 2).sum(1) / (1.0 + inner)))


def rows(drifts: dict[int, Drift]) -> Iterator[Row]:
    """Largest deviations."""
    for n, run in drifts.items():
        for name, curve in run.curves.items():
            yield bound(f"SO({n}), 1e4 steps: {name}", "conserved", float(curve.max()), LIMITS[name])


def _relative(values: Array) -> Array:
    return np.asarray(np.abs(values / values[0] - 1.0))
