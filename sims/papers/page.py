"""The papers' tables and figures as one HTML page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from sims.papers.runner import Result
from sims.papers.table import KINDS, Row

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #8886; padding: 0.25rem 0.75rem; text-align: left; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; }
.pass { color: #18794e; }
.fail { color: #d13415; font-weight: bold; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(32rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; }
img { width: 100%; background: white; }
figcaption { font-size: 0.85rem; }
"""
SUMMARY_HEADS = ("paper", "rows", "passed", "failed", "figures", "seconds")
ROW_HEADS = ("quantity", "printed", "ours", "difference", "compared", "verdict")


def render(results: Sequence[Result]) -> str:
    """The whole page; links are relative to the folder the figures are in."""
    body = "\n".join([_summary(results), *map(_section, results)])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Papers reproduced</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Papers reproduced</h1>
{_legend()}
{body}
</body>
</html>
"""


def _legend() -> str:
    items = "".join(f"<dt>{escape(kind)}</dt><dd>{escape(meaning)}</dd>" for kind, meaning in KINDS.items())
    return f"<p>What decides a row is named under “compared”; misprints are corrected first.</p><dl>{items}</dl>"


def summary_cells(result: Result) -> tuple[str, ...]:
    """One line of the summary, in the order of `SUMMARY_HEADS`."""
    rows, failed = len(result.paper.rows), len(result.failures)
    counts = (rows, rows - failed, failed, len(result.paper.figures))
    return (result.paper.name, *map(str, counts), f"{result.seconds:.1f}")


def row_cells(row: Row) -> tuple[str, ...]:
    """One line of a paper's table, in the order of `ROW_HEADS`."""
    difference = "" if row.difference is None else f"{row.difference:.2g}"
    return row.quantity, row.printed, row.ours, difference, row.kind, "pass" if row.passed else "FAIL"


def _summary(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        name, *numbers = map(escape, summary_cells(result))
        link = f'<td><a href="#{quote(result.paper.name)}">{name}</a></td>'
        cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
        lines.append(f"<tr>{link}{cells}</tr>")
    return _table(SUMMARY_HEADS, lines)


def _section(result: Result) -> str:
    paper = result.paper
    figures = "\n".join(map(_figure, paper.figures))
    return f"""<section id="{escape(quote(paper.name))}">
<h2>{escape(paper.title)}</h2>
{_table(ROW_HEADS, [_line(row) for row in paper.rows])}
<div class="figures">
{figures}
</div>
</section>"""


def _line(row: Row) -> str:
    *cells, verdict = map(escape, row_cells(row))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + f'<td class="{verdict.lower()}">{verdict}</td></tr>'


def _figure(path: Path) -> str:
    link, name = escape(quote(path.as_posix())), escape(path.stem)
    return (
        f'<figure><a href="{link}"><img src="{link}" alt="{name}" loading="lazy"></a>'
        f"<figcaption>{name}</figcaption></figure>"
    )


def _table(heads: Sequence[str], lines: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    rows = "\n".join(lines)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>'
