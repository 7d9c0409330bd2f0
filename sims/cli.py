"""The command `attitude`: every option checked here, every job imported only when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from sims.papers.table import Progress

BAD_INPUT, FAILED = 2, 1
WIDTH = 150  # columns when standard output is not a terminal

app = typer.Typer(
    help="Attitude estimation and control, built around the quaternion variational integrator.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


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
def papers(
    name: Annotated[str | None, typer.Argument(help="One paper; all of them if left out.", show_default=False)] = None,
    json: Json = False,
    out: Annotated[Path, typer.Option(help="Folder for the figures and index.html.")] = Path("out/papers"),
) -> None:
    """Reproduce the source papers: printed value, ours, verdict; figures. Exit code 1 if any verdict fails."""
    from sims import output
    from sims.papers import registry, runner

    if name is not None and name not in registry.MODULES:
        _refuse(f"unknown paper {name!r}: choose one of {', '.join(registry.MODULES)}")
    _check(output.check_folder, out)
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
    quick: Annotated[bool, typer.Option("--quick", help="A short version, under 20 s.")] = False,
    out: Annotated[Path | None, typer.Option(help="File for the JSON document.", show_default=False)] = None,
) -> None:
    """Speed and accuracy against the installed peers, as ratios measured in one run."""
    from sims import output

    if out is not None:
        _check(output.check_file, out)
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
    name: Annotated[str, typer.Argument(help="sample-rate or consistency.", show_default=False)],
    json: Json = False,
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and the figures.")] = Path("out/studies"),
    runs: Annotated[int | None, typer.Option(help="Seeded runs; the study's own number if left out.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same numbers; the study's own if left out.")] = None,
) -> None:
    """Monte Carlo study of the filters, on all cores. Exit code 1 if any verdict fails."""
    from sims import output
    from sims.studies import registry, report

    if name not in registry.MODULES:
        _refuse(f"unknown study {name!r}: choose one of {', '.join(registry.MODULES)}")
    if runs is not None and runs < 2:
        _refuse(f"--runs must be at least 2, for an interval, got {runs}")
    if seed is not None and seed < 0:
        _refuse(f"--seed must not be negative, got {seed}")
    _check(output.check_folder, out)
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


def _check(check: Callable[[Path], None], path: Path) -> None:
    try:
        check(path)
    except OSError as error:
        _refuse(f"cannot write to --out {path}: {error.strerror or error}")


def _refuse(sentence: str) -> None:
    typer.echo(sentence, err=True)
    raise typer.Exit(BAD_INPUT)


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the signs still gets the rest
    app(prog_name="attitude")


if __name__ == "__main__":
    main()
