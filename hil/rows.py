"""Rows of the log, kept off the hot path: truth, samples, estimate, control and command of a tick, side by side.

They go through the ring to memory, or to a spool file that a full disk shortens but never spoils. `rows()` gives them
by record, as `attitude.spacecraft.tick.Spacecraft.run` does.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from attitude.core.jit import Array
from attitude.spacecraft.frames import RECORDS
from attitude.spacecraft.frames import ROW_SIZE as WIDTH
from hil.ring import Full, LogReport, RingLog, Sink

_ENDS = np.cumsum([record.size for record in RECORDS.values()])[:-1]


def split(rows: Array) -> dict[str, Array]:
    """Views of each record in a row `(WIDTH,)` or in rows `(N, WIDTH)`, by its name."""
    return dict(zip(RECORDS, np.split(rows, _ENDS, axis=-1), strict=True))


class Memory:
    """Keeps the rows in memory."""

    def __init__(self) -> None:
        self._chunks: list[Array] = []

    def __call__(self, rows: Array) -> None:
        self._chunks.append(rows)

    def read(self) -> Array:
        """All rows `(N, WIDTH)`."""
        return np.concatenate([np.zeros((0, WIDTH)), *self._chunks])

    def close(self) -> None:
        """Forget them."""
        self._chunks.clear()


class Spool:
    """Keeps the rows in a nameless file of bare float64 in `folder`; what is not whole is cut off."""

    def __init__(self, folder: Path) -> None:
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise ValueError(f"log cannot be kept in {folder}: {error.strerror}") from None
        self._fd = self._file.fileno()
        self._end = 0

    def __call__(self, rows: Array) -> None:
        data = memoryview(rows.tobytes())
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError:
            os.ftruncate(self._fd, self._end)  # half a row would shift all that follow
            os.lseek(self._fd, self._end, os.SEEK_SET)
            raise
        self._end += written

    def read(self) -> Array:
        """All rows `(N, WIDTH)`."""
        os.lseek(self._fd, 0, os.SEEK_SET)
        return np.fromfile(self._file, count=self._end // 8).reshape(-1, WIDTH)

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        self._file.close()


class RowLog:
    """A log of whole rows; `full` as in `RingLog`, `folder` for a spool file, none to keep the rows in memory."""

    def __init__(self, folder: Path | None = None, full: Full = "lose", sink: Sink | None = None) -> None:
        self._store = Memory() if folder is None else Spool(folder)
        self._ring = RingLog(WIDTH, sink or self._store, rows=4096, full=full)

    def put(self, row: Array) -> bool:
        """Keep a row `(WIDTH,)`; false if it was lost, which is counted."""
        return self._ring.put(row)

    def report(self) -> LogReport:
        """What became of the rows so far."""
        return self._ring.report()

    def finish(self) -> tuple[dict[str, Array], LogReport]:
        """End the log: all rows that were written, by record, and what became of the others."""
        told, rows = self._ring.close(), self._store.read()
        self._store.close()  # its room may be wanted for the result
        return split(rows), told

    def close(self) -> None:
        """Give back what the log took; for the end, whatever happened before."""
        self._ring.close()
        self._store.close()
