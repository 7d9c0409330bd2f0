"""The detumble study: its starts against their distributions and sgp4's orbit, its statistics against known ranks."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy.stats import binom, kstest

from attitude.spacecraft.frames import CONTROL, RECORDS, TRUTH
from sims.output import json_text
from sims.studies import detumble, order_statistics, parallel, report

PNG = b"\x89PNG\r\n\x1a\n"
EPOCH = datetime(2026, 3, 20, 2, 30, tzinfo=UTC)
PERIOD = 5677.0  # s


def quiet(what, fraction):
    """Progress that nobody looks at."""


# ------------------------------------------------------------------ ranks and counts
@pytest.mark.parametrize(("runs", "ranks"), [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (100, (40, 61))])
def test_interval_of_a_median_has_the_ranks_of_the_tables(runs, ranks):
    """The 95 % ranks that textbooks print for the median."""
    values = np.random.default_rng(1).permutation(np.arange(1.0, runs + 1.0))
    assert order_statistics.quantile_interval(values, 0.5) == ranks


def test_interval_of_a_quantile_holds_it_as_often_as_it_says():
    """Exponential times: 90 % quantile ln 10. The coverage follows from the ranks, and 4000 trials must show it."""
    trials, runs, share = 4000, 60, 0.9
    draws = np.random.default_rng(2).exponential(size=(trials, runs))
    found = np.array([order_statistics.quantile_interval(times, share) for times in draws])
    held = np.mean((found[:, 0] <= np.log(10.0)) & (np.log(10.0) <= found[:, 1]))
    low, high = (np.searchsorted(np.sort(draws[0]), end) + 1 for end in found[0])
    exact = binom.cdf(high - 1, runs, share) - binom.cdf(low - 1, runs, share)
    assert exact >= 0.95
    assert held == pytest.approx(exact, abs=4 * np.sqrt(0.05 * 0.95 / trials))


def test_too_few_runs_have_no_interval():
    assert order_statistics.quantile_interval(np.arange(5.0), 0.5) == (-np.inf, np.inf)
    assert order_statistics.quantile_interval(np.arange(20.0), 0.9)[1] == np.inf


def test_a_quantile_is_one_of_the_values_and_counts_runs_that_never_end():
    values = np.array([3.0, np.inf, 1.0, 2.0, 4.0, np.inf, 5.0, 7.0, 6.0, 8.0])
    assert [order_statistics.quantile(values, share) for share in (0.1, 0.5, 0.8)] == [1.0, 5.0, 8.0]
    assert order_statistics.quantile(values, 0.9) == np.inf
    assert order_statistics.quantile(np.arange(1.0, 31.0), 0.1) == 3.0  # though 0.1 * 30 is above 3 in binary
    assert order_statistics.quantile_interval(values, 0.5) == (2.0, np.inf)


def test_lower_bound_of_a_share():
    assert order_statistics.share_at_least(100, 100) == pytest.approx(0.05**0.01, rel=1e-9)
    assert order_statistics.share_at_least(0, 100) == 0.0
    low = order_statistics.share_at_least(97, 100)
    assert binom.sf(96, 100, low) == pytest.approx(0.05, rel=1e-6)  # 97 or more would be this rare


# ------------------------------------------------------------------ what is judged
def test_detumbled_is_below_for_a_minute():
    t = np.arange(400.0)
    rate = np.where(t < 100.0, 1.0, 0.4)
    rate[160] = 0.5  # sixty rows below, but the one a minute later is not
    assert detumble.first_held(t, rate) == 161.0
    rate[160], rate[161] = 0.4, 0.5
    assert detumble.first_held(t, rate) == 100.0
    assert detumble.last_crossed(t, rate) == 162.0
    coarse = slice(None, None, 10)
    assert detumble.first_held(t[coarse], rate[coarse]) == 100.0


def test_what_never_stays_below_is_not_detumbled():
    t = np.arange(400.0)
    for rate in (np.full(400, 0.6), np.where(t % 60.0 == 0.0, 0.6, 0.1), np.full(400, np.nan)):
        assert detumble.first_held(t, rate) == detumble.last_crossed(t, rate) == np.inf
    ends_low = np.where(t < 350.0, 0.6, 0.1)
    assert detumble.first_held(t, ends_low) == detumble.last_crossed(t, ends_low) == np.inf
    assert detumble.first_held(t, np.zeros(400)) == detumble.last_crossed(t, np.zeros(400)) == 0.0


def test_a_run_is_judged_by_truth_and_mode():
    t = np.arange(400.0)
    rows = {name: np.zeros((400, record.size)) for name, record in RECORDS.items()}
    TRUTH.read(rows["truth"], "t")[:] = t
    CONTROL.read(rows["control"], "mode")[:] = np.where(t < 222.0, 0, 1)
    rate = np.where(t < 100.0, 9.0, 0.4)
    rate[200], rate[-1] = 0.7, 0.3
    start = detumble.draw_start(EPOCH, 1, 0)
    assert detumble.judge(start, rows, rate, 2) == detumble.Flown(start, 100.0, 201.0, 222.0, 0.7, 0.3, 2)


# ------------------------------------------------------------------ how runs begin
@pytest.fixture(scope="module")
def starts():
    return [detumble.draw_start(EPOCH, 3, run) for run in range(2000)]


def test_tumbles_are_uniform_on_the_sphere_and_between_the_limits(starts):
    rates = np.array([start.rate_deg_s for start in starts])
    sizes = np.linalg.norm(rates, axis=1)
    low, high = detumble.TUMBLE
    assert low >= 10.0
    assert kstest(sizes, "uniform", (low, high - low)).pvalue > 1e-3
    for component in (rates / sizes[:, None]).T:  # of a uniform direction, each is uniform (Archimedes)
        assert kstest(component, "uniform", (-1.0, 2.0)).pvalue > 1e-3


def test_attitudes_are_uniform(starts):
    """The angle of a uniform rotation has the distribution `(θ − sin θ) / π`."""
    q = np.array([start.q_IB for start in starts])
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, rtol=1e-14)
    angle = 2.0 * np.arccos(np.minimum(np.abs(q[:, 3]), 1.0))
    assert kstest(angle, lambda x: (x - np.sin(x)) / np.pi).pvalue > 1e-3
    assert np.abs(np.mean(q, axis=0)).max() < 5 * 0.5 / np.sqrt(len(q))


def test_places_and_dates_are_uniform_and_noise_is_each_runs_own(starts):
    for name in ("raan_deg", "mean_anomaly_deg"):
        assert kstest([getattr(start, name) for start in starts], "uniform", (0.0, 360.0)).pvalue > 1e-3
    seconds = [(datetime.fromisoformat(start.epoch) - EPOCH).total_seconds() for start in starts]
    assert kstest(seconds, "uniform", (0.0, 365 * 86400.0)).pvalue > 1e-3
    assert len({start.noise_seed for start in starts}) == len(starts)


def test_a_start_depends_on_seed_and_run():
    assert detumble.draw_start(EPOCH, 3, 7) == detumble.draw_start(EPOCH, 3, 7)
    assert detumble.draw_start(EPOCH, 4, 7) != detumble.draw_start(EPOCH, 3, 7) != detumble.draw_start(EPOCH, 3, 8)


def test_the_plant_begins_as_drawn():
    """Rate, attitude and noise as given; node and place in the orbit from position and velocity, to a degree.

    Between the frames of SGP4 and of the plant lies the precession of 26 years, 0.4°; between mean and true anomaly
    0.1°, between mean and osculating elements less.
    """
    start = detumble.draw_start(EPOCH, 3, 1)
    base = detumble.scenario().replaced({"mission.duration_orbits": 0.01})
    plant = detumble.build(base, start).plant
    plant.sense()
    truth = TRUTH.as_dict(plant.truth)
    np.testing.assert_allclose(np.degrees(truth["omega_B"]), start.rate_deg_s, rtol=1e-12)
    assert abs(np.dot(truth["q_IB"], start.q_IB)) == pytest.approx(1.0, abs=1e-14)
    assert plant.seed == start.noise_seed
    assert plant.config.environment.epoch.start == datetime.fromisoformat(start.epoch)
    normal = np.cross(truth["r_I"], truth["v_I"])
    node = np.cross([0.0, 0.0, 1.0], normal)
    node, across = (v / np.linalg.norm(v) for v in (node, np.cross(normal, node)))
    place = np.degrees(np.arctan2(truth["r_I"] @ across, truth["r_I"] @ node))  # from the node
    perigee = base.document.orbit.given["argument_of_perigee_deg"]
    assert _off(np.degrees(np.arctan2(node[1], node[0])), start.raan_deg) < 1.0
    assert _off(place, perigee + start.mean_anomaly_deg) < 1.0


def _off(angle, other):
    return abs((angle - other + 180.0) % 360.0 - 180.0)


# ------------------------------------------------------------------ the study
@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Three runs of full length, their folder, and the fractions the progress went through."""
    out, fractions = tmp_path_factory.mktemp("detumble"), []
    return detumble.run(3, 5, out, lambda _, fraction: fractions.append(fraction)), out, fractions


def test_detumble_study(short):
    study, out, fractions = short
    assert study.passed, [row for row in study.rows if not row.passed]
    assert len({row.quantity for row in study.rows}) == len(study.rows) == 5
    assert len(study.lines) == 3
    assert all(len(line) == len(study.heads) for line in study.lines)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert [path.name for path in out.iterdir()] == ["detumble.png"]
    assert (out / study.figures[0]).read_bytes().startswith(PNG)


def test_the_document_has_settings_statistics_and_every_run(short):
    study, out, _ = short
    document = json.loads(json_text(report.document(study, 1.0, out)))
    result, settings = document["results"][0], document["settings"]
    assert settings["orbit_period_s"] == pytest.approx(PERIOD, abs=1.0)  # 500 km above the equator
    runs = sorted(run["detumbled_s"] for run in result["runs"])
    first = result["statistics"][0]
    assert first["orbits"]["least"] == pytest.approx(runs[0] / settings["orbit_period_s"])
    assert first["orbits"]["median"] == pytest.approx(runs[1] / settings["orbit_period_s"])
    assert first["minutes"]["largest"] == pytest.approx(runs[2] / 60.0)
    assert first["minutes"]["median_interval"] == [0.0, None]  # three runs do not bound a median from above
    assert (first["runs"], first["reached"], first["share"]) == (3, 3, 1.0)
    assert first["share_at_least"] == pytest.approx(0.05 ** (1 / 3))
    for run in result["runs"]:
        assert 10.0 <= np.linalg.norm(run["start"]["rate_deg_s"]) <= 15.0
        assert run["detumbled_s"] <= run["settled_s"]
        assert run["last_rate_deg_s"] <= run["largest_rate_after_deg_s"] < 1.0


def test_the_number_of_cores_does_not_change_a_run(short, monkeypatch):
    """Three at a time and one at a time: every bit."""
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    serial = detumble.simulate(detumble.scenario(), 2, 5, quiet)
    assert [flown for flown, _ in serial] == list(short[0].results[0]["runs"][:2])
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    crowded = detumble.simulate(detumble.scenario(), 3, 5, quiet)
    for (flown, curve), (_, other) in zip(serial, crowded[:2], strict=True):
        np.testing.assert_array_equal(curve, other)
        assert curve[0] == pytest.approx(np.linalg.norm(flown.start.rate_deg_s), rel=1e-12)
        assert curve[-1] == pytest.approx(flown.last_rate_deg_s, abs=0.01)  # at most 10 s before


def test_torquers_too_weak_are_caught(tmp_path):
    """A hundredth of the dipole: nobody is at rest after three orbits, and the study says so, with its figure."""
    weak = detumble.scenario().replaced({"magnetorquers.max_dipole_Am2": 0.002})
    study = detumble.run(2, 5, tmp_path, quiet, base=weak)
    assert [row.passed for row in study.rows] == [False, False, False, False, True]
    assert study.rows[0].ours.startswith("0 of 2: at least 0.0 %")
    result = json.loads(json_text(report.document(study, 1.0, tmp_path)))["results"][0]
    assert [run["detumbled_s"] for run in result["runs"]] == [None, None]
    assert result["statistics"][0]["minutes"]["median"] is None
    assert "never" in study.lines[0][-1]
    assert (tmp_path / "detumble.png").exists()


# ------------------------------------------------------------------ verdicts
def _flown(**changes):
    good = detumble.Flown(detumble.draw_start(EPOCH, 1, 0), 1.9 * PERIOD, 1.95 * PERIOD, 2.1 * PERIOD, 0.55, 0.1, 0)
    return replace(good, **changes)


@pytest.mark.parametrize(
    ("changes", "passed"),
    [
        ({}, [True, True, True, True, True]),
        ({"detumbled_s": 2.01 * PERIOD}, [True, False, True, True, True]),
        ({"detumbled_s": np.inf}, [False, False, True, True, True]),
        ({"mode_left_s": np.inf}, [True, True, False, True, True]),
        ({"largest_rate_after_deg_s": 3.1}, [True, True, True, False, True]),
        ({"status": 1}, [True, True, True, True, False]),
    ],
)
def test_one_bad_run_fails_its_verdict(changes, passed):
    rows = detumble.verdicts([*[_flown()] * 99, _flown(**changes)], PERIOD, 3.0)
    assert [row.passed for row in rows] == passed
    assert rows[0].ours.startswith("100 of 100: at least 97.0 %" if passed[0] else "99 of 100: at least 95.3 %")


@pytest.mark.slow
def test_a_hundred_tumbles_all_come_to_rest_within_two_orbits(tmp_path):
    study = detumble.run(detumble.RUNS, detumble.SEED, tmp_path, quiet)
    assert detumble.RUNS == len(study.results[0]["runs"]) == 100
    assert study.passed, [row for row in study.rows if not row.passed]
    low, high = study.results[0]["statistics"][0]["orbits"].median_interval
    assert 0.5 < low < high < 2.0
