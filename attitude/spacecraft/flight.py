"""The flight side: navigation by the on-board orbit, the estimator, the controller. It sees samples, never the truth.

A user's own estimator or controller is any object with

    estimator.tick(t, samples) -> estimate (22,)                    see `frames.ESTIMATE`
    controller.tick(t, samples, estimate) -> command (16,)          see `frames.COMMAND`

and a whole flight program any object with `tick(t, samples) -> command`.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from attitude.core.jit import Array, inner_kernel, kernel
from attitude.environment.grid import SIZE, EnvironmentParameters, environment_kernel
from attitude.spacecraft import frames
from attitude.spacecraft.config import FlightConfig
from attitude.spacecraft.controller import (
    REFERENCES,
    ControllerParameters,
    ControllerState,
    control_attitude,
    control_kernel,
    controller_parameters,
    controller_state,
)
from attitude.spacecraft.estimator import estimate_attitude, estimate_kernel
from attitude.spacecraft.estimator_setup import (
    EstimatorParameters,
    EstimatorState,
    estimator_parameters,
    estimator_state,
)
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES

GAIN = 0.05  # of a GPS fix in the clock correction
MAX_CORRECTION, MAX_MISFIT = 30.0, 3e5  # s, m: a fix farther off is not believed
MAX_FIX_AGE = 10.0  # s

_T, _VALID, _GPS_T, _GPS_R = (SAMPLES[name].offset for name in ("t", "valid", "gps_t", "gps_r_I"))
_EPHEMERIS = ESTIMATE["ephemeris_s"].offset


class UserEstimator(Protocol):
    """What may take the place of the built-in estimator."""

    def tick(self, t: float, samples: Array) -> Array:
        """Estimate `(22,)` from the samples `(64,)` of the tick at `t`, s."""
        ...


class UserController(Protocol):
    """What may take the place of the built-in controller."""

    def tick(self, t: float, samples: Array, estimate: Array) -> Array:
        """Command `(16,)` from the samples `(64,)` and the estimate `(22,)` of the tick at `t`, s."""
        ...


class Navigation(NamedTuple):
    """On-board orbit, field and Sun: the table, its clock correction and the last fix's time, s, the values `(22,)`."""

    environment: EnvironmentParameters
    correction: Array
    onboard: Array


class FlightKernels(NamedTuple):
    """Everything the flight side's kernels take."""

    navigation: Navigation
    estimator: EstimatorParameters
    estimator_state: EstimatorState
    controller: ControllerParameters
    controller_state: ControllerState


@inner_kernel
def _misfit(r: Array, onboard: Array) -> tuple[float, float]:
    """Seconds the on-board orbit is behind the fix `r`, along the track, and metres it is off in all."""
    v, along, square, speed = onboard[3:6], 0.0, 0.0, 0.0
    for i in range(3):
        off = r[i] - onboard[i]
        along += off * v[i]
        square += off * off
        speed += v[i] * v[i]
    return along / speed, math.sqrt(square)


@inner_kernel
def navigate(n: Navigation, samples: Array, estimate: Array) -> None:
    """On-board environment at the tick; a GPS fix corrects the orbit's clock, where an old orbit goes wrong most."""
    correction, t = n.correction, samples[_T] if math.isfinite(samples[_T]) else 0.0
    environment_kernel(n.environment, t + correction[0], n.onboard)
    age = samples[_T] - samples[_GPS_T]
    fix = (frames.bits_of(samples[_VALID]) >> frames.GPS_BIT) & 1 and samples[_GPS_T] != correction[1]
    if fix and 0.0 <= age <= MAX_FIX_AGE:
        correction[1] = samples[_GPS_T]
        late, off = _misfit(samples[_GPS_R : _GPS_R + 3], n.onboard)
        late += age  # the fix is of its time tag, the on-board orbit of now
        if off < MAX_MISFIT and abs(correction[0] + GAIN * late) < MAX_CORRECTION:
            correction[0] += GAIN * late
    estimate[_EPHEMERIS] = correction[0]


@kernel
def navigate_kernel(n: Navigation, samples: Array, estimate: Array) -> None:
    """`navigate` from Python."""
    navigate(n, samples, estimate)


@inner_kernel
def fly(f: FlightKernels, samples: Array, estimate: Array, control: Array, command: Array) -> None:
    """One tick of the whole flight side; `command` `(16,)` holds the last command before, and the new one after."""
    onboard = f.navigation.onboard
    navigate(f.navigation, samples, estimate)
    estimate_attitude(f.estimator, f.estimator_state, onboard, samples, command, estimate)
    control_attitude(f.controller, f.controller_state, onboard, samples, estimate, control, command)


@kernel
def flight_kernel(f: FlightKernels, samples: Array, estimate: Array, control: Array, command: Array) -> None:
    """`fly` from Python."""
    fly(f, samples, estimate, control, command)


class Flight:
    """The toolkit's flight software; see the module. `estimator` and `controller` may be the user's own."""

    def __init__(
        self,
        config: FlightConfig,
        estimator: UserEstimator | None = None,
        controller: UserController | None = None,
    ) -> None:
        if len(config.controller.references) > REFERENCES:
            raise ValueError(f"references must be at most {REFERENCES}, got {len(config.controller.references)}")
        self.config = config
        self.estimate, self.control, self.command = ESTIMATE.zeros(), CONTROL.zeros(), COMMAND.zeros()
        self._samples = SAMPLES.zeros()
        self.estimate[ESTIMATE["q_IB"].offset + 3] = 1.0
        self._estimator, self._controller = estimator, controller
        estimation, control = estimator_parameters(config), controller_parameters(config)
        navigation = Navigation(config.environment.parameters(), np.array([0.0, math.nan]), np.zeros(SIZE))
        self.kernels = FlightKernels(
            navigation, estimation, estimator_state(estimation), control, controller_state(config, control)
        )

    @property
    def compiled(self) -> bool:
        """Whether all of it is built in, so that a loop can be compiled."""
        return self._estimator is None and self._controller is None

    def tick(self, t: float, samples: Array) -> Array:
        """Command `(16,)` for the samples `(64,)` of the tick at `t`, s; the array is used again by the next call."""
        f = self.kernels
        frames.copy_in(samples, self._samples, "samples")  # of any type, from any buffer
        samples = self._samples
        if self.compiled:
            flight_kernel(f, samples, self.estimate, self.control, self.command)
            return self.command
        onboard = f.navigation.onboard
        navigate_kernel(f.navigation, samples, self.estimate)
        if self._estimator is None:
            estimate_kernel(f.estimator, f.estimator_state, onboard, samples, self.command, self.estimate)
        else:
            frames.copy_in(self._estimator.tick(t, samples), self.estimate, "estimate")
        if self._controller is None:
            control_kernel(
                f.controller, f.controller_state, onboard, samples, self.estimate, self.control, self.command
            )
        else:
            frames.copy_in(self._controller.tick(t, samples, self.estimate), self.command, "command")
        return self.command
