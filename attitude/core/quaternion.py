"""Quaternions, and the convention of the whole toolkit.

Convention
----------
- A quaternion is `[x, y, z, w]`: vector part first, scalar last.
- Hamilton product: `i j = k`.
- An attitude quaternion turns body axes into inertial axes: `v_I = R(q) v_B`, `R(q1 ⊗ q2) = R(q1) R(q2)`.
- Rates are in body axes: `q̇ = ½ q ⊗ [ω_B, 0]`; a step is `q_{k+1} = q_k ⊗ f_k`.
- `q` and `−q` are the same attitude. Functions here never flip a sign silently, except `log` and `from_matrix`,
  which return the shorter rotation and `w ≥ 0`.
- An attitude error is a body-frame rotation vector `θ`: `q_true = q ⊗ exp(θ)`.

It is the convention of `scipy.spatial.transform.Rotation`; the tests compare the two.

| operation     | maths                  | kernel (no allocation)          | arrays                |
| ------------- | ---------------------- | ------------------------------- | --------------------- |
| product       | `p ⊗ q`                | `product_kernel(p, q, out)`     | `product(p, q)`       |
| conjugate     | `q†`                   | `conjugate_kernel(q, out)`      | `conjugate(q)`        |
| rotate        | `R(q) v`               | `rotate_kernel(q, v, out)`      | `rotate(q, v)`        |
| rotate back   | `R(q)ᵀ v`              | `rotate_back_kernel(q, v, out)` | `rotate_back(q, v)`   |
| exponential   | rotation vector -> q   | `exp_kernel(v, out)`            | `exp(v)`              |
| logarithm     | q -> rotation vector   | `log_kernel(q, out)`            | `log(q)`              |
| to matrix     | `R(q)`                 | `to_matrix_kernel(q, out)`      | `to_matrix(q)`        |
| from matrix   | `R -> q`               | `from_matrix_kernel(R, out)`    | `from_matrix(R)`      |
| angle between | angle of `p† ⊗ q`, rad | `angle_between_kernel(p, q)`    | `angle_between(p, q)` |

Arrays are `(4,)` or `(N, 4)`, vectors `(3,)` or `(N, 3)`. The kernels load before they store, so that an output may
alias an input; they trust their arguments and check no shapes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array, kernel, on_warm_up

SERIES_ANGLE = 1e-4  # rad: below it sin(x)/x = 1 − x²/6 to roundoff (next term x⁴/120 < 1e-18)


# ------------------------------------------------------------------ formulas on components
@kernel
def product_xyzw(px: Any, py: Any, pz: Any, pw: Any, qx: Any, qy: Any, qz: Any, qw: Any) -> Any:
    """Hamilton product `p ⊗ q` by components."""
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


@kernel
def rotate_xyz(qx: Any, qy: Any, qz: Any, qw: Any, vx: Any, vy: Any, vz: Any) -> Any:
    """`R(q) v = v + 2 w (u × v) + 2 u × (u × v)` by components, `u` the vector part."""
    tx = 2.0 * (qy * vz - qz * vy)
    ty = 2.0 * (qz * vx - qx * vz)
    tz = 2.0 * (qx * vy - qy * vx)
    return (
        vx + qw * tx + qy * tz - qz * ty,
        vy + qw * ty + qz * tx - qx * tz,
        vz + qw * tz + qx * ty - qy * tx,
    )


@kernel
def matrix_rows(x: Any, y: Any, z: Any, w: Any) -> Any:
    """Rotation matrix of a unit quaternion, row by row."""
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w),
        2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w),
        2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


# ------------------------------------------------------------------ kernels on arrays
@kernel
def product_kernel(p: Array, q: Array, out: Array) -> None:
    """`out = p ⊗ q`."""
    out[0], out[1], out[2], out[3] = product_xyzw(p[0], p[1], p[2], p[3], q[0], q[1], q[2], q[3])


@kernel
def conjugate_kernel(q: Array, out: Array) -> None:
    """`out = q†`."""
    out[0], out[1], out[2], out[3] = -q[0], -q[1], -q[2], q[3]


@kernel
def rotate_kernel(q: Array, v: Array, out: Array) -> None:
    """`out = R(q) v`."""
    out[0], out[1], out[2] = rotate_xyz(q[0], q[1], q[2], q[3], v[0], v[1], v[2])


@kernel
def rotate_back_kernel(q: Array, v: Array, out: Array) -> None:
    """`out = R(q)ᵀ v`."""
    out[0], out[1], out[2] = rotate_xyz(-q[0], -q[1], -q[2], q[3], v[0], v[1], v[2])


@kernel
def normalise_kernel(q: Array, out: Array) -> None:
    """`out = q / ‖q‖`."""
    n = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    out[0], out[1], out[2], out[3] = q[0] * n, q[1] * n, q[2] * n, q[3] * n


@kernel
def exp_kernel(v: Array, out: Array) -> None:
    """`out = [sin(‖v‖/2) v/‖v‖, cos(‖v‖/2)]`, the rotation by the vector `v`, rad."""
    x, y, z = v[0], v[1], v[2]
    half = 0.5 * math.sqrt(x * x + y * y + z * z)
    if half < SERIES_ANGLE:
        k = 0.5 * (1.0 - half * half / 6.0)
    else:
        k = 0.5 * math.sin(half) / half
    out[0], out[1], out[2], out[3] = k * x, k * y, k * z, math.cos(half)


@kernel
def log_kernel(q: Array, out: Array) -> None:
    """`out` = rotation vector of the unit quaternion `q`, rad, the shorter way round (norm at most π)."""
    x, y, z, w = q[0], q[1], q[2], q[3]
    n = math.sqrt(x * x + y * y + z * z)
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    if n < SERIES_ANGLE:
        k = 2.0 / w * (1.0 - n * n / (3.0 * w * w))  # atan(t)/t = 1 − t²/3, next term below 1e-16
    else:
        k = 2.0 * math.atan2(n, w) / n
    out[0], out[1], out[2] = k * x, k * y, k * z


@kernel
def to_matrix_kernel(q: Array, out: Array) -> None:
    """`out = R(q)`, 3×3."""
    rows = matrix_rows(q[0], q[1], q[2], q[3])
    for i in range(3):
        for j in range(3):
            out[i, j] = rows[3 * i + j]


@kernel
def from_matrix_kernel(R: Array, out: Array) -> None:
    """`out` = unit quaternion of the rotation matrix `R`, `w ≥ 0`; the largest of the four components leads."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    i = 0
    if R[1, 1] > R[0, 0]:
        i = 1
    if R[2, 2] > R[i, i]:
        i = 2
    if trace > R[i, i]:
        x, y, z, w = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1.0 + trace
    elif i == 0:
        x, y, z, w = 1.0 + 2.0 * R[0, 0] - trace, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]
    elif i == 1:
        x, y, z, w = R[0, 1] + R[1, 0], 1.0 + 2.0 * R[1, 1] - trace, R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]
    else:
        x, y, z, w = R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1.0 + 2.0 * R[2, 2] - trace, R[1, 0] - R[0, 1]
    n = math.copysign(1.0 / math.sqrt(x * x + y * y + z * z + w * w), w)
    out[0], out[1], out[2], out[3] = n * x, n * y, n * z, n * w


@kernel
def _from_matrix_rows(R: Array, out: Array) -> None:
    """`from_matrix_kernel` for each of `(N, 3, 3)` into `(N, 4)`."""
    for i in range(R.shape[0]):
        from_matrix_kernel(R[i], out[i])


@kernel
def angle_between_kernel(p: Array, q: Array) -> float:
    """Angle of the rotation from `p` to `q`, rad, in [0, π]; accurate near 0 and near π."""
    x, y, z, w = product_xyzw(-p[0], -p[1], -p[2], p[3], q[0], q[1], q[2], q[3])
    return 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


# ------------------------------------------------------------------ arrays, (4,) and (N, 4) alike
def _last(values: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ValueError(f"{name} must have shape ({size},) or (N, {size}), got {array.shape}")
    return array


def _components(array: Array) -> list[Array]:
    return [array[..., i] for i in range(array.shape[-1])]


def _stack(components: Any) -> Array:
    return np.stack(np.broadcast_arrays(*components), axis=-1)


def product(p: ArrayLike, q: ArrayLike) -> Array:
    """Hamilton product `p ⊗ q`; `(4,)` and `(N, 4)` broadcast."""
    return _stack(product_xyzw.py_func(*_components(_last(p, 4, "p")), *_components(_last(q, 4, "q"))))


def conjugate(q: ArrayLike) -> Array:
    """Conjugate `q†`, the inverse rotation."""
    return _last(q, 4, "q") * np.array([-1.0, -1.0, -1.0, 1.0])


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """`R(q) v`: body axes to inertial axes; `q` `(4,)` or `(N, 4)`, `v` `(3,)` or `(N, 3)`."""
    return _stack(rotate_xyz.py_func(*_components(_last(q, 4, "q")), *_components(_last(v, 3, "v"))))


def rotate_back(q: ArrayLike, v: ArrayLike) -> Array:
    """`R(q)ᵀ v`: inertial axes to body axes."""
    return rotate(conjugate(q), v)


def normalise(q: ArrayLike) -> Array:
    """`q / ‖q‖`; a zero or non-finite quaternion is an error."""
    q = _last(q, 4, "q")
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    if not np.all(np.isfinite(norm) & (norm > 0.0)):
        raise ValueError("q must be finite and not zero to be normalised")
    return np.asarray(q / norm)


def exp(v: ArrayLike) -> Array:
    """Unit quaternion of the rotation vector `v`, rad."""
    v = _last(v, 3, "v")
    half = 0.5 * np.linalg.norm(v, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * v, np.cos(half)], axis=-1)


def log(q: ArrayLike) -> Array:
    """Rotation vector of the unit quaternion `q`, rad, the shorter way round (norm at most π)."""
    q = _last(q, 4, "q")
    q = np.where(q[..., 3:] < 0.0, -q, q)
    n = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(n, q[..., 3:])
    factor = np.divide(angle, n, out=np.full_like(n, 2.0), where=n > 0.0)
    return np.asarray(factor * q[..., :3])


def to_matrix(q: ArrayLike) -> Array:
    """Rotation matrix `R(q)`, `(3, 3)` or `(N, 3, 3)`; `q` is used as it is, so it must be unit."""
    q = _last(q, 4, "q")
    return _stack(matrix_rows.py_func(*_components(q))).reshape(*q.shape[:-1], 3, 3)


def from_matrix(R: ArrayLike) -> Array:
    """Unit quaternion of rotation matrices `(3, 3)` or `(N, 3, 3)`, with `w ≥ 0`."""
    R = np.array(R, dtype=np.float64, order="C")  # a copy, so that the kernel meets one type only
    if R.shape[-2:] != (3, 3):
        raise ValueError(f"R must have shape (3, 3) or (N, 3, 3), got {R.shape}")
    out = np.empty((*R.shape[:-2], 4))
    _from_matrix_rows(R.reshape(-1, 3, 3), out.reshape(-1, 4))
    return out


def angle_between(p: ArrayLike, q: ArrayLike) -> Array:
    """Angle of the rotation from `p` to `q`, rad, in [0, π]."""
    error = product(conjugate(p), q)
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(error[..., :3], axis=-1), np.abs(error[..., 3])))


@on_warm_up
def _warm_up() -> None:
    from_matrix(np.eye(3))
