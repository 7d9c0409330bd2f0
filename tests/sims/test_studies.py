"""Studies: recordings against their distributions, structure and seeds of short studies, the full numbers when slow."""

import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2
from typer.testing import CliRunner

import attitude as att
from attitude.core import quaternion
from attitude.estimation.baselines import NAMES
from attitude.estimation.mekf import MEKF
from sims.cli import app
from sims.papers.table import statement
from sims.studies import consistency, consistent_truth, parallel, recordings, registry, report, sample_rate

PNG = b"\x89PNG\r\n\x1a\n"


def quiet(what, fraction):
    """Progress that nobody looks at."""


# ------------------------------------------------------------------ recordings
def test_vectors_are_unit_and_off_by_sigma_across_them():
    rng, sigma = np.random.default_rng(1), 0.01
    q = quaternion.normalise(rng.standard_normal((20_000, 4)))
    b = recordings.vectors(rng, q, recordings.REFERENCES, sigma)
    np.testing.assert_allclose(np.linalg.norm(b, axis=-1), 1.0, rtol=1e-14)
    turned = quaternion.rotate(q[:, None], b)  # in inertial axes, where the references stand still
    for i, across in ((0, [1, 2]), (1, [0, 2])):
        spread = turned[:, i, across].std(axis=0)
        np.testing.assert_allclose(spread, sigma, rtol=5 / np.sqrt(2 * len(q)))


def test_white_torque_makes_the_rate_walk():
    """A sphere of inertia I at rest: its rate has the variance σ² t / I² for each axis."""
    rng, runs, seconds = np.random.default_rng(2), 2000, 8.0
    propagator = att.Propagator(att.RigidBody(2.0 * np.eye(3)), order=12, max_increment=0.25)
    rest = att.State([0, 0, 0, 1], [0, 0, 0])
    paths = [recordings.disturbed(rng, propagator, rest, 1e-3, 0.5, 16, 16).omega for _ in range(runs)]
    rates = np.array(paths)[:, -1]
    np.testing.assert_allclose(rates.std(axis=0), 1e-3 * np.sqrt(seconds) / 2.0, rtol=5 / np.sqrt(2 * runs))


def test_gyro_noise_has_the_covariance_of_its_integrals():
    """Over an interval h, a walk from zero: end variance rrw² h, mean's rrw² h / 3, both together rrw² h / 2."""
    rng, h, arw, rrw = np.random.default_rng(3), 2.0, 1e-3, 1e-3
    still = np.tile([0.0, 0.0, 0.0, 1.0], (2, 1))
    bias = np.array([0.1, -0.2, 0.3])
    draws = [recordings.gyro(rng, still, h, bias, 0.0, rrw) for _ in range(20_000)]
    mean, end = (np.array([draw[i][0] for draw in draws]) - bias for i in (0, 1))
    tolerance = 5 * np.sqrt(2 / mean.size)
    assert np.mean(end**2) == pytest.approx(rrw**2 * h, rel=tolerance)
    assert np.mean(mean**2) == pytest.approx(rrw**2 * h / 3, rel=tolerance)
    assert np.mean(mean * end) == pytest.approx(rrw**2 * h / 2, rel=2 * tolerance)
    white = np.array([recordings.gyro(rng, still, h, bias, arw, 0.0)[0][0] for _ in range(5000)]) - bias
    assert np.mean(white**2) == pytest.approx(arw**2 / h, rel=5 * np.sqrt(2 / white.size))


def test_a_perfect_gyro_integrates_to_the_truth():
    rng = np.random.default_rng(4)
    true = consistent_truth.gyro_truth(rng, 30, 0.0, 0.0, np.array([0.1, -0.2, 0.3, 0.0, 0.0, 0.0]))
    q = quaternion.exp([0.1, -0.2, 0.3])
    for rate in true.gyro:
        q = quaternion.product(q, quaternion.exp(rate * consistent_truth.INTERVAL))
    assert quaternion.angle_between(q, true.q[-1]) < 1e-13  # rad: 30 products


def test_initial_errors_are_drawn_from_P():
    rng, P = np.random.default_rng(5), np.array([[2.0, 0.5], [0.5, 1.0]])
    draws = np.array([recordings.draw(rng, P) for _ in range(20_000)])
    np.testing.assert_allclose(np.cov(draws.T), P, atol=0.07)  # five times 2 sqrt(2 / 20000)


# ------------------------------------------------------------------ over all cores


@pytest.mark.parametrize("processes", [False, True])
def test_results_come_in_the_order_of_the_tasks(processes):
    seen = []
    progress = lambda what, fraction: seen.append(fraction)  # noqa: E731
    # a function of an importable module: a spawned process cannot see this file
    assert parallel.spread(abs, [-3, 2, -1, 0], "work", progress, processes=processes) == [3, 2, 1, 0]
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_the_first_error_ends_the_work():
    done = []

    def work(number):
        if number == 0:
            raise RuntimeError("broken")
        done.append(number)

    with pytest.raises(RuntimeError, match="broken"):
        parallel.spread(work, range(1000), "work", quiet)
    assert len(done) < 1000


# ------------------------------------------------------------------ sample rate
def test_a_recording_depends_on_its_seed_rate_and_run_only():
    first = sample_rate.record(1.0, 7, 3)
    again = sample_rate.record(1.0, 7, 3)
    np.testing.assert_array_equal(first.samples.vectors, again.samples.vectors)
    np.testing.assert_array_equal(np.hstack(first.start[:2]), np.hstack(again.start[:2]))
    for other in (sample_rate.record(1.0, 8, 3), sample_rate.record(1.0, 7, 4), sample_rate.record(2.0, 7, 3)):
        assert not np.allclose(first.start[1], other.start[1], atol=1e-6)


def test_the_start_is_as_uncertain_as_its_covariance_says():
    """TRIAD on the first pair, and a rate off by the stated sigma: NEES of 300 starts."""
    values = []
    for run in range(300):
        q, omega, P = sample_rate.record(1.0, 1, run).start
        error = np.hstack([quaternion.log(quaternion.conjugate(q)), recordings.RATE - omega])
        values.append(error @ np.linalg.solve(P, error))
    assert 5.6 < np.mean(values) < 6.4  # 6, known to sqrt(12 / 300) = 0.2


def test_no_answer_is_half_a_turn(monkeypatch):
    recording = sample_rate.record(1.0, 1, 0)
    lost = SimpleNamespace(run=lambda times, samples: SimpleNamespace(q=np.full((len(times), 4), np.nan)))
    monkeypatch.setattr(sample_rate, "make_filter", lambda *arguments: lost)
    np.testing.assert_array_equal(sample_rate.angles("vi", recording), np.pi)


def test_chunks_and_processes_do_not_change_the_numbers(monkeypatch):
    serial = [sample_rate.mean_squares(sample_rate.Chunk("ideal", 2.0, 1, run, run + 1))[0] for run in range(3)]
    monkeypatch.setattr(sample_rate, "CHUNK", 2)
    squares = sample_rate.simulate(["vi", "ideal"], [2.0], 3, 1, quiet)
    np.testing.assert_array_equal(squares["ideal", 2.0], serial)
    # same equations, same data: they differ by the ideal's tolerance and by the order of the process noise's rule
    np.testing.assert_allclose(squares["vi", 2.0], serial, rtol=0.01)


def test_interval_over_runs():
    assert sample_rate.interval(np.full(10, 4.0)) == (2.0, 2.0)
    squares = chi2(1).ppf((np.arange(400) + 0.5) / 400)  # spread as evenly as the distribution
    # their mean is 1 ± 1.96 sqrt(2 / 400), its root half as wide
    assert sample_rate.interval(squares) == pytest.approx((0.93, 1.07), abs=0.01)


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A short study with all filters, its folder, and the fractions its progress went through."""
    out, fractions = tmp_path_factory.mktemp("short"), []
    study = sample_rate.run(3, 5, out, lambda _, f: fractions.append(f), rates=(10.0, 0.2, 0.1))
    return study, out, fractions


def test_sample_rate_study(short):
    study, out, fractions = short
    assert [(r.filter, r.rate_Hz) for r in study.results] == [(n, rate) for n in NAMES for rate in (10.0, 0.2, 0.1)]
    assert all(r.runs == 3 and r.low_deg <= r.rms_deg <= r.high_deg and r.cost_us > 0.0 for r in study.results)
    assert study.passed
    assert len(study.rows) == 3 + 2
    assert [line[0] for line in study.lines] == list(NAMES)
    assert all(len(line) == len(study.heads) == 5 for line in study.lines)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert [path.name for path in out.iterdir()] == ["sample-rate.png"]
    assert (out / study.figures[0]).read_bytes().startswith(PNG)


def test_lost_runs_are_counted(short):
    """At 0.1 Hz the body turns 1.5 rad between samples: one VI step has no solution, so the filter stands still."""
    lost = {(r.filter, r.rate_Hz): r.lost for r in short[0].results}
    assert lost["vi-step", 0.1] == 3
    assert lost["vi", 0.1] == lost["ideal", 0.1] == lost["usque", 0.1] == 0


def test_the_verdicts_can_fail(short):
    results = [r for r in short[0].results if r.filter != "vi"]
    worse = [sample_rate.Result("vi", *list(vars(r).values())[1:]) for r in results if r.filter == "textbook"]
    verdicts = [row.passed for row in sample_rate.verdicts([*results, *worse])]
    assert verdicts == [True, False, False, True, True]  # as good as the ideal at 10 Hz only


@pytest.mark.slow
def test_the_variational_filter_is_as_good_as_the_ideal_at_every_rate():
    """100 runs at each rate, same data: at most 1.05 times the ideal's RMS; the textbook filter is far behind."""
    rates, seed = sample_rate.RATES, sample_rate.SEED
    squares = sample_rate.simulate(("vi", "textbook", "ideal"), rates, sample_rate.RUNS, seed, quiet)
    rms = {key: float(np.sqrt(values.mean())) for key, values in squares.items()}
    assert max(rms["vi", rate] / rms["ideal", rate] for rate in rates) <= 1.05
    assert rms["textbook", 10.0] == pytest.approx(rms["ideal", 10.0], rel=0.02)
    assert rms["textbook", 0.2] > 4.0 * rms["ideal", 0.2]
    assert rms["textbook", 0.1] > 30.0 * rms["ideal", 0.1]


# ------------------------------------------------------------------ consistency
@pytest.fixture(scope="module")
def small():
    return {
        name: consistency.examine(name, 20, 3, quiet, steps=300, converged=60, spread_runs=200)
        for name in consistent_truth.FILTERS
    }


@pytest.mark.parametrize("name", consistent_truth.FILTERS)
def test_few_runs_are_consistent_within_wide_bounds(small, name):
    found = small[name]
    assert found.nees.t[[0, -1]].tolist() == [61.0, 300.0]
    assert found.nees.mean.shape == found.nis.mean.shape == (240,)
    assert found.nees.total == pytest.approx(6.0, abs=4 * np.sqrt(12 / found.nees.effective))
    assert found.nis.total == pytest.approx(4.0, abs=4 * np.sqrt(8 / found.nis.effective))
    assert found.nees.effective < 20 * 240 / 3  # errors last longer than three samples
    assert found.nis.effective > 20 * 240 / 3  # innovations do not
    assert found.correlation[0] == 1.0
    assert np.abs(found.correlation[1:]).max() < 1.5 * found.correlation_bound
    np.testing.assert_allclose(found.spread.ratio, 1.0, atol=4 / np.sqrt(2 * 200))
    assert found.spread.predicted.shape == found.spread.observed.shape == (25, 6)


@pytest.mark.parametrize("name", consistent_truth.FILTERS)
def test_innovations_are_those_of_the_recorded_run(name):
    _, nis = consistency.squares(name, 1, 50, 4)
    rows = consistency.innovations(name, 1, 50, 4)
    np.testing.assert_allclose(np.sum(rows**2, axis=1), nis, rtol=1e-9)


def test_same_seed_same_squares():
    one = partial(consistency.squares, "MEKF", steps=20)
    np.testing.assert_array_equal(one(seed=1, run=2), one(seed=1, run=2))
    assert not np.allclose(one(seed=1, run=2), one(seed=2, run=2))
    assert not np.allclose(one(seed=1, run=2), one(seed=1, run=3))


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_a_filter_that_misjudges_its_torque_is_caught(monkeypatch, scale):
    def wrong(name):
        start = (consistent_truth.propagator(), recordings.ATTITUDE, recordings.RATE, consistent_truth.START)
        return MEKF(*start, scale * consistent_truth.TORQUE_NOISE)

    monkeypatch.setattr(consistent_truth, "estimator", wrong)
    found = consistency.examine("MEKF", 40, 3, quiet, steps=300, converged=60, spread_runs=20)
    assert [row.passed for row in consistency.verdicts(found)[:2]] == [False, False]
    assert (found.nees.total > 6.0) is (scale < 1.0)


def test_consistency_study(tmp_path):
    fractions = []
    progress = lambda what, fraction: fractions.append(fraction)  # noqa: E731
    study = consistency.run(4, 1, tmp_path, progress, steps=80, converged=30, spread_runs=20)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(study.rows) == len({row.quantity for row in study.rows}) == 12
    assert [line[0] for line in study.lines] == list(consistent_truth.FILTERS)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in study.figures}
    assert all((tmp_path / path).read_bytes().startswith(PNG) for path in study.figures)
    assert study.results[0]["nees"]["mean"] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", consistent_truth.FILTERS)
def test_two_hundred_runs_are_consistent(name):
    """Mean NEES in its 95 % interval; at least 90 % of the times in theirs; so too NIS; white innovations."""
    found = consistency.examine(name, consistency.RUNS, consistency.SEED, quiet, spread_runs=20)
    for curve in (found.nees, found.nis):
        assert curve.total_interval[0] <= curve.total <= curve.total_interval[1]
        assert curve.inside >= 0.9
    assert np.abs(found.correlation[1:]).max() <= found.correlation_bound


@pytest.mark.slow
@pytest.mark.parametrize("name", consistent_truth.FILTERS)
def test_covariance_is_the_spread_of_two_thousand_runs(name):
    """After 100 s without updates: within 10 % on each axis; chance alone gives 1.6 %."""
    spread = consistency.covariance_against_spread(name, 2000, consistency.SEED, quiet)
    assert spread.t[-1] == 100.0
    np.testing.assert_allclose(spread.ratio, 1.0, atol=0.1)


# ------------------------------------------------------------------ the command
def attitude(*arguments):
    return CliRunner().invoke(app, ["study", *(str(argument) for argument in arguments)])


@pytest.fixture
def studies(monkeypatch):
    """Replace the registry by stub studies; call with name=verdict."""

    def install(**verdicts):
        monkeypatch.setattr(registry, "MODULES", {name: name for name in verdicts})
        for name, holds in verdicts.items():
            monkeypatch.setitem(sys.modules, f"sims.studies.{name}", stub(name, holds))

    def stub(name, holds):
        def run(runs, seed, out, progress):
            progress("noise", 0.5)
            print("noise")
            (out / f"{name}.png").write_bytes(PNG)
            rows = [statement("ratio [1]", "small", "1.0", holds)]
            lines = [["vi", "0.31"]]
            results = [{"filter": "vi", "rms": np.float64(0.31)}]
            return report.Study(
                name, f"Title of {name}", runs, seed, {"noise_deg": 1.0}, results, ["filter", "RMS"], lines, rows,
                [Path(f"{name}.png")],
            )  # fmt: skip

        return SimpleNamespace(NAME=name, TITLE=name, RUNS=100, SEED=3, run=run)

    return install


@pytest.mark.parametrize("name", registry.MODULES)
def test_every_registered_study_is_there_under_its_name(name):
    source = registry.source(name)
    assert name == source.NAME
    assert source.TITLE
    assert source.RUNS >= 2
    assert callable(source.run)


def test_an_unknown_study_has_no_module():
    with pytest.raises(ValueError, match="unknown study 'nobody': choose one of sample-rate, consistency"):
        registry.source("nobody")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(("nobody",), "sample-rate"), (("good", "--runs", 1), "--runs"), (("good", "--seed", -1), "--seed")],
)
def test_bad_input_is_refused_in_one_sentence(studies, tmp_path, arguments, word):
    studies(good=True, **{"sample-rate": True})
    result = attitude(*arguments, "--out", tmp_path / "new")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert word in result.stderr
    assert not (tmp_path / "new").exists()


def test_unwritable_out_is_refused_before_any_work(studies, tmp_path):
    studies(good=True)
    (tmp_path / "file").write_text("mine")
    result = attitude("good", "--out", tmp_path / "file" / "below")
    assert result.exit_code == 2
    assert "cannot write to --out" in result.stderr
    assert "noise" not in result.stderr


@pytest.mark.parametrize(("holds", "code"), [(True, 0), (False, 1)])
def test_json_is_one_document_and_nothing_else(studies, tmp_path, holds, code):
    studies(good=holds)
    result = attitude("good", "--json", "--out", tmp_path, "--runs", 7, "--seed", 0)
    assert result.exit_code == code
    document = json.loads(result.stdout)
    assert (document["name"], document["runs"], document["seed"], document["passed"]) == ("good", 7, 0, holds)
    assert document["results"] == [{"filter": "vi", "rms": 0.31}]
    assert document["rows"] == [{"what": "ratio [1]", "expected": "small", "measured": "1.0", "passed": holds}]
    assert document["figures"] == ["good.png"]
    assert document["seconds"] >= 0.0
    assert json.loads((tmp_path / "good.json").read_text()) == document
    assert "noise" in result.stderr


def test_the_terminal_shows_title_settings_table_and_verdicts(studies, tmp_path):
    studies(good=True)
    result = attitude("good", "--out", tmp_path)
    assert result.exit_code == 0
    for text in ("Title of good; 100 runs, seed 3", "noise deg 1", "vi", "0.31", "ratio [1]", "pass"):
        assert text in result.stdout
    assert "noise\n" not in result.stdout
