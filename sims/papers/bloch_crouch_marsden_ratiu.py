"""Bloch, Crouch, Marsden, Ratiu 2002: the symmetric representation of the rigid body equations on SO(n).

The paper prints theorems and no tables. Every statement that can be measured is a row: the largest residual over
n = 3, 4, 5, with a bound; reference numbers are rows of digits. The statements are in `sims/papers/bcmr`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from sims.papers.bcmr import conserved, continuous, control, discrete, reference, structure
from sims.papers.bcmr.cases import ATTITUDE, ROUNDOFF, case
from sims.papers.bcmr.conserved import Drift
from sims.papers.drawing import save
from sims.papers.table import Paper, Progress, Row

NAME = "bloch-crouch-marsden-ratiu"
TITLE = "Bloch, Crouch, Marsden, Ratiu 2002: the symmetric representation of the rigid body equations on SO(n)"
FLOOR = 1e-17  # what a logarithmic axis shows for zero


def reproduce(out: Path, progress: Progress) -> Paper:
    """Table of every statement that can be measured, and three figures in `out`."""
    groups = {
        "reference numbers": reference.rows, "continuous systems": continuous.rows,
        "symplectic structure": structure.rows, "discrete systems": discrete.rows, "optimal control": control.rows,
    }  # fmt: skip
    rows: list[Row] = []
    for k, (what, group) in enumerate(groups.items()):
        progress(what, k / 7)
        rows += group()
    progress("long runs", 5 / 7)
    drifts = {n: conserved.drift(n) for n in conserved.DIMENSIONS}
    rows += conserved.rows(drifts)
    progress("figures", 6 / 7)
    figures = [drift_figure(drifts, out), diagram_figure(out), order_figure(out)]
    progress("done", 1.0)
    return Paper(NAME, TITLE, rows, figures)


def drift_figure(drifts: dict[int, Drift], out: Path) -> Path:
    """Conserved quantities against time, one panel for each n."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for ax, (n, run) in zip(axes, drifts.items(), strict=True):
        for name, curve in run.curves.items():
            ax.semilogy(run.t[1:], np.maximum(curve[1:], FLOOR), label=name, lw=1.0)
        ax.set(title=f"SO({n})", ylim=(1e-16, 1e-10))
        ax.grid(alpha=0.3)
    for ax in axes[2:]:
        ax.set_xlabel("time, s")
    for ax in axes[::2]:
        ax.set_ylabel("relative deviation")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return _save(figure, out, "conserved")


def diagram_figure(out: Path) -> Path:
    """Residuals of the commutative diagram against n."""
    dimensions = range(2, 13)
    residuals = [discrete.diagram_residuals(case(n)) for n in dimensions]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    for marker, face in zip("osd^", residuals[0], strict=True):
        label = face.replace("^H", "ᴴ").replace("^L", "ᴸ")
        ax.semilogy(dimensions, [max(r[face], FLOOR) for r in residuals], marker + "-", label=label, lw=1.0, ms=5)
    ax.axhline(ROUNDOFF, color="k", ls="--", lw=1.0, label="bound")
    ax.set(xlabel="dimension n", ylabel="largest entry of the difference", title="Commutative diagram, h = 0.3 s",
           ylim=(1e-17, 1e-11), xticks=list(dimensions))  # fmt: skip
    ax.grid(alpha=0.3)
    ax.legend(ncols=3, loc="upper center", fontsize=9)
    return _save(figure, out, "diagram")


def order_figure(out: Path) -> Path:
    """Error after 4 s against the step."""
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    ax = figure.subplots()
    for n, colour in zip(ATTITUDE, ("C0", "C1", "C2"), strict=True):
        simultaneous, printed = discrete.order_errors(n)
        curves = ((printed, "s--", "algorithm 2 from (Q0, M0)"), (simultaneous, "o-", "simultaneous pair"))
        for errors, style, what in curves:
            ax.loglog(discrete.ORDER_STEPS, errors, style, color=colour, ms=4, lw=1.0, label=f"SO({n}), {what}")
    ax.set(xlabel="step h, s", ylabel="attitude error after 4 s", title="Moser–Veselov against DOP853: slopes 2 and 1")
    ax.grid(alpha=0.3, which="both")
    figure.legend(loc="outside right upper", fontsize=9)
    return _save(figure, out, "order")


def _save(figure: Figure, out: Path, what: str) -> Path:
    return save(figure, out, f"{NAME}-{what}.png")
