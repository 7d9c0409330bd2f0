"""Reaction wheels: limits, friction, torque or speed commands, and the allocation of a torque to any set of wheels.

The plant is `attitude.Gyrostat` with `rotors="driven"`. The state of a wheel is its absolute axial momentum
`w = I_r (ω_r + a·ω)`, N·m·s, and `ẇ = u` is the torque between body and rotor. A wheel model turns a command into that
`u`, the mean over a tick. Friction acts between body and rotor as the motor does: it is part of `u`, and the total
momentum does not notice it. The body receives `−Σ a u`.

    I_r ω̇_r = T − c ω_r − k sign(ω_r)          T motor torque, c viscous, k Coulomb friction; at rest it sticks up to k

is solved exactly over the tick for constant `T` (the body's own acceleration within the tick is left out: it is smaller
by the ratio of the inertias), so that friction neither chatters at zero speed nor feeds energy at a long tick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.dynamics.gyrostat import Wheel

RAD_S_PER_RPM = math.pi / 30.0
TORQUE, SPEED = "torque", "speed"
LEAST_SPAN = 1e-3  # smallest singular value of the unit axes: below it, wheels work a thousandfold for one direction
FRICTION_RAMP = 0.01  # part of the maximal speed over which compensated Coulomb friction changes its sign


class WheelParameters(NamedTuple):
    """What the wheels' kernel takes: `axes` `(W, 3)`, the others `(W,)` in SI units; `by_speed` 1 or 0."""

    axes: Array
    inertia: Array
    max_torque: Array
    max_speed: Array
    viscous: Array
    coulomb: Array
    by_speed: int


# ------------------------------------------------------------------ one wheel
@kernel
def _limit(value: float, limit: float) -> float:
    """`value` within ±`limit`; zero if it is not finite: a wheel that gets no command coasts."""
    if not math.isfinite(value):
        return 0.0
    return min(max(value, -limit), limit)


@kernel
def _response(inertia: float, viscous: float, h: float) -> float:
    """Speed after `h` seconds per unit of constant torque from rest, rad/s per N·m."""
    if viscous == 0.0:
        return h / inertia
    return -math.expm1(-viscous * h / inertia) / viscous


@kernel
def _time_to_rest(speed: float, push: float, inertia: float, viscous: float) -> float:
    """Seconds until a wheel comes to rest under a `push` against its motion, viscous friction helping."""
    if viscous == 0.0:
        return -inertia * speed / push
    return inertia / viscous * math.log1p(-viscous * speed / push)


@kernel
def speed_change(speed: float, torque: float, inertia: float, viscous: float, coulomb: float, h: float) -> float:
    """Change of the relative speed over `h`, rad/s, exact for constant motor torque, through stops and sticking."""
    left = h
    if speed != 0.0:
        push = torque - math.copysign(coulomb, speed)
        if push * speed >= 0.0:
            return (push - viscous * speed) * _response(inertia, viscous, h)
        stop = _time_to_rest(speed, push, inertia, viscous)
        if stop >= h:
            return (push - viscous * speed) * _response(inertia, viscous, h)
        left = h - stop
    if abs(torque) <= coulomb:
        return -speed
    return (torque - math.copysign(coulomb, torque)) * _response(inertia, viscous, left) - speed


@kernel
def torque_for_speed(speed: float, target: float, inertia: float, viscous: float, coulomb: float, h: float) -> float:
    """Motor torque that brings the wheel to the speed `target` at the end of the tick, friction included."""
    push = (target - speed) / _response(inertia, viscous, h) + viscous * speed
    return push + math.copysign(coulomb, speed if speed != 0.0 else push)


@kernel
def wheel_speeds_kernel(parameters: WheelParameters, momentum: Array, omega_B: Array, speeds: Array) -> None:
    """`ω_r = w/I_r − a·ω`, the speed of each wheel relative to the body, rad/s: what its tachometer tells."""
    a = parameters.axes
    for i in range(momentum.size):
        along = a[i, 0] * omega_B[0] + a[i, 1] * omega_B[1] + a[i, 2] * omega_B[2]
        speeds[i] = momentum[i] / parameters.inertia[i] - along


@kernel
def _drive(parameters: WheelParameters, i: int, speed: float, wanted: float, h: float) -> tuple[float, float]:
    """Motor torque of wheel `i` within its limits of torque and speed, and the change of its speed."""
    p = parameters
    inertia, viscous, coulomb = p.inertia[i], p.viscous[i], p.coulomb[i]
    given = _limit(wanted, p.max_torque[i])
    change = speed_change(speed, given, inertia, viscous, coulomb, h)
    end = speed + change
    if abs(end) > p.max_speed[i]:
        excess = end - math.copysign(p.max_speed[i], end)
        given = _limit(given - excess / _response(inertia, viscous, h), p.max_torque[i])
        change = speed_change(speed, given, inertia, viscous, coulomb, h)
    return given, change


@kernel
def wheels_kernel(
    parameters: WheelParameters, momentum: Array, omega_B: Array, command: Array, h: float, torque: Array
) -> int:
    """One tick of all wheels: `torque` `(W,)` = `u`, mean over the tick, and `momentum` `(W,)` moves on by `h u`.

    `command` `(W,)`: motor torque, N·m, or speed relative to the body, rad/s. Returns how many wheels met a limit.
    """
    p = parameters
    limited = 0
    for i in range(momentum.size):
        along = p.axes[i, 0] * omega_B[0] + p.axes[i, 1] * omega_B[1] + p.axes[i, 2] * omega_B[2]
        speed = momentum[i] / p.inertia[i] - along
        wanted = command[i]
        if p.by_speed != 0:
            wanted = torque_for_speed(speed, wanted, p.inertia[i], p.viscous[i], p.coulomb[i], h)
        given, change = _drive(p, i, speed, wanted, h)
        if given != wanted:
            limited += 1
        torque[i] = p.inertia[i] * change / h
        momentum[i] += h * torque[i]
    return limited


# ------------------------------------------------------------------ the set
@dataclass(frozen=True, kw_only=True, eq=False)
class Wheels:
    """Set of W reaction wheels; each field but `axes` and `command` is one number for all, or one for each wheel.

    `axes` `(W, 3)` body axes, normalised here; `viscous_Nms` N·m per rad/s; `command` is `"torque"` (of the motor,
    friction acts against it) or `"speed"` (relative to the body: the drive overcomes friction by itself).
    """

    axes: ArrayLike
    inertia_kg_m2: ArrayLike
    max_torque_Nm: ArrayLike
    max_speed_rpm: ArrayLike
    viscous_Nms: ArrayLike
    coulomb_Nm: ArrayLike
    command: str = TORQUE

    def __post_init__(self) -> None:
        given = checks.array(self.axes, "axes", (None, 3))
        checks.count(len(given), "number of wheel axes")
        self._set("axes", np.array([checks.unit_axis(axis, f"axes[{i}]") for i, axis in enumerate(given)]))
        for name in ("inertia_kg_m2", "max_torque_Nm", "max_speed_rpm"):
            self._set(name, each(getattr(self, name), name, len(given), zero=False))
        for name in ("viscous_Nms", "coulomb_Nm"):
            self._set(name, each(getattr(self, name), name, len(given), zero=True))
        if self.command not in (TORQUE, SPEED):
            raise ValueError(f'command must be "{TORQUE}" or "{SPEED}", got {self.command!r}')

    def _set(self, name: str, value: Array) -> None:
        object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(np.asarray(self.axes))

    def parameters(self) -> WheelParameters:
        """Fresh arrays for the kernels, SI units."""
        return WheelParameters(
            axes=np.array(self.axes),
            inertia=np.array(self.inertia_kg_m2),
            max_torque=np.array(self.max_torque_Nm),
            max_speed=np.asarray(self.max_speed_rpm) * RAD_S_PER_RPM,
            viscous=np.array(self.viscous_Nms),
            coulomb=np.array(self.coulomb_Nm),
            by_speed=int(self.command == SPEED),
        )

    def rotors(self) -> list[Wheel]:
        """The wheels as `attitude.Gyrostat` takes them."""
        return [Wheel(a, i) for a, i in zip(np.asarray(self.axes), np.asarray(self.inertia_kg_m2), strict=True)]

    def speeds(self, momentum: ArrayLike, omega_B: ArrayLike) -> Array:
        """Speed `(W,)` of each wheel relative to the body, rad/s."""
        out = np.empty(len(self))
        w, omega = checks.array(momentum, "momentum", (len(self),)), checks.array(omega_B, "omega_B", (3,))
        wheel_speeds_kernel(self.parameters(), w, omega, out)
        return out

    def torque(self, momentum: ArrayLike, omega_B: ArrayLike, command: ArrayLike, h: float) -> Array:
        """Torque `(W,)` on each rotor over a tick of `h` seconds, N·m: the `motor_torque` of `Propagator.step`."""
        w, omega = checks.array(momentum, "momentum", (len(self),)), checks.array(omega_B, "omega_B", (3,))
        given, out = checks.array(command, "command", (len(self),)), np.empty(len(self))
        wheels_kernel(self.parameters(), w, omega, given, checks.positive(h, "h"), out)
        return out


def each(value: ArrayLike, name: str, size: int, zero: bool) -> Array:
    """One number for all or one for each, as `(size,)`; positive, or not negative where `zero` is allowed."""
    check = checks.not_negative if zero else checks.positive
    if np.ndim(value) == 0:
        return np.full(size, check(value, name))
    return np.array([check(x, f"{name}[{i}]") for i, x in enumerate(checks.array(value, name, (size,)))])


# ------------------------------------------------------------------ allocation
class AllocationParameters(NamedTuple):
    """What the allocation's kernel takes: `inverse` `(W, 3)`, `balance` `(W, W)`, the others `(W,)`."""

    inverse: Array
    balance: Array
    preferred: Array
    inertia: Array
    max_torque: Array
    viscous: Array
    coulomb: Array
    ramp: Array
    by_speed: int


@kernel
def _share(base: float, direction: float, limit: float) -> float:
    """Largest share of `direction`, from 0 to 1, that keeps `base + share direction` within ±`limit`."""
    room = limit - base if direction > 0.0 else limit + base
    if abs(direction) <= room:
        return 1.0
    return max(room, 0.0) / abs(direction)


@kernel
def _known_friction(parameters: AllocationParameters, i: int, speed: float) -> float:
    ramp = min(max(speed / parameters.ramp[i], -1.0), 1.0)
    return parameters.viscous[i] * speed + parameters.coulomb[i] * ramp


@kernel
def _towards_balance(parameters: AllocationParameters, i: int, speeds: Array) -> float:
    """Torque of wheel `i` in the null space of the axes that moves all speeds towards the preferred ones."""
    total = 0.0
    for j in range(speeds.size):
        excess = parameters.inertia[j] * (speeds[j] - parameters.preferred[j])
        total -= parameters.balance[i, j] * excess
    return total


@kernel
def _torque_from(parameters: AllocationParameters, i: int, torque_B: Array) -> float:
    g = parameters.inverse
    return -(g[i, 0] * torque_B[0] + g[i, 1] * torque_B[1] + g[i, 2] * torque_B[2])


@kernel
def allocate_kernel(
    parameters: AllocationParameters, torque_B: Array, speeds: Array, h: float, command: Array
) -> float:
    """Commands `(W,)` that give the body `torque_B`; returns the share of it that the wheels can give, 0 to 1.

    Compensated friction comes first, then the torque, scaled as a whole so that it keeps its direction; the balance
    of the speeds takes what is left. `speeds` `(W,)` are those measured, rad/s.
    """
    p = parameters
    share, rest = 1.0, 1.0
    for i in range(speeds.size):
        command[i] = _limit(_known_friction(p, i, speeds[i]), p.max_torque[i])
        share = min(share, _share(command[i], _torque_from(p, i, torque_B), p.max_torque[i]))
    for i in range(speeds.size):
        command[i] += share * _torque_from(p, i, torque_B)
        rest = min(rest, _share(command[i], _towards_balance(p, i, speeds), p.max_torque[i]))
    for i in range(speeds.size):
        command[i] += rest * _towards_balance(p, i, speeds)
        if p.by_speed != 0:
            command[i] = speeds[i] + command[i] * h / p.inertia[i]
    return share


@dataclass(frozen=True, kw_only=True, eq=False)
class Allocation:
    """Shares a torque on the body among the wheels, so that the largest use of a motor's torque stays small.

    The inverse of the axes minimises `Σ (u/u_max)²` (for equal wheels the pseudo-inverse). With four wheels or more,
    the speeds move within the null space, without torque on the body, towards `preferred_speed_rpm` (one number or one
    for each wheel), at `balance_rate_per_s` of the distance per second. `compensate_friction` adds the friction
    that the wheels' own fields state; wheels commanded by speed overcome it themselves.
    """

    wheels: Wheels
    balance_rate_per_s: float = 0.0
    preferred_speed_rpm: ArrayLike = 0.0
    compensate_friction: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.wheels, Wheels):
            raise ValueError(f"wheels must be Wheels, got {self.wheels!r}")
        span = np.linalg.svd(np.asarray(self.wheels.axes), compute_uv=False)
        if len(span) < 3 or span[2] < LEAST_SPAN:
            raise ValueError(
                "wheels must span three axes for three-axis control, got the axes "
                f"{np.asarray(self.wheels.axes).tolist()}"
            )
        checks.not_negative(self.balance_rate_per_s, "balance_rate_per_s")
        shape = np.ndim(self.preferred_speed_rpm) * (len(self.wheels),)
        preferred = np.full(len(self.wheels), checks.array(self.preferred_speed_rpm, "preferred_speed_rpm", shape))
        object.__setattr__(self, "preferred_speed_rpm", preferred)

    def inverse(self) -> Array:
        """`(W, 3)` right inverse of the axes `A` `(3, W)`: `A inverse = 1`, least `Σ (u/u_max)²`."""
        A, weight = np.asarray(self.wheels.axes).T, np.asarray(self.wheels.max_torque_Nm) ** 2
        return np.asarray((A * weight).T @ np.linalg.inv((A * weight) @ A.T))

    def balance(self) -> Array:
        """`(W, W)` projector into the null space of the axes; what it leaves has least `Σ (ω/ω_max)²`."""
        A, p = np.asarray(self.wheels.axes).T, self.wheels.parameters()
        null = np.linalg.svd(A)[2][3:].T
        weighted = null / (p.inertia * p.max_speed)[:, None] ** 2
        return np.asarray(null @ np.linalg.solve(null.T @ weighted, weighted.T))

    def parameters(self) -> AllocationParameters:
        """Fresh arrays for the kernel, SI units."""
        p = self.wheels.parameters()
        known = float(self.compensate_friction and not p.by_speed)
        return AllocationParameters(
            inverse=np.ascontiguousarray(self.inverse()),
            balance=np.ascontiguousarray(self.balance_rate_per_s * self.balance()),
            preferred=np.asarray(self.preferred_speed_rpm) * RAD_S_PER_RPM,
            inertia=p.inertia,
            max_torque=p.max_torque,
            viscous=known * p.viscous,
            coulomb=known * p.coulomb,
            ramp=FRICTION_RAMP * p.max_speed,
            by_speed=p.by_speed,
        )

    def command(self, torque_B: ArrayLike, speeds: ArrayLike, h: float) -> Array:
        """Commands `(W,)` for a tick of `h` seconds: torque on each rotor, N·m, or speed, rad/s."""
        out = np.empty(len(self.wheels))
        tau, measured = checks.array(torque_B, "torque_B", (3,)), checks.array(speeds, "speeds", (len(self.wheels),))
        allocate_kernel(self.parameters(), tau, measured, checks.positive(h, "h"), out)
        return out


@on_warm_up
def _warm_up() -> None:
    wheels = Wheels(
        axes=np.eye(3), inertia_kg_m2=1.0, max_torque_Nm=1.0, max_speed_rpm=1.0, viscous_Nms=0.0, coulomb_Nm=0.0
    )
    speeds = wheels.speeds(np.zeros(3), np.zeros(3))
    wheels.torque(np.zeros(3), np.zeros(3), Allocation(wheels=wheels).command(np.zeros(3), speeds, 1.0), 1.0)
