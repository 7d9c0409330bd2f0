"""Lee, Leok and McClamroch, chapter 6: every statement that can be measured, and figures of the conserved quantities.

The chapter prints no numbers. Its rows are conserved quantities (bounds), equilibria (residuals), frequencies, the
problems of section 6.7, and a reference run of the pendulum. "Corrected" marks where the print is wrong.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attitude.core.jit import Array
from sims.papers.drawing import save
from sims.papers.llm_book.orbit import orbit, planar
from sims.papers.llm_book.problems import problems
from sims.papers.llm_book.runs import (
    FREE,
    LUMPY_SHELLS,
    OMEGA_ORBIT,
    ORBIT,
    PENDULUM,
    PI0,
    PI_TWO,
    PLANAR,
    Q0,
    Q_ORBIT,
    Q_TWO,
    SYMMETRIC_ORBIT,
    Runs,
    change,
    long_runs,
    slope,
)
from sims.papers.llm_book.sections import free_body, general, pendulum
from sims.papers.table import Paper, Progress

NAME = "lee-leok-mcclamroch-book"
TITLE = "Lee, Leok and McClamroch: Lagrangian and Hamiltonian dynamics on SO(3) (chapter 6)"

STEPS = [0.04, 0.02, 0.01, 0.005, 0.0025]  # s, of the order figure


def reproduce(out: Path, progress: Progress) -> Paper:
    """Table of the chapter's statements, and four figures in `out`."""
    progress("a million steps of each system", 0.0)
    runs = long_runs()
    progress("equations of motion", 1 / 6)
    rows = general() + free_body(runs)
    progress("three-dimensional pendulum", 2 / 6)
    rows += pendulum(runs)
    progress("orbit and planar pendulum", 3 / 6)
    rows += orbit(runs) + planar(runs)
    progress("problems", 4 / 6)
    rows += problems(runs)
    progress("figures", 5 / 6)
    figures = [pendulum_figure(runs, out), orbit_figure(runs, out), others_figure(runs, out), order_figure(out)]
    progress("done", 1.0)
    return Paper(NAME, TITLE, rows, figures)


# ------------------------------------------------------------------ figures
def pendulum_figure(runs: Runs, out: Path) -> Path:
    """Energy and vertical momentum of the pendulum over a million steps."""
    kept = PENDULUM.conserved(runs.pendulum.q, runs.pendulum.momentum)
    figure = Figure(figsize=(9, 6), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    _band(top, runs.pendulum.t, kept["energy"] - kept["energy"][0], "H − H(0), J", "energy, h = 0.01 s")
    _roundoff(bottom, runs.pendulum.t, change(kept["vertical momentum"]), "|h − h(0)|, N m s", "vertical momentum")
    bottom.set_xlabel("time, s")
    figure.suptitle("Three-dimensional pendulum, 1,000,000 steps")
    return _save(figure, out, "pendulum")


def orbit_figure(runs: Runs, out: Path) -> Path:
    """H, the Jacobi integral, and the spin of a symmetric body in orbit."""
    figure = Figure(figsize=(9, 8), layout="constrained")
    top, middle, bottom = figure.subplots(3, 1, sharex=True)
    orbits = runs.orbit.t / (2.0 * np.pi)
    energy = ORBIT.energy(runs.orbit.q, runs.orbit.momentum)
    jacobi = ORBIT.conserved(runs.orbit.q, runs.orbit.momentum)["Jacobi integral"]
    spin = SYMMETRIC_ORBIT.conserved(runs.symmetric_orbit.q, runs.symmetric_orbit.momentum)["spin"]
    _band(top, orbits, energy - energy[0], "H − H(0), J", "H: not conserved in a prescribed orbit")
    _band(middle, orbits, jacobi - jacobi[0], "C − C(0), J", "Jacobi integral C = H − ω0 e2ᵀRΠ, h = 0.02 s")
    _roundoff(bottom, orbits, change(spin), "|Π3 − Π3(0)|, N m s", "momentum about the axis of a symmetric body")
    bottom.set_xlabel("time, orbits")
    figure.suptitle("Rigid body in a circular orbit, 1,000,000 steps")
    return _save(figure, out, "orbit")


def others_figure(runs: Runs, out: Path) -> Path:
    """Free body, coupled shells and planar pendulum."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    free = FREE.conserved(runs.free.q, runs.free.momentum)
    shells = LUMPY_SHELLS.conserved(runs.shells.q, runs.shells.momentum)
    energy = PLANAR.energy(runs.planar.q, runs.planar.momentum)
    label = "deviation, J or N m s"
    _roundoff(axes[0], runs.free.t, change(free["energy"]), label, "free body, h = 0.05 s", "|H − H(0)|")
    _roundoff(axes[0], runs.free.t, change(free["inertial momentum"]), label, "free body, h = 0.05 s", "‖RΠ − RΠ(0)‖")
    axes[0].legend(loc="lower right", markerscale=6)
    error, moved = shells["energy"] - shells["energy"][0], change(shells["total momentum"])
    _band(axes[1], runs.shells.t, error, "H − H(0), J", "two concentric shells: energy, h = 0.01 s")
    _roundoff(axes[2], runs.shells.t, moved, "‖ΣRΠ − ΣRΠ(0)‖, N m s", "two concentric shells: momentum")
    _band(axes[3], runs.planar.t, energy - energy[0], "H − H(0), J", "planar pendulum: energy, h = 0.01 s")
    for ax in axes:
        ax.set_xlabel("time, s")
    figure.suptitle("Conserved quantities, 1,000,000 steps each")
    return _save(figure, out, "others")


def order_figure(out: Path) -> Path:
    """Error after 5 s against the step."""
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    ax = figure.subplots()
    cases = {
        "free body": (FREE, Q0, PI0),
        "pendulum": (PENDULUM, Q0, PI0),
        "orbit": (ORBIT, Q_ORBIT, ORBIT.momentum(OMEGA_ORBIT)),
        "shells": (LUMPY_SHELLS, Q_TWO, PI_TWO),
    }
    for (name, (system, q, p)), marker in zip(cases.items(), "osd^", strict=True):
        order, errors = slope(system, q, p, 5.0, STEPS)
        ax.loglog(STEPS, errors, marker=marker, label=f"{name}, slope {order:.3f}")
    ax.loglog(STEPS, 0.3 * np.square(STEPS), "k--", label="slope 2")
    ax.set(xlabel="step h, s", ylabel="error after 5 s, rad or N m s", title="Discrete flow against DOP853 at 1e-13")
    ax.grid(visible=True, which="both", alpha=0.3)
    ax.legend()
    return _save(figure, out, "order")


def _band(ax: Axes, t: Array, values: Array, label: str, title: str) -> None:
    """Values as points, and the mean of every hundredth part of the run, which shows a drift if there is one."""
    ax.plot(t, values, ".", ms=1.0, alpha=0.5)
    parts = len(values) // 100 * 100
    means = values[:parts].reshape(100, -1).mean(axis=1)
    ax.plot(t[:parts].reshape(100, -1).mean(axis=1), means, lw=1.5, label="mean of 1 % of the run")
    ax.set(ylabel=label, title=title)
    ax.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
    ax.grid(visible=True, alpha=0.3)
    ax.legend(loc="upper right")


def _roundoff(ax: Axes, t: Array, values: Array, ylabel: str, title: str, name: str | None = None) -> None:
    ax.semilogy(t[1:], _floor(values)[1:], ".", ms=1.5, label=name)
    ax.set(ylabel=ylabel, title=title)
    ax.grid(visible=True, alpha=0.3)


def _floor(values: Array) -> Array:
    """Zeros lifted to 1e-17, so that a logarithmic axis shows them."""
    return np.maximum(values, 1e-17)


def _save(figure: Figure, out: Path, what: str) -> Path:
    return save(figure, out, f"{NAME}-{what}.png")
