"""Reproduce papers one after the other, with the time each takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from sims.papers import registry
from sims.papers.table import Paper, Progress, Row


@dataclass(frozen=True)
class Result:
    """A reproduced paper and the seconds it took."""

    paper: Paper
    seconds: float

    @property
    def failures(self) -> list[Row]:
        """The rows that do not hold."""
        return [row for row in self.paper.rows if not row.passed]


def reproduce(names: Sequence[str], out: Path, progress: Progress) -> list[Result]:
    """The papers `names`, figures in `out`; `progress` runs from 0 to 1 over all of them."""
    results = []
    for index, name in enumerate(names):
        progress(name, index / len(names))  # importing a paper takes a moment
        source = registry.source(name)
        start = perf_counter()
        paper = source.reproduce(out, _share(progress, name, index, len(names)))
        results.append(Result(paper, perf_counter() - start))
    return results


def document(results: Sequence[Result], out: Path) -> dict[str, Any]:
    """What `--json` prints."""
    papers = [
        {
            "name": result.paper.name, "title": result.paper.title, "passed": result.paper.passed,
            "seconds": result.seconds, "rows": result.paper.rows, "figures": result.paper.figures,
        }
        for result in results
    ]  # fmt: skip
    return {"passed": all(result.paper.passed for result in results), "out": out, "papers": papers}


def _share(progress: Progress, name: str, index: int, count: int) -> Progress:
    return lambda what, fraction: progress(f"{name}: {what}", (index + min(max(fraction, 0.0), 1.0)) / count)
