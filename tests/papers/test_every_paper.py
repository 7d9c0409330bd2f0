"""What holds for every source: all rows pass, none got lost, the figures are drawn, progress is told."""

import pytest

from sims.papers import registry

ROWS = {  # fewest rows of each: none may get lost
    "manchester-peck": 26,
    "gebhardt-romero": 142,
    "lee-leok-mcclamroch": 35,
    "bloch-crouch-marsden-ratiu": 122,
    "lee-leok-mcclamroch-book": 110,
}
FIGURES = {
    "manchester-peck": 7,
    "gebhardt-romero": 12,
    "lee-leok-mcclamroch": 3,
    "bloch-crouch-marsden-ratiu": 3,
    "lee-leok-mcclamroch-book": 4,
}
every_paper = pytest.mark.parametrize("name", registry.MODULES)


@every_paper
def test_every_row_holds(name, reproduced):
    paper = reproduced(name).paper
    assert [row for row in paper.rows if not row.passed] == []
    assert paper.passed
    assert len(paper.rows) >= ROWS[name]
    assert len({row.quantity for row in paper.rows}) == len(paper.rows)
    assert (paper.name, paper.title) == (name, registry.source(name).TITLE)


@every_paper
def test_every_figure_is_drawn(name, reproduced):
    result = reproduced(name)
    assert len(result.paper.figures) == FIGURES[name]
    for figure in result.paper.figures:
        data = (result.out / figure).read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(data) > 10_000  # an empty canvas takes less
    assert {path.name for path in result.out.iterdir()} == {figure.name for figure in result.paper.figures}


@every_paper
def test_progress_rises_to_one(name, reproduced):
    fractions = reproduced(name).fractions
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)
