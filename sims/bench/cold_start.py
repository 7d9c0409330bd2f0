"""Time from launching Python to the first result, with an empty kernel cache and with a filled one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from sims.bench.case import seconds
from sims.papers.table import Progress

PROPAGATOR = """
import attitude
x = attitude.State([0.0, 0.0, 0.0, 1.0], [0.7, -0.6, 0.5])
propagator = attitude.Propagator(attitude.RigidBody([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
propagator.{call}
"""
SPACECRAFT = """
from attitude.spacecraft.flight import Flight
from attitude.spacecraft.plant import Plant
from attitude.spacecraft.tick import Spacecraft
from sims.scenario import load
mission = load("default")
Spacecraft(Plant(mission.plant_config(), mission.seed), Flight(mission.flight_config())).run(1)
"""
MISSION = "default mission"
PROGRAMS = {
    "step": PROPAGATOR.format(call="step(x, 0.2)"),
    "step_with_jacobian": PROPAGATOR.format(call="step_with_jacobian(x, 0.2)"),
    "run": PROPAGATOR.format(call="run(x, 0.2, 10)"),
    MISSION: SPACECRAFT,
}


@dataclass(frozen=True)
class Plan:
    """Which calls, and how many launches with a warm cache."""

    names: tuple[str, ...]
    launches: int


FULL = Plan(tuple(PROGRAMS), 3)
QUICK = Plan(("step",), 1)  # the mission takes about a minute to compile


@dataclass(frozen=True)
class FirstCall:
    """Seconds until the process that makes the call `name` has ended, interpreter and import included."""

    name: str
    empty_cache_seconds: float
    warm_cache_seconds: float


def first_calls(plan: Plan, progress: Progress) -> list[FirstCall]:
    """One process with a new cache folder for each call, then a few with what it left; the fastest counts."""
    rows = []
    for index, name in enumerate(plan.names):
        progress(f"first {name}", index / len(plan.names))
        with TemporaryDirectory(prefix="attitude-bench-") as cache:
            empty = _launch(name, cache)
            warm = min(_launch(name, cache) for _ in range(plan.launches))
        rows.append(FirstCall(name, empty, warm))
    return rows


def _launch(name: str, cache: str) -> float:
    command = [sys.executable, "-P", "-c", PROGRAMS[name]]
    environment = {**os.environ, "ATTITUDE_CACHE_DIR": cache}
    return seconds(lambda: subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL))
