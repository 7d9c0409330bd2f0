"""IGRF against printed values of the reference program, and against the gradient of its potential."""

from datetime import datetime, timedelta
from math import factorial

import numpy as np
import pytest
from ppigrf import igrf_gc
from ppigrf.ppigrf import read_shc
from scipy.special import lpmv

from attitude.environment.epoch import Epoch
from attitude.environment.magnetic_field import magnetic_field

# Output of the reference program igrf14syn, as published with SatelliteToolboxGeomagneticField.jl
# (test/IGRF14_test_geocentric.txt): year, radius km, colatitude deg, east longitude deg, north, east, down nT
PRINTED = np.array([
    [1991.7, 7895.51, 34.52, 186.99, 9961.03296, 1855.53539, 25360.82131],
    [2012.2, 6455.32, 4.81, 190.69, 716.25521, 404.85533, 54898.32179],
    [2022.1, 7207.24, 46.47, 114.85, 17343.43338, -1717.75319, 33139.75721],
    [2027.9, 6518.00, 45.06, 138.29, 23401.96250, -4296.86589, 42525.97951],
    [2028.4, 7412.38, 39.54, 296.89, 10632.67248, -2710.99299, 31405.98198],
    [1985.1, 7386.16, 0.05, 0.32, 664.68242, -1268.46751, 37518.62935],
    [1993.0, 7523.53, 88.84, 343.59, 16113.95955, -3907.14581, -3479.33686],
])  # fmt: skip


def position(radius_km, colatitude_deg, longitude_deg):
    theta, phi = np.radians(colatitude_deg), np.radians(longitude_deg)
    return 1e3 * radius_km * np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])


def axes(colatitude_deg, longitude_deg):
    """Rows north, east, down."""
    theta, phi = np.radians(colatitude_deg), np.radians(longitude_deg)
    north = [-np.cos(theta) * np.cos(phi), -np.cos(theta) * np.sin(phi), np.sin(theta)]
    return np.array([north, [-np.sin(phi), np.cos(phi), 0.0], -position(1e-3, colatitude_deg, longitude_deg)])


def date_of(year):
    start = datetime(int(year), 1, 1)
    return start + (datetime(int(year) + 1, 1, 1) - start) * (year - int(year))


@pytest.mark.parametrize("row", PRINTED, ids=[f"{row[0]}" for row in PRINTED])
def test_printed_values_of_the_reference_program(row):
    year, radius, colatitude, longitude, *expected = row
    field = magnetic_field([position(radius, colatitude, longitude)], Epoch(date_of(year)), [0.0])
    # nT: the program counts time in decimal years, ppigrf in days: up to a day of 100 nT per year
    assert 1e9 * axes(colatitude, longitude) @ field[0] == pytest.approx(expected, abs=0.3)


def potential(r_E, g, h):
    """IGRF potential, T·m, by SciPy's Legendre functions with Schmidt's normalisation."""
    r = np.linalg.norm(r_E)
    phi, total, radius = np.arctan2(r_E[1], r_E[0]), 0.0, 6371.2e3
    for n, m in g.index:
        schmidt = (-1) ** m * np.sqrt((2.0 if m else 1.0) * factorial(n - m) / factorial(n + m))
        wave = g[n, m] * np.cos(m * phi) + h[n, m] * np.sin(m * phi)
        total += radius * (radius / r) ** (n + 1) * wave * schmidt * lpmv(m, n, r_E[2] / r)
    return 1e-9 * total


def test_minus_the_gradient_of_the_potential():
    g, h = (table.loc["2025-01-01"] for table in read_shc())
    rng, step = np.random.default_rng(5), 2e3
    r_E = rng.normal(size=(4, 3))
    r_E *= (6378e3 + rng.uniform(3e5, 1e6, size=(4, 1))) / np.linalg.norm(r_E, axis=1, keepdims=True)
    slope = [[(potential(r + e, g, h) - potential(r - e, g, h)) / (2 * step) for e in step * np.eye(3)] for r in r_E]
    field = magnetic_field(r_E, Epoch("2025-01-01"), np.zeros(4))
    assert 1e9 * field == pytest.approx(-1e9 * np.array(slope), abs=0.1)  # nT: third derivative × step²/6


def test_many_points_each_at_its_own_time_across_a_change_of_model():
    """Against ppigrf called once for each date: the coefficients bend at 2025."""
    rng = np.random.default_rng(6)
    r, theta, phi = rng.uniform(6700, 8000, 30), rng.uniform(0, 180, 30), rng.uniform(-180, 180, 30)
    t = rng.uniform(0.0, 2 * 365 * 86400.0, 30)
    start = datetime(2024, 1, 1)
    spherical = np.array([
        [c[0, 0] for c in igrf_gc(r[[k]], theta[[k]], phi[[k]], start + timedelta(seconds=t[k]))] for k in range(30)
    ])  # fmt: skip
    field = magnetic_field(np.array([position(*p) for p in zip(r, theta, phi, strict=True)]), Epoch(start), t)
    ned = np.array([axes(*p) @ b for p, b in zip(zip(theta, phi, strict=True), field, strict=True)])
    assert 1e9 * ned == pytest.approx(spherical[:, [1, 2, 0]] * [-1, 1, -1], abs=1e-4)  # nT


def test_more_points_than_one_chunk():
    r_E = np.tile([[7e6, 0.0, 1e6]], (5000, 1))
    field = magnetic_field(r_E, Epoch("2026-01-01"), np.zeros(5000))
    assert field.shape == (5000, 3)
    assert np.abs(field - field[0]).max() < 1e-18


def test_over_the_poles():
    near = [[0.0, 0.0, 6.9e6], [1.0, 0.0, 6.9e6], [0.0, -1.0, 6.9e6], [0.0, 0.0, -6.9e6], [1.0, 0.0, -6.9e6]]
    field = 1e9 * magnetic_field(near, Epoch("2026-01-01"), np.zeros(5))
    assert np.abs(field[1:3] - field[0]).max() < 0.1  # nT: a metre away, 0.02 nT
    assert np.abs(field[4] - field[3]).max() < 0.1
    assert field[0, 2] < -40e3  # downward at the north pole
    assert field[3, 2] < -30e3


@pytest.mark.parametrize(("epoch", "t"), [("2030-01-02", 0.0), ("2029-12-31", 3 * 86400.0), ("2045-01-01", 0.0)])
def test_a_date_after_the_last_model(epoch, t):
    with pytest.raises(ValueError, match="date must lie in the range of the magnetic field model IGRF, 1900-01-01 to"):
        magnetic_field([[7e6, 0.0, 0.0]], Epoch(epoch), [t])


def test_shapes():
    assert magnetic_field(np.zeros((0, 3)), Epoch("2026-01-01"), []).shape == (0, 3)
    with pytest.raises(ValueError, match="t must have shape"):
        magnetic_field([[7e6, 0.0, 0.0]], Epoch("2026-01-01"), [0.0, 1.0])
