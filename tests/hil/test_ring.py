"""The ring log: nothing is lost silently, and the loop never waits for it."""

import dataclasses
import json
import threading
from pathlib import Path

import numpy as np
import pytest

from hil import ring
from hil.clock import FakeClock
from hil.rate_groups import RateGroup
from hil.ring import RingLog
from hil.runner import Runner

PATIENCE_S = 60  # far beyond any machine's worst day; reached only when the test fails


class Gate:
    """A sink that waits until it is opened."""

    def __init__(self):
        self.entered, self.open, self.rows = threading.Event(), threading.Event(), []

    def __call__(self, rows):
        self.entered.set()
        self.open.wait(PATIENCE_S)
        self.rows.append(rows)


def balance(report):
    return report.written + report.failed + report.unwritten + report.lost == report.offered


def test_every_row_arrives_once_and_in_order_around_the_ring():
    chunks = []
    with RingLog(2, chunks.append, rows=7, full="wait") as log:
        assert all(log.put([k, -k]) for k in range(2000))
        report = log.close(PATIENCE_S)
    np.testing.assert_array_equal(np.concatenate(chunks), [[k, -k] for k in range(2000)])
    assert report.complete
    assert (report.offered, report.written, report.capacity) == (2000, 2000, 7)
    assert 1 <= report.fullest <= 7


def test_rows_are_copied_and_the_sink_may_keep_its_arrays():
    chunks, row = [], np.zeros(3)
    with RingLog(3, chunks.append, rows=4, full="wait") as log:
        for k in range(50):
            row[:] = k
            log.put(row)
        log.close(PATIENCE_S)
    np.testing.assert_array_equal(np.concatenate(chunks)[:, 0], np.arange(50))


def test_a_full_ring_is_counted_and_put_returns():
    gate = Gate()
    log = RingLog(1, gate, rows=8)
    for k in range(5):  # half the ring and one: wakes the writer
        log.put([k])
    assert gate.entered.wait(PATIENCE_S)
    results = [log.put([k]) for k in range(5, 25)]
    gate.open.set()
    report = log.close(PATIENCE_S)
    assert results.count(False) == report.lost > 0
    assert report.offered == 25
    assert report.written == 25 - report.lost
    assert balance(report)
    assert not report.complete
    kept = np.concatenate(gate.rows)[:, 0]
    assert np.all(np.diff(kept) > 0)  # what is kept is in order


def test_a_sink_that_hangs_does_not_hold_up_the_end():
    gate = Gate()
    log = RingLog(1, gate, rows=8)
    for k in range(8):
        log.put([k])
    assert gate.entered.wait(PATIENCE_S)
    report = log.close(timeout_s=0.05)
    assert report.unwritten == 8
    assert (report.written, report.lost) == (0, 0)
    assert not log.put([9])
    assert log.report().lost == 1
    gate.open.set()
    log._thread.join(PATIENCE_S)
    assert not log._thread.is_alive()
    assert balance(log.report())


def test_a_writer_that_is_given_up_hands_over_no_more():
    gate = Gate()
    log = RingLog(1, gate, rows=1024)
    for k in range(600):
        log.put([k])
    assert gate.entered.wait(PATIENCE_S)
    log.close(timeout_s=0.05)
    gate.open.set()
    log._thread.join(PATIENCE_S)
    report = log.report()
    assert report.written == len(gate.rows[0]) <= 256
    assert report.unwritten == 600 - report.written


def test_a_ring_half_full_wakes_the_writer(monkeypatch):
    monkeypatch.setattr(ring, "NAP_S", 3600.0)
    gate = Gate()
    gate.open.set()
    log = RingLog(1, gate, rows=8)
    for k in range(5):
        log.put([k])
    assert gate.entered.wait(PATIENCE_S)
    assert log.close(PATIENCE_S).complete


def test_a_full_disk_is_counted_and_told():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full to write to")
    with full.open("wb", buffering=0) as disk, RingLog(4, lambda rows: disk.write(rows.tobytes())) as log:
        clock = FakeClock()
        report = Runner(1000, [RateGroup("log", lambda k, t: log.put([k, t, 0, 0]))], clock=clock, warm_up=()).run(
            ticks=500
        )
        told = log.close(PATIENCE_S)
    assert (report.ticks_run, report.skipped, report.errors) == (500, 0, 0)  # the loop did not notice
    assert (told.failed, told.written, told.lost) == (500, 0, 0)
    assert "No space left on device" in told.first_error


def test_a_sink_that_recovers_gets_what_comes_later():
    seen = []

    def sink(rows):
        if not seen:
            seen.append(None)
            raise OSError(28, "No space left on device")
        seen.append(rows)

    log = RingLog(1, sink, rows=1024, full="wait")
    for k in range(600):
        log.put([k])
    report = log.close(PATIENCE_S)
    assert 0 < report.failed <= 256
    assert report.written == 600 - report.failed == sum(len(rows) for rows in seen[1:])
    assert balance(report)


def test_the_writer_ends_with_the_log_and_closing_twice_is_fine():
    before = threading.active_count()
    with RingLog(1, lambda rows: None) as log:
        log.put([1.0])
        first = log.close(PATIENCE_S)
    assert log.close() == first
    assert threading.active_count() == before


def test_waiting_for_room_ends_when_the_log_is_closed():
    gate = Gate()
    log = RingLog(1, gate, rows=2, full="wait")
    results = []
    producer = threading.Thread(target=lambda: results.extend(log.put([k]) for k in range(300)))
    producer.start()
    assert gate.entered.wait(PATIENCE_S)
    log.close(timeout_s=0.05)
    producer.join(PATIENCE_S)
    assert not producer.is_alive()
    assert results[-1] is False
    gate.open.set()


def test_the_report_is_plain_data():
    with RingLog(1, lambda rows: None) as log:
        assert json.loads(json.dumps(dataclasses.asdict(log.close())))["offered"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"width": 0}, "width must be an integer from 1, got 0"),
        ({"width": 1, "rows": 1}, "rows must be an integer from 2, got 1"),
        ({"width": 1, "full": "overwrite"}, "full must be one of lose, wait, got 'overwrite'"),
    ],
)
def test_logs_that_make_no_sense(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        RingLog(sink=print, **arguments)


def test_a_row_of_another_width_is_refused():
    with RingLog(3, lambda rows: None) as log, pytest.raises(ValueError, match=r"^row must hold 3 values, got 1$"):
        log.put([1.0])
