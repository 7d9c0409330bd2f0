"""The flight side: it sees samples and nothing else, and its parts can be the user's own."""

import inspect

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.control.guidance import Inertial
from attitude.control.modes import Mode
from attitude.spacecraft import frames
from attitude.spacecraft.flight import Flight
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES, TRUTH
from attitude.spacecraft.tick import Spacecraft

REST = Inertial(q=[0.0, 0.0, 0.0, 1.0])


def holding(craft, **parts):
    """Flight side that holds an attitude from the first tick on, with the user's parts."""
    config = craft.flight_config(controller=craft.controller(first_mode=Mode.NOMINAL, references=[REST], dumping=None))
    return Flight(config, **parts)


def pointing_error_deg(rows):
    return np.degrees(Rotation.from_quat(TRUTH.read(rows["truth"], "q_IB")).magnitude())


# ------------------------------------------------------------------ no truth
def test_samples_are_all_it_is_given():
    assert list(inspect.signature(Flight.tick).parameters) == ["self", "t", "samples"]
    assert "plant" not in inspect.signature(Flight.__init__).parameters


def test_no_module_of_the_flight_side_imports_the_truth():
    """The plant's kernels and its records are out of reach; the two it takes from there are of actuators."""
    from attitude.spacecraft import controller, estimator, flight

    for module in (flight, estimator, controller):
        names = set(vars(module))
        assert not names & {"TRUTH", "Plant", "PlantState", "PlantParameters", "sense", "act"}


class Replay:
    """A plant of its own truth whose sensors tell what was recorded elsewhere."""

    def __init__(self, plant, samples):
        self._plant, self._recorded = plant, samples
        self.truth, self.ticks_left = plant.truth, plant.ticks_left

    @property
    def t(self):
        return self._plant.t

    def sense(self):
        self._plant.sense()
        self.samples = self._recorded[round(self.t / 0.1)]
        return self.samples

    def act(self, command):
        return self._plant.act(command)


class Wrapped:
    """A flight program around the toolkit's, so that the loop runs in Python."""

    def __init__(self, flight):
        self.flight = flight
        self.estimate, self.control = flight.estimate, flight.control

    def tick(self, t, samples):
        return self.flight.tick(t, samples)


def test_the_same_samples_give_the_same_commands_whatever_the_truth(craft):
    first = Spacecraft(craft.plant(), craft.flight())
    rows = first.run(300)
    other = craft.plant(9, omega_B=[0.1, -0.2, 0.1], q_IB=[0.5, 0.5, 0.5, 0.5], inertia_kg_m2=np.diag([1.0, 2.0, 2.5]))
    again = Spacecraft(Replay(other, rows["samples"]), Wrapped(craft.flight())).run(300)
    assert (again["truth"][1:, TRUTH["q_IB"].part] != rows["truth"][1:, TRUTH["q_IB"].part]).all()
    for name in ("command", "estimate", "control"):
        assert np.array_equal(again[name], rows[name], equal_nan=True)


def test_samples_of_any_type_and_from_any_buffer(craft):
    """A list, a buffer that cannot be written to, another byte order: one kernel, the same command."""
    samples = craft.plant().sense()
    wanted = craft.flight().tick(0.0, samples).copy()
    frozen = np.frombuffer(samples.tobytes())
    for given in (samples.tolist(), frozen, samples.astype(">f8"), np.repeat(samples, 2)[::2]):
        assert np.array_equal(craft.flight().tick(0.0, given), wanted)


@pytest.mark.parametrize("given", [np.zeros(63), np.zeros(1), 0.0, np.zeros((64, 1)), None])
def test_samples_of_another_shape(craft, given):
    with pytest.raises(ValueError, match=r"^samples must have shape \(64,\), see attitude.spacecraft.frames, got"):
        craft.flight().tick(0.0, given)


def test_the_samples_of_the_plant_are_not_written_to(craft):
    class Spoiler:
        def tick(self, t, samples):
            samples[:] = np.nan
            return ESTIMATE.zeros()

    plant = craft.plant()
    samples = plant.sense().copy()
    holding(craft, estimator=Spoiler()).tick(0.0, plant.samples)
    assert np.array_equal(plant.samples, samples)


# ------------------------------------------------------------------ the user's own
class Perfect:
    """Estimator that has been told: the truth of the plant it is given here."""

    def __init__(self, plant):
        self.plant, self.seen = plant, []

    def tick(self, t, samples):
        assert isinstance(samples, np.ndarray)
        assert samples.shape == (SAMPLES.size,)
        assert samples.dtype == np.float64
        self.seen.append((t, SAMPLES.read(samples, "t").item()))
        out = ESTIMATE.zeros()
        out[0], out[1] = t, 1.0
        for name in ("q_IB", "omega_B"):
            ESTIMATE.read(out, name)[:] = TRUTH.read(self.plant.truth, name)
        ESTIMATE.read(out, "sigma_B")[:] = 1e-6
        return out


def test_a_perfect_estimator_points_better(craft):
    plant = craft.plant()
    perfect = Perfect(plant)
    flight = holding(craft, estimator=perfect)
    assert not flight.compiled
    better = Spacecraft(plant, flight).run(3000)
    usual = Spacecraft(craft.plant(), holding(craft)).run(3000)
    settled = slice(1500, None)
    assert pointing_error_deg(better)[settled].max() < 0.5 * pointing_error_deg(usual)[settled].max()
    assert pointing_error_deg(better)[settled].max() < 0.02
    assert (CONTROL.read(better["control"], "mode") == Mode.NOMINAL).all()
    assert [round(t, 6) for t, _ in perfect.seen] == [round(0.1 * k, 6) for k in range(3000)]
    assert all(t == told for t, told in perfect.seen)
    assert np.array_equal(ESTIMATE.read(better["estimate"], "q_IB"), TRUTH.read(better["truth"], "q_IB"))


class Constant:
    """Controller that always sends the same."""

    def __init__(self):
        self.command = COMMAND.zeros()
        self.command[COMMAND["valid"].offset] = 1 << frames.WHEELS_BIT
        COMMAND.read(self.command, "wheel")[:4] = [1e-4, 2e-4, -1e-4, 3e-4]
        self.estimates = []

    def tick(self, t, samples, estimate):
        assert samples.shape == (SAMPLES.size,)
        assert estimate.shape == (ESTIMATE.size,)
        self.estimates.append(estimate.copy())
        return self.command


def test_a_controller_of_ones_own(craft):
    mine = Constant()
    rows = Spacecraft(craft.plant(), holding(craft, controller=mine)).run(100)
    assert np.array_equal(rows["command"], np.tile(mine.command, (100, 1)))
    assert np.array_equal(rows["estimate"], np.array(mine.estimates))
    assert np.degrees(np.abs(craft.knowledge_error(rows)[50:])).max() < 1.0  # the built-in estimator still works


def test_both_of_ones_own(craft):
    plant, mine = craft.plant(), Constant()
    rows = Spacecraft(plant, holding(craft, estimator=Perfect(plant), controller=mine)).run(50)
    assert np.array_equal(rows["command"], np.tile(mine.command, (50, 1)))
    assert not rows["control"].any()


def test_the_parts_in_python_are_those_of_the_compiled_flight(craft):
    """Built-in estimator and controller, one at a time with the other's results played back: the same commands."""
    rows = Spacecraft(craft.plant(), holding(craft)).run(200)

    class Played:
        def __init__(self, table):
            self.table, self.k = table, -1

        def tick(self, *args):
            self.k += 1
            return self.table[self.k]

    for parts in ({"estimator": Played(rows["estimate"])}, {"controller": Played(rows["command"])}):
        again = Spacecraft(craft.plant(), holding(craft, **parts)).run(200)
        for name in ("truth", "samples", "command", "estimate"):
            assert np.array_equal(again[name], rows[name], equal_nan=True), name


@pytest.mark.parametrize("given", [np.zeros(21), np.zeros((22, 1)), 1.0, None, np.zeros(16)])
def test_an_estimate_of_another_shape(craft, given):
    class Wrong:
        def tick(self, t, samples):
            return given

    plant = craft.plant()
    with pytest.raises(ValueError, match=r"^estimate must have shape \(22,\), see attitude.spacecraft.frames, got"):
        Spacecraft(plant, holding(craft, estimator=Wrong())).run(3)
    assert plant.t == 0.0


@pytest.mark.parametrize("given", [np.zeros(22), 0.0, None])
def test_a_command_of_another_shape(craft, given):
    class Wrong:
        def tick(self, t, samples, estimate=None):
            return given

    with pytest.raises(ValueError, match=r"^command must have shape \(16,\), see attitude.spacecraft.frames, got"):
        Spacecraft(craft.plant(), holding(craft, controller=Wrong())).tick()
    with pytest.raises(ValueError, match=r"^command must have shape \(16,\), see attitude.spacecraft.frames, got"):
        Spacecraft(craft.plant(), Wrong()).tick()


def test_an_estimate_that_is_not_finite_for_a_while_does_no_lasting_harm(craft):
    """NaN at the start, when the slew begins, and in between: no command with NaN, and pointing afterwards."""
    plant = craft.plant()

    class Sick(Perfect):
        def tick(self, t, samples):
            out = super().tick(t, samples)
            if len(self.seen) < 5 or 100 < len(self.seen) < 110:
                out[:] = np.nan
                out[1] = 1.0
            return out

    rows = Spacecraft(plant, holding(craft, estimator=Sick(plant))).run(2500)
    assert np.isfinite(rows["command"]).all()
    assert pointing_error_deg(rows)[2000:].max() < 0.05
