"""What is wrong with a scenario, in one sentence that begins with the path of the field."""

from __future__ import annotations

import difflib
import math
import re
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time
from typing import Any

from pydantic import ValidationError

TAG = "<"  # begins the parts of a pydantic location that are not keys of the file, see `scenario_fields.Choice`
LEAST, LARGEST = 1e-15, 1e15  # of any number in a scenario
SHOWN = 60  # characters of a value that a sentence shows
KINDS = {
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "model_type": "must be a table",
    "string_type": "must be a string",
}
"""What is allowed, by pydantic's name of the mistake."""
OTHERWISE = {"ut1_minus_utc": "ut1_minus_utc_s"}  # fields that a check deeper down calls by another name

_PARTS = re.compile(r"(number of )?(\w*)(.*)", re.DOTALL)  # of a check's sentence: the field's name, and the rest


class ScenarioError(ValueError):
    """The scenario cannot be flown; the message is one sentence."""


class FieldError(ValueError):
    """A mistake found while a field or table is validated: `before`, then the path, then `text`."""

    def __init__(self, text: str, before: str = "") -> None:
        super().__init__(before + text)
        self.text, self.before = text, before


def shown(value: Any) -> str:
    """The value, shortened if it is long."""
    if isinstance(value, date | time):
        return value.isoformat()
    short = reprlib.Repr()
    short.maxstring = short.maxother = SHOWN
    return short.repr(value)


def dotted(path: Sequence[str | int]) -> str:
    """`("sensors", "sun_sensors", 1)` as `sensors.sun_sensors[1]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def placed(path: str, text: str) -> str:
    """`text` behind the path: `.field must …` of a table, `[1] must …` of a list, ` must …` of the field itself."""
    return (path + text).lstrip(".: ")


# ------------------------------------------------------------------ from the size of the numbers
def check_sizes(value: Any, path: tuple[str | int, ...] = ()) -> None:
    """Refuse numbers so large or small that no quantity of a spacecraft has them, and arithmetic may overflow."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            check_sizes(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            check_sizes(item, (*path, i))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        size = abs(value)
        if size not in (0, math.inf) and not LEAST <= size <= LARGEST and value == value:
            text = f" must be zero, or from {LEAST:g} to {LARGEST:g} in size, got {shown(value)}"
            raise ScenarioError(placed(dotted(path), text))


# ------------------------------------------------------------------ from the program's own checks
def field_error(error: ValueError, names: Collection[str]) -> FieldError:
    """A check's sentence, which begins with the name of a field, as one that begins below the path of the table."""
    if isinstance(error, FieldError):
        return error
    before, name, rest = _PARTS.fullmatch(str(error)).groups("")  # type: ignore[union-attr]
    name = OTHERWISE.get(name, name)
    return FieldError(f".{name}{rest}", before) if name in names else FieldError(f": {error}")


@contextmanager
def at(path: str, names: Collection[str] = (), **renamed: str) -> Iterator[None]:
    """Give the sentence of a `ValueError` its path; `names` are fields below it, `renamed` those called otherwise."""
    try:
        yield
    except ScenarioError:
        raise
    except ValueError as error:
        name = re.match(r"\w*", str(error))[0]  # type: ignore[index]
        if name in renamed:
            raise ScenarioError(renamed[name] + str(error).removeprefix(name)) from error
        below = field_error(error, names)
        raise ScenarioError(below.before + placed(path, below.text)) from error


def unknown_key(key: str, allowed: Collection[str]) -> FieldError:
    """The key is not a field: name the nearest that is, or all."""
    near = difflib.get_close_matches(key, allowed, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else f"allowed are {', '.join(allowed)}"
    return FieldError(f".{key} is not a field; {hint}")


# ------------------------------------------------------------------ from pydantic
def sentence(error: ValidationError, meaning: Callable[[str], str]) -> str:
    """The first mistake, and how many more there are; `meaning` tells what the field at a path is for."""
    mistakes = error.errors(include_url=False)
    more = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return _mistake(mistakes[0], meaning) + more


def _mistake(mistake: Any, meaning: Callable[[str], str]) -> str:
    path = dotted([part for part in mistake["loc"] if not str(part).startswith(TAG)])
    own = mistake.get("ctx", {}).get("error")
    if isinstance(own, FieldError):
        return own.before + placed(path, own.text)
    if mistake["type"] == "missing":
        purpose = meaning(path)
        return f"{path} is missing: {purpose}" if purpose else f"{path} is missing"
    allowed = KINDS.get(mistake["type"], "{msg}").format(msg=mistake["msg"], **mistake.get("ctx", {}))
    return placed(path, f" {allowed}, got {shown(mistake['input'])}")
