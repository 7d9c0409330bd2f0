"""Histograms of durations that are cheap to keep: bins allocated once, 32 of them to each factor of two."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

CUTS = 32  # bins per factor of two: a bin is at most 1/32 of its value wide
_CUT_BITS = 6  # durations below 2**6 ns have a bin each
_LARGEST_BITS = 50  # 2**50 ns are 13 days
BINS = CUTS * (_LARGEST_BITS - _CUT_BITS + 2)


class Histogram:
    """Counts of durations in ns in logarithmic bins, with the exact count, sum, smallest and largest."""

    def __init__(self) -> None:
        self.counts = np.zeros(BINS, np.int64)
        self._cells = memoryview(self.counts)  # type: ignore[arg-type]  # an item costs half of what the array's does
        self.count = 0
        self.total_ns = 0
        self.min_ns = 1 << 62
        self.max_ns = 0

    def add(self, duration_ns: int) -> None:
        """Count one duration; a negative one counts as 0."""
        if duration_ns < 0:
            duration_ns = 0
        self._cells[bin_of(duration_ns)] += 1
        self.count += 1
        self.total_ns += duration_ns
        if duration_ns > self.max_ns:
            self.max_ns = duration_ns
        if duration_ns < self.min_ns:
            self.min_ns = duration_ns

    def percentile_ns(self, percent: float) -> float:
        """The duration that `percent` of those counted do not exceed: the upper end of its bin, so never too small."""
        if not self.count:
            return 0.0
        rank = max(1, int(np.ceil(self.count * percent / 100)))
        index = int(np.searchsorted(np.cumsum(self.counts), rank))
        return float(min(upper_ns(index), self.max_ns))


def bin_of(duration_ns: int) -> int:
    """Index of the bin: the leading six bits of the duration and where they stand."""
    shift = duration_ns.bit_length() - _CUT_BITS
    if shift <= 0:
        return duration_ns
    return min((shift << 5) + (duration_ns >> shift), BINS - 1)


def lower_ns(index: int) -> int:
    """The smallest duration in a bin."""
    shift = max(0, index // CUTS - 1)
    return (index - shift * CUTS) << shift


def upper_ns(index: int) -> int:
    """The largest duration in a bin."""
    return lower_ns(index + 1) - 1


@dataclass(frozen=True)
class Durations:
    """A histogram told in microseconds: plain data. `bins` holds (from, to, count) by factors of two, ends cut."""

    count: int
    min_us: float
    mean_us: float
    p50_us: float
    p99_us: float
    max_us: float
    bins: list[tuple[float, float, int]]


def durations(histogram: Histogram, speed: float = 1.0) -> Durations:
    """What a histogram shows; `speed` turns times of a scaled clock into wall time."""
    us = 1e-3 / speed
    count = histogram.count
    return Durations(
        count=count,
        min_us=histogram.min_ns * us if count else 0.0,
        mean_us=histogram.total_ns / count * us if count else 0.0,
        p50_us=histogram.percentile_ns(50) * us,
        p99_us=histogram.percentile_ns(99) * us,
        max_us=histogram.max_ns * us,
        bins=octave_bins(octaves(histogram), us),
    )


def octaves(histogram: Histogram) -> list[int]:
    """Counts by factors of two: 0, 1, 2 to 3, 4 to 7, ... ns."""
    edges = [bin_of(_octave_ns(i)) for i in range(_LARGEST_BITS + 1)] + [BINS]
    return [int(histogram.counts[first:end].sum()) for first, end in pairwise(edges)]


def octave_bins(counts: list[int], us: float = 1e-3) -> list[tuple[float, float, int]]:
    """(from, to, count), from the first octave that is not empty to the last; `us` is what a nanosecond is told as."""
    filled = [i for i, n in enumerate(counts) if n]
    if not filled:
        return []
    return [(_octave_ns(i) * us, _octave_ns(i + 1) * us, counts[i]) for i in range(filled[0], filled[-1] + 1)]


def _octave_ns(index: int) -> int:
    return (1 << index) >> 1
