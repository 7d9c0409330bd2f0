"""A port from its options: link, impairments, recording and key put together, and the handshake that opens a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hil.authentication import load_key
from hil.background_recorder import BackgroundRecorder
from hil.impairments import Impaired, Impairments
from hil.layout import Role
from hil.link_text import open_link
from hil.links import Link
from hil.links_child import Child
from hil.packets import Codec
from hil.port import Port
from hil.recording import Recorded, Recorder
from hil.ring import Full
from hil.streams import StreamLink

GRACE_S = 0.5  # after a peer with another scenario was heard: it shall learn of it too
RESTART_S = 0.5  # between starts of a program that ends again and again


@dataclass(frozen=True, kw_only=True)
class LineOptions:
    """What a user says about a line; `link` as in `hil.links`."""

    link: str
    allow_remote: bool = False
    key_file: Path | None = None
    record: Path | None = None
    impairments: Impairments = field(default_factory=Impairments)
    seed: int = 0


class Line:
    """A port with all that belongs to it; `scenario` is the hash, `text` the TOML that a recording keeps.

    `full` tells what to do when the disk is too slow for the recording, as in `hil.ring`.
    """

    def __init__(
        self, role: Role, options: LineOptions, scenario: bytes, tick_s: float, text: str, full: Full = "lose"
    ) -> None:
        self.options = options
        key = load_key(options.key_file) if options.key_file else None
        codec = Codec(role, scenario, tick_s, key)
        self.base = open_link(options.link, options.allow_remote)
        self.impaired: Impaired | None = None
        self.recorder: BackgroundRecorder | None = None
        self.notes: list[str] = []
        link: Link = self.base
        if options.impairments != Impairments():
            link = self.impaired = Impaired(link, options.impairments, options.seed)
        try:
            if options.record:
                link = Recorded(link, self._record(Recorder(options.record, codec, text), full))
        except ValueError:
            self.base.close()
            raise
        self.port = Port(link, codec)
        self._next_start = 0.0

    def _record(self, recorder: Recorder, full: Full) -> BackgroundRecorder:
        if recorder.kept_as:
            self.notes.append(f"the recording of an earlier run is now {recorder.kept_as}")
        self.recorder = BackgroundRecorder(recorder, full)
        return self.recorder

    @property
    def address(self) -> str:
        """What the peer has to know."""
        found = getattr(self.base, "address", None)
        return f"{found[0]}:{found[1]}" if found else self.base.name

    @property
    def gone(self) -> bool:
        """Whether the line has ended and will not come back by itself."""
        return isinstance(self.base, StreamLink) and not self.base.connected

    def tend(self) -> str:
        """Start a program that has ended again; tells so, empty if nothing was done."""
        child = self.base
        if not isinstance(child, Child) or child.alive or time.monotonic() < self._next_start:
            return ""
        self._next_start, ended = time.monotonic() + RESTART_S, child.ended
        return f"flight program {child.command[0]} {ended}, started again" if child.restart() else ""

    def meet(
        self, timeout_s: float, asked_to_stop: Callable[[], bool] = lambda: False,
        tell: Callable[[str], object] = lambda sentence: None,
    ) -> str:  # fmt: skip
        """Shake hands with the peer; empty, or one sentence that says why there is none. `tell` hears of it before."""
        port, deadline, early, told = self.port, time.monotonic() + timeout_s, False, False
        while not port.synchronise(min(0.1, max(0.0, deadline - time.monotonic()))):
            if isinstance(self.base, Child) and not self.base.alive:
                return f"the flight program {self.base.command[0]} ended before it introduced itself"
            if port.codec.session.other_scenario is not None and not early:
                deadline, early = min(deadline, time.monotonic() + GRACE_S), True
            if port.codec.counters.refused and not (told or early):
                told = True
                tell(f"still no handshake on {self.options.link}: {port.codec.complaint()}")
            if asked_to_stop():
                return "interrupted"
            if time.monotonic() >= deadline:
                break
        return "" if port.synchronised else port.codec.complaint()

    def account(self) -> dict[str, Any]:
        """All counters, by name: plain data. For the end of a run: it ends the recording."""
        told: dict[str, Any] = {
            "name": self.base.name,
            "link": asdict(self.base.counters),
            "packets": self.port.codec.counters.as_dict(),
            "refused": self.port.codec.counters.refused,
            "synchronisations": self.port.synchronisations,
        }
        if self.impaired:
            told["impairments"] = {
                "outgoing": asdict(self.impaired.outgoing.counts),
                "incoming": asdict(self.impaired.incoming.counts),
            }
        if self.recorder:
            self.recorder.close()
            told["recording"] = {"written": self.recorder.written, "lost": self.recorder.lost}
        return told

    def close(self) -> None:
        """Close link and recording."""
        with suppress(OSError):
            self.port.link.close()
        if self.recorder:
            self.recorder.close()
