"""The commands `attitude hil …`: options here, the work in `sims.cli_hil_jobs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sims.cli_base import FAILED, Json, refusing, writing

if TYPE_CHECKING:
    from hil.line import LineOptions
    from sims.cli_hil_jobs import Outcome

app = typer.Typer(help="In the loop: real time, links, flight programs of any kind.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A TOML file, or a shipped scenario by its name.", show_default=False)]
Link = Annotated[
    str,
    typer.Option(
        help="udp-listen://HOST:PORT, udp://HOST:PORT, tcp-listen://…, tcp://…, serial:///DEVICE?baud=N, "
        "pty: or pty:///PATH (the other end: serial:///PATH), child:PROGRAM ARGUMENTS, stdio:",
        show_default=False,
    ),
]
Rate = Annotated[str, typer.Option(help="real, lockstep, or a factor such as 2x.")]
Wait = Annotated[str, typer.Option(help="sleep, sleep-spin or spin.")]
Overrun = Annotated[str, typer.Option(help="skip, catch-up or stop.")]
Out = Annotated[Path | None, typer.Option(help="Folder for mission.nc, hil.json and hil.txt.", show_default=False)]
Duration = Annotated[float | None, typer.Option(help="Seconds of the mission; all of it if left out.")]
LogHz = Annotated[float | None, typer.Option(help="Rows of the log per second; the scenario's if left out.")]
TickHz = Annotated[float | None, typer.Option(help="Instead of the scenario's; on both sides.")]
Seed = Annotated[int | None, typer.Option(help="Instead of the scenario's; on both sides.")]
Record = Annotated[
    Path | None, typer.Option(help="File for a recording of every byte; an earlier one is renamed.", show_default=False)
]
KeyFile = Annotated[Path | None, typer.Option(help="Shared key, 32 bytes or more; packets are authenticated with it.")]
Remote = Annotated[bool, typer.Option("--allow-remote", help="Let addresses of other machines in.")]


def _share(what: str) -> Any:
    return typer.Option(help=f"Part of the packets, 0 to 1, each way, that is {what}.", min=0.0, max=1.0)


Loss = Annotated[float, _share("lost")]
Reorder = Annotated[float, _share("overtaken by the next")]
Duplicate = Annotated[float, _share("sent twice")]
Corrupt = Annotated[float, _share("damaged")]
OnLoss = Annotated[str, typer.Option(help="hold or zero the commands of a silent flight side; in lockstep time waits.")]
LONGEST_S = 1e6


def _silence(help_text: str, least: float) -> Any:
    return typer.Option(help=help_text, min=least, max=LONGEST_S)


Connect = Annotated[float, _silence("Seconds to wait for the first handshake.", 0.0)]
Fifo = Annotated[int | None, typer.Option(help="SCHED_FIFO priority, 1 to 99, if the system allows.")]
Cpu = Annotated[int | None, typer.Option(help="Processor to stay on.")]
NoView = Annotated[bool, typer.Option("--no-view", help="No live view, even in a terminal.")]


@app.command()
def plant(
    scenario: Name,
    link: Link,
    rate: Rate = "real",
    on_loss: OnLoss = "hold",
    timeout_s: Annotated[float, _silence("Silence after which the flight side is lost.", 1e-3)] = 1.0,
    connect_s: Connect = 120.0,
    give_up_s: Annotated[float, _silence("In lockstep: silence after which the run ends.", 0.0)] = 60.0,
    out: Out = None,
    duration_s: Duration = None,
    log_hz: LogHz = None,
    tick_hz: TickHz = None,
    seed: Seed = None,
    record: Record = None,
    key_file: KeyFile = None,
    allow_remote: Remote = False,
    loss: Loss = 0.0,
    reorder: Reorder = 0.0,
    duplicate: Duplicate = 0.0,
    corrupt: Corrupt = 0.0,
    delay_s: Annotated[
        float, typer.Option(help="Packets are late by up to so much wall time, each way.", min=0.0)
    ] = 0.0,
    link_seed: Annotated[int, typer.Option(help="Of what is done to the packets.", min=0)] = 0,
    waiting: Wait = "sleep",
    overrun: Overrun = "catch-up",
    fifo: Fifo = None,
    cpu: Cpu = None,
    no_view: NoView = False,
    json: Json = False,
) -> None:
    """The spacecraft on a link: truth, sensors, actuators. Exit code 1 if the run or its log is not complete."""
    with refusing():
        from hil.impairments import Impairments
        from sims import cli_hil_jobs as jobs

        _one_of("--on-loss", on_loss, ("hold", "zero"))
        bad = Impairments(loss=loss, reordering=reorder, duplication=duplicate, corruption=corrupt, delay_s=delay_s)
        line = _line(link, allow_remote, key_file, record, bad, link_seed)
        options = jobs.LoopOptions(
            rate=rate, waiting=waiting, overrun=overrun, duration_s=duration_s, log_hz=log_hz, out=_folder(out),
            view=not no_view, fifo=fifo, cpu=cpu,
        )  # fmt: skip
        result = jobs.fly_plant(
            jobs.scenario_of(scenario, seed, tick_hz), line, options, on_loss="zero" if on_loss == "zero" else "hold",
            timeout_s=timeout_s, connect_s=connect_s, give_up_s=give_up_s, tell=_tell,
        )  # fmt: skip
    _finish(result, json)


@app.command()
def flight(
    scenario: Name,
    link: Link,
    timeout_s: Annotated[float, _silence("Silence of the plant after which this side ends.", 0.1)] = 30.0,
    connect_s: Connect = 120.0,
    tick_hz: TickHz = None,
    seed: Seed = None,
    record: Record = None,
    key_file: KeyFile = None,
    allow_remote: Remote = False,
) -> None:
    """The toolkit's estimator and controller as a process of its own. Exit code 1 if the plant fell silent."""
    with refusing():
        from sims import cli_hil_jobs as jobs

        line = _line(link, allow_remote, key_file, record)
        given = jobs.scenario_of(scenario, seed, tick_hz)
        side, reason, account = jobs.fly_flight(given, line, timeout_s=timeout_s, connect_s=connect_s, tell=_tell)
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in vars(side.counters).items() if value)
    _tell(f"flight side ended: {reason}; {told or 'no ticks'}; refused {account['refused']}")
    if reason.startswith("nothing was heard") or side.counters.errors:
        raise typer.Exit(FAILED)


@app.command()
def loop(
    scenario: Name,
    rate: Rate = "real",
    compare: Annotated[bool, typer.Option("--compare", help="Run a bare C clock_nanosleep loop beside it.")] = False,
    out: Out = None,
    duration_s: Duration = None,
    log_hz: LogHz = None,
    tick_hz: TickHz = None,
    seed: Seed = None,
    waiting: Wait = "sleep",
    overrun: Overrun = "catch-up",
    fifo: Fifo = None,
    cpu: Cpu = None,
    no_view: NoView = False,
    json: Json = False,
) -> None:
    """Plant and flight side in one process at a fixed rate, with lateness, execution times and slips at the end."""
    with refusing():
        from sims import cli_hil_jobs as jobs

        options = jobs.LoopOptions(
            rate=rate, waiting=waiting, overrun=overrun, duration_s=duration_s, log_hz=log_hz, out=_folder(out),
            view=not no_view, fifo=fifo, cpu=cpu,
        )  # fmt: skip
        try:
            result = jobs.fly_loop(jobs.scenario_of(scenario, seed, tick_hz), options, compare, _tell)
        except jobs.NO_COMPILER as error:
            raise ValueError(str(error)) from None
    _finish(result, json)


@app.command()
def replay(
    recording: Annotated[Path, typer.Argument(help="A file that --record made.", show_default=False)],
    key_file: KeyFile = None,
) -> None:
    """Fly the samples of a recording again; exit code 1 unless every estimate and command is the same, bit for bit."""
    with refusing():
        from hil.authentication import load_key
        from sims import cli_hil_jobs as jobs

        found = jobs.fly_again(recording, load_key(key_file) if key_file else None)
    if found.note:
        _tell(found.note)
    typer.echo(
        f"{found.ticks} ticks in {found.sessions} sessions: compared {found.housekeeping} estimates and "
        f"{found.commands} commands, {found.differences} differ, {found.unanswered} answer samples that are not there"
    )
    if found.first:
        typer.echo(f"first difference: {found.first}")
    if not found.identical:
        raise typer.Exit(FAILED)


@app.command()
def icd() -> None:
    """Print the interface document: every byte of every packet, handshake, timing."""
    from hil import icd as document

    typer.echo(document.text(), nl=False)


@app.command()
def header() -> None:
    """Print the C99 header that encodes and decodes the packets."""
    from hil import header as source

    typer.echo(source.text(), nl=False)


# ------------------------------------------------------------------ shared
def _tell(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")


def _folder(out: Path | None) -> Path | None:
    from sims import output

    if out is not None:
        with writing(out):
            output.check_folder(out)
    return out


def _line(
    link: str, allow_remote: bool, key_file: Path | None, record: Path | None, bad: Any = None, seed: int = 0
) -> LineOptions:
    from hil.impairments import Impairments
    from hil.line import LineOptions

    return LineOptions(
        link=link, allow_remote=allow_remote, key_file=key_file, record=record, impairments=bad or Impairments(),
        seed=seed,
    )  # fmt: skip


def _finish(result: Outcome, json: bool) -> None:
    from sims import output

    typer.echo(output.json_text(result.document()) if json else result.text())
    if not result.finished:
        raise typer.Exit(FAILED)
