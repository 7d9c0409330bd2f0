"""The wire's table: offsets, names, bits; and that the truth holds the environment as its kernel lays it out."""

import numpy as np
import pytest

from attitude.environment import grid
from attitude.spacecraft import frames
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, RECORDS, SAMPLES, TRUTH, Field, Record


@pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.name)
def test_fields_follow_each_other_and_fill_the_record(record):
    at = 0
    for field in record.values():
        assert field.offset == at
        assert field.size > 0
        at += field.size
    assert at == record.size  # a name given twice would leave a hole
    assert record.zeros().shape == (record.size,)


def test_sizes_that_packets_and_kernels_count_on():
    sizes = {name: record.size for name, record in RECORDS.items()}
    assert sizes == {"truth": 79, "samples": 64, "estimate": 22, "control": 17, "command": 16}
    assert list(RECORDS) == ["truth", "samples", "estimate", "control", "command"]


@pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.name)
def test_every_field_says_what_it_is(record):
    for field in record.values():
        assert field.meaning
        assert field.unit
        assert field.frame in ("", "B", "I")
        if field.frame:
            assert field.name.endswith((f"_{field.frame}", "_IB", "_IE"))


def test_bits_have_names_of_their_own():
    assert len(frames.SENSOR_NAMES) == len(set(frames.SENSOR_NAMES)) == frames.BITS
    named = {
        "gyro": frames.GYRO_BIT, "magnetometer": frames.MAGNETOMETER_BIT, "sun_sensor_0": frames.SUN_SENSOR_BIT,
        "sun_sensor_3": frames.SUN_SENSOR_BIT + 3, "coarse_sun": frames.COARSE_SUN_BIT,
        "star_tracker_0": frames.STAR_TRACKER_BIT, "star_tracker_1": frames.STAR_TRACKER_BIT + 1,
        "gps": frames.GPS_BIT, "wheels": frames.WHEELS_BIT, "torquers": frames.TORQUERS_BIT,
    }  # fmt: skip
    for name, bit in named.items():
        assert frames.SENSOR_NAMES[bit] == name


def test_fields_carry_the_bit_of_their_sensor():
    for field in SAMPLES.values():
        if field.name in ("t", "valid"):
            assert field.sensor == ""
        elif field.name != "wheel_speed":
            assert field.name.startswith(field.sensor)
    assert SAMPLES["wheel_speed"].sensor == COMMAND["wheel"].sensor == "wheels"
    assert COMMAND["dipole"].sensor == "torquers"
    told = {field.sensor for record in (SAMPLES, COMMAND) for field in record.values()} - {""}
    assert told == set(frames.SENSOR_NAMES)
    assert all(field.bit is None for record in (TRUTH, ESTIMATE, CONTROL) for field in record.values())


def test_samples_begin_with_their_time_tag():
    """Kernels go from a sensor's tag to its values by adding one."""
    names = list(SAMPLES)
    for sensor in frames.SENSOR_NAMES[: frames.WHEELS_BIT]:
        tag = names.index(f"{sensor}_t")
        assert SAMPLES[names[tag + 1]].sensor == sensor


@pytest.mark.parametrize(("bits", "names"), [
    (0.0, []), (1.0, ["gyro"]), (513.0, ["gyro", "gps"]), (4095.0, list(frames.SENSOR_NAMES)), (4096.0, []),
    (-1.0, []), (np.nan, []), (np.inf, []), (1e300, []), (1.5, ["gyro"]),
])  # fmt: skip
def test_bit_names_of_anything(bits, names):
    assert frames.bit_names(bits) == names


def test_read_gives_views_and_drops_the_axis_of_single_numbers():
    record = Record("r", "", Field("a", 1, "s", "", ""), Field("b", 3, "m", "", ""))
    row, rows = np.arange(4.0), np.arange(8.0).reshape(2, 4)
    assert record.read(row, "a") == 0.0
    assert record.read(rows, "a").tolist() == [0.0, 4.0]
    assert record.read(rows, "b").tolist() == [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]
    record.read(row, "b")[:] = 9.0
    assert row.tolist() == [0.0, 9.0, 9.0, 9.0]
    copied = record.as_dict(row)
    row[:] = 0.0
    assert copied["b"].tolist() == [9.0, 9.0, 9.0]


@pytest.mark.parametrize("given", [0.0, np.zeros(1), np.zeros(15), np.zeros((1, 16)), None])
def test_a_record_of_another_shape_is_refused(given):
    with pytest.raises(ValueError, match=r"^command must have shape \(16,\)"):
        frames.copy_in(given, COMMAND.zeros(), "command")


def test_truth_holds_the_environment_as_the_kernel_gives_it(craft):
    at = TRUTH["r_I"].offset
    for name, part in (
        ("r_I", grid.R_I), ("v_I", grid.V_I), ("b_I", grid.B_I), ("sun_I", grid.SUN_I), ("q_IE", grid.Q_IE)
    ):  # fmt: skip
        assert TRUTH[name].part == slice(at + part.start, at + part.stop)
    plant = craft.plant()
    for _ in range(38):
        plant.sense()
        plant.act(COMMAND.zeros())
    plant.sense()
    there = craft.grid.at(plant.t)
    assert TRUTH.read(plant.truth, "t") == plant.t == pytest.approx(3.8)
    for name in ("r_I", "v_I", "b_I", "sun_I", "q_IE", "sunlight"):
        assert np.array_equal(TRUTH.read(plant.truth, name), getattr(there, name))
