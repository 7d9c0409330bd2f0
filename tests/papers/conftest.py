"""Each paper is reproduced once a session, for all tests that look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from sims.papers import registry
from sims.papers.table import Paper


@dataclass(frozen=True)
class Reproduced:
    """A paper's table, the folder of its figures, and the fractions its progress went through."""

    paper: Paper
    out: Path
    fractions: list[float]


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory):
    """Function from a paper's name to what it gave."""

    @cache
    def run(name: str) -> Reproduced:
        out, fractions = tmp_path_factory.mktemp(name) / "not" / "there" / "yet", []
        return Reproduced(registry.source(name).reproduce(out, lambda _, f: fractions.append(f)), out, fractions)

    return run
