"""The tables of a scenario file. What each field means, the comments of `scenarios/default.toml` say."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from attitude.actuators.magnetorquers import Magnetorquers
from attitude.actuators.wheels import Allocation, Wheels
from attitude.control.detumble import Detumble
from attitude.control.guidance import GroundTarget, Inertial, Nadir, Reference, Slew, SunPointing
from attitude.control.modes import ModeManager
from attitude.control.momentum import MomentumDumping
from attitude.control.pointing import LQR, QuaternionFeedback
from attitude.core import checks
from attitude.core.jit import Array
from attitude.environment.disturbances import Disturbances, box
from attitude.environment.epoch import Epoch
from attitude.environment.grid import Environment
from attitude.environment.orbit import MeanElements, Orbit
from attitude.spacecraft.config import BDOT, Damper, EstimatorConfig, SensorSuite
from sims.scenario_errors import shown
from sims.scenario_fields import Choice, Either, Number, Numbers, Part, Section, Some, Whole

WHOLE = 1e-6  # of a tick: how far from a whole number of ticks a time may be
MAX_OFFSET = 3600.0  # s: a flight orbit an hour off is a typing error


class MissionTable(Section):
    """When, how long, and how finely in time."""

    name: str
    description: str = ""
    epoch: Any
    duration_orbits: Number | None = None
    duration_s: Number | None = None
    tick_hz: Number
    substeps: int = 1
    seed: int
    log_every_s: Number

    def check(self) -> None:
        """Check every field."""
        if not isinstance(self.epoch, datetime | str):
            raise ValueError(f"epoch must be a date and time such as 2026-03-20T12:00:00Z, got {shown(self.epoch)}")
        Epoch(self.epoch)
        for name in ("name", "description"):
            if not str(getattr(self, name)).isprintable():
                raise ValueError(f"{name} must have printable characters only, got {shown(getattr(self, name))}")
        if (self.duration_orbits is None) == (self.duration_s is None):
            raise ValueError("duration_orbits or duration_s must be given, and not both")
        for name in ("duration_orbits", "duration_s"):
            if getattr(self, name) is not None:
                checks.positive(getattr(self, name), name)
        checks.positive(self.tick_hz, "tick_hz")
        checks.count(self.substeps, "substeps")
        checks.count(self.seed, "seed", 0)
        every = checks.positive(self.log_every_s, "log_every_s") * self.tick_hz
        if not 0.5 < every < checks.MOST or abs(every - round(every)) > WHOLE:
            tick = f"{1.0 / self.tick_hz:.6g} s"
            raise ValueError(f"log_every_s must be a whole number of ticks of {tick}, got {self.log_every_s}")

    def seconds(self, orbit_period: float) -> float:
        """Duration, s."""
        return self.duration_s if self.duration_s is not None else (self.duration_orbits or 0.0) * orbit_period


# ------------------------------------------------------------------ orbit and environment
class TleTable(Section):
    """Two-line elements."""

    tle: list[str]

    def check(self) -> None:
        """Check length, numbers and checksums of the lines."""
        if len(self.tle) != 2:
            raise ValueError(f"tle must have two lines, got {len(self.tle)}")
        Orbit.from_tle(*self.tle)


Elements = Annotated[
    Part[MeanElements],
    Some(
        MeanElements, without=("epoch",), optional=("mean_motion_rev_per_day",),
        more={"altitude_km": (Number, None)},
        stand_in={"epoch": "2000-01-01", "mean_motion_rev_per_day": 15.0},
    ),
]  # fmt: skip
OrbitTable = Annotated[TleTable | Part[MeanElements], Either("tle", TleTable, Elements)]
EnvironmentTable = Annotated[
    Part[Environment],
    Some(
        Environment, without=("orbit", "epoch", "atmosphere"), more={"density_factor": (Number, 1.0)},
        stand_in={"orbit": Orbit(None), "epoch": "2000-01-01"},
    ),
]  # fmt: skip


class OnboardTable(Section):
    """In what the flight software's models are wrong."""

    ephemeris_offset_s: Number = 0.0
    inertia_error_percent: Number = 0.0

    def check(self) -> None:
        """Check every field."""
        offset = checks.number(self.ephemeris_offset_s, "ephemeris_offset_s")
        if abs(offset) > MAX_OFFSET:
            raise ValueError(f"ephemeris_offset_s must be within {MAX_OFFSET:g} s of zero, got {offset}")
        error = checks.number(self.inertia_error_percent, "inertia_error_percent")
        if not -100.0 < error < 1000.0:
            raise ValueError(f"inertia_error_percent must lie between -100 and 1000, got {error}")


# ------------------------------------------------------------------ the spacecraft
class BodyTable(Section):
    """Mass properties, and what the environment can grip."""

    inertia_kg_m2: Numbers
    size_m: Numbers
    centre_of_mass_m: Numbers = (0.0, 0.0, 0.0)
    drag_coefficient: Number
    specular: Number
    diffuse: Number
    residual_dipole_Am2: Numbers
    gravity_gradient: bool = True
    drag: bool = True
    solar_pressure: bool = True
    damper: Annotated[Damper, Whole()] | None = None

    def check(self) -> None:
        """Check every field."""
        self.disturbances()

    def inertia(self) -> Array:
        """Inertia `(3, 3)`, kg·m²; three numbers are the diagonal."""
        given = self.inertia_kg_m2
        diagonal = isinstance(given, list) and len(given) == 3 and all(isinstance(entry, float) for entry in given)
        return checks.inertia(np.diag(given) if diagonal else given, "inertia_kg_m2")

    def disturbances(self) -> Disturbances:
        """The torques of the environment."""
        faces = box(
            size_m=self.size_m, centre_of_mass_m=self.centre_of_mass_m, drag_coefficient=self.drag_coefficient,
            specular=self.specular, diffuse=self.diffuse,
        )  # fmt: skip
        return Disturbances(
            inertia=self.inertia(),
            residual_dipole_B_am2=checks.array(self.residual_dipole_Am2, "residual_dipole_Am2", (3,)),
            faces=faces, gravity_gradient=self.gravity_gradient, drag=self.drag, solar_pressure=self.solar_pressure,
        )  # fmt: skip


class InitialTable(Section):
    """Where the motion starts."""

    rate_deg_s: Numbers
    q_IB: Numbers = (0.0, 0.0, 0.0, 1.0)
    wheel_speed_rpm: Numbers = 0.0

    def check(self) -> None:
        """Check every field but the number of wheels."""
        checks.array(self.rate_deg_s, "rate_deg_s", (3,))
        checks.unit_quaternion(self.q_IB, "q_IB")


# ------------------------------------------------------------------ the flight software
DetumbleTable = Annotated[
    Part[Detumble],
    Some(Detumble, optional=("gain_Nms",), more={"law": (Literal["bdot", "rate"], BDOT)}, stand_in={"gain_Nms": 1.0}),
]
PointingTable = Annotated[
    Part[QuaternionFeedback] | Part[LQR],
    Choice("law", {
        "quaternion-feedback": Annotated[
            Any, Some(QuaternionFeedback, without=("inertia_kg_m2",), stand_in={"inertia_kg_m2": np.eye(3)})
        ],
        "lqr": Annotated[Any, Some(LQR, without=("propagator", "h_s"))],
    }),
]  # fmt: skip
ReferenceTable = Annotated[
    Reference,
    Choice("kind", {
        "nadir": Annotated[Nadir, Whole()],
        "inertial": Annotated[Inertial, Whole()],
        "sun": Annotated[SunPointing, Whole()],
        "target": Annotated[GroundTarget, Whole()],
    }),
]  # fmt: skip
FirstMode = Literal["detumble", "acquire", "safe", "nominal"]
ModesTable = Annotated[
    Part[ModeManager],
    Some(ModeManager, more={"first_mode": (FirstMode, "detumble"), "essential": (list[str], None)}, stand_in={}),
]


class ControlTable(Section):
    """The laws and references; without wheels only `detumble`, without anything the body is left alone."""

    detumble: DetumbleTable | None = None
    pointing: PointingTable | None = None
    allocation: Annotated[Part[Allocation], Some(Allocation, without=("wheels",))] | None = None
    dumping: Annotated[MomentumDumping, Whole()] | None = None
    slew: Annotated[Slew, Whole()] | None = None
    references: list[ReferenceTable] = Field(default_factory=list)
    safe: ReferenceTable | None = None

    def check(self) -> None:
        """Pointing is all or nothing."""
        for name in ("references", "safe", "slew"):
            if self.pointing is not None and not getattr(self, name):
                raise ValueError(f"{name} is missing: control.pointing needs it")
        for name in ("allocation", "dumping", "references", "safe", "slew"):
            if self.pointing is None and getattr(self, name):
                raise ValueError(f"pointing is missing: control.{name} needs it")


class Document(Section):
    """A scenario file."""

    mission: MissionTable
    orbit: OrbitTable
    environment: EnvironmentTable = Part(Environment, {}, {"density_factor": 1.0})
    onboard: OnboardTable = OnboardTable()
    body: BodyTable
    initial: InitialTable
    wheels: Annotated[Wheels, Whole()] | None = None
    magnetorquers: Annotated[Magnetorquers, Whole()] | None = None
    sensors: Annotated[SensorSuite, Whole()] = SensorSuite()
    estimator: Annotated[EstimatorConfig, Whole()]
    control: ControlTable = ControlTable()
    modes: ModesTable
