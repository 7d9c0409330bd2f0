"""What the commands `attitude hil …` do; imported only when one of them is asked for. `ValueError`: one sentence."""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, cast

from attitude.spacecraft.flight import Flight
from attitude.spacecraft.plant import Plant
from hil import report_text
from hil.baseline import Baseline, NoCompiler
from hil.clock import Clock, Lockstep, RealTime, Scaled
from hil.flight_side import FlightSide
from hil.in_process import Loop, rehearse
from hil.lateness import Durations
from hil.layout import HASH_SIZE, Reason, Role
from hil.line import Line, LineOptions
from hil.plant_side import Event, OnLoss, PlantSide
from hil.quiet import quiet_interpreter
from hil.rate_groups import RateGroup
from hil.recording import Recording
from hil.replay import Replayed, replay
from hil.report import Report
from hil.ring import LogReport, ObjectLog
from hil.rows import RowLog
from hil.runner import Overrun, Runner
from hil.scheduling import Scheduling
from hil.stop import StopFlag, stopped_by_signals, unstopped
from hil.view import EVERY_S, View
from hil.waiting import Waiting
from sims import log, output
from sims.about import about
from sims.run import LOG
from sims.scenario import Scenario, load, load_text

RESULTS = (LOG, "hil.json", "hil.txt")
PATIENCE_S = 2.0  # before a wait is told of
EVENTS = 256  # that wait to be told, from the loop to standard error
COMPLETE = "complete"
Rows = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """How a loop is run and what it leaves."""

    rate: str = "real"
    waiting: str = "sleep"
    overrun: str = "catch-up"
    duration_s: float | None = None
    log_hz: float | None = None
    out: Path | None = None
    view: bool = True
    fifo: int | None = None
    cpu: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run of the loop came to; `finished`: every tick was flown, and every row of the log is there."""

    run: Report
    log: LogReport
    line: dict[str, Any]
    counters: dict[str, Any]
    bare: Durations | None
    finished: bool
    asked: dict[str, Any]
    wall_s: float
    events: list[Event] = dataclasses.field(default_factory=list)
    not_written: str = ""

    def less(self, path: Path, error: OSError) -> Outcome:
        """The same without a file that could not be written."""
        lost = f"results not written to {path}: {error.strerror or error}"
        return dataclasses.replace(self, finished=False, not_written=lost)

    def text(self) -> str:
        """For people."""
        told = report_text.text(self.run, self.log, self.line, self.counters, self.bare)
        parts = [self._head(), told, report_text.events(self.events), self.not_written]
        return "\n\n".join(part for part in parts if part)

    def _head(self) -> str:
        a = self.asked
        speed = self.run.ticks_run / a["tick_hz"] / self.wall_s if self.wall_s > 0.0 else 0.0
        return (
            f"{a['command']} of {a['scenario']}, seed {a['seed']}: {a['duration_s']:g} s at {a['tick_hz']:g} Hz, rate "
            f"{a['rate']}; took {self.wall_s:.1f} s, {speed:.3g} times real time"
        )

    def document(self) -> dict[str, Any]:
        """For programs."""
        return dataclasses.asdict(self) | {"events": [event._asdict() for event in self.events]}


# ------------------------------------------------------------------ what is asked for
def scenario_of(name: str, seed: int | None, tick_hz: float | None) -> Scenario:
    """The scenario with what was given on the command line instead of its own."""
    changes = {"mission.seed": seed, "mission.tick_hz": tick_hz}
    changes = {path: value for path, value in changes.items() if value is not None}
    given = load(name)
    return given.replaced(changes) if changes else given


def scenario_hash(scenario: Scenario) -> bytes:
    """As it goes with every packet."""
    return bytes.fromhex(scenario.sha256)[:HASH_SIZE]


def clock_of(rate: str) -> Clock:
    """Clock by its text: real, lockstep, or 2x, 0.5x."""
    if rate == "real":
        return RealTime()
    if rate == "lockstep":
        return Lockstep()
    factor = re.fullmatch(r"(\d+\.?\d*|\.\d+)x", rate)
    if factor is None:
        raise ValueError(f"--rate must be real, lockstep or a factor such as 2x or 0.5x, got {rate!r}")
    return Scaled(float(factor[1]))


def ticks_of(scenario: Scenario, duration_s: float | None) -> int:
    """Ticks to fly: all of the scenario's, or those of a shorter time."""
    if duration_s is None:
        return scenario.ticks
    if not scenario.tick_s <= duration_s <= scenario.duration_s:
        allowed = f"from {scenario.tick_s:g} to the scenario's {scenario.duration_s:g}"
        raise ValueError(f"--duration-s must be {allowed}, got {duration_s:g}")
    return round(duration_s / scenario.tick_s)


def _rate_hz(scenario: Scenario) -> float:
    return float(scenario.document.mission.tick_hz)


def _log_every(scenario: Scenario, log_hz: float | None) -> int:
    if log_hz is None:
        return scenario.log_every
    return RateGroup.at("log", lambda *_: None, rate_hz=log_hz, loop_rate_hz=_rate_hz(scenario)).divisor


# ------------------------------------------------------------------ the loop
@dataclass(frozen=True)
class _Setting:
    """A loop that is ready: what every kind of run needs."""

    scenario: Scenario
    options: LoopOptions
    clock: Clock
    ticks: int
    every: int
    log: RowLog

    @property
    def lockstep(self) -> bool:
        """Whether time waits for the work."""
        return isinstance(self.clock, Lockstep)

    @property
    def shown(self) -> bool:
        """Whether there is a live view."""
        return self.options.view and sys.stderr.isatty()

    def asked(self, command: str, **more: Any) -> dict[str, Any]:
        """What the run was asked for: plain data."""
        given, seconds = self.scenario, self.ticks * self.scenario.tick_s
        return {
            "command": command, "scenario": given.name, "sha256": given.sha256, "seed": given.seed,
            "tick_hz": _rate_hz(given), "rate": self.options.rate, "duration_s": seconds, **more,
        }  # fmt: skip

    def runner(self, groups: list[RateGroup], view: list[RateGroup]) -> Runner:
        """The runner of `groups`; those of the view come last."""
        o = self.options
        return Runner(
            _rate_hz(self.scenario), groups + view, clock=self.clock, overrun=cast(Overrun, o.overrun),
            waiting=cast(Waiting, o.waiting), warm_up=(), scheduling=Scheduling(o.fifo, o.cpu),
        )  # fmt: skip


@contextmanager
def _setting(scenario: Scenario, options: LoopOptions) -> Iterator[_Setting]:
    clock = clock_of(options.rate)
    every = _log_every(scenario, options.log_hz)
    ticks = ticks_of(scenario, options.duration_s)
    rows = RowLog(options.out, "wait" if isinstance(clock, Lockstep) else "lose")
    try:
        yield _Setting(scenario, options, clock, ticks, every, rows)
    finally:
        rows.close()


def _view_group(setting: _Setting, views: list[View]) -> list[RateGroup]:
    """The slow group that copies what the view shows, if there is one; the view itself is made later."""
    if not setting.shown:
        return []
    divisor = max(1, round(EVERY_S * setting.clock.speed * _rate_hz(setting.scenario)))
    return [RateGroup("view", lambda tick, t: views[0].note(tick, t), divisor)]


def fly_plant(
    scenario: Scenario, line_options: LineOptions, options: LoopOptions, *, on_loss: OnLoss, timeout_s: float,
    connect_s: float, give_up_s: float, tell: Callable[[str], object],
) -> Outcome:  # fmt: skip
    """The spacecraft on a link; a flight side must introduce itself first."""
    plant = Plant(scenario.plant_config(), scenario.seed)
    _check_record(line_options.record, options.out)
    with ExitStack() as stack:
        setting = stack.enter_context(_setting(scenario, options))
        line = Line(
            Role.PLANT, line_options, scenario_hash(scenario), scenario.tick_s, scenario.text,
            full="wait" if setting.lockstep else "lose",
        )  # fmt: skip
        stack.callback(line.close)
        _rehearse(scenario, tell)  # after the line is there: who looks for it shall find it
        heard = (lambda sentence: None) if setting.shown else tell  # the view has a line for it
        events = stack.enter_context(ObjectLog(lambda told: _tell_events(told, heard), slots=EVENTS))
        side = PlantSide(
            plant, line.port, setting.log, ticks=setting.ticks, log_every=setting.every, lockstep=setting.lockstep,
            timeout_s=timeout_s, on_loss=on_loss, give_up_s=give_up_s, tend=line.tend, tell=events.put,
        )  # fmt: skip
        views: list[View] = []
        runner = setting.runner([RateGroup("plant", side.tick)], _view_group(setting, views))
        side.give_up = lambda: runner.stop(f"given up: nothing was heard from the flight side for {give_up_s:g} s")
        side.stopping = lambda: runner.stopping
        _tell_notes(line, tell)
        tell(f"plant of {scenario.name} at {line.address}, waiting for the flight side")
        _meet(line, connect_s, tell)
        views.append(View(plant.truth, side.control, runner.report, lambda: _shown(side, line)))
        stack.enter_context(unstopped())  # the runner has its own way to stop; what was flown shall be written
        run, wall_s = _run(runner, setting.ticks + (not setting.lockstep), views)
        side.finish(Reason.FINISHED if run.stop_reason == COMPLETE else Reason.ASKED)
        rows, kept = setting.log.finish()
        finished = side.counters.ticks == setting.ticks and not run.errors and kept.complete
        result = Outcome(run=run, log=kept, line=line.account(), counters=dataclasses.asdict(side.counters), bare=None,
                         finished=finished, asked=setting.asked("plant", on_loss=on_loss, timeout_s=timeout_s),
                         wall_s=wall_s, events=side.events)  # fmt: skip
        return _kept(setting, rows, result)


def _check_record(record: Path | None, out: Path | None) -> None:
    """A recording and the results are different files."""
    if record is not None and out is not None and record.resolve() in [(out / name).resolve() for name in RESULTS]:
        raise ValueError(f"--record must not be a file that --out {out} will hold, got {record}")


def fly_loop(scenario: Scenario, options: LoopOptions, compare: bool, tell: Callable[[str], object]) -> Outcome:
    """Plant and flight side in one process; `compare` runs a bare C loop at the same rate beside it."""
    plant, flight = Plant(scenario.plant_config(), scenario.seed), Flight(scenario.flight_config())
    _rehearse(scenario, tell)
    with ExitStack() as stack:
        setting = stack.enter_context(_setting(scenario, options))
        if compare and not isinstance(setting.clock, RealTime):
            raise ValueError(f"--compare needs --rate real, got {options.rate}")
        loop, views = Loop(plant, flight, setting.log), cast(list[View], [])
        runner = setting.runner(loop.groups(setting.every), _view_group(setting, views))
        views.append(View(plant.truth, flight.control, runner.report, dict))
        bare = stack.enter_context(_bare(scenario, setting.ticks)) if compare else None
        stack.enter_context(unstopped())
        run, wall_s = _run(runner, setting.ticks, views)
        rows, kept = setting.log.finish()
        finished = run.ticks_run + run.skipped == setting.ticks and not run.errors and kept.complete
        result = Outcome(run=run, log=kept, line={}, counters={}, bare=_beside(bare, run),
                         finished=finished, asked=setting.asked("loop"), wall_s=wall_s)  # fmt: skip
        return _kept(setting, rows, result)


def _run(runner: Runner, ticks: int, views: list[View]) -> tuple[Report, float]:
    """The report, and the seconds of wall time."""
    shown, began = any(group.name == "view" for group in runner.groups), time.perf_counter()
    with views[0] if shown else nullcontext():
        return runner.run(ticks), time.perf_counter() - began


def _beside(bare: Baseline | None, run: Report) -> Durations | None:
    """What the bare loop came to; nothing if it would go on for longer than the run did."""
    return bare.result() if bare is not None and run.stop_reason == COMPLETE else None


def _bare(scenario: Scenario, ticks: int) -> Baseline:
    return Baseline(_rate_hz(scenario), ticks * scenario.tick_s, timer_slack_ns=1)


def _tell_notes(line: Line, tell: Callable[[str], object]) -> None:
    for note in line.notes:
        tell(f"note: {note}")


def _rehearse(scenario: Scenario, tell: Callable[[str], object]) -> None:
    """Load the kernels, or compile them, which is told if it takes long."""
    notice = Timer(PATIENCE_S, tell, ["compiling the kernels, once: about a minute"])
    notice.daemon = True
    notice.start()
    try:
        rehearse(Plant(scenario.plant_config(), scenario.seed), Flight(scenario.flight_config()))
    finally:
        notice.cancel()


def _meet(line: Line, timeout_s: float, tell: Callable[[str], object]) -> None:
    """Shake hands, or say in one sentence why not."""
    stop = StopFlag()
    with stopped_by_signals(stop):
        complaint = line.meet(timeout_s, lambda: stop.reason is not None, tell)
    if stop.reason is not None:
        raise KeyboardInterrupt
    if complaint:
        raise ValueError(f"no handshake on {line.options.link}: {complaint}")


def _tell_events(events: list[Event], tell: Callable[[str], object]) -> None:
    for event in events:
        tell(report_text.event(event))


def _shown(side: PlantSide, line: Line) -> dict[str, Any]:
    """What the live view tells of the flight side."""
    latest = report_text.event(side.events[-1]) if side.events else ""
    counted = dataclasses.asdict(side.counters) | {"refused": line.port.codec.counters.refused}
    return {"flight side": side.state(), "latest event": latest} | counted


def _kept(setting: _Setting, rows: Rows, result: Outcome) -> Outcome:
    """The result, its files written into the folder, if there is one; a full disk costs what has no room on it."""
    out = setting.options.out
    if out is None:
        return result
    try:
        _write_log(out / LOG, setting, rows)
    except OSError as error:
        result = result.less(out / LOG, error)
    try:
        output.write_whole(out / RESULTS[1], output.json_text(result.document()) + "\n")
        output.write_whole(out / RESULTS[2], result.text() + "\n")
    except OSError as error:
        result = result.less(out, error)
    return result


def _write_log(path: Path, setting: _Setting, rows: Rows) -> None:
    if not len(rows["truth"]):
        return
    scenario = setting.scenario
    told = about(scenario, scenario.plant_config(), scenario.flight_config())
    told = dataclasses.replace(told, log_every=setting.every, duration_s=setting.ticks * scenario.tick_s)
    log.write(path, log.dataset(rows, told))


# ------------------------------------------------------------------ the flight side, and replay
def fly_flight(
    scenario: Scenario, line_options: LineOptions, *, timeout_s: float, connect_s: float, tell: Callable[[str], object]
) -> tuple[FlightSide, str, dict[str, Any]]:
    """Estimator and controller on a link; returns the side, why it ended, and the line's counters."""
    flight = scenario.flight_config()
    line = Line(Role.FLIGHT, line_options, scenario_hash(scenario), scenario.tick_s, scenario.text)
    try:
        _rehearse(scenario, tell)
        _tell_notes(line, tell)
        tell(f"flight side of {scenario.name} at {line.address}, looking for the plant")
        _meet(line, connect_s, tell)
        tell("the plant is there")
        side = FlightSide(line.port, lambda: Flight(flight), timeout_s=timeout_s, ended=_ends(line))
        with quiet_interpreter(), stopped_by_signals(side.stop):
            reason = side.run()
        return side, reason, line.account()
    finally:
        line.close()


def _ends(line: Line) -> Callable[[], bool]:
    """Standard input that is closed stays closed; other lines may come back."""
    from hil.links_child import StandardStreams

    return lambda: isinstance(line.base, StandardStreams) and line.gone


def fly_again(path: Path, key: bytes | None) -> Replayed:
    """Replay a recording of either side with the toolkit's flight side."""
    recording = Recording(path)
    scenario = scenario_from(recording.scenario_text, str(path))
    if scenario_hash(scenario) != recording.scenario:
        raise ValueError(f"recording {path} was made with another version: its scenario has another hash now")
    config = scenario.flight_config()
    return replay(recording, lambda: Flight(config), key)


def scenario_from(text: str, name: str) -> Scenario:
    """The scenario of a kept text, the changes included that `Scenario.replaced` noted at its top."""
    lines = re.findall(r"^# replaced: (\S+) = (.*)$", text, re.MULTILINE)
    try:
        changes = {path: ast.literal_eval(value) for path, value in reversed(lines)}  # the last change stands first
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"scenario {name} has a line '# replaced: …' that tells no change") from None
    given = load_text(text, name)
    return given.replaced(changes) if changes else given


NO_COMPILER = NoCompiler
