"""All sensors in one call: the same samples as the sensors alone, independent of each other, valid when they are."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.sensors.coarse_sun_sensor import CoarseSunSensors, CoarseSunSensorsConfig
from attitude.sensors.gps import Gps, GpsConfig
from attitude.sensors.gyro import Gyro, GyroConfig
from attitude.sensors.magnetometer import Magnetometer, MagnetometerConfig
from attitude.sensors.star_tracker import StarTracker
from attitude.sensors.sun_sensor import FineSunSensor
from attitude.spacecraft import frames
from attitude.spacecraft.config import SensorSuite
from attitude.spacecraft.frames import COMMAND, SAMPLES, TRUTH

TICKS, SEED = 700, 11  # the random numbers are renewed twice on the way


def rich(craft):
    """Every sensor, with rates, phases and latencies of all sorts, and dropouts."""
    return SensorSuite(
        gyro=GyroConfig(
            sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.15, bias_instability_deg_per_hr=3.0, latency_s=0.1,
            turn_on_bias_deg_per_hr=300.0, dropout_probability=0.05,
        ),
        magnetometer=MagnetometerConfig(sample_rate_hz=4.0, noise_nT=50.0, turn_on_bias_nT=30.0, phase_s=0.11),
        sun_sensors=tuple(craft.sun_sensor(side, latency_s=0.25) for side in ("+x", "-x", "+y", "-z")),
        coarse_sun=CoarseSunSensorsConfig(
            sample_rate_hz=3.0, normals_B=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)), noise_fraction=0.02
        ),
        star_trackers=(
            craft.star_tracker("-z", max_rate_deg_per_s=20.0),
            craft.star_tracker("+y", max_rate_deg_per_s=20.0, latency_s=0.3, dropout_probability=0.2),
        ),
        gps=GpsConfig(sample_rate_hz=1.0, position_noise_m=5.0, velocity_noise_m_per_s=0.05, latency_s=0.4),
    )  # fmt: skip


def watch(craft, sensors, ticks=TICKS, seed=SEED):
    """Truth and samples, `(ticks, size)` each, of a body that tumbles, nothing commanded."""
    plant = craft.plant(seed, sensors=sensors, omega_B=[0.02, 0.12, 0.05])
    truth, samples = np.empty((ticks, TRUTH.size)), np.empty((ticks, SAMPLES.size))
    for k in range(ticks):
        samples[k] = plant.sense()
        truth[k] = plant.truth
        plant.act(COMMAND.zeros())
    return truth, samples


@pytest.fixture(scope="module")
def seen(craft):
    return watch(craft, rich(craft))


def valid(samples, bit):
    return (samples[:, SAMPLES["valid"].offset].astype(int) >> bit) & 1 == 1


def fields_of(sensor):
    return [field for field in SAMPLES.values() if field.sensor == sensor]


# ------------------------------------------------------------------ against the sensors alone
def alone(craft, name, truth):
    """The stream of the stand-alone sensor of that name, for the plant's truth."""
    suite, t = rich(craft), TRUTH.read(truth, "t")
    q, w, sun, light, b, r, v = (
        TRUTH.read(truth, n) for n in ("q_IB", "omega_B", "sun_I", "sunlight", "b_I", "r_I", "v_I")
    )
    kind, number = name.rsplit("_", 1) if name[-1].isdigit() else (name, 0)
    if kind == "gyro":
        return Gyro(suite.gyro, name).stream(t, w, seed=SEED)
    if kind == "magnetometer":
        return Magnetometer(suite.magnetometer, name).stream(t, q, b, seed=SEED)
    if kind == "sun_sensor":
        return FineSunSensor(suite.sun_sensors[int(number)], name).stream(t, q, sun, light, seed=SEED)
    if kind == "coarse_sun":
        return CoarseSunSensors(suite.coarse_sun, name).stream(t, q, sun, light, seed=SEED)
    if kind == "star_tracker":
        return StarTracker(suite.star_trackers[int(number)], name).stream(t, q, w, sun, light, seed=SEED)
    return Gps(suite.gps, name).stream(t, r, v, seed=SEED)


@pytest.mark.parametrize("name", frames.SENSOR_NAMES[: frames.WHEELS_BIT])
def test_samples_are_those_of_the_sensor_alone(craft, seen, name):
    """Bit for bit, but for attitudes: the stand-alone class normalises those it is given, in the last digit."""
    truth, samples = seen
    stream, bit = alone(craft, name, truth), frames.SENSOR_NAMES.index(name)
    came = valid(samples, bit)
    t_out = TRUTH.read(truth, "t")[came]
    fields = fields_of(name)
    assert np.array_equal(t_out, stream.t_out[stream.valid])
    assert np.array_equal(samples[came, fields[0].offset], stream.t[stream.valid])
    first = fields[0].offset + 1
    values = samples[came, first : first + stream.values.shape[1]]
    if name in ("gyro", "gps"):
        assert np.array_equal(values, stream.values[stream.valid])
    else:
        scale = np.abs(values).max(initial=1e-9)
        assert values == pytest.approx(stream.values[stream.valid], abs=2e-15 * scale, rel=0.0)


def test_each_sensor_had_something_to_say(seen):
    """So that the comparison above is not one of nothing with nothing."""
    _, samples = seen
    counts = {name: int(valid(samples, bit).sum()) for bit, name in enumerate(frames.SENSOR_NAMES)}
    assert counts.pop("torquers") == 0
    assert min(counts.values()) >= 40
    assert counts["wheels"] == TICKS


# ------------------------------------------------------------------ independence
@pytest.mark.parametrize("without", ["gyro", "magnetometer", "sun_sensors", "coarse_sun", "star_trackers", "gps"])
def test_one_sensor_less_leaves_the_others_alone(craft, seen, without):
    parts = {name: getattr(rich(craft), name) for name in SensorSuite.__dataclass_fields__}
    parts[without] = () if isinstance(parts[without], tuple) else None
    _, fewer = watch(craft, SensorSuite(**parts))
    gone = without.rstrip("s")
    for bit, name in enumerate(frames.SENSOR_NAMES[: frames.WHEELS_BIT]):
        if name.startswith(gone):
            assert not valid(fewer, bit).any()
            for field in fields_of(name):
                assert not fewer[:, field.part].any()
        else:
            assert np.array_equal(valid(fewer, bit), valid(seen[1], bit))
            for field in fields_of(name):
                assert np.array_equal(fewer[:, field.part], seen[1][:, field.part])


def test_two_equal_sensors_have_noise_of_their_own(craft):
    suite = SensorSuite(star_trackers=2 * (craft.star_tracker(max_rate_deg_per_s=20.0),))
    _, samples = watch(craft, suite, 50)
    first, second = (samples[0, SAMPLES[f"star_tracker_{i}_q_IB"].part] for i in range(2))
    assert valid(samples, frames.STAR_TRACKER_BIT)[0]
    assert (first != second).all()


def test_other_seeds_other_samples_same_truth(craft, seen):
    truth, samples = watch(craft, rich(craft), 100, seed=SEED + 1)
    again, same = watch(craft, rich(craft), 100)
    assert np.array_equal(same, seen[1][:100])
    assert np.array_equal(truth, again)
    gyro = SAMPLES["gyro_omega_B"].part
    assert (samples[5:, gyro] != same[5:, gyro]).all()


# ------------------------------------------------------------------ validity
def test_without_sensors_nothing_is_ever_valid_but_the_wheels(craft):
    _, samples = watch(craft, SensorSuite(), 40)
    assert (SAMPLES.read(samples, "valid") == 1 << frames.WHEELS_BIT).all()
    rest = slice(SAMPLES["valid"].offset + 1, SAMPLES["wheel_speed"].offset)
    assert not samples[:, rest].any()


def test_without_wheels_there_is_no_tachometer(craft):
    plant = craft.plant(sensors=SensorSuite(), wheels=None)
    assert SAMPLES.read(plant.sense(), "valid") == 0.0


def test_values_stay_until_the_next_valid_sample(seen):
    _, samples = seen
    for bit, name in enumerate(frames.SENSOR_NAMES[: frames.WHEELS_BIT]):
        came = valid(samples, bit)
        for field in fields_of(name):
            changed = (np.diff(samples[:, field.part], axis=0) != 0.0).any(axis=1)
            assert not (changed & ~came[1:]).any()


def test_a_late_sample_carries_the_time_it_was_taken(seen):
    _, samples = seen
    came = valid(samples, frames.GPS_BIT)
    age = SAMPLES.read(samples, "t")[came] - SAMPLES.read(samples, "gps_t")[came]
    assert age == pytest.approx(0.4, abs=1e-9)
    assert SAMPLES.read(samples, "gps_t")[came] % 1.0 == pytest.approx(0.0, abs=1e-9)


def test_sun_sensors_see_the_sun_where_they_look(craft, seen):
    truth, samples = seen
    sun = sun_in_body(truth)
    for i, (axis, sign) in enumerate(((0, 1), (0, -1), (1, 1), (2, -1))):
        came = valid(samples, frames.SUN_SENSOR_BIT + i)
        taken = np.round(SAMPLES.read(samples, f"sun_sensor_{i}_t")[came] / craft.tick).astype(int)
        inside = sign * sun[:, axis] >= np.cos(np.radians(60.0))
        assert inside[taken].all()
        told = samples[came, SAMPLES[f"sun_sensor_{i}_sun_B"].part]
        # 0.3° of noise in each of two angles, which spread by up to 1/cos 60° at the edge: 6 sigma
        assert np.degrees(np.arccos(np.clip((told * sun[taken]).sum(axis=1), -1.0, 1.0))).max() < 6 * 0.3 * 2.0


def sun_in_body(truth):
    """True direction to the Sun, body axes, by SciPy."""
    return Rotation.from_quat(TRUTH.read(truth, "q_IB")).inv().apply(TRUTH.read(truth, "sun_I"))


def test_wheel_speeds_are_the_true_ones(seen):
    truth, samples = seen
    assert np.array_equal(SAMPLES.read(samples, "wheel_speed"), TRUTH.read(truth, "wheel_speed"))
    assert (SAMPLES.read(samples, "wheel_speed")[:, :4] != 0.0).all()


def test_a_second_look_in_the_same_tick_brings_nothing_new(craft):
    plant = craft.plant()
    first = plant.sense().copy()
    assert int(SAMPLES.read(first, "valid")) & 3 == 3
    again = plant.sense()
    assert SAMPLES.read(again, "valid") == 1 << frames.WHEELS_BIT
    rest = slice(SAMPLES["valid"].offset + 1, None)
    assert np.array_equal(again[rest], first[rest])
