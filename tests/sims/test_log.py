"""The log: every field where it belongs, readable elsewhere, written whole or not at all, refused in one sentence."""

import os
import stat
from dataclasses import replace

import h5py
import numpy as np
import pytest
import xarray as xr

import attitude
from attitude.spacecraft import frames
from attitude.spacecraft.controller import SAFE_REFERENCE
from attitude.spacecraft.frames import RECORDS
from sims import log as logs
from sims import scenario as scenarios
from sims.about import About, about
from sims.output import write_whole

FITTED = {"wheel": 4, "torquer": 3, "diode": 6}


@pytest.fixture
def path(tmp_path, log):
    path = tmp_path / "mission.nc"
    logs.write(path, log)
    return path


# ------------------------------------------------------------------ what is in it
def test_every_field_of_what_is_fitted_is_there_with_its_numbers(story):
    rng = np.random.default_rng(1)
    rows = {name: rng.standard_normal(array.shape) for name, array in story.rows.items()}
    full = logs.dataset(rows, replace(story.about, sensors=frames.SENSOR_NAMES, damper=True))
    for record in RECORDS.values():
        for name, field in record.items():
            variable = full[f"{record.name}_{name}"]
            room = FITTED.get(logs.DIMENSIONS.get(field.size, ""), field.size)
            expected = rows[record.name][:, field.offset : field.offset + room]
            np.testing.assert_array_equal(variable.values.reshape(expected.shape), expected)
            assert variable.attrs["units"] == field.unit
            assert variable.attrs["long_name"] == field.meaning
            assert variable.attrs.get("frame", "") == field.frame
            assert variable.attrs.get("sensor", "") == field.sensor
    np.testing.assert_array_equal(full["time"], rows["truth"][:, 0])


def test_sizes_tell_the_axes_apart():
    sizes = [3, 4, frames.WHEELS, frames.TORQUERS, frames.DIODES]
    assert len(set(sizes)) == len(logs.DIMENSIONS) == 5
    assert {field.size for record in RECORDS.values() for field in record.values()} <= {1, *sizes}


def test_what_is_not_fitted_has_no_variable(story, log):
    assert log["truth_wheel_speed"].dims == ("time", "wheel")
    assert log["command_dipole"].shape == (story.t.size, 3)
    for name in ("truth_damper_omega_B", "samples_gps_r_I", "samples_star_tracker_0_q_IB", "samples_sun_sensor_1_t"):
        assert name not in log
    assert "samples_sun_sensor_0_sun_B" in log
    nothing = {"wheel_max_speed": (), "wheel_max_momentum": (), "torquer_max_dipole": ()}
    bare = logs.dataset(story.rows, replace(story.about, **nothing))
    assert not {"truth_wheel_speed", "samples_wheel_speed", "command_wheel", "command_dipole"} & set(bare)
    assert 0 not in bare.sizes.values()  # NetCDF would take a length of zero for one without bound


def test_numbers_with_names_carry_them(log):
    mode = log["control_mode"]
    assert mode.dtype == np.int32
    names = dict(zip(mode.attrs["flag_values"].tolist(), mode.attrs["flag_meanings"].split(), strict=True))
    assert names == {0: "detumble", 1: "acquire", 2: "safe", 3: "nominal"}
    faulty = log["estimate_faulty"].attrs
    masks = dict(zip(faulty["flag_meanings"].split(), faulty["flag_masks"].tolist(), strict=True))
    assert masks["gps"] == 1 << frames.GPS_BIT


def test_a_mode_that_is_no_number_is_not_hidden(story):
    story.put("control", mode=np.where(story.t == 10.0, np.nan, story.mode))
    assert np.isnan(logs.dataset(story.rows, story.about)["control_mode"].values).sum() == 1


def test_limits_and_references_go_along(story, log):
    np.testing.assert_array_equal(logs.limit(log, "truth_wheel_speed"), 600.0)
    np.testing.assert_array_equal(logs.limit(log, "command_dipole"), [0.2, 0.2, 0.2])
    assert np.isinf(logs.limit(log, "truth_dipole_B")).all()
    assert log["reference_number"].values.tolist() == [0, 1, SAFE_REFERENCE]
    for k, reference in enumerate(story.about.references.values()):
        parameters = reference.parameters()
        assert log["reference_kind"][k] == parameters.kind
        for name in logs.REFERENCE_FIELDS:
            np.testing.assert_array_equal(log[f"reference_{name}"][k], getattr(parameters, name))


def test_the_mission_is_told(story, log):
    told = log.attrs
    assert told["scenario"] == "made up"
    assert told["scenario_toml"] == story.about.toml
    assert told["scenario_sha256"] == "0" * 64
    assert (told["seed"], told["tick_s"], told["log_every"]) == (7, 0.1, 20)
    assert told["toolkit_version"] == attitude.__version__
    assert "[x, y, z, w]" in told["conventions"]
    assert log["time"].attrs == {"units": "s", "long_name": "time since the epoch", "epoch_utc": "2026-03-20T12:00:00Z"}
    assert logs.goals(log) == dict(story.about.goals)


@pytest.mark.parametrize("name", ["default", "spin-damper"])
def test_a_scenario_tells_what_is_fitted(name):
    scenario = scenarios.load(name)
    plant, flight = scenario.plant_config(), scenario.flight_config()
    told = about(scenario, plant, flight, {"pointing_deg": 1.0})
    assert (told.scenario, told.toml, told.sha256) == (scenario.name, scenario.text, scenario.sha256)
    assert told.epoch_utc == plant.environment.epoch.calendar().isoformat() + "Z"
    assert told.fitted["wheel"] == (0 if plant.wheels is None else len(plant.wheels))
    assert told.damper == (plant.damper is not None)
    assert [frames.SENSOR_NAMES.index(sensor) for sensor in told.sensors] == [bit for bit, _ in plant.sensors.fitted()]
    assert [told.references[k] for k in range(len(flight.controller.references))] == list(flight.controller.references)
    assert told.references.get(SAFE_REFERENCE) is flight.controller.safe
    assert told.goals == {"pointing_deg": 1.0}
    if plant.wheels is not None:
        rpm = np.asarray(plant.wheels.max_speed_rpm)
        np.testing.assert_allclose(told.wheel_max_speed, rpm * 2.0 * np.pi / 60.0, rtol=1e-15)
        np.testing.assert_allclose(
            told.wheel_max_momentum, rpm * 2.0 * np.pi / 60.0 * plant.wheels.inertia_kg_m2, rtol=1e-15
        )


def test_sensors_alone_make_a_log(story, tmp_path):
    rows = {name: story.rows[name] for name in ("truth", "samples")}
    logs.write(tmp_path / "sensors.nc", logs.dataset(rows, story.about))
    read = logs.read(tmp_path / "sensors.nc", ("truth", "samples"))
    part = RECORDS["samples"]["gyro_omega_B"].part
    np.testing.assert_array_equal(read["samples_gyro_omega_B"], rows["samples"][:, part])
    with pytest.raises(ValueError, match="has no variable 'estimate_t'"):
        logs.read(tmp_path / "sensors.nc")


# ------------------------------------------------------------------ files
def test_what_is_written_is_read(path, log):
    xr.testing.assert_identical(logs.read(path), log)


def test_plain_xarray_and_h5py_open_it(path, log):
    with xr.open_dataset(path) as plain:
        assert plain["time"].dtype == np.float64  # a time axis in numbers, not dates
        np.testing.assert_array_equal(plain["truth_q_IB"], log["truth_q_IB"])
    with h5py.File(path) as file:
        q = file["truth_q_IB"]
        np.testing.assert_array_equal(q[:], log["truth_q_IB"])
        assert [q.dims[i][0].name for i in range(2)] == ["/time", "/quaternion"]
        assert q.attrs["units"] == "1"
        assert file.attrs["scenario_toml"] == log.attrs["scenario_toml"]
        assert "_FillValue" not in q.attrs
        for item in (file, *file.values()):
            kinds = {np.asarray(value).dtype.kind for name, value in item.attrs.items() if name.islower()}
            assert kinds <= set("Uif")  # text and numbers: what NetCDF knows, and MATLAB reads


def test_a_long_scenario_with_any_letters_survives(story, tmp_path):
    toml = "# µ° Ω 衛星\n" * 20_000  # beyond the 64 kB of an HDF5 object header
    logs.write(tmp_path / "long.nc", logs.dataset(story.rows, replace(story.about, toml=toml)))
    assert logs.read(tmp_path / "long.nc").attrs["scenario_toml"] == toml


def test_a_result_is_as_readable_as_any_file(path):
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_full_disk_leaves_nothing(tmp_path, log, full_disk):
    with full_disk(10_000), pytest.raises(OSError, match="large"):
        logs.write(tmp_path / "mission.nc", log)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_what_was_there(tmp_path, log, full_disk):
    path = tmp_path / "mission.nc"
    path.write_bytes(b"before")
    with full_disk(10_000), pytest.raises(OSError, match="large"):
        logs.write(path, log)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"before"]


def test_a_device_is_not_replaced_and_a_link_keeps_pointing(tmp_path):
    with pytest.raises(OSError, match="not a regular file"):
        write_whole(tmp_path / ".", b"")
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


# ------------------------------------------------------------------ bad input
def test_rows_are_checked(story):
    rows = story.rows
    for bad, reason in (
        ({**rows, "thoughts": rows["truth"]}, "got 'thoughts'"),
        ({**rows, "truth": rows["truth"][:, 1:]}, r"rows of truth must have shape \(N, 79\)"),
        ({**rows, "truth": rows["truth"][1:]}, "of one length"),
        ({"control": rows["control"]}, "truth or samples"),
    ):
        with pytest.raises(ValueError, match=reason):
            logs.dataset(bad, story.about)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tick_s": 0.0}, "tick_s must be greater than zero"),
        ({"orbit_period_s": np.nan}, "orbit_period_s must be finite"),
        ({"log_every": 0}, "log_every must be a whole number"),
        ({"wheel_max_momentum": (1.0,)}, "wheel_max_momentum must have one number for each wheel, 4, got 1"),
        ({"sensors": ("gyroscope",)}, "got 'gyroscope'"),
    ],
)
def test_what_is_told_is_checked(story, change, reason):
    with pytest.raises(ValueError, match=reason):
        About(**{**story.about.__dict__, **change})


def spoil(path, log, how):
    """Something at `path` that is not a log."""
    if how == "folder":
        path.mkdir()
    elif how == "text":
        path.write_text("time, rate\n0, 1\n")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        logs.write(path, log)
        path.write_bytes(path.read_bytes()[:100_000])
    elif how == "no variable":
        logs.write(path, log.drop_vars("control_mode"))
    elif how == "no attribute":
        logs.write(path, log.drop_attrs(deep=False))
    elif how == "no rows":
        logs.write(path, log.isel(time=slice(0)))
    elif how == "other axes":
        logs.write(path, log.assign(truth_r_I=("quaternion", np.zeros(4))))
    elif how == "words":
        logs.write(path, log.assign(control_rate=("time", np.full(log.sizes["time"], "fast"))))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("nothing", "does not exist"),
        ("folder", "is not a file"),
        ("text", "is not a NetCDF file that can be read"),
        ("empty", "is not a NetCDF file that can be read"),
        ("cut", "is not a NetCDF file that can be read"),
        ("no variable", "is not the log of a mission: it has no variable 'control_mode'"),
        ("no attribute", "is not the log of a mission: it has no attribute 'scenario'"),
        ("no rows", "is not the log of a mission: it has no rows"),
        ("other axes", "it has no variable 'truth_r_I' of numbers over time"),
        ("words", "it has no variable 'control_rate' of numbers over time"),
    ],
)
def test_what_is_no_log_is_refused_in_one_sentence(tmp_path, log, how, reason):
    path = tmp_path / "mission.nc"
    spoil(path, log, how)
    with pytest.raises(ValueError, match=reason) as caught:
        logs.read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
