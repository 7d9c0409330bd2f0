"""What a configuration refuses, in one sentence that names the field; and which sensors it says are fitted."""

import numpy as np
import pytest

from attitude.actuators.magnetorquers import Magnetorquers
from attitude.actuators.wheels import Wheels
from attitude.control.guidance import Nadir
from attitude.sensors.coarse_sun_sensor import CoarseSunSensorsConfig
from attitude.spacecraft import frames
from attitude.spacecraft.config import Damper, SensorSuite


def refused(build, match, **changes):
    with pytest.raises(ValueError, match=match) as caught:
        build(**changes)
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------ sensors
def test_fitted_sensors_have_their_bits(craft):
    assert dict(SensorSuite().fitted()) == {}
    suite = craft.suite(star_trackers=[craft.star_tracker(), craft.star_tracker("+y")], gyro=None)
    fitted = dict(suite.fitted())
    assert [frames.SENSOR_NAMES[bit] for bit in fitted] == [
        "magnetometer", "sun_sensor_0", "sun_sensor_1", "sun_sensor_2", "sun_sensor_3", "coarse_sun", "star_tracker_0",
        "star_tracker_1", "gps",
    ]  # fmt: skip
    assert fitted[frames.SUN_SENSOR_BIT + 2] is suite.sun_sensors[2]
    assert fitted[frames.STAR_TRACKER_BIT + 1] is suite.star_trackers[1]
    assert fitted[frames.GPS_BIT] is suite.gps


def test_no_more_sensors_than_the_wire_has_room_for(craft):
    refused(craft.suite, "^number of sun_sensors must be at most 4, got 5", sun_sensors=[craft.sun_sensor("+x")] * 5)
    refused(craft.suite, "^number of star_trackers must be at most 2, got 3", star_trackers=[craft.star_tracker()] * 3)
    many = CoarseSunSensorsConfig(sample_rate_hz=1.0, normals_B=((0.0, 0.0, 1.0),) * 13, noise_fraction=0.0)
    refused(craft.suite, "^number of coarse_sun normals_B must be at most 12, got 13", coarse_sun=many)


def test_sensors_of_the_wrong_kind(craft):
    refused(craft.suite, "^gyro must be a GyroConfig or None", gyro=craft.suite().gps)
    refused(craft.suite, r"^sun_sensors\[0\] must be a FineSunSensorConfig", sun_sensors=[craft.star_tracker()])


# ------------------------------------------------------------------ plant
@pytest.mark.parametrize(("changes", "match"), [
    ({"tick_s": 0.0}, "^tick_s must be greater than zero"),
    ({"substeps": 0}, "^substeps must be a whole number"),
    ({"inertia_kg_m2": np.diag([1.0, 1.0, -1.0])}, "^inertia_kg_m2 must be symmetric positive definite"),
    ({"environment": None}, "^environment must be a EnvironmentGrid"),
    ({"sensors": ()}, "^sensors must be a SensorSuite"),
    ({"q_IB": [0, 0, 0, 2.0]}, "^q_IB must be a unit quaternion"),
    ({"omega_B": [0.0, np.nan, 0.0]}, "^omega_B must be finite"),
    ({"omega_B": [0.0, 2e4, 0.0]}, "^omega_B must turn the body by at most 1000 rad in a tick"),
    ({"wheel_speed_rpm": [1.0, 2.0]}, r"^wheel_speed_rpm must have shape \(4,\)"),
    ({"wheels": [1.0]}, "^wheels must be a Wheels or None"),
    ({"damper": 0.1}, "^damper must be a Damper or None"),
])  # fmt: skip
def test_plant_refuses(craft, changes, match):
    refused(craft.plant_config, match, **changes)


def test_no_more_actuators_than_the_wire_has_room_for(craft):
    numbers = {"max_torque_Nm": 1.0, "max_speed_rpm": 1.0, "viscous_Nms": 0.0, "coulomb_Nm": 0.0}
    nine = Wheels(axes=np.ones((9, 3)), inertia_kg_m2=1e-6, **numbers)
    seven = Magnetorquers(axes=np.ones((7, 3)), max_dipole_Am2=1.0, duty_cycle=1.0, period_s=1.0)
    for build in (craft.plant_config, craft.flight_config):
        refused(build, "^number of wheels must be at most 8, got 9", wheels=nine)
        refused(build, "^number of torquers must be at most 6, got 7", torquers=seven)


def test_damper_refuses():
    refused(Damper, "^inertia_kg_m2 must be greater than zero", inertia_kg_m2=0.0, damping_Nms=1.0)
    refused(Damper, "^damping_Nms must not be negative", inertia_kg_m2=1.0, damping_Nms=-1.0)


def test_one_speed_is_for_all_wheels(craft):
    assert craft.plant_config(wheel_speed_rpm=7.0).wheel_speed_rpm.tolist() == [7.0] * 4
    assert craft.plant_config(wheels=None).wheel_speed_rpm.shape == (0,)


# ------------------------------------------------------------------ flight
@pytest.mark.parametrize(("changes", "match"), [
    ({"kind": "magic"}, '^kind must be "dynamics" or "gyro"'),
    ({"torque_noise_Nm_sqrt_s": 0.0}, "^torque_noise_Nm_sqrt_s must be greater than zero"),
    ({"gyro_sigma_deg_s": -1.0}, "^gyro_sigma_deg_s must be greater than zero"),
    ({"gyro_arw_deg_per_sqrt_hr": -1.0}, "^gyro_arw_deg_per_sqrt_hr must not be negative"),
    ({"gate": 1.0}, "^gate must lie between 0 and 1"),
    ({"stuck_samples": 1}, "^stuck_samples must be a whole number of at least 2"),
    ({"star_tracker_sigma_arcsec": [1.0, 0.0, 1.0]}, "^star_tracker_sigma_arcsec must be greater than zero"),
    ({"star_tracker_sigma_arcsec": [1.0, 1.0]}, "^star_tracker_sigma_arcsec must have shape"),
    ({"max_age_s": np.inf}, "^max_age_s must be finite"),
])  # fmt: skip
def test_estimator_refuses(craft, changes, match):
    refused(craft.estimator, match, **changes)


@pytest.mark.parametrize(("changes", "match"), [
    ({"detumble_law": "magic"}, '^detumble_law must be "bdot" or "rate"'),
    ({"allocation": None}, "^pointing and allocation must be given both or neither"),
    ({"references": []}, "^references, safe and slew must be given with a pointing law"),
    ({"safe": None}, "^references, safe and slew must be given with a pointing law"),
    ({"references": [None]}, r"^references\[0\] must be a Reference"),
    ({"essential": ("gyroscope",)}, "^essential must name sensors of gyro, .*, got 'gyroscope'"),
    ({"modes": None}, "^modes must be a ModeManager"),
])  # fmt: skip
def test_controller_refuses(craft, changes, match):
    refused(craft.controller, match, **changes)


def test_flight_refuses_what_does_not_go_together(craft):
    refused(craft.flight_config, "^wheels must be given with a pointing law", wheels=None)
    refused(craft.flight_config, "^torquers and a magnetometer must be given", torquers=None)
    refused(
        craft.flight_config, '^estimator kind must be "dynamics" without a gyro',
        sensors=craft.suite(gyro=None), estimator=craft.estimator(kind="gyro"),
    )  # fmt: skip


def test_no_more_references_than_the_kernel_has_room_for(craft):
    craft.flight(controller=craft.controller(references=[Nadir()] * 4))
    refused(craft.flight, "^references must be at most 4, got 5", controller=craft.controller(references=[Nadir()] * 5))
