"""Director schemes against SciPy, closed forms, the discrete equations themselves, and the conservation laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from attitude.core import quaternion
from attitude.core.errors import StepError
from attitude.truth import directors_kernels
from attitude.truth.directors import (
    DirectorBody,
    DirectorState,
    DirectorTrajectory,
    attitude_from_directors,
    directors_from_attitude,
    energy_momentum,
    lagrange_dalembert,
    rate_from_velocities,
    second_quotient,
    velocities_from_rate,
)

INERTIA = np.array([[3.0, -1 / 7, 0.0], [-1 / 7, 4.0, 0.0], [0.0, 0.0, 5.0]])
BODY = DirectorBody(inertia=INERTIA)
Q0 = Rotation.from_rotvec([0.3, -0.5, 0.7]).as_quat()
TUMBLE = DirectorState.from_attitude(Q0, [0.7, -0.4, 0.9])
GLIDE = DirectorState.from_attitude(Q0, [0.7, -0.4, 0.0])  # obeys the non-twisting constraint
SCHEMES = [energy_momentum, lagrange_dalembert]
Scheme = Callable[..., DirectorTrajectory]


def moment(t: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(t), -0.5 * np.sin(2.0 * t), 0.3 * np.ones_like(t)], axis=-1)


def no_moment(t: np.ndarray) -> np.ndarray:
    return np.zeros((*t.shape, 3))


def reference(load: Any, omega: Any, end: float, non_twisting: bool) -> np.ndarray:
    """Directors at `end` from DOP853: Euler's equations, or `J⊥ ω̇⊥ = m⊥, ω3 = 0` on the non-twisting frame."""
    inverse = np.linalg.inv(INERTIA)

    def rhs(t: float, y: np.ndarray) -> np.ndarray:
        R, w = y[:9].reshape(3, 3), y[9:]
        torque = load(np.array(t)) - np.cross(w, INERTIA @ w)
        if non_twisting:
            torque[2] = 0.0  # what the constraint moment takes; J splits, so ω̇3 = 0
        skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([(R @ skew).ravel(), inverse @ torque])

    y0 = np.concatenate([Rotation.from_quat(Q0).as_matrix().ravel(), omega])
    y = solve_ivp(rhs, (0.0, end), y0, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return y[:9].reshape(3, 3).T


# ------------------------------------------------------------------ accuracy
@pytest.mark.parametrize("non_twisting", [False, True])
@pytest.mark.parametrize("load", [no_moment, moment])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_second_order_towards_scipy(scheme: Scheme, load: Any, non_twisting: bool) -> None:
    start = GLIDE if non_twisting else TUMBLE
    exact = reference(load, start.as_attitude()[1], 2.0, non_twisting)
    sizes = np.array([100, 200, 400, 800])
    errors = []
    for steps in sizes:
        run = scheme(BODY, start, h=2.0 / steps, steps=int(steps), moment=load, non_twisting=non_twisting)
        errors.append(np.abs(run.directors[-1] - exact).max())
    slope = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(2.0, abs=0.03)  # the next term is O(h²) relative, below 1 % at these steps
    assert errors[-1] < 1e-5


def test_richardson_extrapolation_meets_scipy_at_1e_12() -> None:
    """The error of the symmetric scheme has even powers of h only: three extrapolations reach the reference."""
    exact = reference(no_moment, TUMBLE.as_attitude()[1], 1.0, False)
    table = [energy_momentum(BODY, TUMBLE, h=0.01 / k, steps=100 * k).directors[-1] for k in (1, 2, 4, 8)]
    for power in (4.0, 16.0, 64.0):
        table = [(power * b - a) / (power - 1.0) for a, b in pairwise(table)]
    assert np.abs(table[0] - exact).max() < 1e-11  # reference 1e-12, times a few for 800 steps of roundoff


@pytest.mark.parametrize("scheme", SCHEMES)
def test_velocities_are_second_order_too(scheme: Scheme) -> None:
    errors = []
    for steps in (200, 400):
        run = scheme(BODY, TUMBLE, h=2.0 / steps, steps=steps, moment=moment)
        fine = scheme(BODY, TUMBLE, h=0.25 / steps, steps=8 * steps, moment=moment)
        errors.append(np.abs(run.omega_B - fine.omega_B[::8]).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize(
    ("scheme", "turn"), [(energy_momentum, lambda x: 2.0 * math.atan(x / 2.0)), (lagrange_dalembert, math.asin)]
)
@pytest.mark.parametrize("h", [0.002, 0.02, 0.5])
def test_free_non_twisting_step_has_a_closed_form(scheme: Scheme, turn: Any, h: float) -> None:
    run = scheme(BODY, GLIDE, h=h, steps=50, non_twisting=True)
    angles = quaternion.angle_between(run.q[:-1], run.q[1:])
    np.testing.assert_allclose(angles, turn(h * math.hypot(0.7, 0.4)), rtol=0, atol=3e-15)


def test_free_lagrange_dalembert_is_moser_veselov() -> None:
    """`F E − E Fᵀ = h S(Π)` with `F = R_kᵀ R_{k+1}` (Lee, Leok, McClamroch 2007, eq. 93), Π the nodal momentum."""
    h = 0.1
    run = lagrange_dalembert(BODY, TUMBLE, h=h, steps=300)
    F = run.directors[:-1] @ np.swapaxes(run.directors[1:], 1, 2)
    gap = F @ BODY.euler - BODY.euler @ np.swapaxes(F, 1, 2)
    axial = np.stack([gap[:, 2, 1], gap[:, 0, 2], gap[:, 1, 0]], axis=-1)
    np.testing.assert_allclose(axial, h * run.momentum_B[:-1], rtol=0, atol=1e-14)


def test_energy_momentum_step_solves_the_printed_equation() -> None:
    """Project (86) on the virtual rotations of the mean directors, where the constraint forces do no work."""
    h = 0.05
    c = moment(h * (np.arange(40) + 0.5))
    run = energy_momentum(BODY, TUMBLE, h=h, steps=40, moment=c)
    D, V = run.directors, run.velocities
    mean = 0.5 * (D[:-1] + D[1:])
    m = np.einsum("nk,nka->na", c, mean)
    inertial = 2.0 / h**2 * BODY.euler @ (D[1:] - D[:-1] - h * V[:-1])
    balance = np.cross(mean, inertial - 0.5 * np.cross(m[:, None, :], mean)).sum(axis=1)
    assert np.abs(balance).max() < 1e-11  # 2/h² = 800 times roundoff of D


# ------------------------------------------------------------------ conservation
def drift(values: np.ndarray) -> float:
    return float(np.ptp(values, axis=0).max())


def test_standard_body_keeps_energy_and_spatial_momentum() -> None:
    """Theorem 8, over 1e5 steps and at a coarse step."""
    for h, steps in ((0.01, 100_000), (1.0, 1000)):
        run = energy_momentum(BODY, TUMBLE, h=h, steps=steps)
        assert drift(run.energy) < 1e-11
        assert drift(run.momentum_I) < 1e-11
        assert run.orthonormality.max() < 1e-14
        assert drift(run.momentum_B) > 1.0  # it does tumble


def test_lagrange_dalembert_standard_body_keeps_momentum_and_its_energy() -> None:
    """Spatial momentum and ½ Π·J⁻¹Π, as Moser–Veselov; H of (129) only to O(h²)."""
    spread = []
    for h in (0.1, 0.05):
        run = lagrange_dalembert(BODY, TUMBLE, h=h, steps=int(200 / h))
        energy = 0.5 * np.einsum("nk,nk->n", run.momentum_B, run.momentum_B @ np.linalg.inv(INERTIA))
        assert drift(run.momentum_I) < 1e-12
        assert drift(energy) < 1e-12
        spread.append(drift(run.hamiltonian[1:]))
    assert spread[0] > 1e-7


@pytest.mark.parametrize("scheme", SCHEMES)
def test_non_twisting_frame_keeps_energy_and_two_material_momenta(scheme: Scheme) -> None:
    run = scheme(BODY, GLIDE, h=0.02, steps=20_000, non_twisting=True)
    assert drift(run.energy) < 1e-12
    assert drift(run.hamiltonian) < 1e-12
    assert drift(run.momentum_B) < 1e-11
    assert np.abs(run.omega_B[:, 2]).max() < 1e-11
    assert run.orthonormality.max() < 1e-14
    assert drift(run.momentum_I) > 0.1  # unlike the standard body


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_step_twists_even_under_load(scheme: Scheme) -> None:
    largest = []
    for non_twisting in (True, False):
        D = scheme(BODY, GLIDE, h=0.02, steps=500, moment=moment, non_twisting=non_twisting).directors
        twist = np.einsum("na,na->n", D[:-1, 1], D[1:, 0]) - np.einsum("na,na->n", D[:-1, 0], D[1:, 1])
        largest.append(np.abs(twist).max())
    assert largest[0] < 1e-15  # roundoff of products of unit vectors
    assert largest[1] > 1e-3  # the standard body twists under the same load


def test_momentum_of_the_loaded_frame_is_the_impulse() -> None:
    """On the non-twisting frame `dΠ⊥/dt = m⊥` exactly: Π1, Π2 are the integrals of the moment, to second order."""
    end, errors = 3.0, []
    impulse = np.array([math.sin(end), 0.25 * (math.cos(2 * end) - 1.0)])
    for steps in (300, 600):
        run = energy_momentum(BODY, GLIDE, h=end / steps, steps=steps, moment=moment, non_twisting=True)
        errors.append(np.abs(run.momentum_B[-1, :2] - run.momentum_B[0, :2] - impulse).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.2)
    assert errors[1] < 1e-4


def _run_with_twist(twist: float, h: float) -> np.ndarray:
    """Spread of Π1 and Π2 over 2 s from a start that breaks the constraint, which only the kernel lets through."""
    D, V = np.zeros((2, int(2.0 / h) + 1, 3, 3))
    D[0] = directors_from_attitude(Q0)
    V[0] = h * velocities_from_rate(D[0], [0.7, -0.4, twist])
    steps = len(D) - 1
    done = directors_kernels.run_energy_momentum(
        BODY.euler, np.zeros((steps, 3)), h, 16, directors_kernels.workspace(), D, V
    )
    assert done == steps
    t = h * np.arange(steps + 1)
    return np.ptp(DirectorTrajectory(BODY, t, D, V / h, t).momentum_B[:, :2], axis=0).max()


def test_theorem_9_needs_nodal_velocities_without_twist() -> None:
    """Corrected Theorem 9: exact for a start that obeys the constraint, otherwise the momenta move by O(h²)."""
    assert _run_with_twist(0.0, 0.02) < 1e-12
    coarse, fine = _run_with_twist(0.5, 0.02), _run_with_twist(0.5, 0.01)
    assert coarse > 1e-6
    assert coarse / fine == pytest.approx(4.0, abs=0.4)


# ------------------------------------------------------------------ quotient, conversions, inputs
@pytest.mark.parametrize("order", [1, 2, 3])
def test_second_quotient_is_two_to_the_order(order: int) -> None:
    t = np.linspace(0.1, 1.0, 10)[:, None, None] * np.ones((3, 3))
    runs = [np.sin(t) + (0.01 / k) ** order * np.cos(3.0 * t) for k in (1, 2, 4)]
    np.testing.assert_allclose(second_quotient(*runs), 2.0**order, rtol=1e-8)


def test_second_quotient_refuses_what_it_cannot_divide() -> None:
    a, b = np.zeros((3, 9)), np.ones((3, 9))
    with pytest.raises(ValueError, match="must differ at every time"):
        second_quotient(a, b, b)
    with pytest.raises(ValueError, match="must have one shape"):
        second_quotient(a, b, b[:2])
    with pytest.raises(ValueError, match="must be finite"):
        second_quotient(np.full((3, 9), np.nan), a, b)


def test_conversions_agree_with_scipy_and_return() -> None:
    rng = np.random.default_rng(1)
    rotations = Rotation.random(50, rng=rng)
    omega = rng.normal(size=(50, 3))
    D = directors_from_attitude(rotations.as_quat())
    np.testing.assert_allclose(D, np.swapaxes(rotations.as_matrix(), 1, 2), atol=1e-15)
    assert quaternion.angle_between(attitude_from_directors(D), rotations.as_quat()).max() < 1e-14
    step = 1e-6
    ahead = directors_from_attitude((rotations * Rotation.from_rotvec(step * omega)).as_quat())
    V = velocities_from_rate(D, omega)
    np.testing.assert_allclose(V, (ahead - D) / step, atol=1e-5)  # forward difference: ½ ω² step
    np.testing.assert_allclose(rate_from_velocities(D, V), omega, atol=1e-14)


def test_state_from_attitude_returns_it() -> None:
    q, omega = TUMBLE.as_attitude()
    assert quaternion.angle_between(q, Q0) < 1e-15
    np.testing.assert_allclose(omega, [0.7, -0.4, 0.9], atol=1e-15)


def test_energies_and_momenta_are_those_of_the_rotating_body() -> None:
    omega = np.array([0.7, -0.4, 0.9])
    for scheme in SCHEMES:
        run = scheme(BODY, TUMBLE, h=0.01, steps=1)
        assert run.hamiltonian[0] == pytest.approx(0.5 * omega @ INERTIA @ omega, rel=1e-14)
        np.testing.assert_allclose(run.momentum_B[0], INERTIA @ omega, atol=1e-14)
        np.testing.assert_allclose(run.momentum_I[0], Rotation.from_quat(Q0).apply(INERTIA @ omega), atol=1e-14)
        np.testing.assert_allclose(run.omega_B[0], omega, atol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_moment_as_samples_or_as_a_function(scheme: Scheme) -> None:
    samples = moment(0.01 * (np.arange(50) + 0.5))
    by_samples = scheme(BODY, TUMBLE, h=0.01, steps=50, moment=samples)
    by_function = scheme(BODY, TUMBLE, h=0.01, steps=50, moment=moment)
    np.testing.assert_allclose(by_samples.directors, by_function.directors, rtol=0, atol=1e-13)
    assert by_samples.t[-1] == pytest.approx(0.5)
    # only the last momentum of Lagrange–d'Alembert sees the sample beyond the end: h/2 times its change over h
    np.testing.assert_allclose(by_samples.velocities, by_function.velocities, atol=1e-4)


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (np.eye(2), r"inertia must have shape \(3, 3\)"),
        (np.diag([1.0, np.nan, 1.0]), "inertia must be finite"),
        ([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "inertia must be symmetric"),
        ([[1, 0, 0.1], [0, 1, 0], [0.1, 0, 1]], "inertia must split along d3"),
        (np.diag([-1.0, 1.0, 1.0]), "inertia must have positive principal moments"),
        (np.diag([1.0, 1.0, 2.0]), "each below the sum of the other two"),
    ],
)
def test_bad_inertia(inertia: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DirectorBody(inertia=inertia)


@pytest.mark.parametrize(
    ("directors", "velocities", "message"),
    [
        (np.eye(2), np.zeros((3, 3)), "directors must have shape"),
        (1.01 * np.eye(3), np.zeros((3, 3)), "directors must be orthonormal"),
        (np.diag([1.0, 1.0, -1.0]), np.zeros((3, 3)), "right-handed"),
        (np.eye(3), np.eye(3), "velocities must be of the form ω × d_i"),
        (np.eye(3), np.full((3, 3), np.inf), "velocities must be finite"),
    ],
)
def test_bad_state(directors: Any, velocities: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DirectorState(directors, velocities)


def test_bad_attitude() -> None:
    with pytest.raises(ValueError, match="not zero"):
        DirectorState.from_attitude([0, 0, 0, 0], [0, 0, 0])
    with pytest.raises(ValueError, match=r"omega_B must have shape \(3,\)"):
        DirectorState.from_attitude([0, 0, 0, 1], [0, 0])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"h": 0.0}, "h must be a positive time"),
        ({"h": math.nan}, "h must be a positive time"),
        ({"steps": 0}, "steps must be a positive integer"),
        ({"steps": 2.5}, "steps must be a positive integer"),
        ({"non_twisting": True}, "start must not twist"),
        ({"moment": np.zeros((9, 3))}, r"moment must have shape \(10, 3\)"),
        ({"moment": np.full((10, 3), np.nan)}, "moment must be finite"),
        ({"moment": lambda t: t}, r"moment\(t\) must have shape"),
    ],
)
def test_bad_run(scheme: Scheme, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scheme(BODY, TUMBLE, **{"h": 0.01, "steps": 10, **change})


def test_a_step_without_solution_is_reported() -> None:
    """Lagrange–d'Alembert turns arcsin(hω): there is no step for hω > 1."""
    with pytest.raises(StepError, match=r"step 0 .* h = 2.0 s is too long"):
        lagrange_dalembert(BODY, GLIDE, h=2.0, steps=3, non_twisting=True)


def test_any_inertia_that_splits() -> None:
    """A rod, a nearly flat plate, a sphere and a skewed body keep their invariants."""
    skewed = [[2.0, 0.4, 0.0], [0.4, 1.5, 0.0], [0.0, 0.0, 1.4]]
    for inertia in (np.diag([1.0, 1.0, 0.01]), np.diag([1.0, 2.0, 2.99]), np.eye(3), np.array(skewed)):
        run = energy_momentum(DirectorBody(inertia=inertia), TUMBLE, h=0.05, steps=2000)
        assert drift(run.energy) < 1e-12
        assert drift(run.momentum_I) < 1e-12


def test_each_entry_kernel_has_one_signature() -> None:
    for scheme in SCHEMES:
        scheme(BODY, DirectorState([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.zeros((3, 3)).T), h=1, steps=np.int64(2))
        scheme(BODY, GLIDE, h=0.01, steps=2, moment=np.zeros((2, 3), dtype=np.float32), non_twisting=True)
    assert len(directors_kernels.run_energy_momentum.signatures) == 1
    assert len(directors_kernels.run_lagrange_dalembert.signatures) == 1
