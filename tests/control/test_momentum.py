"""Momentum dumping: the torque of the cross-product law, its hysteresis, and wheels unloaded in a turning field."""

import math

import numpy as np
import pytest

import attitude as att
from attitude.actuators.magnetorquers import magnetic_torque
from attitude.actuators.wheels import Allocation, Wheels
from attitude.control import momentum as module
from attitude.control.momentum import MomentumDumping
from attitude.control.pointing import QuaternionFeedback
from attitude.core import quaternion


def test_torque_is_against_the_momentum_across_the_field():
    rng = np.random.default_rng(4)
    target = np.array([1e-3, 0.0, -1e-3])
    law = MomentumDumping(time_constant_s=200.0, target_Nms=target)
    for _ in range(20):
        h, B = 1e-2 * rng.normal(size=3), 3e-5 * rng.normal(size=3)
        across = (h - target) - B * (B @ (h - target)) / (B @ B)
        assert magnetic_torque(law.dipole(np.zeros(1), h, B), B) == pytest.approx(-across / 200.0, abs=1e-18)


def test_hysteresis():
    law, state, B = MomentumDumping(time_constant_s=1.0, start_Nms=2.0, stop_Nms=1.0), np.zeros(1), [0.0, 0.0, 1.0]
    seen = [bool(np.any(law.dipole(state, [h, 0.0, 0.0], B))) for h in (1.5, 2.0, 1.5, 1.1, 1.0, 1.5, 1.9, 2.1)]
    assert seen == [False, True, True, True, False, False, False, True]


def test_wheels_are_unloaded_while_the_attitude_is_held():
    """In a field that turns once in 1000 s the momentum decays; the total follows the law, averaged over the turn."""
    wheels = Wheels(
        axes=np.eye(3), inertia_kg_m2=2e-6, max_torque_Nm=1e-3, max_speed_rpm=8000.0, viscous_Nms=0.0, coulomb_Nm=0.0
    )
    prop = att.Propagator(att.Gyrostat(np.diag([0.03, 0.028, 0.01]), wheels.rotors()))
    point = QuaternionFeedback(
        inertia_kg_m2=prop.body.carrier_inertia(), bandwidth_rad_s=0.3, damping_ratio=1.0
    )
    dump, share = MomentumDumping(time_constant_s=200.0), Allocation(wheels=wheels)
    x = att.State([0.0, 0.0, 0.0, 1.0], np.zeros(3), np.array([1e-3, -8e-4, 6e-4]))
    start, integral, dumping, h = prop.momentum(x), np.zeros(3), np.zeros(1), 0.5
    reference = np.array([0.0, 0.0, 0.0, 1.0, *np.zeros(6)])
    for k in range(4000):
        angle = 2.0 * math.pi * k * h / 1000.0
        B = quaternion.rotate_back(x.q, 3e-5 * np.array([math.cos(angle), math.sin(angle), 0.0]))
        rho = wheels.axes.T @ x.rotor_momentum
        tau = point.torque(integral, x.q, x.omega, reference, h, rho)
        u = wheels.torque(
            x.rotor_momentum, x.omega, share.command(tau, wheels.speeds(x.rotor_momentum, x.omega), h), h
        )
        x = prop.step(x, h, torque=magnetic_torque(dump.dipole(dumping, rho, B), B), motor_torque=u)
    # the third axis is always across: exp(−t/200 s) after 2000 s; the others are across half the time
    left = prop.momentum(x) / start
    assert left[2] == pytest.approx(math.exp(-10.0), rel=0.1)
    assert np.abs(left[:2]).max() < 3.0 * math.exp(-5.0)
    assert np.degrees(quaternion.angle_between(x.q, reference[:4])) < 0.05


def test_no_dipole_without_field_or_momentum():
    p, m = MomentumDumping(time_constant_s=1.0).parameters(), np.ones(3)
    assert module.dumping_kernel(p, np.zeros(1), np.ones(3), np.zeros(3), m) == module.NO_FIELD
    assert module.dumping_kernel(p, np.zeros(1), np.full(3, np.nan), np.ones(3), m) == module.NO_FIELD
    assert np.array_equal(m, np.zeros(3))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"time_constant_s": 0.0}, "time_constant_s"),
        ({"target_Nms": [0.0]}, "target_Nms"),
        ({"start_Nms": -1.0}, "start_Nms"),
        ({"stop_Nms": 1.0}, "stop_Nms must not be above start_Nms"),
    ],
)
def test_bad_input_names_the_field(change, name):
    with pytest.raises(ValueError, match=name):
        MomentumDumping(**{"time_constant_s": 1.0, **change})
