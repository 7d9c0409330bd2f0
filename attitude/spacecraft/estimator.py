"""The flight side's attitude estimator: one of the toolkit's filters, its start, and the watch over its sensors.

| step    | what                                                                                                     |
|---------|----------------------------------------------------------------------------------------------------------|
| predict | `"dynamics"`: the gyrostat's own motion, wheels by tachometer, torquers as commanded; `"gyro"`: the gyro |
| correct | gyro (dynamics only), star trackers, sun sensors, magnetometer while torquers are quiet, photodiodes     |
| start   | a star tracker's attitude, or TRIAD of Sun and field, without the filter's help                          |
| watch   | refused, silent and stuck sensors are `faulty`; an estimate that is refuted for long is given up         |

A late sample is carried forward by the estimated rate over its age. Health of a sensor: a refusal by the gate adds 1 to
its score, an acceptance takes a tenth of it; from 3 on it is faulty, below ½ it is sound again. A faulty sensor's
samples are still offered to the filter, whose gate decides; only a stuck gyro is not listened to.
"""

from __future__ import annotations

import math

from attitude.actuators.magnetorquers import magnetic_torque_kernel, magnetorquers_kernel, undisturbed_kernel
from attitude.core.increment import OK
from attitude.core.jit import Array, inner_kernel, kernel
from attitude.core.quaternion import exp_kernel, product_xyzw, rotate_xyz
from attitude.dynamics.step import write_in
from attitude.environment.grid import SUNLIGHT
from attitude.estimation.filter_kernels import ACCEPTED, ATTITUDE, RATE, VECTOR, read_factor, update
from attitude.estimation.predict_kernels import predict, predict_gyro
from attitude.estimation.recorded import read_state
from attitude.estimation.wahba_kernels import triad_rows
from attitude.spacecraft import frames
from attitude.spacecraft.config import MAX_INCREMENT
from attitude.spacecraft.estimator_setup import (
    BITS_REFUSED,
    BITS_TAKEN,
    FIELD,
    FIELD_TIME,
    MEAN_DIPOLE,
    MEAN_RATE,
    NEVER,
    ODD_TIME,
    OMEGA,
    REFUSED_SINCE,
    REPEATS,
    RUNNING,
    SUN_SIGMA,
    SUN_TIME,
    TIME,
    TORQUE,
    ZERO,
    EstimatorParameters,
    EstimatorState,
)
from attitude.spacecraft.frames import COMMAND, ESTIMATE, SAMPLES

MAX_RATE_START = 0.02  # rad the body may turn between the two vectors of a start
RATE_SIGMA_START = 0.05  # rad/s, where no gyro tells
SUSPECT, SOUND, FORGET, WORST = 3.0, 0.5, 0.9, 10.0  # health: thresholds, decay on acceptance, largest score
SILENT_PERIODS, SILENT_SECONDS = 10.0, 5.0  # without a sample that should be there
SUN_SENSORS_MASK = ((1 << frames.SUN_SENSORS) - 1) << frames.SUN_SENSOR_BIT
ATTITUDE_MASK = ((1 << frames.GPS_BIT) - 1) & ~((1 << frames.SUN_SENSOR_BIT) - 1)  # Sun and stars, without the field
FOV_MARGIN = math.cos(math.radians(5.0))  # a Sun nearer to the edge of the field of view than this is not counted on
LEAST_SUNLIGHT = 0.9
MAX_GAP = 60.0  # s between ticks over which an estimate is carried; a time farther off has to be confirmed by the next
LEAST_DIODES = 0.5  # of full sun, length of the photodiodes' sum that counts as a direction

_T, _VALID = SAMPLES["t"].offset, SAMPLES["valid"].offset
_AT = tuple(SAMPLES[f"{name}_t"].offset for name in frames.SENSOR_NAMES[: frames.WHEELS_BIT])
_GYRO, _MAGNETOMETER, _COARSE, _SUN, _STAR = (
    SAMPLES[f"{name}_t"].offset for name in ("gyro", "magnetometer", "coarse_sun", "sun_sensor_0", "star_tracker_0")
)
_SPEED, _DIPOLE, _COMMANDED = SAMPLES["wheel_speed"].offset, COMMAND["dipole"].offset, COMMAND["valid"].offset
_E_T, _E_RUNNING, _E_Q, _E_OMEGA, _E_BIAS = (
    ESTIMATE[name].offset for name in ("t", "running", "q_IB", "omega_B", "gyro_bias_B")
)
_E_SIGMA, _E_SIGMA_BIAS, _E_ACCEPTED, _E_REJECTED, _E_FAULTY = (
    ESTIMATE[name].offset for name in ("sigma_B", "sigma_bias_B", "accepted", "rejected", "faulty")
)


# ------------------------------------------------------------------ small things
@inner_kernel
def _has(bits: int, bit: int) -> bool:
    return (bits >> bit) & 1 == 1


@inner_kernel
def _finite3(v: Array) -> bool:
    return math.isfinite(v[0] + v[1] + v[2])


@inner_kernel
def _unit4(q: Array, out: Array) -> bool:
    """`out` = `q` at unit length; false where `q` is no quaternion of an attitude."""
    square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if not 0.25 < square < 4.0:
        return False
    k = 1.0 / math.sqrt(square)
    for i in range(4):
        out[i] = k * q[i]
    return True


@inner_kernel
def _note(s: EstimatorState, bit: int, accepted: bool) -> None:
    """Book a sample that was taken or refused."""
    if accepted:
        s.numbers[BITS_TAKEN] += float(1 << bit)
        s.score[bit] *= FORGET
    else:
        s.numbers[BITS_REFUSED] += float(1 << bit)
        s.score[bit] = min(s.score[bit] + 1.0, WORST)


@inner_kernel
def _turned(s: EstimatorState, seconds: float) -> None:
    """`turn`: the quaternion by which the body turns in the given time."""
    q, w = s.turn, s.vectors[OMEGA]
    for i in range(3):
        q[i] = seconds * w[i]
    exp_kernel(q[0:3], q)


# ------------------------------------------------------------------ prediction
@inner_kernel
def _read_gyro(p: EstimatorParameters, s: EstimatorState, bits: int, samples: Array) -> None:
    """Take the gyro's sample and count how often it has repeated itself; one that is not finite is not taken."""
    if not _has(bits, frames.GYRO_BIT):
        return
    finite = _finite3(samples[_GYRO + 1 : _GYRO + 4])
    if not p.dynamic and s.numbers[REPEATS] < p.stuck_samples:  # where it is no measurement, nobody else books it
        _note(s, frames.GYRO_BIT, finite)
    if not finite:
        return
    same, limit = True, float(p.stuck_samples)
    for i in range(3):
        same = same and samples[_GYRO + 1 + i] == s.gyro[0, i]
    repeats = s.numbers[REPEATS]
    if same:
        s.numbers[REPEATS] = min(repeats + 1.0, 2.0 * limit)
    else:  # once stuck, it has to move as often again to be believed
        s.numbers[REPEATS] = repeats - 1.0 if repeats >= limit else 0.0
    for i in range(3):
        last = s.gyro[0, i]
        s.gyro[0, i] = samples[_GYRO + 1 + i]
        s.gyro[1, i] = last if math.isfinite(last) else s.gyro[0, i]


@inner_kernel
def _rotors(p: EstimatorParameters, samples: Array, dt: float, s: EstimatorState) -> None:
    """Relative momentum of the rotors by their tachometers, and its rate since the last tick.

    It stays as it was while a tachometer tells a speed that no wheel has, or none.
    """
    known = True
    for j in range(p.rotor_inertia.size):
        known = known and abs(samples[_SPEED + j]) <= p.top_speed[j]
    for i in range(3):
        total = 0.0 if known else s.rotors_P[i]
        for j in range(p.rotor_inertia.size if known else 0):
            total += p.axes_P[i, j] * p.rotor_inertia[j] * samples[_SPEED + j]
        s.inputs[0, 3 + i] = (total - s.rotors_P[i]) / dt if dt > 0.0 else 0.0
        s.rotors_P[i] = total


@inner_kernel
def _magnetic_torque(
    p: EstimatorParameters, s: EstimatorState, t: float, dt: float, onboard: Array, command: Array
) -> None:
    """What the torquers did since the last tick, as commanded, in the on-board field."""
    x, b = s.x, p.body
    a1, a2, a3, a4 = product_xyzw(x[0], x[1], x[2], x[3], -b[3], -b[4], -b[5], b[6])
    field, torque = s.vectors[FIELD], s.vectors[TORQUE]
    field[0], field[1], field[2] = rotate_xyz(-a1, -a2, -a3, a4, onboard[6], onboard[7], onboard[8])
    on = _has(frames.bits_of(command[_COMMANDED]), frames.TORQUERS_BIT)
    given = command[_DIPOLE : _DIPOLE + s.dipoles.size]
    if on:
        magnetorquers_kernel(p.torquers, s.dipoles, given, t - dt, dt, s.vectors[MEAN_DIPOLE])
    else:
        for i in range(3):
            s.vectors[MEAN_DIPOLE, i] = 0.0
    magnetic_torque_kernel(s.vectors[MEAN_DIPOLE], field, torque)
    s.inputs[0, 0], s.inputs[0, 1], s.inputs[0, 2] = rotate_xyz(
        -b[3], -b[4], -b[5], b[6], torque[0], torque[1], torque[2]
    )


@inner_kernel
def _predict(
    p: EstimatorParameters, s: EstimatorState, t: float, dt: float, onboard: Array, command: Array, samples: Array
) -> None:
    """Carry the filter to `t`; an estimate that cannot be carried is given up."""
    if p.dynamic:
        _magnetic_torque(p, s, t, dt, onboard, command)
        _rotors(p, samples, dt, s)
        row = s.inputs.shape[0] - 1
        status = predict(
            p.body, p.terms, p.sigma, p.delta, p.stages, s.inputs, row, dt, MAX_INCREMENT, p.torque_noise, p.bias_walk,
            s.x, s.F, s.tangents, s.A, s.x0, s.F0,
        )  # fmt: skip
    else:
        mean = s.vectors[MEAN_RATE]
        for i in range(3):
            mean[i] = 0.5 * (s.gyro[0, i] + s.gyro[1, i])
        status = predict_gyro(mean, dt, p.arw, p.bias_walk, s.x, s.F, s.A)
        if s.faulty[frames.GYRO_BIT] > 0.0:
            status = OK + 1
    if status != OK:
        s.numbers[RUNNING] = 0.0


@inner_kernel
def _read_rate(p: EstimatorParameters, s: EstimatorState) -> None:
    """Estimated rate; the gyro's if there is no estimate, NaN if there is none either."""
    omega = s.vectors[OMEGA]
    read_state(p.dynamic, p.body, s.x, s.bias, s.out)
    known = s.numbers[RUNNING] > 0.0
    for i in range(3):
        gyro = s.gyro[0, i] if s.faulty[frames.GYRO_BIT] == 0.0 else math.nan
        if known and p.dynamic:
            omega[i] = s.out[4 + i]
        else:
            omega[i] = gyro - (s.out[7 + i] if known else 0.0)


# ------------------------------------------------------------------ correction
@inner_kernel
def _coarse_direction(p: EstimatorParameters, samples: Array, out: Array) -> bool:
    """Sum of the photodiodes' normals weighted by their readings; true if it is strong enough to be the Sun."""
    out[0] = out[1] = out[2] = 0.0
    for i in range(p.diodes.shape[0]):
        for j in range(3):
            out[j] += samples[_COARSE + 1 + i] * p.diodes[i, j]
    return math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]) > LEAST_DIODES


@inner_kernel
def _wanted(p: EstimatorParameters, s: EstimatorState, bits: int, bit: int, onboard: Array, samples: Array) -> bool:
    """Whether a sensor's new sample is to be offered to the filter."""
    if not _has(bits, bit):
        return False
    if bit == frames.GYRO_BIT:
        return p.dynamic and s.numbers[REPEATS] < p.stuck_samples
    if bit == frames.MAGNETOMETER_BIT:
        return undisturbed_kernel(p.torquers, samples[_MAGNETOMETER])
    if bit == frames.COARSE_SUN_BIT:  # only where no better sensor sees the Sun
        return bits & SUN_SENSORS_MASK == 0 and onboard[SUNLIGHT] >= LEAST_SUNLIGHT
    return True


@inner_kernel
def _measure(p: EstimatorParameters, s: EstimatorState, t: float, bit: int, onboard: Array, samples: Array) -> int:
    """A sample as the filter takes it, carried to `t`: `value`, `reference`, `sigma`; returns its kind."""
    at = _AT[bit]
    age, kind = t - samples[at], VECTOR
    value, scale = s.value, p.sensor_sigma[bit]
    for i in range(3):
        value[i] = samples[at + 1 + i]
        s.sigma[i] = scale
        s.reference[i] = onboard[6 + i] if bit == frames.MAGNETOMETER_BIT else onboard[9 + i]
    if bit == frames.GYRO_BIT:
        return RATE
    if bit == frames.COARSE_SUN_BIT and not _coarse_direction(p, samples, value):
        value[0] = math.nan
    _turned(s, age)
    q = s.turn
    if bit >= frames.STAR_TRACKER_BIT:
        kind = ATTITUDE
        value[0], value[1], value[2], value[3] = product_xyzw(
            value[0], value[1], value[2], samples[at + 4], q[0], q[1], q[2], q[3]
        )
        for i in range(3):
            s.sigma[i] = p.star_sigma[i]
    else:  # a direction fixed in space turns backwards in the body
        value[0], value[1], value[2] = rotate_xyz(-q[0], -q[1], -q[2], q[3], value[0], value[1], value[2])
    if not 0.0 <= age <= p.max_age:
        value[0] = math.nan
    return kind


@inner_kernel
def _correct(p: EstimatorParameters, s: EstimatorState, t: float, bits: int, onboard: Array, samples: Array) -> None:
    """Offer all samples of the tick to the filter."""
    for bit in range(frames.GPS_BIT):
        if not _wanted(p, s, bits, bit, onboard, samples):
            continue
        kind = _measure(p, s, t, bit, onboard, samples)
        gate = p.gates[2] if kind == VECTOR else p.gates[3]
        status = update(
            kind, p.body, s.x, s.bias, s.F, s.value, s.reference, s.sigma, gate, s.H, s.y, s.variance, s.S, s.K,
            s.stats, s.work,
        )  # fmt: skip
        _note(s, bit, status == ACCEPTED)


# ------------------------------------------------------------------ start
@inner_kernel
def _fresh(p: EstimatorParameters, samples: Array, at: int) -> bool:
    """Whether the sample whose time tag is at `at` is neither too old nor of the future."""
    return 0.0 <= samples[_T] - samples[at] <= p.max_age


@inner_kernel
def _remember(p: EstimatorParameters, s: EstimatorState, bits: int, onboard: Array, samples: Array) -> None:
    """Keep the latest directions of Sun and field, for a start."""
    n = s.numbers
    for i in range(frames.SUN_SENSORS):
        bit, at = frames.SUN_SENSOR_BIT + i, _SUN + 4 * i
        if _has(bits, bit) and n[RUNNING] == 0.0:  # nothing to judge it by: forgive, or there may be no start
            s.score[bit] *= FORGET
        if _has(bits, bit) and s.faulty[bit] == 0.0 and _fresh(p, samples, at):
            n[SUN_TIME], n[SUN_SIGMA] = samples[at], p.sensor_sigma[bit]
            for j in range(3):
                s.start_b[0, 0, j] = samples[at + 1 + j]
    coarse = _has(bits, frames.COARSE_SUN_BIT) and _fresh(p, samples, _COARSE) and onboard[SUNLIGHT] >= LEAST_SUNLIGHT
    if coarse and samples[_COARSE] > n[SUN_TIME] + p.max_age and _coarse_direction(p, samples, s.start_b[0, 0]):
        n[SUN_TIME], n[SUN_SIGMA] = samples[_COARSE], p.sensor_sigma[frames.COARSE_SUN_BIT]
    field = _has(bits, frames.MAGNETOMETER_BIT) and _fresh(p, samples, _MAGNETOMETER)
    if field and undisturbed_kernel(p.torquers, samples[_MAGNETOMETER]):
        n[FIELD_TIME] = samples[_MAGNETOMETER]
        for j in range(3):
            s.start_b[0, 1, j] = samples[_MAGNETOMETER + 1 + j]


@inner_kernel
def _begin(p: EstimatorParameters, s: EstimatorState, q: Array, sigma: float) -> None:
    """Start the filter at the attitude `q`, known to `sigma` rad about each axis."""
    w, known = s.vectors[OMEGA], _finite3(s.vectors[OMEGA])
    rate_sigma = math.sqrt(p.sensor_sigma[frames.GYRO_BIT] ** 2 + p.bias_sigma**2) if known else RATE_SIGMA_START
    s.F[:, :] = 0.0
    for i in range(3):
        s.bias[i] = 0.0
        s.vectors[TORQUE, i] = w[i] if known else 0.0
        s.F[i, i] = sigma
        if p.dynamic:
            s.F[3 + i, 3 + i], s.F[6 + i, 6 + i] = rate_sigma * p.body[i], p.bias_sigma
            s.x[7 + i] = s.rotors_P[i]
        else:
            s.F[3 + i, 3 + i] = p.bias_sigma
    if p.dynamic:
        write_in(p.body, q, s.vectors[TORQUE], s.vectors[ZERO], s.x)
    else:
        for i in range(s.x.size):
            s.x[i] = q[i] if i < 4 else 0.0
    s.numbers[RUNNING], s.numbers[REFUSED_SINCE] = 1.0, math.inf


@inner_kernel
def _try_to_start(
    p: EstimatorParameters, s: EstimatorState, t: float, bits: int, onboard: Array, samples: Array
) -> None:
    """From a star tracker, or from Sun and field if the body has hardly turned between them."""
    n, w = s.numbers, s.vectors[OMEGA]
    if not p.dynamic and not _finite3(w):  # nothing to carry it with
        return
    for i in range(frames.STAR_TRACKERS):
        at = _STAR + 5 * i
        fresh = _has(bits, frames.STAR_TRACKER_BIT + i) and _fresh(p, samples, at)
        if fresh and _unit4(samples[at + 1 : at + 5], s.start_q[0]):
            sigma = max(p.star_sigma[0], p.star_sigma[1], p.star_sigma[2]) + MAX_RATE_START
            _begin(p, s, s.start_q[0], sigma)
            return
    rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) if _finite3(w) else RATE_SIGMA_START
    oldest, apart = min(n[SUN_TIME], n[FIELD_TIME]), abs(n[SUN_TIME] - n[FIELD_TIME])
    if not 0.0 <= t - oldest <= p.max_age or rate * max(apart, t - oldest) > MAX_RATE_START:
        return
    for j in range(3):
        s.start_r[0, 0, j], s.start_r[0, 1, j] = onboard[9 + j], onboard[6 + j]
    s.start_variance[0] = n[SUN_SIGMA] ** 2 + MAX_RATE_START**2
    s.start_variance[1] = p.sensor_sigma[frames.MAGNETOMETER_BIT] ** 2 + MAX_RATE_START**2
    status, _ = triad_rows(s.start_b, s.start_r, s.start_variance, s.scratch, s.start_q, s.start_cov)
    sigma = math.sqrt(s.start_cov[0, 0, 0] + s.start_cov[0, 1, 1] + s.start_cov[0, 2, 2])
    if status == 0 and sigma < 1.0:
        _begin(p, s, s.start_q[0], sigma)


# ------------------------------------------------------------------ watch
@inner_kernel
def _expected(p: EstimatorParameters, s: EstimatorState, bit: int, onboard: Array) -> bool:
    """Whether the sensor should be giving samples."""
    if not p.period[bit] < math.inf:
        return False
    i = bit - frames.SUN_SENSOR_BIT
    if 0 <= i < frames.SUN_SENSORS:
        if s.numbers[RUNNING] == 0.0 or onboard[SUNLIGHT] < LEAST_SUNLIGHT:
            return False
        o, b = s.out, p.boresight[i]
        s1, s2, s3 = rotate_xyz(-o[0], -o[1], -o[2], o[3], onboard[9], onboard[10], onboard[11])
        cosine, limit = s1 * b[0] + s2 * b[1] + s3 * b[2], p.cosine_fov[i]
        # 5° inside the edge: cos(fov − 5°) = cos fov cos 5° + sin fov sin 5°
        inner = limit * FOV_MARGIN + math.sqrt((1.0 - limit * limit) * (1.0 - FOV_MARGIN * FOV_MARGIN))
        return cosine > inner
    return not frames.STAR_TRACKER_BIT <= bit < frames.STAR_TRACKER_BIT + frames.STAR_TRACKERS


@inner_kernel
def _watch(p: EstimatorParameters, s: EstimatorState, bits: int, dt: float, onboard: Array) -> int:
    """Health of every sensor; returns the bits of those held to be faulty."""
    faulty = 0
    for bit in range(frames.WHEELS_BIT):
        waits = _expected(p, s, bit, onboard) and not _has(bits, bit)
        s.silent[bit] = s.silent[bit] + dt if waits else 0.0
        if s.score[bit] >= SUSPECT or s.silent[bit] > max(SILENT_SECONDS, SILENT_PERIODS * p.period[bit]):
            s.faulty[bit] = 1.0
        elif s.score[bit] <= SOUND and s.silent[bit] == 0.0:
            s.faulty[bit] = 0.0
        if bit == frames.GYRO_BIT and s.numbers[REPEATS] >= p.stuck_samples:
            s.faulty[bit] = 1.0
        faulty += int(s.faulty[bit]) << bit
    return faulty


@inner_kernel
def _doubt(p: EstimatorParameters, s: EstimatorState, t: float) -> None:
    """Give the estimate up once Sun and stars have refuted it for long; the field alone cannot confirm it."""
    n = s.numbers
    if int(n[BITS_TAKEN]) & ATTITUDE_MASK:
        n[REFUSED_SINCE] = math.inf
    elif int(n[BITS_REFUSED]) & ATTITUDE_MASK:
        n[REFUSED_SINCE] = min(n[REFUSED_SINCE], t)
        if t - n[REFUSED_SINCE] > p.restart:
            n[RUNNING] = 0.0


@inner_kernel
def _report(p: EstimatorParameters, s: EstimatorState, t: float, faulty: int, estimate: Array) -> None:
    """The estimate `(22,)`."""
    running = s.numbers[RUNNING] > 0.0
    estimate[_E_T], estimate[_E_RUNNING] = t, s.numbers[RUNNING]
    _read_rate(p, s)
    if running:
        read_factor(p.body, not p.dynamic, s.F, s.F0)
    at = 6 if p.dynamic else 3
    for i in range(4):
        estimate[_E_Q + i] = s.out[i] if running else (1.0 if i == 3 else 0.0)
    for i in range(3):
        estimate[_E_OMEGA + i] = s.vectors[OMEGA, i]
        estimate[_E_BIAS + i] = s.out[7 + i] if running else 0.0
        angle = drift = 0.0
        for k in range(s.F.shape[0]):
            angle += s.F0[k, i] * s.F0[k, i]
            drift += s.F0[k, at + i] * s.F0[k, at + i]
        estimate[_E_SIGMA + i] = math.sqrt(angle) if running else math.pi
        estimate[_E_SIGMA_BIAS + i] = math.sqrt(drift) if running else p.bias_sigma
    estimate[_E_ACCEPTED], estimate[_E_REJECTED] = s.numbers[BITS_TAKEN], s.numbers[BITS_REFUSED]
    estimate[_E_FAULTY] = float(faulty)


@inner_kernel
def _follows(s: EstimatorState, t: float) -> bool:
    """Whether `t` comes next, and not an old packet, the same once more, or nonsense.

    A time far off is a new one to go by only if the next tick confirms it; then the estimate is given up.
    """
    n = s.numbers
    if not math.isfinite(t):
        return False
    if n[TIME] <= NEVER:
        return True
    if abs(t - n[TIME]) <= MAX_GAP:
        n[ODD_TIME] = NEVER
        return t > n[TIME]
    confirmed = 0.0 < t - n[ODD_TIME] <= MAX_GAP
    n[ODD_TIME] = t
    if confirmed:
        n[RUNNING], n[TIME] = 0.0, NEVER
    return confirmed


@inner_kernel
def estimate_attitude(
    p: EstimatorParameters, s: EstimatorState, onboard: Array, samples: Array, command: Array, estimate: Array
) -> None:
    """One tick of the estimator: samples `(64,)`, the last command `(16,)`, and the on-board environment `(22,)`."""
    n, t = s.numbers, samples[_T]
    bits = frames.bits_of(samples[_VALID])
    n[BITS_TAKEN] = n[BITS_REFUSED] = 0.0
    if not _follows(s, t):
        estimate[_E_ACCEPTED] = estimate[_E_REJECTED] = 0.0
        return
    dt = t - n[TIME] if n[TIME] > NEVER else 0.0
    n[TIME] = t
    _read_gyro(p, s, bits, samples)
    if n[RUNNING] > 0.0 and dt > 0.0:
        _predict(p, s, t, dt, onboard, command, samples)
    elif p.dynamic:
        _rotors(p, samples, dt, s)
    _read_rate(p, s)
    _remember(p, s, bits, onboard, samples)
    if n[RUNNING] > 0.0:
        _correct(p, s, t, bits, onboard, samples)
        _doubt(p, s, t)
    else:
        _try_to_start(p, s, t, bits, onboard, samples)
    if n[RUNNING] > 0.0 and not math.isfinite(s.x[0] + s.x[1] + s.x[2] + s.x[3] + s.x[4] + s.x[5] + s.x[6]):
        n[RUNNING] = 0.0
    _report(p, s, t, _watch(p, s, bits, dt, onboard), estimate)


@kernel
def estimate_kernel(
    p: EstimatorParameters, s: EstimatorState, onboard: Array, samples: Array, command: Array, estimate: Array
) -> None:
    """`estimate_attitude` from Python."""
    estimate_attitude(p, s, onboard, samples, command, estimate)
