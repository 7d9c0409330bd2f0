"""Lie group variational integrators of the full body problem, four discrete forms, compiled (LLM 2007, section 4).

| form                  | eq.         | carried from step to step, a row per body                                    |
|-----------------------|-------------|------------------------------------------------------------------------------|
| inertial Hamiltonian  | (92)–(96)   | `x, γ, R, Π`                                                                 |
| inertial Lagrangian   | (77)–(79)   | `x_k, x_{k+1} − x_k, R_k, φ_k`, which is the pair of configurations          |
| relative Hamiltonian  | (116)–(125) | `X, Γ, R, Π` and `x_2, γ_2, R_2, Π_2`                                        |
| relative Lagrangian   | (110)–(115) | `X_k, F_2 X_{k+1} − X_k, R_k, φ_1` and `x_2, x_2⁺ − x_2, R_2, φ_2`           |

`F = R([φ, s])` solves `F J_d − J_d Fᵀ = S(g)`, one increment per body and step. In the relative forms `F = R F_1 Rᵀ`,
so that the equation is solved with the constant, diagonal inertia of body 1: `R⁺ = F_2ᵀ R F_1`. (111) is taken in
axes of body 1, `g⁺ = F_1ᵀ g − h² R⁺ᵀ M`: through axes of body 2 and back, roundoff in R would compound.

Corrected: (77) has 1/m_i on the right; (78) pairs the moment with the new increment; (119) has Π_2 in its bracket; in
(115), (123), (124) the rotation is R_2.

The Lagrangian forms carry differences, not the two configurations: `x_{k+1} = 2x_k − x_{k−1} − …` is the same map but
loses digits with the square of the number of steps. Rotations act as `v + 2 s φ×v + …` and so do not round `F`.
"""

from __future__ import annotations

import math
from typing import Any

from attitude.core.increment import OK, solve_increment
from attitude.core.jit import Array, kernel
from attitude.core.quaternion import rotate_xyz
from attitude.truth.full_body_potential import (
    Parameters,
    Work,
    forces_inertial,
    forces_relative,
    to_body,
    to_outer,
)

HAMILTONIAN, LAGRANGIAN = 0, 1
MET = 2  # two mass points met, or the potential is not finite; 1 is NO_INCREMENT of the increment solver


# ------------------------------------------------------------------ pieces
@kernel
def _forces(p: Parameters, pair: Any, w: Work, relative: bool, y: Array) -> int:
    """Forces and moments of the state into `w`; `MET` where the potential is not finite."""
    U = forces_relative(p, pair, w, y) if relative else forces_inertial(p, pair, w, y)
    return OK if abs(U) < math.inf else MET


@kernel
def _increment(J: Array, i: int, a: float, b: float, c: float) -> tuple[float, float, float, float, int]:
    """`φ, s` and status of body `i` for `g = (a, b, c)`, in its axes (94), (121), (122)."""
    return solve_increment(J[i, 0], J[i, 1], J[i, 2], 0.0, 0.0, 0.0, a, b, c)


@kernel
def _impulse(J: Array, i: int, a: float, b: float, c: float, s: float) -> tuple[float, float, float]:
    """`g = 2 (s Jφ + φ × Jφ)`, φ = (a, b, c): the inverse of `_increment`."""
    u, v, w = J[i, 0] * a, J[i, 1] * b, J[i, 2] * c
    return 2.0 * (s * u + b * w - c * v), 2.0 * (s * v + c * u - a * w), 2.0 * (s * w + a * v - b * u)


@kernel
def _turn(y: Array, i: int, a: float, b: float, c: float, s: float) -> None:
    """`R_i ← R_i F` (96), (125): every row of R turned back by `[φ, s]`."""
    for k in range(6, 15, 3):
        y[i, k], y[i, k + 1], y[i, k + 2] = rotate_xyz(-a, -b, -c, s, y[i, k], y[i, k + 1], y[i, k + 2])


@kernel
def _turn_back(y: Array, i: int, a: float, b: float, c: float, s: float) -> None:
    """`R_i ← Fᵀ R_i`: every column of R turned back by `[φ, s]`."""
    for k in range(6, 9):
        y[i, k], y[i, k + 3], y[i, k + 6] = rotate_xyz(-a, -b, -c, s, y[i, k], y[i, k + 3], y[i, k + 6])


@kernel
def _carry(y: Array, i: int, k: int, a: float, b: float, c: float, s: float) -> None:
    """`v ← Fᵀ v` for the vector at column `k` of row `i`."""
    y[i, k], y[i, k + 1], y[i, k + 2] = rotate_xyz(-a, -b, -c, s, y[i, k], y[i, k + 1], y[i, k + 2])


@kernel
def _kick(w: Work, y: Array, h: float) -> None:
    """Momenta under half the impulse of the step: `γ − (h/2) ∂U/∂x`, `Π + (h/2) M`, every body."""
    for i in range(y.shape[0]):
        for k in range(3):
            y[i, 3 + k] -= 0.5 * h * w.grad[i, k]
            y[i, 15 + k] += 0.5 * h * w.moment[i, k]


@kernel
def _store(y: Array, out: Array) -> None:
    """Copy of the state, element by element: a slice assignment takes a second to compile."""
    for i in range(y.shape[0]):
        for k in range(y.shape[1]):
            out[i, k] = y[i, k]


@kernel
def _mass(p: Parameters, i: int, relative: bool) -> float:
    """Mass that goes with row `i`: the reduced one for the relative position."""
    return p.reduced if relative and i == 0 else p.mass[i]


# ------------------------------------------------------------------ Hamiltonian forms
@kernel
def _drift_inertial(p: Parameters, y: Array, h: float) -> int:
    """Free motion of all bodies with the kicked momenta: (92), (94), (96) and the rotation in (95)."""
    for i in range(y.shape[0]):
        k = h / p.mass[i]
        y[i, 0], y[i, 1], y[i, 2] = y[i, 0] + k * y[i, 3], y[i, 1] + k * y[i, 4], y[i, 2] + k * y[i, 5]
        a, b, c, s, status = _increment(p.J, i, h * y[i, 15], h * y[i, 16], h * y[i, 17])
        if status != OK:
            return status
        _turn(y, i, a, b, c, s)
        _carry(y, i, 15, a, b, c, s)
    return OK


@kernel
def _drift_relative(p: Parameters, y: Array, h: float) -> int:
    """Free motion of both bodies in axes of body 2: (116)–(123), (125)."""
    a, b, c = to_body(y, 0, h * y[0, 15], h * y[0, 16], h * y[0, 17])  # into axes of body 1
    a, b, c, s, status = _increment(p.J, 0, a, b, c)  # (121)
    if status != OK:
        return status
    d, e, f, r, status = _increment(p.J, 1, h * y[1, 15], h * y[1, 16], h * y[1, 17])  # (122)
    if status != OK:
        return status
    for k in range(3):
        y[0, k] += h / p.reduced * y[0, 3 + k]  # (116)
        y[1, k] += h / p.mass[1] * y[1, 3 + k]  # (123)
    _turn(y, 0, a, b, c, s)
    _turn_back(y, 0, d, e, f, r)  # (120)
    _turn(y, 1, d, e, f, r)  # (125)
    _carry(y, 0, 0, d, e, f, r)
    _carry(y, 0, 3, d, e, f, r)  # (117)
    _carry(y, 0, 15, d, e, f, r)  # (118)
    _carry(y, 1, 15, d, e, f, r)  # (119)
    return OK


@kernel
def _step_hamiltonian(p: Parameters, pair: Any, w: Work, relative: bool, h: float, y: Array) -> int:
    """One step of `(x, γ, R, Π)`; forces in `w` belong to the state, before and after."""
    _kick(w, y, h)
    status = _drift_relative(p, y, h) if relative else _drift_inertial(p, y, h)
    if status == OK:
        status = _forces(p, pair, w, relative, y)
    _kick(w, y, h)
    return status


# ------------------------------------------------------------------ Lagrangian forms
# The last three columns hold the increment φ_k or, within a step, its impulse g = h p; both in axes of their body.
@kernel
def _solve_rows(J: Array, y: Array) -> int:
    """Impulses become increments, every body."""
    for i in range(y.shape[0]):
        y[i, 15], y[i, 16], y[i, 17], _, status = _increment(J, i, y[i, 15], y[i, 16], y[i, 17])
        if status != OK:
            return status
    return OK


@kernel
def _moments_to_bodies(w: Work, relative: bool, y: Array) -> None:
    """Moment on body 1 of the relative form into the axes of body 1, as the others are in those of their bodies."""
    if relative:
        m = w.moment
        m[0, 0], m[0, 1], m[0, 2] = to_body(y, 0, m[0, 0], m[0, 1], m[0, 2])


@kernel
def _begin_lagrangian(p: Parameters, w: Work, relative: bool, h: float, y: Array) -> int:
    """Discrete Legendre transformation from momenta to the first pair of configurations, (85) and (89)."""
    _moments_to_bodies(w, relative, y)
    if relative:
        y[0, 15], y[0, 16], y[0, 17] = to_body(y, 0, y[0, 15], y[0, 16], y[0, 17])
    _kick(w, y, h)
    for i in range(y.shape[0]):
        for k in range(3):
            y[i, 3 + k] *= h / _mass(p, i, relative)
            y[i, 15 + k] *= h
    return _solve_rows(p.J, y)


@kernel
def _momenta(p: Parameters, w: Work, relative: bool, h: float, y: Array, out: Array) -> None:
    """Discrete Legendre transformation back: `(x, γ, R, Π)` at the first configuration, (85) and (89)."""
    _store(y, out)
    for i in range(y.shape[0]):
        a, b, c = y[i, 15], y[i, 16], y[i, 17]
        out[i, 15], out[i, 16], out[i, 17] = _impulse(p.J, i, a, b, c, math.sqrt(1.0 - a * a - b * b - c * c))
        for k in range(3):
            out[i, 3 + k] *= _mass(p, i, relative) / h
            out[i, 15 + k] /= h
    _kick(w, out, -h)
    if relative:
        out[0, 15], out[0, 16], out[0, 17] = to_outer(out, 0, out[0, 15], out[0, 16], out[0, 17])


@kernel
def _move(J: Array, relative: bool, y: Array) -> None:
    """To the second configuration, (79) or (110), (113), (114); increments become impulses carried there."""
    for i in range(y.shape[0] - 1, -1, -1):
        a, b, c = y[i, 15], y[i, 16], y[i, 17]
        s = math.sqrt(1.0 - a * a - b * b - c * c)
        y[i, 15], y[i, 16], y[i, 17] = _impulse(J, i, a, b, c, s)
        _carry(y, i, 15, a, b, c, s)
        _turn(y, i, a, b, c, s)
        for k in range(3):
            y[i, k] += y[i, 3 + k]
        if relative and i == 1:
            d, e, f, r = a, b, c, s
    if relative:
        _turn_back(y, 0, d, e, f, r)
        _carry(y, 0, 0, d, e, f, r)
        _carry(y, 0, 3, d, e, f, r)


@kernel
def _step_lagrangian(p: Parameters, pair: Any, w: Work, relative: bool, h: float, y: Array) -> int:
    """One step of the pair of configurations: (77)–(79) corrected, or (110)–(115)."""
    _move(p.J, relative, y)
    status = _forces(p, pair, w, relative, y)
    if status != OK:
        return status
    _moments_to_bodies(w, relative, y)
    for i in range(y.shape[0]):
        m = _mass(p, i, relative)
        for k in range(3):
            y[i, 3 + k] -= h * h / m * w.grad[i, k]
            y[i, 15 + k] += h * h * w.moment[i, k]
    return _solve_rows(p.J, y)


# ------------------------------------------------------------------ a whole run
@kernel
def run(
    p: Parameters,
    pair: Any,
    w: Work,
    relative: bool,
    form: int,
    h: float,
    weights: Array,
    every: int,
    y: Array,
    rows: Array,
) -> tuple[int, int]:
    """Steps of `h` from the momenta in `y` `(n, 18)`, each the composition of `h · weights` (Hamiltonian forms).

    Every `every`-th state goes to `rows` `(N, n, 18)`, as momenta. Returns the steps done and the status.
    """
    _store(y, rows[0])
    status = _forces(p, pair, w, relative, y)
    if status == OK and form == LAGRANGIAN:
        status = _begin_lagrangian(p, w, relative, h, y)
    if status != OK:
        return 0, status
    for k in range((rows.shape[0] - 1) * every):
        if form == LAGRANGIAN:
            status = _step_lagrangian(p, pair, w, relative, h, y)
        else:
            for weight in weights:
                status = _step_hamiltonian(p, pair, w, relative, weight * h, y)
                if status != OK:
                    break
        if status != OK:
            return k, status
        if (k + 1) % every == 0:
            if form == LAGRANGIAN:
                _momenta(p, w, relative, h, y, rows[(k + 1) // every])
            else:
                _store(y, rows[(k + 1) // every])
    return (rows.shape[0] - 1) * every, OK
