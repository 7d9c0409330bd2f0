"""What the figures of a mission share: time axis, shading, colours, legends beside the data."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from attitude.control.modes import Mode
from attitude.core.jit import Array
from sims.flown import Flown, Interval, Mask, intervals

STYLE: Any = {
    "font.size": 9.5, "axes.titlesize": 11.0, "axes.labelsize": 9.5, "legend.fontsize": 8.5, "legend.frameon": False,
    "axes.grid": True, "grid.color": "#d9d9d9", "grid.linewidth": 0.6, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#555555", "lines.linewidth": 1.0,
    "axes.formatter.limits": (-4, 5), "axes.formatter.use_mathtext": True, "path.simplify_threshold": 0.3,
}  # fmt: skip
AXES, COLOURS = ("x", "y", "z"), ("#0072b2", "#d55e00", "#009e73")
MORE = (*COLOURS, "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b")
INK, SECOND, QUIET = "#0072b2", "#d55e00", "#8a8a8a"
MODE_COLOURS = {
    Mode.DETUMBLE: "#d55e00", Mode.ACQUIRE: "#e6b000", Mode.SAFE: "#cc79a7", Mode.NOMINAL: "#3a9d6e",
}  # fmt: skip
SHADE, TRACKED = "#c9cfe0", "#cfe8d5"
WIDTH, LEFT, RIGHT, TOP, BOTTOM, STRIP, GAP = 10.0, 1.1, 1.7, 0.62, 0.95, 0.13, 0.22  # inches
DPI = 100
HAIR = 0.8  # points: the edge that keeps a short bar in sight
MOST_POINTS = 4000
SECONDS_BELOW = 600.0  # s: a shorter log has its time axis in seconds
FEW_DECADES = 30.0  # ratio of the ends of a logarithmic axis below which powers of ten alone are too few ticks


def thin(x: Array, y: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """At most about `most` points of a line: smallest and largest of each stretch, and a gap where there is one."""
    if x.size <= most:
        return x, y
    size = -(-x.size // (most // 2))
    rows = np.minimum(np.arange(-(-x.size // size) * size), x.size - 1).reshape(-1, size)
    values, gaps = y[rows], np.isnan(y[rows])
    picks = [np.where(gaps, np.inf, values).argmin(axis=1), np.where(gaps, -np.inf, values).argmax(axis=1)]
    picks.append(np.where(gaps.any(axis=1), gaps.argmax(axis=1), picks[0]))
    keep = np.unique(np.concatenate([rows[np.arange(len(rows)), pick] for pick in picks]))
    return x[keep], y[keep]


def log_scale(axes: Any) -> None:
    """Logarithmic ordinate for what has been drawn, with ticks that can be read however short it is."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_minor_formatter(NullFormatter())
    if high < FEW_DECADES * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


class Canvas:
    """A figure over time: a strip with the modes on top, below it `panels` with eclipses shaded."""

    def __init__(self, flown: Flown, title: str, labels: Sequence[str], inches: float = 1.75) -> None:
        self.flown = flown
        self.in_seconds = flown.t[-1] - flown.t[0] < SECONDS_BELOW
        self.unit = 1.0 if self.in_seconds else 60.0
        self.x = flown.t / self.unit
        height = TOP + STRIP + BOTTOM + len(labels) * (inches + GAP)
        self.figure = Figure(figsize=(WIDTH, height), dpi=DPI)
        self._height, self._top = height, height - TOP
        strip = self._axes(STRIP)
        self.panels = [self._panel(inches, label) for label in labels]
        self._draw_strip(strip, title)
        self._finish_axes()

    def _axes(self, inches: float, **options: Any) -> Any:
        self._top -= inches
        place = (LEFT / WIDTH, self._top / self._height, 1.0 - (LEFT + RIGHT) / WIDTH, inches / self._height)
        return self.figure.add_axes(place, **options)

    def _panel(self, inches: float, label: str) -> Any:
        self._top -= GAP
        axes = self._axes(inches)
        axes.set_ylabel(label)
        axes.set_xlim(self.x[0], max(self.x[-1], self.x[0] + 1e-9))
        self.shade(axes, self.flown.eclipse, SHADE)
        return axes

    def _finish_axes(self) -> None:
        for axes in self.panels[:-1]:
            axes.tick_params(labelbottom=False)
        self.panels[-1].set_xlabel("time since the epoch, s" if self.in_seconds else "time since the epoch, min")
        for axes in self.panels:
            axes.yaxis.set_label_coords(-0.8 / (WIDTH - LEFT - RIGHT), 0.5)
            axes.yaxis.label.set_verticalalignment("center")

    def _draw_strip(self, strip: Any, title: str) -> None:
        """Modes as a strip of colour, with the orbits counted above it."""
        for mode, colour in MODE_COLOURS.items():
            self.shade(strip, self.flown.in_mode(mode), colour, alpha=1.0, lw=HAIR)
        strip.set_xlim(self.panels[0].get_xlim())
        strip.set(yticks=[], ylim=(0.0, 1.0))
        strip.grid(False)
        strip.spines[:].set_visible(False)
        strip.tick_params(bottom=False, labelbottom=False)
        begin, orbit = self.x[0], self.flown.orbit_s / self.unit
        orbits = strip.secondary_xaxis("top", functions=(lambda x: (x - begin) / orbit, lambda n: begin + n * orbit))
        orbits.xaxis.set_major_locator(MaxNLocator(nbins=10, steps=[1, 2, 5, 10]))
        orbits.tick_params(labelsize=8, length=2, pad=1)
        strip.text(1.012, 1.0, "orbits", transform=strip.transAxes, fontsize=8, va="bottom")
        self.figure.text(LEFT / WIDTH, 1.0 - 0.12 / self._height, title, fontsize=11.5, va="top", weight="bold")

    # -------------------------------------------------------------- drawing
    def span(self, interval: Interval) -> tuple[float, float]:
        """Begin and end on the axis."""
        end = self.flown.t[-1] if interval.end_s is None else interval.end_s
        return interval.begin_s / self.unit, float(end) / self.unit

    def shade(self, axes: Any, mask: Mask, colour: str, alpha: float = 0.55, lw: float = 0.0) -> None:
        """Colour the background where the mask holds."""
        for interval in intervals(mask, self.flown.t):
            axes.axvspan(*self.span(interval), color=colour, alpha=alpha, lw=lw, zorder=0)

    def line(self, axes: Any, values: Array, colour: str, label: str = "", **look: Any) -> None:
        """A line over time."""
        axes.plot(*thin(self.x, values), color=colour, label=label or None, **look)

    def lines(self, axes: Any, values: Array, labels: Sequence[str] = (), **look: Any) -> None:
        """One line for each column."""
        names = labels or [""] * values.shape[1]
        for column, label, colour in zip(values.T, names, MORE, strict=False):
            self.line(axes, column, colour, label, **look)

    def band(self, axes: Any, half: Array, colour: str, label: str) -> None:
        """From `−half` to `half`."""
        x, y = thin(self.x, half)
        axes.fill_between(x, -y, y, color=colour, alpha=0.25, lw=0, label=label)

    def limits(self, axes: Any, values: Array, label: str = "limit") -> None:
        """Dashed lines at plus and minus each value that is finite."""
        for value in np.unique(values[np.isfinite(values)]):
            axes.axhline(value, color="#444444", lw=0.9, ls="--", label=label)
            axes.axhline(-value, color="#444444", lw=0.9, ls="--")
            label = ""

    def finish(self, *extra: Patch) -> Figure:
        """Legends beside each panel, and below what colours mean."""
        for axes in self.panels:
            if axes.get_legend_handles_labels()[1]:
                axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0, handlelength=1.4)
        used = [mode for mode in MODE_COLOURS if self.flown.in_mode(mode).any()]
        keys = [Patch(color=MODE_COLOURS[mode], label=mode.name.lower()) for mode in used]
        if self.flown.eclipse.any():
            keys.append(Patch(color=SHADE, label="eclipse"))
        self.figure.legend(
            handles=[*keys, *extra], loc="lower left", bbox_to_anchor=(LEFT / WIDTH, 0.08 / self._height),
            ncols=8, borderaxespad=0.0, handlelength=1.2, columnspacing=1.4,
        )  # fmt: skip
        return self.figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    data = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(data, format="png", dpi=DPI)
    return data.getvalue()
