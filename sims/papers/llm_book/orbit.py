"""Sections 6.6.3 and 6.6.4: rigid body in a circular orbit, and the planar pendulum."""

from __future__ import annotations

import numpy as np
from scipy.special import ellipk

from attitude.core import quaternion, so3
from attitude.core.jit import Array
from attitude.truth import potentials as pot
from sims.papers.llm_book.runs import (
    J_ORBIT,
    OMEGA_ORBIT,
    ORBIT,
    PLANAR,
    Q_ORBIT,
    SYMMETRIC_ORBIT,
    Runs,
    change,
    crossing_frequency,
    drift,
    flow,
)
from sims.papers.table import Row, bound, close, reference, statement


# ------------------------------------------------------------------ 6.6.3
def orbit(runs: Runs) -> list[Row]:
    """6.6.3: gravity gradient."""
    return _gravity() + _inertial_form() + _orbit_conservation(runs) + _orbit_equilibria() + _libration()


def _exact_moment(points: Array, R_bl: Array, r0: float) -> Array:
    """Moment of Newtonian gravity on unit masses at `points` (body axes), ω0 = 1, so `GM = r0³`."""
    place = r0 * np.array([0.0, 0.0, 1.0]) + points @ R_bl.T
    force = -(r0**3) * place / np.linalg.norm(place, axis=1)[:, None] ** 3
    return np.asarray(np.cross(points, force @ R_bl).sum(axis=0))


def _gravity() -> list[Row]:
    rng = np.random.default_rng(63)
    points = rng.normal(size=(6, 3))
    points -= points.mean(axis=0)
    J = np.sum(points**2) * np.eye(3) - points.T @ points
    R = quaternion.to_matrix(Q_ORBIT)
    closed = 3.0 * np.cross(R[2], J @ R[2])
    errors = [float(np.abs(_exact_moment(points, R, r0) - closed).max() / np.abs(closed).max()) for r0 in (1e3, 2e3)]
    return [
        bound("6.6.3.1 gravity of six masses against 3ω0² γ × Jγ at r0 = 1000 ‖ρ‖, relative",
              "second-order approximation",
              errors[0], 1e-2),
        close("6.6.3.1 the same: error ratio when r0 doubles", "first order in ‖ρ‖/r0",
              errors[0] / errors[1], 2.0, 0.05),
    ]  # fmt: skip


def _inertial_form() -> list[Row]:
    """The motion as `R_bi`, where the potential depends on time, against the orbit frame."""

    def inertial(t: float, y: Array) -> Array:
        R, omega = y[:9].reshape(3, 3), np.linalg.solve(J_ORBIT, y[9:])
        gamma = R.T @ so3.exp([0.0, t, 0.0])[:, 2]  # R_li(t) = exp(ω0 t S(e2))
        moment = 3.0 * np.cross(gamma, J_ORBIT @ gamma)
        return np.append((R @ so3.hat(omega)).ravel(), np.cross(y[9:], omega) + moment)

    y0 = ORBIT.pack(Q_ORBIT, ORBIT.momentum(OMEGA_ORBIT))
    lvlh, space = flow(ORBIT.hamilton, y0, 5.0), flow(inertial, y0, 5.0)
    relative = so3.exp([0.0, 5.0, 0.0]).T @ space[:9].reshape(3, 3)
    error = max(np.abs(relative - lvlh[:9].reshape(3, 3)).max(), np.abs(space[9:] - lvlh[9:]).max())
    claim = "R_li(t) = R_li(0) exp(S(ω0 e2) t)"
    return [bound("6.6.3.1 R_bl = R_liᵀ R_bi, both forms integrated for 5 s", claim, float(error), 1e-9)]


def _orbit_conservation(runs: Runs) -> list[Row]:
    jacobi = ORBIT.conserved(runs.orbit.q, runs.orbit.momentum)["Jacobi integral"]
    energy = ORBIT.energy(runs.orbit.q, runs.orbit.momentum)
    rise, noise = drift(runs.orbit.t, jacobi)
    kept = SYMMETRIC_ORBIT.conserved(runs.symmetric_orbit.q, runs.symmetric_orbit.momentum)
    rise2, noise2 = drift(runs.symmetric_orbit.t, kept["Jacobi integral"])
    return [
        bound("6.6.3.3 orbit: rise of the Jacobi integral over 1e6 steps, J (limit: its scatter)",
              "H constant (corrected: H − ω0 e2ᵀRΠ)", rise, noise),
        statement("6.6.3.3 orbit: spread of H and of the Jacobi integral (corrected)", "H is constant",
                  f"{np.ptp(energy):.3g} J and {np.ptp(jacobi):.3g} J", bool(np.ptp(energy) > 100.0 * np.ptp(jacobi))),
        bound("6.6.3.3 symmetric body: rise of the Jacobi integral over 1e6 steps, J (limit: its scatter)", "-",
              rise2, noise2),
        bound("6.6.3.3 symmetric body: momentum about its axis, 1e6 steps", "-", change(kept["spin"]).max(), 1e-11),
    ]  # fmt: skip


def _orbit_equilibria() -> list[Row]:
    found = ORBIT.equilibria()
    stable = sum(e.stable for e in found)
    rest = [np.abs(ORBIT.hamilton(0.0, ORBIT.pack(e.q, e.momentum))).max() for e in found]
    apart = min(float(quaternion.angle_between(a.q, b.q)) for i, a in enumerate(found) for b in found[:i])
    # the printed condition alone: γ an eigenvector, but e2 across the other two principal axes
    tilted = quaternion.exp([0.0, 0.0, 0.5])
    left = pot.residual(ORBIT, tilted, ORBIT.momentum(quaternion.rotate_back(tilted, [0.0, 1.0, 0.0])))
    return [
        bound("6.6.3.4 equilibria ω = ω0 R_blᵀe2 (corrected from e3): right-hand side", "0", float(max(rest)), 1e-13),
        statement("6.6.3.4 number of equilibria (corrected: R_blᵀe2 and R_blᵀe3 both eigenvectors)",
                  "R_blᵀe3 an eigenvector",
                  f"{len(found)}, at least {np.degrees(apart):.0f}° apart; with R_blᵀe3 alone Π̇ = {left:.2f} N m",
                  len(found) == 24 and apart > 1.5 and left > 0.1),
        statement("6.6.3.4 spectrally stable among the 24", "-", f"{stable}", stable == 4),
    ]  # fmt: skip


def _libration() -> list[Row]:
    home = next(e for e in ORBIT.equilibria() if e.name == "+1 +2 +3")
    motion = ORBIT.run(quaternion.exp([0.0, 0.01, 0.0]), ORBIT.momentum([0.0, 1.0, 0.0]), h=0.01, steps=100_000)
    measured = crossing_frequency(motion.t, quaternion.log(motion.q)[:, 1])
    pitch = float(np.sqrt(3.0 * (2.0 - 1.2) / 3.0))
    expected = {"pitch": "0.894427", "roll–yaw, slow": "0.910139", "roll–yaw, fast": "1.903063"}
    rows = [
        reference(f"libration of J = (2, 3, 1.2), ω0 = 1: {name}, rad/s", value, float(found))
        for (name, value), found in zip(expected.items(), home.frequencies, strict=True)
    ]
    return [
        *rows,
        bound("libration: linearisation against the closed forms, rad/s", "-",
              float(np.abs(home.frequencies - ORBIT.libration_frequencies()).max()), 1e-9),
        close("pitch libration of 0.01 rad, 1e5 steps of 0.01 s, rad/s", "ω0 √(3(J1 − J3)/J2)",
              measured, pitch, 1e-3 * pitch),
    ]  # fmt: skip


# ------------------------------------------------------------------ 6.6.4
def planar(runs: Runs) -> list[Row]:
    """6.6.4: planar pendulum on its hinge."""
    return _planar_forms() + _planar_conservation(runs) + _planar_equilibria() + _planar_period()


def _planar_forms() -> list[Row]:
    q, omega, inertia = np.array([0.6, 0.8]), 0.7, PLANAR.hinge_inertia
    full = flow(PLANAR.euler_lagrange, np.append(PLANAR.lift(q), omega), 5.0)
    canonical = flow(PLANAR.hamilton, np.append(PLANAR.lift(q), inertia * omega), 5.0)
    reduced = flow(PLANAR.reduced, np.append(q, omega), 5.0)
    R = full[:9].reshape(3, 3)
    errors = []
    for h in (0.01, 0.005):
        end = PLANAR.run(q, inertia * omega, h=h, steps=round(5.0 / h), every=round(5.0 / h))
        errors.append(float(np.abs(np.append(end.q[-1], end.momentum[-1] / inertia) - reduced).max()))
    return [
        bound("6.6.4 planar: (6.28) against (6.30), 5 s", "one flow",
              float(np.abs(full - np.append(canonical[:9], canonical[9] / inertia)).max()), 1e-9),
        bound("6.6.4.4 planar: (6.28) against the reduced (6.31)–(6.32), 5 s", "one flow",
              float(np.abs(np.append(PLANAR.reduce(R), full[9]) - reduced).max()), 1e-9),
        bound("6.6.4 planar: Ra − a along the flow", "0", float(np.abs(R @ PLANAR.axis - PLANAR.axis).max()), 1e-10),
        close("6.6.4 planar: order of the discrete flow", "2", float(np.log2(errors[0] / errors[1])), 2.0, 0.005),
    ]  # fmt: skip


def _planar_conservation(runs: Runs) -> list[Row]:
    rise, noise = drift(runs.planar.t, PLANAR.energy(runs.planar.q, runs.planar.momentum))
    zeta = PLANAR.lift(runs.planar.q) @ PLANAR.rho0
    below = -(zeta[:, 2] * PLANAR.weight)
    direct = 0.5 * runs.planar.momentum**2 / PLANAR.hinge_inertia + below
    same = np.abs(direct - PLANAR.energy(runs.planar.q, runs.planar.momentum)).max()
    return [
        bound("6.6.4.5 planar: rise of H over 1e6 steps, J (limit: its scatter)", "constant", rise, noise),
        bound("6.6.4.4 planar: H on S¹ against ½π²/aᵀJa − m g e3ᵀRρ0, J", "equal", float(same), 1e-13),
    ]


def _planar_equilibria() -> list[Row]:
    hanging, inverted = PLANAR.equilibria()
    volume = [np.linalg.det(np.array([PLANAR.lift(q)[2], PLANAR.axis, PLANAR.rho0])) for q in (hanging, inverted)]
    collinear = np.linalg.norm(np.cross(PLANAR.lift(hanging)[2], PLANAR.a1))
    frequency, growth = PLANAR.eigenvalue(hanging).imag, PLANAR.eigenvalue(inverted).real
    start = PLANAR.reduce(so3.exp(0.001 * PLANAR.axis) @ PLANAR.lift(hanging))
    swing = PLANAR.run(start, 0.0, h=0.005, steps=20_000)
    angle = np.unwrap(np.arctan2(swing.q[:, 1], swing.q[:, 0])) - np.arctan2(hanging[1], hanging[0])
    return [
        bound("6.6.4.6 planar: det[Rᵀe3, a, ρ0] at both equilibria (corrected: Rᵀe3 in span(a, ρ0))", "0",
              float(np.abs(volume).max()), 1e-14),
        statement("6.6.4.6 Rᵀe3 and ρ0 collinear, hinge not horizontal (corrected)", "required",
                  f"sin of the angle is {collinear:.3f} at the equilibrium", bool(collinear > 0.1)),
        statement("6.6.4.6 stability", "-", f"λ² = {-(frequency**2):.4f} hanging, {growth**2:+.4f} inverted",
                  PLANAR.eigenvalue(hanging).real == 0.0 and growth > 0.0),
        close("planar: small swing, 2e4 steps, against the linear frequency, rad/s", "-",
              crossing_frequency(swing.t, angle), frequency, 1e-4 * frequency),
    ]  # fmt: skip


def _planar_period() -> list[Row]:
    e1, _, e3 = np.eye(3)
    body = pot.PlanarPendulum(inertia=np.eye(3), weight=9.81, rho0=0.5 * e3, axis=e1)
    period = 4.0 * ellipk(np.sin(1.0) ** 2) / abs(body.eigenvalue(body.equilibria()[0]))
    start, n = np.array([np.cos(2.0), np.sin(2.0), 0.0]), 20_000
    y = flow(body.reduced, start, float(period))
    end = body.run(start[:2], 0.0, h=period / n, steps=n, every=n)
    miss = np.abs(y - start).max(), np.abs(np.append(end.q[-1], end.momentum[-1]) - start).max()
    return [
        bound("planar from 2 rad: continuous flow after 4K(sin²1)/ω misses its start by", "-", float(miss[0]), 1e-9),
        bound("planar from 2 rad: discrete flow, 20 000 steps a period, misses by", "-", float(miss[1]), 1e-6),
    ]
