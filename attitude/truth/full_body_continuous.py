"""Right-hand sides of the full body problem, four continuous forms (LLM 2007, section 3).

| form                  | eq.       | state, a row per body                                                         |
|-----------------------|-----------|-------------------------------------------------------------------------------|
| inertial Hamiltonian  | (29)–(32) | `x, γ, R, Π`                                                                  |
| inertial Lagrangian   | (25)–(28) | `x, v, R, Ω`                                                                  |
| relative Hamiltonian  | (62)–(69) | `X, Γ, R, Π` and `x_2, γ_2, R_2, Π_2`, with γ_2 = m_2 v_2 (misprinted m v_2)  |
| relative Lagrangian   | (54)–(61) | `X, V, R, Ω` and `x_2, v_2, R_2, Ω_2`                                         |
"""

from __future__ import annotations

from typing import Any

from attitude.core.jit import Array, kernel
from attitude.truth.full_body_discrete import LAGRANGIAN
from attitude.truth.full_body_potential import (
    Parameters,
    Work,
    cross,
    forces_inertial,
    forces_relative,
    to_body,
    to_outer,
)


@kernel
def _turn_rate(y: Array, i: int, a: float, b: float, c: float, dy: Array) -> None:
    """`Ṙ_i = R_i S(Ω)`, Ω = (a, b, c) in axes of the body: row by row `r × Ω`."""
    for k in range(6, 15, 3):
        dy[i, k], dy[i, k + 1], dy[i, k + 2] = cross(y[i, k], y[i, k + 1], y[i, k + 2], a, b, c)


@kernel
def _rotation(
    p: Parameters, lagrangian: bool, i: int, u: float, v: float, w: float, M1: float, M2: float, M3: float
) -> tuple[float, float, float, float, float, float]:
    """Rate Ω of body `i` and the derivative of `(u, v, w)`, which is Ω (26) or Π (30), under the moment M."""
    J1, J2, J3 = p.J[i, 0], p.J[i, 1], p.J[i, 2]
    if lagrangian:
        a, b, c = cross(u, v, w, J1 * u, J2 * v, J3 * w)
        return u, v, w, (M1 - a) / J1, (M2 - b) / J2, (M3 - c) / J3
    a, b, c = cross(u / J1, v / J2, w / J3, u, v, w)
    return u / J1, v / J2, w / J3, M1 - a, M2 - b, M3 - c


@kernel
def _body(p: Parameters, w: Work, lagrangian: bool, i: int, y: Array, dy: Array) -> None:
    """One body in inertial coordinates: (25)–(28) or (29)–(32); body 2 of the relative forms: (56), (59)–(61)."""
    m = p.mass[i]
    for k in range(3):
        dy[i, k] = y[i, 3 + k] if lagrangian else y[i, 3 + k] / m
        dy[i, 3 + k] = -w.grad[i, k] / m if lagrangian else -w.grad[i, k]
    a, b, c, dy[i, 15], dy[i, 16], dy[i, 17] = _rotation(
        p, lagrangian, i, y[i, 15], y[i, 16], y[i, 17], w.moment[i, 0], w.moment[i, 1], w.moment[i, 2]
    )
    _turn_rate(y, i, a, b, c, dy)


@kernel
def _relative(p: Parameters, w: Work, lagrangian: bool, y: Array, dy: Array) -> None:
    """Body 1 seen from body 2: (54), (55), (57), (58) or (62), (63), (65), (66)."""
    d, e, f = y[1, 15], y[1, 16], y[1, 17]
    if not lagrangian:
        d, e, f = d / p.J[1, 0], e / p.J[1, 1], f / p.J[1, 2]
    speed, push = (1.0, 1.0 / p.reduced) if lagrangian else (1.0 / p.reduced, 1.0)
    for k in range(3):
        dy[0, k] = speed * y[0, 3 + k]
        dy[0, 3 + k] = -push * w.grad[0, k]
    for k in (0, 3):
        a, b, c = cross(d, e, f, y[0, k], y[0, k + 1], y[0, k + 2])
        dy[0, k], dy[0, k + 1], dy[0, k + 2] = dy[0, k] - a, dy[0, k + 1] - b, dy[0, k + 2] - c
    _relative_rotation(p, w, lagrangian, d, e, f, y, dy)


@kernel
def _relative_rotation(
    p: Parameters, w: Work, lagrangian: bool, d: float, e: float, f: float, y: Array, dy: Array
) -> None:
    """Ω or Π, (55) or (63), and R (58), (66); `(d, e, f)` is Ω_2.

    `J_R⁻¹ = R J_1⁻¹ Rᵀ`, and `J̇_R = S(Ω − Ω_2) J_R − J_R S(Ω − Ω_2)`, so that (55) is
    `Ω̇ = R J_1⁻¹(−RᵀM − Ω_1 × J_1 Ω_1) − Ω_2 × Ω` with `Ω = R Ω_1`.
    """
    u, v, t = to_body(y, 0, y[0, 15], y[0, 16], y[0, 17])
    m1, m2, m3 = to_body(y, 0, w.moment[0, 0], w.moment[0, 1], w.moment[0, 2])
    a, b, c, u, v, t = _rotation(p, lagrangian, 0, u, v, t, m1, m2, m3)
    a, b, c = to_outer(y, 0, a, b, c)
    x = to_outer(y, 0, u, v, t) if lagrangian else (w.moment[0, 0], w.moment[0, 1], w.moment[0, 2])
    g = cross(d, e, f, y[0, 15], y[0, 16], y[0, 17])
    for k in range(3):
        dy[0, 15 + k] = x[k] - g[k]
        dy[0, 6 + k], dy[0, 9 + k], dy[0, 12 + k] = cross(a - d, b - e, c - f, y[0, 6 + k], y[0, 9 + k], y[0, 12 + k])


@kernel
def rates(p: Parameters, pair: Any, w: Work, relative: bool, form: int, y: Array, dy: Array) -> None:
    """`dy = ẏ` for the state `y` `(n, 18)` of any of the four forms."""
    lagrangian = form == LAGRANGIAN
    if relative:
        forces_relative(p, pair, w, y)
        _relative(p, w, lagrangian, y, dy)
        _body(p, w, lagrangian, 1, y, dy)
    else:
        forces_inertial(p, pair, w, y)
        for i in range(y.shape[0]):
            _body(p, w, lagrangian, i, y, dy)
