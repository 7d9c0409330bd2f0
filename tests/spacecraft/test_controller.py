"""The flight side's controller: who acts in which mode, towards what, and craft that lack a part of it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.actuators.magnetorquers import Magnetorquers
from attitude.actuators.wheels import Allocation, Wheels
from attitude.control.guidance import GroundTarget, Inertial, Nadir
from attitude.control.modes import Mode, Reason
from attitude.control.momentum import MomentumDumping
from attitude.sensors.gyro import GyroConfig, GyroFault
from attitude.sensors.magnetometer import MagnetometerConfig
from attitude.spacecraft import frames
from attitude.spacecraft.config import Damper, SensorSuite
from attitude.spacecraft.controller import SAFE_REFERENCE
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES, TRUTH
from attitude.spacecraft.tick import Spacecraft

WHEELS, TORQUERS = 1 << frames.WHEELS_BIT, 1 << frames.TORQUERS_BIT
REST = Inertial(q=[0.0, 0.0, 0.0, 1.0])
TUMBLE = [0.08, -0.06, 0.05]  # rad/s, 6.4 °/s


def loop(craft, seed=1, plant=None, flight=None, **changes):
    """A loop whose controller is changed; `plant` and `flight` are changes of the two sides."""
    side = craft.flight(controller=craft.controller(**changes), **(flight or {}))
    return Spacecraft(craft.plant(seed, **(plant or {})), side)


def control(rows, name):
    return CONTROL.read(rows["control"], name)


def sent(rows, bit):
    """Whether the actuator is commanded, row by row."""
    return COMMAND.read(rows["command"], "valid").astype(int) & bit > 0


def pointing_error_deg(rows):
    """Angle between the true attitude and the one that is asked for."""
    truth = Rotation.from_quat(TRUTH.read(rows["truth"], "q_IB"))
    return np.degrees((Rotation.from_quat(control(rows, "reference_q_IB")).inv() * truth).magnitude())


def rotor_momentum(craft, rows):
    return TRUTH.read(rows["truth"], "wheel_momentum")[:, :4] @ np.asarray(craft.wheels.axes)


# ------------------------------------------------------------------ who acts
@pytest.fixture(scope="module")
def mission(craft):
    """From a tumble through all modes but safe: 45 minutes."""
    slow = craft.plant_config(omega_B=[0.02, -0.02, 0.015])
    return loop(craft, plant={"omega_B": slow.omega_B}).run(27000, 5)


def test_detumble_acquire_nominal_in_that_order(mission):
    mode = control(mission, "mode")
    changes = mode[np.flatnonzero(np.diff(mode)) + 1]
    assert [int(mode[0]), *changes.astype(int)] == [Mode.DETUMBLE, Mode.ACQUIRE, Mode.NOMINAL]
    assert control(mission, "reason")[-1] == Reason.READY


def test_each_mode_uses_its_actuators(mission):
    mode, dumping = control(mission, "mode"), control(mission, "dumping") > 0.0
    wheels, torquers = sent(mission, WHEELS), sent(mission, TORQUERS)
    damping, nominal = mode <= Mode.ACQUIRE, mode == Mode.NOMINAL
    assert torquers[damping][5:].all()
    assert not wheels[damping].any()
    assert not control(mission, "torque_B")[damping].any()
    assert (control(mission, "pointing")[damping] == -1.0).all()
    assert wheels[nominal].all()
    assert np.array_equal(torquers[nominal], dumping[nominal])
    assert (control(mission, "pointing")[nominal] == 0.0).all()


def test_what_is_not_commanded_is_zero(mission):
    assert not COMMAND.read(mission["command"], "wheel")[~sent(mission, WHEELS)].any()
    assert not COMMAND.read(mission["command"], "dipole")[~sent(mission, TORQUERS)].any()
    assert not COMMAND.read(mission["command"], "wheel")[:, 4:].any()
    assert not COMMAND.read(mission["command"], "dipole")[:, 3:].any()
    assert np.array_equal(COMMAND.read(mission["command"], "t"), SAMPLES.read(mission["samples"], "t"))


def test_limits_are_kept(mission):
    assert np.abs(COMMAND.read(mission["command"], "wheel")).max() <= 1e-3 * (1.0 + 1e-12)
    assert np.abs(COMMAND.read(mission["command"], "dipole")).max() <= 0.2 * (1.0 + 1e-12)


def test_nadir_is_held(mission):
    settled = (control(mission, "slewing") == 0.0) & (control(mission, "mode") == Mode.NOMINAL)
    after = np.flatnonzero(settled)[0] + 400  # 200 s
    assert settled[after:].all()
    assert pointing_error_deg(mission)[after:].max() < 0.6
    down = -TRUTH.read(mission["truth"], "r_I")[-1]
    axis = Rotation.from_quat(TRUTH.read(mission["truth"], "q_IB")[-1]).apply([0.0, 0.0, 1.0])
    assert np.degrees(np.arccos(axis @ down / np.linalg.norm(down))) < 0.6


@pytest.mark.parametrize("law", ["bdot", "rate"])
def test_detumbling_takes_energy(craft, law):
    rows = loop(craft, plant={"omega_B": TUMBLE}, detumble_law=law).run(10000, 10)
    omega = TRUTH.read(rows["truth"], "omega_B")[control(rows, "mode") == Mode.DETUMBLE]
    assert len(omega) > 500
    energy = np.einsum("ni,ij,nj->n", omega, craft.inertia, omega)
    assert energy[-1] < 0.35 * energy[0]
    assert (np.diff(energy[::50]) < 0.0).mean() > 0.9  # every 50 s


def test_without_a_gyro_the_turning_field_tells_the_rate(craft):
    calm = MagnetometerConfig(sample_rate_hz=5.0, noise_nT=10.0)
    sensors = craft.suite(gyro=None, sun_sensors=(), coarse_sun=None, magnetometer=calm)
    rows = loop(craft, plant={"omega_B": TUMBLE, "sensors": sensors}, flight={"sensors": sensors}).run(600)
    told, rate = control(rows, "rate"), np.linalg.norm(TRUTH.read(rows["truth"], "omega_B"), axis=1)
    assert np.isnan(told[:8]).all()  # the second quiet sample comes at 0.8 s
    assert not np.isnan(told[8:]).any()
    # what turns is the part of the rate across the field; 10 nT over 0.2 s add 0.003 rad/s of 0.1
    assert (told[100:] < 1.05 * rate[100:]).all()
    assert told[100:].max() > 0.7 * rate.max()


# ------------------------------------------------------------------ pointing
def test_wheels_turn_the_body_towards_the_reference(craft):
    """A turn of 60° about z is asked for: the body accelerates that way, gets there and stays, by wheels alone."""
    turn = Rotation.from_rotvec([0.0, 0.0, np.pi / 3.0])
    rows = loop(
        craft, first_mode=Mode.NOMINAL, references=[Inertial(q=turn.as_quat())], dumping=None,
        plant={"omega_B": [0.0, 0.0, 0.0]},
    ).run(5000)  # fmt: skip
    slewing = control(rows, "slewing") > 0.0
    end = np.flatnonzero(~slewing)[0]
    # 60° at 0.5 °/s with 0.02 °/s²: 120 s and one ramp of 25 s more
    assert end * craft.tick == pytest.approx(145.0, abs=1.0)
    assert TRUTH.read(rows["truth"], "omega_B")[200, 2] > np.radians(0.2)
    on_body = -COMMAND.read(rows["command"], "wheel")[5:100, :4] @ np.asarray(craft.wheels.axes)
    friction = 1e-5 * 4  # compensated in the command
    assert (on_body[:, 2] > -friction).all()
    assert control(rows, "torque_B")[5:100, 2].mean() == pytest.approx(0.0067 * np.radians(0.02), rel=0.3)
    truth = Rotation.from_quat(TRUTH.read(rows["truth"], "q_IB")[end + 1500 :])
    assert np.degrees((turn.inv() * truth).magnitude()).max() < 0.3
    assert not sent(rows, TORQUERS).any()


def test_error_and_torque_are_opposite(craft):
    """A kicked body: after the slew's start the torque is against rate and error."""
    kick = np.radians([0.3, -0.2, 0.4])
    rows = loop(craft, first_mode=Mode.NOMINAL, references=[REST], dumping=None, plant={"omega_B": kick}).run(100)
    torque = control(rows, "torque_B")[5:30]
    assert (torque @ kick < 0.0).all()
    assert np.linalg.norm(TRUTH.read(rows["truth"], "omega_B")[-1]) < 0.7 * np.linalg.norm(kick)


def test_first_reference_in_sight_is_taken(craft):
    """A ground target while it sees the spacecraft, else nadir; the pass is found by the geometry alone."""
    there = craft.grid.at(900.0)
    r_E = Rotation.from_quat(there.q_IE).inv().apply(there.r_I)
    latitude, longitude = np.degrees([np.arcsin(r_E[2] / np.linalg.norm(r_E)), np.arctan2(r_E[1], r_E[0])])
    target = GroundTarget(latitude_deg=latitude, longitude_deg=longitude, min_elevation_deg=10.0)
    rows = loop(craft, first_mode=Mode.NOMINAL, references=[target, Nadir()]).run(15000, 10)
    t, truth = SAMPLES.read(rows["samples"], "t"), rows["truth"]
    r_E = Rotation.from_quat(TRUTH.read(truth, "q_IE")).inv().apply(TRUTH.read(truth, "r_I"))
    seen = target.elevation_deg(r_E) > 10.0
    assert 200 < seen.sum() < 600
    assert np.array_equal(control(rows, "pointing") == 0.0, seen)
    assert np.array_equal(control(rows, "pointing") == 1.0, ~seen)
    first = np.flatnonzero(seen)[0]
    assert control(rows, "slewing")[first] == 1.0  # a new slew
    only = loop(craft, first_mode=Mode.NOMINAL, references=[target]).run(10)
    assert (control(only, "pointing") == 0.0).all()  # nothing else to point at
    assert t[first] < 900.0


def test_safe_mode_has_its_own_reference(craft):
    rows = loop(craft, first_mode=Mode.SAFE).run(60)
    assert (control(rows, "mode") == Mode.SAFE).all()
    assert (control(rows, "pointing") == SAFE_REFERENCE).all()
    assert sent(rows, WHEELS).all()


# ------------------------------------------------------------------ dumping
def loaded(craft, seconds, **changes):
    """Wheels with momentum about x, none of which will pass through rest, an attitude to hold, and disturbances."""
    speeds = [2700.0, -2700.0, 300.0, -300.0]
    return loop(
        craft, first_mode=Mode.NOMINAL, references=[REST], plant={"wheel_speed_rpm": speeds, "omega_B": [0, 0, 0]},
        **changes,
    ).run(round(10 * seconds), 10)  # fmt: skip


def test_dumping_unloads_the_wheels_and_keeps_pointing(craft):
    rows, without = loaded(craft, 2000.0), loaded(craft, 2000.0, dumping=None)
    start, end = (np.linalg.norm(rotor_momentum(craft, rows)[k]) for k in (0, -1))
    assert start > 2e-3
    assert end < 0.35 * start
    assert np.linalg.norm(rotor_momentum(craft, without)[-1]) > 0.8 * start
    assert (control(rows, "dumping")[:500] == 1.0).all()
    assert pointing_error_deg(rows)[300:].max() < 0.6
    assert not control(without, "dumping").any()


def test_dumping_stops_where_it_should(craft):
    """Hysteresis: on above 1.5e-3 N·m·s, off below 1.1e-3, and then off between the two."""
    quick = MomentumDumping(time_constant_s=100.0, start_Nms=1.5e-3, stop_Nms=1.1e-3)
    rows = loaded(craft, 2000.0, dumping=quick)
    size, on = np.linalg.norm(rotor_momentum(craft, rows), axis=1), control(rows, "dumping") > 0.0
    off = np.flatnonzero(~on)
    assert off.size
    assert size[off[0]] == pytest.approx(1.1e-3, rel=0.02)
    assert on[: off[0]].all()
    assert not on[off[0] :].any()
    assert not sent(rows, TORQUERS)[~on].any()


@pytest.mark.parametrize("axes", [np.eye(3), np.eye(3)[:2], [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]])
def test_wheels_take_up_the_torque_of_the_dumping(craft, axes):
    """The same samples with and without dumping: what is asked of the wheels differs by the torquers' mean torque."""
    torquers = Magnetorquers(axes=axes, max_dipole_Am2=0.2, duty_cycle=0.6, period_s=1.0)
    plant = craft.plant(wheel_speed_rpm=[3500.0, 500.0, 3500.0, -2500.0])
    on, off = (
        craft.flight(
            controller=craft.controller(first_mode=Mode.NOMINAL, references=[REST], **changes), torquers=torquers
        )
        for changes in ({}, {"dumping": None})
    )
    samples = plant.sense()
    given, _ = on.tick(0.0, samples), off.tick(0.0, samples)
    dipole = COMMAND.read(given, "dipole")[: len(axes)]
    assert np.abs(dipole).max() > 0.01
    field = craft.grid.at(0.0).b_I
    field_B = Rotation.from_quat(ESTIMATE.read(on.estimate, "q_IB")).inv().apply(field)
    mean = np.cross(0.6 * np.asarray(axes).T @ dipole, field_B)
    difference = CONTROL.read(on.control, "torque_B") - CONTROL.read(off.control, "torque_B")
    assert difference == pytest.approx(-mean, rel=1e-6, abs=1e-12)
    assert np.linalg.norm(mean) > 1e-7


# ------------------------------------------------------------------ modes
def test_without_an_essential_sensor_it_is_safe(craft):
    """A stuck gyro: nominal is left for safe five seconds after it counts as faulty, and taken up again."""
    fault = GyroFault(kind="stuck", start_s=60.0, end_s=90.0)
    sensors = craft.suite(gyro=GyroConfig(sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.15, faults=(fault,)))
    sides = {"plant": {"sensors": sensors}, "flight": {"sensors": sensors}}
    rows = loop(craft, first_mode=Mode.NOMINAL, references=[REST], **sides).run(1800)
    t, mode = SAMPLES.read(rows["samples"], "t"), control(rows, "mode")
    safe = t[mode == Mode.SAFE]
    assert safe[0] == pytest.approx(60.0 + 2.0 + 5.0, abs=0.3)
    assert control(rows, "reason")[t == safe[0]] == Reason.LOST
    assert (mode[t > 125.0] == Mode.NOMINAL).all()
    spared = loop(craft, first_mode=Mode.NOMINAL, references=[REST], essential=(), **sides).run(1000)
    assert (control(spared, "mode") == Mode.NOMINAL).all()  # the dynamics filter does without


def test_saturated_wheels_are_a_reason(craft):
    rows = loop(craft, first_mode=Mode.NOMINAL, plant={"wheel_speed_rpm": [5900, -5900, 5900, -5900]}).run(100)
    assert control(rows, "wheel_load")[0] == pytest.approx(5900 / 6000, rel=1e-9)
    assert control(rows, "mode")[-1] == Mode.SAFE
    assert control(rows, "reason")[-1] == Reason.SATURATED


# ------------------------------------------------------------------ craft that lack something
def test_without_wheels_the_torquers_damp_in_every_mode(craft):
    sides = {"wheels": None}
    for mode in Mode:
        rows = loop(
            craft, pointing=None, allocation=None, dumping=None, first_mode=mode, plant={**sides, "omega_B": TUMBLE},
            flight=sides,
        ).run(100)  # fmt: skip
        assert sent(rows, TORQUERS)[20:].all()
        assert not sent(rows, WHEELS).any()
        assert np.isfinite(rows["truth"]).all()
        assert (control(rows, "pointing") == -1.0).all()


def test_without_torquers_the_wheels_point(craft):
    rows = loop(
        craft, detumble=None, first_mode=Mode.NOMINAL, plant={"torquers": None}, flight={"torquers": None}
    ).run(200)
    assert not sent(rows, TORQUERS).any()
    assert sent(rows, WHEELS).all()
    assert not TRUTH.read(rows["truth"], "torque_magnetic_B").any()
    tumbling = loop(craft, detumble=None, plant={"torquers": None}, flight={"torquers": None}).run(30)
    assert not COMMAND.read(tumbling["command"], "valid").any()


def test_a_damper_alone(craft):
    """No wheels, no torquers, no sensors but a gyro: the damper works, and nothing is commanded."""
    sensors = SensorSuite(gyro=GyroConfig(sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.1))
    nothing = {"wheels": None, "torquers": None, "sensors": sensors}
    rows = loop(
        craft, detumble=None, pointing=None, allocation=None, dumping=None, flight=nothing,
        plant={**nothing, "damper": Damper(inertia_kg_m2=1e-3, damping_Nms=1e-3), "omega_B": TUMBLE},
    ).run(2000)  # fmt: skip
    assert not COMMAND.read(rows["command"], "valid").any()
    assert np.isfinite(rows["truth"]).all()
    assert TRUTH.read(rows["truth"], "energy")[-1] < TRUTH.read(rows["truth"], "energy")[0]
    assert control(rows, "rate")[100] == pytest.approx(
        np.linalg.norm(TRUTH.read(rows["truth"], "omega_B")[100]), abs=1e-3
    )


@pytest.mark.parametrize("count", [3, 8])
def test_any_number_of_wheels(craft, count):
    """Three, and as many as the wire has room for."""
    axes = np.eye(3) if count == 3 else np.random.default_rng(5).normal(size=(8, 3))
    wheels = Wheels(
        axes=axes, inertia_kg_m2=8e-6, max_torque_Nm=1e-3, max_speed_rpm=6000.0, viscous_Nms=0.0, coulomb_Nm=0.0
    )
    rows = loop(
        craft, first_mode=Mode.NOMINAL, references=[REST], allocation=Allocation(wheels=wheels),
        plant={"wheels": wheels, "omega_B": [2e-3, -2e-3, 2e-3]}, flight={"wheels": wheels},
    ).run(2000)  # fmt: skip
    assert (np.abs(COMMAND.read(rows["command"], "wheel")).max(axis=0) > 0.0).sum() == count
    assert pointing_error_deg(rows)[-300:].max() < 0.6


def test_references_share_no_memory_with_the_configuration(craft):
    """Two flights from one configuration do not disturb each other."""
    config = craft.controller(first_mode=Mode.NOMINAL, references=[REST])
    first = Spacecraft(craft.plant(), craft.flight(controller=config)).run(200)
    second = Spacecraft(craft.plant(), craft.flight(controller=config)).run(200)
    assert np.array_equal(first["command"], second["command"])
