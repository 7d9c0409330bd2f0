"""The Earth's main magnetic field, IGRF, through ppigrf and the coefficients it brings along."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array
from attitude.environment.epoch import Epoch

CHUNK = 4096  # points per call of ppigrf, so that its memory does not grow with the scenario
POLE = 1e-6  # deg: ppigrf divides by the sine of the colatitude; this far off, the field differs by 1e-3 nT
NANOTESLA = 1e-9


def magnetic_field(r_E: ArrayLike, epoch: Epoch, t: ArrayLike) -> Array:
    """IGRF field in Earth-fixed axes, T, `(N, 3)`, at `r_E` `(N, 3)`, m, `t` `(N,)` seconds after `epoch`."""
    r_E = checks.array(r_E, "r_E", (None, 3))
    t = checks.array(t, "t", (len(r_E),))
    if not t.size:
        return np.zeros((0, 3))
    dates = _dates(epoch, float(t.min()), float(t.max()))
    knots = np.array([(date - epoch.calendar()).total_seconds() for date in dates])
    parts = [_field(r_E[i : i + CHUNK], dates, knots, t[i : i + CHUNK]) for i in range(0, t.size, CHUNK)]
    return np.concatenate(parts)


def _coefficient_dates() -> Any:
    from ppigrf.ppigrf import read_shc  # here, because it loads pandas

    return [date.to_pydatetime() for date in read_shc()[0].index]


def _dates(epoch: Epoch, first: float, last: float) -> list[datetime]:
    """First and last date with those between at which the rate of the coefficients changes."""
    models = _coefficient_dates()
    ends = [epoch.calendar(first), epoch.calendar(last)]
    for end in ends:
        if not models[0] <= end <= models[-1]:
            raise ValueError(
                f"date must lie in the range of the magnetic field model IGRF, {models[0].date()} to "
                f"{models[-1].date()}, got {end.isoformat()}"
            )
    return sorted({*ends, *(date for date in models if ends[0] < date < ends[1])})


def _field(r_E: Array, dates: list[datetime], knots: Array, t: Array) -> Array:
    """Field at many points, each at its own time: IGRF is linear in time between `dates`, `knots` in seconds."""
    from ppigrf import igrf_gc

    radius = np.linalg.norm(r_E, axis=1)
    colatitude = np.degrees(np.arctan2(np.hypot(r_E[:, 0], r_E[:, 1]), r_E[:, 2])).clip(POLE, 180.0 - POLE)
    longitude = np.degrees(np.arctan2(r_E[:, 1], r_E[:, 0]))
    components = np.array(igrf_gc(1e-3 * radius, colatitude, longitude, dates))
    now = _linear_in_time(components, knots, t)
    return NANOTESLA * _cartesian(np.radians(colatitude), np.radians(longitude), *now)


def _linear_in_time(values: Array, knots: Array, t: Array) -> Array:
    """`values` `(3, dates, N)` at the knots, taken at `t` `(N,)`; result `(3, N)`."""
    if knots.size == 1:
        return np.asarray(values[:, 0])
    k = np.searchsorted(knots, t, side="right").clip(1, knots.size - 1)
    weight = (t - knots[k - 1]) / (knots[k] - knots[k - 1])
    column = np.arange(t.size)
    return np.asarray((1.0 - weight) * values[:, k - 1, column] + weight * values[:, k, column])


def _cartesian(theta: Array, phi: Array, up: Array, south: Array, east: Array) -> Array:
    """Spherical components to Cartesian, `(N, 3)`."""
    outward = np.sin(theta) * up + np.cos(theta) * south
    return np.stack(
        [
            np.cos(phi) * outward - np.sin(phi) * east,
            np.sin(phi) * outward + np.cos(phi) * east,
            np.cos(theta) * up - np.sin(theta) * south,
        ],
        axis=1,
    )
