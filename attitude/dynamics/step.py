"""Kernels of the quaternion VI: one substep, its exact tangent, one step of any length, a run of steps.

State `x` `(20,)`, in principal axes of the carrier:

    x[0:4] q   attitude                     x[7:10]  rho  momentum of the rotors, Σ a w
    x[4:7] p   total momentum               x[10:13] d    momentum of the damper's sphere
    x[13:17], x[17:20]  what rounding has cut off q and p (compensated sums)

`p` is carried by the increment's rotation, `p⁺ = R(f)ᵀ p⁻`, so that the inertial momentum is kept to roundoff, and the
compensation keeps roundoff from piling up: after a million steps momentum and energy are off by some 1e-14. Torque
acts as half an impulse at each end of a substep. Inputs, constant over a step:
`inputs[row, 0:3]` torque, `inputs[row, 3:6]` rate of `rho`.

The body `(12,)`: `body[0:3]` principal moments of the carrier, `body[3:7]` the quaternion from principal to body axes,
`body[7]` inertia of the damper's sphere (0 for none), `body[8]` damping, `body[9:12]` inverse moments. `terms`,
`sigma`, `delta` are the preprocessed inertia (`preprocessed.py`; 0 terms for none) and `stages` the weights of the
composition, `[1.0]` for none. All are plain arguments, and rows are given by index: a tuple of arrays or a slice
would be taken apart and counted at every call.

A tangent `t` `(18,)` is a small change of all that a step depends on, carried along exactly:

    t[0:3] θ   body-frame attitude error    t[9:12]  d       t[15:18] rate of rho (constant)
    t[3:6] p   t[6:9] rho                   t[12:15] torque (constant)
"""

from __future__ import annotations

import math

from attitude.core.increment import NO_INCREMENT, OK, increment_matrix, solve_increment, solve_increment_from
from attitude.core.jit import Array, kernel
from attitude.core.linalg import inverse3
from attitude.core.quaternion import product_xyzw, rotate_xyz
from attitude.dynamics.damper import (
    coupled_matrix,
    solve_damped_increment,
    sphere_inverse,
    sphere_momentum_slope,
)
from attitude.dynamics.preprocessed import SHAPE, modified, modified_with_slopes

STATE = 20
TANGENT = 18
READ_OUT = 14
NOT_FINITE = 2
TOO_MANY_SUBSTEPS = 3
MAX_SUBSTEPS = 10_000_000  # of one step: about a second
SERIES_LIMIT = 1.25  # rad, |ω| h: beyond it the preprocessed inertia does more harm than good
MOST_TERMS = SHAPE[0]  # a constant, so that the series is unrolled; coefficients past the order's terms are zero


@kernel
def _energies(body: Array, x: Array) -> tuple[float, float]:
    """`H = ½ p·I⁻¹p` and `C = ½ p·p`, on which the preprocessed inertia depends."""
    p1, p2, p3 = x[4], x[5], x[6]
    H = 0.5 * (p1 * (p1 * body[9]) + p2 * (p2 * body[10]) + p3 * (p3 * body[11]))
    return H, 0.5 * (p1 * p1 + p2 * p2 + p3 * p3)


@kernel
def _increment_of(
    body: Array, terms: int, s: float, d: float, x: Array, h: float
) -> tuple[float, float, float, float, int]:
    """`(φ, s, status)` of a body without damper: with rotors, or with the inertia preprocessed by `s` and `d`."""
    p1, p2, p3, k = x[4], x[5], x[6], 0.5 * h
    J1, J2, J3 = body[0], body[1], body[2]
    if x[7] != 0.0 or x[8] != 0.0 or x[9] != 0.0:
        return solve_increment(J1, J2, J3, k * x[7], k * x[8], k * x[9], h * p1, h * p2, h * p3)
    w1, w2, w3 = p1 * body[9], p2 * body[10], p3 * body[11]
    if terms > 0:
        if not h * h * (w1 * w1 + w2 * w2 + w3 * w3) <= SERIES_LIMIT * SERIES_LIMIT:
            return 0.0, 0.0, 0.0, 1.0, NO_INCREMENT
        k1, k2, k3 = 1.0 + s + d * J1, 1.0 + s + d * J2, 1.0 + s + d * J3  # J̃ = J/k
        J1, J2, J3 = J1 / k1, J2 / k2, J3 / k3
        w1, w2, w3 = k1 * w1, k2 * w2, k3 * w3
    return solve_increment_from(J1, J2, J3, 0.0, 0.0, 0.0, h * p1, h * p2, h * p3, k * w1, k * w2, k * w3)


@kernel
def _increment(
    body: Array, terms: int, sigma: Array, delta: Array, x: Array, h: float
) -> tuple[float, float, float, float, int]:
    """`(φ, s, status)` of a body without damper."""
    s, d = 0.0, 0.0
    if terms > 0:
        H, C = _energies(body, x)
        s, d = modified(MOST_TERMS, sigma, delta, h, H, C)
    return _increment_of(body, terms, s, d, x, h)


@kernel
def _sum(value: float, low: float, change: float) -> tuple[float, float]:
    """`value + change`, and what rounding cuts off it, to be added the next time (Kahan)."""
    change += low
    total = value + change
    return total, change - (total - value)


@kernel
def _turn(x: Array, f1: float, f2: float, f3: float, s: float) -> None:
    """Turn the body by `f`: `q ⊗ f`, kept at unit norm, and `p` into the new axes; both as sums of small changes."""
    a, b, c, w = x[0], x[1], x[2], x[3]
    m = 0.5 * (1.0 - (a * a + b * b + c * c + w * w)) - (f1 * f1 + f2 * f2 + f3 * f3) / (1.0 + s)  # norm, and s − 1
    x[0], x[13] = _sum(a, x[13], w * f1 + b * f3 - c * f2 + a * m)
    x[1], x[14] = _sum(b, x[14], w * f2 - a * f3 + c * f1 + b * m)
    x[2], x[15] = _sum(c, x[15], w * f3 + a * f2 - b * f1 + c * m)
    x[3], x[16] = _sum(w, x[16], -a * f1 - b * f2 - c * f3 + w * m)
    # R(f)ᵀ p = p + s t − φ × t, t = −2 φ × p
    t1 = 2.0 * (f3 * x[5] - f2 * x[6])
    t2 = 2.0 * (f1 * x[6] - f3 * x[4])
    t3 = 2.0 * (f2 * x[4] - f1 * x[5])
    x[4], x[17] = _sum(x[4], x[17], s * t1 - f2 * t3 + f3 * t2)
    x[5], x[18] = _sum(x[5], x[18], s * t2 - f3 * t1 + f1 * t3)
    x[6], x[19] = _sum(x[6], x[19], s * t3 - f1 * t2 + f2 * t1)


@kernel
def _kick(x: Array, inputs: Array, row: int, h: float) -> None:
    for i in range(3):
        if inputs[row, i] != 0.0:
            x[4 + i], x[17 + i] = _sum(x[4 + i], x[17 + i], h * inputs[row, i])
        x[7 + i] += h * inputs[row, 3 + i]


@kernel
def substep(
    body: Array, terms: int, sigma: Array, delta: Array, x: Array, inputs: Array, row: int, h: float
) -> tuple[float, int]:
    """One VI step of length `h` (negative in a composition) on `x` in place; returns `|φ|²` and the status."""
    _kick(x, inputs, row, 0.5 * h)
    if body[7] > 0.0:
        f1, f2, f3, s, status = _damped_increment(body, x, h)
    else:
        f1, f2, f3, s, status = _increment(body, terms, sigma, delta, x, h)
    _turn(x, f1, f2, f3, s)
    if body[7] > 0.0:
        x[10], x[11], x[12] = rotate_xyz(-f1, -f2, -f3, s, x[10], x[11], x[12])
    _kick(x, inputs, row, 0.5 * h)
    return f1 * f1 + f2 * f2 + f3 * f3, status


@kernel
def _damped_increment(body: Array, x: Array, h: float) -> tuple[float, float, float, float, int]:
    """`(φ, s, status)` of a body with damper; leaves the sphere's new momentum, still in the old axes, in `x`."""
    k = 0.5 * h
    f1, f2, f3, s, u, v, w, su, status = solve_damped_increment(
        body, body[7], h * body[8], k * x[7], k * x[8], k * x[9],
        h * (x[4] - x[10]), h * (x[5] - x[11]), h * (x[6] - x[12]), h * x[10], h * x[11], h * x[12],
    )  # fmt: skip
    c = su * body[7] / k
    x[10], x[11], x[12] = c * u, c * v, c * w
    return f1, f2, f3, s, status


# ------------------------------------------------------------------ tangents
@kernel
def _turn_tangent(
    t: Array, n: int, x: Array, f1: float, f2: float, f3: float, s: float, e1: float, e2: float, e3: float
) -> None:
    """Carry `θ`, `p`, `d` of tangent `n` through the turn `f` whose change is `δφ = e`; `x` is the state after it."""
    k = (f1 * e1 + f2 * e2 + f3 * e3) / s  # δθ = B δφ, B = 2 (s 1 − S(φ) + φφᵀ/s)
    b1 = 2.0 * (s * e1 - f2 * e3 + f3 * e2 + k * f1)
    b2 = 2.0 * (s * e2 - f3 * e1 + f1 * e3 + k * f2)
    b3 = 2.0 * (s * e3 - f1 * e2 + f2 * e1 + k * f3)
    a1, a2, a3 = rotate_xyz(-f1, -f2, -f3, s, t[n, 0], t[n, 1], t[n, 2])
    t[n, 0], t[n, 1], t[n, 2] = a1 + b1, a2 + b2, a3 + b3
    for i, j in ((3, 4), (9, 10)):  # δ(Rᵀ v) = Rᵀ δv + (Rᵀ v) × δθ
        a1, a2, a3 = rotate_xyz(-f1, -f2, -f3, s, t[n, i], t[n, i + 1], t[n, i + 2])
        t[n, i] = a1 + x[j + 1] * b3 - x[j + 2] * b2
        t[n, i + 1] = a2 + x[j + 2] * b1 - x[j] * b3
        t[n, i + 2] = a3 + x[j] * b2 - x[j + 1] * b1


@kernel
def _kick_tangents(tangents: Array, h: float) -> None:
    for n in range(tangents.shape[0]):
        for i in range(3):
            tangents[n, 3 + i] += h * tangents[n, 12 + i]
            tangents[n, 6 + i] += h * tangents[n, 15 + i]


@kernel
def _free_tangents(
    body: Array, terms: int, sigma: Array, delta: Array, x: Array, h: float, t: Array
) -> tuple[float, int]:
    """The turn of a substep without damper, and its tangents.

    `A δφ = (h/2) (δp − (s + S(φ)) δρ) − (s + S(φ)) δJ̃ φ`, where `δJ̃ = −J̃² (δs I⁻¹ + δd)` has rank two in `δp`,
    by `δH = ω·δp` and `δC = p·δp`.
    """
    p1, p2, p3, k = x[4], x[5], x[6], 0.5 * h
    I1, I2, I3 = body[0], body[1], body[2]
    w1, w2, w3 = p1 * body[9], p2 * body[10], p3 * body[11]
    r1, r2, r3 = k * x[7], k * x[8], k * x[9]
    J1, J2, J3 = I1, I2, I3
    s = d = s_H = s_C = d_H = d_C = 0.0
    if terms > 0:
        H, C = _energies(body, x)
        s, d, s_H, s_C, d_H, d_C = modified_with_slopes(MOST_TERMS, sigma, delta, h, H, C)
        k1, k2, k3 = 1.0 + s + d * I1, 1.0 + s + d * I2, 1.0 + s + d * I3
        J1, J2, J3 = I1 / k1, I2 / k2, I3 / k3
    f1, f2, f3, s, status = _increment_of(body, terms, s, d, x, h)
    m1, m2, m3, m4, m5, m6, m7, m8, m9 = inverse3(*increment_matrix(J1, J2, J3, r1, r2, r3, f1, f2, f3, s))
    a1, a2, a3 = J1 * J1 * f1, J2 * J2 * f2, J3 * J3 * f3
    H1, H2, H3 = _lever(f1, f2, f3, s, a1 * (s_H / I1 + d_H), a2 * (s_H / I2 + d_H), a3 * (s_H / I3 + d_H))
    C1, C2, C3 = _lever(f1, f2, f3, s, a1 * (s_C / I1 + d_C), a2 * (s_C / I2 + d_C), a3 * (s_C / I3 + d_C))
    _turn(x, f1, f2, f3, s)
    for n in range(t.shape[0]):
        dH = w1 * t[n, 3] + w2 * t[n, 4] + w3 * t[n, 5]
        dC = p1 * t[n, 3] + p2 * t[n, 4] + p3 * t[n, 5]
        c1, c2, c3 = _lever(f1, f2, f3, s, t[n, 6], t[n, 7], t[n, 8])
        e1 = k * (t[n, 3] - c1) + H1 * dH + C1 * dC
        e2 = k * (t[n, 4] - c2) + H2 * dH + C2 * dC
        e3 = k * (t[n, 5] - c3) + H3 * dH + C3 * dC
        _turn_tangent(
            t, n, x, f1, f2, f3, s,
            m1 * e1 + m2 * e2 + m3 * e3, m4 * e1 + m5 * e2 + m6 * e3, m7 * e1 + m8 * e2 + m9 * e3,
        )  # fmt: skip
    return f1 * f1 + f2 * f2 + f3 * f3, status


@kernel
def _lever(
    f1: float, f2: float, f3: float, s: float, v1: float, v2: float, v3: float
) -> tuple[float, float, float]:
    """`(s + S(φ)) v`, the factor by which `a` enters the momentum."""
    return s * v1 + f2 * v3 - f3 * v2, s * v2 + f3 * v1 - f1 * v3, s * v3 + f1 * v2 - f2 * v1


@kernel
def _damped_tangents(body: Array, x: Array, h: float, t: Array) -> tuple[float, int]:
    """The turn of a substep with damper, and its tangents: the Newton system of `damper.py`, once per tangent."""
    I_D, kappa, k = body[7], h * body[8], 0.5 * h
    r1, r2, r3 = k * x[7], k * x[8], k * x[9]
    f1, f2, f3, s, u, v, w, su, status = solve_damped_increment(
        body, I_D, kappa, r1, r2, r3,
        h * (x[4] - x[10]), h * (x[5] - x[11]), h * (x[6] - x[12]), h * x[10], h * x[11], h * x[12],
    )  # fmt: skip
    m1, m2, m3, m4, m5, m6, m7, m8, m9 = inverse3(
        *coupled_matrix(body, I_D, kappa, r1, r2, r3, f1, f2, f3, s, u, v, w, su)
    )
    c = su * I_D / k
    _turn(x, f1, f2, f3, s)
    x[10], x[11], x[12] = rotate_xyz(-f1, -f2, -f3, s, c * u, c * v, c * w)
    for n in range(t.shape[0]):
        d1, d2, d3 = k * t[n, 9], k * t[n, 10], k * t[n, 11]
        c1, c2, c3 = _lever(f1, f2, f3, s, k * t[n, 6], k * t[n, 7], k * t[n, 8])
        b1, b2, b3 = sphere_inverse(I_D, kappa, u, v, w, su, d1, d2, d3)
        e1 = k * t[n, 3] - d1 - c1 + kappa * b1
        e2 = k * t[n, 4] - d2 - c2 + kappa * b2
        e3 = k * t[n, 5] - d3 - c3 + kappa * b3
        e1, e2, e3 = m1 * e1 + m2 * e2 + m3 * e3, m4 * e1 + m5 * e2 + m6 * e3, m7 * e1 + m8 * e2 + m9 * e3
        g1, g2, g3 = sphere_inverse(I_D, kappa, u, v, w, su, d1 + kappa * e1, d2 + kappa * e2, d3 + kappa * e3)
        b1, b2, b3 = sphere_momentum_slope(I_D, u, v, w, su, g1, g2, g3)
        t[n, 9], t[n, 10], t[n, 11] = b1 / k, b2 / k, b3 / k
        _turn_tangent(t, n, x, f1, f2, f3, s, e1, e2, e3)
    return f1 * f1 + f2 * f2 + f3 * f3, status


@kernel
def substep_with_tangents(
    body: Array, terms: int, sigma: Array, delta: Array, x: Array, inputs: Array, row: int, h: float, tangents: Array
) -> tuple[float, int]:
    """As `substep`, and the rows of `tangents` `(m, 18)` carried along, in place."""
    _kick(x, inputs, row, 0.5 * h)
    _kick_tangents(tangents, 0.5 * h)
    if body[7] > 0.0:
        square, status = _damped_tangents(body, x, h, tangents)
    else:
        square, status = _free_tangents(body, terms, sigma, delta, x, h, tangents)
    _kick(x, inputs, row, 0.5 * h)
    _kick_tangents(tangents, 0.5 * h)
    return square, status


# ------------------------------------------------------------------ steps of any length
@kernel
def _greatest_rate(body: Array, x: Array) -> float:
    """Greatest `|ω|` that a free body reaches on its orbit; for other bodies the rate now.

    `u = p²` by components obeys two linear conservation laws, so `|ω|²` is greatest where one of the three vanishes.
    """
    J = body
    now = 0.0
    C, H = 0.0, 0.0
    free = True
    for i in range(3):
        now += ((x[4 + i] - x[7 + i] - x[10 + i]) / J[i]) ** 2
        C += x[4 + i] ** 2
        H += x[4 + i] ** 2 / J[i]
        free = free and x[7 + i] == 0.0 and x[10 + i] == 0.0
    if free:
        for i in range(3):
            j = (i + 1) % 3
            gap = 1.0 / J[i] - 1.0 / J[j]
            if abs(gap) > 1e-9 / J[i]:
                a = (H - C / J[j]) / gap
                b = C - a
                if a >= 0.0 and b >= 0.0:
                    now = max(now, a / J[i] ** 2 + b / J[j] ** 2)
    return math.sqrt(now)


@kernel
def first_substeps(
    body: Array, stages: Array, x: Array, inputs: Array, row: int, h: float, max_increment: float
) -> int:
    """First guess of how many substeps keep `|φ| ≈ |ω| h/2` below `max_increment` in every stage."""
    longest, push = 0.0, 0.0
    for i in range(stages.size):
        longest = max(longest, abs(stages[i]))
    for i in range(3):
        push += (abs(inputs[row, i]) + abs(inputs[row, 3 + i])) * max(body[9], body[10], body[11])
    needed = 0.5 * (_greatest_rate(body, x) + h * push) * h * longest / max_increment
    if not needed < MAX_SUBSTEPS:
        return MAX_SUBSTEPS
    return max(1, math.ceil(needed))


@kernel
def _try_step(
    body: Array, terms: int, sigma: Array, delta: Array, stages: Array, x: Array, inputs: Array, row: int, h: float,
    n: int, max_increment: float, tangents: Array,
) -> tuple[float, int]:  # fmt: skip
    """`n` equal substeps, each composed of the stages; stops at the first that fails or turns too far."""
    limit = max_increment * max_increment
    square = 0.0
    for _ in range(n):
        for i in range(stages.size):
            part = h / n * stages[i]
            if tangents.shape[0] == 0:
                square, status = substep(body, terms, sigma, delta, x, inputs, row, part)
            else:
                square, status = substep_with_tangents(
                    body, terms, sigma, delta, x, inputs, row, part, tangents
                )
            if status != OK or square > limit:
                return square, status
    return square, OK


@kernel
def more_substeps(n: int, status: int, square: float, max_increment: float) -> int:
    """How many substeps to try after `n` were too few; by half at least, so that all tries cost thrice the last."""
    grow = 2.0 if status != OK else math.sqrt(square) / max_increment
    return max(n + 1, math.ceil(n * max(1.5, grow)))


@kernel
def _finite(x: Array) -> bool:
    return math.isfinite(x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[10] + x[11] + x[12])


@kernel
def _copy(x: Array, tangents: Array, x_to: Array, tangents_to: Array) -> None:
    for i in range(STATE):
        x_to[i] = x[i]
    for n in range(tangents.shape[0]):
        for i in range(TANGENT):
            tangents_to[n, i] = tangents[n, i]


@kernel
def step_in_place(
    body: Array, terms: int, sigma: Array, delta: Array, stages: Array, x: Array, inputs: Array, row: int, h: float,
    max_increment: float, tangents: Array, x0: Array, tangents0: Array,
) -> int:  # fmt: skip
    """Step of length `h` on `x` and on the rows of `tangents` `(m, 18)`, m = 0 for none; returns the status.

    A step that fails leaves both as they were.
    `max_increment < 1` splits it into equal substeps whose `|φ|` stays at or below it, and starts anew with more of
    them where the first guess is too few. `x0` and `tangents0` are work space of the shapes of `x` and `tangents`.
    """
    split = max_increment < 1.0
    n = first_substeps(body, stages, x, inputs, row, h, max_increment) if split else 1
    _copy(x, tangents, x0, tangents0)
    while True:
        square, status = _try_step(
            body, terms, sigma, delta, stages, x, inputs, row, h, n, max_increment, tangents
        )
        if not _finite(x):
            status = NOT_FINITE
        if status == OK and square <= max_increment * max_increment:
            return OK
        _copy(x0, tangents0, x, tangents)
        if not split or status == NOT_FINITE:
            return status
        if n >= MAX_SUBSTEPS // 2:
            return TOO_MANY_SUBSTEPS
        n = more_substeps(n, status, square, max_increment)


@kernel
def run_steps(
    body: Array, terms: int, sigma: Array, delta: Array, stages: Array, x: Array, inputs: Array, h: float,
    first: int, last: int, every: int, max_increment: float, rows: Array, x0: Array, no_tangents: Array,
) -> tuple[int, int]:  # fmt: skip
    """Steps `first` to `last − 1` of a run on `x` in place; returns the status and the steps done.

    `inputs` `(1, 6)` or `(steps, 6)`; `rows` `(n, 20)` takes the state after every `every`-th step from the start.
    """
    for i in range(first, last):
        row = i if inputs.shape[0] > 1 else 0
        status = step_in_place(
            body, terms, sigma, delta, stages, x, inputs, row, h, max_increment, no_tangents, x0, no_tangents
        )
        if status != OK:
            return status, i
        if (i + 1) % every == 0:
            for j in range(STATE):
                rows[(i + 1) // every, j] = x[j]
    return OK, last


# ------------------------------------------------------------------ between principal axes and the user's
@kernel
def write_in(body: Array, q: Array, omega: Array, damper_omega: Array, x: Array) -> None:
    """State `x` from attitude, rate and damper rate in body axes; `x[7:10]`, the rotors, is there already."""
    a, b, c, d = body[3], body[4], body[5], body[6]
    x[0], x[1], x[2], x[3] = product_xyzw(q[0], q[1], q[2], q[3], a, b, c, d)
    w1, w2, w3 = rotate_xyz(-a, -b, -c, d, omega[0], omega[1], omega[2])
    d1, d2, d3 = rotate_xyz(-a, -b, -c, d, damper_omega[0], damper_omega[1], damper_omega[2])
    x[10], x[11], x[12] = body[7] * d1, body[7] * d2, body[7] * d3
    x[4], x[5], x[6] = body[0] * w1 + x[7] + x[10], body[1] * w2 + x[8] + x[11], body[2] * w3 + x[9] + x[12]
    for i in range(13, STATE):
        x[i] = 0.0


@kernel
def read_out(body: Array, x: Array, out: Array) -> None:
    """What the state `x` in principal axes says, `out` `(14,)`.

    `out[0:4]` attitude, `out[4:7]` rate, `out[7:10]` damper rate, in body axes; `out[10:13]` total momentum in
    inertial axes; `out[13]` kinetic energy without the rotors'.
    """
    a, b, c, d = body[3], body[4], body[5], body[6]
    out[0], out[1], out[2], out[3] = product_xyzw(x[0], x[1], x[2], x[3], -a, -b, -c, d)
    p1, p2, p3 = x[4] - x[7] - x[10], x[5] - x[8] - x[11], x[6] - x[9] - x[12]
    w1, w2, w3 = p1 / body[0], p2 / body[1], p3 / body[2]
    out[4], out[5], out[6] = rotate_xyz(a, b, c, d, w1, w2, w3)
    m = 1.0 / body[7] if body[7] > 0.0 else 0.0
    d1, d2, d3 = m * x[10], m * x[11], m * x[12]
    out[7], out[8], out[9] = rotate_xyz(a, b, c, d, d1, d2, d3)
    out[10], out[11], out[12] = rotate_xyz(x[0], x[1], x[2], x[3], x[4], x[5], x[6])
    out[13] = 0.5 * (p1 * w1 + p2 * w2 + p3 * w3 + x[10] * d1 + x[11] * d2 + x[12] * d3)


@kernel
def read_out_rows(body: Array, rows: Array, out: Array) -> None:
    """`read_out` of every row, `out` `(N, 14)`."""
    for n in range(rows.shape[0]):
        read_out(body, rows[n], out[n])


@kernel
def one_step(
    body: Array, terms: int, sigma: Array, delta: Array, stages: Array, x: Array, inputs: Array, h: float,
    max_increment: float, x0: Array, no_tangents: Array, out: Array,
) -> int:  # fmt: skip
    """One step on `x` in place, and its read-out; the kernel behind `Propagator.step`. `inputs` `(1, 6)`."""
    row = inputs.shape[0] - 1  # not a literal 0, for which numba would compile all of the above once more
    status = step_in_place(
        body, terms, sigma, delta, stages, x, inputs, row, h, max_increment, no_tangents, x0, no_tangents
    )
    read_out(body, x, out)
    return status


@kernel
def one_step_linearised(
    body: Array, terms: int, sigma: Array, delta: Array, stages: Array, x: Array, inputs: Array, h: float,
    max_increment: float, x0: Array, tangents: Array, tangents0: Array, out: Array, jacobian: Array,
) -> int:  # fmt: skip
    """One step and the derivative of `[θ, ω]` or `[θ, ω, ω_damper]` along each tangent, `jacobian` `(6 or 9, m)`."""
    row = inputs.shape[0] - 1
    status = step_in_place(
        body, terms, sigma, delta, stages, x, inputs, row, h, max_increment, tangents, x0, tangents0
    )
    read_out(body, x, out)
    a, b, c, d = body[3], body[4], body[5], body[6]
    t = tangents
    for n in range(t.shape[0]):
        jacobian[0, n], jacobian[1, n], jacobian[2, n] = rotate_xyz(a, b, c, d, t[n, 0], t[n, 1], t[n, 2])
        jacobian[3, n], jacobian[4, n], jacobian[5, n] = rotate_xyz(
            a, b, c, d,
            (t[n, 3] - t[n, 6] - t[n, 9]) / body[0],
            (t[n, 4] - t[n, 7] - t[n, 10]) / body[1],
            (t[n, 5] - t[n, 8] - t[n, 11]) / body[2],
        )  # fmt: skip
        if jacobian.shape[0] > 6:
            m = 1.0 / body[7]
            jacobian[6, n], jacobian[7, n], jacobian[8, n] = rotate_xyz(
                a, b, c, d, m * t[n, 9], m * t[n, 10], m * t[n, 11]
            )
        for i in range(jacobian.shape[0]):
            if not math.isfinite(jacobian[i, n]):  # an unstable motion over too long a step
                status = NOT_FINITE
    return status
