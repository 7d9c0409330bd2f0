"""The studies by name; a module is imported only when its study is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from sims.studies.report import Source

MODULES = {"sample-rate": "sample_rate", "consistency": "consistency", "detumble": "detumble"}


def source(name: str) -> Source:
    """The module of the study `name`."""
    if name not in MODULES:
        raise ValueError(f"unknown study {name!r}: choose one of {', '.join(MODULES)}")
    return cast(Source, import_module(f"sims.studies.{MODULES[name]}"))
