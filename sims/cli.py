"""The command `attitude`: every option checked here, every job imported only when it is asked for."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sims import cli_hil
from sims.cli_base import FAILED, Json, refuse, refusing, writing

if TYPE_CHECKING:
    from rich.console import Console

    from sims.papers.table import Progress
    from sims.scenario import Scenario

INTERRUPTED = 130  # exit code after Ctrl-C, which typer leaves without a word
WIDTH = 150  # columns when standard output is not a terminal

app = typer.Typer(
    help="Attitude estimation and control, built around the quaternion variational integrator.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(cli_hil.app, name="hil")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"attitude-toolkit {version('attitude-toolkit')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    scenario: Annotated[str, typer.Argument(help="A TOML file, or a shipped scenario by its name.")] = "default",
    out: Annotated[Path, typer.Option(help="Folder for the log, the figures and report.html.")] = Path("out/run"),
    json: Json = False,
    seed: Annotated[int | None, typer.Option(help="Instead of the scenario's.", show_default=False)] = None,
    dump_default: Annotated[bool, typer.Option("--dump-default", help="Print the default scenario and stop.")] = False,
) -> None:
    """Fly a CubeSat mission: closed loop, log, figures, report. Exit code 1 if a goal of a shipped scenario is missed.

    Shipped: default, detumble, star-tracker, spin-damper, faults.
    """
    from sims import output
    from sims import scenario as scenarios

    if dump_default:
        print(scenarios.default_text(), end="")
        return
    with _progress() as progress:
        progress("read the scenario", 0.0)
        given = _scenario(scenario, seed)
        with writing(out):
            output.check_folder(out)
        from sims import log, verdicts
        from sims import run as job

        mission = job.fly(given, lambda what, done: progress(what, 0.6 * done))
        dataset = mission.dataset()
        progress("write the log", 0.6)
        with writing(out):
            log.write(out / job.LOG, dataset)
            summary = job.report(dataset, out, lambda what, done: progress(what, 0.65 + 0.35 * done))
    goals = log.goals(dataset)
    if json:
        print(output.json_text(job.document(dataset, summary, mission, out)))
    else:
        speed = given.ticks * given.tick_s / mission.seconds
        where = f"log {out / job.LOG}, report {out / 'report.html'}"
        _print(verdicts.table(summary, goals), f"{given.ticks} ticks, {speed:.0f} times real time; {where}")
    if not verdicts.passed(summary, goals):
        raise typer.Exit(FAILED)


@app.command()
def sensors(
    scenario: Annotated[str, typer.Argument(help="A TOML file, or a shipped scenario by its name.")],
    out: Annotated[Path, typer.Option(help="File to write: .nc (NetCDF) or .csv.", show_default=False)],
    seed: Annotated[int | None, typer.Option(help="Instead of the scenario's.", show_default=False)] = None,
    every: Annotated[int, typer.Option(help="Keep every so many ticks.", min=1, max=10**12)] = 1,
) -> None:
    """Truth and time-tagged samples of a scenario's sensors, without any control loop."""
    from sims import output

    if out.suffix not in (".nc", ".csv"):
        refuse(f"--out must end in .nc or .csv, got {out}")
    with _progress() as progress:
        progress("read the scenario", 0.0)
        given = _scenario(scenario, seed)
        with writing(out):
            output.check_file(out)
        from sims import log, table
        from sims import run as job

        dataset = job.sense(given, every, lambda what, done: progress(what, 0.8 * done))
        progress(f"write {out}", 0.8)
        with writing(out):
            if out.suffix == ".nc":
                log.write(out, dataset)
            else:
                output.write_whole(out, "".join(table.csv(dataset)))
    _print(f"{dataset.sizes['time']} rows of truth and samples in {out}")


@app.command()
def plot(
    log_file: Annotated[Path, typer.Argument(metavar="LOG", help="The mission.nc of a run.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Folder for the figures; that of LOG if left out.")] = None,
    json: Json = False,
) -> None:
    """Draw the figures and the report of a log again."""
    from sims import output

    folder = log_file.parent if out is None else out
    with _progress() as progress:
        progress("read the log", 0.0)
        from sims import log, verdicts
        from sims import run as job

        with refusing():
            dataset = log.read(log_file)
        with writing(folder):
            output.check_folder(folder)
        with writing(folder):
            try:
                summary = job.report(dataset, folder, progress)
            except (ValueError, KeyError, IndexError, TypeError) as error:
                refuse(f"log {log_file} is damaged: {error}")
    if json:
        print(output.json_text(job.document(dataset, summary, None, folder)))
    else:
        _print(verdicts.table(summary, log.goals(dataset)), f"report {folder / 'report.html'}")


def _scenario(name: str, seed: int | None) -> Scenario:
    """The checked scenario."""
    from sims import scenario as scenarios

    with refusing():
        given = scenarios.load(name)
        for note in given.notes():
            typer.echo(f"note: {note}", err=True)
        return given if seed is None else given.with_seed(seed)


@app.command()
def papers(
    name: Annotated[str | None, typer.Argument(help="One paper; all of them if left out.", show_default=False)] = None,
    json: Json = False,
    out: Annotated[Path, typer.Option(help="Folder for the figures and index.html.")] = Path("out/papers"),
) -> None:
    """Reproduce the source papers: printed value, ours, verdict; figures. Exit code 1 if any verdict fails."""
    from sims import output
    from sims.papers import registry, runner

    if name is not None and name not in registry.MODULES:
        refuse(f"unknown paper {name!r}: choose one of {', '.join(registry.MODULES)}")
    with writing(out):
        output.check_folder(out)
    with _progress() as progress:
        results = runner.reproduce([name] if name else list(registry.MODULES), out, progress)
    from sims.papers import console, page

    output.write_whole(out / "index.html", page.render(results))
    if json:
        print(output.json_text(runner.document(results, out)))
    else:
        _print(*(console.whole(results[0]) if name else console.summary(results)), f"page: {out / 'index.html'}")
    if not all(result.paper.passed for result in results):
        raise typer.Exit(FAILED)


@app.command()
def bench(
    json: Json = False,
    quick: Annotated[bool, typer.Option("--quick", help="A short version, under a minute once compiled.")] = False,
    out: Annotated[Path | None, typer.Option(help="File for the JSON document.", show_default=False)] = None,
) -> None:
    """Speed and accuracy against the installed peers, as ratios measured in one run."""
    from sims import output

    if out is not None:
        with writing(out):
            output.check_file(out)
    with _progress() as progress:
        from sims.bench import report

        result = report.measure(quick, progress)
    text = output.json_text(report.document(result))
    if out is not None:
        output.write_whole(out, text + "\n")
    if json:
        print(text)
    else:
        from sims.bench import tables

        _print(*tables.render(result))


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="sample-rate, consistency or detumble.", show_default=False)],
    json: Json = False,
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and the figures.")] = Path("out/studies"),
    runs: Annotated[int | None, typer.Option(help="Seeded runs; the study's own number if left out.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same numbers; the study's own if left out.")] = None,
) -> None:
    """Monte Carlo study, on all cores. Exit code 1 if any verdict fails."""
    from sims import output
    from sims.studies import registry, report

    if name not in registry.MODULES:
        refuse(f"unknown study {name!r}: choose one of {', '.join(registry.MODULES)}")
    if runs is not None and runs < 2:
        refuse(f"--runs must be at least 2, for an interval, got {runs}")
    if seed is not None and seed < 0:
        refuse(f"--seed must not be negative, got {seed}")
    with writing(out):
        output.check_folder(out)
    with _progress() as progress:
        progress(name, 0.0)  # importing a study takes a moment
        result, seconds = report.timed(registry.source(name), runs, seed, out, progress)
    text = output.json_text(report.document(result, seconds, out))
    output.write_whole(out / f"{name}.json", text + "\n")
    if json:
        print(text)
    else:
        _print(*report.render(result), f"{seconds:.0f} s; figures and {name}.json in {out}")
    if not result.passed:
        raise typer.Exit(FAILED)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on standard error, drawn only when the work reports: a thread that draws would disturb what is timed.

    Whatever the work itself prints goes to standard error too.
    """
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True, auto_refresh=False, redirect_stdout=False)
    task = bar.add_task("", total=1.0)

    def update(what: str, fraction: float) -> None:
        bar.update(task, description=what, completed=fraction, refresh=True)

    with bar, redirect_stdout(sys.stderr):
        yield update


def _console() -> Console:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH, markup=False, highlight=False, emoji=False)


def _print(*parts: Any) -> None:
    console = _console()
    for part in parts:
        console.print(part)


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the signs still gets the rest
    try:
        app(prog_name="attitude")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            typer.echo("interrupted; files that were already written stay", err=True)
        raise
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"standard output cannot be written: {error.strerror}", err=True)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
