"""The wire: flat float64 records between the plant side and the flight side, and what each side says about itself.

| record     | from, to                          | what                                                       |
|------------|-----------------------------------|------------------------------------------------------------|
| `SAMPLES`  | plant to flight, every tick       | sensor samples with time tags, wheel speeds                |
| `COMMAND`  | flight to plant, every tick       | wheel commands, torquer dipoles                            |
| `ESTIMATE` | flight to ground (housekeeping)   | attitude, rate, bias, their sigmas, which samples it took   |
| `CONTROL`  | flight to ground (housekeeping)   | mode, reference, torque                                    |
| `TRUTH`    | plant to log, never to the flight | motion, environment, torques, audit                        |

A record has room for the most a spacecraft can carry; what is not fitted stays zero. A sensor's bit in `valid` is set
only in the tick that brings a valid sample; its values stay those of the last valid one. Numbers are SI. Frames: B
body axes, I inertial axes (GCRS). This table is the only place that knows a layout: kernels use its offsets, the log
its names and units, packets and the C header its order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from attitude.core.jit import Array, kernel

SUN_SENSORS, STAR_TRACKERS, DIODES, WHEELS, TORQUERS = 4, 2, 12, 8, 6  # the most that fit

# Bits of `valid` (samples), `accepted`, `rejected` and `faulty` (estimate)
GYRO_BIT = 0
MAGNETOMETER_BIT = 1
SUN_SENSOR_BIT = 2  # to 5
COARSE_SUN_BIT = 6
STAR_TRACKER_BIT = 7  # to 8
GPS_BIT = 9
WHEELS_BIT = 10
TORQUERS_BIT = 11
BITS = 12
SENSOR_NAMES = (
    "gyro", "magnetometer", *(f"sun_sensor_{i}" for i in range(SUN_SENSORS)), "coarse_sun",
    *(f"star_tracker_{i}" for i in range(STAR_TRACKERS)), "gps", "wheels", "torquers",
)  # fmt: skip
"""Name of each bit."""


@dataclass(frozen=True)
class Field:
    """`size` numbers called `name`; `frame` B, I or none; `bit` of `valid` that tells when they are new."""

    name: str
    size: int
    unit: str
    frame: str
    meaning: str
    bit: int | None = None
    offset: int = -1

    @property
    def part(self) -> slice:
        """Where in the record."""
        return slice(self.offset, self.offset + self.size)

    @property
    def sensor(self) -> str:
        """Sensor or actuator the field belongs to, empty if none."""
        return "" if self.bit is None else SENSOR_NAMES[self.bit]


class Record(Mapping[str, Field]):
    """Fields one after the other; `record["name"]` is a field, `record.read(array, "name")` a view of its numbers."""

    def __init__(self, name: str, meaning: str, *fields: Field) -> None:
        self.name, self.meaning = name, meaning
        self._fields: dict[str, Field] = {}
        self.size = 0
        for field in fields:
            self._fields[field.name] = replace(field, offset=self.size)
            self.size += field.size

    def __getitem__(self, name: str) -> Field:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def zeros(self) -> Array:
        """An empty record."""
        return np.zeros(self.size)

    def read(self, array: Array, name: str) -> Array:
        """View of a field in a record `(size,)` or in rows `(N, size)`; a single number loses its axis."""
        field = self[name]
        return array[..., field.offset] if field.size == 1 else array[..., field.part]

    def as_dict(self, array: Array) -> dict[str, Array]:
        """All fields by name, copied."""
        return {name: np.array(self.read(array, name)) for name in self}


def _tag(sensor: str, bit: int) -> Field:
    return Field(f"{sensor}_t", 1, "s", "", "time of validity of the sample", bit)


def _sensor(sensor: str, bit: int, name: str, size: int, unit: str, frame: str, meaning: str) -> tuple[Field, Field]:
    return _tag(sensor, bit), Field(f"{sensor}_{name}", size, unit, frame, meaning, bit)


def _bits(name: str, meaning: str) -> Field:
    return Field(name, 1, "bits", "", meaning)


def _sun_sensors() -> Iterator[Field]:
    for i in range(SUN_SENSORS):
        bit, meaning = SUN_SENSOR_BIT + i, "measured direction to the Sun"
        yield from _sensor(f"sun_sensor_{i}", bit, "sun_B", 3, "1", "B", meaning)


def _star_trackers() -> Iterator[Field]:
    for i in range(STAR_TRACKERS):
        bit, meaning = STAR_TRACKER_BIT + i, "measured attitude [x,y,z,w]"
        yield from _sensor(f"star_tracker_{i}", bit, "q_IB", 4, "1", "I", meaning)


SAMPLES = Record(
    "samples", "sensor samples, plant to flight",
    Field("t", 1, "s", "", "time of the tick since the epoch"),
    _bits("valid", "sensors that have a new valid sample in this tick"),
    *_sensor("gyro", GYRO_BIT, "omega_B", 3, "rad/s", "B", "measured rate"),
    *_sensor("magnetometer", MAGNETOMETER_BIT, "b_B", 3, "T", "B", "measured magnetic field"),
    *_sun_sensors(),
    *_sensor("coarse_sun", COARSE_SUN_BIT, "reading", DIODES, "1", "", "photodiode readings, 1 in full sunlight"),
    *_star_trackers(),
    *_sensor("gps", GPS_BIT, "r_I", 3, "m", "I", "measured position"),
    Field("gps_v_I", 3, "m/s", "I", "measured velocity", GPS_BIT),
    Field("wheel_speed", WHEELS, "rad/s", "", "measured speed of each wheel relative to the body", WHEELS_BIT),
)  # fmt: skip

COMMAND = Record(
    "command", "actuator commands, flight to plant",
    Field("t", 1, "s", "", "time tag of the samples that are answered"),
    _bits("valid", "actuators that are commanded; the others are off"),
    Field("wheel", WHEELS, "N m or rad/s", "", "motor torque or speed of each wheel", WHEELS_BIT),
    Field("dipole", TORQUERS, "A m2", "", "dipole of each magnetorquer", TORQUERS_BIT),
)  # fmt: skip

ESTIMATE = Record(
    "estimate", "what the estimator knows, flight to ground",
    Field("t", 1, "s", "", "time of the estimate"),
    Field("running", 1, "1", "", "1 if there is an attitude, 0 if not"),
    Field("q_IB", 4, "1", "I", "attitude [x,y,z,w], body to inertial"),
    Field("omega_B", 3, "rad/s", "B", "rate; the gyro's own if there is no attitude"),
    Field("gyro_bias_B", 3, "rad/s", "B", "bias of the gyro"),
    Field("sigma_B", 3, "rad", "B", "1 sigma of the attitude about each body axis"),
    Field("sigma_bias_B", 3, "rad/s", "B", "1 sigma of the bias"),
    _bits("accepted", "sensors whose sample was taken in this tick"),
    _bits("rejected", "sensors whose sample was refused in this tick (gate, age, not finite)"),
    _bits("faulty", "sensors that are held to be faulty"),
    Field("ephemeris_s", 1, "s", "", "correction of the on-board orbit's clock by GPS"),
)  # fmt: skip

CONTROL = Record(
    "control", "what the controller does, flight to ground",
    Field("mode", 1, "1", "", "0 detumble, 1 acquire, 2 safe, 3 nominal"),
    Field("reason", 1, "1", "", "why the mode last changed"),
    Field("pointing", 1, "1", "", "number of the pointing reference, -1 for none"),
    Field("slewing", 1, "1", "", "1 while a slew is under way"),
    Field("dumping", 1, "1", "", "1 while momentum is dumped"),
    Field("reference_q_IB", 4, "1", "I", "attitude that is asked for"),
    Field("reference_omega_B", 3, "rad/s", "B", "rate that is asked for, in the reference's axes"),
    Field("torque_B", 3, "N m", "B", "torque that is asked of the wheels"),
    Field("wheel_load", 1, "1", "", "largest wheel speed over its maximum"),
    Field("rate", 1, "rad/s", "", "rate the mode manager goes by"),
)  # fmt: skip

TRUTH = Record(
    "truth", "what the plant did, for the log only",
    Field("t", 1, "s", "", "time since the epoch"),
    Field("q_IB", 4, "1", "I", "true attitude [x,y,z,w], body to inertial"),
    Field("omega_B", 3, "rad/s", "B", "true rate"),
    Field("damper_omega_B", 3, "rad/s", "B", "rate of the damper's sphere"),
    Field("wheel_momentum", WHEELS, "N m s", "", "absolute axial momentum of each wheel"),
    Field("wheel_speed", WHEELS, "rad/s", "", "true speed of each wheel relative to the body"),
    Field("wheel_torque", WHEELS, "N m", "", "torque on each rotor in the tick that begins"),
    Field("dipole_B", 3, "A m2", "B", "mean dipole of the torquers in the tick that begins"),
    Field("torque_magnetic_B", 3, "N m", "B", "torque of the magnetorquers"),
    Field("torque_gravity_B", 3, "N m", "B", "gravity gradient"),
    Field("torque_residual_B", 3, "N m", "B", "torque of the residual dipole"),
    Field("torque_drag_B", 3, "N m", "B", "torque of the drag"),
    Field("torque_solar_B", 3, "N m", "B", "torque of the solar pressure"),
    Field("r_I", 3, "m", "I", "position"),
    Field("v_I", 3, "m/s", "I", "velocity"),
    Field("b_I", 3, "T", "I", "magnetic field"),
    Field("sun_I", 3, "1", "I", "direction to the Sun"),
    Field("q_IE", 4, "1", "I", "Earth-fixed to inertial axes"),
    Field("sunlight", 1, "1", "", "visible part of the Sun, 0 in umbra"),
    Field("momentum_I", 3, "N m s", "I", "total angular momentum"),
    Field("impulse_I", 3, "N m s", "I", "sum of what outer torques have given since the start"),
    Field("energy", 1, "J", "", "kinetic energy, wheels and damper included"),
    Field("work", 1, "J", "", "sum of the work of outer torques and motors since the start"),
    Field("status", 1, "1", "", "0, or the propagator's status if it could not step"),
)  # fmt: skip

RECORDS = {record.name: record for record in (TRUTH, SAMPLES, ESTIMATE, CONTROL, COMMAND)}
"""All records, in the order of a log row."""
ROW_SIZE = sum(record.size for record in RECORDS.values())


def copy_in(given: ArrayLike, out: Array, name: str) -> None:
    """Copy a record that comes from outside into `out`, if it has its shape."""
    if np.shape(given) != out.shape:
        raise ValueError(f"{name} must have shape {out.shape}, see attitude.spacecraft.frames, got {np.shape(given)}")
    out[:] = given


@kernel
def bits_of(number: float) -> int:
    """A field of bits as an integer; none for what cannot be one."""
    return int(number) if 0.0 <= number < float(1 << BITS) else 0


def bit_names(bits: float) -> list[str]:
    """Names of the sensors whose bits are set."""
    return [name for bit, name in enumerate(SENSOR_NAMES) if bits_of(bits) >> bit & 1]
