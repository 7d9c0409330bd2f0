"""Rigid bodies of the full body problem: sets of mass points, each a point or a uniform sphere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion
from attitude.core.jit import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Body:
    """Rigid set of mass points: `masses` `(k,)`, kg, at `points` `(k, 3)`, m, in body axes from any origin.

    A point of radius r (`radii` `(k,)`, m) is a uniform sphere: it attracts like its centre and adds 2/5 m r² to the
    inertia. `inertia` `(3, 3)`, kg m², about the mass centre, replaces the one that follows from the mass points.
    """

    masses: ArrayLike
    points: ArrayLike
    radii: ArrayLike | None = None
    inertia: ArrayLike | None = None
    mass: float = field(init=False)  # kg
    moments: Array = field(init=False, repr=False)  # principal moments of inertia (3,), kg m²
    axes: Array = field(init=False, repr=False)  # R_BP (3, 3): principal axes in body axes
    principal_points: Array = field(init=False, repr=False)  # (k, 3), m: from the mass centre, in principal axes

    def __post_init__(self) -> None:
        """Check the mass points, and bring them to the mass centre and into principal axes."""
        masses = checks.array(self.masses, "masses", (None,))
        if masses.size == 0 or masses.min() <= 0.0:
            raise ValueError(f"masses must all be greater than zero, got {masses.tolist()}")
        points = checks.array(self.points, "points", (masses.size, 3))
        points -= masses @ points / masses.sum()
        moments, axes = checks.principal_axes(self._inertia(masses, points))
        derived = {"masses": masses, "mass": float(masses.sum()), "moments": moments, "axes": axes}
        for name, value in {**derived, "principal_points": np.ascontiguousarray(points @ axes)}.items():
            object.__setattr__(self, name, value)

    def _inertia(self, masses: Array, points: Array) -> Array:
        if self.inertia is not None:
            return checks.inertia(self.inertia)
        radii = np.zeros(masses.size) if self.radii is None else checks.array(self.radii, "radii", (masses.size,))
        if radii.min() < 0.0:
            raise ValueError(f"radii must not be negative, got {radii.tolist()}")
        return checks.inertia(_points_inertia(masses, points, radii), "inertia of the mass points")


def _points_inertia(masses: Array, points: Array, radii: Array) -> Array:
    """`Σ m (ρ·ρ 1 − ρ ρᵀ) + 2/5 m r² 1`, kg m²."""
    second = np.einsum("k,ki,kj->ij", masses, points, points)
    return np.asarray((np.trace(second) + 0.4 * masses @ radii**2) * np.eye(3) - second)


def dumbbell(mass: float, length: float, radius: float) -> Body:
    """Two equal spheres of `radius` m, `mass` kg together, centres `length` m apart on the x axis (LLM 2007, 5.1)."""
    half, end = 0.5 * checks.positive(mass, "mass"), 0.5 * checks.positive(length, "length")
    radius = checks.positive(radius, "radius")
    return Body(masses=[half, half], points=[[end, 0.0, 0.0], [-end, 0.0, 0.0]], radii=[radius, radius])


def sphere(mass: float, radius: float) -> Body:
    """Uniform sphere of `mass` kg and `radius` m."""
    return Body(
        masses=[checks.positive(mass, "mass")], points=[[0.0, 0.0, 0.0]], radii=[checks.positive(radius, "radius")]
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class BodyState:
    """Mass centre `x`, m, and velocity `v`, m/s, inertial axes, `(3,)`; attitude `q`; body rate `omega_B`, rad/s."""

    x: ArrayLike
    v: ArrayLike
    q: ArrayLike = (0.0, 0.0, 0.0, 1.0)
    omega_B: ArrayLike = (0.0, 0.0, 0.0)
    R_IB: Array = field(init=False, repr=False)  # (3, 3), of q

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ("x", "v", "omega_B"):
            object.__setattr__(self, name, checks.array(getattr(self, name), name, (3,)))
        q = checks.unit_quaternion(self.q, "q")
        object.__setattr__(self, "q", q)
        object.__setattr__(self, "R_IB", quaternion.to_matrix(q))
