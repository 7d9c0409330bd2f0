"""The interpolated environment against the models called directly, and the grid's manners."""

import subprocess
import sys
from datetime import timedelta

import erfa
import numpy as np
import pytest
from ppigrf import igrf_gc

from attitude.core import quaternion
from attitude.environment import grid as module
from attitude.environment.albedo import albedo_irradiance
from attitude.environment.atmosphere import ExponentialAtmosphere
from attitude.environment.frames import geodetic
from attitude.environment.grid import OK, OUTSIDE, SIZE, Environment, environment_kernel
from attitude.environment.orbit import Orbit
from attitude.environment.sun import AU

COUNT = 150


@pytest.fixture
def times(grid):
    return np.sort(np.random.default_rng(11).uniform(0.0, grid[1].duration, COUNT))


def utc(made, t):
    """UTC Julian date; no leap second is near."""
    start = made.epoch.start
    one, two = erfa.dtf2d("UTC", start.year, start.month, start.day, start.hour, start.minute, float(start.second))
    return np.full(t.size, one), two + t / 86400.0


def earth_rotation(made, t):
    date = utc(made, t)
    tt = erfa.taitt(*erfa.utctai(*date))
    return erfa.c2t06a(*tt, *date, 0.0, 0.0)


def direct_orbit(orbit, made, t):
    """Position and velocity in inertial axes, straight from sgp4, one call for each time."""
    date = utc(made, t)
    states = [orbit.satellite.sgp4(one, two) for one, two in zip(*date, strict=True)]
    assert not any(status for status, _, _ in states)
    R_IT = np.swapaxes(earth_rotation(made, t), 1, 2) @ erfa.rz(erfa.gmst82(*date), np.eye(3))
    return [1e3 * np.einsum("nij,nj->ni", R_IT, np.array([state[k] for state in states])) for k in (1, 2)]


def test_orbit_against_sgp4(grid, times):
    orbit, made = grid
    r_I, v_I = direct_orbit(orbit, made, times)
    found = made.at(times)
    assert np.linalg.norm(found.r_I - r_I, axis=1).max() < 0.05  # m; the promise is 1 m
    assert np.linalg.norm(found.v_I - v_I, axis=1).max() < 1e-3  # m/s


def test_field_against_ppigrf(grid, times):
    orbit, made = grid
    R_EI = earth_rotation(made, times)
    x, y, z = np.einsum("nij,nj->in", R_EI, direct_orbit(orbit, made, times)[0])
    theta, phi = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
    dates = [made.epoch.calendar() + timedelta(seconds=t) for t in times]
    radial, south, east = (
        np.diagonal(part)
        for part in igrf_gc(1e-3 * np.sqrt(x * x + y * y + z * z), np.degrees(theta), np.degrees(phi), dates)
    )
    outward = radial * np.sin(theta) + south * np.cos(theta)
    b_E = np.stack([
        outward * np.cos(phi) - east * np.sin(phi), outward * np.sin(phi) + east * np.cos(phi),
        radial * np.cos(theta) - south * np.sin(theta),
    ], axis=1)  # fmt: skip
    b_I = np.einsum("nji,nj->ni", R_EI, b_E)
    assert np.linalg.norm(1e9 * made.at(times).b_I - b_I, axis=1).max() < 0.1  # nT; the promise is 5 nT


def test_sun_against_erfa(grid, times):
    orbit, made = grid
    tt = erfa.taitt(*erfa.utctai(*utc(made, times)))
    to_sun = -AU * erfa.epv00(*tt)[0]["p"] - direct_orbit(orbit, made, times)[0]
    distance = np.linalg.norm(to_sun, axis=1)
    found = made.at(times)
    off = np.linalg.norm(np.cross(found.sun_I, to_sun / distance[:, None]), axis=1)
    assert np.degrees(off.max()) * 3600 < 1e-3  # arcsec; the promise is 1 arcsec
    assert np.linalg.norm(found.sun_I, axis=1) == pytest.approx(np.ones(COUNT), abs=1e-15)
    assert found.flux == pytest.approx((AU / distance) ** 2, rel=1e-9)


def test_earth_rotation_against_erfa(grid, times):
    _, made = grid
    found = quaternion.to_matrix(made.at(times).q_IE)
    assert np.abs(np.swapaxes(found, 1, 2) - earth_rotation(made, times)).max() < 1e-9  # rad: 1e-9 is 7 mm in orbit
    assert np.linalg.norm(made.at(times).q_IE, axis=1) == pytest.approx(np.ones(COUNT), abs=1e-15)


def test_density_against_the_model(grid, times):
    orbit, made = grid
    r_E = np.einsum("nij,nj->ni", earth_rotation(made, times), direct_orbit(orbit, made, times)[0])
    expected = ExponentialAtmosphere().density(geodetic(r_E)[2])
    assert made.at(times).density == pytest.approx(expected, rel=1e-3)  # the slope jumps between the model's bands
    assert np.median(np.abs(made.at(times).density / expected - 1.0)) < 1e-4


def test_albedo_against_the_model(grid, times):
    _, made = grid
    found = made.at(times)
    sun_I = found.sun_I * (AU / np.sqrt(found.flux))[:, None] + found.r_I
    assert found.albedo_I == pytest.approx(albedo_irradiance(found.r_I, sun_I, 0.3), abs=5e-4)


def test_sunlight_has_umbra_and_penumbra(make_elements):
    orbit = Orbit.from_mean_elements(make_elements(inclination_deg=10.0))
    made = Environment(orbit=orbit, epoch="2026-03-20T12:00:00").grid(orbit.period)
    t = np.linspace(0.0, made.duration, 60000)
    sunlight = made.at(t).sunlight
    step = t[1]
    dark, partial = step * np.sum(sunlight == 0.0), step * np.sum((sunlight > 0.0) & (sunlight < 1.0))
    # a circle of 6880 km through a shadow of 6378 km: 2 asin(R/r)/2π of the period, less the ellipse of the tilt
    assert dark / orbit.period == pytest.approx(np.arcsin(6378 / 6880) / np.pi, abs=0.02)
    assert 12.0 < partial < 30.0  # two passages of 0.53° at 0.063°/s, met at an angle
    assert np.abs(np.diff(sunlight)).max() < 0.02


def test_kernel_and_python_agree_to_the_bit(grid):
    _, made = grid
    out = np.empty(SIZE)
    assert environment_kernel(made.parameters(), 1234.5, out) == OK
    assert np.array_equal(np.concatenate([np.atleast_1d(part) for part in made.at(1234.5)]), out)
    assert len(environment_kernel.signatures) == 1


def test_nodes_and_ends(grid):
    _, made = grid
    assert made.at(made.t[1:-2]).r_I == pytest.approx(made.table[1:-2, :3], abs=1e-6)
    for t in (0.0, made.duration):
        assert np.isfinite(np.concatenate([np.atleast_1d(part) for part in made.at(t)])).all()


@pytest.mark.parametrize("t", [-1.0, 9001.0, 1e300, -np.inf, np.inf, np.nan])
def test_outside_the_grid(grid, t):
    _, made = grid
    out, end = np.empty(SIZE), np.empty(SIZE)
    assert environment_kernel(made.parameters(), t, out) == OUTSIDE
    environment_kernel(made.parameters(), made.duration if t > 0.0 else 0.0, end)
    assert np.array_equal(out, end)
    with pytest.raises(ValueError, match="t must"):
        made.at(t)


@pytest.mark.parametrize("duration", [0.1, 10.0, 99.9, 100.0, 100.1])
def test_any_duration(make_elements, duration):
    orbit = Orbit.from_mean_elements(make_elements())
    made = Environment(orbit=orbit, epoch="2026-03-20").grid(duration)
    expected = direct_orbit(orbit, made, np.array([duration]))[0]
    assert made.at([duration]).r_I == pytest.approx(expected, abs=0.01)


def test_memory_grows_linearly(make_elements):
    environment = Environment(orbit=Orbit.from_mean_elements(make_elements()), epoch="2026-03-20")
    one, ten = (environment.grid(orbits * 5600.0).table for orbits in (1, 10))
    assert ten.nbytes < 10 * one.nbytes
    assert one.nbytes == pytest.approx(560 * 8 * module.COLUMNS, rel=0.01)


def test_an_atmosphere_of_the_user(make_elements):
    class Air:
        def density_at(self, r_E, t):
            return np.where(t < 500.0, 0.0, 1e-12) * np.ones(len(r_E))

    made = Environment(orbit=Orbit.from_mean_elements(make_elements()), epoch="2026-03-20", atmosphere=Air()).grid(1e3)
    assert made.at([100.0, 900.0]).density == pytest.approx([0.0, 1e-12], abs=1e-24)


def test_ut1_turns_the_earth(make_elements):
    orbit = Orbit.from_mean_elements(make_elements())
    late, plain = (
        Environment(orbit=orbit, epoch="2026-03-20", ut1_minus_utc_s=s).grid(100.0).at(50.0) for s in (0.5, 0.0)
    )
    assert quaternion.angle_between(late.q_IE, plain.q_IE) == pytest.approx(0.5 * 7.292e-5, rel=1e-3)


BAD = [
    ({"orbit": None}, "orbit must be an Orbit, got None"),
    ({"epoch": "yesterday"}, "epoch must be an ISO 8601 date"),
    ({"step_s": 0.0}, "step_s must be greater than zero, got 0.0"),
    ({"step_s": 60.0}, "step_s must be at most 30 s, got 60.0"),
    ({"earth_albedo": 1.5}, "earth_albedo must lie between 0 and 1, got 1.5"),
    ({"ut1_minus_utc_s": 2.0}, "ut1_minus_utc must be within"),
    ({"atmosphere": 3.0}, "atmosphere must have a method density_at"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input(make_elements, given, message):
    good = {"orbit": Orbit.from_mean_elements(make_elements()), "epoch": "2026-03-20"}
    with pytest.raises(ValueError, match=message):
        Environment(**{**good, **given})


def test_bad_models_and_dates_when_computing(make_elements):
    class Vacuum:
        def density_at(self, r_E, t):
            return np.full(len(r_E), -1.0)

    orbit = Orbit.from_mean_elements(make_elements())
    with pytest.raises(ValueError, match="atmosphere density must not be negative"):
        Environment(orbit=orbit, epoch="2026-03-20", atmosphere=Vacuum()).grid(10.0)
    with pytest.raises(ValueError, match="date must lie in the range of the magnetic field model IGRF"):
        Environment(orbit=orbit, epoch="2030-06-01").grid(10.0)
    with pytest.raises(ValueError, match="duration must be greater than zero"):
        Environment(orbit=orbit, epoch="2026-03-20").grid(0.0)


def test_importing_the_package_loads_none_of_these_libraries():
    code = "import sys, attitude; print([m for m in ('erfa', 'sgp4', 'ppigrf', 'pandas') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
