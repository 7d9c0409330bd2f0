"""Section 6.7: the problems whose answer is a number, an identity or a conserved quantity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import quad_vec, solve_ivp
from scipy.optimize import root

from attitude.core import quaternion, so3
from attitude.core.jit import Array
from attitude.truth import potentials as pot
from sims.papers.llm_book.runs import (
    DOP853,
    FREE,
    HINGE,
    J_FULL,
    LUMPY_SHELLS,
    PENDULUM,
    PI0,
    PLANAR,
    Q0,
    SHELLS,
    Runs,
    change,
    drift,
    flow,
    slope,
)
from sims.papers.table import Row, bound, close, statement

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def problems(runs: Runs) -> list[Row]:
    """Rows of problems 6.1 to 6.18."""
    parts: list[Callable[[], list[Row]]] = [
        _identities, _virtual_work, _external_moment, _planar_group, _spherical_body, _spins, _forces, _charged_body,
        _force_fixed_in_space, _moment_fixed_in_body, _geodesics, _weighted_geodesics, _many_bodies,
    ]  # fmt: skip
    return [row for part in parts for row in part()] + _shells(runs)


def _identities() -> list[Row]:
    rng = np.random.default_rng(61)
    A, B = rng.normal(size=(2, 3, 3))
    left, right = B.T @ A - A.T @ B, so3.hat(np.cross(A, B)).sum(axis=0)
    R = quaternion.to_matrix(Q0)
    moment = -np.cross(R, A).sum(axis=0)  # A stands for ∂L̃/∂R
    return [
        bound("problem 6.1(a): BᵀA − AᵀB − Σ S(a_i × b_i)", "0", float(np.abs(left - right).max()), 1e-14),
        bound("problem 6.1(b): −Σ r_i × ∂L̃/∂r_i − (Rᵀ∂L̃/∂R − ∂L̃/∂RᵀR)^∨", "0",
              float(np.abs(moment - so3.vee(R.T @ A - A.T @ R)).max()), 1e-14),
    ]  # fmt: skip


def _virtual_work() -> list[Row]:
    rng = np.random.default_rng(62)
    rho, force, eta = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=3)
    force -= force.mean(axis=0)
    R = quaternion.to_matrix(Q0)
    work = np.sum((force @ R.T) * (rho @ (R @ so3.hat(eta)).T))
    moment = np.cross(rho, force).sum(axis=0)
    return [bound("problem 6.2(a): δW − η·M for five forces without resultant", "0", float(work - eta @ moment), 1e-13)]


def _damping(t: float, R: Array, omega: Array, parameters: Array, out: Array) -> None:
    for j in range(3):
        out[0, j] = -parameters[0] * omega[0, j]


def _external_moment() -> list[Row]:
    y = flow(lambda t, y: PENDULUM.hamilton(t, y, lambda t, R, w: -0.8 * w), PENDULUM.pack(Q0, PI0), 5.0)
    _, end = PENDULUM.unpack(y)
    errors = [
        float(np.abs(PENDULUM.run(Q0, PI0, h=5.0 / n, steps=n, every=n, external=_damping, external_parameters=[0.8])
                     .momentum[-1] - end).max())
        for n in (500, 1000)
    ]  # fmt: skip
    order = float(np.log2(errors[0] / errors[1]))
    return [close("problem 6.2(b): Lagrange–d'Alembert, M = −0.8 ω on the pendulum: order", "2", order, 2.0, 0.01)]


def _planar_group() -> list[Row]:
    x, y = np.array([0.6, 0.8]), np.array([-5.0, 12.0]) / 13.0
    both = PLANAR.lift(x) @ PLANAR.lift(y)
    planar = np.array([x[0] * y[0] - x[1] * y[1], x[1] * y[0] + x[0] * y[1]])
    error = max(np.abs(both @ HINGE - HINGE).max(), np.abs(PLANAR.reduce(both) - planar).max())
    claim = "a matrix group, diffeomorphic to SO(2)"
    return [bound("problem 6.6: products in {R : Ra = a} against those in SO(2)", claim, float(error), 1e-15)]


def _spherical_body() -> list[Row]:
    body = pot.FreeRotation(inertia=1.7 * np.eye(3))
    omega = np.array([0.4, -0.7, 0.5])
    q, _ = body.unpack(flow(body.hamilton, body.pack(Q0, body.momentum(omega)), 5.0))
    exact = quaternion.product(Q0, quaternion.exp(5.0 * omega))
    motion = body.run(Q0, body.momentum(omega), h=0.01, steps=500)
    return [
        bound("problem 6.7: R against R0 exp(S(ω0) t), 5 s, rad", "ω constant",
              float(quaternion.angle_between(q, exact)), 1e-9),
        bound("problem 6.7: ω of the discrete flow", "constant", change(motion.omega).max(), 1e-13),
    ]  # fmt: skip


def _spins() -> list[Row]:
    J = np.array([1.0, 2.0, 3.0])
    spins = pot.FreeRotation(inertia=np.diag(J)).relative_equilibria(1.0)
    growth = np.sqrt((J[1] - J[0]) * (J[2] - J[1]) / (J[0] * J[2]))
    symmetric = pot.FreeRotation(inertia=np.diag([2.0, 2.0, 1.2]))
    rates = [np.array([np.cos(x), np.sin(x), 0.0]) for x in (0.3, 1.9, 4.0)] + [np.array([0.0, 0.0, 1.0])]
    oblique = symmetric.momentum([0.6, 0.0, 0.8])
    return [
        statement("problem 6.8: stable spins of J = (1, 2, 3)", "about ±e1, ±e2, ±e3",
                  ", ".join(f"{e.name}: {'stable' if e.stable else 'unstable'}" for e in spins[::2]),
                  [e.stable for e in spins] == [True, True, False, False, True, True]),
        close("problem 6.8: growth about the middle axis, 1/s", "-", float(spins[2].eigenvalues.real.max()),
              float(growth), 1e-10),
        bound("problem 6.9: J = (J1, J1, J2), spins across and along the axis: ω × Jω", "0",
              max(pot.residual(symmetric, IDENTITY, symmetric.momentum(w)) for w in rates), 1e-15),
        statement("problem 6.9: oblique spins", "none",
                  f"ω × Jω = {pot.residual(symmetric, IDENTITY, oblique):.2f} N m",
                  pot.residual(symmetric, IDENTITY, oblique) > 0.1),
    ]  # fmt: skip


def _forces() -> list[Row]:
    rng = np.random.default_rng(610)
    b, F = rng.normal(size=(2, 3))
    R = quaternion.to_matrix(Q0)
    along = F + 3.0 * R @ b
    points = rng.normal(size=(6, 3))
    points -= points.mean(axis=0)
    gravity = np.cross(points, -9.81 * R[2]).sum(axis=0)
    return [
        bound("problem 6.10: change of the moment b × RᵀF when F grows along Rb", "0",
              float(np.abs(np.cross(b, R.T @ along) - np.cross(b, R.T @ F)).max()), 1e-14),
        bound("problem 6.11(d): moment of uniform gravity about the mass centre, six masses", "0",
              float(np.abs(gravity).max()), 1e-13),
    ]  # fmt: skip


# ------------------------------------------------------------------ 6.12: charges at ρ_k in constant fields −E e3, B e2
CHARGES = np.array([0.5, 0.8, -0.3])
PLACES = np.array([[0.5, 0.1, -0.2], [-0.3, 0.4, 0.1], [0.2, -0.6, 0.4]])
E_FIELD, B_FIELD = 2.0, 1.5


def _dipole(R: Array, parameters: Array, out: Array) -> None:
    for j in range(3):
        a, b = (j + 1) % 3, (j + 2) % 3
        out[0, j] = parameters[a] * R[0, 2, b] - parameters[b] * R[0, 2, a]


def _dipole_energy(R: Array, parameters: Array) -> float:
    return float(-R[0, 2] @ parameters)


def _lorentz(t: float, R: Array, omega: Array, parameters: Array, out: Array) -> None:
    """Magnetic moment `Σ Q ρ × ((ω × ρ) × b) = Σ Q (ρ·b) ω × ρ`, `b = B Rᵀe2`; four numbers `[Q B, ρ]` a charge."""
    for j in range(3):
        out[0, j] = 0.0
    for k in range(parameters.size // 4):
        x, y, z = parameters[4 * k + 1], parameters[4 * k + 2], parameters[4 * k + 3]
        f = parameters[4 * k] * (x * R[0, 1, 0] + y * R[0, 1, 1] + z * R[0, 1, 2])
        out[0, 0] += f * (omega[0, 1] * z - omega[0, 2] * y)
        out[0, 1] += f * (omega[0, 2] * x - omega[0, 0] * z)
        out[0, 2] += f * (omega[0, 0] * y - omega[0, 1] * x)


def _magnetic(t: float, R: Array, omega: Array) -> Array:
    """The same as the problem states it."""
    force = np.cross(np.cross(omega[0], PLACES), B_FIELD * R[0, 1])
    return np.cross(PLACES, CHARGES[:, None] * force).sum(axis=0)[None]


def _charged_body() -> list[Row]:
    dipole = -E_FIELD * CHARGES @ PLACES
    body = pot.UserPotential(inertia=J_FULL, moment_function=_dipole, energy_function=_dipole_energy, numbers=dipole)
    table = np.hstack([B_FIELD * CHARGES[:, None], PLACES]).ravel()
    omega = np.array([0.4, -0.7, 0.5])
    end = body.unpack(flow(lambda t, y: body.hamilton(t, y, _magnetic), body.pack(Q0, body.momentum(omega)), 5.0))
    errors = []
    for n in (500, 1000):
        motion = body.run(
            Q0, body.momentum(omega), h=5.0 / n, steps=n, every=n, external=_lorentz, external_parameters=table
        )
        errors.append(float(np.abs(motion.momentum[-1] - end[1]).max()))
    energy = body.energy(Q0, body.momentum(omega))
    rest = quaternion.normalise(np.append(np.cross(dipole, [0, 0, 1]), np.linalg.norm(dipole) + dipole[2]))
    return [
        bound("problem 6.12: energy in constant fields along the continuous flow, 5 s, J", "magnetic forces do no work",
              float(body.energy(*end) - energy), 1e-10),
        close("problem 6.12: discrete flow with the magnetic moment as external: order", "2",
              float(np.log2(errors[0] / errors[1])), 2.0, 0.01),
        bound("problem 6.12(d): at rest with Rᵀe3 along Σ Qρ: moment", "equilibrium",
              pot.residual(body, rest, np.zeros(3)), 1e-14),
    ]  # fmt: skip


# ------------------------------------------------------------------ 6.13, 6.14
def _force_fixed_in_space() -> list[Row]:
    r, f = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -0.5])
    y = flow(lambda t, y: FREE.hamilton(t, y, lambda t, R, w: np.cross(r, R[0].T @ f)), FREE.pack(Q0, PI0), 2.0)
    moments = [np.cross(R @ r, f) for R in (quaternion.to_matrix(Q0), y[:9].reshape(3, 3))]
    turned = float(np.linalg.norm(moments[1] - moments[0]) / np.linalg.norm(moments[0]))
    aligned = quaternion.normalise(
        np.append(np.cross(r, f), np.linalg.norm(r) * np.linalg.norm(f) + r @ f)
    )  # R r along f
    R = quaternion.to_matrix(aligned)
    at_rest = [np.cross(r, turn.T @ f) for turn in (R, R @ so3.exp(r))]
    return [
        statement("problem 6.13(a): inertial moment Rr × f of a force fixed in space (false as stated)", "constant",
                  f"changes by {100 * turned:.0f} % in 2 s", turned > 0.01),
        bound("problem 6.13(c): moment where Rr is along f, for two turns about r", "equilibrium",
              float(np.abs(at_rest).max()), 1e-14),
    ]  # fmt: skip


def _moment_fixed_in_body() -> list[Row]:
    J = np.array([1.0, 2.0, 2.7])
    omega = np.array([0.6, -0.9, 0.5])
    M = np.cross(omega, J * omega)
    body = pot.FreeRotation(inertia=np.diag(J))
    end = flow(lambda t, y: body.hamilton(t, y, lambda t, R, w: M), body.pack(Q0, J * omega), 2.0)
    motion = body.run(Q0, J * omega, h=0.01, steps=200, external=M)
    # (J3 − J2) ω2 ω3 = a1 and its cyclic mates, multiplied and divided
    d = np.array([J[2] - J[1], J[0] - J[2], J[1] - J[0]])
    solved = np.sqrt(np.prod(M / d)) / np.abs(M / d)
    return [
        bound("problem 6.14(b): |ω_i| from (J_k − J_j) ω_j ω_k = a_i against the ω that made a", "algebraic equations",
              float(np.abs(solved - np.abs(omega)).max()), 1e-14),
        bound("problem 6.14: ω under that moment, 2 s of the continuous flow", "constant",
              float(np.abs(end[9:] / J - omega).max()), 1e-10),
        bound("problem 6.14: ω of the discrete flow, h = 10 ms, 2 s (limit: h² |ω|³)", "constant",
              change(motion.omega).max(), 1e-4 * float(np.linalg.norm(omega)) ** 3),
    ]  # fmt: skip


# ------------------------------------------------------------------ 6.15, 6.18
def _shells(runs: Runs) -> list[Row]:
    kept = LUMPY_SHELLS.conserved(runs.shells.q, runs.shells.momentum)
    rise, noise = drift(runs.shells.t, kept["energy"])
    aligned, *apart = SHELLS.equilibria()
    expected = np.sqrt(2.0 * 1.5 * (1.0 / 2.0 + 1.0 / 3.0))
    return [
        bound("problem 6.15(c): shells, rise of H over 1e6 steps, J (limit: its scatter)", "constant", rise, noise),
        bound("problem 6.15(c): shells, R1Π1 + R2Π2, 1e6 steps", "constant", change(kept["total momentum"]).max(),
              1e-11),
        bound("problem 6.15(d): aligned and half a turn apart: moments", "equilibria",
              max(pot.residual(SHELLS, e.q, e.momentum) for e in (aligned, *apart)), 1e-15),
        statement("problem 6.15(d): stability with U = K tr(1 − R1ᵀR2) (corrected sign)", "-",
                  "aligned stable, half a turn apart unstable", aligned.stable and not any(e.stable for e in apart)),
        bound("problem 6.15(e): three frequencies √(2K(1/J1 + 1/J2)), rad/s", "-",
              float(np.abs(aligned.frequencies - expected).max()), 1e-10),
    ]  # fmt: skip


def _many_bodies() -> list[Row]:
    rng = np.random.default_rng(618)
    K = rng.uniform(0.5, 2.0, (4, 4))
    inertia = np.array([J_FULL, np.diag([1.0, 1.4, 2.0]), 1.5 * np.eye(3), np.diag([2.0, 2.2, 3.0])])
    body = pot.CoupledBodies(inertia=inertia, stiffness=K + K.T, internal_momentum=rng.normal(size=(4, 3)))
    q, p = quaternion.normalise(rng.normal(size=(4, 4))), rng.normal(size=(4, 3))
    order, _ = slope(body, q, p, 2.0, [0.01, 0.005])
    motion = body.run(q, p, h=0.01, steps=100_000, every=100)
    kept = body.conserved(motion.q, motion.momentum)
    rise, noise = drift(motion.t, kept["energy"])
    return [
        close("problem 6.18: four bodies with aᵢᵀωᵢ terms: order against (6.13)–(6.14)", "2", order, 2.0, 0.01),
        bound("problem 6.18: four bodies, Σ R Π, 1e5 steps", "-", change(kept["total momentum"]).max(), 1e-11),
        bound("problem 6.18: four bodies, rise of H over 1e5 steps, J (limit: its scatter)", "-", rise, noise),
    ]  # fmt: skip


# ------------------------------------------------------------------ 6.16, 6.17: geodesics
def _variation(J: Array, omega: Callable[[float], Array], v: Array, k: int) -> float:
    """`δ ∫ ½ ωᵀJω dt = ∫ Jω·(η̇ + ω × η) dt` on [0, 1] for `η = sin(kπt) v` (6.3)."""

    def integrand(t: float) -> float:
        w, x = omega(t), k * np.pi * t
        return float(J @ w @ (k * np.pi * np.cos(x) * v + np.sin(x) * np.cross(w, v)))

    return float(quad_vec(integrand, 0.0, 1.0, epsabs=1e-12)[0])


def _geodesics() -> list[Row]:
    q1 = quaternion.exp([0.9, -0.4, 0.7])
    w = quaternion.log(quaternion.product(quaternion.conjugate(Q0), q1))
    end = quaternion.product(Q0, quaternion.exp(w))
    worst = max(abs(_variation(np.eye(3), lambda t: w, v, k)) for v in np.eye(3) for k in (1, 2, 3))
    return [
        bound("problem 6.16: R0 exp(t S(ω)), ω = log(R0ᵀR1): misses R1 by, rad", "0",
              float(quaternion.angle_between(end, q1)), 1e-15),
        bound("problem 6.16: δ ∫‖ω‖² dt for nine variations", "0", worst, 1e-12),
    ]  # fmt: skip


def _weighted_geodesics() -> list[Row]:
    q1 = quaternion.exp([0.9, -0.4, 0.7])

    def path(w: Array) -> object:
        return solve_ivp(FREE.euler_lagrange, (0.0, 1.0), FREE.pack(Q0, w), dense_output=True, **DOP853)

    def miss(w: Array) -> Array:
        q, _ = FREE.unpack(path(w).y[:, -1])  # type: ignore[attr-defined]
        return np.asarray(quaternion.log(quaternion.product(quaternion.conjugate(q), q1)))

    start = quaternion.log(quaternion.product(quaternion.conjugate(Q0), q1))
    w0 = root(miss, start, tol=1e-12).x
    dense = path(w0).sol  # type: ignore[attr-defined]
    worst = max(abs(_variation(J_FULL, lambda t: dense(t)[9:], v, k)) for v in np.eye(3) for k in (1, 2))
    rest = max(abs(_variation(J_FULL, lambda t: start, v, k)) for v in np.eye(3) for k in (1, 2))
    return [
        bound("problem 6.17: Euler's equations from R0 to R1 by shooting: misses R1 by, rad", "0",
              float(np.abs(miss(w0)).max()), 1e-10),
        bound("problem 6.17: δ ∫ωᵀJω dt for six variations", "0", worst, 1e-8),
        statement("problem 6.17(c): the constant rate of problem 6.16", "no geodesic for J ≠ 1", f"δ = {rest:.3f}",
                  rest > 0.01),
    ]  # fmt: skip
