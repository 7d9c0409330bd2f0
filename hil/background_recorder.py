"""A recorder behind a ring: the loop never waits for the disk, and what the disk was too slow for is counted."""

from __future__ import annotations

from hil.recording import Direction, Entry, Recorder
from hil.ring import Full, ObjectLog

SLOTS = 16384  # packets: eight seconds of both directions at 1 kHz


class BackgroundRecorder:
    """Has the calls of `Recorder`; a thread does the writing. A killed process loses the last quarter of a second."""

    def __init__(self, recorder: Recorder, full: Full = "lose") -> None:
        self._recorder = recorder
        self._ring = ObjectLog(self._write_all, slots=SLOTS, full=full)

    def write(self, t_ns: int, direction: Direction, data: bytes) -> bool:
        """Take a record for the thread to append; false if it is lost already."""
        return self._ring.put(Entry(t_ns, direction, data))

    def _write_all(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._recorder.write(*entry)

    @property
    def written(self) -> int:
        """Records in the file."""
        return self._recorder.written

    @property
    def lost(self) -> int:
        """Records that are not in the file: before `close` also those that wait."""
        return self._ring.report().offered - self._recorder.written

    def close(self) -> None:
        """Write what waits, for five seconds at most, and close the file; a second call does nothing."""
        self._ring.close()
        self._recorder.close()
