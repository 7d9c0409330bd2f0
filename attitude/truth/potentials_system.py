"""Rigid bodies on SO(3)ⁿ with quadratic kinetic energy in a potential: what all systems share (LLM book, 6.3–6.4).

    L̃ = Σ (½ ωᵀJω + aᵀω) − U(R)        Π = J ω + a        H̃ = Σ ½ (Π − a)ᵀJ⁻¹(Π − a) + U(R)

`a` is a constant internal momentum (problem 6.18), zero unless given. The attitude may be relative to a frame that
rotates at a constant rate `Ω` (axes of that frame): then `Ṙ = R S(ω − RᵀΩ)`, and `H̃ − Ωᵀ Σ R Π` is conserved instead
of `H̃`. Shapes: one body has `q` `(…, 4)` and `momentum` `(…, 3)`; n bodies have `(…, n, 4)` and `(…, n, 3)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import ArrayLike

from attitude.core import checks, quaternion, so3
from attitude.core.errors import StepError
from attitude.core.jit import Array
from attitude.truth import potentials_kernels as kernels

External: TypeAlias = Callable[[float, Array, Array], ArrayLike]  # (t, R (n, 3, 3), ω (n, 3)) -> moment (n, 3), N·m


@dataclass(frozen=True, eq=False)
class Motion:
    """Rows of a run: `t` `(N,)` s, `q` `(N, [n,] 4)`, `momentum` Π `(N, [n,] 3)` body axes N·m·s, and the rates."""

    t: Array
    q: Array
    momentum: Array
    omega: Array

    @property
    def R(self) -> Array:
        """Attitude matrices `(N, [n,] 3, 3)`."""
        return quaternion.to_matrix(self.q)


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """Bodies with inertia `(3, 3)` or `(n, 3, 3)`, kg·m², and internal momentum `(3,)` or `(n, 3)`, N·m·s."""

    inertia: Array
    internal_momentum: Array | None = None
    moments: Array = field(init=False, repr=False)  # principal, (n, 3), kg·m²
    axes: Array = field(init=False, repr=False)  # R_BP of each body, (n, 3, 3)
    kind: ClassVar[int] = kernels.FREE

    def __post_init__(self) -> None:
        """Check the bodies and find their principal axes."""
        single = np.ndim(self.inertia) == 2
        given = [self.inertia] if single else checks.array(self.inertia, "inertia", (None, 3, 3))
        if len(given) == 0:
            raise ValueError("inertia must hold at least one 3×3 matrix, got none")
        names = ["inertia"] if single else [f"inertia[{i}]" for i in range(len(given))]
        inertia = np.array([checks.inertia(J, name) for J, name in zip(given, names, strict=True)])
        shape: tuple[int, ...] = (3,) if single else (len(inertia), 3)
        a = np.zeros(shape) if self.internal_momentum is None else self.internal_momentum
        principal = [checks.principal_axes(J) for J in inertia]
        self._set("inertia", inertia[0] if single else inertia)
        self._set("internal_momentum", checks.array(a, "internal_momentum", shape))
        self._set("moments", np.array([m for m, _ in principal]))
        self._set("axes", np.array([A for _, A in principal]))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    # -------------------------------------------------------------- what a system may define
    @property
    def parameters(self) -> Array:
        """Numbers of the potential, flat, as its moment kernel reads them."""
        return np.zeros(0)

    @property
    def frame_rate(self) -> Array:
        """Rate `Ω` `(3,)` of the reference frame in its own axes, rad/s."""
        return np.zeros(3)

    def potential(self, R: Array) -> Array:
        """`U` `(…)`, J, of attitudes `R` `(…, n, 3, 3)`."""
        return np.zeros(R.shape[:-3])

    def symmetries(self, R: Array, Pi: Array) -> dict[str, Array]:
        """Conserved quantities besides the energy, of `R` `(…, n, 3, 3)` and `Pi` `(…, n, 3)`."""
        return {}

    def _moment(self, R: Array, out: Array) -> None:
        kernels.moment(self.kind, R, self.parameters, out)

    def _loop(self, external: Callable[..., Any] | None) -> Any:
        return kernels.run if external is None else kernels.loop_with(None, external)

    # -------------------------------------------------------------- bodies
    @property
    def single(self) -> bool:
        """Whether there is one body, without a body axis in the arrays."""
        return self.inertia.ndim == 2

    @cached_property
    def J(self) -> Array:
        """Inertia matrices `(n, 3, 3)`, kg·m²."""
        return self.inertia[None] if self.single else self.inertia

    @cached_property
    def J_inverse(self) -> Array:
        """Inverse inertia matrices `(n, 3, 3)`."""
        return np.asarray(np.linalg.inv(self.J), dtype=np.float64)

    @cached_property
    def a(self) -> Array:
        """Internal momentum `(n, 3)`, N·m·s."""
        return np.asarray(self.internal_momentum).reshape(-1, 3)

    def _bodies(self, values: Array) -> Array:
        """Insert the body axis that arrays of a single body lack."""
        return values[..., None, :] if self.single else values

    def _plain(self, values: Array) -> Array:
        """Take the body axis of a single body away again."""
        return values[..., 0, :] if self.single else values

    def momentum(self, omega: ArrayLike) -> Array:
        """`Π = J ω + a` (6.9)."""
        return self._plain(np.einsum("nij,...nj->...ni", self.J, self._bodies(np.asarray(omega, float))) + self.a)

    def rate(self, momentum: ArrayLike) -> Array:
        """`ω = J⁻¹ (Π − a)`, rad/s."""
        free = self._bodies(np.asarray(momentum, float)) - self.a
        return self._plain(np.einsum("nij,...nj->...ni", self.J_inverse, free))

    # -------------------------------------------------------------- energy, moment, conserved quantities
    def moment(self, q: ArrayLike) -> Array:
        """Moment of the potential, body axes, N·m, at one configuration."""
        R = np.ascontiguousarray(quaternion.to_matrix(self._attitude(q)))
        out = np.zeros((len(R), 3))
        self._moment(R, out)
        return self._plain(out)

    def energy(self, q: ArrayLike, momentum: ArrayLike) -> Array:
        """`H̃ = Σ ½ (Π − a)ᵀJ⁻¹(Π − a) + U`, J (6.12)."""
        Pi = np.asarray(momentum, float)
        free, omega = self._bodies(Pi) - self.a, self._bodies(self.rate(Pi))
        R = quaternion.to_matrix(self._bodies(np.asarray(q, float)))
        return np.asarray(0.5 * np.einsum("...ni,...ni->...", free, omega) + self.potential(R))

    def inertial_momentum(self, q: ArrayLike, momentum: ArrayLike) -> Array:
        """`Σ R Π` `(…, 3)`, axes of the reference frame, N·m·s."""
        Pi = self._bodies(np.asarray(momentum, float))
        return np.asarray(quaternion.rotate(self._bodies(np.asarray(q, float)), Pi).sum(axis=-2))

    def conserved(self, q: ArrayLike, momentum: ArrayLike) -> dict[str, Array]:
        """Conserved quantities by name; the first is the energy, or in a rotating frame the Jacobi integral."""
        energy = self.energy(q, momentum)
        R = quaternion.to_matrix(self._bodies(np.asarray(q, float)))
        others = self.symmetries(R, self._bodies(np.asarray(momentum, float)))
        if not self.frame_rate.any():
            return {"energy": energy} | others
        return {"Jacobi integral": energy - self.inertial_momentum(q, momentum) @ self.frame_rate} | others

    # -------------------------------------------------------------- continuous equations, for SciPy
    def pack(self, q: ArrayLike, vectors: ArrayLike) -> Array:
        """State `y` `(12 n,)` of the right-hand sides: the entries of every `R`, then Π or ω."""
        return np.concatenate([quaternion.to_matrix(self._attitude(q)).ravel(), np.ravel(vectors)])

    def unpack(self, y: ArrayLike) -> tuple[Array, Array]:
        """`q` and Π (or ω) of states `y` `(…, 12 n)`."""
        y = np.asarray(y, float)
        n, rows = len(self.moments), y.shape[:-1]
        q = quaternion.from_matrix(y[..., : 9 * n].reshape(*rows, n, 3, 3))
        return self._plain(q), self._plain(y[..., 9 * n :].reshape(*rows, n, 3))

    def hamilton(self, t: float, y: Array, external: External | None = None) -> Array:
        """Hamilton's equations on `y = [R, Π]` (6.13)–(6.14)."""
        R, Pi = self._split(y)
        omega = np.einsum("nij,nj->ni", self.J_inverse, Pi - self.a)
        return self._join(R, omega, np.cross(Pi, omega) + self._total(t, R, omega, external))

    def euler_lagrange(self, t: float, y: Array, external: External | None = None) -> Array:
        """Euler's equations on `y = [R, ω]` (6.1), (6.8), with an external moment (problem 6.2)."""
        R, omega = self._split(y)
        Pi = np.einsum("nij,nj->ni", self.J, omega) + self.a
        rate = np.cross(Pi, omega) + self._total(t, R, omega, external)
        return self._join(R, omega, np.einsum("nij,nj->ni", self.J_inverse, rate))

    def _split(self, y: Array) -> tuple[Array, Array]:
        n = len(self.moments)
        return np.ascontiguousarray(y[: 9 * n]).reshape(n, 3, 3), y[9 * n :].reshape(n, 3)

    def _join(self, R: Array, omega: Array, vectors: Array) -> Array:
        relative = omega - np.einsum("nji,j->ni", R, self.frame_rate)
        return np.concatenate([(R @ so3.hat(relative)).ravel(), vectors.ravel()])

    def _total(self, t: float, R: Array, omega: Array, external: External | None) -> Array:
        out = np.zeros(omega.shape)
        self._moment(R, out)
        return out if external is None else out + np.asarray(external(t, R, omega), float).reshape(out.shape)

    # -------------------------------------------------------------- the discrete flow
    def run(
        self,
        q: ArrayLike,
        momentum: ArrayLike,
        *,
        h: float,
        steps: int,
        every: int = 1,
        external: ArrayLike | Callable[..., Any] | None = None,
        external_parameters: ArrayLike = (),
    ) -> Motion:
        """`steps` variational steps of `h` seconds; keep the start and every `every`-th state.

        `external` is the moment of Lagrange–d'Alembert (problem 6.2), body axes, N·m: constant with the shape of
        `momentum`; given at the grid times, `(steps + 1, [n,] 3)`; or a function that numba can compile,
        `external(t, R, omega, parameters, out)` with `R` `(n, 3, 3)`, `omega` `(n, 3)`, `parameters` `(m,)`, which
        fills `out` `(n, 3)`.
        """
        h, steps, every = checks.positive(h, "h"), checks.count(steps, "steps"), checks.count(every, "every")
        q0, p0 = self._attitude(q), self._vectors(momentum, "momentum")
        function, table = self._external(external, external_parameters, steps)
        rows = steps // every + 1
        qs, ps = np.empty((rows, *q0.shape)), np.empty((rows, *p0.shape))
        frame = quaternion.exp(-h * self.frame_rate)
        try:
            done = self._loop(function)(
                self.kind, self.moments, self.axes, self.a, self.parameters, table, function is not None, frame,
                h, steps, every, q0, p0, qs, ps,
            )  # fmt: skip
        except NumbaError as error:
            raise ValueError(f"external must compile as (t, R, omega, parameters, out): {error}") from error
        if done < steps or not np.isfinite(p0).all():
            message = f"h must be shorter or the moment finite: no step from t = {done * h:.6g} s with h = {h} s"
            raise StepError(message, self._motion(h * every, qs[: done // every + 1], ps[: done // every + 1]))
        return self._motion(h * every, qs, ps)

    def _motion(self, spacing: float, qs: Array, ps: Array) -> Motion:
        momenta = self._plain(ps)
        t = spacing * np.arange(len(qs), dtype=np.float64)
        return Motion(t, self._plain(qs), momenta, self.rate(momenta))

    def _attitude(self, q: ArrayLike) -> Array:
        """Checked unit quaternions `(n, 4)`."""
        n = len(self.moments)
        values = checks.array(q, "q", (4,) if self.single else (n, 4)).reshape(n, 4)
        return np.array([checks.unit_quaternion(row, "q") for row in values])

    def _vectors(self, values: ArrayLike, name: str) -> Array:
        n = len(self.moments)
        return checks.array(values, name, (3,) if self.single else (n, 3)).reshape(n, 3)

    def _external(
        self, external: ArrayLike | Callable[..., Any] | None, parameters: ArrayLike, steps: int
    ) -> tuple[Callable[..., Any] | None, Array]:
        """The user's function and its parameters, or no function and the flat table of moments."""
        numbers = checks.array(parameters, "external_parameters", (None,))
        if external is None:
            return None, np.zeros(0)
        if callable(external):
            return external, numbers
        body: tuple[int, ...] = (3,) if self.single else (len(self.moments), 3)
        constant = np.ndim(external) == len(body)
        return None, checks.array(external, "external", body if constant else (steps + 1, *body)).ravel()
