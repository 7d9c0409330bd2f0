"""Logging off the hot path: the loop puts rows or objects into a ring allocated once, a thread hands them to a sink.

One producer, one consumer. Head and tail are counters that only grow, each written by one side only. Whatever does not
reach the sink is counted: `offered == written + failed + unwritten + lost`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Sink: TypeAlias = Callable[[Array], object]
Full: TypeAlias = Literal["lose", "wait"]
Item = TypeVar("Item", contravariant=True)
Chunk = TypeVar("Chunk", bound=Sized)
NAP_S = 0.25  # the writer looks this often (each look disturbs the loop), and at once when the ring is half full
CHUNK_ROWS = 256  # rows handed over in one go: a copy of some microseconds, so that the loop gets the interpreter back
CHUNK_OBJECTS = 32  # objects handed over in one go: whatever the sink does with each is done in Python


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


class Ring(ABC, Generic[Item, Chunk]):
    """Slots allocated once between a loop and a thread that hands what is in them to `sink`, chunk by chunk.

    When the ring is full, `put` counts the item as lost and returns at once; with `full="wait"` it waits for the writer
    instead, which is for runs that have no deadlines to meet (lockstep).
    """

    def __init__(self, size: int, most: int, sink: Callable[[Chunk], object], full: Full) -> None:
        if full not in ("lose", "wait"):
            raise ValueError(f"full must be one of lose, wait, got {full!r}")
        self._size, self._most, self._half = size, most, max(1, size // 2)
        self._sink, self._waits = sink, full == "wait"
        self._head = self._tail = self._lost = 0
        self._written = self._failed = self._fullest = 0
        self._first_error: str | None = None
        self._wake = threading.Event()
        self._give_up_s: float | None = None  # when the writer must have ended; None while the log is open
        self._thread = threading.Thread(target=self._write_on, name="hil-log", daemon=True)
        self._thread.start()

    @abstractmethod
    def _store(self, slot: int, item: Item) -> None:
        """Put an item into a slot."""

    @abstractmethod
    def _copy(self, first: int, end: int) -> Chunk:
        """What is in the slots from `first` to before `end`, for the sink to keep."""

    def put(self, item: Item) -> bool:
        """Take an item into the ring; False if it was lost."""
        head = self._head
        waiting = head - self._tail
        if (waiting >= self._size or self._give_up_s is not None) and not (self._waits and self._made_room(head)):
            self._lost += 1
            return False
        self._store(head % self._size, item)
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

    def __enter__(self) -> Self:
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
            chunk = self._copy(first, min(first + min(waiting, self._most), self._size))
            self._tail += len(chunk)  # room again at once, however long the sink takes
            self._deliver(chunk)

    def _deliver(self, chunk: Chunk) -> None:
        try:
            self._sink(chunk)
            self._written += len(chunk)
        except Exception as error:  # a full disk must not end the log: space may come back, and the loss is counted
            self._failed += len(chunk)
            if self._first_error is None:
                self._first_error = f"{type(error).__name__}: {error}"


class RingLog(Ring[Array | Sequence[float], Array]):
    """A log of rows of `width` float64 values; `sink` is called from another thread with (n, width) arrays to keep."""

    def __init__(self, width: int, sink: Sink, *, rows: int = 8192, full: Full = "lose") -> None:
        if width < 1:
            raise ValueError(f"width must be an integer from 1, got {width!r}")
        if rows < 2:
            raise ValueError(f"rows must be an integer from 2, got {rows!r}")
        self._ring, self._width = np.zeros((rows, width)), width
        self._slots = list(self._ring)  # views of the rows: indexing a list is cheaper than slicing an array
        super().__init__(rows, CHUNK_ROWS, sink, full)

    def _store(self, slot: int, item: Array | Sequence[float]) -> None:
        if len(item) != self._width:
            raise ValueError(f"row must hold {self._width} values, got {len(item)}")
        self._slots[slot][:] = item

    def _copy(self, first: int, end: int) -> Array:
        return self._ring[first:end].copy()


class ObjectLog(Ring[object, list[Any]]):
    """A log of objects that nobody changes; `sink` is called from another thread with lists of them."""

    def __init__(self, sink: Callable[[list[Any]], object], *, slots: int, full: Full = "lose") -> None:
        self._slots: list[Any] = [None] * slots
        super().__init__(slots, CHUNK_OBJECTS, sink, full)

    def _store(self, slot: int, item: object) -> None:
        self._slots[slot] = item

    def _copy(self, first: int, end: int) -> list[Any]:
        return self._slots[first:end]
