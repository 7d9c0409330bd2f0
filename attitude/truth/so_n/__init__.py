"""Rigid body on SO(n), n ≥ 2, continuous and discrete. Bloch, Crouch, Marsden, Ratiu 2002 (BCMR 2002), corrected.

    body = BodyN([1.0, 1.5, 2.2, 3.0])
    path = run(System.MDRB, body, Q0, M0, h=0.1, steps=10_000)          # compiled; path.t, path.A (Q), path.B (M)
    truth = integrate(Flow.RB, body, Q0, M0, times)                     # DOP853

Rooms: `body` (Λ, J, checks), `inverse` (J_D⁻¹ and its domain), `discrete`, `continuous`, `maps` (the commutative
diagram), `integrals`, `control` (optimal motion between two attitudes), `forms` (symplectic), `kernels` (compiled).
"""

from attitude.truth.so_n.body import BodyN, cayley, norm, pairing, skew, upper
from attitude.truth.so_n.continuous import (
    Flow,
    coupled_field,
    double_bracket_field,
    hat,
    integrate,
    integrate_field,
    vector_field,
)
from attitude.truth.so_n.control import Extremal, log_rotation, optimal_motion, optimal_steps
from attitude.truth.so_n.discrete import System, Trajectory, algorithm_2_start, run, scale_into_domain, step
from attitude.truth.so_n.integrals import (
    discrete_action,
    discrete_hamiltonian,
    discrete_lax_residual,
    lax_residual,
    manakov_gradients,
    manakov_integrals,
    manakov_powers,
    manakov_symmetric,
    spatial_momentum,
    symmetric_momentum,
)
from attitude.truth.so_n.inverse import J_D, J_D_inverse, definiteness, safe_step, spectral_gap
from attitude.truth.so_n.maps import (
    Phi,
    Psi,
    Psi_inverse,
    Sigma_H,
    Sigma_L,
    exp_asinh,
    left_to_right,
    momentum_to_costate,
    phi_H,
    phi_L,
    psi,
)

__all__ = [
    "J_D", "BodyN", "Extremal", "Flow", "J_D_inverse", "Phi", "Psi", "Psi_inverse", "Sigma_H", "Sigma_L", "System",
    "Trajectory", "algorithm_2_start", "cayley", "coupled_field", "definiteness", "discrete_action",
    "discrete_hamiltonian", "discrete_lax_residual", "double_bracket_field", "exp_asinh", "hat", "integrate",
    "integrate_field", "lax_residual", "left_to_right", "log_rotation", "manakov_gradients", "manakov_integrals",
    "manakov_powers", "manakov_symmetric", "momentum_to_costate", "norm", "optimal_motion", "optimal_steps", "pairing",
    "phi_H", "phi_L", "psi", "run", "safe_step", "scale_into_domain", "skew", "spatial_momentum", "spectral_gap",
    "step", "symmetric_momentum", "upper", "vector_field",
]  # fmt: skip
