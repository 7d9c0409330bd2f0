"""Packets on a byte stream: a sync marker before each, a parser that finds them again, a link that never blocks."""

from __future__ import annotations

import os
import select
import time
from abc import abstractmethod
from collections.abc import Callable

from hil.layout import MAX_PACKET, MIN_PACKET, PRIMARY_SIZE, SYNC_MARKER
from hil.links import Link, LinkCounters
from hil.packets import crc16

CHUNK = 4096  # bytes per read
READS = 64  # of bytes that are no packet, in one call of `receive` at most
MARK = len(SYNC_MARKER)
SELECTABLE = 1024  # file descriptors `select` can wait for


class StreamParser:
    """Cuts a stream into packets. What it holds is bounded: one packet and what is fed at once.

    A packet whose CRC fits is consumed whole. One whose CRC does not is handed over too, to be judged and counted, but
    the search goes on right behind its marker: a damaged length must not swallow the good packet that follows.
    """

    def __init__(self, counters: LinkCounters, on_skipped: Callable[[bytes], object] = lambda _: None) -> None:
        self._counters, self._on_skipped = counters, on_skipped
        self._buffer = bytearray()
        self._seen = 0  # bytes in front that were handed over with a bad CRC
        self._in_sync = True

    def __len__(self) -> int:
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """More of the stream; take all packets before the next call."""
        self._buffer += data

    def take(self) -> bytes | None:
        """The next packet, if it is complete."""
        while self._find_marker() and len(self._buffer) >= MARK + PRIMARY_SIZE:
            size = PRIMARY_SIZE + 1 + int.from_bytes(self._buffer[MARK + 4 : MARK + 6], "big")
            if not MIN_PACKET <= size <= MAX_PACKET:
                self._skip(MARK)
            elif len(self._buffer) < MARK + size:
                return None
            else:
                return self._cut(size)
        return None

    def _find_marker(self) -> bool:
        place = self._buffer.find(SYNC_MARKER)
        if place < 0:  # its beginning may be at the end
            self._skip(max(0, len(self._buffer) - MARK + 1))
        else:
            self._skip(place)
        return place >= 0

    def _cut(self, size: int) -> bytes:
        packet = bytes(self._buffer[MARK : MARK + size])
        good = crc16(packet) == 0
        self._in_sync |= good
        self._drop(MARK + size if good else MARK)
        if not good:
            self._seen = max(self._seen, size)
        return packet

    def _drop(self, size: int) -> None:
        self._seen = max(0, self._seen - size)
        del self._buffer[:size]

    def _skip(self, size: int) -> None:
        if size > self._seen:
            noise = bytes(self._buffer[self._seen : size])
            self._counters.skipped_bytes += len(noise)
            self._counters.lost_sync += self._in_sync
            self._in_sync = False
            self._on_skipped(noise)
        self._drop(size)


class Channel:
    """A pair of file descriptors that carry a stream of packets, never waited for here."""

    def __init__(self, read_fd: int, write_fd: int, link: Link) -> None:
        self.read_fd, self.write_fd = read_fd, write_fd
        self.closed = max(read_fd, write_fd) >= SELECTABLE
        self._broken = False  # for writing: what the peer sent before it went can still be read
        self._counters = link.counters
        self._parser = StreamParser(link.counters, lambda noise: link.on_skipped and link.on_skipped(noise))
        self._unsent = b""
        for fd in {read_fd, write_fd}:
            os.set_blocking(fd, False)

    @property
    def writing(self) -> bool:
        """Whether the end of a packet waits to be written."""
        return bool(self._unsent) and not self._broken

    def take(self) -> bytes | None:
        """The next packet that has come."""
        packet = self._parser.take()
        if packet is not None:
            self._counters.received += 1
        return packet

    def fill(self) -> None:
        """Read what there is, once; to be called when the descriptor is readable, so that nothing means the end."""
        try:
            data = os.read(self.read_fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._counters.errors += 1
            data = b""
        self.closed |= not data
        self._counters.bytes_received += len(data)
        self._parser.feed(data)

    def send(self, packet: bytes) -> int:
        """Bytes taken: all of the packet with its marker, or none. The end of a packet that is begun follows later."""
        self.flush()
        data = SYNC_MARKER + packet
        written = 0 if self._unsent or self._broken else self._write(data)
        self._unsent = data[written:] if written else self._unsent
        return len(data) if written else 0

    def flush(self) -> None:
        """Go on with a packet that is begun."""
        if self.writing:
            self._unsent = self._unsent[self._write(self._unsent) :]

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self.write_fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._counters.errors += 1
            self._broken = True
            return 0


def wait(channels: list[Channel], timeout_s: float, others: list[int] | None = None) -> list[int]:
    """Wait until something can be read, and go on with what waits to be written; descriptors that are readable."""
    readers = [channel.read_fd for channel in channels if not channel.closed] + (others or [])
    deadline = time.monotonic() + timeout_s
    while True:
        writers = [channel.write_fd for channel in channels if channel.writing]
        left = max(0.0, deadline - time.monotonic())
        readable, writable, _ = select.select(readers, writers, [], left)
        for channel in channels:
            if channel.write_fd in writable:
                channel.flush()
        if readable or not writable:
            return readable


class BufferedLink(Link):
    """A link that reads bytes now and takes packets out of them."""

    @abstractmethod
    def _take(self) -> bytes | None:
        """The next packet of what was read."""

    @abstractmethod
    def _fill(self, timeout_s: float) -> bool:
        """Read once, waiting at most so long; false if the time passed in vain."""

    def receive(self, timeout_s: float = 0.0) -> bytes | None:
        """The next packet, of any connection."""
        deadline, reads = time.monotonic() + timeout_s, 0
        while True:
            packet = self._take()
            if packet is not None:
                return packet
            left, before = deadline - time.monotonic(), self.counters.bytes_received
            filled, reads = self._fill(max(0.0, left)), reads + 1
            dry = self.counters.bytes_received == before or reads >= READS
            if not filled or (left <= 0.0 and dry):
                return self._take()


class StreamLink(BufferedLink):
    """Link over one channel at a time; `_reopen` may bring a lost one back."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._channel: Channel | None = None
        self._closed = False

    @property
    def connected(self) -> bool:
        """Whether there is a channel to the peer."""
        return self._channel is not None

    def send(self, packet: bytes) -> bool:
        """Send a packet behind a sync marker."""
        channel = self._usable()
        size = channel.send(packet) if channel else 0
        self._drop_if_closed()
        return self._count_sent(size)

    def _take(self) -> bytes | None:
        return self._channel.take() if self._channel else None

    def _fill(self, timeout_s: float) -> bool:
        """Read once, waiting at most so long; false if the time passed in vain."""
        channel = self._usable()
        if channel is None:
            self._wait_unconnected(timeout_s)
            return True
        ready = wait([channel], timeout_s)
        if ready:
            channel.fill()
        self._drop_if_closed()
        return bool(ready)

    def _usable(self) -> Channel | None:
        if self._channel is None and not self._closed:
            self._reopen()
        return self._channel

    def _open_channel(self, read_fd: int, write_fd: int) -> None:
        self._channel = Channel(read_fd, write_fd, self)
        self.counters.connections += 1

    def _drop_if_closed(self) -> None:
        if self._channel and self._channel.closed:
            self.counters.disconnections += 1
            self._channel = None
            self._release()

    def _reopen(self) -> None:
        """Try to get a lost channel back, without waiting."""
        return

    def _wait_unconnected(self, timeout_s: float) -> None:
        """Pass the time while there is no channel."""
        time.sleep(timeout_s)

    def _release(self) -> None:
        """Close what the channel was made of."""
        return

    def close(self) -> None:
        """Close the channel for good."""
        if not self._closed:
            self._closed, self._channel = True, None
            self._release()
