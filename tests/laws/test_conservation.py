"""Laws every propagator keeps: unit norm, momentum, energy, symplecticity, time reversal, q ≡ −q."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import attitude as att

Q0 = [0.0, 0.0, 0.0, 1.0]
RATE = [np.pi / 4, -np.pi / 5, np.pi / 6]  # rad/s, MP 2016 section IX.A
PAPER_BODY = np.diag([1.0, 2.0, 3.0])
FULL = np.array([[1.2, 0.1, -0.2], [0.1, 2.0, 0.15], [-0.2, 0.15, 2.6]])  # kg m², not diagonal


def relative_drift(vectors):
    return np.linalg.norm(vectors - vectors[0], axis=1).max() / np.linalg.norm(vectors[0])


def random_wheels(rng, n):
    return [att.Wheel(rng.normal(size=3), rng.uniform(0.01, 0.05)) for _ in range(n)]


@pytest.mark.parametrize("order", [2, 4, 12])
@pytest.mark.parametrize("inertia", [PAPER_BODY, FULL], ids=["diagonal", "full"])
def test_free_body_million_steps(inertia, order):
    # issue figure: 1e-12; compensated sums leave some 1e-14, so a tenth of the figure catches their loss
    run = att.Propagator(att.RigidBody(inertia), order=order).run(att.State(Q0, RATE), 0.2, 1_000_000, every=1000)
    assert len(run.t) == 1001
    assert relative_drift(run.momentum) <= 1e-13
    assert np.abs(run.energy / run.energy[0] - 1.0).max() <= 1e-13
    assert np.abs(np.linalg.norm(run.q, axis=1) - 1.0).max() <= 1e-15  # a few roundings


def test_gyrostat_random_motor_torques_keep_total_momentum():
    rng = np.random.default_rng(3)
    body = att.Gyrostat(FULL, random_wheels(rng, 4))
    steps = 100_000
    run = att.Propagator(body).run(
        att.State(Q0, [0.1, -0.2, 0.15]), 0.1, steps, every=100, motor_torque=0.02 * rng.normal(size=(steps, 4))
    )
    assert relative_drift(run.momentum) <= 1e-12
    assert np.ptp(run.rotor_momentum, axis=0).min() > 0.1  # the wheels did move


def test_prescribed_rotors_keep_total_momentum():
    rng = np.random.default_rng(4)
    body = att.Gyrostat(FULL, random_wheels(rng, 3), rotors="prescribed")
    t = 0.1 * np.arange(1, 20_001)[:, None]
    schedule = 0.2 * np.sin(t * [0.3, 0.5, 0.7])
    run = att.Propagator(body, order=4).run(att.State(Q0, RATE), 0.1, 20_000, rotor_momentum=schedule)
    assert relative_drift(run.momentum) <= 1e-12
    np.testing.assert_allclose(run.rotor_momentum[1:], schedule, atol=1e-12)  # sums of 20 000 differences


def test_free_gyrostat_energy_does_not_drift():
    body = att.Gyrostat(PAPER_BODY, [att.Wheel([1.0, 2.0, -1.0], 0.05)])
    start = att.State(Q0, [0.3, -0.2, 0.25], rotor_momentum=[0.4])
    run = att.Propagator(body).run(start, 0.1, 200_000, every=20)
    error = run.energy - run.energy[0]
    slope = np.polyfit(run.t, error, 1)[0] * run.t[-1]
    assert np.abs(error).max() < 1e-3 * run.energy[0]  # bounded: second order in h
    assert abs(slope) < 0.1 * np.std(error)  # and without trend


@pytest.mark.parametrize("damping", [0.1, 1.0, 10.0, 100.0])
def test_damper_keeps_total_momentum_and_loses_energy(damping):
    body = att.DampedGyrostat(PAPER_BODY, damper_inertia=0.2, damping=damping)
    run = att.Propagator(body).run(att.State(Q0, RATE), 0.3, 300)
    assert relative_drift(run.momentum) <= 1e-13
    assert run.energy[1:].max() < run.energy[0]
    assert np.diff(run.energy).max() < 2e-4 * run.energy[0]  # the discrete energy of a free body swings by O(h²)
    assert run.energy[-1] < 0.95 * run.energy[0]


def symplectic_defect(moments, omega, h, order):
    """`Φᵀ Ω(p⁺) Φ − Ω(p)` in `[θ, p]`, Ω the canonical form of T*SO(3) in body axes."""
    x1, Phi = att.Propagator(att.RigidBody(np.diag(moments)), order=order).step_with_jacobian(att.State(Q0, omega), h)
    scale = np.diag(np.concatenate([np.ones(3), moments]))
    M = scale @ Phi @ np.linalg.inv(scale)
    return np.abs(M.T @ form(moments * x1.omega) @ M - form(moments * omega)).max()


def test_paper_step_is_symplectic():
    rng = np.random.default_rng(2)
    for _ in range(20):  # products of O(1) numbers: a few roundings
        assert symplectic_defect(rng.uniform(0.5, 1.0, 3), rng.normal(size=3), 0.2, 2) < 2e-15


@pytest.mark.parametrize("order", [4, 6])
def test_preprocessed_step_is_symplectic_to_its_order(order):
    """The modified inertia depends on the state, so the step is symplectic as far as it is accurate, not exactly."""
    moments, omega = np.array([0.6, 0.8, 1.0]), np.array([0.9, -0.7, 0.8])
    coarse, fine = (symplectic_defect(moments, omega, h, order) for h in (0.4, 0.2))
    assert np.log2(coarse / fine) > order + 0.5


def form(p):
    skew = np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
    return np.block([[-skew, np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])


@pytest.mark.parametrize(("body", "order"), [
    (att.RigidBody(FULL), 2), (att.RigidBody(FULL), 12),
    (att.Gyrostat(FULL, [att.Wheel([1.0, 1.0, 0.0], 0.04)], rotors="prescribed"), 6),
])  # fmt: skip
def test_time_reversal(body, order):
    """The flow is symmetric: turn every rate round and it goes back the way it came."""
    propagator = att.Propagator(body, order=order)
    wheels = [0.3] if isinstance(body, att.Gyrostat) else None
    there = propagator.run(att.State(Q0, RATE, wheels), 0.2, 500).final
    turned = None if wheels is None else [-0.3]
    back = propagator.run(att.State(there.q, -there.omega, turned), 0.2, 500).final
    np.testing.assert_allclose(-back.omega, RATE, atol=1e-11)  # roundoff of 1000 steps, growing along the orbit
    assert Rotation.from_quat(back.q).magnitude() < 1e-11


@pytest.mark.parametrize("max_increment", [None, 0.1])
def test_q_and_minus_q_are_the_same_attitude(max_increment):
    propagator = att.Propagator(att.RigidBody(FULL), order=6, max_increment=max_increment)
    q = np.array([0.5, -0.5, 0.5, 0.5])
    a, b = (propagator.step(att.State(sign * q, RATE), 0.3) for sign in (1.0, -1.0))
    np.testing.assert_array_equal(a.q, -b.q)
    np.testing.assert_array_equal(a.omega, b.omega)


def test_inertial_frame_does_not_matter():
    """Turning the inertial axes turns the attitude and nothing else."""
    propagator = att.Propagator(att.RigidBody(FULL))
    turn = Rotation.from_rotvec([0.3, -1.0, 0.7])
    a = propagator.run(att.State(Q0, RATE), 0.2, 100).final
    b = propagator.run(att.State(turn.as_quat(), RATE), 0.2, 100).final
    np.testing.assert_allclose(a.omega, b.omega, atol=1e-15)
    assert (turn * Rotation.from_quat(a.q) * Rotation.from_quat(b.q).inv()).magnitude() < 1e-14


def test_body_axes_do_not_matter():
    """A body described in other axes moves the same: the principal-axes transform is right."""
    turn = Rotation.from_rotvec([0.4, 0.2, -0.9])
    R = turn.as_matrix()
    a = att.Propagator(att.RigidBody(FULL), order=8).run(att.State(Q0, RATE), 0.2, 200).final
    other = att.State(turn.as_quat(), turn.inv().apply(RATE))
    b = att.Propagator(att.RigidBody(R.T @ FULL @ R), order=8).run(other, 0.2, 200).final
    np.testing.assert_allclose(turn.apply(b.omega), a.omega, atol=1e-13)
    assert (Rotation.from_quat(a.q).inv() * Rotation.from_quat(b.q) * turn.inv()).magnitude() < 1e-13
