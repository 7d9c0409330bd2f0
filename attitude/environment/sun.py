"""The Sun: its position from ERFA's ephemeris, and how much of its disc the Earth leaves visible."""

from __future__ import annotations

import math

import erfa
import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array, kernel
from attitude.environment.epoch import Epoch

AU = 149597870700.0  # m (IAU 2012)
SUN_RADIUS = 695700e3  # m (IAU 2015)
EARTH_RADIUS = 6378137.0  # m: the shadow is that of a sphere; the atmosphere bends no light
SOLAR_CONSTANT = 1361.0  # W/m² at 1 AU (IAU 2015)
LIGHT_SPEED = 299792458.0  # m/s
SOLAR_PRESSURE = SOLAR_CONSTANT / LIGHT_SPEED  # N/m² at 1 AU


def sun_position(epoch: Epoch, t: ArrayLike) -> Array:
    """Sun relative to the Earth's centre in inertial axes, m, `(N, 3)`.

    The geometric position at the instant: the direction in which it is seen is 20 arcsec behind (light time).
    """
    heliocentric, _ = erfa.epv00(*epoch.tt(t))
    return np.asarray(-AU * heliocentric["p"])


@kernel
def sunlight_kernel(x: float, y: float, z: float, sx: float, sy: float, sz: float, distance: float) -> float:
    """Visible fraction of the solar disc, 0 to 1, from the position `(x, y, z)`, m, relative to the Earth's centre.

    `(sx, sy, sz)` is the unit vector to the Sun and `distance`, m, how far it is, both from the spacecraft. Two
    overlapping discs, which gives a conical umbra and penumbra (Montenbruck & Gill 2000, section 3.4.2).
    """
    r = math.sqrt(x * x + y * y + z * z)
    if r <= EARTH_RADIUS:
        return 1.0 if x * sx + y * sy + z * sz > 0.0 else 0.0
    u, v, w = y * sz - z * sy, z * sx - x * sz, x * sy - y * sx
    apart = math.atan2(math.sqrt(u * u + v * v + w * w), -(x * sx + y * sy + z * sz))
    sun, earth = math.asin(SUN_RADIUS / distance), math.asin(EARTH_RADIUS / r)
    if apart >= sun + earth:
        return 1.0
    if apart <= earth - sun:
        return 0.0
    if apart <= sun - earth:  # the Earth in front of the Sun without covering it
        return 1.0 - (earth / sun) ** 2
    near = 0.5 * (apart + (sun * sun - earth * earth) / apart)
    half = math.sqrt(max(sun * sun - near * near, 0.0))
    covered = (
        sun * sun * math.acos(min(1.0, max(-1.0, near / sun)))
        + earth * earth * math.acos(min(1.0, max(-1.0, (apart - near) / earth)))
        - apart * half
    )
    return min(1.0, max(0.0, 1.0 - covered / (math.pi * sun * sun)))
