"""The plant against SciPy and closed formulas: free motion, torques, wheels, damper, audits, and bad commands."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from attitude.actuators.magnetorquers import Magnetorquers
from attitude.actuators.wheels import Wheels
from attitude.spacecraft import frames
from attitude.spacecraft.config import Damper, SensorSuite
from attitude.spacecraft.frames import COMMAND, SAMPLES, TRUTH
from attitude.spacecraft.plant import act_kernel
from attitude.spacecraft.tick import Spacecraft

WHEELS, TORQUERS = float(1 << frames.WHEELS_BIT), float(1 << frames.TORQUERS_BIT)
MU = 3.986004418e14  # m³/s², WGS 84
TUMBLE = [0.1, -0.08, 0.12]  # rad/s


def read(plant, name):
    return TRUTH.read(plant.truth, name).copy()


def command(wheel=None, dipole=None):
    out = COMMAND.zeros()
    for values, name, bit in ((wheel, "wheel", WHEELS), (dipole, "dipole", TORQUERS)):
        if values is not None:
            out[COMMAND["valid"].offset] += bit
            COMMAND.read(out, name)[: len(values)] = values
    return out


def free(craft, **changes):
    """A plant that nothing pulls at, without sensors."""
    given = {"disturbances": craft.disturbances(False), "sensors": SensorSuite(), "omega_B": TUMBLE}
    return craft.plant(**{**given, **changes})


def steps(plant, count, given=None):
    """Move on by `count` ticks, and read the truth there."""
    given = COMMAND.zeros() if given is None else given
    for _ in range(count):
        plant.sense()
        assert plant.act(given) == 0
    plant.sense()
    return plant


class Schedule:
    """Flight program that plays slow sines on wheels and torquers, whatever the samples say."""

    def __init__(self, ticks):
        rng, t = np.random.default_rng(3), 0.1 * np.arange(ticks)[:, None]
        self.rows = np.zeros((ticks, COMMAND.size))
        self.rows[:, COMMAND["valid"].offset] = WHEELS + TORQUERS
        wheel, dipole = (COMMAND.read(self.rows, name) for name in ("wheel", "dipole"))
        wheel[:, :4] = 2e-4 * np.sin(t * rng.uniform(0.2, 0.6, 4) + rng.uniform(0.0, 6.0, 4))
        dipole[:, :3] = 0.2 * np.sin(t * rng.uniform(0.05, 0.2, 3) + rng.uniform(0.0, 6.0, 3))

    def tick(self, t, samples):
        return self.rows[round(t / 0.1)]


# ------------------------------------------------------------------ audits
def test_momentum_of_a_whole_mission_with_wheels_at_random(craft):
    """Three orbits at 10 Hz, torques up to twice the limit at random, no outer torque: 1e-12 of the momentum."""
    plant, rng = free(craft, omega_B=[0.05, -0.03, 0.08]), np.random.default_rng(0)
    plant.sense()
    start, worst, given = read(plant, "momentum_I"), 0.0, command(np.zeros(4))
    wheel = COMMAND.read(given, "wheel")
    for _ in range(340):
        for torque in 2e-3 * rng.uniform(-1.0, 1.0, (500, 4)):
            wheel[:4] = torque
            act_kernel(plant.parameters, plant.state, plant.truth, given)
        plant.sense()
        worst = max(worst, np.abs(read(plant, "momentum_I") - start).max())
    assert plant.t == pytest.approx(17000.0)
    assert worst <= 1e-12 * np.linalg.norm(start)
    assert np.abs(read(plant, "wheel_speed")[:4]).max() > 100.0  # rad/s: they did turn
    assert not read(plant, "impulse_I").any()


@pytest.mark.parametrize("substeps", [1, 3])
def test_momentum_changes_by_the_outer_impulse_alone(craft, substeps):
    plant = craft.plant(omega_B=TUMBLE, substeps=substeps, sensors=SensorSuite())
    rows = Spacecraft(plant, Schedule(1500)).run(1500)["truth"]
    H, impulse = TRUTH.read(rows, "momentum_I"), TRUTH.read(rows, "impulse_I")
    size = np.linalg.norm(H, axis=1).max()
    assert np.abs(H - H[0] - impulse).max() <= 1e-12 * size
    assert np.abs(impulse).max() > 0.01 * size  # there was one


def test_energy_changes_by_the_work_and_the_rest_shrinks_with_the_step_squared(craft):
    """No duty cycle here: switching within a substep would spoil the order."""
    torquers = Magnetorquers(axes=np.eye(3), max_dipole_Am2=0.2, duty_cycle=1.0, period_s=1.0)
    left = []
    for substeps in (1, 2, 4):
        plant = craft.plant(
            omega_B=TUMBLE, substeps=substeps, torquers=torquers, sensors=SensorSuite(),
            wheel_speed_rpm=[3000.0, -3000.0, 3000.0, -3000.0],  # far from rest, where friction has a corner
        )  # fmt: skip
        rows = Spacecraft(plant, Schedule(600)).run(600)["truth"]
        energy, work = TRUTH.read(rows, "energy"), TRUTH.read(rows, "work")
        left.append(np.abs(energy - energy[0] - work).max())
        assert np.ptp(work) > 0.3
    assert left[0] < 1e-6 * np.ptp(work)
    assert left[0] / left[1] == pytest.approx(4.0, rel=0.05)
    assert left[1] / left[2] == pytest.approx(4.0, rel=0.05)


def test_work_counts_what_each_torque_does(craft):
    """Free body with still wheels: its kinetic energy by hand, and no work."""
    plant = free(craft, wheels=None, torquers=None)
    plant.sense()
    omega = np.array(TUMBLE)
    assert TRUTH.read(plant.truth, "energy") == pytest.approx(0.5 * omega @ craft.inertia @ omega, rel=1e-14)
    assert read(plant, "momentum_I") == pytest.approx(craft.inertia @ omega, rel=1e-13)
    steps(plant, 50)
    assert TRUTH.read(plant.truth, "work") == 0.0


def test_momentum_and_energy_with_wheels_by_hand(craft):
    plant = free(craft)
    plant.sense()
    omega, axes, I = np.array(TUMBLE), np.asarray(craft.wheels.axes), 8e-6
    speeds = np.array([1500.0, -1500.0, 1500.0, -1500.0]) * np.pi / 30.0
    w = I * (speeds + axes @ omega)
    carrier = craft.inertia - I * axes.T @ axes
    assert read(plant, "wheel_speed")[:4] == pytest.approx(speeds, rel=1e-12)
    assert read(plant, "wheel_momentum")[:4] == pytest.approx(w, rel=1e-12)
    assert read(plant, "momentum_I") == pytest.approx(carrier @ omega + axes.T @ w, rel=1e-12, abs=1e-15)
    energy = 0.5 * omega @ carrier @ omega + (0.5 * w**2 / I).sum()
    assert TRUTH.read(plant.truth, "energy") == pytest.approx(energy, rel=1e-12)


# ------------------------------------------------------------------ motion against SciPy
def tumbling(J, omega, t):
    """Attitude and rate of a free body after `t` seconds by DOP853, from the identity."""

    def slope(_, y):
        w = y[4:]
        rate = np.linalg.solve(J, -np.cross(w, J @ w))
        q = Rotation.from_quat(y[:4]).as_quat(canonical=False)
        x, y_, z, s = q
        dq = 0.5 * np.array([s * w[0] + y_ * w[2] - z * w[1], s * w[1] + z * w[0] - x * w[2],
                             s * w[2] + x * w[1] - y_ * w[0], -x * w[0] - y_ * w[1] - z * w[2]])  # fmt: skip
        return np.concatenate([dq, rate])

    start = np.concatenate([[0.0, 0.0, 0.0, 1.0], omega])
    y = solve_ivp(slope, (0.0, t), start, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return Rotation.from_quat(y[:4]), y[4:]


def test_a_free_tumble_is_that_of_scipy(craft):
    """60 s, over half a turn: second order in the substep, and at eight of them some µrad."""
    attitude, omega = tumbling(craft.inertia, np.array(TUMBLE), 60.0)
    errors = []
    for substeps in (2, 4, 8):
        plant = steps(free(craft, wheels=None, torquers=None, substeps=substeps), 600)
        errors.append((attitude.inv() * Rotation.from_quat(read(plant, "q_IB"))).magnitude())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.02)
    assert errors[2] < 1e-5
    assert read(plant, "omega_B") == pytest.approx(omega, abs=1e-6)


def test_a_tumble_too_fast_for_a_substep_is_split(craft):
    """10 rad/s: half a radian per tick is more than one increment takes."""
    plant = free(craft, omega_B=[6.0, -5.0, 6.0], wheels=None, torquers=None)
    plant.sense()
    start, energy = read(plant, "momentum_I"), TRUTH.read(plant.truth, "energy")
    steps(plant, 300)
    assert np.abs(read(plant, "momentum_I") - start).max() < 1e-13 * np.linalg.norm(start)
    assert TRUTH.read(plant.truth, "energy") == pytest.approx(energy, rel=0.02)  # second order, bounded
    assert TRUTH.read(plant.truth, "status") == 0.0


def test_damper_is_that_of_scipy(craft):
    """Body and sphere in viscous contact; the step is first order there, so the error halves with the substep."""
    J, I, c = np.asarray(craft.inertia), 2e-3, 1e-4

    def slope(_, y):
        w, d = y[:3], y[3:]
        drag = c * (d - w)
        return np.concatenate([np.linalg.solve(J, drag - np.cross(w, J @ w)), -drag / I - np.cross(w, d)])

    y = solve_ivp(slope, (0.0, 60.0), [*TUMBLE, 0.0, 0.0, 0.0], "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    damper, errors = Damper(inertia_kg_m2=I, damping_Nms=c), []
    for substeps in (4, 8):
        plant = steps(free(craft, wheels=None, torquers=None, damper=damper, substeps=substeps), 600)
        got = np.concatenate([read(plant, "omega_B"), read(plant, "damper_omega_B")])
        errors.append(np.abs(got - y).max())
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] < 1e-4
    assert np.abs(y[3:]).max() > 0.05  # the sphere was taken along


def test_damper_takes_energy_and_no_momentum(craft):
    damper = Damper(inertia_kg_m2=2e-3, damping_Nms=1e-3)
    rows = Spacecraft(free(craft, damper=damper), Idle()).run(3000)["truth"]
    energy, H = TRUTH.read(rows, "energy"), TRUTH.read(rows, "momentum_I")
    assert (np.diff(energy - TRUTH.read(rows, "work"))[:500] < 0.0).all()
    assert np.abs(H - H[0]).max() < 1e-12 * np.linalg.norm(H[0])


class Idle:
    """Flight program that commands nothing."""

    def tick(self, t, samples):
        return COMMAND.zeros()


# ------------------------------------------------------------------ torques
def into_body(plant, name):
    return Rotation.from_quat(read(plant, "q_IB")).inv().apply(read(plant, name))


def test_disturbances_by_their_formulas(craft):
    plant = steps(craft.plant(q_IB=[0.1, -0.5, 0.3, np.sqrt(0.65)], omega_B=TUMBLE), 25)
    r, B = into_body(plant, "r_I"), into_body(plant, "b_I")
    plant.act(COMMAND.zeros())
    gravity = 3.0 * MU / np.linalg.norm(r) ** 5 * np.cross(r, craft.inertia @ r)
    assert read(plant, "torque_gravity_B") == pytest.approx(gravity, rel=1e-9, abs=1e-18)
    assert read(plant, "torque_residual_B") == pytest.approx(np.cross([0.005] * 3, B), rel=1e-9)
    assert np.abs(read(plant, "torque_gravity_B")).max() > 1e-9
    assert not read(plant, "torque_magnetic_B").any()


def test_drag_and_sunlight_are_those_of_the_disturbances(craft):
    plant = craft.plant(omega_B=TUMBLE)
    plant.sense()
    there = craft.grid.at(0.0)
    environment = np.concatenate([np.atleast_1d(part) for part in there])
    torques = craft.disturbances().torques(read(plant, "q_IB"), environment)
    plant.act(COMMAND.zeros())
    for name, row in (("gravity", 0), ("residual", 1), ("drag", 2), ("solar", 3)):
        assert np.array_equal(read(plant, f"torque_{name}_B"), torques[row])
        assert torques[row].any()


def test_magnetic_torque_is_dipole_cross_field(craft):
    """Without lag the mean dipole is the command, cut at the limit, while the cycle is on; off in the rest of it."""
    torquers = Magnetorquers(axes=np.eye(3), max_dipole_Am2=0.2, duty_cycle=0.55, period_s=1.0)
    plant = craft.plant(torquers=torquers, omega_B=TUMBLE)
    given = command(dipole=[0.05, -0.3, 0.1])
    for k in range(10):
        plant.sense()
        B = into_body(plant, "b_I")
        plant.act(given)
        on = 1.0 if k < 5 else 0.5 if k == 5 else 0.0
        m = on * np.array([0.05, -0.2, 0.1])
        assert read(plant, "dipole_B") == pytest.approx(m, rel=1e-9, abs=1e-12)
        assert read(plant, "torque_magnetic_B") == pytest.approx(np.cross(m, B), rel=1e-8, abs=1e-16)
    assert np.linalg.norm(B) > 1e-5


def test_outer_torque_turns_the_body(craft):
    """One tick: `J Δω = h (τ − ω × Jω)` to the first order of the step."""
    plant = free(craft, wheels=None, omega_B=[1e-3, -2e-3, 1e-3])
    plant.sense()
    before = read(plant, "omega_B")
    plant.act(command(dipole=[0.2, -0.1, 0.15]))
    torque = read(plant, "torque_magnetic_B")
    plant.sense()
    wanted = 0.1 * (torque - np.cross(before, craft.inertia @ before))
    assert craft.inertia @ (read(plant, "omega_B") - before) == pytest.approx(wanted, rel=1e-3, abs=1e-12)


def test_torquers_without_a_valid_bit_are_off(craft):
    plant, given = craft.plant(), command(dipole=[0.2, 0.2, 0.2])
    given[COMMAND["valid"].offset] = WHEELS
    kept = given.copy()
    plant.sense()
    plant.act(given)
    assert not read(plant, "dipole_B").any()
    assert np.array_equal(given, kept)  # the flight side's record is not written to


# ------------------------------------------------------------------ wheels
def spun(speed, torque, h, I=8e-6, c=1e-8, k=1e-5):
    """Speed after `h` of `I ω̇ = T − c ω − k sign ω`, no stop on the way."""
    end = (torque - k * np.sign(speed)) / c
    return end + (speed - end) * np.exp(-c * h / I)


def test_wheel_step_response(craft):
    plant, torque = free(craft, omega_B=[0.0, 0.0, 0.0]), np.array([5e-4, -2e-4, 0.0, -5e-3])
    plant.sense()
    before, H = read(plant, "wheel_speed")[:4], read(plant, "momentum_I")
    plant.act(command(torque))
    wanted = spun(before, np.clip(torque, -1e-3, 1e-3), 0.1)
    assert read(plant, "wheel_torque")[:4] == pytest.approx(8e-6 * (wanted - before) / 0.1, rel=1e-9)
    plant.sense()
    axes = np.asarray(craft.wheels.axes)
    momentum = read(plant, "wheel_momentum")[:4]
    assert momentum == pytest.approx(8e-6 * wanted, rel=1e-12)  # absolute: the body was at rest
    carrier = craft.inertia - 8e-6 * axes.T @ axes
    in_body = Rotation.from_quat(read(plant, "q_IB")).inv().apply(H)
    assert carrier @ read(plant, "omega_B") == pytest.approx(in_body - axes.T @ momentum, abs=1e-15)
    assert np.abs(read(plant, "omega_B")).max() > 1e-4


def test_uncommanded_wheels_coast(craft):
    """Friction alone; a command without its valid bit is not listened to, nor is one that is not finite."""
    given = np.array([1e-3, 1e-3, -1e-3, 1e-3])
    silent = command(given)
    silent[COMMAND["valid"].offset] = TORQUERS
    for sent in (COMMAND.zeros(), silent, command([np.nan] * 4), command([np.inf, -np.inf, np.nan, np.inf])):
        plant = free(craft, omega_B=[0.0, 0.0, 0.0])
        plant.sense()
        before = read(plant, "wheel_speed")[:4]
        plant.act(sent)
        wanted = spun(before, 0.0, 0.1)
        assert read(plant, "wheel_torque")[:4] == pytest.approx(8e-6 * (wanted - before) / 0.1, rel=1e-9)


def test_wheels_commanded_by_speed(craft):
    wheels = Wheels(
        axes=craft.wheels.axes, inertia_kg_m2=8e-6, max_torque_Nm=1e-3, max_speed_rpm=6000.0, viscous_Nms=1e-8,
        coulomb_Nm=1e-5, command="speed",
    )  # fmt: skip
    plant = free(craft, wheels=wheels, omega_B=[0.0, 0.0, 0.0])
    target = np.array([5.0, -3.0, 0.0, 1.0])
    steps(plant, 20, command(target))
    assert read(plant, "wheel_speed")[:4] == pytest.approx(target, abs=0.05)  # the body moves under them
    coasting = steps(plant, 1, command([np.nan] * 4))
    assert (np.abs(read(coasting, "wheel_speed")[[0, 1]]) < np.abs(target[[0, 1]])).all()


# ------------------------------------------------------------------ bad commands
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_no_command_brings_nonsense_into_the_truth(craft, value):
    plant = craft.plant(omega_B=TUMBLE)
    for place in range(COMMAND.size):
        for valid in (0.0, WHEELS + TORQUERS, 4095.0):
            given = command(1e-4 * np.ones(8), 0.1 * np.ones(6))
            given[COMMAND["valid"].offset] = valid
            given[place] = value
            plant.sense()
            assert plant.act(given) == 0
            plant.sense()
            assert np.isfinite(plant.truth).all()
            assert np.isfinite(plant.samples).all()
    assert np.abs(read(plant, "wheel_speed")).max() < 1.01 * 6000.0 * np.pi / 30.0


@pytest.mark.parametrize("bits", [np.nan, -1.0, 1e300, np.inf, 8192.0])
def test_valid_bits_that_are_none_command_nothing(craft, bits):
    plant, quiet = free(craft), free(craft)
    given = command(1e-3 * np.ones(4), 0.2 * np.ones(3))
    given[COMMAND["valid"].offset] = bits
    for one, sent in ((plant, given), (quiet, COMMAND.zeros())):
        steps(one, 3, sent)
    assert np.array_equal(plant.truth, quiet.truth)


@pytest.mark.parametrize("given", [0.0, np.zeros(1), np.zeros(15), np.zeros((16, 1)), None])
def test_command_of_another_shape(craft, given):
    plant = free(craft)
    with pytest.raises(ValueError, match=r"^command must have shape \(16,\), see attitude.spacecraft.frames, got"):
        plant.act(given)
    assert plant.t == 0.0


# ------------------------------------------------------------------ the tick
def test_act_alone_moves_as_with_sense(craft):
    """A tick in which nobody asked for samples has its environment and its truth all the same."""
    asked, alone = (craft.plant(omega_B=TUMBLE) for _ in range(2))
    for _ in range(30):
        asked.sense()
        asked.act(command(dipole=[0.1, 0.1, 0.1]))
        alone.act(command(dipole=[0.1, 0.1, 0.1]))
    assert np.array_equal(asked.truth, alone.truth)
    assert np.array_equal(asked.sense(), alone.sense())
    assert np.isfinite(alone.truth).all()


def test_sense_reports_the_beginning_and_act_the_torques_of_the_tick(craft):
    plant = craft.plant(omega_B=TUMBLE)
    for k in range(5):
        plant.sense()
        t, q = plant.t, read(plant, "q_IB")
        plant.act(COMMAND.zeros())
        assert TRUTH.read(plant.truth, "t") == t == pytest.approx(0.1 * k)
        assert np.array_equal(read(plant, "q_IB"), q)
    assert plant.t == pytest.approx(0.5)


def test_substeps_are_ticks_without_sensing(craft):
    """Eight ticks of 2 s in eight substeps each, or 64 of 0.25 s: the same motion and orbit, bit for bit."""
    given = command(1e-5 * np.ones(4), 0.1 * np.ones(3))
    long, short = (
        craft.plant(tick_s=2.0 / parts, substeps=8 // parts, sensors=SensorSuite(), omega_B=TUMBLE) for parts in (1, 8)
    )
    steps(long, 8, given)
    steps(short, 64, given)
    assert long.t == short.t == 16.0
    for name in ("q_IB", "omega_B", "wheel_momentum", "momentum_I", "impulse_I", "energy", "work", "b_I"):
        assert np.array_equal(read(long, name), read(short, name)), name


@pytest.mark.parametrize(("tick", "ticks"), [(0.1, 60000), (0.3, 20000), (0.7, 8571), (6000.0 / 7.0, 7)])
def test_ticks_left_to_the_end_of_the_environment(craft, tick, ticks):
    plant = craft.plant(tick_s=tick)
    assert plant.ticks_left == ticks
    plant.sense()
    plant.act(COMMAND.zeros())
    assert plant.ticks_left == ticks - 1


def test_rounding_costs_no_tick(craft):
    """0.3 s are three ticks of 0.1 s, although 0.3/0.1 < 3."""
    assert 0.3 / 0.1 < 3.0
    assert craft.plant(environment=replace(craft.grid, duration=0.3)).ticks_left == 3


@pytest.mark.parametrize("seed", [-1, 1.5, None])
def test_seed_must_be_a_whole_number(craft, seed):
    with pytest.raises(ValueError, match=r"^seed must be a whole number"):
        craft.plant(seed)


def test_bare_bodies_fly(craft):
    """No wheels, no torquers, no sensors: nothing is read or written beyond what is there."""
    bare = craft.plant(wheels=None, torquers=None, sensors=SensorSuite(), omega_B=TUMBLE)
    steps(bare, 20, command(1e-3 * np.ones(8), np.ones(6)))
    assert np.isfinite(bare.truth).all()
    for name in ("wheel_momentum", "wheel_speed", "wheel_torque", "dipole_B", "damper_omega_B"):
        assert not read(bare, name).any()
    assert not bare.samples[SAMPLES["valid"].offset + 1 :].any()
