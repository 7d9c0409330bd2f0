"""Optimal control between two attitudes on SO(n), continuous and discrete, by shooting on the first momentum.

The extremals are the free motions, (SRBn) and (SDRBn) in the form (RBn) and (MDRBn), which asks nothing of `‖M‖ < 2`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from attitude.core.jit import Array
from attitude.truth.so_n.body import BodyN, check_count, check_rotation, check_step, skew, upper
from attitude.truth.so_n.continuous import Flow, integrate
from attitude.truth.so_n.discrete import System, run

MAX_ITERATIONS = 30
MAX_HALVINGS = 12
DIFFERENCE = 1e-6  # forward difference of M0, relative to |M0|: near convergence Newton gains a factor of about 1e6
MISS = 1e-10  # rad: largest distance from the final attitude that counts as reached


@dataclass(frozen=True)
class Extremal:
    """Solution: times `t`, s, attitudes `Q` and momenta `M`, shapes `(N, n, n)`; `cost`; `miss`, rad, at the end."""

    t: Array
    Q: Array
    M: Array
    cost: float
    miss: float


def log_rotation(R: Array) -> Array:
    """Skew logarithm of a rotation, every angle in (−π, π], by its real Schur form."""
    T, V = scipy.linalg.schur(R, output="real")
    K, turned, i = np.zeros_like(T), [], 0
    while i < T.shape[0]:
        if i + 1 < T.shape[0] and T[i + 1, i] != 0.0:
            K[i + 1, i] = np.arctan2(0.5 * (T[i + 1, i] - T[i, i + 1]), 0.5 * (T[i, i] + T[i + 1, i + 1]))
            i += 2
        else:
            turned += [i] if T[i, i] < 0.0 else []
            i += 1
    for a, b in zip(turned[::2], turned[1::2], strict=True):  # eigenvalues −1 come in pairs: half turns
        K[b, a] = np.pi
    return np.asarray(V @ (K - K.T) @ V.T)


def optimal_motion(body: BodyN, Q0: ArrayLike, QT: ArrayLike, T: float, *, M0: ArrayLike | None = None) -> Extremal:
    """Motion that minimises `¼∫⟨U, J(U)⟩dt`, `Q̇ = QU`, from Q0 to QT in T seconds. BCMR 2002, definition 5.1.

    A local minimum near the start `M0`, which is by default the momentum of the straight path from Q0 to QT.
    """
    T = check_step(T)
    Q0, QT = check_rotation(Q0, body.n, "Q0"), check_rotation(QT, body.n, "QT")
    times = np.linspace(0.0, T, 101)
    M, miss = _shoot(lambda M: integrate(Flow.RB, body, Q0, M, [0.0, T]).A[-1], QT, _first_guess(body, Q0, QT, T, M0))
    path = integrate(Flow.RB, body, Q0, M, times)
    return Extremal(path.t, path.A, path.B, 0.5 * T * body.energy(M), miss)


def optimal_steps(
    body: BodyN, Q0: ArrayLike, QN: ArrayLike, steps: int, h: float = 1.0, *, M0: ArrayLike | None = None
) -> Extremal:
    """Rotations `U_0 … U_{N−1}` that maximise `Σ tr(ΛU_k)`, `Q_{k+1} = Q_k U_k`, from Q0 to QN in N = `steps` steps.

    BCMR 2002, definition 6.4 (corrected: N terms, a maximum). `cost` is that sum; h only gives M its unit.
    """
    steps, h = check_count(steps, "steps"), check_step(h)
    Q0, QN = check_rotation(Q0, body.n, "Q0"), check_rotation(QN, body.n, "QN")
    guess = _first_guess(body, Q0, QN, steps * h, M0)
    M, miss = _shoot(lambda M: run(System.MDRB, body, Q0, M, h, steps, steps).A[-1], QN, guess)
    path = run(System.MDRB, body, Q0, M, h, steps)
    actions = np.einsum("kji,kji->ki", path.A[:-1], path.A[1:]) @ body.lam  # tr(ΛU_k), U_k = Q_kᵀ Q_{k+1}
    return Extremal(path.t, path.A, path.B, float(actions.sum()), miss)


def _first_guess(body: BodyN, Q0: Array, QT: Array, T: float, M0: ArrayLike | None) -> Array:
    return body.J(log_rotation(Q0.T @ QT)) / T if M0 is None else np.asarray(M0, dtype=np.float64)


def _shoot(flow: Callable[[Array], Array], target: Array, M: Array) -> tuple[Array, float]:
    """Damped Newton on `log(flow(M)ᵀ target) = 0`; a trial outside the domain counts as a step too long."""
    n = target.shape[0]

    def miss(x: Array) -> Array:
        return upper(log_rotation(flow(skew(x, n)).T @ target))

    x = upper(M)
    r = miss(x)
    for _ in range(MAX_ITERATIONS):
        if np.linalg.norm(r) < 1e-13 * n:
            break
        x, r_next = _damped(miss, x, r, np.linalg.solve(_jacobian(miss, x, r), -r))
        if np.linalg.norm(r_next) >= np.linalg.norm(r):
            break
        r = r_next
    if np.linalg.norm(r) > MISS:
        raise ValueError(f"no extremal found: the best motion misses the final attitude by {np.linalg.norm(r):.3g} rad")
    return skew(x, n), float(np.linalg.norm(r))


def _jacobian(function: Callable[[Array], Array], x: Array, r: Array) -> Array:
    d = DIFFERENCE * max(float(np.abs(x).max()), 1e-3)
    return np.column_stack([(function(x + d * e) - r) / d for e in np.eye(x.size)])


def _damped(function: Callable[[Array], Array], x: Array, r: Array, dx: NDArray) -> tuple[Array, Array]:
    """Longest of `dx, dx/2, …` that brings the residual down; without one, the start again."""
    for k in range(MAX_HALVINGS):
        trial = x + dx / 2**k
        try:
            r_trial = function(trial)
        except ValueError:
            continue
        if np.linalg.norm(r_trial) < np.linalg.norm(r):
            return trial, r_trial
    return x, r
