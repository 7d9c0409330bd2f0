"""Time per 0.2 s step, and the drift of energy and momentum after many, ours and the peers'."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sims.bench.case import STEP, drift, fastest, interleaved, seconds, start
from sims.bench.ours import Ours
from sims.bench.peers import Peer, PeerError, installed_peers
from sims.papers.table import Progress

TRIAL = 500  # steps of a first run that tells how long the others may be
TIGHT = 1e-9  # second tolerance for SciPy, whose defaults do not hold this motion for long
BASE = Ours(2)


@dataclass(frozen=True)
class Plan:
    """How long to measure: at most `steps` steps for the drift and `drift_seconds`, `timed_seconds` per timing."""

    steps: int
    drift_seconds: float
    timed_seconds: float
    rounds: int


FULL = Plan(100_000, 15.0, 0.1, 5)
QUICK = Plan(100_000, 0.2, 0.02, 3)


@dataclass(frozen=True)
class StepRow:
    """One integrator: `ratio` is its time per step over that of order 2; a drift is relative, None if it diverged."""

    name: str
    setting: str
    seconds_per_step: float | None
    ratio: float | None = None
    energy_drift: float | None = None
    momentum_drift: float | None = None
    drift_steps: int = 0
    note: str = ""


def contenders() -> list[tuple[Peer, float | None]]:
    """Integrators and settings, ours of order 2 first: a step of 0.2 s or a tolerance, None for the peer's default."""
    ours: list[Peer] = [BASE, Ours(12), Ours(2, "every state kept"), Ours(2, "one call each")]
    rows: list[tuple[Peer, float | None]] = []
    for peer in [*ours, *installed_peers()]:
        rows.append((peer, STEP if peer.fixed_step else None))
        if peer.name.startswith("SciPy"):
            rows.append((peer, TIGHT))
    return rows


def step_table(plan: Plan, progress: Progress, chosen: Sequence[tuple[Peer, float | None]] = ()) -> list[StepRow]:
    """The table, in the order of `contenders`; `chosen` replaces them, the first being what the ratios refer to."""
    pairs = list(chosen) or contenders()
    rows, jobs = [], []
    for index, (peer, setting) in enumerate(pairs):
        progress(f"drift of {peer.name}", 0.5 * index / len(pairs))
        row, job = _survey(peer, setting, plan)
        rows.append(row)
        jobs.append(job)
    times = interleaved(jobs, plan.rounds, lambda done: progress("time per step", 0.5 + 0.5 * done))
    return with_ratios([replace(row, seconds_per_step=time) for row, time in zip(rows, times, strict=True)])


def with_ratios(rows: Sequence[StepRow]) -> list[StepRow]:
    """`rows` with the ratio of each time to that of the first."""
    base = rows[0].seconds_per_step
    return [
        replace(row, ratio=row.seconds_per_step / base) if base and row.seconds_per_step is not None else row
        for row in rows
    ]


def _survey(peer: Peer, setting: float | None, plan: Plan) -> tuple[StepRow, Callable[[], float]]:
    """Row with the drift, and the job that times a step."""
    start(peer, setting).advance(TRIAL * STEP, STEP)  # whatever happens only once
    trial = start(peer, setting)
    cost = seconds(lambda: trial.advance(TRIAL * STEP, STEP)) / TRIAL
    timed = min(max(int(plan.timed_seconds / cost), TRIAL), plan.steps)
    steps = min(max(int(plan.drift_seconds / cost), TRIAL), plan.steps)
    row = StepRow(peer.name, _setting(peer, setting), None, drift_steps=steps)
    try:
        energy, momentum = drift(start(peer, setting).advance(steps * STEP, STEP))
    except PeerError as error:
        return replace(row, note=f"{_shortened(error)}; timed over {TRIAL} steps"), _timing(peer, setting, TRIAL)
    note = "" if steps == plan.steps else f"drift after {steps} steps"
    row = replace(row, energy_drift=energy, momentum_drift=momentum, note=note)
    return row, _timing(peer, setting, timed)


def _timing(peer: Peer, setting: float | None, steps: int) -> Callable[[], float]:
    def job() -> float:
        run = start(peer, setting)
        return fastest(lambda: run.advance(steps * STEP, STEP), 0.0) / steps

    return job


def _setting(peer: Peer, setting: float | None) -> str:
    if peer.fixed_step:
        return f"h = {setting:g} s"
    return "default" if setting is None else f"tol = {setting:g}"


def _shortened(error: PeerError) -> str:
    """What happened and when, without the advice and with few digits."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.4g}", str(error).split(":")[0])
