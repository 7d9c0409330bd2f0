"""Continuous equations of Manchester and Peck 2016 and the midpoint rule, compiled, to compare with."""

from __future__ import annotations

import numpy as np

from attitude.core.jit import Array, allocating_kernel


@allocating_kernel
def free_rates(y: Array, J: Array) -> Array:
    """`[q̇, ω̇]` of a free body for `y = [q, ω]`, (9) and (21); principal moments `J` `(3,)`, kg·m²."""
    out = np.empty(y.size)
    x, v, z, w = y[0], y[1], y[2], y[3]
    a, b, c = y[4], y[5], y[6]
    out[0] = 0.5 * (w * a + v * c - z * b)
    out[1] = 0.5 * (w * b + z * a - x * c)
    out[2] = 0.5 * (w * c + x * b - v * a)
    out[3] = -0.5 * (x * a + v * b + z * c)
    out[4] = (J[1] - J[2]) * b * c / J[0]
    out[5] = (J[2] - J[0]) * c * a / J[1]
    out[6] = (J[0] - J[1]) * a * b / J[2]
    return out


@allocating_kernel
def damped_rates(y: Array, J: Array, damper_inertia: float, damping: float) -> Array:
    """`[q̇, ω̇, ω̇_D]` with the damper's torque (64), all in body axes, for `y = [q, ω, ω_D]`."""
    out = free_rates(y, J)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        torque = damping * (y[7 + i] - y[4 + i])
        out[4 + i] += torque / J[i]
        out[7 + i] = -torque / damper_inertia - (y[4 + j] * y[7 + k] - y[4 + k] * y[7 + j])
    return out


@allocating_kernel
def midpoint_run(y0: Array, J: Array, h: float, rows: Array) -> None:
    """Second-order midpoint rule from `y0`, one row a step, the attitude normalised."""
    y = y0.copy()
    rows[0] = y
    for n in range(1, rows.shape[0]):
        y = y + h * free_rates(y + 0.5 * h * free_rates(y, J), J)
        y[:4] /= np.sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3])
        rows[n] = y
