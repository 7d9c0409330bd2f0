"""UDP: one packet per datagram."""

from __future__ import annotations

import select
import socket
import time

from hil.layout import MAX_PACKET
from hil.links import Link

STRANGERS = 256  # datagrams of strangers that one call of `receive` passes over at most

Address = tuple[str, int]


class Udp(Link):
    """UDP socket bound to `bind`; with `only_peer` datagrams from elsewhere are dropped and counted.

    Without it, packets of any sender are handed over: a peer that comes back has another port. Which of them is the
    peer is for `confirm` to say.
    """

    def __init__(self, bind: Address, peer: Address | None = None, only_peer: bool = False) -> None:
        super().__init__(f"udp {bind[0]}:{bind[1]}")
        self._socket = socket.socket(socket.AF_INET6 if ":" in bind[0] else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(bind)
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self._peer, self._last, self._only_peer = peer, peer, only_peer

    @property
    def address(self) -> Address:
        """Where it is bound: host and port."""
        host, port, *_ = self._socket.getsockname()
        return host, port

    def send(self, packet: bytes) -> bool:
        """Send to the peer, or to the last sender while there is none."""
        return self._send(packet, self._peer or self._last)

    def reply(self, packet: bytes) -> bool:
        """Send to the last sender."""
        return self._send(packet, self._last)

    def confirm(self) -> None:
        """Make the last sender the peer."""
        self._peer = self._last

    def _send(self, packet: bytes, to: Address | None) -> bool:
        try:
            return self._count_sent(self._socket.sendto(packet, to) if to else 0)
        except OSError:
            self.counters.errors += 1
            return self._count_sent(0)

    def receive(self, timeout_s: float = 0.0) -> bytes | None:
        """The next datagram; one that is too long comes with one byte more than the longest packet."""
        deadline, strangers = time.monotonic() + timeout_s, self.counters.foreign + STRANGERS
        while True:
            left, foreign = deadline - time.monotonic(), self.counters.foreign
            packet = self._next(max(0.0, left))
            passed = self.counters.foreign == foreign or self.counters.foreign >= strangers
            if packet is not None or (left <= 0.0 and passed):
                return packet

    def _next(self, timeout_s: float) -> bytes | None:
        if self._socket.fileno() < 0:
            time.sleep(timeout_s)
            return None
        if not select.select([self._socket], [], [], timeout_s)[0]:
            return None
        try:
            packet, (host, port, *_) = self._socket.recvfrom(MAX_PACKET + 1)
        except BlockingIOError:  # a datagram whose checksum was bad
            return None
        except OSError:
            self.counters.errors += 1
            return None
        return self._from(packet, (host, port))

    def _from(self, packet: bytes, sender: Address) -> bytes | None:
        self.counters.bytes_received += len(packet)
        if self._only_peer and sender != self._peer:
            self.counters.foreign += 1
            return None
        self._last = sender
        self.counters.received += 1
        return packet

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
