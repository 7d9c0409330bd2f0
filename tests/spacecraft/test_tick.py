"""One tick and many: bit for bit the same, in blocks of any size, with the rows that were asked for."""

import numpy as np
import pytest

import attitude
from attitude.control.modes import Mode
from attitude.sensors.gyro import GyroConfig, GyroFault
from attitude.spacecraft import tick
from attitude.spacecraft.flight import flight_kernel
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, RECORDS, SAMPLES, TRUTH
from attitude.spacecraft.plant import act_kernel, sense_kernel
from attitude.spacecraft.tick import Spacecraft

KINDS = ("dynamics", "gyro")
TICKS = 600


def loop(craft, kind="dynamics", first_mode=Mode.NOMINAL, **changes):
    """Slewing, dumping, spinning wheels, a gyro that gets stuck: everything on board has something to do."""
    fault = GyroFault(kind="stuck", start_s=20.0, end_s=25.0)
    sensors = craft.suite(
        star_trackers=(craft.star_tracker(latency_s=0.3),),
        gyro=GyroConfig(
            sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.15, bias_instability_deg_per_hr=3.0, faults=(fault,)
        ),
    )
    flight = craft.flight(
        sensors=sensors, estimator=craft.estimator(kind=kind), controller=craft.controller(first_mode=first_mode)
    )
    given = {"wheel_speed_rpm": [3500.0, 500.0, 3500.0, -2500.0], "omega_B": [0.002, -0.003, 0.004]}
    return Spacecraft(craft.plant(4, sensors=sensors, **{**given, **changes}), flight)


def stepped(craft, ticks, **given):
    """Rows of a loop that is run tick by tick, sense, flight and act compiled one by one."""
    craft_loop = loop(craft, **given)
    rows = {name: np.empty((ticks, record.size)) for name, record in RECORDS.items()}
    for k in range(ticks):
        rows["command"][k] = craft_loop.tick()
        rows["truth"][k], rows["samples"][k] = craft_loop.plant.truth, craft_loop.plant.samples
        rows["estimate"][k], rows["control"][k] = craft_loop.flight.estimate, craft_loop.flight.control
    return rows


def same(one, other):
    return all(np.array_equal(one[name], other[name], equal_nan=True) for name in RECORDS)


# ------------------------------------------------------------------ bit for bit
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes", [
    {}, {"first_mode": Mode.DETUMBLE, "omega_B": [0.1, -0.2, 0.15]}, {"substeps": 3},
], ids=["nominal", "detumble", "substeps"])  # fmt: skip
def test_a_run_is_its_ticks(craft, kind, changes):
    """Every record, every bit; among them dipoles, wheel commands, accepted samples and a mode change."""
    rows, steps = loop(craft, kind, **changes).run(TICKS), stepped(craft, TICKS, kind=kind, **changes)
    for name in RECORDS:
        different = (rows[name] != steps[name]) & ~(np.isnan(rows[name]) & np.isnan(steps[name]))
        assert not different.any(), (name, np.argwhere(different)[0])
    assert COMMAND.read(rows["command"], "dipole").any()
    assert ESTIMATE.read(rows["estimate"], "accepted").any()
    assert ESTIMATE.read(rows["estimate"], "faulty").any()


@pytest.mark.parametrize("largest", [1, 7, 100])
def test_blocks_of_any_size(craft, monkeypatch, largest):
    whole = loop(craft).run(TICKS)
    monkeypatch.setattr(tick, "LARGEST_BLOCK", largest)
    assert same(loop(craft).run(TICKS), whole)


def test_runs_one_after_the_other(craft):
    """And ticks in between: the loop goes on where it was."""
    whole, part = loop(craft).run(TICKS), loop(craft)
    pieces = [part.run(1), part.run(299), part.run(0), part.run(3)]
    for _ in range(7):
        part.tick()
    pieces += [part.run(TICKS - 310)]
    assert [len(piece["truth"]) for piece in pieces] == [1, 299, 0, 3, 290]
    for name in RECORDS:
        joined = np.concatenate([piece[name] for piece in pieces])
        kept = np.delete(whole[name], np.s_[303:310], axis=0)
        assert np.array_equal(joined, kept, equal_nan=True)


@pytest.mark.parametrize("every", [7, 600, 1000])
def test_every_nth_row_is_kept(craft, every):
    whole, some = loop(craft).run(TICKS), loop(craft).run(TICKS, every)
    for name in RECORDS:
        assert len(some[name]) == -(-TICKS // every)
        assert np.array_equal(some[name], whole[name][::every], equal_nan=True)


def test_every_nth_row_in_python_too(craft):
    class Program:
        def __init__(self, flight):
            self.flight, self.estimate, self.control = flight, flight.estimate, flight.control

        def tick(self, t, samples):
            return self.flight.tick(t, samples)

    compiled, python = loop(craft), loop(craft)
    python = Spacecraft(python.plant, Program(python.flight))
    assert same(python.run(100, 7), compiled.run(100, 7))


# ------------------------------------------------------------------ rows
def test_rows_of_a_tick_belong_together(craft):
    rows = loop(craft).run(50)
    t = TRUTH.read(rows["truth"], "t")
    assert t == pytest.approx(0.1 * np.arange(50), abs=1e-12)
    for name, record in (("samples", SAMPLES), ("command", COMMAND), ("estimate", ESTIMATE)):
        assert np.array_equal(record.read(rows[name], "t"), t)
    speeds = TRUTH.read(rows["truth"], "wheel_speed")
    assert np.array_equal(SAMPLES.read(rows["samples"], "wheel_speed"), speeds)
    # the torque on a rotor is that of the tick: it makes the next row's momentum
    momentum, torque = TRUTH.read(rows["truth"], "wheel_momentum"), TRUTH.read(rows["truth"], "wheel_torque")
    assert np.diff(momentum, axis=0) == pytest.approx(0.1 * torque[:-1], abs=1e-15)


def test_two_runs_are_equal_and_another_seed_is_not(craft):
    first, again = loop(craft).run(100), loop(craft).run(100)
    assert same(first, again)
    other = Spacecraft(craft.plant(5), craft.flight()).run(100)
    assert not np.array_equal(other["samples"], Spacecraft(craft.plant(4), craft.flight()).run(100)["samples"])


def test_progress_is_told(craft, monkeypatch):
    monkeypatch.setattr(tick, "LARGEST_BLOCK", 100)
    told = []
    loop(craft).run(600, progress=lambda done, ticks: told.append((done, ticks)))
    assert told[-1] == (600, 600)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert len(told) >= 4


def test_what_progress_raises_stops_the_run(craft):
    def stop(done, ticks):
        raise KeyboardInterrupt

    running = loop(craft)
    with pytest.raises(KeyboardInterrupt):
        running.run(600, progress=stop)
    assert running.plant.t == pytest.approx(25.6)


def test_the_plants_worst_status_is_kept(craft):
    """A momentum that no number of substeps can follow: the loop goes on, the status tells."""
    mad = loop(craft)
    mad.plant.state.x[4] = 1e200
    rows = mad.run(2)
    assert mad.status > 0
    assert (TRUTH.read(rows["truth"], "status") > 0).all()
    assert np.isfinite(TRUTH.read(rows["truth"], "q_IB")).all()
    assert loop(craft).status == 0


# ------------------------------------------------------------------ what it refuses
def test_not_beyond_the_environment(craft):
    end = loop(craft)
    left = end.plant.ticks_left
    assert left == 60000
    with pytest.raises(ValueError, match=r"^ticks must be at most 60000, where the environment ends, got 60001"):
        end.run(left + 1)
    end.run(10)
    with pytest.raises(ValueError, match=r"^ticks must be at most 59990"):
        end.run(left)


@pytest.mark.parametrize(("ticks", "every", "match"), [
    (-1, 1, "^ticks must be a whole number"), (1.5, 1, "^ticks must be a whole number"),
    (10, 0, "^every must be a whole number"), (10, 2.0, "^every must be a whole number"),
])  # fmt: skip
def test_counts_are_whole_numbers(craft, ticks, every, match):
    with pytest.raises(ValueError, match=match):
        loop(craft).run(ticks, every)


def test_a_program_without_housekeeping_leaves_it_unknown(craft):
    class Silent:
        def tick(self, t, samples):
            return COMMAND.zeros()

    rows = Spacecraft(craft.plant(), Silent()).run(3)
    assert np.isnan(rows["estimate"]).all()
    assert np.isnan(rows["control"]).all()
    assert not rows["command"].any()


def test_housekeeping_of_another_shape(craft):
    class Odd:
        estimate = np.zeros(CONTROL.size)

        def tick(self, t, samples):
            return COMMAND.zeros()

    with pytest.raises(ValueError, match=r"^estimate must have shape \(22,\)"):
        Spacecraft(craft.plant(), Odd()).run(3)


def test_a_warm_loop_compiles_nothing_more(craft):
    """`warm_up` calls what `tick` calls, with the same types: a second signature would be compiled in flight."""
    attitude.warm_up()
    kernels = (sense_kernel, flight_kernel, act_kernel)
    assert [len(kernel.signatures) for kernel in kernels] == [1, 1, 1]
    for kind in KINDS:
        loop(craft, kind).tick()
    assert [len(kernel.signatures) for kernel in kernels] == [1, 1, 1]
