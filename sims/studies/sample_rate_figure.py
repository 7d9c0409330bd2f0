"""The figure of the sample-rate study: error and cost against sample rate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from sims.papers.drawing import save

if TYPE_CHECKING:
    from sims.studies.sample_rate import Result

# colour, marker, marker size, line; open and large below, small above, because several lines lie on each other
STYLES: dict[str, tuple[str, str, float, str]] = {
    "ideal": ("black", "s", 11.0, "-"),
    "usque": ("#7f7f7f", "D", 8.0, ":"),
    "rk4-expm": ("#548235", "^", 6.0, "--"),
    "textbook": ("#c55a11", "v", 6.0, "-"),
    "vi-step": ("#8e6bbf", "x", 6.0, "--"),
    "vi": ("#1f4e79", "o", 4.0, "-"),
}
LABELS = {
    "ideal": "ideal: DOP853, variational equations",
    "usque": "USQUE",
    "rk4-expm": "RK4, matrix exponential",
    "textbook": "textbook: midpoint, 1 + F h",
    "vi-step": "VI, one step per sample",
    "vi": "VI, automatic substeps",
}


def draw(results: Sequence[Result], out: Path, name: str, title: str | None = None) -> Path:
    """Error with its intervals on the left, cost per update on the right; returns the file's name."""
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for style in (style for style in STYLES if any(r.filter == style for r in results)):
        _lines(left, right, style, [r for r in results if r.filter == style])
    _decorate(left, "RMS attitude error, deg")
    _decorate(right, "time per update, µs")
    left.legend(fontsize=8)
    runs = max(result.runs for result in results)
    figure.suptitle(title or f"MEKF attitude error against sample rate: {runs} runs, 95 % intervals")
    return save(figure, out, name)


def _lines(left: Any, right: Any, name: str, results: Sequence[Result]) -> None:
    colour, marker, size, line = STYLES[name]
    look = {"color": colour, "marker": marker, "ms": size, "ls": line, "label": LABELS[name]}
    if name in ("ideal", "usque"):
        look["mfc"] = "none"
    rates, rms = [r.rate_Hz for r in results], [r.rms_deg for r in results]
    bars = [[r.rms_deg - r.low_deg for r in results], [r.high_deg - r.rms_deg for r in results]]
    left.errorbar(rates, rms, yerr=bars, capsize=2.5, elinewidth=1.0, **look)
    right.plot(rates, [r.cost_us for r in results], **look)


def _decorate(axes: Any, label: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("sample rate, Hz")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 300.0 * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(LogLocator(subs="all"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(alpha=0.3)
