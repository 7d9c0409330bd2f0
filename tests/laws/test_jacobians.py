"""Jacobians of the discrete map against central differences of the same map."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attitude as att
from attitude.core import quaternion as quat

STEP = 1e-5  # central differences in float64: truncation 1e-10, roundoff 1e-11, relative to entries of O(1)


def perturbed(x, name, i, size):
    q, omega = np.array(x.q), np.array(x.omega)
    wheels = None if x.rotor_momentum is None else np.array(x.rotor_momentum)
    damper = None if x.damper_omega is None else np.array(x.damper_omega)
    change = size * np.eye(3)[i] if name in ("theta", "omega", "damper") else None
    if name == "theta":
        q = quat.product(q, quat.exp(change))
    elif name == "omega":
        omega = omega + change
    elif name == "damper":
        damper = damper + change
    elif name == "wheels":
        wheels[i] += size
    return att.State(q, omega, wheels, damper)


def outputs(x, reference):
    parts = [quat.log(quat.product(quat.conjugate(reference.q), x.q)), x.omega]
    if x.damper_omega is not None:
        parts.append(x.damper_omega)
    return np.concatenate(parts)


def differences(step, reference, columns):
    """Central difference of `step(sign · STEP, column)` over the columns."""
    return np.array(
        [(outputs(step(STEP, c), reference) - outputs(step(-STEP, c), reference)) / (2 * STEP) for c in columns]
    ).T


def random_body(rng, kind):
    A = rng.normal(size=(3, 3))
    R = np.linalg.qr(A)[0]
    a, b = rng.uniform(0.5, 2.0, 2)
    inertia = R @ np.diag([a, b, rng.uniform(abs(a - b) + 0.02, a + b - 0.02)]) @ R.T
    inertia = 0.5 * (inertia + inertia.T)
    if kind == "rigid":
        return att.RigidBody(inertia)
    wheels = [att.Wheel(rng.normal(size=3), rng.uniform(0.001, 0.003)) for _ in range(rng.integers(1, 5))]
    if kind == "damped":
        return att.DampedGyrostat(
            inertia, wheels, damper_inertia=rng.uniform(0.05, 0.3), damping=10.0 ** rng.uniform(-2, 2)
        )
    return att.Gyrostat(inertia, wheels, rotors=kind)


def random_case(rng, kind):
    body = random_body(rng, kind)
    orders = {"rigid": [2, 4, 6, 8, 10, 12], "damped": [2]}.get(kind, [2, 4, 6])
    W = body.rotor_axes.shape[1]
    q = rng.normal(size=4)
    x = att.State(
        q / np.linalg.norm(q),
        rng.normal(size=3),
        0.1 * rng.normal(size=W) if W else None,
        rng.normal(size=3) if kind == "damped" else None,
    )
    inputs = {"torque": 0.1 * rng.normal(size=3)}
    if W:
        name = "rotor_momentum" if kind == "prescribed" else "motor_torque"
        inputs[name] = 0.1 * rng.normal(size=W)
    return body, int(rng.choice(orders)), x, inputs


def check(propagator, x, h, inputs, tolerance):
    linear = propagator.linearise(x, h, **inputs)
    reference = propagator.step(x, h, **inputs)
    np.testing.assert_array_equal(linear.state.q, reference.q)  # linearising does not change the step
    np.testing.assert_array_equal(linear.state.omega, reference.omega)
    names = ["theta", "omega"] + (["damper"] if x.damper_omega is not None else [])
    columns = [(name, i) for name in names for i in range(3)]
    by_state = differences(lambda e, c: propagator.step(perturbed(x, *c, e), h, **inputs), reference, columns)
    assert_close(linear.by_state, by_state, tolerance)

    def with_input(name):
        def step(e, i):
            value = np.array(inputs[name])
            value[i] += e
            return propagator.step(x, h, **{**inputs, name: value})

        return step

    assert_close(linear.by_torque, differences(with_input("torque"), reference, range(3)), tolerance)
    W = propagator.body.rotor_axes.shape[1]
    if W:
        columns = [("wheels", i) for i in range(W)]
        start = differences(lambda e, c: propagator.step(perturbed(x, *c, e), h, **inputs), reference, columns)
        assert_close(linear.by_rotor_momentum, start, tolerance)
        name = "motor_torque" if "motor_torque" in inputs else "rotor_momentum"
        assert_close(linear.by_rotor_input, differences(with_input(name), reference, range(W)), tolerance)


def assert_close(exact, difference, tolerance):
    assert np.abs(exact - difference).max() <= tolerance * max(1.0, np.abs(exact).max())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["rigid", "driven", "prescribed", "damped"]))
def test_jacobians_against_differences(seed, kind):
    rng = np.random.default_rng(seed)
    body, order, x, inputs = random_case(rng, kind)
    h = rng.uniform(0.01, 0.3) / np.linalg.norm(x.omega)
    check(att.Propagator(body, order=order), x, h, inputs, 1e-7)


@pytest.mark.parametrize("kind", ["rigid", "driven", "prescribed", "damped"])
def test_chained_jacobian_of_fifty_substeps(kind):
    rng = np.random.default_rng(11)
    body, _, x, inputs = random_case(rng, kind)
    h = 9.93 / np.linalg.norm(x.omega)  # not 10: no perturbation may change the number of substeps
    order = {"rigid": 12, "damped": 2}.get(kind, 4)
    # |φ| ≈ |ω| h/(2n): some fifty substeps
    propagator = att.Propagator(body, order=order, max_increment=0.1)
    inputs = {name: 0.1 * value for name, value in inputs.items()}
    check(propagator, x, h, inputs, 1e-6)


def test_chained_jacobian_is_the_product_of_its_parts():
    body, x = att.RigidBody(np.diag([1.0, 2.0, 2.5])), att.State([0, 0, 0, 1], [0.6, -0.5, 0.7])
    whole = att.Propagator(body, order=8, max_increment=0.04)
    _, Phi = whole.step_with_jacobian(x, 4.0)
    product, n = np.eye(6), substeps(whole, x, 4.0)
    single, y = att.Propagator(body, order=8), x
    for _ in range(n):
        y, part = single.step_with_jacobian(y, 4.0 / n)
        product = part @ product
    assert n >= 40
    np.testing.assert_allclose(Phi, product, rtol=0, atol=1e-11 * np.abs(product).max())


def substeps(propagator, x, h):
    """Smallest number of equal substeps with every |φ| within the limit, found from outside."""
    single = att.Propagator(propagator.body, order=propagator.order)
    for n in range(20, 1000):
        run = single.run(x, h / n, n)
        turns = quat.angle_between(run.q[:-1], run.q[1:])
        if np.sin(0.5 * turns).max() <= propagator.max_increment:
            return n
    raise AssertionError("no number of substeps found")


def test_paper_linearisation_of_increments():
    """MP 2016, eq. (69): ∂φ_{k+1}/∂φ_k from the momentum Jacobians equals what two steps give."""
    moments, h = np.array([1.0, 2.0, 3.0]), 0.2
    propagator = att.Propagator(att.RigidBody(np.diag(moments)))
    x0 = att.State([0, 0, 0, 1], [np.pi / 4, -np.pi / 5, np.pi / 6])
    x1 = propagator.step(x0, h)
    x2 = propagator.step(x1, h)
    phi0, phi1 = (quat.product(quat.conjugate(a.q), b.q)[:3] for a, b in ((x0, x1), (x1, x2)))
    A0, A1 = momentum_slopes(moments, phi0, h, +1.0), momentum_slopes(moments, phi1, h, +1.0)
    C0 = momentum_slopes(moments, phi0, h, -1.0)
    _, Phi = propagator.step_with_jacobian(x0, h)
    J = np.diag(moments)
    np.testing.assert_allclose(J @ Phi[3:, 3:] @ np.linalg.inv(J), C0 @ np.linalg.inv(A0), atol=1e-13)
    np.testing.assert_allclose(  # ∂φ1/∂φ0 = A1⁻¹ C0
        np.linalg.solve(A1, J @ Phi[3:, 3:] @ np.linalg.solve(J, A0)), np.linalg.solve(A1, C0), atol=1e-13
    )


def momentum_slopes(moments, phi, h, sign):
    """`∂p∓/∂φ`, equations.md form of MP 2016, eq. (38)."""
    J, s, a = np.diag(moments), np.sqrt(1 - phi @ phi), moments * phi

    def skew(v):
        return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])

    return 2.0 / h * (s * J - np.outer(a, phi) / s + sign * (skew(phi) @ J - skew(a)))
