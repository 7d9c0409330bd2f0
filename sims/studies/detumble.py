"""Does the shipped detumble scenario always detumble, and how long does it take?

Each run has its own tumble, attitude, date and time of day, orbital plane, place in the orbit, and noise; all else is
the scenario's. A run is detumbled when the true rate first is below `LIMIT` and stays there for `HOLD`. Beside that
time stand the stricter one after which the rate never is above the limit again, and the one at which the flight
software, which knows the rate as well as its gyro does, leaves its detumble mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from attitude.control.modes import Mode
from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.spacecraft.flight import Flight
from attitude.spacecraft.frames import CONTROL, TRUTH
from attitude.spacecraft.plant import Plant
from attitude.spacecraft.tick import Rows, Spacecraft
from sims.papers.table import Progress, Row, statement
from sims.scenario import Scenario, load_text, shipped
from sims.studies.order_statistics import CONFIDENCE, quantile, quantile_interval, share_at_least
from sims.studies.parallel import spread
from sims.studies.report import Study, part

NAME = "detumble"
TITLE = "Detumbling by magnetorquers: time to come to rest from random tumbles in random places"
RUNS, SEED = 100, 1

TUMBLE = (10.0, 15.0)  # deg/s: magnitude of the rate at the start, uniform; its direction is uniform on the sphere
LIMIT, HOLD = 0.5, 60.0  # deg/s and s: detumbled is below the limit for that long
ORBITS, GOAL = 3.0, 2.0  # flown, and after how many all must be detumbled
YEAR = 365 * 86400  # s after the scenario's epoch, in which a run begins
CURVE_EVERY = 10  # rows of a run for one of its curve
_ONE_AT_A_TIME = Lock()  # a scenario silences warnings as it is checked, which is a setting of the whole process
WHATS = {
    "detumbled_s": f"below {LIMIT:g} deg/s for {HOLD:g} s",
    "settled_s": f"below {LIMIT:g} deg/s to the end",
    "mode_left_s": "detumble mode is left",
}


@dataclass(frozen=True)
class Start:
    """How a run begins: with these values in the scenario, it can be flown again."""

    rate_deg_s: tuple[float, ...]
    q_IB: tuple[float, ...]
    epoch: str
    raan_deg: float
    mean_anomaly_deg: float
    noise_seed: int

    def changes(self) -> dict[str, Any]:
        """Of the scenario, by path."""
        return {
            "initial.rate_deg_s": self.rate_deg_s, "initial.q_IB": self.q_IB, "mission.epoch": self.epoch,
            "orbit.raan_deg": self.raan_deg, "orbit.mean_anomaly_deg": self.mean_anomaly_deg,
            "mission.seed": self.noise_seed,
        }  # fmt: skip


@dataclass(frozen=True)
class Flown:
    """What came of a run: times from the start, s, infinite for never; true rates; the plant's worst `status`."""

    start: Start
    detumbled_s: float
    settled_s: float
    mode_left_s: float
    largest_rate_after_deg_s: float
    last_rate_deg_s: float
    status: int


@dataclass(frozen=True)
class Quantiles:
    """Of the times of all runs in one unit, with 95 % intervals; infinite where too few runs got there."""

    least: float
    median: float
    median_interval: tuple[float, float]
    p90: float
    p90_interval: tuple[float, float]
    largest: float


# ------------------------------------------------------------------ one run
def scenario() -> Scenario:
    """The shipped scenario, flown for as long as the study looks."""
    return load_text(shipped()[NAME], NAME).replaced({"mission.duration_orbits": ORBITS, "mission.duration_s": None})


def draw_start(epoch: datetime, seed: int, run: int) -> Start:
    """A random one in the year after `epoch`; depends on the seed and the number of the run only."""
    rng = np.random.default_rng([seed, run])
    direction = rng.standard_normal(3)
    rate = rng.uniform(*TUMBLE) * direction / np.linalg.norm(direction)
    q = quaternion.normalise(rng.standard_normal(4))
    raan, anomaly = rng.uniform(0.0, 360.0, 2)
    begin = epoch + timedelta(seconds=int(rng.integers(YEAR)))
    text = begin.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Start(tuple(rate.tolist()), tuple(q.tolist()), text, float(raan), float(anomaly), int(rng.integers(2**32)))


def build(base: Scenario, start: Start) -> Spacecraft:
    """The scenario's spacecraft, about to begin so."""
    with _ONE_AT_A_TIME:
        changed = base.replaced(start.changes())
        return Spacecraft(Plant(changed.plant_config(), changed.seed), Flight(changed.flight_config()))


def fly(base: Scenario, seed: int, run: int) -> tuple[Flown, Array]:
    """One run of the scenario, and its curve: the true rate, deg/s, every `CURVE_EVERY` rows."""
    start = draw_start(base.document.mission.epoch, seed, run)
    craft = build(base, start)
    rows = craft.run(base.ticks, base.log_every)
    rate = np.degrees(np.linalg.norm(TRUTH.read(rows["truth"], "omega_B"), axis=1))
    return judge(start, rows, rate, craft.status), rate[::CURVE_EVERY].copy()


def judge(start: Start, rows: Rows, rate: Array, status: int) -> Flown:
    """What the rows of a run and its true rate, deg/s, say."""
    t = TRUTH.read(rows["truth"], "t")
    detumbled, settled = first_held(t, rate), last_crossed(t, rate)
    left = np.flatnonzero(CONTROL.read(rows["control"], "mode") != Mode.DETUMBLE)
    after = rate[t >= detumbled]
    return Flown(
        start, detumbled, settled, float(t[left[0]]) if left.size else np.inf,
        float(after.max()) if after.size else np.inf, float(rate[-1]), status,
    )  # fmt: skip


def first_held(t: Array, rate: Array) -> float:
    """The first of the times `t` `(N,)`, s, from which on the rate, deg/s, is below `LIMIT` for `HOLD`."""
    rows = round(HOLD / (t[1] - t[0])) + 1
    held = np.flatnonzero(sliding_window_view(rate < LIMIT, rows).all(axis=1))
    return float(t[held[0]]) if held.size else np.inf


def last_crossed(t: Array, rate: Array) -> float:
    """The time after which the rate is below `LIMIT` to the end, and that for `HOLD` at least."""
    fast = np.flatnonzero(~(rate < LIMIT))  # a rate that is no number is not below
    first = fast[-1] + 1 if fast.size else 0
    return float(t[first]) if first < t.size and t[-1] - t[first] >= HOLD else np.inf


# ------------------------------------------------------------------ all runs
def simulate(base: Scenario, runs: int, seed: int, progress: Progress) -> list[tuple[Flown, Array]]:
    """All runs, in threads: the loop is compiled."""
    return spread(partial(fly, base, seed), range(runs), "tumbles", progress)


def times(flown: Sequence[Flown], name: str) -> Array:
    """One time of each run, s."""
    return np.array([getattr(run, name) for run in flown])


def quantiles(values: Array) -> Quantiles:
    """Of the times of all runs, none of which is negative."""
    (median, around_median), (p90, around_p90) = (_quantile(values, share) for share in (0.5, 0.9))
    return Quantiles(float(values.min()), median, around_median, p90, around_p90, float(values.max()))


def _quantile(values: Array, share: float) -> tuple[float, tuple[float, float]]:
    low, high = quantile_interval(values, share)
    return quantile(values, share), (max(low, 0.0), high)


def record(what: str, values: Array, period: float) -> dict[str, Any]:
    """Statistics of one of the times, s, for the document; `period` of the orbit, s."""
    reached = int(np.isfinite(values).sum())
    return {
        "time_until": what, "runs": values.size, "reached": reached, "share": reached / values.size,
        "share_at_least": share_at_least(reached, values.size), "minutes": quantiles(values / 60.0),
        "orbits": quantiles(values / period),
    }  # fmt: skip


# ------------------------------------------------------------------ the study
def verdicts(flown: Sequence[Flown], period: float, tumbling: float) -> list[Row]:
    """What must show; `tumbling` is the rate, deg/s, at which the flight software begins anew."""
    taken, runs = times(flown, "detumbled_s"), len(flown)
    reached, in_time = int(np.isfinite(taken).sum()), int((taken <= GOAL * period).sum())
    left = int(np.isfinite(times(flown, "mode_left_s")).sum())
    after = np.array([run.largest_rate_after_deg_s for run in flown])
    failed = sum(run.status != 0 for run in flown)
    return [
        _all(f"{WHATS['detumbled_s']}, within {ORBITS:g} orbits", reached, runs),
        _all(f"{WHATS['detumbled_s']}, within {GOAL:g} orbits", in_time, runs),
        statement("the flight software leaves its detumble mode", "in all runs", f"{left} of {runs}", left == runs),
        statement("largest rate afterwards, deg/s", f"below {tumbling:g} in all runs", f"{after.max():.3f}",
                  bool((after < tumbling).all())),
        statement("runs with a step of the plant that has no solution", "none", str(failed), failed == 0),
    ]  # fmt: skip


def _all(what: str, hits: int, runs: int) -> Row:
    sure = f"{100 * share_at_least(hits, runs):.1f} % of such tumbles with {100 * CONFIDENCE:.0f} % confidence"
    return statement(what, "in all runs", f"{hits} of {runs}: at least {sure}", hits == runs)


def table(records: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines, one for each of the times."""
    heads = ["time until", "runs", "least", "median", "95 %", "90 % of runs", "95 %", "largest"]
    return heads, [_line(one) for one in records]


def _line(one: dict[str, Any]) -> list[str]:
    """Minutes above orbits."""
    upper, lower = (_cells(one[unit], digits) for unit, digits in (("minutes", 1), ("orbits", 2)))
    cells = [f"{minutes} min\n{orbits} orbits" for minutes, orbits in zip(upper, lower, strict=True)]
    return [one["time_until"], f"{one['reached']} of {one['runs']}", *cells]


def _cells(q: Quantiles, digits: int) -> list[str]:
    low, high, few, many = (_text(value, digits) for value in (*q.median_interval, *q.p90_interval))
    least, median, p90, largest = (_text(value, digits) for value in (q.least, q.median, q.p90, q.largest))
    return [least, median, f"{low}–{high}", p90, f"{few}–{many}", largest]


def _text(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "never"


def settings(base: Scenario) -> dict[str, Any]:
    """What the table depends on, for the report."""
    return {
        "scenario": base.name, "orbits_flown": ORBITS, "orbit_period_s": base.orbit_period_s,
        "tumble_deg_per_s": list(TUMBLE), "detumbled_below_deg_per_s": LIMIT, "for_s": HOLD,
        "drawn": "direction and magnitude of the rate, attitude, epoch within a year, RAAN, mean anomaly, noise",
    }  # fmt: skip


def run(runs: int, seed: int, out: Path, progress: Progress, base: Scenario | None = None) -> Study:
    """The study over `runs` seeded runs; the figure goes into `out`."""
    from sims.studies.detumble_figure import draw

    base = base or scenario()
    period, tumbling = base.orbit_period_s, float(base.document.modes.given["tumbling_rate_deg_s"])
    flown, curves = zip(*simulate(base, runs, seed, part(progress, 0.0, 0.97)), strict=True)
    figure = draw(flown, np.array(curves), base.log_every * base.tick_s * CURVE_EVERY, period, out, f"{NAME}.png")
    progress("done", 1.0)
    records = [record(what, times(flown, name), period) for name, what in WHATS.items()]
    results = [{"scenario_sha256": base.sha256, "statistics": records, "runs": flown}]
    heads, lines = table(records)
    rows = verdicts(flown, period, tumbling)
    return Study(NAME, TITLE, runs, seed, settings(base), results, heads, lines, rows, [figure])
