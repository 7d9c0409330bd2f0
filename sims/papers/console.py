"""The papers' tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from sims.papers.page import ROW_HEADS, SUMMARY_HEADS, row_cells, summary_cells
from sims.papers.runner import Result


def summary(results: Sequence[Result]) -> Iterator[Table | str]:
    """One line for each paper, then the rows that fail, if any."""
    yield _table(SUMMARY_HEADS, map(summary_cells, results))
    failed = [(result.paper.name, *row_cells(row)) for result in results for row in result.failures]
    if failed:
        yield "\nfailed:"
        yield _table(("paper", *ROW_HEADS), failed)


def whole(result: Result) -> Iterator[Table | str]:
    """Every row of one paper, then its summary."""
    yield result.paper.title
    yield _table(ROW_HEADS, map(row_cells, result.paper.rows))
    yield from summary([result])


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> Table:
    table = Table(*heads)
    for cells in lines:
        table.add_row(*cells, style="bold red" if cells[-1] == "FAIL" else None)
    return table
