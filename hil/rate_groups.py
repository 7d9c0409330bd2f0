"""Rate groups: callables that run on every n-th tick of the loop, n being the divisor, from the tick of the offset."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from hil.timeline import exact_rate

Callback: TypeAlias = Callable[[int, float], object]  # tick number, nominal time in s


@dataclass(frozen=True)
class RateGroup:
    """`callback(tick, nominal_s)` on each tick with `tick % divisor == offset`."""

    name: str
    callback: Callback
    divisor: int = 1
    offset: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ValueError(f"name of a group must be a string, got {self.name!r}")
        if not callable(self.callback):
            raise ValueError(f"callback of group {self.name!r} must be callable, got {self.callback!r}")
        if not _is_int(self.divisor) or self.divisor < 1:
            raise ValueError(f"divisor of group {self.name!r} must be an integer from 1, got {self.divisor!r}")
        if not _is_int(self.offset) or not 0 <= self.offset < self.divisor:
            raise ValueError(
                f"offset of group {self.name!r} must be an integer from 0 to {self.divisor - 1}, got {self.offset!r}"
            )

    @classmethod
    def at(
        cls,
        name: str,
        callback: Callback,
        *,
        rate_hz: float | Fraction,
        loop_rate_hz: float | Fraction,
        offset: int = 0,
    ) -> RateGroup:
        """The group that runs at `rate_hz` in a loop of `loop_rate_hz`; the first must divide the second."""
        loop = exact_rate(loop_rate_hz, "loop_rate_hz")
        ratio = loop / exact_rate(rate_hz, f"rate_hz of group {name!r}")
        if ratio.denominator != 1:
            raise ValueError(
                f"rate_hz of group {name!r} must divide the loop's rate of {float(loop):g} Hz, "
                f"got {float(rate_hz):g} (allowed nearby: {_neighbours(loop, ratio)})"
            )
        return cls(name, callback, ratio.numerator, offset)

    def due_between(self, first: int, end: int) -> int:
        """How many ticks of `first`, ..., `end - 1` are this group's."""
        return _due_before(end, self) - _due_before(first, self)


def check_groups(groups: Iterable[RateGroup]) -> tuple[RateGroup, ...]:
    """The groups, if there is one at least and no two share a name."""
    if not isinstance(groups, Iterable):
        alone = ": a single one goes into a list" if isinstance(groups, RateGroup) else ""
        raise ValueError(f"groups must be a sequence of RateGroup objects, got {groups!r}{alone}")
    given = tuple(groups)
    for place, group in enumerate(given):
        if not isinstance(group, RateGroup):
            raise ValueError(f"groups must be RateGroup objects, got {group!r} in place {place}")
    _check_names([group.name for group in given])
    return given


def _check_names(names: list[str]) -> None:
    if not names:
        raise ValueError("groups must hold at least one rate group, got none")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"groups must have names of their own, got {twice[0]!r} more than once")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _due_before(end: int, group: RateGroup) -> int:
    return (end - group.offset + group.divisor - 1) // group.divisor


def _neighbours(loop: Fraction, ratio: Fraction) -> str:
    divisors = {max(1, int(ratio)), int(ratio) + 1}
    return ", ".join(f"{float(loop / divisor):g}" for divisor in sorted(divisors))
