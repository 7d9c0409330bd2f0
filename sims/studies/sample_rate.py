"""Attitude error against sample rate (MP 2016, figure 7): the variational filter, what it is compared with, the ideal.

Every run has the same number of updates at every rate, so that a filter that does not care about the rate shows a
level line. The truth is the exact free motion; the filters start from TRIAD on the first pair of vectors and from a
rate known to 0.1 °/s, which after the longest interval, 20 s, is 2°: a start any filter with the right model can use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from attitude.core.jit import Array
from attitude.estimation.baselines import NAMES, make_filter
from attitude.estimation.consistency import attitude_error
from attitude.estimation.recorded import Samples
from attitude.estimation.wahba import triad_with_covariance
from attitude.truth.free_body import free_motion
from sims.papers.table import Progress, Row, statement
from sims.studies import recordings
from sims.studies.parallel import spread
from sims.studies.report import Study, part

NAME = "sample-rate"
TITLE = "RMS attitude error against sample rate (Manchester and Peck 2016, figure 7)"
RUNS, SEED = 100, 2016

RATES = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05)  # Hz
UPDATES, SETTLED = 100, 50  # samples of a run, and how many of the last ones count
NOISE = np.radians(1.0)  # rad, per axis of each vector
RATE_SIGMA = np.radians(0.1)  # rad/s, per axis, of the rate at the start
TORQUE_NOISE = 1e-6  # N m √s, assumed by every filter; the truth has none
NEAR_IDEAL = 1.05  # RMS over that of the ideal filter
LOST = np.radians(10.0)  # rad: a run of greater RMS error follows nothing
IN_PYTHON = ("usque", "ideal")  # filters that hold the interpreter
CHUNK = 5  # runs of a task
COST_TIME = 0.05  # s: a cost is the best of as many runs as fit


@dataclass(frozen=True)
class Recording:
    """What every filter of one run is given, and the truth: `q` `(N, 4)`; samples at the times `t` `(N,)`, s."""

    t: Array
    q: Array
    samples: Samples
    start: tuple[Array, Array, Array]  # attitude, rate, covariance


@dataclass(frozen=True)
class Chunk:
    """Runs `first` to `last` of one filter at one rate."""

    filter: str
    rate: float
    seed: int
    first: int
    last: int


@dataclass(frozen=True)
class Result:
    """RMS attitude error with its 95 % interval over runs, deg; runs that were lost; time per update, µs."""

    filter: str
    rate_Hz: float
    runs: int
    rms_deg: float
    low_deg: float
    high_deg: float
    lost: int
    cost_us: float


# ------------------------------------------------------------------ one run
@lru_cache(maxsize=len(RATES))
def _truth(rate: float) -> tuple[Array, Array]:
    """Times and attitudes, the start included."""
    t = np.arange(UPDATES + 1) / rate
    return t, free_motion(np.diag(recordings.MOMENTS), recordings.ATTITUDE, recordings.RATE, t)[0]


def record(rate: float, seed: int, run: int) -> Recording:
    """The data of one run: the same for every filter, whatever else is computed."""
    rng = np.random.default_rng([seed, round(1e6 * rate), run])
    t, q = _truth(rate)
    b = recordings.vectors(rng, q, recordings.REFERENCES, NOISE)
    (b1, b2), (r1, r2) = b[0], recordings.REFERENCES
    q0, covariance = triad_with_covariance(b1, b2, r1, r2, NOISE)
    P = np.diag(np.full(6, RATE_SIGMA**2))
    P[:3, :3] = covariance
    omega = recordings.RATE + RATE_SIGMA * rng.standard_normal(3)
    return Recording(t[1:], q[1:], Samples(b[1:], recordings.REFERENCES, NOISE), (q0, omega, P))


def angles(name: str, recording: Recording) -> Array:
    """Attitude error `(N,)`, rad, of the filter `name`; half a turn where it has no answer."""
    estimates = _filter(name, recording).run(recording.t, recording.samples)
    error = np.linalg.norm(attitude_error(estimates.q, recording.q), axis=-1)
    return np.asarray(np.where(np.isfinite(error), error, np.pi))


def _filter(name: str, recording: Recording) -> Any:
    q, omega, P = recording.start
    return make_filter(name, np.diag(recordings.MOMENTS), q, omega, P, TORQUE_NOISE)


def mean_squares(chunk: Chunk) -> Array:
    """Mean square error, rad², of each run, over its settled part."""
    runs = [angles(chunk.filter, record(chunk.rate, chunk.seed, run)) for run in range(chunk.first, chunk.last)]
    return np.array([np.mean(angle[-SETTLED:] ** 2) for angle in runs])


def cost(name: str, rate: float, seed: int) -> float:
    """Time of one update (predict, two vectors) in a recorded run, s: the best of a few."""
    recording, best = record(rate, seed, 0), np.inf
    angles(name, recording)  # compile, import and fill caches outside the clock
    begin = perf_counter()
    while perf_counter() - begin < COST_TIME:
        est, start = _filter(name, recording), perf_counter()
        est.run(recording.t, recording.samples)
        best = min(best, perf_counter() - start)
    return float(best / UPDATES)


# ------------------------------------------------------------------ all runs
def interval(squares: Array, confidence: float = 0.95, draws: int = 2000) -> tuple[float, float]:
    """Bootstrap interval of the root of the mean of `squares` `(R,)`, one of each run."""
    picks = np.random.default_rng(0).integers(squares.size, size=(draws, squares.size))
    tail = 0.5 * (1.0 - confidence)
    low, high = np.quantile(np.sqrt(squares[picks].mean(axis=1)), [tail, 1.0 - tail])
    return float(low), float(high)


def simulate(
    names: Sequence[str], rates: Sequence[float], runs: int, seed: int, progress: Progress
) -> dict[tuple[str, float], Array]:
    """Mean squares `(runs,)`, rad², of every filter at every rate; same data for all filters, any number of cores."""
    quick, slow = ([n for n in names if (n in IN_PYTHON) is held] for held in (False, True))
    share = 0.1 if slow else 1.0
    squares = _spread(quick, rates, runs, seed, part(progress, 0.0, share), processes=False)
    if slow:
        squares |= _spread(slow, rates, runs, seed, part(progress, share, 1.0), processes=True)
    return squares


def _spread(
    names: Sequence[str], rates: Sequence[float], runs: int, seed: int, progress: Progress, *, processes: bool
) -> dict[tuple[str, float], Array]:
    chunks = [
        Chunk(name, rate, seed, first, min(first + CHUNK, runs))
        for rate in sorted(rates)  # the longest first: no core is left with one at the end
        for name in names
        for first in range(0, runs, CHUNK)
    ]
    parts = spread(mean_squares, chunks, "runs of " + ", ".join(names), progress, processes=processes)
    collected: dict[tuple[str, float], list[Array]] = {}
    for chunk, result in zip(chunks, parts, strict=True):
        collected.setdefault((chunk.filter, chunk.rate), []).append(result)
    return {key: np.concatenate(pieces) for key, pieces in collected.items()}


def summarise(squares: dict[tuple[str, float], Array], costs: dict[tuple[str, float], float]) -> list[Result]:
    """One record for each filter and rate."""
    results = []
    for (name, rate), values in squares.items():
        rms, (low, high) = np.sqrt(values.mean()), interval(values)
        rms_deg, low_deg, high_deg = (float(np.degrees(angle)) for angle in (rms, low, high))
        lost = int(np.sum(values > LOST**2))
        results.append(Result(name, rate, values.size, rms_deg, low_deg, high_deg, lost, 1e6 * costs[name, rate]))
    return sorted(results, key=lambda result: (NAMES.index(result.filter), -result.rate_Hz))


# ------------------------------------------------------------------ the study
def ratio(results: Sequence[Result], name: str, other: str, rate: float) -> float:
    """RMS of one filter over that of another at one rate."""
    rms = {(r.filter, r.rate_Hz): r.rms_deg for r in results}
    return rms[name, rate] / rms[other, rate]


def verdicts(results: Sequence[Result]) -> list[Row]:
    """What must show: the ideal reached at every rate, the textbook filter left behind at low ones."""
    rates = sorted({r.rate_Hz for r in results}, reverse=True)
    rows = []
    for rate in rates:
        times = ratio(results, "vi", "ideal", rate)
        what = f"vi over ideal, RMS at {rate:g} Hz, same data"
        rows.append(statement(what, f"at most {NEAR_IDEAL:g}", f"{times:.4f}", times <= NEAR_IDEAL))
    for rate, limit, words in ((0.2, 2.0, "several times worse"), (0.1, 10.0, "tens of times worse")):
        if rate in rates:
            times = ratio(results, "textbook", "ideal", rate)
            rows.append(statement(f"textbook over ideal, RMS at {rate:g} Hz", words, f"{times:.1f}", times > limit))
    return rows


def table(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines, one for each filter: RMS and interval at each rate, then the cost over the rates."""
    rates = sorted({r.rate_Hz for r in results}, reverse=True)
    lines = []
    for name in dict.fromkeys(r.filter for r in results):
        mine = {r.rate_Hz: r for r in results if r.filter == name}
        costs = [r.cost_us for r in mine.values()]
        lines.append([name, *(_cell(mine[rate]) for rate in rates), _range(min(costs), max(costs))])
    return ["RMS, deg", *(f"{rate:g} Hz" for rate in rates), "µs per update"], lines


def _cell(result: Result) -> str:
    lost = f"\n{result.lost} lost" if result.lost else ""
    return f"{result.rms_deg:.3g}\n{_range(result.low_deg, result.high_deg)}{lost}"


def _range(low: float, high: float) -> str:
    """Two digits of each, or all before the point."""
    return "–".join(f"{value:.2g}" if value < 10.0 else f"{value:.0f}" for value in (low, high))


def settings() -> dict[str, Any]:
    """What the table depends on, for the report."""
    return {
        "updates_per_run": UPDATES, "last_updates_counted": SETTLED, "vector_noise_deg": float(np.degrees(NOISE)),
        "rate_sigma_at_start_deg_per_s": float(np.degrees(RATE_SIGMA)), "attitude_at_start": "TRIAD",
        "torque_noise_assumed_N_m_sqrt_s": TORQUE_NOISE, "inertia_kg_m2": recordings.MOMENTS.tolist(),
        "rate_at_start_deg_per_s": np.degrees(recordings.RATE).round(9).tolist(),
        "lost_above_deg": float(np.degrees(LOST)),
    }  # fmt: skip


def measure(names: Sequence[str], rates: Sequence[float], runs: int, seed: int, progress: Progress) -> list[Result]:
    """Errors and costs of the filters `names`."""
    costs: dict[tuple[str, float], float] = {}
    for index, name in enumerate(names):
        progress(f"cost of {name}", 0.1 * index / len(names))
        costs |= {(name, rate): cost(name, rate, seed) for rate in rates}
    return summarise(simulate(names, rates, runs, seed, part(progress, 0.1, 1.0)), costs)


def run(
    runs: int, seed: int, out: Path, progress: Progress, names: Sequence[str] = NAMES, rates: Sequence[float] = RATES
) -> Study:
    """The study over `runs` seeded runs; the figure goes into `out`."""
    from sims.studies.sample_rate_figure import draw

    results = measure(names, rates, runs, seed, part(progress, 0.0, 0.98))
    figure = draw(results, out, f"{NAME}.png")
    progress("done", 1.0)
    heads, lines = table(results)
    return Study(NAME, TITLE, runs, seed, settings(), results, heads, lines, verdicts(results), [figure])
