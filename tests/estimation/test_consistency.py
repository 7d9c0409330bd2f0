"""Statistics of filters, on errors whose distribution is known."""

import subprocess
import sys

import numpy as np
import pytest
from filterpy.stats import NEES
from scipy.spatial.transform import Rotation
from scipy.stats import binom, chi2, kstest

from attitude.estimation import consistency as c

RUNS = 20_000


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def P(rng):
    """A covariance with strong correlations, scales from 1e-4 to 1."""
    root = rng.standard_normal((6, 6)) * np.logspace(-2, 0, 6)[:, None]
    return root @ root.T + 1e-6 * np.eye(6)


def draws(rng, P, *shape):
    return rng.standard_normal((*shape, len(P))) @ np.linalg.cholesky(P).T


def first_order(rng, a, *shape):
    """Stationary sequences of unit variance and correlation `a^lag`."""
    x = rng.standard_normal(shape)
    for k in range(1, shape[1]):
        x[:, k] = a * x[:, k - 1] + np.sqrt(1.0 - a * a) * x[:, k]
    return x


# ------------------------------------------------------------------ errors and their squares
def test_attitude_error_is_the_body_frame_rotation_vector(rng):
    estimate, turn = Rotation.random(50, random_state=1), rng.standard_normal((50, 3))
    truth = estimate * Rotation.from_rotvec(turn)
    theta = c.attitude_error(estimate.as_quat(), truth.as_quat())
    np.testing.assert_allclose(theta, turn, atol=1e-14)  # rad: a few roundings of numbers near 1
    np.testing.assert_allclose(c.attitude_error(-estimate.as_quat(), truth.as_quat()), turn, atol=1e-14)


def test_attitude_error_of_runs_and_times():
    q = np.tile([0.0, 0.0, 0.0, 1.0], (4, 7, 1))
    assert c.attitude_error(q, q[0]).shape == (4, 7, 3)


def test_nees_is_filterpys(rng, P):
    truth, estimates = draws(rng, P, 40), draws(rng, P, 40)
    ours = c.nees(truth - estimates, P)
    np.testing.assert_allclose(ours, NEES(truth, estimates, [P] * 40), rtol=1e-6)  # it inverts P, condition 1e6


def test_nees_of_errors_drawn_from_P_is_chi_square(rng, P):
    values = c.nees(draws(rng, P, 200, 100), np.broadcast_to(P, (200, 100, 6, 6)))
    assert values.shape == (200, 100)
    assert kstest(values.ravel(), chi2(6).cdf).pvalue > 0.01


def test_nis_is_the_square_of_the_whitened_innovation(rng, P):
    y = draws(rng, P, RUNS)
    white = c.whitened(y, P)
    np.testing.assert_allclose(c.nis(y, P), np.sum(white**2, axis=-1), rtol=1e-12)
    # each entry of a sample covariance is known to sqrt(2 / runs) at most; five times that
    np.testing.assert_allclose(white.T @ white / RUNS, np.eye(6), atol=5 * np.sqrt(2 / RUNS))


@pytest.mark.parametrize(
    ("error", "P", "message"),
    [
        (np.zeros(3), np.eye(2), "P must have shape"),
        (0.0, np.eye(2), "P must have shape"),
        (np.zeros(2), np.ones(2), "P must have shape"),
        (np.zeros(2), -np.eye(2), "P must be positive definite"),
        (np.full(2, np.nan), np.eye(2), "error and P must be finite"),
        (np.zeros(2), np.full((2, 2), np.nan), "error and P must be finite"),
    ],
)
def test_bad_errors_and_covariances(error, P, message):
    with pytest.raises(ValueError, match=message):
        c.nees(error, P)


# ------------------------------------------------------------------ intervals
def test_mean_interval_against_tables():
    """Chi-square table, 100 degrees of freedom: 74.222 at 0.025, 129.561 at 0.975."""
    assert c.mean_interval(2, 50) == pytest.approx((74.222 / 50, 129.561 / 50), abs=1e-5)
    assert c.mean_interval(1, 1, 0.9)[1] == pytest.approx(3.841, abs=5e-4)  # 0.95 quantile, printed digits


def test_means_lie_in_their_interval_as_often_as_they_should(rng):
    means = chi2(6).rvs(size=(2000, 30), random_state=rng).mean(axis=1)
    inside = c.share_inside(means, c.mean_interval(6, 30))
    low, high = binom(2000, 0.95).ppf([1e-4, 1 - 1e-4]) / 2000
    assert low <= inside <= high


@pytest.mark.parametrize("scale", [0.8, 1.25])
def test_a_filter_that_misjudges_itself_falls_outside(rng, P, scale):
    mean = c.nees(draws(rng, P, 200), scale**2 * P).mean()
    low, high = c.mean_interval(6, 200)
    assert not low <= mean <= high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 5), "dof"), ((3, 0), "count"), ((3, 5, 0.0), "confidence"), ((3, 5, 1.0), "confidence")],
)
def test_bad_intervals(arguments, message):
    with pytest.raises(ValueError, match=f"{message} must"):
        c.mean_interval(*arguments)


# ------------------------------------------------------------------ correlation over time
def test_autocorrelation_of_known_sequences(rng):
    alternating = np.tile([1.0, -1.0], (3, 10))
    np.testing.assert_allclose(c.autocorrelation(alternating, 3), [1, -1, 1, -1], rtol=1e-15)
    rho = c.autocorrelation(first_order(rng, 0.8, 400, 500), 10)
    np.testing.assert_allclose(rho, 0.8 ** np.arange(11), atol=0.02)  # 2e5 values, each worth a ninth of one


def test_white_innovations_stay_in_the_bound_and_coloured_ones_do_not(rng):
    white, coloured = rng.standard_normal((20, 500, 4)), first_order(rng, 0.1, 20, 500, 4)
    bound = c.whiteness_bound(20 * 480 * 4, 1.0 - 0.05 / 20)
    assert np.abs(c.autocorrelation(white, 20)[1:]).max() < bound
    assert c.autocorrelation(coloured, 20)[1] > bound


def test_whiteness_bound_against_tables():
    assert c.whiteness_bound(10_000) == pytest.approx(0.0196, abs=5e-5)  # 1.96 / 100


@pytest.mark.parametrize("a", [0.0, 0.5, 0.9])
def test_effective_count_of_a_first_order_sequence(rng, a):
    x = first_order(rng, a, 400, 1000)
    expected = x.size * (1.0 - a) / (1.0 + a)
    assert c.effective_count(x, 100) == pytest.approx(expected, rel=0.1)  # 200 noisy correlations are added up
    variance = np.var(first_order(rng, a, 4000, 1000).mean(axis=1))  # of one sequence's mean
    assert c.effective_count(x, 100) / 400 == pytest.approx(1.0 / variance, rel=0.15)


@pytest.mark.parametrize(
    ("values", "lags", "message"),
    [
        (np.ones(5), 1, r"\(R, N\)"),
        (np.ones((2, 5)), 5, "below the number of times"),
        (np.ones((2, 5)), -1, "lags must"),
        (np.zeros((2, 5)), 1, "not all zero"),
        (np.full((2, 5), np.nan), 1, "finite"),
    ],
)
def test_bad_sequences(values, lags, message):
    with pytest.raises(ValueError, match=message):
        c.autocorrelation(values, lags)


# ------------------------------------------------------------------ covariance against spread
def test_spread_ratio_is_one_for_errors_drawn_from_P(rng, P):
    errors = draws(rng, P, RUNS)
    sigma = 1.0 / np.sqrt(2 * RUNS)  # of a standard deviation from so many draws
    np.testing.assert_allclose(c.spread_ratio(errors, P), 1.0, atol=5 * sigma)
    edge = np.sqrt(6 / RUNS)  # extreme eigenvalues of a sample covariance: (1 ± edge)²
    np.testing.assert_allclose(c.principal_spread_ratio(errors, P), 1.0, atol=2 * edge)
    np.testing.assert_allclose(c.spread_ratio(2.0 * errors, P), 2.0, atol=10 * sigma)


def test_a_bias_counts_as_spread(rng, P):
    errors = draws(rng, P, RUNS) + np.sqrt(3.0 * np.diagonal(P))
    np.testing.assert_allclose(c.spread_ratio(errors, P), 2.0, atol=0.05)


def test_wrong_correlations_show_along_the_principal_directions(rng):
    predicted, true = np.array([[1.0, 0.9], [0.9, 1.0]]), np.eye(2)
    errors = draws(rng, true, RUNS)
    np.testing.assert_allclose(c.spread_ratio(errors, predicted), 1.0, atol=0.03)
    # along [1, 1] and [1, −1] P has 1.9 and 0.1
    np.testing.assert_allclose(c.principal_spread_ratio(errors, predicted), [1.9**-0.5, 0.1**-0.5], rtol=0.03)


def test_one_run_has_no_spread():
    with pytest.raises(ValueError, match="at least two runs"):
        c.spread_ratio(np.zeros((1, 6)), np.eye(6))


def test_scipy_is_loaded_only_when_a_quantile_is_asked_for():
    code = "import sys; import attitude.estimation.consistency; print('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
