"""Allan deviation, the way gyro datasheets are read (IEEE 952-1997, annex C)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array


def allan_deviation(rate: ArrayLike, period: float, factors: Sequence[int]) -> Array:
    """Overlapping Allan deviation of `rate` `(N,)` or `(N, k)` at the times `factors × period`, s: `(len(factors), k)`.

    Of N samples a factor needs at least `2 factor`. Result in the unit of `rate`; `(len(factors),)` for `(N,)`.
    """
    table = np.asarray(rate, dtype=np.float64)
    table = checks.array(table, "rate", (None,) * max(1, min(table.ndim, 2)))
    period = checks.positive(period, "period")
    angle = np.concatenate([np.zeros_like(table[:1]), np.cumsum(table - table.mean(axis=0), axis=0)]) * period
    return np.array([_deviation(angle, period, m) for m in factors])


def _deviation(angle: Array, period: float, factor: int) -> Array:
    m = checks.count(factor, "factors")
    if angle.shape[0] <= 2 * m:
        raise ValueError(f"factors must be at most half the number of samples, {(angle.shape[0] - 1) // 2}, got {m}")
    second = angle[2 * m :] - 2.0 * angle[m:-m] + angle[: -2 * m]
    return np.asarray(np.sqrt(np.mean(second**2, axis=0) / 2.0) / (m * period))
