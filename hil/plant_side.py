"""The plant side of a link: senses, sends the samples, takes the command that answers them, acts, and logs.

    lockstep     sense k, SAMPLES k, wait for COMMAND k, act: k to k + 1
    real time    at the tick: take the newest command, act: k - 1 to k, sense k, SAMPLES k

In real time a command that comes within its tick acts from the beginning of that tick, so a flight side that is always
in time flies the same trajectory in both. One that is silent for `timeout_s` is lost: in real time the plant holds its
last command or zeroes it, and goes on; in lockstep time stands still until it is back. A flight side that comes back
shakes hands again and is simply there. `events` tells when what happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from attitude.core.jit import Array
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE
from attitude.spacecraft.plant import Plant
from hil.layout import Reason
from hil.packets import Frame
from hil.port import BATCH, Port
from hil.rows import WIDTH, RowLog, split

OnLoss: TypeAlias = Literal["hold", "zero"]
REPEATS = 4  # times the samples are sent within `timeout_s` in lockstep
STOPS = 3  # times STOP is sent: one may be lost, and nothing comes after it
MOST_EVENTS = 1000  # kept; a flight side that comes and goes for hours must not fill the memory
LAST_WORDS_S = 0.5  # to wait at the end for housekeeping that is on its way
NOTHING = (np.nan, np.nan)
DRAIN = 0.5  # part of the period that is spent on what has come in, at most


@dataclass
class PlantCounters:
    """Ticks, and what they were flown with."""

    ticks: int = 0
    fresh: int = 0
    """Ticks with a command that answers their own samples."""
    held: int = 0
    """Ticks with an older command."""
    zeroed: int = 0
    losses: int = 0
    """Times the flight side fell silent for longer than the timeout."""
    recoveries: int = 0
    """Times it was heard again."""
    late_commands: int = 0
    """Commands for a tick that was over."""
    bad_commands: int = 0
    """Commands that were not finite, or for a tick yet to come."""
    repeats: int = 0
    """Samples that were sent again, in lockstep."""
    housekeeping: int = 0
    no_housekeeping: int = 0
    """Rows of the log without what the flight side knows."""
    floods: int = 0
    """Ticks that left packets unread because there were too many."""
    stops: int = 0
    """STOP packets of flight sides."""
    restarts: int = 0
    """Flight programs that ended and were started again."""
    worst_status: int = 0
    """Of the propagator."""


class Event(NamedTuple):
    """Something that happened at `t_s` of the mission."""

    t_s: float
    what: str


class PlantSide:
    """A plant at a port. `tick` is for a runner: of a lockstep clock if `lockstep`, else of one that runs by itself.

    A run of `ticks` ticks takes one call more in real time, for the last tick's end. `tend` is called when the flight
    side does not answer, and tells what it did about it, empty if nothing. In lockstep a plant without a flight side
    does not move: after `give_up_s` without an answer `give_up` is called. `stopping` tells whether the run is to end.
    """

    def __init__(
        self,
        plant: Plant,
        port: Port,
        log: RowLog,
        *,
        ticks: int,
        log_every: int = 1,
        lockstep: bool = True,
        timeout_s: float = 1.0,
        on_loss: OnLoss = "hold",
        give_up_s: float = 60.0,
        tend: Callable[[], str] = lambda: "",
        tell: Callable[[Event], object] = lambda event: None,
    ) -> None:
        self.plant, self.port, self.log, self.ticks = plant, port, log, ticks
        self.counters = PlantCounters()
        self.command = COMMAND.zeros()
        self.events: list[Event] = []
        self.give_up: Callable[[], object] = lambda: None
        self.stopping: Callable[[], bool] = lambda: False
        self.estimate, self.control = np.full(ESTIMATE.size, np.nan), np.full(CONTROL.size, np.nan)
        self._every, self._lockstep, self._on_loss, self._tend = log_every, lockstep, on_loss, tend
        self._tell, self._peers = tell, 0
        self._timeout_s, self._give_up_s = timeout_s, give_up_s
        self._repeat_s, self._drain_s = timeout_s / REPEATS, DRAIN * plant.config.tick_s
        self._tick = -1  # the one that has begun; none yet
        self._open = False  # whether it waits for its command
        self._answered = self._told = -1  # tick of the newest command, and of the newest housekeeping
        self._heard_s = time.monotonic()
        self._silent_from_s = 0.0  # while it is lost: a new handshake does not shorten the silence that is told
        self._lost = self._given_up = False
        self._row = np.full(WIDTH, np.nan)
        self._parts = split(self._row)
        self._pending = -1  # tick of the row that may still get its housekeeping, -1 if none

    @property
    def lost(self) -> bool:
        """Whether the flight side is silent."""
        return self._lost

    def state(self) -> str:
        """How the flight side is doing, for people."""
        if not self._lost:
            return "answers" if self._answered >= 0 else "has not answered yet"
        return f"SILENT for {time.monotonic() - self._silent_from_s:.1f} s, {self._doing()}"

    def _doing(self) -> str:
        if self._lockstep:
            return "waiting for it"
        return "holding its last command" if self._on_loss == "hold" else "commanding nothing"

    def _note(self, what: str) -> None:
        event = Event(self.plant.t, what)
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        self._tell(event)

    # ------------------------------------------------------------------ the tick
    def tick(self, tick: int, nominal_s: float) -> None:
        """One turn of the loop."""
        if self._tick < 0:
            self._heard_s, self._peers = time.monotonic(), self.port.synchronisations  # the handshake may be long ago
        if self._lockstep:
            self._begin()
            if self._await_command():
                self._end()
            return
        if self._open:
            self._drain()
            self._end()
        if self.counters.ticks < self.ticks:
            self._begin()

    def finish(self, reason: Reason = Reason.FINISHED) -> None:
        """The end of the run: housekeeping of the last tick, STOP."""
        deadline = time.monotonic() + LAST_WORDS_S
        while self._told < self._pending and not self._lost and self._told >= 0 and time.monotonic() < deadline:
            self._hear(self.port.receive(deadline - time.monotonic()))
        self._commit()
        if self.counters.ticks and not self.counters.fresh:
            self._note("no command came within its own tick: the flight side was always late")
        for _ in range(STOPS):
            self.port.send(self.port.codec.stop(self.counters.ticks, self.plant.t, reason))

    def _begin(self) -> None:
        self._tick, self._open = self._tick + 1, True
        self.port.tick, self.port.t = self._tick, self.plant.t
        self.plant.sense()
        self._send()

    def _send(self) -> None:
        self.port.send(self.port.codec.samples(self._tick, self.plant.t, self.plant.samples))

    def _end(self) -> None:
        """Choose a command, act, and keep the row."""
        self._open = False
        self._notice_peers()
        self._judge_silence()
        self._choose()
        status = self.plant.act(self.command)
        self.counters.worst_status = max(self.counters.worst_status, status)
        self.counters.ticks += 1
        if self._tick % self._every == 0:
            self._commit()
            self._keep()

    # ------------------------------------------------------------------ commands
    def _await_command(self) -> bool:
        """Wait for the command of this tick, sending the samples again and again; false if the run ends first."""
        repeat = time.monotonic() + self._repeat_s
        while self._answered != self._tick and not (self._given_up or self.stopping()):
            self._hear(self.port.receive(max(0.0, repeat - time.monotonic())))
            again = self._peers != self.port.synchronisations
            self._notice_peers()
            if self._answered != self._tick and (again or time.monotonic() >= repeat):
                repeat = time.monotonic() + self._repeat_s
                self._help()
                self._judge_silence()
                self.counters.repeats += 1
                self._send()
        return self._answered == self._tick

    def _drain(self) -> None:
        """Take what has come in, without waiting; real time."""
        limit, counters = time.monotonic() + self._drain_s, self.port.link.counters
        while True:
            received = counters.received
            frame = self.port.receive(0.0)
            self._hear(frame)
            if frame is None and counters.received - received < BATCH:
                return
            if time.monotonic() >= limit:
                self.counters.floods += 1
                return

    def _hear(self, frame: Frame | None) -> None:
        if frame is None:
            return
        if frame.name == "command":
            self._hear_command(frame.header.tick, frame.records[0])
        elif frame.name == "housekeeping":
            self._hear_housekeeping(frame.header.tick, *frame.records)
        else:
            self.counters.stops += frame.name == "stop"

    def _hear_command(self, tick: int, command: Array) -> None:
        if tick > self._tick or not np.isfinite(command).all():
            self.counters.bad_commands += 1
            return
        self.counters.late_commands += tick < self._tick
        if self._lost:
            self.counters.recoveries += 1
            self._note(f"flight side is back after {time.monotonic() - self._silent_from_s:.1f} s")
        self._lost, self._heard_s = False, time.monotonic()
        self.command[:] = command
        self._answered = tick

    def _judge_silence(self) -> None:
        """Whether the flight side is lost."""
        silent_s = time.monotonic() - self._heard_s
        if silent_s < self._timeout_s or self._answered == self._tick:
            return
        if not self._lost:
            self._lost, self._silent_from_s = True, self._heard_s
            self.counters.losses += 1
            self._note(f"flight side silent for {silent_s:.1f} s, {self._doing()}")
        self._help()
        if self._lockstep and silent_s >= self._give_up_s:
            self._given_up = True
            self.give_up()

    def _help(self) -> None:
        done = self._tend()
        if done:
            self.counters.restarts += 1
            self._note(done)

    def _notice_peers(self) -> None:
        """Tell of a flight side that introduced itself anew."""
        if self.port.synchronisations != self._peers:
            self._peers, self._heard_s = self.port.synchronisations, time.monotonic()
            self._note(f"flight side introduced itself anew, handshake {self._peers}")

    def _choose(self) -> None:
        if self._answered == self._tick:
            self.counters.fresh += 1
        elif self._lost and self._on_loss == "zero":
            self.counters.zeroed += 1
            self.command[:] = 0.0
        else:
            self.counters.held += 1

    # ------------------------------------------------------------------ the log
    def _hear_housekeeping(self, tick: int, estimate: Array, control: Array) -> None:
        self.counters.housekeeping += 1
        self.estimate[:], self.control[:] = estimate, control
        self._told = tick
        if tick == self._pending:
            self._commit()

    def _keep(self) -> None:
        """Fill the row of this tick; it is written when its housekeeping has come, or the next row is due."""
        parts = self._parts
        parts["truth"][:], parts["samples"][:] = self.plant.truth, self.plant.samples
        parts["command"][:] = self.command
        self._pending = self._tick
        if self._told == self._tick:
            self._commit()

    def _commit(self) -> None:
        if self._pending < 0:
            return
        known = self._told == self._pending
        self.counters.no_housekeeping += not known
        self._parts["estimate"][:], self._parts["control"][:] = (self.estimate, self.control) if known else NOTHING
        self.log.put(self._row)
        self._pending = -1
