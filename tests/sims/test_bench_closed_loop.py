"""The closed loop of the benchmark: that what is timed is a whole mission's work, and what its memory is."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.control.modes import Mode
from attitude.spacecraft import tick
from attitude.spacecraft.frames import CONTROL, ESTIMATE, SENSOR_NAMES, TRUTH
from sims.bench import closed_loop, mission_length
from sims.bench import peer_basilisk_loop as basilisk
from sims.scenario import load

SMALL = 0.05  # deg, what the star tracker's mission promises
STRETCH = 5000  # ticks, about what is timed in a turn


def nothing(*told):
    pass


def wanted(truth):
    """Attitudes with z down and x as near to the velocity as can be, from the orbit, by SciPy."""
    z = -truth[:, TRUTH["r_I"].part]
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    y = np.cross(z, truth[:, TRUTH["v_I"].part])
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return Rotation.from_matrix(np.stack([np.cross(y, z), y, z], axis=2))


# ------------------------------------------------------------------ what is timed
@pytest.mark.parametrize("kind", ["gyro", "dynamics"])
def test_all_of_a_turn_is_nadir_pointing_with_every_sensor_at_work(kind):
    run = closed_loop.Ours(closed_loop.three_wheels(kind))
    rows = run.craft.run(STRETCH)
    truth = rows["truth"]
    error = (wanted(truth).inv() * Rotation.from_quat(truth[:, TRUTH["q_IB"].part])).magnitude()
    assert np.degrees(error).max() < SMALL
    assert run.pointing_error() == pytest.approx(error[-1], abs=1e-5)  # the on-board orbit, corrected by GPS: 10 m
    assert (rows["control"][:, CONTROL["mode"].offset] == Mode.NOMINAL).all()
    accepted = rows["estimate"][:, ESTIMATE["accepted"].offset].astype(int)
    share = {name: np.mean(accepted >> bit & 1) for bit, name in enumerate(SENSOR_NAMES)}
    assert share["star_tracker_0"] > 0.4  # of ticks: it samples in every second one
    assert sum(share[f"sun_sensor_{i}"] for i in range(4)) > 0.4
    assert share["magnetometer"] > 0.1  # in the torquers' quiet time
    assert share["gyro"] > 0.9


def test_wheels_are_basilisks():
    plant = closed_loop.three_wheels("gyro").plant_config()
    assert np.array_equal(plant.wheels.axes, np.eye(3))
    assert not np.any(plant.wheels.viscous_Nms)
    assert not np.any(plant.wheels.coulomb_Nm)


def test_ticks_from_python_are_the_compiled_ones():
    scenario = closed_loop.three_wheels("dynamics")
    compiled, called = (closed_loop.Ours(scenario, 300, compiled=way) for way in (True, False))
    for run in (compiled, called):
        run.advance(40)
        assert run.craft.plant.t == pytest.approx(34.0)
    assert np.array_equal(compiled.craft.plant.state.x, called.craft.plant.state.x)


# ------------------------------------------------------------------ the clock
class Counting:
    """A loop that only counts its ticks, on a clock on which each takes `cost` seconds."""

    def __init__(self, cost):
        self.cost, self.asked = cost, []

    def advance(self, ticks):
        self.asked.append(ticks)

    def pointing_error(self):
        return np.radians(0.25)


def test_every_loop_is_timed_for_as_long_in_a_new_craft(monkeypatch):
    made = []

    def contender(name, cost):
        return closed_loop.Contender(name, "none", lambda: made.append(Counting(cost)) or made[-1])

    monkeypatch.setattr(closed_loop, "seconds", lambda work: work() or made[-1].cost * made[-1].asked[-1])
    both = [contender("slow", 1e-3), contender("fast", 1e-5)]
    slow, fast = closed_loop.turns(both, closed_loop.Plan(0.5, 3, 1), nothing)
    assert (slow.seconds_per_tick, fast.seconds_per_tick) == pytest.approx((1e-3, 1e-5))
    assert slow.pointing_error_deg == pytest.approx(0.25)
    turns = made[2:]  # after the trials
    assert [run.cost for run in turns] == [1e-3, 1e-5] * 3
    assert [run.asked for run in turns] == [[pytest.approx(500, abs=1)], [pytest.approx(50_000, abs=1)]] * 3


def test_the_mission_is_flown_whole_and_keeps_its_rows(monkeypatch):
    short = load("star-tracker").replaced({"mission.duration_orbits": 0.02, "mission.log_every_s": 2.0})
    times, flown = [3.0, 2.0], []
    monkeypatch.setattr(closed_loop, "load", {closed_loop.MISSION: short}.__getitem__)
    monkeypatch.setattr(closed_loop, "seconds", lambda work: flown.append(work()) or times[len(flown) - 1])
    row = closed_loop.fly_mission(2, nothing)
    assert [len(rows["truth"]) for rows in flown] == [-(-short.ticks // 20)] * 2
    assert all(rows["truth"][0, TRUTH["t"].offset] == 0.0 for rows in flown)
    assert row.seconds_per_tick == 2.0 / short.ticks
    assert (row.name, row.estimator) == (f"default mission, {short.ticks} ticks", "dynamics")


# ------------------------------------------------------------------ Basilisk
def test_without_basilisk_ours_is_measured_alone(monkeypatch):
    monkeypatch.setattr(basilisk, "missing_loop", lambda: {"bsk": "gone"})
    assert closed_loop.peers() == []


@pytest.mark.peers
def test_basilisk_follows_nadir_with_both_integrators():
    pytest.importorskip("Basilisk")
    ends = {}
    for one in closed_loop.peers():
        run = one.prepare()
        assert one.prepare() is run  # goes on
        run.advance(2000)
        assert run.pointing_error() < 1e-4
        ends[one.name] = run.state()
    assert set(ends) == {closed_loop.RK4, closed_loop.RK2}
    rk4, rk2 = (ends[name].position for name in (closed_loop.RK4, closed_loop.RK2))
    assert 1e-6 < np.linalg.norm(rk4 - rk2) < 10.0  # m: not the same integrator, yet the same orbit


# ------------------------------------------------------------------ length
def test_rows_are_all_that_a_longer_run_keeps(monkeypatch):
    monkeypatch.setattr(tick, "BLOCK_SECONDS", np.inf)  # blocks, and random numbers with them, as on a fast machine
    scenario = closed_loop.three_wheels("gyro")
    runs = [(30_000, 10), (60_000, 10), (60_000, 20)]
    lengths = [mission_length.length(n, every, [mission_length.cost(scenario, n, every, 1)]) for n, every in runs]
    found = mission_length.compared(lengths)
    assert [row.rows for row in lengths] == [3000, 6000, 3000]
    assert found.row_bytes == pytest.approx(found.row_size, rel=0.02)  # some 30 kB of Python's own
    assert abs(found.equal_rows_growth) < 0.02


def test_a_length_has_the_least_time_and_the_most_memory():
    found = mission_length.length(1001, 10, [(3.0, 500), (1.0, 300), (2.0, 400)])
    assert (found.ticks, found.rows, found.seconds, found.bytes) == (1001, 101, 1.0, 500)


def test_compared_tells_growth():
    short, long, sparse = (mission_length.Length(n, rows, s, b) for n, rows, s, b in (
        (100, 10, 1.0, 1000), (1000, 100, 100.0, 10_000), (1000, 10, 90.0, 1500),
    ))  # fmt: skip
    found = mission_length.compared([short, long, sparse])
    assert (found.exponent, found.row_bytes, found.equal_rows_growth) == pytest.approx((2.0, 100.0, 0.5))
