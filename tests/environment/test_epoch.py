from datetime import UTC, datetime, timedelta, timezone

import erfa
import numpy as np
import pytest

from attitude.environment.epoch import Epoch

ROUNDING = 1e-5  # s: a Julian date in two parts, each in days, keeps 1e-11 of a day


def seconds(julian_date, reference):
    return ((julian_date[0] - reference[0]) + (julian_date[1] - reference[1])) * 86400.0


def test_ways_to_say_the_same_epoch():
    same = [
        "2026-03-20T12:00:00", "2026-03-20T12:00:00Z", "2026-03-20T14:00:00+02:00", datetime(2026, 3, 20, 12),
        datetime(2026, 3, 20, 12, tzinfo=UTC), datetime(2026, 3, 20, 7, tzinfo=timezone(timedelta(hours=-5))),
    ]  # fmt: skip
    assert {Epoch(value).start for value in same} == {datetime(2026, 3, 20, 12, tzinfo=UTC)}


def test_terrestrial_time_is_ahead_by_the_leap_seconds():
    noon = erfa.dtf2d("TT", 2026, 3, 20, 12, 0, 0.0)
    assert seconds(Epoch("2026-03-20T12:00:00").tt(0.0), noon) == pytest.approx(37.0 + 32.184, abs=ROUNDING)


def test_a_leap_second_is_no_jump_in_atomic_time_but_in_universal_time():
    epoch = Epoch("2016-12-31T23:59:59")
    t = np.array([0.0, 2.0])
    midnight = erfa.dtf2d("UT1", 2017, 1, 1, 0, 0, 0.0)
    assert np.diff(seconds(epoch.tt(t), midnight)) == pytest.approx(2.0, abs=ROUNDING)
    assert seconds(epoch.ut1(t), midnight)[1] == pytest.approx(0.0, abs=ROUNDING)  # 23:59:60 lies between


def test_ut1_minus_utc_is_used():
    t = np.array([0.0, 1e5])
    late, plain = Epoch("2026-03-20", 0.4), Epoch("2026-03-20")
    assert seconds(late.ut1(t), plain.ut1(t)) == pytest.approx(0.4, abs=ROUNDING)
    assert seconds(late.tt(t), plain.tt(t)) == pytest.approx(0.0, abs=ROUNDING)


def test_times_a_month_ahead_keep_their_microseconds():
    epoch = Epoch("2026-03-20")
    t = 30 * 86400.0 + np.array([0.0, 1e-3])
    assert np.diff(seconds(epoch.tt(t), epoch.tt(0.0))) == pytest.approx(1e-3, abs=1e-6)


def test_a_future_year_gives_no_warning(recwarn):
    Epoch("2060-01-01").ut1(0.0)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("20 March", "epoch must be an ISO 8601 date"),
        (None, "epoch must be an ISO 8601 date"),
        ("1957-10-04", "epoch must lie in the years 1972 to 2100, got 1957"),
        ("2101-01-01", "epoch must lie in the years"),
    ],
)
def test_bad_epochs(value, message):
    with pytest.raises(ValueError, match=message):
        Epoch(value)


def test_bad_ut1():
    with pytest.raises(ValueError, match=r"ut1_minus_utc must be within 0.9 s of zero, got 1.5"):
        Epoch("2026-03-20", 1.5)
