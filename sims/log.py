"""The log of a mission: one NetCDF variable for each field of the records, with its unit and frame.

| what                    | where                                                                                  |
|-------------------------|----------------------------------------------------------------------------------------|
| a field of a record     | variable `RECORD_FIELD`, such as `truth_q_IB`; `attitude.spacecraft.frames` lists them |
| time                    | coordinate `time`, s since the epoch, which is its attribute `epoch_utc`               |
| unit, frame, meaning    | attributes `units`, `frame`, `long_name`; of a sensor's field also `sensor`            |
| limit of an actuator    | attribute `limit`, one for each wheel or torquer                                       |
| bits and numbered names | `flag_masks` or `flag_values` with `flag_meanings`, as in the CF conventions           |
| pointing references     | variables `reference_…`, so that errors can be computed without the scenario           |
| the mission             | global attributes: scenario with its TOML text, seed, tick, orbit, version             |

What is not fitted has no variable. The file opens in xarray, in h5py and, as NetCDF 4, in MATLAB.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from attitude.control.guidance import INERTIAL, NADIR, SUN, TARGET, Reference
from attitude.control.modes import Mode, Reason
from attitude.core.jit import Array
from attitude.spacecraft import frames
from attitude.spacecraft.frames import RECORDS, Field, Record
from sims.about import GOAL, About
from sims.output import write_whole

Variable: TypeAlias = tuple[tuple[str, ...], Any, dict[str, Any]]

DIMENSIONS = {
    3: "axis", 4: "quaternion", frames.WHEELS: "wheel", frames.TORQUERS: "torquer", frames.DIODES: "diode",
}  # fmt: skip
"""Name of the axis of a field, by its size in the record."""
REFERENCE_KINDS = {INERTIAL: "inertial", NADIR: "nadir", SUN: "sun", TARGET: "target"}
SWITCHES = ("estimate_running", "control_slewing", "control_dumping")
DAMPER = "damper_omega_B"
NEEDED = ("scenario", "scenario_toml", "epoch_utc", "tick_s", "log_every", "orbit_period_s", "seed")
COMPRESSION = {"zlib": True, "complevel": 1, "shuffle": True, "_FillValue": None}


# ------------------------------------------------------------------ rows into a dataset
def dataset(rows: Mapping[str, Array], about: About) -> xr.Dataset:
    """The log of `rows`: arrays `(N, size)` by the name of their record, `truth` or `samples` among them."""
    lengths = {name: _length(name, array) for name, array in rows.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"rows must hold records of one length, got {lengths}")
    clock = next((name for name in ("truth", "samples") if name in rows), None)
    if clock is None:
        raise ValueError(f"rows must hold truth or samples, for the time, got {', '.join(rows)}")
    variables = dict(_reference_variables(about.references))
    for name, array in rows.items():
        variables |= _record_variables(RECORDS[name], array, about)
    meaning = {"units": "s", "long_name": "time since the epoch", "epoch_utc": about.epoch_utc}
    time = ("time", np.array(RECORDS[clock].read(rows[clock], "t")), meaning)
    return xr.Dataset(variables, coords={"time": time}, attrs=about.attributes())


def _length(name: str, array: Array) -> int:
    if name not in RECORDS:
        raise ValueError(f"rows must be of the records {', '.join(RECORDS)}, got {name!r}")
    if array.ndim != 2 or array.shape[1] != RECORDS[name].size:
        raise ValueError(f"rows of {name} must have shape (N, {RECORDS[name].size}), got {array.shape}")
    return len(array)


def _record_variables(record: Record, array: Array, about: About) -> dict[str, Variable]:
    parts = ((f"{record.name}_{name}", item, record.read(array, name)) for name, item in record.items())
    return {name: _variable(name, item, values, about) for name, item, values in parts if _is_fitted(item, about)}


def _is_fitted(item: Field, about: About) -> bool:
    if item.name == DAMPER:
        return about.damper
    if DIMENSIONS.get(item.size) in ("wheel", "torquer"):
        return about.fitted[DIMENSIONS[item.size]] > 0
    return not item.sensor or item.sensor in about.sensors


def _variable(name: str, item: Field, values: Array, about: About) -> Variable:
    attributes = {"units": item.unit, "long_name": item.meaning, "frame": item.frame, "sensor": item.sensor}
    attributes = {key: text for key, text in attributes.items() if text} | _limit(name, about)
    if item.size > 1:
        dimension = DIMENSIONS[item.size]
        return ("time", dimension), values[:, : about.fitted.get(dimension)], attributes
    flags = _flags(name, item)
    return ("time",), _whole_numbers(values) if flags else values, attributes | flags


def _limit(name: str, about: About) -> dict[str, Any]:
    limits = {
        "truth_wheel_speed": about.wheel_max_speed,
        "truth_wheel_momentum": about.wheel_max_momentum,
        "command_dipole": about.torquer_max_dipole,
    }
    return {"limit": np.array(limits[name], dtype=np.float64)} if name in limits else {}


def _flags(name: str, item: Field) -> dict[str, Any]:
    """Attributes of a variable that holds bits or the number of a name; none for one that is measured."""
    if item.unit == "bits":
        masks = np.array([1 << bit for bit in range(frames.BITS)], dtype=np.int32)
        return {"flag_masks": masks, "flag_meanings": " ".join(frames.SENSOR_NAMES)}
    if name in ("control_mode", "control_reason"):
        members = Mode if name == "control_mode" else Reason
        return _numbered({int(member): member.name.lower() for member in members})
    return _numbered({0: "no", 1: "yes"}) if name in SWITCHES else {}


def _numbered(names: Mapping[int, str]) -> dict[str, Any]:
    return {"flag_values": np.array(list(names), dtype=np.int32), "flag_meanings": " ".join(names.values())}


def _whole_numbers(values: Array) -> Any:
    """As integers, unless that would hide a value that is none."""
    limits = np.iinfo(np.int32)
    whole = ((limits.min <= values) & (values <= limits.max) & (values == np.round(values))).all()
    return values.astype(np.int32) if whole else values


# ------------------------------------------------------------------ pointing references
REFERENCE_FIELDS = {
    "q_FB": ("quaternion", "1", "body axes to the frame of the two directions"),
    "second_I": ("axis", "1", "direction for the second axis, of a Sun reference"),
    "point_E": ("axis", "m", "the point that is looked at, Earth-fixed axes"),
    "up_E": ("axis", "1", "upward normal there, Earth-fixed axes"),
    "least_sine": ("", "1", "sine of the least elevation"),
}
"""What a reference is made of besides its kind: axis, unit and meaning of each part."""


def _reference_variables(references: Mapping[int, Reference]) -> Iterator[tuple[str, Variable]]:
    if not references:
        return
    numbers = np.array(list(references), dtype=np.int32)
    yield "reference_number", (("reference",), numbers, {"units": "1", "long_name": "number in control_pointing"})
    parameters = [reference.parameters() for reference in references.values()]
    kinds = np.array([p.kind for p in parameters], dtype=np.int32)
    meaning = {"units": "1", "long_name": "kind of pointing reference", **_numbered(REFERENCE_KINDS)}
    yield "reference_kind", (("reference",), kinds, meaning)
    for name, (dimension, unit, text) in REFERENCE_FIELDS.items():
        array = np.array([getattr(p, name) for p in parameters], dtype=np.float64)
        dimensions = ("reference", dimension) if dimension else ("reference",)
        yield f"reference_{name}", (dimensions, array, {"units": unit, "long_name": text})


# ------------------------------------------------------------------ files
def write(path: Path, log: xr.Dataset) -> None:
    """Write the log as NetCDF 4, whole or not at all."""
    encoding = {str(name): dict(COMPRESSION) for name in log.variables}
    write_whole(path, log.to_netcdf(engine="h5netcdf", encoding=encoding))


def read(path: Path, records: Sequence[str] = tuple(RECORDS)) -> xr.Dataset:
    """The log at `path`, in memory; `ValueError` if there is none, or none that holds these records."""
    if not path.is_file():
        raise ValueError(f"{path} {'is not a file' if path.exists() else 'does not exist'}")
    try:
        log = xr.load_dataset(path, engine="h5netcdf")
    except PermissionError:
        raise ValueError(f"{path} cannot be read: permission denied") from None
    except Exception as error:  # whatever the reader stumbles on in bytes that are no log
        raise ValueError(f"{path} is not a NetCDF file that can be read: {_first_line(error)}") from None
    missing = _missing(log, records)
    if missing:
        raise ValueError(f"{path} is not the log of a mission: it has no {missing}")
    return log


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _missing(log: xr.Dataset, records: Sequence[str]) -> str:
    """The first thing a log must have that this one lacks, empty if none."""
    if log.sizes.get("time", 0) == 0 or "time" not in log.coords:
        return "rows"
    for name in NEEDED:
        if name not in log.attrs:
            return f"attribute {name!r}"
    fields = ((f"{record}_{item.name}", item) for record in records for item in RECORDS[record].values())
    for variable, item in fields:
        if _always_there(item) and variable not in log:
            return f"variable {variable!r}"
        if variable in log and not _has_shape(log[variable], item):
            return f"variable {variable!r} of numbers over time"
    return ""


def _always_there(item: Field) -> bool:
    return not item.sensor and item.name != DAMPER and item.size in (1, 3, 4)


def _has_shape(variable: xr.DataArray, item: Field) -> bool:
    axes = ("time",) if item.size == 1 else ("time", DIMENSIONS[item.size])
    return variable.dims == axes and variable.dtype.kind in "if"


def goals(log: xr.Dataset) -> dict[str, float]:
    """The numbers the mission is to reach, by name."""
    return {str(name).removeprefix(GOAL): float(v) for name, v in log.attrs.items() if str(name).startswith(GOAL)}


def limit(log: xr.Dataset, name: str) -> Array:
    """Largest value each component of a variable may have, infinite if the log does not tell."""
    told = np.asarray(log[name].attrs.get("limit", math.inf), dtype=np.float64)
    return np.array(np.broadcast_to(told, log[name].shape[1:]))
