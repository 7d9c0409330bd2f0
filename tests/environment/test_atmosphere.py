import numpy as np
import pytest

from attitude.environment import frames
from attitude.environment.atmosphere import ExponentialAtmosphere


def test_printed_example():
    """Vallado 2013, example 8-4: 747.2119 km."""
    assert ExponentialAtmosphere().density(747211.9) == pytest.approx(2.1219854e-14, rel=1e-7)


def test_formula_in_one_band():
    air = ExponentialAtmosphere(bands=[[400.0, 2e-12, 60.0]], factor=3.0)
    height = np.array([100e3, 400e3, 460e3, 900e3])
    assert air.density(height) == pytest.approx(6e-12 * np.exp(-(height - 400e3) / 60e3), rel=1e-14)


def test_bands_meet_and_fall():
    air = ExponentialAtmosphere()
    bases = 1e3 * np.asarray(air.bands)[1:, 0]
    below, above = air.density(bases - 1e-3), air.density(bases)
    assert above == pytest.approx(np.asarray(air.bands)[1:, 1], rel=1e-14)
    assert above == pytest.approx(below, rel=1.5e-3)  # as printed; above 30 km to four digits
    assert (np.diff(air.density(np.linspace(0.0, 1.5e6, 1000))) < 0.0).all()


def test_height_is_above_the_ellipsoid():
    air = ExponentialAtmosphere()
    r_E = frames.from_geodetic([0.0, 1.0], [0.0, 1.5], [5e5, 5e5])
    assert air.density_at(r_E, np.zeros(2)) == pytest.approx(np.full(2, 6.967e-13), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"factor": -1.0}, "factor must not be negative, got -1.0"),
        ({"bands": [[0.0, 1.0, -7.0]]}, "bands must have rising heights"),
        ({"bands": [[10.0, 1.0, 7.0], [5.0, 1.0, 7.0]]}, "bands must have rising heights"),
        ({"bands": [[10.0, 1.0]]}, "bands must have shape"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(ValueError, match=message):
        ExponentialAtmosphere(**given)
