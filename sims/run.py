"""Fly a scenario: the closed loop with its log, figures and report; or its sensors alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from attitude.core.jit import Array
from attitude.spacecraft.flight import Flight
from attitude.spacecraft.frames import COMMAND
from attitude.spacecraft.plant import Plant
from attitude.spacecraft.tick import FlightProgram, Rows, Spacecraft
from sims import log
from sims.about import about
from sims.scenario import Scenario
from sims.summary import Summary
from sims.verdicts import goals_of

if TYPE_CHECKING:
    import xarray as xr

Progress = Callable[[str, float], object]
LOG = "mission.nc"
SENSED = ("truth", "samples")  # records of a log of the sensors alone


@dataclass(frozen=True)
class Mission:
    """A flown scenario: rows of each record, and the seconds of wall time the loop took, compilation included."""

    scenario: Scenario
    rows: Rows
    seconds: float

    def dataset(self) -> xr.Dataset:
        """The log."""
        s = self.scenario
        return log.dataset(self.rows, about(s, s.plant_config(), s.flight_config(), goals_of(s.shipped_name)))


def fly(scenario: Scenario, progress: Progress | None = None, flight: FlightProgram | None = None) -> Mission:
    """The whole mission with the scenario's own flight side, in the compiled loop, or with another flight program."""
    tell = progress or _silent
    tell("compile or load the kernels", 0.0)
    plant = Plant(scenario.plant_config(), scenario.seed)
    craft = Spacecraft(plant, flight or Flight(scenario.flight_config()))
    begin = perf_counter()
    rows = craft.run(scenario.ticks, scenario.log_every, lambda done, all_: tell("fly", done / all_))
    return Mission(scenario, rows, perf_counter() - begin)


def sense(scenario: Scenario, every: int = 1, progress: Progress | None = None) -> xr.Dataset:
    """Truth and samples of the scenario without any control, every `every`-th tick, as a log of two records."""
    plant, tell = Plant(scenario.plant_config(), scenario.seed), progress or _silent
    rows = Spacecraft(plant, Idle()).run(scenario.ticks, every, lambda done, all_: tell("sense", done / all_))
    told = replace(about(scenario, plant.config), log_every=every)
    return log.dataset({name: rows[name] for name in SENSED}, told)


class Idle:
    """A flight program that commands nothing."""

    def __init__(self) -> None:
        self._command = COMMAND.zeros()

    def tick(self, t: float, samples: Array) -> Array:
        """Everything off."""
        return self._command


def _silent(what: str, fraction: float) -> None:
    """Tell nobody."""


# ------------------------------------------------------------------ results
def report(dataset: xr.Dataset, out: Path, progress: Progress | None = None) -> Summary:
    """Draw the figures of a log and write them and `report.html` into the folder `out`."""
    from sims import plots
    from sims import report as page
    from sims.summary import summarise

    summary = summarise(dataset)
    pictures = plots.draw(dataset, progress)
    plots.save(pictures, out)
    page.write(out / "report.html", dataset, summary, pictures)
    return summary


def document(dataset: xr.Dataset, summary: Summary, mission: Mission | None, out: Path) -> dict[str, Any]:
    """What `--json` prints."""
    from sims import verdicts

    goals = log.goals(dataset)
    return {
        "scenario": dataset.attrs["scenario"],
        "passed": verdicts.passed(summary, goals),
        "seconds": None if mission is None else mission.seconds,
        "ticks": None if mission is None else mission.scenario.ticks,
        "goals": goals,
        "summary": summary,
        "out": out,
    }
