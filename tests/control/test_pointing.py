"""Pointing: the closed loop against DOP853 of the same law, feed-forward, limits, LQR against theory."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import attitude as att
from attitude.control import pointing as module
from attitude.control.pointing import LQR, QuaternionFeedback
from attitude.core import quaternion

J = np.array([[0.03, 0.002, -0.001], [0.002, 0.028, 0.0015], [-0.001, 0.0015, 0.01]])  # kg m²
SPIN = np.array([0.0, -1e-3, 2e-2])  # rad/s
REST = np.array([0.0, 0.0, 0.0, 1.0, *np.zeros(6)])
LAW = dict(inertia_kg_m2=J, bandwidth_rad_s=0.5, damping_ratio=0.7)


def spinning(t, omega=SPIN):
    """Reference that turns steadily about a fixed axis."""
    return np.concatenate([quaternion.exp(omega * t), omega, np.zeros(3)])


def law_in_matrices(q, omega, reference, Kp, Kd):
    """The law written with SciPy's rotations: nothing is shared with the kernel."""
    R_e = Rotation.from_quat(reference[:4]).inv() * Rotation.from_quat(q)
    e = R_e.as_quat()
    rate = R_e.inv().apply(reference[4:7])
    ahead = J @ (R_e.inv().apply(reference[7:]) - np.cross(omega, rate)) + np.cross(omega, J @ omega)
    return -Kp @ (2.0 * np.sign(e[3]) * e[:3]) - Kd @ (omega - rate) + ahead


def flown(law, x, reference, T, n):
    prop, state, h = att.Propagator(att.RigidBody(J), order=12), law.initial_state(), T / n
    for k in range(n):
        x = prop.step(x, h, torque=law.torque(state, x.q, x.omega, reference(k * h), h))
    return x


@pytest.mark.parametrize("reference", [lambda t: REST, spinning], ids=["at rest", "moving"])
def test_step_response_against_dop853_of_the_continuous_law(reference):
    law, T = QuaternionFeedback(**LAW), 8.0
    Kp, Kd = 0.25 * J, 0.7 * J
    q0 = quaternion.exp([1.5, -1.0, 0.8])  # 112° away
    x0 = att.State(q0, [0.05, -0.02, 0.03])

    def rhs(t, y):
        q, w = y[:4] / np.linalg.norm(y[:4]), y[4:]
        torque = law_in_matrices(q, w, reference(t), Kp, Kd)
        dq = 0.5 * np.array([*(q[3] * w + np.cross(q[:3], w)), -q[:3] @ w])
        return np.concatenate([dq, np.linalg.solve(J, torque - np.cross(w, J @ w))])

    y = solve_ivp(rhs, (0.0, T), np.concatenate([x0.q, x0.omega]), "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    exact = np.concatenate([y[:4] / np.linalg.norm(y[:4]), y[4:]])
    ends = [flown(law, x0, reference, T, n) for n in (400, 800, 1600)]
    values = [np.concatenate([x.q * np.sign(x.q @ exact[:4]), x.omega]) for x in ends]
    errors = [np.abs(v - exact).max() for v in values]
    # a torque held over the tick lags by half of it: first order, and extrapolation takes that out
    assert math.log2(errors[1] / errors[2]) == pytest.approx(1.0, abs=0.05)
    assert errors[2] < 1e-3
    assert np.abs(2.0 * values[2] - values[1] - exact).max() < 1e-5


def test_small_errors_obey_the_second_order_equation():
    law, wn, zeta = QuaternionFeedback(**LAW), 0.5, 0.7
    x = flown(law, att.State(quaternion.exp([1e-4, 0.0, 0.0]), np.zeros(3)), lambda t: REST, 4.0, 8000)
    wd = wn * math.sqrt(1.0 - zeta**2)
    expected = math.exp(-zeta * wn * 4.0) * (math.cos(wd * 4.0) + zeta * wn / wd * math.sin(wd * 4.0))
    # held torque: h/2 · ω_n = 1.3e-4
    assert quaternion.log(x.q) == pytest.approx([1e-4 * expected, 0.0, 0.0], abs=1e-4 * 5e-4)


def test_feed_forward_alone_tracks_a_moving_reference_with_wheels():
    """On the reference, the torque is what Euler's equation of the gyrostat asks for."""
    rng = np.random.default_rng(8)
    wheels = [att.Wheel(np.eye(3)[i], 2e-3) for i in range(3)]
    body = att.Gyrostat(J + 4e-3 * np.eye(3), wheels)
    law = QuaternionFeedback(inertia_kg_m2=body.carrier_inertia(), bandwidth_rad_s=0.5, damping_ratio=0.7)
    q, omega, alpha = quaternion.exp(rng.normal(size=3)), 0.1 * rng.normal(size=3), 0.01 * rng.normal(size=3)
    w = 1e-2 * rng.normal(size=3)
    torque = law.torque(np.zeros(3), q, omega, np.concatenate([q, omega, alpha]), 0.1, w)
    h = 1e-3
    x = att.Propagator(body).step(att.State(q, omega, w), h, motor_torque=-torque)
    assert (x.omega - omega) / h == pytest.approx(alpha, abs=1e-4)  # held over h, ω̈ h/2
    without = law.torque(np.zeros(3), q, omega, np.concatenate([q, omega, alpha]), 0.1)
    assert np.abs(without - torque).max() > 1e-4  # the wheels' momentum counts


def test_q_and_minus_q_are_one_attitude_and_the_way_is_the_shorter_one():
    law, q = QuaternionFeedback(**LAW), quaternion.exp([0.0, 0.0, 3.0])
    a = law.torque(np.zeros(3), q, np.zeros(3), REST, 0.1)
    b = law.torque(np.zeros(3), -q, np.zeros(3), REST, 0.1)
    assert np.array_equal(a, b)
    assert a[2] < 0.0
    assert law.torque(np.zeros(3), quaternion.exp([0.0, 0.0, 3.3]), np.zeros(3), REST, 0.1)[2] > 0.0


def test_limits_on_torque_and_slew_rate():
    law = QuaternionFeedback(**LAW, max_torque_Nm=1e-3, max_slew_rate_deg_s=1.0)
    prop, x = att.Propagator(att.RigidBody(J)), att.State(quaternion.exp([0.0, 2.5, 0.0]), np.zeros(3))
    state, rates = law.initial_state(), []
    for _ in range(2500):
        torque = law.torque(state, x.q, x.omega, REST, 0.1)
        assert np.linalg.norm(torque) <= 1e-3 * (1 + 1e-12)
        x = prop.step(x, 0.1, torque=torque)
        rates.append(np.degrees(np.linalg.norm(x.omega)))
    assert max(rates) == pytest.approx(1.0, rel=0.01)  # 143° at 1 °/s
    assert quaternion.angle_between(x.q, REST[:4]) < 1e-6


def test_the_integral_takes_out_a_steady_torque_and_does_not_wind_up():
    law = QuaternionFeedback(**LAW, integral_time_s=10.0, max_torque_Nm=2e-3)
    prop, x = att.Propagator(att.RigidBody(J)), att.State(quaternion.exp([1.0, 0.0, 0.0]), np.zeros(3))
    state, push = law.initial_state(), np.array([2e-4, -1e-4, 3e-4])
    for _ in range(3000):
        x = prop.step(x, 0.1, torque=push + law.torque(state, x.q, x.omega, REST, 0.1))
    assert np.abs(quaternion.log(x.q)).max() < 1e-9
    assert 0.25 / 10.0 * J @ state == pytest.approx(push, rel=1e-6)


def test_the_integral_stands_still_while_a_limit_is_met():
    law = QuaternionFeedback(**LAW, integral_time_s=10.0, max_torque_Nm=1e-4, max_slew_rate_deg_s=5.0)
    for angle, omega, expected in ((0.2, 0.0, 0.0), (0.5, -0.25, 0.0), (1e-3, 0.0, 1e-4)):
        state = law.initial_state()  # torque cut; error cut; neither
        law.torque(state, quaternion.exp([angle, 0.0, 0.0]), [omega, 0.0, 0.0], REST, 0.1)
        assert state == pytest.approx([expected, 0.0, 0.0], rel=1e-6, abs=1e-15)


def test_an_estimate_that_is_not_a_number_gives_no_torque():
    p, state, out = QuaternionFeedback(**LAW).parameters(), np.zeros(3), np.ones(3)
    status = module.pointing_kernel(p, state, REST[:4].copy(), np.full(3, np.nan), np.zeros(3), REST, 0.1, out)
    assert status == module.NOT_FINITE
    assert np.array_equal(out, np.zeros(3))
    assert np.array_equal(state, np.zeros(3))


# ------------------------------------------------------------------ LQR
WEIGHTS = dict(angle_deg=1.0, rate_deg_s=0.5, torque_Nm=1e-3)


def riccati_by_iteration(A, B, Q, R):
    """Stationary cost of the Riccati difference equation, by running it; gain from it."""
    P = Q
    for _ in range(20000):
        P = Q + A.T @ P @ A - A.T @ P @ B @ np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)


def test_lqr_gain_against_the_riccati_difference_equation():
    prop = att.Propagator(att.RigidBody(J))
    law = LQR(propagator=prop, h_s=0.5, **WEIGHTS)
    Ji, one = np.linalg.inv(J), np.eye(3)
    A = np.block([[one, 0.5 * one], [0.0 * one, one]])  # at rest: a double integrator, held torque
    B = np.vstack([0.125 * Ji, 0.5 * Ji])
    assert law.gain == pytest.approx(riccati_by_iteration(A, B, *law.weights()), rel=1e-7, abs=1e-12)
    assert np.abs(law.eigenvalues).max() < 1.0
    assert np.sort_complex(np.linalg.eigvals(A - B @ law.gain)) == pytest.approx(
        np.sort_complex(law.eigenvalues), abs=1e-9
    )


def test_lqr_of_a_short_step_is_the_continuous_one():
    """Per principal axis `K = [√(q₁/r), √(q₂/r + 2 J √(q₁/r))]`, the closed form for a double integrator."""
    moments = np.array([0.03, 0.028, 0.01])
    law = LQR(propagator=att.Propagator(att.RigidBody(np.diag(moments))), h_s=1e-3, **WEIGHTS)
    q1, q2, r = math.radians(1.0) ** -2, math.radians(0.5) ** -2, 1e6
    stiffness = np.full(3, math.sqrt(q1 / r))
    damping = np.sqrt(q2 / r + 2.0 * moments * math.sqrt(q1 / r))
    # the step costs h/2 times the loop's fastest rate, K_d/J ≈ 11 1/s
    assert np.diagonal(law.gain[:, :3]) == pytest.approx(stiffness, rel=0.01)
    assert np.diagonal(law.gain[:, 3:]) == pytest.approx(damping, rel=0.01)


def loop_eigenvalues(law, step=1e-5):
    """Eigenvalues of one tick of the nonlinear loop about its own motion, by central differences."""
    omega, momentum = np.asarray(law.omega_B), np.asarray(law.rotor_momentum)
    rho = law.propagator.body.rotor_axes @ momentum

    def after(theta, change):
        x = att.State(quaternion.exp(theta), omega + change, momentum)
        torque = law.torque(law.initial_state(), x.q, x.omega, spinning(0.0, omega), law.h_s, rho)
        return law.propagator.step(x, law.h_s, torque=torque)

    nominal, columns = after(np.zeros(3), np.zeros(3)), []
    for unit in np.eye(6):
        ends = [after(s * unit[:3], s * unit[3:]) for s in (step, -step)]
        turns = [quaternion.product(quaternion.conjugate(nominal.q), x.q) for x in ends]
        values = [np.append(quaternion.log(turn), x.omega) for turn, x in zip(turns, ends, strict=True)]
        columns.append((values[0] - values[1]) / (2.0 * step))
    return np.linalg.eigvals(np.array(columns).T)


def test_lqr_about_a_spin_with_wheels_is_stable_in_the_nonlinear_loop():
    body = att.Gyrostat(J, [att.Wheel([0.0, 1.0, 0.0], 1e-4)])
    prop, h = att.Propagator(body), 0.5
    omega, momentum = np.array([0.0, 0.0, 0.1]), np.array([5e-3])
    law = LQR(propagator=prop, h_s=h, omega_B=omega, rotor_momentum=momentum, **WEIGHTS)
    assert np.abs(law.eigenvalues).max() < 1.0
    plain = LQR(propagator=prop, h_s=h, **WEIGHTS)
    assert np.abs(law.gain - plain.gain).max() > 0.01 * np.abs(plain.gain).max()  # the coupling counts
    assert np.sort(np.abs(law.eigenvalues)) == pytest.approx(np.sort(np.abs(loop_eigenvalues(law))), abs=1e-7)
    x, state = att.State(quaternion.exp([0.05, -0.04, 0.03]), omega, momentum), law.initial_state()
    errors = []
    for k in range(400):
        reference = spinning(k * h, omega)
        errors.append(float(quaternion.angle_between(x.q, reference[:4])))
        x = prop.step(x, h, torque=law.torque(state, x.q, x.omega, reference, h, [0.0, momentum[0], 0.0]))
    # held torque in turning axes leaves a little: ω × p · ω h/2 over the stiffness
    assert errors[-1] < 1e-3
    assert errors[-1] < 0.02 * errors[0]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: QuaternionFeedback(**{**LAW, "inertia_kg_m2": -J}), "inertia_kg_m2"),
        (lambda: QuaternionFeedback(**{**LAW, "bandwidth_rad_s": 0.0}), "bandwidth_rad_s"),
        (lambda: QuaternionFeedback(**{**LAW, "damping_ratio": -1.0}), "damping_ratio"),
        (lambda: QuaternionFeedback(**LAW, integral_time_s=1.0), "integral_time_s must be above"),
        (lambda: QuaternionFeedback(**LAW, max_torque_Nm=0.0), "max_torque_Nm"),
        (lambda: QuaternionFeedback(**LAW, max_slew_rate_deg_s=-1.0), "max_slew_rate_deg_s"),
        (lambda: QuaternionFeedback(**LAW).torque(np.zeros(3), [0, 0, 0, 2], [0, 0, 0], REST, 0.1), "q must"),
        (lambda: QuaternionFeedback(**LAW).torque(np.zeros(3), REST[:4], [0, 0, 0], REST[:9], 0.1), "reference"),
        (lambda: LQR(propagator=J, h_s=1.0, **WEIGHTS), "propagator"),
        (lambda: LQR(propagator=att.Propagator(att.RigidBody(J)), h_s=0.0, **WEIGHTS), "h_s"),
        (
            lambda: LQR(propagator=att.Propagator(att.RigidBody(J)), h_s=1.0, **{**WEIGHTS, "angle_deg": 0.0}),
            "angle_deg",
        ),
        (
            lambda: LQR(propagator=att.Propagator(att.RigidBody(J)), h_s=1.0, rotor_momentum=[1.0], **WEIGHTS),
            "rotor_momentum",
        ),
    ],
)
def test_bad_input_names_the_field(make, name):
    with pytest.raises(ValueError, match=name):
        make()


def test_one_signature():
    for law in (QuaternionFeedback(**LAW), LQR(propagator=att.Propagator(att.RigidBody(J)), h_s=1.0, **WEIGHTS)):
        law.torque(law.initial_state(), [0, 0, 0, 1], [0, 0, 0], REST.tolist(), 1)
    assert len(module.pointing_kernel.signatures) == 1
