"""Figures as files: drawn without a screen, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from matplotlib.figure import Figure


def save(figure: Figure, out: Path, name: str, dpi: int = 110) -> Path:
    """Write `figure` as the PNG `name` into the folder `out`, made if needed; returns the name, relative to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f".{name}.partial"
    try:
        figure.savefig(partial, dpi=dpi, format="png")
        os.replace(partial, out / name)
    finally:
        partial.unlink(missing_ok=True)
    return Path(name)
