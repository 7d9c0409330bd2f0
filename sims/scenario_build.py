"""From the tables of a scenario to the configurations of both sides, and the checks that need more than one table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attitude.actuators.wheels import Allocation
from attitude.control.detumble import Detumble, detumble_gain
from attitude.control.modes import Mode
from attitude.control.pointing import LQR, PointingLaw
from attitude.core.jit import Array
from attitude.dynamics.gyrostat import Gyrostat
from attitude.dynamics.propagator import Propagator
from attitude.environment.grid import EnvironmentGrid
from attitude.environment.orbit import Orbit
from attitude.spacecraft.config import GYRO, ControllerConfig, FlightConfig, PlantConfig
from attitude.spacecraft.controller import REFERENCES
from attitude.spacecraft.frames import ROW_SIZE, SENSOR_NAMES
from sims.scenario_environment import table_bytes
from sims.scenario_errors import ScenarioError, at
from sims.scenario_models import Document, MissionTable

MOST_BYTES = 8e9  # of the rows that are kept, and of the environment
ROW_BYTES = 8 * ROW_SIZE
SAMPLES_LOOKED_AT = 1000  # of the magnetometer, for one in the torquers' quiet time
ROUNDING = 1e-6  # of a tick


# ------------------------------------------------------------------ time
def tick_count(mission: MissionTable, orbit_period: float) -> int:
    """Ticks of the mission, the last of which ends at its end or within a tick after it."""
    return max(math.ceil(mission.seconds(orbit_period) * mission.tick_hz - ROUNDING), 1)


def check_memory(document: Document, orbit_period: float) -> None:
    """Refuse a mission whose log or environment could not be held."""
    mission = document.mission
    seconds = mission.seconds(orbit_period)
    size = ROW_BYTES * seconds / mission.log_every_s + table_bytes(document, seconds)
    if not size <= MOST_BYTES:
        name = "duration_s" if mission.duration_s is not None else "duration_orbits"
        raise ScenarioError(
            f"mission.{name} must be shorter, or mission.log_every_s longer, for the kept rows and the environment to "
            f"stay below {MOST_BYTES / 1e9:g} GB, got {getattr(mission, name):g}, which takes {size / 1e9:.3g} GB"
        )


# ------------------------------------------------------------------ the plant side
def plant_config(document: Document, grid: EnvironmentGrid) -> PlantConfig:
    """The spacecraft as it is."""
    start = document.initial
    _gyrostat(document, document.body.inertia())
    with at("", wheel_speed_rpm="initial.wheel_speed_rpm"):
        return PlantConfig(
            tick_s=1.0 / document.mission.tick_hz,
            substeps=document.mission.substeps,
            inertia_kg_m2=document.body.inertia(),
            damper=document.body.damper,
            disturbances=document.body.disturbances(),
            environment=grid,
            sensors=document.sensors,
            wheels=document.wheels,
            torquers=document.magnetorquers,
            q_IB=start.q_IB,
            omega_B=np.radians(start.rate_deg_s),
            wheel_speed_rpm=start.wheel_speed_rpm if document.wheels is not None else 0.0,
        )


def _gyrostat(document: Document, inertia: Array) -> Gyrostat:
    with at("body", inertia="body.inertia_kg_m2"):
        return Gyrostat(inertia, [] if document.wheels is None else document.wheels.rotors())


# ------------------------------------------------------------------ the flight side
def flight_config(document: Document, grid: EnvironmentGrid, orbit: Orbit) -> FlightConfig:
    """What the flight software believes and wants."""
    inertia = (1.0 + 0.01 * document.onboard.inertia_error_percent) * document.body.inertia()
    with at(""):
        return FlightConfig(
            tick_s=1.0 / document.mission.tick_hz,
            inertia_kg_m2=inertia,
            environment=grid,
            sensors=document.sensors,
            estimator=document.estimator,
            controller=_controller(document, inertia, orbit),
            wheels=document.wheels,
            torquers=document.magnetorquers,
        )


def _controller(document: Document, inertia: Array, orbit: Orbit) -> ControllerConfig:
    control, modes = document.control, document.modes
    with at("", essential="modes.essential"):
        return ControllerConfig(
            detumble=_detumble(document, inertia, orbit),
            detumble_law=control.detumble.more["law"] if control.detumble else "bdot",
            pointing=_pointing(document, inertia),
            allocation=_allocation(document),
            dumping=control.dumping,
            slew=control.slew,
            references=tuple(control.references),
            safe=control.safe,
            modes=modes.build(),
            first_mode=Mode[modes.more["first_mode"].upper()],
            essential=_essential(document),
        )


def _detumble(document: Document, inertia: Array, orbit: Orbit) -> Detumble | None:
    table = document.control.detumble
    if table is None:
        return None
    return table.build(gain_Nms=detumble_gain(inertia, orbit.period, math.degrees(orbit.satellite.inclo)))


def _pointing(document: Document, inertia: Array) -> PointingLaw | None:
    table = document.control.pointing
    if table is None:
        return None
    body = _gyrostat(document, inertia)
    rest: dict[str, Any] = {"inertia_kg_m2": body.carrier_inertia()}
    if table.kind is LQR:
        rest = {"propagator": Propagator(body), "h_s": 1.0 / document.mission.tick_hz}
    with at("control.pointing", (*table.given, *rest)):
        return table.build(**rest)


def _allocation(document: Document) -> Allocation | None:
    control = document.control
    if control.pointing is None or document.wheels is None:
        return None
    with at("control.allocation", ("balance_rate_per_s", "preferred_speed_rpm"), wheels="wheels.axes"):
        if control.allocation is None:
            return Allocation(wheels=document.wheels)
        return control.allocation.build(wheels=document.wheels)


def _essential(document: Document) -> tuple[str, ...]:
    given = document.modes.more["essential"]
    if given is None:
        return () if document.sensors.gyro is None else ("gyro",)
    return tuple(given)


# ------------------------------------------------------------------ one table against another
def check_tables(document: Document) -> None:
    """What one table asks of another; each check is one sentence."""
    for check in (_check_fitted, _check_essential, _check_wheel_speeds, _check_rates, _check_quiet_time):
        check(document)


def _check_fitted(document: Document) -> None:
    control, sensors = document.control, document.sensors
    needs = (
        ("control.detumble", control.detumble, "magnetorquers", document.magnetorquers),
        ("control.detumble", control.detumble, "sensors.magnetometer", sensors.magnetometer),
        ("control.pointing", control.pointing, "wheels", document.wheels),
        ("control.dumping", control.dumping, "magnetorquers", document.magnetorquers),
        ("control.dumping", control.dumping, "sensors.magnetometer", sensors.magnetometer),
        ('estimator.kind = "gyro"', document.estimator.kind == GYRO or None, "sensors.gyro", sensors.gyro),
    )
    for path, wanted, name, fitted in needs:
        if wanted is not None and fitted is None:
            raise ScenarioError(f"{name} is missing: {path} needs it")
    if len(control.references) > REFERENCES:
        raise ScenarioError(f"number of control.references must be at most {REFERENCES}, got {len(control.references)}")


def _check_essential(document: Document) -> None:
    fitted = [SENSOR_NAMES[bit] for bit, _ in document.sensors.fitted()]
    fitted += ["wheels"] * (document.wheels is not None) + ["torquers"] * (document.magnetorquers is not None)
    for i, name in enumerate(_essential(document)):
        if name not in fitted:
            allowed = ", ".join(fitted) or "none"
            raise ScenarioError(f"modes.essential[{i}] must name what is fitted, {allowed}, got {name!r}")


def _check_wheel_speeds(document: Document) -> None:
    """Speeds that are asked for must be speeds that the wheels have."""
    start, allocation = document.initial.wheel_speed_rpm, document.control.allocation
    if document.wheels is None:
        if np.any(start):
            raise ScenarioError(f"initial.wheel_speed_rpm must be zero without wheels, got {start}")
        return
    largest = np.asarray(document.wheels.max_speed_rpm)
    asked = {"initial.wheel_speed_rpm": start}
    if allocation is not None:
        asked["control.allocation.preferred_speed_rpm"] = allocation.given.get("preferred_speed_rpm", 0.0)
    for path, speed in asked.items():
        if np.shape(speed) in ((), largest.shape) and (np.abs(speed) > largest).any():
            raise ScenarioError(f"{path} must be within wheels.max_speed_rpm = {largest.max():g} of zero, got {speed}")


def _check_rates(document: Document) -> None:
    slew, tumbling = document.control.slew, document.modes.given["tumbling_rate_deg_s"]
    if slew is not None and slew.max_rate_deg_s >= tumbling:
        raise ScenarioError(
            f"control.slew.max_rate_deg_s must be below modes.tumbling_rate_deg_s = {tumbling:g}, at which a slew "
            f"would pass for a tumble, got {slew.max_rate_deg_s}"
        )


def _check_quiet_time(document: Document) -> None:
    """Of the magnetometer's samples some must fall into the time in which the torquers are off and settled."""
    torquers, magnetometer, tick = document.magnetorquers, document.sensors.magnetometer, document.mission.tick_hz
    if torquers is None or magnetometer is None or torquers.duty_cycle >= 1.0:
        return
    for k in range(1, SAMPLES_LOOKED_AT):
        nominal = magnetometer.phase_s + k / magnetometer.sample_rate_hz
        if torquers.quiet(math.ceil(nominal * tick - ROUNDING) / tick):
            return
    raise ScenarioError(
        "magnetorquers.duty_cycle must leave the magnetometer a sample with the torquers off and settled, got "
        f"{torquers.duty_cycle} of {torquers.period_s} s with samples at {magnetometer.sample_rate_hz} Hz"
    )
