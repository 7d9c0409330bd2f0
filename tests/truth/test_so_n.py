"""SO(n) against 45-digit numbers, SciPy (DOP853, Riccati, matrix functions) and a plain quaternion integrator."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from attitude.truth import so_n
from attitude.truth.so_n import BodyN, Flow, System, forms, kernels
from attitude.truth.so_n.inverse import newton_inverse

LAMBDA = (1.0, 1.5, 2.2, 3.0, 3.7)
ATTITUDE = {
    3: (0.1, -0.2, 0.3),
    4: (0.1, -0.2, 0.3, 0.4, -0.5, 0.6),
    5: (0.1, -0.2, 0.3, 0.05, 0.4, -0.5, 0.15, 0.6, -0.25, 0.35),
}
MOMENTUM = {
    3: (0.5, -0.3, 0.4),
    4: (0.5, -0.3, 0.2, 0.4, 0.1, -0.6),
    5: (0.5, -0.3, 0.2, 0.7, 0.4, 0.1, -0.35, -0.6, 0.25, 0.45),
}
STEPS = {3: 100, 4: 100, 5: 20}
H = 0.1

# Computed with 45 digits: U_0 = J_D⁻¹(h M_0), state after N steps, continuous state at T = N h, tr(ΛU), energy.
REFERENCE = """
3 U0
0.99975584086583 0.02004065458377 -0.00930756780805
-0.01993901812434 0.99974191972875 0.01088712511659
0.00952335082230 -0.01069888316233 0.99989741458221
3 QN
-0.70997258085699 0.59393589106518 0.37839013165762
0.46749720735231 -0.00434487007026 0.88398387045345
0.52667380374293 0.80450063978140 -0.27457863180201
3 MN
-0.00000000000000 0.44567752200321 -0.49780858819699
-0.44567752200321 0.00000000000000 0.23142635091623
0.49780858819699 -0.23142635091623 0.00000000000000
3 QT
-0.70991590623879 0.59408935710030 0.37825552454566
0.46736799227562 -0.00438583535923 0.88405199182201
0.52686484591916 0.80438709601059 -0.27454477577662
3 MT
0.00000000000000 0.44568474296405 -0.49778872785471
-0.44568474296405 0.00000000000000 0.23145516263384
0.49778872785471 -0.23145516263384 0.00000000000000
3 action
4.69914303253983
3 energy
0.08568412162162
4 U0
0.99974339996170 0.02003620809969 -0.00928968071095 0.00503849484513
-0.01994568785046 0.99973936368694 0.01089779253057 0.00214763799611
0.00956270243591 -0.01068323762184 0.99983073846661 -0.01152898839201
-0.00488451546462 -0.00237139067445 0.01155137946545 0.99991853850571
4 QN
-0.25531096579621 0.37641620600604 0.71691664579813 0.52835373905916
-0.03160989665175 0.50247952387085 0.31720956015231 -0.80367483317083
0.96466146023852 0.16105961885479 0.16478906954773 0.12779917395051
0.05696834479220 -0.76150178405628 0.59854254692807 -0.24210836434871
4 MN
0.00000000000000 0.44569540264034 -0.48261091406733 -0.26634538041014
-0.44569540264034 -0.00000000000000 0.19176255636531 0.23201612490463
0.48261091406733 -0.19176255636531 0.00000000000000 -0.56293702292798
0.26634538041014 -0.23201612490463 0.56293702292798 -0.00000000000000
4 QT
-0.25540764793486 0.37654509415416 0.71680970774535 0.52836026376596
-0.03151510644732 0.50243667320937 0.31723961626146 -0.80369348221458
0.96465475964199 0.16087049915809 0.16496614364230 0.12785948792512
0.05670031871214 -0.76150631250395 0.59860591394346 -0.24200035055035
4 MT
0.00000000000000 0.44570574880952 -0.48260590712544 -0.26625346084017
-0.44570574880952 0.00000000000000 0.19180418022977 0.23203378025586
0.48260590712544 -0.19180418022977 0.00000000000000 -0.56295514896213
0.26625346084017 -0.23203378025586 0.56295514896213 0.00000000000000
4 action
7.69873568563578
4 energy
0.12641061734812
5 U0
0.99963204214631 0.02007605546308 -0.00930933826114 0.00501333350943 0.01486388306273
-0.01988591680537 0.99971727763552 0.01090905659531 0.00216246410289 -0.00679936342837
0.00951945582548 -0.01066671699354 0.99982199669617 -0.01154086785858 0.00428770345513
-0.00495999947172 -0.00234173846088 0.01153518019284 0.99989589888519 0.00671160761045
-0.01500363266790 0.00656157021002 -0.00415249873455 -0.00672235061377 0.99983468811581
5 QN
0.47051364893576 0.67912919217170 -0.27469703337937 0.25778069758955 0.41891657678849
0.09375266801519 0.45206111505022 0.77981753363156 -0.41688962631931 -0.07027687534123
0.08460047642307 -0.22074643373947 0.55148556064328 0.78768122198536 0.13977031270596
-0.87148934272318 0.36884410357385 -0.00371579733041 0.14865062000658 0.28696609346851
0.05635981116091 -0.38684535392050 0.11079721722831 -0.34236447993463 0.84716278445738
5 MN
-0.00000000000000 0.48196942933121 -0.34716261218076 0.17332016801639 0.76464363566608
-0.48196942933121 -0.00000000000000 0.36451846152689 0.15189767139820 -0.24108071483648
0.34716261218076 -0.36451846152689 0.00000000000000 -0.59877776138280 0.20801496808328
-0.17332016801639 -0.15189767139820 0.59877776138280 0.00000000000000 0.45176571669242
-0.76464363566608 0.24108071483648 -0.20801496808328 -0.45176571669242 0.00000000000000
5 action
11.39789239401522
5 energy
0.21072567354443
"""


def reference(n: int) -> dict[str, np.ndarray]:
    """The 45-digit numbers of one dimension by name."""
    blocks: dict[str, list[list[float]]] = {}
    name = ""
    for line in REFERENCE.strip().splitlines():
        words = line.split()
        if words[-1].isalnum() and words[-1][0].isalpha():
            name = line
        else:
            blocks.setdefault(name, []).append([float(w) for w in words])
    return {key.split()[1]: np.array(rows) for key, rows in blocks.items() if key.startswith(f"{n} ")}


def start(n: int) -> tuple[BodyN, np.ndarray, np.ndarray]:
    """Body, attitude and momentum: the reference ones, or seeded ones of the same size."""
    rng = np.random.default_rng(n)
    count = n * (n - 1) // 2
    Q = so_n.cayley(so_n.skew(ATTITUDE.get(n, 0.3 * rng.normal(size=count)), n))
    M = so_n.skew(MOMENTUM.get(n, rng.normal(size=count)), n)
    body = BodyN(LAMBDA[:n] if n <= 5 else np.linspace(1.0, 3.0, n))
    return body, Q, M if n in MOMENTUM else M / so_n.norm(M)


def sup(A: np.ndarray) -> float:
    return float(np.abs(A).max())


def gap(a: tuple, b: tuple) -> float:
    return max(sup(np.asarray(x) - np.asarray(y)) for x, y in zip(a, b, strict=True))


# ------------------------------------------------------------------ digits
@pytest.mark.parametrize("n", [3, 4, 5])
def test_discrete_motion_has_the_digits_of_the_45_digit_run(n: int) -> None:
    body, Q, M = start(n)
    numbers = reference(n)
    end = so_n.run(System.MDRB, body, Q, M, H, STEPS[n], STEPS[n])
    tolerance = 2e-14  # 14 decimals are printed; 100 steps add a few roundoffs of 1e-16
    assert sup(so_n.J_D_inverse(body, H * M) - numbers["U0"]) < tolerance
    assert sup(end.A[-1] - numbers["QN"]) < tolerance
    assert sup(end.B[-1] - numbers["MN"]) < tolerance
    assert abs(body.energy(end.B[-1]) - numbers["energy"][0, 0]) < tolerance
    assert abs(so_n.discrete_action(body, H * end.B[-1]) - numbers["action"][0, 0]) < tolerance


@pytest.mark.parametrize("n", [3, 4])
def test_continuous_motion_has_the_digits_of_the_45_digit_run(n: int) -> None:
    body, Q, M = start(n)
    end = so_n.integrate(Flow.RB, body, Q, M, [0.0, H * STEPS[n]])
    assert sup(end.A[-1] - reference(n)["QT"]) < 1e-12  # DOP853 at rtol 1e-13 over 10 s
    assert sup(end.B[-1] - reference(n)["MT"]) < 1e-12


# ------------------------------------------------------------------ J_D and its inverse
@pytest.mark.parametrize("n", [2, 3, 4, 6, 9, 12, 20, 32])
def test_inverse_of_J_D_solves_the_equation_and_is_the_riccati_solution(n: int) -> None:
    body, _, M = start(n)
    m = 0.8 * M
    U = so_n.J_D_inverse(body, m)
    assert sup(so_n.J_D(body, U) - m) < 1e-14
    assert sup(U.T @ U - np.eye(n)) < 1e-14
    # (7.14): S² + S m/2 − (m/2) S = m²/4 + Λ², whose stabilising solution SciPy finds from −S: A = −m/2, B = R = 1
    S = scipy.linalg.solve_continuous_are(-m / 2, np.eye(n), m @ m / 4 + np.diag(body.lam**2), np.eye(n))
    assert sup((S + m / 2) / body.lam - U) < 1e-11  # the accuracy of that solver


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("fraction", [0.5, 0.95, 0.999])
def test_inverse_of_J_D_up_to_the_border_of_the_domain(n: int, fraction: float) -> None:
    rng = np.random.default_rng(10 * n)
    for _ in range(5):
        body = BodyN(np.exp(rng.uniform(-1.5, 1.5, n)))
        M = so_n.skew(rng.normal(size=n * (n - 1) // 2), n)
        m = fraction * border(body, M) * M
        U = so_n.J_D_inverse(body, m)
        assert sup(so_n.J_D(body, U) - m) < 1e-14 * body.lam.max()
        assert np.linalg.eigvals(U * body.lam).real.min() > 0.0
        assert sup(U - so_n.J_D_inverse(body, m, method="schur")) < 1e-11  # conditioning near the border


def border(body: BodyN, M: np.ndarray) -> float:
    """Largest factor of M inside the domain of `J_D⁻¹`, by bisection of the exact condition."""
    inside, outside = 0.0, 1e3
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if so_n.spectral_gap(body, middle * M) > 1e-6 * body.lam.max():
            inside = middle
        else:
            outside = middle
    return inside


def test_a_run_goes_on_where_newton_needs_the_schur_form() -> None:
    body, Q, M = BodyN([0.1, 0.25, 0.6]), np.eye(3), so_n.skew([1.0, -0.4, 0.7], 3)
    m = 0.98 * border(body, M) * M
    assert so_n.definiteness(body, m) < 0.0  # outside the sufficient condition, inside the exact one
    assert newton_inverse(body, m)[1] == kernels.OTHER_BRANCH
    path = so_n.run(System.MDRB, body, Q, m, 1.0, 200)
    spatial = so_n.spatial_momentum(path.A, path.B)
    assert sup(spatial - spatial[0]) < 1e-12
    energy = np.array([body.energy(M) for M in path.B])
    assert sup(energy / energy[0] - 1.0) < 1e-11
    others = {System.SDRB: so_n.Psi_inverse(Q, m), System.MV1: (Q, path.A[1]), System.MV2: (path.A[1], m)}
    for system, pair in others.items():
        lag = int(system is System.MV2)
        end = so_n.run(system, body, *pair, 1.0, 200 - lag).A[-1]
        assert sup(end - path.A[-1]) < 1e-9  # 200 steps of roundoff, through a badly conditioned inverse


# ------------------------------------------------------------------ the discrete systems
@pytest.mark.parametrize("n", [3, 4, 6, 10])
def test_ten_thousand_steps_conserve_momentum_integrals_and_orthogonality(n: int) -> None:
    body, Q, M = start(n)
    Q, P = so_n.Psi_inverse(Q, M, H)
    path = so_n.run(System.SDRB, body, Q, P, H, 10_000, 100)
    A = so_n.symmetric_momentum(path.A, path.B)
    m = A - np.swapaxes(A, 1, 2)
    integrals = np.array([so_n.manakov_symmetric(body, Q, P) for Q, P in zip(path.A, path.B, strict=True)])
    assert sup(m - m[0]) / so_n.norm(m[0]) < 1e-11
    assert sup(integrals / integrals[0] - 1.0) < 1e-10
    assert sup(np.swapaxes(path.A, 1, 2) @ path.A - np.eye(n)) < 1e-11
    momenta = [H * so_n.Psi(path.A[k], path.B[k], H)[1] for k in (0, 50, -1)]
    assert np.ptp([so_n.discrete_hamiltonian(body, m) for m in momenta]) < 1e-13 * n


@pytest.mark.parametrize("n", [3, 4, 6])
def test_moser_veselov_is_of_second_order_and_the_printed_pairing_of_first(n: int) -> None:
    body, Q, M = start(n)
    T = 4.0
    exact = so_n.integrate(Flow.RB, body, Q, M, [0.0, T]).A[-1]
    counts = np.array([80, 160, 320, 640])

    def slope(system: System, first: tuple, lag: int) -> float:
        ends = [so_n.run(system, body, *first(T / k), T / k, k - lag, k - lag).A[-1] for k in counts]
        return float(np.polyfit(np.log(T / counts), np.log([sup(end - exact) for end in ends]), 1)[0])

    assert slope(System.MDRB, lambda h: (Q, M), 0) == pytest.approx(2.0, abs=0.05)
    assert slope(System.SDRB, lambda h: so_n.Psi_inverse(Q, M, h), 0) == pytest.approx(2.0, abs=0.05)
    assert slope(System.MV2, lambda h: so_n.algorithm_2_start(body, Q, M, h), 1) == pytest.approx(2.0, abs=0.05)
    assert slope(System.MV2, lambda h: (Q, M), 0) == pytest.approx(1.0, abs=0.05)


def test_so3_is_the_quaternion_variational_integrator() -> None:
    body, _, M = start(3)
    h, steps = 0.2, 10_000
    inertia = np.array([body.lam[1] + body.lam[2], body.lam[2] + body.lam[0], body.lam[0] + body.lam[1]])
    end = so_n.run(System.MDRB, body, np.eye(3), M, h, steps, steps)
    q, p = quaternion_integrator(inertia, np.array([M[2, 1], M[0, 2], M[1, 0]]), h, steps)
    x, y, z, w = q
    S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    assert sup(end.A[-1] - (np.eye(3) + 2.0 * w * S + 2.0 * S @ S)) < 1e-10
    assert sup(end.B[-1] - np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])) < 1e-10


def quaternion_integrator(inertia: np.ndarray, p: np.ndarray, h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Manchester–Peck's free step with diagonal inertia: solve `(2/h)(s Iφ + φ × Iφ) = p`, rotate `p` back by it."""
    x, y, z, w = 0.0, 0.0, 0.0, 1.0
    I = np.asarray(inertia)
    for _ in range(steps):
        phi = 0.5 * h * p / I
        for _ in range(6):
            s, a = np.sqrt(1.0 - phi @ phi), I * phi
            F = s * a + cross(phi, a) - 0.5 * h * p
            A = s * np.diag(I) - np.outer(a, phi) / s + matrix(phi) * I - matrix(a)
            change = np.linalg.solve(A, F)
            phi = phi - change
            if np.abs(change).max() < 1e-9:  # quadratic: the next would be under roundoff
                break
        u, v, t = phi
        s = np.sqrt(1.0 - phi @ phi)
        p = p - 2.0 * s * cross(phi, p) + 2.0 * cross(phi, cross(phi, p))
        x, y, z, w = (
            w * u + x * s + y * t - z * v, w * v - x * t + y * s + z * u,
            w * t + x * v - y * u + z * s, w * s - x * u - y * v - z * t,
        )  # fmt: skip
    return np.array([x, y, z, w]), p


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def matrix(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def test_a_plane_body_turns_at_a_constant_rate() -> None:
    body, h, rate = BodyN([0.5, 2.0]), 0.1, 0.7
    M = body.J(so_n.skew([-rate], 2))
    end = so_n.run(System.MDRB, body, np.eye(2), M, h, 100, 100).A[-1]
    angle = 100 * np.arcsin(h * rate)  # J_D(rotation by a) = (Λ1 + Λ2) sin a
    assert sup(end - [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) < 1e-12


@pytest.mark.parametrize("system", list(System))
def test_a_run_is_its_steps_to_the_last_bit(system: System) -> None:
    body, Q, M = start(4)
    pair = {System.MDRB: (Q, M), System.SDRB: so_n.Psi_inverse(Q, M, H), System.MV1: (Q, so_n.Phi(body, Q, M, H)[0])}
    A, B = pair.get(system, (Q, M))
    path = so_n.run(system, body, A, B, H if system is System.SDRB else 1.0, 6, 2)
    for _ in range(6):
        A, B = so_n.step(system, body, A, B)
    assert np.array_equal(path.A[-1], A)
    assert np.array_equal(path.B[-1], B)
    assert path.t.shape == (4,)


def test_kernels_have_one_signature() -> None:
    so_n.J_D_inverse(*start(3)[::2])
    so_n.J_D_inverse(*start(6)[::2])
    assert len(kernels.run.signatures) == 1


# ------------------------------------------------------------------ the maps
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 12])
def test_the_diagram_commutes(n: int) -> None:
    body, Q, M = start(n)
    h = 0.3
    Q1 = so_n.Phi(body, Q, M, h)[0]
    hamilton, lagrange, momentum = so_n.psi(body, Q, Q1), so_n.phi_L(body, Q, Q1), so_n.Sigma_L(body, Q, Q1, h)
    tolerance = 1e-13  # a few roundoffs over h
    assert gap(momentum, so_n.Phi(body, Q, M, h)) < tolerance
    assert gap(so_n.Sigma_H(*hamilton, h), momentum) < tolerance
    assert gap(so_n.phi_H(body, *hamilton), so_n.psi(body, *lagrange)) < tolerance
    assert gap(so_n.Phi(body, *momentum, h), so_n.Sigma_L(body, *lagrange, h)) < tolerance
    face = so_n.Sigma_H(*so_n.phi_H(body, *hamilton), h)
    assert gap(so_n.Phi(body, *so_n.Sigma_H(*hamilton, h), h), face) < tolerance
    assert gap(so_n.Psi_inverse(*so_n.Psi(*hamilton, h), h), hamilton) < tolerance


@pytest.mark.parametrize("n", [3, 4])
def test_the_maps_are_symplectic(n: int) -> None:
    body, Q, M = start(n)
    m, Q1 = 0.3 * M, so_n.Phi(body, Q, M, 0.3)[0]
    P = so_n.Psi_inverse(Q, m)[1]
    rng = np.random.default_rng(7)
    v, w = (tuple(so_n.skew(rng.normal(size=n * (n - 1) // 2), n) for _ in range(2)) for _ in range(2))
    L, groups, mixed = forms.lagrangian_form(body), (True, True), (True, False)

    def pulled(form: forms.Form, f: forms.Map, point: forms.Pair, of: tuple, to: tuple) -> float:
        return forms.pulled_back(form, f, point, (v, w), of, to)

    tolerance = 1e-8  # fourth-order differences with step 1e-3
    two_L, two_gl = 2.0 * L((Q, Q1), v, w), 2.0 * forms.gl_form((Q, P), v, w)
    assert abs(two_L) > 0.1
    assert pulled(forms.canonical_form, so_n.Psi, (Q, P), groups, mixed) == pytest.approx(two_gl, abs=tolerance)
    legendre = pulled(forms.canonical_form, lambda a, b: so_n.Sigma_L(body, a, b), (Q, Q1), groups, mixed)
    assert legendre == pytest.approx(two_L, abs=tolerance)
    step = pulled(forms.canonical_form, lambda a, b: so_n.Phi(body, a, b, 1.0), (Q, m), mixed, mixed)
    assert step == pytest.approx(forms.canonical_form((Q, m), v, w), abs=tolerance)


@pytest.mark.parametrize("n", [2, 3, 6, 11])
def test_exp_asinh_against_scipy(n: int) -> None:
    _, _, M = start(n)
    m = 1.6 * M / so_n.norm(M)
    asinh = scipy.linalg.logm(m / 2 + scipy.linalg.sqrtm(np.eye(n) + m @ m / 4))
    S = so_n.exp_asinh(m)
    assert sup(S - scipy.linalg.expm(asinh)) < 1e-12
    assert sup(S - S.T - m) < 1e-14
    assert sup(S.T @ S - np.eye(n)) < 1e-14


@pytest.mark.parametrize("angles", [(0.3, -2.0), (np.pi, 1.0), (np.pi, np.pi), (0.0, 3.14)])
def test_log_rotation_inverts_the_exponential(angles: tuple[float, float]) -> None:
    V = so_n.cayley(so_n.skew(np.random.default_rng(1).normal(size=10), 5))
    K = np.zeros((5, 5))
    K[1, 0], K[3, 2] = angles
    R = scipy.linalg.expm(V @ (K - K.T) @ V.T)
    log = so_n.log_rotation(R)
    assert sup(log + log.T) < 1e-14
    assert sup(scipy.linalg.expm(log) - R) < 1e-12
    assert so_n.norm(log) <= np.pi + 1e-12


# ------------------------------------------------------------------ the continuous systems
@pytest.mark.parametrize("n", [3, 5])
def test_continuous_systems_agree(n: int) -> None:
    body, Q, M = start(n)
    times = [0.0, 2.5, 5.0]
    left = so_n.integrate(Flow.RB, body, Q, M, times)
    pair = so_n.Psi_inverse(Q, M)
    symmetric = so_n.integrate(Flow.SRB, body, *pair, times)
    right = so_n.integrate(Flow.RIGHT_RB, body, *so_n.left_to_right(Q, M), times)
    right_symmetric = so_n.integrate(Flow.RIGHT_SRB, body, *so_n.left_to_right(*pair), times)
    costate = so_n.integrate(Flow.MCLACHLAN_SCOVEL, body, *so_n.momentum_to_costate(*pair), times)
    tolerance = 1e-11  # DOP853 at rtol 1e-13 over 5 s
    end = (left.A[-1], left.B[-1])
    assert gap(so_n.Psi(symmetric.A[-1], symmetric.B[-1]), end) < tolerance
    assert gap(so_n.left_to_right(right.A[-1], right.B[-1]), end) < tolerance
    assert sup(so_n.left_to_right(right_symmetric.A[-1], right_symmetric.B[-1])[0] - end[0]) < tolerance
    assert gap((costate.A[-1], costate.A[-1].T @ costate.B[-1]), end) < tolerance


def test_euler_equations_for_n_3() -> None:
    body, Q, M = start(3)
    p = np.array([M[2, 1], M[0, 2], M[1, 0]])
    inertia = np.array([body.lam[1] + body.lam[2], body.lam[2] + body.lam[0], body.lam[0] + body.lam[1]])
    torque_free = np.cross(p, p / inertia)
    dM = so_n.vector_field(Flow.RB, body)(Q, M)[1]
    assert sup(np.array([dM[2, 1], dM[0, 2], dM[1, 0]]) - torque_free) < 1e-15


def test_coupled_double_bracket_for_complex_rectangular_matrices() -> None:
    rng = np.random.default_rng(59)
    Q, P = (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)) for _ in range(2))
    lam_U, lam_V = (0.8, 1.3), (0.5, 1.0, 1.7)
    plain = so_n.coupled_field(lam_U, lam_V)
    double = so_n.double_bracket_field(lam_U, lam_V, 2)
    assert gap(tuple(so_n.hat(x) for x in plain(Q, P)), double(so_n.hat(Q), so_n.hat(P))) < 1e-13
    path = so_n.integrate_field(plain, Q, P, [0.0, 0.5, 1.0], rtol=1e-12, atol=1e-13)
    singular = [np.linalg.svd(A, compute_uv=False) for A in path.A]  # Q moves by unitary factors on both sides
    assert sup(singular[-1] - singular[0]) < 1e-10
    cost = [coupled_hamiltonian(A, B, lam_U, lam_V) for A, B in zip(path.A, path.B, strict=True)]
    assert np.ptp(cost) < 1e-10


def coupled_hamiltonian(Q: np.ndarray, P: np.ndarray, lam_U: tuple, lam_V: tuple) -> float:
    """`⟨U, J_U U⟩ + ⟨V, J_V V⟩` at the optimal controls."""
    total = 0.0
    for lam, X in ((lam_U, P @ Q.conj().T - Q @ P.conj().T), (lam_V, P.conj().T @ Q - Q.conj().T @ P)):
        total += float(np.sum(np.abs(X) ** 2 / np.add.outer(lam, lam)))
    return total


def test_scaling_into_the_domain() -> None:
    body, Q, M = start(4)
    large = 9.0 * M
    with pytest.raises(ValueError, match="below 2"):
        so_n.Psi_inverse(Q, large)
    epsilon, small = so_n.scale_into_domain(large, 1.5)
    assert so_n.norm(small) == pytest.approx(1.5, rel=1e-14)
    fast = so_n.integrate(Flow.RB, body, Q, large, [0.0, 1.0])
    slow = so_n.integrate(Flow.SRB, body, *so_n.Psi_inverse(Q, small), [0.0, 1.0 / epsilon])
    assert sup(fast.A[-1] - slow.A[-1]) < 1e-11
    h = 0.999 * so_n.safe_step(body, large, symmetric=True)
    so_n.run(System.SDRB, body, *so_n.Psi_inverse(Q, large, h), h, 100)


# ------------------------------------------------------------------ integrals
def test_manakov_integrals_of_three_dimensions_are_energy_and_casimir() -> None:
    body, _, M = start(3)
    values = dict(zip(so_n.manakov_powers(3), so_n.manakov_integrals(body, M), strict=True))
    p = np.array([M[2, 1], M[0, 2], M[1, 0]])
    assert values[2, 0] == pytest.approx(-2.0 * p @ p, rel=1e-14)
    assert values[3, 1] == pytest.approx(3.0 * np.trace(M @ M @ np.diag(body.lam**2)), rel=1e-14)


@pytest.mark.parametrize("n", [4, 6])
def test_manakov_integrals_against_traces_and_differences(n: int) -> None:
    body, _, M = start(n)
    N, x = np.diag(body.lam**2), 0.37
    powers, values = so_n.manakov_powers(n), so_n.manakov_integrals(body, M)
    for k in range(2, n + 1):
        by_parts = sum(v * x**j for (kk, j), v in zip(powers, values, strict=True) if kk == k)
        whole = np.trace(np.linalg.matrix_power(M + x * N, k)) - x**k * np.trace(np.linalg.matrix_power(N, k))
        assert by_parts == pytest.approx(whole, rel=1e-11, abs=1e-12)
    X = so_n.skew(np.random.default_rng(4).normal(size=n * (n - 1) // 2), n)
    d = 1e-5
    slopes = (so_n.manakov_integrals(body, M + d * X) - so_n.manakov_integrals(body, M - d * X)) / (2.0 * d)
    ours = [so_n.pairing(G, X) for G in so_n.manakov_gradients(body, M)]
    np.testing.assert_allclose(ours, slopes, rtol=1e-6, atol=1e-6 * sup(slopes))  # central difference, d² = 1e-10


# ------------------------------------------------------------------ optimal control
@pytest.mark.parametrize("n", [3, 4, 5])
def test_optimal_steps_reach_the_target_and_are_a_maximum(n: int) -> None:
    body, Q0, _ = start(n)
    rng = np.random.default_rng(n)
    for _ in range(5):
        QN = so_n.cayley(so_n.skew(0.4 * rng.normal(size=n * (n - 1) // 2), n))
        best = so_n.optimal_steps(body, Q0, QN, 20, 0.1)
        assert sup(best.Q[-1] - QN) < 1e-11
        assert sup(best.Q[0] - Q0) == 0.0
        moved = best.Q.copy()
        for k in range(1, 20):
            moved[k] = moved[k] @ scipy.linalg.expm(1e-3 * so_n.skew(rng.normal(size=n * (n - 1) // 2), n))
        assert np.einsum("kij,j,kij->", best.Q[:-1], body.lam, best.Q[1:]) == pytest.approx(best.cost, rel=1e-13)
        assert np.einsum("kij,j,kij->", moved[:-1], body.lam, moved[1:]) < best.cost


def test_optimal_motion_of_a_round_body_is_the_one_parameter_group() -> None:
    body, Q0, _ = BodyN([0.7] * 4), *start(4)[1:]
    K = so_n.skew([0.5, -0.2, 0.3, 0.4, 0.1, -0.6], 4)
    best = so_n.optimal_motion(body, Q0, Q0 @ scipy.linalg.expm(K), 2.0)
    assert sup(best.M[0] - body.J(K / 2.0)) < 1e-10
    assert sup(best.Q[50] - Q0 @ scipy.linalg.expm(K / 2.0)) < 1e-10
    assert best.cost == pytest.approx(0.25 * 2.0 * so_n.pairing(K / 2.0, body.J(K / 2.0)), rel=1e-10)


def test_discrete_optimum_tends_to_the_continuous_one() -> None:
    body, Q0, _ = start(4)
    QT = Q0 @ so_n.cayley(so_n.skew([0.3, -0.1, 0.2, 0.25, -0.2, 0.1], 4))
    exact = so_n.optimal_motion(body, Q0, QT, 2.0)
    errors = [sup(so_n.optimal_steps(body, Q0, QT, k, 2.0 / k).M[0] - exact.M[0]) for k in (20, 40)]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.1)  # second order


# ------------------------------------------------------------------ bad input
def bad(**changes: object) -> tuple:
    body, Q, M = start(3)
    given = {"system": System.MDRB, "body": body, "A": Q, "B": M, "h": 0.1} | changes
    return tuple(given.values())


FLAWED = np.eye(3) + 1e-6
FAR = so_n.cayley(so_n.skew([0.0, 0.0, 5.0], 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": FLAWED}, "Q must be orthogonal"),
        ({"A": np.diag([1.0, 1.0, -1.0])}, "Q must be a rotation"),
        ({"A": np.eye(4)}, r"Q must have shape \(3, 3\)"),
        ({"A": np.full((3, 3), np.nan)}, "Q must be finite"),
        ({"B": np.ones((3, 3))}, "M must be skew"),
        ({"h": 0.0}, "h must be positive"),
        ({"h": -0.1}, "h must be positive"),
        ({"h": np.nan}, "h must be positive"),
        ({"h": 50.0}, "outside the domain of the inverse of J_D"),
        ({"body": BodyN([-0.1, 0.5, 1.0])}, "lam must be positive for the discrete systems"),
        ({"system": System.SDRB, "B": FAR}, "QᵀP"),
        ({"system": System.MV1, "B": FAR}, "too far apart"),
    ],
)
def test_bad_states_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        so_n.step(*bad(**changes))


@pytest.mark.parametrize("lam", [[1.0, -1.0, 3.0], [1.0], [[1.0, 2.0]], [1.0, np.inf], [0.0, 0.0, 1.0]])
def test_bad_bodies_are_refused(lam: list) -> None:
    with pytest.raises(ValueError, match="lam must"):
        BodyN(lam)


def test_other_bad_input_is_refused() -> None:
    body, Q, M = start(3)
    with pytest.raises(ValueError, match="outside the domain"):
        so_n.J_D_inverse(body, 20.0 * M)
    with pytest.raises(ValueError, match="method must be"):
        so_n.J_D_inverse(body, M, method="guess")
    with pytest.raises(ValueError, match="steps must be"):
        so_n.run(System.MDRB, body, Q, M, 0.1, 0)
    with pytest.raises(ValueError, match="times must be"):
        so_n.integrate(Flow.RB, body, Q, M, [1.0, 0.0])
    with pytest.raises(ValueError, match="size must be"):
        so_n.scale_into_domain(M, 2.0)
    with pytest.raises(ValueError, match="lam_U must be positive"):
        so_n.coupled_field([-0.1, 1.0], None)


@pytest.mark.parametrize("system", [99, -1, "RBn"])
def test_unknown_system_is_refused(system):
    body = so_n.BodyN([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="system must be one of"):
        so_n.run(system, body, np.eye(3), np.zeros((3, 3)), 0.1, 1)
