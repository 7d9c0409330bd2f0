"""Work against precision: time for 1000 s of free motion at attitude errors from 1e-3 to 1e-12 rad.

The error is the largest of those at 100, 200, … 1000 s, against the exact solution. Every integrator goes through its
settings from coarse to fine; the first that meets a bound is the one timed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np

from attitude.core.quaternion import angle_between
from attitude.truth.free_body import FreeBody
from sims.bench.case import MOMENTS, OMEGA0, Q0, fastest, interleaved, start
from sims.bench.ours import ORDERS, Ours
from sims.bench.peers import Peer, PeerError, installed_peers
from sims.papers.table import Progress

DURATION = 1000.0  # s
SPACING = 100.0  # s between the times at which the error is taken
DECADES = tuple(10.0**-k for k in range(3, 13))
GOAL = 1e-10  # rad, of the comparison with heyoka
SMALLEST_STEP = 1e-5  # s
FINER = 2.0**0.125  # between our steps
TOLERANCES = 10.0 ** -np.arange(2.0, 13.51, 0.5)  # SciPy takes nothing smaller
TAYLOR_TOLERANCES = 10.0 ** -np.arange(2.0, 15.51, 0.5)
TAYLOR = "heyoka"


@dataclass(frozen=True)
class Plan:
    """A sweep ends with the first run longer than `budget` s; a timing lasts at least `timed` s, `rounds` times."""

    budget: float
    timed: float
    rounds: int


FULL = Plan(1.0, 0.02, 4)
QUICK = Plan(0.05, 0.005, 2)


@dataclass(frozen=True)
class Point:
    """A setting (a step, s, or a tolerance; None is the peer's default), its error, rad, and its time, s."""

    setting: float | None
    error: float
    seconds: float | None = None


@dataclass(frozen=True)
class Curve:
    """One integrator: for each of `DECADES` the point that reaches it, None where it was not reached."""

    name: str
    points: list[Point | None]


@dataclass(frozen=True)
class WorkPrecision:
    """The curves; `best[k]` is the name of our fastest order at `decades[k]`.

    `default` is heyoka at its default tolerance; `default_ratio` its time over that of our best order at 1e-10 rad,
    `equal_ratio` the same with heyoka at the loosest tolerance that reaches 1e-10 rad.
    """

    decades: tuple[float, ...]
    ours: list[Curve]
    peers: list[Curve]
    best: list[str | None]
    default: Point | None
    default_ratio: float | None
    equal_ratio: float | None


# ------------------------------------------------------------------ settings and errors
def settings(peer: Peer) -> Iterable[float | None]:
    """From coarse to fine: steps that fit `SPACING`, or tolerances; heyoka's default, roundoff, is its finest."""
    if peer.name == TAYLOR:
        return [*map(float, TAYLOR_TOLERANCES), None]
    if not peer.fixed_step:
        return map(float, TOLERANCES)
    return (SPACING / count for count in (_any_counts() if isinstance(peer, Ours) else _round_counts()))


def _any_counts() -> Iterator[int]:
    """Numbers of steps, each larger than the last by a factor of `FINER` or nearly so."""
    count = round(SPACING)
    while count <= SPACING / SMALLEST_STEP:
        yield count
        count = max(count + 1, round(FINER * count))


def _round_counts() -> Iterator[int]:
    """Numbers of steps that leave whole nanoseconds, as Basilisk needs; about five fourths apart."""
    last = 0
    for count in sorted(2**i * 5**j for i in range(12) for j in range(12)):
        if max(SPACING, 1.2 * last) <= count <= SPACING / SMALLEST_STEP:
            yield count
            last = count


def measured_error(peer: Peer, setting: float | None) -> tuple[float, float]:
    """Largest error at the times of comparison, rad, and the seconds it took to get there."""
    times = np.arange(1, round(DURATION / SPACING) + 1) * SPACING
    exact, _ = FreeBody(np.diag(MOMENTS), Q0, OMEGA0).at(times)
    run = start(peer, setting)
    begin = perf_counter()
    states = run.states(times)
    return float(np.max(angle_between(states.q, exact))), perf_counter() - begin


def sweep(peer: Peer, budget: float) -> list[Point]:
    """Settings with their errors, until the last decade is reached or a run takes longer than `budget`."""
    points: list[Point] = []
    for setting in settings(peer):
        try:
            error, elapsed = measured_error(peer, setting)
        except PeerError:  # too coarse
            continue
        points.append(Point(setting, error))
        if error <= DECADES[-1] or elapsed > budget:
            break
    return points


def first_within(points: Sequence[Point], bound: float) -> Point | None:
    """The coarsest setting whose error is at most `bound`."""
    return next((point for point in points if point.error <= bound), None)


# ------------------------------------------------------------------ times
def run_time(peer: Peer, setting: float | None, at_least: float) -> float:
    """Time for the whole motion, s, free-running."""
    run = start(peer, setting)
    return fastest(lambda: run.advance(DURATION), at_least)


def work_precision(plan: Plan, progress: Progress, peers: Sequence[Peer] | None = None) -> WorkPrecision:
    """Sweep every integrator, then time the chosen settings in turn."""
    everyone: list[Peer] = [*map(Ours, ORDERS), *(installed_peers() if peers is None else peers)]
    reached: dict[Peer, list[Point | None]] = {}
    for index, peer in enumerate(everyone):
        progress(f"errors of {peer.name}", 0.5 * index / len(everyone))
        points = sweep(peer, plan.budget)
        reached[peer] = [first_within(points, bound) for bound in DECADES]
    chosen = [(peer, point) for peer, points in reached.items() for point in dict.fromkeys(points) if point]
    chosen += [(peer, Point(None, measured_error(peer, None)[0])) for peer in everyone if peer.name == TAYLOR]
    timed = _timed(chosen, plan, lambda done: progress("time for 1000 s", 0.5 + 0.5 * done))
    curves = [Curve(peer.name, [point and timed[peer, point] for point in points]) for peer, points in reached.items()]
    default = next((point for point in timed.values() if point.setting is None), None)
    return compared(curves[: len(ORDERS)], curves[len(ORDERS) :], default)


def _timed(
    chosen: Sequence[tuple[Peer, Point]], plan: Plan, report: Callable[[float], None]
) -> dict[tuple[Peer, Point], Point]:
    jobs = [partial(run_time, peer, point.setting, plan.timed) for peer, point in chosen]
    times = interleaved(jobs, plan.rounds, report)
    return {key: replace(key[1], seconds=time) for key, time in zip(chosen, times, strict=True)}


def compared(ours: list[Curve], peers: list[Curve], default: Point | None) -> WorkPrecision:
    """The table with our best order at each decade, and the ratios against heyoka at `GOAL`."""
    best = [_fastest_at(ours, k) for k in range(len(DECADES))]
    goal = DECADES.index(GOAL)
    taylor = next((curve.points[goal] for curve in peers if curve.name == TAYLOR), None)
    our_time = time_at(ours, best[goal], goal)
    return WorkPrecision(DECADES, ours, peers, best, default, _ratio(default, our_time), _ratio(taylor, our_time))


def time_at(curves: Sequence[Curve], name: str | None, decade: int) -> float | None:
    """Time of the curve `name` at a decade, s."""
    points = [curve.points[decade] for curve in curves if curve.name == name]
    return points[0].seconds if points and points[0] else None


def _fastest_at(curves: Sequence[Curve], decade: int) -> str | None:
    times = {curve.name: time_at(curves, curve.name, decade) for curve in curves}
    reached = {name: time for name, time in times.items() if time is not None}
    return min(reached, key=lambda name: reached[name]) if reached else None


def _ratio(point: Point | None, our_time: float | None) -> float | None:
    return point.seconds / our_time if point and point.seconds and our_time else None
