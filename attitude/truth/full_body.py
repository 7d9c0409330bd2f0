"""Full body problem: rigid bodies under their mutual gravity, or another potential, in the eight forms of LLM 2007.

    bodies = {"one": dumbbell(1.5, 0.25, 0.025), "two": dumbbell(3.0, 0.5, 0.05)}
    system = FullBodySystem(bodies, G=1 / 4.5)
    start = {"one": BodyState(x=..., v=..., omega_B=...), "two": BodyState(x=..., v=...)}
    motion = system.run(start, h=2e-4, steps=150_000, every=100)            # variational, compiled, order 2 or 4
    check = system.integrate(start, motion.t, frame="relative")              # SciPy's DOP853 on the continuous form

| form                       | continuous, `integrate`, `rhs` | discrete, `run`        | bodies            |
|----------------------------|--------------------------------|------------------------|-------------------|
| `inertial`, `lagrangian`   | (25)–(28)                      | (77)–(79)              | any number        |
| `inertial`, `hamiltonian`  | (29)–(32)                      | (92)–(96), composable  | any number        |
| `relative`, `lagrangian`   | (54)–(61)                      | (110)–(115)            | two: 1 seen by 2  |
| `relative`, `hamiltonian`  | (62)–(69)                      | (116)–(125), composable| two: 1 seen by 2  |

All give the same `Motion` in inertial axes; the relative forms reconstruct it from the motion of body 2. SI units, or
any consistent ones. A sphere attracts like its centre, which is right as long as spheres do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from attitude.core import checks, quaternion
from attitude.core.errors import StepError
from attitude.core.jit import Array
from attitude.truth import full_body_continuous, full_body_discrete
from attitude.truth.full_body_bodies import Body, BodyState, dumbbell, sphere
from attitude.truth.full_body_discrete import HAMILTONIAN, LAGRANGIAN, MET
from attitude.truth.full_body_potential import (
    GRAVITY,
    ROW,
    Parameters,
    compile_potential,
    potentials,
    workspace,
)

__all__ = ["Body", "BodyMotion", "BodyState", "FullBodySystem", "Motion", "dumbbell", "sphere"]

FRAMES = ("inertial", "relative")
FORMS = {"hamiltonian": HAMILTONIAN, "lagrangian": LAGRANGIAN}
_YOSHIDA = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
WEIGHTS = {2: np.array([1.0]), 4: np.array([_YOSHIDA, 1.0 - 2.0 * _YOSHIDA, _YOSHIDA])}  # LLM 2007, section 4.3


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Motion of one body at `t` `(N,)`: `x`, m, `v`, m/s, `R_IB` `(N, 3, 3)`, `omega_B`, rad/s."""

    t: Array
    x: Array
    v: Array
    R_IB: Array
    omega_B: Array

    @property
    def q(self) -> Array:
        """Attitude quaternions `(N, 4)`, `w ≥ 0`."""
        return quaternion.from_matrix(self.R_IB)


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of all n bodies at `t` `(N,)`: `x`, `v`, `omega_B` `(N, n, 3)`, `R_IB` `(N, n, 3, 3)`.

    `carried` `(N, n, 3, 3)` holds the rotation matrices the integrator itself carries: of each body, or, in relative
    coordinates, `R = R_2ᵀR_1` and `R_2`.
    """

    system: FullBodySystem
    t: Array
    x: Array
    v: Array
    R_IB: Array
    omega_B: Array
    carried: Array

    def body(self, name: str) -> BodyMotion:
        """Motion of the body called `name`."""
        i = self.system.index(name)
        return BodyMotion(self.t, self.x[:, i], self.v[:, i], self.R_IB[:, i], self.omega_B[:, i])

    @property
    def translational_energy(self) -> Array:
        """`Σ ½ m v²`, J, `(N,)`."""
        return np.asarray(0.5 * np.einsum("i,kia,kia->k", self.system.masses, self.v, self.v))

    @property
    def rotational_energy(self) -> Array:
        """`Σ ½ Ω·JΩ`, J, `(N,)`."""
        return np.asarray(0.5 * np.einsum("kia,kia->k", self.omega_B, self._spin_B))

    @property
    def potential_energy(self) -> Array:
        """U, J, `(N,)`."""
        return self.system.potential_energy(self.x, self.R_IB)

    @property
    def energy(self) -> Array:
        """Total energy, J, `(N,)`."""
        return self.translational_energy + self.rotational_energy + self.potential_energy

    @property
    def linear_momentum(self) -> Array:
        """Total linear momentum, inertial axes, kg m/s, `(N, 3)`."""
        return np.asarray(np.einsum("i,kia->ka", self.system.masses, self.v))

    @property
    def angular_momentum(self) -> Array:
        """Total angular momentum about the mass centre of the system, inertial axes, kg m²/s, `(N, 3)`."""
        share = self.system.masses / self.system.masses.sum()
        x = self.x - np.einsum("i,kia->ka", share, self.x)[:, None]
        orbital = np.einsum("i,kia->ka", self.system.masses, np.cross(x, self.v))
        return np.asarray(orbital + np.einsum("kiab,kib->ka", self.R_IB, self._spin_B))

    @property
    def orthogonality(self) -> Array:
        """`‖1 − RᵀR‖`, largest singular value, of the carried rotations, `(N, n)`."""
        error = np.eye(3) - np.swapaxes(self.carried, -1, -2) @ self.carried
        return np.abs(np.linalg.eigvalsh(error)).max(axis=-1)

    @property
    def _spin_B(self) -> Array:
        """`JΩ` of each body in its axes, `(N, n, 3)`."""
        return np.asarray(np.einsum("iab,kib->kia", self.system.inertias, self.omega_B))


@dataclass(frozen=True, eq=False)
class FullBodySystem:
    """Named rigid bodies and what acts between them: gravity of constant `G`, m³/(kg s²), or a `potential`.

    `potential(i, j, X, R, dU_dX, dU_dR) -> U` is a numba-compilable function of each pair i < j (numbers in the order
    of `bodies`), with `X = R_jᵀ(x_i − x_j)` `(3,)`, m, and `R = R_jᵀR_i` `(3, 3)`; it returns U, J, and writes its
    derivatives into the last two arguments. See `full_body_potential`.
    """

    bodies: Mapping[str, Body]
    G: float | None = None
    potential: Callable[..., Any] | None = None
    parameters: Parameters = field(init=False, repr=False)
    _pair: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the bodies and gather what the kernels need."""
        if not isinstance(self.bodies, Mapping) or len(self.bodies) < 2:
            raise ValueError(f"bodies must map the names of at least two bodies to a Body, got {self.bodies!r}")
        for name, body in self.bodies.items():
            if not isinstance(body, Body):
                raise ValueError(f"bodies[{name!r}] must be a Body, got {body!r}")
        if (self.G is None) == (self.potential is None):
            raise ValueError("G or potential must be given, and not both")
        object.__setattr__(self, "bodies", dict(self.bodies))
        object.__setattr__(self, "parameters", self._gather())
        object.__setattr__(self, "_pair", GRAVITY if self.potential is None else compile_potential(self.potential))

    def _gather(self) -> Parameters:
        all_bodies = list(self.bodies.values())
        m1, m2 = all_bodies[0].mass, all_bodies[1].mass
        counts = [len(body.principal_points) for body in all_bodies]
        return Parameters(
            mass=np.array([body.mass for body in all_bodies]),
            reduced=m1 * m2 / (m1 + m2),
            J=np.array([body.moments for body in all_bodies]),
            first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            points=np.concatenate([np.c_[body.principal_points, body.masses] for body in all_bodies]),
            G=0.0 if self.G is None else checks.positive(self.G, "G"),
            axes=np.array([body.axes for body in all_bodies]),
            given=self.potential is not None,
        )

    # -------------------------------------------------------------- what the system is
    def index(self, name: str) -> int:
        """Number of the body called `name`."""
        names = list(self.bodies)
        if name not in names:
            raise ValueError(f"body must be one of {names}, got {name!r}")
        return names.index(name)

    @property
    def masses(self) -> Array:
        """Masses, kg, `(n,)`."""
        return self.parameters.mass

    @property
    def inertias(self) -> Array:
        """Inertias in body axes, kg m², `(n, 3, 3)`."""
        B = self.parameters.axes
        return np.asarray((B * self.parameters.J[:, None, :]) @ np.swapaxes(B, 1, 2))

    def potential_energy(self, x: Array, R_IB: Array) -> Array:
        """U, J, `(N,)`, of configurations `x` `(N, n, 3)`, m, `R_IB` `(N, n, 3, 3)`."""
        rows = np.zeros((len(x), len(self.bodies), ROW))
        rows[..., :3], rows[..., 6:15] = x, (R_IB @ self.parameters.axes).reshape(*x.shape[:2], 9)
        out = np.empty(len(x))
        potentials(self.parameters, self._pair, workspace(len(self.bodies)), rows, out)
        return out

    # -------------------------------------------------------------- to and from the state of a form
    def state(self, start: Mapping[str, BodyState], *, frame: str = "inertial", form: str = "hamiltonian") -> Array:
        """State `(n, 18)` of a form, principal axes (layout in `full_body_potential`), of a start for every body."""
        relative, _ = self._choose(frame, form)
        y = np.zeros((len(self.bodies), ROW))
        for i, given in enumerate(self._ordered(start)):
            axes = self.parameters.axes[i]
            y[i, :3], y[i, 3:6], y[i, 15:] = given.x, given.v, axes.T @ np.asarray(given.omega_B)
            y[i, 6:15] = (given.R_IB @ axes).ravel()
        self._check_distances(y)
        if form == "hamiltonian":
            y[:, 15:] *= self.parameters.J
        if relative:
            self._reduce(y)
        if form == "hamiltonian":
            y[:, 3:6] *= self._row_masses(relative)[:, None]
        return y

    def _ordered(self, start: Mapping[str, BodyState]) -> list[BodyState]:
        for name in start:
            self.index(name)
        missing = [name for name in self.bodies if name not in start]
        if missing:
            raise ValueError(f"start must have a BodyState for every body, got none for {missing}")
        for name, given in start.items():
            if not isinstance(given, BodyState):
                raise ValueError(f"start[{name!r}] must be a BodyState, got {given!r}")
        return [start[name] for name in self.bodies]

    def _check_distances(self, y: Array) -> None:
        """No two mass points of different bodies in one place."""
        p, names = self.parameters, list(self.bodies)
        if p.given:
            return
        R = y[:, 6:15].reshape(-1, 3, 3)
        places = [y[i, :3] + p.points[p.first[i] : p.first[i + 1], :3] @ R[i].T for i in range(len(names))]
        for j in range(len(names)):
            for i in range(j):
                if np.linalg.norm(places[i][:, None] - places[j], axis=-1).min() == 0.0:
                    raise ValueError(
                        f"start must keep all mass points apart, got distance 0 between {names[i]!r} and {names[j]!r}"
                    )

    @staticmethod
    def _reduce(y: Array) -> None:
        """Row of body 1, velocities and rates or spins, to relative coordinates (34)–(37), in place."""
        R1, R2 = y[0, 6:15].reshape(3, 3).copy(), y[1, 6:15].reshape(3, 3)
        y[0, :3], y[0, 3:6] = R2.T @ (y[0, :3] - y[1, :3]), R2.T @ (y[0, 3:6] - y[1, 3:6])
        y[0, 6:15] = (R2.T @ R1).ravel()
        y[0, 15:] = R2.T @ R1 @ y[0, 15:]

    def _row_masses(self, relative: bool) -> Array:
        mass = self.parameters.mass.copy()
        if relative:
            mass[0] = self.parameters.reduced
        return mass

    def motion(self, t: Array, rows: Array, *, frame: str = "inertial", form: str = "hamiltonian") -> Motion:
        """Motion in inertial and body axes of states `rows` `(N, n, 18)` of a form at times `t` `(N,)`."""
        relative, _ = self._choose(frame, form)
        x, v, omega = rows[..., :3].copy(), rows[..., 3:6].copy(), rows[..., 15:].copy()
        carried = rows[..., 6:15].reshape(*rows.shape[:2], 3, 3)
        if form == "hamiltonian":
            v /= self._row_masses(relative)[:, None]
        R = self._reconstruct(x, v, omega, carried) if relative else carried
        if form == "hamiltonian":
            omega /= self.parameters.J
        axes = self.parameters.axes
        omega = np.einsum("iab,kib->kia", axes, omega)
        return Motion(self, t, x, v, R @ np.swapaxes(axes, 1, 2), omega, carried)

    @staticmethod
    def _reconstruct(x: Array, v: Array, omega: Array, carried: Array) -> Array:
        """Body 1, with its rates or spins, back from relative coordinates, in place; returns the attitudes of both."""
        R2 = carried[:, 1]
        x[:, 0] = x[:, 1] + np.einsum("kab,kb->ka", R2, x[:, 0])
        v[:, 0] = v[:, 1] + np.einsum("kab,kb->ka", R2, v[:, 0])
        omega[:, 0] = np.einsum("kba,kb->ka", carried[:, 0], omega[:, 0])
        return np.stack([R2 @ carried[:, 0], R2], axis=1)

    def _choose(self, frame: str, form: str) -> tuple[bool, int]:
        if frame not in FRAMES:
            raise ValueError(f"frame must be one of {list(FRAMES)}, got {frame!r}")
        if form not in FORMS:
            raise ValueError(f"form must be one of {list(FORMS)}, got {form!r}")
        if frame == "relative" and len(self.bodies) != 2:
            raise ValueError(f"frame 'relative' needs exactly two bodies, got {len(self.bodies)}")
        return frame == "relative", FORMS[form]

    # -------------------------------------------------------------- motion
    def run(
        self,
        start: Mapping[str, BodyState],
        *,
        h: float,
        steps: int,
        every: int = 1,
        frame: str = "inertial",
        form: str = "hamiltonian",
        order: int = 2,
    ) -> Motion:
        """Lie group variational integrator: `steps` steps of `h` s, every `every`-th kept (LLM 2007, section 4).

        `order` 4 is Yoshida's composition of three steps, for the Hamiltonian forms. A step that has no solution, or
        that ends in a collision of mass points, is a StepError with the motion until then.
        """
        relative, number = self._choose(frame, form)
        h, steps, every = checks.positive(h, "h"), checks.count(steps, "steps"), checks.count(every, "every")
        if steps % every:
            raise ValueError(f"steps must be a multiple of every, got {steps} and {every}")
        if order not in WEIGHTS or (order == 4 and form == "lagrangian"):
            raise ValueError(f"order must be 2, or 4 with form 'hamiltonian', got {order!r} with {form!r}")
        y = self.state(start, frame=frame)
        rows = np.empty((steps // every + 1, *y.shape))
        done, status = full_body_discrete.run(
            self.parameters, self._pair, workspace(len(y)), relative, number, h, WEIGHTS[order], every, y, rows
        )
        if done < steps:
            met = "mass points met, or the potential is not finite"
            cause = met if status == MET else f"there is no rotation for it: h = {h} s is too long"
            until = self._kept(h, done // every, every, rows, frame)
            raise StepError(f"step {done + 1} (from t = {done * h:.6g} s) failed: {cause}", until)
        return self._kept(h, steps // every, every, rows, frame)

    def _kept(self, h: float, count: int, every: int, rows: Array, frame: str) -> Motion:
        """Motion of the start and of the first `count` rows kept."""
        times = h * np.arange(0.0, count * every + 1, every)
        return self.motion(times, rows[: count + 1], frame=frame)

    def rhs(self, *, frame: str = "inertial", form: str = "hamiltonian") -> Callable[[float, Array], Array]:
        """Right-hand side `f(t, y)` of a continuous form for SciPy, on the flat state `state(...).ravel()`."""
        relative, number = self._choose(frame, form)
        shape, work, p, pair = (len(self.bodies), ROW), workspace(len(self.bodies)), self.parameters, self._pair

        def f(t: float, y: Array) -> Array:
            dy = np.empty(shape)
            full_body_continuous.rates(p, pair, work, relative, number, np.ascontiguousarray(y).reshape(shape), dy)
            return dy.ravel()

        return f

    def integrate(
        self,
        start: Mapping[str, BodyState],
        t: ArrayLike,
        *,
        frame: str = "inertial",
        form: str = "hamiltonian",
        rtol: float = 1e-12,
        atol: float = 1e-12,
        max_step: float = math.inf,
    ) -> Motion:
        """Motion at the times `t` `(N,)`, s, increasing from that of `start`, by DOP853 on a continuous form.

        SciPy's smallest `rtol` is 2.3e-14; a `max_step`, s, takes the error further down.
        """
        t = checks.array(t, "t", (None,))
        if len(t) < 2 or np.any(np.diff(t) <= 0.0):
            raise ValueError(f"t must be at least two increasing times, got {t.tolist()[:5]}")
        rtol, atol = checks.positive(rtol, "rtol"), checks.positive(atol, "atol")
        if not max_step > 0.0:
            raise ValueError(f"max_step must be greater than zero, got {max_step}")
        y = self.state(start, frame=frame, form=form).ravel()
        f = self.rhs(frame=frame, form=form)
        solution = solve_ivp(f, (t[0], t[-1]), y, method="DOP853", t_eval=t, rtol=rtol, atol=atol, max_step=max_step)
        if not solution.success or not np.all(np.isfinite(solution.y)):
            raise StepError(f"integration stopped at t = {solution.t[-1]:.6g} s: {solution.message}")
        return self.motion(t, np.ascontiguousarray(solution.y.T).reshape(len(t), -1, ROW), frame=frame, form=form)
