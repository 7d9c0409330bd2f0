"""What follows from a log: errors against the truth, masks and intervals, each computed once when first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from attitude.control.guidance import NO_DIRECTION, REFERENCE, TARGET, ReferenceParameters, reference_kernel
from attitude.control.modes import Mode
from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.environment.frames import geodetic
from attitude.spacecraft.frames import SENSOR_NAMES
from sims import log as logs

Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

SUNLIT = 0.99  # visible part of the Sun above which a sun sensor has all it needs; penumbra counts as eclipse
OUTER = ("gravity", "residual", "drag", "solar")


@dataclass(frozen=True)
class Interval:
    """From `begin_s` to `end_s`, s since the epoch: the first row after it, `None` if the log ends before."""

    begin_s: float
    end_s: float | None


def intervals(mask: Mask, t: Array) -> list[Interval]:
    """Where `mask` holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    times: list[float | None] = [*t.tolist(), None]
    return [Interval(float(t[begin]), times[end]) for begin, end in edges.reshape(-1, 2)]


class Flown:
    """A mission as it was flown; `log` is its dataset, arrays are `(N, …)` over its rows."""

    def __init__(self, log: xr.Dataset) -> None:
        self.log = log
        self.t: Array = self["time"]

    def __getitem__(self, name: str) -> Array:
        """The numbers of a variable."""
        return np.asarray(self.log[name].values)

    def __contains__(self, name: str) -> bool:
        return name in self.log

    # -------------------------------------------------------------- times and masks
    @property
    def orbit_s(self) -> float:
        """Period of the orbit."""
        return float(self.log.attrs["orbit_period_s"])

    @cached_property
    def row_s(self) -> float:
        """Time from row to row."""
        return float(self.log.attrs["tick_s"]) * int(self.log.attrs["log_every"])

    @cached_property
    def mode(self) -> Array:
        """Number of the mode, see `Mode`; -1 if the flight program tells none."""
        return _whole(self["control_mode"])

    @cached_property
    def pointing(self) -> Array:
        """Number of the reference, -1 for none."""
        return _whole(self["control_pointing"])

    @cached_property
    def eclipse(self) -> Mask:
        """In umbra or penumbra."""
        return np.asarray(self["truth_sunlight"] < SUNLIT)

    @cached_property
    def running(self) -> Mask:
        """The estimator has an attitude."""
        return np.asarray(self["estimate_running"] == 1)

    def in_mode(self, mode: Mode) -> Mask:
        """The mode is this one."""
        return np.asarray(self.mode == mode)

    def since(self, disturbed: Mask) -> Array:
        """Seconds since the last row that was disturbed; the first row always is."""
        last = np.where(disturbed, self.t, -np.inf)
        last[0] = self.t[0]
        return np.asarray(self.t - np.maximum.accumulate(last))

    @cached_property
    def calm_s(self) -> Array:
        """Seconds of nominal mode since the last slew or change of mode or reference; zero while there is none."""
        turned = np.concatenate([[True], (np.diff(self.mode) != 0) | (np.diff(self.pointing) != 0)])
        return self.since(turned | ~self.in_mode(Mode.NOMINAL) | (self["control_slewing"] == 1))

    @cached_property
    def known_s(self) -> Array:
        """Seconds for which there has been an attitude estimate without break; zero while there is none."""
        return self.since(~self.running)

    def bits(self, name: str, sensor: str) -> Mask:
        """Rows in which the sensor's bit of a variable is set."""
        return np.asarray(np.maximum(_whole(self[name]), 0) >> SENSOR_NAMES.index(sensor) & 1 == 1)

    # -------------------------------------------------------------- errors
    @cached_property
    def rate(self) -> Array:
        """True |ω|, rad/s."""
        return np.asarray(np.linalg.norm(self["truth_omega_B"], axis=1))

    @cached_property
    def knowledge_B(self) -> Array:
        """Rotation vector from the estimated to the true attitude, body axes, rad; NaN without an estimate."""
        error = quaternion.product(quaternion.conjugate(self["estimate_q_IB"]), self["truth_q_IB"])
        return np.where(self.running[:, None], quaternion.log(error), np.nan)

    @cached_property
    def knowledge(self) -> Array:
        """Its angle, rad."""
        return np.asarray(np.linalg.norm(self.knowledge_B, axis=1))

    @cached_property
    def within(self) -> Mask:
        """Where the error about each body axis lies within the filter's own 3σ, `(N, 3)`."""
        return np.asarray(np.abs(self.knowledge_B) <= 3.0 * self["estimate_sigma_B"])

    @cached_property
    def reference_q_IB(self) -> Array:
        """Attitude that should be, from the true orbit and Sun; NaN where there is no reference."""
        out = np.full((self.t.size, 4), np.nan)
        for reference in references(self.log):
            rows = np.flatnonzero(self.pointing == reference.number)
            out[rows] = _attitudes(reference.parameters, self, rows)
        return out

    @cached_property
    def pointing_error(self) -> Array:
        """Angle between the true attitude and what it should be, rad; NaN without a reference."""
        return quaternion.angle_between(self.reference_q_IB, self["truth_q_IB"])

    # -------------------------------------------------------------- wheels, momentum, energy
    @cached_property
    def wheel_load(self) -> Array | None:
        """Speed of the fastest wheel over its maximum, of the true speeds; `None` without wheels."""
        if "truth_wheel_speed" not in self:
            return None
        limit = logs.limit(self.log, "truth_wheel_speed")
        return np.asarray(np.max(np.abs(self["truth_wheel_speed"]) / limit, axis=1))

    @cached_property
    def torquer_impulse_I(self) -> Array:
        """What the torquers gave from each row to the next, N·m·s, `(N − 1, 3)`.

        All that was given less the slow torques: a torquer that is switched several times between two rows is not seen
        in the rows themselves.
        """
        slow = quaternion.rotate(self["truth_q_IB"], sum(self[f"truth_torque_{name}_B"] for name in OUTER))
        other = 0.5 * (slow[1:] + slow[:-1]) * np.diff(self.t)[:, None]
        return np.asarray(np.diff(self["truth_impulse_I"], axis=0) - other)

    @cached_property
    def dumped(self) -> float:
        """By how much the torquers have shortened the total momentum while dumping, N·m·s."""
        momentum = self["truth_momentum_I"][:-1]
        length = np.linalg.norm(momentum, axis=1)
        along = np.sum(self.torquer_impulse_I * momentum, axis=1)
        useful = (self["control_dumping"][:-1] == 1) & (length > 0.0)
        return float(-np.sum(along[useful] / length[useful]))

    @cached_property
    def momentum_residual(self) -> Array:
        """`|H − H(0) − impulse|` over the largest `|H|`: what the plant's momentum does without a reason."""
        momentum, given = self["truth_momentum_I"], self["truth_impulse_I"]
        residual = np.linalg.norm(momentum - momentum[0] - (given - given[0]), axis=1)
        return _relative(residual, np.linalg.norm(momentum, axis=1))

    @cached_property
    def energy_residual(self) -> Array:
        """`E − E(0) − work` over the largest `E`; falls by what a damper takes away."""
        energy, work = self["truth_energy"], self["truth_work"]
        return _relative(energy - energy[0] - (work - work[0]), energy)

    @cached_property
    def wobble(self) -> Array:
        """Angle between rate and total momentum, rad: zero in a steady spin; NaN at rest."""
        rate_I, momentum = quaternion.rotate(self["truth_q_IB"], self["truth_omega_B"]), self["truth_momentum_I"]
        across, along = np.linalg.norm(np.cross(rate_I, momentum), axis=1), np.sum(rate_I * momentum, axis=1)
        return np.where(across + np.abs(along) > 0.0, np.arctan2(across, along), np.nan)


def _whole(values: Array) -> Array:
    """As integers, -1 for what is not a number: a user's flight program need not tell its mode."""
    return np.where(np.isfinite(values), values, -1.0).astype(np.int64)


def _relative(values: Array, scale: Array) -> Array:
    largest = float(np.max(np.abs(scale)))
    return np.asarray(values / largest if largest > 0.0 else values)


# ------------------------------------------------------------------ references
@dataclass(frozen=True)
class LoggedReference:
    """A pointing reference as the log keeps it: its number in `control_pointing`, and what the kernel takes."""

    number: int
    parameters: ReferenceParameters

    @property
    def is_target(self) -> bool:
        """Whether it is a point on Earth."""
        return self.parameters.kind == TARGET

    @property
    def place_deg(self) -> tuple[float, float]:
        """Latitude and longitude of a target."""
        longitude, latitude, _ = geodetic(self.parameters.point_E)
        return float(np.degrees(latitude)), float(np.degrees(longitude))

    @property
    def name(self) -> str:
        """Its kind, and of a target the place: `target 48.1° N 11.6° E`."""
        if not self.is_target:
            return logs.REFERENCE_KINDS[self.parameters.kind]
        latitude, longitude = self.place_deg
        north, east = "N" if latitude >= 0.0 else "S", "E" if longitude >= 0.0 else "W"
        return f"target {abs(latitude):.1f}° {north} {abs(longitude):.1f}° {east}"


def references(log: xr.Dataset) -> list[LoggedReference]:
    """All references of the log."""
    return [_reference(log.isel(reference=i)) for i in range(log.sizes.get("reference", 0))]


def _reference(log: xr.Dataset) -> LoggedReference:
    parts = {name: np.array(log[f"reference_{name}"].values) for name in logs.REFERENCE_FIELDS}
    least = float(parts.pop("least_sine"))
    parameters = ReferenceParameters(int(log["reference_kind"]), least_sine=least, **parts)
    return LoggedReference(int(log["reference_number"]), parameters)


def _attitudes(parameters: ReferenceParameters, flown: Flown, rows: Any) -> Array:
    """The reference's attitude in the given rows, `(len(rows), 4)`."""
    names = ("truth_r_I", "truth_v_I", "truth_sun_I")
    r_I, v_I, sun_I = (np.ascontiguousarray(flown[name][rows]) for name in names)
    R_IE = np.ascontiguousarray(quaternion.to_matrix(flown["truth_q_IE"][rows]))
    q, out, work = np.full((len(rows), 4), np.nan), np.zeros(REFERENCE), np.empty((3, 3))
    for i in range(len(rows)):
        if reference_kernel(parameters, r_I[i], v_I[i], sun_I[i], R_IE[i], work, out) != NO_DIRECTION:
            q[i] = out[:4]
    return q
