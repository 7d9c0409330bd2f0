"""Compiled steps of the director schemes: a saddle-point system solved by Newton.

With `X = D⁺ − D`, a step of either scheme solves `E X + L Ds − (h²/2) F(D̄) = B` for the increment and the multipliers
in `L`; `Ds` is `D̄` (energy–momentum) or `D` (Lagrange–d'Alembert), and `B` carries the momentum in. See
`attitude.truth.directors` for the meaning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attitude.core.jit import Array, kernel
from attitude.core.linalg import OK, solve_in_place

UPDATE_TOLERANCE = 1e-11  # last Newton update of a director: the next would be its square, below roundoff
MAX_ITERATIONS = 40  # Newton takes 3 or 4; a step that is far too long never ends
MEAN, START = 0.5, 0.0  # where the constraint forces act: at D̄ (energy–momentum), at D (Lagrange–d'Alembert)


class Work(NamedTuple):
    """Scratch of one step: right side, increment, load, multipliers, mean and forced directors, saddle-point system."""

    B: Array
    X: Array
    F: Array
    L: Array
    Dm: Array
    Ds: Array
    A: Array
    b: Array
    x: Array


def workspace() -> Work:
    """Zeroed scratch for a run: the increment and the multipliers start from zero."""
    B, X, F, L, Dm, Ds = np.zeros((6, 3, 3))
    return Work(B, X, F, L, Dm, Ds, np.zeros((16, 16)), np.zeros((16, 1)), np.zeros(7))


# ------------------------------------------------------------------ kernels: one step
@kernel
def _combine(u: float, U: Array, v: float, V: Array, out: Array) -> None:
    """`out = u U + v V`, 3×3."""
    for i in range(3):
        for a in range(3):
            out[i, a] = u * U[i, a] + v * V[i, a]


@kernel
def _times(M: Array, V: Array, out: Array) -> None:
    """`out = M V`, 3×3; `out` must not be `V`."""
    for i in range(3):
        for a in range(3):
            out[i, a] = M[i, 0] * V[0, a] + M[i, 1] * V[1, a] + M[i, 2] * V[2, a]


@kernel
def _load(d: Array, c: Array, f: Array) -> None:
    """Generalised force of the moment `m = Σ c_k d_k`: `f_i = ½ m × d_i` (68), (84)."""
    x = c[0] * d[0, 0] + c[1] * d[1, 0] + c[2] * d[2, 0]
    y = c[0] * d[0, 1] + c[1] * d[1, 1] + c[2] * d[2, 1]
    z = c[0] * d[0, 2] + c[1] * d[1, 2] + c[2] * d[2, 2]
    for i in range(3):
        f[i, 0] = 0.5 * (y * d[i, 2] - z * d[i, 1])
        f[i, 1] = 0.5 * (z * d[i, 0] - x * d[i, 2])
        f[i, 2] = 0.5 * (x * d[i, 1] - y * d[i, 0])


@kernel
def _multiplier_matrix(x: Array, L: Array) -> None:
    """`L` from the multipliers of `½|d1|², ½|d2|², ½|d3|², d2·d3, d3·d1, d1·d2` and of the twist."""
    L[0, 0], L[1, 1], L[2, 2] = x[0], x[1], x[2]
    L[1, 2] = L[2, 1] = x[3]
    L[0, 2] = L[2, 0] = x[4]
    L[0, 1], L[1, 0] = x[5] + x[6], x[5] - x[6]


@kernel
def _evaluate(D: Array, c: Array, at: float, w: Work, D1: Array) -> None:
    """From the increment: the end, the mean, the directors at which the constraint forces act, the load and `L`."""
    _combine(1.0, D, 1.0, w.X, D1)
    _combine(1.0, D, 0.5, w.X, w.Dm)
    _combine(1.0, D, at, w.X, w.Ds)
    _load(w.Dm, c, w.F)
    _multiplier_matrix(w.x, w.L)


@kernel
def _put_balance(E: Array, k: float, w: Work) -> None:
    """Minus the residual of the nine balances `E(D⁺ − D) + L Ds − k F = B`."""
    for i in range(3):
        for a in range(3):
            r = w.B[i, a] + k * w.F[i, a]
            for j in range(3):
                r -= E[i, j] * w.X[j, a] + w.L[i, j] * w.Ds[j, a]
            w.b[3 * i + a, 0] = r


@kernel
def _dot(u: Array, v: Array) -> float:
    """`u·v`."""
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


@kernel
def _put_misses(D: Array, w: Work) -> None:
    """Minus the residual of the constraints: unit lengths and right angles kept, in the form (90), and no twist.

    Written in the increment `X`: the roundoff of `D`, times 2/h, must not enter the velocities, which never forget it.
    """
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        w.b[9 + i, 0] = -_dot(w.X[i], w.Dm[i])
        w.b[12 + i, 0] = -_dot(w.X[j], w.Dm[k]) - _dot(w.X[k], w.Dm[j])
    w.b[15, 0] = _dot(D[0], w.X[1]) - _dot(D[1], w.X[0])


@kernel
def _add_skew(A: Array, i: int, j: int, scale: float, v: Array) -> None:
    """Add `scale S(v)` to the 3×3 block `(i, j)` of `A`."""
    r, s = 3 * i, 3 * j
    A[r, s + 1] -= scale * v[2]
    A[r, s + 2] += scale * v[1]
    A[r + 1, s] += scale * v[2]
    A[r + 1, s + 2] -= scale * v[0]
    A[r + 2, s] -= scale * v[1]
    A[r + 2, s + 1] += scale * v[0]


@kernel
def _put_stiffness(E: Array, c: Array, k: float, at: float, w: Work) -> None:
    """Derivative of the balances by `D⁺`: `E + at L` on every component, and `−(k/2) ∂F/∂D̄`."""
    w.A[:, :] = 0.0
    for i in range(3):
        for j in range(3):
            for a in range(3):
                w.A[3 * i + a, 3 * j + a] += E[i, j] + at * w.L[i, j]
            _add_skew(w.A, i, j, 0.25 * k * c[j], w.Dm[i])
            _add_skew(w.A, i, i, -0.25 * k * c[j], w.Dm[j])


@kernel
def _put_borders(D: Array, D1: Array, Ds: Array, A: Array) -> None:
    """Columns: where the constraint forces act, `Ds`; rows: gradients of the constraints at the end of the step."""
    for a in range(3):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            A[3 * i + a, 9 + i], A[9 + i, 3 * i + a] = Ds[i, a], D1[i, a]
            A[3 * j + a, 12 + i], A[12 + i, 3 * j + a] = Ds[k, a], D1[k, a]
            A[3 * k + a, 12 + i], A[12 + i, 3 * k + a] = Ds[j, a], D1[j, a]
        A[a, 15], A[15, a] = Ds[1, a], D[1, a]
        A[3 + a, 15], A[15, 3 + a] = -Ds[0, a], -D[0, a]


@kernel
def _update(w: Work, n: int) -> float:
    """Add the Newton correction; the largest change of a director component."""
    largest = 0.0
    for i in range(9):
        w.X[i // 3, i % 3] += w.b[i, 0]
        largest = max(largest, abs(w.b[i, 0]))
    for i in range(n - 9):
        w.x[i] += w.b[9 + i, 0]
    return largest


@kernel
def _determinant(D: Array) -> float:
    """+1 for a frame, −1 for its mirror image, which obeys the same constraints."""
    return (
        D[0, 0] * (D[1, 1] * D[2, 2] - D[1, 2] * D[2, 1])
        + D[0, 1] * (D[1, 2] * D[2, 0] - D[1, 0] * D[2, 2])
        + D[0, 2] * (D[1, 0] * D[2, 1] - D[1, 1] * D[2, 0])
    )


@kernel
def _polish(D: Array) -> None:
    """Take the roundoff out of nearly orthonormal rows, so that it does not add up over the steps."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        scale = 1.5 - 0.5 * _dot(D[i], D[i])
        angle = 0.5 * _dot(D[j], D[k])
        for a in range(3):
            D[i, a] *= scale
            D[j, a], D[k, a] = D[j, a] - angle * D[k, a], D[k, a] - angle * D[j, a]


@kernel
def _step(D: Array, E: Array, c: Array, k: float, at: float, n: int, w: Work, D1: Array) -> bool:
    """Newton for `E X + L Ds − k F(D̄) = B` from the guess in `w.X`, `D1 = D + X`; false if it fails or mirrors `D`."""
    for _ in range(MAX_ITERATIONS):
        _evaluate(D, c, at, w, D1)
        _put_balance(E, k, w)
        _put_misses(D, w)
        _put_stiffness(E, c, k, at, w)
        _put_borders(D, D1, w.Ds, w.A)
        if solve_in_place(w.A[:n, :n], w.b[:n]) != OK:
            return False
        if _update(w, n) <= UPDATE_TOLERANCE:
            _evaluate(D, c, at, w, D1)
            _polish(D1)
            return _determinant(D1) > 0.0  # false for NaN too
    return False


# ------------------------------------------------------------------ kernels: a run; the steps done are the status
@kernel
def run_energy_momentum(E: Array, c: Array, h: float, n: int, w: Work, D: Array, V: Array) -> int:
    """Fill directors `D` and `V = h Ḋ` from their first entries, eq. (86), (92)."""
    for s in range(D.shape[0] - 1):
        _combine(1.0, V[s], 0.0, V[s], w.X)
        _times(E, V[s], w.B)
        if not _step(D[s], E, c[s], 0.5 * h * h, MEAN, n, w, D[s + 1]):
            return s
        _combine(2.0, w.X, -1.0, V[s], V[s + 1])  # in h Ḋ: a rounded factor 2/h would pump energy
    return D.shape[0] - 1


@kernel
def run_lagrange_dalembert(E: Array, c: Array, h: float, n: int, w: Work, D: Array, P: Array) -> int:
    """Fill directors `D` and `P = h p`, p at the start of each step, from their first entries, eq. (124), (125)."""
    _combine(1.0, P[0], 0.0, P[0], w.B)
    for s in range(D.shape[0] - 1):
        if not _step(D[s], E, c[s], 0.5 * h * h, START, n, w, D[s + 1]):
            return s
        if s > 0:  # half of the constraint impulse belongs to either side (125)
            _times(w.L, D[s], w.Ds)
            _combine(1.0, w.B, -0.5, w.Ds, P[s])
        _times(E, w.X, w.B)
        _combine(1.0, w.B, 0.5 * h * h, w.F, w.B)
    return D.shape[0] - 1
