"""Other integrators of the free rigid body behind one small interface, each used as its experts would for speed.

`installed_peers()` lists those that import here; `missing_peers()` says why the others do not. A peer prepares a run
(set-up, compilation and allocation, not to be timed), and `run.advance` is the work to be timed. The peers live in
`peer_*.py`, one package each, loaded only when they are asked for.

| peer            | equations                        | `setting`                                                  |
|-----------------|----------------------------------|------------------------------------------------------------|
| SciPy RK45      | quaternion, rates; compiled      | `rtol = atol`; `None`: rtol 1e-3, atol 1e-6                |
| SciPy DOP853    | quaternion, rates; compiled      | the same                                                   |
| Basilisk RK4    | MRP, rates, position, velocity   | the task's step, s, a whole number of nanoseconds          |
| Basilisk RKF78  | MRP, rates, position, velocity   | the same; its error control is opened, so the step decides |
| MuJoCo RK4      | ball joint: quaternion, rates    | the time step, s                                           |
| heyoka          | quaternion, half rates; compiled | tolerance of the Taylor series; `None`: machine epsilon    |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from importlib import import_module
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array
from attitude.core.quaternion import normalise

FILES = {"scipy": "peer_scipy", "bsk": "peer_basilisk", "mujoco": "peer_mujoco", "heyoka": "peer_heyoka"}
ROUNDOFF = 1e-12  # relative: what sums and products of a few exact numbers may lose, with a margin


class Motion(NamedTuple):
    """Unit quaternion `q` `(4,)` or `(N, 4)`, body to inertial, and `omega` `(3,)` or `(N, 3)`, rad/s in body axes."""

    q: Array
    omega: Array


class PeerError(RuntimeError):
    """A peer's integration failed or diverged."""


class FreeBody(NamedTuple):
    """Checked initial conditions: `moments` (3,) kg m², unit `q` (4,), `omega` (3,) rad/s in body axes."""

    moments: Array
    q: Array
    omega: Array


class Run(Protocol):
    """A body in motion since time 0; every call goes on from where the last one ended."""

    def advance(self, duration: float, output_step: float | None = None) -> Motion:
        """Move on by `duration` s, free-running or with the state formed every `output_step` s; the final motion."""
        ...

    def states(self, times: ArrayLike) -> Motion:
        """Motion at the increasing `times` (N,), s since time 0, all later than the present."""
        ...


class Peer(Protocol):
    """An integrator of the free rigid body."""

    @property
    def name(self) -> str:
        """Package and method."""
        ...

    @property
    def version(self) -> str:
        """Version of the installed package."""
        ...

    @property
    def fixed_step(self) -> bool:
        """Whether the setting is a step, s, rather than a tolerance."""
        ...

    def prepare(self, moments: ArrayLike, q0: ArrayLike, omega0: ArrayLike, setting: float | None = None) -> Run:
        """A run from `q0`, `omega0` with principal `moments`, kg m²; all that need not be timed happens here."""
        ...


# ------------------------------------------------------------------ which peers there are
@cache
def _survey() -> tuple[tuple[Peer, ...], dict[str, str]]:
    found: list[Peer] = []
    reasons: dict[str, str] = {}
    for package, file in FILES.items():
        try:
            found.extend(import_module(f"sims.bench.{file}").PEERS)
        except Exception as error:  # a broken package may raise anything on import
            reasons[package] = f"{type(error).__name__}: {error}"
    return tuple(found), reasons


def installed_peers() -> list[Peer]:
    """The peers that import here, in the order of the table above."""
    return list(_survey()[0])


def missing_peers() -> dict[str, str]:
    """Package -> why it was left out."""
    return dict(_survey()[1])


def peer_versions() -> dict[str, str]:
    """Peer's name -> version of its package."""
    return {peer.name: peer.version for peer in installed_peers()}


# ------------------------------------------------------------------ checks that all share
def free_body(moments: ArrayLike, q0: ArrayLike, omega0: ArrayLike) -> FreeBody:
    """Initial conditions as float64 arrays, `q0` normalised; anything no rigid body can have is an error."""
    J = _vector(moments, 3, "moments")
    if J.min() <= 0.0 or 2.0 * J.max() > J.sum() * (1.0 + ROUNDOFF):
        raise ValueError(f"moments must be positive and none above the sum of the other two, got {J.tolist()}")
    return FreeBody(J, normalise(_vector(q0, 4, "q0")), _vector(omega0, 3, "omega0"))


def _vector(values: ArrayLike, size: int, name: str) -> Array:
    array = np.array(values, dtype=np.float64)
    if array.shape != (size,) or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be {size} finite numbers, got {array.tolist()}")
    return array


def step_of(setting: float | None) -> float:
    """The step of a fixed-step peer, s."""
    if setting is None or not 0.0 < setting < np.inf:
        raise ValueError(f"setting must be a positive step in seconds for a fixed-step peer, got {setting}")
    return float(setting)


def tolerance_of(setting: float, smallest: float) -> float:
    """The tolerance of an adaptive peer."""
    if not smallest <= setting < 1.0:
        raise ValueError(f"setting must be a tolerance from {smallest:.3g} to 1 for this peer, got {setting}")
    return float(setting)


def whole_steps(span: float, step: float, name: str) -> int:
    """How many times `step` goes into `span`; at least once, and without a remainder."""
    count = round(span / step) if 0.0 < step < np.inf and 0.0 < span < np.inf else 0
    if count < 1 or abs(count * step - span) > ROUNDOFF * span:
        raise ValueError(f"{name} must be a whole number of steps of {step} s, got {span} s")
    return count


def later_times(times: ArrayLike, now: float) -> Array:
    """`times` as an array, checked to increase from after `now`."""
    array = np.array(times, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array)) or np.any(np.diff(array, prepend=now) <= 0):
        raise ValueError(f"times must be finite and increase from after the present {now} s")
    return array


def motion(q: Array, omega: Array) -> Motion:
    """A peer's result, `q` normalised; one that left the finite numbers, or whose `q` vanished, is an error."""
    size = np.linalg.norm(q, axis=-1)
    if not (np.all(np.isfinite(size) & (size > 0.0)) and np.all(np.isfinite(omega))):
        raise PeerError("the motion diverged: the setting is too coarse for this body")
    return Motion(normalise(q), omega)


def euler_coefficients(moments: Array) -> Array:
    """`k` of Euler's equations for a free body: `ω̇₁ = k₁ ω₂ ω₃` and cyclic."""
    return (np.roll(moments, -1) - np.roll(moments, -2)) / moments


# ------------------------------------------------------------------ what runs share
class FixedStepRun(ABC):
    """A run of whole steps of `step` s."""

    def __init__(self, step: float) -> None:
        self._step = step
        self._taken = 0

    @abstractmethod
    def _move(self, steps: int) -> None:
        """Take `steps` steps."""

    @abstractmethod
    def _motion(self) -> Motion:
        """The present motion."""

    def _record(self, steps: int) -> None:
        """Take `steps` steps and form the state after each; for most peers a step does so anyway."""
        self._move(steps)

    def advance(self, duration: float, output_step: float | None = None) -> Motion:
        """See `Run`."""
        steps = whole_steps(duration, self._step, "duration")
        if output_step is None:
            self._move(steps)
        else:
            whole_steps(output_step, self._step, "output_step")
            self._record(steps)
        self._taken += steps
        return self._motion()

    def states(self, times: ArrayLike) -> Motion:
        """See `Run`."""
        array = later_times(times, self._taken * self._step)
        counts = [whole_steps(t, self._step, "times") for t in array]
        rows = []
        for steps in np.diff(counts, prepend=self._taken):
            self._move(int(steps))
            rows.append(self._motion())
        self._taken = counts[-1]
        return Motion(np.array([row.q for row in rows]), np.array([row.omega for row in rows]))


class AdaptiveRun(ABC):
    """A run that chooses its steps."""

    _now = 0.0

    @abstractmethod
    def _free(self, end: float) -> Array:
        """Integrate to time `end`; the peer's variables there, (n,)."""

    @abstractmethod
    def _grid(self, times: Array) -> Array:
        """Integrate to the last of `times`; the peer's variables at each, (N, n)."""

    @abstractmethod
    def _motion(self, variables: Array) -> Motion:
        """The motion that the peer's variables `(n,)` or `(N, n)` describe."""

    def advance(self, duration: float, output_step: float | None = None) -> Motion:
        """See `Run`."""
        if not 0.0 < duration < np.inf:
            raise ValueError(f"duration must be positive and finite, got {duration} s")
        end = self._now + duration
        if output_step is None:
            final = self._free(end)
        else:
            outputs = whole_steps(duration, output_step, "duration")
            final = self._grid(np.linspace(self._now, end, outputs + 1)[1:])[-1]
        self._now = end
        return self._motion(final)

    def states(self, times: ArrayLike) -> Motion:
        """See `Run`."""
        array = later_times(times, self._now)
        rows = self._grid(array)
        self._now = float(array[-1])
        return self._motion(rows)
