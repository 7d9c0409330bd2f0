"""Compiled Lie group variational integrator for n rigid bodies in a potential: one call is one run.

One step per body, in Hamiltonian form (LLM 2007, eq. (94)–(96), for the moments of LLM book, eq. (6.14)):

    p = Π + (h/2) τ(R);   h p -> F by the increment solver;   R⁺ = G R F;   Π⁺ = Fᵀ p + (h/2) τ(R⁺)

`G = exp(−h S(Ω))` turns a reference frame that rotates at `Ω` (the orbit frame), otherwise it is 1. `τ` is the moment
of the potential plus the external one, all in body axes; the increment is solved in principal axes. An external
moment that depends on the rate enters explicitly at the start of a step and implicitly at its end, which is symmetric
and so of second order.

The shipped moments are selected by an integer and cached with the loop. A user's moment replaces `moment` or
`external` in the same loop, which is then compiled for it, in the running process only (`loop_with`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numba
import numpy as np

from attitude.core.increment import OK, solve_increment
from attitude.core.jit import JIT_OPTIONS, Array, allocating_kernel, kernel
from attitude.core.quaternion import matrix_rows, product_xyzw, rotate_xyz

FREE, PENDULUM, ORBIT, COUPLED = 0, 1, 2, 3
MAX_SWEEPS = 60  # fixed-point sweeps for a rate-dependent moment: ½ h |∂M/∂Π| < ½ converges in fewer
SWEPT = 1e-15  # last change of the momentum, relative: a few units in its last place


# ------------------------------------------------------------------ moments of the shipped potentials
@kernel
def _pendulum(R: Array, parameters: Array, out: Array) -> None:
    """`m g ρ0 × γ`, `γ = Rᵀe3`; parameters `m g ρ0` (6.22)."""
    x, y, z = parameters[0], parameters[1], parameters[2]
    u, v, w = R[0, 2, 0], R[0, 2, 1], R[0, 2, 2]
    out[0, 0], out[0, 1], out[0, 2] = y * w - z * v, z * u - x * w, x * v - y * u


@kernel
def _orbit(R: Array, parameters: Array, out: Array) -> None:
    """`3 ω0² γ × Jγ`, `γ = R_blᵀe3`; parameters `3 ω0² J` row by row (6.26)."""
    k = parameters
    u, v, w = R[0, 2, 0], R[0, 2, 1], R[0, 2, 2]
    x, y, z = k[0] * u + k[1] * v + k[2] * w, k[3] * u + k[4] * v + k[5] * w, k[6] * u + k[7] * v + k[8] * w
    out[0, 0], out[0, 1], out[0, 2] = v * z - w * y, w * x - u * z, u * y - v * x


@kernel
def _coupled(R: Array, parameters: Array, out: Array) -> None:
    """`Σ_j K_ij (R_iᵀR_j − R_jᵀR_i)^∨`, as cross products of rows; parameters `K` row by row (problem 6.15)."""
    n = R.shape[0]
    for i in range(n):
        x = y = z = 0.0
        for j in range(n):
            k = parameters[n * i + j]
            for a in range(3):
                x += k * (R[j, a, 1] * R[i, a, 2] - R[j, a, 2] * R[i, a, 1])
                y += k * (R[j, a, 2] * R[i, a, 0] - R[j, a, 0] * R[i, a, 2])
                z += k * (R[j, a, 0] * R[i, a, 1] - R[j, a, 1] * R[i, a, 0])
        out[i, 0], out[i, 1], out[i, 2] = x, y, z


@kernel
def moment(kind: int, R: Array, parameters: Array, out: Array) -> None:
    """`out` `(n, 3)` = moment of the shipped potential `kind` at `R` `(n, 3, 3)`, body axes, N·m."""
    if kind == PENDULUM:
        _pendulum(R, parameters, out)
    elif kind == ORBIT:
        _orbit(R, parameters, out)
    elif kind == COUPLED:
        _coupled(R, parameters, out)
    else:
        for i in range(R.shape[0]):
            out[i, 0] = out[i, 1] = out[i, 2] = 0.0


@kernel
def external(k: int, t: float, R: Array, omega: Array, table: Array, out: Array) -> None:
    """`out` `(n, 3)` = external moment at step `k`: none, constant, or one row per grid time, from a flat table."""
    n = R.shape[0]
    size = 3 * n
    first = k * size if table.size > size else 0
    for i in range(n):
        for j in range(3):
            out[i, j] = table[first + 3 * i + j] if table.size > 0 else 0.0


# ------------------------------------------------------------------ one step
@kernel
def _turn(i: int, J: Array, A: Array, r: Array, h: float, frame: Array, q: Array, p: Array) -> int:
    """Move body `i`: `p` becomes `Fᵀ p`, `q` becomes `frame ⊗ q ⊗ f`; `J`, `r` in principal axes, `A` = `R_BP`."""
    x, y, z = h * p[i, 0], h * p[i, 1], h * p[i, 2]
    u, v, w, s, status = solve_increment(
        J[i, 0], J[i, 1], J[i, 2], r[i, 0], r[i, 1], r[i, 2],
        A[i, 0, 0] * x + A[i, 1, 0] * y + A[i, 2, 0] * z,
        A[i, 0, 1] * x + A[i, 1, 1] * y + A[i, 2, 1] * z,
        A[i, 0, 2] * x + A[i, 1, 2] * y + A[i, 2, 2] * z,
    )  # fmt: skip
    x = A[i, 0, 0] * u + A[i, 0, 1] * v + A[i, 0, 2] * w
    y = A[i, 1, 0] * u + A[i, 1, 1] * v + A[i, 1, 2] * w
    z = A[i, 2, 0] * u + A[i, 2, 1] * v + A[i, 2, 2] * w
    p[i, 0], p[i, 1], p[i, 2] = rotate_xyz(-x, -y, -z, s, p[i, 0], p[i, 1], p[i, 2])
    x, y, z, s = product_xyzw(q[i, 0], q[i, 1], q[i, 2], q[i, 3], x, y, z, s)
    x, y, z, s = product_xyzw(frame[0], frame[1], frame[2], frame[3], x, y, z, s)
    n = 1.0 / math.sqrt(x * x + y * y + z * z + s * s)
    q[i, 0], q[i, 1], q[i, 2], q[i, 3] = n * x, n * y, n * z, n * s
    return status


@kernel
def _drift(
    J: Array, A: Array, r: Array, h: float, frame: Array, tau: Array, M: Array, q: Array, p: Array, base: Array
) -> int:
    """First half of the impulse, then every body turns; `base` is the momentum that the second half adds to."""
    for i in range(q.shape[0]):
        for j in range(3):
            base[i, j] = p[i, j] + 0.5 * h * (tau[i, j] + M[i, j])
        status = _turn(i, J, A, r, h, frame, q, base)
        if status != OK:
            return status
        p[i, 0], p[i, 1], p[i, 2] = base[i, 0], base[i, 1], base[i, 2]
    return OK


@kernel
def _rotors(half: float, A: Array, a: Array, r: Array) -> None:
    """`r = (h/2) a` `(n, 3)`, turned into principal axes."""
    for i in range(a.shape[0]):
        for k in range(3):
            r[i, k] = half * (A[i, 0, k] * a[i, 0] + A[i, 1, k] * a[i, 1] + A[i, 2, k] * a[i, 2])


@kernel
def _matrices(q: Array, R: Array) -> None:
    """`R` `(n, 3, 3)` of `q` `(n, 4)`."""
    for i in range(q.shape[0]):
        rows = matrix_rows(q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        for j in range(9):
            R[i, j // 3, j % 3] = rows[j]


@kernel
def _rates(J: Array, A: Array, a: Array, p: Array, omega: Array) -> None:
    """`ω = J⁻¹ (Π − a)` `(n, 3)`, body axes."""
    for i in range(p.shape[0]):
        omega[i, 0] = omega[i, 1] = omega[i, 2] = 0.0
        for k in range(3):
            rate = 0.0
            for j in range(3):
                rate += A[i, j, k] * (p[i, j] - a[i, j])
            rate /= J[i, k]
            for j in range(3):
                omega[i, j] += A[i, j, k] * rate


@kernel
def _kick(base: Array, half: float, tau: Array, M: Array, p: Array) -> float:
    """`p = base + half (τ + M)`; returns the largest change of `p` relative to its largest entry."""
    change = size = 0.0
    for i in range(p.shape[0]):
        for j in range(3):
            new = base[i, j] + half * (tau[i, j] + M[i, j])
            change, size = max(change, abs(new - p[i, j])), max(size, abs(new))
            p[i, j] = new
    return change / size if size > 0.0 else 0.0


@kernel
def _keep(row: int, q: Array, p: Array, qs: Array, ps: Array) -> None:
    """Copy the state into a row of the output."""
    for i in range(q.shape[0]):
        qs[row, i, 0], qs[row, i, 1], qs[row, i, 2], qs[row, i, 3] = q[i, 0], q[i, 1], q[i, 2], q[i, 3]
        ps[row, i, 0], ps[row, i, 1], ps[row, i, 2] = p[i, 0], p[i, 1], p[i, 2]


# ------------------------------------------------------------------ a run
@allocating_kernel
def run(
    kind: int, J: Array, A: Array, a: Array, parameters: Array, table: Array, rated: bool, frame: Array,
    h: float, steps: int, every: int, q: Array, p: Array, qs: Array, ps: Array,
) -> int:  # fmt: skip
    """Run from `q` `(n, 4)`, `p` `(n, 3)`, both overwritten; each `every`-th state goes to `qs`, `ps`.

    Moments `J` `(n, 3)`, axes `A` `(n, 3, 3)`, internal momentum `a` `(n, 3)` (body axes). Returns the number of
    steps done: less than `steps` if one had no solution.
    """
    n = q.shape[0]
    R, r = np.empty((n, 3, 3)), np.empty((n, 3))
    tau, M, omega, base = np.empty((n, 3)), np.empty((n, 3)), np.zeros((n, 3)), p.copy()
    _rotors(0.5 * h, A, a, r)
    for k in range(steps + 1):
        half = 0.5 * h if k > 0 else 0.0  # the first pass only evaluates the moments at the start
        _matrices(q, R)
        moment(kind, R, parameters, tau)
        change = 1.0
        for _ in range(MAX_SWEEPS):
            if rated:
                _rates(J, A, a, p, omega)
            external(k, k * h, R, omega, table, M)
            change = _kick(base, half, tau, M, p)
            if not rated or change <= SWEPT:
                break
        if rated and not change <= SWEPT:
            return k - 1
        if k % every == 0:
            _keep(k // every, q, p, qs, ps)
        if k < steps and _drift(J, A, r, h, frame, tau, M, q, p, base) != OK:
            return k
    return steps


def compiled(function: Callable[..., Any]) -> Any:
    """`function`, compiled in this process unless it is already."""
    options: dict[str, Any] = {**JIT_OPTIONS, "boundscheck": True}  # a user's index may be wrong
    return function if hasattr(function, "py_func") else numba.njit(**options)(function)


@lru_cache(maxsize=16)
def loop_with(user_moment: Callable[..., Any] | None, user_external: Callable[..., Any] | None) -> Any:
    """The loop of `run` with a user's `moment(R, parameters, out)` or `external(t, R, omega, parameters, out)`.

    Not cached on disk: a cache there cannot tell one user's function from another.
    """
    names: dict[str, Any] = dict(run.py_func.__globals__)
    if user_moment is not None:
        names["moment"] = _without_kind(compiled(user_moment))
    if user_external is not None:
        names["external"] = _without_index(compiled(user_external))
    return compiled(FunctionType(run.py_func.__code__, names, "run_user"))


def _without_kind(user: Any) -> Any:
    def moment_of_user(kind: int, R: Array, parameters: Array, out: Array) -> None:
        out[:] = 0.0  # what the user does not fill
        user(R, parameters, out)

    return compiled(moment_of_user)


def _without_index(user: Any) -> Any:
    def external_of_user(k: int, t: float, R: Array, omega: Array, table: Array, out: Array) -> None:
        out[:] = 0.0
        user(t, R, omega, table, out)

    return compiled(external_of_user)
