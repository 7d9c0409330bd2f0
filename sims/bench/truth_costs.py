"""What the truth models cost: the full body against DOP853, SO(n) against its dimension."""

from __future__ import annotations

from dataclasses import dataclass

from sims.bench import full_body_cost, so_n_cost
from sims.papers.lee_leok_mcclamroch import END
from sims.papers.table import Progress


@dataclass(frozen=True)
class Plan:
    """End time of the dumbbells' motion and the dimensions of SO(n)."""

    end: float
    dimensions: tuple[int, ...]


QUICK = Plan(1.0, (3, 6, 12))
FULL = Plan(END, so_n_cost.DIMENSIONS)


@dataclass(frozen=True)
class TruthCosts:
    """Both tables, and the exponent of the power law through all dimensions."""

    full_body: list[full_body_cost.Cost]
    so_n: list[so_n_cost.StepCost]
    so_n_growth: float


def truth_costs(plan: Plan, progress: Progress) -> TruthCosts:
    """Measure both."""
    progress("full body against DOP853", 0.0)
    full_body = full_body_cost.cost_table(plan.end)
    progress("SO(n) against n", 0.6)
    so_n = so_n_cost.step_costs(plan.dimensions)
    return TruthCosts(full_body, so_n, so_n_cost.growth(so_n))
