"""Mode manager: detumble, acquire, safe and nominal, with hysteresis, hold times and timeouts.

| from               | to       | when, without break for its hold time                                           |
|--------------------|----------|---------------------------------------------------------------------------------|
| any but `DETUMBLE` | DETUMBLE | rate above `tumbling_rate_deg_s`                                                |
| ACQUIRE, NOMINAL   | SAFE     | fastest wheel above `saturated_load` of its maximal speed                       |
| NOMINAL            | SAFE     | estimate lost: sigma above `lost_sigma_deg`, or it or the rate is not a number  |
| DETUMBLE           | ACQUIRE  | rate below `detumbled_rate_deg_s`                                               |
| ACQUIRE            | NOMINAL  | sigma below `acquired_sigma_deg`, not tumbling, not saturated                   |
| SAFE               | ACQUIRE  | estimate not lost, not tumbling, and wheels below `recovered_load`              |
| ACQUIRE            | SAFE     | after `acquire_timeout_s` in the mode                                           |
| SAFE               | DETUMBLE | after `safe_timeout_s` in the mode, if that is given: begin anew                |

The first line that applies decides. State `(7,)`: mode, seconds in it, seconds for which the way forward has been open,
for which the body has tumbled, the estimate been lost and the wheels been saturated, and the last `Reason`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up


class Mode(IntEnum):
    """What the spacecraft is doing."""

    DETUMBLE = 0
    ACQUIRE = 1
    SAFE = 2
    NOMINAL = 3


class Reason(IntEnum):
    """Why the mode last changed."""

    START = 0
    TUMBLING = 1
    SATURATED = 2
    LOST = 3
    READY = 4
    TIMEOUT = 5


DETUMBLE, ACQUIRE, SAFE, NOMINAL = (int(mode) for mode in Mode)
TUMBLING, SATURATED, LOST, READY, TIMEOUT = (int(reason) for reason in list(Reason)[1:])
MODE, IN_MODE, OPEN, TUMBLED, UNKNOWN, LOADED, REASON = range(7)  # places in the state
STATE = 7


class ModeParameters(NamedTuple):
    """What the kernel takes, SI units and rad; `hold` `(4,)` is the hold time of the way forward out of each mode."""

    detumbled_rate: float
    tumbling_rate: float
    acquired_sigma: float
    lost_sigma: float
    recovered_load: float
    saturated_load: float
    tumbling_hold: float
    lost_hold: float
    saturated_hold: float
    acquire_timeout: float
    safe_timeout: float
    hold: Array


@kernel
def _longer(seconds: float, holds: bool, h: float) -> float:
    return seconds + h if holds else 0.0


@kernel
def _way_is_open(parameters: ModeParameters, mode: int, rate: float, sigma: float, load: float) -> bool:
    """Whether the next mode forward may be entered; false for whatever is not a number."""
    p = parameters
    if mode == DETUMBLE:
        return rate < p.detumbled_rate
    calm = rate <= p.tumbling_rate
    if mode == ACQUIRE:
        return calm and sigma < p.acquired_sigma and load <= p.saturated_load
    return mode == SAFE and calm and sigma <= p.lost_sigma and load < p.recovered_load


@kernel
def _held(seconds: float, hold: float, half: float) -> bool:
    """Whether a condition has lasted; one that does not hold at all never has, however short the hold time."""
    return seconds > 0.0 and seconds + half >= hold


@kernel
def _next(parameters: ModeParameters, state: Array, half: float) -> tuple[int, int]:
    """Mode to be in now, and why; `half` a tick absorbs the rounding of summed times."""
    p, s = parameters, state
    mode = int(s[MODE])
    if mode != DETUMBLE and _held(s[TUMBLED], p.tumbling_hold, half):
        return DETUMBLE, TUMBLING
    if mode in (ACQUIRE, NOMINAL) and _held(s[LOADED], p.saturated_hold, half):
        return SAFE, SATURATED
    if mode == NOMINAL and _held(s[UNKNOWN], p.lost_hold, half):
        return SAFE, LOST
    if _held(s[OPEN], p.hold[mode], half):
        return (NOMINAL if mode == ACQUIRE else ACQUIRE), READY
    if mode == ACQUIRE and _held(s[IN_MODE], p.acquire_timeout, half):
        return SAFE, TIMEOUT
    if mode == SAFE and _held(s[IN_MODE], p.safe_timeout, half):
        return DETUMBLE, TIMEOUT
    return mode, int(s[REASON])


@kernel
def modes_kernel(
    parameters: ModeParameters, state: Array, rate: float, sigma: float, wheel_load: float, h: float
) -> int:
    """Mode after a tick of `h` seconds; `state` `(7,)` moves on.

    `rate` |ω|, rad/s; `sigma` of the estimated attitude, rad; `wheel_load` the largest `|ω_r|/ω_max`.
    """
    p = parameters
    mode = int(state[MODE])
    known = math.isfinite(rate) and sigma <= p.lost_sigma
    state[IN_MODE] += h
    state[OPEN] = _longer(state[OPEN], _way_is_open(p, mode, rate, sigma, wheel_load), h)
    state[TUMBLED] = _longer(state[TUMBLED], rate > p.tumbling_rate, h)
    state[UNKNOWN] = _longer(state[UNKNOWN], not known, h)
    state[LOADED] = _longer(state[LOADED], wheel_load > p.saturated_load, h)
    after, reason = _next(p, state, 0.5 * h)
    if after != mode:
        for i in range(STATE):
            state[i] = 0.0
        state[MODE], state[REASON] = after, reason
    return after


@dataclass(frozen=True, kw_only=True, eq=False)
class ModeManager:
    """Thresholds and times of the table in the module's head; each pair of thresholds leaves room for hysteresis."""

    detumbled_rate_deg_s: float
    tumbling_rate_deg_s: float
    acquired_sigma_deg: float
    lost_sigma_deg: float
    recovered_load: float = 0.7
    saturated_load: float = 0.95
    detumbled_hold_s: float = 60.0
    acquired_hold_s: float = 10.0
    recovered_hold_s: float = 60.0
    tumbling_hold_s: float = 10.0
    lost_hold_s: float = 30.0
    saturated_hold_s: float = 10.0
    acquire_timeout_s: float = 1800.0
    safe_timeout_s: float | None = None

    def __post_init__(self) -> None:
        for low, high in (
            ("detumbled_rate_deg_s", "tumbling_rate_deg_s"),
            ("acquired_sigma_deg", "lost_sigma_deg"),
            ("recovered_load", "saturated_load"),
        ):
            below, above = checks.positive(getattr(self, low), low), checks.positive(getattr(self, high), high)
            if not below < above:
                raise ValueError(f"{low} must be below {high} = {above}, got {below}")
        if self.saturated_load > 1.0:
            raise ValueError(f"saturated_load must be at most 1, got {self.saturated_load}")
        for name in ("detumbled", "acquired", "recovered", "tumbling", "lost", "saturated"):
            checks.positive(getattr(self, f"{name}_hold_s"), f"{name}_hold_s")
        checks.positive(self.acquire_timeout_s, "acquire_timeout_s")
        if self.safe_timeout_s is not None:
            checks.positive(self.safe_timeout_s, "safe_timeout_s")

    def parameters(self) -> ModeParameters:
        """Fresh arrays and numbers for the kernel, SI units and rad."""
        return ModeParameters(
            detumbled_rate=math.radians(self.detumbled_rate_deg_s),
            tumbling_rate=math.radians(self.tumbling_rate_deg_s),
            acquired_sigma=math.radians(self.acquired_sigma_deg),
            lost_sigma=math.radians(self.lost_sigma_deg),
            recovered_load=float(self.recovered_load),
            saturated_load=float(self.saturated_load),
            tumbling_hold=float(self.tumbling_hold_s),
            lost_hold=float(self.lost_hold_s),
            saturated_hold=float(self.saturated_hold_s),
            acquire_timeout=float(self.acquire_timeout_s),
            safe_timeout=math.inf if self.safe_timeout_s is None else float(self.safe_timeout_s),
            hold=np.array([self.detumbled_hold_s, self.acquired_hold_s, self.recovered_hold_s, math.inf]),
        )

    def initial_state(self, mode: Mode = Mode.DETUMBLE) -> Array:
        """State `(7,)` at the beginning of `mode`."""
        state = np.zeros(STATE)
        state[MODE] = Mode(mode)
        return state

    def update(self, state: Array, rate: float, sigma: float, wheel_load: float, h: float) -> Mode:
        """Mode after a tick of `h` seconds, arguments as in `modes_kernel`; NaN says that a value is not known."""
        step = checks.positive(h, "h")
        return Mode(modes_kernel(self.parameters(), state, float(rate), float(sigma), float(wheel_load), step))


@on_warm_up
def _warm_up() -> None:
    manager = ModeManager(detumbled_rate_deg_s=0.5, tumbling_rate_deg_s=2.0, acquired_sigma_deg=1.0, lost_sigma_deg=5.0)
    manager.update(manager.initial_state(), 0.0, 0.0, 0.0, 0.1)
