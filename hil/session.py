"""Who is talking to whom: handshake, resynchronisation, and the counters that keep old packets out.

A side takes a session number when it starts. It accepts packets of one session of its peer only, and of that session
only counters above the last one of the same APID. A new session is accepted with a HELLO that echoes this side's own
session and epoch; the epoch then goes up, so that the same HELLO, recorded and sent again, proves nothing. A peer that
was killed and comes back introduces itself, is answered, echoes the answer, and is accepted.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from hil.layout import KINDS, NO_SCENARIO, Status

MOST = 2**64 - 1


class Hello(NamedTuple):
    """Body of a HELLO packet."""

    tick_s: float
    peer_session: int
    peer_epoch: int
    epoch: int
    synchronised: int


class Stop(NamedTuple):
    """Body of a STOP packet."""

    reason: int


def new_session() -> int:
    """A session number that was never used before."""
    return secrets.randbelow(MOST) + 1


class Session:
    """One side's state; `scenario` is `NO_SCENARIO` if it takes that of its peer."""

    def __init__(self, scenario: bytes = NO_SCENARIO, number: int | None = None) -> None:
        self.number = new_session() if number is None else number
        if not 0 < self.number <= MOST:
            raise ValueError(f"session must be 1 to 2^64 - 1, got {self.number}")
        self.scenario, self.learns = scenario, scenario == NO_SCENARIO
        self.epoch = 0
        self.peer = 0  # session that is accepted
        self.heard = (0, 0)  # session and epoch of the last HELLO
        self.answer_due = False
        self.other_scenario: bytes | None = None
        self._sent = dict.fromkeys((kind.apid for kind in KINDS), 0)
        self._last = dict(self._sent)

    @property
    def synchronised(self) -> bool:
        """Whether a session of the peer is accepted."""
        return self.peer != 0

    def count(self, apid: int) -> int:
        """Counter of the next packet."""
        self._sent[apid] += 1
        return self._sent[apid]

    def hello(self, tick_s: float) -> Hello:
        """What to introduce oneself with now."""
        known = self.synchronised and self.heard[0] == self.peer
        return Hello(tick_s, *self.heard, self.epoch, int(known))

    def hear(self, apid: int, session: int, counter: int, scenario: bytes) -> Status:
        """Judge a packet that is not a HELLO."""
        if scenario != self.scenario:
            self.other_scenario = scenario
            return Status.WRONG_SCENARIO
        if session != self.peer:
            return Status.UNKNOWN_SESSION
        return self._newer(apid, counter)

    def hear_hello(self, apid: int, session: int, counter: int, scenario: bytes, hello: Hello) -> Status:
        """Judge a HELLO; afterwards `answer_due` tells whether the peer waits for ours."""
        if not (self.learns or scenario in (self.scenario, NO_SCENARIO)):
            self.heard, self.other_scenario = (session, hello.epoch), scenario
            self.answer_due = hello.peer_session == 0  # so that the peer can tell its user; answers are not answered
            return Status.WRONG_SCENARIO
        status = self._judge_hello(apid, session, counter, scenario, hello)
        if status is not Status.REPLAYED:
            self.heard = (session, hello.epoch)
            known = hello.peer_session == self.number and hello.synchronised == 1
            self.answer_due = status is Status.INTRODUCTION or not known
        return status

    def _judge_hello(self, apid: int, session: int, counter: int, scenario: bytes, hello: Hello) -> Status:
        if session == self.peer:
            return self._newer(apid, counter)
        echo = (hello.peer_session, hello.peer_epoch)
        if echo != (self.number, self.epoch) or scenario == NO_SCENARIO:
            return Status.INTRODUCTION
        self._accept(session, scenario)
        return self._newer(apid, counter)

    def _accept(self, session: int, scenario: bytes) -> None:
        self.peer, self.scenario = session, scenario
        self.epoch = (self.epoch + 1) & 0xFFFFFFFF
        self._last = dict.fromkeys(self._last, 0)

    def _newer(self, apid: int, counter: int) -> Status:
        if counter <= self._last[apid]:
            return Status.REPLAYED
        self._last[apid] = counter
        return Status.ACCEPTED
