"""Quaternions: the group, SciPy's `Rotation`, both sides of every branch, kernels and arrays alike."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from attitude.core import quaternion as qn

EPS = np.finfo(float).eps
ROUNDOFF = 16 * EPS  # a handful of products and sums of numbers of size one
N = 500
SWITCH = qn.SERIES_ANGLE
SMALL = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-6]
ANGLES = [
    *SMALL, SWITCH * (1 - 1e-9), SWITCH, SWITCH * (1 + 1e-9), 2 * SWITCH * (1 - 1e-9), 2 * SWITCH * (1 + 1e-9),
    0.1, 1.0, 2.0, 3.0, math.pi - 1e-3, math.pi - 1e-8, math.pi - 1e-12, math.pi,
]  # fmt: skip
IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def unit(rng, n, size=4):
    x = rng.normal(size=(n, size))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def rotation_vectors(rng):
    """Every special angle about several axes, principal ones among them."""
    axes = np.vstack([np.eye(3), -np.eye(3), unit(rng, 6, 3)])
    return np.array([angle * axis for angle in ANGLES for axis in axes])


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def attitudes(rng):
    """Random attitudes and all those of the special angles."""
    return np.vstack([unit(rng, N), Rotation.from_rotvec(rotation_vectors(rng)).as_quat()])


finite = st.floats(-1.0, 1.0).map(lambda x: x + 0.0)
quaternions = (
    st.tuples(finite, finite, finite, finite)
    .filter(lambda q: sum(x * x for x in q) > 1e-4)
    .map(lambda q: np.array(q) / np.linalg.norm(q))
)
vectors = st.tuples(finite, finite, finite).map(np.array)


# ------------------------------------------------------------------ the convention
def test_convention():
    i, j, k = np.eye(4)[:3]
    np.testing.assert_array_equal(qn.product(i, j), k)  # Hamilton
    np.testing.assert_array_equal(qn.product(j, i), -k)
    quarter_about_z = [0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)]
    np.testing.assert_allclose(qn.rotate(quarter_about_z, [1.0, 0.0, 0.0]), [0.0, 1.0, 0.0], atol=ROUNDOFF)


def test_rates_are_body_rates(rng):
    q, omega_B, h = unit(rng, 1)[0], rng.normal(size=3), 1e-6
    slope = (qn.product(q, qn.exp(h * omega_B)) - qn.product(q, qn.exp(-h * omega_B))) / (2 * h)
    expected = 0.5 * qn.product(q, [*omega_B, 0.0])
    np.testing.assert_allclose(slope, expected, atol=1e-9)  # roundoff 1e-16 / h


# ------------------------------------------------------------------ the group
@settings(max_examples=200, deadline=None, derandomize=True)
@given(quaternions, quaternions, quaternions)
def test_group_laws(p, q, r):
    np.testing.assert_allclose(
        qn.product(qn.product(p, q), r), qn.product(p, qn.product(q, r)), rtol=0, atol=ROUNDOFF
    )  # fmt: skip
    np.testing.assert_array_equal(qn.product(q, IDENTITY), q)
    np.testing.assert_array_equal(qn.product(IDENTITY, q), q)
    np.testing.assert_allclose(qn.product(q, qn.conjugate(q)), IDENTITY, atol=ROUNDOFF)
    np.testing.assert_allclose(qn.product(qn.conjugate(q), q), IDENTITY, atol=ROUNDOFF)
    np.testing.assert_allclose(
        qn.conjugate(qn.product(p, q)), qn.product(qn.conjugate(q), qn.conjugate(p)), rtol=0, atol=ROUNDOFF
    )
    assert abs(np.linalg.norm(qn.product(p, q)) - 1.0) < ROUNDOFF


@settings(max_examples=200, deadline=None, derandomize=True)
@given(quaternions, quaternions, vectors)
def test_rotation_is_an_action(p, q, v):
    np.testing.assert_allclose(qn.rotate(qn.product(p, q), v), qn.rotate(p, qn.rotate(q, v)), rtol=0, atol=2 * ROUNDOFF)
    np.testing.assert_allclose(qn.rotate_back(q, qn.rotate(q, v)), v, rtol=0, atol=2 * ROUNDOFF)
    np.testing.assert_allclose(qn.to_matrix(q) @ v, qn.rotate(q, v), rtol=0, atol=ROUNDOFF)
    assert abs(np.linalg.norm(qn.rotate(q, v)) - np.linalg.norm(v)) < ROUNDOFF


@settings(max_examples=200, deadline=None, derandomize=True)
@given(quaternions, quaternions, vectors)
def test_both_signs_are_one_attitude(p, q, v):
    np.testing.assert_array_equal(qn.rotate(-q, v), qn.rotate(q, v))
    np.testing.assert_array_equal(qn.to_matrix(-q), qn.to_matrix(q))
    np.testing.assert_array_equal(qn.angle_between(p, -q), qn.angle_between(p, q))
    np.testing.assert_array_equal(qn.angle_between(-p, q), qn.angle_between(p, q))
    if q[3] != 0.0:  # at exactly half a turn both rotation vectors are as short
        np.testing.assert_array_equal(qn.log(-q), qn.log(q))


def test_signs_are_kept(attitudes):
    """Only `log` and `from_matrix` choose a sign."""
    np.testing.assert_array_equal(qn.product(-attitudes, IDENTITY), -attitudes)
    np.testing.assert_array_equal(qn.conjugate(-attitudes), -qn.conjugate(attitudes))
    np.testing.assert_allclose(qn.normalise(-3.0 * attitudes), -attitudes, atol=ROUNDOFF)


# ------------------------------------------------------------------ SciPy
def test_product_rotate_and_matrix_against_scipy(attitudes, rng):
    others, v = rng.permutation(attitudes), rng.normal(size=attitudes[:, :3].shape)
    P, Q = Rotation.from_quat(attitudes), Rotation.from_quat(others)
    np.testing.assert_allclose(qn.product(attitudes, others), (P * Q).as_quat(), rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(qn.rotate(attitudes, v), P.apply(v), rtol=0, atol=4 * ROUNDOFF)
    np.testing.assert_allclose(qn.rotate_back(attitudes, v), P.apply(v, inverse=True), rtol=0, atol=4 * ROUNDOFF)
    np.testing.assert_allclose(qn.to_matrix(attitudes), P.as_matrix(), rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(qn.conjugate(attitudes), P.inv().as_quat(), rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(qn.angle_between(attitudes, others), (P.inv() * Q).magnitude(), rtol=0, atol=ROUNDOFF)


def test_exp_against_scipy(rng):
    v = np.vstack([rotation_vectors(rng), 3.0 * rng.normal(size=(N, 3))])
    expected = Rotation.from_rotvec(v).as_quat()
    np.testing.assert_allclose(qn.exp(v), expected, rtol=0, atol=ROUNDOFF)


def test_log_against_scipy(attitudes):
    ours, theirs = qn.log(attitudes), Rotation.from_quat(attitudes).as_rotvec()
    half_turn = np.abs(attitudes[:, 3]) < 1e-15  # v and −v are then the same rotation to roundoff
    np.testing.assert_allclose(ours[~half_turn], theirs[~half_turn], rtol=0, atol=math.pi * ROUNDOFF)
    gap = np.minimum(np.abs(ours - theirs), np.abs(ours + theirs))[half_turn]
    assert half_turn.sum() > 10
    assert gap.max() < math.pi * ROUNDOFF
    assert np.linalg.norm(ours, axis=1).max() <= math.pi * (1 + ROUNDOFF)


# ------------------------------------------------------------------ exponential and logarithm
def test_log_undoes_exp(rng):
    v = rotation_vectors(rng)
    back = qn.log(qn.exp(v))
    inside = np.linalg.norm(v, axis=1) < math.pi  # at π the sign of the vector is open
    np.testing.assert_allclose(back[inside], v[inside], rtol=ROUNDOFF, atol=math.pi * ROUNDOFF)
    np.testing.assert_allclose(np.abs(back[~inside]), np.abs(v[~inside]), rtol=0, atol=math.pi * ROUNDOFF)


def test_small_rotations_keep_their_digits(rng):
    """Relative, not absolute: the log of exp(v) has all the digits of a tiny v."""
    axis = unit(rng, 1, 3)[0]
    for size in (1e-300, 1e-200, 1e-160, 1e-100, 1e-15, 1e-8, SWITCH / 2, SWITCH, 2 * SWITCH, 3 * SWITCH):
        np.testing.assert_allclose(qn.log(qn.exp(size * axis)), size * axis, rtol=ROUNDOFF, atol=0)
        out, back = np.empty(4), np.empty(3)
        qn.exp_kernel(size * axis, out)
        qn.log_kernel(out, back)
        np.testing.assert_allclose(back, size * axis, rtol=ROUNDOFF, atol=0)


def test_exp_undoes_log(attitudes):
    np.testing.assert_allclose(qn.angle_between(qn.exp(qn.log(attitudes)), attitudes), 0.0, atol=2 * ROUNDOFF)


def sine_over_x(x):
    """`sin(x)/x` for a small rational x: the exact partial sum, far beyond double precision."""
    return sum((-1) ** k * x ** (2 * k) / math.factorial(2 * k + 1) for k in range(8))


def arctangent_over_x(x):
    return sum((-1) ** k * x ** (2 * k) / Fraction(2 * k + 1) for k in range(12))


@pytest.mark.parametrize("half", [s * f for s in (SWITCH,) for f in (1e-6, 0.5, 1 - 1e-12, 1.0, 1 + 1e-12, 2.0, 10.0)])
def test_exp_on_both_sides_of_the_series_switch(half):
    out = np.empty(4)
    qn.exp_kernel(np.array([0.0, 2.0 * half, 0.0]), out)
    expected = float(Fraction(half) * sine_over_x(Fraction(half)))
    assert abs(out[1] - expected) <= 2 * EPS * expected
    assert abs(qn.exp([0.0, 2.0 * half, 0.0])[1] - expected) <= 4 * EPS * expected


@pytest.mark.parametrize("sine", [SWITCH * f for f in (1e-6, 0.5, 1 - 1e-12, 1.0, 1 + 1e-12, 2.0, 10.0)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_log_on_both_sides_of_the_series_switch(sine, sign):
    w = math.sqrt(1.0 - sine * sine)
    tangent = Fraction(sine) / Fraction(w)
    expected = sign * float(2 * tangent * arctangent_over_x(tangent))
    out = np.empty(3)
    q = sign * np.array([0.0, 0.0, sine, w])
    qn.log_kernel(q, out)
    for value in (out, qn.log(q)):
        np.testing.assert_allclose(value, [0.0, 0.0, abs(expected)], rtol=3 * EPS, atol=0)


def test_angle_between_is_accurate_near_zero_and_near_half_a_turn(rng):
    p, axis = unit(rng, 1)[0], unit(rng, 1, 3)[0]
    for angle in (0.0, 1e-15, 1e-12, 1e-8, 1e-4, 1.0, math.pi - 1e-8, math.pi):
        q = qn.product(p, qn.exp(angle * axis))
        assert abs(qn.angle_between(p, q) - angle) < 2 * ROUNDOFF  # an arc cosine would be wrong by 1e-8
        assert abs(qn.angle_between_kernel(p, q) - angle) < 2 * ROUNDOFF


# ------------------------------------------------------------------ matrices
def leading(q):
    """Which of the four components is largest: the branch of `from_matrix`."""
    return np.argmax(np.abs(q), axis=-1)


def test_matrix_round_trip_in_all_four_branches(attitudes):
    assert set(leading(attitudes)) == {0, 1, 2, 3}
    back = qn.from_matrix(Rotation.from_quat(attitudes).as_matrix())
    assert (back[:, 3] >= 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1.0, atol=ROUNDOFF)
    np.testing.assert_allclose(qn.angle_between(back, attitudes), 0.0, atol=2 * ROUNDOFF)
    np.testing.assert_allclose(qn.to_matrix(back), qn.to_matrix(attitudes), rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize("branch", range(4))
def test_each_branch_at_its_edges(branch, rng):
    """One component leads by nothing, a little, or everything."""
    for others in ([0, 0, 0], [1, 1, 1], [1 - 1e-12, -1 + 1e-12, 1e-9], [0, 1, 0], [-0.5, 0.5, 0.1]):
        q = np.insert(np.array(others, dtype=float), branch, 1.0)
        q /= np.linalg.norm(q)
        back = qn.from_matrix(qn.to_matrix(q))
        assert qn.angle_between(back, q) < ROUNDOFF
        assert abs(np.linalg.norm(back) - 1.0) < ROUNDOFF


def test_exact_half_turns():
    for axis in (*np.eye(3), [0.6, 0.8, 0.0], [0.0, -0.6, 0.8], [2 / 3, -1 / 3, 2 / 3]):
        axis = np.array(axis)
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        q = qn.from_matrix(R)
        np.testing.assert_allclose(q[3], 0.0, atol=EPS)
        np.testing.assert_allclose(qn.to_matrix(q), R, atol=ROUNDOFF)
        np.testing.assert_allclose(abs(q[:3] @ axis), 1.0, atol=ROUNDOFF)


def test_a_matrix_off_by_roundoff_gives_a_unit_quaternion(attitudes, rng):
    R = qn.to_matrix(attitudes) + 1e-9 * rng.normal(size=(len(attitudes), 3, 3))
    q = qn.from_matrix(R)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=ROUNDOFF)
    assert qn.angle_between(q, attitudes).max() < 1e-8  # the noise is at most five sigma, and no branch amplifies it


def test_many_matrices_at_once(rng):
    q = unit(rng, 100_000)
    back = qn.from_matrix(qn.to_matrix(q))
    assert back.shape == q.shape
    np.testing.assert_allclose(back, np.where(q[:, 3:] < 0.0, -q, q), atol=4 * ROUNDOFF)  # w = 0 does not occur here
    assert len(qn._from_matrix_rows.signatures) == 1


# ------------------------------------------------------------------ shapes
@pytest.mark.parametrize(("p", "q", "shape"), [((4,), (4,), (4,)), ((4,), (7, 4), (7, 4)), ((7, 4), (4,), (7, 4)),
                                               ((7, 4), (7, 4), (7, 4)), ((3, 1, 4), (5, 4), (3, 5, 4)),
                                               ((0, 4), (4,), (0, 4))])  # fmt: skip
def test_broadcasting(p, q, shape, rng):
    P, Q = rng.normal(size=p), rng.normal(size=q)
    rows = np.broadcast_to(P, shape).reshape(-1, 4), np.broadcast_to(Q, shape).reshape(-1, 4)
    one_by_one = np.array([qn.product(a, b) for a, b in zip(*rows, strict=True)]).reshape(shape)
    np.testing.assert_array_equal(qn.product(P, Q), one_by_one)
    turned = np.array([qn.rotate(a, b[:3]) for a, b in zip(*rows, strict=True)]).reshape(*shape[:-1], 3)
    np.testing.assert_array_equal(qn.rotate(P, Q[..., :3]), turned)
    assert qn.angle_between(P, Q).shape == shape[:-1]


@pytest.mark.parametrize("lead", [(), (1,), (6,), (2, 3), (0,)])
def test_every_function_takes_any_number_of_rows(lead, rng):
    q = rng.normal(size=(*lead, 4))
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    flat = q.reshape(-1, 4)
    for function, size in ((qn.conjugate, (4,)), (qn.normalise, (4,)), (qn.log, (3,)), (qn.to_matrix, (3, 3))):
        expected = np.array([function(row) for row in flat]).reshape(*lead, *size)
        np.testing.assert_allclose(function(q), expected, rtol=0, atol=EPS)
    assert qn.exp(q[..., :3]).shape == (*lead, 4)
    assert qn.from_matrix(qn.to_matrix(q)).shape == (*lead, 4)


def test_inputs_are_left_alone_and_of_any_layout(rng):
    q = unit(rng, 6)
    for given_q in (q[::2], np.asfortranarray(q)[::2], q[::2].tolist(), tuple(map(tuple, q[::2]))):
        np.testing.assert_array_equal(qn.product(given_q, given_q), qn.product(q[::2], q[::2]))
        np.testing.assert_array_equal(qn.from_matrix(qn.to_matrix(given_q)), qn.from_matrix(qn.to_matrix(q[::2])))
    R = qn.to_matrix(q).transpose(0, 2, 1)  # not C-contiguous
    R.setflags(write=False)
    np.testing.assert_allclose(qn.angle_between(qn.from_matrix(R), qn.conjugate(q)), 0.0, atol=2 * ROUNDOFF)
    np.testing.assert_array_equal(qn.exp([1, 0, 0]), qn.exp([1.0, 0.0, 0.0]))
    assert len(qn._from_matrix_rows.signatures) == 1


@pytest.mark.parametrize("call", [
    lambda x: qn.product(x, IDENTITY), lambda x: qn.conjugate(x), lambda x: qn.normalise(x), lambda x: qn.log(x),
    lambda x: qn.to_matrix(x), lambda x: qn.rotate(x, [1.0, 0.0, 0.0]), lambda x: qn.angle_between(x, IDENTITY),
])  # fmt: skip
@pytest.mark.parametrize(("wrong", "shape"), [(1.0, r"\(\)"), (np.ones(3), r"\(3,\)"), (np.ones((4, 3)), r"\(4, 3\)")])
def test_wrong_quaternion_shapes_are_named(call, wrong, shape):
    with pytest.raises(ValueError, match=rf"^[pq] must have shape \(4,\) or \(N, 4\), got {shape}$"):
        call(wrong)


@pytest.mark.parametrize("call", [qn.exp, lambda v: qn.rotate(IDENTITY, v), lambda v: qn.rotate_back(IDENTITY, v)])
@pytest.mark.parametrize(("wrong", "shape"), [(1.0, r"\(\)"), (np.ones(4), r"\(4,\)"), (np.ones((3, 2)), r"\(3, 2\)")])
def test_wrong_vector_shapes_are_named(call, wrong, shape):
    with pytest.raises(ValueError, match=rf"^v must have shape \(3,\) or \(N, 3\), got {shape}$"):
        call(wrong)


@pytest.mark.parametrize("wrong", [1.0, np.ones(9), np.ones((3, 4)), np.ones((3, 3, 2))])
def test_wrong_matrix_shapes_are_named(wrong):
    with pytest.raises(ValueError, match=r"^R must have shape \(3, 3\) or \(N, 3, 3\), got \("):
        qn.from_matrix(wrong)


def test_the_second_quaternion_is_named():
    with pytest.raises(ValueError, match=r"^q must have shape"):
        qn.product(IDENTITY, np.ones(3))


@pytest.mark.parametrize("bad", [np.zeros(4), [np.nan, 0, 0, 1], [np.inf, 0, 0, 1], [[0, 0, 0, 1], [0, 0, 0, 0]]])
def test_nothing_to_normalise(bad):
    with pytest.raises(ValueError, match=r"^q must be finite and not zero"):
        qn.normalise(bad)


# ------------------------------------------------------------------ kernels
def run_kernel(kernel, shape, *inputs):
    out = np.full(shape, np.nan)
    assert kernel(*inputs, out) is None
    return out


def test_kernels_equal_arrays(attitudes, rng):
    others = rng.permutation(attitudes)
    for p, q in zip(attitudes, others, strict=True):
        v, R = 2.0 * q[:3].copy(), qn.to_matrix(p)
        # the same formula on the same numbers
        np.testing.assert_allclose(run_kernel(qn.product_kernel, 4, p, q), qn.product(p, q), rtol=0, atol=2 * EPS)
        np.testing.assert_array_equal(run_kernel(qn.conjugate_kernel, 4, p), qn.conjugate(p))
        np.testing.assert_allclose(run_kernel(qn.rotate_kernel, 3, p, v), qn.rotate(p, v), rtol=0, atol=8 * EPS)
        np.testing.assert_allclose(
            run_kernel(qn.rotate_back_kernel, 3, p, v), qn.rotate_back(p, v), rtol=0, atol=8 * EPS
        )
        np.testing.assert_allclose(run_kernel(qn.to_matrix_kernel, (3, 3), p), R, rtol=0, atol=2 * EPS)
        np.testing.assert_array_equal(run_kernel(qn.from_matrix_kernel, 4, R), qn.from_matrix(R))
        np.testing.assert_allclose(run_kernel(qn.normalise_kernel, 4, 3.0 * p), qn.normalise(3.0 * p), atol=2 * EPS)
        np.testing.assert_allclose(run_kernel(qn.exp_kernel, 4, v), qn.exp(v), rtol=0, atol=2 * EPS)
        np.testing.assert_allclose(run_kernel(qn.log_kernel, 3, p), qn.log(p), rtol=4 * EPS, atol=0)
        assert abs(qn.angle_between_kernel(p, q) - qn.angle_between(p, q)) < 8 * EPS


def test_kernels_may_write_over_their_inputs(attitudes, rng):
    for p, q in zip(attitudes[:50], rng.permutation(attitudes)[:50], strict=True):
        v = rng.normal(size=3)
        for kernel, size, inputs in (
            (qn.product_kernel, 4, (p, q)), (qn.conjugate_kernel, 4, (q,)), (qn.normalise_kernel, 4, (2.0 * q,)),
            (qn.rotate_kernel, 3, (q, v)), (qn.rotate_back_kernel, 3, (q, v)),
            (qn.log_kernel, 3, (q,)), (qn.exp_kernel, 4, (v,)),
        ):  # fmt: skip
            expected = run_kernel(kernel, size, *inputs)
            for target in range(len(inputs)):
                room = np.zeros(4)  # holds the input and the output, whichever is longer
                arguments = [x.copy() for x in inputs]
                arguments[target] = room[: len(inputs[target])]
                arguments[target][:] = inputs[target]
                kernel(*arguments, room[:size])
                np.testing.assert_array_equal(room[:size], expected, err_msg=f"{kernel.__name__}, input {target}")
        square = q.copy()
        qn.product_kernel(square, square, square)
        np.testing.assert_array_equal(square, run_kernel(qn.product_kernel, 4, q, q))


def test_matrix_kernels_may_write_over_their_inputs(attitudes):
    for q in attitudes[:50]:
        room = np.zeros(9)
        room[:4] = q
        qn.to_matrix_kernel(room[:4], room.reshape(3, 3))
        np.testing.assert_array_equal(room.reshape(3, 3), run_kernel(qn.to_matrix_kernel, (3, 3), q))
        expected = run_kernel(qn.from_matrix_kernel, 4, room.reshape(3, 3).copy())
        qn.from_matrix_kernel(room.reshape(3, 3), room[:4])
        np.testing.assert_array_equal(room[:4], expected)
