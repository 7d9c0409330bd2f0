"""Our own propagator behind the peers' interface, so that every table treats all alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import attitude
from sims.bench.peers import FixedStepRun, FreeBody, Motion, PeerError, free_body, motion, step_of

ORDERS = (2, 4, 6, 8, 10, 12)


class _Run(FixedStepRun):
    """Steps inside one compiled loop, only the last state kept."""

    def __init__(self, body: FreeBody, step: float, order: int) -> None:
        super().__init__(step)
        self._propagator = attitude.Propagator(attitude.RigidBody(np.diag(body.moments)), order)
        self._x = attitude.State(body.q, body.omega)

    def _advanced(self, steps: int) -> attitude.State:
        return self._propagator.run(self._x, self._step, steps, every=steps).final

    def _move(self, steps: int) -> None:
        try:
            self._x = self._advanced(steps)
        except attitude.StepError as error:
            raise PeerError(str(error)) from error

    def _motion(self) -> Motion:
        return motion(np.array(self._x.q), np.array(self._x.omega))


class _KeptRun(_Run):
    """Every state kept, with its rates, momentum and energy."""

    def _advanced(self, steps: int) -> attitude.State:
        return self._propagator.run(self._x, self._step, steps).final


class _CalledRun(_Run):
    """One Python call for each step."""

    def _advanced(self, steps: int) -> attitude.State:
        x = self._x
        for _ in range(steps):
            x = self._propagator.step(x, self._step)
        return x


KINDS = {"": _Run, "every state kept": _KeptRun, "one call each": _CalledRun}


@dataclass(frozen=True)
class Ours:
    """`attitude.Propagator` of one order; the setting is its step, s. `kind` is one of `KINDS`."""

    order: int
    kind: str = ""
    fixed_step: bool = True
    version: str = ""

    @property
    def name(self) -> str:
        """Order and kind."""
        return f"order {self.order}" + (f", {self.kind}" if self.kind else "")

    def prepare(self, moments: ArrayLike, q0: ArrayLike, omega0: ArrayLike, setting: float | None = None) -> _Run:
        """See `Peer`."""
        return KINDS[self.kind](free_body(moments, q0, omega0), step_of(setting), self.order)
