"""What a log says about its mission: scenario, seed, times, what is fitted, references, goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import attitude
from attitude.control.guidance import Reference
from attitude.core import checks
from attitude.spacecraft import frames
from attitude.spacecraft.config import FlightConfig, PlantConfig
from attitude.spacecraft.controller import SAFE_REFERENCE

CONVENTIONS = (
    "Quaternions are [x, y, z, w], Hamilton, and turn body axes B into inertial axes I (GCRS): v_I = R(q_IB) v_B. "
    "Rates are in body axes. E are Earth-fixed axes (ITRS). Units are SI. A row holds the truth at the beginning of a "
    "tick and the samples, estimate, control and command of that tick."
)
GOAL = "goal_"  # global attributes that begin so are the numbers the mission is to reach


@dataclass(frozen=True, kw_only=True)
class About:
    """What a log says about its mission.

    The limits tell how many wheels and torquers are fitted: `wheel_max_speed` rad/s, `wheel_max_momentum` N·m·s,
    `torquer_max_dipole` A·m². `sensors` names those on board as in `frames.SENSOR_NAMES`; `references` have the numbers
    `control_pointing` gives them; `goals` are kept as they are.
    """

    scenario: str
    toml: str
    sha256: str
    seed: int
    tick_s: float
    duration_s: float
    log_every: int
    orbit_period_s: float
    epoch_utc: str
    wheel_max_speed: Sequence[float] = ()
    wheel_max_momentum: Sequence[float] = ()
    torquer_max_dipole: Sequence[float] = ()
    diodes: int = 0
    sensors: Sequence[str] = ()
    damper: bool = False
    references: Mapping[int, Reference] = field(default_factory=dict)
    goals: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.positive(self.tick_s, "tick_s")
        checks.positive(self.orbit_period_s, "orbit_period_s")
        checks.count(self.log_every, "log_every")
        if len(self.wheel_max_speed) != len(self.wheel_max_momentum):
            raise ValueError(
                f"wheel_max_momentum must have one number for each wheel, {len(self.wheel_max_speed)}, "
                f"got {len(self.wheel_max_momentum)}"
            )
        for name in self.sensors:
            if name not in frames.SENSOR_NAMES:
                raise ValueError(f"sensors must be of {', '.join(frames.SENSOR_NAMES)}, got {name!r}")

    @property
    def fitted(self) -> dict[str, int]:
        """Length of each axis for which the records have more room than is needed."""
        return {"wheel": len(self.wheel_max_speed), "torquer": len(self.torquer_max_dipole), "diode": self.diodes}

    def attributes(self) -> dict[str, Any]:
        """The global attributes."""
        return {
            "title": f"Attitude mission: {self.scenario}", "scenario": self.scenario, "scenario_toml": self.toml,
            "scenario_sha256": self.sha256, "seed": int(self.seed), "tick_s": float(self.tick_s),
            "duration_s": float(self.duration_s), "log_every": int(self.log_every),
            "orbit_period_s": float(self.orbit_period_s),
            "epoch_utc": self.epoch_utc, "toolkit_version": attitude.__version__, "conventions": CONVENTIONS,
            **{GOAL + name: float(value) for name, value in self.goals.items()},
        }  # fmt: skip


class Told(Protocol):
    """What of a scenario a log tells."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def ticks(self) -> int: ...
    @property
    def log_every(self) -> int: ...
    @property
    def orbit_period_s(self) -> float: ...


def about(
    scenario: Told, plant: PlantConfig, flight: FlightConfig | None = None, goals: Mapping[str, float] | None = None
) -> About:
    """What the log is to say, from the scenario and the configurations made of it; no `flight` for sensors alone."""
    wheels = None if plant.wheels is None else plant.wheels.parameters()
    coarse = plant.sensors.coarse_sun
    return About(
        scenario=scenario.name,
        toml=scenario.text,
        sha256=scenario.sha256,
        seed=scenario.seed,
        tick_s=plant.tick_s,
        duration_s=scenario.ticks * plant.tick_s,
        log_every=scenario.log_every,
        orbit_period_s=scenario.orbit_period_s,
        epoch_utc=f"{plant.environment.epoch.calendar().isoformat()}Z",
        wheel_max_speed=() if wheels is None else wheels.max_speed.tolist(),
        wheel_max_momentum=() if wheels is None else (wheels.max_speed * wheels.inertia).tolist(),
        torquer_max_dipole=() if plant.torquers is None else plant.torquers.parameters().max_dipole.tolist(),
        diodes=0 if coarse is None else len(coarse.normals_B),
        sensors=tuple(frames.SENSOR_NAMES[bit] for bit, _ in plant.sensors.fitted()),
        damper=plant.damper is not None,
        references={} if flight is None else _references(flight),
        goals=goals or {},
    )


def _references(flight: FlightConfig) -> dict[int, Reference]:
    controller = flight.controller
    safe = {} if controller.safe is None else {SAFE_REFERENCE: controller.safe}
    return dict(enumerate(controller.references)) | safe
