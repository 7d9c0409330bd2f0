"""Gyrostat with a Kane damper: a sphere in viscous fluid inside the body (MP 2016, section VIII, corrected).

Unknowns of a step: the increments `φ` of the body and `γ` of the sphere. With `κ = h C`, `s_γ = √(1 − γ·γ)`,

    s a + φ × a + κ (φ − γ)   = (h/2) p_body          a = J φ + (h/2) ρ
    s_γ I_D γ   + κ (γ − φ)   = (h/2) p_damper

(66) and (67) with the sign of the coupling and the factor γ_k put right. Newton on both, with the sphere eliminated:
its block `D = I_D (s_γ 1 − γγᵀ/s_γ) + κ 1` has a closed inverse. The damping impulse acts with the rates of the step
it belongs to, which keeps stiff dampers stable at any step; it is first order in the step.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

from attitude.core import checks
from attitude.core.increment import CONVERGED, MAX_ITERATIONS, NO_INCREMENT, OK, increment_matrix
from attitude.core.jit import Array, kernel
from attitude.core.linalg import solve3
from attitude.dynamics.gyrostat import Gyrostat


@dataclass(frozen=True, eq=False)
class DampedGyrostat(Gyrostat):
    """Gyrostat with a spherical damper of inertia `damper_inertia`, kg·m², and constant `damping`, N·m·s.

    `inertia` is that of the body without the sphere; wheels are optional.
    """

    _: KW_ONLY
    damper_inertia: float = field()  # type: ignore[misc]  # a rigid body has these as constants, zero
    damping: float = field()  # type: ignore[misc]

    def __post_init__(self) -> None:
        self._set(
            damper_inertia=checks.positive(self.damper_inertia, "damper_inertia"),
            damping=checks.not_negative(self.damping, "damping"),
        )
        super().__post_init__()


@kernel
def sphere_inverse(
    inertia: float, kappa: float, u: float, v: float, w: float, su: float, b1: float, b2: float, b3: float
) -> tuple[float, float, float]:
    """`D⁻¹ b` for the sphere's block `D = (I_D s_γ + κ) 1 − (I_D/s_γ) γγᵀ`, by Sherman and Morrison."""
    d, e = inertia * su + kappa, inertia / su
    k = e * (u * b1 + v * b2 + w * b3) / (d - e * (u * u + v * v + w * w))
    return (b1 + k * u) / d, (b2 + k * v) / d, (b3 + k * w) / d


@kernel
def sphere_momentum_slope(
    inertia: float, u: float, v: float, w: float, su: float, b1: float, b2: float, b3: float
) -> tuple[float, float, float]:
    """`I_D (s_γ 1 − γγᵀ/s_γ) b`: the change of `s_γ I_D γ` with `γ`."""
    k = (u * b1 + v * b2 + w * b3) / su
    return inertia * (su * b1 - k * u), inertia * (su * b2 - k * v), inertia * (su * b3 - k * w)


@kernel
def coupled_matrix(
    J: Array, inertia: float, kappa: float, r1: float, r2: float, r3: float,
    x: float, y: float, z: float, s: float, u: float, v: float, w: float, su: float,
) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
    """Newton matrix of the body with the sphere eliminated: `A + κ 1 − κ² D⁻¹ = A + κ D⁻¹ (D − κ 1)`, by rows."""
    a11, a12, a13, a21, a22, a23, a31, a32, a33 = increment_matrix(J[0], J[1], J[2], r1, r2, r3, x, y, z, s)
    m1, m2, m3 = sphere_momentum_slope(inertia, u, v, w, su, 1.0, 0.0, 0.0)
    c11, c21, c31 = sphere_inverse(inertia, kappa, u, v, w, su, m1, m2, m3)
    m1, m2, m3 = sphere_momentum_slope(inertia, u, v, w, su, 0.0, 1.0, 0.0)
    c12, c22, c32 = sphere_inverse(inertia, kappa, u, v, w, su, m1, m2, m3)
    m1, m2, m3 = sphere_momentum_slope(inertia, u, v, w, su, 0.0, 0.0, 1.0)
    c13, c23, c33 = sphere_inverse(inertia, kappa, u, v, w, su, m1, m2, m3)
    return (
        a11 + kappa * c11, a12 + kappa * c12, a13 + kappa * c13,
        a21 + kappa * c21, a22 + kappa * c22, a23 + kappa * c23,
        a31 + kappa * c31, a32 + kappa * c32, a33 + kappa * c33,
    )  # fmt: skip


@kernel
def solve_damped_increment(
    J: Array, inertia: float, kappa: float, r1: float, r2: float, r3: float,
    g1: float, g2: float, g3: float, d1: float, d2: float, d3: float,
) -> tuple[float, float, float, float, float, float, float, float, int]:  # fmt: skip
    """Solve both equations of the module's head for `(φ, s, γ, s_γ, status)`; `g = h p_body`, `d = h p_damper`."""
    g1, g2, g3, d1, d2, d3 = 0.5 * g1, 0.5 * g2, 0.5 * g3, 0.5 * d1, 0.5 * d2, 0.5 * d3
    x, y, z = (g1 - r1) / J[0], (g2 - r2) / J[1], (g3 - r3) / J[2]
    u, v, w = d1 / inertia, d2 / inertia, d3 / inertia
    for _ in range(MAX_ITERATIONS):
        n, m = x * x + y * y + z * z, u * u + v * v + w * w
        if not (n < 1.0 and m < 1.0):
            break
        s, su = math.sqrt(1.0 - n), math.sqrt(1.0 - m)
        a, b, c = J[0] * x + r1, J[1] * y + r2, J[2] * z + r3
        e1 = g1 - s * a - y * c + z * b - kappa * (x - u)
        e2 = g2 - s * b - z * a + x * c - kappa * (y - v)
        e3 = g3 - s * c - x * b + y * a - kappa * (z - w)
        k = su * inertia + kappa
        f1, f2, f3 = d1 - k * u + kappa * x, d2 - k * v + kappa * y, d3 - k * w + kappa * z
        t1, t2, t3 = sphere_inverse(inertia, kappa, u, v, w, su, f1, f2, f3)
        a11, a12, a13, a21, a22, a23, a31, a32, a33 = coupled_matrix(
            J, inertia, kappa, r1, r2, r3, x, y, z, s, u, v, w, su
        )
        dx, dy, dz, det = solve3(
            a11, a12, a13, a21, a22, a23, a31, a32, a33, e1 + kappa * t1, e2 + kappa * t2, e3 + kappa * t3
        )
        k1, k2, k3 = f1 + kappa * dx, f2 + kappa * dy, f3 + kappa * dz
        du, dv, dw = sphere_inverse(inertia, kappa, u, v, w, su, k1, k2, k3)
        x, y, z, u, v, w = x + dx, y + dy, z + dz, u + du, v + dv, w + dw
        n, m = x * x + y * y + z * z, u * u + v * v + w * w
        if dx * dx + dy * dy + dz * dz + du * du + dv * dv + dw * dw <= CONVERGED * (n + m):
            if not (n < 1.0 and m < 1.0 and det > 0.0):
                break
            return x, y, z, math.sqrt(1.0 - n), u, v, w, math.sqrt(1.0 - m), OK
    return 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, NO_INCREMENT
