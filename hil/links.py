"""Links: one packet out, one packet in. Nothing here raises or waits longer than asked once a link is open.

| text                                        | link                                                                |
|---------------------------------------------|---------------------------------------------------------------------|
| `udp-listen://host:port[?peer=host:port]`   | UDP, bound there; the peer is given, or is the first that is good   |
| `udp://host:port`                           | UDP, to a peer that listens there                                   |
| `tcp-listen://host:port`, `tcp://host:port` | TCP, server and client; a lost peer may come back                   |
| `serial:///dev/ttyUSB0?baud=115200`         | serial line                                                         |
| `pty:`, `pty:///path`                       | new pseudo-terminal for the peer to open; the path is made to it    |
| `child:program arguments`                   | a program started here, on its standard input and output            |
| `stdio:`                                    | this program's own standard input and output, if it is such a child |

`hil.link_text.open_link` opens one. Which peer a link answers to is for the codec to say: `reply` goes to whoever sent
the last packet, `confirm` makes that sender the one that `send` goes to.
"""

from __future__ import annotations

import queue
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

WAITING = 1024  # packets an in-process link holds


class LinkError(ValueError):
    """A link that cannot be opened; the message is one sentence."""


@dataclass
class LinkCounters:
    """What went through a link; a stream's bytes include its sync markers."""

    sent: int = 0
    not_sent: int = 0
    received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    skipped_bytes: int = 0
    """Bytes of a stream that belong to no packet."""
    lost_sync: int = 0
    """Runs of such bytes."""
    foreign: int = 0
    """Datagrams from an address that is not the peer's."""
    connections: int = 0
    disconnections: int = 0
    errors: int = 0
    """Errors of the system, each also a packet not sent or a connection lost."""


class Link(ABC):
    """Two-way transport of packets."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counters = LinkCounters()
        self.on_skipped: Callable[[bytes], object] | None = None

    @abstractmethod
    def send(self, packet: bytes) -> bool:
        """Hand over a packet; false, and counted, if it could not be sent now."""

    def reply(self, packet: bytes) -> bool:
        """Send to where the last received packet came from."""
        return self.send(packet)

    def confirm(self) -> None:
        """The last received packet was good: its sender is the peer."""
        return

    @abstractmethod
    def receive(self, timeout_s: float = 0.0) -> bytes | None:
        """The next packet, waiting for it at most so long; its content is unchecked."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the system lent; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _count_sent(self, size: int) -> bool:
        """Count a packet of `size` bytes as sent, or as not sent if zero."""
        self.counters.sent += size > 0
        self.counters.not_sent += size == 0
        self.counters.bytes_sent += size
        return size > 0


class InProcess(Link):
    """One end of a pair of bounded queues."""

    def __init__(self, name: str, outgoing: queue.Queue[bytes], incoming: queue.Queue[bytes]) -> None:
        super().__init__(name)
        self._outgoing, self._incoming = outgoing, incoming
        self._open = True

    def send(self, packet: bytes) -> bool:
        """Hand over a packet; false if the queue is full."""
        try:
            if self._open:
                self._outgoing.put_nowait(packet)
        except queue.Full:
            return self._count_sent(0)
        return self._count_sent(len(packet) if self._open else 0)

    def receive(self, timeout_s: float = 0.0) -> bytes | None:
        """The next packet."""
        if not self._open:
            time.sleep(max(timeout_s, 0.0))
            return None
        try:
            packet = self._incoming.get(timeout_s > 0.0, timeout_s if timeout_s > 0.0 else None)
        except queue.Empty:
            return None
        self.counters.received += 1
        self.counters.bytes_received += len(packet)
        return packet

    def close(self) -> None:
        """Stop sending and receiving."""
        self._open = False


def in_process_pair() -> tuple[InProcess, InProcess]:
    """Two links, each the other's peer; they may be used in one thread or in two."""
    there: queue.Queue[bytes] = queue.Queue(WAITING)
    back: queue.Queue[bytes] = queue.Queue(WAITING)
    return InProcess("in process, plant", there, back), InProcess("in process, flight", back, there)
