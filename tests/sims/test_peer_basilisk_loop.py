"""Basilisk's closed loop: that it points where it says, by wheels alone, and that its ticks are 0.1 s."""

import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sims.bench import peer_basilisk_loop as bench
from sims.bench.peers import PeerError

GM = 3.98600436e14  # m³/s²: what Basilisk gives its Earth
RATE = np.sqrt(GM / bench.RADIUS**3)  # rad/s, of the orbit
QUARTER = round(np.pi / 2 / RATE / 0.1)  # ticks
SETTLED = 1000  # ticks: ten time constants of the bandwidth
SMALL = np.radians(0.1)


def loop(nadir=True):
    pytest.importorskip("Basilisk")  # not `missing_loop`, to which a loop that is set up wrongly is missing too
    return bench.prepare(nadir)


def orbit_position(time):
    """Of the circular orbit, from its definition."""
    normal = np.array([0.0, -np.sin(bench.INCLINATION), np.cos(bench.INCLINATION)])
    return Rotation.from_rotvec(RATE * time * normal).apply([bench.RADIUS, 0.0, 0.0])


def tilt(run):
    """Angle between nadir and the body axis that should point there, rad, by SciPy."""
    now = run.state()
    down = Rotation.from_quat(now.motion.q).apply([-1.0, 0.0, 0.0])
    return np.arccos(np.clip(-down @ now.position / np.linalg.norm(now.position), -1.0, 1.0))


# ------------------------------------------------------------------ the loop does its work
@pytest.mark.peers
def test_loop_turns_to_nadir_and_follows_it():
    run = loop()
    assert run.pointing_error() == pytest.approx(np.radians(30.0), abs=1e-12)  # roundoff
    run.advance(SETTLED)
    for _ in range(4):  # an attitude at rest would be 90° off after each
        assert run.pointing_error() < SMALL
        assert tilt(run) < SMALL
        run.advance(QUARTER)
    assert run.pointing_error() < 1e-6  # rad: the reference's rate is fed forward, so that nothing is left to lag
    assert np.allclose(run.state().motion.omega, [0.0, 0.0, RATE], rtol=0, atol=1e-6 * RATE)


@pytest.mark.peers
def test_pointing_error_sees_all_three_axes():
    run = loop()
    run.advance(SETTLED // 10)
    now = run.state()
    up, forward = now.position / np.linalg.norm(now.position), now.velocity / np.linalg.norm(now.velocity)
    wanted = Rotation.from_matrix(np.stack([up, forward, np.cross(up, forward)], axis=1))  # circular: orthogonal
    apart = (wanted.inv() * Rotation.from_quat(now.motion.q)).magnitude()
    assert apart > np.radians(5.0)  # still turning
    assert run.pointing_error() == pytest.approx(apart, abs=1e-9)  # what the orbit's RK4 may leave of the right angle


@pytest.mark.peers
def test_loop_without_guidance_holds_its_attitude():
    run = loop(nadir=False)
    first = Rotation.from_quat(run.state().motion.q) * Rotation.from_rotvec(-bench.OFFSET)
    assert run.pointing_error() == pytest.approx(np.radians(30.0), abs=1e-12)
    run.advance(SETTLED + QUARTER)
    assert run.pointing_error() < 1e-6
    assert (first.inv() * Rotation.from_quat(run.state().motion.q)).magnitude() < 1e-6
    assert tilt(run) > np.radians(80.0)  # the orbit went on by more than a quarter


@pytest.mark.peers
@pytest.mark.parametrize("nadir", [True, False])
def test_wheels_alone_turn_the_body(nadir):
    run = loop(nadir)
    largest = 0.0
    for _ in range(40):
        run.advance(25)
        now = run.state()
        body, wheels = bench.MOMENTS * now.motion.omega, bench.WHEEL_INERTIA * now.wheel_speeds
        assert np.abs(body + wheels).max() < 1e-12  # N m s: at rest at the start, and no torque from outside; RK4
        largest = max(largest, np.abs(now.wheel_speeds).max())
    assert 10.0 < largest < 0.1 * bench.WHEEL_RPM * np.pi / 30.0


@pytest.mark.peers
def test_no_command_waits_a_tick():
    run = loop()
    run.advance(1)
    sigma = np.tan(np.radians(30.0) / 4.0) * bench.OFFSET / np.linalg.norm(bench.OFFSET)
    gained = 0.1 * bench.STIFFNESS * sigma / bench.WHEEL_INERTIA
    # the orbit's rate times the other gain is up to 4 % of the torque, and the turning body adds 0.3 % of the speed
    assert run.state().wheel_speeds == pytest.approx(gained, rel=0.06)


# ------------------------------------------------------------------ ticks
@pytest.mark.peers
@pytest.mark.parametrize("parts", [[1], [7, 1, 592], [600]])
def test_a_tick_is_a_tenth_of_a_second(parts):
    run = loop()
    assert np.array_equal(run.state().position, orbit_position(0.0))
    for ticks in parts:
        run.advance(ticks)
    time = 0.1 * sum(parts)
    assert run.state().time == pytest.approx(time, abs=1e-9)
    # m: a tick more or less is 760 m, RK4 loses nothing to speak of in so short an arc
    assert np.linalg.norm(run.state().position - orbit_position(time)) < 1e-5


@pytest.mark.peers
def test_parts_are_the_whole_bit_for_bit():
    whole, parts = loop(), loop()
    whole.advance(120)
    for ticks in (1, 19, 100):
        parts.advance(ticks)
    assert np.array_equal(whole.state().motion.q, parts.state().motion.q)
    assert np.array_equal(whole.state().wheel_speeds, parts.state().wheel_speeds)


@pytest.mark.peers
@pytest.mark.parametrize("ticks", [0, -1, 2.5])
def test_ticks_are_whole_and_go_forward(ticks):
    with pytest.raises(ValueError, match="ticks must be a whole number from 1 on"):
        loop().advance(ticks)


@pytest.mark.peers
def test_loop_prints_nothing_and_leaves_no_file(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for nadir in (True, False):
        run = loop(nadir)
        run.advance(20)
        run.pointing_error()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.peers
def test_divergence_is_an_error(monkeypatch):
    monkeypatch.setattr(bench, "STIFFNESS", np.nan)
    run = loop()
    run.advance(2)
    with pytest.raises(PeerError, match="diverged"):
        run.pointing_error()


# ------------------------------------------------------------------ the clock
class Counter:
    """A loop whose calls take the given times, s."""

    def __init__(self, *times):
        self.times, self.asked = list(times), []

    def advance(self, ticks):
        self.asked.append(ticks)


def test_microseconds_are_the_least_of_the_repeats(monkeypatch):
    run, kinds = Counter(0.5, 0.2, 0.4), []
    monkeypatch.setattr(bench, "missing_loop", dict)
    monkeypatch.setattr(bench, "prepare", lambda nadir: kinds.append(nadir) or run)
    monkeypatch.setattr(bench, "seconds", lambda work: work() or run.times.pop(0))
    assert bench.microseconds_per_tick(100, 3, nadir=False) == pytest.approx(2000.0)
    assert (run.asked, run.times, kinds) == ([100] * 3, [], [False])


def test_without_basilisk_nothing_is_measured_and_the_reason_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "Basilisk.utilities", None)
    bench.missing_loop.cache_clear()
    try:
        assert "Basilisk" in bench.missing_loop()["bsk"]
        assert bench.microseconds_per_tick(1, 1) is None
    finally:
        bench.missing_loop.cache_clear()
