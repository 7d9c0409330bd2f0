"""The benchmark's tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from attitude.spacecraft.config import DYNAMICS, GYRO
from sims.bench.case import STEP
from sims.bench.closed_loop import ClosedLoop
from sims.bench.mission_length import MissionLength
from sims.bench.report import Report
from sims.bench.scaling import Scaling
from sims.bench.truth_costs import TruthCosts
from sims.bench.work_precision import Curve, WorkPrecision, time_at

NONE = "—"


def render(report: Report) -> Iterator[Table | str]:
    """Everything, with a line about the machine before it."""
    where = report.machine
    loads = ", ".join(NONE if load is None else f"{load:.1f}" for load in where.load)
    yield f"{where.processor}, {where.cores} cores; load before and after: {loads}; {report.seconds:.0f} s"
    yield ", ".join(f"{name} {version}" for name, version in where.versions.items())
    for package, reason in where.missing_peers.items():
        yield f"peer {package} is left out: {reason}"
    steps = max(row.drift_steps for row in report.steps)
    yield f"\nTime per {STEP:g} s step; relative drift from start to end of {steps} steps"
    yield _steps(report)
    yield "\nTime for 1000 s of free motion by attitude error, rad (peers: × our best)"
    yield _precision(report.work_precision)
    yield from _comparison(report.work_precision)
    yield "\nCost against number of steps, order 2"
    yield _scaling(report.scaling)
    yield f"cost beyond that of a call, {duration(report.scaling.call_seconds)}: steps^{report.scaling.exponent:.3f}"
    yield "\nTime to the first result, launch and import included"
    yield _first_calls(report)
    yield "\nFull body (dumbbells), relative coordinates, against DOP853 at the nearest energy error"
    yield _full_body(report.truth)
    yield f"\nSO(n), one step of SDRBn; all rows together: cost ~ n^{report.truth.so_n_growth:.2f}"
    yield _so_n(report.truth)
    yield "\nFilters: time per cycle (predict, two vectors, attitude read); ratios to the slower of our two filters"
    yield _filters(report)
    yield "\nClosed loop, time per 0.1 s tick: ours with sensors and estimator, Basilisk's with neither"
    yield _closed_loop(report.closed_loop)
    yield from _loop_ratios(report.closed_loop)
    yield "\nA mission's length: processor time, and the most memory held beyond what was there before"
    yield _mission_length(report.mission_length)
    yield f"time: ticks^{report.mission_length.exponent:.3f}; {_row_memory(report.mission_length)}"
    yield "\nGoals"
    yield _goals(report)


def duration(seconds: float | None) -> str:
    """Three digits and a unit."""
    if seconds is None:
        return NONE
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def times(ratio: float | None) -> str:
    """A ratio with three digits, or all before the point."""
    if ratio is None:
        return NONE
    return f"{ratio:.3g}" if ratio < 1000.0 else f"{ratio:.0f}"


def _number(value: float | None, form: str = ".2g") -> str:
    return NONE if value is None else format(value, form)


def _table(*heads: str) -> Table:
    table = Table()
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index else "left")
    return table


def _steps(report: Report) -> Table:
    table = _table(
        "integrator", "setting", "time per step", "over order 2", "energy drift", "momentum drift", "note",
    )  # fmt: skip
    for row in report.steps:
        table.add_row(
            row.name, row.setting, duration(row.seconds_per_step), times(row.ratio),
            _number(row.energy_drift), _number(row.momentum_drift), row.note,
        )  # fmt: skip
    return table


def _precision(precision: WorkPrecision) -> Table:
    table = _table("integrator", *(f"{bound:.0e}" for bound in precision.decades))
    for curve in precision.ours:
        table.add_row(curve.name, *(duration(point.seconds if point else None) for point in curve.points))
    table.add_row("best of ours", *(name or NONE for name in precision.best), end_section=True)
    for curve in precision.peers:
        table.add_row(curve.name, *_with_ratios(curve, precision))
    return table


def _with_ratios(curve: Curve, precision: WorkPrecision) -> Iterator[str]:
    for decade, point in enumerate(curve.points):
        ours = time_at(precision.ours, precision.best[decade], decade)
        if point is None or point.seconds is None:
            yield NONE
        else:
            yield duration(point.seconds) + (f"\n× {times(point.seconds / ours)}" if ours else "")


def _comparison(precision: WorkPrecision) -> Iterator[str]:
    yield f"{NONE}: not reached within the time allowed for one run, or at any setting"
    default = precision.default
    if default is not None:
        yield (
            f"heyoka at its default tolerance: {duration(default.seconds)}, error {default.error:.1e} rad, "
            f"× {times(precision.default_ratio)} our best at 1e-10 rad; "
            f"at the loosest tolerance for 1e-10 rad: × {times(precision.equal_ratio)}"
        )


def _scaling(scaling: Scaling) -> Table:
    table = _table("steps", "time", "ns per step")
    for row in scaling.lengths:
        table.add_row(f"{row.steps:.0e}", duration(row.seconds), f"{row.nanoseconds_per_step:.1f}")
    return table


def _first_calls(report: Report) -> Table:
    table = _table("call", "empty cache", "warm cache")
    for row in report.first_calls:
        table.add_row(row.name, duration(row.empty_cache_seconds), duration(row.warm_cache_seconds))
    return table


def _full_body(truth: TruthCosts) -> Table:
    table = _table("order", "h", "µs per step", "energy error", "DOP853 tolerance", "its error", "DOP853 over ours")
    for row in truth.full_body:
        table.add_row(
            str(row.order), f"{row.h:g}", f"{row.microseconds_per_step:.2f}", _number(row.energy_error),
            _number(row.dop853_tolerance), _number(row.dop853_energy_error), times(row.ratio),
        )  # fmt: skip
    return table


def _so_n(truth: TruthCosts) -> Table:
    table = _table("n", "µs per step", "growth since the row above")
    for index, row in enumerate(truth.so_n):
        table.add_row(str(row.n), f"{row.microseconds:.2f}", f"n^{row.growth:.2f}" if index else NONE)
    return table


def _filters(report: Report) -> Table:
    table = _table("filter", "model", "time per cycle", "over compiled run", "over calls", "RMS error, rad")
    for row in report.filters:
        table.add_row(
            row.name, row.model, duration(row.seconds_per_cycle), times(row.over_compiled), times(row.over_called),
            _number(row.rms_error),
        )  # fmt: skip
    return table


def _closed_loop(loop: ClosedLoop) -> Table:
    table = _table("closed loop", "estimator", "time per tick", "Basilisk RK4 over it", "pointing error, deg")
    for row in loop.rows:
        table.add_row(
            row.name, row.estimator, duration(row.seconds_per_tick), times(row.basilisk_over),
            _number(row.pointing_error_deg),
        )  # fmt: skip
    return table


def _loop_ratios(loop: ClosedLoop) -> Iterator[str]:
    for package, reason in loop.missing.items():
        yield f"the loop of peer {package} is left out: {reason}"
    if not loop.missing:
        ratios = (f"× {times(loop.ratio(kind))} with the {kind} filter" for kind in (GYRO, DYNAMICS))
        yield f"Basilisk RK4 over ours on three wheels: {', '.join(ratios)}"


def _mission_length(orbits: MissionLength) -> Table:
    table = _table("ticks", "kept rows", "time", "µs per tick", "memory")
    for row in orbits.lengths:
        table.add_row(
            str(row.ticks), str(row.rows), duration(row.seconds), f"{1e6 * row.seconds / row.ticks:.2f}",
            f"{1e-6 * row.bytes:.2f} MB",
        )  # fmt: skip
    return table


def _row_memory(orbits: MissionLength) -> str:
    return f"memory: {orbits.row_bytes:.1f} bytes for each further row, which holds {orbits.row_size}"


def _goals(report: Report) -> Table:
    table = _table("what", "measured", "goal", "verdict")
    for goal in report.goals:
        sign = "≥" if goal.at_least else "≤"
        style = "bold red" if goal.verdict == "missed" else None
        table.add_row(goal.what, _number(goal.measured, ".3g"), f"{sign} {goal.limit:g}", goal.verdict, style=style)
    return table
