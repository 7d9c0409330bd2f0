"""MuJoCo: one body on a ball joint at its centre of mass, all that can be switched off switched off, stepped in C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco import rollout
from numpy.typing import ArrayLike

from sims.bench.peers import FixedStepRun, FreeBody, Motion, PeerError, free_body, motion, step_of

ALL_OPTIONAL = (1 << int(mujoco.mjtDisableBit.mjNDISABLE)) - 1  # gravity, contacts, constraints, sensors, ...
PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS
MODEL = """
<mujoco>
  <option integrator="RK4" timestep="{step!r}"/>
  <worldbody><body><joint type="ball"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
</mujoco>
"""


@contextmanager
def _quiet() -> Iterator[None]:
    """MuJoCo's warnings of a motion that diverges would be printed and leave a log file: the run reports it instead."""
    users = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(users)


class _MujocoRun(FixedStepRun):
    def __init__(self, body: FreeBody, step: float) -> None:
        super().__init__(step)
        self._model = mujoco.MjModel.from_xml_string(MODEL.format(step=step))
        self._model.body_inertia[1] = body.moments  # here, as MuJoCo's compiler refuses 0.8 > 0.1 + 0.7 by a rounding
        self._model.opt.disableflags = ALL_OPTIONAL
        self._data = mujoco.MjData(self._model)
        mujoco.mj_setConst(self._model, self._data)
        self._data.qpos[:] = np.roll(body.q, 1)  # scalar first
        self._data.qvel[:] = body.omega
        self._initial = np.empty((1, mujoco.mj_stateSize(self._model, PHYSICS)))

    def _move(self, steps: int) -> None:
        with _quiet():
            mujoco.mj_step(self._model, self._data, nstep=steps)

    def _record(self, steps: int) -> None:
        mujoco.mj_getState(self._model, self._data, self._initial[0], PHYSICS)
        with _quiet():
            rollout.rollout(self._model, self._data, self._initial, nstep=steps)  # leaves the data at the last state

    def _motion(self) -> Motion:
        if np.any(self._data.warning.number):  # a rollout stops there, at a state that is still finite
            raise PeerError("the motion diverged: the setting is too coarse for this body")
        return motion(np.roll(self._data.qpos, -1), self._data.qvel.copy())


@dataclass(frozen=True)
class MujocoPeer:
    """MuJoCo's fourth-order Runge-Kutta; the setting is its time step, s."""

    name: str = "MuJoCo RK4"
    fixed_step: bool = True
    version: str = mujoco.__version__

    def prepare(self, moments: ArrayLike, q0: ArrayLike, omega0: ArrayLike, setting: float | None = None) -> _MujocoRun:
        """See `Peer`."""
        return _MujocoRun(free_body(moments, q0, omega0), step_of(setting))


PEERS = (MujocoPeer(),)
