"""A 3U CubeSat built by hand, shared by all tests of the closed loop: its kernels are compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.actuators.magnetorquers import Magnetorquers
from attitude.actuators.wheels import Allocation, Wheels
from attitude.control.detumble import Detumble, detumble_gain
from attitude.control.guidance import Nadir, Slew, SunPointing
from attitude.control.modes import ModeManager
from attitude.control.momentum import MomentumDumping
from attitude.control.pointing import QuaternionFeedback
from attitude.dynamics.gyrostat import Gyrostat
from attitude.environment.disturbances import Disturbances, box
from attitude.environment.grid import Environment, EnvironmentGrid
from attitude.environment.orbit import MeanElements, Orbit, mean_motion
from attitude.sensors.coarse_sun_sensor import CoarseSunSensorsConfig
from attitude.sensors.gps import GpsConfig
from attitude.sensors.gyro import GyroConfig
from attitude.sensors.magnetometer import MagnetometerConfig
from attitude.sensors.star_tracker import StarTrackerConfig
from attitude.sensors.sun_sensor import FineSunSensorConfig
from attitude.spacecraft.config import ControllerConfig, EstimatorConfig, FlightConfig, PlantConfig, SensorSuite
from attitude.spacecraft.flight import Flight
from attitude.spacecraft.frames import ESTIMATE, TRUTH
from attitude.spacecraft.plant import Plant
from attitude.spacecraft.tick import Spacecraft

TICK = 0.1
INERTIA = np.array([[0.0418, 0.0004, -0.0002], [0.0004, 0.0400, 0.0003], [-0.0002, 0.0003, 0.0067]])
THIRD, HALF = np.sqrt(1.0 / 3.0), np.sqrt(0.5)
PYRAMID = THIRD * np.array([[1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1]])
SPIN_RPM = np.array([1500.0, -1500.0, 1500.0, -1500.0])  # no momentum in all, and no wheel near rest, where it sticks
LOOKING = {  # q_BS of a sensor that looks along a body axis
    "+x": (0.0, HALF, 0.0, HALF), "-x": (0.0, -HALF, 0.0, HALF), "+y": (-HALF, 0.0, 0.0, HALF),
    "-y": (HALF, 0.0, 0.0, HALF), "+z": (0.0, 0.0, 0.0, 1.0), "-z": (1.0, 0.0, 0.0, 0.0),
}  # fmt: skip


class Craft:
    """Builder of plants, flight programs and loops; `changes` are fields of the configuration."""

    def __init__(self, grid: EnvironmentGrid) -> None:
        self.grid, self.inertia, self.tick = grid, INERTIA, TICK
        self.wheels = Wheels(
            axes=PYRAMID, inertia_kg_m2=8e-6, max_torque_Nm=1e-3, max_speed_rpm=6000.0, viscous_Nms=1e-8,
            coulomb_Nm=1e-5,
        )  # fmt: skip
        self.torquers = Magnetorquers(
            axes=np.eye(3), max_dipole_Am2=0.2, duty_cycle=0.6, period_s=1.0, time_constant_s=0.01
        )

    # -------------------------------------------------------------- parts
    def suite(self, **changes: Any) -> SensorSuite:
        """Sensors with noise and, but for the gyro, without bias."""
        parts: dict[str, Any] = {
            "gyro": GyroConfig(sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.15, turn_on_bias_deg_per_hr=100.0),
            "magnetometer": MagnetometerConfig(
                sample_rate_hz=5.0, noise_nT=200.0,
                torquer_field_nT_per_Am2=((2000.0, 0.0, 0.0), (0.0, 2000.0, 0.0), (0.0, 0.0, 2000.0)),
            ),
            "sun_sensors": tuple(self.sun_sensor(side) for side in ("+x", "-x", "+y", "-z")),
            "coarse_sun": CoarseSunSensorsConfig(
                sample_rate_hz=5.0, normals_B=(*map(tuple, np.eye(3)), *map(tuple, -np.eye(3))), noise_fraction=0.02
            ),
            "gps": GpsConfig(sample_rate_hz=1.0, position_noise_m=5.0, velocity_noise_m_per_s=0.05),
        }  # fmt: skip
        return SensorSuite(**{**parts, **changes})

    def sun_sensor(self, side: str, **changes: Any) -> FineSunSensorConfig:
        """Fine sun sensor that looks along a body axis."""
        given: dict[str, Any] = {"sample_rate_hz": 5.0, "half_fov_deg": 60.0, "noise_deg": 0.3, "q_BS": LOOKING[side]}
        return FineSunSensorConfig(**{**given, **changes})

    def star_tracker(self, side: str = "-z", **changes: Any) -> StarTrackerConfig:
        """Star tracker that looks along a body axis."""
        given: dict[str, Any] = {
            "sample_rate_hz": 2.0, "q_BS": LOOKING[side], "noise_cross_arcsec": 10.0, "noise_roll_arcsec": 60.0,
            "sun_exclusion_deg": 30.0, "max_rate_deg_per_s": 2.0,
        }  # fmt: skip
        return StarTrackerConfig(**{**given, **changes})

    def disturbances(self, on: bool = True) -> Disturbances:
        """Gravity gradient, residual dipole, drag and sunlight, or nothing."""
        faces = box(
            size_m=[0.1, 0.1, 0.34], centre_of_mass_m=[0.005, 0.0, 0.01], drag_coefficient=2.2, specular=0.3,
            diffuse=0.3,
        )  # fmt: skip
        dipole = 0.005 * np.ones(3) if on else np.zeros(3)
        return Disturbances(
            inertia=self.inertia, residual_dipole_B_am2=dipole, faces=faces if on else (), gravity_gradient=on
        )

    def estimator(self, **changes: Any) -> EstimatorConfig:
        """Settings that fit the sensors above."""
        given: dict[str, Any] = {
            "torque_noise_Nm_sqrt_s": 2e-6, "gyro_sigma_deg_s": 0.01, "gyro_arw_deg_per_sqrt_hr": 0.15,
            "gyro_bias_walk_deg_per_hr_per_sqrt_hr": 1.0, "gyro_bias_sigma_deg_per_hr": 150.0,
            "magnetometer_sigma_deg": 0.5, "sun_sensor_sigma_deg": 0.35,
        }  # fmt: skip
        return EstimatorConfig(**{**given, **changes})

    def modes(self, **changes: Any) -> ModeManager:
        """Mode manager with short hold times."""
        given: dict[str, Any] = {
            "detumbled_rate_deg_s": 0.5, "tumbling_rate_deg_s": 2.0, "acquired_sigma_deg": 2.0, "lost_sigma_deg": 10.0,
            "detumbled_hold_s": 5.0, "acquired_hold_s": 5.0, "recovered_hold_s": 10.0, "lost_hold_s": 5.0,
            "saturated_hold_s": 5.0, "tumbling_hold_s": 5.0,
        }  # fmt: skip
        return ModeManager(**{**given, **changes})

    def controller(self, **changes: Any) -> ControllerConfig:
        """All laws: B-dot, quaternion feedback, four wheels, dumping, nadir."""
        J = Gyrostat(self.inertia, self.wheels.rotors()).carrier_inertia()
        given: dict[str, Any] = {
            "detumble": Detumble(gain_Nms=4.0 * detumble_gain(self.inertia, 5676.0, 80.0)),
            "pointing": QuaternionFeedback(
                inertia_kg_m2=J, bandwidth_rad_s=0.1, damping_ratio=1.0, integral_time_s=60.0, max_slew_rate_deg_s=1.0
            ),
            "allocation": Allocation(
                wheels=self.wheels, compensate_friction=True, balance_rate_per_s=0.01, preferred_speed_rpm=SPIN_RPM
            ),
            "dumping": MomentumDumping(time_constant_s=600.0, start_Nms=1e-3, stop_Nms=2e-4),
            "slew": Slew(max_rate_deg_s=0.5, max_acceleration_deg_s2=0.02),
            "references": [Nadir()],
            "safe": SunPointing(axis_B=[1, 0, 0], second_B=[0, 0, 1]),
            "modes": self.modes(),
        }  # fmt: skip
        return ControllerConfig(**{**given, **changes})

    # -------------------------------------------------------------- sides
    def plant_config(self, **changes: Any) -> PlantConfig:
        """A quiet start: half the orbital rate about y."""
        if changes.get("wheels", self.wheels) is not self.wheels:
            changes = {"wheel_speed_rpm": 0.0, **changes}
        given: dict[str, Any] = {
            "tick_s": self.tick, "inertia_kg_m2": self.inertia, "environment": self.grid,
            "disturbances": self.disturbances(), "sensors": self.suite(), "q_IB": [0.0, 0.0, 0.0, 1.0],
            "omega_B": [0.0, 5e-4, 0.0], "wheels": self.wheels, "torquers": self.torquers,
            "wheel_speed_rpm": SPIN_RPM,
        }  # fmt: skip
        return PlantConfig(**{**given, **changes})

    def plant(self, seed: int = 1, **changes: Any) -> Plant:
        """The spacecraft as it is."""
        return Plant(self.plant_config(**changes), seed)

    def flight_config(self, **changes: Any) -> FlightConfig:
        """Flight software that knows the spacecraft as it is."""
        given: dict[str, Any] = {
            "tick_s": self.tick, "inertia_kg_m2": self.inertia, "environment": self.grid, "sensors": self.suite(),
            "estimator": self.estimator(), "controller": self.controller(), "wheels": self.wheels,
            "torquers": self.torquers,
        }  # fmt: skip
        return FlightConfig(**{**given, **changes})

    def flight(self, **changes: Any) -> Flight:
        """The toolkit's flight software."""
        return Flight(self.flight_config(**changes))

    def loop(self, kind: str = "dynamics", seed: int = 1, **changes: Any) -> Spacecraft:
        """Both sides with the same sensors; `changes` of the plant."""
        sensors = changes.get("sensors", self.suite())
        flight = self.flight(estimator=self.estimator(kind=kind), sensors=sensors)
        return Spacecraft(self.plant(seed, **changes), flight)

    # -------------------------------------------------------------- what is compared
    @staticmethod
    def knowledge_error(rows: dict[str, Any]) -> Any:
        """Attitude error `(N, 3)` of the estimate, rad, body axes."""
        truth, estimate = TRUTH.read(rows["truth"], "q_IB"), ESTIMATE.read(rows["estimate"], "q_IB")
        return (Rotation.from_quat(estimate).inv() * Rotation.from_quat(truth)).as_rotvec()

@pytest.fixture(scope="session")
def craft() -> Craft:
    """The builder, over an hour and a half in an orbit with eclipse."""
    orbit = Orbit.from_mean_elements(
        MeanElements(
            epoch="2026-03-20T00:00:00", mean_motion_rev_per_day=mean_motion(500.0), eccentricity=0.001,
            inclination_deg=97.4, raan_deg=60.0, argument_of_perigee_deg=0.0, mean_anomaly_deg=0.0,
        )
    )  # fmt: skip
    return Craft(Environment(orbit=orbit, epoch="2026-03-20T00:00:00").grid(6000.0))
