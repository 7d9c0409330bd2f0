"""Magnetorquers: duty cycle, lag and limits against quadrature, torque, quiet time."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from attitude.actuators import magnetorquers as module
from attitude.actuators.magnetorquers import Magnetorquers, magnetic_torque

SET = dict(axes=np.eye(3), max_dipole_Am2=0.2, duty_cycle=0.7, period_s=1.0)


def torquers(**changes):
    return Magnetorquers(**{**SET, **changes})


def reference(start, target, fitted, t, h):
    """Dipole and its mean over a tick by DOP853, stopped and started at every switch."""
    period, on = fitted.period_s, fitted.duty_cycle * fitted.period_s
    first = math.floor(t / period) - 1
    switches = [k * period + s for k in range(first, first + int(h / period) + 4) for s in (0.0, on)]
    times = [t, *sorted(s for s in switches if t < s < t + h), t + h]
    y = [start, 0.0]
    for a, b in pairwise(times):
        aim = target if (0.5 * (a + b)) % period < on else 0.0
        y = solve_ivp(
            lambda _, y, aim=aim: [(aim - y[0]) / fitted.time_constant_s, y[0]], (a, b), y, "DOP853",
            rtol=1e-12, atol=1e-15,
        ).y[:, -1]  # fmt: skip
    return y[0], y[1] / h


@pytest.mark.parametrize(("t", "h"), [(0.0, 0.1), (0.65, 0.1), (0.95, 0.1), (0.3, 3.7), (12.7, 0.3), (5.0, 1.0)])
@pytest.mark.parametrize("duty_cycle", [0.7, 1.0])
def test_lag_and_duty_cycle_against_the_differential_equation(t, h, duty_cycle):
    fitted = torquers(time_constant_s=0.04, duty_cycle=duty_cycle)
    state = np.array([0.1, 0.0, -0.05])
    mean = fitted.tick(state, [0.15, -0.1, 0.02], t, h)
    for i, (start, target) in enumerate(((0.1, 0.15), (0.0, -0.1), (-0.05, 0.02))):
        # 1e-8: SLACK, a part 1e-9 of the period, of a switch at the end of a tick
        assert (state[i], mean[i]) == pytest.approx(reference(start, target, fitted, t, h), abs=1e-8)


def test_without_lag_the_mean_over_a_cycle_is_the_duty_cycle():
    fitted, state, means = torquers(), np.zeros(3), []
    for k in range(100):
        means.append(fitted.tick(state, [0.1, 0.0, 0.0], 0.1 * k, 0.1))
        assert state[0] == (0.1 if k % 10 < 7 else 0.0)  # on for seven ticks of ten, in floating point too
    assert np.mean(means, axis=0) == pytest.approx([0.07, 0.0, 0.0], rel=1e-12)


def test_quiet_time_is_when_the_torquers_have_settled():
    fitted = torquers(time_constant_s=0.02)  # settled 0.14 s after 0.7 s
    quiet = [k / 20 for k in range(20) if fitted.quiet(100.0 + k / 20)]
    assert quiet == [0.0, 0.85, 0.9, 0.95]
    assert not any(torquers(duty_cycle=1.0).quiet(k / 7) for k in range(20))
    assert all(torquers(period_s=0.1, duty_cycle=0.8).quiet(0.1 * k) for k in range(1000))


def test_little_of_the_dipole_is_left_when_it_counts_as_quiet():
    fitted, state = torquers(time_constant_s=0.02), np.zeros(3)
    fitted.tick(state, [0.2, 0.2, 0.2], 0.0, 0.7)
    fitted.tick(state, [0.2, 0.2, 0.2], 0.7, 0.15)
    assert fitted.quiet(0.85)
    assert np.abs(state).max() < 1e-3 * 0.2


def test_allocation_gives_the_mean_dipole_or_its_direction():
    skew = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0], [1.0, 1.0, 1.0]])
    fitted, wanted = torquers(axes=skew, period_s=0.1), np.array([0.03, -0.05, 0.02])
    assert fitted.tick(np.zeros(4), fitted.command(wanted), 0.0, 0.1) == pytest.approx(wanted, rel=1e-9)
    much = fitted.tick(np.zeros(4), fitted.command(100.0 * wanted), 0.0, 0.1)
    assert np.cross(much, wanted) == pytest.approx(np.zeros(3), abs=1e-15)
    assert np.abs(fitted.command(100.0 * wanted)).max() == pytest.approx(0.2)


def test_two_torquers_give_what_they_can():
    command = torquers(axes=np.eye(3)[:2], duty_cycle=1.0).command([0.1, 0.05, 0.2])
    assert command == pytest.approx([0.1, 0.05], abs=1e-15)


def test_limits_and_commands_that_are_no_numbers():
    p, state, mean = torquers(duty_cycle=1.0).parameters(), np.zeros(3), np.empty(3)
    command = np.array([5.0, -5.0, math.nan])
    assert module.magnetorquers_kernel(p, state, command, 0.0, 0.1, mean) == 3
    assert mean == pytest.approx([0.2, -0.2, 0.0])


def test_torque_is_the_cross_product():
    rng = np.random.default_rng(1)
    m, B = rng.normal(size=3), 1e-5 * rng.normal(size=3)
    assert magnetic_torque(m, B) == pytest.approx(np.cross(m, B), rel=1e-14)
    assert magnetic_torque([1, 0, 0], [0, 3e-5, 0]) == pytest.approx([0, 0, 3e-5])


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"axes": [[0, 0, 0]]}, r"axes\[0\]"),
        ({"axes": np.zeros((0, 3))}, "number of magnetorquer axes"),
        ({"max_dipole_Am2": -0.2}, "max_dipole_Am2"),
        ({"max_dipole_Am2": [0.2, 0.0, 0.2]}, r"max_dipole_Am2\[1\]"),
        ({"duty_cycle": 1.2}, "duty_cycle must be at most 1"),
        ({"duty_cycle": 0.0}, "duty_cycle"),
        ({"period_s": 0.0}, "period_s"),
        ({"time_constant_s": -0.1}, "time_constant_s"),
    ],
)
def test_bad_input_names_the_field(change, name):
    with pytest.raises(ValueError, match=name):
        torquers(**change)


def test_one_signature():
    for axes in (np.eye(3), np.eye(3)[:1].tolist()):
        fitted = torquers(axes=axes)
        fitted.tick(fitted.initial_state(), fitted.command([0, 0, 0]), 0, 1)
    assert len(module.magnetorquers_kernel.signatures) == len(module.allocate_dipole_kernel.signatures) == 1
