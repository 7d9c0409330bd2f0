"""References: axes against geometry, rates and accelerations against differences of the attitude, slews and limits."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from attitude.control import guidance as module
from attitude.control.guidance import GM_EARTH, GroundTarget, Inertial, Nadir, Slew, SunPointing, geodetic_point
from attitude.core import quaternion

START = np.array([6.9e6, 0.0, 0.0, 100.0, 4600.0, 6100.0])  # m, m/s: slightly eccentric, inclined by 53°
EARTH_RATE = 7.292115e-5


def orbit(t):
    """Position and velocity of the two-body orbit by DOP853, m and m/s."""
    if t == 0.0:
        return START[:3], START[3:]
    y = solve_ivp(
        lambda _, y: np.concatenate([y[3:], -GM_EARTH * y[:3] / np.linalg.norm(y[:3]) ** 3]),
        (0.0, t), START, "DOP853", rtol=1e-13, atol=1e-6,
    ).y[:, -1]  # fmt: skip
    return y[:3], y[3:]


def earth(t):
    return Rotation.from_rotvec([0.0, 0.0, 0.3 + EARTH_RATE * t]).as_matrix()


def axes(reference):
    return Rotation.from_quat(reference[:4]).as_matrix()


def checked_rates(at, t, h, rate_tolerance, acceleration_tolerance):
    """Rate and acceleration of a reference against central differences of its own attitude and rate."""
    before, now, after = at(t - h), at(t), at(t + h)
    turn = Rotation.from_quat(before[:4]).inv() * Rotation.from_quat(after[:4])
    assert now[4:7] == pytest.approx(turn.as_rotvec() / (2 * h), abs=rate_tolerance)
    assert now[7:] == pytest.approx((after[4:7] - before[4:7]) / (2 * h), abs=acceleration_tolerance)
    return now


def test_inertial():
    q = quaternion.exp([0.3, -0.2, 1.0])
    assert Inertial(q=q).at() == pytest.approx(np.concatenate([q, np.zeros(6)]), abs=1e-15)


def test_nadir_is_lvlh():
    r, v = orbit(700.0)
    R = axes(Nadir().at(r, v))
    normal = np.cross(r, v) / np.linalg.norm(np.cross(r, v))
    assert R[:, 2] == pytest.approx(-r / np.linalg.norm(r), abs=1e-14)
    assert R[:, 1] == pytest.approx(-normal, abs=1e-14)
    assert R[:, 0] == pytest.approx(np.cross(normal, r) / np.linalg.norm(r), abs=1e-14)


def test_nadir_rate_and_acceleration():
    # differences over 1 s: third derivatives 1e-12 rad/s³; 1e-14 rad of rounding over 2 s
    now = checked_rates(lambda t: Nadir().at(*orbit(t)), 700.0, 1.0, 1e-11, 1e-12)
    r, v = orbit(700.0)
    h = np.linalg.norm(np.cross(r, v))
    assert now[4:7] == pytest.approx([0.0, -h / (r @ r), 0.0], abs=1e-15)
    assert now[7:] == pytest.approx([0.0, 2.0 * (r @ v) * h / (r @ r) ** 2, 0.0], abs=1e-12)


def test_nadir_with_other_axes():
    r, v = orbit(100.0)
    R = axes(Nadir(axis_B=[0, -2, 0], second_B=[1, 5, 0]).at(r, v))
    assert -R[:, 1] == pytest.approx(-r / np.linalg.norm(r), abs=1e-14)
    assert R[:, 0] @ v > 0.9 * np.linalg.norm(v)


def test_sun():
    sun = np.array([0.3, -0.8, 0.2])
    reference = SunPointing(axis_B=[1, 0, 0], second_B=[0, 0, 1]).at(sun_I=sun)
    R = axes(reference)
    assert R[:, 0] == pytest.approx(sun / np.linalg.norm(sun), abs=1e-14)
    assert R[:, 1] @ [0, 0, 1] == pytest.approx(0.0, abs=1e-14)
    assert R[2, 2] > 0.0
    assert np.array_equal(reference[4:], np.zeros(6))


def test_points_on_the_ellipsoid():
    # the polar radius of WGS 84 as published, and a + h on the equator
    assert geodetic_point(90.0, 0.0)[0] == pytest.approx([0.0, 0.0, 6356752.3142], abs=1e-4)
    assert geodetic_point(0.0, 90.0, 100.0)[0] == pytest.approx([0.0, 6378237.0, 0.0], abs=1e-6)
    point, up = geodetic_point(52.0, 13.0, 0.0)
    a, b = 6378137.0, 6356752.3142
    assert (point[:2] @ point[:2]) / a**2 + point[2] ** 2 / b**2 == pytest.approx(1.0, abs=1e-10)
    gradient = point / np.array([a, a, b]) ** 2
    assert up == pytest.approx(gradient / np.linalg.norm(gradient), abs=1e-10)


def pass_over_target():
    """A target 3° off the ground track at t = 600 s."""
    r, _ = orbit(600.0)
    x, y, z = earth(600.0).T @ r
    return GroundTarget(
        latitude_deg=math.degrees(math.atan2(z, math.hypot(x, y))) + 3.0, longitude_deg=math.degrees(math.atan2(y, x))
    )


def test_ground_target_is_looked_at():
    target, (r, v) = pass_over_target(), orbit(580.0)
    R = axes(target.at(r, v, R_IE=earth(580.0)))
    sight = earth(580.0) @ geodetic_point(target.latitude_deg, target.longitude_deg)[0] - r
    assert R[:, 2] == pytest.approx(sight / np.linalg.norm(sight), abs=1e-13)
    assert R[:, 1] @ v == pytest.approx(0.0, abs=1e-9)
    assert R[:, 0] @ v > 0.0


@pytest.mark.parametrize("t", [560.0, 600.0, 640.0])
def test_ground_target_rate_and_acceleration(t):
    target = pass_over_target()
    # differences over 0.05 s are right to ω̈ h²/6, ω̈ up to 2.5e-6 rad/s³; our own acceleration to 1e-10 rad/s²
    now = checked_rates(lambda s: target.at(*orbit(s), R_IE=earth(s)), t, 0.05, 2e-9, 2e-10)
    assert np.linalg.norm(now[4:7]) > 5e-3  # rad/s: a pass at 500 km is no slow thing


def test_ground_target_elevation():
    target, states, out = pass_over_target(), [orbit(t) for t in (600.0, 1500.0)], np.zeros(10)
    rotated = np.array([earth(t).T @ r for t, (r, _) in zip((600.0, 1500.0), states, strict=True)])
    elevation = target.elevation_deg(rotated)
    assert elevation[0] > 45.0
    assert elevation[1] < 0.0
    for t, (r, v), status in zip((600.0, 1500.0), states, (module.OK, module.BELOW_HORIZON), strict=True):
        assert module.reference_kernel(
            target.parameters(), r, v, np.zeros(3), earth(t), np.empty((3, 3)), out
        ) == status  # fmt: skip
    overhead = GroundTarget(latitude_deg=0.0, longitude_deg=0.0)
    assert overhead.elevation_deg([[7e6, 0, 0], [6378137.0, 1e5, 0]]) == pytest.approx([90.0, 0.0], abs=1e-9)


# ------------------------------------------------------------------ slews
@pytest.mark.parametrize("angle_deg", [2.0, 150.0])  # without and with a phase of constant rate
@pytest.mark.parametrize("moving", [False, True])
def test_slew_keeps_its_limits_and_arrives(angle_deg, moving):
    slew = Slew(max_rate_deg_s=1.0, max_acceleration_deg_s2=0.1)

    def target(t):
        return Nadir().at(*orbit(t)) if moving else Inertial(q=[0.0, 0.0, 0.0, 1.0]).at()

    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    q0 = quaternion.product(target(0.0)[:4], quaternion.exp(math.radians(angle_deg) * axis))
    state = slew.start(q0, target(10.0) if not moving else target(0.0), 10.0)
    T = slew.duration(angle_deg)
    # bang-bang: 2 √(θ/α); with a plateau θ/ω + ω/α
    assert pytest.approx({2.0: 2 * math.sqrt(20.0), 150.0: 160.0}[angle_deg], rel=1e-12) == T
    at = lambda t: slew.at(state, target(t - 10.0), t)  # noqa: E731
    assert quaternion.angle_between(at(10.0)[:4], q0) < 1e-12
    assert at(10.0 + T) == pytest.approx(target(T), abs=1e-12)
    for t in 10.0 + T * np.linspace(0.013, 0.987, 10):  # on no corner of the profile
        now = checked_rates(at, t, 1e-3, 1e-9, 1e-9)
        own = now[4:7] - Rotation.from_quat(now[:4]).inv().apply(
            Rotation.from_quat(target(t - 10.0)[:4]).apply(target(t - 10.0)[4:7])
        )
        assert np.degrees(np.linalg.norm(own)) <= 1.0 + 1e-12
        if not moving:
            assert np.degrees(np.linalg.norm(now[7:])) <= 0.1 + 1e-12
            assert np.cross(now[4:7], axis) == pytest.approx(np.zeros(3), abs=1e-15)  # about the eigenaxis


def test_slew_takes_the_shorter_way_whatever_the_signs():
    slew, target = Slew(max_rate_deg_s=1.0, max_acceleration_deg_s2=0.1), Inertial(q=[0.0, 0.0, 0.0, 1.0]).at()
    for q in (quaternion.exp([0.0, 0.0, 0.5]), -quaternion.exp([0.0, 0.0, 0.5])):
        assert slew.start(q, target, 0.0) == pytest.approx([0.0, 0.0, 1.0, 0.5, 0.0], abs=1e-14)


def test_slew_says_when_it_is_there():
    slew, out = Slew(max_rate_deg_s=1.0, max_acceleration_deg_s2=1.0), np.empty(10)
    target = Inertial(q=[0.0, 0.0, 0.0, 1.0]).at()
    state = slew.start(quaternion.exp([math.radians(5.0), 0.0, 0.0]), target, 0.0)  # 6 s
    under_way = [module.slew_kernel(slew.parameters(), state, target, t, out) for t in (0.0, 5.9, 6.1)]
    assert under_way == [1, 1, 0]
    nothing = slew.start([0.0, 0.0, 0.0, 1.0], target, 0.0)
    assert module.slew_kernel(slew.parameters(), nothing, target, 0.0, out) == 0
    assert np.array_equal(out, target)


# ------------------------------------------------------------------ the door
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Inertial(q=[0, 0, 0, 0]), "q must"),
        (lambda: Nadir(axis_B=[0, 0, 0]), "axis_B"),
        (lambda: Nadir(axis_B=[0, 0, 1], second_B=[0, 0, -2]), "second_B must not be parallel"),
        (lambda: SunPointing(axis_B=[1, 0, 0], second_B=[0, 1, 0], second_I=[0, 0, 0]), "second_I"),
        (lambda: GroundTarget(latitude_deg=91.0, longitude_deg=0.0), "latitude_deg"),
        (lambda: GroundTarget(latitude_deg=0.0, longitude_deg=400.0), "longitude_deg"),
        (lambda: GroundTarget(latitude_deg=0.0, longitude_deg=0.0, height_m=math.nan), "height_m"),
        (lambda: GroundTarget(latitude_deg=0.0, longitude_deg=0.0, min_elevation_deg=91.0), "min_elevation_deg"),
        (lambda: Slew(max_rate_deg_s=0.0, max_acceleration_deg_s2=1.0), "max_rate_deg_s"),
        (lambda: Slew(max_rate_deg_s=1.0, max_acceleration_deg_s2=-1.0), "max_acceleration_deg_s2"),
        (lambda: Nadir().at([7e6, 0, 0], [1e3, 0, 0]), "Nadir needs two directions"),
        (lambda: Nadir().at(), "Nadir needs two directions"),
        (lambda: SunPointing(axis_B=[1, 0, 0], second_B=[0, 1, 0]).at(sun_I=[0, 0, 1]), "SunPointing needs"),
        (lambda: Nadir().at([7e6, 0]), "r_I"),
    ],
)
def test_bad_input_names_the_field(make, name):
    with pytest.raises(ValueError, match=name):
        make()


def test_one_signature():
    kinds = [Inertial(q=[0, 0, 0, 1]), Nadir(), SunPointing(axis_B=[1, 0, 0], second_B=[0, 1, 0]), pass_over_target()]
    for kind in kinds:
        kind.at([7e6, 0, 0], [0, 7e3, 0], [1, 0, 0])
    assert len(module.reference_kernel.signatures) == 1
