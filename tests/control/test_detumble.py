"""Detumbling: the torque the laws aim at, and a tumbling body in the field along an orbit."""

import math

import numpy as np
import pytest

import attitude as att
from attitude.actuators.magnetorquers import Magnetorquers, magnetic_torque
from attitude.control import detumble as module
from attitude.control.detumble import Detumble, detumble_gain
from attitude.core import quaternion

INERTIA = np.diag([0.03, 0.028, 0.01])  # kg m²
PERIOD = 5700.0  # s, a low orbit


def dipole_field(t):
    """Field of a dipole along z on a circular orbit inclined by 80°, T, inertial axes."""
    angle, tilt = 2 * math.pi * t / PERIOD, math.radians(80.0)
    r = np.array([math.cos(angle), math.sin(angle) * math.cos(tilt), math.sin(angle) * math.sin(tilt)])
    return 2.5e-5 * (np.array([0.0, 0.0, 1.0]) - 3.0 * r[2] * r)


def test_rate_law_takes_energy_at_the_rate_of_its_gain():
    rng = np.random.default_rng(2)
    law = Detumble(gain_Nms=1e-4)
    for _ in range(20):
        omega, B = rng.normal(size=3), 3e-5 * rng.normal(size=3)
        across = omega - B * (B @ omega) / (B @ B)
        torque = magnetic_torque(law.from_rate(omega, B), B)
        assert torque == pytest.approx(-1e-4 * across, abs=1e-18)


def test_bdot_is_the_rate_law_in_a_field_that_stands_still():
    omega, B_I, law = np.array([0.05, -0.03, 0.04]), np.array([1e-5, 2e-5, -3e-5]), Detumble(gain_Nms=1e-4)
    errors = []
    for h in (0.02, 0.01):
        state = law.initial_state()
        before, after = (quaternion.rotate_back(quaternion.exp(omega * t), B_I) for t in (-h, 0.0))
        assert law.from_field(state, before, -h) == pytest.approx(np.zeros(3), abs=0.0)  # one sample says nothing
        errors.append(np.linalg.norm(law.from_field(state, after, 0.0) - law.from_rate(omega, after)))
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.01)  # a difference lags by half its step
    assert errors[1] < 0.01 * np.linalg.norm(law.from_rate(omega, B_I))


def test_the_filter_is_a_first_order_lag_at_any_spacing():
    law, slope = Detumble(gain_Nms=1.0, filter_time_constant_s=2.0), np.array([1e-6, -2e-6, 0.0])
    for times in (np.linspace(0.0, 3.0, 4), np.array([0.0, 0.1, 0.9, 1.4, 3.0])):
        state = law.initial_state()
        for t in times:
            law.from_field(state, [3e-5, 0.0, 0.0] + slope * t, t)
        assert state[5:] == pytest.approx(slope * (1.0 - math.exp(-1.5)), rel=1e-9)


@pytest.mark.parametrize("method", ["bdot", "rate"])
def test_a_tumbling_cubesat_comes_to_rest(method):
    law = Detumble(gain_Nms=detumble_gain(INERTIA, PERIOD, 80.0), max_gap_s=2.0)
    torquers = Magnetorquers(axes=np.eye(3), max_dipole_Am2=0.2, duty_cycle=0.8, period_s=1.0)
    prop, h = att.Propagator(att.RigidBody(INERTIA), max_increment=0.2), 1.0
    x = att.State([0.0, 0.0, 0.0, 1.0], np.radians([6.0, -6.0, 5.0]))  # 9.8 °/s
    state, dipoles, energies = law.initial_state(), torquers.initial_state(), []
    for k in range(int(2 * PERIOD)):
        B = quaternion.rotate_back(x.q, dipole_field(k * h))
        assert torquers.quiet(k * h)
        wanted = law.from_field(state, B, k * h) if method == "bdot" else law.from_rate(x.omega, B)
        mean = torquers.tick(dipoles, torquers.command(wanted), k * h, h)
        x = prop.step(x, h, torque=magnetic_torque(mean, B))
        energies.append(prop.energy(x))
    assert np.degrees(np.linalg.norm(x.omega)) < 0.5
    smooth = np.array(energies[: int(PERIOD)]).reshape(-1, 300).mean(axis=1)
    # every five minutes of the first orbit take energy; B-dot ends by following the field, which turns at twice the
    # orbit's rate
    floor = 2.0 * 0.03 * (2.0 * math.pi / PERIOD) ** 2 if method == "bdot" else 0.0
    assert np.all(np.diff(smooth)[smooth[1:] > 3.0 * floor] < 0.0)
    assert smooth[-1] < 1e-3 * smooth[0]


def test_samples_that_cannot_be_used_give_no_dipole():
    p, state, m = Detumble(gain_Nms=1.0, max_gap_s=2.0).parameters(), np.zeros(8), np.ones(3)
    B = np.array([1e-5, 0.0, 0.0])
    assert module.bdot_kernel(p, state, B, 0.0, m) == module.NO_DIFFERENCE
    assert module.bdot_kernel(p, state, np.full(3, np.nan), 1.0, m) == module.NO_FIELD
    assert module.bdot_kernel(p, state, 2 * B, 1.5, m) == module.OK  # the bad sample is forgotten
    assert m == pytest.approx([-1.0 / 4e-10 * 1e-5 / 1.5, 0.0, 0.0])
    assert module.bdot_kernel(p, state, B, 4.0, m) == module.NO_DIFFERENCE  # 2.5 s later
    assert module.bdot_kernel(p, state, B, 4.0, m) == module.NO_DIFFERENCE  # the same instant again
    assert np.array_equal(m, np.zeros(3))
    assert module.rate_detumble_kernel(p, np.full(3, np.nan), B, m) == module.NO_FIELD
    assert np.array_equal(m, np.zeros(3))


def test_gain():
    # 4π/T (1 + sin ξ) J_min: 4π/4π · (1 + 1) · 0.01
    assert detumble_gain(INERTIA, 4 * math.pi, 90.0) == pytest.approx(0.02, rel=1e-14)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Detumble(gain_Nms=-1.0), "gain_Nms"),
        (lambda: Detumble(gain_Nms=1.0, filter_time_constant_s=-1.0), "filter_time_constant_s"),
        (lambda: Detumble(gain_Nms=1.0, max_gap_s=0.0), "max_gap_s"),
        (lambda: detumble_gain(np.zeros((3, 3)), 1.0, 0.0), "inertia_kg_m2"),
        (lambda: detumble_gain(INERTIA, 0.0, 0.0), "period_s"),
        (lambda: detumble_gain(INERTIA, 1.0, 181.0), "inclination_deg"),
        (lambda: Detumble(gain_Nms=1.0).from_rate([0, 0, 0], [0, 0, 0]), "field_B"),
        (lambda: Detumble(gain_Nms=1.0).from_field(np.zeros(8), [0, 0, 0], 0.0), "field_B"),
    ],
)
def test_bad_input_names_the_field(make, name):
    with pytest.raises(ValueError, match=name):
        make()
