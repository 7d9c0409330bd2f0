"""`attitude run`, `attitude sensors` and `attitude plot`: what the shipped missions reach, and what bad input gets."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from attitude.spacecraft.frames import SENSOR_NAMES
from sims import log, output, run, scenario, summary, table, verdicts
from sims.cli import app

SHIPPED = scenario.shipped()


def attitude(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def flown():
    """Log and summary of a shipped scenario, flown once."""
    found = {}

    def fly(name):
        if name not in found:
            dataset = run.fly(scenario.load(name)).dataset()
            found[name] = dataset, summary.summarise(dataset)
        return found[name]

    return fly


@pytest.fixture
def toml(tmp_path):
    """A file with the default scenario, one text in it replaced."""

    def write(old, new):
        assert SHIPPED["default"].count(old) >= 1
        path = tmp_path / "mine.toml"
        path.write_text(SHIPPED["default"].replace(old, new, 1))
        return path

    return write


# ------------------------------------------------------------------ the missions
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_missions_reach_their_goals(flown, name):
    dataset, found = flown(name)
    missed = [line for line in verdicts.lines(found, log.goals(dataset)) if line.passed is False]
    assert missed == []


def test_the_default_mission(flown):
    dataset, found = flown("default")
    assert found.duration_s > 3.0 * found.orbit_period_s
    assert dataset.attrs["tick_s"] == 0.1
    assert found.first_rate_deg_s == pytest.approx(10.0, abs=0.01)
    assert found.detumbled_s < 2.0 * found.orbit_period_s
    assert found.pointing_sunlit.three_sigma_deg < 1.0
    assert found.pointing_sunlit.rows > 5000
    assert found.within_3_sigma > 0.98
    assert found.wheel_load_last_orbit < 0.95
    assert found.momentum_audit < 1e-12
    assert any(name.startswith("target") for name in found.pointing_by_reference)
    assert (dataset["control_dumping"].values > 0).any()
    wheels = dataset["truth_wheel_speed"].values[dataset["control_mode"].values == 0]
    assert np.abs(wheels).max() < 1.0  # the tumble is taken by the torquers, not by the wheels


def test_star_tracker_pointing(flown):
    _, found = flown("star-tracker")
    assert found.pointing_sunlit.three_sigma_deg < 0.05
    assert found.pointing_eclipse.three_sigma_deg < 0.05


def test_faults_are_noticed_when_they_happen_and_survived(flown):
    dataset, found = flown("faults")
    given = scenario.load("faults").document.sensors
    gyro = given.gyro.faults[0]
    assert found.fallbacks >= 1
    assert found.last_mode == "nominal"
    safe = next(change for change in found.mode_changes if change.after == "safe")
    back = next(change for change in found.mode_changes if change.before == "safe")
    assert gyro.start_s < safe.t_s < gyro.start_s + 60.0
    assert gyro.end_s < back.t_s < gyro.end_s + 120.0
    t, faulty = dataset["time"].values, dataset["estimate_faulty"].values.astype(int)
    for name, faults in (("gyro", given.gyro.faults), ("magnetometer", given.magnetometer.faults)):
        noticed = t[faulty >> SENSOR_NAMES.index(name) & 1 > 0]
        assert noticed.size > 0
        assert noticed.min() > faults[0].start_s
        assert noticed.min() < faults[0].start_s + 60.0
        assert noticed.max() < faults[-1].end_s + 60.0
    suns = sum(faulty >> bit & 1 for bit in range(2, 6))
    dead = given.sun_sensors[0].faults[0]
    noticed = t[suns > 0]
    assert noticed.size > 0
    assert noticed.min() > dead.start_s
    assert noticed.max() < dead.end_s + 60.0
    assert all(np.isfinite(dataset[name].values).all() for name in dataset.data_vars if "reference" not in name)


def test_the_damper_takes_the_nutation(flown):
    _, found = flown("spin-damper")
    assert found.wobble_first_deg > 5.0
    assert found.wobble_last_deg < 0.1 * found.wobble_first_deg


def test_same_seed_same_mission_another_seed_another():
    short = scenario.load("faults").replaced({"mission.duration_s": 100.0, "mission.duration_orbits": None})
    one, again = run.fly(short), run.fly(short)
    other = run.fly(short.with_seed(99))
    for name, rows in one.rows.items():
        assert (rows == again.rows[name]).all()
    assert (one.rows["samples"] != other.rows["samples"]).any()


def test_a_flight_program_of_ones_own_is_reported_too(tmp_path):
    """One that tells nothing of itself: the summary goes by the truth, and nothing is made up."""
    short = scenario.load("detumble").replaced({"mission.duration_s": 60.0, "mission.duration_orbits": None})
    mission = run.fly(short, flight=run.Idle())
    found = run.report(mission.dataset(), tmp_path)
    assert (found.last_mode, found.within_3_sigma, found.detumbled_s) == ("unknown", None, None)
    assert found.last_rate_deg_s == pytest.approx(found.first_rate_deg_s, rel=0.1)
    assert (tmp_path / "report.html").is_file()
    assert np.isnan(mission.rows["estimate"]).all()


# ------------------------------------------------------------------ the commands
def test_run_writes_log_figures_and_report(toml, tmp_path):
    path, out = toml("duration_orbits = 5.0", "duration_s = 60.0"), tmp_path / "out"
    path.write_text(path.read_text().split("[[control.references]]")[0] + _after_target(path.read_text()))
    done = attitude("run", path, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["scenario"] == "default"
    assert document["passed"]
    assert "pointing_deg" not in document["goals"]  # those of the shipped mission are not those of an edited one
    assert document["summary"]["duration_s"] == pytest.approx(60.0)
    assert document["ticks"] == 600
    page = (out / "report.html").read_text()
    assert page.count("data:image/png;base64") == len(list(out.glob("*.png"))) > 5
    before = (out / "rates.png").stat().st_mtime_ns
    assert xr.open_dataset(out / "mission.nc", engine="h5netcdf")["truth_omega_B"].attrs["units"] == "rad/s"
    again = attitude("plot", out / "mission.nc", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["summary"] == document["summary"]
    assert (out / "rates.png").stat().st_mtime_ns > before


def _after_target(text):
    """The scenario after its ground target, which a short mission does not see."""
    return "[[control.references]]" + text.split("[[control.references]]", 2)[2]


def test_dump_default_is_the_default_scenario():
    done = attitude("run", "--dump-default")
    assert done.exit_code == 0
    assert done.stdout == SHIPPED["default"]
    assert scenario.load_text(done.stdout).sha256 == scenario.load("default").sha256


def test_sensors_alone_as_netcdf_and_as_csv(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SHIPPED["detumble"].replace("duration_orbits = 3.0", "duration_s = 20.0"))
    for name in ("s.nc", "s.csv"):
        done = attitude("sensors", path, "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
    dataset = log.read(tmp_path / "s.nc", run.SENSED)
    lines = (tmp_path / "s.csv").read_text().splitlines()
    head, values = lines[0].split(","), np.array([line.split(",") for line in lines[1:]], dtype=float)
    assert dataset.sizes["time"] == len(values) == 200
    column = head.index("samples_gyro_omega_B[1] [rad/s]")
    assert np.allclose(values[:, column], dataset["samples_gyro_omega_B"].values[:, 1], rtol=1e-9, atol=1e-15)
    rate = dataset["truth_omega_B"].values
    assert np.abs(dataset["samples_gyro_omega_B"].values - rate).max() < 0.02  # rad/s: bias, noise and scale
    tags = dataset["samples_magnetometer_t"].values
    assert (np.diff(tags) >= 0.0).all()
    assert np.unique(tags).size == 20 * scenario.load(str(path)).document.sensors.magnetometer.sample_rate_hz


def test_csv_has_all_numbers_of_a_row():
    dataset = xr.Dataset(
        {"a": (("time", "x"), [[1.0, 2.0], [3.0, 4.0]], {"units": "m"}), "b": ("time", [5.0, 6.0], {"units": "s"})},
        coords={"time": [0.0, 0.5]},
    )
    assert "".join(table.csv(dataset)) == "time [s],a[0] [m],a[1] [m],b [s]\n0,1,2,5\n0.5,3,4,6\n"


# ------------------------------------------------------------------ bad input
ORBIT = SHIPPED["default"][SHIPPED["default"].index("[orbit]") : SHIPPED["default"].index("[environment]")]
TLE = """[orbit]
tle = [
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2928",
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537",
]

"""
BAD = {
    "a bad checksum": (ORBIT, TLE, "checksum"),
    "a date outside IGRF": ("epoch = 2026-03-20T02:30:00Z", "epoch = 2050-03-20T02:30:00Z", "mission.epoch"),
    "a target never seen": ("longitude_deg = 16.37", "longitude_deg = 150.0", "control.references[0]"),
    "wheels in a plane": ("[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0]]", "[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]", "wheels"),
    "a negative noise": (
        "arw_deg_per_sqrt_hr = 0.15", "arw_deg_per_sqrt_hr = -0.15", "sensors.gyro.arw_deg_per_sqrt_hr",
    ),
    "a wrong unit": (
        "arw_deg_per_sqrt_hr = 0.15", "arw_deg_per_hr = 0.15", "sensors.gyro.arw_deg_per_hr",
    ),
    "a number beyond all measure": ("drag_coefficient = 2.2", "drag_coefficient = 1e300", "body.drag_coefficient"),
    "a cycle without end": ("period_s = 1.0 ", "period_s = 1e-12 ", "magnetorquers.period_s"),
    "a tumble beyond counting": ("rate_deg_s = [6.6, -6.6, 3.6]", "rate_deg_s = [1e9, 0.0, 0.0]", "omega_B"),
    "a name with control characters": ('name = "default"', 'name = "a\\u0000b"', "mission.name"),
    "a missing field": ("noise_nT = 60.0", "#", "sensors.magnetometer.noise_nT"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "named"), BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence_exit_code_2_and_no_file(toml, tmp_path, old, new, named):
    path, out = toml(old, new), tmp_path / "out"
    done = attitude("run", path, "--out", out)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    sentence = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(sentence) == 1
    assert named in sentence[0]
    assert not out.exists()


def test_other_bad_input(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "log.nc").write_text("not a log")
    for arguments, why in (
        (("run", "default", "--out", tmp_path / "file"), "cannot write"),
        (("run", "nowhere.toml", "--out", tmp_path / "o"), "nowhere.toml"),
        (("run", "default", "--seed", "-1", "--out", tmp_path / "o"), "seed"),
        (("sensors", "default", "--out", tmp_path / "x.mat"), ".nc or .csv"),
        (("sensors", "default", "--out", tmp_path), ".nc or .csv"),
        (("plot", tmp_path / "log.nc"), "log.nc"),
        (("plot", tmp_path / "missing.nc"), "missing.nc"),
    ):
        done = attitude(*arguments)
        assert done.exit_code == 2, done.output
        assert why in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_a_disk_that_is_full_leaves_no_half_log(tmp_path, monkeypatch):
    short = scenario.load("faults").replaced({"mission.duration_s": 2.0, "mission.duration_orbits": None})
    dataset = run.fly(short).dataset()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        log.write(tmp_path / "mission.nc", dataset)
    assert list(Path(tmp_path).iterdir()) == []
