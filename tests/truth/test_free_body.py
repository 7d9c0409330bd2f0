"""Free rigid body: against Taylor series of sixty digits, SciPy's integrators and special functions, and its laws."""

from __future__ import annotations

import dataclasses
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipkm1

from attitude.core import quaternion as qn
from attitude.truth.free_body import FreeBody, free_motion

Q0 = np.array([0.1, -0.3, 0.5, np.sqrt(0.65)])
FULL = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 0.9]])
EQUAL = np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])  # moments 1, 1, 4, axes not along x, y, z
EDGE = np.sqrt(1.5)  # with moments 1, 2, 3 and ω = [EDGE, 0, 1]: m = ½, where the series change
ROUNDOFF = 3e-15  # rad, and of |ω|: some ten roundings; the largest seen in a hundred cases is 1.2e-15

# name: inertia, omega. Moments 3, 4, 6 with ω = [±2, any, ±1] lie on the separatrix exactly, also in float64.
CASES = {
    "about the largest axis": (np.diag([1.0, 2.0, 2.9]), [np.pi / 10, -np.pi / 5, np.pi / 6]),
    "about the smallest axis": (np.diag([1.0, 2.0, 2.9]), [np.pi / 4, -np.pi / 5, np.pi / 6]),
    "full inertia": (FULL, [0.3, 0.2, 0.9]),
    "axes in falling order": (np.diag([3.0, 2.0, 1.0]), [-0.4, 0.5, -0.9]),
    "no such mass distribution": (np.diag([1.0, 2.0, 9.0]), [0.3, -0.4, 0.2]),
    "below the change of series": (np.diag([1.0, 2.0, 3.0]), [EDGE * (1 - 1e-12), 0.0, 1.0]),
    "above the change of series": (np.diag([1.0, 2.0, 3.0]), [EDGE * (1 + 1e-12), 0.0, 1.0]),
    "1e-6 outside the separatrix": (np.diag([3.0, 4.0, 6.0]), [2 - 2e-6, 0.7, 1.0]),
    "1e-6 inside the separatrix": (np.diag([3.0, 4.0, 6.0]), [2 + 2e-6, 0.7, 1.0]),
    "1e-13 inside the separatrix": (np.diag([3.0, 4.0, 6.0]), [2 + 2e-13, -0.7, 1.0]),
    "on the separatrix": (np.diag([3.0, 4.0, 6.0]), [2.0, -3.0, 1.0]),
    "on the separatrix, other branch": (np.diag([3.0, 4.0, 6.0]), [-2.0, -3.0, 1.0]),
    "on the separatrix, half way": (np.diag([3.0, 4.0, 6.0]), [2.0, 0.0, -1.0]),
    "rod": (np.diag([0.5, 2.0, 2.0]), [0.7, 0.3, -0.4]),
    "plate": (np.diag([1.0, 1.0, 1.7]), [0.7, 0.3, -0.4]),
    "plate, slanted": (EQUAL, [0.7, 0.3, -0.4]),
    "plate, across": (EQUAL, [1.0, -1.0, 0.0]),
    "plate, across another way": (EQUAL, [1.0, -2.0, 1.0]),
    "plate, about its slanted axis only": (EQUAL, [0.7, 0.7, 0.7]),
    "nearly a rod": (np.diag([0.5, 2.0, 2.0 + 1e-12]), [0.7, 0.3, -0.4]),
    "nearly a rod, across": (np.diag([0.5, 2.0, 2.0 + 1e-8]), [1e-9, 0.3, -0.4]),
    "nearly a plate": (np.diag([1.0, 1.0 + 1e-12, 1.7]), [0.7, 0.3, -0.4]),
    "nearly a plate, across": (np.diag([1.0, 1.0 + 1e-8, 1.7]), [0.7, 0.3, 1e-9]),
    "sphere": (2.0 * np.eye(3), [0.7, 0.3, -0.4]),
    "nearly a sphere": (np.diag([1.0, 1.0 + 1e-12, 1.0 + 3e-12]), [0.7, 0.3, -0.4]),
    "about the smallest axis only": (np.diag([1.0, 2.0, 3.0]), [-1.1, 0.0, 0.0]),
    "about the middle axis only": (np.diag([1.0, 2.0, 3.0]), [0.0, -1.1, 0.0]),
    "about the largest axis only": (np.diag([1.0, 2.0, 3.0]), [0.0, 0.0, -1.1]),
    "nearly about the middle axis": (np.diag([1.0, 2.0, 3.0]), [1e-9, 1.1, -2e-9]),
    "next to nothing off the middle axis": (np.diag([1.0, 2.0, 3.0]), [1e-150, 1.1, 0.0]),
    "nearly about the largest axis": (np.diag([1.0, 2.0, 3.0]), [1e-9, -2e-9, 1.1]),
    "at rest": (np.diag([1.0, 2.0, 3.0]), [0.0, 0.0, 0.0]),
    "almost at rest": (np.diag([1.0, 2.0, 3.0]), [3e-150, 1e-150, -2e-150]),
    "very small body": (1e-9 * FULL, [0.3, 0.2, 0.9]),
}
each_case = pytest.mark.parametrize(("inertia", "omega"), CASES.values(), ids=CASES.keys())


# ------------------------------------------------------------------ references
def _inverse(a):
    def cofactor(i, j):
        p, q, r, s = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        return a[p][r] * a[q][s] - a[p][s] * a[q][r]

    determinant = sum(a[0][j] * cofactor(0, j) for j in range(3))
    return [[cofactor(j, i) / determinant for j in range(3)] for i in range(3)]


def _convolve(a, b):
    return sum((x * y for x, y in zip(a, reversed(b), strict=True)), Decimal(0))


def _series(J, momentum, q, order):
    """Taylor coefficients of the body momentum and the quaternion from `L̇ = L × ω`, `q̇ = ½ q ⊗ ω`, `ω = J L`."""
    L, Q, w = [[x] for x in momentum], [[x] for x in q], [[], [], []]
    for k in range(order):
        for i in range(3):
            w[i].append(sum(J[i][j] * L[j][k] for j in range(3)))
        (a, b, c), (x, y, z, s), (u, v, r) = [list(map(list, group)) for group in (L, Q, w)]
        turned = (
            _convolve(b, r) - _convolve(c, v),
            _convolve(c, u) - _convolve(a, r),
            _convolve(a, v) - _convolve(b, u),
        )
        moved = (
            _convolve(s, u) + _convolve(y, r) - _convolve(z, v),
            _convolve(s, v) + _convolve(z, u) - _convolve(x, r),
            _convolve(s, r) + _convolve(x, v) - _convolve(y, u),
            -_convolve(x, u) - _convolve(y, v) - _convolve(z, r),
        )
        for row, value in zip(L + Q, (*turned, *(m / 2 for m in moved)), strict=True):
            row.append(value / (k + 1))
    return L, Q


def _horner(row, h):
    value = Decimal(0)
    for coefficient in reversed(row):
        value = value * h + coefficient
    return value


def taylor(inertia, q, omega, t, order=50, step=1.0):
    """Attitude and rate at `t` in 60-digit decimals; a step turns by at most `step` rad. Knows no principal axes."""
    with localcontext(prec=60):
        inertia = [[Decimal(float(x)) for x in row] for row in inertia]
        J, w = _inverse(inertia), [Decimal(float(x)) for x in omega]
        L, q = [sum(a * b for a, b in zip(row, w, strict=True)) for row in inertia], [Decimal(float(x)) for x in q]
        norm = sum(x * x for x in q).sqrt()
        q, tail = [x / norm for x in q], Decimal(0)
        fastest = sum(x * x for x in L).sqrt() * max(sum(map(abs, row)) for row in J)
        steps = int(abs(t) * float(fastest) / step) + 1
        h = Decimal(float(t)) / steps
        for _ in range(steps):
            rows_L, rows_q = _series(J, L, q, order)
            tail = max(tail, *(abs(row[-1] * h**order) for row in rows_q))
            L, q = [_horner(row, h) for row in rows_L], [_horner(row, h) for row in rows_q]
        assert tail < Decimal("1e-25")  # the series has converged, so the reference is exact for our purpose
        return q, [sum(a * b for a, b in zip(row, L, strict=True)) for row in J]


def distance(ours, reference):
    """Norm of `ours − reference`, subtracted before rounding."""
    return np.linalg.norm([float(Decimal(float(a)) - b) for a, b in zip(ours, reference, strict=True)])


def dop853(inertia, q, omega, t):
    """Attitude and rate at `t` by SciPy, and how many steps it took."""
    inverse = np.linalg.inv(inertia)

    def rhs(_, x):
        u, v, r = x[4:].tolist()
        a, b, c = (inertia @ x[4:]).tolist()
        turned = inverse @ np.array([b * r - c * v, c * u - a * r, a * v - b * u])
        x, y, z, s = x[:4].tolist()
        moved = (s * u + y * r - z * v, s * v + z * u - x * r, s * r + x * v - y * u, -x * u - y * v - z * r)
        return np.concatenate([0.5 * np.array(moved), turned])

    run = solve_ivp(rhs, (0.0, t), np.concatenate([q, omega]), method="DOP853", rtol=1e-13, atol=1e-15)
    return run.y[:4, -1], run.y[4:, -1], len(run.t)


def sensitivity(inertia, q, omega, t, relative=1e-7):
    """Change of attitude and rate per relative change of the initial rate, by differences of the exact motion."""
    reference = FreeBody(inertia, q, omega).at(t)
    largest = 1.0
    for kick in np.eye(3) * np.linalg.norm(omega) * relative:
        kicked = FreeBody(inertia, q, omega + kick).at(t)
        change = qn.angle_between(reference[0], kicked[0]) + np.linalg.norm(reference[1] - kicked[1])
        largest = max(largest, float(np.max(change)) / relative)
    return largest


# ------------------------------------------------------------------ accuracy
# Printed by `taylor(..., order=50)` above with 60 digits; rerun with 80 digits, order 60 and a smaller step, the first
# agrees to 46 digits. The second is a hundred polhode periods at 1e-6 from the separatrix, the third 134 periods.
LONG = [
    (np.diag([1.0, 2.0, 2.9]), [0.0, 0.0, 0.0, 1.0], [np.pi / 4, -np.pi / 5, np.pi / 6], 40.0,
     "0.7629799139652074110656581 0.0726124238476558341718369 -0.2857802378086357223783729 0.5752553715235110196161165",
     "0.1337364161188340015008366 1.0134223437921203462304454 0.2113462349729529779003512"),
    (np.diag([3.0, 4.0, 6.0]), Q0, [2 * (1 + 1e-6), 0.7, 1.0], 4300.0,
     "-0.45688041352221431666 0.57354511936057944711 0.22465611631552596158 -0.64174442981568136888",
     "0.34765801674644607592 2.20318738225336112575 0.17382325549539742059"),
    (FULL, Q0, [0.3, 0.2, 0.9], 2000.0,
     "-0.47723704437438323647 -0.10301426534287435210 -0.46772813567842207886 0.73679254590926639544",
     "0.19489550201354947544 -0.69260430768397767479 0.62742514539538781233"),
]  # fmt: skip


@pytest.mark.parametrize(("inertia", "q0", "omega0", "t", "q_ref", "omega_ref"), LONG)
def test_long_motion_matches_sixty_digit_reference(inertia, q0, omega0, t, q_ref, omega_ref):
    q, omega = free_motion(inertia, q0, omega0, t)
    assert 2.0 * distance(q, map(Decimal, q_ref.split())) < ROUNDOFF  # sign included: continuous from q0
    assert distance(omega, map(Decimal, omega_ref.split())) < ROUNDOFF * np.linalg.norm(omega0)


@each_case
@pytest.mark.parametrize("t", [-2.3, 9.1])
def test_every_kind_of_motion_matches_sixty_digit_series(inertia, omega, t):
    q_ref, omega_ref = taylor(inertia, Q0, omega, t)
    q, rate = FreeBody(inertia, Q0, omega).at(t)
    assert 2.0 * distance(q, q_ref) < ROUNDOFF
    assert distance(rate, omega_ref) <= ROUNDOFF * np.linalg.norm(omega)


moments = st.tuples(*[st.floats(0.3, 3.0)] * 3)
rates = st.tuples(*[st.floats(-1.5, 1.5)] * 3)
quaternions = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


def _body(diagonal, axes):
    R = qn.to_matrix(qn.normalise(axes))
    inertia = R @ np.diag(diagonal) @ R.T
    return 0.5 * (inertia + inertia.T)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(diagonal=moments, axes=quaternions, q=quaternions, omega=rates, t=st.floats(0.1, 12.0))
@example(diagonal=(1.0, 1.0, 2.0), axes=(0.1, 0.2, 0.3, 0.9), q=(0.0, 0.0, 0.0, 1.0), omega=(0.5, -0.4, 0.3), t=10.0)
@example(diagonal=(1.0, 2.0, 2.0), axes=(0.1, 0.2, 0.3, 0.9), q=(0.0, 0.0, 0.0, 1.0), omega=(0.5, -0.4, 0.3), t=10.0)
def test_random_bodies_match_dop853(diagonal, axes, q, omega, t):
    inertia, q = _body(diagonal, axes), qn.normalise(q)
    assume(np.linalg.norm(omega) > 1e-3)
    ours, (q_ref, omega_ref, steps) = free_motion(inertia, q, omega, t), dop853(inertia, q, omega, t)
    # DOP853 stays well within rtol = 1e-13 in a step; what it does err is amplified as the motion demands
    tolerance = 1e-14 * steps * sensitivity(inertia, q, omega, t)
    assert qn.angle_between(ours[0], qn.normalise(q_ref)) < tolerance
    assert np.linalg.norm(ours[1] - omega_ref) < tolerance


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_hundred_periods_match_dop853(seed):
    rng = np.random.default_rng(seed)
    inertia, omega = _body(rng.uniform(0.5, 3.0, 3), rng.normal(size=4)), rng.normal(size=3)
    t = 100.0 * FreeBody(inertia, Q0, omega).period
    (q, rate), (q_ref, omega_ref, _) = free_motion(inertia, Q0, omega, t), dop853(inertia, Q0, omega, t)
    assert qn.angle_between(q, qn.normalise(q_ref)) < 1e-9  # rad; DOP853's own error over 1e4 steps, up to 5e-10
    assert np.linalg.norm(rate - omega_ref) < 1e-9


# ------------------------------------------------------------------ laws
TIMES = np.concatenate([np.linspace(-30.0, 30.0, 61), [-1e9, 12345.678, 1e6, 1e9]])


@each_case
def test_momentum_energy_and_norm_are_conserved_at_all_times(inertia, omega):
    body = FreeBody(inertia, Q0, omega)
    q, rate = body.at(TIMES)
    size = max(np.linalg.norm(body.momentum_I), np.finfo(float).tiny)
    momentum = qn.rotate(q, rate @ inertia)
    assert np.max(np.abs(momentum - body.momentum_I)) <= ROUNDOFF * size
    assert np.max(np.abs(0.5 * np.sum(rate @ inertia * rate, axis=-1) - body.energy)) <= ROUNDOFF * body.energy
    assert np.max(np.abs(np.linalg.norm(q, axis=-1) - 1.0)) < 1e-15


@each_case
def test_quaternion_is_continuous_and_its_derivative_is_the_rate(inertia, omega):
    body = FreeBody(inertia, Q0, omega)
    h = 1.0 / 64.0  # a power of two: the times themselves are not rounded
    q, rate = body.at(h * np.arange(6000))
    assert np.min(np.sum(q[1:] * q[:-1], axis=-1)) > 0.999  # never jumps to −q; |ω| h < 0.06
    weights = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]) / h  # order 8
    slope = sum(w * q[i : len(q) - 8 + i] for i, w in enumerate(weights))
    spin = 2.0 * qn.product(qn.conjugate(q[4:-4]), slope)[..., :3]
    # truncation 2 h⁸ |q⁽⁹⁾|/630: 8e-13 in the fastest flip; roundoff of q, 1e-15, times 2 Σ|weights| = 4.2/h: 3e-13
    assert np.max(np.abs(spin - rate[4:-4])) < 1.2e-12


@each_case
def test_start_and_time_reversal(inertia, omega):
    body = FreeBody(inertia, Q0, omega)
    q, rate = body.at(0.0)
    assert 2.0 * np.linalg.norm(q - Q0) < ROUNDOFF
    assert np.linalg.norm(rate - omega) <= ROUNDOFF * np.linalg.norm(omega)
    t = np.linspace(-7.0, 7.0, 15)
    backward = FreeBody(inertia, Q0, -np.asarray(omega)).at(t)
    forward = body.at(-t)
    assert 2.0 * np.max(np.linalg.norm(backward[0] - forward[0], axis=-1)) < 2 * ROUNDOFF
    assert np.max(np.abs(backward[1] + forward[1])) <= 2 * ROUNDOFF * np.linalg.norm(omega)


@each_case
def test_composition(inertia, omega):
    t1, t2 = 4.7, np.array([-4.7, -1.0, 3.1, 11.0])
    body = FreeBody(inertia, Q0, omega)
    q, rate = FreeBody(inertia, *body.at(t1)).at(t2)
    q_ref, rate_ref = body.at(t1 + t2)
    # the restart rounds the state; from there the error grows as the motion itself demands
    tolerance = ROUNDOFF * (1.0 + sensitivity(inertia, *body.at(t1), t2)) if body.energy > 1e-100 else ROUNDOFF
    assert np.max(qn.angle_between(q, q_ref)) < tolerance
    assert np.max(np.abs(rate - rate_ref)) < tolerance


def test_inertial_turn_and_change_of_body_axes_are_symmetries():
    inertia, omega, t = FULL, np.array([0.3, 0.2, 0.9]), np.linspace(0.0, 20.0, 9)
    turn = qn.normalise([0.3, -0.2, 0.8, 0.1])
    R = qn.to_matrix(turn)
    q, rate = free_motion(inertia, Q0, omega, t)
    q_turned, _ = free_motion(inertia, qn.product(turn, Q0), omega, t)
    q_body, rate_body = free_motion(R.T @ inertia @ R, qn.product(Q0, turn), R.T @ omega, t)
    assert np.max(qn.angle_between(q_turned, qn.product(turn, q))) < ROUNDOFF
    # rotating the tensor rounds it by 1e-16, and 20 s of this motion amplify that by about 50
    assert np.max(qn.angle_between(q_body, qn.product(q, turn))) < 5e-14
    assert np.max(np.abs(rate_body - rate @ R)) < 5e-14


# ------------------------------------------------------------------ closed forms
def test_plate_matches_two_steady_turns_for_a_billion_seconds():
    # L = [1, 2, 2], |L| = 3: precession 3/2 rad/s about L, spin ω_3 (1 − I_3/I_1) = 1 rad/s; both angles exact floats
    t = np.array([0.0, 1.0, -17.25, 1e3, 1e6 + 0.5, 1e9])
    precession = qn.exp(np.outer(np.remainder(1.5 * t, 4 * np.pi), [1 / 3, 2 / 3, 2 / 3])[:4])
    spin = qn.exp(np.outer(t[:4], [0.0, 0.0, 1.0]))
    q, _ = free_motion(np.diag([2.0, 2.0, 1.0]), [0.0, 0.0, 0.0, 1.0], [0.5, 1.0, 2.0], t)
    assert np.max(qn.angle_between(q[:4], qn.product(precession, spin))) < 1e-12  # the remainder above costs 1e3 ulp
    half = 0.75 * t  # sines of large floats are exact in the library, so build the quaternions without a remainder
    s, c = np.sin(half)[:, None], np.cos(half)[:, None]
    precession = np.hstack([s / 3, 2 * s / 3, 2 * s / 3, c])
    spin = np.stack([0 * t, 0 * t, np.sin(0.5 * t), np.cos(0.5 * t)], axis=-1)
    assert 2.0 * np.max(np.linalg.norm(q - qn.product(precession, spin), axis=-1)) < ROUNDOFF


@pytest.mark.parametrize("inertia", [2.0 * np.eye(3), np.diag([1.0, 2.0, 3.0])])
def test_steady_rotation_for_ten_billion_turns(inertia):
    t = np.array([0.0, -3.7, 1e5, 1e10])
    q, rate = free_motion(inertia, [0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0], t)
    assert np.max(np.abs(q - np.stack([0 * t, np.sin(t / 2), 0 * t, np.cos(t / 2)], axis=-1))) < 1e-15
    assert np.array_equal(rate, np.broadcast_to([0.0, 1.0, 0.0], (4, 3)))


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("triple", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 3)])
def test_equal_moments_are_the_limit_of_nearly_equal_ones(gap, triple):
    base = np.array([1.0, 1.0, 1.0]) if triple == (1, 2, 3) else np.array([1.0, 1.0, 1.0]) + np.roll([0, 0.7, 0], 1)
    omega, t = [0.7, 0.3, -0.4], np.linspace(0.0, 20.0, 11)
    limit = free_motion(np.diag(base), Q0, omega, t)
    near = free_motion(np.diag(base + gap * np.array(triple)), Q0, omega, t)
    assert np.max(qn.angle_between(near[0], limit[0])) < 100.0 * gap + ROUNDOFF  # at most ~ |triple| |ω|² t² gap / 4


def test_separatrix_is_tanh_and_sech():
    inertia, omega = np.diag([3.0, 4.0, 6.0]), np.array([2.0, -1.0, 1.0])
    body, t = FreeBody(inertia, Q0, omega), np.linspace(-40.0, 40.0, 81)
    assert body.period == float("inf")
    # ω_2 = w tanh(λt + u_0), I_2 w = |L|, λ = w √((I_2 − I_1)(I_3 − I_2)/(I_1 I_3)); rising, as ω̇_2 ∝ ω_3 ω_1
    w = np.linalg.norm(inertia @ omega) / 4.0
    u = w * np.sqrt(1.0 * 2.0 / 18.0) * t + np.arctanh(omega[1] / w)
    sech = np.sqrt(w**2 - 1.0) / w
    expected = np.stack([2.0 / sech / np.cosh(u), w * np.tanh(u), 1.0 / sech / np.cosh(u)], axis=-1)
    assert np.max(np.abs(body.at(t)[1] - expected)) < 2e-14  # the phase of `expected` is rounded at |u| = 30


@pytest.mark.parametrize("omega", [[0.3, 0.4, 0.9], [0.3, 0.8, -0.5], [0.1, 1.0, 0.12]])
def test_rate_and_period_match_landau_lifshitz(omega):
    """Landau and Lifshitz, Mechanics, 1976, eqs. 37.8-37.12, with SciPy's functions; they need M² > 2 E I_2."""
    I1, I2, I3 = 1.0, 2.0, 3.5
    body = FreeBody(np.diag([I1, I2, I3]), Q0, omega)
    M2, E2 = np.sum((body.inertia @ body.omega) ** 2), 2.0 * body.energy
    assert M2 > E2 * I2
    scale = np.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    m1 = (I3 - I1) * (M2 - E2 * I2) / ((I3 - I2) * (M2 - E2 * I1))
    assert body.period == pytest.approx(4.0 * ellipkm1(m1) / scale, rel=1e-13)  # cancellation in m1 above: 100 ulp
    t = np.linspace(0.0, 3.0 * body.period, 31)
    # the book starts at ω_2 = 0, ω_1, ω_3 > 0: find that moment on our motion, and turn the axes to these signs
    rate = body.at(t + _crossing(body))[1]
    sn, cn, dn, _ = ellipj(scale * t, 1.0 - m1)
    book = np.stack([
        np.sqrt((E2 * I3 - M2) / (I1 * (I3 - I1))) * cn,
        np.sqrt((E2 * I3 - M2) / (I2 * (I3 - I2))) * sn,
        np.sqrt((M2 - E2 * I1) / (I3 * (I3 - I1))) * dn,
    ], axis=-1)  # fmt: skip
    signs = np.sign(rate[0] * [1, 0, 1])
    signs[1] = signs[0] * signs[2]
    assert np.max(np.abs(rate * signs - book)) < 1e-11  # ellipj and the crossing time


def _crossing(body):
    """A time at which ω_2 = 0, by bisection."""
    grid = np.linspace(0.0, body.period, 400)
    w2 = body.at(grid)[1][:, 1]
    i = int(np.flatnonzero(w2[:-1] * w2[1:] <= 0.0)[0])
    low, high = grid[i], grid[i + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if body.at(middle)[1][1] * w2[i] > 0.0 else (low, middle)
    return 0.5 * (low + high)


APERIODIC = {name for name, case in CASES.items() if FreeBody(case[0], Q0, case[1]).period == float("inf")}
REPEATING = {name for name, case in CASES.items() if FreeBody(case[0], Q0, case[1]).period < 1e3}  # s


def test_period_is_infinite_for_constant_rate_and_on_the_separatrix_only():
    steady = {"plate, across", "plate, across another way", "sphere", "at rest"}
    steady |= {name for name in CASES if name.endswith("axis only")}
    assert {name for name in CASES if name.startswith("on the separatrix")} | steady == APERIODIC


@pytest.mark.parametrize("name", sorted(REPEATING))
def test_rate_repeats_after_the_period_and_not_after_half(name):
    inertia, omega = CASES[name]
    body, t = FreeBody(inertia, Q0, omega), np.linspace(0.0, 10.0, 7)
    # t + 10 T is rounded at 1e-16 · 1e3 s, times an angular acceleration of at most |ω|² = 10
    assert np.max(np.abs(body.at(t + 10.0 * body.period)[1] - body.at(t)[1])) < 2e-12
    swing = np.ptp(body.at(np.linspace(0.0, body.period, 100))[1], axis=0).max()
    assert np.max(np.abs(body.at(t + 0.5 * body.period)[1] - body.at(t)[1])) > 0.3 * swing


# ------------------------------------------------------------------ the door
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,)])
def test_any_shape_of_time(shape):
    t = np.random.default_rng(0).uniform(-9.0, 9.0, shape)
    for inertia, omega in CASES.values():
        body = FreeBody(inertia, Q0, omega)
        q, rate = body.at(t)
        assert q.shape == (*shape, 4)
        assert rate.shape == (*shape, 3)
        for i in np.ndindex(shape):
            assert np.allclose(body.at(float(t[i]))[0], q[i], rtol=0.0, atol=1e-15)


def test_values_are_frozen_copies():
    inertia, q, omega = FULL.copy(), Q0.copy(), np.array([0.3, 0.2, 0.9])
    body = FreeBody(inertia, q, omega)
    before = body.at(3.0)[0]
    inertia[0, 0], q[0], omega[0] = 9.0, 0.9, 9.0
    assert np.array_equal(body.at(3.0)[0], before)
    assert body.inertia[0, 0] == 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        body.omega = omega
    with pytest.raises(ValueError, match="read-only"):
        body.omega[0] = 1.0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("inertia", [1.0, 2.0, 3.0], r"inertia must have shape \(3, 3\), got \(3,\)"),
        ("inertia", np.diag([1.0, np.nan, 3.0]), "inertia must be finite"),
        ("inertia", [[1.0, 0.1, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]], "inertia must be symmetric"),
        ("inertia", np.diag([1.0, -2.0, 3.0]), "inertia must be positive definite, got moments"),
        ("inertia", np.zeros((3, 3)), "inertia must be positive definite"),
        ("inertia", [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "inertia must be positive definite"),
        ("inertia", [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "inertia must be positive definite"),
        ("inertia", "steel", "inertia must be an array of numbers"),
        ("q", [0.0, 0.0, 1.0], r"q must have shape \(4,\)"),
        ("q", [0.0, 0.0, 0.0, 0.0], "q must be a unit quaternion"),
        ("q", [0.0, 0.0, 0.0, 1.1], "q must be a unit quaternion"),
        ("q", [0.0, 0.0, np.inf, 1.0], "q must be finite"),
        ("omega", [1.0, 2.0], r"omega must have shape \(3,\)"),
        ("omega", [1.0, np.nan, 0.0], "omega must be finite"),
        ("omega", [1j, 0.0, 0.0], "omega must be an array of numbers"),
    ],
)
def test_bad_body_is_refused_by_name(field, value, message):
    good = {"inertia": FULL, "q": Q0, "omega": [0.3, 0.2, 0.9]}
    with pytest.raises(ValueError, match=message):
        FreeBody(**(good | {field: value}))


@pytest.mark.parametrize("t", [np.nan, np.inf, [0.0, -np.inf], 1e18, 1e300])
@pytest.mark.parametrize("case", ["full inertia", "on the separatrix", "sphere"])
def test_bad_time_is_refused_by_name(t, case):
    with pytest.raises(ValueError, match="t must lie within"):
        FreeBody(CASES[case][0], Q0, CASES[case][1]).at(t)


def test_text_as_time_is_refused_by_name():
    with pytest.raises(ValueError, match="t must be an array of real numbers"):
        FreeBody(FULL, Q0, [0.3, 0.2, 0.9]).at("noon")
