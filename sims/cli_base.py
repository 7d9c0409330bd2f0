"""What the commands share: exit codes, options, and how bad input becomes one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

BAD_INPUT, FAILED = 2, 1

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def refuse(sentence: str) -> NoReturn:
    """Say what is wrong with the input, and stop with its exit code."""
    typer.echo(sentence, err=True)
    raise typer.Exit(BAD_INPUT)


@contextmanager
def refusing() -> Iterator[None]:
    """What is wrong with the input becomes one sentence and exit code 2."""
    try:
        yield
    except ValueError as error:
        refuse(str(error))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """The same for a place that cannot be written to."""
    try:
        yield
    except OSError as error:
        refuse(f"cannot write to --out {path}: {error.strerror or error}")
