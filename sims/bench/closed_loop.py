"""Time per tick of our closed loop with its estimator, against Basilisk's without one, in turns.

Both turn a 3U CubeSat with three wheels without friction to nadir, at 0.1 s a tick, and keep no rows. Ours is the
shipped scenario `star-tracker` on such wheels, with the sun sensors of the default:

| part      | Basilisk's loop (see `peer_basilisk_loop`) | ours                                                      |
|-----------|--------------------------------------------|-----------------------------------------------------------|
| plant     | hub, orbit and wheels, RK4                 | hub and wheels, variational                               |
| around it | gravity                                    | orbit, field, Sun and air from a table; four disturbances |
| knowledge | the truth                                  | eight sensors with errors, a filter that watches them     |
| control   | feedback on wheels                         | modes, slews, feedback on wheels, dumping by torquers     |

The default mission as shipped, from its tumble on, is a row of its own. Every turn begins with a new craft that has
settled before the clock starts, so that all turns do the same work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from attitude.core import quaternion
from attitude.spacecraft.config import DYNAMICS, GYRO
from attitude.spacecraft.flight import Flight
from attitude.spacecraft.frames import CONTROL, TRUTH
from attitude.spacecraft.plant import Plant
from attitude.spacecraft.tick import Spacecraft
from sims.bench import peer_basilisk_loop as basilisk
from sims.bench.case import interleaved, seconds
from sims.papers.table import Progress
from sims.scenario import Scenario, load

SCENARIO, MISSION = "star-tracker", "default"
THREE_WHEELS: dict[str, Any] = {
    "wheels.axes": np.eye(3),
    "wheels.viscous_Nms": 0.0,
    "wheels.coulomb_Nm": 0.0,
    "initial.wheel_speed_rpm": 0.0,
    "control.allocation": None,  # three wheels have no null space to balance in
}
SETTLE = 5000  # ticks: the slew is over, the error small, and the Sun in view for some 10 minutes more
BASILISK_SETTLE = 1000  # ticks: ten time constants of its loop
TRIAL = 200  # ticks of a first turn that tells how long the others may be, and how well the loop points
RK4, RK2 = "Basilisk RK4", "Basilisk RK2"
NO_FILTER = "none"


@dataclass(frozen=True)
class Plan:
    """How long each loop is timed in one turn, how many turns it gets, and how often the mission is flown."""

    turn_seconds: float
    rounds: int
    missions: int


FULL = Plan(0.02, 150, 10)
QUICK = Plan(0.01, 12, 1)


class Run(Protocol):
    """A closed loop that has settled."""

    def advance(self, ticks: int) -> None:
        """Go on by `ticks` of 0.1 s: the work that is timed."""
        ...

    def pointing_error(self) -> float:
        """Angle of the true attitude from the reference, rad."""
        ...


class Contender(NamedTuple):
    """A loop under its name; `prepare` does what is not timed."""

    name: str
    estimator: str
    prepare: Callable[[], Run]


@dataclass(frozen=True)
class LoopRow:
    """One loop; `basilisk_over` is the time of Basilisk's RK4 over this one's; the error is true, and of one tick."""

    name: str
    estimator: str
    seconds_per_tick: float
    pointing_error_deg: float
    basilisk_over: float | None = None


@dataclass(frozen=True)
class ClosedLoop:
    """The table; `missing` says why Basilisk is not in it."""

    rows: list[LoopRow]
    missing: dict[str, str]

    def ratio(self, estimator: str) -> float | None:
        """Of Basilisk's RK4 to our compiled loop with the given estimator on three wheels."""
        return next(row.basilisk_over for row in self.rows if row.name == compiled_name(estimator))


# ------------------------------------------------------------------ ours
class Ours:
    """A scenario in the compiled loop, or tick by tick from Python."""

    def __init__(self, scenario: Scenario, settle: int = SETTLE, compiled: bool = True) -> None:
        self.craft = Spacecraft(Plant(scenario.plant_config(), scenario.seed), Flight(scenario.flight_config()))
        self._compiled = compiled
        self.craft.run(settle, every=max(settle, 1))

    def advance(self, ticks: int) -> None:
        """Go on; of a compiled run one row is kept."""
        if self._compiled:
            self.craft.run(ticks, every=ticks)
        else:
            for _ in range(ticks):
                self.craft.tick()

    def pointing_error(self) -> float:
        """At the beginning of the last tick, rad."""
        flight = self.craft.flight
        assert isinstance(flight, Flight)
        q, wanted = self.craft.plant.truth[TRUTH["q_IB"].part], flight.control[CONTROL["reference_q_IB"].part]
        return float(quaternion.angle_between(q, wanted))


def three_wheels(estimator: str, **changes: Any) -> Scenario:
    """The scenario that is compared with Basilisk's; `changes` of the mission's fields."""
    mission = {f"mission.{name}": value for name, value in changes.items()}
    suns = {"sensors.sun_sensors": load(MISSION).data["sensors"]["sun_sensors"]}
    return load(SCENARIO).replaced({**THREE_WHEELS, **suns, "estimator.kind": estimator, **mission})


def compiled_name(estimator: str) -> str:
    """Name of our compiled loop's row."""
    return f"{estimator} filter, compiled"


def ours() -> list[Contender]:
    """Both filters compiled, and the one that is shipped from Python."""
    gyro, dynamics = three_wheels(GYRO), three_wheels(DYNAMICS)
    return [
        Contender(compiled_name(GYRO), GYRO, lambda: Ours(gyro)),
        Contender(compiled_name(DYNAMICS), DYNAMICS, lambda: Ours(dynamics)),
        Contender(f"{DYNAMICS} filter, Python tick", DYNAMICS, lambda: Ours(dynamics, compiled=False)),
    ]


# ------------------------------------------------------------------ Basilisk
class Rk2Loop(basilisk.Loop):
    """Basilisk's loop with half as many evaluations of the motion."""

    def _start(self, modules: Sequence[Any]) -> None:
        from Basilisk.simulation import svIntegrators

        craft = next(module for module in modules if hasattr(module, "setIntegrator"))
        self._integrator = svIntegrators.svIntegratorRK2(craft)
        craft.setIntegrator(self._integrator)
        super()._start(modules)


def peers() -> list[Contender]:
    """Basilisk's loop with its default integrator and with a cheaper one; empty where it cannot be had."""
    if basilisk.missing_loop():
        return []
    return [_settled(RK4, basilisk.prepare()), _settled(RK2, Rk2Loop(nadir=True))]


def _settled(name: str, loop: basilisk.Loop) -> Contender:
    """Its turns go on where the last one ended: every tick is the same work."""
    loop.advance(BASILISK_SETTLE)
    return Contender(name, NO_FILTER, lambda: loop)


# ------------------------------------------------------------------ the table
def closed_loop(plan: Plan, progress: Progress, others: Sequence[Contender] | None = None) -> ClosedLoop:
    """Ours, the default mission, then Basilisk's (if it can be had, unless given)."""
    progress("set up the closed loops", 0.0)
    mine, theirs = ours(), peers() if others is None else others
    rows = turns([*mine, *theirs], plan, lambda done: progress("time per tick", 0.1 + 0.6 * done))
    mission = fly_mission(plan.missions, lambda done: progress("the default mission", 0.7 + 0.3 * done))
    return ClosedLoop(with_ratios([*rows[: len(mine)], mission, *rows[len(mine) :]]), basilisk.missing_loop())


def turns(contenders: Sequence[Contender], plan: Plan, report: Callable[[float], None]) -> list[LoopRow]:
    """All in turn, each for as long as the others."""
    trials = [_trial(one) for one in contenders]
    jobs = [_timing(one, cost, plan.turn_seconds) for one, (cost, _) in zip(contenders, trials, strict=True)]
    times = interleaved(jobs, plan.rounds, report)
    return [
        LoopRow(one.name, one.estimator, time, math.degrees(error))
        for one, time, (_, error) in zip(contenders, times, trials, strict=True)
    ]


def _trial(one: Contender) -> tuple[float, float]:
    """Seconds per tick, and the pointing error, rad, after a first turn with whatever happens only once."""
    run = one.prepare()
    run.advance(TRIAL)
    return seconds(lambda: run.advance(TRIAL)) / TRIAL, run.pointing_error()


def _timing(one: Contender, cost: float, turn_seconds: float) -> Callable[[], float]:
    """A job as long as the others', so that quiet moments of a shared machine are no likelier for a fast loop."""
    ticks = max(TRIAL, int(turn_seconds / cost))

    def turn() -> float:
        run = one.prepare()
        return seconds(lambda: run.advance(ticks)) / ticks

    return turn


def fly_mission(flights: int, report: Callable[[float], None]) -> LoopRow:
    """The default scenario from its first tick to its last, with its rows; the fastest of some flights."""
    scenario, flown = load(MISSION), []
    for count in range(flights):
        report(count / flights)
        flown.append(_flight(scenario))
    time, error = min(flown)
    kind = scenario.document.estimator.kind
    return LoopRow(f"{MISSION} mission, {scenario.ticks} ticks", kind, time / scenario.ticks, math.degrees(error))


def _flight(scenario: Scenario) -> tuple[float, float]:
    """Seconds of the whole, and the pointing error at its end, rad."""
    run = Ours(scenario, settle=0)
    return seconds(lambda: run.craft.run(scenario.ticks, scenario.log_every)), run.pointing_error()


def with_ratios(rows: Sequence[LoopRow]) -> list[LoopRow]:
    """The same rows compared with Basilisk's RK4, if it is among them."""
    theirs = next((row.seconds_per_tick for row in rows if row.name == RK4), None)
    if theirs is None:
        return list(rows)
    return [replace(row, basilisk_over=theirs / row.seconds_per_tick) for row in rows]
