"""heyoka: the Taylor method compiled for this body, its moments constants of the code; dense output on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import heyoka
import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array
from sims.bench.peers import (
    AdaptiveRun,
    FreeBody,
    Motion,
    PeerError,
    euler_coefficients,
    free_body,
    motion,
    tolerance_of,
)

EPSILON = float(np.finfo(np.float64).eps)  # heyoka's default tolerance


def _equations(moments: Array) -> list[Any]:
    """Quaternion and half rates: fewer products than with the rates themselves, so a cheaper step."""
    x, y, z, w, p, q, r = heyoka.make_vars("x", "y", "z", "w", "p", "q", "r")
    k1, k2, k3 = (2.0 * float(k) for k in euler_coefficients(moments))
    return [
        (x, w * p + y * r - z * q),
        (y, w * q + z * p - x * r),
        (z, w * r + x * q - y * p),
        (w, -(x * p + y * q + z * r)),
        (p, k1 * (q * r)),
        (q, k2 * (r * p)),
        (r, k3 * (p * q)),
    ]


class _HeyokaRun(AdaptiveRun):
    def __init__(self, body: FreeBody, tolerance: float) -> None:
        state = [*body.q, *(0.5 * body.omega)]
        self._integrator = heyoka.taylor_adaptive(_equations(body.moments), state, tol=tolerance)

    def _free(self, end: float) -> Array:
        self._check(self._integrator.propagate_until(end))
        return np.asarray(self._integrator.state)

    def _grid(self, times: Array) -> Array:
        outcome = self._integrator.propagate_grid(np.concatenate([[self._integrator.time], times]))
        self._check(outcome)
        return np.asarray(outcome[-1][1:])

    def _motion(self, variables: Array) -> Motion:
        return motion(variables[..., :4], 2.0 * variables[..., 4:])

    def _check(self, outcome: Any) -> None:
        if outcome[0] != heyoka.taylor_outcome.time_limit:
            raise PeerError(f"heyoka stopped at {self._integrator.time} s: {outcome[0]}")


@dataclass(frozen=True)
class HeyokaPeer:
    """heyoka's adaptive Taylor integrator; the setting is its tolerance, `None` machine epsilon."""

    name: str = "heyoka"
    fixed_step: bool = False
    version: str = heyoka.__version__

    def prepare(self, moments: ArrayLike, q0: ArrayLike, omega0: ArrayLike, setting: float | None = None) -> _HeyokaRun:
        """See `Peer`."""
        body = free_body(moments, q0, omega0)
        return _HeyokaRun(body, EPSILON if setting is None else tolerance_of(setting, EPSILON))


PEERS = (HeyokaPeer(),)
