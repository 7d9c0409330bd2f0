"""Are the shipped filters as good as they say? NEES, NIS and innovations over runs and times; covariance and spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from attitude.core.jit import Array
from attitude.estimation import consistency as statistics
from attitude.estimation.mekf import MEKF
from attitude.estimation.recorded import Samples
from sims.papers.table import Progress, Row, bound, statement
from sims.studies import consistent_truth as case
from sims.studies import recordings
from sims.studies.parallel import spread
from sims.studies.report import Study, part

NAME = "consistency"
TITLE = "Consistency of the filters: NEES, NIS, innovations, covariance against spread"
RUNS, SEED = 200, 1

STEPS, CONVERGED = 1000, 100  # samples of a run, and how many first ones do not count
LAGS, CORRELATED = 20, 200  # samples: of the innovations' correlation; for how long NEES may be correlated
WHITE_RUNS = 20  # runs taken call by call for their innovations
SPREAD_RUNS, SPREAD_TIME, SPREAD_EVERY = 2000, 100, 4  # runs without updates; samples, of which every fourth is kept
CHUNK = 10  # runs of a task
STATES, COMPONENTS = 6, 4  # of the error; of the two vectors measured at a time


@dataclass(frozen=True)
class Curve:
    """Means over runs `(N,)` at the times `t` `(N,)`, s, with their 95 % interval; and that of the whole mean."""

    t: Array
    mean: Array
    interval: tuple[float, float]
    total: float
    total_interval: tuple[float, float]
    effective: float

    @property
    def inside(self) -> float:
        """Share of the times at which the mean over runs lies in its interval."""
        return statistics.share_inside(self.mean, self.interval)


@dataclass(frozen=True)
class Spread:
    """Standard deviations `(K, 6)` at the times `t` `(K,)`, s: what P predicts, and that of the runs."""

    t: Array
    predicted: Array
    observed: Array

    @property
    def ratio(self) -> Array:
        """Observed over predicted `(6,)` at the end."""
        return np.asarray(self.observed[-1] / self.predicted[-1])


@dataclass(frozen=True)
class Findings:
    """Everything about one filter; `correlation` `(LAGS + 1,)` of its innovations, and the bound for all lags."""

    filter: str
    nees: Curve
    nis: Curve
    correlation: Array
    correlation_bound: float
    spread: Spread


# ------------------------------------------------------------------ with updates
def _generator(name: str, seed: int, run: int, kind: int) -> np.random.Generator:
    return np.random.default_rng([seed, case.FILTERS.index(name), kind, run])


def squares(name: str, seed: int, steps: int, run: int) -> tuple[Array, Array]:
    """NEES and NIS `(steps,)` of one run, NIS of both vectors together."""
    rng = _generator(name, seed, run, 0)
    true = case.truth(name, rng, steps)
    estimates = case.follow(case.estimator(name), true, case.samples(rng, true))
    return statistics.nees(case.errors(estimates, true), estimates.P), estimates.nis.sum(axis=1)


def innovations(name: str, seed: int, steps: int, run: int) -> Array:
    """Whitened innovations `(steps, 4)` of the same run, taken call by call."""
    rng = _generator(name, seed, run, 0)
    true = case.truth(name, rng, steps)
    vectors, est = np.asarray(case.samples(rng, true).vectors), case.estimator(name)
    rows = np.empty((steps, COMPONENTS))
    for k in range(steps):
        if isinstance(est, MEKF):
            est.predict(case.INTERVAL)
        elif true.gyro is not None:
            est.predict(true.gyro[k], case.INTERVAL)
        for i, reference in enumerate(recordings.REFERENCES):
            est.update_vector(vectors[k, i], reference, case.NOISE)
            rows[k, 2 * i : 2 * i + 2] = statistics.whitened(est.y, est.S)
    return rows


def curve(values: Array, dof: int, converged: int) -> Curve:
    """Means of squares `(R, N)` over runs and over everything, after the first `converged` times."""
    kept = values[:, converged:]
    effective = statistics.effective_count(kept - dof, min(CORRELATED, kept.shape[1] // 2))
    pointwise, whole = (statistics.mean_interval(dof, count) for count in (len(kept), effective))
    t = case.times(values.shape[1])[converged:]
    return Curve(t, kept.mean(axis=0), pointwise, float(kept.mean()), whole, effective)


# ------------------------------------------------------------------ without
def drift(name: str, seed: int, steps: int, every: int, run: int) -> tuple[Array, Array]:
    """Errors `(K, 6)` of one run without updates, and the standard deviations `(K, 6)` its filter predicts."""
    true = case.quiet_truth(name, _generator(name, seed, run, 1), steps)
    estimates = case.follow(case.quiet_estimator(name), true, Samples())
    predicted = np.sqrt(np.diagonal(estimates.P, axis1=1, axis2=2))
    return case.errors(estimates, true)[every - 1 :: every], predicted[every - 1 :: every]


def covariance_against_spread(
    name: str, runs: int, seed: int, progress: Progress, steps: int = SPREAD_TIME, every: int = SPREAD_EVERY
) -> Spread:
    """P predicted without updates, against the spread of `runs` runs."""
    results = _over_runs(partial(drift, name, seed, steps, every), runs, f"{name}: spread", progress)
    errors = np.array([error for error, _ in results])
    return Spread(case.times(steps)[every - 1 :: every], results[0][1], np.sqrt(np.mean(errors**2, axis=0)))


# ------------------------------------------------------------------ the study
def _over_runs(one: Callable[[int], Any], runs: int, what: str, progress: Progress) -> list[Any]:
    """`one` of each run, in threads: the truth and the filter are compiled."""
    chunks = [range(first, min(first + CHUNK, runs)) for first in range(0, runs, CHUNK)]
    parts = spread(lambda chunk: [one(run) for run in chunk], chunks, what, progress)
    return [result for chunk in parts for result in chunk]


def examine(
    name: str, runs: int, seed: int, progress: Progress, *, steps: int = STEPS, converged: int = CONVERGED,
    spread_runs: int = SPREAD_RUNS,
) -> Findings:  # fmt: skip
    """Everything about the filter `name`."""
    results = _over_runs(partial(squares, name, seed, steps), runs, f"{name}: NEES, NIS", part(progress, 0.0, 0.4))
    nees, nis = (np.array(values) for values in zip(*results, strict=True))
    white = [innovations(name, seed, steps, run)[converged:] for run in range(min(runs, WHITE_RUNS))]
    progress(f"{name}: innovations", 0.6)
    products = len(white) * (steps - converged - LAGS) * COMPONENTS
    return Findings(
        name, curve(nees, STATES, converged), curve(nis, COMPONENTS, converged),
        statistics.autocorrelation(np.array(white), LAGS),
        statistics.whiteness_bound(products, 1.0 - 0.05 / LAGS),  # all lags together, 95 %
        covariance_against_spread(name, spread_runs, seed, part(progress, 0.6, 1.0)),
    )  # fmt: skip


def verdicts(findings: Findings) -> list[Row]:
    """What must show of one filter."""
    rows = []
    for what, curve in (("NEES", findings.nees), ("NIS", findings.nis)):
        low, high = curve.total_interval
        rows += [
            statement(f"{findings.filter}: mean {what}, all runs and times", f"in {low:.4f} to {high:.4f} (95 %)",
                      f"{curve.total:.4f}", low <= curve.total <= high),
            statement(f"{findings.filter}: times at which the mean {what} over runs is in its 95 % interval",
                      "at least 90 %", f"{100 * curve.inside:.1f} %", curve.inside >= 0.9),
        ]  # fmt: skip
    correlation, off = np.abs(findings.correlation[1:]).max(), np.abs(findings.spread.ratio - 1.0).max()
    return [
        *rows,
        bound(f"{findings.filter}: innovations, greatest correlation at lags 1 to {LAGS}", "white",
              float(correlation), findings.correlation_bound),
        bound(f"{findings.filter}: spread without updates over P's sigma, less 1, worst axis", "within 10 %",
              float(off), 0.1),
    ]  # fmt: skip


def table(all_findings: Sequence[Findings]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines, one for each filter."""
    square = ("mean {}", "95 %", "times inside")
    heads = ["filter", *(head.format(what) for what in ("NEES", "NIS") for head in square), "innovations", "spread / P"]
    lines = []
    for f in all_findings:
        cells = [f.filter]
        for curve in (f.nees, f.nis):
            low, high = curve.total_interval
            cells += [f"{curve.total:.3f}", f"{low:.3f} to {high:.3f}", f"{100 * curve.inside:.1f} %"]
        ratio = f.spread.ratio
        lines.append([*cells, f"{np.abs(f.correlation[1:]).max():.4f}", f"{ratio.min():.3f} to {ratio.max():.3f}"])
    return heads, lines


def record(f: Findings) -> dict[str, Any]:
    """The numbers of one filter, for the document."""
    curves = {
        what: {"mean": c.total, "interval": list(c.total_interval), "independent_values": c.effective,
               "pointwise_interval": list(c.interval), "share_of_times_inside": c.inside}
        for what, c in (("nees", f.nees), ("nis", f.nis))
    }  # fmt: skip
    return {
        "filter": f.filter, **curves, "innovation_correlation": f.correlation.tolist(),
        "innovation_correlation_bound": f.correlation_bound, "spread_over_predicted_sigma": f.spread.ratio.tolist(),
    }  # fmt: skip


def settings(steps: int = STEPS, converged: int = CONVERGED, spread_runs: int = SPREAD_RUNS) -> dict[str, Any]:
    """What the table depends on, for the report."""
    return {
        "samples_per_run": steps, "first_samples_left_out": converged, "interval_s": case.INTERVAL,
        "vector_noise_deg": float(np.degrees(case.NOISE)), "torque_noise_N_m_sqrt_s": case.TORQUE_NOISE,
        "arw_rad_per_sqrt_s": case.ARW, "rrw_rad_per_s_sqrt_s": case.RRW, "runs_without_updates": spread_runs,
        "innovation_runs": WHITE_RUNS,
    }  # fmt: skip


def run(
    runs: int, seed: int, out: Path, progress: Progress, *, steps: int = STEPS, converged: int = CONVERGED,
    spread_runs: int = SPREAD_RUNS,
) -> Study:  # fmt: skip
    """The study over `runs` seeded runs of each filter; the figures go into `out`."""
    from sims.studies.consistency_figures import draw, draw_spread

    found = []
    for index, name in enumerate(case.FILTERS):
        share = part(progress, 0.49 * index, 0.49 * (index + 1))
        found.append(examine(name, runs, seed, share, steps=steps, converged=converged, spread_runs=spread_runs))
    figures = [*(draw(f, runs, out, f"{NAME}-{f.filter.lower()}.png") for f in found)]
    figures.append(draw_spread(found, spread_runs, out, f"{NAME}-spread.png"))
    progress("done", 1.0)
    heads, lines = table(found)
    rows = [row for f in found for row in verdicts(f)]
    chosen = settings(steps, converged, spread_runs)
    return Study(NAME, TITLE, runs, seed, chosen, [record(f) for f in found], heads, lines, rows, figures)
