"""Kernels of `wahba.py`: triads, Jacobi rotations, the three methods between the triads, covariances, rows of sets."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from attitude.core.jit import Array, kernel
from attitude.core.linalg import inverse3
from attitude.core.quaternion import from_matrix_kernel, matrix_rows, product_xyzw

PARALLEL = 1e-5  # sine of an angle: less says nothing, an error of a measurement counts 1e5 times about the common axis
SIGMA_RANGE = (1e-30, 1e30)  # rad: squares and their products stay far from underflow
METHODS = {"quest": 0, "davenport": 1, "svd": 2}
QUEST, DAVENPORT = METHODS["quest"], METHODS["davenport"]

OK, ZERO_B, ZERO_R, PARALLEL_B, PARALLEL_R, AMBIGUOUS = range(6)

NEGLIGIBLE = 1e-17  # rad: a Jacobi rotation by less changes no digit of an eigenvector
ORTHOGONAL = 4e-16  # cosine of the angle between two columns that rounding leaves
SWEEPS = 20  # of Jacobi rotations, which converge quadratically: 4 to 6 are needed
NEWTON_STEPS = 20  # third order, as each is a Rayleigh quotient: 2 or 3 are needed
SETTLED = 4e-16  # last Newton step relative to the eigenvalue that limits it
TRUSTED = 1e-3  # of a pivot must be left by the shift, or QUEST is near another eigenvalue
TIE = 1e-12  # relative gap of the two best eigenvalues below which two attitudes fit equally well


class Scratch(NamedTuple):
    """Work arrays of a solve: vectors `(N, 3)`, axes as rows `(3, 3)`, `(4, 4)` matrices, the left-over quaternion."""

    b: Array
    r: Array
    T_b: Array
    T_r: Array
    R: Array
    P: Array
    M: Array
    V: Array
    q: Array


def scratch(n: int) -> Scratch:
    """Work space for sets of `n` vectors."""
    shapes = ((n, 3), (n, 3), (3, 3), (3, 3), (3, 3), (3, 3), (4, 4), (4, 4), (4,))
    return Scratch._make(np.empty(shape) for shape in shapes)


# ------------------------------------------------------------------ the two triads
@kernel
def _unit_rows(v: Array, out: Array) -> bool:
    """`out` = rows of `v` over their lengths; false when one is zero. Neither overflows nor underflows."""
    for i in range(v.shape[0]):
        scale = max(abs(v[i, 0]), abs(v[i, 1]), abs(v[i, 2]))
        if scale == 0.0:
            return False
        x, y, z = v[i, 0] / scale, v[i, 1] / scale, v[i, 2] / scale
        n = math.sqrt(x * x + y * y + z * z)
        out[i, 0], out[i, 1], out[i, 2] = x / n, y / n, z / n
    return True


@kernel
def _cross(x: float, y: float, z: float, u: float, v: float, w: float) -> tuple[float, float, float]:
    return y * w - z * v, z * u - x * w, x * v - y * u


@kernel
def _sine(v: Array, i: int, j: int) -> float:
    """Sine of the angle between the unit vectors `v[i]` and `v[j]`."""
    x, y, z = _cross(v[i, 0], v[i, 1], v[i, 2], v[j, 0], v[j, 1], v[j, 2])
    return math.sqrt(x * x + y * y + z * z)


@kernel
def _partner(b: Array, r: Array, weight: Array, lead: int) -> tuple[int, int]:
    """Index of the vector that tells most about the azimuth round the leading one, and a status."""
    best, chosen, widest_b, widest_r = 0.0, lead, 0.0, 0.0
    for i in range(b.shape[0]):
        sine_b, sine_r = _sine(b, lead, i), _sine(r, lead, i)
        widest_b, widest_r = max(widest_b, sine_b), max(widest_r, sine_r)
        told = weight[i] * sine_b * sine_r
        if min(sine_b, sine_r) >= PARALLEL and told > best:
            best, chosen = told, i
    if widest_b < PARALLEL:
        return chosen, PARALLEL_B
    if widest_r < PARALLEL:
        return chosen, PARALLEL_R
    return chosen, OK if best > 0.0 else AMBIGUOUS


@kernel
def _triad(v: Array, i: int, j: int, T: Array) -> None:
    """Rows of `T`: right-handed axes with the third along `v[i]` and `v[j]` in the half-plane of the first."""
    x, y, z = v[i, 0], v[i, 1], v[i, 2]
    a, b, c = _cross(x, y, z, v[j, 0], v[j, 1], v[j, 2])
    n = math.sqrt(a * a + b * b + c * c)
    a, b, c = a / n, b / n, c / n
    along = a * x + b * y + c * z  # rounding, enlarged where the two vectors are close
    a, b, c = a - along * x, b - along * y, c - along * z
    T[0, 0], T[0, 1], T[0, 2] = _cross(a, b, c, x, y, z)
    T[1, 0], T[1, 1], T[1, 2] = a, b, c
    T[2, 0], T[2, 1], T[2, 2] = x, y, z


@kernel
def _into_triad(T: Array, lead: int, v: Array) -> None:
    """Turn the rows of `v` into the axes `T`; the leading one becomes the third axis without rounding."""
    for i in range(v.shape[0]):
        x, y, z = v[i, 0], v[i, 1], v[i, 2]
        for k in range(3):
            v[i, k] = T[k, 0] * x + T[k, 1] * y + T[k, 2] * z
    v[lead, 0], v[lead, 1], v[lead, 2] = 0.0, 0.0, 1.0


@kernel
def _attitude(s: Scratch, out: Array) -> None:
    """`out` = quaternion of `T_rᵀ R(q) T_b`, `w ≥ 0`, with the left-over rotation `q` between the triads."""
    for i in range(3):
        for j in range(3):
            s.R[i, j] = s.T_r[0, i] * s.T_b[0, j] + s.T_r[1, i] * s.T_b[1, j] + s.T_r[2, i] * s.T_b[2, j]
    from_matrix_kernel(s.R, out)
    T, x, y, z = s.T_r, s.q[0], s.q[1], s.q[2]
    x, y, z, w = product_xyzw(
        T[0, 0] * x + T[1, 0] * y + T[2, 0] * z,
        T[0, 1] * x + T[1, 1] * y + T[2, 1] * z,
        T[0, 2] * x + T[1, 2] * y + T[2, 2] * z,
        s.q[3], out[0], out[1], out[2], out[3],
    )  # fmt: skip
    n = math.copysign(1.0 / math.sqrt(x * x + y * y + z * z + w * w), w)
    out[0], out[1], out[2], out[3] = n * x, n * y, n * z, n * w


@kernel
def _into_body(s: Scratch, cov: Array) -> None:
    """`cov` = covariance `P`, given in the triad of `r`, in the axes of the estimated body."""
    rows = matrix_rows(s.q[0], s.q[1], s.q[2], s.q[3])
    for i in range(3):
        for j in range(3):
            s.R[i, j] = rows[3 * i] * s.T_b[0, j] + rows[3 * i + 1] * s.T_b[1, j] + rows[3 * i + 2] * s.T_b[2, j]
    for i in range(3):
        for j in range(i + 1):
            total = 0.0
            for k in range(3):
                total += s.R[k, i] * (s.P[k, 0] * s.R[0, j] + s.P[k, 1] * s.R[1, j] + s.P[k, 2] * s.R[2, j])
            cov[i, j] = total
            cov[j, i] = total


# ------------------------------------------------------------------ Jacobi rotations
@kernel
def _rotation(a: float, g: float, b: float) -> tuple[float, float, float]:
    """Cosine, sine and tangent of the smaller rotation that makes `[[a, g], [g, b]]` diagonal."""
    tau = (b - a) / (2.0 * g)
    t = math.copysign(1.0, tau) / (abs(tau) + math.sqrt(1.0 + tau * tau))
    c = 1.0 / math.sqrt(1.0 + t * t)
    return c, c * t, t


@kernel
def _turn_columns(A: Array, p: int, q: int, c: float, s: float) -> None:
    for k in range(A.shape[0]):
        x, y = A[k, p], A[k, q]
        A[k, p], A[k, q] = c * x - s * y, s * x + c * y


@kernel
def _identity(A: Array) -> None:
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] = 1.0 if i == j else 0.0


@kernel
def _eigen(M: Array, V: Array) -> None:
    """Make the symmetric `M` diagonal, in place; the columns of `V` are its eigenvectors."""
    n = M.shape[0]
    _identity(V)
    for _ in range(SWEEPS):
        quiet = True
        for p in range(n - 1):
            for q in range(p + 1, n):
                g = M[p, q]
                if abs(g) <= NEGLIGIBLE * abs(M[p, p] - M[q, q]):
                    continue
                quiet = False
                c, s, t = _rotation(M[p, p], g, M[q, q])
                M[p, p], M[q, q], M[p, q], M[q, p] = M[p, p] - t * g, M[q, q] + t * g, 0.0, 0.0
                for k in range(n):
                    if k not in (p, q):
                        x, y = M[k, p], M[k, q]
                        M[k, p], M[k, q] = c * x - s * y, s * x + c * y
                        M[p, k], M[q, k] = M[k, p], M[k, q]
                _turn_columns(V, p, q, c, s)
        if quiet:
            break


@kernel
def _orthogonalise(W: Array, V: Array) -> None:
    """Make the columns of `W` orthogonal, in place: `W_given = W Vᵀ`, their lengths the singular values."""
    _identity(V)
    for _ in range(SWEEPS):
        quiet = True
        for p in range(2):
            for q in range(p + 1, 3):
                a, b, g = 0.0, 0.0, 0.0
                for k in range(3):
                    a, b, g = a + W[k, p] * W[k, p], b + W[k, q] * W[k, q], g + W[k, p] * W[k, q]
                if abs(g) <= ORTHOGONAL * math.sqrt(a) * math.sqrt(b):
                    continue
                quiet = False
                c, s, _t = _rotation(a, g, b)
                _turn_columns(W, p, q, c, s)
                _turn_columns(V, p, q, c, s)
        if quiet:
            break


# ------------------------------------------------------------------ the three methods, between the triads
@kernel
def _loss_matrix(b: Array, r: Array, weight: Array, M: Array) -> None:
    """`M` of the module's head."""
    M[:, :] = 0.0
    for i in range(b.shape[0]):
        h = 0.5 * weight[i]
        x, y, z = b[i, 0] + r[i, 0], b[i, 1] + r[i, 1], b[i, 2] + r[i, 2]
        u, v, w = b[i, 0] - r[i, 0], b[i, 1] - r[i, 1], b[i, 2] - r[i, 2]
        M[0, 0] += h * (y * y + z * z + u * u)
        M[1, 1] += h * (z * z + x * x + v * v)
        M[2, 2] += h * (x * x + y * y + w * w)
        M[3, 3] += h * (u * u + v * v + w * w)
        M[0, 1] += h * (u * v - x * y)
        M[0, 2] += h * (u * w - x * z)
        M[1, 2] += h * (v * w - y * z)
        e, f, g = _cross(x, y, z, u, v, w)
        M[0, 3], M[1, 3], M[2, 3] = M[0, 3] + h * e, M[1, 3] + h * f, M[2, 3] + h * g
    for i in range(1, 4):
        for j in range(i):
            M[i, j] = M[j, i]


@kernel
def _gibbs(M: Array, mu: float) -> tuple[float, float, float, bool]:
    """Gibbs vector `y` of `(M − mu) [y, 1] = 0`, first three lines; true while `mu` is surely the smallest root.

    Weakest information, the azimuth, first: then nothing of it is lost in the elimination.
    """
    d3 = M[2, 2] - mu
    l1, l2 = M[0, 2] / d3, M[1, 2] / d3
    d1 = M[0, 0] - mu - l1 * M[0, 2]
    c = M[0, 1] - l1 * M[1, 2]
    l = c / d1
    d2 = M[1, 1] - mu - l2 * M[1, 2] - l * c
    z = -M[2, 3]
    x = -M[0, 3] - l1 * z
    y = (-M[1, 3] - l2 * z - l * x) / d2
    x = x / d1 - l * y
    z = z / d3 - l1 * x - l2 * y
    sure = d3 > TRUSTED * M[2, 2] and d1 > TRUSTED * M[0, 0] and d2 > TRUSTED * M[1, 1]
    return x, y, z, sure and x * x + y * y + z * z <= 1.0


@kernel
def _quest(M: Array, q: Array) -> bool:
    """QUEST: Newton on `0 = M₄₄ − mu + m·y(mu)`, which is the characteristic equation over `det(M₃₃ − mu)`."""
    mu = 0.0  # λ = Σ a_i
    for _ in range(NEWTON_STEPS):
        x, y, z, sure = _gibbs(M, mu)
        if not sure:
            return False
        n = 1.0 + x * x + y * y + z * z
        step = (M[3, 3] - mu + M[0, 3] * x + M[1, 3] * y + M[2, 3] * z) / n
        if abs(step) <= SETTLED * M[2, 2]:
            k = 1.0 / math.sqrt(n)
            q[0], q[1], q[2], q[3] = k * x, k * y, k * z, k
            return True
        mu += step
    return False


@kernel
def _davenport(M: Array, V: Array, q: Array) -> bool:
    """Davenport's q-method; false when the smallest eigenvalue is double. Overwrites `M`."""
    _eigen(M, V)
    best = 0
    for k in range(1, 4):
        if M[k, k] < M[best, best]:
            best = k
    second = math.inf
    for k in range(4):
        q[k] = V[k, best]
        if k != best:
            second = min(second, M[k, k])
    return second - M[best, best] > TIE * second


@kernel
def _profile(b: Array, r: Array, weight: Array, B: Array) -> None:
    """`B = Σ a_i r_i b_iᵀ`."""
    B[:, :] = 0.0
    for i in range(b.shape[0]):
        for j in range(3):
            for k in range(3):
                B[j, k] += weight[i] * r[i, j] * b[i, k]


@kernel
def _svd(B: Array, V: Array, R: Array) -> bool:
    """`R` = rotation next to `B`, false when there are several. Overwrites `B`.

    The third singular vectors are the cross products of the others: right-handed, and there also when the third
    singular value is zero, as with two vectors.
    """
    _orthogonalise(B, V)
    last = 0
    for k in range(3):
        R[0, k] = math.sqrt(B[0, k] * B[0, k] + B[1, k] * B[1, k] + B[2, k] * B[2, k])
        if R[0, k] < R[0, last]:
            last = k
    i, j = (last + 1) % 3, (last + 2) % 3  # i, j, last in cyclic order, so that V stays right-handed
    s0, s1, s2 = R[0, i], R[0, j], R[0, last]
    u, v, w = B[0, i] / s0, B[1, i] / s0, B[2, i] / s0
    x, y, z = B[0, j] / s1, B[1, j] / s1, B[2, j] / s1
    e, f, g = _cross(u, v, w, x, y, z)
    if e * B[0, last] + f * B[1, last] + g * B[2, last] < 0.0:
        s2 = -s2
    for k in range(3):
        R[0, k] = u * V[k, i] + x * V[k, j] + e * V[k, last]
        R[1, k] = v * V[k, i] + y * V[k, j] + f * V[k, last]
        R[2, k] = w * V[k, i] + z * V[k, j] + g * V[k, last]
    smaller = min(s0, s1)
    return smaller + s2 > TIE * smaller


# ------------------------------------------------------------------ covariances, in the triad of r
@kernel
def _wahba_covariance(r: Array, weight: Array, variance: float, P: Array) -> None:
    """`P = (Σ a_i (1 − r_i r_iᵀ))⁻¹` (Shuster and Oh 1981; the inverse of the Fisher information, Shuster 1989)."""
    a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(r.shape[0]):
        x, y, z, h = r[i, 0], r[i, 1], r[i, 2], weight[i]
        a, b, c = a + h * (y * y + z * z), b - h * x * y, c - h * x * z
        d, e, f = d + h * (z * z + x * x), e - h * y * z, f + h * (x * x + y * y)
    rows = inverse3(a, b, c, b, d, e, c, e, f)
    for i in range(3):
        for j in range(3):
            P[i, j] = variance * rows[3 * i + j]


@kernel
def _triad_covariance(r: Array, variance: Array, P: Array) -> None:
    """Covariance of TRIAD (Shuster and Oh 1981), in the triad: the vector 0 leads, 1 lies at `(sin, 0, cos)`."""
    P[:, :] = 0.0
    cotangent = r[1, 2] / r[1, 0]
    P[0, 0], P[1, 1] = variance[0], variance[0]
    P[0, 2] = P[2, 0] = variance[0] * cotangent
    P[2, 2] = variance[1] / (r[1, 0] * r[1, 0]) + variance[0] * cotangent * cotangent


# ------------------------------------------------------------------ one set after the other
@kernel
def triad_rows(b: Array, r: Array, variance: Array, s: Scratch, q: Array, cov: Array) -> tuple[int, int]:
    """TRIAD for each of `(M, 2, 3)`; a status and the row it belongs to."""
    s.q[0], s.q[1], s.q[2], s.q[3] = 0.0, 0.0, 0.0, 1.0
    for i in range(b.shape[0]):
        if not _unit_rows(b[i], s.b):
            return ZERO_B, i
        if not _unit_rows(r[i], s.r):
            return ZERO_R, i
        if _sine(s.b, 0, 1) < PARALLEL:
            return PARALLEL_B, i
        if _sine(s.r, 0, 1) < PARALLEL:
            return PARALLEL_R, i
        _triad(s.b, 0, 1, s.T_b)
        _triad(s.r, 0, 1, s.T_r)
        _attitude(s, q[i])
        _into_triad(s.T_r, 0, s.r)
        _triad_covariance(s.r, variance, s.P)
        _into_body(s, cov[i])
    return OK, 0


@kernel
def _between_triads(s: Scratch, weight: Array, method: int) -> bool:
    """Left-over rotation `q` by the method; false when it is not unique."""
    if method in (QUEST, DAVENPORT):
        _loss_matrix(s.b, s.r, weight, s.M)
        if method == QUEST and _quest(s.M, s.q):
            return True
        return _davenport(s.M, s.V, s.q)
    _profile(s.b, s.r, weight, s.P)
    unique = _svd(s.P, s.V, s.R)
    from_matrix_kernel(s.R, s.q)
    return unique


@kernel
def wahba_rows(
    b: Array, r: Array, weight: Array, lead: int, variance: float, method: int, s: Scratch, q: Array, cov: Array
) -> tuple[int, int]:
    """Wahba's problem for each of `(M, N, 3)`, `weight` relative to the leading one; a status and its row."""
    for i in range(b.shape[0]):
        if not _unit_rows(b[i], s.b):
            return ZERO_B, i
        if not _unit_rows(r[i], s.r):
            return ZERO_R, i
        partner, status = _partner(s.b, s.r, weight, lead)
        if status != OK:
            return status, i
        _triad(s.b, lead, partner, s.T_b)
        _triad(s.r, lead, partner, s.T_r)
        _into_triad(s.T_b, lead, s.b)
        _into_triad(s.T_r, lead, s.r)
        if not _between_triads(s, weight, method):
            return AMBIGUOUS, i
        _wahba_covariance(s.r, weight, variance, s.P)
        _into_body(s, cov[i])
        _attitude(s, q[i])
    return OK, 0
