"""Full body problem: potential, eight forms, conservation, analytic cases, bad input."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from attitude.core.errors import StepError
from attitude.truth import full_body_continuous, full_body_discrete
from attitude.truth.full_body import Body, BodyState, FullBodySystem, Motion, dumbbell, sphere

Array = NDArray[np.float64]
G = 0.7
FORMS = list(itertools.product(("inertial", "relative"), ("hamiltonian", "lagrangian")))
STATE = ("x", "v", "R_IB", "omega_B")


def lump(seed: int) -> Body:
    """Four spheres in general position: three different moments, axes not principal."""
    rng = np.random.default_rng(seed)
    return Body(masses=rng.uniform(0.5, 1.5, 4), points=rng.normal(scale=0.4, size=(4, 3)), radii=[0.1] * 4)


def lumps(n: int) -> FullBodySystem:
    return FullBodySystem({f"body {i}": lump(i) for i in range(n)}, G=G)


def start(n: int) -> dict[str, BodyState]:
    """Bodies a few lengths apart on a ring, moving and tumbling."""
    rng = np.random.default_rng(11)
    angles = 2.0 * np.pi * np.arange(n) / n
    return {
        f"body {i}": BodyState(
            x=[2.5 * math.cos(a), 2.5 * math.sin(a), 0.3 * i],
            v=[-0.6 * math.sin(a), 0.6 * math.cos(a), 0.1],
            q=Rotation.random(random_state=i).as_quat(),
            omega_B=rng.normal(scale=0.6, size=3),
        )
        for i, a in enumerate(angles)
    }


def spread(*motions: Motion) -> float:
    pairs = itertools.combinations(motions, 2)
    return max(float(np.abs(getattr(a, k) - getattr(b, k)).max()) for a, b in pairs for k in STATE)


def end_error(motion: Motion, reference: Motion) -> float:
    return max(float(np.abs(getattr(motion, k)[-1] - getattr(reference, k)[-1]).max()) for k in STATE)


@numba.njit
def gravity_of_lumps(i: int, j: int, X: Array, R: Array, dU_dX: Array, dU_dR: Array) -> float:
    """The built-in gravity of the two lumps, written as a user would, in body axes."""
    U = 0.0
    for a in range(4):
        for b in range(4):
            d = X + R @ POINTS_0[a] - POINTS_1[b]
            k = G * MASSES_0[a] * MASSES_1[b] / np.sqrt(d @ d)
            U -= k
            dU_dX += k / (d @ d) * d
            dU_dR += k / (d @ d) * np.outer(d, POINTS_0[a])
    return U


@numba.njit
def spring(i: int, j: int, X: Array, R: Array, dU_dX: Array, dU_dR: Array) -> float:
    """`½ 3 X·X − 0.2 tr R`: draws the centres together, and the axes into line."""
    for k in range(3):
        dU_dX[k] = 3.0 * X[k]
        dU_dR[k, k] = -0.2
    return 1.5 * (X[0] ** 2 + X[1] ** 2 + X[2] ** 2) - 0.2 * (R[0, 0] + R[1, 1] + R[2, 2])


def _centred(body: Body) -> tuple[Array, Array]:
    masses, points = np.asarray(body.masses), np.asarray(body.points)
    return masses, np.ascontiguousarray(points - masses @ points / masses.sum())


(MASSES_0, POINTS_0), (MASSES_1, POINTS_1) = _centred(lump(0)), _centred(lump(1))


# ------------------------------------------------------------------ an independent model: numpy, quaternions, SciPy
def independent(system: FullBodySystem, begin: dict[str, BodyState], end: float) -> Array:
    """Positions, velocities, attitudes and rates at `end`, from Newton's and Euler's laws on the mass points."""
    names = list(system.bodies)
    parts = [_centred(system.bodies[name]) for name in names]
    inertias = []
    for name, (m, r) in zip(names, parts, strict=True):
        radii = np.asarray(system.bodies[name].radii)
        outer = sum(m[k] * np.outer(r[k], r[k]) for k in range(4))
        inertias.append((np.trace(outer) + 0.4 * m @ radii**2) * np.eye(3) - outer)

    def rhs(t: float, y: Array) -> Array:
        y = y.reshape(-1, 13)
        dy = np.empty_like(y)
        R = Rotation.from_quat(y[:, 6:10]).as_matrix()
        places = [y[i, :3] + parts[i][1] @ R[i].T for i in range(len(names))]
        for i, (m, r) in enumerate(parts):
            force = np.zeros((4, 3))
            for j in range(len(names)):
                if j != i:
                    d = places[j][None] - places[i][:, None]
                    pull = parts[j][0][:, None] * d / np.linalg.norm(d, axis=2)[..., None] ** 3
                    force += G * m[:, None] * pull.sum(axis=1)
            w = y[i, 10:]
            dy[i, :3], dy[i, 3:6] = y[i, 3:6], force.sum(axis=0) / m.sum()
            x, z, v, s = y[i, 6:10]
            dy[i, 6:10] = 0.5 * np.array([s * w[0] + z * w[2] - v * w[1], s * w[1] + v * w[0] - x * w[2],
                                          s * w[2] + x * w[1] - z * w[0], -x * w[0] - z * w[1] - v * w[2]])  # fmt: skip
            torque = np.cross(r, force @ R[i]).sum(axis=0)
            dy[i, 10:] = np.linalg.solve(inertias[i], torque - np.cross(w, inertias[i] @ w))
        return dy.ravel()

    y0 = np.concatenate([np.concatenate([begin[k].x, begin[k].v, begin[k].q, begin[k].omega_B]) for k in names])
    solution = solve_ivp(rhs, (0.0, end), y0, method="DOP853", rtol=1e-11, atol=1e-12)
    y = solution.y[:, -1].reshape(-1, 13)
    return np.hstack([y[:, :6], Rotation.from_quat(y[:, 6:10]).as_matrix().reshape(-1, 9), y[:, 10:]])


def packed(motion: Motion) -> Array:
    n = motion.x.shape[1]
    return np.hstack([motion.x[-1], motion.v[-1], motion.R_IB[-1].reshape(n, 9), motion.omega_B[-1]])


@pytest.mark.parametrize(("frame", "form"), FORMS)
def test_continuous_forms_against_newton_and_euler(frame: str, form: str) -> None:
    motion = lumps(2).integrate(start(2), [0.0, 3.0], frame=frame, form=form)
    # the reference has tolerance 1e-11, so that some 1e-11 is left: measured 1.2e-11
    assert np.abs(packed(motion) - independent(lumps(2), start(2), 3.0)).max() < 2e-10


def test_three_bodies_against_newton_and_euler() -> None:
    expected = independent(lumps(3), start(3), 3.0)
    assert np.abs(packed(lumps(3).integrate(start(3), [0.0, 3.0])) - expected).max() < 2e-10
    # the error of order 4 at h = 0.005: measured 7e-10
    assert np.abs(packed(lumps(3).run(start(3), h=0.005, steps=600, order=4)) - expected).max() < 2e-9


# ------------------------------------------------------------------ the eight forms
def test_discrete_forms_agree() -> None:
    runs = [lumps(2).run(start(2), h=0.005, steps=2000, every=100, frame=a, form=b) for a, b in FORMS]
    assert spread(*runs) < 1e-12  # the forms are algebraically equal: roundoff of 2000 steps, measured 1e-13


def test_continuous_forms_agree() -> None:
    t = np.linspace(0.0, 10.0, 11)
    runs = [lumps(2).integrate(start(2), t, frame=a, form=b, rtol=3e-14, atol=1e-14) for a, b in FORMS]
    assert spread(*runs) < 1e-11  # tolerance 3e-14 over some 100 steps: measured 5e-13


def test_inertial_forms_agree_for_three_bodies() -> None:
    runs = [lumps(3).run(start(3), h=0.005, steps=1000, every=100, form=form) for form in ("hamiltonian", "lagrangian")]
    assert spread(*runs) < 1e-12  # measured 1e-14


@pytest.mark.parametrize("frame", ["inertial", "relative"])
@pytest.mark.parametrize(("order", "h", "width"), [(2, 0.01, 0.05), (4, 0.02, 0.15)])
def test_order_by_slope(frame: str, order: int, h: float, width: float) -> None:
    reference = lumps(2).integrate(start(2), [0.0, 4.0], rtol=3e-14, atol=1e-14)
    errors = [
        end_error(lumps(2).run(start(2), h=k, steps=round(4.0 / k), frame=frame, order=order), reference)
        for k in (h, 0.5 * h)
    ]
    assert abs(math.log2(errors[0] / errors[1]) - order) < width


def test_lagrangian_form_has_order_two() -> None:
    reference = lumps(2).integrate(start(2), [0.0, 4.0], rtol=3e-14, atol=1e-14)
    errors = [
        end_error(lumps(2).run(start(2), h=h, steps=round(4.0 / h), form="lagrangian"), reference)
        for h in (0.01, 0.005)
    ]
    assert abs(math.log2(errors[0] / errors[1]) - 2.0) < 0.05


@pytest.mark.parametrize("order", [2, 4])
def test_run_backwards_returns_to_the_start(order: int) -> None:
    system, begin = lumps(3), start(3)
    there = system.run(begin, h=0.02, steps=200, order=order)
    turned = {
        name: BodyState(x=m.x[-1], v=-m.v[-1], q=m.q[-1], omega_B=-m.omega_B[-1])
        for name, m in ((name, there.body(name)) for name in system.bodies)
    }
    back = system.run(turned, h=0.02, steps=200, order=order)
    assert np.abs(back.x[-1] - there.x[0]).max() < 1e-11  # self-adjoint map: only roundoff is left
    assert np.abs(back.R_IB[-1] - there.R_IB[0]).max() < 1e-11


# ------------------------------------------------------------------ conservation
@pytest.mark.parametrize(("frame", "form"), FORMS)
def test_momenta_and_orthogonality_are_kept(frame: str, form: str) -> None:
    motion = lumps(2).run(start(2), h=0.01, steps=20_000, every=100, frame=frame, form=form)
    linear, angular = motion.linear_momentum, motion.angular_momentum
    assert np.abs(linear - linear[0]).max() < 1e-12
    assert np.abs(angular - angular[0]).max() < 5e-12  # roundoff of 2e4 steps, momentum 12: measured 7e-13
    assert motion.orthogonality.max() < 3e-13


def test_energy_does_not_drift() -> None:
    """A bound pair, 400 s: the error of the last quarter is that of the first, and goes with h²."""
    errors = []
    for h in (0.02, 0.01):
        energy = lumps(2).run(start(2), h=h, steps=round(400.0 / h), every=10).energy
        first, *_, last = np.array_split(np.abs(energy - energy[0]), 4)
        assert last.max() < 1.2 * first.max()  # measured 0.9; a drift would give about 4
        errors.append(first.max())
    assert abs(math.log2(errors[0] / errors[1]) - 2.0) < 0.05


def test_rows_kept_are_those_of_every_step() -> None:
    every, some = (lumps(2).run(start(2), h=0.01, steps=60, every=k) for k in (1, 20))
    assert np.array_equal(every.t[::20], some.t)
    assert all(np.array_equal(getattr(every, k)[::20], getattr(some, k)) for k in STATE)


def test_energy_parts_by_hand() -> None:
    motion = lumps(2).run(start(2), h=0.01, steps=1)
    U = 0.0
    for a, b in itertools.product(range(4), range(4)):
        d = motion.x[0, 0] + motion.R_IB[0, 0] @ POINTS_0[a] - motion.x[0, 1] - motion.R_IB[0, 1] @ POINTS_1[b]
        U -= G * MASSES_0[a] * MASSES_1[b] / np.linalg.norm(d)
    assert motion.potential_energy[0] == pytest.approx(U, rel=1e-13)
    assert motion.energy[0] == pytest.approx(
        U + motion.translational_energy[0] + motion.rotational_energy[0], rel=1e-14
    )


# ------------------------------------------------------------------ analytic cases and axes
def test_two_spheres_go_round_in_a_circle() -> None:
    system = FullBodySystem({"a": sphere(2.0, 0.3), "b": sphere(1.0, 0.2)}, G=1.0)
    speed = math.sqrt(3.0 / 2.0)  # relative, at distance 2
    begin = {
        "a": BodyState(x=[2.0 / 3.0, 0, 0], v=[0, speed / 3.0, 0], omega_B=[0.1, 0.2, 0.3]),
        "b": BodyState(x=[-4.0 / 3.0, 0, 0], v=[0, -2.0 * speed / 3.0, 0]),
    }
    period = 2.0 * math.pi * 2.0 / speed
    motion = system.run(begin, h=period / 2000, steps=2000, every=500, order=4)
    assert np.allclose(motion.x[-1], motion.x[0], atol=1e-8)  # order 4 at 2000 steps a turn: 5e-10
    assert np.allclose(motion.x[2], -motion.x[0], atol=1e-8)
    turned = Rotation.from_rotvec(period * np.array([0.1, 0.2, 0.3])).as_matrix()
    assert np.allclose(motion.R_IB[-1, 0], turned, atol=1e-5)  # order 2 in a free spin without change of axis: (hΩ)²/24


def test_inertia_of_a_dumbbell() -> None:
    body = dumbbell(1.5, 0.25, 0.025)
    across = 1.5 * 0.125**2 + 0.4 * 1.5 * 0.025**2
    assert np.allclose(body.moments, [0.4 * 1.5 * 0.025**2, across, across], rtol=1e-14)
    assert body.mass == 1.5


def test_body_axes_do_not_matter() -> None:
    """The same bodies described in turned axes, from a shifted origin, move the same way."""
    turn = Rotation.from_rotvec([0.4, -0.9, 0.3])
    bodies, begin = {}, {}
    for name, body in lumps(2).bodies.items():
        points = np.asarray(body.points) @ turn.as_matrix() + [1.0, 2.0, 3.0]  # in the new axes: Tᵀ ρ
        bodies[name] = Body(masses=body.masses, points=points, radii=body.radii)
        old = start(2)[name]
        q = (Rotation.from_quat(old.q) * turn).as_quat()
        begin[name] = BodyState(x=old.x, v=old.v, q=q, omega_B=turn.inv().apply(old.omega_B))
    one = lumps(2).run(start(2), h=0.01, steps=300, every=300)
    two = FullBodySystem(bodies, G=G).run(begin, h=0.01, steps=300, every=300)
    assert np.abs(one.x - two.x).max() < 1e-12
    assert np.abs(one.R_IB @ turn.as_matrix() - two.R_IB).max() < 1e-12
    assert np.abs(one.angular_momentum - two.angular_momentum).max() < 1e-12


# ------------------------------------------------------------------ a user's potential
@pytest.mark.parametrize(("frame", "form"), FORMS)
def test_own_gravity_is_the_built_in_one(frame: str, form: str) -> None:
    own = FullBodySystem(lumps(2).bodies, potential=gravity_of_lumps)
    runs = [s.run(start(2), h=0.01, steps=300, every=30, frame=frame, form=form) for s in (own, lumps(2))]
    assert spread(*runs) < 1e-13  # the order of the sums differs: measured 4e-15
    assert np.allclose(runs[0].potential_energy, runs[1].potential_energy, rtol=1e-12)


def test_spring_between_centres_is_harmonic() -> None:
    system = FullBodySystem(lumps(2).bodies, potential=spring)
    motion = system.run(start(2), h=1e-3, steps=2000, every=500, order=4, frame="relative")
    m1, m2 = system.masses
    omega = math.sqrt(3.0 * (m1 + m2) / (m1 * m2))
    d, u = motion.x[0, 0] - motion.x[0, 1], motion.v[0, 0] - motion.v[0, 1]
    t = motion.t[:, None]
    exact = np.cos(omega * t) * d + np.sin(omega * t) / omega * u
    assert np.allclose(motion.x[:, 0] - motion.x[:, 1], exact, atol=1e-9)
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-9  # so the moment belongs to the potential
    assert np.abs(motion.angular_momentum - motion.angular_momentum[0]).max() < 1e-12


def test_one_signature_whatever_the_potential() -> None:
    for system in (lumps(2), lumps(3), FullBodySystem(lumps(2).bodies, potential=spring)):
        n = len(system.bodies)
        system.run(start(n), h=0.01, steps=1)
        system.integrate(start(n), [0.0, 0.01])
    assert len(full_body_discrete.run.signatures) == 1
    assert len(full_body_continuous.rates.signatures) == 1


# ------------------------------------------------------------------ statuses and bad input
def test_step_too_long_is_reported() -> None:
    fast = start(2) | {"body 0": BodyState(x=[3.0, 0, 0], v=[0, 0, 0], omega_B=[0, 0, 30.0])}
    with pytest.raises(StepError, match=r"step 1 .* h = 0\.5 s is too long"):
        lumps(2).run(fast, h=0.5, steps=10)


def test_collision_is_reported() -> None:
    system = FullBodySystem({"a": sphere(1.0, 0.1), "b": sphere(1.0, 0.1)}, potential=wall)
    begin = {"a": BodyState(x=[1.0, 0, 0], v=[-1.0, 0, 0]), "b": BodyState(x=[0, 0, 0], v=[0, 0, 0])}
    with pytest.raises(StepError, match="mass points met") as caught:
        system.run(begin, h=0.125, steps=16)
    kept = caught.value.trajectory
    np.testing.assert_allclose(kept.body("a").x[:, 0], 1.0 - kept.t)  # what was done until then is there
    assert 4 <= len(kept.t) <= 8


@numba.njit
def wall(i: int, j: int, X: Array, R: Array, dU_dX: Array, dU_dR: Array) -> float:
    return 0.0 if X[0] > 0.2 else np.inf


POINT = {"masses": [1.0], "points": [[0.0, 0.0, 0.0]]}
BAD_BODIES: list[tuple[dict[str, Any], str]] = [
    ({"masses": [1.0, -1.0], "points": np.eye(3)[:2]}, "masses must all be greater than zero"),
    ({"masses": [], "points": np.zeros((0, 3))}, "masses must all be greater than zero"),
    ({"masses": [1.0, 1.0], "points": np.eye(3)}, r"points must have shape \(2, 3\)"),
    ({"masses": [1.0], "points": [[np.nan, 0, 0]]}, "points must be finite"),
    ({**POINT, "radii": [-1.0]}, "radii must not be negative"),
    (POINT, "inertia of the mass points must be symmetric positive definite"),
    ({**POINT, "inertia": np.diag([1.0, 1.0, -1.0])}, "inertia must be symmetric positive definite"),
]


@pytest.mark.parametrize(("fields", "message"), BAD_BODIES)
def test_bad_bodies(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Body(**fields)


def with_start(**states: BodyState) -> Any:
    return lambda: lumps(2).run({k.replace("_", " "): v for k, v in states.items()}, h=0.1, steps=1)


A, B = start(2).values()
BAD_CALLS: list[tuple[Any, str]] = [
    (
        lambda: lumps(2).run(start(2), h=0.1, steps=1).body("moon"),
        r"body must be one of \['body 0', 'body 1'\], got 'moon'",
    ),
    (with_start(body_0=A, body_1=B, moon=B), "body must be one of"),
    (with_start(body_0=A), r"start must have a BodyState for every body, got none for \['body 1'\]"),
    (lambda: lumps(2).run({"body 0": A, "body 1": 3.0}, h=0.1, steps=1), "must be a BodyState"),  # type: ignore[dict-item]
    (lambda: lumps(2).run(start(2), h=0.0, steps=1), "h must be greater than zero"),
    (lambda: lumps(2).run(start(2), h=-0.1, steps=1), "h must be greater than zero"),
    (lambda: lumps(2).run(start(2), h=0.1, steps=0), "steps must be a whole number of at least 1"),
    (lambda: lumps(2).run(start(2), h=0.1, steps=5, every=2), "steps must be a multiple of every"),
    (lambda: lumps(2).run(start(2), h=0.1, steps=1, frame="polar"), "frame must be one of"),
    (lambda: lumps(2).run(start(2), h=0.1, steps=1, form="newton"), "form must be one of"),
    (lambda: lumps(2).run(start(2), h=0.1, steps=1, order=3), "order must be 2, or 4"),
    (lambda: lumps(2).run(start(2), h=0.1, steps=1, order=4, form="lagrangian"), "order must be 2, or 4"),
    (lambda: lumps(3).run(start(3), h=0.1, steps=1, frame="relative"), "needs exactly two bodies, got 3"),
    (lambda: lumps(2).integrate(start(2), [0.0, 0.0]), "t must be at least two increasing times"),
    (lambda: lumps(2).integrate(start(2), [0.0, 1.0], max_step=0.0), "max_step must be greater than zero"),
    (lambda: lumps(2).integrate(start(2), [0.0, 1.0], rtol=-1.0), "rtol must be greater than zero"),
    (lambda: FullBodySystem({"a": lump(0)}, G=G), "at least two bodies"),
    (lambda: FullBodySystem({"a": lump(0), "b": 3}, G=G), r"bodies\['b'\] must be a Body"),  # type: ignore[dict-item]
    (lambda: FullBodySystem({"a": lump(0), "b": lump(1)}), "G or potential must be given"),
    (lambda: FullBodySystem({"a": lump(0), "b": lump(1)}, G=-1.0), "G must be greater than zero"),
    (lambda: FullBodySystem({"a": lump(0), "b": lump(1)}, G=G, potential=spring), "and not both"),
    (lambda: FullBodySystem({"a": lump(0), "b": lump(1)}, potential=lambda X: 0.0), "potential must compile as"),
    (lambda: FullBodySystem({"a": lump(0), "b": lump(1)}, potential=3.0), "potential must be a function"),  # type: ignore[arg-type]
    (lambda: BodyState(x=[0, 0], v=[0, 0, 0]), r"x must have shape \(3,\)"),
    (lambda: BodyState(x=[0, 0, 0], v=[0, 0, 0], q=[0, 0, 0, 2.0]), "q must be a unit quaternion"),
    (lambda: dumbbell(1.0, 0.0, 0.1), "length must be greater than zero"),
    (lambda: sphere(-1.0, 0.1), "mass must be greater than zero"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("frame", ["inertial", "relative"])
def test_overlapping_mass_points(frame: str) -> None:
    system = FullBodySystem({"a": dumbbell(1.0, 2.0, 0.1), "b": sphere(1.0, 0.1)}, G=1.0)
    begin = {"a": BodyState(x=[0, 0, 0], v=[0, 0, 0]), "b": BodyState(x=[-1.0, 0, 0], v=[0, 0, 0])}
    with pytest.raises(ValueError, match="start must keep all mass points apart, got distance 0 between 'a' and 'b'"):
        system.run(begin, h=0.1, steps=1, frame=frame)
