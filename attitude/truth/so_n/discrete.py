"""The discrete rigid body on SO(n), with a physical step h: (MDRBn), (SDRBn) and Moser–Veselov algorithms 1 and 2.

| `System` | pair `(A, B)`       | one step                                                       | BCMR 2002 |
|----------|---------------------|----------------------------------------------------------------|-----------|
| `MDRB`   | `Q_k`, `M_k`        | `U = J_D⁻¹(hM_k)`, `Q_{k+1} = Q_k U`, `M_{k+1} = Uᵀ M_k U`     | section 7 |
| `SDRB`   | `Q_k`, `P_k`        | `U = J_D⁻¹(QᵀP − PᵀQ)`, `Q_{k+1} = Q_k U`, `P_{k+1} = P_k U`   | (4.7)     |
| `MV1`    | `Q_{k−1}`, `Q_k`    | discrete Euler–Lagrange                                        | (4.4)     |
| `MV2`    | `Q_k`, `M_k`        | the same motion, but this `M_k` is simultaneous with `Q_{k−1}` | (4.5)     |

The step enters as `hM`, and so for (SDRBn) through `P = Q exp(asinh(hM/2))`. All four are the same motion, of second
order; algorithm 2 started from a simultaneous pair is only of first order: see `algorithm_2_start`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from attitude.core.errors import StepError
from attitude.core.jit import Array, on_warm_up
from attitude.truth.so_n import kernels
from attitude.truth.so_n.body import BodyN, check_count, check_rotation, check_skew, check_step, norm
from attitude.truth.so_n.inverse import check_domain, newton_inverse, schur_inverse


class System(IntEnum):
    """The discrete systems."""

    MDRB = kernels.MDRB
    SDRB = kernels.SDRB
    MV1 = kernels.MV1
    MV2 = kernels.MV2


@dataclass(frozen=True)
class Trajectory:
    """Stored states of a run: `t`, s, shape `(N,)`, and the pair of the system, `A` and `B`, shapes `(N, n, n)`."""

    t: Array
    A: Array
    B: Array


def step(system: System, body: BodyN, A: ArrayLike, B: ArrayLike, h: float = 1.0) -> tuple[Array, Array]:
    """The pair `(A, B)` of `system` one step of h seconds later; `run` gives the same to the last bit."""
    end = run(system, body, A, B, h, 1)
    return end.A[1], end.B[1]


def run(
    system: System, body: BodyN, A: ArrayLike, B: ArrayLike, h: float = 1.0, steps: int = 1, every: int = 1
) -> Trajectory:
    """`steps` steps of h seconds from the pair `(A, B)`, compiled; the start and every `every`-th state are stored."""
    h, steps, every = check_step(h), check_count(steps, "steps"), check_count(every, "every")
    system = check_system(system)
    unit = h if system in (System.MDRB, System.MV2) else 1.0  # kernels carry hM
    A, B = check_pair(system, body, A, B, h)
    As, Bs = np.empty((2, steps // every + 1, body.n, body.n))
    As[0], Bs[0] = A, B
    done = 0
    while done < steps:
        reached, status = _run_on(system, body, A, B, done, steps, every, As, Bs)
        if status != kernels.OK:
            message = f"step {reached} found no increment: h M is at the border of the domain, take a smaller h"
            raise StepError(message, _kept(reached // every, every * h, As, Bs / unit))
        done = reached
    return _kept(steps // every, every * h, As, Bs / unit)


def _kept(count: int, spacing: float, As: Array, Bs: Array) -> Trajectory:
    return Trajectory(np.arange(count + 1, dtype=np.float64) * spacing, As[: count + 1], Bs[: count + 1])


def check_system(system: System) -> System:
    """One of the discrete systems, also by its number; a ValueError lists them."""
    try:
        return System(system)
    except ValueError:
        raise ValueError(f"system must be one of {', '.join(map(str, System))}, got {system!r}") from None


def check_pair(system: System, body: BodyN, A: ArrayLike, B: ArrayLike, h: float) -> tuple[Array, Array]:
    """Copies of the pair in the units of the kernels, after checking it: shapes, groups, and the domain of `J_D⁻¹`."""
    if system in (System.MDRB, System.MV2):
        return check_rotation(A, body.n, "Q").copy(), check_domain(body, h * check_skew(B, body.n, "M"))
    A, B = check_rotation(A, body.n, "Q").copy(), check_rotation(B, body.n, "P or the second Q").copy()
    U = A.T @ B
    if system is System.SDRB:
        check_symmetric(A, B)
        check_domain(body, U - U.T)
    elif np.linalg.eigvals(U * body.lam).real.min() <= 0.0:
        raise ValueError("the two attitudes are too far apart for one step: UΛ must have its spectrum in Re > 0")
    else:
        check_domain(body, U * body.lam - (U * body.lam).T)
    return A, B


def check_symmetric(Q: Array, P: Array) -> None:
    """Refuse a pair outside the set S, where `QᵀP + PᵀQ > 0`. BCMR 2002, definition 3.5 (corrected)."""
    S = Q.T @ P
    lowest = float(np.linalg.eigvalsh(S + S.T)[0])
    if lowest <= 0.0:
        raise ValueError(f"Q and P must have QᵀP + PᵀQ > 0, got the eigenvalue {lowest:.3g}")


def _run_on(
    system: System, body: BodyN, A: Array, B: Array, first: int, steps: int, every: int, As: Array, Bs: Array
) -> tuple[int, int]:
    """Run in place until done or until Newton fails; then do that one step from the Schur solution.

    Returns the steps done and the status.
    """
    U = np.empty((body.n, body.n))
    done, status = kernels.run(int(system), A, B, body.lam, 0, U, first, steps, every, As, Bs)
    if status != kernels.OK:
        U = schur_inverse(body, _momentum(system, body, A, B))
        done, status = kernels.run(int(system), A, B, body.lam, 1, U, done, done + 1, every, As, Bs)
    return int(done), int(status)


def _momentum(system: System, body: BodyN, A: Array, B: Array) -> Array:
    out = np.empty((body.n, body.n))
    kernels.momentum.py_func(int(system), A, B, body.lam, np.empty((kernels.SLOTS, body.n, body.n)), out)
    return out


def algorithm_2_start(body: BodyN, Q: ArrayLike, M: ArrayLike, h: float) -> tuple[Array, Array]:
    """Pair for Moser–Veselov algorithm 2 from the simultaneous `(Q_0, M_0)`: `(Q_1, M_0)`, at time h.

    Printed algorithm 2 pairs `Q_k` with the momentum of the interval before it; started from `(Q_0, M_0)` it is
    half an index off, and of first order only.
    """
    end = step(System.MDRB, body, Q, M, h)
    return end[0], check_skew(M, body.n, "M")


def scale_into_domain(M: ArrayLike, size: float = 1.0) -> tuple[float, Array]:
    """`ε ≤ 1` and `εM` with `‖εM‖ ≤ size < 2`, so that it has a P; the motion is then `εM(εt), Q(εt)`.

    BCMR 2002, proposition 3.13 (corrected: t scales too).
    """
    M = np.asarray(M, dtype=np.float64)
    M = check_skew(M, M.shape[0])
    if not 0.0 < size < 2.0:
        raise ValueError(f"size must be between 0 and 2, got {size:g}")
    epsilon = min(1.0, size / max(norm(M), np.finfo(np.float64).tiny))
    return epsilon, epsilon * M


@on_warm_up
def _warm_up() -> None:
    newton_inverse(BodyN([1.0, 1.0]), np.zeros((2, 2)))
