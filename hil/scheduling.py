"""What the system can do for a real-time loop: timer slack, SCHED_FIFO, a processor of its own, locked memory.

Each is asked for, granted or refused; either way there is a note for the report, and all is given back afterwards.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30  # linux/prctl.h
_MCL_CURRENT, _MCL_FUTURE = 1, 2  # sys/mman.h
_RT_RUNTIME = Path("/proc/sys/kernel/sched_rt_runtime_us")


@dataclass(frozen=True)
class Scheduling:
    """What to ask the system for. Timer slack is how late the kernel may wake a sleeper to save power, usually 50 us.

    `fifo_priority` from 1 to 99 puts the loop's thread under SCHED_FIFO; `cpu` pins it to one processor; `lock_memory`
    keeps the whole process from being paged out.
    """

    fifo_priority: int | None = None
    cpu: int | None = None
    lock_memory: bool = False
    timer_slack_ns: int | None = 1

    def __post_init__(self) -> None:
        if self.fifo_priority is not None and not 1 <= self.fifo_priority <= 99:
            raise ValueError(f"fifo_priority must be an integer from 1 to 99, got {self.fifo_priority!r}")
        if self.cpu is not None and not 0 <= self.cpu < (os.cpu_count() or 1):
            raise ValueError(f"cpu must be an integer from 0 to {(os.cpu_count() or 1) - 1}, got {self.cpu!r}")
        if self.timer_slack_ns is not None and self.timer_slack_ns < 1:
            raise ValueError(f"timer_slack_ns must be an integer from 1, got {self.timer_slack_ns!r}")

    @contextmanager
    def applied(self, spins: bool = False) -> Iterator[list[str]]:
        """Ask for everything, yield the notes, give everything back. For the calling thread, except locked memory."""
        notes: list[str] = []
        with ExitStack() as undo:
            if self.timer_slack_ns is not None:
                _ask("timer slack", lambda: _set_slack(self.timer_slack_ns or 1), undo, notes)
            if self.cpu is not None:
                _ask(f"pinning to processor {self.cpu}", lambda: _pin(self.cpu or 0), undo, notes)
            if self.lock_memory:
                _ask("locked memory", _lock_memory, undo, notes)
            if self.fifo_priority is not None:
                _ask(f"SCHED_FIFO priority {self.fifo_priority}", lambda: _fifo(self.fifo_priority or 1), undo, notes)
                notes.extend(_throttling(spins))
            yield notes


def _ask(what: str, change: Callable[[], Callable[[], object]], undo: ExitStack, notes: list[str]) -> None:
    """Make the change if the system lets us, remember how to undo it, and note the outcome."""
    try:
        undo.callback(change())
        notes.append(f"{what}: granted")
    except (OSError, AttributeError) as error:  # AttributeError: a system without this call
        notes.append(f"{what}: refused ({_reason(error)})")


def _reason(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "not permitted to this user; root, a capability or a higher limit is needed"
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "not available on this system"


def _set_slack(slack_ns: int) -> Callable[[], object]:
    libc = _libc()
    before = _call(libc.prctl, _PR_GET_TIMERSLACK, 0, 0, 0, 0)
    _call(libc.prctl, _PR_SET_TIMERSLACK, slack_ns, 0, 0, 0)
    return lambda: libc.prctl(_PR_SET_TIMERSLACK, before, 0, 0, 0)


def _pin(cpu: int) -> Callable[[], object]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    return lambda: os.sched_setaffinity(0, before)


def _fifo(priority: int) -> Callable[[], object]:
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    # threads and processes that callbacks start must not become real-time as well
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    return lambda: os.sched_setscheduler(0, before, parameters)


def _lock_memory() -> Callable[[], object]:
    libc = _libc()
    _call(libc.mlockall, _MCL_CURRENT | _MCL_FUTURE)
    return libc.munlockall


def _throttling(spins: bool) -> list[str]:
    """A word of warning: a spinning SCHED_FIFO thread uses up the kernel's budget for real-time threads."""
    try:
        budget_us = int(_RT_RUNTIME.read_text())
    except (OSError, ValueError):
        return []
    if not spins or budget_us < 0:
        return []
    return [
        f"spinning under SCHED_FIFO: the kernel takes the processor away once {budget_us} us of a second are used up; "
        "sleep-spin stays below that"
    ]


def _libc() -> ctypes.CDLL:
    if not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return ctypes.CDLL(None, use_errno=True)


def _call(function: Callable[..., int], *arguments: int) -> int:
    result = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
