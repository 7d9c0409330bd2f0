"""What a study gives, as one JSON document and as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from sims.papers.table import Progress, Row

if TYPE_CHECKING:
    from rich.table import Table

ROW_HEADS = ("what", "expected", "measured", "verdict")


@dataclass(frozen=True)
class Study:
    """Results and verdicts: `settings` in the units of their names, `results` records, `lines` one table of them."""

    name: str
    title: str
    runs: int
    seed: int
    settings: dict[str, Any]
    results: Sequence[Any]
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    rows: Sequence[Row]
    figures: Sequence[Path] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every verdict holds; a study without any has shown nothing."""
        return bool(self.rows) and all(row.passed for row in self.rows)


class Source(Protocol):
    """What a study's module offers."""

    NAME: str
    TITLE: str
    RUNS: int
    SEED: int

    def run(self, runs: int, seed: int, out: Path, progress: Progress) -> Study:
        """The study over `runs` seeded runs, its figures drawn into `out`."""
        ...


def timed(source: Source, runs: int | None, seed: int | None, out: Path, progress: Progress) -> tuple[Study, float]:
    """The study and the seconds it took; its own number of runs and seed where they are None."""
    begin = perf_counter()
    study = source.run(source.RUNS if runs is None else runs, source.SEED if seed is None else seed, out, progress)
    return study, perf_counter() - begin


def document(study: Study, seconds: float, out: Path) -> dict[str, Any]:
    """What `--json` prints and `NAME.json` holds."""
    return {
        "name": study.name, "title": study.title, "passed": study.passed, "seconds": seconds, "runs": study.runs,
        "seed": study.seed, "settings": study.settings, "results": list(study.results),
        "rows": [{"what": row.quantity, "expected": row.printed, "measured": row.ours, "passed": row.passed}
                 for row in study.rows],
        "out": out, "figures": list(study.figures),
    }  # fmt: skip


def render(study: Study) -> Iterator[Table | str]:
    """Title and settings, the table of results, the verdicts."""
    from rich.table import Table

    yield f"{study.title}; {study.runs} runs, seed {study.seed}"
    yield "; ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in study.settings.items())
    results = Table(study.heads[0])
    for head in study.heads[1:]:
        results.add_column(head, justify="right")
    for line in study.lines:
        results.add_row(*line)
    yield results
    verdicts = Table(*ROW_HEADS)
    for row in study.rows:
        style = None if row.passed else "bold red"
        verdicts.add_row(row.quantity, row.printed, row.ours, "pass" if row.passed else "FAIL", style=style)
    yield verdicts


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def part(progress: Progress, begin: float, end: float) -> Progress:
    """Progress of a part of the work, told as its share of the whole."""
    return lambda what, fraction: progress(what, begin + (end - begin) * fraction)
