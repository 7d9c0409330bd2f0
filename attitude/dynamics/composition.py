"""Symmetric compositions: weights that raise a symmetric second-order step to order 4 and 6.

A step of `h` becomes steps of `γ₁h, γ₂h, …`, some of them backwards. With few stages the error is largest; these two
have more stages and far smaller errors than the triple jump.
"""

from __future__ import annotations

import numpy as np

from attitude.core.jit import Array


def stages(order: int) -> Array:
    """Weights for order 2 (one step), 4 (Suzuki 1990, five stages) or 6 (Kahan and Li 1997, nine stages)."""
    if order == 2:
        return np.array([1.0])
    if order == 4:
        outer = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
        return np.array([outer, outer, 1.0 - 4.0 * outer, outer, outer])
    if order == 6:
        half = [0.39216144400731413928, 0.33259913678935943860, -0.70624617255763935981, 0.082213596293550800230]
        return np.array([*half, 1.0 - 2.0 * sum(half), *reversed(half)])
    raise ValueError(f"order must be 2, 4 or 6 for a composition, got {order!r}")
