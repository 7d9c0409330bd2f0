"""What a spacecraft is made of, for the plant side, and what its flight software knows and wants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.actuators.magnetorquers import MagnetorquerParameters, Magnetorquers
from attitude.actuators.wheels import Allocation, WheelParameters, Wheels
from attitude.control.detumble import Detumble
from attitude.control.guidance import Reference, Slew
from attitude.control.modes import Mode, ModeManager
from attitude.control.momentum import MomentumDumping
from attitude.control.pointing import PointingLaw
from attitude.core import checks
from attitude.environment.disturbances import Disturbances
from attitude.environment.grid import EnvironmentGrid
from attitude.sensors.coarse_sun_sensor import CoarseSunSensorsConfig
from attitude.sensors.gps import GpsConfig
from attitude.sensors.gyro import GyroConfig
from attitude.sensors.magnetometer import MagnetometerConfig
from attitude.sensors.star_tracker import StarTrackerConfig
from attitude.sensors.sun_sensor import FineSunSensorConfig
from attitude.spacecraft import frames

DYNAMICS, GYRO = "dynamics", "gyro"
BDOT, RATE = "bdot", "rate"
MAX_INCREMENT = 0.25  # of a substep of either side: a tumble too fast for one is split, instead of not solved
MAX_TURN = 1000.0  # rad in a tick: each takes substeps of half a radian


def _instance(value: Any, name: str, kind: type, optional: bool = False) -> None:
    if not (isinstance(value, kind) or (optional and value is None)):
        raise ValueError(f"{name} must be a {kind.__name__}{' or None' if optional else ''}, got {value!r}")


def _at_most(count: int, name: str, most: int) -> None:
    if count > most:
        raise ValueError(f"{name} must be at most {most}, got {count}")


# ------------------------------------------------------------------ what is on board
@dataclass(frozen=True, kw_only=True, eq=False)
class SensorSuite:
    """The sensors on board, by their datasheets; `None` or nothing for what is not fitted."""

    gyro: GyroConfig | None = None
    magnetometer: MagnetometerConfig | None = None
    sun_sensors: tuple[FineSunSensorConfig, ...] = ()
    coarse_sun: CoarseSunSensorsConfig | None = None
    star_trackers: tuple[StarTrackerConfig, ...] = ()
    gps: GpsConfig | None = None

    def __post_init__(self) -> None:
        _instance(self.gyro, "gyro", GyroConfig, True)
        _instance(self.magnetometer, "magnetometer", MagnetometerConfig, True)
        _instance(self.coarse_sun, "coarse_sun", CoarseSunSensorsConfig, True)
        _instance(self.gps, "gps", GpsConfig, True)
        for name, kind, most in (
            ("sun_sensors", FineSunSensorConfig, frames.SUN_SENSORS),
            ("star_trackers", StarTrackerConfig, frames.STAR_TRACKERS),
        ):
            given = tuple(getattr(self, name))
            _at_most(len(given), f"number of {name}", most)
            for i, config in enumerate(given):
                _instance(config, f"{name}[{i}]", kind)
            object.__setattr__(self, name, given)
        if self.coarse_sun is not None:
            _at_most(len(self.coarse_sun.normals_B), "number of coarse_sun normals_B", frames.DIODES)

    def fitted(self) -> Iterator[tuple[int, Any]]:
        """Bit and configuration of each sensor that is fitted."""
        single = ((frames.GYRO_BIT, self.gyro), (frames.MAGNETOMETER_BIT, self.magnetometer))
        yield from ((bit, config) for bit, config in single if config is not None)
        yield from ((frames.SUN_SENSOR_BIT + i, config) for i, config in enumerate(self.sun_sensors))
        if self.coarse_sun is not None:
            yield frames.COARSE_SUN_BIT, self.coarse_sun
        yield from ((frames.STAR_TRACKER_BIT + i, config) for i, config in enumerate(self.star_trackers))
        if self.gps is not None:
            yield frames.GPS_BIT, self.gps


@dataclass(frozen=True, kw_only=True)
class Damper:
    """Kane damper: a sphere of `inertia_kg_m2` in fluid with the constant `damping_Nms`, N·m per rad/s."""

    inertia_kg_m2: float
    damping_Nms: float

    def __post_init__(self) -> None:
        checks.positive(self.inertia_kg_m2, "inertia_kg_m2")
        checks.not_negative(self.damping_Nms, "damping_Nms")


@dataclass(frozen=True, kw_only=True, eq=False)
class PlantConfig:
    """The spacecraft as it is, and where it starts.

    `inertia_kg_m2` `(3, 3)` of the whole, wheels included, damper's sphere not; `q_IB` `(4,)`; `omega_B` `(3,)`,
    rad/s; `wheel_speed_rpm` relative to the body, one or each. `tick_s` is the period of the loop, in which the plant
    takes `substeps` steps.
    """

    tick_s: float
    inertia_kg_m2: ArrayLike
    environment: EnvironmentGrid
    disturbances: Disturbances
    sensors: SensorSuite
    q_IB: ArrayLike
    omega_B: ArrayLike
    wheels: Wheels | None = None
    torquers: Magnetorquers | None = None
    damper: Damper | None = None
    wheel_speed_rpm: ArrayLike = 0.0
    substeps: int = 1

    def __post_init__(self) -> None:
        checks.positive(self.tick_s, "tick_s")
        checks.count(self.substeps, "substeps")
        checks.inertia(self.inertia_kg_m2, "inertia_kg_m2")
        _instance(self.environment, "environment", EnvironmentGrid)
        _instance(self.disturbances, "disturbances", Disturbances)
        _instance(self.sensors, "sensors", SensorSuite)
        _check_actuators(self.wheels, self.torquers)
        _instance(self.damper, "damper", Damper, True)
        object.__setattr__(self, "q_IB", checks.unit_quaternion(self.q_IB, "q_IB"))
        omega = checks.array(self.omega_B, "omega_B", (3,))
        turn = float(np.linalg.norm(omega)) * self.tick_s
        if turn > MAX_TURN:
            raise ValueError(f"omega_B must turn the body by at most {MAX_TURN:g} rad in a tick, got {turn:g} rad")
        object.__setattr__(self, "omega_B", omega)
        size = 0 if self.wheels is None else len(self.wheels)
        shape = np.ndim(self.wheel_speed_rpm) * (size,)
        speed = np.full(size, checks.array(self.wheel_speed_rpm, "wheel_speed_rpm", shape))
        object.__setattr__(self, "wheel_speed_rpm", speed)


def _check_actuators(wheels: Wheels | None, torquers: Magnetorquers | None) -> None:
    _instance(wheels, "wheels", Wheels, True)
    _instance(torquers, "torquers", Magnetorquers, True)
    _at_most(0 if wheels is None else len(wheels), "number of wheels", frames.WHEELS)
    _at_most(0 if torquers is None else torquers.initial_state().size, "number of torquers", frames.TORQUERS)


def wheel_parameters(wheels: Wheels | None) -> WheelParameters:
    """For the kernels; empty without wheels."""
    if wheels is not None:
        return wheels.parameters()
    none = np.zeros(0)
    return WheelParameters(np.zeros((0, 3)), none, none, none, none, none, 0)


def torquer_parameters(torquers: Magnetorquers | None) -> MagnetorquerParameters:
    """For the kernels; empty without torquers."""
    if torquers is not None:
        return torquers.parameters()
    return MagnetorquerParameters(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), 0.0, 1.0, 1.0)


# ------------------------------------------------------------------ what the flight software is told
@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatorConfig:
    """Attitude estimator.

    `kind` `"dynamics"` (MEKF: the body's own motion predicts, the gyro is a measurement, its loss is survived) or
    `"gyro"` (GyroMEKF: the gyro predicts). Sigmas are of one sample as the filter weighs it, biases included.
    A vector or attitude sample older than `max_age_s` is refused. A gyro whose reading repeats `stuck_samples`
    times is held to be stuck. An estimate that no attitude sensor has confirmed for `restart_s` seconds, while samples
    were refused, is given up. `gate` is the probability with which a good sample passes.
    """

    kind: str = DYNAMICS
    torque_noise_Nm_sqrt_s: float
    gyro_sigma_deg_s: float
    gyro_arw_deg_per_sqrt_hr: float
    gyro_bias_walk_deg_per_hr_per_sqrt_hr: float
    gyro_bias_sigma_deg_per_hr: float
    magnetometer_sigma_deg: float = 1.0
    sun_sensor_sigma_deg: float = 0.5
    coarse_sun_sigma_deg: float = 10.0
    star_tracker_sigma_arcsec: ArrayLike = 60.0
    gate: float = 0.9999
    max_age_s: float = 1.0
    stuck_samples: int = 20
    restart_s: float = 60.0

    def __post_init__(self) -> None:
        if self.kind not in (DYNAMICS, GYRO):
            raise ValueError(f'kind must be "{DYNAMICS}" or "{GYRO}", got {self.kind!r}')
        for name in (
            "torque_noise_Nm_sqrt_s", "gyro_sigma_deg_s", "gyro_bias_sigma_deg_per_hr", "magnetometer_sigma_deg",
            "sun_sensor_sigma_deg", "coarse_sun_sigma_deg", "max_age_s", "restart_s",
        ):  # fmt: skip
            checks.positive(getattr(self, name), name)
        for name in ("gyro_arw_deg_per_sqrt_hr", "gyro_bias_walk_deg_per_hr_per_sqrt_hr"):
            checks.not_negative(getattr(self, name), name)
        checks.count(self.stuck_samples, "stuck_samples", 2)
        if not 0.0 < checks.number(self.gate, "gate") < 1.0:
            raise ValueError(f"gate must lie between 0 and 1, got {self.gate}")
        shape = np.ndim(self.star_tracker_sigma_arcsec) * (3,)
        sigma = np.full(3, checks.array(self.star_tracker_sigma_arcsec, "star_tracker_sigma_arcsec", shape))
        if (sigma <= 0.0).any():
            raise ValueError(f"star_tracker_sigma_arcsec must be greater than zero, got {sigma.tolist()}")
        object.__setattr__(self, "star_tracker_sigma_arcsec", sigma)


@dataclass(frozen=True, kw_only=True, eq=False)
class ControllerConfig:
    """Controller: the laws, the references and the modes.

    Nominal pointing takes the first of `references` that can be seen (a ground target only above its horizon); safe
    mode takes `safe`. `essential` names sensors without which the spacecraft is not left in nominal mode. Without
    wheels there is no pointing law, allocation or dumping, and the torquers damp the rate in every mode.
    """

    detumble: Detumble | None
    detumble_law: str = BDOT
    pointing: PointingLaw | None = None
    allocation: Allocation | None = None
    dumping: MomentumDumping | None = None
    slew: Slew | None = None
    references: Sequence[Reference] = ()
    safe: Reference | None = None
    modes: ModeManager
    first_mode: Mode = Mode.DETUMBLE
    essential: tuple[str, ...] = ("gyro",)

    def __post_init__(self) -> None:
        _instance(self.detumble, "detumble", Detumble, True)
        _instance(self.pointing, "pointing", PointingLaw, True)
        _instance(self.allocation, "allocation", Allocation, True)
        _instance(self.dumping, "dumping", MomentumDumping, True)
        _instance(self.slew, "slew", Slew, True)
        _instance(self.safe, "safe", Reference, True)
        _instance(self.modes, "modes", ModeManager)
        if self.detumble_law not in (BDOT, RATE):
            raise ValueError(f'detumble_law must be "{BDOT}" or "{RATE}", got {self.detumble_law!r}')
        object.__setattr__(self, "references", tuple(self.references))
        for i, reference in enumerate(self.references):
            _instance(reference, f"references[{i}]", Reference)
        self._check_pointing()
        for name in self.essential:
            if name not in frames.SENSOR_NAMES:
                raise ValueError(f"essential must name sensors of {', '.join(frames.SENSOR_NAMES)}, got {name!r}")

    def _check_pointing(self) -> None:
        if (self.pointing is None) != (self.allocation is None):
            raise ValueError("pointing and allocation must be given both or neither")
        if self.pointing is not None and not (self.references and self.safe is not None and self.slew is not None):
            raise ValueError("references, safe and slew must be given with a pointing law")


@dataclass(frozen=True, kw_only=True, eq=False)
class FlightConfig:
    """What the flight software knows: its own orbit and field models, the body, the datasheets, and its settings.

    `environment` is the on-board model, which may differ from the plant's; `inertia_kg_m2` as believed.
    """

    tick_s: float
    inertia_kg_m2: ArrayLike
    environment: EnvironmentGrid
    sensors: SensorSuite
    estimator: EstimatorConfig
    controller: ControllerConfig
    wheels: Wheels | None = None
    torquers: Magnetorquers | None = None

    def __post_init__(self) -> None:
        checks.positive(self.tick_s, "tick_s")
        checks.inertia(self.inertia_kg_m2, "inertia_kg_m2")
        _instance(self.environment, "environment", EnvironmentGrid)
        _instance(self.sensors, "sensors", SensorSuite)
        _instance(self.estimator, "estimator", EstimatorConfig)
        _instance(self.controller, "controller", ControllerConfig)
        _check_actuators(self.wheels, self.torquers)
        if self.controller.pointing is not None and self.wheels is None:
            raise ValueError("wheels must be given with a pointing law")
        if self.estimator.kind == GYRO and self.sensors.gyro is None:
            raise ValueError(f'estimator kind must be "{DYNAMICS}" without a gyro, got "{GYRO}"')
        if self.controller.detumble is not None and (self.torquers is None or self.sensors.magnetometer is None):
            raise ValueError("torquers and a magnetometer must be given with a detumbling law")
