"""Small dense linear algebra without allocation: 3×3 by scalars, 6×6 (and any small n) by loops over given arrays.

LAPACK calls and their temporaries cost ten times more than the arithmetic at these sizes. Where a factorisation can
fail, the kernel returns a status: `OK` or `SINGULAR`; the outputs are then not to be used.
"""

from __future__ import annotations

import math

from attitude.core.jit import Array, kernel

OK = 0
SINGULAR = 1


@kernel
def times3(A: Array, x: float, y: float, z: float) -> tuple[float, float, float]:
    """`A [x, y, z]`, 3×3."""
    return (
        A[0, 0] * x + A[0, 1] * y + A[0, 2] * z,
        A[1, 0] * x + A[1, 1] * y + A[1, 2] * z,
        A[2, 0] * x + A[2, 1] * y + A[2, 2] * z,
    )


@kernel
def solve3(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float,
    x: float, y: float, z: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Solve `[[a, b, c], [d, e, f], [g, h, i]] u = [x, y, z]` by cofactors; returns `u` and the determinant.

    Not finite when the determinant is zero: look at the determinant.
    """
    A, B, C = e * i - f * h, f * g - d * i, d * h - e * g
    det = a * A + b * B + c * C
    k = 1.0 / det
    return (
        k * (A * x + (c * h - b * i) * y + (b * f - c * e) * z),
        k * (B * x + (a * i - c * g) * y + (c * d - a * f) * z),
        k * (C * x + (b * g - a * h) * y + (a * e - b * d) * z),
        det,
    )


@kernel
def inverse3(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Inverse of `[[a, b, c], [d, e, f], [g, h, i]]` by cofactors, row by row; not finite if singular."""
    A, B, C = e * i - f * h, f * g - d * i, d * h - e * g
    k = 1.0 / (a * A + b * B + c * C)
    return (
        k * A, k * (c * h - b * i), k * (b * f - c * e),
        k * B, k * (a * i - c * g), k * (c * d - a * f),
        k * C, k * (b * g - a * h), k * (a * e - b * d),
    )  # fmt: skip


@kernel
def cholesky(A: Array, L: Array) -> int:
    """`A = L Lᵀ`, n×n, `L` lower triangular with zeros above; `L` may be `A`. Reads the lower half of `A` only."""
    n = A.shape[0]
    for j in range(n):
        for i in range(j, n):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = total / L[j, j]
            elif total > 0.0:
                L[j, j] = math.sqrt(total)
            else:  # not positive definite, or not a number
                return SINGULAR
    for j in range(n):
        for i in range(j):
            L[i, j] = 0.0
    return OK


@kernel
def cholesky_solve(L: Array, b: Array, x: Array) -> None:
    """Solve `L Lᵀ x = b` for one right-hand side `(n,)`; `x` may be `b`."""
    n = L.shape[0]
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= L[k, i] * x[k]
        x[i] = total / L[i, i]


@kernel
def solve_in_place(A: Array, B: Array) -> int:
    """Overwrite `B` `(n, m)` by `A⁻¹ B`, and `A` `(n, n)` by its elimination; partial pivoting."""
    n, m = B.shape
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if not 0.0 < abs(A[pivot, k]) < math.inf:
            return SINGULAR
        if pivot != k:
            for j in range(k, n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            for j in range(m):
                B[k, j], B[pivot, j] = B[pivot, j], B[k, j]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, n):
            factor = A[i, k] * inverse
            for j in range(k + 1, n):
                A[i, j] -= factor * A[k, j]
            for j in range(m):
                B[i, j] -= factor * B[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(m):
            total = B[k, j]
            for i in range(k + 1, n):
                total -= A[k, i] * B[i, j]
            B[k, j] = total / A[k, k]
    return OK
