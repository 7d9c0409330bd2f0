"""TCP: a stream of packets, on either side of a connection."""

from __future__ import annotations

import select
import socket
import time

from hil.links import Link
from hil.streams import BufferedLink, Channel, StreamLink, wait

RETRY_S = 0.1  # between attempts to connect
CANDIDATES = 4  # connections a server holds until one of them is confirmed

Address = tuple[str, int]


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _at_once(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a packet must not wait for the next one


class TcpClient(StreamLink):
    """Connects, and connects again when the connection is lost."""

    def __init__(self, peer: Address) -> None:
        super().__init__(f"tcp {peer[0]}:{peer[1]}")
        self._peer = peer
        self._socket: socket.socket | None = None
        self._next_try = 0.0
        self._reopen()

    def _reopen(self) -> None:
        if self._socket is None and time.monotonic() >= self._next_try:
            self._next_try = time.monotonic() + RETRY_S
            self._begin()
        if self._socket is not None and select.select([], [self._socket], [], 0.0)[1]:
            self._finish(self._socket)

    def _begin(self) -> None:
        try:
            self._socket = socket.socket(_family(self._peer[0]), socket.SOCK_STREAM)
        except OSError:  # no more descriptors
            self.counters.errors += 1
            return
        self._socket.setblocking(False)
        self._socket.connect_ex(self._peer)  # goes on by itself; the outcome shows when the socket is writable

    def _finish(self, connection: socket.socket) -> None:
        failed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        try:  # a port of one's own range may, with nobody listening, connect to itself
            failed = failed or connection.getsockname() == connection.getpeername()
            if not failed:
                _at_once(connection)
                self._open_channel(connection.fileno(), connection.fileno())
        except OSError:
            failed = True
        if failed:
            self._release()

    def _wait_unconnected(self, timeout_s: float) -> None:
        if self._socket is None:
            time.sleep(min(timeout_s, max(0.0, self._next_try - time.monotonic())))
        else:
            select.select([], [self._socket], [], timeout_s)

    def _release(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class _Connection(Channel):
    """A channel that owns its socket."""

    def __init__(self, connection: socket.socket, link: Link) -> None:
        _at_once(connection)
        super().__init__(connection.fileno(), connection.fileno(), link)
        self.socket = connection


class TcpServer(BufferedLink):
    """Accepts peers; packets of all connections are handed over until one is confirmed, and the others closed."""

    def __init__(self, bind: Address) -> None:
        super().__init__(f"tcp-listen {bind[0]}:{bind[1]}")
        self._listener = socket.socket(_family(bind[0]), socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(bind)
            self._listener.listen()
        except OSError:
            self._listener.close()
            raise
        self._listener.setblocking(False)
        self._connections: list[_Connection] = []
        self._peer: _Connection | None = None
        self._last: _Connection | None = None

    @property
    def address(self) -> Address:
        """Where it listens: host and port."""
        host, port, *_ = self._listener.getsockname()
        return host, port

    @property
    def connected(self) -> bool:
        """Whether anybody is connected."""
        return bool(self._connections)

    def send(self, packet: bytes) -> bool:
        """Send to the confirmed peer, or to the newest connection if there is none."""
        newest = self._connections[-1] if self._connections else None
        return self._send(packet, self._peer or newest)

    def reply(self, packet: bytes) -> bool:
        """Send to the connection of the last packet."""
        return self._send(packet, self._last)

    def _send(self, packet: bytes, to: _Connection | None) -> bool:
        return self._count_sent(to.send(packet) if to else 0)

    def confirm(self) -> None:
        """Keep the connection of the last packet, and close the others."""
        self._peer = self._last
        for other in [connection for connection in self._connections if connection is not self._peer]:
            self._end(other)

    def _take(self) -> bytes | None:
        for connection in list(self._connections):
            packet = connection.take()
            if packet is not None:
                self._last = connection
                return packet
        return None

    def _fill(self, timeout_s: float) -> bool:
        if self._listener.fileno() < 0:
            time.sleep(timeout_s)
            return False
        channels: list[Channel] = list(self._connections)
        ready = wait(channels, timeout_s, [self._listener.fileno()])
        for connection in [c for c in self._connections if c.read_fd in ready]:
            connection.fill()
            if connection.closed:
                self._end(connection)
        if self._listener.fileno() in ready:
            self._accept()
        return bool(ready)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
            self._connections.append(_Connection(connection, self))
        except OSError:  # it is gone already
            self.counters.errors += 1
            return
        self.counters.connections += 1
        if len(self._connections) > CANDIDATES:
            self._end(next(c for c in self._connections if c is not self._peer))

    def _end(self, connection: _Connection) -> None:
        self.counters.disconnections += 1
        self._connections.remove(connection)
        connection.socket.close()
        self._peer = None if connection is self._peer else self._peer
        self._last = None if connection is self._last else self._last

    def close(self) -> None:
        """Close the connections and stop listening."""
        for connection in list(self._connections):
            self._end(connection)
        self._listener.close()
