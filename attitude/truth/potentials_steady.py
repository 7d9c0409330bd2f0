"""Steady turns of a pendulum about the vertical: the directions `γ` with `(d γ + b) × γ = 0`, all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from attitude.core.jit import Array

ZERO = 1e-12  # relative: a component of b that counts as zero
ROOT = 1e-8  # relative residual by which a root is genuine, and imaginary part by which it is real
SAME = 1e-6  # rad: two directions closer than this are one solution


def steady_directions(d: Array, b: Array) -> Array:
    """Unit `γ` `(N, 3)` with `(d γ + b) × γ = 0`, `d` diagonal; one of each family where a circle of them solves it.

    `(d_i + λ) γ_i = −b_i`: roots λ of `Σ b_i²/(d_i + λ)² = 1`, and where `b_i = 0` also `λ = −d_i` with `γ_i` free.
    """
    scale = float(max(np.abs(d).max(), np.linalg.norm(b)))
    d, b = d / scale, np.where(np.abs(b) <= ZERO * scale, 0.0, b / scale)
    found = [_direction(d, b, float(root.real)) for root in _secular_roots(d, b) if abs(root.imag) <= ROOT]
    for i in np.flatnonzero(b == 0.0):
        found += _free_directions(d, b, int(i))
    distinct: list[Array] = []
    for gamma in found:
        genuine = np.abs(np.cross(d * gamma + b, gamma)).max() <= ROOT
        if genuine and all(np.linalg.norm(gamma - other) > SAME for other in distinct):
            distinct.append(gamma)
    return np.array(distinct)


def _secular_roots(d: Array, b: Array) -> Any:
    """Roots λ of `Σ b_i² Π_{j≠i} (d_j + λ)² = Π_j (d_j + λ)²`, over the axes that carry weight."""
    loaded = np.flatnonzero(b)
    squares = [np.polymul([1.0, d[i]], [1.0, d[i]]) for i in loaded]
    total = np.array([1.0])
    for square in squares:
        total = np.polymul(total, square)
    for k, i in enumerate(loaded):
        others = np.array([1.0])
        for j in range(len(loaded)):
            if j != k:
                others = np.polymul(others, squares[j])
        total = np.polysub(total, b[i] ** 2 * others)
    return np.roots(total)


def _direction(d: Array, b: Array, root: float) -> Array:
    """`γ = −b/(d + λ)`, made unit after two Newton steps on λ (a companion matrix gives half the digits at best)."""
    loaded = b != 0.0
    for _ in range(2):
        gap = d[loaded] + root
        with np.errstate(all="ignore"):
            correction = (np.sum((b[loaded] / gap) ** 2) - 1.0) / (2.0 * np.sum(b[loaded] ** 2 / gap**3))
        root += correction if np.isfinite(correction) and abs(correction) < 1e-3 else 0.0
    gap = np.where(d + root == 0.0, 1.0, d + root)
    gamma = -b / gap
    return np.asarray(gamma / np.linalg.norm(gamma))


def _free_directions(d: Array, b: Array, i: int) -> list[Array]:
    """Solutions with `λ = −d_i`: `γ_i = ±√(1 − Σ γ_j²)`."""
    gap = d - d[i]
    if np.any((gap == 0.0) & (b != 0.0)):
        return []
    gamma = -b / np.where(gap == 0.0, 1.0, gap)
    rest = 1.0 - float(gamma @ gamma)
    if rest < 0.0:
        return []
    return [gamma + sign * np.sqrt(rest) * np.eye(3)[i] for sign in (1.0, -1.0)]
