"""Air density: exponential in bands of height by default, or any model with the same method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array
from attitude.environment import frames

# height of the band's base, km; density there, kg/m³; scale height, km (Vallado 2013, table 8-4, after CIRA-72)
_BANDS = np.array([
    [0, 1.225, 7.249], [25, 3.899e-2, 6.349], [30, 1.774e-2, 6.682], [40, 3.972e-3, 7.554], [50, 1.057e-3, 8.382],
    [60, 3.206e-4, 7.714], [70, 8.770e-5, 6.549], [80, 1.905e-5, 5.799], [90, 3.396e-6, 5.382],
    [100, 5.297e-7, 5.877], [110, 9.661e-8, 7.263], [120, 2.438e-8, 9.473], [130, 8.484e-9, 12.636],
    [140, 3.845e-9, 16.149], [150, 2.070e-9, 22.523], [180, 5.464e-10, 29.740], [200, 2.789e-10, 37.105],
    [250, 7.248e-11, 45.546], [300, 2.418e-11, 53.628], [350, 9.518e-12, 53.298], [400, 3.725e-12, 58.515],
    [450, 1.585e-12, 60.828], [500, 6.967e-13, 63.822], [600, 1.454e-13, 71.835], [700, 3.614e-14, 88.667],
    [800, 1.170e-14, 124.64], [900, 5.245e-15, 181.05], [1000, 3.019e-15, 268.00],
])  # fmt: skip


class Atmosphere(Protocol):
    """What the environment needs of a density model."""

    def density_at(self, r_E: Array, t: Array) -> Array:
        """Density, kg/m³, `(N,)`, at `r_E` `(N, 3)`, m, Earth-fixed, `t` `(N,)` seconds after the epoch."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ExponentialAtmosphere:
    """`ρ = factor ρ0 exp(−(h − h0) / H)` in bands of height above the ellipsoid (Vallado 2013, section 8.6).

    `bands` `(N, 3)`: base height, km, density there, kg/m³, and scale height, km. The default is a mean atmosphere:
    at 500 km the air is several times thinner at solar minimum and several times denser at maximum, hence `factor`.
    """

    factor: float = 1.0
    bands: ArrayLike = field(default_factory=_BANDS.copy, repr=False)

    def __post_init__(self) -> None:
        """Check the factor and the bands."""
        bands = checks.array(self.bands, "bands", (None, 3))
        if not (bands.size and (bands[:, 1:] > 0.0).all() and (np.diff(bands[:, 0]) > 0.0).all()):
            raise ValueError("bands must have rising heights with densities and scale heights greater than zero")
        object.__setattr__(self, "bands", bands)
        object.__setattr__(self, "factor", checks.not_negative(self.factor, "factor"))

    def density(self, height: ArrayLike) -> Array:
        """Density, kg/m³, at a height above the ellipsoid, m."""
        bands = np.asarray(self.bands)
        h = 1e-3 * np.asarray(height, dtype=np.float64)
        base, density, scale = bands[np.searchsorted(bands[:, 0], h, side="right").clip(1) - 1].T
        return np.asarray(self.factor * density.T * np.exp((base.T - h) / scale.T))

    def density_at(self, r_E: Array, t: Array) -> Array:
        """Density, kg/m³, `(N,)`, at Earth-fixed positions `(N, 3)`, m; the same at all times."""
        return self.density(frames.geodetic(r_E)[2])
