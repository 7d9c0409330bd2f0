"""A whole recorded run of a filter in one kernel call: predict to each time, then take its samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attitude.core import checks
from attitude.core.increment import OK
from attitude.core.jit import Array, kernel
from attitude.core.quaternion import rotate_xyz
from attitude.dynamics.step import read_out
from attitude.estimation.factor import covariance
from attitude.estimation.filter_kernels import ATTITUDE, RATE, VECTOR, read_factor, update
from attitude.estimation.predict_kernels import predict, predict_gyro

NONE = -1  # status of a slot in which there was nothing to do


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples at N times; a missing one is NaN. What is left out is not measured.

    `vectors` `(N, V, 3)` in body axes of `references` `(V, 3)` or `(N, V, 3)` in inertial axes, with
    `vector_sigma` `(V,)` or one number, rad; `attitudes` `(N, 4)` with `attitude_sigma`, rad, one or three; `rates`
    `(N, 3)` with `rate_sigma`, rad/s, one or three. At one time vectors come first, then attitude, then rate.
    """

    vectors: ArrayLike | None = None
    references: ArrayLike | None = None
    vector_sigma: ArrayLike | None = None
    attitudes: ArrayLike | None = None
    attitude_sigma: ArrayLike | None = None
    rates: ArrayLike | None = None
    rate_sigma: ArrayLike | None = None

    def tables(self, count: int) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
        """The seven arrays as the kernel takes them, checked; empty where there is nothing."""
        vectors = _table(self.vectors, "vectors", (count, None, 3))
        width = vectors.shape[1]
        references = np.asarray(np.zeros((1, 0, 3)) if self.references is None else self.references, dtype=np.float64)
        if references.ndim == 2:
            references = references[None]
        if references.shape not in ((1, width, 3), (count, width, 3)):
            raise ValueError(
                f"references must have shape ({width}, 3) or ({count}, {width}, 3) to go with vectors, "
                f"got {references.shape}"
            )
        return (
            vectors,
            checks.array(references, "references", references.shape),
            _sigma(self.vector_sigma, "vector_sigma", width, self.vectors is not None),
            _table(self.attitudes, "attitudes", (count, 4)),
            _sigma(self.attitude_sigma, "attitude_sigma", 3, self.attitudes is not None),
            _table(self.rates, "rates", (count, 3)),
            _sigma(self.rate_sigma, "rate_sigma", 3, self.rates is not None),
        )


def _table(values: ArrayLike | None, name: str, shape: tuple[int | None, ...]) -> Array:
    """Samples with NaN where one is missing; no rows at all if there are none."""
    if values is None:
        return np.zeros(tuple(0 if n is None else n for n in (0, *shape[1:])))
    try:
        table = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers") from None
    if table.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, table.shape, strict=True)):
        raise ValueError(f"{name} must have shape {shape}, got {table.shape}")
    return table


def _sigma(value: ArrayLike | None, name: str, width: int, needed: bool) -> Array:
    if value is None:
        if needed:
            raise ValueError(f"{name} must be given with its samples")
        return np.ones(width)
    sigma = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (width,)))
    if not (np.isfinite(sigma).all() and (sigma > 0.0).all()):
        raise ValueError(f"{name} must be greater than zero and finite, got {sigma.tolist()}")
    return sigma


@dataclass(frozen=True, eq=False)
class Estimates:
    """What a filter said at N times, after the samples of each.

    `q` `(N, 4)`; `omega` `(N, 3)`, rad/s; `bias` `(N, 3)`, rad/s; `P` `(N, n, n)`; `nis` and `status` `(N, M)`, a
    column for each vector, then attitude, then rate (status -1 where nothing was measured); `prediction` `(N,)`,
    the propagator's status.
    """

    t: Array
    q: Array
    omega: Array
    bias: Array
    P: Array
    nis: Array
    status: NDArray[np.int64]
    prediction: NDArray[np.int64]

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Which samples were taken, `(N, M)`."""
        return np.asarray(self.status == 0)


@kernel
def run_recorded(
    dynamic: bool, body: Array, terms: int, sigma: Array, delta: Array, stages: Array, inputs: Array, gyro: Array,
    max_increment: float, torque_noise: Array, noise: Array, gates: Array, t0: float, times: Array,
    x: Array, bias: Array, F: Array,
    vectors: Array, references: Array, vector_sigma: Array, attitudes: Array, attitude_sigma: Array,
    rates: Array, rate_sigma: Array,
    tangents: Array, A: Array, x0: Array, F0: Array, H: Array, y: Array, variance: Array, S: Array, K: Array,
    stats: Array, work: Array, outs: Array, P: Array, nis: Array, status: NDArray[np.int64],
    prediction: NDArray[np.int64],
) -> float:  # fmt: skip
    """All predictions and updates of a recording; returns the time reached. See `MEKF.run` and `GyroMEKF.run`.

    `noise`: bias walk of a dynamics filter; angle and rate random walk of a gyro filter. `gates[m]` is the gate for
    m components. Columns of `outs`: attitude, rate, bias in body axes.
    """
    t = t0
    for k in range(times.size):
        h = times[k] - t
        prediction[k] = OK
        if h > 0.0:
            if dynamic:
                row = k if inputs.shape[0] > 1 else 0
                prediction[k] = predict(
                    body, terms, sigma, delta, stages, inputs, row, h, max_increment, torque_noise, noise[0],
                    x, F, tangents, A, x0, F0,
                )  # fmt: skip
            else:
                prediction[k] = predict_gyro(gyro[k], h, noise[0], noise[1], x, F, A)
            t = times[k]
        width = vectors.shape[1]
        for column in range(status.shape[1]):
            if column < width:
                kind, value, scale = VECTOR, vectors[k, column], vector_sigma[column : column + 1]
                reference = references[k if references.shape[0] > 1 else 0, column]
            elif column == width and attitudes.shape[0] > 0:
                kind, value, scale, reference = ATTITUDE, attitudes[k], attitude_sigma, y
            else:
                kind, value, scale, reference = RATE, rates[k], rate_sigma, y
            gate = gates[2] if column < width else gates[3]
            status[k, column] = update(
                kind, body, x, bias, F, value, reference, scale, gate, H, y, variance, S, K, stats, work
            )
            nis[k, column] = stats[0]
        read_state(dynamic, body, x, bias, outs[k])
        read_covariance(dynamic, body, F, F0, P[k])
    return t


@kernel
def read_state(dynamic: bool, body: Array, x: Array, bias: Array, out: Array) -> None:
    """The read-out `(14,)` of the state, with the gyro's bias, body axes, in `out[7:10]`."""
    read_out(body, x, out)
    if dynamic:
        a, b, c, d = body[3], body[4], body[5], body[6]
        out[7], out[8], out[9] = rotate_xyz(a, b, c, d, bias[0], bias[1], bias[2])
    else:
        out[7], out[8], out[9] = x[4], x[5], x[6]


@kernel
def read_covariance(dynamic: bool, body: Array, F: Array, G: Array, P: Array) -> None:
    """`P` over the user's error state; `G` like `F` is work space."""
    read_factor(body, not dynamic, F, G)
    covariance(G, P)
