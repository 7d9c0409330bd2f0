"""Recordings: every byte that went over a link, with its time, in a file that a killed process leaves readable.

The file, most significant byte first:

    magic (8) | version u16 | role u8 | spare u8 | session u64 | start u64, ns since 1970 | tick_s f64
              | scenario hash (8) | length of the scenario u32 | the scenario, TOML in UTF-8 | CRC-32 of all this
    then records: time u64, ns | direction u8 | length u32 | the bytes | CRC-32 of this record

Each record is one write, so all but the last are whole whatever happens to the process. What follows the last whole
record is left out in reading, with a note. Direction is `RX`, `TX` or `SKIPPED` (bytes of a stream that belong to no
packet). Role and session are those of the side that recorded: a codec made with them comes to the same decisions.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import IntEnum
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

from hil.layout import Role, Status
from hil.links import Link
from hil.packets import Codec, Frame, Listener

MAGIC = b"ATTREC\r\n"  # a transfer that changes line ends shows
VERSION = 1
LONGEST = 65536  # bytes in a record
_HEADER = struct.Struct(">8sHBBQQd8sI")
_RECORD = struct.Struct(">QBI")
_CRC = struct.Struct(">I")


class Direction(IntEnum):
    """Which way the bytes went, seen from the side that recorded."""

    RX = 0
    TX = 1
    SKIPPED = 2


class Entry(NamedTuple):
    """One record: time in ns, direction, bytes."""

    t_ns: int
    direction: Direction
    data: bytes


def _with_crc(data: bytes) -> bytes:
    return data + _CRC.pack(zlib.crc32(data))


class Writer(Protocol):
    """What takes records."""

    def write(self, t_ns: int, direction: Direction, data: bytes) -> bool:
        """Append a record; false if it is lost."""
        ...


class Recorder:
    """Writes a recording. A full disk loses records, counted in `lost`, and never stops the caller.

    A recording that is there already is kept under another name, `kept_as`; any other file is not touched.
    """

    def __init__(self, path: str | Path, codec: Codec, scenario: str) -> None:
        text = scenario.encode()
        header = _HEADER.pack(
            MAGIC, VERSION, codec.role, 0, codec.session.number, time.time_ns(), codec.tick_s,
            codec.session.scenario, len(text),
        )  # fmt: skip
        self.written = self.lost = 0
        self.kept_as = _make_way(Path(path))
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            self._end = os.write(self._fd, _with_crc(header + text))
        except OSError as error:
            raise ValueError(f"recording {path} cannot be written: {error.strerror}") from None
        if self._end < len(header) + len(text) + _CRC.size:
            raise ValueError(f"recording {path} cannot be written: there is no room for its header")

    def write(self, t_ns: int, direction: Direction, data: bytes) -> bool:
        """Append a record; false if it is lost."""
        record = _with_crc(_RECORD.pack(t_ns, direction, len(data)) + data)
        whole = self._append(record)
        self._end += len(record) if whole else 0
        self.written += whole
        self.lost += not whole
        return whole

    def _append(self, record: bytes) -> bool:
        with suppress(OSError):
            if os.write(self._fd, record) == len(record):
                return True
        with suppress(OSError):  # half a record would hide all that follow
            os.ftruncate(self._fd, self._end)
            os.lseek(self._fd, self._end, os.SEEK_SET)
        return False

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _make_way(path: Path) -> Path | None:
    """Rename the recording of an earlier run: evidence, which a flight side started again must not overwrite."""
    if path.is_fifo():
        raise ValueError(f"recording {path} cannot be written: a pipe may stop the loop")
    if not path.is_file() or path.stat().st_size == 0:
        return None
    with suppress(OSError), open(path, "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError(f"recording {path} would overwrite a file that is not a recording")
    older = next(name for k in count(1) if not (name := path.with_name(f"{path.name}.{k}")).exists())
    try:
        path.rename(older)
    except OSError as error:
        raise ValueError(f"recording {path} of an earlier run cannot be renamed: {error.strerror}") from None
    return older


class Recorded(Link):
    """A link all of whose packets are recorded, as they are received and sent; to be the outermost of the wrappers."""

    def __init__(self, link: Link, recorder: Writer, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(link.name)
        self.inner, self._recorder, self._now_ns = link, recorder, now_ns
        self.counters = link.counters
        link.on_skipped = lambda noise: self._record(Direction.SKIPPED, noise)

    def _record(self, direction: Direction, data: bytes) -> None:
        self._recorder.write(self._now_ns(), direction, data)

    def send(self, packet: bytes) -> bool:
        """Send, and record what was sent."""
        sent = self.inner.send(packet)
        if sent:
            self._record(Direction.TX, packet)
        return sent

    def reply(self, packet: bytes) -> bool:
        """Send to the last sender, and record what was sent."""
        sent = self.inner.reply(packet)
        if sent:
            self._record(Direction.TX, packet)
        return sent

    def confirm(self) -> None:
        """Make the last sender the peer."""
        self.inner.confirm()

    def receive(self, timeout_s: float = 0.0) -> bytes | None:
        """The next packet, recorded."""
        packet = self.inner.receive(timeout_s)
        if packet is not None:
            self._record(Direction.RX, packet)
        return packet

    def close(self) -> None:
        """Close the link; the recorder stays open."""
        self.inner.close()


class Recording:
    """A recording to read; iterating gives its entries. `note` then tells what was left out, empty if nothing was."""

    def __init__(self, path: str | Path) -> None:
        self.path, self.note = Path(path), ""
        try:
            with open(path, "rb") as file:
                begin = file.read(_HEADER.size)
                self._read_header(begin)
                text = file.read(self._text_size)
                crc = file.read(_CRC.size)
        except OSError as error:
            raise ValueError(f"recording {path} cannot be read: {error.strerror}") from None
        if _with_crc(begin + text) != begin + text + crc:
            raise ValueError(f"recording {path} has a damaged or incomplete header")
        self.scenario_text = text.decode()
        self._start = _HEADER.size + self._text_size + _CRC.size

    def _read_header(self, begin: bytes) -> None:
        if len(begin) < _HEADER.size or not begin.startswith(MAGIC):
            raise ValueError(f"{self.path} is not a recording")
        _, version, role, _, self.session, self.start_ns, self.tick_s, self.scenario, self._text_size = _HEADER.unpack(
            begin
        )
        if version != VERSION:
            raise ValueError(f"recording {self.path} has version {version}, this program reads version {VERSION}")
        if role not in tuple(Role):
            raise ValueError(f"recording {self.path} has a damaged or incomplete header")
        self.role = Role(role)

    def __iter__(self) -> Iterator[Entry]:
        with open(self.path, "rb") as file:
            file.seek(self._start)
            self.note = ""
            while (head := file.read(_RECORD.size)) != b"":
                size = _RECORD.unpack(head)[2] if len(head) == _RECORD.size else 0
                rest = file.read(size + _CRC.size) if size <= LONGEST else b""
                entry = _entry(head, rest)
                if entry is None:
                    self._leave(file.tell() - len(head) - len(rest))
                    return
                yield entry

    def _leave(self, place: int) -> None:
        left = self.path.stat().st_size - place
        self.note = f"{self.path} ends in an incomplete or damaged record: its last {left} bytes were left out"

    def codec(self, key: bytes | None = None) -> Codec:
        """The codec of the side that recorded, as it was when it started."""
        return Codec(self.role, self.scenario, self.tick_s, key, self.session)


def _entry(head: bytes, rest: bytes) -> Entry | None:
    if len(head) < _RECORD.size or len(rest) < _CRC.size:
        return None
    t_ns, direction, size = _RECORD.unpack(head)
    if len(rest) != size + _CRC.size or _with_crc(head + rest[:size]) != head + rest:
        return None
    return Entry(t_ns, Direction(direction), rest[:size]) if direction in tuple(Direction) else None


class Judged(NamedTuple):
    """An entry with what a codec made of it."""

    entry: Entry
    status: Status
    frame: Frame | None


def frames(recording: Recording, key: bytes | None = None) -> Iterator[Judged]:
    """Received packets as the recording side judged them, and sent ones as anybody could read them, in order."""
    received, sent = recording.codec(key), Listener(recording.role, recording.scenario, key)
    for entry in recording:
        if entry.direction is not Direction.SKIPPED:
            reader = received if entry.direction is Direction.RX else sent
            status, frame = reader.decode(entry.data)
            yield Judged(entry, status, frame.kept() if frame else None)
