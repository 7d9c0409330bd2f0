"""References for the pointing laws: inertial, nadir, Sun, ground target, and rate-limited slews between them.

A reference `(10,)` is `[q_ref (4), ω_ref (3), α_ref (3)]`: where the body axes should be, their rate and its
derivative in those axes. Inertial axes I are GCRS-like, Earth-fixed axes E are ITRS; `R_IE` turns E into I.

Every kind lays one body axis (`axis_B`) along a primary direction, and a second (`second_B`) as near as that allows
to a secondary one:

| kind            | primary               | secondary          | rate                                              |
|-----------------|-----------------------|--------------------|---------------------------------------------------|
| `Inertial`      | an attitude           |                    | none                                              |
| `Nadir` (LVLH)  | to the Earth's centre | velocity           | of the orbit, two-body                            |
| `SunPointing`   | to the Sun            | `second_I`, fixed  | none (the Sun's 2e-7 rad/s is left to feedback)   |
| `GroundTarget`  | to a point on Earth   | velocity           | of the line of sight, two-body and Earth rotation |

`Nadir` with its default axes is LVLH: z to the Earth's centre, x forward, y against the orbit's normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core.jit import Array, kernel, on_warm_up
from attitude.core.linalg import times3
from attitude.core.quaternion import from_matrix, from_matrix_kernel, log_kernel, product_xyzw, rotate_xyz

Vector: TypeAlias = tuple[float, float, float]

OK = 0
NO_DIRECTION = 1  # the two directions are parallel, zero or not finite: the reference is left as it was
BELOW_HORIZON = 2  # the ground target does not see the spacecraft high enough; the reference points at it all the same
INERTIAL, NADIR, SUN, TARGET = 0, 1, 2, 3
REFERENCE = 10

GM_EARTH = 3.986004418e14  # m³/s², WGS 84
EARTH_RATE = 7.292115e-5  # rad/s, WGS 84
EQUATOR_RADIUS, FLATTENING = 6378137.0, 1.0 / 298.257223563  # m, WGS 84
DIFFERENCE = 0.1  # s: half the span of the differenced rate; error 1e-10 rad/s² as a target passes 500 km below
LEAST_SINE = 1e-6  # between the two directions


class ReferenceParameters(NamedTuple):
    """What `reference_kernel` takes, of every kind: `q_FB` `(4)` turns body axes into the frame F of the directions."""

    kind: int
    q_FB: Array
    second_I: Array
    point_E: Array
    up_E: Array
    least_sine: float


# ------------------------------------------------------------------ directions and their frame
@kernel
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _sum(a: Vector, k: float, b: Vector) -> Vector:
    """`a + k b`."""
    return a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]


@kernel
def _scaled(k: float, a: Vector) -> Vector:
    return k * a[0], k * a[1], k * a[2]


@kernel
def _axes(p: Vector, s: Vector) -> tuple[Vector, Vector, Vector, bool]:
    """Frame F: first axis along `p`, second as near to `s` as it can, third across; false where they are parallel."""
    n = _cross(p, s)
    size, length, other = math.sqrt(_dot(n, n)), math.sqrt(_dot(p, p)), math.sqrt(_dot(s, s))
    first, third = _scaled(1.0 / length, p), _scaled(1.0 / size, n)
    return first, _cross(third, first), third, LEAST_SINE * length * other < size < math.inf


@kernel
def _rate(p: Vector, dp: Vector, s: Vector, ds: Vector) -> Vector:
    """Rate of the frame of `_axes` in the axes the vectors are given in, from them and their derivatives."""
    first, second, _, _ = _axes(p, s)
    n, dn = _cross(p, s), _sum(_cross(dp, s), 1.0, _cross(p, ds))
    across = _scaled(1.0 / math.sqrt(_dot(p, p)), _cross(first, dp))
    return _sum(across, -_dot(second, dn) / math.sqrt(_dot(n, n)), first)


@kernel
def _gravity(r: Vector) -> Vector:
    square = _dot(r, r)
    return _scaled(-GM_EARTH / (square * math.sqrt(square)), r)


@kernel
def _orbit_rate(r: Vector, v: Vector, point: Vector, spin: Vector, dt: float) -> Vector:
    """Rate, inertial axes, of the frame from the spacecraft to `point`, which turns with `spin`, `dt` seconds on."""
    a, dpoint = _gravity(r), _cross(spin, point)
    r = _sum(_sum(r, dt, v), 0.5 * dt * dt, a)
    v = _sum(v, dt, a)
    point = _sum(_sum(point, dt, dpoint), 0.5 * dt * dt, _cross(spin, dpoint))
    p, dp = _sum(point, -1.0, r), _sum(_cross(spin, point), -1.0, v)
    return _rate(p, dp, v, _gravity(r))


@kernel
def _vector(a: Array) -> Vector:
    return a[0], a[1], a[2]


# ------------------------------------------------------------------ the reference
@kernel
def _turn_into_body(parameters: ReferenceParameters, work: Array, rate_I: Vector, slope_I: Vector, out: Array) -> None:
    """Reference from the frame's axes, the columns of `work`, and its rate and acceleration in inertial axes."""
    f = parameters.q_FB
    from_matrix_kernel(work, out[0:4])
    out[0], out[1], out[2], out[3] = product_xyzw(out[0], out[1], out[2], out[3], f[0], f[1], f[2], f[3])
    x, y, z, w = -out[0], -out[1], -out[2], out[3]
    out[4], out[5], out[6] = rotate_xyz(x, y, z, w, rate_I[0], rate_I[1], rate_I[2])
    out[7], out[8], out[9] = rotate_xyz(x, y, z, w, slope_I[0], slope_I[1], slope_I[2])


@kernel
def _columns(first: Vector, second: Vector, third: Vector, work: Array) -> None:
    for i in range(3):
        work[i, 0], work[i, 1], work[i, 2] = first[i], second[i], third[i]


@kernel
def reference_kernel(
    parameters: ReferenceParameters, r_I: Array, v_I: Array, sun_I: Array, R_IE: Array, work: Array, out: Array
) -> int:
    """Reference `(10,)` of any kind, from position (m), velocity (m/s), direction of the Sun, and `R_IE`.

    `work` is work space `(3, 3)`. What a kind does not need may hold anything.
    """
    p = parameters
    r, v, point, spin = _vector(r_I), _vector(v_I), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    rate, slope = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if p.kind == INERTIAL:
        _columns((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), work)
        _turn_into_body(p, work, rate, slope, out)
        return OK
    primary, secondary = _vector(sun_I), _vector(p.second_I)
    if p.kind == TARGET:
        point = times3(R_IE, p.point_E[0], p.point_E[1], p.point_E[2])
        spin = EARTH_RATE * R_IE[0, 2], EARTH_RATE * R_IE[1, 2], EARTH_RATE * R_IE[2, 2]
    if p.kind != SUN:
        primary, secondary = _sum(point, -1.0, r), v
    first, second, third, usable = _axes(primary, secondary)
    if not usable:
        return NO_DIRECTION
    if p.kind != SUN:
        rate = _orbit_rate(r, v, point, spin, 0.0)
        before, after = _orbit_rate(r, v, point, spin, -DIFFERENCE), _orbit_rate(r, v, point, spin, DIFFERENCE)
        slope = _scaled(0.5 / DIFFERENCE, _sum(after, -1.0, before))
    _columns(first, second, third, work)
    _turn_into_body(p, work, rate, slope, out)
    if p.kind == TARGET and -_dot(first, times3(R_IE, p.up_E[0], p.up_E[1], p.up_E[2])) < p.least_sine:
        return BELOW_HORIZON
    return OK


def geodetic_point(latitude_deg: float, longitude_deg: float, height_m: float = 0.0) -> tuple[Array, Array]:
    """Position `(3,)`, m, and upward normal `(3,)` in Earth-fixed axes of a point on the WGS 84 ellipsoid."""
    latitude = checks.number(latitude_deg, "latitude_deg")
    if abs(latitude) > 90.0:
        raise ValueError(f"latitude_deg must be from -90 to 90, got {latitude}")
    longitude = checks.number(longitude_deg, "longitude_deg")
    if abs(longitude) > 360.0:
        raise ValueError(f"longitude_deg must be from -360 to 360, got {longitude}")
    height = checks.number(height_m, "height_m")
    phi, lam, e2 = math.radians(latitude), math.radians(longitude), FLATTENING * (2.0 - FLATTENING)
    up = np.array([math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)])
    radius = EQUATOR_RADIUS / math.sqrt(1.0 - e2 * math.sin(phi) ** 2)
    return (radius * np.array([1.0, 1.0, 1.0 - e2]) + height) * up, up


def _frame_of_body(axis_B: ArrayLike, second_B: ArrayLike) -> Array:
    """`q_FB` that turns `axis_B` into F's first axis, and `second_B` into the plane of its first and second."""
    first, second = checks.unit_axis(axis_B, "axis_B"), checks.unit_axis(second_B, "second_B")
    third = np.cross(first, second)
    if np.linalg.norm(third) < LEAST_SINE:
        raise ValueError(f"second_B must not be parallel to axis_B, got {second.tolist()} and {first.tolist()}")
    third = third / np.linalg.norm(third)
    return np.array(from_matrix(np.array([first, np.cross(third, first), third])))


class Reference:
    """What the kinds share: a reference from Python."""

    def parameters(self) -> ReferenceParameters:
        """Fresh arrays and numbers for the kernel."""
        raise NotImplementedError

    def at(
        self,
        r_I: ArrayLike = (0.0, 0.0, 0.0),
        v_I: ArrayLike = (0.0, 0.0, 0.0),
        sun_I: ArrayLike = (0.0, 0.0, 0.0),
        R_IE: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    ) -> Array:
        """Reference `(10,)`; give what the kind needs: position (m), velocity (m/s), the Sun's direction, `R_IE`."""
        vectors = [checks.array(v, name, (3,)) for v, name in ((r_I, "r_I"), (v_I, "v_I"), (sun_I, "sun_I"))]
        out = np.zeros(REFERENCE)
        earth, work = checks.array(R_IE, "R_IE", (3, 3)), np.empty((3, 3))
        if reference_kernel(self.parameters(), *vectors, earth, work, out) == NO_DIRECTION:
            raise ValueError(
                f"{type(self).__name__} needs two directions that are not zero or parallel, "
                f"got r_I {vectors[0].tolist()}, v_I {vectors[1].tolist()}, sun_I {vectors[2].tolist()}"
            )
        return out


def _parameters(
    kind: int,
    q_FB: Array,
    second_I: ArrayLike = (0.0, 0.0, 0.0),
    point_E: ArrayLike = (0.0, 0.0, 0.0),
    up_E: ArrayLike = (0.0, 0.0, 0.0),
    least_sine: float = -1.0,
) -> ReferenceParameters:
    return ReferenceParameters(kind, q_FB, np.array(second_I), np.array(point_E), np.array(up_E), least_sine)


@dataclass(frozen=True, kw_only=True, eq=False)
class Inertial(Reference):
    """A fixed attitude `q` `(4,)`, body to inertial."""

    q: ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", checks.unit_quaternion(self.q, "q"))

    def parameters(self) -> ReferenceParameters:
        """Fresh arrays and numbers for the kernel."""
        return _parameters(INERTIAL, np.array(self.q))


@dataclass(frozen=True, kw_only=True, eq=False)
class Nadir(Reference):
    """`axis_B` to the Earth's centre, `second_B` forward; the default axes make it LVLH."""

    axis_B: ArrayLike = (0.0, 0.0, 1.0)
    second_B: ArrayLike = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _frame_of_body(self.axis_B, self.second_B)

    def parameters(self) -> ReferenceParameters:
        """Fresh arrays and numbers for the kernel."""
        return _parameters(NADIR, _frame_of_body(self.axis_B, self.second_B))


@dataclass(frozen=True, kw_only=True, eq=False)
class SunPointing(Reference):
    """`axis_B` to the Sun, `second_B` as near as can be to `second_I`, by default the north pole's direction."""

    axis_B: ArrayLike
    second_B: ArrayLike
    second_I: ArrayLike = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        _frame_of_body(self.axis_B, self.second_B)
        object.__setattr__(self, "second_I", checks.unit_axis(self.second_I, "second_I"))

    def parameters(self) -> ReferenceParameters:
        """Fresh arrays and numbers for the kernel."""
        return _parameters(SUN, _frame_of_body(self.axis_B, self.second_B), second_I=self.second_I)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroundTarget(Reference):
    """`axis_B` to a point on Earth (geodetic, WGS 84), `second_B` forward.

    `elevation_deg` tells how high the spacecraft stands over the point; below `min_elevation_deg` the kernel reports
    `BELOW_HORIZON`.
    """

    latitude_deg: float
    longitude_deg: float
    height_m: float = 0.0
    min_elevation_deg: float = 0.0
    axis_B: ArrayLike = (0.0, 0.0, 1.0)
    second_B: ArrayLike = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _frame_of_body(self.axis_B, self.second_B)
        geodetic_point(self.latitude_deg, self.longitude_deg, self.height_m)
        if abs(checks.number(self.min_elevation_deg, "min_elevation_deg")) > 90.0:
            raise ValueError(f"min_elevation_deg must be from -90 to 90, got {self.min_elevation_deg}")

    def parameters(self) -> ReferenceParameters:
        """Fresh arrays and numbers for the kernel."""
        point, up = geodetic_point(self.latitude_deg, self.longitude_deg, self.height_m)
        sine = math.sin(math.radians(self.min_elevation_deg))
        q_FB = _frame_of_body(self.axis_B, self.second_B)
        return _parameters(TARGET, q_FB, point_E=point, up_E=up, least_sine=sine)

    def elevation_deg(self, r_E: ArrayLike) -> Array:
        """Elevation of the spacecraft over the point's horizon, deg; `r_E` `(N, 3)`, m, Earth-fixed axes."""
        point, up = geodetic_point(self.latitude_deg, self.longitude_deg, self.height_m)
        sight = checks.array(r_E, "r_E", (None, 3)) - point
        across = np.linalg.norm(np.cross(sight, up), axis=1)
        return np.asarray(np.degrees(np.arctan2(sight @ up, across)))


# ------------------------------------------------------------------ slews
class SlewParameters(NamedTuple):
    """What the slew's kernels take: limits in rad/s and rad/s²."""

    max_rate: float
    max_acceleration: float


@kernel
def slew_duration(parameters: SlewParameters, angle: float) -> float:
    """Seconds from rest to rest over `angle`, rad: full acceleration, constant rate if it is reached, and braking."""
    rate, acceleration = parameters.max_rate, parameters.max_acceleration
    if angle * acceleration <= rate * rate:
        return 2.0 * math.sqrt(angle / acceleration)
    return angle / rate + rate / acceleration


@kernel
def _still_to_go(parameters: SlewParameters, angle: float, t: float) -> tuple[float, float, float]:
    """Angle left after `t` seconds of a slew over `angle`, and its first and second derivative."""
    acceleration, duration = parameters.max_acceleration, slew_duration(parameters, angle)
    ramp = min(0.5 * duration, parameters.max_rate / acceleration)
    if t <= 0.0:
        return angle, 0.0, 0.0
    if t < ramp:
        return angle - 0.5 * acceleration * t * t, -acceleration * t, -acceleration
    if t <= duration - ramp:
        return angle - acceleration * ramp * (t - 0.5 * ramp), -acceleration * ramp, 0.0
    left = duration - t
    if left > 0.0:
        return 0.5 * acceleration * left * left, -acceleration * left, acceleration
    return 0.0, 0.0, 0.0


@kernel
def slew_start_kernel(state: Array, q: Array, target: Array, t: float) -> None:
    """Begin a slew at `t` from the attitude `q` to the reference `target` `(10,)`: fills `state` `(5,)`.

    State: unit axis of the offset in the target's axes `[0:3]`, its angle `[3]`, rad, and the start `[4]`, s.
    """
    e1, e2, e3, e4 = product_xyzw(-target[0], -target[1], -target[2], target[3], q[0], q[1], q[2], q[3])
    state[0], state[1], state[2], state[3] = e1, e2, e3, e4
    log_kernel(state[0:4], state[0:3])
    angle = math.sqrt(state[0] * state[0] + state[1] * state[1] + state[2] * state[2])
    k = 1.0 / angle if angle > 0.0 else 0.0
    for i in range(3):
        state[i] *= k
    state[3], state[4] = angle, t


@kernel
def slew_kernel(parameters: SlewParameters, state: Array, target: Array, t: float, out: Array) -> int:
    """Reference `(10,)` at `t` on the way to `target` `(10,)`, which may move; returns 1 under way, 0 when there.

    The offset `exp(e φ)` from the target dies down about its fixed axis `e`; `out` may be `target`.
    """
    left, rate, slope = _still_to_go(parameters, state[3], t - state[4])
    e1, e2, e3 = state[0], state[1], state[2]
    s, c = math.sin(0.5 * left), math.cos(0.5 * left)
    f1, f2, f3 = s * e1, s * e2, s * e3
    q1, q2, q3, q4 = product_xyzw(target[0], target[1], target[2], target[3], f1, f2, f3, c)
    w1, w2, w3 = rotate_xyz(-f1, -f2, -f3, c, target[4], target[5], target[6])
    a1, a2, a3 = rotate_xyz(-f1, -f2, -f3, c, target[7], target[8], target[9])
    out[0], out[1], out[2], out[3] = q1, q2, q3, q4
    out[4], out[5], out[6] = w1 + rate * e1, w2 + rate * e2, w3 + rate * e3
    # d/dt (R(f)ᵀ ω_T) = R(f)ᵀ α_T − φ̇ e × R(f)ᵀ ω_T
    out[7] = a1 + slope * e1 - rate * (e2 * w3 - e3 * w2)
    out[8] = a2 + slope * e2 - rate * (e3 * w1 - e1 * w3)
    out[9] = a3 + slope * e3 - rate * (e1 * w2 - e2 * w1)
    return 1 if t - state[4] < slew_duration(parameters, state[3]) else 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Slew:
    """Eigenaxis slew with limits on rate and acceleration, relative to the reference it goes to."""

    max_rate_deg_s: float
    max_acceleration_deg_s2: float

    def __post_init__(self) -> None:
        checks.positive(self.max_rate_deg_s, "max_rate_deg_s")
        checks.positive(self.max_acceleration_deg_s2, "max_acceleration_deg_s2")

    def parameters(self) -> SlewParameters:
        """Numbers for the kernels, SI units."""
        return SlewParameters(math.radians(self.max_rate_deg_s), math.radians(self.max_acceleration_deg_s2))

    def start(self, q: ArrayLike, target: ArrayLike, t: float) -> Array:
        """State `(5,)` of a slew that begins at `t` from the attitude `q` to the reference `target` `(10,)`."""
        state, aim = np.zeros(5), checks.array(target, "target", (REFERENCE,))
        slew_start_kernel(state, checks.unit_quaternion(q, "q"), aim, checks.number(t, "t"))
        return state

    def at(self, state: Array, target: ArrayLike, t: float) -> Array:
        """Reference `(10,)` at `t`, `target` `(10,)` being that of the same instant."""
        out, aim = np.empty(REFERENCE), checks.array(target, "target", (REFERENCE,))
        slew_kernel(self.parameters(), state, aim, checks.number(t, "t"), out)
        return out

    def duration(self, angle_deg: float) -> float:
        """Seconds a slew over `angle_deg` takes."""
        return float(slew_duration(self.parameters(), math.radians(checks.not_negative(angle_deg, "angle_deg"))))


@on_warm_up
def _warm_up() -> None:
    target = Inertial(q=[0.0, 0.0, 0.0, 1.0]).at()
    slew = Slew(max_rate_deg_s=1.0, max_acceleration_deg_s2=1.0)
    slew.at(slew.start([0.0, 0.0, 0.0, 1.0], target, 0.0), target, 0.0)
    slew.duration(1.0)
