"""What the sensors share on the Python side: configuration, noise by name and seed, runs and streams."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attitude.core import checks
from attitude.core.jit import Array
from attitude.sensors.errors import ErrorParameters, error_parameters, normals_per_sample
from attitude.sensors.faults import Fault, check_faults, fault_table

MAX_IN_FLIGHT = 1000  # samples on their way at once, so that a typing error in the latency fails early
BLOCK = 65536  # calls per kernel call: bounds the memory for random numbers


# ------------------------------------------------------------------ configuration
@dataclass(frozen=True, kw_only=True)
class SensorConfig(ABC):
    """What every sensor has.

    `sample_rate_hz`, Hz; `phase_s`, time of the first sample, below one sample period; `latency_s`, from the time
    of validity to the moment the sample can be read; `dropout_probability` of each sample.
    """

    sample_rate_hz: float
    phase_s: float = 0.0
    latency_s: float = 0.0
    dropout_probability: float = 0.0
    faults: tuple[Any, ...] = ()

    fault_type: ClassVar[type[Fault]]
    noise_names: ClassVar[tuple[str, ...]]  # fields that must not be negative
    limit_names: ClassVar[tuple[str, ...]] = ()  # fields that must be positive, and may be infinite

    def __post_init__(self) -> None:
        self._set(sample_rate_hz=checks.positive(self.sample_rate_hz, "sample_rate_hz"))
        self._set(**{name: checks.not_negative(getattr(self, name), name) for name in self.noise_names})
        self._set(**{name: _limit(getattr(self, name), name) for name in self.limit_names})
        self._check_timing()
        additive, replacing = self.fault_channels()
        self._set(faults=check_faults(self.faults, self.fault_type, additive, replacing))

    def _check_timing(self) -> None:
        period = 1.0 / self.sample_rate_hz
        phase = checks.not_negative(self.phase_s, "phase_s")
        if phase >= period:
            raise ValueError(f"phase_s must be below one sample period, {period:.6g} s, got {phase}")
        latency = checks.not_negative(self.latency_s, "latency_s")
        if latency > MAX_IN_FLIGHT * period:
            raise ValueError(f"latency_s must be at most {MAX_IN_FLIGHT} sample periods, got {latency}")
        dropout = fraction(self.dropout_probability, "dropout_probability")
        self._set(phase_s=phase, latency_s=latency, dropout_probability=dropout)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def fault_channels(self) -> tuple[int, int]:
        """How many channels can have spikes and jumps, and how many can be stuck or dead on their own."""

    @abstractmethod
    def parameters(self) -> Any:
        """NamedTuple for the kernel, SI units; `parameters().errors` is the part of the error model."""

    @abstractmethod
    def initial_state(self, generator: np.random.Generator) -> Array:
        """State before the first sample; draws what stays constant in a run: turn-on bias, scale, misalignment."""

    @property
    def normals_per_sample(self) -> int:
        """How many standard-normal numbers one sample uses."""
        return normals_per_sample(self.parameters().errors)

    def _errors(self, weights: Array | None = None, **parts: Any) -> ErrorParameters:
        """The shared part of the parameters; `weights`: channels a fault's size applies to."""
        weights = np.ones(parts["white"].size) if weights is None else weights
        return error_parameters(
            rate=self.sample_rate_hz, phase=self.phase_s, latency=self.latency_s, dropout=self.dropout_probability,
            faults=fault_table(self.faults, weights), **parts,
        )  # fmt: skip


def _limit(value: Any, name: str) -> float:
    """Positive float; infinity means no limit."""
    return math.inf if isinstance(value, float) and value == math.inf else checks.positive(value, name)


def fraction(value: Any, name: str) -> float:
    """Number in [0, 1]."""
    result = checks.number(value, name)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"{name} must be from 0 to 1, got {result}")
    return result


def angle(value: Any, name: str, below: float) -> float:
    """Angle in degrees, not negative and below `below`."""
    result = checks.not_negative(value, name)
    if result >= below:
        raise ValueError(f"{name} must be below {below:g} degrees, got {result}")
    return result


def as_tuple(values: Array) -> Any:
    """Nested tuples of floats: what a frozen configuration keeps of an array."""
    return tuple(as_tuple(row) for row in values) if values.ndim else float(values)


def sensor_axes(scale: Array, tilts: Array, R_SB: Array) -> Array:
    """`(1 + scale) M R_SB`, `(3, 3)`: body axes to the sensor's real axes.

    Row i of `M` is sensor axis i tilted by two small angles towards the other two, and of unit length; `scale`
    `(3,)`, `tilts` `(6,)` rad.
    """
    M = np.eye(3)
    M[~np.eye(3, dtype=bool)] = tilts
    M /= np.linalg.norm(M, axis=1, keepdims=True)
    return np.asarray((1.0 + scale)[:, None] * (M @ R_SB))


# ------------------------------------------------------------------ noise
def noise_generator(seed: int, name: str) -> np.random.Generator:
    """Generator of the sensor `name` in the run `seed`: another sensor more or less does not change it."""
    words = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], dtype="<u4")
    key = tuple(int(word) for word in words)
    return np.random.default_rng(np.random.SeedSequence(checks.count(seed, "seed", 0), spawn_key=key))


class Normals:
    """Rows of standard-normal numbers; the same sequence whatever the sizes it is asked for."""

    def __init__(self, generator: np.random.Generator, width: int, least: int = 256) -> None:
        self._generator, self._width, self._least = generator, width, least
        self.rows = np.empty((0, width))
        self.row = 0  # next one to use

    def fill(self, count: int) -> None:
        """Have at least `count` rows ahead."""
        ahead = self.rows.shape[0] - self.row
        if ahead < count:
            fresh = self._generator.standard_normal((max(count - ahead, self._least), self._width))
            self.rows = np.concatenate([self.rows[self.row :], fresh])
            self.row = 0


# ------------------------------------------------------------------ samples
class Sample(NamedTuple):
    """One sample: time of validity `t`, s; time it came out, `t_out`, s; `valid`; `values` as the sensor says.

    Where it is not valid, the values are those of the last valid sample (zeros before the first).
    """

    t: float
    t_out: float
    valid: bool
    values: Array


class Stream(NamedTuple):
    """Samples in the order they came out: `t` `(M,)`, `t_out` `(M,)`, `valid` `(M,)`, `values` `(M, m)`."""

    t: Array
    t_out: Array
    valid: NDArray[np.bool_]
    values: Array


class Sensor:
    """A sensor with its configuration, under the name its noise is drawn by."""

    truth: ClassVar[Mapping[str, tuple[int, ...]]]  # what it senses, and the shape at one time
    _run: ClassVar[Any]  # kernel over many times
    config: SensorConfig
    name: str

    def __init__(self, config: Any, name: str) -> None:
        self.config, self.name = config, name

    def start(self, seed: int = 0) -> Run:
        """A new run: turn the sensor on, with the noise of `seed`."""
        return Run(self, seed)


class Run:
    """A sensor that is on: call `sample` or `stream` with times that increase."""

    def __init__(self, sensor: Sensor, seed: int) -> None:
        generator = noise_generator(seed, sensor.name)
        self.parameters = sensor.config.parameters()
        self.state = sensor.config.initial_state(generator)
        self._sensor = sensor
        self._normals = Normals(generator, normals_per_sample(self.parameters.errors))
        self._out = np.zeros(2 + self.parameters.errors.values)
        self._t = -math.inf

    def sample(self, t: float, *truth: ArrayLike) -> Sample | None:
        """The sample that comes out at `t`, s, if there is one; `truth` as for the sensor's `stream`, at `t`."""
        one = self.stream([t], *(np.asarray(value, dtype=np.float64)[None] for value in truth))
        if not one.t.size:
            return None
        return Sample(float(one.t[0]), float(one.t_out[0]), bool(one.valid[0]), one.values[0])

    def stream(self, times: ArrayLike, *truth: ArrayLike) -> Stream:
        """The samples that come out at `times` `(N,)`, s; see the sensor's `stream` for `truth`."""
        t = self._times(times)
        tables = self._tables(t.size, truth)
        rows = np.empty((t.size, 1 + self._out.size))
        count = 0
        for first in range(0, t.size, BLOCK):
            part = slice(first, first + BLOCK)
            inputs = tuple(table[part] for table in tables)
            count += self._block(t[part], inputs, rows[count:])
        rows = rows[:count].copy()
        return Stream(rows[:, 1], rows[:, 0], rows[:, 2] > 0.0, rows[:, 3:])

    def _block(self, times: Array, inputs: Sequence[Array], rows: Array) -> int:
        noise = self._normals
        noise.fill(times.size)
        count, noise.row = type(self._sensor)._run(
            self.parameters, self.state, times, *inputs, noise.rows, noise.row, self._out, rows
        )
        return int(count)

    def _times(self, times: ArrayLike) -> Array:
        t = checks.array(times, "times", (None,))
        if t.size and (t[0] < 0.0 or t[0] <= self._t or not (np.diff(t) > 0.0).all()):
            raise ValueError("times must not be negative, must increase, and come after those of earlier calls")
        self._t = float(t[-1]) if t.size else self._t
        return t

    def _tables(self, count: int, truth: Sequence[ArrayLike]) -> list[Array]:
        expected = self._sensor.truth
        if len(truth) != len(expected):
            raise ValueError(f"truth must be {', '.join(expected)}, got {len(truth)} arrays")
        return [
            _table(value, name, shape, count) for value, (name, shape) in zip(truth, expected.items(), strict=True)
        ]


def _table(value: ArrayLike, name: str, shape: tuple[int, ...], count: int) -> Array:
    """Truth at `count` times, checked; given at one time only, it is constant."""
    constant = np.ndim(value) == len(shape)
    table = checks.array(value, name, shape if constant else (count, *shape))
    if name.startswith("q_"):
        norms = np.linalg.norm(table, axis=-1, keepdims=True)
        if np.abs(norms - 1.0).max(initial=0.0) > checks.UNIT_TOLERANCE:
            raise ValueError(f"{name} must be unit quaternions [x, y, z, w] within {checks.UNIT_TOLERANCE}")
        table = table / norms
    return np.array(np.broadcast_to(table, (count, *shape)), order="C")  # writable: kernels know one type of array
