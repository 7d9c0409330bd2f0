"""The filters we compare with, behind the calls of `MEKF`, so that a study swaps them by name.

| name         | mean                                       | covariance                                             |
| ------------ | ------------------------------------------ | ------------------------------------------------------ |
| `"vi-step"`  | one VI step per sample, as in MP 2016      | its exact linearisation, factored                      |
| `"vi"`       | VI of order 12, substeps of ≤ 0.25         | its exact linearisation, factored                      |
| `"textbook"` | midpoint rule                              | `Φ = 1 + F h`, `Q = G q² Gᵀ h`, Joseph update          |
| `"rk4-expm"` | classical Runge–Kutta, one step per sample | `Φ = exp(F h)`, `Q` of that constant `F`, Joseph update |
| `"usque"`    | sigma points, Runge–Kutta in substeps      | unscented, filterpy                                    |
| `"ideal"`    | SciPy's DOP853 at 1e-12                    | its variational equations, Joseph update               |

`"textbook"` and `"rk4-expm"` run recordings compiled. SciPy and filterpy are loaded when a filter needs them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, on_warm_up
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.rigid_body import RigidBody
from attitude.estimation.baselines_base import Baseline, Rk4ExpmMEKF, TextbookMEKF
from attitude.estimation.filter import Status
from attitude.estimation.mekf import MEKF
from attitude.estimation.recorded import Estimates, Samples

VI_STEP, VI, TEXTBOOK, RK4_EXPM, USQUE, IDEAL = NAMES = ("vi-step", "vi", "textbook", "rk4-expm", "usque", "ideal")
MAX_INCREMENT = 0.25  # of the "vi" filter: at order 12 the step error is then far below any sensor's


class AttitudeFilter(Protocol):
    """What every filter here can do."""

    t: float
    status: Status

    @property
    def q(self) -> Array: ...
    @property
    def omega(self) -> Array: ...
    @property
    def P(self) -> Array: ...
    @property
    def nis(self) -> float: ...
    def predict(self, dt: float, torque: ArrayLike | None = None) -> bool: ...
    def update_vector(self, b: ArrayLike, r: ArrayLike, sigma: float) -> bool: ...
    def update_attitude(self, q: ArrayLike, sigma: ArrayLike) -> bool: ...
    def update_rate(self, omega: ArrayLike, sigma: ArrayLike) -> bool: ...
    def run(self, times: ArrayLike, samples: Samples, torque: ArrayLike | None = None) -> Estimates: ...


def make_filter(
    name: str,
    inertia: ArrayLike,
    q: ArrayLike,
    omega: ArrayLike,
    P: ArrayLike,
    torque_noise: ArrayLike,
    *,
    t: float = 0.0,
) -> AttitudeFilter:
    """Filter `name` of `NAMES` for a rigid body of `inertia` `(3, 3)`, kg·m²; the rest as in `MEKF`."""
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    body = RigidBody(inertia)
    propagator = Propagator(body, order=12, max_increment=MAX_INCREMENT) if name == VI else Propagator(body)
    ours = MEKF(propagator, q, omega, P, torque_noise, t=t)  # also checks what the others are given
    if name in (VI_STEP, VI):
        return ours
    given = checks.array(P, "P", (6, 6))
    noise = np.array(np.broadcast_to(np.asarray(torque_noise, dtype=np.float64), (3,)))
    start = checks.unit_quaternion(q, "q"), checks.array(omega, "omega", (3,)), 0.5 * (given + given.T)
    return _baseline(name)(np.asarray(body.inertia), *start, noise, ours.t)


def _baseline(name: str) -> type[Baseline]:
    if name == USQUE:
        from attitude.estimation.baselines_usque import Usque

        return Usque
    if name == IDEAL:
        from attitude.estimation.baselines_ideal import IdealMEKF

        return IdealMEKF
    return TextbookMEKF if name == TEXTBOOK else Rk4ExpmMEKF


@on_warm_up
def _warm_up() -> None:
    samples = Samples(vectors=np.ones((2, 1, 3)), references=[[1.0, 0.0, 0.0]], vector_sigma=0.1)
    est = make_filter(RK4_EXPM, np.eye(3), [0, 0, 0, 1], [0, 0, 0.1], np.eye(6), 1e-3)
    est.run([1.0, 2.0], samples)
    est.predict(1.0)
    est.update_vector([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], 0.1)
