"""The flight side's estimator: start, consistency, gate, faulty sensors, late samples, and packets of all sorts."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.control.guidance import Inertial
from attitude.control.modes import Mode
from attitude.environment.grid import Environment
from attitude.environment.orbit import MeanElements, Orbit, mean_motion
from attitude.sensors.gps import GpsConfig
from attitude.sensors.gyro import GyroConfig, GyroFault
from attitude.sensors.magnetometer import MagnetometerConfig, MagnetometerFault
from attitude.sensors.star_tracker import StarTrackerFault
from attitude.sensors.sun_sensor import FineSunSensorFault
from attitude.spacecraft import frames
from attitude.spacecraft.config import SensorSuite
from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES, TRUTH
from attitude.spacecraft.tick import Spacecraft

KINDS = ("dynamics", "gyro")
GYRO, MAGNETOMETER, SUN = frames.GYRO_BIT, frames.MAGNETOMETER_BIT, frames.SUN_SENSOR_BIT


def has(rows, name, bit):
    """Whether the bit is set, row by row."""
    return (ESTIMATE.read(rows["estimate"], name).astype(int) >> bit) & 1 == 1


def pointing(craft, kind, sensors, seed=1, **changes):
    """A loop that holds an attitude in which the Sun is seen, from the first tick on, and its flight side."""
    controller = craft.controller(references=[Inertial(q=[0, 0, 0, 1])], first_mode=Mode.NOMINAL)
    flight = craft.flight(estimator=craft.estimator(kind=kind), controller=controller, sensors=sensors, **changes)
    return Spacecraft(craft.plant(seed, sensors=sensors), flight)


def running(rows):
    return ESTIMATE.read(rows["estimate"], "running") > 0.0


# ------------------------------------------------------------------ good sensors
@pytest.mark.parametrize("kind", KINDS)
def test_starts_by_triad_and_is_consistent(craft, kind):
    """An hour and a half with eclipse; unbiased sensors but for the gyro, whose bias is estimated."""
    rows = craft.loop(kind).run(55000, 10)
    assert running(rows).all()  # Sun and field come with the first tick
    error, sigma = craft.knowledge_error(rows), ESTIMATE.read(rows["estimate"], "sigma_B")
    assert sigma[0].max() > np.radians(1.0)
    assert sigma[100:].max() < np.radians(0.5)
    assert (np.abs(error) <= 3.0 * sigma).mean() >= 0.95
    assert np.sqrt((error[100:] ** 2 / sigma[100:] ** 2).mean()) > 0.2  # nor is it too modest by far
    bias = ESTIMATE.read(rows["estimate"], "gyro_bias_B")[-1]
    true = craft.loop(kind).plant.suite.sensing(0).gyro.state[4:7]  # constant in this run
    told = 3.0 * ESTIMATE.read(rows["estimate"], "sigma_bias_B")[-1]
    assert (np.abs(bias - true) <= told).all()
    assert (told < 0.2 * np.abs(true).max()).all()


@pytest.mark.parametrize("kind", KINDS)
def test_rate_is_the_true_one(craft, kind):
    rows = craft.loop(kind, omega_B=[0.01, -0.02, 0.015]).run(3000)
    error = ESTIMATE.read(rows["estimate"], "omega_B") - TRUTH.read(rows["truth"], "omega_B")
    rms = np.sqrt((error[1000:] ** 2).mean(axis=0))
    noise = 1.38e-4  # rad/s of one sample: 0.15°/√h at 10 Hz
    if kind == "dynamics":
        assert (rms < 0.7 * noise).all()
    else:
        assert rms == pytest.approx(noise, rel=0.1)


def test_star_tracker_alone_starts_and_holds_it(craft):
    sensors = craft.suite(sun_sensors=(), coarse_sun=None, magnetometer=None, star_trackers=(craft.star_tracker(),))
    flight = craft.flight(sensors=sensors, controller=craft.controller(detumble=None))
    rows = Spacecraft(craft.plant(sensors=sensors), flight).run(3000)
    assert running(rows).all()
    error = craft.knowledge_error(rows)[1000:]
    assert np.abs(error).max() < np.radians(0.05)  # 3 sigma of the roll of one sample
    assert np.abs(error).max() > np.radians(1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_attitude_is_carried_to_now(craft, kind):
    """0.4 s of latency at 1.7 °/s would be 0.7°."""
    late = craft.suite(sun_sensors=(), coarse_sun=None, star_trackers=(craft.star_tracker(latency_s=0.4),))
    rows = craft.loop(kind, sensors=late, omega_B=[0.02, -0.02, 0.01]).run(1200)
    accepted = has(rows, "accepted", frames.STAR_TRACKER_BIT)
    assert accepted[100:].sum() > 200
    assert np.degrees(np.abs(craft.knowledge_error(rows)[600:])).max() < 0.05


def test_gyro_filter_takes_the_mean_of_two_samples(craft):
    """A good start, then 30 s by a noiseless gyro alone through a tumble whose rate swings by 0.4 rad/s.

    The mean leaves the coning, `h²/12 ∫ ω × ω̇`, some 2e-3 rad; one sample alone would lag by `h Δω/2`, 0.02 rad.
    """
    only = SensorSuite(
        gyro=GyroConfig(sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.0),
        star_trackers=(
            craft.star_tracker(
                noise_cross_arcsec=0.0, noise_roll_arcsec=0.0, max_rate_deg_per_s=90.0, sun_exclusion_deg=0.0,
                faults=(StarTrackerFault(kind="dead", start_s=0.3),),
            ),
        ),
    )  # fmt: skip
    flight = craft.flight(
        sensors=only, estimator=craft.estimator(kind="gyro"), controller=craft.controller(detumble=None)
    )
    rows = Spacecraft(craft.plant(sensors=only, omega_B=[0.1, 0.2, 0.3]), flight).run(300)
    assert running(rows).all()
    assert np.ptp(TRUTH.read(rows["truth"], "omega_B"), axis=0).max() > 0.4
    assert np.abs(craft.knowledge_error(rows)).max() < 4e-3


def test_dynamics_filter_knows_what_the_torquers_do(craft):
    """Without a gyro, and with next to no torque noise, only the last command tells why the body slows down."""
    blind = craft.suite(gyro=None, sun_sensors=(), coarse_sun=None, star_trackers=(craft.star_tracker(),))
    flight = craft.flight(sensors=blind, estimator=craft.estimator(torque_noise_Nm_sqrt_s=3e-8))
    plant = craft.plant(sensors=blind, omega_B=[0.015, -0.02, 0.01], disturbances=craft.disturbances(False))
    rows = Spacecraft(plant, flight).run(3000)
    rate = TRUTH.read(rows["truth"], "omega_B")
    assert np.linalg.norm(rate[-1]) < 0.8 * np.linalg.norm(rate[0])
    error, sigma = craft.knowledge_error(rows)[500:], ESTIMATE.read(rows["estimate"], "sigma_B")[500:]
    assert (np.abs(error) <= 3.0 * sigma).mean() >= 0.95
    assert np.abs((ESTIMATE.read(rows["estimate"], "omega_B") - rate)[500:]).max() < 1e-4


def test_late_directions_are_carried_to_now(craft):
    late = craft.suite(sun_sensors=tuple(craft.sun_sensor(side, latency_s=0.6) for side in ("+x", "-x", "+y", "-z")))
    rows = craft.loop(sensors=late, omega_B=[0.01, 0.02, 0.02]).run(1500)
    error, sigma = craft.knowledge_error(rows)[500:], ESTIMATE.read(rows["estimate"], "sigma_B")[500:]
    assert (np.abs(error) <= 3.0 * sigma).mean() >= 0.95


def test_samples_that_are_too_old_are_refused(craft):
    old = craft.suite(sun_sensors=tuple(craft.sun_sensor(side, latency_s=1.5) for side in ("+x", "-x", "+y", "-z")))
    rows = craft.loop(sensors=old).run(200)
    seen = (SAMPLES.read(rows["samples"], "valid").astype(int) >> SUN) & 1 == 1
    assert seen.any()
    assert not has(rows, "accepted", SUN).any()
    assert (has(rows, "rejected", SUN) == seen)[running(rows)].all()


def test_photodiodes_serve_where_no_sun_sensor_sees(craft):
    both, only = craft.loop().run(300), craft.loop(sensors=craft.suite(sun_sensors=())).run(300)
    assert not has(both, "accepted", frames.COARSE_SUN_BIT).any()
    assert has(only, "accepted", frames.COARSE_SUN_BIT)[10:].sum() > 100
    assert running(only).all()


def test_magnetometer_is_heard_only_while_the_torquers_are_quiet(craft):
    """They are on for the first 0.6 s of a second; 0.8 and 1.0 are the quiet samples of five a second."""
    rows = craft.loop().run(300)
    taken = has(rows, "accepted", MAGNETOMETER)
    phase = np.round(SAMPLES.read(rows["samples"], "t")[taken] % 1.0, 6)
    assert set(phase) == {0.0, 0.8}


# ------------------------------------------------------------------ on-board orbit
@pytest.mark.parametrize("latency", [0.0, 0.5])
def test_gps_corrects_the_clock_of_the_orbit(craft, latency):
    """An on-board orbit 3 s behind: its clock is put forward by that, whatever the latency of the fixes."""
    late = 3.0
    rate = 360.0 * mean_motion(500.0) / 86400.0
    orbit = Orbit.from_mean_elements(
        MeanElements(
            epoch="2026-03-20T00:00:00", mean_motion_rev_per_day=mean_motion(500.0), eccentricity=0.001,
            inclination_deg=97.4, raan_deg=60.0, argument_of_perigee_deg=0.0, mean_anomaly_deg=-late * rate % 360.0,
        )
    )  # fmt: skip
    gps = GpsConfig(sample_rate_hz=1.0, position_noise_m=5.0, velocity_noise_m_per_s=0.05, latency_s=latency)
    sensors = craft.suite(gps=gps)
    onboard = Environment(orbit=orbit, epoch="2026-03-20T00:00:00").grid(500.0)
    flight = craft.flight(environment=onboard, sensors=sensors)
    rows = Spacecraft(craft.plant(sensors=sensors), flight).run(3000, 10)
    correction = ESTIMATE.read(rows["estimate"], "ephemeris_s")
    assert correction[0] == pytest.approx(0.05 * late if latency == 0.0 else 0.0, abs=1e-3)
    assert correction[-1] == pytest.approx(late, abs=0.01)  # 5 m of noise are 1 ms


# ------------------------------------------------------------------ faults
def test_spikes_are_refused_and_noticed(craft):
    fault = MagnetometerFault(kind="spike", start_s=60.0, end_s=120.0, size_nT=40000.0)
    sensors = craft.suite(magnetometer=MagnetometerConfig(sample_rate_hz=5.0, noise_nT=200.0, faults=(fault,)))
    rows = pointing(craft, "dynamics", sensors).run(2400)
    t, refused = SAMPLES.read(rows["samples"], "t"), has(rows, "rejected", MAGNETOMETER)
    spiked = (t >= 60.0) & (t < 120.0)
    assert not refused[~spiked].any()
    assert not has(rows, "accepted", MAGNETOMETER)[spiked].any()
    assert refused[spiked].sum() == 120
    faulty = has(rows, "faulty", MAGNETOMETER)
    assert not faulty[t < 60.0].any()
    assert faulty[(t > 61.5) & (t < 120.0)].all()  # three quiet samples
    assert not faulty[t > 140.0].any()
    error, sigma = craft.knowledge_error(rows), ESTIMATE.read(rows["estimate"], "sigma_B")
    assert (np.abs(error[spiked]) < 4.0 * sigma[spiked]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stuck_gyro_is_found_out_and_taken_back(craft, kind):
    fault = GyroFault(kind="stuck", start_s=60.0, end_s=90.0)
    sensors = craft.suite(gyro=GyroConfig(sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.15, faults=(fault,)))
    rows = pointing(craft, kind, sensors).run(1500)
    t, faulty = SAMPLES.read(rows["samples"], "t"), has(rows, "faulty", GYRO)
    assert not faulty[t < 60.0].any()
    stuck_samples = 20
    assert faulty[np.abs(t - 60.0).argmin() + stuck_samples - 1]
    assert faulty[(t > 62.0) & (t < 90.0)].all()
    back = t[(t > 90.0) & ~faulty][0]
    assert 91.9 < back < 97.0  # it has to move as often again
    assert not faulty[t > back].any()
    lost = ~running(rows)
    if kind == "dynamics":
        assert not lost.any()
    else:
        assert lost[(t > 62.0) & (t < 90.0)].all()
        assert not lost[t > 98.0].any()
    assert np.degrees(np.abs(craft.knowledge_error(rows)[-200:])).max() < 0.5
    assert np.isfinite(rows["command"]).all()


def test_a_noisy_gyro_is_not_stuck(craft):
    rows = pointing(craft, "dynamics", craft.suite()).run(2000)
    assert not has(rows, "faulty", GYRO).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_dead_gyro_is_silent(craft, kind):
    fault = GyroFault(kind="dead", start_s=60.0, end_s=90.0)
    sensors = craft.suite(gyro=GyroConfig(sample_rate_hz=10.0, arw_deg_per_sqrt_hr=0.15, faults=(fault,)))
    rows = pointing(craft, kind, sensors).run(1300)
    t, faulty = SAMPLES.read(rows["samples"], "t"), has(rows, "faulty", GYRO)
    assert not faulty[t < 65.0].any()
    assert faulty[(t > 65.3) & (t < 90.0)].all()
    assert not faulty[t > 90.5].any()
    assert running(rows)[t > 95.0].all()


def test_a_dead_sun_sensor_is_noticed_only_where_it_should_see(craft):
    """The one that looks at the Sun is missed after five seconds, the one that looks away never is."""
    dead = (FineSunSensorFault(kind="dead", start_s=30.0),)
    seeing = craft.suite(sun_sensors=(craft.sun_sensor("+x", faults=dead), craft.sun_sensor("-x")))
    blind = craft.suite(sun_sensors=(craft.sun_sensor("+x"), craft.sun_sensor("-x", faults=dead)))
    rows = pointing(craft, "dynamics", seeing).run(1000)
    t = SAMPLES.read(rows["samples"], "t")
    assert not has(rows, "faulty", SUN)[t < 34.7].any()  # the last sample came at 29.8 s
    assert has(rows, "faulty", SUN)[t > 35.5].all()
    assert not has(rows, "faulty", SUN + 1).any()
    assert not (ESTIMATE.read(pointing(craft, "dynamics", blind).run(1000)["estimate"], "faulty") > 0.0).any()


def test_a_sun_sensor_is_not_missed_in_eclipse(craft):
    """Held so that +x looks to where the Sun is, day and night."""
    rows = pointing(craft, "dynamics", craft.suite()).run(38000, 10)
    night = TRUTH.read(rows["truth"], "sunlight") == 0.0
    assert night.sum() > 500
    assert has(rows, "accepted", SUN)[~night].any()
    for i in range(4):
        assert not has(rows, "faulty", SUN + i).any()


def test_an_estimate_that_sun_refutes_is_given_up(craft):
    """All sun sensors jump by 30°: after `restart_s` the filter starts anew from what it is told.

    By then they count as faulty; they are forgiven within a few samples, or there would never be a start.
    """
    jump = (FineSunSensorFault(kind="bias_jump", start_s=60.0, size_deg=30.0, channel=0),)
    sensors = craft.suite(
        sun_sensors=tuple(craft.sun_sensor(side, faults=jump) for side in ("+x", "-x")), coarse_sun=None
    )
    rows = pointing(craft, "dynamics", sensors).run(1500)
    t, on = SAMPLES.read(rows["samples"], "t"), running(rows)
    assert on[t < 119.0].all()
    gap = t[~on]
    assert 119.9 < gap[0] < 121.0
    assert gap[-1] < 130.0
    assert on[t > 130.0].all()


# ------------------------------------------------------------------ packets of all sorts
@pytest.fixture(scope="module")
def recorded(craft):
    """Samples and truth of 20 s in which every kind of sensor is fitted."""
    sensors = craft.suite(star_trackers=(craft.star_tracker("-z"), craft.star_tracker("+y")))
    rows = pointing(craft, "dynamics", sensors).run(200)
    return sensors, rows["samples"], rows["truth"]


def flown(craft, recorded, packets, kind="dynamics", sensors=None):
    """Fly packets one by one; everything that comes out must be finite. Returns the flight side."""
    controller = craft.controller(references=[Inertial(q=[0, 0, 0, 1])], first_mode=Mode.NOMINAL)
    flight = craft.flight(
        sensors=recorded[0] if sensors is None else sensors, estimator=craft.estimator(kind=kind), controller=controller
    )
    for packet in packets:
        sent = flight.tick(0.0, packet)
        assert np.isfinite(sent).all()
        assert np.isfinite(ESTIMATE.read(flight.estimate, "q_IB")).all()
        assert np.linalg.norm(ESTIMATE.read(flight.estimate, "q_IB")) == pytest.approx(1.0, abs=1e-9)
        assert np.isfinite(ESTIMATE.read(flight.estimate, "sigma_B")).all()
        assert np.isfinite(CONTROL.read(flight.control, "torque_B")).all()
    return flight


def error_deg(flight, truth):
    """Angle between the estimate and the truth of the packet it answered."""
    row = truth[np.abs(TRUTH.read(truth, "t") - ESTIMATE.read(flight.estimate, "t")).argmin()]
    estimate = Rotation.from_quat(ESTIMATE.read(flight.estimate, "q_IB"))
    return np.degrees((estimate.inv() * Rotation.from_quat(TRUTH.read(row, "q_IB"))).magnitude())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1e9])
def test_nonsense_in_any_field_is_survived(craft, recorded, kind, value):
    """In a packet in which all bits are set, at the start and in the course of a run."""
    _, samples, truth = recorded
    gyro = SAMPLES["gyro_omega_B"]
    for place in range(SAMPLES.size):
        if kind == "gyro" and value == -1e9 and gyro.offset <= place < gyro.offset + 3:
            continue  # a finite rate is believed there: the gyro is what the filter goes by
        packets = samples[60:140].copy()
        for bad in (0, 40):
            packets[bad, SAMPLES["valid"].offset] = 4095.0
            packets[bad, place] = value
        flight = flown(craft, recorded, packets, kind)
        assert ESTIMATE.read(flight.estimate, "running") == 1.0, place
        assert ESTIMATE.read(flight.estimate, "t") == packets[-1, 0], place
        assert error_deg(flight, truth) < 1.0, place


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1e300])
def test_nonsense_in_every_field_but_time_is_survived(craft, recorded, kind, value):
    _, samples, truth = recorded
    packets = samples[60:200].copy()
    packets[[0, 1, 30, 31, 32], 2:] = value
    packets[[0, 1, 30, 31, 32], SAMPLES["valid"].offset] = 4095.0
    flight = flown(craft, recorded, packets, kind)
    assert ESTIMATE.read(flight.estimate, "running") == 1.0
    assert error_deg(flight, truth) < 1.0


@pytest.mark.parametrize("bits", [np.nan, -1.0, 1e300, 4096.0, np.inf])
def test_valid_bits_that_are_none_are_no_samples(craft, recorded, bits):
    _, samples, truth = recorded
    packets = samples[60:120].copy()
    packets[30:33, SAMPLES["valid"].offset] = bits
    flight = flown(craft, recorded, packets[:33])
    assert ESTIMATE.read(flight.estimate, "accepted") == ESTIMATE.read(flight.estimate, "rejected") == 0.0
    assert error_deg(flown(craft, recorded, packets), truth) < 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_packets_out_of_order_twice_or_missing(craft, recorded, kind):
    _, samples, truth = recorded
    n = 100
    orders = {
        "twice": [k for k in range(n) for _ in range(2)],
        "swapped": [k ^ 1 for k in range(n)],
        "one old": [*range(60), 3, *range(60, n)],
        "gap of 5 s": [*range(30), *range(80, n)],
        "reversed for a while": [*range(50), *range(50, 20, -1), *range(50, n)],
        "backwards, then on": [*range(n - 20, -1, -1), *range(n)],
    }  # fmt: skip
    for name, order in orders.items():
        flight = flown(craft, recorded, samples[order], kind)
        assert ESTIMATE.read(flight.estimate, "running") == 1.0, name
        assert error_deg(flight, truth) < 1.0, name


@pytest.mark.parametrize("kind", KINDS)
def test_a_packet_sent_twice_counts_once(craft, recorded, kind):
    _, samples, _ = recorded
    once = flown(craft, recorded, samples[:50], kind)
    twice = flown(craft, recorded, samples[:50].repeat(2, axis=0), kind)
    said = slice(0, ESTIMATE["accepted"].offset)
    assert np.array_equal(once.estimate[said], twice.estimate[said])
    assert ESTIMATE.read(twice.estimate, "accepted") == 0.0


def test_one_wrong_time_is_ignored_and_a_new_one_believed(craft, recorded):
    """A clock that jumps by a day is followed once a second packet confirms it; the estimate starts anew."""
    samples = recorded[1]
    packets = samples[:120].copy()
    packets[50, 0] += 86400.0
    flight = flown(craft, recorded, packets[:51])
    assert ESTIMATE.read(flight.estimate, "t") == packets[49, 0]
    assert ESTIMATE.read(flown(craft, recorded, packets).estimate, "t") == packets[-1, 0]
    tags = [field.offset for field in SAMPLES.values() if field.name.endswith("_t") or field.name == "t"]
    later = samples[:120].copy()
    later[50:, tags] += 86400.0
    flight = flown(craft, recorded, later)
    assert ESTIMATE.read(flight.estimate, "t") == later[-1, 0]
    assert ESTIMATE.read(flight.estimate, "running") == 1.0


def test_no_start_from_an_attitude_that_is_none(craft, recorded):
    """A star tracker that tells zeros, or four ones hundredfold, does not start the filter."""
    _, samples, _ = recorded
    star = SAMPLES["star_tracker_0_q_IB"].part
    for value in ([0.0] * 4, [100.0] * 4, [np.nan] * 4, [1e300, 0.0, 0.0, 0.0]):
        packet = SAMPLES.zeros()
        packet[SAMPLES["valid"].offset] = 1 << frames.STAR_TRACKER_BIT
        packet[star] = value
        flight = flown(craft, recorded, [packet])
        assert ESTIMATE.read(flight.estimate, "running") == 0.0
    assert ESTIMATE.read(flown(craft, recorded, samples[:1]).estimate, "running") == 1.0


def test_nothing_at_all_gives_no_attitude(craft, recorded):
    packets = np.zeros((50, SAMPLES.size))
    packets[:, 0] = 0.1 * np.arange(50)
    for kind in KINDS:
        flight = flown(craft, recorded, packets, kind)
        assert ESTIMATE.read(flight.estimate, "running") == 0.0
        assert np.isnan(ESTIMATE.read(flight.estimate, "omega_B")).all()  # nobody knows
        assert COMMAND.read(flight.command, "valid") == 0.0
