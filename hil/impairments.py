"""A bad link on purpose: loss, reordering, duplication, delay and corruption, seeded and counted.

Each packet draws the same few random numbers whatever becomes of it, so what happens to the n-th packet of a direction
depends on the seed alone, not on the time. A reordered packet is held until the next one has passed it. Corruption is
a burst: up to 16 neighbouring bits are changed, which a CRC-16 always notices.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from attitude.core.jit import Array
from hil.links import Link

WAITING = 1024  # late packets at most; beyond, the oldest goes at once
HELD = 16  # packets that wait to be overtaken
BURST = 16  # bits, the longest burst a CRC-16 is sure to notice
BATCH = 64  # lost packets that `receive` goes through without waiting


@dataclass(frozen=True, kw_only=True)
class Impairments:
    """Probabilities per packet, for each direction; every packet is late by a time between 0 and `delay_s`."""

    loss: float = 0.0
    reordering: float = 0.0
    duplication: float = 0.0
    corruption: float = 0.0
    delay_s: float = 0.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value, most = getattr(self, entry.name), 60.0 if entry.name == "delay_s" else 1.0
            if not 0.0 <= value <= most:
                raise ValueError(f"{entry.name} must be between 0 and {most:g}, got {value}")


@dataclass
class Injected:
    """What was done to the packets of one direction."""

    packets: int = 0
    lost: int = 0
    reordered: int = 0
    duplicated: int = 0
    corrupted: int = 0


class Item(NamedTuple):
    """A packet on its way, and where it goes when it comes out."""

    packet: bytes
    deliver: Callable[[bytes], bool]


@dataclass
class Impairer:
    """One direction: packets go in with `put`, and come out of `take` when their time has come."""

    impairments: Impairments
    random: np.random.Generator
    counts: Injected = field(default_factory=Injected)
    _waiting: list[tuple[float, int, Item]] = field(default_factory=list)
    _held: list[Item] = field(default_factory=list)
    _number: int = 0

    def put(self, item: Item, now: float) -> None:
        """A packet enters."""
        what, self.counts.packets = self.impairments, self.counts.packets + 1
        lost, corrupted, duplicated, reordered = self.random.random(4) < (
            what.loss, what.corruption, what.duplication, what.reordering,
        )  # fmt: skip
        late, burst = what.delay_s * self.random.random(2), self.random.random(18)
        if lost:
            self.counts.lost += 1
            return
        item = item._replace(packet=self._corrupted(item.packet, burst)) if corrupted else item
        self._pass(item, now + late[0], bool(reordered))
        if duplicated:
            self.counts.duplicated += 1
            self._queue(item, now + late[1])

    def _corrupted(self, packet: bytes, burst: Array) -> bytes:
        self.counts.corrupted += 1
        bits = 8 * len(packet)
        length = 1 + int(burst[0] * min(BURST, bits))
        first = int(burst[1] * (bits - length + 1))
        mask = sum(1 << i for i in range(length) if i in (0, length - 1) or burst[2 + i] < 0.5)
        return (int.from_bytes(packet, "big") ^ (mask << first)).to_bytes(len(packet), "big")

    def _pass(self, item: Item, when: float, reordered: bool) -> None:
        if reordered:
            self.counts.reordered += 1
            self._held.append(item)
        else:
            self._queue(item, when)
        if not reordered or len(self._held) > HELD:
            for earlier in self._held:
                self._queue(earlier, when)
            self._held.clear()

    def _queue(self, item: Item, when: float) -> None:
        self._number += 1
        heapq.heappush(self._waiting, (when, self._number, item))

    def take(self, now: float) -> Item | None:
        """A packet whose time has come."""
        if self._waiting and (self._waiting[0][0] <= now or len(self._waiting) > WAITING):
            return heapq.heappop(self._waiting)[2]
        return None

    def until_next(self, now: float) -> float:
        """Seconds until a packet comes out, infinite if none waits."""
        return max(0.0, self._waiting[0][0] - now) if self._waiting else float("inf")


class Impaired(Link):
    """A link with impairments in both directions, each with random numbers of its own.

    Late packets go out during later calls: there is no other thread.
    """

    def __init__(
        self, link: Link, impairments: Impairments, seed: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(f"{link.name}, impaired")
        self.inner, self._now = link, now
        self.counters = link.counters
        out, back = np.random.default_rng(seed).spawn(2)
        self.outgoing, self.incoming = Impairer(impairments, out), Impairer(impairments, back)
        link.on_skipped = lambda noise: self.on_skipped and self.on_skipped(noise)

    def send(self, packet: bytes) -> bool:
        """Hand a packet to the bad link; true even if it gets lost there."""
        return self._put(Item(packet, self.inner.send))

    def reply(self, packet: bytes) -> bool:
        """Send to the last sender."""
        return self._put(Item(packet, self.inner.reply))

    def confirm(self) -> None:
        """Make the last sender the peer."""
        self.inner.confirm()

    def _put(self, item: Item) -> bool:
        self.outgoing.put(item, self._now())
        return self._release()

    def _release(self) -> bool:
        sent = True
        while (item := self.outgoing.take(self._now())) is not None:
            sent = item.deliver(item.packet) and sent
        return sent

    def receive(self, timeout_s: float = 0.0) -> bytes | None:
        """The next packet that comes through; late packets of the other direction go out meanwhile."""
        deadline, overtime = self._now() + timeout_s, 0
        while True:
            self._release()
            item = self.incoming.take(self._now())
            left = deadline - self._now()
            if item is not None or overtime > BATCH:
                return item.packet if item else None
            admitted = self._admit(max(0.0, left))
            if left <= 0.0:
                overtime += 1 if admitted else BATCH + 1

    def _admit(self, left: float) -> bool:
        """Take in one packet, waiting no longer than the next event; true if there was one."""
        now = self._now()
        patience = min(left, self.incoming.until_next(now), self.outgoing.until_next(now))
        packet = self.inner.receive(patience)
        if packet is not None:
            self.incoming.put(Item(packet, bool), self._now())
        return packet is not None

    def close(self) -> None:
        """Close the link below."""
        self.inner.close()
