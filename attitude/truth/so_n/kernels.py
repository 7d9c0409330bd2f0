"""Compiled core of the discrete rigid body on SO(n): the inverse of `J_D(U) = UΛ − ΛUᵀ` and the four step maps.

Here the momentum is `m = hM`, so that no step size appears. All matrices are n×n, C-contiguous float64.

Newton on the group: with `Z = UΛ` and `U ← cay(Y) U`, the linear equation for the skew Y is the Lyapunov equation
`ZᵀY + YZ = r`, `r = m − J_D(U)`. BiCGStab with the diagonal as preconditioner solves it in a few products of n×n
matrices, so a step costs O(n³), where a dense solve for the n(n − 1)/2 unknowns would cost O(n⁶).
"""

from __future__ import annotations

import math

import numpy as np

from attitude.core.jit import Array, allocating_kernel

OK, NO_CONVERGENCE, OTHER_BRANCH = 0, 1, 2  # status of a solve, and of a run
MDRB, SDRB, MV1, MV2 = 0, 1, 2, 3  # systems: (Q, m), (Q, P), (Q before, Q), (Q, m of the interval before)

MAX_NEWTON = 25
MAX_LINEAR = 200
ROUNDOFF = 4.0 * np.finfo(np.float64).eps
LAST_CORRECTION = 1e-8  # below it the next Newton correction, its square, is under roundoff
_R, _Y, _RES, _SHADOW, _DIR, _V, _T, _HAT, _PRODUCT, _M, _NEXT, SLOTS = range(12)  # rooms of the workspace


@allocating_kernel
def copy(A: Array, out: Array) -> None:
    """`out = A`, by a plain loop, which compiles faster than a slice."""
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            out[i, j] = A[i, j]


@allocating_kernel
def multiply(A: Array, B: Array, out: Array) -> None:
    """`out = A B`; `out` must not alias an input."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
        for k in range(n):
            a = A[i, k]
            for j in range(n):
                out[i, j] += a * B[k, j]


@allocating_kernel
def multiply_transposed(A: Array, B: Array, out: Array) -> None:
    """`out = Aᵀ B`; `out` must not alias an input."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] = 0.0
        for k in range(n):
            a = A[k, i]
            for j in range(n):
                out[i, j] += a * B[k, j]


@allocating_kernel
def skew_difference(W: Array, out: Array) -> None:
    """`out = W − Wᵀ`; `out` may be `W`."""
    for i in range(W.shape[0]):
        out[i, i] = 0.0
        for j in range(i):
            d = W[i, j] - W[j, i]
            out[i, j] = d
            out[j, i] = -d


@allocating_kernel
def lyapunov(U: Array, lam: Array, Y: Array, product: Array, out: Array) -> None:
    """`out = ZᵀY + YZ` for skew Y and `Z = UΛ`: one product, because `ZᵀY = −(YZ)ᵀ`."""
    multiply(Y, U, product)
    for i in range(lam.size):
        for j in range(lam.size):
            product[i, j] *= lam[j]
    skew_difference(product, out)


@allocating_kernel
def dot(A: Array, B: Array) -> float:
    """Sum of the products of entries below the diagonal."""
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(i):
            total += A[i, j] * B[i, j]
    return total


@allocating_kernel
def precondition(U: Array, lam: Array, A: Array, out: Array) -> None:
    """`out` = `A` divided by the diagonal `Z_ii + Z_jj` of the Lyapunov operator."""
    for i in range(lam.size):
        out[i, i] = 0.0
        for j in range(i):
            a = A[i, j] / (U[i, i] * lam[i] + U[j, j] * lam[j])
            out[i, j] = a
            out[j, i] = -a


@allocating_kernel
def solve_lyapunov(U: Array, lam: Array, tolerance: float, work: Array) -> None:
    """Solve `ZᵀY + YZ = r` by BiCGStab until the residual is under `tolerance` (Frobenius); r and Y are in `work`."""
    Y, res, shadow, direction = work[_Y], work[_RES], work[_SHADOW], work[_DIR]
    v, t, hat = work[_V], work[_T], work[_HAT]
    for i in range(lam.size):
        for j in range(lam.size):
            Y[i, j], direction[i, j], v[i, j] = 0.0, 0.0, 0.0
    copy(work[_R], res)
    copy(work[_R], shadow)
    rho, alpha, omega = 1.0, 1.0, 1.0
    for _ in range(MAX_LINEAR):
        if not dot(res, res) > tolerance * tolerance:
            return
        rho_next = dot(shadow, res)
        beta = (rho_next / rho) * (alpha / omega)
        rho = rho_next
        for i in range(lam.size):
            for j in range(lam.size):
                direction[i, j] = res[i, j] + beta * (direction[i, j] - omega * v[i, j])
        precondition(U, lam, direction, hat)
        lyapunov(U, lam, hat, work[_PRODUCT], v)
        alpha = rho / dot(shadow, v)
        _add(res, -alpha, v)
        _add(Y, alpha, hat)
        precondition(U, lam, res, hat)
        lyapunov(U, lam, hat, work[_PRODUCT], t)
        size = dot(t, t)
        if not size > 0.0:
            return
        omega = dot(t, res) / size
        _add(Y, omega, hat)
        _add(res, -omega, t)


@allocating_kernel
def _add(A: Array, factor: float, B: Array) -> None:
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] += factor * B[i, j]


@allocating_kernel
def rotate_by_cayley(Y: Array, U: Array, product: Array, factor: Array) -> None:
    """`U ← (1 − Y/2)⁻¹ (1 + Y/2) U` in place; elimination needs no pivots because 1 − Y/2 is positive definite."""
    n = U.shape[0]
    multiply(Y, U, product)
    _add(U, 0.5, product)
    for i in range(n):
        for j in range(n):
            factor[i, j] = -0.5 * Y[i, j]
        factor[i, i] = 1.0
    for k in range(n):
        inverse = 1.0 / factor[k, k]
        for i in range(k + 1, n):
            a = factor[i, k] * inverse
            for j in range(k + 1, n):
                factor[i, j] -= a * factor[k, j]
            for j in range(n):
                U[i, j] -= a * U[k, j]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            a = factor[k, i]
            for j in range(n):
                U[k, j] -= a * U[i, j]
        inverse = 1.0 / factor[k, k]
        for j in range(n):
            U[k, j] *= inverse


@allocating_kernel
def residual(m: Array, U: Array, lam: Array, out: Array) -> float:
    """`out = m − J_D(U)`; returns its largest entry."""
    largest = 0.0
    for i in range(lam.size):
        out[i, i] = 0.0
        for j in range(i):
            r = m[i, j] - (U[i, j] * lam[j] - lam[i] * U[j, i])
            out[i, j] = r
            out[j, i] = -r
            largest = max(largest, abs(r))
            if math.isnan(r):
                return math.inf
    return largest


@allocating_kernel
def newton(m: Array, lam: Array, U: Array, work: Array) -> int:
    """Solve `J_D(U) = m` from the start in `U`, in place; U stays orthogonal to roundoff."""
    scale = 0.0
    for i in range(lam.size):
        scale = max(scale, lam[i])
    for _ in range(MAX_NEWTON):
        size = residual(m, U, lam, work[_R])
        if not size < math.inf:
            return NO_CONVERGENCE
        if size <= ROUNDOFF * scale:
            return OK
        solve_lyapunov(U, lam, size * max(min(1e-2, size / scale), 1e-9), work)
        rotate_by_cayley(work[_Y], U, work[_PRODUCT], work[_HAT])
        if dot(work[_Y], work[_Y]) < LAST_CORRECTION * LAST_CORRECTION:
            return OK
    return NO_CONVERGENCE


@allocating_kernel
def positive(U: Array, lam: Array, factor: Array) -> bool:
    """Whether `UΛ + ΛUᵀ > 0` (Cholesky): then UΛ has its spectrum in the right half plane, BCMR 2002, theorem 7.5."""
    for i in range(lam.size):
        for j in range(i + 1):
            total = U[i, j] * lam[j] + lam[i] * U[j, i]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                factor[i, i] = math.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    return True


@allocating_kernel
def invert(m: Array, lam: Array, given: int, U: Array, work: Array) -> int:
    """`U = J_D⁻¹(m)` on the branch of the identity; with `given` set, U comes in as a start on the right branch."""
    if given == 0:
        for i in range(lam.size):
            for j in range(lam.size):
                U[i, j] = 0.0
                work[_Y, i, j] = m[i, j] / (lam[i] + lam[j])
            U[i, i] = 1.0
        rotate_by_cayley(work[_Y], U, work[_PRODUCT], work[_HAT])
    status = newton(m, lam, U, work)
    if status == OK and given == 0 and not positive(U, lam, work[_HAT]):
        return OTHER_BRANCH
    return status


@allocating_kernel
def conjugate(U: Array, M: Array, product: Array, out: Array) -> None:
    """`out = Uᵀ M U`, made exactly skew; `out` may be `M`."""
    multiply(M, U, product)
    n = M.shape[0]
    for i in range(n):
        out[i, i] = 0.0
    for i in range(n):
        for j in range(i):
            a, b = 0.0, 0.0
            for k in range(n):
                a += U[k, i] * product[k, j]
                b += U[k, j] * product[k, i]
            out[i, j] = 0.5 * (a - b)
            out[j, i] = 0.5 * (b - a)


@allocating_kernel
def momentum(system: int, A: Array, B: Array, lam: Array, work: Array, out: Array) -> None:
    """Momentum `m` whose `J_D⁻¹` the next step needs first."""
    if system == SDRB:
        multiply_transposed(A, B, work[_PRODUCT])  # (4.7)
        skew_difference(work[_PRODUCT], out)
    elif system == MV1:
        multiply_transposed(A, B, work[_PRODUCT])
        for i in range(lam.size):
            for j in range(lam.size):
                work[_PRODUCT, i, j] *= lam[i]
        skew_difference(work[_PRODUCT], out)  # (4.3) with (4.2): Ω M Ωᵀ = ΛΩᵀ − ΩΛ
    else:
        copy(B, out)


@allocating_kernel
def advance(system: int, A: Array, B: Array, U: Array, next_state: Array) -> None:
    """Multiply the attitudes by `U`: `(A, B) ← (AU, BU)` for SDRBn, `(B, BU)` for algorithm 1, `(AU, ·)` else."""
    if system == MV1:
        multiply(B, U, next_state)
        copy(B, A)
        copy(next_state, B)
        return
    multiply(A, U, next_state)
    copy(next_state, A)
    if system == SDRB:
        multiply(B, U, next_state)
        copy(next_state, B)


@allocating_kernel
def step(system: int, A: Array, B: Array, lam: Array, given: int, U: Array, work: Array) -> int:
    """One step of the pair `(A, B)` in place; `U` leaves as the last increment. On failure the pair is unchanged."""
    momentum(system, A, B, lam, work, work[_M])
    for solve in range(1 + (system == MV2)):
        if solve == 1:  # (4.5): M_{k+1} = Ω_k M_k Ω_kᵀ, and the attitude moves by Ω_{k+1}
            conjugate(U, work[_M], work[_PRODUCT], work[_M])
        status = invert(work[_M], lam, given, U, work)
        if status != OK:
            return status
    if system == MV2:
        copy(work[_M], B)
    elif system == MDRB:
        conjugate(U, B, work[_PRODUCT], B)
    advance(system, A, B, U, work[_NEXT])
    return OK


@allocating_kernel
def run(
    system: int, A: Array, B: Array, lam: Array, given: int, U: Array,
    first: int, last: int, every: int, As: Array, Bs: Array,
) -> tuple:  # fmt: skip
    """Steps `first` to `last` of the pair `(A, B)` in place, every `every`-th stored; returns steps done and status.

    `U` leaves as the last increment; with `given` set it comes in as the start of Newton's iteration.
    """
    work = np.empty((SLOTS, lam.size, lam.size))
    for k in range(first, last):
        status = step(system, A, B, lam, given, U, work)
        if status != OK:
            return k, status
        if (k + 1) % every == 0:
            copy(A, As[(k + 1) // every])
            copy(B, Bs[(k + 1) // every])
    return last, OK
