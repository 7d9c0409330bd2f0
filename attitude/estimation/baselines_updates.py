"""Updates of the covariance-form filters we compare with, and their whole recordings: plain EKF algebra.

State, covariance and work space as in `baselines_kernels.py`. Every sample has three components, with the standard
deviations `sigma` `(3,)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from attitude.core.jit import Array, kernel
from attitude.core.linalg import inverse3
from attitude.core.quaternion import product_xyzw, rotate_xyz
from attitude.estimation.baselines_kernels import add, congruence, predict, turn
from attitude.estimation.filter_kernels import ACCEPTED, ATTITUDE, NOT_FINITE, RATE, VECTOR, usable


# ------------------------------------------------------------------ updates
@kernel
def _vector_rows(x: Array, b: Array, r: Array, H: Array, y: Array) -> bool:
    """`y = b − b̂`, `b̂ = R(q)ᵀ r`, `H = [S(b̂) 0]`: all three components, noise alike in each."""
    n = math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
    m = math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    if not (0.0 < n < math.inf and 0.0 < m < math.inf):
        return False
    c1, c2, c3 = rotate_xyz(-x[0], -x[1], -x[2], x[3], r[0] / m, r[1] / m, r[2] / m)
    y[0], y[1], y[2] = b[0] / n - c1, b[1] / n - c2, b[2] / n - c3
    H[0, 1], H[0, 2], H[1, 2] = -c3, c2, -c1
    H[1, 0], H[2, 0], H[2, 1] = c3, -c2, c1
    return True


@kernel
def _attitude_rows(x: Array, q: Array, H: Array, y: Array) -> bool:
    """`y` = rotation vector from the estimate to `q`, `H = [1 0]`."""
    square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if not 0.25 < square < 4.0:
        return False
    a, b, c, d = product_xyzw(-x[0], -x[1], -x[2], x[3], q[0], q[1], q[2], q[3])
    if d < 0.0:
        a, b, c, d = -a, -b, -c, -d
    sine = math.sqrt(a * a + b * b + c * c)
    k = 2.0 * math.atan2(sine, d) / sine if sine > 1e-8 else 2.0 / d
    y[0], y[1], y[2] = k * a, k * b, k * c
    for i in range(3):
        H[i, i] = 1.0
    return True


@kernel
def _rate_rows(x: Array, omega: Array, H: Array, y: Array) -> bool:
    """`y = ω_measured − ω`, `H = [0 1]`."""
    for i in range(3):
        y[i] = omega[i] - x[4 + i]
        H[i, 3 + i] = 1.0
    return math.isfinite(y[0] + y[1] + y[2])


@kernel
def _gain(P: Array, H: Array, sigma: Array, y: Array, S: Array, K: Array) -> float:
    """`S = H P Hᵀ + R`, `K = P Hᵀ S⁻¹`; returns the NIS `yᵀ S⁻¹ y`."""
    for i in range(6):
        for m in range(3):
            K[i, m] = 0.0
            for k in range(6):
                K[i, m] += P[i, k] * H[m, k]
    for m in range(3):
        for j in range(3):
            S[m, j] = sigma[m] * sigma[m] if m == j else 0.0
            for k in range(6):
                S[m, j] += H[m, k] * K[k, j]
    a, b, c, d, e, f, g, h, i9 = inverse3(
        S[0, 0], S[0, 1], S[0, 2], S[1, 0], S[1, 1], S[1, 2], S[2, 0], S[2, 1], S[2, 2]
    )
    for i in range(6):
        u, v, w = K[i, 0], K[i, 1], K[i, 2]
        K[i, 0], K[i, 1], K[i, 2] = u * a + v * d + w * g, u * b + v * e + w * h, u * c + v * f + w * i9
    u, v, w = y[0], y[1], y[2]
    return u * (a * u + b * v + c * w) + v * (d * u + e * v + f * w) + w * (g * u + h * v + i9 * w)


@kernel
def _joseph(P: Array, H: Array, sigma: Array, K: Array, W: Array) -> None:
    """`P ← (1 − K H) P (1 − K H)ᵀ + K R Kᵀ`."""
    for i in range(6):
        for j in range(6):
            total, noise = 1.0 if i == j else 0.0, 0.0
            for m in range(3):
                total -= K[i, m] * H[m, j]
                noise += K[i, m] * sigma[m] * sigma[m] * K[j, m]
            W[1, i, j], W[2, i, j] = total, noise
    congruence(W[1], P, W[3])
    add(W[2], P)


@kernel
def update(
    kind: int, x: Array, P: Array, value: Array, reference: Array, sigma: Array,
    H: Array, y: Array, S: Array, K: Array, stats: Array, W: Array,
) -> int:  # fmt: skip
    """Extended Kalman update by one sample, Joseph form; `stats[0]` is its NIS. The reset leaves `P` as it is."""
    stats[0] = math.nan
    for i in range(3):
        for j in range(6):
            H[i, j] = 0.0
    if kind == VECTOR:
        good = _vector_rows(x, value, reference, H, y)
    elif kind == ATTITUDE:
        good = _attitude_rows(x, value, H, y)
    else:
        good = _rate_rows(x, value, H, y)
    if not (good and usable(sigma)):
        return NOT_FINITE
    stats[0] = _gain(P, H, sigma, y, S, K)
    if not math.isfinite(stats[0]):
        return NOT_FINITE
    _joseph(P, H, sigma, K, W)
    _inject(x, K, y)
    return ACCEPTED


@kernel
def _inject(x: Array, K: Array, y: Array) -> None:
    """Move the state by `K y`."""
    a, b, c = y[0], y[1], y[2]
    for i in range(3):
        x[4 + i] += K[3 + i, 0] * a + K[3 + i, 1] * b + K[3 + i, 2] * c
    turn(
        x,
        K[0, 0] * a + K[0, 1] * b + K[0, 2] * c,
        K[1, 0] * a + K[1, 1] * b + K[1, 2] * c,
        K[2, 0] * a + K[2, 1] * b + K[2, 2] * c,
    )


# ------------------------------------------------------------------ whole recordings
@kernel
def run_recorded(
    method: int, J: Array, J_inverse: Array, C: Array, torques: Array, t: float, times: Array, x: Array, P: Array,
    vectors: Array, references: Array, vector_sigma: Array, attitudes: Array, attitude_sigma: Array,
    rates: Array, rate_sigma: Array, H: Array, y: Array, S: Array, K: Array, stats: Array, W: Array, stages: Array,
    states: Array, covariances: Array, nis: Array, status: NDArray[np.int64], prediction: NDArray[np.int64],
) -> None:  # fmt: skip
    """All predictions and updates of a recording, in the order of `Samples`; `vector_sigma` `(V, 3)`."""
    width = vectors.shape[1]
    for k in range(times.size):
        if times[k] > t:
            torque = torques[k if torques.shape[0] > 1 else 0]
            prediction[k] = predict(method, J, J_inverse, C, torque, times[k] - t, x, P, W, stages)
            t = times[k]
        for column in range(status.shape[1]):
            if column < width:
                kind, value, sigma = VECTOR, vectors[k, column], vector_sigma[column]
                reference = references[k if references.shape[0] > 1 else 0, column]
            elif column == width and attitudes.shape[0] > 0:
                kind, value, sigma, reference = ATTITUDE, attitudes[k], attitude_sigma, y
            else:
                kind, value, sigma, reference = RATE, rates[k], rate_sigma, y
            status[k, column] = update(kind, x, P, value, reference, sigma, H, y, S, K, stats, W)
            nis[k, column] = stats[0]
        for i in range(7):
            states[k, i] = x[i]
        for i in range(6):
            for j in range(6):
                covariances[k, i, j] = P[i, j]
