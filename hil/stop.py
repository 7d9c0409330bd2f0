"""Orderly stop: a flag anyone may set, and SIGINT and SIGTERM that set it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)


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
    """Let SIGINT and SIGTERM set the flag, and give the handlers back; does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        signal.signal(number, flag.handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: a handler that was not set from Python, which Python cannot give back
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
