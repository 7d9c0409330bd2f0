"""The one implicit equation of the project: from the momentum of a step to its rotation.

A step turns the body by the unit quaternion `f = [φ, s]`, `s = √(1 − φ·φ)`. Its momentum at the start is (MP 2016,
eq. (36) with the factor 2/h on both terms, and eq. (49) with rotors)

    g / 2 = s a + φ × a,      a = J φ + r,      g = h p,      r = (h/2) ρ

With `J_d = ½ tr(J) 1 − J` this is also `F J_d − J_d Fᵀ = S(g)` of LLM 2007, eq. (94), and Moser–Veselov for n = 3.
`J` is diagonal here: every body runs in the principal axes of its inertia.

Method: Newton on the Gibbs vector `c = φ/s`, in which the equation has no square root without rotors,

    J c + c × J c + √(1 + c·c) (r + c × r) = (1 + c·c) g / 2

from the first-order guess `c = J⁻¹(g/2 − r)`; three iterations at |φ| = 0.1. Of the several roots the wanted one is
that which grows out of φ = 0 as the step h, and with it g and r, grows from zero. The determinant of the Newton
matrix is positive along that branch and vanishes where it ends, without rotors at 90° a step about a principal axis.
Newton is believed while the determinant is positive and each correction at most half the one before, as it is on
the way to a simple root nearby; otherwise the branch is followed from zero in parts.
"""

from __future__ import annotations

import math

from attitude.core.jit import kernel
from attitude.core.linalg import solve3

OK = 0
NO_INCREMENT = 1  # the equation has no solution on the branch of small rotations
MAX_ITERATIONS = 30  # Newton halves the error at least, also at the very end of the branch
CONVERGED = 1e-18  # square of the last correction, relative: after 1e-9 the next one is below roundoff
CONTRACTION = 0.3  # square of the ratio of corrections: up to 1/4 at the end of the branch, the rest for rounding
SHORTEST = 2.0**-10  # part of the way from zero after which following the branch is given up


@kernel
def _newton(
    J1: float, J2: float, J3: float, r1: float, r2: float, r3: float, g1: float, g2: float, g3: float,
    x: float, y: float, z: float,
) -> tuple[float, float, float, int]:  # fmt: skip
    """Gibbs vector by Newton from the guess `(x, y, z)`, `g` halved; gives up when it is not to be believed."""
    rotors = r1 != 0.0 or r2 != 0.0 or r3 != 0.0
    last = math.inf
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
        size = dx * dx + dy * dy + dz * dz
        if not (det > 0.0 and size <= CONTRACTION * last):
            break
        if size <= CONVERGED * (x * x + y * y + z * z):
            return x, y, z, OK
        last = size
    return x, y, z, NO_INCREMENT


@kernel
def _follow(
    J1: float, J2: float, J3: float, r1: float, r2: float, r3: float, g1: float, g2: float, g3: float
) -> tuple[float, float, float, int]:
    """Gibbs vector along the branch from zero, `g` halved: guesses by secant, parts halved where Newton gives up."""
    x, y, z = 0.0, 0.0, 0.0
    dx, dy, dz = (g1 - r1) / J1, (g2 - r2) / J2, (g3 - r3) / J3
    done, part = 0.0, 0.5  # powers of two: the parts add up to 1 exactly
    while part >= SHORTEST:
        t = done + part
        a, b, c, status = _newton(
            J1, J2, J3, t * r1, t * r2, t * r3, t * g1, t * g2, t * g3, x + part * dx, y + part * dy, z + part * dz
        )
        if status != OK:
            part *= 0.5
            continue
        if t == 1.0:
            return a, b, c, OK
        dx, dy, dz = (a - x) / part, (b - y) / part, (c - z) / part
        x, y, z, done = a, b, c, t
        part = min(2.0 * part, 1.0 - done)
    return 0.0, 0.0, 0.0, NO_INCREMENT


@kernel
def solve_increment_from(
    J1: float, J2: float, J3: float, r1: float, r2: float, r3: float, g1: float, g2: float, g3: float,
    x: float, y: float, z: float,
) -> tuple[float, float, float, float, int]:  # fmt: skip
    """As `solve_increment`, from a guess `(x, y, z)` of the Gibbs vector that the caller has at hand."""
    g1, g2, g3 = 0.5 * g1, 0.5 * g2, 0.5 * g3
    x, y, z, status = _newton(J1, J2, J3, r1, r2, r3, g1, g2, g3, x, y, z)
    if status != OK:
        x, y, z, status = _follow(J1, J2, J3, r1, r2, r3, g1, g2, g3)
    s = 1.0 / math.sqrt(1.0 + x * x + y * y + z * z)
    return s * x, s * y, s * z, s, status


@kernel
def solve_increment(
    J1: float, J2: float, J3: float, r1: float, r2: float, r3: float, g1: float, g2: float, g3: float
) -> tuple[float, float, float, float, int]:
    """Solve `g/2 = s a + φ × a`, `a = J φ + r`, for `(φ1, φ2, φ3, s, status)`; all in principal axes."""
    x, y, z = (0.5 * g1 - r1) / J1, (0.5 * g2 - r2) / J2, (0.5 * g3 - r3) / J3
    return solve_increment_from(J1, J2, J3, r1, r2, r3, g1, g2, g3, x, y, z)


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
