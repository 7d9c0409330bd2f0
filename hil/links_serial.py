"""Serial lines and pseudo-terminals."""

from __future__ import annotations

import os
import time
import tty
from contextlib import suppress

import serial

from hil.links import LinkError
from hil.streams import StreamLink

RETRY_S = 0.5  # between attempts to open a line that was lost
BAUD = 115200


class SerialLine(StreamLink):
    """Serial line, 8 data bits, no parity; opened again when it comes back (a pulled adapter)."""

    def __init__(self, path: str, baud: int = BAUD) -> None:
        super().__init__(f"serial {path}")
        self._path, self._baud = path, baud
        self._next_try = 0.0
        self._line = self._opened()
        self._open_channel(self._line.fileno(), self._line.fileno())

    def _opened(self) -> serial.Serial:
        if not os.path.exists(self._path):
            raise LinkError(f"serial device {self._path} is not there")
        try:
            return serial.Serial(self._path, self._baud, timeout=0, exclusive=True)
        except (serial.SerialException, OSError, ValueError, OverflowError) as error:
            raise LinkError(f"serial device {self._path} cannot be opened at {self._baud} baud: {error}") from None

    def _reopen(self) -> None:
        if time.monotonic() < self._next_try:
            return
        self._next_try = time.monotonic() + RETRY_S
        with suppress(LinkError):
            self._line = self._opened()
            self._open_channel(self._line.fileno(), self._line.fileno())

    def _wait_unconnected(self, timeout_s: float) -> None:
        time.sleep(min(timeout_s, max(0.0, self._next_try - time.monotonic())))

    def _release(self) -> None:
        with suppress(serial.SerialException, OSError):
            self._line.close()


class PseudoTerminal(StreamLink):
    """A new pseudo-terminal; the peer opens `path` as a serial line, or `alias`, a symbolic link that is made to it."""

    def __init__(self, alias: str = "") -> None:
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)  # it stays open, so that the line survives a peer that goes
        self.path = os.ttyname(self._theirs)
        self._alias = alias
        super().__init__(f"pty {alias or self.path}")
        self._make_alias()
        self._open_channel(self._ours, self._ours)

    def _make_alias(self) -> None:
        try:
            if self._alias:
                os.symlink(self.path, self._alias)
        except OSError as error:
            os.close(self._ours)
            os.close(self._theirs)
            raise LinkError(f"pseudo-terminal cannot be linked at {self._alias}: {error.strerror}") from None

    def _release(self) -> None:
        os.close(self._ours)
        os.close(self._theirs)
        if self._alias and os.path.islink(self._alias) and os.readlink(self._alias) == self.path:
            os.unlink(self._alias)


def pty_pair() -> tuple[PseudoTerminal, SerialLine]:
    """A pseudo-terminal and the serial line on its other side."""
    terminal = PseudoTerminal()
    return terminal, SerialLine(terminal.path)
