"""Attitude from directions measured at one time: TRIAD, and Wahba's problem by QUEST, Davenport's q-method or SVD.

Directions `b_i` in body axes are measured of directions `r_i` known in inertial axes, `r_i ≈ R(q) b_i`. Each carries
an isotropic Gaussian error of `sigma_i` rad per axis across its direction (the QUEST measurement model: Shuster and Oh
1981, Shuster 1989). Wahba's problem (Wahba 1965) is to minimise, with weights `a_i = 1/sigma_i²`,

    L(q) = ½ Σ a_i ‖b_i − R(q)ᵀ r_i‖² = qᵀ M q

    M = ½ Σ a_i [[‖s‖² − s sᵀ + d dᵀ, s × d], [(s × d)ᵀ, ‖d‖²]]        s = b_i + r_i,  d = b_i − r_i

`M` is `Σ a_i 1 − K` with Davenport's matrix `K`, but free of its cancellation: `q ⊗ b − r ⊗ q`, squared.

- `triad` fits the leading vector exactly, and the other one in azimuth about it.
- `davenport`: the eigenvector of the smallest eigenvalue of `M`, by Jacobi rotations (Davenport 1968, Keat 1977).
- `quest`: that eigenvalue by Newton from 0, then the Gibbs vector by a 3×3 solve (Shuster and Oh 1981).
- `svd`: `U diag(1, 1, det U det V) Vᵀ` of `Σ a_i r_i b_iᵀ = U S Vᵀ`, by one-sided Jacobi rotations (Markley 1988).

The last three first turn both sides into the triads of the sharpest vector (third axis) and of the one that tells most
about the azimuth. There the rotation left over is of the size of the noise, so that QUEST never comes near its
singularity at 180°, and weak information stands in entries of its own instead of in the rounding errors of strong
information: in `K`, sigmas of 1e-5 and 1e-1 rad would leave 8 digits, and in QUEST's quartic none. Where QUEST cannot
be trusted (the noise is as large as the angles between the vectors) Davenport's method takes over.

An attitude error is a body-frame rotation vector `θ`, `q_true = q ⊗ exp(θ)`; covariances are those of `θ`, rad²,
to first order in the sigmas. Nothing is said about whether `b` and `r` fit each other: that is for the user to test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, on_warm_up
from attitude.estimation.wahba_kernels import (
    METHODS,
    OK,
    PARALLEL,
    PARALLEL_B,
    PARALLEL_R,
    SIGMA_RANGE,
    ZERO_B,
    ZERO_R,
    scratch,
    triad_rows,
    wahba_rows,
)


# ------------------------------------------------------------------ checks at the door
def _shape(value: ArrayLike, name: str, ranks: tuple[int, int], allowed: str) -> tuple[int, ...]:
    """Shape of vectors that may come one set or many."""
    try:
        shape = np.shape(value)
    except ValueError:  # ragged
        raise ValueError(f"{name} must have shape {allowed}, got rows of different lengths") from None
    if len(shape) not in ranks or shape[-1] != 3:
        raise ValueError(f"{name} must have shape {allowed}, got {shape}")
    return shape


def _same_shape(value: ArrayLike, name: str, shape: tuple[int, ...], other: str) -> Array:
    """Finite array of that shape, which is the one of another field."""
    try:
        got: object = np.shape(value)
    except ValueError:
        got = "rows of different lengths"
    if got != shape:
        raise ValueError(f"{name} must have the shape of {other}, {shape}, got {got}")
    return checks.array(value, name, shape)


def _sigmas(sigma: ArrayLike, n: int) -> Array:
    """Standard deviations `(n,)`, rad, from one or `n` of them."""
    if np.asarray(sigma, dtype=object).ndim == 0:
        values = np.full(n, checks.number(sigma, "sigma"))
    else:
        values = checks.array(sigma, "sigma", (n,))
    low, high = SIGMA_RANGE
    wrong = np.flatnonzero((values < low) | (values > high))
    if wrong.size:
        raise ValueError(
            f"sigma must be greater than zero, from {low} to {high} rad, got {values[wrong[0]]} at index {wrong[0]}"
        )
    return values


def _zero(v: Array) -> list[int]:
    """Index of the first vector of zero length."""
    return [int(i) for i in np.argwhere(~v.any(axis=-1))[0]]


# ------------------------------------------------------------------ the public functions
def triad(b1: ArrayLike, b2: ArrayLike, r1: ArrayLike, r2: ArrayLike, sigma: ArrayLike | None = None) -> Array:
    """Attitude `(4,)` or `(M, 4)` from two directions `(3,)` or `(M, 3)`: `b` in body axes, `r` in inertial axes.

    The leading vector is fitted exactly: the one of smaller `sigma` (rad; a pair), or the first without `sigma`.
    Lengths do not matter; `w ≥ 0`.
    """
    return triad_with_covariance(b1, b2, r1, r2, 1.0 if sigma is None else sigma)[0]


def triad_with_covariance(
    b1: ArrayLike, b2: ArrayLike, r1: ArrayLike, r2: ArrayLike, sigma: ArrayLike
) -> tuple[Array, Array]:
    """As `triad`, and the covariance of the attitude error, `(3, 3)` or `(M, 3, 3)`, rad² (Shuster and Oh 1981)."""
    shape = _shape(b1, "b1", (1, 2), "(3,) or (M, 3)")
    vectors = [checks.array(b1, "b1", shape)]
    vectors += [_same_shape(v, name, shape, "b1") for v, name in ((b2, "b2"), (r1, "r1"), (r2, "r2"))]
    sigmas = _sigmas(sigma, 2)
    order = [1, 0] if sigmas[1] < sigmas[0] else [0, 1]
    b, r = (np.stack([pair[k] for k in order], axis=-2).reshape(-1, 2, 3) for pair in (vectors[:2], vectors[2:]))
    q, cov = np.empty((*shape[:-1], 4)), np.empty((*shape[:-1], 3, 3))
    status, row = triad_rows(b, r, sigmas[order] ** 2, scratch(2), q.reshape(-1, 4), cov.reshape(-1, 3, 3))
    if status != OK:
        raise ValueError(_triad_complaint(status, f"[{row}]" if len(shape) == 2 else "", vectors))
    return q, cov


def _triad_complaint(status: int, row: str, vectors: list[Array]) -> str:
    if status in (ZERO_B, ZERO_R):
        name = next(n for n, v in zip(("b1", "b2", "r1", "r2"), vectors, strict=True) if not v.any(axis=-1).all())
        return f"{name} must not have zero length, got a zero vector" + (f" in row {row}" if row else "")
    name = "b" if status == PARALLEL_B else "r"
    return f"{name}1{row} and {name}2{row} must differ in direction by more than {PARALLEL} rad, got parallel vectors"


def wahba(b: ArrayLike, r: ArrayLike, sigma: ArrayLike, method: str = "quest") -> tuple[Array, Array]:
    """Attitude that solves Wahba's problem, `(4,)` or `(M, 4)`, and its covariance, `(3, 3)` or `(M, 3, 3)`, rad².

    Directions `(N, 3)` or `(M, N, 3)`, at least two each: `b` in body axes, `r` in inertial axes; lengths do not
    matter. `sigma`: rad, one or `(N,)`. `method`: "quest", "davenport" or "svd". `w ≥ 0`.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    shape = _shape(b, "b", (2, 3), "(N, 3) or (M, N, 3)")
    n = shape[-2]
    if n < 2:
        raise ValueError(f"b must hold at least two vectors, got {n}")
    b = checks.array(b, "b", shape)
    r = _same_shape(r, "r", shape, "b")
    sigmas = _sigmas(sigma, n)
    lead = int(np.argmin(sigmas))
    weight, variance = (sigmas[lead] / sigmas) ** 2, float(sigmas[lead] ** 2)
    q, cov = np.empty((*shape[:-2], 4)), np.empty((*shape[:-2], 3, 3))
    status, row = wahba_rows(
        b.reshape(-1, n, 3), r.reshape(-1, n, 3), weight, lead, variance, METHODS[method], scratch(n),
        q.reshape(-1, 4), cov.reshape(-1, 3, 3),
    )  # fmt: skip
    if status != OK:
        raise ValueError(_wahba_complaint(status, f"[{row}]" if len(shape) == 3 else "", b, r))
    return q, cov


def _wahba_complaint(status: int, row: str, b: Array, r: Array) -> str:
    name, vectors = ("b", b) if status in (ZERO_B, PARALLEL_B) else ("r", r)
    if status in (ZERO_B, ZERO_R):
        return f"{name} must not hold a vector of zero length, got one at index {_zero(vectors)}"
    if status in (PARALLEL_B, PARALLEL_R):
        return f"{name}{row} must hold two vectors more than {PARALLEL} rad from parallel, got none"
    return f"b{row} and r{row} must determine one attitude, got vectors that several attitudes fit equally well"


@on_warm_up
def _warm_up() -> None:
    axes = np.eye(3)[:2]
    triad(*axes, *axes)
    wahba(axes, axes, 1.0)
