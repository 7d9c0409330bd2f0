"""All measurements of `attitude bench` in one run."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from sims.bench import (
    closed_loop,
    cold_start,
    filters,
    machine,
    mission_length,
    scaling,
    steps,
    truth_costs,
    work_precision,
)
from sims.bench.goals import Goal, goals
from sims.papers.table import Progress


@dataclass(frozen=True)
class Report:
    """The tables and where they were measured; times in s."""

    quick: bool
    seconds: float
    machine: machine.Machine
    steps: list[steps.StepRow]
    work_precision: work_precision.WorkPrecision
    scaling: scaling.Scaling
    first_calls: list[cold_start.FirstCall]
    truth: truth_costs.TruthCosts
    filters: list[filters.FilterRow]
    closed_loop: closed_loop.ClosedLoop
    mission_length: mission_length.MissionLength
    goals: list[Goal]


def measure(quick: bool, progress: Progress) -> Report:
    """Every table, one after the other; the machine should have nothing else to do."""
    begin, load = perf_counter(), machine.load()
    first = cold_start.first_calls(cold_start.QUICK if quick else cold_start.FULL, _part(progress, 0.0, 0.2))
    per_step = steps.step_table(steps.QUICK if quick else steps.FULL, _part(progress, 0.2, 0.4))
    plan = work_precision.QUICK if quick else work_precision.FULL
    precision = work_precision.work_precision(plan, _part(progress, 0.4, 0.65))
    lengths = scaling.scaling(scaling.QUICK if quick else scaling.FULL, _part(progress, 0.65, 0.7))
    truth = truth_costs.truth_costs(truth_costs.QUICK if quick else truth_costs.FULL, _part(progress, 0.7, 0.75))
    cycles = filters.filter_table(filters.QUICK if quick else filters.FULL, _part(progress, 0.75, 0.8))
    loop = closed_loop.closed_loop(closed_loop.QUICK if quick else closed_loop.FULL, _part(progress, 0.8, 0.9))
    orbits = mission_length.mission_length(
        mission_length.QUICK if quick else mission_length.FULL, _part(progress, 0.9, 1.0)
    )
    verdicts = goals(per_step, precision, lengths, first, truth, cycles, loop, orbits)
    where, elapsed = machine.machine(load), perf_counter() - begin
    return Report(quick, elapsed, where, per_step, precision, lengths, first, truth, cycles, loop, orbits, verdicts)


def document(report: Report) -> dict[str, Any]:
    """What `--json` prints: the report, with the verdict beside each goal."""
    verdicts = [{**vars(goal), "verdict": goal.verdict} for goal in report.goals]
    return {**vars(report), "goals": verdicts}


def _part(progress: Progress, begin: float, end: float) -> Progress:
    return lambda what, fraction: progress(what, begin + (end - begin) * fraction)
