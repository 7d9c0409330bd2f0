"""The environments of a scenario, the plant's and the on-board one, computed once for all scenarios that share them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.control.guidance import GroundTarget
from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.environment.atmosphere import ExponentialAtmosphere
from attitude.environment.epoch import Epoch
from attitude.environment.grid import COLUMNS, Environment, EnvironmentGrid
from attitude.environment.orbit import MeanElements, Orbit, mean_motion
from sims.scenario_errors import ScenarioError, at
from sims.scenario_models import Document, TleTable

MARGIN = 10.0  # s, of the environment beyond the last tick
CLOSE = 1.0  # s, between the instants at which the top of a pass is looked for


class _Shifted(Orbit):
    """An orbit whose satellite is `seconds` ahead of the given one on the same track."""

    def __init__(self, orbit: Orbit, seconds: float) -> None:
        super().__init__(orbit.satellite)
        self._seconds = seconds

    def teme(self, epoch: Epoch, t: ArrayLike) -> tuple[Array, Array]:
        """Position and velocity of the given orbit, later."""
        return super().teme(epoch, np.asarray(t, dtype=np.float64) + self._seconds)


def orbit_of(document: Document) -> Orbit:
    """What SGP4 can propagate."""
    with at("orbit", ("altitude_km", "mean_motion_rev_per_day"), orbit="orbit"):
        if isinstance(document.orbit, TleTable):
            return Orbit.from_tle(*document.orbit.tle)
        return Orbit.from_mean_elements(_elements(document))


def _elements(document: Document) -> MeanElements:
    assert not isinstance(document.orbit, TleTable)
    height, given = document.orbit.more["altitude_km"], document.orbit.given
    if (height is None) == ("mean_motion_rev_per_day" not in given):
        raise ValueError("altitude_km or mean_motion_rev_per_day must be given, and not both")
    motion = {} if height is None else {"mean_motion_rev_per_day": mean_motion(height)}
    return document.orbit.build(epoch=document.mission.epoch, **motion)


@dataclass(frozen=True)
class Surroundings:
    """What an environment is computed from; equal ones are computed once."""

    tle: tuple[str, ...]
    elements: MeanElements | None
    epoch: datetime | str
    settings: tuple[tuple[str, float], ...]
    density_factor: float
    ahead_s: float
    duration_s: float

    def orbit(self) -> Orbit:
        """The orbit, shifted along its track."""
        plain = Orbit.from_mean_elements(self.elements) if self.elements else Orbit.from_tle(*self.tle)
        return _Shifted(plain, self.ahead_s) if self.ahead_s else plain


@lru_cache(maxsize=4)
def _grid(around: Surroundings) -> EnvironmentGrid:
    atmosphere = ExponentialAtmosphere(factor=around.density_factor)
    settings: dict[str, Any] = dict(around.settings)
    environment = Environment(orbit=around.orbit(), epoch=around.epoch, atmosphere=atmosphere, **settings)
    return environment.grid(around.duration_s)


def grids(document: Document, seconds: float) -> tuple[EnvironmentGrid, EnvironmentGrid]:
    """Environment of the plant and of the flight software, from the epoch to beyond `seconds`."""
    offset, table, orbit = document.onboard.ephemeris_offset_s, document.environment, document.orbit
    real = Surroundings(
        tle=tuple(orbit.tle) if isinstance(orbit, TleTable) else (),
        elements=None if isinstance(orbit, TleTable) else _elements(document),
        epoch=document.mission.epoch,
        settings=tuple(sorted(table.given.items())),
        density_factor=table.more["density_factor"],
        ahead_s=0.0,
        duration_s=seconds + abs(offset) + MARGIN,
    )
    with at("environment", date="mission.epoch: date", orbit="orbit", factor="environment.density_factor"):
        return _grid(real), _grid(replace(real, ahead_s=offset))


# ------------------------------------------------------------------ ground targets
def greatest_elevation_deg(target: GroundTarget, grid: EnvironmentGrid, seconds: float) -> float:
    """How high the spacecraft rises over the target's horizon from the epoch until `seconds`, deg."""
    step = float(grid.t[1] - grid.t[0])
    coarse = np.minimum(step * np.arange(math.ceil(seconds / step) + 1), seconds)
    best = float(coarse[np.argmax(_elevation(target, grid, coarse))])
    fine = np.arange(max(best - step, 0.0), min(best + step, seconds), CLOSE)
    return float(_elevation(target, grid, np.append(fine, best)).max())


def _elevation(target: GroundTarget, grid: EnvironmentGrid, t: Array) -> Array:
    sample = grid.at(t)
    return target.elevation_deg(quaternion.rotate_back(sample.q_IE, sample.r_I))


def check_targets(document: Document, grid: EnvironmentGrid, seconds: float) -> None:
    """A ground target must be seen once at least."""
    references = [(f"control.references[{i}]", reference) for i, reference in enumerate(document.control.references)]
    for path, target in [*references, ("control.safe", document.control.safe)]:
        if isinstance(target, GroundTarget):
            greatest = greatest_elevation_deg(target, grid, seconds)
            if greatest < target.min_elevation_deg:
                raise ScenarioError(
                    f"{path} must see the spacecraft above min_elevation_deg = {target.min_elevation_deg:g} at some "
                    f"time of the mission, got at most {greatest:.1f} degrees of elevation at latitude_deg = "
                    f"{target.latitude_deg:g}, longitude_deg = {target.longitude_deg:g}; leave it out or fly longer"
                )


def table_bytes(document: Document, seconds: float) -> float:
    """Memory of the environment's tables."""
    step = document.environment.build(orbit=Orbit(None), epoch=document.mission.epoch).step_s
    return 8.0 * COLUMNS * seconds / step * (1.0 if document.onboard.ephemeris_offset_s == 0.0 else 2.0)
