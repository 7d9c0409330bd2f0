"""Predictions of the covariance-form filters we compare with; nothing is shared with the factored filters.

State `x` `(7,)`: attitude `q` and body rate `ω`; `P` `(6, 6)` over `[θ, ω]`, body axes, `q_true = q ⊗ exp(θ)`.
The model is the rigid body under a constant body torque and a white one:

    q̇ = ½ q ⊗ [ω, 0]          θ̇ = −ω × θ + δω
    ω̇ = J⁻¹(τ − ω × J ω)      δω̇ = J⁻¹(S(J ω) − S(ω) J) δω + J⁻¹ w

`C` `(3, 3)` is the covariance density of `J⁻¹ w`. `W` `(7, 6, 6)` is work space.
"""

from __future__ import annotations

import math

from attitude.core.jit import Array, kernel
from attitude.core.linalg import times3
from attitude.core.quaternion import product_xyzw
from attitude.estimation.filter_kernels import ACCEPTED

NOT_PREDICTED = 4  # the prediction is not finite; the filter is left as it was
TEXTBOOK, RK4_EXPM = 0, 1
SERIES_TERMS = 8  # with ‖F h‖ ≤ 1/8 the first term left out is below 3e-14
LONGEST_SUBSTEP = 0.2  # rad: RK4 is then right to about 1e-5 rad in a turn


# ------------------------------------------------------------------ model
@kernel
def _cross(a: float, b: float, c: float, d: float, e: float, f: float) -> tuple[float, float, float]:
    return b * f - c * e, c * d - a * f, a * e - b * d


@kernel
def _acceleration(
    J: Array, J_inverse: Array, torque: Array, w1: float, w2: float, w3: float
) -> tuple[float, float, float]:
    l1, l2, l3 = times3(J, w1, w2, w3)
    a, b, c = _cross(l1, l2, l3, w1, w2, w3)
    return times3(J_inverse, torque[0] + a, torque[1] + b, torque[2] + c)


@kernel
def slope(J: Array, J_inverse: Array, torque: Array, x: Array, out: Array) -> None:
    """`out[:7]` = time derivative of the state."""
    w1, w2, w3 = x[4], x[5], x[6]
    a, b, c, d = product_xyzw(x[0], x[1], x[2], x[3], w1, w2, w3, 0.0)
    out[0], out[1], out[2], out[3] = 0.5 * a, 0.5 * b, 0.5 * c, 0.5 * d
    out[4], out[5], out[6] = _acceleration(J, J_inverse, torque, w1, w2, w3)


@kernel
def rate_matrix(J: Array, J_inverse: Array, w1: float, w2: float, w3: float, F: Array) -> None:
    """`F` `(6, 6)` of the linearised error, `d[θ, δω]/dt = F [θ, δω]`, at the rate `(w1, w2, w3)`."""
    l1, l2, l3 = times3(J, w1, w2, w3)
    for k in range(3):
        e1, e2, e3 = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
        F[0, k], F[1, k], F[2, k] = _cross(e1, e2, e3, w1, w2, w3)
        a, b, c = _cross(l1, l2, l3, e1, e2, e3)
        d, e, f = _cross(w1, w2, w3, J[0, k], J[1, k], J[2, k])
        F[3, 3 + k], F[4, 3 + k], F[5, 3 + k] = times3(J_inverse, a - d, b - e, c - f)
        F[0, 3 + k], F[1, 3 + k], F[2, 3 + k] = e1, e2, e3
        F[3, k], F[4, k], F[5, k] = 0.0, 0.0, 0.0


@kernel
def variational_slope(J: Array, J_inverse: Array, C: Array, torque: Array, y: Array, F: Array, out: Array) -> None:
    """`out` `(79,)` = derivative of `y`: the state (7), the transition `Φ` (36) and the noise's covariance `Q` (36).

    `Φ̇ = F Φ`, `Q̇ = F Q + Q Fᵀ + G C Gᵀ`.
    """
    slope(J, J_inverse, torque, y, out)
    rate_matrix(J, J_inverse, y[4], y[5], y[6], F)
    for i in range(6):
        for j in range(6):
            phi, q = 0.0, C[i - 3, j - 3] if i > 2 and j > 2 else 0.0
            for k in range(6):
                phi += F[i, k] * y[7 + 6 * k + j]
                q += F[i, k] * y[43 + 6 * k + j] + y[43 + 6 * i + k] * F[j, k]
            out[7 + 6 * i + j], out[43 + 6 * i + j] = phi, q


# ------------------------------------------------------------------ 6×6 algebra
@kernel
def _multiply(A: Array, B: Array, out: Array) -> None:
    for i in range(6):
        for j in range(6):
            total = 0.0
            for k in range(6):
                total += A[i, k] * B[k, j]
            out[i, j] = total


@kernel
def congruence(A: Array, P: Array, T: Array) -> None:
    """`P ← A P Aᵀ`, exactly symmetric; `T` is work space."""
    _multiply(A, P, T)
    for i in range(6):
        for j in range(i + 1):
            total = 0.0
            for k in range(6):
                total += T[i, k] * A[j, k]
            P[i, j] = P[j, i] = total


@kernel
def add(A: Array, P: Array) -> None:
    """`P ← P + A`."""
    for i in range(6):
        for j in range(6):
            P[i, j] += A[i, j]


@kernel
def _halvings(F: Array, h: float) -> int:
    """How often `h` must be halved until the series of `exp(F h)` is short; −1 if that never happens."""
    size = 0.0
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += abs(F[i, j])
        size = max(size, total * h)
    if not size < 1e6:
        return -1
    n = 0
    while size > 0.125:
        size *= 0.5
        n += 1
    return n


@kernel
def transition(C: Array, h: float, W: Array) -> int:
    """`W[1] = exp(F h)` and `W[2] = ∫ exp(F s) G C Gᵀ exp(F s)ᵀ ds` of `F = W[0]`: series, then doubling."""
    F, Phi, Q, power, noise, T = W[0], W[1], W[2], W[3], W[4], W[5]
    n = _halvings(F, h)
    if n < 0:
        return NOT_PREDICTED
    part = h * 0.5**n
    for i in range(6):
        for j in range(6):
            power[i, j] = Phi[i, j] = 1.0 if i == j else 0.0
            noise[i, j] = Q[i, j] = part * C[i - 3, j - 3] if i > 2 and j > 2 else 0.0
    for k in range(1, SERIES_TERMS + 1):
        _multiply(F, power, T)
        for i in range(6):
            for j in range(6):
                power[i, j] = T[i, j] * (part / k)
        add(power, Phi)
        _multiply(F, noise, T)
        for i in range(6):
            for j in range(6):
                noise[i, j] = (T[i, j] + T[j, i]) * (part / (k + 1))
        add(noise, Q)
    for _ in range(n):
        for i in range(6):
            for j in range(6):
                power[i, j] = Q[i, j]
        congruence(Phi, power, T)
        add(power, Q)
        _multiply(Phi, Phi, T)
        for i in range(6):
            for j in range(6):
                Phi[i, j] = T[i, j]
    return ACCEPTED


# ------------------------------------------------------------------ predictions
@kernel
def turn(x: Array, v1: float, v2: float, v3: float) -> None:
    """`q ← q ⊗ exp(v)`."""
    half = 0.5 * math.sqrt(v1 * v1 + v2 * v2 + v3 * v3)
    k = 0.5 * math.sin(half) / half if half > 1e-8 else 0.5
    a, b, c, d = product_xyzw(x[0], x[1], x[2], x[3], k * v1, k * v2, k * v3, math.cos(half))
    n = 1.0 / math.sqrt(a * a + b * b + c * c + d * d)
    x[0], x[1], x[2], x[3] = n * a, n * b, n * c, n * d


@kernel
def textbook_step(J: Array, J_inverse: Array, C: Array, torque: Array, h: float, x: Array, P: Array, W: Array) -> None:
    """Midpoint rule for the mean; `Φ = 1 + F h` with `F` at the estimate before, `Q = G C Gᵀ h`."""
    w1, w2, w3 = x[4], x[5], x[6]
    a1, a2, a3 = _acceleration(J, J_inverse, torque, w1, w2, w3)
    m1, m2, m3 = w1 + 0.5 * h * a1, w2 + 0.5 * h * a2, w3 + 0.5 * h * a3
    a1, a2, a3 = _acceleration(J, J_inverse, torque, m1, m2, m3)
    turn(x, h * m1, h * m2, h * m3)
    x[4], x[5], x[6] = w1 + h * a1, w2 + h * a2, w3 + h * a3
    rate_matrix(J, J_inverse, w1, w2, w3, W[0])
    for i in range(6):
        for j in range(6):
            W[1, i, j] = h * W[0, i, j] + (1.0 if i == j else 0.0)
            W[2, i, j] = h * C[i - 3, j - 3] if i > 2 and j > 2 else 0.0
    congruence(W[1], P, W[3])
    add(W[2], P)


@kernel
def rk4_step(J: Array, J_inverse: Array, torque: Array, h: float, x: Array, stages: Array) -> None:
    """Classical Runge–Kutta step of the state; `stages` `(3, 7)` is work space."""
    k, y, total = stages[0], stages[1], stages[2]
    for i in range(7):
        y[i] = total[i] = x[i]
    for stage in range(4):
        slope(J, J_inverse, torque, y, k)
        weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
        ahead = h if stage == 2 else 0.5 * h
        for i in range(7):
            total[i] += weight * k[i]
            y[i] = x[i] + ahead * k[i]
    n = 1.0 / math.sqrt(total[0] ** 2 + total[1] ** 2 + total[2] ** 2 + total[3] ** 2)
    for i in range(7):
        x[i] = total[i] * n if i < 4 else total[i]


@kernel
def rk4_expm_step(
    J: Array, J_inverse: Array, C: Array, torque: Array, h: float, x: Array, P: Array, W: Array, stages: Array
) -> int:
    """Runge–Kutta for the mean; `Φ = exp(F h)` and the exact noise of that constant `F`, at the mean rate of the step.

    The mean of the rates at both ends makes the transition second order; the rate at the start would make it first.
    """
    w1, w2, w3 = x[4], x[5], x[6]
    rk4_step(J, J_inverse, torque, h, x, stages)
    rate_matrix(J, J_inverse, 0.5 * (w1 + x[4]), 0.5 * (w2 + x[5]), 0.5 * (w3 + x[6]), W[0])
    status = transition(C, h, W)
    congruence(W[1], P, W[3])
    add(W[2], P)
    return status


@kernel
def rk4_substeps(J: Array, J_inverse: Array, torque: Array, h: float, n: int, x: Array, stages: Array) -> None:
    """State over `h` seconds in `n` Runge–Kutta steps."""
    for _ in range(n):
        rk4_step(J, J_inverse, torque, h / n, x, stages)


@kernel
def rk4_expm_substeps(
    J: Array, J_inverse: Array, C: Array, torque: Array, h: float, n: int, x: Array, P: Array, W: Array, stages: Array
) -> int:
    """State and covariance over `h` seconds in `n` steps."""
    status = ACCEPTED
    for _ in range(n):
        status |= rk4_expm_step(J, J_inverse, C, torque, h / n, x, P, W, stages)
    return status if finite(x) and _finite_covariance(P) else NOT_PREDICTED


@kernel
def substeps(J: Array, J_inverse: Array, torque: Array, h: float, x: Array) -> int:
    """Steps in which no motion of this momentum turns by more than `LONGEST_SUBSTEP` rad; 0 if beyond all reason."""
    l1, l2, l3 = times3(J, x[4], x[5], x[6])
    push = math.sqrt(torque[0] ** 2 + torque[1] ** 2 + torque[2] ** 2)
    inverse = 0.0
    for i in range(3):
        for j in range(3):
            inverse += J_inverse[i, j] ** 2
    greatest = math.sqrt(inverse) * (math.sqrt(l1 * l1 + l2 * l2 + l3 * l3) + h * push)
    n = greatest * h / LONGEST_SUBSTEP
    return int(n) + 1 if n < 1e6 else 0


@kernel
def finite(x: Array) -> bool:
    """Whether all of `x` `(7,)` is finite and moderate enough to be squared."""
    for i in range(7):
        if not abs(x[i]) < 1e100:
            return False
    return True


@kernel
def _finite_covariance(P: Array) -> bool:
    for i in range(6):
        if not 0.0 <= P[i, i] < 1e100:
            return False
    return True


@kernel
def predict(
    method: int, J: Array, J_inverse: Array, C: Array, torque: Array, h: float, x: Array, P: Array, W: Array,
    stages: Array,
) -> int:  # fmt: skip
    """Carry the filter over `h` seconds in one step; not finite leaves it as it was."""
    for i in range(6):
        stages[3, i] = x[i]
        for j in range(6):
            W[6, i, j] = P[i, j]
    stages[3, 6] = x[6]
    status = ACCEPTED
    if method == TEXTBOOK:
        textbook_step(J, J_inverse, C, torque, h, x, P, W)
    else:
        status = rk4_expm_step(J, J_inverse, C, torque, h, x, P, W, stages)
    if status == ACCEPTED and finite(x) and _finite_covariance(P):
        return ACCEPTED
    x[6] = stages[3, 6]
    for i in range(6):
        x[i] = stages[3, i]
        for j in range(6):
            P[i, j] = W[6, i, j]
    return NOT_PREDICTED
