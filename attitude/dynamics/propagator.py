"""`Propagator`: a body, an order and a rule for substeps; `step`, `step_with_jacobian`, `linearise`, `run`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.errors import StepError
from attitude.core.increment import NO_INCREMENT, OK
from attitude.core.jit import Array, on_warm_up
from attitude.dynamics.composition import stages
from attitude.dynamics.gyrostat import DRIVEN, Gyrostat, Wheel
from attitude.dynamics.preprocessed import MAX_ORDER, series, terms
from attitude.dynamics.rigid_body import RigidBody
from attitude.dynamics.state import Linearisation, State, Trajectory, carried_on, computed_state
from attitude.dynamics.step import (
    NOT_FINITE,
    READ_OUT,
    SERIES_LIMIT,
    STATE,
    TANGENT,
    one_step,
    one_step_linearised,
    read_out_rows,
    run_steps,
    write_in,
)

WHOLE_STEP = np.inf  # max_increment of the kernels when steps are not split
BLOCK_SECONDS = 0.1  # of a run per kernel call: between calls Ctrl-C and progress get their turn
NO_TANGENTS = np.empty((0, TANGENT))


class Propagator:
    """Quaternion variational integrator of one body (MP 2016, sections V to VIII, signs corrected).

    `order` 2 is the paper's step. A rigid body takes 4, 6, 8, 10, 12 at the same cost (preprocessed inertia; the order
    is that of free motion, torque adds its second-order error); a gyrostat takes 4 and 6 (symmetric composition); a
    damped body 2 only. `max_increment` splits every step into equal substeps with `|φ| ≤ max_increment` (the sine of
    half the angle turned), so that any `h` works at any rate: at order 12, 0.25 keeps about 1e-9 rad over a hundred
    turns, 0.12 roundoff. Without it a step that turns too far is a `StepError`.
    """

    def __init__(self, body: RigidBody, order: int = 2, max_increment: float | None = None) -> None:
        if not isinstance(body, RigidBody):
            raise ValueError(f"body must be a RigidBody, Gyrostat or DampedGyrostat, got {body!r}")
        self.body = body
        self.order = _checked_order(body, order)
        self.max_increment = _checked_increment(max_increment)
        self.kernel_limit = WHOLE_STEP if self.max_increment is None else self.max_increment
        self.kernel_body = _kernel_body(body, self.order)  # leading arguments of every kernel
        self.rotor_axes_P = np.ascontiguousarray(body.R_BP.T @ body.rotor_axes)  # (3, W) rotor axes, principal
        self._seeds = _seeds(body, self.rotor_axes_P)
        self._no_input, self._no_rotors, self._at_rest = np.zeros((1, 6)), np.zeros(0), np.zeros(3)

    def __repr__(self) -> str:
        return f"Propagator({self.body!r}, order={self.order}, max_increment={self.max_increment})"

    # -------------------------------------------------------------- one step
    def step(
        self,
        x: State,
        h: float,
        torque: ArrayLike | None = None,
        motor_torque: ArrayLike | None = None,
        rotor_momentum: ArrayLike | None = None,
    ) -> State:
        """State after `h` seconds.

        `torque` `(3,)`, N·m, body axes, held over the step; `motor_torque` `(W,)`, N·m on each driven rotor;
        `rotor_momentum` `(W,)`, N·m·s of each prescribed rotor at the end of the step, reached linearly.
        """
        h = checks.positive(h, "h")
        start, wheels = self.kernel_state(x)
        inputs, wheels = self.kernel_inputs(h, wheels, torque, motor_torque, rotor_momentum)
        end, out = start.copy(), np.empty(READ_OUT)
        status = one_step(*self.kernel_body, end, inputs, h, self.kernel_limit, np.empty(STATE), NO_TANGENTS, out)
        self._raise_if(status, h)
        return self._state(end, out, wheels)

    def step_with_jacobian(self, x: State, h: float, **inputs: ArrayLike | None) -> tuple[State, Array]:
        """State after `h` and `Phi`, the exact derivative of `[θ, ω]` after the step by `[θ, ω]` before it.

        `Phi` is (6, 6); with a damper (9, 9) over `[θ, ω, ω_damper]`. Inputs as in `step`.
        """
        linear = self.linearise(x, h, **inputs)
        return linear.state, linear.by_state

    def linearise(
        self,
        x: State,
        h: float,
        torque: ArrayLike | None = None,
        motor_torque: ArrayLike | None = None,
        rotor_momentum: ArrayLike | None = None,
    ) -> Linearisation:
        """Step and all its exact derivatives: by attitude, rate, torque and the rotors. Inputs as in `step`."""
        h = checks.positive(h, "h")
        start, wheels = self.kernel_state(x)
        inputs, wheels = self.kernel_inputs(h, wheels, torque, motor_torque, rotor_momentum)
        end, out, tangents = start.copy(), np.empty(READ_OUT), self._seeds.copy()
        n = 9 if self.body.damper_inertia > 0.0 else 6
        jacobian = np.empty((n, tangents.shape[0]))
        status = one_step_linearised(
            *self.kernel_body, end, inputs, h, self.kernel_limit, np.empty(STATE), tangents, np.empty_like(tangents),
            out, jacobian,
        )  # fmt: skip
        self._raise_if(status, h)
        state = self._state(end, out, wheels)
        rotors, rates = n + 3, n + 3 + wheels.size  # where their columns begin
        by_state, by_torque = jacobian[:, :n].copy(), jacobian[:, n:rotors].copy()
        by_start, by_rate = jacobian[:, rotors:rates].copy(), jacobian[:, rates:].copy()
        if getattr(self.body, "rotors", DRIVEN) == DRIVEN:
            return Linearisation(state, by_state, by_torque, by_start, by_rate)
        # the rotors' momentum goes linearly from start to end: its rate is (end − start)/h
        return Linearisation(state, by_state, by_torque, by_start - by_rate / h, by_rate / h)

    # -------------------------------------------------------------- many steps
    def run(
        self,
        x: State,
        h: float,
        steps: int,
        every: int = 1,
        torque: ArrayLike | None = None,
        motor_torque: ArrayLike | None = None,
        rotor_momentum: ArrayLike | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Trajectory:
        """`steps` steps of `h`, compiled; keeps the start and every `every`-th state.

        `torque`, `motor_torque`, `rotor_momentum` as in `step`, or one row per step. `progress(done, steps)` is
        called now and then; whatever stops a run, the exception has the rows so far in `trajectory`. Attitude and rate
        are, bit for bit, those of `steps` calls of `step`.
        """
        h, steps, every = checks.positive(h, "h"), checks.count(steps, "steps", 0), checks.count(every, "every")
        start, wheels = self.kernel_state(x)
        inputs, schedule = self._schedule(h, steps, wheels, torque, motor_torque, rotor_momentum)
        rows, end, work = _rows(steps // every + 1), start.copy(), np.empty(STATE)
        rows[0] = start
        done, status, block = 0, OK, 1000

        def so_far() -> Trajectory:
            kept = done // every + 1
            wheels = schedule(np.arange(kept) * every)
            return self._trajectory(rows[:kept], h * every, wheels, end, schedule(done))

        try:
            while done < steps and status == OK:
                begin = perf_counter()
                status, done = run_steps(
                    *self.kernel_body, end, inputs, h, done, min(done + block, steps), every, self.kernel_limit,
                    rows, work, NO_TANGENTS,
                )  # fmt: skip
                block = max(1, int(block * min(10.0, BLOCK_SECONDS / (perf_counter() - begin + 1e-9))))
                if progress is not None:
                    progress(done, steps)
        except BaseException as error:  # Ctrl-C, or what `progress` raises: what was computed is not lost
            error.trajectory = so_far()  # type: ignore[attr-defined]
            raise
        trajectory = so_far()
        self._raise_if(status, h, done, trajectory)
        return trajectory

    # -------------------------------------------------------------- what a state means for this body
    def momentum(self, x: State) -> Array:
        """Total angular momentum `(3,)` in inertial axes, N·m·s."""
        return self._read_out(self.kernel_state(x)[0][None])[0, 10:13]

    def energy(self, x: State) -> float:
        """Kinetic energy, rotors and damper included, J."""
        start, wheels = self.kernel_state(x)
        out = self._read_out(start[None])
        return float(out[0, 13] + self.body.rotor_energy(out[:, 4:7], wheels[None])[0])

    def _read_out(self, rows: Array) -> Array:
        out = np.empty((rows.shape[0], READ_OUT))
        read_out_rows(self.kernel_body[0], rows, out)
        return out

    def kernel_state(self, x: State) -> tuple[Array, Array]:
        """The kernels' state of `x`, not to be written to, and the momentum of each rotor."""
        if not isinstance(x, State):
            raise ValueError(f"x must be a State(q, omega), got {x!r}")
        start = carried_on(x, self.body)
        if start is None:
            return self._from_user(x)
        return start, self._no_rotors if x.rotor_momentum is None else x.rotor_momentum

    def _from_user(self, x: State) -> tuple[Array, Array]:
        body, omega = self.body, checks.array(x.omega, "omega", (3,))  # its arrays may have been written to
        q = checks.unit_quaternion(x.q, "q")
        width = self.rotor_axes_P.shape[1]
        wheels = body.rotor_momentum_at_rest(omega) if x.rotor_momentum is None else x.rotor_momentum
        if wheels.shape != (width,):
            raise ValueError(f"rotor_momentum must have shape ({width},), one for each rotor, got {wheels.shape}")
        if x.damper_omega is not None and body.damper_inertia == 0.0:
            raise ValueError("damper_omega must be left out: this body has no damper")
        start = np.empty(STATE)
        start[7:10] = self.rotor_axes_P @ wheels
        damper_omega = self._at_rest if x.damper_omega is None else x.damper_omega
        write_in(self.kernel_body[0], q, omega, damper_omega, start)
        if not np.isfinite(start).all():
            raise ValueError(f"omega must give a finite momentum, got {omega.tolist()} rad/s")
        return start, wheels

    def _state(self, x: Array, out: Array, wheels: Array) -> State:
        return computed_state(self.body, x, out, wheels if wheels.size else None, self.body.damper_inertia > 0.0)

    def _trajectory(self, rows: Array, spacing: float, wheels: Array, end: Array, last: Array) -> Trajectory:
        out = self._read_out(rows)
        q, omega, damper_omega, momentum, energy = (
            out[:, columns].copy() for columns in (slice(0, 4), slice(4, 7), slice(7, 10), slice(10, 13), 13)
        )
        return Trajectory(
            t=np.asarray(spacing * np.arange(rows.shape[0]), dtype=np.float64),
            q=q,
            omega=omega,
            momentum=momentum,
            energy=energy + self.body.rotor_energy(omega, wheels),
            rotor_momentum=wheels,
            damper_omega=damper_omega,
            final=self._state(end, self._read_out(end[None])[0], last),
        )

    # -------------------------------------------------------------- inputs
    def kernel_inputs(
        self, h: float, wheels: Array, torque: Any, motor_torque: Any, rotor_momentum: Any
    ) -> tuple[Array, Array]:
        """The kernels' input `(1, 6)` of one step, and the rotors' momentum after it."""
        if torque is None and motor_torque is None and rotor_momentum is None:
            return self._no_input, wheels.copy()
        table, schedule = self._schedule(h, 1, wheels, torque, motor_torque, rotor_momentum)
        return table, schedule(1)

    def kernel_table(self, torque: ArrayLike | None, steps: int) -> Array:
        """The kernels' inputs `(1, 6)` or `(steps, 6)` for a known torque, rotors coasting."""
        tau = _table(torque, "torque", 3, steps)
        table = np.zeros((tau.shape[0], 6))
        table[:, :3] = _combined(tau, self.body.R_BP.T)
        return table

    def _schedule(
        self, h: float, steps: int, wheels: Array, torque: Any, motor_torque: Any, rotor_momentum: Any
    ) -> tuple[Array, Callable[[Any], Array]]:
        """The kernels' inputs `(1, 6)` or `(steps, 6)`, and the rotors' momentum after given numbers of steps."""
        tau = _table(torque, "torque", 3, steps)
        rates = self._rotor_rates(h, steps, wheels, motor_torque, rotor_momentum)
        count = max(tau.shape[0], rates.shape[0])
        table = np.empty((count, 6))
        table[:, :3] = _combined(tau, self.body.R_BP.T)
        table[:, 3:] = _combined(rates, self.rotor_axes_P)
        if rates.shape[0] == 1:
            return table, lambda n: wheels + h * np.multiply.outer(n, rates[0])
        path = np.vstack([wheels, wheels + h * np.cumsum(rates, axis=0)])
        return table, lambda n: path[n]

    def _rotor_rates(self, h: float, steps: int, wheels: Array, motor_torque: Any, rotor_momentum: Any) -> Array:
        kind = getattr(self.body, "rotors", None)
        if motor_torque is not None and (kind != DRIVEN or not wheels.size):
            raise ValueError('motor_torque needs a Gyrostat with wheels and rotors="driven"')
        if rotor_momentum is None:
            return _table(motor_torque, "motor_torque", wheels.size, steps)
        if kind is None or kind == DRIVEN or not wheels.size:
            raise ValueError('rotor_momentum needs a Gyrostat with wheels and rotors="prescribed"')
        ends = _table(rotor_momentum, "rotor_momentum", wheels.size, steps)
        if steps == 0:
            return np.zeros((1, wheels.size))
        if ends.shape[0] == 1:
            ends = np.repeat(ends, steps, axis=0)  # reached in the first step, then held
        return np.asarray(np.diff(np.vstack([wheels, ends]), axis=0) / h)

    def _raise_if(self, status: int, h: float, step: int | None = None, trajectory: Trajectory | None = None) -> None:
        if status == OK:
            return
        where = "" if step is None else f"step {step} (t = {step * h:.9g} s): "
        raise StepError(where + _reason(status, h, self.max_increment), trajectory)


def _reason(status: int, h: float, max_increment: float | None) -> str:
    if status == NO_INCREMENT:
        return (
            f"h = {h:g} s turns the body too far for one increment (|phi| < 1 has no solution, or the rate times h is "
            f"above {SERIES_LIMIT:g} rad at order 4 and higher): use a smaller h, or "
            "Propagator(..., max_increment=0.25) to split steps"
        )
    if status == NOT_FINITE:
        return f"h = {h:g} s: state or Jacobian do not stay finite; the rate, the torque or the step is too large"
    return f"h = {h:g} s needs too many substeps to keep |phi| <= {max_increment:g}: use a smaller h"


def _checked_order(body: RigidBody, order: int) -> int:
    if body.damper_inertia > 0.0:
        allowed: tuple[int, ...] = (2,)
        kind = "a body with a damper (a composition would step backwards through the dissipation)"
    elif isinstance(body, Gyrostat):
        allowed, kind = (2, 4, 6), "a gyrostat"
    else:
        allowed, kind = tuple(range(2, MAX_ORDER + 1, 2)), "a rigid body"
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or order not in allowed:
        raise ValueError(f"order must be one of {', '.join(map(str, allowed))} for {kind}, got {order!r}")
    return int(order)


def _checked_increment(max_increment: float | None) -> float | None:
    if max_increment is None:
        return None
    value = checks.positive(max_increment, "max_increment")
    if value >= 1.0:
        raise ValueError(f"max_increment must be below 1 (the sine of half the angle of a substep), got {value}")
    return value


def _kernel_body(body: RigidBody, order: int) -> tuple[Array, int, Array, Array, Array]:
    """`body`, `terms`, `sigma`, `delta`, `stages` as the kernels of `step.py` take them."""
    composed = isinstance(body, Gyrostat)
    numbers = np.array([*body.moments, *body.q_BP, body.damper_inertia, body.damping, *(1.0 / body.moments)])
    sigma, delta = series(body.moments, 2 if composed else order)
    return numbers, 0 if composed else terms(order), sigma, delta, stages(order if composed else 2)


def _seeds(body: RigidBody, axes_P: Array) -> Array:
    """Tangents `(m, 18)` along each entry of `[θ, ω, (ω_damper), torque, rotor momentum, its rate]`, body axes."""
    to_P, width = np.asarray(body.R_BP), axes_P.shape[1]  # row j: body axis j in principal axes
    states = 9 if body.damper_inertia > 0.0 else 6
    seeds = np.zeros((states + 3 + 2 * width, TANGENT))
    seeds[0:3, 0:3] = to_P
    seeds[3:6, 3:6] = to_P * body.moments
    if states == 9:
        seeds[6:9, 3:6] = seeds[6:9, 9:12] = to_P * body.damper_inertia
    seeds[states : states + 3, 12:15] = to_P
    seeds[states + 3 : states + 3 + width, 3:6] = seeds[states + 3 : states + 3 + width, 6:9] = axes_P.T
    seeds[states + 3 + width :, 15:18] = axes_P.T
    return seeds


def _rows(count: int) -> Array:
    try:
        return np.empty((count, STATE))
    except (MemoryError, ValueError):
        raise ValueError(f"every must be larger: {count} rows would not fit in memory") from None


def _combined(rows: Array, columns: Array) -> Array:
    """`rows @ columns.T`, summed in the same order for one row and for many: a run must equal its steps."""
    total = np.zeros((rows.shape[0], 3))
    with np.errstate(over="ignore", invalid="ignore"):  # the kernels refuse what is not finite
        for j in range(columns.shape[1]):
            total += rows[:, j, None] * columns[:, j]
    return total


def _table(value: Any, name: str, width: int, steps: int) -> Array:
    """Input as rows: `(1, width)` if constant, `(steps, width)` if given for each step."""
    if value is None:
        return np.zeros((1, width))
    try:
        dimensions = np.ndim(value)
    except ValueError:  # rows of different lengths
        dimensions = 1
    if dimensions == 2 and len(value) != steps:
        raise ValueError(f"{name} must have one row for each of the {steps} steps, got {len(value)}")
    if dimensions == 2:
        return checks.array(value, name, (steps, width)) if steps else np.zeros((1, width))
    return checks.array(value, name, (width,))[None]


@on_warm_up
def _warm_up() -> None:
    body = Gyrostat(np.eye(3), [Wheel([0.0, 0.0, 1.0], 0.01)])
    propagator, x = Propagator(body, max_increment=0.5), State([0.0, 0.0, 0.0, 1.0], [0.01, 0.02, 0.03])
    propagator.step_with_jacobian(propagator.step(x, 0.1), 0.1)
    propagator.run(x, 0.1, 2)
