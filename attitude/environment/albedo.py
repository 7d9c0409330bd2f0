"""Sunlight that the Earth reflects to the spacecraft, for a sphere that scatters evenly (Lambert)."""

from __future__ import annotations

import numpy as np

from attitude.core.jit import Array
from attitude.environment.sun import AU, EARTH_RADIUS

RINGS, SECTORS = 12, 24  # quadrature over the visible disc: 0.1 %, 0.5 % of a thin crescent
CHUNK = 1024  # positions at a time, so that memory does not grow with the scenario


def albedo_irradiance(r_I: Array, sun_I: Array, reflectivity: float) -> Array:
    """Irradiance vector `(N, 3)` toward the light that comes from the Earth, in units of the solar constant.

    `r_I` and `sun_I` `(N, 3)`, m, from the Earth's centre. A plate with the outward normal `n` that has the whole
    visible Earth in front of it receives `n · irradiance`; near its horizon this is an approximation.
    """
    if reflectivity == 0.0:
        return np.zeros_like(r_I)
    parts = [_irradiance(r_I[i : i + CHUNK], sun_I[i : i + CHUNK]) for i in range(0, len(r_I), CHUNK)]
    return reflectivity * np.concatenate(parts)


def _irradiance(r_I: Array, sun_I: Array) -> Array:
    """Sum over patches of the visible cap, in the plane of zenith and Sun, about which everything is symmetric."""
    r = np.linalg.norm(r_I, axis=1)
    zenith = r_I / r[:, None]
    height = np.sum(sun_I * zenith, axis=1)
    across = sun_I - height[:, None] * zenith
    size = np.linalg.norm(across, axis=1)
    distance = np.hypot(height, size)
    strength = (AU / distance) ** 2
    patches = _patches(r, height / distance, size / distance)
    direction = np.divide(across, size[:, None], out=np.zeros_like(across), where=size[:, None] > 0.0)
    return np.asarray(strength[:, None] * (patches[0][:, None] * direction + patches[1][:, None] * zenith))


def _patches(r: Array, sun_up: Array, sun_across: Array) -> tuple[Array, Array]:
    """Components across and up of `(1/π) ∫ max(cos(Sun), 0) d dΩ` over the Earth's disc, for reflectivity one.

    `d` is the direction to a patch, at the angle `eta` from nadir, under which it is seen at `beta` from its own
    zenith, `sin eta = (R/r) sin beta`. In `beta` everything is smooth, horizon included, at any height.
    """
    nodes, weights = np.polynomial.legendre.leggauss(RINGS)
    beta, azimuth = 0.25 * np.pi * (1.0 + nodes[:, None]), np.pi * (np.arange(SECTORS) + 0.5) / SECTORS
    ratio = (EARTH_RADIUS / r)[:, None, None]
    sine = ratio * np.sin(beta)
    cosine = np.sqrt(1.0 - sine**2)
    psi = beta - np.arcsin(sine)  # from the point below, at the Earth's centre
    toward = np.cos(azimuth)  # half a turn; the other half is its mirror image
    lit = np.maximum(np.sin(psi) * toward * sun_across[:, None, None] + np.cos(psi) * sun_up[:, None, None], 0.0)
    solid = ratio**2 * np.sin(beta) * np.cos(beta) / cosine * 0.25 * np.pi * weights[:, None] * 2.0 / SECTORS  # / π
    return np.sum(lit * solid * sine * toward, axis=(1, 2)), -np.sum(lit * solid * cosine, axis=(1, 2))
