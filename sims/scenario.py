"""Scenarios: TOML files, checked as a whole before anything is run.

    scenario = load("mission.toml")          a file, or the name of a shipped one, see `shipped`
    scenario.plant_config(), scenario.flight_config()

Whatever is wrong is a `ScenarioError`, one sentence with the path of the field. What the fields mean, the comments of
`scenarios/default.toml` say.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from attitude.environment.epoch import Epoch
from attitude.environment.grid import EnvironmentGrid
from attitude.environment.orbit import Orbit
from attitude.spacecraft.config import FlightConfig, PlantConfig
from sims import scenario_build, scenario_environment
from sims.scenario_errors import ScenarioError, check_sizes, sentence, shown
from sims.scenario_fields import Part
from sims.scenario_meanings import SCENARIOS, default_text, meaning
from sims.scenario_models import Document

FRESH_TLE_DAYS = 14.0
__all__ = ["Scenario", "ScenarioError", "default_text", "load", "load_text", "shipped"]


@dataclass(frozen=True, eq=False)
class Scenario:
    """A checked scenario: `data` as parsed, `document` with its tables, `text` as given; `source` names the file."""

    data: Mapping[str, Any] = field(repr=False)
    document: Document = field(repr=False)
    text: str = field(repr=False)
    source: str

    # -------------------------------------------------------------- time
    @property
    def name(self) -> str:
        """Name of the mission."""
        return self.document.mission.name

    @property
    def seed(self) -> int:
        """Seed of all random numbers."""
        return self.document.mission.seed

    @property
    def tick_s(self) -> float:
        """Period of the loop, s."""
        return 1.0 / self.document.mission.tick_hz

    @property
    def ticks(self) -> int:
        """Length of the mission."""
        return scenario_build.tick_count(self.document.mission, self.orbit_period_s)

    @property
    def log_every(self) -> int:
        """Ticks per kept row."""
        return round(self.document.mission.log_every_s * self.document.mission.tick_hz)

    @property
    def duration_s(self) -> float:
        """Length of the mission, s: a whole number of ticks."""
        return self.ticks * self.tick_s

    @property
    def orbit_period_s(self) -> float:
        """Mean period of the orbit, s."""
        return self._orbit().period

    def _orbit(self) -> Orbit:
        return scenario_environment.orbit_of(self.document)

    # -------------------------------------------------------------- what is flown
    @cached_property
    def grids(self) -> tuple[EnvironmentGrid, EnvironmentGrid]:
        """Environment of the plant, and the on-board one: the same object if the on-board orbit is true."""
        return scenario_environment.grids(self.document, self.duration_s + self.tick_s)

    def plant_config(self) -> PlantConfig:
        """The spacecraft as it is."""
        return scenario_build.plant_config(self.document, self.grids[0])

    def flight_config(self) -> FlightConfig:
        """What the flight software believes and wants."""
        return scenario_build.flight_config(self.document, self.grids[1], self._orbit())

    @property
    def sha256(self) -> str:
        """Hash of all settings, defaults included, comments and order of keys not."""
        content = json.dumps(_plain(self.document), sort_keys=True, default=str)
        return hashlib.sha256(content.encode()).hexdigest()

    def check(self) -> None:
        """Everything that more than one table decides."""
        scenario_build.check_tables(self.document)
        scenario_build.check_memory(self.document, self.orbit_period_s)
        self.plant_config()
        self.flight_config()
        scenario_environment.check_targets(self.document, self.grids[0], self.duration_s)

    def notes(self) -> list[str]:
        """What is allowed and may yet surprise."""
        age = self._orbit().age_days(Epoch(self.document.mission.epoch))
        if abs(age) <= FRESH_TLE_DAYS:
            return []
        side = "older" if age > 0.0 else "newer"
        return [
            f"orbit.tle is {abs(age):.0f} days {side} than mission.epoch: SGP4 drifts by a kilometre or more a day, so "
            "the satellite was elsewhere on its track"
        ]

    @property
    def shipped_name(self) -> str:
        """Name of the shipped scenario this is, whatever its seed; empty for any other."""
        for name, text in shipped().items():
            known = tomllib.loads(text)
            known["mission"]["seed"] = self.seed
            if known == self.data:
                return name
        return ""

    # -------------------------------------------------------------- the same with changes
    def replaced(self, changes: Mapping[str, Any]) -> Scenario:
        """A copy with other values by path, checked anew: `{"initial.rate_deg_s": [1.0, 2.0, 3.0]}`; `None` removes."""
        data = copy.deepcopy(dict(self.data))
        for path, value in changes.items():
            _replace(data, path, _simple(value))
        lines = "".join(f"# replaced: {path} = {_simple(value)}\n" for path, value in changes.items())
        return _checked(data, lines + self.text, self.source)

    def with_seed(self, seed: int) -> Scenario:
        """A copy with another seed."""
        return self.replaced({"mission.seed": seed})


# ------------------------------------------------------------------ reading
def shipped() -> dict[str, str]:
    """Text of the scenarios that come with the program, by name."""
    found = (entry for entry in SCENARIOS.iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8") for entry in found}


def load(path: Path | str) -> Scenario:
    """The scenario in a file, or a shipped one by its name."""
    if str(path) in (names := shipped()) and not Path(path).exists():
        return load_text(names[str(path)], str(path))
    try:
        return load_text(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        why = f"{error.strerror or error}; shipped are {', '.join(sorted(names))}"
        raise ScenarioError(f"scenario {path} cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ScenarioError(f"scenario {path} must be UTF-8 text, got the byte {byte:#04x}") from error


def load_text(text: str, name: str = "scenario") -> Scenario:
    """The scenario in a text; `name` is what an error of syntax calls it."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{name} must be TOML: {error}") from error
    return _checked(data, text, name)


def _checked(data: Mapping[str, Any], text: str, source: str) -> Scenario:
    check_sizes(data)
    try:
        document = Document.model_validate(dict(data))
    except ValidationError as error:
        raise ScenarioError(sentence(error, meaning)) from None
    scenario = Scenario(data, document, text, source)
    scenario.check()
    return scenario


# ------------------------------------------------------------------ values
def _simple(value: Any) -> Any:
    """Arrays and NumPy's numbers as TOML has them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_simple(entry) for entry in value] if isinstance(value, list | tuple) else value


def _replace(data: Any, path: str, value: Any) -> None:
    """Set the field at `path` in place; tables on the way are made, entries of lists must exist."""
    *way, last = [int(index) if index else name for name, index in re.findall(r"(\w+)|\[(\d+)\]", path)]
    try:
        for part in way:
            data = data.setdefault(part, {}) if isinstance(part, str) else data[part]
        if value is None:
            data.pop(last, None)
        else:
            data[last] = value
    except (AttributeError, IndexError, TypeError, KeyError):
        raise ScenarioError(f"{path} cannot be replaced by {shown(value)}: there is no such place") from None


def _plain(value: Any) -> Any:
    """Settings as tables, lists and values."""
    if isinstance(value, Part):
        own = {f.name: f.default for f in dataclasses.fields(value.kind) if f.default is not dataclasses.MISSING}
        value = {"": value.kind.__name__, **own, **value.given, **value.more}
    elif isinstance(value, BaseModel):
        value = dict(value)
    elif dataclasses.is_dataclass(value):
        value = {"": type(value).__name__, **vars(value)}
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else _simple(value)
