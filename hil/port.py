"""A codec on a link: keeps the handshake going, and hands over only what is good."""

from __future__ import annotations

import time
from collections.abc import Callable

from hil.layout import Status
from hil.links import Link
from hil.packets import Codec, Frame

HELLO_EVERY_S = 0.1  # while there is no synchronised peer
BATCH = 64  # packets that one call of `receive` goes through at most: a flood must not hold up a loop


class Port:
    """One side's end of the line; `tick` and `t` are the time tag of what it says about itself."""

    def __init__(self, link: Link, codec: Codec, now: Callable[[], float] = time.monotonic) -> None:
        self.link, self.codec, self._now = link, codec, now
        self.tick, self.t = 0, 0.0
        self.synchronisations = 0
        self._next_hello = 0.0

    @property
    def synchronised(self) -> bool:
        """Whether there is a peer whose packets are accepted."""
        return self.codec.session.synchronised

    def send(self, packet: bytes) -> bool:
        """Send a packet of this side's codec."""
        return self.link.send(packet)

    def receive(self, timeout_s: float = 0.0) -> Frame | None:
        """The next good frame that is not a HELLO; HELLOs are answered here."""
        return self._receive(self._now() + timeout_s, lambda: False)

    def _receive(self, deadline: float, enough: Callable[[], bool]) -> Frame | None:
        packets = 0
        while packets < BATCH:
            self._introduce()
            packet = self.link.receive(self._patience(deadline))
            packets += packet is not None
            frame = self._judge(packet) if packet is not None else None
            if frame is not None or enough() or (packet is None and self._now() >= deadline):
                return frame
        return None

    def synchronise(self, timeout_s: float) -> bool:
        """Wait for a peer at most so long; `codec.complaint()` says why there is none. Takes none of its frames."""
        deadline = self._now() + timeout_s
        while not self.synchronised and self._now() < deadline:
            self._receive(self._now() + self._patience(deadline), lambda: self.synchronised)
        return self.synchronised

    def _patience(self, deadline: float) -> float:
        left = deadline - self._now()
        return max(0.0, left if self.synchronised else min(left, self._next_hello - self._now()))

    def _introduce(self) -> None:
        if not self.synchronised and self._now() >= self._next_hello:
            self._next_hello = self._now() + HELLO_EVERY_S
            self.link.send(self.codec.hello(self.tick, self.t))

    def _judge(self, packet: bytes) -> Frame | None:
        peer = self.codec.session.peer
        status, frame = self.codec.decode(packet)
        if self.codec.session.peer != peer:
            self.synchronisations += 1
            self.link.confirm()
        if self.codec.session.answer_due:
            self.link.reply(self.codec.hello(self.tick, self.t))
        hello = status is not Status.ACCEPTED or (frame is not None and frame.name == "hello")
        return None if hello else frame
