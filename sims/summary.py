"""A mission in numbers, from its log.

3σ stands for the 99.73 % quantile of an error's angle. Pointing errors are of the true attitude against the reference
that follows from the true orbit and Sun; they count in nominal mode, `settle_s` after the last slew or change of mode
or reference (of a single ground target `TARGET_SETTLE_S`, for its passes are short). Knowledge errors count `settle_s`
after the estimator began.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from attitude.control.modes import Mode, Reason
from attitude.core.jit import Array
from attitude.spacecraft.frames import SENSOR_NAMES
from sims.flown import Flown, Interval, Mask, intervals, references

THREE_SIGMA = 0.9973
DETUMBLED_DEG_S = 0.5
SETTLE_S, TARGET_SETTLE_S = 300.0, 60.0


@dataclass(frozen=True)
class Spread:
    """How large an angle was over `rows` rows, deg; `None` for all if there were none."""

    rows: int
    three_sigma_deg: float | None
    rms_deg: float | None
    largest_deg: float | None


@dataclass(frozen=True)
class ModeChange:
    """From `before` to `after` at `t_s`, and why."""

    t_s: float
    before: str
    after: str
    reason: str


@dataclass(frozen=True)
class Counts:
    """Rows in which a sensor had a valid sample, the estimator took it, or refused it."""

    valid: int
    accepted: int
    rejected: int


@dataclass(frozen=True)
class Summary:
    """A mission in plain values; what its spacecraft cannot do or did not get to is `None` or empty."""

    scenario: str
    seed: int
    rows: int
    duration_s: float
    orbit_period_s: float
    first_rate_deg_s: float
    last_rate_deg_s: float
    detumbled_s: float | None
    mode_s: dict[str, float]
    mode_changes: list[ModeChange]
    fallbacks: int
    last_mode: str
    eclipse_s: float
    pointing_sunlit: Spread
    pointing_eclipse: Spread
    pointing_by_reference: dict[str, Spread]
    knowledge_sunlit: Spread
    knowledge_eclipse: Spread
    within_3_sigma: float | None
    within_3_sigma_axes: list[float] | None
    wheel_load: float | None
    wheel_load_last_orbit: float | None
    dumping_s: float
    dumped_Nms: float
    momentum_audit: float
    energy_audit: float
    wobble_first_deg: float | None
    wobble_last_deg: float | None
    samples: dict[str, Counts]
    faults: dict[str, list[Interval]]
    not_finite: dict[str, int]
    failed_steps: int


def summarise(log: xr.Dataset, settle_s: float = SETTLE_S) -> Summary:
    """The numbers of a log."""
    flown = Flown(log)
    calm, short = flown.calm_s >= settle_s, flown.calm_s >= TARGET_SETTLE_S
    known = flown.running & (flown.known_s >= settle_s)
    damped = "truth_damper_omega_B" in flown
    told = np.isfinite(flown["estimate_sigma_B"]).all(axis=1)  # a flight side without a sigma says NaN
    within, changes = flown.within[known & told], mode_changes(flown)
    return Summary(
        scenario=str(log.attrs["scenario"]),
        seed=int(log.attrs["seed"]),
        rows=flown.t.size,
        duration_s=float(log.attrs["duration_s"]),
        orbit_period_s=flown.orbit_s,
        first_rate_deg_s=float(np.degrees(flown.rate[0])),
        last_rate_deg_s=float(np.degrees(flown.rate[-1])),
        detumbled_s=detumbled(flown),
        mode_s={mode.name.lower(): flown.row_s * int(flown.in_mode(mode).sum()) for mode in Mode},
        mode_changes=changes,
        fallbacks=sum(change.after == "safe" for change in changes),
        last_mode=_name(Mode, flown.mode[-1]),
        eclipse_s=flown.row_s * int(flown.eclipse.sum()),
        pointing_sunlit=spread(flown.pointing_error, calm & ~flown.eclipse),
        pointing_eclipse=spread(flown.pointing_error, calm & flown.eclipse),
        pointing_by_reference=_by_reference(flown, calm, short),
        knowledge_sunlit=spread(flown.knowledge, known & ~flown.eclipse),
        knowledge_eclipse=spread(flown.knowledge, known & flown.eclipse),
        within_3_sigma=float(within.all(axis=1).mean()) if len(within) else None,
        within_3_sigma_axes=within.mean(axis=0).tolist() if len(within) else None,
        wheel_load=_largest(flown.wheel_load),
        wheel_load_last_orbit=_largest(flown.wheel_load, flown.t > flown.t[-1] - flown.orbit_s),
        dumping_s=flown.row_s * int((flown["control_dumping"] == 1).sum()),
        dumped_Nms=flown.dumped,
        momentum_audit=float(np.max(flown.momentum_residual)),
        energy_audit=float(np.max(np.abs(flown.energy_residual))),
        wobble_first_deg=float(np.degrees(flown.wobble[0])) if damped else None,
        wobble_last_deg=float(np.degrees(flown.wobble[-1])) if damped else None,
        samples=_samples(flown),
        faults={name: found for name in SENSOR_NAMES if (found := faults(flown, name))},
        not_finite=_not_finite(flown),
        failed_steps=int(np.count_nonzero(flown["truth_status"])),
    )


def detumbled(flown: Flown, limit_deg_s: float = DETUMBLED_DEG_S) -> float | None:
    """Seconds from the start until the true rate is below the limit and, while detumbling, stays there."""
    above = np.degrees(flown.rate) >= limit_deg_s
    left = np.flatnonzero(~flown.in_mode(Mode.DETUMBLE))
    detumbling = np.arange(flown.t.size) < (left[0] if left.size else flown.t.size)
    last = np.flatnonzero(above & detumbling)
    first = last[-1] + 1 if last.size else 0
    below = np.flatnonzero(~above[first:])
    return float(flown.t[first + below[0]] - flown.t[0]) if below.size else None


def mode_changes(flown: Flown) -> list[ModeChange]:
    """Every change of mode, with the reason that the mode manager gave."""
    rows = np.flatnonzero(np.diff(flown.mode)) + 1
    mode, reason, t = flown.mode, flown["control_reason"], flown.t
    return [
        ModeChange(float(t[k]), _name(Mode, mode[k - 1]), _name(Mode, mode[k]), _name(Reason, reason[k])) for k in rows
    ]


def _name(names: type[Mode] | type[Reason], number: float) -> str:
    return names(int(number)).name.lower() if number in list(names) else "unknown"


def spread(angle: Array, mask: Mask) -> Spread:
    """Of the angles, rad, where the mask holds and there is one."""
    degrees = np.degrees(angle[mask & np.isfinite(angle)])
    if degrees.size == 0:
        return Spread(0, None, None, None)
    rms = float(np.sqrt(np.mean(degrees**2)))
    return Spread(degrees.size, float(np.quantile(degrees, THREE_SIGMA)), rms, float(degrees.max()))


def _by_reference(flown: Flown, calm: Mask, short: Mask) -> dict[str, Spread]:
    """Of each reference that was used in nominal mode, day and night together."""
    spreads = {}
    for reference in references(flown.log):
        here = flown.pointing == reference.number
        if (here & flown.in_mode(Mode.NOMINAL)).any():
            settled = short if reference.is_target else calm
            spreads[reference.name] = spread(flown.pointing_error, settled & here)
    return spreads


def _largest(load: Array | None, mask: Mask | None = None) -> float | None:
    return None if load is None else float(np.max(load if mask is None else load[mask]))


def _samples(flown: Flown) -> dict[str, Counts]:
    """Of each sensor that was heard of."""
    names = ("samples_valid", "estimate_accepted", "estimate_rejected")
    counts = {sensor: [int(flown.bits(name, sensor).sum()) for name in names] for sensor in SENSOR_NAMES}
    return {sensor: Counts(*numbers) for sensor, numbers in counts.items() if any(numbers)}


def faults(flown: Flown, sensor: str) -> list[Interval]:
    """When the estimator held the sensor to be faulty."""
    return intervals(flown.bits("estimate_faulty", sensor), flown.t)


def _not_finite(flown: Flown) -> dict[str, int]:
    """How often each variable is not a number; the flight side may say so of what it does not know."""
    known = flown.running
    counts = {}
    for name in map(str, flown.log.data_vars):
        values = flown[name][known] if name.startswith(("estimate_", "control_")) else flown[name]
        counts[name] = int(np.count_nonzero(~np.isfinite(values)))
    return {name: number for name, number in counts.items() if number}
