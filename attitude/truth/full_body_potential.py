"""Potential of the full body problem, its force and its moment, pair by pair (LLM 2007, eq. (14), (24), (53)).

A pair potential depends on body i seen from body j: `X = R_jᵀ(x_i − x_j)`, `R = R_jᵀ R_i`. With its derivatives

    force on j     R_j ∂U/∂X,  on i the opposite                     inertial axes
    M = Σ_p r_p × u_p    r_p, u_p columns of R and ∂U/∂R (53)
    moment on i    −Rᵀ M    in axes of i                            moment on j    X × ∂U/∂X + M    in axes of j

The state of a run is one array `y` `(n, 18)`, a row per body, everything in principal axes:

    inertial    [x_i, γ_i, R_i, Π_i]
    relative    [X, Γ, R, Π] and [x_2, γ_2, R_2, Π_2]      n = 2; Γ = m V, Π = R Π_1 in axes of body 2

with velocities and rates in place of the momenta in the Lagrangian forms.

A user's potential is a function that numba can compile,

    U = potential(i, j, X, R, dU_dX, dU_dR)

with body numbers `i < j` in the order of the system, `X` `(3,)` and `R` `(3, 3)` in the users' body axes; it returns
U, J, and writes ∂U/∂X `(3,)` and ∂U/∂R `(3, 3)` (entry by entry, as if R were free) into the last two. The energy of
a system is the sum over all pairs. Pairs with an infinite U count as a collision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numba.experimental.function_type  # teaches numba to take a function by its address as an argument
import numpy as np
from numba import types

from attitude.core.jit import Array, kernel

ROW = 18  # numbers per body: position from 0, momentum from 3, attitude from 6 (row by row), angular momentum from 15

_VECTOR, _MATRIX = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
_SIGNATURE = types.float64(types.int64, types.int64, _VECTOR, _MATRIX, _VECTOR, _MATRIX)


class Parameters(NamedTuple):
    """What the kernels know of a system; mass points of body i are `first[i]` to `first[i + 1]`, principal axes."""

    mass: Array  # (n,), kg
    reduced: float  # m1 m2/(m1 + m2) of the first two bodies, kg
    J: Array  # (n, 3), kg m²
    first: np.ndarray
    points: Array  # (points, 4): place from the mass centre, m, and mass, kg
    G: float  # m³/(kg s²)
    axes: Array  # (n, 3, 3), R_BP: to the users' body axes
    given: bool  # whether the user gave the potential


class Work(NamedTuple):
    """Scratch: the pair at hand, in principal and in users' axes, and the forces and moments on all bodies.

    Rows of `pair` and of `users`: X, R (three), ∂U/∂X, ∂U/∂R (three); `users` has three more for a product.
    """

    pair: Array  # (8, 3)
    users: Array  # (11, 3)
    grad: Array  # (n, 3): ∂U/∂x_i, inertial axes; relative: ∂U/∂X in axes of body 2, then ∂U/∂x_2
    moment: Array  # (n, 3): on each body in its axes; relative: −M in axes of body 2, then X × ∂U/∂X + M


def workspace(n: int) -> Work:
    """Zeroed scratch for `n` bodies."""
    return Work(np.zeros((8, 3)), np.zeros((11, 3)), np.zeros((n, 3)), np.zeros((n, 3)))


class _Gravity(types.WrapperAddressProtocol):
    """Stands where a user's potential would: gravity is compiled in, so it is never called."""

    def __wrapper_address__(self) -> int:
        return -1

    def signature(self) -> Any:
        return _SIGNATURE


GRAVITY = _Gravity()


def compile_potential(function: Callable[..., Any]) -> Any:
    """Compiled form of a user's potential, called by address: the kernels are not compiled again for it."""
    if not callable(function):
        raise ValueError(f"potential must be a function (i, j, X, R, dU_dX, dU_dR) -> U, got {function!r}")
    try:
        return numba.cfunc(_SIGNATURE, error_model="numpy")(getattr(function, "py_func", function))
    except (numba.core.errors.NumbaError, TypeError) as error:  # TypeError: another number of arguments
        reason = str(error).strip().splitlines()[-1]
        raise ValueError(f"potential must compile as (i, j, X, R, dU_dX, dU_dR) -> U, got: {reason}") from error


# ------------------------------------------------------------------ vectors by components
@kernel
def cross(a: float, b: float, c: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """`(a, b, c) × (x, y, z)`."""
    return b * z - c * y, c * x - a * z, a * y - b * x


@kernel
def to_outer(y: Array, i: int, a: float, b: float, c: float) -> tuple[float, float, float]:
    """`R_i (a, b, c)` with the attitude in row `i` of the state."""
    return (
        y[i, 6] * a + y[i, 7] * b + y[i, 8] * c,
        y[i, 9] * a + y[i, 10] * b + y[i, 11] * c,
        y[i, 12] * a + y[i, 13] * b + y[i, 14] * c,
    )


@kernel
def to_body(y: Array, i: int, a: float, b: float, c: float) -> tuple[float, float, float]:
    """`R_iᵀ (a, b, c)` with the attitude in row `i` of the state."""
    return (
        y[i, 6] * a + y[i, 9] * b + y[i, 12] * c,
        y[i, 7] * a + y[i, 10] * b + y[i, 13] * c,
        y[i, 8] * a + y[i, 11] * b + y[i, 14] * c,
    )


@kernel
def _multiply(A: Array, transpose_a: bool, B: Array, transpose_b: bool, out: Array) -> None:
    """`out = A B`, 3×3, with either factor transposed; `out` is neither."""
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += (A[k, i] if transpose_a else A[i, k]) * (B[j, k] if transpose_b else B[k, j])
            out[i, j] = total


# ------------------------------------------------------------------ one pair
@kernel
def _gravity(p: Parameters, i: int, j: int, w: Array) -> float:
    """U of one pair and its derivatives, every mass point of i against every one of j (14)."""
    U = 0.0
    w[4:] = 0.0
    for a in range(p.first[i], p.first[i + 1]):
        r1, r2, r3 = p.points[a, 0], p.points[a, 1], p.points[a, 2]
        u1 = w[0, 0] + w[1, 0] * r1 + w[1, 1] * r2 + w[1, 2] * r3
        u2 = w[0, 1] + w[2, 0] * r1 + w[2, 1] * r2 + w[2, 2] * r3
        u3 = w[0, 2] + w[3, 0] * r1 + w[3, 1] * r2 + w[3, 2] * r3
        f1, f2, f3 = 0.0, 0.0, 0.0
        for b in range(p.first[j], p.first[j + 1]):
            d1, d2, d3 = u1 - p.points[b, 0], u2 - p.points[b, 1], u3 - p.points[b, 2]
            inverse = 1.0 / math.sqrt(d1 * d1 + d2 * d2 + d3 * d3)
            k = p.G * p.points[a, 3] * p.points[b, 3] * inverse
            U -= k
            k *= inverse * inverse
            f1, f2, f3 = f1 + k * d1, f2 + k * d2, f3 + k * d3
        w[4, 0], w[4, 1], w[4, 2] = w[4, 0] + f1, w[4, 1] + f2, w[4, 2] + f3
        for c in range(3):
            r = p.points[a, c]
            w[5, c], w[6, c], w[7, c] = w[5, c] + f1 * r, w[6, c] + f2 * r, w[7, c] + f3 * r
    return U


@kernel
def _given(pair: Any, i: int, j: int, Bi: Array, Bj: Array, w: Array, u: Array) -> float:
    """U of one pair by the user's function, called in the users' axes `X_u = B_j X`, `R_u = B_j R B_iᵀ`."""
    for k in range(3):
        u[0, k] = Bj[k, 0] * w[0, 0] + Bj[k, 1] * w[0, 1] + Bj[k, 2] * w[0, 2]
    _multiply(Bj, False, w[1:4], False, u[8:])
    _multiply(u[8:], False, Bi, True, u[1:4])
    u[4:8] = 0.0
    U = pair(i, j, u[0], u[1:4], u[4], u[5:8])
    for k in range(3):
        w[4, k] = Bj[0, k] * u[4, 0] + Bj[1, k] * u[4, 1] + Bj[2, k] * u[4, 2]
    _multiply(Bj, True, u[5:8], False, u[8:])
    _multiply(u[8:], False, Bi, False, w[5:])
    return U


@kernel
def _pair(p: Parameters, pair: Any, w: Work, i: int, j: int) -> tuple[float, float, float, float]:
    """U of the pair in `w.pair`, its derivatives there, and M of (53)."""
    s = w.pair
    U = _given(pair, i, j, p.axes[i], p.axes[j], s, w.users) if p.given else _gravity(p, i, j, s)
    M1, M2, M3 = 0.0, 0.0, 0.0
    for c in range(3):
        m1, m2, m3 = cross(s[1, c], s[2, c], s[3, c], s[5, c], s[6, c], s[7, c])
        M1, M2, M3 = M1 + m1, M2 + m2, M3 + m3
    return U, M1, M2, M3


# ------------------------------------------------------------------ the system
@kernel
def _see(y: Array, i: int, j: int, w: Array) -> None:
    """Body i seen from body j: `X = R_jᵀ(x_i − x_j)` (34), `R = R_jᵀR_i` (35)."""
    w[0, 0], w[0, 1], w[0, 2] = to_body(y, j, y[i, 0] - y[j, 0], y[i, 1] - y[j, 1], y[i, 2] - y[j, 2])
    for c in range(3):
        w[1, c], w[2, c], w[3, c] = to_body(y, j, y[i, 6 + c], y[i, 9 + c], y[i, 12 + c])


@kernel
def forces_inertial(p: Parameters, pair: Any, w: Work, y: Array) -> float:
    """U of all pairs; ∂U/∂x_i into `w.grad`, inertial axes, and the moment on each body, in its axes, `w.moment`."""
    U, s, grad, moment = 0.0, w.pair, w.grad, w.moment
    grad[:] = 0.0
    moment[:] = 0.0
    for j in range(1, y.shape[0]):
        for i in range(j):
            _see(y, i, j, s)
            u, M1, M2, M3 = _pair(p, pair, w, i, j)
            U += u
            f = to_outer(y, j, s[4, 0], s[4, 1], s[4, 2])
            m = cross(s[0, 0], s[0, 1], s[0, 2], s[4, 0], s[4, 1], s[4, 2])
            for k in range(3):
                grad[i, k] += f[k]
                grad[j, k] -= f[k]
                moment[i, k] -= s[1, k] * M1 + s[2, k] * M2 + s[3, k] * M3
                moment[j, k] += m[k]
            moment[j, 0], moment[j, 1], moment[j, 2] = moment[j, 0] + M1, moment[j, 1] + M2, moment[j, 2] + M3
    return U


@kernel
def forces_relative(p: Parameters, pair: Any, w: Work, y: Array) -> float:
    """U of the relative state; `∂U/∂X`, `∂U/∂x_2 = −R_2 ∂U/∂X` into `w.grad`; `−M`, `X × ∂U/∂X + M` into `w.moment`."""
    s = w.pair
    for k in range(3):
        s[0, k] = y[0, k]
        for c in range(3):
            s[1 + k, c] = y[0, 6 + 3 * k + c]
    U, M1, M2, M3 = _pair(p, pair, w, 0, 1)
    f = to_outer(y, 1, s[4, 0], s[4, 1], s[4, 2])
    m = cross(s[0, 0], s[0, 1], s[0, 2], s[4, 0], s[4, 1], s[4, 2])
    for k in range(3):
        w.grad[0, k] = s[4, k]
        w.grad[1, k] = -f[k]
    w.moment[0, 0], w.moment[0, 1], w.moment[0, 2] = -M1, -M2, -M3
    w.moment[1, 0], w.moment[1, 1], w.moment[1, 2] = m[0] + M1, m[1] + M2, m[2] + M3
    return U


@kernel
def potentials(p: Parameters, pair: Any, w: Work, rows: Array, out: Array) -> None:
    """U of every state of `rows` `(N, n, 18)`, inertial, into `out` `(N,)`."""
    for k in range(rows.shape[0]):
        out[k] = forces_inertial(p, pair, w, rows[k])
