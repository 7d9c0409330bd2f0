"""Faults on schedule: stuck, dead, spike, bias jump.

| kind        | from `start_s` until `end_s`                                                                |
| ----------- | ------------------------------------------------------------------------------------------- |
| `stuck`     | the last reading is repeated, with new time tags; the whole sensor repeats its validity too |
| `dead`      | the sensor is not valid; a single dead channel reads zero and nobody is told                |
| `spike`     | the size is added to each sample with the given probability                                 |
| `bias_jump` | the size is added to every sample                                                           |

Without `channel` a fault hits the whole sensor. The field of the size carries the unit of the sensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from attitude.core import checks
from attitude.core.jit import Array

KINDS = ("stuck", "dead", "spike", "bias_jump")
STUCK, DEAD, SPIKE, BIAS_JUMP = 0.0, 1.0, 2.0, 3.0
FAULT_COLUMNS = 5  # kind, start, end, quantile of the probability, whole sensor; then a size or mark per channel


def quantile(probability: float) -> float:
    """Standard-normal quantile, with infinities for 0 and 1."""
    if probability <= 0.0:
        return -math.inf
    return NormalDist().inv_cdf(probability) if probability < 1.0 else math.inf


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault; times in seconds since the epoch of the scenario. Sensors add the field of its size."""

    kind: str
    start_s: float
    end_s: float = math.inf
    channel: int | None = None
    probability: float = 1.0

    size_field: ClassVar[str]
    size_unit: ClassVar[float]  # in SI units

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        object.__setattr__(self, "start_s", checks.number(self.start_s, "start_s"))
        if not isinstance(self.end_s, int | float | np.number) or not self.end_s > self.start_s:
            raise ValueError(f"end_s must be later than start_s, {self.start_s}, got {self.end_s!r}")
        if self.channel is not None:
            checks.count(self.channel, "channel", 0)
        self._check_size()
        self._check_probability()

    def _check_size(self) -> None:
        size = checks.number(getattr(self, self.size_field), self.size_field)
        if self.additive and size == 0.0:
            raise ValueError(f"{self.size_field} must be given, and not be zero, for a fault of kind {self.kind}")
        if not self.additive and size != 0.0:
            raise ValueError(f"{self.size_field} has no meaning for a fault of kind {self.kind}, got {size}")

    def _check_probability(self) -> None:
        probability = checks.number(self.probability, "probability")
        if not 0.0 < probability <= 1.0:
            raise ValueError(f"probability must be above 0 and at most 1, got {probability}")
        if probability < 1.0 and self.kind != "spike":
            raise ValueError(f"probability has a meaning for a fault of kind spike only, got {probability}")

    @property
    def additive(self) -> bool:
        """Whether the fault adds something to the reading."""
        return self.kind in ("spike", "bias_jump")

    @property
    def size(self) -> float:
        """Size in SI units."""
        return float(getattr(self, self.size_field)) * self.size_unit

    def row(self, weights: Array) -> Array:
        """Row of the table for the kernels; `weights` `(n,)`: 0 for channels a size has no meaning for."""
        head = [KINDS.index(self.kind), self.start_s, self.end_s, quantile(self.probability), self.channel is None]
        marks = np.full(weights.size, self.size) * weights if self.additive else np.ones(weights.size)
        if self.channel is not None:
            marks = np.where(np.arange(weights.size) == self.channel, marks, 0.0)
        return np.array([*head, *marks], dtype=np.float64)


def fault_table(faults: Sequence[Fault], weights: Array) -> Array:
    """Table `(F, 5 + n)` of the faults of a sensor with n channels."""
    rows = [fault.row(weights) for fault in faults]
    return np.array(rows) if rows else np.zeros((0, FAULT_COLUMNS + weights.size))


def check_faults(faults: object, kind: type[Fault], additive: int, replacing: int) -> tuple[Fault, ...]:
    """Faults of one sensor; `additive` channels can have spikes and jumps, `replacing` can be stuck or dead alone."""
    if not isinstance(faults, list | tuple):
        raise ValueError(f"faults must be a list of {kind.__name__}, got {faults!r}")
    for i, fault in enumerate(faults):
        if type(fault) is not kind:
            raise ValueError(f"faults[{i}] must be a {kind.__name__}, got {fault!r}")
        limit = additive if fault.additive else replacing
        if fault.channel is not None and fault.channel >= limit:
            allowed = f"at most {limit - 1}" if limit else "left out"
            raise ValueError(f"faults[{i}].channel must be {allowed} for a {fault.kind} fault, got {fault.channel}")
    return tuple(faults)
