"""The packets on the wire: one table, from which come the codec, the C header and the interface document.

A packet is a CCSDS space packet (133.0-B-2), most significant byte first throughout:

    primary header (6) | secondary header (44) | body | authentication (16, only with a key) | CRC-16 (2)

Bodies are records of `attitude.spacecraft.frames`, each number a float64, or one of the small layouts below. On a
byte stream (serial line, TCP, pipe) each packet follows the CCSDS attached sync marker.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES, Record

PROTOCOL_VERSION = 1
SYNC_MARKER = bytes.fromhex("1acffc1d")
"""CCSDS 131.0-B attached sync marker."""
PRIMARY_SIZE, HASH_SIZE, TAG_SIZE, CRC_SIZE = 6, 8, 16, 2  # bytes
AUTHENTICATED = 1  # bit of `flags`
NO_SCENARIO = bytes(HASH_SIZE)
"""Hash in the first HELLO of a side that takes the scenario of its peer."""


class Role(IntEnum):
    """Who sends."""

    PLANT = 1
    FLIGHT = 2

    @property
    def peer(self) -> Role:
        """The other one."""
        return Role.FLIGHT if self is Role.PLANT else Role.PLANT


class Reason(IntEnum):
    """Why a side stops."""

    FINISHED = 0
    ASKED = 1
    FAILED = 2


class Status(IntEnum):
    """What a decoder makes of a packet, in the order of the checks; all above `INTRODUCTION` are refusals."""

    ACCEPTED = 0
    INTRODUCTION = 1
    TOO_SHORT = 2
    TOO_LONG = 3
    MALFORMED = 4
    BAD_CRC = 5
    WRONG_VERSION = 6
    UNKNOWN_APID = 7
    WRONG_LENGTH = 8
    NOT_AUTHENTIC = 9
    WRONG_SENDER = 10
    WRONG_SCENARIO = 11
    UNKNOWN_SESSION = 12
    REPLAYED = 13


STATUS_MEANING = {
    Status.ACCEPTED: "good, and from the peer this side is synchronised with",
    Status.INTRODUCTION: "a good HELLO that does not echo this side's session and epoch: answer it, believe nothing",
    Status.TOO_SHORT: "shorter than the headers and the CRC",
    Status.TOO_LONG: "longer than the longest packet",
    Status.MALFORMED: "a field has a value that is not allowed, or the length field is not that of the packet",
    Status.BAD_CRC: "the CRC does not fit",
    Status.WRONG_VERSION: "another version of this protocol",
    Status.UNKNOWN_APID: "an APID that is not in the table",
    Status.WRONG_LENGTH: "not the length of this APID",
    Status.NOT_AUTHENTIC: "with a key: authentication missing or wrong; without: there is one, it cannot be checked",
    Status.WRONG_SENDER: "from this side's own role, or from a role that does not send this packet",
    Status.WRONG_SCENARIO: "the hash is that of another scenario",
    Status.UNKNOWN_SESSION: "from a session this side is not synchronised with",
    Status.REPLAYED: "the counter is not above the last one accepted with this APID: repeated, or overtaken",
}

C_TYPES = {"B": "uint8_t", "I": "uint32_t", "Q": "uint64_t", "d": "double", "8s": "uint8_t"}


@dataclass(frozen=True)
class Number:
    """One number of a layout; `code` as in `struct`."""

    name: str
    code: str
    unit: str
    meaning: str
    offset: int = -1

    @property
    def size(self) -> int:
        """Bytes."""
        return struct.calcsize(f">{self.code}")


class Layout(Mapping[str, Number]):
    """Numbers one after the other; `packing` reads and writes all of them."""

    def __init__(self, name: str, meaning: str, *numbers: Number) -> None:
        self.name, self.meaning = name, meaning
        self.packing = struct.Struct(">" + "".join(number.code for number in numbers))
        self.size = self.packing.size
        self._numbers: dict[str, Number] = {}
        offset = 0
        for number in numbers:
            self._numbers[number.name] = replace(number, offset=offset)
            offset += number.size

    def __getitem__(self, name: str) -> Number:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


SECONDARY = Layout(
    "header", "secondary header of every packet",
    Number("tick", "Q", "", "time tag: number of the tick, from 0"),
    Number("t", "d", "s", "time tag: time of the tick since the scenario's epoch, finite"),
    Number("version", "B", "", f"version of this protocol, {PROTOCOL_VERSION}"),
    Number("role", "B", "", "who sends: 1 plant, 2 flight"),
    Number("flags", "B", "bits", "bit 0: the packet is authenticated; the others 0"),
    Number("spare", "B", "", "0"),
    Number("session", "Q", "", "number the sender chose when it started: not 0, never used before"),
    Number("counter", "Q", "", "packets of this APID in this session, from 1"),
    Number("scenario", "8s", "", "first 8 bytes of the scenario's SHA-256"),
)  # fmt: skip

HELLO_BODY = Layout(
    "hello", "body of HELLO",
    Number("tick_s", "d", "s", "period of the tick, above 0"),
    Number("peer_session", "Q", "", "echo: session of the last HELLO heard, 0 for none"),
    Number("peer_epoch", "I", "", "echo: epoch of the last HELLO heard"),
    Number("epoch", "I", "", "how many sessions the sender has accepted so far"),
    Number("synchronised", "I", "", "1 if the sender has accepted `peer_session`, 0 if not"),
)  # fmt: skip

STOP_BODY = Layout(
    "stop", "body of STOP",
    Number("reason", "I", "", "0 finished, 1 asked to stop, 2 failed"),
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A packet: its APID, CCSDS type (1 telecommand, 0 telemetry), who may send it, and its body."""

    name: str
    apid: int
    telecommand: bool
    sender: Role | None
    meaning: str
    records: tuple[Record, ...] = ()
    body: Layout | None = None

    @property
    def body_size(self) -> int:
        """Bytes of the body."""
        return self.body.size if self.body else 8 * sum(record.size for record in self.records)

    def size(self, authenticated: bool) -> int:
        """Bytes of the packet."""
        return BODY_START + self.body_size + (TAG_SIZE if authenticated else 0) + CRC_SIZE


BODY_START = PRIMARY_SIZE + SECONDARY.size
KINDS = (
    Kind("samples", 0x101, False, Role.PLANT, "sensor samples of a tick", (SAMPLES,)),
    Kind("command", 0x102, True, Role.FLIGHT, "actuator commands that answer the samples of a tick", (COMMAND,)),
    Kind("housekeeping", 0x103, False, Role.FLIGHT, "what the flight side knows and does", (ESTIMATE, CONTROL)),
    Kind("hello", 0x104, False, None, "introduction, handshake and resynchronisation", body=HELLO_BODY),
    Kind("stop", 0x105, False, None, "the sender ends the run", body=STOP_BODY),
)
BY_NAME = {kind.name: kind for kind in KINDS}
BY_APID = {kind.apid: kind for kind in KINDS}
MIN_PACKET = BODY_START + CRC_SIZE
MAX_PACKET = max(kind.size(authenticated=True) for kind in KINDS)
