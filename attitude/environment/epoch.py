"""The scenario's epoch, UTC, and the time scales that go with seconds since then.

Time everywhere in the toolkit is seconds of atomic time since the epoch, so that a leap second is no jump. UT1 − UTC is
zero unless given (it is below 0.9 s, which is 0.4 km at the equator); polar motion is taken as zero (below 15 m on
the ground).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import erfa
import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array

FIRST_YEAR, LAST_YEAR = 1972, 2100  # UTC with whole leap seconds; beyond, nobody can say how the Earth turns
DAY = 86400.0  # s
MAX_UT1_MINUS_UTC = 0.9  # s, by the definition of UTC

JulianDate: TypeAlias = tuple[Array, Array]  # two parts, days, so that no precision is lost


@dataclass(frozen=True)
class Epoch:
    """Start of a scenario: `utc` is an ISO 8601 string or a `datetime` (without a time zone it means UTC).

    `ut1_minus_utc`, s, is taken as constant over the scenario.
    """

    utc: datetime | str
    ut1_minus_utc: float = 0.0
    start: datetime = field(init=False, repr=False, compare=False)
    _tai: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check, and keep the epoch as a `datetime` in UTC and as atomic time."""
        when = _datetime(self.utc)
        dut1 = checks.number(self.ut1_minus_utc, "ut1_minus_utc")
        if abs(dut1) > MAX_UT1_MINUS_UTC:
            raise ValueError(f"ut1_minus_utc must be within {MAX_UT1_MINUS_UTC} s of zero, got {dut1}")
        object.__setattr__(self, "start", when)
        object.__setattr__(self, "ut1_minus_utc", dut1)
        object.__setattr__(self, "_tai", _tai(when))

    def tai(self, t: ArrayLike) -> JulianDate:
        """Atomic time `t` seconds after the epoch, Julian date in two parts."""
        days, rest = np.divmod(np.asarray(t, dtype=np.float64), DAY)
        return self._tai[0] + days, self._tai[1] + rest / DAY

    def tt(self, t: ArrayLike) -> JulianDate:
        """Terrestrial time; it also stands for barycentric dynamical time (they differ by less than 2 ms)."""
        one, two = erfa.taitt(*self.tai(t))
        return one, two

    def ut1(self, t: ArrayLike) -> JulianDate:
        """Universal time, the Earth's rotation."""
        with _silent():
            one, two = erfa.utcut1(*erfa.taiutc(*self.tai(t)), self.ut1_minus_utc)
        return one, two

    def seconds_to(self, julian_date: tuple[float, float]) -> float:
        """Seconds of atomic time from here to a UTC Julian date in two parts."""
        with _silent():
            one, two = erfa.utctai(*julian_date)
        return float(((one - self._tai[0]) + (two - self._tai[1])) * DAY)

    def calendar(self, t: float = 0.0) -> datetime:
        """Calendar date, UTC without time zone, `t` seconds after the epoch; leap seconds in between are ignored."""
        return self.start.replace(tzinfo=None) + timedelta(seconds=t)


def _datetime(value: datetime | str) -> datetime:
    """The epoch as a `datetime` in UTC."""
    try:
        when = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"epoch must be an ISO 8601 date such as 2026-03-20T12:00:00, got {value!r}") from None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    if not FIRST_YEAR <= when.year <= LAST_YEAR:
        raise ValueError(f"epoch must lie in the years {FIRST_YEAR} to {LAST_YEAR}, got {when.isoformat()}")
    return when


def _silent() -> warnings.catch_warnings[None]:
    """Without ERFA's remark that the leap seconds of future years are not known yet."""
    return warnings.catch_warnings(action="ignore", category=erfa.ErfaWarning)


def _tai(when: datetime) -> tuple[float, float]:
    seconds = when.second + 1e-6 * when.microsecond
    with _silent():
        utc = erfa.dtf2d("UTC", when.year, when.month, when.day, when.hour, when.minute, seconds)
        one, two = erfa.utctai(*utc)
    return float(one), float(two)
