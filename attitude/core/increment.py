"""The one implicit equation of the project: from the momentum of a step to its rotation.

A step turns the body by the unit quaternion `f = [φ, s]`, `s = √(1 − φ·φ)`. Its momentum at the start is (MP 2016,
eq. (36) with the factor 2/h on both terms, and eq. (49) with rotors)

    g / 2 = s a + φ × a,      a = J φ + r,      g = h p,      r = (h/2) ρ

With `J_d = ½ tr(J) 1 − J` this is also `F J_d − J_d Fᵀ = S(g)` of LLM 2007, eq. (94), and Moser–Veselov for n = 3.
`J` is diagonal here: every body runs in the principal axes of its inertia.

Method: Newton on the Gibbs vector `c = φ/s`, in which the equation has no square root without rotors,

    J c + c × J c + √(1 + c·c) (r + c × r) = (1 + c·c) g / 2

from the first-order guess `c = J⁻¹(g/2 − r)`; three iterations at |φ| = 0.1. The determinant of the Newton matrix is
positive on the branch that starts at φ = 0 and vanishes where that branch ends, at 90° a step about a principal
axis; a root with another sign is not accepted.
"""

from __future__ import annotations

import math

from attitude.core.jit import bare_kernel as kernel
from attitude.core.linalg import solve3

OK = 0
NO_INCREMENT = 1  # the equation has no solution on the branch of small rotations
MAX_ITERATIONS = 30  # Newton halves the error at least, also at the very end of the branch
CONVERGED = 1e-18  # square of the last correction, relative: after 1e-9 the next one is below roundoff


@kernel
def solve_increment(
    J1: float, J2: float, J3: float, r1: float, r2: float, r3: float, g1: float, g2: float, g3: float
) -> tuple[float, float, float, float, int]:
    """Solve `g/2 = s a + φ × a`, `a = J φ + r`, for `(φ1, φ2, φ3, s, status)`; all in principal axes."""
    g1, g2, g3 = 0.5 * g1, 0.5 * g2, 0.5 * g3
    rotors = r1 != 0.0 or r2 != 0.0 or r3 != 0.0
    x, y, z = (g1 - r1) / J1, (g2 - r2) / J2, (g3 - r3) / J3
    for _ in range(MAX_ITERATIONS):
        n = 1.0 + x * x + y * y + z * z
        a, b, c = J1 * x, J2 * y, J3 * z
        e1, e2, e3 = n * g1 - a - y * c + z * b, n * g2 - b - z * a + x * c, n * g3 - c - x * b + y * a
        u1, u2, u3 = 2.0 * g1, 2.0 * g2, 2.0 * g3
        if rotors:
            m = math.sqrt(n)
            v1, v2, v3 = r1 + y * r3 - z * r2, r2 + z * r1 - x * r3, r3 + x * r2 - y * r1
            e1, e2, e3 = e1 - m * v1, e2 - m * v2, e3 - m * v3
            u1, u2, u3 = u1 - v1 / m, u2 - v2 / m, u3 - v3 / m
            a, b, c = a + m * r1, b + m * r2, c + m * r3
        # Newton matrix J + S(c) J − S(a) − u cᵀ
        dx, dy, dz, det = solve3(
            J1 - u1 * x, c - z * J2 - u1 * y, y * J3 - b - u1 * z,
            z * J1 - c - u2 * x, J2 - u2 * y, a - x * J3 - u2 * z,
            b - y * J1 - u3 * x, x * J2 - a - u3 * y, J3 - u3 * z,
            e1, e2, e3,
        )  # fmt: skip
        x, y, z = x + dx, y + dy, z + dz
        if dx * dx + dy * dy + dz * dz <= CONVERGED * (x * x + y * y + z * z):
            s = 1.0 / math.sqrt(1.0 + x * x + y * y + z * z)
            return s * x, s * y, s * z, s, OK if det > 0.0 else NO_INCREMENT
    return 0.0, 0.0, 0.0, 1.0, NO_INCREMENT


@kernel
def increment_matrix(
    J1: float, J2: float, J3: float, r1: float, r2: float, r3: float, x: float, y: float, z: float, s: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """`∂(s a + φ × a)/∂φ = s J − a φᵀ/s + S(φ) J − S(a)`, row by row (MP 2016, eqs. (38), (50))."""
    a, b, c = J1 * x + r1, J2 * y + r2, J3 * z + r3
    k = 1.0 / s
    return (
        s * J1 - k * a * x, c - z * J2 - k * a * y, y * J3 - b - k * a * z,
        z * J1 - c - k * b * x, s * J2 - k * b * y, a - x * J3 - k * b * z,
        b - y * J1 - k * c * x, x * J2 - a - k * c * y, s * J3 - k * c * z,
    )  # fmt: skip
