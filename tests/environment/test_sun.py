"""The Sun's position against almanacs, and its eclipse by the Earth against geometry."""

import erfa
import numpy as np
import pytest

from attitude.environment import frames
from attitude.environment.epoch import Epoch
from attitude.environment.sun import AU, EARTH_RADIUS, SUN_RADIUS, sun_position, sunlight_kernel

ARCSEC = np.pi / 180 / 3600
LIGHT_TIME = 499.005  # s per AU


def declination(epoch):
    """Apparent declination of date, rad: where the Sun was when its light left, from the true equator."""
    sun_E = frames.earth_rotation(epoch, [0.0])[0] @ sun_position(epoch, [-LIGHT_TIME])[0]
    return np.arcsin(sun_E[2] / np.linalg.norm(sun_E))


@pytest.mark.parametrize("when", ["2024-03-20T03:06", "2024-09-22T12:44"])
def test_equinox(when):
    """Dates of the US Naval Observatory, to a minute: at 0.4° a day half a minute is half an arcsecond."""
    assert abs(declination(Epoch(when))) < 1.5 * ARCSEC


@pytest.mark.parametrize(("when", "sign"), [("2024-06-20T20:51", 1), ("2024-12-21T09:20", -1)])
def test_solstice(when, sign):
    obliquity = erfa.obl06(*Epoch(when).tt(0.0)) + erfa.nut06a(*Epoch(when).tt(0.0))[1]
    assert sign * declination(Epoch(when)) == pytest.approx(obliquity, abs=1.0 * ARCSEC)  # the Sun's latitude: 1"


def test_printed_position():
    """Meeus 1998, example 25.b: 1992 October 13, 0h dynamical time."""
    epoch = Epoch("1992-10-12T23:59:00.816")
    t_light = 0.99760775 * LIGHT_TIME
    sun_I = sun_position(epoch, [-t_light, 0.0])
    sun_E = frames.earth_rotation(epoch, [0.0])[0] @ sun_I[0]
    ascension = np.arctan2(sun_E[1], sun_E[0]) + erfa.gst06a(*epoch.ut1(0.0), *epoch.tt(0.0))
    assert np.degrees(ascension) % 360.0 == pytest.approx(15 * (13 + 13 / 60 + 30.749 / 3600), abs=0.3 / 3600)
    assert np.degrees(np.arcsin(sun_E[2] / np.linalg.norm(sun_E))) == pytest.approx(
        -(7 + 47 / 60 + 1.74 / 3600), abs=0.3 / 3600
    )
    assert np.linalg.norm(sun_I[1]) / AU == pytest.approx(0.99760775, abs=1e-6)


def test_perihelion_and_aphelion():
    """2024 January 3 and July 5."""
    near, far = (np.linalg.norm(sun_position(Epoch(day), [0.0])) / AU for day in ("2024-01-03", "2024-07-05"))
    assert near == pytest.approx(0.98331, abs=2e-5)
    assert far == pytest.approx(1.01673, abs=2e-5)


# ------------------------------------------------------------------ eclipse
def visible(r_I, sun_I):
    to_sun = np.asarray(sun_I) - r_I
    distance = np.linalg.norm(to_sun)
    return sunlight_kernel(*map(float, r_I), *(to_sun / distance), float(distance))


SUN = np.array([AU, 0.0, 0.0])


def test_day_and_night():
    for r in (EARTH_RADIUS + 4e5, 4.2e7):
        assert visible([r, 0.0, 0.0], SUN) == 1.0
        assert visible([0.0, r, 0.0], SUN) == 1.0
        assert visible([-r, 0.0, 0.0], SUN) == 0.0
        assert visible([-np.sqrt(r**2 - 5e6**2), 0.0, 5e6], SUN) == 0.0


def test_cones_of_umbra_and_penumbra():
    """Straight lines that touch both spheres bound the cones (Vallado 2013, section 5.3)."""
    x = 7e6
    umbra, penumbra = (np.arcsin((SUN_RADIUS - s * EARTH_RADIUS) / AU) for s in (1, -1))
    dark = EARTH_RADIUS / np.cos(umbra) - x * np.tan(umbra)
    bright = EARTH_RADIUS / np.cos(penumbra) + x * np.tan(penumbra)
    assert bright - dark == pytest.approx(65e3, rel=0.02)  # m
    for edge, outside, inside in ((dark, (0.0, 1e-4), (0.0, 0.0)), (bright, (1.0, 1.0), (1.0 - 1e-4, 1.0))):
        assert outside[0] <= visible([-x, 0.0, edge + 50.0], SUN) <= outside[1]
        assert inside[0] <= visible([-x, 0.0, edge - 50.0], SUN) <= inside[1]
    assert visible([-x, 0.0, dark + 500.0], SUN) > 0.0
    assert visible([-x, 0.0, bright - 500.0], SUN) < 1.0


def test_half_of_the_sun_at_the_limb():
    """The limb through the Sun's centre leaves one half, and `a / 3πb` for the limb's curvature."""
    r, limb = 7e6, np.arcsin(EARTH_RADIUS / 7e6)
    direction = np.array([-np.cos(limb), 0.0, np.sin(limb)])
    seen = sunlight_kernel(*(r * direction), 1.0, 0.0, 0.0, AU)
    assert seen == pytest.approx(0.5 + np.arcsin(SUN_RADIUS / AU) / (3 * np.pi * limb), abs=2e-7)


def test_ring_of_light_beyond_the_umbra():
    far = 1.5e9  # the umbra ends at 1.38e9 m
    assert visible([-1.3e9, 0.0, 0.0], SUN) == 0.0
    ring = 1.0 - (np.arcsin(EARTH_RADIUS / far) / np.arcsin(SUN_RADIUS / (AU + far))) ** 2
    assert visible([-far, 0.0, 0.0], SUN) == pytest.approx(ring, abs=1e-12)


def rays(r_I, count=20000):
    """Share of the rays to points spread over the solar disc that miss the Earth."""
    k = np.arange(count) + 0.5
    radius, angle = SUN_RADIUS * np.sqrt(k / count), np.pi * (1 + 5**0.5) * k
    points = SUN + np.stack([np.zeros(count), radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    ray = points - r_I
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    along = -(ray @ r_I)
    hit = (along > 0.0) & (np.sum((r_I + along[:, None] * ray) ** 2, axis=1) < EARTH_RADIUS**2)
    return 1.0 - hit.mean()


@pytest.mark.parametrize("x", [2.5e6, 7e6, 4.2e7])
def test_penumbra_by_rays(x):
    for z in EARTH_RADIUS + np.linspace(-1.2, 1.2, 9) * x * SUN_RADIUS / AU:
        r_I = np.array([-x, 0.3 * z, np.sqrt(1 - 0.09) * z])
        assert visible(r_I, SUN) == pytest.approx(rays(r_I), abs=2e-3)  # 20 000 rays, and flat for spherical discs


def test_never_not_a_number():
    rng = np.random.default_rng(3)
    r_I = rng.normal(size=(2000, 3)) * 10 ** rng.uniform(6, 9.5, size=(2000, 1))
    seen = np.array([visible(r, SUN) for r in r_I])
    assert ((seen >= 0.0) & (seen <= 1.0)).all()
    assert visible([EARTH_RADIUS, 0.0, 0.0], SUN) == 1.0
    assert visible([-EARTH_RADIUS, 0.0, 0.0], SUN) == 0.0
