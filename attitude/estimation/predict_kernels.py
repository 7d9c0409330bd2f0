"""Kernels that carry a filter through time: by the variational integrator, or by a gyro."""

from __future__ import annotations

import math

from attitude.core.increment import OK
from attitude.core.jit import Array, kernel
from attitude.core.quaternion import product_xyzw, rotate_xyz
from attitude.core.so3 import coefficients
from attitude.dynamics.step import (
    MAX_SUBSTEPS,
    NOT_FINITE,
    TOO_MANY_SUBSTEPS,
    first_substeps,
    more_substeps,
    substep_with_tangents,
)
from attitude.estimation.factor import triangularise
from attitude.estimation.filter_kernels import turn_error, unit_axis

GAUSS = 0.5 / math.sqrt(3.0)  # the two points of Gauss's rule lie at ½ ± this


@kernel
def predict(
    body: Array, terms: int, sigma: Array, delta: Array, stages: Array, inputs: Array, row: int, h: float,
    max_increment: float, torque_noise: Array, bias_walk: float, x: Array, F: Array,
    tangents: Array, A: Array, x0: Array, F0: Array,
) -> int:  # fmt: skip
    """Carry state and factor over `h` seconds, in place; returns the propagator's status, and on failure the start.

    `torque_noise` `(3, 3)`: row i is body axis i in principal axes times its density, N·m·√s; `bias_walk`,
    rad/s/√s. Work space: `tangents` `(n + 3, 18)`, `A` `(n + 9, n)`, `x0` and `F0` like `x` and `F`.
    """
    split = max_increment < 1.0
    n = first_substeps(body, stages, x, inputs, row, h, max_increment) if split else 1
    _copy(x, F, x0, F0)
    while True:
        square, status = _carry(
            body, terms, sigma, delta, stages, inputs, row, h, n, max_increment, torque_noise, bias_walk,
            x, F, tangents, A,
        )  # fmt: skip
        if status == OK and not math.isfinite(x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6]):
            status = NOT_FINITE
        if status == OK and square <= max_increment * max_increment:
            return OK
        _copy(x0, F0, x, F)
        if not split or status == NOT_FINITE:
            return status
        if n >= MAX_SUBSTEPS // 2:
            return TOO_MANY_SUBSTEPS
        n = more_substeps(n, status, square, max_increment)


@kernel
def _copy(x: Array, F: Array, x_to: Array, F_to: Array) -> None:
    for i in range(x.size):
        x_to[i] = x[i]
    for i in range(F.shape[0]):
        for j in range(F.shape[1]):
            F_to[i, j] = F[i, j]


@kernel
def _carry(
    body: Array, terms: int, sigma: Array, delta: Array, stages: Array, inputs: Array, row: int, h: float, n: int,
    max_increment: float, torque_noise: Array, bias_walk: float, x: Array, F: Array, tangents: Array, A: Array,
) -> tuple[float, int]:  # fmt: skip
    """`n` equal substeps; the noise of each goes on through the exact linearisations of those after it."""
    part, limit, square = h / n, max_increment * max_increment, 0.0
    for _ in range(n):
        _load(F, torque_noise, tangents)
        for i in range(stages.size):
            square, status = substep_with_tangents(
                body, terms, sigma, delta, x, inputs, row, part * stages[i], tangents
            )
            if status != OK or square > limit:
                return square, status
        _store(F, torque_noise, bias_walk, part, tangents, A)
    return square, OK


@kernel
def _load(F: Array, torque_noise: Array, tangents: Array) -> None:
    """Tangents: the rows of the factor, then an impulse along each body axis."""
    n = F.shape[0]
    for i in range(n + 3):
        for j in range(tangents.shape[1]):
            tangents[i, j] = 0.0
    for i in range(n):
        for j in range(6):
            tangents[i, j] = F[i, j]
    for i in range(3):
        for j in range(3):
            tangents[n + i, 3 + j] = torque_noise[i, j]


@kernel
def _store(F: Array, torque_noise: Array, bias_walk: float, part: float, tangents: Array, A: Array) -> None:
    """Factor of the carried rows and of the substep's noise.

    White torque of density σ over a substep is the integral of its impulse responses; two Gauss points integrate the
    covariance exactly for responses that change linearly over the substep: `(u θ, (1 − u) p + u p⁺)`, u in [0, 1].
    """
    n = F.shape[0]
    rows = n
    for i in range(n):
        for j in range(n):
            A[i, j] = tangents[i, j] if j < 6 else F[i, j]
    weight = math.sqrt(0.5 * part)
    for i in range(3):
        for side in range(2):
            u = 0.5 + (2 * side - 1) * GAUSS
            for j in range(3):
                A[rows, j] = weight * u * tangents[n + i, j]
                A[rows, 3 + j] = weight * ((1.0 - u) * torque_noise[i, j] + u * tangents[n + i, 3 + j])
            for j in range(6, n):
                A[rows, j] = 0.0
            rows += 1
    if n > 6:
        for i in range(3):
            for j in range(n):
                A[rows, j] = bias_walk * math.sqrt(part) if j == 6 + i else 0.0
            rows += 1
    triangularise(A, rows, n, F)


@kernel
def predict_gyro(omega: Array, h: float, arw: float, rrw: float, x: Array, F: Array, A: Array) -> int:
    """Gyro filter over `h` seconds at the constant measured rate `omega` `(3,)`, exactly; state `[θ, bias]`.

    `θ̇ = −ω × θ − b`, so `θ⁺ = R(f)ᵀ θ − h J_r(v) b` with `v = (ω − b) h`. The noise of `arw`, rad/√s, and `rrw`,
    rad/s/√s, has the covariance `∫ σ_v² + σ_u² A Aᵀ`, `−σ_u² ∫ A`, `σ_u² h` with `A(s) = s J_r(ω s)`; its factor
    is in closed form, because along and across the axis everything commutes. `A` `(12, 6)` is work space.
    """
    v1, v2, v3 = (omega[0] - x[4]) * h, (omega[1] - x[5]) * h, (omega[2] - x[6]) * h
    square = v1 * v1 + v2 * v2 + v3 * v3
    if not math.isfinite(square + h):
        return NOT_FINITE
    _, b, c, _ = coefficients(square)
    f1, f2, f3, f4 = _half_turn(v1, v2, v3, math.sqrt(square))
    _turn(x, f1, f2, f3, f4)
    for i in range(6):
        t1, t2, t3 = rotate_xyz(-f1, -f2, -f3, f4, F[i, 0], F[i, 1], F[i, 2])
        s1, s2, s3 = turn_error(b, c, v1, v2, v3, F[i, 3], F[i, 4], F[i, 5])
        A[i, 0], A[i, 1], A[i, 2] = t1 - h * s1, t2 - h * s2, t3 - h * s3
        A[i, 3], A[i, 4], A[i, 5] = F[i, 3], F[i, 4], F[i, 5]
    _gyro_noise(v1, v2, v3, square, b, c, h, arw, rrw, A)
    rows, n = A.shape
    triangularise(A, rows, n, F)
    return OK


@kernel
def _half_turn(v1: float, v2: float, v3: float, angle: float) -> tuple[float, float, float, float]:
    """Quaternion of the rotation vector `v` of length `angle`."""
    k = math.sin(0.5 * angle) / angle if angle > 1e-8 else 0.5
    return k * v1, k * v2, k * v3, math.cos(0.5 * angle)


@kernel
def _turn(x: Array, f1: float, f2: float, f3: float, f4: float) -> None:
    a, b, c, d = product_xyzw(x[0], x[1], x[2], x[3], f1, f2, f3, f4)
    k = 1.0 / math.sqrt(a * a + b * b + c * c + d * d)
    x[0], x[1], x[2], x[3] = k * a, k * b, k * c, k * d


@kernel
def _gyro_noise(
    v1: float, v2: float, v3: float, square: float, b: float, c: float, h: float, arw: float, rrw: float, A: Array
) -> None:
    """Rows 6 to 11 of `A`: what the bias walk does to bias and attitude together, and the rest of the attitude's."""
    e = (0.5 - b) / square if square > 0.01 else 1.0 / 24.0 - square / 720.0 * (1.0 - square / 56.0)
    for i in range(3):
        # column i of ∫ A = h² (½ − c [v] + e [v]²)
        t1, t2, t3 = unit_axis(i)
        t1, t2, t3 = turn_error(2.0 * c, 2.0 * e, v1, v2, v3, t1, t2, t3)
        k = -0.5 * rrw * h * math.sqrt(h)
        A[6 + i, 0], A[6 + i, 1], A[6 + i, 2] = k * t1, k * t2, k * t3
        for j in range(3):
            A[6 + i, 3 + j] = rrw * math.sqrt(h) if i == j else 0.0
    along = math.sqrt(arw * arw * h + rrw * rrw * h**3 / 12.0)
    rest = max(0.0, 2.0 * c - b * b - square * c * c)  # ∫|a|² − |∫a|² across the axis, over h³
    across = math.sqrt(arw * arw * h + rrw * rrw * h**3 * rest)
    k = (along - across) / square if square > 0.0 else 0.0
    for i in range(3):
        w = v1 if i == 0 else v2 if i == 1 else v3
        A[9 + i, 0], A[9 + i, 1], A[9 + i, 2] = k * w * v1, k * w * v2, k * w * v3
        A[9 + i, i] += across
        A[9 + i, 3], A[9 + i, 4], A[9 + i, 5] = 0.0, 0.0, 0.0
