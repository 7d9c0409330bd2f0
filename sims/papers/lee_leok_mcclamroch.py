"""Lee, Leok and McClamroch 2007: two dumbbells under their mutual gravity, the eight forms, figures 4 to 6.

The print gives neither the step nor the end time. With h = 2e-4 and spheres of radius 0.025 and 0.05, whose inertias
round to the printed ones, the printed energy deviation comes out. Nor does it say which Runge–Kutta method and which
tolerance figure 6 has: here it is SciPy's RK45 with the tolerance that gives the printed energy deviation.
All quantities are normalised: mass by the reduced mass, length by the initial horizontal distance, time so that
G (m1 + m2) = 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from attitude.core import quaternion, so3
from attitude.core.increment import solve_increment
from attitude.core.jit import Array
from attitude.truth.full_body import Body, BodyState, FullBodySystem, Motion, dumbbell
from attitude.truth.full_body_potential import ROW
from sims.papers.drawing import save
from sims.papers.table import Paper, Progress, Row, bound, close, digits, statement

NAME = "lee-leok-mcclamroch"
TITLE = "Lee, Leok and McClamroch (2007): Lie group variational integrators for the full body problem"

G = 1.0 / 4.5  # makes G m1 m2 = 1, as in the normalised potential of section 5.1
H, END, LONG_END = 2e-4, 30.0, 50.0
ENERGY_DEVIATION, ROTATION_ERROR = 2.6966e-7, 2.8657e-13  # printed
RUNGE_KUTTA_TOLERANCE = 2.8e-5  # ours: gives the printed energy deviation of figure 6, 1.1246e-2, to two digits
CUBE_H, CUBE_END = 0.01, 10.0  # past the encounter at t = 9
FORMS = tuple(itertools.product(("inertial", "relative"), ("lagrangian", "hamiltonian")))
STATE = ("x", "v", "R_IB", "omega_B")


# ------------------------------------------------------------------ the two dumbbells
def dumbbells() -> FullBodySystem:
    """The bodies of section 5.2 as spheres of radius 0.025 and 0.05."""
    return FullBodySystem({"one": dumbbell(1.5, 0.25, 0.025), "two": dumbbell(3.0, 0.5, 0.05)}, G=G)


def printed_dumbbells() -> FullBodySystem:
    """The same with the inertias as printed, rounded to four decimals."""
    one = Body(masses=[0.75] * 2, points=[[0.125, 0, 0], [-0.125, 0, 0]], inertia=np.diag([0.0004, 0.0238, 0.0238]))
    two = Body(masses=[1.5] * 2, points=[[0.25, 0, 0], [-0.25, 0, 0]], inertia=np.diag([0.0030, 0.1905, 0.1905]))
    return FullBodySystem({"one": one, "two": two}, G=G)


def dumbbell_start() -> dict[str, BodyState]:
    """Section 5.2, with x2 = −X/3 and v2 = −V/3 (printed −0.33), so that the total momentum is zero."""
    X, V = np.array([1.0, 0.0, 0.3]), np.array([0.0, 1.0, 0.0])
    return {
        "one": BodyState(x=2.0 * X / 3.0, v=2.0 * V / 3.0, omega_B=[0.0, 0.0, 9.0]),
        "two": BodyState(x=-X / 3.0, v=-V / 3.0),
    }


def variational(system: FullBodySystem, h: float, end: float, **options: Any) -> Motion:
    """Relative Hamiltonian integrator (116)–(125) from the paper's start to `end`."""
    return system.run(dumbbell_start(), h=h, steps=round(end / h), frame="relative", **options)


def runge_kutta(system: FullBodySystem, end: float, method: str, tolerance: float) -> Motion:
    """SciPy's `method` on the continuous relative Hamiltonian form (62)–(69), at its own steps."""
    y = system.state(dumbbell_start(), frame="relative").ravel()
    f = system.rhs(frame="relative")
    solution = solve_ivp(f, (0.0, end), y, method=method, rtol=tolerance, atol=tolerance)
    rows = np.ascontiguousarray(solution.y.T).reshape(len(solution.t), 2, ROW)
    return system.motion(solution.t, rows, frame="relative")


def deviation(values: Array) -> float:
    """Largest distance from the first value."""
    return float(np.abs(values - values[0]).max())


def distance(motion: Motion) -> Array:
    """Between the mass centres of the two bodies, `(N,)`."""
    return np.asarray(np.linalg.norm(motion.x[:, 0] - motion.x[:, 1], axis=1))


# ------------------------------------------------------------------ rows: the simulation of section 5
def inertia_rows() -> list[Row]:
    """The printed inertias are those of spheres, rounded."""
    printed = {"one": ("0.0004", "0.0238"), "two": ("0.0030", "0.1905")}
    bodies = dumbbells().bodies
    return [
        digits(f"section 5.2, J of dumbbell {name}, {axis}", value, float(bodies[name].moments[i]))
        for name, pair in printed.items()
        for i, (axis, value) in enumerate(zip(("along the rod", "across"), pair, strict=True))
    ]


def simulation_rows(motion: Motion) -> list[Row]:
    """Section 5.2, h = 2e-4, to t = 30."""
    energy = motion.energy
    rounded = variational(printed_dumbbells(), H, END).energy
    p, tolerance = f"{ENERGY_DEVIATION:.4e}", 1e-3 * ENERGY_DEVIATION
    return [
        close("largest energy deviation, within 0.1 %", p, deviation(energy), ENERGY_DEVIATION, tolerance),
        close("the same, inertias as printed", p, deviation(rounded), ENERGY_DEVIATION, tolerance),
        close("total energy at the start, inertias as printed", "positive", float(rounded[0]), 0.4407, 5e-5),
        bound("total linear momentum at the start", "zero", float(np.abs(motion.linear_momentum[0]).max()), 1e-15),
        bound("drift of total linear momentum", "conserved", deviation(motion.linear_momentum), 1e-12),
        bound("drift of total angular momentum", "conserved", deviation(motion.angular_momentum), 1e-12),
        bound("largest ‖1 − RᵀR‖ to t = 30", f"{ROTATION_ERROR}", float(motion.orthogonality.max()), 3e-13),
    ]


def rotation_rows() -> list[Row]:
    """Loss of orthogonality in a longer run."""
    error = variational(dumbbells(), H, LONG_END, every=50).orthogonality.max(axis=1)
    half = len(error) // 2
    return [
        bound("largest ‖1 − RᵀR‖ to t = 50", f"{ROTATION_ERROR}", float(error.max()), ROTATION_ERROR),
        statement(
            "section 4.3: orthogonality loss grows with the steps, linearly (ours: not faster)",
            "linear",
            f"{error[: half + 1].max():.2e} to t = 25, {error.max():.2e} to t = 50",
            error.max() <= 2.2 * error[: half + 1].max(),
        ),
    ]


def course_rows(motion: Motion) -> list[Row]:
    """What section 5.2 tells of the course of events."""
    t, shift, spin = motion.t, motion.translational_energy, motion.rotational_energy
    r, U = distance(motion), motion.potential_energy
    near, six = int(r.argmin()), int(np.searchsorted(t, 6.0))
    after = slice(near, None)
    equal = t[after][np.abs(shift - spin)[after].argmin()]
    kinetic = (shift[near] + spin[near]) / (shift[0] + spin[0])
    return [
        close("time of closest approach", "9", float(t[near]), 9.0, 0.05),
        close("distance at closest approach", "minimal", float(r[near]), 0.3303, 5e-5),
        statement(
            "rotational energy initially exceeds translational",
            "exceeds",
            f"{spin[0]:.4f}, {shift[0]:.4f}",
            spin[0] > shift[0],
        ),
        statement(
            "after about 6: rotational energy up, translational slightly down",
            "increases, decreases",
            f"{spin[six] - spin[0]:+.4f}, {shift[six] - shift[0]:+.4f}",
            spin[six] > spin[0] and shift[six] < shift[0],
        ),
        statement(
            "closest approach: potential energy turned into kinetic energy",
            "transformed",
            f"U {U[0]:.3f} to {U[near]:.3f}, T times {kinetic:.2f}",
            U[near] < U[0] and kinetic > 1.5,
        ),
        statement(
            "especially translational: largest over initial energy",
            "especially",
            f"translational {shift.max() / shift[0]:.2f}, rotational {spin.max() / spin[0]:.2f}",
            shift.max() / shift[0] > spin.max() / spin[0],
        ),
        statement(
            "then the bodies move apart",
            "move apart",
            f"distance {r[-1]:.2f} at t = 30",
            bool(np.all(np.diff(r[after]) >= 0.0)),
        ),
        statement(
            "and translational and rotational energy equalise (later they part again: 0.17 and 0.34 at t = 30)",
            "equalise",
            f"equal at t = {equal:.2f}",
            bool(near < np.searchsorted(t, equal) < len(t) - 1),
        ),
    ]


def runge_kutta_rows(motion: Motion, rk: Motion) -> list[Row]:
    """Figure 6: what a Runge–Kutta method makes of the same motion."""
    spins = [float(np.interp(15.0, m.t, m.rotational_energy)) for m in (motion, rk)]
    loss, error = deviation(rk.energy), float(rk.orthogonality.max())
    return [
        close("figure 6: energy deviation (tolerance chosen for it)", "1.1246e-2", loss, 1.1246e-2, 5e-4),
        statement("figure 6: rotation matrix error there", "2.2435e-2", f"{error:.3g}", 0.01 < error < 0.05),
        statement(
            "figure 6: energy transfer quite different",
            "quite different",
            f"rotational energy at t = 15: {spins[0]:.3f} variational, {spins[1]:.3f} RK45",
            abs(spins[0] - spins[1]) > 0.1,
        ),
    ]


# ------------------------------------------------------------------ rows: properties of the integrators
def spread(motions: list[Motion]) -> float:
    """Largest difference in position, velocity, attitude and rate between any two motions, at all times."""
    pairs = itertools.combinations(motions, 2)
    return max(float(np.abs(getattr(a, k) - getattr(b, k)).max()) for a, b in pairs for k in STATE)


def discrete_forms(h: float = CUBE_H, end: float = CUBE_END) -> list[Motion]:
    """The four discrete forms, same start, step and end."""
    options: dict[str, Any] = {"h": h, "steps": round(end / h), "every": round(end / h / 100)}
    return [dumbbells().run(dumbbell_start(), frame=a, form=b, **options) for a, b in FORMS]


def continuous_forms(end: float = CUBE_END) -> list[Motion]:
    """The four continuous forms by DOP853; the step limit brings its error to roundoff."""
    t = np.linspace(0.0, end, 101)
    options: dict[str, Any] = {"rtol": 3e-14, "atol": 1e-15, "max_step": 0.005}
    return [dumbbells().integrate(dumbbell_start(), t, frame=a, form=b, **options) for a, b in FORMS]


def end_error(reference: Motion, h: float, order: int) -> float:
    """Largest difference from `reference` at its last time."""
    end = reference.t[-1]
    motion = variational(dumbbells(), h, end, every=round(end / h), order=order)
    return max(float(np.abs(getattr(motion, k)[-1] - getattr(reference, k)[-1]).max()) for k in STATE)


def order_slope(reference: Motion, order: int, h: float = 0.005) -> float:
    """Observed order between `h` and `h/2`."""
    return float(np.log2(end_error(reference, h, order) / end_error(reference, 0.5 * h, order)))


def cube_rows() -> list[Row]:
    """Figure 7, the commutative cube: faces of equal forms, and the discretisation between them."""
    discrete, continuous = discrete_forms(), continuous_forms()
    reference = dumbbells().integrate(dumbbell_start(), [0.0, 5.0], rtol=3e-14, atol=1e-14)
    return [
        bound("figure 7: the four discrete forms, h = 0.01, t = 10", "equivalent", spread(discrete), 1e-10),
        bound("figure 7: the four continuous forms, t = 10", "equivalent", spread(continuous), 1e-9),
        close("section 4.3: order against DOP853 at t = 5", "2", order_slope(reference, 2), 2.0, 0.05),
        close("section 4.3: order of Yoshida's composition", "4", order_slope(reference, 4), 4.0, 0.15),
    ]


def energy_order_rows() -> list[Row]:
    """Energy deviation against the step: O(h²), without printed values."""
    expected = {1e-3: 6.7e-6, 5e-4: 1.68e-6}
    return [
        close(f"energy deviation, h = {h:g}", "O(h²)", deviation(variational(dumbbells(), h, END).energy), e, 0.02 * e)
        for h, e in expected.items()
    ]


def newton_iterations(J: Array, g: Array) -> tuple[int, Array]:
    """Iterations of (128) from `f = J⁻¹g` to `‖g − G(f)‖ < 1e-15`, and `f`, the rotation vector of the step."""
    f, count = g / J, 0
    while np.linalg.norm(g - increment_momentum(J, f)) >= 1e-15:
        f, count = f + np.linalg.solve(increment_gradient(J, f), g - increment_momentum(J, f)), count + 1
    return count, f


def increment_momentum(J: Array, f: Array) -> Array:
    """`G(f)` of section 4.4."""
    a = np.linalg.norm(f)
    return np.asarray(np.sin(a) / a * J * f + (1.0 - np.cos(a)) / a**2 * np.cross(f, J * f))


def increment_gradient(J: Array, f: Array) -> Array:
    """`∇G(f)` of section 4.4."""
    a, Jf = np.linalg.norm(f), J * f
    along = (np.cos(a) * a - np.sin(a)) / a**3 * np.outer(Jf, f) + np.sin(a) / a * np.diag(J)
    across = (np.sin(a) * a - 2.0 * (1.0 - np.cos(a))) / a**4 * np.outer(np.cross(f, Jf), f)
    return np.asarray(along + across + (1.0 - np.cos(a)) / a**2 * (so3.hat(f) * J - so3.hat(Jf)))


def newton_rows(motion: Motion) -> list[Row]:
    """Section 4.4 along the motion, both bodies, and the increment solver against it; then a step of 21°."""
    counts, miss = [], 0.0
    for k in range(0, len(motion.t), len(motion.t) // 100):
        for i in range(2):
            J = motion.system.parameters.J[i]
            g = H * J * (motion.omega_B[k, i] + 1e-9)  # the formulas of the print do not take f = 0
            count, f = newton_iterations(J, g)
            counts.append(count)
            miss = max(miss, float(np.abs(quaternion.exp(f) - solve_increment(*J, 0.0, 0.0, 0.0, *g)[:4]).max()))
    J, f = np.array([0.0004, 0.0238, 0.02]), np.array([0.1, -0.2, 0.3])
    steps = 1e-5 * np.eye(3)
    slope = [(increment_momentum(J, f + d) - increment_momentum(J, f - d)) / 2e-5 for d in steps]
    error = float(np.abs(np.column_stack(slope) - increment_gradient(J, f)).max() / J.max())
    most, _ = newton_iterations(J, increment_momentum(J, f))
    return [
        statement(
            "section 4.4: Newton iterations to 1e-15, h = 2e-4", "3 or 4", f"at most {max(counts)}", max(counts) <= 4
        ),
        statement("section 4.4: the same, a step of 21°", "3 or 4", str(most), most in (3, 4)),
        bound("section 4.4: ∇G against differences of G", "exact", error, 1e-9),
        bound("section 4.4: our increment against exp of that f", "the same F", miss, 1e-12),
    ]


def symplectic_defect(h: float) -> float:
    """Change of the canonical two-form of T*SE(3)² over one step, for random pairs of variations, relative."""
    rng = np.random.default_rng(5)
    system, worst = dumbbells(), 0.0
    for _ in range(5):
        u, v = rng.normal(size=(2, 4, 2, 3))  # (δx, ξ, δγ, δΠ) of both bodies
        for w in (u, v):
            w[3] *= system.parameters.J  # a thin rod takes little spin before it turns fast
        before = _two_form(u, v, _step(u, 0.0, 0.0)[3])
        after = _two_form(_push(u, h), _push(v, h), _step(u, 0.0, h)[3])
        worst = max(worst, abs(after / before - 1.0))
    return worst


def _two_form(u: Array, v: Array, spin: Array) -> float:
    """`δx·δγ' − δγ·δx' + ξ·δΠ' − δΠ·ξ' + Π·(ξ × ξ')`, attitudes varied as `R exp(ξ)`."""
    pairing = np.sum(u[:2] * v[2:]) - np.sum(u[2:] * v[:2])
    return float(pairing + np.sum(spin * np.cross(u[1], v[1])))


def _step(u: Array, size: float, h: float) -> tuple[Array, Array, Array, Array]:
    """`x, R, γ, Π` after one step of `h` (0: none) from the paper's start varied by `size · u`."""
    system, start = dumbbells(), {}
    J, m = system.parameters.J, system.masses
    for i, (name, s) in enumerate(dumbbell_start().items()):
        dx, xi, dg, dp = size * u[:, i]
        q = quaternion.product(s.q, quaternion.exp(xi))
        start[name] = BodyState(x=s.x + dx, v=s.v + dg / m[i], q=q, omega_B=s.omega_B + dp / J[i])
    if h == 0.0:
        motion = system.motion(np.zeros(1), system.state(start)[None])
    else:
        motion = system.run(start, h=h, steps=1)
    return motion.x[-1], motion.R_IB[-1], m[:, None] * motion.v[-1], J * motion.omega_B[-1]


def _push(u: Array, h: float, size: float = 1e-4) -> Array:
    """Variation after one step, by central differences; `ξ` in axes of the middle attitude."""
    (x0, R0, g0, p0), (x1, R1, g1, p1) = _step(u, -size, h), _step(u, size, h)
    xi = so3.log(np.swapaxes(R0, -1, -2) @ R1)
    return np.stack([x1 - x0, xi, g1 - g0, p1 - p0]) / (2.0 * size)


def symplectic_rows() -> list[Row]:
    """Section 4: the discrete map keeps the symplectic form."""
    return [bound("change of the symplectic form over one step, h = 0.05", "symplectic", symplectic_defect(0.05), 1e-6)]


# ------------------------------------------------------------------ figures
def _save(figure: Figure, out: Path, number: int) -> Path:
    return save(figure, out, f"{NAME}-figure-{number}.png")


def draw_orbit(motion: Motion, out: Path) -> Path:
    """Figure 4: the trajectories in the inertial frame, with the dumbbells at some instants."""
    figure = Figure(figsize=(9.0, 6.5))
    axes: Any = figure.add_axes((0.0, 0.0, 0.95, 0.95), projection="3d")
    seen = motion.t <= 15.0
    for i, (name, half, colour) in enumerate((("dumbbell 1", 0.125, "C0"), ("dumbbell 2", 0.25, "C3"))):
        x = motion.x[seen, i]
        axes.plot(*x.T, color=colour, linewidth=1.0, label=name)
        for k in np.searchsorted(motion.t, np.arange(0.0, 15.1, 1.0)):
            ends = motion.x[k, i] + np.outer([-half, half], motion.R_IB[k, i, :, 0])
            axes.plot(*ends.T, color=colour, marker="o", markersize=3.5, linewidth=1.5)
    axes.set(xlabel="\n\nx (normalised length)", ylabel="\n\ny (normalised length)", zlabel="z (normalised length)")
    axes.set(xlim=(-3.2, 2.0), ylim=(-1.2, 2.2), zlim=(-0.6, 0.6), zticks=(-0.5, 0.0, 0.5))
    axes.set_box_aspect((5.2, 3.4, 1.2), zoom=1.15)
    axes.view_init(elev=38.0, azim=-70.0)
    axes.legend(loc="upper right", bbox_to_anchor=(0.95, 0.85))
    figure.suptitle("Figure 4: trajectory in the inertial frame, t = 0 to 15; dumbbells shown every unit of time")
    return _save(figure, out, 4)


def draw_energy(motion: Motion, number: int, method: str, out: Path) -> Path:
    """Figures 5 and 6: energies, total energy and rotation error of one method."""
    figure = Figure(figsize=(10.0, 6.5), layout="constrained")
    (a, b), (c, d) = figure.subplots(2, 2, sharex=True)
    t, energy, kinetic = motion.t, motion.energy, motion.translational_energy + motion.rotational_energy
    a.plot(t, motion.translational_energy, label="translational")
    a.plot(t, motion.rotational_energy, label="rotational")
    c.plot(t, kinetic, label="kinetic")
    c.plot(t, motion.potential_energy, label="potential")
    b.plot(t, energy - energy[0], color="C2")
    d.semilogy(t[1:], np.maximum(motion.orthogonality[1:, 0], 1e-17), color="C4")
    for axes, label in ((a, "kinetic energy (normalised)"), (b, "total energy − initial (normalised)"),
                        (c, "energy (normalised)"), (d, "‖1 − RᵀR‖")):  # fmt: skip
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    for axes in (a, c):
        axes.legend()
    for axes in (c, d):
        axes.set_xlabel("time (normalised)")
    figure.suptitle(f"Figure {number}: {method}")
    return _save(figure, out, number)


# ------------------------------------------------------------------ the whole paper
def reproduce(out: Path, progress: Progress) -> Paper:
    """All rows and figures; figures go to `out`."""
    progress("dumbbells to t = 30", 0.0)
    motion = variational(dumbbells(), H, END)
    rk = runge_kutta(dumbbells(), END, "RK45", RUNGE_KUTTA_TOLERANCE)
    groups: list[tuple[str, Callable[[], list[Row]]]] = [
        ("inertias", inertia_rows),
        ("conserved quantities", lambda: simulation_rows(motion)),
        ("longer run", rotation_rows),
        ("course of events", lambda: course_rows(motion)),
        ("Runge–Kutta", lambda: runge_kutta_rows(motion, rk)),
        ("commutative cube", cube_rows),
        ("energy against the step", energy_order_rows),
        ("Newton", lambda: newton_rows(motion)),
        ("symplectic form", symplectic_rows),
    ]
    rows: list[Row] = []
    for i, (what, job) in enumerate(groups):
        progress(what, 0.1 + 0.08 * i)
        rows += job()
    progress("figures", 0.85)
    thin = variational(dumbbells(), H, END, every=50)
    figures = [
        draw_orbit(thin, out),
        draw_energy(thin, 5, "Lie group variational integrator, h = 2e-4", out),
        draw_energy(rk, 6, f"Runge–Kutta (RK45, tolerance {RUNGE_KUTTA_TOLERANCE:g})", out),
    ]
    progress("done", 1.0)
    return Paper(NAME, TITLE, rows, figures)
