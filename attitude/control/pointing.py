"""Pointing: quaternion feedback with feed-forward, and gains by LQR from the propagator's exact linearisation.

A reference `(10,)` is `[q_ref (4), ω_ref (3), α_ref (3)]`: attitude of the reference axes R, their rate and its
derivative in R (see `guidance.py`). With `q = q_ref ⊗ e`, `e = [ε, η]`, the torque on the body is

    τ = −K_p θ − K_d (ω − ω_R) − K_i ∫θ dt + J (α_R − ω × ω_R) + ω × (J ω + ρ)

where `θ = 2 sign(η) ε`, and `ω_R`, `α_R` are the reference's in body axes: Wie, Weiss and Arapostathis 1989 for rest,
here for a moving reference and with the wheels' momentum `ρ = Σ a w`, N·m·s. With the last two terms the error obeys
`J θ̈ + K_d θ̇ + K_p θ = 0` for small angles. `J` is what multiplies the rate: with driven wheels the inertia without
their axial part, `Gyrostat.carrier_inertia()`. LQR leaves the gyroscopic coupling to its gains, and takes the
feed-forward at the reference's rate. State `(3,)`: the integral of `θ`, rad·s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks, so3
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.core.linalg import times3
from attitude.core.quaternion import product_xyzw, rotate_xyz
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.state import State

OK = 0
NOT_FINITE = 1  # attitude, rate or momentum is not a number: no torque
LIMITED = 2  # the torque was cut to its limit
REFERENCE = 10


class PointingParameters(NamedTuple):
    """What the kernel takes: four 3×3 matrices; limits on the torque, N·m, and on the error it acts on, rad.

    `cancel` is 1 where the gyroscopic torque is taken at the body's rate, 0 where at the reference's.
    """

    inertia: Array
    stiffness: Array
    damping: Array
    integral: Array
    max_torque: float
    max_error: float
    cancel: int


@kernel
def _feed_forward(
    parameters: PointingParameters, w1: float, w2: float, w3: float, rotor_momentum_B: Array,
    r1: float, r2: float, r3: float, a1: float, a2: float, a3: float,
) -> tuple[float, float, float]:  # fmt: skip
    """`J (α_R − ω × ω_R) + ω × (J ω + ρ)`, body axes; `w` rate, `r` and `a` rate and acceleration of the reference."""
    p = parameters
    if p.cancel == 0:
        w1, w2, w3 = r1, r2, r3
    a1, a2, a3 = a1 - w2 * r3 + w3 * r2, a2 - w3 * r1 + w1 * r3, a3 - w1 * r2 + w2 * r1
    t1, t2, t3 = times3(p.inertia, a1, a2, a3)
    h1, h2, h3 = times3(p.inertia, w1, w2, w3)
    h1, h2, h3 = h1 + rotor_momentum_B[0], h2 + rotor_momentum_B[1], h3 + rotor_momentum_B[2]
    return t1 + w2 * h3 - w3 * h2, t2 + w3 * h1 - w1 * h3, t3 + w1 * h2 - w2 * h1


@kernel
def _shorten(x: float, y: float, z: float, limit: float) -> tuple[float, float, float, bool]:
    """The vector cut to the length `limit`, and whether it was."""
    size = math.sqrt(x * x + y * y + z * z)
    if size <= limit:
        return x, y, z, False
    k = limit / size
    return k * x, k * y, k * z, True


@kernel
def pointing_kernel(
    parameters: PointingParameters, state: Array, q: Array, omega_B: Array, rotor_momentum_B: Array, reference: Array,
    h: float, torque_B: Array,
) -> int:  # fmt: skip
    """Torque `(3,)` on the body, N·m, for a tick of `h` seconds; the integral stands still while a limit is met."""
    p, r = parameters, reference
    e1, e2, e3, e4 = product_xyzw(-r[0], -r[1], -r[2], r[3], q[0], q[1], q[2], q[3])
    r1, r2, r3 = rotate_xyz(-e1, -e2, -e3, e4, r[4], r[5], r[6])
    a1, a2, a3 = rotate_xyz(-e1, -e2, -e3, e4, r[7], r[8], r[9])
    w1, w2, w3 = omega_B[0], omega_B[1], omega_B[2]
    t1, t2, t3 = _feed_forward(p, w1, w2, w3, rotor_momentum_B, r1, r2, r3, a1, a2, a3)
    d1, d2, d3 = times3(p.damping, w1 - r1, w2 - r2, w3 - r3)
    i1, i2, i3 = times3(p.integral, state[0], state[1], state[2])
    side = math.copysign(2.0, e4)
    f1, f2, f3, far = _shorten(side * e1, side * e2, side * e3, p.max_error)
    k1, k2, k3 = times3(p.stiffness, f1, f2, f3)
    t1, t2, t3, cut = _shorten(t1 - d1 - k1 - i1, t2 - d2 - k2 - i2, t3 - d3 - k3 - i3, p.max_torque)
    if not math.isfinite(t1 + t2 + t3):
        torque_B[0] = torque_B[1] = torque_B[2] = 0.0
        return NOT_FINITE
    torque_B[0], torque_B[1], torque_B[2] = t1, t2, t3
    if not (far or cut):
        state[0], state[1], state[2] = state[0] + h * f1, state[1] + h * f2, state[2] + h * f3
    return LIMITED if cut else OK


class PointingLaw:
    """What the laws share: the state, and a torque from Python."""

    def parameters(self) -> PointingParameters:
        """Fresh arrays and numbers for the kernel."""
        raise NotImplementedError

    def initial_state(self) -> Array:
        """Integral of the error, `(3,)`, rad·s."""
        return np.zeros(3)

    def torque(
        self,
        state: Array,
        q: ArrayLike,
        omega_B: ArrayLike,
        reference: ArrayLike,
        h: float,
        rotor_momentum_B: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Torque `(3,)` on the body, N·m; `reference` `(10,)`; `state` `(3,)` moves on in place."""
        attitude, omega = checks.unit_quaternion(q, "q"), checks.array(omega_B, "omega_B", (3,))
        momentum = checks.array(rotor_momentum_B, "rotor_momentum_B", (3,))
        wanted, out = checks.array(reference, "reference", (REFERENCE,)), np.empty(3)
        step = checks.positive(h, "h")
        pointing_kernel(self.parameters(), state, attitude, omega, momentum, wanted, step, out)
        return out


def _limit(value: float | None, name: str) -> float:
    return math.inf if value is None else checks.positive(value, name)


@dataclass(frozen=True, kw_only=True, eq=False)
class QuaternionFeedback(PointingLaw):
    """Quaternion feedback with `K_p = ω_n² J`, `K_d = 2 ζ ω_n J`, and `K_i = K_p / integral_time_s` if that is given.

    `inertia_kg_m2` 3×3, see the module's head; `bandwidth_rad_s` ω_n; `damping_ratio` ζ. Optional limits: on the
    torque's norm, and on the slew rate (the error is cut where `ω_n/(2ζ)` of it would turn the body faster).
    """

    inertia_kg_m2: ArrayLike
    bandwidth_rad_s: float
    damping_ratio: float
    integral_time_s: float | None = None
    max_torque_Nm: float | None = None
    max_slew_rate_deg_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia_kg_m2", checks.inertia(self.inertia_kg_m2, "inertia_kg_m2"))
        wn = checks.positive(self.bandwidth_rad_s, "bandwidth_rad_s")
        damping = checks.positive(self.damping_ratio, "damping_ratio")
        _limit(self.max_torque_Nm, "max_torque_Nm")
        _limit(self.max_slew_rate_deg_s, "max_slew_rate_deg_s")
        least = 1.0 / (2.0 * damping * wn)  # Routh: s³ + 2ζω s² + ω² s + ω²/T is stable for T above it
        if _limit(self.integral_time_s, "integral_time_s") <= least:
            raise ValueError(
                f"integral_time_s must be above 1/(2 damping_ratio bandwidth_rad_s) = {least:.6g} for a stable loop, "
                f"got {self.integral_time_s}"
            )

    def parameters(self) -> PointingParameters:
        """Fresh arrays and numbers for the kernel."""
        J, wn, damping = np.array(self.inertia_kg_m2), self.bandwidth_rad_s, self.damping_ratio
        slew = math.radians(_limit(self.max_slew_rate_deg_s, "max_slew_rate_deg_s"))
        return PointingParameters(
            inertia=J,
            stiffness=wn**2 * J,
            damping=2.0 * damping * wn * J,
            integral=wn**2 / _limit(self.integral_time_s, "integral_time_s") * J,
            max_torque=_limit(self.max_torque_Nm, "max_torque_Nm"),
            max_error=2.0 * damping / wn * slew,
            cancel=1,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LQR(PointingLaw):
    """Linear-quadratic regulator for the propagator's discrete map of a step of `h_s` seconds, gains computed once.

    The cost is `Σ |θ/angle_deg|² + |(ω − ω_R)/rate_deg_s|² + |τ/torque_Nm|²` (Bryson's rule: the three fields are what
    counts as large). The map is linearised exactly where the body turns steadily with `omega_B`, rad/s, its wheels
    carrying `rotor_momentum` `(W,)`, N·m·s (default: at rest). Then `gain` `(3, 6)` by `[θ, ω − ω_R]`, `cost`
    `(6, 6)`, and the `eigenvalues` `(6,)` of the closed loop, all inside the unit circle.
    """

    propagator: Propagator
    h_s: float
    angle_deg: float
    rate_deg_s: float
    torque_Nm: float
    omega_B: ArrayLike = (0.0, 0.0, 0.0)
    rotor_momentum: ArrayLike | None = None
    max_torque_Nm: float | None = None
    gain: Array = field(init=False, repr=False)
    cost: Array = field(init=False, repr=False)
    eigenvalues: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.propagator, Propagator) or self.propagator.body.damper_inertia > 0.0:
            raise ValueError(f"propagator must be a Propagator of a body without damper, got {self.propagator!r}")
        for name in ("h_s", "angle_deg", "rate_deg_s", "torque_Nm"):
            checks.positive(getattr(self, name), name)
        _limit(self.max_torque_Nm, "max_torque_Nm")
        A, B = self._linearised()
        cost = _riccati(A, B, *self.weights())
        gain = np.linalg.solve(self.weights()[1] + B.T @ cost @ B, B.T @ cost @ A)
        for name, value in (("gain", gain), ("cost", cost), ("eigenvalues", np.linalg.eigvals(A - B @ gain))):
            object.__setattr__(self, name, value)

    def weights(self) -> tuple[Array, Array]:
        """Weights of the state `(6, 6)` and of the torque `(3, 3)`."""
        state = np.repeat([math.radians(self.angle_deg), math.radians(self.rate_deg_s)], 3)
        return np.diag(state**-2.0), np.eye(3) / self.torque_Nm**2

    def _linearised(self) -> tuple[Array, Array]:
        """Map of the error `[θ, ω − ω_R]` over a step, by itself and by the torque, feed-forward included."""
        body, omega = self.propagator.body, checks.array(self.omega_B, "omega_B", (3,))
        at_rest = body.rotor_momentum_at_rest(omega)
        wheels = at_rest if self.rotor_momentum is None else self.rotor_momentum
        x = State([0.0, 0.0, 0.0, 1.0], omega, wheels if at_rest.size else None)
        J, S = body.carrier_inertia(), so3.hat(omega)
        p = J @ omega + body.rotor_axes @ checks.array(wheels, "rotor_momentum", at_rest.shape)
        linear = self.propagator.linearise(x, self.h_s, torque=np.cross(omega, p))  # the torque that keeps the turn
        # in body axes the reference's rate is ω_R = ω + S θ, and the feed-forward ω_R × (J ω_R + ρ) changes with it
        ahead = np.hstack([(S @ J - so3.hat(p)) @ S, np.zeros((3, 3))])
        to_error = np.block([[np.eye(3), np.zeros((3, 3))], [-S, np.eye(3)]])
        A = to_error @ (linear.by_state + linear.by_torque @ ahead) @ np.linalg.inv(to_error)
        return A, to_error @ linear.by_torque

    def parameters(self) -> PointingParameters:
        """Fresh arrays and numbers for the kernel."""
        return PointingParameters(
            inertia=np.array(self.propagator.body.carrier_inertia()),
            stiffness=self.gain[:, :3].copy(),
            damping=self.gain[:, 3:].copy(),
            integral=np.zeros((3, 3)),
            max_torque=_limit(self.max_torque_Nm, "max_torque_Nm"),
            max_error=math.inf,
            cancel=0,
        )


def _riccati(A: Array, B: Array, Q: Array, R: Array) -> Array:
    from scipy.linalg import LinAlgError, solve_discrete_are  # only here: `import attitude` does without SciPy

    try:
        return np.asarray(solve_discrete_are(A, B, Q, R))
    except LinAlgError as error:
        raise ValueError(
            "angle_deg, rate_deg_s, torque_Nm and h_s must allow a Riccati solution: nearer to each other in size"
        ) from error


@on_warm_up
def _warm_up() -> None:
    law = QuaternionFeedback(inertia_kg_m2=np.eye(3), bandwidth_rad_s=1.0, damping_ratio=1.0)
    law.torque(law.initial_state(), [0.0, 0.0, 0.0, 1.0], np.zeros(3), np.zeros(REFERENCE), 1.0)
