"""TEME, inertial and Earth-fixed axes.

Inertial axes `I` are those of the GCRS, Earth-fixed axes `E` those of the ITRS with polar motion zero. TEME goes to
Earth-fixed by the 1982 mean sidereal time (Vallado et al. 2006, appendix C), Earth-fixed to inertial by the IAU
2006/2000A precession and nutation (ERFA `c2t06a`).
"""

from __future__ import annotations

import erfa
import numpy as np
from numpy.typing import ArrayLike

from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.environment.epoch import Epoch

EARTH_RATE = 7.292115e-5  # rad/s (WGS 84)
WGS84 = 1  # ERFA's number of the ellipsoid


def earth_rotation(epoch: Epoch, t: ArrayLike) -> Array:
    """`R_EI` `(N, 3, 3)`: inertial axes to Earth-fixed axes."""
    return np.asarray(erfa.c2t06a(*epoch.tt(t), *epoch.ut1(t), 0.0, 0.0))


def teme_to_earth(epoch: Epoch, t: ArrayLike) -> Array:
    """`R_ET` `(N, 3, 3)`: TEME axes to Earth-fixed axes."""
    return np.asarray(erfa.rz(erfa.gmst82(*epoch.ut1(t)), np.eye(3)))


def apply(R: Array, v: Array) -> Array:
    """`R v` for each row; `R` `(N, 3, 3)`, `v` `(N, 3)`."""
    return np.einsum("nij,nj->ni", R, v)


def transpose(R: Array) -> Array:
    """The inverse rotations."""
    return np.swapaxes(R, -1, -2)


def teme_to_inertial(R_EI: Array, R_ET: Array) -> Array:
    """`R_IT` `(N, 3, 3)`. It turns by less than 1e-11 rad/s, so it carries velocities too (to 0.1 mm/s)."""
    return transpose(R_EI) @ R_ET


def continuous_quaternion(R: Array) -> Array:
    """Quaternions `(N, 4)` of a sequence of rotations, with signs so that neighbours are close."""
    q = quaternion.from_matrix(R)
    turned = np.sum(q[1:] * q[:-1], axis=1) < 0.0
    return np.asarray(q * np.append(1.0, np.cumprod(np.where(turned, -1.0, 1.0)))[:, None])


def geodetic(r_E: Array) -> tuple[Array, Array, Array]:
    """Longitude, rad, geodetic latitude, rad, and height, m, above the WGS 84 ellipsoid, of `r_E` `(N, 3)`, m."""
    longitude, latitude, height = erfa.gc2gd(WGS84, r_E)
    return longitude, latitude, height


def from_geodetic(longitude: ArrayLike, latitude: ArrayLike, height: ArrayLike) -> Array:
    """`r_E`, m, from longitude and geodetic latitude, rad, and height above the WGS 84 ellipsoid, m."""
    return np.asarray(erfa.gd2gc(WGS84, longitude, latitude, height))
