"""The interface document: every byte of every packet, the handshake, the timing and the rules, from the tables."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from enum import IntEnum
from importlib.resources import files

from attitude.actuators.magnetorquers import SETTLED
from attitude.control import modes
from attitude.spacecraft.controller import SAFE_REFERENCE
from attitude.spacecraft.frames import COMMAND, SENSOR_NAMES, TORQUERS_BIT, WHEELS_BIT, Field, Record
from hil.authentication import LONGEST_KEY, SHORTEST_KEY
from hil.flight_side import NAP_S
from hil.layout import (
    BODY_START,
    CRC_SIZE,
    HELLO_BODY,
    KINDS,
    MAX_PACKET,
    MIN_PACKET,
    NO_SCENARIO,
    PRIMARY_SIZE,
    PROTOCOL_VERSION,
    SECONDARY,
    STATUS_MEANING,
    STOP_BODY,
    SYNC_MARKER,
    TAG_SIZE,
    Kind,
    Layout,
    Reason,
    Role,
    Status,
)
from hil.packets import Codec, crc16
from hil.plant_side import REPEATS, STOPS, PlantSide
from hil.port import HELLO_EVERY_S

TYPES = {"B": "uint8", "I": "uint32", "Q": "uint64", "d": "float64", "8s": "8 bytes"}
BAUDS = (115_200, 460_800, 921_600, 3_000_000)
BITS_PER_BYTE = 10  # on a serial line: start, eight data, stop
SESSION, KEY = 0x0123456789ABCDEF, bytes(range(32))  # of the document's examples
_VALID = 1 << WHEELS_BIT | 1 << TORQUERS_BIT
VALUES: tuple[tuple[str, str, dict[IntEnum, str]], ...] = (
    ("`role`", "every packet", {Role.PLANT: "the spacecraft", Role.FLIGHT: "the flight software"}),
    (
        "`reason`", "STOP", {
            Reason.FINISHED: "the run came to its end",
            Reason.ASKED: "ended before its time: by its user, or given up",
            Reason.FAILED: "ended by an error",
        },
    ),
    (
        "`mode`", "HOUSEKEEPING", {
            modes.Mode.DETUMBLE: "damps the rate",
            modes.Mode.ACQUIRE: "waits for a good attitude",
            modes.Mode.SAFE: "something is lost: points to safety",
            modes.Mode.NOMINAL: "points to the references",
        },
    ),
    (
        "`reason`", "HOUSEKEEPING", {
            modes.Reason.START: "it has not changed yet",
            modes.Reason.TUMBLING: "the rate is too high",
            modes.Reason.SATURATED: "a wheel is too fast",
            modes.Reason.LOST: "the attitude is not known well enough",
            modes.Reason.READY: "all is well for the next mode",
            modes.Reason.TIMEOUT: "too long in the mode",
        },
    ),
)  # fmt: skip
"""Field, packet, and what each member of its enumeration means."""


def text() -> str:
    """The whole document, in Markdown."""
    bodies = (_layout(body, BODY_START) for body in (HELLO_BODY, STOP_BODY))
    parts = {
        "VERSION": str(PROTOCOL_VERSION),
        "PACKETS": _packets(),
        "MIN_PACKET": str(MIN_PACKET),
        "MAX_PACKET": str(MAX_PACKET),
        "PRIMARY": _primary(),
        "LAYOUTS": "\n\n".join([_layout(SECONDARY, PRIMARY_SIZE), *_records(), *bodies]),
        "VALUES": _table(("name", "in", "value", "", "meaning"), _values()),
        "SAFE_REFERENCE": str(SAFE_REFERENCE),
        "BITS": _table(("bit", "value", "of"), ((i, 1 << i, f"`{name}`") for i, name in enumerate(SENSOR_NAMES))),
        "CRC_CHECK": f"0x{crc16(b'123456789'):04X}",
        "MARKER": SYNC_MARKER.hex(" ").upper(),
        "STATUSES": _table(("", "status", "meaning"), ((int(s), f"`{s.name}`", STATUS_MEANING[s]) for s in Status)),
        "BUDGET": _budget(),
        **_settings(),
        **_examples(),
    }
    result = (files("hil") / "interface.template.md").read_text()
    for name, part in parts.items():
        result = result.replace(f"@{name}@", part)
    return result


def _settings() -> dict[str, str]:
    """Numbers of the code, as the code has them."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(PlantSide).parameters.items()}
    numbers = {
        "HELLO_EVERY": HELLO_EVERY_S, "HELLO_AGAIN": NAP_S, "TIMEOUT": defaults["timeout_s"],
        "REPEAT": defaults["timeout_s"] / REPEATS, "REPEATS": REPEATS, "GIVE_UP": defaults["give_up_s"], "STOPS": STOPS,
        "SHORTEST_KEY": SHORTEST_KEY, "LONGEST_KEY": LONGEST_KEY, "SETTLED": SETTLED, "QUIET": 0.6 + SETTLED * 0.01,
    }  # fmt: skip
    return {name: f"{number:g}" for name, number in numbers.items()}


def _examples() -> dict[str, str]:
    command, hello, keyed = example(), example_hello(), example_hello(KEY)
    packets = {"COMMAND": command, "HELLO": hello, "KEYED": keyed}
    return {
        **{f"{name}_EXAMPLE": hexdump(packet) for name, packet in packets.items()},
        **{f"{name}_CRC": f"0x{packet[-CRC_SIZE:].hex().upper()}" for name, packet in packets.items()},
        "KEYED_TAG": keyed[-CRC_SIZE - TAG_SIZE : -CRC_SIZE].hex(" ").upper(),
        "EXAMPLE_VALID": str(_VALID),
    }


def _values() -> Iterable[tuple[object, ...]]:
    """A row for each member of each enumeration; each member must have its meaning."""
    for name, packet, meanings in VALUES:
        for member in type(next(iter(meanings))):
            yield name, packet, int(member), member.name.lower(), meanings[member]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _packets() -> str:
    head = ("packet", "APID", "type", "sent by", "bytes", "with a key", "what")
    return _table(head, map(_packet_row, KINDS))


def _packet_row(kind: Kind) -> tuple[object, ...]:
    what = "1, telecommand" if kind.telecommand else "0, telemetry"
    sender = "either side" if kind.sender is None else kind.sender.name.lower()
    sizes = kind.size(authenticated=False), kind.size(authenticated=True)
    return f"`{kind.name.upper()}`", f"0x{kind.apid:03X}", what, sender, *sizes, kind.meaning


def _primary() -> str:
    rows = (
        ("0", "3 bits", "version of CCSDS packets, 0"),
        ("0", "1 bit", "type, see above"),
        ("0", "1 bit", "secondary header flag, 1"),
        ("0 to 1", "11 bits", "APID"),
        ("2", "2 bits", "sequence flags, 3: not segmented"),
        ("2 to 3", "14 bits", "sequence count: the low 14 bits of `counter`"),
        ("4 to 5", "16 bits", "length of all that follows the primary header, less 1"),
    )
    return _table(("byte", "size", "what"), rows)


def _layout(layout: Layout, start: int) -> str:
    rows = ((start + n.offset, f"`{n.name}`", TYPES[n.code], n.unit, n.meaning) for n in layout.values())
    title = layout.meaning[0].upper() + layout.meaning[1:]
    return f"## {title}\n\n" + _table(("byte", "name", "type", "unit", "meaning"), rows)


def _records() -> Iterable[str]:
    """A section for each record of each packet."""
    for kind in KINDS:
        start = BODY_START
        for record in kind.records:
            yield _record(kind, record, start)
            start += 8 * record.size


def _record(kind: Kind, record: Record, start: int) -> str:
    head = ("byte", "name", "type", "unit", "axes", "bit", "meaning")
    rows = (_field_row(field, start) for field in record.values())
    return f"## Body of {kind.name.upper()}: {record.meaning}\n\n" + _table(head, rows)


def _field_row(field: Field, start: int) -> tuple[object, ...]:
    kind = "float64" if field.size == 1 else f"{field.size} float64"
    bit = "" if field.bit is None else field.bit
    return start + 8 * field.offset, f"`{field.name}`", kind, field.unit, field.frame, bit, field.meaning


def _budget() -> str:
    rows = [(f"{baud}", f"{_rate(baud, False):.0f}", f"{_rate(baud, True):.0f}") for baud in BAUDS]
    return _table(("baud", "ticks per second", "with a key"), rows)


def _rate(baud: int, authenticated: bool) -> float:
    """Ticks per second that the fuller of the two directions allows."""
    sizes = dict.fromkeys(Role, 0)
    for kind in KINDS:
        if kind.sender is not None:
            sizes[kind.sender] += len(SYNC_MARKER) + kind.size(authenticated)
    return baud / BITS_PER_BYTE / max(sizes.values())


def example_hello(key: bytes | None = None) -> bytes:
    """First HELLO of a flight side that takes the scenario of its plant."""
    return Codec(Role.FLIGHT, NO_SCENARIO, 1.0, key, SESSION).hello()


def example() -> bytes:
    """COMMAND of the document's first example."""
    codec = Codec(Role.FLIGHT, bytes(range(0xA1, 0xA9)), 0.1, session=SESSION)
    command = COMMAND.zeros()
    command[COMMAND["t"].part] = 1.0
    command[COMMAND["valid"].part] = _VALID
    command[COMMAND["wheel"].offset] = 0.001
    command[COMMAND["dipole"].offset + 2] = -0.2
    return codec.command(10, 1.0, command)


def hexdump(data: bytes) -> str:
    """Rows of sixteen bytes, as a Markdown code block."""
    starts = range(0, len(data), 16)
    return "\n".join(f"    {start:04X}  {data[start : start + 16].hex(' ').upper()}" for start in starts)
