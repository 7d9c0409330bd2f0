"""Histograms against the sorted samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.lateness import BINS, CUTS, Histogram, bin_of, durations, lower_ns, octave_bins, octaves, upper_ns


def filled(samples):
    histogram = Histogram()
    for sample in samples:
        histogram.add(int(sample))
    return histogram


@given(st.integers(0, 2**50 - 1))
def test_a_duration_lies_in_its_bin_and_the_bin_is_narrow(ns):
    index = bin_of(ns)
    assert lower_ns(index) <= ns <= upper_ns(index)
    assert (upper_ns(index) - lower_ns(index)) * CUTS <= lower_ns(index)


def test_the_bins_join_without_gap():
    assert [bin_of(lower_ns(i)) for i in range(BINS)] == list(range(BINS))
    assert bin_of(2**60) == BINS - 1


@pytest.mark.parametrize("percent", [1, 50, 99, 99.9, 100])
def test_percentiles_are_those_of_the_samples_up_to_the_bin(percent):
    samples = np.exp(np.random.default_rng(7).normal(10, 3, 20_000)).astype(np.int64)
    exact = np.sort(samples)[round(200 * percent) - 1]  # the smallest that `percent` of 20000 do not exceed
    assert exact <= filled(samples).percentile_ns(percent) <= exact * (1 + 1 / CUTS)


def test_the_summary_is_exact_where_it_can_be():
    samples = [1000, 3000, 2000, 10_000]
    told = durations(filled(samples))
    assert (told.count, told.min_us, told.mean_us, told.max_us) == (4, 1.0, 4.0, 10.0)
    assert told.p99_us == 10.0  # the largest is known exactly
    assert 2.0 <= told.p50_us <= 2.0 * (1 + 1 / CUTS)


def test_times_of_a_scaled_clock_are_told_in_wall_time():
    plain, scaled = durations(filled([500, 4000])), durations(filled([500, 4000]), speed=2.0)
    assert scaled.max_us == plain.max_us / 2
    assert [b[:2] for b in scaled.bins] == [(low / 2, high / 2) for low, high, _ in plain.bins]


def test_octaves_count_everything_once():
    samples = [0, 1, 2, 3, 4, 7, 8, 63, 64, 127, 128, 5000]
    counts = octaves(filled(samples))
    by_hand = [0] * len(counts)
    for sample in samples:
        by_hand[sample.bit_length()] += 1
    assert counts == by_hand
    assert octave_bins(counts, 1)[:4] == [(0, 1, 1), (1, 2, 1), (2, 4, 2), (4, 8, 2)]
    assert octave_bins(counts, 1)[-1] == (4096, 8192, 1)


def test_nothing_counted_is_told_as_nothing():
    told = durations(Histogram())
    assert (told.count, told.min_us, told.p50_us, told.max_us, told.bins) == (0, 0.0, 0.0, 0.0, [])


def test_a_negative_duration_counts_as_zero():
    histogram = filled([-5])
    assert (histogram.count, histogram.min_ns, histogram.max_ns, histogram.total_ns) == (1, 0, 0, 0)
