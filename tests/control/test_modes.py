"""Mode manager: each transition as a table of what is seen, for how long, and where it leads."""

import math
from itertools import pairwise

import pytest

from attitude.control import modes as module
from attitude.control.modes import Mode, ModeManager, Reason

MANAGER = ModeManager(
    detumbled_rate_deg_s=0.5, tumbling_rate_deg_s=2.0, acquired_sigma_deg=1.0, lost_sigma_deg=5.0,
    detumbled_hold_s=6.0, acquired_hold_s=1.0, recovered_hold_s=3.0, tumbling_hold_s=2.0, lost_hold_s=4.0,
    saturated_hold_s=2.0, acquire_timeout_s=10.0, safe_timeout_s=60.0,
)  # fmt: skip
H = 0.1
DETUMBLE, ACQUIRE, SAFE, NOMINAL = Mode


def seen(rate=0.1, sigma=0.3, load=0.2):
    """Rate in °/s, sigma in °, wheel load."""
    return math.radians(rate), math.radians(sigma), load


def hold(state, seconds, what, manager=MANAGER):
    """Modes of `seconds` of the same sight."""
    return [manager.update(state, *what, H) for _ in range(round(seconds / H))]


TABLE = [
    # start, what is seen, seconds until the change, next mode, reason
    (DETUMBLE, seen(rate=0.4), 6.0, ACQUIRE, Reason.READY),
    (DETUMBLE, seen(rate=0.4, sigma=math.nan, load=1.0), 6.0, ACQUIRE, Reason.READY),
    (ACQUIRE, seen(sigma=0.9), 1.0, NOMINAL, Reason.READY),
    (ACQUIRE, seen(sigma=1.1), 10.0, SAFE, Reason.TIMEOUT),
    (ACQUIRE, seen(sigma=math.nan), 10.0, SAFE, Reason.TIMEOUT),
    (ACQUIRE, seen(rate=2.1), 2.0, DETUMBLE, Reason.TUMBLING),
    (ACQUIRE, seen(sigma=1.1, load=0.96), 2.0, SAFE, Reason.SATURATED),
    (SAFE, seen(sigma=4.9, load=0.69), 3.0, ACQUIRE, Reason.READY),
    (SAFE, seen(rate=2.1), 2.0, DETUMBLE, Reason.TUMBLING),
    (SAFE, seen(sigma=math.inf), 60.0, DETUMBLE, Reason.TIMEOUT),
    (SAFE, seen(load=0.75), 60.0, DETUMBLE, Reason.TIMEOUT),
    (NOMINAL, seen(sigma=5.1), 4.0, SAFE, Reason.LOST),
    (NOMINAL, seen(sigma=math.nan), 4.0, SAFE, Reason.LOST),
    (NOMINAL, seen(rate=math.nan), 4.0, SAFE, Reason.LOST),
    (NOMINAL, seen(load=0.96), 2.0, SAFE, Reason.SATURATED),
    (NOMINAL, seen(rate=2.1), 2.0, DETUMBLE, Reason.TUMBLING),
    (NOMINAL, seen(rate=2.1, sigma=9.0, load=1.0), 2.0, DETUMBLE, Reason.TUMBLING),  # the first line decides
]


@pytest.mark.parametrize(("start", "what", "seconds", "end", "reason"), TABLE)
def test_transitions_and_their_hold_times(start, what, seconds, end, reason):
    state = MANAGER.initial_state(start)
    modes = hold(state, seconds, what)
    assert modes[:-1] == [start] * (len(modes) - 1)  # not a tick before its time
    assert modes[-1] == end
    assert Reason(int(state[module.REASON])) == reason
    assert state[module.IN_MODE] == 0.0


STAY = [
    (DETUMBLE, seen(rate=0.6)),
    (DETUMBLE, seen(rate=math.nan)),
    (DETUMBLE, seen(rate=30.0, sigma=math.nan, load=1.0)),
    (NOMINAL, seen(rate=1.9)),  # between the two rates
    (NOMINAL, seen(sigma=4.9)),  # between the two sigmas
    (NOMINAL, seen(load=0.94)),  # between the two loads
    (NOMINAL, seen()),
]


@pytest.mark.parametrize(("mode", "what"), STAY)
def test_what_changes_nothing(mode, what):
    assert set(hold(MANAGER.initial_state(mode), 100.0, what)) == {mode}


@pytest.mark.parametrize(
    ("start", "what", "between", "seconds"),
    [
        (DETUMBLE, seen(rate=0.4), seen(rate=0.6), 5.9),
        (NOMINAL, seen(sigma=9.0), seen(), 3.9),
        (NOMINAL, seen(load=1.0), seen(), 1.9),
        (NOMINAL, seen(rate=3.0), seen(), 1.9),
    ],
)
def test_one_tick_of_the_contrary_starts_the_hold_time_anew(start, what, between, seconds):
    state = MANAGER.initial_state(start)
    for _ in range(3):
        assert set(hold(state, seconds, what)) == {start}
        assert MANAGER.update(state, *between, H) == start
    assert hold(state, seconds + H, what)[-1] != start


def test_a_mission():
    state = MANAGER.initial_state()
    story = [
        (20.0, seen(rate=9.0, sigma=math.nan)), (10.0, seen(rate=0.4, sigma=math.nan)), (5.0, seen(sigma=0.5)),
        (20.0, seen()), (10.0, seen(sigma=math.nan)), (10.0, seen(sigma=0.5)), (5.0, seen(load=0.99)),
        (20.0, seen(load=0.5)), (4.0, seen(rate=5.0)), (10.0, seen()),
    ]  # fmt: skip
    modes = [mode for seconds, what in story for mode in hold(state, seconds, what)]
    visits = [DETUMBLE, *(b for a, b in pairwise(modes) if b != a)]
    assert visits == [
        DETUMBLE, ACQUIRE, NOMINAL, SAFE, ACQUIRE, NOMINAL, SAFE, ACQUIRE, NOMINAL, DETUMBLE, ACQUIRE, NOMINAL,
    ]  # fmt: skip


def test_without_a_timeout_safe_waits():
    patient = ModeManager(detumbled_rate_deg_s=0.5, tumbling_rate_deg_s=2.0, acquired_sigma_deg=1.0, lost_sigma_deg=5.0)
    assert set(hold(patient.initial_state(SAFE), 1000.0, seen(sigma=math.nan), patient)) == {SAFE}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"detumbled_rate_deg_s": 3.0}, "detumbled_rate_deg_s must be below tumbling_rate_deg_s"),
        ({"tumbling_rate_deg_s": -1.0}, "tumbling_rate_deg_s"),
        ({"acquired_sigma_deg": 5.0}, "acquired_sigma_deg must be below lost_sigma_deg"),
        ({"recovered_load": 0.99}, "recovered_load must be below saturated_load"),
        ({"saturated_load": 1.1}, "saturated_load must be at most 1"),
        ({"lost_hold_s": 0.0}, "lost_hold_s"),
        ({"acquire_timeout_s": math.inf}, "acquire_timeout_s"),
        ({"safe_timeout_s": -1.0}, "safe_timeout_s"),
    ],
)
def test_bad_input_names_the_field(change, name):
    given = dict(detumbled_rate_deg_s=0.5, tumbling_rate_deg_s=2.0, acquired_sigma_deg=1.0, lost_sigma_deg=5.0)
    with pytest.raises(ValueError, match=name):
        ModeManager(**{**given, **change})


def test_bad_tick_names_the_field():
    with pytest.raises(ValueError, match="h must"):
        MANAGER.update(MANAGER.initial_state(), 0.0, 0.0, 0.0, 0.0)
