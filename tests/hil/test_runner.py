"""The loop on scripted clocks: every number here follows from the script."""

import dataclasses
import gc
import json
import logging
import random
import re
import sys
import threading
import traceback
from fractions import Fraction

import numpy as np
import pytest

import attitude
from hil.clock import FakeClock, Lockstep, RealTime, Scaled
from hil.rate_groups import RateGroup
from hil.report import last_line
from hil.runner import Runner
from hil.timeline import Timeline

MS = 1_000_000


class Script:
    """A callback that takes as long as the script says (ms, by tick), and remembers the ticks it was called with."""

    def __init__(self, clock, work_ms=None):
        self.clock, self.work_ms, self.ticks, self.times = clock, work_ms or {}, [], []

    def __call__(self, tick, t):
        self.ticks.append(tick)
        self.times.append(t)
        self.clock.work_ns(round(self.work_ms.get(tick, 0) * MS))


def loop(groups, clock, rate=100, **options):
    return Runner(rate, groups, **{"clock": clock, "warm_up": (), **options})


def scripted(work_ms, late_ms=(), ticks=10, divisor=1, offset=0, **options):
    """A 100 Hz loop: one group that works as told, and one by `divisor` and `offset` that only looks on."""
    clock = FakeClock(late_ns=[round(ms * MS) for ms in late_ms])
    worker, other = Script(clock, work_ms), Script(clock)
    groups = [RateGroup("worker", worker), RateGroup("other", other, divisor, offset)]
    return loop(groups, clock, **options).run(ticks=ticks), worker, other


# ------------------------------------------------------------------ deadlines and groups
@pytest.mark.parametrize("rate", [3, 1000 / 7, Fraction(1000, 7), 1024, 100])
def test_the_loop_wakes_at_the_exact_deadlines(rate):
    clock = FakeClock(start_ns=17)
    woke = []
    report = loop([RateGroup("g", lambda k, t: woke.append(clock.now_ns()))], clock, rate).run(ticks=5000)
    exact = Fraction(rate).limit_denominator(10**6)
    assert all(abs(w - 17 - k * 10**9 / exact) <= Fraction(1, 2) for k, w in enumerate(woke))
    assert report.lateness.max_us == 0.0
    assert report.ticks_run == 5000


def test_ten_minutes_of_late_wakes_do_not_drift():
    rng = random.Random(5)
    clock = FakeClock(late_ns=(rng.randrange(0, 9 * MS) for _ in range(60_000)))
    report = loop([RateGroup("g", lambda k, t: None)], clock).run(duration_s=600)
    assert report.ticks_run == report.periods_elapsed == 60_000
    assert report.skipped == 0
    assert 0 <= report.drift_s < 0.009  # the last wake's own lateness, nothing accumulated


def test_groups_run_by_divisor_and_offset_in_their_order():
    calls = []
    groups = [
        RateGroup("all", lambda k, t: calls.append(("all", k))),
        RateGroup("thirds", lambda k, t: calls.append(("thirds", k)), 3, 1),
        RateGroup("halves", lambda k, t: calls.append(("halves", k)), 2),
    ]
    report = loop(groups, FakeClock()).run(ticks=5)
    assert calls == [
        ("all", 0), ("halves", 0), ("all", 1), ("thirds", 1), ("all", 2), ("halves", 2), ("all", 3), ("all", 4),
        ("thirds", 4), ("halves", 4),
    ]  # fmt: skip
    assert [group.runs for group in report.groups] == [5, 2, 3]


def test_callbacks_are_told_tick_and_nominal_time():
    _, worker, _ = scripted({}, late_ms=[0, 3, 1], ticks=4)
    assert worker.ticks == [0, 1, 2, 3]
    assert worker.times == [0.0, 0.01, 0.02, 0.03]


# ------------------------------------------------------------------ overruns
def test_skip_leaves_out_what_is_wholly_missed():
    # tick 2 works 35 ms from 20 to 55: 3 and 4 are over, 5 is in its period and runs 5 ms late
    report, worker, other = scripted({2: 35}, divisor=2, offset=0)
    assert worker.ticks == [0, 1, 2, 5, 6, 7, 8, 9]
    assert other.ticks == [0, 2, 6, 8]
    assert (report.ticks_run, report.skipped, report.overruns) == (8, 2, 1)
    assert [group.slips for group in report.groups] == [2, 1]
    assert report.slips == 3
    assert report.ticks_run + report.skipped == report.periods_elapsed == 10


def test_skip_does_not_hide_how_late_the_loop_was():
    report, _, _ = scripted({2: 35})
    assert report.lateness.max_us == 25_000.0  # for tick 3, due at 30, when the loop came back at 55


def test_skip_after_a_wake_that_is_periods_late():
    report, worker, _ = scripted({}, late_ms=[0, 25])  # the second sleep, for tick 2, wakes at 45
    assert worker.ticks == [0, 1, 4, 5, 6, 7, 8, 9]
    assert (report.skipped, report.overruns) == (2, 0)
    assert report.lateness.max_us == 25_000.0


def test_an_overrun_of_less_than_a_period_skips_nothing():
    report, worker, _ = scripted({2: 14})
    assert worker.ticks == list(range(10))
    assert (report.skipped, report.overruns, report.slips) == (0, 1, 0)
    assert report.lateness.max_us == 4000.0


def test_a_tick_that_ends_on_the_next_deadline_is_no_overrun():
    report, worker, _ = scripted({2: 10})
    assert (report.overruns, report.skipped, len(worker.ticks)) == (0, 0, 10)
    assert report.lateness.max_us == 0.0


def test_a_tick_is_missed_from_the_very_deadline_of_the_next():
    report, worker, _ = scripted({2: 20})  # back at 40, when 4 is due: 3 is missed, 4 is on time
    assert worker.ticks == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert (report.skipped, report.lateness.max_us) == (1, 10_000.0)


def test_skipping_never_passes_the_end():
    report, worker, _ = scripted({8: 500})
    assert worker.ticks == list(range(10))  # tick 9 still has its turn
    assert (report.skipped, report.slips) == (0, 2)  # but both groups had it a period or more late
    assert report.stop_reason == "complete"


def test_catch_up_runs_everything_late_and_back_to_back():
    report, worker, other = scripted({2: 35}, divisor=2, overrun="catch-up")
    assert worker.ticks == list(range(10))
    assert (report.ticks_run, report.skipped) == (10, 0)
    # the loop is back at 55: ticks 3 and 4 (due 30, 40) begin a period late, 5 (due 50) within its own
    assert [group.slips for group in report.groups] == [2, 1]
    assert report.overruns == 3  # 2, 3 and 4 ended after the next deadline
    assert other.ticks == [0, 2, 4, 6, 8]


def test_catch_up_that_never_catches_up_shows_as_drift():
    report, _, _ = scripted(dict.fromkeys(range(10), 15), overrun="catch-up")
    assert report.drift_s == pytest.approx(0.135 - 0.09)  # tick 9 begins after nine of 15 ms
    assert report.periods_elapsed == 14
    assert report.ticks_run == 10


def test_stop_ends_in_order_with_its_reason():
    report, worker, _ = scripted({2: 10.001}, overrun="stop")
    assert worker.ticks == [0, 1, 2]
    assert report.stop_reason == "overrun: tick 2 ended after the next was due"
    assert (report.overruns, report.ticks_run) == (1, 3)


# ------------------------------------------------------------------ books
def test_execution_times_are_those_of_the_script():
    report, _, _ = scripted({0: 1, 1: 2, 2: 3}, ticks=3)
    worker, other = report.groups
    assert (worker.execution.min_us, worker.execution.mean_us, worker.execution.max_us) == (1000.0, 2000.0, 3000.0)
    assert other.execution.max_us == 0.0
    assert report.execution.max_us == 3000.0
    assert report.execution.count == 3


def test_lateness_is_that_of_the_script():
    report, _, _ = scripted({}, late_ms=[1, 2, 3, 4])
    assert report.lateness.count == 10
    assert report.lateness.max_us == 4000.0
    assert report.lateness.mean_us == 1000.0
    assert report.drift_s == 0.0


def test_a_scaled_clock_is_reported_in_wall_time():
    clock = FakeClock(late_ns=[4 * MS])
    clock.speed = 2.0
    report = loop([RateGroup("g", lambda k, t: None)], clock).run(ticks=3)
    assert report.lateness.max_us == 2000.0
    assert report.speed == 2.0


def test_the_report_is_plain_data():
    def bad(tick, t):
        raise RuntimeError("no")

    report = loop([RateGroup("g", bad)], FakeClock(late_ns=[MS])).run(ticks=3)
    told = json.loads(json.dumps(dataclasses.asdict(report)))
    assert told["ticks_run"] == 3
    assert told["groups"][0]["errors"] == 3
    assert told["lateness"]["bins"][0] == [0.0, 0.001, 2]


def test_the_report_prints_in_a_few_lines():
    def bad(tick, t):
        if tick > 3:
            raise ValueError(f"tick {tick}\nand more")

    clock = FakeClock(late_ns=[MS, 2 * MS])
    groups = [RateGroup("worker", Script(clock, {0: 1, 6: 35})), RateGroup("bad", bad, 2)]
    report = loop(groups, clock).run(ticks=10)
    # tick 6 works 35 ms from 60 to 95: 7 and 8 are over; 1 and 2 woke 1 and 2 ms late, 9 was 25 late for 7
    assert str(report).splitlines() == [
        "8 ticks at 100 Hz by fake, 0.095 s: complete",
        "slips 3, skipped 2, overruns 1, errors 2, watchdog trips 0, drift 5000 us",
        "us                             p50       p99       max   count   slips",
        "lateness                       0.0   25000.0   25000.0       8",
        "execution of the tick          0.0   35000.0   35000.0       8",
        "  worker                       0.0   35000.0   35000.0       8       2",
        "  bad                          0.0       0.0       0.0       4       1",
        "errors in group 'bad': 2, the first ValueError: tick 4 (traceback in groups[1].first_error)",
    ]


def test_the_printed_percentiles_are_those_of_the_report():
    report, _, _ = scripted({})
    lateness = dataclasses.replace(report.lateness, count=7, p50_us=1.25, p99_us=20.5, max_us=300.75)
    row = str(dataclasses.replace(report, lateness=lateness)).splitlines()[3]
    assert row.split() == ["lateness", "1.2", "20.5", "300.8", "7"]


def test_a_report_of_a_good_run_speaks_of_no_group_with_errors():
    report, _, _ = scripted({})
    assert "errors 0" in str(report)
    assert "the first" not in str(report)


def raised(error, cause=None):
    """The traceback of an exception, as the loop keeps it."""
    try:
        raise error from cause
    except Exception:
        return traceback.format_exc()


@pytest.mark.parametrize(
    ("error", "cause", "line"),
    [
        (ValueError("no such row"), None, "ValueError: no such row"),
        (ValueError("two lines\nof text\n"), None, "ValueError: two lines"),
        (ArithmeticError(), None, "ArithmeticError"),
        (RuntimeError("outer"), KeyError("inner"), "RuntimeError: outer"),
        (ExceptionGroup("some", [ValueError("one"), KeyError("two")]), None, "KeyError: 'two'"),
    ],
)
def test_the_line_of_a_traceback_that_names_the_exception(error, cause, line):
    assert last_line(raised(error, cause)) == line


def test_the_report_can_be_read_in_flight():
    seen = []
    runner = loop([RateGroup("g", lambda k, t: seen.append(runner.report()))], FakeClock())
    report = runner.run(ticks=3)
    assert [r.ticks_run for r in seen] == [0, 1, 2]
    assert {r.stop_reason for r in seen} == {"running"}
    assert report.stop_reason == "complete"
    assert runner.report() == report


def test_the_loop_leaves_no_blocks_behind():
    blocks = []
    count = RateGroup("count", lambda k, t: blocks.append(sys.getallocatedblocks()), 20_000, 5)
    other = RateGroup("other", lambda k, t: None)
    loop([count, other], Lockstep()).run(ticks=50_000)
    assert abs(blocks[2] - blocks[1]) < 50  # the list's own few, for 20000 ticks


# ------------------------------------------------------------------ errors and stops
def test_a_callback_that_raises_is_counted_and_the_loop_goes_on():
    clock = FakeClock()
    good = Script(clock)

    def bad(tick, t):
        raise ValueError(f"tick {tick}")

    report = loop([RateGroup("bad", bad, 2, 1), RateGroup("good", good)], clock).run(ticks=10)
    assert good.ticks == list(range(10))
    assert (report.errors, report.groups[0].errors, report.groups[1].errors) == (5, 5, 0)
    assert "ValueError: tick 1" in report.groups[0].first_error
    assert "tick 3" not in report.groups[0].first_error
    assert report.groups[1].first_error is None


def test_an_error_can_stop_the_loop_after_its_tick():
    clock = FakeClock()
    after = Script(clock)

    def bad(tick, t):
        assert tick < 3

    report = loop([RateGroup("bad", bad), RateGroup("after", after)], clock, on_error="stop").run(ticks=10)
    assert after.ticks == [0, 1, 2, 3]
    assert report.stop_reason == "error: group 'bad' raised at tick 3"


@pytest.mark.parametrize("wish", [KeyboardInterrupt, SystemExit])
def test_who_wants_out_gets_an_orderly_stop(wish):
    def out(tick, t):
        if tick == 2:
            raise wish

    report = loop([RateGroup("g", out)], FakeClock()).run(ticks=10)
    assert (report.ticks_run, report.stop_reason, report.errors) == (3, wish.__name__, 0)


def test_an_interruption_between_ticks_is_an_orderly_stop():
    class Interrupted(FakeClock):
        def sleep_until_ns(self, deadline_ns):
            raise KeyboardInterrupt

    report = loop([RateGroup("g", lambda k, t: None)], Interrupted()).run(ticks=10)
    assert (report.ticks_run, report.stop_reason) == (1, "KeyboardInterrupt")


def test_a_callback_can_stop_the_loop():
    runner = loop([RateGroup("g", lambda k, t: runner.stop("seen enough") if k == 4 else None)], FakeClock())
    report = runner.run()
    assert (report.ticks_run, report.stop_reason) == (5, "seen enough")


def test_a_stop_before_the_start_holds_and_a_second_run_is_a_new_one():
    runner = loop([RateGroup("g", lambda k, t: None)], FakeClock())
    runner.stop("never mind")
    assert (runner.run(ticks=5).ticks_run, runner.report().stop_reason) == (0, "never mind")
    report = runner.run(ticks=5)
    assert (report.ticks_run, report.stop_reason, report.lateness.count) == (5, "complete", 5)


def test_no_ticks_make_an_empty_report():
    report = loop([RateGroup("g", lambda k, t: None)], FakeClock()).run(ticks=0)
    assert (report.ticks_run, report.duration_s, report.drift_s, report.stop_reason) == (0, 0.0, 0.0, "complete")


# ------------------------------------------------------------------ around the loop
def test_the_garbage_collector_is_held_off_and_given_back():
    inside = []

    def look(tick, t):
        inside.append((gc.isenabled(), gc.get_freeze_count() > 0, sys.getswitchinterval()))
        raise RuntimeError("even so")

    before = (gc.isenabled(), gc.get_freeze_count(), sys.getswitchinterval())
    loop([RateGroup("g", look)], FakeClock()).run(ticks=2)
    assert before[1] == 0  # nor has any loop before this one left anything frozen
    assert inside[0][:2] == (False, True)
    assert inside[0][2] < before[2]
    assert (gc.isenabled(), gc.get_freeze_count(), sys.getswitchinterval()) == before


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        loop([RateGroup("g", lambda k, t: None)], FakeClock()).run(ticks=2)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_is_given_back_when_the_clock_itself_fails():
    class Broken(FakeClock):
        def sleep_until_ns(self, deadline_ns):
            raise OSError("no clock")

    interval = sys.getswitchinterval()
    with pytest.raises(OSError, match="no clock"):
        loop([RateGroup("g", lambda k, t: None)], Broken()).run(ticks=3)
    assert gc.isenabled()
    assert sys.getswitchinterval() == interval


def test_warm_up_comes_first_and_is_the_kernels_by_default(monkeypatch):
    calls = []
    group = RateGroup("g", lambda k, t: calls.append(k))
    loop([group], FakeClock(), warm_up=[lambda: calls.append("a"), lambda: calls.append("b")]).run(ticks=2)
    assert calls == ["a", "b", 0, 1]
    monkeypatch.setattr(attitude, "warm_up", lambda: calls.append("kernels"))
    calls.clear()
    Runner(100, [group], clock=FakeClock()).run(ticks=1)
    assert calls == ["kernels", 0]


def test_the_kernels_are_announced_to_the_logger_and_not_printed(monkeypatch, caplog, capfd):
    told = []
    monkeypatch.setattr(attitude, "warm_up", lambda: told.extend(caplog.messages))
    with caplog.at_level(logging.INFO, "hil"):
        Runner(100, [RateGroup("g", lambda k, t: None)], clock=FakeClock()).run(ticks=1)
    assert told == ["compiling or loading the kernels of attitude before the first tick"]
    assert capfd.readouterr() == ("", "")


def test_a_program_without_kernels_has_nothing_to_warm(monkeypatch):
    monkeypatch.setattr(attitude, "warm_up", lambda: pytest.fail("warmed"))
    monkeypatch.delitem(sys.modules, "attitude")
    report = Runner(100, [RateGroup("g", lambda k, t: None)], clock=FakeClock()).run(ticks=1)
    assert "attitude" not in sys.modules
    assert report.ticks_run == 1


def test_the_watchdog_counts_the_ticks_that_took_too_long():
    barked = []
    report, _, _ = scripted(
        {2: 300, 5: 299, 40: 301}, ticks=60, overrun="catch-up", watchdog_s=0.2995,
        on_watchdog=lambda tick, s: barked.append((tick, round(s, 6))),
    )  # fmt: skip
    assert report.watchdog_trips == 2
    assert barked == [(2, 0.3), (40, 0.301)]


# ------------------------------------------------------------------ at the door
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rate": 0}, "rate_hz must be a number above 0 and at most 1000000 Hz, got 0"),
        ({"overrun": "hurry"}, "overrun must be one of skip, catch-up, stop, got 'hurry'"),
        ({"on_error": "cry"}, "on_error must be one of continue, stop, got 'cry'"),
        ({"waiting": "doze"}, "waiting must be one of sleep, sleep-spin, spin, got 'doze'"),
        ({"watchdog_s": 0}, "watchdog_s must be a number of seconds above 0, got 0"),
        ({"spin_margin_s": -1}, "spin_margin_s must be a number of seconds from 0, got -1"),
        ({"spin_margin_s": "1"}, "spin_margin_s must be a number of seconds from 0, got '1'"),
        ({"rate": "50"}, "rate_hz must be a number above 0 and at most 1000000 Hz, got '50'"),
        ({"rate": [50]}, "rate_hz must be a number above 0 and at most 1000000 Hz, got [50]"),
        ({"clock": RealTime}, "clock must be a Clock object such as RealTime(), got <class 'hil.clock.RealTime'>"),
        ({"warm_up": print}, "warm_up must be a sequence of callables, () for none, got <built-in function print>"),
        ({"warm_up": [1]}, "warm_up must be a sequence of callables, () for none, got [1]"),
    ],
)
def test_options_that_make_no_sense(options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        loop([RateGroup("g", lambda k, t: None)], **{"clock": FakeClock(), **options})


@pytest.mark.parametrize("groups", [[print], RateGroup("g", print), [], None])
def test_groups_are_checked_when_the_loop_is_made(groups):
    with pytest.raises(ValueError, match=r"^groups must "):
        Runner(50, groups)


@pytest.mark.parametrize(
    ("length", "sentence"),
    [
        ({"ticks": -1}, "ticks must be an integer from 0, got -1"),
        ({"ticks": 2.5}, "ticks must be an integer from 0, got 2.5"),
        ({"ticks": "3"}, "ticks must be an integer from 0, got '3'"),
        ({"duration_s": float("nan")}, "duration_s must be a number of seconds from 0, got nan"),
        ({"duration_s": "3"}, "duration_s must be a number of seconds from 0, got '3'"),
        ({"ticks": 1, "duration_s": 1.0}, "ticks and duration_s exclude each other, got 1 and 1.0"),
    ],
)
def test_lengths_that_make_no_sense(length, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        loop([RateGroup("g", lambda k, t: None)], FakeClock()).run(**length)


@pytest.mark.parametrize(
    "length", [{"ticks": np.int64(3)}, {"duration_s": np.float32(0.03125)}, {"duration_s": Fraction(3, 100)}]
)
def test_lengths_may_be_numbers_of_any_make(length):
    report = loop([RateGroup("g", lambda k, t: None)], FakeClock(), rate=96).run(**length)
    assert report.ticks_run == 3  # 1/32 s are three periods; 0.03 s are 2.88


# ------------------------------------------------------------------ for real
def facts(report, ticks):
    """What holds however busy the machine is."""
    assert report.ticks_run + report.skipped == ticks
    assert report.stop_reason == "complete"
    assert report.lateness.count == report.ticks_run  # one wait for each tick run
    assert report.duration_s >= Timeline(Fraction(report.rate_hz)).nominal_s(ticks - 1)
    assert report.drift_s >= 0


@pytest.mark.parametrize("waiting", ["sleep", "sleep-spin", "spin"])
@pytest.mark.parametrize("clock", [RealTime, lambda: Scaled(2.0)])
def test_a_real_loop_runs_in_order(waiting, clock):
    ticks, clock = [], clock()
    seen = []

    def look(tick, t):
        ticks.append(tick)
        seen.append(clock.now_ns())

    facts(loop([RateGroup("g", look)], clock, rate=500, waiting=waiting, watchdog_s=10.0).run(ticks=50), 50)
    assert ticks == sorted(set(ticks))
    assert seen == sorted(seen)


def test_lockstep_is_the_same_every_time():
    def once():
        state = [1.0]

        def step(tick, t):
            state[0] += t * state[0] * 1e-3

        report = loop([RateGroup("g", step)], Lockstep(), rate=1000 / 7).run(ticks=1000)
        return state[0], report.duration_s, report.lateness, report.overruns

    first, second = once(), once()
    assert first == second
    assert (first[1], first[3]) == (pytest.approx(999 * 7e-3, abs=1e-9), 0)


def test_no_thread_outlives_the_loop():
    before = set(threading.enumerate())
    loop([RateGroup("g", lambda k, t: None)], FakeClock(), watchdog_s=10.0).run(ticks=3)
    assert set(threading.enumerate()) == before
