"""Reflected light against the closed forms for a Lambert sphere."""

import numpy as np
import pytest

from attitude.environment.albedo import albedo_irradiance
from attitude.environment.sun import AU, EARTH_RADIUS

SUN = np.array([[AU, 0.0, 0.0]])


def at(distance, phase):
    return distance * np.array([[np.cos(phase), 0.0, np.sin(phase)]])


@pytest.mark.parametrize("phase", [0.0, 0.7, np.pi / 2, 2.5])
def test_from_afar(phase):
    """`⅔ a (R/r)² [sin α + (π − α) cos α] / π` at the phase angle α (Lambert)."""
    r = at(1e10, phase)
    expected = 2 / 3 * 0.3 * (EARTH_RADIUS / 1e10) ** 2 * (np.sin(phase) + (np.pi - phase) * np.cos(phase)) / np.pi
    light = albedo_irradiance(r, SUN, 0.3)[0]
    assert np.linalg.norm(light) == pytest.approx(expected, rel=0.005)  # quadrature over the terminator
    assert light @ -r[0] / 1e10 == pytest.approx(np.linalg.norm(light), rel=1e-4)  # it comes from the Earth


def test_close_to_the_ground_at_noon():
    """Evenly lit as far as one can see: `a (R/r)²`."""
    for height in (1e3, 3e4):
        light = albedo_irradiance(at(EARTH_RADIUS + height, 0.0), SUN, 0.3)[0]
        even = 0.3 * (EARTH_RADIUS / (EARTH_RADIUS + height)) ** 2
        assert light == pytest.approx([-even, 0.0, 0.0], abs=1e-3)


def test_by_many_patches():
    """Against a plain sum over a fine grid of the whole sphere."""
    u = np.linspace(-1, 1, 1201)[:-1] + 1 / 1200
    phi = np.linspace(0, 2 * np.pi, 1201)[:-1]
    c, p = np.meshgrid(u, phi, indexing="ij")
    s = np.sqrt(1 - c**2)
    n = np.stack([s * np.cos(p), s * np.sin(p), c], axis=-1)
    for phase in (0.3, 1.2, 1.7):
        r = at(7e6, phase)
        d = EARTH_RADIUS * n - r[0]
        distance = np.linalg.norm(d, axis=-1)
        weight = np.maximum(n[..., 0], 0) * np.maximum(-np.sum(n * d, axis=-1), 0) / distance**4
        total = 0.3 / np.pi * EARTH_RADIUS**2 * np.sum(weight[..., None] * d, axis=(0, 1)) * 4 * np.pi / c.size
        assert albedo_irradiance(r, SUN, 0.3)[0] == pytest.approx(total, abs=2e-4)


def test_night_and_off():
    assert not albedo_irradiance(at(7e6, np.pi), SUN, 0.3).any()
    assert not albedo_irradiance(at(7e6, 0.0), SUN, 0.0).any()


def test_more_than_one_chunk():
    light = albedo_irradiance(np.repeat(at(7e6, 0.5), 3000, axis=0), np.repeat(SUN, 3000, axis=0), 0.3)
    assert light.shape == (3000, 3)
    assert np.array_equal(light[0], light[-1])
