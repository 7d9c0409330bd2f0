"""Small linear algebra against NumPy's LAPACK: backward errors, pivoting, statuses, aliasing."""

import numpy as np
import pytest

from attitude.core.linalg import OK, SINGULAR, cholesky, cholesky_solve, inverse3, solve3, solve_in_place

EPS = np.finfo(float).eps
SIZES = (1, 3, 6, 9)


def general(rng, n):
    return rng.normal(size=(n, n))


def positive(rng, n):
    """Symmetric positive definite, eigenvalues from 1e-3 to 1e3."""
    axes, _ = np.linalg.qr(general(rng, n))
    A = (axes * np.logspace(-3, 3, n)) @ axes.T
    return 0.5 * (A + A.T)


def forward_bound(A, factor=50):
    """Error of a stable solution relative to its size: condition number times roundoff, a growth factor allowed."""
    return factor * EPS * np.linalg.cond(A)


# ------------------------------------------------------------------ 3×3 by cofactors
def test_solve3_against_numpy():
    rng = np.random.default_rng(1)
    for _ in range(500):
        A, b = general(rng, 3), rng.normal(size=3)
        *u, det = solve3(*A.ravel(), *b)
        expected = np.linalg.solve(A, b)
        # cofactors are not backward stable: the error may carry the condition number twice
        assert np.linalg.norm(u - expected) <= 50 * EPS * np.linalg.cond(A) ** 2 * np.linalg.norm(expected)
        assert abs(det - np.linalg.det(A)) <= 20 * EPS * np.linalg.norm(A) ** 3


def test_inverse3_against_numpy():
    rng = np.random.default_rng(2)
    for _ in range(500):
        A = general(rng, 3)
        inverse = np.reshape(inverse3(*A.ravel()), (3, 3))
        expected = np.linalg.inv(A)
        assert np.linalg.norm(inverse - expected) <= 50 * EPS * np.linalg.cond(A) ** 2 * np.linalg.norm(expected)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_permutations_are_exact(order):
    """Zeros on the diagonal, every sign of the determinant."""
    A = np.eye(3)[list(order)]
    *u, det = solve3(*A.ravel(), 1.0, 2.0, 3.0)
    np.testing.assert_array_equal(A @ u, [1.0, 2.0, 3.0])
    assert det == round(np.linalg.det(A))
    np.testing.assert_array_equal(np.reshape(inverse3(*A.ravel()), (3, 3)), A.T)


def test_singular_3x3_shows_in_the_determinant_and_is_not_finite():
    A = [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 1.0, 1.0]  # small whole numbers: no rounding
    *u, det = solve3(*A, 1.0, 1.0, 1.0)
    assert det == 0.0
    assert not np.isfinite(u).all()
    assert not np.isfinite(inverse3(*A)).all()


def test_not_a_number_3x3_shows_in_the_determinant():
    assert np.isnan(solve3(1.0, 0.0, 0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0)[3])


# ------------------------------------------------------------------ Cholesky
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_against_numpy(n):
    rng = np.random.default_rng(3)
    for _ in range(50):
        A = positive(rng, n)
        given, L = A.copy(), np.full((n, n), np.nan)
        assert cholesky(given, L) == OK
        np.testing.assert_array_equal(given, A)
        np.testing.assert_array_equal(np.triu(L, 1), 0.0)
        assert np.linalg.norm(L @ L.T - A) <= 4 * n * EPS * np.linalg.norm(A)  # backward stable
        expected = np.linalg.cholesky(A)
        assert np.linalg.norm(L - expected) <= forward_bound(A) * np.linalg.norm(expected)


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_in_place_reads_the_lower_half_only(n):
    A = positive(np.random.default_rng(4), n)
    L = np.empty((n, n))
    cholesky(A, L)
    room = np.tril(A) + np.triu(np.full((n, n), np.nan), 1)
    assert cholesky(room, room) == OK
    np.testing.assert_array_equal(room, L)


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_solve_against_numpy(n):
    rng = np.random.default_rng(5)
    for _ in range(50):
        A, b = positive(rng, n), rng.normal(size=n)
        L, x = np.empty((n, n)), np.full(n, np.nan)
        cholesky(A, L)
        cholesky_solve(L, b, x)
        expected = np.linalg.solve(A, b)
        assert np.linalg.norm(x - expected) <= forward_bound(A) * np.linalg.norm(expected)
        in_place = b.copy()
        cholesky_solve(L, in_place, in_place)
        np.testing.assert_array_equal(in_place, x)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("where", ["first", "last"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, -np.inf])
def test_cholesky_says_when_it_cannot(n, where, value):
    A = np.eye(n)
    A[0 if where == "first" else -1, 0 if where == "first" else -1] = value
    assert cholesky(A, np.empty((n, n))) == SINGULAR
    assert cholesky(A, A) == SINGULAR


def test_cholesky_notices_not_a_number_off_the_diagonal():
    A = np.eye(6)
    A[4, 1] = np.nan
    assert cholesky(A, np.empty((6, 6))) == SINGULAR


def test_cholesky_of_an_indefinite_matrix_with_a_positive_diagonal():
    A = np.eye(3)
    A[1, 0] = A[0, 1] = 2.0
    assert cholesky(A, np.empty((3, 3))) == SINGULAR
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(A)


# ------------------------------------------------------------------ elimination
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", [1, 2, 9])
def test_solve_in_place_against_numpy(n, m):
    rng = np.random.default_rng(6)
    for _ in range(50):
        A, B = general(rng, n), rng.normal(size=(n, m))
        X = B.copy()
        assert solve_in_place(A.copy(), X) == OK
        expected = np.linalg.solve(A, B)
        assert np.linalg.norm(X - expected) <= forward_bound(A) * np.linalg.norm(expected)
        residual = np.linalg.norm(A @ X - B)
        assert residual <= 20 * n * EPS * np.linalg.norm(A) * np.linalg.norm(X)  # backward stable


@pytest.mark.parametrize("n", SIZES)
def test_pivoting_is_needed_and_done(n):
    """A zero, or a grain of dust, where the first pivot would be."""
    rng = np.random.default_rng(7)
    for dust in (0.0, 1e-18):
        A = general(rng, n) if n > 1 else np.ones((1, 1))
        if n > 1:
            A[0, 0] = dust
        B = rng.normal(size=(n, 2))
        X = B.copy()
        assert solve_in_place(A.copy(), X) == OK
        np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=0, atol=forward_bound(A) * np.abs(X).max())
    P = np.eye(n)[rng.permutation(n)]
    X = B.copy()
    assert solve_in_place(P.copy(), X) == OK
    np.testing.assert_array_equal(X, P.T @ B)


@pytest.mark.parametrize("n", SIZES)
def test_elimination_by_a_scaled_identity_is_exact(n):
    X = np.eye(n)
    assert solve_in_place(4.0 * np.eye(n), X) == OK
    np.testing.assert_array_equal(X, 0.25 * np.eye(n))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["zero", "zero column", "zero row", "equal rows", "nan", "nan column"])
def test_elimination_says_when_it_cannot(n, kind):
    A = np.triu(np.ones((n, n)))  # stays whole numbers
    if kind == "zero":
        A[:] = 0.0
    elif kind == "zero column":
        A[:, -1] = 0.0
    elif kind == "zero row":
        A[-1] = 0.0
    elif kind == "equal rows":
        A[-1] = A[0] if n > 1 else 0.0
    elif kind == "nan":
        A[-1, -1] = np.nan
    else:
        A[:, 0] = np.nan
    assert solve_in_place(A, np.ones((n, 2))) == SINGULAR


@pytest.mark.parametrize("n", [2, 3, 6])
def test_not_a_number_below_a_good_pivot_is_noticed(n):
    """A comparison with NaN is false, so that it is never chosen as pivot: it must come out all the same."""
    for row in range(n):
        for column in range(n):
            A = np.eye(n) + 0.1
            A[row, column] = np.nan
            X = np.ones((n, 1))
            status = solve_in_place(A, X)
            assert status == SINGULAR, (row, column, X)
