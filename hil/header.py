"""The C99 header: structs and functions for every packet, generated from the tables; no dependency, no allocation."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from attitude.spacecraft.frames import SENSOR_NAMES, Field, Record
from hil.layout import (
    AUTHENTICATED,
    BODY_START,
    C_TYPES,
    CRC_SIZE,
    HASH_SIZE,
    HELLO_BODY,
    KINDS,
    MAX_PACKET,
    MIN_PACKET,
    PRIMARY_SIZE,
    PROTOCOL_VERSION,
    SECONDARY,
    STATUS_MEANING,
    STOP_BODY,
    SYNC_MARKER,
    TAG_SIZE,
    Kind,
    Layout,
    Number,
    Reason,
    Role,
    Status,
)

ACCESS = {"B": "u8", "I": "u32", "Q": "u64", "d": "f64"}


def text() -> str:
    """The whole header."""
    parts = {
        "VERSION": str(PROTOCOL_VERSION),
        "CONSTANTS": _constants(),
        "STRUCTS": "\n\n".join([*map(_record_struct, _records()), _pair_structs(), *map(_layout_struct, _layouts())]),
        "MEMBERS": "\n".join(f"        attitude_{kind.name} {kind.name};" for kind in KINDS),
        "CODE": "\n\n".join([_kinds(), *map(_record_code, _records()), *map(_layout_code, _layouts())]),
        "ENCODERS": "\n\n".join(_encoder(kind) for kind in KINDS if kind.name != "hello"),
        "DECODERS": "\n".join(map(_decoder, KINDS)),
        "MARKER": ", ".join(f"0x{byte:02X}" for byte in SYNC_MARKER),
    }
    result = (files("hil") / "attitude_frames.template.h").read_text()
    for name, part in parts.items():
        result = result.replace(f"@{name}@", part)
    return result


def _records() -> tuple[Record, ...]:
    return tuple(record for kind in KINDS for record in kind.records)


def _layouts() -> tuple[Layout, ...]:
    return (SECONDARY, HELLO_BODY, STOP_BODY)


# ------------------------------------------------------------------ constants
def _constants() -> str:
    sizes = {
        "VERSION": PROTOCOL_VERSION, "PRIMARY_SIZE": PRIMARY_SIZE, "BODY_START": BODY_START, "TAG_SIZE": TAG_SIZE,
        "CRC_SIZE": CRC_SIZE, "HASH_SIZE": HASH_SIZE, "MARKER_SIZE": len(SYNC_MARKER), "MIN_PACKET": MIN_PACKET,
        "MAX_PACKET": MAX_PACKET, "AUTHENTICATED": AUTHENTICATED, "KINDS": len(KINDS), "STATUSES": len(Status),
        "REASON_LAST": max(Reason),
    }  # fmt: skip
    groups = [
        [_define(name, value) for name, value in sizes.items()],
        ["/* who sends */", *(_define(f"ROLE_{role.name}", role) for role in Role)],
        ["/* why a side stops */", *(_define(f"REASON_{reason.name}", reason) for reason in Reason)],
        ["/* packets */", *(f"#define ATTITUDE_APID_{kind.name.upper()} 0x{kind.apid:03X}u" for kind in KINDS)],
        [_define(f"KIND_{kind.name.upper()}", number) for number, kind in enumerate(KINDS)],
        ["/* bits of valid, accepted, rejected, faulty */", *(_define(f"BIT_{n.upper()}", i) for i, n in _bits())],
    ]
    return "\n\n".join("\n".join(group) for group in groups) + "\n\n" + _statuses()


def _define(name: str, value: int) -> str:
    return f"#define ATTITUDE_{name} {int(value)}u"


def _bits() -> Iterable[tuple[int, str]]:
    return enumerate(SENSOR_NAMES)


def _statuses() -> str:
    lines = [f"    /* {STATUS_MEANING[s]} */\n    ATTITUDE_{s.name} = {int(s)}," for s in Status]
    lines[-1] = lines[-1].removesuffix(",")
    return "/* what the decoder makes of a packet */\ntypedef enum {\n" + "\n".join(lines) + "\n} attitude_status;"


# ------------------------------------------------------------------ structs
def _struct(comment: str, name: str, members: Iterable[str]) -> str:
    body = "\n".join(f"    {member}" for member in members)
    return f"/* {comment} */\ntypedef struct {{\n{body}\n}} attitude_{name};"


def _record_struct(record: Record) -> str:
    return _struct(record.meaning, record.name, (_record_member(field) for field in record.values()))


def _record_member(field: Field) -> str:
    many = f"[{field.size}]" if field.size > 1 else ""
    where = f", {field.frame}" if field.frame else ""
    new = f"; new if bit {field.bit} ({field.sensor})" if field.bit is not None else ""
    return f"double {field.name}{many}; /* {field.unit}{where}: {field.meaning}{new} */"


def _pair_structs() -> str:
    """Structs of packets that carry more than one record."""
    kinds = [kind for kind in KINDS if len(kind.records) > 1]
    return "\n\n".join(_struct(k.meaning, k.name, (f"attitude_{r.name} {r.name};" for r in k.records)) for k in kinds)


def _layout_struct(layout: Layout) -> str:
    return _struct(layout.meaning, layout.name, map(_number_member, layout.values()))


def _number_member(number: Number) -> str:
    many = f"[{number.size}]" if number.code == "8s" else ""
    unit = f"{number.unit}: " if number.unit else ""
    return f"{C_TYPES[number.code]} {number.name}{many}; /* {unit}{number.meaning} */"


# ------------------------------------------------------------------ functions
def _kinds() -> str:
    rows = ",\n".join(
        f"    {{0x{kind.apid:03X}u, {int(kind.telecommand)}u, {int(kind.sender or 0)}u, {kind.body_size}u}}"
        for kind in KINDS
    )
    members = ("uint16_t apid;", "uint8_t telecommand;", "uint8_t sender; /* 0: either */", "uint16_t body_size;")
    table = f"static const attitude_kind attitude_kinds[ATTITUDE_KINDS] = {{\n{rows}\n}};"
    return _struct("packets, in the order of ATTITUDE_KIND_...", "kind", members) + f"\n\n{table}"


def _function(head: str, lines: Iterable[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"static inline {head}\n{{\n{body}\n}}"


def _both(name: str, put: Iterable[str], get: Iterable[str], first: tuple[str, ...] = ()) -> str:
    writer = _function(f"void attitude_put_{name}(uint8_t *to, const attitude_{name} *from)", [*first, *put])
    reader = _function(f"void attitude_get_{name}(const uint8_t *from, attitude_{name} *to)", [*first, *get])
    return f"{writer}\n\n{reader}"


def _record_code(record: Record) -> str:
    fields = record.values()
    loops = ("unsigned i;",) if any(field.size > 1 for field in fields) else ()
    return _both(record.name, map(_put_field, fields), map(_get_field, fields), loops)


def _loop(field: Field, one: str, many: str) -> str:
    place = str(8 * field.offset)
    if field.size == 1:
        return one.format(name=field.name, place=place)
    return f"for (i = 0; i < {field.size}u; i++) " + many.format(name=field.name, place=f"{place} + 8 * i")


def _put_field(field: Field) -> str:
    call = "attitude_put_f64(to + {place}, from->{name}"
    return _loop(field, f"{call});", f"{call}[i]);")


def _get_field(field: Field) -> str:
    call = "= attitude_get_f64(from + {place});"
    return _loop(field, f"to->{{name}} {call}", f"to->{{name}}[i] {call}")


def _layout_code(layout: Layout) -> str:
    return _both(layout.name, map(_put_number, layout.values()), map(_get_number, layout.values()))


def _put_number(number: Number) -> str:
    if number.code == "8s":
        return f"memcpy(to + {number.offset}, from->{number.name}, {number.size});"
    return f"attitude_put_{ACCESS[number.code]}(to + {number.offset}, from->{number.name});"


def _get_number(number: Number) -> str:
    if number.code == "8s":
        return f"memcpy(to->{number.name}, from + {number.offset}, {number.size});"
    return f"to->{number.name} = attitude_get_{ACCESS[number.code]}(from + {number.offset});"


def _parts(kind: Kind) -> list[tuple[str, int]]:
    """Names of the structs in a packet's body and where they begin, in bytes."""
    if kind.body is not None:
        return [(kind.body.name, 0)]
    ends = [8 * sum(record.size for record in kind.records[:i]) for i in range(len(kind.records))]
    return [(record.name, end) for record, end in zip(kind.records, ends, strict=True)]


def _encoder(kind: Kind) -> str:
    parts = _parts(kind)
    indent = " " * (len("static inline size_t attitude_encode_(") + len(kind.name))
    given = "".join(f"{indent}const attitude_{name} *{name},\n" for name, _ in parts)
    head = (
        f"size_t attitude_encode_{kind.name}(attitude_endpoint *me, uint64_t tick, double t,\n"
        f"{given}{indent}uint8_t packet[ATTITUDE_MAX_PACKET])"
    )
    puts = [f"attitude_put_{name}(packet + ATTITUDE_BODY_START + {offset}, {name});" for name, offset in parts]
    finish = f"return attitude_finish(me, ATTITUDE_KIND_{kind.name.upper()}, tick, t, packet);"
    return f"/* {kind.meaning} */\n" + _function(head, [*puts, finish])


def _decoder(kind: Kind) -> str:
    parts = _parts(kind)
    inner = [f".{name}" if len(parts) > 1 else "" for name, _ in parts]
    lines = [f"    case ATTITUDE_KIND_{kind.name.upper()}:"]
    for (name, offset), member in zip(parts, inner, strict=True):
        lines.append(f"        attitude_get_{name}(body + {offset}, &frame->body.{kind.name}{member});")
    return "\n".join([*lines, "        break;"])
