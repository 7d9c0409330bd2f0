"""What a filter did lately, so that a sample that comes late can still be taken at its own time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from attitude.core.jit import Array

Snapshot = tuple[Array, ...]


@dataclass(frozen=True)
class Prediction:
    """A prediction from `t` to `end`; `start` is the filter before it, `carry(h)` does it again, over `h` seconds."""

    t: float
    end: float
    start: Snapshot
    carry: Callable[[float], object]


@dataclass(frozen=True)
class Update:
    """A measurement taken at `t`; `take()` takes it again."""

    t: float
    take: Callable[[], object]


class History:
    """Predictions and updates of the last `length` seconds, oldest first."""

    def __init__(self, length: float) -> None:
        self.length = length
        self.entries: deque[Prediction | Update] = deque()

    def add(self, entry: Prediction | Update) -> None:
        """Remember `entry`, and forget what has become too old."""
        self.entries.append(entry)
        newest = entry.end if isinstance(entry, Prediction) else entry.t
        while self.entries and self._ends(self.entries[0]) < newest - self.length:
            self.entries.popleft()
        while self.entries and isinstance(self.entries[0], Update):  # nothing to start from
            self.entries.popleft()

    @staticmethod
    def _ends(entry: Prediction | Update) -> float:
        return entry.end if isinstance(entry, Prediction) else entry.t

    def since(self, t: float) -> list[Prediction | Update] | None:
        """Take out the prediction that spans `t` and all after it, to be done again; None if `t` is too long ago."""
        for i, entry in enumerate(self.entries):
            if isinstance(entry, Prediction) and entry.t <= t < entry.end:
                again = list(self.entries)[i:]
                for _ in again:
                    self.entries.pop()
                return again
        return None
