"""The figure of the detumble study: every run's rate against time, and how many runs are done by when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from attitude.core.jit import Array
from sims.papers.drawing import save
from sims.studies import detumble as study

if TYPE_CHECKING:
    from sims.studies.detumble import Flown

INK, SECOND, SHADE = "#1f4e79", "#c55a11", "#9dc3e6"
STYLES = {"detumbled_s": (INK, "-"), "settled_s": (SECOND, "--"), "mode_left_s": ("#548235", ":")}


def draw(flown: Sequence[Flown], curves: Array, row_s: float, period: float, out: Path, name: str) -> Path:
    """Rates `(R, N)`, deg/s, a row each `row_s` seconds, left; shares of runs right; time in orbits of `period`, s."""
    figure = Figure(figsize=(12.0, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _rates(left, curves, np.linspace(0.0, row_s * (curves.shape[1] - 1) / period, curves.shape[1]))
    _shares(right, flown, period)
    for axes, place in ((left, "upper right"), (right, "lower right")):
        axes.axvline(study.GOAL, color="black", lw=1.0, ls=(0, (6, 3)), label=f"goal, {study.GOAL:g} orbits")
        axes.legend(loc=place, fontsize=9)
        axes.set_xlim(0.0, study.ORBITS)
        axes.set_xlabel(f"time from the start, orbits of {period / 60.0:.1f} min")
        axes.grid(alpha=0.3)
    low, high = study.TUMBLE
    tumbles = f"{len(flown)} tumbles of {low:g} to {high:g} deg/s"
    figure.suptitle(f"{tumbles}, random attitude, date, orbital plane and place in the orbit")
    return save(figure, out, name)


def _rates(axes: Any, curves: Array, orbits: Array) -> None:
    axes.plot(orbits, curves.T, color=INK, lw=0.5, alpha=0.3)
    axes.plot([], [], color=INK, lw=0.8, alpha=0.6, label="each run")
    axes.plot(orbits, np.median(curves, axis=0), color=SECOND, lw=2.0, label="median over runs")
    axes.axhline(study.LIMIT, color="black", lw=1.2, label=f"limit, {study.LIMIT:g} deg/s")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("true rate, deg/s")


def _shares(axes: Any, flown: Sequence[Flown], period: float) -> None:
    """Share of the runs that are done against time: a run that never is leaves the line below 100 %."""
    shares = 100.0 * np.arange(len(flown) + 1) / len(flown)
    for name, (colour, line) in STYLES.items():
        orbits = np.sort(study.times(flown, name)) / period
        reached = np.isfinite(orbits)
        steps = np.concatenate([[0.0], orbits[reached], [study.ORBITS]])
        heights = shares[: reached.sum() + 1]
        axes.step(steps, np.append(heights, heights[-1]), where="post", color=colour, ls=line, label=study.WHATS[name])
    _median(axes, study.quantiles(study.times(flown, "detumbled_s") / period))
    axes.set_ylim(0.0, 104.0)
    axes.set_ylabel("share of the runs, %")


def _median(axes: Any, q: study.Quantiles) -> None:
    """With its interval, if there are runs enough for one."""
    low, high = q.median_interval
    if np.isfinite([low, high]).all():
        axes.errorbar([q.median], [50.0], xerr=[[q.median - low], [high - q.median]], fmt="o", color=INK, capsize=4,
                      label=f"median {q.median:.2f} orbits, 95 % {low:.2f} to {high:.2f}")  # fmt: skip
