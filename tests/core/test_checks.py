"""Checks at the door: what they let through, and that every message names the field, the value and what is allowed."""

import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

from attitude.core import checks

NAME = "wheel_speed"


def message(call):
    """The one-sentence message of the `ValueError` that `call` must raise."""
    with pytest.raises(ValueError, match=f"^{NAME} must ") as caught:
        call()
    assert type(caught.value) is ValueError  # not LinAlgError or UnicodeError, which are ValueErrors too
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ------------------------------------------------------------------ arrays
@pytest.mark.parametrize("value", [
    [1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3], dtype=np.int8), np.array([1, 2, 3], dtype=np.float32),
    np.arange(1.0, 7.0).reshape(3, 2)[:, 0] * [1.0, 2 / 3, 0.6], [Fraction(1), Fraction(2), 3], range(1, 4),
])  # fmt: skip
def test_array_gives_clean_doubles(value):
    result = checks.array(value, NAME, (3,))
    np.testing.assert_allclose(result, [1.0, 2.0, 3.0], rtol=1e-15)
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    assert result.flags.writeable


def test_array_is_a_copy():
    given = np.ones((2, 3))
    result = checks.array(given, NAME, (2, 3))
    result[0, 0] = 5.0
    assert given[0, 0] == 1.0
    frozen = np.asfortranarray(given)
    frozen.setflags(write=False)
    assert checks.array(frozen, NAME, (None, 3)).flags.c_contiguous


@pytest.mark.parametrize(("value", "shape", "shown", "got"), [
    ([1.0, 2.0], (3,), "(3,)", "(2,)"), (1.0, (3,), "(3,)", "()"), ([[1.0, 2.0, 3.0]], (3,), "(3,)", "(1, 3)"),
    (np.ones((3, 2)), (None, 3), "(N, 3)", "(3, 2)"), ([], (3,), "(3,)", "(0,)"),
    (np.ones((2, 2)), (3, 3), "(3, 3)", "(2, 2)"),
])  # fmt: skip
def test_wrong_shapes(value, shape, shown, got):
    assert message(lambda: checks.array(value, NAME, shape)) == f"{NAME} must have shape {shown}, got {got}"


@pytest.mark.parametrize("value", ["steel", ["a", "b", "c"], [[1], [2, 3]], {"x": 1}, [1j, 0, 0], np.array([1j, 2, 3]),
                                   ["1", "2", "3"], [10**400, 0, 0], [object()] * 3, b"abc",
                                   np.array(["2020-01-01"] * 3, dtype="datetime64[D]")])  # fmt: skip
def test_what_is_not_an_array_of_numbers(value):
    text = message(lambda: checks.array(value, NAME, (3,)))
    assert text.startswith(f"{NAME} must be an array of numbers of shape (3,), got ")


def test_complex_arrays_are_refused_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        message(lambda: checks.array(np.array([1j, 2.0, 3.0]), NAME, (3,)))
        message(lambda: checks.number(np.complex64(1j), NAME))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_shown_with_its_place(bad):
    assert (
        message(lambda: checks.array([0.0, bad, 0.0], NAME, (3,))) == f"{NAME} must be finite, got {bad} at index [1]"
    )
    long = np.zeros((100_000, 3))
    long[70_000, 2] = bad
    text = message(lambda: checks.array(long, NAME, (None, 3)))
    assert text == f"{NAME} must be finite, got {bad} at index [70000, 2]"
    message(lambda: checks.array([None, 1.0, 2.0], NAME, (3,)))


# ------------------------------------------------------------------ numbers
@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int64(2), np.array(2.0), Fraction(2)])
def test_number(value):
    for check in (checks.number, checks.positive, checks.not_negative):
        assert check(value, NAME) == 2.0
        assert type(check(value, NAME)) is float


@pytest.mark.parametrize("check", [checks.number, checks.positive, checks.not_negative])
@pytest.mark.parametrize("value", ["fast", "3", b"3", None, [1.0, 2.0], 1j, np.complex128(1 + 2j), {}, 10**400])
def test_what_is_not_a_number(check, value):
    assert message(lambda: check(value, NAME)) == f"{NAME} must be a number, got {value!r}"


@pytest.mark.parametrize("check", [checks.number, checks.positive, checks.not_negative])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite(check, value):
    assert message(lambda: check(value, NAME)) == f"{NAME} must be finite, got {value}"


def test_signs():
    assert checks.number(-1.0, NAME) == -1.0
    assert checks.not_negative(0.0, NAME) == 0.0
    assert checks.positive(5e-324, NAME) == 5e-324
    assert message(lambda: checks.positive(0.0, NAME)) == f"{NAME} must be greater than zero, got 0.0"
    assert message(lambda: checks.positive(-1, NAME)) == f"{NAME} must be greater than zero, got -1.0"
    assert message(lambda: checks.not_negative(-0.5, NAME)) == f"{NAME} must not be negative, got -0.5"


def test_count():
    assert checks.count(3, NAME) == 3
    assert type(checks.count(np.int16(3), NAME)) is int
    assert checks.count(0, NAME, least=0) == 0
    for value in (0, -1, 1.0, "1", True, np.bool_(True), None, math.nan):
        text = message(lambda value=value: checks.count(value, NAME))
        assert text == f"{NAME} must be a whole number of at least 1, got {value!r}"
    assert "at least 5" in message(lambda: checks.count(4, NAME, least=5))


# ------------------------------------------------------------------ quaternions and axes
def test_unit_quaternion_is_normalised_and_keeps_its_sign():
    q = np.array([0.5, -0.5, 0.5, -0.5])
    for factor in (1.0, 1.0 + 0.9e-6, 1.0 - 0.9e-6):
        result = checks.unit_quaternion(factor * q, NAME)
        np.testing.assert_allclose(result, q, rtol=1e-15)
    np.testing.assert_array_equal(checks.unit_quaternion([0, 0, 0, 1], NAME), [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("factor", [0.0, 1.0 + 1.1e-6, 1.0 - 1.1e-6, 2.0, 1e200])
def test_quaternions_that_are_not_unit(factor):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = message(lambda: checks.unit_quaternion(factor * np.array([0.5, -0.5, 0.5, 0.5]), NAME))
    assert "unit quaternion [x, y, z, w] within 1e-06, got norm " in text
    assert float(text.rsplit(" ", 1)[1]) == pytest.approx(factor, rel=1e-8)


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1.0, 1e200, 1e308])
def test_unit_axis_of_any_length(scale):
    np.testing.assert_array_equal(checks.unit_axis([0.0, -scale, 0.0], NAME), [0.0, -1.0, 0.0])
    np.testing.assert_allclose(
        checks.unit_axis([scale, scale, 0.0], NAME), [math.sqrt(0.5), math.sqrt(0.5), 0.0], rtol=1e-15
    )


def test_an_axis_without_length():
    assert (
        message(lambda: checks.unit_axis([0, 0, 0], NAME)) == f"{NAME} must not have zero length, got [0.0, 0.0, 0.0]"
    )


@pytest.mark.parametrize(
    ("check", "shape"), [(checks.unit_quaternion, "(4,)"), (checks.unit_axis, "(3,)"), (checks.inertia, "(3, 3)")]
)
def test_composed_checks_name_the_field_too(check, shape):
    assert f"must have shape {shape}, got (2,)" in message(lambda: check([1.0, 2.0], NAME))
    assert f"numbers of shape {shape}" in message(lambda: check("round", NAME))
    bad = np.full({"(4,)": 4, "(3,)": 3, "(3, 3)": (3, 3)}[shape], np.nan)
    assert "must be finite" in message(lambda: check(bad, NAME))


# ------------------------------------------------------------------ inertia
def test_inertia_is_made_symmetric():
    given = np.array([[2.0, 0.1, 0.0], [0.1 + 1e-10, 3.0, 0.2], [0.0, 0.2, 2.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a body that exists: nothing to warn of
        result = checks.inertia(given, NAME)
    np.testing.assert_array_equal(result, result.T)
    np.testing.assert_allclose(result, given, atol=1e-10)


def test_inertia_beyond_all_size_is_refused():
    huge = message(lambda: checks.inertia(1e300 * np.eye(3), NAME))
    assert huge == f"{NAME} must be at most 1e+20 kg m^2, got 1e+300"
    assert "positive definite" in message(lambda: checks.inertia(1e-300 * np.eye(3), NAME))


@pytest.mark.parametrize("scale", [1e-19, 1e-12, 1.0, 1e12, 1e19])
def test_inertia_of_any_size(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            checks.inertia(scale * np.diag([2.0, 3.0, 4.0]), NAME), scale * np.diag([2.0, 3.0, 4.0])
        )
        skewed = scale * np.array([[2.0, 1e-3, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]])
        assert message(lambda: checks.inertia(skewed, NAME)).startswith(f"{NAME} must be symmetric, got [[")


@pytest.mark.parametrize("moments", [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [-1.0, 2.0, 2.0], [1e-14, 1.0, 1.0]])
def test_inertia_that_is_not_positive(moments):
    text = message(lambda: checks.inertia(np.diag(moments), NAME))
    assert text.startswith(f"{NAME} must be symmetric positive definite, got eigenvalues [")


def test_inertia_not_positive_off_the_diagonal():
    message(lambda: checks.inertia([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], NAME))


def test_inertia_that_no_body_has_warns_and_names_the_field():
    with pytest.warns(UserWarning, match=rf"^{NAME} breaks the triangle inequality.*{re.escape('[1.0, 2.0, 3.1]')}"):
        result = checks.inertia(np.diag([1.0, 2.0, 3.1]), NAME)
    np.testing.assert_array_equal(result, np.diag([1.0, 2.0, 3.1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checks.inertia(np.diag([1.0, 2.0, 3.0]), NAME)  # a plate: just possible


def test_the_field_of_an_inertia_has_a_default_name():
    with pytest.raises(ValueError, match=r"^inertia must be symmetric"):
        checks.inertia([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


# ------------------------------------------------------------------ principal axes
def test_diagonal_inertia_is_not_turned():
    moments, axes = checks.principal_axes(np.diag([3.0, 1.0, 2.0]))
    np.testing.assert_array_equal(moments, [3.0, 1.0, 2.0])
    np.testing.assert_array_equal(axes, np.eye(3))


def test_principal_axes_are_a_rotation_that_diagonalises():
    rng = np.random.default_rng(1)
    for _ in range(200):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        expected = np.sort(rng.uniform(1.0, 2.0, 3))
        matrix = (turn * expected) @ turn.T
        moments, R_BP = checks.principal_axes(0.5 * (matrix + matrix.T))
        np.testing.assert_allclose(moments, expected, rtol=1e-14)
        np.testing.assert_allclose((R_BP * moments) @ R_BP.T, matrix, atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(R_BP), 1.0, atol=1e-14)  # right-handed
        assert R_BP.flags.c_contiguous
