"""Preprocessed inertia: two scalars per step that raise the free rigid body's step from order 2 to order 12.

The quaternion VI moves a free body along its exact orbit, only by a slightly wrong time and precession. Run with

    J̃⁻¹ = (1 + s) I⁻¹ + d 1,    s = Σ_k h²ᵏ s_k,  d = Σ_k h²ᵏ d_k,  k = 1 … K

the same step has order 2K + 2, attitude included. `s_k` and `d_k` are homogeneous of degree k in the energy
`H = ½ p·I⁻¹p` and in `C = ½ p·p`. Found by Hairer and Vilmart 2006 for the discrete Moser–Veselov algorithm; the
tests derive every coefficient below anew from the exact motion.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array, kernel

MAX_ORDER = 12
SHAPE = (MAX_ORDER // 2 - 1, MAX_ORDER // 2)  # rows k = 1 … 5, columns j = 0 … 5, the same for every order
LEAST_MOMENT, GREATEST_MOMENT = 1e-20, 1e20  # kg m²: the coefficients go with moment⁻¹¹ and stay far from overflow

# A line `k j  n/m:abc …` gives the factor of Hʲ Cᵏ⁻ʲ in s_k or d_k, as the sum of n/m e1ᵃ e2ᵇ e3ᶜ⁻ᵏ, where
# e1 = I1 + I2 + I3, e2 = I1 I2 + I2 I3 + I3 I1, e3 = I1 I2 I3 are those of the principal moments.
S_TERMS = """
1 1   -1/3:010
1 0   1/6:100
2 2   1/30:020  -1/60:101
2 1   -1/30:110  2/15:001
2 0   -1/10:010  1/30:200
3 3   -1/630:030  1/630:111  1/35:002
3 2   1/420:120  -53/630:011  41/2520:201
3 1   11/210:020  -1/70:210  -1/84:101
3 0   -11/420:110  17/2520:300  5/126:001
4 4   1/22680:040  -1/15120:121  -3/280:012  17/5040:202
4 3   -1/11340:130  23/945:021  -11/1890:211  -23/1260:102
4 2   -17/1260:030  13/3780:220  1/252:111  1/2520:301  53/1260:002
4 1   17/1260:120  -11/3240:310  -47/945:011  47/7560:201
4 0   1/120:020  -19/2520:210  31/22680:400  97/15120:101
5 5   -1/1247400:050  1/623700:131  31/15400:022  -13/39600:212  -283/92400:103
5 4   1/498960:140  -5281/1247400:031  1747/1663200:221  1741/277200:112  -7339/4989600:302  551/46200:003
5 3   461/207900:040  -347/623700:230  -107/138600:121  -1/13860:311  -2323/69300:012  3827/415800:202
5 2   -461/138600:130  2077/2494800:320  173/5940:021  -467/59400:211  2759/4989600:401  -547/59400:102
5 1   -307/46200:030  691/138600:220  -1037/1247400:410  -2531/415800:111  1747/2494800:301  85/6237:002
5 0   307/92400:120  -403/207900:310  691/2494800:500  -37/5544:011  527/237600:201
"""
D_TERMS = """
1 1   1/6:100
1 0   -1/3:000
2 2   -1/60:110  -1/10:001
2 1   2/15:010  -1/60:200
2 0   -1/60:100
3 3   1/1260:120  1/42:011  -13/1260:201
3 2   -8/315:020  13/2520:210  11/252:101
3 1   -1/1260:110  1/1260:300  -22/315:001
3 0   1/35:010  -19/2520:200
4 4   -1/45360:130  -1/360:021  -1/7560:211  17/1680:102
4 3   8/2835:030  -1/1512:220  -23/1890:111  97/22680:301  -1/35:002
4 2   19/7560:120  -1/1512:310  89/1890:011  -19/1080:201
4 1   -2/105:020  37/7560:210  -1/45360:400  19/1260:101
4 0   3/560:110  -61/45360:300  -61/4536:001
5 5   1/2494800:140  17/83160:031  -37/166320:221  -79/92400:112  241/277200:302  -13/3850:003
5 4   -32/155925:040  251/4989600:230  2033/831600:121  -43/277200:311  293/23100:012  -1073/110880:202
5 3   -871/1247400:130  73/415800:320  -122/7425:021  1297/207900:211  -73/83160:401  2977/138600:102
5 2   12/1925:030  -293/166320:220  251/4989600:410  -383/41580:111  1037/415800:301  -1537/69300:002
5 1   -269/92400:120  259/356400:310  1/2494800:500  7883/415800:011  -691/166320:201
5 0   -2/825:020  317/184800:210  -173/623700:400  -109/166320:101
"""

Term = tuple[int, int, int, int, int]  # numerator, denominator, a, b, c
Table = dict[tuple[int, int], tuple[Term, ...]]  # by (k, j)


def _term(word: str) -> Term:
    ratio, powers = word.split(":")
    numerator, denominator = ratio.split("/")
    a, b, c = map(int, powers)
    return int(numerator), int(denominator), a, b, c


def _parse(text: str) -> Table:
    lines = [line.split() for line in text.strip().splitlines()]
    return {(int(k), int(j)): tuple(map(_term, words)) for k, j, *words in lines}


S, D = _parse(S_TERMS), _parse(D_TERMS)
COMMON = math.lcm(*(term[1] for table in (S, D) for polynomial in table.values() for term in polynomial))


def terms(order: int) -> int:
    """Number K of terms in the series for an order, `order = 2K + 2`."""
    if order not in range(2, MAX_ORDER + 1, 2):
        raise ValueError(f"order must be one of 2, 4, 6, 8, 10, 12, got {order!r}")
    return int(order) // 2 - 1


def series(inertia_principal: ArrayLike, order: int) -> tuple[Array, Array]:
    """Coefficients `sigma`, `delta` of one body, `(5, 6)`: entry `[k − 1, j]` multiplies `h²ᵏ Hʲ Cᵏ⁻ʲ`; zero past K.

    `inertia_principal` `(3,)`, kg m². The sums are exact (integers) and rounded once: each entry is the nearest float.
    """
    K = terms(order)
    moments, scale = _integers(_checked(inertia_principal))
    return _collapse(S, moments, scale, K), _collapse(D, moments, scale, K)


def _checked(inertia_principal: ArrayLike) -> list[float]:
    moments = np.asarray(inertia_principal, dtype=np.float64)
    if moments.shape != (3,):
        raise ValueError(f"inertia_principal must have shape (3,), got {moments.shape}")
    if not np.all((moments >= LEAST_MOMENT) & (moments <= GREATEST_MOMENT)):
        allowed = f"between {LEAST_MOMENT:g} and {GREATEST_MOMENT:g} kg m²"
        raise ValueError(f"inertia_principal must hold moments {allowed}, got {moments.tolist()}")
    return [float(moment) for moment in moments]


def _integers(moments: list[float]) -> tuple[list[int], int]:
    """Integers `n` and a power of two `scale` with `moments = n / scale` exactly."""
    ratios = [moment.as_integer_ratio() for moment in moments]
    scale = max(denominator for _, denominator in ratios)
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


def _collapse(table: Table, moments: list[int], scale: int, K: int) -> Array:
    i1, i2, i3 = moments
    e1, e2, e3 = i1 + i2 + i3, i1 * i2 + i2 * i3 + i3 * i1, i1 * i2 * i3
    out = np.zeros(SHAPE)
    for (k, j), polynomial in table.items():
        if k <= K:
            total = sum(n * (COMMON // m) * e1**a * e2**b * e3**c for n, m, a, b, c in polynomial)
            a, b, c = polynomial[0][2:]  # every term of a polynomial has the same weight in the moments
            out[k - 1, j] = total * scale ** (3 * k - a - 2 * b - 3 * c) / (COMMON * e3**k)  # int / int: rounded once
    return out


# Both kernels hold s and d in one loop: a shared helper for one sum would not be inlined and costs 20 ns more.
@kernel
def modified(K: int, sigma: Array, delta: Array, h: float, H: float, C: float) -> tuple[float, float]:
    """Scalars `s` (pure number) and `d`, 1/(kg m²), for the step `h`, s, at energy `H`, J, and `C = ½ p·p`.

    `Σ_k Σ_j sigma[k − 1, j] xʲ yᵏ⁻ʲ` with `x = h²H`, `y = h²C`: Horner in x, its coefficients by Horner in y.
    """
    x, y = h * h * H, h * h * C
    s, d = 0.0, 0.0
    for j in range(K, 0, -1):
        u, v = sigma[K - 1, j], delta[K - 1, j]
        for k in range(K - 2, j - 2, -1):
            u, v = u * y + sigma[k, j], v * y + delta[k, j]
        s, d = (s + u) * x, (d + v) * x
    u, v = 0.0, 0.0
    for k in range(K - 1, -1, -1):  # x⁰ has no term without y
        u, v = (u + sigma[k, 0]) * y, (v + delta[k, 0]) * y
    return s + u, d + v


@kernel
def modified_with_slopes(
    K: int, sigma: Array, delta: Array, h: float, H: float, C: float
) -> tuple[float, float, float, float, float, float]:
    """`s, d, ∂s/∂H, ∂s/∂C, ∂d/∂H, ∂d/∂C`: the same `s` and `d` as `modified`, to the last bit.

    Every line of Horner is differentiated before it is executed.
    """
    x, y = h * h * H, h * h * C
    s, s_x, s_y, d, d_x, d_y = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(K, 0, -1):
        u, u_y, v, v_y = sigma[K - 1, j], 0.0, delta[K - 1, j], 0.0
        for k in range(K - 2, j - 2, -1):
            u_y, v_y = u_y * y + u, v_y * y + v
            u, v = u * y + sigma[k, j], v * y + delta[k, j]
        s_x, d_x = s_x * x + (s + u), d_x * x + (d + v)
        s_y, d_y = (s_y + u_y) * x, (d_y + v_y) * x
        s, d = (s + u) * x, (d + v) * x
    u, u_y, v, v_y = 0.0, 0.0, 0.0, 0.0
    for k in range(K - 1, -1, -1):
        u, v = u + sigma[k, 0], v + delta[k, 0]
        u_y, v_y = u_y * y + u, v_y * y + v
        u, v = u * y, v * y
    hh = h * h
    return s + u, d + v, hh * s_x, hh * (s_y + u_y), hh * d_x, hh * (d_y + v_y)
