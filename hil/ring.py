"""Logging off the hot path: the loop copies rows into a ring allocated once, a thread hands them to a sink.

One producer, one consumer. Head and tail are counters that only grow, each written by one side only. Whatever does not
reach the sink is counted: `offered == written + failed + unwritten + lost`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Sink: TypeAlias = Callable[[Array], object]
Full: TypeAlias = Literal["lose", "wait"]
NAP_S = 0.25  # the writer looks this often (each look disturbs the loop), and at once when the ring is half full
CHUNK_ROWS = 256  # rows handed over in one go: a copy of some microseconds, so that the loop gets the interpreter back


@dataclass(frozen=True)
class LogReport:
    """What became of the rows: plain data."""

    offered: int
    written: int  # taken by the sink
    lost: int  # the ring was full, or closed
    failed: int  # the sink raised
    unwritten: int  # still on their way when time ran out
    fullest: int  # most rows seen waiting, as the writer saw it
    capacity: int
    first_error: str | None

    @property
    def complete(self) -> bool:
        """Whether every row offered was taken by the sink."""
        return self.written == self.offered


class RingLog:
    """A log of rows of `width` float64 values; `sink` is called from another thread with (n, width) arrays to keep.

    When the ring is full, `put` counts the row as lost and returns at once; with `full="wait"` it waits for the writer
    instead, which is for runs that have no deadlines to meet (lockstep).
    """

    def __init__(self, width: int, sink: Sink, *, rows: int = 8192, full: Full = "lose") -> None:
        _check(width, rows, full)
        self._ring = np.zeros((rows, width))
        self._slots = list(self._ring)  # views of the rows: indexing a list is cheaper than slicing an array
        self._size, self._width, self._half = rows, width, max(1, rows // 2)
        self._sink, self._waits = sink, full == "wait"
        self._head = self._tail = self._lost = 0
        self._written = self._failed = self._fullest = 0
        self._first_error: str | None = None
        self._wake = threading.Event()
        self._give_up_s: float | None = None  # when the writer must have ended; None while the log is open
        self._thread = threading.Thread(target=self._write_on, name="hil-log", daemon=True)
        self._thread.start()

    def put(self, row: Array | Sequence[float]) -> bool:
        """Copy a row of `width` values into the ring; False if it was lost."""
        if len(row) != self._width:
            raise ValueError(f"row must hold {self._width} values, got {len(row)}")
        head = self._head
        waiting = head - self._tail
        if (waiting >= self._size or self._give_up_s is not None) and not (self._waits and self._made_room(head)):
            self._lost += 1
            return False
        self._slots[head % self._size][:] = row
        self._head = head + 1
        if waiting == self._half:
            self._wake.set()
        return True

    def close(self, timeout_s: float = 5.0) -> LogReport:
        """Hand over what is left, for `timeout_s` at most, and end the writer. Further rows are lost, and counted."""
        if self._give_up_s is None:
            self._give_up_s = time.monotonic() + timeout_s
        self._wake.set()
        self._thread.join(max(0.0, self._give_up_s - time.monotonic()))
        return self.report()

    def report(self) -> LogReport:
        """The counters so far; safe from any thread."""
        written, failed, head = self._written, self._failed, self._head
        return LogReport(
            offered=head + self._lost,
            written=written,
            lost=self._lost,
            failed=failed,
            unwritten=head - written - failed,
            fullest=self._fullest,
            capacity=self._size,
            first_error=self._first_error,
        )

    def __enter__(self) -> RingLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made_room(self, head: int) -> bool:
        """Wait until the writer has taken a row; False once the log is closed."""
        while self._give_up_s is None:
            if head - self._tail < self._size:
                return True
            self._wake.set()
            time.sleep(1e-4)
        return False

    def _write_on(self) -> None:
        while not self._is_over():
            self._wake.wait(NAP_S)
            self._wake.clear()
            self._drain()

    def _is_over(self) -> bool:
        give_up_s = self._give_up_s
        return give_up_s is not None and (self._head == self._tail or time.monotonic() >= give_up_s)

    def _drain(self) -> None:
        """Hand over all that waits, chunk by chunk."""
        while (waiting := self._head - self._tail) and not self._is_over():
            self._fullest = max(self._fullest, waiting)
            first = self._tail % self._size
            rows = self._ring[first : first + min(waiting, CHUNK_ROWS)].copy()  # ends at the ring's end at the latest
            self._tail += len(rows)  # room again at once, however long the sink takes
            self._deliver(rows)

    def _deliver(self, rows: Array) -> None:
        try:
            self._sink(rows)
            self._written += len(rows)
        except Exception as error:  # a full disk must not end the log: space may come back, and the loss is counted
            self._failed += len(rows)
            if self._first_error is None:
                self._first_error = f"{type(error).__name__}: {error}"


def _check(width: int, rows: int, full: str) -> None:
    if width < 1:
        raise ValueError(f"width must be an integer from 1, got {width!r}")
    if rows < 2:
        raise ValueError(f"rows must be an integer from 2, got {rows!r}")
    if full not in ("lose", "wait"):
        raise ValueError(f"full must be one of lose, wait, got {full!r}")
