"""Clocks: order and exactness, never how long anything took."""

import time

import pytest

from hil.clock import FakeClock, Lockstep, RealTime, Scaled


def sleep_through(clock, deadline_ns):
    while clock.now_ns() < deadline_ns:
        clock.sleep_until_ns(deadline_ns)
    return clock.now_ns()


@pytest.mark.parametrize("clock", [RealTime(), Scaled(2.0), Scaled(0.5), Lockstep(), FakeClock()])
def test_no_clock_wakes_early_or_goes_back(clock):
    before = clock.now_ns()
    deadline = before + 2_000_000
    assert sleep_through(clock, deadline) >= deadline
    clock.sleep_until_ns(before)  # in the past: nothing to wait for
    assert clock.now_ns() >= deadline


@pytest.mark.parametrize("factor", [2.0, 0.5, 1 / 3, 10])
def test_scaled_time_lies_between_the_scaled_readings_around_it(factor, monkeypatch):
    wall = [5_000_000_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: wall[0])
    clock = Scaled(factor)
    wall[0] += 3_000_000_001
    assert clock.now_ns() == pytest.approx(3_000_000_001 * factor, abs=1)  # 1 ns: rounded down
    assert clock.speed == factor


@pytest.mark.parametrize("factor", [2.0, 0.5, 1 / 3, 7.0])
def test_scaled_sleep_ends_at_the_first_wall_nanosecond_that_will_do(factor, monkeypatch):
    wall, slept = [0], []
    monkeypatch.setattr(time, "monotonic_ns", lambda: wall[0])
    monkeypatch.setattr(time, "sleep", lambda s: slept.append(round(s * 1e9)))
    clock = Scaled(factor)
    clock.sleep_until_ns(1_000_001)
    wall[0] = slept[0]
    assert clock.now_ns() >= 1_000_001
    wall[0] -= 1
    assert clock.now_ns() < 1_000_001


def test_long_sleeps_are_cut_so_that_a_stop_is_noticed(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    clock = RealTime()
    clock.sleep_until_ns(clock.now_ns() + 3_600_000_000_000)
    assert slept == [0.05]


@pytest.mark.parametrize("factor", [0, -1.0, float("nan"), float("inf"), 1e7])
def test_factors_that_are_none(factor):
    with pytest.raises(ValueError, match=r"^factor must be a number from 0.001 to 1000000, got "):
        Scaled(factor)


def test_lockstep_jumps():
    clock = Lockstep()
    clock.sleep_until_ns(10**15)
    assert clock.now_ns() == 10**15
    assert not clock.advances_itself


def test_the_fake_clock_follows_its_script():
    clock = FakeClock(100, late_ns=[7, 0, 3])
    wakes = []
    for deadline in (200, 300, 400, 500):
        clock.sleep_until_ns(deadline)
        wakes.append(clock.now_ns())
    assert wakes == [207, 300, 403, 500]
    clock.work_ns(50)
    assert clock.stopwatch_ns() == 550
    assert clock.sleeps == 4
