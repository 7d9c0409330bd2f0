"""Deadlines against exact rational arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.timeline import Timeline, exact, exact_rate

AWKWARD = [Fraction(3), Fraction(1000, 7), Fraction(1024), Fraction(44100), Fraction(1, 7)]
RATES = st.fractions(min_value=Fraction(1, 100), max_value=10**6, max_denominator=10**6)
START = 123_456_789_012_345


@pytest.mark.parametrize("rate", AWKWARD)
def test_a_million_deadlines_are_the_nearest_nanosecond(rate):
    timeline = Timeline(rate, START)
    p, q = rate.numerator, rate.denominator
    # |deadline - k 1e9 q / p| <= 1/2, told in integers
    worst = max(abs(2 * p * (timeline.deadline_ns(k) - START) - 2_000_000_000 * q * k) for k in range(1_000_000))
    assert worst <= p
    assert timeline.deadline_ns(0) == START


@pytest.mark.parametrize("rate", [*AWKWARD, Fraction(100)])
def test_nominal_times_are_the_nearest_floats(rate):
    timeline = Timeline(rate)
    for k in (0, 1, 2, 3, 999, 10**6 + 1, 10**9 + 7):
        assert timeline.nominal_s(k) == float(Fraction(k) / rate)


@given(rate=RATES, now=st.integers(0, 10**15))
def test_the_tick_at_a_time_is_the_last_one_due(rate, now):
    timeline = Timeline(rate, 0)
    tick = timeline.tick_at(now)
    assert timeline.deadline_ns(tick) <= now < timeline.deadline_ns(tick + 1)


@given(rate=RATES, tick=st.integers(0, 10**9))
def test_a_tick_begins_at_its_deadline(rate, tick):
    timeline = Timeline(rate, START)
    assert timeline.tick_at(timeline.deadline_ns(tick)) == tick
    assert timeline.tick_at(timeline.deadline_ns(tick) - 1) == tick - 1


def test_a_float_means_the_simple_ratio_it_came_from():
    assert exact_rate(1000 / 7) == Fraction(1000, 7)
    assert exact_rate(0.1) == Fraction(1, 10)
    assert exact(3.141592653589793) == Fraction(3.141592653589793)  # no simple ratio rounds to it
    assert exact_rate(Fraction(10**7 + 1, 10**6 + 1)) == Fraction(10**7 + 1, 10**6 + 1)  # a ratio stays what it is


@pytest.mark.parametrize(
    ("rate", "seconds", "ticks"), [(100, 0.3, 30), (3, 1.0, 3), (1000 / 7, 0.7, 100), (10, 0.0, 0), (2, 0.6, 2)]
)
def test_ticks_within_a_duration(rate, seconds, ticks):
    assert Timeline(exact_rate(rate)).ticks_within(seconds) == ticks


@pytest.mark.parametrize("rate", [0, -1.0, float("nan"), float("inf"), 2_000_000, True, "100"])
def test_rates_that_are_none(rate):
    with pytest.raises(ValueError, match=r"^rate_hz must be a number above 0 and at most 1000000 Hz, got "):
        exact_rate(rate)
