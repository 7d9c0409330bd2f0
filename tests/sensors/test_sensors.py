"""All sensors alike: every parameter acts, noise has its statistics, time tags, faults, seeds, bad input."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from attitude.core import quaternion as quat
from attitude.sensors import base, coarse_sun_sensor, errors, gps, gyro, magnetometer, star_tracker, sun_sensor
from attitude.sensors.coarse_sun_sensor import CoarseSunSensors, CoarseSunSensorsConfig, CoarseSunSensorsFault
from attitude.sensors.gps import Gps, GpsConfig, GpsFault
from attitude.sensors.gyro import Gyro, GyroConfig, GyroFault
from attitude.sensors.magnetometer import Magnetometer, MagnetometerConfig, MagnetometerFault
from attitude.sensors.star_tracker import StarTracker, StarTrackerConfig, StarTrackerFault
from attitude.sensors.sun_sensor import FineSunSensor, FineSunSensorConfig, FineSunSensorFault

MODULES = (gyro, magnetometer, sun_sensor, coarse_sun_sensor, star_tracker, gps)
SENSORS = (Gyro, Magnetometer, FineSunSensor, CoarseSunSensors, StarTracker, Gps)
DEG = math.pi / 180.0
ARCSEC = DEG / 3600.0
TURN = tuple(quat.exp([0.3, -0.2, 0.1]))
EYE = (0.0, 0.0, 0.0, 1.0)
FACES = ((0.6, 0.0, 0.8), (-0.6, 0.0, 0.8), (0.0, 0.6, 0.8), (0.0, -0.6, 0.8))  # all lit by a Sun near +z

# what is nominal and without any error
QUIET = {
    Gyro: {"sample_rate_hz": 10.0, "arw_deg_per_sqrt_hr": 0.0},
    Magnetometer: {"sample_rate_hz": 10.0, "noise_nT": 0.0},
    FineSunSensor: {"sample_rate_hz": 10.0, "q_BS": EYE, "half_fov_deg": 60.0, "noise_deg": 0.0},
    CoarseSunSensors: {"sample_rate_hz": 10.0, "normals_B": FACES, "noise_fraction": 0.0},
    StarTracker: {
        "sample_rate_hz": 10.0, "q_BS": EYE, "noise_cross_arcsec": 0.0, "noise_roll_arcsec": 0.0,
        "sun_exclusion_deg": 30.0, "max_rate_deg_per_s": 20.0,
    },
    Gps: {"sample_rate_hz": 10.0, "position_noise_m": 0.0, "velocity_noise_m_per_s": 0.0},
}  # fmt: skip
# the same with every error switched on
NOISY = {
    Gyro: {
        "arw_deg_per_sqrt_hr": 0.2, "bias_instability_deg_per_hr": 5.0, "rrw_deg_per_hr_per_sqrt_hr": 3.0,
        "turn_on_bias_deg_per_hr": 20.0, "scale_factor_ppm": 300.0, "misalignment_arcsec": 200.0,
        "lsb_deg_per_s": 1e-5, "range_deg_per_s": 12.0,
    },
    Magnetometer: {
        "noise_nT": 20.0, "turn_on_bias_nT": 100.0, "bias_walk_nT_per_sqrt_hr": 30.0, "scale_factor_ppm": 500.0,
        "misalignment_arcsec": 500.0, "lsb_nT": 1.0, "range_nT": 60_000.0, "hard_iron_nT": (300.0, -200.0, 100.0),
        "soft_iron": ((1.02, 0.01, 0.0), (0.01, 0.97, 0.02), (0.0, 0.02, 1.01)),
    },
    FineSunSensor: {
        "noise_deg": 0.1, "turn_on_bias_deg": 0.2, "bias_walk_deg_per_sqrt_hr": 0.1, "scale_factor_ppm": 2000.0,
        "misalignment_arcsec": 300.0, "lsb_deg": 0.01,
    },
    CoarseSunSensors: {
        "noise_fraction": 0.01, "turn_on_bias_fraction": 0.02, "bias_walk_fraction_per_sqrt_hr": 0.05,
        "scale_factor_ppm": 20_000.0, "misalignment_arcsec": 3600.0, "lsb_fraction": 0.001, "range_fraction": 1.2,
    },
    StarTracker: {
        "noise_cross_arcsec": 5.0, "noise_roll_arcsec": 40.0, "misalignment_arcsec": 30.0,
        "bias_walk_arcsec_per_sqrt_hr": 10.0, "quaternion_lsb": 1e-8,
    },
    Gps: {
        "position_noise_m": 5.0, "velocity_noise_m_per_s": 0.05, "correlated_error_m": 3.0, "turn_on_bias_m": 2.0,
        "position_lsb_m": 0.1, "velocity_lsb_m_per_s": 0.001,
    },
}  # fmt: skip
CONFIG = {
    Gyro: GyroConfig, Magnetometer: MagnetometerConfig, FineSunSensor: FineSunSensorConfig,
    CoarseSunSensors: CoarseSunSensorsConfig, StarTracker: StarTrackerConfig, Gps: GpsConfig,
}  # fmt: skip
FAULT = {
    Gyro: GyroFault, Magnetometer: MagnetometerFault, FineSunSensor: FineSunSensorFault,
    CoarseSunSensors: CoarseSunSensorsFault, StarTracker: StarTrackerFault, Gps: GpsFault,
}  # fmt: skip
# a size of a fault in its own unit, and in SI units
SIZE = {
    Gyro: (2.0, 2.0 * DEG), Magnetometer: (1500.0, 1.5e-6), FineSunSensor: (3.0, 3.0 * DEG),
    CoarseSunSensors: (0.1, 0.1), StarTracker: (600.0, 600.0 * ARCSEC), Gps: (250.0, 250.0),
}  # fmt: skip
TIMES = np.arange(200) * 0.1


def quiet(sensor, **changes):
    return sensor(CONFIG[sensor](**{**QUIET[sensor], **changes}))


def noisy(sensor, **changes):
    return sensor(CONFIG[sensor](**{**QUIET[sensor], **NOISY[sensor], **changes}))


def still(sensor):
    """Truth that does not change: the body at rest in the inertial axes, the Sun a little off +z, in view of all."""
    sun = np.array([0.1, -0.2, 1.0]) / np.linalg.norm([0.1, -0.2, 1.0])
    return {
        Gyro: ([0.1, -0.05, 0.08],),
        Magnetometer: (EYE, [2e-5, -3e-5, 1e-5], [0.0, 0.0, 0.0]),
        FineSunSensor: (EYE, sun, 1.0),
        CoarseSunSensors: (EYE, sun, 1.0, [0.0, 0.0, 0.0]),
        StarTracker: (EYE, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 1.0),
        Gps: ([7e6, 1e5, -2e5], [100.0, 7500.0, 10.0]),
    }[sensor]


def moving(sensor, times=TIMES):
    """Truth of a slow turn about a skew axis; the Sun leaves and enters fields of view; dipoles and speeds change."""
    q_IB = quat.exp(np.outer(times, [0.02, 0.09, -0.04]))
    omega_B = np.tile([0.02, 0.09, -0.04], (times.size, 1)) * (1.0 + 0.3 * np.sin(times))[:, None]
    sun_I, sunlight = np.array([0.5, 0.1, 0.8]), 0.5 + 0.5 * np.cos(0.3 * times)
    return {
        Gyro: (omega_B * 2.0,),
        Magnetometer: (q_IB, [2e-5, -3e-5, 5e-5], 0.2 * np.sin(np.outer(times, [1.0, 2.0, 3.0]))),
        FineSunSensor: (q_IB, sun_I, sunlight),
        CoarseSunSensors: (q_IB, sun_I / np.linalg.norm(sun_I), sunlight, [0.0, 0.3, 0.2]),
        StarTracker: (q_IB, omega_B, sun_I, 1.0),
        Gps: (np.outer(times, [7e3, 1e3, 0.0]) + 6.9e6, [7e3, 1e3, 0.0]),
    }[sensor]


def errors_of(sensor, stream):
    """Error of each channel of a quiet sensor that looks at the still truth, SI units."""
    truth = still(sensor)
    if sensor is StarTracker:
        return quat.log(stream.values)
    if sensor is FineSunSensor:
        s, v = truth[1], stream.values
        true = np.arctan2(s[0], s[2]), np.arctan2(s[1], s[2])
        return np.stack([np.arctan2(v[:, i], v[:, 2]) - true[i] for i in range(2)], axis=1)
    if sensor is CoarseSunSensors:
        return stream.values - np.array(FACES) @ truth[1]
    true = np.concatenate([truth[0], truth[1]]) if sensor is Gps else truth[1 if sensor is Magnetometer else 0]
    return stream.values - true


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


# ------------------------------------------------------------------ every parameter acts
TIMING = {"sample_rate_hz": 5.0, "phase_s": 0.05, "latency_s": 0.25, "dropout_probability": 0.3}
CHANGES = {
    Gyro: {
        **TIMING, "arw_deg_per_sqrt_hr": 0.3, "bias_instability_deg_per_hr": 8.0, "bias_instability_time_s": 500.0,
        "rrw_deg_per_hr_per_sqrt_hr": 4.0, "turn_on_bias_deg_per_hr": 30.0, "scale_factor_ppm": 200.0,
        "misalignment_arcsec": 300.0, "lsb_deg_per_s": 3e-5, "range_deg_per_s": 11.0, "q_BS": TURN,
        "faults": [GyroFault(kind="spike", start_s=5.0, size_deg_per_s=1.0)],
    },
    Magnetometer: {
        **TIMING, "noise_nT": 30.0, "turn_on_bias_nT": 50.0, "bias_walk_nT_per_sqrt_hr": 60.0,
        "scale_factor_ppm": 900.0, "misalignment_arcsec": 900.0, "lsb_nT": 2.0, "range_nT": 40_000.0,
        "hard_iron_nT": (0.0, 0.0, 900.0), "soft_iron": np.eye(3), "torquer_field_nT_per_Am2": 1e4 * np.eye(3),
        "q_BS": TURN, "faults": [MagnetometerFault(kind="spike", start_s=5.0, size_nT=1000.0)],
    },
    FineSunSensor: {
        **TIMING, "q_BS": TURN, "half_fov_deg": 25.0, "noise_deg": 0.3, "turn_on_bias_deg": 0.4,
        "bias_walk_deg_per_sqrt_hr": 0.3, "scale_factor_ppm": 5000.0, "misalignment_arcsec": 900.0, "lsb_deg": 0.03,
        "minimum_sunlight": 0.9, "faults": [FineSunSensorFault(kind="bias_jump", start_s=0.0, size_deg=1.0)],
    },
    CoarseSunSensors: {
        **TIMING, "normals_B": FACES[:2], "noise_fraction": 0.03, "turn_on_bias_fraction": 0.04,
        "bias_walk_fraction_per_sqrt_hr": 0.1, "scale_factor_ppm": 50_000.0, "misalignment_arcsec": 7200.0,
        "lsb_fraction": 0.01, "range_fraction": 0.5, "half_fov_deg": 50.0,
        "faults": [CoarseSunSensorsFault(kind="dead", start_s=5.0, channel=2)],
    },
    StarTracker: {
        **TIMING, "q_BS": TURN, "noise_cross_arcsec": 9.0, "noise_roll_arcsec": 60.0, "misalignment_arcsec": 60.0,
        "bias_walk_arcsec_per_sqrt_hr": 30.0, "quaternion_lsb": 1e-6, "sun_exclusion_deg": 60.0,
        "max_rate_deg_per_s": 6.0, "faults": [StarTrackerFault(kind="stuck", start_s=5.0)],
    },
    Gps: {
        **TIMING, "position_noise_m": 9.0, "velocity_noise_m_per_s": 0.1, "correlated_error_m": 6.0,
        "correlation_time_s": 60.0, "turn_on_bias_m": 4.0, "position_lsb_m": 1.0, "velocity_lsb_m_per_s": 0.01,
        "range_m": 6.95e6, "faults": [GpsFault(kind="spike", start_s=5.0, size_m=100.0)],
    },
}  # fmt: skip


@pytest.mark.parametrize("sensor", SENSORS)
def test_there_is_a_change_for_every_field(sensor):
    assert set(CHANGES[sensor]) == {field.name for field in fields(CONFIG[sensor])}


@pytest.mark.parametrize(("sensor", "field"), [(s, field.name) for s in SENSORS for field in fields(CONFIG[s])])
def test_every_parameter_has_a_visible_effect(sensor, field):
    """Same seed, same truth, one field changed: the valid samples, or their number, change."""
    before = noisy(sensor).stream(TIMES, *moving(sensor), seed=3)
    after = noisy(sensor, **{field: CHANGES[sensor][field]}).stream(TIMES, *moving(sensor), seed=3)
    assert before.valid.sum() > 20
    assert not same([x[before.valid] for x in before], [x[after.valid] for x in after])
    assert np.isfinite(after.values).all()


@pytest.mark.parametrize("sensor", SENSORS)
def test_another_parameter_does_not_change_what_is_drawn(sensor):
    """The effect above is the parameter's own: a field that does not act here leaves the samples as they are."""
    before = noisy(sensor).stream(TIMES, *moving(sensor), seed=3)
    size = FAULT[sensor].size_field
    later = FAULT[sensor](kind="spike", start_s=1e6, **{size: SIZE[sensor][0]})
    assert same(before, noisy(sensor, faults=[later]).stream(TIMES, *moving(sensor), seed=3))


FAULT_CHANGES = {
    "kind": ({"kind": "stuck"}, {"kind": "dead"}),
    "start_s": ({"kind": "dead", "start_s": 5.0}, {"kind": "dead", "start_s": 6.0}),
    "end_s": ({"kind": "dead", "end_s": 15.0}, {"kind": "dead", "end_s": 16.0}),
    "channel": ({"kind": "bias_jump", "size": 1.0}, {"kind": "bias_jump", "size": 1.0, "channel": 1}),
    "probability": ({"kind": "spike", "size": 1.0}, {"kind": "spike", "size": 1.0, "probability": 0.5}),
    "size": ({"kind": "spike", "size": 0.1}, {"kind": "spike", "size": 0.2}),
}


@pytest.mark.parametrize(("sensor", "field"), [(s, field.name) for s in SENSORS for field in fields(FAULT[s])])
def test_every_parameter_of_a_fault_has_a_visible_effect(sensor, field):
    size = FAULT[sensor].size_field
    streams = []
    for options in FAULT_CHANGES["size" if field == size else field]:
        given = {size if name == "size" else name: value for name, value in options.items()}
        fault = FAULT[sensor](**{"start_s": 5.0, **given})
        stream = noisy(sensor, faults=[fault]).stream(TIMES, *still(sensor), seed=3)
        streams.append([x[stream.valid] for x in stream])
    assert not same(*streams)


# ------------------------------------------------------------------ statistics
def within(estimate, expected, count, sigmas=5.0):
    """A variance from `count` normal numbers scatters by √(2/count)."""
    return abs(estimate / expected - 1.0) < sigmas * math.sqrt(2.0 / count)


WHITE = [  # sensor, field, datasheet value, channels, 1σ of a sample in SI units at 10 Hz
    (Gyro, "arw_deg_per_sqrt_hr", 0.3, slice(0, 3), 0.3 * DEG / 60.0 * math.sqrt(10.0)),
    (Magnetometer, "noise_nT", 40.0, slice(0, 3), 40e-9),
    (FineSunSensor, "noise_deg", 0.1, slice(0, 2), 0.1 * DEG),
    (CoarseSunSensors, "noise_fraction", 0.01, slice(0, 4), 0.01),
    (StarTracker, "noise_cross_arcsec", 8.0, slice(0, 2), 8.0 * ARCSEC),
    (StarTracker, "noise_roll_arcsec", 50.0, slice(2, 3), 50.0 * ARCSEC),
    (Gps, "position_noise_m", 5.0, slice(0, 3), 5.0),
    (Gps, "velocity_noise_m_per_s", 0.1, slice(3, 6), 0.1),
]


@pytest.mark.parametrize(("sensor", "field", "value", "channels", "sigma"), WHITE)
def test_white_noise(sensor, field, value, channels, sigma):
    """Mean within 5 σ/√N, variance within 5 √(2/N), no correlation in time and between channels within 5/√N."""
    n = 20_000
    stream = quiet(sensor, **{field: value}).stream(np.arange(n) * 0.1, *still(sensor), seed=11)
    error = errors_of(sensor, stream)
    noise = error[:, channels] / sigma
    assert (np.abs(noise.mean(axis=0)) < 5.0 / math.sqrt(n)).all()
    assert all(within(v, 1.0, n) for v in noise.var(axis=0))
    assert (np.abs((noise[1:] * noise[:-1]).mean(axis=0)) < 5.0 / math.sqrt(n)).all()
    others = np.corrcoef(noise.T).reshape(noise.shape[1], -1) - np.eye(noise.shape[1])
    assert (np.abs(others) < 5.0 / math.sqrt(n)).all()
    quiet_ones = np.delete(error, np.arange(error.shape[1])[channels], axis=1)
    assert np.abs(quiet_ones).max(initial=0.0) < 1e-6 * sigma + 2e-9  # rounding of 7e6 m; second order of angles


WALK = [
    (Gyro, "rrw_deg_per_hr_per_sqrt_hr", 4.0, 4.0 * DEG / 3600.0 / 60.0),
    (Magnetometer, "bias_walk_nT_per_sqrt_hr", 60.0, 1e-9),
    (FineSunSensor, "bias_walk_deg_per_sqrt_hr", 0.06, 0.001 * DEG),
    (CoarseSunSensors, "bias_walk_fraction_per_sqrt_hr", 0.06, 0.001),
    (StarTracker, "bias_walk_arcsec_per_sqrt_hr", 6.0, 0.1 * ARCSEC),
]


@pytest.mark.parametrize(("sensor", "field", "value", "per_sqrt_s"), WALK)
@pytest.mark.parametrize("stride", [1, 4])  # read at every sample, and at every fourth: the bias walks all the same
def test_bias_walk(sensor, field, value, per_sqrt_s, stride):
    n = 10_000
    times = np.arange(n) * 0.1 * stride
    error = errors_of(sensor, quiet(sensor, **{field: value}).stream(times, *still(sensor), seed=12))
    assert np.abs(error[0]).max() < 1e-15 + 1e-9 * per_sqrt_s  # it starts from nothing
    steps = np.diff(error, axis=0) / (per_sqrt_s * math.sqrt(0.1 * stride))
    assert (np.abs(steps.mean(axis=0)) < 5.0 / math.sqrt(n)).all()
    assert all(within(v, 1.0, n) for v in steps.var(axis=0))
    assert (np.abs((steps[1:] * steps[:-1]).mean(axis=0)) < 5.0 / math.sqrt(n)).all()


MARKOV = [  # sensor, fields, correlation time s, stationary 1σ
    (Gyro, {"bias_instability_deg_per_hr": 10.0, "bias_instability_time_s": 5.0}, 10.0 * DEG / 3600.0 / 0.617364),
    (Gps, {"correlated_error_m": 4.0, "correlation_time_s": 5.0}, 4.0),
]


@pytest.mark.parametrize(("sensor", "options", "sigma"), MARKOV)
@pytest.mark.parametrize("stride", [1, 3])
def test_gauss_markov_noise(sensor, options, sigma, stride):
    """Variance from the first sample on, and correlation exp(−Δt/T)."""
    n = 40_000
    times = np.arange(n) * 0.1 * stride
    error = errors_of(sensor, quiet(sensor, **options).stream(times, *still(sensor), seed=13))[:, :3] / sigma
    independent = n * 0.1 * stride / (2.0 * 5.0)  # a Gauss–Markov series is worth one value per 2 T
    assert all(within(v, 1.0, independent) for v in np.mean(error**2, axis=0))
    decay = math.exp(-0.1 * stride / 5.0)
    kicks = (error[1:] - decay * error[:-1]) / math.sqrt(1.0 - decay**2)
    assert all(within(v, 1.0, n) for v in kicks.var(axis=0))
    assert (np.abs((kicks[1:] * kicks[:-1]).mean(axis=0)) < 5.0 / math.sqrt(n)).all()
    first = [first_error(sensor, seed, **options)[:3] for seed in range(300)]
    assert within(np.mean(np.square(first)) / sigma**2, 1.0, 900)


TURN_ON = [
    (Gyro, "turn_on_bias_deg_per_hr", 20.0, slice(0, 3), 20.0 * DEG / 3600.0),
    (Magnetometer, "turn_on_bias_nT", 100.0, slice(0, 3), 1e-7),
    (FineSunSensor, "turn_on_bias_deg", 0.2, slice(0, 2), 0.2 * DEG),
    (CoarseSunSensors, "turn_on_bias_fraction", 0.02, slice(0, 4), 0.02),
    (StarTracker, "misalignment_arcsec", 30.0, slice(0, 3), 30.0 * ARCSEC),
    (Gps, "turn_on_bias_m", 3.0, slice(0, 3), 3.0),
]


@pytest.mark.parametrize(("sensor", "field", "value", "channels", "sigma"), TURN_ON)
def test_turn_on_spread(sensor, field, value, channels, sigma):
    """Constant in a run, normal over runs: mean within 5 σ/√N, variance within 5 √(2/N)."""
    model, draws = quiet(sensor, **{field: value}), []
    for seed in range(300):
        error = errors_of(sensor, model.stream([0.0, 0.1, 50.0], *still(sensor), seed=seed))[:, channels] / sigma
        np.testing.assert_allclose(error, np.broadcast_to(error[0], error.shape), rtol=0, atol=1e-9)
        draws.append(error[0])
    draws = np.concatenate(draws)
    assert abs(draws.mean()) < 5.0 / math.sqrt(draws.size)
    assert within(draws.var(), 1.0, draws.size)


def first_error(sensor, seed, **options):
    return errors_of(sensor, quiet(sensor, **options).stream([0.0], *still(sensor), seed=seed))[0]


@pytest.mark.parametrize("sensor", [Gyro, Magnetometer, FineSunSensor, CoarseSunSensors])
def test_scale_factor_spread(sensor):
    """Relative error of each channel: normal over runs, with the given ppm."""
    true = {
        Gyro: lambda: still(Gyro)[0],
        Magnetometer: lambda: still(Magnetometer)[1],
        FineSunSensor: lambda: np.arctan2(still(FineSunSensor)[1][:2], still(FineSunSensor)[1][2]),
        CoarseSunSensors: lambda: np.array(FACES) @ still(CoarseSunSensors)[1],
    }[sensor]()
    ratios = np.array([first_error(sensor, seed, scale_factor_ppm=800.0) / true for seed in range(300)]) / 8e-4
    assert (np.abs(ratios.mean(axis=0)) < 5.0 / math.sqrt(300)).all()
    assert all(within(v, 1.0, 300) for v in ratios.var(axis=0))


@pytest.mark.parametrize("sensor", [Gyro, Magnetometer])
def test_misalignment_of_axes(sensor):
    """Axis i is tilted towards j: its error is the tilt times the vector's j; of two tilts, σ √(v_j² + v_k²)."""
    vector = np.array(still(sensor)[1 if sensor is Magnetometer else 0])
    draws = np.array([first_error(sensor, seed, misalignment_arcsec=400.0) for seed in range(300)])
    expected = 400.0 * ARCSEC * np.sqrt(vector @ vector - vector**2)
    assert all(within(v, 1.0, 300) for v in draws.var(axis=0) / expected**2)
    assert np.abs(np.corrcoef(draws.T)[np.triu_indices(3, 1)]).max() < 5.0 / math.sqrt(300)


def test_misalignment_of_the_fine_sun_sensor_is_a_rotation():
    s = still(FineSunSensor)[1]
    model = quiet(FineSunSensor, misalignment_arcsec=400.0)
    draws = np.array([model.stream([0.0], *still(FineSunSensor), seed=k).values[0] - s for k in range(300)])
    covariance = (400.0 * ARCSEC) ** 2 * (np.eye(3) - np.outer(s, s))  # of e × s
    assert within(np.trace(np.cov(draws.T)) / np.trace(covariance), 1.0, 600)
    assert np.abs(draws @ s).max() < (6.0 * 400.0 * ARCSEC) ** 2  # across the direction: second order along it


def test_misalignment_of_photodiodes():
    """Reading changes by the tilt across the normal: variance σ² |s − (n·s) n|²."""
    s = still(CoarseSunSensors)[1]
    draws = np.array([first_error(CoarseSunSensors, k, misalignment_arcsec=400.0) for k in range(300)])
    expected = (400.0 * ARCSEC) ** 2 * (1.0 - (np.array(FACES) @ s) ** 2)
    assert all(within(v, 1.0, 300) for v in draws.var(axis=0) / expected)


def ramp(sensor, n=4001):
    """Quiet sensor and truth whose channel 0 goes through many LSBs; returns field, LSB in SI units, and the error."""
    x = np.linspace(-1.0, 1.0, n)
    zeros = np.zeros((n, 3))
    zeros[:, 0] = x
    times = np.arange(n) * 0.1
    if sensor is Gyro:
        return quiet(Gyro, lsb_deg_per_s=0.5).stream(times, zeros), x, 0.5 * DEG
    if sensor is Magnetometer:
        stream = quiet(Magnetometer, lsb_nT=770.0).stream(times, EYE, zeros * 1e-4)
        return stream, x * 1e-4, 7.7e-7
    if sensor is FineSunSensor:
        sun = np.stack([np.sin(x), np.zeros(n), np.cos(x)], axis=1)
        stream = quiet(FineSunSensor, lsb_deg=0.25).stream(times, EYE, sun)
        angle = np.arctan2(stream.values[:, 0], stream.values[:, 2])
        return stream._replace(values=angle[:, None]), x, 0.25 * DEG
    if sensor is CoarseSunSensors:
        light = 0.5 + 0.5 * x
        stream = quiet(CoarseSunSensors, normals_B=[[0.0, 0.0, 1.0]], lsb_fraction=0.002).stream(
            times, EYE, [0.0, 0.0, 1.0], light
        )
        return stream, light, 0.002
    stream = quiet(Gps, position_lsb_m=0.01, velocity_lsb_m_per_s=0.02).stream(times, zeros, zeros)
    return stream, x, 0.01


@pytest.mark.parametrize("sensor", [Gyro, Magnetometer, FineSunSensor, CoarseSunSensors, Gps])
def test_quantisation(sensor):
    """Multiples of one LSB, nearest to the truth; error uniform: variance LSB²/12 within 5 of its own σ, √(0.8/N)."""
    stream, truth, lsb = ramp(sensor)
    inside = stream.valid
    value, truth = stream.values[inside, 0], truth[inside]
    multiples = value / lsb
    np.testing.assert_allclose(multiples, np.round(multiples), atol=1e-9)
    assert np.unique(np.round(multiples)).size > 100
    error = (value - truth) / lsb
    assert np.abs(error).max() < 0.5 + 1e-9
    assert error.var() == pytest.approx(1.0 / 12.0, rel=5.0 * math.sqrt(0.8 / error.size))


def test_quantisation_of_the_other_gps_channel_and_of_quaternions():
    n = 1000
    v = np.linspace(-1.0, 1.0, 3 * n).reshape(n, 3)
    stream = quiet(Gps, velocity_lsb_m_per_s=0.02).stream(np.arange(n) * 0.1, [0.0, 0.0, 0.0], v)
    np.testing.assert_allclose(stream.values[:, 3:], 0.02 * np.floor(v / 0.02 + 0.5), atol=1e-14)
    q = quat.exp(np.outer(np.linspace(0.0, 1.0, n), [1.0, 0.5, -0.3]))
    stream = quiet(StarTracker, quaternion_lsb=1e-4).stream(np.arange(n) * 0.1, q, [0.0] * 3, [1.0, 0.0, 0.0], 0.0)
    rounded = 1e-4 * np.floor(q / 1e-4 + 0.5)
    np.testing.assert_allclose(stream.values, rounded / np.linalg.norm(rounded, axis=1, keepdims=True), atol=1e-15)


def test_saturation():
    """Readings end exactly at the range, also with noise and an LSB that does not divide it; below they pass."""
    times, x = np.arange(200) * 0.1, np.linspace(-2.0, 2.0, 200)
    vectors = np.stack([x, -x, 0.1 * x], axis=1)
    limit = 50.0 * DEG
    exact = quiet(Gyro, range_deg_per_s=50.0).stream(times, vectors).values
    np.testing.assert_allclose(exact, np.clip(vectors, -limit, limit), atol=1e-16)
    noise = quiet(Gyro, range_deg_per_s=50.0, arw_deg_per_sqrt_hr=10.0, lsb_deg_per_s=0.7).stream(times, vectors).values
    assert np.abs(noise).max() == limit
    field = quiet(Magnetometer, range_nT=50_000.0).stream(times, EYE, vectors * 1e-4).values
    np.testing.assert_allclose(field, np.clip(vectors * 1e-4, -5e-5, 5e-5), atol=1e-20)
    r = quiet(Gps, range_m=1.0).stream(times, vectors, vectors).values
    np.testing.assert_allclose(r, np.concatenate([np.clip(vectors, -1.0, 1.0), vectors], axis=1))
    light = quiet(CoarseSunSensors, range_fraction=0.5).stream(times, EYE, [0.0, 0.0, 1.0], np.linspace(0, 1, 200))
    assert light.values.max() == 0.5


@pytest.mark.parametrize("sensor", SENSORS)
def test_dropout(sensor):
    """A lost sample comes out not valid, with the values of the last valid one; their number is binomial."""
    n, p = 10_000, 0.2
    stream = noisy(sensor, dropout_probability=p).stream(np.arange(n) * 0.1, *still(sensor), seed=5)
    whole = noisy(sensor).stream(np.arange(n) * 0.1, *still(sensor), seed=5)
    lost = np.flatnonzero(~stream.valid)
    assert stream.t.size == n
    assert abs(lost.size - n * p) < 5.0 * math.sqrt(n * p * (1.0 - p))
    np.testing.assert_array_equal(stream.values[stream.valid], whole.values[stream.valid])
    after_first = lost[lost > 0]
    np.testing.assert_array_equal(stream.values[after_first], stream.values[after_first - 1])
    assert not noisy(sensor, dropout_probability=1.0).stream(TIMES, *still(sensor)).valid.any()


# ------------------------------------------------------------------ time
@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize(
    ("rate", "phase", "latency"), [(10.0, 0.0, 0.0), (4.0, 0.1, 0.35), (2.0, 0.3, 1.7), (5.0, 0.0, 0.2)]
)
def test_rate_phase_and_latency(sensor, rate, phase, latency):
    """Sampled at phase + k/rate, tagged with that time, readable one latency later; the values are those of the tag."""
    times = np.arange(1001) * 0.01
    truth = moving(sensor, times)
    model = quiet(sensor, sample_rate_hz=rate, phase_s=phase, latency_s=latency)
    stream = model.stream(times, *truth)
    expected = np.arange(phase, 10.0 - latency + 1e-9, 1.0 / rate)
    np.testing.assert_allclose(stream.t, expected, atol=1e-9)
    np.testing.assert_allclose(stream.t_out - stream.t, latency, atol=0.01 + 1e-9)  # one call
    assert (stream.t_out - stream.t > latency - 1e-6).all()
    reference = quiet(sensor, sample_rate_hz=100.0).stream(times, *truth)
    rows = np.searchsorted(reference.t, stream.t - 1e-9)
    np.testing.assert_array_equal(reference.valid[rows], stream.valid)
    np.testing.assert_array_equal(reference.values[rows][stream.valid], stream.values[stream.valid])


def test_rounding_in_the_times_of_calls_shifts_no_sample():
    times = np.cumsum(np.full(100_000, 0.1)) - 0.1  # drifts by 1e-8 s
    assert quiet(Gyro).stream(times, [0.0, 0.0, 0.0]).t.size == times.size
    assert quiet(Gyro, latency_s=0.3).stream(times, [0.0, 0.0, 0.0]).t.size == times.size - 3


def test_calls_slower_than_the_sensor_get_one_sample_each():
    times = np.arange(50) * 1.0
    stream = quiet(Gyro, latency_s=0.4).stream(times, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(stream.t, times[:-1])
    np.testing.assert_array_equal(stream.t_out, times[1:])


def test_of_several_waiting_samples_the_newest_comes():
    rate = np.arange(5.0)[:, None] * [1.0, 0.0, 0.0]
    stream = quiet(Gyro, sample_rate_hz=1.0, latency_s=3.0).stream([0.0, 1.0, 2.0, 3.0, 10.0], rate)
    np.testing.assert_array_equal(stream.t, [0.0, 3.0])
    np.testing.assert_array_equal(stream.t_out, [3.0, 10.0])
    np.testing.assert_array_equal(stream.values[:, 0], [0.0, 3.0])


def test_samples_closer_than_a_period_all_arrive():
    """Late calls bring samples closer together than a period; none is lost on the way."""
    stream = quiet(Gyro, sample_rate_hz=1.0, latency_s=0.95).stream([0.9, 1.0, 1.85, 1.95], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(stream.t, [0.9, 1.0])
    np.testing.assert_array_equal(stream.t_out, [1.85, 1.95])


@pytest.mark.parametrize("sensor", SENSORS)
def test_kernels_leave_valid_unset_where_nothing_comes(sensor):
    """A call without a sample: not valid, values and tag as before."""
    run = noisy(sensor, sample_rate_hz=5.0).start(4)
    truth = still(sensor)
    first = run.sample(0.0, *truth)
    held = run._out.copy()
    assert first.valid
    assert run.sample(0.1, *truth) is None
    assert run._out[1] == 0.0
    np.testing.assert_array_equal(np.delete(run._out, 1), np.delete(held, 1))
    assert run.sample(0.2, *truth).t == 0.2


# ------------------------------------------------------------------ faults
def with_fault(sensor, kind, **options):
    if kind in ("spike", "bias_jump"):
        options.setdefault(FAULT[sensor].size_field, SIZE[sensor][0])
    fault = FAULT[sensor](kind=kind, **{"start_s": 5.0, "end_s": 10.0, **options})
    return noisy(sensor, faults=[fault])


def split(stream):
    return stream.t < 5.0 - 1e-6, (stream.t >= 5.0 - 1e-6) & (stream.t < 10.0 - 1e-6), stream.t >= 10.0 - 1e-6


@pytest.mark.parametrize("sensor", SENSORS)
def test_stuck(sensor):
    """The last reading with new time tags, valid as it was; before and after nothing is different."""
    truth = still(sensor)
    good, bad = noisy(sensor).stream(TIMES, *truth), with_fault(sensor, "stuck").stream(TIMES, *truth)
    before, during, after = split(bad)
    np.testing.assert_array_equal(bad.values[before | after], good.values[before | after])
    np.testing.assert_array_equal(bad.values[during], np.broadcast_to(bad.values[before][-1], bad.values[during].shape))
    np.testing.assert_array_equal(bad.t, good.t)
    assert bad.valid.all()
    at_start = with_fault(sensor, "stuck", start_s=0.0, end_s=3.0).stream(TIMES, *truth)
    np.testing.assert_array_equal(at_start.values[:30], np.broadcast_to(good.values[0], good.values[:30].shape))


def test_a_stuck_sensor_repeats_its_validity():
    sunlight = np.where(TIMES < 7.0, 1.0, 0.0)
    stream = with_fault(FineSunSensor, "stuck").stream(TIMES, EYE, [0.1, 0.0, 1.0], sunlight)
    np.testing.assert_array_equal(stream.valid, TIMES < 10.0 - 1e-6)
    eclipsed = np.where(TIMES < 4.0, 1.0, 0.0)
    stream = with_fault(FineSunSensor, "stuck").stream(TIMES, EYE, [0.1, 0.0, 1.0], eclipsed)
    np.testing.assert_array_equal(stream.valid, TIMES < 4.0 - 1e-6)


@pytest.mark.parametrize("sensor", SENSORS)
def test_dead(sensor):
    truth = still(sensor)
    good, bad = noisy(sensor).stream(TIMES, *truth), with_fault(sensor, "dead").stream(TIMES, *truth)
    before, during, after = split(bad)
    np.testing.assert_array_equal(bad.valid, ~during)
    np.testing.assert_array_equal(bad.values[before | after], good.values[before | after])
    assert np.isfinite(bad.values).all()


def disturbance(sensor, bad, good):
    """By how much each channel of a quiet sensor at the still truth is off."""
    return errors_of(sensor, bad) - errors_of(sensor, good)


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize("kind", ["spike", "bias_jump"])
def test_additive_faults(sensor, kind):
    """By the size, in its unit, and on the channels asked for, from start to end."""
    channels = 6 if sensor is Gps else errors_of(sensor, quiet(sensor).stream([0.0], *still(sensor))).shape[1]
    name, (size, si) = FAULT[sensor].size_field, SIZE[sensor]
    for channel in (None, 1):
        fault = FAULT[sensor](kind=kind, start_s=5.0, end_s=10.0, channel=channel, **{name: size})
        bad = quiet(sensor, faults=(fault,)).stream(TIMES, *still(sensor))
        _, during, _ = split(bad)
        expected = np.zeros((TIMES.size, channels))
        expected[np.ix_(during, [1] if channel else range(3 if sensor is Gps else channels))] = si
        good = quiet(sensor).stream(TIMES, *still(sensor))
        np.testing.assert_allclose(disturbance(sensor, bad, good), expected, atol=1e-8 * si)


def test_spikes_come_with_their_probability():
    n = 20_000
    fault = MagnetometerFault(kind="spike", start_s=0.0, size_nT=1000.0, probability=0.1)
    error = errors_of(
        Magnetometer, quiet(Magnetometer, faults=[fault]).stream(np.arange(n) * 0.1, *still(Magnetometer), seed=2)
    )
    hit = error[:, 0] > 5e-7
    assert abs(hit.sum() - 0.1 * n) < 5.0 * math.sqrt(n * 0.1 * 0.9)
    assert abs(np.mean(hit[1:] & hit[:-1]) - 0.01) < 5.0 * math.sqrt(0.01 / n)  # one does not bring the next
    np.testing.assert_allclose(error[hit], 1e-6, atol=1e-15)
    np.testing.assert_allclose(error[~hit], 0.0, atol=1e-15)


def test_spikes_and_dropouts_are_independent():
    n = 20_000
    fault = MagnetometerFault(kind="spike", start_s=0.0, size_nT=1000.0, probability=0.3)
    model = quiet(Magnetometer, faults=[fault], dropout_probability=0.5)
    stream = model.stream(np.arange(n) * 0.1, *still(Magnetometer), seed=2)
    hit = errors_of(Magnetometer, stream)[stream.valid, 0] > 5e-7
    assert abs(hit.mean() - 0.3) < 5.0 * math.sqrt(0.3 * 0.7 / hit.size)


def test_rounding_in_the_times_of_calls_shifts_no_fault():
    exact, fault = np.arange(1000) * 0.1, GyroFault(kind="dead", start_s=50.0, end_s=90.0)
    for times in (exact, np.maximum(exact - 1e-9, 0.0), exact + 1e-9):
        stream = quiet(Gyro, faults=[fault]).stream(times, [0.0, 0.0, 0.0])
        np.testing.assert_array_equal(np.flatnonzero(~stream.valid), np.arange(500, 900))


@pytest.mark.parametrize("sensor", [Gyro, Magnetometer, CoarseSunSensors, Gps])
def test_one_channel_stuck_or_dead(sensor):
    truth = still(sensor)
    good = noisy(sensor).stream(TIMES, *truth)
    stuck = with_fault(sensor, "stuck", channel=1).stream(TIMES, *truth)
    dead = with_fault(sensor, "dead", channel=1).stream(TIMES, *truth)
    before, during, _ = split(good)
    assert stuck.valid.all()
    assert dead.valid.all()
    assert (dead.values[during, 1] == 0.0).all()
    assert (stuck.values[during, 1] == good.values[before, 1][-1]).all()
    for bad in (stuck, dead):
        np.testing.assert_array_equal(np.delete(bad.values, 1, axis=1), np.delete(good.values, 1, axis=1))
        np.testing.assert_array_equal(bad.values[~during], good.values[~during])


def test_a_fault_is_of_the_sensors_axis_not_of_the_bodys():
    fault = GyroFault(kind="bias_jump", start_s=0.0, size_deg_per_s=1.0, channel=2)
    values = quiet(Gyro, q_BS=TURN, faults=[fault]).stream([0.0], [0.0, 0.0, 0.0]).values[0]
    np.testing.assert_allclose(values, DEG * quat.rotate(TURN, [0.0, 0.0, 1.0]), atol=1e-16)


# ------------------------------------------------------------------ seeds
@pytest.mark.parametrize("sensor", SENSORS)
def test_a_seed_gives_one_stream_and_another_another(sensor):
    a, b, c = (noisy(sensor).stream(TIMES, *moving(sensor), seed=s) for s in (8, 8, 9))
    assert same(a, b)
    assert not same(a, c)


@pytest.mark.parametrize("sensor", SENSORS)
def test_sample_by_sample_is_the_stream(sensor):
    """One call at a time, in two pieces, or at once: bit for bit the same."""
    truth = moving(sensor)
    options = {"sample_rate_hz": 4.0, "phase_s": 0.1, "latency_s": 0.3, "dropout_probability": 0.2}
    model = noisy(sensor, **options)
    whole = model.stream(TIMES, *truth, seed=6)
    shapes = [len(shape) for shape in sensor.truth.values()]

    def at(k):
        return [x[k] if np.ndim(x) > n else x for x, n in zip(truth, shapes, strict=True)]

    run = model.start(6)
    singles = [sample for k, t in enumerate(TIMES) if (sample := run.sample(t, *at(k))) is not None]
    assert same(whole, [np.array(column) for column in zip(*singles, strict=True)])
    run = model.start(6)
    parts = [run.stream(TIMES[part], *at(part)) for part in (slice(0, 77), slice(77, None))]
    assert same(whole, [np.concatenate(pair) for pair in zip(*parts, strict=True)])


def test_blocks_do_not_show(monkeypatch):
    whole = noisy(Gyro).stream(TIMES, *moving(Gyro), seed=6)
    monkeypatch.setattr(base, "BLOCK", 7)
    assert same(whole, noisy(Gyro).stream(TIMES, *moving(Gyro), seed=6))


def test_noise_belongs_to_a_name_and_a_seed():
    """Two gyros of different names, and a gyro and a magnetometer, share nothing; correlations below 5/√N."""
    n = 20_000
    times, config = np.arange(n) * 0.1, GyroConfig(sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.1)
    first = Gyro(config, "gyro").stream(times, [0.0] * 3, seed=1).values
    second = Gyro(config, "gyro 2").stream(times, [0.0] * 3, seed=1).values
    field = quiet(Magnetometer, noise_nT=1.0).stream(times, EYE, [0.0] * 3, seed=1).values
    assert same([first], [Gyro(config).stream(times, [0.0] * 3, seed=1).values])
    for a, b in ((first, second), (first, field), (first[1:], second[:-1])):
        assert np.abs(np.corrcoef(a.T, b.T)[:3, 3:]).max() < 5.0 / math.sqrt(n)


def test_the_generator_of_a_name_is_fixed():
    """Recorded missions must be repeatable: the key of the name, the first words of its SHA-256, written down."""
    expected = np.random.default_rng(
        np.random.SeedSequence(7, spawn_key=(3458873853, 1553889771, 3571008284, 3071686402))
    ).standard_normal(3)
    np.testing.assert_array_equal(base.noise_generator(7, "gyro").standard_normal(3), expected)


# ------------------------------------------------------------------ kernels
def test_every_kernel_has_one_signature_and_draws_what_it_says():
    for sensor in SENSORS:
        run = noisy(sensor).start(0)
        run.stream(TIMES, *moving(sensor))
        assert run._normals.rows.shape[1] == noisy(sensor).config.normals_per_sample
        assert run._normals.row == TIMES.size
    for module in (errors, *MODULES):
        found = [value for value in vars(module).values() if hasattr(value, "signatures")]
        kernels = [kernel for kernel in found if kernel.py_func.__module__ == module.__name__]
        assert kernels
        assert all(len(kernel.signatures) <= 1 for kernel in kernels)  # none where a caller came from the cache
    assert all(len(module._run.signatures) == 1 for module in MODULES)


def test_a_truth_that_is_not_finite_is_not_valid():
    """Kernels are called by loops that cannot raise: NaN in, not valid out, and the last values stay."""
    run = quiet(Gyro).start(0)
    normals, out = np.zeros((1, run.parameters.errors.white.size * 3 + 2)), np.zeros(5)
    gyro.gyro_kernel(run.parameters, run.state, 0.0, np.array([1.0, 2.0, 3.0]), normals, 0, out)
    status = gyro.gyro_kernel(run.parameters, run.state, 0.1, np.array([1.0, math.nan, 3.0]), normals, 0, out)
    assert status == errors.SAMPLED | errors.DELIVERED
    np.testing.assert_array_equal(out, [0.1, 0.0, 1.0, 2.0, 3.0])


# ------------------------------------------------------------------ bad input
@pytest.mark.parametrize(
    ("sensor", "field"), [(s, name) for s in SENSORS for name in (*CONFIG[s].noise_names, *CONFIG[s].limit_names)]
)
def test_negative_and_meaningless_numbers_are_refused_by_name(sensor, field):
    for value in (-1.0, math.nan, "1", None):
        with pytest.raises(ValueError, match=rf"^{field} must"):
            quiet(sensor, **{field: value})


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("sample_rate_hz", 0.0, "greater than zero, got 0.0"),
        ("phase_s", 0.1, "below one sample period, 0.1 s, got 0.1"),
        ("phase_s", -0.1, "not be negative"),
        ("latency_s", -1.0, "not be negative"),
        ("latency_s", 200.0, "at most 1000 sample periods, got 200.0"),
        ("dropout_probability", 1.5, "from 0 to 1, got 1.5"),
        ("faults", 3, "a list of"),
        ("faults", [3], ""),
    ],
)
def test_bad_common_fields(sensor, field, value, reason):
    with pytest.raises(ValueError, match=rf"^{field}.* must .*{reason}"):
        quiet(sensor, **{field: value})


BAD = [
    (Gyro, "q_BS", (0.0, 0.0, 0.0, 2.0), "unit quaternion"),
    (Gyro, "bias_instability_time_s", 0.0, "greater than zero"),
    (Magnetometer, "hard_iron_nT", (1.0, 2.0), "shape"),
    (Magnetometer, "soft_iron", (1.0, 2.0, 3.0), "shape"),
    (Magnetometer, "torquer_field_nT_per_Am2", np.full((3, 3), math.inf), "finite"),
    (Magnetometer, "q_BS", "x", "array of numbers"),
    (FineSunSensor, "half_fov_deg", 90.0, "below 90 degrees"),
    (FineSunSensor, "minimum_sunlight", 2.0, "from 0 to 1"),
    (FineSunSensor, "q_BS", (1.0, 0.0, 0.0), "shape"),
    (CoarseSunSensors, "normals_B", [[0.0, 0.0, 0.0]], "zero length"),
    (CoarseSunSensors, "normals_B", np.zeros((0, 3)), "at least one row"),
    (CoarseSunSensors, "half_fov_deg", 91.0, "at most 90"),
    (StarTracker, "sun_exclusion_deg", 180.0, "below 180"),
    (StarTracker, "quaternion_lsb", 0.6, "at most 0.5"),
    (StarTracker, "q_BS", (0.0, 0.0, 0.0, 0.0), "unit quaternion"),
    (Gps, "correlation_time_s", -1.0, "greater than zero"),
]


@pytest.mark.parametrize(("sensor", "field", "value", "reason"), BAD)
def test_bad_fields(sensor, field, value, reason):
    with pytest.raises(ValueError, match=rf"^{field}.* must .*{reason}"):
        quiet(sensor, **{field: value})


BAD_FAULTS = [
    ({"kind": "broken"}, "kind must be one of stuck, dead, spike, bias_jump, got 'broken'"),
    ({"start_s": math.nan}, "start_s must be finite"),
    ({"end_s": 1.0}, "end_s must be later than start_s, 5.0, got 1.0"),
    ({"end_s": math.nan}, "end_s must be later"),
    ({"channel": -1}, "channel must be a whole number"),
    ({"probability": 0.0, "kind": "spike", "size_nT": 1.0}, "probability must be above 0 and at most 1"),
    ({"probability": 0.5}, "probability has a meaning for a fault of kind spike only"),
    ({"kind": "spike"}, "size_nT must be given, and not be zero, for a fault of kind spike"),
    ({"size_nT": 5.0}, "size_nT has no meaning for a fault of kind stuck"),
    ({"kind": "spike", "size_nT": math.inf}, "size_nT must be finite"),
]


@pytest.mark.parametrize(("options", "message"), BAD_FAULTS)
def test_bad_faults(options, message):
    with pytest.raises(ValueError, match=message):
        MagnetometerFault(**{"kind": "stuck", "start_s": 5.0, **options})


def test_faults_that_the_sensor_cannot_have():
    with pytest.raises(ValueError, match=r"faults\[0\] must be a GyroFault"):
        quiet(Gyro, faults=[MagnetometerFault(kind="dead", start_s=0.0)])
    with pytest.raises(ValueError, match=r"faults\[0\].channel must be at most 3 for a dead fault, got 4"):
        quiet(CoarseSunSensors, faults=[CoarseSunSensorsFault(kind="dead", start_s=0.0, channel=4)])
    with pytest.raises(ValueError, match=r"faults\[0\].channel must be left out for a stuck fault, got 0"):
        quiet(StarTracker, faults=[StarTrackerFault(kind="stuck", start_s=0.0, channel=0)])
    with pytest.raises(ValueError, match=r"faults\[0\].channel must be at most 2 for a spike fault, got 3"):
        quiet(Gps, faults=[GpsFault(kind="spike", start_s=0.0, size_m=1.0, channel=3)])


def test_configurations_are_frozen_keyword_only_and_equal_by_value():
    config = quiet(Magnetometer, soft_iron=np.eye(3)).config
    assert config == quiet(Magnetometer).config
    assert hash(config) == hash(quiet(Magnetometer).config)
    assert replace(config, noise_nT=2).noise_nT == 2.0
    with pytest.raises(AttributeError):
        config.noise_nT = 3.0
    with pytest.raises(TypeError):
        MagnetometerConfig(10.0)
    with pytest.raises(TypeError, match="noise"):
        MagnetometerConfig(sample_rate_hz=10.0)


@pytest.mark.parametrize(
    ("times", "omega", "message"),
    [
        ([0.0, 0.0], [0.0] * 3, "times must not be negative, must increase"),
        ([-1.0, 0.0], [0.0] * 3, "times must not be negative"),
        ([0.0, math.inf], [0.0] * 3, "times must be finite"),
        ([0.0, 1.0], np.zeros((3, 3)), r"omega_B must have shape \(2, 3\), got \(3, 3\)"),
        ([0.0, 1.0], [0.0, math.nan, 0.0], "omega_B must be finite"),
        ([0.0, 1.0], [[0.0, 0.0], [0.0, 0.0]], "omega_B must have shape"),
    ],
)
def test_bad_streams(times, omega, message):
    with pytest.raises(ValueError, match=message):
        quiet(Gyro).stream(times, omega)


def test_bad_runs():
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0"):
        quiet(Gyro).stream([0.0], [0.0] * 3, seed=-1)
    with pytest.raises(ValueError, match="q_IB must be unit quaternions"):
        quiet(Magnetometer).stream([0.0], [0.0, 0.0, 0.0, 2.0], [0.0] * 3)
    run = quiet(Gyro).start(0)
    run.sample(1.0, [0.0] * 3)
    with pytest.raises(ValueError, match="come after those of earlier calls"):
        run.sample(1.0, [0.0] * 3)
    with pytest.raises(ValueError, match="truth must be omega_B, got 2 arrays"):
        run.sample(2.0, [0.0] * 3, [0.0] * 3)
    assert run.stream([], np.zeros((0, 3))).values.shape == (0, 3)
