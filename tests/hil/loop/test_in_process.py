"""The loop in one process: the trajectory of the compiled loop, bit for bit, whatever the clock; and its log."""

import errno
import os
import threading

import numpy as np
import pytest

from attitude.spacecraft.frames import RECORDS
from hil.clock import FakeClock, Lockstep, Scaled
from hil.in_process import Loop
from hil.rate_groups import RateGroup
from hil.rows import WIDTH, RowLog, Spool, split
from hil.runner import Runner

TICKS = 300


def run(craft, clock, every=1, flight=None):
    log = RowLog(full="wait")
    loop = Loop(craft.plant(), flight or craft.flight(), log)
    report = Runner(1.0 / craft.tick_s, loop.groups(every), clock=clock, overrun="catch-up", warm_up=()).run(TICKS)
    rows, kept = log.finish()
    assert (report.errors, report.ticks_run, kept.complete, loop.status) == (0, TICKS, True, 0)
    return rows


@pytest.mark.parametrize("clock", [Lockstep(), Scaled(100.0)], ids=["lockstep", "scaled"])
def test_the_trajectory_is_that_of_the_compiled_loop(star_tracker, same, clock):
    same(run(star_tracker, clock), star_tracker.rows(TICKS))


def test_the_default_mission_is_that_of_the_compiled_loop(default_mission, same):
    same(run(default_mission, Lockstep(), every=3), default_mission.rows(TICKS, 3))


def test_every_nth_tick_is_kept(star_tracker, same):
    same(run(star_tracker, Lockstep(), every=7), star_tracker.rows(TICKS, 7))


def test_a_flight_program_that_tells_nothing_leaves_its_records_empty(star_tracker):
    class Silent:
        def tick(self, t, samples):
            return np.zeros(16)

    rows = run(star_tracker, Lockstep(), flight=Silent())
    assert np.isnan(rows["estimate"]).all()
    assert np.isnan(rows["control"]).all()
    assert not rows["command"].any()


# ------------------------------------------------------------------ rows
def test_records_lie_side_by_side():
    parts = split(np.arange(float(WIDTH)))
    assert list(parts) == list(RECORDS)
    assert np.concatenate(list(parts.values())).tolist() == list(range(WIDTH))


def test_a_spool_file_keeps_whole_rows_and_goes_at_the_end(tmp_path):
    log = RowLog(tmp_path)
    wanted = np.random.default_rng(5).normal(size=(700, WIDTH))
    for row in wanted:
        log.put(row)
    rows, kept = log.finish()
    assert kept.complete
    assert np.concatenate(list(rows.values()), axis=1).tobytes() == wanted.tobytes()
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_loses_rows_and_spoils_none(tmp_path, monkeypatch):
    spool, write, room = Spool(tmp_path), os.write, [3 * WIDTH * 8 + 100]

    def limited(fd, data):
        if not room[0]:
            raise OSError(errno.ENOSPC, "no space left")
        written = write(fd, bytes(data[: room[0]]))
        room[0] -= written
        return written

    monkeypatch.setattr(os, "write", limited)
    first, second, third = (np.full((2, WIDTH), value) for value in (1.0, 2.0, 3.0))
    spool(first)
    with pytest.raises(OSError, match="no space"):
        spool(second)
    room[0] = 10 * WIDTH * 8  # somebody made room
    spool(third)
    assert spool.read().tobytes() == np.concatenate([first, third]).tobytes()
    spool.close()
    spool.close()


def test_a_sink_that_fails_is_counted(tmp_path):
    def fail(rows):
        raise OSError("no space left")

    log = RowLog(sink=fail)
    for _ in range(10):
        log.put(np.zeros(WIDTH))
    _, kept = log.finish()
    assert (kept.failed, kept.written, kept.offered) == (10, 0, 10)
    assert "no space left" in kept.first_error


def test_a_sink_that_stands_still_holds_no_tick_up():
    """All ticks are run while the disk takes nothing; what did not fit into the ring is counted."""
    moving = threading.Event()
    log = RowLog(sink=lambda rows: moving.wait(30))
    row, ticks = np.zeros(WIDTH), 6000
    runner = Runner(1000.0, [RateGroup("log", lambda tick, t: log.put(row))], clock=FakeClock(), warm_up=())
    run = runner.run(ticks)
    assert not moving.is_set()
    assert (run.ticks_run, run.slips, run.errors) == (ticks, 0, 0)
    moving.set()
    kept = log.finish()[1]
    assert 4096 <= kept.written < ticks
    assert kept.written + kept.lost == kept.offered == ticks
    log.close()


def test_two_logs_in_one_folder_do_not_mix(tmp_path):
    logs = [RowLog(tmp_path, full="wait") for _ in range(2)]
    for k, log in enumerate(logs):
        for _ in range(300):
            log.put(np.full(WIDTH, float(k)))
    for k, log in enumerate(logs):
        rows = np.concatenate(list(log.finish()[0].values()), axis=1)
        assert rows.shape == (300, WIDTH)
        assert (rows == k).all()
        log.close()
    assert list(tmp_path.iterdir()) == []
