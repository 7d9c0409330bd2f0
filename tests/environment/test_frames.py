"""Axes against ERFA's other route (equinox based) and the worked example of Vallado et al. 2006."""

import erfa
import numpy as np
import pytest

from attitude.core import quaternion
from attitude.environment import frames
from attitude.environment.epoch import Epoch

# Vallado, Crawford, Hujsak & Kelso 2006 (AIAA 2006-6753), appendix C: 2004 April 6, 07:51:28.386009 UTC, in km
EXAMPLE = Epoch("2004-04-06T07:51:28.386009", -0.439961)
R_TEME = np.array([[5094.18016210, 6127.64465950, 6380.34453270]])
R_PEF = np.array([[-1033.47503130, 7901.30558560, 6380.34453270]])
R_GCRF = np.array([[5102.508958, 6123.011401, 6378.136928]])
V_TEME = np.array([[-4.746131487, 0.785818041, 5.531931288]])
V_GCRF = np.array([[-4.743220157, 0.790536497, 5.533755727]])


def test_teme_to_earth_fixed_of_the_example():
    found = frames.apply(frames.teme_to_earth(EXAMPLE, [0.0]), R_TEME)
    assert found == pytest.approx(R_PEF, abs=2.5e-5)  # km: a Julian date in one number, 4e-5 s at 0.58 km/s


def test_teme_to_inertial_of_the_example():
    """Printed with the measured corrections of the pole, some tenths of a milliarcsecond, zero here."""
    R_IT = frames.teme_to_inertial(frames.earth_rotation(EXAMPLE, [0.0]), frames.teme_to_earth(EXAMPLE, [0.0]))
    assert frames.apply(R_IT, R_TEME) == pytest.approx(R_GCRF, abs=5e-6)  # km: 0.1 mas of the pole
    assert frames.apply(R_IT, V_TEME) == pytest.approx(V_GCRF, abs=5e-9)


def test_earth_rotation_by_sidereal_time_and_equinox():
    epoch, t = Epoch("2026-03-20T12:00:00", 0.1), np.linspace(0.0, 1e5, 50)
    tt, ut1 = epoch.tt(t), epoch.ut1(t)
    locator = erfa.pom00(0.0, 0.0, erfa.sp00(*tt))
    by_equinox = locator @ erfa.rz(erfa.gst06a(*ut1, *tt), erfa.pnm06a(*tt))
    assert np.abs(frames.earth_rotation(epoch, t) - by_equinox).max() < 1e-13  # rad


def test_earth_turns_once_in_a_sidereal_day():
    epoch = Epoch("2026-03-20")
    R = frames.earth_rotation(epoch, [0.0, 86164.0989, 86164.0989 / 4])
    assert np.abs(R[1] - R[0]).max() < 1e-6  # rad: precession of a day, 7e-7
    quarter = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert np.abs(R[2] @ R[0].T - quarter).max() < 1e-6


def test_rate_of_the_earth():
    R = frames.earth_rotation(Epoch("2026-03-20"), [0.0, 100.0])
    turned = quaternion.log(quaternion.from_matrix(R[0] @ R[1].T))
    assert turned == pytest.approx([0.0, 0.0, 100.0 * frames.EARTH_RATE], abs=2e-9)  # rad: precession, 1e-9


def test_teme_moves_slowly_in_inertial_axes():
    epoch, t = Epoch("2026-03-20"), np.array([0.0, 1000.0])
    R_IT = frames.teme_to_inertial(frames.earth_rotation(epoch, t), frames.teme_to_earth(epoch, t))
    assert np.abs(R_IT[1] - R_IT[0]).max() < 1e-8  # rad: 1e-11 rad/s, as the velocity assumes


def test_quaternions_of_a_turning_frame_do_not_jump():
    R_IE = frames.transpose(frames.earth_rotation(Epoch("2026-03-20"), np.linspace(0.0, 2e5, 400)))
    q = frames.continuous_quaternion(R_IE)
    assert np.abs(np.diff(q, axis=0)).max() < 0.02  # half of 500 s of rotation
    assert (q[:, 3] < 0.0).any()
    assert np.abs(quaternion.to_matrix(q) - R_IE).max() < 1e-14


def test_geodetic_positions():
    places = np.radians([[0.0, 0.0], [90.0, 0.0], [0.0, 90.0]])
    r_E = frames.from_geodetic(*places.T, [0.0, 1000.0, 0.0])
    assert r_E == pytest.approx(np.array([[6378137.0, 0, 0], [0, 6379137.0, 0], [0, 0, 6356752.3142]]), abs=1e-3)
    longitude, latitude, height = frames.geodetic(r_E[:2])
    assert np.stack([longitude, latitude], axis=1) == pytest.approx(places[:2], abs=1e-12)
    assert height == pytest.approx([0.0, 1000.0], abs=1e-6)
