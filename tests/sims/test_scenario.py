"""Scenarios: what is shipped, what is refused and in which words, what is built from them."""

import datetime
import math
import pickle
import re
import tomllib

import erfa
import numpy as np
import pytest

from attitude.control.guidance import GroundTarget, Nadir, SunPointing
from attitude.control.modes import Mode
from attitude.control.pointing import LQR, QuaternionFeedback
from attitude.environment.grid import Environment
from attitude.environment.orbit import Orbit
from attitude.spacecraft.config import FlightConfig, PlantConfig
from sims import scenario, scenario_build
from sims.scenario import ScenarioError, load, load_text, shipped
from sims.scenario_build import check_memory
from sims.scenario_environment import greatest_elevation_deg
from sims.scenario_errors import dotted
from sims.scenario_fields import Section
from sims.scenario_meanings import meaning, meanings
from sims.scenario_models import Document

ISS = [  # elements of 2008, a worked example on Wikipedia's page on two-line element sets
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927",
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537",
]
TEXT = scenario.default_text()
DATA = tomllib.loads(TEXT)


NADIR = {"kind": "nadir"}


@pytest.fixture(scope="module")
def default():
    return load("default")


@pytest.fixture(scope="module")
def full():
    """The default with every table that it has commented out."""
    tables = re.compile(r"^#(\[.*(?:\n#\w.*)+)", re.MULTILINE)
    return load_text(tables.sub(lambda table: table[1].replace("\n#", "\n"), TEXT))


def refusal(given, changes):
    with pytest.raises(ScenarioError) as caught:
        given.replaced(changes)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def tables(value, path=()):
    """Path of every table in the default."""
    if isinstance(value, dict):
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from tables(entry, (*path, key))


def leaves(value, path=()):
    """Path and value of everything in the default that is not a table or a list."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if entries is None:
        yield path, value
    for key, entry in entries or ():
        yield from leaves(entry, (*path, key))


NUMBERS = [path for path, value in leaves(DATA) if isinstance(value, int | float) and not isinstance(value, bool)]


# ------------------------------------------------------------------ what is shipped
def test_the_shipped_scenarios_are_those_of_the_docs():
    assert sorted(shipped()) == ["default", "detumble", "faults", "spin-damper", "star-tracker"]


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_scenario_builds_both_sides(name):
    given = load(name)
    plant, flight = given.plant_config(), given.flight_config()
    assert isinstance(plant, PlantConfig)
    assert isinstance(flight, FlightConfig)
    assert given.name == name
    assert given.text == shipped()[name]
    assert given.tick_s == plant.tick_s == flight.tick_s == 0.1
    assert given.ticks * 0.1 == pytest.approx(given.document.mission.duration_orbits * given.orbit_period_s, abs=0.1)
    assert plant.environment is flight.environment  # nothing is computed twice
    plant.environment.at(given.duration_s + given.tick_s)
    assert plant.environment.t.size * 10.0 < given.duration_s + 60.0  # and not much in vain


def test_the_default_is_the_mission_that_is_asked_for(default):
    plant, controller = default.plant_config(), default.flight_config().controller
    assert np.degrees(np.linalg.norm(plant.omega_B)) == pytest.approx(10.0, abs=0.1)
    assert default.duration_s >= 3.0 * default.orbit_period_s
    assert [type(reference) for reference in controller.references] == [GroundTarget, Nadir]
    assert isinstance(controller.safe, SunPointing)
    assert isinstance(controller.pointing, QuaternionFeedback)
    assert controller.first_mode is Mode.DETUMBLE
    sunlight = plant.environment.at(np.arange(0.0, default.duration_s, 60.0)).sunlight
    assert sunlight.min() == 0.0  # it goes through eclipse
    assert sunlight.max() == 1.0


def test_the_default_sees_its_target_in_the_last_two_orbits_and_in_sunlight(default):
    grid, target = default.grids[0], default.flight_config().controller.references[0]
    t = np.arange(default.duration_s - 2.0 * default.orbit_period_s, default.duration_s, 10.0)
    sample = grid.at(t)
    high = target.elevation_deg(earth_fixed(sample)) > target.min_elevation_deg
    assert 120.0 < 10.0 * high.sum() < 600.0  # s: one pass
    assert sample.sunlight[high].min() == 1.0


def test_the_other_scenarios_are_what_their_names_say():
    spin, plain = load("spin-damper"), load("detumble")
    assert spin.plant_config().damper.damping_Nms > 0.0
    assert spin.flight_config().controller.detumble is None
    moments = np.diag(spin.plant_config().inertia_kg_m2)
    assert moments[2] == moments.max()  # the spin about the major axis is the stable one
    assert plain.plant_config().wheels is None
    assert load("star-tracker").plant_config().sensors.star_trackers[0].noise_cross_arcsec == 10.0
    sensors, end = load("faults").plant_config().sensors, load("faults").duration_s
    faults = [fault for _, config in sensors.fitted() for fault in config.faults]
    assert {fault.kind for fault in faults} == {"stuck", "dead", "spike"}
    assert all(0.0 < fault.start_s < fault.end_s < end - 600.0 for fault in faults)  # time to recover
    assert all(sensor.faults for sensor in (*sensors.sun_sensors, sensors.coarse_sun))


# ------------------------------------------------------------------ the default explains everything
def test_every_field_there_is_has_its_comment_in_the_default():
    models = list(Section.__subclasses__())
    names = {name for model in models for name in model.model_fields}
    assert {"arw_deg_per_sqrt_hr", "quaternion_lsb", "torque_Nm", "size_nT", "tle", "damping_Nms"} <= names
    without = [name for name in sorted(names - {"mission", "orbit", "sensors", "control"}) if not meaning(name)]
    assert without == []


STATED = {
    re.sub(r"(faults|references|sun_sensors|star_trackers)\.", r"\1[0].", path): match[1]
    for path, text in meanings().items()
    if (match := re.search(r"default ([-\d[\"tfi][^;]*)", text)) and not match[1].startswith("identity")
}
TOGETHER = {"control.dumping.start_Nms": "control.dumping.stop_Nms"}  # which must not be above it


@pytest.mark.parametrize("path", [path for path, value in STATED.items() if not value.startswith("the")])
def test_a_stated_default_is_the_one_that_is_used(full, path):
    """A field left out, and one set to the default that its comment states, are the same scenario."""
    stated = tomllib.loads(f"it = {STATED[path]}")["it"]
    beside = {TOGETHER[path]: None} if path in TOGETHER else {}
    assert full.replaced({path: stated, **beside}).sha256 == full.replaced({path: None, **beside}).sha256


def test_stated_defaults_are_found_and_others_are_not_taken_for_them(full):
    assert len(STATED) > 90
    assert full.replaced({"sensors.star_trackers[0].latency_s": None}).sha256 != full.sha256


def test_commented_out_tables_can_be_used_as_they_stand(full):
    plant = full.plant_config()
    assert plant.damper.inertia_kg_m2 == 5e-4
    assert len(plant.sensors.star_trackers) == 1
    assert sum(len(config.faults) for _, config in plant.sensors.fitted()) == 6


# ------------------------------------------------------------------ names and types
@pytest.mark.parametrize("path", list(tables(DATA)), ids=dotted)
def test_an_unknown_key_is_named_in_every_table(default, path):
    where = dotted((*path, "nonsense"))
    assert refusal(default, {where: 1.0}).startswith(f"{where} is not a field; ")


@pytest.mark.parametrize("path", NUMBERS, ids=dotted)
def test_every_number_must_be_one(default, path):
    where = dotted(path)
    for wrong in ("x", math.nan, True, datetime.date(2026, 1, 1)):
        assert refusal(default, {where: wrong}).startswith(f"{where} must ")


@pytest.mark.parametrize("path", [path for path, _ in leaves(DATA) if not isinstance(path[-1], int)], ids=dotted)
def test_a_field_that_is_left_out_is_missed_by_its_path_or_has_a_default(default, path):
    where = dotted(path)
    told = meaning(where)
    if "default" in told or "if left out" in told:
        default.replaced({where: None, **({TOGETHER[where]: None} if where in TOGETHER else {})})
    elif where in ("mission.duration_orbits", "orbit.altitude_km"):
        assert re.match(rf"{re.escape(where)} or \w+ must be given", refusal(default, {where: None}))
    else:
        assert re.match(rf"{re.escape(where)} is missing: \w+", refusal(default, {where: None}))


def test_a_wrong_unit_is_told_the_right_one(default):
    changes = {"sensors.gyro.arw_deg_per_hr": 0.1, "sensors.gyro.arw_deg_per_sqrt_hr": None}
    expected = "sensors.gyro.arw_deg_per_hr is not a field; did you mean arw_deg_per_sqrt_hr?"
    assert refusal(default, changes) == expected


def test_several_mistakes_are_counted_and_the_first_is_told(default):
    changes = {"mission.name": 3, "sensors.gyro.arw_deg_per_sqrt_hr": -0.1, "modes.lost_sigma_deg": "x"}
    assert refusal(default, changes) == "mission.name must be a string, got 3 (and 2 more)"


# ------------------------------------------------------------------ values, one sentence each
SENTENCES = [
    ({"sensors.gyro.arw_deg_per_sqrt_hr": -0.1}, r"sensors\.gyro\.arw_deg_per_sqrt_hr must not be negative, got -0\.1"),
    ({"sensors.sun_sensors[1].half_fov_deg": 95}, r"sensors\.sun_sensors\[1\]\.half_fov_deg must be below 90 .*"),
    ({"sensors.gyro.range_deg_per_s": -math.inf}, r"sensors\.gyro\.range_deg_per_s must be finite, got -inf"),
    ({"orbit": {"tle": [ISS[0][:-1] + "8", ISS[1]]}}, r"orbit\.tle line 1 must end with its checksum 7, got '8' in .*"),
    ({"orbit": {"tle": ISS[:1]}}, r"orbit\.tle must have two lines, got 1"),
    ({"orbit.tle": ISS}, r"orbit\.altitude_km must not be given beside tle, got 500\.0"),
    ({"orbit.mean_motion_rev_per_day": 15.0}, r"orbit\.altitude_km or mean_motion_rev_per_day .* not both"),
    ({"orbit.eccentricity": 0.6}, r"orbit .*SGP4 reports .*"),
    ({"mission.epoch": "2031-05-01"}, r"mission\.epoch: date must .* IGRF, 1900-01-01 to 2030-01-01, got 2031.*"),
    ({"mission.epoch": "2029-12-31T20:00:00"}, r"mission\.epoch: date must lie .* got 2030-01-01T03.*"),  # its end does
    ({"mission.epoch": "soon"}, r"mission\.epoch must be an ISO 8601 date .* got 'soon'"),
    ({"mission.epoch": datetime.date(2026, 3, 1)}, r"mission\.epoch must be a date and time .* got 2026-03-01"),
    ({"mission.duration_s": 100.0}, r"mission\.duration_orbits or duration_s must be given, and not both"),
    ({"mission.log_every_s": 0.25}, r"mission\.log_every_s must be a whole number of ticks of 0\.1 s, got 0\.25"),
    ({"mission.log_every_s": 1e-9}, r"mission\.log_every_s must be a whole number of ticks .*"),
    ({"mission.substeps": 1.5}, r"mission\.substeps must be a whole number, got 1\.5"),
    ({"mission.seed": -1}, r"mission\.seed must be a whole number of at least 0, got -1"),
    ({"wheels.axes": [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, -1, 0]]}, r"wheels\.axes must span three axes .*"),
    ({"wheels.axes": [[1, 0, 0]] * 9, "control.allocation": None}, r".*wheels.* must .*"),
    ({"body.inertia_kg_m2": [1e-6, 1e-6, 1e-6]}, r"body\.inertia_kg_m2 must include the wheels: .*"),
    ({"body.inertia_kg_m2": [[1, 0, 0], [1, 1, 0], [0, 0, 1]]}, r"body\.inertia_kg_m2 must be symmetric, got .*"),
    ({"body.size_m": [0.1, 0.1]}, r"body\.size_m must have shape \(3,\), got \(2,\)"),
    ({"body.residual_dipole_Am2": [0.1]}, r"body\.residual_dipole_Am2 must have shape \(3,\), got \(1,\)"),
    ({"body.damper.inertia_kg_m2": 1e-3}, r"body\.damper\.damping_Nms is missing: torque between .*"),
    ({"initial.q_IB": [0, 0, 0, 2]}, r"initial\.q_IB must be a unit quaternion .*"),
    ({"initial.wheel_speed_rpm": [0, 0, 0]}, r"initial\.wheel_speed_rpm must have shape \(4,\), got \(3,\)"),
    ({"initial.wheel_speed_rpm": 9000}, r"initial\.wheel_speed_rpm must be within wheels\.max_speed_rpm = 6500 .*"),
    ({"control.allocation.preferred_speed_rpm": -9000}, r"control\.allocation\.preferred_speed_rpm must be within .*"),
    ({"sensors.coarse_sun.normals_B": [[1, 0, 0]] * 13}, r"number of sensors\.coarse_sun .* at most 12, got 13"),
    ({"sensors.sun_sensors": [DATA["sensors"]["sun_sensors"][0]] * 5}, r"number of sensors\.sun_sensors .* 4, got 5"),
    ({"sensors.gyro.faults": [{"kind": "stuck", "start_s": 1.0}, {"kind": "late", "start_s": 1.0}]},
     r"sensors\.gyro\.faults\[1\]\.kind must be one of stuck, dead, spike, bias_jump, got 'late'"),
    ({"sensors.gyro.faults": [{"kind": "spike", "start_s": 1.0}]}, r"sensors\.gyro\.faults\[0\]\.size_deg_per_s .*"),
    ({"sensors.gyro.faults": [{"kind": "dead", "start_s": 9, "end_s": 1}]}, r"sensors\.gyro\.faults\[0\]\.end_s .*"),
    ({"sensors.gyro.faults": [{"kind": "dead"}]}, r"sensors\.gyro\.faults\[0\]\.start_s is missing: begin of .*"),
    ({"sensors.gyro": None}, r"modes\.essential\[0\] must name what is fitted, magnetometer, .* got 'gyro'"),
    ({"modes.essential": ["gyro", "star_tracker_0"]}, r"modes\.essential\[1\] must name what is fitted, .*"),
    ({"modes.first_mode": "idle"}, r"modes\.first_mode must be 'detumble', .* or 'nominal', got 'idle'"),
    ({"modes.tumbling_rate_deg_s": 0.1}, r"modes\.detumbled_rate_deg_s must be below tumbling_rate_deg_s = 0\.1, .*"),
    ({"modes.tumbling_rate_deg_s": 0.7}, r"control\.slew\.max_rate_deg_s must be below .* 0\.7, .* got 0\.8"),
    ({"estimator.kind": "gyro", "sensors.gyro": None, "modes.essential": []}, r'sensors\.gyro is missing: .*"gyro".*'),
    ({"estimator.gate": 1.0}, r"estimator\.gate must lie between 0 and 1, got 1\.0"),
    ({"wheels": None}, r"wheels is missing: control\.pointing needs it"),
    ({"wheels": None, "control": None, "initial.wheel_speed_rpm": 5}, r"initial\.wheel_speed_rpm must be zero .*"),
    ({"magnetorquers": None}, r"magnetorquers is missing: control\.detumble needs it"),
    ({"sensors.magnetometer": None}, r"sensors\.magnetometer is missing: control\.detumble needs it"),
    ({"magnetorquers": None, "control.detumble": None}, r"magnetorquers is missing: control\.dumping needs it"),
    ({"control.slew": None}, r"control\.slew is missing: control\.pointing needs it"),
    ({"control.references": []}, r"control\.references is missing: control\.pointing needs it"),
    ({"control.pointing": None}, r"control\.pointing is missing: control\.allocation needs it"),
    ({"control.references": [{"kind": "nadir"}] * 5}, r"number of control\.references must be at most 4, got 5"),
    ({"control.references[1].kind": "moon"}, r'control\.references\[1\]\.kind must be one of "nadir", .* got \'moon\''),
    ({"control.references[1].kind": None}, r"control\.references\[1\]\.kind is missing: one of .*"),
    ({"control.references[1].second_B": [0, 0, 1]}, r"control\.references\[1\]\.second_B must not be parallel .*"),
    ({"control.safe.second_B": None}, r"control\.safe\.second_B is missing: .*"),
    ({"control.pointing.law": "pid"}, r'control\.pointing\.law must be one of .*"lqr", got \'pid\''),
    ({"control.pointing.integral_time_s": 1.0}, r"control\.pointing\.integral_time_s must be above .* got 1\.0"),
    ({"control.pointing": {"law": "lqr", "angle_deg": 1, "rate_deg_s": 1}}, r"control\.pointing\.torque_Nm is .*"),
    ({"control.pointing": {"law": "lqr", "angle_deg": -1, "rate_deg_s": 1, "torque_Nm": 1e-4}},
     r"control\.pointing\.angle_deg must be greater than zero, got -1\.0"),
    ({"control.detumble.gain_Nms": 0}, r"control\.detumble\.gain_Nms must be greater than zero, got 0\.0"),
    ({"control.detumble.law": "dot"}, r"control\.detumble\.law must be 'bdot' or 'rate', got 'dot'"),
    ({"magnetorquers.duty_cycle": 0.95}, r"magnetorquers\.duty_cycle must leave the magnetometer .* got 0\.95 .*"),
    ({"environment.step_s": 60}, r"environment\.step_s must be at most 30 s, got 60\.0"),
    ({"environment.ut1_minus_utc_s": 2}, r"environment\.ut1_minus_utc_s must be within 0\.9 s of zero, got 2\.0"),
    ({"environment.density_factor": -1}, r"environment\.density_factor must not be negative, got -1\.0"),
    ({"onboard.inertia_error_percent": -100}, r"onboard\.inertia_error_percent must lie between -100 and 1000, .*"),
    ({"onboard.ephemeris_offset_s": 1e4}, r"onboard\.ephemeris_offset_s must be within 3600 s of zero, got 10000\.0"),
    ({"wheels.max_torque_Nm": 10**400}, r"wheels\.max_torque_Nm must be zero, or from 1e-15 to 1e\+15 in size, .*"),
    ({"sensors.gyro": 3}, r"sensors\.gyro must be a table, got 3"),
    ({"orbit": "low"}, r"orbit must be a table, got 'low'"),
    ({"control.references": {"kind": "nadir"}}, r"control\.references must be a list, got .*"),
    ({"body.drag": 1}, r"body\.drag must be true or false, got 1"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "sentence"), SENTENCES)
def test_each_mistake_has_its_sentence(default, changes, sentence):
    got = refusal(default, changes)
    assert re.fullmatch(sentence, got), got


# On the document alone: were the check broken, a whole scenario of this length would take all memory there is.
@pytest.mark.parametrize(
    ("orbits", "every", "gigabytes"),
    [
        (1e6, 1.0, 9083.0),  # 5.677e9 rows of 198 numbers, and 5.677e8 nodes of 20
        (1e6, 1e9, 90.8),  # the nodes alone
        (1e300, 1.0, math.inf),
        (5.0, 1.0, None),
    ],
)
def test_a_mission_that_cannot_be_held_is_refused(default, orbits, every, gigabytes):
    mission = {**DATA["mission"], "duration_orbits": orbits, "log_every_s": every}
    document = Document.model_validate({**DATA, "mission": mission})
    if gigabytes is None:
        check_memory(document, default.orbit_period_s)
        return
    with pytest.raises(ScenarioError) as caught:
        check_memory(document, default.orbit_period_s)
    sentence = str(caught.value)
    assert sentence.startswith("mission.duration_orbits must be shorter, or mission.log_every_s longer, ")
    size = float(re.search(rf"got {re.escape(f'{orbits:g}')}, which takes (\S+) GB$", sentence)[1])
    assert size > 1e290 if gigabytes == math.inf else size == pytest.approx(gigabytes, rel=0.01)


def test_the_memory_is_checked_before_anything_is_computed(default, monkeypatch):
    monkeypatch.setattr(scenario_build, "MOST_BYTES", 1e6)
    monkeypatch.setattr(Environment, "grid", None)
    assert refusal(default, {"orbit.raan_deg": 17.0}).startswith("mission.duration_orbits must be shorter")


def earth_fixed(sample):
    """Position in Earth-fixed axes, from the matrix of the quaternion written out."""
    x, y, z, w = sample.q_IE.T
    R_IE = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return np.einsum("jin,nj->ni", R_IE, sample.r_I)


def test_a_target_below_the_horizon_all_day_is_refused_with_its_greatest_elevation(default):
    equatorial = default.replaced({"orbit.inclination_deg": 2.0, "control.references": [{"kind": "nadir"}]})
    sample = equatorial.grids[0].at(np.arange(0.0, equatorial.duration_s))
    point = erfa.gd2gc(1, math.radians(16.37), math.radians(48.2), 170.0)
    latitude, longitude = math.radians(48.2), math.radians(16.37)
    up = [math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude)]
    sight = earth_fixed(sample) - point
    greatest = np.degrees(np.arcsin(sight @ up / np.linalg.norm(sight, axis=1))).max()
    sentence = refusal(default, {"orbit.inclination_deg": 2.0})
    assert sentence.startswith("control.references[0] must see the spacecraft above min_elevation_deg = 20 ")
    assert f"got at most {greatest:.1f} degrees of elevation at latitude_deg = 48.2, longitude_deg = 16.37" in sentence
    assert -30.0 < greatest < 0.0


def test_the_top_of_a_pass_is_found_to_a_tenth_of_a_degree(default):
    sample = default.grids[0].at(np.array([12345.0]))  # no node of the grid
    longitude, latitude, _ = erfa.gc2gd(1, earth_fixed(sample)[0])
    below = GroundTarget(latitude_deg=math.degrees(latitude), longitude_deg=math.degrees(longitude))
    # the spacecraft moves 7 km/s at 500 km: within the half second to the nearest instant looked at, 0.4 deg
    assert greatest_elevation_deg(below, default.grids[0], default.duration_s) == pytest.approx(90.0, abs=0.45)


# ------------------------------------------------------------------ files
def test_a_file_is_read(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(TEXT.replace('name = "default"', 'name = "größer"'), encoding="utf-8")
    assert load(file).name == load(str(file)).name == "größer"


def test_what_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match=r"none\.toml cannot be read: No such file .*; shipped are default, "):
        load(tmp_path / "none.toml")
    with pytest.raises(ScenarioError, match="cannot be read: Is a directory"):
        load(tmp_path)
    (tmp_path / "old.toml").write_bytes(b'name = "gr\xf6\xdfer"')
    with pytest.raises(ScenarioError, match=r"old\.toml must be UTF-8 text, got the byte 0xf6"):
        load(tmp_path / "old.toml")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[mission]\nname = \n", "at line 2, column 8"),
        ("[mission]\n[mission]\n", "at line 2"),
        ("x = " + "[" * 10000, "recursion"),
        ("x = " + "9" * 5000, "digits"),
    ],
)
def test_an_error_of_syntax_names_file_and_line(text, why):
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "mine.toml")
    assert str(caught.value).startswith("mine.toml must be TOML: ")
    assert why in str(caught.value)


def test_an_empty_file_lacks_everything():
    with pytest.raises(ScenarioError, match=r"mission is missing: when, .* \(and 5 more\)"):
        load_text("")


@pytest.mark.parametrize(
    ("epoch", "told"),
    [("2008-09-20T12:25:40", ""), ("2008-10-20T12:25:40", "30 days older"), ("2008-08-20T12:25:40", "31 days newer")],
)
def test_elements_of_another_time_are_told(default, epoch, told):
    given = default.replaced({"orbit": {"tle": ISS}, "mission.epoch": epoch, "control.references[0]": NADIR})
    notes = given.notes()
    assert len(notes) == bool(told)
    assert not told or notes[0].startswith(f"orbit.tle is {told} than mission.epoch: ")
    assert default.notes() == []


# ------------------------------------------------------------------ what is built
def test_two_line_elements_fly_their_own_orbit(default):
    changes = {"orbit": {"tle": ISS}, "mission.epoch": "2008-09-20T12:25:40", "control.references[0]": NADIR}
    given = default.replaced(changes)
    assert given.orbit_period_s == pytest.approx(86400.0 / 15.72125391, rel=1e-9)
    grid = given.grids[0]
    r_T, _ = Orbit.from_tle(*ISS).teme(grid.epoch, [100.0])
    # TEME and GCRS differ by precession, 0.12 deg in 2008, so only the distance is compared; 1 cm of interpolation
    assert np.linalg.norm(grid.at(100.0).r_I) == pytest.approx(np.linalg.norm(r_T), abs=0.01)


def test_the_on_board_orbit_runs_ahead_and_nothing_else_does(default):
    plant, onboard = default.replaced({"onboard.ephemeris_offset_s": 5.0}).grids
    there, ahead, later = plant.at(1000.0), onboard.at(1000.0), plant.at(1005.0)
    # precession in 5 s turns TEME by 4e-11 rad (0.3 mm); interpolation is good to millimetres
    assert np.linalg.norm(ahead.r_I - later.r_I) < 0.01
    assert np.linalg.norm(ahead.v_I - later.v_I) < 1e-4
    assert np.linalg.norm(ahead.r_I - there.r_I) == pytest.approx(5.0 * 7613.0, rel=0.01)
    np.testing.assert_array_equal(ahead.q_IE, there.q_IE)
    assert np.dot(ahead.sun_I, there.sun_I) > 1.0 - 1e-7  # parallax of 38 km only
    onboard.at(default.duration_s + 5.0)
    flight = default.replaced({"onboard.ephemeris_offset_s": 5.0}).flight_config()
    assert flight.environment is onboard


def test_the_flight_side_believes_another_inertia(default):
    given = default.replaced({"onboard.inertia_error_percent": 10.0})
    true, believed = given.plant_config().inertia_kg_m2, given.flight_config().inertia_kg_m2
    np.testing.assert_allclose(believed, 1.1 * np.diag([0.0419, 0.0419, 0.0067]), rtol=1e-12)
    np.testing.assert_array_equal(true, np.diag([0.0419, 0.0419, 0.0067]))


def test_gains_come_from_body_wheels_and_orbit(default):
    controller = default.flight_config().controller
    rate = 2.0 * math.pi / default.orbit_period_s
    expected = 2.0 * rate * (1.0 + math.sin(math.radians(97.4))) * 0.0067  # Avanzini and Giulietti 2012
    assert controller.detumble.gain_Nms == pytest.approx(expected, rel=1e-6)
    axes = np.array(DATA["wheels"]["axes"]) / math.sqrt(3.0)
    carrier = np.diag([0.0419, 0.0419, 0.0067]) - 5e-6 * axes.T @ axes
    np.testing.assert_allclose(controller.pointing.inertia_kg_m2, carrier, rtol=1e-12, atol=1e-18)
    assert default.replaced({"control.detumble.gain_Nms": 1e-4}).flight_config().controller.detumble.gain_Nms == 1e-4


def test_lqr_gets_its_propagator_and_step(default):
    lqr = {"law": "lqr", "angle_deg": 0.5, "rate_deg_s": 0.05, "torque_Nm": 1e-4}
    law = default.replaced({"control.pointing": lqr, "mission.tick_hz": 5}).flight_config().controller.pointing
    assert isinstance(law, LQR)
    assert law.h_s == 0.2
    assert np.abs(law.eigenvalues).max() < 1.0
    np.testing.assert_allclose(np.diag(law.propagator.body.inertia), [0.0419, 0.0419, 0.0067])
    assert len(law.propagator.body.wheels) == 4


def test_every_table_reaches_the_side_it_belongs_to(default):
    changes = {
        "body.drag": False, "body.specular": 0.25, "environment.earth_albedo": 0.0, "environment.density_factor": 3.0,
        "initial.wheel_speed_rpm": [100, 0, 0, 0], "mission.substeps": 3, "control.detumble.law": "rate",
        "modes.first_mode": "safe", "modes.essential": ["gyro", "wheels"], "control.allocation.balance_rate_per_s": 0.5,
        "environment.step_s": 20, "mission.duration_orbits": None, "mission.duration_s": 600.04,
        "control.references[0]": NADIR,
    }  # fmt: skip
    given = default.replaced(changes)
    plant, flight = given.plant_config(), given.flight_config()
    assert plant.disturbances.drag is False
    assert plant.disturbances.solar_pressure is True
    assert plant.disturbances.faces[0].specular == 0.25
    np.testing.assert_array_equal(plant.disturbances.residual_dipole_B_am2, [0.002, -0.001, 0.003])
    np.testing.assert_array_equal(plant.wheel_speed_rpm, [100.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(np.degrees(plant.omega_B), [6.6, -6.6, 3.6])
    assert plant.substeps == 3
    assert plant.environment.t[1] - plant.environment.t[0] == 20.0
    assert not plant.environment.at(0.0).albedo_I.any()
    ratio = plant.environment.at(0.0).density / default.grids[0].at(0.0).density
    assert ratio == pytest.approx(3.0, rel=1e-4)  # nodes 20 s apart instead of 10
    assert (given.ticks, given.log_every) == (6001, 10)
    assert flight.controller.detumble_law == "rate"
    assert flight.controller.first_mode is Mode.SAFE
    assert flight.controller.essential == ("gyro", "wheels")
    assert flight.controller.allocation.balance_rate_per_s == 0.5
    assert flight.controller.allocation.compensate_friction is True
    assert flight.wheels is flight.controller.allocation.wheels
    assert flight.estimator.gyro_sigma_deg_s == 0.03


def test_without_allocation_the_wheels_share_without_balance(default):
    controller = default.replaced({"control.allocation": None}).flight_config().controller
    assert controller.allocation.balance_rate_per_s == 0.0


def test_three_moments_are_the_diagonal(default):
    whole = [[0.0419, 0, 0], [0, 0.0419, 0], [0, 0, 0.0067]]
    given = default.replaced({"body.inertia_kg_m2": whole}).plant_config()
    np.testing.assert_array_equal(given.inertia_kg_m2, default.plant_config().inertia_kg_m2)


def test_torquers_that_are_always_on_ask_for_no_quiet_time(default):
    assert default.replaced({"magnetorquers.duty_cycle": 1.0}).plant_config().torquers.duty_cycle == 1.0


# ------------------------------------------------------------------ changes
def test_a_changed_scenario_says_so_and_leaves_the_first_alone(default):
    before = default.sha256
    rate = np.array([1.0, 2.0, 3.0])
    changed = default.replaced({"initial.rate_deg_s": rate, "sensors.sun_sensors[2].noise_deg": np.float64(0.5)})
    np.testing.assert_allclose(np.degrees(changed.plant_config().omega_B), rate)
    assert [sensor.noise_deg for sensor in changed.plant_config().sensors.sun_sensors] == [0.1, 0.1, 0.5, 0.1]
    assert changed.text.startswith("# replaced: initial.rate_deg_s = [1.0, 2.0, 3.0]\n")
    assert changed.text.endswith(TEXT)
    assert default.sha256 == before != changed.sha256
    assert default.text == TEXT
    assert changed.grids[0] is default.with_seed(3).grids[0]  # the same orbit: nothing is computed again


def test_another_seed(default):
    assert (default.with_seed(7).seed, default.seed) == (7, 1)
    assert refusal(default, {"mission.seed": "7"}) == "mission.seed must be a whole number, got '7'"


@pytest.mark.parametrize("path", ["sensors.sun_sensors[9].noise_deg", "mission.name.first", "control.references.kind"])
def test_a_place_that_is_not_there_cannot_be_replaced(default, path):
    assert refusal(default, {path: 1.0}) == f"{path} cannot be replaced by 1.0: there is no such place"


def test_the_hash_is_of_the_settings_not_of_the_text(default):
    assert load_text("# hello\n" + TEXT).sha256 == default.sha256
    assert default.replaced({"mission.substeps": None}).sha256 == default.sha256  # the default is 1
    other = {"mission.substeps": 2, "mission.seed": 2, "control.references[1].axis_B": [0, 1, 1], "orbit.bstar": 0}
    hashes = {default.replaced({path: value}).sha256 for path, value in other.items()}
    assert len(hashes | {default.sha256}) == 5


def test_a_scenario_can_be_sent_to_another_process(default):
    copy = pickle.loads(pickle.dumps(default))
    assert copy.sha256 == default.sha256
    np.testing.assert_array_equal(copy.grids[0].table, default.grids[0].table)
    assert copy.flight_config().controller.pointing.bandwidth_rad_s == 0.1
