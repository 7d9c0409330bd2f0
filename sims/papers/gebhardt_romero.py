"""Gebhardt and Romero 2020: every number of tables 1 to 9, the conservation laws and figures 1 to 12.

The loads are those that give the printed results: the coefficients of (115) and (118) are printed 20 times too large.
The print cuts digits off instead of rounding, and its quotients of precision were taken from output with 8 decimals:
from our output rounded alike they come out digit by digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attitude.core import quaternion
from attitude.core.jit import Array
from attitude.truth.directors import (
    DirectorBody,
    DirectorState,
    DirectorTrajectory,
    energy_momentum,
    lagrange_dalembert,
    second_quotient,
)
from sims.papers.drawing import save
from sims.papers.table import Paper, Progress, Row, bound, close, digits, statement

NAME = "gebhardt-romero"
TITLE = "Gebhardt and Romero (2020): The rotating rigid body model based on a non-twisting frame"

STEP, END = 0.005, 5.0  # s
STEPS, STEPS_PER_SECOND = 1000, 200
BODY = DirectorBody(inertia=np.array([[3.0, -1 / 7, 0.0], [-1 / 7, 4.0, 0.0], [0.0, 0.0, 5.0]]))  # (111)
RATE = {1: (6.0, -18.0, 0.0), 2: (0.0, 0.0, 0.0), 3: (1.5, 4.5, 0.0)}  # rad/s (112), (114), (117)
LOAD = {1: (0.0, 0.0, 0.0), 2: (-123.625, -53.75, 0.0), 3: (-61.8125, -26.875, 0.0)}  # N m (113), (115), (118) / 20

QUOTIENTS = {  # tables 1, 3, 5: t = 1 to 5 s
    1: ("3.994933", "3.994869", "3.994787", "3.994663", "3.994504"),
    2: ("3.987886", "3.985379", "3.984407", "3.983255", "3.981796"),
    3: ("3.998023", "3.997424", "3.997327", "3.997289", "3.997247"),
}
FULL_QUOTIENTS = {  # the same without rounding the output
    1: (3.99492832, 3.99487518, 3.99478662, 3.99466263, 3.99450323),
    2: (3.98787904, 3.98537992, 3.98440743, 3.98325555, 3.98179623),
    3: (3.99797039, 3.99740948, 3.99732350, 3.99728581, 3.99725627),
}
STATIONARY = {  # tables 2, 4, 6: Π1, Π2, K, the same five times
    1: ("20.571428", "-72.857142", "717.428571"),
    2: ("-61.749731", "-26.845155", "746.591699"),
    3: ("-27.042702", "4.351472", "123.059926"),
}
COMPARISON = {  # tables 7, 8, 9: Π1, Π2, H, K
    1: {
        "EM": ("20.571428", "-72.857142", "717.428571", "717.428571"),
        "DLA": ("20.571428", "-72.857142", "717.428571", "719.050090"),
    },
    2: {
        "EM": ("-61.749731", "-26.845155", "746.591699", "746.591699"),
        "DLA": ("-61.748707", "-26.847264", "746.585994", "748.905662"),
    },
    3: {
        "EM": ("-27.042702", "4.351472", "123.059926", "123.059926"),
        "DLA": ("-27.043073", "4.350837", "123.062771", "123.125281"),
    },
}


# ------------------------------------------------------------------ runs
@dataclass(frozen=True)
class Case:
    """One case of section 6: both schemes at h, the directors at the nodes of h from h, h/2, h/4, and the quotients."""

    number: int
    em: DirectorTrajectory
    dla: DirectorTrajectory
    refined: list[Array]
    quotient: Array
    dla_quotient: Array

    @property
    def free(self) -> slice:
        """Nodes with no load in the step on either side."""
        return slice(0 if self.number == 1 else STEPS_PER_SECOND + 1, None)


def pulse(t: Array) -> Array:
    """Shape of the load, 1 at 0.5 s and 0 from 1 s on (116)."""
    return np.clip(1.0 - np.abs(2.0 * t - 1.0), 0.0, None)


def moment(number: int, t: Array) -> Array:
    """Moment along the directors, N m, `(N, 3)`."""
    return pulse(t)[:, None] * np.array(LOAD[number])


def integrate(scheme: Callable[..., DirectorTrajectory], number: int, divisor: int = 1) -> DirectorTrajectory:
    """One case with the step divided by `divisor`."""
    start = DirectorState.from_attitude([0.0, 0.0, 0.0, 1.0], RATE[number])
    load = partial(moment, number)
    return scheme(BODY, start, h=STEP / divisor, steps=STEPS * divisor, moment=load, non_twisting=True)


def run_case(number: int) -> Case:
    """All runs of one case."""
    em, dla = ([integrate(scheme, number, k) for k in (1, 2, 4)] for scheme in (energy_momentum, lagrange_dalembert))
    refined, dla_refined = ([run.directors[::k] for run, k in zip(runs, (1, 2, 4), strict=True)] for runs in (em, dla))
    quotients = (second_quotient(*(xi[1:] for xi in runs)) for runs in (refined, dla_refined))
    return Case(number, em[0], dla[0], refined, *quotients)


# ------------------------------------------------------------------ rows
def quotient_rows(case: Case) -> list[Row]:
    """Tables 1, 3, 5, from output with 8 decimals, and against the values of unrounded output."""
    table = 2 * case.number - 1
    seconds = slice(STEPS_PER_SECOND, None, STEPS_PER_SECOND)
    printed = second_quotient(*(np.round(xi[seconds], 8) for xi in case.refined))
    full = case.quotient[STEPS_PER_SECOND - 1 :: STEPS_PER_SECOND]
    rows = []
    for i, (digit, target) in enumerate(zip(QUOTIENTS[case.number], FULL_QUOTIENTS[case.number], strict=True)):
        where = f"Table {table}, case {case.number}, t = {i + 1} s: QII"
        rows.append(digits(f"{where} from 8-decimal output", digit, printed[i], truncated=True))
        known = f"{target:.8f} (full precision; the print has {digit})"
        rows.append(close(f"{where} from full output, within 1e-6", known, full[i], target, 1e-6))
    return rows


def stationary_rows(case: Case) -> list[Row]:
    """Tables 2, 4, 6."""
    rows = []
    for second in range(1, 6):
        node = second * STEPS_PER_SECOND
        ours = (*case.em.momentum_B[node, :2], case.em.energy[node])
        for name, printed, value in zip(("Π1", "Π2", "K"), STATIONARY[case.number], ours, strict=True):
            where = f"Table {2 * case.number}, case {case.number}, t = {second} s: {name}"
            rows.append(digits(where, printed, value, truncated=True))
    return rows


def comparison_rows(case: Case) -> list[Row]:
    """Tables 7, 8, 9."""
    rows = []
    for scheme, run in (("EM", case.em), ("DLA", case.dla)):
        ours = (*run.momentum_B[-1, :2], run.hamiltonian[-1], run.energy[-1])
        for name, printed, value in zip(("Π1", "Π2", "H", "K"), COMPARISON[case.number][scheme], ours, strict=True):
            where = f"Table {6 + case.number}, case {case.number}, {scheme}: {name}"
            rows.append(digits(where, printed, value, truncated=True))
    return rows


def spread(values: Array) -> float:
    """Largest minus smallest."""
    return float(np.ptp(values))


def drift_rows(case: Case) -> list[Row]:
    """Conservation of the free motion and orthonormality of all of it, both schemes."""
    rows = []
    for scheme, run in (("EM", case.em), ("DLA", case.dla)):
        where = f"Case {case.number}, {scheme}, free motion"
        rows.append(bound(f"{where}: drift of K, J", "constant (95a)", spread(run.energy[case.free]), 1e-10))
        rows.append(bound(f"{where}: drift of H, J", "constant (129)", spread(run.hamiltonian[case.free]), 1e-10))
        for k in range(2):
            # a load that turns leaves a twist of O(h²) in the nodal velocities: see caveat_row
            limit = 1e-9 if scheme == "EM" and case.number == 3 else 1e-11
            drift = spread(run.momentum_B[case.free, k])
            rows.append(bound(f"{where}: drift of Π{k + 1}, kg m²/s", "constant (95b, c)", drift, limit))
        miss = float(run.orthonormality.max())
        rows.append(bound(f"Case {case.number}, {scheme}: orthonormality", "h(q) = 0 (64d)", miss, 1e-14))
    return rows


def twist_row(case: Case) -> Row:
    """The constraint, as the schemes impose it: on the step."""
    D = case.em.directors
    miss = np.einsum("na,na->n", D[:-1, 1], D[1:, 0]) - np.einsum("na,na->n", D[:-1, 0], D[1:, 1])
    return bound(f"Case {case.number}, EM: twist in a step", "zero (94)", float(np.abs(miss).max()), 1e-14)


def caveat_row(case: Case) -> Row:
    """Theorem 9 is exact only if the nodal velocity obeys the constraint: run case 3 on, without the twist it has."""
    node = STEPS_PER_SECOND
    start = DirectorState.from_attitude(case.em.q[node], case.em.omega_B[node] * (1.0, 1.0, 0.0))
    clean = energy_momentum(BODY, start, h=STEP, steps=STEPS - node, non_twisting=True)
    kept, clean_kept = (spread(m) for m in (case.em.momentum_B[case.free, 1], clean.momentum_B[:, 1]))
    ours = f"Π2 drifts {kept:.2g} with the twist the load left, {clean_kept:.2g} without it"
    return statement("Theorem 9, case 3 after the load", "Π2 constant", ours, clean_kept <= 1e-11 < kept < 1e-9)


def turn_rows(case: Case) -> list[Row]:
    """Angle per step of the free case 1 against the closed forms."""
    rows = []
    turn = STEP * float(np.linalg.norm(RATE[1]))
    em, dla = 2.0 * math.atan(turn / 2.0), math.asin(turn)
    for scheme, run, name, target in (("EM", case.em, "2 arctan(hω/2)", em), ("DLA", case.dla, "arcsin(hω)", dla)):
        turns = quaternion.angle_between(run.q[:-1], run.q[1:])
        worst = float(turns[np.argmax(np.abs(turns - target))])
        rows.append(close(f"Case 1, {scheme}: turn per step, rad, worst of {STEPS}", name, worst, target, 1e-14))
    return rows


def plane_row(case: Case, nodes: slice, limit: float) -> Row:
    """Distance of d3 from the best plane through the centre of the sphere."""
    d3 = case.em.directors[nodes, 2]
    normal = np.linalg.svd(d3)[2][2]
    what = f"Case {case.number}, EM: distance of d3 from the plane of a great circle"
    return bound(what, "geodesic", float(np.abs(d3 @ normal).max()), limit)


def statement_rows(cases: Sequence[Case]) -> list[Row]:
    """What section 6 says in words."""
    every = slice(None)
    # the averaged directors of the load are a little short across the rotation, so case 2 is plane to O(h²) only
    planes = zip(cases, (every, every, cases[2].free), (1e-12, 1e-5, 1e-10), strict=True)
    rows = [plane_row(case, nodes, limit) for case, nodes, limit in planes]
    for case in cases:
        worst = float(np.abs(case.dla_quotient[STEPS_PER_SECOND - 1 :] - 4.0).max())
        rows.append(bound(f"Case {case.number}, DLA: QII − 4 from 1 s on", "4, approximately", worst, 0.02))
    em, dla = (float(quaternion.angle_between(run.q[0], run.q[1])) for run in (cases[0].em, cases[0].dla))
    rows.append(statement("Case 1: who oscillates slower", "EM", f"EM {em:.8f}, DLA {dla:.8f} rad per step", em < dla))
    return rows


def all_rows(cases: Sequence[Case]) -> list[Row]:
    """Tables first, in the order of the paper, then laws, closed forms and statements."""
    rows = [row for case in cases for row in quotient_rows(case) + stationary_rows(case)]
    rows += [row for case in cases for row in comparison_rows(case)]
    rows += [row for case in cases for row in [*drift_rows(case), twist_row(case)]]
    return [*rows, caveat_row(cases[2]), *turn_rows(cases[0]), *statement_rows(cases)]


# ------------------------------------------------------------------ figures
def _pair() -> tuple[Figure, Any, Any]:
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        axes.set_xlabel("time t [s]")
        axes.grid(alpha=0.3)
    return figure, left, right


def _save(figure: Figure, out: Path, number: int) -> Path:
    return save(figure, out, f"{NAME}-fig{number:02d}.png")


def draw_momenta(case: Case, out: Path) -> Path:
    """Figures 1, 4, 7: spatial and material angular momentum."""
    figure, left, right = _pair()
    panels = ((left, "Spatial", case.em.momentum_I, "π"), (right, "Material", case.em.momentum_B, "Π"))
    for axes, kind, momenta, symbol in panels:
        for k, style in enumerate(("-", "--", "-.")):
            axes.plot(case.em.t, momenta[:, k], style, label=f"{symbol}{k + 1}")
        axes.set_title(f"Case {case.number}: {kind.lower()} components")
        axes.set_ylabel(f"{kind} angular momentum [kg m²/s]")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _save(figure, out, 3 * case.number - 2)


def draw_energy(case: Case, out: Path) -> Path:
    """Figures 2, 5, 8: kinetic energy and second quotient of precision."""
    figure, left, right = _pair()
    left.plot(case.em.t, case.em.energy)
    left.set_ylim(0.0, 1.25 * case.em.energy.max())
    left.set_title(f"Case {case.number}: kinetic energy")
    left.set_ylabel("Kinetic energy K [J]")
    right.plot(case.em.t[1:], case.quotient)
    right.set_ylim(3.9, 4.1)
    right.set_title(f"Case {case.number}: second quotient of precision")
    right.set_ylabel("QII [-]")
    return _save(figure, out, 3 * case.number - 1)


def draw_sphere(case: Case, out: Path) -> Path:
    """Figures 3, 6, 9: path of d3 on the unit sphere."""
    figure = Figure(figsize=(6.0, 5.6), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d", computed_zorder=False)  # the path over the sphere
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 37), np.linspace(0.0, np.pi, 19))
    axes.plot_wireframe(np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v), color="0.8", linewidth=0.4)
    axes.plot(*case.em.directors[:, 2].T, linewidth=1.4)
    axes.scatter(*case.em.directors[0, 2], color="tab:red", label="t = 0", zorder=5)
    axes.set(xlabel="x [-]", ylabel="y [-]", zlabel="z [-]", title=f"Case {case.number}: trajectory of d3 on S²")
    axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], zticks=[-1, 0, 1])
    axes.set_box_aspect((1, 1, 1), zoom=0.97)
    axes.legend(loc="upper right")
    return _save(figure, out, 3 * case.number)


def draw_comparison(case: Case, component: int, out: Path) -> Path:
    """Figures 10, 11, 12: one component of d3 by both schemes, all of it and the last second."""
    figure, left, right = _pair()
    for axes, start in ((left, 0.0), (right, END - 1.0)):
        for run, label, style in ((case.em, "EM", "-"), (case.dla, "DLA", "--")):
            axes.plot(run.t, run.directors[:, 2, component], style, label=label)
        axes.set_xlim(start, END)
        axes.set_title(f"Case 1: d3, component {component + 1}, t = {start:g} s to {END:g} s")
        axes.set_ylabel(f"d3, component {component + 1} [-]")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _save(figure, out, 10 + component)


def draw(cases: Sequence[Case], out: Path, progress: Progress) -> list[Path]:
    """All twelve figures, in the order of the paper."""
    jobs: list[Callable[[], Path]] = [
        partial(painter, case, out) for case in cases for painter in (draw_momenta, draw_energy, draw_sphere)
    ]
    jobs += [partial(draw_comparison, cases[0], component, out) for component in range(3)]
    figures = []
    for i, job in enumerate(jobs):
        progress(f"figure {i + 1}", 0.5 + 0.5 * i / len(jobs))
        figures.append(job())
    return figures


def reproduce(out: Path, progress: Progress) -> Paper:
    """Run the three cases, compare with tables 1 to 9, draw figures 1 to 12 into `out`."""
    cases = []
    for number in (1, 2, 3):
        progress(f"case {number}", 0.15 * (number - 1))
        cases.append(run_case(number))
    paper = Paper(NAME, TITLE, all_rows(cases), draw(cases, out, progress))
    progress("done", 1.0)
    return paper
