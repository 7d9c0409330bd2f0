"""A log as comma-separated values: one line for each row, one column for each number, names and units in the head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

DIGITS = 10  # significant: 1e-10 of a position is less than a millimetre
BLOCK = 10_000  # rows formatted at a time


def csv(dataset: xr.Dataset) -> Iterator[str]:
    """The lines of the file, in blocks; variables that do not change with time are left out."""
    columns = [variable for variable in dataset.data_vars.values() if variable.dims[:1] == ("time",)]
    table = np.column_stack([dataset["time"].values, *(v.values.reshape(len(v), -1) for v in columns)])
    yield ",".join(["time [s]", *(name for variable in columns for name in _names(variable))]) + "\n"
    line = ",".join([f"%.{DIGITS}g"] * table.shape[1]) + "\n"
    for first in range(0, len(table), BLOCK):
        yield "".join(line % tuple(row) for row in table[first : first + BLOCK])


def _names(variable: xr.DataArray) -> list[str]:
    """`samples_gyro_omega_B[0] [rad/s]` and so on."""
    unit = f" [{variable.attrs['units']}]"
    if variable.ndim == 1:
        return [f"{variable.name}{unit}"]
    return [f"{variable.name}[{i}]{unit}" for i in range(variable.shape[1])]
