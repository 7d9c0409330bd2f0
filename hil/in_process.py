"""The whole loop in one process: plant, flight program and log as rate groups of a runner.

In lockstep this is the trajectory of `attitude.spacecraft.tick.Spacecraft.run`, bit for bit.
"""

from __future__ import annotations

import numpy as np

from attitude.spacecraft.frames import COMMAND
from attitude.spacecraft.plant import Plant
from attitude.spacecraft.tick import FlightProgram, record_tick
from hil.rate_groups import RateGroup
from hil.rows import WIDTH, RowLog, split


class Loop:
    """Sense, flight, act and log, each a group of its own, so that each has its own execution times."""

    def __init__(self, plant: Plant, flight: FlightProgram, log: RowLog) -> None:
        self.plant, self.flight, self.log = plant, flight, log
        self.status = 0  # the propagator's worst
        self._command = COMMAND.zeros()
        self._row = np.empty(WIDTH)
        self.parts = split(self._row)

    def groups(self, log_divisor: int = 1) -> list[RateGroup]:
        """The groups, in the order of a tick; every `log_divisor`-th tick is kept."""
        return [
            RateGroup("sense", self._sense),
            RateGroup("flight", self._fly),
            RateGroup("act", self._act),
            RateGroup("log", self._keep, log_divisor),
        ]

    def _sense(self, tick: int, nominal_s: float) -> None:
        self.plant.sense()

    def _fly(self, tick: int, nominal_s: float) -> None:
        self._command = self.flight.tick(self.plant.t, self.plant.samples)

    def _act(self, tick: int, nominal_s: float) -> None:
        self.status = max(self.status, self.plant.act(self._command))

    def _keep(self, tick: int, nominal_s: float) -> None:
        record_tick(self.plant, self.flight, self._command, self.parts)
        self.log.put(self._row)


def rehearse(plant: Plant, flight: FlightProgram) -> None:
    """One tick of a pair that is thrown away afterwards: loads the kernels before anything is timed."""
    plant.act(flight.tick(plant.t, plant.sense()))
