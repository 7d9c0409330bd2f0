"""The error model all sensors share: a pipeline of small kernels over one flat state.

A sensor turns truth into `n` channels (rates, angles, currents); then, sample by sample,

    reading = clip(quantise(channel + bias + markov + white noise + spikes and jumps))        `disturb`
    stuck and dead faults                                                                     `hold`
    dropout, and the wait until the latency is over                                           `post`, `deliver`

Scale factor, misalignment and turn-on bias are drawn once, when a run starts, and lie in the state. The bias walks,
`b += σ_walk √Δt z`; the Gauss–Markov part (`markov`, bias instability) decays with its correlation time and starts
stationary. White noise is that of the sensor's own rate, whatever the rate it is read at.

Time
----
A sensor samples at the first call at or after each of its nominal times `phase + k / rate`; the time tag is the time
of that call, at which the truth was taken. The sample comes out at the first call at or after tag + latency. If
several samples are waiting then, the newest comes and the older are lost; so is a sample between two calls.

Kernels draw no random numbers. Each sample uses one row of `normals` `(rows, normals_per_sample)`: white noise,
walk, Gauss–Markov (where the sensor has it), dropout, spike; a sensor's kernel returns `SAMPLED` when it has used the
row. `out` is `[time tag s, valid, values...]`: valid is 1 only in the call that brings a valid sample; the values are
those of the last valid sample.

State: `[number of the last sample, ring head, samples waiting, validity of the held reading]`, bias `(n,)`, markov
`(n,)`, reading and held reading `(r,)` each, the constants of the sensor, the ring of waiting samples.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from attitude.core.jit import Array, kernel
from attitude.core.quaternion import rotate_xyz
from attitude.sensors.faults import DEAD, FAULT_COLUMNS, SPIKE, STUCK, quantile

DEGREE = math.pi / 180.0  # rad
ARCSEC = DEGREE / 3600.0  # rad
DEG_PER_HR = DEGREE / 3600.0  # rad/s
DEG_PER_SQRT_HR = DEGREE / 60.0  # rad/√s: √(1 h) = 60 √s
DEG_PER_HR_PER_SQRT_HR = DEG_PER_HR / 60.0  # rad/s/√s
PER_SQRT_HR = 1.0 / 60.0  # 1/√s
PPM = 1e-6
NANOTESLA = 1e-9  # T

NOTHING = 0
SAMPLED = 1  # a row of normals has been used
DELIVERED = 2  # `out` has a new sample, valid or not

LAST, HEAD, WAITING, HELD_VALID, BIAS = 0, 1, 2, 3, 4  # places in the state
NONE = -1.0
SLACK = 1e-6  # of a sample period: rounding in the times of the calls must not shift a sample by a call


class ErrorParameters(NamedTuple):
    """What the kernels of this file need, SI units; `n` channels, `values` numbers per sample."""

    values: int
    slots: int  # of the ring
    markov_at: int  # where the parts of the state begin
    reading_at: int
    held_at: int
    constants_at: int
    ring_at: int
    period: float
    phase: float
    latency: float
    white: Array  # (n,) 1σ of one sample
    walk: Array  # (n,) 1σ after one period
    markov: Array  # (n,) stationary 1σ, or (0,) if the sensor has none
    decay: float  # of the Gauss–Markov part in one period
    step: Array  # (n,) one LSB; 0: none
    low: Array  # (n,)
    high: Array  # (n,)
    dropout: float  # standard-normal quantile of the dropout probability
    faults: Array  # (F, 5 + n): see `faults.py`


def error_parameters(
    *, rate: float, phase: float, latency: float, dropout: float, faults: Array, white: Array, walk_per_sqrt_s: Array,
    step: Array, low: Array, high: Array, values: int, constants: int, markov: Array | None = None,
    markov_time: float = 1.0,
) -> ErrorParameters:  # fmt: skip
    """Lay out the state and convert to one sample period; everything in SI units, all arrays `(n,)`."""
    n, readings = white.size, max(white.size, values)
    reading_at = BIAS + 2 * n
    constants_at = reading_at + 2 * readings
    return ErrorParameters(
        values=values,
        slots=int(latency * rate + SLACK) + 2,
        markov_at=BIAS + n,
        reading_at=reading_at,
        held_at=reading_at + readings,
        constants_at=constants_at,
        ring_at=constants_at + constants,
        period=1.0 / rate,
        phase=phase,
        latency=latency,
        white=white,
        walk=walk_per_sqrt_s / math.sqrt(rate),
        markov=np.zeros(0) if markov is None else markov,
        decay=math.exp(-1.0 / (rate * markov_time)),
        step=step,
        low=low,
        high=high,
        dropout=quantile(dropout),
        faults=faults,
    )


def start_state(p: ErrorParameters, bias: Array, markov: Array, constants: Array) -> Array:
    """State before the first sample, with what was drawn for this run."""
    state = np.zeros(p.ring_at + p.slots * (2 + p.values))
    state[LAST] = state[HELD_VALID] = NONE
    state[BIAS : BIAS + bias.size] = bias
    state[p.markov_at : p.markov_at + markov.size] = markov
    state[p.constants_at : p.ring_at] = constants
    return state


def normals_per_sample(p: ErrorParameters) -> int:
    """How many standard-normal numbers one sample uses."""
    return p.white.size + p.walk.size + p.markov.size + 2


# ------------------------------------------------------------------ kernels
@kernel
def sense_vector(p: ErrorParameters, state: Array, x: float, y: float, z: float) -> None:
    """Reading = the 3×3 matrix in the sensor's constants times `[x, y, z]`."""
    A = state[p.constants_at : p.ring_at]
    for i in range(3):
        state[p.reading_at + i] = A[3 * i] * x + A[3 * i + 1] * y + A[3 * i + 2] * z


@kernel
def reading_to_body(p: ErrorParameters, state: Array, q_BS: Array) -> None:
    """Turn the reading from nominal sensor axes into body axes."""
    y = state[p.reading_at : p.held_at]
    y[0], y[1], y[2] = rotate_xyz(q_BS[0], q_BS[1], q_BS[2], q_BS[3], y[0], y[1], y[2])


@kernel
def due(p: ErrorParameters, state: Array, t: float) -> float:
    """Sample periods since the last sample, 0 for the first one; -1 if no sample is due at `t`."""
    number = math.floor((t - p.phase) / p.period + SLACK)
    if not number > state[LAST]:
        return NONE
    steps = number - state[LAST] if state[LAST] >= 0.0 else 0.0
    state[LAST] = number
    return steps


@kernel
def disturb(p: ErrorParameters, state: Array, t: float, steps: float, z: Array) -> None:
    """Put bias, noise, additive faults, quantisation and saturation on the channels in the reading."""
    n = p.white.size
    root = math.sqrt(steps)
    decay = p.decay if steps == 1.0 else p.decay**steps
    kick = math.sqrt(1.0 - decay * decay)
    y = state[p.reading_at : p.held_at]
    for i in range(n):
        state[BIAS + i] += p.walk[i] * root * z[n + i]
        y[i] += state[BIAS + i] + p.white[i] * z[i]
    for i in range(p.markov.size):
        k = p.markov_at + i
        state[k] = decay * state[k] + p.markov[i] * kick * z[2 * n + i]
        y[i] += state[k]
    _add_faults(p, t, z[z.size - 1], y)
    for i in range(n):
        if p.step[i] > 0.0:
            y[i] = p.step[i] * math.floor(y[i] / p.step[i] + 0.5)
        y[i] = min(max(y[i], p.low[i]), p.high[i])


@kernel
def _active(p: ErrorParameters, fault: int, t: float) -> bool:
    """Whether the fault is on, rounding in `t` allowed for."""
    now = t + SLACK * p.period
    return p.faults[fault, 1] <= now and now < p.faults[fault, 2]


@kernel
def _add_faults(p: ErrorParameters, t: float, z: float, y: Array) -> None:
    """Spikes, with their probability, and jumps of the bias."""
    for f in range(p.faults.shape[0]):
        if p.faults[f, 0] >= SPIKE and _active(p, f, t) and z < p.faults[f, 3]:
            for i in range(p.white.size):
                y[i] += p.faults[f, FAULT_COLUMNS + i]


@kernel
def hold(p: ErrorParameters, state: Array, t: float, valid: float) -> float:
    """Stuck and dead faults on the reading; returns its validity, 0 or 1.

    Stuck repeats the last reading, and if the whole sensor is stuck its validity too; the first reading if there was
    none. Dead channels read zero; a dead sensor is not valid.
    """
    y, held = state[p.reading_at : p.held_at], state[p.held_at : p.constants_at]
    if state[HELD_VALID] >= 0.0:
        for f in range(p.faults.shape[0]):
            if p.faults[f, 0] == STUCK and _active(p, f, t):
                _overwrite(p, f, held, y)
                valid = state[HELD_VALID] if p.faults[f, 4] > 0.0 else valid
    for i in range(y.size):
        held[i] = y[i]
    state[HELD_VALID] = valid
    for f in range(p.faults.shape[0]):
        if p.faults[f, 0] == DEAD and _active(p, f, t):
            _zero(p, f, y)
            valid = 0.0 if p.faults[f, 4] > 0.0 else valid
    return valid


@kernel
def _overwrite(p: ErrorParameters, fault: int, held: Array, y: Array) -> None:
    """The channels of the fault from `held`; all of the reading if the whole sensor has it."""
    for i in range(y.size):
        if p.faults[fault, 4] > 0.0 or (i < p.white.size and p.faults[fault, FAULT_COLUMNS + i] != 0.0):
            y[i] = held[i]


@kernel
def _zero(p: ErrorParameters, fault: int, y: Array) -> None:
    for i in range(p.white.size):
        if p.faults[fault, FAULT_COLUMNS + i] != 0.0:
            y[i] = 0.0


@kernel
def post(p: ErrorParameters, state: Array, t: float, valid: float, z: Array) -> None:
    """Send the values in the reading off, with time tag `t`; a dropped or not finite one is not valid."""
    at = p.ring_at + ((int(state[HEAD]) + int(state[WAITING])) % p.slots) * (2 + p.values)
    valid = 0.0 if z[z.size - 2] < p.dropout else valid
    for i in range(p.values):
        value = state[p.reading_at + i]
        valid = valid if math.isfinite(value) else 0.0
        state[at + 2 + i] = value
    state[at], state[at + 1] = t, valid
    if state[WAITING] < p.slots:
        state[WAITING] += 1.0
    else:  # calls closer than the ring was built for: the oldest is lost
        state[HEAD] = (state[HEAD] + 1.0) % p.slots


@kernel
def deliver(p: ErrorParameters, state: Array, t: float, out: Array) -> int:
    """Take the newest sample whose latency is over into `out`; returns `DELIVERED` or `NOTHING`."""
    out[1] = 0.0
    status = NOTHING
    while state[WAITING] > 0.0:
        at = p.ring_at + int(state[HEAD]) * (2 + p.values)
        if t + SLACK * p.period < state[at] + p.latency:
            break
        out[0], out[1] = state[at], state[at + 1]
        if out[1] > 0.0:
            for i in range(p.values):
                out[2 + i] = state[at + 2 + i]
        state[HEAD] = (state[HEAD] + 1.0) % p.slots
        state[WAITING] -= 1.0
        status = DELIVERED
    return status


@kernel
def record(t: float, out: Array, row: Array) -> None:
    """`row = [t, *out]`."""
    row[0] = t
    for i in range(out.size):
        row[1 + i] = out[i]
