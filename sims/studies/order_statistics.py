"""What seeded runs say about all runs, whatever the distribution: quantiles from ranks, shares from counts.

A run that never got there has an infinite time: it keeps its rank, so that a quantile is not flattered by leaving it
out.
"""

from __future__ import annotations

import math

import numpy as np

from attitude.core.jit import Array

CONFIDENCE = 0.95


def quantile(values: Array, share: float) -> float:
    """The least of `values` `(R,)` that at least this share of them does not exceed."""
    return float(np.sort(values)[max(math.ceil(share * values.size - 1e-9), 1) - 1])


def quantile_interval(values: Array, share: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval of the quantile by order statistics; infinite on a side where there are too few runs for one.

    Of R values the number below the true quantile is binomial; the ranks are those of its tails, which are each at most
    half of what the confidence leaves.
    """
    from scipy.stats import binom

    tail = 0.5 * (1.0 - confidence)
    low, high = (int(binom.ppf(p, values.size, share)) for p in (tail, 1.0 - tail))
    ordered = [-np.inf, *np.sort(values), np.inf]
    return float(ordered[low]), float(ordered[high + 1])


def share_at_least(hits: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """Lower bound of the share of all runs of which `hits` in `runs` were seen (Clopper and Pearson 1934, one-sided).

    If all were, `(1 − confidence)^(1/runs)`, for 95 % about `1 − 3/runs`.
    """
    from scipy.stats import binomtest

    return float(binomtest(hits, runs, alternative="greater").proportion_ci(confidence).low)
