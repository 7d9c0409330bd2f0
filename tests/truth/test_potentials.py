"""Potentials on SO(3): reference digits, order, conserved quantities, equilibria, and the door."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import ellipk

from attitude.core import quaternion, so3
from attitude.truth import potentials as pot
from attitude.truth import potentials_kernels as kernels
from attitude.truth.free_body import free_motion
from attitude.truth.potentials_steady import steady_directions

J_FULL = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, 0.15], [0.2, 0.15, 1.4]])
IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def reference_pendulum() -> tuple[pot.Pendulum, np.ndarray, np.ndarray]:
    S = so3.hat([0.1, -0.2, 0.3])
    R0 = (np.eye(3) + S) @ np.linalg.inv(np.eye(3) - S)
    body = pot.Pendulum(inertia=J_FULL, weight=9.81, rho0=[0.1, -0.2, 0.5])
    return body, quaternion.from_matrix(R0), np.array([0.5, -0.3, 0.4])


def moment_of_spring(R, parameters, out):
    """Moment of `U = ½ k (e1ᵀR e1 − 1)²` on body 0, with `r_1` the first row: `τ = r_1 × ∂U/∂r_1`."""
    slope = parameters[0] * (R[0, 0, 0] - 1.0)
    out[0, 0], out[0, 1], out[0, 2] = 0.0, slope * R[0, 0, 2], -slope * R[0, 0, 1]


def energy_of_spring(R, parameters):
    return 0.5 * parameters[0] * (R[0, 0, 0] - 1.0) ** 2


def systems() -> dict[str, pot.System]:
    rng = np.random.default_rng(6)
    K = rng.uniform(0.5, 2.0, (3, 3))
    three = np.array([np.diag([1.0, 2.0, 2.5]), J_FULL, 1.5 * np.eye(3)])
    return {
        "free": pot.FreeRotation(inertia=J_FULL),
        "pendulum": reference_pendulum()[0],
        "pendulum with a rotor": pot.Pendulum(
            inertia=J_FULL, weight=9.81, rho0=[0.1, -0.2, 0.5], internal_momentum=[0.4, 1.0, -0.6]
        ),
        "orbit": pot.OrbitingBody(inertia=J_FULL, orbital_rate=0.8),
        "coupled": pot.CoupledBodies(inertia=three, stiffness=K + K.T, internal_momentum=rng.normal(size=(3, 3))),
        "user": pot.UserPotential(
            inertia=J_FULL, moment_function=moment_of_spring, energy_function=energy_of_spring, numbers=[3.0],
            rotation=[0.1, -0.3, 0.2],
        ),
    }  # fmt: skip


SYSTEMS = systems()
each_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS.keys())


def start(system: pot.System, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = () if system.single else (len(system.moments),)
    return quaternion.normalise(rng.normal(size=(*n, 4))), rng.normal(size=(*n, 3))


def reference(system, q, vectors, T, rhs=None, external=None):
    """State at `T` from DOP853 at 1e-13, good to about 1e-11."""
    rhs = rhs or system.hamilton
    solution = solve_ivp(
        lambda t, y: rhs(t, y, external), (0.0, T), system.pack(q, vectors), method="DOP853", rtol=1e-13, atol=1e-13
    )
    return system.unpack(solution.y[:, -1])


def error(motion, q, momentum) -> float:
    return max(
        float(np.max(quaternion.angle_between(motion.q[-1], q))), float(np.abs(motion.momentum[-1] - momentum).max())
    )


def drift(t, x) -> tuple[float, float]:
    """Rise of the fitted line over the run, and the scatter about it."""
    slope, offset = np.polyfit(t, x, 1)
    return abs(slope) * (t[-1] - t[0]), float(np.std(x - slope * t - offset))


# ------------------------------------------------------------------ the discrete flow
def test_reference_pendulum_to_twelve_digits():
    body, q, p = reference_pendulum()
    motion = body.run(q, p, h=0.01, steps=500, every=500)
    half_digit = 5e-13  # of the twelve decimals given
    np.testing.assert_allclose(
        motion.momentum[-1], [0.914900316627, 0.421354933137, 0.768342499883], rtol=0, atol=half_digit
    )
    np.testing.assert_allclose(
        motion.R[-1, 0], [-0.947245460967, -0.277624181952, 0.160158828271], rtol=0, atol=half_digit
    )
    np.testing.assert_allclose(
        body.conserved(motion.q, motion.momentum)["vertical momentum"], 0.545614035088, rtol=0, atol=half_digit
    )


@each_system
def test_order_two(system):
    q, p = start(system)
    end = reference(system, q, p, 2.0)
    errors = [
        error(system.run(q, p, h=h, steps=round(2.0 / h), every=round(2.0 / h)), *end) for h in (0.01, 0.005, 0.0025)
    ]
    assert errors[-1] < 1e-3
    np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 2.0, atol=0.01)  # the h⁴ term is below that


@pytest.mark.parametrize("system", [SYSTEMS[k] for k in ("free", "pendulum", "orbit", "user")])
def test_discrete_euler_lagrange_equation(system):
    """`F⁺J_d − J_d F⁺ᵀ = J_d F − FᵀJ_d + h² S(τ)`, written with matrices only (LLM 2007, eq. (76))."""
    q, p = start(system)
    h = 0.02
    motion = system.run(q, p, h=h, steps=2)
    G = so3.exp(-h * system.frame_rate)
    F = [(G @ motion.R[k]).T @ motion.R[k + 1] for k in (0, 1)]
    Jd = 0.5 * np.trace(system.inertia) * np.eye(3) - system.inertia
    left = F[1] @ Jd - Jd @ F[1].T
    right = Jd @ F[0] - F[0].T @ Jd + h * h * so3.hat(system.moment(motion.q[1]))
    np.testing.assert_allclose(
        left, right, rtol=0, atol=1e-14
    )  # F is rounded to 2e-16, times J_d ~ 2, over a dozen terms


def test_run_back_in_time_returns():
    body, q, p = reference_pendulum()
    there = body.run(q, p, h=0.02, steps=1000, every=1000)
    back = body.run(there.q[-1], -there.momentum[-1], h=0.02, steps=1000, every=1000)
    assert quaternion.angle_between(back.q[-1], q) < 1e-10  # roundoff 1e-16 times the growth of 2000 steps
    np.testing.assert_allclose(back.momentum[-1], -p, rtol=0, atol=1e-10)


def test_free_rotation_against_the_exact_motion():
    body, omega = SYSTEMS["free"], np.array([0.4, -0.7, 0.5])
    q, _ = start(body)
    errors = []
    for h in (0.02, 0.01):
        motion = body.run(q, body.momentum(omega), h=h, steps=round(10 / h), every=round(10 / h))
        exact, _ = free_motion(J_FULL, q, omega, motion.t)
        errors.append(float(np.max(quaternion.angle_between(motion.q, exact))))
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.01)


def test_rows_are_kept_with_every():
    body, q, p = reference_pendulum()
    all_rows, some = body.run(q, p, h=0.01, steps=20), body.run(q, p, h=0.01, steps=20, every=6)
    assert some.t.tolist() == pytest.approx([0.0, 0.06, 0.12, 0.18])
    assert np.array_equal(some.q, all_rows.q[::6])
    assert np.array_equal(some.momentum, all_rows.momentum[::6])
    np.testing.assert_allclose(body.momentum(some.omega), some.momentum, rtol=0, atol=1e-15)


# ------------------------------------------------------------------ continuous equations
@each_system
def test_moment_is_minus_the_gradient_of_the_potential(system):
    q, _ = start(system, 8)
    q = q.reshape(-1, 4)
    d, found = 1e-3, np.zeros((len(q), 3))
    for i, j in np.ndindex(found.shape):
        for k, weight in ((1, 2.0 / 3.0), (2, -1.0 / 12.0)):
            for sign in (1.0, -1.0):
                theta = np.zeros((len(q), 3))
                theta[i, j] = sign * k * d
                found[i, j] -= (
                    sign
                    * weight
                    / d
                    * system.potential(quaternion.to_matrix(quaternion.product(q, quaternion.exp(theta))))
                )
    moment = system.moment(q[0] if system.single else q)
    np.testing.assert_allclose(moment.reshape(-1, 3), found, rtol=0, atol=1e-10)  # d⁴ times the 5th derivative of U


@each_system
def test_lagrangian_and_hamiltonian_forms_agree(system):
    q, p = start(system)
    q1, p1 = reference(system, q, p, 3.0)
    q2, omega = reference(system, q, system.rate(p), 3.0, rhs=system.euler_lagrange)
    assert np.max(quaternion.angle_between(q1, q2)) < 1e-10  # DOP853 at 1e-13, 3 s
    np.testing.assert_allclose(system.momentum(omega), p1, rtol=0, atol=1e-10)
    before, after = system.conserved(q, p), system.conserved(q1, p1)
    assert list(before) == list(after)
    for name in before:
        np.testing.assert_allclose(after[name], before[name], rtol=0, atol=1e-10)


def test_orbit_frame_and_inertial_axes_agree():
    """The same motion, integrated as `R_bi` with the gravity moment in time-dependent form."""
    body = SYSTEMS["orbit"]
    q, p = start(body)
    T, w0 = 3.0, body.orbital_rate

    def inertial(t, y):
        R, Pi = y[:9].reshape(3, 3), y[9:]
        gamma, omega = R.T @ so3.exp([0.0, w0 * t, 0.0])[:, 2], np.linalg.solve(J_FULL, Pi)
        return np.append(
            (R @ so3.hat(omega)).ravel(), np.cross(Pi, omega) + 3 * w0**2 * np.cross(gamma, J_FULL @ gamma)
        )

    y = solve_ivp(inertial, (0.0, T), body.pack(q, p), method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    q1, p1 = reference(body, q, p, T)
    np.testing.assert_allclose(
        so3.exp([0.0, w0 * T, 0.0]).T @ y[:9].reshape(3, 3), quaternion.to_matrix(q1), atol=1e-10
    )
    np.testing.assert_allclose(y[9:], p1, rtol=0, atol=1e-10)


# ------------------------------------------------------------------ conserved quantities over a million steps
def test_pendulum_million_steps():
    body, q, p = reference_pendulum()
    motion = body.run(q, p, h=0.01, steps=1_000_000, every=100)
    kept = body.conserved(motion.q, motion.momentum)
    assert np.abs(kept["vertical momentum"] - kept["vertical momentum"][0]).max() < 1e-12
    rise, noise = drift(motion.t, kept["energy"] - kept["energy"][0])
    assert rise < noise < 1e-3
    assert np.abs(np.linalg.norm(motion.q, axis=-1) - 1.0).max() < 1e-15


def test_orbit_million_steps():
    body = pot.OrbitingBody(inertia=np.diag([2.0, 2.0, 1.2]), orbital_rate=1.0)
    q = quaternion.exp([0.3, 0.4, 0.2])
    motion = body.run(q, body.momentum([0.1, 1.0, 0.2]), h=0.02, steps=1_000_000, every=100)
    kept = body.conserved(motion.q, motion.momentum)
    assert np.abs(kept["spin"] - kept["spin"][0]).max() < 1e-12
    rise, noise = drift(motion.t, kept["Jacobi integral"] - kept["Jacobi integral"][0])
    assert rise < noise < 1e-3
    assert np.ptp(body.energy(motion.q, motion.momentum)) > 0.1  # corrected 6.6.3.3: H is not conserved in orbit


def test_coupled_bodies_keep_their_total_momentum():
    body = SYSTEMS["coupled"]
    motion = body.run(*start(body), h=0.01, steps=200_000, every=100)
    kept = body.conserved(motion.q, motion.momentum)
    assert np.abs(kept["total momentum"] - kept["total momentum"][0]).max() < 1e-12
    rise, noise = drift(motion.t, kept["energy"] - kept["energy"][0])
    assert rise < noise


def test_symmetric_top_keeps_its_spin():
    body = pot.Pendulum(inertia=np.diag([1.0, 1.0, 0.6]), weight=9.81, rho0=[0.0, 0.0, -0.3])
    motion = body.run(quaternion.exp([0.5, 0.0, 0.0]), [0.1, 0.2, 3.0], h=0.01, steps=10_000, every=10)
    spin = body.conserved(motion.q, motion.momentum)["spin"]
    assert np.abs(spin - spin[0]).max() < 2e-13
    assert "spin" not in reference_pendulum()[0].conserved(motion.q, motion.momentum)


# ------------------------------------------------------------------ external moment
def damping(t, R, omega, parameters, out):
    for i in range(omega.shape[0]):
        for j in range(3):
            out[i, j] = -parameters[0] * omega[i, j]


def test_damped_pendulum_is_second_order():
    body, q, p = reference_pendulum()
    end = reference(body, q, p, 2.0, external=lambda t, R, omega: -0.8 * omega)
    errors = []
    for h in (0.01, 0.005):
        motion = body.run(
            q, p, h=h, steps=round(2 / h), every=round(2 / h), external=damping, external_parameters=[0.8]
        )
        errors.append(error(motion, *end))
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.02)


def test_moment_on_the_grid_is_second_order():
    body = SYSTEMS["coupled"]
    q, p = start(body)
    push = np.random.default_rng(4).normal(size=(3, 3))
    end = reference(body, q, p, 2.0, external=lambda t, R, omega: push * np.cos(3.0 * t))
    errors = []
    for h in (0.01, 0.005):
        n = round(2 / h)
        table = push * np.cos(3.0 * h * np.arange(n + 1))[:, None, None]
        errors.append(error(body.run(q, p, h=h, steps=n, every=n, external=table), *end))
    assert errors[1] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.02)


def test_constant_moment_is_the_same_as_its_table():
    body, q, p = reference_pendulum()
    push = np.array([0.1, -0.2, 0.3])
    once = body.run(q, p, h=0.01, steps=50, external=push)
    table = body.run(q, p, h=0.01, steps=50, external=np.tile(push, (51, 1)))
    assert np.array_equal(once.momentum, table.momentum)
    assert not np.allclose(once.momentum, body.run(q, p, h=0.01, steps=50).momentum)


# ------------------------------------------------------------------ a user's potential
def test_user_potential_is_the_shipped_one():
    body, q, p = reference_pendulum()

    def pendulum(R, parameters, out):
        out[0] = np.cross(parameters, R[0, 2])

    own = pot.UserPotential(inertia=J_FULL, moment_function=pendulum, numbers=9.81 * np.array([0.1, -0.2, 0.5]))
    ours, theirs = body.run(q, p, h=0.01, steps=200), own.run(q, p, h=0.01, steps=200)
    np.testing.assert_allclose(theirs.momentum, ours.momentum, rtol=0, atol=1e-12)  # rounding of another cross product
    with pytest.raises(ValueError, match="energy_function must be given"):
        own.energy(q, p)


# ------------------------------------------------------------------ equilibria and frequencies
def test_twenty_four_equilibria_in_orbit():
    body = pot.OrbitingBody(inertia=J_FULL, orbital_rate=1.3)
    found = body.equilibria()
    assert len(found) == 24
    apart = [quaternion.angle_between(a.q, b.q) for i, a in enumerate(found) for b in found[:i]]
    assert min(apart) > 1.5  # a quarter of a turn at least
    for one in found:
        assert pot.residual(body, one.q, one.momentum) < 1e-13
        assert np.abs(body.hamilton(0.0, body.pack(one.q, one.momentum))).max() < 1e-13


def test_libration_frequencies():
    body = pot.OrbitingBody(inertia=np.diag([2.0, 3.0, 1.2]), orbital_rate=1.0)
    expected = [0.894427, 0.910139, 1.903063]
    np.testing.assert_allclose(body.libration_frequencies(), expected, rtol=0, atol=5e-7)
    home = next(e for e in body.equilibria() if e.name == "+1 +2 +3")
    np.testing.assert_allclose(home.frequencies, body.libration_frequencies(), rtol=0, atol=1e-10)
    assert home.stable
    assert sum(e.stable for e in body.equilibria()) == 4  # the normal along ±2, the radius along ±3


def test_pitch_libration_frequency_of_a_run():
    body = pot.OrbitingBody(inertia=np.diag([2.0, 3.0, 1.2]), orbital_rate=1.0)
    motion = body.run(quaternion.exp([0.0, 0.01, 0.0]), body.momentum([0.0, 1.0, 0.0]), h=0.02, steps=20_000)
    pitch = quaternion.log(motion.q)[:, 1]
    up = np.flatnonzero((pitch[:-1] < 0.0) & (pitch[1:] >= 0.0))
    crossings = motion.t[up] - pitch[up] * 0.02 / (pitch[up + 1] - pitch[up])
    frequency = 2.0 * np.pi * (len(crossings) - 1) / (crossings[-1] - crossings[0])
    assert len(crossings) > 50
    assert frequency == pytest.approx(np.sqrt(3.0 * (2.0 - 1.2) / 3.0), rel=1e-4)  # amplitude² / 16 = 6e-6, h² ω²/24


def test_linearisation_against_differences_of_the_flow():
    """The linear equations about a steady turn are the derivative of Hamilton's vector field in body axes."""
    body, _, _ = reference_pendulum()
    steady = body.relative_equilibria(2.0)[0]
    A = pot.linearisation(body, steady.q, steady.momentum)
    x = 1e-5 * np.array([0.3, -0.5, 0.2, 0.4, 0.1, -0.6])
    omega = body.rate(steady.momentum)

    def error_after(sign):
        q = quaternion.product(steady.q, quaternion.exp(sign * x[:3]))
        q1, omega1 = reference(body, q, omega + sign * x[3:], 1.0, rhs=body.euler_lagrange)
        q0, _ = reference(body, steady.q, omega, 1.0, rhs=body.euler_lagrange)
        return np.append(quaternion.log(quaternion.product(quaternion.conjugate(q0), q1)), omega1 - omega)

    predicted = expm(A) @ x
    found = 0.5 * (error_after(1.0) - error_after(-1.0))  # the quadratic part cancels; the cubic is 1e-15
    np.testing.assert_allclose(found, predicted, rtol=0, atol=1e-10)


def test_hanging_and_inverted_pendulum():
    body, _, _ = reference_pendulum()
    hanging, inverted = body.equilibria()
    assert hanging.stable
    assert not inverted.stable
    up = quaternion.rotate(hanging.q, [0.1, -0.2, 0.5])
    np.testing.assert_allclose(up / np.linalg.norm(up), [0.0, 0.0, 1.0], atol=1e-15)  # the pivot above the mass centre
    # J ξ̈ ± m g ‖ρ0‖ (1 − ρ̂ρ̂ᵀ) ξ = 0: the printed equations for a general ρ0
    arm = 9.81 * np.linalg.norm([0.1, -0.2, 0.5])
    axis = np.array([0.1, -0.2, 0.5]) / np.linalg.norm([0.1, -0.2, 0.5])
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(J_FULL, arm * (np.eye(3) - np.outer(axis, axis)))).real)
    np.testing.assert_allclose(hanging.frequencies, np.sqrt(squares[1:]), rtol=0, atol=1e-10)
    growing = np.sort(inverted.eigenvalues.real)[-2:]
    np.testing.assert_allclose(growing, np.sqrt(squares[1:]), rtol=0, atol=1e-10)
    assert np.sum(np.abs(inverted.eigenvalues) <= inverted.zero) == 2  # the turn about the vertical


@pytest.mark.parametrize(("rate", "count"), [(0.0, 2), (2.0, 2), (8.0, 6)])
def test_steady_turns_of_the_pendulum(rate, count):
    body, _, _ = reference_pendulum()
    found = body.relative_equilibria(rate)
    assert len(found) == count
    for one in found:
        gamma = quaternion.rotate_back(one.q, [0.0, 0.0, 1.0])
        np.testing.assert_allclose(body.rate(one.momentum), rate * gamma, rtol=0, atol=1e-13)
        assert pot.residual(body, one.q, one.momentum) < 1e-12  # m g and c² J up to 190


def test_sleeping_top_is_stable_above_its_critical_spin():
    """Upright top: stable exactly for `(J3 c)² > 4 m g l J1`."""
    J1, J3, arm = 1.0, 0.6, 9.81 * 0.3
    body = pot.Pendulum(inertia=np.diag([J1, J1, J3]), weight=9.81, rho0=[0.0, 0.0, -0.3])
    critical = np.sqrt(4.0 * arm * J1) / J3
    for factor, expected in ((0.99, False), (1.01, True)):
        upright = [
            e for e in body.relative_equilibria(factor * critical)
            if quaternion.rotate_back(e.q, [0.0, 0.0, 1.0])[2] > 0.999999
        ]  # fmt: skip
        assert [e.stable for e in upright] == [expected]


def test_steady_directions_where_axes_carry_no_weight():
    found = steady_directions(np.array([4.0, 9.0, 2.0]), np.array([0.0, 0.0, 1.0]))
    assert len(found) == 6  # ±3, and two tilted pairs
    for gamma in found:
        assert np.abs(np.cross([4.0, 9.0, 2.0] * gamma + [0.0, 0.0, 1.0], gamma)).max() < 1e-14
    assert len(steady_directions(np.zeros(3), np.array([0.0, 3.0, 0.0]))) == 2


def test_free_spins():
    J = np.array([1.0, 2.0, 3.0])
    found = pot.FreeRotation(inertia=np.diag(J)).relative_equilibria(0.7)
    assert [e.stable for e in found] == [True, True, False, False, True, True]
    growth = 0.7 * np.sqrt((J[1] - J[0]) * (J[2] - J[1]) / (J[0] * J[2]))
    assert found[2].eigenvalues.real.max() == pytest.approx(growth, abs=1e-12)


def test_shells():
    shells = pot.concentric_shells(2.0 * np.eye(3), 3.0 * np.eye(3), 1.5)
    aligned, *apart = shells.equilibria()
    assert aligned.stable
    np.testing.assert_allclose(aligned.frequencies, np.sqrt(2 * 1.5 * (1 / 2 + 1 / 3)), atol=1e-10)
    assert not any(e.stable for e in apart)
    assert all(pot.residual(shells, e.q, e.momentum) == 0.0 for e in apart)


# ------------------------------------------------------------------ planar pendulum
def planar() -> pot.PlanarPendulum:
    return pot.PlanarPendulum(inertia=J_FULL, weight=9.81, rho0=[0.0, 0.3, -0.4], axis=[2.0, 0.8, 0.6])


def test_planar_forms_agree():
    body = planar()
    q, omega, T = np.array([0.6, 0.8]), 0.7, 3.0
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13}
    first = solve_ivp(body.euler_lagrange, (0, T), np.append(body.lift(q), omega), **options).y[:, -1]
    second = solve_ivp(body.hamilton, (0, T), np.append(body.lift(q), body.hinge_inertia * omega), **options).y[:, -1]
    third = solve_ivp(body.reduced, (0, T), np.append(q, omega), **options).y[:, -1]
    np.testing.assert_allclose(first[:9], second[:9], rtol=0, atol=1e-10)
    np.testing.assert_allclose(body.reduce(first[:9].reshape(3, 3)), third[:2], rtol=0, atol=1e-10)
    np.testing.assert_allclose(body.lift(third[:2]), first[:9].reshape(3, 3), rtol=0, atol=1e-10)
    np.testing.assert_allclose(first[:9].reshape(3, 3) @ body.axis, body.axis, rtol=0, atol=1e-10)
    errors = []
    for h in (0.01, 0.005):
        motion = body.run(q, body.hinge_inertia * omega, h=h, steps=round(T / h), every=round(T / h))
        errors.append(np.abs(np.append(motion.q[-1], motion.momentum[-1] / body.hinge_inertia) - third).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.01)


def test_planar_pendulum_is_the_three_dimensional_one_in_a_plane():
    J = np.diag([2.0, 3.0, 1.4])
    flat = pot.PlanarPendulum(inertia=J, weight=9.81, rho0=[0.0, 0.3, -0.4], axis=[1.0, 0.0, 0.0])
    space = pot.Pendulum(inertia=J, weight=9.81, rho0=[0.0, 0.3, -0.4])
    one = flat.run([1.0, 0.0], 0.5, h=0.01, steps=500)
    other = space.run(IDENTITY, [0.5, 0.0, 0.0], h=0.01, steps=500)
    np.testing.assert_allclose(flat.lift(one.q), other.R, rtol=0, atol=1e-12)  # roundoff grown over 500 steps
    np.testing.assert_allclose(one.momentum, other.momentum[:, 0], rtol=0, atol=1e-12)


def test_planar_period_at_large_swing():
    """From rest at 2 rad: `4 K(sin²(1))/ω`, the elliptic integral."""
    body = pot.PlanarPendulum(inertia=np.eye(3), weight=9.81, rho0=[0.0, 0.0, 0.5], axis=[1.0, 0.0, 0.0])
    period = 4.0 * ellipk(np.sin(1.0) ** 2) / abs(body.eigenvalue(body.equilibria()[0]))
    n = 20_000
    motion = body.run([np.cos(2.0), np.sin(2.0)], 0.0, h=period / n, steps=n, every=n)
    np.testing.assert_allclose(motion.q[-1], motion.q[0], rtol=0, atol=1e-9)  # second order in the error of the period
    assert abs(motion.momentum[-1]) < 1e-6  # 4.5 N m times the error of the period, T (ω h)²/24 ~ 1e-8 s


def test_planar_equilibria():
    body = planar()
    hanging, inverted = body.equilibria()
    for q in (hanging, inverted):
        R = body.lift(q)
        assert np.abs(np.linalg.det([R[2], body.axis, body.rho0])) < 1e-15  # Rᵀe3 in span(a, ρ0)
        assert np.abs(body.reduced(0.0, np.append(q, 0.0))).max() < 1e-15
    assert body.eigenvalue(hanging).real == 0.0
    assert body.eigenvalue(inverted).real == pytest.approx(body.eigenvalue(hanging).imag)
    small = body.run(body.reduce(so3.exp(0.001 * body.axis) @ body.lift(hanging)), 0.0, h=0.01, steps=10_000)
    swing = np.unwrap(np.arctan2(*small.q.T[::-1])) - np.arctan2(hanging[1], hanging[0])
    up = np.flatnonzero((swing[:-1] < 0.0) & (swing[1:] >= 0.0))
    at = small.t[up] - swing[up] * 0.01 / (swing[up + 1] - swing[up])
    assert 2 * np.pi * (len(at) - 1) / (at[-1] - at[0]) == pytest.approx(body.eigenvalue(hanging).imag, rel=1e-4)


def test_planar_energy_has_no_drift():
    body = planar()
    motion = body.run([0.6, 0.8], 1.0, h=0.01, steps=1_000_000, every=100)
    E = body.energy(motion.q, motion.momentum)
    rise, noise = drift(motion.t, E - E[0])
    assert rise < noise < 1e-2


# ------------------------------------------------------------------ the door
PENDULUM = {"inertia": np.eye(3), "weight": 9.81, "rho0": [0.0, 0.0, 1.0]}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: pot.Pendulum(**PENDULUM | {"rho0": [0.0, 0.0, 0.0]}), "rho0 must not have zero length"),
        (lambda: pot.Pendulum(**PENDULUM | {"weight": -1.0}), "weight must be greater than zero"),
        (lambda: pot.Pendulum(**PENDULUM | {"inertia": np.diag([1.0, 1.0, -1.0])}), "inertia must be symmetric"),
        (lambda: pot.Pendulum(**PENDULUM | {"inertia": np.tile(np.eye(3), (2, 1, 1))}), "inertia must have shape"),
        (lambda: pot.FreeRotation(inertia=np.zeros((0, 3, 3))), "at least one"),
        (lambda: pot.FreeRotation(inertia=[np.eye(3), np.diag([1, 1, -1])]), r"inertia\[1\] must be symmetric"),
        (lambda: pot.FreeRotation(inertia=np.eye(3), internal_momentum=[1, 2]), "internal_momentum must have shape"),
        (lambda: pot.OrbitingBody(inertia=np.eye(3), orbital_rate=0.0), "orbital_rate must be greater than zero"),
        (lambda: pot.CoupledBodies(inertia=[np.eye(3)], stiffness=[[0.0]]), "n of at least 2"),
        (lambda: pot.CoupledBodies(inertia=[np.eye(3)] * 2, stiffness=[[0, 1], [2, 0]]), "stiffness must be symmetric"),
        (lambda: pot.concentric_shells(np.eye(3), np.eye(3), -1.0), "stiffness must be greater"),
        (lambda: pot.PlanarPendulum(**PENDULUM, axis=[0.0, 0.6, 0.8]), "rho0 must be perpendicular to axis"),
        (lambda: pot.UserPotential(inertia=np.eye(3), moment_function=lambda R, p, out: None), "must fill out"),
        (lambda: pot.UserPotential(inertia=np.eye(3), moment_function=lambda R: None), "moment_function must compile"),
    ],
)  # fmt: skip
def test_bad_bodies(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"h": 0.0}, "h must be greater than zero"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"every": -1}, "every must be a whole number"),
        ({"q": [0.0, 0.0, 0.0, 2.0]}, "q must be a unit quaternion"),
        ({"q": [IDENTITY, IDENTITY]}, "q must have shape"),
        ({"momentum": [np.nan, 0.0, 0.0]}, "momentum must be finite"),
        ({"momentum": [1e4, 0.0, 0.0]}, "h must be shorter .* from t = 0 s"),
        ({"external": np.zeros((5, 3))}, "external must have shape"),
    ],
)
def test_bad_runs(change, message):
    body = pot.Pendulum(**PENDULUM)
    arguments = {"q": IDENTITY, "momentum": [0.1, 0.2, 0.3], "h": 0.01, "steps": 10} | change
    with pytest.raises(ValueError, match=message):
        body.run(**arguments)


def test_bad_questions():
    with pytest.raises(ValueError, match="inertia must be diagonal"):
        pot.OrbitingBody(inertia=J_FULL, orbital_rate=1.0).libration_frequencies()
    with pytest.raises(ValueError, match="stable attitude"):
        pot.OrbitingBody(inertia=np.diag([1.2, 3.0, 2.0]), orbital_rate=1.0).libration_frequencies()
    with pytest.raises(ValueError, match="must not be vertical"):
        pot.PlanarPendulum(inertia=np.eye(3), weight=1.0, rho0=[1, 0, 0], axis=[0, 0, 1]).equilibria()
    with pytest.raises(ValueError, match="q must be on the unit circle"):
        planar().run([1.0, 1.0], 0.0, h=0.01, steps=1)
    with pytest.raises(ValueError, match="h must be shorter"):
        planar().run([1.0, 0.0], 1e4, h=0.01, steps=1)
    with pytest.raises(ValueError, match="without internal momentum"):
        SYSTEMS["pendulum with a rotor"].relative_equilibria(1.0)


def test_damping_too_stiff_for_the_step():
    """A rate-dependent moment that the fixed point cannot reach is reported, not returned."""
    body, q, p = reference_pendulum()
    with pytest.raises(ValueError, match="h must be shorter"):
        body.run(q, p, h=0.01, steps=5, external=damping, external_parameters=[1e4])


def broken(t, R, omega, parameters, out):
    out[:, :] = np.nan if t > 0.095 else 0.0


def test_a_moment_that_is_not_finite_or_does_not_compile():
    body, q, p = reference_pendulum()
    with pytest.raises(ValueError, match="the moment finite"):
        body.run(q, p, h=0.01, steps=10, external=broken)  # the very last evaluation
    with pytest.raises(ValueError, match="external must compile"):
        body.run(q, p, h=0.01, steps=10, external=lambda t, R: None)


def test_one_signature_per_kernel():
    body, q, p = reference_pendulum()
    body.run(q, p, h=0.01, steps=2)
    SYSTEMS["coupled"].run(*start(SYSTEMS["coupled"]), h=0.01, steps=2, external=np.ones((3, 3)))
    assert len(kernels.run.signatures) == 1
    for name in ("moment", "external", "_drift", "_turn", "_kick", "_keep"):
        assert len(getattr(kernels, name).signatures) <= 1, name  # none when `run` came compiled from the cache


# ------------------------------------------------------------------ functions of the user
def test_what_a_users_moment_leaves_out_is_zero():
    def partial(t, R, omega, parameters, out):
        out[0, 0] = 0.1

    body = pot.FreeRotation(inertia=np.diag([1.0, 2.0, 2.5]))
    runs = [body.run([0, 0, 0, 1], [0.1, 0.2, 0.3], h=0.1, steps=50, external=partial) for _ in range(2)]
    whole = body.run([0, 0, 0, 1], [0.1, 0.2, 0.3], h=0.1, steps=50, external=[0.1, 0.0, 0.0])
    np.testing.assert_array_equal(runs[0].momentum, runs[1].momentum)
    np.testing.assert_allclose(runs[0].momentum, whole.momentum, rtol=1e-12)


def test_a_users_index_out_of_range_is_an_error():
    def reads_too_far(t, R, omega, parameters, out):
        out[0, 0] = parameters[0]

    with pytest.raises(IndexError):
        pot.FreeRotation(inertia=np.eye(3)).run([0, 0, 0, 1], [0.1, 0.2, 0.3], h=0.1, steps=5, external=reads_too_far)
