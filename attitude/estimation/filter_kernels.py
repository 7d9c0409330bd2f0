"""Kernels of the multiplicative filters: measurements and their absorption.

A filter is `x` `(20,)` (the propagator's state, see `attitude/dynamics/step.py`; the gyro filter keeps its bias where
the momentum is), `bias` `(3,)` and the factor `F` `(n, n)` of its covariance over the error state in principal axes:

    [θ, p]   dynamics filter          [θ, p, gyro bias]   with a gyro as a measurement
    [θ, b]   gyro filter, body axes are its principal axes

`θ` is the body-frame attitude error, `q_true = q ⊗ exp(θ)`. A measurement fills rows `H`, residual `y` and variances;
its components are taken along body axes, or along two axes across a unit vector.
"""

from __future__ import annotations

import math

from attitude.core.jit import Array, kernel
from attitude.core.quaternion import product_xyzw, rotate_xyz
from attitude.core.so3 import coefficients
from attitude.estimation.factor import absorb_scalar, innovate

ACCEPTED = 0
GATED = 1  # its NIS is above the gate
NOT_FINITE = 2  # NaN, infinity or zero where a direction should be: a missing sample looks like this

VECTOR, ATTITUDE, RATE = 0, 1, 2


# ------------------------------------------------------------------ measurements
@kernel
def _clear(H: Array) -> None:
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = 0.0


@kernel
def vector_rows(body: Array, x: Array, b: Array, r: Array, sigma: Array, H: Array, y: Array, variance: Array) -> int:
    """Unit vector `b` (body) of the direction `r` (inertial): the angle to its prediction, in two axes across it."""
    b1, b2, b3 = rotate_xyz(-body[3], -body[4], -body[5], body[6], b[0], b[1], b[2])
    c1, c2, c3 = rotate_xyz(-x[0], -x[1], -x[2], x[3], r[0], r[1], r[2])
    n = math.sqrt(b1 * b1 + b2 * b2 + b3 * b3)
    m = math.sqrt(c1 * c1 + c2 * c2 + c3 * c3)
    if not (0.0 < n < math.inf and 0.0 < m < math.inf and 0.0 < sigma[0] < math.inf):
        return NOT_FINITE
    b1, b2, b3, c1, c2, c3 = b1 / n, b2 / n, b3 / n, c1 / m, c2 / m, c3 / m
    u1, u2, u3, v1, v2, v3 = _across(c1, c2, c3)
    s, t = u1 * b1 + u2 * b2 + u3 * b3, v1 * b1 + v2 * b2 + v3 * b3
    sine, cosine = math.sqrt(s * s + t * t), c1 * b1 + c2 * b2 + c3 * b3
    if sine > 1e-8:
        stretch = math.atan2(sine, cosine) / sine  # angle over its sine
    elif cosine > 0.0:
        stretch = 1.0
    else:  # opposite: half a turn, about any axis across
        s, t, stretch = 1.0, 0.0, math.pi
    _clear(H)
    # e·(c × θ) = (e × c)·θ
    H[0, 0], H[0, 1], H[0, 2] = u2 * c3 - u3 * c2, u3 * c1 - u1 * c3, u1 * c2 - u2 * c1
    H[1, 0], H[1, 1], H[1, 2] = v2 * c3 - v3 * c2, v3 * c1 - v1 * c3, v1 * c2 - v2 * c1
    y[0], y[1], y[2] = stretch * s, stretch * t, 0.0
    variance[0] = variance[1] = sigma[0] * sigma[0]
    return ACCEPTED


@kernel
def _across(c1: float, c2: float, c3: float) -> tuple[float, float, float, float, float, float]:
    """Two unit vectors that form a right-handed frame with the unit vector `c`; regular everywhere (Duff 2017)."""
    sign = math.copysign(1.0, c3)
    a = -1.0 / (sign + c3)
    b = c1 * c2 * a
    return 1.0 + sign * c1 * c1 * a, sign * b, -sign * c1, b, sign + c2 * c2 * a, -c2


@kernel
def attitude_rows(body: Array, x: Array, q: Array, sigma: Array, H: Array, y: Array, variance: Array) -> int:
    """Attitude `q` (body to inertial), `sigma` `(3,)` rad along body axes."""
    square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if not (0.25 < square < 4.0 and usable(sigma)):
        return NOT_FINITE
    a, b, c, d = body[3], body[4], body[5], body[6]
    e1, e2, e3, e4 = product_xyzw(x[0], x[1], x[2], x[3], -a, -b, -c, d)  # our attitude of the body axes
    e1, e2, e3, e4 = product_xyzw(-e1, -e2, -e3, e4, q[0], q[1], q[2], q[3])
    if e4 < 0.0:
        e1, e2, e3, e4 = -e1, -e2, -e3, -e4
    sine = math.sqrt(e1 * e1 + e2 * e2 + e3 * e3)
    k = 2.0 * math.atan2(sine, e4) / sine if sine > 1e-8 else 2.0 / e4
    _clear(H)
    for i in range(3):
        H[i, 0], H[i, 1], H[i, 2] = _body_axis(body, i)
        variance[i] = sigma[i] * sigma[i]
    y[0], y[1], y[2] = k * e1, k * e2, k * e3
    return ACCEPTED


@kernel
def rate_rows(
    body: Array, x: Array, bias: Array, omega: Array, sigma: Array, H: Array, y: Array, variance: Array
) -> int:
    """Body rate `omega` by a gyro, `sigma` `(3,)` rad/s along body axes; measures `ω + bias` where `F` has a bias."""
    if not (math.isfinite(omega[0] + omega[1] + omega[2]) and usable(sigma)):
        return NOT_FINITE
    w1, w2, w3 = (x[4] - x[7]) * body[9], (x[5] - x[8]) * body[10], (x[6] - x[9]) * body[11]
    w1, w2, w3 = rotate_xyz(body[3], body[4], body[5], body[6], w1 + bias[0], w2 + bias[1], w3 + bias[2])
    _clear(H)
    for i in range(3):
        e1, e2, e3 = _body_axis(body, i)
        H[i, 3], H[i, 4], H[i, 5] = e1 * body[9], e2 * body[10], e3 * body[11]
        if H.shape[1] > 6:
            H[i, 6], H[i, 7], H[i, 8] = e1, e2, e3
        variance[i] = sigma[i] * sigma[i]
    y[0], y[1], y[2] = omega[0] - w1, omega[1] - w2, omega[2] - w3
    return ACCEPTED


@kernel
def usable(sigma: Array) -> bool:
    """Whether all three are positive and finite."""
    for i in range(3):
        if not 0.0 < sigma[i] < math.inf:
            return False
    return True


@kernel
def unit_axis(i: int) -> tuple[float, float, float]:
    """Unit vector along axis `i`."""
    return 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0


@kernel
def _body_axis(body: Array, i: int) -> tuple[float, float, float]:
    """Body axis `i` in principal axes."""
    a, b, c = unit_axis(i)
    return rotate_xyz(-body[3], -body[4], -body[5], body[6], a, b, c)


# ------------------------------------------------------------------ absorption
@kernel
def absorb(
    x: Array, bias: Array, F: Array, m: int, gate: float, H: Array, y: Array, variance: Array,
    S: Array, K: Array, stats: Array, work: Array,
) -> int:  # fmt: skip
    """Take a measurement of `m` components into the filter, unless its NIS is above `gate`; returns the status.

    `stats[0]` NIS, `stats[1]` log-likelihood; `work` `(4, n)`.
    """
    stats[0], stats[1] = innovate(F, H, variance, y, m, S, K, work)
    if not stats[0] <= gate:
        return GATED
    n = F.shape[0]
    d = work[3]
    for j in range(n):
        d[j] = K[j, 0] * y[0] + K[j, 1] * y[1] + K[j, 2] * y[2]
    v1, v2, v3 = d[0], d[1], d[2]
    _inject(x, bias, n, d)
    for i in range(m):
        absorb_scalar(F, H, i, variance[i], d)
    _reset(F, v1, v2, v3)
    return ACCEPTED


@kernel
def _inject(x: Array, bias: Array, n: int, d: Array) -> None:
    """Move the state by the estimated error `d` `(n,)`."""
    half = 0.5 * math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    k = 0.5 * math.sin(half) / half if half > 1e-8 else 0.5
    a, b, c, w = product_xyzw(x[0], x[1], x[2], x[3], k * d[0], k * d[1], k * d[2], math.cos(half))
    k = 1.0 / math.sqrt(a * a + b * b + c * c + w * w)
    x[0], x[1], x[2], x[3] = k * a, k * b, k * c, k * w
    for i in range(3):
        x[4 + i] += d[3 + i]
        if n > 6:
            bias[i] += d[6 + i]
    for i in range(13, x.size):
        x[i] = 0.0


@kernel
def turn_error(
    b: float, c: float, v1: float, v2: float, v3: float, t1: float, t2: float, t3: float
) -> tuple[float, float, float]:
    """`t − b v × t + c v × (v × t)`: with the coefficients of `so3.py` the right Jacobian of `v` times `t`."""
    w1, w2, w3 = v2 * t3 - v3 * t2, v3 * t1 - v1 * t3, v1 * t2 - v2 * t1
    return (
        t1 - b * w1 + c * (v2 * w3 - v3 * w2),
        t2 - b * w2 + c * (v3 * w1 - v1 * w3),
        t3 - b * w3 + c * (v1 * w2 - v2 * w1),
    )


@kernel
def _reset(F: Array, v1: float, v2: float, v3: float) -> None:
    """After the attitude has moved by `v`, errors are measured from there: `θ ← J_r(v) θ`."""
    _, b, c, _ = coefficients(v1 * v1 + v2 * v2 + v3 * v3)
    for i in range(F.shape[0]):
        F[i, 0], F[i, 1], F[i, 2] = turn_error(b, c, v1, v2, v3, F[i, 0], F[i, 1], F[i, 2])


@kernel
def read_factor(body: Array, bias_only: bool, F: Array, G: Array) -> None:
    """`G`: the rows of `F` in the user's error state and body axes; the gyro filter's are (`bias_only`) already."""
    q1, q2, q3, q4 = body[3], body[4], body[5], body[6]
    for i in range(F.shape[0]):
        G[i, 0], G[i, 1], G[i, 2] = rotate_xyz(q1, q2, q3, q4, F[i, 0], F[i, 1], F[i, 2])
        a, b, c = F[i, 3], F[i, 4], F[i, 5]
        if not bias_only:
            a, b, c = a * body[9], b * body[10], c * body[11]
        G[i, 3], G[i, 4], G[i, 5] = rotate_xyz(q1, q2, q3, q4, a, b, c)
        if F.shape[0] > 6:
            G[i, 6], G[i, 7], G[i, 8] = rotate_xyz(q1, q2, q3, q4, F[i, 6], F[i, 7], F[i, 8])


@kernel
def update(
    kind: int, body: Array, x: Array, bias: Array, F: Array, value: Array, reference: Array, sigma: Array, gate: float,
    H: Array, y: Array, variance: Array, S: Array, K: Array, stats: Array, work: Array,
) -> int:  # fmt: skip
    """One measurement of any kind, in place; returns the status. A sample with NaN is refused, not absorbed."""
    if kind == VECTOR:
        status = vector_rows(body, x, value, reference, sigma, H, y, variance)
    elif kind == ATTITUDE:
        status = attitude_rows(body, x, value, sigma, H, y, variance)
    else:
        status = rate_rows(body, x, bias, value, sigma, H, y, variance)
    m = 2 if kind == VECTOR else 3
    stats[0], stats[1], stats[2] = math.nan, math.nan, float(m)
    if status != ACCEPTED:
        return status
    return absorb(x, bias, F, m, gate, H, y, variance, S, K, stats, work)
