"""The bare C loop: that it counts right; how late it is, is the machine's affair. Side by side, marked slow."""

import shutil
import subprocess
import time

import numpy as np
import pytest

from hil import baseline
from hil.baseline import Baseline, NoCompiler, measure
from hil.rate_groups import RateGroup
from hil.ring import RingLog
from hil.runner import Runner

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@needs_cc
def test_the_bare_loop_counts_every_period():
    told = measure(500, 0.2)
    assert told.count == 100
    assert 0 <= told.min_us <= told.p50_us <= told.p99_us <= told.max_us
    assert told.min_us <= told.mean_us <= told.max_us
    assert sum(n for _, _, n in told.bins) == 100
    assert told.bins[0][0] <= told.min_us
    assert told.max_us <= told.bins[-1][1]


@needs_cc
def test_a_baseline_that_is_not_waited_for_is_ended():
    with Baseline(100, 600, timer_slack_ns=1) as bare:
        process = bare._process
        assert process.poll() is None
    assert process.returncode is not None


@needs_cc
def test_the_source_compiles_without_a_warning(tmp_path):
    source = tmp_path / "baseline.c"
    source.write_text(baseline.files("hil").joinpath("baseline.c").read_text())
    strict = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu99", "-o", str(tmp_path / "x"), str(source)]
    assert subprocess.run(strict, capture_output=True, text=True).stderr == ""


def test_no_compiler_is_said_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(NoCompiler, match=r"^the baseline loop needs a C compiler named cc, gcc or clang, found none"):
        measure(100, 1)


@pytest.mark.parametrize(("rate", "seconds"), [(0, 1), (100, -1), (float("nan"), 1), (1, 0.5)])
def test_measurements_that_make_no_sense(rate, seconds):
    with pytest.raises(ValueError, match="must"):
        measure(rate, seconds)


@needs_cc
@pytest.mark.slow
@pytest.mark.parametrize("rate", [100, 1000])
def test_spinning_for_a_minute_is_no_later_than_the_bare_loop(rate, tmp_path):
    row = np.zeros(40)

    def work(tick, t):
        until = time.monotonic_ns() + 50_000
        while time.monotonic_ns() < until:
            pass

    with (tmp_path / "log").open("wb") as file, RingLog(40, lambda rows: file.write(rows.tobytes())) as log:
        groups = [RateGroup("work", work), RateGroup("log", lambda k, t: log.put(row)), RateGroup("slow", work, 10, 3)]
        runner = Runner(rate, groups, waiting="spin", warm_up=(), watchdog_s=1.0)
        with Baseline(rate, 60) as bare:
            ours, theirs = runner.run(duration_s=60), bare.result()
    print(f"\n{rate} Hz, us: ours {ours.lateness}, skipped {ours.skipped}; bare {theirs}")
    assert ours.ticks_run + ours.skipped == 60 * rate
    assert ours.drift_s < 1 / rate
    assert ours.lateness.p99_us <= theirs.p99_us + 20  # the figure this loop is to reach
    assert log.report().lost == 0
