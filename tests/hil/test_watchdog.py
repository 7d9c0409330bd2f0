"""The watchdog: by hand on a scripted clock, and its thread with events for clocks."""

import threading
import time

import pytest

from hil.clock import FakeClock, RealTime
from hil.rate_groups import RateGroup
from hil.runner import Runner
from hil.watchdog import Watchdog

MS = 1_000_000
PATIENCE_S = 60  # far beyond any machine's worst day; reached only when the test fails


def watched(limit_s=0.1, hook=None):
    clock = FakeClock()
    barked = []
    return clock, Watchdog(limit_s, hook or (lambda tick, s: barked.append((tick, s))), clock.stopwatch_ns), barked


def test_it_trips_once_for_a_tick_that_hangs():
    clock, dog, barked = watched()
    dog.begin(7, clock.stopwatch_ns())
    clock.work_ns(100 * MS)
    dog.check()
    assert barked == []  # on the limit is in time
    clock.work_ns(1)
    dog.check()
    clock.work_ns(50 * MS)
    dog.check()
    dog.end(7, 150 * MS + 1)
    assert barked == [(7, pytest.approx(0.100000001, abs=1e-12))]
    assert dog.trips == 1


def test_it_looks_again_when_the_tick_would_be_overdue():
    clock, dog, _ = watched()
    assert dog.check() == pytest.approx(0.05)  # nothing runs
    dog.begin(0, clock.stopwatch_ns())
    clock.work_ns(30 * MS)
    assert dog.check() == pytest.approx(0.07, abs=2e-9)


def test_a_tick_that_kept_the_interpreter_is_noticed_when_it_is_over():
    _, dog, barked = watched()
    dog.begin(3, 0)
    dog.end(3, 101 * MS)
    dog.begin(4, 0)
    dog.end(4, 100 * MS)
    assert [tick for tick, _ in barked] == [3]


def test_between_ticks_it_sleeps():
    clock, dog, barked = watched()
    dog.begin(0, clock.stopwatch_ns())
    dog.end(0, MS)
    clock.work_ns(1000 * MS)
    dog.check()
    assert barked == []


def test_a_hook_that_raises_is_counted_only():
    def hook(tick, s):
        raise RuntimeError("the dog is ill")

    _, dog, _ = watched(hook=hook)
    dog.end(0, 101 * MS)
    assert (dog.trips, dog.hook_errors) == (1, 1)


def test_the_thread_tells_while_the_tick_still_hangs():
    told = threading.Event()
    freed = []

    def hang(tick, t):
        if tick == 1:
            freed.append(told.wait(PATIENCE_S))

    runner = Runner(
        1000, [RateGroup("g", hang)], clock=RealTime(), warm_up=(), watchdog_s=0.02, overrun="catch-up",
        on_watchdog=lambda tick, s: told.set() if tick == 1 else None,
    )  # fmt: skip
    report = runner.run(ticks=3)
    assert freed == [True]
    assert report.watchdog_trips >= 1
    assert report.ticks_run == 3  # told, not killed


def test_the_thread_is_waited_for():
    dog = Watchdog(10.0, None, lambda: time.sleep(0.05) or 0)  # a look at this watch takes a while
    dog.begin(0, 0)
    with dog:
        pass
    assert not dog._thread.is_alive()


def test_a_runner_tells_of_a_failing_hook():
    def hook(tick, s):
        raise RuntimeError("the dog is ill")

    clock = FakeClock()
    group = RateGroup("g", lambda k, t: clock.work_ns(200 * MS))
    report = Runner(1, [group], clock=clock, warm_up=(), watchdog_s=0.1, on_watchdog=hook).run(ticks=2)
    assert report.watchdog_trips == 2
    assert "on_watchdog raised 2 times" in report.notes
