"""The benchmark: its arithmetic on invented times, its structure on small runs; no assertion on any time."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from sims import output
from sims.bench import (
    case,
    closed_loop,
    cold_start,
    filters,
    goals,
    machine,
    mission_length,
    report,
    scaling,
    steps,
    tables,
    truth_costs,
    work_precision,
)
from sims.bench.ours import KINDS, ORDERS, Ours
from sims.bench.peers import FixedStepRun, Motion, PeerError, installed_peers
from sims.cli import app

TINY = steps.Plan(steps=600, drift_seconds=1.0, timed_seconds=0.0, rounds=2)


LOOPS = [
    closed_loop.LoopRow(closed_loop.compiled_name(kind), kind, time, 0.01)
    for kind, time in (("gyro", 2e-6), ("dynamics", 4e-6))
]
BASILISK_LOOP = closed_loop.LoopRow(closed_loop.RK4, closed_loop.NO_FILTER, 12e-6, 0.01)
ROW = mission_length.ROW_BYTES
LENGTHS = [
    mission_length.Length(1000, 100, 1.0, 1000 + 100 * ROW),
    mission_length.Length(10_000, 1000, 10.0, 1000 + 1000 * ROW),
    mission_length.Length(10_000, 100, 10.0, 1000 + 100 * ROW),
]


def quiet(what, fraction):
    assert 0.0 <= fraction <= 1.0


class Diverging:
    """A peer that runs for 500 steps and no longer."""

    name, version, fixed_step = "Diverging", "1", True

    def prepare(self, moments, q0, omega0, setting=None):
        class Run(FixedStepRun):
            def _move(self, count):
                if count > steps.TRIAL:
                    raise PeerError("the motion diverged at 123.456789 s: the setting is too coarse")

            def _motion(self):
                return Motion(np.asarray(q0), np.asarray(omega0))

        return Run(setting)


@pytest.fixture(scope="module")
def small():
    """A whole report from tiny plans, without peers other than a diverging one."""
    rows = steps.step_table(TINY, quiet, [(Ours(2), 0.2), (Ours(12), 0.2), (Diverging(), 0.2)])
    precision = work_precision.work_precision(work_precision.Plan(0.002, 0.0, 1), quiet, [])
    lengths = scaling.scaling((100, 10_000), quiet)
    calls = (("step", 5.0, 0.5), ("run", 6.0, 0.4), (cold_start.MISSION, 60.0, 2.0))
    first = [cold_start.FirstCall(*call) for call in calls]
    truth = truth_costs.truth_costs(truth_costs.Plan(0.1, (3, 4)), quiet)
    cycles = filters.filter_table(filters.Plan(20, 0.0, 1), quiet, [])
    loop = closed_loop.ClosedLoop(LOOPS, {"bsk": "not here"})
    orbits = mission_length.compared(LENGTHS)
    verdicts = goals.goals(rows, precision, lengths, first, truth, cycles, loop, orbits)
    where = machine.machine(None)
    return report.Report(True, 1.0, where, rows, precision, lengths, first, truth, cycles, loop, orbits, verdicts)


# ------------------------------------------------------------------ the case and the clock
def test_drift_is_that_of_energy_and_inertial_momentum():
    assert case.drift(Motion(case.Q0, case.OMEGA0)) == (0.0, 0.0)
    energy, momentum = case.drift(Motion(case.Q0, 1.1 * case.OMEGA0))
    assert energy == pytest.approx(0.21)
    assert momentum == pytest.approx(0.1)
    half_turn = np.array([1.0, 0.0, 0.0, 0.0])  # turns the y and z components of the momentum over
    energy, momentum = case.drift(Motion(half_turn, case.OMEGA0))
    L = case.MOMENTS * case.OMEGA0
    assert energy == 0.0
    assert momentum == pytest.approx(2.0 * np.hypot(L[1], L[2]) / np.linalg.norm(L))


def test_interleaved_takes_turns_and_minima():
    calls, times = [], {"a": iter([3.0, 1.0, 2.0]), "b": iter([5.0, 6.0, 4.0])}

    def job(name):
        calls.append(name)
        return next(times[name])

    done = []
    assert case.interleaved([lambda: job("a"), lambda: job("b")], 3, done.append) == [1.0, 4.0]
    assert calls == ["a", "b"] * 3
    assert done == pytest.approx([k / 6 for k in range(6)])


def test_fastest_calls_a_long_job_once_and_a_short_one_until_the_time_is_up(monkeypatch):
    clock = iter([0.0, 5.0, 10.0, 11.0, 20.0, 20.5, 30.0, 32.0])
    monkeypatch.setattr(case, "perf_counter", lambda: next(clock))
    assert case.fastest(lambda: None, 3.0) == 5.0
    assert case.fastest(lambda: None, 3.0) == 0.5


# ------------------------------------------------------------------ ours behind the peers' interface
@pytest.mark.parametrize("kind", KINDS)
def test_ours_follows_dop853(kind):
    def rates(t, y):
        R, w = y[:9].reshape(3, 3), y[9:]
        hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.append((R @ hat).ravel(), np.cross(case.MOMENTS * w, w) / case.MOMENTS)

    y0 = np.append(np.eye(3).ravel(), case.OMEGA0)
    y = solve_ivp(rates, (0, 10), y0, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    final = case.start(Ours(12, kind), 0.1).advance(10.0)
    error = (Rotation.from_quat(final.q).inv() * Rotation.from_matrix(y[:9].reshape(3, 3))).magnitude()
    assert error < 1e-10  # what the reference may lose; order 2 would leave 1e-2
    assert np.abs(final.omega - y[9:]).max() < 1e-10


def test_the_three_kinds_of_ours_are_the_same_steps():
    finals = [case.start(Ours(4, kind), 0.2).advance(100.0) for kind in KINDS]
    assert all(np.array_equal(final.q, finals[0].q) for final in finals)


def test_too_large_a_step_of_ours_is_a_peer_error():
    with pytest.raises(PeerError, match="turns the body too far"):
        case.start(Ours(2), 4.0).advance(4.0)


# ------------------------------------------------------------------ time per step
def test_step_table_compares_with_its_first_row(small):
    first, twelfth, diverging = small.steps
    assert [row.name for row in small.steps] == ["order 2", "order 12", "Diverging"]
    assert first.ratio == 1.0
    for row in small.steps:
        assert row.ratio == row.seconds_per_step / first.seconds_per_step
    for row in (first, twelfth):
        assert row.energy_drift < 1e-13  # 600 steps of roundoff
        assert row.momentum_drift < 1e-13
        assert (row.drift_steps, row.note, row.setting) == (600, "", "h = 0.2 s")
    assert diverging.energy_drift is None
    assert diverging.note == "the motion diverged at 123.5 s; timed over 500 steps"


def test_slow_integrators_get_fewer_steps_and_a_note():
    (row,) = steps.step_table(replace(TINY, drift_seconds=0.0), quiet, [(Ours(2), 0.2)])
    assert row.drift_steps == steps.TRIAL
    assert row.note == "drift after 500 steps"


def test_contenders_start_with_order_two_and_have_every_peer():
    rows = steps.contenders()
    assert rows[0] == (Ours(2), case.STEP)
    assert {peer.name for peer, _ in rows} >= {peer.name for peer in installed_peers()}
    assert all(setting == case.STEP for peer, setting in rows if peer.fixed_step)


# ------------------------------------------------------------------ work and precision
def scipy_peer():
    return next(peer for peer in installed_peers() if peer.name == "SciPy DOP853")


@pytest.mark.parametrize("peer", [Ours(2), Diverging(), scipy_peer()], ids=lambda peer: peer.name)
def test_settings_go_from_coarse_to_fine(peer):
    values = np.array(list(work_precision.settings(peer)))
    assert np.all(np.diff(values) < 0.0)
    assert values.size > 20
    if peer.fixed_step:
        counts = work_precision.SPACING / values
        assert np.allclose(counts, np.round(counts), rtol=1e-12)
        assert values[0] == 1.0
        assert values[-1] < 2e-5


def test_steps_of_peers_are_whole_nanoseconds():
    nanoseconds = np.array(list(work_precision.settings(Diverging()))) * 1e9
    assert np.allclose(nanoseconds, np.round(nanoseconds), rtol=0, atol=1e-3)


def test_error_against_the_exact_motion_agrees_with_another_integrator():
    error, elapsed = work_precision.measured_error(scipy_peer(), 1e-11)
    assert error < 1e-6  # 1000 s at 1e-11; a wrong reference or convention would leave about 1
    assert elapsed > 0.0


def test_sweep_ends_at_the_finest_decade_or_the_budget():
    points = work_precision.sweep(Ours(12), 10.0)
    assert points[-1].error <= work_precision.DECADES[-1] < min(point.error for point in points[:-1])
    assert len(work_precision.sweep(Ours(2), 0.0)) == 1


def test_first_within_is_the_coarsest_that_meets_the_bound():
    points = [work_precision.Point(s, e) for s, e in [(1.0, 1e-2), (0.5, 1e-4), (0.25, 5e-4), (0.1, 1e-6)]]
    assert work_precision.first_within(points, 1e-3) is points[1]
    assert work_precision.first_within(points, 1e-5) is points[3]
    assert work_precision.first_within(points, 1e-7) is None


def test_work_precision_of_small_runs(small):
    table = small.work_precision
    assert [curve.name for curve in table.ours] == [f"order {order}" for order in ORDERS]
    assert table.default is table.default_ratio is table.equal_ratio is None
    for curve in table.ours:
        for bound, point in zip(table.decades, curve.points, strict=True):
            assert point is None or (point.error <= bound and point.seconds > 0.0)
    assert any(table.ours[-1].points)


def test_ratios_are_to_our_fastest_order_at_1e_10():
    decades, goal = work_precision.DECADES, work_precision.DECADES.index(1e-10)

    def curve(name, time):
        return work_precision.Curve(name, [time and work_precision.Point(0.1, b, time) for b in decades])

    default = work_precision.Point(None, 1e-13, 6.0)
    ours = [curve("order 2", None), curve("order 4", 3.0), curve("order 6", 2.0)]
    table = work_precision.compared(ours, [curve("SciPy RK45", 9.0), curve("heyoka", 5.0)], default)
    assert table.best == ["order 6"] * len(decades)
    assert table.default_ratio == 3.0
    assert table.equal_ratio == 2.5
    assert table.decades[goal] == work_precision.GOAL
    nothing = work_precision.compared([curve("order 2", None)], [], default)
    assert nothing.best == [None] * len(decades)
    assert nothing.default_ratio is None


# ------------------------------------------------------------------ scaling and first calls
@pytest.mark.parametrize("power", [1.0, 1.3])
def test_exponent_is_that_of_the_cost_beyond_a_call(power):
    rows = [scaling.Length(n, 7e-5 + 1e-7 * n**power, 0.0) for n in (1000, 10_000, 100_000)]
    assert scaling.exponent(rows, 7e-5) == pytest.approx(power, abs=1e-9)


def test_scaling_of_small_runs(small):
    assert [row.steps for row in small.scaling.lengths] == [100, 10_000]
    for row in small.scaling.lengths:
        assert row.nanoseconds_per_step == pytest.approx(1e9 * row.seconds / row.steps)
    assert small.scaling.drift_steps == 1_000_000
    assert small.scaling.energy_drift < 1e-12  # the goal
    assert small.scaling.momentum_drift < 1e-12


def test_each_first_call_has_its_own_empty_cache(monkeypatch):
    launches = []

    def launch(command, env, **options):
        cache = Path(env["ATTITUDE_CACHE_DIR"])
        launches.append((command[-1].strip().splitlines()[-1], cache, sorted(p.name for p in cache.iterdir())))
        (cache / "kernel").touch()

    monkeypatch.setattr(cold_start.subprocess, "run", launch)
    rows = cold_start.first_calls(cold_start.Plan(("step", "run"), 2), quiet)
    assert [row.name for row in rows] == ["step", "run"]
    assert [files for _, _, files in launches] == [[], ["kernel"], ["kernel"]] * 2
    assert [call.split("(")[0] for call, _, _ in launches] == ["propagator.step"] * 3 + ["propagator.run"] * 3
    assert not any(cache.exists() for _, cache, _ in launches)


@pytest.mark.parametrize("name", cold_start.PROGRAMS)
def test_programs_of_first_calls_run(name):
    exec(cold_start.PROGRAMS[name], {})


def test_the_mission_is_compiled_anew_in_the_whole_bench_only():
    assert cold_start.MISSION in cold_start.FULL.names
    assert cold_start.MISSION not in cold_start.QUICK.names


# ------------------------------------------------------------------ the closed loop
def test_loop_ratios_are_to_basilisks_rk4():
    loop = closed_loop.ClosedLoop(closed_loop.with_ratios([*LOOPS, BASILISK_LOOP]), {})
    assert loop.ratio("gyro") == pytest.approx(6.0)
    assert loop.ratio("dynamics") == pytest.approx(3.0)
    assert closed_loop.ClosedLoop(closed_loop.with_ratios(LOOPS), {}).ratio("gyro") is None


def test_three_wheels_point_at_nadir_with_both_filters():
    for kind in ("gyro", "dynamics"):
        scenario = closed_loop.three_wheels(kind)
        assert len(scenario.plant_config().wheels) == 3
        assert scenario.flight_config().estimator.kind == kind
        run = closed_loop.Ours(scenario)
        run.advance(200)
        assert np.degrees(run.pointing_error()) < 0.1  # the work that is timed is done well


def test_length_of_a_mission():
    found = mission_length.compared(LENGTHS)
    assert found.exponent == pytest.approx(1.0)
    assert found.row_bytes == pytest.approx(found.row_size)
    assert found.equal_rows_growth == 0.0


def test_memory_of_a_mission_is_that_of_its_rows():
    scenario = closed_loop.three_wheels("gyro")
    craft = closed_loop.Ours(scenario, settle=2000).craft
    few, many = (mission_length._run_cost(craft, 8000, every)[1] for every in (100, 1))
    drawn = 4_000_000  # bytes of random numbers that a run may draw ahead, whatever it keeps
    assert abs(many - few - (8000 - 80) * ROW) < drawn


# ------------------------------------------------------------------ goals and the report
def test_goals_without_peers_are_not_measured(small):
    verdicts = {goal.what: goal.verdict for goal in small.goals}
    assert verdicts["time per step, Basilisk RK4 over order 2"] == "not measured"
    assert verdicts["time to 1e-10 rad, heyoka at its default over our best"] == "not measured"
    assert verdicts["predict and two updates, OpenGNC over our compiled run"] == "not measured"
    assert verdicts["time per tick, Basilisk without estimator over ours, gyro filter"] == "not measured"
    cold, warm = (next(goal for goal in small.goals if cache in goal.what) for cache in ("empty", "warm"))
    assert (cold.measured, cold.verdict) == (6.0, "met")  # the slowest of the calls, without the mission
    assert (warm.measured, warm.verdict) == (0.5, "met")


@pytest.mark.parametrize(
    ("measured", "at_least", "verdict"),
    [(2.0, True, "met"), (1.0, True, "missed"), (1.0, False, "met"), (3.0, False, "missed")],
)
def test_verdict_is_the_side_of_the_limit(measured, at_least, verdict):
    assert goals.Goal("x", measured, 2.0, at_least).verdict == verdict


def test_ratios_in_the_goals_are_those_of_the_table(small):
    basilisk = steps.StepRow("Basilisk RK4", "h = 0.2 s", 50.0 * small.steps[0].seconds_per_step)
    rows = steps.with_ratios([*small.steps, basilisk])
    opengnc = filters.FilterRow(goals.OPENGNC, "gyro", 1.0, 30.0, 7.0, 0.0)
    cycles = [*small.filters, opengnc]
    loop = closed_loop.ClosedLoop(closed_loop.with_ratios([*LOOPS, BASILISK_LOOP]), {})
    listed = goals.goals(
        rows, small.work_precision, small.scaling, small.first_calls, small.truth, cycles, loop, small.mission_length
    )
    assert listed[0].measured == rows[1].ratio
    assert listed[1].measured == pytest.approx(50.0)
    assert listed[1].met
    assert [(goal.measured, goal.verdict) for goal in listed[9:11]] == [(30.0, "met"), (7.0, "missed")]
    assert listed[11].measured == pytest.approx(6.0)
    assert all(goal.met for goal in listed[11:])


def test_goals_of_a_missions_length_can_be_missed(small):
    orbits = replace(small.mission_length, exponent=0.9, row_bytes=110.0, row_size=100, equal_rows_growth=0.2)
    tables_before = (small.work_precision, small.scaling, small.first_calls, small.truth, small.filters)
    listed = goals.goals(small.steps, *tables_before, small.closed_loop, orbits)[-3:]
    assert [goal.measured for goal in listed] == pytest.approx([0.1, 0.1, 0.2])
    assert [goal.verdict for goal in listed] == ["missed"] * 3


def test_report_is_one_json_document(small):
    document = json.loads(output.json_text(report.document(small)))
    assert set(document) == {
        "quick", "seconds", "machine", "steps", "work_precision", "scaling", "first_calls", "truth", "filters",
        "closed_loop", "mission_length", "goals",
    }  # fmt: skip
    assert document["machine"]["processor"]
    assert {"python", "numpy", "numba", "SciPy RK45"} <= set(document["machine"]["versions"])
    assert [goal["verdict"] for goal in document["goals"]] == [goal.verdict for goal in small.goals]
    assert document["steps"][2]["energy_drift"] is None


def test_tables_show_every_row(small):
    out = StringIO()
    console = Console(file=out, width=150, markup=False)
    for part in tables.render(small):
        console.print(part)
    text = out.getvalue()
    named = [*small.steps, *small.filters, *small.closed_loop.rows]
    for name in [row.name for row in named] + [goal.what for goal in small.goals] + ["best of ours", "1e-12"]:
        assert name in text
    assert "the motion diverged at 123.5 s" in text
    assert all(f"{1e-6 * row.bytes:.2f} MB" in text for row in small.mission_length.lengths)


def test_tables_show_both_filters_against_basilisk():
    loop = closed_loop.ClosedLoop(closed_loop.with_ratios([*LOOPS, BASILISK_LOOP]), {})
    (line,) = tables._loop_ratios(loop)
    assert line.endswith("× 6 with the gyro filter, × 3 with the dynamics filter")
    (line,) = tables._loop_ratios(closed_loop.ClosedLoop(LOOPS, {"bsk": "ImportError: gone"}))
    assert line.endswith("bsk is left out: ImportError: gone")


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "—"), (2.0, "2 s"), (0.0123, "12.3 ms"), (4.56e-6, "4.56 µs"), (9.9e-8, "99 ns")]
)
def test_durations_are_readable(seconds, text):
    assert tables.duration(seconds) == text


def test_bench_command_prints_and_writes_the_same_document(small, monkeypatch, tmp_path):
    def measure(quick, progress):
        print("noise")
        progress("working", 0.5)
        return replace(small, quick=quick)

    monkeypatch.setattr(report, "measure", measure)
    path = tmp_path / "bench.json"
    result = CliRunner().invoke(app, ["bench", "--json", "--quick", "--out", str(path)])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(path.read_text(encoding="utf-8"))
    assert json.loads(result.stdout)["quick"] is True
    assert "noise" in result.stderr
    shown = CliRunner().invoke(app, ["bench"])
    assert shown.exit_code == 0
    assert "Goals" in shown.stdout


def test_whole_measurement_with_small_plans(small, monkeypatch):
    monkeypatch.setattr(steps, "QUICK", TINY)
    monkeypatch.setattr(steps, "contenders", lambda: [(Ours(2), 0.2)])
    monkeypatch.setattr(work_precision, "QUICK", work_precision.Plan(0.0, 0.0, 1))
    monkeypatch.setattr(work_precision, "installed_peers", list)
    monkeypatch.setattr(scaling, "QUICK", (100, 1000))
    monkeypatch.setattr(truth_costs, "QUICK", truth_costs.Plan(0.1, (3, 4)))
    monkeypatch.setattr(filters, "QUICK", filters.Plan(20, 0.0, 1))
    monkeypatch.setattr(filters, "installed_filters", list)
    monkeypatch.setattr(closed_loop, "QUICK", closed_loop.Plan(0.0, 1, 1))
    monkeypatch.setattr(closed_loop, "peers", list)
    monkeypatch.setattr(mission_length, "QUICK", mission_length.Plan(0.01, 1))
    monkeypatch.setattr(cold_start, "_launch", lambda name, cache: 1.0)
    fractions = []
    result = report.measure(True, lambda what, fraction: fractions.append(fraction))
    assert result.quick
    assert fractions == sorted(fractions)
    assert [row.name for row in result.steps] == ["order 2"]
    assert [row.name for row in result.filters] == [row.name for row in small.filters]
    assert {row.name for row in result.closed_loop.rows} >= {row.name for row in LOOPS}
    assert [row.rows for row in result.mission_length.lengths] == [57, 568, 57]  # 0.01 orbits, and ten times as much
    assert [goal.what for goal in result.goals] == [goal.what for goal in small.goals]


# ------------------------------------------------------------------ truth models
def test_truth_costs_compare_at_equal_energy_error(small):
    assert {row.order for row in small.truth.full_body} == {2, 4}
    for row in small.truth.full_body:
        assert row.ratio == pytest.approx(row.dop853_seconds / row.seconds)
        assert row.energy_error > 0.0
        assert row.microseconds_per_step == pytest.approx(1e6 * row.seconds * row.h / 0.1)
    assert [row.n for row in small.truth.so_n] == [3, 4]
    assert small.truth.so_n_growth == pytest.approx(small.truth.so_n[1].growth)
