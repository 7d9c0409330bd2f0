"""The live view: a table in the terminal, drawn by a thread of its own from copies that a slow rate group makes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from attitude.control.modes import Mode
from attitude.core.jit import Array
from attitude.spacecraft.frames import CONTROL, TRUTH
from hil.report import Report

if TYPE_CHECKING:
    from rich.table import Table

EVERY_S = 0.5
PATIENCE_S = 2.0


class View:
    """`note` is the rate group's callback; `told` gives texts and counters by name when the table is drawn."""

    def __init__(
        self, truth: Array, control: Array, report: Callable[[], Report], told: Callable[[], dict[str, Any]]
    ) -> None:
        self._truth, self._control, self._report, self._told = truth, control, report, told
        self._copies = (truth.copy(), control.copy())
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_on, name="hil-view", daemon=True)

    def note(self, tick: int, nominal_s: float) -> None:
        """Copy what is shown; all else is done in the other thread."""
        self._copies = (self._truth.copy(), self._control.copy())

    def lines(self) -> list[tuple[str, str]]:
        """What is shown: names and texts."""
        truth, control = self._copies
        counted = [(name.replace("_", " "), str(value)) for name, value in self._told().items() if value]
        return [*_motion(truth, control), *_loop(self._report()), *counted]

    def table(self) -> Table:
        """The same as a table."""
        from rich.table import Table

        table = Table(show_header=False, box=None)
        for name, text in self.lines():
            table.add_row(name, text)
        return table

    def _draw_on(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with Live(self.table(), console=Console(stderr=True), auto_refresh=False, transient=True) as live:
            while not self._over.wait(EVERY_S):
                live.update(self.table(), refresh=True)

    def __enter__(self) -> View:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)  # a terminal that takes nothing must not keep the results from being written


def _motion(truth: Array, control: Array) -> list[tuple[str, str]]:
    rate = np.degrees(np.linalg.norm(TRUTH.read(truth, "omega_B")))
    return [
        ("time", f"{TRUTH.read(truth, 't'):.1f} s"),
        ("mode", _mode(control)),
        ("rate", f"{rate:.3f} deg/s"),
        ("pointing", _pointing(truth, control)),
        ("fastest wheel", f"{np.abs(TRUTH.read(truth, 'wheel_speed')).max() * 30.0 / np.pi:.0f} rpm"),
    ]


def _mode(control: Array) -> str:
    mode = CONTROL.read(control, "mode")
    return Mode(int(mode)).name.lower() if mode in tuple(Mode) else "not told"


def _pointing(truth: Array, control: Array) -> str:
    pointing = CONTROL.read(control, "pointing")
    if pointing == -1.0 or np.isnan(pointing):
        return "no reference" if pointing == -1.0 else "not told"
    cosine = abs(float(TRUTH.read(truth, "q_IB") @ CONTROL.read(control, "reference_q_IB")))
    return f"{np.degrees(2.0 * np.arccos(min(1.0, cosine))):.3f} deg off"


def _loop(report: Report) -> list[tuple[str, str]]:
    late = report.lateness
    return [
        ("loop", f"{report.ticks_run} ticks, {report.slips} slips, {report.errors} errors"),
        ("lateness", f"p50 {late.p50_us:.0f} us, p99 {late.p99_us:.0f} us, max {late.max_us:.0f} us"),
    ]
