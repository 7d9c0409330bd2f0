"""Rate groups: which ticks are theirs, and what is refused."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.rate_groups import RateGroup, check_groups


def nothing(tick, t):
    pass


@given(divisor=st.integers(1, 12), data=st.data(), first=st.integers(0, 50), length=st.integers(0, 60))
def test_due_between_counts_what_modulo_says(divisor, data, first, length):
    offset = data.draw(st.integers(0, divisor - 1))
    group = RateGroup("g", nothing, divisor, offset)
    assert group.due_between(first, first + length) == sum(k % divisor == offset for k in range(first, first + length))


@pytest.mark.parametrize(
    ("rate", "loop", "divisor"), [(10, 100, 10), (100 / 3, 100, 3), (0.1, 0.3, 3), (Fraction(1, 7), 2, 14), (5.0, 5, 1)]
)
def test_a_group_by_its_rate(rate, loop, divisor):
    assert RateGroup.at("g", nothing, rate_hz=rate, loop_rate_hz=loop).divisor == divisor


@pytest.mark.parametrize(("rate", "allowed"), [(30, "33.3333, 25"), (150, "100"), (99.9, "100, 50")])
def test_a_rate_that_does_not_divide_the_loops(rate, allowed):
    sentence = f"rate_hz of group 'nav' must divide the loop's rate of 100 Hz, got {rate} (allowed nearby: {allowed})"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        RateGroup.at("nav", nothing, rate_hz=rate, loop_rate_hz=100)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"divisor": 0}, "divisor of group 'g' must be an integer from 1, got 0"),
        ({"divisor": 2.0}, "divisor of group 'g' must be an integer from 1, got 2.0"),
        ({"divisor": True}, "divisor of group 'g' must be an integer from 1, got True"),
        ({"divisor": 4, "offset": 4}, "offset of group 'g' must be an integer from 0 to 3, got 4"),
        ({"divisor": 4, "offset": -1}, "offset of group 'g' must be an integer from 0 to 3, got -1"),
        ({"callback": None}, "callback of group 'g' must be callable, got None"),
        ({"name": 7}, "name of a group must be a string, got 7"),
    ],
)
def test_groups_that_make_no_sense(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        RateGroup(**{"name": "g", "callback": nothing, **arguments})


def test_groups_need_names_of_their_own():
    with pytest.raises(ValueError, match=r"^groups must have names of their own, got 'a' more than once$"):
        check_groups([RateGroup("a", nothing), RateGroup("b", nothing), RateGroup("a", nothing)])
    with pytest.raises(ValueError, match="at least one"):
        check_groups([])


def test_a_rate_that_is_no_number():
    with pytest.raises(ValueError, match=r"^rate_hz of group 'g' must be a number above 0 .*, got '10'$"):
        RateGroup.at("g", nothing, rate_hz="10", loop_rate_hz=100)
    with pytest.raises(ValueError, match=r"^loop_rate_hz must be a number above 0 .*, got None$"):
        RateGroup.at("g", nothing, rate_hz=10, loop_rate_hz=None)


ALONE = RateGroup("alone", nothing)


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ([print], "groups must be RateGroup objects, got <built-in function print> in place 0"),
        ([ALONE, "nav"], "groups must be RateGroup objects, got 'nav' in place 1"),
        (ALONE, f"groups must be a sequence of RateGroup objects, got {ALONE!r}: a single one goes into a list"),
        (None, "groups must be a sequence of RateGroup objects, got None"),
        ((), "groups must hold at least one rate group, got none"),
    ],
)
def test_what_is_no_sequence_of_groups(groups, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        check_groups(groups)


def test_groups_may_come_from_a_generator():
    groups = [RateGroup("a", nothing), RateGroup("b", nothing)]
    assert check_groups(group for group in groups) == tuple(groups)
