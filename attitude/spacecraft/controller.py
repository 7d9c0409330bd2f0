"""The flight side's controller: modes, references, pointing with wheels, damping and dumping with torquers.

| mode              | torquers                                    | wheels                                         |
|-------------------|---------------------------------------------|------------------------------------------------|
| detumble, acquire | B-dot, or the rate law                      | coast                                          |
| safe              | dump momentum; damp if there is no attitude | point at the safe reference; coast without one |
| nominal           | dump momentum                               | point at the first reference that can be seen  |

A change of reference is a rate-limited slew. The wheels also take up the mean torque of the dumping, which is known.
Without wheels the torquers damp the rate in every mode. The mode manager goes by the estimated rate, or the gyro's, or
how fast the field turns; an estimate without an essential sensor counts as lost.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from attitude.actuators.magnetorquers import (
    MagnetorquerParameters,
    allocate_dipole_kernel,
    magnetic_torque_kernel,
    undisturbed_kernel,
)
from attitude.actuators.wheels import AllocationParameters, WheelParameters, allocate_kernel
from attitude.control.detumble import OK as DIFFERENCED
from attitude.control.detumble import STATE as BDOT_STATE
from attitude.control.detumble import DetumbleParameters, bdot_kernel, rate_detumble_kernel
from attitude.control.guidance import (
    NO_DIRECTION,
    REFERENCE,
    ReferenceParameters,
    SlewParameters,
    reference_kernel,
    slew_kernel,
    slew_start_kernel,
)
from attitude.control.guidance import OK as SEEN
from attitude.control.modes import NOMINAL, REASON, SAFE, ModeParameters, modes_kernel
from attitude.control.momentum import DumpingParameters, dumping_kernel
from attitude.control.pointing import PointingParameters, pointing_kernel
from attitude.core.jit import Array, inner_kernel, kernel
from attitude.core.quaternion import rotate_xyz, to_matrix_kernel
from attitude.spacecraft import frames
from attitude.spacecraft.config import BDOT, FlightConfig, torquer_parameters, wheel_parameters
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES

REFERENCES = 4  # nominal references there is room for
SAFE_REFERENCE = REFERENCES  # number of the safe one
NO_REFERENCE = -1
FIELD_AGE = 2.0  # s for which a measured field serves the damping

_T, _VALID, _SPEED = (SAMPLES[name].offset for name in ("t", "valid", "wheel_speed"))
_FIELD_T = SAMPLES["magnetometer_t"].offset
_E_RUNNING, _E_Q, _E_OMEGA, _E_SIGMA, _E_FAULTY = (
    ESTIMATE[name].offset for name in ("running", "q_IB", "omega_B", "sigma_B", "faulty")
)
_C_MODE, _C_REASON, _C_POINTING, _C_SLEWING, _C_DUMPING, _C_Q, _C_OMEGA, _C_TORQUE, _C_LOAD, _C_RATE = (
    CONTROL[name].offset
    for name in (
        "mode", "reason", "pointing", "slewing", "dumping", "reference_q_IB", "reference_omega_B", "torque_B",
        "wheel_load", "rate",
    )
)  # fmt: skip
_M_T, _M_VALID, _M_WHEEL, _M_DIPOLE = (COMMAND[name].offset for name in ("t", "valid", "wheel", "dipole"))


class ControllerParameters(NamedTuple):
    """What the kernel needs; a law that is not wanted has its switch at zero."""

    tick: float
    damps: int
    by_bdot: int
    points: int
    dumps: int
    essential: int  # bits of sensors
    detumble: DetumbleParameters
    pointing: PointingParameters
    allocation: AllocationParameters
    dumping: DumpingParameters
    slew: SlewParameters
    references: tuple[ReferenceParameters, ...]  # REFERENCES + 1, the last for safe mode
    known: int  # how many of them there are
    modes: ModeParameters
    wheels: WheelParameters
    torquers: MagnetorquerParameters


class ControllerState(NamedTuple):
    """Modes, laws, and work space."""

    modes: Array
    bdot: Array
    integral: Array
    slew: Array
    dumping: Array
    numbers: Array  # pointing, time of the last field, slewing, time, whether the field's derivative is known
    speeds: Array  # (W,)
    wheel: Array  # (W,)
    dipole: Array  # (M,)
    vectors: Array  # (6, 3)
    reference: Array  # (10,)
    aim: Array  # (10,)
    R_IE: Array
    work: Array


POINTING, FIELD_TIME, SLEWING, TIME, TURNING = range(5)
FIELD, DAMPING, TORQUE, MOMENTUM, DIPOLE, MAGNETIC = range(6)  # rows of `vectors`


# ------------------------------------------------------------------ what is known
@inner_kernel
def _norm(v: Array) -> float:
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@inner_kernel
def _zero(v: Array) -> None:
    v[0] = v[1] = v[2] = 0.0


@inner_kernel
def _feel_field(p: ControllerParameters, s: ControllerState, bits: int, samples: Array) -> None:
    """A new sample of the field, taken while the torquers are quiet: B-dot and its dipole move on."""
    if (bits >> frames.MAGNETOMETER_BIT) & 1 == 0:
        return
    tag = samples[_FIELD_T]
    if undisturbed_kernel(p.torquers, tag) and tag != s.numbers[FIELD_TIME]:  # not the same sample once more
        for i in range(3):
            s.vectors[FIELD, i] = samples[_FIELD_T + 1 + i]
        s.numbers[FIELD_TIME] = tag
        status = bdot_kernel(p.detumble, s.bdot, s.vectors[FIELD], tag, s.vectors[DAMPING])
        s.numbers[TURNING] = 1.0 if status == DIFFERENCED else 0.0


@inner_kernel
def _rate(p: ControllerParameters, s: ControllerState, t: float, omega_B: Array) -> float:
    """Rate for the mode manager: as estimated, or as the field seems to turn, rad/s; NaN if neither is known."""
    rate = _norm(omega_B)
    if math.isfinite(rate):
        return rate
    field = _norm(s.vectors[FIELD])
    known = s.numbers[TURNING] > 0.0 and t - s.numbers[FIELD_TIME] <= p.detumble.max_gap
    return _norm(s.bdot[5:8]) / field if field > 0.0 and known else math.nan


@inner_kernel
def _load(p: ControllerParameters, s: ControllerState, samples: Array) -> float:
    """Measured wheel speeds, the last known where one is not finite, and the largest over its maximum."""
    load = 0.0
    for i in range(s.speeds.size):
        if math.isfinite(samples[_SPEED + i]):
            s.speeds[i] = samples[_SPEED + i]
        load = max(load, abs(s.speeds[i]) / p.wheels.max_speed[i])
    return load


@inner_kernel
def _sigma(p: ControllerParameters, estimate: Array) -> float:
    """Largest sigma of the attitude; NaN if there is none, or an essential sensor is faulty."""
    lost = frames.bits_of(estimate[_E_FAULTY]) & p.essential
    if not estimate[_E_RUNNING] > 0.0 or lost:
        return math.nan
    return max(estimate[_E_SIGMA], estimate[_E_SIGMA + 1], estimate[_E_SIGMA + 2])


# ------------------------------------------------------------------ where to point
@inner_kernel
def _choose(p: ControllerParameters, s: ControllerState, mode: int, onboard: Array) -> int:
    """Number of the reference to point at, which is then in `aim`; -1 if there is none."""
    to_matrix_kernel(onboard[12:16], s.R_IE)
    first, last = (REFERENCES, REFERENCES + 1) if mode == SAFE else (0, p.known)
    for i in range(first, last):
        status = reference_kernel(
            p.references[i], onboard[0:3], onboard[3:6], onboard[9:12], s.R_IE, s.work, s.aim
        )
        if status == SEEN or (status != NO_DIRECTION and i == last - 1):
            return i
    return NO_REFERENCE


@inner_kernel
def _guide(p: ControllerParameters, s: ControllerState, mode: int, t: float, q: Array, onboard: Array) -> bool:
    """The reference of this tick, slewing where it has changed; false if there is none."""
    chosen = _choose(p, s, mode, onboard)
    if chosen == NO_REFERENCE:
        s.numbers[POINTING] = NO_REFERENCE
        return False
    if chosen != int(s.numbers[POINTING]):
        slew_start_kernel(s.slew, q, s.aim, t)
        _zero(s.integral)
        s.numbers[POINTING] = chosen
    s.numbers[SLEWING] = slew_kernel(p.slew, s.slew, s.aim, t, s.reference)
    return True


# ------------------------------------------------------------------ what to do
@inner_kernel
def _damp(p: ControllerParameters, s: ControllerState, t: float, omega_B: Array, command: Array) -> None:
    """Dipole against the rate, by the measured field if it is fresh."""
    dipole = s.vectors[DIPOLE]
    _zero(dipole)
    if p.damps == 0 or not t - s.numbers[FIELD_TIME] <= FIELD_AGE:
        return
    if p.by_bdot == 0 and math.isfinite(_norm(omega_B)):
        rate_detumble_kernel(p.detumble, omega_B, s.vectors[FIELD], dipole)
    else:
        for i in range(3):
            dipole[i] = s.vectors[DAMPING, i]
    _send_dipole(p, s, command)


@inner_kernel
def _send_dipole(p: ControllerParameters, s: ControllerState, command: Array) -> None:
    """Command the torquers to the wanted dipole, and leave in its place the mean one that they can give."""
    dipole = s.vectors[DIPOLE]
    if not math.isfinite(_norm(dipole)):
        _zero(dipole)
    allocate_dipole_kernel(p.torquers, dipole, s.dipole)
    _zero(dipole)
    for i in range(s.dipole.size):
        command[_M_DIPOLE + i] = s.dipole[i]
        for j in range(3):
            dipole[j] += p.torquers.duty_cycle * p.torquers.axes[i, j] * s.dipole[i]
    command[_M_VALID] += float(1 << frames.TORQUERS_BIT)


@inner_kernel
def _rotor_momentum(p: ControllerParameters, s: ControllerState, omega_B: Array) -> None:
    """`Σ a w`, body axes, from the measured speeds."""
    h = s.vectors[MOMENTUM]
    _zero(h)
    for i in range(s.speeds.size):
        a = p.wheels.axes[i]
        w = p.wheels.inertia[i] * (s.speeds[i] + a[0] * omega_B[0] + a[1] * omega_B[1] + a[2] * omega_B[2])
        for j in range(3):
            h[j] += a[j] * w


@inner_kernel
def _dump(p: ControllerParameters, s: ControllerState, q: Array, onboard: Array, command: Array) -> None:
    """Dipole that unloads the wheels, and the mean torque it will give."""
    field, dipole, magnetic = s.vectors[FIELD], s.vectors[DIPOLE], s.vectors[MAGNETIC]
    _zero(magnetic)
    if p.dumps == 0:
        return
    field[0], field[1], field[2] = rotate_xyz(-q[0], -q[1], -q[2], q[3], onboard[6], onboard[7], onboard[8])
    dumping_kernel(p.dumping, s.dumping, s.vectors[MOMENTUM], field, dipole)
    if s.dumping[0] > 0.0:
        _send_dipole(p, s, command)
        magnetic_torque_kernel(dipole, field, magnetic)


@inner_kernel
def _point(
    p: ControllerParameters, s: ControllerState, q: Array, omega_B: Array, onboard: Array, command: Array
) -> None:
    """Torque towards the reference, shared among the wheels."""
    torque = s.vectors[TORQUE]
    _rotor_momentum(p, s, omega_B)
    _dump(p, s, q, onboard, command)
    pointing_kernel(p.pointing, s.integral, q, omega_B, s.vectors[MOMENTUM], s.reference, p.tick, torque)
    for i in range(3):
        torque[i] -= s.vectors[MAGNETIC, i]
    allocate_kernel(p.allocation, torque, s.speeds, p.tick, s.wheel)
    for i in range(s.wheel.size):
        command[_M_WHEEL + i] = s.wheel[i]
    command[_M_VALID] += float(1 << frames.WHEELS_BIT)


@inner_kernel
def _report(s: ControllerState, mode: int, load: float, rate: float, control: Array) -> None:
    """The control record `(17,)`."""
    control[_C_MODE], control[_C_REASON] = mode, s.modes[REASON]
    control[_C_POINTING], control[_C_SLEWING], control[_C_DUMPING] = (
        s.numbers[POINTING], s.numbers[SLEWING], s.dumping[0],
    )  # fmt: skip
    for i in range(7):
        control[_C_Q + i] = s.reference[i]
    for i in range(3):
        control[_C_TORQUE + i] = s.vectors[TORQUE, i]
    control[_C_LOAD], control[_C_RATE] = load, rate


@inner_kernel
def control_attitude(
    p: ControllerParameters, s: ControllerState, onboard: Array, samples: Array, estimate: Array, control: Array,
    command: Array,
) -> None:  # fmt: skip
    """One tick of the controller: command `(16,)` and control record `(17,)`."""
    q, omega_B = estimate[_E_Q : _E_Q + 4], estimate[_E_OMEGA : _E_OMEGA + 3]
    if math.isfinite(samples[_T]):
        s.numbers[TIME] = samples[_T]
    t = s.numbers[TIME]
    bits = frames.bits_of(samples[_VALID])
    for i in range(command.size):
        command[i] = 0.0
    command[_M_T] = t
    _zero(s.vectors[TORQUE])
    _feel_field(p, s, bits, samples)
    rate, load = _rate(p, s, t, omega_B), _load(p, s, samples)
    mode = modes_kernel(p.modes, s.modes, rate, _sigma(p, estimate), load, p.tick)
    known = estimate[_E_RUNNING] > 0.0 and math.isfinite(q[0] + q[1] + q[2] + q[3])
    points = p.points != 0 and mode in (SAFE, NOMINAL) and known
    if points and _guide(p, s, mode, t, q, onboard):
        _point(p, s, q, omega_B, onboard, command)
    else:
        s.numbers[POINTING], s.numbers[SLEWING], s.dumping[0] = NO_REFERENCE, 0.0, 0.0
        _damp(p, s, t, omega_B, command)
    _report(s, mode, load, rate, control)


@kernel
def control_kernel(
    p: ControllerParameters, s: ControllerState, onboard: Array, samples: Array, estimate: Array, control: Array,
    command: Array,
) -> None:  # fmt: skip
    """`control_attitude` from Python."""
    control_attitude(p, s, onboard, samples, estimate, control, command)


# ------------------------------------------------------------------ from a configuration
def controller_parameters(config: FlightConfig) -> ControllerParameters:
    """What the controller is told, SI units."""
    c, wheels = config.controller, wheel_parameters(config.wheels)
    bits = [frames.SENSOR_NAMES.index(name) for name in c.essential]
    return ControllerParameters(
        tick=float(config.tick_s),
        damps=int(c.detumble is not None),
        by_bdot=int(c.detumble_law == BDOT),
        points=int(c.pointing is not None),
        dumps=int(c.dumping is not None and config.torquers is not None),
        essential=sum(1 << bit for bit in bits),
        detumble=DetumbleParameters(0.0, 0.0, 1.0) if c.detumble is None else c.detumble.parameters(),
        pointing=_no_pointing() if c.pointing is None else c.pointing.parameters(),
        allocation=_no_allocation() if c.allocation is None else c.allocation.parameters(),
        dumping=DumpingParameters(0.0, np.zeros(3), 0.0, 0.0) if c.dumping is None else c.dumping.parameters(),
        slew=SlewParameters(1.0, 1.0) if c.slew is None else c.slew.parameters(),
        references=_references(config),
        known=len(c.references),
        modes=c.modes.parameters(),
        wheels=wheels,
        torquers=torquer_parameters(config.torquers),
    )


def _no_pointing() -> PointingParameters:
    zero = np.zeros((3, 3))
    return PointingParameters(zero, zero, zero, zero, 0.0, 0.0, 0)


def _no_allocation() -> AllocationParameters:
    none = np.zeros(0)
    return AllocationParameters(np.zeros((0, 3)), np.zeros((0, 0)), none, none, none, none, none, none, 0)


def _references(config: FlightConfig) -> tuple[ReferenceParameters, ...]:
    c, zero = config.controller, np.zeros(3)
    nothing = ReferenceParameters(0, np.array([0.0, 0.0, 0.0, 1.0]), zero, zero, zero, 0.0)
    given = [reference.parameters() for reference in c.references]
    safe = nothing if c.safe is None else c.safe.parameters()
    return (*given, *[nothing] * (REFERENCES - len(given)), safe)


def controller_state(config: FlightConfig, p: ControllerParameters) -> ControllerState:
    """Before the first tick."""
    size, torquers = p.wheels.inertia.size, p.torquers.axes.shape[0]
    reference = np.zeros(REFERENCE)
    reference[3] = 1.0
    return ControllerState(
        modes=config.controller.modes.initial_state(config.controller.first_mode),
        bdot=np.zeros(BDOT_STATE), integral=np.zeros(3), slew=np.zeros(5), dumping=np.zeros(1),
        numbers=np.array([NO_REFERENCE, -math.inf, 0.0, 0.0, 0.0]),
        speeds=np.zeros(size), wheel=np.zeros(size), dipole=np.zeros(torquers), vectors=np.zeros((6, 3)),
        reference=reference, aim=np.zeros(REFERENCE), R_IE=np.zeros((3, 3)), work=np.zeros((3, 3)),
    )  # fmt: skip
