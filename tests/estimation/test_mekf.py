"""The filters: their prediction and updates against independent computations, time tags, gates, filterpy, bad input."""

import math

import numpy as np
import pytest
from filterpy.common import Saver
from filterpy.stats import NEES
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

import attitude as att
from attitude.core import quaternion as quat
from attitude.core import so3
from attitude.estimation.filter import Status, chi_square_quantile
from attitude.estimation.mekf import MEKF, GyroMEKF
from attitude.estimation.recorded import Samples
from attitude.truth.free_body import free_motion

INERTIA = np.array([[1.0, 0.05, -0.1], [0.05, 2.0, 0.08], [-0.1, 0.08, 2.8]])
Q0 = np.array([0.0, 0.0, 0.0, 1.0])
OMEGA = np.deg2rad([4.0, -5.0, 6.0])
SIGMA = np.deg2rad(1.0)
P0 = np.diag([4 * SIGMA**2] * 3 + [0.01**2] * 3)
REFERENCES = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
FREE = att.Propagator(att.RigidBody(INERTIA), order=12, max_increment=0.25)


def random_covariance(rng, n, scale=0.1):
    A = rng.normal(size=(n, n))
    return scale**2 * (A @ A.T + 0.1 * np.eye(n))


def mekf(**options):
    return MEKF(FREE, Q0, OMEGA, P0, options.pop("torque_noise", 1e-4), **options)


def noisy_vectors(q, rng, sigma=SIGMA):
    exact = np.stack([quat.rotate_back(q, r) for r in REFERENCES], axis=1)
    return exact + sigma * rng.normal(size=exact.shape)


# ------------------------------------------------------------------ prediction
def test_prediction_carries_the_covariance_by_the_propagators_jacobian():
    rng = np.random.default_rng(1)
    P = random_covariance(rng, 6)
    est = MEKF(FREE, Q0, OMEGA, P, torque_noise=0.0)
    est.predict(3.0, torque=[1e-3, 0.0, 2e-3])
    x1, Phi = FREE.step_with_jacobian(att.State(Q0, OMEGA), 3.0, torque=[1e-3, 0.0, 2e-3])
    np.testing.assert_allclose(est.P, Phi @ P @ Phi.T, atol=1e-14)
    np.testing.assert_allclose(est.q, x1.q, atol=1e-15)
    np.testing.assert_allclose(est.omega, x1.omega, atol=1e-15)


def continuous_covariance(P, omega, time, density):
    """`Ṗ = F P + P Fᵀ + Q` along the motion of Euler's equation, by DOP853: the truth for torque noise."""
    inverse = np.linalg.inv(INERTIA)
    Q = np.zeros((6, 6))
    Q[3:, 3:] = inverse @ np.diag(np.broadcast_to(density, 3) ** 2) @ inverse.T

    def rhs(_, y):
        w, cov = y[:3], y[3:].reshape(6, 6)
        F = np.zeros((6, 6))
        F[:3, :3], F[:3, 3:] = -so3.hat(w), np.eye(3)
        F[3:, 3:] = inverse @ (so3.hat(INERTIA @ w) - so3.hat(w) @ INERTIA)
        return np.concatenate([inverse @ -np.cross(w, INERTIA @ w), (F @ cov + cov @ F.T + Q).ravel()])

    start = np.concatenate([omega, P.ravel()])
    return solve_ivp(rhs, (0, time), start, "DOP853", rtol=1e-11, atol=1e-16).y[3:, -1].reshape(6, 6)


@pytest.mark.parametrize("density", [1e-3, [1e-3, 2e-3, 0.0]])
def test_torque_noise_against_the_continuous_riccati_equation(density):
    est = MEKF(FREE, Q0, OMEGA, P0, torque_noise=density)
    for _ in range(10):
        est.predict(1.0)
    expected = continuous_covariance(P0, OMEGA, 10.0, density)
    scale = np.sqrt(np.diag(expected))
    # two Gauss points a substep of 0.08 rad: responses are not quite linear over it
    assert np.abs((est.P - expected) / np.outer(scale, scale)).max() < 2e-4


def test_one_long_prediction_is_many_short_ones():
    one, many = mekf(torque_noise=1e-3), mekf(torque_noise=1e-3)
    one.predict(10.0)
    for _ in range(100):
        many.predict(0.1)
    assert quat.angle_between(one.q, many.q) <= 1e-4
    scale = np.sqrt(np.diag(many.P))
    assert np.abs((one.P - many.P) / np.outer(scale, scale)).max() <= 0.01


def test_gyro_prediction_is_exact_for_a_constant_rate():
    """Transition and noise against the matrix exponential of Van Loan 1978 for `[θ, b]`."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        omega, h, arw, rrw = rng.normal(size=3) * 10.0 ** rng.uniform(-4, 0), rng.uniform(0.1, 3.0), 0.02, 0.01
        P = random_covariance(rng, 6)
        est = GyroMEKF(Q0, [0.01, -0.02, 0.03], P, arw, rrw)
        est.predict(omega + np.array([0.01, -0.02, 0.03]), h)
        F = np.zeros((6, 6))
        F[:3, :3], F[:3, 3:] = -so3.hat(omega), -np.eye(3)
        Q = np.diag([arw**2] * 3 + [rrw**2] * 3)
        block = expm(h * np.block([[-F, Q], [np.zeros((6, 6)), F.T]]))
        Phi = block[6:, 6:].T
        np.testing.assert_allclose(est.P, Phi @ P @ Phi.T + Phi @ block[:6, 6:], rtol=1e-9, atol=1e-13)
        assert (Rotation.from_quat(est.q).inv() * Rotation.from_rotvec(omega * h)).magnitude() < 1e-14


def test_wheels_and_motor_torque_go_through_the_model():
    body = att.Gyrostat(INERTIA, [att.Wheel([1.0, 0.0, 0.0], 0.01), att.Wheel([0.0, 1.0, 1.0], 0.02)])
    propagator = att.Propagator(body, order=4, max_increment=0.2)
    est = MEKF(propagator, Q0, OMEGA, P0, 0.0, rotor_momentum=[0.1, -0.2])
    x = att.State(Q0, OMEGA, [0.1, -0.2])
    x, Phi = propagator.step_with_jacobian(x, 2.0, motor_torque=[0.01, 0.02])
    est.predict(2.0, motor_torque=[0.01, 0.02])
    np.testing.assert_allclose(est.omega, x.omega, atol=1e-15)
    np.testing.assert_allclose(est.P, Phi @ P0 @ Phi.T, atol=1e-15)
    np.testing.assert_allclose(est.rotor_momentum, [0.12, -0.16])
    est.set_rotor_momentum([0.3, 0.1])
    np.testing.assert_allclose(est.omega, x.omega, atol=1e-15)
    following = propagator.step(att.State(x.q, x.omega, [0.3, 0.1]), 1.0)
    est.predict(1.0)
    np.testing.assert_allclose(est.omega, following.omega, atol=1e-14)


# ------------------------------------------------------------------ updates
def linear_update(P, H, R, y):
    S = H @ P @ H.T + R
    K = P @ H.T @ np.linalg.inv(S)
    return K, S, (np.eye(len(P)) - K @ H) @ P, K @ y


def after_reset(P, theta):
    """Errors measured from the moved attitude: `θ ← J_r(δ) θ`."""
    T = np.eye(len(P))
    T[:3, :3] = so3.right_jacobian(theta)
    return T @ P @ T.T


def test_rate_update_is_the_textbook_update():
    rng = np.random.default_rng(3)
    P, sigma = random_covariance(rng, 9), np.array([0.01, 0.02, 0.03])
    est = MEKF(FREE, Q0, OMEGA, P, 0.0, bias=[0.01, 0.0, -0.01], bias_walk=1e-4)
    y = np.array([0.003, -0.002, 0.004])
    H = np.hstack([np.zeros((3, 3)), np.eye(3), np.eye(3)])
    K, S, P1, d = linear_update(P, H, np.diag(sigma**2), y)
    assert est.update_rate(OMEGA + np.array([0.01, 0.0, -0.01]) + y, sigma)
    np.testing.assert_allclose(est.y, y, atol=1e-15)
    np.testing.assert_allclose(est.S, S, rtol=1e-12)
    np.testing.assert_allclose(est.K, K, atol=1e-12)
    np.testing.assert_allclose(est.P, after_reset(P1, d[:3]), atol=1e-13)
    np.testing.assert_allclose(est.omega, OMEGA + d[3:6], atol=1e-14)
    np.testing.assert_allclose(est.bias, np.array([0.01, 0.0, -0.01]) + d[6:], atol=1e-14)
    np.testing.assert_allclose(Rotation.from_quat(est.q).as_rotvec(), d[:3], atol=1e-14)
    assert est.nis == pytest.approx(y @ np.linalg.solve(S, y), rel=1e-11)
    expected = -0.5 * (est.nis + np.log(np.linalg.det(2 * np.pi * S)))
    assert est.log_likelihood == pytest.approx(expected, rel=1e-12)


def test_attitude_update_is_the_textbook_update():
    rng = np.random.default_rng(4)
    P, sigma, y = random_covariance(rng, 6), np.array([1e-3, 1e-3, 1e-2]), np.array([0.02, -0.03, 0.01])
    q = Rotation.random(rng=rng).as_quat()
    est = MEKF(FREE, q, OMEGA, P, 0.0)
    K, _, P1, d = linear_update(P, np.eye(3, 6), np.diag(sigma**2), y)
    assert est.update_attitude(-quat.product(q, quat.exp(y)), sigma)  # −q is the same attitude
    np.testing.assert_allclose(est.y, y, atol=1e-14)
    np.testing.assert_allclose(est.K, K, atol=1e-11)
    np.testing.assert_allclose(est.P, after_reset(P1, d[:3]), atol=1e-13)
    np.testing.assert_allclose(quat.log(quat.product(quat.conjugate(q), est.q)), d[:3], atol=1e-13)


def test_vector_update_is_the_textbook_update():
    """Two components across the prediction carry all that three components of a unit vector do."""
    rng = np.random.default_rng(5)
    P, q, r, sigma = random_covariance(rng, 6), Rotation.random(rng=rng).as_quat(), np.array([0.3, -2.0, 0.5]), 0.02
    est = MEKF(FREE, q, OMEGA, P, 0.0)
    predicted = quat.rotate_back(q, r / np.linalg.norm(r))
    turn = 1e-3 * rng.normal(size=3)
    b = so3.exp(turn) @ predicted
    H = np.hstack([so3.hat(predicted), np.zeros((3, 3))])
    across = np.eye(3) - np.outer(predicted, predicted)
    _, _, P1, d = linear_update(P, H, sigma**2 * np.eye(3), across @ (b - predicted))
    assert est.update_vector(7.0 * b, r, sigma)
    np.testing.assert_allclose(est.P, after_reset(P1, d[:3]), atol=1e-9)
    np.testing.assert_allclose(quat.log(quat.product(quat.conjugate(q), est.q)), d[:3], atol=1e-8)
    assert len(est.y) == 2
    assert np.linalg.norm(est.y) == pytest.approx(np.arccos(np.clip(b @ predicted, -1, 1)), rel=1e-6)


def test_opposite_vector_gives_the_whole_angle():
    est = mekf()
    est.update_vector([-1.0, 1e-12, 0.0], [1.0, 0.0, 0.0], SIGMA)
    assert np.linalg.norm(est.y) == pytest.approx(np.pi)
    assert np.isfinite(est.x).all()


def test_filter_converges_from_a_large_error():
    rng = np.random.default_rng(6)
    times = np.arange(1.0, 121.0)
    q, _ = free_motion(INERTIA, Q0, OMEGA, times)
    start = quat.exp([1.0, -0.8, 0.5])  # 78 degrees away
    est = MEKF(FREE, start, OMEGA + 0.02, np.diag([1.0] * 3 + [0.03**2] * 3), 1e-6)
    estimates = est.run(times, Samples(vectors=noisy_vectors(q, rng), references=REFERENCES, vector_sigma=SIGMA))
    assert np.rad2deg(quat.angle_between(estimates.q, q)[60:]).max() < 1.5  # three of its own sigmas
    assert estimates.accepted.all()


# ------------------------------------------------------------------ in flight
def test_bad_samples_are_refused_and_change_nothing():
    est = mekf()
    before = est.x, est.P
    for value in ([np.nan, 0, 1], [np.inf, 0, 0], [0, 0, 0], [1, 2], None, "x"):
        assert not est.update_vector(value, [1, 0, 0], SIGMA)
        assert est.status == Status.NOT_FINITE
        assert not est.update_vector([1, 0, 0], value, SIGMA)
        assert not est.update_rate([0.0, np.nan, 0.0], 0.1)
        assert not est.update_attitude([0, 0, 0, 0], 0.1)
    for sigma in (0.0, -1.0, np.nan, np.inf):
        assert not est.update_vector([1, 0, 0], [1, 0, 0], sigma)
        assert not est.update_attitude(Q0, [0.1, sigma, 0.1])
    assert not est.predict(np.nan)
    assert not est.predict(-1.0)
    assert not est.predict(1.0, torque=[np.nan, 0, 0])
    assert not est.predict(1.0, torque=[1.0])
    assert math.isnan(est.nis)
    np.testing.assert_array_equal(est.x, before[0])
    np.testing.assert_array_equal(est.P, before[1])


def test_step_the_propagator_cannot_take_is_a_status():
    est = MEKF(att.Propagator(att.RigidBody(INERTIA)), Q0, [1.0, 0.5, 0.2], P0, 1e-4)
    before = est.x, est.P
    assert not est.predict(20.0)
    assert est.status == Status.NOT_PREDICTED
    np.testing.assert_array_equal(est.x, before[0])
    np.testing.assert_array_equal(est.P, before[1])
    assert est.predict(0.1)
    assert est.status == Status.ACCEPTED


def test_gate_refuses_outliers_and_says_so():
    est = mekf(gate=0.999)
    before = est.x, est.P
    assert not est.update_vector(so3.exp([0, 0.5, 0]) @ [1, 0, 0], [1, 0, 0], SIGMA)
    assert est.status == Status.GATED
    assert est.nis > est.gate_threshold == pytest.approx(chi2.ppf(0.999, 2))
    np.testing.assert_array_equal(est.x, before[0])
    np.testing.assert_array_equal(est.P, before[1])
    assert est.update_vector([1, 0, 0], [1, 0, 0], SIGMA)


@pytest.mark.parametrize("probability", [0.5, 0.95, 0.999, 1 - 1e-9])
@pytest.mark.parametrize("dof", [2, 3])
def test_chi_square_quantile(probability, dof):
    assert chi_square_quantile(probability, dof) == pytest.approx(chi2.ppf(probability, dof), rel=1e-7)


def outlier_rms(gate, outliers):
    rng, times = np.random.default_rng(7), np.arange(1.0, 601.0)
    q, _ = free_motion(INERTIA, Q0, OMEGA, times)
    vectors = noisy_vectors(q, rng)
    hit = rng.random(vectors.shape[:2]) < 0.05
    axes = rng.normal(size=vectors.shape)
    axes *= np.deg2rad(30.0) / np.linalg.norm(axes, axis=-1, keepdims=True)
    if outliers:
        vectors[hit] = [so3.exp(a) @ v for a, v in zip(axes[hit], vectors[hit], strict=True)]
    est = MEKF(FREE, Q0, OMEGA, P0, 1e-4, gate=gate)
    estimates = est.run(times, Samples(vectors=vectors, references=REFERENCES, vector_sigma=SIGMA))
    return np.sqrt(np.mean(quat.angle_between(estimates.q, q)[50:] ** 2)), estimates, hit


def test_outliers_behind_the_gate_do_little_harm():
    clean, _, _ = outlier_rms(0.999, False)
    gated, estimates, hit = outlier_rms(0.999, True)
    open_gate, _, _ = outlier_rms(None, True)
    assert gated <= 1.2 * clean
    assert open_gate > 1.5 * clean  # so the gate was needed
    assert (~estimates.accepted)[hit].mean() > 0.8


# ------------------------------------------------------------------ time tags
def sequence(est, late):
    """Vectors every second, and a star tracker sample taken at 2.5 s: in order, or told at 4 s."""
    rng = np.random.default_rng(8)
    times = np.arange(1.0, 6.0)
    q, _ = free_motion(INERTIA, Q0, OMEGA, times)
    q_star, _ = free_motion(INERTIA, Q0, OMEGA, 2.5)
    vectors = noisy_vectors(q, rng)
    for k, t in enumerate(times):
        if not late and t == 3.0:
            est.predict(0.5)
            est.update_attitude(q_star, 1e-3)
            est.predict(0.5)
        else:
            est.predict(1.0)
        for b, r in zip(vectors[k], REFERENCES, strict=True):
            est.update_vector(b, r, SIGMA)
        if late and t == 4.0:
            assert est.update_attitude(q_star, 1e-3, t=2.5)
    return est


def test_late_sample_is_as_good_as_in_order():
    in_order, late = sequence(mekf(), late=False), sequence(mekf(buffer=3.0), late=True)
    np.testing.assert_allclose(late.x, in_order.x, atol=1e-12)
    np.testing.assert_allclose(late.P, in_order.P, atol=1e-12 * np.abs(in_order.P).max())
    assert late.t == in_order.t == 5.0


def test_late_gyro_filter_sample():
    def run(est, late):
        for k in range(6):
            est.predict([0.1, -0.2, 0.05 * k], 0.5)
            if not late and k == 2:
                est.update_vector([1.0, 0.1, 0.2], [1.0, 0.0, 0.0], SIGMA)
        if late:
            assert est.update_vector([1.0, 0.1, 0.2], [1.0, 0.0, 0.0], SIGMA, t=1.5)
        return est

    a, b = (run(GyroMEKF(Q0, np.zeros(3), P0, 1e-4, 1e-5, buffer=5.0), late) for late in (False, True))
    np.testing.assert_allclose(a.x, b.x, atol=1e-14)
    np.testing.assert_allclose(a.P, b.P, atol=1e-16)


def test_sample_older_than_the_buffer_is_refused():
    est = mekf(buffer=2.0)
    for _ in range(10):
        est.predict(1.0)
    before = est.x
    assert not est.update_vector([1, 0, 0], [1, 0, 0], SIGMA, t=3.0)
    assert est.status == Status.TOO_OLD
    np.testing.assert_array_equal(est.x, before)
    assert not mekf().update_vector([1, 0, 0], [1, 0, 0], SIGMA, t=-1.0)  # no buffer at all


def test_sample_ahead_of_the_filter_takes_it_there():
    ahead, by_hand = mekf(), mekf()
    ahead.update_vector([1, 0.1, 0], [1, 0, 0], SIGMA, t=2.0)
    by_hand.predict(2.0)
    by_hand.update_vector([1, 0.1, 0], [1, 0, 0], SIGMA)
    np.testing.assert_array_equal(ahead.x, by_hand.x)
    assert ahead.t == 2.0


def test_many_late_samples_in_any_order():
    rng = np.random.default_rng(9)
    times = np.arange(1.0, 21.0)
    q, _ = free_motion(INERTIA, Q0, OMEGA, times)
    vectors = noisy_vectors(q, rng)[:, 0]
    in_order, shuffled = mekf(), mekf(buffer=100.0)
    for b in vectors:
        in_order.predict(1.0)
        in_order.update_vector(b, REFERENCES[0], SIGMA)
    for _ in times:
        shuffled.predict(1.0)
    for k in rng.permutation(len(times)):
        assert shuffled.update_vector(vectors[k], REFERENCES[0], SIGMA, t=times[k])
    np.testing.assert_allclose(shuffled.x, in_order.x, atol=1e-12)


# ------------------------------------------------------------------ a recorded run
def recorded(seed, n=200):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.2, 2.0, n))
    q, omega = free_motion(INERTIA, Q0, OMEGA, times)
    vectors, attitudes, rates = noisy_vectors(q, rng), q.copy(), omega + 1e-3 * rng.normal(size=omega.shape)
    vectors[rng.random(n) < 0.2, 1] = np.nan
    attitudes[rng.random(n) < 0.7] = np.nan
    samples = Samples(
        vectors=vectors, references=REFERENCES, vector_sigma=[SIGMA, 2 * SIGMA], attitudes=attitudes,
        attitude_sigma=[1e-3, 1e-3, 5e-3], rates=rates, rate_sigma=1e-3,
    )  # fmt: skip
    return times, samples


@pytest.mark.parametrize("bias", [None, np.zeros(3)])
def test_recorded_run_is_bit_for_bit_the_calls(bias):
    times, samples = recorded(10)
    P = P0 if bias is None else np.diag([*np.diag(P0), *[1e-6] * 3])
    whole, single = (MEKF(FREE, Q0, OMEGA, P, 1e-4, bias=bias, gate=0.9999) for _ in range(2))
    torque = 1e-4 * np.random.default_rng(0).normal(size=(len(times), 3))
    estimates = whole.run(times, samples, torque=torque)
    for k, t in enumerate(times):
        single.predict(t - single.t, torque=torque[k])
        for v in range(2):
            single.update_vector(samples.vectors[k, v], REFERENCES[v], samples.vector_sigma[v])
            assert single.status == estimates.status[k, v]
        single.update_attitude(samples.attitudes[k], samples.attitude_sigma)
        single.update_rate(samples.rates[k], samples.rate_sigma)
        single.t = t
        np.testing.assert_array_equal(estimates.q[k], single.q)
        np.testing.assert_array_equal(estimates.omega[k], single.omega)
        np.testing.assert_array_equal(estimates.P[k], single.P)
        np.testing.assert_array_equal(estimates.nis[k, 3], single.nis)
    np.testing.assert_array_equal(whole.x, single.x)
    assert (estimates.prediction == 0).all()
    assert set(np.unique(estimates.status)) <= {0, 1, 2}


def test_recorded_gyro_run_is_bit_for_bit_the_calls():
    times, samples = recorded(11)
    samples = Samples(vectors=samples.vectors, references=REFERENCES, vector_sigma=SIGMA)
    gyro = np.asarray(OMEGA) + 1e-3 * np.random.default_rng(1).normal(size=(len(times), 3))
    whole, single = (GyroMEKF(Q0, np.zeros(3), P0, 1e-4, 1e-6) for _ in range(2))
    estimates = whole.run(times, samples, gyro)
    for k, t in enumerate(times):
        single.predict(gyro[k], t - single.t)
        for v in range(2):
            single.update_vector(samples.vectors[k, v], REFERENCES[v], SIGMA)
        single.t = t
        np.testing.assert_array_equal(estimates.q[k], single.q)
        np.testing.assert_array_equal(estimates.bias[k], single.bias)
        np.testing.assert_array_equal(estimates.omega[k], single.omega)
        np.testing.assert_array_equal(estimates.P[k], single.P)


# ------------------------------------------------------------------ the covariance stays a covariance
@pytest.mark.slow
def test_a_million_cycles_with_sigmas_from_tiny_to_huge():
    rng, n = np.random.default_rng(12), 10_000
    est = MEKF(FREE, Q0, OMEGA, P0, 1e-5)
    for block in range(100):  # 100 × 10 000 times, two vectors each
        times = est.t + 0.1 * np.arange(1, n + 1)
        q, _ = free_motion(INERTIA, Q0, OMEGA, times)
        sigma = 10.0 ** rng.uniform(-8, 0, 2)
        vectors = noisy_vectors(q, rng, 0.0)
        P = est.run(times, Samples(vectors=vectors, references=REFERENCES, vector_sigma=sigma)).P
        np.linalg.cholesky(P)
        assert np.isfinite(est.x).all(), block


def test_cycles_with_sigmas_from_tiny_to_huge():
    """Cholesky of every P; each update has its own sigma, from 1e-8 to 1 rad."""
    rng, est = np.random.default_rng(13), MEKF(FREE, Q0, OMEGA, P0, 1e-5)
    times = 0.1 * np.arange(1, 5001)
    q, _ = free_motion(INERTIA, Q0, OMEGA, times)
    exact = noisy_vectors(q, rng, 0.0)
    for k in range(len(times)):
        est.predict(0.1)
        for v in range(2):
            assert est.update_vector(exact[k, v], REFERENCES[v], 10.0 ** rng.uniform(-8, 0))
            np.linalg.cholesky(est.P)
    assert quat.angle_between(est.q, q[-1]) < 1e-6


# ------------------------------------------------------------------ filterpy
def test_filterpys_saver_and_nees_work():
    rng, est = np.random.default_rng(15), mekf()
    saver, errors = Saver(est), []
    times = np.arange(1.0, 51.0)
    q, omega = free_motion(INERTIA, Q0, OMEGA, times)
    vectors = noisy_vectors(q, rng)
    for k in range(len(times)):
        est.predict(1.0)
        for v in range(2):
            est.update_vector(vectors[k, v], REFERENCES[v], SIGMA)
        saver.save()
        errors.append(np.concatenate([quat.log(quat.product(quat.conjugate(est.q), q[k])), omega[k] - est.omega]))
    saver.to_array()
    assert saver.x.shape == (50, 7)
    assert saver.P.shape == (50, 6, 6)
    assert saver.y.shape == (50, 2)
    assert saver.K.shape == (50, 6, 2)
    values = NEES(np.array(errors), np.zeros((50, 6)), saver.P)
    expected = [e @ np.linalg.solve(P, e) for e, P in zip(errors, saver.P, strict=True)]
    np.testing.assert_allclose(np.ravel(values), expected, rtol=1e-9)


# ------------------------------------------------------------------ bad input at construction
DAMPED = att.Propagator(att.DampedGyrostat(np.eye(3), damper_inertia=0.1, damping=1.0))
GOOD = {"q": Q0, "omega": OMEGA, "P": P0, "torque_noise": 1e-4}


@pytest.mark.parametrize(("change", "message"), [
    ({"P": -np.eye(6)}, r"P must be positive definite, got eigenvalues \[-1"),
    ({"P": np.eye(5)}, r"P must have shape \(6, 6\)"),
    ({"P": np.triu(np.ones((6, 6))) + np.eye(6)}, "P must be symmetric"),
    ({"P": np.full((6, 6), np.nan)}, "P must be finite"),
    ({"P": np.eye(6), "bias": [0, 0, 0]}, r"P must have shape \(9, 9\)"),
    ({"torque_noise": -1.0}, "torque_noise must not be negative"),
    ({"torque_noise": [1.0, 2.0]}, r"torque_noise must have shape \(3,\)"),
    ({"q": [0, 0, 0, 2]}, "q must be a unit quaternion"),
    ({"omega": [0, 0]}, r"omega must have shape \(3,\)"),
    ({"gate": 1.5}, "gate must be a probability between 0 and 1"),
    ({"buffer": -1.0}, "buffer must not be negative"),
    ({"bias_walk": -1.0}, "bias_walk must not be negative"),
    ({"propagator": 3}, "propagator must be a Propagator"),
    ({"propagator": DAMPED}, "propagator must be of a body without a damper"),
])  # fmt: skip
def test_bad_construction(change, message):
    with pytest.raises(ValueError, match=message):
        MEKF(**{"propagator": FREE, **GOOD, **change})


@pytest.mark.parametrize(("arguments", "message"), [
    ({"arw": -1.0}, "arw must not be negative"), ({"rrw": np.nan}, "rrw must be finite"),
    ({"bias": [0, 0]}, r"bias must have shape \(3,\)"), ({"P": np.zeros((6, 6))}, "P must be positive definite"),
])  # fmt: skip
def test_bad_gyro_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        GyroMEKF(**{"q": Q0, "bias": np.zeros(3), "P": P0, "arw": 1e-4, "rrw": 1e-6, **arguments})


@pytest.mark.parametrize(("samples", "message"), [
    ({"vectors": np.ones((3, 2, 3)), "references": REFERENCES}, "vector_sigma must be given"),
    ({"vectors": np.ones((2, 2, 3)), "references": REFERENCES, "vector_sigma": 1.0}, "vectors must have shape"),
    ({"vectors": np.ones((3, 1, 3)), "references": REFERENCES, "vector_sigma": 1.0}, "references must have shape"),
    ({"rates": np.ones((3, 3)), "rate_sigma": -1.0}, "rate_sigma must be greater than zero"),
    ({"attitudes": np.ones((3, 3)), "attitude_sigma": 1.0}, "attitudes must have shape"),
])  # fmt: skip
def test_bad_samples_of_a_run(samples, message):
    with pytest.raises(ValueError, match=message):
        mekf().run([1.0, 2.0, 3.0], Samples(**samples))


def test_times_that_go_back_are_an_error():
    with pytest.raises(ValueError, match="times must not decrease"):
        mekf().run([2.0, 1.0], Samples())
    with pytest.raises(ValueError, match="times must not decrease"):
        mekf(t=5.0).run([2.0, 3.0], Samples())


def test_one_signature_per_kernel():
    from attitude.estimation import filter_kernels, predict_kernels, recorded

    att.warm_up()
    for kernel in (filter_kernels.update, predict_kernels.predict, predict_kernels.predict_gyro, recorded.run_recorded):
        assert len(kernel.signatures) == 1
        assert kernel.targetoptions["_nrt"] is False  # and none can allocate
