"""The increment: recovered from its momentum, against LLM's matrix equation, along its branch, and where it ends."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from attitude.core import so3
from attitude.core.increment import NO_INCREMENT, OK, increment_matrix, solve_increment, solve_increment_from

EPS = np.finfo(float).eps
NONE = np.zeros(3)


def scalar(phi):
    return math.sqrt(max(1.0 - phi @ phi, 1e-12))


def momentum(J, r, phi, s=None):
    """`g = 2 (s a + φ × a)`, MP 2016, eq. (49), times h."""
    a = J * phi + r
    return 2.0 * ((scalar(phi) if s is None else s) * a + np.cross(phi, a))


def matrix(J, r, phi):
    return np.reshape(increment_matrix(*J, *r, *phi, scalar(phi)), (3, 3))


def solve(J, r, g):
    *phi, s, status = solve_increment(*map(float, J), *map(float, r), *map(float, g))
    return np.array(phi), s, status


def direction(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def real_body(rng):
    """Principal moments of a mass distribution: pairs of three positive second moments; rods and plates nearly."""
    m = 10.0 ** rng.uniform(-2, 0, 3)
    return m.sum() - m


def any_moments(rng):
    """Up to a factor of ten apart: most break the triangle inequality."""
    return 10.0 ** rng.uniform(-0.5, 0.5, 3)


def breaks_triangle(J):
    return 2.0 * J.max() > J.sum()


def reachable(J, r, phi):
    """Whether `h -> increment` grows into `phi` from zero: the determinant stays positive on the way back.

    Follows `d/dt` of `s a + φ × a = t g/2`, `a = J φ + t r`, with SciPy from t = 1 down to 0, where φ must vanish.
    """
    half = 0.5 * momentum(J, r, phi)

    def rate(t, p):
        return np.linalg.solve(matrix(J, t * r, p), half - scalar(p) * r - np.cross(p, r))

    def fold(t, p):
        return np.linalg.det(matrix(J, t * r, p)) / np.prod(J) - 1e-3

    fold.terminal = True
    if fold(1.0, phi) <= 0.0:
        return False
    back = solve_ivp(rate, (1.0, 0.0), phi, events=fold, rtol=1e-8, atol=1e-10)
    return back.status == 0 and np.linalg.norm(back.y[:, -1]) < 1e-5


def recovery_error(J, r, phi, found):
    """Error in units of what rounding of g and of the equation must cause."""
    unavoidable = np.linalg.norm(np.linalg.inv(matrix(J, r, phi)), 2) * np.linalg.norm(momentum(J, r, phi))
    return np.linalg.norm(found - phi) / (EPS * (unavoidable + np.linalg.norm(phi)))


# ------------------------------------------------------------------ recovered to roundoff
def test_real_bodies_without_rotors_always_give_back_the_increment():
    """Up to |φ| = 0.65, 81° a step: no body that exists has its branch end before."""
    rng = np.random.default_rng(1)
    for _ in range(3000):
        J, phi = real_body(rng), direction(rng) * rng.uniform(0.0, 0.65)
        found, s, status = solve(J, NONE, momentum(J, NONE, phi))
        assert status == OK
        assert recovery_error(J, NONE, phi, found) < 4.0
        assert abs(s * s + found @ found - 1.0) < 4 * EPS


def test_moments_that_break_the_triangle_inequality():
    rng = np.random.default_rng(2)
    tried = 0
    for _ in range(400):
        J, phi = any_moments(rng), direction(rng) * rng.uniform(0.0, 0.65)
        if breaks_triangle(J) and reachable(J, NONE, phi):
            tried += 1
            found, _, status = solve(J, NONE, momentum(J, NONE, phi))
            assert status == OK
            assert recovery_error(J, NONE, phi, found) < 4.0
    assert tried > 150


@pytest.mark.parametrize("size", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("body", [real_body, any_moments])
def test_with_rotors(size, body):
    """Rotor momentum up to that of the body itself, and more; what can be reached from a short step must be found."""
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(250):
        J, phi = body(rng), direction(rng) * rng.uniform(0.0, 0.65)
        r = size * J.mean() * rng.normal(size=3)
        if reachable(J, r, phi):
            tried += 1
            found, s, status = solve(J, r, momentum(J, r, phi))
            assert status == OK, (J, r, phi)
            assert recovery_error(J, r, phi, found) < 6.0, (J, r, phi)
            assert abs(s * s + found @ found - 1.0) < 4 * EPS
    assert tried > 180


@pytest.mark.parametrize(("J", "r", "phi"), [
    # Newton from the first-order guess alone loses these, or finds another root; they are on the branch
    ([0.32872504, 2.65252613, 1.57687705], NONE, [-0.15408823, -0.09448873, 0.61120389]),
    ([0.8929986, 0.08647203, 0.84071196], [0.16515136, -0.18003755, 0.0845445], [0.04320399, -0.21174197, -0.32446998]),
    ([3.14686392, 0.8523723, 0.39258236], [-0.30771575, 0.60274671, 0.17078712], [0.22458481, 0.52753632, 0.23019361]),
    ([1.9144862, 0.5964760, 2.2580313], [-0.1008783, 4.0202241, -1.2403250], [0.2595681, 0.0916147, 0.1276620]),
    # the determinant alone is not enough for these: another root has it positive too
    ([0.38884301, 0.12177274, 8.2506888], [0.99948921, -1.933419, 0.31057287], [-0.14805366, -0.08260926, -0.24545573]),
    ([8.64999436, 0.22008756, 1.0481363], [1.09475026, 2.035648, 0.40446671], [-0.39080668, 0.26340158, -0.25438582]),
])  # fmt: skip
def test_hard_cases(J, r, phi):
    J, r, phi = np.array(J), np.array(r), np.array(phi)
    assert reachable(J, r, phi)
    found, _, status = solve(J, r, momentum(J, r, phi))
    assert status == OK
    assert recovery_error(J, r, phi, found) < 6.0


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-160, 1e-20, 1e-8])
def test_small_increments_keep_their_digits(size):
    J, phi = np.array([1.0, 2.0, 3.0]), size * np.array([0.6, -0.48, 0.64])
    found, s, status = solve(J, NONE, 2.0 * J * phi if size < 1e-9 else momentum(J, NONE, phi))
    assert status == OK
    np.testing.assert_allclose(found, phi, rtol=4 * EPS, atol=0)
    assert s == pytest.approx(1.0, abs=EPS)


def test_rotors_at_a_standstill_change_nothing():
    rng = np.random.default_rng(4)
    for _ in range(100):
        J, phi = real_body(rng), direction(rng) * 0.3
        g = momentum(J, NONE, phi)
        tiny, _, _ = solve(J, [5e-324, 0.0, 0.0], g)  # takes the rotors' way through the kernel
        np.testing.assert_allclose(solve(J, NONE, g)[0], tiny, rtol=0, atol=4 * EPS)


def test_from_a_guess():
    """A guess nearby leads to the same answer, and one that leads nowhere does no harm."""
    rng = np.random.default_rng(16)
    for _ in range(200):
        J, phi = real_body(rng), direction(rng) * rng.uniform(0.0, 0.6)
        r = 0.1 * J.min() * rng.normal(size=3)
        g, gibbs = momentum(J, r, phi), phi / scalar(phi)
        guesses = (gibbs, gibbs + 1e-4 * direction(rng), 1e9 * direction(rng), [np.nan, 0.0, 0.0], [0.0, np.inf, 0.0])
        for guess in guesses:
            *found, s, status = solve_increment_from(*J, *r, *g, *map(float, guess))
            assert status == OK
            assert recovery_error(J, r, phi, np.array(found)) < 6.0
            assert abs(s - scalar(phi)) < 1e-12
    *found, s, status = solve_increment_from(1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.01, 0.0, 0.0, 0.9, 0.0, 0.0)
    assert (*found, s, status) == (0.0, 0.0, 0.0, 1.0, NO_INCREMENT)


def test_only_the_ratio_of_momentum_and_inertia_counts():
    rng = np.random.default_rng(5)
    J, phi, r = real_body(rng), direction(rng) * 0.4, 0.1 * rng.normal(size=3)
    g = momentum(J, r, phi)
    for scale in (2.0**-60, 2.0**60):  # powers of two: exact
        np.testing.assert_array_equal(solve(scale * J, scale * r, scale * g)[0], solve(J, r, g)[0])


def test_a_step_back_undoes_a_step():
    """From the end, `p⁺ = (2/h)(s a − φ × a)`, with −h, the increment is −φ: steps may have negative h."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        J, phi = real_body(rng), direction(rng) * rng.uniform(0.0, 0.5)
        r = 0.1 * J.min() * rng.normal(size=3)
        a = J * phi + r
        end = 2.0 * (scalar(phi) * a - np.cross(phi, a))
        found, _, status = solve(J, -r, -end)
        assert status == OK
        assert recovery_error(J, -r, -phi, found) < 6.0


# ------------------------------------------------------------------ the same equation in matrices
def test_matrix_equation_of_the_full_body_problem():
    """`F J_d − J_d Fᵀ = S(g)`, LLM 2007, eq. (94), `F` by SciPy."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        J = real_body(rng)
        g = momentum(J, NONE, direction(rng) * rng.uniform(0.0, 0.65))
        phi, s, status = solve(J, NONE, g)
        assert status == OK
        F = Rotation.from_quat([*phi, s]).as_matrix()
        J_d = np.diag(0.5 * J.sum() - J)
        np.testing.assert_allclose(F @ J_d - J_d @ F.T, so3.hat(g), rtol=0, atol=20 * EPS * J.sum())


def test_rotation_vector_form():
    """`g = (sin|f|/|f|) J f + ((1 − cos|f|)/|f|²) f × J f`, LLM 2007, eqs. (127), (128)."""
    rng = np.random.default_rng(8)
    for _ in range(300):
        J, f = real_body(rng), direction(rng) * rng.uniform(1e-3, 1.4)
        n = np.linalg.norm(f)
        g = math.sin(n) / n * J * f + (1.0 - math.cos(n)) / n**2 * np.cross(f, J * f)
        phi, s, status = solve(J, NONE, g)
        assert status == OK
        found = Rotation.from_quat([*phi, s]).as_rotvec()
        assert np.linalg.norm(found - f) < 1e-10 * n  # (1 − cos)/n² is bad to 1e-10 at the small end


def test_momentum_is_carried_by_the_rotation():
    """`p⁺ = R(f)ᵀ p⁻`: the end of a free step has the momentum of its start."""
    rng = np.random.default_rng(9)
    for _ in range(300):
        J, r, phi = real_body(rng), 0.2 * rng.normal(size=3), direction(rng) * 0.3
        g = momentum(J, r, phi)
        found, s, status = solve(J, r, g)
        if status == OK:
            a = J * found + r
            end = 2.0 * (s * a - np.cross(found, a))
            np.testing.assert_allclose(Rotation.from_quat([*found, s]).inv().apply(g), end, rtol=0, atol=50 * EPS)


# ------------------------------------------------------------------ its derivative
@pytest.mark.parametrize("rotors", [0.0, 0.5])
def test_increment_matrix_against_central_differences(rotors):
    rng = np.random.default_rng(10)
    h = 1e-3
    for _ in range(200):
        J, phi, r = real_body(rng), direction(rng) * rng.uniform(0.0, 0.65), rotors * rng.normal(size=3)
        columns = []
        for e in np.eye(3):
            f = [0.5 * momentum(J, r, phi + k * h * e) for k in (-2, -1, 1, 2)]
            columns.append((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h))
        # fourth order: h⁴/30 times the fifth derivative of √(1 − φ²), below 1e3 here
        scale = J.max() + np.abs(r).max()
        np.testing.assert_allclose(matrix(J, r, phi), np.array(columns).T, rtol=0, atol=1e-10 * scale)


def test_increment_matrix_is_the_derivative_of_the_solution():
    """`δφ = A⁻¹ δg / 2`, through the solver."""
    rng = np.random.default_rng(11)
    for _ in range(50):
        J, phi = real_body(rng), direction(rng) * 0.2
        r = 0.1 * J.min() * rng.normal(size=3)
        g, h = momentum(J, r, phi), 1e-5 * J.min()
        slopes = [(solve(J, r, g + d)[0] - solve(J, r, g - d)[0]) / (2.0 * h) for d in h * np.eye(3)]
        inverse = 0.5 * np.linalg.inv(matrix(J, r, phi))
        # second order in h/J, and roundoff divided by it: 1e-10 each, times what thin bodies amplify
        np.testing.assert_allclose(np.array(slopes).T, inverse, rtol=0, atol=1e-7 * np.linalg.norm(inverse))


# ------------------------------------------------------------------ where it ends
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("J", [[1.0, 2.0, 2.5], [1e-3, 0.2, 0.2001], [1.0, 1.0, 1.0]])
def test_the_end_about_a_principal_axis(axis, sign, J):
    """There `g = J sin θ`, θ the angle of the step: nothing beyond `g = J`."""
    e = sign * np.eye(3)[axis]
    for inside in (0.5, 0.9, 0.99, 0.999, 0.999999):
        phi, s, status = solve(J, NONE, inside * J[axis] * e)
        assert status == OK
        angle = 2.0 * math.atan2(phi @ e, s)
        assert angle < math.pi / 2
        # the slope of arcsin amplifies rounding by 1/cos θ
        assert abs(angle - math.asin(inside)) < 20 * EPS / math.sqrt(1.0 - inside**2)
        np.testing.assert_array_equal(phi[np.arange(3) != axis], 0.0)
    for outside in (1.000001, 1.01, 1.5, 10.0, 1e6):
        assert solve(J, NONE, outside * J[axis] * e)[2] == NO_INCREMENT


@pytest.mark.parametrize("bad", [
    [1e10, 0.0, 0.0], [1e200, 1e200, 1e200], [1e308, -1e308, 1e308], [5.0, 4.0, 3.0],
    [np.nan, 0.0, 0.0], [0.0, 0.0, np.nan], [np.inf, 0.0, 0.0], [0.0, -np.inf, 0.0], [np.inf, -np.inf, np.nan],
])  # fmt: skip
@pytest.mark.parametrize("r", [[0.0, 0.0, 0.0], [0.1, -0.2, 0.3]])
def test_no_solution_is_said_and_leaves_the_identity(bad, r):
    phi, s, status = solve([1.0, 2.0, 3.0], r, bad)
    assert status == NO_INCREMENT
    np.testing.assert_array_equal([*phi, s], [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rotors_that_are_no_numbers(bad):
    assert solve([1.0, 2.0, 3.0], [0.0, bad, 0.0], [0.1, 0.1, 0.1])[2] == NO_INCREMENT


def test_too_much_momentum_for_any_rotation():
    """`|g| ≤ 2 (|a|)`, `|a| ≤ J_max`: whatever lies beyond is refused, never answered."""
    rng = np.random.default_rng(12)
    for _ in range(500):
        J = real_body(rng)
        g = direction(rng) * 2.0 * J.max() * rng.uniform(1.001, 100.0)
        assert solve(J, NONE, g)[2] == NO_INCREMENT


def test_an_answer_always_solves_the_equation():
    """Momenta from nothing to far too much: OK means solved, with a positive determinant."""
    rng = np.random.default_rng(13)
    outcomes = {OK: 0, NO_INCREMENT: 0}
    for _ in range(3000):
        J = any_moments(rng)
        r = rng.choice([0.0, 0.3]) * rng.normal(size=3)
        g = rng.normal(size=3) * rng.uniform(0.0, 2.0)
        phi, s, status = solve(J, r, g)
        outcomes[status] += 1
        if status == OK:
            scale = J.max() + np.linalg.norm(r) + np.linalg.norm(g)
            assert np.linalg.norm(momentum(J, r, phi, s) - g) < 50 * EPS * scale
            assert np.linalg.det(matrix(J, r, phi)) > 0.0
    assert min(outcomes.values()) > 300


# ------------------------------------------------------------------ the branch that starts at zero
@pytest.mark.parametrize("rotors", [0.0, 0.3])
def test_the_answer_grows_out_of_zero(rotors):
    """The solution for growing g (and r with it), followed by SciPy, is the one the solver returns at every length."""
    rng = np.random.default_rng(14)
    for _ in range(40):
        J, phi = real_body(rng), direction(rng) * 0.6
        r = rotors * J.min() * rng.normal(size=3)
        if not reachable(J, r, phi):
            continue
        half = 0.5 * momentum(J, r, phi)

        def rate(t, p, J=J, r=r, half=half):
            return np.linalg.solve(matrix(J, t * r, p), half - scalar(p) * r - np.cross(p, r))

        parts = np.linspace(0.1, 1.0, 10)
        path = solve_ivp(rate, (0.0, 1.0), np.zeros(3), method="DOP853", t_eval=parts, rtol=1e-11, atol=1e-13)
        assert path.status == 0
        for t, expected in zip(parts, path.y.T, strict=True):
            found, _, status = solve(J, t * r, 2.0 * t * half)
            assert status == OK
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)  # DOP853's 1e-11, amplified near the end


def test_longer_steps_move_the_answer_smoothly_until_there_is_none():
    """Along a ray of g no jump to another root: small changes until the end, and refusals only after it."""
    rng = np.random.default_rng(15)
    for _ in range(30):
        J, d = real_body(rng), direction(rng)
        answers = [solve(J, NONE, t * d) for t in np.linspace(0.0, 3.0 * J.max(), 1200)]
        statuses = [status for *_, status in answers]
        end = statuses.index(NO_INCREMENT)
        assert set(statuses[end:]) == {NO_INCREMENT}
        path = [phi for phi, _, _ in answers[:end]]
        # the square root at the end of the branch: within dg of it, φ moves by √(dg/J)
        jump = 2.0 * math.sqrt(3.0 * J.max() / 1200 / J.min())
        assert max(np.linalg.norm(b - a) for a, b in pairwise(path)) < min(jump, 0.5)
