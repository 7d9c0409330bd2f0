"""Magnetorquers: dipole limit, lag, and a duty cycle that leaves the magnetometer quiet time; `τ = m × B`.

A cycle of `period_s` begins at every multiple of the period: the torquers follow their command for the first
`duty_cycle` of it and are off for the rest, so the field is best measured at the end of a cycle, which is the
beginning of the next. The dipole follows with a first-order lag. The state `(M,)` is the dipole of each torquer
now, A·m²: what a magnetometer nearby feels. A tick gives the mean dipole over its length, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.actuators.wheels import each
from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up

SETTLED = 7.0  # time constants after which a torquer that was switched off counts as quiet: 1e-3 of its dipole is left
LEAST_PERIOD = 1e-3  # s: a tick goes through every switch on its way
SLACK = 1e-9  # part of a period: a tick that ends on a switch does so in floating point too


class MagnetorquerParameters(NamedTuple):
    """What the kernels take: `axes` and `inverse` `(M, 3)`, `max_dipole` `(M,)`, A·m²; times in s."""

    axes: Array
    inverse: Array
    max_dipole: Array
    time_constant: float
    duty_cycle: float
    period: float


@kernel
def _phase(parameters: MagnetorquerParameters, t: float) -> float:
    """Seconds since the cycle began, from 0 to below the period."""
    turns = t / parameters.period
    return max(turns - math.floor(turns + SLACK), 0.0) * parameters.period


@kernel
def quiet_kernel(parameters: MagnetorquerParameters, t: float) -> bool:
    """Whether the torquers are off and settled at the instant `t`; the beginning of a cycle is the end of the last."""
    p = parameters
    on = p.duty_cycle * p.period
    phase = _phase(p, t)
    if phase <= SLACK * p.period:
        phase = p.period
    return phase > on and phase - on >= SETTLED * p.time_constant - SLACK * p.period


@kernel
def undisturbed_kernel(parameters: MagnetorquerParameters, t: float) -> bool:
    """Whether to trust a magnetometer at `t`: no torquers, torquers that leave no quiet time to wait for, or quiet."""
    return parameters.axes.shape[0] == 0 or parameters.duty_cycle >= 1.0 or quiet_kernel(parameters, t)


@kernel
def _follow(dipole: float, target: float, time_constant: float, h: float) -> tuple[float, float]:
    """Dipole after `h` seconds of lag towards `target`, and its integral over them."""
    if time_constant == 0.0:
        return target, target * h
    decayed = -math.expm1(-h / time_constant)
    return dipole + (target - dipole) * decayed, target * h + (dipole - target) * time_constant * decayed


@kernel
def _one_torquer(
    parameters: MagnetorquerParameters, dipole: float, command: float, t: float, h: float
) -> tuple[float, float]:
    """Dipole at the end of a tick, and its mean over the tick, through every switch of the cycle on the way."""
    p = parameters
    on, phase, left, total = p.duty_cycle * p.period, _phase(p, t), h, 0.0
    while left > SLACK * p.period:
        active = phase < on - SLACK * p.period
        until = on if active else p.period
        part = min(until - phase, left)
        if left - part <= SLACK * p.period:
            part = left
        dipole, integral = _follow(dipole, command if active else 0.0, p.time_constant, part)
        total += integral
        left -= part
        phase = on if active and on < p.period else 0.0
    return dipole, total / h


@kernel
def magnetorquers_kernel(
    parameters: MagnetorquerParameters, dipoles: Array, command: Array, t: float, h: float, mean_dipole_B: Array
) -> int:
    """One tick from `t` to `t + h`: mean dipole `(3,)` in body axes, A·m²; `dipoles` `(M,)` moves on.

    `command` `(M,)`, A·m², is cut at each torquer's limit and is off where it is not finite. Returns how many met it.
    """
    p = parameters
    mean_dipole_B[0] = mean_dipole_B[1] = mean_dipole_B[2] = 0.0
    limited = 0
    for i in range(dipoles.size):
        given = min(max(command[i], -p.max_dipole[i]), p.max_dipole[i]) if math.isfinite(command[i]) else 0.0
        if given != command[i]:
            limited += 1
        dipoles[i], mean = _one_torquer(p, dipoles[i], given, t, h)
        for j in range(3):
            mean_dipole_B[j] += p.axes[i, j] * mean
    return limited


@kernel
def allocate_dipole_kernel(parameters: MagnetorquerParameters, dipole_B: Array, command: Array) -> float:
    """Commands `(M,)` whose mean over a cycle is `dipole_B`, all scaled alike to fit; returns the share given.

    A set of fewer than three axes gives the nearest dipole it can.
    """
    p = parameters
    share = 1.0
    for i in range(command.size):
        g = p.inverse
        command[i] = (g[i, 0] * dipole_B[0] + g[i, 1] * dipole_B[1] + g[i, 2] * dipole_B[2]) / p.duty_cycle
        if abs(command[i]) > p.max_dipole[i]:
            share = min(share, p.max_dipole[i] / abs(command[i]))
    for i in range(command.size):
        command[i] *= share
    return share


@kernel
def magnetic_torque_kernel(dipole_B: Array, field_B: Array, torque_B: Array) -> None:
    """`τ = m × B`, N·m; field in T."""
    m1, m2, m3, b1, b2, b3 = dipole_B[0], dipole_B[1], dipole_B[2], field_B[0], field_B[1], field_B[2]
    torque_B[0], torque_B[1], torque_B[2] = m2 * b3 - m3 * b2, m3 * b1 - m1 * b3, m1 * b2 - m2 * b1


@dataclass(frozen=True, kw_only=True, eq=False)
class Magnetorquers:
    """Set of M magnetorquers: `axes` `(M, 3)` body axes, normalised here; `max_dipole_Am2` one for all or for each.

    On for the first `duty_cycle` (0 to 1) of every `period_s`; `time_constant_s` is the lag of the dipole, 0 for none.
    """

    axes: ArrayLike
    max_dipole_Am2: ArrayLike
    duty_cycle: float
    period_s: float
    time_constant_s: float = 0.0

    def __post_init__(self) -> None:
        given = checks.array(self.axes, "axes", (None, 3))
        size = checks.count(len(given), "number of magnetorquer axes")
        axes = np.array([checks.unit_axis(axis, f"axes[{i}]") for i, axis in enumerate(given)])
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "max_dipole_Am2", each(self.max_dipole_Am2, "max_dipole_Am2", size, zero=False))
        if checks.positive(self.duty_cycle, "duty_cycle") > 1.0:
            raise ValueError(f"duty_cycle must be at most 1, got {self.duty_cycle}")
        if checks.positive(self.period_s, "period_s") < LEAST_PERIOD:
            raise ValueError(f"period_s must be at least {LEAST_PERIOD:g} s, got {self.period_s}")
        checks.not_negative(self.time_constant_s, "time_constant_s")

    def parameters(self) -> MagnetorquerParameters:
        """Fresh arrays and numbers for the kernels, SI units."""
        axes = np.array(self.axes)
        return MagnetorquerParameters(
            axes=axes,
            inverse=np.ascontiguousarray(np.linalg.pinv(axes.T)),
            max_dipole=np.array(self.max_dipole_Am2),
            time_constant=float(self.time_constant_s),
            duty_cycle=float(self.duty_cycle),
            period=float(self.period_s),
        )

    def initial_state(self) -> Array:
        """All torquers off, `(M,)`."""
        return np.zeros(len(np.asarray(self.axes)))

    def quiet(self, t: float) -> bool:
        """Whether a magnetometer sample taken at `t` seconds is free of the torquers' field."""
        return bool(quiet_kernel(self.parameters(), checks.number(t, "t")))

    def command(self, dipole_B: ArrayLike) -> Array:
        """Commands `(M,)`, A·m², whose mean over a cycle is `dipole_B` `(3,)`, or as much of it as they can."""
        out = self.initial_state()
        allocate_dipole_kernel(self.parameters(), checks.array(dipole_B, "dipole_B", (3,)), out)
        return out

    def tick(self, dipoles: Array, command: ArrayLike, t: float, h: float) -> Array:
        """Mean dipole `(3,)` in body axes from `t` to `t + h`, A·m²; the state `dipoles` `(M,)` moves on in place."""
        given, out = checks.array(command, "command", dipoles.shape), np.empty(3)
        start = checks.number(t, "t")
        magnetorquers_kernel(self.parameters(), dipoles, given, start, checks.positive(h, "h"), out)
        return out


def magnetic_torque(dipole_B: ArrayLike, field_B: ArrayLike) -> Array:
    """`τ = m × B` `(3,)`, N·m, from the dipole in A·m² and the field in T, both in body axes."""
    out = np.empty(3)
    magnetic_torque_kernel(checks.array(dipole_B, "dipole_B", (3,)), checks.array(field_B, "field_B", (3,)), out)
    return out


@on_warm_up
def _warm_up() -> None:
    torquers = Magnetorquers(axes=np.eye(3), max_dipole_Am2=1.0, duty_cycle=0.5, period_s=1.0)
    torquers.quiet(0.0)
    dipole = torquers.tick(torquers.initial_state(), torquers.command(np.zeros(3)), 0.0, 1.0)
    magnetic_torque(dipole, np.zeros(3))
