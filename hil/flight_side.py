"""The flight side of a link: answers each SAMPLES with a COMMAND and tells what it knows in HOUSEKEEPING."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attitude.core.jit import Array
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE
from attitude.spacecraft.tick import FlightProgram
from hil.packets import Frame
from hil.port import Port
from hil.stop import StopFlag

NAP_S = 0.2  # of silence: then it introduces itself again, as its last HELLO may have been lost, or ends


@dataclass
class FlightCounters:
    """What the flight side was asked."""

    ticks: int = 0
    repeats: int = 0
    """Samples of the tick that was answered last: answered with the same command."""
    gaps: int = 0
    """Ticks whose samples never came."""
    plants: int = 0
    """Plants that were served, one after the other."""
    errors: int = 0
    """Ticks in which the flight program raised; they were not answered."""
    first_error: str | None = None


class FlightSide:
    """A flight program at a port, made anew by `make` for each plant that introduces itself.

    `run` ends when the plant says STOP, when `stop` is set, when `ended` says that the line is gone for good, or when
    nothing good was heard for `timeout_s`.
    """

    def __init__(
        self,
        port: Port,
        make: Callable[[], FlightProgram],
        *,
        timeout_s: float = 30.0,
        stop: StopFlag | None = None,
        ended: Callable[[], bool] = lambda: False,
    ) -> None:
        self.port, self.make, self.timeout_s, self.ended = port, make, timeout_s, ended
        self.stop = stop or StopFlag()
        self.counters = FlightCounters()
        self.finished = False
        self._flight = make()
        self._tick, self._plants = -1, 0
        self._command = COMMAND.zeros()
        self._told: tuple[Array, Array] | None = None

    def run(self) -> str:
        """Fly until the end; returns why it ended."""
        heard = time.monotonic()
        while self.stop.reason is None:
            frame = self.port.receive(NAP_S)
            if frame is not None:
                heard = time.monotonic()
                self._hear(frame)
            elif self.ended():
                self.stop.set("the line was closed")
            else:
                self._introduce(time.monotonic() - heard)
        return self.stop.reason

    def _introduce(self, silent_s: float) -> None:
        if silent_s > self.timeout_s:
            self.stop.set(f"nothing was heard from the plant for {self.timeout_s:g} s")
        elif self.port.synchronised:
            self.port.send(self.port.codec.hello(self.port.tick, self.port.t))

    def _hear(self, frame: Frame) -> None:
        if self.port.synchronisations != self._plants:  # another plant, which begins at its own tick 0
            self._renew()
        if frame.name == "samples":
            self._answer(frame)
        elif frame.name == "stop":
            self.finished = True
            self.stop.set("the plant has ended")

    def _renew(self) -> None:
        if self.counters.plants:
            self._flight = self.make()
        self._tick, self._plants = -1, self.port.synchronisations
        self.counters.plants += 1

    def _answer(self, frame: Frame) -> None:
        header = frame.header
        if header.tick == self._tick:
            self.counters.repeats += 1
        else:
            self.counters.gaps += max(0, header.tick - self._tick - 1) if self._tick >= 0 else 0
            if not self._fly(frame):
                return
            self._tick = header.tick
        self._tell(header.tick, header.t)

    def _fly(self, frame: Frame) -> bool:
        try:
            self._command = command(self._flight.tick(frame.header.t, frame.records[0]))
            self._told = told(self._flight)
        except Exception as error:
            self.counters.errors += 1
            self.counters.first_error = self.counters.first_error or f"{type(error).__name__}: {error}"
            return False
        self.counters.ticks += 1
        return True

    def _tell(self, tick: int, t: float) -> None:
        port = self.port
        port.tick, port.t = tick, t
        port.send(port.codec.command(tick, t, self._command))
        if self._told is not None:
            port.send(port.codec.housekeeping(tick, t, *self._told))


def command(given: object) -> Array:
    """What a flight program commands, checked: 16 finite numbers."""
    found = np.asarray(given, dtype=np.float64)
    if found.shape != (COMMAND.size,) or not np.isfinite(found).all():
        raise ValueError(f"command must be {COMMAND.size} finite numbers, got {given!r}")
    return found


def told(flight: FlightProgram) -> tuple[Array, Array] | None:
    """What a flight program tells of itself, if it does."""
    if getattr(flight, "estimate", None) is None or getattr(flight, "control", None) is None:
        return None
    records = []
    for record in (ESTIMATE, CONTROL):
        given = np.asarray(getattr(flight, record.name), dtype=np.float64)
        if given.shape != (record.size,):
            raise ValueError(f"{record.name} must be {record.size} numbers, got shape {given.shape}")
        records.append(given)
    return records[0], records[1]
