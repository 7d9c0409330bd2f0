"""Manchester and Peck 2016, section IX: the free body, the damped body and the attitude filter, figures 1 to 7.

The paper compares with MATLAB's ODE45 and ODE15s at default tolerances; SciPy's RK45, BDF and LSODA at theirs are the
nearest relatives. It prints no tables: the rows below are its statements and what decides them here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

import attitude as att
from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.truth.free_body import free_motion
from sims.papers.drawing import save
from sims.papers.mp_systems import damped_rates, free_rates, midpoint_run
from sims.papers.table import Paper, Progress, Row, bound, close, statement
from sims.studies import sample_rate
from sims.studies.report import part
from sims.studies.sample_rate_figure import draw

NAME = "manchester-peck"
TITLE = "Manchester and Peck (2016): Quaternion variational integrators for spacecraft dynamics"

MOMENTS = np.array([1.0, 2.0, 3.0])  # kg m² (68)
START = att.State(q=[0.0, 0.0, 0.0, 1.0], omega=[np.pi / 4, -np.pi / 5, np.pi / 6])  # rad/s
FREE_STEP, FREE_TIME, LONG_STEPS = 0.2, 200.0, 1_000_000  # s, s
DAMPED_STEP, DAMPED_TIME, DAMPER_INERTIA = 0.3, 90.0, 0.2  # s, s, kg m²
DAMPING = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # N m s
ENERGY_LIMITS = {0.1: 0.03, 1.0: 0.02, 10.0: 0.003, 100.0: 0.001}  # relative, against Radau at 1e-10
STIFFEST = DAMPING[-1]
FILTERS, FILTER_RUNS = ("vi-step", "vi", "textbook"), 20  # a short version of the study of sample rates
INK, SECOND, THIRD, FOURTH = "#1f4e79", "#c55a11", "#7f7f7f", "#548235"


@dataclass(frozen=True)
class Motion:
    """Samples of a free or damped motion: `momentum` `(N, 3)` in inertial axes, N·m·s; `energy` `(N,)`, J."""

    t: Array
    momentum: Array
    energy: Array
    evaluations: int = 0
    seconds: float = 0.0

    @property
    def momentum_error(self) -> Array:
        """Relative error of the momentum vector."""
        return np.asarray(np.linalg.norm(self.momentum - self.momentum[0], axis=1) / np.linalg.norm(self.momentum[0]))

    @property
    def energy_error(self) -> Array:
        """Relative error of the energy."""
        return np.asarray(np.abs(self.energy / self.energy[0] - 1.0))


# ------------------------------------------------------------------ the motions
def _motion(t: Array, y: Array, evaluations: int = 0, seconds: float = 0.0) -> Motion:
    """From samples `y` `(N, 7)` or `(N, 10)` of `[q, ω]` or `[q, ω, ω_damper]`."""
    q, omega, damper = y[:, :4] / np.linalg.norm(y[:, :4], axis=1, keepdims=True), y[:, 4:7], y[:, 7:]
    momentum_B, energy = MOMENTS * omega, 0.5 * np.sum(MOMENTS * omega**2, axis=1)
    if damper.size:
        momentum_B = momentum_B + DAMPER_INERTIA * damper
        energy = energy + 0.5 * DAMPER_INERTIA * np.sum(damper**2, axis=1)
    return Motion(t, quaternion.rotate(q, momentum_B), energy, evaluations, seconds)


def _variational(propagator: att.Propagator, h: float, steps: int, every: int = 1) -> Motion:
    begin = perf_counter()
    run = propagator.run(START, h, steps, every=every)
    return Motion(run.t, run.momentum, run.energy, steps, perf_counter() - begin)


def _free_propagator() -> att.Propagator:
    return att.Propagator(att.RigidBody(np.diag(MOMENTS)))


def _damped_propagator(damping: float) -> att.Propagator:
    return att.Propagator(att.DampedGyrostat(np.diag(MOMENTS), damper_inertia=DAMPER_INERTIA, damping=damping))


def _solved(method: str, damping: float | None, time: float, **options: Any) -> Motion:
    """SciPy's solver, at default tolerances unless `options` say otherwise, with a compiled right-hand side."""
    start = np.concatenate([START.q, START.omega])
    if damping is None:
        rates: Any = lambda _, y: free_rates(y, MOMENTS)  # noqa: E731
    else:
        start = np.concatenate([start, np.zeros(3)])
        rates = lambda _, y: damped_rates(y, MOMENTS, DAMPER_INERTIA, damping)  # noqa: E731
    rates(0.0, start)  # compile outside the clock
    begin = perf_counter()
    result = solve_ivp(rates, (0.0, time), start, method, **options)
    return _motion(result.t, result.y.T, result.nfev, perf_counter() - begin)


def _midpoint(steps: int) -> Motion:
    start = np.concatenate([START.q, START.omega])
    rows = np.empty((steps + 1, 7))
    midpoint_run(start, MOMENTS, FREE_STEP, rows[:2])
    begin = perf_counter()
    midpoint_run(start, MOMENTS, FREE_STEP, rows)
    seconds = perf_counter() - begin
    return _motion(np.linspace(0.0, FREE_STEP * steps, steps + 1), rows, 2 * steps, seconds)


@cache
def _free() -> dict[str, Motion]:
    steps = round(FREE_TIME / FREE_STEP)
    return {
        "variational integrator": _variational(_free_propagator(), FREE_STEP, steps),
        "midpoint rule": _midpoint(steps),
        "RK45": _solved("RK45", None, FREE_TIME),
    }


@cache
def _long() -> Motion:
    return _variational(_free_propagator(), FREE_STEP, LONG_STEPS, every=1000)


@cache
def _damped(method: str, damping: float) -> Motion:
    """Motion with damper: "VI", or a SciPy method; "Radau" is the reference at 1e-10, sampled at the VI's times."""
    steps = round(DAMPED_TIME / DAMPED_STEP)
    if method == "VI":
        propagator = _damped_propagator(damping)
        return min((_variational(propagator, DAMPED_STEP, steps) for _ in range(5)), key=lambda run: run.seconds)
    if method == "Radau":
        times = DAMPED_STEP * np.arange(steps + 1)
        return _solved(method, damping, float(times[-1]), rtol=1e-10, atol=1e-10, t_eval=times)
    return _solved(method, damping, DAMPED_TIME)


# ------------------------------------------------------------------ the table
def _free_rows() -> list[Row]:
    vi, midpoint, rk45 = _free().values()
    long = _long()
    gain = [min(other.momentum_error[-1] / vi.momentum_error.max(), other.energy_error[-1] / vi.energy_error.max())
            for other in (midpoint, rk45)]  # fmt: skip
    return [
        bound("figure 1: VI, relative momentum error, 200 s", "conserved", vi.momentum_error.max(), 1e-14),
        bound("figure 2: VI, relative energy error, 200 s", "conserved", vi.energy_error.max(), 1e-14),
        statement("figures 1, 2: midpoint rule against VI, h = 0.2 s", "VI conserves, the others drift",
                  f"momentum {midpoint.momentum_error[-1]:.1e}, energy {midpoint.energy_error[-1]:.1e}", gain[0] > 1e6),
        statement("figures 1, 2: RK45 at default tolerances", "VI conserves, the others drift",
                  f"momentum {rk45.momentum_error[-1]:.1e}, energy {rk45.energy_error[-1]:.1e}", gain[1] > 1e6),
        bound("figure 3: momentum error, 1e6 steps", "round-off only", long.momentum_error.max(), 1e-12),
        bound("figure 3: energy error, 1e6 steps", "round-off only", long.energy_error.max(), 1e-12),
    ]  # fmt: skip


def _limit_rows() -> list[Row]:
    """Section IV: the discrete equation becomes Euler's as h goes to zero; its solution needs less than 180° a step."""
    exact, _ = free_motion(np.diag(MOMENTS), START.q, START.omega, 20.0)
    errors = [
        float(quaternion.angle_between(_free_propagator().run(START, 20.0 / n, n).final.q, exact)) for n in (2000, 4000)
    ]
    return [
        close("(33) as h → 0: order, exact motion", "recovers (21)", np.log2(errors[0] / errors[1]), 2.0, 0.05),
        _domain_row(),
        _jacobian_row(),
    ]


def _domain_row() -> Row:
    """Rate about a principal axis at which a step of 1 s stops having a solution; sin of the turn is ω h."""
    propagator, low, high = _free_propagator(), 0.5, 3.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        try:
            propagator.step(att.State(q=START.q, omega=[0.0, 0.0, middle]), 1.0)
            low = middle
        except att.StepError:
            high = middle
    # p = (2/h) s I φ has its greatest value, I/h, at φ = s = 1/√2
    return close("(31): greatest ω h of one step about an axis, rad", "increments below 180°; 90° here", low, 1.0, 1e-6)


def _jacobian_row() -> Row:
    """(69) by central differences: the exact linearisation at a large step."""
    propagator, h, e = _free_propagator(), 0.8, 1e-5
    _, Phi = propagator.step_with_jacobian(START, h)
    columns = []
    for axis in np.eye(3):
        ends = [propagator.step(att.State(q=START.q, omega=START.omega + s * e * axis), h).omega for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * e))
    error = float(np.abs(Phi[3:, 3:] - np.array(columns).T).max())
    return bound("(69): linearisation against differences, h = 0.8 s", "true at any step", error, 1e-8)


def _damped_rows(progress: Progress) -> list[Row]:
    rows = []
    for i, (damping, limit) in enumerate(ENERGY_LIMITS.items()):
        progress(f"damped body, C = {damping:g}", 0.2 + 0.1 * i)
        vi, reference = _damped("VI", damping), _damped("Radau", damping)
        error = float(np.abs(vi.energy / reference.energy - 1.0).max())
        rows += [
            bound(f"C = {damping:g}: VI energy against Radau at 1e-10", "realistic", error, limit),
            bound(f"C = {damping:g}: VI total momentum error", "conserved", vi.momentum_error.max(), 1e-13),
        ]
    return rows


def _cost_rows() -> list[Row]:
    vi, slow, fast = _damped("VI", STIFFEST), _damped("RK45", STIFFEST), _damped("RK45", DAMPING[0])
    steps = round(DAMPED_TIME / DAMPED_STEP)
    ratio = (len(slow.t) - 1) / steps
    return [
        statement("figure 4: RK45 against C, evaluations", "must shorten its steps; VI does not",
                  f"{fast.evaluations} at C = 0.1, {slow.evaluations} at C = 100; VI {steps} steps at both",
                  slow.evaluations > 100 * fast.evaluations),
        statement("figure 5: VI against RK45 at C = 100", "over 50 times faster",
                  f"{ratio:.1f} times fewer steps, {slow.seconds / vi.seconds:.0f} times less time", ratio > 50.0),
        bound("figure 5: VI energy against RK45, C = 100", "essentially the same",
              float(np.abs(vi.energy / np.interp(vi.t, slow.t, slow.energy) - 1.0)[1:].max()), 0.002),
        _stiff_row("BDF"),
        _stiff_row("LSODA"),
    ]  # fmt: skip


def _stiff_row(method: str) -> Row:
    """ODE15s's relatives gain energy where the damper can only take it away."""
    gained, swing = _rise(_damped(method, STIFFEST)), _rise(_damped("VI", STIFFEST))
    quantity = f"figure 6: {method}, default tolerances: greatest rise of energy after 1 s, J"
    return statement(quantity, "ODE15s: energy increases", f"{gained:.4f} (VI {swing:.5f})", gained > 10.0 * swing)


def _rise(run: Motion) -> float:
    """Greatest rise of the energy above an earlier value, once the first second's transient is over, J."""
    energy = run.energy[run.t > 1.0]
    return float(np.max(energy - np.minimum.accumulate(energy)))


def _filter_rows(results: list[sample_rate.Result]) -> list[Row]:
    """Section IX.C: "standard" is the textbook filter; the paper's takes one VI step for each sample."""
    rms = {(result.filter, result.rate_Hz): result.rms_deg for result in results}
    high, low = max(sample_rate.RATES), (0.2, 0.1)
    worse = [rms["textbook", rate] / rms["vi", rate] for rate in low]
    level = max(rms["vi", rate] for rate in sample_rate.RATES) / min(rms["vi", rate] for rate in sample_rate.RATES)
    reach = min(rate for rate in sample_rate.RATES if rms["vi-step", rate] < 1.1 * rms["vi", rate])
    return [
        statement(f"figure 7: RMS of standard and VI-MEKF at {high:g} Hz, deg", "nearly identical at high rates",
                  f"{rms['textbook', high]:.3f}, {rms['vi-step', high]:.3f}",
                  abs(rms["textbook", high] / rms["vi-step", high] - 1.0) < 0.02),
        statement("figure 7: RMS of standard over VI-MEKF with substeps at 0.2, 0.1 Hz", "very different at low rates",
                  f"{worse[0]:.1f}, {worse[1]:.0f}", worse[0] > 3.0 and worse[1] > 10.0),
        bound("figure 7: VI-MEKF with substeps, highest RMS over lowest, 10 to 0.05 Hz",
              "highly insensitive to sample rate", level, 1.5),  # each is known to 10 % from so few runs
        statement("figure 7: lowest rate at which one VI step per sample will do", "highly insensitive to sample rate",
                  f"{reach:g} Hz: below, the mean needs substeps, though the linearisation does not", reach <= 1.0),
    ]  # fmt: skip


def _filters(progress: Progress) -> list[sample_rate.Result]:
    return sample_rate.measure(FILTERS, sample_rate.RATES, FILTER_RUNS, sample_rate.SEED, progress)


# ------------------------------------------------------------------ the figures
def _axes(title: str, xlabel: str, ylabel: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(alpha=0.3)
    return figure, axes


def _error_figure(out: Path, number: int, what: str, quantity: str) -> Path:
    title = f"Figure {number}. {what} error for a free rigid body"
    figure, axes = _axes(title, "time, s", f"relative {what.lower()} error")
    for (name, run), colour in zip(_free().items(), (INK, SECOND, THIRD), strict=True):
        error = getattr(run, quantity)
        axes.semilogy(run.t[1:], np.maximum(error[1:], 1e-17), color=colour, label=name)
    axes.legend(loc="center right")
    return save(figure, out, f"{NAME}-fig{number}.png")


def _long_figure(out: Path) -> Path:
    run = _long()
    title = "Figure 3. Long-term error for a free rigid body, one million steps"
    figure, axes = _axes(title, "time, s", "relative error")
    axes.plot(run.t, run.momentum_error, color=INK, label="momentum")
    axes.plot(run.t, run.energy_error, color=SECOND, label="energy")
    axes.legend(loc="upper left")
    return save(figure, out, f"{NAME}-fig3.png")


def _time_figure(out: Path) -> Path:
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rk45, vi = ([_damped(name, damping) for damping in DAMPING] for name in ("RK45", "VI"))
    for axes, quantity, scale in ((left, "seconds", 1e3), (right, "evaluations", 1)):
        for runs, colour, name in ((rk45, SECOND, "RK45, default tolerances"), (vi, INK, "variational integrator")):
            axes.loglog(DAMPING, [scale * getattr(run, quantity) for run in runs], "o-", color=colour, label=name)
        axes.set_xlabel("damping constant C, N m s")
        axes.grid(alpha=0.3)
    left.set_ylabel("running time, ms")
    right.set_ylabel("RK45: evaluations, VI: steps")
    left.legend(loc="upper left")
    figure.suptitle("Figure 4. Running time, 90 s of motion: SciPy's RK45 with a compiled right-hand side, compiled VI")
    return save(figure, out, f"{NAME}-fig4.png")


def _energy_figure(out: Path, number: int, methods: tuple[str, ...]) -> Path:
    title = f"Figure {number}. Energy for rigid body with damper, C = {STIFFEST:g} N m s"
    figure, axes = _axes(title, "time, s", "total energy, J")
    vi = _damped("VI", STIFFEST)
    axes.plot(vi.t, vi.energy, color=INK, label="variational integrator", lw=2.5)
    for method, colour in zip(methods, (SECOND, FOURTH), strict=False):
        run = _damped(method, STIFFEST)
        axes.plot(run.t, run.energy, color=colour, label=f"{method}, default tolerances")
    reference = _damped("Radau", STIFFEST)
    axes.plot(reference.t, reference.energy, "k:", label="Radau at 1e-10")
    axes.set_ylim(0.99, 1.02)
    axes.legend(loc="upper right")
    return save(figure, out, f"{NAME}-fig{number}.png")


def _figures(out: Path, progress: Progress) -> list[Path]:
    progress("figures 1 to 3", 0.75)
    figures = [
        _error_figure(out, 1, "Momentum", "momentum_error"),
        _error_figure(out, 2, "Energy", "energy_error"),
        _long_figure(out),
    ]
    progress("figures 4 to 6", 0.85)
    return [*figures, _time_figure(out), _energy_figure(out, 5, ("RK45",)), _energy_figure(out, 6, ("BDF", "LSODA"))]


def reproduce(out: Path, progress: Progress) -> Paper:
    """Run both bodies and the filters, decide the paper's statements, draw figures 1 to 7 into `out`."""
    progress("free rigid body", 0.0)
    rows = _free_rows() + _limit_rows()
    rows += _damped_rows(progress)
    progress("running times against damping", 0.6)
    rows += _cost_rows()
    filters = _filters(part(progress, 0.65, 0.75))
    rows += _filter_rows(filters)
    figures = _figures(out, progress)
    title = f"Figure 7. MEKF attitude error against sample rate: {FILTER_RUNS} runs, 95 % intervals"
    figures.append(draw(filters, out, f"{NAME}-fig7.png", title))
    progress("done", 1.0)
    return Paper(NAME, TITLE, rows, figures)
