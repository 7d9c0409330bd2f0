"""The papers by name; a module is imported only when its paper is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from sims.papers.table import Paper, Progress

MODULES = {
    "manchester-peck": "manchester_peck",
    "gebhardt-romero": "gebhardt_romero",
    "lee-leok-mcclamroch": "lee_leok_mcclamroch",
    "bloch-crouch-marsden-ratiu": "bloch_crouch_marsden_ratiu",
    "lee-leok-mcclamroch-book": "lee_leok_mcclamroch_book",
}


class Source(Protocol):
    """What a paper's module offers."""

    NAME: str
    TITLE: str

    def reproduce(self, out: Path, progress: Progress) -> Paper:
        """Table of the paper, and its figures drawn into `out`."""
        ...


def source(name: str) -> Source:
    """The module of the paper `name`."""
    if name not in MODULES:
        raise ValueError(f"unknown paper {name!r}: choose one of {', '.join(MODULES)}")
    return cast(Source, import_module(f"sims.papers.{MODULES[name]}"))
