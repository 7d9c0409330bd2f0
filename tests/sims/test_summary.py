"""The numbers of a mission, against one in which every number is known."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from scipy.spatial.transform import Rotation

from attitude.control.guidance import Inertial
from attitude.control.modes import Mode
from attitude.spacecraft import frames
from attitude.spacecraft.frames import RECORDS
from sims import log as logs
from sims import output
from sims.flown import Flown, Interval, intervals, references
from sims.summary import Counts, Spread, detumbled, spread, summarise
from sims.verdicts import goals_of, lines, passed, table

# the last slew of the story ends 98 s after each turn (rows are 2 s apart), nominal mode is calm 300 s later
CALM = ((3700 + 98 + 300, 7000), (7000 + 98 + 300, 7500), (7500 + 98 + 300, 9000), (9700 + 98 + 300, math.inf))
SLACK = 1e-9  # relative: rounding of positions of 7e6 m and of products of quaternions


def among(t, *windows):
    return np.any([(begin <= t) & (t < end) for begin, end in windows], axis=0)


def build(story):
    return logs.dataset(story.rows, story.about)


def result(story, **options):
    return summarise(build(story), **options)


# ------------------------------------------------------------------ rates and modes
def test_time_to_detumble(story):
    analytic = 1000.0 * math.log(10.0 / (0.5 - 0.06))
    assert result(story).detumbled_s == 2.0 * math.ceil(analytic / 2.0)
    assert result(story).first_rate_deg_s == pytest.approx(10.06)


def test_a_rate_that_rises_again_while_detumbling_has_not_been_detumbled(story):
    dip = among(story.t, (100.0, 500.0))
    again = among(story.t, (3300.0, 3400.0))
    rate = np.where(dip, 0.001, np.where(again, 0.1, story.rate))
    story.put("truth", omega_B=rate[:, None] * [1.0, 0.0, 0.0])
    assert result(story).detumbled_s == 3400.0


def test_a_fast_slew_later_on_does_not_matter(story):
    rate = np.where(among(story.t, (7000.0, 7100.0)), 0.1, story.rate)
    story.put("truth", omega_B=rate[:, None] * [1.0, 0.0, 0.0])
    assert result(story).detumbled_s == 3124.0


def test_never_detumbled_and_never_tumbling(story):
    story.put("truth", omega_B=[0.1, 0.0, 0.0])
    assert result(story).detumbled_s is None
    story.put("truth", omega_B=[0.001, 0.0, 0.0])
    assert result(story).detumbled_s == 0.0


def test_the_limit_can_be_chosen(log):
    assert detumbled(Flown(log), limit_deg_s=5.0) == 2.0 * math.ceil(1000.0 * math.log(10.0 / 4.94) / 2.0)


def test_modes_and_why_they_changed(story):
    found = result(story)
    assert found.mode_s["detumble"] == 3600.0
    assert found.mode_s["acquire"] == 200.0
    assert found.mode_s["safe"] == 600.0
    assert sum(found.mode_s.values()) == found.duration_s == 2.0 * story.t.size
    changes = [(change.t_s, change.before, change.after, change.reason) for change in found.mode_changes]
    assert changes == [
        (3600.0, "detumble", "acquire", "ready"),
        (3700.0, "acquire", "nominal", "ready"),
        (9000.0, "nominal", "safe", "lost"),
        (9600.0, "safe", "acquire", "ready"),
        (9700.0, "acquire", "nominal", "ready"),
    ]
    assert (found.fallbacks, found.last_mode) == (1, "nominal")


def test_time_in_eclipse(story):
    assert result(story).eclipse_s == 2.0 * np.count_nonzero(story.sunlight < 0.5)


# ------------------------------------------------------------------ pointing
def test_the_true_reference_is_that_of_the_geometry(story, log):
    """Nadir, target and Sun as directions say, without the guidance: the error is what was put in."""
    error = Flown(log).pointing_error
    pointed = story.pointing >= 0
    np.testing.assert_allclose(error[pointed], story.off[pointed], rtol=SLACK)
    assert np.isnan(error[~pointed]).all()


def test_an_inertial_reference(story):
    q = Rotation.from_euler("xyz", [0.3, -0.2, 0.1])
    story.about.references[1] = Inertial(q=q.as_quat())
    expected = (q.inv() * Rotation.from_quat(RECORDS["truth"].read(story.rows["truth"], "q_IB"))).magnitude()
    here = story.pointing == 1
    np.testing.assert_allclose(Flown(build(story)).pointing_error[here], expected[here], atol=1e-12)


def test_settled_pointing_by_day_and_night(story):
    found, calm, lit = result(story), among(story.t, *CALM), story.sunlight > 0.5
    for spread_, mask in ((found.pointing_sunlit, calm & lit), (found.pointing_eclipse, calm & ~lit)):
        expected = np.degrees(story.off[mask])
        assert spread_.rows == expected.size > 1000
        assert spread_.three_sigma_deg == pytest.approx(np.quantile(expected, 0.9973), rel=SLACK)
        assert spread_.rms_deg == pytest.approx(math.sqrt(np.mean(expected**2)), rel=SLACK)
        assert spread_.largest_deg == pytest.approx(expected.max(), rel=SLACK)


def test_settling_time_counts(story):
    early = among(story.t, (3798.0 + 50.0, 4098.0)) & (story.sunlight < 0.5)
    assert result(story, settle_s=50.0).pointing_eclipse.rows > result(story).pointing_eclipse.rows
    RECORDS["truth"].read(story.rows["truth"], "q_IB")[early] = [0.0, 0.0, 0.0, 1.0]
    assert result(story).pointing_eclipse.largest_deg < 1.0
    assert result(story, settle_s=50.0).pointing_eclipse.largest_deg > 1.0


def test_a_turn_without_a_slew_must_settle_too(story):
    story.put("control", slewing=0)
    calm = among(story.t, (3700 + 300, 7000), (7000 + 300, 7500), (7500 + 300, 9000), (9700 + 300, math.inf))
    found = result(story)
    assert found.pointing_sunlit.rows + found.pointing_eclipse.rows == np.count_nonzero(calm)


def test_penumbra_counts_as_eclipse(story):
    story.put("truth", sunlight=0.5)
    found = result(story)
    assert (found.pointing_sunlit, found.pointing_sunlit.three_sigma_deg) == (Spread(0, None, None, None), None)
    assert found.pointing_eclipse.rows == np.count_nonzero(among(story.t, *CALM))


def test_pointing_by_reference(story):
    found = result(story).pointing_by_reference
    assert list(found) == ["target 60.0° N 30.0° W", "nadir"]  # the Sun was for safe mode
    target = among(story.t, (7000 + 98 + 60, 7500))
    nadir = among(story.t, *(CALM[i] for i in (0, 2, 3)))
    for name, mask in (("target 60.0° N 30.0° W", target), ("nadir", nadir)):
        assert found[name].rows == np.count_nonzero(mask)
        expected = np.quantile(np.degrees(story.off[mask]), 0.9973)
        assert found[name].three_sigma_deg == pytest.approx(expected, rel=SLACK)


def test_spread_of_a_thousand_known_angles():
    angle = np.radians(np.arange(1001.0))
    found = spread(np.append(angle, [math.nan, 1e6]), np.append(np.ones(1002, dtype=bool), False))
    assert (found.rows, found.largest_deg) == (1001, pytest.approx(1000.0))
    assert found.three_sigma_deg == pytest.approx(997.3)
    assert found.rms_deg == pytest.approx(math.sqrt(1000 * 1001 * 2001 / 6 / 1001))


# ------------------------------------------------------------------ knowledge
def test_knowledge_error_and_its_sigma(story):
    found, settled = result(story), story.t >= 3650.0 + 298.0  # the last row without an attitude is at 3648 s
    inside = np.abs(story.theta) <= 3.0 * story.sigma
    assert found.within_3_sigma == pytest.approx(inside[settled].all(axis=1).mean(), abs=1e-12)
    assert found.within_3_sigma_axes == pytest.approx(inside[settled].mean(axis=0).tolist(), abs=1e-12)
    assert 0.985 < found.within_3_sigma < 0.997  # 0.9973³ = 0.9919 ± 0.0012
    night = settled & (story.sunlight < 0.5)
    expected = np.quantile(np.degrees(np.linalg.norm(story.theta[night], axis=1)), 0.9973)
    assert found.knowledge_eclipse.three_sigma_deg == pytest.approx(expected, rel=SLACK)
    assert found.knowledge_sunlit.rows == np.count_nonzero(settled & ~night)


def test_an_error_about_one_body_axis_is_found_there(story):
    q = Rotation.from_quat(RECORDS["truth"].read(story.rows["truth"], "q_IB"))
    theta = np.tile([0.0, 0.0, 0.02], (story.t.size, 1))
    story.put("estimate", q_IB=(q * Rotation.from_rotvec(-theta)).as_quat(), sigma_B=0.005)
    np.testing.assert_allclose(Flown(build(story)).knowledge_B[story.running], theta[story.running], atol=1e-12)
    assert result(story).within_3_sigma_axes == [1.0, 1.0, 0.0]
    story.put("estimate", sigma_B=0.007)
    assert result(story).within_3_sigma == 1.0


def test_an_estimate_that_begins_anew_settles_anew(story):
    story.put("estimate", running=story.running & ~among(story.t, (8000.0, 8100.0)))
    lost = among(story.t, (8000.0, 8098.0 + 300.0))
    expected = np.count_nonzero((story.t >= 3948.0) & ~lost)
    found = result(story)
    assert found.knowledge_sunlit.rows + found.knowledge_eclipse.rows == expected


# ------------------------------------------------------------------ wheels, audit, sensors
def test_wheel_load(story):
    found = result(story)
    assert found.wheel_load == pytest.approx(480.0 / 600.0)
    speed = RECORDS["truth"].read(story.rows["truth"], "wheel_speed")[:, :4]
    last = story.t > story.t[-1] - 5677.0
    assert found.wheel_load_last_orbit == pytest.approx(np.abs(speed[last]).max() / 600.0)
    assert found.wheel_load_last_orbit < 0.51


def test_momentum_dumped(story):
    """0.8 mN·m·s against the momentum at the start, from which that of the moment is off by a few degrees."""
    story.put("truth", torque_magnetic_B=1.0)  # as seen in the rows, which a duty cycle may make meaningless
    found = result(story)
    assert found.dumping_s == 400.0
    assert found.dumped_Nms == pytest.approx(0.8e-3, rel=0.02)
    story.put("control", dumping=0)
    assert result(story).dumped_Nms == 0.0


def test_audit_of_the_plant(story):
    clean = result(story)
    assert clean.momentum_audit < 1e-15
    assert clean.energy_audit < 1e-15
    truth, row = story.rows["truth"], 1234
    largest = np.linalg.norm(RECORDS["truth"].read(truth, "momentum_I"), axis=1).max()
    RECORDS["truth"].read(truth, "momentum_I")[row] += [3e-9, 0.0, -4e-9]
    RECORDS["truth"].read(truth, "energy")[row] -= 1e-9
    found = result(story)
    assert found.momentum_audit == pytest.approx(5e-9 / largest, rel=1e-6)
    assert found.energy_audit == pytest.approx(1e-9 / 1.1e-4, rel=1e-6)


def test_wobble_of_a_spin_with_a_damper(story):
    truth_q = Rotation.from_quat(RECORDS["truth"].read(story.rows["truth"], "q_IB"))
    momentum = np.tile([0.0, 0.0, 2.0], (story.t.size, 1))
    tilt = np.linspace(math.radians(30.0), math.radians(1.0), story.t.size)
    rate_I = np.stack([np.sin(tilt), np.zeros_like(tilt), np.cos(tilt)], axis=1)
    story.put("truth", omega_B=truth_q.inv().apply(rate_I), momentum_I=momentum)
    assert result(story).wobble_first_deg is None
    story.about = replace(story.about, damper=True)
    assert result(story).wobble_first_deg == pytest.approx(30.0)
    assert result(story).wobble_last_deg == pytest.approx(1.0)


def test_faults_from_when_to_when(story):
    star = 1 << frames.STAR_TRACKER_BIT
    end = np.where(story.t >= 16_000.0, star, 0)
    story.put("estimate", faulty=RECORDS["estimate"].read(story.rows["estimate"], "faulty") + end)
    found = result(story).faults
    assert found == {"gyro": [Interval(8990.0, 9500.0)], "star_tracker_0": [Interval(16_000.0, None)]}


def test_intervals_at_both_ends():
    t = np.arange(6.0)
    assert intervals(np.array([1, 0, 1, 1, 0, 1], dtype=bool), t) == [
        Interval(0.0, 1.0), Interval(2.0, 4.0), Interval(5.0, None),
    ]  # fmt: skip
    assert intervals(np.zeros(6, dtype=bool), t) == []


def test_samples_are_counted(story):
    story.put("estimate", rejected=np.where(among(story.t, (5000.0, 5100.0)), 1 << frames.MAGNETOMETER_BIT, 0))
    found, running = result(story).samples, int(story.running.sum())
    assert found["gyro"] == Counts(story.t.size, running, 0)
    assert found["magnetometer"] == Counts(story.t.size, running, 50)
    assert found["sun_sensor_0"].valid == np.count_nonzero(story.sunlight > 0.5)
    assert set(found) == {"gyro", "magnetometer", "sun_sensor_0"}


def test_what_is_no_number_is_counted(story):
    assert result(story).not_finite == {}
    RECORDS["estimate"].read(story.rows["estimate"], "omega_B")[:100] = np.nan  # before there is an attitude
    assert result(story).not_finite == {}
    RECORDS["estimate"].read(story.rows["estimate"], "omega_B")[-5:] = np.nan
    RECORDS["truth"].read(story.rows["truth"], "b_I")[7, 1] = np.inf
    story.put("truth", status=np.where(story.t == 100.0, 3.0, 0.0))
    found = result(story)
    assert found.not_finite == {"truth_b_I": 1, "estimate_omega_B": 15}
    assert found.failed_steps == 1
    (line,) = (line for line in lines(found, {}) if line.what.startswith("values that are no numbers"))
    assert (line.value, line.passed) == ("17", False)


# ------------------------------------------------------------------ other logs
def test_a_flight_program_that_tells_nothing(story):
    for name in ("estimate", "control"):
        story.rows[name][:] = np.nan
    found = result(story)
    assert found.last_mode == "unknown"
    assert found.mode_changes == []
    assert found.within_3_sigma is None
    assert found.pointing_by_reference == {}
    assert found.faults == found.not_finite == {}


def test_a_log_of_one_row(story):
    story.rows = {name: rows[:1] for name, rows in story.rows.items()}
    story.about = replace(story.about, duration_s=2.0)
    found = result(story)
    assert (found.rows, found.duration_s, found.detumbled_s) == (1, 2.0, None)
    assert found.dumped_Nms == 0.0


def test_a_body_without_wheels_or_references(story):
    story.about = replace(story.about, wheel_max_speed=(), wheel_max_momentum=(), references={})
    found = result(story)
    assert found.wheel_load is None
    assert found.pointing_sunlit.rows == 0
    assert references(build(story)) == []


def test_it_is_one_json_document(story):
    document = json.loads(output.json_text(result(story)))
    assert document["faults"] == {"gyro": [{"begin_s": 8990.0, "end_s": 9500.0}]}
    assert document["mode_changes"][2]["reason"] == "lost"
    assert document["within_3_sigma_axes"] == result(story).within_3_sigma_axes


# ------------------------------------------------------------------ verdicts
GOALS = goals_of("default")


def test_every_goal_of_the_default_mission_can_be_missed(story):
    good = result(story)
    assert passed(good, GOALS)
    small, large = Spread(9, 0.9999, 0.1, 2.0), Spread(9, 1.0001, 0.1, 2.0)
    for change, kept in (
        ({"detumbled_s": 2.0 * good.orbit_period_s + 1.0}, {"detumbled_s": 2.0 * good.orbit_period_s - 1.0}),
        ({"detumbled_s": None}, {"detumbled_s": 0.0}),
        ({"pointing_sunlit": large}, {"pointing_sunlit": small}),
        ({"pointing_sunlit": Spread(0, None, None, None)}, {"pointing_eclipse": large}),
        ({"within_3_sigma": 0.9799}, {"within_3_sigma": 0.9801}),
        ({"within_3_sigma": None}, {"within_3_sigma_axes": None}),
        ({"wheel_load_last_orbit": 1.0}, {"wheel_load": 1.0}),
        ({"momentum_audit": 2e-12}, {"momentum_audit": 1e-13}),
        ({"last_mode": "safe"}, {"fallbacks": 3}),
        ({"not_finite": {"truth_q_IB": 1}}, {"not_finite": {}}),
        ({"failed_steps": 1}, {"failed_steps": 0}),
    ):
        assert not passed(replace(good, **change), GOALS), change
        assert passed(replace(good, **kept), GOALS), kept


def test_goals_of_the_shipped_scenarios(story):
    good = result(story)
    assert goals_of("star-tracker")["pointing_deg"] == 0.05
    assert not passed(good, goals_of("star-tracker"))
    assert passed(good, goals_of("faults"))
    assert not passed(replace(good, fallbacks=0), goals_of("faults"))
    assert set(goals_of("anything else")) == {"momentum_audit"}


def test_nothing_is_judged_without_a_goal(story):
    judged = [line.what for line in lines(result(story), {}) if line.passed is not None]
    assert judged == ["values that are no numbers, steps that failed"]


def test_the_table_shows_values_and_verdicts(story):
    console = Console(width=140, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table(replace(result(story), last_mode=Mode.SAFE.name.lower()), GOALS))
    text = console.export_text()
    (pointing,) = (line for line in text.splitlines() if "sunlit and settled" in line)
    assert [cell.strip() for cell in pointing.split("│")[2:6]] == ["0.3", "deg", "≤ 1", "pass"]
    (mode,) = (line for line in text.splitlines() if "mode at the end" in line)
    assert "FAIL" in mode
