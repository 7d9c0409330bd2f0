"""The plant side: motion, environment, disturbances, sensors and actuators; it makes samples and takes commands.

A tick begins at `t = k tick_s`. `sense` reads the sensors there; `act` takes the command and moves on to the next tick:
wheels, torquers and disturbances act on the gyrostat's variational step, whose total momentum changes by outer torques
alone. Along with it go the sums of outer impulse and of work, so that momentum and energy can be audited.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from attitude.actuators.magnetorquers import MagnetorquerParameters, magnetic_torque_kernel, magnetorquers_kernel
from attitude.actuators.wheels import RAD_S_PER_RPM, WheelParameters, wheel_speeds_kernel, wheels_kernel
from attitude.core import checks
from attitude.core.increment import OK
from attitude.core.jit import Array, inner_kernel, kernel
from attitude.core.quaternion import rotate_xyz
from attitude.dynamics.damper import DampedGyrostat
from attitude.dynamics.gyrostat import Gyrostat
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.state import State
from attitude.dynamics.step import READ_OUT, STATE, TANGENT, read_out, step_in_place
from attitude.environment.disturbances import (
    DIPOLE,
    DRAG,
    GRAVITY_GRADIENT,
    ROWS,
    SOLAR,
    TOTAL,
    DisturbanceParameters,
    disturbance_kernel,
)
from attitude.environment.grid import SIZE, SUNLIGHT, EnvironmentParameters, environment_kernel
from attitude.spacecraft import frames
from attitude.spacecraft.config import MAX_INCREMENT, PlantConfig, torquer_parameters, wheel_parameters
from attitude.spacecraft.frames import COMMAND, SAMPLES, TRUTH
from attitude.spacecraft.sensing import Sensing, Suite, sense_all

ROUNDING = 1e-6  # of a tick: a table that ends on a tick does so in floating point too

_T, _Q, _OMEGA, _DAMPER = (TRUTH[name].offset for name in ("t", "q_IB", "omega_B", "damper_omega_B"))
_MOMENTUM, _SPEED, _TORQUE = (TRUTH[name].offset for name in ("wheel_momentum", "wheel_speed", "wheel_torque"))
_DIPOLE_B, _MAGNETIC = TRUTH["dipole_B"].offset, TRUTH["torque_magnetic_B"].offset
_OUTER = tuple(TRUTH[f"torque_{name}_B"].offset for name in ("gravity", "residual", "drag", "solar"))
_ENVIRONMENT, _SUNLIGHT = TRUTH["r_I"].offset, TRUTH["sunlight"].offset
_TOTAL, _IMPULSE, _ENERGY, _WORK, _STATUS = (
    TRUTH[name].offset for name in ("momentum_I", "impulse_I", "energy", "work", "status")
)
_COMMANDED, _WHEEL, _DIPOLE = (COMMAND[name].offset for name in ("valid", "wheel", "dipole"))
_ENVIRONMENT_SIZE = 16  # r, v, B, Sun, Earth rotation lie in the record as in the environment's output


class PlantParameters(NamedTuple):
    """What the plant's kernels need; `axes_P` `(3, W)` rotor axes in principal axes."""

    tick: float
    substeps: int
    body: Array
    terms: int
    sigma: Array
    delta: Array
    stages: Array
    axes_P: Array
    environment: EnvironmentParameters
    disturbances: DisturbanceParameters
    wheels: WheelParameters
    torquers: MagnetorquerParameters


class PlantState(NamedTuple):
    """What moves: ticks done, the body, wheels' momentum, dipoles, impulse and work; and work space."""

    count: Any  # (1,) int64
    x: Array
    momentum: Array
    dipoles: Array
    sums: Array  # (4,): outer impulse in inertial axes, work
    wheel_command: Array
    wheel_torque: Array
    speeds: Array
    environment: Array
    torques: Array
    inputs: Array
    x0: Array
    out: Array
    vectors: Array  # (5, 3)
    no_tangents: Array


DIPOLE_NOW, FIELD, MEAN_DIPOLE, MAGNETIC, OUTER = range(5)  # rows of `vectors`


# ------------------------------------------------------------------ kernels
@inner_kernel
def _into_body(q: Array, v: Array, out: Array) -> None:
    out[0], out[1], out[2] = rotate_xyz(-q[0], -q[1], -q[2], q[3], v[0], v[1], v[2])


@inner_kernel
def _look(p: PlantParameters, s: PlantState, t: float) -> None:
    """Environment, attitude, rate and wheel speeds at `t`."""
    environment_kernel(p.environment, t, s.environment)
    read_out(p.body, s.x, s.out)
    wheel_speeds_kernel(p.wheels, s.momentum, s.out[4:7], s.speeds)


@inner_kernel
def _report(p: PlantParameters, s: PlantState, t: float, truth: Array) -> None:
    """The truth at the beginning of a tick."""
    truth[_T] = t
    for i in range(7):
        truth[_Q + i] = s.out[i]
    spin = 0.0
    for i in range(3):
        truth[_DAMPER + i] = s.out[7 + i]
        truth[_TOTAL + i] = s.out[10 + i]
        truth[_IMPULSE + i] = s.sums[i]
    for i in range(s.momentum.size):
        truth[_MOMENTUM + i], truth[_SPEED + i] = s.momentum[i], s.speeds[i]
        spin += 0.5 * s.momentum[i] * s.momentum[i] / p.wheels.inertia[i]
    for i in range(_ENVIRONMENT_SIZE):
        truth[_ENVIRONMENT + i] = s.environment[i]
    truth[_SUNLIGHT] = s.environment[SUNLIGHT]
    truth[_ENERGY], truth[_WORK] = s.out[13] + spin, s.sums[3]


@inner_kernel
def _dipole_now(p: PlantParameters, s: PlantState) -> None:
    """What the magnetometer feels of the torquers."""
    m = s.vectors[DIPOLE_NOW]
    m[0] = m[1] = m[2] = 0.0
    for i in range(s.dipoles.size):
        for j in range(3):
            m[j] += p.torquers.axes[i, j] * s.dipoles[i]


@inner_kernel
def sense(p: PlantParameters, s: PlantState, sensing: Sensing, truth: Array, samples: Array) -> None:
    """Read all sensors at the beginning of the tick; `samples` `(64,)`, `truth` `(79,)`."""
    t = s.count[0] * p.tick
    _look(p, s, t)
    _report(p, s, t, truth)
    _dipole_now(p, s)
    sense_all(sensing, t, s.out[0:4], s.out[4:7], s.vectors[DIPOLE_NOW], s.environment, s.speeds, samples)


@kernel
def sense_kernel(p: PlantParameters, s: PlantState, sensing: Sensing, truth: Array, samples: Array) -> None:
    """`sense` from Python."""
    sense(p, s, sensing, truth, samples)


@inner_kernel
def _take_command(s: PlantState, command: Array) -> None:
    """Wheel commands; a wheel that gets none coasts. Torquers that get none are off."""
    bits = frames.bits_of(command[_COMMANDED])
    wheels, torquers = (bits >> frames.WHEELS_BIT) & 1, (bits >> frames.TORQUERS_BIT) & 1
    for i in range(s.wheel_command.size):
        s.wheel_command[i] = command[_WHEEL + i] if wheels else math.nan
    if torquers == 0:
        for i in range(s.dipoles.size):
            command[_DIPOLE + i] = 0.0


@inner_kernel
def _torques(p: PlantParameters, s: PlantState, command: Array, t: float, h: float) -> None:
    """Everything that acts from `t` to `t + h`, into `inputs`, in principal axes."""
    q, dipoles = s.out[0:4], command[_DIPOLE : _DIPOLE + s.dipoles.size]
    _into_body(q, s.environment[6:9], s.vectors[FIELD])
    magnetorquers_kernel(p.torquers, s.dipoles, dipoles, t, h, s.vectors[MEAN_DIPOLE])
    magnetic_torque_kernel(s.vectors[MEAN_DIPOLE], s.vectors[FIELD], s.vectors[MAGNETIC])
    disturbance_kernel(p.disturbances, q, s.environment, s.torques)
    wheels_kernel(p.wheels, s.momentum, s.out[4:7], s.wheel_command, h, s.wheel_torque)
    outer = s.vectors[OUTER]
    for i in range(3):
        outer[i] = s.vectors[MAGNETIC, i] + s.torques[TOTAL, i]
        rate = 0.0
        for j in range(s.wheel_torque.size):
            rate += p.axes_P[i, j] * s.wheel_torque[j]
        s.inputs[0, 3 + i] = rate
    b = p.body
    s.inputs[0, 0], s.inputs[0, 1], s.inputs[0, 2] = rotate_xyz(
        -b[3], -b[4], -b[5], b[6], outer[0], outer[1], outer[2]
    )


@inner_kernel
def _audit(p: PlantParameters, s: PlantState, half: float) -> None:
    """Half a step's impulse and work at the present attitude and rate: an outer torque acts so, half at each end."""
    q, w, u = s.out[0:4], s.out[4:7], s.vectors[OUTER]
    i1, i2, i3 = rotate_xyz(q[0], q[1], q[2], q[3], u[0], u[1], u[2])
    s.sums[0] += half * i1
    s.sums[1] += half * i2
    s.sums[2] += half * i3
    power = u[0] * w[0] + u[1] * w[1] + u[2] * w[2]
    for i in range(s.speeds.size):
        power += s.wheel_torque[i] * s.speeds[i]
    s.sums[3] += half * power


@inner_kernel
def _report_torques(s: PlantState, truth: Array) -> None:
    for i in range(3):
        truth[_DIPOLE_B + i] = s.vectors[MEAN_DIPOLE, i]
        truth[_MAGNETIC + i] = s.vectors[MAGNETIC, i]
        truth[_OUTER[0] + i] = s.torques[GRAVITY_GRADIENT, i]
        truth[_OUTER[1] + i] = s.torques[DIPOLE, i]
        truth[_OUTER[2] + i] = s.torques[DRAG, i]
        truth[_OUTER[3] + i] = s.torques[SOLAR, i]
    for i in range(s.wheel_torque.size):
        truth[_TORQUE + i] = s.wheel_torque[i]


@inner_kernel
def act(p: PlantParameters, s: PlantState, truth: Array, command: Array) -> int:
    """Take the command `(16,)` and move on by a tick; after `sense_kernel`. Returns the propagator's worst status."""
    start, h, worst = s.count[0] * p.tick, p.tick / p.substeps, OK
    row = s.inputs.shape[0] - 1
    _take_command(s, command)
    for k in range(p.substeps):
        if k > 0:
            environment_kernel(p.environment, start + k * h, s.environment)
        _torques(p, s, command, start + k * h, h)
        if k == 0:
            _report_torques(s, truth)
        _audit(p, s, 0.5 * h)
        status = step_in_place(
            p.body, p.terms, p.sigma, p.delta, p.stages, s.x, s.inputs, row, h, MAX_INCREMENT, s.no_tangents, s.x0,
            s.no_tangents,
        )  # fmt: skip
        worst = max(worst, status)
        read_out(p.body, s.x, s.out)
        wheel_speeds_kernel(p.wheels, s.momentum, s.out[4:7], s.speeds)
        _audit(p, s, 0.5 * h)
    truth[_STATUS] = worst
    s.count[0] += 1
    return worst


@kernel
def act_kernel(p: PlantParameters, s: PlantState, truth: Array, command: Array) -> int:
    """`act` from Python."""
    return act(p, s, truth, command)


# ------------------------------------------------------------------ from Python
class Plant:
    """The spacecraft as it is: `sense()`, then `act(command)`, tick after tick; see the module."""

    def __init__(self, config: PlantConfig, seed: int = 0) -> None:
        self.config = config
        self.seed = checks.count(seed, "seed", 0)
        self.propagator = Propagator(_body(config), max_increment=MAX_INCREMENT)
        self.parameters = _parameters(config, self.propagator)
        self.state = _start(config, self.propagator)
        self.suite = Suite(config.sensors, self.seed)
        self.truth, self.samples = TRUTH.zeros(), SAMPLES.zeros()
        self._command = COMMAND.zeros()
        self._sensed = -1  # tick in which the sensors were last read

    @property
    def t(self) -> float:
        """Time of the tick that begins, s."""
        return float(self.state.count[0] * self.parameters.tick)

    @property
    def ticks_left(self) -> int:
        """Ticks until the end of the environment's table."""
        whole = self.config.environment.duration / self.parameters.tick
        return int(whole + ROUNDING) - int(self.state.count[0])

    def sense(self) -> Array:
        """Samples `(64,)` at the beginning of the tick; the array is used again by the next call."""
        sense_kernel(self.parameters, self.state, self.suite.sensing(1), self.truth, self.samples)
        self._sensed = int(self.state.count[0])
        return self.samples

    def act(self, command: Array) -> int:
        """Take a command `(16,)` and move on by one tick; returns the propagator's status, 0 if all is well.

        If `sense` was not called in this tick, it is now: the step starts from what it looks up.
        """
        frames.copy_in(command, self._command, "command")
        if self._sensed != self.state.count[0]:
            self.sense()
        return int(act_kernel(self.parameters, self.state, self.truth, self._command))


def _body(config: PlantConfig) -> Gyrostat:
    rotors = [] if config.wheels is None else config.wheels.rotors()
    inertia = np.asarray(config.inertia_kg_m2, dtype=np.float64)
    if config.damper is None:
        return Gyrostat(inertia, rotors)
    damper = config.damper
    return DampedGyrostat(inertia, rotors, damper_inertia=damper.inertia_kg_m2, damping=damper.damping_Nms)


def _parameters(config: PlantConfig, propagator: Propagator) -> PlantParameters:
    return PlantParameters(
        float(config.tick_s), int(config.substeps), *propagator.kernel_body, propagator.rotor_axes_P,
        config.environment.parameters(), config.disturbances.parameters(),
        wheel_parameters(config.wheels), torquer_parameters(config.torquers),
    )  # fmt: skip


def _start(config: PlantConfig, propagator: Propagator) -> PlantState:
    wheels = wheel_parameters(config.wheels)
    omega = np.asarray(config.omega_B)
    momentum = wheels.inertia * (np.asarray(config.wheel_speed_rpm) * RAD_S_PER_RPM + wheels.axes @ omega)
    x, momentum = propagator.kernel_state(State(config.q_IB, omega, momentum))
    size = momentum.size
    torquers = 0 if config.torquers is None else config.torquers.initial_state().size
    return PlantState(
        np.zeros(1, dtype=np.int64), x.copy(), momentum.copy(), np.zeros(torquers), np.zeros(4),
        np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(SIZE), np.zeros((ROWS, 3)), np.zeros((1, 6)),
        np.zeros(STATE), np.zeros(READ_OUT), np.zeros((5, 3)), np.empty((0, TANGENT)),
    )  # fmt: skip
