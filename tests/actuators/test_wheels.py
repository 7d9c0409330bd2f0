"""Wheels: friction against the differential equation, limits, momentum, allocation."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import attitude as att
from attitude.actuators import wheels as module
from attitude.actuators.wheels import RAD_S_PER_RPM, Allocation, Wheels, speed_change

INERTIA = np.diag([0.03, 0.028, 0.01])  # kg m², a 3U CubeSat
WHEEL = dict(inertia_kg_m2=2e-6, max_torque_Nm=1e-3, max_speed_rpm=8000.0, viscous_Nms=0.0, coulomb_Nm=0.0)
FRICTION = dict(viscous_Nms=3e-8, coulomb_Nm=2e-5)
PYRAMID = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]]) / math.sqrt(3.0)
MIXED = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 2, 3], [-1, 1, 0.5]])
Q0 = [0.0, 0.0, 0.0, 1.0]


def wheels(axes=PYRAMID, **changes):
    return Wheels(axes=axes, **{**WHEEL, **changes})


def plant(fitted):
    return att.Propagator(att.Gyrostat(INERTIA, fitted.rotors()))


# ------------------------------------------------------------------ friction
def reference_speed(speed, torque, inertia, viscous, coulomb, h):
    """Speed by DOP853 with the stop as an event: integrates to rest, then decides whether the wheel breaks away."""

    def rhs(_, v, sign):
        return [(torque - viscous * v[0] - coulomb * sign) / inertia]

    def rest(_, v, sign):
        return v[0]

    rest.terminal = True
    options = dict(method="DOP853", rtol=1e-13, atol=1e-13, max_step=h / 20)
    left = h
    if speed != 0.0:
        run = solve_ivp(rhs, (0.0, h), [speed], args=(np.sign(speed),), events=rest, **options)
        if run.status == 0:
            return run.y[0, -1]
        left -= run.t[-1]
    if abs(torque) <= coulomb:
        return 0.0
    return solve_ivp(rhs, (0.0, left), [0.0], args=(np.sign(torque),), **options).y[0, -1]


@pytest.mark.parametrize("viscous", [0.0, 3e-8, 1e-4])
@pytest.mark.parametrize(
    ("speed", "torque"),
    [(50.0, 0.0), (-50.0, 3e-5), (3.0, 0.0), (3.0, -1e-3), (-3.0, 1e-3), (0.0, 1e-5), (0.0, -5e-5), (2.0, 2e-5)],
)
def test_friction_against_the_differential_equation(speed, torque, viscous):
    arguments = (speed, torque, 2e-6, viscous, 2e-5, 0.5)
    # 1e-9: the event that stops the reference is found to about 1e-12 of h, at up to 500 rad/s² after it
    assert speed + speed_change(*arguments) == pytest.approx(reference_speed(*arguments), rel=1e-9, abs=1e-9)


def test_friction_takes_energy_at_any_tick_and_ends_with_the_wheels_at_rest():
    fitted = wheels(np.eye(3), viscous_Nms=1e-5, coulomb_Nm=1e-5)
    prop = plant(fitted)
    x = att.State(Q0, [0.01, -0.02, 0.03], np.array([1e-3, -5e-4, 2e-4]))
    p0, energies = prop.momentum(x), [prop.energy(x)]
    for _ in range(100):
        before = x.omega
        u = fitted.torque(x.rotor_momentum, x.omega, np.zeros(3), 2.0)  # c h / I = 10: explicit friction would explode
        x = prop.step(x, 2.0, motor_torque=u)
        energies.append(prop.energy(x))
    assert np.all(np.diff(energies) <= 0.0)
    # the wheels stick to the body as it was a tick ago
    assert fitted.speeds(x.rotor_momentum, x.omega) == pytest.approx(before - x.omega, abs=1e-14)
    assert np.linalg.norm(prop.momentum(x) - p0) <= 1e-14 * np.linalg.norm(p0)


def test_viscous_friction_in_the_plant_against_the_coupled_equations():
    c, w0, T = 1e-6, np.array([1e-3, -5e-4, 2e-4]), 4.0
    fitted = wheels(np.eye(3), viscous_Nms=c)
    body = att.Gyrostat(INERTIA, fitted.rotors())
    carrier, omega0 = body.carrier_inertia(), np.array([0.01, -0.02, 0.03])

    def rhs(_, y):
        omega, w = y[:3], y[3:]
        u = -c * (w / 2e-6 - omega)
        return np.concatenate([np.linalg.solve(carrier, -np.cross(omega, carrier @ omega + w) - u), u])

    exact = solve_ivp(rhs, (0.0, T), np.concatenate([omega0, w0]), "DOP853", rtol=1e-12, atol=1e-15).y[:, -1]
    errors = []
    for n in (100, 200):
        prop, x = att.Propagator(body), att.State(Q0, omega0, w0)
        for _ in range(n):
            x = prop.step(x, T / n, motor_torque=fitted.torque(x.rotor_momentum, x.omega, np.zeros(3), T / n))
        errors.append(np.abs(np.concatenate([x.omega, x.rotor_momentum]) - exact).max())
    # second order in the step, first order times I_r/I in the torque held over it: small, and falling at least as h
    assert errors[1] < 1e-5
    assert errors[1] < 0.6 * errors[0]


# ------------------------------------------------------------------ limits and commands
def test_torque_and_speed_limits():
    fitted = wheels(np.eye(3))
    top = 8000.0 * RAD_S_PER_RPM
    momentum = 2e-6 * np.array([0.0, top - 1.0, top])
    u = fitted.torque(momentum, np.zeros(3), [5e-3, 1e-3, -5e-3], 0.1)
    assert u == pytest.approx([1e-3, 2e-6 * 1.0 / 0.1, -1e-3], rel=1e-9)  # 1 rad/s is left to the second, in 0.1 s


def test_speed_limit_holds_whatever_is_commanded():
    rng = np.random.default_rng(5)
    fitted = wheels(np.eye(3), **FRICTION)
    prop, x = plant(fitted), att.State(Q0, np.zeros(3), np.zeros(3))
    top = 8000.0 * RAD_S_PER_RPM
    for k in range(400):
        command = rng.normal(size=3) * 3e-3 + 2e-3 * (-1) ** (k // 200)
        x = prop.step(x, 0.1, motor_torque=fitted.torque(x.rotor_momentum, x.omega, command, 0.1))
        # one tick of the body's acceleration, a·α h ≤ 1e-3/0.01·0.1 rad/s, is seen a tick later
        assert np.abs(fitted.speeds(x.rotor_momentum, x.omega)).max() <= top + 0.05


def test_speed_command_is_reached_and_held_against_friction():
    fitted = wheels(np.eye(3), command="speed", **FRICTION)
    prop, x, target = plant(fitted), att.State(Q0, np.zeros(3), np.zeros(3)), np.array([100.0, -250.0, 0.0])
    for _ in range(100):
        x = prop.step(x, 0.1, motor_torque=fitted.torque(x.rotor_momentum, x.omega, target, 0.1))
    # the total momentum is zero: when the speeds are there, nothing moves them any more
    assert fitted.speeds(x.rotor_momentum, x.omega) == pytest.approx(target, abs=1e-12)


def test_a_command_that_is_not_a_number_lets_the_wheel_coast():
    p, momentum, u = wheels(np.eye(3)).parameters(), np.full(3, 1e-3), np.empty(3)
    command = np.array([math.nan, math.inf, 1e-4])
    assert module.wheels_kernel(p, momentum, np.zeros(3), command, 0.1, u) == 2
    assert u == pytest.approx([0.0, 0.0, 1e-4], abs=1e-18)


@pytest.mark.parametrize("command", ["torque", "speed"])
def test_total_momentum_with_random_commands(command):
    rng = np.random.default_rng(11)
    fitted = wheels(command=command, **FRICTION)
    prop, x = plant(fitted), att.State(Q0, [0.1, -0.05, 0.2])
    p, momentum = fitted.parameters(), np.array(prop.kernel_state(x)[1])
    start, u, worst = prop.momentum(x), np.empty(4), 0.0
    scale = 2e-3 if command == "torque" else 1000.0
    for _ in range(5000):
        module.wheels_kernel(p, momentum, np.array(x.omega), scale * rng.normal(size=4), 0.1, u)
        x = prop.step(x, 0.1, motor_torque=u)
        worst = max(worst, np.linalg.norm(prop.momentum(x) - start))
    assert worst <= 1e-12 * np.linalg.norm(start)
    assert np.array_equal(momentum, x.rotor_momentum)  # the kernel's wheels and the plant's are the same, bit for bit


# ------------------------------------------------------------------ allocation
@pytest.mark.parametrize(("axes", "size"), [(np.eye(3), 3), (PYRAMID, 4), (MIXED, 5)])
def test_allocated_torque_is_the_commanded_one(axes, size):
    rng = np.random.default_rng(3)
    fitted = wheels(axes, max_torque_Nm=1e-3 * np.arange(1, size + 1))
    share = Allocation(wheels=fitted, balance_rate_per_s=0.05, preferred_speed_rpm=1000.0)
    prop = plant(fitted)
    for _ in range(20):
        tau, speeds = 1e-4 * rng.normal(size=3), 100.0 * rng.normal(size=size)
        u = share.command(tau, speeds, 0.1)
        assert np.asarray(fitted.axes).T @ u == pytest.approx(-tau, abs=1e-17)  # 1e-13 of the torque
        x = att.State(Q0, np.zeros(3), fitted.parameters().inertia * speeds)
        given = fitted.torque(x.rotor_momentum, x.omega, u, 0.1)
        alpha = np.linalg.solve(prop.body.carrier_inertia(), tau)
        turned = prop.step(x, 1e-4, motor_torque=given).omega / 1e-4  # short: no gyroscopic turn yet
        # ω × p over the step: 1e-2 rad/s² · 1e-4 s · 1e-3 N·m·s / 1e-2 kg·m²
        assert turned == pytest.approx(alpha, abs=1e-6)


def test_equal_wheels_are_allocated_by_the_pseudo_inverse():
    assert Allocation(wheels=wheels()).inverse() == pytest.approx(np.linalg.pinv(PYRAMID.T), abs=1e-15)


def test_unequal_wheels_share_by_what_their_motors_can_give():
    limits = 1e-3 * np.array([1.0, 2.0, 5.0, 0.5])
    inverse = Allocation(wheels=wheels(max_torque_Nm=limits)).inverse()
    # u = D y with the least |y|: the pseudo-inverse of A D
    assert inverse == pytest.approx(limits[:, None] * np.linalg.pinv(PYRAMID.T * limits), abs=1e-13)


def test_null_space_balances_speeds_without_torque_on_the_body():
    fitted = wheels()
    share = Allocation(wheels=fitted, balance_rate_per_s=0.1, preferred_speed_rpm=[500.0, -500.0, -500.0, 500.0])
    prop, x = plant(fitted), att.State(Q0, np.zeros(3), np.zeros(4))
    for _ in range(600):
        u = share.command(np.zeros(3), fitted.speeds(x.rotor_momentum, x.omega), 0.1)
        x = prop.step(x, 0.1, motor_torque=fitted.torque(x.rotor_momentum, x.omega, u, 0.1))
        assert np.abs(x.omega).max() < 1e-14  # rad/s: nothing was felt
    null = np.array([1.0, -1.0, -1.0, 1.0])
    left = math.exp(-0.1 * 60.0)  # of the distance to what was preferred; ticks of 0.1 s make it (1 − 0.01)^600
    assert fitted.speeds(x.rotor_momentum, x.omega) == pytest.approx(null * 500 * RAD_S_PER_RPM * (1 - left), rel=1e-4)


def test_balance_spreads_the_relative_speeds_evenly():
    fitted = wheels(MIXED, max_speed_rpm=1000.0 * np.arange(4, 9), inertia_kg_m2=1e-6 * np.arange(1, 6))
    projector, p = Allocation(wheels=fitted).balance(), fitted.parameters()
    assert np.asarray(fitted.axes).T @ projector == pytest.approx(np.zeros((3, 5)), abs=1e-15)
    assert projector @ projector == pytest.approx(projector, abs=1e-14)
    momentum = np.random.default_rng(0).normal(size=5)
    left = momentum - projector @ momentum
    null = np.linalg.svd(np.asarray(fitted.axes).T)[2][3:]
    # least squares: what is left is orthogonal to the null space in the metric of relative speeds
    assert null @ (left / (p.inertia * p.max_speed) ** 2) * 1e-5 == pytest.approx(np.zeros(2), abs=1e-12)


def test_too_large_a_torque_keeps_its_direction_and_comes_before_the_balance():
    fitted = wheels()
    share = Allocation(wheels=fitted, balance_rate_per_s=10.0)
    u, tau = np.empty(4), np.array([0.0, 0.0, 1.0])
    part = module.allocate_kernel(share.parameters(), tau, np.array([400.0, -400.0, -400.0, 400.0]), 0.1, u)
    given = -PYRAMID.T @ u
    assert given == pytest.approx(part * tau, abs=1e-15)
    assert np.abs(u).max() == pytest.approx(1e-3)
    assert part == pytest.approx(4 * 1e-3 / math.sqrt(3.0), rel=1e-12)  # four motors of 1 mN·m at 54.7° from z


def test_known_friction_is_compensated():
    fitted = wheels(np.eye(3), **FRICTION)
    speeds, tau = np.array([100.0, -300.0, 50.0]), np.array([1e-5, 2e-5, -3e-5])
    u = Allocation(wheels=fitted, compensate_friction=True).command(tau, speeds, 0.1)
    felt = -fitted.torque(2e-6 * speeds, np.zeros(3), u, 1e-3)
    assert felt == pytest.approx(tau, rel=1e-4)  # within the tick the speed changes viscous friction by 1e-5 of it
    without = -fitted.torque(2e-6 * speeds, np.zeros(3), Allocation(wheels=fitted).command(tau, speeds, 0.1), 1e-3)
    assert np.abs(without - tau).min() > 1.9e-5


def test_speed_commands_give_the_torque_too():
    fitted = wheels(command="speed", **FRICTION)
    speeds, tau = np.array([100.0, -300.0, 50.0, 20.0]), np.array([1e-5, 2e-5, -3e-5])
    command = Allocation(wheels=fitted).command(tau, speeds, 0.1)
    assert -PYRAMID.T @ fitted.torque(2e-6 * speeds, np.zeros(3), command, 0.1) == pytest.approx(tau, rel=1e-9)


# ------------------------------------------------------------------ the door
@pytest.mark.parametrize(
    "axes", [np.eye(3)[:2], [[1, 0, 0], [0, 1, 0], [1, 1, 0]], [[1, 0, 0], [0, 1, 0], [1, 1, 1e-9], [1, -1, 0]]]
)
def test_wheels_that_do_not_span_three_axes(axes):
    fitted = wheels(axes)  # as hardware they are fine
    with pytest.raises(ValueError, match="wheels must span three axes"):
        Allocation(wheels=fitted)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"axes": np.eye(2)}, "axes"),
        ({"axes": np.zeros((0, 3))}, "number of wheel axes"),
        ({"axes": [[1, 0, 0], [0, 0, 0], [0, 0, 1]]}, r"axes\[1\]"),
        ({"inertia_kg_m2": 0.0}, "inertia_kg_m2"),
        ({"max_torque_Nm": [1.0, -1.0, 1.0, 1.0]}, r"max_torque_Nm\[1\]"),
        ({"max_speed_rpm": math.nan}, "max_speed_rpm"),
        ({"viscous_Nms": -1e-9}, "viscous_Nms"),
        ({"coulomb_Nm": [0.0, 0.0]}, "coulomb_Nm"),
        ({"command": "voltage"}, "command"),
    ],
)
def test_bad_wheels_name_the_field(change, name):
    with pytest.raises(ValueError, match=name):
        Wheels(**{"axes": PYRAMID, **WHEEL, **change})


@pytest.mark.parametrize(
    ("change", "name"),
    [({"balance_rate_per_s": -1.0}, "balance_rate_per_s"), ({"preferred_speed_rpm": [1.0]}, "preferred_speed_rpm"),
     ({"wheels": None}, "wheels")],
)  # fmt: skip
def test_bad_allocation_names_the_field(change, name):
    with pytest.raises(ValueError, match=name):
        Allocation(**{"wheels": wheels(), **change})


def test_bad_arguments_name_the_field():
    fitted = wheels()
    for arguments, name in [
        ((np.zeros(3), np.zeros(3), np.zeros(4), 0.1), "momentum"),
        ((np.zeros(4), [math.nan, 0, 0], np.zeros(4), 0.1), "omega_B"),
        ((np.zeros(4), np.zeros(3), np.zeros(5), 0.1), "command"),
        ((np.zeros(4), np.zeros(3), np.zeros(4), 0.0), "h"),
    ]:
        with pytest.raises(ValueError, match=name):
            fitted.torque(*arguments)


def test_one_signature():
    for axes in (np.eye(3), PYRAMID, MIXED.tolist()):
        fitted = wheels(axes)
        size = len(fitted)
        Allocation(wheels=fitted).command([0, 0, 0], np.zeros(size), 1)
        fitted.torque(np.zeros(size), [0, 0, 0], np.zeros(size), 1)
    assert len(module.wheels_kernel.signatures) == len(module.allocate_kernel.signatures) == 1
