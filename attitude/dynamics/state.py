"""What goes into a propagator and what comes out: `State`, `Trajectory`, `Linearisation`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array


class Carried(NamedTuple):
    """The kernels' state, so that a step goes on without rounding; `stamp` tells whether ours was changed since."""

    body: object
    x: Array
    stamp: bytes


@dataclass(frozen=True, eq=False, slots=True, init=False)
class State:
    """Attitude and rate of a body, and of what turns inside it.

    `q` `(4,)` body to inertial; `omega` `(3,)` body rate, rad/s; `rotor_momentum` `(W,)` momentum of each rotor,
    N·m·s, as the body's `rotors` defines it (default: rotors at rest relative to the body); `damper_omega` `(3,)`
    inertial rate of the damper's sphere in body axes, rad/s (default: at rest).
    """

    q: Array
    omega: Array
    rotor_momentum: Array | None
    damper_omega: Array | None
    # What the kernels go on with, if this state came from one; `None` for a state made by hand.
    carried: Carried | None = field(init=False, repr=False)

    def __init__(
        self,
        q: ArrayLike,
        omega: ArrayLike,
        rotor_momentum: ArrayLike | None = None,
        damper_omega: ArrayLike | None = None,
    ) -> None:
        _fill(
            self,
            q=checks.unit_quaternion(q, "q"),
            omega=checks.array(omega, "omega", (3,)),
            rotor_momentum=None if rotor_momentum is None else checks.array(rotor_momentum, "rotor_momentum", (None,)),
            damper_omega=None if damper_omega is None else checks.array(damper_omega, "damper_omega", (3,)),
            carried=None,
        )


def _fill(state: State, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(state, name, value)


def computed_state(body: object, x: Array, out: Array, rotor_momentum: Array | None, damped: bool) -> State:
    """State from a kernel's read-out `(14,)`: no checks, and it carries the kernels' own numbers along."""
    state = object.__new__(State)
    damper_omega = out[7:10] if damped else None
    _fill(state, q=out[:4], omega=out[4:7], rotor_momentum=rotor_momentum, damper_omega=damper_omega)
    _fill(state, carried=Carried(body, x, _stamp(state)))
    return state


def carried_on(state: State, body: object) -> Array | None:
    """The kernels' state behind `state`, if it was computed for `body` and nobody has written to its arrays since."""
    carried = state.carried
    if carried is None or carried.body is not body:
        return None
    return carried.x if carried.stamp == _stamp(state) else None


def _stamp(state: State) -> bytes:
    arrays = (state.q, state.omega, state.rotor_momentum, state.damper_omega)
    return b"".join(array.tobytes() for array in arrays if array is not None)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Kept rows of a run, N of them with the start: everything in SI units.

    `t` `(N,)`; `q` `(N, 4)`; `omega` `(N, 3)` body axes; `momentum` `(N, 3)` total, inertial axes; `energy` `(N,)`
    kinetic, rotors and damper included; `rotor_momentum` `(N, W)`; `damper_omega` `(N, 3)`, zero without a damper;
    `final`, the state after the last step, kept or not.
    """

    t: Array
    q: Array
    omega: Array
    momentum: Array
    energy: Array
    rotor_momentum: Array
    damper_omega: Array
    final: State


@dataclass(frozen=True, eq=False)
class Linearisation:
    """A step and the exact derivatives of its discrete map; rows `[θ, ω]`, with a damper `[θ, ω, ω_damper]`.

    `by_state` (n, n) by the same quantities at the start, θ the body-frame attitude error `q_true = q ⊗ exp(θ)`;
    `by_torque` (n, 3); `by_rotor_momentum` (n, W) by the rotors' momentum at the start, the rate held;
    `by_rotor_input` (n, W) by what the step takes: the motor torque of driven rotors, the momentum at the end of the
    step of prescribed ones.
    """

    state: State
    by_state: Array
    by_torque: Array
    by_rotor_momentum: Array
    by_rotor_input: Array
