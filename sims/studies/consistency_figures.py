"""The figures of the consistency study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from sims.papers.drawing import save

if TYPE_CHECKING:
    from sims.studies.consistency import Curve, Findings

INK, SECOND, SHADE = "#1f4e79", "#c55a11", "#9dc3e6"
AXES = ("x", "y", "z")
COLOURS = ("#1f4e79", "#c55a11", "#548235")


def draw(findings: Findings, runs: int, out: Path, name: str) -> Path:
    """Mean NEES and NIS against time with their intervals, and the correlation of the innovations."""
    figure = Figure(figsize=(10.0, 7.5), layout="constrained")
    nees, nis, white = figure.subplots(3, 1)
    _curve(nees, findings.nees, "mean NEES")
    _curve(nis, findings.nis, "mean NIS")
    nees.legend(loc="upper right", fontsize=8, ncols=3)
    lags = np.arange(1, findings.correlation.size)
    white.axhspan(-findings.correlation_bound, findings.correlation_bound, color=SHADE, alpha=0.5, lw=0)
    white.stem(lags, findings.correlation[1:], linefmt=INK, markerfmt="o", basefmt="k-")
    white.set_xlabel("lag, samples")
    white.set_ylabel("correlation of\ninnovations")
    white.set_xticks(lags)
    white.set_ylim(*(sign * 1.6 * max(findings.correlation_bound, np.abs(findings.correlation[1:]).max())
                     for sign in (-1, 1)))  # fmt: skip
    figure.suptitle(f"{findings.filter}: {runs} runs, 95 % intervals shaded")
    return save(figure, out, name)


def _curve(axes: Any, curve: Curve, label: str) -> None:
    axes.axhspan(*curve.interval, color=SHADE, alpha=0.5, lw=0, label="95 % of times should lie here")
    axes.plot(curve.t, curve.mean, color=INK, lw=0.8, label="mean over runs")
    axes.axhline(curve.total, color=SECOND, lw=1.2, label=f"mean over all, {curve.total:.3f}")
    middle, reach = 0.5 * sum(curve.interval), curve.interval[1] - curve.interval[0]
    axes.set_ylim(min(middle - 1.1 * reach, curve.mean.min()), max(middle + 1.3 * reach, curve.mean.max()))
    axes.set_xlabel("time, s")
    axes.set_ylabel(label)


def draw_spread(all_findings: Sequence[Findings], runs: int, out: Path, name: str) -> Path:
    """Predicted standard deviations without updates, and those of the runs."""
    figure = Figure(figsize=(10.0, 6.5), layout="constrained")
    for column, findings in zip(figure.subplots(2, 2).T, all_findings, strict=True):
        labels = ("attitude, deg", "rate, deg/s" if findings.filter == "MEKF" else "bias, deg/s")
        for block, (axes, label) in enumerate(zip(column, labels, strict=True)):
            _spread(axes, findings, 3 * block)
            axes.set_ylabel(f"standard deviation of\n{label}")
        column[0].set_title(findings.filter)
        column[0].legend(fontsize=8)
        column[1].set_xlabel("time without updates, s")
    figure.suptitle(f"Covariance predicted (lines) and spread of {runs} runs (dots)")
    return save(figure, out, name)


def _spread(axes: Any, findings: Findings, first: int) -> None:
    spread = findings.spread
    for k, (axis, colour) in enumerate(zip(AXES, COLOURS, strict=True)):
        axes.plot(spread.t, np.degrees(spread.predicted[:, first + k]), color=colour, label=axis)
        axes.plot(spread.t, np.degrees(spread.observed[:, first + k]), "o", color=colour, ms=3.5)
    axes.set_ylim(0.0, np.degrees(spread.observed[:, first : first + 3].max()) * 1.15)
    axes.grid(alpha=0.3)
