"""Basilisk's closed attitude loop on three wheels, without an estimator, set up as its experts would for speed.

A 3U CubeSat on a circular orbit about a point Earth. One task of 0.1 s holds everything, in the order in which nothing
waits a tick; the plant moves by Basilisk's default integrator, RK4, and nothing is logged:

| module                       | work of a tick                                                              |
|------------------------------|-----------------------------------------------------------------------------|
| `reactionWheelStateEffector` | takes the command; three balanced wheels without friction on the body axes   |
| `spacecraft`                 | hub, orbit and wheels over the last 0.1 s under that command                 |
| `simpleNav`                  | position, velocity, attitude and rate, its noise at the default of zero      |
| `hillPoint`                  | reference: x up, z along the orbit's normal, y completes them                |
| `attTrackingError`           | attitude and rate from the reference                                         |
| `mrpFeedback`                | torque, with feed-forward of the reference and the wheels' momentum          |
| `rwMotorTorque`              | torque of each wheel                                                         |

Without `nadir` there is no `hillPoint`: the reference stays where it is at the start, in a message written once.
`prepare` does all that need not be timed and `advance` is the work; `missing_loop` says why there is none. Basilisk is
loaded only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from attitude.core import quaternion
from attitude.core.jit import Array
from sims.bench.case import seconds
from sims.bench.peers import Motion, motion

TICK = 100_000_000  # ns: Basilisk counts time in whole nanoseconds
NANO = 1e-9  # s
TASK = "task"

MASS = 4.0  # kg
MOMENTS = np.array([0.0067, 0.0333, 0.0333])  # kg m², wheels included; the long axis is x
RADIUS, INCLINATION = 6_878_137.0, np.radians(51.6)  # m, rad
OFFSET = np.radians(30.0) * np.array([1.0, -2.0, 2.0]) / 3.0  # rad, from the reference at the start, in body axes

WHEEL_INERTIA, WHEEL_TORQUE, WHEEL_RPM = 2e-5, 2e-3, 6500.0  # kg m², N m, rev/min: both limits far from reached
BANDWIDTH, DAMPING = 0.1, 0.7  # rad/s, -: about the axes of the largest moment
STIFFNESS = 4.0 * BANDWIDTH**2 * MOMENTS.max()  # N m per unit of σ, which is a quarter of a small angle
RATE_GAIN = 2.0 * DAMPING * BANDWIDTH * MOMENTS.max()  # N m s
NO_INTEGRAL = -1.0  # how `mrpFeedback` is told to leave its integral out


class LoopState(NamedTuple):
    """`time`, s; `position`, m, and `velocity`, m/s, inertial; the true motion; `wheel_speeds`, rad/s; (3,) each."""

    time: float
    position: Array
    velocity: Array
    motion: Motion
    wheel_speeds: Array


# ------------------------------------------------------------------ the run
class Loop:
    """A closed loop since time 0; every call goes on from where the last one ended."""

    def __init__(self, nadir: bool) -> None:
        from Basilisk.utilities import SimulationBaseClass

        self._nadir = nadir
        self._ticks = 0
        self._plant = _Plant()
        self._flight = _Flight(self._plant, nadir)
        self._simulation = SimulationBaseClass.SimBaseClass()
        self._simulation.CreateNewProcess("process").addTask(self._simulation.CreateNewTask(TASK, TICK))
        self._start([*self._plant.modules, *self._flight.modules])

    def _start(self, modules: Sequence[Any]) -> None:
        for module in modules:
            module.ModelTag = type(module).__name__
            self._simulation.AddModelToTask(TASK, module)
        self._simulation.InitializeSimulation()
        self._execute()  # the task's call at time 0, which moves nothing and gives the first command

    def _execute(self) -> None:
        self._simulation.ConfigureStopTime(self._ticks * TICK)
        self._simulation.ExecuteSimulation()

    def advance(self, ticks: int) -> None:
        """Go on by `ticks` of 0.1 s."""
        if ticks < 1 or ticks != int(ticks):
            raise ValueError(f"ticks must be a whole number from 1 on, got {ticks}")
        self._ticks += int(ticks)
        self._execute()

    def state(self) -> LoopState:
        """The truth, not what the flight side sees; a loop that diverged is a `PeerError`."""
        from sims.bench.peer_basilisk import quaternion_from_mrp

        true = self._plant.craft.scStateOutMsg.read()
        speeds = self._plant.wheels.rwSpeedOutMsg.read().wheelSpeeds[:3]
        turn = motion(quaternion_from_mrp(np.array(true.sigma_BN)), np.array(true.omega_BN_B))
        time = self._simulation.TotalSim.CurrentNanos * NANO
        return LoopState(time, np.array(true.r_CN_N), np.array(true.v_CN_N), turn, np.array(speeds))

    def pointing_error(self) -> float:
        """Angle of the true attitude from the reference that the true orbit asks for, rad."""
        now = self.state()
        reference = hill_attitude(now.position, now.velocity) if self._nadir else self._plant.reference
        return float(quaternion.angle_between(now.motion.q, reference))


def prepare(nadir: bool = True) -> Loop:
    """A loop at rest in inertial axes and 30° from its reference, ready to be timed."""
    return Loop(nadir)


def microseconds_per_tick(ticks: int = 2000, repeats: int = 20, nadir: bool = True) -> float | None:
    """Least mean over `ticks` of `repeats` in a row; None without Basilisk."""
    if missing_loop():
        return None
    loop = prepare(nadir)
    return min(seconds(lambda: loop.advance(ticks)) for _ in range(repeats)) / ticks * 1e6


@cache
def missing_loop() -> dict[str, str]:
    """Package -> why it was left out; empty where the loop can be had."""
    try:
        prepare()
    except Exception as error:  # a broken package may raise anything
        return {"bsk": f"{type(error).__name__}: {error}"}
    return {}


# ------------------------------------------------------------------ plant and flight side
class _Plant:
    """Hub, orbit and wheels; keeps alive what Basilisk only points at."""

    def __init__(self) -> None:
        from Basilisk.simulation import reactionWheelStateEffector, spacecraft

        self.craft = spacecraft.Spacecraft()
        self.wheels = reactionWheelStateEffector.ReactionWheelStateEffector()
        self.modules = [self.wheels, self.craft]
        self._gravity = _gravity(self.craft)
        self._factory = _three_wheels(self.wheels, self.craft)
        self.wheel_configuration = self._factory.getConfigMessage()
        position, velocity = circular_orbit(self._gravity.gravBodies["earth"].mu)
        self.reference = hill_attitude(position, velocity)  # at the start
        _set_hub(self.craft.hub, position, velocity, quaternion.product(self.reference, quaternion.exp(OFFSET)))


def _gravity(craft: Any) -> Any:
    from Basilisk.utilities import simIncludeGravBody

    factory = simIncludeGravBody.gravBodyFactory()
    factory.createEarth().isCentralBody = True
    factory.addBodiesTo(craft)
    return factory


def _three_wheels(wheels: Any, craft: Any) -> Any:
    from Basilisk.architecture import messaging
    from Basilisk.utilities import simIncludeRW

    factory = simIncludeRW.rwFactory()
    limits = {"Omega_max": WHEEL_RPM, "u_max": WHEEL_TORQUE}
    for axis in np.eye(3):
        factory.create("custom", axis.tolist(), Js=WHEEL_INERTIA, RWModel=messaging.BalancedWheels, **limits)
    factory.addToSpacecraft("wheels", wheels, craft)
    return factory


def _set_hub(hub: Any, position: Array, velocity: Array, q: Array) -> None:
    from sims.bench.peer_basilisk import mrp_from_quaternion

    hub.mHub = MASS
    hub.r_BcB_B = _column(np.zeros(3))
    hub.IHubPntBc_B = np.diag(MOMENTS).tolist()
    hub.r_CN_NInit, hub.v_CN_NInit = _column(position), _column(velocity)
    hub.sigma_BNInit, hub.omega_BN_BInit = _column(mrp_from_quaternion(q)), _column(np.zeros(3))


def _column(vector: Array) -> list[list[float]]:
    return [[x] for x in vector.tolist()]


class _Flight:
    """Navigation, guidance and control, wired to the plant; keeps alive what Basilisk only points at."""

    def __init__(self, plant: _Plant, nadir: bool) -> None:
        from Basilisk.fswAlgorithms import attTrackingError, mrpFeedback, rwMotorTorque
        from Basilisk.simulation import simpleNav

        nav, error = simpleNav.SimpleNav(), attTrackingError.attTrackingError()
        control, torque = mrpFeedback.mrpFeedback(), rwMotorTorque.rwMotorTorque()
        guidance, self._reference = _nadir(nav) if nadir else ([], _held(plant.reference))
        self.modules = [nav, *guidance, error, control, torque]
        nav.scStateInMsg.subscribeTo(plant.craft.scStateOutMsg)
        error.attNavInMsg.subscribeTo(nav.attOutMsg)
        error.attRefInMsg.subscribeTo(self._reference)
        self._vehicle = _set_control(control, plant)
        control.guidInMsg.subscribeTo(error.attGuidOutMsg)
        torque.controlAxes_B = np.eye(3).ravel().tolist()
        torque.rwParamsInMsg.subscribeTo(plant.wheel_configuration)
        torque.vehControlInMsg.subscribeTo(control.cmdTorqueOutMsg)
        plant.wheels.rwMotorCmdInMsg.subscribeTo(torque.rwMotorTorqueOutMsg)


def _nadir(nav: Any) -> tuple[list[Any], Any]:
    """The module of the guidance, and its message with the reference."""
    from Basilisk.fswAlgorithms import hillPoint

    hill = hillPoint.hillPoint()
    hill.transNavInMsg.subscribeTo(nav.transOutMsg)
    return [hill], hill.attRefOutMsg


def _held(q: Array) -> Any:
    """A message with a reference at rest."""
    from Basilisk.architecture import messaging

    from sims.bench.peer_basilisk import mrp_from_quaternion

    return messaging.AttRefMsg().write(messaging.AttRefMsgPayload(sigma_RN=mrp_from_quaternion(q).tolist()))


def _set_control(control: Any, plant: _Plant) -> Any:
    """The message with the inertia, to be kept."""
    from Basilisk.architecture import messaging

    control.K, control.P, control.Ki = STIFFNESS, RATE_GAIN, NO_INTEGRAL
    payload = messaging.VehicleConfigMsgPayload(ISCPntB_B=np.diag(MOMENTS).ravel().tolist())
    vehicle = messaging.VehicleConfigMsg().write(payload)
    control.vehConfigInMsg.subscribeTo(vehicle)
    control.rwParamsInMsg.subscribeTo(plant.wheel_configuration)
    control.rwSpeedsInMsg.subscribeTo(plant.wheels.rwSpeedOutMsg)
    return vehicle


# ------------------------------------------------------------------ the orbit
def circular_orbit(gm: float) -> tuple[Array, Array]:
    """Position, m, at the ascending node on the inertial x axis, and velocity, m/s."""
    direction = np.array([0.0, np.cos(INCLINATION), np.sin(INCLINATION)])
    return np.array([RADIUS, 0.0, 0.0]), np.sqrt(gm / RADIUS) * direction


def hill_attitude(position: Array, velocity: Array) -> Array:
    """Quaternion `(4,)` of the axes up, forward, normal of the orbit to inertial."""
    normal = np.cross(position, velocity)
    up, normal = position / np.linalg.norm(position), normal / np.linalg.norm(normal)
    return np.asarray(quaternion.from_matrix(np.stack([up, np.cross(normal, up), normal], axis=1)))
