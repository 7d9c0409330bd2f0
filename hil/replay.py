"""Replay: a flight program flies the samples of a recording again, and must come to the same packets, bit for bit.

A recording of the flight side tells which samples it got. One of the plant side tells only what was sent, and can be
replayed if nothing was lost on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from attitude.core.jit import Array
from attitude.spacecraft.tick import FlightProgram
from hil.layout import Role, Status
from hil.packets import Frame
from hil.recording import Recording, frames

KEPT = 4096  # ticks whose results wait to be compared


@dataclass
class Replayed:
    """What a replay found; `first` tells the first difference."""

    ticks: int = 0
    sessions: int = 0
    housekeeping: int = 0
    commands: int = 0
    differences: int = 0
    unanswered: int = 0
    """Packets of ticks whose samples are not in the recording."""
    first: str | None = None
    note: str = ""

    @property
    def identical(self) -> bool:
        """Whether there was something to compare, and no difference."""
        return self.differences == 0 and self.unanswered == 0 and self.housekeeping + self.commands > 0


class _Replay:
    """A flight program behind a recording."""

    def __init__(self, role: Role, make: Callable[[], FlightProgram]) -> None:
        self.role, self.make = role, make
        self.result = Replayed()
        self._flight: FlightProgram | None = None  # until the peer of the side that recorded is heard
        self._session = 0  # of the peer of the side that recorded
        self._results: dict[int, dict[str, tuple[Array, ...]]] = {}
        self._tick = -1

    def take(self, frame: Frame) -> None:
        """The next packet of the recording."""
        if frame.header.role == self.role.peer and frame.header.session != self._session:
            self._renew(frame.header.session)
        if frame.name == "samples" and frame.header.tick != self._tick:
            self._fly(frame)
        elif frame.name in ("command", "housekeeping"):
            self._compare(frame)

    def _renew(self, session: int) -> None:
        self._session, self._tick = session, -1
        self._results.clear()
        self._flight = self.make()
        self.result.sessions += 1

    def _fly(self, frame: Frame) -> None:
        flight = self._flight
        if flight is None:
            return
        command = flight.tick(frame.header.t, frame.records[0]).copy()
        told = tuple(getattr(flight, name).copy() for name in ("estimate", "control") if hasattr(flight, name))
        self._tick = frame.header.tick
        self._results[self._tick] = {"command": (command,), "housekeeping": told}
        self._results.pop(self._tick - KEPT, None)
        self.result.ticks += 1

    def _compare(self, frame: Frame) -> None:
        found, tick = self._results.get(frame.header.tick), frame.header.tick
        self.result.commands += frame.name == "command"
        self.result.housekeeping += frame.name == "housekeeping"
        if found is None:
            self.result.unanswered += 1
            return
        wrong = _first_difference(frame, found[frame.name])
        if wrong:
            self.result.differences += 1
            self.result.first = self.result.first or f"{wrong} of tick {tick}"


def _first_difference(frame: Frame, ours: tuple[Array, ...]) -> str:
    """Record and field of the first that differs; empty if none does."""
    for record, a, b in zip(frame.kind.records, ours, frame.records, strict=True):
        for name in record:
            if record.read(a, name).tobytes() != record.read(b, name).tobytes():
                return f"{record.name} {name}"
    return ""


def replay(recording: Recording, make: Callable[[], FlightProgram], key: bytes | None = None) -> Replayed:
    """Fly a recording again; `make` makes the flight program, once for each session in it."""
    again, refused = _Replay(recording.role, make), Counter[Status]()
    for judged in frames(recording, key):
        if judged.frame is not None and judged.status is Status.ACCEPTED:
            again.take(judged.frame)
        else:
            refused[judged.status] += 1
    if not again.result.ticks and refused:
        raise ValueError(f"recording {recording.path} has no packet that can be read: {_why(refused, key)}")
    again.result.note = recording.note
    return again.result


def _why(refused: Counter[Status], key: bytes | None) -> str:
    if Status.NOT_AUTHENTIC in refused:
        return "--key-file is another key" if key else "it is authenticated, give --key-file"
    if key:
        return "it may not be authenticated, leave --key-file out"
    return ", ".join(f"{status.name.lower().replace('_', ' ')} {count}" for status, count in refused.items())
