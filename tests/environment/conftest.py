"""Orbits that the tests of the environment share."""

import pytest

from attitude.environment.grid import Environment
from attitude.environment.orbit import MeanElements, Orbit, mean_motion

ISS = (  # elements of 2008, a worked example on Wikipedia's page on two-line element sets
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927",
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537",
)


def elements(**changes):
    given = {
        "epoch": "2026-03-20T00:00:00", "mean_motion_rev_per_day": mean_motion(500.0), "eccentricity": 0.001,
        "inclination_deg": 97.4, "raan_deg": 30.0, "argument_of_perigee_deg": 40.0, "mean_anomaly_deg": 350.0,
        "bstar": 1e-5,
    }  # fmt: skip
    return MeanElements(**{**given, **changes})


@pytest.fixture(scope="session")
def iss():
    return ISS


@pytest.fixture(scope="session")
def make_elements():
    return elements


ORBITS = {
    "sun-synchronous": (elements(), "2026-03-20T12:00:00"),
    "over the poles, low": (
        elements(inclination_deg=90.0, mean_motion_rev_per_day=mean_motion(250.0), eccentricity=1e-4),
        "2026-06-21T00:00:00",
    ),
    "transfer orbit, perigee 210 km": (
        elements(mean_motion_rev_per_day=2.27, eccentricity=0.73, inclination_deg=7.0),
        "2026-03-20T00:00:00",
    ),
    "over the change of field model": (elements(), "2024-12-31T23:00:00"),
}


@pytest.fixture(scope="session", params=sorted(ORBITS))
def grid(request):
    mean, epoch = ORBITS[request.param]
    orbit = Orbit.from_mean_elements(mean)
    made = Environment(orbit=orbit, epoch=epoch, earth_albedo=0.3).grid(9000.0)
    return orbit, made
