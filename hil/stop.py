"""Orderly stop: a flag anyone may set, and SIGINT, SIGTERM and SIGHUP that set it; and work that is not stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopFlag:
    """Why the loop shall end, or None while it shall go on; the first reason given stays."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def set(self, reason: str) -> None:
        """Ask the loop to end after its current tick; safe from any thread and from a signal handler."""
        if self.reason is None:
            self.reason = reason

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Signal handler. The first signal asks; one more interrupts a callback that hangs."""
        if self.reason is not None:
            raise KeyboardInterrupt
        self.set(signal.Signals(number).name)


@contextmanager
def stopped_by_signals(flag: StopFlag) -> Iterator[None]:
    """Let signals set the flag, but those that are ignored (`nohup`); does nothing outside the main thread."""
    with _handled(flag.handle):
        yield


@contextmanager
def unstopped() -> Iterator[None]:
    """Let signals pass while results are written."""
    with _handled(lambda number, frame: None):
        yield


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = {number: signal.getsignal(number) for number in STOPPING}
    before = {number: old for number, old in found.items() if old is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            # None: a handler that was not set from Python, which Python cannot give back
            signal.signal(number, signal.SIG_DFL if old is None else old)
