"""Keep the interpreter quiet while the loop runs: no garbage collection, and a prompt hand-over between threads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_INTERVAL_S = 50e-6  # how long a thread may keep the interpreter from the loop; Python's own 5 ms are many ticks


@contextmanager
def quiet_interpreter(switch_interval_s: float = SWITCH_INTERVAL_S) -> Iterator[None]:
    """Collect once, then hold the garbage collector off and shorten the switch interval; restores both."""
    enabled, frozen, interval = gc.isenabled(), gc.get_freeze_count(), sys.getswitchinterval()
    gc.collect()
    gc.disable()
    if not frozen:
        gc.freeze()  # so that a collection a callback asks for need not look at what was here before
    sys.setswitchinterval(switch_interval_s)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if not frozen:
            gc.unfreeze()
        if enabled:
            gc.enable()
