"""Fields and tables of a scenario for pydantic, derived from the configuration classes of `attitude`.

A class says once which fields there are, what must be given and which values are allowed. Here its fields become those
of a pydantic model, which checks names and types; the class itself, built from them, checks the values.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, PlainValidator, model_validator
from pydantic import create_model as pydantic_model
from pydantic_core import core_schema

from sims.scenario_errors import TAG, FieldError, field_error, shown, unknown_key

T = TypeVar("T")


# ------------------------------------------------------------------ numbers
def _number(value: Any) -> float:
    """A number as TOML has them; whether infinity is allowed, the class it goes to decides."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(f" must be a number, got {shown(value)}")
    return float(value)  # its size is within bounds, see `scenario_errors.check_sizes`


def _numbers(value: Any) -> Any:
    """A finite number, or lists of them to any depth."""
    if isinstance(value, list | tuple):
        return [_entry(entry, i) for i, entry in enumerate(value)]
    number = _number(value)
    if not math.isfinite(number):
        raise FieldError(f" must be finite, got {number}")
    return number


def _entry(value: Any, index: int) -> Any:
    try:
        return _numbers(value)
    except FieldError as error:
        raise FieldError(f"[{index}]{error.text}") from None


Number = Annotated[float, PlainValidator(_number)]
Numbers = Annotated[Any, PlainValidator(_numbers)]
PLAIN: dict[Any, Any] = {float: Number, int: int, bool: bool, str: str}


# ------------------------------------------------------------------ tables
class Section(BaseModel):
    """A table of the file: no key but its fields, no conversion between types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, table: Any) -> Any:
        """Refuse unknown keys before anything else: a misspelt field is not only missing."""
        for key in table if isinstance(table, dict) else ():
            if key not in cls.model_fields:
                raise unknown_key(key, cls.model_fields)
        return table

    @model_validator(mode="after")
    def _checked(self) -> Section:
        try:
            self.check()
        except ValueError as error:
            raise field_error(error, type(self).model_fields) from error
        return self

    def check(self) -> None:
        """Check the values; a `ValueError` begins with the name of the field."""

    def given(self) -> dict[str, Any]:
        """Fields that the file has."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}


@dataclass(frozen=True)
class Part(Generic[T]):
    """The fields of `kind` that the file gives, and `more` that are not its own; `build` needs the rest."""

    kind: type[T]
    given: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)

    def build(self, **rest: Any) -> T:
        """The object itself."""
        return self.kind(**{**rest, **self.given})


class Whole:
    """Annotation: the field is an object of the annotated class, from a table with the fields of that class."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def build(section: Section) -> Any:
            return _built(source, section.given(), type(section).model_fields)

        return core_schema.no_info_after_validator_function(build, handler.generate_schema(table_of(source)))


@dataclass(frozen=True, eq=False)
class Some(Generic[T]):
    """Annotation: the field is a `Part[kind]`, from a table with the fields of `kind` but `without`.

    `more` are fields of the table that are not the class's, as pydantic takes them; `optional` those the file may leave
    out though the class needs them. With `stand_in` for all that is left out, the values are checked at once.
    """

    kind: type[T]
    without: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    stand_in: Mapping[str, Any] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        model = table_of(self.kind, self.without, self.optional, self.more)
        return core_schema.no_info_after_validator_function(self._part, handler.generate_schema(model))

    def _part(self, section: Section) -> Part[T]:
        own = {name: value for name, value in section.given().items() if name not in self.more}
        if self.stand_in is not None:
            _built(self.kind, {**self.stand_in, **own}, type(section).model_fields)
        return Part(self.kind, own, {name: getattr(section, name) for name in self.more})


@dataclass(frozen=True, eq=False)
class Choice:
    """Annotation: which of several annotated types the table is, the value of `key` tells."""

    key: str
    choices: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        tables: dict[Any, Any] = {
            _tag(name): core_schema.no_info_before_validator_function(self._rest, handler.generate_schema(kind))
            for name, kind in self.choices.items()
        }
        union = core_schema.tagged_union_schema(tables, discriminator=lambda table: _tag(table[self.key]))
        return core_schema.no_info_before_validator_function(self._checked, union)

    def _checked(self, table: Any) -> Any:
        if not isinstance(table, dict):
            raise FieldError(f" must be a table, got {shown(table)}")
        names = ", ".join(f'"{name}"' for name in self.choices)
        if self.key not in table:
            raise FieldError(f".{self.key} is missing: one of {names}")
        if table[self.key] not in list(self.choices):
            raise FieldError(f".{self.key} must be one of {names}, got {shown(table[self.key])}")
        return table

    def _rest(self, table: Any) -> Any:
        return {key: value for key, value in table.items() if key != self.key}


@dataclass(frozen=True, eq=False)
class Either:
    """Annotation: a table that has `key`, and then nothing else, is of the type `present`; without it, `absent`."""

    key: str
    present: Any
    absent: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        tables = {_tag(str(has)): handler.generate_schema((self.absent, self.present)[has]) for has in (False, True)}
        union = core_schema.tagged_union_schema(tables, discriminator=lambda table: _tag(str(self.key in table)))
        return core_schema.no_info_before_validator_function(self._checked, union)

    def _checked(self, table: Any) -> Any:
        if not isinstance(table, dict):
            raise FieldError(f" must be a table, got {shown(table)}")
        beside = [key for key in table if key != self.key]
        if self.key in table and beside:
            raise FieldError(f".{beside[0]} must not be given beside {self.key}, got {shown(table[beside[0]])}")
        return table


def _tag(name: str) -> str:
    return f"{TAG}{name}>"


def _built(kind: type[T], values: Mapping[str, Any], names: Mapping[str, Any]) -> T:
    try:
        return kind(**values)
    except ValueError as error:
        raise field_error(error, names) from error


# ------------------------------------------------------------------ from dataclass to model
def table_of(
    kind: Any, without: tuple[str, ...] = (), optional: tuple[str, ...] = (), more: Mapping[str, Any] | None = None
) -> type[Section]:
    """Model with the fields a dataclass is made from; defaults stay the dataclass's: they are left out here."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = dict(more or {})
    for own in dataclasses.fields(kind):
        if own.init and own.name not in without:
            needed = own.default is own.default_factory is dataclasses.MISSING and own.name not in optional
            fields[own.name] = (_type_of(hints[own.name]), ... if needed else None)
    return pydantic_model(kind.__name__, __base__=Section, **fields)


def _type_of(hint: Any) -> Any:
    """Type of a field for pydantic: numbers, text, tables and lists of tables; arrays are numbers to any depth."""
    if hint in PLAIN:
        return PLAIN[hint]
    if dataclasses.is_dataclass(hint):
        return Annotated[hint, Whole()]
    args = [arg for arg in get_args(hint) if arg is not types.NoneType]
    if get_origin(hint) in (Union, types.UnionType) and len(args) == 1:
        return _type_of(args[0])
    if get_origin(hint) is tuple and dataclasses.is_dataclass(args[0]):
        return list[_type_of(args[0])]  # type: ignore[misc]
    return Numbers
