"""Sections 6.3 to 6.6.2: the general equations, the free body and the three-dimensional pendulum."""

from __future__ import annotations

import numpy as np

from attitude.core import quaternion
from attitude.truth import potentials as pot
from attitude.truth.free_body import free_motion
from sims.papers.llm_book.runs import (
    FREE,
    J_FULL,
    LUMPY_SHELLS,
    OMEGA_ORBIT,
    ORBIT,
    PENDULUM,
    PI0,
    PI_TWO,
    Q0,
    Q_ORBIT,
    Q_TWO,
    RHO0,
    WEIGHT,
    Runs,
    change,
    drift,
    flow,
    gradient_error,
    slope,
)
from sims.papers.table import Row, bound, close, reference, statement

UP = np.array([0.0, 0.0, 1.0])


def general() -> list[Row]:
    """6.3 and 6.4: moments, the two forms of the equations, order of the discrete flow."""
    rows = [
        bound("(6.8) pendulum: τ + ∂U/∂R", "τ = Σ r_i × ∂U/∂r_i", gradient_error(PENDULUM, Q0), 1e-10),
        bound("(6.8) orbit: τ + ∂U/∂R", "τ = Σ r_i × ∂U/∂r_i", gradient_error(ORBIT, Q_ORBIT), 1e-10),
        bound("(6.8) shells: τ + ∂U/∂R", "τ = Σ r_i × ∂U/∂r_i", gradient_error(LUMPY_SHELLS, Q_TWO), 1e-10),
    ]
    cases = {
        "free body": (FREE, Q0, PI0),
        "pendulum": (PENDULUM, Q0, PI0),
        "orbit": (ORBIT, Q_ORBIT, ORBIT.momentum(OMEGA_ORBIT)),
        "shells": (LUMPY_SHELLS, Q_TWO, PI_TWO),
    }
    for name, (system, q, p) in cases.items():
        rows += _two_forms(name, system, q, p)
    return rows


def _two_forms(name: str, system: pot.System, q: np.ndarray, p: np.ndarray) -> list[Row]:
    hamilton = flow(system.hamilton, system.pack(q, p), 5.0)
    euler = flow(system.euler_lagrange, system.pack(q, system.rate(p)), 5.0)
    (q1, p1), (q2, omega2) = system.unpack(hamilton), system.unpack(euler)
    apart = max(float(np.max(quaternion.angle_between(q1, q2))), float(np.abs(system.momentum(omega2) - p1).max()))
    kept = [float(np.abs(system.conserved(q1, p1)[k] - value).max()) for k, value in system.conserved(q, p).items()]
    R = hamilton[: 9 * len(system.moments)].reshape(-1, 3, 3)
    order, _ = slope(system, q, p, 5.0, [0.02, 0.01, 0.005])
    return [
        bound(f"{name}: (6.8) against (6.14), 5 s", "Lagrangian and Hamiltonian flow are one", apart, 1e-9),
        bound(f"{name}: conserved quantities along the continuous flow, 5 s", "constant", max(kept), 1e-10),
        bound(
            f"{name}: ‖RᵀR − 1‖ along the flow on 3×3 matrices",
            "SO(3) is an invariant manifold",
            float(np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max()),
            1e-10,
        ),
        close(f"{name}: order of the discrete flow", "2", order, 2.0, 0.005),
    ]


# ------------------------------------------------------------------ 6.6.1
def free_body(runs: Runs) -> list[Row]:
    """6.6.1: free rotation."""
    motion = runs.free
    kept = FREE.conserved(motion.q, motion.momentum)
    size, energy = float(np.linalg.norm(PI0)), float(kept["energy"][0])
    rest = pot.equilibrium(FREE, "rest", Q0, np.zeros(3))
    spins = FREE.relative_equilibria(1.0)
    exact, _ = free_motion(J_FULL, Q0, FREE.rate(PI0), np.array([10.0]))
    ends = [FREE.run(Q0, PI0, h=10.0 / n, steps=n, every=n).q[-1] for n in (1000, 2000)]
    errors = [float(quaternion.angle_between(end, exact[-1])) for end in ends]
    return [
        bound("6.6.1.3 free body: H, 1e6 steps, relative", "constant", change(kept["energy"]).max() / energy, 1e-12),
        bound("6.6.1.3 free body: RΠ, 1e6 steps, relative", "constant",
              change(kept["inertial momentum"]).max() / size, 1e-12),
        bound(
            "6.6.1.3 free body: ‖Jω‖, 1e6 steps, relative",
            "constant",
            change(np.linalg.norm(motion.momentum, axis=-1)).max() / size,
            1e-12,
        ),
        bound("6.6.1.4 linearisation at rest, largest eigenvalue, 1/s", "J ξ̈ = 0", np.abs(rest.eigenvalues).max(),
              1e-12),
        bound(
            "6.6.1.4 spins about principal axes: ω × Jω",
            "0",
            max(pot.residual(FREE, e.q, e.momentum) for e in spins),
            1e-14,
        ),
        close("6.6.1 free body: order against the motion in elliptic functions", "2",
              float(np.log2(errors[0] / errors[1])), 2.0, 0.005),
    ]  # fmt: skip


# ------------------------------------------------------------------ 6.6.2
def pendulum(runs: Runs) -> list[Row]:
    """6.6.2: reference digits, conservation, equilibria of the three-dimensional pendulum."""
    resting = _pendulum_equilibria() + _printed_linearisation()
    return _reference_digits() + _pendulum_conservation(runs) + resting + _steady()


def _reference_digits() -> list[Row]:
    motion = PENDULUM.run(Q0, PI0, h=0.01, steps=500, every=500)
    values = [*motion.momentum[-1], *motion.R[-1, 0]]
    names = ["Π1", "Π2", "Π3", "R11", "R12", "R13"]
    known = [
        "0.914900316627", "0.421354933137", "0.768342499883", "-0.947245460967", "-0.277624181952", "0.160158828271",
    ]  # fmt: skip
    rows = [reference(f"reference pendulum, t = 5 s: {n}", r, v) for n, r, v in zip(names, known, values, strict=True)]
    vertical = PENDULUM.conserved(motion.q, motion.momentum)["vertical momentum"]
    ends = zip(("start", "end"), vertical, strict=True)
    return rows + [reference(f"reference pendulum, h at the {at}", "0.545614035088", float(v)) for at, v in ends]


def _pendulum_conservation(runs: Runs) -> list[Row]:
    kept = PENDULUM.conserved(runs.pendulum.q, runs.pendulum.momentum)
    rise, noise = drift(runs.pendulum.t, kept["energy"])
    R = runs.pendulum.R
    return [
        bound("6.6.2.3 pendulum: rise of H over 1e6 steps, J (limit: its scatter)", "constant", rise, noise),
        bound("6.6.2.3 pendulum: h = ωᵀJRᵀe3, 1e6 steps", "constant", change(kept["vertical momentum"]).max(), 1e-11),
        # 4 (‖q‖² − 1) with ‖q‖² rounded to 4e-16, and six roundings of entries of R
        bound("pendulum: ‖RᵀR − 1‖, 1e6 steps", "-", float(np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max()), 4e-15),
    ]


def _pendulum_equilibria() -> list[Row]:
    hanging, inverted = PENDULUM.equilibria()
    arm = WEIGHT * float(np.linalg.norm(RHO0))
    axis = RHO0 / np.linalg.norm(RHO0)
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(J_FULL, arm * (np.eye(3) - np.outer(axis, axis)))).real)[1:]
    zeros = [int(np.sum(np.abs(e.eigenvalues) <= e.zero)) for e in (hanging, inverted)]
    real, growth = np.sort(inverted.eigenvalues.real), np.sqrt(squares)
    return [
        bound("6.6.2.4 hanging, inverted: ρ0 × Rᵀe3", "0",
              max(pot.residual(PENDULUM, e.q, np.zeros(3)) for e in (hanging, inverted)), 1e-14),
        statement("6.6.2.4 Rᵀe3 = +ρ0/‖ρ0‖ (corrected: the manifolds are swapped)", "hanging, below the pivot",
                  f"pivot at height {quaternion.rotate(hanging.q, RHO0)[2]:+.3f} m, U = {_potential(hanging):.3f} J",
                  _potential(hanging) < _potential(inverted)),
        bound("6.6.2.4 hanging: frequencies against J ξ̈ + m g‖ρ0‖ P ξ = 0, rad/s", "two imaginary pairs",
              float(np.abs(hanging.frequencies - np.sqrt(squares)).max()), 1e-9),
        bound("6.6.2.4 inverted: growth against J ξ̈ − m g‖ρ0‖ P ξ = 0, 1/s", "two real pairs",
              float(np.abs(real[[4, 5, 1, 0]] - [*growth, *-growth]).max()), 1e-9),
        statement("6.6.2.4 zero eigenvalues", "one pair each", f"{zeros[0]} and {zeros[1]}", zeros == [2, 2]),
        statement("6.6.2.4 stability", "inverted is unstable", f"hanging {_word(hanging)}, inverted {_word(inverted)}",
                  hanging.stable and not inverted.stable),
    ]  # fmt: skip


def _potential(e: pot.Equilibrium) -> float:
    return float(PENDULUM.energy(e.q, e.momentum))


def _word(e: pot.Equilibrium) -> str:
    return "stable" if e.stable else "unstable"


def _printed_linearisation() -> list[Row]:
    """The printed matrices hold for ρ0 along −e3; there the hanging point is diag(1, −1, −1)."""
    body = pot.Pendulum(inertia=J_FULL, weight=WEIGHT, rho0=-0.5 * UP)
    P = WEIGHT * 0.5 * np.diag([1.0, 1.0, 0.0])
    inverted = pot.moment_gradient(body, np.array([0.0, 0.0, 0.0, 1.0]))
    hanging = pot.moment_gradient(body, np.array([1.0, 0.0, 0.0, 0.0]))
    return [
        bound("6.6.2.4 J ξ̈ = T ξ at (1, 0): T against m g‖ρ0‖ diag(1, 1, 0)", "J ξ̈ − m g‖ρ0‖ diag(1, 1, 0) ξ = 0",
              float(np.abs(inverted - P).max()), 1e-10),
        bound("6.6.2.4 at diag(1, −1, −1): T against −m g‖ρ0‖ diag(1, 1, 0)", "J ξ̈ + m g‖ρ0‖ diag(1, 1, 0) ξ = 0",
              float(np.abs(hanging + P).max()), 1e-10),
        statement("6.6.2.4 hanging point (corrected)", "−I",
                  f"det(−I) = {np.linalg.det(-np.eye(3)):.0f}: not a rotation",
                  np.linalg.det(-np.eye(3)) < 0.0),
    ]  # fmt: skip


def _steady() -> list[Row]:
    few, found = PENDULUM.relative_equilibria(2.0), PENDULUM.relative_equilibria(8.0)
    one = found[0]
    gamma = quaternion.rotate_back(one.q, UP)
    omega = PENDULUM.rate(one.momentum)
    q, w = PENDULUM.unpack(flow(PENDULUM.euler_lagrange, PENDULUM.pack(one.q, omega), 1.0))
    turned = quaternion.product(quaternion.exp(8.0 * UP), one.q)
    tilt = float(np.linalg.norm(np.cross(gamma, J_FULL @ gamma)) / np.linalg.norm(J_FULL @ gamma))
    return [
        bound("6.6.2.4 relative equilibria ω = cγ, c = 8 rad/s: ω × Jω − m g ρ0 × γ", "0",
              max(pot.residual(PENDULUM, e.q, e.momentum) for e in found), 1e-11),
        bound("6.6.2.4 relative equilibrium: ω after 1 s of the continuous flow", "constant",
              float(np.abs(w - omega).max()), 1e-9),
        bound("6.6.2.4 relative equilibrium: R(1 s) against exp(c S(e3)) R(0), rad", "steady turn about the vertical",
              float(quaternion.angle_between(q, turned)), 1e-9),
        statement("6.6.2.4 number of them at c = 2 and 8 rad/s (corrected: (c²Jγ + m g ρ0) × γ = 0)",
                  "ω an eigenvector of J",
                  f"{len(few)} and {len(found)}; sin(ω, Jω) = {tilt:.3f}, not an eigenvector",
                  len(few) == 2 and len(found) == 6 and tilt > 1e-3),
    ]  # fmt: skip
