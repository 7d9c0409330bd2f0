"""SO(3): hat and vee, exponential and logarithm, left and right Jacobians and their inverses.

With `v` a rotation vector (rad), `θ = ‖v‖`:

    exp(v)  = 1 + a S(v) + b S(v)²                       a = sin θ / θ,  b = (1 − cos θ)/θ²
    J_l(v)  = 1 + b S(v) + c S(v)²,    J_r(v) = J_l(−v)   c = (θ − sin θ)/θ³
    J_l⁻¹   = 1 − ½ S(v) + d S(v)²,    J_r⁻¹ = J_l⁻¹(−v)  d = 1/θ² − (1 + cos θ)/(2 θ sin θ)

and `exp(v + δ) = exp(J_l δ) exp(v) = exp(v) exp(J_r δ)` to first order in δ. `d` is written
`(1 − ½ θ cot ½θ)/θ²`, which is regular up to and at π. Kernels load before they store.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import quaternion
from attitude.core.jit import Array, kernel, on_warm_up

SERIES_ANGLE = 0.3  # rad: below it the series, to θ¹⁰ (next term below 1e-16); above it the closed forms lose 2 digits


@kernel
def coefficients(theta_squared: float) -> tuple[float, float, float, float]:
    """`a, b, c, d` of the module's head, right to roundoff at every angle from 0 to π."""
    t = theta_squared
    if t < SERIES_ANGLE * SERIES_ANGLE:
        a = 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0))))
        b = 0.5 * (1.0 - t / 12.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0 * (1.0 - t / 132.0)))))
        c = (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0 * (1.0 - t / 156.0))))) / 6.0
        d = 1.0 / 47900160.0 + t * 691.0 / 1307674368e3
        d = 1.0 / 12.0 + t * (1.0 / 720.0 + t * (1.0 / 30240.0 + t * (1.0 / 1209600.0 + t * d)))
        return a, b, c, d
    theta = math.sqrt(t)
    half = 0.5 * theta
    sine = math.sin(half)
    a = math.sin(theta) / theta
    b = 2.0 * sine * sine / t
    return a, b, (1.0 - a) / t, (1.0 - half * math.cos(half) / sine) / t


@kernel
def hat_kernel(v: Array, out: Array) -> None:
    """`out = S(v)`, `S(v) u = v × u`."""
    x, y, z = v[0], v[1], v[2]
    out[0, 0], out[0, 1], out[0, 2] = 0.0, -z, y
    out[1, 0], out[1, 1], out[1, 2] = z, 0.0, -x
    out[2, 0], out[2, 1], out[2, 2] = -y, x, 0.0


@kernel
def vee_kernel(S: Array, out: Array) -> None:
    """`out` = vector of the skew part of `S`."""
    x, y, z = S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]
    out[0], out[1], out[2] = 0.5 * x, 0.5 * y, 0.5 * z


@kernel
def polynomial_kernel(v: Array, k1: float, k2: float, out: Array) -> None:
    """`out = 1 + k1 S(v) + k2 S(v)²`."""
    x, y, z = v[0], v[1], v[2]
    xx, yy, zz = x * x, y * y, z * z
    out[0, 0], out[1, 1], out[2, 2] = 1.0 - k2 * (yy + zz), 1.0 - k2 * (xx + zz), 1.0 - k2 * (xx + yy)
    out[0, 1], out[1, 0] = k2 * x * y - k1 * z, k2 * x * y + k1 * z
    out[0, 2], out[2, 0] = k2 * x * z + k1 * y, k2 * x * z - k1 * y
    out[1, 2], out[2, 1] = k2 * y * z - k1 * x, k2 * y * z + k1 * x


@kernel
def exp_kernel(v: Array, out: Array) -> None:
    """`out = exp(S(v))`, 3×3."""
    a, b, _, _ = coefficients(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    polynomial_kernel(v, a, b, out)


@kernel
def left_jacobian_kernel(v: Array, out: Array) -> None:
    """`out = J_l(v)`, 3×3."""
    _, b, c, _ = coefficients(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    polynomial_kernel(v, b, c, out)


@kernel
def right_jacobian_kernel(v: Array, out: Array) -> None:
    """`out = J_r(v)`, 3×3."""
    _, b, c, _ = coefficients(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    polynomial_kernel(v, -b, c, out)


@kernel
def left_jacobian_inverse_kernel(v: Array, out: Array) -> None:
    """`out = J_l(v)⁻¹`, 3×3, for `‖v‖ < 2π`."""
    _, _, _, d = coefficients(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    polynomial_kernel(v, -0.5, d, out)


@kernel
def right_jacobian_inverse_kernel(v: Array, out: Array) -> None:
    """`out = J_r(v)⁻¹`, 3×3, for `‖v‖ < 2π`."""
    _, _, _, d = coefficients(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    polynomial_kernel(v, 0.5, d, out)


@kernel
def _polynomial_rows(v: Array, first: int, second: int, sign: float, out: Array) -> None:
    """`1 + sign k[first] S(v) + k[second] S(v)²` for each row of `v`, with `k = (a, b, c, d, −½)`."""
    for i in range(v.shape[0]):
        a, b, c, d = coefficients(v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        k = (a, b, c, d, -0.5)
        polynomial_kernel(v[i], sign * k[first], k[second], out[i])


# ------------------------------------------------------------------ arrays, (3,) and (N, 3) alike
def _vectors(v: ArrayLike) -> Array:
    v = np.asarray(v, dtype=np.float64)
    if v.ndim == 0 or v.shape[-1] != 3:
        raise ValueError(f"v must have shape (3,) or (N, 3), got {v.shape}")
    return v


def _polynomial(v: ArrayLike, first: int, second: int, sign: float = 1.0) -> Array:
    v = np.array(_vectors(v), order="C")  # a copy, so that the kernel meets one type only
    out = np.empty((*v.shape, 3))
    _polynomial_rows(v.reshape(-1, 3), first, second, sign, out.reshape(-1, 3, 3))
    return out


def hat(v: ArrayLike) -> Array:
    """`S(v)`, `(3, 3)` or `(N, 3, 3)`, with `S(v) u = v × u`."""
    v = _vectors(v)
    x, y, z, o = v[..., 0], v[..., 1], v[..., 2], np.zeros(v.shape[:-1])
    return np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*v.shape[:-1], 3, 3)


def vee(S: ArrayLike) -> Array:
    """Vector of the skew part of `S`, `(3,)` or `(N, 3)`; the inverse of `hat`."""
    S = np.asarray(S, dtype=np.float64)
    if S.shape[-2:] != (3, 3):
        raise ValueError(f"S must have shape (3, 3) or (N, 3, 3), got {S.shape}")
    pairs = [S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]]
    return np.asarray(0.5 * np.stack(pairs, axis=-1))


def exp(v: ArrayLike) -> Array:
    """Rotation matrix of the rotation vector `v`, rad."""
    return _polynomial(v, 0, 1)


def log(R: ArrayLike) -> Array:
    """Rotation vector of the rotation matrix `R`, rad, norm at most π; by way of the quaternion, right up to π."""
    return quaternion.log(quaternion.from_matrix(R))


def left_jacobian(v: ArrayLike) -> Array:
    """`J_l(v)`: `exp(v + δ) ≈ exp(J_l δ) exp(v)`."""
    return _polynomial(v, 1, 2)


def right_jacobian(v: ArrayLike) -> Array:
    """`J_r(v)`: `exp(v + δ) ≈ exp(v) exp(J_r δ)`."""
    return _polynomial(v, 1, 2, -1.0)


def left_jacobian_inverse(v: ArrayLike) -> Array:
    """`J_l(v)⁻¹`, for `‖v‖ < 2π`."""
    return _polynomial(v, 4, 3)


def right_jacobian_inverse(v: ArrayLike) -> Array:
    """`J_r(v)⁻¹`, for `‖v‖ < 2π`."""
    return _polynomial(v, 4, 3, -1.0)


@on_warm_up
def _warm_up() -> None:
    exp(np.zeros(3))
