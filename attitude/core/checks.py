"""Checks at the door: each returns a clean float64 value or raises one `ValueError` that names the field."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array

UNIT_TOLERANCE = 1e-6  # how far from 1 the norm of a given quaternion may be; it is then normalised
MOST = 2**53  # largest count: beyond it floats skip whole numbers
LEAST_MOMENT, GREATEST_MOMENT = 1e-20, 1e20  # kg m²: squares and products of moments stay far from overflow
SYMMETRY_TOLERANCE = 1e-9  # relative to the largest entry: what rounding in a CAD export leaves


def array(value: ArrayLike, name: str, shape: tuple[int | None, ...]) -> Array:
    """Finite float64 C-contiguous copy of `value`; `None` in `shape` allows any length."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO":  # NumPy would drop an imaginary part, and read text
            raise TypeError
        result = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of numbers of shape {_show(shape)}, got {value!r}") from None
    if len(result.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, result.shape, strict=True)):
        raise ValueError(f"{name} must have shape {_show(shape)}, got {result.shape}")
    if not np.isfinite(result).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name} must be finite, got {result[index]} at index {list(index)}")
    return result


def _show(shape: tuple[int | None, ...]) -> str:
    inner = ", ".join("N" if n is None else str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def number(value: Any, name: str) -> float:
    """Finite float."""
    try:
        if isinstance(value, str | bytes | complex | np.complexfloating):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {result}")
    return result


def positive(value: Any, name: str) -> float:
    """Finite float above zero."""
    result = number(value, name)
    if result <= 0.0:
        raise ValueError(f"{name} must be greater than zero, got {result}")
    return result


def not_negative(value: Any, name: str) -> float:
    """Finite float, zero allowed."""
    result = number(value, name)
    if result < 0.0:
        raise ValueError(f"{name} must not be negative, got {result}")
    return result


def count(value: Any, name: str, least: int = 1) -> int:
    """Whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if value > MOST:
        raise ValueError(f"{name} must be a whole number of at most 2^53, got {value!r}")
    return int(value)


def unit_quaternion(value: ArrayLike, name: str) -> Array:
    """Unit quaternion `(4,)`, normalised; farther than 1e-6 from unit norm is an error."""
    q = array(value, name, (4,))
    norm = math.hypot(*q)  # no overflow, whatever was given
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        raise ValueError(f"{name} must be a unit quaternion [x, y, z, w] within {UNIT_TOLERANCE}, got norm {norm:.9g}")
    return np.asarray(q / norm)


def unit_axis(value: ArrayLike, name: str) -> Array:
    """Direction `(3,)`, normalised; zero length is an error."""
    axis = array(value, name, (3,))
    largest = float(np.abs(axis).max())
    if largest == 0.0:
        raise ValueError(f"{name} must not have zero length, got {axis.tolist()}")
    axis = axis / largest  # so that squares neither overflow nor vanish
    return np.asarray(axis / np.linalg.norm(axis))


def inertia(value: ArrayLike, name: str = "inertia") -> Array:
    """Symmetric positive definite 3×3, kg·m²; one that no mass distribution has is allowed with a warning."""
    matrix = array(value, name, (3, 3))
    scale = float(np.abs(matrix).max())
    if scale > GREATEST_MOMENT:
        raise ValueError(f"{name} must be at most {GREATEST_MOMENT:g} kg m^2, got {scale:g}")
    if np.abs(0.5 * matrix - 0.5 * matrix.T).max() > 0.5 * SYMMETRY_TOLERANCE * scale:
        raise ValueError(f"{name} must be symmetric, got {matrix.tolist()}")
    matrix = 0.5 * matrix + 0.5 * matrix.T
    moments = np.linalg.eigvalsh(matrix)
    if moments[0] <= max(1e-12 * scale, LEAST_MOMENT):
        raise ValueError(f"{name} must be symmetric positive definite, got eigenvalues {moments.tolist()}")
    if moments[2] > (moments[0] + moments[1]) * (1.0 + SYMMETRY_TOLERANCE):
        warnings.warn(
            f"{name} breaks the triangle inequality: no rigid mass distribution has the principal moments "
            f"{moments.tolist()} kg m^2; the motion is computed all the same",
            stacklevel=3,
        )
    return matrix


def principal_axes(matrix: Array) -> tuple[Array, Array]:
    """Principal moments `(3,)` and the rotation `R_BP` whose columns are the principal axes in body axes.

    A diagonal matrix keeps its order and axes, so that nothing is rotated without need.
    """
    if np.count_nonzero(matrix - np.diag(np.diagonal(matrix))) == 0:
        return np.diagonal(matrix).copy(), np.eye(3)
    moments, axes = np.linalg.eigh(matrix)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return moments, np.ascontiguousarray(axes)
