"""SGP4 through the toolkit against the theory's verification cases, which the sgp4 package brings along."""

import re
from pkgutil import get_data

import numpy as np
import pytest
from sgp4.api import Satrec, jday

from attitude.environment.epoch import Epoch
from attitude.environment.orbit import MeanElements, Orbit, mean_motion

BAD_ON_PURPOSE = {33333, 33334, 33335}  # wrong checksums; the file says so
PRINTED_KM, PRINTED_KM_PER_S = 2e-7, 2e-9  # the printed 8 and 9 decimals, and rounding on another machine


def verification_cases():
    lines = [line for line in get_data("sgp4", "SGP4-VER.TLE").decode().splitlines() if line[:2] in ("1 ", "2 ")]
    blocks = re.split(r"^(\d+) xx\n", get_data("sgp4", "tcppver.out").decode().replace("\r", ""), flags=re.M)[1:]
    printed = [
        (int(number), np.array([row.split()[:7] for row in rows.splitlines()], dtype=float))
        for number, rows in zip(blocks[::2], blocks[1::2], strict=True)
    ]
    return [(*case, lines[2 * i][:69], lines[2 * i + 1][:69]) for i, case in enumerate(printed)]


CASES = verification_cases()


def test_the_verification_file_is_whole():
    assert len(CASES) == 33
    assert sum(len(rows) for _, rows, _, _ in CASES) > 650


@pytest.mark.parametrize("case", CASES, ids=[str(number) for number, *_ in CASES])
def test_verification_case(case):
    number, rows, line1, line2 = case
    if number in BAD_ON_PURPOSE:
        with pytest.raises(ValueError, match="checksum"):
            Orbit.from_tle(line1, line2)
        orbit = Orbit(Satrec.twoline2rv(line1, line2))
    else:
        orbit = Orbit.from_tle(line1, line2)
    epoch = Epoch("2006-01-01")
    start = epoch.seconds_to((orbit.satellite.jdsatepoch, orbit.satellite.jdsatepochF))
    if number == 33334:  # cannot be initialised; the printed row is the last one of the case before
        with pytest.raises(ValueError, match="SGP4 reports 'perturbed eccentricity"):
            orbit.teme(epoch, start)
        return
    # row by row, as they are printed: some theories remember where they were last
    for minutes, *state in rows:
        r, v = orbit.teme(epoch, start + 60.0 * minutes)
        assert 1e-3 * r[0] == pytest.approx(state[:3], abs=PRINTED_KM)
        assert 1e-3 * v[0] == pytest.approx(state[3:], abs=PRINTED_KM_PER_S)


def test_against_sgp4_itself(iss):
    orbit = Orbit.from_tle(*iss)
    r, v = orbit.teme(Epoch("2008-09-21T06:30:00"), [0.0, 1234.5])
    status, r_km, v_km = Satrec.twoline2rv(*iss).sgp4(*jday(2008, 9, 21, 6, 50, 34.5))
    assert status == 0
    assert r[1] == pytest.approx(1e3 * np.array(r_km), abs=1e-3)  # m: 1e-7 s of Julian date at 8 km/s
    assert v[1] == pytest.approx(1e3 * np.array(v_km), abs=1e-6)


def test_mean_elements_are_those_of_a_tle(iss):
    """The TLE's epoch, day 264.51782528 of 2008, has digits finer than a microsecond: 2e-5 s of motion."""
    given = MeanElements(
        epoch="2008-09-20T12:25:40.104192", mean_motion_rev_per_day=15.72125391, eccentricity=0.0006703,
        inclination_deg=51.6416, raan_deg=247.4627, argument_of_perigee_deg=130.5360, mean_anomaly_deg=325.0288,
        bstar=-0.11606e-4,
    )  # fmt: skip
    epoch, t = Epoch("2008-09-20T12:00:00"), np.linspace(0.0, 86400.0, 20)
    r, v = Orbit.from_mean_elements(given).teme(epoch, t)
    r_tle, v_tle = Orbit.from_tle(*iss).teme(epoch, t)
    assert np.abs(r - r_tle).max() < 0.2  # m
    assert np.abs(v - v_tle).max() < 2e-4  # m/s


def test_mean_motion_of_an_altitude(make_elements):
    assert mean_motion(35786.0) == pytest.approx(1.0027, abs=2e-4)  # geostationary
    orbit = Orbit.from_mean_elements(make_elements(mean_motion_rev_per_day=mean_motion(500.0), eccentricity=0.0))
    r, _ = orbit.teme(Epoch("2026-03-20"), np.linspace(0.0, orbit.period, 100))
    height = 1e-3 * np.linalg.norm(r, axis=1) - 6378.135
    assert abs(height.mean() - 500.0) < 15.0  # mean and osculating elements differ by kilometres
    assert np.ptp(height) > 5.0


def change(line, place, character):
    return line[:place] + character + line[place + 1 :]


def test_a_bad_checksum_is_one_clear_sentence(iss):
    line = change(iss[0], 68, "3")
    with pytest.raises(ValueError, match=r"^tle line 1 must end with its checksum 7, got '3' in '1 25544U") as error:
        Orbit.from_tle(line, iss[1])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("place", [9, 20, 30, 68])
@pytest.mark.parametrize("row", [0, 1])
def test_any_wrong_digit_is_noticed(iss, row, place):
    lines = list(iss)
    digit = lines[row][place]
    lines[row] = change(lines[row], place, "1" if not digit.isdigit() else str((int(digit) + 1) % 10))
    with pytest.raises(ValueError, match=f"tle line {row + 1}"):
        Orbit.from_tle(*lines)


@pytest.mark.parametrize(
    ("line1", "line2", "message"),
    [
        (None, 1, "tle line 1 must be a string"),
        ("1 25544U", 1, "tle line 1 must start with '1 ' and have 69 characters"),
        (1, 0, "tle line 2 must start with '2 '"),
    ],
)
def test_other_bad_lines(iss, line1, line2, message):
    pick = (iss[0], iss[1])
    with pytest.raises(ValueError, match=message):
        Orbit.from_tle(line1 if line1 is None or isinstance(line1, str) else pick[0], pick[line2])


def test_lines_of_two_satellites(iss):
    other = "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667"
    with pytest.raises(ValueError, match="same satellite, got '25544' and '00005'"):
        Orbit.from_tle(iss[0], other)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("eccentricity", 1.2, "eccentricity must lie between 0 and 1, got 1.2"),
        ("inclination_deg", -3.0, "inclination_deg must lie between 0 and 180, got -3.0"),
        ("raan_deg", 1e4, "raan_deg must lie between -360 and 360"),
        ("mean_motion_rev_per_day", 0.0, "mean_motion_rev_per_day must be greater than zero"),
        ("bstar", float("nan"), "bstar must be finite"),
        ("epoch", "soon", "epoch must be an ISO 8601 date"),
    ],
)
def test_bad_elements(make_elements, name, value, message):
    with pytest.raises(ValueError, match=message):
        make_elements(**{name: value})


def test_negative_angles_are_the_same_as_positive_ones(make_elements):
    a, b = (Orbit.from_mean_elements(make_elements(raan_deg=x)).teme(Epoch("2026-03-20"), 0.0) for x in (-90, 270))
    assert np.array_equal(a[0], b[0])


def test_an_orbit_below_the_ground_is_refused(make_elements):
    orbit = Orbit.from_mean_elements(make_elements(mean_motion_rev_per_day=16.5, bstar=0.1))
    with pytest.raises(ValueError, match=r"orbit cannot be propagated to 2026-04-.* UTC: SGP4 reports"):
        orbit.teme(Epoch("2026-03-20"), np.linspace(0.0, 40 * 86400.0, 2))
