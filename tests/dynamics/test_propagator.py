"""The propagator against exact and independent solutions, its substeps, its inputs, its errors."""

import copy
import dataclasses
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import attitude as att
from attitude.dynamics import step as kernels
from attitude.truth.free_body import free_motion

Q0 = np.array([0.0, 0.0, 0.0, 1.0])
RATE = np.array([np.pi / 4, -np.pi / 5, np.pi / 6])  # rad/s
BODY = np.diag([1.0, 2.0, 2.9])  # kg m²


def attitude_error(q, reference):
    """Angle between two attitudes, rad."""
    return (Rotation.from_quat(q).inv() * Rotation.from_quat(reference)).magnitude()


def gyrostat_reference(body, x, t, torque=None, motor_torque=None, tolerance=1e-13):
    """Attitude and rate by DOP853 from Euler's equation with wheels, in body axes: shares nothing with the VI."""
    axes, inertias = body.rotor_axes, body.rotor_inertias
    carrier = np.asarray(body.inertia) - (axes * inertias) @ axes.T
    inverse, W = np.linalg.inv(carrier), len(inertias)
    tau = np.zeros(3) if torque is None else np.asarray(torque)
    u = np.zeros(W) if motor_torque is None else np.asarray(motor_torque)

    def rhs(_, y):
        q, w, m = y[:4], y[4:7], y[7:]
        dw = inverse @ (tau - np.cross(w, carrier @ w + axes @ m) - axes @ u)
        dq = 0.5 * np.array([*(q[3] * w + np.cross(q[:3], w)), -q[:3] @ w])
        return np.concatenate([dq, dw, u])

    y = solve_ivp(
        rhs, (0.0, t), np.concatenate([x.q, x.omega, x.rotor_momentum]), "DOP853", rtol=tolerance, atol=tolerance
    ).y[:, -1]
    return y[:4] / np.linalg.norm(y[:4]), y[4:7]


def slope(errors, ratio=2.0):
    return np.log(errors[:-1] / np.array(errors[1:])) / np.log(ratio)


# ------------------------------------------------------------------ order
@pytest.mark.parametrize(
    ("order", "steps", "tolerance"),
    [(2, (800, 1600), 0.05), (4, (200, 400), 0.1), (6, (100, 200), 0.2), (8, (80, 160), 0.3)],
)
def test_order_of_free_body_against_the_exact_solution(order, steps, tolerance):
    x = att.State(Q0, RATE)
    exact, _ = free_motion(BODY, Q0, RATE, 40.0)
    propagator = att.Propagator(att.RigidBody(BODY), order=order)
    errors = [attitude_error(propagator.run(x, 40.0 / n, n, every=n).q[-1], exact) for n in steps]
    assert abs(slope(np.array(errors))[0] - order) <= tolerance


@pytest.mark.parametrize(("order", "h", "limit"), [(12, 0.2, 2e-12), (10, 0.4, 3e-9)])
def test_high_order_figures(order, h, limit):
    exact_q, exact_omega = free_motion(BODY, Q0, RATE, 40.0)
    end = att.Propagator(att.RigidBody(BODY), order=order).run(att.State(Q0, RATE), h, round(40 / h)).final
    assert attitude_error(end.q, exact_q) <= limit
    assert np.abs(end.omega - exact_omega).max() <= limit


@pytest.mark.parametrize(("h", "row"), [
    (0.8, (2.0, 2.6e-1, 4.5e-3, 7.6e-5, 1.7e-6, 3.7e-8)), (0.4, (1.3, 1.2e-2, 5.6e-5, 2.5e-7, 1.4e-9, 7.8e-12)),
    (0.2, (3.1e-1, 6.9e-4, 8.2e-7, 9.4e-10, 1.3e-12)), (0.1, (7.5e-2, 4.2e-5, 1.3e-8, 3.5e-12)),
])  # fmt: skip
def test_table_of_errors_against_order_and_step(h, row):
    """The derivation's own table of errors, to its two digits (entries at roundoff left out)."""
    exact, _ = free_motion(BODY, Q0, RATE, 40.0)
    for order, printed in zip((2, 4, 6, 8, 10, 12), row, strict=False):
        end = att.Propagator(att.RigidBody(BODY), order=order).run(att.State(Q0, RATE), h, round(40 / h)).final
        # half a unit of the last printed digit, and 3e-13 of roundoff in what the table was computed with
        assert attitude_error(end.q, exact) == pytest.approx(printed, rel=0.051, abs=3e-13)


@pytest.mark.parametrize(
    ("order", "steps", "tolerance"), [(2, (400, 800), 0.05), (4, (100, 200), 0.1), (6, (40, 80), 0.3)]
)
def test_order_of_gyrostat_with_torques_against_dop853(order, steps, tolerance):
    wheels = [att.Wheel([1.0, 0.0, 0.0], 0.03), att.Wheel([1.0, 1.0, 1.0], 0.02)]
    body = att.Gyrostat([[1.2, 0.1, -0.2], [0.1, 2.0, 0.15], [-0.2, 0.15, 2.6]], wheels)
    x = att.State(Q0, [0.5, -0.4, 0.45], rotor_momentum=[0.5, -0.3])
    inputs = {"torque": [0.03, -0.02, 0.01], "motor_torque": [0.02, -0.03]}
    q, omega = gyrostat_reference(body, x, 10.0, **inputs)
    propagator = att.Propagator(body, order=order)
    ends = [propagator.run(x, 10.0 / n, n, **inputs).final for n in steps]
    assert abs(slope(np.array([attitude_error(end.q, q) for end in ends]))[0] - order) <= tolerance
    assert abs(slope(np.array([np.linalg.norm(end.omega - omega) for end in ends]))[0] - order) <= tolerance


def test_torque_on_rigid_body_is_second_order_at_every_order():
    def rhs(_, y):
        q, w = y[:4], y[4:]
        dw = np.linalg.solve(BODY, np.array([0.05, -0.1, 0.08]) - np.cross(w, BODY @ w))
        return np.concatenate([0.5 * np.array([*(q[3] * w + np.cross(q[:3], w)), -q[:3] @ w]), dw])

    y = solve_ivp(rhs, (0, 10), np.concatenate([Q0, RATE]), "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    for order in (2, 12):
        propagator = att.Propagator(att.RigidBody(BODY), order=order)
        runs = [propagator.run(att.State(Q0, RATE), 10 / n, n, torque=[0.05, -0.1, 0.08]) for n in (400, 800)]
        errors = np.array([np.linalg.norm(run.omega[-1] - y[4:]) for run in runs])
        assert abs(slope(errors)[0] - 2.0) < 0.05


def test_prescribed_and_driven_rotors_agree():
    """The same motion described both ways: relative momentum known from the driven run, given back as prescribed."""
    inertia, wheel = np.diag([1.0, 1.6, 2.0]), att.Wheel([0.0, 1.0, 1.0], 0.05)
    n, h = 4000, 0.005
    driven = att.Propagator(att.Gyrostat(inertia, [wheel])).run(
        att.State(Q0, [0.3, -0.2, 0.1], [0.2]), h, n, motor_torque=[0.01]
    )
    relative = driven.rotor_momentum - wheel.inertia * (driven.omega @ wheel.axis)[:, None]
    prescribed = att.Propagator(att.Gyrostat(inertia, [wheel], rotors="prescribed")).run(
        att.State(Q0, [0.3, -0.2, 0.1], relative[0]), h, n, rotor_momentum=relative[1:]
    )
    # both are second order: they differ by O(h²), and the energies mean the same thing
    assert attitude_error(prescribed.q[-1], driven.q[-1]) < 1e-5
    np.testing.assert_allclose(prescribed.energy, driven.energy, rtol=1e-5)
    np.testing.assert_allclose(prescribed.momentum[-1], driven.momentum[-1], rtol=1e-12)


def test_rotors_at_rest_by_default_make_a_rigid_body():
    inertia = np.diag([1.0, 1.6, 2.0])
    wheels = [att.Wheel([1.0, 0.2, 0.0], 0.05), att.Wheel([0.0, 0.0, 1.0], 0.02)]
    rigid, x = att.Propagator(att.RigidBody(inertia)), att.State(Q0, RATE)
    for rotors in ("driven", "prescribed"):
        propagator = att.Propagator(att.Gyrostat(inertia, wheels, rotors=rotors))
        np.testing.assert_allclose(propagator.momentum(x), rigid.momentum(x), rtol=1e-14)
        assert propagator.energy(x) == pytest.approx(rigid.energy(x), rel=1e-14)
    prescribed = att.Propagator(att.Gyrostat(inertia, wheels, rotors="prescribed")).run(x, 0.1, 100).final
    np.testing.assert_allclose(prescribed.omega, rigid.run(x, 0.1, 100).final.omega, rtol=1e-13)


# ------------------------------------------------------------------ the damper
def damper_reference(damping, times, inertia, damper_inertia, omega):
    """Total energy by Radau at 1e-10 from the continuous equations of MP 2016, section VIII."""
    def rhs(_, y):
        w, d = y[:3], y[3:]
        tau = damping * (d - w)
        return np.concatenate([
            np.linalg.solve(inertia, tau - np.cross(w, inertia @ w)), -tau / damper_inertia - np.cross(w, d)
        ])  # fmt: skip

    start = np.concatenate([omega, np.zeros(3)])
    y = solve_ivp(rhs, (0, times[-1]), start, "Radau", rtol=1e-10, atol=1e-10, t_eval=times).y
    return 0.5 * np.einsum("it,ij,jt->t", y[:3], inertia, y[:3]) + 0.5 * damper_inertia * np.sum(y[3:] ** 2, axis=0)


@pytest.mark.parametrize(("damping", "limit"), [(0.1, 0.03), (1.0, 0.02), (10.0, 0.003), (100.0, 0.001)])
def test_damper_energy_against_radau(damping, limit):
    inertia = np.diag([1.0, 2.0, 3.0])
    body = att.DampedGyrostat(inertia, damper_inertia=0.2, damping=damping)
    run = att.Propagator(body).run(att.State(Q0, RATE), 0.3, 300)
    reference = damper_reference(damping, run.t, inertia, 0.2, RATE)
    assert np.abs(run.energy / reference - 1.0).max() <= limit
    assert np.linalg.norm(run.momentum - run.momentum[0], axis=1).max() <= 1e-13 * np.linalg.norm(run.momentum[0])


def test_damper_converges_to_the_continuous_motion():
    inertia = np.diag([1.0, 2.0, 3.0])
    body = att.DampedGyrostat(inertia, damper_inertia=0.2, damping=1.0)
    errors = []
    for n in (400, 800, 1600):
        run = att.Propagator(body).run(att.State(Q0, RATE), 10 / n, n)
        errors.append(abs(run.energy[-1] - damper_reference(1.0, [0, 10.0], inertia, 0.2, RATE)[-1]))
    assert slope(np.array(errors))[-1] == pytest.approx(1.0, abs=0.1)  # first order in the dissipation


def test_damper_without_damping_is_a_free_body():
    inertia = np.diag([1.0, 2.0, 3.0])
    damped = att.Propagator(att.DampedGyrostat(inertia, damper_inertia=0.2, damping=0.0))
    end = damped.run(att.State(Q0, RATE), 0.2, 200).final
    free = att.Propagator(att.RigidBody(inertia)).run(att.State(Q0, RATE), 0.2, 200).final
    np.testing.assert_allclose(end.omega, free.omega, rtol=1e-12)


def test_damper_with_wheels_and_torque_keeps_the_momentum_law():
    """Total inertial momentum changes by the torque's impulse, whatever turns inside."""
    wheels = [att.Wheel([0.0, 0.0, 1.0], 0.02)]
    body = att.DampedGyrostat(np.diag([1.0, 2.0, 3.0]), wheels, damper_inertia=0.2, damping=2.0)
    n, h = 2000, 0.005
    run = att.Propagator(body).run(
        att.State(Q0, RATE, [0.3], [0.1, 0.0, -0.1]), h, n, torque=[0.02, -0.01, 0.03], motor_torque=[0.01]
    )
    torque_I = Rotation.from_quat(run.q).apply([0.02, -0.01, 0.03])
    impulse = h * (0.5 * torque_I[0] + torque_I[1:-1].sum(axis=0) + 0.5 * torque_I[-1])
    np.testing.assert_allclose(run.momentum[-1] - run.momentum[0], impulse, atol=1e-12)


# ------------------------------------------------------------------ substeps
def test_one_step_far_beyond_half_a_turn():
    omega = np.deg2rad([4.0, -5.0, 6.0])
    free = att.Propagator(att.RigidBody(np.diag([1.0, 2.0, 3.0])), order=12, max_increment=0.25)
    exact, _ = free_motion(np.diag([1.0, 2.0, 3.0]), Q0, omega, 20.0)
    assert attitude_error(free.step(att.State(Q0, omega), h=20.0).q, exact) <= 1e-8


@pytest.mark.parametrize("h", [1.0, 20.0, 500.0])
def test_any_step_at_any_rate(h):
    omega = np.array([3.0, -2.0, 2.5])  # rad/s: up to 300 turns in a step
    free = att.Propagator(att.RigidBody(BODY), order=12, max_increment=0.15)
    exact, _ = free_motion(BODY, Q0, omega, h)
    assert attitude_error(free.step(att.State(Q0, omega), h).q, exact) < 1e-9


@pytest.mark.parametrize("body", [
    att.RigidBody(BODY),
    att.Gyrostat(BODY, [att.Wheel([1.0, 1.0, 0.0], 0.05)]),
    att.DampedGyrostat(BODY, damper_inertia=0.2, damping=1.0),
])  # fmt: skip
def test_every_increment_stays_within_the_limit(body):
    """A step of `h` equals n equal steps of `h/n`, and each of those turns by at most the limit."""
    limit, h = 0.05, 7.0
    wheels = [0.8] if len(getattr(body, "wheels", ())) else None
    x, torque = att.State(Q0, RATE, wheels), [0.2, 0.1, -0.3]
    split = att.Propagator(body, max_increment=limit).step(x, h, torque=torque)
    single = att.Propagator(body)
    for n in range(40, 400):
        run = single.run(x, h / n, n, torque=torque)
        if np.abs(run.final.omega - split.omega).max() < 1e-13:
            break
    else:
        pytest.fail("no number of equal substeps gives the same answer")
    turns = (Rotation.from_quat(run.q[:-1]).inv() * Rotation.from_quat(run.q[1:])).magnitude()
    assert np.sin(0.5 * turns).max() <= limit


def test_step_outside_the_domain_says_what_to_do():
    propagator = att.Propagator(att.RigidBody(BODY))
    with pytest.raises(att.StepError, match=r"h = 20 s turns the body too far.*smaller h.*max_increment=0.25"):
        propagator.step(att.State(Q0, RATE), h=20.0)
    with pytest.raises(att.StepError, match=r"step 0 \(t = 0 s\).*max_increment") as caught:
        propagator.run(att.State(Q0, RATE), h=20.0, steps=5)
    assert len(caught.value.trajectory.t) == 1


@pytest.mark.parametrize(("order", "h"), [(4, 1.5), (6, 2.0), (12, 2.0)])
def test_step_beyond_the_series_is_an_error_not_a_wrong_answer(order, h):
    with pytest.raises(att.StepError, match=r"rate times h is above 1.25 rad at order 4 and higher"):
        att.Propagator(att.RigidBody(BODY), order=order).step(att.State(Q0, RATE), h)
    split = att.Propagator(att.RigidBody(BODY), order=order, max_increment=0.9).step(att.State(Q0, RATE), h)
    assert np.isfinite(split.q).all()


def test_run_that_fails_keeps_what_it_has():
    propagator = att.Propagator(att.RigidBody(np.eye(3)))
    with pytest.raises(att.StepError, match=r"step \d+") as caught:
        propagator.run(att.State(Q0, [0.1, 0.0, 0.0]), h=1.0, steps=1000, torque=[0.01, 0.0, 0.0])
    kept = caught.value.trajectory
    assert 50 < len(kept.t) < 1000
    assert np.isfinite(kept.q).all()
    assert kept.omega[-1, 0] == pytest.approx(0.1 + 0.01 * kept.t[-1], rel=1e-12)


# ------------------------------------------------------------------ step, run and their agreement
@pytest.mark.parametrize("body", [
    att.RigidBody([[1.2, 0.1, -0.2], [0.1, 2.0, 0.15], [-0.2, 0.15, 2.6]]),
    att.Gyrostat(BODY, [att.Wheel([1.0, 1.0, 0.0], 0.05), att.Wheel([0.0, 1.0, 0.0], 0.05)]),
    att.DampedGyrostat(BODY, damper_inertia=0.2, damping=1.0),
])  # fmt: skip
@pytest.mark.parametrize("max_increment", [None, 0.04])
def test_run_is_bit_for_bit_the_steps(body, max_increment):
    propagator, rng = att.Propagator(body, max_increment=max_increment), np.random.default_rng(0)
    W, n = body.rotor_axes.shape[1], 50
    inputs = {"torque": 0.1 * rng.normal(size=(n, 3))}
    if W:
        inputs["motor_torque"] = 0.1 * rng.normal(size=(n, W))
    x = att.State(Q0, RATE)
    run = propagator.run(x, 0.2, n, **inputs)
    for i in range(n):
        x = propagator.step(x, 0.2, **{name: rows[i] for name, rows in inputs.items()})
    np.testing.assert_array_equal(x.q, run.final.q)
    np.testing.assert_array_equal(x.omega, run.final.omega)
    np.testing.assert_array_equal(x.q, propagator.run(att.State(Q0, RATE), 0.2, n, every=7, **inputs).final.q)


def test_writing_to_a_computed_state_is_noticed():
    propagator = att.Propagator(att.RigidBody(BODY))
    x = propagator.step(att.State(Q0, RATE), 0.1)
    expected = propagator.step(att.State(x.q, x.omega + np.array([0.1, 0.0, 0.0])), 0.1)
    x.omega[0] += 0.1
    np.testing.assert_allclose(propagator.step(x, 0.1).omega, expected.omega, rtol=1e-15)


def test_state_of_another_body_is_taken_as_given():
    one, other = att.Propagator(att.RigidBody(BODY)), att.Propagator(att.RigidBody(2 * np.eye(3)))
    x = one.step(att.State(Q0, RATE), 0.1)
    np.testing.assert_allclose(other.step(x, 0.1).omega, x.omega, rtol=1e-14)  # a sphere keeps its rate


def test_kept_rows_and_memory():
    propagator, x = att.Propagator(att.RigidBody(BODY)), att.State(Q0, RATE)
    propagator.run(x, 0.2, 10)
    tracemalloc.start()
    run = propagator.run(x, 0.2, 1_000_000, every=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert run.q.shape == (1001, 4)
    assert peak < 1001 * 8 * 200  # some hundred floats a kept row; a million rows would be 160 MB
    np.testing.assert_allclose(run.t, 200.0 * np.arange(1001))


def test_rows_when_steps_are_not_a_multiple():
    propagator, x = att.Propagator(att.RigidBody(BODY)), att.State(Q0, RATE)
    run, whole = propagator.run(x, 0.2, 10, every=4), propagator.run(x, 0.2, 10)
    np.testing.assert_array_equal(run.q, whole.q[[0, 4, 8]])
    np.testing.assert_array_equal(run.final.q, whole.q[10])
    assert len(propagator.run(x, 0.2, 0).t) == 1


def test_progress_is_reported():
    seen = []
    att.Propagator(att.RigidBody(BODY)).run(
        att.State(Q0, RATE), 0.2, 500_000, every=1000, progress=lambda done, steps: seen.append((done, steps))
    )
    done = [n for n, _ in seen]
    assert done == sorted(done)
    assert len(done) > 2
    assert seen[-1] == (500_000, 500_000)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_run_that_is_stopped_keeps_what_it_has(error):
    def stop(done, steps):
        if done >= 50_000:
            raise error

    with pytest.raises(error) as caught:
        att.Propagator(att.RigidBody(BODY)).run(att.State(Q0, RATE), 0.2, 10**9, every=1000, progress=stop)
    kept = caught.value.trajectory
    assert len(kept.t) > 50
    np.testing.assert_allclose(kept.energy, kept.energy[0], rtol=1e-12)


@pytest.mark.parametrize("inputs", [{"torque": [1.0, 0.0, 0.0]}, {"motor_torque": [1.0]}])
def test_long_step_under_torque_does_not_hang(inputs):
    """From rest to hundreds of turns in one step: the number of substeps is foreseen, not found one by one."""
    body = att.Gyrostat(np.diag([1.0, 2.0, 3.0]), [att.Wheel([1.0, 0.0, 0.0], 0.1)])
    x = att.Propagator(body, max_increment=0.25).step(att.State(Q0, [0.0, 0.0, 0.0]), 200.0, **inputs)
    total = 200.0 if "torque" in inputs else 0.0  # N·m·s about the axis
    np.testing.assert_allclose(att.Propagator(body).momentum(x), [total, 0.0, 0.0], atol=1e-9)


def test_failed_run_ends_with_the_last_good_state():
    body = att.RigidBody([[1.2, 0.1, -0.2], [0.1, 2.0, 0.15], [-0.2, 0.15, 2.6]])
    torque = np.zeros((20, 3))
    torque[10] = 1.7e308
    for rows in (torque, [1.0, 0.0, 0.0]):
        steps = 20 if rows is torque else 1000
        with pytest.raises(att.StepError) as caught:
            att.Propagator(body).run(att.State(Q0, [0.0, 0.1, 0.3]), 0.5, steps, torque=rows)
        kept = caught.value.trajectory
        np.testing.assert_array_equal(kept.final.omega, kept.omega[-1])
        assert np.isfinite(kept.final.q).all()


def test_jacobian_that_overflows_is_an_error():
    free = att.Propagator(att.RigidBody(np.diag([1.0, 2.0, 3.0])), order=12, max_increment=0.25)
    with pytest.raises(att.StepError, match="state or Jacobian do not stay finite"):
        free.step_with_jacobian(att.State(Q0, [0.0, 1.0, 0.0]), 2000.0)


def test_copies_and_pickles_of_a_state():
    propagator = att.Propagator(att.RigidBody(BODY), order=4)
    x = propagator.step(att.State(Q0, RATE), 0.1)
    expected = propagator.step(x, 0.1)
    for copied, of in (copy.deepcopy((propagator, x)), pickle.loads(pickle.dumps((propagator, x)))):
        np.testing.assert_array_equal(copied.step(of, 0.1).omega, expected.omega)
        of.omega[:] = 0.0
        np.testing.assert_array_equal(copied.step(of, 0.1).omega, np.zeros(3))
    changed = dataclasses.replace(x, omega=[0.0, 0.0, 0.0])
    np.testing.assert_array_equal(propagator.step(changed, 0.1).omega, np.zeros(3))


def test_state_spoilt_by_hand_is_refused():
    propagator = att.Propagator(att.RigidBody(BODY))
    for field, value, message in (("q", [0, 0, 0, 5], "q must be a unit"), ("omega", np.nan, "omega must be finite")):
        x = att.State(Q0, RATE)
        getattr(x, field)[:] = value
        with pytest.raises(ValueError, match=message):
            propagator.step(x, 0.1)


def test_rotor_momentum_of_a_result_is_its_own():
    x = att.State(Q0, RATE, [0.1])
    y = WHEELED.step(x, 0.1)
    y.rotor_momentum[0] = 5.0
    assert x.rotor_momentum[0] == 0.1


def test_no_allocation_per_step():
    """The kernels are compiled without numba's memory runtime: they have no means to allocate."""
    for kernel in (kernels.run_steps, kernels.one_step, kernels.one_step_linearised, kernels.step_in_place):
        assert kernel.targetoptions["_nrt"] is False


def test_one_signature_per_kernel():
    att.warm_up()
    body = att.Gyrostat(BODY.tolist(), [att.Wheel((1, 0, 0), 0.05)])
    propagator = att.Propagator(body, order=4, max_increment=0.25)
    propagator.linearise(att.State([0, 0, 0, 1], [1, 0, 0]), 1, torque=[1, 0, 0], motor_torque=[0])
    propagator.run(att.State([0, 0, 0, 1], [1, 0, 0]), 1, 3, torque=np.zeros((3, 3), dtype=np.float32))
    for kernel in (kernels.run_steps, kernels.one_step, kernels.one_step_linearised, kernels.read_out_rows):
        assert len(kernel.signatures) == 1


# ------------------------------------------------------------------ bad input
GOOD = {"q": Q0, "omega": RATE}
PROPAGATOR = att.Propagator(att.RigidBody(BODY))
WHEELED = att.Propagator(att.Gyrostat(BODY, [att.Wheel([1, 0, 0], 0.05)]))
X = att.State(**GOOD)


@pytest.mark.parametrize(("action", "message"), [
    (lambda: att.RigidBody([[1, 0.1, 0], [0, 2, 0], [0, 0, 3]]), "inertia must be symmetric"),
    (lambda: att.RigidBody(np.diag([1, 2, -3])), r"inertia must be symmetric positive definite, got eigenvalues \[-3"),
    (lambda: att.RigidBody(np.diag([1, 2, 0])), "inertia must be symmetric positive definite"),
    (lambda: att.RigidBody(np.diag([1, 2, np.nan])), "inertia must be finite"),
    (lambda: att.RigidBody(np.diag([1, 2, np.inf])), "inertia must be finite"),
    (lambda: att.RigidBody([1, 2, 3]), r"inertia must have shape \(3, 3\), got \(3,\)"),
    (lambda: att.RigidBody("round"), "inertia must be an array of numbers"),
    (lambda: att.State([0, 0, 0, 1.00001], RATE), "q must be a unit quaternion"),
    (lambda: att.State([0, 0, 0, 0], RATE), "q must be a unit quaternion"),
    (lambda: att.State([0, 0, 0, np.nan], RATE), "q must be finite"),
    (lambda: att.State([0, 0, 1], RATE), r"q must have shape \(4,\)"),
    (lambda: att.State(Q0, [1, 2]), r"omega must have shape \(3,\)"),
    (lambda: att.State(Q0, [1, 2, np.inf]), "omega must be finite"),
    (lambda: PROPAGATOR.step(X, 0.0), "h must be greater than zero, got 0.0"),
    (lambda: PROPAGATOR.step(X, -0.1), "h must be greater than zero"),
    (lambda: PROPAGATOR.step(X, np.nan), "h must be finite"),
    (lambda: PROPAGATOR.step(X, "fast"), "h must be a number"),
    (lambda: PROPAGATOR.step_with_jacobian(X, np.inf), "h must be finite"),
    (lambda: PROPAGATOR.run(X, 0.0, 10), "h must be greater than zero"),
    (lambda: PROPAGATOR.run(X, 0.1, 10, every=0), "every must be a whole number of at least 1, got 0"),
    (lambda: PROPAGATOR.run(X, 0.1, 10, every=1.5), "every must be a whole number"),
    (lambda: PROPAGATOR.run(X, 0.1, -1), "steps must be a whole number of at least 0"),
    (lambda: PROPAGATOR.step(X, 0.1, torque=[1, 2]), r"torque must have shape \(3,\), got \(2,\)"),
    (lambda: PROPAGATOR.step(X, 0.1, torque=[1, 2, np.nan]), "torque must be finite"),
    (lambda: PROPAGATOR.run(X, 0.1, 10, torque=np.zeros((9, 3))), "torque must have one row for each of the 10 steps"),
    (lambda: PROPAGATOR.step(X, 0.1, motor_torque=[1.0]), "motor_torque needs a Gyrostat"),
    (lambda: WHEELED.step(X, 0.1, motor_torque=[1.0, 2.0]), r"motor_torque must have shape \(1,\)"),
    (lambda: WHEELED.step(X, 0.1, rotor_momentum=[1.0]), 'rotor_momentum needs a Gyrostat with wheels and rotors="pre'),
    (lambda: WHEELED.step(att.State(Q0, RATE, [1.0, 2.0]), 0.1), r"rotor_momentum must have shape \(1,\)"),
    (lambda: PROPAGATOR.step(att.State(Q0, RATE, None, [0, 0, 0]), 0.1), "damper_omega must be left out"),
    (lambda: PROPAGATOR.step((Q0, RATE), 0.1), "x must be a State"),
    (lambda: att.Wheel([0, 0, 0], 0.1), "wheel axis must not have zero length"),
    (lambda: att.Wheel([0, 0, 1], 0.0), "wheel inertia must be greater than zero"),
    (lambda: att.Gyrostat(BODY, [[0, 0, 1]]), "wheels must be a list of Wheel"),
    (lambda: att.Gyrostat(BODY, None), "wheels must be a list of Wheel"),
    (lambda: att.Gyrostat(BODY, att.Wheel([0, 0, 1], 0.1)), "wheels must be a list of Wheel"),
    (lambda: att.Gyrostat(BODY, [], rotors=np.ones(2)), "rotors must be"),
    (lambda: att.Propagator(att.RigidBody(BODY), order=np.ones(2)), "order must be one of"),
    (lambda: PROPAGATOR.run(X, 0.1, 10, every=2**63), "every must be a whole number"),
    (lambda: PROPAGATOR.run(X, 0.1, 10**15), "every must be larger"),
    (lambda: PROPAGATOR.run(X, 0.1, 2, torque=[[1, 2, 3], [1, 2]]), "torque must be an array of numbers"),
    (lambda: att.RigidBody(1e-30 * np.eye(3)), "inertia must be symmetric positive definite"),
    (lambda: att.RigidBody(1e30 * np.eye(3)), "inertia must be at most 1e\\+20"),
    (lambda: att.Gyrostat(BODY, [att.Wheel([0, 0, 1], 5.0)]), "inertia must include the wheels"),
    (lambda: att.Gyrostat(BODY, [], rotors="free"), 'rotors must be "driven" or "prescribed"'),
    (lambda: att.DampedGyrostat(BODY, damper_inertia=0.2, damping=-1.0), "damping must not be negative, got -1.0"),
    (lambda: att.DampedGyrostat(BODY, damper_inertia=0.0, damping=1.0), "damper_inertia must be greater than zero"),
    (lambda: att.Propagator(att.RigidBody(BODY), order=3), "order must be one of 2, 4, 6, 8, 10, 12 for a rigid body"),
    (lambda: att.Propagator(WHEELED.body, order=8), "order must be one of 2, 4, 6 for a gyrostat, got 8"),
    (lambda: att.Propagator(att.DampedGyrostat(BODY, damper_inertia=0.2, damping=1.0), order=4),
     "order must be one of 2 for a body with a damper"),
    (lambda: att.Propagator(att.RigidBody(BODY), max_increment=0.0), "max_increment must be greater than zero"),
    (lambda: att.Propagator(att.RigidBody(BODY), max_increment=1.0), "max_increment must be below 1"),
    (lambda: att.Propagator(BODY), "body must be a RigidBody"),
])  # fmt: skip
def test_bad_input_names_the_field(action, message):
    with pytest.raises(ValueError, match=message):
        action()


def test_inertia_that_no_body_has_warns():
    with pytest.warns(UserWarning, match="triangle inequality"):
        att.RigidBody(np.diag([1.0, 2.0, 3.5]))


@pytest.mark.parametrize("max_increment", [None, 0.25])
@pytest.mark.parametrize("rate", [0.0, 1e-320, 1e-160, 1.0])
def test_tiny_rates_give_a_finite_answer(rate, max_increment):
    propagator = att.Propagator(att.RigidBody(BODY), order=12, max_increment=max_increment)
    x = propagator.step(att.State(Q0, [rate, -rate, 0.0]), 1e-3)
    assert np.isfinite(np.concatenate([x.q, x.omega])).all()
    np.testing.assert_allclose(x.omega, [rate, -rate, 0.0], atol=1e-2 * rate)


@pytest.mark.parametrize("max_increment", [None, 0.25])
@pytest.mark.parametrize("rate", [1e100, 1e160, 1e300, 1e308])
def test_rates_beyond_all_bounds_are_errors(rate, max_increment):
    propagator = att.Propagator(att.RigidBody(BODY), order=12, max_increment=max_increment)
    with pytest.raises(ValueError, match=r"h = 0.001 s|omega must give a finite momentum"):
        propagator.step(att.State(Q0, [rate, -rate, 0.0]), 1e-3)
