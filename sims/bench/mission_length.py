"""The closed loop over one orbit and over ten: its time, and the memory it takes beyond what was there before.

The rows that are kept are the whole of it: ten orbits with a tenth of the rows take what one orbit takes.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import TypeAlias

from attitude.spacecraft.config import GYRO
from attitude.spacecraft.frames import ROW_SIZE
from attitude.spacecraft.tick import Spacecraft
from sims.bench.closed_loop import Ours, three_wheels
from sims.papers.table import Progress
from sims.scenario import Scenario

TIMES = 10  # the long run over the short one
EVERY = 10  # ticks per kept row, 1 s
Cost: TypeAlias = tuple[float, int]  # s, bytes
ROW_BYTES = 8 * ROW_SIZE


@dataclass(frozen=True)
class Plan:
    """Orbits of the short run, and how often each run is repeated."""

    orbits: float
    rounds: int


FULL = Plan(1.0, 5)
QUICK = Plan(0.5, 1)  # shorter runs would not have drawn all the random numbers that a run holds at once


@dataclass(frozen=True)
class Length:
    """A run of `ticks` ticks that kept `rows` rows: processor time, s, and the most memory it held, bytes."""

    ticks: int
    rows: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class MissionLength:
    """Short, long, and long with as few rows as short.

    `exponent` p of `seconds ~ ticks^p`; `row_bytes` what each further row takes, `row_size` what is in it;
    `equal_rows_growth` of the memory from short to long with equal rows, relative.
    """

    lengths: list[Length]
    exponent: float
    row_bytes: float
    row_size: int
    equal_rows_growth: float


def mission_length(plan: Plan, progress: Progress) -> MissionLength:
    """Measure the three in turns; a turn of the short run is as many crafts as make it as long as the others."""
    scenario = three_wheels(GYRO, duration_orbits=TIMES * plan.orbits + 1.0)
    ticks = round(plan.orbits * scenario.orbit_period_s / scenario.tick_s)
    runs = [(ticks, EVERY, TIMES), (TIMES * ticks, EVERY, 1), (TIMES * ticks, TIMES * EVERY, 1)]
    costs: list[list[Cost]] = [[] for _ in runs]
    for count in range(plan.rounds):
        progress("one orbit against ten", count / plan.rounds)
        for run, found in zip(runs, costs, strict=True):
            found.append(cost(scenario, *run))
    return compared([length(ticks, every, found) for (ticks, every, _), found in zip(runs, costs, strict=True)])


def cost(scenario: Scenario, ticks: int, every: int, crafts: int) -> Cost:
    """Mean time of a run after settling, in so many crafts one after the other, and the most memory one held."""
    spent = [_run_cost(Ours(scenario).craft, ticks, every) for _ in range(crafts)]
    return sum(time for time, _ in spent) / crafts, max(size for _, size in spent)


def _run_cost(craft: Spacecraft, ticks: int, every: int) -> Cost:
    """Processor time, as runs this long find no quiet moment; memory of arrays, as kernels allocate nothing."""
    tracemalloc.start()
    try:
        begin = process_time()
        craft.run(ticks, every)
        return process_time() - begin, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def length(ticks: int, every: int, costs: Sequence[Cost]) -> Length:
    """The fastest of some turns, and the most memory of all."""
    return Length(ticks, -(-ticks // every), min(time for time, _ in costs), max(size for _, size in costs))


def compared(lengths: Sequence[Length]) -> MissionLength:
    """What the short run, the long one and the long one with few rows say together."""
    short, long, sparse = lengths
    return MissionLength(
        lengths=[short, long, sparse],
        exponent=math.log(long.seconds / short.seconds) / math.log(long.ticks / short.ticks),
        row_bytes=(long.bytes - short.bytes) / (long.rows - short.rows),
        row_size=ROW_BYTES,
        equal_rows_growth=sparse.bytes / short.bytes - 1.0,
    )
