"""The table every paper fills: quantity, what the source prints, what we get, verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from pathlib import Path

KINDS = {
    "digits": "every printed digit comes out",
    "reference": "every digit of a number computed independently comes out, where the source prints none",
    "bound": "the measured error or difference is within the stated limit",
    "statement": "what the source says in words, decided by the measurement beside it",
}
Progress = Callable[[str, float], None]  # what is running now, fraction done (0 to 1)


@dataclass(frozen=True)
class Row:
    """One reproduced quantity; `kind` says what decided: see `KINDS`."""

    quantity: str
    printed: str
    ours: str
    difference: float | None
    kind: str
    passed: bool


@dataclass(frozen=True)
class Paper:
    """What one source gives: its table and its figures (file names inside the output folder)."""

    name: str
    title: str
    rows: list[Row]
    figures: list[Path] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every row holds; a paper without rows has shown nothing."""
        return bool(self.rows) and all(row.passed for row in self.rows)


def digits(quantity: str, printed: str, ours: float, *, truncated: bool = False) -> Row:
    """Row that holds when `ours`, brought to the digits of `printed`, is `printed`.

    `printed` is the number as the source has it ("2.6966e-7"); `truncated` says that the source cuts digits off
    instead of rounding.
    """
    target = Decimal(printed)
    step = Decimal(1).scaleb(int(target.as_tuple().exponent))
    shown = Decimal(repr(float(ours))).quantize(step, rounding=ROUND_DOWN if truncated else ROUND_HALF_EVEN)
    return Row(quantity, printed, f"{ours:.12g}", float(ours) - float(target), "digits", shown == target)


def reference(quantity: str, known: str, ours: float) -> Row:
    """As `digits`, for a number that no source prints: `known` was computed independently, to more digits."""
    return replace(digits(quantity, known, ours), kind="reference")


def bound(quantity: str, printed: str, ours: float, limit: float) -> Row:
    """Row that holds when `|ours| ≤ limit`; `printed` is the source's words."""
    return Row(quantity, printed, f"{ours:.3g} (limit {limit:.3g})", None, "bound", abs(ours) <= limit)


def close(quantity: str, printed: str, ours: float, target: float, tolerance: float) -> Row:
    """Row that holds when `|ours − target| ≤ tolerance` (absolute)."""
    difference = float(ours) - target
    return Row(quantity, printed, f"{ours:.12g}", difference, "bound", abs(difference) <= tolerance)


def statement(quantity: str, printed: str, ours: str, holds: bool) -> Row:
    """Row for what the source says in words; `ours` gives the measurement that decides."""
    return Row(quantity, printed, ours, None, "statement", bool(holds))
