"""What each sensor sees: geometry, fields of view, eclipse, exclusion, iron and torquers, against SciPy's rotations."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.sensors.coarse_sun_sensor import CoarseSunSensors, CoarseSunSensorsConfig
from attitude.sensors.gps import Gps, GpsConfig
from attitude.sensors.gyro import Gyro, GyroConfig
from attitude.sensors.magnetometer import Magnetometer, MagnetometerConfig
from attitude.sensors.star_tracker import StarTracker, StarTrackerConfig
from attitude.sensors.sun_sensor import FineSunSensor, FineSunSensorConfig

N = 400
TIMES = np.arange(N) * 1.0
EYE = (0.0, 0.0, 0.0, 1.0)
MOUNT = Rotation.from_rotvec([0.4, -1.1, 0.7])  # sensor axes to body axes
CUBE = np.concatenate([np.eye(3), -np.eye(3)])


def attitudes(seed=0):
    return Rotation.from_quat(np.random.default_rng(seed).normal(size=(N, 4)))


def directions(seed=1):
    v = np.random.default_rng(seed).normal(size=(N, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def angle(a, b):
    """Angle between unit vectors, accurate everywhere."""
    return 2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


# ------------------------------------------------------------------ gyro and magnetometer
def test_a_perfect_gyro_reads_the_truth_however_it_is_mounted():
    omega = np.random.default_rng(2).normal(size=(N, 3))
    config = GyroConfig(sample_rate_hz=1.0, arw_deg_per_sqrt_hr=0.0, q_BS=tuple(MOUNT.as_quat()))
    np.testing.assert_allclose(Gyro(config).stream(TIMES, omega).values, omega, atol=1e-14)


def test_saturation_is_along_the_sensors_axes():
    omega_S = np.array([2.0, 0.1, 0.1])
    config = GyroConfig(
        sample_rate_hz=1.0, arw_deg_per_sqrt_hr=0.0, q_BS=tuple(MOUNT.as_quat()), range_deg_per_s=math.degrees(1.0)
    )
    values = Gyro(config).stream([0.0], MOUNT.apply(omega_S)).values[0]
    np.testing.assert_allclose(MOUNT.inv().apply(values), [1.0, 0.1, 0.1], atol=1e-14)


def test_magnetometer_field():
    """Soft iron on the outer field, the torquers' field, hard iron; body axes from the attitude."""
    rng = np.random.default_rng(3)
    soft, torquer, hard = np.eye(3) + 0.05 * rng.normal(size=(3, 3)), 1e3 * rng.normal(size=(3, 3)), [500.0, -40.0, 9.0]
    b_I, dipole = 4e-5 * directions(), 0.3 * rng.normal(size=(N, 3))
    R = attitudes()
    for mount in (EYE, tuple(MOUNT.as_quat())):
        config = MagnetometerConfig(
            sample_rate_hz=1.0, noise_nT=0.0, soft_iron=soft, torquer_field_nT_per_Am2=torquer, hard_iron_nT=hard,
            q_BS=mount,
        )  # fmt: skip
        values = Magnetometer(config).stream(TIMES, R.as_quat(), b_I, dipole).values
        expected = R.inv().apply(b_I) @ soft.T + 1e-9 * (dipole @ torquer.T + hard)
        np.testing.assert_allclose(values, expected, atol=1e-18)


# ------------------------------------------------------------------ sun sensors
def fine(**options):
    return FineSunSensor(FineSunSensorConfig(**{
        "sample_rate_hz": 1.0, "q_BS": tuple(MOUNT.as_quat()), "half_fov_deg": 55.0, "noise_deg": 0.0, **options,
    }))  # fmt: skip


def test_fine_sun_sensor_sees_the_sun_in_its_field_of_view():
    R, sun_I = attitudes(), directions()
    stream = fine().stream(TIMES, R.as_quat(), 3.0 * sun_I)
    sun_B = R.inv().apply(sun_I)
    off = np.degrees(angle(sun_B, MOUNT.apply([0.0, 0.0, 1.0])))
    assert 20 < stream.valid.sum() < N - 20
    np.testing.assert_array_equal(stream.valid, off <= 55.0)
    np.testing.assert_allclose(stream.values[stream.valid], sun_B[stream.valid], atol=1e-14)


@pytest.mark.parametrize(("minimum", "seen"), [(0.5, [0, 0, 1, 1]), (0.0, [0, 1, 1, 1]), (1.0, [0, 0, 0, 1])])
def test_fine_sun_sensor_in_eclipse(minimum, seen):
    stream = fine(q_BS=EYE, minimum_sunlight=minimum).stream(
        np.arange(4.0), EYE, [0.0, 0.0, 1.0], [0.0, 0.49, 0.5, 1.0]
    )
    np.testing.assert_array_equal(stream.valid, np.array(seen) == 1)


def test_fine_sun_sensor_readings_stay_on_the_detector():
    """At the edge noise may not push the angles beyond the field of view, and a missing Sun is not seen."""
    sun = [math.sin(0.95), 0.0, math.cos(0.95)]  # 54.4°
    values = fine(q_BS=EYE, noise_deg=2.0).stream(TIMES, EYE, sun).values
    angles = np.degrees(np.arctan2(values[:, 0], values[:, 2]))
    assert angles.max() == pytest.approx(55.0, abs=1e-12)
    assert angles.min() < 50.0
    assert not fine(q_BS=EYE).stream([0.0], EYE, [0.0, 0.0, 0.0]).valid.any()


def coarse(**options):
    return CoarseSunSensors(CoarseSunSensorsConfig(**{
        "sample_rate_hz": 1.0, "normals_B": CUBE, "noise_fraction": 0.0, **options,
    }))  # fmt: skip


def test_photodiodes_read_the_cosine_and_the_sunlight():
    R, sun_I, sunlight = attitudes(), directions(), np.linspace(0.0, 1.0, N)
    sun_B = R.inv().apply(sun_I)
    stream = coarse().stream(TIMES, R.as_quat(), sun_I, sunlight)
    np.testing.assert_allclose(stream.values, np.maximum(0.0, sun_B @ CUBE.T) * sunlight[:, None], atol=1e-15)
    np.testing.assert_allclose(stream.values[:, :3] - stream.values[:, 3:], sun_B * sunlight[:, None], atol=1e-15)
    assert stream.valid.all()


def test_photodiodes_have_a_field_of_view_and_see_the_earth():
    R, sun_I = attitudes(), directions()
    albedo_I = 0.3 * directions(5)
    sun_B, albedo_B = R.inv().apply(sun_I), R.inv().apply(albedo_I)
    stream = coarse(half_fov_deg=60.0).stream(TIMES, R.as_quat(), sun_I, 1.0, albedo_I)
    direct, reflected = sun_B @ CUBE.T, albedo_B @ CUBE.T
    expected = np.where(direct > 0.5, direct, 0.0) + np.where(reflected > 0.15, reflected, 0.0)
    np.testing.assert_allclose(stream.values, expected, atol=1e-14)


def test_photodiodes_in_the_dark_read_no_negative_current():
    values = coarse(noise_fraction=0.01).stream(TIMES, EYE, [0.0, 0.0, 1.0], 0.0).values
    assert values.min() == 0.0
    assert np.mean(values == 0.0) == pytest.approx(0.5, abs=5.0 * 0.5 / math.sqrt(values.size))


# ------------------------------------------------------------------ star tracker
def tracker(**options):
    return StarTracker(StarTrackerConfig(**{
        "sample_rate_hz": 1.0, "q_BS": tuple(MOUNT.as_quat()), "noise_cross_arcsec": 0.0, "noise_roll_arcsec": 0.0,
        "sun_exclusion_deg": 40.0, "max_rate_deg_per_s": 2.0, **options,
    }))  # fmt: skip


def test_star_tracker_excludes_the_sun_unless_it_is_eclipsed():
    R, sun_I = attitudes(), directions()
    sunlight = np.where(np.arange(N) % 4 == 0, 0.0, 0.2)
    stream = tracker().stream(TIMES, R.as_quat(), [0.0] * 3, 7.0 * sun_I, sunlight)
    off = np.degrees(angle(R.apply(MOUNT.apply([0.0, 0.0, 1.0])), sun_I))
    assert (off < 40.0).sum() > 20
    np.testing.assert_array_equal(stream.valid, (off > 40.0) | (sunlight == 0.0))
    np.testing.assert_allclose(stream.values[stream.valid], R.as_quat()[stream.valid], atol=1e-15)


def test_star_tracker_rate_limit():
    rates = np.radians(np.linspace(1.0, 3.0, N))[:, None] * np.array([0.6, 0.0, -0.8])
    stream = tracker().stream(TIMES, EYE, rates, [0.0, 0.0, 1.0], 0.0)
    np.testing.assert_array_equal(stream.valid, np.linspace(1.0, 3.0, N) <= 2.0)


def test_star_tracker_noise_is_about_the_sensors_axes():
    """Covariance of `q_true† ⊗ q` in body axes: M diag(cross², cross², roll²) Mᵀ, scatter 5 √(2/N) of the largest."""
    n, (cross, roll) = 20_000, (10.0, 80.0)
    arcsec = math.pi / 180.0 / 3600.0
    q = Rotation.from_rotvec(np.outer(np.arange(n), [1e-3, 2e-3, -5e-4]))
    model = tracker(noise_cross_arcsec=cross, noise_roll_arcsec=roll)
    stream = model.stream(np.arange(n) * 1.0, q.as_quat(), [0.0] * 3, [1.0, 0.0, 0.0], 0.0, seed=4)
    error = (q.inv() * Rotation.from_quat(stream.values)).as_rotvec() / arcsec
    M = MOUNT.as_matrix()
    expected = M @ np.diag([cross**2, cross**2, roll**2]) @ M.T
    np.testing.assert_allclose(np.cov(error.T), expected, atol=5.0 * math.sqrt(2.0 / n) * roll**2)
    along = np.diag(M.T @ np.cov(error.T) @ M)
    np.testing.assert_allclose(along, [cross**2, cross**2, roll**2], rtol=5.0 * math.sqrt(2.0 / n))
    np.testing.assert_allclose(np.linalg.norm(stream.values, axis=1), 1.0, atol=1e-15)


# ------------------------------------------------------------------ GPS
def test_gps_gives_position_and_velocity():
    rng = np.random.default_rng(6)
    r, v = 7e6 * rng.normal(size=(N, 3)), 7e3 * rng.normal(size=(N, 3))
    config = GpsConfig(sample_rate_hz=1.0, position_noise_m=0.0, velocity_noise_m_per_s=0.0)
    np.testing.assert_array_equal(Gps(config).stream(TIMES, r, v).values, np.concatenate([r, v], axis=1))
