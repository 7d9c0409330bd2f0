"""Square-root covariance: a factor `F` `(n, n)` with `P = Fᵀ F`, carried through predictions and updates.

Each row of `F` is one standard deviation's worth of error state. `P` is positive by construction, whatever the sigmas:
nothing is ever subtracted from it. Predictions stack noise rows under the carried rows and bring them back to n rows
by Householder reflections; updates take one scalar at a time (Potter 1963).
"""

from __future__ import annotations

import math

from attitude.core.jit import Array, kernel


@kernel
def triangularise(A: Array, rows: int, n: int, F: Array) -> None:
    """`F` `(n, n)`, upper triangular, with `Fᵀ F = Aᵀ A` for the first `rows` rows of `A` `(·, n)`, overwritten."""
    for k in range(n):
        square = 0.0
        for i in range(k, rows):
            square += A[i, k] * A[i, k]
        length = math.sqrt(square)
        for j in range(n):
            F[k, j] = 0.0
        if length > 0.0:
            if A[k, k] > 0.0:
                length = -length
            pivot = A[k, k] - length
            F[k, k] = length
            scale = -1.0 / (length * pivot)
            for j in range(k + 1, n):
                total = pivot * A[k, j]
                for i in range(k + 1, rows):
                    total += A[i, k] * A[i, j]
                total *= scale
                F[k, j] = A[k, j] - total * pivot
                for i in range(k + 1, rows):
                    A[i, j] -= total * A[i, k]
        else:
            for j in range(k + 1, n):
                F[k, j] = A[k, j]


@kernel
def covariance(F: Array, P: Array) -> None:
    """`P = Fᵀ F`, exactly symmetric."""
    n = F.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += F[k, i] * F[k, j]
            P[i, j] = total
            P[j, i] = total


@kernel
def absorb_scalar(F: Array, H: Array, i: int, variance: float, f: Array) -> None:
    """Update `F` for the scalar measurement `H[i]·x` of the given variance; `f` `(n,)` is work space."""
    n = F.shape[0]
    alpha = variance
    for k in range(n):
        total = 0.0
        for j in range(n):
            total += F[k, j] * H[i, j]
        f[k] = total
        alpha += total * total
    gamma = 1.0 / (alpha + math.sqrt(variance * alpha))
    for j in range(n):
        total = 0.0
        for k in range(n):
            total += f[k] * F[k, j]
        total *= gamma
        for k in range(n):
            F[k, j] -= total * f[k]


@kernel
def innovate(
    F: Array, H: Array, variance: Array, y: Array, m: int, S: Array, K: Array, G: Array
) -> tuple[float, float]:
    """Innovation covariance `S = H P Hᵀ + R`, gain `K = P Hᵀ S⁻¹`; returns `yᵀS⁻¹y` and the log-likelihood of `y`.

    `m` measurements (at most 3): the leading rows of `H` `(3, n)`, entries of `variance` and `y`; `G` `(3, n)` is work
    space. A covariance `S` that is not positive gives infinity, which no gate lets pass.
    """
    n = F.shape[0]
    for i in range(m):
        for k in range(n):
            total = 0.0
            for j in range(n):
                total += F[k, j] * H[i, j]
            G[i, k] = total
    for i in range(m):
        for j in range(i + 1):
            total = variance[i] if i == j else 0.0
            for k in range(n):
                total += G[i, k] * G[j, k]
            S[i, j] = total
            S[j, i] = total
    return _gain(F, G, y, m, S, K)


@kernel
def _gain(F: Array, G: Array, y: Array, m: int, S: Array, K: Array) -> tuple[float, float]:
    """The second half of `innovate`: Cholesky of `S` by scalars, gain row by row."""
    n = F.shape[0]
    l11 = l22 = l33 = 1.0
    l21 = l31 = l32 = 0.0
    square = S[0, 0]
    if not square > 0.0:
        return math.inf, -math.inf
    l11 = math.sqrt(square)
    if m > 1:
        l21 = S[1, 0] / l11
        square = S[1, 1] - l21 * l21
        if not square > 0.0:
            return math.inf, -math.inf
        l22 = math.sqrt(square)
    if m > 2:
        l31 = S[2, 0] / l11
        l32 = (S[2, 1] - l31 * l21) / l22
        square = S[2, 2] - l31 * l31 - l32 * l32
        if not square > 0.0:
            return math.inf, -math.inf
        l33 = math.sqrt(square)
    for j in range(n):
        a = b = c = 0.0
        for k in range(n):
            a += G[0, k] * F[k, j]
            if m > 1:
                b += G[1, k] * F[k, j]
            if m > 2:
                c += G[2, k] * F[k, j]
        a = a / l11
        b = (b - l21 * a) / l22
        c = (c - l31 * a - l32 * b) / l33
        c = c / l33
        b = (b - l32 * c) / l22
        a = (a - l21 * b - l31 * c) / l11
        K[j, 0], K[j, 1], K[j, 2] = a, b, c
    z1 = y[0] / l11
    z2 = (y[1] - l21 * z1) / l22 if m > 1 else 0.0
    z3 = (y[2] - l31 * z1 - l32 * z2) / l33 if m > 2 else 0.0
    nis = z1 * z1 + z2 * z2 + z3 * z3
    return nis, -0.5 * (nis + m * math.log(2.0 * math.pi)) - math.log(l11 * l22 * l33)
