"""Basilisk: its spacecraft module with a hub only, one task, no gravity, nothing logged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import Basilisk
import numpy as np
from Basilisk.simulation import spacecraft, svIntegrators
from Basilisk.utilities import SimulationBaseClass
from numpy.typing import ArrayLike

from attitude.core.jit import Array
from sims.bench.peers import FixedStepRun, FreeBody, Motion, free_body, motion, step_of, whole_steps

NANO = 1e-9  # s: Basilisk counts time in whole nanoseconds
NO_CONTROL = 1e300  # tolerance at which an adaptive integrator takes the task's step in one


def mrp_from_quaternion(q: Array) -> Array:
    """Modified Rodrigues parameters `σ = v / (1 + w)` of the shorter rotation; Basilisk's sigma_BN of our q."""
    q = -q if q[3] < 0.0 else q
    return np.asarray(q[:3] / (1.0 + q[3]))


def quaternion_from_mrp(sigma: Array) -> Array:
    """Unit quaternion `[2 σ, 1 − σ²] / (1 + σ²)`."""
    square = float(sigma @ sigma)
    return np.append(2.0 * sigma, 1.0 - square) / (1.0 + square)


def _hub(body: FreeBody) -> Any:
    craft = spacecraft.Spacecraft()
    craft.ModelTag = "body"
    craft.hub.mHub = 1.0
    craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
    craft.hub.IHubPntBc_B = np.diag(body.moments).tolist()
    craft.hub.sigma_BNInit = mrp_from_quaternion(body.q)[:, None].tolist()
    craft.hub.omega_BN_BInit = body.omega[:, None].tolist()
    return craft


class _BasiliskRun(FixedStepRun):
    def __init__(self, body: FreeBody, step: float, integrator: str) -> None:
        super().__init__(step)
        self._period = whole_steps(step, NANO, "setting")
        self._nanos = 0
        self._simulation = SimulationBaseClass.SimBaseClass()
        self._simulation.CreateNewProcess("process").addTask(self._simulation.CreateNewTask("task", self._period))
        self._craft = _hub(body)
        self._integrator = getattr(svIntegrators, integrator)(self._craft)  # kept alive with its craft
        if hasattr(self._integrator, "relTol"):
            self._integrator.relTol = self._integrator.absTol = NO_CONTROL
        self._craft.setIntegrator(self._integrator)
        self._simulation.AddModelToTask("task", self._craft)
        self._simulation.InitializeSimulation()
        self._execute()  # the task's call at time 0, which moves nothing

    def _execute(self) -> None:
        self._simulation.ConfigureStopTime(self._nanos)
        self._simulation.ExecuteSimulation()

    def _move(self, steps: int) -> None:
        self._nanos += steps * self._period
        self._execute()

    def _motion(self) -> Motion:
        state = self._craft.scStateOutMsg.read()
        return motion(quaternion_from_mrp(np.array(state.sigma_BN)), np.array(state.omega_BN_B))


@dataclass(frozen=True)
class BasiliskPeer:
    """Basilisk with one of its integrators; the setting is the task's step, s."""

    method: str
    integrator: str
    fixed_step: bool = True
    version: str = Basilisk.__version__

    @property
    def name(self) -> str:
        """Package and method."""
        return f"Basilisk {self.method}"

    def prepare(
        self, moments: ArrayLike, q0: ArrayLike, omega0: ArrayLike, setting: float | None = None
    ) -> _BasiliskRun:
        """See `Peer`."""
        return _BasiliskRun(free_body(moments, q0, omega0), step_of(setting), self.integrator)


PEERS = (BasiliskPeer("RK4", "svIntegratorRK4"), BasiliskPeer("RKF78", "svIntegratorRKF78"))
