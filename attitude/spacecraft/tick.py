"""One tick of the closed loop, and n ticks in one compiled call: bit for bit the same trajectory.

    sense(plant, samples)  ->  flight(samples, command)  ->  act(plant, command)
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Protocol

import numpy as np

from attitude.control.modes import ModeManager
from attitude.core import checks
from attitude.core.jit import Array, inner_kernel, kernel, on_warm_up
from attitude.environment.disturbances import Disturbances
from attitude.environment.grid import Environment
from attitude.environment.orbit import MeanElements, Orbit
from attitude.spacecraft.config import ControllerConfig, EstimatorConfig, FlightConfig, PlantConfig, SensorSuite
from attitude.spacecraft.flight import Flight, FlightKernels, fly
from attitude.spacecraft.frames import CONTROL, ESTIMATE, RECORDS, copy_in
from attitude.spacecraft.plant import Plant, PlantParameters, PlantState, act, sense
from attitude.spacecraft.sensing import Sensing

BLOCK_SECONDS, LARGEST_BLOCK = 0.1, 8192  # of a run per kernel call: progress, Ctrl-C and random numbers in between

Rows = dict[str, Array]


class FlightProgram(Protocol):
    """Anything that can fly: the toolkit's `Flight`, or the user's own."""

    def tick(self, t: float, samples: Array) -> Array:
        """Command `(16,)` for the samples `(64,)` of the tick at `t`, s."""
        ...


@inner_kernel
def _keep(values: Array, rows: Array, row: int) -> None:
    for i in range(values.size):
        rows[row, i] = values[i]


@kernel
def run_kernel(
    p: PlantParameters, s: PlantState, sensing: Sensing, f: FlightKernels, truth: Array, samples: Array,
    estimate: Array, control: Array, command: Array, first: int, last: int, every: int,
    truths: Array, sampled: Array, estimates: Array, controls: Array, commands: Array,
) -> int:  # fmt: skip
    """Ticks `first` to `last − 1` of a run; every `every`-th is kept in its row. Returns the plant's worst status."""
    worst = 0
    for k in range(first, last):
        sense(p, s, sensing, truth, samples)
        fly(f, samples, estimate, control, command)
        worst = max(worst, act(p, s, truth, command))
        if k % every == 0:
            row = k // every
            _keep(truth, truths, row)
            _keep(samples, sampled, row)
            _keep(estimate, estimates, row)
            _keep(control, controls, row)
            _keep(command, commands, row)
    return worst


def record_tick(plant: Plant, flight: FlightProgram, command: Array, row: Rows) -> None:
    """The records of a tick that is done into `row`, by name; NaN for what a flight program does not tell of itself."""
    row["truth"][:], row["samples"][:], row["command"][:] = plant.truth, plant.samples, command
    for record in (ESTIMATE, CONTROL):
        copy_in(getattr(flight, record.name, np.full(record.size, np.nan)), row[record.name], record.name)


class Spacecraft:
    """A plant and a flight program in one loop; the flight program gets the samples and nothing else."""

    def __init__(self, plant: Plant, flight: FlightProgram) -> None:
        self.plant, self.flight = plant, flight
        self.status = 0  # the plant's worst so far

    def tick(self) -> Array:
        """Sense, estimate, control, actuate, propagate, once; returns the command."""
        samples = self.plant.sense()
        command = self.flight.tick(self.plant.t, samples)
        self.status = max(self.status, self.plant.act(command))
        return command

    def run(self, ticks: int, every: int = 1, progress: Callable[[int, int], object] | None = None) -> Rows:
        """`ticks` ticks; keeps every `every`-th, the first included.

        Rows of each record of `frames.RECORDS` by its name: truth at the beginning of the tick, samples, estimate,
        control and command. Compiled if the flight side is all built in, else in Python. `progress(done, ticks)` is
        called now and then.
        """
        ticks, every = checks.count(ticks, "ticks", 0), checks.count(every, "every")
        if ticks > self.plant.ticks_left:
            raise ValueError(f"ticks must be at most {self.plant.ticks_left}, where the environment ends, got {ticks}")
        count = -(-ticks // every)
        try:
            rows = {name: np.zeros((count, record.size)) for name, record in RECORDS.items()}
        except MemoryError:
            raise ValueError(f"every must be larger: {count} rows would not fit in memory") from None
        advance = self._compiled if isinstance(self.flight, Flight) and self.flight.compiled else self._called
        done, block = 0, 256
        while done < ticks:
            begin, last = perf_counter(), min(done + block, ticks)
            advance(done, last, every, rows)
            done = last
            block = int(min(LARGEST_BLOCK, max(1, block * BLOCK_SECONDS / (perf_counter() - begin + 1e-9))))
            if progress is not None:
                progress(done, ticks)
        return rows

    def _compiled(self, first: int, last: int, every: int, rows: Rows) -> None:
        plant, flight = self.plant, self.flight
        assert isinstance(flight, Flight)
        status = run_kernel(
            plant.parameters, plant.state, plant.suite.sensing(last - first), flight.kernels, plant.truth,
            plant.samples, flight.estimate, flight.control, flight.command, first, last, every, *rows.values(),
        )  # fmt: skip
        self.status = max(self.status, int(status))

    def _called(self, first: int, last: int, every: int, rows: Rows) -> None:
        for k in range(first, last):
            command = self.tick()
            if k % every == 0:
                row = {name: table[k // every] for name, table in rows.items()}
                record_tick(self.plant, self.flight, command, row)


def _bare() -> Spacecraft:
    """A body in an orbit and a flight side with nothing fitted."""
    epoch, inertia, sensors = "2026-01-01T00:00:00", np.eye(3), SensorSuite()
    elements = MeanElements(
        epoch=epoch, mean_motion_rev_per_day=15.0, eccentricity=0.0, inclination_deg=0.0, raan_deg=0.0,
        argument_of_perigee_deg=0.0, mean_anomaly_deg=0.0,
    )  # fmt: skip
    grid = Environment(orbit=Orbit.from_mean_elements(elements), epoch=epoch).grid(60.0)
    none = Disturbances(inertia=inertia, residual_dipole_B_am2=np.zeros(3), faces=())
    plant = PlantConfig(
        tick_s=0.1, inertia_kg_m2=inertia, environment=grid, disturbances=none, sensors=sensors,
        q_IB=[0.0, 0.0, 0.0, 1.0], omega_B=np.zeros(3),
    )  # fmt: skip
    estimator = EstimatorConfig(
        torque_noise_Nm_sqrt_s=1.0, gyro_sigma_deg_s=1.0, gyro_arw_deg_per_sqrt_hr=1.0,
        gyro_bias_walk_deg_per_hr_per_sqrt_hr=1.0, gyro_bias_sigma_deg_per_hr=1.0,
    )  # fmt: skip
    modes = ModeManager(
        detumbled_rate_deg_s=1.0, tumbling_rate_deg_s=2.0, acquired_sigma_deg=1.0, lost_sigma_deg=2.0
    )
    flight = FlightConfig(
        tick_s=0.1, inertia_kg_m2=inertia, environment=grid, sensors=sensors, estimator=estimator,
        controller=ControllerConfig(detumble=None, modes=modes, essential=()),
    )  # fmt: skip
    return Spacecraft(Plant(plant, seed=0), Flight(flight))


@on_warm_up
def _warm_up() -> None:
    _bare().tick()  # the kernels of a real-time loop; the one behind `run` compiles when it is called
