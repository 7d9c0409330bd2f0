"""SO(3): `scipy.linalg.expm`, SciPy's `Rotation`, finite differences, exact series; from zero to π and beyond."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from attitude.core import quaternion as qn
from attitude.core import so3

EPS = np.finfo(float).eps
ROUNDOFF = 16 * EPS
SWITCH = so3.SERIES_ANGLE
ANGLES = [
    0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4, 0.1, SWITCH * (1 - 1e-9), SWITCH, SWITCH * (1 + 1e-9), 0.5, 1.0, 2.0, 3.0,
    math.pi - 1e-6, math.pi - 1e-12, math.pi,
]  # fmt: skip
PAIRS = [
    (so3.exp, so3.exp_kernel),
    (so3.left_jacobian, so3.left_jacobian_kernel),
    (so3.right_jacobian, so3.right_jacobian_kernel),
    (so3.left_jacobian_inverse, so3.left_jacobian_inverse_kernel),
    (so3.right_jacobian_inverse, so3.right_jacobian_inverse_kernel),
    (so3.hat, so3.hat_kernel),
]


def axes(n=6):
    rng = np.random.default_rng(7)
    random = rng.normal(size=(n, 3))
    return np.vstack([np.eye(3), -np.eye(3), random / np.linalg.norm(random, axis=1, keepdims=True)])


def vectors():
    """Every special angle about principal and random axes."""
    return np.array([angle * axis for angle in ANGLES for axis in axes()])


# ------------------------------------------------------------------ hat and vee
def test_hat_is_the_cross_product():
    rng = np.random.default_rng(1)
    v, u = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    np.testing.assert_allclose((so3.hat(v) @ u[..., None])[..., 0], np.cross(v, u), rtol=0, atol=ROUNDOFF)
    np.testing.assert_array_equal(so3.hat(v), -so3.hat(v).transpose(0, 2, 1))


def test_vee_undoes_hat_and_ignores_the_symmetric_part():
    rng = np.random.default_rng(2)
    v, M = rng.normal(size=(50, 3)), rng.integers(-9, 9, size=(50, 3, 3)).astype(float)
    np.testing.assert_array_equal(so3.vee(so3.hat(v)), v)
    np.testing.assert_array_equal(so3.vee(M + M.transpose(0, 2, 1)), 0.0)
    np.testing.assert_array_equal(so3.hat(so3.vee(M)), 0.5 * (M - M.transpose(0, 2, 1)))
    out = np.empty(3)
    so3.vee_kernel(M[0], out)
    np.testing.assert_array_equal(out, so3.vee(M[0]))


# ------------------------------------------------------------------ exponential and logarithm
def test_exp_against_expm_and_scipy():
    v = vectors()
    np.testing.assert_allclose(so3.exp(v), expm(so3.hat(v)), rtol=0, atol=4 * ROUNDOFF)  # expm squares a few times
    np.testing.assert_allclose(so3.exp(v), Rotation.from_rotvec(v).as_matrix(), rtol=0, atol=ROUNDOFF)


def test_exp_beyond_half_a_turn():
    v = 3.0 * math.pi * np.random.default_rng(3).uniform(-1, 1, size=(200, 3))
    np.testing.assert_allclose(so3.exp(v), Rotation.from_rotvec(v).as_matrix(), rtol=0, atol=2 * ROUNDOFF)


def test_exp_is_a_rotation_and_the_same_as_by_quaternion():
    R = so3.exp(vectors())
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), atol=ROUNDOFF)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, atol=ROUNDOFF)
    np.testing.assert_allclose(R, qn.to_matrix(qn.exp(vectors())), rtol=0, atol=ROUNDOFF)


def test_log_undoes_exp_up_to_half_a_turn():
    v = vectors()
    below = np.linalg.norm(v, axis=1) < math.pi - 1e-9
    back = so3.log(so3.exp(v))
    np.testing.assert_allclose(back[below], v[below], rtol=0, atol=math.pi * ROUNDOFF)
    # at π, v and −v are one rotation
    gap = np.minimum(np.abs(back - v).max(axis=1), np.abs(back + v).max(axis=1))[~below]
    assert gap.max() < 2e-12  # π − 1e-12 may come back as −π + 1e-12: it is that close to the edge


def test_log_at_exactly_half_a_turn():
    for axis in axes():
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        v = so3.log(R)
        assert abs(np.linalg.norm(v) - math.pi) < ROUNDOFF
        np.testing.assert_allclose(abs(v @ axis), math.pi, rtol=ROUNDOFF)


def test_log_against_scipy_on_random_rotations():
    R = Rotation.random(500, random_state=4)
    np.testing.assert_allclose(so3.log(R.as_matrix()), R.as_rotvec(), rtol=0, atol=4 * ROUNDOFF)


def test_exp_undoes_log():
    R = Rotation.random(500, random_state=5).as_matrix()
    np.testing.assert_allclose(so3.exp(so3.log(R)), R, rtol=0, atol=4 * ROUNDOFF)


# ------------------------------------------------------------------ coefficients
def exact_coefficients(theta):
    """`a, b, c, d` by Taylor sums in rationals; `d = (2b − a)/(2 b θ²)` from `J_l J_l⁻¹ = 1`, free of trigonometry."""
    t = Fraction(theta) ** 2
    a = sum((-t) ** k / math.factorial(2 * k + 1) for k in range(20))
    b = sum((-t) ** k / math.factorial(2 * k + 2) for k in range(20))
    c = sum((-t) ** k / math.factorial(2 * k + 3) for k in range(20))
    return a, b, c, (2 * b - a) / (2 * b * t) if t else Fraction(1, 12)


@pytest.mark.parametrize(
    "theta",
    [1e-3, 0.01, 0.1, 0.2, 0.29, SWITCH * (1 - 1e-12), SWITCH, SWITCH * (1 + 1e-12), 0.31, 0.5, 1.0, 2.0, 3.0, 3.14],
)
def test_coefficients_on_both_sides_of_the_series_switch(theta):
    """θ² S² multiplies c and d at most, so that c θ² and d θ² need an absolute error of roundoff."""
    ours = so3.coefficients(theta * theta)
    exact = [float(x) for x in exact_coefficients(theta)]
    np.testing.assert_allclose(ours[:2], exact[:2], rtol=4 * EPS, atol=EPS)
    np.testing.assert_allclose(ours[2:], exact[2:], rtol=4 * EPS, atol=4 * EPS / theta**2 if theta >= SWITCH else 0)
    # two digits lost at the switch, as the module says, and never more
    np.testing.assert_allclose(ours[2:], exact[2:], rtol=100 * EPS)


def test_coefficients_at_zero():
    assert so3.coefficients(0.0) == (1.0, 0.5, 1.0 / 6.0, 1.0 / 12.0)


# ------------------------------------------------------------------ Jacobians
def derivative(function, v, h):
    """Central differences, fourth order."""
    columns = []
    for e in np.eye(3):
        f = [function(v + k * h * e) for k in (-2, -1, 1, 2)]
        columns.append((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h))
    return np.array(columns).T


@pytest.mark.parametrize("theta", ANGLES)
def test_jacobians_against_finite_differences(theta):
    """`exp(v + δ) = exp(J_l δ) exp(v) = exp(v) exp(J_r δ)`, through SciPy's rotations."""
    h = 1e-3  # truncation h⁴/30 of fifth derivatives of size one: 3e-14; roundoff 1e-16/h
    for axis in axes(2):
        v = theta * axis
        R = Rotation.from_rotvec(v)
        left = derivative(lambda u, R=R: (Rotation.from_rotvec(u) * R.inv()).as_rotvec(), v, h)
        right = derivative(lambda u, R=R: (R.inv() * Rotation.from_rotvec(u)).as_rotvec(), v, h)
        np.testing.assert_allclose(so3.left_jacobian(v), left, rtol=0, atol=2e-12)
        np.testing.assert_allclose(so3.right_jacobian(v), right, rtol=0, atol=2e-12)


@pytest.mark.parametrize("theta", [x for x in ANGLES if x < 3.1])
def test_inverse_jacobians_against_finite_differences(theta):
    """`log(exp(δ) exp(v)) = v + J_l⁻¹ δ`; at π the logarithm jumps, so not there."""
    for axis in axes(2):
        R = Rotation.from_rotvec(theta * axis)
        left = derivative(lambda d, R=R: (Rotation.from_rotvec(d) * R).as_rotvec(), np.zeros(3), 1e-3)
        right = derivative(lambda d, R=R: (R * Rotation.from_rotvec(d)).as_rotvec(), np.zeros(3), 1e-3)
        np.testing.assert_allclose(so3.left_jacobian_inverse(theta * axis), left, rtol=0, atol=5e-12)
        np.testing.assert_allclose(so3.right_jacobian_inverse(theta * axis), right, rtol=0, atol=5e-12)


def test_jacobians_against_each_other():
    v = np.vstack([vectors(), np.linspace(math.pi, 6.0, 12)[:, None] * axes()])
    one = np.broadcast_to(np.eye(3), (len(v), 3, 3))
    left, right = so3.left_jacobian(v), so3.right_jacobian(v)
    size = np.linalg.norm(so3.left_jacobian_inverse(v), axis=(1, 2)).max()  # it grows towards 2π
    tolerance = size * ROUNDOFF
    np.testing.assert_allclose(left @ so3.left_jacobian_inverse(v), one, rtol=0, atol=tolerance)
    np.testing.assert_allclose(right @ so3.right_jacobian_inverse(v), one, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(right, left.transpose(0, 2, 1))
    np.testing.assert_array_equal(right, so3.left_jacobian(-v))
    np.testing.assert_array_equal(so3.right_jacobian_inverse(v), so3.left_jacobian_inverse(-v))
    np.testing.assert_allclose(left, so3.exp(v) @ right, rtol=0, atol=tolerance)  # J_l = R J_r
    np.testing.assert_allclose((left @ v[..., None])[..., 0], v, rtol=0, atol=tolerance)  # the axis stays


def test_left_jacobian_is_the_mean_rotation():
    """`J_l(v) = ∫₀¹ exp(s v) ds`, by Gauss–Legendre, which is exact here to roundoff."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for v in vectors():
        mean = sum(w / 2 * expm(so3.hat((x + 1) / 2 * v)) for x, w in zip(nodes, weights, strict=True))
        np.testing.assert_allclose(so3.left_jacobian(v), mean, rtol=0, atol=2 * ROUNDOFF)


# ------------------------------------------------------------------ kernels, shapes
@pytest.mark.parametrize(("function", "kernel"), PAIRS)
def test_kernels_equal_arrays(function, kernel):
    v = vectors()
    together = function(v)
    for row, expected in zip(v, together, strict=True):
        out = np.full((3, 3), np.nan)
        assert kernel(row.copy(), out) is None
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(function(row), expected)


@pytest.mark.parametrize(("function", "kernel"), PAIRS)
@pytest.mark.parametrize("row", range(3))
def test_kernels_may_write_over_their_input(function, kernel, row):
    v = np.array([0.3, -0.7, 1.1])
    room = np.zeros((3, 3))
    room[row] = v
    kernel(room[row], room)
    np.testing.assert_array_equal(room, function(v))


def test_vee_kernel_may_write_over_its_input():
    S = so3.hat([1.0, 2.0, 3.0])
    so3.vee_kernel(S, S[1])
    np.testing.assert_array_equal(S[1], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(("function", "kernel"), PAIRS)
def test_many_rows_any_layout_one_signature(function, kernel):
    v = np.random.default_rng(6).normal(size=(100_000, 3))
    together = function(v)
    assert together.shape == (100_000, 3, 3)
    np.testing.assert_array_equal(together[::9973], [function(row) for row in v[::9973]])
    frozen = np.asfortranarray(v[:10])
    frozen.setflags(write=False)
    np.testing.assert_array_equal(function(frozen), together[:10])
    np.testing.assert_array_equal(function(v[:10].reshape(2, 5, 3)), together[:10].reshape(2, 5, 3, 3))
    np.testing.assert_array_equal(function([[1, 2, 3]]), function([[1.0, 2.0, 3.0]]))
    assert function(np.empty((0, 3))).shape == (0, 3, 3)
    assert len(so3._polynomial_rows.signatures) <= 1


@pytest.mark.parametrize("function", [function for function, _ in PAIRS])
@pytest.mark.parametrize(("wrong", "shape"), [(1.0, r"\(\)"), (np.ones(4), r"\(4,\)"), (np.ones((3, 2)), r"\(3, 2\)")])
def test_wrong_vectors_are_named(function, wrong, shape):
    with pytest.raises(ValueError, match=rf"^v must have shape \(3,\) or \(N, 3\), got {shape}$"):
        function(wrong)


def test_wrong_matrices_are_named():
    with pytest.raises(ValueError, match=r"^S must have shape \(3, 3\) or \(N, 3, 3\), got \(3, 2\)$"):
        so3.vee(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"^R must have shape \(3, 3\) or \(N, 3, 3\), got \(9,\)$"):
        so3.log(np.ones(9))
