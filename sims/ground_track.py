"""Where the spacecraft was over the Earth, and from where a target can be seen."""

from __future__ import annotations

import math

import numpy as np

from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.environment.frames import geodetic

EARTH_RADIUS = 6371e3  # m, mean: a circle of visibility is a sketch
HALF_TURN = 180.0


def ground_track(r_I: Array, q_IE: Array) -> tuple[Array, Array]:
    """Geodetic latitude and longitude, deg, below `r_I` `(N, 3)`, m; `q_IE` `(N, 4)` turns Earth-fixed axes into I."""
    longitude, latitude, _ = geodetic(quaternion.rotate_back(q_IE, r_I))
    return np.degrees(latitude), np.degrees(longitude)


def visibility_circle(
    latitude_deg: float, longitude_deg: float, least_sine: float, radius: float, points: int = 181
) -> tuple[Array, Array]:
    """Where the ground track must be for an orbit of `radius`, m, to stand higher than `least_sine` over a point."""
    elevation = math.asin(least_sine)
    reach = math.acos(EARTH_RADIUS * math.cos(elevation) / radius) - elevation
    phi, bearing = math.radians(latitude_deg), np.linspace(0.0, 2.0 * np.pi, points)
    sine = math.sin(phi) * math.cos(reach) + math.cos(phi) * math.sin(reach) * np.cos(bearing)
    east = np.sin(bearing) * math.sin(reach) * math.cos(phi)
    longitude = longitude_deg + np.degrees(np.arctan2(east, math.cos(reach) - math.sin(phi) * sine))
    return np.degrees(np.arcsin(sine)), (longitude + HALF_TURN) % (2.0 * HALF_TURN) - HALF_TURN


def broken(latitude: Array, longitude: Array) -> tuple[Array, Array]:
    """The same line with a gap where it crosses a pole, or leaves the map at one side and comes back at the other."""
    jumps = np.flatnonzero(np.abs(np.diff(longitude)) > 0.5 * HALF_TURN) + 1
    return np.insert(latitude, jumps, np.nan), np.insert(longitude, jumps, np.nan)
