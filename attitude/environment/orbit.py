"""Orbit by SGP4 from a two-line element set or from mean elements.

The elements of a TLE are mean elements: averages that fit the SGP4 theory (Kozai mean motion, WGS-72 constants), not
the osculating Kepler elements of a position and velocity, from which they differ by kilometres. The same goes for
`MeanElements`. The result is in TEME axes; `attitude.environment.frames` turns it into inertial or Earth-fixed axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sgp4.api import SGP4_ERRORS, WGS72, Satrec
from sgp4.io import compute_checksum

from attitude.core import checks
from attitude.core.jit import Array
from attitude.environment.epoch import DAY, Epoch

TLE_LENGTH = 69
SGP4_DAY_ZERO = datetime(1949, 12, 31)  # SGP4 counts days from here
WGS72_MU = 3.986008e14  # m³/s²
WGS72_RADIUS = 6378135.0  # m


@dataclass(frozen=True, kw_only=True)
class MeanElements:
    """SGP4 mean elements in TEME axes at their own epoch; `bstar` is the drag term of a TLE, 1/Earth radii."""

    epoch: datetime | str
    mean_motion_rev_per_day: float
    eccentricity: float
    inclination_deg: float
    raan_deg: float
    argument_of_perigee_deg: float
    mean_anomaly_deg: float
    bstar: float = 0.0

    def __post_init__(self) -> None:
        """Check every element."""
        Epoch(self.epoch)
        checks.positive(self.mean_motion_rev_per_day, "mean_motion_rev_per_day")
        _between(self.eccentricity, "eccentricity", 0.0, 1.0)
        _between(self.inclination_deg, "inclination_deg", 0.0, 180.0)
        for name in ("raan_deg", "argument_of_perigee_deg", "mean_anomaly_deg"):
            _between(getattr(self, name), name, -360.0, 360.0)
        checks.number(self.bstar, "bstar")


def mean_motion(altitude_km: float) -> float:
    """Mean motion, rev/day, of a circular orbit at a mean altitude above the equatorial radius (Kepler's third law)."""
    a = WGS72_RADIUS + 1e3 * checks.positive(altitude_km, "altitude_km")
    return math.sqrt(WGS72_MU / a**3) * DAY / (2.0 * math.pi)


class Orbit:
    """An orbit that SGP4 can propagate; make one by `from_tle` or `from_mean_elements`."""

    def __init__(self, satellite: Any) -> None:
        """Take an `sgp4.api.Satrec` that is already initialised."""
        self.satellite = satellite

    @classmethod
    def from_tle(cls, line1: str, line2: str) -> Orbit:
        """Two lines of 69 characters, checksums included."""
        one, two = (_tle_line(line, number) for number, line in ((1, line1), (2, line2)))
        if one[2:7] != two[2:7]:
            raise ValueError(f"tle lines must name the same satellite, got {one[2:7]!r} and {two[2:7]!r}")
        try:
            satellite = Satrec.twoline2rv(one, two)
        except ValueError:
            raise ValueError(f"tle must follow the two-line element format, got {one!r} and {two!r}") from None
        return cls(_initialised(satellite))

    @classmethod
    def from_mean_elements(cls, elements: MeanElements) -> Orbit:
        """SGP4 mean elements, see `MeanElements`."""
        days = (Epoch(elements.epoch).calendar() - SGP4_DAY_ZERO).total_seconds() / DAY
        angles = {name: math.radians(getattr(elements, name) % 360.0) for name in _ANGLES}
        satellite = Satrec()
        satellite.sgp4init(
            WGS72, "i", 0, days, elements.bstar, 0.0, 0.0, elements.eccentricity, angles["argument_of_perigee_deg"],
            math.radians(elements.inclination_deg), angles["mean_anomaly_deg"],
            elements.mean_motion_rev_per_day * 2.0 * math.pi / 1440.0, angles["raan_deg"],
        )  # fmt: skip
        return cls(_initialised(satellite))

    @property
    def period(self) -> float:
        """Mean period, s."""
        return 60.0 * 2.0 * math.pi / float(self.satellite.no_kozai)

    def age_days(self, epoch: Epoch) -> float:
        """Days from the epoch of the elements to `epoch`."""
        return -epoch.seconds_to((self.satellite.jdsatepoch, self.satellite.jdsatepochF)) / DAY

    def teme(self, epoch: Epoch, t: ArrayLike) -> tuple[Array, Array]:
        """Position, m, and velocity, m/s, in TEME axes, each `(N, 3)`, at `t` `(N,)` seconds after `epoch`."""
        t = checks.array(np.atleast_1d(np.asarray(t)), "t", (None,))
        sat = self.satellite
        since = t - epoch.seconds_to((sat.jdsatepoch, sat.jdsatepochF))
        status, r, v = sat.sgp4_array(np.full(t.size, sat.jdsatepoch), sat.jdsatepochF + since / DAY)
        if status.any():
            first = int(np.argmax(status != 0))
            raise ValueError(
                f"orbit cannot be propagated to {epoch.calendar(t[first]).isoformat()} UTC: SGP4 reports "
                f"{SGP4_ERRORS[int(status[first])]!r}"
            )
        return 1e3 * r, 1e3 * v


_ANGLES = ("raan_deg", "argument_of_perigee_deg", "mean_anomaly_deg")


def _between(value: float, name: str, low: float, high: float) -> None:
    if not low <= checks.number(value, name) <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {value}")


def _tle_line(line: str, number: int) -> str:
    """One line without trailing blanks, checked for length, number and checksum."""
    name = f"tle line {number}"
    if not isinstance(line, str):
        raise ValueError(f"{name} must be a string of {TLE_LENGTH} characters, got {line!r}")
    line = line.rstrip()
    if len(line) != TLE_LENGTH or not line.isascii() or not line.startswith(f"{number} "):
        raise ValueError(f"{name} must start with '{number} ' and have {TLE_LENGTH} characters, got {line!r}")
    if line[-1] != str(compute_checksum(line)):
        raise ValueError(f"{name} must end with its checksum {compute_checksum(line)}, got {line[-1]!r} in {line!r}")
    return line


def _initialised(satellite: Any) -> Any:
    if satellite.error:
        raise ValueError(f"orbit elements are not usable: SGP4 reports {SGP4_ERRORS[satellite.error]!r}")
    return satellite
