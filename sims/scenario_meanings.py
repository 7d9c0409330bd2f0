"""What a field of a scenario is for: the comment beside it in `scenarios/default.toml`, live or commented out there."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

SCENARIOS: Traversable = files("sims") / "scenarios"

_TABLE = re.compile(r"#?\[+([\w.]+)\]+(?:  # (.+))?")
_FIELD = re.compile(r"#?(\w+) = .*?  # (.+)")


def default_text() -> str:
    """The commented default scenario."""
    return (SCENARIOS / "default.toml").read_text(encoding="utf-8")


@cache
def meanings() -> dict[str, str]:
    """Comment of each field by its path, list indices left out."""
    found: dict[str, str] = {}
    table = ""
    for line in default_text().splitlines():
        if head := _TABLE.fullmatch(line):
            table = head[1]
            found.setdefault(table, head[2] or "")
        elif field := _FIELD.fullmatch(line):
            found.setdefault(f"{table}.{field[1]}", field[2])
    return found


def meaning(path: str) -> str:
    """What the field at `path` is for, by the same field of another table if the default has it only there."""
    plain = re.sub(r"\[\d+\]", "", path)
    if plain in meanings():
        return meanings()[plain]
    name = plain.rsplit(".", 1)[-1]
    return next((text for known, text in meanings().items() if known.rsplit(".", 1)[-1] == name), "")
