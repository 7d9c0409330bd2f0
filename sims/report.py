"""`report.html`: a mission on one page that needs nothing from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from html import escape
from pathlib import Path

import xarray as xr

from sims import log as logs
from sims import output
from sims.events import Event, events
from sims.flown import Flown
from sims.narrative import narrative
from sims.plots import Picture
from sims.summary import Summary
from sims.verdicts import HEADS, Line, lines

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --pass: #18794e; --fail: #d13415; }
@media (prefers-color-scheme: dark) { :root { --pass: #4cc38a; --fail: #ff8b6a; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0.2rem; } h2 { margin-top: 2.4rem; }
.facts { color: GrayText; font-size: 0.9rem; }
.verdict { display: inline-block; padding: 0.15rem 0.7rem; border-radius: 1rem; border: 1px solid currentColor; }
.pass { color: var(--pass); } .fail { color: var(--fail); font-weight: bold; }
.wide { overflow-x: auto; } .tall { max-height: 26rem; overflow: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.75rem; text-align: left; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; } td.text { white-space: nowrap; }
figure { margin: 1.5rem 0; break-inside: avoid; }
img { max-width: 100%; height: auto; background: white; border: 1px solid var(--line); }
figcaption { font-size: 0.9rem; }
pre { background: var(--soft); padding: 1rem; overflow-x: auto; font-size: 0.85rem; }
@media print { body { max-width: none; margin: 0; font-size: 11px; } .tall { max-height: none; overflow: visible; } }
"""
MOST_EVENTS = 400
EVENT_HEADS = ("min", "UTC", "what", "event")


def write(path: Path, log: xr.Dataset, summary: Summary, pictures: Sequence[Picture]) -> None:
    """Write the page, whole or not at all."""
    output.write_whole(path, render(log, summary, pictures))


def render(log: xr.Dataset, summary: Summary, pictures: Sequence[Picture]) -> str:
    """The whole page."""
    flown, found = Flown(log), lines(summary, logs.goals(log))
    title = f"Mission: {escape(summary.scenario)}"
    story = "".join(f"<p>{escape(text)}</p>\n" for text in narrative(flown, summary))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p class="facts">{_facts(log, summary)}</p>
<p>{_verdict(found)}</p>
<h2>What happened</h2>
{story}<h2>Numbers</h2>
<p>3σ is the 99.73 % quantile. Errors are against the truth, which the flight side never sees.</p>
{_table(HEADS, map(_line, found))}
<h2>Figures</h2>
{"".join(map(_figure, pictures))}<h2>Events</h2>
{_events(events(flown), str(log.attrs["epoch_utc"]))}
<h2>Scenario</h2>
<details><summary>TOML as it was given</summary>
<pre>{escape(str(log.attrs["scenario_toml"]))}</pre></details>
</body>
</html>
"""


def _facts(log: xr.Dataset, summary: Summary) -> str:
    told = {name: escape(str(log.attrs.get(name, "?"))) for name in ("epoch_utc", "toolkit_version", "scenario_sha256")}
    return (
        f"Epoch {told['epoch_utc']} · seed {summary.seed} · tick {float(log.attrs['tick_s']):g} s · "
        f"{summary.rows} rows · toolkit {told['toolkit_version']} · scenario {told['scenario_sha256'][:12]}"
    )


def _verdict(found: Sequence[Line]) -> str:
    asked = [line for line in found if line.passed is not None]
    missed = [line for line in asked if not line.passed]
    if missed:
        names = escape("; ".join(line.what for line in missed))
        return f'<span class="verdict fail">{len(missed)} of {len(asked)} goals missed</span> {names}'
    return f'<span class="verdict pass">all {len(asked)} goals reached</span>'


def _line(line: Line) -> str:
    what, value, unit, goal = map(escape, (line.what, line.value, line.unit, line.goal))
    verdict = f'<td class="{line.verdict.lower()}">{line.verdict}</td>' if line.verdict else "<td></td>"
    return f'<tr><td>{what}</td><td class="number">{value}</td><td>{unit}</td><td>{goal}</td>{verdict}</tr>'


def _figure(picture: Picture) -> str:
    data, title = base64.b64encode(picture.png).decode("ascii"), escape(picture.title)
    image = f'<img src="data:image/png;base64,{data}" alt="{title}">'
    caption = f"<figcaption><b>{title}.</b> {escape(picture.caption)}</figcaption>"
    return f'<figure id="{escape(picture.name)}">{image}{caption}</figure>\n'


def _events(found: Sequence[Event], epoch_utc: str) -> str:
    rows = [_event(event, epoch_utc) for event in found[:MOST_EVENTS]]
    more = f"<p>{len(found) - MOST_EVENTS} more are left out.</p>" if len(found) > MOST_EVENTS else ""
    return f'<div class="tall">{_table(EVENT_HEADS, rows)}</div>{more}'


def _event(event: Event, epoch_utc: str) -> str:
    what, text, when = escape(event.what), escape(event.text), escape(utc(epoch_utc, event.t_s))
    return (
        f'<tr><td class="number">{event.t_s / 60.0:.1f}</td><td class="text">{when}</td>'
        f"<td>{what}</td><td>{text}</td></tr>"
    )


def utc(epoch_utc: str, t_s: float) -> str:
    """Date and time `t_s` seconds after the epoch, to the second; empty if the epoch cannot be read."""
    try:
        begin = datetime.fromisoformat(epoch_utc)
    except ValueError:
        return ""
    return (begin + timedelta(seconds=round(t_s))).strftime("%Y-%m-%d %H:%M:%S")


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "\n".join(rows)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'
