"""The preprocessed inertia: every shipped coefficient derived anew, exactly, from the free motion; then the kernels.

Derivation, with rationals only: expand the exact motion from the identity attitude in powers of h; the increment
equation `p = (2/h)(w J̃φ + φ × J̃φ)` is linear in J̃, so solve it for the diagonal J̃ order by order; two components of
J̃⁻¹ give s and d, the third must agree; fit symmetric polynomials of the right weight to more bodies and states than
unknowns.
"""

import random
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from attitude.dynamics import preprocessed
from attitude.dynamics.preprocessed import modified, modified_with_slopes, series, terms

KS = range(1, 6)
N = 2 * max(KS)  # highest power of h in J̃
TABLES = {"s": preprocessed.S, "d": preprocessed.D}


# ------------------------------------------------------------------ power series in h, exact
def convolve(a, b, n):
    """Coefficient n of the product of two series."""
    return sum((a[i] * b[n - i] for i in range(n + 1)), Fraction(0))


def times(a, b):
    return [convolve(a, b, n) for n in range(min(len(a), len(b)))]


def reciprocal(a):
    out = [1 / a[0]]
    for n in range(1, len(a)):
        out.append(-sum(a[i] * out[n - i] for i in range(1, n + 1)) / a[0])
    return out


def free_motion(I, p0):
    """Series of the quaternion x, y, z, w to h^(N + 1), from the identity: p' = p × ω, q' = ½ q ⊗ [ω, 0]."""
    p = [[Fraction(c)] for c in p0]
    w = [[Fraction(c) / m] for c, m in zip(p0, I, strict=True)]
    x, y, z, e = q = [[Fraction(c)] for c in (0, 0, 0, 1)]
    for n in range(N + 1):
        q_slope = (
            convolve(e, w[0], n) + convolve(y, w[2], n) - convolve(z, w[1], n),
            convolve(e, w[1], n) + convolve(z, w[0], n) - convolve(x, w[2], n),
            convolve(e, w[2], n) + convolve(x, w[1], n) - convolve(y, w[0], n),
            -convolve(x, w[0], n) - convolve(y, w[1], n) - convolve(z, w[2], n),
        )
        p_slope = [convolve(p[i - 2], w[i - 1], n) - convolve(p[i - 1], w[i - 2], n) for i in range(3)]
        for c, slope in zip(q, q_slope, strict=True):
            c.append(slope / (2 * (n + 1)))
        for i in range(3):
            p[i].append(p_slope[i] / (n + 1))
            w[i].append(p[i][-1] / I[i])
    return q


def modified_inertia(I, p0):
    """Series of the diagonal J̃ for which one step of the integrator is the exact motion."""
    *xyz, e = free_motion(I, p0)
    psi = [c[1:] for c in xyz]  # φ = h ψ
    own = [times(e, c) for c in psi]
    coupling = [[Fraction(0), *times(psi[i - 2], psi[i - 1])] for i in range(3)]
    J = [[Fraction(m)] for m in I]
    for n in range(1, N + 1):
        # component i: w ψ_i J_i + h ψ_{i+1} ψ_{i+2} (J_{i+2} − J_{i+1}) = p_i / 2, whose right side has no power of h
        known = [
            sum(own[i][m] * J[i][n - m] for m in range(1, n + 1))
            + sum(coupling[i][m] * (J[i - 1][n - m] - J[i - 2][n - m]) for m in range(1, n + 1))
            for i in range(3)
        ]
        for i in range(3):
            J[i].append(-known[i] / own[i][0])
    return J


@cache
def derived(I, p0):
    """Exact `{"s": [s_1 … s_5], "d": [d_1 … d_5]}` of a body and a state."""
    inverse = [reciprocal(c) for c in modified_inertia(I, p0)]
    assert [c[0] for c in inverse] == [Fraction(1, m) for m in I]
    s = [(a - b) / (Fraction(1, I[0]) - Fraction(1, I[1])) for a, b in zip(inverse[0], inverse[1], strict=True)]
    d = [a - b / I[0] for a, b in zip(inverse[0], s, strict=True)]
    assert [b / I[2] + c for b, c in zip(s, d, strict=True)] == inverse[2]  # the third component, not used above
    assert not any(s[1::2])  # the integrator is symmetric in time: even powers only
    assert not any(d[1::2])
    return {"s": s[2::2], "d": d[2::2]}


# ------------------------------------------------------------------ the table, exact
def invariants(I, p0):
    return sum(Fraction(c * c) / (2 * m) for c, m in zip(p0, I, strict=True)), Fraction(sum(c * c for c in p0), 2)


def elementary(I):
    return sum(I), I[0] * I[1] + I[1] * I[2] + I[2] * I[0], prod(I)


def coefficient(table, k, j, I):
    """Factor of H^j C^(k−j), as the comment above the table defines it."""
    e1, e2, e3 = map(Fraction, elementary(I))
    return sum(Fraction(n, m) * e1**a * e2**b * e3 ** (c - k) for n, m, a, b, c in table[k, j])


def shipped(table, k, I, H, C):
    return sum(coefficient(table, k, j, I) * H**j * C ** (k - j) for j in range(k + 1))


def random_body(rng):
    denominator = rng.randint(2, 9)  # one for all three: s and d are told apart only where the moments differ
    return tuple(Fraction(c, denominator) for c in rng.sample(range(10, 40), 3))


def random_state(rng):
    return tuple(Fraction(rng.choice([-1, 1]) * rng.randint(1, 20), rng.randint(1, 9)) for _ in range(3))


@pytest.mark.parametrize("seed", range(8))
def test_table_is_the_exact_motion_at_random_bodies_and_states(seed):
    rng = random.Random(seed)
    I, p0 = random_body(rng), random_state(rng)
    H, C = invariants(I, p0)
    for name, table in TABLES.items():
        assert [shipped(table, k, I, H, C) for k in KS] == derived(I, p0)[name]


def test_first_term_is_that_of_hairer_and_vilmart():
    for I in [(1, 2, 3), (5, 7, 11)]:
        e1, e2, e3 = map(Fraction, elementary(I))
        factors = [coefficient(table, 1, j, I) for table in (preprocessed.S, preprocessed.D) for j in (1, 0)]
        assert factors == [-e2 / (3 * e3), e1 / (6 * e3), e1 / (6 * e3), -1 / (3 * e3)]


# ------------------------------------------------------------------ the fit
def solve_exactly(rows, values):
    """The one solution of an overdetermined rational system; fails unless it exists and is unique."""
    matrix = [[*map(Fraction, row), Fraction(value)] for row, value in zip(rows, values, strict=True)]
    unknowns = len(rows[0])
    assert len(rows) > unknowns
    for column in range(unknowns):
        pivot = next(i for i in range(column, len(matrix)) if matrix[i][column])
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        lead = matrix[column][column]
        matrix[column] = [c / lead for c in matrix[column]]
        for i, row in enumerate(matrix):
            if i != column and row[column]:
                matrix[i] = [a - row[column] * b for a, b in zip(row, matrix[column], strict=True)]
    assert not any(row[-1] for row in matrix[unknowns:]), "inconsistent"
    return [row[-1] for row in matrix[:unknowns]]


def monomials(weight):
    """All e1^a e2^b e3^c of a weight, not only those that the table has."""
    powers = product(range(weight + 1), range(weight // 2 + 1), range(weight // 3 + 1))
    return [(a, b, c) for a, b, c in powers if a + 2 * b + 3 * c == weight]


BODIES = [
    (1, 2, 3), (1, 3, 5), (2, 3, 4), (1, 4, 7), (3, 5, 6), (2, 5, 9), (1, 6, 4), (4, 5, 7),
    (3, 7, 8), (1, 2, 8), (5, 6, 9), (2, 7, 3), (4, 9, 6), (1, 5, 9), (7, 8, 2), (3, 4, 9),
]  # fmt: skip
STATES = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (3, 1, 1), (1, 3, 1), (1, 1, 3), (3, 2, 1)]


def fitted(name, k):
    """`{(k, j): {(a, b, c): coefficient}}` from derived values alone: first over the states, then over the bodies."""
    by_body = []
    for I in BODIES:
        rows = [[H**j * C ** (k - j) for j in range(k + 1)] for H, C in (invariants(I, p0) for p0 in STATES)]
        by_body.append(solve_exactly(rows, [derived(I, p0)[name][k - 1] for p0 in STATES]))
    out = {}
    for j in range(k + 1):
        powers = monomials(k + j - (name == "d"))
        rows = [[prod(e**n for e, n in zip(elementary(I), abc, strict=True)) for abc in powers] for I in BODIES]
        fit = solve_exactly(rows, [f[j] * elementary(I)[2] ** k for f, I in zip(by_body, BODIES, strict=True)])
        out[k, j] = {abc: f for abc, f in zip(powers, fit, strict=True) if f}
    return out


@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", TABLES)
def test_table_is_the_fit(name, k):
    rows = {key: row for key, row in TABLES[name].items() if key[0] == k}
    assert {key: {(a, b, c): Fraction(n, m) for n, m, a, b, c in row} for key, row in rows.items()} == fitted(name, k)


# ------------------------------------------------------------------ series and kernels, against exact evaluation
MOMENTS = {"cubesat": (0.0312, 0.0457, 0.0519), "speck": (1.1e-6, 2.3e-6, 2.9e-6), "station": (0.9e6, 1.7e6, 2.2e6)}
RATE = np.array([0.7, -0.5, 0.9])  # rad/s, with h = 0.8 near the limit |ω| h < 1 of the series
STEP = 0.8
EPS = np.finfo(float).eps


def exact_terms(name, K, I):
    """`[(k, j, factor · h^2k)]` of s or d, exact, of a body given in floats."""
    I, hh = tuple(map(Fraction, I)), Fraction(STEP) ** 2
    return [(k, j, coefficient(TABLES[name], k, j, I) * hh**k) for k in range(1, K + 1) for j in range(k + 1)]


def exact_sum(values):
    """Sum, and the error that rounding may leave: under 32 operations touch a term, each within EPS of it."""
    values = list(values)
    return float(sum(values)), 32 * EPS * float(sum(map(abs, values)))


def float_state(I):
    return float(0.5 * np.sum(np.array(I) * RATE**2)), float(0.5 * np.sum((np.array(I) * RATE) ** 2))


@pytest.mark.parametrize("order", range(2, 13, 2))
@pytest.mark.parametrize("body", MOMENTS)
def test_series_is_the_table_rounded_once(body, order):
    K, I = terms(order), MOMENTS[body]
    for table, array in zip(TABLES.values(), series(I, order), strict=True):
        expected = np.zeros((5, 6))
        for k, j in [(k, j) for k, j in table if k <= K]:
            expected[k - 1, j] = float(coefficient(table, k, j, tuple(map(Fraction, I))))
        np.testing.assert_array_equal(array, expected)
        assert array.flags.c_contiguous


@pytest.mark.parametrize("K", range(6))
@pytest.mark.parametrize("body", MOMENTS)
def test_kernels_are_the_exact_sums_and_slopes(body, K):
    I = MOMENTS[body]
    H, C = float_state(I)
    X, Y = Fraction(H), Fraction(C)
    got = modified_with_slopes(K, *series(I, 2 * K + 2), STEP, H, C)
    for name, value, slope_H, slope_C in [("s", got[0], got[2], got[3]), ("d", got[1], got[4], got[5])]:
        parts = exact_terms(name, K, I)
        for ours, exact in [
            (value, (f * X**j * Y ** (k - j) for k, j, f in parts)),
            (slope_H, (f * j * X ** (j - 1) * Y ** (k - j) for k, j, f in parts if j > 0)),
            (slope_C, (f * (k - j) * X**j * Y ** (k - j - 1) for k, j, f in parts if j < k)),
        ]:
            total, tolerance = exact_sum(exact)
            assert abs(ours - total) <= tolerance


@pytest.mark.parametrize("K", range(6))
def test_both_kernels_agree_bit_for_bit_and_padding_changes_nothing(K):
    I = MOMENTS["cubesat"]
    arrays = series(I, 2 * K + 2)
    value = modified(K, *arrays, STEP, *float_state(I))
    assert value == modified_with_slopes(K, *arrays, STEP, *float_state(I))[:2]
    assert value == modified(5, *arrays, STEP, *float_state(I))


def test_a_body_at_rest_needs_no_correction():
    assert modified_with_slopes(5, *series((1.0, 2.0, 2.9), 12), STEP, 0.0, 0.0)[:2] == (0.0, 0.0)


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e6, 4e19])
def test_the_scale_of_the_body_does_not_matter(scale):
    """s does not depend on the unit of mass and d goes with its inverse, out to the ends of the allowed range."""
    unit, scaled = ((1.0, 2.0, 2.4), (scale, 2.0 * scale, 2.4 * scale))
    expected = modified_with_slopes(5, *series(unit, 12), STEP, *float_state(unit))
    got = modified_with_slopes(5, *series(scaled, 12), STEP, *float_state(scaled))
    powers = (0, -1, -1, -2, -2, -3)
    # 1e-13: the rounded moments of the scaled body enter through cancelling sums
    np.testing.assert_allclose(got, [e * scale**n for e, n in zip(expected, powers, strict=True)], rtol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 3, 14, 4.5, "4"])
def test_order_is_checked(order):
    with pytest.raises(ValueError, match="order must be one of"):
        series((1.0, 2.0, 3.0), order)


BAD_MOMENTS = [(1, 2), np.eye(3), (1, 2, 0), (1, -2, 3), (1, np.nan, 3), (1, np.inf, 3), (1e-21, 1, 1)]


@pytest.mark.parametrize("moments", BAD_MOMENTS)
def test_moments_are_checked(moments):
    with pytest.raises(ValueError, match="inertia_principal must"):
        series(moments, 4)


# ------------------------------------------------------------------ order of the integrator by slope
BODY, RATE_0, SPAN = np.array([1.0, 2.0, 2.9]), np.array([np.pi / 4, -np.pi / 5, np.pi / 6]), 8.0


def skew(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def increment(J, g):
    """Vector part φ of the increment: Newton on `w Jφ + φ × Jφ = g`."""
    phi = g / J
    for _ in range(8):
        w, a = np.sqrt(1.0 - phi @ phi), J * phi
        slope = w * np.diag(J) - np.outer(a, phi) / w + skew(phi) * J - skew(a)
        phi = phi - np.linalg.solve(slope, w * a + np.cross(phi, a) - g)
    return phi


def hamilton(q, f):
    (u, w), (v, e) = (q[:3], q[3]), (f[:3], f[3])
    return np.append(w * v + e * u + np.cross(u, v), w * e - u @ v)


def integrate(order, h):
    """Attitude after SPAN with the preprocessed step."""
    arrays, p, q = series(BODY, order), BODY * RATE_0, np.array([0.0, 0.0, 0.0, 1.0])
    for _ in range(round(SPAN / h)):
        s, d = modified(terms(order), *arrays, h, 0.5 * p @ (p / BODY), 0.5 * p @ p)
        phi = increment(1.0 / ((1.0 + s) / BODY + d), 0.5 * h * p)
        w = np.sqrt(1.0 - phi @ phi)
        p = p - 2.0 * np.cross(phi, w * p - np.cross(phi, p))  # R(f)ᵀ p
        q = hamilton(q, np.append(phi, w))
    return q


@pytest.fixture(scope="module")
def truth():
    def slope(_, y):
        omega = y[:3]
        return np.append(np.cross(BODY * omega, omega) / BODY, 0.5 * hamilton(y[3:], np.append(omega, 0.0)))

    start = np.concatenate([RATE_0, [0.0, 0.0, 0.0, 1.0]])
    return solve_ivp(slope, (0.0, SPAN), start, method="DOP853", rtol=1e-13, atol=1e-13).y[3:, -1]


@pytest.mark.parametrize(("order", "h", "tolerance"), [(2, 0.4, 0.2), (4, 0.4, 0.2), (6, 0.4, 0.2), (8, 0.4, 0.2),
                                                       (10, 0.8, 0.4), (12, 0.8, 0.4)])  # fmt: skip
def test_attitude_converges_with_the_order(order, h, tolerance, truth):
    """Steps whose errors stay above ten times the reference's 1e-13; the tolerance is the next term of the error."""
    conjugate = truth * [-1.0, -1.0, -1.0, 1.0]
    coarse, fine = (np.linalg.norm(hamilton(conjugate, integrate(order, step))[:3]) for step in (h, h / 2))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=tolerance)
