"""Packets to and from bytes: CCSDS space packets with time tag, counter, scenario hash, CRC-16 and, with a key, HMAC.

`Codec` is one side of a link. It encodes what this side sends, and judges what it receives: `decode` never raises, it
returns a `Status` and counts each refusal by its reason. Layouts are in `hil.layout`, the handshake in `hil.session`.
"""

from __future__ import annotations

import math
from binascii import crc_hqx
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from spacepackets.ccsds.spacepacket import PacketType, SequenceFlags, SpacePacketHeader

from attitude.core.jit import Array
from hil.authentication import Authenticator
from hil.layout import (
    AUTHENTICATED,
    BODY_START,
    BY_APID,
    BY_NAME,
    CRC_SIZE,
    HASH_SIZE,
    KINDS,
    MAX_PACKET,
    MIN_PACKET,
    NO_SCENARIO,
    PRIMARY_SIZE,
    PROTOCOL_VERSION,
    SECONDARY,
    TAG_SIZE,
    Kind,
    Reason,
    Role,
    Status,
)
from hil.session import Hello, Session, Stop

SEQUENCE_MASK = 0x3FFF  # the 14 bits of the primary header

Data = bytes | bytearray | memoryview


def crc16(data: Data) -> int:
    """CRC-16 of CCSDS: polynomial 0x1021, start 0xFFFF, nothing reflected; 0 over data that ends with its own CRC."""
    return crc_hqx(data, 0xFFFF)


class Header(NamedTuple):
    """Secondary header, in the order of `layout.SECONDARY`."""

    tick: int
    t: float
    version: int
    role: int
    flags: int
    spare: int
    session: int
    counter: int
    scenario: bytes


class Frame(NamedTuple):
    """A decoded packet; the arrays of `records` belong to the codec and last until it decodes the same kind again."""

    kind: Kind
    header: Header
    records: tuple[Array, ...] = ()
    body: Hello | Stop | None = None

    @property
    def name(self) -> str:
        """Name of the packet."""
        return self.kind.name

    def kept(self) -> Frame:
        """The same, with arrays of its own."""
        return self._replace(records=tuple(record.copy() for record in self.records))


@dataclass
class Counters:
    """How many packets came to each status."""

    counts: list[int] = field(default_factory=lambda: [0] * len(Status))

    def __getitem__(self, status: Status) -> int:
        return self.counts[status]

    @property
    def refused(self) -> int:
        """All refusals."""
        return sum(self.counts[Status.INTRODUCTION + 1 :])

    def as_dict(self) -> dict[str, int]:
        """Count by name of the status."""
        return {status.name.lower(): self.counts[status] for status in Status}


class _Writer:
    """One kind's packet, kept ready: all that changes is written over."""

    def __init__(self, kind: Kind, authenticated: bool) -> None:
        size = kind.size(authenticated)
        self.header = SpacePacketHeader(
            PacketType(kind.telecommand), kind.apid, seq_count=0, data_len=size - PRIMARY_SIZE - 1, sec_header_flag=True
        )
        self.packet = bytearray(size)
        self.before_crc = memoryview(self.packet)[:-CRC_SIZE]
        self.before_tag = memoryview(self.packet)[: -CRC_SIZE - TAG_SIZE]
        self.numbers = np.frombuffer(self.packet, ">f8", kind.body_size // 8 if kind.records else 0, BODY_START)


class _Reader:
    """Where one kind's numbers are put; `records` are views of them."""

    def __init__(self, kind: Kind) -> None:
        self.numbers = np.zeros(sum(record.size for record in kind.records))
        ends = np.cumsum([record.size for record in kind.records])[:-1]
        self.records: tuple[Array, ...] = tuple(np.split(self.numbers, ends)) if kind.records else ()
        self.sizes = (kind.size(authenticated=False), kind.size(authenticated=True))


class Codec:
    """One side of a link.

    `scenario` is the first 8 bytes of the scenario's SHA-256, or `NO_SCENARIO` to take the peer's. With a `key` every
    packet is authenticated, and every packet that is not is refused. `session` is for replaying a recording: the same
    bytes then come to the same decisions.
    """

    def __init__(
        self,
        role: Role,
        scenario: bytes,
        tick_s: float,
        key: bytes | None = None,
        session: int | None = None,
    ) -> None:
        if len(scenario) != HASH_SIZE:
            raise ValueError(f"scenario must be {HASH_SIZE} bytes of a hash, got {len(scenario)}")
        if not (math.isfinite(tick_s) and tick_s > 0.0):
            raise ValueError(f"tick_s must be finite and greater than zero, got {tick_s}")
        self.role, self.tick_s = Role(role), tick_s
        self.session = Session(scenario, session)
        self.counters = Counters()
        self.other_version: int | None = None
        self._authenticator = Authenticator(key) if key is not None else None
        self._flags = AUTHENTICATED if key is not None else 0
        self._writers = {kind.apid: _Writer(kind, key is not None) for kind in KINDS}
        self._readers = {kind.apid: _Reader(kind) for kind in KINDS}

    # ------------------------------------------------------------------ sending
    def samples(self, tick: int, t: float, samples: Array) -> bytes:
        """SAMPLES packet."""
        return self._records("samples", tick, t, samples)

    def command(self, tick: int, t: float, command: Array) -> bytes:
        """COMMAND packet; tick and time are those of the samples it answers."""
        return self._records("command", tick, t, command)

    def housekeeping(self, tick: int, t: float, estimate: Array, control: Array) -> bytes:
        """HOUSEKEEPING packet."""
        return self._records("housekeeping", tick, t, estimate, control)

    def hello(self, tick: int = 0, t: float = 0.0) -> bytes:
        """HELLO packet: introduction, or answer to one."""
        self.session.answer_due = False
        return self._numbers("hello", tick, t, self.session.hello(self.tick_s))

    def stop(self, tick: int, t: float, reason: Reason) -> bytes:
        """STOP packet."""
        return self._numbers("stop", tick, t, Stop(reason))

    def _records(self, name: str, tick: int, t: float, *records: Array) -> bytes:
        kind = BY_NAME[name]
        writer, start = self._writers[kind.apid], 0
        for layout, values in zip(kind.records, records, strict=True):
            if values.shape != (layout.size,):
                raise ValueError(f"{layout.name} must have shape ({layout.size},), got {values.shape}")
            writer.numbers[start : start + layout.size] = values
            start += layout.size
        return self._finish(kind, writer, tick, t)

    def _numbers(self, name: str, tick: int, t: float, values: Sequence[float]) -> bytes:
        kind = BY_NAME[name]
        writer = self._writers[kind.apid]
        assert kind.body is not None
        kind.body.packing.pack_into(writer.packet, BODY_START, *values)
        return self._finish(kind, writer, tick, t)

    def _finish(self, kind: Kind, writer: _Writer, tick: int, t: float) -> bytes:
        session, packet = self.session, writer.packet
        counter = session.count(kind.apid)
        writer.header.seq_count = counter & SEQUENCE_MASK
        packet[:PRIMARY_SIZE] = writer.header.pack()
        SECONDARY.packing.pack_into(
            packet, PRIMARY_SIZE,
            tick, t, PROTOCOL_VERSION, self.role, self._flags, 0, session.number, counter, session.scenario,
        )  # fmt: skip
        if self._authenticator:
            packet[-CRC_SIZE - TAG_SIZE : -CRC_SIZE] = self._authenticator.tag(writer.before_tag)
        packet[-CRC_SIZE:] = crc16(writer.before_crc).to_bytes(CRC_SIZE, "big")
        return bytes(packet)

    # ------------------------------------------------------------------ receiving
    def decode(self, data: Data) -> tuple[Status, Frame | None]:
        """Judge a packet. There is a frame if it is accepted, or is a good HELLO of a peer that is not."""
        status, frame = self._read(data)
        if frame is not None:
            status = self._hear(frame)
        self.counters.counts[status] += 1
        if frame is None or status > Status.INTRODUCTION:
            return status, None
        if frame.records:  # only now: what is refused must not change the last good numbers
            numbers = self._readers[frame.kind.apid].numbers
            numbers[:] = np.frombuffer(data, ">f8", numbers.size, BODY_START)
        return status, frame

    def _read(self, data: Data) -> tuple[Status, Frame | None]:
        """Everything but the session and the numbers of the records."""
        if not MIN_PACKET <= len(data) <= MAX_PACKET:
            return (Status.TOO_SHORT if len(data) < MIN_PACKET else Status.TOO_LONG), None
        primary = SpacePacketHeader.unpack(data)
        if not _well_formed(primary, len(data)):
            return Status.MALFORMED, None
        if crc16(data):
            return Status.BAD_CRC, None
        header = Header._make(SECONDARY.packing.unpack_from(data, PRIMARY_SIZE))
        if header.version != PROTOCOL_VERSION:
            self.other_version = header.version
            return Status.WRONG_VERSION, None
        kind = BY_APID.get(primary.apid)
        if kind is None:
            return Status.UNKNOWN_APID, None
        status = self._contents(data, primary, header, kind)
        return (status, None) if status else self._body(data, header, kind)

    def _body(self, data: Data, header: Header, kind: Kind) -> tuple[Status, Frame | None]:
        if kind.body is None:
            return Status.ACCEPTED, Frame(kind, header, self._readers[kind.apid].records)
        values = kind.body.packing.unpack_from(data, BODY_START)
        body = Hello._make(values) if kind.name == "hello" else Stop._make(values)
        return (Status.ACCEPTED, Frame(kind, header, (), body)) if _allowed(body) else (Status.MALFORMED, None)

    def _contents(self, data: Data, primary: SpacePacketHeader, header: Header, kind: Kind) -> Status:
        if len(data) != self._readers[kind.apid].sizes[header.flags & AUTHENTICATED]:
            return Status.WRONG_LENGTH
        if primary.packet_type != kind.telecommand or not _plausible(primary.seq_count, header):
            return Status.MALFORMED
        if not self._authentic(data, header.flags):
            return Status.NOT_AUTHENTIC
        if header.role != self.role.peer or kind.sender not in (None, header.role):
            return Status.WRONG_SENDER
        return Status.ACCEPTED

    def _authentic(self, data: Data, flags: int) -> bool:
        if self._authenticator is None or not flags & AUTHENTICATED:
            return flags == self._flags
        view = memoryview(data)
        return self._authenticator.fits(view[: -CRC_SIZE - TAG_SIZE], view[-CRC_SIZE - TAG_SIZE : -CRC_SIZE])

    def _hear(self, frame: Frame) -> Status:
        header, apid = frame.header, frame.kind.apid
        if isinstance(frame.body, Hello):
            return self.session.hear_hello(apid, header.session, header.counter, header.scenario, frame.body)
        return self.session.hear(apid, header.session, header.counter, header.scenario)

    def complaint(self) -> str:
        """Why there is no synchronised peer, in one sentence."""
        if self.session.other_scenario is not None:
            ours, theirs = self.session.scenario.hex(), self.session.other_scenario.hex()
            return f"the peer flies another scenario (hash {theirs}) than this side (hash {ours})"
        if self.other_version is not None:
            return f"the peer speaks version {self.other_version} of the protocol, this side version {PROTOCOL_VERSION}"
        if self.counters[Status.NOT_AUTHENTIC]:
            return "the peer's packets are not authenticated with this side's key"
        if self.counters.refused:
            return f"no packet of the peer was good: {_listed(self.counters)}"
        return "nothing was heard from the peer"


class Listener(Codec):
    """Reads all that `sender` sends, without a session of its own: for recordings and tools."""

    def __init__(self, sender: Role, scenario: bytes = NO_SCENARIO, key: bytes | None = None) -> None:
        super().__init__(sender.peer, scenario, 1.0, key)

    def _hear(self, frame: Frame) -> Status:
        if self.session.learns or frame.header.scenario in (self.session.scenario, NO_SCENARIO):
            return Status.ACCEPTED
        return Status.WRONG_SCENARIO


def _listed(counters: Counters) -> str:
    named = {status: counters[status] for status in Status if status > Status.INTRODUCTION}
    return ", ".join(f"{n} {status.name.lower().replace('_', ' ')}" for status, n in named.items() if n)


def _well_formed(header: SpacePacketHeader, size: int) -> bool:
    """Whether the primary header is that of a whole packet of `size` bytes with a secondary header."""
    whole = header.seq_flags == SequenceFlags.UNSEGMENTED and header.packet_len == size
    return whole and header.ccsds_version == 0 and header.sec_header_flag


def _plausible(sequence: int, header: Header) -> bool:
    """Whether each field of the headers has an allowed value."""
    numbered = header.session > 0 and header.counter > 0 and header.counter & SEQUENCE_MASK == sequence
    clean = header.flags <= AUTHENTICATED and header.spare == 0 and math.isfinite(header.t)
    return numbered and clean and header.role in (Role.PLANT, Role.FLIGHT)


def _allowed(body: Hello | Stop) -> bool:
    if isinstance(body, Stop):
        return body.reason in tuple(Reason)
    return math.isfinite(body.tick_s) and body.tick_s > 0.0 and body.synchronised <= 1
