"""Exact motion of a free rigid body in Jacobi's elliptic and theta functions: the reference for every integrator here.

Frames
------
`B` body axes, `I` inertial axes, and `P`: principal axes ordered and signed so that `z` is the axis the momentum
circles, `y` the axis of the middle moment, and `L_x ≥ 0`, `L_z > 0` at `t = 0`. With `α, γ, β = α + γ` the differences
of the inverse moments between `x` and `y`, `y` and `z`, `x` and `z`, the torque-free equations keep

    A = β L_x² + γ L_y²,    C = α L_y² + β L_z²,    β |S| = γ C − α A    (S = 0: the separatrix)

    L = (√(A/β) cn u, √(A/γ) sn u, √(C/β) dn u),    u = u_0 + λ t,    m = αA/γC,    1 − m = β|S|/γC,    λ = ±√(γC)

(Jacobi 1850; Whittaker 1937, §69, in other letters). The attitude is the fixed direction of the momentum, a turn `ψ`
about it, and the shortest arc `p` that carries the momentum's body direction onto `z`:

    q(t) = X ⊗ exp(ψ z) ⊗ p(L) ⊗ q_PB,    ψ̇ = (2T + l L_z/I_z)/(l + L_z)

Unlike Euler's angles it has no singular point, because `L_z` never changes sign. `ψ` is an integral of the third kind;
Jacobi's form of it is a steady turn plus the argument of a theta function of half the period ratio:

    ψ = Ω t − 2 [ν(u) − ν(u_0)],    ν(u) = arg θ_4(πu/2K + i πy/2K, q²),    sn²(y | 1 − m) = γ/β

Numbers
-------
The series run in the nome `q = exp(−πK'/K)` for `m ≤ ½` and, after Jacobi's imaginary transformation, in the
complementary nome for `m > ½`: either is at most `exp(−π)`, so that four to six terms are exact to the last bit. The
constants of a motion are computed once with 60 decimal digits; the rates `λ/2K` and `Ω` are kept as sums of two floats
and multiplied by the time without rounding. So nothing accumulates with time and nothing is lost near the separatrix:
the result is the motion of the body *as given in float64*, to a few units of roundoff (1e-15 rad against Taylor series
of 60 digits, also after a hundred periods at 1e-6 from the separatrix), for any number of turns up to 2^53. Data within
1e-40 of the separatrix count as on it.

What does grow is the sensitivity to the data, which no method can avoid: at a relative distance `ε` from the separatrix
a relative change `δ` of the data moves the phase by about `δ/ε` per polhode period (and next to the middle axis by
`δ exp(λt)`), so that an integrator, which rounds every step, agrees only to that extent: DOP853 at a relative tolerance
of 1e-13 is 1e-6 rad off after a hundred periods at `ε = 1e-6`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attitude.core import checks
from attitude.core import quaternion as qn
from attitude.core.jit import Array

DIGITS = Context(prec=60)
NOISE = Decimal("1e-40")  # relative; 60 digits leave less than 1e-50 of an exact zero, float64 data rarely below 1e-33
CONVERGED = Decimal("1e-55")
TERMS = 9  # of a theta series for the constants: exp(−π/2)^(9²) = 1e-55
MAX_TURNS = 2.0**53  # beyond it the neighbouring times are a turn apart
MAX_TIME = 1e200  # s; keeps the error-free product from overflowing
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
ZERO, HALF, ONE = Decimal(0), Decimal("0.5"), Decimal(1)


# ------------------------------------------------------------------ elliptic integrals and series, 60 digits
def _agm(a: Decimal, b: Decimal) -> Decimal:
    """Arithmetic-geometric mean."""
    while abs(a - b) > CONVERGED * a:
        a, b = (a + b) / 2, (a * b).sqrt()
    return a


def _carlson_rf(x: Decimal, y: Decimal, z: Decimal) -> Decimal:
    """Carlson's symmetric integral of the first kind `R_F(x, y, z)` by duplication; DLMF 19.26.18, 19.36.1."""
    mean = (x + y + z) / 3
    while max(abs(mean - x), abs(mean - y), abs(mean - z)) > Decimal("1e-9") * mean:
        rx, ry, rz = x.sqrt(), y.sqrt(), z.sqrt()
        step = rx * ry + ry * rz + rz * rx
        x, y, z, mean = (x + step) / 4, (y + step) / 4, (z + step) / 4, (mean + step) / 4
    dx, dy = 1 - x / mean, 1 - y / mean
    dz = -dx - dy
    e2, e3 = dx * dy - dz * dz, dx * dy * dz
    return (1 - e2 / 10 + e3 / 14 + e2 * e2 / 24 - 3 * e2 * e3 / 44) / mean.sqrt()  # next term below 1e-54


def _cos_sin(x: Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine by their series; up to 14 rad it loses six digits of the sixty."""
    sums, term = [ZERO, ZERO], ONE
    k = 0
    while abs(term) > CONVERGED or k < 2:
        sums[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term *= x / k
    return sums[0], sums[1]


def _theta_values(nome: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """`θ_2 / 2q^(1/4)`, `θ_3` and `θ_4` at zero."""
    two = sum((nome ** (n * (n + 1)) for n in range(1, TERMS)), ONE)
    three = 1 + 2 * sum((nome ** (n * n) for n in range(1, TERMS)), ZERO)
    four = 1 + 2 * sum(((-1) ** n * nome ** (n * n) for n in range(1, TERMS)), ZERO)
    return two, three, four


# ------------------------------------------------------------------ numbers of twice the precision
class _Split(NamedTuple):
    """A number as the unevaluated sum of two floats."""

    hi: float
    lo: float


def _split(x: Decimal) -> _Split:
    hi = float(x)
    return _Split(hi, float(x - Decimal(hi)))


def _halves(a: Array) -> tuple[Array, Array]:
    """Veltkamp's splitting of a float into two of 26 bits."""
    c = 134217729.0 * a
    high = c - (c - a)
    return high, a - high


def _product_error(a: Array, b: float, product: Array) -> Array:
    """What rounding took from `product = a b` (Dekker 1971)."""
    (ah, al), (bh, bl) = _halves(a), _halves(np.asarray(b))
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _line(t: Array, rate: _Split, start: _Split, wrap: bool) -> tuple[Array, Array]:
    """`start + rate t` as a whole number and a remainder in [-½, ½]; without `wrap` the whole number is zero."""
    product = t * rate.hi
    whole = np.rint(product) if wrap else np.zeros_like(product)
    rest = ((product - whole) + start.hi) + (_product_error(t, rate.hi, product) + t * rate.lo + start.lo)
    carry = np.rint(rest) if wrap else whole
    return whole + carry, rest - carry


# ------------------------------------------------------------------ the theta series along the motion
N = np.arange(6)  # terms of a series in float64: exp(−π/2)^(6²) = 3e-25
ODD, EVEN = 2 * N + 1, 2 * N
SIGNS = (-1.0) ** N


class _Circular(NamedTuple):
    """`m ≤ ½`: series in the nome, by sines and cosines of the phase `πu/2K = πf`."""

    nome: float = 0.0
    real: Array = np.eye(6)[0]  # (6,) coefficients of θ_4(πf + iy', q²)
    imag: Array = np.zeros(6)

    def __call__(self, f: Array) -> tuple[Array, Array, Array, Array]:
        """`cn`, `sn`, `dn` up to their constant factors, and `ν`, at `u = 2K f`."""
        odd, even = np.pi * f[..., None] * ODD, np.pi * f[..., None] * EVEN
        cosines = np.cos(even)
        odd_weights, even_weights = self.nome ** (N * N + N), np.where(N > 0, 2.0, 1.0) * self.nome ** (N * N)
        four = cosines @ (SIGNS * even_weights)
        nu = np.arctan2(np.sin(even) @ self.imag, cosines @ self.real)
        cn, sn = np.cos(odd) @ odd_weights / four, np.sin(odd) @ (SIGNS * odd_weights) / four
        return cn, sn, cosines @ even_weights / four, nu


class _Hyperbolic(NamedTuple):
    """`m > ½`: series in the complementary nome `q'`, by exponentials of `v = πu/2K'` that cannot overflow."""

    nome: float
    log_nome: float  # −inf on the separatrix
    stretch: float  # v = stretch · f
    eta: float  # πy/4K'
    slope: float  # 2η, or 0 on the separatrix

    def __call__(self, f: Array) -> tuple[Array, Array, Array, Array]:
        """`cn`, `sn`, `dn` up to their constant factors, and `ν`, at `u = 2K f` (`u = f` on the separatrix)."""
        v = np.abs(self.stretch * f)[..., None]
        decay, growth = np.exp(-v), np.exp(2.0 * v + self.log_nome)  # growth = q' exp(2v) ≤ 1
        powers, odd, even = growth**N, decay ** (2 * ODD), decay ** (2 * EVEN)
        odd_weights, even_weights = self.nome ** (N * N), np.where(N > 0, 1.0, 0.5) * self.nome ** (N * N - N)
        two = powers * (1.0 + odd) @ odd_weights
        one = powers * (1.0 - odd) @ (SIGNS * odd_weights)
        three, four = (powers * (1.0 + even) @ (w * even_weights) for w in (np.ones(6), SIGNS))
        fall = 2.0 * decay[..., 0] / two
        return fall * four, np.sign(f) * one / two, fall * three, self._nu(f, np.sqrt(growth), decay)

    def _nu(self, f: Array, growth: Array, decay: Array) -> Array:
        """Argument of `θ_2` of the complementary nome `√q'`, less the slope that makes it periodic."""
        powers, odd, weights = growth**N, decay**ODD, self.nome ** (0.5 * N * N)
        real = powers * (1.0 + odd) @ (weights * np.cos(ODD * self.eta))
        imag = powers * (1.0 - odd) @ (weights * np.sin(ODD * self.eta))
        return np.asarray(np.sign(f) * np.arctan2(imag, real) - self.slope * f)


# ------------------------------------------------------------------ principal axes, 60 digits
Vector = list[Decimal]


def _jacobi_rotation(a: list[Vector], columns: list[Vector], p: int, q: int) -> None:
    """Turn axes `p` and `q` so that `a[p][q]` vanishes (Golub and Van Loan 2013, §8.5)."""
    if a[p][q] == 0:
        return
    ratio = (a[q][q] - a[p][p]) / (2 * a[p][q])
    t = (-ONE if ratio < 0 else ONE) / (abs(ratio) + (ratio * ratio + 1).sqrt())
    c = 1 / (t * t + 1).sqrt()
    s = t * c
    a[p][p], a[q][q] = a[p][p] - t * a[p][q], a[q][q] + t * a[p][q]
    a[p][q] = a[q][p] = ZERO
    r = 3 - p - q
    a[p][r], a[q][r] = c * a[p][r] - s * a[q][r], s * a[p][r] + c * a[q][r]
    a[r][p], a[r][q] = a[p][r], a[q][r]
    up, uq = columns[p], columns[q]
    columns[p] = [c * x - s * y for x, y in zip(up, uq, strict=True)]
    columns[q] = [s * x + c * y for x, y in zip(up, uq, strict=True)]


def _principal(inertia: Array) -> tuple[Vector, list[Vector]]:
    """Principal moments, ascending, and the unit vectors of their axes."""
    a = [[(Decimal(inertia[i, j]) + Decimal(inertia[j, i])) / 2 for j in range(3)] for i in range(3)]
    columns = [[ONE if i == j else ZERO for j in range(3)] for i in range(3)]
    scale = max(abs(x) for row in a for x in row)
    while max(abs(a[0][1]), abs(a[0][2]), abs(a[1][2])) > CONVERGED * scale:
        for p, q in ((0, 1), (0, 2), (1, 2)):
            _jacobi_rotation(a, columns, p, q)
    order = sorted(range(3), key=lambda i: a[i][i])
    return [a[i][i] for i in order], [columns[i] for i in order]


def _dot(a: Sequence[Decimal], b: Sequence[Decimal]) -> Decimal:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def _cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _component(axis: Vector, v: Vector) -> Decimal:
    """`axis · v`, with what cancels but for roundoff set to zero."""
    value = _dot(axis, v)
    return value if abs(value) > NOISE * _dot([abs(x) for x in axis], [abs(x) for x in v]) else ZERO


def _gap(a: Decimal, b: Decimal) -> Decimal:
    """`|1/a − 1/b|`; equal but for roundoff is equal."""
    return abs(b - a) / (a * b) if abs(b - a) > NOISE * a else ZERO


# ------------------------------------------------------------------ one motion
@dataclass(frozen=True, eq=False)
class _Motion:
    """Constants of one motion, rounded to what the evaluation needs."""

    axes: Array  # (3, 3), columns: the axes of P in B
    speeds: Array  # (3,) l/I_x, l/I_y, l/I_z, rad/s
    amplitudes: Array  # (3,) of the series for L/l
    phase_rate: _Split  # λ/2K, 1/s; λ on the separatrix
    phase_start: _Split
    turn_rate: _Split  # Ω/4π, 1/s
    periodic: bool
    series: _Circular | _Hyperbolic

    def evaluate(self, t: Array) -> tuple[Array, Array]:
        """Quaternion `exp(ψ z) ⊗ p`, up to a constant turn about `z`, and `L/l` in P."""
        whole, f = _line(t, self.phase_rate, self.phase_start, self.periodic)
        cn, sn, dn, nu = self.series(f)
        sign = 1.0 - 2.0 * np.mod(whole, 2.0)  # sn and cn change sign every 2K, dn does not
        x, y, z = (a * s for a, s in zip(self.amplitudes, (sign * cn, sign * sn, dn), strict=True))
        half = 2.0 * np.pi * _line(t, self.turn_rate, _Split(0.0, 0.0), True)[1] - nu
        c, s = np.cos(half), np.sin(half)
        w = 1.0 + z
        r = np.stack([c * y + s * x, s * y - c * x, s * w, c * w], axis=-1)
        return r / np.linalg.norm(r, axis=-1, keepdims=True), np.stack([x, y, z], axis=-1)


def _motion(inertia: Array, omega: Array) -> _Motion:
    """Choose the frame P and find the constants of the motion."""
    moments, axes = _principal(inertia)
    if moments[0] <= NOISE * moments[2]:
        raise ValueError(f"inertia must be positive definite, got moments {[float(x) for x in moments]} kg m²")
    rate = [Decimal(x) for x in omega]
    L = [moment * _component(axis, rate) for moment, axis in zip(moments, axes, strict=True)]
    alpha, gamma = _gap(moments[0], moments[1]), _gap(moments[1], moments[2])
    if alpha * L[0] * L[1] == gamma * L[1] * L[2] == (alpha + gamma) * L[2] * L[0] == 0:
        return _steady(rate)
    inner, outer = alpha * L[0] ** 2, gamma * L[2] ** 2
    separatrix = abs(inner - outer) < NOISE * (inner + outer)
    order = (2, 1, 0) if inner > outer and not separatrix else (0, 1, 2)
    return _tumbling([moments[i] for i in order], *_frame([axes[i] for i in order], [L[i] for i in order]), separatrix)


def _frame(axes: list[Vector], L: Vector) -> tuple[list[Vector], Vector]:
    """Sign the axes: `L_x ≥ 0`, `L_z > 0`, right-handed."""
    for i in (0, 2):
        if L[i] < 0:
            axes[i], L[i] = [-x for x in axes[i]], -L[i]
    if _dot(_cross(axes[2], axes[0]), axes[1]) < 0:
        axes[1], L[1] = [-x for x in axes[1]], -L[1]
    return axes, L


def _floats(values: Sequence[Decimal]) -> Array:
    return np.array([float(x) for x in values])


def _columns(axes: list[Vector]) -> Array:
    return np.stack([_floats(axis) for axis in axes], axis=1)


def _steady(rate: Vector) -> _Motion:
    """Rotation about a fixed axis, or none: P has its `z` along the rate."""
    speed = _dot(rate, rate).sqrt()
    z = [x / speed for x in rate] if speed > 0 else [ZERO, ZERO, ONE]
    least = min(range(3), key=lambda i: abs(z[i]))
    x = _cross([ONE if i == least else ZERO for i in range(3)], z)
    norm = _dot(x, x).sqrt()
    x = [component / norm for component in x]
    still, turn = _Split(0.0, 0.0), _split(speed / (4 * PI))
    speeds, amplitudes = np.array([0.0, 0.0, float(speed)]), np.array([0.0, 0.0, 1.0])
    return _Motion(_columns([x, _cross(z, x), z]), speeds, amplitudes, still, still, turn, False, _Circular())


class _Invariants(NamedTuple):
    """Of a tumbling motion; see the top of the module."""

    alpha: Decimal
    beta: Decimal
    gamma: Decimal
    A: Decimal
    C: Decimal
    m: Decimal
    m1: Decimal
    l: Decimal
    rate: Decimal  # λ, 1/s
    turn_rate: Decimal  # ψ̇ at u = 0, 1/s


def _invariants(moments: Vector, L: Vector, separatrix: bool) -> _Invariants:
    alpha, gamma = _gap(moments[0], moments[1]), _gap(moments[1], moments[2])
    beta = alpha + gamma
    A, C = beta * L[0] ** 2 + gamma * L[1] ** 2, alpha * L[1] ** 2 + beta * L[2] ** 2
    m, m1 = alpha * A / (gamma * C), beta * (gamma * L[2] ** 2 - alpha * L[0] ** 2) / (gamma * C)
    if separatrix:
        m, m1 = ONE, ZERO
    sense = ONE if moments[2] > moments[0] else -ONE
    l = _dot(L, L).sqrt()
    turn_rate = l / moments[2] + sense * A / (l + (C / beta).sqrt())
    return _Invariants(alpha, beta, gamma, A, C, m, m1, l, sense * (gamma * C).sqrt(), turn_rate)


def _tumbling(moments: Vector, axes: list[Vector], L: Vector, separatrix: bool) -> _Motion:
    """Any motion whose body rate is not constant."""
    k = _invariants(moments, L, separatrix)
    peaks = [(k.A / k.beta).sqrt(), (k.A / k.gamma).sqrt(), (k.C / k.beta).sqrt()]
    c, s, d = (x / peak for x, peak in zip(L, peaks, strict=True))
    start = s * _carlson_rf(c * c, d * d, ONE)  # u_0 = F(am u_0, m)
    quarter = HALF if separatrix else PI / (2 * _agm(ONE, k.m1.sqrt()))  # K; on the separatrix f is u itself
    series, factors, mean_rate = (_circular if k.m <= HALF else _hyperbolic)(k, quarter)
    return _Motion(
        axes=_columns(axes),
        speeds=_floats([k.l / moment for moment in moments]),
        amplitudes=_floats([peak * factor / k.l for peak, factor in zip(peaks, factors, strict=True)]),
        phase_rate=_split(k.rate / (2 * quarter)),
        phase_start=_split(start / (2 * quarter)),
        turn_rate=_split(mean_rate / (4 * PI)),
        periodic=not separatrix,
        series=series,
    )


def _pole(k: _Invariants) -> Decimal:
    """`y` with `sn²(y | 1 − m) = γ/β`: the height of the poles of `ψ̇`, less half a period."""
    s2, c2 = k.gamma / k.beta, k.alpha / k.beta
    return s2.sqrt() * _carlson_rf(c2, c2 + k.m * s2, ONE)


def _circular(k: _Invariants, quarter: Decimal) -> tuple[_Circular, Vector, Decimal]:
    """Series for `m ≤ ½`, the factors of `cn`, `sn`, `dn`, and `Ω`."""
    if k.m == 0:  # two equal moments
        return _Circular(), [ONE, ONE, ONE], k.turn_rate
    nome = (-PI * PI / (2 * _agm(ONE, k.m.sqrt()) * quarter)).exp()
    up = (PI * _pole(k) / quarter).exp()  # exp(2y')
    powers = [((-1) ** n * nome ** (2 * n * n), up**n) for n in range(1, TERMS)]
    real, imag = [a * (b + 1 / b) for a, b in powers], [a * (1 / b - b) for a, b in powers]
    slope = sum((2 * n * a for n, a in enumerate(imag, 1)), ZERO) / (1 + sum(real, ZERO))  # dν/dz at z = 0
    two, three, four = _theta_values(nome)
    series = _Circular(float(nome), _floats([ONE, *real[:5]]), _floats([ZERO, *imag[:5]]))
    return series, [four / two, three / two, four / three], k.turn_rate + k.rate * PI / quarter * slope


def _hyperbolic(k: _Invariants, quarter: Decimal) -> tuple[_Hyperbolic, Vector, Decimal]:
    """Series for `m > ½`, the factors of `cn`, `sn`, `dn`, and `Ω` (on the separatrix: the rate far away)."""
    other = PI / (2 * _agm(ONE, k.m.sqrt()))  # K'
    log_nome = Decimal("-Infinity") if k.m1 == 0 else -PI * quarter / other
    nome = log_nome.exp()
    eta = PI * _pole(k) / (4 * other)
    weights = [(log_nome * n * (n + 1) / 2).exp() if n else ONE for n in range(TERMS)]
    odd = [(2 * n + 1, _cos_sin((2 * n + 1) * eta)) for n in range(TERMS)]
    rise = sum((a * n * s for a, (n, (_, s)) in zip(weights, odd, strict=True)), ZERO)
    slope = PI / (4 * other) * rise / sum((a * c for a, (_, (c, _)) in zip(weights, odd, strict=True)), ZERO)  # dν/du
    drift = ZERO if k.m1 == 0 else eta / quarter
    two, three, four = _theta_values(nome)
    lean = 0.0 if k.m1 == 0 else float(2 * eta)
    series = _Hyperbolic(float(nome), float(log_nome), float(PI * quarter / other), float(eta), lean)
    return series, [two / four, three / four, two / three], k.turn_rate + 2 * k.rate * (slope - drift)


# ------------------------------------------------------------------ the public face
def _numbers(values: ArrayLike, name: str) -> Array:
    """A float64 copy."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers, got {values!r}") from error


def _checked_inertia(values: ArrayLike) -> Array:
    inertia = checks.array(values, "inertia", (3, 3))
    if np.max(np.abs(inertia - inertia.T)) > 1e-12 * np.max(np.abs(inertia)):
        raise ValueError(f"inertia must be symmetric to 1e-12, got {inertia.tolist()}")
    return inertia


@dataclass(frozen=True, init=False, eq=False)
class FreeBody:
    """Exact motion of a free rigid body from `q`, `omega` at `t = 0`; accuracy: see the top of the module.

    inertia (3, 3) kg m², any symmetric positive definite matrix, even one no mass distribution has; q (4,) unit,
    body to inertial; omega (3,) rad/s, body axes.
    """

    inertia: Array
    q: Array
    omega: Array
    _motion: _Motion = field(repr=False)
    _left: Array = field(repr=False)  # X: P turned about the momentum, to I
    _right: Array = field(repr=False)  # q_PB

    def __init__(self, inertia: ArrayLike, q: ArrayLike, omega: ArrayLike) -> None:
        """Check the fields and find the constants of the motion."""
        fields = {"inertia": _checked_inertia(inertia), "q": checks.unit_quaternion(q, "q")}
        fields["omega"] = checks.array(omega, "omega", (3,))
        with localcontext(DIGITS):
            motion = _motion(fields["inertia"], fields["omega"])
        first, _ = motion.evaluate(np.zeros(()))
        fields["_right"] = qn.conjugate(qn.from_matrix(motion.axes))
        fields["_left"] = qn.product(fields["q"], qn.conjugate(qn.product(first, fields["_right"])))
        object.__setattr__(self, "_motion", motion)
        for name, array in fields.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def at(self, t: ArrayLike) -> tuple[Array, Array]:
        """Attitude (..., 4), continuous in `t`, and body rate (..., 3), rad/s, at the times `t` (...), s."""
        r, direction = self._motion.evaluate(self._times(t))
        q = qn.normalise(qn.product(qn.product(self._left, r), self._right))
        return q, np.asarray((direction * self._motion.speeds) @ self._motion.axes.T)

    def _times(self, t: ArrayLike) -> Array:
        times = _numbers(t, "t")
        fastest = max(abs(self._motion.phase_rate.hi), abs(self._motion.turn_rate.hi), MAX_TURNS / MAX_TIME)
        bad = ~(np.abs(times) <= MAX_TURNS / fastest)
        if np.any(bad):
            raise ValueError(f"t must lie within ±{MAX_TURNS / fastest:.3g} s (2^53 turns), got {times[bad].flat[0]}")
        return times

    @property
    def period(self) -> float:
        """Period of the body rate (of the polhode), s; inf on the separatrix and for a constant rate."""
        return 2.0 / abs(self._motion.phase_rate.hi) if self._motion.periodic else float("inf")

    @property
    def energy(self) -> float:
        """Kinetic energy, J."""
        return float(0.5 * self.omega @ self.inertia @ self.omega)

    @property
    def momentum_I(self) -> Array:
        """Angular momentum (3,) in inertial axes, N m s."""
        return qn.rotate(self.q, self.inertia @ self.omega)


def free_motion(inertia: ArrayLike, q0: ArrayLike, omega0: ArrayLike, t: ArrayLike) -> tuple[Array, Array]:
    """Attitude (..., 4) and body rate (..., 3), rad/s, of a free body at the times `t` (...), s; see `FreeBody`."""
    return FreeBody(inertia, q0, omega0).at(t)
