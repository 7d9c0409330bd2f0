"""TRIAD and Wahba's problem: SciPy's `align_vectors`, exact rational arithmetic, a printed example, Monte Carlo."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from attitude.core import quaternion as qn
from attitude.core.jit import warm_up
from attitude.estimation import wahba_kernels as module
from attitude.estimation.wahba import METHODS, PARALLEL, triad, triad_with_covariance, wahba

EPS = np.finfo(float).eps
AGAINST_SCIPY = {"svd": 1e-12, "davenport": 1e-12, "quest": 1e-9}  # rad; SciPy loses 1e-16 over the eigenvalue gap
DRAWS = 20_000
WITHIN = 0.05  # a sample variance scatters by √(2/DRAWS) = 1 %: five standard deviations


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def seen(q, r):
    """Directions `r` `(M, N, 3)` in the axes of the bodies `q` `(M, 4)`, without error."""
    return np.einsum("mji,mnj->mni", qn.to_matrix(q), r)


def noisy(rng, b, sigma):
    """The measurement model: isotropic Gaussian error across each unit vector; the length is left as it comes."""
    e = rng.normal(size=b.shape) * np.asarray(sigma).reshape(-1, 1)
    return b + e - b * np.sum(e * b, axis=-1, keepdims=True)


def special_attitudes(rng):
    """Random attitudes, and turns by 0, 180° and close to it about principal and other axes."""
    axes = np.vstack([np.eye(3), -np.eye(3), unit(rng.normal(size=(6, 3))), unit(np.array([[1.0, 1.0, 0.0]]))])
    angles = [0.0, 1e-9, math.pi / 2, math.pi - 1e-4, math.pi - 1e-8, math.pi - 1e-12, math.pi, math.pi + 1e-9]
    turned = Rotation.from_rotvec([angle * axis for angle in angles for axis in axes]).as_quat()
    return np.vstack([unit(rng.normal(size=(200, 4))), turned])


def separated(rng, m, n, least=0.2):
    """`(m, n, 3)` unit vectors, the first two at an angle whose sine is at least `least`."""
    r = unit(rng.normal(size=(4 * m, n, 3)))
    wide = np.linalg.norm(np.cross(r[:, 0], r[:, 1]), axis=-1) > least
    return r[wide][:m]


def align(b, r, sigma):
    """SciPy's answer, set by set; it warns where the weights leave it few digits."""
    with np.errstate(divide="ignore"):
        weights = np.broadcast_to(1.0 / np.asarray(sigma) ** 2, b.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pairs = zip(r, unit(b), strict=True)
        return np.array([Rotation.align_vectors(a, c, weights=weights)[0].as_quat() for a, c in pairs])


def exact_newton_step(q, b, r, sigma):
    """What Newton on the loss would still change, rad, in rational arithmetic: no rounding, whatever the weights.

    With `v = R(q)ᵀ r` the gradient is `−Σ a b × v`, the Hessian `Σ a ((b·v) 1 − ½ (b vᵀ + v bᵀ))`.
    """
    R = rational_matrix(*(Fraction(float(c)) for c in q))
    g, H = np.array([Fraction(0)] * 3, dtype=object), np.diag([Fraction(0)] * 3)
    for bi, ri, si in zip(b, r, np.broadcast_to(sigma, len(b)), strict=True):
        bi, ri = (rational_unit(v) for v in (bi, ri))
        v, a = R.T @ ri, 1 / Fraction(float(si)) ** 2
        g = g + a * np.array([bi[1] * v[2] - bi[2] * v[1], bi[2] * v[0] - bi[0] * v[2], bi[0] * v[1] - bi[1] * v[0]])
        H = H + a * (np.diag([bi @ v] * 3) - (np.outer(bi, v) + np.outer(v, bi)) / 2)
    return math.sqrt(sum(float(c) ** 2 for c in rational_solve(H, g)))


def rational_matrix(x, y, z, w):
    """`R(q)` of a quaternion that is unit but for rounding."""
    S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)
    return np.diag([Fraction(1)] * 3) + 2 * (w * S + S @ S) / (x * x + y * y + z * z + w * w)


def rational_unit(v):
    """`v / ‖v‖`, the root taken to 60 digits."""
    v = np.array([Fraction(float(c)) for c in v], dtype=object)
    square = v @ v
    scale = 10**120
    return v / Fraction(math.isqrt(square.numerator * scale // square.denominator), 10**60)


def rational_solve(H, g):
    """Cramer's rule."""
    columns = [np.array(c, dtype=object) for c in H.T]

    def det(a, b, c):
        return a @ np.array([b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]])

    whole = det(*columns)
    return [det(*(g if k == i else columns[k] for k in range(3))) / whole for i in range(3)]


def loss(q, b, r, sigma):
    """Wahba's loss of one set."""
    residual = unit(b) - unit(r) @ qn.to_matrix(q)
    return 0.5 * np.sum(residual**2 / np.asarray(sigma).reshape(-1, 1) ** 2)


# ------------------------------------------------------------------ printed digits
def test_printed_example():
    """The q-method example of C. D. Hall's notes on spacecraft attitude, chapter 4: TRIAD, optimum and losses."""
    b = np.array([[0.7814, 0.3751, 0.4987], [0.6163, 0.7075, -0.3459]])
    r = np.array([[0.2673, 0.5345, 0.8018], [-0.3124, 0.9370, 0.1562]])
    R_BI = [[0.5662, 0.7803, 0.2657], [-0.7881, 0.4180, 0.4519], [0.2416, -0.4652, 0.8516]]
    simple = triad(*b, *r)
    np.testing.assert_allclose(qn.to_matrix(simple).T, R_BI, rtol=0, atol=0.5e-4)
    assert loss(simple, b, r, [1.0, 1.0]) == pytest.approx(7.3902e-4, rel=1e-3)  # the inputs have 4 digits
    for method in METHODS:
        q, _ = wahba(b, r, 1.0, method)
        np.testing.assert_allclose(q, [0.2644, -0.0051, 0.4706, 0.8418], rtol=0, atol=0.5e-4)
        assert loss(q, b, r, [1.0, 1.0]) == pytest.approx(3.6954e-4, rel=1e-3)


# ------------------------------------------------------------------ SciPy
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 3, 20])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 0.1])
def test_against_align_vectors(rng, method, n, noise):
    q_true = special_attitudes(rng)
    r = separated(rng, len(q_true), n)
    sigma = rng.uniform(0.01, 0.1, size=n)
    b = noisy(rng, seen(q_true, r), np.full(n, noise))
    q, _ = wahba(b, r, sigma, method)
    assert qn.angle_between(q, align(b, r, sigma)).max() <= AGAINST_SCIPY[method]


@pytest.mark.parametrize("method", METHODS)
def test_exact_vectors_give_the_attitude(rng, method):
    q_true = special_attitudes(rng)
    r = separated(rng, len(q_true), 4)
    q, _ = wahba(seen(q_true, r), r, [1e-5, 1e-1, 1e-3, 1e-1], method)
    assert qn.angle_between(q, q_true).max() <= 20 * EPS / 0.2  # roundoff of the input over the sine of the angle
    assert (q[:, 3] >= 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, rtol=0, atol=4 * EPS)


# ------------------------------------------------------------------ TRIAD
def test_triad_of_exact_vectors(rng):
    q_true = special_attitudes(rng)
    r = separated(rng, len(q_true), 2)
    b = seen(q_true, r)
    assert qn.angle_between(triad(b[:, 0], b[:, 1], r[:, 0], r[:, 1]), q_true).max() <= 1e-14


@pytest.mark.parametrize("sine", [1e-1, 1e-3, 2e-5])
def test_close_vectors_cost_digits_in_proportion(rng, sine):
    """What rounding of the input costs, 1e-16 over the sine, and no more."""
    q_true = special_attitudes(rng)
    r = separated(rng, len(q_true), 2)
    r[:, 1] = unit(r[:, 0] + sine * unit(np.cross(r[:, 0], r[:, 1])))
    b = seen(q_true, r)
    answers = [triad(b[:, 0], b[:, 1], r[:, 0], r[:, 1])] + [wahba(b, r, [1e-5, 1e-1], m)[0] for m in METHODS]
    for q in answers:
        assert qn.angle_between(q, q_true).max() <= 10 * EPS / sine


def test_the_leading_vector_is_fitted_exactly(rng):
    r = separated(rng, 50, 2)
    b = noisy(rng, seen(unit(rng.normal(size=(50, 4))), r), [0.1, 0.1])
    given = (b[:, 0], b[:, 1], r[:, 0], r[:, 1])
    for sigma, lead in ((None, 0), (0.1, 0), ([0.1, 0.1], 0), ([0.1, 0.2], 0), ([0.2, 0.1], 1)):
        q = triad(*given, sigma=sigma)
        misfit = np.linalg.norm(np.cross(qn.rotate(q, unit(b[:, lead])), r[:, lead]), axis=-1)
        other = np.linalg.norm(np.cross(qn.rotate(q, unit(b[:, 1 - lead])), r[:, 1 - lead]), axis=-1)
        assert misfit.max() <= 10 * EPS
        assert np.median(other) > 0.01
        azimuth = np.cross(r[:, 0], r[:, 1])  # the other one lies in the plane of both
        np.testing.assert_allclose(
            np.sum(azimuth * qn.rotate(q, b[:, 1 - lead]), axis=-1), 0.0, atol=20 * EPS
        )  # fmt: skip


def test_triad_and_its_sibling_agree(rng):
    r, b = separated(rng, 20, 2), separated(rng, 20, 2)
    given = (b[:, 0], b[:, 1], r[:, 0], r[:, 1])
    for sigma in (0.1, (0.1, 0.2), (0.2, 0.1)):
        np.testing.assert_array_equal(triad(*given, sigma=sigma), triad_with_covariance(*given, sigma)[0])


def test_triad_covariance_formula(rng):
    """Shuster and Oh 1981, as printed: in vectors, not in the triad."""
    r = separated(rng, 30, 2)
    q_true = unit(rng.normal(size=(30, 4)))
    b = seen(q_true, r)
    for s1, s2 in ((1e-3, 1e-2), (1e-2, 1e-2), (1e-2, 1e-3)):
        _, cov = triad_with_covariance(b[:, 0], b[:, 1], r[:, 0], r[:, 1], (s1, s2))
        for k in range(30):
            (v, w), (s, t) = (b[k], (s1, s2)) if s1 <= s2 else (b[k][::-1], (s2, s1))
            mixed = s * s * (v @ w) * (np.outer(v, w) + np.outer(w, v)) + (t * t - s * s) * np.outer(v, v)
            expected = s * s * np.eye(3) + mixed / np.sum(np.cross(v, w) ** 2)
            np.testing.assert_allclose(cov[k], expected, rtol=0, atol=1e-13 * expected.max())  # sine 0.2, squared


def test_wahba_is_never_less_certain_than_triad(rng):
    r = separated(rng, 200, 2)
    b = seen(unit(rng.normal(size=(200, 4))), r)
    for sigma in ((1e-3, 1e-2), (1e-2, 1e-2)):
        _, optimal = wahba(b, r, sigma)
        _, simple = triad_with_covariance(b[:, 0], b[:, 1], r[:, 0], r[:, 1], sigma)
        assert np.linalg.eigvalsh(simple - optimal).min() >= -1e-12 * simple.max()


# ------------------------------------------------------------------ any attitude, any number, any sigmas
finite = st.floats(-1.0, 1.0).map(lambda x: x + 0.0)
axes = st.tuples(finite, finite, finite).map(np.array).filter(lambda v: np.linalg.norm(v) > 1e-2).map(unit)
angles = st.one_of(
    st.floats(0.0, math.pi), st.floats(0.0, 16.0).map(lambda k: math.pi - 10.0**-k), st.sampled_from([0.0, math.pi])
)
attitudes = st.builds(lambda axis, angle: Rotation.from_rotvec(angle * axis).as_quat(), axes, angles)
sigmas = st.floats(-5.0, -1.0).map(lambda k: 10.0**k)


@st.composite
def problems(draw):
    """An attitude, N reference vectors the first two of which are no closer than 0.1 rad, N sigmas, and a seed."""
    n = draw(st.one_of(st.just(2), st.integers(2, 12)))
    r = np.array([draw(axes) for _ in range(n)])
    if np.linalg.norm(np.cross(r[0], r[1])) < 0.1:
        r[1] = unit(np.cross(r[0], [0.3, 0.5, 0.7] if abs(r[0][0]) > 0.5 else [1.0, 0.0, 0.1]))
    return draw(attitudes), r, np.array([draw(sigmas) for _ in range(n)]), draw(st.integers(0, 2**32 - 1))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(problems())
def test_recovers_any_attitude(problem):
    q_true, r, sigma, _ = problem
    b = seen(q_true[None], r[None])[0]
    for method in METHODS:
        q, cov = wahba(b, r, sigma, method)
        assert qn.angle_between(q, q_true) <= 40 * EPS / 0.1
        np.testing.assert_array_equal(cov, cov.T)
        assert np.linalg.eigvalsh(cov).min() > 0.0
    assert qn.angle_between(triad(*b[:2], *r[:2]), q_true) <= 40 * EPS / 0.1


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problems())
def test_noisy_answers_are_stationary_and_agree(problem):
    q_true, r, sigma, seed = problem
    b = noisy(np.random.default_rng(seed), seen(q_true[None], r[None])[0], sigma)
    answers = [wahba(b, r, sigma, method)[0] for method in METHODS]
    for q in answers:
        assert exact_newton_step(q, b, r, sigma) <= 1e-12
        assert loss(q, b, r, sigma) <= loss(q_true, b, r, sigma) * (1 + 1e-9) + 1e-9
        assert qn.angle_between(q, answers[0]) <= 1e-12


# ------------------------------------------------------------------ covariance
def errors(q, q_true):
    """Attitude errors `θ`, `q_true = q ⊗ exp(θ)`."""
    return qn.log(qn.product(qn.conjugate(q), q_true))


def assert_spread(theta, cov):
    """Every element of the sample covariance, in the axes in which the expected one is the unit matrix."""
    L = np.linalg.cholesky(cov)
    white = np.linalg.solve(L, theta.T)
    assert np.abs(white @ white.T / theta.shape[0] - np.eye(3)).max() <= WITHIN


CASES = {
    "equal": ([1e-3, 1e-3], 2),
    "sun and field": ([1e-3, 1e-2], 2),
    "second better": ([1e-2, 1e-3], 2),
    "extreme": ([1e-5, 1e-1], 2),
    "many": ([1e-3, 2e-3, 5e-3, 1e-2, 1e-3, 3e-3], 6),
}


def draws(rng, sigma, n):
    q_true, r = unit(rng.normal(size=4)), separated(rng, 1, n, 0.5)
    exact = seen(q_true[None], r)
    b = noisy(rng, np.repeat(exact, DRAWS, axis=0), sigma)
    return q_true, exact[0], b, np.repeat(r, DRAWS, axis=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_wahba_covariance_against_draws(rng, name, method):
    sigma, n = CASES[name]
    q_true, exact, b, r = draws(rng, sigma, n)
    q, cov = wahba(b, r, sigma, method)
    theta = errors(q, q_true)
    assert_spread(theta, wahba(exact, r[0], sigma, method)[1])
    nees = np.einsum("mi,mij,mj->m", theta, np.linalg.inv(cov), theta)  # each with its own covariance
    assert abs(nees.mean() / 3.0 - 1.0) <= WITHIN  # its mean scatters by √(6/DRAWS)/3 = 0.6 %


@pytest.mark.parametrize("name", ["equal", "sun and field", "second better", "extreme"])
def test_triad_covariance_against_draws(rng, name):
    sigma, n = CASES[name]
    q_true, exact, b, r = draws(rng, sigma, n)
    q, cov = triad_with_covariance(b[:, 0], b[:, 1], r[:, 0], r[:, 1], sigma)
    theta = errors(q, q_true)
    assert_spread(theta, triad_with_covariance(*exact, *r[0], sigma)[1])
    nees = np.einsum("mi,mij,mj->m", theta, np.linalg.inv(cov), theta)
    assert abs(nees.mean() / 3.0 - 1.0) <= WITHIN


def test_covariance_is_the_inverse_information(rng):
    r = separated(rng, 20, 5)
    q_true = unit(rng.normal(size=(20, 4)))
    b, sigma = seen(q_true, r), np.array([1e-3, 1e-2, 3e-3, 1e-3, 1e-2])
    for method in METHODS:
        _, cov = wahba(b, r, sigma, method)
        for k in range(20):
            information = sum((np.eye(3) - np.outer(v, v)) / s**2 for v, s in zip(b[k], sigma, strict=True))
            np.testing.assert_allclose(cov[k] @ information, np.eye(3), rtol=0, atol=1e-10)  # condition up to 1e4


# ------------------------------------------------------------------ symmetries
@pytest.mark.parametrize("method", METHODS)
def test_lengths_units_and_order_do_not_matter(rng, method):
    r, sigma = separated(rng, 10, 4), np.array([1e-3, 2e-3, 3e-3, 4e-3])
    b = noisy(rng, seen(unit(rng.normal(size=(10, 4))), r), sigma)
    q, cov = wahba(b, r, sigma, method)
    for scale in (1e-300, 7.0, 1e300):
        again, _ = wahba(scale * b, r / scale, sigma, method)
        assert qn.angle_between(again, q).max() <= 50 * EPS
    _, larger = wahba(b, r, 10.0 * sigma, method)
    np.testing.assert_allclose(larger, 100.0 * cov, rtol=1e-12)
    order = [2, 0, 3, 1]
    again, same = wahba(b[:, order], r[:, order], sigma[order], method)
    assert qn.angle_between(again, q).max() <= 50 * EPS
    np.testing.assert_allclose(same, cov, rtol=0, atol=1e-12 * cov.max())


@pytest.mark.parametrize("method", METHODS)
def test_turning_the_axes_turns_the_answer(rng, method):
    r, sigma = separated(rng, 10, 3), [1e-3, 1e-2, 1e-2]
    b = noisy(rng, seen(unit(rng.normal(size=(10, 4))), r), sigma)
    q, cov = wahba(b, r, sigma, method)
    p = unit(rng.normal(size=4))
    R = qn.to_matrix(p)
    turned, same = wahba(b, r @ R.T, sigma, method)  # other inertial axes
    assert qn.angle_between(turned, qn.product(p, q)).max() <= 50 * EPS
    np.testing.assert_allclose(same, cov, rtol=0, atol=1e-12 * cov.max())
    turned, other = wahba(b @ R.T, r, sigma, method)  # other body axes
    assert qn.angle_between(turned, qn.product(q, qn.conjugate(p))).max() <= 50 * EPS
    np.testing.assert_allclose(other, R @ cov @ R.T, rtol=0, atol=1e-12 * cov.max())


# ------------------------------------------------------------------ batches
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 5])
def test_batches_equal_singles(rng, method, n):
    sigma = rng.uniform(1e-3, 1e-1, size=n)
    r = separated(rng, 100, n)
    b = noisy(rng, seen(unit(rng.normal(size=(100, 4))), r), sigma)
    q, cov = wahba(b, r, sigma, method)
    assert q.shape == (100, 4)
    assert cov.shape == (100, 3, 3)
    for k in range(100):
        one, its = wahba(b[k], r[k], sigma, method)
        np.testing.assert_array_equal(one, q[k])
        np.testing.assert_array_equal(its, cov[k])


def test_triad_batches_equal_singles(rng):
    r = separated(rng, 100, 2)
    b = noisy(rng, seen(unit(rng.normal(size=(100, 4))), r), [0.1, 0.01])
    q, cov = triad_with_covariance(b[:, 0], b[:, 1], r[:, 0], r[:, 1], (0.1, 0.01))
    assert q.shape == (100, 4)
    assert cov.shape == (100, 3, 3)
    for k in range(100):
        one, its = triad_with_covariance(*b[k], *r[k], (0.1, 0.01))
        np.testing.assert_array_equal(one, q[k])
        np.testing.assert_array_equal(its, cov[k])


def test_empty_batches():
    q, cov = wahba(np.empty((0, 3, 3)), np.empty((0, 3, 3)), 0.1)
    assert q.shape == (0, 4)
    assert cov.shape == (0, 3, 3)
    assert triad(*[np.empty((0, 3))] * 4).shape == (0, 4)


def test_inputs_are_left_alone_and_any_layout_will_do(rng):
    r = separated(rng, 6, 3)
    b = seen(unit(rng.normal(size=(6, 4))), r)
    kept = b.copy(), r.copy()
    expected = wahba(b, r, 0.1)[0]
    np.testing.assert_array_equal(wahba(np.asfortranarray(b), r.tolist(), 0.1)[0], expected)
    np.testing.assert_array_equal(wahba(b[::-1], r[::-1], 0.1)[0][::-1], expected)
    np.testing.assert_array_equal((b, r), kept)
    assert wahba(np.eye(3, dtype=int)[:2], np.eye(3, dtype=np.float32)[:2], 1)[0].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_one_signature_each():
    warm_up()
    wahba(np.eye(3, dtype=np.float32), np.eye(3).tolist(), np.array([1, 2, 3]), "svd")
    triad([1, 0, 0], (0, 1, 0), np.eye(3)[0], np.eye(3)[1], sigma=[1, 2])
    assert len(module.wahba_rows.signatures) == 1
    assert len(module.triad_rows.signatures) == 1


# ------------------------------------------------------------------ limits
@pytest.mark.parametrize("sharp", [1e-8, 1e-16, 1e-30])
def test_weak_information_survives_strong(rng, sharp):
    """A vector so sharp that SciPy loses all of the azimuth, unless it is told that the vector is exact."""
    r = separated(rng, 5, 3)
    sigma = np.array([sharp, 1.0, 0.5])
    b = noisy(rng, seen(unit(rng.normal(size=(5, 4))), r), [1e-8, 0.1, 0.1])
    exact = align(b, r, [0.0, 1.0, 0.5])  # infinite weight; the two differ by (sharp / 1)² · 0.1
    for method in METHODS:
        q, cov = wahba(b, r, sigma, method)
        assert qn.angle_between(q, exact).max() <= 1e-14
        azimuth = np.einsum("mi,mij,mj->m", unit(b[:, 0]), cov, unit(b[:, 0]))
        told = np.sum(np.cross(r[:, :1], r[:, 1:]) ** 2 / sigma[1:, None] ** 2, axis=(1, 2))
        np.testing.assert_allclose(azimuth, 1.0 / told, rtol=1e-12)
    assert qn.angle_between(align(b, r, sigma), exact).max() > 1e-3


def test_sigmas_of_a_star_tracker_and_a_magnetometer(rng):
    """1e-5 and 1e-1 rad: SciPy keeps 8 digits; ours all, and the two agree to what SciPy keeps."""
    r = separated(rng, 20, 2)
    b = noisy(rng, seen(unit(rng.normal(size=(20, 4))), r), [1e-5, 1e-1])
    textbook = align(b, r, [1e-5, 1e-1])
    for method in METHODS:
        q, _ = wahba(b, r, [1e-5, 1e-1], method)
        assert max(exact_newton_step(*case, [1e-5, 1e-1]) for case in zip(q, b, r, strict=True)) <= 1e-12
        assert qn.angle_between(q, textbook).max() <= 1e-6  # 1e-16 · 1e8 over the squared sine 0.04
    assert qn.angle_between(q, textbook).max() > 1e-12


def test_quest_hands_over_when_the_noise_is_large(rng):
    """Errors as large as the angles: QUEST's own root search gives up for some, Davenport's answer is returned."""
    b, r = unit(rng.normal(size=(2, 300, 6, 3)))
    q, _ = wahba(b, r, 1.0, "quest")
    reference, _ = wahba(b, r, 1.0, "davenport")
    gaps = np.array([gap(*pair) for pair in zip(b, r, strict=True)])
    assert qn.angle_between(q, reference)[gaps > 1e-3].max() <= 1e-10
    assert qn.angle_between(q, align(b, r, 1.0))[gaps > 1e-3].max() <= 1e-10
    assert np.count_nonzero(gaps > 1e-3) > 290
    M, out = np.empty((4, 4)), np.empty(4)
    alone = 0
    for k in range(300):
        module._loss_matrix(b[k], r[k], np.ones(6), M)
        alone += module._quest(M, out)
    assert 0 < alone < 300


def gap(b, r):
    """Distance of the two largest eigenvalues of Davenport's matrix, over the sum of the weights."""
    B = r.T @ b
    K = np.zeros((4, 4))
    K[:3, :3] = B + B.T - np.trace(B) * np.eye(3)
    K[:3, 3] = K[3, :3] = np.sum(np.cross(b, r), axis=0)
    K[3, 3] = np.trace(B)
    values = np.linalg.eigvalsh(K)
    return (values[3] - values[2]) / len(b)


def test_loss_matrix_is_davenports(rng):
    b, r = unit(rng.normal(size=(2, 5, 3)))
    weight = rng.uniform(0.1, 1.0, size=5)
    M = np.empty((4, 4))
    module._loss_matrix(b, r, weight, M)
    for q in unit(rng.normal(size=(10, 4))):
        assert q @ M @ q == pytest.approx(loss(q, b, r, 1.0 / np.sqrt(weight)), rel=1e-13)


def test_eigenvectors_against_lapack(rng):
    for scale in (np.ones(4), np.array([1.0, 1e-2, 1e-4, 1e-6])):
        A = rng.normal(size=(4, 6)) * scale[:, None]
        M = A @ A.T
        D, V = M.copy(), np.empty((4, 4))
        module._eigen(D, V)
        np.testing.assert_allclose(np.sort(np.diagonal(D)), np.linalg.eigvalsh(M), rtol=0, atol=10 * EPS * M.max())
        np.testing.assert_allclose(V.T @ V, np.eye(4), rtol=0, atol=20 * EPS)
        np.testing.assert_allclose(V * np.diagonal(D) @ V.T, M, rtol=0, atol=20 * EPS * M.max())


@pytest.mark.parametrize("method", METHODS)
def test_parallel_limit(method):
    """Just inside the limit is an answer, just outside an error, whatever the sigmas."""
    for sigma in (1e-3, [1e-5, 1e-1]):
        pair = np.array([[1.0, 0.0, 0.0], [math.cos(1.01 * PARALLEL), math.sin(1.01 * PARALLEL), 0.0]])
        q, _ = wahba(pair, pair, sigma, method)
        assert qn.angle_between(q, [0.0, 0.0, 0.0, 1.0]) <= 10 * EPS / PARALLEL
        pair[1] = [-math.cos(0.99 * PARALLEL), math.sin(0.99 * PARALLEL), 0.0]  # antiparallel is parallel
        with pytest.raises(ValueError, match="parallel"):
            wahba(pair, pair, sigma, method)


@pytest.mark.parametrize("method", METHODS)
def test_a_third_vector_mends_two_parallel_ones(method):
    b = np.array([[1.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    q, cov = wahba(b, b, [1e-5, 1e-4, 1e-1], method)
    assert qn.angle_between(q, [0.0, 0.0, 0.0, 1.0]) <= 4 * EPS
    assert cov[0, 0] == pytest.approx(1e-2)  # only the weak vector tells the angle about x


# ------------------------------------------------------------------ bad input
AXES = np.eye(3)
NAN = [[1.0, 0.0, 0.0], [0.0, math.nan, 1.0], [0.0, 0.0, 1.0]]
ZERO = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
LINE = [[1.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [3.0, 1e-9, 0.0]]
BAD_SETS = [
    ((AXES[:1], AXES[:1], 0.1), "b must hold at least two vectors, got 1"),
    ((AXES[:0], AXES[:0], 0.1), "b must hold at least two vectors, got 0"),
    ((AXES, AXES[:2], 0.1), r"r must have the shape of b, \(3, 3\), got \(2, 3\)"),
    ((AXES[None], AXES, 0.1), "r must have the shape of b"),
    ((AXES[0], AXES[0], 0.1), r"b must have shape \(N, 3\) or \(M, N, 3\), got \(3,\)"),
    ((np.ones((2, 4)), np.ones((2, 4)), 0.1), "b must have shape"),
    (([[1, 0, 0], [1, 0]], AXES, 0.1), "b must have shape"),
    ((AXES, [[1, 0, 0], [1, 0]], 0.1), "r must have the shape of b"),
    (([["a", "b", "c"]] * 2, AXES[:2], 0.1), "b must be an array of numbers"),
    ((None, AXES, 0.1), "b must have shape"),
    ((NAN, AXES, 0.1), r"b must be finite, got nan at index \[1, 1\]"),
    ((AXES, NAN, 0.1), "r must be finite"),
    ((ZERO, AXES, 0.1), r"b must not hold a vector of zero length, got one at index \[1\]"),
    ((AXES, ZERO, 0.1), "r must not hold a vector of zero length"),
    ((np.array([AXES, AXES, ZERO]), np.array([AXES] * 3), 0.1), r"b must not hold .* at index \[2, 1\]"),
    ((LINE, AXES, 0.1), "b must hold two vectors more than 1e-05 rad from parallel"),
    ((AXES, LINE, 0.1), "r must hold two vectors more than 1e-05 rad from parallel"),
    ((np.array([AXES, LINE]), np.array([AXES] * 2), 0.1), r"b\[1\] must hold two vectors"),
    ((AXES, -AXES, 0.1), "b and r must determine one attitude"),
    ((AXES[[0, 0, 1]], AXES[[0, 1, 0]], 0.1), "b and r must determine one attitude"),
    ((AXES, AXES, 0.0), "sigma must be greater than zero, .*got 0.0 at index 0"),
    ((AXES, AXES, [0.1, -0.1, 0.1]), "sigma must be greater than zero, .*got -0.1 at index 1"),
    ((AXES, AXES, 1e-200), "sigma must be greater than zero, from 1e-30 to 1e"),
    ((AXES, AXES, math.inf), "sigma must be finite"),
    ((AXES, AXES, [0.1, math.nan, 0.1]), "sigma must be finite"),
    ((AXES, AXES, [0.1, 0.1]), r"sigma must have shape \(3,\), got \(2,\)"),
    ((AXES, AXES, "wide"), "sigma must be a number"),
    ((AXES, AXES, None), "sigma must be a number"),
]


@pytest.mark.parametrize(("given", "message"), BAD_SETS)
@pytest.mark.parametrize("method", METHODS)
def test_bad_sets(given, message, method):
    with pytest.raises(ValueError, match=message):
        wahba(*given, method)


@pytest.mark.parametrize("method", ["QUEST", "triad", "", None, 1])
def test_unknown_method(method):
    with pytest.raises(ValueError, match="method must be one of quest, davenport, svd, got"):
        wahba(AXES, AXES, 0.1, method)


X, Y, Z = AXES
BAD_PAIRS = [
    ((X, X, X, Y), "b1 and b2 must differ in direction by more than 1e-05 rad"),
    ((X, Y, X, -3.0 * X), "r1 and r2 must differ in direction"),
    ((X, 0.0 * Y, X, Y), "b2 must not have zero length"),
    ((X, Y, 0.0 * X, Y), "r1 must not have zero length"),
    ((X, Y, X, [math.inf, 0.0, 0.0]), "r2 must be finite"),
    ((X, [Y, Y], X, Y), r"b2 must have the shape of b1, \(3,\), got \(2, 3\)"),
    ((X[:2], Y, X, Y), r"b1 must have shape \(3,\) or \(M, 3\), got \(2,\)"),
    (([X, X], [Y, X], [X, X], [Y, Y]), r"b1\[1\] and b2\[1\] must differ"),
    (([X, X], [Y, Y], [X, X], [Y, 0.0 * Y]), r"r2 must not have zero length, got a zero vector in row \[1\]"),
]


@pytest.mark.parametrize(("given", "message"), BAD_PAIRS)
def test_bad_pairs(given, message):
    with pytest.raises(ValueError, match=message):
        triad(*given)


@pytest.mark.parametrize("sigma", [0.0, -1.0, (0.1, 0.0), (0.1, math.nan), (0.1, 0.1, 0.1), "x", ()])
def test_bad_sigma_of_triad(sigma):
    with pytest.raises(ValueError, match="sigma must"):
        triad_with_covariance(X, Y, X, Y, sigma)
