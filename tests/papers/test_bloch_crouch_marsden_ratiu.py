"""Every statement of Bloch, Crouch, Marsden, Ratiu 2002 that can be measured holds, and the figures are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from sims.papers import bloch_crouch_marsden_ratiu as paper
from sims.papers.table import Paper

FEWEST_ROWS = 120  # 37 digits, 65 statements, 20 conserved quantities: none may get lost


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[Paper, Path, list[float]]:
    out = tmp_path_factory.mktemp("bcmr")
    fractions: list[float] = []
    return paper.reproduce(out, lambda _, fraction: fractions.append(fraction)), out, fractions


def test_every_row_holds(result: tuple[Paper, Path, list[float]]) -> None:
    table = result[0]
    assert [row for row in table.rows if not row.passed] == []
    assert len(table.rows) >= FEWEST_ROWS
    assert len({row.quantity for row in table.rows}) == len(table.rows)
    assert table.name == paper.NAME


def test_figures_are_drawn_and_progress_is_told(result: tuple[Paper, Path, list[float]]) -> None:
    table, out, fractions = result
    assert len(table.figures) == 3
    assert all((out / figure).stat().st_size > 10_000 for figure in table.figures)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
