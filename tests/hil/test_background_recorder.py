"""A recorder behind a ring: the same file, and a disk that is slow or full costs records, counted, never time."""

import threading

import pytest

from hil import background_recorder
from hil.background_recorder import BackgroundRecorder
from hil.layout import Role
from hil.packets import Codec
from hil.recording import Direction, Entry, Recorder, Recording


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path / "run.rec", Codec(Role.FLIGHT, bytes(range(1, 9)), 0.1, session=22), "x = 1")


def records(size):
    return [Entry(k, Direction(k % 3), k.to_bytes(4, "big") * (k % 50)) for k in range(size)]


def test_all_that_was_taken_is_in_the_file_in_order(tmp_path, recorder):
    behind, content = BackgroundRecorder(recorder, full="wait"), records(3 * background_recorder.SLOTS)
    assert all([behind.write(*entry) for entry in content])
    behind.close()
    behind.close()
    assert (behind.written, behind.lost) == (len(content), 0)
    assert list(Recording(tmp_path / "run.rec")) == content


def test_a_disk_that_stands_still_holds_nobody_up(tmp_path, monkeypatch, recorder):
    """The writer hangs in its first record; the loop goes on, and the sum of kept and lost is what was offered."""
    monkeypatch.setattr(background_recorder, "SLOTS", 64)
    moving, begun, write = threading.Event(), threading.Event(), recorder.write

    def stuck(*entry):
        begun.set()
        assert moving.wait(30)
        return write(*entry)

    monkeypatch.setattr(recorder, "write", stuck)
    behind, content = BackgroundRecorder(recorder), records(500)
    first = [behind.write(*entry) for entry in content[:33]]  # half of the slots: the writer is woken
    assert begun.wait(30)
    kept = first + [behind.write(*entry) for entry in content[33:]]
    assert not moving.is_set()  # nobody waited for the disk
    moving.set()
    behind.close()
    found = list(Recording(tmp_path / "run.rec"))
    assert found == [entry for entry, taken in zip(content, kept, strict=True) if taken]
    assert 64 <= len(found) <= 64 + 33
    assert (behind.written, behind.lost) == (len(found), 500 - len(found))


def test_a_full_disk_is_counted(tmp_path, full_disk, recorder):
    behind = BackgroundRecorder(recorder)
    with full_disk(10_000):
        assert all([behind.write(k, Direction.RX, bytes(600)) for k in range(30)])
        behind.close()
    found = list(Recording(tmp_path / "run.rec"))
    assert 10 < len(found) < 20
    assert (behind.written, behind.lost) == (len(found), 30 - len(found))
