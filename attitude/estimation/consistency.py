"""Is a filter as good as it says? Normalised errors and innovations, their intervals, whiteness, spread.

For a consistent filter of n states the normalised estimation error squared (NEES) is chi-square with n degrees of
freedom, and the normalised innovation squared (NIS) with as many as the measurement has components; innovations are
white (Bar-Shalom, Li and Kirubarajan 2001, section 5.4). Leading axes `...` are runs and times, in any order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.jit import Array


# ------------------------------------------------------------------ errors and their squares
def attitude_error(q: ArrayLike, q_true: ArrayLike) -> Array:
    """Body-frame rotation vector `θ` `(..., 3)`, rad, of `q_true = q ⊗ exp(θ)`; both `(..., 4)`."""
    return quaternion.log(quaternion.product(quaternion.conjugate(q), q_true))


def nees(error: ArrayLike, P: ArrayLike) -> Array:
    """Normalised estimation error squared `eᵀ P⁻¹ e` `(...)`; `error` `(..., n)`, `P` `(..., n, n)`."""
    return np.asarray(np.sum(whitened(error, P, "error", "P") ** 2, axis=-1))


def nis(y: ArrayLike, S: ArrayLike) -> Array:
    """Normalised innovation squared `yᵀ S⁻¹ y` `(...)`; `y` `(..., m)`, `S` `(..., m, m)`."""
    return np.asarray(np.sum(whitened(y, S) ** 2, axis=-1))


def whitened(y: ArrayLike, S: ArrayLike, name: str = "y", covariance: str = "S") -> Array:
    """Innovations `L⁻¹ y` `(..., m)` of unit covariance, `S = L Lᵀ`; the names are for the error messages."""
    vector, matrix = np.asarray(y, dtype=np.float64), np.asarray(S, dtype=np.float64)
    if vector.ndim == 0 or matrix.shape[-2:] != (vector.shape[-1], vector.shape[-1]):
        shapes = f"got {matrix.shape} and {vector.shape}"
        raise ValueError(f"{covariance} must have shape (..., n, n) to go with {name} (..., n), {shapes}")
    if not (np.isfinite(vector).all() and np.isfinite(matrix).all()):
        raise ValueError(f"{name} and {covariance} must be finite")
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(f"{covariance} must be positive definite everywhere") from None
    return np.asarray(np.linalg.solve(factor, vector[..., None])[..., 0])


# ------------------------------------------------------------------ intervals
def mean_interval(dof: int, count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Interval that the mean of `count` independent chi-square values of `dof` degrees of freedom lies in.

    Over runs at one time `count` is the number of runs; over times and runs together it is `effective_count`.
    """
    from scipy.stats import chi2

    total = checks.count(dof, "dof") * checks.positive(count, "count")
    tail = 0.5 * (1.0 - _probability(confidence))
    low, high = chi2.ppf([tail, 1.0 - tail], total) / count
    return float(low), float(high)


def share_inside(values: ArrayLike, interval: tuple[float, float]) -> float:
    """Share of `values` that lie in the interval."""
    given = np.asarray(values, dtype=np.float64)
    return float(np.mean((given >= interval[0]) & (given <= interval[1])))


def _probability(value: float) -> float:
    number = checks.number(value, "confidence")
    if not 0.0 < number < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {number}")
    return number


# ------------------------------------------------------------------ correlation over time
def autocorrelation(values: ArrayLike, lags: int) -> Array:
    """Autocorrelation `(lags + 1,)` of sequences `(R, N)` or `(R, N, m)` of mean zero, over all runs and components.

    The first entry, at lag zero, is 1.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (2, 3):
        raise ValueError(f"values must have shape (R, N) or (R, N, m), got {table.shape}")
    if not 0 <= checks.count(lags, "lags", 0) < table.shape[1]:
        raise ValueError(f"lags must be below the number of times, {table.shape[1]}, got {lags}")
    power = np.mean(table**2)
    if not power > 0.0:
        raise ValueError("values must be finite and not all zero")
    length = table.shape[1]
    return np.array([np.mean(table[:, : length - lag] * table[:, lag:]) for lag in range(lags + 1)]) / power


def whiteness_bound(products: int, confidence: float = 0.95) -> float:
    """Bound on the autocorrelation at one lag of white sequences, from the number of products it averages."""
    from scipy.stats import norm

    return float(norm.ppf(0.5 * (1.0 + _probability(confidence))) / math.sqrt(checks.count(products, "products")))


def effective_count(values: ArrayLike, lags: int) -> float:
    """How many independent values the mean of sequences `(R, N)` of mean zero is worth, correlated up to `lags`."""
    table = np.asarray(values, dtype=np.float64)
    rho = autocorrelation(table, lags)
    taper = 1.0 - np.arange(1, lags + 1) / table.shape[1]
    return float(table.size / max(1.0 + 2.0 * np.sum(taper * rho[1:]), 1.0))


# ------------------------------------------------------------------ covariance against the spread of runs
def sample_covariance(errors: ArrayLike) -> Array:
    """Second moment `(n, n)` of errors `(R, n)` about zero, so that a bias counts as spread."""
    e = checks.array(errors, "errors", (None, None))
    if e.shape[0] < 2:
        raise ValueError(f"errors must be of at least two runs, got {e.shape[0]}")
    return np.asarray(e.T @ e / e.shape[0])


def spread_ratio(errors: ArrayLike, P: ArrayLike) -> Array:
    """Spread of the errors `(R, n)` over the standard deviation that `P` `(n, n)` predicts, for each component."""
    covariance = sample_covariance(errors)
    predicted = checks.array(P, "P", covariance.shape)
    return np.asarray(np.sqrt(np.diagonal(covariance) / np.diagonal(predicted)))


def principal_spread_ratio(errors: ArrayLike, P: ArrayLike) -> Array:
    """As `spread_ratio`, along the n directions in which the two covariances differ most and least; ascending."""
    covariance = sample_covariance(errors)
    factor = np.linalg.cholesky(checks.array(P, "P", covariance.shape))
    left = np.linalg.solve(factor, covariance)
    return np.asarray(np.sqrt(np.linalg.eigvalsh(np.linalg.solve(factor, left.T))))
