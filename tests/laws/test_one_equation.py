"""One implicit equation serves the whole project: independent integrators take the same steps."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import attitude as att
from attitude.core import so3
from attitude.truth import so_n
from attitude.truth.directors import DirectorBody, DirectorState, lagrange_dalembert
from attitude.truth.potentials import FreeRotation

MOMENTS = np.array([2.0, 2.5, 3.0])  # kg m²
OMEGA = np.array([0.5, -0.4, 0.6])  # rad/s
H, STEPS = 0.1, 10_000


@pytest.fixture(scope="module")
def variational():
    return att.Propagator(att.RigidBody(np.diag(MOMENTS))).run(att.State([0, 0, 0, 1], OMEGA), H, STEPS, every=100)


def test_moser_veselov_for_n_3_is_the_quaternion_step(variational):
    """BCMR 2002, MDRBn with `J_d = Λ`: same start, same step, ten thousand of them."""
    body = so_n.BodyN(0.5 * MOMENTS.sum() - MOMENTS)
    run = so_n.run(so_n.System.MDRB, body, np.eye(3), so3.hat(MOMENTS * OMEGA), H, STEPS, 100)
    np.testing.assert_allclose(run.A, Rotation.from_quat(variational.q).as_matrix(), atol=1e-10)
    np.testing.assert_allclose(so3.vee(run.B), variational.omega * MOMENTS, atol=1e-10)


def test_potential_free_rotation_is_the_quaternion_step(variational):
    run = FreeRotation(inertia=np.diag(MOMENTS)).run(
        q=[0, 0, 0, 1], momentum=MOMENTS * OMEGA, h=H, steps=STEPS, every=100
    )
    ours = Rotation.from_quat(variational.q).as_matrix()
    np.testing.assert_allclose(Rotation.from_quat(run.q).as_matrix(), ours, atol=1e-10)
    np.testing.assert_allclose(run.momentum, variational.omega * MOMENTS, atol=1e-10)


def test_directors_take_the_same_attitudes():
    """GR 2020, DLA of the standard body: the same discrete path, as Moser–Veselov is its reduction."""
    steps = 200
    start = DirectorState.from_attitude([0, 0, 0, 1], OMEGA)
    run = lagrange_dalembert(DirectorBody(inertia=np.diag(MOMENTS)), start, h=0.05, steps=steps)
    vi = att.Propagator(att.RigidBody(np.diag(MOMENTS))).run(att.State([0, 0, 0, 1], OMEGA), 0.05, steps)
    np.testing.assert_allclose(
        Rotation.from_quat(run.q).as_matrix(), Rotation.from_quat(vi.q).as_matrix(), atol=1e-11
    )
