"""The filters we compare with: against SciPy, against each other where they must agree, and where they must not."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from attitude.core import quaternion, so3
from attitude.estimation import baselines_kernels, baselines_updates, baselines_usque
from attitude.estimation.baselines import NAMES, make_filter
from attitude.estimation.filter import Status
from attitude.estimation.recorded import Samples

INERTIA = np.diag([1.0, 2.0, 3.0])
SKEWED = np.array([[1.0, 0.1, -0.2], [0.1, 2.0, 0.3], [-0.2, 0.3, 2.5]])
OMEGA = np.deg2rad([4.0, -5.0, 6.0])
REFERENCES = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
TORQUE = np.array([2e-3, -1e-3, 3e-3])
BASELINES = NAMES[2:]
COVARIANCE = ("textbook", "rk4-expm", "ideal")


def motion(inertia, torque=(0.0, 0.0, 0.0)):
    """Right-hand side of `[q, ω]`, written out here once more."""

    def slope(_, y):
        q, w = y[:4], y[4:]
        spin = np.linalg.solve(inertia, torque - np.cross(w, inertia @ w))
        return np.concatenate([0.5 * quaternion.product(q, [*w, 0.0]), spin])

    return slope


def dop853(inertia, q, omega, times, torque=(0.0, 0.0, 0.0)):
    start = np.concatenate([q, omega])
    y = solve_ivp(motion(inertia, torque), [0.0, times[-1]], start, "DOP853", times, rtol=1e-12, atol=1e-13).y.T
    return quaternion.normalise(y[:, :4]), y[:, 4:]


def error(q_from, w_from, q_to, w_to):
    """`[θ, ω]` from one state to another."""
    turn = quaternion.log(quaternion.product(quaternion.conjugate(q_from), q_to))
    return np.concatenate([turn, w_to - w_from], axis=-1)


def recording(rate, count, sigma, seed):
    """Truth, and noisy unit vectors of it."""
    times = np.arange(1, count + 1) / rate
    q, omega = dop853(INERTIA, [0, 0, 0, 1], OMEGA, times)
    exact = np.stack([quaternion.rotate_back(q, r) for r in REFERENCES], axis=1)
    noisy = exact + sigma * np.random.default_rng(seed).standard_normal(exact.shape)
    return times, q, omega, Samples(vectors=noisy, references=REFERENCES, vector_sigma=sigma)


def ready(name, *, inertia=INERTIA, q=(0, 0, 0, 1), omega=OMEGA, P=None, noise=1e-6):
    P = np.diag([1e-4] * 3 + [1e-6] * 3) if P is None else P
    return make_filter(name, inertia, q, omega, P, noise)


# ------------------------------------------------------------------ where all agree
# relative difference of P: what first-order Φ and Q leave at 20 Hz; what second-order terms of the update leave
AGREEMENT = {"vi-step": 2e-4, "textbook": 2e-2, "rk4-expm": 2e-4, "usque": 2e-4, "ideal": 2e-4}


@pytest.mark.parametrize("name", AGREEMENT)
def test_all_agree_at_a_high_rate(name):
    """20 Hz for 5 s, 0.01° noise: P as below, means within a tenth of a sigma."""
    sigma = np.deg2rad(0.01)
    times, _, _, samples = recording(20.0, 100, sigma, 1)
    P = np.diag([1e-6] * 3 + [1e-6] * 3)
    q0 = quaternion.exp([1e-3, -1e-3, 5e-4])
    one, vi = (ready(n, q=q0, omega=OMEGA + 1e-3, P=P, noise=1e-5).run(times, samples) for n in (name, "vi"))
    sigmas = np.sqrt(np.diagonal(vi.P, axis1=1, axis2=2))
    apart = error(vi.q, vi.omega, one.q, one.omega) / sigmas
    assert np.abs(apart).max() < 0.1
    relative = np.abs(one.P - vi.P) / (sigmas[:, :, None] * sigmas[:, None, :])
    assert relative[20:].max() < AGREEMENT[name]
    np.testing.assert_allclose(one.nis[20:], vi.nis[20:], rtol=0.1, atol=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_is_as_good_as_it_says(name):
    """NEES of six degrees of freedom, mean over the run, after 10 s at 10 Hz; 0.5 to 2 is ±4 sigma and more."""
    times, q, omega, samples = recording(10.0, 300, np.deg2rad(0.1), 2)
    est = ready(name, noise=1e-4).run(times, samples)
    e = error(est.q, est.omega, q, omega)[100:]
    nees = np.einsum("ni,nij,nj->n", e, np.linalg.inv(est.P[100:]), e)
    assert 0.5 * 6 < nees.mean() < 2.0 * 6


# ------------------------------------------------------------------ where they must not agree
def rms(rate, names):
    """RMS attitude error over the ideal's, under 1° noise, six runs of 60 samples, the last 45 of each; and its own."""
    sigma, squares = np.deg2rad(1.0), {name: [] for name in (*names, "ideal")}
    for seed in range(6):
        times, q, _, samples = recording(rate, 60, sigma, seed)
        draw = np.random.default_rng(100 + seed).standard_normal(6) * sigma
        for name, values in squares.items():
            est = ready(name, q=quaternion.exp(draw[:3]), omega=OMEGA + draw[3:], P=sigma**2 * np.eye(6))
            angle = quaternion.angle_between(est.run(times, samples).q, q)
            values.append(np.mean(angle[15:] ** 2))
    roots = {name: np.sqrt(np.mean(values)) for name, values in squares.items()}
    return {name: root / roots["ideal"] for name, root in roots.items()}, roots["ideal"]


def test_low_rates_spoil_what_integrates_coarsely():
    """Measured over the ideal: textbook 4.7, one VI step 9.6 at 0.2 Hz; textbook 13, Runge–Kutta 35 at 0.1 Hz."""
    ratio, _ = rms(0.2, ["textbook", "vi-step"])
    assert ratio["textbook"] > 3.0
    assert ratio["vi-step"] > 3.0
    ratio, _ = rms(0.1, ["textbook", "rk4-expm"])
    assert ratio["textbook"] > 5.0
    assert ratio["rk4-expm"] > 5.0


def test_low_rates_leave_the_others_alone():
    """The ideal is far better than its 1° samples, the VI as good to 5 %; the unscented filter may be better still."""
    ratio, ideal = rms(0.2, ["vi", "usque"])
    assert ideal < np.deg2rad(0.8)
    assert abs(ratio["vi"] - 1.0) < 0.05
    assert ratio["usque"] < 1.1


# ------------------------------------------------------------------ predictions
@pytest.mark.parametrize("torque", [np.zeros(3), TORQUE])
@pytest.mark.parametrize("h", [0.05, 5.0, 20.0])
def test_ideal_transition_against_finite_differences(h, torque):
    """Central differences of step 1e-5 of a solver at 1e-12: 1e-10 of truncation, 1e-7 of rounding."""
    q0, step = quaternion.exp([0.3, -0.5, 0.2]), 1e-5
    x, Phi, _ = ready("ideal", inertia=SKEWED, q=q0).flow(h, torque)
    (q,), (w,) = dop853(SKEWED, q0, OMEGA, [h], torque)
    assert np.abs(error(x[:4], x[4:], q, w)).max() < 1e-10
    for k in range(6):
        ends = []
        for d in (step * np.eye(6)[k], -step * np.eye(6)[k]):
            (qd,), (wd,) = dop853(SKEWED, quaternion.product(q0, quaternion.exp(d[:3])), OMEGA + d[3:], [h], torque)
            ends.append(error(q, w, qd, wd))
        np.testing.assert_allclose(Phi[:, k], (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-7)


def test_ideal_noise_against_quadrature():
    """`∫ Φ(h) Φ(s)⁻¹ G C Gᵀ (…)ᵀ ds` by 12 Gauss points, and the scale of a very small torque noise."""
    h, noise = 6.0, np.array([1e-6, 2e-6, 3e-6])
    est = ready("ideal", inertia=SKEWED, noise=noise)
    _, Phi, Q = est.flow(h, TORQUE)
    G = np.vstack([np.zeros((3, 3)), np.linalg.inv(SKEWED)]) * noise
    nodes, weights = np.polynomial.legendre.leggauss(12)
    total = np.zeros((6, 6))
    for s, weight in zip(0.5 * h * (nodes + 1.0), 0.5 * h * weights, strict=True):
        A = Phi @ np.linalg.solve(est.flow(s, TORQUE)[1], G)
        total += weight * A @ A.T
    np.testing.assert_allclose(Q, total, rtol=1e-9, atol=1e-10 * np.abs(total).max())


def test_predictions_in_parts_are_the_whole():
    """The ideal prediction does not care how it is cut: 1e-9 is what 20 solves at 1e-12 may differ."""
    whole, parts = ready("ideal", noise=1e-4), ready("ideal", noise=1e-4)
    whole.predict(20.0, TORQUE)
    for _ in range(20):
        parts.predict(1.0, TORQUE)
    assert quaternion.angle_between(whole.q, parts.q) < 1e-9
    np.testing.assert_allclose(parts.P, whole.P, rtol=1e-8, atol=1e-9 * np.abs(whole.P).max())


@pytest.mark.parametrize("h", [0.01, 0.7, 20.0])
def test_transition_against_scipy_expm(h):
    """Van Loan 1978: transition and noise from one exponential of twice the size."""
    F, C = np.empty((6, 6)), np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]])
    baselines_kernels.rate_matrix(SKEWED, np.linalg.inv(SKEWED), *OMEGA, F)
    W, noise = np.empty((7, 6, 6)), np.zeros((6, 6))
    W[0], noise[3:, 3:] = F, C
    assert baselines_kernels.transition(C, h, W) == 0
    loan = expm(h * np.block([[-F, noise], [np.zeros((6, 6)), F.T]]))
    np.testing.assert_allclose(W[1], expm(F * h), rtol=1e-11, atol=1e-12)
    expected = loan[6:, 6:].T @ loan[:6, 6:]
    np.testing.assert_allclose(W[2], expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["textbook", "rk4-expm"])
def test_textbook_transitions_are_what_they_say(name):
    """`P` over one step of `P = ε 1`, no noise, against SciPy: `1 + F h` at the start, `expm(F h)` at the mean rate."""
    h, F = 0.8, np.empty((6, 6))
    est = ready(name, inertia=SKEWED, P=np.eye(6), noise=0.0)
    est.predict(h)
    at = OMEGA if name == "textbook" else 0.5 * (OMEGA + est.omega)
    F[:3], F[3:, :3] = np.hstack([-so3.hat(at), np.eye(3)]), 0.0
    F[3:, 3:] = np.linalg.solve(SKEWED, so3.hat(SKEWED @ at) - so3.hat(at) @ SKEWED)
    Phi = np.eye(6) + h * F if name == "textbook" else expm(h * F)
    np.testing.assert_allclose(est.P, Phi @ Phi.T, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("name", "order"), [("textbook", 2), ("rk4-expm", 4)])
def test_order_of_the_mean(name, order):
    """Slope between 20 and 40 steps over 10 s; half an order of room."""
    (q,), (w,) = dop853(INERTIA, [0, 0, 0, 1], 2 * OMEGA, [10.0], TORQUE)
    errors = []
    for n in (20, 40):
        est = ready(name, omega=2 * OMEGA)
        for _ in range(n):
            est.predict(10.0 / n, TORQUE)
        errors.append(np.linalg.norm(error(q, w, est.q, est.omega)))
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.5


@pytest.mark.parametrize("h", [0.5, 20.0])
def test_usque_without_spread_is_the_true_motion(h):
    """Sigma points of 1e-7 rad leave the integrator's own error, 1e-5 rad a turn; `Q` then is the ideal's to 1 %."""
    est, ideal = (ready(n, inertia=SKEWED, P=1e-14 * np.eye(6), noise=1e-4) for n in ("usque", "ideal"))
    (q,), (w,) = dop853(SKEWED, [0, 0, 0, 1], OMEGA, [h], TORQUE)
    for one in (est, ideal):
        assert one.predict(h, TORQUE)
    assert np.abs(error(q, w, est.q, est.omega)).max() < 1e-5
    sigmas = np.sqrt(np.diagonal(ideal.P))
    assert (np.abs(est.P - ideal.P) / np.outer(sigmas, sigmas)).max() < 1e-2


# ------------------------------------------------------------------ updates
def prior():
    A = np.random.default_rng(3).standard_normal((6, 6))
    return 1e-4 * (A @ A.T + np.eye(6))


@pytest.mark.parametrize("name", COVARIANCE)
@pytest.mark.parametrize("kind", ["vector", "attitude", "rate"])
def test_update_against_the_information_form(name, kind):
    q0, P, sigma = quaternion.exp([0.3, -0.5, 0.2]), prior(), np.array([0.01, 0.02, 0.03])
    est = ready(name, q=q0, P=P)
    if kind == "vector":
        sigma = np.full(3, 0.02)
        b, expected = quaternion.exp([0, 0, 0.01]), quaternion.rotate_back(q0, REFERENCES[1])
        b = quaternion.rotate(b, expected)
        H, y = np.hstack([so3.hat(expected), np.zeros((3, 3))]), b - expected
        assert est.update_vector(3.0 * b, 7.0 * REFERENCES[1], 0.02)
    elif kind == "attitude":
        y = np.array([0.02, -0.01, 0.015])
        H = np.hstack([np.eye(3), np.zeros((3, 3))])
        assert est.update_attitude(-quaternion.product(q0, quaternion.exp(y)), sigma)
    else:
        y = np.array([1e-3, 2e-3, -1e-3])
        H = np.hstack([np.zeros((3, 3)), np.eye(3)])
        assert est.update_rate(OMEGA + y, sigma)
    after = np.linalg.inv(np.linalg.inv(P) + (H.T / sigma**2) @ H)
    move = after @ (H.T / sigma**2) @ y
    np.testing.assert_allclose(est.P, after, rtol=1e-9, atol=1e-16)
    np.testing.assert_allclose(error(q0, OMEGA, est.q, est.omega), move, rtol=1e-9, atol=1e-14)
    assert est.nis == pytest.approx(y @ np.linalg.solve(H @ P @ H.T + np.diag(sigma**2), y), rel=1e-9)


@pytest.mark.parametrize("name", BASELINES)
def test_the_sign_of_a_quaternion_means_nothing(name):
    q, twins = quaternion.exp([0.1, 0.2, 0.3]), []
    for sign in (1.0, -1.0):
        est = ready(name, P=prior())
        est.update_attitude(sign * q, 0.01)
        twins.append(est)
    assert quaternion.angle_between(twins[0].q, twins[1].q) < 1e-14
    np.testing.assert_array_equal(twins[0].P, twins[1].P)


# ------------------------------------------------------------------ USQUE
@pytest.mark.parametrize("angle", [1e-9, 0.1, 1.0, 3.0, np.pi])
def test_rodrigues_vector_against_scipy(angle):
    """`a = 1`, `f = 4`: four times the modified Rodrigues parameters."""
    rotation = Rotation.from_rotvec(angle * np.array([2.0, -1.0, 2.0]) / 3.0)
    q, p = rotation.as_quat(), 4.0 * rotation.as_mrp()
    for sign in (1.0, -1.0):
        twin = np.array(baselines_usque.to_rodrigues(*(sign * q)))
        assert min(np.abs(twin - p).max(), np.abs(twin + p).max() if angle == np.pi else np.inf) < 1e-14
    assert quaternion.angle_between(baselines_usque.from_rodrigues(*p), q) < 1e-14
    assert np.linalg.norm(p) == pytest.approx(4.0 * np.tan(angle / 4.0), rel=1e-12)


def test_usque_linear_update_is_kalmans():
    """A rate is a linear measurement: sigma points or not, the answer is the same to rounding."""
    unscented, linear = ready("usque", P=prior()), ready("textbook", P=prior())
    for est in (unscented, linear):
        est.update_rate(OMEGA + np.array([1e-3, -2e-3, 3e-3]), [0.01, 0.02, 0.03])
    np.testing.assert_allclose(unscented.P, linear.P, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(unscented.omega, linear.omega, atol=1e-14)
    assert unscented.nis == pytest.approx(linear.nis, rel=1e-9)


def test_usque_sees_the_mean_of_a_wide_spread():
    """0.4 rad of attitude error shortens the mean direction by about σ²; 2e5 draws know it to 1e-3, and so does USQUE.

    An extended filter expects the full length. What the sigma points leave out is of order σ⁴ = 0.026, times ¼.
    """
    sigma = 0.4
    est = ready("usque", P=np.diag([sigma**2] * 3 + [1e-6] * 3))
    est.update_vector(REFERENCES[1], REFERENCES[1], 1.0)
    p = sigma * np.random.default_rng(4).standard_normal((200_000, 3))
    drawn = Rotation.from_mrp(p / 4.0).inv().apply(REFERENCES[1]).mean(axis=0)
    expected = REFERENCES[1] - est._ukf.y
    assert np.linalg.norm(drawn) < 0.9
    np.testing.assert_allclose(expected, drawn, atol=8e-3)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0.5, -0.6, 0.7], [-0.3, 0.4, 0.9]])
def test_usque_converges_from_a_large_error(axis):
    """150° wrong, any attitude possible: sooner than an extended filter of the same residual, and to within 4 sigma."""
    times, q, _, samples = recording(1.0, 120, np.deg2rad(0.5), 5)
    wrong = quaternion.exp(np.deg2rad(150.0) * np.array(axis) / np.linalg.norm(axis))
    P = np.diag([3.0**2] * 3 + [0.02**2] * 3)
    unscented, extended = (ready(n, q=wrong, P=P, noise=1e-3).run(times, samples) for n in ("usque", "ideal"))
    assert quaternion.angle_between(unscented.q[10], q[10]) < 0.5 * quaternion.angle_between(extended.q[10], q[10])
    sigma = np.sqrt(np.trace(unscented.P[-1, :3, :3]))
    assert sigma < np.deg2rad(0.5)
    assert quaternion.angle_between(unscented.q[-1], q[-1]) < 4.0 * sigma


# ------------------------------------------------------------------ the calls
def mixed_samples(count):
    """Vectors, attitudes and rates, some of them missing."""
    rng = np.random.default_rng(6)
    vectors = np.tile(REFERENCES, (count, 1, 1)) + 0.3 * rng.standard_normal((count, 2, 3))
    attitudes = quaternion.exp(0.2 * rng.standard_normal((count, 3)))
    rates = OMEGA + 0.01 * rng.standard_normal((count, 3))
    vectors[2, 1], attitudes[3], rates[1] = np.nan, np.nan, np.nan
    return Samples(vectors, REFERENCES, [0.3, 0.4], attitudes, [0.2, 0.3, 0.4], rates, 0.05)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("constant", [True, False])
def test_a_run_is_the_calls_one_by_one(name, constant):
    """Bit for bit, with samples missing, two at the same time, and a known torque."""
    times = np.array([0.5, 1.0, 1.0, 2.5, 2.75])
    s, torques = mixed_samples(5), np.outer(np.ones(5) if constant else np.arange(5.0), TORQUE)
    recorded, called = ready(name, inertia=SKEWED, P=prior()), ready(name, inertia=SKEWED, P=prior())
    out = recorded.run(times, s, torque=TORQUE if constant else torques)
    for k in range(5):
        called.predict(times[k] - (times[k - 1] if k else 0.0), torques[k])
        status, nis = [], []
        for sample in [
            lambda k=k: called.update_vector(s.vectors[k, 0], REFERENCES[0], 0.3),
            lambda k=k: called.update_vector(s.vectors[k, 1], REFERENCES[1], 0.4),
            lambda k=k: called.update_attitude(s.attitudes[k], [0.2, 0.3, 0.4]),
            lambda k=k: called.update_rate(s.rates[k], 0.05),
        ]:
            taken = sample()
            assert taken == (called.status == Status.ACCEPTED)
            status.append(called.status)
            nis.append(called.nis)
        np.testing.assert_array_equal(out.q[k], called.q)
        np.testing.assert_array_equal(out.omega[k], called.omega)
        np.testing.assert_array_equal(out.P[k], called.P)
        np.testing.assert_array_equal(out.nis[k], nis)
        assert out.status[k].tolist() == status
    assert (out.status == Status.NOT_FINITE).sum() == 3
    assert recorded.t == called.t == 2.75
    assert not out.prediction.any()


BAD_CALLS = [
    lambda est: est.predict(np.nan),
    lambda est: est.predict(-1.0),
    lambda est: est.predict("soon"),
    lambda est: est.predict(1.0, torque=[0.0, np.inf, 0.0]),
    lambda est: est.predict(1.0, torque=[0.0, 0.0]),
    lambda est: est.update_vector([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 0.1),
    lambda est: est.update_vector([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0.1),
    lambda est: est.update_vector([1.0, np.nan, 0.0], [1.0, 0.0, 0.0], 0.1),
    lambda est: est.update_vector([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], 0.0),
    lambda est: est.update_vector(None, [1.0, 0.0, 0.0], 0.1),
    lambda est: est.update_attitude([0.0, 0.0, 0.0, 0.0], 0.1),
    lambda est: est.update_attitude([0.0, 0.0, 0.0, np.nan], 0.1),
    lambda est: est.update_attitude([0.0, 0.0, 0.0, 1.0], [0.1, -0.1, 0.1]),
    lambda est: est.update_rate([0.0, np.inf, 0.0], 0.1),
    lambda est: est.update_rate([0.0, 0.0, 0.0], np.nan),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", range(len(BAD_CALLS)))
def test_what_cannot_be_taken_changes_nothing(name, number):
    est = ready(name)
    before = est.q, est.omega, est.P, est.t
    assert BAD_CALLS[number](est) is False
    assert est.status == Status.NOT_FINITE
    for old, new in zip(before, (est.q, est.omega, est.P, est.t), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("name", BASELINES)
def test_a_lost_filter_says_so(name):
    """A rate beyond all reason: the step is refused, and nothing turns into NaN."""
    est = ready(name, omega=[1e70, -1e70, 1e70])
    assert est.predict(1e3) is False
    assert est.status == Status.NOT_PREDICTED
    assert np.isfinite(est.q).all()
    assert np.isfinite(est.P).all()
    assert est.t == 1e3


def test_a_coarse_filter_that_diverges_stays_finite():
    times, _, _, samples = recording(0.05, 100, np.deg2rad(1.0), 7)
    out = ready("textbook", P=1e-3 * np.eye(6)).run(times, samples)
    assert np.isfinite(out.q).all()
    assert np.isfinite(out.omega).all()
    assert np.isfinite(out.P).all()


# ------------------------------------------------------------------ the door
def test_names():
    assert NAMES == ("vi-step", "vi", "textbook", "rk4-expm", "usque", "ideal")


@pytest.mark.parametrize("name", ["ekf", "", "VI", None])
def test_an_unknown_name_lists_the_known(name):
    with pytest.raises(ValueError, match="name must be one of vi-step, vi, textbook, rk4-expm, usque, ideal, got"):
        make_filter(name, INERTIA, [0, 0, 0, 1], OMEGA, np.eye(6), 1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("inertia", np.diag([1.0, 2.0, -3.0])),
        ("q", [0, 0, 0, 2]),
        ("omega", [0, 0]),
        ("P", np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])),
        ("P", np.eye(3)),
        ("torque_noise", -1.0),
        ("torque_noise", [1.0, np.nan, 1.0]),
        ("t", np.inf),
    ],
)
def test_bad_input_is_one_clear_error(name, field, value):
    good = {"inertia": INERTIA, "q": [0, 0, 0, 1], "omega": OMEGA, "P": np.eye(6), "torque_noise": 1e-6, "t": 0.0}
    with pytest.raises(ValueError, match=f"^{field} must"):
        make_filter(name, **{**good, field: value})


@pytest.mark.parametrize("name", BASELINES)
def test_bad_recordings_are_clear_errors(name):
    _, _, _, samples = recording(1.0, 2, 0.01, 8)
    with pytest.raises(ValueError, match="times must not decrease"):
        ready(name).run([2.0, 1.0], samples)
    with pytest.raises(ValueError, match="torque must have shape"):
        ready(name).run([1.0, 2.0], samples, torque=np.zeros((3, 3)))


def test_scipy_and_filterpy_come_only_when_asked_for():
    """Numba itself loads SciPy's outermost package, but none of its parts."""
    code = "import sys, attitude.estimation.baselines as b; print({'scipy.integrate', 'filterpy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_one_signature_for_each_kernel():
    """Whatever the caller gives, the kernels meet one type only."""
    for name in BASELINES:
        est = ready(name, omega=[1, 0, 0], noise=[1, 2, 3], P=np.eye(6, dtype=int))
        est.predict(1, [1, 0, 0])
        est.update_vector([1, 0, 0], (0, 1, 0), 1)
        est.update_attitude(np.array([0, 0, 0, 1], dtype=np.float32), 1)
        est.update_rate(np.asfortranarray(np.eye(3))[0], np.float32(1))
        est.run([2, 3], Samples(rates=np.zeros((2, 3), dtype=int), rate_sigma=1), torque=[0, 0, 1])
    entries = [
        baselines_kernels.predict, baselines_kernels.variational_slope, baselines_kernels.substeps,
        baselines_kernels.rk4_expm_substeps, baselines_updates.update, baselines_updates.run_recorded,
        baselines_usque.carried, baselines_usque.seen, baselines_usque.moved, baselines_usque.error_from,
    ]  # fmt: skip
    assert [len(entry.signatures) for entry in entries] == [1] * len(entries)
