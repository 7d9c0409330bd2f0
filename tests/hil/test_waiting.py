"""Waiting strategies on a scripted clock."""

import pytest

from hil.clock import FakeClock, Lockstep
from hil.stop import StopFlag
from hil.waiting import make_wait

READ = 10


@pytest.mark.parametrize(
    ("waiting", "late", "sleeps", "woke_by"),
    [
        ("sleep", 70, 1, 1070 + READ),  # as late as the sleep was
        ("sleep-spin", 70, 1, 1000 + READ),  # the margin of 200 swallows it
        ("sleep-spin", 300, 1, 1100 + 2 * READ),  # more than the margin can take
        ("spin", 70, 0, 1000 + READ),
    ],
)
def test_what_each_strategy_makes_of_a_late_sleep(waiting, late, sleeps, woke_by):
    clock = FakeClock(late_ns=[late], read_ns=READ)
    woke = make_wait(waiting, clock, StopFlag(), 200)(1000)
    assert 1000 <= woke <= woke_by
    assert clock.sleeps == sleeps


@pytest.mark.parametrize("waiting", ["sleep", "sleep-spin", "spin"])
def test_a_clock_that_moves_only_by_sleeping_is_never_spun_on(waiting):
    assert make_wait(waiting, Lockstep(), StopFlag(), 200)(1000) == 1000


@pytest.mark.parametrize("waiting", ["sleep", "sleep-spin", "spin"])
def test_waiting_ends_when_asked_to_stop(waiting):
    clock, stop = FakeClock(read_ns=READ), StopFlag()
    stop.set("enough")
    assert make_wait(waiting, clock, stop, 200)(1000) < 1000


@pytest.mark.parametrize("waiting", ["sleep", "sleep-spin", "spin"])
def test_a_deadline_that_has_passed_is_not_waited_for(waiting):
    clock = FakeClock(start_ns=5000, read_ns=READ)
    assert make_wait(waiting, clock, StopFlag(), 200)(1000) <= 5000 + 2 * READ
    assert clock.sleeps == 0


def test_a_strategy_nobody_knows():
    with pytest.raises(ValueError, match=r"^waiting must be one of sleep, sleep-spin, spin, got 'doze'$"):
        make_wait("doze", FakeClock(), StopFlag(), 0)
