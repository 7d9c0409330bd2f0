"""Time from launching Python to the first result, with an empty kernel cache and with a filled one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from sims.bench.case import seconds
from sims.papers.table import Progress

PROGRAM = """
import attitude
x = attitude.State([0.0, 0.0, 0.0, 1.0], [0.7, -0.6, 0.5])
propagator = attitude.Propagator(attitude.RigidBody([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
propagator.{call}
"""
CALLS = {
    "step": "step(x, 0.2)",
    "step_with_jacobian": "step_with_jacobian(x, 0.2)",
    "run": "run(x, 0.2, 10)",
}


@dataclass(frozen=True)
class Plan:
    """Which calls, and how many launches with a warm cache."""

    names: tuple[str, ...]
    launches: int


FULL = Plan(tuple(CALLS), 3)
QUICK = Plan(("step",), 1)


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
    command = [sys.executable, "-P", "-c", PROGRAM.format(call=CALLS[name])]
    environment = {**os.environ, "ATTITUDE_CACHE_DIR": cache}
    return seconds(lambda: subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL))
